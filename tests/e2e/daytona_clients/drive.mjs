// Drives a sandbox service with Daytona's own client: every call that the service has.
//     drive.mjs daytona-0.218 URL KEY OTHER_KEY
// OTHER_KEY is another tenant's.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';

const [version, url, key, otherKey] = process.argv.slice(2);
const { Daytona, DaytonaError, Image } = createRequire(import.meta.url)(version);
const isOld = version === 'daytona-0.143';
const connect = (apiKey) => new Daytona({ apiUrl: `${url}/api`, apiKey, target: 'local' });
const daytona = connect(key);
const other = connect(otherKey);

async function refused(promise, status, words) {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof DaytonaError, String(error));
    if (status !== undefined) assert.equal(error.statusCode, status, error.message);
    if (words !== undefined) assert.match(error.message, words);
    return true;
  });
}

async function listed(client, labels) {
  if (isOld) return (await client.list(labels)).items;
  const all = [];
  for await (const sandbox of client.list(labels === undefined ? {} : { labels })) all.push(sandbox);
  return all;
}

// ---- the control plane ----

const sandbox = await daytona.create({
  name: 'first', envVars: { COLOUR: 'blue' }, labels: { stage: 'test' }, autoStopInterval: 7,
  autoDeleteInterval: 9, autoArchiveInterval: 11,
});
assert.equal(sandbox.state, 'started');
assert.equal(sandbox.name, 'first');
assert.equal(sandbox.labels.stage, 'test');
assert.equal(sandbox.autoStopInterval, 7);
assert.equal(sandbox.autoDeleteInterval, 9);
assert.equal(sandbox.autoArchiveInterval, 11);
await refused(daytona.create({ name: 'first' }), 409, /name already/);
await refused(daytona.create({ snapshot: 'no-such-snapshot' }), 404);
assert.equal((await daytona.get('first')).id, sandbox.id);
assert.equal((await daytona.get(sandbox.id)).name, 'first');
await refused(daytona.get('nobody'), 404);
await refused(connect('wrong-key-of-nobody').get('first'), 401);

// A tenant sees only its own, whatever it knows.
await refused(other.get(sandbox.id), 404);
await refused(other.get('first'), 404);
assert.deepEqual(await listed(other), []);
const theirs = await other.create({ name: 'first' });
assert.notEqual(theirs.id, sandbox.id);
await refused(daytona.get(theirs.id), 404);

await sandbox.setLabels({ stage: 'two', colour: 'red' });
await sandbox.setAutostopInterval(20);
await sandbox.setAutoDeleteInterval(-1);
await sandbox.setAutoArchiveInterval(60);
await sandbox.refreshActivity();
await sandbox.refreshData();
assert.deepEqual(sandbox.labels, { stage: 'two', colour: 'red' });
assert.equal(sandbox.autoStopInterval, 20);
assert.equal(sandbox.autoDeleteInterval, -1);
assert.equal(sandbox.autoArchiveInterval, 60);
assert.deepEqual((await listed(daytona)).map((one) => one.id), [sandbox.id]);
assert.deepEqual((await listed(daytona, { colour: 'red' })).map((one) => one.id), [sandbox.id]);
assert.deepEqual(await listed(daytona, { colour: 'green' }), []);
const pages = await Promise.all([1, 2, 3].map((i) => daytona.create({ name: `page-${i}` })));
if (isOld) {
  const page = await daytona.list(undefined, 2, 2);
  assert.equal(page.total, 4);
  assert.equal(page.totalPages, 2);
  assert.equal(page.items.length, 2);
} else {
  const all = [];
  for await (const one of daytona.list({ limit: 2 })) all.push(one.name);
  assert.equal(new Set(all).size, 4, String(all));
  const started = [];
  for await (const one of daytona.list({ states: ['started', 'stopped'] })) started.push(one.name);
  assert.equal(started.length, 4);
}
await Promise.all(pages.map((one) => one.delete()));
await refused(daytona.get('page-1'), 404);

// ---- commands ----

