#!/usr/bin/env python3
"""Several folders in one session: how their files are named, and that each keeps its own boundary and mode."""
import io
import json
import os
import subprocess
import zipfile

import mcp_client
import tool_table
from mcp_client import PATIENCE, Refused
from shell_scene import Commands

PATHS = ("filePath", "dirPath", "path", "sourcePath", "destinationPath", "archivePath")


class Folders(Commands):
    """A first folder, `root`, and a second beside it."""

    def setUp(self):
        super().setUp()
        self.second = self.room / "second"
        self.second.mkdir()

    def start_both(self, *flags, **settings):
        return self.start(*flags, folder=self.root, **settings)

    def spell(self, name):
        return str(self.second / name)

    def put(self, folder, name, text):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Names(Folders):
    def setUp(self):
        super().setUp()
        self.put(self.root, "one.txt", "needle one\n")
        self.put(self.second, "sub/two.txt", "needle two\n")

    def test_every_path_in_an_answer_works_as_an_argument(self):
        server = self.start_both("--write", "--rw", self.second)
        two = self.spell("sub/two.txt")
        self.assertEqual(server.good("list_allowed_directories")["directories"], [
            {"path": str(self.root), "access": "write"},
            {"path": str(self.second), "access": "write"}])
        self.assertEqual(server.good("read_file", filePath="one.txt")["content"], "needle one\n")
        self.assertEqual(server.good("read_file", filePath=two)["content"], "needle two\n")
        self.assertEqual(server.good("read_files", filePaths=[two, "one.txt"])["files"][0]["path"], two)
        self.assertEqual(server.good("stat_file", path=two)["path"], two)
        listed = server.good("list_files", dirPath=str(self.second))["entries"]
        self.assertEqual([entry["path"] for entry in listed], [self.spell("sub")])
        listed = server.good("list_files", dirPath=listed[0]["path"])["entries"]
        self.assertEqual([entry["path"] for entry in listed], [two])
        found = server.good("search_files", query="needle", dirPath=str(self.second))["matches"]
        self.assertEqual([match["path"] for match in found], [two])
        tree = server.call("get_file_tree", dirPath=str(self.second))["content"][0]["text"]
        self.assertEqual(tree.splitlines()[0], f"{self.second}/")
        self.assertIn("two.txt", tree)
        # Without a path, the first.
        found = server.good("search_files", query="needle")["matches"]
        self.assertEqual([match["path"] for match in found], ["one.txt"])
        # A glob may be written from the folder on.
        for name in (f"{self.second}/sub/*.txt", "sub/*.txt", "*.txt"):
            found = server.good("search_files", name=name, dirPath=str(self.second))["matches"]
            self.assertEqual([match["path"] for match in found], [two], name)
        self.assertIn("not below dirPath", server.bad("search_files", name=f"{self.second}/sub/*.txt"))

    def test_the_client_is_told_how_to_name_files(self):
        server = self.start("--ro", self.second, opens=False)
        words = server.open()["instructions"]
        self.assertIn(str(self.root), words)
        self.assertIn(f"{self.second} (read only)", words)

    def test_missing_names_have_hints_that_work(self):
        server = self.start_both("--rw", self.second)
        self.assertIn(f"did you mean {self.spell('sub/two.txt')}?",
                      server.bad("read_file", filePath=self.spell("sub/tow.txt")))
        self.assertIn("list_allowed_directories", server.bad("read_file", filePath="/etc/passwd"))

    def test_a_folder_named_through_a_link_has_two_spellings(self):
        (self.room / "link").symlink_to(self.second)
        server = self.start_both("--rw", self.room / "link")
        for spelling in (self.room / "link", self.second):
            self.assertEqual(server.good("read_file", filePath=f"{spelling}/sub/two.txt")["content"],
                             "needle two\n")
        listed = server.good("list_files", dirPath=f"{self.room}/link")["entries"]
        self.assertEqual([entry["path"] for entry in listed], [self.spell("sub")])

    def test_folders_beside_the_current_one(self):
        server = self.start("--rw", "../second", folder=".", cwd=self.root)
        self.assertEqual(server.good("read_file", filePath=self.spell("sub/two.txt"))["content"],
                         "needle two\n")
        server.bad("read_file", filePath="../second/sub/two.txt")
        server.bad("read_file", filePath=f"{self.root}/../second/sub/two.txt")

    def test_resources_of_all_folders(self):
        server = self.start("--ro", self.second)
        one, two = (self.root / "one.txt").as_uri(), (self.second / "sub/two.txt").as_uri()
        found, cursor = [], {}
        while cursor is not None:
            page = server.request("resources/list", cursor)
            found += [resource["uri"] for resource in page["resources"]]
            cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
        self.assertEqual(found, [one, two])
        self.assertEqual(server.request("resources/read", {"uri": two})["contents"][0]["text"], "needle two\n")
        with self.assertRaises(Refused):
            server.request("resources/read", {"uri": (self.outside / "x").as_uri()})
        template = server.request("resources/templates/list")["resourceTemplates"][0]["uriTemplate"]
        self.assertEqual(template, "file://{+path}")

        def complete(typed):
            return server.request("completion/complete", {
                "ref": {"type": "ref/resource", "uri": template},
                "argument": {"name": "path", "value": typed}})["completion"]["values"]
        self.assertEqual(complete(""), sorted([f"{self.root}/", f"{self.second}/"]))
        self.assertEqual(complete(str(self.second)), [f"{self.second}/"])
        self.assertEqual(complete(f"{self.second}/s"), [f"{self.second}/sub/"])
        self.assertEqual(complete(f"{self.root}/"), [f"{self.root}/one.txt"])
        self.assertEqual(complete(f"{self.outside}/"), [])
        server.request("resources/subscribe", {"uri": two})
        (self.second / "sub/two.txt").write_text("changed")
        server.wait_until(lambda: any(note["method"] == "notifications/resources/updated" and
                                      note["params"]["uri"] == two for note in server.notes))


