"""What a server asked, in the few facts by which the decision can be traced in the audit.

What a person was shown is told, cut: the words of a form or page, its fields, its host. What a
model was asked is not: its size and a digest tell one from another. All of it is redacted as
arguments are, and may be of any shape, since what was refused is recorded too.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mcp_jail.core.conversation.elicitation import shown_host

# Characters of a message and of a name that are kept, and names.
MESSAGE_KEPT: Final = 500
NAME_KEPT: Final = 64
NAMES_KEPT: Final = 20


def facts_of(params: dict[str, Any]) -> dict[str, Any]:
    """The facts about the params of a question; none about what has none of these members."""
    facts: dict[str, Any] = {}
    if type(params.get("message")) is str:
        facts["message"] = params["message"][:MESSAGE_KEPT]
    if type(params.get("url")) is str:
        facts["host"] = shown_host(params["url"])[:MESSAGE_KEPT]
    schema = params.get("requestedSchema")
    fields = schema.get("properties") if type(schema) is dict else None
    if type(fields) is dict:
        facts["fields"] = [name[:NAME_KEPT] for name in list(fields)[:NAMES_KEPT]]
    if type(params.get("messages")) is list:
        facts["messages"] = len(params["messages"])
        facts["bytes"] = len(msgspec.json.encode(params))
    return facts