assert.equal(await sandbox.getWorkDir(), '/home/user');
assert.equal(await sandbox.getUserHomeDir(), '/home/user');
let result = await sandbox.process.executeCommand('echo $COLOUR; pwd; exit 3');
assert.equal(result.exitCode, 3);
assert.equal(result.result, 'blue\n/home/user\n');
result = await sandbox.process.executeCommand('echo "$WORD"; pwd', '/tmp', { WORD: "it's \"straße\"" });
assert.equal(result.result, 'it\'s "straße"\n/tmp\n');
result = await sandbox.process.executeCommand('echo out; echo err >&2');
assert.equal(result.result, 'out\nerr\n');
await refused(sandbox.process.executeCommand('sleep 60', undefined, undefined, 1), 408);
await refused(sandbox.process.executeCommand('true', '/no/such/directory'), 400);
result = await sandbox.process.executeCommand('head -c 3000000 /dev/zero | tr "\\0" x');
assert.equal(result.result.length, 3000000);
result = await sandbox.process.codeRun('import sys\nprint("sum", 1 + 1)\nsys.exit(4)');
assert.equal(result.exitCode, 4);
assert.equal(result.result, 'sum 2\n');
result = await sandbox.process.codeRun('import sys, os; print(sys.argv[1], os.environ["A"])', { argv: ['one'], env: { A: 'b' } });
assert.equal(result.result, 'one b\n');

if (!isOld) {
  await sandbox.updateEnv({ SHADE: 'dark', COLOUR: 'green' });
  result = await sandbox.process.executeCommand('echo $SHADE $COLOUR');
  assert.equal(result.result, 'dark green\n');
  await sandbox.updateEnv({}, { unset: ['SHADE'] });
  result = await sandbox.process.executeCommand('echo "$SHADE" $COLOUR');
  assert.equal(result.result, ' green\n');
}

// ---- sessions ----

const processes = sandbox.process;
await processes.createSession('work');
await refused(processes.createSession('work'), 409);
let done = await processes.executeSessionCommand('work', { command: 'cd /tmp; export WORD=kept' });
assert.equal(done.exitCode, 0);
done = await processes.executeSessionCommand('work', { command: 'pwd; echo $WORD\nprintf "no end"; echo err >&2; (exit 4)' });
assert.equal(done.exitCode, 4);
assert.equal(done.stdout, '/tmp\nkept\nno end');
assert.equal(done.stderr, 'err\n');
done = await processes.executeSessionCommand('work', { command: 'echo "' }); // no valid shell
assert.equal(done.exitCode, 2);
done = await processes.executeSessionCommand('work', { command: 'cat; echo after' }); // has no input
assert.equal(done.stdout, 'after\n');
done = await processes.executeSessionCommand('work', { command: 'read line; echo "got $line"; echo last >&2; exec 7>&1', runAsync: true });
assert.equal(done.exitCode, undefined);
assert.equal((await processes.getSessionCommand('work', done.cmdId)).exitCode, undefined);
await processes.sendSessionCommandInput('work', done.cmdId, 'a word\nand more that nobody reads\n');
const heard = { out: '', err: '' };
await processes.getSessionCommandLogs('work', done.cmdId, (text) => { heard.out += text; }, (text) => { heard.err += text; });
assert.deepEqual(heard, { out: 'got a word\n', err: 'last\n' });
const logs = await processes.getSessionCommandLogs('work', done.cmdId);
assert.equal(logs.stdout, 'got a word\n');
assert.equal(logs.stderr, 'last\n');
assert.equal((await processes.getSessionCommand('work', done.cmdId)).exitCode, 0);
await refused(processes.sendSessionCommandInput('work', done.cmdId, 'late'), 410);
done = await processes.executeSessionCommand('work', { command: 'echo $WORD' });
assert.equal(done.stdout, 'kept\n'); // the shell is still the same
done = await processes.executeSessionCommand('work', { command: 'for i in $(seq 20000); do echo "line $i"; done', runAsync: true });
heard.out = '';
await processes.getSessionCommandLogs('work', done.cmdId, (text) => { heard.out += text; }, () => {});
assert.equal(heard.out.split('\n').length, 20001);
assert.ok(heard.out.endsWith('line 20000\n'));
let session = await processes.getSession('work');
assert.equal(session.sessionId, 'work');
assert.equal(session.commands.length, 7);
assert.equal((await processes.listSessions()).length, 1);
done = await processes.executeSessionCommand('work', { command: 'exit 9' });
assert.equal(done.exitCode, 9);
await refused(processes.executeSessionCommand('work', { command: 'true' }), 410);
await processes.deleteSession('work');
await refused(processes.getSession('work'), 404);

// ---- terminals ----

