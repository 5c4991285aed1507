// The tree that a snapshot prints: elements with a meaning, and the text between them.

// Deeper items are printed at this level: an indented line costs what its level is.
const MAX_LEVEL = 100;

class Item {
  constructor(element, role, parent) {
    this.element = element;
    this.role = role;
    this.parent = parent;
    this.level = parent === null ? -1 : parent.level + 1;
    this.name = "";
    this.value = null;
    this.states = [];
    this.extra = []; // "/url: ..."
    this.children = []; // items and strings
    this.pending = ""; // text that is not complete yet
    this.isFrame = false;
  }

  flush() {
    if (this.pending === "") return;
    const text = tidy(this.pending);
    this.pending = "";
    if (text !== "") this.children.push(text);
  }

  add(item) {
    this.flush();
    this.children.push(item);
  }
}

const SKIPPED = words("script style noscript template head meta link title base source track param datalist");
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
const BOUNDS = [["min", "min", "aria-valuemin"], ["max", "max", "aria-valuemax"]];
const EMBEDDED_TITLES = words("legend caption figcaption");

// Where a walk is: the siblings that are left, and what holds for them.
class Level {
  constructor(into, list, next, before) {
    this.into = into;
    this.list = list; // an array, or null: then `next` and its siblings
    this.next = next;
    this.at = 0;
    this.isNamed = before.isNamed; // inside of something whose name contains all text
    this.isMute = before.isMute; // the text here is invisible
    this.hasPointer = before.hasPointer;
    this.generates = before.generates;
    this.inTree = before.inTree;
    this.block = false; // a line of its own: text before and after is separate
    this.after = ""; // generated text at the end
  }

  take() {
    if (this.list !== null) return this.at < this.list.length ? this.list[this.at++] : null;
    const node = this.next;
    if (node !== null) this.next = nextSibling(node);
    return node;
  }
}

class Walk {
  constructor(options) {
    this.withRefs = options.refs;
    this.focused = focusedElement();
    this.owners = this.findOwners();
    this.items = [];
    this.hosts = [];
    this.stack = [];
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
    const start = { isNamed: false, isMute: false, hasPointer: false, generates: mayGenerate(element), inTree: false };
    this.stack.push(new Level(root, isScope ? [element] : composedChildren(element), null, start));
    this.scope = isScope ? element : null;
    while (this.stack.length > 0) this.step(this.stack[this.stack.length - 1]);
    root.flush();
    return root;
  }

  step(level) {
    const node = level.take();
    if (node === null) return this.leave(level);
    const type = nodeType(node);
    if (type === TEXT) {
      if (!level.isMute && !level.isNamed) level.into.pending += collapse(dataOf(node));
    } else if (type === ELEMENT) {
      this.visit(node, level);
    }
  }

  leave(level) {
    this.stack.pop();
    if (level.after !== "") level.into.pending += level.after;
    if (level.block) level.into.flush();
    const item = level.into;
    if (level.ends === item) this.finish(item);
  }

  finish(item) {
    item.flush();
    if (CELLS.has(item.role) && item.name === "" && item.children.length > 0 && item.children.every((child) => typeof child === "string")) {
      item.name = item.children.join(" ");
      item.children = [];
    }
  }

  visit(element, level) {
    const tag = localName(element);
    if (SKIPPED.has(tag) && isHtml(element)) return;
    if (tag === "br") {
      if (!level.isNamed && !level.isMute) level.into.pending += " ";
      return;
    }
    const isBare = !hasAttributes(element);
    if (!isBare) {
      if (attribute(element, "aria-hidden") === "true" || hasAttribute(element, "inert")) return;
      if (this.owners.size > 0 && this.owners.has(element) && level.owned !== true) return;
    }
    let isMute = false;
    if (!checkVisibility(element, ALSO_INVISIBLE) && !isRendered(element)) {
      // Invisible, but something inside may be visible again.
      if (!checkVisibility(element) && !isContents(element)) return;
      isMute = true;
    }
    if (isMute) return this.descend(element, level.into, level, { isMute: true });
    this.visitVisible(element, tag, isBare, level);
  }

