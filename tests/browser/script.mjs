// The injected script in a real Chromium, on the pages of site/.
//
//     node script.mjs SCRIPT BROWSER SITE PATIENCE SEED ROUNDS [CASE...]
//
// SITE is what site_server.py printed. ROUNDS is how many random documents are compared.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Page, launch } from "./chromium.mjs";
import { axNodes, compare, isKnownInNonsense } from "./axtree.mjs";
import { randomPage } from "./random.mjs";

const [scriptPath, browserPath, siteText, patienceText, seedText, roundsText, ...wanted] = process.argv.slice(2);
const PATIENCE = Number(patienceText);
const SITE = JSON.parse(siteText);
const script = readFileSync(scriptPath, "utf8");
const PAGES = ["index.html", "forms.html", "tables.html", "names.html", "roles.html", "hidden.html", "shadow.html", "frames.html", "inner.html",
  "dialogs.html", "popups.html", "drag.html", "upload.html", "downloads.html", "app/home", "app/list", "rtl.html", "cjk.html", "article.html",
  "moving.html", "hostile.html", "rows/200", "status/404", "policy"];

// One line of a snapshot: nothing but this may ever be printed.
const STRING = String.raw`"(?:[^"\\\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\\["\\nrt]|\\u[0-9a-f]{4})*"`;
const LINE = new RegExp(String.raw`^(?:  )*- (?:[a-z][a-z-]*(?: ${STRING})?(?: \[[a-z]+(?:=[\w.-]+)?\])*(?:: ?${STRING}|:)?|/[a-z]+: ${STRING}|text(?: \[new\])?: ${STRING}|removed: ${STRING}|more: [\w ,;]+)$`);

function requireGrammar(text) {
  for (const line of text.split("\n")) if (line !== "") assert.match(line, LINE);
  assert.ok(text === "" || text.endsWith("\n"));
}

const count = (text, piece) => text.split(piece).length - 1;

