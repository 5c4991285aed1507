// A page of a real Chromium with the script in an isolated world of it, as the browser tools have it.
import { chromium } from "playwright-core";

export class Page {
  static async open(browser, script, patience) {
    const self = new Page();
    self.context = await browser.newContext({ viewport: { width: 1000, height: 700 }, ignoreHTTPSErrors: true });
    self.page = await self.context.newPage();
    self.page.setDefaultTimeout(patience);
    self.cdp = await self.context.newCDPSession(self.page);
    self.script = script;
    self.contexts = new Map();
    self.cdp.on("Runtime.executionContextCreated", ({ context }) => {
      if (context.name === "gatehouse") self.contexts.set(context.auxData.frameId, context.id);
    });
    self.cdp.on("Runtime.executionContextsCleared", () => self.contexts.clear());
    await self.cdp.send("Page.enable");
    await self.cdp.send("Runtime.enable");
    await self.cdp.send("Page.addScriptToEvaluateOnNewDocument", { source: script, worldName: "gatehouse", runImmediately: true });
    self.frameId = (await self.cdp.send("Page.getFrameTree")).frameTree.frame.id;
    return self;
  }

  goto(url) {
    return this.page.goto(url);
  }

  // As C calls it. `frameId` of a frame in the same process.
  async run(name, options = {}, frameId = this.frameId) {
    return this.call("function (name, options) { return gatehouse.run(name, options) }", [{ value: name }, { value: options }], frameId);
  }

  async call(functionDeclaration, args = [], frameId = this.frameId, returnByValue = true) {
    const { result, exceptionDetails } = await this.cdp.send("Runtime.callFunctionOn", {
      functionDeclaration, executionContextId: this.contexts.get(frameId), arguments: args, returnByValue, awaitPromise: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return returnByValue ? result.value : result;
  }

  async snapshot(options = {}) {
    const result = await this.run("snapshot", options);
    if (result.error) throw new Error(JSON.stringify(result.error));
    return { ...result, text: result.parts.join("") };
  }

  // The ref in the line that contains all of the words.
  async ref(...words) {
    const { text } = await this.snapshot();
    const line = text.split("\n").find((one) => words.every((word) => one.includes(word)) && one.includes("[ref="));
    if (line === undefined) throw new Error(`no line with ${words.join(", ")} in:\n${text}`);
    return /\[ref=(\w+)\]/.exec(line)[1];
  }

  async click({ x, y }) {
    for (const type of ["mouseMoved", "mousePressed", "mouseReleased"]) {
      await this.cdp.send("Input.dispatchMouseEvent", { type, x, y, button: type === "mouseMoved" ? "none" : "left", clickCount: 1 });
    }
  }

  close() {
    return this.context.close();
  }
}

export function launch(executablePath) {
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--site-per-process"] });
}
