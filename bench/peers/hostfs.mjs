// SPDX-License-Identifier: Apache-2.0
// The work of host.fs, as plainly as Node can do it: node hostfs.mjs ROOT KEY
//
//   POST /v1/host/sample/fs/read   {path} -> {bytes, contentType}
//   POST /v1/host/sample/fs/stat   {path} -> {sizeBytes, modifiedAt, contentType}
//
// The key is looked up by its digest, and a path is resolved and compared with the root, as hosts in Node
// do it: a link that is put there meanwhile leads anywhere. Prints its address.
import { createHash } from "node:crypto";
import { open, readFile, realpath, stat } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";

const PREFIX = "/v1/host/sample/fs/";
const MAX_BODY_BYTES = 16 << 20;
const MAX_FILE_BYTES = 10 << 20;
const HEAD_BYTES = 512;
const digest = (key) => createHash("sha256").update(key).digest("base64");
const root = await realpath(process.argv[2]);
const keys = new Set([digest(process.argv[3])]);

class Refusal extends Error {
  constructor(status, error) {
    super(error);
    this.status = status;
  }
}

async function resolve(name) {
  const full = path.resolve(root, name.startsWith("/sandbox/") ? name.slice(9) : name);
  if (!full.startsWith(root + path.sep)) throw new Refusal(403, "path_outside_sandbox");
  const real = await realpath(full);
  if (!real.startsWith(root + path.sep)) throw new Refusal(403, "path_outside_sandbox");
  return real;
}

const typeOf = (bytes) => (bytes.includes(0) ? "application/octet-stream" : "text/plain");

async function head(file) {
  const handle = await open(file);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

const operations = {
  async read({ path: name }) {
    const file = await resolve(name);
    const about = await stat(file);
    if (!about.isFile()) throw new Refusal(409, "not_a_file");
    if (about.size > MAX_FILE_BYTES) throw new Refusal(413, "file_too_large");
    const bytes = await readFile(file);
    return { bytes: bytes.toString("base64"), contentType: typeOf(bytes) };
  },
  async stat({ path: name }) {
    const file = await resolve(name);
    const about = await stat(file);
    if (!about.isFile()) throw new Refusal(409, "not_a_file");
    return { sizeBytes: about.size, modifiedAt: about.mtime.toISOString(), contentType: typeOf(await head(file)) };
  },
};

function reply(response, status, value) {
  const text = JSON.stringify(value);
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(text),
    "Cache-Control": "no-store",
  });
  response.end(text);
}

async function handle(request, body, response) {
  const operation = request.url.startsWith(PREFIX) && operations[request.url.slice(PREFIX.length)];
  try {
    if (!keys.has(digest((request.headers.authorization ?? "").replace(/^Bearer /, "")))) {
      throw new Refusal(401, "unauthenticated");
    }
    if (!operation) throw new Refusal(404, "not_found");
    reply(response, 200, await operation(JSON.parse(body)));
  } catch (error) {
    reply(response, error.status ?? (error.code === "ENOENT" ? 404 : 500), { error: error.message });
  }
}

const server = createServer((request, response) => {
  const parts = [];
  let size = 0;
  request.on("data", (part) => {
    size += part.length;
    if (size > MAX_BODY_BYTES) request.destroy();
    else parts.push(part);
  });
  request.on("end", () => handle(request, Buffer.concat(parts).toString(), response));
});
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
