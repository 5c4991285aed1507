// Compares roles and names of the script with Chromium's own accessibility tree.

// Chromium's names of roles that ARIA has not, or has not yet; null: anything.
const SAME = {
  image: "img", presentation: "none", RootWebArea: null, StaticText: null, InlineTextBox: null, ListMarker: null, LineBreak: null,
  LayoutTable: "table", LayoutTableRow: "row", LayoutTableCell: "cell", Iframe: "iframe", IframePresentational: "iframe",
  Date: "textbox", DateTime: "textbox", InputTime: "textbox", ColorWell: "textbox", MenuListPopup: null, SvgRoot: null,
  DisclosureTriangle: "button", DisclosureTriangleGrouped: "button", Details: "group", Canvas: "canvas", Video: "video", Audio: "audio",
  Legend: "generic", LabelText: "generic", Abbr: "generic", Figcaption: "generic", DescriptionList: "generic", DescriptionListTerm: "term",
  DescriptionListDetail: "definition", HeaderAsNonLandmark: "generic", FooterAsNonLandmark: "generic", Pre: "generic", Section: "generic",
  SectionWithoutName: "generic", Ruby: "generic", RubyAnnotation: "generic", EmbeddedObject: "generic", PluginObject: "generic", sectionheader: "generic", sectionfooter: "generic",
  MathMLMath: "math", MathMLIdentifier: "generic", ImageMap: "img",
};

// Elements of the document and its open shadow roots, in one order on both sides.
const ORDER = `function () {
  const get = (type, name) => Object.getOwnPropertyDescriptor(type.prototype, name).get;
  const [first, next, kind, shadow, tag, id] = [[Node, "firstChild"], [Node, "nextSibling"], [Node, "nodeType"], [Element, "shadowRoot"], [Element, "localName"], [Element, "id"]].map(([type, name]) => get(type, name));
  const found = [];
  const visit = (node) => {
    if (kind.call(node) === 1) {
      found.push(node);
      if (shadow.call(node)) visit(shadow.call(node));
    }
    for (let child = first.call(node); child !== null; child = next.call(child)) visit(child);
  };
  visit(document);
  const roles = new Map(found.map((element) => [element, gatehouse.run("info", { target: element }).role]));
  const labels = (element) => (element.labels instanceof NodeList ? Array.from(element.labels) : []); // in a form it may be a field
  // What a name may be made of: what is inside, what it refers to, and its labels.
  const parts = (element, into) => {
    if (into.has(element)) return into;
    into.add(element);
    for (const id of (Element.prototype.getAttribute.call(element, "aria-labelledby") ?? "").split(/\s+/)) {
      const other = id === "" ? null : Document.prototype.getElementById.call(document, id);
      if (other !== null) parts(other, into);
    }
    for (const label of labels(element)) parts(label, into);
    for (const inner of Element.prototype.querySelectorAll.call(element, "*")) parts(inner, into);
    return into;
  };
  return found.map((element) => {
    const { role, name, visible, error } = gatehouse.run("info", { target: element });
    const made = [...parts(element, new Set())].filter((part) => part !== element);
    const isDraggable = Element.prototype.getAttribute.call(element, "draggable") === "true";
    const has = (part, name) => Element.prototype.hasAttribute.call(part, name);
    return {
      isSaid: element.textContent.trim() === name, tag: tag.call(element), id: id.call(element), role, name, visible, error, isDraggable,
      hasSlot: Element.prototype.querySelector.call(element, "slot") !== null,
      parts: made.map((part) => ({ role: roles.get(part), tag: tag.call(part), title: Element.prototype.getAttribute.call(part, "title"), isLabelled: has(part, "aria-label") })),
      title: Element.prototype.getAttribute.call(element, "title"),
      isReferring: [element, ...made].some((part) => has(part, "aria-labelledby")),
      hasLabels: labels(element).length > 0,
      hasOddInput: made.some((part) => tag.call(part) === "input" && has(part, "role")),
      hasHidden: made.some((part) => getComputedStyle(part).visibility === "hidden" || Element.prototype.closest.call(part, "[aria-hidden=true]") !== null),
    };
  });
}`;

function flatten(node, into) {
  if (node.nodeType === 1) into.push(node.backendNodeId);
  for (const root of node.shadowRoots ?? []) if (root.shadowRootType === "open") flatten(root, into);
  for (const child of node.children ?? []) flatten(child, into);
}

const plain = (text) => (text ?? "").replace(/[\s\u00a0]+/g, " ").trim();

