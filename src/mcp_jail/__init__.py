"""Start MCP servers in an operating-system jail and hold every message against a policy."""

__version__ = "0.1.0"
