// SPDX-License-Identifier: Apache-2.0
// Every operation, with contents and names of all sorts.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { HOST, ROOT, RUN, WORKSPACE, open, refused, start } from "./scene.mjs";

const authority = await start();
const files = await open(authority, {
  subject: RUN,
  root: { displayName: "Project", labels: { team: "a", nameHex: "b" } },
});
const place = (name) => path.join(WORKSPACE, name);
assert.deepEqual(files.subject, RUN);
assert.deepEqual([files.root.kind, files.root.id, files.root.displayName], ["workspace", "project", "Project"]);
assert(Number.isSafeInteger(files.grantId));
assert.throws(() => {
  files.grantId = 7;
}, TypeError);

// Contents
for (const length of [0, 1, 13, 65535, 65536, 5 << 20]) {
  const bytes = randomBytes(length);
  await files.writeBytes("content", new Uint8Array(bytes));
  assert.equal(Buffer.compare(readFileSync(place("content")), bytes), 0);
  assert.equal(Buffer.compare(await files.readBytes("content"), bytes), 0);
}
const part = new Uint8Array([0, 1, 2, 255, 254, 5]).subarray(2, 5); // a view into something larger
await files.writeBytes("view", part);
assert.deepEqual([...(await files.readBytes("view"))], [2, 255, 254]);
assert.deepEqual([...(await files.readBytes("view", { offset: 1, maxBytes: 1 }))], [255]);
const text = "Grüße, 世界 \u{1f600}\0\r\n\ufeff";
await files.writeText("text", text);
assert.equal(await files.readText("text"), text);
assert.equal(readFileSync(place("text"), "utf8"), text);
await refused(files.readText("view"), "invalid_utf8");
await files.writeJson("data.json", { a: [1, "ü", null], __proto__: { b: 1 } });
assert.deepEqual(await files.readJson("data.json"), { a: [1, "ü", null] });
assert.equal(await files.readText("data.json"), '{\n  "a": [\n    1,\n    "ü",\n    null\n  ]\n}\n');
await files.writeJson("data.json", { a: 1 }, { indent: 0 });
assert.equal(await files.readText("data.json"), '{"a":1}\n');
await refused(files.readJson("text"), "invalid_json");
await refused(files.writeJson("data.json", undefined), "invalid_argument");
await files.append("log", "one\n");
await files.append("log", Buffer.from("two\n"));
assert.equal(await files.readText("log"), "one\ntwo\n");

// How a file is written
await refused(files.writeText("log", "", { create: "new" }), "already_exists", "operational");
await refused(files.writeText("none", "", { create: "replace" }), "not_found", "operational");
await refused(files.writeText("a/b/c", ""), "not_found", "operational");
await files.writeText("a/b/c", "deep", { parents: true, create: "new", mode: 0o600 });
assert.equal(statSync(place("a/b/c")).mode & 0o777, 0o600);
await files.append("a/d/e", "deep", { parents: true });

// Looking
const about = await files.stat("a/b/c");
assert.deepEqual([about.type, about.size, about.mode & 0o777, about.links], ["file", 4, 0o600, 1]);
assert(Math.abs(new Date(about.modifiedAt) - statSync(place("a/b/c")).mtime) < 1000);
assert.equal((await files.stat("a")).type, "directory");
assert.deepEqual([await files.exists("a/b/c"), await files.exists("a/b/x")], [true, false]);
const names = async (...words) => (await files.list(...words)).map((entry) => entry.name).sort();
assert.deepEqual(await names(), readdirSync(WORKSPACE).sort());
assert.deepEqual(await names("a"), ["b", "d"]);
assert.deepEqual(await names("a", { recursive: true }), ["b", "b/c", "d", "d/e"]);
assert.deepEqual(await names("a", { recursive: true, maxDepth: 1 }), ["b", "d"]);
assert.deepEqual((await files.list("a/b", { stat: true }))[0], { name: "c", ...about });
await refused(files.list("a", { recursive: true, maxEntries: 3 }), "too_large");
assert.equal((await files.list("a", { maxEntries: 2 })).length, 2);

