// A server made of version 2 of the TypeScript SDK, of both eras, with one tool that leaves a trace.

import { writeFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

serveStdio(() => {
  const server = new McpServer({ name: "writes", version: "1.0.0" });
  server.registerTool(
    "write_file",
    {
      description: "Write a text into a file.",
      inputSchema: z.object({ path: z.string(), content: z.string() }),
    },
    ({ path, content }) => {
      writeFileSync(path, content);
      return { content: [{ type: "text", text: `${content.length} characters` }] };
    },
  );
  return server;
});
