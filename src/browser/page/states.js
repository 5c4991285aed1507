// What an element is in: checked, expanded, disabled...

// By itself or by a fieldset around it.
const isDisabled = (element) => matches(element, ":disabled");

function isAriaDisabled(element) {
  for (let at = element; at !== null; at = composedParent(at)) {
    const value = attribute(at, "aria-disabled");
    if (value === "true") return true;
    if (value === "false") return false;
  }
  return false;
}

const tristate = (value) => (value === "true" ? true : value === "mixed" ? "mixed" : value === "false" ? false : undefined);
const flag = (element, name) => {
  const value = attribute(element, name);
  return value === "true" ? true : value === "false" ? false : undefined;
};
const property = getter;
const checkedOf = property(HTMLInputElement.prototype, "checked");
const indeterminateOf = property(HTMLInputElement.prototype, "indeterminate");
const optionSelected = property(HTMLOptionElement.prototype, "selected");
const inputValue = property(HTMLInputElement.prototype, "value");
const areaValue = property(HTMLTextAreaElement.prototype, "value");
const selectedOptions = property(HTMLSelectElement.prototype, "selectedOptions");
const optionsOf = property(HTMLSelectElement.prototype, "options");
const optionLabel = property(HTMLOptionElement.prototype, "label");
const optionValue = property(HTMLOptionElement.prototype, "value");
const progressValue = property(HTMLProgressElement.prototype, "value");
const progressMax = property(HTMLProgressElement.prototype, "max");
const meterValue = property(HTMLMeterElement.prototype, "value");
const meterMin = property(HTMLMeterElement.prototype, "min");
const meterMax = property(HTMLMeterElement.prototype, "max");

const CHECKABLE = words("checkbox radio switch menuitemcheckbox menuitemradio option treeitem");
const EXPANDABLE = words(`button application checkbox combobox gridcell link listbox menuitem menuitemcheckbox
  menuitemradio row rowheader columnheader switch tab treeitem`);
const SELECTABLE = words("gridcell option row tab treeitem columnheader rowheader");

function checkedState(element, role) {
  if (element instanceof HTMLInputElement && (typeOf(element) === "checkbox" || typeOf(element) === "radio")) {
    return indeterminateOf(element) && typeOf(element) === "checkbox" ? "mixed" : checkedOf(element);
  }
  return CHECKABLE.has(role) ? tristate(attribute(element, "aria-checked")) : undefined;
}

function expandedState(element, role) {
  const tag = localName(element);
  if (tag === "summary" && isSummaryOfDetails(element)) return hasAttribute(parentNode(element), "open");
  return EXPANDABLE.has(role) || role === "generic" ? flag(element, "aria-expanded") : undefined;
}

function selectedState(element, role) {
  if (element instanceof HTMLOptionElement) return optionSelected(element);
  return SELECTABLE.has(role) ? flag(element, "aria-selected") : undefined;
}

function levelOf(element, role) {
  const value = Number(attribute(element, "aria-level"));
  if (Number.isInteger(value) && value > 0) return value;
  if (role !== "heading") return undefined;
  const match = /^h([1-6])$/.exec(localName(element));
  return match === null ? 2 : Number(match[1]);
}

const isReadOnly = (element) =>
  (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) ? hasAttribute(element, "readonly") : flag(element, "aria-readonly") === true;

function isRequired(element) {
  return flag(element, "aria-required") ?? (/^(input|select|textarea)$/.test(localName(element)) && hasAttribute(element, "required"));
}

function isInvalid(element) {
  const value = attribute(element, "aria-invalid");
  if (value !== null) return value !== "false" && value !== "";
  // Before the user did something, an empty required field is not wrong.
  return /^(input|select|textarea)$/.test(localName(element)) && matches(element, ":user-invalid");
}

const MASKING = /\b(current-password|new-password|one-time-code|cc-number|cc-csc)\b/i;

// Fields whose content is nobody's business.
function isSecret(element) {
  if (element instanceof HTMLInputElement) {
    if (typeOf(element) === "password") return true;
  } else if (!(element instanceof HTMLTextAreaElement)) {
    return false;
  }
  if (MASKING.test(attributeOr(element, "autocomplete", ""))) return true;
  const masking = styleOf(element).getPropertyValue("-webkit-text-security");
  return masking !== "" && masking !== "none";
}

const UNEDITED = words("button submit reset image file checkbox radio range color hidden");

const isTextField = (element) =>
  element instanceof HTMLTextAreaElement || (element instanceof HTMLInputElement && !UNEDITED.has(typeOf(element)));

function isEditable(element) {
  if (isTextField(element)) return !hasAttribute(element, "readonly") && !isDisabled(element);
  return isHtml(element) && isContentEditable(element);
}

