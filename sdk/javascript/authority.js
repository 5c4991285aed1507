// SPDX-License-Identifier: Apache-2.0
// The host's side of `gatehouse authority`: starts it, sends requests, answers its questions. The frames are those of
// docs/authority-protocol.md. What extensions get is in index.js.
import { AsyncLocalStorage } from "node:async_hooks";
import { spawn } from "node:child_process";
import path from "node:path";

const FRAME = { ready: 0, request: 1, result: 2, error: 3, cancel: 4, question: 5, answer: 6, event: 7, change: 8 };
const LENGTH_BYTES = 4;
const HEAD_BYTES = 9; // number, type and length of the JSON, which the first length counts
const MAX_JSON_BYTES = 1 << 20; // of a request
const MAX_JSON_DEPTH = 16;
const MAX_NUMBER = 0xffffffff;
const MAX_REASON_CHARACTERS = 1000; // of a decision; the authority shows less
const END_MS = 15000; // for a process that does not end although its input has
const NAME_MEMBERS = ["nameHex", "relativePathHex", "destinationPathHex"];
const FORMATS = { ".tar.gz": "tar.gz", ".tgz": "tar.gz", ".tar.xz": "tar.xz", ".tar.zst": "tar.zst", ".zip": "zip" };
// What callers may say about an operation besides names.
const OPTIONS = {
  read: ["offset", "maxBytes"],
  write: ["create", "parents", "mode", "artifact"],
  append: ["parents"],
  list: ["recursive", "stat", "maxEntries", "maxDepth"],
  mkdir: ["parents", "mayExist"],
  move: ["replace", "parents"],
  copy: ["replace", "parents"],
  copyIn: ["replace", "parents"],
  moveIn: ["replace", "parents"],
  remove: ["recursive", "mayMiss"],
  extractArchive: ["maxEntries", "maxTotalBytes", "maxEntryBytes"],
};

/** Why something was refused (category "policy") or failed ("operational"). */
export class FileSystemAuthorityError extends Error {
  constructor(code, category, operation, message, options) {
    super(message, options);
    Object.assign(this, { name: "FileSystemAuthorityError", code, category, operation });
  }
}

const refused = (code, operation, message) => new FileSystemAuthorityError(code, "policy", operation, message);
const failed = (code, operation, message, cause) =>
  new FileSystemAuthorityError(code, "operational", operation, message, cause === undefined ? undefined : { cause });
const cancelled = (operation, signal) => failed("cancelled", operation, "the operation was cancelled", signal.reason);

const isWellFormed = (text) => (text.isWellFormed ? text.isWellFormed() : !/\p{Surrogate}/u.test(text));
// How JSON.stringify writes one: an escape, unlike all other characters above ASCII.
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/;

/** The member for a name. Bytes may be no UTF-8, so they travel in hex. */
function named(member, name, operation) {
  if (name instanceof Uint8Array) return { [member + "Hex"]: bufferOf(name).toString("hex") };
  if (typeof name !== "string") throw refused("invalid_argument", operation, `${member} must be a string or bytes`);
  if (!isWellFormed(name)) throw refused("invalid_path", operation, `${member} has half of a character`);
  return { [member]: name };
}

/** Of whatever was thrown, which may throw again. */
function described(problem, member) {
  try {
    return String(problem?.[member] ?? problem);
  } catch {
    return "something that cannot be shown";
  }
}

const bufferOf = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function contentOf(data, operation) {
  // A copy, since its owner may shrink or change it before it is sent.
  if (data instanceof Uint8Array) return Buffer.from(bufferOf(data));
  if (typeof data !== "string") throw refused("invalid_argument", operation, "the content must be a string or bytes");
  if (!isWellFormed(data)) throw refused("invalid_utf8", operation, "the text has half of a character");
  return Buffer.from(data);
}

/** Parses, and turns names in hex into bytes. */
function parse(text) {
  if (!text.includes('Hex":')) return JSON.parse(text);
  return JSON.parse(text, function (key, value) {
    if (!NAME_MEMBERS.includes(key) || typeof value !== "string") return value;
    this[key.slice(0, -"Hex".length)] = Buffer.from(value, "hex");
    return undefined;
  });
}

