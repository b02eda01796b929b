"""The ways a call can take: straight, through a C program that only carries bytes, through us."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NAME = "bench"
RULES = 50


class Lane(NamedTuple):
    """A named way: what to put before the server's command, and the environment it starts in."""

    name: str
    prefix: tuple[str, ...]
    env: dict[str, str]

    def command(self, *server: str) -> list[str]:
        """The words to start a server by this way."""
        return [*self.prefix, *server]


class Workshop(NamedTuple):
    """Compiled programs and a throw-away home with a policy that has everything on."""

    folder: Path
    echo: str
    pump: str
    home: Path
    shared: Path
    mcp_jail: str

    def lanes(self) -> list[Lane]:
        """Direct, the pump, mcp-jail: all started in one environment."""
        env = {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", "USER": "bench"}
        return [
            Lane("direct", (), env),
            Lane("C pump", (self.pump,), env),
            Lane("mcp-jail", (self.mcp_jail, "run", NAME, "--"), env),
        ]

    @property
    def audit(self) -> Path:
        """Where the entries of the jailed runs stand."""
        return self.home / ".local/state/mcp-jail" / f"{NAME}.jsonl"


def set_up(folder: Path) -> Workshop:
    """Compile and write what a run needs below a folder."""
    made = {}
    for name in ("echo", "pump"):
        made[name] = str(folder / name)
        subprocess.run(["cc", "-O2", "-o", made[name], str(HERE / f"{name}.c")], check=True)
    home = folder / "home"
    shared = home / "projects" / "app"
    (shared / "some").mkdir(parents=True)
    policies = home / ".config" / "mcp-jail" / "policies"
    policies.mkdir(parents=True, mode=0o700)
    for private in (home, policies.parent):
        private.chmod(0o700)
    policy = policies / f"{NAME}.yaml"
    policy.write_text(policy_text(folder))
    policy.chmod(0o600)
    return Workshop(folder, made["echo"], made["pump"], home, shared, installed(folder))


def installed(folder: Path) -> str:
    """mcp-jail as a user has it: locked dependencies, no development tools beside it."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, str(ROOT)],
        check=True,
    )
    (wheel,) = folder.glob("mcp_jail-*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    pip[0] = str(folder / "venv/bin/python")
    locked = str(ROOT / "requirements" / "run.txt")
    subprocess.run([*pip, "install", "--require-hashes", "-r", locked], check=True)
    subprocess.run([*pip, "install", "--no-deps", str(wheel)], check=True)
    return str(folder / "venv/bin/mcp-jail")


def policy_text(programs: Path) -> str:
    """Fifty rules, half of them globs, and path constraints on the tool that is called."""
    rules = [f'    "tool_{number}_*": deny' for number in range(RULES // 2)]
    rules += [f"    other_{number}: allow" for number in range(RULES // 2 - 1)]
    return "\n".join(
        [
            f"name: {NAME}",
            "filesystem:",
            f"  read_only: [{programs}/echo, {programs}/pump]",
            "  read_write: [~/projects/app]",
            "tools:",
            "  default: deny",
            "  rules:",
            *rules,
            "    write_file:",
            "      decision: allow",
            "      args: {path: {under: [~/projects/app]}, content: {max_length: 1000}}",
            "",
        ]
    )


def everything_on(workshop: Workshop) -> list[str]:
    """What of the protections is off and would make a figure a lie; nothing else is reported."""
    off = []
    if "under:" not in policy_text(workshop.folder):
        off.append("policy")
    size = workshop.audit.stat().st_size if workshop.audit.exists() else 0
    if size == 0:
        off.append("audit")
    if not os.access("/usr/bin/bwrap", os.X_OK):
        off.append("jail")
    return off
