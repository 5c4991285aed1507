// SPDX-License-Identifier: Apache-2.0
// Refusals are in the audit log, and commands see what the grants allow.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ALL, GATEHOUSE, ROOT, RUN, STATE, WORKSPACE, open, refused, start } from "./scene.mjs";

const policy = {
  decide: ({ relativePath }) => (relativePath === "no" ? { type: "deny", reason: "no" } : { type: "allow" }),
};
const authority = await start({ policy });
const files = await open(authority, { subject: RUN });
await files.writeText("yes", "x");
await refused(files.writeText("no", "x"), "denied_by_policy");
await refused(files.readText("../outside"), "path_outside_root");
await refused(open(authority, { source: "manifest" }), "denied_by_policy");
await files.createTempWorkspace();

// Commands
const sub = (name) => {
  mkdirSync(path.join(ROOT, name), { recursive: true });
  writeFileSync(path.join(ROOT, name, "file"), name);
  return path.join(ROOT, name);
};
const readOnly = ["read", "list", "metadata"];
await open(authority, { root: { id: "shown", path: sub("shown") }, access: readOnly });
await open(authority, { root: { id: "partly", path: sub("partly") }, access: [...readOnly, "write"] });
await open(authority, { root: { id: "unlisted", path: sub("unlisted") }, access: ["read", "write", "delete"] });
await open(authority, { root: { kind: "artifact", id: "made", path: sub("made") } });
await open(authority, { root: { id: "again", path: WORKSPACE }, access: readOnly });
const expected = ["--rw", WORKSPACE, "--ro", sub("shown"), "--ro", sub("partly"), "--ro", sub("made")];
assert.deepEqual((await authority.sandboxArguments()).sort(), expected.sort());
const grants = await authority.grants();
assert.deepEqual(await authority.sandboxArguments(grants.filter((grant) => grant.id === "shown")), [
  "--ro",
  sub("shown"),
]);
assert.deepEqual(await authority.sandboxArguments([]), []);
const comma = await open(authority, { root: { id: "comma", path: sub("a,b") }, access: ALL });
assert.match((await refused(authority.sandboxArguments(), "invalid_path")).message, /comma/);
await comma.close();
const sandbox = async (script) =>
  spawnSync(GATEHOUSE, ["sandbox", "run", ...(await authority.sandboxArguments()), "--", "sh", "-c", script], {
    cwd: WORKSPACE,
    encoding: "utf8",
  });
if ((await sandbox("true")).status === 0) {
  const ran = await sandbox(
    `cat ${ROOT}/shown/file && echo done > ${WORKSPACE}/made-by-command && ! echo x 2>&1 > ${ROOT}/partly/file`,
  );
  assert.equal(ran.status, 0, ran.stderr);
  assert.match(ran.stdout, /^shown/);
  assert.equal(await files.readText("made-by-command"), "done\n");
} else {
  console.log("no sandbox runs here, so no command was tried");
}
await authority.close();

const log = execFileSync(GATEHOUSE, ["audit", "--json", "--all", "--verbose", "--limit", "0", "--state-dir", STATE], {
  encoding: "utf8",
});
const records = log
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));
const found = (wanted) => records.filter((one) => Object.entries(wanted).every(([key, value]) => one[key] === value));
assert.equal(found({ operation: "write", relativePath: "yes", outcome: "success" }).length, 1);
assert.equal(found({ operation: "write", relativePath: "yes", outcome: "intent" }).length, 1);
const [denied] = found({ operation: "write", relativePath: "no", outcome: "denied", error: "denied_by_policy" });
assert.deepEqual(
  [denied.subject, denied.reason, denied.policySource],
  [{ type: "agent-run", id: "talk", runId: "run-1" }, "a test", "policy"],
);
assert.equal(
  found({ operation: "read", relativePath: "../outside", outcome: "denied", error: "path_outside_root" }).length,
  1,
);
assert.equal(found({ operation: "request-root", outcome: "denied" }).length, 1);
assert(!log.includes(WORKSPACE));
console.log("ok");
