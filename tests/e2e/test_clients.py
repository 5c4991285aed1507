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
        left = sorted(path.name for path in (self.room / "state/gatehouse").iterdir())
        self.assertEqual(left, ["audit.jsonl", "audit.jsonl.lock", "audit.jsonl.reads",
                                "audit.jsonl.reads.lock", "temp"])
        self.assertEqual(os.listdir(self.room / "state/gatehouse/temp"), [])


if __name__ == "__main__":
    client_scripts.main(sys.argv[2])
