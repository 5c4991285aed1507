// The smaller things that a person meets on the page: see page.mjs, which runs these with --details.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { deflateSync, crc32 } from "node:zlib";

const DAEMON_PORT = 7655;

// A picture of one colour.
function png(width, height) {
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const length = Buffer.alloc(4), sum = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2], 8);
  const rows = Buffer.concat(Array.from({ length: height }, () => Buffer.concat([Buffer.from([0]), Buffer.alloc(3 * width, 120)])));
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

// Where a daemon waits for its server: answers as one would, and only when it is told to.
class WaitingDaemon {
  static last = null; // a case that failed has not closed it

  constructor(health = '{"status":"ok","connected":false}') {
    this.health = health;
    WaitingDaemon.last?.close();
    WaitingDaemon.last = this;
    this.asked = [];
    this.answer = new Promise((resolve) => { this.release = resolve; });
  }

  async open() {
    this.server = createServer(async (request, response) => {
      response.setHeader("Access-Control-Allow-Origin", request.headers.origin ?? "*");
      response.setHeader("Access-Control-Allow-Headers", "Content-Type");
      response.setHeader("Access-Control-Allow-Private-Network", "true");
      response.setHeader("Connection", "close");
      if (request.method === "OPTIONS") return response.writeHead(204).end();
      this.asked.push(request.url);
      if (request.url === "/health") return response.end(this.health);
      let body = "";
      for await (const piece of request) body += piece;
      this.offered = JSON.parse(body);
      response.writeHead(await this.answer).end("{}");
    }).listen(DAEMON_PORT, "127.0.0.1");
    await new Promise((resolve, reject) => this.server.once("listening", resolve).once("error", reject));
    return this;
  }

  close() {
    this.server.close();
    this.server.closeAllConnections();
  }
}

const focused = (page) => page.evaluate(() => {
  const { activeElement: element } = document;
  const style = getComputedStyle(element);
  return {
    what: element.getAttribute("aria-label") ?? (element.closest("label")?.textContent.trim() || element.textContent.trim()),
    isSeen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
  };
});

