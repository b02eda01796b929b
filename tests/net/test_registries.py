"""`npx -y` and `uvx` fetch a server and run it, where only a registry's hosts can be reached."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit
from urllib.request import urlopen

import pytest

from driver import Home, command, started
from net.conftest import Machine, Start
from net.registry import NAME, make_npm_registry, make_python_index

REGISTRY: Final = "files.example.com"
NETWORK: Final = f"{{mode: allowlist, allow: [{REGISTRY}, api.example.com]}}"
UV: Final = Path(sys.executable).parent / "uv"


def served(machine: Machine, name: str) -> tuple[Path, str]:
    """A folder of the machine's, and the URL it is served as."""
    folder = machine.folder / name
    folder.mkdir()
    return folder, f"https://{REGISTRY}/{name}"


@pytest.mark.usefixtures("npm_tree")
def test_npx_fetches_a_server_from_the_registry_and_it_reaches_its_host(
    jailed: Start, machine: Machine
) -> None:
    folder, url = served(machine, "npm")
    make_npm_registry(folder, url)
    npx = shutil.which("npx")
    assert npx is not None
    env = {"npm_config_registry": f"{url}/", "npm_config_update_notifier": "false"}
    with jailed(NETWORK, env=env, command=(npx, "-y", NAME)) as jail:
        good = jail.client.call("who", host="api.example.com")
        assert json.loads(good["content"][0]["text"])["host"] == "api.example.com"
        other = jail.client.call("who", host="other.example.com")["content"]
        assert [other[0]["text"], "'other.example.com'" in other[1]["text"]] == ["ENOTFOUND", True]


def test_uvx_fetches_a_server_from_the_index_and_it_reaches_its_host(
    jailed: Start, machine: Machine
) -> None:
    folder, url = served(machine, "simple")
    make_python_index(folder, url)
    env = {"UV_DEFAULT_INDEX": f"{url}/", "UV_PYTHON_DOWNLOADS": "never"}
    uvx = (str(UV), "tool", "run", "--python", "/usr/bin/python3", NAME)
    with jailed(NETWORK, env=env, command=uvx) as jail:
        good = jail.client.call("who", host="api.example.com")
        assert json.loads(good["content"][0]["text"])["host"] == "api.example.com"
        other = jail.client.call("who", host="other.example.com")["content"]
        assert "not known" in other[0]["text"]
        assert "'other.example.com'" in other[1]["text"]


@pytest.mark.usefixtures("npm_tree")
def test_a_registry_that_no_rule_names_is_not_reached(jailed: Start) -> None:
    env = {"UV_DEFAULT_INDEX": f"https://{REGISTRY}/simple/", "UV_PYTHON_DOWNLOADS": "never"}
    env["npm_config_fetch_retries"] = "0"
    env["npm_config_registry"] = f"https://{REGISTRY}/npm/"
    with jailed("{mode: none}", env=env, shows=(UV,)) as jail:
        assert "ENOTFOUND" in jail.sh("npx -y tiny-server </dev/null")
        said = jail.sh(f"UV_HTTP_RETRIES=0 {UV} tool run --python /usr/bin/python3 tiny-server")
        assert "dns error" in said
        assert REGISTRY in {entry["name"] for entry in jail.tried()}


# Variables by which a user's own programs find and trust their registries.
OF_REGISTRIES: Final = ("npm_config_", "NPM_CONFIG_", "UV_", "SSL_CERT_", "NODE_EXTRA_CA_CERTS")


@pytest.mark.usefixtures("npm_tree")
def test_the_user_s_own_registries_serve_npx_and_uvx(tmp_path: Path) -> None:
    registry, index = npm_registry(), python_index()
    hosts = sorted({place(registry), place(index), *map(place, files_of(index, "six"))})
    given = {key: value for key, value in os.environ.items() if key.startswith(OF_REGISTRIES)}
    own = {"npm_config_registry": registry, "UV_DEFAULT_INDEX": index}
    more = {
        "npm_config_update_notifier": "false",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_CONFIG": "1",
    }
    home = Home(tmp_path)
    home.write_policy(
        f"network: {{mode: allowlist, private: allow, allow: {hosts}}}\n"
        f"tools: {{default: allow}}\nfilesystem: {{read_only: [{UV}]}}\n"
        f"env: {{set: {json.dumps(given | own | more)}}}"
    )
    with started(home, "run", "fs", *command("shell.py")) as client:
        client.open()
        said = client.call("sh", line="npx -y semver@7 1.2.3")["content"]
        assert said[0]["text"].endswith("1.2.3\n"), said
        line = f"{UV} run --no-project --python /usr/bin/python3 --with six python -c '{SIX}'"
        said = client.call("sh", line=line)["content"]
        assert said[0]["text"].endswith("six\n"), said
        assert client.close() == 0
    tried = [entry for entry in home.audit() if entry["kind"] == "net"]
    reached = {e["name"].removesuffix(":443") for e in tried if e["verdict"] == "allow"}
    assert reached == set(hosts)


SIX: Final = "import six; print(six.__name__)"


def npm_registry() -> str:
    """What npm is told to use."""
    words = ["npm", "config", "get", "registry"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def python_index() -> str:
    """What uv or pip are told to use, else what pip has built in."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        if name in os.environ:
            return os.environ[name]
    code = """
from pip._internal.configuration import Configuration
from pip._internal.models.index import PyPI
found = Configuration(isolated=False)
found.load()
print(dict(found.items()).get("global.index-url", PyPI.simple_url))
"""
    words = [sys.executable, "-c", code]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def files_of(index: str, package: str) -> list[str]:
    """The URLs of a package's files, as its page gives them."""
    page = f"{index.rstrip('/')}/{package}/"
    with urlopen(page) as answer:
        links = re.findall(r'<a\b[^>]*\bhref="([^"#]+)', answer.read().decode())
    return [urljoin(page, link) for link in links]


def place(url: str) -> str:
    """Host and port of a URL as a policy has them."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    return parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
