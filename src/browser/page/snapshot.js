// The text of a snapshot: lines, what is left out, what changed.
const MIN_BUDGET = 200;
// The longest note of what is missing.
const NOTE = 90;
// Siblings of one role, more than this, are a list: whole ones first, instead of a little of each.
const ALIKE = 8;
// Less than this of a subtree is not worth showing.
const WORTH = 300;

function needsRef(item) {
  if (item.element === null) return false;
  if (!READ_ONLY.has(item.role) || item.isClickable) return true;
  return item.children.some((child) => typeof child !== "string") || (hasAttributes(item.element) && isFocusable(item.element));
}

// Sets `line` and what the item takes with everything inside, without the indentation of its own level.
function measure(item, withRefs) {
  let line = `- ${item.mark ?? ""}${item.role}`;
  if (item.name !== "") line += ` ${quote(item.name)}`;
  if (item.states.length > 0) line += ` ${item.states.join(" ")}`;
  if (withRefs && needsRef(item)) line += ` [ref=${refOf(item.element)}]`;
  item.head = line;
  const hasMore = item.extra.length > 0 || (item.value !== null && item.children.length > 0);
  const only = hasMore ? null : item.value ?? (item.children.length === 1 && typeof item.children[0] === "string" ? item.children[0] : null);
  if (hasMore && item.value !== null) item.extra = [`/value: ${quote(item.value)}`, ...item.extra];
  item.inline = only === null ? "" : `: ${quote(only)}`;
  item.shown = only === null || item.value !== null ? item.children : [];
  item.isLeaf = item.shown.length === 0 && item.extra.length === 0;
  item.said = item.extra.length === 0 ? "" : item.extra.join("\n");
  finishLine(item);
}

function finishLine(item) {
  item.line = item.head + (item.inline !== "" ? item.inline : item.isLeaf && !item.isFrame ? "" : ":");
}

const textLine = (text) => `- text: ${quote(text)}`;
const lineOf = (child) => (typeof child === "string" ? textLine(child) : child.line);

// Bottom up: children stand after their parents in the list.
function total(items, root) {
  for (let i = items.length - 1; i >= -1; i--) {
    const item = i < 0 ? root : items[i];
    item.chars = i < 0 ? 0 : item.line.length + 1;
    item.lines = i < 0 ? 0 : 1;
    for (const line of item.extra) {
      item.chars += line.length + 5;
      item.lines++;
    }
    const inner = i < 0 ? 0 : 2;
    for (const child of item.shown) {
      if (typeof child === "string") {
        item.chars += textLine(child).length + 1 + inner;
        item.lines++;
      } else {
        item.chars += child.chars + inner * child.lines;
        item.lines += child.lines;
      }
    }
  }
}

const charsAt = (child, depth) => (typeof child === "string" ? textLine(child).length + 1 + 2 * depth : child.chars + 2 * depth * child.lines);
const linesIn = (child) => (typeof child === "string" ? 1 : child.lines);

// Joins the lines, and keeps to the budget.
class Printer {
  constructor(indent, withRefs) {
    this.indent = indent;
    this.withRefs = withRefs;
    this.parts = [];
    this.frames = [];
    this.text = "";
    this.chars = 0;
    this.lines = 0;
    this.omitted = 0;
  }

  print(line, depth) {
    this.text += "  ".repeat(depth) + line + "\n";
    this.chars += 2 * depth + line.length + 1;
    this.lines++;
  }

  frame(item, depth) {
    this.parts.push(this.text);
    this.text = "";
    this.frames.push({ ref: refOf(item.element), indent: depth + 1 });
  }

  // Stops once it has printed more than `limit`.
  whole(child, depth, limit) {
    if (typeof child === "string") return this.print(textLine(child), depth);
    this.print(child.line, depth);
    for (const line of child.extra) this.print(`- ${line}`, depth + 1);
    for (const inner of child.shown) if (this.chars <= limit) this.whole(inner, depth + 1, limit);
    if (child.isFrame) this.frame(child, depth);
  }

  // At most `budget` characters of the child; false if not even its line fits.
  some(child, depth, budget) {
    if (charsAt(child, depth) <= budget) {
      this.whole(child, depth, Infinity);
      return true;
    }
    if (typeof child === "string") return false;
    const own = child.line.length + 1 + 2 * depth;
    if (own + NOTE + 2 * depth > budget) return false;
    this.print(child.line, depth);
    let left = budget - own;
    for (const line of child.extra) {
      const cost = line.length + 3 + 2 * (depth + 1);
      if (cost + NOTE + 2 * depth + 2 > left) this.omitted++;
      else {
        this.print(`- ${line}`, depth + 1);
        left -= cost;
      }
    }
    this.children(child, depth + 1, left);
    if (child.isFrame) this.frame(child, depth);
    return true;
  }

