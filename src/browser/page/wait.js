// Waiting for what is to be seen.
const STATES = words("visible attached hidden detached");

function selectorHolds(selector, state) {
  const found = selectAll(selector);
  switch (state) {
    case "attached": return found.length > 0;
    case "detached": return found.length === 0;
    case "hidden": return !found.some(isVisible);
    default: return found.some(isVisible);
  }
}

// The text that is rendered, of shadow roots, too, and what fields and buttons show.
function hasText(wanted) {
  const folded = tidy(wanted).toLowerCase();
  const holds = (shown) => tidy(shown).toLowerCase().includes(folded);
  for (const root of allRoots()) {
    const top = root === page ? bodyOf(page) : null;
    if (top !== null && isHtml(top)) {
      if (holds(innerText(top))) return true;
    } else {
      for (let child = firstChild(root); child !== null; child = nextSibling(child)) {
        if (isElement(child) && isHtml(child) && isRendered(child) && !SKIPPED.has(localName(child)) && holds(innerText(child))) return true;
      }
    }
    for (const input of queryAll[nodeType(root)](root, "input")) {
      if (/^(button|submit|reset)$/.test(typeOf(input)) && holds(inputValue(input)) && isRendered(input)) return true;
    }
  }
  return false;
}

function missing(options) {
  if (options.selector !== undefined && !selectorHolds(options.selector, options.state ?? "visible")) return `${quote(options.selector, 200)} is not ${options.state ?? "visible"}`;
  if (options.text !== undefined && !hasText(options.text)) return `the text ${quote(options.text, 200)} is not there`;
  if (options.gone !== undefined && hasText(options.gone)) return `the text ${quote(options.gone, 200)} is still there`;
  return null;
}

function wait(options) {
  if (options.state !== undefined && !STATES.has(options.state)) throw new Failure("badArgument", `state must be one of ${[...STATES].join(", ")}`);
  for (const name of ["selector", "text", "gone"]) {
    if (options[name] !== undefined && (typeof options[name] !== "string" || options[name].trim() === "")) throw new Failure("badArgument", `${name} must be a text`);
  }
  const timeoutMs = timeoutOf(options);
  if (timeoutMs === 0) return { holds: missing(options) === null };
  const start = performance.now();
  return until(timeoutMs, () => {
    const reason = missing(options);
    if (reason !== null) throw new Failure("timeout", `after ${Math.round(performance.now() - start)} ms ${reason}`);
    return { elapsedMs: Math.round(performance.now() - start) };
  });
}
