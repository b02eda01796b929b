"""The trial of `doctor`: a real gate before a real jail."""

from __future__ import annotations

import os

import msgspec

from mcp_jail.proxy.gate_trial import try_a_gate
from mcp_jail.sandbox.probe import probe


def test_a_gate_that_works_says_what_holds_it_and_leaves_nothing() -> None:
    before = set(os.listdir("/proc/self/fd"))
    trial = try_a_gate(probe())
    assert trial.works, trial.found
    assert "its sockets made inside" in trial.found
    assert set(os.listdir("/proc/self/fd")) == before


def test_a_jail_that_cannot_be_built_is_no_gate_either() -> None:
    trial = try_a_gate(msgspec.structs.replace(probe(), bwrap="/nowhere/bwrap"))
    assert not trial.works
    assert trial.cure
