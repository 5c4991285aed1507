// Roles: the attribute where it counts, else those of html-aam.
const words = (text) => new Set(text.trim().split(/\s+/));

const ROLES = words(`alert alertdialog application article banner blockquote button caption cell checkbox code
  columnheader combobox comment complementary contentinfo definition deletion dialog document emphasis feed figure form
  generic grid gridcell group heading img insertion link list listbox listitem log main mark marquee math menu menubar
  menuitem menuitemcheckbox menuitemradio meter navigation none note option paragraph progressbar radio radiogroup
  region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong subscript
  suggestion superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid
  treeitem graphics-document graphics-object graphics-symbol`);
const SYNONYMS = { presentation: "none", image: "img", directory: "list" };

const NAMED_BY_CONTENT = words(`button cell checkbox columnheader comment gridcell heading link menuitem menuitemcheckbox
  menuitemradio option radio row rowheader switch tab term tooltip treeitem`);
const INTERACTIVE = words(`button checkbox combobox gridcell link listbox menuitem menuitemcheckbox menuitemradio option
  radio scrollbar searchbox slider spinbutton switch tab textbox treeitem`);
// Their text is part of the sentence around them.
const PHRASES = words("generic none strong emphasis subscript superscript mark time code");
const NAME_PROHIBITED = words(`caption code definition deletion emphasis generic insertion mark none paragraph strong subscript
  suggestion superscript time`);

// ARIA attributes that every role may have: one of them keeps an element from being `none`.
const GLOBAL_ARIA = `aria-atomic aria-busy aria-controls aria-current aria-describedby aria-details aria-dropeffect
  aria-flowto aria-grabbed aria-hidden aria-keyshortcuts aria-label aria-labelledby aria-live aria-owns
  aria-relevant aria-roledescription`.split(/\s+/);

const SECTIONING = "article, aside, main, nav, section, [role]";
const SECTIONS = words("article aside main nav section");
const SECTION_ROLES = words("article complementary main navigation region");
const LISTS = words("menu ol ul"); // also if they are something else themselves
const MAX_BETWEEN = 50;
const MAX_ASKED = 20;
// Roles that count only inside others.
const PARENT_ROLES = { listitem: words("list"), option: words("listbox") };

const INPUT_ROLES = {
  button: "button", submit: "button", reset: "button", image: "button", file: "button",
  checkbox: "checkbox", radio: "radio", range: "slider", number: "spinbutton", search: "searchbox", hidden: "none",
};

const TAG_ROLES = {
  address: "group", article: "article", blockquote: "blockquote", button: "button", caption: "caption", code: "code",
  datalist: "listbox", dd: "definition", del: "deletion", details: "group", dfn: "term", dialog: "dialog", dt: "term",
  em: "emphasis", fieldset: "group", figure: "figure", h1: "heading", h2: "heading", h3: "heading", h4: "heading",
  h5: "heading", h6: "heading", form: "form", hgroup: "group", hr: "separator", html: "document", iframe: "iframe", frame: "iframe",
  ins: "insertion", main: "main", mark: "mark", math: "math", menu: "list", meter: "meter", nav: "navigation", ol: "list",
  optgroup: "group", option: "option", output: "status", p: "paragraph", progress: "progressbar", s: "deletion",
  search: "search", strong: "strong", sub: "subscript", sup: "superscript", table: "table", tbody: "rowgroup",
  textarea: "textbox", tfoot: "rowgroup", thead: "rowgroup", time: "time", tr: "row", ul: "list",
  audio: "audio", video: "video", canvas: "canvas",
};

const TABLE_PARTS = words("caption tbody thead tfoot tr td th");

const typeOf = getter(HTMLInputElement.prototype, "type");

function explicitRole(element) {
  const value = attribute(element, "role");
  if (value === null) return null;
  for (const word of value.toLowerCase().split(/[ \t\n\f\r]+/)) {
    const role = SYNONYMS[word] ?? word;
    if (!ROLES.has(role)) continue;
    // A region or form needs a name.
    if ((role === "region" || role === "form") && !hasAuthorName(element)) continue;
    if (PARENT_ROLES[role] !== undefined && !hasParentRole(element, role)) continue;
    return role;
  }
  return null;
}