function frame(type, number, json, content) {
  const head = Buffer.allocUnsafe(LENGTH_BYTES + HEAD_BYTES);
  const text = Buffer.from(json);
  head.writeUInt32LE(HEAD_BYTES + text.length + (content?.length ?? 0), 0);
  head.writeUInt32LE(number, 4);
  head.writeUInt8(type, 8);
  head.writeUInt32LE(text.length, 9);
  return content?.length ? [Buffer.concat([head, text]), content] : [Buffer.concat([head, text])];
}

/** Puts frames together. Every byte is copied once, in however many pieces its frame comes. */
function frameReader(take) {
  const length = Buffer.alloc(LENGTH_BYTES);
  let into = length;
  let filled = 0;
  return (piece) => {
    for (let at = 0; at < piece.length; ) {
      const count = piece.copy(into, filled, at);
      at += count;
      filled += count;
      if (filled < into.length) return;
      filled = 0;
      if (into === length) {
        into = Buffer.allocUnsafeSlow(Math.max(length.readUInt32LE(), HEAD_BYTES));
      } else {
        const whole = into;
        into = length;
        take(whole);
      }
    }
  };
}

const abortCallbacks = new WeakMap();

/** One listener serves all requests with a signal, because Node.js warns of more than ten. Returns what takes it back. */
function onAbort(signal, callback) {
  const callbacks = abortCallbacks.get(signal) ?? new Set();
  if (!abortCallbacks.has(signal)) {
    abortCallbacks.set(signal, callbacks);
    signal.addEventListener("abort", () => callbacks.forEach((one) => one()), { once: true });
  }
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

const isWithin = (value, depth) =>
  typeof value !== "object" || value === null || (depth > 0 && Object.values(value).every((one) => isWithin(one, depth - 1)));

const subjectFor = ({ type, id, conversationId, runId, extensionId, taskId } = {}) =>
  ({ type, id: { "agent-run": conversationId, extension: extensionId, automation: taskId }[type] ?? id, runId });

function checkedHooks(policy, hooks) {
  const ids = hooks.map((hook) => hook.id);
  if (policy && typeof policy.decide !== "function") throw refused("invalid_argument", "configure", "the policy has no decide()");
  if (ids.some((id) => typeof id !== "string" || id === "") || new Set(ids).size < ids.length)
    throw refused("invalid_argument", "configure", "every hook needs an id of its own");
  return ids;
}

/** What a policy or hook said, in a form that cannot break the protocol. Nothing but a clear answer allows. */
function decisionOf(said, who, isNothingFine) {
  if (said === undefined && isNothingFine) return { type: "abstain" };
  if (!["abstain", "allow", "deny", "ask-user", "fail"].includes(said?.type))
    return { type: "fail", reason: `${who} returned no decision` };
  // Converting to bytes and back replaces halves of characters.
  const short = (text) => (text == null ? undefined : Buffer.from(String(text).slice(0, MAX_REASON_CHARACTERS)).toString());
  const ifUnasked = said.default === "allow" ? "allow" : undefined;
  return { type: said.type, reason: short(said.reason), prompt: short(said.prompt), default: ifUnasked };
}

/** One `gatehouse authority`, and the host's hold on it. */
export class Authority {
  #child;
  #options;
  #ready;
  #exited;
  #closing;
  #pending = new Map(); // requests without a result, by number
  #watches = new Map(); // their scopes and callbacks, by number
  #outgoing = new Set(); // frames that the pipe has no room for yet
  #isFull = false;
  #isCorked = false;
  #lastNumber = 0;
  #answering = new AsyncLocalStorage(); // the question that the host's code answers
  #maxContentBytes = Infinity;
  #isMemory = false;
  #end; // why it has ended, as an error without an operation

  static async start(options) {
    const { policy, hooks = [], ask, onEvent } = options;
    const ids = checkedHooks(policy, hooks);
    const authority = new Authority(options);
    try {
      const configured = authority.#request("configure", { policy: !!policy, ask: !!ask, events: !!onEvent, hooks: ids });
      await Promise.all([authority.#ready, configured]);
    } catch (error) {
      await authority.close();
      throw error;
    }
    return authority;
  }

  constructor(options) {
    const { directories = [], stateDir, command = "gatehouse", memory = false, log } = options;
    if (!Array.isArray(directories)) throw refused("invalid_argument", "start", "directories must be a list");
    const words = ["authority", ...(stateDir ? ["--state-dir", path.resolve(stateDir)] : []), ...(memory ? ["--memory"] : [])];
    this.#options = options;
    this.#child = spawn(command, [...words, ...directories.map((directory) => path.resolve(directory))], {
      stdio: ["pipe", "pipe", log ? "pipe" : "inherit"],
    });
    // First of all: an error that nobody listens for ends the host.
    this.#exited = new Promise((resolve) => {
      this.#child.on("error", (error) => {
        if (this.#child.pid !== undefined) return; // a signal could not be sent
        const advice = "install Gatehouse, or pass `command` with the path of the program";
        const code = error.code === "ENOENT" ? "not_found" : "io";
        this.#finish(code, `cannot start '${command}' (${error.code}): ${advice}`);
        resolve();
      });
      this.#child.on("close", (status, signal) => {
        const how = signal ? `was ended by ${signal}` : `ended with status ${status}`;
        this.#finish("connection_lost", `the authority ${how}; what it said is on standard error`);
        resolve();
      });
    });
    this.#ready = new Promise((resolve, reject) =>
      this.#pending.set(0, { operation: "start", resolve, reject, accept: (json) => json }));
    this.#ready.catch(() => {}); // start() looks at it later
    const { stdin, stdout, stderr } = this.#child;
    stdin?.on("drain", () => {
      this.#isFull = false;
      this.#pump();
    });
    stdin?.on("error", () => {}); // the end of the process tells more
    const read = frameReader((whole) => this.#take(whole));
    stdout?.on("data", (piece) => {
      try {
        read(piece);
      } catch (error) {
        this.#finish("connection_lost", `the authority sent a frame that makes no sense: ${error.message}`);
        this.#child.kill("SIGKILL");
      }
    });
    stderr?.setEncoding("utf8").on("data", (text) => log(text.trimEnd()));
  }

  /** The number of its process. */
  get pid() {
    return this.#child.pid;
  }

  async requestRoot({ subject, root, access, reason, source = "manifest", expiresAt, interactive, policy, signal } = {}) {
    const { path: place, ...shown } = root ?? {};
    if (typeof place !== "string") throw refused("invalid_argument", "requestRoot", "root.path must be a string");
    const until = expiresAt instanceof Date ? expiresAt.toISOString() : expiresAt;
    const members = { access, reason, source, expiresAt: until, interactive, policy };
    return await this.#open("requestRoot", { root: { ...shown, path: path.resolve(place) }, ...members }, subject, root, signal);
  }

  async createTempWorkspace({ subject, reason, signal } = {}) {
    return await this.#open("createTemp", { reason }, subject, { kind: "temp", id: "temp" }, signal);
  }

  async #open(operation, members, givenSubject, givenRoot, signal) {
    const { path: _, ...shownRoot } = givenRoot; // an extension may get the scope
    const [subject, root] = structuredClone([givenSubject, shownRoot]); // which the caller may change
    const link = {
      request: (...words) => this.#request(...words),
      watch: (id, scope, callback) => this.#watches.set(id, { scope, callback }),
      unwatch: (id) => this.#watches.delete(id) && this.#request("unwatch", { watch: id }),
      release: (scope) => {
        this.#endWatches("cancelled", (watch) => watch.scope === scope);
        return this.#request("release", { scope });
      },
      temp: (how) => this.createTempWorkspace({ subject, ...how }),
      authority: this,
    };
    return await this.#request(operation, { subject: subjectFor(subject), ...members }, {
      signal,
      accept: (json) => new ScopedFileSystem(link, json, subject, root),
      discard: ({ scope }) => link.release(scope),
    });
  }

  async grants() {
    return (await this.#request("grants")).grants;
  }

  async revoke(grant) {
    return (await this.#request("revoke", { grant })).revoked;
  }

  /** Arguments of `gatehouse sandbox run` that show a command no more than the grants do. */
  async sandboxArguments(grants) {
    const places = new Map();
    if (this.#isMemory) throw refused("unsupported", "grants", "an authority in memory has no directories for commands");
    for (const { kind, path: place, access } of grants ?? (await this.grants())) {
      const may = (...all) => all.every((one) => access.includes(one));
      if (kind === "temp" || kind === "secret" || !may("read", "list")) continue;
      if (place.includes(",")) throw refused("invalid_path", "grants", `a sandbox cannot get '${place}', which has a comma`);
      if (kind !== "artifact" && may("write", "delete")) places.set(place, "--rw");
      else if (!places.has(place)) places.set(place, "--ro");
    }
    return [...places].flatMap(([place, option]) => [option, place]);
  }

  /** Ends the process, and what waits for it. */
  close() {
    this.#closing ??= (async () => {
      this.#finish("cancelled", "the authority was closed");
      this.#child.stdin?.end();
      const timer = setTimeout(() => this.#child.kill("SIGKILL"), END_MS);
      await this.#exited;
      clearTimeout(timer);
    })();
    return this.#closing;
  }

  // ---- requests ----

  async #request(...words) {
    try {
      return await this.#begin(...words);
    } catch (error) {
      Error.captureStackTrace?.(error); // of the caller, not of the pipe
      throw error;
    }
  }

  #begin(operation, members = {}, { content, signal, accept = (json) => json, discard } = {}) {
    return new Promise((resolve, reject) => {
      if (this.#end) throw failed(this.#end.code, operation, this.#end.message);
      if (signal?.aborted) throw cancelled(operation, signal);
      do this.#lastNumber = (this.#lastNumber % MAX_NUMBER) + 1;
      while (this.#pending.has(this.#lastNumber));
      const number = this.#lastNumber;
      const answers = this.#answering.getStore(); // what is asked to answer a question comes first
      const sent = this.#checkedFrame(operation, number, { op: operation, answers, ...members }, content);
      const pending = { operation, resolve, reject, accept, discard };
      if (signal) {
        pending.forget = onAbort(signal, () => {
          reject(cancelled(operation, signal));
          // The number stays taken until the result of what was sent is there.
          if (this.#outgoing.delete(sent)) this.#pending.delete(number);
          else this.#send(frame(FRAME.cancel, number, "{}"));
          pending.isAbandoned = true;
        });
      }
      this.#pending.set(number, pending);
      this.#send(sent);
    });
  }

  /** A frame that breaks a rule of the protocol would end the process, for everybody. */
  #checkedFrame(operation, number, members, content) {
    const largest = this.#maxContentBytes;
    let json;
    if (!isWithin(members, MAX_JSON_DEPTH)) throw refused("invalid_argument", operation, "the arguments are nested too deeply");
    try {
      json = JSON.stringify(members);
    } catch (error) {
      throw refused("invalid_argument", operation, `these arguments have no JSON: ${error.message}`);
    }
    if (LONE_SURROGATE.test(json)) throw refused("invalid_argument", operation, "a text has half of a character");
    if (Buffer.byteLength(json) > MAX_JSON_BYTES) throw refused("too_large", operation, "the arguments take more than 1 MiB");
    if (content?.length > largest) throw refused("too_large", operation, `the content takes more than ${largest} bytes`);
    return frame(FRAME.request, number, json, content);
  }

  #send(sent) {
    this.#outgoing.add(sent);
    this.#pump();
  }

  #pump() {
    const { stdin } = this.#child;
    if (this.#outgoing.size > 0 && !this.#isCorked) {
      stdin?.cork(); // one write for all frames of this turn
      process.nextTick(() => {
        this.#isCorked = false;
        stdin?.uncork();
      });
      this.#isCorked = true;
    }
    for (const pieces of this.#outgoing) {
      if (this.#isFull) return;
      this.#outgoing.delete(pieces);
      for (const piece of pieces) this.#isFull = !stdin?.write(piece);
    }
  }

  // ---- frames from the authority ----

  #take(whole) {
    const number = whole.readUInt32LE(0);
    const type = whole.readUInt8(4);
    const jsonEnd = HEAD_BYTES + whole.readUInt32LE(5);
    if (jsonEnd > whole.length) throw new Error("its JSON is longer than itself");
    const text = whole.toString("utf8", HEAD_BYTES, jsonEnd);
    if (this.#end) return; // closed meanwhile
    switch (type) {
      case FRAME.ready: {
        const about = JSON.parse(text);
        this.#maxContentBytes = about.maxContentBytes ?? Infinity;
        this.#isMemory = about.memory === true;
        return this.#settle(0, (pending) => pending.resolve(about));
      }
      case FRAME.result: {
        const json = parse(text);
        return this.#settle(number, ({ resolve, reject, accept, discard, isAbandoned }) => {
          if (isAbandoned) return discard?.(json)?.catch(() => {});
          try {
            resolve(accept(json, whole.subarray(jsonEnd)));
          } catch (error) {
            reject(error);
          }
        });
      }
      case FRAME.error: {
        const { code, category, operation, message } = JSON.parse(text);
        return this.#settle(number, ({ reject, operation: asked }) =>
          reject(new FileSystemAuthorityError(code, category, operation ?? asked, message)));
      }
      case FRAME.question:
        this.#answer(number, parse(text));
        return;
      case FRAME.event:
        this.#tell("onEvent", this.#options.onEvent, JSON.parse(text));
        return;
      case FRAME.change: {
        const { ended, code, ...change } = parse(text);
        if (ended) return this.#endWatches(code, (watch) => watch === this.#watches.get(number));
        const watch = this.#watches.get(number);
        if (watch) this.#tell("a watch", watch.callback, change);
      }
    }
  }

  #settle(number, how) {
    const pending = this.#pending.get(number);
    this.#pending.delete(number);
    pending?.forget?.();
    if (pending) how(pending);
  }

  async #answer(number, { kind, context, hook: id, prompt, outcome, error }) {
    const { policy, hooks = [], ask } = this.#options;
    const hook = hooks.find((one) => one.id === id);
    let answer;
    if (kind === "after") return this.#tell(`the hook ${id}`, (about) => hook?.after?.(about), { ...context, outcome, error });
    try {
      answer = await this.#answering.run(number, async () => {
        if (kind === "policy") return decisionOf(await policy.decide(context), "the policy", false);
        if (kind === "before") return decisionOf(await hook.before?.(context), `the hook ${id}`, true);
        return { allow: (await ask(context, prompt)) === true };
      });
    } catch (problem) {
      const reason = described(problem, "message");
      this.#log(`${hook ? `the hook ${id}` : kind} threw: ${described(problem, "stack")}`);
      answer = kind === "ask" ? { allow: false } : decisionOf({ type: "fail", reason });
    }
    if (!this.#end) this.#send(frame(FRAME.answer, number, JSON.stringify(answer)));
  }

  /** Calls code of the host whose failure must not become ours. */
  async #tell(what, callback, about) {
    try {
      await callback(about);
    } catch (problem) {
      this.#log(`${what} threw: ${described(problem, "stack")}`);
    }
  }

  #log(text) {
    if (this.#options.log) this.#options.log(text);
    else process.stderr.write(`gatehouse: ${text}\n`);
  }

  #finish(code, message) {
    if (this.#end) return;
    this.#end = { code, message };
    this.#outgoing.clear();
    for (const [number, { operation, reject }] of [...this.#pending])
      this.#settle(number, () => reject(failed(code, operation, message)));
    this.#endWatches(code, () => true);
  }

  #endWatches(code, isMeant) {
    for (const [id, watch] of this.#watches) {
      if (!isMeant(watch)) continue;
      this.#watches.delete(id);
      this.#tell("a watch", watch.callback, { change: "ended", code });
    }
  }
}

