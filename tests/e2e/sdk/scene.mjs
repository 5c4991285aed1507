// SPDX-License-Identifier: Apache-2.0
// Shared by the scripts here:  node TOPIC.mjs GATEHOUSE ROOM PATIENCE, where ROOM is an empty directory of the script's
// own and PATIENCE the seconds to wait for what must happen.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as later } from "node:timers/promises";
import { Authority, FileSystemAuthorityError } from "../../../sdk/javascript/index.js";

export const [GATEHOUSE, ROOM, patience] = process.argv.slice(2);
export const PATIENCE_MS = 1000 * Number(patience);
export const ROOT = path.join(ROOM, "files");
export const WORKSPACE = path.join(ROOT, "workspace");
export const STORAGE = path.join(ROOT, "storage");
export const STATE = path.join(ROOM, "state");
export const ALL = ["read", "write", "delete", "list", "move", "archive", "watch", "metadata"];
export const HOST = { type: "core", id: "host" };
export const RUN = { type: "agent-run", conversationId: "talk", runId: "run-1" };

for (const folder of [WORKSPACE, STORAGE]) mkdirSync(folder, { recursive: true });

// A warning is a mistake of the library: of listeners that pile up, of a rejection that nobody handles.
process.on("warning", (warning) => assert.fail(warning));

export const start = (options) =>
  Authority.start({ directories: [ROOT], stateDir: STATE, command: GATEHOUSE, ...options });

export const open = (authority, more = {}) =>
  authority.requestRoot({
    subject: HOST,
    access: ALL,
    reason: "a test",
    source: "core",
    ...more,
    root: { kind: "workspace", id: "project", path: WORKSPACE, ...more.root },
  });

/** The error with which it is rejected, which has this code. */
export async function refused(promise, code, category = "policy") {
  const error = await promise.then(
    () => assert.fail(`expected ${code}`),
    (problem) => problem,
  );
  assert(error instanceof FileSystemAuthorityError, error);
  assert.deepEqual([error.code, error.category], [code, category], error.message);
  assert(error.message.length > 0 && error.operation.length > 0);
  return error;
}

export async function until(isSo, what) {
  for (const end = Date.now() + PATIENCE_MS; !(await isSo()); await later(10))
    if (Date.now() > end) assert.fail(`waited in vain for ${what}`);
}

export const isRunning = (pid) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** A promise, and the functions that settle it. */
export function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}

export const never = () => new Promise(() => {});
