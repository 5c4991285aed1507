// Chooses the page by the address, and draws it again when something it shows has changed.
import { get, post } from "./api.js";
import { account } from "./account.js";
import { activity } from "./activity.js";
import { agents } from "./agents.js";
import { audit } from "./audit.js";
import { consent, isConsent } from "./consent.js";
import { copies } from "./copies.js";
import { closeDialogs, command, h, keepingFocus, toast } from "./dom.js";
import { files } from "./files.js";
import { home, questionCard } from "./home.js";
import { rules } from "./rules.js";
import { listen, reload, state, watch } from "./store.js";
import { tools } from "./tools.js";

const PAGES = {
  "/": { title: "Machine", draw: home },
  "/files": { title: "Files", draw: files },
  "/tools": { title: "Tools", draw: tools },
  "/activity": { title: "Activity", draw: activity },
  "/audit": { title: "Audit", draw: audit },
  "/rules": { title: "Rules", draw: rules },
  "/agents": { title: "Agents", draw: agents },
  "/copies": { title: "Copies", draw: copies, isFor: () => state.hasCopies },
  "/account": { title: "Account", draw: account, isHidden: true }, // the user's name leads there
};
const main = document.getElementById("main");
const nav = document.getElementById("nav");
let shown = null;
let update = null;
let isDue = false;

const address = () => location.hash.slice(1) || "/";

// Most news changes nothing here, and a link that is replaced loses its focus and its click.
let drawnNav = "";
function drawNav() {
  const pages = Object.keys(PAGES).filter((path) => !PAGES[path].isHidden && (PAGES[path].isFor?.() ?? true));
  const now = JSON.stringify([address(), state.questions.length, pages, state.me, state.isLive, shown !== null]);
  if (isConsent || now === drawnNav) return;
  isNavHeld = isPressed;
  if (isNavHeld) return;
  drawnNav = now;
  keepingFocus(document.querySelector("header"), () => replaceNav(pages));
}

function replaceNav(pages) {
  const count = state.questions.length;
  document.title = `${count > 0 ? `(${count}) ` : ""}${PAGES[address()]?.title ?? "Machine"} · Gatehouse`;
  nav.replaceChildren(...pages.map((path) =>
    h("a", { href: `#${path}`, "aria-current": path === address() ? "page" : undefined }, PAGES[path].title,
      path === "/" && count > 0 && h("span", { class: "count", "aria-label": `${count} open questions` }, String(count)))));
  document.getElementById("who").replaceChildren(
    ...(state.me?.name ? [h("a", { href: "#/account", title: "Your sessions", "aria-current": address() === "/account" ? "page" : undefined }, state.me.name)] : []),
    ...(state.me?.signsOut ? [h("button", { class: "link", onclick: () => post("/logout").then(() => location.reload(), (problem) => toast(problem.message)) }, "Sign out")] : []));
  document.getElementById("banner").replaceChildren(
    ...(state.me && !state.isLive && shown ? [h("p", {}, "Reconnecting to the server… If it was stopped, start it again.")] : []));
}

// The request of an app has this page for itself.
let isAsking = false;
function drawConsent() {
  if (isAsking) return;
  isAsking = true;
  consent(main);
}

// A click must end on the element where it began, so nothing is drawn while a button is held down.
let isPressed = false;
let isHeld = false;
let isNavHeld = false;
addEventListener("pointerdown", () => (isPressed = true), true);
for (const end of ["pointerup", "pointercancel", "blur"])
  addEventListener(end, ({ target }) => {
    if (end === "blur" && target !== window) return; // the focus only goes to where the click is
    isPressed = false;
    // After the click.
    if (isHeld) setTimeout(draw);
    else if (isNavHeld) setTimeout(drawNav);
    isHeld = isNavHeld = false;
  }, true);

function draw() {
  if (!state.me) return;
  isHeld = isPressed;
  if (isHeld) return;
  if (isConsent) return drawConsent();
  const page = PAGES[address()] ?? PAGES["/"];
  shown = page;
  keepingFocus(main, () => (update = page.draw(main, draw) ?? null));
  drawNav();
}

