#!/usr/bin/env python3
"""`gatehouse workspace` is killed at any moment: there is a whole workspace or none, and nothing is torn."""
import json
import os
import random
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from mcp_client import PATIENCE
from workspace_scene import WorkspaceScene, content

ROUNDS = int(os.environ.get("WORKSPACE_KILLS", "12"))
FILES = 300


class Kills(WorkspaceScene):
    def setUp(self):
        super().setUp()
        for i in range(FILES):
            self.write(f"d{i % 10}/f{i}", f"{i}\n" * 50)
        self.random = random.Random(5)

    def kill_during(self, longest, *words):
        """Whether it was killed before it was done."""
        process = self.open(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(self.random.random() * longest)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        return process.wait(PATIENCE) == -signal.SIGKILL

    def took(self, *words):
        began = time.monotonic()
        self.does(*words)
        return time.monotonic() - began

    def names(self):
        return [item["name"] for item in json.loads(self.does("ls", "--json"))]

    def assert_clean(self):
        """Every folder has its record, and every record its folder."""
        names = set(self.names())
        self.assertEqual({path.name for path in self.copies.iterdir()}, names)
        self.assertEqual({path.name for path in self.records.iterdir() if not path.name.endswith(".undo")}, names)

    def test_a_copy_is_whole_or_not_there(self):
        longest = self.took("new", "--name", "first", self.project)
        killed = 0
        for i in range(ROUNDS):
            killed += self.kill_during(longest * 1.2, "new", "--name", f"k{i}", self.project)
            if f"k{i}" in self.names():
                self.assertEqual(content(self.copies / f"k{i}"), content(self.project))
                self.assertEqual(self.does("diff", f"k{i}"), "")
        self.does("new", "--name", "last", self.project)
        self.assert_clean()
        print(f"killed {killed} of {ROUNDS} while copying")

    def test_what_is_removed_is_gone_or_whole(self):
        longest = 0
        for i in range(ROUNDS):
            self.does("new", "--name", f"r{i}", self.project)
            if i == 0:
                longest = self.took("rm", "r0")
                continue
            self.kill_during(longest * 1.2, "rm", f"r{i}")
            if f"r{i}" in self.names():
                self.assertEqual(content(self.copies / f"r{i}"), content(self.project))
        self.does("new", "--name", "last", self.project)
        self.assert_clean()

    def test_what_is_applied_is_old_or_new_and_undo_takes_it_back(self):
        before = content(self.project)
        copy = self.new("--name", "a")
        for i in range(0, FILES, 3):
            self.write(f"d{i % 10}/f{i}", f"new {i}\n" * 60, at=copy)
            self.write(f"n{i}/x", f"added {i}\n", at=copy)
            (copy / f"d{(i + 1) % 10}/f{i + 1}").unlink()
        after = content(copy)
        longest = self.took("apply", "--yes", "a")
        self.assertEqual(content(self.project), after)
        self.does("undo", "a")
        self.assertEqual(content(self.project), before)
        for _ in range(ROUNDS):
            self.kill_during(longest * 1.1, "apply", "--yes", "a")
            # The next start removes what was unfinished.
            self.run_it("rm", "missing")
            now = content(self.project)
            for name, what in now.items():
                self.assertIn(what, (before.get(name), after.get(name)), name)
            for name in set(before) & set(after):
                self.assertIn(name, now)
            code, _, said = self.run_it("undo", "a")
            if code != 0:
                self.assertIn("could be taken back", said)
            self.assertEqual(content(self.project), before)


if __name__ == "__main__":
    mcp_client.main()
