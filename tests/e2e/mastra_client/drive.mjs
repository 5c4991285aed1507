// Drives the service with Mastra's provider of Daytona sandboxes, as an application of Mastra does.
//
//     drive.mjs ADDRESS KEY FOLDER
//
// FOLDER is an empty one on this machine, for build contexts.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Daytona, Image } from "@daytonaio/sdk";
import { Workspace } from "@mastra/core/workspace";
import { DaytonaSandbox } from "@mastra/daytona";

const [address, key, folder] = process.argv.slice(2);
const connection = { apiKey: key, apiUrl: address + "/api" };

// ---- a workspace: commands, processes, their streams and ends ----

const sandbox = new DaytonaSandbox({ ...connection, id: "first", env: { NAME: "of the provider" } });
const workspace = new Workspace({ sandbox });
await workspace.init();
assert.equal(sandbox.status, "running");
assert.match(sandbox.getInstructions(), /working directory: \//);

const run = await sandbox.executeCommand("sh", ["-c", "echo out; echo err >&2; exit 3"]);
assert.deepEqual([run.exitCode, run.success, run.stdout, run.stderr], [3, false, "out\n", "err\n"]);
const words = await sandbox.executeCommand("printf", ["%s|", "two words", "it's", "$HOME"]);
assert.equal(words.stdout, "two words|it's|$HOME|");
const set = await sandbox.executeCommand('echo "$NAME, $MORE"; pwd', [], { env: { MORE: "and more" }, cwd: "/tmp" });
assert.equal(set.stdout, "of the provider, and more\n/tmp\n");

let streamed = "";
const reader = await sandbox.processes.spawn("while read line; do echo \"got $line\"; done", {
  onStdout: (text) => (streamed += text),
});
await reader.sendStdin("one\n");
await reader.sendStdin("two\n");
while (!streamed.includes("got two")) await new Promise((resolve) => setTimeout(resolve, 20));
assert.equal(streamed, "got one\ngot two\n");
assert.equal((await sandbox.processes.list()).some((each) => each.pid === reader.pid && each.running), true);
assert.equal(await reader.kill(), true);
assert.equal((await reader.wait()).killed, true);

const slow = await sandbox.executeCommand("echo begun; sleep 1000", [], { timeout: 1500 });
assert.deepEqual([slow.timedOut, slow.exitCode, slow.stdout], [true, 124, "begun\n"]);

let size = 0;
await sandbox.executeCommand("seq 1 200000", [], { onStdout: (text) => (size += text.length) });
assert.equal(size, 1288895);

// ---- files, by the SDK underneath ----

await sandbox.daytona.fs.uploadFile(Buffer.from("kept"), "/home/user/kept.txt");
assert.equal((await sandbox.daytona.fs.downloadFile("/home/user/kept.txt")).toString(), "kept");

// ---- a port, as the user of an agent sees it ----

const server = await sandbox.processes.spawn(
  "python3 -c \"import http.server as h; s = h.ThreadingHTTPServer(('127.0.0.1', 8000), h.SimpleHTTPRequestHandler); " +
    "print('ready', flush=True); s.serve_forever()\"",
  { cwd: "/home/user" },
);
while (!server.stdout.includes("ready")) await new Promise((resolve) => setTimeout(resolve, 20));
const link = await sandbox.daytona.getPreviewLink(8000);
assert.equal((await fetch(link.url + "/kept.txt")).status, 401);
const headers = { "x-daytona-preview-token": link.token };
assert.equal(await (await fetch(link.url + "/kept.txt", { headers })).text(), "kept");

// ---- a stop, and the same sandbox for another object of that name ----

await sandbox.stop();
assert.equal((await fetch(link.url + "/kept.txt", { headers })).status, 400);
const again = new DaytonaSandbox({ ...connection, id: "first" });
await again.start();
assert.equal((await again.executeCommand("cat /home/user/kept.txt")).stdout, "kept");
assert.equal((await again.getInfo()).status, "running");
await again.destroy();
assert.equal((await fetch(link.url + "/kept.txt", { headers })).status, 401);

// ---- images: a name, a Dockerfile with files of this machine, a snapshot ----

const named = new DaytonaSandbox({ ...connection, id: "named", image: "node:22" });
await named.start();
assert.equal((await named.executeCommand("echo", ["hi"])).stdout, "hi\n");
await named.destroy();

mkdirSync(join(folder, "source/deep"), { recursive: true });
writeFileSync(join(folder, "source/deep/file.txt"), "deep\n");
writeFileSync(join(folder, "one.txt"), "one\n");
const image = Image.base("debian:12")
  .addLocalFile(join(folder, "one.txt"), "/data/")
  .addLocalDir(join(folder, "source"), "/data/source")
  .env({ GREETING: "it's me & you", EMPTY: "" })
  .workdir("/srv/app dir")
  .runCommands('echo "$GREETING" > greeting', ["sh", "-c", "echo again > again"])
  .entrypoint(["/bin/sleep", "infinity"])
  .cmd(["1"]);
const built = new DaytonaSandbox({ ...connection, id: "built", image, resources: { cpu: 1, memory: 1, disk: 1 } });
await built.start();
const seen = await built.executeCommand("pwd; cat greeting again /data/one.txt /data/source/deep/file.txt; echo $GREETING");
assert.equal(seen.stdout, "/srv/app dir\nit's me & you\nagain\none\ndeep\nit's me & you\n");
await built.destroy();

const daytona = new Daytona(connection);
const logs = [];
const snapshot = await daytona.snapshot.create({ name: "kept", image }, { onLogs: (text) => logs.push(text) });
assert.deepEqual([snapshot.name, snapshot.state], ["kept", "active"]);
assert.match(logs.at(-1), /Created snapshot kept/);
assert.equal((await daytona.snapshot.get("kept")).id, snapshot.id);
assert.deepEqual((await daytona.snapshot.list()).items.map((each) => each.name), ["kept"]);
await assert.rejects(daytona.snapshot.create({ name: "kept", image: "x" }), /already/);
const from = new DaytonaSandbox({ ...connection, id: "from", snapshot: "kept" });
await from.start();
assert.equal((await from.executeCommand("cat greeting /data/one.txt")).stdout, "it's me & you\none\n");
await daytona.snapshot.delete(snapshot);
await assert.rejects(daytona.snapshot.get("kept"), /no such snapshot/);
assert.equal((await from.executeCommand("cat /data/one.txt")).stdout, "one\n");
const signed = await from.daytona.getSignedPreviewUrl(9000, 60);
assert.equal((await fetch(signed.url + "/")).status, 502); // nobody listens
await from.daytona.expireSignedPreviewUrl(9000, signed.token);
assert.equal((await fetch(signed.url + "/")).status, 401);
await from.destroy();

const broken = new DaytonaSandbox({ ...connection, id: "broken", image: Image.base("x").runCommands("echo why; false") });
await assert.rejects(broken.start(), /why/);
const unknown = new DaytonaSandbox({ ...connection, id: "unknown", snapshot: "no-such-snapshot" });
await assert.rejects(unknown.start(), /no snapshot/);

const stranger = new DaytonaSandbox({ ...connection, apiKey: "not-the-key", id: "stranger" });
await assert.rejects(stranger.start());

console.log("every call did what it should");
process.exit(0); // the SDK keeps trying to reach a socket for events
