// Before input goes to an element: can it be used, where is it, and what is really there?
const DEFAULT_TIMEOUT_MS = 5000;
// The longest time between two looks: styles change without telling.
const LOOK_AGAIN_MS = 100;
const LATE_FRAME_MS = 1000;

const KINDS = words("click hover drag drop fill select upload scroll screenshot");
const NEED_ENABLED = words("click drag fill select upload");

// Under load a frame may be late; if none comes at all, this one is over.
const nextFrame = () => new Promise((resolve) => {
  const timer = setTimeout(resolve, LATE_FRAME_MS);
  requestAnimationFrame(() => {
    clearTimeout(timer);
    resolve();
  });
});

// A page at rest draws as soon as there is something to draw, before it does anything else, and then not before the next
// tick of the display. It draws while the answer is on its way, so that it goes on at once after the click.
const drawNow = () => {};

// In a task of its own, before the next frame.
const soon = (work) => scheduler.postTask(work, { priority: "user-blocking" });

// Resolves when the document changed, or after a while.
function nextChange(ms) {
  return new Promise((resolve) => {
    const done = () => {
      observer.disconnect();
      clearTimeout(timer);
      resolve();
    };
    const observer = new MutationObserver(done);
    const timer = setTimeout(done, ms);
    for (const root of allRoots()) observer.observe(root, { attributes: true, characterData: true, childList: true, subtree: true });
  });
}

// Calls `look` until it returns something, or fails with what it threw last.
async function until(timeoutMs, look) {
  const end = performance.now() + timeoutMs;
  const soonOver = Math.min(end, performance.now() + SELDOM_MS);
  let isSeldom = true;
  for (;;) {
    forgetAnswers();
    let failure;
    try {
      return await look();
    } catch (problem) {
      if (!(problem instanceof Failure) || !RETRIED.has(problem.code)) throw problem;
      failure = problem;
    }
    isSeldom &&= SELDOM.has(failure.code);
    if (isSeldom && performance.now() >= soonOver) throw failure;
    const left = end - performance.now();
    if (left <= 0) throw failure;
    await nextChange(Math.min(LOOK_AGAIN_MS, left));
  }
}

// A target that fails with one of these from the start seldom gets better by waiting.
const SELDOM = words("ambiguous notEditable");
const SELDOM_MS = 1000;

const RETRIED = words("hidden disabled readOnly notEditable moving covered outside notFound ambiguous timeout");

const describeElement = (element) => `${labelOf(element)} [ref=${refOf(element)}]`;

function requireUsable(element, kind) {
  if (!isConnected(element)) throw new Failure("stale", "the element has left the document. Take a new snapshot");
  if (kind === "upload") return;
  if (element instanceof HTMLOptionElement) throw new Failure("badArgument", `${describeElement(element)} is chosen with browser_select on its list`);
  if (!isVisible(element)) throw new Failure("hidden", `${describeElement(element)} is not visible`);
  if (NEED_ENABLED.has(kind) && (isDisabled(element) || isAriaDisabled(element))) throw new Failure("disabled", `Element is disabled: ${describeElement(element)}`);
  if (kind !== "fill") return;
  if (isTextField(element) ? hasAttribute(element, "readonly") : flag(element, "aria-readonly") === true) throw new Failure("readOnly", `Element is read-only: ${describeElement(element)}`);
  if (!isFillable(element)) throw new Failure("notEditable", `${describeElement(element)} is not a field that takes text`);
}

const isFillable = (element) =>
  isTextField(element) || element instanceof HTMLSelectElement || (element instanceof HTMLInputElement && !/^(button|submit|reset|image|hidden|file)$/.test(typeOf(element))) ||
  (isHtml(element) && isContentEditable(element)) || CHECKABLE.has(roleOf(element)) || roleOf(element) === "slider";

const viewport = () => ({ width: clientWidth(pageRoot()) || window.innerWidth, height: clientHeight(pageRoot()) || window.innerHeight });

const boxOf = (rect) => ({ x: rect.x, y: rect.y, width: rect.width, height: rect.height });

