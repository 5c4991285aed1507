// Drives a sandbox service with n8n's client: every call, and what happens when things go wrong.
//     drive.mjs sandbox-client-0.1 URL KEY
// A proxy in between drops connections and answers 503 when asked.
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { createRequire } from 'node:module';
import { randomUUID } from 'node:crypto';

const [version, url, key] = process.argv.slice(2);
const { SandboxClient, SandboxServiceError } = createRequire(import.meta.url)(version);
const isNew = version === 'sandbox-client-0.1';
const client = new SandboxClient({ baseUrl: url, apiKey: key });

async function refused(promise, status) {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof SandboxServiceError, String(error));
    assert.equal(error.status, status, error.message);
    return true;
  });
}

// ---- sandboxes ----

const { id, status } = await client.createSandbox();
assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
assert.equal(status, 'running');
assert.equal((await client.getSandbox(id)).id, id);
await refused(client.getSandbox(randomUUID()), 404);
await refused(new SandboxClient({ baseUrl: url, apiKey: 'wrong' }).getSandbox(id), 401);
if (isNew) {
  const own = randomUUID();
  const records = await Promise.all([1, 2, 3, 4].map(() => client.createSandbox({ id: own })));
  assert.deepEqual(new Set(records.map((record) => record.id)), new Set([own]));
  await client.deleteSandbox(own);
  await client.deleteSandbox(own); // gone already, which is fine
  assert.equal((await client.createSandbox({ ephemeral: true })).ephemeral, true);
  await refused(client.createSandbox({ id: 'NOT-A-UUID' }), 400);
}

// ---- commands ----

let result = await client.exec(id, { command: 'echo out; echo err >&2; exit 3' });
assert.equal(result.exitCode, 3);
assert.equal(result.stdout, 'out\n');
assert.equal(result.stderr, 'err\n');
assert.equal(result.success, false);
assert.equal(result.timedOut, false);
assert.equal(result.killed, false);
result = await client.exec(id, { command: 'printf "$WORD"; pwd', env: { WORD: 'straße ' }, workdir: '/tmp' });
assert.equal(result.stdout, 'straße /tmp\n');
result = await client.exec(id, { command: 'printf no-newline' });
assert.equal(result.stdout, 'no-newline\n'); // invented, as n8n's service does
let heard = '';
result = await client.exec(id, { command: 'for i in 1 2 3; do echo $i; done', onStdout: (text) => { heard += text; } });
assert.equal(heard, '1\n2\n3\n');
result = await client.exec(id, { command: 'echo before; sleep 60', timeoutMs: 300 });
assert.equal(result.timedOut, true);
assert.equal(result.stdout, 'before\n');
assert.equal(result.exitCode, -1);
result = await client.exec(id, { command: 'kill -9 $$' });
assert.equal(result.killed, true);
assert.equal(result.exitCode, -1);
await refused(client.exec(id, { command: '' }), 400);
await refused(client.exec(id, { command: 'true', workdir: '/no/such' }), 0); // an error event
const long = 'x'.repeat(100000);
result = await client.exec(id, { command: `printf '%s\\n' ${long}; echo after` });
assert.equal(result.stdout, long + '\nafter\n'); // a long line loses nothing

const controller = new AbortController();
const aborted = client.exec(id, { command: 'echo $$ > /tmp/pid; sleep 60', abortSignal: controller.signal,
  onStdout: () => {} });
while (!(await client.listFiles(id, { path: '/tmp' })).some((file) => file.name === 'pid'))
  await new Promise((done) => setTimeout(done, 10));
controller.abort();
await assert.rejects(aborted);
result = await client.exec(id, { command: 'while kill -0 $(cat /tmp/pid) 2>/dev/null; do sleep 0.01; done; echo gone' });
assert.equal(result.stdout, 'gone\n');

// ---- a connection that breaks ----

// Passes connections on, and drops the first ones after some bytes of the answer; or answers 503.
function proxy(dropped, unavailable) {
  const target = new URL(url);
  const server = net.createServer((socket) => {
    const answer = 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}';
    if (unavailable-- > 0) {
      socket.once('data', () => socket.end(answer));
      return;
    }
    const other = net.connect(Number(target.port), target.hostname);
    let left = dropped-- > 0 ? 300 : Infinity;
    other.on('data', (bytes) => {
      socket.write(bytes.subarray(0, Math.max(0, Math.min(bytes.length, left))));
      left -= bytes.length;
      if (left <= 0) { socket.destroy(); other.destroy(); }
    });
    socket.on('data', (bytes) => other.write(bytes.toString('latin1').replace(/^Host: .*$/m,
      `Host: ${target.host}`), 'latin1'));
    for (const [one, two] of [[socket, other], [other, socket]]) {
      one.on('error', () => two.destroy());
      one.on('close', () => two.destroy());
    }
  });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done({
    server, client: new SandboxClient({ baseUrl: `http://127.0.0.1:${server.address().port}`, apiKey: key }) })));
}

