"""A daemon whose buttons only a person presses: a real one, and a real mouse on its screen."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from desktop_bus import asking, notice
from driver import wait_until
from mcp_jail.asks.notice import read_said
from screens import daemon

# So large that the mouse finds them whatever the font: Allow and Deny, side by side at the bottom.
STYLE = "button { min-width: 110px; min-height: 110px; }"
FROM_LEFT, FROM_BOTTOM = {"allow": 143, "deny": 279}, 80


@contextmanager
def shown(bus: str, home: Path, program: Path) -> Iterator[dict[str, str]]:
    config = home / ".config" / "gtk-3.0"
    config.mkdir(parents=True)
    (config / "gtk.css").write_text(STYLE)
    with daemon(bus, home, [program]) as environ:
        yield environ


def xdotool(environ: dict[str, str], *words: str) -> str:
    done = subprocess.run(["xdotool", *words], env=environ, capture_output=True, check=False)
    return done.stdout.decode()


def place(environ: dict[str, str]) -> tuple[int, int, int]:
    """Left edge, bottom edge and height of the card; zeros while there is none."""
    words = ("search", "--onlyvisible", "--name", "^Notification$", "getwindowgeometry")
    found = re.search(
        r"Position: (\d+),(\d+).*Geometry: \d+x(\d+)", xdotool(environ, *words), re.DOTALL
    )
    if found is None:
        return 0, 0, 0
    left, top, height = map(int, found.groups())
    return left, top + height, height


def click(environ: dict[str, str], button: str) -> None:
    """What a hand does, once the card is there."""
    left, bottom, height = place(environ)
    if height > 200:
        where = (str(left + FROM_LEFT[button]), str(bottom - FROM_BOTTOM))
        xdotool(environ, "mousemove", *where, "click", "1")


@pytest.mark.parametrize("button", ["allow", "deny"])
def test_what_a_person_clicks_in_a_real_daemon_is_the_answer(
    bus: str, tmp_path: Path, notification_daemon: Path, button: str
) -> None:
    with shown(bus, tmp_path, notification_daemon) as environ, asking(notice(bus)) as program:
        while program.poll() is None:  # it takes no click in its first moments
            click(environ, button)
        out, err = program.communicate()
        wait_until(lambda: place(environ)[2] == 0)
    said = read_said(out)
    assert said is not None
    assert (said.answer, err) == (button, b"")
