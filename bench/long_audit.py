"""Write an audit of so many entries as runs of the bench would: the same chain, journal and turns.

    python bench/long_audit.py FILE ENTRIES RUN_PREFIX

Run by the Python that has the measured mcp-jail installed.
"""

import sys

import msgspec

from mcp_jail.core.recorded.audit import Chain, Entry, Kind
from mcp_jail.store.journal import open_journal

# Entries of one run, and of one write.
RUN = 10_000
BATCH = 1_000

PATH = "/home/me/projects/app/some/file.txt"
CONTENT = "some sixty characters of text, as a model would send them"


def main(path: str, entries: int, prefix: str) -> None:
    """Write runs of RUN entries, the last with what is left."""
    for number, first in enumerate(range(0, entries, RUN)):
        journal = open_journal(path)
        chain = Chain(f"{prefix}{number}", journal.anchor)
        count = min(RUN, entries - first)
        for begin in range(0, count, BATCH):
            lines = [
                chain.seal(entry(each, count), 1_000 * first + each)
                for each in range(begin, min(begin + BATCH, count))
            ]
            journal.write(b"".join(lines))
        journal.close()


def entry(number: int, count: int) -> Entry:
    """The entry at a place of a run: its start, a call, a call's result, its end."""
    if number == 0:
        return Entry(kind=Kind.START, name="bench", detail={"version": "0", "network": "none"})
    if number == count - 1:
        return Entry(kind=Kind.END, name="bench", reason="the client closed")
    call = Entry(
        kind=Kind.CALL,
        method="tools/call",
        name="write_file",
        id=f"{number}-ff936231a365e788",
        verdict="allow",
        rule="tools.rules.write_file",
        where="~/.config/mcp-jail/policies/bench.yaml:57:5",
        arguments=msgspec.Raw(msgspec.json.encode({"content": CONTENT, "path": PATH})),
        digest="4e5a6cdb672529b66609466fe9888c09",
    )
    if number % 2:
        return call
    return Entry(kind=Kind.RESULT, method=call.method, name=call.name, id=call.id, size=255)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
