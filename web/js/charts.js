// Small pictures of numbers. Each says the same in words, for those who do not see it.
import { h, svg } from "./dom.js";

const MINUTES = 30;

function perMinute(calls) {
  const now = Math.floor(Date.now() / 60000);
  const minutes = Array.from({ length: MINUTES }, () => []);
  for (let i = calls.length - 1; i >= 0; i--) {
    const at = MINUTES - 1 - (now - Math.floor(calls[i].at / 60000));
    if (at < 0) break; // newest last
    if (at < MINUTES) minutes[at].push(calls[i]);
  }
  return minutes;
}

const isBad = (call) => call.outcome !== undefined && call.outcome !== "ok";

function frame(title, value, words, ...inside) {
  return h("figure", { class: "figure" },
    h("figcaption", {}, h("span", {}, title), h("b", {}, value)),
    svg("svg", { class: "chart", viewBox: "0 0 300 60", role: "img", "aria-label": words, preserveAspectRatio: "none" },
      svg("line", { class: "base", x1: 0, x2: 300, y1: 59.5, y2: 59.5 }), ...inside));
}

function bar(kind, at, from, to) {
  return svg("rect", { class: kind, x: at * 10 + 1, width: 8, y: 59 - to * 54, height: Math.max(0, (to - from) * 54), rx: 1.5 });
}

// What the page itself asks for, to show files, is no activity of an agent.
export const PAGE = "this page";

export function callsChart(all) {
  const minutes = perMinute(all.filter((call) => call.agent !== PAGE));
  const total = minutes.reduce((sum, each) => sum + each.length, 0);
  const top = Math.max(4, ...minutes.map((each) => each.length));
  return frame("Agents' calls, last 30 minutes", total.toLocaleString(), `${total} calls of agents in the last ${MINUTES} minutes, at most ${Math.max(...minutes.map((each) => each.length))} a minute`,
    ...minutes.flatMap((each, at) => {
      const good = each.filter((call) => !isBad(call)).length / top;
      return each.length === 0 ? [] : [bar("", at, 0, good), bar("bad", at, good, each.length / top)];
    }));
}

const middle = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
export const duration = (ms) => (ms === undefined ? "–" : ms < 1000 ? `${ms} ms` : ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60000)} min`);

export function latencyChart(calls) {
  const times = perMinute(calls).map((each) => each.map((call) => call.ms).filter((ms) => ms !== undefined).sort((a, b) => a - b));
  const all = times.flat().sort((a, b) => a - b);
  const slow = middle(all, 0.95);
  // Milliseconds and minutes in one picture: by their logarithm.
  const height = (ms) => Math.log10(1 + ms) / Math.log10(1 + Math.max(10, ...all.slice(-1)));
  const value = all.length === 0 ? "–" : `${duration(middle(all, 0.5))} · ${duration(slow)}`;
  return frame("Duration: median · 95 %", value, all.length === 0 ? "No call has ended in the last 30 minutes" : `Half of the calls took at most ${duration(middle(all, 0.5))}, 95 of 100 at most ${duration(slow)}`,
    ...times.flatMap((each, at) => (each.length === 0 ? [] : [bar("soft", at, 0, height(middle(each, 0.95))), bar("", at, 0, height(middle(each, 0.5)))])));
}

export function outcomesChart(calls) {
  const kinds = [["ok", "done", "good"], ["denied", "denied", "warn"], ["error", "failed", "bad"]];
  const counts = kinds.map(([outcome]) => calls.reduce((sum, call) => sum + (call.outcome === outcome), 0));
  const sum = counts.reduce((a, b) => a + b, 0);
  let x = 0;
  const parts = kinds.map(([, , kind], i) => {
    const width = (counts[i] / Math.max(1, sum)) * 300;
    x += width;
    return svg("rect", { class: kind, x: x - width, width, y: 0, height: 14 });
  });
  const words = kinds.map(([, name], i) => `${counts[i].toLocaleString()} ${name}`);
  return h("figure", { class: "figure" },
    h("figcaption", {}, h("span", {}, "Outcomes"), h("b", {}, sum === 0 ? "–" : `${Math.floor((100 * counts[0]) / sum)} % done`)),
    svg("svg", { class: "chart flat", viewBox: "0 0 300 14", role: "img", "aria-label": words.join(", "), preserveAspectRatio: "none" }, ...parts),
    h("p", { class: "legend", "aria-hidden": "true" }, kinds.map(([, , kind], i) => h("span", { class: kind }, words[i]))));
}
