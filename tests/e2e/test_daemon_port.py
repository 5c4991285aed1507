#!/usr/bin/env python3
"""The interfaces of gatehouse connect: the local port and its pages, `gatehouse status`, service
managers, the log file, and connections after the first.

Arguments: see daemon_scene.
"""
import contextlib
import http.client
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources

import daemon_scene
from daemon_scene import GATEHOUSE, MOMENT, AtTerminal, Scene, has_boxes
from free_port import free_port
from patience import PATIENCE

MOST_CONNECTIONS = 256


class Page:
    """A page in the user's browser, as far as the daemon sees it."""

    def __init__(self, port, origin):
        self.port, self.origin = port, origin

    def ask(self, method, path, body=None, **headers):
        """Status, answer and headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            if self.origin is not None:
                headers["Origin"] = self.origin
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text else None, response.headers

    def get(self, path):
        return self.ask("GET", path)[:2]

    def connect(self, url, token):
        return self.ask("POST", "/connect", json.dumps({"url": url, "token": token}))[:2]

    @contextlib.contextmanager
    def stay(self):
        """A connection that was let in, and is kept."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", "/health", headers={"Origin": self.origin})
            connection.getresponse().read()
            yield connection

    def connect_later(self, url, token):
        """As connect(), by somebody who waits elsewhere: join() for the answer."""
        return Waiting(lambda: self.connect(url, token))


class Waiting(threading.Thread):
    def __init__(self, wait):
        super().__init__(daemon=True)
        self.wait, self.answer = wait, None
        self.start()

    def run(self):
        # The daemon may end first.
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.answer = self.wait()

    def result(self):
        self.join(PATIENCE)
        return self.answer


class PortScene(Scene):
    flags = ("--auto-confirm",)

    def page(self, daemon, origin, words="local port"):
        line = daemon.until(words)
        return Page(int(re.search(r"\bport=(\d+)", line)[1]), origin)

    def wait_for_page(self, *flags, server=None, **variables):
        """A daemon without a token, and a page of its server."""
        server = server or self.serve()
        daemon = self.daemon(*self.flags, "--dir", self.root, *flags, self.url(server), **variables)
        return server, daemon, self.page(daemon, self.url(server), "waiting on the local port")

    def broker(self, page, server):
        server.do("token")
        token = server.until_has("token")["token"]
        self.assertEqual(page.connect(self.url(server), token),
                         (200, {"status": "connected", "dir": str(self.root)}))
        server.until(streams=1)

    def until(self, is_so):
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(MOMENT)


