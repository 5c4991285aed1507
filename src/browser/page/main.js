// What C calls.
function adopt(options) {
  const { root } = options;
  if (!(root instanceof ShadowRoot)) throw new Failure("badArgument", "root must be a shadow root");
  adoptedRoots.set(hostOf(root), root);
  hasAdopted = true;
  return {};
}

const FUNCTIONS = new Map(Object.entries({
  snapshot, prepare, frame, outcome, focus, fill, select, info, value, sensitive, storage, scroll, adopt, content, text, wait,
}));

function failed(problem) {
  if (problem instanceof Failure) return { error: { code: problem.code, message: problem.message, ...problem.more } };
  return { error: { code: "internal", message: String(problem?.message ?? problem) } };
}

function run(name, options) {
  forgetAnswers();
  try {
    const work = FUNCTIONS.get(name);
    if (work === undefined) throw new Failure("badArgument", `there is no function ${quote(String(name), 40)}`);
    const result = work(options ?? {});
    return result instanceof Promise ? result.catch(failed) : result;
  } catch (problem) {
    return failed(problem);
  }
}

function element(target, purpose) {
  try {
    const found = findTarget(target, { first: true });
    return purpose === "upload" ? fileInputOf(found) : found;
  } catch {
    return null;
  }
}

Object.defineProperty(window, "gatehouse", { value: Object.freeze({ version: VERSION, run, element, hosts }) });
