// A client made of one of the TypeScript SDKs, against a server that plays tricks: one call that
// names a trick, then an honest one, which shows whether the session lives; a dead one is opened
// anew. Prints one JSON object for each trick: what the calls gave and what else reached the client.
//
//     node tricked.mjs ERA '["command", "arg"]' '{"VARIABLE": "value"}' '["trick", ...]'
//
// ERA is v1, v2-legacy or v2-auto, as in client.mjs.

const [era, commandText, environmentText, tricksText] = process.argv.slice(2);
const [command, ...args] = JSON.parse(commandText);
const { Client, StdioClientTransport, getDefaultEnvironment } = await sdk();
const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} };
const negotiation = era === "v1" ? {} : { versionNegotiation: { mode: era.slice(3) } };
const env = { ...getDefaultEnvironment(), ...JSON.parse(environmentText) };
const CUT = 2000; // characters of a text that are looked at; some are of many MiB

async function sdk() {
  if (era === "v1") {
    return {
      ...(await import("@modelcontextprotocol/sdk/client/index.js")),
      ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
    };
  }
  return {
    ...(await import("@modelcontextprotocol/client")),
    ...(await import("@modelcontextprotocol/client/stdio")),
  };
}

async function open(hear) {
  const client = new Client({ name: "mcp-jail-test", version: "1.0.0" }, { capabilities, ...negotiation });
  client.onerror = (error) => hear(String(error?.message ?? error));
  client.fallbackNotificationHandler = async (message) => hear(JSON.stringify(message));
  const asked = async (request) => {
    hear(`asked: ${JSON.stringify(request)}`);
    throw new Error("no");
  };
  client.fallbackRequestHandler = asked;
  if (era !== "v1") {
    // What comes inside an answer, as in 2026-07-28, goes to none but these.
    for (const method of ["sampling/createMessage", "elicitation/create", "roots/list"]) {
      client.setRequestHandler(method, asked);
    }
  }
  await client.connect(new StdioClientTransport({ command, args, env, stderr: "ignore" }));
  return client;
}

async function say(client, text) {
  try {
    const result = await client.callTool({ name: "echo", arguments: { text } });
    return result.content.map((block) => block.text ?? "").join("").slice(0, CUT);
  } catch (error) {
    return `error: ${String(error?.message ?? error).slice(0, CUT)}`;
  }
}

let noise = [];
let client;
for (const trick of JSON.parse(tricksText)) {
  client ??= await open((text) => noise.push(text.slice(0, CUT)));
  const said = await say(client, trick);
  const after = await say(client, "honest");
  console.log(JSON.stringify({ trick, said, after, noise }));
  noise = [];
  if (after !== "honest") {
    await client.close();
    client = undefined;
  }
}
await client?.close();