/** Lets the context of an extension check before a scope makes temporary workspaces. Not for hosts. */
export let guardTemp;

/** One root, for one subject, as long as its grant lasts. */
export class ScopedFileSystem {
  #link;
  #scope;
  #mayMakeTemp = () => {};
  #closing;

  static {
    guardTemp = (scope, check) => {
      scope.#mayMakeTemp = check;
      return scope;
    };
  }

  constructor(link, { scope, grant }, subject, root) {
    this.#link = link;
    this.#scope = scope;
    this.grantId = grant;
    this.subject = Object.freeze(subject);
    this.root = Object.freeze(root);
    Object.freeze(this);
  }

  /** `names` are names of files, `options` what the caller gave; of these, the operation's own are sent. */
  async #call(operation, names, options, { more, ...how } = {}) {
    const members = { scope: this.#scope, ...more };
    if (this.#closing) throw refused("grant_revoked", operation, "this scope was closed");
    for (const [member, name] of Object.entries(names)) Object.assign(members, named(member, name, operation));
    for (const member of OPTIONS[operation] ?? []) {
      const value = options?.[member];
      if (Object(value) === value) throw refused("invalid_argument", operation, `${member} must be a plain value`);
      members[member] = value;
    }
    return await this.#link.request(operation, members, { signal: options?.signal, ...how });
  }

  async #read(as, name, options, accept) {
    return await this.#call("read", { name }, options, { more: { as }, accept: (_, content) => accept(content) });
  }