class Changes(Folders):
    def test_changes_in_and_between_folders_and_back(self):
        server = self.start_both("--write", "--rw", self.second)
        self.put(self.root, "a.txt", "a\n")
        self.put(self.second, "b.txt", "b\n")
        self.put(self.root, "dir/in.txt", "in\n")
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            archive.writestr("inner.txt", "inner")
        (self.root / "pack.zip").write_bytes(data.getvalue())
        before = [mcp_client.picture(folder) for folder in (self.root, self.second)]
        calls = [
            ("write_file", {"filePath": self.spell("new/deep/c.txt"), "content": "c"}),
            ("append_file", {"filePath": self.spell("b.txt"), "content": "more"}),
            ("edit_file", {"filePath": self.spell("b.txt"), "oldString": "b\n", "newString": "B\n"}),
            ("edit_files", {"edits": [
                {"filePath": "a.txt", "oldString": "a", "newString": "A"},
                {"filePath": self.spell("b.txt"), "oldString": "B", "newString": "bb"}]}),
            ("create_directory", {"dirPath": self.spell("made")}),
            ("copy_file", {"sourcePath": "a.txt", "destinationPath": self.spell("made/a.txt")}),
            ("copy_file", {"sourcePath": self.spell("b.txt"), "destinationPath": "b-copy.txt"}),
            ("move", {"sourcePath": "dir", "destinationPath": self.spell("moved")}),
            ("move", {"sourcePath": self.spell("b.txt"), "destinationPath": "b.txt"}),
            ("extract_archive", {"archivePath": "pack.zip", "destinationPath": self.spell("unpacked")}),
            ("delete", {"path": self.spell("moved/in.txt")}),
        ]
        for tool, arguments in calls:
            server.good(tool, **arguments)
        self.assertEqual((self.second / "new/deep/c.txt").read_text(), "c")
        self.assertEqual((self.second / "made/a.txt").read_text(), "A\n")
        self.assertEqual((self.root / "b.txt").read_text(), "bb\nmore")
        self.assertEqual((self.second / "unpacked/inner.txt").read_text(), "inner")
        self.assertFalse((self.root / "dir").exists())
        self.assertEqual(os.listdir(self.second / "moved"), [])
        undone = server.good("undo_changes", all=True)["undone"]
        self.assertEqual({item["outcome"] for item in undone}, {"restored"}, undone)
        self.assertIn(self.spell("b.txt"), [item["path"] for item in undone])
        after = [mcp_client.picture(folder) for folder in (self.root, self.second)]
        self.assertEqual(after, before)

    def test_no_folder_itself_can_be_moved_deleted_or_replaced(self):
        self.put(self.root, "a.txt", "a")
        server = self.start_both("--write", "--rw", self.second)
        for tool, arguments in (
                ("delete", {"path": str(self.second)}),
                ("delete", {"path": f"{self.second}/."}),
                ("move", {"sourcePath": str(self.second), "destinationPath": "x"}),
                ("move", {"sourcePath": "a.txt", "destinationPath": str(self.second)}),
                ("copy_file", {"sourcePath": "a.txt", "destinationPath": str(self.second)}),
                ("write_file", {"filePath": str(self.second), "content": "x"})):
            server.bad(tool, **arguments)
        self.assertTrue(self.second.is_dir())


