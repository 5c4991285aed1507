// SPDX-License-Identifier: Apache-2.0
// Grants end: by their time, by the host, and with their scope.
import assert from "node:assert/strict";
import { deferred, open, refused, start, until, RUN } from "./scene.mjs";

const held = deferred();
const arrived = deferred();
const policy = {
  async decide(context) {
    if (context.relativePath === "slow") {
      arrived.resolve();
      await held.promise;
    }
    return { type: "allow" };
  },
};
const authority = await start({ policy });

// Time
await refused(
  open(authority, { expiresAt: "2001-01-01T00:00:00Z" }).then((past) => past.list()),
  "grant_expired",
);
const soon = await open(authority, { expiresAt: new Date(Date.now() + 1500) });
const endings = [];
await soon.writeText("a", "x");
await soon.watch("", (change) => endings.push(change));
await until(
  () =>
    soon.readText("a").then(
      () => false,
      (error) => error.code === "grant_expired",
    ),
  "its end",
);
await refused(soon.writeText("a", "y"), "grant_expired");
await until(() => endings.some((change) => change.change === "ended"), "the end of the watch");
assert.equal(endings.at(-1).code, "grant_expired");

// Which there are
const files = await open(authority, { subject: RUN, expiresAt: "2999-01-01T00:00:00.000Z", source: "user-approval" });
const grants = await authority.grants();
assert.equal(grants.length, 1);
const [{ path, access, ...grant }] = grants;
assert.deepEqual(grant, {
  grant: files.grantId,
  subject: { type: "agent-run", id: "talk", runId: "run-1" },
  kind: "workspace",
  id: "project",
  source: "user-approval",
  expiresAt: grant.expiresAt,
});
assert(path.endsWith("/files/workspace"));
assert.equal(access.length, 8);
assert.match(grant.expiresAt, /^2999-01-01T00:00:00/);

// Revoked while something runs with it
const other = await open(authority);
const slow = files.writeText("slow", "x");
const outcome = assert.rejects(slow, { code: "grant_revoked", category: "policy" });
const changes = [];
await files.watch("", (change) => changes.push(change));
await arrived.promise;
assert.equal(await authority.revoke(files.grantId), true);
assert.equal(await authority.revoke(files.grantId), false);
assert.equal(await authority.revoke(123456), false);
held.resolve();
await outcome;
await refused(files.readText("a"), "grant_revoked");
assert.equal(await other.readText("a"), "x");
assert.equal(await other.exists("slow"), false);
await until(() => changes.some((change) => change.change === "ended"), "the end of the watch");
assert.equal(changes.at(-1).code, "grant_revoked");
await files.close();

// Given back
await other.close();
assert.deepEqual(await authority.grants(), []);
await refused(other.readText("a"), "grant_revoked");
await authority.close();
console.log("ok");
