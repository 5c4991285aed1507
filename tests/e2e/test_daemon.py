#!/usr/bin/env python3
"""gatehouse connect against a gateway: what it offers, what it asks, what it does and how it ends.

Arguments: see daemon_scene.
"""
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
import daemon_scene
from daemon_scene import GATEHOUSE, MOMENT, AtTerminal, Daemon, Scene, has_boxes
from media_scene import noise
from patience import PATIENCE

SHELL = ("--permission-shell", "allow")
OPEN = "--dangerously-disable-shell-sandbox"


class Sessions(Scene):
    def test_a_session_from_its_beginning_to_its_end(self):
        server, daemon = self.connect()
        self.assertEqual(self.good(server, "read_file", filePath="a.txt"),
                         {"path": "a.txt", "content": "one\ntwo\n", "truncated": False,
                          "totalLines": 3})
        self.assertIn("unknown tool", self.error(server, "no_such_tool"))
        self.assertIn("filePath", self.error(server, "read_file"))
        self.assertIn("outside", self.error(server, "read_file", filePath="../b"))
        status, told = daemon.end()
        self.assertEqual(status, 0, told)
        self.assertRegex(told, f"done tool=read_file on={self.root}/a.txt by=mode ms=[0-9]+\\n")
        self.assertNotIn(server.token, told)
        state = server.state()
        self.assertFalse(state["connected"])
        self.assertEqual(state["hits"]["disconnect"], 1)

    def test_what_is_told_to_the_server(self):
        (self.place / "link").symlink_to(self.root)
        server = self.serve()
        self.daemon("--auto-confirm", self.url(server), server.token, self.place / "link")
        server.until(streams=1)
        init = server.state()["init"]
        self.assertEqual(init["rootPath"], str(self.root))
        self.assertIn("@", init["hostIdentifier"])
        self.assertEqual({c["name"]: c["enabled"] for c in init["toolCategories"]},
                         {"filesystem": True, "shell": False, "screenshot": False,
                          "mouse-keyboard": False, "browser": "browser_click" in self.tools(server)})
        self.assertEqual(init["toolCategories"][0]["writeAccess"], False)
        self.assertIn("read_file", self.tools(server))
        self.assertNotIn("write_file", self.tools(server))

    def test_a_static_key_needs_no_token(self):
        server = self.serve("--static-key", "key-of-both-sides")
        self.daemon("--auto-confirm", "--dir", self.root, self.url(server),
                    N8N_INSTANCE_AI_GATEWAY_API_KEY="key-of-both-sides")
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")

    def test_the_folder_comes_from_the_settings_when_nobody_names_one(self):
        self.write_settings(filesystemDir=str(self.root))
        server = self.serve()
        self.daemon("--auto-confirm", self.url(server), server.token)
        server.until(streams=1)
        self.assertEqual(server.state()["init"]["rootPath"], str(self.root))

    def test_a_folder_that_is_too_much_is_warned_of(self):
        link = self.place / "link"
        link.symlink_to(self.home)
        for folder, words in (("/", "whole machine"), (self.home, "whole home directory"),
                              (link, "whole home directory"), (self.root, None)):
            server = self.serve()
            daemon = self.daemon("--auto-confirm", self.url(server), server.token, folder)
            server.until(streams=1)
            told = daemon.end()[1]
            self.assertEqual("the folder of one project" in told, words is not None, told)
            self.assertIn(words or "", told)

    def test_the_first_start_writes_the_recommended_settings(self):
        self.connect()
        self.assertEqual(json.loads(self.settings.read_text())["permissions"],
                         {"filesystemRead": "allow", "filesystemWrite": "ask", "shell": "deny",
                          "computer": "deny", "browser": "ask"})
        self.assertEqual(self.settings.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.settings.parent.stat().st_mode & 0o777, 0o700)

    def test_many_calls_at_once(self):
        server, _ = self.connect()
        for _ in range(200):
            server.do("call", name="read_file", arguments={"filePath": "a.txt"})
        called, answered = set(), set()
        while len(called) < 200 or len(answered) < 200:
            line = server.next()
            if "called" in line:
                called.add(line["called"])
            else:
                self.assertIn("one", line["text"])
                answered.add(line["answer"])
        self.assertEqual(called, answered)

    def test_the_server_may_end_the_session_but_not_the_daemon(self):
        server, daemon = self.connect()
        server.do("dismiss")
        daemon.until("ended the session")
        self.assertIsNone(daemon.process.poll())
        self.assertEqual(daemon.end()[0], 0)

    def test_a_server_of_the_older_dialect_gets_a_tree_and_its_operations(self):
        (self.root / "sub" / "deep").mkdir(parents=True)
        (self.root / "sub" / "deep" / "f").touch()
        (self.root / "  f").touch()
        for flags, tree in (((), [("sub", "directory"), ("  f", "file"), ("a.txt", "file"),
                                  ("sub/deep", "directory"), ("sub/deep/f", "file")]),
                            (("--permission-filesystem-read", "ask"), [])):
            with self.subTest(flags):
                server = self.serve("--dialect", "seed")
                daemon = self.daemon("--auto-confirm", *flags, self.url(server), server.token,
                                     self.root)
                server.until(streams=1)
                init = server.state()["init"]
                self.assertEqual(init["rootPath"], str(self.root))
                self.assertEqual([(e["path"], e["type"]) for e in init["tree"]], tree)
                self.assertEqual({e["path"]: e["sizeBytes"] for e in init["tree"] if "sizeBytes" in e},
                                 {"  f": 0, "a.txt": 8, "sub/deep/f": 0} if tree else {})
                self.assertEqual("deep/" in init["treeText"], bool(tree))
                if tree:
                    body = json.loads(server.ask("read-file", filePath="a.txt")["text"])
                    self.assertEqual(body["data"]["content"], "one\ntwo\n")
                    body = json.loads(server.ask("search-files", query="two")["text"])
                    self.assertEqual(body["data"]["matches"][0]["path"], "a.txt")
                    self.assertEqual(daemon.end()[0], 0)
                    self.assertIn("get_file_tree", self.record_text())

    def test_it_goes_on_when_the_stream_drops(self):
        server, daemon = self.connect()
        server.do("drop")
        daemon.until("retrying")
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")
        self.assertEqual(server.state()["hits"]["init"], 1)