let broken = await proxy(3, 0);
result = await broken.client.exec(id, {
  command: 'echo once >> /tmp/runs; for i in $(seq 40); do echo line $i; sleep 0.01; done' });
assert.equal(result.stdout, Array.from({ length: 40 }, (_, i) => `line ${i + 1}\n`).join(''));
assert.equal((await client.readFile(id, '/tmp/runs')).toString(), 'once\n'); // it never ran twice
broken.server.close();
broken = await proxy(0, 2);
assert.equal((await broken.client.getSandbox(id)).id, id); // the client tries again after 503
broken.server.close();

// ---- an execution that is found again ----

function start(body, path = 'executions') {
  return fetch(`${url}/sandboxes/${id}/${path}`, { method: 'POST', headers: { 'X-Api-Key': key },
    body: JSON.stringify(body) });
}
const execId = randomUUID();
const first = await start({ command: 'echo same >> /tmp/same; echo hello', exec_id: execId });
assert.equal(first.headers.get('x-exec-id'), execId);
const events = (await first.text()).trim().split('\n').map((line) => JSON.parse(line));
assert.deepEqual(events.map((event) => event.seq), events.map((_, i) => i));
assert.deepEqual(events.map((event) => event.type), ['started', 'stdout', 'exit']);
const again = await (await start({ command: 'echo same >> /tmp/same; echo hello', exec_id: execId })).text();
assert.equal(again.trim().split('\n').length, events.length);
assert.equal((await client.readFile(id, '/tmp/same')).toString(), 'same\n');
assert.equal((await client.resumeExecution(id, execId, 0)).stdout, 'hello\n');
assert.equal((await client.resumeExecution(id, execId)).stdout, 'hello\n');
await client.deleteExecution(id, execId);
await client.deleteExecution(id, execId);
await refused(client.resumeExecution(id, execId), 404);

// ---- files ----

await client.writeFile(id, '/home/user/a b/ü+&.txt', 'Hello');
assert.equal((await client.readFile(id, '/home/user/a b/ü+&.txt')).toString(), 'Hello');
await refused(client.writeFile(id, '/home/user/a b/ü+&.txt', 'no', false), 409);
await client.appendFile(id, '/home/user/a b/ü+&.txt', ' there');
assert.equal((await client.readFile(id, '/home/user/a b/ü+&.txt')).toString(), 'Hello there');
const bytes = Buffer.from(Array.from({ length: 3 << 20 }, (_, i) => i * 7 & 255));
await client.writeFile(id, '/tmp/bytes', bytes);
assert.ok(bytes.equals(await client.readFile(id, '/tmp/bytes')));
await client.mkdir(id, '/home/user/d/e', true);
await refused(client.mkdir(id, '/home/user/d/e'), 409);
await client.writeFile(id, '/home/user/d/e/x.ts', '1');
await client.writeFile(id, '/home/user/d/y.js', '22');
assert.deepEqual((await client.listFiles(id, { path: '/home/user/d' })).map(({ name, isDir, type }) => [name, isDir, type]),
  [['e', true, 'directory'], ['y.js', false, 'file']]);
assert.deepEqual((await client.listFiles(id, { path: '/home/user/d', recursive: true, extension: '.ts' }))
  .map(({ name, size }) => [name, size]), [['e/x.ts', 1]]);
const about = await client.stat(id, '/home/user/d/y.js');
assert.deepEqual([about.name, about.path, about.type, about.size], ['y.js', '/home/user/d/y.js', 'file', 2]);
assert.ok(Math.abs(Date.parse(about.modifiedAt) - Date.now()) < 600000);
await client.copyFile(id, { src: '/home/user/d/y.js', dest: '/home/user/z.js' });
await refused(client.copyFile(id, { src: '/home/user/d/y.js', dest: '/home/user/z.js' }), 409);
await client.copyFile(id, { src: '/home/user/d/y.js', dest: '/home/user/z.js', overwrite: true });
await refused(client.copyFile(id, { src: '/home/user/d', dest: '/home/user/f' }), 400);
await refused(client.copyFile(id, { src: '/home/user/d', dest: '/home/user/d/e/in', recursive: true }), 400);
await client.copyFile(id, { src: '/home/user/d', dest: '/home/user/f', recursive: true });
assert.equal((await client.readFile(id, '/home/user/f/e/x.ts')).toString(), '1');
await client.moveFile(id, { src: '/home/user/z.js', dest: '/home/user/moved.js' });
await refused(client.stat(id, '/home/user/z.js'), 404);
await refused(client.moveFile(id, { src: '/home/user/none', dest: '/home/user/x' }), 404);
await refused(client.deleteFile(id, '/home/user/d'), 400);
await client.deleteFile(id, '/home/user/d', { recursive: true });
await refused(client.deleteFile(id, '/home/user/d'), 404);
await client.deleteFile(id, '/home/user/d', { force: true });
await refused(client.readFile(id, '/home/user/d/y.js'), 404);

await client.deleteSandbox(id);
await refused(client.exec(id, { command: 'true' }), 404);
console.log('every call did what it should');
process.exit(0);
