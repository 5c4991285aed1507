#!/usr/bin/env python3
"""Previews of ports of sandboxes, over HTTP and WebSocket, as clients and as attackers on either side see them.

    test_sandboxd_preview.py GATEHOUSE WITHOUT_SYSCALL [--as-user] [--sanitized]
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import socket
import sys
import tempfile
import threading
import unittest
import urllib.parse

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from sandboxd_scene import PATIENCE, Scene, Service, Unavailable, remove

# What an ordinary user cannot have is not needed for previews.
IS_ROOT = os.geteuid() == 0
WEAKER = () if IS_ROOT else ("--allow-weaker",)

PAGE = r"""
import http.server, json, sys

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        length = self.headers.get("Content-Length")
        total = len(self.rfile.read(int(length))) if length else 0
        while self.headers.get("Transfer-Encoding") == "chunked":
            size = int(self.rfile.readline(), 16)
            total += len(self.rfile.read(size))
            self.rfile.readline()
            if size == 0:
                break
        if self.path.startswith("/big"):
            self.send_response(200)
            self.send_header("Content-Length", str(64 << 20))
            self.end_headers()
            for _ in range(1024):
                self.wfile.write(bytes(64 << 10))
            return
        text = json.dumps({"method": self.command, "path": self.path, "name": sys.argv[2], "size": total,
                           "headers": self.headers.items()}).encode()
        self.send_response(302 if self.path == "/move" else 204 if self.path == "/none" else 200)
        self.send_header("Location", "/moved")
        self.send_header("Set-Cookie", "a=b; Path=/")
        self.send_header("Set-Cookie", "c=d; Domain=example")
        self.send_header("Strict-Transport-Security", "max-age=9")
        self.send_header("Service-Worker-Allowed", "/")
        self.send_header("Connection", "x-hop")
        self.send_header("X-Hop", "1")
        self.send_header("X-Own", "kept")
        if self.path != "/none":
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD" and self.path != "/none":
            self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = answer

    def log_message(self, *arguments):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("ready", flush=True)
server.serve_forever()
"""

# Says to whom connects, after the head of the request, what its argument has at the number that is the path.
RAW = r"""
import socket, sys, threading, ast
what = ast.literal_eval(sys.argv[2])
server = socket.create_server(("0.0.0.0", int(sys.argv[1])))
print("ready", flush=True)
def serve(client):
    head = b""
    while b"\r\n\r\n" not in head:
        piece = client.recv(65536)
        if not piece:
            return
        head += piece
    client.sendall(what[int(head.split()[1][1:] or 0)])
    while sys.argv[3] == "echo" and (piece := client.recv(65536)):
        client.sendall(piece)
    if sys.argv[3] == "stay":
        client.recv(1)
    client.close()
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""