function passwordForm() {
  const name = h("input", { name: "name", required: true, maxlength: 64, autocomplete: "username", autocapitalize: "none", spellcheck: "false" });
  const password = h("input", { name: "password", type: "password", required: true, maxlength: 256, autocomplete: "current-password" });
  const button = h("button", { class: "primary" }, "Sign in");
  const problem = h("p", { role: "alert", class: "problem" });
  return h("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      button.disabled = true;
      problem.textContent = "";
      try {
        await post("/login", { name: name.value, password: password.value });
        location.reload();
      } catch (refused) {
        problem.textContent = refused.message;
        password.value = "";
        password.focus();
      }
      button.disabled = false;
    },
  },
    h("label", { class: "field" }, h("span", {}, "Name"), name),
    h("label", { class: "field" }, h("span", {}, "Password"), password),
    problem, button,
    h("p", { class: "quiet" }, "No password, or forgotten? ", h("code", {}, "gatehouse user login-link NAME"), " on the server prints a link that signs in once."));
}

// The server sends a browser here whose login link is no good any more.
const isLinkUsed = location.hash === "#/used-link";
if (isLinkUsed) history.replaceState(null, "", "#/");

async function signIn() {
  nav.replaceChildren();
  document.title = "Sign in · Gatehouse";
  const { passwords } = await get("/api/sign-in").catch(() => ({ passwords: false }));
  main.replaceChildren(h("section", { class: "card login" },
    h("h1", {}, "Sign in"),
    isLinkUsed && h("p", { role: "alert", class: "problem" }, "This login link was used before or has expired."),
    (isLinkUsed || !passwords) && [
      h("p", {}, isLinkUsed ? "Run this where Gatehouse runs, and open the link that it prints:"
        : "Open the login link that Gatehouse printed in its terminal. It works once; this prints another one:"),
      command("gatehouse user login-link")],
    passwords && passwordForm()));
  main.querySelector("input")?.focus();
  // The link may be opened in another tab, and then this one goes on.
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) get("/api/state").then(() => location.reload(), () => {});
  });
}

// Above every page, and each card stays the same element: a click must not hit another question
// because a new one came in between.
const cards = new Map();
function drawQuestions() {
  const box = document.getElementById("questions");
  let hadFocus = false;
  for (const [id, card] of cards)
    if (!state.questions.some((question) => question.id === id)) {
      hadFocus ||= card.contains(document.activeElement);
      card.remove();
      cards.delete(id);
    }
  for (const question of state.questions)
    if (!cards.has(question.id)) {
      cards.set(question.id, questionCard(question));
      box.append(cards.get(question.id));
      document.getElementById("heard").textContent = cards.get(question.id).querySelector("h2").textContent;
    }
  // Not to a button, which the next press of Enter would answer.
  if (hadFocus) (box.firstElementChild ?? document.getElementById("main")).focus({ preventScroll: true });
}

watch((what) => {
  if (isConsent) return draw();
  if (what === "all" || what === "questions") drawQuestions();
  // Forms keep what somebody has typed, also when a machine comes or goes meanwhile.
  if (shown === null || (what === "all" && shown.draw.cares.includes(what))) return draw();
  drawNav();
  if (!shown.draw.cares.includes(what)) return;
  // Somebody may be typing: only pages without forms are drawn again as a whole.
  if (update === null || !shown.draw.updates) draw();
  else if (what !== "calls") update(what);
  else if (!isDue) {
    // Calls come by the thousand; the screen is drawn sixty times a second.
    isDue = true;
    const mine = update;
    requestAnimationFrame(() => {
      isDue = false;
      if (mine === update) update(what);
    });
  }
});
addEventListener("hashchange", () => {
  closeDialogs();
  draw();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
// The session is over. What this page knows goes with it.
addEventListener("signed-out", () => {
  if (state.me) location.reload();
});
// The address says which page is shown, so a link into the page must not change it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
const CLOSED = {
  "the machine": "Answered elsewhere: on the machine",
  "its time limit": "Nobody answered in time, so it was denied",
  "nobody in time": "Nobody answered in time, so it was denied",
  "the agent, who gave up": "The agent has given up, and there is nothing to answer",
  "the machine, which is gone": "The machine has disconnected, and there is nothing to answer",
};
addEventListener("question-closed", ({ detail }) => {
  if (detail.by && detail.by !== "page") toast(CLOSED[detail.by] ?? `Answered elsewhere: ${detail.by}`);
});

async function start() {
  try {
    await reload();
  } catch (problem) {
    if (problem.status !== 401) {
      main.replaceChildren(h("p", { class: "card" }, problem.message));
      setTimeout(start, 3000);
      return;
    }
    signIn();
    return;
  }
  listen();
}
start();
