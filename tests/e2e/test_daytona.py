#!/usr/bin/env python3
"""The Daytona API of the sandbox service, by requests: tenants, bad input, and what its clients do not show.

    test_daytona.py GATEHOUSE
"""
import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import pathlib
import socket
import struct
import sys
import threading
import time
import unittest
import urllib.parse

sys.dont_write_bytecode = True  # not into the sources
from sandboxd_scene import PATIENCE, Scene
from daytona_scene import DaytonaScene, WebSocket


class Daytona(DaytonaScene):
    # ---- tenants ----

    def test_a_tenant_never_sees_anothers(self):
        sandbox = self.create(name="mine")
        logs = self.session(sandbox, "cat")
        self.execute(sandbox, "echo secret > file")
        for method, path, body in [
                ("GET", f"/api/sandbox/{sandbox}", None), ("GET", "/api/sandbox/mine", None),
                ("DELETE", f"/api/sandbox/{sandbox}", None), ("POST", f"/api/sandbox/{sandbox}/stop", None),
                ("POST", f"/api/sandbox/{sandbox}/start", None),
                ("PUT", f"/api/sandbox/{sandbox}/labels", {"labels": {}}),
                ("POST", f"/api/sandbox/{sandbox}/autostop/1", None),
                ("POST", f"/api/sandbox/{sandbox}/last-activity", None),
                ("GET", f"/api/sandbox/{sandbox}/signing-key", None),
                ("POST", f"/api/sandbox/{sandbox}/signing-key/rotate", None),
                ("GET", f"/toolbox/{sandbox}/files/download?path=file", None),
                ("POST", f"/toolbox/{sandbox}/files/upload-v2?path=file", None),
                ("GET", f"/api/sandbox/{sandbox}/toolbox-proxy-url", None),
                ("POST", f"/toolbox/{sandbox}/process/execute", {"command": "true"}),
                ("POST", f"/toolbox/{sandbox}/process/code-run", {"code": "1", "language": "python"}),
                ("GET", f"/toolbox/{sandbox}/process/session", None), ("GET", logs, None),
                ("GET", logs + "/logs", None), ("POST", logs + "/input", {"data": "x"}),
                ("GET", f"/toolbox/{sandbox}/process/pty", None),
                ("GET", f"/toolbox/{sandbox}/files", None), ("GET", f"/toolbox/{sandbox}/files/info?path=file", None),
                ("POST", f"/toolbox/{sandbox}/files/bulk-download", {"paths": ["file"]}),
                ("POST", f"/toolbox/{sandbox}/files/replace", {"files": [], "pattern": "x", "newValue": ""}),
                ("GET", f"/toolbox/{sandbox}/files/find?path=/&pattern=secret", None)]:
            with self.subTest(method=method, path=path):
                self.refused(404, self.ask(method, path, body, tenant=1))
                self.refused(401, self.service.ask(method, path, body, key="", headers={"Authorization": "Bearer wrong"}))
        status, _, _ = self.upload(sandbox, [("files[0].path", b"file"), ("files[0].file", b"changed")], tenant=1)
        self.assertEqual(status, 404)
        for path in (logs + "/logs?follow=true", f"/toolbox/{sandbox}/process/pty/create-connect?id=x"):
            with contextlib.closing(WebSocket(self.service.port, path, self.keys[1])) as client:
                self.assertEqual(client.status, 404)
        self.assertEqual(self.execute(sandbox, "cat file"), "secret\n")
        self.assertEqual(self.ask("GET", "/api/sandbox", tenant=1)[2], {"items": [], "nextCursor": None})

    def test_quotas_hold_for_both_apis(self):
        self.keys.append(self.new_tenant("small", max_sandboxes=1))
        self.create(tenant=2)
        self.refused(403, self.ask("POST", "/api/sandbox", {}, tenant=2))
        self.assertEqual(self.service.ask("POST", "/sandboxes", key=self.keys[2])[0], 403)

    def test_both_apis_see_the_same_sandbox(self):
        sandbox = self.service.create(key=self.keys[0])
        record = self.ask("GET", f"/api/sandbox/{sandbox}")[2]
        self.assertEqual((record["name"], record["state"]), (sandbox, "started"))
        self.execute(sandbox, "echo both > file")
        status, _, text = self.service.ask("GET", f"/sandboxes/{sandbox}/files/content", key=self.keys[0],
                                           path="/home/user/file")
        self.assertEqual((status, text), (200, b"both\n"))

    def test_details_outlive_the_service(self):
        sandbox = self.create(name="kept", labels={"a": "b"}, env={"WORD": "kept"}, autoStopInterval=3)
        self.service.end()
        self.service = self.serve()
        record = self.ask("GET", "/api/sandbox/kept")[2]
        self.assertEqual((record["id"], record["labels"], record["autoStopInterval"], record["state"]),
                         (sandbox, {"a": "b"}, 3, "stopped"))
        self.refused(409, self.ask("POST", f"/toolbox/{sandbox}/process/execute", {"command": "true"}), "not running")
        self.assertEqual(self.ask("POST", "/api/sandbox/kept/start")[2]["state"], "started")
        self.assertEqual(self.execute(sandbox, "echo $WORD"), "kept\n")

    # ---- bad requests ----

    def test_impossible_wishes_are_refused(self):
        for fields in ({"name": "a/b"}, {"name": "x" * 200}, {"name": 7}, {"labels": ["a"]}, {"labels": {"a": 1}},
                       {"env": {"A": None}}, {"env": {"A=B": "x"}}, {"env": {"": "x"}}, {"env": {"A": "a\0b"}},
                       {"env": {f"A{number}": "x" for number in range(1025)}}, {"autoStopInterval": -1}, {"autoStopInterval": "1"},
                       {"autoDeleteInterval": -2}, {"cpu": -1}, {"memory": 1 << 40}, {"gpu": 1},
                       {"volumes": [{"volumeId": "v"}]}, {"networkAllowList": "10.0.0.0/8"}, {"public": "yes"},
                       {"labels": {"a": "x" * 100000}}):
            with self.subTest(fields=fields):
                self.refused(400, self.ask("POST", "/api/sandbox", fields))
        self.refused(400, self.ask("POST", "/api/sandbox", "[]"))
        self.refused(400, self.ask("POST", "/api/sandbox", "{"))
        self.refused(404, self.ask("GET", "/api/socket.io/"))
        self.refused(405, self.ask("PATCH", "/api/sandbox"))
        self.assertEqual(self.ask("GET", "/api/sandbox")[2]["items"], [])

    def test_bad_requests_of_the_toolbox(self):
        sandbox = self.create()
        box = f"/toolbox/{sandbox}"
        for path, body in [
                ("process/execute", {}), ("process/execute", {"command": " "}), ("process/execute", {"command": "a\0b"}),
                ("process/execute", {"command": "true", "timeout": -1}),
                ("process/execute", {"command": "true", "envs": {"A=B": "c"}}),
                ("process/execute", {"command": "true", "cwd": "x" * 5000}),
                ("process/code-run", {"code": "1", "language": "cobol"}),
                ("process/code-run", {"code": "1", "language": "python", "argv": [1]}),
                ("process/session", {}), ("process/session", {"sessionId": "a/b"}),
                ("process/session", {"sessionId": "x" * 200}), ("process/pty", {"id": ""}),
                ("process/pty", {"id": "x", "rows": 0}), ("process/pty", {"id": "x", "cols": 100000}),
                ("files/folder", None), ("files/folder?path=x&mode=999", None), ("files/move?source=a", None),
                ("files/permissions?path=a", None), ("files/permissions?path=a&mode=u%2Bs", None),
                ("files/permissions?path=a&owner=--help", None), ("files/replace", {"files": "a"}),
                ("files/replace", {"files": ["a"], "pattern": "", "newValue": ""}), ("files/bulk-download", {"paths": []}),
                ("files/bulk-download", {"paths": [""]}), ("files/bulk-download", {"paths": ["a\0b"]}),
                ("files/bulk-upload", {})]:
            with self.subTest(path=path, body=body):
                self.refused(400, self.ask("POST", f"{box}/{path}", body))
        for path in ("files?path=", "files?depth=0", "files/info", "files/find?path=a", "files/search?path=a&pattern="):
            self.refused(400, self.ask("GET", f"{box}/{path}"))
        self.assertEqual(self.execute(sandbox, "echo fine"), "fine\n")

    def test_words_are_not_options_or_shell(self):
        sandbox = self.create()
        self.execute(sandbox, "mkdir d; echo '--help' > 'd/-n $(touch owned)'; echo 'a;b' >> 'd/-n $(touch owned)'")
        _, _, found = self.ask("GET", f"/toolbox/{sandbox}/files/find", path="d", pattern="--help")
        self.assertEqual(found, [{"file": "/home/user/d/-n $(touch owned)", "line": 1, "content": "--help"}])
        _, _, found = self.ask("GET", f"/toolbox/{sandbox}/files/search", path="d", pattern="-n*")
        self.assertEqual(found, {"files": ["/home/user/d/-n $(touch owned)"]})
        status, _, _ = self.ask("POST", f"/toolbox/{sandbox}/files/permissions", path="d/-n $(touch owned)", mode="600")
        self.assertEqual(status, 200)
        self.assertEqual(self.execute(sandbox, "ls"), "d\n")

    # ---- uploads ----

    def upload(self, sandbox, parts, tenant=0, boundary="limit", end=True, body=None, pieces=None):
        if body is None:
            body = b"".join(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() +
                            content + b"\r\n" for name, content in parts)
            body += f"--{boundary}--\r\n".encode() if end else b""
        if pieces:
            body = iter([body[at:at + pieces] for at in range(0, len(body), pieces)])
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("POST", f"/toolbox/{sandbox}/files/bulk-upload", body,
                               {"Authorization": "Bearer " + self.keys[tenant],
                                "Content-Type": f"multipart/form-data; boundary={boundary}"},
                               encode_chunked=bool(pieces))
            answer = connection.getresponse()
            return answer.status, answer.headers, json.loads(answer.read())

    def test_uploads_in_pieces_of_any_size(self):
        sandbox = self.create()
        content = b"\r\n--limi\r\r\n--limi\n--limit" * 50
        parts = [("files[0].path", b"a"), ("files[0].file", content), ("files[1].path", b"b/c"), ("files[1].file", b"")]
        for pieces in (1, 2, 3, 7, 64, None):
            self.assertEqual(self.upload(sandbox, parts, pieces=pieces)[0], 200)
            self.assertEqual(self.execute(sandbox, "wc -c < a; wc -c < b/c; rm -r a b"), f"{len(content)}\n0\n")

    def test_hostile_multipart(self):
        sandbox = self.create()
        good = [("files[0].path", b"x"), ("files[0].file", b"y")]
        for parts in ([("files[0].file", b"y")], [("files[0].path", b"x"), ("files[1].file", b"y")],
                      [("files[0].path", b""), ("files[0].file", b"y")], [("files[0].path", b"x" * 5000)],
                      [("files[0].path", b"a\0b"), ("files[0].file", b"y")], [("files[-1].path", b"x")],
                      [("files[99999999999999999999].path", b"x")], [("file", b"y")], [("x" * 20000, b"y")]):
            with self.subTest(parts=str(parts)[:60]):
                self.refused(400, self.upload(sandbox, parts))
        self.refused(400, self.upload(sandbox, good, end=False))
        for body in (b"", b"no boundary at all", b"--limit", b"--limit\r\n", b"--limit\r\n\r\n\r\n--limit--",
                     b"--limitx\r\n", b"--limit\r\nContent-Disposition: form-data\r\n\r\nx\r\n--limit--",
                     b"--limit\r\n" + b"A: b\r\n" * 10000, b"--limit junk\r\n"):
            with self.subTest(body=body[:40]):
                self.refused(400, self.upload(sandbox, None, body=body))
        self.assertEqual(self.upload(sandbox, good)[0], 200)
        self.assertEqual(self.execute(sandbox, "ls"), "x\n")

    def test_an_upload_that_breaks_off_changes_nothing(self):
        sandbox = self.create()
        self.execute(sandbox, "echo before > file")
        with socket.create_connection(("127.0.0.1", self.service.port), timeout=PATIENCE) as client:
            client.sendall(f"POST /toolbox/{sandbox}/files/bulk-upload HTTP/1.1\r\nHost: 127.0.0.1:{self.service.port}\r\n"
                           f"Authorization: Bearer {self.keys[0]}\r\nContent-Length: 10000000\r\n"
                           "Content-Type: multipart/form-data; boundary=limit\r\n\r\n--limit\r\n"
                           'Content-Disposition: form-data; name="files[0].path"\r\n\r\nfile\r\n--limit\r\n'
                           'Content-Disposition: form-data; name="files[0].file"\r\n\r\n'.encode() + b"x" * 3000000)
        for _ in range(20):  # the next requests come after it
            self.assertEqual(self.execute(sandbox, "cat file; ls -A | wc -l").split("\n")[0], "before")

    def test_a_file_that_cannot_be_written_is_named(self):
        sandbox = self.create()
        parts = [("files[0].path", b"first"), ("files[0].file", b"1"), ("files[1].path", b"/proc/nothing"),
                 ("files[1].file", b"x" * 5000000), ("files[2].path", b"third"), ("files[2].file", b"3")]
        status, _, answer = self.upload(sandbox, parts)
        self.assertGreaterEqual(status, 400)
        self.assertIn("/proc/nothing", answer["message"])
        self.assertEqual(self.execute(sandbox, "ls"), "first\n")

    # ---- WebSockets ----

    def test_followers_of_a_log(self):
        sandbox = self.create()
        logs = self.session(sandbox, "read x; echo out $x; echo err >&2")
        clients = [WebSocket(self.service.port, logs + "/logs?follow=true", self.keys[0]) for _ in range(3)]
        for client in clients:
            self.addCleanup(client.close)
            self.assertEqual(client.status, 101)
        clients[2].close()  # one that leaves harms nobody
        self.assertEqual(self.ask("POST", logs + "/input", {"data": "word\n"})[0], 204)
        for client in clients[:2]:
            content, code = client.until_close()
            self.assertEqual(code, 1000)
            self.assertEqual(sorted(content.replace(b"\x02\x02\x02", b"\x01\x01\x01").split(b"\x01\x01\x01")),
                             [b"", b"err\n", b"out word\n"])
        late = WebSocket(self.service.port, logs + "/logs?follow=true", self.keys[0])
        self.addCleanup(late.close)
        self.assertEqual(late.until_close()[1], 1000)
        self.refused(410, self.ask("POST", logs + "/input", {"data": "x"}))

    def test_a_prompt_is_seen_whatever_it_ends_with(self):
        logs = self.session(self.create(), "for c in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do printf %s $c; read x; done")
        for count in range(1, 17):
            deadline = time.monotonic() + PATIENCE
            while self.ask("GET", logs + "/logs")[2]["output"] != "0123456789abcdef"[:count]:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            self.assertEqual(self.ask("POST", logs + "/input", {"data": "\n"})[0], 204)

    def test_a_command_waits_for_a_slow_follower(self):
        sandbox = self.create()
        logs = self.session(sandbox, "read x; head -c 30000000 /dev/zero | tr '\\0' y")
        client = WebSocket(self.service.port, logs + "/logs?follow=true", self.keys[0])
        self.addCleanup(client.close)
        self.ask("POST", logs + "/input", {"data": "\n"})
        content, code = client.until_close()
        self.assertEqual((content.count(b"y"), code), (30000000, 1000))

    def test_hostile_websockets(self):
        sandbox = self.create()
        logs = self.session(sandbox, "cat")
        follow = logs + "/logs?follow=true"
        self.assertEqual(self.ask("GET", follow)[0], 400)  # no handshake
        with contextlib.closing(WebSocket(self.service.port, follow, self.keys[0], Content_Length="5")) as client:
            self.assertGreaterEqual(client.status, 400)
        for attack in (dict(payload=b"x", masked=False), dict(payload=b"x", opcode=3), dict(payload=b"\xff", opcode=1),
                       dict(payload=b"x" * 200, opcode=9), dict(payload=b"", length=1 << 62),
                       dict(payload=b"x", opcode=0), dict(payload=b"x", opcode=8)):
            with self.subTest(attack=str(attack)):
                client = WebSocket(self.service.port, follow, self.keys[0])
                with contextlib.closing(client):
                    client.send(**attack)
                    _, code = client.until_close()
                    self.assertIn(code, (1002, 1007, 1009))
        with contextlib.closing(WebSocket(self.service.port, follow, self.keys[0])) as client:
            for _ in range(1000):
                client.send(b"nobody reads this")
            client.send(b"ping", opcode=9)
            self.assertEqual(client.receive(), (10, b"ping"))
            client.send(struct.pack(">H", 1000), opcode=8)
            self.assertEqual(client.until_close()[1], 1000)
        self.assertEqual(self.execute(sandbox, "echo fine"), "fine\n")

    def test_a_deleted_session_ends_its_followers(self):
        sandbox = self.create()
        logs = self.session(sandbox, "sleep 1000 & echo started; sleep 1000")
        client = WebSocket(self.service.port, logs + "/logs?follow=true", self.keys[0])
        self.addCleanup(client.close)
        self.assertEqual(client.receive(), (2, b"\x01\x01\x01started\n"))
        self.assertEqual(self.ask("DELETE", logs.split("/command/")[0])[0], 204)
        self.assertEqual(client.until_close()[1], 1001)
        self.refused(404, self.ask("GET", logs))
        while "sleep" in self.execute(sandbox, "cat /proc/[0-9]*/comm"):
            pass  # the kill is under way

    def test_terminals_of_several_clients(self):
        sandbox = self.create()
        box = f"/toolbox/{sandbox}/process/pty"
        env = base64.urlsafe_b64encode(json.dumps({"PS1": "", "WORD": "both"}).encode()).decode().rstrip("=")
        first = WebSocket(self.service.port, box + "/create-connect?id=t", self.keys[0],
                          Sec_WebSocket_Protocol=f"X-Daytona-Pty-Envs~{env}, X-Daytona-Pty-Exit-Control")
        self.addCleanup(first.close)
        self.assertEqual(first.headers["Sec-WebSocket-Protocol"], "X-Daytona-Pty-Exit-Control")
        self.assertEqual(json.loads(first.receive()[1])["status"], "connected")
        second = WebSocket(self.service.port, box + "/t/connect", self.keys[0])
        self.addCleanup(second.close)
        self.assertEqual(json.loads(second.receive()[1])["status"], "connected")
        first.send(b"echo to $WORD; exit 6\n")
        for client, has_message in ((first, True), (second, False)):
            content, code = client.until_close()
            self.assertIn(b"to both", content)
            self.assertEqual((b'"exitCode":6' in content, code), (has_message, 1000))
        self.refused(404, self.ask("GET", box + "/t"))
        bad = WebSocket(self.service.port, box + "/create-connect?id=u", self.keys[0],
                        Sec_WebSocket_Protocol="X-Daytona-Pty-Envs~!!!")
        self.addCleanup(bad.close)
        self.assertEqual(bad.status, 400)
        self.assertEqual(self.ask("GET", box)[2], {"sessions": []})

    def test_a_ticket_opens_a_toolbox_for_websockets_only(self):
        sandboxes = [self.create(tenant=tenant) for tenant in (0, 1)]
        logs = self.session(sandboxes[0], "echo out")
        tokens = [[self.ask("GET", f"/api/sandbox/{sandbox}/ports/{port}/preview-url", tenant=tenant)[2]["token"]
                   for port in (1, 3000)] for tenant, sandbox in enumerate(sandboxes)]
        right = tokens[0][0]

        def status(path, token, **headers):
            separator = "&" if "?" in path else "?"
            with contextlib.closing(WebSocket(self.service.port, f"{path}{separator}DAYTONA_SANDBOX_AUTH_KEY={token}",
                                              headers.pop("key", ""), **headers)) as client:
                return client.status, client.headers.get("Sec-WebSocket-Protocol")

        follow = logs + "/logs?follow=true"
        version = "X-Daytona-SDK-Version~0.218.0"
        self.assertEqual(status(follow, right), (101, None))
        self.assertEqual(status(follow, right, Sec_WebSocket_Protocol=f"other, {version}"), (101, version))
        terminal = f"/toolbox/{sandboxes[0]}/process/pty/create-connect?id=t"
        self.assertEqual(status(terminal, right, Sec_WebSocket_Protocol=version), (101, version))
        for token in (tokens[0][1], *tokens[1], "", "x", right[:-1], right + "0", right.upper()):
            self.assertEqual(status(follow, token)[0], 401, token)
        self.assertEqual(status(follow, tokens[1][0], key=self.keys[1])[0], 404)
        # Neither other requests nor other paths.
        for method, path in (("GET", logs), ("POST", f"/toolbox/{sandboxes[0]}/process/execute")):
            self.assertEqual(self.service.ask(method, path, {"command": "true"} if method == "POST" else None, key="",
                                              DAYTONA_SANDBOX_AUTH_KEY=right)[0], 401)
        self.assertEqual(status(f"/api/sandbox/{sandboxes[0]}", right)[0], 401)
        for path in ("x/work-dir", f"{sandboxes[0]}/work-dir", f"{sandboxes[0]}/process/session",
                     f"{sandboxes[0]}/files?path=/"):
            self.assertEqual(status("/toolbox/" + path, right)[0], 401)
        # What opens the toolbox opens no port, and no port of the service sees it.
        preview = {"X-Daytona-Preview-Token": right}
        self.assertEqual(self.service.ask("GET", f"/preview/3000-{sandboxes[0]}/", key="", headers=preview)[0], 401)
        self.assertEqual(self.service.ask("GET", f"/preview/1-{sandboxes[0]}/", key="", headers=preview)[0], 502)
        self.assertEqual(self.ask("DELETE", f"/api/sandbox/{sandboxes[0]}")[0], 200)
        self.assertIn(status(follow, right)[0], (401, 404))

    # ---- signed URLs of files ----

    def signing_key(self, sandbox, tenant=0):
        status, _, key = self.ask("GET", f"/api/sandbox/{sandbox}/signing-key", tenant=tenant)
        self.assertEqual(status, 200)
        return key

    def signed(self, key, method="GET", path="file", expires=0):
        """A query with a signature, as clients make it."""
        text = f"v1:files:{method}:{path}:{expires}".encode()
        digest = base64.urlsafe_b64encode(hmac.digest(key.encode(), text, hashlib.sha256)).decode().rstrip("=")
        return {"path": path, "expires": expires, "signature": "v1_" + digest}

    def by_url(self, sandbox, query, method="GET", place="files/download", parts=None, headers=None):
        """A request without a key."""
        body = None if parts is None else b"".join(
            f'--limit\r\nContent-Disposition: form-data; name="{name}"; filename="f"\r\n\r\n'.encode() + content + b"\r\n"
            for name, content in parts) + b"--limit--\r\n"
        return self.service.ask(method, f"/toolbox/{sandbox}/{place}", body, key="", headers={
            **({"Content-Type": "multipart/form-data; boundary=limit"} if parts is not None else {}), **(headers or {})},
                                **query)

    def send_by_url(self, sandbox, query, *parts):
        return self.by_url(sandbox, query, "POST", "files/upload-v2", parts)

    def test_a_signed_url_opens_one_file_for_one_method_and_a_time(self):
        sandboxes = [self.create(tenant=tenant) for tenant in (0, 0, 1)]
        sandbox = sandboxes[0]
        keys = [self.signing_key(one, tenant) for one, tenant in zip(sandboxes, (0, 0, 1))]
        self.assertEqual(len({*keys}), 3)
        key = keys[0]
        now = int(time.time())
        self.assertEqual(self.send_by_url(sandbox, self.signed(key, "POST", expires=now + 600), ("file", b"<b>"))[0], 200)
        right = self.signed(key, expires=now + 600)
        status, headers, content = self.by_url(sandbox, right)
        self.assertEqual((status, content), (200, b"<b>"))
        self.assertEqual((headers["Content-Type"], headers["X-Content-Type-Options"], headers["Content-Disposition"]),
                         ("application/octet-stream", "nosniff", 'attachment; filename="file"'))
        self.assertEqual(self.by_url(sandbox, right, "HEAD")[0], 200)
        self.assertEqual(self.by_url(sandbox, right, headers={"Authorization": "Bearer wrong"})[0], 200)
        for wrong in (self.signed(key, expires=now - 1), self.signed(key, "POST", expires=now + 600),
                      *(self.signed(other, expires=now + 600) for other in keys[1:]), self.signed("", expires=0),
                      {**right, "path": "/etc/passwd"}, {**right, "path": "./file"}, {**right, "expires": now + 601},
                      {**right, "expires": 0}, {**right, "expires": f"0{now + 600}"}, {**right, "signature": ""},
                      {**right, "signature": right["signature"][:-1]}, {**right, "signature": right["signature"][3:]},
                      {**right, "signature": right["signature"] + "="}, {"path": "file"}, {},
                      self.signed(key, expires=-1), self.signed(key, expires="")):
            with self.subTest(wrong=wrong):
                self.refused(401, self.by_url(sandbox, wrong))
        # Which of two should count?
        for name in right:
            self.refused(401, self.by_url(f"{sandbox}/files/download?{urllib.parse.urlencode(right)}&{name}=x", {}, place=""))
        # No other sandbox, no other endpoint.
        for other in (*sandboxes[1:], "00000000-0000-4000-8000-000000000000", "x"):
            self.refused(401, self.by_url(other, right))
        for method, place in (("GET", "files"), ("DELETE", "files"), ("GET", "files/info"), ("GET", "files/find"),
                              ("GET", "work-dir"), ("POST", "files/bulk-upload"), ("POST", "files/bulk-download"),
                              ("POST", "files/folder"), ("POST", "process/execute"), ("GET", "process/session"),
                              ("POST", "files/download"), ("GET", "files/upload-v2"), ("POST", "files/upload-v2")):
            with self.subTest(method=method, place=place):
                self.refused(401, self.by_url(sandbox, right, method, place))
        for place in ("", "/signing-key"):
            self.refused(401, self.service.ask("GET", f"/api/sandbox/{sandbox}{place}", key="", **right))
        # Another tenant's key is no reason to look at the signature.
        self.refused(404, self.by_url(sandbox, right, headers={"Authorization": "Bearer " + self.keys[1]}))
        self.assertEqual(self.execute(sandbox, "cat file"), "<b>")

    def test_a_signing_key_lasts_until_it_is_rotated(self):
        sandbox = self.create(name="mine")
        self.execute(sandbox, "echo 1 > file")
        first = self.signing_key(sandbox)
        self.assertEqual(self.signing_key("mine"), first)
        status, _, second = self.ask("POST", f"/api/sandbox/{sandbox}/signing-key/rotate")
        self.assertEqual(status, 200)
        self.assertNotEqual(first, second)
        self.service.end()
        words = self.service.process.stderr.read()
        self.service = self.serve()
        self.assertEqual(self.signing_key(sandbox), second)
        self.refused(409, self.by_url(sandbox, self.signed(second)))
        self.refused(409, self.send_by_url(sandbox, self.signed(second, "POST"), ("file", b"x")))
        self.assertEqual(self.ask("POST", f"/api/sandbox/{sandbox}/start")[0], 200)
        self.assertEqual(self.by_url(sandbox, self.signed(second))[2], b"1\n")
        self.refused(401, self.by_url(sandbox, self.signed(first)))
        self.assertEqual(self.ask("DELETE", f"/api/sandbox/{sandbox}")[0], 200)
        self.refused(401, self.by_url(sandbox, self.signed(second)))
        # Neither the logs nor the store have the keys.
        self.service.end()
        words += self.service.process.stderr.read()
        stored = b"".join(file.read_bytes() for file in (self.room / "state" / "sandboxes").glob("sandboxes.db*"))
        for key in (first, second):
            self.assertNotIn(key.encode(), stored)
            self.assertNotIn(self.signed(key)["signature"], words)

    def test_the_id_of_a_deleted_sandbox_has_another_key(self):
        sandbox = "11111111-2222-4333-8444-555555555555"
        keys = set()
        for tenant in (0, 1):
            self.assertEqual(self.service.ask("POST", "/sandboxes", {"id": sandbox}, key=self.keys[tenant])[0], 201)
            keys.add(self.signing_key(sandbox, tenant))
            self.assertEqual(self.ask("DELETE", f"/api/sandbox/{sandbox}", tenant=tenant)[0], 200)
        self.assertEqual(len(keys), 2)

    def test_hostile_uploads_by_url(self):
        sandbox = self.create()
        key = self.signing_key(sandbox)
        query = self.signed(key, "POST")
        self.execute(sandbox, "echo old > file")
        for parts in ((), (("other", b"x"),), (("files[0].path", b"/tmp/x"), ("files[0].file", b"x"))):
            self.refused(400, self.send_by_url(sandbox, query, *parts))
        self.refused(400, self.by_url(sandbox, query, "POST", "files/upload-v2"), "multipart")
        self.assertEqual(self.execute(sandbox, "cat file; ls /tmp"), "old\n")
        self.refused(400, self.send_by_url(sandbox, query, ("file", b"1"), ("file", b"2")), "one part")
        self.assertEqual(self.execute(sandbox, "cat file"), "1")
        for path, status in (("/usr/bin/x", 403), ("a\0b", 400), ("x" * 5000, 400), (".", 400)):
            self.assertEqual(self.send_by_url(sandbox, self.signed(key, "POST", path), ("file", b"x"))[0], status, path)
            self.assertIn(self.by_url(sandbox, self.signed(key, "GET", path))[0], (400, 404))
        large = b"\r\n--limi" * 300000
        self.assertEqual(self.send_by_url(sandbox, query, ("file", large))[0], 200)
        self.assertEqual(self.by_url(sandbox, self.signed(key))[2], large)

    # ---- variables and archives ----

    def test_variables_change_until_the_sandbox_stops(self):
        sandbox = self.create(env={"A": "1", "B": "2"})
        box = f"/toolbox/{sandbox}/env"
        show = "echo $A-$B-$C"
        for body in ({"set": []}, {"set": {"A": 1}}, {"set": {"A=B": "x"}}, {"set": {"": "x"}}, {"set": {"A": "a\0b"}},
                     {"unset": "A"}, {"unset": [1]}, {"set": {"A": "x" * 70000}}, []):
            self.refused(400, self.ask("POST", box, body))
        self.assertEqual(self.execute(sandbox, show), "1-2-\n")
        self.assertEqual(self.ask("POST", box, {"set": {"B": "two", "C": "$(id)"}, "unset": ["A", "none"]})[0], 200)
        self.assertEqual(self.execute(sandbox, show), "-two-$(id)\n")
        for letter in "XY":  # too many together
            many = {"set": {f"{letter}{number}": "" for number in range(600)}}
            self.assertEqual(self.ask("POST", box, many)[0], 200 if letter == "X" else 400)
        self.assertEqual(self.execute(sandbox, show), "-two-$(id)\n")
        self.refused(404, self.ask("POST", box, {"set": {}}, 1))
        self.assertEqual(self.ask("GET", f"/api/sandbox/{sandbox}")[2]["env"], {"A": "1", "B": "2"})
        self.assertEqual(self.ask("POST", f"/api/sandbox/{sandbox}/stop")[0], 200)
        self.refused(409, self.ask("POST", box, {"set": {}}))
        self.assertEqual(self.ask("POST", f"/api/sandbox/{sandbox}/start")[0], 200)
        self.assertEqual(self.execute(sandbox, show), "1-2-\n")

    def test_an_archived_sandbox_is_a_stopped_one(self):
        sandbox = self.create(autoArchiveInterval=0)
        path = f"/api/sandbox/{sandbox}"
        self.execute(sandbox, "echo kept > file")
        self.refused(409, self.ask("POST", path + "/archive"), "not stopped")
        self.assertEqual(self.ask("POST", path + "/stop")[2]["state"], "stopped")
        self.refused(404, self.ask("POST", path + "/archive", tenant=1))
        self.assertEqual(self.ask("POST", path + "/archive")[2]["state"], "archived")
        self.assertEqual(self.ask("GET", "/api/sandbox", states="archived")[2]["items"][0]["id"], sandbox)
        self.refused(409, self.ask("POST", f"/toolbox/{sandbox}/process/execute", {"command": "true"}))
        self.assertEqual(self.ask("POST", path + "/autoarchive/77")[2]["autoArchiveInterval"], 77)
        for wrong in ("-1", "x", "99999999999"):
            self.refused(400, self.ask("POST", f"{path}/autoarchive/{wrong}"))
        self.service.end()
        self.service = self.serve()
        self.assertEqual(self.ask("GET", path)[2]["state"], "archived")
        self.assertEqual(self.ask("POST", path + "/start")[2]["state"], "started")
        self.assertEqual(self.execute(sandbox, "cat file"), "kept\n")
        self.assertEqual(self.ask("POST", path + "/stop")[2]["state"], "stopped")

    # ---- ends ----

    def test_what_runs_ends_with_its_sandbox(self):
        sandbox = self.create()
        logs = self.session(sandbox, "sleep 1000")
        client = WebSocket(self.service.port, logs + "/logs?follow=true", self.keys[0])
        self.addCleanup(client.close)
        answers = []
        thread = threading.Thread(target=lambda: answers.append(
            self.ask("POST", f"/toolbox/{sandbox}/process/execute", {"command": "sleep 1000"})))
        thread.start()
        while self.execute(sandbox, "cat /proc/[0-9]*/comm").count("sleep") < 2:
            pass
        self.assertEqual(self.ask("DELETE", f"/api/sandbox/{sandbox}")[2]["state"], "destroyed")
        thread.join(PATIENCE)
        self.refused(409, answers[0])
        self.assertIn(client.until_close()[1], (1000, 1001))
        self.refused(404, self.ask("GET", f"/api/sandbox/{sandbox}"))

    def test_a_client_that_leaves_ends_its_command(self):
        sandbox = self.create()
        body = json.dumps({"command": "sleep 1000"}).encode()
        with socket.create_connection(("127.0.0.1", self.service.port), timeout=PATIENCE) as client:
            client.sendall(f"POST /toolbox/{sandbox}/process/execute HTTP/1.1\r\nHost: 127.0.0.1:{self.service.port}\r\n"
                           f"Authorization: Bearer {self.keys[0]}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            while "sleep" not in self.execute(sandbox, "cat /proc/[0-9]*/comm"):
                pass
        while "sleep" in self.execute(sandbox, "cat /proc/[0-9]*/comm"):
            pass

    def test_many_at_once(self):
        sandbox = self.create()
        results = []

        def work(number):
            self.upload(sandbox, [("files[0].path", f"f{number}".encode()), ("files[0].file", b"x" * 300000)])
            results.append(self.execute(sandbox, f"wc -c < f{number}"))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual(results, ["300000\n"] * 12)


if __name__ == "__main__":
    Scene.gatehouse = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
