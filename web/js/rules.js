// What the machine's user decided for good, and taking it back.
import { command, empty, h, sure, toast } from "./dom.js";
import { query } from "./api.js";
import { groupName } from "./home.js";
import { state } from "./store.js";

export function rules(main) {
  if (!state.status?.connected) {
    main.replaceChildren(h("h1", {}, "Rules"), h("div", { class: "card" }, empty("No machine is connected", "Rules are kept on the machine, and only shown from there.", h("a", { class: "button", href: "#/" }, "Connect one"))));
    return;
  }
  const list = h("div", { "aria-live": "polite" }, h("p", { class: "quiet" }, "Loading…"));

  async function revoke(rule) {
    const words = rule.effect === "allow" ? "From then on agents must ask again." : "From then on it is not denied any more.";
    if (!(await sure("Revoke this rule?", words, "Revoke"))) return;
    try {
      draw(await query("rules", { revoke: rule.id }));
      toast("Revoked.");
    } catch (problem) {
      toast(problem.message);
    }
  }

  function draw({ rules: all, mayRevokeDeny }) {
    const mayRevoke = (rule) => rule.effect === "allow" || mayRevokeDeny;
    list.replaceChildren(all.length === 0 ? empty("No rules yet", mayRevokeDeny ? "Answer a question with “Always allow” or “Always deny”, and it is listed here. A command makes rules, too:"
      : "Answer a question in the machine's terminal with “Always allow” or “Always deny”, and it is listed here. A command makes rules, too:", command("gatehouse rules add --help"))
      : h("table", {},
          h("thead", {}, h("tr", {}, ["Effect", "Group", "What", "Until", ""].map((title) => h("th", { scope: "col", class: title === "Until" ? "wide" : "" }, title)))),
          h("tbody", {}, all.map((rule) => [h("tr", {},
            h("td", { class: "tight" }, h("span", { class: rule.effect === "allow" ? "chip on" : "chip bad" }, rule.effect)),
            h("td", { class: "tight" }, groupName(rule.group)),
            h("td", { class: "mono" }, rule.match, rule.cwd && h("div", { class: "quiet" }, `in ${rule.cwd}`), rule.note && h("div", { class: "quiet" }, rule.note)),
            h("td", { class: "quiet tight wide" }, rule.expired ? "expired" : rule.expires ? new Date(rule.expires).toLocaleString() : "always"),
            h("td", { class: "right tight" }, mayRevoke(rule) &&
              h("button", { class: "danger small", "aria-label": `Revoke ${rule.match}`, onclick: () => revoke(rule) }, "Revoke"))),
            !mayRevoke(rule) && h("tr", {}, h("td", { colspan: 5 }, command(`gatehouse rules revoke ${rule.id.slice(0, 10)}`)))]))),
      all.every(mayRevoke) ? "" : h("p", { class: "quiet" }, "Rules that deny are revoked on the machine itself, with the command below each."));
  }

  main.replaceChildren(h("h1", {}, "Rules"),
    h("p", { class: "quiet" }, "What agents may always or never do on this machine, as its user decided."),
    h("section", { class: "card" }, list));
  query("rules").then(draw, (problem) => list.replaceChildren(h("p", { class: "problem" }, problem.message)));
}
rules.cares = ["all", "tools"]; // a machine came or went
