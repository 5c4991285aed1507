#!/usr/bin/env python3
"""host.fs of gatehouse serve: documents, operations, both majors, tenants, and what must stay outside.

Arguments: gatehouse, and what unittest takes.
"""
import base64
import ctypes
import http.client
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
from server_scene import PATIENCE, Server, clean_environment

GATEHOUSE = str(pathlib.Path(sys.argv[1]).resolve())
V1, V2 = "/v1/host/sample/fs/", "/conformance/seams/sample/fs/"
SECOND = {"OpenWOP-Version": "2.0"}
SECRET = "the secret outside\n"

# The RFC's schema of the block, word for word in effect.
BLOCK = {"supported": bool, "sandboxRoot": str, "maxFileSizeBytes": int,
         "image": {"supported": bool, "formats": list}, "pdf": {"supported": bool},
         "transport": {"ftp": bool, "sftp": bool, "ssh": bool}}

# Every one of these leaves the root, or would if somebody decoded or joined it carelessly.
OUTSIDE = ["../outside.txt", "..", "../", "./../outside.txt", "sub/../../outside.txt", "sub/../..",
           "../root/a.txt", "../root-twin/outside.txt", "/etc/passwd", "/", "//", "//sandbox/a.txt", "/sandboxes/a.txt",
           "/sandbox-twin", "/sandbox/../outside.txt", "/sandbox/../../etc/passwd", "/sandbox/sub/../../outside.txt",
           "/proc/self/root/etc/passwd", "sub/../../../../../../../../../etc/passwd"]
# These are odd names of files that are not there.
LITERAL = ["..%2foutside.txt", "%2e%2e/outside.txt", "..\\outside.txt", "....//outside.txt", "~/a.txt", "file:///etc/passwd",
           "sub/..%00/a", "..;/outside.txt", "\u2025/outside.txt", "\uff0e\uff0e/outside.txt", "C:\\outside.txt"]


def encode(text):
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def conforms(value, schema):
    """Whether it has no members but those of the schema, of these types."""
    if isinstance(schema, dict):
        return isinstance(value, dict) and all(
            name in schema and conforms(member, schema[name]) for name, member in value.items())
    return type(value) is schema


def hosts_of(pid):
    """The processes below it that serve files. One that is dead has no command line."""
    found = []
    for child in map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
        try:
            command = pathlib.Path(f"/proc/{child}/cmdline").read_bytes()
            found += [child] if command.startswith(b"gatehouse-hostfs\0") else hosts_of(child)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


class Client:
    """A key, on one connection."""

    def __init__(self, server, key, major=1):
        self.server, self.major = server, major
        self.headers = {"Authorization": f"Bearer {key}"} | (SECOND if major == 2 else {})
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)

    def send(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, self.headers | (headers or {}))
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def __call__(self, operation, **arguments):
        return self.send("POST", (V1 if self.major == 1 else V2) + operation, json.dumps(arguments))

    def close(self):
        self.connection.close()


class Scene(unittest.TestCase):
    def setUp(self):
        room = tempfile.TemporaryDirectory()
        self.addCleanup(room.cleanup)
        self.room = pathlib.Path(os.path.realpath(room.name))
        self.state = self.room / "state"
        self.root = self.room / "root"
        (self.root / "sub").mkdir(parents=True)
        (self.root / "a.txt").write_text("hello\n")
        (self.root / "sub/b.txt").write_text("inner\n")
        (self.room / "root-twin").mkdir()
        (self.room / "root-twin/outside.txt").write_text(SECRET)
        (self.room / "outside.txt").write_text(SECRET)

    def serve(self, *arguments, **environment):
        server = Server(GATEHOUSE, self.state, 0, arguments, **environment)
        server.hosts = [os.pidfd_open(pid) for pid in hosts_of(server.process.pid)]
        self.addCleanup(self.end, server)
        return server

    @staticmethod
    def end(server):
        """Its processes still write when it is gone."""
        server.close()
        for host in server.hosts:
            select.select([host], [], [], PATIENCE)
            os.close(host)

    def command(self, *words, given=""):
        result = subprocess.run([GATEHOUSE, *words], env=clean_environment(), capture_output=True, text=True,
                                timeout=PATIENCE, input=given)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def key(self, name="ci", *arguments):
        words = self.command("agent", "--state-dir", self.state, "add", name, *arguments)
        return re.search(r"gha_\w{32}", words)[0]

    def client(self, server, key, major=1):
        client = Client(server, key, major)
        self.addCleanup(client.close)
        return client

    def clients(self, *arguments):
        """The server, and a client of each major."""
        server = self.serve(*(arguments or ("--fs", self.root)))
        key = self.key()
        return server, self.client(server, key), self.client(server, key, 2)


