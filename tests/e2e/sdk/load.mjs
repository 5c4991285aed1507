// SPDX-License-Identifier: Apache-2.0
// Many requests at once.
import assert from "node:assert/strict";
import { open, start } from "./scene.mjs";

const plain = await start();
const files = await open(plain);
const NAMES = Array.from({ length: 100 }, (_, i) => `file-${i}`);
await Promise.all(NAMES.map((name) => files.writeText(name, name.repeat(100))));
const read = (scope) => Promise.all(Array.from({ length: 2000 }, (_, i) => scope.readText(NAMES[i % 100])));
(await read(files)).forEach((text, i) => assert.equal(text, NAMES[i % 100].repeat(100)));

// More than the pipe holds, both ways
const content = Buffer.alloc(1 << 20, "x");
await Promise.all(NAMES.map((name) => files.writeBytes(name, content)));
for (const bytes of await Promise.all(NAMES.map((name) => files.readBytes(name))))
  assert.equal(Buffer.compare(bytes, content), 0);
const entries = await Promise.all(Array.from({ length: 50 }, () => files.list("", { stat: true })));
assert(entries.every((list) => list.length === 100));
await plain.close();

// With a policy, and with one that asks the authority itself
const mild = await start({
  policy: { decide: async () => ({ type: "allow" }) },
  hooks: [{ id: "one" }, { id: "two", before: async () => {} }],
});
await read(await open(mild));
await mild.close();
let nested = 0;
const policy = {
  async decide(context) {
    if (context.reason === "of the policy") return { type: "allow" };
    const text = own && (await own.readText("rules"));
    nested += text?.length ?? 0; // only now, since others have counted meanwhile
    return { type: "allow" };
  },
};
let own;
const careful = await start({ policy });
const rules = await open(careful, { reason: "of the policy" });
await rules.writeText("rules", "!");
own = rules;
const scope = await open(careful);
for (let i = 0; i < 10; i++) await Promise.all([...NAMES, ...NAMES].map((name) => scope.readText(name)));
assert.equal(nested, 2001);
await careful.close();
console.log("ok");
