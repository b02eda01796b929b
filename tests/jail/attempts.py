"""Attempts to get out, run once inside a jail and once bare. Standard library only.

Usage: attempts.py WORLD.json NAME...: each attempt says on its own line of stdout, as JSON, whether
it got out (`open`) and what it saw. An attempt that raises was held.

`bare` says what the very same attempt must find outside a jail: "open" for everybody, "root" for
root only, "" where the machine decides or the attempt would do harm there. So an attempt that can
never succeed is noticed.
"""

from __future__ import annotations

import ctypes
import errno
import glob
import json
import mmap
import os
import platform
import signal
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
World = dict[str, Any]
Attempt = Callable[[World], object]
ATTEMPTS: dict[str, tuple[Attempt, str, bool]] = {}
HELD_ERRORS = {errno.EPERM, errno.ENOSYS}


def attempt(*names: str, bare: str = "", harmful: bool = False) -> Callable[[Attempt], Attempt]:
    def register(function: Attempt) -> Attempt:
        for name in names:
            ATTEMPTS[name] = (function, bare, harmful)
        return function

    return register


def syscall(x86: int, arm: int, *arguments: Any) -> tuple[int, int]:
    """A raw system call: (result, errno)."""
    ctypes.set_errno(0)
    number = x86 if X86 else arm
    words = [a if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments]
    result = LIBC.syscall(ctypes.c_long(number), *words)
    return result, ctypes.get_errno() if result == -1 else 0


def let_through(*call: Any) -> object:
    """Whether the filter let a call through to the kernel's own checks."""
    result, error = syscall(*call)
    return error not in HELD_ERRORS and f"result {result}, errno {error}"


def reads(path: str) -> str:
    with open(path, "rb") as file:
        return file.read(64).decode(errors="replace") or "empty"


def readable(paths: Iterable[str]) -> list[str]:
    found = []
    for path in paths:
        try:
            found.append(reads(path) and path)
        except OSError:
            continue
    return found


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


# --- files


@attempt("F1 read a private key", bare="open")
def _(world: World) -> object:
    return reads(f"{world['home']}/.ssh/id_canary")


@attempt("F2 write into the home", bare="open")
def _(world: World) -> object:
    with open(f"{world['home']}/pwn", "w") as file:
        file.write("x")
    return os.path.isdir(f"{world['home']}/secret-dir") and "the host's own home"


@attempt("F3 write through a link planted in a writable share", bare="open")
def _(world: World) -> object:
    link = f"{world['rw']}/link-{os.getpid()}"
    os.symlink(f"{world['home']}/secret-dir/pwn3", link)
    try:
        with open(link, "w") as file:
            file.write("x")
    finally:
        os.unlink(link)
    return "written"


@attempt("F4 hard link a file of a read-only share into a writable one", bare="open")
def _(world: World) -> object:
    link = f"{world['rw']}/hard-{os.getpid()}"
    os.link(f"{world['ro']}/note", link)
    os.unlink(link)
    return "linked"


@attempt("F4 hard link the host's passwd", bare="")
def _(world: World) -> object:
    link = f"{world['rw']}/passwd-{os.getpid()}"
    os.link("/usr/bin/env", link)
    os.unlink(link)
    return "linked"


@attempt("F5 read other programs' temporary files", bare="open")
def _(world: World) -> object:
    return readable(world["temporary"])


@attempt("F12 overwrite the running program", bare="")
def _(world: World) -> object:
    for path in ("/proc/1/exe", "/proc/self/exe"):
        try:
            with open(path, "r+b"):
                return path
        except OSError:
            continue
    return None


@attempt("F13 reach files through another process's root", bare="open")
def _(world: World) -> object:
    canary = f"{world['home']}/.ssh/id_canary"
    return readable(
        p
        for pid in pids()
        for p in (f"/proc/{pid}/root{canary}", f"/proc/{pid}/cwd/.ssh/id_canary")
    )


@attempt("F14 find an inherited descriptor", bare="open")
def _(world: World) -> object:
    extra = []
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if int(name) > 2 and not target.endswith("/fd"):
            extra.append(target)
    return extra


