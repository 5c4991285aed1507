// Text of the page: collapsed, cut, and quoted so that it stays text.
const MAX_STRING = 1000;
const MAX_ADDRESS = 500;
const MAX_LABEL = 120;

const collapse = (text) => text.replace(/[ \t\n\r\f\v\u00a0\u2028\u2029]+/g, " ");
const tidy = (text) => collapse(text).trim();

// Cuts at a limit, but not through a character.
function cut(text, limit) {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 2);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? limit - 2 : limit - 1) + "…";
}

// Controls, line ends, marks that change the direction of text, invisible characters and tags, halves of pairs.
const UNSAFE = /["\\\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/g;
const SHORT = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const UNSAFE_AT_ALL = new RegExp(UNSAFE.source);

function escapeUnsafe(match) {
  if (match in SHORT) return SHORT[match];
  let text = "";
  for (let i = 0; i < match.length; i++) text += `\\u${match.charCodeAt(i).toString(16).padStart(4, "0")}`;
  return text;
}

function quote(text, limit = MAX_STRING) {
  const short = cut(text, limit);
  return `"${UNSAFE_AT_ALL.test(short) ? short.replace(UNSAFE, escapeUnsafe) : short}"`;
}
