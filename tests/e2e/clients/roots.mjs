// SPDX-License-Identifier: Apache-2.0
// The client package of SDK 2 in the modern era, with roots: node roots.mjs GATEHOUSE FOLDER
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio } from "@modelcontextprotocol/client/stdio";

const [command, folder] = process.argv.slice(2);
let root = "in";
let asked = 0;

async function connect(capabilities) {
  const client = new Client(
    { name: "roots", version: "1" },
    { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  if (capabilities.roots !== undefined)
    client.setRequestHandler("roots/list", async () => {
      asked++;
      return { roots: [{ uri: pathToFileURL(`${folder}/${root}`).href }] };
    });
  await client.connect(
    new Stdio({ command, args: ["mcp", "--roots", folder], env: process.env, stderr: "ignore" }),
  );
  return client;
}

async function read(client, filePath) {
  const told = await client.callTool({ name: "read_file", arguments: { filePath } });
  return told.isError ? told.content[0].text : told.structuredContent.content;
}

const client = await connect({ roots: {} });
// Nothing before the first call has asked: a list cannot ask.
assert.deepEqual((await client.listResources()).resources, []);
assert.equal(await read(client, "in/a.txt"), "in");
assert.equal(asked, 1);
assert.match(await read(client, "beside/a.txt"), /outside the roots/);
assert.match(await read(client, "a.txt"), /outside the roots/);
const { resources } = await client.listResources();
assert.deepEqual(resources.map((each) => each.name), ["in/a.txt"]);
const uri = pathToFileURL(`${folder}/in/a.txt`).href;
assert.equal((await client.readResource({ uri })).contents[0].text, "in");
// It cannot say that its roots have changed, so each call asks.
root = "beside";
assert.equal(await read(client, "beside/a.txt"), "beside");
assert.match(await read(client, "in/a.txt"), /outside the roots/);
await client.close();

// A client without roots gets the folder.
const plain = await connect({});
assert.equal(await read(plain, "in/a.txt"), "in");
assert.equal(await read(plain, "a.txt"), "hello\n");
await plain.close();
console.log("client 2.x with roots, modern: ok");
