"""From what a server may have to what is mounted where: `plan`, pure.

The file tree starts empty. What a policy shares appears at its own path, as the host resolves it;
a link in the spelling of a path becomes a link inside. Nothing is created in a user's directory:
every mount stands on a directory that is there, or in a file system of ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mcp_jail.core.spec import Access, JailSpec, Mount, MountKind, Plan, Share
from mcp_jail.sandbox import refuse
from mcp_jail.sandbox.look import Looks
from mcp_jail.sandbox.probe import Host
from mcp_jail.sandbox.protected import Guarded, lies_in
from mcp_jail.sandbox.seccomp import ARCHES, filter_for
from mcp_jail.sandbox.toolchain import Toolchain
from mcp_jail.sandbox.walk import Kind, Seen

HOSTNAME: Final = "jail"
SYSTEM_PATH: Final = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")

# Bytes a private file system may hold. The kernel's own default is half of the memory, for each.
TMP_SIZE: Final = 1 << 30
HOME_SIZE: Final = 1 << 30
SHM_SIZE: Final = 256 << 20
RUN_SIZE: Final = 16 << 20

RESOLV: Final = "nameserver 127.0.0.1\noptions timeout:2 attempts:3\n"
NSSWITCH: Final = (
    "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
    "networks: files\nprotocols: files\nservices: files\n"
)


def plan(spec: JailSpec, host: Host, toolchain: Toolchain, guarded: Guarded, looks: Looks) -> Plan:
    """The jail of a spec on this host. ShareError when the spec asks for what no jail gives.

    What only this machine lacks is in the plan's `gaps`; `launch` refuses those.
    """
    refuse.strings(spec)
    refuse.shares(spec, host, toolchain, guarded, looks)
    home = inside_home(host)
    mounts = _Tree()
    mounts.add_all(_system(looks))
    mounts.add_all(_private(spec, looks, home))
    mounts.add_all(_etc(host, looks, home))
    shares = tuple(_kept(spec, toolchain, looks))
    mounts.add_all(_binds(shares, looks))
    mounts.add_all(_masks(spec, guarded, looks, shares))
    done = mounts.in_order()
    links = _links(looks, [*shares, *_spelled(spec, toolchain, home)], done)
    done = tuple(sorted((*done, *links), key=_depth_first))
    return Plan(
        name=spec.name,
        bwrap=host.bwrap or "",
        mounts=done,
        env=_environment(spec, host, toolchain, home),
        command=(toolchain.executable, *spec.command[1:]),
        cwd=_cwd(spec, looks, done, home),
        uid=host.uid,
        gid=host.gid,
        hostname=HOSTNAME,
        seccomp=filter_for(host.arch, is_alone=spec.is_alone) if host.arch in ARCHES else b"",
        gaps=host.gaps,
        secrets=spec.secrets,
        interpreters=toolchain.from_path,
        listening=looks.listening,
        host_network=spec.host_network,
        door=spec.door,
    )


def inside_home(host: Host) -> str:
    """HOME as the server sees it; an account without one gets a directory of its own."""
    return f"/home/{host.user}" if host.home == "/" else host.home


class _Tree:
    """Mounts by destination: one thing in one place, the last word wins."""

    def __init__(self) -> None:
        self._at: dict[str, Mount] = {}

    def add_all(self, mounts: Iterable[Mount]) -> None:
        for mount in mounts:
            self._at[mount.destination] = mount

    def in_order(self) -> tuple[Mount, ...]:
        return tuple(sorted(self._at.values(), key=_depth_first))


def _depth_first(mount: Mount) -> list[str]:
    """A directory before what lies in it."""
    return mount.destination.split("/")


def _system(looks: Looks) -> Iterable[Mount]:
    for seen in looks.system.directories:
        if seen.links:
            yield _symlink(seen.path, seen.links[0].target, "the system's layout")
        else:
            yield _bind(seen, seen.path, Access.READ_ONLY, "the system's programs")
    yield Mount(kind=MountKind.PROC, destination="/proc", why="the jail's own processes")
    # Whoever writes the memory of bwrap's process in there can have the jail outlive its guard.
    yield Mount(
        kind=MountKind.TMPFS_READ_ONLY, destination="/proc/1", why="the process that ends the jail"
    )
    for seen in looks.system.proc_read_only:
        yield _bind(
            seen, seen.path, Access.READ_ONLY, "a sysctl asks for the user, not for a right"
        )
    for seen in looks.system.proc_hidden:
        yield from _hide_in_proc(seen)
    yield Mount(kind=MountKind.DEV, destination="/dev", why="null, zero, random, tty, pts")
    yield _tmpfs("/dev/shm", "its own", SHM_SIZE, 0o1777)  # noqa: S108
    yield _tmpfs("/run", "empty: no socket of the host", RUN_SIZE, 0o755)
    yield Mount(
        kind=MountKind.SYMLINK, source="../run", destination="/var/run", why="as on the host"
    )


def _hide_in_proc(seen: Seen) -> Iterable[Mount]:
    why = "the machine's, not the jail's"
    if seen.kind is Kind.DIRECTORY:
        yield Mount(kind=MountKind.TMPFS_READ_ONLY, destination=seen.path, why=why)
    else:
        yield Mount(
            kind=MountKind.BIND_READ_ONLY, source="/dev/null", destination=seen.path, why=why
        )


def _private(spec: JailSpec, looks: Looks, home: str) -> Iterable[Mount]:
    if spec.private_tmp:
        yield _tmpfs("/tmp", "filesystem.tmp", TMP_SIZE, 0o1777)  # noqa: S108
        yield _tmpfs("/var/tmp", "filesystem.tmp", TMP_SIZE, 0o1777)  # noqa: S108
    real = looks.seen[home].real
    if spec.keep_home is None:
        yield _tmpfs(real, "filesystem.home: fresh", HOME_SIZE, 0o700)
    else:
        yield _bind(looks.seen[spec.keep_home], real, Access.READ_WRITE, "filesystem.home: keep")


def _etc(host: Host, looks: Looks, home: str) -> Iterable[Mount]:
    for seen in looks.system.etc:
        why = "settings without secrets"
        if seen.links and _visible(seen.real, looks):
            yield _symlink(seen.path, seen.links[0].target, why)
        elif seen.path in looks.system.copies:
            yield _data(seen.path, looks.system.copies[seen.path], why)
        else:
            yield _bind(seen, seen.path, Access.READ_ONLY, why)
    passwd = f"{host.user}:x:{host.uid}:{host.gid}::{home}:/bin/sh\n"
    group = f"{host.user}:x:{host.gid}:\n"
    if host.uid != 0:
        passwd += "root:x:0:0::/nonexistent:/usr/sbin/nologin\n"
        group += "root:x:0:\n"
    ours = {
        "passwd": passwd + "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n",
        "group": group + "nogroup:x:65534:\n",
        "hosts": f"127.0.0.1 localhost {HOSTNAME}\n::1 localhost {HOSTNAME}\n",
        "resolv.conf": RESOLV if host.resolv is None else host.resolv,
        "nsswitch.conf": NSSWITCH,
    }
    for name, text in ours.items():
        why = "names no user, host or server of the real machine"
        yield _data(f"/etc/{name}", text.encode(), why)


def _visible(path: str, looks: Looks) -> bool:
    """Whether a system path is in the jail at its own name."""
    trees = (*looks.system.directories, *looks.system.etc)
    return any(lies_in(path, tree.path) for tree in trees if not tree.links)


def _kept(spec: JailSpec, toolchain: Toolchain, looks: Looks) -> Iterable[Share]:
    """The policy's shares, and those of the tool chain that no other one covers already."""
    yield from spec.shares
    covering = [looks.seen[share.path].real for share in spec.shares]
    covering += [seen.path for seen in looks.system.directories if not seen.links]
    for share in sorted(toolchain.shares, key=lambda share: share.path):
        real = looks.seen[share.path].real
        if not any(lies_in(real, root) for root in covering):
            covering.append(real)
            yield share


