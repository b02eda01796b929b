// A client made of one of the TypeScript SDKs: a call for each line it reads, each waited for a
// number of milliseconds.
//
//     node asked.mjs ERA MILLISECONDS HOME COMMAND...
//
// A line is `[tool, arguments]`; what it gave is printed, as `{"text": ...}` or `{"error": ...}`.
import { createInterface } from "node:readline";

const [era, milliseconds, home, command, ...args] = process.argv.slice(2);
const v1 = era === "v1";
const { Client } = await import(
  v1 ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client"
);
const { StdioClientTransport } = await import(
  v1 ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio"
);
const options = v1 ? {} : { versionNegotiation: { mode: era.slice(3) } };
const client = new Client({ name: "mcp-jail-test", version: "1.0.0" }, options);
const env = { HOME: home, PATH: process.env.PATH };
await client.connect(new StdioClientTransport({ command, args, env }));
const waited = { timeout: Number(milliseconds) };
for await (const line of createInterface({ input: process.stdin })) {
  const [name, given] = JSON.parse(line);
  try {
    const call = { name, arguments: given };
    const result = await (v1
      ? client.callTool(call, undefined, waited)
      : client.callTool(call, waited));
    const text = result.content.map((block) => block.text ?? "").join("");
    console.log(JSON.stringify({ text }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error.message) }));
  }
}
await client.close();