class Kept(Scene):
    """Sessions that outlive the process."""

    def files(self):
        return list(self.record.parent.glob("session-*.json"))

    def begin(self, server, *flags, token=True, folder=None, **variables):
        token = [server.token] if token else ["--dir"]
        daemon = self.daemon(*flags, self.url(server), *token, folder or self.root, **variables)
        server.until(streams=1)
        return daemon

    def test_the_next_start_goes_on_without_a_word(self):
        as_systemd = ("/bin/sh", "-c", 'SYSTEMD_EXEC_PID=$$ exec "$@"', "sh")
        for flags, before, variables in (
                (("--keep-session",), (), {}), ((), as_systemd, {"INVOCATION_ID": "1"}),
                ((), (), {"INVOCATION_ID": "1", "NOTIFY_SOCKET": str(self.place / "none")})):
            with self.subTest((flags, before)):
                self.before = before
                server = self.serve()
                daemon = self.begin(server, "--auto-confirm", *flags, **variables)
                self.good(server, "read_file", filePath="a.txt")
                status, told = daemon.end(signal.SIGTERM)
                self.assertEqual(status, 0, told)
                self.assertEqual(server.state()["hits"]["disconnect"], 0)
                (kept,) = self.files()
                self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
                # Neither a token nor --auto-confirm, and no terminal.
                daemon = self.begin(server, *flags, token=False, **variables)
                self.good(server, "read_file", filePath="a.txt")
                self.assertEqual(server.state()["hits"]["init"], 1)
                # Leaving is the end of it.
                self.assertEqual(daemon.end()[0], 0)
                self.assertEqual(server.state()["hits"]["disconnect"], 1)
                self.assertEqual(self.files(), [])

    def test_anything_changed_is_asked_about_again(self):
        server = self.serve()
        daemon = self.begin(server, "--auto-confirm", "--keep-session")
        self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
        other = self.place / "other"
        other.mkdir()
        for changed in (("--permission-shell", "allow"), ("--filesystem-write-access",),
                        ("--shell-network", "allow"), ("--shell-writable", str(other)),
                        ("--dangerously-disable-shell-sandbox",),
                        ("--computer-shell-timeout", "1000"), ("--max-file-size", "1MiB"),
                        ("--max-lines", "1000"), ("--dir", other)):
            with self.subTest(changed):
                flags = changed if "--dir" in changed else (*changed, "--dir", self.root)
                daemon = self.daemon("--keep-session", *flags, self.url(server))
                status, told = daemon.wait()
                self.assertEqual(status, 2, told)
                self.assertIn("no terminal to ask on", told)

    def test_a_folder_that_leads_elsewhere_by_now_is_not_given(self):
        link = self.place / "link"
        link.symlink_to(self.root)
        server = self.serve()
        daemon = self.begin(server, "--auto-confirm", "--keep-session", folder=link)
        self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
        link.unlink()
        link.symlink_to(self.home)
        daemon = self.daemon("--keep-session", "--dir", link, self.url(server))
        status, told = daemon.wait()
        self.assertEqual(status, 1, told)
        self.assertIn("differs from that of the saved session", told)
        self.assertEqual(self.files(), [])

    def test_a_token_helps_where_the_server_has_forgotten_the_session(self):
        server = self.serve()
        daemon = self.begin(server, "--auto-confirm", "--keep-session")
        self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
        server.do("forget")
        server.do("token")
        server.token = server.until_has("token")["token"]
        self.begin(server, "--keep-session")
        self.good(server, "read_file", filePath="a.txt")

    def until_kept(self, text):
        """A file has it; it is not there for a moment while it is replaced."""
        deadline = time.monotonic() + PATIENCE
        kept = ""
        while text not in kept:
            self.assertLess(time.monotonic(), deadline, kept)
            with contextlib.suppress(FileNotFoundError):
                kept = "".join(path.read_text() for path in self.files())
            time.sleep(MOMENT)

    def test_another_key_of_the_same_session_is_kept_too(self):
        server, _ = self.connect("--keep-session")
        self.until_kept("sess_")
        key = "sess_" + 32 * "z"
        server.do("fail", endpoint="init", status=200, count=1,
                  body=json.dumps({"data": {"ok": True, "sessionKey": key}}))
        server.do("fail", endpoint="events", status=403, count=1)
        server.do("drop")
        self.until_kept(key)

    def test_a_server_of_the_older_dialect_can_ask_for_another_init(self):
        server = self.serve("--dialect", "seed")
        daemon = self.begin(server, "--auto-confirm", "--keep-session")
        self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
        server.do("fail", endpoint="events", status=403, count=1)
        daemon = self.begin(server, "--keep-session", token=False)
        daemon.until("connected")
        state = server.state()
        self.assertEqual(state["hits"]["init"], 2)
        self.assertIn("a.txt", state["init"]["treeText"])

    def test_a_session_that_a_daemon_uses_is_not_there_for_another(self):
        server = self.serve()
        first = self.begin(server, "--auto-confirm", "--keep-session")
        for signum in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(signum):
                status, told = self.daemon("--keep-session", "--dir", self.root,
                                           self.url(server)).wait()
                self.assertEqual(status, 2, told)
                self.assertIn("no terminal to ask on", told)
                first.end(signum)
                first = self.begin(server, "--keep-session", token=False)
        self.good(server, "read_file", filePath="a.txt")
        self.assertEqual(server.state()["hits"]["init"], 1)

    def test_others_neither_keep_nor_forget_what_a_daemon_uses(self):
        server = self.serve()
        first = self.begin(server, "--auto-confirm", "--keep-session")
        (kept,) = self.files()
        text = kept.read_text()
        self.stop(first.process.pid)  # or it hears that the second one has taken its place
        server.do("token")
        token = server.until_has("token")["token"]
        second = self.daemon("--auto-confirm", "--keep-session", self.url(server), token, self.root)
        self.assertIn("another daemon", second.until("cannot save the session"))
        self.assertEqual(second.end()[0], 0)
        self.assertEqual(kept.read_text(), text)

    def test_a_pairing_that_fails_leaves_what_was_kept(self):
        server = self.serve()
        daemon = self.begin(server, "--auto-confirm", "--keep-session")
        self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
        (kept,) = self.files()
        text = kept.read_text()
        # For another folder, so it pairs.
        words = ("--auto-confirm", self.url(server))
        self.assertEqual(self.daemon(*words, "gw_wrong", self.home).wait()[0], 1)
        self.assertEqual(kept.read_text(), text)
        server.do("token")
        self.daemon(*words, server.until_has("token")["token"], self.home)
        server.until(streams=1)
        self.assertEqual(self.files(), [])

    def test_who_keeps_nothing_leaves_no_lock(self):
        server, daemon = self.connect()
        self.assertEqual(daemon.end()[0], 0)
        self.assertEqual(list(self.record.parent.glob("session-*")), [])

    def test_a_key_of_both_sides_is_written_nowhere(self):
        server = self.serve("--static-key", "key-of-both-sides")
        daemon = self.daemon("--auto-confirm", "--keep-session", "--dir", self.root,
                             self.url(server), N8N_INSTANCE_AI_GATEWAY_API_KEY="key-of-both-sides")
        server.until(streams=1)
        self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
        self.assertEqual(self.files(), [])

    def test_without_it_a_signal_disconnects(self):
        # A shell of a terminal that is a service has these variables too.
        for variables in ({}, {"INVOCATION_ID": "1"},
                          {"INVOCATION_ID": "1", "SYSTEMD_EXEC_PID": str(os.getpid())}):
            with self.subTest(variables):
                server, daemon = self.connect(**variables)
                self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
                self.assertEqual(server.state()["hits"]["disconnect"], 1)
                self.assertEqual(self.files(), [])

    def test_a_session_that_the_user_left_in_a_hurry_is_not_kept(self):
        server, daemon = self.connect("--keep-session")
        server.do("delay", endpoint="disconnect", ms=1000 * PATIENCE)
        daemon.until("connected")
        self.assertEqual(len(self.files()), 1)
        daemon.process.send_signal(signal.SIGINT)
        daemon.until("stopping")
        self.assertEqual(daemon.end()[0], 0)
        self.assertEqual(self.files(), [])

    def test_a_session_that_the_server_ended_is_not_kept(self):
        server, daemon = self.connect("--keep-session")
        server.do("dismiss")
        daemon.until("ended the session")
        self.assertEqual(self.files(), [])


