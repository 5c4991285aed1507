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
  MathMLMath: "math", ImageMap: "img",
};

// Elements of the document and its open shadow roots, in one order on both sides.
const ORDER = `function () {
  const found = [];
  const visit = (node) => {
    if (node.nodeType === 1) found.push(node);
    if (node.shadowRoot) visit(node.shadowRoot);
    for (const child of node.childNodes) visit(child);
  };
  visit(document);
  return found.map((element) => {
    const { role, name, visible, error } = gatehouse.run("info", { target: element });
    return { tag: element.localName, id: element.id, role, name, visible, error };
  });
}`;

function flatten(node, into) {
  if (node.nodeType === 1) into.push(node.backendNodeId);
  for (const root of node.shadowRoots ?? []) if (root.shadowRootType !== "user-agent") flatten(root, into);
  for (const child of node.children ?? []) flatten(child, into);
}

const plain = (text) => (text ?? "").replace(/[\s\u00a0]+/g, " ").trim();

export async function compare(page, allowed = () => false) {
  const ours = await page.call(ORDER);
  const { root } = await page.cdp.send("DOM.getDocument", { depth: -1, pierce: false });
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
    if (problems.length > 0 && !allowed(mine, theirs, node)) differences.push({ problems, tag: mine.tag, id: mine.id, ours: [mine.role, mine.name], theirs: [node.role.value, theirs.name] });
  }
  return { compared, differences };
}
