"""The policy's types: they are the file's schema, and the JSON Schema is made from them.

Every key of the format stands here, also those whose part has not landed; `config` refuses a file
that sets one of those. A default here is what holds when the key is not written.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]*$"
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
SOURCE_PATTERN = r"^(keyring|file|command):.+$"
SIZE_PATTERN = r"^[0-9]+(B|KiB|MiB|GiB)$"
DURATION_PATTERN = r"^[0-9]{1,9}(ms|s|m|h)$"
RATE_PATTERN = r"^[0-9]+/(s|min|h)$"

# What a text of the file must be; `description` completes "must be ..." in messages.
Name = Annotated[
    str,
    Meta(
        pattern=NAME_PATTERN,
        max_length=64,
        description="lower-case letters, digits, '.', '_' and '-'",
    ),
]
Variable = Annotated[
    str, Meta(pattern=VARIABLE_PATTERN, description="the name of one environment variable")
]
VariableValue = Annotated[str, Meta(extra={"lines": True})]  # may have more than one line
SecretFrom = Annotated[
    str,
    Meta(
        pattern=SOURCE_PATTERN,
        description="keyring:SERVICE/USER, file:PATH or command:WORDS",
    ),
]
Size = Annotated[str, Meta(pattern=SIZE_PATTERN, description="a size such as 512MiB")]
Duration = Annotated[str, Meta(pattern=DURATION_PATTERN, description="a time such as 50s")]
Rate = Annotated[str, Meta(pattern=RATE_PATTERN, description="a rate such as 30/min")]


class Verdict(Enum):
    """What happens to a call. Ordered by `strictest`, never by truth or comparison."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    def __bool__(self) -> bool:
        raise TypeError("a verdict is not a truth value; compare it")


def strictest(*verdicts: Verdict) -> Verdict:
    """The strictest of some verdicts: deny over ask over allow."""
    for verdict in (Verdict.DENY, Verdict.ASK):
        if verdict in verdicts:
            return verdict
    return Verdict.ALLOW


class Closed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A mapping of the policy file: frozen, and an unknown key is an error."""


class Constraint(Closed, frozen=True):
    """What one argument must be. Every key that is written must hold; `required` is the default.

    A constraint that cannot be evaluated (another type, missing, a time-out) does not hold.
    """

    under: tuple[str, ...] | UnsetType = UNSET
    host: str | tuple[str, ...] | UnsetType = UNSET  # "allowlist", or a list of host[:port]
    equals: Any | UnsetType = UNSET
    one_of: tuple[Any, ...] | UnsetType = UNSET
    matches: str | UnsetType = UNSET
    min: int | float | UnsetType = UNSET
    max: int | float | UnsetType = UNSET
    max_length: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    each: Constraint | UnsetType = UNSET
    required: bool = True


class Additional(Enum):
    """What to do with arguments beyond those that a rule, or a tool's own schema, names."""

    ALLOW = "allow"
    DENY = "deny"


class ToolRule(Closed, frozen=True):
    """A rule with argument constraints: `decision` when all hold, else `otherwise`."""

    decision: Verdict
    args: dict[str, Constraint] = {}
    additional: Additional = Additional.ALLOW
    otherwise: Verdict = Verdict.DENY
    limit: Rate | None = None


class Tools(Closed, frozen=True):
    default: Verdict = Verdict.ASK
    hide_denied: bool = True
    additional: Additional = Additional.ALLOW
    rules: dict[str, Verdict | ToolRule] = {}


class Resources(Closed, frozen=True):
    default: Verdict = Verdict.ASK
    rules: dict[str, Verdict] = {}


class Prompts(Closed, frozen=True):
    default: Verdict = Verdict.ALLOW
    rules: dict[str, Verdict] = {}


class Server(Closed, frozen=True):
    command: tuple[str, ...] = ()
    cwd: str | None = None


class Remote(Closed, frozen=True):
    url: str
    headers: dict[str, str] = {}
    auth: str | None = None


class Scripts(Enum):
    DENY = "deny"
    ALLOW = "allow"