def _binds(shares: Iterable[Share], looks: Looks) -> Iterable[Mount]:
    for share in shares:
        seen = looks.seen[share.path]
        yield _bind(seen, seen.real, share.access, share.why)


def _masks(
    spec: JailSpec, guarded: Guarded, looks: Looks, shares: tuple[Share, ...]
) -> Iterable[Mount]:
    """Empty directories over known credentials and ours, where a share would show them."""
    roots = [looks.seen[share.path].real for share in shares]
    named = {looks.seen[share.path].real for share in spec.shares}
    hidden = [(seen, "known credentials") for seen in looks.credentials]
    hidden += [(looks.ours[o.path], o.what) for o in guarded.ours if o.mask]
    for seen, why in hidden:
        shown = any(lies_in(seen.real, root) and seen.real != root for root in roots)
        if seen.kind is Kind.DIRECTORY and shown and not _named(seen.real, named, roots):
            yield Mount(kind=MountKind.TMPFS_READ_ONLY, destination=seen.real, why=why)


def _named(real: str, named: set[str], roots: list[str]) -> bool:
    """Whether the deepest share that shows a directory is itself that directory or lies in it."""
    deepest = max((root for root in roots if lies_in(real, root)), key=len, default="")
    return real in named or (deepest == real)


def _spelled(spec: JailSpec, toolchain: Toolchain, home: str) -> Iterable[Share]:
    """Paths that are spoken of inside without being shares: their links are needed too."""
    for path in (home, spec.cwd, *toolchain.programs):
        if path:
            yield Share(path=path, access=Access.READ_ONLY, why="spelled this way")


