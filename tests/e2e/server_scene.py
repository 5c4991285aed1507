"""gatehouse serve, machines and agents that use it, for the tests of the server."""
import contextlib
import http.client
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from patience import PATIENCE

N8N = "/rest/instance-ai/gateway/"
SEED = "/instance-ai/gateway/"
OURS = {"X-Gatehouse-Request": "1"}
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {}}


def clean_environment(**more):
    return {name: value for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and not name.startswith(("GATEHOUSE_", "N8N_"))
            } | more


class Server:
    """The program; `words` is what it printed. Its log goes to the file `log`, if there is one."""

    def __init__(self, gatehouse, state, port=0, arguments=(), log=None, **environment):
        self.process = subprocess.Popen(
            [gatehouse, "serve", "--listen", f"127.0.0.1:{port}", "--state-dir", state, *arguments],
            env=clean_environment(**environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=log, text=True)
        self.words = ""
        for line in self.process.stdout:
            self.words += line
            if line.startswith("Agents use"):
                break
        else:
            raise AssertionError("it has ended")
        self.port = int(re.search(r"listening on [\d.]+:(\d+)\)", self.words)[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def found(self, pattern):
        match = re.search(pattern, self.words)
        return match and match[0]

    @property
    def token(self):
        return self.found(r"gw_\w{32}\b")

    def ask(self, method, path, body=None, headers=None, tls=None):
        """Status, headers, and the body: parsed if it is JSON. `tls` is a context of ssl."""
        connection = (http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=tls)
                      if tls else http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE))
        with contextlib.closing(connection):
            if body is not None and not isinstance(body, (bytes, str)):
                body = json.dumps(body)
            headers = dict(headers or {})
            # Its name has the port, which is another one after a restart in a test.
            if "Cookie" in headers:
                headers["Cookie"] = re.sub(r"^gatehouse_session(_\d+)?=", f"gatehouse_session_{self.port}=", headers["Cookie"])
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
        if "json" in answer.headers.get("Content-Type", ""):
            text = json.loads(text)
        return answer.status, answer.headers, text

    def log_in(self, token=None):
        """The headers of a browser that used the link."""
        status, headers, _ = self.ask("GET", "/login?token=" + (token or self.found(r"login_\w+")))
        assert status == 303, status
        return {"Cookie": headers["Set-Cookie"].split(";")[0]}

    def sign_in(self, name, password, **more):
        """The answer to a name and a password."""
        return self.ask("POST", "/login", {"name": name, "password": password}, OURS | more)

    def cookie(self, name, password):
        """The headers of a browser that signed in."""
        status, headers, answer = self.sign_in(name, password)
        assert status == 200, (status, answer)
        return {"Cookie": headers["Set-Cookie"].split(";")[0]}

    def end(self, signum=signal.SIGTERM):
        self.process.send_signal(signum)
        return self.process.wait(PATIENCE)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Stream:
    """An answer that comes in pieces, or late: its events, or its JSON as one."""

    def __init__(self, server, path, headers, body=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        self.connection.request("POST" if body else "GET", path, body, headers)
        self.socket = self.connection.sock
        self.events = queue.Queue()
        self.has_begun = threading.Event()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        if not body:
            self.has_begun.wait(PATIENCE)

    def read(self):
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException, AttributeError):
            self.answer = self.connection.getresponse()
            self.has_begun.set()
            if "json" in self.answer.headers.get("Content-Type", ""):
                self.events.put(json.loads(self.answer.read()))
            for line in self.answer:
                if line.startswith(b"data: {"):
                    self.events.put(json.loads(line[6:]))
        self.has_begun.set()
        self.events.put(None)

    def next(self):
        return self.events.get(timeout=PATIENCE)

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(2)
        self.thread.join(PATIENCE)
        self.connection.close()


class Machine:
    """A minimal daemon."""

    SCHEMA = {"type": "object", "properties": {}}

    def __init__(self, server, token, tools=("echo",), prefix=N8N):
        self.server, self.prefix = server, prefix
        body = {"rootPath": "/home/user", "hostIdentifier": "user@host", "toolCategories": [],
                "tools": [{"name": name, "inputSchema": self.SCHEMA} for name in tools]}
        self.status, _, self.reply = self.post("init", body, token)
        if self.status == 200:
            self.key = self.reply["data"]["sessionKey"]

    def post(self, what, body, key=None):
        return self.server.ask("POST", self.prefix + what, body,
                               {"X-Gateway-Key": key if key is not None else self.key})

    def listen(self):
        self.stream = Stream(self.server, self.prefix + "events", {"X-Gateway-Key": self.key})
        return self.stream

    def respond(self, event, **body):
        return self.post("response/" + event["payload"]["requestId"], body)


class Agent:
    """An MCP client of the server, with a session of the older era."""

    def __init__(self, server, key, capabilities=None, is_open=True):
        self.server, self.number = server, 0
        self.headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json",
                        "Accept": "application/json, text/event-stream"}
        if is_open:
            status, headers, self.hello = self.post("initialize", {
                "protocolVersion": "2025-11-25", "capabilities": capabilities or {},
                "clientInfo": {"name": "test", "version": "1"}})
            assert status == 200, (status, self.hello)
            self.headers["Mcp-Session-Id"] = headers["Mcp-Session-Id"]
            self.server.ask("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"},
                            self.headers)

    def message(self, method, params):
        self.number += 1
        return {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}

    def post(self, method, params):
        return self.server.ask("POST", "/mcp", self.message(method, params), self.headers)

    def tools(self):
        return [tool["name"] for tool in self.post("tools/list", {})[2]["result"]["tools"]]

    def call(self, name, arguments):
        return self.post("tools/call", {"name": name, "arguments": arguments})[2]

    def begin(self, name, arguments):
        """A call whose answer is a stream, or comes late."""
        return Stream(self.server, "/mcp", self.headers,
                      json.dumps(self.message("tools/call", {"name": name, "arguments": arguments})))

    def modern(self, name, arguments, **more):
        """The answer to a call of the newer era, which needs no session."""
        meta = MODERN | {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
        params = {"name": name, "arguments": arguments, "_meta": meta} | more
        headers = {**self.headers, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
                   "Mcp-Name": name}
        headers.pop("Mcp-Session-Id", None)
        return self.server.ask("POST", "/mcp", self.message("tools/call", params), headers)[2]
