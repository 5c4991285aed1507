#!/usr/bin/env python3
"""What docs/guides says: who reaches `gatehouse mcp --http` from other machines, and through what; sandboxes.

Arguments: the gatehouse program. The test with sshd needs Debian's openssh-server, and is skipped without.
"""
import http.client
import json
import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
from mcp_client import PATIENCE
from sandboxd_scene import Scene, clean_environment
from transport_scene import find_sshd

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
GUIDES = pathlib.Path(__file__).resolve().parents[2] / "docs/guides"
GUIDE = (GUIDES / "n8n-docker-and-other-machines.md").read_text()
KEY = "0123456789abcdef"
HELLO = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "n8n", "version": "1"}}})


def free_port(address="127.0.0.1"):
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


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


def marked(mark):
    """The commands of sandbox-service.md below this mark, a text for each place."""
    pattern = rf"<!-- {mark} -->\n\n((?:    .*\n)+)"
    return [re.sub("(?m)^    ", "", text)
            for text in re.findall(pattern, (GUIDES / "sandbox-service.md").read_text())]


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
        requests, preview, tenants = marked("run with a service")
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
        self.assertEqual(json.loads(self.run_text(tenants, **settings).stdout)["tenant"]["name"], "team-a")


if __name__ == "__main__":
    del sys.argv[1:]
    program = unittest.main(exit=False)
    for case, reason in program.result.skipped:
        print(f"skipped: {case.id()}: {reason}")
    sys.exit(0 if program.result.wasSuccessful() else 1)
