"""Shared by the tests of shell commands through `gatehouse mcp`."""
import json
import os
import pathlib
import time

from mcp_client import PATIENCE, Scene


def alive(mark):
    """Processes anywhere that bear the mark in their command line."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


class Answer(dict):
    """A result that shows itself where a test expects another."""

    def __missing__(self, key):
        raise AssertionError(f"no {key} in {dict(self)}")


class Commands(Scene):
    def setUp(self):
        super().setUp()
        self.mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
        self.settings = self.state / ".n8n-gateway" / "settings.json"

    def begin(self, *flags, capabilities=None, **settings):
        server = self.start("--permission-shell", "allow", *flags, opens=False, **settings)
        server.open(capabilities=capabilities)
        if "commands are disabled" in server.words():
            self.skipTest(server.words().strip())
        return server

    def run_command(self, server, command, **more):
        return server.call("shell_execute", command=command, **more)

    def answer(self, server, command, **more):
        result = self.run_command(server, command, **more)
        return Answer(result.get("structuredContent") or {"error": result["content"][0]["text"]})

    def wait_gone(self):
        deadline = time.monotonic() + PATIENCE
        while alive(self.mark):
            self.assertLess(time.monotonic(), deadline, "something survives")
            time.sleep(0.02)

    def wait_alive(self):
        deadline = time.monotonic() + PATIENCE
        while not alive(self.mark):
            self.assertLess(time.monotonic(), deadline, "nothing started")
            time.sleep(0.02)

    def executed(self):
        return [record for record in self.records() if record["operation"] == "execute"]

    def deny(self, reading=(), writing=()):
        self.settings.parent.mkdir(mode=0o700, exist_ok=True)
        self.settings.write_text(json.dumps({"resourcePermissions": {
            "filesystemRead": {"allow": [], "deny": [str(rule) for rule in reading]},
            "filesystemWrite": {"allow": [], "deny": [str(rule) for rule in writing]}}}))
