// Which element is meant: by ref, by selector, or the element itself.

// ---- Selectors ----

const STRATEGY = /^(css|text|role|xpath|id|data-testid|data-test-id|data-test)=/;

function splitSelector(selector) {
  const parts = [];
  let start = 0;
  let quoted = null;
  for (let i = 0; i < selector.length; i++) {
    const character = selector[i];
    if (character === "\\") i++;
    else if (quoted !== null) {
      if (character === quoted) quoted = null;
    } else if (character === '"' || character === "'") quoted = character;
    else if (character === ">" && selector[i + 1] === ">") {
      parts.push(selector.slice(start, i).trim());
      start = i + 2;
      i++;
    }
  }
  parts.push(selector.slice(start).trim());
  return parts;
}

function rootsWithin(scope) {
  if (scope === page) return allRoots();
  const roots = [scope];
  for (let i = 0; i < roots.length; i++) {
    if (isElementNode(roots[i]) && shadowOf(roots[i]) !== null) roots.push(shadowOf(roots[i]));
    addRoots(roots[i], roots);
  }
  return roots;
}

const isElementNode = (node) => nodeType(node) === ELEMENT;

function everywhere(scope, css) {
  const found = [];
  for (const root of rootsWithin(scope)) for (const element of queryAll[nodeType(root)](root, css)) found.push(element);
  return found;
}

function byCss(scope, css) {
  try {
    return everywhere(scope, css);
  } catch (problem) {
    if (problem.name === "SyntaxError") throw new Failure("badSelector", `${quote(css, 200)} is no valid CSS selector. Other kinds begin with text=, role= or xpath=`);
    throw problem;
  }
}

