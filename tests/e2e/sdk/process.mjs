// SPDX-License-Identifier: Apache-2.0
// The process behind the authority: it cannot be started, it dies, it ends.
import assert from "node:assert/strict";
import path from "node:path";
import { GATEHOUSE, ROOM, ROOT, STATE, isRunning, never, open, refused, start, until } from "./scene.mjs";

// At the start
for (const command of ["gatehouse-that-is-not-here", path.join(ROOM, "gatehouse")]) {
  const error = await refused(start({ command }), "not_found", "operational");
  assert.match(error.message, /install Gatehouse/);
  assert.match(error.message, /`command`/);
}
await refused(start({ command: ROOM }), "io", "operational");
await refused(start({ directories: ROOT }), "invalid_argument");
const said = [];
const failed = await refused(
  start({ directories: [path.join(ROOM, "missing")], log: (text) => said.push(text) }),
  "connection_lost",
  "operational",
);
assert.match(failed.message, /ended with status/);
assert.match(said.join(""), /missing/);
await refused(start({ command: "/bin/echo", log: () => {} }), "connection_lost", "operational");

// It dies
const questions = [];
const policy = {
  decide: (context) => {
    questions.push(context);
    return context.relativePath === "held" ? never() : { type: "allow" };
  },
};
const dying = await start({ policy, directories: [ROOT, ROOM], stateDir: path.relative(process.cwd(), STATE) });
const files = await open(dying);
const pending = [files.readText("held"), files.writeText("held", "x"), files.list("held")];
await until(() => questions.length >= 4, "the questions");
process.kill(dying.pid, "SIGKILL");
for (const one of pending) assert.match((await refused(one, "connection_lost", "operational")).message, /SIGKILL/);
await refused(files.readText("a"), "connection_lost", "operational");
await refused(open(dying), "connection_lost", "operational");
await refused(dying.grants(), "connection_lost", "operational");
await files.close();
await dying.close();

// It ends
const authority = await start({ policy });
const { pid } = authority;
assert(isRunning(pid));
const scope = await open(authority);
const rejected = ["held", "held"].map((name) => refused(scope.readText(name), "cancelled", "operational"));
await until(() => questions.filter((one) => one.relativePath === "held").length >= 5, "the questions");
const closing = [authority.close(), authority.close()];
await Promise.all(rejected);
await refused(scope.readText("a"), "cancelled", "operational");
await Promise.all(closing);
assert.equal(isRunning(pid), false);
await refused(authority.grants(), "cancelled", "operational");

// What is written before the end is whole.
const last = await start({ command: GATEHOUSE });
const writes = (await open(last)).writeBytes("large", new Uint8Array(8 << 20));
const outcome = writes.then(
  () => "written",
  (error) => error.code,
);
await last.close();
assert(["written", "cancelled"].includes(await outcome));
console.log("ok");
