"""What the tests of sandboxes share: a scene with a home, and `gatehouse sandbox run` in it."""
import os
import subprocess

import mcp_client
from mcp_client import PATIENCE, Scene

MARK = "needle-of-somebody-else"


def can_box():
    done = subprocess.run([mcp_client.GATEHOUSE, "sandbox", "check"], capture_output=True, text=True)
    return done.returncode == 0 or "namespaces" not in done.stderr, done.stderr


class Sandbox(Scene):
    def setUp(self):
        super().setUp()
        able, why = can_box()
        if not able:
            self.skipTest(why.strip())
        self.home = self.room / "home"
        self.home.mkdir()

    def environment(self, env=None):
        return {
            "PATH": "/usr/bin:/bin", "HOME": str(self.home),
            **{key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")},
            **(env or {}),
        }

    def open(self, *words, env=None, cwd=None, before=(), **settings):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **settings}
        process = subprocess.Popen(
            [*before, mcp_client.GATEHOUSE, "sandbox", "run", *map(str, words)],
            cwd=cwd or self.root, env=self.environment(env), **streams)
        self.addCleanup(self.discard, process)
        return process

    @staticmethod
    def discard(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()

    def run_it(self, *words, **settings):
        """Exit status, standard output and standard error."""
        process = self.open(*words, **settings)
        out, said = process.communicate(timeout=PATIENCE)
        self.assertNotIn(b"ERROR: ", said)  # a sanitizer's
        return process.returncode, (out or b"").decode(), (said or b"").decode()
