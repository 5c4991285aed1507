// SPDX-License-Identifier: Apache-2.0
// SDK 1.x, which most agents have today: node sdk1.mjs GATEHOUSE|ADDRESS FOLDER
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { drive } from "./drive.mjs";
import { connectionTo } from "./server.mjs";

const [server, folder] = process.argv.slice(2);
const client = new Client({ name: "sdk1", version: "1" }, { capabilities: { roots: {} } });
const connection = connectionTo(server, folder, { Stdio, Http });
await client.connect(connection.transport);

const methods = {
  "tools/list": (params, options) => client.listTools(params, options),
  "tools/call": (params, options) => client.callTool(params, undefined, options),
  "resources/list": (params, options) => client.listResources(params, options),
  "resources/read": (params, options) => client.readResource(params, options),
  "resources/templates/list": (params, options) => client.listResourceTemplates(params, options),
  "completion/complete": (params, options) => client.complete(params, options),
};

await drive(
  {
    name: "SDK 1.x",
    request: (method, params, options) => methods[method](params, options),
    async subscribe(uri, onUpdated) {
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) =>
        onUpdated(params.uri),
      );
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
