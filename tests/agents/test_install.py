#!/usr/bin/env python3
"""After `gatehouse mcp --install`, the agents themselves say that they reach the server.

    test_install.py GATEHOUSE CACHE [TEST...]

CACHE is a folder of the build directory, where the packages of package-lock.json are installed once. Nothing is
sent to a model: `mcp list` only starts the server. Ends with one line, N passed, N failed.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # not into the sources
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import npm_packages
from patience import PATIENCE

GATEHOUSE = CACHE = None  # set by main()


class Agents(unittest.TestCase):
    def setUp(self):
        # Not below /tmp, where Codex does not want its home.
        self.room = pathlib.Path(tempfile.mkdtemp(prefix="install-", dir=CACHE.parent))
        self.addCleanup(shutil.rmtree, self.room)
        self.folder = self.room / "my project"
        self.folder.mkdir()
        (self.room / "home").mkdir()
        self.environment = {"PATH": f"{CACHE}/node_modules/.bin:/usr/bin:/bin", "HOME": str(self.room / "home"),
                            "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1"}

    def run_program(self, *words):
        result = subprocess.run([str(word) for word in words], env=self.environment, cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout

    def listed(self, client, program):
        """The line about the server, after two of them were installed and one of these replaced."""
        for flags in (("--write",), (), ("--name", "other")):
            self.run_program(GATEHOUSE, "mcp", "--install", client, "--yes", *flags, self.folder)
        lines = self.run_program(program, "mcp", "list").splitlines()
        for name in ("gatehouse-my-project", "other"):
            line, = (line for line in lines if name in line.split(":")[0].split())
            self.assertIn(f"{GATEHOUSE}", line)
            self.assertNotIn("--write", line)
            yield line

    def test_claude_code(self):
        for line in self.listed("claude-code", "claude"):
            self.assertIn("Connected", line)

    def test_codex(self):
        config = self.room / "home/.codex/config.toml"
        config.parent.mkdir()
        config.write_text('model = "gpt-5" # mine\n\n[tui]\nnotifications = false\n')
        for line in self.listed("codex", "codex"):
            self.assertIn("enabled", line)
        self.assertTrue(config.read_text().startswith('model = "gpt-5" # mine\n\n[tui]\nnotifications = false\n'))

    def test_gemini(self):
        settings = self.room / "home/.gemini/settings.json"
        settings.parent.mkdir()
        settings.write_text('{\n  // this folder is trusted\n  "security": {"folderTrust": {"enabled": false}}\n}\n')
        for line in self.listed("gemini", "gemini"):
            self.assertIn("Connected", line)


def main():
    global GATEHOUSE, CACHE
    GATEHOUSE, CACHE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    npm_packages.install(HERE, CACHE)
    run = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False).result
    failed = len(run.failures) + len(run.errors)
    print(f"{run.testsRun - failed} passed, {failed} failed")
    sys.exit(0 if run.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
