// SPDX-License-Identifier: Apache-2.0
// The SDK for JavaScript beside @openclaw/fs-safe, in one process and one directory:
//
//     node sdk.mjs GATEHOUSE PLACE
//
// PLACE is a directory in memory, so that the disk does not matter. The two take turns, and the median of the
// ratios counts. Ours asks another process, and keeps an audit log.
import fs from "node:fs";
import path from "node:path";
import { root } from "@openclaw/fs-safe";
import { Authority } from "../../sdk/javascript/index.js";

const ROUNDS = 15;
const CALLS = 200;
const MANY = 500;
const GOALS_MISSED = 3;
const [command, place] = process.argv.slice(2);
const directory = path.join(place, "files");
const content = Buffer.alloc(4096, "x");
let missed = 0;

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

async function us(calls, what) {
  const start = performance.now();
  await what(calls);
  return ((performance.now() - start) / calls) * 1000;
}

const inTurn = (what) => async (calls) => {
  for (let i = 0; i < calls; i++) await what();
};
const atOnce = (what) => (calls) => Promise.all(Array.from({ length: calls }, what));

async function compare(name, calls, least, ours, theirs) {
  const pairs = [];
  for (let i = 0; i < ROUNDS + 1; i++) pairs.push([await us(calls, ours), await us(calls, theirs)]);
  pairs.shift(); // to warm up
  const ratio = median(pairs.map(([our, their]) => their / our));
  const [our, their] = [0, 1].map((side) => median(pairs.map((pair) => pair[side])));
  const label = `sdk: ${name} (${our.toFixed(0)}, ${their.toFixed(0)} us)`;
  missed += ratio < least;
  console.log(`  ${label.padEnd(58)} ${ratio.toFixed(2).padStart(7)} x   goal >= ${`${least} x`.padEnd(9)} ${ratio < least ? "MISSED" : "met"}`);
}

fs.mkdirSync(directory);
fs.writeFileSync(path.join(directory, "a"), content);
const authority = await Authority.start({ command, directories: [directory], stateDir: path.join(place, "state") });
const ours = await authority.requestRoot({
  subject: { type: "core", id: "bench" }, root: { kind: "workspace", id: "bench", path: directory },
  access: ["read", "write", "list", "metadata"], reason: "a benchmark", source: "conversation",
});
const theirs = await root(directory, { hardlinks: "reject", symlinks: "reject" });
await compare("read 4 KB", CALLS, 1.5, inTurn(() => ours.readBytes("a")), inTurn(() => theirs.readBytes("a")));
await compare("read 4 KB, 500 at once", MANY, 2, atOnce(() => ours.readBytes("a")), atOnce(() => theirs.readBytes("a")));
await compare("write 4 KB", CALLS, 5, inTurn(() => ours.writeBytes("b", content)), inTurn(() => theirs.write("c", content)));
await authority.close();
process.exit(missed > 0 ? GOALS_MISSED : 0);