let screen = '';
const pty = await processes.createPty({
  id: 'terminal', cols: 91, rows: 31, cwd: '/tmp', envs: { SHADE: 'dark' },
  onData: (data) => { screen += Buffer.from(data).toString(); },
});
await refused(processes.getPtySessionInfo('nobody'), 404);
await pty.sendInput('stty size; echo "$SHADE-$PWD"; echo m""ark\n');
while (!screen.includes('mark\r\n')) await new Promise((next) => { setTimeout(next, 10); });
assert.ok(screen.includes('31 91\r\n'), screen);
assert.ok(screen.includes('dark-/tmp\r\n'), screen);
assert.equal((await processes.listPtySessions()).length, 1);
assert.equal((await pty.resize(50, 20)).cols, 50);
assert.equal((await processes.getPtySessionInfo('terminal')).rows, 20);
await pty.sendInput('exit 5\n');
assert.equal((await pty.wait()).exitCode, 5);
const second = await processes.createPty({ id: 'second', onData: () => {} });
await second.kill();
await second.wait();
assert.deepEqual(await processes.listPtySessions(), []);

// ---- files ----

const files = sandbox.fs;
const local = fs.mkdtempSync(path.join(os.tmpdir(), 'daytona-'));
await files.uploadFile(Buffer.from('hello world\nsecond line\n'), 'a/b.txt');
assert.equal((await files.downloadFile('a/b.txt')).toString(), 'hello world\nsecond line\n');
const big = Buffer.alloc(9 << 20, 'abc\r\n--x\r\n----------------------------0123456789');
fs.writeFileSync(path.join(local, 'big'), big);
await files.uploadFile(path.join(local, 'big'), '/home/user/big');
await files.downloadFile('/home/user/big', path.join(local, 'back'));
assert.ok(fs.readFileSync(path.join(local, 'back')).equals(big));
fs.rmSync(local, { recursive: true });
const names = ['empty', '/tmp/straße "quoted".txt', 'c d.txt'];
await files.uploadFiles(names.map((name, i) => ({ source: Buffer.from('x'.repeat(i)), destination: name })));
const got = await files.downloadFiles([...names, 'missing'].map((source) => ({ source })));
assert.deepEqual(got.map((one) => one.result?.toString()), ['', 'x', 'xx', undefined]);
assert.match(got[3].error, /No such file/);
await refused(files.downloadFile('missing'), undefined, /No such file/);
await refused(files.uploadFile(Buffer.from('x'), '/usr/bin/x'), 403);
await files.createFolder('folder/below', '0750');
let details = await files.getFileDetails('folder/below');
assert.equal(details.isDir, true);
assert.equal(details.permissions, '0750');
assert.equal(details.owner, 'user');
assert.equal((await files.getFileDetails('/usr')).owner, 'root');
await refused(files.getFileDetails('missing'), 404);
assert.deepEqual((await files.listFiles('.')).map((one) => one.name).filter((name) => name !== '.bash_history'), ['a', 'big', 'c d.txt', 'empty', 'folder']);
await files.setFilePermissions('a/b.txt', { mode: '640', owner: 'user', group: 'user' });
details = await files.getFileDetails('a/b.txt');
assert.equal(details.permissions, '0640');
assert.equal(details.size, 24);
await refused(files.setFilePermissions('/usr', { mode: '777' }), 403);
assert.deepEqual(await files.findFiles('a', 'second'), [{ file: '/home/user/a/b.txt', line: 2, content: 'second line' }]);
assert.deepEqual(await files.findFiles('a', 'no such text'), []);
assert.deepEqual((await files.searchFiles('/home/user', '*.txt')).files.sort(), ['/home/user/a/b.txt', '/home/user/c d.txt']);
await refused(files.searchFiles('/missing', '*'), 404);
const replaced = await files.replaceInFiles(['a/b.txt', 'missing'], 'world', 'moon');
assert.deepEqual(replaced.map((one) => one.success), [true, false]);
assert.equal((await files.downloadFile('a/b.txt')).toString(), 'hello moon\nsecond line\n');
assert.equal((await files.getFileDetails('a/b.txt')).permissions, '0640');
await files.moveFiles('a/b.txt', 'moved.txt');
await files.deleteFile('moved.txt');
await refused(files.deleteFile('moved.txt'), 404);
await refused(files.deleteFile('folder'), 400);
await files.deleteFile('folder', true);

// ---- signed URLs, which need no key ----

