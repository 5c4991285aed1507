// SPDX-License-Identifier: Apache-2.0
// Temporary workspaces do not outlive what they were made for.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { once } from "node:events";
import { GATEHOUSE, ROOM, RUN, isRunning, start, until } from "./scene.mjs";

const made = async (authority) => {
  const temp = await authority.createTempWorkspace({ subject: RUN, reason: "a draft" });
  await temp.writeText("a/b", "x", { parents: true });
  const { path } = (await authority.grants()).find((grant) => grant.grant === temp.grantId);
  return [temp, path];
};

if (process.argv[5] === "host") {
  const authority = await start();
  console.log(JSON.stringify([authority.pid, (await made(authority))[1]]));
  await new Promise(() => {}); // until it is killed
}

let authority = await start();
const [temp, path] = await made(authority);
assert.equal(statSync(path).mode & 0o777, 0o700);
assert.deepEqual(
  (await temp.list("", { recursive: true })).map((entry) => entry.name),
  ["a", "a/b"],
);
await temp.close();
await until(() => !existsSync(path), "its removal");
const [, left] = await made(authority);
await authority.close();
assert.equal(existsSync(left), false);

// The host is killed: its authority notices.
const host = async () => {
  const child = spawn(process.execPath, [process.argv[1], GATEHOUSE, ROOM, "300", "host"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  const [pid, place] = JSON.parse(line.toString());
  assert(existsSync(place) && isRunning(pid));
  return { child, pid, place };
};
const killed = await host();
killed.child.kill("SIGKILL");
await until(() => !isRunning(killed.pid), "the end of the authority");
await until(() => !existsSync(killed.place), "the removal");

// Both are killed: the next start removes what they left.
const both = await host();
process.kill(both.pid, "SIGKILL");
both.child.kill("SIGKILL");
await until(() => !isRunning(both.pid), "the end of the authority");
assert(existsSync(both.place));
authority = await start();
await until(() => !existsSync(both.place), "the removal");
await authority.close();
console.log("ok");
