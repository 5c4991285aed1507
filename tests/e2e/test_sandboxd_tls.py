#!/usr/bin/env python3
"""The sandbox service over HTTPS: its clients, its certificate, and the command line.

    test_sandboxd_tls.py GATEHOUSE
"""
import http.client
import json
import os
import pathlib
import ssl
import subprocess
import sys
import unittest
import urllib.parse

sys.dont_write_bytecode = True  # not into the sources
from daytona_scene import WebSocket
from sandboxd_scene import KEY, PATIENCE, Scene, clean_environment, wait_until
import certificates

# Says what it was asked, once for each connection.
PAGE = r"""
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = f"{self.path} {self.headers['X-Forwarded-Proto']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *arguments):
        pass
server = http.server.HTTPServer(("127.0.0.1", 8000), Handler)
print("ready", flush=True)
server.serve_forever()
"""


class Tls(Scene):
    def setUp(self):
        super().setUp()
        self.pair = self.room / "tls"
        self.pair.mkdir()

    def certify(self, name="first", names="IP:127.0.0.1"):
        return certificates.make(self.pair, name, names)

    def serve_tls(self, *arguments, tls=None, **more):
        return self.serve("--tls-cert", self.pair / "cert.pem", "--tls-key", self.pair / "key.pem", *arguments,
                          tls=tls or self.certify(), **more)

    def works(self, service, context):
        service.tls = context
        try:
            return service.ask("GET", "/healthz")[0] == 200
        except ssl.SSLError:
            return False


class Clients(Tls):
    def test_commands_and_files(self):
        service = self.serve_tls()
        self.assertTrue(service.url.startswith("https://"))
        box = service.create()
        self.assertEqual(service.output(box, "cat /etc/hostname > /dev/null; echo hello"), "hello\n")
        content = os.urandom(6 << 20)
        self.assertEqual(service.ask("PUT", f"/sandboxes/{box}/files", content, path="/home/user/file")[0], 200)
        self.assertEqual(service.ask("GET", f"/sandboxes/{box}/files/content", path="/home/user/file")[2], content)
        many = service.output(box, "seq 200000")
        self.assertEqual(many, "".join(f"{number}\n" for number in range(1, 200001)))
        self.assertEqual(service.ask("GET", "/sandboxes", key="wrong")[0], 401)

    def test_events_come_while_the_command_runs(self):
        service = self.serve_tls()
        box = service.create()
        connection = http.client.HTTPSConnection("127.0.0.1", service.port, timeout=PATIENCE, context=service.tls)
        self.addCleanup(connection.close)
        connection.request("POST", f"/sandboxes/{box}/executions",
                           json.dumps({"command": "echo first; while ! [ -e go ]; do sleep 0.05; done; echo last"}),
                           {"X-Api-Key": KEY})
        answer = connection.getresponse()
        self.assertEqual(json.loads(answer.readline())["type"], "started")
        self.assertEqual(json.loads(answer.readline())["data"], "first\n")
        service.ask("PUT", f"/sandboxes/{box}/files", b"", path="/home/user/go")
        self.assertEqual(json.loads(answer.readline())["data"], "last\n")

    def test_who_does_not_trust_it_sends_nothing(self):
        service = self.serve_tls()
        self.assertFalse(self.works(service, ssl.create_default_context()))
        service.tls = None
        with self.assertRaises((http.client.HTTPException, OSError)):
            service.ask("GET", "/healthz")

    def test_the_daytona_api(self):
        service = self.serve_tls()

        def ask(method, path, body=None):
            return service.ask(method, path, body, key="", headers={"Authorization": "Bearer " + KEY})

        status, _, box = ask("POST", "/api/sandbox", {})
        self.assertEqual((status, box["state"]), (200, "started"))
        self.assertEqual(box["toolboxProxyUrl"], f"{service.url}/toolbox")
        self.assertEqual(ask("GET", f"/api/sandbox/{box['id']}/toolbox-proxy-url")[2]["url"], f"{service.url}/toolbox")
        toolbox = f"/toolbox/{box['id']}/process"
        self.assertEqual(ask("POST", toolbox + "/execute", {"command": "echo hello"})[2]["result"], "hello\n")
        self.assertEqual(ask("POST", toolbox + "/session", {"sessionId": "one"})[0], 201)
        command = ask("POST", toolbox + "/session/one/exec", {"command": "echo followed", "runAsync": True})[2]["cmdId"]
        follower = WebSocket(service.port, f"{toolbox}/session/one/command/{command}/logs?follow=true", KEY,
                             tls=service.tls)
        self.addCleanup(follower.close)
        self.assertEqual(follower.status, 101)
        self.assertEqual(follower.until_close(), (b"\x01\x01\x01followed\n", 1000))

    def test_a_preview(self):
        service = self.serve_tls()
        box = service.create()
        service.ask("PUT", f"/sandboxes/{box}/files", PAGE, path="/home/user/page.py")
        connection = http.client.HTTPSConnection("127.0.0.1", service.port, timeout=PATIENCE, context=service.tls)
        self.addCleanup(connection.close)
        connection.request("POST", f"/sandboxes/{box}/executions", json.dumps({"command": "exec python3 page.py"}),
                           {"X-Api-Key": KEY})
        answer = connection.getresponse()
        self.assertEqual(json.loads(answer.readline())["type"], "started")
        self.assertEqual(json.loads(answer.readline())["data"], "ready\n")
        status, _, found = service.ask("GET", f"/api/sandbox/{box}/ports/8000/signed-preview-url")
        self.assertEqual(status, 200, found)
        self.assertTrue(found["url"].startswith(service.url + "/preview/8000-"), found)
        status, _, text = service.ask("GET", urllib.parse.urlsplit(found["url"]).path + "/page", key="")
        self.assertEqual((status, text), (200, b"/page https"))


