// Drives a sandbox service with Daytona's own client where that can set no headers for WebSockets.
//     tokens.mjs daytona-0.218 URL KEY
// The variable LAMBDA_TASK_ROOT makes the client think so.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const [version, url, apiKey] = process.argv.slice(2);
const { Daytona } = createRequire(import.meta.url)(version);
const daytona = new Daytona({ apiUrl: `${url}/api`, apiKey, target: 'local' });
const sandbox = await daytona.create({});
await sandbox.process.createSession('work');
const { cmdId } = await sandbox.process.executeSessionCommand('work', { command: 'read x; echo "got $x"', runAsync: true });
await sandbox.process.sendSessionCommandInput('work', cmdId, 'it\n');
let heard = '';
await sandbox.process.getSessionCommandLogs('work', cmdId, (text) => { heard += text; }, () => {});
assert.equal(heard, 'got it\n');
let screen = '';
const pty = await sandbox.process.createPty({ id: 'terminal', onData: (data) => { screen += Buffer.from(data).toString(); } });
await pty.sendInput('echo m""ark; exit 5\n');
assert.equal((await pty.wait()).exitCode, 5);
assert.ok(screen.includes('mark\r\n'), screen);
await sandbox.delete();
console.log('every call did what it should');
process.exit(0);