  children(item, depth, budget) {
    const { shown, skipped = 0 } = item;
    let left = budget;
    const isList = areAlike(shown);
    const share = isList ? left : fairShare(shown, depth, left - NOTE - 2 * depth);
    for (let i = 0; i < shown.length; i++) {
      const before = this.chars;
      const need = charsAt(shown[i], depth);
      const isLast = i === shown.length - 1;
      const most = Math.min(need, left - (isLast && need <= left ? 0 : NOTE + 2 * depth), Math.max(share, need <= WORTH ? need : 0));
      // Of a list, whole items: half a row is no help.
      const isPart = isList && i > 0 && need > most;
      if (most <= 0 || isPart || !this.some(shown[i], depth, most)) {
        let missing = 0;
        for (let j = i; j < shown.length; j++) missing += linesIn(shown[j]);
        this.omitted += missing;
        return this.note(item, depth, shown.length - i, i + skipped);
      }
      left -= this.chars - before;
    }
  }

  note(item, depth, missing, from) {
    const where = item.element === null || !this.withRefs ? "" : `scope ${refOf(item.element)}, `;
    this.print(`- more: ${missing} not shown; ${where}skip ${from}`, depth);
  }

  result() {
    this.parts.push(this.text);
    return this;
  }
}

// Most of them have one role.
function areAlike(children) {
  const roles = new Map();
  for (const child of children) if (typeof child !== "string") roles.set(child.role, (roles.get(child.role) ?? 0) + 1);
  for (const [, count] of roles) if (count > ALIKE && count * 2 > children.length) return true;
  return false;
}

// How much each child may take, so that small ones are whole and large ones share the rest.
function fairShare(children, depth, budget) {
  const sizes = children.map((child) => charsAt(child, depth)).sort((a, b) => a - b);
  let left = budget;
  for (let i = 0; i < sizes.length; i++) {
    const share = left / (sizes.length - i);
    if (sizes[i] > share) return Math.max(share, WORTH);
    left -= sizes[i];
  }
  return budget;
}

// ---- find ----

function keepMatches(items, root, find) {
  const wanted = tidy(find).toLowerCase();
  let matchCount = 0;
  const isMatch = (line) => line.toLowerCase().includes(wanted);
  const matching = new Set();
  for (const item of items) if (isMatch(item.line) || item.extra.some(isMatch)) matching.add(item);
  matchCount += matching.size;
  // What is inside a match stays whole.
  const inside = new Set();
  for (const item of items) if (matching.has(item) || inside.has(item.parent)) inside.add(item);
  for (let i = items.length - 1; i >= -1; i--) {
    const item = i < 0 ? root : items[i];
    if (inside.has(item)) {
      item.isKept = true;
      continue;
    }
    item.shown = item.shown.filter((child) => {
      if (typeof child !== "string") return child.isKept;
      const found = isMatch(textLine(child));
      if (found) matchCount++;
      return found;
    });
    item.extra = [];
    // What is in a frame is looked for later.
    item.isKept = item.shown.length > 0 || item.isFrame === true;
    item.isLeaf = item.shown.length === 0;
  }
  return matchCount;
}

// ---- changes ----

// By scope: what the last snapshots printed. Two, because they keep their elements alive.
const lastSnapshots = new Map();
const MAX_REMEMBERED = 2;

// What an item said and where it was; its texts are compared as a set.
class Memory {
  constructor(items, root, rootElement) {
    this.items = items;
    this.root = root;
    this.rootElement = rootElement;
    this.lines = items.map((item) => item.head);
  }

  // By element, for a comparison.
  entries() {
    const entries = new Map([[this.rootElement, this.entry(this.root, "")]]);
    this.items.forEach((item, i) => entries.set(item.element, this.entry(item, this.lines[i])));
    return entries;
  }

  entry(item, head) {
    return { said: head + item.inline, extra: item.said, texts: new Set(item.children.filter((child) => typeof child === "string" && item.inline === "")) };
  }
}

// Keeps what differs from `before`, marked, and the way there. Returns how many lines differ.
function keepChanges(items, root, rootElement, before) {
  let count = 0;
  const entries = before.entries();
  const now = new Map([[rootElement, root]]);
  for (const item of items) now.set(item.element, item);
  const fresh = new Set();
  for (const item of items) {
    if (fresh.has(item.parent)) {
      fresh.add(item);
      continue;
    }
    const entry = entries.get(item.element);
    if (entry === undefined) {
      fresh.add(item);
      item.change = "new";
    } else if (entry.said !== item.head + item.inline || entry.extra !== item.said) {
      item.change = "changed";
    }
    if (item.change !== undefined) count++;
  }
  const gone = removedLines(before, now, rootElement);
  for (let i = items.length - 1; i >= -1; i--) {
    const item = i < 0 ? root : items[i];
    if (item.change !== undefined) {
      item.head += ` [${item.change}]`;
      finishLine(item);
    }
    if (fresh.has(item)) continue;
    const entry = entries.get(i < 0 ? rootElement : item.element);
    const shown = [];
    for (const child of item.shown) {
      if (typeof child !== "string") {
        if (fresh.has(child) || child.isKept || child.isFrame) shown.push(child);
      } else if (!entry.texts.has(child)) {
        shown.push(noteItem(`- text [new]: ${quote(child)}`, item));
        count++;
      }
    }
    for (const line of gone.get(i < 0 ? rootElement : item.element) ?? []) {
      shown.push(noteItem(`- removed: ${quote(line)}`, item));
      count++;
    }
    for (const text of entry.texts) {
      if (!item.shown.includes(text) && item.inline !== `: ${quote(text)}`) {
        shown.push(noteItem(`- removed: ${quote(`text: ${quote(text, 200)}`)}`, item));
        count++;
      }
    }
    item.shown = shown;
    if (item.change === undefined) item.extra = [];
    item.isKept = item.change !== undefined || shown.length > 0;
    item.isLeaf = shown.length === 0 && item.extra.length === 0;
    if (i >= 0) finishLine(item);
  }
  return count;
}

