// Try a tool: a form from its schema, the answer as an agent gets it.
import { empty, h } from "./dom.js";
import { callTool } from "./api.js";
import { groupName } from "./home.js";
import { state } from "./store.js";

let chosen = null;

function field(name, schema, isRequired) {
  const label = (input, ...more) => h("label", { class: "field" }, h("span", {}, name, isRequired ? " *" : ""), input, h("small", {}, schema.description ?? ""), ...more);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (schema.enum) {
    const input = h("select", { name }, !isRequired && h("option", { value: "" }, "–"), schema.enum.map((value) => h("option", { value }, value)));
    return { element: label(input), read: () => (input.value === "" ? undefined : input.value) };
  }
  if (type === "boolean") {
    const input = h("input", { type: "checkbox", name });
    return { element: h("label", { class: "field" }, input, " ", name, h("small", {}, schema.description ?? "")), read: () => (input.checked ? true : undefined) };
  }
  if (type === "integer" || type === "number") {
    const input = h("input", { type: "number", name, step: type === "integer" ? 1 : "any", required: isRequired });
    return { element: label(input), read: () => (input.value === "" ? undefined : Number(input.value)) };
  }
  if (type === "array" || type === "object") {
    const input = h("textarea", { name, placeholder: type === "array" ? "[ ]  (JSON)" : "{ }  (JSON)" });
    return {
      element: label(input),
      read: () => {
        if (input.value.trim() === "") return undefined;
        try {
          return JSON.parse(input.value);
        } catch (problem) {
          throw new Error(`${name} is not JSON: ${problem.message}`);
        }
      },
    };
  }
  const isLong = /content|text|string|command/i.test(name) && !/path/i.test(name);
  const input = isLong ? h("textarea", { name }) : h("input", { name });
  return { element: label(input), read: () => (input.value === "" && !isRequired ? undefined : input.value) };
}

// A document as the browser shows it, in a tab of its own: none of its scripts can reach this page.
function attachment({ blob, mimeType = "application/octet-stream", uri = "" }) {
  const bytes = Uint8Array.from(atob(blob), (letter) => letter.charCodeAt(0));
  const isPdf = mimeType === "application/pdf";
  const url = URL.createObjectURL(new Blob([bytes], { type: isPdf ? mimeType : "application/octet-stream" }));
  let name = uri.split("/").pop() || "document";
  try {
    name = decodeURIComponent(name);
  } catch {
    // It stays as it is.
  }
  return h("div", {},
    isPdf && h("iframe", { class: "document", src: url, title: name }),
    h("p", { class: "row" }, isPdf && h("a", { class: "button", href: url, target: "_blank", rel: "noopener" }, "Open"),
      h("a", { class: "button", href: url, download: name }, "Download"), h("span", { class: "quiet" }, `${mimeType}, ${bytes.length.toLocaleString()} bytes`)));
}

export function showResult(result) {
  return (result.content ?? []).map((block) => {
    if (block.type === "image") return h("img", { src: `data:${block.mimeType};base64,${block.data}`, alt: "Result" });
    if (block.type === "resource" && block.resource?.blob !== undefined) return attachment(block.resource);
    if (block.type === "text") {
      try {
        return h("pre", {}, JSON.stringify(JSON.parse(block.text), null, 2));
      } catch {
        return h("pre", {}, block.text);
      }
    }
    return h("pre", {}, JSON.stringify(block, null, 2));
  });
}

function form(tool) {
  const schema = tool.inputSchema ?? {};
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, each]) => ({ name, ...field(name, each, required.has(name)) }));
  const output = h("div", { "aria-live": "polite" });
  const button = h("button", { class: "primary" }, "Run");
  return h("section", { class: "card" },
    h("h2", { class: "mono" }, tool.name),
    h("p", { class: "quiet" }, tool.description ?? ""),
    h("form", {
      onsubmit: async (event) => {
        event.preventDefault();
        button.disabled = true;
        output.replaceChildren(h("p", { class: "quiet" }, "Running… If the machine asks, the question is at the top."));
        const began = performance.now();
        try {
          const args = {};
          for (const { name, read } of fields) {
            const value = read();
            if (value !== undefined) args[name] = value;
          }
          const result = await callTool(tool.name, args);
          output.replaceChildren(
            h("p", { class: "quiet" }, `${result.isError ? "Refused or failed" : "Done"} in ${Math.round(performance.now() - began)} ms`),
            h("div", { class: result.isError ? "result bad" : "result" }, showResult(result)));
        } catch (problem) {
          output.replaceChildren(h("div", { class: "result bad" }, problem.message));
        }
        button.disabled = false;
      },
    }, fields.map((each) => each.element), button),
    output);
}

// The tools that are shown: while they are the same, what somebody has typed stays.
let shown = null;

export function tools(main) {
  const before = shown?.list.isConnected ? shown : null;
  const told = JSON.stringify(state.tools);
  if (before?.told === told) return;
  if (state.tools.length === 0) {
    main.replaceChildren(h("h1", {}, "Tools"), h("div", { class: "card" }, state.status?.connected ? empty("No tools", "The machine offers none at the moment.")
      : empty("No machine is connected", "Its tools can be tried here.", h("a", { class: "button", href: "#/" }, "Connect one"))));
    return;
  }
  const tool = state.tools.find((each) => each.name === chosen) ?? state.tools[0];
  const right = h("div", {}, form(tool));
  const button = (each) => h("button", {
    class: "mono", title: each.name, "aria-current": each.name === tool.name ? "true" : undefined,
    onclick: ({ target }) => {
      chosen = each.name;
      for (const other of list.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
      target.setAttribute("aria-current", "true");
      right.replaceChildren(form(each));
    },
  }, each.name);
  const groups = new Map();
  for (const each of state.tools) {
    const group = groupName(each.annotations?.category ?? "Other");
    groups.set(group, [...(groups.get(group) ?? []), each]);
  }
  const sections = [...groups].map(([group, own]) => h("section", { "aria-label": group }, h("h3", {}, group), own.map(button)));
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const section of sections) {
      const own = [...section.querySelectorAll("button")];
      for (const each of own) each.hidden = !words.every((word) => each.textContent.includes(word));
      section.hidden = own.every((each) => each.hidden);
    }
  };
  const search = h("input", { type: "search", placeholder: "Find a tool", "aria-label": "Find a tool", oninput: filter, value: before?.search.value ?? "" });
  const list = h("div", { class: "list card" }, search, sections);
  filter();
  main.replaceChildren(h("h1", {}, "Tools"), h("p", { class: "quiet" }, "Runs with the same rules, questions and audit log as a call of an agent."), h("div", { class: "tools" }, list, right));
  shown = { told, list, search };
}
tools.cares = ["all", "tools"];
