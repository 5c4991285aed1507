// The first page: the machine, what it is asked, what happened last.
import { reportButton } from "./audit.js";
import { callsChart, PAGE } from "./charts.js";
import { ago, clock, command, diff, empty, h, keepingFocus, sure, toast } from "./dom.js";
import { post } from "./api.js";
import { connectDaemon, looksByItself, otherFolders, state, wishToLook } from "./store.js";

export const CHOICES = {
  allowOnce: "Allow once",
  allowForSession: "Allow for this session",
  allowFolderForSession: "Allow in this folder for this session",
  allowMatchingForSession: "Allow the like for this session",
  alwaysAllow: "Always allow",
  alwaysAllowMatching: "Always allow the like",
  denyOnce: "Deny",
  alwaysDeny: "Always deny",
};
const GROUPS = {
  filesystem: "Files", filesystemRead: "Read files", filesystemWrite: "Change files",
  shell: "Commands", screenshot: "Screen", "mouse-keyboard": "Mouse and keyboard",
  computer: "Screen and input", browser: "Browser",
};
export const groupName = (name) => GROUPS[name] ?? name;

// Once at a time. What is disabled loses the focus, so it only looks so.
async function act(button, work) {
  if (button.ariaDisabled === "true") return;
  button.ariaDisabled = "true";
  try {
    await work();
  } catch (problem) {
    toast(problem.message);
  } finally {
    button.ariaDisabled = null;
  }
}

function connected(status) {
  const files = status.filesystemEnabled !== false;
  const others = (status.toolCategories ?? []).filter((one) => one.enabled && one.name !== "filesystem").map((one) => groupName(one.name).toLowerCase()).join(", ");
  return h("section", { class: "card", "aria-label": "Machine" },
    h("div", { class: "state" },
      h("span", { class: "lamp on", role: "img", "aria-label": "connected" }),
      h("div", { class: "grow" },
        h("h1", {}, `${status.hostIdentifier || "Your machine"} is connected`),
        h("div", { class: "chips" }, (status.toolCategories ?? []).map((category) => {
          const isOn = category.enabled && (files || category.name !== "filesystem");
          return h("span", { class: isOn ? "chip on" : "chip" },
            groupName(category.name) + (isOn ? category.writeAccess === false ? " (read only)" : "" : " off"));
        })),
        h("dl", { class: "facts" },
          h("dt", {}, "Folder"), h("dd", { class: "mono" }, status.directory ?? "–"),
          otherFolders().map(({ path, access }) => [
            h("dt", {}, "And"), h("dd", { class: "mono" }, path + (access === "write" ? "" : " (read only)"))]),
          h("dt", {}, "Since"), h("dd", {}, status.connectedAt ? ago(Date.parse(status.connectedAt)) : "–")),
        h("div", { class: "row apart" },
          h("label", { class: "switch" },
            h("input", {
              type: "checkbox", role: "switch", checked: files,
              onchange: ({ target }) => act(target, () => post("/instance-ai/filesystem/toggle")),
            }),
            files ? "Agents may use the file tools" : `File tools are switched off${others && `; ${others} stay on`}`),
          h("div", { class: "row" }, reportButton(), h("button", {
            class: "small",
            onclick: async ({ target }) => {
              if (!(await sure("Disconnect this machine?", "Agents lose their access at once. To connect again, run the command that is shown then.", "Disconnect"))) return;
              wishToLook(false);
              act(target, () => post("/rest/instance-ai/gateway/disconnect-session"));
            },
          }, "Disconnect"))))));
}

function connecting() {
  return h("section", { class: "card", "aria-label": "Machine" },
    h("div", { class: "state" }, h("span", { class: "spinner" }),
      h("div", {}, h("h1", {}, "Connecting…"),
        h("p", { class: "quiet" }, "Gatehouse runs on this computer and was offered this server. If it asks in its terminal, answer there."))));
}

let link = null; // { command, token, at }
async function fetchLink(redraw) {
  try {
    const answer = await post("/rest/instance-ai/gateway/create-link");
    link = { ...answer.data, at: Date.now() };
  } catch (problem) {
    link = { problem: problem.message, at: Date.now() };
  }
  redraw();
}

function setUp(redraw) {
  if (looksByItself()) setTimeout(connectDaemon);
  if (link === null || Date.now() - link.at > 240_000) {
    link ??= { at: 0 };
    if (Date.now() - link.at > 240_000) {
      link = { at: Date.now() };
      fetchLink(redraw);
    }
  }
  const npx = link.token ? `npx @n8n/computer-use ${location.origin} ${link.token}` : "";
  return h("section", { class: "card", "aria-label": "Machine" },
    h("h1", {}, "Connect a machine"),
    h("p", {}, "Run this in a terminal, in the folder that agents may use:"),
    link.problem ? h("p", { class: "problem" }, link.problem)
      : link.command ? command(link.command) : h("p", { class: "quiet" }, "Creating a pairing token…"),
    link.token && h("details", {}, h("summary", { class: "quiet" }, "With n8n's own program instead"), command(npx)),
    h("div", { class: "state" }, h("span", { class: "spinner" }),
      h("p", { class: "quiet" }, "Waiting for the machine. The token is good for one use within five minutes.")),
    state.wasRefused && h("p", {}, "Gatehouse runs on this computer, and its user refused to connect."),
    state.probing === "off"
      ? [h("p", { class: "quiet" }, "If Gatehouse already runs on this computer (", h("code", {}, "gatehouse connect"), "), this page can hand it the token. Your browser may ask whether the page may reach devices on your local network: allow it."),
          h("p", {}, h("button", { class: "small", onclick: () => { wishToLook(true); connectDaemon(); } }, "Look for it on this computer"))]
      : h("p", { class: "quiet" }, "If ", h("code", {}, "gatehouse connect"), " already runs on this computer, it is found by itself."));
}