class Refusals(Scene):
    def assert_refused(self, status, words, *arguments, **variables):
        daemon = self.daemon(*arguments, **variables)
        got, told = daemon.wait()
        self.assertEqual(got, status, told)
        self.assertIn(words, told)

    def test_what_cannot_be_begun_is_said(self):
        server = self.serve()
        url = self.url(server)
        for status, words, arguments in (
            (2, "URL", ()),
            (2, "URL:", ("--auto-confirm", "ftp://x", "gw_x")),
            (2, "--allowed-origins", ("--auto-confirm", "--allowed-origins", "https://*", url)),
            (2, "--ca-file", ("--auto-confirm", "--ca-file", self.place / "nowhere", url)),
            (2, "--ca-file", ("--auto-confirm", "--ca-file", self.root / "a.txt", url)),
            (2, "--port", ("--auto-confirm", "--port", "65536", url)),
            (2, "ASCII", ("--auto-confirm", url, "gw_\u00e4")),
            (2, "no terminal", (url, server.token)),
            (2, "needs a terminal",
             ("--auto-confirm", "--permission-confirmation", "client", url, server.token)),
            (2, "given twice", ("--auto-confirm", "--dir", "/tmp", url, server.token, "/tmp")),
            (2, "maybe", ("--permission-shell", "maybe", url, server.token)),
            (2, "nothing", ("--auto-confirm", "--permission-filesystem-read", "deny",
                            "--permission-browser", "deny", url, server.token)),
            (2, "begin with /", ("--auto-confirm", "--shell-writable", "x", url, server.token)),
            (2, "without commands", ("--auto-confirm", OPEN, url, server.token)),
            (2, "have no effect", ("--auto-confirm", *SHELL, OPEN, "--shell-network", "none", url,
                                 server.token)),
            (2, "have no effect", ("--auto-confirm", *SHELL, OPEN, "--shell-writable", "/tmp", url,
                                 server.token)),
            (1, "nowhere", ("--auto-confirm", url, server.token, self.place / "nowhere")),
            (1, "new pairing token", ("--auto-confirm", url, "gw_wrong", self.root)),
        ):
            with self.subTest(arguments):
                self.assert_refused(status, words, *arguments)
        self.assertFalse(server.state()["connected"])

    def test_a_folder_in_the_place_of_the_token_is_not_sent(self):
        server = self.serve("--static-key", "key-of-both-sides")
        for name in (str(self.root), "./x", "..", "~/x"):
            with self.subTest(name):
                self.assert_refused(2, f"'{name}' looks like a folder", "--auto-confirm",
                                    self.url(server), name,
                                    N8N_INSTANCE_AI_GATEWAY_API_KEY="key-of-both-sides")
        self.assertEqual(server.state()["hits"]["init"], 0)

    def test_where_a_folder_that_is_not_there_came_from_is_said(self):
        gone = str(self.place / "gone")
        url = self.url(self.serve())
        for words, flags, settings, variables in (
                ("after the token", ("--dir", gone), {}, {}),
                ("comes from GATEHOUSE_FILESYSTEM_DIR", (), {},
                 {"N8N_GATEWAY_FILESYSTEM_DIR": gone}),
                ("filesystemDir in the settings", (), {"filesystemDir": gone}, {})):
            with self.subTest(words):
                self.write_settings(**settings)
                status, told = self.daemon("--auto-confirm", *flags, url, "gw_x",
                                           **variables).wait()
                self.assertEqual(status, 1, told)
                self.assertIn(f"cannot use the folder '{gone}': not found; ", told)
                self.assertIn(words, told)
                self.assertIn("--filesystem-dir", told)

    def test_a_static_key_that_is_refused_is_called_so(self):
        daemon = self.daemon("--auto-confirm", "--dir", self.root, self.url(self.serve()),
                             N8N_INSTANCE_AI_GATEWAY_API_KEY="key-of-one-side")
        status, told = daemon.wait()
        self.assertEqual(status, 1, told)
        self.assertIn("rejected this key; use the pairing token", told)
        self.assertNotIn("new pairing token", told)

    def test_words_of_a_server_bring_no_key_to_the_terminal(self):
        variable = "N8N_INSTANCE_AI_GATEWAY_API_KEY"
        for key, behind, variables in (
                ("zq8vN2static", (), {variable: "zq8vN2static"}),
                ("gw_abcdefgh12345678", ("gw_abcdefgh12345678",), {})):
            with self.subTest(key):
                server = self.serve()
                server.do("fail", endpoint="init", status=403, count=1,
                          body=json.dumps({"message": f"the key {key} is unknown"}))
                status, told = self.daemon("--auto-confirm", "--dir", self.root, self.url(server),
                                           *behind, **variables).wait()
                self.assertEqual(status, 1, told)
                self.assertIn("is unknown", told)
                self.assertNotIn(key, told)

    def test_a_variable_with_a_bad_value_is_an_error(self):
        self.assert_refused(2, "N8N_GATEWAY_PERMISSION_SHELL", "--auto-confirm", "http://x", "gw_x",
                            N8N_GATEWAY_PERMISSION_SHELL="maybe")