@attempt("F15 find a device of the host", bare="")
def _(world: World) -> object:
    known = {
        "null", "zero", "full", "random", "urandom", "tty", "pts", "ptmx", "shm", "fd", "stdin",
        "stdout", "stderr", "core", "console",
    }  # fmt: skip
    return sorted(set(os.listdir("/dev")) - known)


@attempt("F16 make a device", bare="root")
def _(world: World) -> object:
    place = f"{world['rw']}/device-{os.getpid()}"
    os.mknod(place, 0o600 | stat.S_IFCHR, os.makedev(1, 1))
    os.unlink(place)
    return "made"


@attempt("F17 mount in a namespace of one's own", bare="open")
def _(world: World) -> object:
    pid = os.fork()
    if pid == 0:
        flags = 0x00020000 | (0 if os.geteuid() == 0 else 0x10000000)
        code = LIBC.unshare(flags) or LIBC.mount(b"none", b"/", None, 0x44000, None)
        os._exit(1 if code else 0)
    return os.waitpid(pid, 0)[1] == 0 and "mounted"


@attempt("F18 take a mount away", harmful=True)
def _(world: World) -> object:
    with open("/proc/self/mountinfo") as file:
        points = [line.split()[4] for line in file]
    return [p for p in points if LIBC.umount2(os.fsencode(p), 2) == 0]


@attempt("F19 use the new mount calls", bare="root")
def _(world: World) -> object:
    calls = {
        "fsopen": (430, 430, b"tmpfs", 0),
        "open_tree": (428, 428, -100, b"/", 1),
        "move_mount": (429, 429, -1, b"", -1, b"", 0),
        "mount_setattr": (442, 442, -1, b"", 0, 0, 0),
    }
    return [name for name, call in calls.items() if let_through(*call)]


@attempt("F20 write a setting of the kernel", bare="root")
def _(world: World) -> object:
    found = []
    for top in ("/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/sys"):
        for directory, _, names in os.walk(top):
            found += [p for n in names if os.access(p := os.path.join(directory, n), os.W_OK)]
    return found[:5]


@attempt("F20 open the core pattern or sysrq for writing", bare="root")
def _(world: World) -> object:
    for path in (
        "/proc/sys/kernel/core_pattern",
        "/proc/sysrq-trigger",
        "/proc/sys/kernel/modprobe",
    ):
        try:
            os.close(os.open(path, os.O_WRONLY))
        except OSError:
            continue
        return path
    return None


@attempt("F21 open files by handle", bare="root")
def _(world: World) -> object:
    handle = struct.pack("Ii", 128, 0) + bytes(128)
    return let_through(304, 265, -100, handle, 0)


@attempt("F21 make a handle", bare="open")
def _(world: World) -> object:
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    call = 303 if X86 else 264
    return LIBC.syscall(call, -100, b"/usr", handle, ctypes.byref(mount), 0) == 0 and "made"


@attempt("F22 watch the home", bare="open")
def _(world: World) -> object:
    watch = LIBC.inotify_init1(0)
    place = os.fsencode(f"{world['home']}/.ssh")
    return LIBC.inotify_add_watch(watch, place, 0xFFF) >= 0 and "watched"


@attempt("F22 watch the file system", bare="")
def _(world: World) -> object:
    return let_through(300, 262, 0x200, 0)


@attempt("F23 fill the machine's memory through the temporary directory", harmful=True)
def _(world: World) -> object:
    found = []
    for directory in ("/tmp", "/var/tmp", "/dev/shm", os.environ["HOME"], "/run"):
        with open(f"{directory}/big", "wb") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, 2 << 30)
                found.append(directory)
            except OSError:
                continue
            finally:
                os.unlink(file.name)
    return found


@attempt("F24 read what names this machine and its services", bare="")
def _(world: World) -> object:
    names = [
        "/etc/machine-id",
        "/etc/shadow",
        "/etc/hostname",
        "/var/lib/dpkg/status",
        "/etc/fstab",
    ]
    return readable(
        names + glob.glob("/etc/ssh/*") + glob.glob("/run/*/*") + glob.glob("/etc/ssl/private/*")
    )


