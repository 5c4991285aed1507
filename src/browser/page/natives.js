// What the script uses of the browser, taken once.
//
// The page cannot change the prototypes of this world, but its elements can hide properties: in
// <form><input name="firstChild"></form> the form's firstChild is the input, and <img name="body"> is
// document.body. So everything that a form or a document could be asked is asked through these.
const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const getter = (prototype, name) => uncurry(Object.getOwnPropertyDescriptor(prototype, name).get);

const ELEMENT = 1;
const TEXT = 3;

const nodeType = getter(Node.prototype, "nodeType");
const firstChild = getter(Node.prototype, "firstChild");
const nextSibling = getter(Node.prototype, "nextSibling");
const parentNode = getter(Node.prototype, "parentNode");
const ownerDocument = getter(Node.prototype, "ownerDocument");
const isConnected = getter(Node.prototype, "isConnected");
const textContent = getter(Node.prototype, "textContent");
const rootOf = uncurry(Node.prototype.getRootNode);
const contains = uncurry(Node.prototype.contains);
const dataOf = getter(CharacterData.prototype, "data");

const localName = getter(Element.prototype, "localName");
const namespaceOf = getter(Element.prototype, "namespaceURI");
const attribute = uncurry(Element.prototype.getAttribute);
const hasAttribute = uncurry(Element.prototype.hasAttribute);
const shadowRootOf = getter(Element.prototype, "shadowRoot");
const assignedSlot = getter(Element.prototype, "assignedSlot");
const assignedNodes = uncurry(HTMLSlotElement.prototype.assignedNodes);
const matches = uncurry(Element.prototype.matches);
const closest = uncurry(Element.prototype.closest);
const checkVisibility = uncurry(Element.prototype.checkVisibility);
const boundingRect = uncurry(Element.prototype.getBoundingClientRect);
const clientRects = uncurry(Element.prototype.getClientRects);
const scrollIntoView = uncurry(Element.prototype.scrollIntoView);
const scrollTop = getter(Element.prototype, "scrollTop");
const scrollLeft = getter(Element.prototype, "scrollLeft");
const scrollHeight = getter(Element.prototype, "scrollHeight");
const scrollWidth = getter(Element.prototype, "scrollWidth");
const clientHeight = getter(Element.prototype, "clientHeight");
const clientWidth = getter(Element.prototype, "clientWidth");
const clientTop = getter(Element.prototype, "clientTop");
const clientLeft = getter(Element.prototype, "clientLeft");
const scrollElementBy = uncurry(Element.prototype.scrollBy);
const queryAll = {
  [ELEMENT]: uncurry(Element.prototype.querySelectorAll),
  [Node.DOCUMENT_NODE]: uncurry(Document.prototype.querySelectorAll),
  [Node.DOCUMENT_FRAGMENT_NODE]: uncurry(DocumentFragment.prototype.querySelectorAll),
};

const focusElement = uncurry(HTMLElement.prototype.focus);
const focusSvg = uncurry(SVGElement.prototype.focus);
const tabIndexOf = getter(HTMLElement.prototype, "tabIndex");
const isContentEditable = getter(HTMLElement.prototype, "isContentEditable");
const innerText = getter(HTMLElement.prototype, "innerText");
const sendEvent = uncurry(EventTarget.prototype.dispatchEvent);
const listen = uncurry(EventTarget.prototype.addEventListener);
const unlisten = uncurry(EventTarget.prototype.removeEventListener);
const eventPath = uncurry(Event.prototype.composedPath);

