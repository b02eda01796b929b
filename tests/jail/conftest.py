"""A host with canaries, and what every attempt found on it: bare, and inside a jail."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from jail.attempts import ATTEMPTS

HERE = Path(__file__).parent
SOURCE = HERE.parent.parent / "src"
SECRET = "canary-secret-in-the-environment"
MARKER = "canary-host-process"


class World(NamedTuple):
    """A host with something to find in every corner, and what arrived at its sockets."""

    top: Path
    facts: dict[str, Any]
    arrived: list[bytes]

    @property
    def home(self) -> Path:
        return Path(self.facts["home"])


def guard_environment() -> dict[str, str]:
    """What the guard of a test is started with: our source, and a secret to be kept."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    paths = [str(SOURCE), *(p for p in sys.path if p.endswith("site-packages"))]
    return {**keep, "PYTHONPATH": os.pathsep.join(paths), "JAIL_TEST_SECRET": SECRET}


def run_guard(
    case: dict[str, Any], where: Path, *, pass_fds: tuple[int, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a case to its end; its report, when it got that far, is `where/report.json`."""
    where.mkdir(parents=True, exist_ok=True)
    file = where / "case.json"
    file.write_text(json.dumps({"report": str(where / "report.json"), **case}))
    return subprocess.run(
        [sys.executable, str(HERE / "guard.py"), str(file)],
        env=guard_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        pass_fds=pass_fds,
        cwd=where,
    )


def _write(path: Path, text: str = "canary") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _serve(sock: socket.socket, arrived: list[bytes]) -> None:
    """Greet whoever connects; echo and note whatever is sent."""
    try:
        while True:
            if sock.type == socket.SOCK_STREAM:
                client, _ = sock.accept()
                with client, contextlib.suppress(OSError):
                    client.sendall(b"hello")
            else:
                text, sender = sock.recvfrom(64)
                arrived.append(text)
                if sender:
                    sock.sendto(b"hello", sender)
    except OSError:
        return


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The host: home, credentials, sockets, shared memory, a process, a loopback service."""
    top = tmp_path_factory.mktemp("world")
    home = top / "home"
    names = [
        ".ssh/id_canary", ".npmrc", ".pypirc", ".netrc", ".aws/credentials", ".kube/config",
        ".docker/config.json", ".config/gh/hosts.yml", ".config/gcloud/x", ".gnupg/private.key",
        ".git-credentials", ".bash_history", ".mozilla/firefox/p/cookies.sqlite",
        ".config/google-chrome/Default/Cookies", ".claude.json", ".codex/auth.json",
        "other-project/.env", ".local/share/keyrings/login.keyring",
    ]  # fmt: skip
    credentials = [str(_write(home / name)) for name in names]
    (home / "secret-dir").mkdir()
    _write(home / "work/note")
    (home / "out").mkdir()
    masked = _write(home / "backup/.config/gh/hosts.yml")  # of a home, as its .profile says
    _write(home / "backup/.profile")
    state = _write(home / "backup/.config/mcp-jail/policies/x.yaml")
    _write(home / "backup/.config/app/settings")
    temporary = [
        str(_write(Path(directory) / f"jail-canary-{os.getpid()}"))
        for directory in ("/tmp", "/var/tmp", "/dev/shm")
        if os.access(directory, os.W_OK)
    ]

    sockets: list[socket.socket] = []
    arrived: list[bytes] = []

    def listen(family: int, kind: int, address: Any) -> socket.socket:
        sock = socket.socket(family, kind)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(address)
        if kind == socket.SOCK_STREAM:
            sock.listen()
        sockets.append(sock)
        threading.Thread(target=_serve, args=(sock, arrived), daemon=True).start()
        return sock

    listen(socket.AF_UNIX, socket.SOCK_STREAM, str(top / "s"))
    listen(socket.AF_UNIX, socket.SOCK_DGRAM, str(top / "d"))
    abstract = f"jail-canary-{os.getpid()}"
    listen(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract)
    tcp = listen(socket.AF_INET6, socket.SOCK_STREAM, ("::", 0))
    udp = listen(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))

    libc = ctypes.CDLL(None, use_errno=True)
    key = 0x6A000000 | os.getpid()
    segment = libc.shmget(key, 4096, 0o1600)
    other = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(1000)", MARKER],
        env={**os.environ, "JAIL_TEST_SECRET": SECRET},
    )
    facts = {
        "home": str(home),
        "rw": str(home / "out"),
        "ro": str(home / "work"),
        "credentials": credentials,
        "masked": str(masked),
        "state": str(state),
        "temporary": temporary,
        "stream": str(top / "s"),
        "datagram": str(top / "d"),
        "abstract": abstract,
        "port": tcp.getsockname()[1],
        "udp_port": udp.getsockname()[1],
        "shm_key": key,
        "host_pid": other.pid,
        "guard_pid": os.getpid(),
        "host_marker": MARKER,
        "host_name": os.uname().nodename,
        "secret": SECRET,
    }
    yield World(top, facts, arrived)
    other.kill()
    other.wait()
    libc.shmctl(segment, 0, None)
    for sock in sockets:
        sock.close()
    for path in temporary:
        os.unlink(path)


