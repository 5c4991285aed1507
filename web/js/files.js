// The folder as agents see it, through the same tools.
import { ask, h, sure, toast } from "./dom.js";
import { callTool, toolObject } from "./api.js";
import { highlight } from "./highlight.js";
import { state } from "./store.js";
import { showResult } from "./tools.js";

const has = (name) => state.tools.some((tool) => tool.name === name);
const base = (path) => path.split("/").pop();
const above = (path) => path.split("/").slice(0, -1).join("/");
// What is open stays open when the page is drawn again, because a tool came or went.
let opened = null;
const MEDIA = /\.(png|jpe?g|gif|webp|pdf)$/i;

export function files(main) {
  if (!has("list_files")) {
    main.replaceChildren(h("h1", {}, "Files"), h("p", { class: "card" }, state.status?.connected ? "The file tools are switched off, or the machine does not offer them." : "No machine is connected. ", h("a", { href: "#/" }, "See the machine")));
    return;
  }
  const viewer = h("section", { class: "card viewer" }, h("p", { class: "quiet" }, "Choose a file."));
  const tree = h("nav", { class: "card tree", "aria-label": "Files" });
  let current = "";

  async function list(path) {
    const answer = await toolObject("list_files", { dirPath: path || "." });
    return answer.entries ?? answer;
  }

  async function fill(into, path) {
    into.replaceChildren(h("li", { class: "quiet" }, "…"));
    try {
      const entries = await list(path);
      into.replaceChildren(...entries.map((entry) => {
        const inner = h("ul", { hidden: true });
        const isFolder = entry.type === "directory";
        const button = h("button", {
          title: entry.path, "aria-expanded": isFolder ? "false" : undefined,
          onclick: async () => {
            for (const other of tree.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
            button.setAttribute("aria-current", "true");
            current = isFolder ? entry.path : above(entry.path);
            if (!isFolder) return view(entry.path);
            inner.hidden = !inner.hidden;
            button.setAttribute("aria-expanded", String(!inner.hidden));
            if (!inner.hidden) await fill(inner, entry.path);
            viewFolder(entry.path);
          },
        }, (isFolder ? "▸ " : "") + base(entry.path));
        return h("li", {}, button, isFolder && inner);
      }));
      if (entries.length === 0) into.replaceChildren(h("li", { class: "quiet" }, "empty"));
    } catch (problem) {
      into.replaceChildren(h("li", {}, h("span", { class: "chip bad" }, problem.message)));
    }
  }

  const top = h("ul");
  const again = () => fill(top, "");

  async function change(name, args, done) {
    try {
      await toolObject(name, args);
      toast(done);
      await again();
      return true;
    } catch (problem) {
      toast(problem.message);
      return false;
    }
  }

  const actions = (path) => h("div", { class: "row" },
    has("move") && h("button", { class: "small", onclick: async () => {
      const to = await ask("New path", path, "Move");
      if (to && to !== path && (await change("move", { sourcePath: path, destinationPath: to }, `Moved to ${to}`))) close();
    } }, "Rename or move"),
    has("delete") && h("button", { class: "small danger", onclick: async () => {
      if ((await sure(`Delete ${base(path)}?`, has("undo_changes") ? "You can undo this." : "This cannot be undone.", "Delete")) && (await change("delete", { path }, `Deleted ${path}`))) close();
    } }, "Delete"));

  function close() {
    opened = null;
    viewer.replaceChildren();
  }

  function viewFolder(path) {
    opened = null;
    viewer.replaceChildren(h("div", { class: "row apart" }, h("h2", { class: "mono" }, `${path}/`), actions(path)));
  }

  async function view(path, startLine = 1) {
    opened = { path, startLine };
    viewer.replaceChildren(h("p", { class: "quiet" }, "Reading…"));
    const head = h("div", { class: "row apart" }, h("h2", { class: "mono" }, path), actions(path));
    try {
      if (MEDIA.test(path)) {
        viewer.replaceChildren(head, ...showResult(await callTool("read_file", { filePath: path })));
        return;
      }
      const answer = await toolObject("read_file", { filePath: path, startLine, maxLines: 500 });
      const code = h("pre", { tabindex: 0 }, highlight(answer.content ?? answer.text ?? "", path));
      code.style.counterReset = `line ${startLine - 1}`;
      viewer.replaceChildren(head, code,
        h("div", { class: "row" },
          startLine > 1 && h("button", { class: "small", onclick: () => view(path, Math.max(1, startLine - 500)) }, "Earlier lines"),
          answer.truncated && h("button", { class: "small", onclick: () => view(path, startLine + 500) }, "More lines"),
          h("span", { class: "quiet" }, answer.totalLines ? `${answer.totalLines} lines` : "")));
    } catch (problem) {
      opened = null;
      viewer.replaceChildren(head, h("p", { class: "chip bad" }, problem.message));
    }
  }

  tree.append(h("div", { class: "row" },
    has("write_file") && h("button", { class: "small", onclick: async () => {
      const path = await ask("New file", current ? `${current}/` : "", "Create");
      if (path && (await change("write_file", { filePath: path, content: "" }, `Created ${path}`))) view(path);
    } }, "New file"),
    has("create_directory") && h("button", { class: "small", onclick: async () => {
      const path = await ask("New folder", current ? `${current}/` : "", "Create");
      if (path) change("create_directory", { dirPath: path }, `Created ${path}`);
    } }, "New folder"),
    has("undo_changes") && h("button", { class: "small", onclick: () => change("undo_changes", {}, "Undone") }, "Undo")), top);
  main.replaceChildren(h("h1", {}, "Files"), h("div", { class: "explorer" }, tree, viewer));
  again();
  if (opened) view(opened.path, opened.startLine);
}
files.cares = ["all", "tools"];
