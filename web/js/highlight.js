// A little colour for code: comments, strings, numbers, the words that most languages share. Lines
// become elements of their own, which CSS numbers.
import { h } from "./dom.js";

const WORDS = "and as async await bool break case catch char class const continue def default defer del do double elif else end enum except export extends false final finally float fn for from func function if impl import in int interface is let local long loop match mod module mut new nil none not null or package pass private pub public return self sizeof static struct super switch then this throw trait true try type typedef typeof union unsigned use using var void volatile where while with yield None True False";
const KEYWORDS = new Set(WORDS.split(" "));
const HASH = /\.(py|rb|sh|bash|zsh|fish|ya?ml|toml|ini|conf|cfg|mk|pl|r|jl|nix|tf|dockerfile|gitignore|env.*)$|(^|\/)(Makefile|Dockerfile|meson\.build|CMakeLists\.txt)$/i;
const PLAIN = /\.(txt|md|log|csv|tsv|lock)$/i;
const MOST_BYTES = 200_000;

function tokens(line, hash) {
  const comment = hash ? "#.*" : "\\/\\/.*|\\/\\*.*?(?:\\*\\/|$)|^\\s*\\*(?:\\s.*|\\/)?$";
  const pattern = new RegExp(`(${comment})|("(?:[^"\\\\]|\\\\.)*"?|'(?:[^'\\\\]|\\\\.)*'?|\`[^\`]*\`?)|(\\b\\d[\\w.]*)|([A-Za-z_]\\w*)`, "g");
  const parts = [];
  let at = 0;
  for (const match of line.matchAll(pattern)) {
    const kind = match[1] !== undefined ? "c" : match[2] !== undefined ? "s" : match[3] !== undefined ? "n" : KEYWORDS.has(match[4]) ? "k" : null;
    if (kind === null) continue;
    parts.push(line.slice(at, match.index), h("span", { class: `hl-${kind}` }, match[0]));
    at = match.index + match[0].length;
  }
  parts.push(line.slice(at));
  return parts;
}

export function highlight(text, path) {
  const isPlain = PLAIN.test(path) || text.length > MOST_BYTES;
  const hash = HASH.test(path);
  return text.replace(/\n$/, "").split("\n").map((line) =>
    h("span", { class: "l" }, isPlain || line.length > 2000 ? line : tokens(line, hash), "\n"));
}
