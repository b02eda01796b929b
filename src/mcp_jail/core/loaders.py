"""Environment variables that make a program run other code before its own.

Imports nothing: the guard asks this before it loads anything such a variable could replace.
"""

from __future__ import annotations

_PREFIXES = ("PYTHON", "LD_", "DYLD_", "GLIBC_", "MALLOC_", "OPENSSL_")
_NAMES = frozenset(
    {
        "BASH_ENV",
        "ENV",
        "GCONV_PATH",
        "GIT_SSH_COMMAND",
        "IFS",
        "JAVA_TOOL_OPTIONS",
        "LOCPATH",
        "NLSPATH",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PERL5LIB",
        "PERL5OPT",
        "RESOLV_HOST_CONF",
        "RUBYLIB",
        "RUBYOPT",
        "_JAVA_OPTIONS",
    }
)
# Of those, what changes no code; some shells and most CI systems set them.
_HARMLESS = frozenset(
    {
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "PYTHONIOENCODING",
        "PYTHONUNBUFFERED",
        "PYTHONUTF8",
    }
)


def is_loader_variable(name: str) -> bool:
    """Whether a variable decides which code an interpreter or the dynamic loader runs."""
    return (name.startswith(_PREFIXES) or name in _NAMES) and name not in _HARMLESS