const status = async (address, options) => (await fetch(address, options)).status;
const form = (content) => {
  const body = new FormData();
  body.append('file', new Blob([content]), 'local.bin');
  return { method: 'POST', body };
};
let lastingUrl;
if (!isOld) {
  const name = '/home/user/signed straße+:5.txt';
  const uploadUrl = await sandbox.uploadUrl(name, 600);
  assert.equal(await status(uploadUrl, form('by URL')), 200);
  const downloadUrl = await sandbox.downloadUrl(name);
  const answer = await fetch(downloadUrl);
  assert.equal(answer.status, 200);
  assert.equal(await answer.text(), 'by URL');
  assert.match(answer.headers.get('content-disposition'), /^attachment; filename\*=UTF-8''/);
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
  assert.ok(Buffer.from(await (await fetch(await sandbox.downloadUrl('big'))).arrayBuffer()).equals(big));
  assert.equal(await status(await sandbox.downloadUrl('missing')), 404);
  assert.equal(await status(await sandbox.uploadUrl('/usr/bin/x'), form('x')), 403);
  // For this method, path, time and sandbox only.
  const changed = (address, change) => {
    const other = new URL(address);
    change(other);
    return other;
  };
  assert.equal(await status(uploadUrl), 401);
  assert.equal(await status(downloadUrl.replace('/download', '/upload-v2'), form('x')), 401);
  assert.equal(await status(changed(downloadUrl, (one) => one.searchParams.set('path', '/etc/passwd'))), 401);
  assert.equal(await status(changed(downloadUrl, (one) => one.searchParams.set('expires', '0'))), 401);
  assert.equal(await status(changed(downloadUrl, (one) => one.searchParams.set('signature', 'v1_x'))), 401);
  assert.equal(await status(changed(downloadUrl, (one) => one.searchParams.delete('signature'))), 401);
  assert.equal(await status(downloadUrl.replace(sandbox.id, theirs.id)), 401);
  assert.equal(await status(downloadUrl.replace('/files/download', '/files/info')), 401);
  const brief = await sandbox.downloadUrl(name, 1);
  while (await status(brief) !== 401) await new Promise((resolve) => setTimeout(resolve, 100));
  // A new key ends what the old one has signed.
  const before = await sandbox.downloadUrl(name, 0);
  assert.equal(await status(before), 200);
  await sandbox.rotateSigningKey();
  assert.equal(await status(before), 401);
  assert.equal(await status(uploadUrl, form('x')), 401);
  lastingUrl = await sandbox.downloadUrl(name, 0);
  assert.equal(await (await fetch(lastingUrl)).text(), 'by URL');
}

// ---- repositories ----

const { git } = sandbox;
const inSandbox = async (command) => {
  const done = await processes.executeCommand(command);
  assert.equal(done.exitCode, 0, done.result);
};
await inSandbox('git init -q --bare -b main origin.git && git init -q -b main first && echo 1 > first/file');
await git.add('first', ['file']);
const hash = (await git.commit('first', 'the first', 'An Author', 'author@example.org')).sha;
assert.match(hash, /^[0-9a-f]{40}$/);
await inSandbox('git -C first push -q ../origin.git main');
await git.clone('/home/user/origin.git', 'repo', 'main', hash);
assert.equal((await git.status('repo')).currentBranch, 'HEAD');
await git.createBranch('repo', 'topic');
await git.checkoutBranch('repo', 'topic');
await inSandbox('echo 2 >> repo/file; echo new > "repo/an other"');
let state = await git.status('repo');
assert.equal(state.currentBranch, 'topic');
assert.equal(state.branchPublished, false);
assert.deepEqual(state.fileStatus, [
  { name: 'file', extra: '', staging: 'Unmodified', worktree: 'Modified' },
  { name: 'an other', extra: '', staging: 'Untracked', worktree: 'Untracked' },
]);
await git.add('repo', ['.']);
await git.commit('repo', 'the second', 'An Author', 'author@example.org');
assert.deepEqual((await git.branches('repo')).branches, ['main', 'topic']);
await git.checkoutBranch('repo', 'main');
await git.deleteBranch('repo', 'topic');
await refused(git.checkoutBranch('repo', 'topic'), 404);
await refused(git.clone('/home/user/nothing', 'other'), 404, /does not exist/);
await refused(git.clone('--upload-pack=true', 'other'), 400, /dash/);
await inSandbox('echo 3 > repo/file && git -C repo -c user.name=a -c user.email=b commit -qam 3');
assert.equal((await git.status('repo')).ahead, 1);
await git.push('repo');
await git.pull('repo');
assert.equal((await git.status('repo')).ahead, 0);
if (!isOld) {
  await git.init('fresh', false, 'trunk');
  await git.configureUser('Me', 'me@example.org');
  await git.setConfig('core.pager', 'cat', 'local', 'fresh');
  assert.equal(await git.getConfig('core.pager', 'local', 'fresh'), 'cat');
  assert.equal(await git.getConfig('user.name'), 'Me');
  await git.remoteAdd('fresh', 'upstream', '/home/user/origin.git', true);
  assert.equal(await git.remoteGet('fresh', 'upstream'), '/home/user/origin.git');
  await git.pull('fresh', undefined, undefined, 'main', 'upstream');
  await git.reset('fresh', 'hard', 'HEAD~1');
  await inSandbox('echo changed > fresh/file');
  await git.restore('fresh', ['file']);
  state = await git.status('fresh');
  assert.deepEqual(state.fileStatus, []);
  await git.push('fresh', undefined, undefined, 'trunk', 'upstream', true);
  assert.equal((await git.status('fresh')).upstream, 'upstream/trunk');
  await git.dangerouslyAuthenticate('me', 'secret', 'git.example.org');
  await assert.rejects(git.clone('http://127.0.0.1:1/x', 'other'), (error) => error.constructor.name === 'DaytonaGitTransportFailedError');
  await assert.rejects(git.createBranch('fresh', 'trunk'), (error) => error.constructor.name === 'DaytonaGitBranchExistsError');
}
await inSandbox('rm -rf origin.git first repo fresh .git*');

