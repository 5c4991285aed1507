#!/usr/bin/env python3
"""Every tool in every mode, through the daemon: nothing gets past what is allowed.

Questions go to the server before anybody has agreed to anything, so a question must not reveal more
than a refusal.
"""
import contextlib
import json
import unittest

import command_table
import daemon_scene
import tool_table
from command_table import Told
from daemon_scene import REQUIRED, Scene, has_boxes


class Modes(Scene):
    def call_of(self, server):
        def run(tool, arguments):
            result = self.call(server, tool, **arguments)
            return not result.get("isError", False), json.dumps(result)
        return run

    def test_nothing_gets_past_what_is_allowed(self):
        worked = set()
        for read, write in tool_table.mode_pairs():
            if read == "deny":
                continue  # then there is nothing to connect for
            modes = {"read": read, "write": write}
            tool_table.furnish(self.root)
            server, daemon = self.connect("--filesystem-write-access",
                                          "--permission-filesystem-read", read,
                                          "--permission-filesystem-write", write)
            for row in tool_table.ROWS:
                if tool_table.check(self, self.root, row, modes, self.call_of(server)):
                    worked.add(row.tool)
            daemon.end()
        tools = {row.tool for row in tool_table.ROWS}
        self.assertEqual(tools - worked - {"undo_changes"}, set())


class CommandModes(Scene):
    answers = {"no": "denyOnce", "yes": "allowOnce"}

    def client(self, server):
        def call(tool, arguments, answer="nobody"):
            result = self.call(server, tool, **arguments)
            asked = result["content"][0]["text"]
            if REQUIRED in asked and answer != "nobody":
                result = self.call(server, tool, **arguments, _confirmation=self.answers[answer])
            content = json.loads(result["content"][0]["text"])
            return Told("error" not in content, asked + json.dumps(result), content)
        return call

    def check(self, *flags):
        self.write_settings(resourcePermissions=command_table.rules(self.root))

        @contextlib.contextmanager
        def connect(modes, _):
            wanted = flags if modes["shell"] != "deny" else ()
            server, daemon = self.connect(*command_table.flags(modes), *wanted)
            yield self.client(server)
            self.assertEqual(daemon.end()[0], 0)
        command_table.check_all(self, self.root, not flags, connect)

    @unittest.skipUnless(has_boxes(), "cannot sandbox commands on this machine")
    def test_no_command_gets_past_what_is_allowed(self):
        self.check()

    def test_nor_does_one_without_a_sandbox_that_is_refused(self):
        self.check("--dangerously-disable-shell-sandbox")


if __name__ == "__main__":
    daemon_scene.main()
