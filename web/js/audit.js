// What the machine's own audit log says: every call, who decided, what changed.
import { ago, diff, empty, h, sheet, toast } from "./dom.js";
import { query } from "./api.js";
import { state } from "./store.js";

const PAGE = 100;
const TIMES = { "Any time": 0, "Last hour": 3600e3, "Last day": 86400e3, "Last week": 7 * 86400e3 };
const wish = { text: "", tool: "", outcome: "", time: "Any time" };

const DECISIONS = {
  mode: "settings", "allow-rule": "allow rule", "deny-rule": "deny rule", "session-rule": "you, for the session",
  user: "you", nobody: "nobody", protected: "protected", malformed: "malformed",
};
const ANSWERS = {
  allowOnce: "allow once", allowForSession: "allow for the session", allowFolderForSession: "allow this folder for the session",
  allowMatchingForSession: "allow what is like it for the session", alwaysAllow: "always allow", alwaysAllowMatching: "always allow what is like it",
  denyOnce: "deny", alwaysDeny: "always deny",
};
const CHIPS = { success: ["on", "done"], denied: ["ask", "denied"], failed: ["bad", "failed"] };
export const auditChip = (outcome) => h("span", { class: `chip ${(CHIPS[outcome] ?? [""])[0]}` }, (CHIPS[outcome] ?? ["", outcome ?? ""])[1]);
const decided = (call) => {
  const by = call.refusedBy && call.outcome === "denied" ? call.refusedBy : call.decision;
  return DECISIONS[by] ?? by ?? "–";
};

function show(call) {
  const details = call.details ?? {};
  sheet(call.tool ?? "Call", h("dl", { class: "facts" },
    [["When", new Date(call.at).toLocaleString()], ["Client", call.client], ["What", call.what], ["Where", call.where], ["Folder", call.folder], ["Outcome", (CHIPS[call.outcome] ?? [])[1] ?? call.outcome],
      ["Decided by", decided(call)], ["Answer", ANSWERS[details.answer] ?? details.answer], ["Took", details.ms === undefined ? "" : `${details.ms} ms`], ["Why", call.outcome === "success" ? "" : call.reason]]
      .filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", { class: name === "What" || name === "Where" ? "mono lines" : "" }, value)])),
    details.diff && diff(details.diff),
    details.output && h("pre", { class: "result", tabindex: 0 }, details.output),
    details.cut && h("p", { class: "quiet" }, "The rest was not recorded."));
}

function row(call) {
  return h("tr", { class: "clickable", onclick: () => show(call) },
    h("td", { class: "quiet tight", title: new Date(call.at).toLocaleString() }, ago(Date.parse(call.at))),
    h("td", { class: "wide tight", title: call.client }, call.client ?? ""),
    h("td", { class: "mono tight" }, h("button", { class: "link" }, call.tool ?? "")),
    h("td", { class: "mono cut" }, call.where ? `${call.what ?? ""} → ${call.where}` : call.what ?? ""),
    h("td", { class: "quiet wide tight" }, decided(call)),
    h("td", { class: "right tight" }, auditChip(call.outcome)));
}

export async function download(button) {
  button.disabled = true;
  try {
    const { name, html } = await query("report");
    const url = URL.createObjectURL(new Blob([html], { type: "text/html" }));
    h("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  } catch (problem) {
    toast(problem.message);
  } finally {
    button.disabled = false;
  }
}

export const reportButton = () => h("button", { class: "small", title: "One page of what was done in this session, without secrets, to keep or pass on", onclick: ({ target }) => download(target) }, "Report");

export function audit(main) {
  if (!state.status?.connected) {
    main.replaceChildren(h("h1", {}, "Audit trail"), h("div", { class: "card" }, empty("No machine is connected", "The audit trail is on the machine, and only shown from there.", h("a", { class: "button", href: "#/" }, "Connect one"))));
    return;
  }
  const body = h("tbody");
  const table = h("table", { hidden: true, class: "trail" },
    h("thead", {}, h("tr", {}, [["When", ""], ["Client", "wide"], ["Tool", ""], ["What", ""], ["Decided by", "wide"], ["Outcome", "right"]].map(([title, kind]) => h("th", { scope: "col", class: kind }, title)))), body);
  const note = h("div", { "aria-live": "polite" });
  const more = h("button", { hidden: true, onclick: () => load(true) }, "Show older");
  let from = 0;
  let turn = 0;

  async function load(isMore) {
    const mine = ++turn;
    if (!isMore) from = 0;
    note.replaceChildren(h("p", { class: "quiet" }, "Searching…"));
    try {
      const answer = await query("audit", {
        from, limit: PAGE,
        ...(wish.text && { text: wish.text }), ...(wish.tool && { tool: wish.tool }), ...(wish.outcome && { outcome: wish.outcome }),
        ...(TIMES[wish.time] && { since: Date.now() - TIMES[wish.time] }),
      });
      if (mine !== turn) return;
      from += answer.calls.length;
      if (isMore) body.append(...answer.calls.map(row));
      else body.replaceChildren(...answer.calls.map(row));
      table.hidden = from === 0;
      more.hidden = !answer.more;
      note.replaceChildren(...(from === 0 ? [wish.text || wish.tool || wish.outcome || TIMES[wish.time] ? empty("Nothing found", "No recorded call matches.") : empty("No calls yet", "The machine records here what agents do, try and are refused.")] : []));
    } catch (problem) {
      if (mine === turn) note.replaceChildren(h("p", { class: "problem" }, problem.message));
    }
  }
  let timer = 0;
  const set = (name) => ({ target }) => {
    wish[name] = target.value;
    clearTimeout(timer);
    timer = setTimeout(load, 200);
  };
  const choice = (label, name, options) => h("select", { "aria-label": label, onchange: set(name) },
    options.map(([value, text]) => h("option", { value, selected: value === wish[name] }, text)));
  main.replaceChildren(
    h("div", { class: "row apart heading" }, h("h1", {}, "Audit trail"), reportButton()),
    h("div", { class: "card" },
      h("div", { class: "row filters" },
        h("input", { type: "search", class: "grow", placeholder: "Search: path, command, client, error", "aria-label": "Search the audit trail", value: wish.text, oninput: set("text") }),
        choice("Tool", "tool", [["", "All tools"], ...state.tools.map((tool) => [tool.name, tool.name])]),
        choice("Outcome", "outcome", [["", "All outcomes"], ["success", "Done"], ["denied", "Denied"], ["failed", "Failed"]]),
        choice("Time", "time", Object.keys(TIMES).map((name) => [name, name]))),
      table, note, more));
  load();
}
audit.cares = ["all", "tools"]; // a machine came or went