class Certificates(Tls):
    def test_a_new_one_is_used(self):
        first = self.certify("first")
        service = self.serve_tls(tls=first)
        self.assertTrue(self.works(service, first))
        second = self.certify("second")
        wait_until(lambda: self.works(service, second), "the new certificate")
        self.assertFalse(self.works(service, first))

    def test_a_broken_pair_is_logged_and_the_old_one_stays(self):
        good = self.certify("good")
        service = self.serve_tls(tls=good)
        (self.pair / "next").write_text("nonsense\n")
        os.replace(self.pair / "next", self.pair / "cert.pem")
        line = service.process.stderr.readline()
        self.assertIn("the new certificate is not used, the old one stays", line)
        self.assertIn("contains no certificate", line)
        self.assertTrue(self.works(service, good))
        last = self.certify("last")
        wait_until(lambda: self.works(service, last), "the next good one")

    def test_it_is_for_other_machines(self):
        context = self.certify()
        service = self.serve_tls("--listen", "0.0.0.0:0", "--public-url", "https://sandboxes.example", tls=context)
        self.assertEqual(service.process.stdout.readline(), "Others reach it at https://sandboxes.example\n")
        self.assertEqual(service.ask("GET", "/healthz", headers={"Host": "sandboxes.example"})[0], 200)
        for host in ("evil.example", f"127.0.0.1:{service.port}"):
            self.assertEqual(service.ask("GET", "/healthz", headers={"Host": host})[0], 403, host)

    def test_a_proxy_may_have_it_instead(self):
        service = self.serve("--listen", "0.0.0.0:0", "--behind-proxy")
        self.assertEqual(service.ask("GET", "/healthz", headers={"Host": "sandboxes.example"})[0], 200)

    def test_a_name_is_accepted_on_loopback(self):
        service = self.serve("--public-url", "https://sandboxes.example")
        for host, status in (("sandboxes.example", 200), (f"localhost:{service.port}", 200), ("evil.example", 403)):
            self.assertEqual(service.ask("GET", "/healthz", headers={"Host": host})[0], status, host)

    def test_wrong_options(self):
        self.certify()
        cert, key = self.pair / "cert.pem", self.pair / "key.pem"
        for arguments, words in (
                (("--listen", "0.0.0.0:0"), "would send passwords and keys unencrypted; use --tls-cert"),
                (("--tls-cert", cert), "--tls-cert and --tls-key need each other"),
                (("--tls-cert", "/nowhere", "--tls-key", key), "--tls-cert: cannot read '/nowhere'"),
                (("--tls-cert", key, "--tls-key", key), "--tls-cert and --tls-key:"),
                (("--public-url", "sandboxes.example"), "--public-url"),
                (("--public-url", "https://sandboxes.example/path"), "--public-url is a scheme and a host")):
            result = subprocess.run([self.gatehouse, "sandbox", "serve", "--listen", "127.0.0.1:0", "--state-dir",
                                     self.room / "state", *arguments], env=clean_environment(), capture_output=True,
                                    text=True, timeout=PATIENCE)
            self.assertEqual(result.returncode, 2, (arguments, result.stderr))
            self.assertIn(words, result.stderr)


