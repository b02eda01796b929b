"""npm's settings are found and read as npm finds and reads them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mcp_jail.packages.npmrc import read_npmrc, settings_of

SCOPE = "@corp:registry"


def npm_says(key: str, home: Path, **environ: str) -> str:
    words = ["npm", "config", "get", key]
    env = {"HOME": str(home), "PATH": os.environ["PATH"]} | environ
    return subprocess.check_output(words, env=env, cwd=home, text=True).strip()


def test_an_npmrc_is_read_as_npm_reads_it(tmp_path: Path) -> None:
    text = (
        'registry = "https://a.example/"\n'
        "//a.example/:_authToken=${TOKEN}\n"
        "@s:registry='https://b.example/'\n"
        "email=${MISSING?}\n"
        "init-author-name = me ; you\n"
    )
    (tmp_path / ".npmrc").write_text(text)
    environ = {"HOME": str(tmp_path), "PATH": "/usr/local/bin:/usr/bin:/bin", "TOKEN": "t"}
    ours = read_npmrc(text, environ)
    for key in ("registry", "@s:registry", "init-author-name"):
        words = ["npm", "config", "get", key, "--userconfig", str(tmp_path / ".npmrc")]
        said = subprocess.check_output(words, env=environ, cwd=tmp_path, text=True)
        assert said.strip() == ours[key]
    assert ours["//a.example/:_authToken"] == "t"


def nvm(home: Path) -> dict[str, str]:
    """A Node.js of the user's own, as nvm keeps it."""
    version = home / ".nvm/versions/node/v1"
    (version / "bin").mkdir(parents=True)
    node, npm = (shutil.which(name) for name in ("node", "npm"))
    assert node is not None
    assert npm is not None
    shutil.copy(os.path.realpath(node), version / "bin/node")
    own = version / "lib/node_modules/npm"
    own.parent.mkdir(parents=True)
    os.symlink(Path(npm).resolve().parent.parent, own)
    os.symlink("../lib/node_modules/npm/bin/npm-cli.js", version / "bin/npm")
    return {"PATH": f"{version / 'bin'}:{os.environ['PATH']}"}


def prefixed(home: Path) -> dict[str, str]:
    (home / ".npmrc").write_text("prefix=~/.npm-global\n")
    return {}


def prefixed_by_variable(home: Path) -> dict[str, str]:
    (home / ".npmrc").write_text("prefix=~/.other\n")
    return {"npm_config_prefix": str(home / "by-variable")}


def named(home: Path) -> dict[str, str]:
    (home / ".npmrc").write_text("globalconfig=${HOME}/my.npmrc\nprefix=~/.other\n")
    return {}


def of_another_user(home: Path) -> dict[str, str]:
    (home / "user.npmrc").write_text("prefix=~/.another\n")
    return {"NPM_CONFIG_USERCONFIG": str(home / "user.npmrc")}


@pytest.mark.parametrize("way", [nvm, prefixed, prefixed_by_variable, named, of_another_user])
@pytest.mark.usefixtures("npm_tree")
def test_the_machines_file_is_the_one_that_npm_takes(way: object, tmp_path: Path) -> None:
    assert callable(way)
    given = way(tmp_path)
    place = Path(npm_says("globalconfig", tmp_path, **given))
    assert place.is_relative_to(tmp_path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"{SCOPE}=https://corp.example/npm/\n")
    assert npm_says(SCOPE, tmp_path, **given) == "https://corp.example/npm/"
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]} | given

    def find(program: str) -> str | None:
        return shutil.which(program, path=environ["PATH"])

    assert settings_of(environ, str(tmp_path), find)[SCOPE] == "https://corp.example/npm/"


def test_what_stands_in_a_section_is_no_setting() -> None:
    assert read_npmrc("a=1\n[x]\na=2\nregistry=https://evil.example/\n", {}) == {"a": "1"}


def test_a_variables_name_is_read_as_npm_reads_it(tmp_path: Path) -> None:
    given = {"npm_config_@a_b:registry": "https://x.example/", "npm_config_//x/:_authToken": "t"}
    found = settings_of(given, str(tmp_path), lambda _program: None)
    assert found["@a-b:registry"] == "https://x.example/"
    assert found["//x/:_authToken"] == "t"
