"""What no jail may have, by name: credentials, other programs' settings, whole systems, sockets.

Pure lists and the few questions about them. Paths below a home are written without it.
"""

from __future__ import annotations

from typing import Final

from mcp_jail.core.spec import Value


class Ours(Value, frozen=True):
    """A path of ours (or of bwrap, or of a client) that no server may write.

    `mask`: a directory that no server may read either: refused where it is named, hidden where it
    lies in a read-only share. What must only not be changed (code, packages) stays visible there.
    """

    path: str
    what: str
    mask: bool = False


class Guarded(Value, frozen=True):
    """All that is kept from the server: ours, and the homes whose known names are protected."""

    ours: tuple[Ours, ...]
    homes: tuple[str, ...]


# Directories that hold keys, tokens, sessions or histories, below a home.
CREDENTIAL_DIRECTORIES: Final = (
    ".ssh", ".gnupg", ".pki", ".aws", ".azure", ".gcloud", ".oci", ".ibmcloud", ".aliyun",
    ".bluemix", ".config/gcloud", ".config/gh", ".config/glab-cli", ".config/hub",
    ".config/doctl", ".config/hcloud", ".config/heroku", ".config/netlify", ".config/vercel",
    ".config/fly", ".fly", ".config/rclone", ".config/op", ".op", ".config/Bitwarden",
    ".config/Bitwarden CLI", ".config/1Password", ".config/keepassxc", ".password-store",
    ".local/share/password-store", ".local/share/gopass", ".config/gopass", ".local/share/keyrings",
    ".local/share/kwalletd", ".config/sops", ".config/age", ".age", ".kube", ".minikube",
    ".config/helm", ".helm", ".docker", ".config/containers", ".terraform.d", ".vault", ".pulumi",
    ".databricks", ".snowsql", ".snowflake", ".kaggle", ".cargo/credentials", ".gem", ".m2",
    ".gradle", ".nuget", ".config/NuGet", ".config/configstore", ".config/yarn", ".composer",
    ".config/composer", ".subversion", ".bitcoin", ".ethereum", ".config/solana", ".electrum",
    ".electron-cash", ".monero", ".config/Signal", ".config/Slack", ".config/discord",
    ".local/share/TelegramDesktop", ".config/teams-for-linux", ".config/Element", ".purple",
    ".weechat", ".irssi", ".mutt", ".config/evolution", ".local/share/evolution",
    ".local/share/mail", "Maildir", ".thunderbird", ".mozilla-thunderbird",
    # browsers: cookies are logins
    ".mozilla", ".config/mozilla", ".librewolf", ".waterfox", ".zen", ".tor-browser",
    ".config/google-chrome", ".config/google-chrome-beta", ".config/google-chrome-unstable",
    ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
    ".config/microsoft-edge-beta", ".config/microsoft-edge-dev", ".config/vivaldi",
    ".config/opera", ".config/opera-beta", ".config/Arc", ".config/epiphany",
    ".local/share/epiphany", ".config/qutebrowser", ".local/share/qutebrowser", ".cache/mozilla",
    ".cache/google-chrome", ".cache/chromium", ".var/app", "snap",
    # agents: their tokens, transcripts and settings
    ".claude", ".codex", ".gemini", ".cursor", ".config/Claude", ".config/github-copilot",
    ".copilot", ".continue", ".codeium", ".windsurf", ".config/opencode",
    ".local/share/opencode", ".config/goose", ".aider", ".qwen", ".kimi", ".config/amp",
    ".local/share/amp", ".factory", ".kiro",
)  # fmt: skip

# Files that hold the same. A mask over a single file falls off when the host replaces the file, so
# a share that has one of these below it is refused with the advice to name less.
CREDENTIAL_FILES: Final = (
    ".netrc", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf",
    ".mylogin.cnf", ".git-credentials", ".config/git/credentials", ".gitconfig", ".boto",
    ".s3cfg", ".dockercfg", ".claude.json", ".vault-token", ".terraformrc", ".htpasswd",
    ".bash_history", ".zsh_history", ".zhistory", ".sh_history", ".local/share/fish/fish_history",
    ".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history",
    ".rediscli_history", ".lesshst", ".viminfo", ".wget-hsts", ".cargo/credentials.toml",
    ".rclone.conf", ".esmtprc", ".msmtprc", ".fetchmailrc", ".muttrc", ".config/pip/pip.conf",
    ".pip/pip.conf", ".config/pypoetry/auth.toml", ".config/uv/credentials.toml",
    ".local/share/uv/credentials/credentials.toml", ".cache/huggingface/token",
    ".huggingface/token", ".config/openai/auth.json", ".openai", ".anthropic", ".Xauthority",
    ".ICEauthority", ".env",
)  # fmt: skip