function byPath(scope, path) {
  try {
    const found = evaluatePath(page, scope !== page && path.startsWith("/") ? `.${path}` : path, scope, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
    const elements = [];
    for (let i = 0; i < found.snapshotLength; i++) if (isElement(found.snapshotItem(i))) elements.push(found.snapshotItem(i));
    return elements;
  } catch {
    throw new Failure("badSelector", `${quote(path, 200)} is no valid XPath`);
  }
}

const UNREAD = words("script style noscript template head");

function readText(element) {
  const rest = [firstChild(element)];
  let text = "";
  while (rest.length > 0) {
    const node = rest.pop();
    if (node === null) continue;
    rest.push(nextSibling(node));
    if (nodeType(node) === TEXT) text += dataOf(node);
    else if (isElement(node) && !UNREAD.has(localName(node))) rest.push(firstChild(node));
  }
  return text;
}

// The smallest elements that contain the text.
function byText(scope, words) {
  const exact = /^(["'])(.*)\1$/s.exec(words);
  const wanted = tidy(exact === null ? words : exact[2]);
  const folded = wanted.toLowerCase();
  const holds = (element) => {
    const isButton = element instanceof HTMLInputElement && /^(button|submit|reset)$/.test(typeOf(element));
    const has = (text) => tidy(text).toLowerCase().includes(folded);
    // What is quick to get says of most elements that they do not.
    if (!has(isButton ? inputValue(element) : textContent(element))) return false;
    const text = isButton ? inputValue(element) : readText(element);
    return exact === null ? has(text) : tidy(text) === wanted;
  };
  const found = [];
  for (const element of everywhere(scope, "*")) {
    if (UNREAD.has(localName(element)) || !holds(element)) continue;
    let isSmallest = true;
    for (let child = firstChild(element); child !== null && isSmallest; child = nextSibling(child)) {
      if (isElement(child) && !UNREAD.has(localName(child)) && holds(child)) isSmallest = false;
    }
    if (isSmallest) found.push(element);
  }
  return found;
}

const ROLE_ATTRIBUTE = /\s*\[\s*([a-z]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\]\s"']+))\s*([is])?\s*)?\]/y;

function byRole(scope, text) {
  const wanted = /^[a-z-]+/.exec(text)?.[0] ?? "";
  const role = SYNONYMS[wanted] ?? wanted;
  const tests = [];
  let at = wanted.length;
  while (at < text.length) {
    ROLE_ATTRIBUTE.lastIndex = at;
    const match = ROLE_ATTRIBUTE.exec(text);
    if (match === null) break;
    const [, name, double, single, word, how] = match;
    tests.push({ name, value: (double ?? single ?? word ?? "true").replace(/\\(.)/g, "$1"), isExact: how === "s" });
    at = ROLE_ATTRIBUTE.lastIndex;
  }
  if (wanted === "" || at < text.length) throw new Failure("badSelector", `${quote(text, 200)} is no role selector; write role=button[name="Save"]`);
  return everywhere(scope, "*").filter((element) => roleOf(element) === role && !isHiddenFromAll(element) && tests.every((test) => roleTest(element, role, test)));
}

function roleTest(element, role, { name, value, isExact }) {
  switch (name) {
    case "name": {
      const has = nameOf(element, role);
      return isExact ? has === value : has.toLowerCase().includes(tidy(value).toLowerCase());
    }
    case "checked": return String(checkedState(element, role) ?? false) === value;
    case "selected": return String(selectedState(element, role) ?? false) === value;
    case "expanded": return String(expandedState(element, role) ?? false) === value;
    case "pressed": return String(tristate(attribute(element, "aria-pressed")) ?? false) === value;
    case "disabled": return String(isDisabled(element) || isAriaDisabled(element)) === value;
    case "level": return String(levelOf(element, role)) === value;
    default: throw new Failure("badSelector", `role selectors have no attribute ${quote(name, 40)}; they have name, checked, selected, expanded, pressed, disabled, level`);
  }
}

function matchesOf(scope, part) {
  const match = STRATEGY.exec(part);
  const kind = match === null ? (/^(\.\.|\(*\/\/)/.test(part) ? "xpath" : /^(["']).*\1$/s.test(part) ? "text" : "css") : match[1];
  const rest = match === null ? part : part.slice(match[0].length).trim();
  switch (kind) {
    case "css": return byCss(scope, rest);
    case "text": return byText(scope, rest);
    case "role": return byRole(scope, rest);
    case "xpath": return byPath(scope, rest);
    default: return byCss(scope, `[${kind}=${CSS.escape(rest)}]`);
  }
}

function selectAll(selector) {
  if (typeof selector !== "string" || selector.trim() === "") throw new Failure("badSelector", "the selector is empty");
  let scopes = [page];
  for (const part of splitSelector(selector)) {
    const found = new Set();
    for (const scope of scopes) for (const element of matchesOf(scope, part)) found.add(element);
    scopes = [...found];
  }
  return scopes;
}

// ---- Targets ----

// As it stands in a snapshot. Nothing has such a tag or attribute, so as a selector it is meant as a ref, too.
const WRITTEN_REF = /^(?:\[ref=["']?)?((?:f\d+)?e\d+)(?:["']?\])?$/;

function findTarget(target, { first = false } = {}) {
  if (target instanceof Element) {
    if (!isConnected(target)) throw new Failure("stale", "the element is no longer in the document");
    return target;
  }
  if (typeof target !== "object" || target === null) throw new Failure("badArgument", "target must have a ref or a selector");
  if (typeof target.ref === "string") return elementOfRef(WRITTEN_REF.exec(target.ref.trim())?.[1] ?? target.ref);
  const found = selectAll(target.selector);
  const ref = found.length === 0 ? WRITTEN_REF.exec(target.selector.trim()) : null;
  if (ref !== null) return elementOfRef(ref[1]);
  if (found.length === 0) throw new Failure("notFound", `no element matches ${quote(target.selector, 200)}`);
  if (found.length === 1) return found[0];
  const visible = found.filter(isVisible);
  if (visible.length === 1 || (first && visible.length > 0)) return visible[0];
  if (first) return found[0];
  const choice = visible.length > 0 ? visible : found;
  const some = choice.slice(0, 5).map((element) => `${labelOf(element)} [ref=${refOf(element)}]`).join(", ");
  throw new Failure("ambiguous", `${quote(target.selector, 200)} matches ${choice.length} elements: ${some}${choice.length > 5 ? ", …" : ""}`);
}

// Rendered, with some area.
function isVisible(element) {
  if (!isRendered(element)) return false;
  if (UNBOXED.has(localName(element))) return true;
  if (isContents(element)) return composedChildren(element).some((child) => isElement(child) ? isVisible(child) : nodeType(child) === TEXT && dataOf(child).trim() !== "");
  const rect = boundingRect(element);
  return rect.width > 0 && rect.height > 0 || Array.from(clientRects(element)).some((part) => part.width > 0 && part.height > 0);
}

// A label means its control, and something around a file input means that.
function fileInputOf(element) {
  if (element instanceof HTMLLabelElement) {
    const control = Reflect.get(HTMLLabelElement.prototype, "control", element);
    if (control !== null) return control;
  }
  if (element instanceof HTMLInputElement) return element;
  const inside = queryAll[ELEMENT](element, "input[type=file]");
  return inside.length === 1 ? inside[0] : element;
}
