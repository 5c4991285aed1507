// SPDX-License-Identifier: Apache-2.0
// What an extension gets: its own files, and no more than its manifest says.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createExtensionContext } from "../../../sdk/javascript/index.js";
import { ROOT, STORAGE, WORKSPACE, open, refused, start, until } from "./scene.mjs";

const authority = await start();
const workspace = { id: "project", path: WORKSPACE, displayName: "Project" };
const context = (extensionId, permissions, more) =>
  createExtensionContext(authority, { extensionId, permissions, workspace, storageDirectory: STORAGE, ...more });
const OWN = "filesystem:extension-storage:readwrite";
const READ = ["read", "list", "metadata"];
writeFileSync(path.join(WORKSPACE, "a"), "in the workspace");

// Storage, each its own
const [one, two] = [context("one", [OWN]), context("two", [OWN])];
const [first, second] = await Promise.all(
  [one, two].map((own) => own.filesystem.extensionStorage({ access: [...READ, "write"], reason: "settings" })),
);
await first.writeText("settings", "of one");
assert.equal(readFileSync(path.join(STORAGE, "one/settings"), "utf8"), "of one");
assert.equal(statSync(path.join(STORAGE, "one")).mode & 0o777, 0o700);
assert.deepEqual(
  [first.root.kind, first.root.id, first.subject],
  ["extension-storage", "one", { type: "extension", extensionId: "one" }],
);
await refused(second.readText("settings"), "not_found", "operational");
await refused(second.readText("../one/settings"), "path_outside_root");
await refused(second.readText(path.join(STORAGE, "one/settings")), "path_outside_root");
await refused(first.remove("settings"), "access_missing"); // which it did not ask for
assert.equal(
  await one.filesystem
    .extensionStorage({ access: ["read"], reason: "again" })
    .then((again) => again.readText("settings")),
  "of one",
);
await refused(
  open(authority, {
    subject: { type: "extension", extensionId: "two" },
    root: { kind: "extension-storage", id: "one", path: path.join(STORAGE, "one") },
    access: ["read"],
  }),
  "denied_by_policy",
);

// The manifest
const message = async (promise) => (await refused(promise, "access_missing")).message;
const reader = context("reader", ["filesystem:workspace:read"], { source: "conversation" });
const looks = await reader.filesystem.workspace({ access: ["read", "list", "metadata", "watch"], reason: "look" });
assert.equal(await looks.readText("a"), "in the workspace");
for (const access of ["write", "delete", "move", "archive"])
  assert.match(
    await message(reader.filesystem.workspace({ access: ["read", access], reason: "change" })),
    /filesystem:workspace:write/,
  );
assert.match(
  await message(reader.filesystem.extensionStorage({ access: ["read"], reason: "x" })),
  /filesystem:extension-storage:read$/,
);
assert.equal(existsSync(path.join(STORAGE, "reader")), false);
assert.match(
  await message(context("w", ["filesystem:workspace:write"]).filesystem.workspace({ access: ["list"], reason: "x" })),
  /filesystem:workspace:read$/,
);
assert.match(await message(reader.filesystem.temp({ reason: "x" })), /filesystem:temp:read$/);
assert.match(await message(looks.createTempWorkspace()), /filesystem:temp:read$/);
assert.match(await message(reader.workspace.createTempWorkspace()), /filesystem:temp:read$/);
for (const wrong of [
  "",
  "filesystem",
  "filesystem:workspace",
  "filesystem:workspace:",
  "filesystem:workspace:delete",
  "filesystem:moon:read",
  "files:workspace:read",
  " filesystem:workspace:read",
  "filesystem:workspace:read\n",
  "filesystem:workspace:read:x",
  "filesystem:*:read",
  7,
  null,
])
  assert.throws(() => context("x", [wrong]), { code: "invalid_argument", category: "policy" });
for (const wrong of ["", ".", "..", "a/b", "../one", "-a", "a\n", "a b", "ä", "x".repeat(129), undefined])
  assert.throws(() => context(wrong, [OWN]), { code: "invalid_argument" });
context("a" + ".".repeat(127), []);
assert.throws(() => context("x", [], { source: "core" }), { code: "invalid_argument" });
for (const access of [[], undefined, ["fly"], "read"])
  await refused(reader.filesystem.workspace({ access, reason: "x" }), "invalid_argument");

