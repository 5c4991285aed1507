#!/usr/bin/env python3
"""What docs/guides says: who reaches `gatehouse mcp --http` from other machines, and through what; sandboxes.

Arguments: the gatehouse program. The test with sshd needs Debian's openssh-server, and is skipped without.
"""
import contextlib
import http.client
import json
import os
import pathlib
import pwd
import re
import shutil
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from free_port import free_port
from mcp_client import PATIENCE
from sandboxd_scene import Scene, clean_environment
from transport_scene import find_sshd

PROGRAM = mcp_client.GATEHOUSE = pathlib.Path(sys.argv[1]).resolve()
GUIDES = pathlib.Path(__file__).resolve().parents[2] / "docs/guides"
GUIDE = (GUIDES / "n8n-docker-and-other-machines.md").read_text()
KEY = "0123456789abcdef"
HELLO = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "n8n", "version": "1"}}})


def greet(address, port, host=None):
    """What the server answers to a client's first message; OSError if it cannot be reached."""
    connection = http.client.HTTPConnection(address, port, timeout=PATIENCE)
    try:
        connection.request("POST", "/mcp", HELLO, {
            "Host": host or f"127.0.0.1:{port}", "Authorization": f"Bearer {KEY}",
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


class Elsewhere(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="gatehouse-guide-")
        self.addCleanup(directory.cleanup)
        self.room = pathlib.Path(directory.name).resolve()
        (self.room / "project").mkdir()
        self.port = free_port()
        server = self.start(PROGRAM, "mcp", "--http", f"127.0.0.1:{self.port}", self.room / "project",
                            env={"HOME": str(self.room), "GATEHOUSE_HTTP_KEY": KEY},
                            stdout=subprocess.PIPE)
        self.addCleanup(server.stdout.close)
        server.stdout.readline()  # it listens

    def start(self, *words, **settings):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, **settings)
        self.addCleanup(process.wait, PATIENCE)
        self.addCleanup(process.terminate)
        return process

    def until_there(self, process, address, port):
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection((address, port), PATIENCE).close()
                return
            except OSError:
                self.assertIsNone(process.poll(), "it ended")
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)

    def test_on_the_network_of_the_host_it_is_reached(self):
        self.assertIn("--network host", GUIDE)
        status, answer = greet("127.0.0.1", self.port)
        self.assertEqual(status, 200)
        self.assertIn("gatehouse", answer)

    def test_other_names_of_the_host_are_refused(self):
        self.assertIn("host.docker.internal", GUIDE)
        self.assertEqual(greet("127.0.0.1", self.port, f"host.docker.internal:{self.port}")[0], 403)

    def test_a_container_with_its_own_network_does_not_reach_it(self):
        alone = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--net"]
        if subprocess.run([*alone, "true"], capture_output=True).returncode != 0:
            self.skipTest("no network namespaces")
        look = f"import socket; socket.create_connection(('127.0.0.1', {self.port}), 5)"
        done = subprocess.run([*alone, sys.executable, "-c", look], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Error", done.stderr)

    def test_ssh_brings_it_to_another_machine(self):
        self.assertIn("ssh -N -R 127.0.0.1:7650:127.0.0.1:7650", GUIDE)
        sshd, why = find_sshd()
        if sshd is None or shutil.which("ssh") is None:
            self.skipTest(why or "there is no ssh")
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.room / name], check=True)
        ssh_port = free_port()
        (self.room / "sshd_config").write_text(
            f"ListenAddress 127.0.0.1:{ssh_port}\nHostKey {self.room}/host\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {self.room}/user.pub\nStrictModes no\nPasswordAuthentication no\n"
            "PermitRootLogin prohibit-password\nGatewayPorts clientspecified\n")
        daemon = self.start(*sshd, "-D", "-f", self.room / "sshd_config", stderr=subprocess.DEVNULL)
        self.until_there(daemon, "127.0.0.1", ssh_port)
        # 127.0.0.2 is the loopback address of the other machine here: the port must be the same.
        user = pwd.getpwuid(os.geteuid()).pw_name
        tunnel = self.start(
            "ssh", "-N", "-R", f"127.0.0.2:{self.port}:127.0.0.1:{self.port}", "-p", str(ssh_port),
            "-F", "/dev/null", "-i", self.room / "user", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes",
            "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
            "-o", "ExitOnForwardFailure=yes", f"{user}@127.0.0.1")
        self.until_there(tunnel, "127.0.0.2", self.port)
        status, answer = greet("127.0.0.2", self.port, f"127.0.0.1:{self.port}")
        self.assertEqual(status, 200)
        self.assertIn("gatehouse", answer)


