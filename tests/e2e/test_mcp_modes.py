#!/usr/bin/env python3
"""Every tool of files in every mode, where nobody can be asked: nothing gets past what is allowed."""
import json

import mcp_client
import tool_table
from mcp_client import READING, WRITING, Refused, Scene


class Modes(Scene):
    def call(self, server):
        def run(tool, arguments):
            try:
                result = server.call(tool, **arguments)
            except Refused as refusal:
                return False, str(refusal)
            return not result.get("isError", False), json.dumps(result)
        return run

    def test_nothing_gets_past_what_is_allowed(self):
        tools = {row.tool for row in tool_table.ROWS}
        self.assertEqual(tools, READING | WRITING)
        worked = set()
        for read, write in tool_table.mode_pairs():
            modes = {"read": read, "write": write}
            if read == "deny":
                # Then there is nothing to serve, unless commands are.
                server = self.start("--permission-filesystem-read", read, opens=False)
                self.assertNotEqual(server.wait(), 0)
                continue
            tool_table.furnish(self.root)
            server = self.start("--permission-filesystem-read", read,
                                "--permission-filesystem-write", write)
            for row in tool_table.ROWS:
                if tool_table.check(self, self.root, row, modes, self.call(server)):
                    worked.add(row.tool)
            server.end()
        # What is allowed works, or the table would say nothing. undo_changes has nothing to undo.
        self.assertEqual(tools - worked - {"undo_changes"}, set())


if __name__ == "__main__":
    mcp_client.main()
