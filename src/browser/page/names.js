// Accessible names and descriptions, after accname 1.2 and html-aam.

// More of a text is never shown.
const MAX_GATHERED = 4 * MAX_STRING;
// Names of deeper trees than this are the text they contain.
const MAX_NAME_DEPTH = 200;

// ---- What is hidden ----

const ALSO_INVISIBLE = { visibilityProperty: true };

// Without a box of its own, but its children may have one.
const isContents = (element) => styleOf(element).display === "contents";

// Rendered, and not hidden by its style; does not know about aria-hidden.
function isRendered(element) {
  if (checkVisibility(element, ALSO_INVISIBLE)) return true;
  if (UNBOXED.has(localName(element))) return isRenderedUnboxed(element);
  const style = styleOf(element);
  return style.display === "contents" && style.visibility === "visible";
}

// Never have a box although they are there.
const UNBOXED = words("area option optgroup");

function isRenderedUnboxed(element) {
  const parent = composedParent(element);
  if (styleOf(element).display === "none" && localName(element) !== "area") return false;
  if (parent === null) return false;
  return localName(parent) === "map" ? true : isRendered(parent);
}

function isHiddenFromAll(element) {
  if (attribute(element, "aria-hidden") === "true") return true;
  return !isRendered(element);
}

// ---- Generated content ----

// What style sheets may do, so that most documents need not be asked: GENERATES has rules for ::before or
// ::after, HIDES has content-visibility.
const GENERATES = 1;
const HIDES = 2;
const ANYTHING = GENERATES | HIDES;
const sheetAnswers = new WeakMap();

function rulesDo(rules) {
  let answer = 0;
  for (let i = 0; i < rules.length && answer !== ANYTHING; i++) {
    const rule = rules[i];
    if (rule.selectorText !== undefined && /:(before|after)/.test(rule.selectorText)) answer |= GENERATES;
    if (rule.style !== undefined && rule.style.contentVisibility) answer |= HIDES;
    if (rule.cssRules !== undefined && rule.cssRules.length > 0) answer |= rulesDo(rule.cssRules);
    if (rule.styleSheet) answer |= sheetDoes(rule.styleSheet);
  }
  return answer;
}

function sheetDoes(sheet) {
  let rules;
  try {
    rules = sheet.cssRules;
  } catch {
    return ANYTHING; // of another origin
  }
  const known = sheetAnswers.get(sheet);
  if (known !== undefined && known.count === rules.length) return known.answer;
  const answer = rulesDo(rules);
  sheetAnswers.set(sheet, { count: rules.length, answer });
  return answer;
}

const adoptedInDocument = getter(Document.prototype, "adoptedStyleSheets");
const adoptedInRoot = getter(ShadowRoot.prototype, "adoptedStyleSheets");

function sheetsDo(root) {
  const isPage = root === page;
  let answer = 0;
  for (const sheet of (isPage ? styleSheetsOf : sheetsInRoot)(root)) answer |= sheetDoes(sheet);
  for (const sheet of (isPage ? adoptedInDocument : adoptedInRoot)(root)) answer |= sheetDoes(sheet);
  return answer;
}

const attributesHide = (root) => queryAll[nodeType(root)](root, "[style*=content-visibility], [hidden=until-found i]").length > 0;

// Answers are kept during one call of the script: nothing changes meanwhile.
let rootAnswers = new Map();

function forgetAnswers() {
  rootAnswers = new Map();
  parentAnswers = new Map();
  tableAnswers = new Map();
  parentsAsked = 0;
}

function rootMay(element, what) {
  const root = rootOf(element);
  if (root !== page && !(root instanceof ShadowRoot)) return false;
  let answer = rootAnswers.get(root);
  if (answer === undefined) {
    answer = { sheets: sheetsDo(root), hides: null };
    rootAnswers.set(root, answer);
  }
  if ((answer.sheets & what) !== 0) return true;
  if (what === GENERATES) return false;
  return (answer.hides ??= attributesHide(root));
}

const mayGenerate = (element) => rootMay(element, GENERATES);
const mayHide = (element) => rootMay(element, HIDES);

