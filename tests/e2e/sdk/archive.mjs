// SPDX-License-Identifier: Apache-2.0
// Archives from somebody else: all of it, or nothing.
import assert from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ROOT, WORKSPACE, open, refused, start } from "./scene.mjs";

/** One entry of a tar archive. */
function entry(name, content, type = "0", link = "") {
  const head = Buffer.alloc(512);
  head.write(name, 0);
  head.write("0000644\0" + "0000000\0" + "0000000\0", 100);
  head.write(content.length.toString(8).padStart(11, "0") + "\0" + "00000000000\0", 124);
  head.write("        " + type + link, 148);
  head.write("ustar\x0000", 257);
  head.write(
    head
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0") + "\0 ",
    148,
  );
  return Buffer.concat([head, Buffer.from(content), Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

const authority = await start();
const files = await open(authority);
const put = (name, ...entries) =>
  writeFileSync(path.join(WORKSPACE, name), Buffer.concat([...entries, Buffer.alloc(1024)]));
put("good.tar", entry("a", "1"), entry("sub/b", "22"));
assert.deepEqual(await files.extractArchive("good.tar", "good"), { files: 2, directories: 1, bytes: 3 });
assert.equal(await files.readText("good/sub/b"), "22");

const before = readdirSync(WORKSPACE);
for (const [code, bad] of [
  ["archive_entry_path", entry("../evil", "x")],
  ["archive_entry_path", entry("sub/../../evil", "x")],
  ["archive_entry_path", entry(path.join(ROOT, "evil"), "x")],
  ["archive_entry_path", entry("first", "twice")],
  ["archive_entry_link", entry("link", "", "2", "../..")],
  ["archive_entry_link", entry("link", "", "1", "first")],
  ["archive_entry_type", entry("device", "", "3")],
]) {
  put("bad.tar", entry("first", "1"), bad, entry("last", "3"));
  await refused(files.extractArchive("bad.tar", "bad"), code);
  assert.equal(await files.exists("bad"), false);
}
writeFileSync(path.join(WORKSPACE, "bad.tar"), "no archive at all");
await refused(files.extractArchive("bad.tar", "bad"), "archive_format");
assert.deepEqual(readdirSync(WORKSPACE).sort(), [...before, "bad.tar"].sort()); // nor a temporary name
assert.equal(existsSync(path.join(ROOT, "evil")), false);
await refused(files.extractArchive("good.tar", "good"), "not_empty", "operational");
await authority.close();
console.log("ok");
