// A client made of one of the TypeScript SDKs. It connects to a command, takes its steps and prints
// what each gave, as JSON, one a line.
//
//     node client.mjs ERA '["command", "arg"]' '{"VARIABLE": "value"}' '[["tool", {"a": 1}], ...]'
//
// ERA says which SDK and how it opens: v1, v2-legacy, v2-auto. A step is a tool with its arguments,
// or the word "tools" for the names of all tools.

const [era, commandText, environmentText, stepsText] = process.argv.slice(2);
const [command, ...args] = JSON.parse(commandText);

async function sdk() {
  if (era === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport, getDefaultEnvironment } = await import(
      "@modelcontextprotocol/sdk/client/stdio.js"
    );
    return { Client, StdioClientTransport, getDefaultEnvironment };
  }
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport, getDefaultEnvironment } = await import(
    "@modelcontextprotocol/client/stdio"
  );
  return { Client, StdioClientTransport, getDefaultEnvironment };
}

const { Client, StdioClientTransport, getDefaultEnvironment } = await sdk();
const options = era.startsWith("v2") ? { versionNegotiation: { mode: era.slice(3) } } : {};
const client = new Client({ name: "mcp-jail-test", version: "1.0.0" }, options);
const env = { ...getDefaultEnvironment(), ...JSON.parse(environmentText) };
// Whatever came that is no message of the protocol; there must be nothing of the kind.
const noise = [];
client.onerror = (error) => noise.push(error);
await client.connect(new StdioClientTransport({ command, args, env }));
for (const step of JSON.parse(stepsText)) {
  if (step === "tools") {
    const { tools } = await client.listTools();
    console.log(JSON.stringify(tools.map((tool) => tool.name)));
  } else {
    const [name, given] = step;
    try {
      const result = await client.callTool({ name, arguments: given });
      const text = result.content.map((block) => block.text ?? "").join("");
      console.log(JSON.stringify({ text, isError: result.isError ?? false }));
    } catch (error) {
      console.log(JSON.stringify({ error: String(error.message) }));
    }
  }
}
client.onerror = undefined;
await client.close();
if (noise.length > 0) {
  console.error(...noise);
  process.exit(3);
}