const CONTENT_PART = /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|attr\(\s*([\w-]+)[^)]*\)|(\/)|[^\s"']+/g;

// The text of ::before or ::after, with a blank around it if it is not inline.
function generatedText(element, which) {
  const style = styleOf(element, which);
  const content = style.content;
  if (content === "none" || content === "normal" || content === "" || style.display === "none" || style.visibility !== "visible") return "";
  let text = "";
  let alternative = null;
  for (const [, double, single, name, slash] of content.matchAll(CONTENT_PART)) {
    if (slash !== undefined) {
      alternative = "";
      continue;
    }
    const piece = double !== undefined || single !== undefined ? (double ?? single).replace(/\\(?:([0-9a-f]{1,6})\s?|(.))/gi, unescapeCss)
      : name !== undefined ? attributeOr(element, name, "") : "";
    if (alternative === null) text += piece;
    else alternative += piece;
  }
  // What has an alternative is a picture: a word of its own.
  if (alternative !== null) return ` ${alternative} `;
  return style.display === "inline" ? text : ` ${text} `;
}

function unescapeCss(whole, digits, character) {
  if (digits === undefined) return character;
  const code = parseInt(digits, 16);
  return code === 0 || code > 0x10ffff ? "\ufffd" : String.fromCodePoint(code);
}

// ---- Names ----

const labelsOf = {
  button: property(HTMLButtonElement.prototype, "labels"),
  input: property(HTMLInputElement.prototype, "labels"),
  meter: property(HTMLMeterElement.prototype, "labels"),
  output: property(HTMLOutputElement.prototype, "labels"),
  progress: property(HTMLProgressElement.prototype, "labels"),
  select: property(HTMLSelectElement.prototype, "labels"),
  textarea: property(HTMLTextAreaElement.prototype, "labels"),
};

function labels(element) {
  const list = isHtml(element) ? labelsOf[localName(element)] : undefined;
  return list === undefined ? [] : Array.from(list(element) ?? []);
}

class Search {
  constructor() {
    this.visited = new Set();
    this.depth = 0;
    this.inReference = false; // of aria-labelledby
    this.includesHidden = false;
    this.gathered = 0;
  }
}

// What aria-labelledby, aria-label or title say: enough to know whether a section is a region.
function authorName(element) {
  if (!hasAttributes(element)) return "";
  const name = referencedName(element, "aria-labelledby", "ariaLabelledByElements", new Search()) || tidy(attributeOr(element, "aria-label", ""));
  return name || tidy(attributeOr(element, "title", ""));
}

function referencedName(element, name, reflecting, search) {
  if (search.inReference) return "";
  const others = referenced(element, name, reflecting);
  const texts = [];
  for (const other of others) {
    const inner = new Search();
    inner.inReference = true;
    inner.includesHidden = isHiddenFromAll(other) || isInsideHidden(other);
    // A control that names itself contributes its own label, not its value.
    inner.isSelf = other === element;
    const text = tidy(alternativeText(other, inner, true));
    if (text !== "") texts.push(text);
  }
  return texts.join(" ");
}

function isInsideHidden(element) {
  for (let at = composedParent(element); at !== null; at = composedParent(at)) if (attribute(at, "aria-hidden") === "true") return true;
  return false;
}

function firstChildNamed(element, tag) {
  for (let child = firstChild(element); child !== null; child = nextSibling(child)) {
    if (isElement(child) && localName(child) === tag) return child;
  }
  return null;
}

function foreignTitle(element) {
  const title = firstChildNamed(element, "title");
  return title === null ? "" : tidy(textContent(title));
}

const BUTTON_NAMES = { submit: "Submit", reset: "Reset", image: "Submit" };

function inputAlternative(input) {
  const type = typeOf(input);
  if (type === "image") return tidy(attributeOr(input, "alt", "")) || tidy(attributeOr(input, "value", "")) || tidy(attributeOr(input, "title", "")) || BUTTON_NAMES.image;
  if (type === "button" || type === "submit" || type === "reset") {
    return tidy(inputValue(input)) || (type === "button" || hasAttribute(input, "value") ? "" : BUTTON_NAMES[type]);
  }
  return "";
}

function labelText(element, search) {
  const texts = [];
  for (const label of labels(element)) {
    const inner = new Search();
    inner.visited = new Set(search.visited).add(element);
    inner.inReference = search.inReference;
    inner.isLabel = true;
    inner.includesHidden = !isRendered(label);
    const text = tidy(alternativeText(label, inner, true));
    if (text !== "") texts.push(text);
  }
  return texts.join(" ");
}

// What HTML itself offers, before the text inside.
function nativeAlternative(element, search) {
  const tag = localName(element);
  if (!isHtml(element)) return foreignTitle(element) || tidy(attributeOr(element, "xlink:title", ""));
  switch (tag) {
    case "input": return labelText(element, search) || inputAlternative(element);
    case "button": case "meter": case "output": case "progress": case "select": case "textarea": return labelText(element, search);
    case "img": case "area": return tidy(attributeOr(element, "alt", ""));
    case "fieldset": return childText(element, "legend", search);
    case "figure": return childText(element, "figcaption", search);
    case "table": return childText(element, "caption", search);
    case "optgroup": return tidy(attributeOr(element, "label", ""));
    case "option": return tidy(attributeOr(element, "label", ""));
    default: return "";
  }
}

function childText(element, tag, search) {
  const child = firstChildNamed(element, tag);
  if (child === null || (isHiddenFromAll(child) && !search.includesHidden)) return "";
  const inner = new Search();
  inner.inReference = search.inReference;
  inner.visited = new Set(search.visited).add(element);
  return tidy(alternativeText(child, inner, true));
}

// The last resort.
function tooltip(element) {
  // An empty alternative is an answer: the picture says nothing.
  if (localName(element) === "img" && attribute(element, "alt") === "") return "";
  const title = tidy(attributeOr(element, "title", ""));
  if (title !== "" || !isHtml(element)) return title;
  const tag = localName(element);
  const hint = tag === "textarea" || (tag === "input" && isTextField(element)) ? attribute(element, "placeholder")?.replace(/[\r\n]/g, "") : null;
  return tidy(hint ?? attributeOr(element, "aria-placeholder", ""));
}

// A control inside a label counts with its value.
function embeddedValue(element, role) {
  switch (role) {
    case "textbox": case "searchbox":
      if (isSecret(element)) return "";
      return shownValue(element, role) ?? tidy(textContent(element).slice(0, MAX_GATHERED));
    case "combobox": case "listbox": return chosenText(element, role);
    case "slider": case "spinbutton": case "progressbar": case "meter": case "scrollbar":
      return element instanceof HTMLProgressElement ? String(progressValue(element)) : element instanceof HTMLMeterElement ? String(meterValue(element)) : shownValue(element, role) ?? "";
    default: return null;
  }
}

function chosenText(element, role) {
  if (element instanceof HTMLSelectElement) return Array.from(selectedOptions(element), optionText).join(" ");
  if (element instanceof HTMLInputElement) return inputValue(element);
  const chosen = [];
  for (const option of queryAll[ELEMENT](element, "[role=option][aria-selected=true]")) chosen.push(tidy(alternativeText(option, new Search(), true)));
  return chosen.length > 0 || role === "listbox" ? chosen.join(" ") : tidy(textContent(element).slice(0, MAX_GATHERED));
}

// The text alternative of an element: steps 2B to 2I. `isRoot`: the one that was asked for, or a reference.
function alternativeText(element, search, isRoot) {
  if (search.visited.has(element)) return "";
  search.visited.add(element);
  const byReference = isRoot && search.inReference ? "" : referencedName(element, "aria-labelledby", "ariaLabelledByElements", search);
  if (byReference !== "") return byReference;
  const role = roleOf(element);
  // One without a value counts with what it is called, never with what is inside: options, or what a text area began with.
  const value = !isRoot || (search.inReference && !search.isSelf) ? embeddedValue(element, role) : null;
  if (value !== null && value !== "") return value;
  const label = tidy(attributeOr(element, "aria-label", ""));
  if (label !== "") return label;
  if (role !== "none" || attributeOr(element, "alt", "") !== "") {
    const native = nativeAlternative(element, search);
    if (native !== "") return native;
  }
  // A part of a name counts with its text, whatever its role is; an option's text is no matter of its select.
  // What a text area contains is its value, and a select its options, whatever role they have.
  const isContent = value === null && localName(element) !== "select" && !(isRoot && localName(element) === "textarea");
  if (isContent && (NAMED_BY_CONTENT.has(role) || !isRoot || search.inReference || search.isLabel || search.isPart)) {
    const text = contentText(element, search);
    if (text.trim() !== "") return text;
    // A blank inside says nothing, but keeps what is around it apart.
    if (!isRoot && text !== "") return tooltip(element) || text;
  } else if (LEGENDS.has(localName(element))) {
    const text = contentText(element, search);
    if (text.trim() !== "") return text;
  }
  return tooltip(element);
}

const LEGENDS = words("legend caption figcaption");

function contentText(element, search) {
  if (search.depth >= MAX_NAME_DEPTH) return textContent(element).slice(0, MAX_GATHERED);
  if (search.gathered > MAX_GATHERED) return "";
  const generates = mayGenerate(element);
  search.depth++;
  let text = generates ? generatedText(element, "::before") : "";
  const isTree = roleOf(element) === "treeitem";
  for (const child of composedChildren(element)) if (!isFolded(element, child)) text += childAlternative(child, search, isTree);
  for (const owned of referenced(element, "aria-owns", "ariaOwnsElements")) if (!contains(owned, element)) text += childAlternative(owned, search, isTree);
  if (generates) text += generatedText(element, "::after");
  search.depth--;
  return text;
}

// Text in details that are closed; elements know themselves whether they are rendered.
const isFolded = (element, child) => nodeType(child) === TEXT && localName(element) === "details" && isHtml(element) && !hasAttribute(element, "open");

const SILENT = words("script style noscript template head meta link title object embed audio video iframe");

function childAlternative(child, search, inTree) {
  if (nodeType(child) === TEXT) {
    const text = dataOf(child).slice(0, MAX_GATHERED);
    search.gathered += text.length;
    return search.gathered > MAX_GATHERED + text.length ? "" : text;
  }
  if (!isElement(child)) return "";
  const tag = localName(child);
  if (tag === "br") return " ";
  if (SILENT.has(tag) && !(tag === "title" && !isHtml(child)) && tag !== "iframe") return "";
  if (!search.includesHidden) {
    if (attribute(child, "aria-hidden") === "true") return "";
    if (!isRendered(child)) return invisibleText(child, search);
  }
  if (inTree && explicitRole(child) === "group") return "";
  const text = alternativeText(child, search, false);
  return isInline(child) ? text : ` ${text} `;
}

// Of an element with visibility: hidden some descendants may be visible again.
function invisibleText(element, search) {
  if (!checkVisibility(element)) return "";
  let text = "";
  for (const inner of queryAll[ELEMENT](element, "*")) {
    if (isRendered(inner) && !isRendered(parentNode(inner))) text += childAlternative(inner, search, false);
  }
  return text;
}

// A picture is a word of its own.
const isInline = (element) => {
  const display = styleOf(element).display;
  return (display === "inline" || display === "contents") && localName(element) !== "img";
};

// Many names are text and nothing else.
function plainText(element) {
  const child = firstChild(element);
  if (child === null || nextSibling(child) !== null || nodeType(child) !== TEXT || shadowOf(element) !== null) return null;
  return mayGenerate(element) ? null : tidy(dataOf(child).slice(0, MAX_GATHERED));
}

// A row is named by what it contains where rows are chosen.
function isChosenRow(row) {
  for (let at = composedParent(row), steps = 0; at !== null && steps < 10; at = composedParent(at), steps++) {
    const role = roleOf(at);
    if (role === "grid" || role === "treegrid") return true;
    if (role === "table") return false;
  }
  return false;
}

function nameOf(element, role) {
  if (NAME_PROHIBITED.has(role)) return prohibitedName(element);
  if (role === "row" && !isChosenRow(element)) return authorName(element);
  if (!hasAttributes(element) && NAMED_BY_CONTENT.has(role)) {
    const text = plainText(element);
    if (text !== null) return text;
  }
  // Of a link's attributes only those of ARIA go before its text.
  if (localName(element) === "a" && isHtml(element) && NAMED_BY_CONTENT.has(role) && !hasAriaAttributes(element)) {
    const text = plainText(element);
    if (text !== null && text !== "") return text;
  }
  return tidy(alternativeText(element, new Search(), true));
}

// Authors name what they may not name; browsers tell it all the same.
function prohibitedName(element) {
  if (!hasAttributes(element)) return "";
  return referencedName(element, "aria-labelledby", "ariaLabelledByElements", new Search()) || tidy(attributeOr(element, "aria-label", ""));
}

function descriptionOf(element, name) {
  if (!hasAttributes(element)) return "";
  const search = new Search();
  let text = referencedName(element, "aria-describedby", "ariaDescribedByElements", search) || tidy(attributeOr(element, "aria-description", ""));
  if (text === "") {
    const title = tidy(attributeOr(element, "title", ""));
    if (title !== name) text = title;
  }
  return text === name ? "" : text;
}

// `button "Save"`: for messages and questions.
function labelOf(element) {
  const role = roleOf(element);
  let name = nameOf(element, role);
  if (name === "") name = tidy(textContent(element).slice(0, MAX_GATHERED));
  const shown = role === "generic" || role === "none" ? localName(element) : role;
  return name === "" ? plainWord(shown) : `${plainWord(shown)} ${quote(name, MAX_LABEL)}`;
}

// A tag's name may be anything that a script of the page chose.
const plainWord = (name) => (/^[a-z][a-z0-9-]{0,40}$/.test(name) ? name : "element");
