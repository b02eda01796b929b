"""A package of npm and one of PyPI, each a whole MCP server, in files that any web server can give.

The tool `who` asks a host who it is, and gives its answer or the error.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

NAME: Final = "tiny-server"

SERVER: Final = """#!/usr/bin/env node
const tools = [{name: "who", description: "Ask.", inputSchema: {type: "object"}}];
const who = async (host) => {
    try { return await (await fetch(`https://${host}/who`)).text(); }
    catch (error) { return (error.cause ?? error).code ?? String(error); }
};
const answer = async ({method, params}) => {
    if (method === "initialize") return {protocolVersion: params.protocolVersion,
        capabilities: {tools: {}}, serverInfo: {name: "tiny", version: "1"}};
    if (method === "tools/list") return {tools};
    if (method !== "tools/call") return null;
    return {content: [{type: "text", text: await who(params.arguments.host)}]};
};
require("readline").createInterface({input: process.stdin}).on("line", async (line) => {
    const request = JSON.parse(line);
    if (request.id === undefined) return;
    const result = await answer(request);
    const missing = {error: {code: -32601, message: "no such method"}};
    const said = result ? {result} : missing;
    console.log(JSON.stringify({jsonrpc: "2.0", id: request.id, ...said}));
});
"""

_PYTHON: Final = """
import json, sys, urllib.request
TOOLS = [{"name": "who", "description": "Ask.", "inputSchema": {"type": "object"}}]
def who(host):
    try:
        return urllib.request.urlopen(f"https://{host}/who", timeout=20).read().decode()
    except OSError as error:
        return str(error)
def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "tiny", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    return {"content": [{"type": "text", "text": who(params["arguments"]["host"])}]}
def main():
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            result = answer(request["method"], request.get("params"))
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


def make_npm_registry(folder: Path, url: str) -> None:
    """The package, below a folder that is served as this URL."""
    package = {"name": NAME, "version": "1.0.0", "bin": {NAME: "server.js"}}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in (("package.json", json.dumps(package)), ("server.js", SERVER)):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(text), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    (folder / f"{NAME}.tgz").write_bytes(packed.getvalue())
    digest = base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()
    dist = {"tarball": f"{url}/{NAME}.tgz", "integrity": f"sha512-{digest}"}
    versions = {"1.0.0": package | {"dist": dist}}
    about = {"name": NAME, "dist-tags": {"latest": "1.0.0"}, "versions": versions}
    (folder / NAME).write_text(json.dumps(about))


def make_python_index(
    folder: Path,
    url: str,
    more: Mapping[str, str] | None = None,
    *,
    name: str = NAME,
    version: str = "1.0",
) -> None:
    """The package, with `more` files, below a folder that is served as this URL."""
    module = name.replace("-", "_")
    file = f"{module}-{version}-py3-none-any.whl"
    about = f"{module}-{version}.dist-info"
    parts = {
        f"{module}.py": _PYTHON,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{about}/entry_points.txt": f"[console_scripts]\n{name} = {module}:main\n",
    } | dict(more or {})
    parts[f"{about}/RECORD"] = "".join(f"{path},,\n" for path in (*parts, f"{about}/RECORD"))
    with zipfile.ZipFile(folder / file, "w") as archive:
        for path, text in parts.items():
            archive.writestr(path, text)
    digest = hashlib.sha256((folder / file).read_bytes()).hexdigest()
    page = folder / name / "index.html"
    page.parent.mkdir(exist_ok=True)
    page.write_text(f'<!DOCTYPE html><a href="{url}/{file}#sha256={digest}">{file}</a>')
