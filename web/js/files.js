// The folders as agents see them, through the same tools. What is shown follows what agents change.
import { arrange, ask, empty, h, released, sure, toast, visible } from "./dom.js";
import { callTool, toolObject } from "./api.js";
import { PAGE } from "./charts.js";
import { highlight } from "./highlight.js";
import { otherFolders, state, watch } from "./store.js";
import { showResult } from "./tools.js";

const has = (name) => state.tools.some((tool) => tool.name === name);
const base = (path) => path.split("/").pop();
const above = (path) => path.split("/").slice(0, -1).join("/");
// What is open stays open when the page is drawn again, because a tool came or went.
let opened = null;
const expanded = new Set(); // folders
const LINES = 500; // at once
const MEDIA = /\.(png|jpe?g|gif|webp|pdf)$/i;

// Calls may come by the hundred, and each look at the folders is a call of its own.
const GATHER_MS = 100;
const FOLLOW_MS = 1000;
const MOST_CHANGES = 32; // each is looked for in the tree; more are ANYTHING, and nobody looks at a hidden tab for long
const ANYTHING = "";
const ELSEWHERE = new Set(["browser", "screenshot", "mouse-keyboard"]); // these groups change no files
const NAMING_ONE = new Set(["write_file", "append_file", "edit_file", "create_directory", "delete"]); // and their calls say which
const KEEPING_NAMES = new Set(["write_file", "append_file", "edit_file", "create_directory"]); // of what is there already

// Whether it succeeded does not matter: it may have done a part.
function mayChange({ tool: name }) {
  const tool = state.tools.find((each) => each.name === name); // else it is of another machine
  return tool && !tool.annotations?.readOnlyHint && !ELSEWHERE.has(tool.annotations?.category);
}