  visitVisible(element, tag, isBare, level) {
    const role = isBare ? nativeRole(element) : roleOf(element);
    if (EMBEDDED_TITLES.has(tag) && level.into.name !== "" && level.into.name.includes(tidy(textContent(element).slice(0, MAX_STRING)))) {
      return this.descend(element, level.into, level, { block: true, isMute: false, isNamed: true });
    }
    const isPhrase = PHRASES.has(role);
    if (!isPhrase && !(level.isNamed && !this.showsInside(element, role, level))) return this.emit(element, tag, role, level, null);

    // Without a meaning of its own, unless somebody can do something with it.
    if (tag === "label" && isHtml(element)) return this.visitLabel(element, level);
    const style = level.hasPointer && level.isNamed && isBare ? null : styleOf(element);
    const isClickable = style !== null && !level.hasPointer && !level.isNamed && style.cursor === "pointer";
    if (isClickable || (!isBare && this.isUseful(element, role))) return this.emit(element, tag, "generic", level, isClickable);
    const display = style === null ? "inline" : style.display;
    this.descend(element, level.into, level, { block: display !== "inline" && display !== "contents", isMute: false });
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

  visitLabel(label, level) {
    const control = Reflect.get(HTMLLabelElement.prototype, "control", label);
    if (control === null || contains(label, control) === false && !isConnected(control)) return this.descend(label, level.into, level, { block: !isInline(label), isMute: false });
    if (!isRendered(control)) {
      // People click the label then; so does the agent.
      const role = roleOf(control) === "none" ? "generic" : roleOf(control);
      return this.emit(label, "label", role, level, false, control);
    }
    const isNamedByIt = !hasAttribute(control, "aria-label") && !hasAttribute(control, "aria-labelledby");
    this.descend(label, level.into, level, { block: !isInline(label), isMute: false, isNamed: isNamedByIt || level.isNamed });
  }

  // `about` is the element that the line describes: a label's control.
  emit(element, tag, role, level, isClickable, about = element) {
    const parent = level.into;
    const item = new Item(element, role, parent);
    parent.add(item);
    this.items.push(item);
    this.describe(item, about, isClickable, level);
    if (item.isFrame || LEAVES.has(tag) && isHtml(element)) return this.finish(item);
    if (about instanceof HTMLSelectElement) return this.addOptions(item, about);
    const into = item.level >= MAX_LEVEL ? parent : item;
    const isNamed = about !== element || NAMED_WHOLE.has(role) || level.isNamed && !(level.inTree && role === "group");
    this.descend(element, into, level, { ends: item, isMute: false, isNamed, inTree: role === "treeitem", hasPointer: isClickable || level.hasPointer || INTERACTIVE.has(role) });
  }

  describe(item, element, isClickable, level) {
    const { role } = item;
    if (CELLS.has(role) || role === "row") item.name = hasAttributes(element) ? authorName(element) : "";
    else item.name = nameOf(element, role);
    item.isFrame = role === "iframe" && (element instanceof HTMLIFrameElement || element instanceof HTMLFrameElement);
    const isBare = !hasAttributes(element);
    if (!isBare || role === "heading" || role === "option" || role === "button" || role === "textbox") item.states = statesOf(element, role, this.focused);
    else if (element === this.focused) item.states = ["[focused]"];
    if (isClickable === true) item.states.push("[clickable]");
    else if (isClickable === null && !level.hasPointer && !INTERACTIVE.has(role) && styleOf(element).cursor === "pointer") {
      item.states.push("[clickable]");
      item.isClickable = true;
    }
    this.describeValue(item, element, role);
    if (isBare) return;
    if (role === "link") {
      const address = attribute(element, "href") ?? attribute(element, "xlink:href");
      if (address !== null) item.extra.push(`/url: ${quote(address.trim(), address.startsWith("data:") ? 60 : MAX_ADDRESS)}`);
    }
    const hint = attribute(element, "placeholder");
    if (hint !== null && !item.value && tidy(hint) !== "" && tidy(hint) !== item.name) item.extra.push(`/placeholder: ${quote(tidy(hint))}`);
    const description = descriptionOf(element, item.name);
    if (description !== "") item.extra.push(`/description: ${quote(description)}`);
    if (isInvalid(element)) {
      const message = referencedName(element, "aria-errormessage", "ariaErrorMessageElements", new Search());
      if (message !== "") item.extra.push(`/error: ${quote(message)}`);
    }
  }

  describeValue(item, element, role) {
    const value = shownValue(element, role);
    if (value === null) return;
    if (isSecret(element)) {
      if (value !== "") item.states.push("[filled]");
      return;
    }
    const text = element instanceof HTMLTextAreaElement ? value.slice(0, MAX_GATHERED).trim() : tidy(value.slice(0, MAX_GATHERED));
    // The options say which one it is.
    if (text !== "" && !(element instanceof HTMLSelectElement)) item.value = text;
    if (role !== "slider" && role !== "spinbutton") return;
    for (const [state, native, aria] of BOUNDS) {
      const bound = attribute(element, native) ?? attribute(element, aria);
      if (bound !== null && bound.trim() !== "" && Number.isFinite(Number(bound))) item.states.push(`[${state}=${Number(bound)}]`);
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

  descend(element, into, level, change) {
    const root = shadowOf(element);
    let list = null;
    let next = null;
    const owned = level.into !== null && this.owners.size > 0 && hasAttribute(element, "aria-owns")
      ? referenced(element, "aria-owns", "ariaOwnsElements").filter((other) => this.owners.get(other) === element) : [];
    if (root !== null || owned.length > 0 || element instanceof HTMLSlotElement) list = composedChildren(element);
    else next = firstChild(element);
    if (root === null && this.hosts.length < 50 && localName(element).includes("-") && isHtml(element)) this.hosts.push(element);
    if (localName(element) === "details" && isHtml(element) && !hasAttribute(element, "open")) {
      const summary = firstChildNamed(element, "summary");
      list = summary === null ? [] : [summary];
    }
    if (change.block) into.flush();
    const inner = new Level(into, list, next, level);
    Object.assign(inner, change);
    if (root !== null) inner.generates = mayGenerate(firstChild(root) ?? element);
    else if (list !== null && list.length > 0) inner.generates = mayGenerate(list[0]);
    if (owned.length > 0) {
      const more = new Level(into, owned, null, inner);
      more.owned = true;
      inner.ends = undefined;
      more.ends = change.ends;
      this.stack.push(more);
    }
    if (level.generates && !inner.isNamed && !inner.isMute && isHtml(element)) {
      into.pending += generatedText(element, "::before");
      inner.after = generatedText(element, "::after");
    }
    this.stack.push(inner);
  }
}
