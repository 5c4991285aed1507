// SPDX-License-Identifier: Apache-2.0
// What the host's policy decides, and when its user is asked.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { HOST, RUN, open, refused, start, until, never, WORKSPACE } from "./scene.mjs";

const seen = [];
const asked = [];
let yes = true;
const decisions = {
  denied: () => ({ type: "deny", reason: "not this one" }),
  late: async () => ({ type: "deny", reason: "not this one either" }),
  "denied at length": () => ({ type: "deny", reason: "long ".repeat(500000) + "\ud800" }),
  ask: () => ({ type: "ask-user", prompt: "May it?" }),
  "ask-allow": async () => ({ type: "ask-user", prompt: "May it?", default: "allow" }),
  "ask-deny": () => ({ type: "ask-user", prompt: "May it?", default: "deny" }),
  nothing: () => undefined,
  nonsense: () => ({ type: "perhaps" }),
  yes: () => true,
  throws: () => {
    throw new Error("it is broken");
  },
  rejects: async () => {
    throw "it is broken";
  },
  hangs: never,
};
const policy = {
  decide(context) {
    seen.push(context);
    return (decisions[context.relativePath] ?? (() => ({ type: "allow" })))();
  },
};
const said = [];
const ask = async (context, prompt) => {
  asked.push([context.relativePath, prompt]);
  if (yes === "throws") throw new Error("no user");
  return yes;
};
const authority = await start({ policy, ask, log: (text) => said.push(text) });
const alone = await open(authority, { subject: RUN, root: { displayName: "P", labels: { a: "b" } } });
const watched = await open(authority, { interactive: true });
const write = (scope, name) => scope.writeText(name, "x");

// What it sees
await write(alone, "fine");
const { requestId, ...context } = seen.at(-1);
assert(requestId);
assert.deepEqual(context, {
  subject: { type: "agent-run", id: "talk", runId: "run-1" },
  root: { kind: "workspace", id: "project", displayName: "P", labels: { a: "b" } },
  operation: "write",
  relativePath: "fine",
  access: ["write"],
  reason: "a test",
});
await alone.copy("fine", Buffer.from([0xff]));
assert.deepEqual([seen.at(-1).relativePath, [...seen.at(-1).destinationPath]], ["fine", [0xff]]);
assert.equal(seen[0].operation, "request-root");
assert(!JSON.stringify(seen).includes(WORKSPACE));

// What it decides
assert.match((await refused(write(alone, "denied"), "denied_by_policy")).message, /not this one/);
assert.match((await refused(write(alone, "late"), "denied_by_policy")).message, /not this one either/);
assert.match((await refused(write(alone, "denied at length"), "denied_by_policy")).message, /long long/);
for (const name of ["nothing", "nonsense", "yes"]) await refused(write(alone, name), "denied_by_policy");
for (const name of ["throws", "rejects"]) {
  assert.match((await refused(write(alone, name), "denied_by_policy")).message, /it is broken/);
  assert(said.some((text) => text.includes("it is broken")));
  said.length = 0;
}
assert.equal(existsSync(path.join(WORKSPACE, "denied")), false);

// Whom it asks
await refused(write(alone, "ask"), "ask_unavailable");
await refused(write(alone, "ask-deny"), "ask_unavailable");
await write(alone, "ask-allow");
assert.deepEqual(asked, []);
await write(watched, "ask");
await write(watched, "ask-deny");
assert.deepEqual(asked, [
  ["ask", "May it?"],
  ["ask-deny", "May it?"],
]);
for (yes of [false, undefined, "yes", 1, "throws"]) {
  await refused(write(watched, "ask"), "denied_by_policy");
  await refused(write(watched, "ask-allow"), "denied_by_policy");
}

// Who waits
const hanging = assert.rejects(write(alone, "hangs"), { code: "cancelled", category: "operational" });
await until(() => seen.some((one) => one.relativePath === "hangs"), "the question");
for (let i = 0; i < 50; i++) await alone.readText("fine");
await write(watched, "other");
await authority.close();
await hanging;

// Without a way to ask
const mute = await start({ policy });
const nobody = await open(mute, { subject: HOST, interactive: true });
await refused(write(nobody, "ask"), "ask_unavailable");
await write(nobody, "ask-allow");
await mute.close();

await refused(start({ policy: {} }), "invalid_argument");
console.log("ok");