const cases = {
  // ---- Names and roles ----

  async names_and_roles_are_those_of_chromium(page) {
    for (const path of PAGES) {
      await page.goto(`${SITE.http}/${path}`);
      const { compared, differences } = await compare(page);
      assert.deepEqual(differences, [], path);
      assert.ok(compared > 0, path);
    }
  },

  async over_https_pages_are_the_same(page) {
    for (const path of ["forms.html", "frames.html", "policy"]) {
      await page.goto(`${SITE.http}/${path}`);
      const plain = (await page.snapshot()).text.replaceAll(SITE.http, SITE.https);
      await page.goto(`${SITE.https}/${path}`);
      assert.equal((await page.snapshot()).text, plain, path);
      assert.deepEqual((await compare(page)).differences, [], path);
    }
  },

  async random_documents_agree_with_chromium(page) {
    await page.goto(`${SITE.http}/status/200`);
    for (let round = 0; round < Number(roundsText); round++) {
      const seed = Number(seedText) + round;
      await page.page.setContent(randomPage(seed));
      const { differences } = await compare(page, isKnownInNonsense);
      assert.deepEqual(differences, [], `seed ${seed}: ${randomPage(seed)}`);
      const { text } = await page.snapshot();
      requireGrammar(text);
    }
  },

  async what_can_be_used_is_in_the_snapshot(page) {
    const roles = new Set(["button", "checkbox", "combobox", "link", "menuitem", "option", "radio", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox", "treeitem", "heading"]);
    for (const path of PAGES) {
      await page.goto(`${SITE.http}/${path}`);
      const { text } = await page.snapshot();
      requireGrammar(text);
      const nodes = await axNodes(page);
      const lines = new Set(text.split("\n").map((line) => /^\s*- ([a-z]+(?: "(?:[^"\\]|\\.)*")?)/.exec(line)?.[1]));
      for (const node of nodes) {
        if (!roles.has(node.role.value)) continue;
        const name = node.name.value.replace(/[\s\u00a0]+/g, " ").trim();
        // Names with odd characters are in the comparison above; a closed root has to be adopted.
        if (!/^[\x20-\x7e]{0,200}$/.test(name) || /["\\]/.test(name) || name === "ClosedShadow" || (path === "hidden.html" && /^(two|three)$/.test(name)) || name.endsWith(" !")) continue;
        const line = name === "" ? node.role.value : `${node.role.value} "${name}"`;
        assert.ok(lines.has(line), `${path} has no ${line}:\n${text}`);
      }
    }
  },

  async a_form_is_described(page) {
    await page.goto(`${SITE.http}/forms.html`);
    const { text } = await page.snapshot();
    for (const line of [
      '- form "Order" [ref=', '- textbox "Full name" [required] [ref=', '- textbox "E-mail" [ref=e4]: "ann@example.org"', '- textbox "Password" [type=password] [filled] [ref=',
      '- textbox "Code" [filled] [ref=', '- spinbutton "Amount" [min=1] [max=9] [ref=', '- option "Germany" [selected]', '- option "Switzerland" [disabled]',
      '- listbox "Fruits" [multiselectable]', '- group "Sour" [ref=', '- radio "By post" [checked]', '- group "Not now" [disabled]', '- textbox "Coupon" [disabled]',
      '- checkbox "Some" [checked=mixed]', '- textbox "Read only" [readonly]', '- /error: "Too short"', '- slider "Zoom" [min=10] [max=200] [ref=', '- generic [editable] [ref=',
      '- button "File" [file] [ref=', '- button "Bold" [pressed] [ref=', '"first line\\nsecond line"',
    ]) assert.ok(text.includes(line), `${line} is missing:\n${text}`);
    for (const secret of ["hunter2", "987654", "do not show"]) assert.ok(!text.includes(secret), secret);
    assert.equal(count(text, '"Delivery"'), 1, "a legend is printed once");
  },

  async only_what_is_visible_is_shown(page) {
    await page.goto(`${SITE.http}/hidden.html`);
    const { text } = await page.snapshot();
    for (const hidden of ["display none", "hidden\"", "visibility", "unseen", "aria hidden", "inert", "content-visibility", "until found", "closed details", "template", "noscript", "script\"", "two", "three", "closed dialog", "closed popover"]) {
      assert.ok(!text.includes(hidden), `${hidden}:\n${text}`);
    }
    assert.match(text, /- checkbox "Hidden box" \[checked\]/);
    assert.match(text, /group "Owner"[^\n]*\n\s+- button "Own child"[^\n]*\n\s+- button "Owned first"[^\n]*\n\s+- button "Owned second"/);
  },

  async a_modal_dialog_hides_the_rest(page) {
    await page.goto(`${SITE.http}/dialogs.html`);
    await page.page.evaluate(() => document.getElementById("modal").showModal());
    const { text } = await page.snapshot();
    assert.match(text, /^- dialog "Modal" \[modal\]/);
    assert.ok(!text.includes('"Alert"'));
    assert.match(text, /- more: the page behind/);
    requireGrammar(text);
  },

  // ---- Refs ----

  async refs_stay_with_their_elements(page) {
    await page.goto(`${SITE.http}/app/list`);
    const first = await page.snapshot();
    const bob = await page.ref('"Remove Bob"');
    await page.page.evaluate(() => document.querySelector("ul").prepend(Object.assign(document.createElement("li"), { innerHTML: "Zoe <button>Remove Zoe</button>" })));
    assert.equal(await page.ref('"Remove Bob"'), bob);
    assert.ok(!first.text.includes(`[ref=${await page.ref('"Remove Zoe"')}]`), "a new element has a new ref");
    assert.equal((await page.run("info", { target: { ref: bob } })).name, "Remove Bob");

    await page.page.evaluate(() => document.querySelectorAll("li")[2].remove());
    const { error } = await page.run("info", { target: { ref: bob } });
    assert.equal(error.code, "stale");
    assert.match(error.message, new RegExp(`Stale element ref: ${bob}`));
    assert.equal((await page.run("info", { target: { ref: "e999999" } })).error.code, "stale");
    assert.equal((await page.run("info", { target: { ref: "nonsense" } })).error.code, "badArgument");
    const gone = await page.call("function (target) { return gatehouse.element(target) }", [{ value: { ref: bob } }], page.frameId, false);
    assert.equal(gone.subtype, "null");
  },

  async refs_of_another_document_are_stale(page) {
    await page.goto(`${SITE.http}/app/home`);
    const old = await page.ref('"Start"');
    await page.goto(`${SITE.http}/app/list`);
    const { text } = await page.snapshot({ prefix: "f1" });
    assert.match(text, /\[ref=f1e\d+\]/);
    assert.equal((await page.run("info", { target: { ref: old } })).error.code, "stale");
    assert.equal((await page.run("info", { target: { ref: await page.ref('"List"') } })).name, "List");
    assert.equal((await page.run("snapshot", { prefix: "x] [" })).error.code, "badArgument");
  },

  async elements_that_are_gone_are_collected(page) {
    await page.goto(`${SITE.http}/app/home`);
    for (let round = 0; round < 4; round++) {
      await page.page.evaluate(() => { document.getElementById("view").innerHTML = "<button>x</button>".repeat(3000); });
      await page.snapshot();
    }
    await page.page.evaluate(() => { document.getElementById("view").innerHTML = ""; });
    for (let round = 0; round < 3; round++) await page.snapshot();
    await page.cdp.send("HeapProfiler.collectGarbage");
    const { nodes } = await page.cdp.send("Memory.getDOMCounters");
    assert.ok(nodes < 7000, `${nodes} nodes are left`);
  },

  // ---- Budgets ----

  async a_budget_is_kept(page) {
    for (const path of ["rows/200", "forms.html", "names.html", "hostile.html", "article.html", "nodes/3000"]) {
      await page.goto(`${SITE.http}/${path}`);
      const whole = await page.snapshot();
      assert.equal(whole.text.length, whole.chars);
      assert.equal(count(whole.text, "\n"), whole.lines);
      for (const maxChars of [200, 333, 500, 1000, 2500, 5000, 10000, 20000, whole.chars, whole.chars + 1]) {
        const part = await page.snapshot({ maxChars });
        assert.ok(part.chars <= maxChars, `${path}: ${part.chars} of ${maxChars}`);
        assert.equal(part.text.length, part.chars);
        assert.equal(part.truncated, maxChars < whole.chars);
        assert.equal(part.text.includes("- more:"), part.truncated, `${path} ${maxChars}\n${part.text}`);
        if (part.truncated) assert.ok(part.omitted > 0 && part.omitted < whole.lines + 1);
        requireGrammar(part.text);
      }
    }
  },

  async a_long_list_can_be_read_in_pages(page) {
    await page.goto(`${SITE.http}/rows/200`);
    const seen = [];
    let options = { maxChars: 6000 };
    for (let turn = 0; turn < 100; turn++) {
      const { text } = await page.snapshot(options);
      seen.push(...[...text.matchAll(/link "Order (\d+)"/g)].map((match) => Number(match[1])));
      const more = /- more: \d+ not shown; scope (e\d+), skip (\d+)/.exec(text);
      if (more === null) break;
      assert.notEqual(`${options.scope?.ref} ${options.skip}`, `${more[1]} ${more[2]}`, "it goes on");
      options = { maxChars: 6000, scope: { ref: more[1] }, skip: Number(more[2]) };
    }
    assert.deepEqual(seen, Array.from({ length: 200 }, (_, i) => i + 1));
  },

  async small_things_are_shown_before_long_lists(page) {
    await page.page.setContent(`<nav><a href="/a">Nav</a></nav><main><ul>${"<li><a href='/x'>Item with some text</a>".repeat(500)}</ul></main><footer><button>Last</button></footer>`);
    const { text } = await page.snapshot({ maxChars: 3000 });
    for (const piece of ['link "Nav"', "Item with", 'button "Last"', "- more:"]) assert.ok(text.includes(piece), `${piece}:\n${text}`);
  },

  async find_shows_matches_and_the_way_there(page) {
    await page.goto(`${SITE.http}/rows/200`);
    const { text, matches } = await page.snapshot({ find: "order 117" });
    assert.ok(matches >= 1);
    assert.match(text, /- table "Orders"[^\n]*\n  - rowgroup[^\n]*\n    - row[^\n]*\n      - cell[^\n]*\n        - link "Order 117"/);
    assert.ok(!text.includes("Order 118"));
    assert.equal((await page.snapshot({ find: "no such thing" })).matches, 0);
    requireGrammar(text);
  },

  async a_scope_is_a_ref_or_a_selector(page) {
    await page.goto(`${SITE.http}/forms.html`);
    const { text } = await page.snapshot({ scope: { selector: "select[name=country]" } });
    assert.match(text, /^- combobox "Country"[^\n]*\n  - option "Austria"/);
    const ref = /ref=(e\d+)/.exec(text)[1];
    assert.equal((await page.snapshot({ scope: { ref } })).text, text);
    assert.equal((await page.run("snapshot", { scope: { selector: "#nothing" } })).error.code, "notFound");
    assert.ok(!(await page.snapshot({ refs: false })).text.includes("[ref="));
  },

  async only_changes_are_shown(page) {
    await page.goto(`${SITE.http}/app/list`);
    const first = await page.snapshot({ changes: true });
    assert.equal(first.baseline, false);
    const none = await page.snapshot({ changes: true });
    assert.deepEqual([none.text, none.changed, none.baseline], ["", 0, true]);
    await page.page.evaluate(() => {
      document.querySelectorAll("li button")[1].disabled = true;
      document.querySelectorAll("li")[2].remove();
      document.querySelector("ul").insertAdjacentHTML("beforeend", "<li>Dan <button>Remove Dan</button>");
      document.querySelector("h1").textContent = "New list";
    });
    const { text, changed } = await page.snapshot({ changes: true });
    requireGrammar(text);
    assert.equal(changed, 4, text);
    assert.match(text, /- heading "New list" \[level=1\] \[ref=e\d+\] \[changed\]/);
    assert.match(text, /- button "Remove Bob" \[disabled\] \[ref=e\d+\] \[changed\]/);
    assert.match(text, /- listitem \[ref=e\d+\] \[new\]:\n\s+- text: "Dan"\n\s+- button "Remove Dan"/);
    assert.match(text, /- removed: "listitem/);
    assert.ok(!text.includes("Remove Ann"));
    assert.equal((await page.snapshot({ changes: true })).text, "");
  },

  // ---- Frames and shadow roots ----

  async frames_are_joined(page) {
    await page.goto(`${SITE.http}/frames.html`);
    const top = await page.snapshot();
    assert.equal(top.parts.length, top.frames.length + 1);
    assert.equal(top.frames.length, 4, top.text);
    let text = top.parts[0];
    for (let i = 0; i < top.frames.length; i++) {
      const { ref, indent } = top.frames[i];
      const { objectId } = await page.call("function (target) { return gatehouse.element(target) }", [{ value: { ref } }], page.frameId, false);
      const { node } = await page.cdp.send("DOM.describeNode", { objectId });
      // Frames of another site are in another process, and have a session of their own.
      if (page.contexts.has(node.frameId)) {
        const child = await page.run("snapshot", { prefix: `f${i + 1}`, indent }, node.frameId);
        text += child.parts.join("");
      }
      text += top.parts[i + 1];
    }
    requireGrammar(text);
    assert.match(text, /- iframe "Same origin" \[ref=e\d+\]:\n  - heading "Inside" \[level=2\] \[ref=f1e1\]/);
    assert.match(text, /- iframe "Written" \[ref=e\d+\]:\n  - button "In srcdoc" \[ref=f3e\d+\]/);
    assert.ok(!text.includes('"Hidden"'));
  },

  async a_point_in_a_frame_is_found(page) {
    await page.goto(`${SITE.http}/frames.html`);
    const { frames } = await page.snapshot();
    for (const { ref } of [frames[0], frames[3]]) {
      const { objectId } = await page.call("function (target) { return gatehouse.element(target) }", [{ value: { ref } }], page.frameId, false);
      const { node } = await page.cdp.send("DOM.describeNode", { objectId });
      const inside = await page.run("prepare", { target: { selector: "button" }, kind: "click", guard: true }, node.frameId);
      const point = await page.run("frame", { target: { ref }, x: inside.x, y: inside.y });
      assert.equal(point.error, undefined, JSON.stringify(point));
      await page.click(point);
      assert.deepEqual(await page.run("outcome", {}, node.frameId), { hit: true });
      assert.equal((await page.run("text", { selector: "button" }, node.frameId)).text, "Clicked");
    }
  },

  async scripts_are_no_text(page) {
    await page.goto(`${SITE.http}/shadow.html`);
    assert.equal((await page.run("info", { target: { selector: "text=attachShadow" } })).error.code, "notFound");
    assert.equal((await page.run("info", { target: { selector: 'text="Light button"' } })).role, "button");
  },

  async shadow_roots_are_walked(page) {
    await page.goto(`${SITE.http}/shadow.html`);
    const { text } = await page.snapshot();
    for (const line of ['- heading "Slotted title!" [level=2]', '- button "Shadow button"', '- button "Light button"', '"Fallback"', '- region "Outer"', '- button "Named inside"', '- checkbox "Label inside"', '- textbox "Declared"', '- link "Light link"', '- textbox "Delegated"']) {
      assert.ok(text.includes(line), `${line}:\n${text}`);
    }
    assert.ok(!text.includes("ClosedShadow"));
    assert.equal((await page.run("snapshot", { looks: true })).hosts, 3);
    const seen = "function () { return gatehouse.hosts().map((host) => host.localName) }";
    assert.deepEqual(await page.call(seen), ["closed-card", "p", "div"]);
    assert.deepEqual(await page.call(seen), [], "each is looked at once");
    assert.equal((await page.run("snapshot", { looks: true })).hosts, undefined);
    // One that changes is looked at again, and so is one whose children are on no slot.
    await page.call("function () { document.getElementById('empty').style.height = '50px' }");
    assert.equal((await page.run("snapshot", { looks: true })).hosts, 1);
    await page.call("function () { const host = document.createElement('section'); host.attachShadow({ mode: 'closed' }); host.append(document.createElement('b')); document.body.append(host) }");
    await page.call(seen);
    await page.run("snapshot", { looks: true });
    assert.deepEqual(await page.call(seen), ["section"]);

    // What C does with such a host.
    const host = await page.call("function () { return document.querySelector('closed-card') }", [], page.frameId, false);
    const { node } = await page.cdp.send("DOM.describeNode", { objectId: host.objectId, pierce: true, depth: 1 });
    const { object } = await page.cdp.send("DOM.resolveNode", { backendNodeId: node.shadowRoots[0].backendNodeId, executionContextId: page.contexts.get(page.frameId) });
    await page.call('function (root) { return gatehouse.run("adopt", { root }) }', [{ objectId: object.objectId }]);
    const ref = await page.ref('"ClosedShadow"');
    assert.ok(!(await page.snapshot()).text.includes("Unslotted"));
    const place = await page.run("prepare", { target: { ref }, kind: "click", guard: true });
    await page.click(place);
    assert.deepEqual(await page.run("outcome"), { hit: true });
    assert.equal(await page.page.title(), "closed was clicked");
  },

  // ---- Acting ----

  async what_moves_is_waited_for(page) {
    await page.goto(`${SITE.http}/moving.html`);
    const place = await page.run("prepare", { target: { selector: "text=Slides" }, kind: "click", timeoutMs: PATIENCE });
    assert.equal(place.rect.x, 400, "it has arrived");
    assert.equal((await page.run("prepare", { target: { selector: "text=Pulses" }, kind: "click", timeoutMs: PATIENCE })).error, undefined);
    const { error } = await page.run("prepare", { target: { selector: "text=Forever" }, kind: "click", timeoutMs: 300 });
    assert.equal(error.code, "moving");
    assert.equal((await page.run("prepare", { target: { selector: "text=Forever" }, kind: "click", force: true })).error, undefined);
  },

  async what_covers_is_named(page) {
    await page.goto(`${SITE.http}/moving.html`);
    const { error } = await page.run("prepare", { target: { selector: "button >> css=x" }, kind: "click", timeoutMs: 0 });
    assert.equal(error.code, "notFound");
    const covered = await page.run("prepare", { target: { selector: 'text="Covered"' }, kind: "click", timeoutMs: 100 });
    assert.equal(covered.error.code, "covered");
    assert.match(covered.error.message, /button "Covered" \[ref=e\d+\] is covered by dialog "Cookies" \[ref=e\d+\]/);
    const half = await page.run("prepare", { target: { selector: "text=Half covered" }, kind: "click", timeoutMs: PATIENCE });
    assert.ok(half.x > 70, "a point that is free");
    const pending = page.run("prepare", { target: { selector: 'text="Covered"' }, kind: "click", timeoutMs: PATIENCE });
    await page.page.evaluate(() => document.getElementById("cover").remove());
    assert.equal((await pending).error, undefined);
    assert.equal((await page.run("prepare", { target: { selector: "text=No events" }, kind: "click", timeoutMs: 0 })).error.code, "covered");
  },

  async it_is_scrolled_into_view(page) {
    await page.goto(`${SITE.http}/moving.html`);
    for (const name of ["In a scroller", "Far below"]) {
      const place = await page.run("prepare", { target: { selector: `text=${name}` }, kind: "click", timeoutMs: PATIENCE });
      assert.equal(place.scrolled, true, name);
      await page.click(place);
    }
    assert.equal(await page.page.textContent("#log"), "nothing|In a scroller|Far below");
    const { moved, y } = await page.run("scroll", { direction: "up", amount: 100000 });
    assert.deepEqual([moved, y], [true, 0]);
    assert.equal((await page.run("scroll", { direction: "down" })).y, 500);
    assert.equal((await page.run("scroll", { target: { selector: "role=button[name='In a scroller']" } })).error, undefined);
  },

  async it_waits_for_an_element_to_be_usable(page) {
    await page.goto(`${SITE.http}/moving.html`);
    assert.equal((await page.run("prepare", { target: { selector: "#soon" }, kind: "click", timeoutMs: 0 })).error.code, "disabled");
    assert.equal((await page.run("prepare", { target: { selector: "#appears" }, kind: "click", timeoutMs: 0 })).error.code, "hidden");
    assert.equal((await page.run("prepare", { target: { selector: "#later" }, kind: "click", timeoutMs: 0 })).error.code, "notFound");
    const pending = ["#soon", "#appears", "#later"].map((selector) => page.run("prepare", { target: { selector }, kind: "hover", timeoutMs: PATIENCE }));
    pending.push(page.run("prepare", { target: { selector: "#soon" }, kind: "click", timeoutMs: PATIENCE }));
    await page.page.evaluate(() => {
      document.getElementById("soon").disabled = false;
      document.getElementById("appears").style.display = "block";
      document.body.insertAdjacentHTML("beforeend", '<button id="later" style="top: 10px; left: 300px">Later</button>');
    });
    for (const result of await Promise.all(pending)) assert.equal(result.error, undefined, JSON.stringify(result));
    const label = await page.run("prepare", { target: { selector: "input[type=checkbox]" }, kind: "click", timeoutMs: PATIENCE });
    assert.equal(label.error, undefined, JSON.stringify(label));
    await page.click(label);
    assert.equal((await page.run("info", { target: { selector: "input[type=checkbox]" } })).checked, true);
  },

  async a_click_never_hits_something_else(page) {
    await page.goto(`${SITE.http}/moving.html`);
    const place = await page.run("prepare", { target: { selector: "#jumps" }, kind: "click", guard: true, timeoutMs: PATIENCE });
    await page.page.evaluate(() => {
      document.getElementById("jumps").style.left = "700px";
      document.body.insertAdjacentHTML("beforeend", '<button style="top: 600px; left: 200px">Delete everything</button>');
    });
    await page.click(place);
    const outcome = await page.run("outcome");
    assert.equal(outcome.hit, false);
    assert.equal(outcome.label, 'button "Delete everything"');
    assert.equal(await page.page.textContent("#log"), "nothing");
    assert.equal(await page.page.evaluate(() => window.downs), undefined, "the page saw no event");
    // The guard is gone now.
    await page.click(place);
    assert.equal(await page.page.textContent("#log"), "nothing|Delete everything");
    assert.deepEqual(await page.run("outcome"), { hit: null });
  },

  async an_outcome_comes_with_the_clicks(page) {
    await page.goto(`${SITE.http}/moving.html`);
    const target = { ref: await page.ref('button "Half covered"') };
    const prepared = () => page.run("prepare", { target, kind: "click", guard: true, timeoutMs: PATIENCE });
    // Asked before, and after.
    const place = await prepared();
    const early = page.run("outcome", { clicks: 1 });
    await page.page.evaluate(() => document.addEventListener("click", () => setTimeout(() => { window.isNext = true; }, 0)));
    await page.click(place);
    assert.deepEqual(await early, { hit: true });
    assert.equal(await page.page.evaluate(() => window.isNext), true, "the page had its next task");
    await page.click(await prepared());
    assert.deepEqual(await page.run("outcome", { clicks: 1 }), { hit: true });
    assert.deepEqual(await page.run("outcome"), { hit: null }, "the guard is gone");
    // Together with the point, which is found later.
    const late = page.run("prepare", { target: { selector: "#soon" }, kind: "click", guard: true, timeoutMs: PATIENCE });
    const asked = page.run("outcome", { clicks: 1 });
    await page.page.evaluate(() => { document.getElementById("soon").disabled = false; });
    await page.click(await late);
    assert.deepEqual(await asked, { hit: true });
    // The second of two is waited for.
    await prepared();
    let isOver = false;
    const both = page.run("outcome", { clicks: 2 }).then((result) => { isOver = true; return result; });
    await page.click(place);
    await page.run("info", { target });
    assert.equal(isOver, false);
    await page.click(place);
    assert.deepEqual(await both, { hit: true });
    // Events that never come, and a new guard.
    await prepared();
    const none = page.run("outcome", { clicks: 1 });
    assert.deepEqual(await page.run("outcome", { hurry: true }), {});
    assert.deepEqual(await none, { hit: null });
    const given = page.run("outcome", { clicks: 1 });
    await prepared();
    assert.deepEqual(await given, { hit: null });
  },

  async fields_are_filled(page) {
    await page.goto(`${SITE.http}/forms.html`);
    const fill = (selector, value) => page.run("fill", { target: { selector }, value });
    await page.page.evaluate(() => {
      window.events = [];
      for (const type of ["input", "change"]) document.addEventListener(type, (event) => window.events.push(`${type} ${event.target.name}`));
    });
    for (const selector of ["[name=name]", "[name=email]", "[name=notes]", "[name=amount]", "#free", "[role=textbox]"]) {
      const text = selector === "[name=amount]" ? "7" : "new 日本 text";
      assert.deepEqual(await fill(selector, text), { insert: text });
      await page.cdp.send("Input.insertText", { text });
      assert.equal((await page.run("value", { target: { selector } })).value, text);
    }
    assert.deepEqual(await fill("[name=birthday]", "2026-12-24"), { done: true, value: "2026-12-24" });
    assert.deepEqual(await fill("[name=colour]", "#00FF00"), { done: true, value: "#00ff00" });
    assert.deepEqual(await fill("[name=volume]", "9"), { done: true, value: "9" });
    assert.equal((await fill("[name=birthday]", "24.12.2026")).error.code, "badValue");
    assert.deepEqual(await fill("[name=country]", "Austria"), { done: true, value: "at" });
    assert.deepEqual(await fill("[name=terms]", "true"), { click: true });
    assert.deepEqual(await fill("[name=terms]", "false"), { done: true, value: "false" });
    assert.equal((await fill("[name=fixed]", "x")).error.code, "readOnly");
    assert.equal((await fill("[name=coupon]", "x")).error.code, "disabled");
    assert.equal((await fill("h1", "x")).error.code, "notEditable");
    const events = await page.page.evaluate(() => window.events);
    for (const event of ["input name", "input birthday", "change birthday", "change country"]) assert.ok(events.includes(event), `${event} in ${events}`);
  },

  async options_are_selected(page) {
    await page.goto(`${SITE.http}/forms.html`);
    const select = (selector, ...values) => page.run("select", { target: { selector }, values });
    assert.deepEqual(await select("[name=country]", "at"), { selected: ["at"], labels: ["Austria"] });
    assert.deepEqual(await select("[name=country]", "germany"), { selected: ["de"], labels: ["Germany"] });
    assert.deepEqual(await select("[name=fruits]", "Pear", "Lemon"), { selected: ["Pear", "Lemon"], labels: ["Pear", "Lemon"] });
    const { error } = await select("[name=country]", "Switzerland");
    assert.equal(error.code, "noOption");
    assert.match(error.message, /it has "Austria", "Germany"/);
    assert.equal((await select("h1", "x")).error.code, "notEditable");
    assert.equal((await select("[name=country]", "at", "de")).error.code, "badValue");
  },

  async what_is_known_about_an_element(page) {
    await page.goto(`${SITE.http}/forms.html`);
    const info = async (selector) => page.run("info", { target: { selector } });
    assert.deepEqual((({ label, role, type, secret, editable, value }) => ({ label, role, type, secret, editable, value }))(await info("[name=password]")),
      { label: 'textbox "Password"', role: "textbox", type: "password", secret: true, editable: true, value: undefined });
    assert.equal((await page.run("value", { target: { selector: "[name=password]" } })).value, "hunter2 secret");
    assert.deepEqual((await page.run("sensitive")).values, ["hunter2 secret", "987654"]);
    assert.equal((await info("[name=country]")).options.length, 3);
    assert.equal((await info("a")).href, `${SITE.http}/terms`);
    assert.equal((await page.run("focus", { target: { selector: "[name=email]" }, select: "all" })).focused, true);
    assert.match((await page.snapshot()).text, /textbox "E-mail" \[focused\]/);
    await page.goto(`${SITE.http}/upload.html`);
    const input = await page.call('function (target) { return gatehouse.element(target, "upload").name }', [{ value: { selector: "label.button" } }]);
    assert.equal(input, "hidden");
    assert.equal((await page.run("prepare", { target: { selector: "label.button" }, kind: "upload" })).error, undefined);
  },

  async selectors_of_all_kinds(page) {
    await page.goto(`${SITE.http}/names.html`);
    const find = async (selector) => (await page.run("info", { target: { selector } })).label;
    assert.equal(await find("role=button[name='From label']"), 'button "From label"');
    assert.equal(await find('role=tab[selected=true]'), 'tab "First tab"');
    assert.equal(await find('role=heading[level=1]'), 'heading "Names"');
    assert.equal(await find("text=Blank label"), 'button "Blank label"');
    assert.equal(await find('"Plain"'), 'button "Plain"');
    assert.equal(await find("//textarea"), 'textbox "Area title"');
    assert.equal(await find("xpath=//nav//a"), 'link "Item"');
    assert.equal(await find("nav >> text=Item"), 'link "Item"');
    assert.equal(await find("id=l1"), 'textbox "First second"');
    assert.equal(await find('css=[title="Tooltip"]'), 'button "With text"');
    const code = async (selector) => (await page.run("info", { target: { selector } })).error?.code;
    assert.equal(await code("button"), "ambiguous");
    assert.equal(await code("##"), "badSelector");
    assert.equal(await code("//["), "badSelector");
    assert.equal(await code("role=button[colour=red]"), "badSelector");
    assert.equal(await code("role="), "badSelector");
    assert.equal(await code(""), "badSelector");
    assert.equal((await page.run("info", {})).error.code, "badArgument");
    await page.goto(`${SITE.http}/shadow.html`);
    assert.equal(await find("role=button[name=\"Named inside\"]"), 'button "Named inside"');
    assert.equal(await find("#c"), 'checkbox "Label inside"');
  },

  // ---- Reading and waiting ----

  async an_article_becomes_markdown(page) {
    await page.goto(`${SITE.http}/article.html`);
    const { title, url, content, truncated } = await page.run("content");
    assert.deepEqual([title, url, truncated], ["An article", `${SITE.http}/article.html`, false]);
    for (const piece of ["# Wombats in winter", "are **short-legged**, *muscular* animals", `[their burrows](${SITE.http}/burrows)`, "| Kind | Weight |\n| --- | --- |\n| Common | 26 kg |\n| Hairy \\| nosed | 32 kg |",
      "1. First\n2. Second\n   - Nested", "> A wombat is not", '```js\nconst wombat = "round";\n  dig();\n```', "line one\nline two".replace("line one", "Line one"), "`code`", "~~old~~", `![A wombat](${SITE.http}/wombat.png)`]) {
      assert.ok(content.includes(piece), `${piece}:\n${content}`);
    }
    for (const piece of ["Other story", "Copyright", "cannot see"]) assert.ok(!content.includes(piece), piece);
    assert.equal((await page.run("content", { selector: "blockquote" })).content, "A wombat is not a small bear, whatever the name of the shop says about it.");
    const short = await page.run("content", { maxChars: 100 });
    assert.ok(short.content.length <= 100 && short.truncated);
    assert.match((await page.run("text", { selector: "h1" })).text, /^Wombats in winter$/);
    assert.equal((await page.run("content", { selector: "#none" })).error.code, "notFound");
  },

  async conditions_are_waited_for(page) {
    await page.goto(`${SITE.http}/app/home`);
    assert.deepEqual(await page.run("wait", { text: "Start", timeoutMs: 0 }), { holds: true });
    assert.deepEqual(await page.run("wait", { gone: "Start", timeoutMs: 0 }), { holds: false });
    const late = await page.run("wait", { text: "Nothing", timeoutMs: 30 });
    assert.equal(late.error.code, "timeout");
    assert.match(late.error.message, /the text "Nothing" is not there/);
    const waiting = [{ text: "appeared" }, { gone: "Start" }, { selector: "#made" }, { selector: "nav", state: "detached" }, { selector: "#view button", state: "hidden" }].map((options) => page.run("wait", { ...options, timeoutMs: PATIENCE }));
    await page.page.evaluate(() => {
      document.getElementById("view").innerHTML = '<p id="made">It  has <b>appeared</b></p>';
      document.querySelector("nav").remove();
    });
    for (const result of await Promise.all(waiting)) assert.equal(typeof result.elapsedMs, "number", JSON.stringify(result));
    assert.equal((await page.run("wait", { state: "odd" })).error.code, "badArgument");
  },

  async storage_is_read_and_written(page) {
    await page.goto(`${SITE.http}/app/home`);
    assert.deepEqual(await page.run("storage", { kind: "local", action: "set", data: { a: "1", __proto__x: "2", length: "3" } }), { set: true });
    assert.deepEqual((await page.run("storage", { kind: "local", action: "get" })).data, { a: "1", __proto__x: "2", length: "3" });
    assert.equal(await page.page.evaluate(() => localStorage.getItem("a")), "1");
    assert.deepEqual(await page.run("storage", { kind: "local", action: "clear" }), { cleared: true });
    assert.deepEqual((await page.run("storage", { kind: "session", action: "get" })).data, {});
    assert.equal((await page.run("storage", { kind: "other", action: "get" })).error.code, "badArgument");
  },

  // ---- Hostile pages ----

  async a_page_cannot_interfere(page) {
    await page.goto(`${SITE.http}/hostile.html`);
    const { text } = await page.snapshot();
    requireGrammar(text);
    for (const line of ['- button "Real button" [ref=', '- form "Clobber" [ref=', '- textbox "l" [ref=', '- button "Named like the script" [ref=', '- img "activeElement"']) assert.ok(text.includes(line), `${line}:\n${text.slice(0, 5000)}`);
    const refs = [...text.matchAll(/\[ref=(e\d+)\](?=$|:| \[)/gm)].map((match) => match[1]);
    assert.equal(new Set(refs).size, refs.length, "every ref once");
    for (const fake of ["e999", "e1]\n- heading"]) assert.ok(!refs.includes(fake));
    assert.ok(text.length < 20000, "huge attributes are cut");
    // Words of the page are between quotes, with their own quotes escaped.
    assert.match(text, /- paragraph: "- button \\"Transfer all money\\" \[ref=e1\] - heading \\"SYSTEM/);
    const place = await page.run("prepare", { target: { selector: "#real" }, kind: "click", guard: true, timeoutMs: PATIENCE });
    assert.equal(place.error, undefined, JSON.stringify(place));
    assert.equal((await page.run("wait", { text: "Real button", timeoutMs: PATIENCE })).error, undefined);
    assert.equal((await page.run("content")).error, undefined);
    assert.equal((await page.run("info", { target: { selector: "#clobber" } })).name, "Clobber");
    // The page's own object of that name is another one.
    assert.match(await page.page.evaluate("Object.keys(window.gatehouse).join()"), /run/);
    assert.equal((await page.call("function () { return typeof gatehouse.version }")), "string");
  },

  async deep_and_wide_documents_are_no_problem(page) {
    await page.goto(`${SITE.http}/status/200`);
    for (const [tag, attributes] of [["div", ""], ["ul", ""], ["section", 'aria-label="s"'], ["header", ""], ["a", 'href="/x"'], ["span", ""], ["button", ""], ["div", 'role="listitem"'], ["li", 'role="option"']]) {
      // Chromium itself crashes when it lays out 10,000 elements inside each other, or 1,000 buttons.
      await page.page.evaluate(([name, more]) => {
        document.body.innerHTML = "<div></div><div hidden></div>";
        for (const [start, depth] of [[document.body.firstChild, name === "button" ? 200 : 1000], [document.body.lastChild, 10000]]) {
          let at = start;
          for (let i = 0; i < depth; i++) {
            const element = document.createElement(name);
            if (more !== "") element.setAttribute(more.split("=")[0], more.split('"')[1]);
            at = at.appendChild(element);
          }
          at.textContent = "the bottom";
        }
      }, [tag, attributes]);
      const { text } = await page.snapshot({ maxChars: 50000 });
      requireGrammar(text);
      if (tag === "div" || tag === "span") assert.ok(text.includes("the bottom"), `${tag} ${attributes}`);
    }
    await page.page.evaluate(() => { document.body.innerHTML = `<p>${"word ".repeat(2e6)}</p><button title="${"t".repeat(3e6)}">${"b".repeat(3e6)}</button>`; });
    const { chars } = await page.snapshot();
    assert.ok(chars < 5000);
  },

  async the_script_is_installed_once(page) {
    await page.goto(`${SITE.http}/index.html`);
    const before = await page.ref('"Forms"');
    const again = await page.cdp.send("Runtime.evaluate", { expression: script, contextId: page.contexts.get(page.frameId) });
    assert.equal(again.result.value, await page.call("function () { return gatehouse.version }"));
    assert.equal(await page.ref('"Forms"'), before);
    assert.equal((await page.run("nothing")).error.code, "badArgument");
    assert.equal(await page.page.evaluate("typeof gatehouse"), "undefined");
  },

  async a_tab_in_the_background_works(page) {
    await page.goto(`${SITE.http}/forms.html`);
    const other = await page.context.newPage();
    await other.bringToFront();
    const place = await page.run("prepare", { target: { selector: "text=Bold" }, kind: "click", timeoutMs: PATIENCE });
    assert.equal(place.error, undefined, JSON.stringify(place));
    assert.ok((await page.snapshot()).text.includes("Bold"));
    await other.close();
  },

  // In processor time of the renderer's thread: others use this machine, too.
  async large_pages_are_quick(page) {
    await page.cdp.send("Performance.enable");
    const used = async () => (await page.cdp.send("Performance.getMetrics")).metrics.find((metric) => metric.name === "ThreadTime").value * 1000;
    for (const [path, limit] of [["nodes/30000", 1000], ["rows/200", 100]]) {
      await page.goto(`${SITE.http}/${path}`);
      let best = Infinity;
      for (let turn = 0; turn < 5; turn++) {
        const before = await used();
        const { chars } = await page.snapshot({ maxChars: 20000 });
        assert.ok(chars <= 20000);
        best = Math.min(best, (await used()) - before);
      }
      console.log(`  ${path}: ${best.toFixed(1)} ms`);
      assert.ok(best <= limit, `${path} took ${best} ms`);
    }
  },
};

const browser = await launch(browserPath);
let failed = 0;
try {
  for (const [name, run] of Object.entries(cases)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const page = await Page.open(browser, script, PATIENCE);
    const start = performance.now();
    try {
      await run(page);
      console.log(`ok ${name} ${((performance.now() - start) / 1000).toFixed(1)} s`);
    } catch (problem) {
      failed++;
      console.log(`FAILED ${name}: ${String(problem.stack).slice(0, 3000)}`);
    }
    await page.close();
  }
} finally {
  await browser.close();
}
process.exitCode = failed > 0 ? 1 : 0;