class WriteAccess(Scene):
    def offers_writing(self, *flags, settings=None, **variables):
        if settings is not None:
            self.write_settings(**settings)
        server, daemon = self.connect(*flags, **variables)
        offered = "write_file" in self.tools(server)
        self.assertEqual(server.state()["init"]["toolCategories"][0]["writeAccess"], offered)
        self.assertEqual(daemon.end()[0], 0)
        return offered

    def test_files_are_changed_only_where_somebody_wanted_that(self):
        asks = {"permissions": {"filesystemWrite": "allow"}}
        for expected, flags, settings, variables in (
            (False, (), {}, {}),
            (False, (), asks, {}),
            (True, (), asks | {"filesystemWriteAccess": True}, {}),
            (True, ("--filesystem-write-access",), {}, {}),
            (True, (), {}, {"N8N_GATEWAY_FILESYSTEM_WRITE_ACCESS": "true"}),
            (True, ("--permission-filesystem-write", "ask"), {}, {}),
            (True, (), {}, {"N8N_GATEWAY_PERMISSION_FILESYSTEM_WRITE": "allow"}),
            (False, ("--filesystem-write-access", "--permission-filesystem-write", "deny"), {}, {}),
            (False, ("--filesystem-write-access", "--permission-filesystem-read", "deny",
                     "--permission-shell", "ask"), {}, {}),
        ):
            with self.subTest((flags, settings, variables)):
                self.assertEqual(
                    self.offers_writing(*flags, settings=settings, **variables), expected)

    def test_what_is_allowed_is_done_and_recorded(self):
        server, daemon = self.connect("--permission-filesystem-write", "allow")
        self.good(server, "write_file", filePath="new.txt", content="x")
        self.assertEqual((self.root / "new.txt").read_text(), "x")
        self.good(server, "undo_changes")
        self.assertFalse((self.root / "new.txt").exists())
        self.assertEqual(daemon.end()[0], 0)
        written = [record for record in self.records() if record.get("relativePath") == "new.txt"]
        self.assertEqual([record["outcome"] for record in written], ["intent", "success"])
        self.assertEqual(len({record["requestId"] for record in written}), 1)


