// What a page says: Markdown of its main part, or plain text.
const MAX_CONTENT = 200000;
const MAX_MARKDOWN_DEPTH = 300;
// Around the main part.
const ASIDE = "nav, aside, footer, header, dialog, [role=navigation], [role=banner], [role=contentinfo], [role=complementary], [role=search], [role=dialog], [role=alertdialog]";
const ASIDE_INSIDE = "nav, aside, footer, [role=navigation], [role=contentinfo], [role=complementary], [role=search]";
const SMALLEST_ARTICLE = 140;

const textLength = (element) => tidy(textContent(element)).length;

// The element with most running text of its own: paragraphs count for their parent, and half for its parent.
function mainPart() {
  const body = bodyOf(page) ?? pageRoot();
  const marked = [...queryAll[ELEMENT](body, "main, [role=main], article")].filter((element) => isRendered(element) && textLength(element) >= SMALLEST_ARTICLE);
  const mains = marked.filter((element) => localName(element) === "main" || attribute(element, "role") === "main");
  if (mains.length === 1) return mains[0];
  if (marked.length === 1) return marked[0];
  const scores = new Map();
  const give = (element, points) => {
    if (element !== null && isElement(element)) scores.set(element, (scores.get(element) ?? 0) + points);
  };
  for (const element of queryAll[ELEMENT](body, "p, pre, blockquote, td, li, dd")) {
    if (closest(element, ASIDE) !== null || !isRendered(element)) continue;
    let length = textLength(element);
    for (const link of queryAll[ELEMENT](element, "a")) length -= textLength(link);
    if (length < 25) continue;
    const points = 1 + length / 100;
    give(parentNode(element), points);
    const grandparent = parentNode(element) === null ? null : parentNode(parentNode(element));
    give(grandparent, points / 2);
  }
  let best = body;
  let most = 0;
  for (const [element, points] of scores) {
    if (points > most) [best, most] = [element, points];
  }
  return best;
}

class Markdown {
  constructor(limit, isWhole) {
    this.limit = limit;
    this.isWhole = isWhole;
    this.length = 0;
    this.isTruncated = false;
  }

  // Of the children, as blocks that are separated by an empty line.
  blocks(element, depth) {
    const blocks = [];
    let line = "";
    const flush = () => {
      const text = tidyLines(line);
      if (text !== "") blocks.push(text);
      line = "";
    };
    for (const child of composedChildren(element)) {
      if (this.isFull()) break;
      if (nodeType(child) === TEXT) {
        line += this.count(collapse(dataOf(child)));
        continue;
      }
      if (!isElement(child) || this.isLeftOut(child)) continue;
      const block = this.block(child, depth + 1);
      if (block === null) line += this.inline(child, depth + 1);
      else {
        flush();
        if (block !== "") blocks.push(block);
      }
    }
    flush();
    return blocks;
  }

  count(text) {
    this.length += text.length;
    return text;
  }

  isFull() {
    if (this.length > this.limit) this.isTruncated = true;
    return this.isTruncated;
  }

  isLeftOut(element) {
    const tag = localName(element);
    if (SKIPPED.has(tag) || /^(button|input|select|textarea|canvas|video|audio|iframe|svg)$/.test(tag)) return true;
    if (attribute(element, "aria-hidden") === "true" || !isRendered(element)) return true;
    return !this.isWhole && matches(element, ASIDE_INSIDE);
  }

  // null: the element is part of a line.
  block(element, depth) {
    if (depth > MAX_MARKDOWN_DEPTH) return this.count(tidy(textContent(element).slice(0, MAX_STRING)));
    const tag = localName(element);
    if (/^h[1-6]$/.test(tag)) {
      const text = this.line(element, depth);
      return text === "" ? "" : `${"#".repeat(Number(tag[1]))} ${text}`;
    }
    switch (tag) {
      case "p": return this.blocks(element, depth).join("\n\n");
      case "ul": case "ol": case "menu": return this.list(element, depth);
      case "pre": return this.code(element);
      case "blockquote": return prefixLines(this.blocks(element, depth).join("\n\n"), "> ");
      case "hr": return "---";
      case "table": return this.table(element, depth);
      case "dt": return `**${this.line(element, depth)}**`;
      case "dd": return prefixLines(this.blocks(element, depth).join("\n\n"), ": ", "  ");
      default: {
        const display = styleOf(element).display;
        return display === "inline" || display === "contents" || display.startsWith("inline-") ? null : this.blocks(element, depth).join("\n\n");
      }
    }
  }

  line(element, depth) {
    return tidy(this.children(element, depth));
  }

