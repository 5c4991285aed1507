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
  return found.map((element) => {
    const { role, name, visible, error } = gatehouse.run("info", { target: element });
    const isDraggable = Element.prototype.getAttribute.call(element, "draggable") === "true";
    const isPlain = Element.prototype.querySelector.call(element, "*") === null && !Element.prototype.hasAttribute.call(element, "aria-labelledby") && !(element.labels?.length > 0);
    return { isPlain, isSaid: element.textContent.trim() === name, tag: tag.call(element), id: id.call(element), role, name, visible, error, isDraggable, hasSlot: Element.prototype.querySelector.call(element, "slot") !== null };
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

// In documents that make no sense, names are compared where nothing is inside an element, labels it or is referred to:
// Chromium leaves landmarks, articles, lists and fields out of the name of what is around them, which accname does not,
// and counts a reference of an element to itself, or to what is around it, in ways of its own.
export function isKnownInNonsense(mine, theirs) {
  if (isKnown(mine, theirs)) return true;
  if (mine.role !== theirs.role) return false;
  if (!mine.isPlain || mine.tag === "br") return true; // a line break has no name in Chromium, whatever its role is
  if (mine.name === "" && (mine.role === "generic" || mine.role === "paragraph")) return true; // ARIA forbids a name, so the title is none
  if (mine.isSaid && theirs.name === "") return true; // a title that says what it contains
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
