"""What a message and a start cost when there is more: more rules, a longer audit, more jails."""

from __future__ import annotations

from contextlib import ExitStack
from statistics import median

import audits
from figures import Figures, interleaved, p50_us, started
from lanes import JAILED, Server, Workshop
from talk import pss_kib

RULES = (10, 100, 1_000)


def by_rules(workshop: Workshop, rounds: int, starts: int) -> Figures:
    """A call and a start under policies of so many rules, in one interleaved run."""
    servers = {f"{n:,}": workshop.echo_server(f"echo-{n}-rules", rules=n) for n in RULES}
    return _side_by_side(workshop, servers, rounds, starts, "rules")


def by_audit(workshop: Workshop, entries: int, rounds: int, starts: int) -> Figures:
    """A call and a start with no entry beforehand and with so many, in one interleaved run."""
    servers = {
        "0": workshop.echo_server("echo-new-audit"),
        f"{entries:,}": workshop.echo_server(audits.LONG),
    }
    return _side_by_side(workshop, servers, rounds, starts, "audit")


def by_jails(workshop: Workshop, count: int, rounds: int) -> Figures:
    """A call through one jail alone, and among so many that wait; the memory of all of them.

    Alone is measured before the others are started and after they have ended. Every one answers.
    """
    one, *others = [workshop.echo_server(f"echo-jail-{number}") for number in range(count)]
    with ExitStack() as outer:
        talk = outer.enter_context(workshop.talking(workshop.lane, one))
        alone = interleaved({"": talk}, rounds)[""]
        with ExitStack() as stack:
            talks = [
                stack.enter_context(workshop.talking(workshop.lane, other)) for other in others
            ]
            for other in talks:
                other.try_call()
            pids = [pid for each in [talk, *talks] for pid in each.ours(workshop.echo)]
            memory = pss_kib(pids) / 1024
            among = interleaved({"": talk}, rounds)[""]
        alone += interleaved({"": talk}, rounds)[""]
    return {
        "all jails PSS MB": {JAILED: memory},
        "call p50 us by jails": {"1": p50_us(alone), f"{count:,}": p50_us(among)},
    }


def _side_by_side(
    workshop: Workshop, servers: dict[str, Server], rounds: int, starts: int, what: str
) -> Figures:
    ways = {name: (workshop.lane, server) for name, server in servers.items()}
    taken = started(ways, workshop, starts)
    with ExitStack() as stack:
        talks = {name: stack.enter_context(workshop.talking(*way)) for name, way in ways.items()}
        calls = interleaved(talks, rounds)
    return {
        f"call p50 us by {what}": {name: p50_us(each) for name, each in calls.items()},
        f"start ms by {what}": {
            name: median(talk.start_ns / 1e6 for talk in each) for name, each in taken.items()
        },
    }
