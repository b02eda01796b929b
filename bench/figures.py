"""What is measured, each figure over all lanes in one interleaved run; medians of rounds."""

from __future__ import annotations

import random
from contextlib import ExitStack
from statistics import median

from lanes import Lane, Workshop
from talk import Talk, cpu_seconds, pss_kib, talking

MIB = 1 << 20
Figures = dict[str, dict[str, float]]

# A random order of lanes in each round, the same in every run.
SHUFFLE = random.Random(1)


def latency(workshop: Workshop, lanes: list[Lane], rounds: int, calls: int = 100) -> Figures:
    """p50 and p99 of a small call in us, and processor seconds of 10,000 calls."""
    server = (workshop.echo, "200")
    taken: dict[str, list[list[int]]] = {lane.name: [] for lane in lanes}
    with ExitStack() as stack:
        talks = {lane.name: _talk(stack, lane, workshop, *server) for lane in lanes}
        for talk in talks.values():
            talk.time_calls(calls)
        ours = {name: talk.ours(workshop.echo) for name, talk in talks.items()}
        before = {name: cpu_seconds(pids) for name, pids in ours.items()}
        order = list(talks)
        for _ in range(rounds):
            SHUFFLE.shuffle(order)
            for name in order:
                taken[name].append(talks[name].time_calls(calls))
        after = {name: cpu_seconds(pids) for name, pids in ours.items()}
    per_10k = 10_000 / (rounds * calls)
    return {
        "call p50 us": {n: median(median(r) for r in rs) / 1e3 for n, rs in taken.items()},
        "call p99 us": {n: _p99([t for r in rs for t in r]) / 1e3 for n, rs in taken.items()},
        "cpu s/10k": {n: (after[n] - before[n]) * per_10k for n in taken},
    }


def large(workshop: Workshop, lanes: list[Lane], mib: int, rounds: int) -> Figures:
    """Milliseconds of a call whose result has so many MiB."""
    taken: dict[str, list[float]] = {lane.name: [] for lane in lanes}
    peak: dict[str, float] = {}
    with ExitStack() as stack:
        server = (workshop.echo, str(mib * MIB))
        talks = {lane.name: _talk(stack, lane, workshop, *server) for lane in lanes}
        for _ in range(rounds):
            for name, talk in talks.items():
                taken[name].append(talk.time_calls(1)[0] / 1e6)
                peak[name] = max(peak.get(name, 0), _peak_mb(talk, workshop.echo))
    return {
        f"{mib} MiB ms": {name: median(each) for name, each in taken.items()},
        f"{mib} MiB peak MB": peak,
    }


def throughput(workshop: Workshop, lanes: list[Lane], rounds: int) -> Figures:
    """Thousand calls a second with 256 in flight."""
    count, in_flight = 10_240, 256
    rates: dict[str, list[float]] = {lane.name: [] for lane in lanes}
    with ExitStack() as stack:
        talks = {lane.name: _talk(stack, lane, workshop, workshop.echo, "200") for lane in lanes}
        for _ in range(rounds):
            for name, talk in talks.items():
                rates[name].append(count / talk.time_flight(count, in_flight) / 1e3)
    return {"256 in flight k/s": {name: median(each) for name, each in rates.items()}}


def flood(workshop: Workshop, lanes: list[Lane], rounds: int) -> Figures:
    """Thousand notifications a second, 100,000 at a time, every one counted."""
    count = 100_000
    rates: dict[str, list[float]] = {lane.name: [] for lane in lanes}
    with ExitStack() as stack:
        server = (workshop.echo, "16", str(count))
        talks = {lane.name: _talk(stack, lane, workshop, *server) for lane in lanes}
        for _ in range(rounds):
            for name, talk in talks.items():
                rates[name].append(count / talk.time_flood(count) / 1e3)
    return {"notifications k/s": {name: median(each) for name, each in rates.items()}}


def start_up(
    workshop: Workshop,
    lanes: list[Lane],
    rounds: int,
    server: tuple[str, ...] = (),
    label: str = "",
) -> Figures:
    """Milliseconds from the start of the process to the answer of tools/list."""
    server = server or (workshop.echo, "200")
    taken: dict[str, list[float]] = {lane.name: [] for lane in lanes}
    for _ in range(rounds):
        for lane in lanes:
            with talking(lane.command(*server), lane.env, str(workshop.shared / "a")) as talk:
                taken[lane.name].append(talk.start_ns / 1e6)
    return {f"start ms{label}": {name: median(each) for name, each in taken.items()}}


def memory(workshop: Workshop, lanes: list[Lane]) -> Figures:
    """MB of all processes in between, idle after a few calls."""
    found = {}
    for lane in lanes:
        command = lane.command(workshop.echo, "200")
        with talking(command, lane.env, str(workshop.shared / "a")) as talk:
            talk.time_calls(20)
            found[lane.name] = pss_kib(talk.ours(workshop.echo)) / 1024
    return {"idle PSS MB": found}


def _talk(stack: ExitStack, lane: Lane, workshop: Workshop, *server: str) -> Talk:
    path = str(workshop.shared / "some" / "file.txt")
    return stack.enter_context(talking(lane.command(*server), lane.env, path))


def _p99(values: list[int]) -> float:
    return sorted(values)[int(len(values) * 0.99)]


def _peak_mb(talk: Talk, server: str) -> float:
    """The highest resident size of any one process in between so far."""
    peak = 0
    for pid in talk.ours(server):
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            peak = max(
                peak, *(int(line.split()[1]) for line in file if line.startswith("VmHWM:")), 0
            )
    return peak / 1024
