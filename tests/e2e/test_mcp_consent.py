#!/usr/bin/env python3
"""Consent, seen from a client: what is asked, what an answer allows, and what rules decide."""
import fcntl
import json
import os
import time
import zipfile

import mcp_client
from consent_scene import ASKING, ONCE, Consent
from mcp_client import MODERN, PATIENCE, READING, Refused, WRITING


class Asking(Consent):
    def test_without_somebody_to_ask_nothing_is_done_and_it_is_recorded(self):
        server = self.begin("--permission-filesystem-write", "ask", capabilities={})
        words = server.bad("write_file", filePath="new.txt", content="x")
        self.assertIn("there is nobody to ask", words)
        self.assertIn("run `gatehouse ask` in a terminal", words)
        self.assertEqual(os.listdir(self.root), [])
        server.end()
        [record] = self.refusals()
        self.assertEqual((record["tool"], record["policySource"], record["error"]),
                         ("write_file", "nobody", "ask_unavailable"))
        self.assertEqual(record["relativePath"], "new.txt")

    def test_a_question_says_what_will_happen(self):
        (self.root / "a.txt").write_text("one\ntwo\n")
        server = self.begin("--permission-filesystem-write", "ask")
        params, result = self.decide(server, "Deny once", "edit_file", filePath="a.txt",
                                     oldString="two", newString="three")
        self.assertTrue(result["isError"])
        for words in ("edit_file", "filesystemWrite", str(self.root / "a.txt"), "-two", "+three"):
            self.assertIn(words, params["message"])
        self.assertEqual(params["requestedSchema"]["properties"]["decision"]["enum"], ONCE)
        self.assertEqual((self.root / "a.txt").read_text(), "one\ntwo\n")

    def test_a_long_question_shows_both_ends(self):
        server = self.begin("--permission-filesystem-write", "ask")
        content = "".join(f"line {number} {'x' * 90}\n" for number in range(200))
        params, _ = self.decide(server, "Deny once", "write_file", filePath="a.txt", content=content)
        lines = params["message"].split("\n")
        self.assertIn(f"| +line 0 {'x' * 90}", lines)
        self.assertEqual(lines[-1], f"| +line 199 {'x' * 90}")
        self.assertRegex(params["message"], r"\n\([0-9]+ bytes omitted\)\n\| \+line")
        self.assertLess(len(params["message"]), 10000)

    def test_a_question_is_no_way_to_read(self):
        (self.root / "a.txt").write_text("needle\n")
        server = self.begin("--permission-filesystem-read", "ask",
                            "--permission-filesystem-write", "ask")
        for tool, arguments in (("write_file", {"content": ""}), ("append_file", {"content": "x"}),
                                ("edit_file", {"oldString": "nee", "newString": "x"}),
                                ("edit_file", {"oldString": "absent", "newString": "x"})):
            params, result = self.decide(server, "Deny once", tool, filePath="a.txt", **arguments)
            self.assertTrue(result["isError"])
            self.assertIn("the user denied", result["content"][0]["text"])
            self.assertIn(str(self.root / "a.txt"), params["message"])
            self.assertNotIn("needle", params["message"])
            self.assertNotRegex(params["message"], "[0-9] line")
        # What was allowed to be read is shown.
        self.decide(server, "Allow for this session", "read_file", filePath="a.txt")
        params, _ = self.decide(server, "Deny once", "write_file", filePath="a.txt", content="")
        self.assertIn("-needle", params["message"])

    def test_a_yes_about_a_missing_name_tells_of_no_other(self):
        (self.root / "secrets").mkdir()
        server = self.begin("--permission-filesystem-read", "ask")
        for tool, arguments in (("list_files", {"dirPath": "secret"}),
                                ("read_file", {"filePath": "secret"}),
                                ("search_files", {"name": "secret/*"})):
            _, result = self.decide(server, "Allow once", tool, **arguments)
            self.assertTrue(result["isError"])
            self.assertNotIn("secrets", result["content"][0]["text"])
        self.assertIn("did you mean secrets?", self.begin().bad("list_files", dirPath="secret"))

    def test_a_name_cannot_dress_up_the_question(self):
        name = "a\n- harmless\x1b[8m\u202etxt.\x7f"
        (self.root / name).write_text("x")
        server = self.begin("--permission-filesystem-write", "ask")
        params, _ = self.decide(server, "Deny once", "delete", path=name)
        self.assertNotRegex(params["message"], "[\x00-\x08\x0b-\x1f\x7f\u202e]")
        self.assertIn(f"- delete: {self.root}/a\\n- harmless\\x1b[8m\\u{{202e}}txt.\\x7f\n", params["message"])

    def test_allow_once_is_for_once(self):
        server = self.begin("--permission-filesystem-write", "ask")
        _, result = self.decide(server, "Allow once", "write_file", filePath="a.txt", content="1")
        self.assertFalse(result.get("isError"), result)
        _, result = self.decide(server, "Deny once", "write_file", filePath="a.txt", content="2")
        self.assertTrue(result["isError"])
        self.assertEqual((self.root / "a.txt").read_text(), "1")
        server.end()
        # What is read for the question comes before anybody has decided.
        decisions = {record.get("decision") for record in self.records()
                     if record.get("tool") == "write_file" and record["outcome"] == "success"
                     and record["operation"] in ("write", "call")}
        self.assertEqual(decisions, {"user"})

    def test_allow_for_session_is_for_that_file(self):
        server = self.begin("--permission-filesystem-write", "ask")
        self.decide(server, "Allow for this session", "write_file", filePath="a.txt", content="1")
        server.good("write_file", filePath="a.txt", content="2")
        self.assert_unasked(server)
        _, result = self.decide(server, "Deny once", "write_file", filePath="b.txt", content="1")
        self.assertTrue(result["isError"])
        server.end()
        other = self.begin("--permission-filesystem-write", "ask", capabilities={})
        other.bad("write_file", filePath="a.txt", content="3")
        self.assertEqual((self.root / "a.txt").read_text(), "2")

    def test_to_make_a_folder_in_this_session_is_not_to_delete_it(self):
        server = self.begin("--permission-filesystem-write", "ask")
        self.decide(server, "Allow for this session", "create_directory", dirPath="src")
        (self.root / "src" / "file").write_text("x")
        _, result = self.decide(server, "Deny once", "delete", path="src")
        self.assertTrue(result["isError"])
        self.assertTrue((self.root / "src" / "file").exists())

    def test_a_yes_for_the_session_is_for_what_was_shown(self):
        """One operation on one thing: nothing wider, by whatever tool."""
        (self.root / "full").mkdir()
        (self.root / "full" / "file").write_text("needle")
        (self.root / "a.txt").write_text("needle")
        with zipfile.ZipFile(self.root / "a.zip", "w") as archive:
            archive.writestr("file", "x")
        server = self.begin("--permission-filesystem-read", "ask",
                            "--permission-filesystem-write", "ask")
        yes = "Allow for this session"
        for told, first, first_arguments, second, second_arguments in (
            ("look up", "stat_file", {"path": "full"}, "search_files",
             {"dirPath": "full", "query": "needle"}),
            ("look up", "stat_file", {"path": "a.txt"}, "read_file", {"filePath": "a.txt"}),
            ("list", "list_files", {"dirPath": "full"}, "get_file_tree", {"dirPath": "full"}),
            ("create", "create_directory", {"dirPath": "o"}, "extract_archive",
             {"archivePath": "a.zip", "destinationPath": "o"}),
            ("create", "create_directory", {"dirPath": "full"}, "move",
             {"sourcePath": "full", "destinationPath": "o"}),
            ("change", "write_file", {"filePath": "a.txt", "content": "needle"}, "delete",
             {"path": "a.txt"}),
            ("change", "append_file", {"filePath": "a.txt", "content": "needle"}, "move",
             {"sourcePath": "a.txt", "destinationPath": "o/b"}),
            ("change", "write_file", {"filePath": "a.txt", "content": "needle"}, "edit_file",
             {"filePath": "a.txt", "oldString": "needle", "newString": "x", "dryRun": True}),
        ):
            with self.subTest(first=first, second=second):
                params, result = self.decide_if_asked(server, yes, first, **first_arguments)
                self.assertFalse(result.get("isError"), result)
                if params is not None:
                    self.assertIn(told, params["message"])
                _, result = self.decide(server, "Deny once", second, **second_arguments)
                self.assertTrue(result["isError"])
                self.assertNotIn("needle", json.dumps(result))
        self.assertEqual((self.root / "full" / "file").read_text(), "needle")

    def test_editing_needs_reading(self):
        (self.root / "a.txt").write_text("needle")
        server = self.begin("--permission-filesystem-read", "ask",
                            "--permission-filesystem-write", "allow")
        for arguments in ({"dryRun": True}, {}):
            params, result = self.decide(server, "Deny once", "edit_file", filePath="a.txt",
                                         oldString="e", newString="x", **arguments)
            self.assertIn("read", params["message"])
            self.assertNotIn("needle", params["message"] + json.dumps(result))
        self.assertEqual((self.root / "a.txt").read_text(), "needle")

    def test_what_is_no_clear_yes_is_a_no(self):
        server = self.begin("--permission-filesystem-write", "ask")
        answers = (
            {"action": "decline"}, {"action": "cancel"}, {"action": "accept"},
            {"action": "accept", "content": {}}, {"action": "accept", "content": {"decision": "yes"}},
            {"action": "accept", "content": {"decision": "Always allow"}},
            {"action": "accept", "content": {"decision": ["Allow once"]}},
            {"action": "decline", "content": {"decision": "Allow once"}}, {}, [],
        )
        for answer in answers:
            message = server.call_message("write_file", {"filePath": "a.txt", "content": "x"})
            server.send(message)
            server.send({"jsonrpc": "2.0", "id": self.question(server)["id"], "result": answer})
            self.assertTrue(server.result(message["id"])["isError"], answer)
        self.assertEqual(os.listdir(self.root), [])

    def test_all_files_of_a_call_are_asked_about_at_once_before_anything_happens(self):
        for name in ("a", "b"):
            (self.root / name).write_text(name)
        server = self.begin("--permission-filesystem-read", "ask",
                            "--permission-filesystem-write", "ask")
        params, result = self.decide(server, "Deny once", "move", sourcePath="a",
                                     destinationPath="c")
        self.assertTrue(result["isError"])
        self.assertIn(str(self.root / "a"), params["message"])
        self.assertIn(str(self.root / "c"), params["message"])
        self.assertEqual(sorted(os.listdir(self.root)), ["a", "b"])

    def test_a_file_that_leads_elsewhere_by_now_is_asked_about_again(self):
        (self.root / "mine").write_text("mine")
        (self.root / "yours").write_text("yours")
        server = self.begin("--permission-filesystem-write", "ask")
        message = server.call_message("write_file", {"filePath": "mine", "content": "x"})
        server.send(message)
        question = self.question(server)
        (self.root / "mine").unlink()
        (self.root / "mine").symlink_to("yours")
        self.reply(server, question, decision="Allow once")
        again = self.question(server)
        self.assertIn(str(self.root / "yours"), again["params"]["message"])
        self.reply(server, again, decision="Deny once")
        self.assertTrue(server.result(message["id"])["isError"])
        self.assertEqual((self.root / "yours").read_text(), "yours")

    def test_what_has_changed_since_it_was_shown_is_asked_about_again(self):
        def swap_for_folder():
            (self.root / "d").unlink()
            (self.root / "d").mkdir()
            (self.root / "d" / "precious").write_text("x")
        server = self.begin("--permission-filesystem-write", "ask")
        (self.root / "full").mkdir()
        (self.root / "d").write_text("1")
        (self.root / "a").write_text("shown\n")
        (self.root / "from").write_text("x")
        cases = (
            ("delete", {"path": "d"}, swap_for_folder, "d/precious"),
            ("delete", {"path": "full"}, lambda: (self.root / "full" / "more").write_text("y"), "full/more"),
            ("write_file", {"filePath": "a", "content": "new\n"},
             lambda: (self.root / "a").write_text("other\n"), "a"),
            ("write_file", {"filePath": "absent", "content": "new\n"},
             lambda: (self.root / "absent").write_text("there by now\n"), "absent"),
            ("move", {"sourcePath": "from", "destinationPath": "to"},
             lambda: (self.root / "to").write_text("there by now\n"), "to"),
        )
        for tool, arguments, change, left in cases:
            message = server.call_message(tool, arguments)
            server.send(message)
            question = self.question(server)
            change()
            before = (self.root / left).read_text()
            self.reply(server, question, decision="Allow once")
            again = self.question(server)
            self.assertNotEqual(again["params"]["message"], question["params"]["message"], tool)
            self.reply(server, again, decision="Deny once")
            self.assertTrue(server.result(message["id"])["isError"], tool)
            self.assertEqual((self.root / left).read_text(), before, tool)

    def test_what_others_put_beside_it_changes_no_question(self):
        server = self.begin("--permission-filesystem-write", "ask")
        (self.root / "sub").mkdir()
        for tool, arguments, made in (("create_directory", {"dirPath": "sub"}, "sub"),
                                      ("write_file", {"filePath": "sub/a", "content": "x"}, "sub/a")):
            message = server.call_message(tool, arguments)
            server.send(message)
            question = self.question(server)
            (self.root / "sub" / f"beside {tool}").write_text("y")
            self.reply(server, question, decision="Allow once")
            self.assertFalse(server.result(message["id"]).get("isError"), tool)
            self.assertTrue((self.root / made).exists())

    def test_another_change_to_undo_is_another_question(self):
        server = self.begin("--permission-filesystem-write", "ask")
        for name in ("a", "b"):
            self.decide(server, "Allow for this session", "write_file", filePath=name, content="1")
        server.good("write_file", filePath="a", content="2")
        message = server.call_message("undo_changes", {})
        server.send(message)
        question = self.question(server)
        self.assertIn("| write_file: a", question["params"]["message"])
        server.good("write_file", filePath="b", content="2")
        self.reply(server, question, decision="Allow once")
        again = self.question(server)
        self.assertIn("| write_file: b", again["params"]["message"])
        self.reply(server, again, decision="Allow once")
        self.assertFalse(server.result(message["id"]).get("isError"))
        self.assertEqual([(self.root / name).read_text() for name in ("a", "b")], ["2", "1"])

    def test_another_archive_is_another_question(self):
        def pack(size):
            with zipfile.ZipFile(self.root / "new.zip", "w") as archive:
                archive.writestr("file", "x" * size)
            (self.root / "new.zip").rename(self.root / "a.zip")
        pack(1)
        server = self.begin("--permission-filesystem-write", "ask")
        message = server.call_message("extract_archive", {"archivePath": "a.zip",
                                                          "destinationPath": "out"})
        server.send(message)
        question = self.question(server)
        pack(1000)
        self.reply(server, question, decision="Allow once")
        self.reply(server, self.question(server), decision="Deny once")
        self.assertTrue(server.result(message["id"])["isError"])
        self.assertFalse((self.root / "out").exists())

    def test_a_cancelled_call_is_asked_no_more(self):
        server = self.begin("--permission-filesystem-write", "ask")
        message = server.call_message("write_file", {"filePath": "a.txt", "content": "x"})
        server.send(message)
        question = self.question(server)
        server.notify("notifications/cancelled", {"requestId": message["id"]})
        self.reply(server, question, decision="Allow once")
        server.good("list_files", dirPath=".")
        self.assertEqual(os.listdir(self.root), [])

    def test_a_client_that_leaves_has_not_agreed(self):
        server = self.begin("--permission-filesystem-write", "ask")
        server.send(server.call_message("write_file", {"filePath": "a.txt", "content": "x"}))
        self.question(server)
        self.assertEqual(server.end(), 0)
        self.assertEqual(os.listdir(self.root), [])
        self.assertEqual([record["policySource"] for record in self.refusals()], ["user"])

    def test_a_client_that_leaves_is_not_asked_about_what_has_moved_meanwhile(self):
        (self.root / "mine").write_text("mine")
        (self.root / "yours").write_text("yours")
        server = self.begin("--permission-filesystem-write", "ask")
        server.send(server.call_message("write_file", {"filePath": "mine", "content": "x"}))
        self.question(server)
        (self.root / "mine").unlink()
        (self.root / "mine").symlink_to("yours")
        self.assertEqual(server.end(), 0)
        self.assertEqual((self.root / "yours").read_text(), "yours")
        self.assertEqual([record["policySource"] for record in self.refusals()], ["nobody"])

    def test_a_client_that_left_before_it_was_asked_is_not_waited_for(self):
        server = self.start("--permission-filesystem-write", "ask", opens=False)
        calls = [server.call_message("write_file", {"filePath": f"{i}.txt", "content": "x"})
                 for i in range(20)]
        start = server.message("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": ASKING,
            "clientInfo": {"name": "test", "version": "1"}})
        server.send(start, {"jsonrpc": "2.0", "method": "notifications/initialized"}, *calls)
        self.assertEqual(server.end(), 0)
        for call in calls:
            self.assertTrue(server.answers[json.dumps(call["id"])]["result"]["isError"])
        self.assertEqual(os.listdir(self.root), [])

    def test_a_modern_client_repeats_the_call_with_the_answer(self):
        server = self.start("--permission-filesystem-write", "ask", opens=False)
        server.is_modern = True
        meta = {**MODERN, "io.modelcontextprotocol/clientCapabilities": ASKING}
        asked = server.call("write_file", meta=meta, filePath="a.txt", content="x")
        self.assertEqual(asked["resultType"], "input_required")
        answer = {"name": "write_file", "arguments": {"filePath": "a.txt", "content": "x"},
                  "requestState": asked["requestState"],
                  "inputResponses": {"consent": {"action": "accept",
                                                 "content": {"decision": "Allow once"}}}}
        # The answer is to this very question.
        with self.assertRaises(Refused):
            server.request("tools/call", {**answer, "arguments": {"filePath": "b.txt", "content": "x"}},
                           meta)
        self.assertEqual(os.listdir(self.root), [])
        asked = server.call("write_file", meta=meta, filePath="a.txt", content="x")
        answer["requestState"] = asked["requestState"]
        result = server.request("tools/call", answer, meta)
        self.assertFalse(result.get("isError"), result)
        self.assertEqual((self.root / "a.txt").read_text(), "x")
        with self.assertRaises(Refused):
            server.request("tools/call", answer, meta)

    def test_an_edit_that_cannot_be_made_asks_nobody(self):
        (self.root / "a.txt").write_text("one")
        server = self.begin("--permission-filesystem-write", "ask")
        server.bad("edit_file", filePath="a.txt", oldString="two", newString="x")
        self.assert_unasked(server)


