"""Shared by the tests of our commands: starts one in a directory of the test and reads its output."""
import os
import subprocess

import mcp_client
from mcp_client import PATIENCE, Scene


class CommandScene(Scene):
    COMMAND = ()  # the words behind `gatehouse`

    def setUp(self):
        super().setUp()
        self.home = self.state

    def environment(self, env=None):
        return {
            "PATH": "/usr/bin:/bin", "HOME": str(self.home), "XDG_STATE_HOME": str(self.state),
            **{key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")},
            **(env or {}),
        }

    def open(self, *words, before=(), env=None, cwd=None, **settings):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **settings}
        process = subprocess.Popen(
            [*before, mcp_client.GATEHOUSE, *self.COMMAND, *map(str, words)],
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
        self.assertNotIn(b"ERROR: ", said or b"")  # a sanitizer's
        return process.returncode, (out or b"").decode(), (said or b"").decode()
