"""Values that do not show themselves."""

from __future__ import annotations

from mcp_jail.core.secret_values import Secrets


def test_secrets_are_printed_by_name_only() -> None:
    secrets = Secrets({"API_KEY": "hunter-2-hunter"})
    assert repr(secrets) == str(secrets) == f"{secrets}" == "Secrets(API_KEY)"


def test_the_lines_of_a_value_are_looked_for_too() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nshort\n"
    assert Secrets({"A": "one-line", "B": key}).texts() == (
        "one-line",
        key,
        "-----BEGIN KEY-----",
        "MIIEvQIBADANBgkqhkiG9w0",
    )
