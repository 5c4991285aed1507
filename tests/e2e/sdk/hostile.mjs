// SPDX-License-Identifier: Apache-2.0
// Extensions whose values are not what they seem, and what they try with those of others.
import assert from "node:assert/strict";
import { linkSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ScopedFileSystem, createExtensionContext } from "../../../sdk/javascript/index.js";
import { ROOT, STORAGE, WORKSPACE, refused, start, until } from "./scene.mjs";

const said = [];
const authority = await start({ log: (text) => said.push(text) });
writeFileSync(path.join(ROOT, "outside"), "secret");
linkSync(path.join(ROOT, "outside"), path.join(WORKSPACE, "second-name"));
const contextOf = (extensionId, permissions) =>
  createExtensionContext(authority, { extensionId, permissions, storageDirectory: STORAGE, workspace: { id: "w", path: WORKSPACE } });

// What is checked is what is sent.
const reader = contextOf("reader", ["filesystem:workspace:read", "filesystem:extension-storage:read"]);
const growing = Object.assign(["read"], { toJSON: () => ["read", "write", "delete"] });
await refused(reader.filesystem.workspace({ access: growing, reason: "x" }), "access_missing");
const late = ["read"];
const opening = reader.filesystem.extensionStorage({ access: late, reason: "x" });
late.push("write");
await refused((await opening).writeText("a", "x"), "access_missing");
for (const policy of [{ toJSON: () => ({ hardlinks: "allow" }) }, { get hardlinks() { return "allow"; } }])
  await refused(reader.filesystem.workspace({ access: ["read"], reason: "x", policy }), "denied_by_policy");
const files = await reader.filesystem.workspace({ access: ["read"], reason: "x" });
await refused(files.readText("second-name"), "hardlink_rejected");
await refused(files.list("", { recursive: { toJSON: () => true } }), "invalid_argument");
assert.equal(files.root.path, undefined);

// Content that shrinks or changes before it is sent is as it was.
const writer = contextOf("writer", ["filesystem:extension-storage:readwrite"]);
const victim = contextOf("victim", ["filesystem:extension-storage:readwrite"]);
const own = await writer.filesystem.extensionStorage({ access: ["read", "write"], reason: "x" });
const others = await victim.filesystem.extensionStorage({ access: ["read", "write"], reason: "x" });
const large = own.writeBytes("large", Buffer.alloc(8 << 20));
const shrinking = new Uint8Array(new ArrayBuffer(5000)).fill(7);
const writing = own.writeBytes("shrinking", shrinking);
structuredClone(shrinking.buffer, { transfer: [shrinking.buffer] });
const diary = others.writeText("diary", "mine");
await Promise.all([large, writing, diary]);
assert.deepEqual(readFileSync(path.join(STORAGE, "writer/shrinking")), Buffer.alloc(5000, 7));
assert.equal(readFileSync(path.join(STORAGE, "victim/diary"), "utf8"), "mine");

// What all scopes share cannot be changed.
assert.throws(() => { ScopedFileSystem.prototype.writeText = () => {}; }, TypeError);
assert.throws(() => { others.writeText = () => {}; }, TypeError);

// Whatever is thrown in a callback ends nothing.
const watched = await (contextOf("watcher", ["filesystem:workspace:read"])).filesystem.workspace({ access: ["watch"], reason: "x" });
for (const problem of [Symbol("x"), { get stack() { throw new Error("again"); } }, null, Object.create(null)])
  await watched.watch("", () => { throw problem; });
writeFileSync(path.join(WORKSPACE, "changed"), "x");
await until(() => said.filter((text) => text.includes("a watch threw")).length >= 4, "the reports");
assert.equal(await others.readText("diary"), "mine");
await authority.close();
console.log("ok");