class Secrets(Consent):
    """Files that usually hold secrets, where reading is allowed."""

    def setUp(self):
        super().setUp()
        (self.root / ".env").write_text("KEY=needle\n")
        (self.root / ".env.example").write_text("KEY=none\n")

    def test_they_are_asked_about(self):
        server = self.begin()
        question, result = self.decide(server, "Allow once", "read_file", filePath=".env")
        self.assertIn(".env", question["message"])
        self.assertIn("needle", json.dumps(result))
        _, refused = self.decide(server, "Deny once", "read_file", filePath=".env")
        self.assertNotIn("needle", json.dumps(refused))
        self.assertEqual(server.good("read_file", filePath=".env.example")["content"], "KEY=none\n")

    def test_their_names_are_no_secret(self):
        server = self.begin()
        self.assertEqual(server.good("stat_file", path=".env")["sizeBytes"], 11)

    def test_no_other_tool_gets_at_them_unasked(self):
        server = self.begin("--write")
        for tool, arguments in (
                ("edit_file", {"filePath": ".env", "oldString": "KEY", "newString": "K", "dryRun": True}),
                ("copy_file", {"sourcePath": ".env", "destinationPath": "plain"}),
                ("move", {"sourcePath": ".env", "destinationPath": "plain"})):
            question, result = self.decide(server, "Deny once", tool, **arguments)
            self.assertNotIn("needle", json.dumps([question, result]), tool)
        self.assertEqual(sorted(os.listdir(self.root)), [".env", ".env.example"])

    def test_searches_leave_them_out_and_say_so(self):
        (self.root / ".aws").mkdir()
        (self.root / ".aws" / "config").write_text("needle")
        (self.root / "plain").write_text("needle")
        server = self.begin()
        found = server.good("search_files", query="needle")
        self.assertEqual([match["path"] for match in found["matches"]], ["plain"])
        self.assertEqual(found["skipped"]["sensitive"], 2)
        inside = server.good("search_files", query="needle", dirPath=".aws")
        self.assertEqual((inside["matches"], inside["skipped"]["sensitive"]), ([], 1))
        names = server.good("search_files", name="**/.env")
        self.assertEqual([match["path"] for match in names["matches"]], [".env"])
        _, result = self.decide(server, "Allow once", "search_files", query="needle", dirPath=".env")
        self.assertIn("KEY=needle", json.dumps(result))
        opened = self.begin("--sensitive", "allow", capabilities={})
        self.assertEqual(opened.good("search_files", query="needle")["totalMatches"], 3)

    def test_a_folder_that_makes_secrets_of_files_is_not_moved_unasked(self):
        for name in (".aws/sso/credentials", ".docker/config.json", "in/.config/gh/hosts.yml", "in/plain"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text("needle")
        closed = self.begin("--write", capabilities={})
        for name in (".aws", ".aws/sso", ".docker", "in/.config", "in/.config/gh"):
            self.assertIn("usually holds secrets", closed.bad("move", sourcePath=name, destinationPath="x"))
            self.assertTrue((self.root / name).is_dir())
        inside = self.begin("--write", folder=self.root / "in/.config", capabilities={})
        self.assertIn("usually holds secrets", inside.bad("move", sourcePath="gh", destinationPath="x"))
        # Where they are in one that goes along, they stay secrets.
        closed.good("move", sourcePath="in", destinationPath="out")
        self.assertIn("usually holds secrets", closed.bad("read_file", filePath="out/.config/gh/hosts.yml"))
        asking = self.begin("--write")
        self.decide(asking, "Deny once", "move", sourcePath=".aws", destinationPath="x")
        self.assertTrue((self.root / ".aws").is_dir())
        self.decide(asking, "Allow once", "move", sourcePath=".aws", destinationPath="x")
        self.assertEqual(asking.good("read_file", filePath="x/sso/credentials")["content"], "needle")

    def test_where_a_search_starts_makes_no_secret_less_of_one(self):
        names = (".docker/config.json", ".config/gh/hosts.yml", "in/.m2/settings.xml",
                 "in/.local/share/keyrings/login")
        for name in names:
            (self.root / name).parent.mkdir(parents=True)
            (self.root / name).write_text("needle")
        (self.root / "in/.m2/plain").write_text("needle")
        server = self.begin()
        for start, matches in ((".docker", []), (".config", []), ("in", ["in/.m2/plain"]),
                               ("in/.m2", ["in/.m2/plain"]), ("in/.local/share", [])):
            found = server.good("search_files", query="needle", dirPath=start)
            self.assertEqual([match["path"] for match in found["matches"]], matches, start)
        for root, secret in ((self.root / ".config", "gh/hosts.yml"), (self.root / ".config/gh", "hosts.yml")):
            inside = self.begin(folder=root, capabilities={})
            self.assertIn("usually holds secrets", inside.bad("read_file", filePath=secret))
            found = inside.good("search_files", query="needle")
            self.assertEqual((found["matches"], found["skipped"]["sensitive"]), ([], 1))

    def test_with_nobody_to_ask_the_refusal_says_what_opens_them(self):
        server = self.begin(capabilities={})
        self.assertIn("--sensitive allow", server.bad("read_file", filePath=".env"))

    def test_the_option_decides(self):
        opened = self.begin("--sensitive", "allow", capabilities={})
        self.assertEqual(opened.good("read_file", filePath=".env")["content"], "KEY=needle\n")
        closed = self.begin("--sensitive", "deny")
        self.assertIn("usually holds secrets", closed.bad("read_file", filePath=".env"))


class Autorun(Consent):
    """Files that other programs run by themselves, where changing others is allowed."""

    def setUp(self):
        super().setUp()
        for folder in (".git/hooks", "sub/.git/modules/x", "plain"):
            (self.root / folder).mkdir(parents=True)
        (self.root / ".git/config").write_text("[core]\n")
        (self.root / "hook").write_text("#!/bin/sh\n")

    def test_changing_them_is_asked_about(self):
        (self.root / "link").symlink_to(".git/hooks")
        server = self.begin("--write")
        server.good("write_file", filePath="plain/a", content="x")
        for tool, arguments in (("write_file", {"filePath": ".git/hooks/pre-commit", "content": "x"}),
                                ("write_file", {"filePath": "link/pre-commit", "content": "x"}),
                                ("edit_file", {"filePath": ".git/config", "oldString": "core", "newString": "alias"}),
                                ("append_file", {"filePath": ".git/config", "content": "x"}),
                                ("write_file", {"filePath": "sub/.git/modules/x/hooks/y", "content": "x"}),
                                ("write_file", {"filePath": ".GIT/config", "content": "x"}),
                                ("write_file", {"filePath": ".bashrc", "content": "x"}),
                                ("create_directory", {"dirPath": "new/.git"}),
                                ("move", {"sourcePath": "plain", "destinationPath": ".claude/commands"}),
                                ("move", {"sourcePath": "hook", "destinationPath": ".git/hooks/hook"}),
                                ("copy_file", {"sourcePath": "hook", "destinationPath": ".vscode/tasks.json"})):
            with self.subTest(tool=tool, **arguments):
                params, result = self.decide(server, "Deny once", tool, **arguments)
                self.assertTrue(result["isError"])
                self.assertEqual(params["requestedSchema"]["properties"]["decision"]["enum"], ONCE)
        self.assertEqual((self.root / ".git/config").read_text(), "[core]\n")
        self.assertEqual(list((self.root / ".git/hooks").iterdir()), [])
        _, result = self.decide(server, "Allow once", "write_file", filePath=".git/hooks/pre-commit", content="x")
        self.assertFalse(result.get("isError"), result)
        # Reading them, and removing them, is as for others.
        server.good("read_file", filePath=".git/config")
        server.good("delete", path=".git/hooks/pre-commit")

    def test_with_nobody_to_ask_the_refusal_says_what_opens_them(self):
        server = self.begin("--write", capabilities={})
        self.assertIn("--autorun allow", server.bad("write_file", filePath=".git/hooks/x", content="x"))
        opened = self.begin("--write", "--autorun", "allow", capabilities={})
        opened.good("write_file", filePath=".git/hooks/x", content="x")


class Keeping(Consent):
    def test_always_is_offered_through_the_client_only_where_the_user_said_so(self):
        server = self.begin("--permission-filesystem-write", "ask", "--allow-remote-always")
        params, result = self.decide(server, "Always allow", "write_file", filePath="a*.txt",
                                     content="1")
        self.assertFalse(result.get("isError"), result)
        self.assertEqual(params["requestedSchema"]["properties"]["decision"]["enum"],
                         ONCE + ["Always allow", "Always deny"])
        server.good("write_file", filePath="a*.txt", content="2")
        # Literally: the star is no pattern.
        _, result = self.decide(server, "Always deny", "write_file", filePath="ab.txt", content="1")
        self.assertTrue(result["isError"])
        server.end()
        kept = json.loads(self.settings.read_text())["resourcePermissions"]["filesystemWrite"]
        self.assertEqual(kept, {"allow": [str(self.root / "a*.txt")],
                                "deny": [str(self.root / "ab.txt")]})
        later = self.begin("--permission-filesystem-write", "ask", capabilities={})
        later.good("write_file", filePath="a*.txt", content="3")
        self.assertIn("denied", later.bad("write_file", filePath="ab.txt", content="1"))
        # Also where everything is allowed.
        free = self.begin("--write", capabilities={})
        self.assertIn("denied", free.bad("write_file", filePath="ab.txt", content="1"))
        free.good("write_file", filePath="other", content="1")

    def test_what_is_always_denied_shows_nowhere(self):
        (self.root / "sub").mkdir()
        for name in ("secret.txt", "sub/secret.txt", "open.txt"):
            (self.root / name).write_text("needle\n")
        (self.root / "link.txt").symlink_to("secret.txt")
        self.write_settings(resourcePermissions={"filesystemRead": {
            "allow": [], "deny": [str(self.root / "secret.txt"),
                                  f"glob:{self.root}/sub/s*.txt"]}})
        server = self.begin("--write", capabilities={})
        found = server.good("search_files", query="needle")
        self.assertEqual([match["path"] for match in found["matches"]], ["open.txt"])
        listed = server.good("list_files", dirPath=".")
        self.assertEqual([entry["path"] for entry in listed["entries"]], ["sub", "open.txt"])
        for name in ("secret.txt", "link.txt", "sub/secret.txt"):
            server.bad("read_file", filePath=name)
        with self.assertRaises(Refused):
            server.request("resources/read", {"uri": (self.root / "secret.txt").as_uri()})
        # What holds it stays as well.
        server.bad("delete", path="sub")
        self.assertTrue((self.root / "sub" / "secret.txt").exists())
        server.end()
        self.assertIn(("read_file", "deny-rule"),
                      {(record.get("tool"), record["policySource"]) for record in self.refusals()})

    def test_rules_may_name_the_root_through_a_link(self):
        link = self.room / "link"
        link.symlink_to(self.root)
        (self.root / "sub").mkdir()
        for name in ("secret.txt", "sub/secret.txt", "open.txt"):
            (self.root / name).write_text("needle\n")
        self.write_settings(resourcePermissions={"filesystemRead": {
            "allow": [], "deny": [str(link / "secret.txt"), f"glob:{link}/sub/s*.txt"]}})
        server = self.begin("--write", folder=link, capabilities={})
        found = server.good("search_files", query="needle")
        self.assertEqual([match["path"] for match in found["matches"]], ["open.txt"])
        listed = server.good("list_files", dirPath=".")
        self.assertEqual([entry["path"] for entry in listed["entries"]], ["sub", "open.txt"])
        server.bad("read_file", filePath="secret.txt")
        with self.assertRaises(Refused):
            server.request("resources/read", {"uri": (self.root / "secret.txt").as_uri()})
        server.bad("delete", path="sub")
        self.assertTrue((self.root / "sub" / "secret.txt").exists())

    def test_rules_hold_from_the_moment_they_are_made(self):
        self.assert_rules_are_followed(self.begin(capabilities={}))

    def test_rules_are_followed_without_inotify(self):
        """Commands and other programs of the user can have all instances of it."""
        server = self.begin(capabilities={}, before=(mcp_client.WITHOUT_SYSCALL, "inotify_init1"))
        self.assert_rules_are_followed(server)
        self.assertIn("every 2 seconds", server.words())

    def assert_rules_are_followed(self, server):
        (self.root / "a.txt").write_text("a")
        server.good("read_file", filePath="a.txt")
        kept = json.loads(self.settings.read_text())
        kept["resourcePermissions"] = {"filesystemRead": {"allow": [], "deny": [str(self.root / "a.txt")]}}
        fresh = self.settings.with_suffix(".mine")
        fresh.write_text(json.dumps(kept))
        fresh.chmod(0o600)
        fresh.rename(self.settings)
        deadline = time.monotonic() + PATIENCE
        while not server.call("read_file", filePath="a.txt").get("isError"):
            self.assertLess(time.monotonic(), deadline)

    def test_who_waits_to_write_a_rule_holds_up_nobody(self):
        (self.root / "a.txt").write_text("a")
        server = self.begin("--permission-filesystem-write", "ask", "--allow-remote-always")
        with open(self.settings.with_name("settings.json.lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            message = server.call_message("write_file", {"filePath": "b.txt", "content": "b"})
            server.send(message)
            self.reply(server, self.question(server), decision="Always allow")
            fresh = self.settings.with_suffix(".mine")
            fresh.write_text(json.dumps({"resourcePermissions": {"filesystemRead": {
                "allow": [], "deny": [str(self.root / "a.txt")]}}}))
            fresh.chmod(0o600)
            fresh.rename(self.settings)
            deadline = time.monotonic() + PATIENCE
            while not server.call("read_file", filePath="a.txt").get("isError"):
                self.assertLess(time.monotonic(), deadline)
        self.assertFalse(server.result(message["id"]).get("isError"))
        # It was written in the end: nobody had to wait for as long as that is tried.
        kept = json.loads(self.settings.read_text())["resourcePermissions"]
        self.assertEqual(kept["filesystemWrite"]["allow"], [str(self.root / "b.txt")])
        self.assertEqual(kept["filesystemRead"]["deny"], [str(self.root / "a.txt")])

    def test_the_settings_are_out_of_reach_inside_the_root_too(self):
        server = self.begin("--write", folder=self.room, capabilities={})
        inside = "state/.n8n-gateway/settings.json"
        server.bad("read_file", filePath=inside)
        server.bad("write_file", filePath=inside, content="{}")
        server.bad("delete", path="state")
        server.bad("move", sourcePath="state", destinationPath="elsewhere")
        self.assertIn("permissions", json.loads(self.settings.read_text()))

    def test_without_a_place_for_rules_it_is_said_that_none_hold(self):
        server = self.begin(env={"HOME": ""}, capabilities={})
        self.assertEqual(server.end(), 0)
        self.assertIn("none of your rules apply", server.words())
        other = self.begin(capabilities={})
        self.assertEqual(other.end(), 0)
        self.assertEqual(other.words(), "")

    def test_malformed_settings_are_put_aside_and_everything_is_asked_for(self):
        (self.root / "a.txt").write_text("a")
        self.settings.parent.mkdir(mode=0o700)
        self.settings.write_text('{"permissions": {"filesystemRead": "allow",')
        server = self.begin(capabilities={})
        self.assertIn("there is nobody to ask", server.bad("read_file", filePath="a.txt"))
        self.assertEqual(server.end(), 0)
        self.assertIn("malformed", server.words())
        aside = [path for path in self.settings.parent.iterdir() if "malformed" in path.name]
        self.assertEqual(len(aside), 1)
        self.assertEqual(aside[0].read_text(), '{"permissions": {"filesystemRead": "allow",')
        aside[0].unlink()
        self.begin(capabilities={}).good("read_file", filePath="a.txt")


class Offering(Consent):
    def names(self, *flags):
        server = self.begin(*flags, capabilities={})
        return {tool["name"] for tool in server.request("tools/list")["tools"]}, server

    def test_tools_of_a_denied_group_do_not_exist(self):
        self.assertEqual(self.names()[0], READING)
        self.assertEqual(self.names("--permission-filesystem-write", "ask")[0], READING | WRITING)
        self.assertEqual(self.names("--permission-filesystem-write", "allow")[0], READING | WRITING)
        names, server = self.names("--write", "--permission-filesystem-write", "deny")
        self.assertEqual(names, READING)
        with self.assertRaises(Refused):
            server.call("write_file", filePath="a", content="b")

    def test_addresses_are_offered_only_where_reading_needs_no_consent(self):
        (self.root / "a.txt").write_text("a")
        server = self.start("--permission-filesystem-read", "ask", opens=False)
        self.assertNotIn("resources", server.open()["capabilities"])
        with self.assertRaises(Refused):
            server.request("resources/read", {"uri": (self.root / "a.txt").as_uri()})

    def test_options_that_make_no_sense_are_refused(self):
        for flags in (("--permission-filesystem-read", "deny"),
                      ("--permission-filesystem-write", "perhaps"),
                      ("--sensitive", "allow", "--allow-remote-always")):
            server = self.start(*flags, opens=False)
            self.assertNotEqual(server.wait(), 0, flags)
            self.assertTrue(server.words())


if __name__ == "__main__":
    mcp_client.main()
