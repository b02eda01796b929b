"""Policy text to values: every mistake at once, each with its place. Opens no file."""

from mcp_jail.config.loading import Loaded, load

__all__ = ["Loaded", "load"]
