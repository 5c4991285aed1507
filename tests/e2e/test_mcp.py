#!/usr/bin/env python3
"""`gatehouse mcp` as its clients see it: both eras, limits, deny globs, subscriptions, wrong use."""
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from mcp_client import PATIENCE, READING, WRITING, Refused, Scene, picture
from patience import in_memory

REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07")


def run(*arguments, cwd=None, env=None):
    return subprocess.run(
        [mcp_client.GATEHOUSE, "mcp", *map(str, arguments)], stdin=subprocess.DEVNULL, cwd=cwd,
        env={"PATH": "/usr/bin:/bin", **(env or {})}, capture_output=True, text=True,
        timeout=PATIENCE,
    )


def template(server):
    return server.request("resources/templates/list")["resourceTemplates"][0]["uriTemplate"]


def complete(server, typed):
    return server.request("completion/complete", {
        "ref": {"type": "ref/resource", "uri": template(server)},
        "argument": {"name": "path", "value": typed},
    })["completion"]["values"]


class Eras(Scene):
    def test_every_legacy_revision_is_taken_as_it_is(self):
        for version in REVISIONS:
            result = self.start(opens=False).open(version)
            self.assertEqual(result["protocolVersion"], version)
            self.assertEqual(result["serverInfo"]["name"], "gatehouse")
            self.assertLessEqual({"tools", "resources", "completions"},
                                 set(result["capabilities"]))

    def test_an_unknown_revision_gets_our_newest(self):
        result = self.start(opens=False).open("2031-01-01")
        self.assertEqual(result["protocolVersion"], REVISIONS[0])

    def test_a_modern_client_needs_no_handshake(self):
        (self.root / "a.txt").write_text("modern\n")
        server = self.start(opens=False)
        server.is_modern = True
        found = server.request("server/discover")
        self.assertEqual(found["supportedVersions"], ["2026-07-28"])
        self.assertEqual(found["resultType"], "complete")
        result = server.call("read_file", filePath="a.txt")
        self.assertEqual(result["structuredContent"]["content"], "modern\n")
        self.assertEqual(result["resultType"], "complete")
        named = result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"]
        self.assertEqual(named, "gatehouse")
        listed = server.request("tools/list")
        self.assertEqual({tool["name"] for tool in listed["tools"]}, READING)
        self.assertIn("ttlMs", listed)
        with self.assertRaises(Refused) as refused:
            server.request("ping")
        self.assertEqual(refused.exception.error["code"], -32601)

    def test_both_eras_on_one_connection(self):
        server = self.start()
        self.assertNotIn("resultType", server.request("tools/list"))
        server.is_modern = True
        self.assertEqual(server.request("tools/list")["resultType"], "complete")

    def test_before_the_handshake_only_ping_is_answered(self):
        server = self.start(opens=False)
        self.assertEqual(server.request("ping"), {})
        with self.assertRaises(Refused):
            server.request("tools/list")
        server.open()
        self.assertTrue(server.request("tools/list")["tools"])

    def test_write_tools_exist_only_where_they_were_asked_for(self):
        reading, writing = self.start(), self.start("--write")
        self.assertEqual({tool["name"] for tool in reading.request("tools/list")["tools"]}, READING)
        tools = {tool["name"]: tool for tool in writing.request("tools/list")["tools"]}
        self.assertEqual(set(tools), READING | WRITING)
        for name, tool in tools.items():
            self.assertEqual(tool["annotations"]["readOnlyHint"], name in READING, name)
            self.assertTrue(tool["description"] and tool["inputSchema"]["type"] == "object")
            self.assertEqual("outputSchema" in tool, name != "get_file_tree", name)
        before = picture(self.root)
        for name in WRITING:
            with self.assertRaises(Refused) as refused:
                reading.call(name, filePath="x", path="x", dirPath="x", content="x")
            self.assertEqual(refused.exception.error["code"], -32602)
            self.assertIn("--permission-filesystem-write", str(refused.exception))
        self.assertEqual(picture(self.root), before)

    def test_the_list_of_file_tools_is_short(self):
        tools = self.start("--write").request("tools/list")["tools"]
        for tool in tools:
            tool.pop("outputSchema", None)
        listed = json.dumps(tools, separators=(",", ":"), ensure_ascii=False).encode()
        self.assertLessEqual(len(listed), 14_000)

    def test_the_environment_can_ask_for_writing(self):
        server = self.start(env={"GATEHOUSE_WRITE": "1"})
        server.good("write_file", filePath="a", content="b")
        self.assertEqual((self.root / "a").read_text(), "b")


class Limits(Scene):
    def test_sizes_in_every_unit_hold_to_the_byte(self):
        for text, limit in (("700", 700), ("2KB", 2000), ("2KiB", 2048), ("1MB", 1_000_000),
                            ("1MiB", 1 << 20)):
            server = self.start("-w", "--max-file-size", text)
            self.assertEqual(server.good("write_file", filePath="at", content="x" * limit),
                             {"path": "at"})
            self.assertIn(str(limit), server.bad("write_file", filePath="over",
                                                 content="x" * (limit + 1)))
            self.assertFalse((self.root / "over").exists())
            self.assertIn(str(limit), server.bad("append_file", filePath="at", content="x"))
            server.bad("edit_file", filePath="at", oldString="x", newString="xx")
            self.assertEqual((self.root / "at").read_bytes(), b"x" * limit)
            self.assertEqual(server.good("read_file", filePath="at")["content"], "x" * limit)
            os.truncate(self.root / "at", 0)

    def test_the_default_is_512_kib_and_500_lines(self):
        server = self.start("-w")
        server.good("write_file", filePath="a", content="x" * (512 << 10))
        server.bad("write_file", filePath="b", content="x" * ((512 << 10) + 1))
        (self.root / "lines").write_text("".join(f"{n}\n" for n in range(1, 1001)))
        told = server.good("read_file", filePath="lines")
        self.assertEqual((len(told["content"].split("\n")), told["nextStartLine"]), (200, 201))
        told = server.good("read_file", filePath="lines", maxLines=9999)
        self.assertEqual((len(told["content"].split("\n")), told["nextStartLine"]), (500, 501))
        self.assertEqual((told["truncated"], told["totalLines"]), (True, 1001))

    def test_max_lines_can_be_raised_and_lowered(self):
        (self.root / "lines").write_text("x\n" * 3000)
        for most in (3, 2000):
            told = self.start("--max-lines", most).good("read_file", filePath="lines",
                                                        maxLines=100000)
            self.assertEqual(told["nextStartLine"], most + 1)

    def test_a_file_over_the_limit_is_read_window_by_window(self):
        whole = "".join(f"line {n} {'y' * 90}\n" for n in range(12000))  # 1.2 MB
        (self.root / "big.log").write_text(whole)
        server, start, pieces = self.start(), 1, []
        while start:
            told = server.good("read_file", filePath="big.log", startLine=start, maxLines=500)
            self.assertEqual(told["totalBytes"], len(whole))
            pieces.append(told["content"])
            start = told.get("nextStartLine")
        self.assertEqual("\n".join(pieces), whole)

    def test_a_call_has_a_time_limit(self):
        with open(self.root / "long", "w") as file:
            file.write("line\n" * 10000)
            file.truncate(1 << 40)  # takes longer to read than anybody has
        server = self.start("--timeout", "100ms")
        with self.assertRaises(Refused) as refused:
            server.call("read_file", filePath="long", startLine=10 ** 6)
        (self.root / "long").unlink()  # or it would be looked into at the end
        self.assertIn("time", str(refused.exception))


