// The folders as agents see them, through the same tools.
import { ask, empty, h, sure, toast } from "./dom.js";
import { callTool, toolObject } from "./api.js";
import { highlight } from "./highlight.js";
import { otherFolders, state } from "./store.js";
import { showResult } from "./tools.js";

const has = (name) => state.tools.some((tool) => tool.name === name);
const base = (path) => path.split("/").pop();
const above = (path) => path.split("/").slice(0, -1).join("/");
// What is open stays open when the page is drawn again, because a tool came or went.
let opened = null;
const expanded = new Set(); // folders
const LINES = 500; // at once
const MEDIA = /\.(png|jpe?g|gif|webp|pdf)$/i;

export function files(main) {
  if (!has("list_files")) {
    main.replaceChildren(h("h1", {}, "Files"), h("div", { class: "card" }, state.status?.connected
      ? empty("No file tools", "They are switched off, or the machine does not offer them.", h("a", { class: "button", href: "#/" }, "See the machine"))
      : empty("No machine is connected", "Its folder is shown here as agents see it.", h("a", { class: "button", href: "#/" }, "Connect one"))));
    return;
  }
  const nothing = () => empty("Choose a file", "You see what agents see: the machine hides the rest.");
  const viewer = h("section", { class: "card viewer" }, nothing());
  const tree = h("nav", { class: "card tree", "aria-label": "Files" });
  let current = "";

  async function list(path) {
    const answer = await toolObject("list_files", { dirPath: path || "." });
    return answer.entries ?? answer;
  }

  // Of a file or a folder. One that the machine gives has a label, and stays as it is.
  function item(entry) {
    const isFolder = entry.type === "directory";
    const isOpen = expanded.has(entry.path);
    const inner = h("ul", { hidden: !isOpen });
    if (isFolder && isOpen) fill(inner, entry.path);
    const button = h("button", {
      title: entry.path, "aria-expanded": isFolder ? String(isOpen) : undefined,
      "aria-current": entry.path === opened?.path ? "true" : undefined,
      onclick: () => {
        for (const other of tree.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
        button.setAttribute("aria-current", "true");
        current = isFolder ? entry.path : above(entry.path);
        if (!isFolder) return view(entry.path);
        inner.hidden = !inner.hidden;
        expanded[inner.hidden ? "delete" : "add"](entry.path);
        button.setAttribute("aria-expanded", String(!inner.hidden));
        if (!inner.hidden) fill(inner, entry.path);
        viewFolder(entry.path);
      },
    }, entry.label ?? base(entry.path));
    return h("li", {}, button, isFolder && inner);
  }

  async function fill(into, path) {
    if (!into.hasChildNodes()) into.append(h("li", {}, h("span", { class: "quiet" }, "…")));
    try {
      const entries = await list(path);
      into.replaceChildren(...entries.map(item));
      if (entries.length === 0) into.replaceChildren(h("li", {}, h("span", { class: "quiet" }, "Empty")));
    } catch (problem) {
      into.replaceChildren(h("li", { class: "problem" }, problem.message));
    }
  }

  const top = h("ul");
  // A whole path would be cut off where it differs from others.
  const label = (path) => otherFolders().filter((folder) => base(folder.path) === base(path)).length === 1 ? base(path) : path.split("/").slice(-2).join("/");
  const others = otherFolders().map(({ path, access }) => ({
    path, access, type: "directory", label: access === "write" ? label(path) : `${label(path)} (read only)`,
  }));
  const beside = h("ul");
  const again = () => {
    beside.replaceChildren(...others.map(item));
    return fill(top, "");
  };
  const stays = (path) => others.some((folder) => folder.path === path ||
    (folder.access !== "write" && path.startsWith(`${folder.path}/`)));

  async function change(name, args, done, show) {
    try {
      const answer = await toolObject(name, args);
      show?.(); // before it is said to be done, so that no button of another file is left
      toast(answer.undone?.length === 0 ? "Nothing to undo" : done);
      again();
    } catch (problem) {
      toast(problem.message);
    }
  }

  const actions = (path) => !stays(path) && h("div", { class: "row" },
    has("move") && h("button", { class: "small", onclick: async () => {
      const to = await ask("New path", path, "Move");
      if (to && to !== path) change("move", { sourcePath: path, destinationPath: to }, `Moved to ${to}`, close);
    } }, "Rename or move"),
    has("delete") && h("button", { class: "small danger", onclick: async () => {
      if (await sure(`Delete “${base(path)}”?`, has("undo_changes") ? "You can undo this." : "This cannot be undone.", "Delete")) change("delete", { path }, `Deleted ${path}`, close);
    } }, "Delete"));

  function close() {
    opened = null;
    viewer.replaceChildren(nothing());
  }

  function viewFolder(path) {
    opened = null;
    viewer.replaceChildren(h("div", { class: "row apart" }, h("h2", { class: "mono" }, `${path}/`), actions(path)),
      h("p", { class: "quiet" }, "Choose a file in this folder."));
  }

  async function view(path, startLine = 1) {
    const own = (opened = { path, startLine });
    viewer.replaceChildren(h("p", { class: "quiet" }, "Reading…"));
    const head = h("div", { class: "row apart" }, h("h2", { class: "mono" }, path), actions(path));
    try {
      if (MEDIA.test(path)) {
        const result = await callTool("read_file", { filePath: path });
        if (opened !== own) return; // another one was chosen meanwhile
        const seen = (result.content ?? []).filter((block) => block.type !== "text");
        const { mimeType, sizeBytes } = result.structuredContent ?? {};
        viewer.replaceChildren(head, ...showResult(seen.length > 0 ? { content: seen } : result),
          seen[0]?.type === "image" && sizeBytes !== undefined ? h("p", { class: "quiet" }, `${mimeType}, ${sizeBytes.toLocaleString()} bytes`) : "");
        return;
      }
      const answer = await toolObject("read_file", { filePath: path, startLine, maxLines: LINES });
      if (opened !== own) return;
      const lines = highlight(answer.content ?? answer.text ?? "", path);
      const last = startLine + lines.length - 1;
      const code = h("pre", { tabindex: 0 }, lines);
      code.style.counterReset = `line ${startLine - 1}`;
      viewer.replaceChildren(head, code,
        h("div", { class: "row" },
          startLine > 1 && h("button", { class: "small", onclick: () => view(path, Math.max(1, startLine - LINES)) }, "Earlier lines"),
          answer.truncated && h("button", { class: "small", onclick: () => view(path, last + 1) }, "More lines"),
          h("span", { class: "quiet" }, startLine > 1 || answer.truncated ? `Lines ${startLine} to ${last}${answer.truncated ? ` of ${answer.totalLines}` : ""}` : !answer.content && !answer.text ? "Empty" : last === 1 ? "1 line" : `${last} lines`)));
    } catch (problem) {
      if (opened !== own) return;
      opened = null;
      viewer.replaceChildren(head, h("p", { class: "problem" }, problem.message));
    }
  }

  tree.append(h("div", { class: "row" },
    has("write_file") && h("button", { class: "small", onclick: async () => {
      const path = await ask("New file", current ? `${current}/` : "", "Create");
      if (path) change("write_file", { filePath: path, content: "" }, `Created ${path}`, () => view(path));
    } }, "New file"),
    has("create_directory") && h("button", { class: "small", onclick: async () => {
      const path = await ask("New folder", current ? `${current}/` : "", "Create");
      if (path) change("create_directory", { dirPath: path }, `Created ${path}`);
    } }, "New folder"),
    has("undo_changes") && h("button", { class: "small", onclick: () => change("undo_changes", {}, "Undone") }, "Undo")), top, others.length > 0 && beside);
  main.replaceChildren(h("h1", {}, "Files"), h("div", { class: "explorer" }, tree, viewer));
  again();
  if (opened) view(opened.path, opened.startLine);
}
files.cares = ["all", "tools", "folders"];