// A line of ours, without an element.
function noteItem(line, parent) {
  return { element: parent.element, role: "", line, extra: [], shown: [], children: [], isFrame: false, chars: line.length + 1, lines: 1 };
}

// The topmost lines that are gone, by the parent that is still there.
function removedLines(before, now, rootElement) {
  const lines = new Map();
  before.items.forEach((item, i) => {
    if (now.has(item.element)) return;
    const holder = item.parent.element ?? rootElement;
    if (!now.has(holder)) return;
    if (!lines.has(holder)) lines.set(holder, []);
    lines.get(holder).push(before.lines[i].slice(2));
  });
  return lines;
}

// ---- All together ----

// The dialog that makes everything else inert.
function openModal() {
  let modal = null;
  for (const dialog of queryAll[Node.DOCUMENT_NODE](page, "dialog[open]")) if (matches(dialog, ":modal") && checkVisibility(dialog)) modal = dialog;
  return modal;
}

// Elements that may have a closed shadow root.
let suspects = [];

function hosts() {
  const elements = suspects.map(({ element }) => element);
  for (const { element, looks } of suspects) seenHosts.set(element, looks);
  suspects = [];
  return elements;
}

function snapshot(options) {
  if (options.prefix !== undefined) {
    if (!/^(f\d+)?$/.test(options.prefix)) throw new Failure("badArgument", "prefix must be empty or f and a number");
    refPrefix = options.prefix;
  }
  const withRefs = options.refs !== false;
  weakenRefs();
  const element = options.scope === undefined || options.scope === null ? null : findTarget(options.scope, { first: true });
  const modal = element === null ? openModal() : null;
  const rootElement = element ?? pageRoot();
  if (rootElement === null) return { parts: [""], frames: [], chars: 0, lines: 0, truncated: false, omitted: 0 };
  const walk = new Walk({ refs: withRefs, looks: options.looks === true });
  const root = walk.run(modal ?? rootElement, element !== null || modal !== null);
  if (walk.hosts.length > 0) {
    suspects = walk.hosts;
    return { hosts: suspects.length };
  }
  const items = walk.items;
  for (const item of items) measure(item, withRefs);
  root.extra = [];
  root.shown = root.children;
  root.head = root.inline = root.said = "";

  const result = {};
  const key = `${element === null ? "" : refOf(element)} ${withRefs}`;
  const before = lastSnapshots.get(key);
  const memory = new Memory(items, root, rootElement);
  if (options.changes) {
    result.baseline = before !== undefined;
    if (before !== undefined) result.changed = keepChanges(items, root, rootElement, before);
  }
  lastSnapshots.delete(key);
  lastSnapshots.set(key, memory);
  if (lastSnapshots.size > MAX_REMEMBERED) lastSnapshots.delete(lastSnapshots.keys().next().value);
  if (typeof options.find === "string" && tidy(options.find) !== "") result.matches = keepMatches(items, root, options.find);
  if (modal !== null && !options.changes) root.shown = [...root.shown, noteItem("- more: the page behind the modal dialog, which cannot be used now", root)];

  const skip = Math.max(0, Math.floor(options.skip ?? 0));
  if (skip > 0) {
    const list = element !== null && root.shown.length === 1 && typeof root.shown[0] !== "string" ? root.shown[0] : root;
    list.skipped = skip;
    list.shown = list.shown.slice(skip);
  }
  return Object.assign(result, printAll(items, root, options, withRefs));
}

// Most pages fit, so sizes are counted only if this one does not.
function printAll(items, root, options, withRefs) {
  const limit = options.maxChars > 0 ? Math.max(MIN_BUDGET, options.maxChars) : Infinity;
  const depth = Math.max(0, Math.floor(options.indent ?? 0));
  let printer = new Printer(depth, withRefs);
  for (const child of root.shown) if (printer.chars <= limit) printer.whole(child, depth, limit);
  if (printer.chars > limit) {
    total(items, root);
    printer = new Printer(depth, withRefs);
    printer.children(root, depth, limit);
  }
  const { parts, frames, chars, lines, omitted } = printer.result();
  return { parts, frames, chars, lines, truncated: omitted > 0, omitted };
}
