#!/usr/bin/env python3
"""`gatehouse mcp --http`: authentication, responses, and bad clients."""
import concurrent.futures
import contextlib
import http.client
import itertools
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from mcp_client import MODERN, PATIENCE, Scene

BOTH = "application/json, text/event-stream"
KEY = "a-key-for-this-test-only"
MOST_CONNECTIONS = 512


class HttpServer:
    """The program behind --http, with its process where Scene looks for it."""

    def __init__(self, *flags, state, key=KEY, before=(), host="127.0.0.1"):
        environment = {
            "PATH": "/usr/bin:/bin", "HOME": str(state), "XDG_STATE_HOME": str(state),
            **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")},
        }
        if key is not None:
            environment["GATEHOUSE_HTTP_KEY"] = key
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [*before, mcp_client.GATEHOUSE, "mcp", "--http", f"{host}:0", *map(str, flags)],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.said,
            start_new_session=True)
        self.pid = self.process.pid
        address = self.process.stdout.readline().decode()
        self.header = self.process.stdout.readline().decode().rstrip("\n")
        self.host = host
        self.port = int(re.fullmatch(rf"http://{re.escape(host)}:(\d+)/mcp\n", address).group(1))
        self.key = re.fullmatch(r"Authorization: Bearer ([!-~]+)", self.header).group(1)
        self.next_id = 0

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)

    def wire(self):
        wire = socket.create_connection((self.host, self.port), PATIENCE)
        wire.settimeout(PATIENCE)
        return wire

    def legacy(self, verb, message=None, session=None):
        """A request of the legacy era: status, headers, and what came."""
        here = self.connect()
        here.request(verb, "/mcp", None if message is None else json.dumps(message),
                     {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json",
                      "Accept": BOTH, **({"Mcp-Session-Id": session} if session else {})})
        answer = here.getresponse()
        text = answer.read().decode()
        here.close()
        return answer.status, answer.headers, text

    def open_session(self, revision, capabilities=None):
        status, headers, text = self.legacy("POST", {
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": revision, "capabilities": capabilities or {},
                       "clientInfo": {"name": "test", "version": "1"}}})
        assert status == 200, text
        return headers["Mcp-Session-Id"]

    def ask(self, method, params=None, headers=None, verb="POST", connection=None):
        """A modern request: status, headers, and the message as it came."""
        self.next_id += 1
        body = {"jsonrpc": "2.0", "id": self.next_id, "method": method,
                "params": {**(params or {}), "_meta": MODERN}}
        named = (params or {}).get("name") or (params or {}).get("uri")
        given = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json",
                 "Accept": BOTH, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method,
                 **({"Mcp-Name": named} if named else {}), **(headers or {})}
        given = {name: value for name, value in given.items() if value is not None}
        here = connection or self.connect()
        here.request(verb, "/mcp", json.dumps(body) if verb == "POST" else None, given)
        answer = here.getresponse()
        text = answer.read().decode()
        if connection is None:
            here.close()
        return answer.status, answer.headers, text

    def call(self, tool, connection=None, **arguments):
        status, _, text = self.ask("tools/call", {"name": tool, "arguments": arguments},
                                   connection=connection)
        assert status == 200, text
        return json.loads(text)["result"]

    def words(self):
        self.said.seek(0)
        return self.said.read().decode(errors="replace")

    def wait(self):
        return self.process.wait(PATIENCE)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def discard(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Http(Scene):
    def serve(self, *flags, **settings):
        server = HttpServer(*flags, self.root, state=self.state, **settings)
        self.servers.append(server)
        return server

    def descriptors(self, server):
        try:
            return len(os.listdir(f"/proc/{server.pid}/fd"))
        except PermissionError:
            self.skipTest("an ordinary user cannot look into a process that hides its memory")


class LettingIn(Http):
    def refused(self, *flags, key=KEY):
        done = subprocess.run(
            [mcp_client.GATEHOUSE, "mcp", *flags, self.root], capture_output=True, text=True,
            env={"PATH": "/usr/bin:/bin", "XDG_STATE_HOME": str(self.state),
                 "GATEHOUSE_HTTP_KEY": key},
            timeout=PATIENCE)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_only_this_machine_is_served(self):
        for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:0"):
            self.assertIn("this machine only", self.refused("--http", address))
        for address in ("", "7650", "127.0.0.1", "example.org:80", "127.0.0.1:70000"):
            self.assertIn("127.0.0.1:7650", self.refused("--http", address))

    def test_a_port_that_is_taken_is_told(self):
        server = self.serve()
        self.assertIn("in use", self.refused("--http", f"127.0.0.1:{server.port}").lower())

    def test_a_weak_key_is_refused(self):
        self.assertIn("16 to 256", self.refused("--http", "127.0.0.1:0", key="short"))
        self.assertIn("visible", self.refused("--http", "127.0.0.1:0", key="sixteen characters"))

    def test_each_start_makes_a_key(self):
        keys = set()
        for _ in range(3):
            server = self.serve(key=None)
            keys.add(server.key)
            self.assertGreaterEqual(len(server.key), 32)
            self.assertEqual(server.ask("tools/list")[0], 200)
        self.assertEqual(len(keys), 3)

    def test_nothing_is_answered_without_the_key(self):
        server = self.serve()
        for wrong in (None, "", "Bearer", "Bearer ", f"Bearer {KEY}x", f"Bearer {KEY[:-1]}", KEY,
                      f"Basic {KEY}", f"Bearer {KEY} {KEY}"):
            for verb in ("POST", "GET", "DELETE"):
                status, headers, text = server.ask("tools/list", verb=verb,
                                                   headers={"Authorization": wrong})
                self.assertEqual(status, 401, (wrong, verb))
                self.assertIn("Bearer", headers["WWW-Authenticate"])
                self.assertNotIn("read_file", text)
        connection = server.connect()
        connection.request("POST", f"/mcp?key={KEY}", "{}", {"Content-Type": "application/json"})
        self.assertEqual(connection.getresponse().status, 401)
        connection.close()

    def test_pages_from_elsewhere_are_refused(self):
        server = self.serve()
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"},
                        {"Host": "evil.example"}, {"Host": f"evil.example:{server.port}"},
                        {"Host": "127.0.0.1:1"}, {"Origin": f"http://127.0.0.1.evil:{server.port}"}):
            self.assertEqual(server.ask("tools/list", headers=headers)[0], 403, headers)
        for host in ("127.0.0.1", "localhost", "[::1]"):
            named = {"Host": f"{host}:{server.port}", "Origin": f"http://{host}:{server.port}"}
            self.assertEqual(server.ask("tools/list", headers=named)[0], 200, named)

    def test_any_address_of_this_machine_is_its_own_name(self):
        server = self.serve(host="127.0.0.2")
        self.assertEqual(server.ask("tools/list")[0], 200)
        self.assertEqual(server.ask("tools/list", headers={
            "Host": f"127.0.0.3:{server.port}"})[0], 403)

    def test_the_key_is_not_in_the_log(self):
        server = self.serve("--log-level", "debug")
        server.ask("tools/list")
        server.ask("tools/list", headers={"Authorization": f"Bearer {KEY}x"})
        connection = server.connect()
        connection.request("GET", f"/mcp?key={KEY}")
        self.assertEqual(connection.getresponse().status, 401)
        connection.close()
        words = server.words()
        self.assertIn("/mcp", words)
        self.assertNotIn(KEY, words)


