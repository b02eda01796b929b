"""Each element of bwrap's options is there for something: without it, an attempt gets out.

Each option is in `ELEMENTS` or in one of the other tests here, or in `OTHERWISE` with the reason
why not; a test holds these lists to the options of a plan that has everything.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from jail.conftest import SECRET, Finding, World, findings, standard_case
from mcp_jail.core.spec import Access, JailSpec, MountKind, Plan, Share
from mcp_jail.sandbox import starter
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.bwrap import Descriptors, arguments
from mcp_jail.sandbox.probe import probe
from mcp_jail.sandbox.protected import Ours

ROOT = os.getuid() == 0
Change = Callable[[list[str]], list[str]]


def without(*words: str) -> Change:
    """Take one option with its arguments away; it must be there."""

    def change(options: list[str]) -> list[str]:
        size = len(words)
        at = next(i for i in range(len(options)) if options[i : i + size] == list(words))
        return options[:at] + options[at + size :]

    return change


def without_last(option: str, place: str, *, size: int, before: int = 0) -> Change:
    """Take away an option of `size` words that ends with a place, and `before` words before it."""

    def change(options: list[str]) -> list[str]:
        ends = [i for i, word in enumerate(options) if word == place]
        at = next(i - size + 1 for i in ends if options[i - size + 1] == option)
        return options[: at - before] + options[at + size :]

    return change


def both(*changes: Change) -> Change:
    def change(options: list[str]) -> list[str]:
        for one in changes:
            options = one(options)
        return options

    return change


@pytest.fixture(scope="module")
def plan(world: World, script: Path) -> Plan:
    case = standard_case(world, [sys.executable])
    access = {"ro": Access.READ_ONLY, "rw": Access.READ_WRITE}
    shares = tuple(Share(path=p, access=access[a], why="test") for a, p in case["shares"])
    spec = JailSpec(name="t", command=(sys.executable,), cwd=None, shares=shares, env={})
    ours = tuple(Ours(path=p, what=w, mask=m) for p, w, m in case["ours"])
    return build(spec, ours, host=probe({"HOME": world.facts["home"]}))


def run_changed(plan: Plan, change: Change, world: World, name: str) -> dict[str, Finding]:
    """Run one attempt in a jail whose options were changed."""
    contents = [m.data or b"" for m in plan.mounts if m.kind is MountKind.DATA]
    program = starter.program(os.uname().machine)
    fds = [os.memfd_create("t") for _ in (plan.seccomp, program, *contents)]
    for fd, content in zip(fds, (plan.seccomp, program, *contents), strict=True):
        os.write(fd, content)
        os.lseek(fd, 0, os.SEEK_SET)
    numbers = Descriptors(seccomp=fds[0], block=0, starter=fds[1], data=tuple(fds[2:]))
    options = arguments(plan, numbers)
    options = without("--block-fd", "0")(options)
    script = Path(world.facts["ro"]) / "attempts.py"
    command = [*plan.command, "-I", str(script), str(script.with_name("world.json")), name]
    done = subprocess.run(
        [plan.bwrap, *change(options), "--", *command],
        pass_fds=fds,
        env={**os.environ, "JAIL_TEST_SECRET": SECRET},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    for fd in fds:
        os.close(fd)
    assert done.returncode == 0, done.stderr
    return findings(done.stdout)


def same(options: list[str]) -> list[str]:
    return options


SECCOMP = "without the filter"
ELEMENTS: dict[str, tuple[Change, str]] = {
    "--unshare-pid": (without("--unshare-pid"), "P1 see a process of the host"),
    "--unshare-ipc": (without("--unshare-ipc"), "I6 attach the host's shared memory"),
    "--unshare-net": (without("--unshare-net"), "N2 reach the host's loopback"),
    "--unshare-net, for abstract sockets": (
        without("--unshare-net"),
        "I1 connect an abstract socket",
    ),
    "--hostname, --unshare-uts": (
        both(without("--unshare-uts"), without("--hostname", "jail")),
        "read the host's name",
    ),
    "--hostname": (without("--hostname", "jail"), "read the host's name"),
    "--new-session": (without("--new-session"), "stay in the host's session"),
    "--clearenv": (without("--clearenv"), "P19 read a secret of the environment"),
    "--remount-ro /": (without("--remount-ro", "/"), "F28 write where programs are started from"),
    "--remount-ro /dev": (
        without("--remount-ro", "/dev"),
        "F28 write where programs are started from",
    ),
}
FILTERED = (
    "P9 use a keyring",
    "P9 read a keyring",
    "P3 trace another process",
    "I8 open a socket of another family",
    "P5 take a descriptor of another process",
    "P11 call kcmp",
    "P11 call process_vm_readv",
    "P7 hold a capability, or lack the filter",
)
ROOT_ELEMENTS: dict[str, tuple[Change, str]] = {
    # For an ordinary user bwrap drops every capability by itself, and sysctls are root's.
    "--cap-drop ALL": (
        without("--cap-drop", "ALL"),
        "P7 hold a capability, or lack the filter",
    ),
    "--ro-bind /proc/sys": (
        without_last("--ro-bind", "/proc/sys", size=3),
        "F20 open the core pattern or sysrq for writing",
    ),
}
# Options that no test here takes away alone, each with what holds it.
LESS = "without it the server has less, not more: test_attempts and test_launch need it"
OTHERWISE = {
    "--unshare-user": "bwrap 0.8.0 refuses --disable-userns without it, which is a test here",
    "--unshare-cgroup-try": "test_launch: a jail has its own view of control groups",
    "--die-with-parent": "the keeper ends the jail too; test_lifecycle kills the keeper itself",
    "--uid": "test_launch: files keep their owner",
    "--gid": "test_launch: files keep their owner",
    "--bind": LESS,
    "--proc": LESS,
    "--dev": LESS,
    "--symlink": LESS,
    "--file": "without it a program would miss a setting; test_plan reads what stands in them",
    "--setenv": LESS,
    "--chdir": LESS,
    "--block-fd": "test_launch: a jail that is refused has run nothing; test_keeper_killed",
}
# Options that are taken away by tests of their own below.
BELOW = {
    "--seccomp": "test_without_the_filter_an_attempt_gets_out",
    "--disable-userns": "test_without_the_filter_and_disable_userns_a_namespace_is_made",
    "--tmpfs": "test_without_its_mask_a_credential_in_a_share_is_read",
    "--perms": "test_without_its_mask_a_credential_in_a_share_is_read",
    "--size": "test_without_its_size_a_temporary_directory_takes_the_machines_memory",
    "--ro-bind": "test_a_share_to_read_is_written_where_it_is_bound_to_write",
}
WORDS_AFTER = {
    "--cap-drop": 1, "--uid": 1, "--gid": 1, "--hostname": 1, "--ro-bind": 2, "--bind": 2,
    "--perms": 1, "--size": 1, "--tmpfs": 1, "--proc": 1, "--dev": 1, "--file": 2, "--symlink": 2,
    "--remount-ro": 1, "--setenv": 2, "--chdir": 1, "--seccomp": 1, "--block-fd": 1,
}  # fmt: skip
SHOWN = {**ELEMENTS, **(ROOT_ELEMENTS if ROOT else {})}


def options_of(words: list[str]) -> set[str]:
    """The options among bwrap's words, their arguments left out."""
    found = set()
    while words:
        found.add(words[0])
        words = words[1 + WORDS_AFTER.get(words[0], 0) :]
    return found


