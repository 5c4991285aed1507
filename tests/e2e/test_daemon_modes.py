#!/usr/bin/env python3
"""Every tool of files in every mode, through the daemon: nothing gets past what is allowed.

Questions go to the server before anybody has agreed to anything, so a question must not reveal more
than a refusal.
"""
import json

import daemon_scene
import tool_table
from daemon_scene import Scene


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


if __name__ == "__main__":
    daemon_scene.main()
