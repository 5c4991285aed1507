// SPDX-License-Identifier: Apache-2.0
// What a host needs: the authority (authority.js), and the part of a context that gives an extension its files.
import path from "node:path";
import { Authority, FileSystemAuthorityError, ScopedFileSystem, guardTemp } from "./authority.js";

export { Authority, FileSystemAuthorityError, ScopedFileSystem };

const EXTENSION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const KINDS = ["workspace", "extension-storage", "artifact", "temp", "knowledge", "downloads", "secret"];
const COVERS = { read: ["read", "list", "metadata", "watch"], write: ["write", "delete", "move", "archive"] };
const SOURCES = ["manifest", "conversation", "user-approval"];
const READING = ["readBytes", "readText", "readJson", "list", "stat", "exists", "watch"];
const CHANGING = ["writeBytes", "writeText", "writeJson", "append", "mkdir", "move", "copy", "copyIn", "moveIn", "remove",
  "extractArchive", "createArchive"];

const refused = (code, message) => new FileSystemAuthorityError(code, "policy", "requestRoot", message);

/** The intents of a manifest: a set like {"workspace:read"}. */
function intentsOf(permissions) {
  const intents = new Set();
  for (const permission of permissions) {
    const [, kind, intent] = /^filesystem:([a-z-]+):(read|write|readwrite)$/.exec(permission) ?? [];
    if (!KINDS.includes(kind)) throw refused("invalid_argument", `'${permission}' is not filesystem:KIND:INTENT`);
    for (const one of intent === "readwrite" ? ["read", "write"] : [intent]) intents.add(`${kind}:${one}`);
  }
  return intents;
}

/** Copied, so that what is checked is what is sent: the extension's objects may say something else each time. */
function plainRequest({ access, reason, expiresAt, interactive, policy, signal }) {
  let text;
  try {
    text = JSON.stringify({ access, reason, expiresAt, interactive, policy });
  } catch (error) {
    throw refused("invalid_argument", `this request has no JSON: ${error.message}`);
  }
  return { ...JSON.parse(text), signal };
}

/** What an extension gets as its `filesystem` and `workspace`. The extension is always the subject. */
export function createExtensionContext(authority, options) {
  const { extensionId, permissions, workspace, storageDirectory, roots = [], source = "manifest" } = options;
  if (typeof extensionId !== "string" || !EXTENSION_ID.test(extensionId))
    throw refused("invalid_argument", `'${extensionId}' is no id of an extension`);
  if (!SOURCES.includes(source)) throw refused("invalid_argument", `an extension has no source '${source}'`);
  const intents = intentsOf(permissions);
  const subject = { type: "extension", extensionId };

  function need(kind, intent) {
    if (!intents.has(`${kind}:${intent}`))
      throw refused("access_missing", `the manifest of ${extensionId} lacks the permission filesystem:${kind}:${intent}`);
  }

  /** What the manifest allows at most. */
  const allOf = (kind) => Object.keys(COVERS).flatMap((intent) => (intents.has(`${kind}:${intent}`) ? COVERS[intent] : []));

  async function open(root, wanted = {}) {
    const { access, reason, expiresAt, interactive, policy, signal } = plainRequest(wanted);
    if (!Array.isArray(access) || access.length === 0) throw refused("invalid_argument", "access must be a list that is not empty");
    for (const one of access) {
      const intent = Object.keys(COVERS).find((name) => COVERS[name].includes(one));
      if (!intent) throw refused("invalid_argument", `unknown access '${one}'`);
      need(root.kind, intent);
    }
    // A second name may belong to a file elsewhere, so reading it is for the host to allow.
    if (policy?.hardlinks === "allow") throw refused("denied_by_policy", "an extension cannot allow itself hard links");
    // Only now, so that a refused extension gets no directory.
    const found = root.kind === "extension-storage" ? await storage() : root;
    const request = { subject, root: found, access, reason, source, expiresAt, interactive, policy, signal };
    return guardTemp(await authority.requestRoot(request), mayMakeTemp);
  }

  function mayMakeTemp() {
    need("temp", "read");
    need("temp", "write");
  }

  let storageRoot;
  function storage() {
    if (storageDirectory === undefined) throw refused("denied_by_policy", "the host gives extensions no storage");
    storageRoot ??= makeStorage().catch((error) => {
      storageRoot = undefined; // the next time it may work
      throw error;
    });
    return storageRoot;
  }

  async function makeStorage() {
    const parent = await authority.requestRoot({
      subject: { type: "core", id: "extension-storage" },
      // Of this kind, because directories that are made in it are private.
      root: { kind: "temp", id: "extension-storage", path: storageDirectory },
      access: ["write"],
      reason: `storage of the extension ${extensionId}`,
      source: "core",
    });
    try {
      await parent.mkdir(extensionId, { mayExist: true });
    } finally {
      await parent.close();
    }
    return { kind: "extension-storage", id: extensionId, path: path.join(storageDirectory, extensionId) };
  }

  function workspaceRoot() {
    if (workspace === undefined) throw refused("denied_by_policy", "the host gives this extension no workspace");
    return { ...workspace, kind: "workspace" };
  }

  const filesystem = Object.freeze({
    workspace: async (wanted) => open(workspaceRoot(), wanted),
    extensionStorage: async (wanted) => open({ kind: "extension-storage" }, wanted),
    temp: async ({ reason, signal } = {}) => {
      mayMakeTemp();
      return guardTemp(await authority.createTempWorkspace({ subject, reason, signal }), mayMakeTemp);
    },
    // An extension names a root, and the host says where it is: a path would let it name the files of another one.
    requestRoot: async ({ root, ...wanted } = {}) => {
      const offered = [...(workspace ? [workspaceRoot()] : []), { kind: "extension-storage", id: extensionId }, ...roots];
      const found = offered.find(({ kind, id }) => kind === root?.kind && id === root?.id);
      if (!found) throw refused("denied_by_policy", `the host offers no root '${root?.id}' of the kind '${root?.kind}'`);
      return open(found, wanted);
    },
  });

  // One scope for reading and one for changes, each opened when it is needed first.
  const scopes = {};
  function opened(intent) {
    need("workspace", intent);
    const access = intent === "read" ? COVERS.read : allOf("workspace");
    scopes[intent] ??= filesystem.workspace({ access, reason: `${intent} of the extension ${extensionId}` }).catch((error) => {
      delete scopes[intent]; // nothing was granted, so it may ask again
      throw error;
    });
    return scopes[intent];
  }
  const wrapped = (intent) => (name) => [name, async (...words) => (await opened(intent))[name](...words)];
  const operations = [...READING.map(wrapped("read")), ...CHANGING.map(wrapped("write"))];

  return Object.freeze({
    filesystem,
    workspace: Object.freeze({
      ...Object.fromEntries(operations),
      createTempWorkspace: async ({ reason = "temporary files", signal } = {}) => filesystem.temp({ reason, signal }),
      close: async () => {
        const open = Object.values(scopes);
        for (const intent of Object.keys(scopes)) delete scopes[intent];
        for (const scope of await Promise.allSettled(open)) await scope.value?.close();
      },
    }),
  });
}
