// What runs now: calls with their progress, and background commands with what they print. Each can be
// stopped. The machine sends output for a minute after it was asked for its jobs.
import { post } from "./api.js";
import { arrange, h, toast } from "./dom.js";
import { state, watch } from "./store.js";

const ASK_MS = 20000;
const KEPT = 64 << 10; // characters of output, for each job
const TAIL = 32 << 10;

const query = (name, args = {}) => post("/api/query", { query: name, arguments: args });
const jobs = new Map(); // by id: { command, text, next, state }
let asked = 0;

function stopButton(stop) {
  return h("button", {
    class: "small danger",
    onclick: async (event) => {
      if (!event.isTrusted) return; // a person's click, not a script's
      event.target.disabled = true;
      try {
        await stop();
      } catch (problem) {
        toast(problem.message);
        event.target.disabled = false;
      }
    },
  }, "Stop");
}

// A piece may repeat what is shown, or leave a gap; its place counts bytes.
function append(job, piece) {
  const bytes = new TextEncoder().encode(piece.data);
  job.state = piece.state;
  if (piece.from + bytes.length <= job.next) return;
  if (piece.from > job.next && job.next > 0) job.text += "\n[…]\n";
  const fresh = piece.from < job.next ? new TextDecoder().decode(bytes.subarray(job.next - piece.from)) : piece.data;
  job.text = (job.text + fresh).slice(-KEPT);
  job.next = piece.from + bytes.length;
}

async function refresh(redraw) {
  if (Date.now() - asked < 1000 || !state.status?.connected) return;
  asked = Date.now();
  let list;
  try {
    list = (await query("jobs")).jobs;
  } catch {
    return; // another program than ours: it cannot be asked
  }
  for (const id of jobs.keys()) if (!list.some((job) => job.jobId === id)) jobs.delete(id);
  for (const listed of list) {
    const known = jobs.get(listed.jobId);
    if (known) known.state = listed.state;
    if (known || listed.state !== "running") continue;
    const job = { command: listed.command, text: "", next: 0, state: listed.state };
    jobs.set(listed.jobId, job);
    const from = Math.max(0, listed.outputBytes - TAIL);
    query("jobs", { output: listed.jobId, from }).then((piece) => { append(job, piece); redraw(); }, () => {});
  }
  redraw();
}

// Rows stay the same elements, so that a button stays under the pointer and output where it was scrolled to.
function callRow(call, row) {
  row ??= h("div", { class: "row apart" },
    h("div", { class: "grow" }, h("span", { class: "mono" }, call.tool), ` ${call.what ?? ""}`, h("div", { class: "quiet" })),
    stopButton(() => post(`/api/stop/${call.id}`)));
  row.querySelector(".quiet").textContent = [call.agent, call.progress].filter(Boolean).join(" · ");
  return row;
}

function jobRow(id, job) {
  if (!job.row) {
    job.output = h("pre", { class: "result output", tabindex: 0, "aria-label": `Output of ${job.command}` });
    job.end = stopButton(() => query("jobs", { stop: id }));
    job.row = h("div", { class: "job" }, h("div", { class: "row apart" }, h("div", { class: "grow mono" }, job.command), job.end), job.output);
  }
  if (job.state !== "running" && job.end) {
    job.end.replaceWith(h("span", { class: "chip" }, "ended"));
    job.end = null;
  }
  const { output } = job;
  if (output.textContent !== job.text) {
    const isAtEnd = output.scrollTop + output.clientHeight >= output.scrollHeight - 4;
    output.textContent = job.text;
    if (isAtEnd) output.scrollTop = output.scrollHeight;
  }
  return job.row;
}

// The card, and what to do when the page is left.
export function running() {
  const box = h("div", {});
  const card = h("section", { class: "card", "aria-label": "Running", hidden: true }, h("h2", {}, "Running"), box);
  let rows = new Map(); // of calls, by id
  const draw = () => {
    const calls = state.calls.filter((call) => call.outcome === undefined);
    card.hidden = calls.length === 0 && jobs.size === 0;
    rows = new Map(calls.map((call) => [call.id, callRow(call, rows.get(call.id))]));
    arrange(box, [...rows.values(), ...[...jobs].map(([id, job]) => jobRow(id, job))]);
  };
  const unwatch = watch((what) => {
    if (!card.isConnected) {
      clearInterval(timer);
      unwatch();
    } else if (what === "calls" || what === "all" || what === "status") {
      refresh(draw);
      draw();
    } else if (what?.jobId) {
      const job = jobs.get(what.jobId);
      if (job) append(job, what);
      else refresh(draw);
      draw();
    }
  });
  const timer = setInterval(() => card.isConnected && refresh(draw), ASK_MS);
  refresh(draw);
  draw();
  requestAnimationFrame(() => {
    for (const output of box.querySelectorAll(".output")) output.scrollTop = output.scrollHeight;
  });
  return card;
}
