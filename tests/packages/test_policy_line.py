"""The line that pins a package: added, or its version changed, and not a byte more."""

from __future__ import annotations

import pytest

from mcp_jail.config import load
from mcp_jail.core.packages import PackageKind, Pinned, pinned
from mcp_jail.errors import PackageError
from mcp_jail.packages.policy_line import with_package, with_version

NEW = Pinned(kind=PackageKind.NPM, name="@s/x", version="2.0.0")


@pytest.mark.parametrize(
    "text",
    [
        "name: x\n",
        "name: x",
        "name: x\r\n# end\r\n",
        "# why\nname: x   # me\ntools: {default: allow}\n\n",
    ],
)
def test_a_line_is_added_at_the_end(text: str) -> None:
    after = with_package(text, NEW)
    assert after.startswith(text)
    assert pinned(load(after, "x").policy.package) == NEW
    assert "\r\n" not in after.removeprefix(text) or "\r\n" in text


@pytest.mark.parametrize("text", ["{name: x}\n", "name: x\n...\n", "---\nname: x\n...\n# end\n"])
def test_a_text_that_no_line_can_be_added_to_is_left(text: str) -> None:
    with pytest.raises(PackageError) as error:
        with_package(text, NEW)
    assert error.value.hint == 'write it yourself: package: {npm: "@s/x", version: "2.0.0"}'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('package: {npm: "@s/x", version: 1.0.0}', 'package: {npm: "@s/x", version: "2.0.0"}'),
        (
            'package: {npm: "@s/x", version: "1.0.0"} # v',
            'package: {npm: "@s/x", version: "2.0.0"} # v',
        ),
        ("package: {version: '1.0.0', npm: '@s/x'}", "package: {version: \"2.0.0\", npm: '@s/x'}"),
        (
            "package:\n  # 1.0.0 is fine\n  version: 1.0.0  # version: 1.0.0\n  npm: '@s/x'",
            "package:\n  # 1.0.0 is fine\n  version: \"2.0.0\"  # version: 1.0.0\n  npm: '@s/x'",
        ),
        ('package: {npm: "@s/x", "version": 1.0.0}', 'package: {npm: "@s/x", "version": "2.0.0"}'),
    ],
)
def test_a_version_is_changed_where_it_stands(before: str, after: str) -> None:
    head = "# version: 1.0.0\nname: x\n"
    assert with_version(f"{head}{before}\nroots: deny\n", NEW) == f"{head}{after}\nroots: deny\n"


@pytest.mark.parametrize("text", ["package: {npm: y, version: 1.0.0}", "roots: deny"])
def test_what_does_not_become_that_package_is_left(text: str) -> None:
    with pytest.raises(PackageError):
        with_version(f"name: x\n{text}\n", NEW)