def test_every_option_is_shown_to_be_needed_or_listed_with_a_reason(plan: Plan) -> None:
    full = msgspec.structs.replace(plan, env={"A": "B"})
    assert {mount.kind for mount in full.mounts} == set(MountKind)
    data = tuple(range(7, 7 + len(full.mounts)))
    used = options_of(arguments(full, Descriptors(seccomp=4, block=5, starter=6, data=data)))
    removed = {word for key in (*ELEMENTS, *ROOT_ELEMENTS) for word in key.replace(",", "").split()}
    shown = {word for word in removed if word.startswith("--")}
    assert used == shown | OTHERWISE.keys() | BELOW.keys()
    assert not (shown | BELOW.keys()) & OTHERWISE.keys()
    assert set(BELOW.values()) <= globals().keys()


def test_a_share_to_read_is_written_where_it_is_bound_to_write(
    plan: Plan, world: World, script: Path
) -> None:
    place = world.facts["ro"]

    def change(options: list[str]) -> list[str]:
        at = options.index(place)
        assert options[at - 1] == "--ro-bind"
        return [*options[: at - 1], "--bind", *options[at:]]

    name = "F28 write into a read-only share"
    assert run_changed(plan, same, world, name)[name].open is False
    assert run_changed(plan, change, world, name)[name].open is True