const page = document;
const pageRoot = () => documentElementOf(page);
const documentElementOf = getter(Document.prototype, "documentElement");
const bodyOf = getter(Document.prototype, "body");
const visibilityOf = getter(Document.prototype, "visibilityState");
const titleOf = getter(Document.prototype, "title");
const activeElementOf = getter(Document.prototype, "activeElement");
const scrollingElementOf = getter(Document.prototype, "scrollingElement");
const styleSheetsOf = getter(Document.prototype, "styleSheets");
const evaluatePath = uncurry(Document.prototype.evaluate);
const elementAt = uncurry(Document.prototype.elementFromPoint);
const elementAtInRoot = uncurry(ShadowRoot.prototype.elementFromPoint);
const activeInRoot = getter(ShadowRoot.prototype, "activeElement");
const sheetsInRoot = getter(ShadowRoot.prototype, "styleSheets");
const hostOf = getter(ShadowRoot.prototype, "host");
const elementById = {
  [Node.DOCUMENT_NODE]: uncurry(Document.prototype.getElementById),
  [Node.DOCUMENT_FRAGMENT_NODE]: uncurry(DocumentFragment.prototype.getElementById),
};
const styleOf = window.getComputedStyle.bind(window);

const isElement = (node) => nodeType(node) === ELEMENT;
const isHtml = (element) => element instanceof HTMLElement;
const attributeOr = (element, name, otherwise) => attribute(element, name) ?? otherwise;

// Closed roots that C found, and where it looked for one; see `adopt`.
const adoptedRoots = new WeakMap();
const seenHosts = new WeakMap();
let hasAdopted = false;
const shadowOf = (element) => shadowRootOf(element) ?? (hasAdopted ? adoptedRoots.get(element) ?? null : null);

// The parent on the screen: out of a slot, and out of a shadow root to its host.
function composedParent(node) {
  if (isElement(node) || nodeType(node) === TEXT) {
    const slot = isElement(node) ? assignedSlot(node) : node.assignedSlot;
    if (slot) return slot;
  }
  const parent = parentNode(node);
  if (parent === null) return null;
  if (nodeType(parent) === ELEMENT) return parent;
  return parent instanceof ShadowRoot ? hostOf(parent) : null;
}

function composedContains(ancestor, node) {
  for (let at = node; at !== null; at = composedParent(at)) if (at === ancestor) return true;
  return false;
}

// The children on the screen.
function composedChildren(element) {
  const root = shadowOf(element);
  const children = [];
  if (root === null && element instanceof HTMLSlotElement) {
    const assigned = assignedNodes(element);
    if (assigned.length > 0) return assigned;
  }
  for (let child = firstChild(root ?? element); child !== null; child = nextSibling(child)) children.push(child);
  return children;
}

function byId(from, id) {
  const root = rootOf(from);
  const find = elementById[nodeType(root)];
  return find === undefined ? null : find(root, id);
}

// Elements that an attribute names by id, or that the page assigned to the reflecting property.
function referenced(element, name, property) {
  const value = attribute(element, name);
  if (value === null) return [];
  const found = [];
  for (const id of value.split(/[ \t\n\f\r]+/)) {
    const other = id === "" ? null : byId(element, id);
    if (other !== null) found.push(other);
  }
  if (found.length > 0 || value.trim() !== "" || !(property in Element.prototype)) return found;
  const assigned = Reflect.get(Element.prototype, property, element);
  return Array.isArray(assigned) ? assigned : assigned ? [assigned] : found;
}

// The frequent elements that can have no shadow root are left out by the browser, which is quicker than to ask them; it
// compares in this order.
const MAY_HOST = `:not(td, a, li, tr, option, button, input, img, path, svg, i, b, strong, em, label, ul, br, th, script, link,
  meta, small, u, g, use, dd, dt, ol, dl, select, table, tbody, thead)`;

// Adds the shadow roots of the elements in a root, in document order. By index: an iterator takes four times as long.
function addRoots(root, roots) {
  const elements = queryAll[nodeType(root)](root, MAY_HOST);
  for (let i = 0, count = elements.length; i < count; i++) {
    const inner = shadowOf(elements[i]);
    if (inner !== null) roots.push(inner);
  }
}

// Every root of the document: itself, then the shadow roots in document order.
function allRoots() {
  const roots = [page];
  for (let i = 0; i < roots.length; i++) addRoots(roots[i], roots);
  return roots;
}
