#!/usr/bin/env python3
"""The real Claude Code uses a folder through gatehouse mcp, and follows a scripted model.

    test_claude_code.py GATEHOUSE CACHE [TEST...]

CACHE is a folder of the build directory, where the packages of package-lock.json are installed once.
Nothing is reached but this machine: every other address is behind a proxy that does not exist. Ends with
one line, N passed, N failed.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # not into the sources
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import npm_packages
from scripted_model import Model

GATEHOUSE, CACHE = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
HERE = pathlib.Path(__file__).resolve().parent
# As npm calls them.
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
PROGRAM = pathlib.Path("node_modules/@anthropic-ai",
                       f"claude-code-linux-{MACHINES.get(os.uname().machine)}", "claude")
PATIENCE = 300
LONGEST = 400  # bytes of a result in the task below
NOWHERE = "http://127.0.0.1:9"

GREET = '''"""Says hello."""
import sys


def greet(name):
    text = "Hello, " + name
    print(text)


def greet_all(names):
    for name in names:
        text = "Hello, " + name
        print(text)


if __name__ == "__main__":
    greet_all(sys.argv[1:] or ["world"])
'''
NAMES = '''DEFAULT = "world"


def clean(name):
    return name.strip() or DEFAULT
'''
README = "# Greeter\n\nPrints a greeting.\n"


class Scene(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.place = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="agents-")))
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.home, self.root = self.place / "home", self.place / "project"
        self.home.mkdir()
        for name, content in (("README.md", README), ("src/greet.py", GREET),
                              ("src/util/names.py", NAMES),
                              ("data.txt", "".join(f'line "{i}"\n' for i in range(900)))):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(content)
        self.environment = {
            "PATH": "/usr/bin:/bin", "HOME": str(self.home), "ANTHROPIC_API_KEY": "sk-nobody",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
            # All tools are offered at once, without a search for them.
            "ENABLE_TOOL_SEARCH": "false",
            "HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1",
        }

    def claude(self, *arguments, **variables):
        result = subprocess.run(
            [CACHE / PROGRAM, *map(str, arguments)], env={**self.environment, **variables},
            cwd=self.root, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def work(self, flags, calls):
        """The results that the model saw, each as text with "ERROR: " before it if it was one."""
        model = Model([(f"mcp__gatehouse__{name}", arguments) for name, arguments in calls])
        self.addCleanup(model.close)
        settings = self.place / "mcp.json"
        settings.write_text(json.dumps({"mcpServers": {"gatehouse": {
            "command": str(GATEHOUSE), "args": ["mcp", *flags, str(self.root)]}}}))
        told = json.loads(self.claude(
            "-p", "Do it.", "--output-format", "json", "--mcp-config", settings,
            "--strict-mcp-config", "--allowedTools", "mcp__gatehouse",
            ANTHROPIC_BASE_URL=model.url))
        self.assertEqual((told["result"], told["is_error"]), ("That is all.", False), told)
        self.offered = {name.removeprefix("mcp__gatehouse__"): tool
                        for name, tool in model.offered.items() if name.startswith("mcp__gatehouse__")}
        return ["ERROR: " * is_error + text for text, is_error in model.results]

    def check(self, flags, steps):
        """Steps are (tool, arguments, what the model must see)."""
        seen = self.work(flags, [step[:2] for step in steps])
        for (name, arguments, wanted), text in zip(steps, seen, strict=True):
            self.assertEqual(text, wanted, (name, arguments))
        return seen

    def audit(self):
        """What the log has of calls, as (tool, operation, path, outcome)."""
        result = subprocess.run([GATEHOUSE, "audit", "--json", "--limit", "0"], env=self.environment,
                                capture_output=True, text=True, timeout=PATIENCE, check=True)
        records = [json.loads(line) for line in result.stdout.splitlines()]
        return {(record.get("tool"), record["operation"], record.get("relativePath"), record["outcome"])
                for record in records}

    def content(self, name):
        return (self.root / name).read_text()


class Task(Scene):
    def test_a_whole_task(self):
        seen = self.check(("--write", "--results", "text"), (
            ("get_file_tree", {"dirPath": ".", "maxDepth": 3},
             f"{self.root}/\n  src/\n    util/\n      names.py\n    greet.py\n  README.md\n  data.txt"),
            ("read_file", {"filePath": "src/greet.py"}, GREET),
            ("read_file", {"filePath": "src/name.py"},
             "ERROR: src/name.py: not found; the nearest that exists is src"),
            ("read_file", {"filePath": "data.txt", "limit": 2},
             'line "0"\nline "1"\n[truncated, totalLines 901, nextStartLine 3]'),
            ("search_files", {"query": "Hello", "path": "src"},
             'src/greet.py\n6:    text = "Hello, " + name\n12:        text = "Hello, " + name\n'),
            # Which of the two?
            ("edit_file", {"filePath": "src/greet.py", "oldString": '"Hello, " + name',
                           "newString": 'f"Hi, {name}"'},
             "ERROR: src/greet.py: oldString is not unique, 2 matches: lines 6, 12; "
             "add context or set replaceAll"),
            ("edit_file", {"file_path": str(self.root / "src/greet.py"),
                           "old_string": '        text = "Hello, " + name',
                           "new_string": '        text = f"Hi, {name}"'},
             '--- a/src/greet.py\n+++ b/src/greet.py\n@@ -9,7 +9,7 @@\n \n def greet_all(names):\n'
             '     for name in names:\n-        text = "Hello, " + name\n'
             '+        text = f"Hi, {name}"\n         print(text)\n \n \n'),
            ("edit_files", {"edits": [
                {"filePath": "README.md", "oldString": "a greeting", "newString": "greetings"},
                {"filePath": "src/util/names.py", "oldString": '"world"', "newString": '"all"'}]},
             "--- a/README.md\n+++ b/README.md\n@@ -1,3 +1,3 @@\n # Greeter\n \n-Prints a greeting.\n"
             '+Prints greetings.\n--- a/src/util/names.py\n+++ b/src/util/names.py\n@@ -1,4 +1,4 @@\n'
             '-DEFAULT = "world"\n+DEFAULT = "all"\n \n \n def clean(name):\n'),
            ("write_file", {"filePath": "NOTES", "content": "x\n"}, '{"path":"NOTES"}'),
            ("list_files", {"dirPath": ".", "type": "file"},
             "NOTES\t2\nREADME.md\t29\ndata.txt\t9790\n"),
            ("undo_changes", {"count": 2},
             '{"undone":[{"tool":"write_file","path":"NOTES","outcome":"restored"},'
             '{"tool":"edit_files","path":"src/util/names.py","outcome":"restored"},'
             '{"tool":"edit_files","path":"README.md","outcome":"restored"}],"remaining":1}'),
            ("read_file", {"filePath": "../home/x"},
             "ERROR: ../home/x is outside the root; paths are relative to the root"),
        ))
        self.assertLess(max(map(len, seen)), LONGEST)
        self.assertEqual(self.content("src/greet.py"), GREET.replace(
            '        text = "Hello, " + name', '        text = f"Hi, {name}"'))
        self.assertEqual((self.content("README.md"), self.content("src/util/names.py")),
                         (README, NAMES))
        self.assertFalse((self.root / "NOTES").exists())
        log = self.audit()
        self.assertEqual({(tool, path) for tool, operation, path, outcome in log
                          if tool and operation == "write" and outcome == "success"}, {
            ("edit_file", "src/greet.py"), ("edit_files", "README.md"),
            ("edit_files", "src/util/names.py"), ("write_file", "NOTES"),
            ("undo_changes", "src/util/names.py"), ("undo_changes", "README.md")})
        self.assertLess({("undo_changes", "move", "NOTES", "success"),
                         ("read_file", "read", "src/name.py", "failed"),
                         ("read_file", "read", "../home/x", "denied")}, log)

    def test_commands(self):
        flags = ("--write", "--permission-shell", "allow", "--results", "text")
        steps = (
            ("shell_execute", {"command": "python3 src/greet.py Ann Bob"}, "Hello, Ann\nHello, Bob\n"),
            ("shell_execute", {"command": "echo out; echo err >&2; exit 3"},
             "ERROR: out\n[stderr]\nerr\n[exitCode 3]"),
            ("shell_execute", {"command": "true"}, "[no output, exitCode 0]"),
        )
        seen = self.work(flags, [step[:2] for step in steps])
        if "shell_execute" not in self.offered:
            self.skipTest("no sandbox can be built here, so there are no commands")
        self.assertEqual(seen, [step[2] for step in steps])

    def test_without_write_access_there_is_nothing_to_change_files_with(self):
        (told,) = self.work(("--results", "text"),
                            (("write_file", {"filePath": "x", "content": "y"}),))
        self.assertIn("No such tool available", told)
        self.assertFalse((self.root / "x").exists())
        self.assertIn("read_file", self.offered)

    def test_who_cannot_ask_is_denied(self):
        """Without a terminal nobody answers the form that Claude Code gets."""
        (told,) = self.work(("--permission-filesystem-write", "ask", "--results", "text"),
                            (("write_file", {"filePath": "x", "content": "y"}),))
        self.assertEqual(told, f"ERROR: the user denied '{self.root}/x'; ask them what to do instead")
        self.assertFalse((self.root / "x").exists())

    def test_a_structured_result_is_all_that_the_model_sees(self):
        """The reason for --results text. When this fails, that may no longer be needed."""
        (told,) = self.work((), (("read_file", {"filePath": "README.md"}),))
        self.assertEqual(json.loads(told), {"path": "README.md", "content": README,
                                            "truncated": False, "totalLines": 4})

    def test_a_picture_is_seen(self):
        (self.root / "dot.png").write_bytes(bytes.fromhex(
            "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02"
            "0000000b4944415478da6364600000000600023081d02f0000000049454e44ae426082"))
        (told,) = self.work(("--results", "text"), (("read_file", {"filePath": "dot.png"}),))
        self.assertTrue(told.startswith("<image>\n"), told)
        self.assertTrue(told.endswith('{"path":"dot.png","mimeType":"image/png","sizeBytes":68}'), told)


class Settings(Scene):
    def test_add_and_list(self):
        self.claude("mcp", "add", "gatehouse", "--", GATEHOUSE, "mcp", "--results", "text", self.root)
        listed = [line for line in self.claude("mcp", "list").splitlines() if "gatehouse:" in line]
        self.assertEqual(len(listed), 1, listed)
        self.assertRegex(listed[0], "Connected$")


if __name__ == "__main__":
    npm_packages.install(HERE, CACHE)
    run = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1, exit=False).result
    for case, reason in run.skipped:
        print(f"skipped: {case.id()}: {reason}")
    failed = len(run.failures) + len(run.errors)
    print(f"{run.testsRun - failed - len(run.skipped)} passed, {failed} failed")
    sys.exit(0 if run.wasSuccessful() else 1)