# Where MCP clients keep the list of servers they start: writing there is code on the host.
CLIENT_CONFIGS: Final = (
    ".claude.json", ".claude/settings.json", ".config/Claude/claude_desktop_config.json",
    ".cursor/mcp.json", ".codex/config.toml", ".gemini/settings.json",
    ".gemini/config/mcp_config.json", ".gemini/antigravity/mcp_config.json",
    ".gemini/antigravity-cli/mcp_config.json", ".codeium/mcp_config.json",
    ".codeium/windsurf/mcp_config.json", ".config/Code/User/mcp.json",
    ".config/Code/User/settings.json", ".config/Code - Insiders/User/mcp.json",
    ".config/VSCodium/User/mcp.json", ".vscode-server/data/User/mcp.json",
    ".config/zed/settings.json", ".config/goose/config.yaml", ".config/opencode/opencode.json",
    ".config/opencode/opencode.jsonc", ".config/amp/settings.json", ".config/devin/config.json",
    ".config/devin/mcp_config.json", ".config/github-copilot/intellij/mcp.json",
    ".config/github-copilot/eclipse/mcp.json", ".config/kilo/kilo.jsonc",
    ".config/mcphub/servers.json", ".kilocode/cli/global/settings/mcp_settings.json",
    ".copilot/mcp-config.json", ".continue/config.yaml", ".lmstudio/mcp.json",
    ".cache/lm-studio/mcp.json", ".kiro/settings/mcp.json", ".qwen/settings.json",
    ".kimi/mcp.json", ".vibe/config.toml", ".warp/.mcp.json", ".junie/mcp/mcp.json",
    ".factory/mcp.json", ".augment/settings.json", ".boltai/mcp.json", ".ai/mcp/mcp.json",
    ".aws/amazonq/mcp.json", ".aws/amazonq/agents/default.json",
    ".cline/data/settings/cline_mcp_settings.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
)  # fmt: skip

# The same, below a project: clients read these where they are opened, and start what they name.
PROJECT_CONFIGS: Final = (
    ".mcp.json", "mcp.json", ".claude/settings.json", ".claude/settings.local.json",
    ".cursor/mcp.json", ".vscode/mcp.json", ".vs/mcp.json", ".gemini/settings.json",
    ".codex/config.toml", "opencode.json", "opencode.jsonc", ".opencode/opencode.json",
    ".opencode/opencode.jsonc", ".roo/mcp.json", ".kilocode/mcp.json", ".kiro/settings/mcp.json",
    ".zed/settings.json", ".continue/config.yaml", ".continue/config.json",
    ".continue/mcpServers", ".amazonq/mcp.json", ".amazonq/default.json", ".junie/mcp/mcp.json",
    ".ai/mcp/mcp.json", ".qwen/settings.json", ".trae/mcp.json", ".factory/mcp.json",
    ".windsurf/mcp_config.json", ".amp/settings.json", ".augment/settings.json",
    ".copilot/mcp-config.json", ".vibe/config.toml", ".warp/.mcp.json", ".kimi/mcp.json",
    ".grok/settings.json", "crush.json", ".crush.json", "claude_desktop_config.json",
    "mcp_config.json", "cline_mcp_settings.json",
)  # fmt: skip

# Directories of installed packages, whoever installed them: the host runs what lies in them.
PACKAGE_TREES: Final = ("node_modules", "site-packages", "dist-packages", ".venv")

# Programs that run the project one of their options names.
PROJECT_RUNNERS: Final = frozenset({
    "uv", "uvx", "npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "deno", "poetry", "pdm",
    "hatch", "pipenv", "pixi", "rye", "go", "cargo", "make", "just", "mise", "dotnet", "mvn",
    "gradle", "php", "composer", "bundle",
})  # fmt: skip

# What the user's next login, shell or desktop runs.
LOGIN_FILES: Final = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".xprofile", ".xinitrc", ".xsession", ".pam_environment", ".gitconfig",
    ".config/git/config", ".config/fish/config.fish", ".config/autostart", ".config/systemd/user",
    ".config/environment.d", ".local/share/systemd/user", ".local/bin", ".local/share/applications",
    ".local/share/dbus-1/services", ".ssh", ".npmrc", ".config/pip/pip.conf",
    "Library/LaunchAgents",
)  # fmt: skip