@attempt("F25 keep a set-user-id program working")
def _(world: World) -> object:
    with open("/proc/self/mountinfo") as file:
        return [line.split()[4] for line in file if "nosuid" not in line.split()[5]]


@attempt("F26 move or remove a shared directory", harmful=True)
def _(world: World) -> object:
    found = []
    for path in (world["rw"], world["ro"]):
        for act in (os.rmdir, lambda p: os.rename(p, p + "-moved")):
            try:
                act(path)
                found.append(path)
            except OSError:
                continue
    return found


@attempt("F28 write where programs are started from", bare="root")
def _(world: World) -> object:
    found = []
    for directory in ("/usr/bin", "/usr/local/bin", "/usr/lib", "/etc", "/", "/dev", "/usr"):
        place = f"{directory}/jail-attempt-{os.getpid()}"
        try:
            with open(place, "w"):
                found.append(directory)
            os.unlink(place)
        except OSError:
            continue
    return found


@attempt("F28 write into a read-only share", bare="open")
def _(world: World) -> object:
    place = f"{world['ro']}/new-{os.getpid()}"
    with open(place, "w"):
        pass
    os.unlink(place)
    return "written"


@attempt("F28 make a read-only share writable again", harmful=True)
def _(world: World) -> object:
    return LIBC.mount(b"none", os.fsencode(world["ro"]), None, 0x1020, None) == 0


@attempt("F29 read known credentials", bare="open")
def _(world: World) -> object:
    return readable(world["credentials"])


@attempt("F29 read known credentials inside a share", bare="open")
def _(world: World) -> object:
    return readable([world["masked"]])


@attempt("F29 write into a masked directory", bare="open")
def _(world: World) -> object:
    place = f"{os.path.dirname(world['masked'])}/new-{os.getpid()}"
    with open(place, "w"):
        pass
    os.unlink(place)
    return "written"


@attempt("row 67 read our own state inside a share", bare="open")
def _(world: World) -> object:
    return readable([world["state"]])


@attempt("row 73 leave something for the next login", harmful=True)
def _(world: World) -> object:
    home = world["home"]
    names = (".bashrc", ".config/systemd/user/x.service", ".local/bin/x", ".config/autostart/x")
    for name in names:
        place = f"{home}/{name}"
        try:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w") as file:
                file.write("pwn73")
        except OSError:
            continue
    return False  # the host looks


# --- processes


@attempt("P1 see a process of the host", bare="open")
def _(world: World) -> object:
    found = []
    for pid in pids():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if world["host_marker"].encode() in file.read():
                    found.append(pid)
        except OSError:
            continue
    return found


@attempt("P1 see more than the jail's own tree", bare="open")
def _(world: World) -> object:
    return len(pids()) > 3 and len(pids())


@attempt("P2 signal a process of the host", bare="open")
def _(world: World) -> object:
    os.kill(world["host_pid"], 0)
    return "there"


@attempt("P2 kill everything", harmful=True)
def _(world: World) -> object:
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.kill(os.getppid(), 0)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.kill(-1, signal.SIGTERM)
    return False  # the host looks whether its process lives


@attempt("P3 trace another process", bare="open")
def _(world: World) -> object:
    child = subprocess.Popen(["sleep", "5"])
    try:
        LIBC.ptrace.argtypes = [ctypes.c_long] * 4
        held = LIBC.ptrace(16, child.pid, 0, 0)
        return held == 0 and "attached"
    finally:
        child.kill()
        child.wait()


@attempt("P4 write another process's memory")
def _(world: World) -> object:
    found = []
    for pid in pids():
        if pid != os.getpid():  # PID 1 with the rest: patched, it lets the jail outlive the guard
            try:
                with open(f"/proc/{pid}/mem", "r+b"):
                    found.append(pid)
            except OSError:
                continue
    return found


