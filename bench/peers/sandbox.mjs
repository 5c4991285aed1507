// Commands in a sandbox, one for each line of standard input, as a long-running agent would have
// them run: the library is initialised once. Answers each line with the exit code.
//
//     node sandbox.mjs FOLDER
import { spawn } from "node:child_process";
import readline from "node:readline";

import { SandboxManager } from "@anthropic-ai/sandbox-runtime";

await SandboxManager.initialize({
  network: { allowedDomains: [], deniedDomains: [] },
  filesystem: { denyRead: [], allowWrite: [process.argv[2]], denyWrite: [] },
});

async function run(command) {
  const wrapped = await SandboxManager.wrapWithSandbox(command);
  const child = spawn(wrapped, { shell: true, cwd: process.argv[2], stdio: "ignore" });
  return new Promise((resolve) => child.on("exit", resolve));
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  process.stdout.write(`${await run(line)}\n`);
}
await SandboxManager.reset();
