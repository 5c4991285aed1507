// The tree that a snapshot prints: elements with a meaning, and the text between them.

// Deeper items are printed at this level: an indented line costs what its level is.
const MAX_LEVEL = 100;

const NONE = Object.freeze([]);

class Item {
  constructor(element, role, parent) {
    this.element = element;
    this.role = role;
    this.parent = parent;
    this.level = parent === null ? -1 : parent.level + 1;
    this.name = "";
    this.value = null;
    this.states = NONE;
    this.extra = NONE; // "/url: ..."
    this.children = NONE; // items and strings
    this.pending = ""; // text that is not complete yet
    this.isFrame = false;
    this.isClickable = false;
    // Set by measure() and total().
    this.head = this.inline = this.line = this.said = "";
    this.shown = NONE;
    this.isLeaf = false;
    this.isKept = false;
    this.chars = this.lines = 0;
  }

  flush() {
    if (this.pending === "") return;
    const text = tidy(this.pending);
    this.pending = "";
    if (text !== "") this.push(text);
  }

  push(child) {
    if (this.children === NONE) this.children = [child];
    else this.children.push(child);
  }

  add(item) {
    if (this.pending !== "") this.flush();
    this.push(item);
  }

  state(text) {
    if (this.states === NONE) this.states = [text];
    else this.states.push(text);
  }

  attach(line) {
    if (this.extra === NONE) this.extra = [line];
    else this.extra.push(line);
  }
}

const SKIPPED = words("script style noscript template head meta link title base source track param datalist");
const SKIPPED_IN_DRAWINGS = words("defs desc title metadata clipPath mask pattern symbol marker linearGradient radialGradient filter style script");
// What they contain is their value, a picture, or another document.
const LEAVES = words("input textarea img hr meter progress iframe frame video audio canvas embed object area");
// Their text is their name, and is not printed a second time.
const NAMED_WHOLE = words(`button checkbox heading link menuitem menuitemcheckbox menuitemradio option radio switch tab
  treeitem`);
// Small boxes of text: named by it only if there is nothing else inside.
const CELLS = words("cell gridcell columnheader rowheader term tooltip");
// Leaves of these roles are for reading: no ref.
const READ_ONLY = words(`cell paragraph listitem caption definition term blockquote columnheader rowheader time deletion
  insertion strong emphasis code mark subscript superscript rowgroup separator status`);
// What even an element without attributes can be in, or contain.
const STATEFUL = words("heading option button textbox checkbox combobox listbox dialog group");
const VALUED = words("button combobox meter progressbar scrollbar searchbox slider spinbutton textbox");
const MAX_HOSTS = 200;
// Those that may have a shadow root, besides elements of the page's own making.
const SHADOW_HOSTS = words("article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span");
// Empty ones that are smaller are icons and lines.
const LEAST_HOST = { width: 40, height: 16 };
const BOUNDS = [["min", "min", "aria-valuemin"], ["max", "max", "aria-valuemax"]];
const EMBEDDED_TITLES = words("legend caption figcaption");

// What holds for the children of an element.
const BLOCK = 1; // a line of its own: text before and after is separate
const MUTE = 2; // the text here is invisible
const NAMED = 4; // inside of something whose name contains all text
const IN_TREE = 8; // in a treeitem
const POINTER = 16; // something around it is clickable
const INHERITED = NAMED | IN_TREE | POINTER;

// Where a walk is: the siblings that are left. One for each depth, used again.
class Level {
  start(into, list, next, flags, ends) {
    this.into = into;
    this.list = list; // an array, or null: then `next` and its siblings
    this.next = next;
    this.at = 0;
    this.flags = flags;
    this.isNamed = (flags & NAMED) !== 0;
    this.isMute = (flags & MUTE) !== 0;
    this.hasPointer = (flags & POINTER) !== 0;
    this.inTree = (flags & IN_TREE) !== 0;
    this.isOwned = false; // by aria-owns
    this.after = ""; // generated text at the end
    this.ends = ends; // the item that is complete then
    this.generates = false; // ::before and ::after are possible
    this.mayHide = false; // content-visibility is
  }

  take() {
    if (this.list !== null) return this.at < this.list.length ? this.list[this.at++] : null;
    const node = this.next;
    if (node !== null) this.next = nextSibling(node);
    return node;
  }
}