def marked(mark, guide="sandbox-service.md"):
    """The commands of a guide below this mark, a text for each place."""
    pattern = rf"<!-- {mark} -->\n\n((?:    .*\n)+)"
    return [re.sub("(?m)^    ", "", text)
            for text in re.findall(pattern, (GUIDES / guide).read_text())]


class Proxy(socketserver.ThreadingTCPServer):
    """Stands for the proxy with a certificate that the guide has in front of a service."""

    daemon_threads = True

    port = None  # the service's

    def __init__(self, certificate):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)
        super().__init__(("127.0.0.1", 0), Passing)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # who does not trust the certificate leaves

    def close(self):
        self.shutdown()
        self.server_close()


class Passing(socketserver.BaseRequestHandler):
    def handle(self):
        with self.server.context.wrap_socket(self.request, server_side=True) as client, \
                socket.create_connection(("127.0.0.1", self.server.port)) as service:
            back = threading.Thread(target=self.move, args=(service, client), daemon=True)
            back.start()
            self.move(client, service)
            back.join()

    @staticmethod
    def move(source, target):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)


class Sandboxes(Scene):
    """Every command of the guide, as it is written there."""

    gatehouse = PROGRAM

    def run_text(self, text, **environment):
        path = f"{PROGRAM.parent}:{os.environ['PATH']}"
        return subprocess.run(["sh", "-euc", text], cwd=self.room, capture_output=True, text=True,
                              timeout=PATIENCE, stdin=subprocess.DEVNULL,
                              env=clean_environment(PATH=path, GATEHOUSE_STATE_DIR=str(self.room / "state"),
                                                    **environment))

    def test_the_commands_of_a_user(self):
        self.serve(key=None)  # so that the end of the test is the end of the service; test_sandboxctl has none
        expected = (("hello\n",), ("it works\n", "some input\n", "done\n"), ("hello\nprepared\n",))
        texts = marked("run")
        self.assertEqual(len(texts), len(expected))
        for text, words in zip(texts, expected):
            result = self.run_text(text)
            said = [line for line in result.stderr.splitlines() if not line.startswith("step ")]
            self.assertEqual((result.returncode, said), (0, []), text)
            for word in words:
                self.assertIn(word, result.stdout)
        self.assertEqual((self.room / "copied.txt").read_text(), "hello\n")
        self.assertEqual(self.run_text("gatehouse sandbox ls; gatehouse sandbox image ls").stdout, "")

    def test_the_requests_of_a_client(self):
        if shutil.which("curl") is None:
            self.skipTest("there is no curl")
        service = self.serve()
        (self.room / "notes.txt").write_text("notes")
        settings = {"URL": service.url, "KEY": f"X-Api-Key: {service.key}"}
        requests, hosts, addresses, preview, tenants = marked("run with a service")
        first, rest = requests.split("\n", 1)
        made = json.loads(self.run_text(first, **settings).stdout)
        result = self.run_text(rest.replace("ID", made["id"]), **settings)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('"data":"hello\\n', result.stdout)
        self.assertIn('"type":"exit","exit_code":0', result.stdout)
        self.assertEqual(service.ask("GET", "/sandboxes")[2], [])
        made = json.loads(self.run_text(first, **settings).stdout)
        found = json.loads(self.run_text(preview.replace("ID", made["id"]), **settings).stdout)
        self.assertEqual(found["url"], f"{service.url}/preview/8000-{found['token']}")
        made = json.loads(self.run_text(hosts, **settings).stdout)
        self.assertEqual(made["network_policy"]["allowed_domains"], ["example.com", "*.example.org"])
        made = json.loads(self.run_text(addresses, **settings).stdout)
        if service.ask("GET", "/capabilities")[2]["allowed_ips"]:
            self.assertEqual(made["network_policy"]["allowed_ips"], ["203.0.113.7/32", "198.51.100.0/24"])
        else:
            self.assertEqual(made["code"], 502)
        self.assertEqual(json.loads(self.run_text(tenants, **settings).stdout)["tenant"]["name"], "team-a")


