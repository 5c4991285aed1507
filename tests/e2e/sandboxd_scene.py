"""gatehouse sandbox serve, for the tests of the sandbox service."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from patience import PATIENCE

KEY = "0123456789abcdef-the-administrator"


def clean_environment(**more):
    return {name: value for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and not name.startswith(("GATEHOUSE_", "N8N_"))
            } | more


class Unavailable(Exception):
    """This machine cannot isolate sandboxes; the text says why."""


class Service:
    """The program; `words` is what it printed. `tls` is a context of ssl, for its clients."""

    def __init__(self, gatehouse, state, *arguments, key=KEY, user=None, tls=None):
        environment = clean_environment(**({"GATEHOUSE_SANDBOX_ADMIN_KEY": key} if key else {}))
        self.process = subprocess.Popen(
            [gatehouse, "sandbox", "serve", "--listen", "127.0.0.1:0", "--state-dir", state,
             *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, user=user, group=user, extra_groups=[] if user else None)
        self.key = key
        self.words = self.process.stdout.readline()
        found = re.search(r"running at (https?)://[\d.]+:(\d+)$", self.words)
        if not found:
            text = self.process.stderr.read()
            self.close()
            assert "unconfined" not in text, text  # our own mistake, and no lack of the machine
            raise Unavailable(text.strip())
        self.port = int(found[2])
        self.url = f"{found[1]}://127.0.0.1:{self.port}"
        self.tls = tls

    def ask(self, method, path, /, body=None, key=None, headers=None, **query):
        """Status, headers, and the body: parsed if it is JSON."""
        connection = (http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=self.tls)
                      if self.tls else http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE))
        if query:
            path += "?" + urllib.parse.urlencode(query)
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        sent = {"X-Api-Key": key if key is not None else self.key, **(headers or {})}
        with contextlib.closing(connection):
            connection.request(method, path, body, {name: text for name, text in sent.items() if text})
            answer = connection.getresponse()
            text = answer.read()
        if answer.headers.get("Content-Type") == "application/json":
            text = json.loads(text)
        return answer.status, answer.headers, text

    def create(self, body=None, key=None):
        status, _, record = self.ask("POST", "/sandboxes", body, key=key)
        assert status == 201, (status, record)
        return record["id"]

    def events(self, sandbox, command, key=None, **more):
        status, _, text = self.ask("POST", f"/sandboxes/{sandbox}/executions",
                                   {"command": command, **more}, key=key)
        assert status == 200, (status, text)
        return [json.loads(line) for line in text.splitlines()]

    def output(self, sandbox, command, **more):
        return "".join(event["data"] for event in self.events(sandbox, command, **more)
                       if event["type"] == "stdout")

    def end(self, signum=signal.SIGTERM):
        self.process.send_signal(signum)
        return self.process.wait(PATIENCE)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()


def wait_until(is_so, what):
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.01)


def remove(folder):
    """With what an overlay has made, which its owner may not even read."""
    subprocess.run(["chmod", "-R", "u+rwX", folder], stderr=subprocess.DEVNULL)
    shutil.rmtree(folder, ignore_errors=True)


class Scene(unittest.TestCase):
    """A state directory of its own, and a service when one is asked for."""

    gatehouse = None  # the program; set by the test program

    def setUp(self):
        self.room = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp"))
        self.addCleanup(remove, self.room)
        self.services = []

    def serve(self, *arguments, **more):
        try:
            service = Service(self.gatehouse, self.room / "state", *arguments, **more)
        except Unavailable as missing:
            self.assertNotRegex(str(missing), "another (sandbox )?service uses")  # that is no lack of the machine
            self.skipTest(f"this machine cannot isolate sandboxes: {missing}")
        self.addCleanup(service.close)
        return service
