// SPDX-License-Identifier: Apache-2.0
// The work of a gateway server, as plainly as Node can do it: node server.mjs USERS
//
//   POST /rest/instance-ai/gateway/init            a machine and its tools
//   GET  /rest/instance-ai/gateway/events          its event stream
//   POST /rest/instance-ai/gateway/response/ID     its answer to a call
//   POST /mcp                                      an agent's call, JSON-RPC
//
// Keys are looked up by their digests, as in ours; nothing is stored. User N's machine has the key
// "sess_" and its agent "agent_", with N in 32 digits. Prints its address.
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";

const GATEWAY = "/rest/instance-ai/gateway/";
const MAX_BODY_BYTES = 16 << 20;
const CALL_MS = 60_000;
const PING_MS = 15_000;

const digest = (key) => createHash("sha256").update(key).digest("base64");
const machines = new Map();
const agents = new Map();
const calls = new Map();
const streams = new Set();

for (let user = 1; user <= Number(process.argv[2]); user++) {
  const number = String(user).padStart(32, "0");
  const person = { tools: null, stream: null };
  machines.set(digest(`sess_${number}`), person);
  agents.set(digest(`agent_${number}`), person);
}

function reply(response, status, value) {
  const text = JSON.stringify(value);
  response.writeHead(status, {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(text),
    "Cache-Control": "no-store",
  });
  response.end(text);
}

const refuse = (response, code, message) => reply(response, code, { code, message });

function init(person, body, response) {
  const { tools } = JSON.parse(body);
  person.tools = new Map(tools.map((tool) => [tool.name, tool]));
  reply(response, 200, { data: { ok: true } });
}

function open(person, response) {
  response.writeHead(200, {
    "Content-Type": "text/event-stream; charset=UTF-8",
    "Cache-Control": "no-cache, no-transform",
  });
  response.flushHeaders();
  person.stream?.end();
  person.stream = response;
  streams.add(response);
  response.on("close", () => {
    streams.delete(response);
    if (person.stream === response) person.stream = null;
  });
}

function answered(person, id, body, response) {
  const { result } = JSON.parse(body);
  const call = calls.get(id);
  if (call === undefined || call.person !== person) return refuse(response, 404, "no such request");
  if (!Array.isArray(result?.content)) return refuse(response, 400, "no result");
  calls.delete(id);
  clearTimeout(call.timer);
  reply(call.response, 200, {
    jsonrpc: "2.0",
    id: call.id,
    result: { resultType: "complete", content: result.content },
  });
  reply(response, 200, { data: { ok: true } });
}

function call(person, body, response) {
  const { id, method, params } = JSON.parse(body);
  if (method !== "tools/call" || !person.tools?.has(params.name) || person.stream === null)
    return reply(response, 200, { jsonrpc: "2.0", id, error: { code: -32602, message: "no" } });
  const requestId = `gw_${randomBytes(16).toString("base64url")}`;
  const timer = setTimeout(() => {
    calls.delete(requestId);
    reply(response, 200, { jsonrpc: "2.0", id, error: { code: -32000, message: "timeout" } });
  }, CALL_MS);
  calls.set(requestId, { person, id, response, timer });
  const { _confirmation, ...args } = params.arguments;
  const payload = { requestId, toolCall: { name: params.name, arguments: args } };
  person.stream.write(`data: ${JSON.stringify({ type: "filesystem-request", payload })}\n\n`);
}

function serve(request, response) {
  const { method, url, headers } = request;
  const isGateway = url.startsWith(GATEWAY);
  const person = isGateway
    ? machines.get(digest(headers["x-gateway-key"] ?? ""))
    : agents.get(digest((headers.authorization ?? "").slice("Bearer ".length)));
  if (person === undefined) return refuse(response, isGateway ? 403 : 401, "who is there?");
  if (method === "GET" && url === `${GATEWAY}events`) return open(person, response);
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (part) => {
    body += part;
    if (body.length > MAX_BODY_BYTES) request.destroy();
  });
  request.on("end", () => {
    try {
      if (url === "/mcp") call(person, body, response);
      else if (url === `${GATEWAY}init`) init(person, body, response);
      else if (url.startsWith(`${GATEWAY}response/`))
        answered(person, url.slice(`${GATEWAY}response/`.length), body, response);
      else refuse(response, 404, "no such path");
    } catch {
      refuse(response, 400, "bad request");
    }
  });
}

setInterval(() => {
  for (const stream of streams) stream.write(": ping\n\n");
}, PING_MS);

// What nobody asks for stays away, so that it is not measured either.
const options = { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0, timeout: 0 };
const server = createServer(options, serve);
server.listen({ host: "127.0.0.1", port: 0, backlog: 4096 }, () =>
  console.log(`http://127.0.0.1:${server.address().port}`),
);
process.on("SIGTERM", () => process.exit(0));
