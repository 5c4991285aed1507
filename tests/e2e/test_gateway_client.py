#!/usr/bin/env python3
"""The gateway protocol between two programs: a minimal daemon, and a server that may misbehave.

Arguments: gateway_client, fake_gateway.
"""
import hashlib
import http.client
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from free_port import free_port
from gateway_scene import Program, Server
from patience import PATIENCE

CLIENT, SERVER = sys.argv[1:3]
CALLS = 500
LARGE = 15 << 20


class Scene(unittest.TestCase):
    def start(self, program):
        self.addCleanup(program.close)
        return program

    def serve(self, *arguments):
        return self.start(Server(SERVER, *arguments))

    def connect(self, server, *more, scheme="http", host="127.0.0.1", **environment):
        return self.start(Program(CLIENT, f"{scheme}://{host}:{server.port}", server.token, *more,
                                  **environment))

    def open(self, *arguments):
        server = self.serve(*arguments)
        client = self.connect(server)
        client.until(status="open")
        server.until(streams=1)
        return server, client


class Sessions(Scene):
    def test_a_session_from_its_beginning_to_its_end(self):
        server, client = self.open()
        body = json.loads(server.ask("echo", a=[1, "ä", None])["text"])
        self.assertEqual(body["result"]["structuredContent"], {"a": [1, "ä", None]})
        self.assertTrue(json.loads(server.ask("nothing")["text"])["result"]["isError"])
        client.send("leave")
        client.until(ended="left")
        self.assertEqual(client.process.wait(PATIENCE), 0)
        state = server.state()
        self.assertEqual((state["connected"], state["refused"]), (False, 0))
        self.assertEqual(state["hits"], {"init": 1, "events": 1, "response": 2, "disconnect": 1,
                                         "other": 0})

    def test_the_older_dialect(self):
        server, _ = self.open("--dialect", "seed")
        self.assertTrue(server.state()["seed"])
        body = json.loads(server.ask("read-file", filePath="x")["text"])
        self.assertEqual(body, {"data": {"filePath": "x"}})
        self.assertEqual(json.loads(server.ask("other")["text"]), {"error": "no such tool"})

    def test_many_calls_at_once(self):
        server, _ = self.open()
        for number in range(CALLS):
            server.do("call", name="echo", arguments={"n": number})
        called, answered = set(), {}
        while len(called) < CALLS or len(answered) < CALLS:
            line = server.next()
            if "called" in line:
                called.add(line["called"])
            else:
                answered[line["answer"]] = json.loads(line["text"])
        self.assertEqual(called, set(answered))
        numbers = {body["result"]["structuredContent"]["n"] for body in answered.values()}
        self.assertEqual(numbers, set(range(CALLS)))
        self.assertEqual(server.state()["refused"], 0)

    def test_large_answers_go_whole_and_too_large_ones_as_a_word(self):
        server, _ = self.open()
        wanted = json.dumps({"result": {"content": [{"type": "text", "text": "x" * LARGE}]}},
                            separators=(",", ":")).encode()
        answer = server.ask("large", bytes=LARGE)
        self.assertEqual(answer["bytes"], len(wanted))
        self.assertEqual(answer["sha256"], hashlib.sha256(wanted).hexdigest())
        self.assertIn("larger", json.loads(server.ask("large", bytes=LARGE + (2 << 20))["text"])
                      ["error"])

    def test_the_server_ends_the_session(self):
        server, client = self.open()
        server.do("dismiss")
        client.until(ended="dismissed")
        self.assertEqual(server.state()["hits"]["disconnect"], 0)

    def test_this_machine_is_not_reached_by_way_of_a_proxy(self):
        server = self.serve()
        self.connect(server, http_proxy="http://127.0.0.1:1").until(status="open")