class Denied(Scene):
    """A glob of --deny holds wherever a name can come up."""

    def setUp(self):
        super().setUp()
        for name in (".env", "a.txt", "sub/.env", "sub/b.txt", "secrets/key.txt", "secrets/in/x"):
            path = self.root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"KEEP {name}\n")
        (self.root / "link").symlink_to("secrets/key.txt")
        (self.root / "way").symlink_to("secrets")
        self.server = self.start("-w", "--deny", "**/.env", "--deny", "secrets/**")
        self.hidden = (".env", "sub/.env", "secrets/key.txt", "secrets/in/x", "link", "way/key.txt")

    def test_reading(self):
        for name in self.hidden:
            self.assertNotIn("KEEP", self.server.bad("read_file", filePath=name))
            self.server.bad("stat_file", path=name)
            self.server.bad("copy_file", sourcePath=name, destinationPath="stolen")
            if name != "link":  # of a link, its own name is moved or removed
                self.server.bad("move", sourcePath=name, destinationPath="stolen")
        self.assertFalse((self.root / "stolen").exists())
        self.assertEqual(self.server.good("read_file", filePath="sub/b.txt")["content"],
                         "KEEP sub/b.txt\n")

    def test_writing(self):
        before = picture(self.root)
        for name in (*self.hidden, "secrets/new", "new/.env"):
            self.server.bad("write_file", filePath=name, content="x")
            self.server.bad("append_file", filePath=name, content="x")
            self.server.bad("edit_file", filePath=name, oldString="KEEP", newString="x")
            self.server.bad("copy_file", sourcePath="a.txt", destinationPath=name)
            if name != "link":
                self.server.bad("delete", path=name)
                self.server.bad("move", sourcePath="a.txt", destinationPath=name)
            self.server.bad("edit_files", edits=[
                {"filePath": "a.txt", "oldString": "KEEP", "newString": "x"},
                {"filePath": name, "oldString": "KEEP", "newString": "x"}])
        self.server.bad("delete", path="sub")  # it holds what may not be touched
        self.server.bad("delete", path="secrets")
        self.assertEqual(picture(self.root), before)

    def test_lists_trees_and_searches(self):
        for folder in (".", "sub", "secrets", "way", "secrets/in"):
            listed = json.dumps(self.server.call("list_files", dirPath=folder))
            shown = json.dumps(self.server.call("get_file_tree", dirPath=folder, maxDepth=9))
            found = json.dumps(self.server.call("search_files", name="**", dirPath=folder))
            for text in (listed, shown, found):
                for word in (".env", "key.txt", "in/x"):
                    self.assertNotIn(word, text, folder)
        found = self.server.good("search_files", name="*.txt")
        self.assertEqual(found["matches"], [{"path": "sub/b.txt"}, {"path": "a.txt"}])
        self.assertEqual(found["totalMatches"], 2)

    def test_archives(self):
        with tarfile.open(self.root / "box.tar", "w") as archive:
            for name in ("ok.txt", "deep/.env"):
                info = tarfile.TarInfo(name)
                info.size = 1
                archive.addfile(info, io.BytesIO(b"x"))
        self.server.bad("extract_archive", archivePath="box.tar", destinationPath="out")
        self.server.bad("extract_archive", archivePath="box.tar", destinationPath="secrets/out")
        self.assertFalse((self.root / "out").exists())
        self.assertFalse((self.root / "secrets/out").exists())

    def test_resources_and_completion(self):
        listed = self.server.request("resources/list")["resources"]
        self.assertEqual({resource["name"] for resource in listed}, {"a.txt", "sub/b.txt"})
        for name in self.hidden:
            for method in ("resources/read", "resources/subscribe"):
                with self.assertRaises(Refused) as refused:
                    self.server.request(method, {"uri": (self.root / name).as_uri()})
                self.assertNotIn("KEEP", str(refused.exception))
        for typed in ("", "s", "secrets/", "way/", "secrets/in/", "sub/", ".e", f"{self.root}/"):
            for value in complete(self.server, typed):
                for word in (".env", "key.txt", "in/"):
                    self.assertNotIn(word, value, typed)

    def test_a_denied_file_that_changes_is_not_told(self):
        uri = self.root.as_uri()
        self.server.request("resources/subscribe", {"uri": (self.root / "a.txt").as_uri()})
        (self.root / ".env").write_text("changed")
        (self.root / "a.txt").write_text("changed")
        self.server.wait_until(lambda: self.server.notes)
        self.server.call("read_file", filePath="a.txt")
        told = {note["params"]["uri"] for note in self.server.notes}
        self.assertEqual(told, {f"{uri}/a.txt"})


