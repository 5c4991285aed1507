// SPDX-License-Identifier: Apache-2.0
// Changes in a directory, by anybody.
import assert from "node:assert/strict";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { WORKSPACE, open, refused, start, until } from "./scene.mjs";

const events = [];
const authority = await start({ onEvent: (record) => events.push(record), log: () => {} });
const files = await open(authority, { policy: { deniedGlobs: ["hidden*"] } });
const place = (name) => path.join(WORKSPACE, name);
const seen = [];
const has = (change, name) => seen.some((one) => one.change === change && String(one.name) === name);
const watch = await files.watch("", (change) => seen.push(change));

await files.writeText("ours", "x");
await until(() => has("created", "ours"), "what the scope did");
writeFileSync(place("theirs"), "x");
await until(() => has("created", "theirs"), "what others did");
writeFileSync(place("theirs"), "y");
await until(() => has("changed", "theirs"), "the change");
renameSync(place("theirs"), place("renamed"));
await until(() => has("removed", "theirs") && has("created", "renamed"), "both names");
writeFileSync(place("hidden"), "x");
writeFileSync(Buffer.concat([Buffer.from(WORKSPACE + "/"), Buffer.from([0xff])]), "x");
await until(() => seen.some((one) => one.name instanceof Uint8Array && one.name[0] === 0xff), "the odd name");
assert(!has("created", "hidden"));
await until(() => events.some((one) => one.outcome === "noticed" && one.relativePath === "renamed"), "the event");

// It can be ended by its holder, by a signal, by the scope, by the process.
await watch.close();
await watch.close();
const count = seen.length;
const second = [];
await files.watch("", (change) => second.push(change));
rmSync(place("renamed"));
await until(() => second.some((one) => one.change === "removed"), "the second watch");
assert.equal(seen.length, count);
const control = new AbortController();
const third = [];
await files.watch(".", (change) => third.push(change), { signal: control.signal });
control.abort();
await files.writeText("after", "x");
await until(() => second.some((one) => one.name === "after"), "the second watch");
assert.deepEqual(third, []);
await refused(
  files.watch("missing", () => {}),
  "not_found",
  "operational",
);
const throwing = [];
await files.watch("", (change) => {
  throwing.push(change);
  if (change.change !== "ended") throw new Error("expected in this test");
});
await files.writeText("again", "x");
await files.writeText("again2", "x");
await until(() => throwing.length >= 2, "changes after a callback that throws");
await files.close();
assert.deepEqual(second.at(-1), { change: "ended", code: "cancelled" });

// The first change may come at once.
const other = await open(authority);
let stop = false;
const writing = (async () => {
  for (let i = 0; !stop; i++) await other.writeText("busy", String(i));
})();
for (let i = 0; i < 30; i++) {
  const changes = [];
  const busy = await other.watch("", (change) => changes.push(change));
  await until(() => changes.length > 0, "a change");
  await busy.close();
}
stop = true;
await writing;
const last = [];
await other.watch("", (change) => last.push(change));
process.kill(authority.pid, "SIGKILL");
await until(() => last.length > 0, "its end");
assert.deepEqual(last, [{ change: "ended", code: "connection_lost" }]);
await authority.close();
console.log("ok");