class Working(Http):
    def test_tools_do_their_work_within_the_folder(self):
        (self.outside / "secret").write_text("secret")
        (self.root / "link").symlink_to(self.outside / "secret")
        server = self.serve("--write", "--deny", "**/.env")
        (self.root / ".env").write_text("hidden")
        connection = server.connect()
        server.call("write_file", connection, filePath="a.txt", content="new")
        self.assertEqual((self.root / "a.txt").read_text(), "new")
        told = server.call("read_file", connection, filePath="a.txt")["structuredContent"]
        self.assertEqual(told["content"], "new")
        for name in (".env", "link", "../outside/secret"):
            result = server.call("read_file", connection, filePath=name)
            self.assertTrue(result.get("isError"), name)
            self.assertNotIn("secret\"", json.dumps(result))
        server.call("undo_changes", connection)
        self.assertFalse((self.root / "a.txt").exists())
        connection.close()
        written = [record for record in self.records()
                   if record["operation"] == "write" and record["subject"]["id"] != "settings"]
        self.assertTrue(written)
        self.assertTrue(all("a.txt" in json.dumps(record) for record in written), written)

    def test_a_session_is_kept_over_connections(self):
        server = self.serve()
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json",
                   "Accept": BOTH}

        def post(message, **more):
            connection = server.connect()
            connection.request("POST", "/mcp", json.dumps(message), {**headers, **more})
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            return answer.status, answer.headers, text

        opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
                   "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                              "clientInfo": {"name": "test", "version": "1"}}}
        status, told, _ = post(opening)
        session = {"Mcp-Session-Id": told["Mcp-Session-Id"]}
        self.assertEqual(status, 200)
        self.assertEqual(post({"jsonrpc": "2.0", "method": "notifications/initialized"},
                              **session)[0], 202)
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        self.assertEqual(json.loads(post(ping, **session)[2])["result"], {})
        self.assertEqual(post(ping)[0], 400)
        self.assertEqual(post(ping, **{"Mcp-Session-Id": "x" * 32})[0], 404)
        connection = server.connect()
        connection.request("DELETE", "/mcp", None, {**headers, **session})
        self.assertEqual(connection.getresponse().status, 204)
        connection.close()
        self.assertEqual(post(ping, **session)[0], 404)

    def test_it_is_confined(self):
        server = self.serve()
        with open(f"/proc/{server.pid}/status", encoding="ascii") as file:
            status = file.read()
        self.assertRegex(status, r"NoNewPrivs:\s+1")
        self.assertRegex(status, r"Seccomp:\s+2")


