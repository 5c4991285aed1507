"""Shared by the tests of sandboxes: a home directory, and `gatehouse sandbox run` in it."""
import subprocess

import mcp_client
from command_scene import CommandScene

MARK = "needle-of-somebody-else"


def can_box():
    done = subprocess.run([mcp_client.GATEHOUSE, "sandbox", "check"], capture_output=True, text=True)
    return done.returncode == 0 or "namespaces" not in done.stderr, done.stderr


class Sandbox(CommandScene):
    COMMAND = ("sandbox", "run")

    def setUp(self):
        super().setUp()
        able, why = can_box()
        if not able:
            self.skipTest(why.strip())
        self.home = self.room / "home"
        self.home.mkdir()

    def environment(self, env=None):
        """Without a word of where state is kept, as most people have it."""
        return {key: value for key, value in super().environment(env).items() if key != "XDG_STATE_HOME"}
