"""gatehouse mcp --workspace, for the tests of workspaces, and services that behave badly."""
import contextlib
import http.server
import json
import os
import pathlib
import signal
import socket
import sys
import threading
import unittest
import urllib.parse

import mcp_client
from mcp_client import Server
from sandboxd_scene import Scene, wait_until

def below(pid):
    """The processes (pid, name) that it has started, and those that they have, but dead ones."""
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name, _, fields = (entry / "stat").read_text().partition(" (")[2].rpartition(") ")
            state, parent = fields.split()[:2]
            if state != "Z":
                found.setdefault(int(parent), []).append((int(entry.name), name))
    tree = list(found.get(pid, []))
    for child, _ in tree:
        tree += found.get(child, [])
    return tree


def main():
    """The first argument is the program."""
    WorkspaceScene.gatehouse = mcp_client.GATEHOUSE = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()


class WorkspaceScene(Scene):
    """A client with a workspace; a service if the provider needs one."""

    def setUp(self):
        super().setUp()
        self.state = self.room / "state"

    def mcp(self, provider, *flags, env=None, opens=True):
        server = Server("--workspace", provider, "--state-dir", self.state, *flags,
                        state=self.room, cwd=self.room, env=env)
        self.addCleanup(self.end, server)
        if opens:
            server.open()
        return server

    def folder(self, **files):
        """A folder with these files, for --workspace-files."""
        folder = self.room / "first"
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return folder

    def end(self, server):
        if server.process.poll() is None:
            self.assertEqual(server.end(), 0, server.words())
        words = server.words()
        server.discard()
        server.said.close()
        self.assertNotIn("ERROR: ", words)  # a sanitizer's

    def refused(self, provider, *flags, env=None):
        """What it says when it does not start."""
        server = self.mcp(provider, *flags, env=env, opens=False)
        self.assertNotEqual(server.wait(), 0)
        return server.words()

    def host_of(self, server):
        """The process that holds the workspaces."""
        found = []

        def look():
            found[:] = [pid for pid, name in below(server.pid) if name == "gatehouse-works"]
            return found

        wait_until(look, "there is a gatehouse-workspacehost")
        return found[0]

    def kill_host(self, server):
        """With what would start another one."""
        for pid in (*self.starters_of(server), self.host_of(server)):
            os.kill(pid, signal.SIGKILL)

    def starters_of(self, server):
        """What starts another one: a process that only starts the second again, and that one."""
        found = []

        def look():
            found[:] = [[pid, starter] for pid, _ in below(server.pid) for starter, name in below(pid)
                        if name == "gatehouse-mcp"]
            return found

        # Not at the first look: /proc is no picture of one moment, and leaves out what comes and goes meanwhile.
        wait_until(look, "there is a starter")
        return found[0]


class Fake(http.server.ThreadingHTTPServer):
    """A service that says what a test wants: `behave(request)` answers, or returns what to send."""

    daemon_threads = True

    def __init__(self, behave):
        self.behave = behave
        self.asked = []
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def handle_error(self, request, client_address):
        pass  # the client may have left, as it should

    def close(self):
        self.shutdown()
        self.server_close()
        self.thread.join()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def handle_one(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        parts = urllib.parse.urlsplit(self.path)
        self.route, self.query = parts.path, dict(urllib.parse.parse_qsl(parts.query))
        self.server.asked.append((self.command, self.path, self.body, dict(self.headers)))
        said = self.server.behave(self)
        if said is not None:
            self.say(*said)

    do_GET = do_POST = do_PUT = do_DELETE = handle_one

    def say(self, status, body=b"", **headers):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(body)

    def begin_lines(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def line(self, **event):
        data = json.dumps(event).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def end_lines(self):
        self.wfile.write(b"0\r\n\r\n")

    def cut(self):
        """Ends the connection in the middle."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