class BadDays(Scene):
    def test_garbage_on_the_stream(self):
        server, client = self.open()
        for text in ("garbage\n\n", "data: {\n\n", "\r\r\r", "data\x00: x\n\n", "event: x\n",
                     "data: {\"type\":\"gateway-disconnect\"}\n\n", ": " + "x" * 100000 + "\n"):
            server.do("raw", text=text)
        self.assertIn("result", json.loads(server.ask("echo")["text"]))
        self.assertIsNone(client.process.poll())

    def test_a_stream_that_drops_is_reopened_with_the_same_key(self):
        server, client = self.open()
        for way in ("drop", "end"):
            server.do(way)
            client.until(status="waiting", error="connection_lost")
            client.until(status="open")
            server.until(streams=1)
        self.assertEqual(server.state()["hits"]["init"], 1)
        self.assertIn("result", json.loads(server.ask("echo")["text"]))

    def test_a_server_that_is_killed_in_the_middle_of_a_call(self):
        server, client = self.open("--port", free_port())
        server.call("never")
        client.until(got="never")
        server.process.kill()
        client.until(status="waiting", error="connection_lost")
        client.until(status="waiting", error="unreachable")
        # Another one at its place knows nothing: a new token is needed, and the client stays.
        again = self.serve("--port", server.port)
        client.until(status="refused", error="gateway_denied")
        self.assertIsNone(client.process.poll())
        self.assertGreaterEqual(again.state()["hits"]["init"], 1)

    def test_a_server_that_hangs_holds_nobody_up(self):
        server, client = self.open()
        server.process.send_signal(signal.SIGSTOP)
        client.send("leave")
        client.until(ended="left")
        self.assertEqual(client.process.wait(PATIENCE), 0)

    def test_a_token_counts_once(self):
        server, _ = self.open()
        self.connect(server).until(ended="failed", error="gateway_denied")

    def test_a_server_without_a_gateway(self):
        server = self.serve("--dialect", "seed")
        server.do("fail", endpoint="init", status=404, count=1)
        self.connect(server).until(ended="failed", error="gateway_missing")

    def test_a_host_that_nobody_knows(self):
        server = self.serve()
        client = self.connect(server, host="gateway.invalid")
        # Without a resolver that answers it is the time that runs out.
        self.assertIn(client.until(ended="failed")["error"], ("host_unknown", "timed_out"))

    def test_what_is_no_address(self):
        for url in ("localhost:1", "http://user:hush@localhost", "ftp://localhost"):
            result = subprocess.run([CLIENT, url, "gw_x"], stdin=subprocess.DEVNULL,
                                    capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(result.returncode, 2)
            self.assertNotIn("hush", result.stderr)


class Contract(Scene):
    """What the server checks and says, which other daemons rely on."""

    def setUp(self):
        self.server = self.serve()
        self.path = "/rest/instance-ai/gateway/"

    def request(self, method, endpoint, body=None, key=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        headers = {"X-Gateway-Key": key} if key else {}
        connection.request(method, self.path + endpoint, body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def test_the_body_is_looked_at_before_the_key(self):
        good = json.dumps({"rootPath": "/"})
        for body, status in (("{", 400), ("{}", 400), ('{"rootPath":7}', 400), (good, 403),
                             ('{"rootPath":"/","tools":[{"name":"a","inputSchema":{}}]}', 400)):
            self.assertEqual(self.request("POST", "init", body)[0], status, body)
        self.assertEqual(self.request("POST", "init", good),
                         (403, {"code": 403, "message": "Missing API key"}))
        self.assertEqual(self.request("POST", "init", good, "x"),
                         (403, {"code": 403, "message": "Invalid API key"}))
        self.assertEqual(self.request("POST", "response/gw_1", "x" * ((16 << 20) + 1))[0], 413)

    def test_a_token_becomes_a_key_once(self):
        schema = {"oneOf": [{"type": "object", "properties": {}}]}
        body = json.dumps({"rootPath": "/", "tools": [{"name": "a", "inputSchema": schema}]})
        self.assertEqual(self.request("GET", "events", key=self.server.token),
                         (403, {"code": 403, "message": "Local gateway not initialized"}))
        status, answer = self.request("POST", "init", body, self.server.token)
        self.assertEqual(status, 200)
        key = answer["data"]["sessionKey"]
        self.assertRegex(key, r"^sess_[A-Za-z0-9]{32}$")
        self.assertEqual(self.request("POST", "init", body, self.server.token)[0], 403)
        self.assertEqual(self.request("POST", "init", body, key), (200, {"data": {"ok": True}}))
        called = self.server.call("x")
        answer = json.dumps({"result": {"content": []}})
        self.assertEqual(self.request("POST", f"response/{called}", answer, key),
                         (200, {"data": {"ok": True}}))
        self.assertEqual(self.request("POST", f"response/{called}", answer, key)[0], 404)
        self.assertEqual(self.request("POST", f"response/{called}", "{}", key)[0], 400)
        self.assertEqual(self.request("POST", "disconnect", key=key), (200, {"data": {"ok": True}}))
        self.assertEqual(self.request("POST", "init", body, key)[0], 403)


class Secured(Scene):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = pathlib.Path(cls.folder.name)
        cls.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test authority")
        for name, alternative in (("here", "IP:127.0.0.1"), ("elsewhere", "DNS:elsewhere.test")):
            (cls.path / f"{name}.ext").write_text(f"subjectAltName={alternative}\n")
            cls.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj",
                        f"/CN={name}")
            cls.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                        "-CAcreateserial", "-extfile", f"{name}.ext", "-out", f"{name}.pem")

    @classmethod
    def openssl(cls, *arguments):
        subprocess.run(["openssl", *arguments], cwd=cls.path, check=True, capture_output=True)

    def serve_as(self, name):
        return self.serve("--tls", self.path / f"{name}.pem", self.path / f"{name}.key")

    def test_a_server_that_an_authority_vouches_for(self):
        server = self.serve_as("here")
        self.connect(server, self.path / "ca.pem", scheme="https").until(status="open")
        server.until(streams=1)
        self.assertEqual(server.ask("large", bytes=LARGE)["bytes"] - LARGE,
                         len('{"result":{"content":[{"type":"text","text":""}]}}'))

    def test_one_for_another_host_and_one_that_nobody_vouches_for(self):
        server = self.serve_as("elsewhere")
        self.connect(server, self.path / "ca.pem", scheme="https").until(
            ended="failed", error="tls_wrong_host")
        self.connect(server, scheme="https").until(ended="failed", error="tls_untrusted")
        self.assertEqual(server.state()["hits"]["init"], 0)

    def test_a_server_that_speaks_plainly(self):
        server = self.serve()
        client = self.connect(server, self.path / "ca.pem", scheme="https")
        self.assertIn(client.until(ended="failed")["error"], ("tls_handshake", "tls_broken"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