UPGRADED = (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: x\r\nSet-Cookie: a=b\r\n\r\nhello")


# What RAW says at port 3001, and then waits.
STAYING = [b"", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
           b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n"]


class Previews(Scene):
    """Most tests share a service, and a sandbox whose port 3000 has PAGE and whose port 3001 has RAW."""

    shared = None
    page = None  # the sandbox

    @classmethod
    def setUpClass(cls):
        Scene.gatehouse = mcp_client.GATEHOUSE
        room = tempfile.mkdtemp(dir="/var/tmp")
        cls.addClassCleanup(remove, room)
        try:
            cls.shared = Service(cls.gatehouse, pathlib.Path(room) / "state", *WEAKER)
        except Unavailable as missing:
            raise unittest.SkipTest(f"this machine cannot isolate sandboxes: {missing}")
        cls.addClassCleanup(cls.shared.close)

    @classmethod
    def tearDownClass(cls):
        # Nothing is left of all those connections, or the sanitizers would say so.
        assert cls.shared.end() == 0, cls.shared.process.stderr.read()

    def setUp(self):
        super().setUp()
        self.service = self.shared
        if Previews.page is None:
            Previews.page = self.sandbox()
            self.run_server(self.page, PAGE, 3000, "one")
            self.run_server(self.page, RAW, 3001, STAYING, "stay")

    def begin(self, *arguments):
        """A service of its own."""
        self.service = self.serve(*WEAKER, *arguments)

    def api(self, method, path, body=None, key=None, **query):
        return self.service.ask(method, "/api" + path, body, key=key, **query)

    def sandbox(self, key=None, **fields):
        status, _, record = self.api("POST", "/sandbox", fields, key=key)
        self.assertEqual(status, 200, record)
        return record["id"]

    def run_server(self, sandbox, script, *arguments, key=None):
        """Started in the background, and it listens when this returns."""
        words = " ".join("'" + str(word).replace("'", "'\\''") + "'" for word in (script, *arguments))
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request("POST", f"/sandboxes/{sandbox}/executions",
                           json.dumps({"command": f"exec python3 -c {words}"}),
                           {"X-Api-Key": key or self.service.key})
        answer = connection.getresponse()
        for line in iter(answer.readline, b""):
            if b"ready" in line:
                return
            self.assertNotIn(b'"exit"', line)

    def url(self, sandbox, port, key=None):
        status, _, found = self.api("GET", f"/sandbox/{sandbox}/ports/{port}/preview-url", key=key)
        self.assertEqual(status, 200, found)
        self.assertEqual(found["sandboxId"], sandbox)
        return urllib.parse.urlsplit(found["url"]).path, found["token"]

    def signed(self, sandbox, port, **query):
        status, _, found = self.api("GET", f"/sandbox/{sandbox}/ports/{port}/signed-preview-url", **query)
        self.assertEqual(status, 200, found)
        self.assertEqual((found["sandboxId"], found["port"]), (sandbox, port))
        return urllib.parse.urlsplit(found["url"]).path, found["token"]

    def get(self, path, headers=None, method="GET", body=None):
        return self.service.ask(method, path, body, key="", headers=headers)

    def upgrade(self, path):
        client = socket.create_connection(("127.0.0.1", self.service.port), timeout=PATIENCE)
        self.addCleanup(client.close)
        client.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.service.port}\r\nUpgrade: websocket\r\n"
                        "Connection: keep-alive, Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                        "Sec-WebSocket-Version: 13\r\n\r\n").encode())
        return client

    def read(self, client, marker):
        text = b""
        while marker not in text:
            piece = client.recv(65536)
            if not piece:
                break
            text += piece
        return text

    # ---- what passes ----

    def test_a_request_reaches_the_port_without_what_is_not_its(self):
        sandbox = self.page
        path, token = self.url(sandbox, 3000)
        status, headers, seen = self.get(
            path + "/a%20b/?x=1&DAYTONA_SANDBOX_AUTH_KEY=" + token + "&y=%20", {
                "Authorization": "Bearer " + self.service.key, "X-Api-Key": self.service.key,
                "Cookie": "session=secret", "Referer": self.service.url + path, "X-Mine": "kept",
                "X-Daytona-Anything": "1", "Connection": "x-listed", "X-Listed": "1", "X-Forwarded-For": "9.9.9.9"})
        self.assertEqual(status, 200, seen)
        self.assertEqual(seen["path"], "/a%20b/?x=1&y=%20")
        sent = {name.lower(): text for name, text in seen["headers"]}
        self.assertEqual(sent["host"], "localhost:3000")
        self.assertEqual(sent["x-forwarded-host"], f"127.0.0.1:{self.service.port}")
        self.assertEqual(sent["x-mine"], "kept")
        self.assertEqual(set(sent) & {"authorization", "x-api-key", "cookie", "referer", "x-listed",
                                      "x-daytona-anything", "x-forwarded-for", "x-daytona-preview-token"}, set())
        self.assertNotIn(self.service.key, json.dumps(seen))
        self.assertNotIn(token, json.dumps(seen))
        self.assertEqual(headers["X-Own"], "kept")
        for name in ("Set-Cookie", "Strict-Transport-Security", "Service-Worker-Allowed", "X-Hop"):
            self.assertNotIn(name, headers)
        # A key of somebody else's is the sandbox's own business.
        seen = self.get(path + "/", {"X-Daytona-Preview-Token": token, "Authorization": "Bearer of-the-app",
                                     "X-Api-Key": "of-the-app"})[2]
        sent = {name.lower(): text for name, text in seen["headers"]}
        self.assertEqual((sent["authorization"], sent["x-api-key"]), ("Bearer of-the-app", "of-the-app"))

    def test_methods_bodies_and_redirections(self):
        sandbox = self.page
        path, _ = self.signed(sandbox, 3000)
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            status, _, seen = self.get(path + "/x", method=method, body="hello" * 100)
            self.assertEqual((status, seen["method"], seen["size"]), (200, method, 500))
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("HEAD", path + "/x")
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.read()), (200, b""))
        self.assertEqual(self.get(path + "/none")[0], 204)
        status, headers, _ = self.get(path + "/move")
        self.assertEqual((status, headers["Location"]), (302, path + "/moved"))
        status, headers, _ = self.get(path + "?a=b")
        self.assertEqual((status, headers["Location"]), (308, path + "/?a=b"))
        # A body of unknown length, larger than what is kept of it.
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("POST", path + "/", (b"x" * (256 << 10) for _ in range(40)), {}, encode_chunked=True)
            answer = json.load(connection.getresponse())
            self.assertEqual(answer["size"], 10 << 20)
            # The same connection may ask for something else then.
            connection.request("GET", path + "/again")
            self.assertEqual(json.load(connection.getresponse())["path"], "/again")

    def test_a_large_answer_waits_for_its_reader_and_memory_stays_flat(self):
        sandbox = self.page
        path, _ = self.signed(sandbox, 3000)
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request("GET", path + "/big")
        answer = connection.getresponse()
        size = 0
        while piece := answer.read(1 << 20):
            size += len(piece)
        self.assertEqual(size, 64 << 20)
        status = pathlib.Path(f"/proc/{self.service.process.pid}/status").read_text()
        if not self.is_sanitized:
            self.assertLess(int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]), 40 << 10)

    def test_a_websocket_is_passed_on_both_ways(self):
        sandbox = self.sandbox()
        self.run_server(sandbox, RAW, 3000, [UPGRADED], "echo")
        path, _ = self.signed(sandbox, 3000)
        client = self.upgrade(path + "/0")
        text = self.read(client, b"hello")
        self.assertTrue(text.startswith(b"HTTP/1.1 101 "), text)
        self.assertNotIn(b"Set-Cookie", text)
        self.assertTrue(text.endswith(b"\r\n\r\nhello"), text)
        # More than all buffers on the way, so each side has to wait for the other.
        sent = bytes(range(256)) * (16 << 10)
        writer = threading.Thread(target=client.sendall, args=(sent,))
        writer.start()
        got = bytearray()
        while len(got) < len(sent):
            piece = client.recv(1 << 20)
            self.assertTrue(piece)
            got += piece
        writer.join(PATIENCE)
        self.assertEqual(bytes(got), sent)
        # It ends with its sandbox.
        self.assertEqual(self.api("POST", f"/sandbox/{sandbox}/stop")[0], 200)
        self.assertEqual(client.recv(1), b"")

    def test_a_page_may_have_a_host_of_its_own(self):
        self.begin("--preview-url", "https://preview.example")
        sandbox = self.sandbox()
        self.run_server(sandbox, PAGE, 3000, "one")
        _, _, found = self.api("GET", f"/sandbox/{sandbox}/ports/3000/signed-preview-url")
        self.assertEqual(found["url"], f"https://3000-{found['token']}.preview.example")
        status, headers, seen = self.get("/x?y", {"Host": f"3000-{found['token']}.preview.example",
                                                  "Cookie": "a=b", "Origin": "https://any.example"})
        self.assertEqual((status, seen["path"]), (200, "/x?y"))
        self.assertIn(["Cookie", "a=b"], seen["headers"])
        # Cookies of its own, but none for its neighbours.
        self.assertEqual(headers.get_all("Set-Cookie"), ["a=b; Path=/"])
        self.assertEqual(headers["Location"], "/moved")
        for host in (f"3001-{found['token']}.preview.example", "3000-x.preview.example", "preview.example",
                     f"3000-{found['token']}.preview.example.evil"):
            self.assertIn(self.get("/x", {"Host": host})[0], (401, 403, 404), host)

    # ---- who may ----

    def test_only_a_valid_token_opens_a_port(self):
        first, second = self.page, self.sandbox()
        self.run_server(second, PAGE, 3000, "two")
        path, token = self.url(first, 3000)
        other_path, other_token = self.url(second, 3000)
        self.assertEqual(self.get(path + "/")[0], 401)
        self.assertEqual(self.get(path + "/", {"X-Daytona-Preview-Token": other_token})[0], 401)
        self.assertEqual(self.get(path + "/", {"X-Api-Key": self.service.key})[0], 401)
        self.assertEqual(self.get(path + "/", {"X-Daytona-Preview-Token": token})[2]["name"], "one")
        self.assertEqual(self.get(other_path + "/", {"X-Daytona-Preview-Token": other_token})[2]["name"], "two")
        signed, ticket = self.signed(first, 3000)
        self.assertEqual(self.get(signed + "/")[2]["name"], "one")
        for wrong in (signed[:-1], signed[:-1] + ("b" if signed[-1] != "b" else "c"), signed.upper(),
                      signed.replace("3000-", "3001-"), signed.replace("3000-", "03000-"), "/preview/3000-",
                      "/preview/", "/preview/x-y", "/preview/99999-" + ticket, "/preview/0-" + ticket,
                      "/preview/3000-" + first[:-1], "/preview/3000-" + "0" * 8 + first[8:]):
            self.assertIn(self.get(wrong + "/")[0], (400, 401, 404), wrong)
        # A path that only decodes to one is none.
        self.assertIn(self.get(signed.replace("/preview/", "/%70review/") + "/")[0], (401, 404))
        # Not for another name of this machine.
        self.assertEqual(self.get(signed + "/", {"Host": "evil.example"})[0], 403)
        # Expired by hand.
        expire = f"/sandbox/{first}/ports/3000/signed-preview-url/{ticket}/expire"
        self.assertEqual(self.api("POST", expire.replace("3000", "3001"))[0], 404)
        self.assertEqual(self.api("POST", expire)[0], 204)
        self.assertEqual(self.get(signed + "/")[0], 401)
        self.assertEqual(self.get(self.signed(first, 3000, expiresInSeconds=100)[0] + "/")[0], 200)
        for wrong in ("0", "-1", "86401", "x", ""):
            self.assertEqual(self.api("GET", f"/sandbox/{first}/ports/3000/signed-preview-url",
                                      expiresInSeconds=wrong)[0], 400, wrong)
        for wrong in ("0", "65536", "x", "-1", "3000x"):
            self.assertEqual(self.api("GET", f"/sandbox/{first}/ports/{wrong}/preview-url")[0], 400, wrong)

    def test_a_public_sandbox_needs_no_token(self):
        sandbox = self.sandbox(public=True)
        self.run_server(sandbox, PAGE, 3000, "one")
        self.assertEqual(self.get(self.url(sandbox, 3000)[0] + "/")[2]["name"], "one")

    def test_tenants_do_not_see_each_others_ports(self):
        keys = [self.service.ask("POST", "/admin/tenants", {"create_key": True})[2]["key"]["api_key"]
                for _ in range(2)]
        sandbox = self.sandbox(key=keys[0])
        self.run_server(sandbox, PAGE, 3000, "one", key=keys[0])
        for key in (keys[1], None):
            for end in ("preview-url", "signed-preview-url"):
                self.assertEqual(self.api("GET", f"/sandbox/{sandbox}/ports/3000/{end}", key=key)[0], 404)
        path, token = self.url(sandbox, 3000, key=keys[0])
        # Neither the key of its owner nor that of the other is passed on.
        seen = self.get(path + "/", {"X-Daytona-Preview-Token": token, "X-Api-Key": keys[1],
                                     "Authorization": "bearer " + keys[0]})[2]
        self.assertNotIn("sbk_", json.dumps(seen))

    def test_a_token_does_not_outlive_its_sandbox(self):
        """Clients may choose an id, and so take that of a sandbox which is gone."""
        keys = [self.service.ask("POST", "/admin/tenants", {"create_key": True})[2]["key"]["api_key"]
                for _ in range(2)]
        sandbox = self.sandbox(key=keys[0])
        path, token = self.url(sandbox, 3000, key=keys[0])
        signed, _ = self.signed(sandbox, 3000, key=keys[0])
        self.assertEqual(self.api("DELETE", f"/sandbox/{sandbox}", key=keys[0])[0], 200)
        self.assertEqual(self.service.ask("POST", "/sandboxes", {"id": sandbox}, key=keys[1])[0], 201)
        self.assertEqual(self.get(path + "/", {"X-Daytona-Preview-Token": token})[0], 401)
        self.assertEqual(self.get(signed + "/")[0], 401)

    def test_stopped_and_deleted_sandboxes_answer_so(self):
        sandbox = self.sandbox()
        path, token = self.url(sandbox, 3000)
        signed, _ = self.signed(sandbox, 3000)
        right = {"X-Daytona-Preview-Token": token}
        status, _, answer = self.get(path + "/", right)
        self.assertEqual((status, answer["statusCode"]), (502, 502))  # nobody listens
        self.assertEqual(self.api("POST", f"/sandbox/{sandbox}/stop")[0], 200)
        for each, headers in ((path, right), (signed, {})):
            status, _, answer = self.get(each + "/", headers)
            self.assertEqual(status, 400)
            self.assertIn("not running", answer["message"])
        # It was not woken.
        self.assertEqual(self.api("GET", f"/sandbox/{sandbox}")[2]["state"], "stopped")
        self.assertEqual(self.api("DELETE", f"/sandbox/{sandbox}")[0], 200)
        for each, headers in ((path, right), (signed, {})):
            self.assertEqual(self.get(each + "/", headers)[0], 401)
        self.assertEqual(self.get(path + "/")[0], 401)
        self.assertEqual(self.api("GET", f"/sandbox/{sandbox}/ports/3000/preview-url")[0], 404)

    def test_a_token_survives_the_service_and_a_signed_url_does_not(self):
        self.begin()
        sandbox = self.sandbox()
        path, token = self.url(sandbox, 3000)
        signed, _ = self.signed(sandbox, 3000)
        self.assertEqual(self.service.end(), 0)
        self.begin()
        self.assertEqual(self.get(path + "/", {"X-Daytona-Preview-Token": token})[0], 400)
        self.assertEqual(self.get(signed + "/")[0], 401)

    # ---- what attackers try ----

    def test_no_port_leads_to_the_host(self):
        sandbox = self.page
        with socket.create_server(("127.0.0.1", 0)) as listener:
            for port in (listener.getsockname()[1], self.service.port):
                self.assertEqual(self.get(self.signed(sandbox, port)[0] + "/")[0], 502)
            listener.settimeout(0)
            self.assertRaises(BlockingIOError, listener.accept)

    def test_what_a_sandbox_says_cannot_hurt(self):
        sandbox = self.page
        samples = [
            b"no HTTP at all\r\n\r\n", b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", b"HTTP/1.1 200 OK\r\n X: folded\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX: " + b"y" * 40000 + b"\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
            b"HTTP/1.1 100 Continue\r\n\r\n" * 100, b"HTTP/1.1 200 OK\r\n", b"",
        ]
        halves = [b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf",
                  b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"]
        self.run_server(sandbox, RAW, 4000, samples + halves, "close")
        path, _ = self.signed(sandbox, 4000)
        for index, sample in enumerate(samples):
            self.assertEqual(self.get(f"{path}/{index}")[0], 502, sample[:60])
        # An answer that breaks off is seen to be incomplete.
        for index in range(2):
            self.assertRaises(http.client.IncompleteRead, self.get, f"{path}/{len(samples) + index}")
        # An answer before the question's end, and bytes behind the answer, which are nobody's.
        self.assertEqual(self.get(self.signed(sandbox, 3001)[0] + "/2", method="POST", body=b"x" * 100000)[2], b"ok")
        self.assertEqual(self.service.ask("GET", "/healthz")[0], 200)

    @unittest.skipUnless(IS_ROOT, "only root sees the service's files")
    def test_clients_that_leave_or_lie_leave_nothing_behind(self):
        path, _ = self.signed(self.page, 3001)
        before = len(list(pathlib.Path(f"/proc/{self.service.process.pid}/fd").iterdir()))
        clients = []
        for _ in range(20):
            client = socket.create_connection(("127.0.0.1", self.service.port), timeout=PATIENCE)
            client.sendall(f"POST {path}/0 HTTP/1.1\r\nHost: 127.0.0.1:{self.service.port}\r\n"
                           "Content-Length: 1000\r\n\r\nhalf".encode())
            clients.append(client)
        for client in clients:
            client.close()
        # One that never ends its head, one that changes to something else, and a target that is no path.
        for request in ("GET {p}/ HTTP/1.1\r\nHost: {h}\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
                        "GET http://{h}{p}/ HTTP/1.1\r\nHost: {h}\r\n\r\n",
                        "POST {p}/ HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
            client = socket.create_connection(("127.0.0.1", self.service.port), timeout=PATIENCE)
            client.sendall(request.format(p=path, h=f"127.0.0.1:{self.service.port}").encode())
            client.close()
        self.wait_for(lambda: len(list(pathlib.Path(f"/proc/{self.service.process.pid}/fd").iterdir())) <= before)

    @unittest.skipUnless(IS_ROOT, "a sandbox of an ordinary user has fewer threads than this needs")
    def test_one_sandbox_has_only_so_many_connections(self):
        crowded = self.sandbox()  # to which nobody else's connection counts, as one that is just ending
        self.run_server(crowded, RAW, 3001, STAYING, "stay")
        path, _ = self.signed(crowded, 3001)
        path += "/1"
        clients = []
        for _ in range(128):
            client = socket.create_connection(("127.0.0.1", self.service.port), timeout=PATIENCE)
            self.addCleanup(client.close)
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.service.port}\r\n\r\n".encode())
            clients.append(client)
        for client in clients:
            self.assertIn(b" 200 ", self.read(client, b"hi\r\n"))
        self.assertEqual(self.get(path)[0], 503)
        self.assertEqual(self.get(self.signed(self.page, 3000)[0] + "/")[0], 200)
        for client in clients:
            client.close()
        self.wait_for(lambda: self.get(self.signed(crowded, 3000)[0] + "/")[0] == 502)  # nobody listens there

    def wait_for(self, condition):
        """Asks the service something until it holds: each answer is a turn of its loop."""
        for _ in range(100000):
            if condition():
                return
            self.assertEqual(self.service.ask("GET", "/healthz")[0], 200)
        self.fail("it never holds")


def main():
    Previews.is_sanitized = "--sanitized" in sys.argv
    if Previews.is_sanitized:
        sys.argv.remove("--sanitized")
    mcp_client.main()


if __name__ == "__main__":
    main()
