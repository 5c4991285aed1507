// Where this user is signed in.
import { ago, failed, h, sure, toast } from "./dom.js";
import { get, remove } from "./api.js";
import { state } from "./store.js";

// "Firefox on Linux"; the whole text is in the tooltip.
function browserName(text) {
  const browser = ["Edg", "OPR", "Firefox", "Chrome", "Safari", "curl"].find((name) => text.includes(name));
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"].find((name) => text.includes(name));
  const names = { Edg: "Edge", OPR: "Opera" };
  return [names[browser] ?? browser ?? (text.slice(0, 40) || "Unknown browser"), system].filter(Boolean).join(" on ");
}

export function account(main) {
  const list = h("div", {}, h("p", { class: "quiet" }, "Loading…"));

  async function load() {
    try {
      const { sessions } = await get("/api/sessions");
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
      list));
  load();
}
account.cares = [];