class Package(Closed, frozen=True):
    npm: str | None = None
    pypi: str | None = None
    version: str | None = None
    scripts: Scripts = Scripts.DENY
    unpinned: bool = False


class Sandbox(Enum):
    AUTO = "auto"
    LANDLOCK = "landlock"
    CONTAINER = "container"
    NONE = "none"


class NetworkMode(Enum):
    NONE = "none"
    ALLOWLIST = "allowlist"
    HOST = "host"


class Tls(Enum):
    VERIFY_NAME = "verify-name"
    ANY = "any"


class HostEntry(Closed, frozen=True):
    host: str
    tls: Tls = Tls.VERIFY_NAME


class Via(Enum):
    GATE = "gate"
    PROXY = "proxy"


class Network(Closed, frozen=True):
    mode: NetworkMode = NetworkMode.NONE
    allow: tuple[str | HostEntry, ...] = ()
    private: Verdict = Verdict.DENY
    tls: Tls | None = None  # where nobody wrote it, a port says what is spoken there
    via: Via = Via.GATE
    upstream_proxy: str | None = None


class Home(Enum):
    FRESH = "fresh"
    KEEP = "keep"


class Autorun(Enum):
    PROTECT = "protect"
    REPORT = "report"
    ALLOW = "allow"


class Filesystem(Closed, frozen=True):
    read_only: tuple[str, ...] = ()
    read_write: tuple[str, ...] = ()
    tmp: bool = True
    hide: tuple[str, ...] = ()
    home: Home = Home.FRESH
    autorun: Autorun = Autorun.PROTECT


class Env(Closed, frozen=True):
    pass_: tuple[Variable, ...] = msgspec.field(default=(), name="pass")
    set: dict[Variable, VariableValue] = {}
    secret: dict[Variable, SecretFrom] = {}


class Exec(Closed, frozen=True):
    allow: tuple[str, ...] = ()
    sha256: dict[str, str] = {}


class Limits(Closed, frozen=True):
    memory: Size | None = None
    processes: Annotated[int, Meta(ge=1)] | None = None
    open_files: Annotated[int, Meta(ge=16)] | None = None
    file_size: Size | None = None
    tmp: Size | None = None
    call_timeout: Duration | None = None
    weak: bool = False


class Text(Enum):
    OFF = "off"
    MARK = "mark"
    STRIP = "strip"


class Roots(Enum):
    POLICY = "policy"
    DENY = "deny"


class LockFirst(Enum):
    REVIEW = "review"
    TRUST = "trust"


class LockPolicy(Closed, frozen=True):
    enabled: bool = True
    first: LockFirst = LockFirst.REVIEW
    file: str | None = None
    ignore: dict[str, tuple[str, ...]] = {}


class Channel(Enum):
    CLIENT = "client"
    DESKTOP = "desktop"
    DASHBOARD = "dashboard"


class AskPolicy(Closed, frozen=True):
    wait: Duration = "50s"
    remember: Duration = "15m"
    channels: tuple[Channel, ...] = (Channel.CLIENT, Channel.DESKTOP, Channel.DASHBOARD)


class AuditArguments(Enum):
    REDACTED = "redacted"
    FULL = "full"
    NONE = "none"


class AuditPolicy(Closed, frozen=True):
    path: str | None = None
    arguments: AuditArguments = AuditArguments.REDACTED


class Policy(Closed, frozen=True):
    """One server's policy, as its file says it."""

    name: Name
    server: Server | None = None
    remote: Remote | None = None
    package: Package | None = None
    sandbox: Sandbox = Sandbox.AUTO
    network: Network = Network()
    filesystem: Filesystem = Filesystem()
    env: Env = Env()
    sockets: tuple[str, ...] = ()
    exec: Exec = Exec()
    limits: Limits = Limits()
    text: Text = Text.MARK
    tools: Tools = Tools()
    resources: Resources = Resources()
    prompts: Prompts = Prompts()
    sampling: Verdict = Verdict.DENY
    elicitation: Verdict = Verdict.ASK
    roots: Roots = Roots.POLICY
    lock: LockPolicy = LockPolicy()
    ask: AskPolicy = AskPolicy()
    audit: AuditPolicy = AuditPolicy()
