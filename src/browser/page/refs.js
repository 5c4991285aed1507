// Refs: a number for each element that was shown, for as long as the document lives.
const refNumbers = new WeakMap();
const refElements = new Map(); // of WeakRef, or the element itself if it is new
let lastRef = 0;
let refPrefix = "";
// Elements that are gone are forgotten when there are twice as many refs as after the last time.
let sweepAt = 4000;
let firstNew = 1;

// To make many of them takes time, so that is left to the next snapshot: until then this one keeps its elements anyway.
function weakenRefs() {
  for (; firstNew <= lastRef; firstNew++) {
    const element = refElements.get(firstNew);
    refElements.set(firstNew, new WeakRef(element));
  }
}

function refOf(element) {
  let number = refNumbers.get(element);
  if (number === undefined) {
    number = ++lastRef;
    refNumbers.set(element, number);
    refElements.set(number, element);
    if (refElements.size > sweepAt) sweepRefs();
  }
  return `${refPrefix}e${number}`;
}

function sweepRefs() {
  weakenRefs();
  for (const [number, reference] of refElements) if (reference.deref() === undefined) refElements.delete(number);
  sweepAt = Math.max(4000, 2 * refElements.size);
}

class Failure extends Error {
  constructor(code, message, more) {
    super(message);
    this.code = code;
    this.more = more;
  }
}

function elementOfRef(ref) {
  const match = /^(f\d+)?e(\d+)$/.exec(ref);
  if (match === null) throw new Failure("badArgument", `${quote(ref, 40)} is no ref; refs look like e12`);
  if ((match[1] ?? "") !== refPrefix) throw new Failure("stale", `Stale element ref: ${ref} is of another document. Take a new snapshot`);
  const number = Number(match[2]);
  const kept = refElements.get(number);
  const element = kept instanceof WeakRef ? kept.deref() : kept;
  if (element === undefined && number > lastRef) throw new Failure("stale", `Unknown element ref: ${ref}. Take a snapshot first`);
  if (element === undefined || !isConnected(element) || ownerDocument(element) !== page) {
    throw new Failure("stale", `Stale element ref: ${ref} is no longer in the document. Take a new snapshot`);
  }
  return element;
}
