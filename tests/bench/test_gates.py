"""Bytes and connections through the gate: all of them arrive, or there is no figure."""

from __future__ import annotations

import gates
from lanes import JAILED, Workshop
from protections import what_was_off


def test_one_connection_is_measured_straight_and_through_the_gate(workshop: Workshop) -> None:
    figures = gates.throughput(workshop, 4, rounds=1)
    assert set(figures["one connection MB/s"]) == {"direct", JAILED}
    assert what_was_off(workshop) == []
    audit = "".join(path.read_text() for path in workshop.audits("echo-one-connection"))
    assert f'"received":{5 * (1 << 20) + 16}' in audit


def test_a_call_is_measured_while_as_many_connections_run_as_are_promised(
    workshop: Workshop,
) -> None:
    figures = gates.by_connections(workshop, rounds=1)
    assert figures["connections at once"] == {JAILED: 200.0}
    assert list(figures["call p50 us by connections"]) == ["0", "200"]
    assert what_was_off(workshop) == []
