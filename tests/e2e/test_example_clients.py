#!/usr/bin/env python3
"""The clients of examples/, which docs/protocol.md describes, with the real server.

    test_example_clients.py GATEHOUSE
"""
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # not into the sources
from server_scene import OURS, clean_environment
from test_server import Scene, wait_until

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
NODE = shutil.which("node")


class Clients(Scene):
    def play(self, *command):
        server = self.serve()
        process = subprocess.Popen(
            [*command, server.url, server.token], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=clean_environment(HOME=str(self.home)))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "connected\n")
        agent = self.agent(server, self.add_agent())
        self.assertEqual(agent.tools(), ["what_time"])
        self.assertRegex(agent.call("what_time", {})["result"]["content"][0]["text"], r"^\d{4}-")
        server.end()
        server = self.serve(port=server.port)
        self.assertEqual(process.stdout.readline(), "connected\n")  # with its session key
        agent = self.agent(server, self.add_agent("again"))
        self.assertRegex(agent.call("what_time", {})["result"]["content"][0]["text"], r"^\d{4}-")
        server.ask("POST", "/rest/instance-ai/gateway/disconnect-session", {},
                   {**server.log_in(), **OURS})
        wait_until(lambda: process.poll() is not None, "its end")

    def test_python(self):
        self.play(sys.executable, EXAMPLES / "client.py")

    @unittest.skipUnless(NODE, "there is no node here")
    def test_javascript(self):
        self.play(NODE, EXAMPLES / "client.mjs")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
