// Keys of agents and the settings that each client needs; apps that the user allowed by OAuth.
import { ago, copyButton, failed, h, keepingFocus, sure, toast } from "./dom.js";
import { get, post, remove } from "./api.js";
import { GROUPS, OF_WORKSPACE, groupsText } from "./groups.js";
import { state, watch } from "./store.js";

// For each client: where it goes, and what.
function snippets(url, key) {
  const header = `Bearer ${key}`;
  const headers = { Authorization: header };
  const json = (value) => JSON.stringify(value, null, 2);
  return {
    "Claude Code": ["Run this in a terminal", `claude mcp add --transport http gatehouse ${url} --header "Authorization: ${header}"`],
    "VS Code": [".vscode/mcp.json in your project", json({ servers: { gatehouse: { type: "http", url, headers } } })],
    Cursor: ["~/.cursor/mcp.json", json({ mcpServers: { gatehouse: { url, headers } } })],
    Codex: ["~/.codex/config.toml", `[mcp_servers.gatehouse]\nurl = "${url}"\nhttp_headers = { "Authorization" = "${header}" }`],
    Gemini: ["~/.gemini/settings.json", json({ mcpServers: { gatehouse: { httpUrl: url, headers } } })],
    Windsurf: ["~/.codeium/windsurf/mcp_config.json", json({ mcpServers: { gatehouse: { serverUrl: url, headers } } })],
    Zed: ["settings.json of Zed", json({ context_servers: { gatehouse: { url, headers } } })],
    Continue: ["~/.continue/mcpServers/gatehouse.yaml", `name: Gatehouse\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: gatehouse\n    type: streamable-http\n    url: ${url}\n    requestOptions:\n      headers:\n        Authorization: ${header}`],
    Other: ["Any client that speaks MCP over HTTP", `URL     ${url}\nHeader  Authorization: ${header}`],
  };
}

function newKey(agent) {
  const all = snippets(`${location.origin}/mcp`, agent.key);
  const body = h("div");
  const show = (name) => keepingFocus(body, () => {
    body.replaceChildren(
      h("div", { class: "tabs", role: "tablist" }, Object.keys(all).map((each) =>
        h("button", { role: "tab", class: "small", "aria-selected": String(each === name), onclick: () => show(each) }, each))),
      h("div", { class: "row apart" }, h("p", { class: "quiet" }, all[name][0]), copyButton(all[name][1])),
      h("pre", { class: "result", tabindex: 0 }, all[name][1]));
  });
  show("Claude Code");
  return h("section", { class: "card" },
    h("h2", {}, `The key of ${agent.name}`),
    h("p", {}, "It is shown only now: the server keeps nothing but its hash."),
    body);
}

function apps() {
  const url = `${location.origin}/mcp`;
  const list = h("div", {}, h("p", { class: "quiet" }, "Loading…"));

  async function load() {
    try {
      const { consents } = await get("/api/consents");
      list.replaceChildren(consents.length === 0 ? h("p", { class: "quiet" }, "No app yet.")
        : h("table", {},
            h("thead", {}, h("tr", {}, ["App", "May use", "Allowed", "Last used", ""].map((title) => h("th", { scope: "col", class: title === "Allowed" || title === "Last used" ? "wide" : "" }, title)))),
            h("tbody", {}, consents.map((app) => h("tr", {},
              h("td", {}, h("span", { class: "name" }, app.name), " ", h("span", { class: "quiet" }, app.host)),
              h("td", {}, groupsText(app.groups), app.workspace ? `, in a workspace (${app.workspace})` : "",
                app.asks.length > 0 ? `; asks you first: ${groupsText(app.asks)}` : ""),
              h("td", { class: "quiet wide" }, ago(app.createdAt)),
              h("td", { class: "quiet wide" }, ago(app.usedAt)),
              h("td", { class: "right" }, h("button", {
                class: "danger small",
                onclick: async () => {
                  if (!(await sure(`Revoke the access of ${app.name}?`, "The app is disconnected at once. It can ask again.", "Revoke"))) return;
                  try {
                    await remove(`/api/consents/${app.id}`);
                    toast(`${app.name} has no access any more.`);
                  } catch (problem) {
                    toast(problem.message);
                  }
                  load();
                },
              }, "Revoke")))))));
    } catch (problem) {
      failed(list, problem, load);
    }
  }
  load();
  return h("section", { class: "card" }, h("h2", {}, "Apps"),
    h("p", {}, "An app that can sign in needs no key: give it this address, and it asks you here."),
    h("div", { class: "command" }, h("code", {}, url), copyButton(url)),
    list);
}

