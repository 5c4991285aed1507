#!/usr/bin/env python3
"""Defects seen in other daemons of this protocol: one test for each, against ours.

tests/unit/gateway/test_client.c tests a stream that has gone silent, which takes too long here.

Arguments: see daemon_scene.
"""
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
import daemon_scene
from daemon_scene import AtTerminal, Scene, has_boxes, is_sanitized
from patience import PATIENCE

BURST_SECONDS = 5  # after which keys are typed again, if nothing came of them
WRITES = ("--permission-filesystem-write", "allow")
SHELL = ("--permission-shell", "allow")


class Prompts(AtTerminal):
    def ask_and_see(self, server, words, tool, **arguments):
        called = server.call(tool, **arguments)
        self.see(words)
        return called

    def type_until_answered(self, server, keys):
        """All keys at once: what was meant for one question is there before the next one stands."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self.assertLess(time.monotonic(), deadline, bytes(self.shown))
            os.write(self.master, keys)
            try:
                line = server.lines.get(timeout=BURST_SECONDS)
            except queue.Empty:
                continue
            if "answer" in line:
                return line["answer"]

    def test_one_enter_answers_two_prompts(self):
        server, _ = self.connect("--permission-filesystem-write", "ask", TERM="dumb")
        for name in ("b.txt", "c.txt"):
            (self.root / name).touch()
        first = self.ask_and_see(server, "b.txt", "delete", path="b.txt")
        second = server.call("delete", path="c.txt")
        self.assertEqual(self.type_until_answered(server, b"2\n\n2\n2\n\n"), first)
        self.see("c.txt")
        self.good(server, "list_files", dirPath=".")
        self.assertEqual(server.state()["pending"], 1)
        self.assertFalse((self.root / "b.txt").exists())
        self.assertTrue((self.root / "c.txt").exists())
        self.assertTrue(self.answer(server, b"1\n", second)["isError"])
        self.assertTrue((self.root / "c.txt").exists())

    def test_a_key_typed_ahead_approves_a_later_delete(self):
        server, _ = self.connect("--permission-filesystem-write", "ask", TERM="dumb")
        os.write(self.master, b"2\n2\n")
        called = self.ask_and_see(server, "delete", "delete", path="a.txt")
        self.good(server, "list_files", dirPath=".")
        self.assertEqual(server.state()["pending"], 1)
        self.assertTrue((self.root / "a.txt").exists())
        self.assertTrue(self.answer(server, b"1\n", called)["isError"])

    def test_an_always_deny_file_still_shows_up_in_search_results(self):
        (self.root / "b.txt").write_text("two\n")
        server, _ = self.connect("--permission-filesystem-read", "ask", TERM="dumb")
        called = server.call("read_file", filePath="b.txt")
        self.assertTrue(self.answer(server, b"7\n", called)["isError"])
        for arguments in ({"query": "two"}, {"name": "*.txt"}):
            called = server.call("search_files", **arguments)
            found = self.answer(server, b"2\n", called)["structuredContent"]
            self.assertEqual([match["path"] for match in found["matches"]], ["a.txt"])
        called = server.call("list_files", dirPath=".")
        listed = self.answer(server, b"2\n", called)["structuredContent"]
        self.assertEqual([entry["path"] for entry in listed["entries"]], ["a.txt"])

    def test_non_interactive_asks_all_the_same(self):
        server = self.serve()
        self.daemon("--non-interactive", "--permission-filesystem-write", "ask", self.url(server),
                    server.token, self.root, TERM="dumb")
        server.until(streams=1)
        self.question(server, "delete", path="a.txt")
        self.assertEqual(bytes(self.shown), b"")

    def test_ask_cannot_be_had_without_somebody_to_ask(self):
        """With both flags ask means deny, at a terminal as elsewhere; rules still decide."""
        self.write_settings(resourcePermissions={
            "filesystemWrite": {"allow": [str(self.root / "a.txt")], "deny": []}})
        here = self.terminal
        for terminal in (here, None):
            with self.subTest(terminal=terminal is not None):
                self.terminal = terminal
                server = self.serve()
                daemon = self.daemon(
                    "--non-interactive", "--permission-confirmation", "client",
                    "--permission-filesystem-write", "ask", self.url(server), server.token,
                    self.root)
                server.until(streams=1)
                daemon.until("there is nobody to ask")
                self.assertIn("there is nobody to ask", self.error(
                    server, "write_file", filePath="b.txt", content="x"))
                self.assertIn("there is nobody to ask", self.error(
                    server, "write_file", filePath="b.txt", content="x",
                    _confirmation="allowOnce"))
                self.assertFalse((self.root / "b.txt").exists())
                self.good(server, "write_file", filePath="a.txt", content="x")
                self.assertEqual(daemon.end()[0], 0)
        self.terminal = here

    def test_prompts_for_write_and_delete_look_alike(self):
        server, _ = self.connect("--permission-filesystem-write", "ask", TERM="dumb")
        texts = []
        for tool, arguments in (("write_file", {"filePath": "a.txt", "content": ""}),
                                ("delete", {"path": "a.txt"})):
            del self.shown[:]
            called = self.ask_and_see(server, "a.txt", tool, **arguments)
            self.assertTrue(self.answer(server, b"1\n", called)["isError"])
            texts.append(bytes(self.shown).decode(errors="replace"))
        self.assertIn("eletes", texts[1])
        self.assertNotIn("eletes", texts[0])


class Files(Scene):
    def test_delete_of_the_root_wipes_it(self):
        server, _ = self.connect(*WRITES)
        for name in (".", "", "./", "x/..", str(self.root), "/"):
            self.error(server, "delete", path=name)
        self.assertEqual((self.root / "a.txt").read_text(), "one\ntwo\n")

    def test_dollar_and_ampersand_in_a_replacement_are_expanded(self):
        server, _ = self.connect(*WRITES)
        for text in ("$&", "$1$$", "\\0", "$`"):
            (self.root / "a.txt").write_text("one\n")
            self.good(server, "edit_file", filePath="a.txt", oldString="one", newString=text)
            self.assertEqual((self.root / "a.txt").read_text(), f"{text}\n")

    def test_move_checks_its_source_as_a_read(self):
        self.write_settings(resourcePermissions={"filesystemWrite": {
            "allow": [], "deny": [str(self.root / "a.txt")]}})
        server, _ = self.connect(*WRITES)
        self.good(server, "read_file", filePath="a.txt")
        self.assertIn("denied", self.error(server, "move", sourcePath="a.txt",
                                           destinationPath="b.txt"))
        self.assertEqual(os.listdir(self.root), ["a.txt"])
        self.good(server, "copy_file", sourcePath="a.txt", destinationPath="b.txt")

    def test_a_move_is_asked_about_at_both_ends(self):
        server, _ = self.connect("--permission-filesystem-write", "ask")
        asked = self.question(server, "move", sourcePath="a.txt", destinationPath="b.txt")
        for name in ("a.txt", "b.txt"):
            self.assertIn(str(self.root / name), asked["resource"] + asked["description"])

    def test_a_search_holds_much_memory_and_stalls_other_calls(self):
        many, lines = 100, "needle in a line that is found\n" * 16000
        for number in range(many):
            (self.root / f"f{number}").write_text(lines)
        server, daemon = self.connect()
        (toolhost,) = daemon.children()
        search = ("search_files", {"query": "needle", "maxResults": 1000000})
        answers = self.calls(server, *[search] * 6, ("read_file", {"filePath": "a.txt"}))
        order = [answer["call"] for answer in answers]
        self.assertLess(order.index(6), 6, "the read came after every search")
        if not is_sanitized():
            # What is searched, six times over, is some 300 MB.
            self.assertLess(peak_kb(toolhost), 200 << 10)
            self.assertLess(peak_kb(daemon.process.pid), 200 << 10)


def peak_kb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1])


@unittest.skipUnless(has_boxes(), "cannot sandbox commands on this machine")
class Commands(Scene):
    def shell(self, server, command, **more):
        return self.call(server, "shell_execute", command=command, **more)["structuredContent"]

    def test_a_time_out_leaves_grandchildren_running(self):
        server, _ = self.connect(*SHELL, *WRITES, "--computer-shell-timeout", "2s")
        os.mkfifo(self.root / "fifo")
        inner = "sh -c 'exec 3>fifo; echo >&3; sleep 600'"
        fifo = os.open(self.root / "fifo", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, fifo)
        for more in ({}, {"timeout": 20000}, {"timeout": 200000}):  # for a machine that is slow
            told = self.shell(server, f"setsid {inner} & ({inner} &); {inner} & wait", **more)
            self.assertTrue(told["timedOut"])
            begun = os.read(fifo, 100)
            self.assertEqual(os.read(fifo, 1), b"")  # no writer is left
            if len(begun) == 3:
                return
        self.fail("they did not begin")

    def test_an_output_over_16_mb_is_lost(self):
        server, _ = self.connect(*SHELL)
        told = self.shell(server, "echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last")
        self.assertEqual(told["exitCode"], 0)
        self.assertTrue(told["stdout"].startswith("first\n"))
        self.assertTrue(told["stdout"].endswith("last\n"))
        self.assertIn("omitted", told["stdout"])

    def test_commands_always_fail_under_root(self):
        server, _ = self.connect(*SHELL)
        told = self.shell(server, "cat a.txt && id -u")
        self.assertEqual((told["exitCode"], told["stderr"]), (0, ""))
        self.assertTrue(told["stdout"].startswith("one\ntwo\n"))

    def test_there_is_no_cancel_and_there_are_no_jobs(self):
        server, _ = self.connect(*SHELL, *WRITES)
        os.mkfifo(self.root / "fifo")
        job = self.good(server, "shell_start",
                        command="read line; echo got $line; exec 3>fifo; sleep 600")["jobId"]
        self.good(server, "shell_input", jobId=job, text="this\n")
        with open(self.root / "fifo", "rb") as fifo:
            self.assertIn("got this", self.good(server, "shell_output", jobId=job)["output"])
            self.assertEqual([entry["jobId"] for entry in self.good(server, "shell_list")["jobs"]],
                             [job])
            self.good(server, "shell_stop", jobId=job)
            self.assertEqual(fifo.read(), b"")

    def test_a_slow_command_stalls_other_calls(self):
        server, _ = self.connect(*SHELL, *WRITES)
        os.mkfifo(self.root / "fifo")
        called = server.call("shell_execute", command="cat fifo")
        self.good(server, "read_file", filePath="a.txt")
        self.good(server, "shell_execute", command="true")
        (self.root / "fifo").write_text("now")
        result = json.loads(server.until(answer=called)["text"])["result"]
        self.assertEqual(result["structuredContent"]["stdout"], "now")


class Rules(Scene):
    def add(self, daemon, *words):
        self.gatehouse("rules", "add", *words)
        daemon.until("rules reloaded")

    def listed(self):
        return [json.loads(line)["match"]
                for line in self.gatehouse("rules", "list", "--json").splitlines()]

    def test_rules_are_exact_strings(self):
        for name in ("d/secret", "d/deep/secret", "e.secret"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text("secret")
        server, daemon = self.connect()
        self.assertEqual(len(self.good(server, "search_files", query="secret")["matches"]), 3)
        self.add(daemon, "deny", "filesystemRead", f"dir:{self.root}/d")
        self.add(daemon, "deny", "filesystemRead", "glob:**/*.secret")
        for name in ("d/secret", "d/deep/secret", "e.secret"):
            self.assertIn("denied", self.error(server, "read_file", filePath=name))
        self.assertEqual(self.good(server, "search_files", query="secret")["matches"], [])

    def test_a_rule_can_neither_be_listed_nor_taken_back(self):
        server, daemon = self.connect()
        self.add(daemon, "deny", "filesystemRead", str(self.root / "a.txt"))
        self.assertEqual(self.listed(), [str(self.root / "a.txt")])
        self.error(server, "read_file", filePath="a.txt")
        self.gatehouse("rules", "revoke", str(self.root / "a.txt"))
        daemon.until("rules reloaded")
        self.assertEqual(self.listed(), [])
        self.good(server, "read_file", filePath="a.txt")

    def test_a_rule_never_expires(self):
        self.write_settings(rules=[{"group": "filesystemRead", "effect": "deny",
                                    "match": str(self.root / "a.txt"), "expires": "2001-02-03"}])
        server, daemon = self.connect()
        self.good(server, "read_file", filePath="a.txt")
        self.add(daemon, "deny", "filesystemRead", str(self.root / "a.txt"), "--expires", "2h")
        self.error(server, "read_file", filePath="a.txt")

    @unittest.skipUnless(has_boxes(), "cannot sandbox commands on this machine")
    def test_a_rule_for_commands_is_an_exact_string(self):
        server, daemon = self.connect("--permission-shell", "ask")
        self.add(daemon, "allow", "shell", "prefix:cat")
        self.add(daemon, "deny", "shell", "prefix:rm")
        self.good(server, "shell_execute", command="cat a.txt")
        self.assertIn("denied", self.error(server, "shell_execute", command="rm a.txt"))
        self.assertIn("denied", self.error(server, "shell_execute", command="cat a.txt; rm a.txt"))
        self.question(server, "shell_execute", command="cat a.txt; ls")

    def test_there_is_no_audit(self):
        server, daemon = self.connect(*WRITES)
        self.good(server, "write_file", filePath="b.txt", content="x")
        self.good(server, "read_file", filePath="a.txt")
        self.error(server, "read_file", filePath="../c.txt")
        self.error(server, "edit_file", filePath="a.txt", oldString="absent", newString="x")
        self.assertIn("was not found", daemon.until("failed tool=edit_file"))
        self.assertEqual(daemon.end()[0], 0)
        told = [json.loads(line) for line in self.gatehouse("audit", "--json").splitlines()]
        seen = {(record["tool"], record["outcome"], record.get("decision"))
                for record in told if "tool" in record}
        self.assertLessEqual({("write_file", "success", "mode"), ("read_file", "success", "mode")},
                             seen)
        self.assertIn(("read_file", "denied"), {one[:2] for one in seen})
        self.assertIn(("edit_file", "failed"), {one[:2] for one in seen})


class Servers(Scene):
    def test_a_restart_of_the_server_needs_pairing_by_hand(self):
        server = self.serve("--static-key", "key-of-both-sides")
        daemon = self.daemon("--auto-confirm", "--dir", self.root, self.url(server),
                             N8N_INSTANCE_AI_GATEWAY_API_KEY="key-of-both-sides")
        server.until(streams=1)
        server.do("forget")
        server.until(streams=0)
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")
        self.assertEqual(server.state()["hits"]["init"], 2)
        self.assertEqual(daemon.end()[0], 0)

    def test_a_server_that_forgot_the_session_ends_the_daemon(self):
        server, daemon = self.connect()
        server.do("forget")
        self.assertIn("new pairing token", daemon.until("has forgotten this session"))
        self.assertIsNone(daemon.process.poll())
        self.assertEqual(daemon.end()[0], 0)

    def test_the_static_key_is_refused(self):
        server = self.serve("--static-key", "key-of-both-sides")
        self.daemon("--auto-confirm", "--dir", self.root, self.url(server),
                    N8N_INSTANCE_AI_GATEWAY_API_KEY="key-of-both-sides")
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")
        self.assertEqual(server.state()["refused"], 0)

    def test_no_display_with_computer_control_crashes(self):
        server, daemon = self.connect("--permission-computer", "allow")
        self.good(server, "read_file", filePath="a.txt")
        self.assertIn({"name": "screenshot", "enabled": False},
                      server.state()["init"]["toolCategories"])
        status, told = daemon.end()
        self.assertEqual(status, 0)
        self.assertIn("screen, mouse and keyboard are not available", told)
        self.assertIn("no screen can be used", told)


class Flags(Scene):
    """That none is without an effect is in test_daemon_options.py."""

    def test_filesystem_dir(self):
        server = self.serve()
        self.daemon("--non-interactive", "--filesystem-dir", self.root, self.url(server),
                    server.token)
        server.until(streams=1)
        self.assertEqual(server.state()["init"]["rootPath"], str(self.root))

    def test_max_file_size(self):
        server, _ = self.connect("--max-file-size", "1KiB", *WRITES)
        self.good(server, "write_file", filePath="b", content="x" * 1024)
        self.error(server, "write_file", filePath="c", content="x" * 1025)
        self.assertFalse((self.root / "c").exists())

    def test_max_lines(self):
        server, _ = self.connect("--max-lines", "1")
        told = self.good(server, "read_file", filePath="a.txt", maxLines=2)
        self.assertEqual((told["content"], told["truncated"]), ("one", True))

    def test_state_dir_and_settings_dir(self):
        state, settings = self.place / "state", self.place / "settings"
        server, daemon = self.connect("--state-dir", state, "--settings-dir", settings)
        self.good(server, "read_file", filePath="a.txt")
        self.assertEqual(daemon.end()[0], 0)
        self.assertIn("read_file", self.record_text(state))
        self.assertTrue((settings / "settings.json").exists())
        self.assertFalse(self.settings.exists() or self.record.exists())

    def test_log_level(self):
        said = {}
        for level in ("silent", "info", "debug"):
            server, daemon = self.connect("--log-level", level)
            self.good(server, "read_file", filePath="a.txt")
            status, said[level] = daemon.end()
            self.assertEqual(status, 0)
        self.assertEqual(said["silent"], "")
        self.assertIn("done tool=read_file", said["info"])
        self.assertNotIn("toolhost confined", said["info"])
        self.assertIn("toolhost confined", said["debug"])

    def test_permission_browser(self):
        for flags, is_offered in ((), True), (("--permission-browser", "deny"), False):
            server, daemon = self.connect(*flags)
            self.assertEqual(self.offers_browser(server, daemon), is_offered)
            if "browser_click" in self.tools(server):
                # The server itself is not for pages, whatever the user says; nobody is asked.
                for host in ("127.0.0.1", "localhost"):
                    refused = self.error(server, "browser_navigate", url=f"http://{host}:{server.port}/")
                    self.assertIn("Gatehouse itself", refused)
            daemon.end()

    @unittest.skipUnless(has_boxes(), "cannot sandbox commands on this machine")
    def test_shell_network_and_shell_writable(self):
        there = self.place / "there"
        there.mkdir()
        look = "cat /proc/net/dev"
        for flags, can in (((), False), (("--shell-network", "allow", "--shell-writable", there), True)):
            server, daemon = self.connect(*SHELL, *flags)
            devices = self.good(server, "shell_execute", command=look)["stdout"]
            ours = subprocess.run(["cat", "/proc/net/dev"], capture_output=True, check=True,
                                  text=True).stdout
            self.assertEqual(names_of(devices) == names_of(ours), can)
            result = self.call(server, "shell_execute", command=f"echo x > {there}/f")
            self.assertEqual(result["structuredContent"]["exitCode"] == 0, can)
            self.assertEqual(daemon.end()[0], 0)


def names_of(devices):
    return sorted(line.partition(":")[0].strip() for line in devices.splitlines()[2:])


if __name__ == "__main__":
    daemon_scene.main()