// Whose agreement it needs
const WRITES = ["filesystem:workspace:readwrite", "filesystem:temp:readwrite"];
const change = { access: ["read", "write"], reason: "change" };
await refused(context("alone", WRITES).filesystem.workspace(change), "denied_by_policy");
await refused(
  context("alone", WRITES).filesystem.workspace({ ...change, source: "core", subject: { type: "core", id: "host" } }),
  "denied_by_policy",
);
const trusted = context("trusted", WRITES, { source: "user-approval" });
const forged = await trusted.filesystem.workspace({
  ...change,
  subject: { type: "core", id: "host" },
  source: "core",
  root: { path: ROOT },
});
await forged.writeText("b", "written");
assert.deepEqual([forged.subject, forged.root.path], [{ type: "extension", extensionId: "trusted" }, undefined]);
const grant = (await authority.grants()).find((each) => each.grant === forged.grantId);
assert.deepEqual([grant.subject, grant.source, grant.path], [{ type: "extension", id: "trusted" }, "user-approval", WORKSPACE]);
await refused(
  trusted.filesystem.workspace({ access: ["read"], reason: "x", policy: { hardlinks: "allow" } }),
  "denied_by_policy",
);
const narrow = await trusted.filesystem.workspace({ access: ["read"], reason: "x", policy: { deniedGlobs: ["b"] } });
await refused(narrow.readText("b"), "denied_by_policy");

// Roots that the host offers
const downloads = { kind: "downloads", id: "d", path: path.join(ROOT, "downloads") };
mkdirSync(downloads.path);
writeFileSync(path.join(downloads.path, "got"), "a download");
const more = context("more", ["filesystem:downloads:read", OWN], { roots: [downloads] });
const got = await more.filesystem.requestRoot({ root: { kind: "downloads", id: "d" }, access: ["read"], reason: "x" });
assert.equal(await got.readText("got"), "a download");
assert.equal(
  (
    await more.filesystem.requestRoot({
      root: { kind: "extension-storage", id: "more" },
      access: ["read"],
      reason: "x",
    })
  ).root.id,
  "more",
);
for (const root of [
  { kind: "downloads", id: "e" },
  { kind: "downloads", id: "e", path: ROOT },
  { kind: "extension-storage", id: "one" },
  { kind: "extension-storage", id: "one", path: path.join(STORAGE, "one") },
  undefined,
])
  await refused(more.filesystem.requestRoot({ root, access: ["read"], reason: "x" }), "denied_by_policy");
await refused(
  more.filesystem.requestRoot({ root: { kind: "workspace", id: "project" }, access: ["read"], reason: "x" }),
  "access_missing",
);

// The workspace without ceremony
const changes = [];
const easy = trusted.workspace;
await easy.writeText("easy/c", "c", { parents: true });
assert.deepEqual(
  [await easy.readText("easy/c"), (await easy.list("easy"))[0].name, await easy.exists("easy/d")],
  ["c", "c", false],
);
const watch = await easy.watch("easy", (one) => changes.push(one));
await easy.move("easy/c", "easy/d");
await until(() => changes.some((one) => one.name === "d"), "the change");
await watch.close();
await easy.remove("easy", { recursive: true });
assert.match(await message(reader.workspace.writeText("x", "x")), /filesystem:workspace:write$/);
assert.equal(await reader.workspace.readText("a"), "in the workspace");
await refused(context("alone", WRITES).workspace.writeText("x", "x"), "denied_by_policy");
const before = (await authority.grants()).length;
await easy.close();
assert.equal((await authority.grants()).length, before - 2);
assert.equal(await easy.readText("a"), "in the workspace");
for (const [act, options] of [
  ["workspace", { workspace: undefined }],
  ["extensionStorage", { storageDirectory: undefined }],
])
  await refused(
    context("bare", [OWN, ...WRITES], options).filesystem[act]({ access: ["read"], reason: "x" }),
    "denied_by_policy",
  );
const temp = await trusted.filesystem.temp({ reason: "x" });
await temp.writeText("t", "t");
await easy.copyIn("from-temp", temp, "t");
await easy.createTempWorkspace();
await authority.close();
console.log("ok");