class Pages(PortScene):
    def test_a_page_brings_the_token(self):
        server, daemon, page = self.wait_for_page()
        self.assertEqual(page.get("/health"),
                         (200, {"status": "ok", "dir": str(self.root), "connected": False}))
        self.assertEqual(page.get("/status"),
                         (200, {"connected": False, "dir": str(self.root), "connectedAt": None,
                                "url": None}))
        self.broker(page, server)
        self.good(server, "read_file", filePath="a.txt")
        status, told = page.get("/status")
        self.assertEqual((status, told["connected"], told["url"]), (200, True, self.url(server)))
        self.assertRegex(told["connectedAt"], r"^20\d\d-")
        self.assertEqual(page.connect(self.url(server), "gw_other")[0], 409)
        status, told = daemon.end()
        self.assertEqual(status, 0, told)
        self.assertEqual(server.state()["hits"]["disconnect"], 1)
        self.assertNotIn(server.token, told)

    def test_a_start_with_a_token_has_the_port_too(self):
        server = self.serve()
        daemon = self.daemon("--auto-confirm", self.url(server), server.token, self.root)
        page = self.page(daemon, self.url(server), "local port is open")
        server.until(streams=1)
        self.until(lambda: page.get("/health")[1]["connected"])

    def test_a_start_that_is_under_way_is_not_disturbed(self):
        server = self.serve()
        server.do("fail", endpoint="init", status=-1, count=1)
        daemon = self.daemon("--auto-confirm", self.url(server), server.token, self.root)
        page = self.page(daemon, self.url(server))
        self.assertEqual(page.connect(self.url(server), "gw_other")[0], 409)
        self.assertFalse(page.get("/health")[1]["connected"])

    def test_strangers_learn_and_do_nothing(self):
        server, _, page = self.wait_for_page()
        url = self.url(server)
        body = json.dumps({"url": url, "token": server.token})
        for origin in ("https://evil.example", "null", f"{url}.evil.example", f"{url}/", None):
            stranger = Page(page.port, origin)
            for method, path in (("GET", "/health"), ("GET", "/status"), ("GET", "/events"),
                                 ("POST", "/connect"), ("POST", "/disconnect"),
                                 ("OPTIONS", "/connect"), ("GET", "/nothing")):
                with self.subTest((origin, method, path)):
                    status, answer, headers = stranger.ask(method, path, body)
                    self.assertEqual((status, answer), (403, {"error": "Forbidden."}))
                    self.assertNotIn("Access-Control-Allow-Origin", headers)
        for host in ("evil.example", f"evil.example:{page.port}", "127.0.0.1:1"):
            with self.subTest(host):
                self.assertEqual(page.ask("GET", "/health", Host=host)[0], 403)
        self.assertEqual(server.state()["hits"]["init"], 0)

    def test_who_is_turned_away_is_told_of_once_where_that_is_wanted(self):
        server, daemon, page = self.wait_for_page("--log-level", "debug")
        elsewhere = f"http://localhost:{server.port}"
        for _ in range(3):
            self.assertEqual(Page(page.port, elsewhere).get("/health")[0], 403)
        self.assertEqual(Page(page.port, "https://evil.example").get("/health")[0], 403)
        self.assertIn("--allowed-origins", daemon.until(f"page={elsewhere}"))
        daemon.until("page=https://evil.example")
        self.assertEqual("".join(daemon.told).count("refused a request at the local port"), 2)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_programs_of_other_users_are_strangers_too(self):
        server, _, page = self.wait_for_page()
        self.assertEqual(page.get("/health")[0], 200)
        script = (f"import http.client; c = http.client.HTTPConnection('127.0.0.1', {page.port}); "
                  f"c.request('GET', '/health', headers={{'Origin': '{page.origin}'}}); "
                  "print(c.getresponse().status)")
        other = subprocess.run(["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups",
                                "/usr/bin/python3", "-c", script], text=True, capture_output=True,
                               check=True, timeout=PATIENCE)
        self.assertEqual(other.stdout, "403\n")
        self.assertEqual(server.state()["hits"]["init"], 0)

    def test_connections_that_were_not_let_in_keep_nobody_out(self):
        """Programs of any user can open them, and so can pages of any site."""
        _, _, page = self.wait_for_page()
        with contextlib.ExitStack() as open_ones:
            for number in range(MOST_CONNECTIONS * 2):
                wire = socket.create_connection(("127.0.0.1", page.port), PATIENCE)
                open_ones.enter_context(wire)
                # Those that had to go already are reset.
                with contextlib.suppress(OSError):
                    if number % 2 == 1:
                        wire.sendall(b"GET /health HTTP/1.1\r\nHos")
            self.assertEqual(page.get("/health")[0], 200)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a connection to another user")
    def test_whose_a_connection_is_is_looked_up_once(self):
        _, _, page = self.wait_for_page()
        for owners, statuses in (((None, 65533), [200, 200]), ((65533,), [403])):
            connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=PATIENCE)
            with contextlib.closing(connection):
                connection.connect()
                got = []
                for owner in owners:
                    if owner is not None:
                        os.fchown(connection.sock.fileno(), owner, -1)
                    connection.request("GET", "/health", headers={"Origin": page.origin})
                    response = connection.getresponse()
                    response.read()
                    got.append(response.status)
                self.assertEqual(got, statuses)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a connection to another user")
    def test_whose_a_connection_is_is_looked_up_again_where_something_changes(self):
        server, _, page = self.wait_for_page()
        body = json.dumps({"url": self.url(server), "token": server.token})
        for path in ("/connect", "/disconnect"):
            with self.subTest(path), page.stay() as connection:
                os.fchown(connection.sock.fileno(), 65533, -1)
                connection.request("POST", path, body, {"Origin": page.origin})
                self.assertEqual(connection.getresponse().status, 403)
        self.assertEqual(server.state()["hits"]["init"], 0)

    def test_who_is_turned_away_has_to_come_anew(self):
        _, _, page = self.wait_for_page()
        for origin in ("https://evil.example", page.origin):
            with socket.create_connection(("127.0.0.1", page.port), PATIENCE) as connection:
                request = (f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n"
                           f"Origin: {origin}\r\n\r\n").encode()
                connection.sendall(request * 2)
                connection.shutdown(socket.SHUT_WR)
                told = b"".join(iter(lambda: connection.recv(1 << 16), b""))
                self.assertEqual(told.count(b"HTTP/1.1 "), 2 if origin == page.origin else 1, told)

    def test_there_is_no_socket_for_pages(self):
        _, _, page = self.wait_for_page()
        for origin, status in (("https://evil.example", b"403"), ("null", b"403"), (page.origin, b"200")):
            with self.subTest(origin), socket.create_connection(("127.0.0.1", page.port), PATIENCE) as connection:
                connection.sendall((f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nOrigin: {origin}\r\n"
                                    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n").encode())
                self.assertEqual(connection.recv(1 << 16).split()[1], status)

    def test_a_page_leads_to_no_other_server(self):
        server, _, page = self.wait_for_page()
        other = self.serve()
        self.assertEqual(page.connect(self.url(other), other.token)[0], 403)
        self.assertEqual(other.state()["hits"], dict.fromkeys(other.state()["hits"], 0))
        self.assertEqual(server.state()["hits"]["init"], 0)

    def test_other_pages_are_let_in_by_name_and_to_their_servers(self):
        other = self.serve()
        server, _, page = self.wait_for_page("--allowed-origins",
                                             f"https://*.n8n.example,{self.url(other)}")
        for origin, status in ((self.url(other), 200), ("https://a.n8n.example", 200),
                               ("https://n8n.example", 403), ("http://a.n8n.example", 403)):
            with self.subTest(origin):
                self.assertEqual(Page(page.port, origin).get("/health")[0], status)
        self.broker(Page(page.port, self.url(other)), other)
        self.good(other, "read_file", filePath="a.txt")
        self.assertEqual(page.get("/status")[1]["url"], self.url(other))
        self.assertEqual(server.state()["hits"]["init"], 0)

    def test_what_is_no_request_to_connect(self):
        server, _, page = self.wait_for_page()
        url = self.url(server)
        for body in ("", "{", "[]", json.dumps({"url": url}), json.dumps({"token": "gw_x"}),
                     json.dumps({"url": 1, "token": "gw_x"}), json.dumps({"url": url, "token": ""}),
                     json.dumps({"url": url, "token": "a\nb"}),
                     json.dumps({"url": "ftp://x", "token": "gw_x"}),
                     json.dumps({"url": "x", "token": "gw_x"})):
            with self.subTest(body):
                status, answer, _ = page.ask("POST", "/connect", body)
                self.assertEqual((status, set(answer)), (400, {"error"}))
        self.assertEqual(page.ask("GET", "/connect")[0], 404)
        self.assertEqual(page.get("/"), (404, {"error": "Not found"}))
        self.assertEqual(server.state()["hits"]["init"], 0)

    def test_what_a_browser_asks_before(self):
        _, _, page = self.wait_for_page()
        status, answer, headers = page.ask("OPTIONS", "/connect",
                                           **{"Access-Control-Request-Private-Network": "true"})
        self.assertEqual((status, answer), (204, None))
        self.assertEqual(
            [headers[f"Access-Control-{name}"] for name in (
                "Allow-Origin", "Allow-Methods", "Allow-Headers", "Max-Age",
                "Allow-Private-Network")],
            [page.origin, "GET, POST, OPTIONS", "Content-Type", "86400", "true"])
        self.assertEqual(headers["Vary"], "Origin")

    def test_a_token_that_is_refused_is_not_the_end(self):
        server, _, page = self.wait_for_page()
        status, answer = page.connect(self.url(server), "gw_wrong")
        self.assertEqual(status, 500)
        self.assertIn("token is needed", answer["error"])
        self.assertNotIn("gw_wrong", answer["error"])
        self.broker(page, server)
        self.good(server, "read_file", filePath="a.txt")

    def test_a_server_that_is_not_there_is_not_the_end(self):
        server, daemon, page = self.wait_for_page()
        server.close()
        self.assertEqual(page.connect(self.url(server), server.token)[0], 500)
        self.assertEqual(page.get("/health")[0], 200)
        self.assertEqual(daemon.end()[0], 0)

    def test_a_folder_that_cannot_be_given_is_said(self):
        server, _, page = self.wait_for_page()
        (self.root / "a.txt").unlink()
        self.root.rmdir()
        status, answer = page.connect(self.url(server), server.token)
        self.assertEqual(status, 400)
        self.assertIn("not found", answer["error"])
        self.root.mkdir()
        self.broker(page, server)

    def test_events_tell_each_change(self):
        server, daemon, page = self.wait_for_page()
        connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request("GET", "/events", headers={"Origin": page.origin})
        stream = connection.getresponse()
        self.addCleanup(stream.close)

        def event():
            name = None
            while True:
                line = stream.readline().decode()
                if line.startswith("event:"):
                    name = line.removeprefix("event:").strip()
                elif line.startswith("data:"):
                    return name, json.loads(line.removeprefix("data:"))["connected"]

        self.assertEqual(event(), ("ready", False))
        self.broker(page, server)
        self.assertEqual(event(), ("status", True))
        server.do("dismiss")
        self.assertEqual(event(), ("status", False))
        self.assertEqual(daemon.end()[0], 0)

    def test_a_page_may_end_it(self):
        server, daemon, page = self.wait_for_page()
        # There is nothing to end yet.
        self.assertEqual(page.ask("POST", "/disconnect")[:2], (200, {"status": "disconnected"}))
        self.broker(page, server)
        self.assertEqual(page.ask("POST", "/disconnect")[:2], (200, {"status": "disconnected"}))
        status, told = daemon.wait()
        self.assertEqual(status, 0, told)
        self.assertEqual(server.state()["hits"]["disconnect"], 1)

    def test_several_may_end_it(self):
        server, daemon, page = self.wait_for_page()
        self.broker(page, server)
        server.do("delay", endpoint="disconnect", ms=500)
        pages = [Waiting(lambda: page.ask("POST", "/disconnect")[0]) for _ in range(3)]
        self.assertEqual({waiting.result() for waiting in pages} - {200, None}, set())
        self.assertEqual(daemon.wait()[0], 0)
        self.assertEqual(server.state()["hits"]["disconnect"], 1)


class Again(PortScene):
    """Connections after the first."""

    def test_after_the_server_has_ended_the_session(self):
        server = self.serve()
        daemon = self.daemon("--auto-confirm", self.url(server), server.token, self.root)
        page = self.page(daemon, self.url(server))
        server.until(streams=1)
        for _ in range(3):
            server.do("dismiss")
            daemon.until("ended the session")
            server.until(streams=0)
            self.until(lambda: not page.get("/health")[1]["connected"])
            self.broker(page, server)
            self.good(server, "read_file", filePath="a.txt")
        self.assertEqual(daemon.end()[0], 0)
        self.assertEqual(server.state()["hits"]["disconnect"], 1)

    def test_after_the_server_has_forgotten_the_session(self):
        server, daemon, page = self.wait_for_page()
        self.broker(page, server)
        server.do("forget")
        daemon.until("a new pairing token is needed")
        self.assertFalse(page.get("/health")[1]["connected"])
        self.broker(page, server)
        self.good(server, "read_file", filePath="a.txt")
        self.assertTrue(page.get("/health")[1]["connected"])

    def test_what_commands_with_network_could_have_sent_is_refused(self):
        for flags in (("--shell-network", "allow"), ("--dangerously-disable-shell-sandbox",)):
            with self.subTest(flags):
                self.refuse_what_commands_could_have_sent(*flags)

    def refuse_what_commands_could_have_sent(self, *flags):
        server, daemon, page = self.wait_for_page("--permission-shell", "allow", *flags)
        self.broker(page, server)
        status, answer, _ = page.ask("POST", "/disconnect")
        self.assertEqual(status, 403)
        self.assertIn("Commands with network", answer["error"])
        self.good(server, "read_file", filePath="a.txt")
        server.do("forget")
        daemon.until("a new pairing token is needed")
        self.until(lambda: not page.get("/health")[1]["connected"])
        before = server.state()["hits"]["init"]
        server.do("token")
        status, answer = page.connect(self.url(server), server.until_has("token")["token"])
        self.assertEqual(status, 403)
        self.assertIn("Commands with network", answer["error"])
        self.assertEqual(server.state()["hits"]["init"], before)
        self.assertEqual(daemon.end()[0], 0)

    def test_what_commands_with_network_left_behind_is_not_read(self):
        for flags in (("--shell-network", "allow"), ("--dangerously-disable-shell-sandbox",)):
            with self.subTest(flags):
                self.ask_where_commands_could_have_asked(*flags)

    def end_session(self, server, daemon, page):
        server.do("dismiss")
        daemon.until("ended the session")

        def has_ended():
            # Who asks in that moment is cut off, too.
            with contextlib.suppress(OSError, http.client.HTTPException):
                return not page.get("/health")[1]["connected"]

        self.until(has_ended)

    def ask_where_commands_could_have_asked(self, *flags):
        server, daemon, page = self.wait_for_page("--permission-shell", "allow", *flags)
        self.broker(page, server)
        before = server.state()["hits"]["init"]
        server.do("token")
        body = json.dumps({"url": self.url(server), "token": server.until_has("token")["token"]})
        with page.stay() as connection:
            self.end_session(server, daemon, page)
            # Not by itself, which would come anew.
            connection.auto_open = 0
            with self.assertRaises((OSError, http.client.HTTPException)):
                connection.request("POST", "/connect", body, {"Origin": page.origin})
                connection.getresponse()
        self.assertEqual(server.state()["hits"]["init"], before)
        # Who comes now is not one of them.
        self.broker(page, server)
        self.assertEqual(daemon.end()[0], 0)

    @unittest.skipUnless(has_boxes(), "cannot sandbox commands on this machine")
    def test_a_connection_of_a_command_ends_with_its_session(self):
        server, daemon, page = self.wait_for_page("--permission-shell", "allow",
                                                  "--shell-network", "allow")
        self.broker(page, server)
        before = server.state()["hits"]["init"]
        server.do("token")
        body = json.dumps({"url": self.url(server), "token": server.until_has("token")["token"]})
        head = f"Host: 127.0.0.1:{page.port}\r\nOrigin: {page.origin}\r\n"
        (self.root / "health").write_text(f"GET /health HTTP/1.1\r\n{head}\r\n")
        (self.root / "connect").write_text(
            f"POST /connect HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}")
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(PATIENCE)
            # Without end, and without reading what it is told.
            script = (f"exec 3<>/dev/tcp/127.0.0.1/{page.port}; cat health >&3; "
                      f"head -n 1 <&3 >/dev/tcp/127.0.0.1/{listener.getsockname()[1]}; "
                      "while cat connect >&3; do :; done")
            server.call("shell_execute", command=f"bash -c {shlex.quote(script)}")
            with listener.accept()[0] as told:
                self.assertIn(b" 200 ", told.makefile("rb").read())
        self.end_session(server, daemon, page)
        self.assertEqual(server.state()["hits"]["init"], before)
        self.until(lambda: daemon.children() == [])
        self.broker(page, server)
        self.assertEqual(daemon.end()[0], 0)

    def test_commands_with_network_of_another_daemon_are_doubted_too(self):
        for flags in (("--shell-network", "allow"), ("--dangerously-disable-shell-sandbox",)):
            with self.subTest(flags):
                self.doubt_while_another_has_commands(*flags)

    def doubt_while_another_has_commands(self, *flags):
        if not has_boxes() and "--shell-network" in flags:
            self.skipTest("cannot sandbox commands on this machine")
        server, daemon, page = self.wait_for_page()
        # What that one keeps elsewhere makes no difference.
        _, other = self.connect("--permission-shell", "allow", *flags, "--state-dir",
                                self.place / "elsewhere")
        server.do("token")
        token = server.until_has("token")["token"]
        status, answer = page.connect(self.url(server), token)
        self.assertEqual(status, 403)
        self.assertIn("Commands with network", answer["error"])
        self.assertEqual(server.state()["hits"]["init"], 0)
        self.assertEqual(other.end()[0], 0)
        self.broker(page, server)
        _, other = self.connect("--permission-shell", "allow", *flags, "--state-dir",
                                self.place / "elsewhere")
        self.assertEqual(page.ask("POST", "/disconnect")[0], 403)
        other.process.kill()
        other.process.wait()
        self.until(lambda: page.ask("POST", "/disconnect")[0] == 200)
        self.assertEqual(daemon.wait()[0], 0)

    @unittest.skipUnless(has_boxes(), "cannot sandbox commands on this machine")
    def test_commands_with_network_of_an_mcp_server_are_doubted_too(self):
        server, daemon, page = self.wait_for_page()
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
                 "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                            "clientInfo": {"name": "test", "version": "1"}}}
        with subprocess.Popen(
                [GATEHOUSE, "mcp", "--permission-shell", "allow", "--shell-network", "allow",
                 self.root], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True,
                env={"HOME": str(self.home), "PATH": "/usr/bin:/bin"}) as other:
            other.stdin.write(json.dumps(hello) + "\n")
            other.stdin.flush()
            self.assertIn("result", json.loads(other.stdout.readline()))
            status, answer = page.connect(self.url(server), server.token)
            self.assertEqual(status, 403)
            self.assertIn("Commands with network", answer["error"])
        self.assertEqual(server.state()["hits"]["init"], 0)

        def is_connected():
            return page.connect(self.url(server), server.token)[0] == 200

        # It ends when nobody waits for its launcher: inside its walls it cannot.
        self.until(is_connected)
        self.assertEqual(daemon.end()[0], 0)

    def test_network_for_commands_that_are_denied_changes_nothing(self):
        server, daemon, page = self.wait_for_page("--permission-shell", "deny",
                                                  "--shell-network", "allow")
        self.broker(page, server)
        self.assertEqual(page.ask("POST", "/disconnect")[0], 200)
        self.assertEqual(daemon.wait()[0], 0)

    def test_what_was_allowed_for_a_session_is_over_with_it(self):
        server, daemon, page = self.wait_for_page("--permission-filesystem-write", "ask")
        change = {"filePath": "a.txt", "content": "new"}
        for _ in range(2):
            self.broker(page, server)
            self.question(server, "write_file", **change)
            self.good(server, "write_file", **change, _confirmation="allowForSession")
            self.good(server, "write_file", **change)
            server.do("dismiss")
            daemon.until("ended the session")
            server.until(streams=0)

    @unittest.skipUnless(has_boxes(), "cannot sandbox commands on this machine")
    def test_commands_are_run_in_each(self):
        server, daemon, page = self.wait_for_page("--permission-shell", "allow")
        for _ in range(3):
            self.broker(page, server)
            self.assertEqual(self.good(server, "shell_execute", command="cat a.txt")["stdout"],
                             "one\ntwo\n")
            server.do("dismiss")
            daemon.until("ended the session")
            server.until(streams=0)
        # Nothing that worked for them is left.
        self.until(lambda: daemon.children() == [])

    def test_a_session_from_before_that_is_over_makes_room(self):
        server = self.serve()
        daemon = self.daemon("--auto-confirm", "--keep-session", self.url(server), server.token,
                             self.root)
        server.until(streams=1)
        self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
        server.do("forget")
        daemon = self.daemon("--auto-confirm", "--keep-session", "--dir", self.root,
                             self.url(server))
        page = self.page(daemon, self.url(server))
        daemon.until("a new pairing token is needed")
        self.broker(page, server)
        self.good(server, "read_file", filePath="a.txt")

    def test_without_a_terminal_nobody_can_agree_to_another(self):
        server = self.serve()
        daemon = self.daemon("--auto-confirm", "--keep-session", self.url(server), server.token,
                             self.root)
        server.until(streams=1)
        self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
        daemon = self.daemon("--keep-session", "--dir", self.root, self.url(server))
        page = self.page(daemon, self.url(server))
        server.until(streams=1)
        server.do("dismiss")
        daemon.until("ended the session")
        server.do("token")
        status, answer = page.connect(self.url(server), server.until_has("token")["token"])
        self.assertEqual(status, 403)
        self.assertIn("no terminal", answer["error"])
        self.assertFalse(server.state()["connected"])


class Taken(PortScene):
    def test_a_port_that_is_taken_stops_only_who_needs_it(self):
        server, _, page = self.wait_for_page()
        daemon = self.daemon("--non-interactive", "--port", page.port, self.url(server))
        status, told = daemon.wait()
        self.assertEqual(status, 1, told)
        self.assertIn(f"port {page.port} is in use", told)
        self.assertIn("gatehouse status", told)
        daemon = self.daemon("--auto-confirm", "--port", page.port, self.url(server), server.token,
                             self.root)
        daemon.until(f"port {page.port} is in use")
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")
        # The port is still the first one's.
        self.assertFalse(page.get("/health")[1]["connected"])
        # Nobody could bring it another token.
        server.do("dismiss")
        status, told = daemon.wait()
        self.assertEqual(status, 0, told)
        self.assertIn("there is no local port on which", told)

    def test_without_a_port_a_session_that_was_forgotten_is_the_end(self):
        server, _, page = self.wait_for_page()
        daemon = self.daemon("--auto-confirm", "--port", page.port, self.url(server), server.token,
                             self.root)
        server.until(streams=1)
        server.do("forget")
        status, told = daemon.wait()
        self.assertEqual(status, 1, told)
        self.assertIn("start gatehouse connect again with a new token", told)


class Around(PortScene):
    def status(self, port, *flags):
        return subprocess.run([GATEHOUSE, "status", "--port", str(port), *flags], text=True,
                              env={"HOME": str(self.home), "PATH": "/usr/bin:/bin"},
                              capture_output=True, check=False, timeout=PATIENCE)

    def chosen(self, *flags):
        """A daemon on a port that was named, which another program may have taken meanwhile."""
        while True:
            number = free_port()
            try:
                return number, *self.wait_for_page("--port", number, *flags)
            except AssertionError as error:
                if "is in use" not in str(error):
                    raise

    def test_gatehouse_status_asks_this_daemon(self):
        server, daemon, page = self.wait_for_page()
        self.assertEqual(self.status(page.port).stdout,
                         f"Not connected; waiting for a page or a token.\nFolder: {self.root}\n")
        self.broker(page, server)
        told = json.loads(self.status(page.port, "--json").stdout)
        self.assertEqual((told["connected"], told["url"], told["dir"]),
                         (True, self.url(server), str(self.root)))
        self.assertEqual(daemon.end()[0], 0)
        self.assertIn("no daemon", self.status(page.port).stderr)

    def until_status(self, port, words):
        deadline = time.monotonic() + PATIENCE
        while words not in (told := self.status(port).stdout):
            self.assertLess(time.monotonic(), deadline, told)
            time.sleep(MOMENT)
        return told

    def test_a_server_that_is_away_is_not_told_as_connected(self):
        server, _, page = self.wait_for_page()
        self.broker(page, server)
        server.close()
        told = self.until_status(page.port, "reconnecting")
        self.assertIn(f"Not connected to {self.url(server)};", told)
        self.assertIn("Reason: ", told)
        self.assertFalse(page.get("/health")[1]["connected"])
        self.assertEqual(page.get("/status"), (200, {"connected": False, "dir": str(self.root),
                                                     "connectedAt": None, "url": None}))
        # Its session is there yet.
        self.assertEqual(page.connect(self.url(server), "gw_other")[0], 409)

    def test_a_session_that_is_forgotten_is_told_with_its_server(self):
        server, _, page = self.wait_for_page()
        self.broker(page, server)
        server.do("forget")
        told = self.until_status(page.port, "no longer accepts this session's key")
        self.assertIn(f"Not connected to {self.url(server)},", told)
        self.assertIn("Reason: 127.0.0.1", told)

    def test_the_log_is_kept_for_the_user_alone_and_has_no_token(self):
        number, server, daemon, page = self.chosen()
        self.broker(page, server)
        self.good(server, "read_file", filePath="a.txt")
        self.assertEqual(page.connect(self.url(server), "gw_second")[0], 409)
        self.assertEqual(daemon.end()[0], 0)
        log = self.record.parent / f"daemon-{number}.log"
        self.assertEqual(log.stat().st_mode & 0o777, 0o600)
        text = log.read_text()
        for words in ("waiting on the local port", "a page asks", "done tool=read_file",
                      "disconnected"):
            self.assertIn(words, text)
        self.assertNotRegex(text, r"gw_|sess_")
        log.unlink()
        *_, daemon, _ = self.chosen("--no-log-file")
        self.assertEqual(daemon.end()[0], 0)
        self.assertEqual(list(self.record.parent.glob("daemon-*.log")), [])

    def test_why_a_start_failed_is_kept_too(self):
        number, _, other, _ = self.chosen()
        self.assertEqual(other.end()[0], 0)
        server = self.serve()
        daemon = self.daemon("--auto-confirm", "--port", number, self.url(server), "gw_wrong",
                             self.root)
        status, told = daemon.wait()
        self.assertEqual(status, 1, told)
        kept = (self.record.parent / f"daemon-{number}.log").read_text()
        self.assertRegex(kept, "error exiting why=.*responded with 403")
        self.assertNotIn("exiting", told)

    def test_nothing_is_told_where_nothing_is_to_be(self):
        server, daemon = self.connect("--log-level", "silent")
        self.good(server, "read_file", filePath="a.txt")
        self.assertEqual(daemon.end(), (0, ""))

    def test_the_folder_shows_neither_log_nor_socket_to_tools(self):
        server, _, page = self.wait_for_page("--dir", self.home)
        server.do("token")
        self.assertEqual(
            page.connect(self.url(server), server.until_has("token")["token"])[0], 200)
        server.until(streams=1)
        self.error(server, "list_files", dirPath=".local/state/gatehouse")

    def test_a_service_manager_is_told(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.settimeout(PATIENCE)
            manager.bind(str(self.place / "notify"))

            def until(words):
                while words not in (told := manager.recv(4096).decode()):
                    pass
                return told

            server, daemon, page = self.wait_for_page(
                NOTIFY_SOCKET=str(self.place / "notify"), WATCHDOG_USEC="200000")
            until("READY=1")
            until("WATCHDOG=1")
            self.broker(page, server)
            self.assertIn(f"STATUS=Connected to {self.url(server)}", until("STATUS=Connected"))
            server.do("dismiss")
            until("STATUS=Not connected")
            self.assertEqual(daemon.end()[0], 0)
            until("STOPPING=1")

    def test_a_start_with_a_token_is_ready_when_it_is_connected(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.settimeout(PATIENCE)
            manager.bind(str(self.place / "notify"))
            server = self.serve()
            server.do("delay", endpoint="init", ms=300)
            self.daemon("--non-interactive", self.url(server), server.token, self.root,
                        NOTIFY_SOCKET=str(self.place / "notify"))
            while "READY=1" not in manager.recv(4096).decode():
                pass
            self.assertTrue(server.state()["connected"])

    def test_the_status_of_a_service_says_that_commands_have_no_boxes(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.settimeout(PATIENCE)
            manager.bind(str(self.place / "notify"))
            server = self.serve()
            self.daemon("--non-interactive", "--permission-shell", "allow",
                        "--dangerously-disable-shell-sandbox", self.url(server), server.token,
                        self.root, NOTIFY_SOCKET=str(self.place / "notify"))
            while "STATUS=Connected" not in (told := manager.recv(4096).decode()):
                pass
            self.assertIn("; commands run without a sandbox", told)


class Proxy:
    """Leads connections to a server of this machine, and keeps where they were to lead."""

    def __init__(self, leads_to):
        self.leads_to = leads_to
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.asked = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.lead, args=(client,), daemon=True).start()

    def lead(self, client):
        with client, socket.create_connection(("127.0.0.1", self.leads_to)) as server:
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(1)
            method, place, _ = head.decode().split(" ", 2)
            self.asked.append((method, place))
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            there = threading.Thread(target=self.pass_on, args=(client, server), daemon=True)
            there.start()
            self.pass_on(server, client)
            there.join()

    @staticmethod
    def pass_on(source, target):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                target.sendall(piece)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


class Encrypted(PortScene):
    def setUp(self):
        super().setUp()
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca",
                     "-addext", "basicConstraints=critical,CA:TRUE")
        (self.place / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:n8n.example\n")
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server")
        self.openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                     "-CAcreateserial", "-extfile", "names", "-out", "server.pem")

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.place, check=True, capture_output=True)

    def url(self, server):
        return f"https://127.0.0.1:{server.port}"

    def start(self, *flags, **variables):
        server = self.serve("--tls", self.place / "server.pem", self.place / "server.key")
        return server, self.daemon("--auto-confirm", *flags, self.url(server), server.token,
                                   self.root, **variables)

    def test_a_server_that_nobody_vouches_for_is_refused(self):
        server, daemon = self.start()
        status, told = daemon.wait()
        self.assertEqual(status, 1, told)
        self.assertIn("--ca-file", told)
        self.assertEqual(server.state()["hits"]["init"], 0)

    def test_authorities_of_the_user_count_besides_the_systems(self):
        server, daemon = self.start("--ca-file", self.place / "ca.pem")
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")
        self.assertEqual(daemon.end()[0], 0)

    def test_authorities_of_the_system_are_found_by_their_hash(self):
        trusted = self.place / "trusted"
        trusted.mkdir()
        (trusted / "ca.pem").write_text((self.place / "ca.pem").read_text())
        self.openssl("rehash", str(trusted))
        server, _ = self.start(SSL_CERT_DIR=str(trusted))
        server.until(streams=1)

    def test_the_way_leads_over_the_proxy_of_the_environment(self):
        server = self.serve("--tls", self.place / "server.pem", self.place / "server.key")
        proxy = Proxy(server.port)
        self.addCleanup(proxy.listener.close)
        daemon = self.daemon("--auto-confirm", "--ca-file", self.place / "ca.pem",
                             "https://n8n.example", server.token, self.root,
                             https_proxy=f"http://127.0.0.1:{proxy.port}")
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")
        self.assertEqual(daemon.end()[0], 0)
        self.assertEqual(set(proxy.asked), {("CONNECT", "n8n.example:443")})


class Consent(AtTerminal, PortScene):
    """Somebody is at the terminal, and a page asks."""

    flags = ()

    def wait_for_page(self, *flags, **more):
        return super().wait_for_page(*flags, TERM="dumb", **more)

    def ask(self, server, page):
        server.do("token")
        waiting = page.connect_later(self.url(server), server.until_has("token")["token"])
        self.see(self.url(server))
        return waiting

    def test_yes_connects(self):
        server, daemon, page = self.wait_for_page()
        waiting = self.ask(server, page)
        self.press_until(b"1\n", lambda: not waiting.is_alive())
        self.assertEqual(waiting.result(),
                         (200, {"status": "connected", "dir": str(self.root)}))
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")
        self.assertEqual(daemon.end()[0], 0)

    def test_what_commands_with_network_could_have_sent_is_asked_about(self):
        server, daemon, page = self.wait_for_page("--auto-confirm", "--permission-shell", "allow",
                                                  "--shell-network", "allow")
        self.broker(page, server)
        server.do("forget")
        daemon.until("a new pairing token is needed")
        self.until(lambda: not page.get("/health")[1]["connected"])
        before = server.state()["hits"]["init"]
        waiting = self.ask(server, page)
        self.assertEqual(server.state()["hits"]["init"], before)
        self.press_until(b"1\n", lambda: not waiting.is_alive())
        self.assertEqual(waiting.result()[0], 200)

    def test_no_is_told_to_the_page_and_is_the_end(self):
        server, daemon, page = self.wait_for_page()
        waiting = self.ask(server, page)
        self.press_until(b"\n", lambda: not waiting.is_alive())
        self.assertEqual(waiting.result(), (403, {"error": "The user said no."}))
        self.assertEqual(daemon.wait()[0], 0)
        self.assertEqual(server.state()["hits"]["init"], 0)

    def test_one_question_at_a_time(self):
        server, daemon, page = self.wait_for_page()
        waiting = self.ask(server, page)
        status, answer = page.connect(self.url(server), "gw_other")
        self.assertEqual(status, 409)
        self.assertIn("on screen", answer["error"])
        self.assertTrue(waiting.is_alive())
        self.assertEqual(daemon.end()[0], 0)

    def test_the_question_of_a_start_is_one_too(self):
        server = self.serve()
        daemon = self.daemon(self.url(server), server.token, self.root, TERM="dumb")
        page = self.page(daemon, self.url(server))
        self.see(str(self.root))
        self.assertEqual(page.connect(self.url(server), "gw_other")[0], 409)

    def test_a_page_that_leaves_takes_its_question_along(self):
        server, _, page = self.wait_for_page()
        self.ask_and_stay(server, page).close()
        self.see("Withdrawn")
        self.shown.clear()
        waiting = self.ask(server, page)
        self.press_until(b"1\n", lambda: not waiting.is_alive())
        self.assertEqual(waiting.result()[0], 200)

    def ask_and_stay(self, server, page):
        """A page whose question is on screen: its connection, which ends when the page leaves."""
        body = json.dumps({"url": self.url(server), "token": server.token})
        left = socket.create_connection(("127.0.0.1", page.port), PATIENCE)
        left.sendall(f"POST /connect HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n"
                     f"Origin: {page.origin}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        self.see(self.url(server))
        return left

    def test_a_server_that_opens_no_stream_keeps_nobody_out(self):
        server, daemon, page = self.wait_for_page()
        server.do("fail", endpoint="events", status=503, count=1000)
        with self.ask_and_stay(server, page):
            self.press_until(b"1\n", lambda: server.state()["hits"]["events"] > 0)
            daemon.until("retrying")
            self.shown.clear()
        waiting = page.connect_later(self.url(server), "gw_other")

        def is_asked():
            nonlocal waiting
            if not waiting.is_alive():  # it came before the daemon knew that the other has left
                waiting = page.connect_later(self.url(server), "gw_other")
            return self.url(server).encode() in self.shown

        self.until(is_asked)
        self.assertEqual(daemon.end()[0], 0)

    def type_until_seen(self, line, text):
        self.press_until(f"{line}\n".encode(), lambda: text.encode() in self.shown)

    def end_session(self, server, daemon):
        server.do("dismiss")
        daemon.until("ended the session")
        server.until(streams=0)
        self.shown.clear()

    @unittest.skipUnless(has_boxes(), "cannot sandbox commands on this machine")
    def test_what_is_edited_is_for_that_session_alone(self):
        other = self.place / "other"
        other.mkdir()
        (other / "b.txt").write_text("three")
        server, daemon, page = self.wait_for_page()
        waiting = self.ask(server, page)
        self.press_until(b"1\n", lambda: not waiting.is_alive())
        self.assertEqual(waiting.result()[1]["dir"], str(self.root))
        server.until(streams=1)
        self.assertNotIn("shell_execute", self.tools(server))
        self.end_session(server, daemon)

        waiting = self.ask(server, page)
        self.type_until_seen("2", "Permissions and folder")
        self.type_until_seen("3 allow", "3 Run commands            Allow")
        self.type_until_seen(f"dir {other}", f'Folder "{other}"')
        self.shown.clear()
        self.type_until_seen("done", "Connect to this server?")
        self.press_until(b"1\n", lambda: not waiting.is_alive())
        self.assertEqual(waiting.result()[1]["dir"], str(other))
        server.until(streams=1)
        self.assertEqual(self.good(server, "shell_execute", command="cat b.txt")["stdout"], "three")
        self.end_session(server, daemon)

        waiting = self.ask(server, page)
        self.see(str(self.root))
        self.see("Run commands            Deny")
        self.assertEqual(daemon.end()[0], 0)

    def test_each_session_is_agreed_to(self):
        server, daemon, page = self.wait_for_page()
        for _ in range(2):
            self.shown.clear()
            waiting = self.ask(server, page)
            self.press_until(b"1\n", lambda waiting=waiting: not waiting.is_alive())
            self.assertEqual(waiting.result()[0], 200)
            server.until(streams=1)
            self.end_session(server, daemon)


# What is in a folder of ours takes the place of what is in /usr/bin, for one program alone.
INSTEAD = ["unshare", "--mount", "--", "sh", "-c",
           'mount -t overlay overlay -o "lowerdir=$0:/usr/bin" /usr/bin && exec "$@"']


def can_replace_programs():
    return subprocess.run([*INSTEAD, "/usr/lib", "true"], capture_output=True,
                          check=False).returncode == 0


@unittest.skipUnless(can_replace_programs(), "only root can put a program in the place of another")
class Desktop(AtTerminal, PortScene):
    """Somebody is at the terminal, and looks at something else."""

    flags = ()

    def setUp(self):
        super().setUp()
        programs = self.place / "programs"
        programs.mkdir()
        self.write_program(programs / "notify-send", 'printf "%s\\n" "$*" >>"$HOME/notes"')
        words = shlex.join([*INSTEAD, str(programs), str(GATEHOUSE)])
        self.write_program(self.place / "gatehouse", f'exec {words} "$@"')
        daemon_scene.GATEHOUSE = self.place / "gatehouse"
        self.addCleanup(setattr, daemon_scene, "GATEHOUSE", GATEHOUSE)

    def write_program(self, path, words):
        path.write_text(f"#!/bin/sh\n{words}\n")
        path.chmod(0o755)

    def notes(self):
        notes = self.home / "notes"
        return notes.read_text() if notes.exists() else ""

    def question_twice(self, *flags, **variables):
        """Once before connecting and once before a call."""
        server, daemon, page = self.wait_for_page(
            "--permission-filesystem-write", "ask", *flags, TERM="dumb",
            DBUS_SESSION_BUS_ADDRESS="unix:path=/nowhere", **variables)
        server.do("token")
        waiting = page.connect_later(self.url(server), server.until_has("token")["token"])
        self.press_until(b"1\n", lambda: not waiting.is_alive())
        self.assertEqual(waiting.result()[0], 200)
        server.until(streams=1)
        called = server.call("write_file", filePath="a.txt", content="x")
        self.see("write_file")
        return server, daemon, called

    def test_a_note_says_that_a_question_waits(self):
        server, daemon, called = self.question_twice()
        self.until(lambda: self.notes().count("\n") == 2)
        connect, call = self.notes().splitlines()
        self.assertIn(f"-- Gatehouse: connect? {self.url(server)}", connect)
        self.assertRegex(call, "-- Gatehouse: a question is waiting .*a.txt")
        self.assertNotIn("isError", self.answer(server, b"2\n", called))
        self.assertEqual(daemon.end()[0], 0)

    def test_none_where_none_is_wanted(self):
        for flags, variables in ((("--no-notifications",), {}),
                                 ((), {"GATEHOUSE_NOTIFICATIONS": "no"})):
            del self.shown[:]
            server, daemon, called = self.question_twice(*flags, **variables)
            self.assertNotIn("isError", self.answer(server, b"2\n", called))
            self.assertEqual(daemon.end()[0], 0)
            self.assertEqual(self.notes(), "")


if __name__ == "__main__":
    daemon_scene.main()