const isBlockDisplay = (display) => display !== "inline" && display !== "contents";

class Walk {
  constructor(options) {
    this.withRefs = options.refs;
    this.looks = options.looks;
    this.focused = focusedElement();
    this.owners = this.findOwners();
    this.items = [];
    this.hosts = []; // that may have a closed shadow root
    this.levels = [];
    this.depth = 0;
  }

  enter(into, list, next, flags, ends) {
    if (this.depth === this.levels.length) this.levels.push(new Level());
    const level = this.levels[this.depth++];
    level.start(into, list, next, flags, ends);
    return level;
  }

  // aria-owns moves elements; the first owner wins, and nobody owns what is around it.
  findOwners() {
    const owners = new Map();
    for (const owner of queryAll[Node.DOCUMENT_NODE](page, "[aria-owns]")) {
      for (const owned of referenced(owner, "aria-owns", "ariaOwnsElements")) {
        if (!owners.has(owned) && !contains(owned, owner) && !this.ownsBack(owners, owned, owner)) owners.set(owned, owner);
      }
    }
    return owners;
  }

  ownsBack(owners, owned, owner) {
    for (let at = owner, steps = 0; at !== undefined && steps < 1000; at = owners.get(at), steps++) if (contains(owned, at)) return true;
    return false;
  }

  run(element, isScope) {
    const root = new Item(null, "root", null);
    const first = this.enter(root, isScope ? [element] : composedChildren(element), null, 0, null);
    first.generates = mayGenerate(element);
    first.mayHide = mayHide(element);
    while (this.depth > 0) this.step(this.levels[this.depth - 1]);
    root.flush();
    return root;
  }

  step(level) {
    const node = level.take();
    if (node === null) return this.leave(level);
    const type = nodeType(node);
    if (type === TEXT) {
      if (!level.isMute && !level.isNamed) level.into.pending += dataOf(node);
    } else if (type === ELEMENT) {
      this.visit(node, level);
    }
  }

  leave(level) {
    this.depth--;
    const item = level.into;
    if (level.after !== "") item.pending += level.after;
    if ((level.flags & BLOCK) !== 0) item.flush();
    if (level.ends === item) this.finish(item);
  }

  finish(item) {
    item.flush();
    if (item.children !== NONE && CELLS.has(item.role) && item.name === "" && item.children.every((child) => typeof child === "string")) {
      item.name = item.children.join(" ");
      item.children = NONE;
    }
  }

  visit(element, level) {
    const tag = localName(element);
    if (SKIPPED.has(tag) ? isHtml(element) || tag === "title" : SKIPPED_IN_DRAWINGS.has(tag) && !isHtml(element)) return;
    if (tag === "br") {
      if (!level.isNamed && !level.isMute) level.into.pending += " ";
      return;
    }
    const isBare = !hasAttributes(element);
    if (!isBare) {
      if (attribute(element, "aria-hidden") === "true" || hasAttribute(element, "inert")) return;
      if (this.owners.size > 0 && this.owners.has(element) && !level.isOwned) return;
    }
    const style = styleOf(element);
    const display = style.display;
    if (display === "none" && !(tag === "area" && isHtml(element))) return;
    // It is in no slot, so its parent has a shadow root.
    if (display === "") return this.suspect(parentNode(element), "unslotted");
    // Some descendants of an invisible element may be visible again.
    if (style.visibility !== "visible") return this.descend(element, tag, level.into, level, (level.flags & INHERITED) | MUTE | (isBlockDisplay(display) ? BLOCK : 0), null);
    this.visitVisible(element, tag, isBare, style, display, level);
  }

