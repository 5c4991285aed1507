#!/usr/bin/env python3
"""gatehouse connect with several folders: what mcp does with them (test_mcp_folders.py), by way of the toolhost.

Arguments: see daemon_scene.
"""
import json
import os
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # not into the sources
import daemon_scene
from daemon_scene import GATEHOUSE, AtTerminal, Scene, has_boxes
from patience import PATIENCE

SHELL = ("--permission-shell", "allow")
WRITES = ("--filesystem-write-access", "--permission-filesystem-write", "allow")


class Folders(Scene):
    """`root` as in all scenes, and two beside it."""

    def setUp(self):
        super().setUp()
        self.readable = self.place / "readable"
        self.writable = self.place / "writable"
        self.outside = self.place / "outside"
        for folder in (self.readable, self.writable, self.outside):
            folder.mkdir()
            (folder / "two").write_text("2\n")

    def connect_all(self, *flags, **variables):
        return self.connect("--ro", self.readable, "--rw", self.writable, *flags, **variables)

    def directories(self, server):
        return [(one["path"], one["access"]) for one in self.good(server, "list_allowed_directories")["directories"]]

    def refused_start(self, *flags):
        server = self.serve()
        status, told = self.daemon("--auto-confirm", *flags, self.url(server), server.token, self.root).wait()
        self.assertEqual(server.state()["hits"]["init"], 0)
        return status, told


class Files(Folders):
    def test_each_keeps_its_mode_and_the_server_is_told_of_the_first(self):
        for flags, modes in ((WRITES, ("write", "write", "read")), ((), ("read", "write", "read"))):
            server, daemon = self.connect_all(*flags)
            self.assertEqual(server.state()["init"]["rootPath"], str(self.root))
            self.assertIn("write_file", self.tools(server))
            self.assertEqual(self.directories(server), list(zip(
                map(str, (self.root, self.writable, self.readable)), modes)))
            self.assertEqual(self.good(server, "read_file", filePath=f"{self.readable}/two")["content"], "2\n")
            self.assertEqual(self.good(server, "read_file", filePath="a.txt")["content"], "one\ntwo\n")
            self.assertEqual(daemon.end()[0], 0)

    def test_the_tree_of_the_older_dialect_is_of_the_first(self):
        server = self.serve("--dialect", "seed")
        self.daemon("--auto-confirm", "--ro", self.readable, self.url(server), server.token, self.root)
        server.until(streams=1)
        init = server.state()["init"]
        self.assertEqual((init["rootPath"], [entry["path"] for entry in init["tree"]]), (str(self.root), ["a.txt"]))

    def test_changes_are_made_undone_and_refused(self):
        server, daemon = self.connect_all(*WRITES)
        self.good(server, "write_file", filePath=f"{self.writable}/two", content="changed")
        self.good(server, "move", sourcePath="a.txt", destinationPath=f"{self.writable}/a.txt")
        self.assertFalse((self.root / "a.txt").exists())
        self.good(server, "undo_changes", all=True)
        self.assertEqual(((self.writable / "two").read_text(), (self.root / "a.txt").read_text()),
                         ("2\n", "one\ntwo\n"))
        self.assertIn("may only be read",
                      self.error(server, "write_file", filePath=f"{self.readable}/two", content="bad"))
        for name in (f"{self.outside}/two", f"{self.readable}/../outside/two", f"{self.readable}2/two"):
            self.assertIn("outside", self.error(server, "read_file", filePath=name))
            self.error(server, "write_file", filePath=name, content="bad")
        self.assertEqual(((self.readable / "two").read_text(), (self.outside / "two").read_text()), ("2\n", "2\n"))
        self.assertEqual(daemon.end()[0], 0)
        written = {record["root"]["id"] for record in self.records()
                   if record["operation"] == "write" and record["outcome"] == "success"}
        self.assertIn(str(self.writable), written)
        denied = {(record["error"], record["root"]["id"]) for record in self.records()
                  if record["outcome"] == "denied" and record["operation"] == "write"}
        self.assertEqual(denied, {("access_missing", str(self.readable)), ("path_outside_root", str(self.root))})

    def test_a_change_that_needs_a_yes_is_asked_about_by_its_whole_path(self):
        server, _ = self.connect_all()
        question = self.question(server, "write_file", filePath=f"{self.writable}/two", content="x")
        self.assertIn(f"{self.writable}/two", question["resource"])
        self.good(server, "write_file", filePath=f"{self.writable}/two", content="x", _confirmation="allowOnce")
        self.assertEqual((self.writable / "two").read_text(), "x")
        # Nobody is asked about what is refused anyway.
        for name in ("a.txt", f"{self.readable}/two"):
            self.assertIn("may only be read", self.error(server, "write_file", filePath=name, content="x"))

    def test_secrets_and_rules_count_in_every_folder(self):
        (self.readable / ".env").write_text("KEY=needle")
        (self.readable / "denied").write_text("needle")
        server, daemon = self.connect_all()
        self.question(server, "read_file", filePath=f"{self.readable}/.env")
        self.good(server, "read_file", filePath=f"{self.readable}/denied")
        subprocess.run([GATEHOUSE, "rules", "add", "deny", "filesystemRead", f"{self.readable}/denied"], check=True,
                       capture_output=True, env={"PATH": "/usr/bin:/bin", "HOME": str(self.home)}, timeout=PATIENCE)
        daemon.until("rules reloaded")
        self.error(server, "read_file", filePath=f"{self.readable}/denied")
        found = self.good(server, "search_files", query="needle", dirPath=str(self.readable))["matches"]
        self.assertEqual(found, [])

    def test_folders_are_named_from_the_current_one(self):
        (self.place / "a,b").mkdir()
        place = self.place / "a,b" / "there"
        place.mkdir()
        server = self.serve()
        words = [GATEHOUSE, "connect", "--auto-confirm", "--ro", "there", self.url(server), server.token, self.root]
        # A comma in the whole path does not make it two.
        process = subprocess.Popen(words, cwd=place.parent, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env={
                                       "PATH": "/usr/bin:/bin", "HOME": str(self.home), "N8N_GATEWAY_PORT": "0"})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        server.until(streams=1)
        self.assertEqual(self.directories(server)[1:], [(str(place), "read")])


