#!/usr/bin/env python3
"""gatehouse serve with programs that others wrote: n8n's daemon, and agents on both MCP SDKs.

    test_server_peers.py GATEHOUSE CLIENTS DAEMON

CLIENTS and DAEMON are directories for the packages, which are installed once.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # not into the sources
from server_scene import Agent, PATIENCE, clean_environment
import npm_packages
import test_server

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS, DAEMON = (pathlib.Path(path).resolve() for path in sys.argv[2:4])
NODE = CLIENTS / npm_packages.NODE
CLI = "node_modules/@n8n/computer-use/dist/cli.js"


class Peers(test_server.Scene):
    def connect_theirs(self, server):
        process = subprocess.Popen(
            [NODE, DAEMON / CLI, server.url, server.token, "--dir", self.folder, "--auto-confirm",
             "--non-interactive", "--permission-filesystem-write", "ask", "--permission-shell",
             "deny", "--permission-browser", "deny", "--permission-computer", "deny",
             "--permission-confirmation", "instance", "--allowed-origins", server.url],
            env=clean_environment(HOME=str(self.home)), cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def end():
            if process.poll() is None:
                process.kill()
            process.wait()

        self.addCleanup(end)

    def run_agent(self, server, kind, questions):
        (self.folder / "b.txt").unlink(missing_ok=True)
        (self.room / "node_modules").unlink(missing_ok=True)
        (self.room / "node_modules").symlink_to(CLIENTS / "node_modules")
        shutil.copy(HERE / "clients/agent.mjs", self.room)
        result = subprocess.run(
            [NODE, self.room / "agent.mjs", server.url + "/mcp", kind, str(questions)],
            env=clean_environment(HOME=str(self.home), GATEHOUSE_KEY=self.add_agent(kind)),
            capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual((self.folder / "b.txt").read_text(), "written")

    def run_agents(self, server, questions):
        agent = Agent(server, self.add_agent())
        test_server.wait_until(agent.tools, "the daemon's tools")
        for kind in ("sdk1", "legacy", "modern"):
            with self.subTest(kind=kind):
                self.run_agent(server, kind, questions)

    def test_agents_with_our_daemon(self):
        server = self.serve()
        self.connect(server, "--permission-filesystem-write", "ask")
        self.run_agents(server, questions=1)

    def test_agents_with_n8ns_daemon(self):
        server = self.serve()
        self.connect_theirs(server)
        self.run_agents(server, questions=0)  # without a terminal it agrees with everything


if __name__ == "__main__":
    npm_packages.install(HERE / "clients", CLIENTS)
    npm_packages.install(HERE.parent.parent / "bench/peers/daemon", DAEMON, node=CLI)
    os.environ.pop("NODE_OPTIONS", None)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], defaultTest="Peers")
