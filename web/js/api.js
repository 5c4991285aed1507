// Requests to our own server. The header makes a browser ask before another site's script may send
// such a request, and the server refuses requests without it.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function request(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: { "X-Gatehouse-Request": "1", ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refused(0, "The server does not answer. Is it still running?");
  }
  const text = await response.text();
  let value = null;
  try {
    value = text === "" ? null : JSON.parse(text);
  } catch {
    throw new Refused(response.status, "The server's answer is not JSON.");
  }
  if (!response.ok) {
    if (response.status === 401 && path !== "/login") dispatchEvent(new Event("signed-out"));
    throw new Refused(response.status, value?.message ?? value?.error_description ?? value?.error ?? `The server answered ${response.status}.`);
  }
  return value;
}

export const get = (path) => request("GET", path);
export const post = (path, body) => request("POST", path, body);
export const remove = (path) => request("DELETE", path);

// Calls a tool of the connected machine. Tools that fail are an answer, too: isError says so.
export const callTool = (name, args) => post("/api/call", { name, arguments: args });

// Asks the connected machine about itself: its audit log, its rules.
export const query = (name, args = {}) => post("/api/query", { query: name, arguments: args });

// The object that a tool answered, or an error with its text.
export async function toolObject(name, args) {
  const result = await callTool(name, args);
  const text = (result.content ?? []).find((block) => block.type === "text")?.text ?? "";
  if (result.isError) {
    let message = text;
    try {
      message = JSON.parse(text).error ?? text;
    } catch {
      // It is plain text.
    }
    throw new Refused(200, message);
  }
  if (result.structuredContent) return result.structuredContent;
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}