class AnotherMachine(Sandboxes):
    """grow-beyond-one-machine.md: a service with a tenant behind a proxy, and an agent here."""

    test_the_commands_of_a_user = test_the_requests_of_a_client = None
    guide = "grow-beyond-one-machine.md"

    def certify(self):
        """A certificate for localhost, in a directory as OpenSSL has them."""
        trusted = self.room / "trusted"
        trusted.mkdir()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-keyout", "both.pem", "-out", "trusted/one.pem"],
                       cwd=self.room, check=True, capture_output=True)
        subprocess.run(["openssl", "rehash", "trusted"], cwd=self.room, check=True, capture_output=True)
        both = self.room / "both.pem"
        both.write_text(both.read_text() + (trusted / "one.pem").read_text())
        return both, trusted

    def client(self, **environment):
        """What is left of the guide's block when its last line starts the MCP server."""
        [text] = marked("run here", self.guide)
        self.assertTrue(text.endswith("gatehouse mcp --workspace n8n-sandbox\n"))
        before = text.rpartition("gatehouse mcp")[0]
        self.assertEqual(self.run_text(before, **environment).stdout.strip(), "[]")
        server = mcp_client.Server("--workspace", "n8n-sandbox", "--state-dir", self.room / "state", state=self.room,
                                   cwd=self.room,
                                   env={"N8N_SANDBOX_SERVICE_URL": environment["URL"],
                                        "N8N_SANDBOX_SERVICE_API_KEY": environment["KEY"],
                                        "SSL_CERT_DIR": environment["SSL_CERT_DIR"]})
        self.addCleanup(server.said.close)
        self.addCleanup(server.discard)
        server.open()
        return server

    def serve_behind_proxy(self, both):
        """The service, and its address for others."""
        proxy = Proxy(both)
        self.addCleanup(proxy.close)
        url = f"https://localhost:{proxy.server_address[1]}"
        service = self.serve("--public-url", url)
        proxy.port = service.port
        return service, url

    def use(self, service, url, trusted, key):
        """What an agent here does there."""
        client = self.client(URL=url, KEY=key, SSL_CERT_DIR=str(trusted), CURL_CA_BUNDLE=str(trusted / "one.pem"))
        client.good("write_file", path="note.txt", content="from here\n")
        self.assertEqual(client.good("execute_command", command="cat note.txt; pwd")["stdout"],
                         "from here\n/home/user\n")
        self.assertEqual(len(service.ask("GET", "/sandboxes", key=key)[2]), 1)
        self.assertEqual(client.end(), 0)
        self.assertEqual(service.ask("GET", "/sandboxes")[2], [])

    def test_an_agent_here_has_a_sandbox_there(self):
        for needed in ("curl", "openssl"):
            if shutil.which(needed) is None:
                self.skipTest(f"there is no {needed}")
        both, trusted = self.certify()
        service, url = self.serve_behind_proxy(both)
        [text] = marked("run there", self.guide)
        made = self.run_text(text.replace("127.0.0.1:7656", f"127.0.0.1:{service.port}"),
                             ADMIN=f"X-Api-Key: {service.key}")
        self.use(service, url, trusted, json.loads(made.stdout)["key"]["api_key"])

    def test_the_service_has_a_certificate_itself(self):
        if shutil.which("curl") is None:
            self.skipTest("there is no curl")
        both, trusted = self.certify()
        context = ssl.create_default_context(cafile=trusted / "one.pem")
        context.check_hostname = False  # the service is asked by its address, below
        service = self.serve("--tls-cert", trusted / "one.pem", "--tls-key", both, tls=context)
        url = f"https://localhost:{service.port}"
        self.use(service, url, trusted, service.key)
        server = mcp_client.Server("--workspace", "daytona", "--state-dir", self.room / "state", state=self.room,
                                   cwd=self.room, env={"DAYTONA_API_URL": url + "/api", "DAYTONA_API_KEY": service.key,
                                                       "SSL_CERT_DIR": str(trusted)})
        self.addCleanup(server.said.close)
        self.addCleanup(server.discard)
        server.open()
        self.assertEqual(server.good("execute_command", command="echo hello")["stdout"], "hello\n")
        self.assertEqual(server.end(), 0)

    def test_the_certificate_is_checked(self):
        both, _ = self.certify()
        _, url = self.serve_behind_proxy(both)
        (self.room / "none").mkdir()
        server = mcp_client.Server("--workspace", "n8n-sandbox", "--state-dir", self.room / "state", state=self.room,
                                   cwd=self.room,
                                   env={"N8N_SANDBOX_SERVICE_URL": url,
                                        "N8N_SANDBOX_SERVICE_API_KEY": KEY, "SSL_CERT_DIR": str(self.room / "none")})
        self.addCleanup(server.said.close)
        self.addCleanup(server.discard)
        server.open()
        self.assertIn("certificate", server.bad("list_files"))


if __name__ == "__main__":
    del sys.argv[1:]
    program = unittest.main(exit=False)
    for case, reason in program.result.skipped:
        print(f"skipped: {case.id()}: {reason}")
    sys.exit(0 if program.result.wasSuccessful() else 1)