class Boundary(Folders):
    def setUp(self):
        super().setUp()
        self.put(self.second, "two.txt", "two")
        (self.second / "sub").mkdir()
        self.put(self.twin, "secret", "no")
        self.put(self.outside, "secret", "no")
        (self.room / "second2").mkdir()
        self.put(self.room / "second2", "secret", "no")

    def test_no_spelling_leads_out_or_across(self):
        self.put(self.root, "dir/x", "x")
        (self.root / "to-second").symlink_to(self.second)
        (self.root / "relative").symlink_to("../second")
        (self.root / "to-file").symlink_to(self.second / "two.txt")
        (self.second / "back").symlink_to(self.root)
        (self.second / "out").symlink_to(self.outside)
        before = [mcp_client.picture(path) for path in (self.root, self.second, self.outside, self.twin)]
        server = self.start_both("--write", "--rw", self.second)
        for name in ("../second/two.txt", f"{self.root}/../second/two.txt", f"{self.root}/dir/../../second/two.txt",
                     f"{self.second}/../root/dir/x", f"{self.second}/../outside/secret", f"{self.second}2/secret",
                     f"{self.root}-evil/secret", f"{self.room}/second2/secret", str(self.room), "/", "//",
                     f"/.{self.second}/../outside/secret", "to-second/two.txt", "relative/two.txt", "to-file",
                     f"{self.root}/to-second/two.txt", f"{self.second}/back/dir/x", f"{self.second}/out/secret",
                     f"{self.second}/./../second2/secret", f"{self.outside}/secret"):
            for tool, key, more in (("read_file", "filePath", {}), ("list_files", "dirPath", {}),
                                    ("search_files", "dirPath", {"query": "no"}), ("stat_file", "path", {}),
                                    ("write_file", "filePath", {"content": "bad"}),
                                    ("append_file", "filePath", {"content": "bad"}),
                                    ("create_directory", "dirPath", {})):
                if tool == "stat_file" and name in ("to-file",):
                    continue  # the link itself
                server.bad(tool, **{key: name}, **more)
        after = [mcp_client.picture(path) for path in (self.root, self.second, self.outside, self.twin)]
        self.assertEqual(after, before)
        # Other spellings of what is served do work.
        for name in (f"/{self.second}/two.txt", f"{self.second}//./two.txt", f"{self.second}/sub/../two.txt"):
            self.assertEqual(server.good("read_file", filePath=name)["content"], "two", name)

    def test_folders_that_overlap_are_refused(self):
        (self.second / "inner").mkdir()
        (self.room / "again").symlink_to(self.second)
        for flags, words in (((self.second, self.second), "same folder"),
                             ((self.second, self.room / "again"), "same folder"),
                             ((self.second, self.second / "inner"), "contains the other"),
                             ((self.second / "inner", self.second), "contains the other"),
                             (("--ro", self.second, "--rw", f"{self.second}/inner"), "contains the other"),
                             ((self.root, self.room / "missing"), "missing")):
            server = mcp_client.Server(*flags, state=self.state)
            self.assertNotEqual(server.wait(), 0)
            self.assertIn(words, server.words())
            server.discard()
            server.said.close()

    def test_globs_apply_in_their_folder(self):
        for folder in (self.root, self.second):
            self.put(folder, "keys/key", "k")
            self.put(folder, "all.secret", "s")
        server = self.start_both("--ro", self.second, "--deny", "*.secret", "--deny", f"{self.second}/keys/**")
        for name in ("all.secret", self.spell("all.secret"), self.spell("keys/key")):
            self.assertIn("--deny", server.bad("read_file", filePath=name))
        self.assertEqual(server.good("read_file", filePath="keys/key")["content"], "k")
        server.end()
        # What is allowed by an absolute pattern is allowed there, and nothing elsewhere.
        server = self.start_both("--ro", self.second, "--allow", f"{self.second}/keys/**")
        self.assertEqual(server.good("read_file", filePath=self.spell("keys/key"))["content"], "k")
        for name in ("keys/key", "all.secret", self.spell("all.secret")):
            server.bad("read_file", filePath=name)
        self.assertEqual(server.good("list_files", dirPath=".")["entries"], [])

    def test_rules_and_secrets_count_in_every_folder(self):
        self.put(self.second, "denied/x", "hidden needle")
        self.put(self.second, ".env", "KEY=needle")
        self.deny(reading=[self.second / "denied"])
        server = self.start_both("--ro", self.second)
        server.bad("read_file", filePath=self.spell("denied/x"))
        server.bad("read_file", filePath=self.spell(".env"))
        found = server.good("search_files", query="needle", dirPath=str(self.second))
        self.assertEqual(found["matches"], [])


