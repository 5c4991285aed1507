// A random document, always the same one for a seed.

// mulberry32, a generator of 32 bits.
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const CONTAINERS = ["div", "div", "span", "p", "section", "article", "nav", "main", "aside", "header", "footer", "ul", "ol", "form", "fieldset", "label", "a", "button", "h2", "h3", "table", "details", "figure", "b", "em", "td", "li", "blockquote", "dl"];
const LEAVES = ['<input type="text">', '<input type="checkbox">', '<input type="radio">', '<input type="submit">', '<input type="number" value="4">', '<img src="data:,">', "<textarea>area</textarea>",
  "<select><option>one<option selected>two</select>", "<hr>", "<br>", '<input type="button" value="press">', "<progress value=1 max=2></progress>"];
const ROLES = ["button", "link", "none", "presentation", "group", "list", "listitem", "heading", "img", "checkbox", "tab", "region", "navigation", "nonsense", "radio", "switch", "textbox", "option"];
const WORDS = ["alpha", "beta", "gamma", "delta", "日本", "مرحبا", "x < y", "a  b", "\n new line", "“quoted”"];
const STYLES = ["display: none", "visibility: hidden", "display: block", "display: inline-block", "display: inline", "opacity: 0", "position: absolute", "display: contents", "display: flex"];

export function randomPage(seed) {
  const random = generator(seed);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const chance = (part) => random() < part;
  const ids = Array.from({ length: 6 }, (_, i) => `id${i}`);
  const unused = [...ids];
  const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

  const attributes = (tag) => {
    let text = "";
    if (chance(0.15)) text += ` role="${pick(ROLES)}"`;
    if (chance(0.12)) text += ` aria-label="${escape(chance(0.2) ? "  " : pick(WORDS))}"`;
    if (chance(0.1)) text += ` aria-labelledby="${pick(ids)}${chance(0.3) ? ` ${pick(ids)}` : ""}"`;
    if (chance(0.12)) text += ` title="${escape(pick(WORDS))}"`;
    if (chance(0.06)) text += ` aria-hidden="${pick(["true", "false"])}"`;
    if (chance(0.06)) text += " hidden";
    if (chance(0.12)) text += ` style="${pick(STYLES)}"`;
    if (chance(0.08)) text += ` tabindex="0"`;
    if (unused.length > 0 && chance(0.25)) text += ` id="${unused.pop()}"`;
    if (tag === "a" && chance(0.8)) text += ' href="/x"';
    if (tag === "img" && chance(0.7)) text += ` alt="${escape(chance(0.2) ? "" : pick(WORDS))}"`;
    if (tag === "label" && chance(0.5)) text += ` for="${pick(ids)}"`;
    if (tag === "details" && chance(0.5)) text += " open";
    if (tag === "input" && chance(0.3)) text += ` placeholder="${escape(pick(WORDS))}"`;
    return text;
  };

  const make = (depth) => {
    if (depth === 0 || chance(0.25)) return chance(0.6) ? escape(pick(WORDS)) + " " : leaf();
    const tag = pick(CONTAINERS);
    const inside = Array.from({ length: 1 + Math.floor(random() * 3) }, () => make(depth - 1)).join(chance(0.5) ? " " : "");
    switch (tag) {
      case "td": return `<table><tr${attributes("tr")}><th${attributes("th")}>${escape(pick(WORDS))}</th><td${attributes("td")}>${inside}</td></tr></table>`;
      case "table": return `<table${attributes(tag)}>${chance(0.5) ? `<caption>${escape(pick(WORDS))}</caption>` : ""}<tr><td>${inside}</td></tr></table>`;
      case "li": return `<ul${attributes("ul")}><li${attributes("li")}>${inside}</li></ul>`;
      case "dl": return `<dl><dt>${escape(pick(WORDS))}</dt><dd>${inside}</dd></dl>`;
      case "fieldset": return `<fieldset${attributes(tag)}>${chance(0.6) ? `<legend>${escape(pick(WORDS))}</legend>` : ""}${inside}</fieldset>`;
      case "figure": return `<figure${attributes(tag)}>${inside}${chance(0.5) ? `<figcaption>${escape(pick(WORDS))}</figcaption>` : ""}</figure>`;
      case "details": return `<details${attributes(tag)}><summary${chance(0.2) ? attributes("summary") : ""}>${escape(pick(WORDS))}</summary>${inside}</details>`;
      default: return `<${tag}${attributes(tag)}>${inside}</${tag}>`;
    }
  };

  const leaf = () => {
    const html = pick(LEAVES);
    const tag = /^<(\w+)/.exec(html)[1];
    return html.replace(/^<\w+/, (start) => start + attributes(tag));
  };

  const body = Array.from({ length: 8 }, () => make(4)).join("\n");
  return `<!doctype html><html lang="en"><title>Random ${seed}</title><body>${body}</body></html>`;
}
