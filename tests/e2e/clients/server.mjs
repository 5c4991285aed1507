// SPDX-License-Identifier: Apache-2.0
// How a library gets to the server: a program that it starts, or the address of one that listens and
// wants the key in GATEHOUSE_KEY. A library's own script hands over its two transports.
import assert from "node:assert/strict";

const overPipes = (command, folder, Stdio) => ({
  transport: new Stdio({ command, args: ["mcp", "--write", folder], env: process.env }),
  listening: Promise.resolve(),
  end: async () => {},
});

function overHttp(address, Http) {
  const headers = { Authorization: `Bearer ${process.env.GATEHOUSE_KEY}` };
  let heard, unheard;
  const listening = new Promise((resolve, reject) => ([heard, unheard] = [resolve, reject]));
  listening.catch(() => {}); // for those who wait
  const transport = new Http(new URL(address), {
    requestInit: { headers },
    // A session opens the stream for its notices in the background.
    fetch: async (url, options) => {
      const response = await fetch(url, options);
      if (options?.method === "GET")
        response.ok ? heard() : unheard(new Error(`GET is answered with ${response.status}`));
      return response;
    },
  });
  return {
    transport,
    listening,
    async end() {
      const session = transport.sessionId;
      if (session === undefined) return;
      await transport.terminateSession();
      const { status } = await fetch(address, {
        method: "POST",
        headers: {
          ...headers,
          "Content-Type": "application/json",
          Accept: "application/json, text/event-stream",
          "Mcp-Session-Id": session,
          "MCP-Protocol-Version": transport.protocolVersion,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
      });
      assert.equal(status, 404, "a session that was ended is gone");
    },
  };
}

// `listening` resolves once a session would hear of changes; end() ends it at the server.
export const connectionTo = (server, folder, { Stdio, Http }) =>
  /^https?:/.test(server) ? overHttp(server, Http) : overPipes(server, folder, Stdio);
