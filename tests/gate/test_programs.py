"""Programs that know nothing of a gate: no proxy variable, no setting, and they get through."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

OnAMachine = Callable[..., Any]

START = """
    on_a_machine(FOLDER, HOSTS)
    RULES = allowlist("api.example.com", "api.example.com:80", "api.example.com:7")
    ENV = {
        "CERT": FOLDER + "/cert.pem", "SSL_CERT_FILE": FOLDER + "/cert.pem",
        "NODE_EXTRA_CA_CERTS": FOLDER + "/cert.pem", "CURL_CA_BUNDLE": FOLDER + "/cert.pem",
        "GIT_SSL_CAINFO": FOLDER + "/cert.pem", "GIT_CONFIG_NOSYSTEM": "1",
    }
    def shell(line, **more):
        return in_a_jail(FOLDER, ["/bin/sh", "-c", line], RULES, env=ENV, **more)
"""


def test_python_s_own_clients(on_a_machine: OnAMachine) -> None:
    code = (
        START
        + """
    run = python_inside(FOLDER, '''
        import http.client, urllib.request
        def fetched(url):
            try:
                with urllib.request.urlopen(url, timeout=20, context=trusting()) as answer:
                    return json.load(answer)["host"]
            except OSError as error:
                return str(error)
        connection = http.client.HTTPConnection("api.example.com")
        twice = []
        for _ in range(2):
            connection.request("GET", "/who")
            twice.append(json.load(connection.getresponse())["at"])
        tell([twice, *map(fetched, ("https://api.example.com/who", "http://api.example.com/who",
            "https://other.example.com/who", "https://api.example.com:8443/who"))])
    ''', RULES, env=ENV)
    tell(run.said)
    """
    )
    twice, secure, plain, other, port = on_a_machine(code)
    assert twice == ["93.184.216.34"] * 2
    assert (secure, plain) == ("api.example.com", "api.example.com")
    assert "Name or service not known" in other
    assert "refused" in port


def test_curl(on_a_machine: OnAMachine) -> None:
    code = (
        START
        + """
    run = shell('''
        curl -sS -m 20 https://api.example.com/who; echo
        curl -sS -m 20 http://api.example.com/who; echo
        curl -sS -m 20 https://other.example.com/who 2>&1
        curl -sS -m 20 --connect-to other.example.com:443:api.example.com:443 \\
            https://other.example.com/who 2>&1
        curl -sS -m 20 -H "Host: other.example.com" http://api.example.com/who 2>&1
        curl -sS -m 20 --resolve api.example.com:443:93.184.216.35 https://api.example.com/ 2>&1
    ''')
    tell(run.output.splitlines())
    """
    )
    secure, plain, other, *refused = on_a_machine(code)
    assert len(refused) == 3
    assert '"host": "api.example.com"' in secure
    assert '"host": "api.example.com"' in plain
    assert "Could not resolve host" in other
    # A reset, which curl words by the moment at which it comes: connecting, in TLS, reading.
    assert all(line.startswith(("curl: (7)", "curl: (35)", "curl: (56)")) for line in refused)


@pytest.mark.usefixtures("npm_tree")
def test_node_s_fetch_and_resolvers(on_a_machine: OnAMachine) -> None:
    code = (
        START
        + """
    script = '''
        const dns = require("dns").promises, net = require("net");
        const told = async (what) => { try { return await what(); } catch (e) {
            return (e.cause ?? e).code ?? String(e); } };
        const who = (url) => told(async () => (await (await fetch(url)).json()).host);
        const echo = () => new Promise((done) => {
            const s = net.connect(7, "api.example.com", () => s.end("raw"));
            let text = ""; s.on("data", (d) => text += d); s.on("close", () => done(text)); });
        (async () => console.log(JSON.stringify([
            await who("https://api.example.com/who"), await who("http://api.example.com/who"),
            await who("https://other.example.com/who"), await who("https://93.184.216.34/who"),
            await told(() => dns.resolve4("api.example.com")),
            await told(() => dns.resolve4("other.example.com")),
            await told(() => dns.resolveTxt("api.example.com")),
            await told(() => dns.lookup("api.example.com")), await echo(),
        ])))();
    '''
    node = sys.argv[2]
    tell(in_a_jail(FOLDER, [node, "-e", script], RULES, env=ENV).said)
    """
    )
    node = shutil.which("node")
    assert node is not None
    secure, plain, other, literal, resolved, unknown, text, looked_up, echo = on_a_machine(
        code, node
    )
    assert (secure, plain, echo) == ("api.example.com", "api.example.com", "raw")
    assert (other, literal) == ("ENOTFOUND", "ECONNRESET")
    assert resolved == ["198.18.0.1"]
    assert (unknown, text) == ("ENOTFOUND", "EREFUSED")
    assert looked_up == {"address": "198.18.0.1", "family": 4}


def test_git_over_https(on_a_machine: OnAMachine) -> None:
    code = (
        START
        + """
    import subprocess
    def git(*words, cwd=FOLDER):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.com",
                        "-c", "init.defaultBranch=main", *words],
                       cwd=cwd, check=True, capture_output=True)
    git("init", "repository")
    with open(FOLDER + "/repository/file", "w") as file:
        file.write("content")
    git("add", "file", cwd=FOLDER + "/repository")
    git("commit", "-m", "first", cwd=FOLDER + "/repository")
    git("clone", "--bare", "repository", "repository.git")
    git("update-server-info", cwd=FOLDER + "/repository.git")
    run = shell('''
        cd /tmp
        git clone -q https://api.example.com/repository.git here 2>&1; cat here/file; echo
        git clone -q https://other.example.com/repository.git there 2>&1 | tail -1
    ''')
    tell(run.output.splitlines())
    """
    )
    content, other = on_a_machine(code)
    assert content == "content"
    assert "Could not resolve host" in other
