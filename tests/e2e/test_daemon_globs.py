#!/usr/bin/env python3
"""gatehouse connect with --deny and --allow: what mcp does with them, by way of the toolhost and the sandbox.

Arguments: see daemon_scene.
"""
import json
import os
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
import daemon_scene
from daemon_scene import MOMENT, AtTerminal, Scene, has_boxes
from patience import PATIENCE

SHELL = ("--permission-shell", "allow")
WRITES = ("--filesystem-write-access", "--permission-filesystem-write", "allow")
OPEN = "--dangerously-disable-shell-sandbox"
NEEDS_BOXES = "cannot sandbox commands on this machine"
DENY = ("--deny", "**/.env.production,*.{key,pem}", "--deny", "secrets/**")
HIDDEN = (".env.production", "src/.env.production", "src/a.key", "b.pem", "secrets/deep/one")
SHOWN = ("a.txt", "src/main.c")


class Globs(Scene):
    def setUp(self):
        super().setUp()
        self.other = self.place / "other"
        for folder in (self.root, self.other):
            for name in (*HIDDEN, *SHOWN):
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"needle in {name}\n")

    def names(self, server, folder="."):
        """What a search for names and one for text find."""
        by_name = {one["path"] for one in self.good(server, "search_files", dirPath=str(folder), name="*")["matches"]}
        by_text = {one["path"] for one in self.good(server, "search_files", dirPath=str(folder), query="needle")["matches"]}
        return by_name | by_text

    def refused_start(self, *flags):
        server = self.serve()
        status, told = self.daemon("--auto-confirm", *flags, self.url(server), server.token, self.root).wait()
        self.assertEqual(server.state()["hits"]["init"], 0)
        self.assertNotEqual(status, 0)
        return told


