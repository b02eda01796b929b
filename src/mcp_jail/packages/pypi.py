"""PyPI's packages: resolved and installed by uv in a jail, wheels only unless scripts are allowed.

uv asks a Python what it is before it does anything, and keeps the answer. So each step with a
network has one before it without, and may then start no program at all: no Python, least of all
that of the tree, whose `.pth` files are a package's code. Byte code is written last, without a
network, by the Python that the tree was made from.

Building from source runs the package's code. A policy that allows it gets a jail that is still
without any directory of the user's, with the index as its only host, and no logins at all.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from mcp_jail.core.packages import PackageKind, Pinned, canonical_name, is_version
from mcp_jail.errors import PackageError
from mcp_jail.packages.failing import failed, not_had
from mcp_jail.packages.installing import INSIDE_HOME, Fetched, Jails, Phase, Ran, Step, Tell
from mcp_jail.packages.registries import Source, without_login

_QUIET: Final = {
    "UV_NO_CONFIG": "1",
    "UV_NO_PROGRESS": "1",
    "UV_PYTHON_DOWNLOADS": "never",
    "UV_LINK_MODE": "copy",
    "UV_HTTP_RETRIES": "1",
    "UV_NO_ENV_FILE": "1",
    "UV_SYSTEM_CERTS": "1",  # this machine's authorities, beside those of the user
}
_CACHE: Final = ".uv-cache"  # in the directory that is filled, while it is
_WANTED: Final = "wanted.txt"
_WHEELS_ONLY: Final = ("--only-binary", ":all:")

# Programs of a virtual environment that belong to no package.
_OF_PYTHON: Final = re.compile(r"python[0-9.]*t?|activate.*|deactivate.*|pydoc.*|Activate\.ps1")
_FOUND: Final = re.compile(r"^(\S+?)==([^\s;]+)", re.MULTILINE)
_FROM: Final = re.compile(
    r"^([A-Za-z0-9._-]+(?:\[[A-Za-z0-9._,-]+\])?)==.*\n\s+# from (\S+)", re.MULTILINE
)


class Pypi(msgspec.Struct, frozen=True):
    """A maker of PyPI's packages; `python` is the version that a command asks for, if it does.

    `managed` is a Python of uv's own for it.
    """

    jails: Jails
    source: Source
    python: str = ""
    managed: str | None = None

    def newest(self, name: str, spec: str) -> str:
        """The version that a spec means now; the newest one without."""
        wanted = name + spec
        python = self._python()
        with TemporaryDirectory(prefix="mcp-jail-") as folder:
            env = _QUIET | {"UV_CACHE_DIR": f"{folder}/{_CACHE}"}
            asked = Step(command=(), env=env, folder=folder, programs=(python,))
            self._get_to_know(python, asked)
            words = (self._uv(), "pip", "compile", "--no-deps", "--no-header", "--no-annotate")
            ran = self.jails.run(
                msgspec.structs.replace(
                    asked,
                    command=(*words, *_WHEELS_ONLY, "--python", python, f"{INSIDE_HOME}/{_WANTED}"),
                    env=env | self.source.env,
                    files=self.source.files | {_WANTED: f"{wanted}\n".encode()},
                    hosts=self.source.hosts,
                    proxy=self.source.proxy,
                    is_alone=True,
                )
            )
        found: dict[str, str] = dict(_FOUND.findall(ran.out.decode(errors="replace")))
        version = found.get(canonical_name(PackageKind.PYPI, name).partition("[")[0])
        if ran.code != 0 or version is None or not is_version(PackageKind.PYPI, version):
            if _LACKS_WHEEL.search(ran.errors):
                message = f"pypi '{wanted}' is there as source only"
                raise failed(message, ran, self.source, hint=_NO_WHEEL)
            is_missing = ran.code == 0 or "No solution found" in ran.errors
            urls = ", ".join(self.source.urls)
            raise not_had(f"pypi '{wanted}'", ran, self.source, urls, is_missing=is_missing)
        return version

    def make(self, package: Pinned, folder: str, place: str, tell: Tell) -> Fetched:
        """Have uv make a virtual environment with a package and all it needs."""
        tell(Phase.FETCHING)
        python = self._python()
        words = (self._uv(), "venv", "--no-project", "--allow-existing", "--python", python, place)
        env = _QUIET | {"UV_CACHE_DIR": f"{place}/{_CACHE}"}
        step = Step(command=words, env=env, folder=folder, place=place, programs=(python,))
        ran = self.jails.run(step)
        if ran.code != 0:
            raise failed("no Python environment could be made", ran, self.source)
        own = f"{place}/bin/python"
        self._get_to_know(own, step)  # while there is no package in it
        registries = self._registries(package, own, step)
        wheels = () if package.scripts else _WHEELS_ONLY
        words = (self._uv(), "pip", "install", "--python", own, *wheels)
        ran = self.jails.run(
            self._asking(package, step, (*words, "-r", f"{INSIDE_HOME}/{_WANTED}"))
        )
        if ran.code != 0:
            raise self._failed(package, ran)
        shutil.rmtree(os.path.join(folder, _CACHE), ignore_errors=True)  # else it is judged too
        self._compile(python, step)
        return _fetched(package, folder, registries)

    def _registries(self, package: Pinned, python: str, step: Step) -> dict[str, tuple[str, ...]]:
        """What comes from which index, as uv says it before it fetches."""
        words = (self._uv(), "pip", "compile", "--no-header", "--no-annotate")
        wheels = () if package.scripts else _WHEELS_ONLY
        told = ("--emit-index-annotation", "--python", python, f"{INSIDE_HOME}/{_WANTED}")
        ran = self.jails.run(self._asking(package, step, (*words, *wheels, *told)))
        if ran.code != 0:
            raise self._failed(package, ran)
        found: dict[str, list[str]] = {}
        for name, url in _FROM.findall(ran.out.decode(errors="replace")):
            found.setdefault(without_login(url), []).append(name)
        return {url: tuple(sorted(names)) for url, names in found.items()}

    def _asking(self, package: Pinned, step: Step, command: tuple[str, ...]) -> Step:
        """A step that may ask the indexes for one version of a package."""
        wanted = f"{package.name}=={package.version}\n".encode()
        return msgspec.structs.replace(
            step,
            command=command,
            env=step.env | self.source.env,
            files=self.source.files | {_WANTED: wanted},
            hosts=self.source.hosts,
            proxy=self.source.proxy,
            is_alone=not package.scripts,
        )

    def _failed(self, package: Pinned, ran: Ran) -> PackageError:
        hint = _NO_WHEEL if _LACKS_WHEEL.search(ran.errors) else ""
        return failed(f"{package} could not be fetched", ran, self.source, hint=hint)

    def _get_to_know(self, python: str, step: Step) -> None:
        """Have uv ask a Python what it is and keep the answer in the step's cache."""
        words = (self._uv(), "pip", "list", "--python", python)
        ran = self.jails.run(msgspec.structs.replace(step, command=words))
        if ran.code != 0:
            raise failed(f"'{python}' is no Python that uv can use", ran, self.source)

    def _compile(self, python: str, step: Step) -> None:
        """Write byte code, which no run can; what cannot be compiled stays as it is.

        One that depends on times would be stale after a copy.
        """
        words = ("-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash")
        alone = (python, "-I", "-S", *words, f"{step.place}/lib")
        self.jails.run(msgspec.structs.replace(step, command=alone, env={}))

    def _uv(self) -> str:
        found = self.jails.find("uv")
        if found is None:
            raise PackageError("uv is not installed here", hint="https://docs.astral.sh/uv/")
        return found

    def _python(self) -> str:
        name = self.managed or f"python{self.python or '3'}"
        found = self.jails.shown(name)
        if found is None:
            raise PackageError(
                f"{name} is not in PATH, and uv has none of its own",
                hint="install it, or name another version",
            )
        return found


# uv's words where there is only source; a wheel that is there and is bad is no reason to build one.
_LACKS_WHEEL: Final = re.compile(r"no\s+usable\s+wheels")
_NO_WHEEL: Final = "a package without a wheel is built by its own code: scripts: allow lets it"


def _fetched(package: Pinned, folder: str, registries: dict[str, tuple[str, ...]]) -> Fetched:
    programs = {name: f"bin/{name}" for name in _listed(os.path.join(folder, "bin"))}
    if not programs:
        raise PackageError(f"{package} brings no program that could be started")
    interpreter = os.path.join(folder, "bin", "python")
    if not os.path.islink(interpreter):
        raise PackageError(f"{package} puts a file of its own in the place of Python")
    target = os.readlink(interpreter)
    return Fetched(
        programs=programs,
        interpreter="bin/python",
        registries=registries,
        links_out=frozenset({target}),
    )


def _listed(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(
            entry.name
            for entry in entries
            if stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode)
            and os.access(entry.path, os.X_OK)
            and not _OF_PYTHON.fullmatch(entry.name)
        )
