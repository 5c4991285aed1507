// An app asks for access (OAuth): who it says it is, where it sends you back to, what it wants. The
// address of this page has its request; the server checks it again when you answer.
import { get, post } from "./api.js";
import { h } from "./dom.js";
import { GROUPS } from "./groups.js";
import { state } from "./store.js";

export const isConsent = location.pathname === "/oauth/authorize";

const SETTLE_MS = 700;

// A click that was meant for something else must not land on a button that just appeared.
function afterAWhile(button) {
  let timer;
  const wait = () => {
    clearTimeout(timer);
    button.disabled = true;
    if (!document.hidden && document.hasFocus()) timer = setTimeout(() => (button.disabled = false), SETTLE_MS);
  };
  addEventListener("focus", wait);
  addEventListener("blur", wait);
  document.addEventListener("visibilitychange", wait);
  wait();
}

function refused(asked) {
  return h("section", { class: "card consent" },
    h("h1", {}, "This app cannot be connected"),
    h("p", {}, asked.message),
    asked.name && h("p", { class: "quiet" }, "It calls itself ", h("b", { class: "name" }, asked.name), "."),
    h("div", { class: "row" },
      asked.redirect && h("button", { onclick: (event) => event.isTrusted && location.replace(asked.redirect) }, `Back to ${asked.host}`),
      h("a", { class: "button", href: "/" }, "To Gatehouse")));
}

function ask(asked) {
  const boxes = asked.groups.map((group) => h("input", { type: "checkbox", value: group, checked: true }));
  const problem = h("p", { role: "alert", class: "problem" });
  const answer = (allow) => async (event) => {
    if (!event.isTrusted) return; // a person's click, not a script's
    const groups = boxes.filter((box) => box.checked).map((box) => box.value);
    if (allow && groups.length === 0) {
      problem.textContent = "Choose what the app may use, or deny.";
      return;
    }
    const buttons = [...event.target.parentNode.children];
    for (const button of buttons) button.disabled = true;
    try {
      const { redirect } = await post("/api/consent", { query: location.search.slice(1), groups, allow });
      location.replace(redirect);
    } catch (refusal) {
      problem.textContent = refusal.message;
      for (const button of buttons) button.disabled = false;
    }
  };
  const allow = h("button", { class: "primary", onclick: answer(true) }, "Allow");
  afterAWhile(allow);
  return h("section", { class: "card consent" },
    h("h1", {}, "An app asks for access to your machine"),
    h("dl", { class: "facts" },
      h("dt", {}, "It calls itself"), h("dd", { class: "name" }, asked.name),
      h("dt", {}, "It returns to"), h("dd", {}, h("code", {}, asked.host), asked.isLocal ? " (a program on this computer)" : ""),
      h("dt", {}, "You are"), h("dd", {}, state.me?.name ?? "")),
    h("p", { class: "quiet" }, "Anybody can choose a name. Allow this only if you have just started to connect an app yourself."),
    h("fieldset", { class: "chips" }, h("legend", {}, "It may use"), boxes.map((box) => h("label", { class: "chip" }, box, " ", GROUPS[box.value] ?? box.value))),
    h("p", { class: "quiet" }, "Your machine still asks you about what your rules do not allow. You can revoke this on the page Agents."),
    problem,
    h("div", { class: "row" }, allow, h("button", { class: "danger", onclick: answer(false) }, "Deny")));
}

export async function consent(main) {
  document.title = "Allow an app · Gatehouse";
  try {
    const asked = await get(`/api/consent${location.search}`);
    main.replaceChildren(asked.error ? refused(asked) : ask(asked));
  } catch (problem) {
    if (problem.status !== 401) main.replaceChildren(h("p", { class: "card" }, problem.message));
  }
}