// The parts of an element on the screen, inside the viewport and everything that clips it.
function visibleParts(element) {
  const clip = clipOf(element);
  const rects = isContents(element) ? composedChildren(element).filter(isElement).flatMap((child) => Array.from(clientRects(child))) : Array.from(clientRects(element));
  const parts = [];
  for (const rect of rects) {
    const left = Math.max(rect.left, clip.left);
    const top = Math.max(rect.top, clip.top);
    const width = Math.min(rect.right, clip.right) - left;
    const height = Math.min(rect.bottom, clip.bottom) - top;
    if (width > 0 && height > 0) parts.push({ x: left, y: top, width, height });
  }
  return parts;
}

function clipOf(element) {
  const { width, height } = viewport();
  const clip = { left: 0, top: 0, right: width, bottom: height };
  for (let at = composedParent(element), position = styleOf(element).position; at !== null && at !== pageRoot(); at = composedParent(at)) {
    if (position === "fixed") break;
    const style = styleOf(at);
    if (style.overflowX === "visible" && style.overflowY === "visible") {
      if (style.position !== "static") position = style.position;
      continue;
    }
    if (position === "absolute" && style.position === "static") continue;
    position = style.position;
    if (at === bodyOf(page)) continue;
    const rect = boundingRect(at);
    if (style.overflowX !== "visible") {
      clip.left = Math.max(clip.left, rect.left);
      clip.right = Math.min(clip.right, rect.right);
    }
    if (style.overflowY !== "visible") {
      clip.top = Math.max(clip.top, rect.top);
      clip.bottom = Math.min(clip.bottom, rect.bottom);
    }
  }
  return clip;
}

// Whether everything that can be seen of it is: then nothing has to scroll.
function isInView(element) {
  const rect = boundingRect(element);
  const { width, height } = viewport();
  const middle = { x: rect.left + rect.width / 2, y: rect.top + rect.height / 2 };
  if (middle.x < 0 || middle.y < 0 || middle.x >= width || middle.y >= height) return false;
  const clip = clipOf(element);
  return middle.x >= clip.left && middle.x < clip.right && middle.y >= clip.top && middle.y < clip.bottom;
}

function bringIntoView(element) {
  if (isInView(element)) return false;
  scrollIntoView(element, { behavior: "instant", block: "center", inline: "center" });
  return true;
}

// The innermost element at a point, through shadow roots.
function deepElementAt(x, y) {
  let found = elementAt(page, x, y);
  while (found !== null && shadowOf(found) !== null) {
    const inner = elementAtInRoot(shadowOf(found), x, y);
    if (inner === null || inner === found || !composedContains(found, inner)) break;
    found = inner;
  }
  return found;
}

// A click on a label reaches its control, and the text of a button is the button.
function reaches(hit, element) {
  if (hit === null) return false;
  if (composedContains(element, hit)) return true;
  const label = hit instanceof Element ? closest(hit, "label") : null;
  if (label !== null && Reflect.get(HTMLLabelElement.prototype, "control", label) === element) return true;
  // An image map's area is hit through its image.
  return localName(element) === "area" && hit instanceof HTMLImageElement && hasAttribute(hit, "usemap");
}

// The middle first, then points between it and the corners.
const PROBES = [[0.5, 0.5], [0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75], [0.1, 0.5], [0.9, 0.5], [0.5, 0.1], [0.5, 0.9]];

function choosePoint(element, position, force) {
  if (position !== undefined && position !== null) {
    const rect = boundingRect(element);
    const point = { x: rect.left + Number(position.x), y: rect.top + Number(position.y) };
    if (!force) requireHit(element, [point]);
    return point;
  }
  const parts = localName(element) === "area" ? areaParts(element) : visibleParts(element);
  if (parts.length === 0) {
    if (force) {
      const rect = boundingRect(element);
      return { x: rect.left + rect.width / 2, y: rect.top + rect.height / 2 };
    }
    throw new Failure("outside", `${describeElement(element)} cannot be scrolled into view`);
  }
  const points = parts.flatMap((part) => PROBES.map(([x, y]) => ({ x: part.x + part.width * x, y: part.y + part.height * y })));
  return force ? points[0] : requireHit(element, points.slice(0, 4 * PROBES.length));
}