class Modes(Folders):
    """A second folder with another mode than the first."""

    def in_second(self, tool, arguments):
        arguments = dict(arguments)
        if tool in ("list_files", "get_file_tree", "search_files"):
            arguments.setdefault("dirPath", "")
        for key in PATHS:
            if key in arguments:
                arguments[key] = self.spell(arguments[key])
        if "filePaths" in arguments:
            arguments["filePaths"] = [self.spell(name) for name in arguments["filePaths"]]
        if "edits" in arguments:
            arguments["edits"] = [{**edit, "filePath": self.spell(edit["filePath"])} for edit in arguments["edits"]]
        return arguments

    def check_table(self, server, modes):
        worked = set()

        def call(tool, arguments):
            try:
                result = server.call(tool, **self.in_second(tool, arguments))
            except Refused as refusal:
                return False, str(refusal)
            return not result.get("isError", False), json.dumps(result)
        for row in tool_table.ROWS:
            if row.tool == "undo_changes":
                continue  # of both
            if tool_table.check(self, self.second, row, modes, call):
                worked.add(row.tool)
        return worked

    def test_every_tool_in_the_mode_of_the_second_folder(self):
        reading = {"read_file", "read_files", "list_allowed_directories", "stat_file", "list_files",
                   "get_file_tree", "search_files"}
        everything = {row.tool for row in tool_table.ROWS} - {"undo_changes"}
        self.put(self.root, "first.txt", "first")
        for flags, modes, first_is_writable, wanted in (
                (("--write", "--ro", self.second), ("allow", "deny"), True, reading),
                (("--rw", self.second), ("allow", "allow"), False, everything),
                (("--permission-filesystem-write", "ask", "--ro", self.second), ("allow", "deny"), False, reading),
                (("--permission-filesystem-write", "ask", "--rw", self.second), ("allow", "ask"), False, reading),
                (("--permission-filesystem-read", "ask", "--write", "--ro", self.second), ("ask", "deny"), False,
                 set())):
            server = self.start(*flags)
            self.assertEqual(self.check_table(server, dict(zip(("read", "write"), modes))), wanted, flags)
            call = server.good if first_is_writable else server.bad
            call("write_file", filePath="first.txt", content="first")
            server.end()

    def test_nobody_is_asked_about_changes_of_a_folder_that_may_only_be_read(self):
        self.put(self.second, "x", "x")
        server = self.start("--permission-filesystem-write", "ask", "--ro", self.second, opens=False)
        server.open(capabilities={"elicitation": {}})
        self.assertIn("may only be read", server.bad("write_file", filePath=self.spell("x"), content="y"))
        self.assertEqual([note for note in server.notes if note["method"] == "elicitation/create"], [])
        server.end()
        [record] = [record for record in self.records()
                    if record["outcome"] == "denied" and record["operation"] != "call"]
        self.assertEqual((record["error"], record["root"]["id"]), ("access_missing", str(self.second)))

    def test_wrong_use_of_modes(self):
        for flags, words in (
                (("--permission-filesystem-write", "deny", "--rw", self.second), "--rw"),
                (("--permission-filesystem-read", "deny", "--permission-shell", "ask", "--rw", self.second), "--rw")):
            server = mcp_client.Server(*flags, state=self.state)
            self.assertNotEqual(server.wait(), 0)
            self.assertIn(words, server.words())
            server.discard()
            server.said.close()

    def test_the_record_names_the_folder(self):
        self.put(self.root, "one", "1")
        self.put(self.second, "two", "2")
        server = self.start("--ro", self.second)
        server.good("read_file", filePath="one")
        server.good("read_file", filePath=self.spell("two"))
        server.end()
        named = {(record["relativePath"], record["root"]["id"]) for record in self.records()
                 if record["operation"] == "read" and record["root"]["id"] != "settings"}
        self.assertEqual(named, {("one", str(self.root)), ("two", str(self.second))})

    def test_commands_see_all_folders_and_change_those_that_may_be_changed(self):
        third = self.room / "third"
        third.mkdir()
        self.put(self.second, "two", "2")
        self.put(third, "three", "3")
        server = self.begin("--write", "--rw", third, "--ro", self.second)
        answer = self.answer(server, f"cat {self.second}/two {third}/three; echo x > here; echo y > {third}/there; "
                             f"echo z > {self.second}/no || echo refused; ls {self.outside} || echo hidden")
        self.assertEqual(answer["stdout"], "23refused\nhidden\n", answer)
        self.assertEqual((third / "there").read_text(), "y\n")
        self.assertEqual((self.root / "here").read_text(), "x\n")
        self.assertEqual(os.listdir(self.second), ["two"])
        self.assertEqual(self.answer(server, "pwd", cwd=str(third))["stdout"], f"{third}\n")
        for cwd in (str(self.outside), f"{third}/../outside", "../third", f"{third}x"):
            self.assertTrue(self.run_command(server, "pwd", cwd=cwd).get("isError"), cwd)
        server.end()
        self.assertIn(str(third), {record["root"]["id"] for record in self.executed()})


