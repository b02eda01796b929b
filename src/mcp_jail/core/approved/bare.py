"""A resource that nobody has approved: where it is and what it is, without a word about it.

Which resources there are changes with every file, so new ones pass once resources were approved at
all; their titles and descriptions are text that nobody has read, and stay behind.
"""

from __future__ import annotations

import re
from typing import Any, Final

# What a MIME type is written with (RFC 6838, 4.2).
_MIME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,63}/[A-Za-z0-9!#$&^_.+-]{1,64}")


def bare_resource(value: dict[str, Any]) -> dict[str, Any]:
    """The members of a listed resource that say nothing: URI, name, type and size."""
    kept = {name: value[name] for name in ("uri", "name") if type(value.get(name)) is str}
    mime, size = value.get("mimeType"), value.get("size")
    if type(mime) is str and _MIME.fullmatch(mime) is not None:
        kept["mimeType"] = mime
    if type(size) is int:
        kept["size"] = size
    return kept
