// Refs: a number for each element that was shown, for as long as the document lives.
const refNumbers = new WeakMap();
const refElements = new Map();
let lastRef = 0;
let refPrefix = "";
// Elements that are gone are forgotten when there are twice as many refs as after the last time.
let sweepAt = 1000;

function refOf(element) {
  let number = refNumbers.get(element);
  if (number === undefined) {
    number = ++lastRef;
    refNumbers.set(element, number);
    refElements.set(number, new WeakRef(element));
    if (refElements.size > sweepAt) sweepRefs();
  }
  return `${refPrefix}e${number}`;
}

function sweepRefs() {
  for (const [number, reference] of refElements) if (reference.deref() === undefined) refElements.delete(number);
  sweepAt = Math.max(1000, 2 * refElements.size);
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
  const element = refElements.get(number)?.deref();
  if (element === undefined && number > lastRef) throw new Failure("stale", `Unknown element ref: ${ref}. Take a snapshot first`);
  if (element === undefined || !isConnected(element) || ownerDocument(element) !== page) {
    throw new Failure("stale", `Stale element ref: ${ref} is no longer in the document. Take a new snapshot`);
  }
  return element;
}