class Roots(Folders):
    """With --roots, the client narrows what is served."""

    def setUp(self):
        super().setUp()
        for folder in (self.root, self.second):
            self.put(folder, "a/in.txt", "needle")
            self.put(folder, "ab/out.txt", "needle")
            self.put(folder, "top.txt", "needle")

    def begin_with(self, *flags, roots=None):
        server = self.start("--write", *flags, opens=False)
        server.open(capabilities={"roots": {"listChanged": True}})
        if roots is not None:
            self.tell(server, roots)
        return server

    def question(self, server):
        def found():
            for note in server.notes:
                if note["method"] == "roots/list":
                    server.notes.remove(note)
                    return note
            return None
        return server.wait_until(found)

    def tell(self, server, roots):
        """Answers the question, and waits until that has been read."""
        server.send({"jsonrpc": "2.0", "id": self.question(server)["id"], "result": {
            "roots": [{"uri": root if isinstance(root, str) else root.as_uri()} for root in roots]}})
        server.request("ping")

    def seen(self, server):
        """Where the needle is found, from the folders on."""
        found = [match["path"] for folder in (self.root, self.second)
                 for match in server.good("search_files", query="needle", dirPath=str(folder))["matches"]]
        return sorted(found)

    def test_only_what_is_below_both_is_served(self):
        server = self.begin_with("--ro", self.second, "--roots",
                                 roots=[self.root / "a", self.second, self.outside, "https://example.com/"])
        self.assertEqual(self.seen(server), sorted([
            "a/in.txt", *(self.spell(name) for name in ("a/in.txt", "ab/out.txt", "top.txt"))]))
        self.assertEqual(server.good("list_allowed_directories")["directories"], [
            {"path": str(self.root / "a"), "access": "write"}, {"path": str(self.second), "access": "read"}])
        self.assertEqual(server.good("read_file", filePath="a/in.txt")["content"], "needle")
        for name in ("top.txt", "ab/out.txt", "a/../top.txt", str(self.root / "top.txt")):
            self.assertIn("outside the roots", server.bad("read_file", filePath=name))
            server.bad("write_file", filePath=name, content="x")
        for name in ("ab/new", "new"):
            server.bad("write_file", filePath=name, content="x")
        server.good("write_file", filePath="a/deep/new", content="x")
        server.bad("move", sourcePath="a/in.txt", destinationPath="in.txt")
        # Of what is above, only the way.
        self.assertEqual([entry["path"] for entry in server.good("list_files", dirPath=".")["entries"]], ["a"])
        self.assertIn("it is in none of the folders", server.words())
        self.assertIn(str(self.outside), server.words())
        server.end()
        denied = {record["policySource"] for record in self.records()
                  if record["outcome"] == "denied" and record["operation"] != "call"}
        self.assertEqual(denied, {"client-roots"})

    def test_a_root_above_the_folder_leaves_all_of_it(self):
        server = self.begin_with("--roots", roots=[self.room])
        self.assertEqual(server.good("read_file", filePath="top.txt")["content"], "needle")

    def test_nothing_is_served_until_the_roots_are_known(self):
        server = self.begin_with("--roots")
        server.bad("read_file", filePath="top.txt")
        self.assertEqual(server.good("list_allowed_directories")["directories"], [])
        self.tell(server, [self.root])
        self.assertEqual(server.good("read_file", filePath="top.txt")["content"], "needle")

    def test_an_answer_that_is_none_serves_nothing(self):
        for answer in ({"error": {"code": -32603, "message": "no"}}, {"result": {}}, {"result": {"roots": []}},
                       {"result": {"roots": [{"uri": "file:///"} for _ in range(300)]}},
                       {"result": {"roots": [7, {"uri": 8}, {}, "file:///"]}}):
            server = self.begin_with("--roots")
            server.send({"jsonrpc": "2.0", "id": self.question(server)["id"], **answer})
            server.request("ping")
            server.bad("read_file", filePath="top.txt")
            server.bad("write_file", filePath="a/x", content="x")

    def test_changed_roots_count_from_then_on(self):
        server = self.begin_with("--roots", roots=[self.root / "a"])
        server.bad("read_file", filePath="ab/out.txt")
        server.notify("notifications/roots/list_changed")
        self.tell(server, [self.root / "ab"])
        self.assertEqual(server.good("read_file", filePath="ab/out.txt")["content"], "needle")
        server.bad("read_file", filePath="a/in.txt")

    def modern_with(self, *flags):
        server = self.start(*flags, opens=False)
        server.is_modern = True
        return server

    def repeat(self, server, tool, answer, **arguments):
        """A modern client is asked in the answer, and repeats the call with its roots."""
        meta = {"io.modelcontextprotocol/clientCapabilities": {"roots": {}}}
        asked = server.call(tool, meta, **arguments)
        self.assertEqual(asked["resultType"], "input_required")
        [(key, question)] = asked["inputRequests"].items()
        self.assertEqual(question["method"], "roots/list")
        return server.request("tools/call", {
            "name": tool, "arguments": arguments, "requestState": asked["requestState"],
            "inputResponses": {key: answer} if answer is not None else {}}, meta)

    def test_a_modern_client_is_asked_with_each_call(self):
        server = self.modern_with("--roots")
        for root in ("a", "ab", "a"):
            answer = {"roots": [{"uri": (self.root / root).as_uri()}]}
            name = {"a": "a/in.txt", "ab": "ab/out.txt"}
            told = self.repeat(server, "read_file", answer, filePath=name[root])
            self.assertEqual(told["structuredContent"]["content"], "needle")
            del name[root]
            self.assertTrue(self.repeat(server, "read_file", answer, filePath=name.popitem()[1])["isError"])
        # What cannot ask sees what the last answer left.
        listed = server.request("resources/list")["resources"]
        self.assertEqual([each["name"] for each in listed], ["a/in.txt"])

    def test_a_modern_client_that_does_not_tell_its_roots_gets_nothing(self):
        for answer in (None, {}, {"roots": 7}, {"roots": []}, {"roots": [{"uri": "https://example.com/"}]}):
            server = self.modern_with("--roots")
            self.assertTrue(self.repeat(server, "read_file", answer, filePath="top.txt")["isError"], answer)
            self.assertEqual(server.request("resources/list")["resources"], [])
        # Not even to a request that says nothing of roots, once a client has some.
        self.assertIn("outside the roots", server.bad("read_file", filePath="top.txt"))

    def test_roots_and_permission_are_both_asked_for(self):
        server = self.modern_with("--write", "--roots", "--permission-filesystem-write", "ask")
        meta = {"io.modelcontextprotocol/clientCapabilities": {"roots": {}, "elicitation": {}}}
        params = {"name": "write_file", "arguments": {"filePath": "a/new", "content": "x"}}
        asked = server.request("tools/call", params, meta)
        [key] = asked["inputRequests"]
        answers = {key: {"roots": [{"uri": (self.root / "a").as_uri()}]}}
        asked = server.request("tools/call", {
            **params, "requestState": asked["requestState"], "inputResponses": answers}, meta)
        [(key, question)] = asked["inputRequests"].items()
        self.assertEqual(question["method"], "elicitation/create")
        self.assertFalse((self.root / "a/new").exists())
        answers = {key: {"action": "accept", "content": {"decision": "Allow once"}}}
        told = server.request("tools/call", {
            **params, "requestState": asked["requestState"], "inputResponses": answers}, meta)
        self.assertFalse(told.get("isError"), told)
        self.assertEqual((self.root / "a/new").read_text(), "x")

    def test_without_the_option_or_without_roots_nothing_is_narrowed(self):
        server = self.begin_with(roots=[self.root / "a"])
        self.assertEqual(server.good("read_file", filePath="top.txt")["content"], "needle")
        server = self.start("--roots")
        self.assertEqual(server.good("read_file", filePath="top.txt")["content"], "needle")

    def test_it_is_not_combined_with_what_it_does_not_narrow(self):
        for flags in (("--http", "127.0.0.1:0"), ("--permission-shell", "ask")):
            server = mcp_client.Server("--roots", *flags, self.root, state=self.state)
            self.assertNotEqual(server.wait(), 0)
            self.assertIn("--roots", server.words())
            server.discard()
            server.said.close()


