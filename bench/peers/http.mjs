// SPDX-License-Identifier: Apache-2.0
// The work of an MCP endpoint, as plainly as Node can do it: node http.mjs [PEM]
//
//   POST /mcp    JSON-RPC: a ping, or the call of a tool that answers a little text
//   GET /stream  events; stays open
//   POST /push   what it brings goes to every stream as one event
//
// Prints its address. PEM is a file with a key and its certificate, for TLS.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";

const KEY = "Bearer bench";
const MAX_BODY_BYTES = 1 << 20;
const [pem] = process.argv.slice(2);
const streams = new Set();

const tools = {
  test_simple_text: () => ({
    content: [{ type: "text", text: "This is a simple text response for testing." }],
  }),
};
const methods = {
  ping: () => ({}),
  "tools/call": ({ name, arguments: args }) => tools[name]?.(args),
};

function answer(message) {
  const result = methods[message.method]?.(message.params);
  return result === undefined
    ? { jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "no such thing" } }
    : { jsonrpc: "2.0", id: message.id, result: { resultType: "complete", ...result } };
}

function reply(response, status, text = "") {
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(text),
  });
  response.end(text);
}

function open(response) {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  response.flushHeaders();
  streams.add(response);
  response.on("close", () => streams.delete(response));
}

const posts = {
  "/mcp": (body, response) => reply(response, 200, JSON.stringify(answer(JSON.parse(body)))),
  "/push"(body, response) {
    const event = `data: ${body}\n\n`;
    for (const stream of streams) stream.write(event);
    reply(response, 202);
  },
};

function serve(request, response) {
  if (request.headers.authorization !== KEY) return reply(response, 401);
  if (request.method === "GET" && request.url === "/stream") return open(response);
  const post = request.method === "POST" ? posts[request.url] : undefined;
  if (post === undefined) return reply(response, 404);
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (part) => {
    body += part;
    if (body.length > MAX_BODY_BYTES) request.destroy();
  });
  request.on("end", () => {
    try {
      post(body, response);
    } catch {
      reply(response, 400);
    }
  });
}

// What nobody asks for stays away, so that it is not measured either.
const options = { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0, timeout: 0 };
const secrets = pem && readFileSync(pem);
const server = pem
  ? createTlsServer({ ...options, key: secrets, cert: secrets }, serve)
  : createServer(options, serve);
server.listen({ host: "127.0.0.1", port: 0, backlog: 4096 }, () =>
  console.log(`${pem ? "https" : "http"}://127.0.0.1:${server.address().port}`),
);
process.on("SIGTERM", () => process.exit(0));