class Instance(Scene):
    """Nobody is at a terminal: the instance asks its user."""

    flags = ("--permission-filesystem-write", "ask")
    change = {"filePath": "a.txt", "content": "new"}

    def text(self):
        return (self.root / "a.txt").read_text()

    def test_a_question_is_the_answer_and_the_next_call_brings_the_decision(self):
        server, _ = self.connect(*self.flags)
        question = self.question(server, "write_file", **self.change)
        self.assertEqual(question["toolGroup"], "filesystemWrite")
        self.assertEqual(question["resource"], str(self.root / "a.txt"))
        self.assertEqual(question["options"], ["denyOnce", "allowOnce", "allowForSession"])
        self.assertIn("-one", question["description"])
        self.assertEqual(self.text(), "one\ntwo\n")
        self.good(server, "write_file", **self.change, _confirmation="allowOnce")
        self.assertEqual(self.text(), "new")
        self.question(server, "write_file", **self.change)

    def test_a_decision_counts_once_and_for_what_was_asked(self):
        server, _ = self.connect(*self.flags)
        # Nobody was asked.
        self.question(server, "write_file", **self.change, _confirmation="allowOnce")
        # Something else was asked.
        self.question(server, "write_file", filePath="a.txt", content="other",
                      _confirmation="allowOnce")
        self.assertEqual(self.text(), "one\ntwo\n")
        self.good(server, "write_file", **self.change, _confirmation="allowOnce")
        self.question(server, "write_file", **self.change, _confirmation="allowOnce")

    def test_no_is_no(self):
        server, daemon = self.connect(*self.flags)
        self.question(server, "write_file", **self.change)
        self.assertIn("the user denied",
                      self.error(server, "write_file", **self.change, _confirmation="denyOnce"))
        self.assertEqual(self.text(), "one\ntwo\n")
        self.assertEqual(daemon.end()[0], 0)
        self.assertIn(("denied", "user"),
                      {(r["outcome"], r.get("policySource")) for r in self.records()})

    def test_always_is_not_for_the_instance_to_say(self):
        server, _ = self.connect(*self.flags)
        self.question(server, "write_file", **self.change)
        self.question(server, "write_file", **self.change, _confirmation="alwaysAllow")
        self.assertEqual(self.text(), "one\ntwo\n")
        self.assertNotIn("a.txt", self.settings.read_text())

    def test_what_is_allowed_for_the_session_ends_with_it(self):
        server, daemon = self.connect(*self.flags)
        self.question(server, "write_file", **self.change)
        self.good(server, "write_file", **self.change, _confirmation="allowForSession")
        server.do("drop")
        daemon.until("retrying")
        server.until(streams=1)
        # Reconnecting is the same session.
        self.good(server, "write_file", filePath="a.txt", content="newer")

    def test_a_question_is_no_way_to_read(self):
        server, _ = self.connect(*self.flags, "--permission-filesystem-read", "ask")
        question = self.question(server, "edit_file", filePath="a.txt", oldString="one",
                                 newString="1")
        self.assertNotIn("two", question["description"])

    def test_another_change_to_undo_is_another_question(self):
        server, _ = self.connect(*self.flags)
        for name in ("x", "y"):
            self.question(server, "write_file", filePath=name, content=name)
            self.good(server, "write_file", filePath=name, content=name,
                      _confirmation="allowOnce")
            if name == "x":
                self.question(server, "undo_changes")
        self.question(server, "undo_changes", _confirmation="allowOnce")
        self.assertTrue((self.root / "y").exists())


