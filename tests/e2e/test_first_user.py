#!/usr/bin/env python3
"""What somebody does who meets Gatehouse for the first time, by the commands of the README: install,
configure a client, let it ask, say yes and no, undo, look at the audit log, uninstall.

What is installed appears at its place (/usr/local) in a mount namespace, for the commands of the test
alone. Arguments: the build directory.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # not into the sources
from mcp_client import PATIENCE

BUILD = pathlib.Path(sys.argv[1]).resolve()
SOURCES = pathlib.Path(__file__).resolve().parents[2]
README = (SOURCES / "README.md").read_text()

# The arguments: what is installed, its place, the command and its arguments.
AT_ITS_PLACE = 'mount --bind "$0" "$1" && shift && exec "$@"'


def prefix():
    options = json.loads(subprocess.run(["meson", "introspect", BUILD, "--buildoptions"], check=True,
                                        capture_output=True, timeout=PATIENCE).stdout)
    return next(option["value"] for option in options if option["name"] == "prefix")


class FirstUser(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="gatehouse-first-")
        self.addCleanup(directory.cleanup)
        self.room = pathlib.Path(directory.name).resolve()
        self.prefix = prefix()
        self.installed = pathlib.Path(f"{self.room}/installed{self.prefix}")
        self.home = self.room / "home"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        (self.project / "notes.txt").write_text("milk\n")
        (self.project / ".env").write_text("PASSWORD=secret\n")
        self.environment = {"HOME": str(self.home), "LANG": "C.UTF-8", "TZ": "UTC",
                            "PATH": f"{self.prefix}/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
        if not pathlib.Path(self.prefix).is_dir() or not self.can_mount():
            self.skipTest("what is installed cannot be shown at its place: no mount namespaces")

    def can_mount(self):
        return subprocess.run([*self.unshare(), "true"], capture_output=True).returncode == 0

    def unshare(self):
        return ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount"]

    def script(self, name):
        return subprocess.run(
            [SOURCES / "scripts" / name, *([BUILD] if name == "install" else [])], check=True,
            env={**os.environ, "PREFIX": self.prefix, "DESTDIR": f"{self.room}/installed"},
            capture_output=True, text=True, timeout=PATIENCE).stdout

    def open(self, words, **settings):
        return subprocess.Popen(
            [*self.unshare(), "sh", "-c", AT_ITS_PLACE, self.installed, self.prefix, *words],
            env=self.environment, cwd=self.project, text=True, **settings)

    def typed(self, line, status=0):
        """Runs a line as it is typed in a shell, and returns what it prints."""
        process = self.open(["sh", "-c", line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
        out, said = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, status, f"{line}: {out}{said}")
        return out

    def start_and_stop(self, line, says):
        """A command that runs until it is stopped."""
        process = self.open(["sh", "-c", line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
        said = ""
        for printed in process.stdout:
            said += printed
            if says in printed:
                break
        process.terminate()
        self.assertIn(says, said + process.communicate(timeout=PATIENCE)[0])

    def documented(self, line):
        self.assertIn(line, README, "this step is not in the README any more")
        return line

    # ---- a client that asks its user ----

    def start_client(self, config):
        entry, = config["mcpServers"].values()
        self.client = self.open([entry["command"], *entry["args"]], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
        self.addCleanup(self.client.stdout.close)
        self.addCleanup(self.client.stdin.close)
        self.addCleanup(self.client.wait, PATIENCE)
        self.addCleanup(self.client.kill)
        self.last_id = 0
        self.request("initialize", {
            "protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "first-client", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.client.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.client.stdin.flush()

    def request(self, method, params, answer=None):
        """The result; a question on the way is answered so, and kept."""
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params})
        self.asked = None
        for line in self.client.stdout:
            message = json.loads(line)
            if message.get("method") == "elicitation/create":
                self.asked = message["params"]["message"]
                self.assertIsNotNone(answer, f"asked: {self.asked}")
                self.send({"id": message["id"], "result":
                           {"action": "accept", "content": {"decision": answer}}})
            elif message.get("id") == self.last_id:
                return message["result"]
        self.fail("the server ended")

    def call(self, tool, answer=None, **arguments):
        result = self.request("tools/call", {"name": tool, "arguments": arguments}, answer)
        return result.get("isError", False), result["content"][0]["text"]

    # ---- the transcript ----

    def test_from_install_to_uninstall(self):
        # Install. It says three commands to try, and they work.
        self.documented("sudo make install")
        self.assertIn("Installed under", self.script("install"))
        tries = re.findall(r'echo "  \$gatehouse (.*?) +#', (SOURCES / "scripts/install").read_text())
        self.assertEqual(len(tries), 3)
        self.assertIn("gatehouse", self.typed("gatehouse --version"))
        can_sandbox = self.open(["gatehouse", "sandbox", "check"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL).wait(PATIENCE) == 0
        for name in ("code", "private"):
            (self.home / name).mkdir()
        for line in tries:
            if line.startswith("up "):
                self.start_and_stop(f"exec gatehouse {line} --listen 127.0.0.1:0", "running at http://127.0.0.1:")
            elif "--install" in line:
                self.typed(f"gatehouse {line} --yes")
                (self.home / ".claude.json").unlink()
            elif "sandbox" not in line:
                self.typed(f"gatehouse {line}", status=0)
            elif can_sandbox:
                self.assertNotIn("private", self.typed(f"gatehouse {line}"))

        # Configure a client, and start what it would start.
        install = self.documented("gatehouse mcp --install claude-code --write ~/project")
        self.typed(install.replace("--write", self.documented("--permission-filesystem-write ask")) + " --yes")
        self.start_client(json.loads((self.home / ".claude.json").read_text()))

        # It reads without a question, and nothing outside.
        self.assertIn("milk", self.call("read_file", filePath="notes.txt")[1])
        self.assertTrue(self.call("read_file", filePath="/etc/passwd")[0])

        # It asks before it changes something, and shows what.
        is_error, _ = self.call("write_file", answer="Allow once", filePath="notes.txt",
                                content="milk\nbread\n")
        self.assertFalse(is_error)
        self.assertIn("+bread", self.asked)
        self.assertEqual((self.project / "notes.txt").read_text(), "milk\nbread\n")

        # No means no: for a deletion, and for a file with secrets.
        self.assertTrue(self.call("delete", answer="Deny once", path="notes.txt")[0])
        self.assertTrue((self.project / "notes.txt").exists())
        is_error, text = self.call("read_file", answer="Deny once", filePath=".env")
        self.assertTrue(is_error)
        self.assertNotIn("secret", text)

        # Undo brings back what was there.
        self.assertFalse(self.call("undo_changes", answer="Allow once")[0])
        self.assertEqual((self.project / "notes.txt").read_text(), "milk\n")
        self.client.stdin.close()
        self.assertEqual(self.client.wait(PATIENCE), 0)

        # The audit log has a line for each call. (There is one more if `up` was stopped while it saved its settings.)
        rows = [re.split("  +", line) for line in self.typed(self.documented("gatehouse audit")).splitlines()]
        rows = [row for row in rows if row[3:6] != ["-", "settings.json", "interrupted"]]
        self.assertEqual([(row[3], row[4], row[5].split(":")[0]) for row in rows], [
            ("read_file", "notes.txt", "success"),
            ("read_file", "/etc/passwd", "denied"),
            ("write_file", "notes.txt", "success (user)"),
            ("delete", "notes.txt", "denied (user)"),
            ("read_file", ".env", "denied (user)"),
            ("undo_changes", "-", "success (user)"),
        ])
        self.assertEqual({(row[1], row[2]) for row in rows}, {("first-client", str(self.project))})

        # Uninstall leaves nothing of it.
        self.documented("make uninstall")
        self.script("uninstall")
        self.assertEqual([path for path in self.installed.rglob("*") if not path.is_dir()], [])


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