  async readBytes(name, options) { return await this.#read("bytes", name, options, (content) => content); }
  async readText(name, options) { return await this.#read("text", name, options, (content) => content.toString()); }

  async readJson(name, options) {
    return await this.#read("text", name, options, (content) => {
      try {
        return JSON.parse(content.toString());
      } catch (error) {
        throw refused("invalid_json", "read", `not valid JSON: ${error.message}`);
      }
    });
  }

  async writeBytes(name, bytes, options) {
    if (typeof bytes === "string") throw refused("invalid_argument", "write", "give bytes, or use writeText");
    await this.#call("write", { name }, options, { more: { as: "bytes" }, content: contentOf(bytes, "write") });
  }

  async writeText(name, text, options) {
    await this.#call("write", { name }, options, { more: { as: "text" }, content: contentOf(text, "write") });
  }

  async writeJson(name, value, options) {
    const text = JSON.stringify(value, null, options?.indent ?? 2);
    if (text === undefined) throw refused("invalid_argument", "write", "this value has no JSON");
    await this.writeText(name, text + "\n", options);
  }


  async append(name, data, options) {
    await this.#call("append", { name }, options, { content: contentOf(data, "append") });
  }

  async list(name, options) { return (await this.#call("list", name === undefined ? {} : { name }, options)).entries; }
  async stat(name, options) { return await this.#call("stat", { name }, options); }
  async exists(name, options) { return (await this.#call("exists", { name }, options)).exists; }
  async mkdir(name, options) { await this.#call("mkdir", { name }, options); }
  async move(from, to, options) { await this.#call("move", { from, to }, options); }
  async copy(from, to, options) { await this.#call("copy", { from, to }, options); }

  #idOf(source, operation) {
    if (#scope in Object(source) && source.#link.authority === this.#link.authority) return source.#scope;
    throw refused("invalid_argument", operation, "the source must be a scope of the same authority");
  }

  async copyIn(to, source, from, options) {
    await this.#call("copyIn", { to, from }, options, { more: { source: this.#idOf(source, "copyIn") } });
  }

  async moveIn(to, source, from, options) {
    await this.#call("moveIn", { to, from }, options, { more: { source: this.#idOf(source, "moveIn") } });
  }

  async remove(name, options) { await this.#call("remove", { name }, options); }

  async extractArchive(archive, destination, options) {
    return await this.#call("extractArchive", { archive, destination }, options);
  }

  async createArchive(source, archive, options) {
    const name = archive instanceof Uint8Array ? bufferOf(archive).toString() : String(archive);
    const endings = Object.keys(FORMATS);
    const format = options?.format ?? FORMATS[endings.find((one) => name.endsWith(one))];
    if (!format) throw refused("invalid_argument", "createArchive", `give a format, or a name with ${endings.join(", ")}`);
    return await this.#call("createArchive", { source, archive }, options, { more: { format } });
  }

  async createTempWorkspace({ reason = "temporary files", signal } = {}) {
    if (this.#closing) throw refused("grant_revoked", "createTemp", "this scope was closed");
    this.#mayMakeTemp();
    return guardTemp(await this.#link.temp({ reason, signal }), this.#mayMakeTemp);
  }

  async watch(name, callback, options) {
    const signal = options?.signal;
    return await this.#call("watch", { name: name ?? "" }, options, {
      // At once, because the first change may be in the next frame.
      accept: ({ watch: id }) => {
        const close = async () => {
          forget?.();
          await Promise.resolve(this.#link.unwatch(id)).catch(() => {}); // what has ended by itself is closed, too
        };
        this.#link.watch(id, this.#scope, callback);
        const forget = signal && onAbort(signal, close);
        return { close };
      },
      discard: ({ watch: id }) => this.#link.request("unwatch", { watch: id }),
    });
  }

  /** Gives the grant back. What runs goes on. */
  close() {
    this.#closing ??= this.#link.release(this.#scope).then(() => {}, (error) => {
      if (error.category !== "operational") throw error; // a process that has ended holds no grant
    });
    return this.#closing;
  }
}

// One who has a scope must not change what those of others do.
for (const shared of [Authority, ScopedFileSystem, FileSystemAuthorityError]) {
  Object.freeze(shared);
  Object.freeze(shared.prototype);
}
