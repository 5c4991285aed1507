// SPDX-License-Identifier: Apache-2.0
// Hooks: their order, what they may do, and what is recorded of them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { WORKSPACE, open, refused, start, until } from "./scene.mjs";

const steps = [];
const events = [];
const said = [];
let own; // a scope of the host, which hooks leave alone
const isOurs = (context) => context.reason === "of the hook";
const hooks = [
  {
    id: "counts",
    before(context) {
      if (!isOurs(context)) steps.push(["counts", context.relativePath]);
    },
    after(context) {
      if (!isOurs(context)) steps.push(["counts after", context.outcome, context.error]);
      if (context.relativePath === "after-throws") throw new Error("after is broken");
    },
  },
  {
    id: "keeps a diary",
    async before(context) {
      if (isOurs(context)) return;
      steps.push(["diary", context.relativePath]);
      if (context.relativePath === "denied") return { type: "deny", reason: "the diary is against it" };
      if (context.relativePath === "throws") throw new Error("the diary is full");
      if (context.relativePath === "nonsense") return { type: "later" };
      await own.append("diary", `${context.relativePath}\n`);
      assert.match(await own.readText("diary"), /\n$/);
      return { type: "allow" };
    },
  },
  {
    id: "last",
    after: (context) => void (isOurs(context) || steps.push(["last after", context.outcome, context.error])),
  },
];
const authority = await start({ hooks, onEvent: (record) => events.push(record), log: (text) => said.push(text) });
own = await open(authority, { reason: "of the hook" });
const files = await open(authority, { reason: "of the hook" }).then(() => {
  hooks[1].before = ((before) => (context) => (context.operation === "request-root" ? undefined : before(context)))(
    hooks[1].before,
  );
  return open(authority);
});

const during = async (act) => {
  steps.length = 0;
  await act();
  return steps.map((step) => step.filter((word) => word !== undefined).join(" "));
};
const eventOf = (name, outcome) =>
  events.find((one) => one.relativePath === name && one.outcome === outcome && one.reason === "a test");

assert.deepEqual(await during(() => files.writeText("a", "x")), [
  "counts a",
  "diary a",
  "counts after success",
  "last after success",
]);
for (const outcome of ["intent", "success"]) {
  await until(() => eventOf("a", outcome), "the event");
  assert.deepEqual(eventOf("a", outcome).wrapperIds, ["counts", "keeps a diary", "last"]);
}
assert.deepEqual(eventOf("a", "success").root, { kind: "workspace", id: "project" });

// A refusal ends it, and those that saw it learn of it.
assert.deepEqual(await during(() => refused(files.writeText("denied", "x"), "denied_by_policy")), [
  "counts denied",
  "diary denied",
  "counts after failure denied_by_policy",
]);
await until(() => eventOf("denied", "denied"), "the event");
assert.deepEqual(eventOf("denied", "denied").wrapperIds, ["counts", "keeps a diary"]);
assert.equal(eventOf("denied", "denied").policySource, "keeps a diary");
assert.match((await refused(files.writeText("denied", "x"), "denied_by_policy")).message, /against it/);
assert.match((await refused(files.writeText("throws", "x"), "denied_by_policy")).message, /diary is full/);
await refused(files.writeText("nonsense", "x"), "denied_by_policy");
assert.deepEqual([await own.exists("denied"), await own.exists("throws")], [false, false]);
assert.deepEqual(await during(() => refused(files.readText("none"), "not_found", "operational")), [
  "counts none",
  "diary none",
  "counts after failure not_found",
  "last after failure not_found",
]);

// What fails afterwards is not undone.
await files.writeText("after-throws", "x");
await until(() => said.some((text) => text.includes("after is broken")), "the complaint");
assert.equal(readFileSync(path.join(WORKSPACE, "after-throws"), "utf8"), "x");
await Promise.all(Array.from({ length: 200 }, (_, i) => files.writeText(`many-${i}`, "x")));
assert.equal((await own.readText("diary")).split("\n").filter((line) => line.startsWith("many-")).length, 200);
await authority.close();

// At the start
await refused(start({ hooks: [{ id: "a" }, { id: "a" }] }), "invalid_argument");
await refused(start({ hooks: [{}] }), "invalid_argument");
await refused(start({ hooks: Array.from({ length: 17 }, (_, i) => ({ id: `h${i}` })) }), "too_large");
const throwing = await start({
  onEvent: () => {
    throw new Error("the listener is broken");
  },
  log: (text) => said.push(text),
});
await (await open(throwing)).writeText("b", "x");
await until(() => said.some((text) => text.includes("listener is broken")), "the complaint");
await throwing.close();
console.log("ok");
