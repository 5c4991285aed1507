#!/usr/bin/env python3
"""Drives `gatehouse mcp` with clients that others wrote: the two SDKs, and the inspector's command
line, in both eras.

    test_clients.py GATEHOUSE CACHE

CACHE is a folder of the build directory. The packages of clients/package-lock.json are installed
there once; where npm or its packages are not to be had, this is skipped with the reason.
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

CLIENTS = pathlib.Path(__file__).resolve().parent / "clients"
SKIPPED = 77  # as meson counts it
INSTALL_SECONDS = 600
PATIENCE = 180

GATEHOUSE, CACHE = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
NODE = CACHE / "node_modules/.bin/node"
INSPECTOR = CACHE / "node_modules/.bin/mcp-inspector"


def skip(reason):
    print(reason)
    sys.exit(SKIPPED)


def install():
    """Into the cache, unless what is there came from the same lock file."""
    npm = shutil.which("npm")
    wanted = hashlib.sha256((CLIENTS / "package-lock.json").read_bytes()).hexdigest()
    stamp = CACHE / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if npm is None:
        skip("npm is not installed, so there are no clients to test with")
    shutil.rmtree(CACHE, ignore_errors=True)
    CACHE.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(CLIENTS / name, CACHE)
    try:
        # Not `npm ci`: it wants the optional parts for every other platform in the lock file too.
        result = subprocess.run(
            [npm, "install", "--no-save", "--no-audit", "--no-fund", "--silent",
             "--fetch-retries=1"], cwd=CACHE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        skip(f"npm did not get the clients in {INSTALL_SECONDS} s")
    if result.returncode != 0 or not NODE.exists():
        skip(f"npm could not get the clients: {result.stdout.strip()[-300:]}")
    stamp.write_text(wanted)


class Clients(unittest.TestCase):
    def setUp(self):
        memory = pathlib.Path("/dev/shm")
        place = memory if os.access(memory, os.W_OK) else None
        self.room = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="clients-", dir=place)))
        self.addCleanup(shutil.rmtree, self.room)
        self.folder = self.room / "folder"
        self.folder.mkdir()
        (self.folder / "a.txt").write_text("hello\n")
        (self.folder / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(24))
        with zipfile.ZipFile(self.folder / "box.zip", "w") as archive:
            archive.writestr("inside.txt", "packed")
        self.environment = {
            "PATH": f"{NODE.parent}:/usr/bin:/bin", "HOME": str(self.room),
            "XDG_STATE_HOME": str(self.room / "state"),
        }

    def run_node(self, *arguments, fails=None):
        result = subprocess.run([NODE, *map(str, arguments)], env=self.environment, cwd=self.room,
                                capture_output=True, text=True, timeout=PATIENCE)
        if fails is None:
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        else:
            self.assertEqual(result.returncode, fails, result.stdout + result.stderr)
        return result.stdout

    def drive(self, script, *arguments):
        # Below a name that trees and lists leave out.
        for folder in range(100):
            (self.folder / f"build/d{folder}").mkdir(parents=True)
            for number in range(200):
                (self.folder / f"build/d{folder}/f{number}").touch()
        # A module finds its packages from where it lies.
        for name in ("drive.mjs", script):
            shutil.copy(CLIENTS / name, CACHE)
        print(self.run_node(CACHE / script, GATEHOUSE, self.folder, *arguments).strip(), flush=True)
        left = sorted(path.name for path in (self.room / "state/gatehouse").iterdir())
        self.assertEqual(left, ["audit.jsonl", "audit.jsonl.lock", "audit.jsonl.reads",
                                "audit.jsonl.reads.lock", "temp"])
        self.assertEqual(os.listdir(self.room / "state/gatehouse/temp"), [])

    def inspect(self, era, *arguments, fails=None):
        # The server's own words stand before the inspector's: both have options.
        text = self.run_node(INSPECTOR, "--cli", "--protocol-era", era, "--format", "json",
                             *arguments, GATEHOUSE, "mcp", self.folder, fails=fails)
        return json.loads(text)["result"] if fails is None else text

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
    install()
    unittest.main(argv=sys.argv[:1], verbosity=1)