// Directories, moves, copies
await files.mkdir("new");
await refused(files.mkdir("new"), "already_exists", "operational");
await files.mkdir("new", { mayExist: true });
await refused(files.mkdir("x/y"), "not_found", "operational");
await files.mkdir("x/y", { parents: true });
await files.copy("a/b/c", "new/c");
await refused(files.copy("log", "new/c"), "already_exists", "operational");
await files.copy("log", "new/c", { replace: true });
assert.equal(await files.readText("new/c"), "one\ntwo\n");
await refused(files.copy("a", "x/a"), "not_regular_file");
await files.writeText("whole/b/c", "deep", { parents: true });
await files.move("whole", "x/z/whole", { parents: true });
await refused(files.move("x/z/whole", "a"), "already_exists", "operational");
await files.move("x/z/whole", "moved");
assert.deepEqual([await files.exists("x/z/whole"), await files.readText("moved/b/c")], [false, "deep"]);
await refused(files.remove("moved"), "not_empty", "operational");
await files.remove("moved", { recursive: true });
await refused(files.remove("moved"), "not_found", "operational");
await files.remove("moved", { mayMiss: true });

// Other scopes
const other = await open(authority, {
  root: { kind: "downloads", id: "downloads", path: ROOT },
  access: ["read", "write", "list"],
});
writeFileSync(path.join(ROOT, "got"), "from outside");
await files.copyIn("in/got", other, "got", { parents: true });
assert.equal(await files.readText("in/got"), "from outside");
await refused(files.moveIn("in/got2", other, "got"), "access_missing");
const temp = await files.createTempWorkspace();
assert.deepEqual([temp.subject, temp.root.kind], [RUN, "temp"]);
await temp.writeText("draft", "a draft");
await files.moveIn("in/draft", temp, "draft");
assert.deepEqual([await files.readText("in/draft"), await temp.exists("draft")], ["a draft", false]);
await temp.writeText("tree/b", "in a tree", { parents: true });
await files.moveIn("in/tree", temp, "tree");
assert.deepEqual([await files.readText("in/tree/b"), await temp.exists("tree")], ["in a tree", false]);
const foreign = await start();
await refused(files.copyIn("in/x", await open(foreign), "log"), "invalid_argument");
await refused(files.copyIn("in/x", undefined, "log"), "invalid_argument");
await refused(files.copyIn("in/x", { root: other.root }, "log"), "invalid_argument");
await foreign.close();

// Archives
for (const ending of ["tar.gz", "tgz", "tar.xz", "tar.zst", "zip"]) {
  const made = await files.createArchive("a", `packed.${ending}`);
  const unpacked = await files.extractArchive(`packed.${ending}`, `unpacked-${ending}`);
  assert.deepEqual([made.files, unpacked.files, unpacked.bytes], [2, 2, 8]);
  assert.equal(
    (await names(`unpacked-${ending}`, { recursive: true })).some((name) => name.endsWith("b/c")),
    true,
  );
}
await files.createArchive("a", "packed", { format: "zip" });
await refused(files.createArchive("a", "packed.rar"), "invalid_argument");
await refused(files.extractArchive("packed", "small", { maxTotalBytes: 5 }), "archive_limit_bytes");
await refused(files.extractArchive("packed", "small", { maxEntries: 1 }), "archive_limit_entries");
assert.equal(await files.exists("small"), false);

// Names
const odd = Buffer.from([0x6f, 0x64, 0x64, 0xff, 0xfe]);
for (const name of ["ä ö", "世界/\u{1f600}", 'new\nline\t\\"', "-rf", " ", "x".repeat(255), "name%2f..", odd]) {
  await files.writeText(name, "here", { parents: true });
  assert.equal(await files.readText(name), "here");
}
assert.equal(readFileSync(Buffer.concat([Buffer.from(WORKSPACE + "/"), odd]), "utf8"), "here");
const found = (await files.list()).filter((entry) => entry.name instanceof Uint8Array);
assert(found.some((entry) => Buffer.compare(entry.name, odd) === 0));
await files.move(odd, Buffer.from("plain"));
assert.equal(await files.readText("plain"), "here");
await files.copy("plain", odd);
await files.remove(odd);
assert.equal(await files.readText(Buffer.from("世界/\u{1f600}")), "here");

// Artifacts change in one way only
const artifact = await open(authority, { root: { kind: "artifact", id: "report", path: ROOT } });
await refused(artifact.writeText("page", "x"), "denied_by_policy");
await artifact.writeText("page", "x", { artifact: true });
await refused(artifact.remove("page"), "denied_by_policy");

// After its end
await temp.close();
await temp.close();
assert.match((await refused(temp.readText("draft"), "grant_revoked")).message, /closed/);
await refused(temp.createTempWorkspace(), "grant_revoked");
assert.equal((await authority.grants()).length, 3);
const memory = await start({ directories: undefined, memory: true });
const kept = await open(memory, { subject: HOST, root: { path: "/anywhere" } });
await kept.writeText("a", "in memory");
assert.equal(await kept.readText("a"), "in memory");
await refused(memory.sandboxArguments(), "unsupported");
await memory.close();
await authority.close();
console.log("ok");
