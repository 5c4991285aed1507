#!/usr/bin/env python3
"""The user's own browser by n8n's extension, which a test plays: the recorded protocol in front of a real Chromium."""
import base64
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import struct
import threading
import time
import unittest

import mcp_client
from mcp_client import PATIENCE
from test_browser import OPEN, OnDisplay, PAGES, SITE, no_display, ref_of
from test_browser_local import InOwn, Stranger, socket_script

ORIGIN = "chrome-extension://cegmdpndekdfpnafgacidejijecomlhh"


class Refusal(Exception):
    pass


class WebSocket:
    """A client that can do little, but all that is needed here."""

    def __init__(self, port, path, origin=ORIGIN, host=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.stream = self.socket.makefile("rb")
        self.lock = threading.Lock()
        lines = [f"GET {path} HTTP/1.1", f"Host: {host or f'127.0.0.1:{port}'}", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}", "Sec-WebSocket-Version: 13"]
        self.socket.sendall("\r\n".join(lines + ([f"Origin: {origin}"] if origin else []) + ["", ""]).encode())
        first = self.stream.readline().decode()
        while self.stream.readline().strip():
            pass
        if " 101 " not in first:
            self.close()
            raise Refusal(first)

    def frame(self, opcode, data):
        mask = os.urandom(4)
        size = len(data)
        head = bytes([0x80 | opcode])
        head += bytes([0x80 | size]) if size < 126 else struct.pack(">BH", 0xFE, size) if size < 1 << 16 else struct.pack(">BQ", 0xFF, size)
        repeated = (mask * (size // 4 + 1))[:size]
        body = (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
        with self.lock:
            self.socket.sendall(head + mask + body)

    def send(self, message):
        self.frame(1, json.dumps(message).encode())

    def receive(self):
        """The next message, or None at the end."""
        text = b""
        while True:
            head = self.stream.read(2)
            if len(head) < 2:
                return None
            size = head[1] & 0x7F
            if size > 125:
                size = int.from_bytes(self.stream.read(2 if size == 126 else 8), "big")
            data = self.stream.read(size)
            if head[0] & 0x0F == 8:
                return None
            if head[0] & 0x0F == 9:
                self.frame(10, data)
                continue
            text += data
            if head[0] & 0x80:
                return json.loads(text)

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.stream.close()
        self.socket.close()


class Extension:
    """As the extension does it: the user's tabs, each attached on request, and their events."""

    def __init__(self, own, port, path):
        self.own, self.tabs, self.asked = own, {}, []
        self.registered = {tab["id"] for tab in json.loads(own.ask("list")) if tab["type"] == "page"}
        self.relay = WebSocket(port, path)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def about(self):
        return [{"id": tab["id"], "title": tab["title"], "url": tab["url"]} for tab in json.loads(self.own.ask("list"))
                if tab["id"] in self.registered]

    def event(self, name, /, **params):
        with contextlib.suppress(OSError):  # the relay may have hung up
            self.relay.send({"method": name, "params": params})

    def follow(self, tab):
        """Takes events and answers of a tab to the relay."""
        channel, waiting = self.tabs[tab]
        while (message := channel.receive()) is not None:
            if "id" in message:
                waiting.pop(message["id"])(message)
            else:
                self.event("forwardCDPEvent", id=tab, method=message["method"], **({"params": message["params"]} if message.get("params") else {}))

    def do(self, method, params, answer):
        tab = params.get("id")
        if method in ("listRegisteredTabs", "listTabs"):
            answer(result={"tabs": self.about()})
        elif method == "createTab":
            made = json.loads(self.own.ask(f"new?{params['url']}", "PUT"))
            self.registered.add(made["id"])
            answer(result={"id": made["id"], "title": made["title"], "url": made["url"]})
        elif tab not in self.registered:
            answer(error="No such tab")
        elif method == "attachTab":
            self.tabs[tab] = (WebSocket(self.own.port, f"/devtools/page/{tab}", origin=None), {})
            threading.Thread(target=self.follow, args=(tab,), daemon=True).start()
            answer(result={})
        elif method == "closeTab":
            self.own.ask(f"close/{tab}")
            answer(result={})
            self.event("tabClosed", id=tab)
        elif method == "forwardCDPCommand":
            channel, waiting = self.tabs[tab]
            number = len(self.asked)
            waiting[number] = lambda message: answer(**({"error": message["error"]["message"]} if "error" in message
                                                        else {"result": message["result"]}))
            channel.send({"id": number, "method": params["method"], "params": params.get("params", {})})

    def serve(self):
        self.event("keepalive")
        while (message := self.relay.receive()) is not None:
            self.asked.append(message["method"])
            self.do(message["method"], message.get("params", {}),
                    lambda number=message["id"], **outcome: self.relay.send({"id": number, **outcome}))

    def close(self):
        self.relay.close()
        for channel, _ in self.tabs.values():
            channel.close()
        self.thread.join(PATIENCE)


class InRelayed(InOwn):
    """The browser's own debugging port is for the extension that the test plays: Gatehouse does not find it."""

    def own(self, *pages):
        return super().own(*pages, profile="elsewhere")

    def opened(self, server):
        """Port and path that the user is told to open."""
        words = self.fails(server, "browser_connect", mode="local")
        found = re.search(re.escape(ORIGIN) + r"/connect\.html\?mcpRelayUrl=ws://127\.0\.0\.1:(\d+)(/extension/[0-9a-f-]{36})\"", words)
        self.assertIsNotNone(found, words)
        return int(found[1]), found[2]

    def extension(self, own, port, path):
        extension = Extension(own, port, path)
        self.addCleanup(extension.close)
        return extension


class Relayed(InRelayed):
    def test_tabs_are_used_by_the_extension(self):
        forms = f"{self.here}/forms.html"
        own = self.own(forms)
        self.wait_for(lambda: own.tabs("title") == ["Forms"])
        server = self.serve()
        port, path = self.opened(server)
        extension = self.extension(own, port, path)
        connected = self.local(server)
        self.assertEqual(connected["mode"], "local")
        users = next(page["id"] for page in connected["pages"] if page.get("isUsers"))
        went = self.go(server, "forms.html")
        self.assertEqual((went["title"], went["status"]), ("Forms", 200))
        self.ok(server, "browser_type", element=ref_of(went["snapshot"], '"Full name"'), text="Ann")
        seen = self.ok(server, "browser_snapshot", pageId=users)["snapshot"]
        self.ok(server, "browser_type", pageId=users, element=ref_of(seen, '"Full name"'), text="Bob")
        self.assertEqual(self.text(server, "document.getElementById('name').value"), "Ann")
        self.assertEqual(self.ok(server, "browser_evaluate", pageId=users, script="document.getElementById('name').value")["result"],
                         "Bob")
        self.assertTrue(server.call("browser_screenshot")["content"][0]["data"])
        with Stranger() as stranger:
            away = f"http://localhost:{stranger.port}/"
            self.ok(server, "browser_evaluate", script=f"fetch('{away}fetched').catch(() => 0)")
            self.ok(server, "browser_evaluate", script=f"(location.href = '{away}gone', 1)")
            self.ok(server, "browser_wait", loadState="load")
            self.assertEqual(stranger.asked, [])
        # The relay itself is on a host that has a rule, and no page reaches it.
        self.assertIn("not allowed", self.fails(server, "browser_navigate", url=f"http://127.0.0.1:{port}{path}"))
        self.go(server, "forms.html")
        self.assertEqual(self.text(server, f"fetch('http://127.0.0.1:{port}/', {{mode: 'no-cors'}}).then(() => 1, () => 0)"), 0)
        self.assertEqual(self.text(server, socket_script(f"ws://127.0.0.1:{port}{path}")), "refused")
        self.assertIn("user's", self.fails(server, "browser_tab_close", pageId=users))
        opened = self.ok(server, "browser_tab_open", url=f"{self.here}/tables.html")["pageId"]
        self.ok(server, "browser_tab_close", pageId=opened)
        self.assertEqual(extension.asked.count("closeTab"), 1)
        self.assertIn(forms, own.tabs())
        self.ok(server, "browser_disconnect")
        extension.thread.join(PATIENCE)  # the relay hangs up
        self.assertFalse(extension.thread.is_alive())
        with self.assertRaises(OSError):
            WebSocket(port, path)

    def test_a_lost_extension_is_told_once_and_may_return(self):
        own = self.own()
        server = self.serve()
        port, path = self.opened(server)
        first = self.extension(own, port, path)
        self.local(server)
        self.go(server, "forms.html")
        first.close()
        self.wait_for(lambda: "has ended" in json.dumps(server.call("browser_snapshot")))
        self.assertIn("Not connected", self.fails(server, "browser_snapshot"))
        self.extension(own, port, path)
        self.local(server)
        self.assertEqual(self.go(server, "forms.html")["title"], "Forms")


def programs_with(words):
    """Processes that were started with these words, and with which others."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and words in (line := (entry / "cmdline").read_bytes()):
                found[int(entry.name)] = line.decode(errors="replace").split("\0")
    return found


@unittest.skipIf(no_display(), no_display())
@unittest.skipIf(os.geteuid() == 0, "no browser starts for root")
class Shown(InRelayed, OnDisplay):
    """The page where the user presses Connect is opened in the browser that has the extension."""

    def serve_on_display(self):
        self.allow("local-browser")
        return self.begin(*OPEN, env={"XDG_CONFIG_HOME": str(self.home), "XDG_CACHE_HOME": str(self.home / "cache"),
                                       "TMPDIR": str(self.room), **self.display()})

    def end_browser(self, relay):
        for pid in programs_with(relay):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(os.getpgid(pid), signal.SIGKILL)

    def test_the_user_presses_connect_where_it_was_opened(self):
        own = self.own(f"{self.here}/forms.html")
        server = self.serve_on_display()
        started = time.monotonic()
        self.assertIn("No browser has n8n's extension", self.fails(server, "browser_connect", mode="local"))
        self.assertLess(time.monotonic() - started, PATIENCE)
        (self.home / "chromium/Profile 2/Extensions" / ORIGIN.rpartition("/")[2]).mkdir(parents=True)
        relay = f"{ORIGIN}/connect.html?mcpRelayUrl=ws://127.0.0.1:".encode()
        self.addCleanup(self.end_browser, relay)
        message = server.call_message("browser_connect", {"mode": "local"})
        server.send(message)
        self.wait_for(lambda: any("chromium/chromium" in words[0] for words in programs_with(relay).values()))
        words = next(iter(programs_with(relay).values()))
        self.assertIn("--profile-directory=Profile 2", words)
        port, path = re.search(r"ws://127\.0\.0\.1:(\d+)(/extension/[0-9a-f-]{36})$", next(word for word in words if "mcpRelay" in word)).groups()
        self.extension(own, int(port), path)
        answer = server.result(message["id"])
        self.assertNotIn("isError", answer, answer)
        self.assertEqual(self.go(server, "forms.html")["title"], "Forms")
        server.end()
        self.assertTrue(programs_with(relay), "the browser is the user's, and goes on")
        self.end_browser(relay)


class Callers(InRelayed):
    def test_nobody_else_gets_in(self):
        server = self.serve()
        port, path = self.opened(server)
        another = path[:-1] + ("0" if path[-1] != "0" else "1")
        for where, origin, host in ((another, ORIGIN, None), ("/extension/", ORIGIN, None), (path.replace("extension", "cdp"), ORIGIN, None),
                                    (path + "?", ORIGIN, None), (path, None, None), (path, "null", None), (path, f"http://127.0.0.1:{port}", None),
                                    (path, ORIGIN[:-1] + "a", None), (path, ORIGIN + ".example", None), (path, ORIGIN, "evil.example")):
            with self.assertRaises(Refusal, msg=(where, origin, host)) as caught:
                WebSocket(port, where, origin, host)
            self.assertIn("403", str(caught.exception))
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as silent:  # it keeps nobody out
            inside = WebSocket(port, path)
            self.addCleanup(inside.close)
            silent.settimeout(PATIENCE)
            self.assertEqual(silent.recv(1), b"")
        with self.assertRaises((Refusal, OSError)):  # one at a time
            WebSocket(port, path)
        inside.send({"method": "keepalive", "params": {}})

    def test_a_crowd_does_not_keep_the_extension_out(self):
        server = self.serve()
        port, path = self.opened(server)
        with contextlib.ExitStack() as crowd:
            for words in (b"", f"GET {path} HTTP/1.1\r\n".encode()) * 50:
                one = crowd.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
                with contextlib.suppress(OSError):  # it was sent away already
                    one.sendall(words)
            self.assertEqual(one.recv(1), b"")  # nobody waits for the rest of it for long
            for _ in range(100):
                crowd.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
            inside = WebSocket(port, path)
            self.addCleanup(inside.close)
            message = server.call_message("browser_connect", {"mode": "local"})
            server.send(message)
            self.assertEqual(inside.receive()["method"], "listRegisteredTabs")

    def test_nonsense_ends_the_connection(self):
        server = self.serve()
        port, path = self.opened(server)
        for text in (b"{", b"[]", b"7", b"{}", b'{"id":"x"}'):
            inside = WebSocket(port, path)
            message = server.call_message("browser_connect", {"mode": "local"})
            server.send(message)
            self.assertEqual(inside.receive()["method"], "listRegisteredTabs")
            inside.frame(1, text)
            self.assertIsNone(inside.receive())
            inside.close()
            self.assertTrue(server.result(message["id"])["isError"])


if __name__ == "__main__":
    mcp_client.main(needed=[SITE, *PAGES.iterdir()])