class Files(Globs):
    def test_what_is_denied_is_there_for_no_tool(self):
        (self.root / "link").symlink_to("src/a.key")
        server, daemon = self.connect(*DENY, *WRITES)
        for name in HIDDEN:
            for tool, arguments in (("read_file", {"filePath": name}), ("stat_file", {"path": name}),
                                    ("write_file", {"filePath": name, "content": "bad"}), ("delete", {"path": name}),
                                    ("read_file", {"filePath": str(self.root / name)})):
                self.assertIn("is denied by --deny", self.error(server, tool, **arguments))
        self.error(server, "read_file", filePath="link")
        self.error(server, "move", sourcePath="src", destinationPath="new")
        self.assertEqual(self.names(server), set(SHOWN))
        for tool in ("list_files", "get_file_tree"):
            told = json.dumps(self.call(server, tool, dirPath="."))
            self.assertIn("a.txt", told)
            for word in (".env.production", "b.pem", "deep"):
                self.assertNotIn(word, told)
        for name in HIDDEN:
            self.assertEqual((self.root / name).read_text(), f"needle in {name}\n")
        self.assertEqual(daemon.end()[0], 0)
        self.assertLessEqual(set(HIDDEN), {record.get("relativePath") for record in self.records()
                                           if record["outcome"] == "denied"})

    def test_only_what_is_allowed_is_there(self):
        server, daemon = self.connect("--allow", "src/**", "--deny", "*.key,.env*", *WRITES)
        self.assertEqual(self.names(server), {"src/main.c"})
        self.assertIn("is not allowed by --allow", self.error(server, "read_file", filePath="a.txt"))
        self.assertIn("is denied by --deny", self.error(server, "read_file", filePath="src/a.key"))
        self.error(server, "write_file", filePath="new", content="bad")
        self.good(server, "write_file", filePath="src/new", content="good")
        self.assertEqual(((self.root / "new").exists(), (self.root / "src/new").read_text()), (False, "good"))
        self.assertNotIn("shell_execute", self.tools(server))
        self.assertEqual(daemon.end()[0], 0)

    def test_the_tree_of_the_older_dialect_has_nothing_that_is_hidden(self):
        for flags, there in ((DENY, {"a.txt", "src", "src/main.c"}), (("--allow", "src/*.c"), {"src", "src/main.c"})):
            server = self.serve("--dialect", "seed")
            daemon = self.daemon("--auto-confirm", *flags, self.url(server), server.token, self.root)
            server.until(streams=1)
            self.assertEqual({one["path"] for one in server.state()["init"]["tree"]} - {"secrets"}, there)
            self.assertEqual(daemon.end()[0], 0)

    def test_they_hold_in_every_folder(self):
        server, daemon = self.connect("--ro", self.other, "--deny", "*.key", "--deny", f"{self.other}/secrets/**")
        for name in ("src/a.key", f"{self.other}/src/a.key", f"{self.other}/secrets/deep/one"):
            self.assertIn("is denied by --deny", self.error(server, "read_file", filePath=name))
        self.good(server, "read_file", filePath="secrets/deep/one")
        self.assertEqual(daemon.end()[0], 0)
        server, _ = self.connect("--ro", self.other, "--allow", f"{self.other}/src/*.c")
        self.good(server, "read_file", filePath=f"{self.other}/src/main.c")
        for name in ("src/main.c", f"{self.other}/a.txt"):
            self.assertIn("is not allowed by --allow", self.error(server, "read_file", filePath=name))

    def test_another_toolhost_hides_the_same(self):
        server, daemon = self.connect(*DENY)
        first, = (pid for pid in daemon.children() if self.is_toolhost(pid))
        os.kill(first, signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE
        while "isError" in self.call(server, "read_file", filePath="a.txt"):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(MOMENT)
        self.assertNotIn(first, daemon.children())
        self.assertIn("is denied by --deny", self.error(server, "read_file", filePath="b.pem"))

    def is_toolhost(self, pid):
        with open(f"/proc/{pid}/cmdline", "rb") as words:
            return words.read().startswith(b"gatehouse-toolhost\0")

    def test_other_globs_are_other_terms(self):
        server, daemon = self.connect("--keep-session", "--deny", "*.key", "--deny", "*.pem")
        self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
        again = ("--keep-session", "--dir", self.root, self.url(server))
        for flags in ((), ("--deny", "*.key"), ("--allow", "*.key", "--allow", "*.pem"),
                      ("--deny", "*.key", "--allow", "*.pem")):
            status, told = self.daemon(*flags, *again).wait()
            self.assertEqual(status, 2, told)
            self.assertIn("no terminal to ask on", told)
        daemon = self.daemon("--deny", "*.key,*.pem", *again)
        daemon.until("connected")
        self.assertIn("is denied by --deny", self.error(server, "read_file", filePath="b.pem"))


class Commands(Globs):
    @unittest.skipUnless(has_boxes(), NEEDS_BOXES)
    def test_commands_cannot_read_what_is_denied(self):
        os.link(self.root / "b.pem", self.root / "second-name")
        server, daemon = self.connect("--ro", self.other, *DENY, *WRITES, *SHELL)
        paths = [str(folder / name) for folder in (self.root, self.other) for name in HIDDEN]
        told = self.good(server, "shell_execute", command=f"cat {' '.join(paths)} second-name; true")
        self.assertNotIn("needle", told["stdout"])
        told = self.good(server, "shell_execute", command=f"cat {' '.join(SHOWN)} {self.other}/a.txt; "
                         "echo bad > b.pem; rm -f src/a.key; true")
        self.assertEqual(told["stdout"].count("needle"), 3, told)
        self.assertEqual([(self.root / name).read_text() for name in HIDDEN], [f"needle in {name}\n" for name in HIDDEN])
        self.error(server, "shell_execute", command="true", cwd="secrets/deep")
        # A file that came later is hidden from the next command.
        (self.root / "src/late.key").write_text("needle")
        self.assertNotIn("needle", self.good(server, "shell_execute", command="cat src/late.key; true")["stdout"])
        self.assertEqual(daemon.end()[0], 0)

    def test_what_would_not_hold_for_commands_is_refused(self):
        for flags, words in (((*SHELL, "--allow", "src/**"), "--allow does not apply to commands"),
                             ((*SHELL, OPEN, "--deny", "*.key"), "--deny hides nothing from commands without a sandbox")):
            self.assertIn(words, self.refused_start(*flags))
        self.write_settings(permissions={"shell": "ask"})
        self.assertIn("--allow does not apply to commands", self.refused_start("--allow", "src/**"))
        server, _ = self.connect("--allow", "src/**", "--permission-shell", "deny")
        self.assertNotIn("shell_execute", self.tools(server))


class Starts(Globs):
    def test_globs_that_are_none_are_refused_with_their_option(self):
        for option in ("--deny", "--allow"):
            for glob, words in (("a[", "never closed"), ("~/x", "'\\~'"), ("!a", "'\\!'"), ("../a", "'/NAME'"),
                                (",", "empty"), ("{" * 20, "glob"), ("x" * 2000, "glob"),
                                (f"{self.place}/elsewhere", "relative to the folder")):
                with self.subTest(glob[:20], option=option):
                    told = self.refused_start(option, glob)
                    self.assertIn(option, told)
                    self.assertIn(words, told)

    def test_nobody_is_asked_about_globs_that_are_none(self):
        server = self.serve()
        status, told = self.daemon("--deny", "a[", self.url(server), server.token, self.root).wait()
        self.assertEqual(status, 2, told)
        self.assertIn("--deny", told)

    def test_the_status_says_what_is_hidden(self):
        many = [f"{number}.x" for number in range(20)]
        self.connect(*DENY, "--allow", ",".join(many))
        self.assertIn("Hidden files: **/.env.production, *.{key,pem}, secrets/**\n"
                      f"No files but: {', '.join(many[:16])} and 4 more\n", self.gatehouse("status"))
        told = json.loads(self.gatehouse("status", "--json"))
        self.assertEqual((told["denied"], told["allowed"]), (["**/.env.production", "*.{key,pem}", "secrets/**"], many))


class Asked(AtTerminal, Globs):
    def test_the_question_says_what_is_hidden(self):
        server, daemon = self.begin(*DENY, "--allow", "src/**")
        self.see("Files that it does not see:")
        self.see("**/.env.production, *.{key,pem}, secrets/**")
        self.see("The only files that it sees:")
        self.see("src/**")
        self.agree(server)
        self.assertIn("is denied by --deny", self.error(server, "read_file", filePath="b.pem"))
        self.assertEqual(daemon.end()[0], 0)

    def test_commands_are_not_turned_on_where_they_would_see_more(self):
        server, daemon = self.begin("--allow", "src/**")
        self.press_until(b"2\n", lambda: b"Permissions and folder" in self.shown)
        self.press_until(b"3 ask\ndone\n", lambda: b"does not apply to commands" in self.shown)
        self.assertEqual(server.state()["hits"]["init"], 0)
        self.shown.clear()
        self.press_until(b"3 deny\ndone\n", lambda: b"Connect to this server?" in self.shown)
        self.agree(server)
        self.assertNotIn("shell_execute", self.tools(server))
        self.assertEqual(daemon.end()[0], 0)


if __name__ == "__main__":
    daemon_scene.main()
