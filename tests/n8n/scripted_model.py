"""A model that follows a script, for n8n's agent.

It implements the part of OpenAI's HTTP interface that n8n uses. A test lists the calls that the agent
shall make and gets a word for them; a message with that word starts them. They are made one after
the other, each after the result of the one before.
"""
import http.server
import json
import re
import threading

MOST_BYTES = 64 << 20  # of one request
WORD = re.compile(r"script-(\d+)\b")
LOADER = "load_tool"  # by which n8n's agent gets the tools that are not always there


def plain(content):
    """The text of a message, which may come in parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or ())


class Script:
    def __init__(self, number, calls):
        self.word = f"script-{number}"
        self.calls = calls
        self.offered = set()
        self.loaded = []
        self.results = []  # of the calls, as the model was told of them

    def next_call(self, after):
        """What is to be called, as (name, arguments), or None when all of it was done."""
        made = [call for message in after for call in message.get("tool_calls") or ()]
        loaders = {call["id"] for call in made if call["function"]["name"] == LOADER}
        self.results = [plain(message["content"]) for message in after
                        if message["role"] == "tool" and message["tool_call_id"] not in loaders]
        self.loaded = [json.loads(call["function"]["arguments"])["toolName"] for call in made
                       if call["id"] in loaders]
        done = len(made) - len(loaders)
        if done == len(self.calls):
            return None
        name, arguments = self.calls[done]
        if name in self.offered:
            return name, arguments
        if LOADER in self.offered and name not in self.loaded:
            return LOADER, {"toolName": name}
        return None


class Model:
    def __init__(self):
        self.lock = threading.Lock()
        self.scripts = []
        self.calls = 0
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.send_json({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

            def do_POST(self):
                length = int(self.headers.get("Content-Length", 0))
                if length > MOST_BYTES or not self.path.endswith("/chat/completions"):
                    self.close_connection = True
                    self.send_error(413 if length > MOST_BYTES else 404)
                    return
                asked = json.loads(self.rfile.read(length))
                message = model.say(asked)
                if asked.get("stream"):
                    self.send_stream(asked, message)
                else:
                    self.send_json({**head(asked), "object": "chat.completion", "usage": USAGE,
                                    "choices": [{"index": 0, "message": message,
                                                 "finish_reason": reason(message)}]})

            def send_stream(self, asked, message):
                def chunk(delta, why=None, **more):
                    return {**head(asked), "object": "chat.completion.chunk", **more,
                            "choices": [{"index": 0, "delta": delta, "finish_reason": why}]}

                lines = [json.dumps(chunk(message)),
                         json.dumps(chunk({}, reason(message), usage=USAGE)), "[DONE]"]
                self.send_body("text/event-stream", "".join(f"data: {line}\n\n" for line in lines))

            def send_json(self, value):
                self.send_body("application/json", json.dumps(value))

            def send_body(self, kind, text):
                body = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def script(self, *calls):
        """Calls as (name, arguments)."""
        with self.lock:
            script = Script(len(self.scripts), calls)
            self.scripts.append(script)
        return script

    def say(self, asked):
        """The model's next message. n8n also asks for titles and the like, which have no script."""
        messages = asked["messages"]
        with self.lock:
            for at in reversed(range(len(messages))):
                found = WORD.search(plain(messages[at].get("content")))
                if messages[at]["role"] == "user" and found and asked.get("tools"):
                    script = self.scripts[int(found[1])]
                    script.offered = {tool["function"]["name"] for tool in asked["tools"]}
                    call = script.next_call(messages[at + 1:])
                    break
            else:
                call = None
            if call is None:
                return {"role": "assistant", "content": "That is all."}
            self.calls += 1
            return {"role": "assistant", "content": None, "tool_calls": [
                {"index": 0, "id": f"call_{self.calls}", "type": "function",
                 "function": {"name": call[0], "arguments": json.dumps(call[1])}}]}

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def head(asked):
    return {"id": "chatcmpl-1", "created": 0, "model": asked.get("model", "scripted")}


def reason(message):
    return "tool_calls" if "tool_calls" in message else "stop"
