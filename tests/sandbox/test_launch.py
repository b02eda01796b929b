"""A plan becomes a running child, or a reason why not, and nothing in between."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def test_what_goes_in_comes_out(run_code: Run) -> None:
    code = """
    jail = launch.launch(plan("/bin/cat"))
    jail.go()
    os.write(jail.stdin, b"hello")
    os.close(jail.stdin)
    jail.stdin = -1
    tell([output(jail.stdout), output(jail.stderr), jail.wait(10)])
    jail.close()
    """
    assert run_code(code) == ["hello", "", 0]


def test_the_status_of_the_server_is_passed_on(run_code: Run) -> None:
    code = """
    jail = launch.launch(plan("/bin/sh", "-c", "echo out; echo err >&2; exit 7"))
    jail.go()
    tell([output(jail.stdout), output(jail.stderr), os.waitstatus_to_exitcode(jail.wait(10))])
    jail.close()
    """
    assert run_code(code) == ["out\n", "err\n", 7]


def test_the_server_waits_for_go(run_code: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    code = """
    mark = sys.argv[2] + "/mark"
    jail = launch.launch(plan("/bin/sh", "-c", "echo > " + mark, write=[sys.argv[2]]))
    jail.verify()
    before = os.path.exists(mark)
    jail.go()
    jail.wait(10)
    tell([before, os.path.exists(mark)])
    jail.close()
    """
    assert run_code(code, str(tmp_path / "out")) == [False, True]


def test_the_kernel_is_asked_about_the_server_itself(run_code: Run) -> None:
    code = """
    jail = launch.launch(plan("/bin/sleep", "1000"))
    jail.go()
    status = jail.status()
    name = ""
    while name != "sleep":  # until it is no longer bwrap's own fork
        name = open(f"/proc/{status.pid}/comm").read().strip()
    same = jail.server_pid() == status.pid
    tell([status.held, status.seccomp, status.effective, status.bounding, same])
    jail.close()
    """
    assert run_code(code) == [True, 2, 0, 0, True]


def test_a_server_is_asked_to_end_and_a_jail_is_ended(run_code: Run) -> None:
    code = """
    ends = []
    for how in ("terminate", "kill"):
        jail = launch.launch(plan("/bin/sleep", "1000"))
        jail.go()
        jail.status()
        getattr(jail, how)()
        ends.append(os.waitstatus_to_exitcode(jail.wait(10)))
        jail.terminate()
        jail.kill()
        jail.close()
    tell(ends)
    """
    terminated, killed = run_code(code)
    assert terminated in {-15, 128 + 15}
    assert killed == -9


def test_the_pipes_hold_a_mebibyte_where_the_user_may_have_it(run_code: Run) -> None:
    code = """
    import fcntl
    jail = launch.launch(plan("/bin/sleep", "1000"))
    tell([fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) for fd in (jail.stdin, jail.stdout)])
    jail.close()
    """
    assert all(size in {4096, 65536, 1 << 20} for size in run_code(code))


def test_nothing_of_the_environment_stands_on_a_command_line(run_code: Run) -> None:
    code = """
    token = "-".join(["canary", "token"])  # or it stood on the command line of this program
    jail = launch.launch(plan("/bin/sleep", "1000", env={"TOKEN": token}))
    jail.go()
    pids = [jail.keeper.pid, jail.bwrap_pid, jail.init_pid, jail.server_pid()]
    jail.status()
    lines = [open(f"/proc/{pid}/cmdline").read() for pid in pids]
    around = [open(f"/proc/{pid}/environ").read() for pid in pids[1:3]]
    tell([any(token in text for text in lines + around), len(lines)])
    jail.close()
    """
    assert run_code(code) == [False, 4]


def test_a_directory_that_was_replaced_since_it_was_judged_is_refused(
    run_code: Run, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    code = """
    place, other = sys.argv[2], sys.argv[3]
    made = plan("/bin/sh", "-c", "echo started", read=[place])
    os.rename(place, place + "-old")
    os.symlink(other, place)
    jail = launch.launch(made)
    try:
        jail.go()
    except JailBuildError as error:
        tell([error.message, os.path.exists(f"/proc/{jail.bwrap_pid}/exe")])
    """
    message, alive = run_code(code, str(tmp_path / "a"), str(tmp_path / "b"))
    assert "not as it was planned" in message
    assert not alive


# `launch` with a bubblewrap that is not told of some options.
UNTOLD = """
told = launch.arguments
def launch_without(made, *words):
    def untold(plan, fds):
        options = told(plan, fds)
        for word in words:
            size = 2 if word in ("--hostname", "--seccomp") else 1
            at = options.index(word)
            del options[at : at + size]
        return options
    launch.arguments = untold
    return launch.launch(made)
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ipc", ["--unshare-ipc"]),
        ("uts", ["--unshare-uts", "--hostname"]),
        ("net", ["--unshare-net"]),
        ("pid", ["--unshare-pid"]),
    ],
)
def test_a_jail_that_shares_a_namespace_of_the_host_is_refused(
    name: str, words: list[str], run_code: Run, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    code = """
    mark = sys.argv[2] + "/mark"
    made = plan("/bin/sh", "-c", "echo > " + mark, write=[sys.argv[2]])
    jail = launch_without(made, *sys.argv[3:])
    try:
        jail.go()
        jail.wait(10)
    except JailBuildError as error:
        tell([error.message, os.path.exists(mark), os.path.exists(f"/proc/{jail.bwrap_pid}/exe")])
    """
    told = run_code(UNTOLD + textwrap.dedent(code), str(tmp_path / "out"), *words)
    assert told == [f"the jail shares the host's '{name}' namespace", False, False]


def test_a_jail_has_its_own_view_of_control_groups(run_code: Run) -> None:
    code = """
    def has_its_own(jail):
        jail.verify()
        kinds = [os.stat(f"/proc/{pid}/ns/cgroup").st_ino for pid in ("self", jail.init_pid)]
        jail.close()
        return kinds[0] != kinds[1]
    made = plan("/bin/true")
    with_it = has_its_own(launch.launch(made))
    tell([with_it, has_its_own(launch_without(made, "--unshare-cgroup-try"))])
    """
    assert run_code(UNTOLD + textwrap.dedent(code)) == [True, False]


def test_a_jail_with_another_interface_than_lo_is_refused(run_code: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    code = """
    import fcntl, socket, struct
    from mcp_jail.sandbox.enter import Namespace, inside
    mark = sys.argv[2] + "/mark"
    jail = launch.launch(plan("/bin/sh", "-c", "echo > " + mark, write=[sys.argv[2]]))
    def call_lo_something_else():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            fcntl.ioctl(sock, 0x8914, struct.pack("16sh14x", b"lo", 0))  # SIOCSIFFLAGS: down
            fcntl.ioctl(sock, 0x8923, struct.pack("16s16s", b"lo", b"eth0"))  # SIOCSIFNAME
        return b""
    jail._wait_for_setup()
    inside(jail.init_pid, [Namespace.NETWORK], call_lo_something_else)
    try:
        jail.go()
        jail.wait(10)
    except JailBuildError as error:
        tell([error.message, os.path.exists(mark)])
    """
    message, started = run_code(code, str(tmp_path / "out"))
    assert message == "the jail's network has interfaces beside lo: eth0"
    assert not started


def test_a_server_without_a_filter_is_never_started(run_code: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    code = """
    mark = sys.argv[2] + "/mark"
    made = plan("/bin/sh", "-c", "echo > " + mark, write=[sys.argv[2]])
    jail = launch_without(made, "--seccomp")
    try:
        jail.go()
    except launch.NotHeldError as error:
        seen = error.status
        alive = os.path.exists(f"/proc/{jail.bwrap_pid}/exe")
        tell([seen.held, seen.no_new_privs, seen.seccomp, os.path.exists(mark), alive])
    """
    told = run_code(UNTOLD + textwrap.dedent(code), str(tmp_path / "out"))
    assert told == [False, True, 0, False, False]


def test_a_server_that_gets_rid_of_what_holds_it_is_not_held_and_the_jail_ends(
    run_code: Run,
) -> None:
    code = """
    jail = launch.launch(plan("/bin/sh", "-c", "echo here; sleep 1000"))
    jail.go()
    os.read(jail.stdout, 5)
    read = launch.read_status
    launch.read_status = lambda pid: msgspec.structs.replace(read(pid), seccomp=0)
    try:
        jail.status(has_spoken=True)
    except launch.NotHeldError as error:
        tell([error.status.held, os.WTERMSIG(jail.wait(10))])
    """
    assert run_code("import msgspec\n" + textwrap.dedent(code)) == [False, 9]


def test_what_bwrap_says_is_passed_on_and_nothing_is_left(run_code: Run, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    code = """
    made = plan("/bin/true", read=[sys.argv[2]])
    os.rmdir(sys.argv[2])
    before = set(os.listdir("/proc/self/fd"))
    jail = launch.launch(made)
    try:
        jail.verify()
    except JailBuildError as error:
        tell([error.message, int(error.exit_code), before == set(os.listdir("/proc/self/fd"))])
    """
    message, exit_code, closed = run_code(code, str(tmp_path / "a"))
    assert "cannot be built" in message
    assert str(tmp_path / "a") in message
    assert exit_code == 4
    assert closed


def test_a_filter_the_kernel_does_not_take_is_no_start(run_code: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    code = """
    import msgspec
    mark = sys.argv[2] + "/mark"
    made = plan("/bin/sh", "-c", "echo > " + mark, write=[sys.argv[2]])
    told = []
    for broken in (b"", b"x" * 7, b"\\xff" * 8):
        jail = launch.launch(msgspec.structs.replace(made, seccomp=broken))
        try:
            jail.go()
            told.append([jail.status(), jail.wait(10)])
        except JailBuildError as error:
            told.append(error.message)
        jail.close()
    tell([told, os.path.exists(mark)])
    """
    told, started = run_code(code, str(tmp_path / "out"))
    assert len(told) == 3
    assert all(isinstance(one, str) or (one[0] is None and one[1] != 0) for one in told)
    assert not started


def test_a_server_that_is_over_has_no_status(run_code: Run) -> None:
    code = """
    jail = launch.launch(plan("/bin/true"))
    jail.go()
    jail.wait(10)
    tell([jail.status(), jail.server_pid()])
    jail.close()
    jail.close()
    """
    assert run_code(code) == [None, None]


def test_a_server_that_waits_is_ended_at_once(run_code: Run) -> None:
    code = """
    jail = launch.launch(plan("/bin/sleep", "1000"))
    jail.terminate()
    tell(os.waitstatus_to_exitcode(jail.wait(10)))
    jail.close()
    """
    assert run_code(code) == -9


@pytest.mark.parametrize("when", ["before it is looked at", "before it is let go"])
def test_a_jail_that_was_killed_from_outside_is_told_as_one(when: str, run_code: Run) -> None:
    code = """
    jail = launch.launch(plan("/bin/true"))
    if "let go" in sys.argv[2]:
        jail.verify()
    else:
        jail._wait_for_setup()
        jail._wait_for_setup = lambda: None  # it ends after that look, before the next
    os.kill(jail.init_pid, signal.SIGKILL)
    jail.wait(10)
    try:
        jail.go()
    except JailBuildError as error:
        tell(error.message)
    jail.close()
    """
    assert run_code(code, when) == "the jail cannot be built: bwrap ended"


def test_a_second_close_leaves_other_files_alone(run_code: Run) -> None:
    code = """
    jail = launch.launch(plan("/bin/true"))
    jail.close()
    others = [os.open("/dev/null", os.O_RDONLY) for _ in range(20)]
    jail.close()
    tell([os.fstat(fd).st_nlink > 0 for fd in others] == [True] * 20)
    """
    assert run_code(code) is True


def test_no_descriptor_is_left_open_by_many_jails(run_code: Run) -> None:
    code = """
    before = set(os.listdir("/proc/self/fd"))
    for _ in range(3):
        jail = launch.launch(plan("/bin/true"))
        jail.go()
        jail.wait(10)
        jail.close()
    tell(before == set(os.listdir("/proc/self/fd")))
    """
    assert run_code(code) is True


def test_a_command_that_looks_like_an_option_is_a_command(run_code: Run, tmp_path: Path) -> None:
    program = tmp_path / "--bind"
    program.write_text("#!/bin/sh\necho ran $1\n")
    program.chmod(0o755)
    code = """
    made = plan(sys.argv[2], "--ro-bind")
    jail = launch.launch(made)
    jail.go()
    tell([output(jail.stdout), output(jail.stderr)])
    jail.close()
    """
    assert run_code(code, str(program)) == ["ran --ro-bind\n", ""]


def test_a_home_behind_a_link_works_under_both_names(run_code: Run, tmp_path: Path) -> None:
    (tmp_path / "var-home/user/project").mkdir(parents=True)
    (tmp_path / "var-home/user/project/note").write_text("here")
    (tmp_path / "link").symlink_to("var-home")
    code = """
    HOME = sys.argv[2]
    place = HOME + "/project"
    script = 'cd; pwd -P; cat "$HOME/project/note"; echo x > mine'
    made = plan("/bin/sh", "-c", script, read=[place])
    jail = launch.launch(made)
    jail.go()
    tell([output(jail.stdout), output(jail.stderr)])
    jail.close()
    """
    out, err = run_code(code, str(tmp_path / "link/user"))
    assert out == f"{tmp_path}/var-home/user\nhere"
    assert err == ""
    assert not (tmp_path / "var-home/user/mine").exists()


def test_a_masked_directory_is_empty_and_what_is_named_in_it_is_not(
    run_code: Run, home: Path
) -> None:
    for name in ("backup/.ssh", "backup/.config/gh/deep", "backup/.config/gh/secret"):
        (home / name).mkdir(parents=True)
    code = """
    made = plan("/bin/sh", "-c", "cd ~/backup/.config/gh && ls && ls -d deep && echo x > new",
                read=[HOME + "/backup", HOME + "/backup/.config/gh/deep"])
    jail = launch.launch(made)
    jail.go()
    tell([output(jail.stdout), "Read-only" in output(jail.stderr)])
    jail.close()
    """
    assert run_code(code) == ["deep\ndeep\n", True]


def test_files_keep_their_owner(run_code: Run, home: Path) -> None:
    (home / "out").mkdir()
    code = """
    made = plan("/bin/sh", "-c", "id -u; echo x > ~/out/file", write=[HOME + "/out"])
    jail = launch.launch(made)
    jail.go()
    tell([output(jail.stdout).strip(), jail.wait(10)])
    jail.close()
    """
    import os

    assert run_code(code) == [str(os.getuid()), 0]
    assert (home / "out/file").stat().st_uid == os.getuid()
