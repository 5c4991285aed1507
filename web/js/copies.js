// Copies of the user's projects (`gatehouse workspace`): what was changed in them, and bringing it back.
import { ago, command, diff, empty, failed, h, sure, toast, visible } from "./dom.js";
import { get, post } from "./api.js";
import { state } from "./store.js";

const MAX_LINES = 2000; // of one file, until somebody wants more
const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

// Drawn when it is opened: there may be many.
function lines(change) {
  const all = change.diff.replace(/\n$/, "").split("\n").map((line) => line.split("\t").map(visible).join("\t"));
  if (all.length <= MAX_LINES) return diff(all.join("\n"));
  const box = h("div", {}, diff(all.slice(0, MAX_LINES).join("\n")),
    h("p", { class: "row" }, h("b", {}, `${all.length - MAX_LINES} more lines are not shown.`),
      h("button", { class: "small", onclick: () => box.replaceChildren(diff(all.join("\n"))) }, "Show all")));
  return box;
}

function row(change, box) {
  const name = visible(change.path);
  const body = h("div");
  const detail = h("details", { class: "grow", ontoggle: () => {
    if (detail.open && body.childElementCount === 0) body.append(change.diff ? lines(change) : h("p", { class: "quiet" }, change.unshown ? `Not shown: ${change.unshown}.` : "There is no text to show."));
  } },
    h("summary", {}, h("span", { class: "name mono" }, name), " ", h("span", { class: "quiet" }, change.words),
      change.linesAdded !== undefined && change.change !== "mode" && h("span", { class: "quiet" }, ` +${change.linesAdded} −${change.linesRemoved}`),
      change.becomesExecutable && change.change !== "mode" && [" ", h("span", { class: "chip bad" }, "can be executed")],
      change.conflict && [" ", h("span", { class: "chip bad" }, `conflict: ${change.conflict}`)],
      change.refused && [" ", h("span", { class: "chip" }, `cannot be applied: ${change.refused}`)]),
    body);
  box?.setAttribute("aria-label", `Apply ${name}`);
  return h("div", { class: "change" }, box ?? h("span", { class: "gap" }), detail);
}

// The changes of one copy, in `card`.
async function show(name, card) {
  const left = h("div", { "aria-live": "polite" });

  async function change(what, body, done) {
    for (const button of card.querySelectorAll("button")) button.disabled = true;
    try {
      const result = await post(`/api/copies/${name}/${what}`, body);
      toast(`${done} ${counted(result.done, "change")}.`);
      left.replaceChildren(...[...result.left.map(({ path, why }) => `${visible(path)}: ${why}`),
        ...(result.leftCount > result.left.length ? [`and ${result.leftCount - result.left.length} more`] : []),
        ...(result.problem ? [result.problem] : [])].map((text) => h("p", { class: "problem" }, text)));
    } catch (problem) {
      left.replaceChildren(h("p", { class: "problem" }, problem.message));
    }
    await load();
  }

  function draw({ original, changes, count, canUndo }) {
    // What is not shown, or would replace work of the user, is never chosen from the start.
    const boxes = changes.map((one) => one.id && h("input", { type: "checkbox", value: one.id, checked: !one.conflict && !one.unshown, onchange: () => tell() }));
    const chosen = () => boxes.filter((box) => box?.checked);
    const apply = h("button", {
      class: "primary",
      onclick: async (event) => {
        if (!event.isTrusted) return; // a person's click, not a script's
        const ids = chosen().map((box) => box.value);
        const conflicts = changes.filter((one) => one.conflict && ids.includes(one.id)).length;
        const words = `This changes ${original}${conflicts > 0 ? `, and ${counted(conflicts, "change")} of your own ${conflicts === 1 ? "is" : "are"} replaced` : ""}. It can be undone.`;
        if (await sure(`Apply ${counted(ids.length, "change")}?`, words, "Apply")) change("apply", { changes: ids }, "Applied");
      },
    });
    const tell = () => {
      apply.textContent = `Apply ${counted(chosen().length, "chosen change")}`;
      apply.disabled = chosen().length === 0;
    };
    const choose = (which) => () => {
      changes.forEach((one, at) => boxes[at] && (boxes[at].checked = which(one)));
      tell();
    };
    tell();
    card.replaceChildren(
      h("div", { class: "row apart" }, h("h2", {}, `Changes in ${name}`), h("button", { class: "small", onclick: load }, "Look again")),
      h("p", { class: "quiet" }, "From ", h("span", { class: "mono" }, visible(original)), " as it is now to the copy."),
      left,
      changes.length === 0 ? h("p", {}, "Nothing was changed.")
        : h("div", { class: "row" }, h("button", { class: "small", onclick: choose((one) => !one.conflict) }, "Choose all without conflict"), h("button", { class: "small", onclick: choose(() => false) }, "Choose none")),
      ...changes.map((one, at) => row(one, boxes[at])),
      count > changes.length ? h("div", {}, h("p", {}, `${counted(count - changes.length, "more change")} not shown here. All of them:`), command(`gatehouse workspace diff ${name}`)) : "",
      h("div", { class: "row" }, changes.length > 0 && apply,
        canUndo && h("button", { onclick: async (event) => {
          if (event.isTrusted && (await sure("Undo the last apply?", `What it changed in ${original} goes back, as far as nobody has changed it since.`, "Undo"))) change("undo", {}, "Took back");
        } }, "Undo the last apply")));
  }

  // Somebody may have chosen another copy meanwhile.
  async function load() {
    try {
      const answer = await get(`/api/copies/${name}`);
      if (card.dataset.name === name) draw(answer);
    } catch (problem) {
      if (card.dataset.name === name) failed(card, problem, load);
    }
  }
  card.dataset.name = name;
  card.hidden = false;
  card.setAttribute("aria-label", `Changes in ${name}`);
  card.replaceChildren(h("p", { class: "quiet" }, "Loading…"));
  await load();
}

export function copies(main) {
  const list = h("div", {}, h("p", { class: "quiet" }, "Loading…"));
  const card = h("section", { class: "card", hidden: true });

  async function load() {
    try {
      const { copies: all } = await get("/api/copies");
      list.replaceChildren(all.length === 0
        ? empty("No copies yet", "Let an agent work on a copy of a project, and bring back what you choose:", command("gatehouse workspace new DIR"))
        : h("table", {},
            h("thead", {}, h("tr", {}, ["Name", "Project", "Created", ""].map((title) => h("th", { scope: "col", class: title === "Created" ? "wide" : "" }, title)))),
            h("tbody", {}, all.map((one) => h("tr", {},
              h("td", {}, one.name),
              h("td", { class: "mono" }, visible(one.original)),
              h("td", { class: "quiet wide" }, ago(Date.parse(one.created))),
              h("td", { class: "right" }, h("button", { class: "small", "aria-label": `Show the changes in ${one.name}`, onclick: () => show(one.name, card) }, "Changes")))))));
    } catch (problem) {
      failed(list, problem, load);
    }
  }

  main.replaceChildren(h("h1", {}, "Copies"));
  if (!state.hasCopies) {
    main.append(h("div", { class: "card" }, empty("This server shows no copies", "Start it with “gatehouse up”, or with the option --copies.")));
    return;
  }
  main.append(h("p", { class: "quiet" }, "Copies of your projects for agents to work on. What is applied here can be undone."),
    h("section", { class: "card" }, list), card);
  load();
}
copies.cares = [];