// Coordinates of an area are those of its image.
function areaParts(area) {
  const map = closest(area, "map");
  const name = map === null ? null : attribute(map, "name");
  for (const image of queryAll[Node.DOCUMENT_NODE](page, "img[usemap]")) {
    if (attribute(image, "usemap").slice(1) !== name) continue;
    const rect = boundingRect(image);
    const numbers = attributeOr(area, "coords", "").split(/[\s,]+/).map(Number).filter(Number.isFinite);
    if (numbers.length < 3) return [boxOf(rect)];
    if (numbers.length === 3) return [{ x: rect.x + numbers[0] - 1, y: rect.y + numbers[1] - 1, width: 2, height: 2 }];
    const xs = numbers.filter((_, i) => i % 2 === 0);
    const ys = numbers.filter((_, i) => i % 2 === 1);
    const x = Math.min(...xs);
    const y = Math.min(...ys);
    return [{ x: rect.x + x, y: rect.y + y, width: Math.max(...xs) - x, height: Math.max(...ys) - y }];
  }
  return [];
}

function requireHit(element, points) {
  let cover = null;
  for (const point of points) {
    const hit = deepElementAt(point.x, point.y);
    if (reaches(hit, element)) return point;
    cover ??= hit;
  }
  if (cover === null) throw new Failure("outside", `${describeElement(element)} cannot be scrolled into view`);
  const what = meaningful(cover);
  throw new Failure("covered", `${describeElement(element)} is covered by ${describeElement(what)}`, { ref: refOf(what) });
}

// Somebody who reads the message knows dialogs and banners, not the span inside.
function meaningful(element) {
  for (let at = element, steps = 0; at !== null && steps < 20; at = composedParent(at), steps++) {
    const role = roleOf(at);
    if (role !== "generic" && role !== "none" && !PHRASES.has(role) && at !== pageRoot()) return at;
  }
  return element;
}

const sameRect = (a, b) => a.x === b.x && a.y === b.y && a.width === b.width && a.height === b.height;

const animationsOfDocument = uncurry(Document.prototype.getAnimations);

function animationsAround(element) {
  return animationsOfDocument(page).filter((animation) => {
    const target = animation.effect?.target ?? null;
    return target !== null && animation.playState === "running" && composedContains(target, element);
  });
}

// Motion by a script is left to the guard: waiting for a frame would cost more than the click. A tab in the
// background has no frames, and nothing moves there.
async function requireStill(element, deadline) {
  if (visibilityOf(page) === "hidden" || animationsAround(element).length === 0) return;
  let before = boundingRect(element);
  while (performance.now() < deadline) {
    await nextFrame();
    const now = boundingRect(element);
    if (sameRect(before, now) && !animationsAround(element).some((animation) => animation.pending)) return;
    before = now;
  }
  throw new Failure("moving", `${describeElement(element)} does not stop moving`);
}

const timeoutOf = (options) => (Number.isFinite(options.timeoutMs) && options.timeoutMs >= 0 ? options.timeoutMs : DEFAULT_TIMEOUT_MS);

async function prepare(options) {
  const { kind, force = false } = options;
  if (!KINDS.has(kind)) throw new Failure("badArgument", `kind must be one of ${[...KINDS].join(", ")}`);
  const timeoutMs = timeoutOf(options);
  const deadline = performance.now() + timeoutMs;
  disarm();
  if (options.guard) requestAnimationFrame(drawNow);
  return until(force ? 0 : timeoutMs, async () => {
    const found = findTarget(options.target);
    const element = kind === "upload" ? fileInputOf(found) : found;
    if (!force) requireUsable(element, kind);
    const result = { ref: refOf(element) };
    if (kind === "upload") return result;
    result.scrolled = bringIntoView(element);
    if (!force) await requireStill(element, deadline);
    // The place of a picture may be covered, and as large as the page.
    const needsPoint = kind !== "scroll" && kind !== "screenshot";
    if (needsPoint) Object.assign(result, choosePoint(element, options.position, force));
    result.rect = boxOf(boundingRect(element));
    if (options.guard && needsPoint && !force) arm(element);
    return result;
  });
}

