"""What `clients` is made of: no serializer, so that no file of a client is ever written anew."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mcp_jail.clients

MODULES = sorted(Path(mcp_jail.clients.__file__).parent.glob("*.py"))
SERIALIZERS = {"json", "plistlib", "pickle", "marshal", "csv", "configparser", "tomli_w", "tomlkit"}
WRITERS = {
    "dump",
    "dumps",
    "dump_all",
    "safe_dump",
    "safe_dump_all",
    "serialize",
    "emit",
    "encoder",
}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_no_serializer_is_imported_or_called(module: Path) -> None:
    tree = ast.parse(module.read_text())
    imported: set[str] = set()
    named: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                imported |= {name.name.partition(".")[0] for name in names}
            case ast.ImportFrom(module=str(name)):
                imported.add(name.partition(".")[0])
            case ast.Attribute(attr=attr):
                named.add(attr)
            case _:
                pass
    assert not imported & SERIALIZERS
    assert not named & WRITERS
    assert "msgspec.json.encode" not in module.read_text()


def test_the_modules_are_found() -> None:
    assert len(MODULES) > 15
