// Elements without HTML strings: text from outside can only become text.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Makes these the children, and leaves those alone that are in their place.
export function arrange(box, elements) {
  for (const old of [...box.children]) if (!elements.includes(old)) old.remove();
  elements.forEach((element, at) => box.children[at] !== element && box.insertBefore(element, box.children[at] ?? null));
}

// What somebody has reached with the keyboard stays so while `box` is drawn again, unless it is not clear
// which of several it was.
export function keepingFocus(box, work) {
  const key = (one) => one.tagName + (one.getAttribute("aria-label") ?? one.getAttribute("href") ?? (one.name || one.textContent || one.role));
  const like = (wanted) => [...box.querySelectorAll("a, button, input, select, textarea, summary, [tabindex]")].filter((one) => key(one) === wanted);
  const focused = document.activeElement;
  const wanted = focused !== box && box.contains(focused) ? key(focused) : null;
  const before = wanted === null ? [] : like(wanted);
  work();
  if (wanted === null || focused.isConnected) return;
  const after = like(wanted);
  if (after.length === before.length) after[before.indexOf(focused)].focus({ preventScroll: true });
}

// When no mouse button is held down: what moves under it takes the click.
export async function released() {
  if (!document.querySelector("main:active")) return;
  await new Promise((resolve) => {
    for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, () => setTimeout(resolve), { once: true });
  });
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function toast(text) {
  const element = h("div", { class: "toast" }, text);
  document.getElementById("toasts").append(element);
  setTimeout(() => element.remove(), 4500);
}

export function copyButton(text, label = "Copy") {
  const button = h("button", {
    type: "button",
    class: "small",
    async onclick() {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Press Ctrl+C";
        const range = document.createRange();
        range.selectNodeContents(button.parentElement.querySelector("code, pre") ?? button.parentElement.nextElementSibling);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
      }
      setTimeout(() => (button.textContent = label), 1800);
    },
  }, label);
  return button;
}

export const command = (text) => h("div", { class: "command" }, h("code", {}, text), copyButton(text));

// A question of an agent must not wait behind a dialog, where nobody can click it: the topmost one has the questions.
const questions = document.getElementById("questions");
function placeQuestions() {
  const top = [...document.querySelectorAll("dialog[open]")].at(-1);
  if (top) top.append(questions);
  else document.getElementById("main").before(questions);
}

function open(dialog) {
  document.body.append(dialog);
  dialog.showModal();
  placeQuestions();
  dialog.addEventListener("close", () => {
    placeQuestions();
    dialog.remove();
  });
}

export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
}

// Asks for one line of text; null when the user gives up.
export function ask(title, value = "", verb = "OK") {
  return new Promise((resolve) => {
    const input = h("input", { value, "aria-label": title, required: true });
    const dialog = h("dialog", { "aria-label": title },
      h("form", { method: "dialog", onsubmit: () => resolve(input.value) },
        h("h2", {}, title),
        h("p", {}, input),
        h("div", { class: "row" },
          h("button", { class: "primary" }, verb),
          h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
    dialog.addEventListener("close", () => resolve(null));
    open(dialog);
    input.select();
  });
}

export function sure(title, text, verb) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-label": title },
      h("form", { method: "dialog", onsubmit: () => resolve(true) },
        h("h2", {}, title), h("p", {}, text),
        h("div", { class: "row" },
          h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Cancel"),
          h("button", { class: "danger" }, verb))));
    dialog.addEventListener("close", () => resolve(false));
    open(dialog);
  });
}

// More about something, at the side; Escape or a click beside it closes.
export function sheet(title, ...content) {
  const dialog = h("dialog", { class: "sheet", "aria-label": title, onclick: ({ target }) => target === dialog && dialog.close() },
    h("div", { class: "inside" },
      h("div", { class: "row apart" }, h("h2", { class: "mono" }, title), h("button", { class: "small", onclick: () => dialog.close() }, "Close")),
      ...content));
  dialog.addEventListener("click", ({ target }) => target.closest("a") && dialog.close());
  open(dialog);
}

// A list could not be loaded.
export function failed(box, problem, load) {
  box.replaceChildren(h("p", { class: "problem" }, problem.message));
  // No answer at all: the server may be starting again.
  if (problem.status === 0) setTimeout(() => box.isConnected && load(), 3000);
}

// What stands where nothing is yet, and what to do about it.
export const empty = (title, text, ...actions) => h("div", { class: "empty" }, h("b", {}, title), h("p", {}, text), ...actions);

export function ago(ms) {
  const seconds = Math.round((Date.now() - ms) / 1000);
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h ago`;
  return new Date(ms).toLocaleDateString();
}

export const clock = (ms) => new Date(ms).toLocaleTimeString([], { hour12: false });

// Characters that nobody sees, or that turn others around, as their numbers.
export const visible = (text) => text.replace(/[\p{C}\u2028\u2029]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

// What each line of a unified diff is. A hunk counts its lines, so a line in it that looks like the diff's head,
// such as an added "++ x", is none.
function kindsOf(lines) {
  let before = 0, after = 0; // lines of the hunk that are still to come
  return lines.map((line) => {
    const head = line.match(/^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/);
    if (head) {
      before = Number(head[1] ?? 1);
      after = Number(head[2] ?? 1);
      return "hunk";
    }
    if ((before <= 0 && line.startsWith("---")) || (after <= 0 && line.startsWith("+++"))) return "hunk";
    if (line[0] === "+") after--;
    else if (line[0] === "-") before--;
    else if (line[0] !== "\\") before--, after--;
    return line[0] === "+" ? "added" : line[0] === "-" ? "removed" : "";
  });
}

export function diff(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  const kinds = kindsOf(lines);
  return h("div", { class: "diff", tabindex: 0, role: "region", "aria-label": "Changes" },
    lines.map((line, at) => h("div", { class: kinds[at] }, line)));
}