class Finding(NamedTuple):
    """What one attempt found: `open` is None when the attempt itself is broken."""

    open: bool | None
    saw: str


def findings(output: str) -> dict[str, Finding]:
    """What the attempts said, by name."""
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {line["name"]: Finding(line["open"], line["saw"]) for line in lines}


@pytest.fixture(scope="session")
def script(world: World) -> Path:
    """The attempts and what they need to know, where the jail can read them."""
    place = Path(world.facts["ro"])
    (place / "world.json").write_text(json.dumps(world.facts))
    (place / "attempts.py").write_text((HERE / "attempts.py").read_text())
    return place / "attempts.py"


@pytest.fixture(scope="session")
def bare(world: World, script: Path) -> dict[str, Finding]:
    """Every attempt that does no harm, without a jail."""
    names = [name for name, (_, _, harmful) in ATTEMPTS.items() if not harmful]
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    done = subprocess.run(
        [sys.executable, "-I", str(script), str(script.with_name("world.json")), *names],
        env=guard_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        pass_fds=(writing,),
        start_new_session=True,
    )
    os.close(reading)
    os.close(writing)
    assert done.returncode == 0, done.stderr
    for left in (world.home / "pwn", world.home / "secret-dir/pwn3"):
        left.unlink(missing_ok=True)
    world.arrived.clear()
    return findings(done.stdout)


def standard_case(world: World, command: list[str]) -> dict[str, Any]:
    """A jail with one share to read, one to write, and one with credentials and ours in it."""
    return {
        "command": command,
        "home": world.facts["home"],
        "shares": [
            ["ro", world.facts["ro"]],
            ["rw", world.facts["rw"]],
            ["ro", str(world.home / "backup")],
        ],
        "ours": [[str(world.home / "backup/.config/mcp-jail"), "our policies", True]],
    }


class Jailed(NamedTuple):
    """One run in a jail: what the attempts found, and what the guard reports."""

    found: dict[str, Finding]
    report: dict[str, Any]
    stderr: str


@pytest.fixture(scope="session")
def jailed(
    bare: dict[str, Finding],  # first, since it leaves traces that are taken away again
    world: World,
    script: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Jailed:
    """Every attempt, inside a jail."""
    where = tmp_path_factory.mktemp("jailed")
    names = list(ATTEMPTS)
    command = [sys.executable, "-I", str(script), str(script.with_name("world.json")), *names]
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    done = run_guard(standard_case(world, command), where, pass_fds=(writing,))
    os.close(reading)
    os.close(writing)
    assert done.returncode == 0, done.stderr
    report = json.loads((where / "report.json").read_text())
    return Jailed(findings(done.stdout), report, done.stderr)
