// An app asks for access (OAuth): who it says it is, where it sends you back to, what it wants. The
// address of this page has its request; the server checks it again when you answer.
import { get, post } from "./api.js";
import { h } from "./dom.js";
import { GROUPS, OF_WORKSPACE } from "./groups.js";
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
  const title = h("h1");
  const rest = h("p", { class: "quiet" });
  const providers = asked.groups.some((group) => OF_WORKSPACE.includes(group)) ? state.providers : [];
  const where = h("select", { "aria-label": "Where it works" }, h("option", { value: "" }, "on my machine"),
    providers.map((provider) => h("option", { value: provider }, `in a workspace of its own (${provider})`)));
  const asks = OF_WORKSPACE.filter((group) => asked.groups.includes(group)).map((group) => h("input", { type: "checkbox", value: group }));
  // A machine decides itself what it asks about.
  const asking = h("fieldset", { class: "chips" }, h("legend", {}, "It asks you first"), asks.map((box) => h("label", { class: "chip" }, box, " ", GROUPS[box.value])));
  const show = () => {
    const apart = where.value !== "";
    asking.hidden = !apart;
    for (const box of boxes) box.parentElement.hidden = apart && !OF_WORKSPACE.includes(box.value);
    title.textContent = `An app asks for access to ${apart ? "a workspace" : "your machine"}`;
    rest.textContent = apart ? "The workspace has nothing of your machine, and ends with the conversation. You can revoke this on the Agents page."
      : "Your machine still asks you about what your rules do not allow. You can revoke this on the Agents page.";
  };
  where.onchange = show;
  const answer = (allow) => async (event) => {
    if (!event.isTrusted) return; // a person's click, not a script's
    const groups = boxes.filter((box) => box.checked && !box.parentElement.hidden).map((box) => box.value);
    if (allow && groups.length === 0) {
      problem.textContent = "Choose what the app may use, or deny.";
      return;
    }
    const buttons = [...event.target.parentNode.children];
    for (const button of buttons) button.disabled = true;
    try {
      const { redirect } = await post("/api/consent", { query: location.search.slice(1), groups, workspace: where.value, allow,
        asks: where.value === "" ? [] : asks.filter((box) => box.checked && groups.includes(box.value)).map((box) => box.value) });
      location.replace(redirect);
    } catch (refusal) {
      problem.textContent = refusal.message;
      for (const button of buttons) button.disabled = false;
    }
  };
  const allow = h("button", { class: "primary", onclick: answer(true) }, "Allow");
  afterAWhile(allow);
  const card = h("section", { class: "card consent" },
    title,
    h("dl", { class: "facts" },
      h("dt", {}, "It calls itself"), h("dd", { class: "name" }, asked.name),
      h("dt", {}, "It returns to"), h("dd", {}, h("code", {}, asked.host), asked.isLocal ? " (a program on this computer)" : ""),
      h("dt", {}, "You are"), h("dd", {}, state.me?.name ?? "")),
    h("p", { class: "quiet" }, "Anybody can choose a name. Allow this only if you have just started to connect an app yourself."),
    providers.length > 0 && h("label", { class: "field" }, h("span", {}, "Where it works"), where),
    h("fieldset", { class: "chips" }, h("legend", {}, "It may use"), boxes.map((box) => h("label", { class: "chip" }, box, " ", GROUPS[box.value] ?? box.value))),
    providers.length > 0 && asking,
    rest,
    problem,
    h("div", { class: "row" }, allow, h("button", { class: "danger", onclick: answer(false) }, "Deny")));
  show();
  return card;
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
