"""MCP clients that others wrote, in both eras: the two SDKs and the inspector's command line.

A test is a subclass of EveryClient that says how to reach its server.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import npm_packages
from patience import PATIENCE, in_memory

CLIENTS = HERE / "clients"
CACHE = None  # set by main()


class EveryClient(unittest.TestCase):
    server = None  # a program that serves over pipes, or an address; it may write
    inspected = ()  # a server for the inspector, which only looks: words of its command line
    tools = ()  # the names of its tools

    def setUp(self):
        room = tempfile.mkdtemp(prefix="clients-", dir=in_memory())
        self.room = pathlib.Path(os.path.realpath(room))
        self.addCleanup(shutil.rmtree, self.room)
        self.folder = self.room / "folder"
        self.folder.mkdir()
        (self.folder / "a.txt").write_text("hello\n")
        (self.folder / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(24))
        with zipfile.ZipFile(self.folder / "box.zip", "w") as archive:
            archive.writestr("inside.txt", "packed")
        self.environment = {
            "PATH": f"{CACHE}/node_modules/.bin:/usr/bin:/bin", "HOME": str(self.room),
            "XDG_STATE_HOME": str(self.room / "state"),
        }

    def run_node(self, *arguments, fails=0):
        result = subprocess.run(
            [CACHE / "node_modules/.bin/node", *map(str, arguments)], env=self.environment,
            cwd=self.room, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, fails, result.stdout + result.stderr)
        return result.stdout

    def drive(self, script, *arguments):
        # Below a name that trees and lists leave out.
        for folder in range(100):
            (self.folder / f"build/d{folder}").mkdir(parents=True)
            for number in range(200):
                (self.folder / f"build/d{folder}/f{number}").touch()
        # A module finds its packages from where it lies.
        (self.room / "node_modules").symlink_to(CACHE / "node_modules")
        for module in CLIENTS.glob("*.mjs"):
            shutil.copy(module, self.room)
        print(self.run_node(self.room / script, self.server, self.folder, *arguments).strip(),
              flush=True)

    def inspect(self, era, *arguments, fails=0):
        text = self.run_node(
            CACHE / "node_modules/.bin/mcp-inspector", "--cli", "--protocol-era", era, "--format",
            "json", *arguments, *self.inspected, fails=fails)
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
            self.assertEqual({tool["name"] for tool in tools}, set(self.tools))
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


def main(cache):
    global CACHE
    CACHE = pathlib.Path(cache).resolve()
    npm_packages.install(CLIENTS, CACHE)
    unittest.main(module="__main__", argv=sys.argv[:1], verbosity=1)
