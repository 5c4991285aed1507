// A screenshot by the original's own tool for each line of standard input; answers with its size.
//
//     node screen.cjs NODE_MODULES
const path = require("node:path");
const readline = require("node:readline");

const { screenshotTool } = require(
  path.resolve(process.argv[2], "@n8n/computer-use/dist/tools/screenshot/screenshot.js"));

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const result = line && await screenshotTool.execute({}, {});
    process.stdout.write(`${result ? result.content[0].data.length : 0}\n`);
  }
}
main();