@pytest.mark.parametrize("element", SHOWN)
def test_without_this_element_an_attempt_gets_out(
    element: str, plan: Plan, world: World, script: Path
) -> None:
    change, name = SHOWN[element]
    assert run_changed(plan, same, world, name)[name].open is False
    found = run_changed(plan, change, world, name)[name]
    assert found.open is True, found.saw


@pytest.mark.parametrize("name", FILTERED)
def test_without_the_filter_an_attempt_gets_out(
    name: str, plan: Plan, world: World, script: Path
) -> None:
    def change(options: list[str]) -> list[str]:
        at = options.index("--seccomp")
        return options[:at] + options[at + 2 :]

    found = run_changed(plan, change, world, name)[name]
    assert found.open is True, found.saw


def test_without_the_filter_and_disable_userns_a_namespace_is_made(
    plan: Plan, world: World, script: Path
) -> None:
    def change(options: list[str]) -> list[str]:
        at = options.index("--seccomp")
        return without("--disable-userns")(options[:at] + options[at + 2 :])

    name = "P6 make a user namespace"
    assert run_changed(plan, change, world, name)[name].open is True


def test_without_its_mask_a_credential_in_a_share_is_read(
    plan: Plan, world: World, script: Path
) -> None:
    place = os.path.dirname(world.facts["masked"])
    # --perms 0555 --tmpfs PLACE, and --remount-ro PLACE
    change = both(
        without("--perms", "0555", "--tmpfs", place),
        without("--remount-ro", place),
    )
    name = "F29 read known credentials inside a share"
    assert run_changed(plan, change, world, name)[name].open is True


def test_without_its_mask_our_state_in_a_share_is_read(
    plan: Plan, world: World, script: Path
) -> None:
    place = str(world.home / "backup/.config/mcp-jail")
    change = both(
        without("--perms", "0555", "--tmpfs", place),
        without("--remount-ro", place),
    )
    name = "row 67 read our own state inside a share"
    assert run_changed(plan, change, world, name)[name].open is True


def test_without_its_size_a_temporary_directory_takes_the_machines_memory(
    plan: Plan, world: World, script: Path
) -> None:
    name = "F23 fill the machine's memory through the temporary directory"

    def change(options: list[str]) -> list[str]:
        # a size as a host with much memory would give it by default
        at = next(i for i, w in enumerate(options) if w == "/tmp" and options[i - 1] == "--tmpfs")
        return [*options[: at - 3], "--size", str(64 << 30), *options[at - 1 :]]

    assert run_changed(plan, change, world, name)[name].open is True


def test_bwrap_refuses_disable_userns_unless_the_user_namespace_is_named(plan: Plan) -> None:
    done = subprocess.run(
        [plan.bwrap, "--disable-userns", "--ro-bind", "/", "/", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "--disable-userns requires --unshare-user" in done.stderr