// Where html-aam and Chromium differ, we follow html-aam; and a player's own words are no name.
function isKnown(mine, theirs) {
  if (mine.isDraggable && mine.role === "generic" && theirs.role === "group") return true; // not in any specification
  if (mine.role !== theirs.role) return false;
  if (mine.hasSlot && mine.name.replaceAll(" ", "") === theirs.name.replaceAll(" ", "")) return true; // a slot is inline, not a word
  if (mine.name.endsWith("…") && theirs.name.startsWith(mine.name.slice(0, -1))) return true; // cut
  if (mine.tag === "figure" && theirs.name === "") return true; // named by its caption
  if (mine.tag === "abbr" && mine.name === "") return true; // the title is a description
  if (mine.tag === "video" || mine.tag === "audio") return true;
  return mine.role === "math";
}

// Chromium leaves these out of the name of what is around them; accname does not know such an exception.
const LEFT_OUT = new Set(["article", "banner", "blockquote", "combobox", "complementary", "contentinfo", "definition", "figure", "form", "group", "list", "listbox",
  "main", "navigation", "progressbar", "region", "searchbox", "spinbutton", "table", "term", "textbox"]);

// What is left of their name without the titles that stand for what was left out.
function isWithLeftOut(mine, theirs) {
  let rest = theirs.name;
  for (const { title } of [mine, ...(mine.parts ?? [])]) if (title) rest = rest.replace(plain(title), "");
  let at = 0;
  rest = rest.replaceAll(" ", "");
  for (const character of mine.name) if (character === rest[at]) at++;
  return at === rest.length;
}

// In documents that make no sense, Chromium departs from the standards in more ways.
export function isKnownInNonsense(mine, theirs) {
  if (isKnown(mine, theirs)) return true;
  if (mine.role !== theirs.role) return false;
  if (mine.parts.some(({ role }) => LEFT_OUT.has(role)) && isWithLeftOut(mine, theirs)) return true;
  // What it has seen in one reference it does not say in the next one, and a reference in a reference it may follow; accname begins anew.
  if (mine.isReferring) return true;
  if (mine.tag === "figure") return true; // html-aam names it by its caption before its title
  if (mine.tag === "br") return true; // a line break has no name in Chromium, whatever its role is
  if (mine.parts.some(({ tag }) => tag === "br") && theirs.name === "") return true; // and is a content, so that a title is not looked at
  if (mine.name === "" && ["generic", "paragraph", "emphasis"].includes(mine.role)) return true; // ARIA forbids a name, so the title is none
  if (mine.isSaid && theirs.name === "") return true; // a title that says what it contains
  if (mine.hasLabels && theirs.name === "") return true; // a label that is hidden, or has no words, is Chromium's last word
  if (mine.hasOddInput) return true; // it counts with its value in any role, a button that is called something else not at all
  if (mine.hasHidden && isWithLeftOut(theirs, mine)) return true; // a hidden button, or the summary of hidden details, is said
  if (mine.parts.some(({ tag, isLabelled }) => tag === "li" && isLabelled)) return true; // a label of an item in what is no list is not said
  return mine.tag === "input" && mine.name === "Submit"; // html-aam names it so in every role, Chromium only a button
}

// The nodes of Chromium's tree that belong to elements of the document, not to the inside of its own controls.
export async function axNodes(page) {
  const { root } = await page.cdp.send("DOM.getDocument", { depth: -1, pierce: true });
  const ids = [];
  flatten(root, ids);
  const known = new Set(ids);
  const { nodes } = await page.cdp.send("Accessibility.getFullAXTree");
  return nodes.filter((node) => !node.ignored && known.has(node.backendDOMNodeId));
}

export async function compare(page, allowed = isKnown) {
  const ours = await page.call(ORDER);
  const { root } = await page.cdp.send("DOM.getDocument", { depth: -1, pierce: true });
  const ids = [];
  flatten(root, ids);
  if (ids.length !== ours.length) throw new Error(`${ids.length} elements in the protocol, ${ours.length} in the page`);
  const byId = new Map(ids.map((id, i) => [id, ours[i]]));
  const { nodes } = await page.cdp.send("Accessibility.getFullAXTree");
  const differences = [];
  let compared = 0;
  for (const node of nodes) {
    const mine = byId.get(node.backendDOMNodeId);
    if (node.ignored || mine === undefined || node.role.value === "StaticText") continue;
    const role = node.role.value in SAME ? SAME[node.role.value] : node.role.value;
    const theirs = { role, name: plain(node.name?.value) };
    if (role === null) continue;
    compared++;
    const problems = [];
    if (mine.error) problems.push(mine.error.message);
    if (mine.role !== role && !(role === "generic" && mine.role === "none")) problems.push("role");
    if (plain(mine.name) !== theirs.name) problems.push("name");
    if (problems.length > 0 && !allowed(mine, theirs, node)) differences.push({ problems, tag: mine.tag, id: mine.id, ours: [mine.role, mine.name.slice(0, 200)], theirs: [node.role.value, theirs.name.slice(0, 200)] });
  }
  return { compared, differences };
}
