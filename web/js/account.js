// Where this user is signed in, and the password.
import { ago, failed, h, sure, toast } from "./dom.js";
import { get, post, remove } from "./api.js";
import { state } from "./store.js";

// "Firefox on Linux"; the whole text is in the tooltip.
function browserName(text) {
  const browser = ["Edg", "OPR", "Firefox", "Chrome", "Safari", "curl"].find((name) => text.includes(name));
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"].find((name) => text.includes(name));
  const names = { Edg: "Edge", OPR: "Opera" };
  return [names[browser] ?? browser ?? (text.slice(0, 40) || "Unknown browser"), system].filter(Boolean).join(" on ");
}

function passwordCard(onChanged) {
  const field = (name, autocomplete, more = {}) => h("input", { name, type: "password", required: true, maxlength: 256, autocomplete, ...more });
  const current = field("current", "current-password");
  const wanted = field("new", "new-password", { minlength: 8 });
  const again = field("again", "new-password");
  const problem = h("p", { role: "alert", class: "problem" });
  const button = h("button", {}, "Change password");
  const form = h("form", {
    class: "narrow",
    onsubmit: async (event) => {
      event.preventDefault();
      if (wanted.value !== again.value) {
        problem.textContent = "The new password and its repetition differ.";
        again.focus();
        return;
      }
      button.disabled = true;
      problem.textContent = "";
      try {
        await post("/api/password", { current: current.value, new: wanted.value });
        form.reset();
        toast("Your password is changed, and other sessions have ended.");
        onChanged();
      } catch (refused) {
        problem.textContent = refused.message;
        current.focus();
      }
      button.disabled = false;
    },
  },
    // For password managers: whose password it is.
    h("input", { name: "username", autocomplete: "username", value: state.me?.name ?? "", hidden: true, readonly: true }),
    h("label", { class: "field" }, h("span", {}, "Current password"), current),
    h("label", { class: "field" }, h("span", {}, "New password, of at least 8 characters"), wanted),
    h("label", { class: "field" }, h("span", {}, "New password again"), again),
    problem, button);
  return h("section", { class: "card" },
    h("h2", {}, "Password"),
    h("p", { class: "quiet" }, "A new password ends your other sessions. Agents keep their keys."),
    form);
}

export function account(main) {
  const password = h("div", {});
  const list = h("div", {}, h("p", { class: "quiet" }, "Loading…"));

  async function load() {
    try {
      const { sessions, hasPassword } = await get("/api/sessions");
      if (hasPassword && password.children.length === 0) password.append(passwordCard(load));
      list.replaceChildren(sessions.length === 0 ? h("p", { class: "quiet" }, "You signed in through a proxy, which keeps your session.")
        : h("table", {},
            h("thead", {}, h("tr", {}, ["Where", "Signed in", "Last used", ""].map((title) => h("th", { scope: "col", class: title === "Signed in" ? "wide" : "" }, title)))),
            h("tbody", {}, sessions.map((session) => h("tr", {},
              h("td", {}, h("span", { title: session.browser }, browserName(session.browser)), " ", h("span", { class: "quiet" }, session.address),
                session.isThis && [" ", h("span", { class: "chip" }, "this browser")]),
              h("td", { class: "quiet wide" }, ago(session.createdAt)),
              h("td", { class: "quiet" }, ago(session.usedAt)),
              h("td", { class: "right" }, h("button", {
                class: "danger small",
                onclick: async () => {
                  if (!(await sure("End this session?", session.isThis ? "You will have to sign in again." : `${browserName(session.browser)} at ${session.address} has to sign in again.`, "End"))) return;
                  try {
                    await remove(`/api/sessions/${session.id}`);
                    if (session.isThis) location.reload();
                    toast("The session is over.");
                  } catch (problem) {
                    toast(problem.message);
                  }
                  load();
                },
              }, "End")))))));
    } catch (problem) {
      failed(list, problem, load);
    }
  }

  main.replaceChildren(h("h1", {}, state.me?.name ?? "Account"),
    h("section", { class: "card" },
      h("h2", {}, "Sessions"),
      h("p", { class: "quiet" }, "A session ends after 7 days without use, and after 30 days at the latest."),
      list),
    password);
  load();
}
account.cares = [];
