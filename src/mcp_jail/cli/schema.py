"""`mcp-jail schema`: the JSON Schema of the policy file.

Prints the schema, so that an editor can complete and check policies. The first line of a policy
names the file it was saved to:  # yaml-language-server: $schema=./policy.schema.json
"""

from __future__ import annotations

import argparse
import sys

from mcp_jail.config.schema import schema_text
from mcp_jail.errors import ExitCode

EXAMPLE = "  mcp-jail schema > policy.schema.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(_arguments: argparse.Namespace) -> int:
    """Print the schema."""
    sys.stdout.write(schema_text())
    return ExitCode.OK
