// SPDX-License-Identifier: Apache-2.0
// The client package of SDK 2, in either era:
// node client2.mjs GATEHOUSE|ADDRESS FOLDER legacy|auto|modern
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport as Http } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio } from "@modelcontextprotocol/client/stdio";
import { drive } from "./drive.mjs";
import { connectionTo } from "./server.mjs";

const [server, folder, era] = process.argv.slice(2);
const mode = era === "modern" ? { pin: "2026-07-28" } : era;
const client = new Client({ name: "client2", version: "1" }, { versionNegotiation: { mode } });
const connection = connectionTo(server, folder, { Stdio, Http });
await client.connect(connection.transport);
const isModern = era !== "legacy"; // we speak the modern form, so `auto` must find it
assert.equal(client.getProtocolEra(), isModern ? "modern" : "legacy");

const methods = {
  "tools/list": (params, options) => client.listTools(params, options),
  "tools/call": (params, options) => client.callTool(params, options),
  "resources/list": (params, options) => client.listResources(params, options),
  "resources/read": (params, options) => client.readResource(params, options),
  "resources/templates/list": (params, options) => client.listResourceTemplates(params, options),
  "completion/complete": (params, options) => client.complete(params, options),
};

await drive(
  {
    name: `client 2.x, ${era}`,
    request: (method, params, options) => methods[method](params, options),
    async subscribe(uri, onUpdated) {
      client.setNotificationHandler("notifications/resources/updated", ({ params }) =>
        onUpdated(params.uri),
      );
      if (isModern) {
        const stream = await client.listen({ resourceSubscriptions: [uri] });
        return () => stream.close();
      }
      await connection.listening;
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    async close() {
      await connection.end();
      await client.close();
    },
  },
  folder,
);