// A daemon of ours ends its description with what would change, each line behind a bar.
function split(description) {
  const lines = description.split("\n");
  const isBar = (line) => line.startsWith("|");
  return {
    text: lines.filter((line) => !isBar(line)).join("\n").trim(),
    change: lines.filter(isBar).map((line) => line.replace(/^\| ?/, "")).join("\n"),
  };
}

// Until it is given up because nobody answered.
function countdown(leftMs) {
  const end = performance.now() + leftMs;
  const element = h("span", { title: "Without an answer it is denied." });
  const draw = () => {
    const seconds = Math.max(0, Math.round((end - performance.now()) / 1000));
    element.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left`;
  };
  const timer = setInterval(() => (element.isConnected ? draw() : clearInterval(timer)), 1000);
  draw();
  return element;
}

export function questionCard(question) {
  const { text, change } = split(question.description ?? "");
  const buttons = h("div", { class: "row" }, question.options.map((option) =>
    h("button", {
      class: option === "allowOnce" ? "primary" : option.startsWith("deny") ? "danger" : "",
      onclick: (event) => {
        if (!event.isTrusted) return; // a person's click, not a script's
        act(event.target, () => post(`/api/questions/${question.id}`, { answer: option }));
      },
    }, CHOICES[option] ?? option)));
  return h("section", { class: "card question", "aria-label": "Question", tabindex: "-1" },
    h("div", { class: "row apart" }, h("h2", {}, `${question.agent === PAGE ? "This page" : question.agent ?? "An agent"} asks: ${groupName(question.toolGroup)}`),
      h("span", { class: "quiet" }, h("span", { class: "wide" }, clock(question.askedAt), question.leftMs === undefined ? "" : " · "), question.leftMs !== undefined && countdown(question.leftMs))),
    text && h("p", { class: "lines" }, text),
    h("div", { class: "resource" }, question.resource),
    change && diff(change),
    buttons);
}

const OUTCOMES = { undefined: ["running", ""], ok: ["done", "on"], denied: ["denied", "ask"], error: ["failed", "bad"] };
export const outcomeName = ({ outcome }) => (OUTCOMES[outcome] ?? [outcome])[0];
export const outcomeChip = (call) =>
  h("span", { class: `chip ${(OUTCOMES[call.outcome] ?? ["", "bad"])[1]}`, title: call.error }, outcomeName(call));

function recent() {
  const last = state.calls.slice(-8).reverse();
  return h("section", { class: "card" },
    h("div", { class: "row apart" }, h("h2", {}, "Activity"), h("a", { href: "#/activity" }, "All")),
    callsChart(state.calls),
    last.length === 0 ? empty("Nothing yet", "Try a tool, or give an agent a key.")
      : h("table", { class: "trail" }, h("tbody", {}, last.map((call) => h("tr", { title: call.agent },
          h("td", { class: "quiet tight" }, clock(call.at)), h("td", { class: "mono tight" }, call.tool),
          h("td", { class: "mono quiet cut" }, call.agent === PAGE && "this page: ", call.what ?? ""), h("td", { class: "right tight" }, outcomeChip(call)))))));
}

function nextSteps() {
  return h("section", { class: "card" },
    h("h2", {}, "What now"),
    h("p", {}, h("a", { href: "#/files" }, "Look at the files"), " that agents can see."),
    h("p", {}, h("a", { href: "#/tools" }, "Try a tool"), " as an agent would."),
    h("p", {}, h("a", { href: "#/agents" }, "Give an agent a key"), " and copy its configuration."),
    typeof Notification !== "undefined" && Notification.permission === "default" &&
      h("button", { class: "small", onclick: ({ target }) => Notification.requestPermission().then(() => target.remove()) }, "Notify me when an agent asks"));
}

export function home(main, redraw) {
  const status = state.status;
  let card = recent();
  main.replaceChildren(
    h("div", { class: "columns" },
      h("div", {}, status?.connected ? connected(status) : state.probing === "connecting" ? connecting() : setUp(redraw), status?.connected && nextSteps()),
      card));
  return (what) => {
    if (what !== "calls") return redraw();
    keepingFocus(main, () => {
      const next = recent();
      card.replaceWith(next);
      card = next;
    });
  };
}
home.cares = ["all", "status", "tools", "folders", "calls"];
home.updates = true;
