// Every call that passed through, newest first. Only the rows in sight exist, so ten thousand scroll
// like ten.
import { callsChart, duration, latencyChart, outcomesChart } from "./charts.js";
import { clock, empty, h, sheet } from "./dom.js";
import { CHOICES, groupName, outcomeChip, outcomeName } from "./home.js";
import { running } from "./running.js";
import { loadCalls, state } from "./store.js";

const ROW = 36;
const CHARTS_MS = 500;
let filter = "";

function matches(call, words) {
  const text = `${call.tool} ${call.agent ?? ""} ${call.what ?? ""} ${outcomeName(call)} ${call.outcome} ${call.error ?? ""} ${call.decision ?? ""} ${call.rule ?? ""}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

const DECIDERS = {
  "allow-rule": "allowed by rule", "deny-rule": "denied by rule", "session-rule": "for this session", mode: "the settings", user: "your answer", nobody: "nobody answered",
  protected: "protected folder", malformed: "no valid name", grant: "folder's rights", default: "default",
};

// Which rule, mode or answer let the call through or refused it; the machine says so.
function decider(call) {
  if (!call.decision) return undefined;
  const kind = DECIDERS[call.decision] ?? call.decision;
  const [, group, mode] = (call.decision === "mode" && call.rule?.match(/^(\w+): (\w+)$/)) || [];
  if (group) return `${groupName(group)}: ${mode}`;
  return call.rule ? `${kind}: ${CHOICES[call.rule]?.toLowerCase() ?? call.rule}` : kind;
}

function show(call) {
  sheet(call.tool, h("dl", { class: "facts" },
    [["When", new Date(call.at).toLocaleString()], ["Who", call.agent], ["What", call.what], ["Outcome", outcomeName(call)], ["Decided by", decider(call)], ["Took", duration(call.ms)], ["Why", call.error]]
      .filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", { class: name === "What" ? "mono" : "" }, value)])),
    h("p", { class: "quiet" }, "The ", h("a", { href: "#/audit" }, "audit trail"), " says what changed."));
}

function row(call, at) {
  const entry = h("div", { class: "entry", role: "row", "aria-rowindex": at + 2, onclick: () => show(call) },
    h("span", { class: "quiet", role: "cell" }, clock(call.at)),
    h("span", { class: "wide", role: "cell" }, call.agent ?? ""),
    h("span", { class: "mono", role: "cell" }, h("button", { class: "link", title: call.tool }, call.tool)),
    h("span", { class: "mono quiet", role: "cell", title: call.what ?? "" }, call.what ?? ""),
    h("span", { role: "cell" }, outcomeChip(call)),
    h("span", { class: "quiet wide", role: "cell", title: decider(call) ?? "" }, decider(call) ?? ""),
    h("span", { class: "quiet right wide", role: "cell" }, call.ms === undefined ? "" : duration(call.ms)));
  entry.style.top = `${at * ROW}px`;
  return entry;
}

const TITLES = [["Time"], ["Agent", "wide"], ["Tool"], ["What"], ["Outcome"], ["Decided by", "wide"], ["Took", "right wide"]];

export function activity(main) {
  const words = () => filter.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = [];
  let drawn; // by the charts
  let isDue = false;
  const inner = h("div", { class: "inner", role: "rowgroup" });
  const titles = h("div", { class: "titles", role: "row", "aria-rowindex": 1 }, TITLES.map(([title, kind]) => h("span", { role: "columnheader", class: kind }, title)));
  const rows = h("div", { class: "rows", role: "table", "aria-label": "Calls", tabindex: 0, onscroll: soon }, titles, inner);
  const count = h("span", { class: "quiet" });
  const charts = h("div", { class: "charts" });
  const body = h("div");

  function soon() {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      draw();
    });
  }
  function draw() {
    const from = Math.max(0, Math.floor(rows.scrollTop / ROW) - 8);
    const to = Math.min(shown.length, from + Math.ceil(rows.clientHeight / ROW) + 16);
    inner.replaceChildren(...shown.slice(from, to).map((call, i) => row(call, from + i)));
  }
  // They look at every call, so not with each one that comes.
  let chartsDue;
  function drawCharts() {
    if (chartsDue !== undefined) return;
    charts.replaceChildren(callsChart(state.calls), latencyChart(state.calls), outcomesChart(shown));
    chartsDue = setTimeout(() => {
      chartsDue = undefined;
      if (drawn !== shown && charts.isConnected) drawCharts();
    }, CHARTS_MS);
    drawn = shown;
  }
  function refresh() {
    const wanted = words();
    shown = (wanted.length === 0 ? state.calls.slice() : state.calls.filter((call) => matches(call, wanted))).reverse();
    inner.style.height = `${shown.length * ROW}px`;
    rows.setAttribute("aria-rowcount", shown.length + 1);
    count.textContent = wanted.length === 0 ? `${shown.length.toLocaleString()} ${shown.length === 1 ? "call" : "calls"}` : `${shown.length.toLocaleString()} of ${state.calls.length.toLocaleString()}`;
    drawCharts();
    body.replaceChildren(state.calls.length === 0 ? empty("No calls yet", "When an agent calls a tool, it appears here at once.", h("a", { class: "button", href: "#/agents" }, "Give an agent a key"))
      : shown.length === 0 ? empty("Nothing matches", "No call has all of these words.") : rows);
    draw();
  }
  main.replaceChildren(h("h1", {}, "Activity"), running(), charts,
    h("div", { class: "card" },
      h("div", { class: "row filters" },
        h("input", { type: "search", class: "grow", placeholder: "Filter: tool, agent, path, outcome", "aria-label": "Filter calls", value: filter, oninput: ({ target }) => { filter = target.value; rows.scrollTop = 0; refresh(); } }),
        count),
      body));
  refresh();
  loadCalls();
  return refresh;
}
activity.cares = ["all", "calls"];
activity.updates = true;
