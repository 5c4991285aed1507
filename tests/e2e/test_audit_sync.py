#!/usr/bin/env python3
"""Whether programs wait for the disk to have their audit log, as --audit-sync says.

    test_audit_sync.py GATEHOUSE COUNT_SYNCS

COUNT_SYNCS is the library that counts calls of fdatasync().
"""
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
import test_server
from server_scene import clean_environment
from mcp_client import PATIENCE

LIBRARY = pathlib.Path(sys.argv.pop(2)).resolve()


class Scene(test_server.Scene):
    def counted(self, name):
        """Variables that make a program count in a file of this name."""
        return {"LD_PRELOAD": str(LIBRARY), "COUNT_SYNCS": str(self.room / name)}

    def count(self, name):
        return int.from_bytes((self.room / name).read_bytes(), sys.byteorder)


class AgentsFiles(Scene):
    def session(self, name, *flags, env=None):
        """How often a session waited that reads, and one that also writes."""
        counts = []
        for writes in (False, True):
            server = mcp_client.Server("--write", "--state-dir", self.state, *flags, self.folder, state=self.room,
                                       env=self.counted(f"{name}-{writes}") | (env or {}))
            self.addCleanup(server.discard)
            server.open()
            server.good("read_file", path="a.txt")
            if writes:
                server.good("write_file", path="new.txt", content="new\n")
            self.assertEqual(server.end(), 0)
            server.said.close()
            counts.append(self.count(f"{name}-{writes}"))
        return counts

    def test_sessions_of_clients(self):
        self.assertEqual(self.session("default"), [0, 0])
        changes = self.session("changes", "--audit-sync", "changes")
        self.assertGreater(changes[1], changes[0])
        every = self.session("all", env={"GATEHOUSE_AUDIT_SYNC": "all"})
        self.assertGreater(every[0], changes[0])
        self.assertGreater(every[1], changes[1])
        self.assertEqual(self.session("never", "--audit-sync", "never", env={"GATEHOUSE_AUDIT_SYNC": "all"}), [0, 0])

    def test_calls_of_a_server(self):
        counts = []
        for name, flags in (("plain", ()), ("careful", ("--audit-sync", "changes"))):
            server = self.serve()
            process = self.connect(server, "--permission-filesystem-write", "allow", *flags, **self.counted(name))
            agent = self.agent(server, self.add_agent(name))
            test_server.wait_until(agent.tools, "the machine is connected")
            before = self.count(name)
            answer = agent.call("write_file", {"filePath": f"{name}.txt", "content": "new\n"})
            self.assertTrue((self.folder / f"{name}.txt").exists(), answer)
            counts.append(self.count(name) - before)
            process.terminate()
            process.wait(PATIENCE)
            self.assertEqual(server.end(), 0)
        self.assertEqual(counts[0], 0)
        self.assertGreater(counts[1], 0)


class Server(Scene):
    def added(self, *flags, name):
        """How often the command waited that adds a user; the database does, too."""
        subprocess.run([test_server.GATEHOUSE, "user", "--state-dir", self.state, *flags, "add", name, "--no-password"],
                       env=clean_environment(**self.counted(name)), timeout=PATIENCE, check=True, capture_output=True)
        return self.count(name)

    def test_accounts(self):
        self.added(name="first")  # creates the log
        self.assertGreater(self.added("--audit-sync", "changes", name="second"), self.added(name="third"))

    def test_files_of_the_server(self):
        options = self.room / "options"
        options.write_text("audit-sync = changes\n")
        counts = []
        for name, flags in (("plain", ()), ("careful", ("--config", options))):
            server = self.serve("--fs", self.folder, *flags, **self.counted(name))
            key = self.add_agent(name)
            before = self.count(name)
            status, _, answer = server.ask("POST", "/v1/host/sample/fs/write", {"path": "/sandbox/x", "bytes": "eA=="},
                                           {"Authorization": f"Bearer {key}"})
            self.assertEqual(status, 200, answer)
            counts.append(self.count(name) - before)
            self.assertEqual(server.end(), 0)
        self.assertEqual(counts[0], 0)
        self.assertGreater(counts[1], 0)


if __name__ == "__main__":
    test_server.GATEHOUSE = mcp_client.GATEHOUSE = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