@attempt("P4 find a parent without the filter", bare="open")
def _(world: World) -> object:
    if not os.path.exists("/proc/1/status"):  # hidden: nothing of PID 1 can be opened at all
        return os.listdir("/proc/1")
    with open("/proc/1/status") as file:
        status = file.read()
    return "Seccomp:\t2" not in status and "pid 1 unfiltered"


@attempt("P5 take a descriptor of another process", bare="open")
def _(world: World) -> object:
    child = subprocess.Popen(["sleep", "5"])
    try:
        pidfd = os.pidfd_open(child.pid)
        return let_through(438, 438, pidfd, 0, 0)
    finally:
        child.kill()
        child.wait()


@attempt("P6 make a user namespace", bare="open")
def _(world: World) -> object:
    pid = os.fork()
    if pid == 0:
        os._exit(1 if LIBC.unshare(0x10000000) else 0)
    return os.waitpid(pid, 0)[1] == 0 and "made"


@attempt("P6 make namespaces with clone", bare="open")
def _(world: World) -> object:
    result, error = syscall(56, 220, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
    if result > 0:
        os.waitpid(result, 0)
    return error not in HELD_ERRORS and f"pid {result}"


@attempt("P6 use clone3", bare="open")
def _(world: World) -> object:
    _, error = syscall(435, 435, 0, 0)
    return error != errno.ENOSYS and f"errno {error}"


@attempt("P7 hold a capability, or lack the filter", bare="open")
def _(world: World) -> object:
    with open("/proc/self/status") as file:
        lines = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
    wanted = {"NoNewPrivs": 1, "Seccomp": 2, "CapEff": 0, "CapBnd": 0, "CapPrm": 0, "CapAmb": 0}
    return [f"{k} {lines[k]}" for k, v in wanted.items() if int(lines[k].strip(), 16) != v]


@attempt("P8 gain rights by a set-user-id program")
def _(world: World) -> object:
    before = os.geteuid()
    done = subprocess.run(
        ["su", "-c", "id -u", "root"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return before != 0 and done.stdout.strip() == b"0"


@attempt("P9 use a keyring", bare="open")
def _(world: World) -> object:
    result, error = syscall(248, 217, b"user", b"jail-attempt", b"x", 1, -2)
    return error not in HELD_ERRORS and f"key {result}"


@attempt("P9 read a keyring", bare="open")
def _(world: World) -> object:
    return let_through(250, 219, 0, -4, 0)


@attempt("P9 ask for a key", bare="open")
def _(world: World) -> object:
    return let_through(249, 218, b"user", b"jail-none", b"", 0)


@attempt("P10 use io_uring")
def _(world: World) -> object:
    return let_through(425, 425, 0, 0) or let_through(426, 426, -1, 0, 0, 0, 0)


KERNEL_SURFACE = {
    "bpf": (321, 280, 0, 0, 0),
    "perf_event_open": (298, 241, 0, 0, -1, -1, 0),
    "userfaultfd": (323, 282, -1),
    "kexec_load": (246, 104, 0, 0, 0, 0),
    "init_module": (175, 105, 0, 0, b""),
    "finit_module": (313, 273, -1, b"", 0),
    "delete_module": (176, 106, b"none", 0),
    "syslog": (103, 116, 10, 0, 0),
    "quotactl": (179, 60, 0, b"", 0, 0),
    "kcmp": (312, 272, 1, 1, 0, 0, 0),
    "process_vm_readv": (310, 270, 1, 0, 0, 0, 0, 0),
    "process_vm_writev": (311, 271, 1, 0, 0, 0, 0, 0),
    "fanotify_init": (300, 262, 0, 0),
    "swapon": (167, 224, b"/none", 0),
    "swapoff": (168, 225, b"/none"),
    "reboot": (169, 142, 0, 0, 0, 0),
    "settimeofday": (164, 170, 1, 0),
    "clock_settime": (227, 112, 99, 0),
    "acct": (163, 89, b"/none"),
    "setns": (308, 268, -1, 0),
    "pivot_root": (155, 41, b"/none", b"/none"),
    "chroot": (161, 51, b"/none"),
    "mount": (165, 40, 0, 0, 0, 0, 0),
    "umount2": (166, 39, b"/none", 0),
    "move_pages": (279, 239, 1, 0, 0, 0, 0, 0),
    "migrate_pages": (256, 238, 1, 0, 0, 0),
    "vmsplice": (278, 75, -1, 0, 0, 0),
}
for surface, numbers in KERNEL_SURFACE.items():

    @attempt(f"P11 call {surface}")
    def _(world: World, call: tuple[Any, ...] = numbers) -> object:
        return let_through(*call)


@attempt("P12 use the x32 table")
def _(world: World) -> object:
    if not X86:
        return False
    result, error = syscall(0x40000000 + 41, 0, 1, 1, 0)
    return error != errno.ENOSYS and f"result {result}, errno {error}"


@attempt("P12 use the i386 table")
def _(world: World) -> object:
    if not X86:
        return False
    # mov eax, 20 (getpid); int 0x80; ret
    code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    pid = os.fork()
    if pid == 0:
        result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        os._exit(0 if result > 0 else 1)
    return os.waitpid(pid, 0)[1] == 0 and "int 0x80 works"


@attempt("P15 leave a core file")
def _(world: World) -> object:
    import resource

    return resource.getrlimit(resource.RLIMIT_CORE) != (0, 0) and "core limit open"


@attempt("P16 type into the terminal")
def _(world: World) -> object:
    found = []
    for number in (0x5412, 0x541C, (1 << 32) | 0x5412, (1 << 32) | 0x541C):
        result, error = syscall(16, 29, 0, number, b"\3x")
        if error not in {errno.EPERM, errno.EIO}:
            found.append((hex(number), result, error))
    return found


@attempt("row 74 open the controlling terminal")
def _(world: World) -> object:
    os.close(os.open("/dev/tty", os.O_RDWR))
    return "opened"


@attempt("P19 read a secret of the environment", bare="open")
def _(world: World) -> object:
    return os.environ.get("JAIL_TEST_SECRET")


@attempt("row 64 read a secret of any process's environment", bare="open")
def _(world: World) -> object:
    found = []
    for pid in pids():
        for name in ("environ", "cmdline"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    if world["secret"].encode() in file.read():
                        found.append(pid)
            except OSError:
                continue
    return found


@attempt("row 65 reach the guard", bare="open")
def _(world: World) -> object:
    found = []
    for act in (lambda pid: os.kill(pid, 0), lambda pid: os.listdir(f"/proc/{pid}/fd")):
        try:
            act(world["guard_pid"])
            found.append("reached")
        except OSError:
            continue
    return found


@attempt("P21 raise one's priority", bare="root")
def _(world: World) -> object:
    found = []
    for act in (
        lambda: os.nice(-5),
        lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    ):
        try:
            act()
            found.append("raised")
        except OSError:
            continue
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return found


@attempt("read the host's name", bare="open")
def _(world: World) -> object:
    return os.uname().nodename == world["host_name"] and "the host's"


@attempt("stay in the host's session")
def _(world: World) -> object:
    # The number of a session outside the PID namespace reads as 0.
    return os.getsid(0) == 0 and "the host's"


# --- sockets and shared memory


@attempt("I1 connect an abstract socket", bare="open")
def _(world: World) -> object:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + world["abstract"])
    return "connected"


@attempt("I2 connect any socket file", bare="open")
def _(world: World) -> object:
    found = []
    places = [world["stream"], world["datagram"]]
    for top in ("/run", "/var", "/tmp", "/dev", world["home"], "/etc"):
        for directory, _, names in os.walk(top):
            places += [os.path.join(directory, name) for name in names]
    for place in places:
        try:
            if not stat.S_ISSOCK(os.stat(place).st_mode):
                continue
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(1)
                client.connect(place)
            found.append(place)
        except OSError:
            continue
    return found


@attempt("I3 find a socket that commands the host", bare="")
def _(world: World) -> object:
    patterns = (
        "/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock",
        "/run/containerd/containerd.sock", "/run/libvirt/*", "/run/snapd.socket",
        "/run/dbus/system_bus_socket", "/run/user/*/*", "/tmp/.X11-unix/*", "/tmp/tmux-*",
        "/tmp/ssh-*", "/dev/log", "/run/systemd/*", "/run/screen/*", "/tmp/vscode-*.sock",
        "/run/postgresql/*", "/var/run/mysqld/*", "/run/WSL/*",
    )  # fmt: skip
    return [place for pattern in patterns for place in glob.glob(pattern)]


@attempt("I4 send from a socket pair to a path", bare="open")
def _(world: World) -> object:
    left, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    left.connect(world["datagram"])
    left.send(b"I4")
    return "sent"


@attempt("I5 send a message to a path", bare="open")
def _(world: World) -> object:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendmsg([b"I5"], [], 0, world["datagram"])
    return "sent"


@attempt("I6 attach the host's shared memory", bare="open")
def _(world: World) -> object:
    return LIBC.shmget(world["shm_key"], 1, 0) >= 0 and "attached"


@attempt("I6 see the host's queues and semaphores", bare="open")
def _(world: World) -> object:
    lines = 0
    for name in ("shm", "msg", "sem"):
        with open(f"/proc/sysvipc/{name}") as file:
            lines += len(file.readlines()) - 1
    return lines > 0 and "listed"


@attempt("I7 open the host's message queue", bare="")
def _(world: World) -> object:
    return os.path.exists("/dev/mqueue/jail-canary")


FAMILIES = {
    "VSOCK": 40, "PACKET": 17, "ALG": 38, "XDP": 44, "KEY": 15, "BLUETOOTH": 31, "CAN": 29,
    "TIPC": 30, "RDS": 21, "NFC": 39, "QIPCRTR": 42, "SMC": 43, "X25": 9, "ROSE": 11,
}  # fmt: skip


@attempt("I8 open a socket of another family")
def _(world: World) -> object:
    found = []
    for name, family in FAMILIES.items():
        for kind in (1, 2, 3, 5):
            result, error = syscall(41, 198, family, kind, 0)
            if error != errno.EAFNOSUPPORT:
                found.append((name, result, error))
    return found


@attempt("I8 open a pair of another family")
def _(world: World) -> object:
    _, error = syscall(53, 199, 30, 1, 0, bytes(8))
    return error != errno.EAFNOSUPPORT and error


# --- network


@attempt("N2 reach the host's loopback", bare="open")
def _(world: World) -> object:
    found = []
    for address in ("127.0.0.1", "::1", "0.0.0.0", "::ffff:127.0.0.1"):
        try:
            with socket.create_connection((address, world["port"]), timeout=1) as client:
                client.settimeout(1)
                if client.recv(8):
                    found.append(address)
        except OSError:
            continue
    return found


@attempt("N3 send to the host by UDP", bare="open")
def _(world: World) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", world["udp_port"]))
        sender.send(b"N3")
        sender.settimeout(1)
        return sender.recv(8).decode()


@attempt("N3 open a raw socket", bare="root")
def _(world: World) -> object:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()
    return "opened"


@attempt("row 70 find a way to any other address", bare="")
def _(world: World) -> object:
    found = []
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with socket.socket(family, kind) as client:
                client.settimeout(1)
                try:
                    client.connect((address, 443))
                    found.append(address)
                except TimeoutError:
                    found.append(address)
                except OSError:
                    continue
    return found


@attempt("row 70 resolve a name")
def _(world: World) -> object:
    return socket.getaddrinfo("attacker.test", 80)[0][4]


def main() -> None:
    with open(sys.argv[1]) as file:
        world = json.load(file)
    for name in sys.argv[2:]:
        try:
            result = ATTEMPTS[name][0](world)
            line = {"name": name, "open": bool(result), "saw": str(result)[:300]}
        except (OSError, AssertionError) as error:
            line = {"name": name, "open": False, "saw": f"{type(error).__name__}: {error}"}
        except Exception as error:  # noqa: BLE001
            line = {"name": name, "open": None, "saw": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