// A point inside a frame, as a point of this document.
async function frame(options) {
  return until(timeoutOf(options), async () => {
    const element = findTarget(options.target);
    if (!isVisible(element)) throw new Failure("hidden", `${describeElement(element)} is not visible`);
    const place = () => {
      const rect = boundingRect(element);
      const scaleX = element.offsetWidth > 0 ? rect.width / element.offsetWidth : 1;
      const scaleY = element.offsetHeight > 0 ? rect.height / element.offsetHeight : 1;
      const style = styleOf(element);
      return {
        x: rect.left + (clientLeft(element) + parseFloat(style.paddingLeft) + Number(options.x)) * scaleX,
        y: rect.top + (clientTop(element) + parseFloat(style.paddingTop) + Number(options.y)) * scaleY,
      };
    };
    let point = place();
    const { width, height } = viewport();
    if (point.x < 0 || point.y < 0 || point.x >= width || point.y >= height) {
      scrollIntoView(element, { behavior: "instant", block: "center", inline: "center" });
      point = place();
      // A frame that is larger than the window: bring the point itself into it.
      if (point.x < 0 || point.y < 0 || point.x >= width || point.y >= height) {
        window.scrollBy({ left: point.x - width / 2, top: point.y - height / 2, behavior: "instant" });
        point = place();
      }
    }
    requireHit(element, [point]);
    return point;
  });
}

// ---- The guard ----

// Before the page sees an event: is it for the element that was meant?
let guarded = null;
let outcomeOfGuard = null;
let releases = 0;
// Who waits for the last of the clicks: { clicks, end }.
let waiting = null;

function arm(element) {
  guarded = new WeakRef(element);
}

function disarm() {
  guarded = null;
  outcomeOfGuard = null;
  releases = 0;
  if (waiting !== null) waiting.end();
}

function watchEvent(event) {
  if (guarded === null || !event.isTrusted) return;
  if (outcomeOfGuard === null) {
    const element = guarded.deref();
    const hit = eventPath(event)[0];
    // What is at the point matters only if the event goes elsewhere at first sight: into a closed shadow root, say.
    const isHit = element !== undefined && hit instanceof Element && (reaches(hit, element) || reaches(deepElementAt(event.clientX, event.clientY), element));
    outcomeOfGuard = isHit ? { hit: true } : { hit: false, element: hit instanceof Element ? new WeakRef(meaningful(hit)) : undefined };
  }
  if (event.type === "pointerup" && ++releases === waiting?.clicks) endSoon(waiting);
  if (outcomeOfGuard.hit) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}

for (const type of ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick", "auxclick", "contextmenu"]) {
  listen(window, type, watchEvent, { capture: true });
}

// The click follows its release in the same task; what it starts in the next one is to be told before.
function endSoon(who) {
  soon(() => setTimeout(who.end, 0));
}

// With `clicks`, when so many have been released; or, if they went elsewhere, when somebody asks with `hurry`.
function outcome({ clicks = 0, hurry = false }) {
  if (hurry && waiting !== null) endSoon(waiting);
  if (hurry) return {};
  if (clicks === 0) return takeOutcome();
  return new Promise((resolve) => {
    const who = {
      clicks,
      end: () => {
        if (waiting !== who) return;
        waiting = null;
        resolve(takeOutcome());
      },
    };
    waiting = who;
    if (releases >= clicks) endSoon(who);
  });
}

function takeOutcome() {
  const result = outcomeOfGuard;
  disarm();
  if (result === null) return { hit: null };
  if (result.hit) return { hit: true };
  const other = result.element?.deref();
  return other === undefined ? { hit: false } : { hit: false, label: labelOf(other), ref: refOf(other) };
}