  visitVisible(element, tag, isBare, style, display, level) {
    const role = isBare ? nativeRole(element) : roleOf(element);
    if (EMBEDDED_TITLES.has(tag) && level.into.name !== "" && level.into.name.includes(tidy(textContent(element).slice(0, MAX_STRING)))) {
      return this.descend(element, tag, level.into, level, (level.flags & INHERITED) | BLOCK | NAMED, null);
    }
    const canClick = !level.hasPointer && !level.isNamed && !INTERACTIVE.has(role) && style.cursor === "pointer";
    if (!PHRASES.has(role) && !(level.isNamed && !this.showsInside(element, role, level))) return this.emit(element, tag, role, style, level, canClick, element);

    // Without a meaning of its own, unless somebody can do something with it.
    const isBlock = isBlockDisplay(display);
    if (tag === "label" && isHtml(element)) return this.visitLabel(element, style, isBlock, level);
    if (canClick || (!isBare && this.isUseful(element, role))) return this.emit(element, tag, "generic", style, level, canClick, element);
    if (level.mayHide && style.contentVisibility === "hidden") return;
    this.descend(element, tag, level.into, level, (level.flags & INHERITED) | (isBlock ? BLOCK : 0), null);
  }

  showsInside(element, role, level) {
    if (level.inTree && role === "group") return true;
    return INTERACTIVE.has(role) || role === "heading" || role === "iframe" || (hasAttributes(element) && isFocusable(element));
  }

  isUseful(element, role) {
    if (role === "none") return hasAttribute(element, "tabindex");
    if (hasAttribute(element, "tabindex") || isEditingHost(element) || attribute(element, "draggable") === "true") return true;
    return hasAttribute(element, "aria-label") || hasAttribute(element, "aria-labelledby") || hasAttribute(element, "aria-roledescription");
  }

  visitLabel(label, style, isBlock, level) {
    const control = Reflect.get(HTMLLabelElement.prototype, "control", label);
    if (control !== null && !isRendered(control)) {
      // People click the label then; so does the agent.
      const role = roleOf(control);
      return this.emit(label, "label", role === "none" ? "generic" : role, style, level, false, control);
    }
    const isNamed = control !== null && !hasAttribute(control, "aria-label") && !hasAttribute(control, "aria-labelledby");
    this.descend(label, "label", level.into, level, (level.flags & INHERITED) | (isBlock ? BLOCK : 0) | (isNamed ? NAMED : 0), null);
  }

  // `about` is the element that the line describes: a label's control.
  emit(element, tag, role, style, level, canClick, about) {
    const parent = level.into;
    const item = new Item(element, role, parent);
    parent.add(item);
    this.items.push(item);
    this.describe(item, about, canClick);
    if (item.isFrame || (LEAVES.has(tag) && isHtml(element))) return;
    if (tag === "select" && isHtml(element)) return this.addOptions(item, about);
    if (level.mayHide && style.contentVisibility === "hidden") return;
    const isNamed = about !== element || NAMED_WHOLE.has(role) || (level.isNamed && !(level.inTree && role === "group"));
    const flags = (isNamed ? NAMED : 0) | (role === "treeitem" ? IN_TREE : 0) | (canClick || level.hasPointer || INTERACTIVE.has(role) ? POINTER : 0);
    this.descend(element, tag, item.level >= MAX_LEVEL ? parent : item, level, flags, item);
  }

  describe(item, element, canClick) {
    const { role } = item;
    const isBare = !hasAttributes(element);
    if (CELLS.has(role) || role === "row") item.name = isBare ? "" : authorName(element);
    else item.name = nameOf(element, role);
    item.isFrame = role === "iframe" && (element instanceof HTMLIFrameElement || element instanceof HTMLFrameElement);
    if (!isBare || STATEFUL.has(role)) item.states = statesOf(element, role, this.focused);
    else if (element === this.focused) item.state("[focused]");
    if (canClick) {
      item.state("[clickable]");
      item.isClickable = true;
    }
    if (VALUED.has(role)) this.describeValue(item, element, role);
    if (!isBare) this.describeMore(item, element, role);
  }

  describeMore(item, element, role) {
    if (role === "link") {
      const address = attribute(element, "href") ?? attribute(element, "xlink:href");
      if (address !== null) item.attach(`/url: ${quote(address.trim(), address.startsWith("data:") ? 60 : MAX_ADDRESS)}`);
    }
    const hint = attribute(element, "placeholder");
    if (hint !== null && !item.value && tidy(hint) !== "" && tidy(hint) !== item.name) item.attach(`/placeholder: ${quote(tidy(hint))}`);
    const description = descriptionOf(element, item.name);
    if (description !== "") item.attach(`/description: ${quote(description)}`);
    if (hasAttribute(element, "aria-errormessage") && isInvalid(element)) {
      const message = referencedName(element, "aria-errormessage", "ariaErrorMessageElements", new Search());
      if (message !== "") item.attach(`/error: ${quote(message)}`);
    }
  }