class Documents(Scene):
    def test_discovery_needs_no_key_and_can_be_cached(self):
        server = self.serve("--fs", self.root, "--fs-max-file-size", "1MiB")
        status, headers, document = server.ask("GET", "/.well-known/openwop")
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
        self.assertIn("max-age", headers["Cache-Control"])
        self.assertEqual(headers["Vary"], "OpenWOP-Version")
        self.assertTrue(conforms(document["fs"], BLOCK), document["fs"])
        self.assertEqual((document["fs"]["supported"], document["fs"]["sandboxRoot"], document["fs"]["maxFileSizeBytes"]),
                         (True, "/sandbox", 1 << 20))
        self.assertEqual(document["protocolVersion"], "1.0")
        self.assertEqual(sorted(document["limits"]), ["clarificationRounds", "envelopesPerTurn", "schemaRounds"])
        self.assertNotIn(str(self.room), json.dumps(document))
        for shown in (headers["ETag"], "W/" + headers["ETag"], '"other", ' + headers["ETag"], "*"):
            status, again, body = server.ask("GET", "/.well-known/openwop", None, {"If-None-Match": shown})
            self.assertEqual((status, again["ETag"], body), (304, headers["ETag"], b""))
        self.assertEqual(server.ask("GET", "/.well-known/openwop", None, {"If-None-Match": '"other"'})[0], 200)

    def test_the_second_major_has_its_own_document(self):
        server = self.serve("--fs", self.root)
        _, first, _ = server.ask("GET", "/.well-known/openwop")
        status, headers, document = server.ask("GET", "/.well-known/openwop", None, SECOND)
        self.assertEqual((status, document["protocolVersion"], document["fixtures"]),
                         (200, "2.0", ["conformance-fs-probe"]))
        self.assertNotIn("supported", json.dumps(document["fs"]))
        self.assertNotEqual(headers["ETag"], first["ETag"])
        status, _, body = server.ask("GET", "/.well-known/openwop", None, {"OpenWOP-Version": "3.0"})
        self.assertEqual((status, body["error"]), (406, "protocol_version_unsupported"))

    def test_without_files_there_is_no_block(self):
        for arguments in ((), ("--fs", self.root, "--no-fs")):
            server = self.serve(*arguments)
            for headers in ({}, SECOND):
                document = server.ask("GET", "/.well-known/openwop", None, headers)[2]
                self.assertNotIn("fs", document)
                self.assertNotIn("fixtures", document)
            status, _, body = server.ask("POST", V1 + "read", {"path": "a.txt"})
            self.assertEqual((status, body["error"]), (501, "host_capability_missing"))
            status, _, body = server.ask("POST", V2 + "read", {"path": "a.txt"}, SECOND)
            self.assertEqual((status, body["error"]), (422, "capability_not_provided"))
            server.end()

    def test_no_tenant_is_named(self):
        self.command("user", "--state-dir", self.state, "add", "anna", "--no-password")
        (self.room / "anna").mkdir()
        server = self.serve("--fs", self.root, "--fs-tenant", f"anna={self.room}/anna")
        self.assertNotIn("anna", json.dumps(server.ask("GET", "/.well-known/openwop")[2]))

    def test_wrong_options_are_refused(self):
        for words in (["--fs", self.root, "--fs-memory"], ["--fs-tenant", "anna"], ["--fs-tenant", "=x"],
                      ["--fs-memory", "--fs-tenant", "anna=/tmp"], ["--fs", self.room / "missing"],
                      ["--fs-tenant", f"a={self.root}", "--fs-tenant", f"a={self.root}"]):
            result = subprocess.run([GATEHOUSE, "serve", "--listen", "127.0.0.1:0", "--state-dir", self.state, *words],
                                    env=clean_environment(), capture_output=True, text=True, timeout=PATIENCE)
            self.assertIn(result.returncode, (1, 2), words)
            self.assertIn("gatehouse", result.stderr)


