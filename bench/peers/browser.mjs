// playwright-core, driven line by line: {"do": ...} on standard input, {"ms": ..., ...} on standard output.
//
//     node browser.mjs CHROMIUM
//
// It measures itself, so that the way of the line does not count.
import readline from "node:readline";
import { chromium } from "playwright-core";

const executablePath = process.argv[2];
let browser, page;

const deeds = {
  // From nothing to a page that is there.
  async connect({ url }) {
    browser = await chromium.launch({ executablePath, headless: true, args: ["--no-sandbox"] });
    page = await browser.newPage();
    await page.goto(url, { waitUntil: "domcontentloaded" });
  },
  async disconnect() {
    await browser.close();
  },
  async navigate({ url }) {
    await page.goto(url, { waitUntil: "domcontentloaded" });
  },
  async snapshot() {
    return { chars: (await page.ariaSnapshot({ mode: "ai" })).length };
  },
  async click({ selector }) {
    await page.click(selector);
  },
  async evaluate({ script }) {
    return { result: await page.evaluate(script) };
  },
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const start = performance.now();
  const more = await deeds[request.do](request);
  process.stdout.write(`${JSON.stringify({ ms: performance.now() - start, ...more })}\n`);
}
process.exit(0);
