"""What a row of the catalogue of clients says: where a file lies, how it is written, who writes it.

The rows are data, in `rows_first` (fully known clients) and `rows_more`. Nothing here reads a disk.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class Scope(Enum):
    """Whom a file is for."""

    USER = "user"
    PROJECT = "project"  # may be committed, so others may get it


class Syntax(Enum):
    """The language of a file, as its client reads it."""

    JSON = "JSON"
    JSON_COMMENTS = "JSON with comments"
    JSONC = "JSON with comments and trailing commas"
    TOML = "TOML"
    YAML = "YAML"


class Fills(Enum):
    """What a client replaces in the texts of an entry before it starts anything, as a pattern."""

    NOTHING = r"(?!)"
    BRACED = r"\$\{"
    DOLLAR = r"\$[A-Za-z_{]"
    CURLY = r"\{(?:env|file):"
    BOTH = r"\$\{|\{\{"


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of an entry. `args` None: the command is one list. `inside`: they lie deeper."""

    command: str = "command"
    args: str | None = "args"
    env: str = "env"
    cwd: str = "cwd"
    inside: str | None = None


PLAIN = Shape()
LIST = Shape(args=None, env="environment")
NESTED = Shape(inside="transport")
OLD_ZED = Shape(inside="command", command="path")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One client's files of one scope.

    In a path, `~` is the home, `./` the project, `*` any one name, and `${NAME:-path}` a directory
    that a variable of the client may move. In `servers`, `*` is any key; all of the paths count,
    since several programs or versions may read one file, and with `flat` the file itself where none
    is there.
    """

    client: str
    name: str
    scope: Scope = Scope.USER
    files: tuple[str, ...]
    macos: tuple[str, ...] = ()  # where macOS has others
    syntax: Syntax
    servers: tuple[tuple[str, ...], ...] = (("mcpServers",),)
    flat: bool = False
    name_key: str | None = None  # the servers are a list, and this key names one
    shapes: tuple[Shape, ...] = (PLAIN,)
    disabled: str = ""  # the key that switches an entry off; such entries are wrapped as well
    fills: Fills = Fills.NOTHING
    takes_lines: bool = False  # a whole command line may stand in `command`
    rewrites: str = ""  # when the client writes this file itself
    processes: tuple[str, ...] = ()  # names of its programs
    note: str = ""  # what a person has to do or know once an entry is wrapped
    unread: str = ""  # what its client reads in this file and we do not
    climbs: bool = False  # its client looks in every directory above as well, git or not


class Beyond(msgspec.Struct, frozen=True, kw_only=True):
    """A place where servers are configured that is left, and why; told where it is there."""

    name: str
    places: tuple[str, ...]
    why: str


# Keys that say a server is reached by address; no process is started.
ADDRESS_KEYS = ("url", "serverUrl", "httpUrl", "uri", "tcp")

# Lists of variables that a client hands on by name, from its keyring or its own environment, and
# the key of a file that it reads others from.
NAMED_VARIABLES = ("env_keys", "env_vars")
VARIABLES_FILE = "envFile"

# Keys of an entry whose text a client runs as code itself: Claude Code, Goose.
RUN_BY_CLIENT = ("headersHelper", "code")

# Keys that must not stand in an entry with a command, or the whole file is refused (Codex).
NOT_WITH_A_COMMAND = ("url", "bearer_token_env_var", "http_headers", "env_http_headers", "oauth")