def _links(looks: Looks, shares: Iterable[Share], mounts: tuple[Mount, ...]) -> Iterable[Mount]:
    """The links in the spelling of a path, where no mount brings them along."""
    places = {mount.destination for mount in mounts}
    binds = [m.destination for m in mounts if m.kind in _BINDS]
    made: dict[str, Mount] = {}
    for share in shares:
        seen = looks.seen.get(share.path)
        for link in seen.links if seen else ():
            inside_a_bind = any(lies_in(link.path, bind) for bind in binds)
            if link.path not in places and not inside_a_bind:
                made[link.path] = _symlink(link.path, link.target, f"how '{share.path}' is spelled")
    return made.values()


_BINDS: Final = (MountKind.BIND_READ_ONLY, MountKind.BIND_READ_WRITE)


def _cwd(spec: JailSpec, looks: Looks, mounts: tuple[Mount, ...], home: str) -> str:
    """The working directory where it is visible, else HOME. It never makes anything visible."""
    if spec.cwd is None:
        return home
    seen = looks.seen[spec.cwd]
    holders = [m for m in mounts if lies_in(seen.real, m.destination)]
    if seen.kind is not Kind.DIRECTORY or not holders:
        return home
    deepest = max(holders, key=lambda mount: len(mount.destination))
    # A kept HOME is another directory than the host's, which has none of what lies there.
    is_itself = deepest.kind in _BINDS and deepest.source == deepest.destination
    shown = is_itself or seen.real == deepest.destination
    return spec.cwd if shown and deepest.kind is not MountKind.TMPFS_READ_ONLY else home


def _environment(spec: JailSpec, host: Host, toolchain: Toolchain, home: str) -> dict[str, str]:
    """Nothing of our own environment; what the policy passes or sets has the last word."""
    built = {
        "PATH": ":".join(dict.fromkeys((*toolchain.path, *SYSTEM_PATH))),
        "HOME": home,
        "USER": host.user,
        "LOGNAME": host.user,
        "SHELL": "/bin/sh",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }
    if spec.private_tmp:
        built["TMPDIR"] = "/tmp"  # noqa: S108
    return {**built, **spec.env}


def _bind(seen: Seen, destination: str, access: Access, why: str) -> Mount:
    writable = access is Access.READ_WRITE
    return Mount(
        kind=MountKind.BIND_READ_WRITE if writable else MountKind.BIND_READ_ONLY,
        source=seen.real,
        destination=destination,
        identity=seen.identity,
        why=why,
    )


def _tmpfs(destination: str, why: str, size: int, mode: int) -> Mount:
    return Mount(kind=MountKind.TMPFS, destination=destination, why=why, size=size, mode=mode)


def _data(destination: str, content: bytes, why: str) -> Mount:
    return Mount(kind=MountKind.DATA, destination=destination, data=content, why=why)


def _symlink(destination: str, target: str, why: str) -> Mount:
    return Mount(kind=MountKind.SYMLINK, source=target, destination=destination, why=why)
