// Fields: focus, fill, select; and what is known about an element.
function giveFocus(element) {
  if (focusedElement() === element) return;
  (isHtml(element) ? focusElement : focusSvg)(element, { preventScroll: false });
}

const selectInput = uncurry(HTMLInputElement.prototype.select);
const selectArea = uncurry(HTMLTextAreaElement.prototype.select);
const selectionOf = window.getSelection.bind(window);

function placeCaret(element, where) {
  if (where === "none") return;
  const isArea = element instanceof HTMLTextAreaElement;
  if (isArea || element instanceof HTMLInputElement) {
    if (where === "all") return (isArea ? selectArea : selectInput)(element);
    const at = where === "start" ? 0 : (isArea ? areaValue : inputValue)(element).length;
    try {
      Reflect.apply((isArea ? HTMLTextAreaElement : HTMLInputElement).prototype.setSelectionRange, element, [at, at]);
    } catch {
      // Fields of numbers and addresses have no caret for scripts.
    }
    return;
  }
  if (!isHtml(element) || !isContentEditable(element)) return;
  const selection = selectionOf();
  selection.selectAllChildren(element);
  if (where === "start") selection.collapseToStart();
  if (where === "end") selection.collapseToEnd();
}

function focus(options) {
  const element = findTarget(options.target);
  const where = options.select ?? "none";
  if (options.text !== undefined) requireText(element, options.text);
  if (!["all", "end", "start", "none"].includes(where)) throw new Failure("badArgument", "select must be all, end, start or none");
  giveFocus(element);
  placeCaret(element, where);
  return { ref: refOf(element), label: labelOf(element), focused: focusedElement() === element, isPicked: isPicked(element) };
}

function announce(element) {
  sendEvent(element, new Event("input", { bubbles: true, composed: true }));
  sendEvent(element, new Event("change", { bubbles: true }));
}

const setValue = uncurry(Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set);
// They have a picker, or a handle: text cannot be inserted.
const PICKED = words("color date datetime-local month range time week");

const isPicked = (element) => element instanceof HTMLInputElement && PICKED.has(typeOf(element));

// The browser drops without a word what such a field does not take.
function requireText(element, text) {
  if (checkedState(element, roleOf(element)) !== undefined) throw new Failure("notEditable", `${describeElement(element)} takes no text; use browser_click, or browser_fill_form with true or false`);
  if (element instanceof HTMLInputElement && typeOf(element) === "number" && /[^\d\s.,eE+-]/.test(text)) throw new Failure("badValue", `${describeElement(element)} takes a number, not ${quote(text, 80)}`);
}

const TRUTH = { true: true, on: true, yes: true, checked: true, 1: true, false: false, off: false, no: false, unchecked: false, "": false, 0: false };

function wantedTruth(element, value) {
  const wanted = TRUTH[String(value).toLowerCase()];
  if (wanted === undefined) throw new Failure("badValue", `${describeElement(element)} is checked with true or false`);
  return wanted;
}

function fill(options) {
  const element = findTarget(options.target);
  const { value } = options;
  requireUsable(element, "fill");
  if (element instanceof HTMLSelectElement) {
    return { done: true, value: select({ target: element, values: Array.isArray(value) ? value : [value] }).selected.join(", ") };
  }
  const checked = checkedState(element, roleOf(element));
  if (checked !== undefined) return wantedTruth(element, value) === checked ? { done: true, value: String(checked) } : { click: true };
  if (isPicked(element)) return pick(element, String(value));
  requireText(element, String(value));
  giveFocus(element);
  placeCaret(element, "all");
  return { insert: String(value) };
}

function pick(input, value) {
  const type = typeOf(input);
  const wanted = type === "color" ? value.trim().toLowerCase() : value.trim();
  giveFocus(input);
  const before = inputValue(input);
  setValue(input, wanted);
  const isTaken = inputValue(input) === wanted;
  if (!isTaken) setValue(input, before);
  if (!isTaken) throw new Failure("badValue", `${describeElement(input)} does not take ${quote(value, 80)}; ${EXPECTED[type]}`);
  announce(input);
  return { done: true, value: inputValue(input) };
}

const EXPECTED = {
  color: "write #rrggbb", date: "write YYYY-MM-DD", "datetime-local": "write YYYY-MM-DDThh:mm", month: "write YYYY-MM",
  range: "it has bounds and steps", time: "write hh:mm", week: "write YYYY-Www",
};

const setOption = uncurry(Object.getOwnPropertyDescriptor(HTMLOptionElement.prototype, "selected").set);

function select(options) {
  const element = findTarget(options.target);
  if (!Array.isArray(options.values)) throw new Failure("badArgument", "values must be an array");
  if (!(element instanceof HTMLSelectElement)) {
    throw new Failure("notEditable", `${describeElement(element)} is not a native list; click it, then click the option`);
  }
  if (isDisabled(element)) throw new Failure("disabled", `Element is disabled: ${describeElement(element)}`);
  const all = Array.from(optionsOf(element));
  const chosen = options.values.map((value) => findOption(element, all, String(value)));
  const isMultiple = hasAttribute(element, "multiple");
  if (!isMultiple && chosen.length > 1) throw new Failure("badValue", `${describeElement(element)} takes one value`);
  giveFocus(element);
  const before = all.filter(optionSelected);
  for (const option of all) if (optionSelected(option) !== chosen.includes(option)) setOption(option, chosen.includes(option));
  const now = Array.from(selectedOptions(element));
  if (now.length !== before.length || now.some((option, i) => option !== before[i])) announce(element);
  return { selected: now.map(optionValue), labels: now.map(optionText) };
}

