"""Every command that the documentation shows is run, and prints what is shown."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

import pytest

from docs.pages import PAGES, ROOT, File, Reader, Step, fences, fits, steps
from net.publishing import SERVER, Release, publish

TRIED: Final = [page for page in PAGES if any(steps(page.read_text()))]

VENV: Final = """\
python3 -m venv ~/.local/share/mcp-jail/venv
~/.local/share/mcp-jail/venv/bin/pip install --require-hashes -r requirements/run.txt
~/.local/share/mcp-jail/venv/bin/pip install --no-deps .
mkdir -p ~/.local/bin
ln -s ~/.local/share/mcp-jail/venv/bin/mcp-jail ~/.local/bin/mcp-jail
"""

# Blocks of `sh` are not run here: they fetch something, or change the machine. CI runs `make ...`.
NOT_TRIED: Final = {
    "docs/performance.md": {"python bench/run.py\n"},  # minutes, and only on an idle machine
    "README.md": {
        "make demo\nmake test\n",
        VENV,
        "pipx install .\n",
        "npm install --global --prefix ~/.local @modelcontextprotocol/server-filesystem\n",
    },
    "docs/use-cases/1-the-filesystem-server.md": {
        "npm install --global --prefix ~/.local @modelcontextprotocol/server-filesystem\n",
    },
}


def relative(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """A registry of this test's own, on this machine, with a package in two versions."""
    folder = tmp_path / "registry"
    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        url = f"http://localhost:{server.server_port}"
        told = SERVER.replace('"Ask."', '"Ask. And tell."')
        publish(folder, url, {"1.0.0": Release(), "1.0.1": Release(server=told)}, name=PACKAGE)
        Thread(target=server.serve_forever, daemon=True).start()
        yield url
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """Files of a directory, without a word of it on stderr."""

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        pass


PACKAGE: Final = "notes-server"


@pytest.fixture
def reader(tmp_path: Path, npm_tree: Path, registry: str) -> Iterator[Reader]:
    reader = Reader(tmp_path / "me")
    reader.install(npm_tree, "@modelcontextprotocol/server-filesystem")
    (reader.home / ".npmrc").write_text(f"registry={registry}/\n")
    yield reader
    reader.close()


@pytest.mark.parametrize("page", TRIED, ids=relative)
def test_what_a_page_tells_to_do_can_be_done(page: Path, reader: Reader) -> None:
    for step in steps(page.read_text()):
        match step:
            case File():
                reader.write(step)
            case Step():
                printed = reader.run(step)
                assert fits(step.output, printed), (
                    f"{relative(page)}:{step.line}: {step.command}\nprinted:\n{printed}\n"
                    f"the page says:\n{step.output}"
                )


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_what_is_not_tried_is_known(page: Path) -> None:
    shown = {fence.text for fence in fences(page.read_text()) if fence.info == "sh"}
    assert shown == NOT_TRIED.get(relative(page), set())


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_block_says_what_it_is(page: Path) -> None:
    known = {"sh", "console", "yaml", "json", "text", "python"}
    assert {fence.info.partition(" ")[0] for fence in fences(page.read_text())} <= known


@pytest.mark.parametrize(
    ("output", "printed", "does"),
    [
        ("a  b", "a b\n", True),
        ("a", "a\nb\n", False),
        ("a\n...", "a\nb\nc\n", True),
        ("a\n...", "a\n", True),
        ("a ... d", "a b c d\n", True),
        ("a ... d", "a b\nc d\n", False),
        ("", "something\n", False),
        ("a.b", "axb\n", False),
    ],
)
def test_what_is_shown_fits_what_is_printed(output: str, printed: str, does: bool) -> None:
    assert fits(output, printed) is does
