"""Programs that are known by name: shells, terminals, and what a desktop starts others from.

A name is what /proc tells, 15 bytes at most, and a process may choose it. So a name only says what
a client was started from, where whoever started that chose it, or is looked up by the file that is
run (`asks/processes.py`).
"""

from __future__ import annotations

from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(name[:15] for name in text.split())


SHELLS: Final = _names(
    "ash bash csh dash elvish fish ksh mksh nu pwsh sh tcsh xonsh yash zsh",
)

# What becomes another user, or the same again; it stands between as often as above.
SWITCHES: Final = _names("su sudo doas runuser")

# What lets somebody in, and what holds the windows of a terminal that it is not itself.
_LOGINS: Final = _names("""
    init launchd login agetty sshd sshd-session sshd-auth dropbear tailscaled etserver
    mosh-server screen SCREEN tmux zellij dbus-daemon dbus-broker dbus-broker-launch
    gdm gdm-session-worker gdm-x-session gdm-wayland-session sddm sddm-helper lightdm
    lightdm-session lxdm-binary lxdm-session xdm slim nodm greetd ly emptty lemurs
    Xsession .xsession xinit startx .xinitrc xinitrc wayland-session xrdp-sesman xrdp-sesexec
""")

# Sessions and window managers: all that a person has open descends from them.
_DESKTOPS: Final = _names("""
    gnome-shell gnome-session-binary gnome-session-ctl gnome-session gnome-session-init-worker
    gnome-session-service gnome-flashback plasmashell plasma_session startplasma-wayland
    startplasma-x11 ksmserver kwin_wayland kwin_x11 kdeinit5 klauncher kded5 kded6 kglobalaccel5
    kglobalacceld xfce4-session xfwm4 xfsettingsd cinnamon-session cinnamon muffin mate-session
    marco mate-settings-daemon lxqt-session lxqt-globalkeysd lxsession budgie-wm budgie-daemon
    cosmic-session cosmic-comp gala unity dde-session-daemon startdde startlxqt startlxde
    enlightenment enlightenment_start gsd-media-keys csd-media-keys metacity mutter compiz
    sway swayfx Hyprland hyprland labwc wayfire river niri cage weston dwl miriway i3
    i3-with-shmlog bspwm awesome dwm openbox openbox-session fluxbox icewm icewm-session jwm
    herbstluftwm cwm fvwm fvwm2 fvwm3 wmaker pekwm spectrwm leftwm leftwm-worker notion ratpoison
    stumpwm twm e16 xmonad xmonad-x86_64-linux qtile sxhkd swhkd xbindkeys
""")

# What a person clicks to start a program, a client as well as a terminal.
_PANELS: Final = _names("""
    xfce4-panel xfdesktop xfce4-appfinder cinnamon-launcher nemo-desktop mate-panel caja
    lxqt-panel lxqt-runner lxpanel budgie-panel gnome-panel cosmic-panel cosmic-launcher
    cosmic-app-library cosmic-applibrary cosmic-files wingpanel io.elementary.wingpanel
    io.elementary.files io.elementary.dock plank docky dde-dock dde-launcher dde-desktop tint2
    polybar lemonbar waybar ironbar sfwbar yambar eww ags quickshell nwg-panel nwg-dock nwg-drawer
    nautilus dolphin thunar Thunar nemo pcmanfm pcmanfm-qt spacefm krusader konqueror doublecmd
    krunner rofi wofi fuzzel bemenu bemenu-run tofi tofi-drun yofi anyrun walker dmenu dmenu_run
    j4-dmenu-desktop jgmenu albert ulauncher synapse kupfer onagre gmrun xdg-desktop-portal
    xdg-desktop-portal-gnome xdg-desktop-portal-gtk xdg-desktop-portal-kde
""")

# Managers of a session, to which the kernel gives what those below have left alone.
_MANAGERS: Final = _names("""
    systemd lxqt-session dinit shepherd enlightenment enlightenment_start runsvdir s6-svscan
""")
_OF_CONTAINERS: Final = _names("tini dumb-init docker-init catatonit podman-init")
REAPERS: Final = _MANAGERS | _OF_CONTAINERS
RELAY: Final = "Relay("  # of WSL, one for each window

# What a client and a person's terminal may both descend from.
ABOVE: Final = _LOGINS | _DESKTOPS | _PANELS | _MANAGERS | {"tmux: server", "tmux: client"}

# Programs that hold a person's terminals.
TERMINALS: Final = _names("""
    alacritty blackbox code code-oss codium contour cursor foot footserver ghostty gnome-console
    gnome-terminal-server guake hyper idea kgx kitty konsole lxterminal mate-terminal mlterm ptyxis
    ptyxis-agent pycharm qterminal rio rxvt sakura st tabby terminator terminology tilda tilix
    urxvt urxvtd warp warp-terminal wezterm-gui wezterm-mux-server windsurf xfce4-terminal xterm
    yakuake zed zed-editor
""")

# Variables that an agent's shell sets for what it runs; a child keeps them through `setsid`.
_AGENT_VARIABLES = """
    CLAUDECODE CLAUDE_CODE_ENTRYPOINT CURSOR_AGENT GEMINI_CLI CODEX_SANDBOX
    CODEX_SANDBOX_NETWORK_DISABLED OPENCODE AMP_THREAD_ID GOOSE_TERMINAL CLINE_ACTIVE COPILOT_CLI
    QWEN_CODE
"""
AGENT_VARIABLES: Final = frozenset(_AGENT_VARIABLES.split())