// By value, by label, then by label without regard to case.
function findOption(list, all, wanted) {
  const usable = all.filter((option) => !isDisabled(option));
  const folded = tidy(wanted).toLowerCase();
  const option = usable.find((one) => optionValue(one) === wanted) ?? usable.find((one) => optionText(one) === tidy(wanted)) ?? usable.find((one) => optionText(one).toLowerCase() === folded);
  if (option !== undefined) return option;
  const known = usable.slice(0, 20).map((one) => quote(optionText(one), 60)).join(", ");
  throw new Failure("noOption", `${describeElement(list)} has no option ${quote(wanted, 80)}; it has ${known || "none"}${usable.length > 20 ? ", …" : ""}`);
}

function info(options) {
  const element = findTarget(options.target);
  const role = roleOf(element);
  const result = {
    ref: refOf(element), label: labelOf(element), role, name: cut(nameOf(element, role), MAX_STRING), tag: localName(element),
    disabled: isDisabled(element) || isAriaDisabled(element), readonly: isReadOnly(element), editable: isEditable(element),
    secret: isSecret(element), visible: isVisible(element), rect: boxOf(boundingRect(element)), inFrame: window !== window.parent,
  };
  if (element instanceof HTMLInputElement) {
    result.type = typeOf(element);
    if (result.type === "file") {
      result.multiple = hasAttribute(element, "multiple");
      result.accept = attributeOr(element, "accept", "");
    }
  }
  const checked = checkedState(element, role);
  if (checked !== undefined) result.checked = checked;
  const value = shownValue(element, role);
  if (value !== null && !result.secret) result.value = cut(value, MAX_STRING);
  const address = attribute(element, "href");
  if (address !== null && (element instanceof HTMLAnchorElement || element instanceof HTMLAreaElement)) result.href = cut(element.href, MAX_ADDRESS);
  if (element instanceof HTMLSelectElement) {
    result.multiple = hasAttribute(element, "multiple");
    result.options = Array.from(optionsOf(element)).slice(0, 100).map((option) => ({ value: optionValue(option), label: optionText(option), selected: optionSelected(option) }));
  }
  return result;
}

function value(options) {
  const element = findTarget(options.target);
  if (element instanceof HTMLInputElement) return { value: inputValue(element) };
  if (element instanceof HTMLTextAreaElement) return { value: areaValue(element) };
  if (element instanceof HTMLSelectElement) return { value: Array.from(selectedOptions(element), optionValue).join(", ") };
  return { value: (isHtml(element) ? innerText(element) : textContent(element)).trim() };
}

function sensitive() {
  const fields = [];
  const values = [];
  for (const root of allRoots()) {
    for (const element of queryAll[nodeType(root)](root, "input, textarea")) {
      if (!isSecret(element)) continue;
      const content = element instanceof HTMLInputElement ? inputValue(element) : areaValue(element);
      if (content === "") continue;
      fields.push({ ref: refOf(element), label: labelOf(element) });
      values.push(content);
    }
  }
  return { fields, values };
}

function storage(options) {
  const store = options.kind === "local" ? window.localStorage : options.kind === "session" ? window.sessionStorage : null;
  if (store === null) throw new Failure("badArgument", "kind must be local or session");
  switch (options.action) {
    case "get": {
      const data = {};
      const count = Reflect.get(Storage.prototype, "length", store);
      for (let i = 0; i < count; i++) {
        const key = Storage.prototype.key.call(store, i);
        Object.defineProperty(data, key, { value: Storage.prototype.getItem.call(store, key), enumerable: true });
      }
      return { data };
    }
    case "set":
      for (const [key, content] of Object.entries(options.data ?? {})) Storage.prototype.setItem.call(store, key, String(content));
      return { set: true };
    case "clear":
      Storage.prototype.clear.call(store);
      return { cleared: true };
    default: throw new Failure("badArgument", "action must be get, set or clear");
  }
}

// ---- Scrolling ----

const DIRECTIONS = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] };
const DEFAULT_AMOUNT = 500;

function scrollerOf(element) {
  for (let at = element; at !== null; at = composedParent(at)) {
    const style = styleOf(at);
    if ((scrollHeight(at) > clientHeight(at) && /auto|scroll/.test(style.overflowY)) || (scrollWidth(at) > clientWidth(at) && /auto|scroll/.test(style.overflowX))) return at;
  }
  return scrollingElementOf(page) ?? pageRoot();
}

function scroll(options) {
  const element = options.target === undefined ? null : findTarget(options.target);
  const way = options.direction === undefined ? null : DIRECTIONS[options.direction];
  if (way === undefined) throw new Failure("badArgument", "direction must be up, down, left or right");
  const scroller = element === null ? scrollingElementOf(page) ?? pageRoot() : scrollerOf(way === null ? composedParent(element) ?? element : element);
  const before = [scrollLeft(scroller), scrollTop(scroller)];
  if (way !== null) {
    const amount = options.amount ?? DEFAULT_AMOUNT;
    scrollElementBy(scroller, { left: way[0] * amount, top: way[1] * amount, behavior: "instant" });
  } else if (element !== null) {
    scrollIntoView(element, { behavior: "instant", block: "center", inline: "center" });
  }
  const after = [scrollLeft(scroller), scrollTop(scroller)];
  return {
    x: after[0], y: after[1], maxX: scrollWidth(scroller) - clientWidth(scroller), maxY: scrollHeight(scroller) - clientHeight(scroller),
    moved: before[0] !== after[0] || before[1] !== after[1],
  };
}