// Whether somebody means to name it: what a reference leads to is not asked, since it may lead back here.
const hasAuthorName = (element) => referenced(element, "aria-labelledby", "ariaLabelledByElements").length > 0 || authorName(element) !== "";

// The parent in the tree: an element that owns it, or the one around it.
function treeParent(element) {
  const id = attribute(element, "id");
  const root = id === null || id === "" ? null : rootOf(element);
  const owners = root === null || queryAll[nodeType(root)] === undefined ? [] : queryAll[nodeType(root)](root, `[aria-owns~="${CSS.escape(id)}"]`);
  return owners.length > 0 ? owners[0] : composedParent(element);
}

function findParentRole(element, role) {
  for (let at = treeParent(element), steps = 0; at !== null && steps < MAX_BETWEEN; at = treeParent(at), steps++) {
    const around = roleOf(at);
    if (PARENT_ROLES[role].has(around) || (around === "group" && explicitRole(at) === "group")) return true;
    if (role === "listitem" && steps === 0 && LISTS.has(localName(at))) return true;
    if (around !== "none" && (around !== "generic" || hasGlobalAria(at))) return false;
  }
  return false;
}

// The roles of what is around may depend on what is around that: answers are kept during one call of the script, and a
// page that nests such elements without end gets the answer no.
let parentAnswers = new Map();
let parentsAsked = 0;

function hasParentRole(element, role) {
  const known = parentAnswers.get(element);
  if (known?.role === role) return known.answer;
  if (parentsAsked >= MAX_ASKED) return false;
  const answer = { role, answer: false }; // also if it is its own parent
  parentAnswers.set(element, answer);
  parentsAsked++;
  answer.answer = findParentRole(element, role);
  parentsAsked--;
  return answer.answer;
}

function isFocusable(element) {
  if (isHtml(element)) {
    if (isDisabled(element)) return false;
    return tabIndexOf(element) >= 0 || hasAttribute(element, "tabindex");
  }
  return hasAttribute(element, "tabindex") || (localName(element) === "a" && hasAttribute(element, "href"));
}

const hasGlobalAria = (element) => GLOBAL_ARIA.some((name) => {
  const value = attribute(element, name);
  return value !== null && value !== "" && !(name === "aria-hidden" && value === "false");
});

function roleOf(element) {
  const role = explicitRole(element);
  if (role === null) return nativeRole(element);
  if (role !== "none") return role;
  return isFocusable(element) || hasGlobalAria(element) ? nativeRole(element) : "none";
}

function tableOf(element) {
  for (let at = parentNode(element); at !== null && isElement(at); at = parentNode(at)) {
    if (localName(at) === "table") return at;
    if (!TABLE_PARTS.has(localName(at))) return null;
  }
  return null;
}

function siblingCell(cell, next) {
  for (let at = next(cell); at !== null; at = next(at)) {
    if (isElement(at)) return localName(at) === "td" || localName(at) === "th" ? localName(at) : null;
  }
  return null;
}

const previousSibling = getter(Node.prototype, "previousSibling");

function headerRole(header) {
  const scope = attributeOr(header, "scope", "").toLowerCase();
  if (scope === "row" || scope === "rowgroup") return "rowheader";
  if (scope === "col" || scope === "colgroup") return "columnheader";
  const before = siblingCell(header, previousSibling);
  const after = siblingCell(header, nextSibling);
  if (before === "th" && after === "th") return "columnheader";
  return before === "td" || after === "td" ? "rowheader" : "columnheader";
}

// What the parts of a table that have one parent share; kept during one call of the script.
let tableAnswers = new Map();

function tableAround(element) {
  const parent = parentNode(element);
  let answer = tableAnswers.get(parent);
  if (answer !== undefined) return answer;
  const table = tableOf(element);
  const given = table === null ? null : explicitRole(table);
  const role = given === "none" && roleOf(table) !== "none" ? null : given;
  const isNoRow = table !== null && localName(parent) === "tr" && roleOf(parent) !== "row";
  answer = { table, role, isNoRow };
  tableAnswers.set(parent, answer);
  return answer;
}

