"""What a message and a start cost, over all lanes in one interleaved run; medians of rounds."""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import ExitStack
from statistics import median

from lanes import Lane, Server, Workshop
from talk import Talk, cpu_seconds, pss_kib

MIB = 1 << 20
CALLS = 100
Figures = dict[str, dict[str, float]]

# A random order of lanes in each round, the same in every run.
SHUFFLE = random.Random(1)


def latency(workshop: Workshop, rounds: int) -> Figures:
    """p50 and p99 of a small call in us, and processor seconds of 10,000 calls."""
    server = workshop.echo_server("echo")
    with ExitStack() as stack:
        talks = _talks(stack, workshop, server)
        ours = {name: talk.ours(workshop.echo) for name, talk in talks.items()}
        before = {name: cpu_seconds(pids) for name, pids in ours.items()}
        taken = interleaved(talks, rounds)
        after = {name: cpu_seconds(pids) for name, pids in ours.items()}
    per_10k = 10_000 / ((rounds + 1) * CALLS)
    return {
        "call p50 us": {name: p50_us(each) for name, each in taken.items()},
        "call p99 us": {name: p99_us(each) for name, each in taken.items()},
        "cpu s/10k": {name: (after[name] - before[name]) * per_10k for name in taken},
    }


def large(workshop: Workshop, mib: int, rounds: int) -> Figures:
    """Milliseconds of a call whose result has so many MiB, and the peak of a process of ours."""
    server = workshop.echo_server(f"echo-{mib}-mib", str(mib * MIB))
    with ExitStack() as stack:
        talks = _talks(stack, workshop, server)
        taken = interleaved(talks, rounds, calls=1)
        peak = {name: _peak_mb(talk, workshop.echo) for name, talk in talks.items()}
    return {
        f"{mib} MiB ms": {name: p50_us(each) / 1e3 for name, each in taken.items()},
        f"{mib} MiB peak MB": {name: each for name, each in peak.items() if each},
    }


def throughput(workshop: Workshop, rounds: int) -> Figures:
    """Thousand calls a second with 256 in flight."""
    count, in_flight = 10_240, 256
    rates: dict[str, list[float]] = {lane.name: [] for lane in workshop.lanes}
    with ExitStack() as stack:
        talks = _talks(stack, workshop, workshop.echo_server("echo-in-flight"))
        for name in orders(talks, rounds):
            rates[name].append(count / talks[name].time_flight(count, in_flight) / 1e3)
    return {"256 in flight k/s": {name: median(each) for name, each in rates.items()}}


def flood(workshop: Workshop, rounds: int) -> Figures:
    """Thousand notifications a second, 100,000 at a time, every one counted."""
    count = 100_000
    rates: dict[str, list[float]] = {lane.name: [] for lane in workshop.lanes}
    with ExitStack() as stack:
        server = workshop.echo_server("echo-flood", "16", str(count))
        talks = _talks(stack, workshop, server)
        for name in orders(talks, rounds):
            rates[name].append(count / talks[name].time_flood(count) / 1e3)
    return {"notifications k/s": {name: median(each) for name, each in rates.items()}}


def start_up(workshop: Workshop, rounds: int) -> Figures:
    """Milliseconds from the start of the process to the answer of tools/list."""
    server = workshop.echo_server("echo")
    taken = started({lane.name: (lane, server) for lane in workshop.lanes}, workshop, rounds)
    return {
        "start ms": {name: median(talk.start_ns / 1e6 for talk in taken[name]) for name in taken}
    }


def memory(workshop: Workshop) -> Figures:
    """MB of all processes in between, idle after a few calls."""
    found = {}
    server = workshop.echo_server("echo")
    for lane in workshop.lanes:
        with workshop.talking(lane, server) as talk:
            talk.time_calls(20)
            if ours := talk.ours(workshop.echo):
                found[lane.name] = pss_kib(ours) / 1024
    return {"idle PSS MB": found}


def interleaved(
    talks: dict[str, Talk], rounds: int, calls: int = CALLS
) -> dict[str, list[list[int]]]:
    """Nanoseconds of calls, by talk and round, after a round that only warms up."""
    taken: dict[str, list[list[int]]] = {name: [] for name in talks}
    for talk in talks.values():
        talk.try_call()
        talk.time_calls(calls)
    for name in orders(talks, rounds):
        taken[name].append(talks[name].time_calls(calls))
    return taken


def started(
    ways: dict[str, tuple[Lane, Server]], workshop: Workshop, rounds: int
) -> dict[str, list[Talk]]:
    """Talks that were opened and closed again, by way, for the nanoseconds they note."""
    taken: dict[str, list[Talk]] = {name: [] for name in ways}
    for name in orders(ways, rounds):
        with workshop.talking(*ways[name]) as talk:
            taken[name].append(talk)
    return taken


def p50_us(rounds: list[list[int]]) -> float:
    """The median of the rounds' medians, in us."""
    return median(median(each) for each in rounds) / 1e3


def orders(names: Iterable[str], rounds: int) -> Iterable[str]:
    """All names once a round, each round in an order of its own."""
    order = list(names)
    for _ in range(rounds):
        SHUFFLE.shuffle(order)
        yield from order


def p99_us(rounds: list[list[int]]) -> float:
    """What one call of a hundred takes or more, of all calls together, in us."""
    values = sorted(value for each in rounds for value in each)
    return values[int(len(values) * 0.99)] / 1e3


def _talks(stack: ExitStack, workshop: Workshop, server: Server) -> dict[str, Talk]:
    return {
        lane.name: stack.enter_context(workshop.talking(lane, server)) for lane in workshop.lanes
    }


def _peak_mb(talk: Talk, server: str) -> float:
    """The highest resident size of any one process in between; 0 where there is none."""
    peak = 0
    for pid in talk.ours(server):
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            sizes = (int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
            peak = max(peak, *sizes, 0)
    return peak / 1024
