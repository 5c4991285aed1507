"""What the tests with clients that others wrote share: the packages, a folder, and how they are run."""
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

CLIENTS = HERE / "clients"
PATIENCE = 180
CACHE = None  # set by main()


class ClientTest(unittest.TestCase):
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
            "PATH": f"{CACHE}/node_modules/.bin:/usr/bin:/bin", "HOME": str(self.room),
            "XDG_STATE_HOME": str(self.room / "state"),
        }

    def run_node(self, *arguments, fails=0):
        result = subprocess.run(
            [CACHE / "node_modules/.bin/node", *map(str, arguments)], env=self.environment,
            cwd=self.room, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, fails, result.stdout + result.stderr)
        return result.stdout

    def drive(self, script, server, *arguments):
        """Does everything that drive.mjs knows with `server`, a program or an address."""
        # Below a name that trees and lists leave out.
        for folder in range(100):
            (self.folder / f"build/d{folder}").mkdir(parents=True)
            for number in range(200):
                (self.folder / f"build/d{folder}/f{number}").touch()
        # A module finds its packages from where it lies.
        (self.room / "node_modules").symlink_to(CACHE / "node_modules")
        for module in CLIENTS.glob("*.mjs"):
            shutil.copy(module, self.room)
        print(self.run_node(self.room / script, server, self.folder, *arguments).strip(),
              flush=True)

    def inspect(self, *arguments, fails=0):
        """The inspector's command line."""
        return self.run_node(CACHE / "node_modules/.bin/mcp-inspector", "--cli", "--format", "json",
                             *arguments, fails=fails)


def main(cache):
    global CACHE
    CACHE = pathlib.Path(cache).resolve()
    npm_packages.install(CLIENTS, CACHE)
    unittest.main(module="__main__", argv=sys.argv[:1], verbosity=1)