class Settings(Folders):
    def test_printed_settings_start_the_same_folders(self):
        for client in ("claude", "vscode"):
            result = subprocess.run(
                [mcp_client.GATEHOUSE, "mcp", "--print-config", client, "--rw", "../second", "--ro", "/usr", "."],
                cwd=self.root, env={"PATH": "/usr/bin:/bin", "HOME": str(self.state)}, text=True,
                stdout=subprocess.PIPE, check=True, timeout=PATIENCE)
            document = json.loads(result.stdout)
            [entry] = next(iter(document.values())).values()
            self.assertEqual(entry["args"][:1], ["mcp"])
            self.assertEqual([os.path.normpath(word) for word in entry["args"][1:]],
                             ["--ro", "/usr", "--rw", str(self.second), str(self.root)])

    def test_folders_win_over_the_variables_of_workspaces(self):
        variables = {"GATEHOUSE_WORKSPACE": "daytona", "GATEHOUSE_WORKSPACE_SETUP": "RUN true",
                     "GATEHOUSE_WORKSPACE_FILES": "/nowhere", "N8N_INSTANCE_AI_SANDBOX_ENABLED": "true"}
        server = self.start_both("--ro", self.second, env=variables)
        self.assertEqual([folder["path"] for folder in server.good("list_allowed_directories")["directories"]],
                         [str(self.root), str(self.second)])

        def run(*words):
            return subprocess.run([mcp_client.GATEHOUSE, "mcp", "--print-config", "claude", *words], text=True,
                                  env={"PATH": "/usr/bin:/bin", "HOME": str(self.room / "home"), **variables},
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)

        [entry] = next(iter(json.loads(run("--ro", self.second, self.root).stdout).values())).values()
        self.assertEqual(entry["args"], ["mcp", "--ro", str(self.second), str(self.root)])
        for words in ([self.root], ["--ro", self.second]):
            self.assertIn("a workspace instead of folders", run("--workspace", "isolated", *words).stderr)


if __name__ == "__main__":
    mcp_client.main()
