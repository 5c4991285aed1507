// SPDX-License-Identifier: Apache-2.0
// An agent of gatehouse serve, by either SDK: it reads a.txt, and writes b.txt, which its user allows if
// asked, as often as expected: node agent.mjs ADDRESS sdk1|legacy|modern QUESTIONS
import assert from "node:assert/strict";

const [address, kind, expected] = process.argv.slice(2);
const requestInit = { headers: { Authorization: `Bearer ${process.env.GATEHOUSE_KEY}` } };
const about = { name: "agent", version: "1" };
const capabilities = { elicitation: { form: {} } };
let questions = 0;

function answer({ params }) {
  questions++;
  assert.match(params.message, /b\.txt/);
  return { action: "accept", content: { decision: "Allow once" } };
}

async function open() {
  if (kind === "sdk1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const http = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
    const client = new Client(about, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, answer);
    await client.connect(new http.StreamableHTTPClientTransport(new URL(address), { requestInit }));
    return client;
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const mode = kind === "modern" ? { pin: "2026-07-28" } : kind;
  const client = new Client(about, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler("elicitation/create", answer);
  await client.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit }));
  return client;
}

const client = await open();
const { tools } = await client.listTools();
assert.ok(tools.some(({ name }) => name === "read_file"));
const read = await client.callTool({ name: "read_file", arguments: { filePath: "a.txt" } });
assert.match(read.content[0].text, /hello/);
const write = { name: "write_file", arguments: { filePath: "b.txt", content: "written" } };
const written = await client.callTool(write);
assert.ok(!written.isError, JSON.stringify(written));
assert.equal(questions, Number(expected));
await client.close();