class Rules(Scene):
    def test_what_is_denied_shows_nowhere(self):
        (self.root / ".env").write_text("two")
        self.write_settings(resourcePermissions={"filesystemRead": {
            "allow": [], "deny": [str(self.root / ".env")]}})
        server, _ = self.connect()
        self.assertIn("denied", self.error(server, "read_file", filePath=".env"))
        found = self.good(server, "search_files", query="two")
        self.assertEqual([match["path"] for match in found["matches"]], ["a.txt"])

    def test_names_that_are_refused_are_recorded(self):
        server, daemon = self.connect()
        self.error(server, "read_file", filePath="../b")
        self.assertEqual(daemon.end()[0], 0)
        (denied,) = [record for record in self.records() if record["outcome"] == "denied"]
        self.assertEqual((denied["operation"], denied["tool"]), ("read", "read_file"))

    def test_every_answer_is_told(self):
        server, daemon = self.connect("--permission-filesystem-write", "allow")
        self.good(server, "move", sourcePath="a.txt", destinationPath="b.txt")
        self.good(server, "write_file", filePath="new.txt", content="x")  # looks up, creates, changes
        self.error(server, "nonsense")
        self.error(server, "shell_execute", command="true")
        told = daemon.end()[1].splitlines()
        (moved,) = [line for line in told if "tool=move" in line]
        self.assertIn(f"on={self.root}/a.txt on={self.root}/b.txt", moved)
        (written,) = [line for line in told if "tool=write_file" in line]
        self.assertIn(f" tool=write_file on={self.root}/new.txt by=", written)
        for name, words in (("nonsense", "unknown tool"), ("shell_execute", "not offered")):
            (line,) = [line for line in told if f"tool={name}" in line]
            self.assertIn(" refused ", line)
            self.assertIn(words, line)
        (refused,) = [entry for entry in self.records() if entry.get("tool") == "shell_execute"]
        self.assertEqual((refused["outcome"], refused["operation"], refused["policySource"]),
                         ("denied", "execute", "mode"))

    def test_rules_hold_from_the_moment_they_are_made(self):
        self.assert_rules_are_followed()

    def test_rules_are_followed_when_all_inotify_instances_are_taken(self):
        """Commands and other programs of the user can have them."""
        self.before = ("unshare", "--user", "--map-current-user", "sh", "-c",
                       'echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"', "sh")
        if subprocess.run([*self.before, "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("no user namespace with limits of its own")
        daemon = self.assert_rules_are_followed()
        self.assertIn("every 2 seconds", "".join(daemon.told))

    def assert_rules_are_followed(self):
        server, daemon = self.connect()
        self.good(server, "read_file", filePath="a.txt")
        subprocess.run([GATEHOUSE, "rules", "add", "deny", "filesystemRead", "glob:*.txt"],
                       env={"HOME": str(self.home), "PATH": "/usr/bin:/bin"}, check=True,
                       stdout=subprocess.DEVNULL)
        daemon.until("rules reloaded")
        self.error(server, "read_file", filePath="a.txt")
        self.assertEqual(self.good(server, "search_files", query="two")["matches"], [])
        return daemon

    def test_the_settings_and_the_record_are_out_of_reach(self):
        server = self.serve()
        self.daemon("--auto-confirm", "--permission-filesystem-write", "allow", self.url(server),
                    server.token, self.home)
        server.until(streams=1)
        for name in (".n8n-gateway/settings.json", ".local/state/gatehouse/audit.jsonl"):
            self.error(server, "read_file", filePath=name)
            self.error(server, "write_file", filePath=name, content="")
        self.error(server, "move", sourcePath=".n8n-gateway", destinationPath="x")
        self.assertIn("permissions", self.settings.read_text())

    def test_settings_that_nobody_knows_are_said_and_kept(self):
        self.write_settings(permissions={"shel": "allow"}, futureThing=1)
        _, daemon = self.connect()
        told = daemon.end()[1]
        self.assertIn("permissions.shel: unknown field", told)
        self.assertIn("futureThing: unknown field", told)
        self.assertEqual(json.loads(self.settings.read_text()),
                         {"permissions": {"shel": "allow"}, "futureThing": 1})
        self.write_settings(**{f"thing{number}": 1 for number in range(20)})
        _, daemon = self.connect()
        told = daemon.end()[1]
        self.assertEqual(told.count("unknown field"), 8)
        self.assertIn("count=12", told)

    def test_malformed_settings_are_put_aside_and_everything_is_asked_for(self):
        self.settings.parent.mkdir(mode=0o700)
        self.settings.write_text("{")
        server, daemon = self.connect("--permission-filesystem-read", "allow")
        daemon.until("lie aside")
        self.question(server, "read_file", filePath="a.txt")


@unittest.skipUnless(has_boxes(), "cannot sandbox commands on this machine")
class Commands(Scene):
    def shell(self, server, command, **more):
        result = self.call(server, "shell_execute", command=command, **more)
        return result.get("structuredContent", result)

    def test_commands_are_there_only_where_the_user_opened_that(self):
        server, _ = self.connect()
        self.assertNotIn("shell_execute", self.tools(server))
        self.assertIn("--permission-shell", self.error(server, "shell_execute", command="true"))

    def test_a_command_runs_in_its_box(self):
        (self.home / "own").write_text("mine")
        server, daemon = self.connect("--permission-shell", "allow",
                                      N8N_INSTANCE_AI_GATEWAY_API_KEY="not-for-commands")
        categories = server.state()["init"]["toolCategories"]
        self.assertIn({"name": "shell", "enabled": True}, categories)
        self.assertEqual(self.shell(server, "cat a.txt; exit 3")["exitCode"], 3)
        self.assertEqual(self.shell(server, "cat a.txt")["stdout"], "one\ntwo\n")
        for command in ("echo x > a.txt", f"cat {self.settings}", f"ls {self.record}",
                        f"cat {self.home}/own"):
            self.assertNotEqual(self.shell(server, command)["exitCode"], 0, command)
        self.assertNotIn("not-for-commands", self.shell(server, "env")["stdout"])
        self.assertEqual(daemon.end()[0], 0)
        ran = [record for record in self.records() if record["operation"] == "execute"]
        self.assertEqual([record["outcome"] for record in ran[:2]], ["intent", "success"])

    def test_the_record_has_commands_whole_and_the_log_hides_secrets(self):
        server, daemon = self.connect("--permission-shell", "allow")
        self.shell(server, "API_TOKEN=s3cr3tvalue true; false")
        told = daemon.end()[1]
        self.assertIn("tool=shell_execute", told)
        self.assertNotIn("s3cr3tvalue", told)
        self.assertIn("API_TOKEN=s3cr3tvalue true", self.record_text())
        for path in self.record.parent.glob("audit.jsonl*"):
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)

    def test_a_variable_that_a_command_prints_is_not_in_the_record(self):
        server, daemon = self.connect("--permission-shell", "allow", "--shell-env", "OF_MINE", "--shell-env",
                                      "FLAGS=value-here", OF_MINE="value-there")
        self.assertEqual(self.shell(server, "echo kept: $FLAGS $OF_MINE")["stdout"], "kept: value-here value-there\n")
        told = daemon.end()[1]
        self.assertIn("kept: [redacted] [redacted]", self.record_text())
        for value in ("value-here", "value-there"):
            self.assertNotIn(value, told + self.record_text())

    def test_the_time_of_a_command_is_over(self):
        server, daemon = self.connect("--permission-shell", "allow", "--computer-shell-timeout",
                                      "300")
        self.assertTrue(self.shell(server, "sleep 60")["timedOut"])
        line = daemon.until("tool=shell_execute")
        self.assertIn(" timed out ", line)
        self.assertIn(f"cwd={self.root}", line)
        self.shell(server, """echo '"timedOut":true'""")
        self.assertIn(" done ", daemon.until("tool=shell_execute"))

    def test_the_instance_asks_about_commands(self):
        server, daemon = self.connect("--permission-shell", "ask")
        question = self.question(server, "shell_execute", command="nice -n 10 cat a.txt")
        self.assertEqual((question["toolGroup"], question["resource"]),
                         ("shell", f"{self.root}: cat a.txt"))
        self.assertIn("nice -n 10", question["description"])
        self.good(server, "shell_execute", command="nice -n 10 cat a.txt",
                  _confirmation="allowForSession")
        # It is the command that is allowed, in that directory.
        self.good(server, "shell_execute", command="cat a.txt")
        self.question(server, "shell_execute", command="cat a.txt; true")
        self.assertIn("the user denied", self.error(server, "shell_execute", command="cat a.txt; true",
                                            _confirmation="denyOnce"))
        self.assertEqual(daemon.end()[0], 0)
        denied = [record for record in self.records() if record["outcome"] == "denied"]
        self.assertEqual([record["operation"] for record in denied], ["execute"])

    def test_commands_end_with_the_session(self):
        server, daemon = self.connect("--permission-shell", "allow", "--permission-filesystem-write",
                                      "allow")
        os.mkfifo(self.root / "fifo")
        server.call("shell_execute", command="exec 3> fifo; sleep 600")
        with open(self.root / "fifo", "rb") as fifo:
            server.do("dismiss")
            daemon.until("ended the session")
            self.assertEqual(fifo.read(), b"")  # the writer is gone
        self.assertEqual(daemon.end()[0], 0)

    def test_a_daemon_that_is_stopped_leaves_no_command(self):
        server, daemon = self.connect("--permission-shell", "allow", "--permission-filesystem-write",
                                      "allow")
        os.mkfifo(self.root / "fifo")
        server.call("shell_execute", command="exec 3> fifo; sleep 600")
        with open(self.root / "fifo", "rb") as fifo:
            self.assertEqual(daemon.end()[0], 0)
            self.assertEqual(fifo.read(), b"")


class OpenCommands(Scene):
    """Without boxes, so also where none can be built."""

    def test_they_can_do_all_that_the_user_can_and_that_is_said(self):
        there = self.place / "there"
        for flags, variables in (((OPEN,), {}),
                                 ((), {"N8N_GATEWAY_DANGEROUSLY_DISABLE_SHELL_SANDBOX": "true"})):
            with self.subTest(flags):
                server, daemon = self.connect(*SHELL, *flags, **variables)
                daemon.until("commands run without a sandbox: they can do everything you can")
                self.good(server, "shell_execute", command=f"echo x > {there}")
                self.assertEqual(there.read_text(), "x\n")
                there.unlink()
                self.assertEqual(daemon.end()[0], 0)

    def test_without_commands_a_variable_changes_nothing(self):
        server, daemon = self.connect(N8N_GATEWAY_DANGEROUSLY_DISABLE_SHELL_SANDBOX="true")
        self.assertNotIn("shell_execute", self.tools(server))
        self.assertNotIn("without a sandbox", daemon.end()[1])


class Toolhost(Scene):
    def test_one_that_dies_is_replaced_and_its_calls_are_answered(self):
        server, daemon = self.connect()
        (toolhost,) = daemon.children()
        self.stop(toolhost)
        called = server.call("read_file", filePath="a.txt")
        os.kill(toolhost, signal.SIGKILL)
        result = json.loads(server.until(answer=called)["text"])["result"]
        self.assertTrue(result["isError"])
        daemon.until("another toolhost")
        deadline = time.monotonic() + PATIENCE
        while self.call(server, "read_file", filePath="a.txt").get("isError"):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(MOMENT)
        self.assertNotIn(toolhost, daemon.children())

    def test_the_process_for_images_comes_with_the_first_and_goes_with_the_toolhost(self):
        (self.root / "a.png").write_bytes(noise(800, 600))
        server, daemon = self.connect()
        (toolhost,) = daemon.children()
        content = self.call(server, "read_file", filePath="a.png")["content"]
        if "not installed" in json.dumps(content):
            self.skipTest("libvips is not installed")
        self.assertEqual(content[0]["mimeType"], "image/jpeg")
        (media,) = set(daemon.children()) - {toolhost}
        fd = os.pidfd_open(media)
        self.addCleanup(os.close, fd)
        self.call(server, "read_file", filePath="a.png")
        self.assertEqual(set(daemon.children()), {toolhost, media})
        os.kill(toolhost, signal.SIGKILL)
        self.assertTrue(select.select([fd], [], [], PATIENCE)[0])
        daemon.until("another toolhost")

    def test_it_ends_with_the_daemon(self):
        for is_stopped in (False, True):
            for end in (Daemon.end, lambda daemon: daemon.process.kill()):
                with self.subTest(is_stopped=is_stopped, end=end):
                    _, daemon = self.connect()
                    (toolhost,) = daemon.children()
                    fd = os.pidfd_open(toolhost)
                    self.addCleanup(os.close, fd)
                    if is_stopped:
                        self.stop(toolhost)
                    end(daemon)
                    self.assertTrue(select.select([fd], [], [], PATIENCE)[0])


class Terminal(AtTerminal):
    def test_no_is_the_end(self):
        server, daemon = self.begin()
        self.press_until(b"\n", lambda: daemon.process.poll() is not None)
        self.assertEqual(daemon.wait()[0], 0)
        self.assertEqual(server.state()["hits"]["init"], 0)

    def test_yes_connects_and_calls_are_asked_about_there(self):
        server, daemon = self.begin("--permission-filesystem-write", "ask")
        self.agree(server)
        called = server.call("write_file", filePath="a.txt", content="x")
        self.see("write_file")
        self.assertNotIn("isError", self.answer(server, b"2\n", called))
        self.assertEqual((self.root / "a.txt").read_text(), "x")
        called = server.call("write_file", filePath="a.txt", content="y")
        self.assertTrue(self.answer(server, b"1\n", called)["isError"])
        self.assertEqual((self.root / "a.txt").read_text(), "x")
        self.assertEqual(daemon.end()[0], 0)

    def test_the_question_says_that_commands_have_no_boxes(self):
        server, _ = self.begin(*SHELL, OPEN)
        self.see("Commands run without a sandbox: they can do everything you can.")
        self.assertFalse(server.state()["connected"])

    def test_a_signal_is_no_answer(self):
        for flags, signum in (((), signal.SIGINT), (("--keep-session",), signal.SIGTERM)):
            with self.subTest(signum):
                self.shown.clear()
                server, daemon = self.begin("--filesystem-write-access", *flags)
                self.agree(server)
                server.call("delete", path="a.txt")
                self.see("DELETE")
                status, told = daemon.end(signum)
                self.assertEqual(status, 0, told)
                self.assertNotIn("refused", told)
                self.assertNotIn("the terminal was closed", told)
                self.assertNotIn('"outcome":"denied"', self.record_text())

    def test_a_folder_that_is_not_there_can_be_mended(self):
        (self.home / "work").mkdir()
        server, daemon = self.begin()
        self.press_until(b"2\n", lambda: b"Permissions and folder" in self.shown)
        self.press_until(b"dir ~/nowhere\n", lambda: b"cannot" in self.shown)
        work = f'Folder "{self.home}/work"'.encode()
        self.press_until(b"dir ~/work\n", lambda: work in self.shown)
        self.shown.clear()
        self.press_until(b"done\n", lambda: b"Connect to this server?" in self.shown)
        self.agree(server)
        self.assertEqual(server.state()["init"]["rootPath"], str(self.home / "work"))
        self.assertEqual(daemon.end()[0], 0)

    def test_a_folder_that_is_gone_is_found_out_before_connecting(self):
        gone = self.place / "gone"
        server = self.serve()
        daemon = self.daemon(self.url(server), server.token, gone, TERM="dumb")
        self.see(str(gone))
        self.press_until(b"1\n", lambda: b"cannot" in self.shown)
        self.assertEqual(server.state()["hits"]["init"], 0)
        self.assertEqual(daemon.end()[0], 0)

    def test_always_is_kept_and_holds(self):
        server, _ = self.begin("--permission-filesystem-write", "ask")
        self.agree(server)
        called = server.call("write_file", filePath="a.txt", content="x")
        self.assertNotIn("isError", self.answer(server, b"6\n", called))
        kept = json.loads(self.settings.read_text())["resourcePermissions"]["filesystemWrite"]
        self.assertEqual(kept["allow"], [str(self.root / "a.txt")])
        self.good(server, "write_file", filePath="a.txt", content="y")

    def test_always_deny_hides_it_from_the_next_search(self):
        server, _ = self.connect("--permission-filesystem-read", "ask", TERM="dumb")
        called = server.call("read_file", filePath="a.txt")
        self.assertTrue(self.answer(server, b"7\n", called)["isError"])
        self.assertIn("denied", self.error(server, "read_file", filePath="a.txt"))

    def test_who_asks_is_one_of_the_terms_of_a_session_that_is_kept(self):
        server, daemon = self.begin("--keep-session")
        self.agree(server)
        self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
        server.do("token")
        words = ("--keep-session", self.url(server), server.until_has("token")["token"], self.root)
        self.shown.clear()
        daemon = self.daemon("--permission-confirmation", "instance", *words, TERM="dumb")
        self.see("Connect to this server?")
        self.assertEqual(daemon.end()[0], 0)
        self.shown.clear()
        self.daemon(*words, TERM="dumb")
        server.until(streams=1)
        self.assertNotIn(b"Connect to this server?", self.shown)

    def test_what_is_logged_waits_while_a_question_stands(self):
        self.all_there = True
        server, daemon = self.begin("--permission-filesystem-write", "ask")
        self.agree(server)
        self.see("connected")
        called = server.call("write_file", filePath="a.txt", content="x")
        self.see("write_file")
        self.good(server, "list_files", dirPath=".")
        self.assertNotIn("isError", self.answer(server, b"2\n", called))
        self.assertEqual(daemon.end()[0], 0)
        self.see("tool=list_files")
        self.see("disconnected")
        shown = bytes(self.shown)
        self.assertLess(shown.index(b"Allowed once"), shown.index(b"tool=list_files"), shown)

    def test_a_word_of_the_instance_does_not_count_here(self):
        server, _ = self.begin("--permission-filesystem-write", "ask")
        self.agree(server)
        called = server.call("write_file", filePath="a.txt", content="x",
                             _confirmation="allowOnce")
        self.assertTrue(self.answer(server, b"1\n", called)["isError"])
        self.assertEqual((self.root / "a.txt").read_text(), "one\ntwo\n")


if __name__ == "__main__":
    daemon_scene.main()