class Resources(Scene):
    def updated(self, server):
        notes = [note for note in server.notes
                 if note["method"] == "notifications/resources/updated"]
        return [note["params"]["uri"] for note in notes]

    def test_files_are_resources(self):
        (self.root / "a b.md").write_text("# x\n")
        (self.root / "data.bin").write_bytes(b"\0\xff")
        server = self.start()
        uri = (self.root / "a b.md").as_uri()
        listed = {each["name"]: each["uri"] for each in
                  server.request("resources/list")["resources"]}
        self.assertEqual(listed["a b.md"], uri)
        content = server.request("resources/read", {"uri": uri})["contents"][0]
        self.assertEqual((content["uri"], content["text"]), (uri, "# x\n"))
        content = server.request("resources/read", {"uri": listed["data.bin"]})["contents"][0]
        self.assertEqual(content["blob"], "AP8=")
        self.assertEqual(template(server), f"{self.root.as_uri()}/{{+path}}")

    def test_an_unknown_resource_has_the_code_of_its_era(self):
        server = self.start()
        for is_modern, code in ((False, -32002), (True, -32602)):
            server.is_modern = is_modern
            with self.assertRaises(Refused) as refused:
                server.request("resources/read", {"uri": (self.root / "nothing").as_uri()})
            self.assertEqual(refused.exception.error["code"], code)

    def test_pages_hold_everything_once(self):
        for number in range(250):
            (self.root / f"f{number:03}").touch()
        server, names, cursor = self.start(), [], None
        while True:
            page = server.request("resources/list", {"cursor": cursor} if cursor else {})
            names += [each["name"] for each in page["resources"]]
            cursor = page.get("nextCursor")
            if cursor is None:
                break
        self.assertEqual(names, [f"f{number:03}" for number in range(250)])

    def test_a_subscriber_hears_of_a_change_and_then_of_none(self):
        path, other = self.root / "a.txt", self.root / "b.txt"
        path.write_text("1")
        other.write_text("1")
        server = self.start("-w")
        for each in (path, other):
            server.request("resources/subscribe", {"uri": each.as_uri()})
        path.write_text("by somebody else")
        server.wait_until(lambda: path.as_uri() in self.updated(server))
        self.assertNotIn(other.as_uri(), self.updated(server))
        server.notes.clear()
        server.good("write_file", filePath="b.txt", content="by a tool")
        server.wait_until(lambda: other.as_uri() in self.updated(server))
        server.request("resources/unsubscribe", {"uri": path.as_uri()})
        server.notes.clear()
        path.write_text("again")
        other.write_text("again")
        server.wait_until(lambda: other.as_uri() in self.updated(server))
        self.assertNotIn(path.as_uri(), self.updated(server))

    def test_hundreds_of_directories_are_subscribed_to(self):
        directories = [self.root / f"d{number:03}" for number in range(300)]
        server = self.start()
        for each in directories:
            each.mkdir()
            server.request("resources/subscribe", {"uri": each.as_uri()})
        for each in directories:
            (each / "new").write_text("1")
        wanted = {each.as_uri() for each in directories}
        server.wait_until(lambda: wanted <= set(self.updated(server)))

    def test_a_link_that_is_subscribed_to_tells_of_its_target(self):
        (self.root / "sub").mkdir()
        (self.root / "sub/a.txt").write_text("1")
        (self.root / "link").symlink_to("sub/a.txt")
        (self.root / "out").symlink_to("../outside/x")
        (self.outside / "x").write_text("1")
        server, uri = self.start(), (self.root / "link").as_uri()
        server.request("resources/subscribe", {"uri": uri})
        with self.assertRaises(Refused):
            server.request("resources/subscribe", {"uri": (self.root / "out").as_uri()})
        (self.root / "sub/a.txt").write_text("2")
        server.wait_until(lambda: uri in self.updated(server))

    def test_a_folder_given_through_a_link_has_both_names(self):
        (self.root / "a.txt").write_text("1")
        link = self.root.parent / "way-to-the-root"
        link.symlink_to(self.root)
        self.addCleanup(link.unlink)
        server = self.start("-w", folder=link)
        for folder in (link, self.root):
            path = folder / "a.txt"
            self.assertEqual(server.good("read_file", filePath=str(path))["content"], "1")
            read = server.request("resources/read", {"uri": path.as_uri()})["contents"][0]
            self.assertEqual((read["uri"], read["text"]), (path.as_uri(), "1"))
            server.request("resources/subscribe", {"uri": path.as_uri()})
            for outside in (folder / "../outside/x", self.outside / "x", f"{folder}x/a.txt"):
                server.bad("read_file", filePath=str(outside))
        (self.root / "a.txt").write_text("2")
        for folder in (link, self.root):
            server.wait_until(lambda uri=(folder / "a.txt").as_uri(): uri in self.updated(server))
        listed = server.request("resources/list")["resources"]
        self.assertEqual([each["uri"] for each in listed], [(self.root / "a.txt").as_uri()])

    def test_subscribing_twice_counts_once(self):
        path = self.root / "a.txt"
        path.write_text("1")
        server = self.start()
        for _ in range(2):
            server.request("resources/subscribe", {"uri": path.as_uri()})
        server.request("resources/unsubscribe", {"uri": path.as_uri()})
        path.write_text("2")
        (self.root / "b.txt").write_text("")
        server.request("resources/subscribe", {"uri": (self.root / "b.txt").as_uri()})
        (self.root / "b.txt").write_text("2")
        server.wait_until(lambda: self.updated(server))
        self.assertNotIn(path.as_uri(), self.updated(server))

    def test_a_modern_stream_tells_only_what_was_asked_for(self):
        path = self.root / "a.txt"
        path.write_text("1")
        server = self.start(opens=False)
        server.is_modern = True
        message = server.message("subscriptions/listen", {
            "notifications": {"resourceSubscriptions": [path.as_uri()]}})
        server.send(message)
        first = server.wait_until(lambda: server.notes and server.notes.popleft())
        self.assertEqual(first["method"], "notifications/subscriptions/acknowledged")
        path.write_text("2")
        note = server.wait_until(lambda: server.notes and server.notes.popleft())
        self.assertEqual(note["params"]["uri"], path.as_uri())
        self.assertIn(json.dumps(message["id"]), json.dumps(note["params"]["_meta"]))

    def test_a_completed_path_can_be_read(self):
        (self.root / "sub").mkdir()
        (self.root / "sub/file.txt").write_text("found\n")
        server, typed = self.start(), ""
        for wanted in ("sub/", "sub/file.txt"):
            self.assertEqual(complete(server, typed), [wanted])
            typed = wanted
        uri = template(server).replace("{+path}", typed)
        content = server.request("resources/read", {"uri": uri})["contents"][0]
        self.assertEqual((content["uri"], content["text"]), (uri, "found\n"))


