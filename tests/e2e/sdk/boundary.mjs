// SPDX-License-Identifier: Apache-2.0
// Nothing outside of the root is reached, and what is refused says so.
import assert from "node:assert/strict";
import { linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ALL, HOST, ROOM, ROOT, WORKSPACE, open, refused, start } from "./scene.mjs";

const authority = await start();
const files = await open(authority);
const place = (name) => path.join(WORKSPACE, name);
const SECRET = path.join(ROOT, "secret");
writeFileSync(SECRET, "secret");
writeFileSync(place("inside"), "inside");
mkdirSync(place("folder"));
symlinkSync("../secret", place("link-out"));
symlinkSync(SECRET, place("link-absolute"));
symlinkSync("..", place("folder-out"));
symlinkSync("inside", place("link-in"));
linkSync(SECRET, place("second-name"));

const both = (name) => [
  () => files.readText(name),
  () => files.writeText(name, "x"),
  () => files.append(name, "x"),
  () => files.copy("inside", name, { replace: true }),
  () => files.move("inside", name, { replace: true }),
];
for (const name of [
  "../secret",
  "..",
  "folder/../../secret",
  SECRET,
  "/etc/passwd",
  "./../secret",
  Buffer.from("../secret"),
])
  for (const act of [
    ...both(name),
    () => files.stat(name),
    () => files.exists(name),
    () => files.list(name),
    () => files.remove(name),
    () => files.mkdir(name),
    () => files.watch(name, () => {}),
    () => files.createArchive(name, "x.zip"),
    () => files.extractArchive("x", name),
  ])
    await refused(act(), "path_outside_root");
assert.equal(await files.readText(place("inside")), "inside"); // an absolute name of the root's own
for (const name of ["link-out", "link-absolute", "folder-out/secret"])
  for (const act of [() => files.readText(name), () => files.copy(name, "stolen")]) {
    const error = await act().then(
      () => assert.fail(name),
      (problem) => problem,
    );
    assert(["path_outside_root", "symlink_rejected"].includes(error.code), error.code);
    assert.equal(error.category, "policy");
  }
assert.equal(await files.readText("link-in"), "inside");
const strict = await open(authority, { policy: { symlinks: "reject" } });
await refused(strict.readText("link-in"), "symlink_rejected");
await refused(files.readText("second-name"), "hardlink_rejected");
await refused(files.append("second-name", "x"), "hardlink_rejected");
const looks = { access: ["read", "list", "metadata"], policy: { hardlinks: "allow" } };
assert.equal(await (await open(authority, looks)).readText("second-name"), "secret");
await refused(open(authority, { ...looks, access: ALL }), "denied_by_policy");
await refused(files.remove(""), "root_protected");
await refused(files.move(".", "elsewhere"), "root_protected");
for (const name of [".gatehouse-x", "folder/.gatehouse-123"]) {
  await assert.rejects(files.writeText(name, "x"), { category: "policy" });
  await assert.rejects(files.readText(name));
}

// Globs and sizes
const narrow = await open(authority, {
  policy: { allowedGlobs: ["**/*.md", "docs", "docs/**"], deniedGlobs: ["docs/private/**"], maxFileBytes: 10 },
});
mkdirSync(place("docs/private"), { recursive: true });
writeFileSync(place("docs/private/a.md"), "private");
await narrow.writeText("docs/a.md", "a");
await narrow.writeText("b.md", "b");
await refused(narrow.writeText("b.txt", "b"), "denied_by_policy");
await refused(narrow.readText("inside"), "denied_by_policy");
await refused(narrow.readText("docs/private/a.md"), "denied_by_policy");
await refused(narrow.copy("docs/private/a.md", "c.md"), "denied_by_policy");
assert.deepEqual((await narrow.list("docs", { recursive: true })).map((entry) => entry.name).sort(), ["a.md"]);
await refused(narrow.writeText("b.md", "x".repeat(11)), "too_large");
await refused(narrow.append("b.md", "x".repeat(10)), "too_large");

// Access
const reader = await open(authority, { access: ["read"] });
assert.equal(await reader.readText("inside"), "inside");
for (const act of [
  () => reader.writeText("inside", "x"),
  () => reader.list(),
  () => reader.stat("inside"),
  () => reader.remove("inside"),
  () => reader.move("inside", "x"),
  () => reader.watch("", () => {}),
  () => reader.createArchive("folder", "x.zip"),
  () => reader.exists("inside"),
])
  await refused(act(), "access_missing");
const error = await refused(reader.writeText("inside", "x"), "access_missing");
assert.equal(error.operation, "write");
assert.equal(error.name, "FileSystemAuthorityError");

// Roots
const elsewhere = path.join(ROOM, "elsewhere");
mkdirSync(elsewhere);
for (const place of [elsewhere, "/", ROOM, ROOT + "/../elsewhere"])
  await assert.rejects(open(authority, { root: { path: place } }), { category: "policy" });
await assert.rejects(open(authority, { root: { path: path.join(ROOT, "missing") } }), { code: "not_found" });
await refused(open(authority, { source: "manifest" }), "denied_by_policy");
await refused(
  open(authority, { root: { kind: "knowledge" }, source: "conversation", access: ["read"] }),
  "denied_by_policy",
);
await refused(open(authority, { root: { kind: "secret" }, source: "user-approval" }), "denied_by_policy");
for (const more of [
  { access: ["fly"] },
  { reason: "" },
  { reason: undefined },
  { root: { kind: "x" } },
  { root: { id: undefined } },
  { access: undefined },
  { subject: { type: "x", id: "y" } },
  { subject: undefined },
  { expiresAt: "tomorrow" },
  { policy: { symlinks: "x" } },
  { root: { path: 7 } },
])
  await refused(open(authority, more), "invalid_argument");

// What would break the protocol is refused alone.
await refused(files.readText("half \ud800"), "invalid_path");
await refused(files.writeText("inside", "half \udc00"), "invalid_utf8");
await refused(files.writeText("inside", 7), "invalid_argument");
await refused(files.writeBytes("inside", "text"), "invalid_argument");
await refused(files.readText(undefined), "invalid_argument");
await refused(files.readText({ toString: () => "inside" }), "invalid_argument");
await refused(open(authority, { reason: "half \ud800" }), "invalid_argument");
await open(authority, { reason: "an escape: \\ud800, a pair: \u{1f600}" });
await refused(files.readText("x".repeat(2 << 20)), "too_large");
await assert.rejects(files.readText("x".repeat(5000)), { category: "policy" });
await refused(files.readText("a\0b"), "invalid_path");
const deep = JSON.parse("[".repeat(1000) + "]".repeat(1000));
await assert.rejects(open(authority, { policy: { deniedGlobs: deep } }), { category: "policy" });
for (const options of [{ offset: -1 }, { offset: "x" }, { maxBytes: -5 }])
  await refused(files.readText("inside", options), "invalid_argument");
await refused(files.writeText("inside", "x", { create: "perhaps" }), "invalid_argument");
await refused(files.writeBytes("large", new Uint8Array((64 << 20) + 1)), "too_large");
const most = Buffer.alloc(64 << 20, "0123456789");
await files.writeBytes("large", most);
assert.equal(Buffer.compare(await files.readBytes("large"), most), 0);
await files.append("large", "x");
await refused(files.readBytes("large"), "too_large");
assert.equal((await files.readBytes("large", { offset: 64 << 20 })).toString(), "x");

assert.equal(readFileSync(SECRET, "utf8"), "secret");
assert.equal(readFileSync(place("inside"), "utf8"), "inside");
await files.remove("large");
await authority.close();
console.log("ok");