class Operations(Scene):
    def test_the_five_operations(self):
        _, first, second = self.clients()
        for client in (first, second):
            self.assertEqual(client("write", path="new/c.bin", bytes=encode(b"\x00\xff\x01")),
                             (200, {"path": "new/c.bin", "sizeBytes": 3}))
            self.assertEqual((self.root / "new/c.bin").read_bytes(), b"\x00\xff\x01")
            self.assertEqual(client("read", path="new/c.bin"),
                             (200, {"bytes": encode(b"\x00\xff\x01"), "contentType": "application/octet-stream"}))
            status, about = client("stat", path="/sandbox/new/c.bin")
            self.assertEqual((status, about["sizeBytes"]), (200, 3))
            self.assertEqual(about["contentType"], "application/octet-stream")
            self.assertRegex(about["modifiedAt"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertEqual(client("list", prefix="new/"), (200, {"entries": [{"path": "new/c.bin", "sizeBytes": 3}]}))
            self.assertEqual(client("delete", path="new/c.bin"), (200, {"deleted": True}))
            self.assertEqual(client("delete", path="new/c.bin"), (200, {"deleted": False}))
            self.assertFalse((self.root / "new/c.bin").exists())

    def test_every_length_comes_back_as_it_was(self):
        _, client, _ = self.clients()
        for length in (*range(0, 8), 255, 256 << 10, (256 << 10) + 1, 700001):
            content = os.urandom(length)
            self.assertEqual(client("write", path="x", bytes=encode(content))[0], 200)
            self.assertEqual(base64.b64decode(client("read", path="x")[1]["bytes"], validate=True), content)

    def test_the_type_is_that_of_the_content(self):
        _, client, _ = self.clients()
        for content, found in ((b"\x89PNG\r\n\x1a\n....", "image/png"), (b"%PDF-1.7", "application/pdf"),
                               (b'{"a": 1}', "application/json"), (b"plain", "text/plain; charset=utf-8"),
                               (b"", "text/plain; charset=utf-8"), (b"\xfe\xff", "application/octet-stream")):
            client("write", path="misnamed.html", bytes=encode(content), contentType="text/html")
            self.assertEqual(client("read", path="misnamed.html")[1]["contentType"], found)

    def test_errors_have_the_shape_of_their_major(self):
        _, first, second = self.clients()
        (self.root / "dir").mkdir()
        cases = [("read", {"path": "none"}, (404, "file_not_found"), (404, "not_found", {})),
                 ("stat", {"path": "none"}, (404, "file_not_found"), (404, "not_found", {})),
                 ("read", {"path": "../x"}, (403, "path_outside_sandbox"),
                  (403, "forbidden", {"reason": "path-outside-sandbox"})),
                 ("read", {"path": "dir"}, (409, "not_a_file"), (409, "not_a_file", {})),
                 ("stat", {"path": "dir"}, (409, "not_a_file"), (409, "not_a_file", {})),
                 ("delete", {"path": "dir"}, (409, "not_a_file"), (409, "not_a_file", {})),
                 ("write", {"path": "dir", "bytes": ""}, (409, "not_a_file"), (409, "not_a_file", {})),
                 ("write", {"path": "a.txt/b", "bytes": ""}, (409, "not_a_directory"), (409, "not_a_directory", {})),
                 ("write", {"path": "x", "bytes": "%%"}, (400, "validation_error"), (400, "validation_error", {})),
                 ("write", {"path": "x"}, (400, "validation_error"), (400, "validation_error", {})),
                 ("read", {}, (400, "validation_error"), (400, "validation_error", {})),
                 ("read", {"path": 7}, (400, "validation_error"), (400, "validation_error", {})),
                 ("read", {"path": ""}, (400, "validation_error"), (400, "validation_error", {})),
                 ("read", {"path": "a\0b"}, (400, "validation_error"), (400, "validation_error", {})),
                 ("read", {"path": "n" * 256}, (400, "validation_error"), (400, "validation_error", {})),
                 ("list", {"limit": 0}, (400, "validation_error"), (400, "validation_error", {})),
                 ("list", {"limit": 1001}, (400, "validation_error"), (400, "validation_error", {})),
                 ("list", {"cursor": "?"}, (400, "validation_error"), (400, "validation_error", {})),
                 ("list", {"prefix": []}, (400, "validation_error"), (400, "validation_error", {}))]
        for operation, arguments, expected, expected_second in cases:
            with self.subTest(operation=operation, **arguments):
                status, body = first(operation, **arguments)
                self.assertEqual((status, body["error"]), expected)
                self.assertEqual(sorted(body), ["error", "message"])
                status, body = second(operation, **arguments)
                self.assertEqual((status, body["error"]), expected_second[:2])
                self.assertEqual(body["details"], {"service": "fs"} | expected_second[2])
                self.assertNotIn(str(self.room), json.dumps(body))
        for client in (first, second):
            prefix = V1 if client is first else V2
            for body in ("", "[]", "{", '{"path":"a","path":"b"}'):
                status, answer = client.send("POST", prefix + "read", body)
                self.assertEqual((status, answer["error"]), (400, "validation_error"))
            self.assertEqual(client.send("POST", prefix + "chmod", "{}")[0], 404)
            status, answer = client.send("POST", prefix + "read", "{}", {"OpenWOP-Version": "9"})
            self.assertEqual((status, answer["error"]), (406, "protocol_version_unsupported"))

    def test_archives(self):
        _, client, _ = self.clients()
        for name in ("x.zip", "x.tar.gz", "x.tar.zst", "x.tgz"):
            status, made = client("archive", op="create", path="sub", to=name)
            self.assertEqual((status, made["files"], made["path"]), (200, 1, name), made)
            status, out = client("archive", op="extract", path=name, to=name + ".d")
            self.assertEqual((status, out["files"], out["contentBytes"]), (200, 1, 6), out)
            self.assertEqual((self.root / (name + ".d") / "b.txt").read_text(), "inner\n")
        for words, error in (({"op": "extract", "path": "a.txt", "to": "y"}, "archive_refused"),
                             ({"op": "extract", "path": "x.zip", "to": "sub"}, "file_exists"),
                             ({"op": "extract", "path": "x.zip", "to": "../y"}, "path_outside_sandbox"),
                             ({"op": "create", "path": "..", "to": "y.zip"}, "path_outside_sandbox"),
                             ({"op": "create", "path": "sub", "to": "/y.zip"}, "path_outside_sandbox"),
                             ({"op": "create", "path": "sub", "to": "y.txt"}, "validation_error"),
                             ({"op": "burn", "path": "sub", "to": "y.zip"}, "validation_error")):
            self.assertEqual(client("archive", **words)[1]["error"], error, words)

    def test_a_process_that_dies_is_started_again(self):
        (self.room / "anna").mkdir()
        server, client, _ = self.clients("--fs", self.root, "--fs-tenant", f"anna={self.room / 'anna'}")
        for _ in range(3):
            before = hosts_of(server.process.pid)
            self.assertEqual(len(before), 2)
            for host in before:
                os.kill(host, signal.SIGKILL)
            # Whatever is asked meanwhile has an answer.
            seen, until = set(), time.monotonic() + PATIENCE
            while 200 not in seen and time.monotonic() < until:
                status, body = client("read", path="a.txt")
                self.assertIn((status, body.get("error")), ((200, None), (503, "busy")))
                seen.add(status)
            self.assertIn(200, seen)
            # Those that were killed need a moment to die.
            while len(hosts_of(server.process.pid)) != 2 or set(before) & set(hosts_of(server.process.pid)):
                self.assertLess(time.monotonic(), until)
            server.hosts += [os.pidfd_open(pid) for pid in hosts_of(server.process.pid)]
        self.assertEqual(server.ask("GET", "/healthz")[0], 200)
        self.assertEqual(server.end(), 0)


class Boundary(Scene):
    """The invariant fs-path-traversal."""

    def each(self, path):
        """Every operation with this path."""
        return (("read", {"path": path}), ("stat", {"path": path}), ("delete", {"path": path}),
                ("write", {"path": path, "bytes": encode("changed")}), ("list", {"prefix": path}))

    def test_every_path_that_leaves_is_refused_by_every_operation(self):
        _, first, second = self.clients()
        for path in OUTSIDE:
            for operation, arguments in self.each(path):
                with self.subTest(operation=operation, path=path):
                    status, body = first(operation, **arguments)
                    self.assertEqual((status, body.get("error")), (403, "path_outside_sandbox"), body)
                    status, body = second(operation, **arguments)
                    self.assertEqual((status, body.get("error")), (403, "forbidden"))
                    self.assertEqual(body["details"], {"service": "fs", "reason": "path-outside-sandbox"})
        self.assertEqual((self.room / "outside.txt").read_text(), SECRET)
        self.assertEqual((self.room / "root-twin/outside.txt").read_text(), SECRET)

    def test_nothing_is_decoded(self):
        _, client, _ = self.clients()
        for path in LITERAL:
            with self.subTest(path=path):
                self.assertEqual(client("read", path=path)[1]["error"], "file_not_found")
                self.assertEqual(client("list", prefix=path)[1], {"entries": []})
        self.assertEqual(client("write", path="%2e%2e/x", bytes="")[0], 200)
        self.assertTrue((self.root / "%2e%2e/x").exists())

    def test_links_that_leave_are_refused_by_every_operation(self):
        _, client, _ = self.clients()
        links = {"file": self.room / "outside.txt", "relative": "../outside.txt", "directory": self.room,
                 "proc": "/proc/self/root", "self": self.room / "root/a.txt", "up": "..", "deep": "sub/../../outside.txt"}
        for name, target in links.items():
            (self.root / name).symlink_to(target)
        (self.root / "chain").symlink_to("relative")
        paths = [*links, "chain", "directory/outside.txt", "up/outside.txt", "proc/etc/passwd"]
        for path in paths:
            for operation, arguments in self.each(path + "/" if path in ("directory", "up", "proc") else path):
                if operation == "list" and not arguments["prefix"].endswith("/") and "/" not in path:
                    continue  # a prefix of names, not the link
                with self.subTest(operation=operation, path=path):
                    status, body = client(operation, **arguments)
                    self.assertEqual((status, body.get("error")), (403, "path_outside_sandbox"), body)
        self.assertEqual((self.room / "outside.txt").read_text(), SECRET)
        for name in links:
            self.assertTrue((self.root / name).is_symlink(), name)
        listed = json.dumps(client("list"))
        self.assertNotIn("outside", listed)

    def test_links_that_stay_inside_are_followed(self):
        _, client, _ = self.clients()
        (self.root / "inner").symlink_to("sub/b.txt")
        self.assertEqual(client("read", path="inner")[1]["bytes"], encode("inner\n"))
        (self.root / "loop").symlink_to("loop")
        self.assertGreaterEqual(client("read", path="loop")[0], 400)
        (self.root / "hard").hardlink_to(self.room / "outside.txt")
        self.assertEqual(client("read", path="hard")[1]["error"], "fs_permission_denied")
        self.assertEqual(client("write", path="hard", bytes="")[1]["error"], "fs_permission_denied")
        os.mkfifo(self.root / "fifo")
        self.assertEqual(client("read", path="fifo")[1]["error"], "not_a_file")

    def test_a_link_that_is_put_there_meanwhile_leaks_nothing(self):
        _, client, _ = self.clients()
        (self.root / "swapped").mkdir()
        (self.root / "swapped/outside.txt").write_text("inside\n")
        (self.root / "link").symlink_to(self.room)
        over = threading.Event()

        def swap():
            exchange = 1 << 1  # RENAME_EXCHANGE: the names change places at once
            libc = ctypes.CDLL(None, use_errno=True)
            a, b = (os.fsencode(self.root / name) for name in ("swapped", "link"))
            while not over.is_set():
                libc.renameat2(-100, a, -100, b, exchange)

        thread = threading.Thread(target=swap)
        thread.start()
        seen = {"inside": 0, "refused": 0}
        try:
            for _ in range(1500):
                for operation in ("read", "write"):
                    more = {"bytes": encode("inside\n")} if operation == "write" else {}
                    status, body = client(operation, path="swapped/outside.txt", **more)
                    if operation == "read" and status == 200:
                        self.assertEqual(base64.b64decode(body["bytes"]), b"inside\n")
                        seen["inside"] += 1
                    elif status != 200:
                        self.assertIn(body["error"], ("path_outside_sandbox", "file_not_found", "busy"), body)
                        seen["refused"] += 1
        finally:
            over.set()
            thread.join()
        self.assertEqual((self.room / "outside.txt").read_text(), SECRET)
        self.assertGreater(seen["inside"], 0, seen)

    def test_the_servers_own_state_is_out_of_reach(self):
        server = self.serve("--fs", self.room)
        client = self.client(server, self.key())
        self.assertEqual(client("read", path="root/a.txt")[0], 200)
        for path in ("state/server/server.db", "state/server/audit.jsonl", "state/server/hostfs/%owner/audit.jsonl"):
            self.assertGreaterEqual(client("read", path=path)[0], 400, path)
            self.assertGreaterEqual(client("write", path=path, bytes="")[0], 400, path)
        self.assertNotIn("server.db", json.dumps(client("list", limit=1000)))

    def test_refusals_are_in_the_audit_log(self):
        server, client, _ = self.clients()
        client("read", path="../outside.txt")
        client("write", path="w.txt", bytes="")
        server.end()
        words = self.command("audit", "--state-dir", self.state / "server/hostfs/%owner", "--json")
        records = [json.loads(line) for line in words.splitlines()]
        self.assertTrue(any(record.get("error") == "path_outside_root" for record in records), words)
        self.assertTrue(any(record.get("relativePath") == "w.txt" for record in records), words)


class Sizes(Scene):
    LIMIT = 100_000

    def clients(self):
        return super().clients("--fs", self.root, "--fs-max-file-size", str(self.LIMIT))

    def test_a_file_is_as_large_as_the_limit_and_no_larger(self):
        server, first, second = self.clients()
        self.assertEqual(first("write", path="x", bytes=encode(b"x" * self.LIMIT))[0], 200)
        self.assertEqual(first("read", path="x")[0], 200)
        for more in (1, 2, 3, self.LIMIT, 10 * self.LIMIT, 40 * self.LIMIT):
            with self.subTest(more=more):
                content = encode(b"y" * (self.LIMIT + more))
                status, body = self.client(server, self.key(f"a{more}"))("write", path="x", bytes=content)
                self.assertEqual((status, body["error"]), (413, "file_too_large"))
        status, body = second("write", path="x", bytes=encode(b"y" * (self.LIMIT + 1)))
        self.assertEqual((status, body["error"], body["details"]),
                         (422, "storage_limit_exceeded", {"service": "fs", "limit": "maxFileSizeBytes"}))
        self.assertEqual((self.root / "x").read_bytes(), b"x" * self.LIMIT)

    def test_a_larger_file_is_not_read(self):
        _, first, second = self.clients()
        with open(self.root / "large", "wb") as file:
            file.truncate(self.LIMIT + 1)
        with open(self.root / "sparse", "wb") as file:
            file.truncate(1 << 40)
        for name in ("large", "sparse"):
            self.assertEqual(first("read", path=name)[1]["error"], "file_too_large")
            self.assertEqual(second("read", path=name)[1]["error"], "storage_limit_exceeded")
            self.assertEqual(first("stat", path=name)[0], 200)
            self.assertEqual(first("delete", path=name)[1], {"deleted": True})

    def test_a_file_that_grows_never_exceeds_the_limit(self):
        _, client, _ = self.clients()
        over = threading.Event()
        path = self.root / "growing"
        path.write_bytes(b"")

        def grow():
            while not over.is_set():
                with open(path, "r+b") as file:
                    file.truncate(self.LIMIT - 3000)
                    file.seek(0, os.SEEK_END)
                    for _ in range(8):
                        file.write(b"z" * 1000)
                        file.flush()

        thread = threading.Thread(target=grow)
        thread.start()
        answers = set()
        try:
            for _ in range(300):
                status, body = client("read", path="growing")
                answers.add(status)
                if status == 200:
                    self.assertLessEqual(len(base64.b64decode(body["bytes"])), self.LIMIT)
                else:
                    self.assertEqual(body["error"], "file_too_large")
        finally:
            over.set()
            thread.join()
        self.assertIn(200, answers)


class Lists(Scene):
    def all_pages(self, client, change=None, **arguments):
        paths, cursor = [], {}
        while True:
            status, page = client("list", **arguments, **cursor)
            self.assertEqual(status, 200, page)
            self.assertLessEqual(len(page["entries"]), arguments.get("limit", 100))
            paths += [entry["path"] for entry in page["entries"]]
            if "nextCursor" not in page:
                return paths
            self.assertTrue(page["entries"])
            cursor = {"cursor": page["nextCursor"]}
            if change:
                change(paths)

    def fill(self):
        names = [f"{d}{i:02}{e}" for d in ("", "a/", "a-b/", "a/b/", "z/") for i in range(12) for e in (".x", "")]
        for name in names:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(name)
        return sorted([*names, "a.txt", "sub/b.txt"], key=lambda name: name.encode())

    def test_pages_are_sorted_and_complete(self):
        names = self.fill()
        _, client, _ = self.clients()
        for limit in (1, 2, 7, 100, 1000):
            self.assertEqual(self.all_pages(client, limit=limit), names)
        for prefix in ("a", "a/", "a/b", "a-", "a/b/1", "z/0", "/sandbox/a/", "./a/", "a//b/", "zz", "none/x", "a.txt/x"):
            plain = prefix.removeprefix("/sandbox/").removeprefix("./").replace("//", "/")
            self.assertEqual(self.all_pages(client, limit=5, prefix=prefix),
                             [name for name in names if name.startswith(plain)], prefix)

    def test_a_cursor_holds_while_files_change(self):
        names = self.fill()
        _, client, _ = self.clients()
        added = set()

        def change(seen):
            # What comes before is not listed any more, what comes after is, and the last path may go.
            (self.root / f"!{len(seen):03}").write_text("before")
            later = self.root / f"zz{len(seen):03}"
            later.write_text("after")
            added.add(later.name)
            if (self.root / seen[-1]).exists():
                (self.root / seen[-1]).unlink()

        found = self.all_pages(client, change, limit=9)
        self.assertEqual(found, sorted(set(found)))
        self.assertEqual([name for name in found if name in names], names)
        self.assertEqual({name for name in found if name not in names}, added)

    def test_names_that_are_no_text_and_other_things_are_left_out(self):
        _, client, _ = self.clients()
        with open(os.fsencode(self.root) + b"/bad\xff", "w"):
            pass
        os.mkfifo(self.root / "fifo")
        (self.root / "link").symlink_to("a.txt")
        (self.root / "line\nbreak").write_text("")
        self.assertEqual(self.all_pages(client), ["a.txt", "line\nbreak", "sub/b.txt"])


class Keys(Scene):
    def test_a_key_is_needed(self):
        server, _, _ = self.clients()
        for headers in ({}, {"Authorization": "Bearer gha_none"}, {"Authorization": "Basic Og=="}):
            for path, more in ((V1 + "read", {}), (V2 + "read", SECOND), ("/runs", {})):
                status, about, body = server.ask("POST", path, {"path": "a.txt"}, headers | more)
                self.assertEqual((status, body["error"], about["WWW-Authenticate"]), (401, "unauthenticated", "Bearer"))
        self.assertEqual(server.ask("GET", "/runs/x")[0], 401)

    def test_a_key_does_what_it_was_made_for(self):
        server = self.serve("--fs", self.root)
        reader = self.client(server, self.key("reader", "--tools", "read"))
        self.assertEqual(reader("read", path="a.txt")[0], 200)
        self.assertEqual(reader("write", path="a.txt", bytes="")[1]["error"], "fs_permission_denied")
        self.assertEqual(reader("delete", path="a.txt")[1]["error"], "fs_permission_denied")
        self.assertEqual(reader("archive", op="create", path="sub", to="x.zip")[1]["error"], "fs_permission_denied")
        writer = self.client(server, self.key("writer", "--tools", "write"))
        self.assertEqual(writer("read", path="a.txt")[1]["error"], "fs_permission_denied")
        other = self.client(server, self.key("other", "--tools", "shell"))
        self.assertEqual(other("list")[1]["error"], "fs_permission_denied")
        self.assertEqual((self.root / "a.txt").read_text(), "hello\n")

    def test_a_revoked_key_ends_at_once(self):
        server, client, _ = self.clients()
        self.assertEqual(client("read", path="a.txt")[0], 200)
        self.command("agent", "--state-dir", self.state, "remove", "ci")
        self.assertEqual(client("read", path="a.txt")[0], 401)

    def test_tenants_do_not_meet(self):
        for name in ("anna", "ben", "nobody"):
            self.command("user", "--state-dir", self.state, "add", name, "--no-password")
        for name in ("anna", "ben"):
            (self.room / name).mkdir()
            (self.room / name / "own.txt").write_text(name)
        server = self.serve("--fs-tenant", f"anna={self.room}/anna", "--fs-tenant", f"ben={self.room}/ben")
        clients = {name: self.client(server, self.key("k", "--user", name)) for name in ("anna", "ben", "nobody")}
        for name in ("anna", "ben"):
            self.assertEqual(clients[name]("read", path="own.txt")[1]["bytes"], encode(name))
            other = "ben" if name == "anna" else "anna"
            self.assertEqual(clients[name]("read", path=f"../{other}/own.txt")[1]["error"], "path_outside_sandbox")
        run = clients["anna"].send("POST", "/runs", json.dumps({"workflowId": "conformance-fs-probe",
                                                               "inputs": {"op": "read", "path": "own.txt"}}))[1]
        self.assertEqual(clients["anna"].send("GET", f"/runs/{run['runId']}")[0], 200)
        self.assertEqual(clients["ben"].send("GET", f"/runs/{run['runId']}")[0], 404)
        # Neither the owner nor another user has files here.
        for client in (clients["nobody"], self.client(server, self.key("own"))):
            status, body = client("read", path="own.txt")
            self.assertEqual((status, body["error"]), (501, "host_capability_missing"))

    def test_files_in_memory(self):
        self.command("user", "--state-dir", self.state, "add", "anna", "--no-password")
        server = self.serve("--fs-memory", "--fs-tenant", "anna")
        owner, anna = self.client(server, self.key()), self.client(server, self.key("k", "--user", "anna"))
        self.assertEqual(owner("write", path="d/x", bytes=encode("mine"))[0], 200)
        self.assertEqual(owner("read", path="/sandbox/d/x")[1]["bytes"], encode("mine"))
        self.assertEqual(owner("read", path="../x")[1]["error"], "path_outside_sandbox")
        self.assertEqual(owner("list")[1], {"entries": [{"path": "d/x", "sizeBytes": 4}]})
        self.assertEqual(anna("list")[1], {"entries": []})
        self.assertEqual(owner("archive", op="create", path="d", to="d.zip")[0], 200)
        self.assertEqual(owner("delete", path="d/x")[1], {"deleted": True})
        self.assertFalse(any(path.name in ("x", "d.zip") for path in self.room.rglob("*")))


class Runs(Scene):
    """The probe of the second major."""

    def run_probe(self, client, **inputs):
        status, run = client.send("POST", "/runs", json.dumps({"workflowId": "conformance-fs-probe", "inputs": inputs}))
        self.assertEqual(status, 201, run)
        status, events = client.send("GET", f"/runs/{run['runId']}/events/poll?timeout=1")
        self.assertEqual((status, events["isComplete"]), (200, True))
        status, again = client.send("GET", f"/runs/{run['runId']}")
        self.assertEqual((status, again["status"]), (200, run["status"]))
        node, = [event for event in events["events"] if event["type"].startswith("node.")]
        self.assertEqual(node["payload"]["nodeId"], "fs-probe")
        self.assertEqual(node["type"], "node.completed" if run["status"] == "completed" else "node.failed")
        self.assertEqual([event["sequence"] for event in events["events"]], list(range(len(events["events"]))))
        return node["payload"]

    def test_operations_of_a_run(self):
        _, _, client = self.clients()
        self.assertEqual(self.run_probe(client, op="write", path="p.txt", content="h\u00e9")["outputs"]["result"],
                         {"path": "p.txt", "sizeBytes": 3})
        self.assertEqual(self.run_probe(client, op="read", path="p.txt")["outputs"]["result"]["bytes"], encode("h\u00e9"))
        self.assertEqual(self.run_probe(client, op="stat", path="p.txt")["outputs"]["result"]["sizeBytes"], 3)
        self.assertEqual(len(self.run_probe(client, op="list")["outputs"]["result"]["entries"]), 3)
        self.assertEqual(self.run_probe(client, op="delete", path="p.txt")["outputs"]["result"], {"deleted": True})

    def test_the_operators_escape_link_fails_the_run(self):
        _, _, client = self.clients()
        (self.root / "escape").symlink_to(self.room / "outside.txt")
        for path in ("escape", "../outside.txt", "/etc/passwd"):
            for operation in ("read", "write", "stat", "delete"):
                error = self.run_probe(client, op=operation, path=path, content="x")["error"]
                self.assertEqual((error["code"], error["details"]),
                                 ("forbidden", {"service": "fs", "reason": "path-outside-sandbox"}))
        self.assertEqual((self.room / "outside.txt").read_text(), SECRET)

    def test_limits_and_missing_files_fail_the_run(self):
        _, _, client = self.clients("--fs", self.root, "--fs-max-file-size", "10")
        error = self.run_probe(client, op="write", path="x", content="x" * 11)["error"]
        self.assertEqual((error["code"], error["details"]["limit"]), ("storage_limit_exceeded", "maxFileSizeBytes"))
        self.assertEqual(self.run_probe(client, op="read", path="none")["error"]["code"], "not_found")

    def test_what_is_no_run(self):
        _, _, client = self.clients()
        for body, status in (({}, 400), ({"workflowId": "other", "inputs": {"op": "read"}}, 404),
                             ({"workflowId": "conformance-fs-probe"}, 400),
                             ({"workflowId": "conformance-fs-probe", "inputs": {"op": "exec"}}, 400)):
            self.assertEqual(client.send("POST", "/runs", json.dumps(body))[0], status)
        self.assertEqual(client.send("GET", "/runs/run_none")[0], 404)
        self.assertEqual(client.send("GET", "/runs/run_none/events/poll")[0], 404)
        status, body = client.send("POST", "/runs", "{}", {"OpenWOP-Version": "1.0"})
        self.assertEqual((status, body["error"]), (406, "protocol_version_unsupported"))


if __name__ == "__main__":
    del sys.argv[1]
    unittest.main()