class AskedCall:
    """A call of a legacy session whose answer comes as a stream, with a question before it."""

    def __init__(self, server, session, tool, **arguments):
        self.server, self.session = server, session
        self.here = server.connect()
        self.here.request("POST", "/mcp", json.dumps({
            "jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}}), {
                "Authorization": f"Bearer {server.key}", "Content-Type": "application/json",
                "Accept": BOTH, "Mcp-Session-Id": session})
        self.stream = self.here.getresponse()

    def next_message(self):
        if "json" in self.stream.headers["Content-Type"]:
            return json.loads(self.stream.read())
        for line in self.stream:
            if line.startswith(b"data:") and line[5:].strip():
                return json.loads(line[5:])
        raise AssertionError("the stream ended")

    def question(self):
        message = self.next_message()
        assert message.get("method") == "elicitation/create", message
        return message

    def answer(self, question, decision, session=None):
        """By this session, or by another."""
        return self.server.legacy("POST", {
            "jsonrpc": "2.0", "id": question["id"],
            "result": {"action": "accept", "content": {"decision": decision}}},
            session or self.session)[0]

    def close(self):
        self.stream.close()
        self.here.close()


class Asking(Http):
    ASKING = {"elicitation": {}}

    def setUp(self):
        super().setUp()
        self.server = self.serve("--permission-filesystem-write", "ask")

    def call(self, session, tool, **arguments):
        call = AskedCall(self.server, session, tool, **arguments)
        self.addCleanup(call.close)
        return call

    def open(self):
        return self.server.open_session("2025-11-25", self.ASKING)

    def test_only_who_was_asked_can_answer(self):
        mine, yours = self.open(), self.open()
        call = self.call(mine, "write_file", filePath="a.txt", content="x")
        question = call.question()
        call.answer(question, "Allow once", yours)
        # The stranger's own calls go on, and have questions of their own.
        other = self.call(yours, "write_file", filePath="b.txt", content="y")
        asked = other.question()
        self.assertNotEqual(asked["id"], question["id"])
        self.assertEqual(other.answer(asked, "Allow once"), 202)
        self.assertFalse(other.next_message()["result"].get("isError"))
        self.assertEqual(os.listdir(self.root), ["b.txt"])
        self.assertEqual(call.answer(question, "Deny once"), 202)
        self.assertTrue(call.next_message()["result"]["isError"])
        self.assertEqual(os.listdir(self.root), ["b.txt"])

    def test_what_is_allowed_for_the_session_is_allowed_to_all_clients(self):
        mine, yours = self.open(), self.open()
        call = self.call(mine, "write_file", filePath="a.txt", content="1")
        call.answer(call.question(), "Allow for this session")
        self.assertFalse(call.next_message()["result"].get("isError"))
        other = self.call(yours, "write_file", filePath="a.txt", content="2")
        self.assertFalse(other.next_message()["result"].get("isError"))
        self.assertEqual((self.root / "a.txt").read_text(), "2")

    def test_a_session_that_ends_takes_its_questions_and_no_others(self):
        mine, yours = self.open(), self.open()
        call = self.call(mine, "write_file", filePath="a.txt", content="x")
        question = call.question()
        other = self.call(yours, "write_file", filePath="b.txt", content="y")
        asked = other.question()
        self.assertEqual(self.server.legacy("DELETE", session=mine)[0], 204)
        self.assertEqual(call.answer(question, "Allow once"), 404)
        call.answer(question, "Allow once", yours)
        self.assertEqual(other.answer(asked, "Allow once"), 202)
        self.assertFalse(other.next_message()["result"].get("isError"))
        self.assertEqual(os.listdir(self.root), ["b.txt"])

    def test_it_ends_while_somebody_is_asked(self):
        for number in range(20):
            self.call(self.open(), "write_file", filePath=f"{number}.txt", content="x").question()
        self.assertEqual(self.server.end(), 0)
        self.assertEqual(os.listdir(self.root), [])


class Enduring(Http):
    def test_bytes_that_are_no_request_end_their_connection_only(self):
        server = self.serve()
        for bytes_ in (b"\0" * 100, b"GET\r\n\r\n", b"POST /mcp HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                       b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                       b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                       b"A" * (1 << 20), b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
            with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as wire:
                wire.settimeout(PATIENCE)
                try:
                    wire.sendall(bytes_)
                    wire.shutdown(socket.SHUT_WR)
                    answer = wire.recv(1 << 16)
                except OSError:
                    answer = b""
                self.assertFalse(answer.startswith(b"HTTP/1.1 2"), bytes_[:40])
        self.assertEqual(server.ask("tools/list")[0], 200)

    def test_clients_that_leave_in_the_middle_leave_nothing_behind(self):
        (self.root / "large.txt").write_text("line\n" * 100000)
        server = self.serve("--max-file-size", "4MiB", "--max-lines", "1000000")
        self.assertEqual(server.ask("tools/list")[0], 200)
        before = self.descriptors(server)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "read_file", "arguments": {"filePath": "large.txt"}, "_meta": MODERN}})
        request = (f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                   f"Authorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"
                   f"Accept: {BOTH}\r\nMCP-Protocol-Version: 2026-07-28\r\n"
                   "Mcp-Method: tools/call\r\nMcp-Name: read_file\r\n"
                   f"Content-Length: {len(body)}\r\n\r\n{body}").encode()
        for cut in range(1, len(request), 7):
            with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as wire:
                wire.sendall(request[:cut])
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as wire:
                wire.sendall(request)
                wire.recv(10)
        for _ in range(PATIENCE * 20):
            if self.descriptors(server) <= before:
                break
            self.assertEqual(server.ask("tools/list")[0], 200)
        self.assertLessEqual(self.descriptors(server), before)

    def test_many_clients_at_once_are_all_answered(self):
        for number in range(20):
            (self.root / f"{number}.txt").write_text(f"number {number}")
        server = self.serve()

        def read_all(_):
            connection = server.connect()
            texts = []
            for number in range(20):
                result = server.call("read_file", connection, filePath=f"{number}.txt")
                texts.append(result["structuredContent"]["content"])
            connection.close()
            return texts

        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            for texts in pool.map(read_all, range(64)):
                self.assertEqual(texts, [f"number {number}" for number in range(20)])

    def test_a_message_beyond_the_ceiling_is_refused(self):
        server = self.serve()
        status, _, _ = server.ask("tools/call", {"name": "read_file", "arguments": {
            "filePath": "x" * (17 << 20)}})
        self.assertEqual(status, 413)
        self.assertEqual(server.ask("tools/list")[0], 200)

    def test_who_comes_when_there_are_too_many_is_told(self):
        server = self.serve()
        clients = [server.connect() for _ in range(MOST_CONNECTIONS)]
        for client in clients:
            self.assertEqual(server.ask("tools/list", connection=client)[0], 200)
        with server.wire() as wire:
            self.assertIn(b" 503 ", wire.recv(4096))
        for client in clients:
            client.close()

    def test_connections_without_the_key_keep_nobody_out(self):
        """Any user of the machine can open them, and send a byte now and then."""
        server = self.serve()
        with contextlib.ExitStack() as open_ones:
            client = open_ones.enter_context(contextlib.closing(server.connect()))
            self.assertEqual(server.ask("tools/list", connection=client)[0], 200)
            for number in range(MOST_CONNECTIONS + 100):
                wire = open_ones.enter_context(server.wire())
                # Those that had to go already are reset.
                with contextlib.suppress(OSError):
                    if number % 3 == 1:
                        wire.sendall(b"POST /mcp HTTP/1.1\r\nHos")
                    elif number % 3 == 2:
                        wire.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                     b"Content-Length: 60000\r\n\r\nx")
            # One that was there before, and one that comes now.
            self.assertEqual(server.ask("tools/list", connection=client)[0], 200)
            self.assertEqual(server.ask("tools/list")[0], 200)

    def test_few_descriptors_of_a_shell_are_enough_for_many_clients(self):
        server = self.serve(before=("prlimit", "--nofile=64:4096"))
        wires = [server.wire() for _ in range(200)]
        self.assertEqual(server.ask("tools/list")[0], 200)
        for wire in wires:
            wire.close()

    def test_clients_that_do_not_read_let_others_wait_for_a_moment_only(self):
        (self.root / "large").write_text("\1" * (3 << 20))  # escaped, that is six times as much
        (self.root / "small").write_text("small")
        # Less than the half minute that a client has which is in nobody's way.
        server = self.serve("--timeout", "20s", "--max-file-size", "4MiB")
        uri = f"file://{self.root}/large"
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {
            "uri": uri, "_meta": MODERN}})
        wires = []
        for _ in range(12):
            wire = socket.socket()
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wire.connect((server.host, server.port))
            wire.sendall((f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                          f"Authorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"
                          f"Accept: {BOTH}\r\nMCP-Protocol-Version: 2026-07-28\r\n"
                          f"Mcp-Method: resources/read\r\nMcp-Name: {uri}\r\n"
                          f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
            wires.append(wire)
        self.assertFalse(server.call("read_file", filePath="small").get("isError"))
        for wire in wires:
            wire.close()

    def test_a_second_signal_does_not_wait_for_clients(self):
        server = self.serve("--log-level", "info")
        with server.wire() as wire:
            wire.sendall((f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                          f"Authorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"
                          f"Accept: {BOTH}\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
                          ).encode())
            self.assertIn(b" 100 ", wire.recv(4096))
            server.process.send_signal(signal.SIGTERM)
            while "stopping" not in server.words() and server.process.poll() is None:
                pass
            server.process.send_signal(signal.SIGTERM)
            # By the signal itself where it came when all was over.
            self.assertIn(server.wait(), (0, -signal.SIGTERM), server.words())

    def watches(self, server):
        """What the program watches in the folder, as the kernel counts it."""
        count = 0
        try:
            for file in pathlib.Path(f"/proc/{server.pid}/fdinfo").iterdir():
                with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                    count += file.read_text().count("inotify wd:")
        except PermissionError:
            self.skipTest("an ordinary user cannot look into a process that hides its memory")
        return count

    def test_addresses_that_begin_to_lead_elsewhere_are_let_go_of_with_their_session(self):
        for name in "ab":
            (self.root / name).mkdir()
            (self.root / name / "file").write_text("")
        link, other = self.root / "link", self.root / "other"
        link.symlink_to("a/file")
        server = self.serve()
        before = self.watches(server)
        is_over = threading.Event()

        def turn():
            for name in itertools.cycle("ba"):
                if is_over.is_set():
                    return
                other.symlink_to(f"{name}/file")
                other.rename(link)

        turner = threading.Thread(target=turn)
        turner.start()
        try:
            for _ in range(10):
                session = server.open_session("2025-03-26")
                server.legacy("POST", [
                    {"jsonrpc": "2.0", "id": number, "method": "resources/subscribe",
                     "params": {"uri": f"file://{link}"}} for number in range(20)], session)
                self.assertEqual(server.legacy("DELETE", session=session)[0], 204)
        finally:
            is_over.set()
            turner.join()
        self.assertEqual(server.ask("tools/list")[0], 200)
        self.assertEqual(self.watches(server), before)
        for name in "ab":
            (self.root / name / "file").write_text("changed")
        self.assertEqual(server.ask("tools/list")[0], 200)

    def test_it_ends_with_streams_open(self):
        server = self.serve()
        wire = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
            "notifications": {"resourceSubscriptions": []}, "_meta": MODERN}})
        wire.sendall((f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                      f"Authorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"
                      f"Accept: {BOTH}\r\nMCP-Protocol-Version: 2026-07-28\r\n"
                      "Mcp-Method: subscriptions/listen\r\n"
                      f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
        wire.settimeout(PATIENCE)
        self.assertIn(b"200 OK", wire.recv(4096))
        self.assertEqual(server.end(), 0)
        while wire.recv(4096):
            pass
        wire.close()


if __name__ == "__main__":
    mcp_client.main()