  describeValue(item, element, role) {
    const value = shownValue(element, role);
    if (value === null) return;
    if (isSecret(element)) {
      if (value !== "") item.state("[filled]");
      return;
    }
    const text = element instanceof HTMLTextAreaElement ? value.slice(0, MAX_GATHERED).trim() : tidy(value.slice(0, MAX_GATHERED));
    // The options say which one it is.
    if (text !== "" && !(element instanceof HTMLSelectElement)) item.value = text;
    if (role !== "slider" && role !== "spinbutton") return;
    for (const [state, native, aria] of BOUNDS) {
      const bound = attribute(element, native) ?? attribute(element, aria);
      if (bound !== null && bound.trim() !== "" && Number.isFinite(Number(bound))) item.state(`[${state}=${Number(bound)}]`);
    }
  }

  addOptions(item, select) {
    let into = item;
    let group = null;
    for (const option of optionsOf(select)) {
      const parent = parentNode(option);
      if (styleOf(option).display === "none" || attribute(option, "aria-hidden") === "true") continue;
      if (parent !== group) {
        group = parent;
        into = item;
        if (parent instanceof HTMLOptGroupElement) {
          into = new Item(parent, "group", item);
          into.name = nameOf(parent, "group");
          into.states = statesOf(parent, "group", null);
          item.add(into);
          this.items.push(into);
        }
      }
      const line = new Item(option, "option", into);
      line.name = nameOf(option, "option");
      line.states = statesOf(option, "option", null);
      into.add(line);
      this.items.push(line);
    }
  }

  // Goes on with the children, for which `flags` hold.
  descend(element, tag, into, level, flags, ends) {
    const root = shadowOf(element);
    let list = null;
    if (root !== null || tag === "slot") list = composedChildren(element);
    else if (tag === "details" && !hasAttribute(element, "open") && isHtml(element)) {
      const summary = firstChildNamed(element, "summary");
      list = summary === null ? NONE : [summary];
    } else if (this.looks) this.lookForRoot(element, tag);
    const { generates, mayHide: hides } = level;
    const next = list === null ? firstChild(element) : null;
    if (next === null && list === null && !generates && this.owners.size === 0) {
      if ((flags & BLOCK) !== 0) into.flush();
      return;
    }
    if ((flags & BLOCK) !== 0) into.flush();
    if (this.owners.size > 0) ends = this.enterOwned(element, into, flags, generates, ends);
    const inner = this.enter(into, list, next, flags, ends);
    const isElsewhere = list !== null && list.length > 0;
    inner.generates = isElsewhere ? mayGenerate(list[0]) : generates;
    inner.mayHide = isElsewhere ? mayHide(list[0]) : hides;
    if (generates && !inner.isNamed && !inner.isMute) {
      into.pending += generatedText(element, "::before");
      inner.after = generatedText(element, "::after");
    }
  }

  // Whether C should look for a closed root: once, and again when the element has changed.
  lookForRoot(element, tag) {
    const isEmpty = firstChild(element) === null;
    const isOwn = tag.includes("-");
    if (!(isOwn || (isEmpty && SHADOW_HOSTS.has(tag))) || !isHtml(element)) return;
    const { width, height } = isEmpty ? boundingRect(element) : LEAST_HOST;
    if (isOwn || (width >= LEAST_HOST.width && height >= LEAST_HOST.height)) this.suspect(element, `${isOwn && matches(element, ":defined")} ${width} ${height}`);
  }

  suspect(element, looks) {
    if (this.looks && this.hosts.length < MAX_HOSTS && isElement(element) && seenHosts.get(element) !== looks) this.hosts.push({ element, looks });
  }

  // What aria-owns adds comes after the children; then that is where the item ends.
  enterOwned(element, into, flags, generates, ends) {
    if (!hasAttribute(element, "aria-owns")) return ends;
    const owned = referenced(element, "aria-owns", "ariaOwnsElements").filter((other) => this.owners.get(other) === element);
    if (owned.length === 0) return ends;
    const level = this.enter(into, owned, null, flags & INHERITED, ends);
    level.isOwned = true;
    level.generates = generates;
    return null;
  }
}