class CommandLine(Tls):
    def run_it(self, *words, **environment):
        return subprocess.run([self.gatehouse, "sandbox", *words], capture_output=True, text=True, timeout=PATIENCE,
                              cwd=self.room, env=clean_environment(GATEHOUSE_STATE_DIR=str(self.room / "state"),
                                                                   SSL_CERT_DIR=str(self.room / "none"), **environment))

    def said(self, *words, **environment):
        result = self.run_it(*words, **environment)
        self.assertEqual((result.returncode, result.stderr), (0, ""), words)
        return result.stdout

    def test_a_service_by_its_address(self):
        service = self.serve_tls()
        known = {"GATEHOUSE_CA_FILE": str(self.pair / "cert.pem"), "GATEHOUSE_SANDBOX_KEY": KEY}
        box = self.said("create", "--url", service.url, **known).strip()
        known["GATEHOUSE_SANDBOX_URL"] = service.url
        (self.room / "file").write_bytes(bytes(3 << 20))
        self.said("cp", "file", f"{box}:copy", **known)
        self.assertEqual(self.said("exec", box, "wc", "-c", "copy", **known), f"{3 << 20} copy\n")
        self.said("cp", f"{box}:copy", "back", **known)
        self.assertEqual((self.room / "back").read_bytes(), bytes(3 << 20))
        self.assertIn(box, self.said("ls", **known))
        self.said("rm", box, **known)

    def test_the_users_own(self):
        self.serve_tls(key=None)
        file = self.pair / "cert.pem"
        box = self.said("create", "--ca-file", file).strip()
        self.assertEqual(self.said("exec", "--ca-file", file, box, "echo", "hello"), "hello\n")

    def test_the_users_own_by_the_name_in_the_certificate(self):
        context = self.certify(names="DNS:localhost")
        service = self.serve_tls("--public-url", "https://localhost:1", tls=context, key=None)
        noted = json.loads((self.room / "state/sandboxes/service.json").read_text())
        self.assertEqual(noted["url"], "https://localhost:1")  # and not the address, for which no certificate is
        key, url = noted["key"], f"https://localhost:{service.port}"
        self.assertEqual(self.said("ls", "--url", url, "--ca-file", self.pair / "cert.pem", GATEHOUSE_SANDBOX_KEY=key), "")

    def test_a_certificate_that_does_not_fit(self):
        service = self.serve_tls(tls=self.certify(names="DNS:sandboxes.example"))
        for words, status, said in (
                ((), 125, "trusted authority: install the certificate of its authority, or give it with --ca-file"),
                (("--ca-file", self.pair / "cert.pem"), 125, "use the host name in the certificate"),
                (("--ca-file", "/nowhere"), 2, "--ca-file /nowhere:"),
                (("--ca-file", self.pair / "key.pem"), 2, "--ca-file")):
            result = self.run_it("ls", "--url", service.url, *words, GATEHOUSE_SANDBOX_KEY=KEY)
            self.assertEqual(result.returncode, status, words)
            self.assertIn(said, result.stderr)

    def test_a_key_goes_to_another_machine_only_by_https(self):
        result = self.run_it("ls", "--url", "http://192.0.2.1:7656", GATEHOUSE_SANDBOX_KEY=KEY)
        self.assertEqual(result.returncode, 2)
        self.assertIn("the key would be sent unprotected to another machine; use https://", result.stderr)


if __name__ == "__main__":
    Scene.gatehouse = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