class Commands(Folders):
    @unittest.skipUnless(has_boxes(), "cannot sandbox commands on this machine")
    def test_commands_see_all_and_change_those_that_may_be_changed(self):
        server, daemon = self.connect_all(*WRITES, *SHELL)
        result = self.good(server, "shell_execute", command=(
            f"cat {self.readable}/two {self.writable}/two; echo x > here; echo y > {self.writable}/there; "
            f"echo z > {self.readable}/two || echo refused; ls {self.outside} || echo hidden"))
        self.assertEqual(result["stdout"], "2\n2\nrefused\nhidden\n", result)
        self.assertEqual(((self.root / "here").exists(), (self.writable / "there").read_text()), (True, "y\n"))
        self.assertEqual((self.readable / "two").read_text(), "2\n")
        self.assertEqual(self.good(server, "shell_execute", command="pwd", cwd=str(self.writable))["stdout"],
                         f"{self.writable}\n")
        self.error(server, "shell_execute", command="pwd", cwd=str(self.outside))
        self.assertEqual(daemon.end()[0], 0)
        self.assertIn(str(self.writable), {record["root"]["id"] for record in self.records()
                                           if record["operation"] == "execute"})

    @unittest.skipUnless(has_boxes(), "cannot sandbox commands on this machine")
    def test_the_first_is_not_changed_because_another_may_be(self):
        server, _ = self.connect("--rw", self.writable, *SHELL)
        result = self.good(server, "shell_execute", command=f"echo x > here || echo refused; echo y > {self.writable}/y")
        self.assertEqual(result["stdout"], "refused\n", result)
        self.assertEqual((sorted(os.listdir(self.root)), (self.writable / "y").exists()), (["a.txt"], True))


class Starts(Folders):
    def test_folders_that_cannot_be_served_are_refused(self):
        (self.readable / "inner").mkdir()
        for flags, words in ((("--ro", self.place / "missing"), "missing"),
                             (("--ro", self.readable / "two"), "two"),
                             (("--rw", self.root), "same folder"),
                             (("--rw", self.readable, "--ro", self.readable / "inner"), "contains the other"),
                             (("--ro", self.place), "contains the other"),
                             (("--rw", self.home / ".n8n-gateway"), ".n8n-gateway"),
                             (("--ro", self.home / ".local/state/gatehouse"), "gatehouse")):
            with self.subTest(flags):
                for place in (".n8n-gateway", ".local/state/gatehouse"):
                    (self.home / place).mkdir(mode=0o700, parents=True, exist_ok=True)
                status, told = self.refused_start(*flags)
                self.assertNotEqual(status, 0)
                self.assertIn(words, told)
        status, told = self.refused_start(*[word for number in range(32) for word in ("--ro", f"/{number}")])
        self.assertNotEqual(status, 0)
        self.assertIn("at most 32 folders", told)

    def test_writing_that_is_denied_is_no_folder_to_write_to(self):
        for group in ("read", "write"):
            status, told = self.refused_start("--rw", self.writable, "--permission-shell", "ask",
                                              f"--permission-filesystem-{group}", "deny")
            self.assertEqual(status, 2, told)
            self.assertIn(f"--rw has no effect while the permission filesystem-{group} is deny", told)

    def test_what_is_too_much_is_warned_of(self):
        _, daemon = self.connect("--ro", self.home)
        self.assertIn("whole home directory", daemon.end()[1])

    def test_other_folders_are_other_terms(self):
        link = self.place / "link"
        link.symlink_to(self.readable)
        server, daemon = self.connect("--keep-session", "--ro", link)
        self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
        for flags in ((), ("--rw", link), ("--ro", link, "--ro", self.writable)):
            status, told = self.daemon("--keep-session", *flags, "--dir", self.root, self.url(server)).wait()
            self.assertEqual(status, 2, told)
            self.assertIn("no terminal to ask on", told)
        same = ("--keep-session", "--ro", link, "--dir", self.root, self.url(server))
        daemon = self.daemon(*same)
        daemon.until("connected")
        self.assertEqual(self.good(server, "read_file", filePath=f"{self.readable}/two")["content"], "2\n")
        self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
        link.unlink()
        link.symlink_to(self.outside)
        status, told = self.daemon(*same).wait()
        self.assertEqual(status, 1, told)
        self.assertIn("one of the folders differs from that of the saved session", told)

    def test_status_names_them_all(self):
        self.connect_all()
        self.assertIn(f"Folder: {self.root}\n  and {self.writable}\n  and {self.readable} (read only)\n",
                      self.gatehouse("status"))
        self.assertEqual(json.loads(self.gatehouse("status", "--json"))["otherFolders"], [
            {"path": str(self.writable), "access": "write"}, {"path": str(self.readable), "access": "read"}])


class Asked(AtTerminal, Folders):
    def test_the_prompt_shows_what_is_agreed_to(self):
        server, _ = self.begin("--ro", self.readable, "--rw", self.writable)
        for words in ("Folder, only to be read:", "Also:", str(self.writable), "Also, only to be read:",
                      str(self.readable)):
            self.see(words)
        self.agree(server)
        self.assertEqual(self.directories(server), [
            (str(self.root), "read"), (str(self.writable), "write"), (str(self.readable), "read")])


if __name__ == "__main__":
    daemon_scene.main()
