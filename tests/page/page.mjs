// A person uses the page: in a real browser, with a real server and a real daemon.
//
//     node page.mjs GATEHOUSE BROWSER PICTURES ROOM PATIENCE [--details] [CASE...]
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { chromium } from "playwright-core";
import { details } from "./details.mjs";

const [gatehouse, browserPath, pictures, room, patienceText, ...wanted] = process.argv.slice(2);
const isDetails = wanted[0] === "--details";
if (isDetails) wanted.shift();
const PATIENCE = Number(patienceText) / 5;
const CLOSING_MS = 10_000;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const PASSWORD = "correct horse battery";
const running = new Set();

// Resolves to { text } when the program has printed something that matches.
function start(words, pattern) {
  const child = spawn(gatehouse, words, { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  running.add(child);
  child.once("exit", () => running.delete(child));
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no ${pattern} in: ${text}`)), PATIENCE);
    const take = (bytes) => {
      text += bytes;
      const match = text.match(pattern);
      if (match) {
        clearTimeout(late);
        resolve({ child, match, text: () => text });
      }
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.once("exit", (code) => reject(new Error(`gatehouse ${words[0]} ended with ${code}: ${text}`)));
  });
}

function stop(child) {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", resolve);
    child.kill("SIGTERM");
  });
}

// One server with its state, its folder, and a browser that is logged in.
class Scene {
  constructor(name) {
    this.place = `${room}/${name}`;
    this.folder = `${this.place}/shop`;
    mkdirSync(`${this.folder}/src`, { recursive: true });
    writeFileSync(`${this.folder}/README.md`, "# Shop\n");
    writeFileSync(`${this.folder}/paper.pdf`, "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]>>endobj\ntrailer<</Root 1 0 R>>\n");
    writeFileSync(`${this.folder}/src/cart.ts`, '// The cart\nexport const total = (items) => items.length * 2; // "two"\n');
  }

  async serve(listen = "127.0.0.1:0", ...more) {
    this.server = await start(["serve", "--listen", listen, "--state-dir", `${this.place}/state`, ...more], /running at (https?:\/\/\S+)[^]*?(\/login\?token=\S+|Sign in at)/);
    this.url = this.server.match[1];
    this.login = this.server.match[2].startsWith("/") ? this.url + this.server.match[2] : this.url;
    this.listen = new URL(this.url).host;
    return this;
  }

  user(...words) {
    return execFileSync(gatehouse, ["user", "--state-dir", `${this.place}/state`, ...words], { input: `${PASSWORD}\n`, encoding: "utf8" });
  }

  change(statement) {
    execFileSync("python3", ["-c", "import sqlite3, sys\nwith sqlite3.connect(sys.argv[1], timeout=30) as db: db.execute(sys.argv[2])",
      `${this.place}/state/server/server.db`, statement]);
  }

  // Time passes.
  age(column, days) {
    this.change(`UPDATE logins SET ${column}=${column}-${days * 86400000}`);
  }

  async signIn(name, password = PASSWORD) {
    await this.page.getByLabel("Name").fill(name);
    await this.page.getByLabel("Password", { exact: true }).fill(password);
    await this.click("Sign in");
  }

  async token() {
    const link = await this.page.evaluate(async () => (await fetch("/rest/instance-ai/gateway/create-link", { method: "POST", headers: { "X-Gatehouse-Request": "1" } })).json());
    return link.data.token;
  }

  async connect(...more) {
    this.daemon = await start(["connect", this.url, await this.token(), this.folder, "--filesystem-write-access", "--permission-shell", "ask",
      "--permission-confirmation", "instance", "--auto-confirm", "--non-interactive", "--port", "0", ...more], /connected folder=/);
    return this;
  }

  async browse(options = {}) {
    this.context = await browser.newContext({ viewport: { width: 1180, height: 800 }, ...options });
    this.problems = [];
    await this.openTab();
    await this.page.goto(this.login);
    return this;
  }

  async openTab() {
    this.page = await this.context.newPage();
    this.page.setDefaultTimeout(PATIENCE);
    if (this.init) await this.page.addInitScript(this.init);
    this.page.on("pageerror", (error) => this.problems.push(error.message));
    this.page.on("console", (message) => {
      // What a request was refused with, or a server that restarts, is no mistake of the page.
      if (message.type() === "error" && !/Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE/.test(message.text())) this.problems.push(message.text());
    });
  }

  // At times Chromium never gets from one question of an app to the next; another tab does.
  async visit(address) {
    for (let left = 2; ; left--)
      try {
        return await this.page.goto(address, { timeout: PATIENCE / 4 });
      } catch (problem) {
        if (problem.name !== "TimeoutError" || left === 0) throw problem;
        console.log(`   Chromium hangs on its way to ${address}`);
        await this.openTab();
      }
  }

  go(path) {
    return this.page.goto(`${this.url}/#${path}`);
  }

  see(text) {
    return this.page.getByText(text).first().waitFor();
  }

  click(name) {
    return this.page.getByRole("button", { name, exact: true }).first().click();
  }

  async run(tool, fields) {
    await this.go("/tools");
    await this.page.locator(".list").getByRole("button", { name: tool, exact: true }).click();
    for (const [name, value] of Object.entries(fields)) await this.page.locator(`[name="${name}"]`).fill(value);
    await this.click("Run");
  }

  // An agent with a key of its own.
  async agent(name) {
    await this.go("/agents");
    await this.page.getByRole("textbox", { name: "Name" }).fill(name);
    await this.click("Create key");
    const key = (await this.page.locator("pre.result").textContent()).match(/gha_\w+/)[0];
    const client = new Client({ name, version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${this.url}/mcp`), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }));
    return client;
  }

  async end() {
    assert.deepEqual(this.problems ?? [], []);
    // A tab that Chromium leaves for somewhere else at this moment may never be closed; its browser is killed after the case.
    if (this.context) await Promise.race([this.context.close(), new Promise((resolve) => setTimeout(resolve, CLOSING_MS))]);
    if (this.daemon) await stop(this.daemon.child);
    if (this.server) await stop(this.server.child);
    rmSync(this.place, { recursive: true, force: true });
  }
}

// A program that connects by OAuth: MCP's own client, and a port to which the browser returns.
class App {
  constructor(scene, name) {
    Object.assign(this, { scene, name, verifier: "", sent: [] });
  }

  async open() {
    this.returned = new Promise((resolve) => {
      this.port = createServer((request, response) => {
        response.setHeader("Connection", "close");
        response.end("<!doctype html><title>Back</title><p>Back in the app.");
        const url = new URL(request.url, "http://app");
        if (url.pathname === "/callback") resolve(Object.fromEntries(url.searchParams));
      }).listen(0, "127.0.0.1");
    });
    await new Promise((resolve) => this.port.once("listening", resolve));
    return this;
  }

  // What the client asks of its program.
  get redirectUrl() { return `http://127.0.0.1:${this.port.address().port}/callback`; }
  get clientMetadata() { return { client_name: this.name, redirect_uris: [this.redirectUrl], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], token_endpoint_auth_method: "none" }; }
  state() { return "the app's state & more"; }
  clientInformation() { return this.registered; }
  saveClientInformation(registered) { this.registered = registered; }
  tokens() { return this.granted; }
  saveTokens(granted) { this.granted = granted; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
  redirectToAuthorization(url) { this.sent.push(url.href); }

  async connect() {
    this.client = new Client({ name: "app", version: "1" });
    this.transport = new StreamableHTTPClientTransport(new URL(`${this.scene.url}/mcp`), { authProvider: this });
    await this.client.connect(this.transport);
  }

  async close() {
    await this.client?.close();
    this.port.close();
  }
}

// One for each case: after some, Chromium rarely opens no more tabs, and does not even close.
let browser;
let chromiumServer;
async function launch() {
  chromiumServer = await chromium.launchServer({ executablePath: browserPath, args: process.getuid() === 0 ? ["--no-sandbox"] : [] });
  browser = await chromium.connect(chromiumServer.wsEndpoint());
}

async function all(name, ...more) {
  return (await (await new Scene(name).serve()).browse()).connect(...more);
}

const cases = {
  async "a newcomer logs in, connects a machine and sees it"() {
    const scene = await (await new Scene("first").serve()).browse();
    await scene.see("Connect a machine");
    const command = await scene.page.locator(".command code").first().textContent();
    assert.match(command, new RegExp(`^gatehouse connect ${scene.url} gw_\\w{32}$`));
    await scene.page.screenshot({ path: `${pictures}/set-up.png` });
    await scene.connect();
    await scene.see("is connected");
    await scene.see(scene.folder);
    await scene.page.reload();
    await scene.see("is connected");
    await scene.page.screenshot({ path: `${pictures}/connected.png` });
    await scene.click("Disconnect");
    await scene.page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
    await scene.see("Connect a machine");
    await scene.click("Sign out");
    await scene.see("Open the login link");
    await scene.end();
  },

  async "copies of projects: what was changed is shown, applied and taken back"() {
    const scene = new Scene("copies");
    const copy = `${scene.place}/state-workspaces/fix`;
    execFileSync(gatehouse, ["workspace", "new", "--state-dir", `${scene.place}/state`, "--name", "fix", scene.folder], { stdio: "ignore" });
    await (await scene.serve("127.0.0.1:0", "--copies")).browse();
    await scene.page.getByRole("link", { name: "Copies" }).click();
    await scene.page.getByRole("button", { name: "Show the changes in fix" }).click();
    await scene.see("Nothing was changed.");
    const evil = "<img src=x onerror=window.hurt=1>\u202e";
    writeFileSync(`${copy}/src/cart.ts`, `// ${evil}\n`);
    writeFileSync(`${copy}/${evil}`, "new\n");
    writeFileSync(`${copy}/README.md`, "# Of the agent\n");
    writeFileSync(`${scene.folder}/README.md`, "# Mine\n");
    const changes = scene.page.getByRole("region", { name: "Changes in fix" });
    // What is still being changed has no box; then it must be looked at again.
    for (let tries = 0; (await changes.getByRole("checkbox").count()) < 3; tries++) {
      assert.ok(tries < 100);
      const look = await scene.page.getByRole("button", { name: "Look again" }).elementHandle();
      await look.click();
      await look.waitForElementState("hidden"); // all of it is drawn again
    }
    const cart = changes.getByText("src/cart.ts", { exact: true });
    await cart.click();
    await changes.locator(".added").getByText("// <img src=x onerror=window.hurt=1>\\u{202e}").waitFor();
    await changes.getByText("<img src=x onerror=window.hurt=1>\\u{202e}").first().waitFor();
    await changes.getByText("conflict: your file has changed since the copy").waitFor();
    assert.equal(await changes.getByLabel("Apply README.md").isChecked(), false);
    for (const [colorScheme, width] of [["dark", 390], ["light", 1180]]) {
      await scene.page.emulateMedia({ colorScheme });
      await scene.page.setViewportSize({ width, height: 800 });
      await scene.page.screenshot({ path: `${pictures}/copies-${colorScheme}.png`, fullPage: true });
      await scene.page.evaluate(axe);
      assert.deepEqual((await scene.page.evaluate(() => axe.run())).violations.filter((each) => ["serious", "critical"].includes(each.impact)), []);
      assert.ok((await scene.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
    }
    // A script's click is none.
    await scene.page.evaluate(() => [...document.querySelectorAll("button")].find((each) => each.textContent.startsWith("Apply")).click());
    assert.equal(await scene.page.getByRole("dialog").count(), 0);
    await changes.getByLabel(/^Apply <img/).uncheck();
    await scene.click("Apply 1 chosen change");
    await scene.page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
    await scene.see("Applied 1 change.");
    assert.equal(readFileSync(`${scene.folder}/src/cart.ts`, "utf8"), `// ${evil}\n`);
    assert.equal(readFileSync(`${scene.folder}/README.md`, "utf8"), "# Mine\n");
    assert.ok(!existsSync(`${scene.folder}/${evil}`));
    // What has changed since it was shown is not applied.
    await cart.waitFor({ state: "detached" });
    writeFileSync(`${copy}/${evil}`, "other\n");
    await scene.click("Apply 1 chosen change");
    await scene.page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
    await scene.see("look at the changes again");
    assert.ok(!existsSync(`${scene.folder}/${evil}`));
    await scene.click("Undo the last apply");
    await scene.page.getByRole("dialog").getByRole("button", { name: "Undo" }).click();
    await scene.see("Took back 1 change.");
    assert.match(readFileSync(`${scene.folder}/src/cart.ts`, "utf8"), /^\/\/ The cart\n/);
    assert.equal(await scene.page.evaluate(() => window.hurt), undefined);
    await scene.end();
    rmSync(`${scene.place}/state-workspaces`, { recursive: true, force: true });
  },

  async "tools are found by their names"() {
    const scene = await all("tools");
    await scene.go("/tools");
    const field = scene.page.locator('[name="dirPath"]'); // of the first tool
    await field.fill("src");
    await scene.page.getByLabel("Find a tool").fill("FILE write");
    // What was typed stays when the page asks for the state again.
    await scene.page.evaluate(async () => (await import("/js/store.js")).reload());
    assert.equal(await field.inputValue(), "src");
    const shown = scene.page.locator(".list button:visible");
    await scene.page.getByRole("region", { name: "Commands" }).waitFor({ state: "hidden" });
    assert.deepEqual(await shown.allTextContents(), ["write_file"]);
    await shown.click();
    await scene.page.getByRole("heading", { name: "write_file" }).waitFor();
    await scene.end();
  },

  async "a login link works once, and nobody else gets in"() {
    const scene = await (await new Scene("login").serve()).browse();
    await scene.page.goto(scene.login); // again, by who is signed in
    await scene.see("Connect a machine");
    const other = await browser.newContext();
    const page = await other.newPage();
    page.setDefaultTimeout(PATIENCE);
    assert.equal((await page.goto(scene.login)).status(), 403);
    await page.getByRole("alert").getByText("was used before or has expired").waitFor();
    await page.locator(".login .command", { hasText: "gatehouse user login-link" }).getByRole("button", { name: "Copy" }).waitFor();
    await page.screenshot({ path: `${pictures}/link-used.png` });
    await page.reload();
    await page.getByText("Open the login link").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    await page.locator(".login .command", { hasText: "gatehouse user login-link" }).getByRole("button", { name: "Copy" }).waitFor();
    for (const path of ["/api/state", "/api/events", "/api/agents"]) assert.equal((await page.request.get(scene.url + path)).status(), 401);
    await other.close();
    // The cookie alone changes nothing: a form of another site would bring it, too.
    const forged = await scene.page.request.post(`${scene.url}/api/agents`, { data: { name: "x" } });
    assert.equal(forged.status(), 403);
    // A login that ends takes its event stream along.
    const ended = scene.page.evaluate(() => new Promise((resolve) => {
      const own = new EventSource("/api/events");
      own.onerror = () => resolve("ended");
      own.onopen = () => fetch("/logout", { method: "POST", headers: { "X-Gatehouse-Request": "1" } });
    }));
    assert.equal(await ended, "ended");
    await scene.page.reload();
    await scene.see("Open the login link");
    await scene.end();
  },

  async "two users sign in with passwords, and neither sees the other"() {
    const scene = new Scene("users");
    const evil = "<img/src=x/onerror=window.hurt=1>";
    for (const name of ["anna", evil]) scene.user("add", name);
    await (await scene.serve()).browse();
    await scene.signIn("anna", "not her password");
    await scene.see("Wrong name or password.");
    await scene.page.screenshot({ path: `${pictures}/sign-in.png` });
    await scene.page.evaluate(axe);
    assert.deepEqual((await scene.page.evaluate(() => axe.run())).violations.filter((each) => ["serious", "critical"].includes(each.impact)), []);
    await scene.signIn("anna");
    await scene.see("Connect a machine");
    await scene.page.locator("#who").getByText("anna").waitFor();
    await scene.connect();
    await scene.see("is connected");
    const other = new Scene("users-other");
    Object.assign(other, { url: scene.url, login: scene.url });
    await other.browse();
    await other.signIn(evil);
    await other.see("Connect a machine");
    assert.equal(await other.page.locator("#who a").textContent(), evil);
    // A question of anna's machine appears on her page only.
    await scene.run("write_file", { filePath: "x", content: "y" });
    await scene.page.locator(".question").waitFor();
    await other.go("/activity");
    await other.page.locator("main > *").first().waitFor();
    assert.equal(await other.page.locator(".question").count(), 0);
    assert.equal(await other.page.getByText("write_file").count(), 0);
    await scene.click("Deny");
    await other.go("/account");
    await other.see("this browser");
    assert.equal(await other.page.locator("h1").textContent(), evil);
    assert.equal(await other.page.evaluate(() => window.hurt), undefined);
    await other.end();
    await scene.end();
  },

  async "sessions are listed, and end by a click or by themselves"() {
    const scene = new Scene("sessions");
    scene.user("add", "anna");
    await (await scene.serve()).browse();
    await scene.signIn("anna");
    await scene.see("Connect a machine");
    const second = await browser.newContext({ userAgent: "<b>Firefox</b> Linux" });
    const page = await second.newPage();
    page.setDefaultTimeout(PATIENCE);
    await page.goto(scene.url);
    await page.getByLabel("Name").fill("anna");
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Connect a machine").first().waitFor();
    await scene.go("/account");
    const row = scene.page.locator("tr", { hasText: "Firefox on Linux" });
    await row.waitFor();
    await scene.page.screenshot({ path: `${pictures}/account.png` });
    await row.getByRole("button", { name: "End" }).click();
    await scene.page.getByRole("dialog").getByRole("button", { name: "End" }).click();
    await row.waitFor({ state: "detached" });
    // Its page notices without anybody touching it.
    await page.getByLabel("Password", { exact: true }).waitFor();
    await second.close();
    await scene.see("this browser");
    // Time passes, and the page asks again who this is.
    scene.age("used_ms", 8);
    await scene.page.getByLabel("Password", { exact: true }).waitFor();
    assert.equal(await scene.page.getByText("this browser").count(), 0);
    await scene.signIn("anna");
    await scene.see("this browser");
    scene.age("created_ms", 31);
    await scene.page.getByLabel("Password", { exact: true }).waitFor();
    await scene.signIn("anna");
    await scene.see("this browser");
    await scene.click("Sign out");
    await scene.page.getByLabel("Password", { exact: true }).waitFor();
    await scene.end();
  },

  async "a user gives herself another password"() {
    const scene = new Scene("password");
    scene.user("add", "anna");
    await (await scene.serve()).browse();
    await scene.signIn("anna");
    await scene.see("Connect a machine");
    await scene.go("/account");
    const fill = async (current, wanted, again) => {
      await scene.page.getByLabel("Current password").fill(current);
      await scene.page.getByLabel("New password, of at least 8 characters").fill(wanted);
      await scene.page.getByLabel("New password again").fill(again);
      await scene.click("Change password");
    };
    await fill(PASSWORD, "another long one", "another lond one");
    await scene.see("The new password and its repetition differ.");
    await fill("not her password", "another long one", "another long one");
    await scene.see("That is not your current password.");
    await scene.page.screenshot({ path: `${pictures}/password.png`, fullPage: true });
    await fill(PASSWORD, "another long one", "another long one");
    await scene.see("Your password is changed");
    assert.equal(await scene.page.getByLabel("Current password").inputValue(), "");
    await scene.see("this browser");
    await scene.click("Sign out");
    await scene.signIn("anna");
    await scene.see("Wrong name or password.");
    await scene.signIn("anna", "another long one");
    await scene.see("this browser");
    await scene.end();
  },

  async "the page works over HTTPS"() {
    const scene = new Scene("https");
    execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
      "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", `${scene.place}/key.pem`, "-out", `${scene.place}/cert.pem`], { stdio: "ignore" });
    await (await scene.serve("127.0.0.1:0", "--tls-cert", `${scene.place}/cert.pem`, "--tls-key", `${scene.place}/key.pem`)).browse({ ignoreHTTPSErrors: true });
    assert.match(scene.url, /^https:/);
    await scene.see("Connect a machine");
    const [cookie] = await scene.context.cookies();
    assert.deepEqual([cookie.name, cookie.secure, cookie.httpOnly, cookie.sameSite], ["__Host-gatehouse_session", true, true, "Strict"]);
    await scene.click("Sign out");
    await scene.see("Open the login link");
    await scene.end();
  },

  async "a question shows what would change, and the answer counts"() {
    const scene = await all("question");
    await scene.run("write_file", { filePath: "src/cart.ts", content: "export const total = 1;\n" });
    await scene.page.locator(".question .removed").first().waitFor();
    await scene.page.locator(".question .added", { hasText: "total = 1" }).waitFor();
    await scene.page.locator(".question").getByText(/^[12]:\d\d left$/).waitFor();
    assert.match(await scene.page.title(), /^\(1\)/);
    await scene.page.screenshot({ path: `${pictures}/question.png` });
    await scene.click("Deny");
    await scene.see("Refused or failed");
    assert.match(readFileSync(`${scene.folder}/src/cart.ts`, "utf8"), /The cart/);
    await scene.click("Run");
    await scene.click("Allow once");
    await scene.see("Done in");
    assert.equal(readFileSync(`${scene.folder}/src/cart.ts`, "utf8"), "export const total = 1;\n");
    // A script's click is not the user's.
    await scene.click("Run");
    await scene.page.locator(".question").waitFor();
    await scene.page.evaluate(() => [...document.querySelectorAll(".question button")].find((button) => button.textContent === "Allow once").click());
    await scene.page.locator(".question").waitFor();
    await scene.click("Deny");
    await scene.end();
  },

  async "a dialog does not keep a question from being answered, and closes with its page"() {
    const scene = await all("dialogs");
    const dialog = scene.page.getByRole("dialog");
    const ask = (dirPath) => scene.page.evaluate((path) => void fetch("/api/call", { method: "POST", headers: { "X-Gatehouse-Request": "1", "Content-Type": "application/json" }, body: JSON.stringify({ name: "create_directory", arguments: { dirPath: path } }) }), dirPath);
    await scene.go("/files");
    await scene.click("New file");
    await dialog.getByRole("textbox").fill("half typed");
    for (const [path, answer] of [["first", "Allow once"], ["second", "Deny"]]) {
      await ask(path);
      await scene.page.locator(".question").waitFor();
      await scene.page.screenshot({ path: `${pictures}/dialog-question.png` });
      await scene.click(answer);
      await scene.page.locator(".question").waitFor({ state: "detached" });
    }
    assert.ok(existsSync(`${scene.folder}/first`) && !existsSync(`${scene.folder}/second`));
    assert.equal(await dialog.getByRole("textbox").inputValue(), "half typed");
    await ask("third");
    await scene.page.locator("dialog .question").waitFor();
    await scene.go("/activity");
    await dialog.waitFor({ state: "detached" });
    await scene.click("Allow once"); // on the page again
    await scene.page.locator(".question").waitFor({ state: "detached" });
    await scene.page.locator(".entry").first().click();
    await dialog.waitFor();
    await scene.page.goBack();
    await dialog.waitFor({ state: "detached" });
    await scene.end();
  },

  async "a question in two tabs is answered once"() {
    const scene = await all("tabs");
    const second = await scene.context.newPage();
    await second.goto(scene.url);
    await scene.run("create_directory", { dirPath: "new" });
    await second.getByRole("button", { name: "Allow once" }).click();
    await scene.see("Done in");
    await scene.page.locator(".question").waitFor({ state: "detached" });
    assert.ok(existsSync(`${scene.folder}/new`));
    await scene.end();
  },

  async "events that overtake the state are not lost"() {
    const scene = await (await new Scene("late").serve()).browse();
    await scene.see("Connect a machine");
    let release, hasState;
    const connected = new Promise((resolve) => { release = resolve; });
    const fetched = new Promise((resolve) => { hasState = resolve; });
    await scene.page.route("**/api/state", async (route) => {
      const response = await route.fetch().catch(() => null);
      if (response === null) return route.abort();
      hasState();
      await connected;
      await route.fulfill({ response });
    });
    // The page asks for the state again when its event stream is back.
    await stop(scene.server.child);
    await scene.serve(scene.listen);
    await fetched;
    await scene.connect();
    release();
    await scene.go("/tools");
    await scene.page.locator(".list").getByRole("button", { name: "read_file", exact: true }).waitFor();
    await scene.end();
  },

  async "file tools can be switched off and on"() {
    const scene = await all("toggle");
    const { key } = await scene.page.evaluate(async () => (await fetch("/api/agents", { method: "POST", headers: { "X-Gatehouse-Request": "1", "Content-Type": "application/json" }, body: JSON.stringify({ name: "robot", groups: null, workspace: "", asks: [] }) })).json());
    await scene.page.getByRole("switch").click();
    await scene.see("File tools are switched off; commands, browser stay on");
    await scene.go("/files");
    await scene.see("switched off");
    // An agent learns who did that, so that it does not send its user to the options of the start.
    const agent = await fetch(`${scene.url}/mcp`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "read_file" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "read_file", arguments: { filePath: "README.md" }, _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/clientInfo": { name: "robot", version: "1" } } } }),
    });
    assert.match(await agent.text(), /your user has switched the file tools off on Gatehouse's page/);
    await scene.go("/");
    await scene.page.getByRole("switch").click();
    await scene.see("Agents may use the file tools");
    // News in the middle of a click does not lose it.
    await scene.page.getByRole("button", { name: "Disconnect" }).hover();
    await scene.page.mouse.down();
    await scene.page.evaluate(async () => (await import(document.querySelector("script[type=module]").src.replace("start.js", "store.js"))).changed("status"));
    await scene.page.mouse.up();
    await scene.see("Disconnect this machine?");
    await scene.end();
  },

  async "the explorer shows, creates, renames, deletes"() {
    const scene = await all("files", "--permission-filesystem-write", "allow");
    await scene.go("/files");
    await scene.page.getByRole("button", { name: "src", exact: true }).click();
    await scene.click("cart.ts");
    await scene.page.locator(".hl-c", { hasText: "The cart" }).waitFor();
    await scene.page.screenshot({ path: `${pictures}/files.png` });
    await scene.click("paper.pdf");
    await scene.page.getByRole("link", { name: "Download" }).waitFor();
    assert.equal(await scene.page.getByRole("link", { name: "Download" }).getAttribute("download"), "paper.pdf");
    await scene.page.locator("iframe.document").waitFor();
    await scene.click("New file");
    await scene.page.getByRole("textbox", { name: "New file" }).fill("a.txt");
    await scene.click("Create");
    await scene.see("Created a.txt");
    assert.ok(existsSync(`${scene.folder}/a.txt`));
    await scene.click("Rename or move");
    await scene.page.getByRole("textbox", { name: "New path" }).fill("b.txt");
    await scene.click("Move");
    await scene.see("Moved to b.txt");
    assert.ok(existsSync(`${scene.folder}/b.txt`) && !existsSync(`${scene.folder}/a.txt`));
    await scene.click("b.txt");
    await scene.click("Delete");
    await scene.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await scene.see("Deleted b.txt");
    assert.ok(!existsSync(`${scene.folder}/b.txt`));
    await scene.click("Undo");
    await scene.see("Undone");
    assert.ok(existsSync(`${scene.folder}/b.txt`));
    await scene.end();
  },

  async "with nothing to undo, Undo says so and asks nobody"() {
    const scene = await all("nothing");
    await scene.go("/files");
    await scene.click("Undo");
    await scene.see("Nothing to undo");
    // What the page did for itself is no agent's doing.
    await scene.go("/");
    await scene.see("this page: ");
    await scene.page.getByRole("img", { name: /^0 calls of agents/ }).waitFor();
    assert.equal(await scene.page.locator(".question").count(), 0);
    await scene.end();
  },

  async "an agent's key is shown once, works, asks here, and is revoked"() {
    const scene = await all("agents");
    await scene.go("/agents");
    await scene.page.getByRole("textbox", { name: "Name" }).fill("robot");
    await scene.click("Create key");
    const text = await scene.page.locator("pre.result").textContent();
    const key = text.match(/gha_\w+/)[0];
    await scene.page.screenshot({ path: `${pictures}/agents.png` });
    const call = (name, args) => fetch(`${scene.url}/mcp`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args, _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/clientInfo": { name: "robot", version: "1" } } } }),
    });
    const read = await (await call("read_file", { filePath: "README.md" })).text();
    assert.match(read, /# Shop/);
    const writing = call("write_file", { filePath: "made.txt", content: "by a robot" });
    await scene.see("robot asks");
    await scene.click("Allow once");
    assert.doesNotMatch(await (await writing).text(), /isError":true/);
    assert.equal(readFileSync(`${scene.folder}/made.txt`, "utf8"), "by a robot");
    await scene.go("/activity");
    await scene.page.getByLabel("Filter calls").fill("robot made");
    await scene.page.locator(".entry", { hasText: "write_file" }).waitFor();
    await scene.page.screenshot({ path: `${pictures}/activity.png` });
    await scene.go("/agents");
    await scene.click("Revoke");
    await scene.page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await scene.see("No agent has a key yet");
    assert.equal((await call("read_file", { filePath: "README.md" })).status, 401);
    await scene.end();
  },

  async "an agent gets a workspace, which is shown and stopped"() {
    // Nobody is there: what the page shows does not depend on it.
    Object.assign(process.env, { N8N_SANDBOX_SERVICE_URL: "http://127.0.0.1:9", N8N_SANDBOX_SERVICE_API_KEY: "of-nobody-at-all" });
    const scene = await new Scene("workspaces").serve("127.0.0.1:0", "--workspace", "n8n-sandbox");
    delete process.env.N8N_SANDBOX_SERVICE_URL;
    delete process.env.N8N_SANDBOX_SERVICE_API_KEY;
    await scene.browse();
    await scene.go("/agents");
    await scene.page.getByRole("textbox", { name: "Name" }).fill("builder");
    await scene.page.getByRole("checkbox", { name: "Browser" }).waitFor();
    await scene.page.getByLabel("Where it works").selectOption("n8n-sandbox");
    await scene.page.getByRole("checkbox", { name: "Browser" }).waitFor({ state: "hidden" });
    await scene.page.getByRole("group", { name: "Asks you first" }).getByRole("checkbox", { name: "Commands" }).check();
    await scene.click("Create key");
    const key = (await scene.page.locator("pre.result").textContent()).match(/gha_\w+/)[0];
    await scene.see("Read files, Change files, Commands, in a workspace (n8n-sandbox); asks you first: Commands");
    const transport = new StreamableHTTPClientTransport(new URL(`${scene.url}/mcp`), { requestInit: { headers: { Authorization: `Bearer ${key}` } } });
    const client = new Client({ name: "builder", version: "1" });
    await client.connect(transport);
    assert.equal((await client.listTools()).tools.length, 13);
    const call = client.callTool({ name: "list_files", arguments: {} }).catch((problem) => problem);
    const card = scene.page.getByRole("region", { name: "Workspaces" });
    await card.locator("tr", { hasText: "builder" }).waitFor();
    await scene.page.screenshot({ path: `${pictures}/workspaces.png`, fullPage: true });
    await card.getByRole("button", { name: "Stop" }).click();
    await scene.page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
    await card.waitFor({ state: "hidden" });
    await call;
    await client.close();
    await scene.end();
  },

  async "an app gets a token by OAuth after a click, may do what was allowed, and is revoked"() {
    const scene = await all("oauth", "--permission-filesystem-write", "allow");
    const name = "<img src=x onerror=window.hurt=1> & Sons";
    const app = await new App(scene, name).open();
    await assert.rejects(app.connect(), UnauthorizedError);
    const [asked] = app.sent;
    await scene.page.goto(asked);
    await scene.see("An app asks for access to your machine");
    assert.equal(await scene.page.locator(".consent .name").textContent(), name);
    await scene.see("127.0.0.1");
    for (const colorScheme of ["light", "dark"])
      for (const [width, height] of [[1180, 800], [390, 780]]) {
        await scene.page.emulateMedia({ colorScheme });
        await scene.page.setViewportSize({ width, height });
        await scene.page.screenshot({ path: `${pictures}/${colorScheme}-${width}-consent.png` });
        await scene.page.evaluate(axe);
        const { violations } = await scene.page.evaluate(() => axe.run());
        assert.deepEqual(violations.filter((each) => ["serious", "critical"].includes(each.impact)).map((each) => `${each.id} ${each.nodes[0].html}`), []);
      }
    await scene.page.emulateMedia({ colorScheme: "light" });
    await scene.page.setViewportSize({ width: 1180, height: 800 });
    assert.equal(await scene.page.evaluate(() => window.hurt), undefined);
    for (const group of ["Commands", "Browser", "Screen and input", "Other tools", "Change files"]) await scene.page.getByLabel(group).uncheck();
    // A script's click is not the user's, and a click counts only when the page was in sight for a while.
    const allow = scene.page.getByRole("button", { name: "Allow", exact: true });
    await scene.page.locator(".consent .primary:enabled").waitFor();
    await scene.page.evaluate(() => document.querySelector(".consent .primary").click());
    assert.ok(await allow.isEnabled());
    await allow.click();
    await scene.see("Back in the app.");
    const back = await app.returned;
    assert.deepEqual([back.state, back.iss], ["the app's state & more", scene.url]);
    await app.transport.finishAuth(back.code);
    assert.equal(app.granted.scope, "read");
    await app.connect();
    const tools = (await app.client.listTools()).tools.map((tool) => tool.name);
    assert.ok(tools.includes("read_file") && !tools.includes("write_file") && !tools.includes("shell_execute"), String(tools));
    assert.match(JSON.stringify(await app.client.callTool({ name: "read_file", arguments: { filePath: "README.md" } })), /# Shop/);
    // Its token expires, and the client gets another one by itself.
    const first = app.granted;
    scene.change("UPDATE oauth_tokens SET expires_ms=1 WHERE kind=1");
    assert.match(JSON.stringify(await app.client.callTool({ name: "read_file", arguments: { filePath: "README.md" } })), /# Shop/);
    assert.notEqual(app.granted.refresh_token, first.refresh_token);
    await scene.go("/activity");
    await scene.page.locator(".entry", { hasText: "read_file" }).first().waitFor();
    await scene.page.locator(".entry", { hasText: "<img src=x onerror=window.hurt=1> ... (127.0.0.1)" }).first().waitFor();
    await scene.page.locator(".entry", { hasText: "Read files: allow" }).first().waitFor();
    await scene.go("/agents");
    const row = scene.page.locator("tr", { hasText: "& Sons" });
    await row.getByText("Read files").waitFor();
    await scene.page.screenshot({ path: `${pictures}/consents.png`, fullPage: true });
    await row.getByRole("button", { name: "Revoke" }).click();
    await scene.page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await row.waitFor({ state: "detached" });
    assert.equal(await scene.page.evaluate(() => window.hurt), undefined);
    await assert.rejects(app.client.listTools());
    await app.close();
    await scene.end();
  },

  async "an app gets a workspace instead of the machine"() {
    Object.assign(process.env, { N8N_SANDBOX_SERVICE_URL: "http://127.0.0.1:9", N8N_SANDBOX_SERVICE_API_KEY: "of-nobody-at-all" });
    const scene = await new Scene("oauth-workspace").serve("127.0.0.1:0", "--workspace", "n8n-sandbox");
    delete process.env.N8N_SANDBOX_SERVICE_URL;
    delete process.env.N8N_SANDBOX_SERVICE_API_KEY;
    await scene.browse();
    const app = await new App(scene, "Builder").open();
    await assert.rejects(app.connect(), UnauthorizedError);
    await scene.visit(app.sent[0]);
    await scene.see("An app asks for access to your machine");
    await scene.page.getByLabel("Where it works").selectOption("n8n-sandbox");
    await scene.see("An app asks for access to a workspace");
    await scene.page.getByRole("checkbox", { name: "Browser" }).waitFor({ state: "hidden" });
    await scene.page.getByRole("group", { name: "It asks you first" }).getByRole("checkbox", { name: "Commands" }).check();
    await scene.page.screenshot({ path: `${pictures}/consent-workspace.png` });
    await scene.click("Allow");
    await scene.see("Back in the app.");
    await app.transport.finishAuth((await app.returned).code);
    assert.equal(app.granted.scope, "read write shell");
    await app.connect();
    assert.equal((await app.client.listTools()).tools.length, 13);
    await scene.go("/agents");
    await scene.see("Read files, Change files, Commands, in a workspace (n8n-sandbox); asks you first: Commands");
    await app.close();
    await scene.end();
  },

  async "an app is denied, and one that lies is sent nowhere"() {
    const scene = new Scene("oauth-denied");
    scene.user("add", "anna");
    await (await scene.serve()).browse();
    const app = await new App(scene, "Robot").open();
    await assert.rejects(app.connect(), UnauthorizedError);
    // Who is not signed in does that first, and then the question is there.
    await scene.visit(app.sent[0]);
    await scene.signIn("anna");
    await scene.see("An app asks for access to your machine");
    const elsewhere = new URL(app.sent[0]);
    elsewhere.searchParams.set("redirect_uri", "https://evil.example/");
    await scene.visit(elsewhere.href);
    await scene.see("This app cannot be connected");
    assert.equal(await scene.page.getByRole("button", { name: /Back to/ }).count(), 0);
    const weak = new URL(app.sent[0]);
    weak.searchParams.set("code_challenge_method", "plain");
    await scene.visit(weak.href);
    await scene.page.getByRole("button", { name: "Back to 127.0.0.1" }).waitFor();
    await scene.page.screenshot({ path: `${pictures}/consent-refused.png` });
    await scene.visit(app.sent[0]);
    await scene.click("Deny");
    await scene.see("Back in the app.");
    assert.deepEqual(await app.returned, { error: "access_denied", state: "the app's state & more", iss: scene.url });
    await app.close();
    await scene.end();
  },

  async "the audit trail is searched, tells who decided, and becomes a report"() {
    const scene = await all("audit");
    await scene.run("write_file", { filePath: "src/cart.ts", content: "export const total = 1;\npassword = \"hunter2hunter2\"\n" });
    await scene.click("Allow once");
    await scene.see("Done in");
    await scene.run("shell_execute", { command: "echo '<img src=x onerror=window.hurt=1>'" });
    await scene.click("Allow once");
    await scene.see("Done in");
    await scene.run("read_file", { filePath: "missing.txt" });
    await scene.see("Refused or failed");
    await scene.go("/audit");
    const rows = scene.page.locator(".trail tbody tr");
    await rows.filter({ hasText: "missing.txt" }).waitFor();
    assert.equal(await rows.count(), 3);
    // On a phone, too, one sees what it was called for.
    await scene.page.setViewportSize({ width: 390, height: 780 });
    await scene.page.screenshot({ path: `${pictures}/audit-narrow.png` });
    const what = await rows.first().locator("td.cut").boundingBox();
    assert.ok(what.width > 250, `"What" is ${what.width} px wide`);
    await scene.page.setViewportSize({ width: 900, height: 800 });
    await scene.page.screenshot({ path: `${pictures}/audit-wide.png` });
    const heights = await rows.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
    assert.ok(heights.every((height) => height < 45), `rows are ${heights} px high`); // one line each
    await scene.page.setViewportSize({ width: 1180, height: 800 });
    await scene.page.getByLabel("Search the audit trail").fill("CART");
    await rows.filter({ hasText: "missing.txt" }).waitFor({ state: "detached" });
    await rows.filter({ hasText: "write_file" }).click();
    const sheet = scene.page.getByRole("dialog");
    await sheet.locator(".added", { hasText: "total = 1" }).waitFor();
    await sheet.getByText("you", { exact: true }).waitFor();
    await sheet.getByText("allow once").waitFor();
    assert.doesNotMatch(await sheet.innerText(), /hunter2/);
    await scene.page.screenshot({ path: `${pictures}/audit-details.png` });
    await scene.click("Close");
    await scene.page.getByLabel("Search the audit trail").fill("");
    await scene.page.getByLabel("Outcome").selectOption("Failed");
    await rows.filter({ hasText: "write_file" }).waitFor({ state: "detached" });
    assert.equal(await rows.count(), 1);
    await scene.page.getByLabel("Outcome").selectOption("All outcomes");
    await scene.page.getByLabel("Tool").selectOption("shell_execute");
    await rows.filter({ hasText: "missing.txt" }).waitFor({ state: "detached" });
    await rows.first().click();
    await sheet.locator("pre", { hasText: "<img src=x onerror=window.hurt=1>" }).waitFor();
    await scene.click("Close");
    await scene.page.screenshot({ path: `${pictures}/audit.png` });
    const [download] = await Promise.all([scene.page.waitForEvent("download"), scene.click("Report")]);
    const file = `${scene.place}/report.html`;
    await download.saveAs(file);
    const report = await scene.context.newPage();
    const hurt = [];
    report.on("console", (message) => hurt.push(message.text()));
    await report.goto(`file://${file}`);
    await report.locator("ins", { hasText: "total = 1" }).waitFor();
    await report.locator("pre", { hasText: "<img src=x" }).first().waitFor();
    assert.match(await report.locator("pre.diff").innerText(), /\[redacted\]/);
    assert.doesNotMatch(readFileSync(file, "utf8"), /hunter2/);
    assert.equal(await report.evaluate(() => window.hurt), undefined);
    assert.equal(await report.evaluate(() => getComputedStyle(document.querySelector("ins")).display), "block"); // its style is allowed
    for (const colorScheme of ["light", "dark"]) {
      await report.emulateMedia({ colorScheme });
      await report.screenshot({ path: `${pictures}/report-${colorScheme}.png`, fullPage: true });
      await report.evaluate(axe);
      const { violations } = await report.evaluate(() => axe.run());
      assert.deepEqual(violations.filter((each) => ["serious", "critical"].includes(each.impact)).map((each) => `${each.id} ${each.nodes[0].html}`), []);
    }
    assert.deepEqual(hurt, []);
    assert.equal(await scene.page.evaluate(() => window.hurt), undefined);
    await scene.end();
  },

  async "a rule is listed and revoked"() {
    const scene = await (await new Scene("rules").serve()).browse();
    const settings = `${process.env.HOME}/.n8n-gateway`;
    mkdirSync(settings, { recursive: true, mode: 0o700 });
    writeFileSync(`${settings}/settings.json`, JSON.stringify({ resourcePermissions: { shell: { allow: ["ls"], deny: ["rm <b>all</b>"] } } }), { mode: 0o600 });
    await scene.connect();
    await scene.go("/rules");
    const rows = scene.page.locator("tbody tr");
    await rows.filter({ hasText: "ls" }).waitFor();
    await rows.filter({ hasText: "rm <b>all</b>" }).waitFor();
    await scene.see("on the machine itself");
    // The command that is shown does what the page may not.
    const revoking = await rows.locator(".command code").textContent();
    await rows.getByRole("button", { name: "Copy" }).waitFor();
    for (const width of [390, 1180]) {
      await scene.page.setViewportSize({ width, height: 800 });
      await scene.page.screenshot({ path: `${pictures}/rules-${width}.png` });
      assert.ok((await scene.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
    }
    await scene.click("Revoke ls");
    await scene.page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await scene.see("Revoked.");
    await rows.filter({ hasText: "ls" }).waitFor({ state: "detached" });
    assert.deepEqual(JSON.parse(readFileSync(`${settings}/settings.json`, "utf8")).resourcePermissions.shell.allow ?? [], []);
    assert.match(revoking, /^gatehouse rules revoke \w{10}$/);
    execFileSync(gatehouse, revoking.split(" ").slice(1), { stdio: "ignore" });
    await scene.page.reload();
    await scene.see("No rules yet");
    await scene.page.locator(".command", { hasText: "gatehouse rules add" }).waitFor();
    await scene.page.screenshot({ path: `${pictures}/rules-none.png` });
    rmSync(settings, { recursive: true });
    await scene.end();
  },

  async "ten thousand calls are kept, and only those in sight are drawn"() {
    const scene = await (await new Scene("many").serve()).browse();
    await scene.see("Connect a machine");
    const counts = await scene.page.evaluate(async () => {
      const call = () => fetch("/api/call", { method: "POST", headers: { "X-Gatehouse-Request": "1", "Content-Type": "application/json" }, body: '{"name":"nothing","arguments":{"path":"<b>x"}}' });
      for (let i = 0; i < 30; i++) await Promise.all(Array.from({ length: 20 }, call));
      const length = async (path) => (await (await fetch(path)).json()).calls.length;
      return [await length("/api/state"), await length("/api/calls")];
    });
    assert.deepEqual(counts, [500, 600]);
    await scene.page.route("**/api/calls", (route) => route.fulfill({ json: { calls: Array.from({ length: 10000 }, (_, i) => ({
      id: String(i + 1), at: Date.now() - (10000 - i) * 100, agent: "robot", tool: i % 3 ? "read_file" : "write_file", what: `src/file-${i}.ts`, outcome: ["ok", "ok", "denied", "error"][i % 4], ms: i % 900 })) } }));
    await scene.go("/activity");
    await scene.see("10,000 calls");
    await scene.page.screenshot({ path: `${pictures}/activity-many.png` });
    const rows = scene.page.locator(".rows");
    const longest = await rows.evaluate(async (element) => {
      let longest = 0;
      for (let i = 0, last = performance.now(); i <= 60; i++) {
        element.scrollTop = (element.scrollHeight * i) / 60;
        await new Promise(requestAnimationFrame);
        longest = Math.max(longest, performance.now() - last);
        last = performance.now();
      }
      return longest;
    });
    console.log(`   scrolling through 10,000 rows: the longest frame took ${Math.round(longest)} ms`);
    assert.ok((await scene.page.locator(".entry").count()) < 80);
    await scene.see("src/file-0.ts");
    await scene.page.getByLabel("Filter calls").fill("file-777. denied");
    await scene.see("0 of 10,000");
    await scene.page.getByLabel("Filter calls").fill("file-778.");
    await scene.page.locator(".entry").click();
    await scene.page.getByRole("dialog").getByText("src/file-778.ts").waitFor();
    await scene.end();
  },

  async "all of the page is less than 150 KB compressed"() {
    const scene = await (await new Scene("size").serve()).browse();
    await scene.see("Connect a machine");
    const paths = await scene.page.evaluate(() => performance.getEntriesByType("resource").map((entry) => new URL(entry.name).pathname).filter((path) => !path.startsWith("/api/") && !path.startsWith("/rest/")));
    let bytes = 0;
    for (const path of new Set(["/", ...paths])) bytes += gzipSync(await (await scene.page.request.get(scene.url + path)).body()).length;
    console.log(`   the page is ${Math.round(bytes / 1024)} KB compressed`);
    assert.ok(paths.length > 10 && bytes < 150 << 10, `${paths.length} files, ${bytes} bytes`);
    await scene.end();
  },

  async "what comes from outside stays text"() {
    const scene = new Scene("text");
    const name = "<img src=x onerror=\"window.hurt=1\">.txt";
    writeFileSync(`${scene.folder}/${name}`, "<script>window.hurt = 2</script><b>bold</b>\n");
    await (await (await scene.serve()).browse()).connect();
    await scene.go("/files");
    await scene.page.getByRole("button", { name }).click();
    await scene.page.locator(".viewer", { hasText: "<script>" }).waitFor();
    await scene.run("read_file", { filePath: name });
    await scene.page.locator(".result", { hasText: "<b>bold</b>" }).waitFor();
    await scene.run("shell_execute", { command: "echo '</pre><img src=x onerror=window.hurt=3>'" });
    await scene.page.locator(".question", { hasText: "onerror" }).waitFor();
    await scene.click("Deny");
    await scene.go("/activity");
    await scene.page.locator(".entry", { hasText: "onerror" }).first().waitFor();
    assert.equal(await scene.page.evaluate(() => window.hurt), undefined);
    const policy = (await scene.page.request.get(scene.url)).headers()["content-security-policy"];
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe/);
    await scene.end();
  },

  async "the page survives a restart of the server"() {
    const scene = await all("restart");
    await scene.see("is connected");
    await stop(scene.server.child);
    await scene.see("Reconnecting to the server");
    await scene.serve(scene.listen);
    await scene.page.getByText("Reconnecting to the server").waitFor({ state: "detached" });
    await scene.see("is connected");
    await scene.run("read_file", { filePath: "README.md" });
    await scene.see("Done in");
    await scene.end();
  },

  async "one command starts all of it, and ends all of it"() {
    const scene = new Scene("up");
    const other = `${scene.place}/other`;
    mkdirSync(other);
    scene.server = await start(["up", scene.folder, "--ro", other, "--listen", "127.0.0.1:0", "--state-dir", `${scene.place}/state`], /running at (http:\/\/\S+)[^]*(\/login\?token=\S+)/);
    scene.url = scene.server.match[1];
    scene.login = scene.url + scene.server.match[2];
    await scene.browse();
    await scene.see("is connected");
    await scene.see(`${other} (read only)`);
    await scene.run("write_file", { filePath: "made.txt", content: "x" });
    await scene.click("Allow once");
    await scene.see("Done in");
    assert.ok(existsSync(`${scene.folder}/made.txt`));
    await scene.page.getByRole("link", { name: "Copies" }).click();
    await scene.see("No copies yet");
    await stop(scene.server.child);
    await scene.see("Reconnecting to the server");
    await assert.rejects(fetch(scene.url));
    await scene.end();
  },

  async "it finds a daemon that waits on this computer"() {
    const scene = await (await new Scene("probe").serve()).browse();
    scene.daemon = await start(["connect", scene.url, "--dir", scene.folder, "--auto-confirm", "--non-interactive"], /waiting on the local port/);
    await scene.see("is connected");
    // After a disconnect it waits for a click, also when it is loaded again.
    await scene.click("Disconnect");
    await scene.page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
    await scene.see("Connect a machine");
    await scene.page.reload();
    await scene.page.locator(".command code").first().waitFor();
    await scene.click("Look for it on this computer");
    await scene.see("is connected");
    await scene.end();
  },

  async "no page has a serious fault for people with other needs"() {
    const scene = await all("needs");
    await scene.run("write_file", { filePath: "x", content: "y" });
    await scene.page.locator(".question").waitFor();
    for (const colorScheme of ["light", "dark"])
      for (const [width, height] of [[1180, 800], [390, 780]]) {
        await scene.page.emulateMedia({ colorScheme });
        await scene.page.setViewportSize({ width, height });
        for (const path of ["/", "/files", "/tools", "/activity", "/audit", "/rules", "/agents", "/account"]) {
          await scene.go(path);
          await scene.page.locator("main > *").first().waitFor();
          await scene.page.screenshot({ path: `${pictures}/${colorScheme}-${width}${path.replace("/", "-")}.png` });
          // Evaluated by the driver, so the page's policy does not apply.
          await scene.page.evaluate(axe);
          const { violations } = await scene.page.evaluate(() => axe.run());
          const serious = violations.filter((each) => ["serious", "critical"].includes(each.impact));
          assert.deepEqual(serious.map((each) => `${path} ${each.id} ${each.nodes[0].html}`), []);
          const overflow = await scene.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(overflow <= 0, `${path} is ${overflow} px wider than the window`);
        }
      }
    await scene.end();
  },

  async "commands that run show what they print, and can be stopped"() {
    const scene = await all("running", "--permission-shell", "allow");
    await scene.run("shell_start", { command: "echo first words; until [ -e go ]; do sleep 0.1; done; echo later words; sleep 1000" });
    await scene.see("job1");
    await scene.go("/activity");
    const card = scene.page.getByRole("region", { name: "Running" });
    await card.locator("pre").getByText("first words").waitFor(); // what it printed before
    writeFileSync(`${scene.folder}/go`, "");
    await card.locator("pre").getByText("later words").waitFor();
    await scene.page.screenshot({ path: `${pictures}/running.png` });
    await card.getByRole("button", { name: "Stop" }).click();
    await card.getByText("ended").waitFor();
    await scene.run("shell_execute", { command: "echo still here; sleep 1000" });
    await scene.go("/activity");
    await card.getByText("echo still here").waitFor();
    await card.getByRole("button", { name: "Stop" }).click();
    await card.getByText("echo still here").waitFor({ state: "detached" });
    await scene.end();
  },
};

// Run only when named: a busy machine says nothing about the page.
const measures = {
  async "the first paint takes at most twice that of an empty page"() {
    const scene = await (await new Scene("paint").serve()).browse();
    await scene.see("Connect a machine");
    const plain = createServer((request, response) => response.end("<!doctype html><title>x</title><p>x")).listen(0, "127.0.0.1");
    await new Promise((resolve) => plain.once("listening", resolve));
    await scene.page.goto("about:blank"); // it would share the new page's process
    const paint = async (url) => {
      const page = await scene.context.newPage();
      await page.goto(url);
      const ms = await page.evaluate(() => new Promise((resolve) => {
        const first = () => performance.getEntriesByName("first-paint")[0]?.startTime;
        if (first() !== undefined) resolve(first());
        new PerformanceObserver(() => resolve(first())).observe({ type: "paint", buffered: true });
      }));
      await page.close();
      return ms;
    };
    const ours = [], theirs = [];
    for (let i = 0; i < 12; i++) {
      const pair = [await paint(`http://127.0.0.1:${plain.address().port}/`), await paint(scene.url)];
      if (i > 0) theirs.push(pair[0]), ours.push(pair[1]); // the first warms both
    }
    const median = (all) => all.sort((a, b) => a - b)[5];
    console.log(`   first paint: ${median(ours).toFixed(0)} ms, of an empty page ${median(theirs).toFixed(0)} ms`);
    plain.close();
    assert.ok(median(ours) <= 2 * median(theirs));
    await scene.end();
  },

  async "the README's picture"() {
    const scene = await all("picture");
    writeFileSync(`${scene.folder}/src/cart.ts`, "import { Item } from \"./item\";\n\n/** The sum of a cart, in cents. */\nexport function total(items: Item[]): number {\n  let sum = 0;\n  for (const item of items) sum += item.price * item.count;\n  return sum;\n}\n");
    const client = await scene.agent("claude");
    const call = (name, args) => client.callTool({ name, arguments: args }).catch((problem) => problem);
    await scene.go("/");
    await call("list_files", { dirPath: "src" });
    await call("search_files", { query: "total", dirPath: "." });
    await call("read_file", { filePath: "src/cart.ts" });
    const edit = call("edit_file", { filePath: "src/cart.ts", oldString: "  return sum;", newString: "  return Math.round(sum * (1 + TAX));" });
    await scene.page.locator(".question .added").waitFor();
    // The temporary folder and the machine's name say nothing to a reader.
    await scene.page.evaluate((place) => {
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) walker.currentNode.data = walker.currentNode.data.replaceAll(place, "/srv").replace(/^\S+@\S+ is connected/, "ann@laptop is connected");
    }, scene.place);
    await scene.page.setViewportSize({ width: 1180, height: 860 });
    await scene.page.screenshot({ path: `${pictures}/readme.png` });
    await scene.click("Deny");
    await edit;
    await client.close();
    await scene.end();
  },
};
for (const [name, run] of Object.entries(measures)) if (wanted.some((word) => name.includes(word))) cases[name] = run;

let failed = 0;
for (const [name, run] of Object.entries(isDetails ? details({ Scene, all, gatehouse, pictures, PATIENCE }) : cases)) {
  if (wanted.length > 0 && !wanted.some((word) => name.includes(word))) continue;
  await launch();
  try {
    await run();
    console.log(`ok: ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED: ${name}\n${error.stack}`);
    for (const page of browser.contexts().flatMap((context) => context.pages()))
      console.log(`${page.url()} shows: ${await page.locator("body").innerText({ timeout: 1000 }).catch((problem) => problem.message)}`);
    for (const child of [...running]) await stop(child);
  }
  await chromiumServer.kill();
}
process.exit(failed > 0 ? 1 : 0);