async function tabTo(page, what) {
  for (let i = 0; i < 60; i++) {
    if ((await focused(page)).what === what) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab never reaches ${what}`);
}

// The page believes that its user looks at something else, and its notifications are only noted.
function notingNotifications() {
  window.noted = [];
  Object.defineProperty(document, "hidden", { get: () => true });
  window.Notification = class {
    static permission = "default";
    static async requestPermission() {
      window.Notification.permission = "granted";
      return "granted";
    }
    constructor(title, { body, tag }) {
      this.entry = { title, body, tag, isOpen: true };
      window.noted.push(this.entry);
    }
    close() {
      this.entry.isOpen = false;
    }
  };
}

export const details = ({ Scene, all, gatehouse, pictures, PATIENCE }) => ({
  async "Tab goes through the page in its order, and what it reaches is seen"() {
    const scene = await all("tab");
    await scene.see("is connected");
    const reached = [];
    for (let i = 0; i < 40 && reached.at(-1) !== "All"; i++) {
      await scene.page.keyboard.press("Tab");
      const now = await focused(scene.page);
      assert.ok(now.isSeen, `${now.what} shows no focus`);
      reached.push(now.what);
    }
    assert.deepEqual(reached, ["Skip to content", "Gatehouse", "Machine", "Files", "Tools", "Activity", "Audit", "Rules", "Agents", "owner", "Sign out",
      "Agents may use the file tools", "Report", "Disconnect", "Look at the files", "Try a tool", "Give an agent a key", "Notify me when an agent asks", "All"]);
    // The link over the links leads to the content of this page, and to no other one.
    await scene.go("/rules");
    await scene.page.getByRole("heading", { name: "Rules" }).waitFor();
    await scene.page.getByRole("link", { name: "Skip to content" }).focus();
    await scene.page.keyboard.press("Enter");
    await scene.page.locator("main:focus").waitFor();
    assert.equal(new URL(scene.page.url()).hash, "#/rules");
    await scene.end();
  },

  async "a question is answered with the keyboard, and news does not take the focus away"() {
    const scene = await all("keys");
    await scene.see("is connected");
    await tabTo(scene.page, "Agents may use the file tools");
    await scene.page.keyboard.press("Space");
    await scene.see("File tools are switched off");
    await scene.page.locator("[role=switch]:focus").waitFor();
    await scene.page.keyboard.press("Space");
    await scene.see("Agents may use the file tools");
    // A link that is reached stays reached while calls come in, and a click on it counts.
    await scene.page.getByRole("link", { name: "Audit", exact: true }).focus();
    const writing = scene.page.evaluate(async () => {
      const call = (name, args) => fetch("/api/call", { method: "POST", headers: { "X-Gatehouse-Request": "1", "Content-Type": "application/json" }, body: JSON.stringify({ name, arguments: args }) });
      for (let i = 0; i < 5; i++) await call("read_file", { filePath: "README.md" });
      return (await call("create_directory", { dirPath: "made" })).json();
    });
    await scene.page.locator(".question").waitFor();
    assert.equal((await focused(scene.page)).what, "Audit");
    await tabTo(scene.page, "Allow once");
    assert.ok((await focused(scene.page)).isSeen);
    await scene.page.keyboard.press("Enter");
    assert.ok(!(await writing).isError);
    assert.ok(existsSync(`${scene.folder}/made`));
    // The next question is near, but not under the key that is still pressed; then comes the page.
    await scene.page.locator(".question").waitFor({ state: "detached" });
    const has = (selector) => scene.page.locator(`${selector}:focus`).waitFor();
    await has("main");
    const setQuestions = (...ids) => scene.page.evaluate(async (names) => {
      const { changed, state } = await import(document.querySelector("script[type=module]").src.replace("start.js", "store.js"));
      state.questions.splice(0, Infinity, ...names.map((id) => ({ id, options: ["denyOnce"], toolGroup: "shell", resource: id, leftMs: 9999, askedAt: Date.now() })));
      changed("questions");
    }, ids);
    await setQuestions("first", "second");
    await tabTo(scene.page, "Deny");
    await setQuestions("second");
    await has(".question");
    await setQuestions();
    await has("main");
    // And with the mouse: news between the press and the release of its button.
    await scene.page.getByRole("link", { name: "Rules", exact: true }).hover();
    await scene.page.mouse.down();
    await scene.page.evaluate(async () => {
      const { changed, state } = await import(document.querySelector("script[type=module]").src.replace("start.js", "store.js"));
      state.questions.push({ id: "x", options: ["denyOnce"], toolGroup: "shell", resource: "ls", leftMs: 9999, askedAt: Date.now() });
      changed("questions");
    });
    await scene.page.mouse.up();
    await scene.page.getByRole("heading", { name: "Rules" }).waitFor();
    await scene.page.getByRole("link", { name: /^Machine/ }).getByText("1").waitFor();
    await scene.end();
  },

  async "a daemon that was found and thinks is connecting; one that refuses is not asked again"() {
    const daemon = await new WaitingDaemon().open();
    const scene = await (await new Scene("connecting").serve()).browse();
    await scene.page.getByRole("heading", { name: "Connecting…" }).waitFor();
    await scene.page.locator(".spinner").waitFor();
    await scene.page.screenshot({ path: `${pictures}/connecting.png` });
    assert.equal(daemon.offered.url, scene.url);
    assert.match(daemon.offered.token, /^gw_\w{32}$/);
    daemon.release(403);
    await scene.see("its user refused to connect");
    await scene.page.getByRole("button", { name: "Look for it on this computer" }).waitFor();
    await scene.page.reload();
    await scene.page.getByRole("button", { name: "Look for it on this computer" }).waitFor();
    assert.equal(daemon.asked.filter((path) => path === "/connect").length, 1);
    daemon.close();
    await scene.end();
  },

  async "a client of another make, which says no more than 200, is found too; one that is connected is left alone"() {
    for (const health of ["OK", "", "null"]) {
      const daemon = await new WaitingDaemon(health).open();
      const scene = await (await new Scene("other").serve()).browse();
      await scene.page.getByRole("heading", { name: "Connecting…" }).waitFor();
      assert.equal(daemon.offered.url, scene.url);
      daemon.release(200);
      daemon.close();
      await scene.end();
    }
    const daemon = await new WaitingDaemon('{"status":"ok","connected":true}').open();
    const scene = await (await new Scene("taken").serve()).browse();
    const looks = () => scene.page.waitForResponse(`http://127.0.0.1:${DAEMON_PORT}/health`);
    await looks();
    await looks();
    assert.ok(daemon.asked.every((path) => path === "/health"), String(daemon.asked));
    daemon.close();
    await scene.end();
  },

  async "a page of another computer explains the browser's question first, and waits for a click"() {
    const daemon = await new WaitingDaemon().open();
    const scene = await (await new Scene("asks").serve("127.0.0.2:0")).browse();
    await scene.see("Your browser may ask whether the page may reach devices on your local network");
    await scene.page.locator(".command code").first().waitFor();
    await scene.page.screenshot({ path: `${pictures}/local-network.png` });
    assert.deepEqual(daemon.asked, []);
    await scene.click("Look for it on this computer");
    await scene.page.getByRole("heading", { name: "Connecting…" }).waitFor();
    daemon.release(500);
    await scene.see("Connect a machine");
    daemon.close();
    await scene.end();
  },

  async "it waits for no click where the browser was allowed before, unless somebody has disconnected"() {
    for (const known of ["loopback-network", "local-network-access"]) {
      const daemon = await new WaitingDaemon().open();
      const scene = await new Scene("granted").serve("127.0.0.2:0");
      scene.init = `navigator.permissions.query = async ({ name }) => {
        if (name !== ${JSON.stringify(known)}) throw new TypeError("unknown name");
        return { state: "granted" };
      };`;
      await scene.browse();
      await scene.page.getByRole("heading", { name: "Connecting…" }).waitFor();
      daemon.release(403);
      await scene.see("its user refused to connect");
      await scene.page.reload();
      await scene.page.getByRole("button", { name: "Look for it on this computer" }).waitFor();
      assert.equal(daemon.asked.filter((path) => path === "/connect").length, 1);
      daemon.close();
      await scene.end();
    }
  },

  async "the copy button copies, and where that is not allowed it selects"() {
    const scene = await new Scene("copy").serve();
    await scene.browse({ permissions: ["clipboard-read", "clipboard-write"] });
    const command = scene.page.locator(".command").first();
    const text = await command.locator("code").textContent();
    await command.getByRole("button", { name: "Copy" }).click();
    await command.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await scene.page.evaluate(() => navigator.clipboard.readText()), text);
    // As on a page over plain HTTP from another computer.
    await scene.page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await scene.go("/agents");
    await scene.page.getByRole("textbox", { name: "Name" }).fill("robot");
    await scene.click("Create key");
    const shown = scene.page.locator("pre.result");
    const card = scene.page.locator("section", { has: shown });
    await card.getByRole("button", { name: "Copy" }).click();
    await card.getByRole("button", { name: "Press Ctrl+C" }).waitFor();
    assert.equal(await scene.page.evaluate(() => String(getSelection())), await shown.textContent());
    // The choice of a client keeps the focus where it is.
    await card.getByRole("tab", { name: "Codex" }).click();
    await shown.getByText("[mcp_servers.gatehouse]").waitFor();
    assert.equal((await focused(scene.page)).what, "Codex");
    await scene.end();
  },

  async "the desktop is told of a question, once, until it is answered"() {
    const scene = await new Scene("notify").serve();
    scene.init = notingNotifications;
    await (await scene.browse()).connect();
    await scene.click("Notify me when an agent asks");
    await scene.page.getByRole("button", { name: "Notify me when an agent asks" }).waitFor({ state: "detached" });
    await scene.run("create_directory", { dirPath: "made" });
    await scene.page.locator(".question").waitFor();
    const [note] = await scene.page.evaluate(() => window.noted);
    assert.equal(note.title, "Gatehouse: an agent asks");
    assert.match(note.body, /made/);
    assert.ok(note.isOpen);
    await scene.click("Deny");
    await scene.page.locator(".question").waitFor({ state: "detached" });
    assert.deepEqual(await scene.page.evaluate(() => window.noted.map(({ isOpen }) => isOpen)), [false]);
    await scene.end();
  },

  async "a question that was answered on the machine says so"() {
    const scene = await (await new Scene("elsewhere").serve()).browse();
    const words = [gatehouse, "connect", scene.url, await scene.token(), scene.folder, "--filesystem-write-access", "--auto-confirm", "--no-notifications", "--port", "0"];
    const terminal = spawn("script", ["-qec", words.map((word) => `'${word}'`).join(" "), "/dev/null"], { stdio: ["pipe", "ignore", "ignore"], env: { ...process.env, TERM: "dumb", SHELL: "/bin/sh" } });
    scene.daemon = { child: terminal };
    await scene.see("is connected");
    await scene.run("create_directory", { dirPath: "made" });
    await scene.page.locator(".question").waitFor();
    const said = scene.page.getByText("Answered elsewhere: on the machine").waitFor();
    const press = setInterval(() => terminal.stdin.write("\n"), 200); // denied once, the default
    await said;
    clearInterval(press);
    await scene.page.locator(".question").waitFor({ state: "detached" });
    assert.ok(!existsSync(`${scene.folder}/made`));
    await scene.end();
  },

  async "the charts say in words and bars what happened"() {
    const scene = await (await new Scene("charts").serve()).browse();
    await scene.see("Connect a machine");
    // Counted from the middle of this minute, so that none of them slips into another one.
    const now = Math.floor(Date.now() / 60000) * 60000 + 30000;
    const call = (id, minutes, outcome, ms) => ({ id: String(id), at: now - minutes * 60000, agent: "robot", tool: "read_file", what: "a", outcome, ms });
    await scene.page.clock.setFixedTime(now);
    await scene.page.route("**/api/calls", (route) => route.fulfill({ json: { calls: [call(1, 45, "ok", 9), call(2, 10, "ok", 5), call(3, 10, "error", 7000), call(4, 10, "ok", 5), call(5, 2, "denied", 1),
      { ...call(6, 1, "ok", 5), agent: "this page" }] } }));
    await scene.go("/activity");
    await scene.see("6 calls");
    for (const words of ["4 calls of agents in the last 30 minutes, at most 3 a minute", "Half of the calls took at most 5 ms, 95 of 100 at most 7.0 s", "4 done, 1 denied, 1 failed"])
      await scene.page.getByRole("img", { name: words, exact: true }).waitFor();
    const chart = scene.page.getByRole("img", { name: /^4 calls of agents/ });
    const heights = await chart.locator("rect").evaluateAll((bars) => bars.map((bar) => [bar.getAttribute("class"), Number(bar.getAttribute("height"))]).filter(([, height]) => height > 0));
    assert.deepEqual(heights.map(([kind]) => kind), ["", "bad", "bad"]);
    assert.ok(Math.abs(heights[0][1] - 2 * heights[1][1]) < 0.01 && heights[1][1] === heights[2][1], String(heights));
    await scene.see("66 % done");
    await scene.page.screenshot({ path: `${pictures}/charts.png` });
    await scene.end();
  },

  async "the explorer shows pictures, and says what is none"() {
    const scene = new Scene("pictures");
    writeFileSync(`${scene.folder}/logo.png`, png(40, 30));
    writeFileSync(`${scene.folder}/broken.png`, "no picture\n");
    await (await (await scene.serve()).browse()).connect();
    await scene.go("/files");
    await scene.click("logo.png");
    const picture = scene.page.locator(".viewer img");
    await picture.waitFor();
    assert.deepEqual(await picture.evaluate(async (image) => { await image.decode(); return [image.naturalWidth, image.naturalHeight]; }), [40, 30]);
    await scene.see(`image/png, ${readFileSync(`${scene.folder}/logo.png`).length} bytes`);
    assert.equal(await picture.getAttribute("alt") !== null, true);
    await scene.page.screenshot({ path: `${pictures}/picture.png` });
    await scene.click("broken.png");
    await scene.page.locator(".viewer h2", { hasText: "broken.png" }).waitFor();
    await picture.waitFor({ state: "detached" });
    await scene.page.locator(".viewer").getByText("no picture").waitFor();
    await scene.end();
  },

  async "the explorer shows all folders, and offers no change to those that may only be read"() {
    const scene = new Scene("folders");
    const [readable, writable] = ["readable", "writable"].map((name) => `${scene.place}/${name}`);
    for (const folder of [readable, writable]) {
      mkdirSync(`${folder}/inner`, { recursive: true });
      writeFileSync(`${folder}/note.txt`, `in ${folder}\n`);
    }
    await (await (await scene.serve()).browse()).connect("--ro", readable, "--rw", writable, "--permission-filesystem-write", "allow");
    await scene.see(writable);
    await scene.go("/files");
    const folder = (path) => scene.page.getByRole("listitem").filter({ has: scene.page.locator(`> button[title="${path}"]`) });
    const changes = () => scene.page.locator(".viewer").getByRole("button", { name: /Rename|Delete/ }).count();
    await scene.page.getByRole("button", { name: "readable (read only)" }).click();
    await scene.page.locator(".viewer h2", { hasText: readable }).waitFor();
    assert.equal(await changes(), 0);
    await folder(readable).getByRole("button", { name: "note.txt" }).click();
    await scene.page.locator(".viewer").getByText(`in ${readable}`).waitFor();
    assert.equal(await changes(), 0);
    await scene.page.getByRole("button", { name: "writable", exact: true }).click();
    await scene.page.locator(".viewer h2", { hasText: writable }).waitFor();
    assert.equal(await changes(), 0); // of the folder itself
    await folder(writable).getByRole("button", { name: "note.txt" }).click();
    await scene.page.locator(".viewer").getByText(`in ${writable}`).waitFor();
    await scene.page.screenshot({ path: `${pictures}/folders.png` });
    await scene.click("Rename or move");
    await scene.page.getByRole("textbox", { name: "New path" }).fill(`${writable}/inner/moved.txt`);
    await scene.click("Move");
    await scene.see(`Moved to ${writable}/inner/moved.txt`);
    assert.ok(existsSync(`${writable}/inner/moved.txt`) && !existsSync(`${writable}/note.txt`));
    await scene.end();
  },

  async "the explorer follows what an agent changes, and keeps what somebody looks at"() {
    const scene = new Scene("follows");
    const lines = (first) => [first, ...Array.from({ length: 400 }, (_, i) => `line ${i}`)].join("\n");
    writeFileSync(`${scene.folder}/src/long.txt`, lines("first"));
    mkdirSync(`${scene.folder}/src/deep`);
    for (let i = 0; i < 60; i++) writeFileSync(`${scene.folder}/src/deep/file-${i}.txt`, "");
    await (await (await scene.serve()).browse()).connect("--permission-filesystem-write", "allow", "--permission-shell", "allow");
    const agent = await scene.agent("robot");
    const call = async (name, args) => assert.ok(!(await agent.callTool({ name, arguments: args })).isError);
    await scene.go("/files");
    const row = (path) => scene.page.locator(`.tree button[title="${path}"]`);
    const [viewer, code] = [scene.page.locator(".viewer"), scene.page.locator(".viewer pre")];
    await row("src").click();
    await row("src/deep").click();
    await row("src/deep/file-59.txt").waitFor();
    await row("src/long.txt").click();
    await viewer.getByText("line 399", { exact: true }).waitFor();
    const tree = scene.page.locator(".tree");
    await tree.evaluate((element) => { element.scrollTop = 200; });
    await code.evaluate((element) => {
      element.scrollTop = 1000;
      getSelection().selectAllChildren(element.children[60]);
    });
    await row("src/long.txt").focus();
    const selected = await scene.page.evaluate(() => String(getSelection()));
    // A file of another name, which the open folder gets, and new words in the open file.
    await call("write_file", { filePath: "src/new.txt", content: "new\n" });
    await call("edit_file", { filePath: "src/long.txt", oldString: "first", newString: "changed by an agent" });
    await row("src/new.txt").waitFor();
    await viewer.getByText("changed by an agent").waitFor();
    assert.equal(await viewer.getByText("first", { exact: true }).count(), 0);
    assert.equal(await code.evaluate((element) => element.scrollTop), 1000);
    assert.equal(await tree.evaluate((element) => element.scrollTop), 200);
    assert.equal(await scene.page.evaluate(() => String(getSelection())), selected);
    assert.equal(await row("src/long.txt").getAttribute("aria-current"), "true");
    assert.equal((await focused(scene.page)).what, "long.txt");
    assert.ok(await row("src/deep/file-59.txt").isVisible());
    await tree.evaluate((element) => { element.scrollTop = element.scrollHeight; });
    await code.evaluate((element) => { element.scrollTop = 0; });
    await scene.page.screenshot({ path: `${pictures}/files-followed.png` });
    // All other ways to change files, and a command that goes on in the background.
    await call("move", { sourcePath: "src/new.txt", destinationPath: "src/deep/moved.txt" });
    await row("src/deep/moved.txt").waitFor();
    await row("src/new.txt").waitFor({ state: "detached" });
    await call("delete", { path: "src/deep/moved.txt" });
    await row("src/deep/moved.txt").waitFor({ state: "detached" });
    await call("create_directory", { dirPath: `${scene.folder}/made/inner` });
    await row("made").waitFor();
    await call("shell_execute", { command: "mkdir src/by-command; echo by a command > src/long.txt" });
    await row("src/by-command").waitFor();
    await viewer.getByText("by a command").waitFor();
    await call("shell_start", { command: "until [ -e go ]; do sleep 0.1; done; rm src/long.txt; touch late.txt" });
    await call("write_file", { filePath: "all-before.txt", content: "" });
    await row("all-before.txt").waitFor();
    writeFileSync(`${scene.folder}/go`, "");
    await row("late.txt").waitFor();
    await row("src/long.txt").waitFor({ state: "detached" });
    await viewer.locator(".problem").waitFor();
    await call("write_file", { filePath: "src/long.txt", content: "back again\n" });
    await viewer.getByText("back again").waitFor();
    await row("src/long.txt").waitFor();
    await agent.close();
    await scene.end();
  },

  async "the explorer looks again only where something changed, once for many calls"() {
    const scene = new Scene("calm");
    mkdirSync(`${scene.folder}/other`);
    await (await (await scene.serve()).browse()).connect("--permission-filesystem-write", "allow");
    const agent = await scene.agent("robot");
    await scene.go("/files");
    const row = (path) => scene.page.locator(`.tree button[title="${path}"]`);
    await row("src").click();
    await row("src/cart.ts").waitFor();
    let looks = [];
    scene.page.on("request", (request) => {
      if (request.url().endsWith("/api/call")) looks.push(Object.values(request.postDataJSON().arguments)[0]);
    });
    const write = async (filePath) => assert.ok(!(await agent.callTool({ name: "write_file", arguments: { filePath, content: "x" } })).isError);
    for (let i = 0; i < 30; i++) await write(`src/new-${i}.txt`);
    await row("src/new-29.txt").waitFor();
    console.log(`   30 new files: ${looks.length} looks`);
    assert.ok(looks.length <= 15 && looks.every((path) => path === "src"), String(looks));
    // What is in a file that is shown, but not open, nobody sees; nor what is in a folder that is not open.
    looks = [];
    await write("src/new-3.txt");
    await write("other/in-it.txt");
    await write("src/last.txt");
    await row("src/last.txt").waitFor();
    assert.deepEqual(looks, ["src"]);
    await agent.callTool({ name: "delete", arguments: { path: "src/last.txt" } });
    await row("src/last.txt").waitFor({ state: "detached" });
    assert.equal(await scene.page.locator(".tree").innerText().then((text) => text.includes("false")), false);
    await agent.close();
    await scene.end();
  },

  async "the explorer keeps little of what agents change, however much it is and though nobody looks"() {
    const scene = new Scene("much");
    await (await (await scene.serve()).browse()).connect("--permission-filesystem-write", "allow", "--permission-shell", "allow");
    const agent = await scene.agent("robot");
    await scene.page.evaluate(() => {
      const set = Map.prototype.set;
      globalThis.kept = { lists: new Set(), changes: new Set(), most: 0 };
      Map.prototype.set = function (key, value) {
        if (value instanceof HTMLUListElement) kept.lists.add(this);
        if (typeof key === "string" && key.startsWith("gone/") && typeof value === "boolean") kept.most = Math.max(kept.most, this.size + 1);
        return set.call(this, key, value);
      };
    });
    await scene.go("/files");
    const row = (path) => scene.page.locator(`.tree button[title="${path}"]`);
    await row("src").waitFor();
    const call = async (name, args) => assert.ok(!(await agent.callTool({ name, arguments: args })).isError);
    for (let i = 0; i < 3; i++) {
      await call("shell_execute", { command: `rm -rf folder-*; mkdir ${Array.from({ length: 50 }, (_, k) => `folder-${i}-${k}`).join(" ")}` });
      await row(`folder-${i}-49`).waitFor();
    }
    const detached = () => scene.page.evaluate(() => [...kept.lists].flatMap((map) => [...map.values()]).filter((list) => !list.isConnected).length);
    await call("shell_execute", { command: "rm -rf folder-*; touch last" });
    await row("last").waitFor();
    assert.equal(await detached(), 0);
    await scene.page.evaluate(() => Object.defineProperty(document, "hidden", { get: () => true, configurable: true }));
    for (let i = 0; i < 200; i++) await call("write_file", { filePath: `gone/file-${i}`, content: "" });
    await call("write_file", { filePath: "seen", content: "" });
    await scene.page.evaluate(() => {
      delete document.hidden;
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await row("seen").waitFor();
    await row("gone").waitFor();
    assert.ok(await scene.page.evaluate(() => kept.most) <= 64);
    await agent.close();
    await scene.end();
  },

  async "the explorer shows what nobody sees in names, and takes none for markup"() {
    const scene = new Scene("names");
    const [name, shown] = ["<img src=x onerror=window.hurt=1>\u202egnp.exe\n\u200b", "<img src=x onerror=window.hurt=1>\\u{202e}gnp.exe\\u{a}\\u{200b}"];
    writeFileSync(`${scene.folder}/src/${name}`, "words in it\n");
    await (await (await scene.serve()).browse()).connect("--permission-filesystem-write", "allow");
    await scene.go("/files");
    await scene.click("src");
    await scene.page.locator(".tree").getByText(shown, { exact: true }).click();
    await scene.see("words in it");
    await scene.page.locator(".viewer h2").getByText(`src/${shown}`, { exact: true }).waitFor();
    await scene.click("Delete");
    await scene.page.getByRole("dialog").getByText(`Delete “${shown}”?`, { exact: true }).waitFor();
    assert.equal(await scene.page.evaluate(() => window.hurt), undefined);
    await scene.end();
  },

  async "a file that the user had to allow is not read again by itself"() {
    const scene = new Scene("sensitive");
    writeFileSync(`${scene.folder}/.env`, "KEY=first\n");
    await (await (await scene.serve()).browse()).connect("--permission-shell", "allow");
    const agent = await scene.agent("robot");
    await scene.go("/files");
    const row = (path) => scene.page.locator(`.tree button[title="${path}"]`);
    await row(".env").click();
    await scene.click("Allow once");
    await scene.see("KEY=first");
    const tools = [];
    scene.page.on("request", (request) => request.url().endsWith("/api/call") && tools.push(request.postDataJSON().name));
    await agent.callTool({ name: "shell_execute", arguments: { command: "touch new.txt" } });
    await row("new.txt").waitFor();
    assert.deepEqual(tools, ["list_files"]);
    assert.equal(await scene.page.locator(".question").count(), 0);
    await agent.close();
    await scene.end();
  },

  async "lines that look like the head of a diff are lines"() {
    const scene = await all("heads");
    writeFileSync(`${scene.folder}/list.md`, "one\n-- two\nthree\n");
    await scene.run("write_file", { filePath: "list.md", content: "one\n++ deux\nthree\n" });
    await scene.page.locator(".question .added", { hasText: "+++ deux" }).waitFor();
    await scene.page.locator(".question .removed", { hasText: "--- two" }).waitFor();
    assert.deepEqual(await scene.page.locator(".question .diff .hunk").allTextContents(), ["--- a/list.md", "+++ b/list.md", "@@ -1,3 +1,3 @@"]);
    await scene.click("Deny");
    await scene.end();
  },

  async "a copy is applied whole, also when the tab is closed meanwhile"() {
    const scene = new Scene("closed");
    const copy = `${scene.place}/state-workspaces/fix`;
    execFileSync(gatehouse, ["workspace", "new", "--state-dir", `${scene.place}/state`, "--name", "fix", scene.folder], { stdio: "ignore" });
    const names = Array.from({ length: 300 }, (_, i) => `new-${i}.txt`);
    for (const name of names) writeFileSync(`${copy}/${name}`, `${name}\n`);
    await (await scene.serve("127.0.0.1:0", "--copies")).browse();
    const boxes = () => scene.page.getByRole("region", { name: "Changes in fix" }).getByRole("checkbox").count();
    const show = async () => {
      await scene.go("/copies");
      await scene.page.getByRole("button", { name: "Show the changes in fix" }).click();
      await scene.page.getByRole("heading", { name: "Changes in fix" }).waitFor();
    };
    await show();
    // What is still being changed has no box; then it must be looked at again.
    for (let tries = 0; (await boxes()) < names.length; tries++) {
      assert.ok(tries < 100);
      const look = await scene.page.getByRole("button", { name: "Look again" }).elementHandle();
      await look.click();
      await look.waitForElementState("hidden");
    }
    await scene.click("Apply 300 chosen changes");
    const sent = scene.page.waitForRequest("**/apply");
    await scene.page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
    await sent;
    await scene.page.close();
    await scene.openTab();
    await scene.page.goto(scene.url);
    // The server goes on with it.
    const deadline = Date.now() + PATIENCE;
    for (;;) {
      await show();
      if ((await boxes()) === 0 && (await scene.page.getByText("Nothing was changed.").count()) > 0) break;
      assert.ok(Date.now() < deadline);
    }
    for (const name of names) assert.equal(readFileSync(`${scene.folder}/${name}`, "utf8"), `${name}\n`);
    await scene.click("Undo the last apply");
    await scene.page.getByRole("dialog").getByRole("button", { name: "Undo" }).click();
    await scene.see("Took back 300 changes.");
    assert.ok(names.every((name) => !existsSync(`${scene.folder}/${name}`)));
    await scene.end();
  },
});
