// SPDX-License-Identifier: Apache-2.0
// Offers one tool of this machine to a Gatehouse server (or n8n):  node client.mjs URL TOKEN
const [url, token] = process.argv.slice(2);
const base = url.replace(/\/$/, "") + "/rest/instance-ai/gateway/";
const tools = [{ name: "what_time", description: "The time on this machine.", inputSchema: { type: "object", properties: {} } }];
let key = token;

function request(path, body, signal) {
  const headers = { "X-Gateway-Key": key, "Content-Type": "application/json" };
  return fetch(base + path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
}

async function join() {
  const answer = await request("init", { rootPath: "/", hostIdentifier: "example", tools, toolCategories: [] });
  if (!answer.ok) throw new Error(`a new token is needed: the server answered ${answer.status}`);
  key = (await answer.json()).data.sessionKey ?? key; // a token is used up by this
}

const answer = ({ requestId }) =>
  request(`response/${requestId}`, { result: { content: [{ type: "text", text: new Date().toISOString() }] } }).catch(() => {});

async function listen() {
  const silence = new AbortController();
  const response = await request("events", undefined, silence.signal);
  if (response.status === 403) return join();
  if (!response.ok) return;
  console.log("connected");
  delay = 1;
  let rest = "";
  let timer;
  for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) {
    clearTimeout(timer); // a comment comes every 15 s; after 45 s of silence the stream is dead
    timer = setTimeout(() => silence.abort(), 45000);
    const lines = (rest + bytes).split("\n");
    rest = lines.pop();
    for (const event of lines.filter((line) => line.startsWith("data:")).map((line) => JSON.parse(line.slice(5)))) {
      if (event.type === "gateway-disconnect") process.exit(0);
      if (event.type === "filesystem-request") answer(event.payload);
    }
  }
}

let delay = 1;
await join();
for (;;) {
  await listen().catch((problem) => (/token/.test(problem.message) ? Promise.reject(problem) : null));
  await new Promise((resolve) => setTimeout(resolve, 1000 * delay));
  delay = Math.min(2 * delay, 30);
}
