// SPDX-License-Identifier: Apache-2.0
// Signals: the caller goes on at once, and the authority stops.
import assert from "node:assert/strict";
import { never, open, refused, start, until } from "./scene.mjs";

const questions = [];
const events = [];
const policy = {
  decide: (context) => {
    questions.push(context.relativePath ?? context.operation);
    return context.relativePath === "held" || context.reason === "held" ? never() : { type: "allow" };
  },
};
const authority = await start({ policy, onEvent: (record) => events.push(record) });
const files = await open(authority);
await files.writeText("a", "x");

// Before it begins: nothing is sent.
const asked = questions.length;
const error = await refused(files.readText("a", { signal: AbortSignal.abort("because") }), "cancelled", "operational");
assert.equal(error.cause, "because");
await files.readText("a");
assert.equal(questions.length, asked + 1);

// While it waits, for every operation.
const held = "held";
for (const act of [
  (signal) => files.readBytes(held, { signal }),
  (signal) => files.readText(held, { signal }),
  (signal) => files.readJson(held, { signal }),
  (signal) => files.writeBytes(held, new Uint8Array(1 << 20), { signal }),
  (signal) => files.writeText(held, "x", { signal }),
  (signal) => files.writeJson(held, 1, { signal }),
  (signal) => files.append(held, "x", { signal }),
  (signal) => files.list(held, { signal }),
  (signal) => files.stat(held, { signal }),
  (signal) => files.exists(held, { signal }),
  (signal) => files.mkdir(held, { signal }),
  (signal) => files.move(held, "b", { signal }),
  (signal) => files.copy(held, "b", { signal }),
  (signal) => files.copyIn(held, files, "a", { signal }),
  (signal) => files.moveIn(held, files, "a", { signal }),
  (signal) => files.remove(held, { signal }),
  (signal) => files.watch(held, () => {}, { signal }),
  (signal) => files.extractArchive(held, "b", { signal }),
  (signal) => files.createArchive(held, "b.zip", { signal }),
  (signal) => files.createTempWorkspace({ reason: "held", signal }),
  (signal) => open(authority, { reason: "held", signal }),
  (signal) => authority.createTempWorkspace({ subject: files.subject, reason: "held", signal }),
]) {
  const control = new AbortController();
  const before = questions.length;
  const outcome = refused(act(control.signal), "cancelled", "operational");
  await until(() => questions.length > before && questions.includes(held), "the question");
  control.abort();
  await outcome;
}
await until(
  () => events.some((one) => one.relativePath === held && one.operation === "write" && one.error),
  "the record of its end",
);
assert.equal(await files.exists(held + "x"), false);
assert.deepEqual(
  (await files.list()).map((entry) => entry.name),
  ["a"],
);
await until(async () => (await authority.grants()).length === 1, "scopes that came too late to be given back");

// After its end a signal is of no concern, and one signal serves any number of requests.
const control = new AbortController();
await Promise.all(Array.from({ length: 500 }, () => files.readText("a", { signal: control.signal })));
control.abort();
const many = new AbortController();
const large = new Uint8Array(4 << 20);
const all = Promise.allSettled(
  Array.from({ length: 40 }, (_, i) => files.writeBytes(`large-${i}`, large, { signal: many.signal })),
);
many.abort();
for (const one of await all) assert.equal(one.reason.code, "cancelled");
assert.equal(await files.readText("a"), "x");
await authority.close();
console.log("ok");
