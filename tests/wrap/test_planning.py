"""A file wrapped and unwrapped on a disk: groups, policies, what is kept, what is refused."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import msgspec
import pytest

from mcp_jail.clients.applying import apply_wrap
from mcp_jail.clients.obstacles import obstacles
from mcp_jail.clients.planning import plan_wrap
from mcp_jail.clients.plans import Group
from mcp_jail.clients.policy_names import Names
from mcp_jail.clients.replacing import BACKUP
from mcp_jail.clients.targets import PROJECT_FILES, ROWS, Target, existing, places_of
from mcp_jail.clients.unplanning import plan_unwrap
from mcp_jail.config import load
from mcp_jail.store.files import FileError
from mcp_jail.store.wrapped import read_wrapped
from wrap.homes import CURSOR, ClientHome, of
from wrap.sampled import ALL, PROGRAM, Sample, file_of

ENTRY = '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}'


@pytest.mark.parametrize("sample", ALL, ids=lambda each: f"{each.file}-{each.row.client}")
def test_every_sample_is_wrapped_and_unwrapped_on_disk(home: ClientHome, sample: Sample) -> None:
    path = home.sample(sample.file, f"clients/{sample.file}")
    before = path.read_bytes()
    client = sample.row.client
    plan = home.plan(path, client=client)
    assert plan.changes == bool(of(plan, Group.DONE))
    home.wrap(path, client=client)
    assert not home.plan(path, client=client).changes
    home.unwrap(path, *of(plan, Group.DONE), client=client)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name], "the kept original goes when it is back"


def test_each_server_stands_in_its_group(home: ClientHome) -> None:
    plan = home.wrap(home.sample("claude-code-user.claude.json", ".claude.json"))
    assert set(of(plan, Group.DONE)) == {"time"}
    assert len([each for each in plan.outcomes if each.group is Group.DONE]) == 2
    skipped = of(plan, Group.SKIPPED)
    assert "URL" in skipped["github"].reason
    assert "daemon" in skipped["db"].reason
    assert skipped["db"].within == "/home/ana/src/shop"


def test_a_key_of_the_same_name_elsewhere_in_the_file_is_no_server(home: ClientHome) -> None:
    path = home.sample("claude-code-user.claude.json", ".claude.json")
    home.wrap(path)
    values = json.loads(path.read_bytes())
    decoy = values["cachedGrowthBookFeatures"]["tengu_mcp"]["mcpServers"]["decoy"]
    assert decoy == {"command": "do-not-wrap-me"}
    history = values["projects"]["/home/ana/src/shop"]["history"]
    assert history[0]["display"] == 'explain "mcpServers": { in our docs }'


def test_servers_that_others_or_we_wrapped_stay(home: ClientHome) -> None:
    path = home.sample("already-wrapped.json", ".config/Claude/claude_desktop_config.json")
    plan = home.wrap(path)
    assert set(of(plan, Group.ALREADY)) == {"done-from-other-path"}
    assert set(of(plan, Group.REFUSED)) == {"done", "done-via-uvx"}, "not this program"
    assert set(of(plan, Group.DONE)) == {"other-wrapper", "bridge", "todo"}
    back = home.unwrap(path, "done-via-uvx")
    assert "by hand" in of(back, Group.SKIPPED)["done-via-uvx"].reason


ONLY_A_WORD = (
    '{"command": "uvx", "args": ["--with", "mcp-jail", "evil", "run", "x"]}',
    '{"command": "uvx", "args": ["--from", "evil", "mcp-jail", "run", "x", "--", "y"]}',
    '{"command": "uv", "args": ["run", "--with", "evil", "python", "/tmp/evil.py", "mcp-jail"]}',
    '{"command": "uv", "args": ["run", "serena", "--project", "mcp-jail"]}',
    '{"command": "uv", "args": ["--directory", "/src/mcp-jail", "run", "mcp-jail"]}',
    '{"command": "pipx", "args": ["run", "--spec", "/tmp/evil", "mcp-jail"]}',
    '{"command": "node", "args": ["mcp-jail", "run", "x", "--", "y"]}',
)


@pytest.mark.parametrize("entry", ONLY_A_WORD)
def test_an_entry_in_which_our_name_is_only_a_word_is_wrapped(home: ClientHome, entry: str) -> None:
    path = home.write(CURSOR, file_of(a=entry))
    assert set(of(home.wrap(path), Group.DONE)) == {"a"}
    assert json.loads(path.read_text())["mcpServers"]["a"]["command"] == PROGRAM
    home.unwrap(path)
    assert path.read_text() == file_of(a=entry)


OF_OUR_NAME = {
    '{"command": "/tmp/evil/mcp-jail", "args": ["run", "a", "--", "x"]}': "not this mcp-jail",
    '{"command": "/tmp/evil/mcp-jail", "args": ["serve"]}': "not this mcp-jail",
    '{"command": "mcp-jail", "args": ["try", "--", "x"]}': "starts no server by 'mcp-jail run'",
    '{"command": "mcp-jail"}': "starts no server by 'mcp-jail run'",
    '{"command": "/tmp/mcp-jail run a -- node x"}': "which is not this mcp-jail",
    '{"command": "./mcp-jail", "args": ["run", "a", "--", "x"]}': "in each directory",
    '{"command": "uvx", "args": ["mcp-jail@1", "run", "a"]}': "'uvx' start a package of our name",
    '{"command": "uv", "args": ["tool", "run", "mcp-jail", "run", "a"]}': "a package of our name",
    '{"command": "pipx", "args": ["run", "mcp-jail==1", "run", "a"]}': "a package of our name",
    '{"command": "mcp-jail", "args": ["run", "a"], "env": {"PATH": "/tmp"}}': "it sets PATH",
    f'{{"command": "{PROGRAM}", "args": ["run", "a"], "env": {{"LD_AUDIT": "/x"}}}}': "other code",
    f'{{"command": "{PROGRAM}", "args": ["run", "a"], "env": {{"PYTHONPATH": 1}}}}': "other code",
    f'{{"command": "{PROGRAM}", "args": ["run", "a"], "env": {{"MCP_JAIL_HOME": "/x"}}}}': "policy",
}


@pytest.mark.parametrize("entry", OF_OUR_NAME)
def test_what_is_called_as_we_are_and_is_not_provably_this_program_is_told(
    home: ClientHome, entry: str
) -> None:
    plan = home.plan(home.write(CURSOR, file_of(a=entry)))
    assert not plan.changes
    assert OF_OUR_NAME[entry] in of(plan, Group.REFUSED)["a"].reason
    assert of(plan, Group.REFUSED)["a"].hint


def test_a_line_that_starts_us_is_not_wrapped_again(home: ClientHome) -> None:
    entries = {"a": '{"command": "mcp-jail run a -- node x"}', "b": '{"command": "x y"}'}
    plan = home.plan(home.write(CURSOR, file_of(**entries)))
    assert "by hand" in of(plan, Group.ALREADY)["a"].reason
    assert set(of(plan, Group.DONE)) == {"b"}


def test_a_link_to_our_program_and_its_bare_name_are_ours(home: ClientHome, tmp_path: Path) -> None:
    program = home.write("bin/mcp-jail", "#!/bin/sh\n", 0o755)
    (tmp_path / "mcp-jail").symlink_to(program)
    entries = {
        name: json.dumps({"command": word, "args": ["run", "a", "--", "x"]})
        for name, word in {"link": str(tmp_path / "mcp-jail"), "bare": "mcp-jail"}.items()
    }
    path = home.write(CURSOR, file_of(**entries))
    environ = {"HOME": str(home.path), "PATH": str(program.parent)}
    given = msgspec.structs.replace(
        home.circumstances(),
        program=str(program),
        ground=msgspec.structs.replace(home.circumstances().ground, environ=environ),
    )
    plan = plan_wrap(given, home.target(path), Names(home.places, str(home.path)))
    assert set(of(plan, Group.ALREADY)) == {"link", "bare"}
    other = home.write("other/mcp-jail", "#!/bin/sh\n", 0o755)
    environ["PATH"] = str(other.parent)
    plan = plan_wrap(given, home.target(path), Names(home.places, str(home.path)))
    assert set(of(plan, Group.REFUSED)) == {"bare"}, "PATH leads elsewhere"


@pytest.mark.parametrize(
    ("content", "group", "words"),
    [
        ("", Group.SKIPPED, "empty"),
        ("{}", Group.SKIPPED, "no servers"),
        ('{"mcpServers": {}}', Group.SKIPPED, "no servers"),
        ('{"other": {"mcpServers": {"a": {"command": "x"}}}}', Group.SKIPPED, "no servers"),
        ("[]", Group.SKIPPED, "no servers"),
        ('{"mcpServers": {', Group.REFUSED, "found the end of the file, line 1, column 17"),
        ('{"mcpServers": {},}', Group.REFUSED, "comma after the last"),
        ("\xe9", Group.REFUSED, "not UTF-8"),
        ("a: 1", Group.REFUSED, "expected a value"),
    ],
)
def test_a_file_of_which_nothing_can_be_done_is_told_and_left(
    home: ClientHome, content: str, group: Group, words: str
) -> None:
    path = home.write(CURSOR, content.encode("latin-1"))
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(os.listdir(path.parent)))
    for plan in (home.wrap(path), home.unwrap(path)):
        (outcome,) = plan.outcomes
        assert outcome.group is group
        assert words in outcome.reason
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(os.listdir(path.parent))) == before
    assert not os.path.lexists(home.places.policies)


def test_utf_16_is_left(home: ClientHome) -> None:
    path = home.write(CURSOR, ENTRY.encode("utf-16"))
    (outcome,) = home.wrap(path).outcomes
    assert (outcome.group, outcome.server) == (Group.REFUSED, "")
    assert "UTF-16" in outcome.reason


REFUSED = {
    '{"command": "x", "command": "y"}': "the key 'command' twice",
    '{"command": "x", "env": {"A": "1", "A": "2"}}': "the key 'A' twice",
    '{"command": "x", "url": "https://x"}': "both a command and a URL",
    '{"command": ["x"]}': "its command is no text",
    '{"command": ""}': "its command is no text",
    '{"command": "x", "args": "y"}': "its 'args' is no list",
    '{"command": "x", "args": [1]}': "item 1 of its 'args' is no text",
    '{"command": "x", "env": {"LD_PRELOAD": 1}}': "its variable 'LD_PRELOAD' is no text",
    '"x"': "its entry is no map of keys",
}


@pytest.mark.parametrize("entry", REFUSED)
def test_an_entry_that_reads_in_two_ways_is_refused_and_others_are_wrapped(
    home: ClientHome, entry: str
) -> None:
    path = home.write(CURSOR, file_of(odd=entry, good='{"command": "x"}'))
    plan = home.wrap(path)
    assert REFUSED[entry] in of(plan, Group.REFUSED)["odd"].reason
    assert set(of(plan, Group.DONE)) == {"good"}
    assert entry in path.read_text()


def test_a_server_that_stands_twice_under_one_name_is_refused(home: ClientHome) -> None:
    path = home.write(CURSOR, '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}')
    plan = home.plan(path)
    assert not plan.changes
    assert "stands twice" in of(plan, Group.REFUSED)["a"].reason


def test_a_list_of_servers_that_stands_twice_is_refused(home: ClientHome) -> None:
    twice = '"mcpServers": {"a": {"command": "x"}}, "mcpServers": {"b": {"command": "y"}}'
    plan = home.plan(home.write(CURSOR, "{" + twice + "}"))
    assert not plan.changes
    assert plan.outcomes[0].group is Group.REFUSED


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x: &a {command: x}\nmcpServers: {s: *a}\n", "an alias"),
        ("mcpServers:\n  s: &a\n    command: x\n", "an anchor"),
        ("c: &a {command: x}\nmcpServers:\n  s:\n    <<: *a\n", "merged in"),
        ("c: &a {args: [x]}\nmcpServers:\n  s:\n    <<: *a\n    command: x\n", "merged in"),
        ("c: &a [x]\nmcpServers:\n  s:\n    command: x\n    args: *a\n", "an alias"),
        ("mcpServers:\n  s:\n    command: !!str x\n", "a tag"),
    ],
)
def test_yaml_that_is_written_elsewhere_is_refused(home: ClientHome, text: str, words: str) -> None:
    plan = home.plan(home.write("librechat.yaml", text))
    assert not plan.changes
    assert words in of(plan, Group.REFUSED)["s"].reason


def test_a_list_that_stands_twice_behind_another_key_that_does_is_refused(
    home: ClientHome,
) -> None:
    lists = ('{"/p": {"mcpServers": {"x": {"command": "y"}}}}', "{}")
    twice = ", ".join(f'"projects": {each}' for each in lists)
    path = home.write(".claude.json", '{"a": 1, "a": 2, ' + twice + "}")
    plan = home.wrap(path)
    assert "'projects' stands twice" in of(plan, Group.REFUSED)[""].reason


@pytest.mark.parametrize("value", ["nan", "-nan", "inf", "-inf", "1e400"])
def test_a_number_that_is_none_or_has_no_end_stays(home: ClientHome, value: str) -> None:
    text = f"x = {value}\n[mcp_servers.a]\ncommand = 'x'\n"
    path = home.write(".codex/config.toml", text)
    assert set(of(home.wrap(path), Group.DONE)) == {"a"}
    home.unwrap(path)
    assert path.read_text() == text


def test_numbers_that_no_reader_keeps_whole_stay(home: ClientHome) -> None:
    text = file_of(a='{"command": "x"}')[:-1] + ', "n": [123456789012345678901234567890, 1e400]}'
    path = home.write(".junie/mcp/mcp.json", text)
    assert set(of(home.wrap(path), Group.DONE)) == {"a"}
    home.unwrap(path)
    assert path.read_text() == text


def test_a_fault_of_ours_refuses_its_file_and_no_other(home: ClientHome) -> None:
    """A row that is no row stands for a mistake of this program that nobody thought of."""
    path = home.write(CURSOR, ENTRY)
    target = home.target(path)
    broken = Target(str(path), (msgspec.structs.replace(target.rows[0], servers=None),))
    for plan in (
        plan_wrap(home.circumstances(), broken, Names(home.places, str(home.path))),
        plan_unwrap(home.circumstances(), broken),
    ):
        assert "a fault of mcp-jail" in of(plan, Group.REFUSED)[""].reason
        assert "TypeError" in of(plan, Group.REFUSED)[""].reason


def test_codex_would_refuse_a_mixture_and_so_do_we(home: ClientHome) -> None:
    text = "[mcp_servers.a]\ncommand = 'x'\nbearer_token_env_var = 'T'\n"
    plan = home.plan(home.write(".codex/config.toml", text))
    assert "both a command and a URL" in of(plan, Group.REFUSED)["a"].reason


def test_a_client_that_would_change_our_path_is_refused(home: ClientHome) -> None:
    path = home.write(".gemini/settings.json", ENTRY)
    given = msgspec.structs.replace(home.circumstances(), program="/opt/$x/mcp-jail")
    plan = plan_wrap(given, home.target(path), Names(home.places, str(home.path)))
    assert "would change the path" in of(plan, Group.REFUSED)["time"].reason


def test_a_policy_is_made_for_each_server_and_names_what_it_starts(home: ClientHome) -> None:
    home.wrap(home.write(CURSOR, ENTRY))
    path = Path(home.places.policy("time"))
    policy = load(path.read_text(), "time.yaml").policy
    assert policy.server is not None
    assert policy.server.command == ("uvx", "mcp-server-time")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_variables_that_load_code_move_into_the_policy(home: ClientHome) -> None:
    entry = '{"command": "x", "env": {"LD_PRELOAD": "/a.so", "TOKEN": "t"}}'
    path = home.write(CURSOR, file_of(a=entry))
    plan = home.wrap(path)
    assert of(plan, Group.DONE)["a"].moved == ("LD_PRELOAD",)
    assert "LD_PRELOAD" not in path.read_text()
    policy = load(Path(home.places.policy("a")).read_text(), "a.yaml").policy
    assert policy.env.set == {"LD_PRELOAD": "/a.so"}
    assert policy.env.pass_ == ("TOKEN",)


@pytest.mark.parametrize(
    ("name", "text", "passed"),
    [
        (
            ".vscode/mcp.json",
            '{"servers": {"a": {"command": "x", "env": {"P": 8080, "D": true, "N": null}}}}',
            ("P", "D", "N"),
        ),
        (
            ".config/goose/config.yaml",
            "extensions:\n  a: {cmd: x, envs: {P: 1.5}, env_keys: [TOKEN, P, LD_PRELOAD]}\n",
            ("P", "TOKEN"),
        ),
        (
            ".codex/config.toml",
            "mcp_servers.a = {command = 'x', env_vars = ['T', {name = 'Q', source = 'local'}]}\n",
            ("T", "Q"),
        ),
    ],
)
def test_every_variable_that_an_entry_names_is_passed(
    home: ClientHome, name: str, text: str, passed: tuple[str, ...]
) -> None:
    path = home.write(name, text)
    plan = home.wrap(path)
    policy = load(Path(home.places.policy("a")).read_text(), "a.yaml").policy
    assert policy.env.pass_ == passed
    assert policy.env.set == {}
    assert any("LD_PRELOAD" in note for note in plan.notes) == ("LD_PRELOAD" in text)
    home.unwrap(path)
    assert path.read_text() == text


def test_variables_that_come_back_are_shown(home: ClientHome) -> None:
    entry = '{"command": "x", "env": {"LD_PRELOAD": "/a.so", "A": "1"}}'
    path = home.write(CURSOR, file_of(a=entry))
    home.wrap(path)
    done = of(home.unwrap(path), Group.DONE)["a"]
    assert (done.reason, done.moved) == ("to the byte", ("LD_PRELOAD",))


@pytest.mark.parametrize(("mode", "folder_mode"), [(0o666, 0o700), (0o600, 0o777)])
def test_a_file_that_others_can_change_is_told(
    home: ClientHome, mode: int, folder_mode: int
) -> None:
    path = home.write(CURSOR, ENTRY, mode=mode)
    path.parent.chmod(folder_mode)
    (note,) = home.plan(path).notes
    assert "can be written by others" in note


def test_a_projects_file_that_gets_our_path_is_told(home: ClientHome) -> None:
    (note,) = home.plan(home.write("p/.mcp.json", ENTRY)).notes
    assert "others may get" in note
    assert PROGRAM in note


def test_a_file_that_may_be_a_plugins_says_how_to_name_it(home: ClientHome) -> None:
    path = home.write("p/.mcp.json", '{"a": {"command": "x"}}')
    assert "--client claude-plugin" in home.plan(path).outcomes[0].hint
    assert home.plan(home.write("q/.mcp.json", "{}")).outcomes[0].hint == ""
    assert set(of(home.plan(path, client="claude-plugin"), Group.DONE)) == {"a"}


def test_variables_that_stand_in_another_file_are_told(home: ClientHome) -> None:
    entry = '{"command": "x", "envFile": "~/pg.env"}'
    (note,) = home.plan(home.write(CURSOR, file_of(a=entry))).notes
    assert "'~/pg.env'" in note
    assert "reach mcp-jail itself first" in note
    assert "env.pass" in note


def test_a_policy_that_would_lose_the_variables_is_not_shared(home: ClientHome) -> None:
    home.wrap(home.write(CURSOR, '{"mcpServers": {"a": {"command": "x"}}}'))
    entry = '{"command": "x", "env": {"LD_PRELOAD": "/a.so"}}'
    plan = home.plan(home.write(".junie/mcp/mcp.json", file_of(a=entry)))
    assert of(plan, Group.DONE)["a"].policy == "a-junie"


def test_a_policy_that_is_there_for_the_same_launch_is_left_as_it_is(home: ClientHome) -> None:
    home.wrap(home.write(CURSOR, ENTRY))
    policy = Path(home.places.policy("time"))
    policy.write_text(policy.read_text() + "# mine\n")
    plan = home.wrap(home.write(".junie/mcp/mcp.json", ENTRY))
    assert of(plan, Group.DONE)["time"].policy == "time"
    assert not of(plan, Group.DONE)["time"].policy_is_new
    assert policy.read_text().endswith("# mine\n")


def test_what_an_entry_names_and_its_shared_policy_has_not_is_told(home: ClientHome) -> None:
    for name in ("a", "b", "c"):
        (home.path / name).mkdir()
    notes = {"NOTES": f"{home.path}/a"}
    first = json.dumps({"command": "x", "env": {"PGHOST": "h"} | notes})
    notes = {"NOTES": f"{home.path}/b"}
    other = json.dumps({"command": "x", "env": {"MODE": "m"} | notes, "cwd": f"{home.path}/c"})
    assert home.wrap(home.write(CURSOR, file_of(db=first))).notes == ()
    assert home.plan(home.write(".ai/mcp/mcp.json", file_of(db=first))).notes == ()
    plan = home.plan(home.write(".junie/mcp/mcp.json", file_of(db=other)))
    assert of(plan, Group.DONE)["db"].policy == "db"
    (note,) = plan.notes
    assert "has not MODE, ~/b, ~/c:" in note


def test_a_name_that_another_launch_has_is_not_shared(home: ClientHome) -> None:
    home.wrap(home.write(CURSOR, ENTRY))
    other = ENTRY.replace("mcp-server-time", "another")
    path = home.write(".junie/mcp/mcp.json", other)
    plan = home.wrap(path)
    assert of(plan, Group.DONE)["time"].policy == "time-junie"
    assert list(json.loads(path.read_text())["mcpServers"]) == ["time"], "its key stays"
    third = home.plan(home.write(".ai/mcp/mcp.json", ENTRY.replace("mcp-server-time", "third")))
    assert of(third, Group.DONE)["time"].policy == "time-jetbrains"


def test_a_word_that_the_client_fills_in_stands_in_no_policy(home: ClientHome) -> None:
    text = ENTRY.replace("mcp-server-time", "${workspaceFolder}/s.js")
    home.wrap(home.write(CURSOR, text))
    assert load(Path(home.places.policy("time")).read_text(), "t.yaml").policy.server is None


def test_a_command_that_no_policy_can_hold_gets_one_without(home: ClientHome) -> None:
    plan = home.wrap(home.sample("codex-config.toml", ".codex/config.toml"))
    assert of(plan, Group.DONE)["my server.v2"].policy == "my-server.v2"
    text = Path(home.places.policy("my-server.v2")).read_text()
    assert load(text, "p.yaml").policy.server is None


def test_one_server_alone_is_wrapped_and_unwrapped(home: ClientHome) -> None:
    path = home.sample("already-wrapped.json", CURSOR)
    before = path.read_bytes()
    home.wrap(path, "todo")
    home.wrap(path, "bridge")
    values = json.loads(path.read_bytes())["mcpServers"]
    assert values["todo"]["command"] == values["bridge"]["command"] == PROGRAM
    assert values["other-wrapper"]["command"] == "npx"
    home.unwrap(path, "todo")
    assert json.loads(path.read_bytes())["mcpServers"]["bridge"]["command"] == PROGRAM
    home.unwrap(path, "bridge")
    assert path.read_bytes() == before


def test_the_original_is_kept_private_and_only_the_first(home: ClientHome) -> None:
    path = home.write(CURSOR, ENTRY, mode=0o644)
    home.wrap(path)
    kept = Path(f"{path}{BACKUP}")
    assert kept.read_text() == ENTRY
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    path.write_text(path.read_text().replace("}}}", '}, "b": {"command": "y"}}}'))
    home.wrap(path)
    assert kept.read_text() == ENTRY
    home.unwrap(path, "b")
    assert kept.read_text() == ENTRY, "there is still a wrapped server"
    (note,) = home.unwrap(path).notes
    assert "was edited since" in note
    assert not kept.exists(), "nothing of ours is in the file any more"
    home.wrap(path)
    assert kept.read_bytes() != ENTRY.encode(), "the original of this time"
    home.unwrap(path)
    assert os.listdir(path.parent) == [path.name]


def test_an_original_that_somebody_edited_is_not_put_back_and_is_told(home: ClientHome) -> None:
    path = home.write(CURSOR, ENTRY)
    home.wrap(path)
    kept = Path(f"{path}{BACKUP}")
    kept.write_text(ENTRY.replace("uvx", "evil"))
    (note,) = home.unwrap(path).notes
    assert f"'{kept}' is not what mcp-jail kept there" in note
    assert path.read_text() == ENTRY
    assert "evil" in kept.read_text()


def test_a_record_that_somebody_edited_is_not_put_back(home: ClientHome) -> None:
    path = home.write(CURSOR, ENTRY)
    home.wrap(path)
    wrapped = path.read_bytes()
    (record,) = (Path(home.places.state) / "clients").glob("*.json")
    genuine = record.read_text()
    record.write_text(genuine.replace("uvx", "evil"))
    assert record.read_text() != genuine
    assert "not as mcp-jail wrote it" in of(home.unwrap(path), Group.REFUSED)[""].reason
    assert path.read_bytes() == wrapped
    record.unlink()
    plan = home.unwrap(path)
    assert "no record" in of(plan, Group.DONE)["time"].reason
    assert json.loads(path.read_text()) == json.loads(ENTRY)


def test_a_file_that_lies_where_the_original_would_is_not_taken_for_it(home: ClientHome) -> None:
    path = home.write(CURSOR, ENTRY)
    planted = home.write(CURSOR + BACKUP, "planted")
    home.wrap(path)
    assert planted.read_text() == "planted"
    (kept,) = (Path(home.places.state) / "clients").glob("*.bak")
    assert kept.read_text() == ENTRY
    home.unwrap(path)
    assert not kept.exists()
    assert planted.read_text() == "planted"


def test_in_a_git_work_tree_the_original_is_kept_in_our_state(home: ClientHome) -> None:
    path = home.write("project/.mcp.json", ENTRY)
    (home.path / "project" / ".git").mkdir()
    home.wrap(path)
    assert sorted(os.listdir(path.parent)) == [".git", ".mcp.json"]
    kept = list((Path(home.places.state) / "clients").glob("*.bak"))
    assert [each.read_text() for each in kept] == [ENTRY]
    assert stat.S_IMODE(kept[0].stat().st_mode) == 0o600


def test_no_secret_of_the_file_is_written_down_by_us(home: ClientHome) -> None:
    secret = "CANARY-" + "7" * 20
    entry = f'{{"command": "x", "args": ["--token", "{secret}"], "env": {{"KEY": "{secret}"}}}}'
    path = home.write("p/.mcp.json", file_of(a=entry))
    home.wrap(path)
    written = [
        each
        for folder in (home.places.policies, home.places.state)
        for each in Path(folder).rglob("*")
        if each.is_file()
    ]
    assert written
    assert [each for each in written if secret.encode() in each.read_bytes()] == []


def test_a_file_that_its_client_wrote_anew_is_unwrapped_by_value(home: ClientHome) -> None:
    entry = '{"command": "x", "env": {"LD_PRELOAD": "/a.so"}}'
    path = home.write(CURSOR, file_of(a=entry))
    home.wrap(path)
    path.write_text(json.dumps(json.loads(path.read_text()), indent="\t", sort_keys=True))
    plan = home.unwrap(path)
    assert of(plan, Group.DONE)["a"].reason.startswith("by what the entry says; its")
    assert json.loads(path.read_text()) == {"mcpServers": {"a": json.loads(entry)}}


def test_an_entry_without_a_record_says_so(home: ClientHome) -> None:
    path = home.sample("already-wrapped.json", CURSOR)
    plan = home.unwrap(path, "done")
    assert "no record" in of(plan, Group.DONE)["done"].reason
    assert json.loads(path.read_text())["mcpServers"]["done"] == {
        "command": "npx",
        "args": ["-y", "done-mcp"],
    }


def test_what_a_person_left_bare_is_remembered(home: ClientHome) -> None:
    path = home.sample("already-wrapped.json", CURSOR)
    home.wrap(path, "todo")
    assert len(read_wrapped(home.places, str(path)).left) == 2
    home.wrap(path)
    assert read_wrapped(home.places, str(path)).left == ()


def test_five_megabytes_of_history_are_wrapped_and_come_back(home: ClientHome) -> None:
    line = {"display": 'what is "mcpServers": {"x": {"command": "y"}}? \\ \u00e9', "pasted": {}}
    projects = {f"/p/{number}": {"history": [line] * 60} for number in range(900)}
    mine = {"mcpServers": {"time": {"command": "uvx", "args": ["t"]}}}
    text = json.dumps({"projects": {**projects, "/mine": mine}}, indent=2)
    assert len(text) > 5_000_000
    path = home.write(".claude.json", text)
    plan = home.wrap(path)
    assert [each.within for each in plan.outcomes] == ["/mine"]
    assert abs(path.stat().st_size - len(text)) < 200
    home.unwrap(path)
    assert path.read_text() == text


def test_half_a_character_refuses_its_entry_and_no_other(home: ClientHome) -> None:
    half = '{"command": "x", "args": ["\\ud83d"]}'
    text = file_of(odd=half, good='{"command": "x"}')[:-1] + ', "history": ["cut \\ud83d"]}'
    path = home.write(".junie/mcp/mcp.json", text)
    plan = home.wrap(path)
    assert set(of(plan, Group.DONE)) == {"good"}
    assert "half a character" in of(plan, Group.REFUSED)["odd"].reason
    home.unwrap(path)
    assert path.read_text() == text


def test_a_policy_that_two_files_need_comes_with_each_of_them(home: ClientHome) -> None:
    names = Names(home.places, str(home.path))
    paths = (home.write(CURSOR, ENTRY), home.write(".junie/mcp/mcp.json", ENTRY))
    plans = [plan_wrap(home.circumstances(), home.target(path), names) for path in paths]
    assert [len(plan.policies) for plan in plans] == [1, 1]
    apply_wrap(home.places, plans[1])
    assert os.path.isfile(home.places.policy("time"))


def test_files_above_in_the_work_tree_are_the_projects_too(home: ClientHome) -> None:
    path = home.write("src/shop/.cursor/mcp.json", ENTRY)
    deep = home.path / "src" / "shop" / "web" / "app"
    deep.mkdir(parents=True)
    ground = msgspec.structs.replace(home.circumstances().ground, cwd=str(deep))
    assert existing(ground, ROWS) == []
    (home.path / "src" / "shop" / ".git").mkdir()
    assert [target.path for target in existing(ground, ROWS)] == [str(path)]


def test_claude_codes_files_above_are_found_without_git_up_to_the_root(home: ClientHome) -> None:
    paths = [home.write(name, ENTRY) for name in ("src/shop/.mcp.json", ".mcp.json")]
    deep = home.path / "src" / "shop" / "web"
    deep.mkdir()
    ground = msgspec.structs.replace(home.circumstances().ground, cwd=str(deep))
    assert [target.path for target in existing(ground, ROWS)] == [*map(str, paths)]
    for row in {row for target in existing(ground, ROWS) for row in target.rows}:
        places = {path for path, _ in places_of(ground, row)}
        assert ("/.mcp.json" in places, row.climbs) == (False, True)


@pytest.mark.parametrize("name", ["HOME", "MCP_JAIL_HOME"])
def test_an_entry_that_would_hide_our_policies_from_us_is_refused(
    home: ClientHome, name: str
) -> None:
    entry = f'{{"command": "x", "env": {{"{name}": "/elsewhere"}}}}'
    plan = home.plan(home.write(CURSOR, file_of(a=entry)))
    assert f"it sets {name}" in of(plan, Group.REFUSED)["a"].reason


def test_a_change_that_fails_leaves_nothing_that_would_be_believed(home: ClientHome) -> None:
    path = home.write(CURSOR, ENTRY)
    plan = home.plan(path)
    path.write_text(ENTRY + "\n")
    with pytest.raises(FileError, match="has changed meanwhile"):
        apply_wrap(home.places, plan)
    assert os.listdir(path.parent) == [path.name]
    assert read_wrapped(home.places, str(path)).entries == ()
    home.wrap(path)
    with pytest.raises(FileError, match="has changed meanwhile"):
        apply_wrap(home.places, plan)
    assert Path(f"{path}{BACKUP}").read_text() == ENTRY + "\n"
    assert len(read_wrapped(home.places, str(path)).entries) == 1


def test_a_policy_that_came_meanwhile_for_another_launch_is_not_taken(home: ClientHome) -> None:
    path = home.write(CURSOR, ENTRY)
    plan = home.plan(path)
    home.wrap(home.write(".junie/mcp/mcp.json", ENTRY.replace("mcp-server-time", "other")))
    with pytest.raises(FileError, match="policy 'time' was made meanwhile"):
        apply_wrap(home.places, plan)
    assert path.read_text() == ENTRY
    assert os.listdir(path.parent) == [path.name]
    home.wrap(path)
    assert read_wrapped(home.places, str(path)).entries[0].policy == "time-cursor"


def test_a_record_that_changed_meanwhile_is_not_written_over(home: ClientHome) -> None:
    path = home.write(CURSOR, file_of(a='{"command": "x"}', b='{"command": "y"}'))
    home.wrap(path, "a")
    plan = home.plan(path)
    home.unwrap(path)
    home.wrap(path, "b")
    path.write_bytes(plan.before)
    with pytest.raises(FileError, match="has changed meanwhile"):
        apply_wrap(home.places, plan)
    assert path.read_bytes() == plan.before


def test_a_variable_that_the_client_fills_in_cannot_move(home: ClientHome) -> None:
    entry = '{"command": "x", "env": {"PYTHONPATH": "${workspaceFolder}/lib"}}'
    plan = home.plan(home.write(CURSOR, file_of(a=entry)))
    assert "fills in a part of PYTHONPATH" in of(plan, Group.REFUSED)["a"].reason


LONG = {
    ".mcp.json": '{"mcpServers": {}, "x": "' + "x" * 1024 * 1024 + '"}',
    ".codex/config.toml": "x = 1\n" + "# filler\n" * 20_000,
    ".continue/mcpServers/x.yaml": "x: 1\n" + "# filler\n" * 20_000,
}


@pytest.mark.parametrize("name", LONG)
def test_a_clone_keeps_nobody_busy_with_a_long_file(home: ClientHome, name: str) -> None:
    path = home.write(f"clone/{name}", LONG[name])
    reason = of(home.plan(path), Group.REFUSED)[""].reason
    assert "KiB that are read of a project's file" in reason


def test_a_persons_own_long_file_is_read(home: ClientHome) -> None:
    text = '[mcp_servers.a]\ncommand = "x"\n' + LONG[".codex/config.toml"]
    assert home.plan(home.write(".codex/config.toml", text)).changes


def test_a_clone_keeps_nobody_busy_with_many_files(home: ClientHome) -> None:
    for number in range(PROJECT_FILES + 5):
        home.write(f".continue/mcpServers/{number:03}.yaml", "mcpServers: []\n")
        home.write(f"clone/.continue/mcpServers/{number:03}.yaml", "mcpServers: []\n")
    ground = msgspec.structs.replace(home.circumstances().ground, cwd=str(home.path / "clone"))
    found = [target for target in existing(ground, ROWS) if target.is_project]
    assert len(found) == PROJECT_FILES
    (obstacle,) = obstacles(ground, ROWS)
    assert (obstacle.path, str(PROJECT_FILES) in obstacle.why) == (
        str(home.path / "clone/.continue/mcpServers"),
        True,
    )


def test_a_variable_that_no_policy_can_name_does_not_get_lost(home: ClientHome) -> None:
    path = home.write(CURSOR, file_of(a='{"command": "x", "env": {"LD_X: [y": "q"}}'))
    before = path.read_bytes()
    assert "no policy can have one" in of(home.wrap(path), Group.REFUSED)["a"].reason
    assert path.read_bytes() == before


def test_servers_in_a_list_where_none_is_read_are_told(home: ClientHome) -> None:
    text = '[[mcp_servers]]\nname = "x"\ncommand = "y"\n[[mcp_servers]]\ncommand = "z"\n'
    refused = of(home.plan(home.write(".codex/config.toml", text)), Group.REFUSED)
    assert set(refused) == {"x", "number 2"}
    assert "in a list" in refused["x"].reason


def test_continues_old_list_has_servers_without_names(home: ClientHome) -> None:
    entry = '{"transport": {"type": "stdio", "command": "uvx", "args": ["a"]}}'
    text = f'{{"experimental": {{"modelContextProtocolServers": [{entry}, {{}}]}}}}'
    path = home.write(".continue/config.json", text)
    assert set(of(home.wrap(path), Group.DONE)) == {"number 1"}
    home.unwrap(path)
    assert path.read_text() == text


def test_what_only_a_client_reads_says_so(home: ClientHome) -> None:
    path = home.write(".config/mcphub/servers.json", "{mcpServers: {'a': {command: 'x'}}}")
    assert "JSON5" in of(home.plan(path), Group.REFUSED)[""].hint


def test_a_layout_that_would_not_be_read_again_is_not_told_as_the_files_own_fault(
    home: ClientHome,
) -> None:
    text = "mcpServers:\r- name: a\r  command: srv\r  args:\r  - x\r"
    refused = of(home.plan(home.write(".continue/config.yaml", text)), Group.REFUSED)
    assert "as it would become" in refused[""].reason