// ---- files for an image, which the client uploads in parts ----

const context = fs.mkdtempSync(path.join(os.tmpdir(), 'daytona-'));
fs.writeFileSync(path.join(context, 'large'), Buffer.alloc(17 << 20, 'seventeen'));
const image = Image.base('debian:12').addLocalFile(path.join(context, 'large'), '/data/large');
const built = await daytona.create({ image });
assert.equal((await built.process.executeCommand('wc -c < /data/large')).result, `${17 << 20}\n`);
await built.delete();
fs.rmSync(context, { recursive: true });

// ---- a build that takes long, whose output comes while it runs ----

const told = [];
const slow = Image.base('debian:12').runCommands('echo early; sleep 5; echo late');
const followed = await daytona.create({ image: slow }, {
  onSnapshotCreateLogs: (text) => told.push([Date.now(), text]),
});
const toldAt = (word) => told.find(([, text]) => text.split('\n').includes(word))[0];
assert.ok(toldAt('late') - toldAt('early') > 1000, JSON.stringify(told));
assert.equal(followed.state, 'started');
assert.equal((await followed.process.executeCommand('echo there')).result, 'there\n');
await followed.delete();
await refused(daytona.create({ image: Image.base('debian:12').runCommands('echo why; sleep 2; exit 3') }, {
  onSnapshotCreateLogs: (text) => told.push([Date.now(), text]),
}), undefined, /exit code 3/);
assert.ok(told.some(([, text]) => text.split('\n').includes('why')), JSON.stringify(told));

// ---- stop and start ----

await processes.createSession('lost');
await sandbox.stop();
assert.equal(sandbox.state, 'stopped');
await refused(sandbox.process.executeCommand('true'), 409, /not running/);
if (!isOld) assert.equal(await status(lastingUrl), 409);
await sandbox.archive();
assert.equal(sandbox.state, 'archived');
await sandbox.start();
assert.equal(sandbox.state, 'started');
assert.equal((await sandbox.process.executeCommand('echo $COLOUR')).result, 'blue\n'); // as it was created
await refused(sandbox.archive(), 409, /not stopped/);
assert.deepEqual(await processes.listSessions(), []);
assert.equal((await files.downloadFile('c d.txt')).toString(), 'xx');
if (!isOld) assert.equal(await status(lastingUrl), 200);
const brief = await daytona.create({ ephemeral: true, ...(isOld ? { autoDeleteInterval: 0 } : {}) });
await brief.stop();
await assert.rejects(async () => { for (;;) await daytona.get(brief.id); });
await theirs.delete();
await sandbox.delete();
await refused(daytona.get(sandbox.id), 404);
if (!isOld) assert.equal(await status(lastingUrl), 401);
console.log('every call did what it should');
process.exit(0); // older clients leave a timer behind