# Exactly these are too much for any share.
WHOLE_DIRECTORIES: Final = {
    "/": "the whole file system",
    "/etc": "the whole system configuration; name the files that are needed",
    "/var": "every service's data",
    "/home": "every user's home",
    "/root": "root's home",
    "/mnt": "every mounted disk",
    "/media": "every mounted disk",
    "/tmp": "every program's temporary files and sockets; the server has a /tmp of its own",  # noqa: S108
    "/var/tmp": "every program's temporary files",  # noqa: S108
    "/var/run": "sockets of the system's services",
    "/var/lib": "every service's data",
    "/run/media": "every mounted disk",
}

# These, and all below them, are never shared.
CLOSED_TREES: Final = {
    "/proc": "a view of the host's processes",
    "/sys": "the host's kernel and devices",
    "/dev": "the host's devices",
    "/run": "sockets of the system's services and of the session",
    "/boot": "the host's kernel",
    "/lost+found": "a file system's own",
    "/var/run": "sockets of the system's services",
    "/var/lib/docker": "other containers",
    "/var/lib/containers": "other containers",
    "/var/lib/lxd": "other containers",
    "/var/lib/libvirt": "other machines",
    "/var/lib/kubelet": "other containers",
    "/var/spool/cron": "what the system runs later",
}
OPEN_BELOW_CLOSED: Final = ("/run/media", "/run/current-system", "/run/opengl-driver", "/run/host")

# Readable, never writable: programs and settings the host runs.
READ_ONLY_TREES: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/nix", "/gnu",
    "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/systemd", "/snap",
)  # fmt: skip

# Whoever can speak to one of these commands the host, read-only or not (connect(2) ignores it).
COMMANDING_SOCKETS: Final = frozenset({
    "docker.sock", "docker-cli.sock", "podman.sock", "containerd.sock", "crio.sock",
    "buildkitd.sock", "libvirt-sock", "libvirt-sock-ro", "virtqemud-sock", "snapd.socket",
    "snapd-snap.socket", "lxd.sock", "incus.socket", "unix.socket", "system_bus_socket", "bus",
    "kubelet.sock", "dockershim.sock", "nix-daemon.socket", "multipassd",
})  # fmt: skip
SOCKET_DIRECTORIES: Final = (
    ".docker/run", ".docker/desktop", ".colima", ".lima", ".rd", ".orbstack", ".multipass",
    ".local/share/containers/podman/machine", ".local/share/docker",
)  # fmt: skip

_OF_A_HOME: Final = (*CREDENTIAL_DIRECTORIES, *CREDENTIAL_FILES, *SOCKET_DIRECTORIES)

# Parents of credentials below a home. Nothing can hide in them what a login makes only later, so
# they are no more to be shared as a whole than the home is.
DRAWERS: Final = tuple(
    dict.fromkeys(
        (
            *(
                name[:at]
                for name in _OF_A_HOME
                for at in range(len(name))
                if name[at] == "/" and name[:at] not in _OF_A_HOME
            ),
            "Library",
            "Library/Application Support",
        )
    )
)


def lies_in(path: str, root: str) -> bool:
    """Whether a normalised path is a root or below it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def below_home(home: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as absolute paths of one home."""
    return tuple(f"{home.rstrip('/')}/{name}" for name in names)


def too_much(path: str) -> str | None:
    """Why a directory may not be shared at all, whoever the user is; None when it may."""
    if path in WHOLE_DIRECTORIES:
        return WHOLE_DIRECTORIES[path]
    if any(lies_in(path, tree) for tree in OPEN_BELOW_CLOSED):
        return None
    return next((why for tree, why in CLOSED_TREES.items() if lies_in(path, tree)), None)


def read_only_for_all(path: str) -> bool:
    """Whether a path belongs to what the host runs and so can be shared for reading only."""
    return any(lies_in(path, tree) for tree in READ_ONLY_TREES)


def clients_directory(path: str) -> str | None:
    """The directory of a project's client settings that a path is or lies in; None elsewhere."""
    for name in PROJECT_CONFIGS:
        directory = name.rpartition("/")[0] or name  # at the top of a project: the file alone
        before, found, _ = f"{path}/".partition(f"/{directory}/")
        if found:
            return f"{before}/{directory}"
    return None


def package_tree(path: str) -> str | None:
    """The outermost directory of installed packages that a path is or lies in."""
    parts = path.split("/")
    at = next((at for at, part in enumerate(parts) if part in PACKAGE_TREES), None)
    return None if at is None else "/".join(parts[: at + 1])