// Those that agents have now.
function workspaces() {
  const box = h("tbody");
  const card = h("section", { class: "card", "aria-label": "Workspaces", hidden: true }, h("h2", {}, "Workspaces"),
    h("p", { class: "quiet" }, "Files and commands of an agent, apart from your machine. They end with the conversation."),
    h("table", {}, h("thead", {}, h("tr", {}, ["Agent", "Provider", "Since", ""].map((title) => h("th", { scope: "col" }, title)))), box));
  const draw = () => {
    card.hidden = state.workspaces.length === 0;
    box.replaceChildren(...state.workspaces.map((one) => h("tr", {},
      h("td", {}, one.agent), h("td", {}, one.provider), h("td", { class: "quiet" }, ago(one.createdAt)),
      h("td", { class: "right" }, h("button", {
        class: "danger small",
        onclick: async () => {
          if (!(await sure(`Stop the workspace of ${one.agent}?`, "Its files are deleted, and its commands end.", "Stop"))) return;
          remove(`/api/workspaces/${one.id}`).catch((problem) => toast(problem.message));
        },
      }, "Stop")))));
  };
  const unwatch = watch((what) => {
    if (!card.isConnected) unwatch();
    else if (what === "workspaces" || what === "all") draw();
  });
  draw();
  return card;
}

export function agents(main) {
  const list = h("div", {}, h("p", { class: "quiet" }, "Loading…"));
  const fresh = h("div");
  const name = h("input", { required: true, maxlength: 60, placeholder: "e.g. claude-on-my-laptop", pattern: "[!#-\\[\\]-~]+", title: "Visible characters without spaces", "aria-label": "Name" });
  const where = h("select", { "aria-label": "Where it works", onchange: () => {
    for (const box of boxes) box.parentElement.hidden = where.value !== "" && !OF_WORKSPACE.includes(box.value);
    asking.hidden = where.value === "";
  } }, h("option", { value: "" }, "on my machine"),
    state.providers.map((provider) => h("option", { value: provider }, `in a workspace of its own (${provider})`)));
  const boxes = Object.keys(GROUPS).map((group) => h("input", { type: "checkbox", value: group, checked: true }));
  const asks = OF_WORKSPACE.map((group) => h("input", { type: "checkbox", value: group }));
  // A machine decides itself what it asks about.
  const asking = h("fieldset", { class: "chips", hidden: true }, h("legend", {}, "Asks you first"), asks.map((box) => h("label", { class: "chip" }, box, " ", GROUPS[box.value])));

  async function load() {
    try {
      const { agents: all } = await get("/api/agents");
      list.replaceChildren(all.length === 0 ? h("p", { class: "quiet" }, "No agent has a key yet.")
        : h("table", {},
            h("thead", {}, h("tr", {}, ["Name", "May use", "Created", ""].map((title) => h("th", { scope: "col", class: title === "Created" ? "wide" : "" }, title)))),
            h("tbody", {}, all.map((agent) => h("tr", {},
              h("td", {}, agent.name),
              h("td", {}, groupsText(agent.groups), agent.workspace ? `, in a workspace (${agent.workspace})` : "",
                agent.asks.length > 0 ? `; asks you first: ${groupsText(agent.asks)}` : ""),
              h("td", { class: "quiet wide" }, ago(agent.createdAt)),
              h("td", { class: "right" }, h("button", {
                class: "danger small",
                onclick: async () => {
                  if (!(await sure(`Revoke the key of ${agent.name}?`, "The agent is disconnected at once.", "Revoke"))) return;
                  try {
                    await remove(`/api/agents/${agent.id}`);
                    toast(`${agent.name} has no access any more.`);
                  } catch (problem) {
                    toast(problem.message);
                  }
                  load();
                },
              }, "Revoke")))))));
    } catch (problem) {
      failed(list, problem, load);
    }
  }

  main.replaceChildren(h("h1", {}, "Agents"),
    h("section", { class: "card" },
      h("h2", {}, "Give an agent a key"),
      h("form", {
        onsubmit: async (event) => {
          event.preventDefault();
          const groups = boxes.filter((box) => box.checked && !box.parentElement.hidden).map((box) => box.value);
          try {
            const agent = await post("/api/agents", { name: name.value, groups: groups.length === boxes.length ? null : groups, workspace: where.value,
              asks: where.value === "" ? [] : asks.filter((box) => box.checked && groups.includes(box.value)).map((box) => box.value) });
            fresh.replaceChildren(newKey(agent));
            name.value = "";
            load();
          } catch (problem) {
            toast(problem.message);
          }
        },
      },
        h("label", { class: "field" }, h("span", {}, "Name"), name),
        state.providers.length > 0 && h("label", { class: "field" }, h("span", {}, "Where it works"), where),
        h("fieldset", { class: "chips" }, h("legend", {}, "May use"), boxes.map((box) => h("label", { class: "chip" }, box, " ", GROUPS[box.value]))),
        asking,
        h("button", { class: "primary" }, "Create key"))),
    fresh,
    workspaces(),
    h("section", { class: "card" }, h("h2", {}, "Keys"), list),
    apps());
  load();
}
agents.cares = [];