// The element where editing begins, not everything inside it.
function isEditingHost(element) {
  if (!isHtml(element) || !hasAttribute(element, "contenteditable") || !isContentEditable(element)) return false;
  const parent = parentNode(element);
  return parent === null || !isElement(parent) || !isHtml(parent) || !isContentEditable(parent);
}

// Of a field that has one and is not secret, else null.
function shownValue(element, role) {
  if (element instanceof HTMLInputElement) {
    const type = typeOf(element);
    if (type === "file") return Array.from(Reflect.get(HTMLInputElement.prototype, "files", element) ?? [], (file) => file.name).join(", ");
    return UNEDITED.has(type) && type !== "range" && type !== "color" ? null : inputValue(element);
  }
  if (element instanceof HTMLTextAreaElement) return areaValue(element);
  if (element instanceof HTMLSelectElement) return isListbox(element) ? null : Array.from(selectedOptions(element), optionText).join(", ");
  if (element instanceof HTMLProgressElement) return hasAttribute(element, "value") ? `${progressValue(element)} of ${progressMax(element)}` : null;
  if (element instanceof HTMLMeterElement) return `${meterValue(element)} of ${meterMax(element)}`;
  if (role === "slider" || role === "spinbutton" || role === "progressbar" || role === "meter" || role === "scrollbar") {
    return attribute(element, "aria-valuetext") ?? attribute(element, "aria-valuenow");
  }
  return null;
}

const optionText = (option) => tidy(optionLabel(option) || textContent(option));

function focusedElement() {
  let at = activeElementOf(page);
  while (at !== null && shadowOf(at) !== null) {
    const inner = activeInRoot(shadowOf(at));
    if (inner === null) break;
    at = inner;
  }
  return at === bodyOf(page) ? null : at;
}

const POPUPS = words("menu listbox tree grid dialog true");

// As the snapshot prints them.
function statesOf(element, role, focused) {
  const states = [];
  const add = (name, value) => {
    if (value === true) states.push(`[${name}]`);
    else if (value !== undefined && value !== false && value !== null) states.push(`[${name}=${value}]`);
  };
  if (role === "heading" || role === "treeitem" || role === "row" || role === "listitem") add("level", levelOf(element, role));
  if (element instanceof HTMLInputElement) {
    const type = typeOf(element);
    if (type === "file") add("file", true);
    else if (/^(color|date|datetime-local|month|time|week|password)$/.test(type)) add("type", type);
  }
  add("checked", checkedState(element, role));
  const hasAria = hasAriaAttributes(element);
  if (hasAria && role === "button") add("pressed", tristate(attribute(element, "aria-pressed")));
  add("selected", selectedState(element, role));
  const expanded = expandedState(element, role);
  if (expanded !== undefined) states.push(expanded ? "[expanded]" : "[expanded=false]");
  if (isDisabled(element) || (hasAria && attribute(element, "aria-disabled") === "true")) add("disabled", true);
  if (INTERACTIVE.has(role) || role === "radiogroup") {
    add("required", isRequired(element));
    add("invalid", isInvalid(element));
    add("readonly", isReadOnly(element));
  }
  if (role === "listbox" && localName(element) === "select" ? hasAttribute(element, "multiple") : hasAria && attribute(element, "aria-multiselectable") === "true") add("multiselectable", true);
  if (localName(element) === "dialog" ? matches(element, ":modal") : hasAria && attribute(element, "aria-modal") === "true") add("modal", true);
  if (hasAria) {
    add("busy", flag(element, "aria-busy"));
    add("sort", enumerated(element, "aria-sort", SORTS));
    add("current", currentState(element));
    const popup = attribute(element, "aria-haspopup");
    if (popup !== null && POPUPS.has(popup)) add("haspopup", popup === "true" ? "menu" : popup);
    add("orientation", enumerated(element, "aria-orientation", ORIENTATIONS));
  }
  if (isEditingHost(element)) add("editable", true);
  if (hasAttribute(element, "draggable") && attribute(element, "draggable") === "true") add("draggable", true);
  if (element === focused) add("focused", true);
  return states;
}

const SORTS = words("ascending descending other");
const ORIENTATIONS = words("horizontal vertical");
const CURRENTS = words("page step location date time");

function enumerated(element, name, values) {
  const value = attribute(element, name);
  return values.has(value) ? value : undefined;
}

function currentState(element) {
  const value = attribute(element, "aria-current");
  if (value === null || value === "" || value === "false") return undefined;
  return CURRENTS.has(value) ? value : true;
}

const attributeNames = uncurry(Element.prototype.getAttributeNames);
const hasAttributes = uncurry(Element.prototype.hasAttributes);

function hasAriaAttributes(element) {
  if (!hasAttributes(element)) return false;
  for (const name of attributeNames(element)) if (name.startsWith("aria-")) return true;
  return false;
}