  children(element, depth) {
    let text = "";
    for (const child of composedChildren(element)) {
      if (this.isFull()) break;
      if (nodeType(child) === TEXT) text += this.count(collapse(dataOf(child)));
      else if (isElement(child) && !this.isLeftOut(child)) text += this.inline(child, depth + 1);
    }
    return text;
  }

  inline(element, depth) {
    if (depth > MAX_MARKDOWN_DEPTH) return this.count(tidy(textContent(element).slice(0, MAX_STRING)));
    const tag = localName(element);
    if (tag === "br") return "\n";
    if (tag === "img") {
      const alt = tidy(attributeOr(element, "alt", ""));
      return alt === "" ? "" : `![${alt}](${address(element.src)})`;
    }
    const text = this.children(element, depth);
    const inner = tidy(text);
    if (inner === "") return text === "" ? "" : " ";
    const around = (mark) => `${/^\s/.test(text) ? " " : ""}${mark}${inner}${mark}${/\s$/.test(text) ? " " : ""}`;
    switch (tag) {
      case "a": return hasAttribute(element, "href") && !attribute(element, "href").startsWith("javascript:") ? `[${inner}](${address(element.href)})` : text;
      case "strong": case "b": return around("**");
      case "em": case "i": return around("*");
      case "del": case "s": return around("~~");
      case "code": case "kbd": case "samp": return around("`");
      default: return isInline(element) ? text : ` ${text} `;
    }
  }

  list(element, depth) {
    const isOrdered = localName(element) === "ol";
    let number = Number(attributeOr(element, "start", "1")) || 1;
    const lines = [];
    for (const item of composedChildren(element)) {
      if (!isElement(item) || this.isLeftOut(item) || this.isFull()) continue;
      const text = this.blocks(item, depth + 1).join("\n");
      const mark = isOrdered ? `${number++}. ` : "- ";
      if (text !== "") lines.push(prefixLines(text, mark, " ".repeat(mark.length)));
    }
    return lines.join("\n");
  }

  code(element) {
    const text = this.count(textContent(element).slice(0, this.limit)).replace(/\n$/, "");
    const language = /language-([\w+-]+)/.exec(attributeOr(element, "class", "") + " " + (firstChildNamed(element, "code") === null ? "" : attributeOr(firstChildNamed(element, "code"), "class", "")))?.[1] ?? "";
    const fence = text.includes("```") ? "````" : "```";
    return `${fence}${language}\n${text}\n${fence}`;
  }

  table(element, depth) {
    const rows = [];
    for (const row of queryAll[ELEMENT](element, "tr")) {
      if (closest(row, "table") !== element || !isRendered(row) || this.isFull()) continue;
      const cells = [];
      for (const cell of composedChildren(row)) if (isElement(cell) && /^t[dh]$/.test(localName(cell))) cells.push(cell);
      if (cells.length > 0) rows.push(cells);
    }
    const width = rows.reduce((most, cells) => Math.max(most, cells.length), 0);
    // One column is a layout, not a table.
    if (width < 2) return rows.map((cells) => this.blocks(cells[0], depth + 1).join("\n\n")).join("\n\n");
    const lines = rows.map((cells) => `| ${Array.from({ length: width }, (_, i) => (i < cells.length ? this.line(cells[i], depth + 1).replaceAll("|", "\\|") : "")).join(" | ")} |`);
    lines.splice(1, 0, `|${" --- |".repeat(width)}`);
    return lines.join("\n");
  }
}

const address = (text) => cut(text, MAX_ADDRESS).replace(/[\s()]/g, encodeURIComponent);
const tidyLines = (text) => text.split("\n").map(tidy).join("\n").trim();
const prefixLines = (text, first, rest = first) => (text === "" ? "" : text.split("\n").map((line, i) => `${i === 0 ? first : rest}${line}`.trimEnd()).join("\n"));

const limitOf = (options) => (options.maxChars > 0 ? options.maxChars : MAX_CONTENT);

function scopeOf(options) {
  return typeof options.selector === "string" ? findTarget({ selector: options.selector }, { first: true }) : null;
}

function content(options) {
  const scope = scopeOf(options);
  const limit = limitOf(options);
  const part = scope ?? mainPart();
  const markdown = new Markdown(limit, scope !== null);
  const text = part === null ? "" : markdown.blocks(part, 0).join("\n\n");
  return { title: titleOf(page), url: window.location.href, content: cut(text, limit), truncated: markdown.isTruncated || text.length > limit };
}

function text(options) {
  const element = scopeOf(options) ?? bodyOf(page) ?? pageRoot();
  const limit = limitOf(options);
  const whole = element === null ? "" : isHtml(element) ? innerText(element) : textContent(element);
  return { text: cut(whole, limit), truncated: whole.length > limit };
}
