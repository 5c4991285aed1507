#!/usr/bin/env python3
"""Every tool in every mode: nothing gets past what is allowed."""
import contextlib
import json

import command_table
import mcp_client
import tool_table
from command_table import Told
from mcp_client import READING, WRITING, Refused, Scene
from shell_scene import Commands


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


class CommandModes(Commands):
    """The client asks its user, who says what the table wants, or it cannot ask."""

    answers = {"no": "Deny once", "yes": "Allow once"}

    @staticmethod
    def question_or_answer(server, number):
        def found():
            for note in server.notes:
                if note["method"] == "elicitation/create":
                    server.notes.remove(note)
                    return note
            return server.answers.get(json.dumps(number))
        return server.wait_until(found)

    def client(self, server):
        def call(tool, arguments, answer="nobody"):
            message = server.call_message(tool, arguments)
            server.send(message)
            came = self.question_or_answer(server, message["id"])
            asked = ""
            if "method" in came:
                asked = came["params"]["message"]
                server.send({"jsonrpc": "2.0", "id": came["id"], "result": {
                    "action": "accept", "content": {"decision": self.answers[answer]}}})
            try:
                result = server.result(message["id"])
            except Refused as refusal:
                return Told(False, asked + str(refusal), {})
            return Told("structuredContent" in result, asked + json.dumps(result),
                        result.get("structuredContent", {}))
        return call

    def check(self, *flags):
        self.settings.parent.mkdir(mode=0o700)
        self.settings.write_text(json.dumps({"resourcePermissions": command_table.rules(self.root)}))

        @contextlib.contextmanager
        def connect(modes, answer):
            capabilities = {"elicitation": {"form": {}}} if answer != "nobody" else None
            wanted = flags if modes["shell"] != "deny" else ()
            server = self.begin(*command_table.flags(modes), *wanted, capabilities=capabilities)
            yield self.client(server)
            self.assertEqual(server.end(), 0)
        command_table.check_all(self, self.root, not flags, connect)

    def test_no_command_gets_past_what_is_allowed(self):
        self.check()

    def test_nor_does_one_without_a_sandbox_that_is_refused(self):
        self.check("--dangerously-disable-shell-sandbox")


if __name__ == "__main__":
    mcp_client.main()