// As lists have it; or ANYTHING if that is not clear, because it was cut or another way to write it.
function changedPath({ tool, what = "" }) {
  if (!NAMING_ONE.has(tool)) return ANYTHING;
  const root = `${state.status?.directory}/`;
  const path = (what.startsWith(root) ? what.slice(root.length) : what).replace(/^\.\//, "").replace(/\/$/, "");
  return /\\|\.\.\.$|\/\/|(^|\/)\.{1,2}(\/|$)/.test(path) ? ANYTHING : path;
}

// Where somebody had to allow the last look, the next one would ask again, and nobody has clicked.
const wasAsked = (tool, what) => state.calls.findLast((call) => call.agent === PAGE && call.tool === tool && call.what === what)?.decision === "user";

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
  const lists = new Map(); // of folders that are open, by path
  const latest = new WeakMap(); // what was asked for a list last; an older answer must not replace it

  async function list(path) {
    const answer = await toolObject("list_files", { dirPath: path || "." });
    return answer.entries ?? answer;
  }

  // Of a file or a folder. One that the machine gives has a label, and stays as it is.
  function item(entry) {
    const isFolder = entry.type === "directory";
    const isOpen = expanded.has(entry.path);
    const inner = h("ul", { hidden: !isOpen });
    if (isFolder) lists.set(entry.path, inner);
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
        if (!inner.hidden) fill(inner, entry.path, true);
        viewFolder(entry.path);
      },
    }, visible(entry.label ?? base(entry.path)));
    const row = h("li", {}, button, isFolder && inner);
    row.entry = entry;
    return row;
  }

  const isShown = (path) => lists.get(path)?.isConnected && !lists.get(path).closest("[hidden]");

  // What is still there stays the same element, with its focus and what is open below it.
  async function fill(into, path, isDeep = false) {
    const own = {};
    latest.set(into, own);
    if (!into.hasChildNodes()) into.append(h("li", {}, h("span", { class: "quiet" }, "…")));
    let rows;
    try {
      const entries = await list(path);
      await released();
      if (latest.get(into) !== own) return;
      const before = new Map([...into.children].filter((row) => row.entry).map((row) => [`${row.entry.type} ${row.entry.path}`, row]));
      rows = entries.map((entry) => before.get(`${entry.type} ${entry.path}`) ?? item(entry));
      if (rows.length === 0) rows = [h("li", {}, h("span", { class: "quiet" }, "Empty"))];
    } catch (problem) {
      if (latest.get(into) !== own) return;
      rows = [h("li", { class: "problem" }, problem.message)];
    }
    const kept = rows.filter((row) => row.isConnected && row.entry);
    arrange(into, rows);
    for (const [gone, list] of lists) if (!list.isConnected) lists.delete(gone);
    if (isDeep) await Promise.all(kept.filter((row) => isShown(row.entry.path)).map((row) => follow(row.entry.path)));
  }

  // Again, and all that is open below it.
  const follow = (path) => !wasAsked("list_files", path || ".") && fill(lists.get(path), path, true);

  const top = h("ul");
  lists.set("", top);
  // A whole path would be cut off where it differs from others.
  const label = (path) => otherFolders().filter((folder) => base(folder.path) === base(path)).length === 1 ? base(path) : path.split("/").slice(-2).join("/");
  const others = otherFolders().map(({ path, access }) => ({
    path, access, type: "directory", label: access === "write" ? label(path) : `${label(path)} (read only)`,
  }));
  const beside = h("ul");
  const stays = (path) => others.some((folder) => folder.path === path ||
    (folder.access !== "write" && path.startsWith(`${folder.path}/`)));

  async function change(name, args, done, show) {
    try {
      const answer = await toolObject(name, args);
      show?.(); // before it is said to be done, so that no button of another file is left
      toast(answer.undone?.length === 0 ? "Nothing to undo" : done);
      changes(ANYTHING);
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
      if (await sure(`Delete “${visible(base(path))}”?`, has("undo_changes") ? "You can undo this." : "This cannot be undone.", "Delete")) change("delete", { path }, `Deleted ${visible(path)}`, close);
    } }, "Delete"));

  function close() {
    opened = null;
    viewer.replaceChildren(nothing());
  }

  function viewFolder(path) {
    opened = null;
    viewer.replaceChildren(h("div", { class: "row apart" }, h("h2", { class: "mono" }, `${visible(path)}/`), actions(path)),
      h("p", { class: "quiet" }, "Choose a file in this folder."));
  }

  function view(path, startLine = 1) {
    opened = { path, startLine };
    viewer.replaceChildren(h("p", { class: "quiet" }, "Reading…"));
    return read(opened);
  }

  function drawMedia(own, result) {
    const told = JSON.stringify(result);
    if (own.drawn?.isConnected && own.told === told) return [];
    own.told = told;
    const seen = (result.content ?? []).filter((block) => block.type !== "text");
    const { mimeType, sizeBytes } = result.structuredContent ?? {};
    own.drawn = h("div", {}, showResult(seen.length > 0 ? { content: seen } : result));
    return [own.drawn, seen[0]?.type === "image" && sizeBytes !== undefined ? h("p", { class: "quiet" }, `${mimeType}, ${sizeBytes.toLocaleString()} bytes`) : ""];
  }

  // Lines that are the same stay, with what is selected in them and where they are scrolled to.
  function replaceLines(code, lines) {
    const before = [...code.children];
    const most = Math.min(before.length, lines.length);
    let first = 0;
    while (first < most && before[first].isEqualNode(lines[first])) first++;
    let last = 0;
    while (last < most - first && before.at(-1 - last).isEqualNode(lines.at(-1 - last))) last++;
    const behind = before[before.length - last] ?? null;
    for (const line of before.slice(first, before.length - last)) line.remove();
    for (const line of lines.slice(first, lines.length - last)) code.insertBefore(line, behind);
  }

  function drawText(own, answer) {
    const { path, startLine } = own;
    const lines = highlight(answer.content ?? answer.text ?? "", path);
    const last = startLine + lines.length - 1;
    const foot = h("div", { class: "row" },
      startLine > 1 && h("button", { class: "small", onclick: () => view(path, Math.max(1, startLine - LINES)) }, "Earlier lines"),
      answer.truncated && h("button", { class: "small", onclick: () => view(path, last + 1) }, "More lines"),
      h("span", { class: "quiet" }, startLine > 1 || answer.truncated ? `Lines ${startLine} to ${last}${answer.truncated ? ` of ${answer.totalLines}` : ""}` : !answer.content && !answer.text ? "Empty" : last === 1 ? "1 line" : `${last} lines`));
    if (own.drawn?.isConnected) {
      replaceLines(own.drawn, lines);
      const before = own.drawn.nextElementSibling;
      if (!before.isEqualNode(foot)) before.replaceWith(foot);
      return [];
    }
    own.drawn = h("pre", { tabindex: 0 }, lines);
    own.drawn.style.counterReset = `line ${startLine - 1}`;
    return [own.drawn, foot];
  }

  async function read(own, isAgain = false) {
    const { path, startLine } = own;
    const turn = (own.turn = {});
    const isOver = () => opened !== own || own.turn !== turn; // another one was chosen meanwhile
    let shown;
    try {
      const isMedia = MEDIA.test(path);
      const answer = isMedia ? await callTool("read_file", { filePath: path })
        : await toolObject("read_file", { filePath: path, startLine, maxLines: LINES });
      if (isAgain) await released();
      if (isOver()) return;
      shown = isMedia ? drawMedia(own, answer) : drawText(own, answer);
    } catch (problem) {
      if (isOver()) return;
      if (!isAgain) opened = null; // else it may come back
      shown = [h("p", { class: "problem" }, problem.message)];
    }
    if (shown.length > 0) viewer.replaceChildren(h("div", { class: "row apart" }, h("h2", { class: "mono" }, visible(path)), actions(path)), ...shown);
  }

  // ---- Following what was changed ----

  let changed = new Map(); // paths, and whether only what is in them
  let timer;
  let followed = -Infinity; // when
  function changes(path, keepsNames = false) {
    if (changed.size >= MOST_CHANGES) changed = new Map([[ANYTHING, false]]);
    if (!changed.has(ANYTHING)) changed.set(path, keepsNames && (changed.get(path) ?? true));
    timer ??= setTimeout(followAll, Math.max(GATHER_MS, followed + FOLLOW_MS - performance.now()));
  }

  // The last open folder on the way to it, unless that has the name already, or one of a folder around it.
  function listOf(path, keepsNames) {
    const isListed = (wanted) => [...tree.querySelectorAll("button")].some(({ title }) => title === wanted);
    for (let below = path; ; below = above(below)) {
      if (isListed(below) && (keepsNames || below !== path)) return [];
      if (isShown(above(below))) return [above(below)];
    }
  }

  async function followAll() {
    if (!tree.isConnected) return;
    if (document.hidden) return document.addEventListener("visibilitychange", followAll, { once: true });
    const paths = changed;
    changed = new Map();
    const isAll = paths.has(ANYTHING);
    const folders = isAll ? ["", ...others.map(({ path }) => path).filter(isShown)] : new Set([...paths].flatMap(([path, keepsNames]) => listOf(path, keepsNames)));
    const isOpenConcerned = opened && (isAll || [...paths.keys()].some((path) => `${opened.path}/`.startsWith(`${path}/`)));
    await Promise.all([
      ...[...folders].map(follow),
      isOpenConcerned && !wasAsked("read_file", opened.path) && read(opened, true),
    ]);
    followed = performance.now();
    timer = undefined;
    for (const [path, keepsNames] of changed) changes(path, keepsNames);
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
    has("undo_changes") && h("button", { class: "small", onclick: () => change("undo_changes", {}, "Undone") }, "Undo")), top, ...(others.length > 0 ? [beside] : []));
  main.replaceChildren(h("h1", {}, "Files"), h("div", { class: "explorer" }, tree, viewer));
  beside.replaceChildren(...others.map(item));
  fill(top, "");
  if (opened) view(opened.path, opened.startLine);
  const unwatch = watch((what) => {
    if (!tree.isConnected) unwatch();
    else if (what?.ended && mayChange(what.ended)) changes(changedPath(what.ended), KEEPING_NAMES.has(what.ended.tool));
    else if (what?.jobId && what.state !== "running") changes(ANYTHING);
  });
}
files.cares = ["all", "tools", "folders"];
