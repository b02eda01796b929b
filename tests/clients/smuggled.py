"""Requests that say a tool call in a way that a server may read differently than we do.

Each line would make a file at `$path`; `executes` tells whose servers do it where nothing stands in
between. Measured again by `test_wire_tricks.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, NamedTuple

from driver import MODERN

PYTHON: Final = frozenset({"python"})
TYPESCRIPT: Final = frozenset({"typescript-v1", "typescript-v2"})
ALL: Final = PYTHON | TYPESCRIPT
NOBODY: Final[frozenset[str]] = frozenset()

_ARGUMENTS: Final = '"arguments":{"path":$path,"content":"x"}$meta'
_PARAMS: Final = '{"name":"write_file",' + _ARGUMENTS + "}"


class Smuggled(NamedTuple):
    """A line, and whose servers carry it out."""

    executes: frozenset[str]
    line: str

    def filled(self, *, id: int, path: Path, era: str) -> bytes:
        """The line with its newline, in the shape of an era."""
        meta = ',"_meta":' + json.dumps(MODERN) if era == "modern" else ""
        line = self.line.replace("$id", str(id)).replace("$path", json.dumps(str(path)))
        return line.replace("$meta", meta).replace("$inner", str(id + 1000)).encode() + b"\n"


def _call(params: str = _PARAMS, id: str = '"id":$id,', method: str = '"tools/call"') -> str:
    return f'{{"jsonrpc":"2.0",{id}"method":{method},"params":{params}}}'


LINES: Final[dict[str, Smuggled]] = {
    "two names": Smuggled(ALL, _call('{"name":"echo",' + _PARAMS[1:])),
    "two arguments": Smuggled(ALL, _call('{"arguments":{},' + _PARAMS[1:])),
    "two paths": Smuggled(ALL, _call(_PARAMS.replace('"path"', '"path":"/nowhere/x","path"'))),
    "two params": Smuggled(ALL, _call('{},"params":' + _PARAMS)),
    "two methods": Smuggled(ALL, _call(method='"ping","method":"tools/call"')),
    "two methods, one escaped": Smuggled(ALL, _call(method='"ping","\\u006dethod":"tools/call"')),
    "a call between two CR": Smuggled(
        PYTHON,
        _call(
            '{"a":\r' + _call(id='"id":$inner,') + "\r$meta}",
            method='"tools/list"',
        ),
    ),
    "an id of 1.0": Smuggled(TYPESCRIPT, _call(id='"id":$id.0,')),
    "an id of null": Smuggled(NOBODY, _call(id='"id":null,')),
    "no id": Smuggled(NOBODY, _call(id="")),
    "a batch": Smuggled(NOBODY, f"[{_call()}]"),
    "a member of params nobody knows": Smuggled(ALL, _call('{"extra":1,' + _PARAMS[1:])),
    "a name with a space": Smuggled(NOBODY, _call(_PARAMS.replace("write_file", "write_file "))),
    "a name in capitals": Smuggled(NOBODY, _call(_PARAMS.replace("write_file", "WRITE_FILE"))),
}