function tablePartRole(element, tag) {
  const { table, role, isNoRow } = tableAround(element);
  if (table === null) return tag === "td" || tag === "th" ? "cell" : "generic";
  if (role === "none") return "generic";
  if (tag === "caption") return "caption";
  if (role !== null && role !== "table" && role !== "grid" && role !== "treegrid") return "generic";
  if (isNoRow && (tag === "td" || tag === "th")) return "generic";
  if (tag === "td") return role === "grid" || role === "treegrid" ? "gridcell" : "cell";
  return tag === "th" ? headerRole(element) : TAG_ROLES[tag];
}

function listItemRole(item) {
  const parent = composedParent(item);
  const role = parent === null ? null : explicitRole(parent);
  return role === null || role === "list" || (role === "none" && roleOf(parent) === "list") ? "listitem" : "generic";
}

function inputRole(input) {
  const type = typeOf(input);
  if (type === "checkbox" && hasAttribute(input, "switch")) return "switch";
  const role = INPUT_ROLES[type];
  const isTextual = role === undefined || role === "searchbox";
  if (isTextual && hasAttribute(input, "list") && ["text", "search", "email", "tel", "url"].includes(type)) return "combobox";
  return role ?? "textbox";
}

function imageRole(image) {
  if (attribute(image, "alt") !== "") return "img";
  return isFocusable(image) || hasGlobalAria(image) || hasAttribute(image, "aria-hidden") || attributeOr(image, "title", "") !== "" ? "img" : "none";
}

const isListbox = (select) => hasAttribute(select, "multiple") || Number(attribute(select, "size")) > 1;

function isSummaryOfDetails(summary) {
  const parent = parentNode(summary);
  if (parent === null || !isElement(parent) || localName(parent) !== "details") return false;
  for (let at = firstChild(parent); at !== null; at = nextSibling(at)) {
    if (isElement(at) && localName(at) === "summary") return at === summary;
  }
  return false;
}

function nativeRole(element) {
  const tag = localName(element);
  if (!isHtml(element)) return foreignRole(element, tag);
  if (TABLE_PARTS.has(tag)) return tablePartRole(element, tag);
  switch (tag) {
    case "a": case "area": return hasAttribute(element, "href") ? "link" : "generic";
    case "aside": return isInSection(element, "main") && !hasAuthorName(element) ? "generic" : "complementary";
    case "footer": return isInSection(element) ? "generic" : "contentinfo";
    case "header": return isInSection(element) ? "generic" : "banner";
    case "section": return hasAuthorName(element) ? "region" : "generic";
    case "img": return imageRole(element);
    case "input": return inputRole(element);
    case "li": return listItemRole(element);
    case "select": return isListbox(element) ? "listbox" : "combobox";
    case "summary": return isSummaryOfDetails(element) ? "button" : "generic";
    default: return TAG_ROLES[tag] ?? "generic";
  }
}

// The host of the shadow root in which a node is.
function rootHost(node) {
  const root = rootOf(node);
  return root instanceof ShadowRoot ? hostOf(root) : null;
}

// An element with a role of its own is no section because of its tag.
function isSection(element, except) {
  const role = explicitRole(element);
  if (role === null) return SECTIONS.has(localName(element)) && localName(element) !== except;
  return SECTION_ROLES.has(role) && role !== except;
}

function isInSection(element, except) {
  for (let at = composedParent(element); at !== null; at = rootHost(at)) {
    for (let found = closest(at, SECTIONING); found !== null; found = nextSection(found)) if (isSection(found, except)) return true;
  }
  return false;
}

function nextSection(element) {
  const parent = parentNode(element);
  return parent !== null && isElement(parent) ? closest(parent, SECTIONING) : null;
}

function foreignRole(element, tag) {
  if (tag === "svg") return foreignTitle(element) !== "" || hasAuthorName(element) ? "img" : "generic";
  if (tag === "math") return "math";
  if (tag === "a" && (hasAttribute(element, "href") || hasAttribute(element, "xlink:href"))) return "link";
  if (tag === "image") return "img";
  return "generic";
}
