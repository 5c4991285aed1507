// What the page knows, and how it learns of changes: one event stream for all tabs. The tab that
// holds the lock has the stream and tells the others.
import { get, post, query } from "./api.js";

const KEPT_CALLS = 10000;
const DAEMON = "http://127.0.0.1:7655";
const PROBE_MS = 5000;

export const state = {
  me: null, // null: not known yet; false: signed out
  status: null,
  questions: [],
  calls: [], // newest last
  hasAllCalls: false, // or only the last ones
  tools: [],
  providers: [], // of workspaces
  workspaces: [],
  hasCopies: false, // of `gatehouse workspace`, for this user
  isLive: false,
  probing: "off", // off, looking, connecting
  wasRefused: false, // by the daemon that was found
};

const listeners = new Set();
export function watch(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
export function changed(what) {
  for (const listener of listeners) listener(what);
}

// The machine's folders besides the first, of the connection that began then. Only Gatehouse has that
// tool, and can be asked.
let known = { since: null, folders: [] };
export function otherFolders() {
  const since = state.status?.connectedAt;
  if (!since) return [];
  if (known.since !== since && state.tools.some((tool) => tool.name === "list_allowed_directories")) {
    const asked = known = { since, folders: [] };
    query("session").then(({ otherFolders: folders = [] }) => {
      asked.folders = folders;
      if (folders.length > 0) changed("folders");
    }, () => {});
  }
  return known.since === since ? known.folders : [];
}

// Events that arrive while the whole state is on its way are applied after it: the state may be
// older than they are.
let reloads = 0;
const held = [];

function take(kind, value) {
  if (reloads > 0) {
    held.push([kind, value]);
    return;
  }
  switch (kind) {
    case "status":
      state.status = value;
      changed("status");
      break;
    case "tools":
      state.tools = value;
      changed("tools");
      break;
    case "workspaces":
      state.workspaces = value;
      changed("workspaces");
      break;
    case "question":
      if (!state.questions.some((question) => question.id === value.id)) {
        state.questions.push(value);
        notify(value);
      }
      changed("questions");
      break;
    case "question-closed":
      state.questions = state.questions.filter((question) => question.id !== value.id);
      notes.get(value.id)?.close();
      notes.delete(value.id);
      changed("questions");
      dispatchEvent(new CustomEvent("question-closed", { detail: value }));
      break;
    case "call": {
      const at = state.calls.findLastIndex((call) => call.id === value.id);
      const hadEnded = at >= 0 && state.calls[at].outcome !== undefined;
      if (at >= 0) state.calls[at] = { ...state.calls[at], ...value };
      else state.calls.push(value);
      if (state.calls.length > KEPT_CALLS) state.calls.splice(0, state.calls.length - KEPT_CALLS);
      changed("calls");
      if (value.outcome !== undefined && !hadEnded) changed({ ended: value });
      break;
    }
    case "progress": {
      const call = state.calls.findLast((one) => one.id === value.id);
      if (call && call.outcome === undefined) Object.assign(call, value);
      changed("calls");
      break;
    }
    case "job-output":
      changed(value);
      break;
  }
}

// Notifications of the desktop, by question: they go when it is answered.
const notes = new Map();
function notify(question) {
  if (typeof Notification === "undefined" || Notification.permission !== "granted" || !document.hidden) return;
  const note = new Notification("Gatehouse: an agent asks", { body: `${question.toolGroup}: ${question.resource}`, tag: question.id });
  note.onclick = () => window.focus();
  notes.set(question.id, note);
}

export async function reload() {
  reloads++;
  try {
    const all = await get("/api/state");
    Object.assign(state, { me: all.user, status: all.status, questions: all.questions, calls: all.calls, tools: all.tools, providers: all.providers, workspaces: all.workspaces, hasCopies: all.hasCopies, hasAllCalls: false });
    changed("all");
  } finally {
    reloads--;
    if (reloads === 0) for (const [kind, value] of held.splice(0)) take(kind, value);
  }
}

// The state has the last calls only; the rest comes when somebody looks.
export async function loadCalls() {
  if (state.hasAllCalls) return;
  state.hasAllCalls = true;
  reloads++;
  try {
    state.calls = (await get("/api/calls")).calls;
    changed("calls");
  } catch {
    state.hasAllCalls = false;
  } finally {
    reloads--;
    if (reloads === 0) for (const [kind, value] of held.splice(0)) take(kind, value);
  }
}

const KINDS = ["status", "tools", "question", "question-closed", "call", "progress", "job-output", "workspaces"];
let hasStream = false;
const channel = new BroadcastChannel("gatehouse");
channel.onmessage = ({ data }) => {
  if (data.kind === "is-live") {
    if (hasStream) channel.postMessage({ kind: "live", value: state.isLive });
  } else if (data.kind === "live") live(data.value);
  else take(data.kind, data.value);
};

function live(isLive) {
  if (isLive === state.isLive) return;
  state.isLive = isLive;
  changed("live");
  if (isLive) reload().catch(() => {});
}

function stream() {
  return new Promise((resolve) => {
    const source = new EventSource("/api/events");
    hasStream = true;
    const tell = (kind, value) => {
      channel.postMessage({ kind, value });
      if (kind === "live") live(value);
      else take(kind, value);
    };
    source.onopen = () => tell("live", true);
    source.onerror = () => {
      tell("live", false);
      if (source.readyState === EventSource.CLOSED) {
        // Refused: signed out, or the server restarts. Ask, and come back.
        setTimeout(() => reload().then(stream, (problem) => (problem.status === 401 ? undefined : stream())).then(resolve), 2000);
      }
    };
    for (const kind of KINDS) source.addEventListener(kind, (event) => tell(kind, JSON.parse(event.data)));
  });
}

export function listen() {
  if (navigator.locks) navigator.locks.request("gatehouse-events", stream);
  else stream();
  // Another tab may have the stream already.
  channel.postMessage({ kind: "is-live" });
}

// ---- Finding a daemon on this computer that waits for a server ----

// A page of this computer may look there at once. For any other, the browser asks its user first, so
// it waits for a click, unless that was allowed before; and after a "no" or a disconnect, too. The
// answer outlasts a reload.
const WISH = "gatehouse-looks";
let mayLook = ["127.0.0.1", "localhost", "[::1]"].includes(location.hostname);
// The newer name and the older one: browsers refuse those that they do not know.
for (const name of mayLook ? [] : ["loopback-network", "local-network-access"])
  navigator.permissions?.query({ name }).then((permission) => {
    if (permission.state !== "granted") return;
    mayLook = true;
    changed("status");
  }, () => {});
export const wishToLook = (isOn) => localStorage.setItem(WISH, isOn ? "yes" : "no");
export const looksByItself = () => (localStorage.getItem(WISH) ?? (mayLook ? "yes" : "no")) === "yes";

export async function connectDaemon() {
  if (state.probing !== "off" || state.status?.connected) return;
  state.probing = "looking";
  state.wasRefused = false;
  changed("status");
  while (state.probing !== "off" && !state.status?.connected) {
    try {
      const health = await fetch(`${DAEMON}/health`);
      // Ours says in JSON whether it is connected; others may answer with anything.
      if (health.ok && !(await health.json().catch(() => null))?.connected) {
        state.probing = "connecting";
        changed("status");
        const link = await post("/rest/instance-ai/gateway/create-link");
        const answer = await fetch(`${DAEMON}/connect`, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ url: location.origin, token: link.data.token }),
        });
        state.probing = "looking";
        state.wasRefused = answer.status === 403; // the user said no, and is not asked again
        if (state.wasRefused) wishToLook(false);
        changed("status");
        if (state.wasRefused) break;
      }
    } catch {
      if (state.probing !== "looking") {
        state.probing = "looking";
        changed("status");
      }
    }
    await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
  }
  state.probing = "off";
  changed("status");
}