class LongCalls(Scene):
    """Searches of a tree that is large enough to be in the middle of."""

    SEARCH = {"name": "f1*9"}
    FOUND = 1100

    @classmethod
    def setUpClass(cls):
        cls.tree = pathlib.Path(tempfile.mkdtemp(prefix="mcp-tree-", dir=in_memory()))
        cls.addClassCleanup(shutil.rmtree, cls.tree)
        for folder in range(100):
            (cls.tree / f"d{folder}").mkdir()
            for number in range(200):
                os.close(os.open(cls.tree / f"d{folder}/f{number}", os.O_CREAT | os.O_WRONLY))

    def setUp(self):
        super().setUp()
        self.server = self.start(folder=self.tree)

    def searches(self, count, token=None):
        return [self.server.call_message("search_files", self.SEARCH,
                                         {"progressToken": f"{token}{n}"} if token else None)
                for n in range(count)]

    def test_progress_arrives_and_rises(self):
        messages = self.searches(60, token="t")
        self.server.send(*messages)
        for message in messages:
            found = self.server.result(message["id"])["structuredContent"]
            self.assertEqual(found["totalMatches"], self.FOUND)
        told = {}
        for note in self.server.notes:
            self.assertEqual(note["method"], "notifications/progress")
            params = note["params"]
            self.assertGreater(params["progress"], told.get(params["progressToken"], 0))
            told[params["progressToken"]] = params["progress"]
        self.assertTrue(told)

    def test_without_a_token_nothing_is_told(self):
        self.server.call_all([("search_files", self.SEARCH)] * 40)
        self.assertFalse(self.server.notes)

    def test_cancel_stops_the_work(self):
        many = 300
        self.server.call_all([("search_files", self.SEARCH)] * 4)  # warm
        before = self.server.cpu_seconds()
        self.server.call_all([("search_files", self.SEARCH)] * 20)
        of_20 = self.server.cpu_seconds() - before
        messages = self.searches(many)
        self.server.send(*messages, *[
            {"jsonrpc": "2.0", "method": "notifications/cancelled",
             "params": {"requestId": message["id"]}} for message in messages])
        before = self.server.cpu_seconds()
        found = self.server.good("search_files", **self.SEARCH)
        spent = self.server.cpu_seconds() - before
        self.assertEqual(found["totalMatches"], self.FOUND)
        # Those that had begun by then may have ended; the others must not have run.
        self.assertLess(len(self.server.answers), many // 2)
        self.assertLess(spent, of_20 * many / 20 / 2)

    def test_a_slow_call_does_not_delay_a_quick_one(self):
        messages = self.searches(3)
        self.server.send(*messages)
        self.server.good("read_file", filePath="d0/f0")
        self.assertEqual(self.server.request("ping"), {})
        for message in messages:
            self.server.result(message["id"])


class Use(Scene):
    def test_help_says_that_a_question_has_its_own_time(self):
        words = " ".join(run("--help").stdout.split())
        self.assertIn("a question to you has 5 minutes of its own", words)

    def test_help_names_every_option(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for option in ("--write", "--deny", "--allow", "--max-file-size", "--max-lines",
                       "--timeout", "--state-dir", "--log-level", "--print-config"):
            self.assertIn(option, result.stdout)

    def test_wrong_use_is_2_and_says_what_is_wrong(self):
        for arguments, word in (
            (["--wirte"], "--write"),
            (["--max-file-size", "many"], "512KB"),
            (["--max-file-size", "0"], "between"),
            (["--max-file-size", "1GiB"], "between"),
            (["--max-lines", "-1"], "between"),
            (["--timeout", "soon"], "30s"),
            (["--print-config", "emacs"], "claude"),
            (["--log-level", "loud"], "debug"),
            (["--deny"], "--deny"),
            (["--ro"], "--ro"),
        ):
            result = run(*arguments, env={"HOME": str(self.state)})
            self.assertEqual(result.returncode, 2, arguments)
            self.assertEqual(result.stdout, "")
            self.assertIn(word, result.stderr)
        self.assertEqual(picture(self.state), {})

    def test_a_bad_variable_is_wrong_use_too(self):
        result = run(self.root, env={"HOME": str(self.state), "GATEHOUSE_MAX_LINES": "x"})
        self.assertEqual(result.returncode, 2)
        self.assertIn("GATEHOUSE_MAX_LINES", result.stderr)

    def test_a_folder_that_cannot_be_served_is_1_and_named(self):
        (self.room / "file").touch()
        for folder in (self.room / "missing", self.room / "file"):
            result = run(folder, env={"HOME": str(self.state)})
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn(str(folder), result.stderr)

    def test_a_glob_that_is_none_is_refused_with_words(self):
        result = run("--deny", "a[", self.root, env={"HOME": str(self.state)})
        self.assertIn(result.returncode, (1, 2))
        self.assertIn("a[", result.stderr)

    def test_a_glob_that_would_match_nothing_is_refused_with_what_to_write(self):
        for option in ("--deny", "--allow"):
            for glob, words in (("~/secrets", "'\\~'"), ("~", "'\\~'"), ("!a", "'\\!'"),
                                ("./a", "'/NAME'"), ("../a", "'/NAME'"), ("a/../b", "'/NAME'"),
                                (str(self.room / "elsewhere"), "relative to the folder"),
                                (str(self.root), "relative to the folder")):
                result = run(option, glob, self.root, env={"HOME": str(self.state)})
                self.assertEqual(result.returncode, 1, glob)
                self.assertIn(f"{option} '{glob}'", result.stderr)
                self.assertIn(words, result.stderr)

    def test_a_path_in_the_folder_is_a_glob_from_there_on(self):
        link = self.root.parent / "way-to-the-root"
        link.symlink_to(self.root)
        self.addCleanup(link.unlink)
        (self.root / "sub").mkdir()
        for name in ("key", "sub/key", "\\~a"):
            (self.root / name).touch()
        for folder in (self.root, link):
            for named in (self.root, link) if folder == link else (self.root,):
                server = self.start("--deny", str(named / "key"), folder=folder)
                names = [each["path"] for each in server.good(
                    "search_files", dirPath=".", name="key*")["matches"]]
                self.assertEqual(names, ["sub/key"], (folder, named))
        server = self.start("--deny", "/key,sub")
        self.assertEqual([each["path"] for each in server.good("list_files", dirPath=".")["entries"]],
                         ["\\~a"])

    def test_a_refusal_says_which_option_it_comes_from(self):
        (self.root / "sub").mkdir()
        (self.root / "sub/key").touch()
        (self.root / "link").symlink_to("sub/key")
        server = self.start("-w", "--deny", "key")
        self.assertEqual(server.bad("read_file", filePath="sub/key"),
                         "sub/key is denied by --deny")
        self.assertEqual(server.bad("write_file", filePath="x/../key", content=""),
                         "x/../key is denied by --deny")
        with self.assertRaisesRegex(Refused, "sub/key is denied by --deny"):
            server.request("resources/read", {"uri": (self.root / "sub/key").as_uri()})
        for tool, arguments in (("read_file", {"filePath": "link"}), ("delete", {"path": "sub"}),
                                ("move", {"sourcePath": "sub", "destinationPath": "new"})):
            self.assertIn("leads to or contains a denied path",
                          server.bad(tool, **arguments))
        server = self.start("--allow", "sub")
        self.assertEqual(server.bad("read_file", filePath="other"),
                         "other is not allowed by --allow")

    def test_a_state_directory_that_is_refused_is_named(self):
        (self.room / "open").mkdir()
        (self.room / "open").chmod(0o755)
        (self.room / "file").touch()
        for state in (self.room / "open", self.room / "file/below"):
            result = run("--state-dir", state, self.root)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertEqual(result.stderr.count(str(state)), 1, result.stderr)
            self.assertIn("--state-dir", result.stderr)

    def test_the_program_itself_has_help_and_a_version(self):
        program = mcp_client.GATEHOUSE.parent / "gatehouse-mcp"
        asked = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
        self.assertIn("--state-dir", asked.stdout)
        self.assertEqual(asked.stdout.splitlines()[2:5], run("--help").stdout.splitlines()[2:5])
        asked = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        self.assertRegex(asked.stdout, r"^gatehouse-mcp \d")
        for option in ("--help", "--version"):
            with open("/dev/full", "wb") as full:
                asked = subprocess.run([program, option], stdout=full, stderr=subprocess.PIPE,
                                       text=True)
            self.assertEqual(asked.returncode, 1, option)
            self.assertIn("No space left", asked.stderr)

    def test_without_a_home_it_says_what_to_do(self):
        result = run(self.root)
        self.assertEqual(result.returncode, 1)
        self.assertIn("--state-dir", result.stderr)

    def test_without_input_it_ends_well(self):
        result = run(self.root, env={"HOME": str(self.state)})
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertTrue((self.state / ".local/state/gatehouse/audit.jsonl").exists())

    def test_the_current_folder_is_the_default(self):
        (self.root / "here").touch()
        server = mcp_client.Server(state=self.state, cwd=self.root)
        self.servers.append(server)
        server.open()
        self.assertEqual(server.good("list_files", dirPath=".")["entries"][0]["path"], "here")

    def on_terminal(self, *flags, **environment):
        """What it says to a person who starts it and ends it."""
        ours, theirs = os.openpty()
        os.write(ours, b"\x04")
        result = subprocess.run([mcp_client.GATEHOUSE, "mcp", *map(str, flags)], stdin=theirs, capture_output=True,
                                env={"PATH": "/usr/bin:/bin", "HOME": str(self.state), **environment}, text=True,
                                timeout=PATIENCE)
        os.close(ours)
        os.close(theirs)
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        return result.stderr

    def test_a_person_who_starts_it_is_told_what_it_is(self):
        said = self.on_terminal(self.root)
        self.assertIn(f"This serves {self.root}\nto an MCP client", said)
        self.assertIn("--install", said)
        self.assertEqual(run(self.root, env={"HOME": str(self.state)}).stderr, "")

    def test_a_folder_that_is_too_much_is_warned_of(self):
        for folder, words in (("/", "whole machine"), (self.state, "whole home directory"),
                              (f"{self.state}/", "whole home directory")):
            said = run(folder, env={"HOME": str(self.state), "XDG_STATE_HOME": str(self.room / "kept")}).stderr
            self.assertIn(words, said)
            self.assertIn("the folder of one project", said)

    def print_config(self, client, *flags, **settings):
        """The entry that is printed, and the advice beside it."""
        result = run("--print-config", client, *flags, **{"cwd": self.room, "env": {"HOME": str(self.state)},
                                                          **settings})
        self.assertEqual(result.returncode, 0, result.stderr)
        if client == "codex":
            head, *lines = result.stdout.splitlines()
            self.assertTrue(head.startswith("[mcp_servers.gatehouse-"), head)
            return {key: json.loads(value) for key, value in
                    (line.split(" = ") for line in lines)}, result.stderr
        if client == "continue":
            values = dict(line.strip(" -").split(": ", 1) for line in result.stdout.splitlines() if ": " in line)
            return {key: json.loads(values[key]) for key in ("command", "args", "url") if key in values}, result.stderr
        entry = json.loads(result.stdout)
        group = {"n8n": None, "vscode": "servers", "zed": "context_servers"}.get(client, "mcpServers")
        if group:
            self.assertEqual(list(entry), [group])
            (name, entry), = entry[group].items()
            self.assertTrue(name.startswith("gatehouse-"), name)
        return entry, result.stderr

    CLIENTS = ("claude", "claude-code", "claude-desktop", "codex", "continue", "cursor", "gemini", "n8n",
               "vscode", "windsurf", "zed")

    def test_settings_for_clients_start_what_they_say(self):
        (self.root / "a.txt").write_text("x")
        for client in self.CLIENTS:
            entry, _ = self.print_config(client, "-w", "--deny", "**/.env", "--max-file-size", "1MiB",
                                         "--permission-shell", "allow", "--state-dir", "kept", "root")
            self.assertTrue(os.access(entry["command"], os.X_OK))
            words = entry["arguments"].split(" ") if client == "n8n" else entry["args"]
            self.assertEqual(words[0], "mcp")
            # From anywhere, and with nothing but what it says.
            elsewhere = subprocess.Popen(
                [entry["command"], *words], cwd=self.outside,
                env={"PATH": "/usr/bin:/bin", "HOME": str(self.state)},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
            told, words = elsewhere.communicate(ping, timeout=PATIENCE)
            self.assertEqual(elsewhere.returncode, 0, words)
            self.assertEqual(json.loads(told)["result"], {})
            self.assertTrue((self.room / "kept/audit.jsonl").exists())
        self.assertEqual(picture(self.outside), {})

    def test_settings_that_cannot_start_are_not_printed(self):
        for flags, words in (((self.room / "not there",), "not found"),
                             (("--permission-shell", "ask", "--allow", "x", self.root), "--allow"),
                             (("--deny", "a[", self.root), "never closed")):
            result = run("--print-config", "codex", *flags, env={"HOME": str(self.state)})
            self.assertEqual((result.returncode, result.stdout), (1, ""), flags)
            self.assertIn(words, result.stderr)
        (self.room / "a b").mkdir()
        result = run("--print-config", "n8n", self.room / "a b", env={"HOME": str(self.state)})
        self.assertEqual(result.returncode, 1)
        self.assertIn("space", result.stderr)

    def test_it_is_said_where_the_settings_belong(self):
        home = self.state
        for client, file in (("claude-code", ".claude.json"), ("codex", ".codex/config.toml"),
                             ("vscode", ".config/Code/User/mcp.json"), ("zed", ".config/zed/settings.json"),
                             ("continue", ".continue/mcpServers/gatehouse-root.yaml")):
            self.assertIn(f" in {home}/{file}.\n", self.print_config(client, "root")[1])
        self.assertIn("  claude mcp add --scope user gatehouse-root -- /", self.print_config("claude-code", "root")[1])
        self.assertIn("  code --add-mcp '{\"name\":\"gatehouse-root\"", self.print_config("vscode", "root")[1])
        elsewhere = {"HOME": str(home), "CODEX_HOME": "/srv/codex"}
        self.assertIn(" in /srv/codex/config.toml.\n", self.print_config("codex", "root", env=elsewhere)[1])

    def test_a_server_is_named_after_its_folder_unless_told(self):
        for folder, name in (("My Project (2)", "gatehouse-My-Project-2"), ("é", "gatehouse"),
                             ("x" * 60, "gatehouse-" + "x" * 30)):
            (self.room / folder).mkdir()
            result = run("--print-config", "cursor", self.room / folder, env={"HOME": str(self.state)})
            self.assertEqual(list(json.loads(result.stdout)["mcpServers"]), [name])
        result = run("--print-config", "cursor", "--name", "my_files", self.root, env={"HOME": str(self.state)})
        self.assertEqual(list(json.loads(result.stdout)["mcpServers"]), ["my_files"])
        for name in ("", "a b", "a.b", "x" * 65):
            result = run("--print-config", "cursor", "--name", name, self.root, env={"HOME": str(self.state)})
            self.assertEqual((result.returncode, result.stdout), (1, ""), name)
            self.assertIn("--name", result.stderr)
        self.assertEqual(run("--name", "x", self.root).returncode, 2)

    def test_settings_for_http_name_the_address_and_no_key(self):
        env = {"HOME": str(self.state), "GATEHOUSE_HTTP_KEY": "0123456789abcdef"}
        for client, url in (("claude-code", "url"), ("codex", "url"), ("continue", "url"), ("cursor", "url"),
                            ("gemini", "httpUrl"), ("vscode", "url"), ("windsurf", "serverUrl"), ("zed", "url")):
            entry, advice = self.print_config(client, "--http", "localhost:7650", "root", env=env)
            self.assertEqual(entry[url], "http://127.0.0.1:7650/mcp")
            self.assertNotIn("0123456789abcdef", str(entry) + advice)
            results = " --results text" if client == "claude-code" else ""
            self.assertIn(f"gatehouse mcp{results} --http localhost:7650 {self.root}\n", advice)
        for client, address, words in (("claude", "localhost:7650", "leave out --http"),
                                       ("n8n", "localhost:7650", "MCP Client node"),
                                       ("codex", "localhost:0", "a port that stays"),
                                       ("codex", "192.0.2.1:80", "this machine only")):
            result = run("--print-config", client, "--http", address, self.root, env=env)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn(words, result.stderr)

    def install(self, client, *flags, answer=None, **settings):
        """As run(), on a terminal if there is an answer to give."""
        words = [str(word) for word in ("--install", client, *flags)]
        if answer is None:
            return run(*words, env={"HOME": str(self.state), "XDG_STATE_HOME": str(self.state), **settings})
        ours, theirs = os.openpty()
        os.write(ours, answer.encode())
        result = subprocess.run([mcp_client.GATEHOUSE, "mcp", *words], stdin=theirs, capture_output=True,
                                env={"PATH": "/usr/bin:/bin", "HOME": str(self.state)}, text=True,
                                timeout=PATIENCE)
        os.close(ours)
        os.close(theirs)
        return result

    def test_installing_adds_one_server_and_keeps_the_rest(self):
        settings = self.state / ".config/zed/settings.json"
        settings.parent.mkdir(parents=True)
        text = '// mine\n{\n    "theme": "dark", // always\n    "context_servers": {\n        "a": {}\n    }\n}\n'
        settings.write_text(text)
        settings.chmod(0o640)
        result = self.install("zed", "--yes", "-w", self.root)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn('+        "gatehouse-root": {\n', result.stdout)
        backup, = settings.parent.glob("settings.json.backup-*")
        self.assertEqual(backup.read_text(), text)
        self.assertEqual((settings.stat().st_mode & 0o777, backup.stat().st_mode & 0o777), (0o640, 0o640))
        lines = settings.read_text().splitlines()
        for line in text.splitlines():
            self.assertIn(line if line != '        "a": {}' else '        "a": {},', lines)
        result = self.install("zed", "--yes", "-w", self.root)
        self.assertEqual(result.returncode, 0)
        self.assertIn("already", result.stdout)
        self.assertEqual(self.install("zed", "--yes", "--name", "other", self.root).returncode, 0)
        self.assertEqual(len(list(settings.parent.glob("settings.json.backup-*"))), 2)
        self.assertIn('"other": {', settings.read_text())
        self.assertIn('"gatehouse-root": {', settings.read_text())
        changed = [record for record in self.records() if record["operation"] == "write"]
        self.assertIn(".config/zed/settings.json", {record["relativePath"] for record in changed})

    def test_what_is_installed_is_what_is_printed(self):
        for client, file in (("claude-code", ".claude.json"), ("claude-desktop", ".config/Claude/claude_desktop_config.json"),
                             ("codex", ".codex/config.toml"), ("continue", ".continue/mcpServers/gatehouse-root.yaml"),
                             ("cursor", ".cursor/mcp.json"), ("gemini", ".gemini/settings.json"),
                             ("vscode", ".config/Code/User/mcp.json"),
                             ("windsurf", ".codeium/windsurf/mcp_config.json"), ("zed", ".config/zed/settings.json")):
            printed = run("--print-config", client, self.root, env={"HOME": str(self.state)})
            result = self.install(client, "--yes", self.root)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual((self.state / file).read_text(), printed.stdout)
            self.assertEqual((self.state / file).stat().st_mode & 0o777, 0o600)

    def test_nothing_is_installed_without_a_yes(self):
        settings = self.state / ".cursor/mcp.json"
        settings.parent.mkdir()
        settings.write_text("{}")
        result = self.install("cursor", self.root)
        self.assertEqual(result.returncode, 1)
        self.assertIn("+", result.stdout)
        self.assertIn("--yes", result.stderr)
        for answer, status in (("\n", 1), ("n\n", 1), ("yesterday\n", 1), ("y\n", 0)):
            self.assertEqual(settings.read_text(), "{}")
            result = self.install("cursor", self.root, answer=answer)
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertIn(f"Change {settings}? [y/N] ", result.stderr)
        self.assertIn("gatehouse-root", settings.read_text())
        self.assertEqual(run("--yes", self.root).returncode, 2)
        self.assertEqual(run("--install", "zed", "--print-config", "zed", self.root).returncode, 2)

    def test_what_is_not_understood_is_not_changed(self):
        elsewhere = self.outside / "settings"
        elsewhere.write_text("{}")
        for client, file, text, words in (("gemini", ".gemini/settings.json", '{"a": 1', "line 1"),
                                          ("codex", ".codex/config.toml", 'mcp_servers = {}\n', "line 1"),
                                          ("cursor", ".cursor/mcp.json", None, "link")):
            path = self.state / file
            path.parent.mkdir()
            if text is None:
                path.symlink_to(elsewhere)
            else:
                path.write_text(text)
            result = self.install(client, "--yes", self.root)
            self.assertEqual(result.returncode, 1)
            self.assertIn("is unchanged", result.stderr)
            self.assertIn(words, result.stderr)
            self.assertEqual(path.read_text(), text or "{}")
            self.assertEqual(os.listdir(path.parent), [path.name])
            if text is not None:  # to be pasted
                self.assertIn("gatehouse-root", result.stdout)
        self.assertEqual(self.install("n8n", "--yes", self.root).returncode, 1)
        self.assertEqual(self.install("codex", "--yes", self.root, CODEX_HOME=str(self.room / "none")).returncode, 1)

    def uninstall(self, client, *flags):
        return run("--uninstall", client, *flags, env={"HOME": str(self.state), "XDG_STATE_HOME": str(self.state)})

    def test_what_was_installed_is_taken_out_again(self):
        for client, file, text in (("zed", ".config/zed/settings.json", '// mine\n{\n  "context_servers": {\n    "a": {}\n  }\n}\n'),
                                   ("codex", ".codex/config.toml", 'model = "x"\n\n[mcp_servers.a]\ncommand = "a"\n'),
                                   ("continue", ".continue/mcpServers/gatehouse-root.yaml", None)):
            path = self.state / file
            path.parent.mkdir(parents=True)
            if text is not None:
                path.write_text(text)
            self.assertEqual(self.install(client, "--yes", self.root).returncode, 0)
            installed = path.read_text()
            result = self.uninstall(client, self.root)
            self.assertEqual((result.returncode, path.read_text()), (1, installed))
            self.assertIn("--yes", result.stderr)
            result = self.uninstall(client, "--yes", self.root)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("\n-", result.stdout)
            self.assertEqual(path.read_text() if path.exists() else None, text)
            self.assertIn(installed, [backup.read_text() for backup in path.parent.glob(path.name + ".backup-*")])
            result = self.uninstall(client, "--yes", self.root)
            self.assertEqual(result.returncode, 1)
            self.assertIn("there is no gatehouse-root in", result.stderr)
        self.assertEqual(self.uninstall("zed", "--install", "zed", self.root).returncode, 2)

    def test_a_folder_that_has_gone_is_taken_out_by_its_name(self):
        folder = self.room / "gone"
        folder.mkdir()
        self.assertEqual(self.install("cursor", "--yes", folder).returncode, 0)
        folder.rmdir()
        result = self.uninstall("cursor", "--yes", f"{folder}/")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(json.loads((self.state / ".cursor/mcp.json").read_text()), {"mcpServers": {}})

    def test_a_workspace_apart_is_named_after_its_provider(self):
        self.assertEqual(self.install("cursor", "--yes", "--workspace", "isolated").returncode, 0)
        installed = json.loads((self.state / ".cursor/mcp.json").read_text())["mcpServers"]
        self.assertEqual(installed["gatehouse-isolated"]["args"], ["mcp", "--workspace", "isolated"])

    def test_two_that_install_at_once_lose_nothing(self):
        running = [subprocess.Popen([mcp_client.GATEHOUSE, "mcp", "--install", "cursor", "--yes", "--name", f"n{i}",
                                     str(self.root)], env={"PATH": "/usr/bin:/bin", "HOME": str(self.state)},
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                   for i in range(8)]
        said = [process.communicate(timeout=PATIENCE)[1] for process in running]
        done = {f"n{i}" for i, process in enumerate(running) if process.returncode == 0}
        self.assertTrue(done, said)
        self.assertEqual(set(json.loads((self.state / ".cursor/mcp.json").read_text())["mcpServers"]), done)
        for i, process in enumerate(running):
            if process.returncode:
                self.assertIn("try again", said[i])


class State(Scene):
    def test_a_state_directory_in_the_folder_is_out_of_reach(self):
        inside = self.root / "inside"
        (self.root / "seen.txt").write_text("x")
        server = self.start("-w", "--state-dir", inside)
        server.good("write_file", filePath="seen.txt", content="y")  # something to undo
        before = picture(inside)
        for name in ("inside", "inside/audit.jsonl", "inside/audit.jsonl.reads", "inside/temp",
                     "./inside/../inside/temp"):
            server.bad("read_file", filePath=name)
            server.bad("stat_file", path=name)
            server.bad("write_file", filePath=name, content="x")
            server.bad("append_file", filePath=name, content="x")
            server.bad("delete", path=name)
            server.bad("move", sourcePath=name, destinationPath="out")
            server.bad("move", sourcePath="seen.txt", destinationPath=name)
            with self.assertRaises(Refused):
                server.request("resources/read", {"uri": (self.root / name).as_uri()})
        for result in (server.call("get_file_tree", dirPath=".", maxDepth=9),
                       server.call("list_files", dirPath="."),
                       server.call("search_files", name="**"),
                       server.request("resources/list"),
                       complete(server, ""), complete(server, "inside/")):
            text = json.dumps(result)
            self.assertNotIn("audit", text)
            self.assertNotIn("inside", text.replace(str(self.root), ""))
        server.call("list_files", dirPath="inside")
        after = picture(inside)
        self.assertEqual(set(after), set(before))
        self.assertEqual(after["audit.jsonl"][1][:len(before["audit.jsonl"][1])],
                         before["audit.jsonl"][1])

    def test_what_was_done_and_refused_is_recorded(self):
        (self.root / "a.txt").write_text("x")
        server = self.start("-w")
        server.good("read_file", filePath="a.txt")
        server.good("write_file", filePath="b.txt", content="x")
        server.bad("read_file", filePath="../outside/x")
        self.assertEqual(server.end(), 0)
        seen = {(record["operation"], record["outcome"]) for record in self.records()}
        self.assertTrue(any(outcome == "denied" for _, outcome in seen), seen)
        self.assertIn(("read", "success"), seen)
        self.assertTrue(any("write" in operation and outcome == "success"
                            for operation, outcome in seen), seen)

    def read_until_it_says(self, server, words):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            server.good("read_file", filePath="a.txt")
            said = os.pread(server.said.fileno(), 1 << 20, 0).decode()
            if words in said:
                return said
        raise AssertionError(said)

    def test_a_record_that_cannot_be_written_is_told_once_and_nothing_is_changed(self):
        (self.root / "a.txt").write_text("1")
        server = self.start("-w")
        others = []
        for name in ("audit.jsonl", "audit.jsonl.reads"):
            others.append(self.outside / name)
            os.link(self.state / "gatehouse" / name, others[-1])  # nobody writes to one with two
        for _ in range(3):
            server.good("read_file", filePath="a.txt")
            self.assertIn("audit log could not be written",
                          server.bad("write_file", filePath="a.txt", content="2"))
        self.read_until_it_says(server, "cannot write the audit log")
        for other in others:
            other.unlink()
        said = self.read_until_it_says(server, "written again")
        self.assertEqual(said.count("cannot write the audit log"), 1)
        self.assertEqual((self.root / "a.txt").read_text(), "1")
        server.good("write_file", filePath="a.txt", content="3")
        self.assertGreater(sum(int(each.get("dropped", 0)) for each in self.records()), 3)

    def mounted_on_themselves(self, *folders):
        """What a program is started with so that each of these is a mount of its own."""
        mount = 'mount --bind "$1" "$1" || exit'
        script = f'until [ "$1" = -- ]; do {mount}; shift; done; shift; exec "$@"'
        for unshare in (["unshare", "-m"], ["unshare", "-rm"]):  # the second: as anybody
            before = [*unshare, "sh", "-c", script, "sh", *map(str, folders), "--"]
            if subprocess.run([*before, "true"], capture_output=True).returncode == 0:
                return before
        self.skipTest("nothing can be mounted here")

    def test_undo_works_where_folder_and_state_are_two_mounts_of_one_disk(self):
        server = self.start("-w", before=self.mounted_on_themselves(self.root, self.state))
        server.good("write_file", filePath="new", content="1")
        told = server.good("undo_changes", all=True)
        self.assertEqual(told["remaining"], 0)
        self.assertEqual(picture(self.root), {})

    def test_state_and_record_belong_to_the_user_alone(self):
        self.start().call("list_files", dirPath=".")
        for path in [self.state / "gatehouse", *(self.state / "gatehouse").rglob("*")]:
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)

    def test_several_servers_share_a_state_directory(self):
        servers = [self.start("-w") for _ in range(4)]
        for number, server in enumerate(servers):
            server.good("write_file", filePath=f"f{number}", content=str(number))
        for number, server in enumerate(servers):
            self.assertEqual(server.good("undo_changes", all=True)["remaining"], 0)
        self.assertEqual(picture(self.root), {})


if __name__ == "__main__":
    mcp_client.main()
