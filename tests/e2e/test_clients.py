#!/usr/bin/env python3
"""Drives `gatehouse mcp` with clients that others wrote: the two SDKs, and the inspector's command
line, in both eras.

    test_clients.py GATEHOUSE CACHE

CACHE is a folder of the build directory. The packages of clients/package-lock.json are installed
there once; where npm or its packages are not to be had, this is skipped with the reason.
"""
import json
import os
import pathlib
import sys

sys.dont_write_bytecode = True  # not into the sources
import client_scripts

GATEHOUSE = pathlib.Path(sys.argv[1]).resolve()


class Clients(client_scripts.ClientTest):
    def drive(self, script, *arguments):
        super().drive(script, GATEHOUSE, *arguments)
        left = sorted(path.name for path in (self.room / "state/gatehouse").iterdir())
        self.assertEqual(left, ["audit.jsonl", "audit.jsonl.lock", "audit.jsonl.reads",
                                "audit.jsonl.reads.lock", "temp"])
        self.assertEqual(os.listdir(self.room / "state/gatehouse/temp"), [])

    def inspect(self, era, *arguments, fails=0):
        # The server's own words stand before the inspector's: both have options.
        text = super().inspect("--protocol-era", era, *arguments, GATEHOUSE, "mcp", self.folder,
                               fails=fails)
        return json.loads(text)["result"] if fails == 0 else text

    def test_sdk_1(self):
        self.drive("sdk1.mjs")

    def test_client_2_legacy(self):
        self.drive("client2.mjs", "legacy")

    def test_client_2_modern(self):
        self.drive("client2.mjs", "modern")

    def test_client_2_finds_the_modern_era_by_itself(self):
        self.drive("client2.mjs", "auto")

    def test_inspector(self):
        for era in ("legacy", "modern"):
            tools = self.inspect(era, "--strict", "--method", "tools/list")["tools"]
            self.assertEqual({tool["name"] for tool in tools},
                             {"get_file_tree", "list_files", "read_file", "stat_file",
                              "search_files"})
            read = ("--method", "tools/call", "--tool-name", "read_file", "--tool-args-json")
            told = self.inspect(era, *read, '{"filePath":"a.txt"}')
            self.assertEqual(told["structuredContent"]["content"], "hello\n")
            self.inspect(era, *read, '{"filePath":"../a.txt"}', fails=5)
            told = self.inspect(era, "--method", "resources/read", "--uri",
                                (self.folder / "a.txt").as_uri())
            self.assertEqual(told["contents"][0]["text"], "hello\n")
            told = self.inspect(era, "--method", "resources/list")
            self.assertIn("a.txt", {each["name"] for each in told["resources"]})
            told = self.inspect(era, "--method", "resources/templates/list")
            self.assertEqual(len(told["resourceTemplates"]), 1)


if __name__ == "__main__":
    client_scripts.main(sys.argv[2])
