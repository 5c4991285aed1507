"""A model that follows a script, behind the part of the Anthropic Messages API that Claude Code uses.

It makes the calls of its script one after the other, each after the result of the one before, and keeps
what it was told.
"""
import http.server
import json
import threading

MOST_BYTES = 64 << 20  # of one request
USAGE = {"input_tokens": 1, "output_tokens": 1}


def plain(content):
    """The text of a message or a result, which may come in parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", f"<{part['type']}>") for part in content or ())


def results_in(messages):
    return [part for message in messages if isinstance(message["content"], list)
            for part in message["content"] if part["type"] == "tool_result"]


class Model:
    def __init__(self, calls):
        self.calls = calls  # (name, input)
        self.offered = {}  # tools by name, as offered with the last request
        self.results = []  # of the calls: (text, is_error)
        self.lock = threading.Lock()
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                length = int(self.headers.get("Content-Length", 0))
                path = self.path.partition("?")[0]
                if length > MOST_BYTES or path not in ("/v1/messages", "/v1/messages/count_tokens"):
                    self.close_connection = True
                    self.send_error(413 if length > MOST_BYTES else 404)
                    return
                asked = json.loads(self.rfile.read(length))
                if path.endswith("count_tokens"):
                    self.send_body("application/json", json.dumps({"input_tokens": 1}))
                    return
                block = model.say(asked)
                message = {"id": "msg_1", "type": "message", "role": "assistant",
                           "model": asked["model"], "content": [block], "stop_sequence": None,
                           "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
                           "usage": USAGE}
                if asked.get("stream"):
                    self.send_body("text/event-stream", stream(message))
                else:
                    self.send_body("application/json", json.dumps(message))

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
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def say(self, asked):
        """The next block. Requests without tools are for titles and the like, and have no script."""
        with self.lock:
            tools = asked.get("tools") or []
            results = results_in(asked["messages"])
            if not tools:
                return {"type": "text", "text": "ok"}
            self.offered = {tool["name"]: tool for tool in tools}
            self.results = [(plain(each.get("content")), each.get("is_error", False))
                            for each in results]
            if len(results) >= len(self.calls):
                return {"type": "text", "text": "That is all."}
            name, given = self.calls[len(results)]
            return {"type": "tool_use", "id": f"toolu_{len(results)}", "name": name, "input": given}

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def stream(message):
    """The message in events: its frame, its one block, its end."""
    (block,) = message["content"]
    is_text = block["type"] == "text"
    delta = ({"type": "text_delta", "text": block["text"]} if is_text else
             {"type": "input_json_delta", "partial_json": json.dumps(block["input"])})
    events = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0,
         "content_block": {**block, "text": ""} if is_text else {**block, "input": {}}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "usage": USAGE,
         "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
