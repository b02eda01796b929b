"""Commands that carry their code, and those that only look so."""

from __future__ import annotations

import pytest

from mcp_jail.config.carried_code import carried_code

CARRYING = [
    ("python3", "-c", "import os"),
    ("python3.12", "-Ic", "import os"),
    ("/usr/bin/python3", "-u", "-c", "import os"),
    ("python3", "-X", "dev", "-W", "error", "-c", "import os"),
    ("python3.13t", "-c", "import os"),
    ("python3", "-"),
    ("node", "--input-type", "module", "-e", "1"),
    ("bash", "-o", "pipefail", "-c", "id"),
    ("node", "-e", "1"),
    ("node", "--eval=1"),
    ("node", "-p", "1"),
    ("node", "--no-warnings", "--eval", "1"),
    ("node", "--import", "data:text/javascript,1", "server.js"),
    ("node", "--import=/tmp/x.mjs", "server.js"),
    ("node", "-r", "/tmp/x.js", "server.js"),
    ("node", "--experimental-loader=/tmp/x.mjs", "server.js"),
    ("bun", "-e", "1"),
    ("deno", "eval", "1"),
    ("sh", "-c", "curl x"),
    ("bash", "-lc", "curl x"),
    ("busybox", "sh", "-c", "id"),
    ("busybox", "ash", "-c", "id"),
    ("env", "sh", "-c", "id"),
    ("env", "-i", "A=b", "-u", "X", "python3", "-c", "1"),
    ("env", "-S", "python3 -c 1"),
    ("/usr/bin/env", "-vS", "python3 -c 1"),
    ("env", "--split-string=python3 -c 1"),
    ("awk", "BEGIN{system(1)}"),
    ("gawk", "-v", "a=1", "BEGIN{}"),
    ("perl", "-e", "1"),
    ("perl", "-Mstrict", "x.pl"),
    ("ruby", "-e", "1"),
    ("php", "-r", "1;"),
    ("lua", "-e", "1"),
    ("osascript", "-e", "1"),
    ("npx", "-c", "id"),
    ("npm", "--call", "id"),
    ("timeout", "5", "sh", "-c", "id"),
    ("nice", "-n", "5", "sh", "-c", "id"),
    ("nohup", "bash", "-c", "id"),
    ("xargs", "sh", "-c", "id"),
    ("uv", "run", "python", "-c", "1"),
    ("poetry", "run", "--", "python", "-c", "1"),
    ("find", "-exec", "id", ";"),
    ("vim", "+!id"),
]
PLAIN = [
    (),
    ("env",),
    ("python3", "server.py", "-c", "x"),
    ("python3", "-m", "server", "-c", "x"),
    ("python3", "-I", "-S", "server.py"),
    ("node", "server.js", "-e"),
    ("node", "--no-warnings", "server.js", "--eval"),
    ("npx", "-y", "server", "-c", "config"),
    ("uvx", "server", "-e"),
    ("deno", "run", "server.ts", "eval"),
    ("sh", "server.sh", "-c"),
    ("awk", "-f", "server.awk"),
    ("mcp-server", "-c", "config.toml"),
    ("timeout", "5", "mcp-server", "-c", "x"),
    ("uv", "run", "mcp-server", "-c", "x"),
    ("env", "A=b", "mcp-server", "-S"),
]


@pytest.mark.parametrize("command", CARRYING, ids=" ".join)
def test_code_on_the_command_line_is_told(command: tuple[str, ...]) -> None:
    found = carried_code(command)
    assert found is not None
    assert found.message.endswith(
        "that stands in the command itself and not in a program of its own"
    )


@pytest.mark.parametrize("command", PLAIN, ids=" ".join)
def test_a_program_or_a_script_is_not(command: tuple[str, ...]) -> None:
    assert carried_code(command) is None
