#!/usr/bin/env python3
"""Drives `gatehouse mcp` with clients that others wrote: see client_scripts.py.

    test_clients.py GATEHOUSE CACHE

CACHE is a folder of the build directory. The packages of clients/package-lock.json are installed
there once; if npm or its packages are not available, this is skipped with the reason.
"""
import os
import pathlib
import sys

sys.dont_write_bytecode = True  # not into the sources
import client_scripts
from mcp_client import READING

GATEHOUSE = pathlib.Path(sys.argv[1]).resolve()


class Clients(client_scripts.EveryClient):
    server = GATEHOUSE
    tools = READING

    def setUp(self):
        super().setUp()
        self.inspected = (GATEHOUSE, "mcp", self.folder)

    def drive(self, script, *arguments):
        super().drive(script, *arguments)
        # A slot for questions stays, with its lock, for the next program that asks.
        left = sorted(path.name for path in (self.room / "state/gatehouse").iterdir()
                      if not path.name.startswith("asks-0.socket"))
        self.assertEqual(left, ["audit.jsonl", "audit.jsonl.lock", "audit.jsonl.reads",
                                "audit.jsonl.reads.lock", "noticeboard.lock", "temp"])
        self.assertEqual(os.listdir(self.room / "state/gatehouse/temp"), [])

    def test_a_modern_client_narrows_the_folder_to_its_roots(self):
        for name in ("in", "beside"):
            (self.folder / name).mkdir()
            (self.folder / name / "a.txt").write_text(name)
        super().drive("roots.mjs")


if __name__ == "__main__":
    client_scripts.main(sys.argv[2])
