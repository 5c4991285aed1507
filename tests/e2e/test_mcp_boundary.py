#!/usr/bin/env python3
"""What `gatehouse mcp` may not reach: names that lead out, races, and the active restrictions."""
import contextlib
import ctypes
import json
import os
import pathlib
import socket
import sys
import time

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from mcp_client import PATIENCE, Refused, Scene, picture

SECRET = "the secret of somebody else"
ATTEMPTS = int(os.environ.get("RACE_ATTEMPTS", "2000"))
RENAME_EXCHANGE = 2
AT_FDCWD = -100
libc = ctypes.CDLL(None, use_errno=True)


class Boundary(Scene):
    def setUp(self):
        super().setUp()
        for folder in (self.outside, self.twin):
            (folder / "secret").write_text(SECRET)
            (folder / "folder").mkdir()
            (folder / "folder/secret").write_text(SECRET)
        (self.root / "in").mkdir()
        (self.root / "in/file").write_text("inside\n")

    def attempts(self, name, folder=None):
        """Every tool call that would read, show or change what `name` leads to."""
        folder = name if folder is None else folder
        return [
            ("read_file", {"filePath": name}), ("stat_file", {"path": name}),
            ("write_file", {"filePath": name, "content": "broken in"}),
            ("append_file", {"filePath": name, "content": "broken in"}),
            ("edit_file", {"filePath": name, "oldString": "secret", "newString": "broken in"}),
            ("edit_files", {"edits": [{"filePath": name, "oldString": "secret",
                                       "newString": "broken in"}]}),
            ("copy_file", {"sourcePath": name, "destinationPath": "stolen"}),
            ("copy_file", {"sourcePath": "in/file", "destinationPath": name}),
            ("move", {"sourcePath": name, "destinationPath": "stolen"}),
            ("move", {"sourcePath": "in/file", "destinationPath": name}),
            ("delete", {"path": name}), ("create_directory", {"dirPath": f"{folder}/new"}),
            ("write_file", {"filePath": f"{folder}/new", "content": "broken in"}),
            ("list_files", {"dirPath": folder}), ("get_file_tree", {"dirPath": folder}),
            ("search_files", {"name": "**", "dirPath": folder}),
            ("extract_archive", {"archivePath": name, "destinationPath": "stolen"}),
        ]

    def assert_closed(self, server, names, may_act=(), folder=None, may_subscribe=False):
        """None of the names reads, shows or changes anything outside."""
        outside, twin = picture(self.outside), picture(self.twin)
        inside = picture(self.root)
        for name in names:
            for tool, arguments in self.attempts(name, folder):
                if tool in may_act:
                    continue
                result = server.call(tool, **arguments)
                text = json.dumps(result)
                self.assertNotIn(SECRET, text, (tool, name))
                if tool == "list_files":
                    self.assertEqual(result.get("structuredContent", {}).get("entries", []), [], name)
                else:
                    self.assertTrue(result.get("isError"), (tool, arguments, result))
            uri = "file://" + name if name.startswith("/") else f"file://{self.root}/{name}"
            for method in ("resources/read", *([] if may_subscribe else ["resources/subscribe"])):
                with self.assertRaises(Refused, msg=uri):
                    server.request(method, {"uri": uri})
        self.assertEqual(picture(self.outside), outside)
        self.assertEqual(picture(self.twin), twin)
        self.assertEqual(picture(self.root), inside)


class Names(Boundary):
    def test_names_that_lead_up(self):
        self.assert_closed(self.start("-w"), [
            "..", "../outside/secret", "in/../../outside/secret", "./../outside/secret",
            "in/../../root-evil/secret", "../root-evil/secret", "../root/../outside/secret",
            "in//..//..//outside/secret", "../../../../../../../../etc/passwd",
            "in/" * 100 + "../" * 102 + "outside/secret",
        ])

    def test_absolute_names_outside(self):
        self.assert_closed(self.start("-w"), [
            "/etc/passwd", str(self.outside / "secret"), str(self.twin / "secret"),
            f"{self.root}-evil/secret", f"{self.root}/../outside/secret", "/proc/self/environ",
            "/proc/self/root/etc/passwd", "/dev/zero", "/",
        ])

    def test_bytes_that_are_no_name(self):
        server = self.start("-w")
        names = ["in/file\0", "\0", "in\0/../../outside/secret", "x" * 5000, "a/" * 3000]
        before = picture(self.root)
        for name in names:
            for tool, arguments in self.attempts(name):
                result = server.call(tool, **arguments)
                if tool not in ("list_files", "create_directory"):
                    self.assertTrue(result.get("isError"), (tool, name[:20], result))
        self.assertEqual(picture(self.root), before)

    def test_what_looks_like_leading_out_but_does_not(self):
        server = self.start()
        for name in ("in/../in/file", "./in//file", str(self.root / "in/file"), "in/./file"):
            self.assertEqual(server.good("read_file", filePath=name)["content"], "inside\n")

    def test_encoded_addresses_lead_nowhere(self):
        server = self.start()
        for uri in (f"file://{self.root}/%2e%2e/outside/secret",
                    f"file://{self.root}/in%2f..%2f..%2foutside/secret",
                    f"file://{self.root}-evil/secret", f"file://{self.root}/in/file%00",
                    f"file://elsewhere{self.root}/in/file", f"http://{self.root}/in/file",
                    "file:///proc/self/environ", "file://", "file:///", "", "%"):
            with self.assertRaises(Refused) as refused:
                server.request("resources/read", {"uri": uri})
            self.assertNotIn(SECRET, json.dumps(refused.exception.error))

    def test_completion_shows_nothing_from_outside(self):
        (self.root / "out").symlink_to(self.outside)
        server = self.start()
        for typed in ("../", "/", "/etc/", f"{self.outside}/", f"{self.root}/../outside/", "out/",
                      "../outside/s"):
            values = server.request("completion/complete", {
                "ref": {"type": "ref/resource", "uri": f"{self.root.as_uri()}/{{+path}}"},
                "argument": {"name": "path", "value": typed}})["completion"]["values"]
            self.assertEqual(values, [], typed)


class Links(Boundary):
    # Of a link, removing and moving mean the link itself.
    ITSELF = ("delete", "move")

    def test_links_that_lead_out(self):
        for name, target in (("absolute", self.outside / "secret"), ("up", "../outside/secret"),
                             ("twin", "../root-evil/secret"), ("by-way", "in/../../outside/secret"),
                             ("self", f"/proc/self/root{self.outside}/secret"),
                             ("absolute-inside", self.root / "in/file")):
            (self.root / name).symlink_to(target)
            self.assert_closed(self.start("-w"), [name], may_act=self.ITSELF)

    def test_directories_that_are_links_out(self):
        (self.root / "way").symlink_to(self.outside)
        (self.root / "in/way").symlink_to("../../outside/folder")
        server = self.start("-w")
        self.assert_closed(server, ["way/secret", "way/folder/secret", "way/folder"], folder="way")
        self.assert_closed(server, ["in/way/secret"], folder="in/way")

    def test_links_that_go_round_end(self):
        (self.root / "a").symlink_to("b")
        (self.root / "b").symlink_to("a")
        (self.root / "self").symlink_to("self")
        (self.root / "in/up").symlink_to("..")
        server = self.start("-w")
        self.assert_closed(server, ["a", "b", "self"], may_act=self.ITSELF)
        self.assertEqual(server.good("read_file", filePath="in/up/in/up/in/file")["content"],
                         "inside\n")
        server.call("get_file_tree", dirPath=".", maxDepth=50)
        server.call("search_files", name="**")

    def test_removing_a_link_leaves_what_it_leads_to(self):
        (self.root / "way").symlink_to(self.outside)
        (self.root / "in/deep").symlink_to(self.outside / "folder")
        before = picture(self.outside)
        server = self.start("-w")
        server.call("delete", path="way")
        server.call("delete", path="in")
        self.assertEqual(picture(self.outside), before)

    def test_moving_over_a_link_replaces_the_link(self):
        (self.root / "way").symlink_to(self.outside / "secret")
        before = picture(self.outside)
        self.start("-w").call("move", sourcePath="in/file", destinationPath="way")
        self.assertEqual(picture(self.outside), before)

    def test_hard_links_to_files_outside(self):
        os.link(self.outside / "secret", self.root / "hard")
        server = self.start("-w")
        # Its name is in the root, and may be told; what is in it may not.
        self.assert_closed(server, ["hard"], may_act=("stat_file", "search_files", *self.ITSELF),
                           may_subscribe=True)
        for place in ("hard", "."):
            found = server.good("search_files", pattern=".", dirPath=place, filePattern="hard")
            self.assertEqual(found["matches"], [])

    def test_the_refusal_of_a_hard_link_names_the_option(self):
        os.link(self.outside / "secret", self.root / "hard")
        server = self.start("-w")
        self.assertIn("--hard-links allow", server.bad("read_file", filePath="hard"))
        self.assertIn("never changed", server.bad("write_file", filePath="hard", content="x"))
        self.assertIn("--hard-links allow", server.good("search_files", pattern=".", dirPath=".")["skipped"]["hint"])

    def test_hard_links_that_may_be_read_are_read_and_never_changed(self):
        secret = (self.outside / "secret").read_text()
        os.link(self.outside / "secret", self.root / "hard")
        (self.root / "keys").write_text("needle-1")
        (self.root / "shut").mkdir()
        (self.root / "shut" / "in").write_text("needle-2")
        (self.root / ".env").write_text("needle-3")
        for name in ("keys", "shut/in", ".env"):
            os.link(self.root / name, self.root / f"other-{name.strip('.').replace('/', '-')}")
        before = picture(self.outside)
        server = self.start("-w", "--hard-links", "allow", "--deny", "keys", "--deny", "shut/**")
        self.assertEqual(server.good("read_file", filePath="hard")["content"], secret)
        found = server.good("search_files", pattern=secret.split()[0])
        self.assertEqual([match["path"] for match in found["matches"]], ["hard"])
        for tool, arguments in (("write_file", {"filePath": "hard", "content": "x"}),
                                ("append_file", {"filePath": "hard", "content": "x"}),
                                ("edit_file", {"filePath": "hard", "oldString": secret, "newString": "x"}),
                                ("move", {"sourcePath": "hard", "destinationPath": "moved"}),
                                ("copy_file", {"sourcePath": "hard", "destinationPath": "copied"})):
            self.assertIn("hard links", server.bad(tool, **arguments), tool)
        self.assertEqual(picture(self.outside), before)
        for name in ("other-keys", "other-shut-in", "other-env"):
            self.assertIn("denied or usually holds secrets", server.bad("read_file", filePath=name))
        found = server.good("search_files", pattern="needle")
        self.assertEqual(found["matches"], [])
        # Its other name, too, is one that is asked about.
        shown = self.start("--hard-links", "allow", "--sensitive", "allow")
        self.assertEqual(shown.good("read_file", filePath="other-env")["content"], "needle-3")

    def test_pipes_sockets_and_devices_do_not_hang(self):
        os.mkfifo(self.root / "pipe")
        with socket.socket(socket.AF_UNIX) as listener:
            with contextlib.chdir(self.root) if hasattr(contextlib, "chdir") else \
                    contextlib.nullcontext():
                listener.bind("socket")
        names = ["pipe", "socket"]
        if os.geteuid() == 0:
            with contextlib.suppress(PermissionError):
                os.mknod(self.root / "zero", 0o20666, os.makedev(1, 5))
                names.append("zero")
        server = self.start("-w")
        self.assert_closed(server, names, may_act=("stat_file", *self.ITSELF), may_subscribe=True)

    def test_what_is_hidden_from_lists_is_named_nowhere(self):
        (self.root / "link").symlink_to("in/file")
        os.mkfifo(self.root / "pipe")
        server = self.start()
        for result in (server.call("list_files", dirPath="."),
                       server.call("get_file_tree", dirPath="."),
                       server.call("search_files", name="**"),
                       server.request("resources/list")):
            for word in ("link", "pipe"):
                self.assertNotIn(word, json.dumps(result).replace(str(self.root), ""))


class Race(Boundary):
    """Somebody exchanges a directory with a link to outside, as fast as the kernel can."""

    def exchange_forever(self, one, other):
        one, other = os.fsencode(one), os.fsencode(other)
        if libc.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) != 0:
            self.skipTest(f"no renameat2 here: {os.strerror(ctypes.get_errno())}")
        child = os.fork()
        if child == 0:
            while os.getppid() == self.parent:
                libc.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)
            os._exit(0)
        def stop():
            os.kill(child, 9)
            os.waitpid(child, 0)
        return stop

    def hammer(self, link_target, **settings):
        self.parent = os.getpid()
        (self.root / "way").mkdir()
        (self.root / "way/secret").write_text("inside\n")
        (self.outside / "target").write_text("before")
        (self.root / "link").symlink_to(link_target)
        outside = picture(self.outside)
        server = self.start("-w", **settings)
        stop = self.exchange_forever(self.root / "way", self.root / "link")
        passed = refused = batch = 0
        until = time.monotonic() + mcp_client.PATIENCE
        try:
            # Whoever exchanges them may not get a turn for a while: both ends have to be seen.
            while batch < ATTEMPTS or (time.monotonic() < until and not (passed and refused)):
                results = server.call_all(
                    [("read_file", {"filePath": "way/secret"}), ("list_files", {"dirPath": "way"}),
                     ("write_file", {"filePath": f"way/new{batch}", "content": "x"}),
                     ("write_file", {"filePath": "way/target", "content": "broken in"}),
                     ("stat_file", {"path": "way/folder/secret"})] * 10)
                for number, result in enumerate(results):
                    text = json.dumps(result)
                    self.assertNotIn(SECRET, text)
                    self.assertTrue(result.get("isError") or number % 5 != 4, text)
                    self.assertNotIn("way/folder\\", text)  # which only the outside has
                    if result.get("isError"):
                        refused += 1
                    else:
                        passed += 1
                if batch % 500 == 0:
                    server.call("get_file_tree", dirPath=".", maxDepth=5)
                    server.call("search_files", name="**")
                batch += 50
        finally:
            stop()
        self.assertEqual(picture(self.outside), outside)
        self.assertTrue(passed and refused, (passed, refused))
        return server

    def test_a_link_that_leads_up(self):
        self.hammer("../outside")

    def test_an_absolute_link(self):
        self.hammer(self.outside)

    def test_without_openat2(self):
        self.hammer("../outside", before=(mcp_client.WITHOUT_SYSCALL, "openat2"))

    def test_without_landlock(self):
        """The checks of each name hold alone."""
        server = self.hammer("../outside",
                             before=(mcp_client.WITHOUT_SYSCALL, "landlock_create_ruleset"))
        self.assertIn("not confined", server.words())


class Walls(Boundary):
    def test_no_new_privileges_and_a_filter_for_calls(self):
        for flags in ((), ("-w",)):
            server = self.start(*flags)
            self.assertEqual(server.status("NoNewPrivs"), "1")
            self.assertEqual(server.status("Seccomp"), "2")
            for task in pathlib.Path(f"/proc/{server.pid}/task").iterdir():
                self.assertIn("Seccomp:\t2", (task / "status").read_text())

    def test_of_what_root_may_do_only_its_files_are_left(self):
        mine = self.root / "theirs"
        mine.write_text("1")
        mine.chmod(0o600)
        is_root = os.geteuid() == 0
        if is_root:
            os.chown(mine, 65534, 65534)
        server = self.start("-w")
        server.call_all([("read_file", {"filePath": "theirs"})] * 20)
        server.good("edit_file", filePath="theirs", oldString="1", newString="2")
        about = mine.stat()
        self.assertEqual((mine.read_text(), about.st_mode & 0o7777), ("2", 0o600))
        self.assertEqual(about.st_uid, 65534 if is_root else os.geteuid())
        tasks = list(pathlib.Path(f"/proc/{server.pid}/task").iterdir())
        self.assertGreater(len(tasks), 1)
        for task in tasks:
            sets = {line.split(":")[0]: int(line.split()[1], 16)
                    for line in (task / "status").read_text().splitlines()
                    if line.startswith("Cap")}
            # Owners, access and modes of files: the lowest five.
            self.assertEqual(sets["CapEff"] & ~0b11111, 0, sets)
            self.assertEqual(sets["CapPrm"], sets["CapEff"])
            self.assertEqual(sets["CapInh"] | sets["CapAmb"], 0)
            if is_root:
                self.assertEqual(sets["CapBnd"], 0)

    def test_the_walls_stand_before_the_first_answer(self):
        server = self.start(opens=False)
        server.request("ping")
        self.assertEqual(server.status("Seccomp"), "2")

    def test_its_only_child_is_the_one_that_starts_gatehouse_media(self):
        """A copy from before the walls: it has the socket to its parent, and no stream of the client."""
        server = self.start("-w")
        server.call_all([("read_file", {"filePath": "in/file"})] * 50)
        members = mcp_client.session_members(server.pid)
        self.assertEqual((len(members), server.pid in members), (2, True))
        if os.geteuid() == 0:
            starter, = set(members) - {server.pid}
            deadline = time.monotonic() + PATIENCE
            while (found := self.opened(starter)) != ["/dev/null", "/dev/null", "socket"]:
                self.assertLess(time.monotonic(), deadline, found)  # it may still be beginning
                time.sleep(0.02)

    def opened(self, pid):
        """What its descriptors but standard error lead to."""
        found = {}
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                found[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}").partition(":")[0]
        found.pop(2, None)
        return [target for _, target in sorted(found.items())]

    def test_others_of_the_same_user_cannot_look_into_it(self):
        server = self.start()
        if os.geteuid() == 0:
            self.skipTest("root may look into everything")
        with self.assertRaises(PermissionError):
            os.listdir(f"/proc/{server.pid}/fd")
        with self.assertRaises(PermissionError):
            pathlib.Path(f"/proc/{server.pid}/environ").read_bytes()

    def test_what_was_inherited_is_closed_and_nothing_else_is_open(self):
        if os.geteuid() != 0:
            self.skipTest("only root may look")
        with open(self.outside / "secret", "rb") as secret, \
                open(self.outside / "folder/secret", "ab") as other:
            server = self.start("-w", pass_fds=(secret.fileno(), other.fileno()))
            server.good("write_file", filePath="a", content="b")
            targets = {}
            for name in os.listdir(f"/proc/{server.pid}/fd"):
                with contextlib.suppress(FileNotFoundError):  # it is at work
                    targets[int(name)] = os.readlink(f"/proc/{server.pid}/fd/{name}")
        sockets = [number for number, target in targets.items() if target.startswith("socket:")]
        # Where terminals of `gatehouse ask` connect, and the one to what starts gatehouse-media.
        self.assertEqual(len(sockets), 2)
        for number, target in targets.items():
            if number == 2 or number in sockets:
                continue  # the file that we gave it
            self.assertTrue(
                target.startswith((str(self.root), str(self.state), "pipe:", "anon_inode:",
                                   "/dev/null")) and "root-evil" not in target,
                (number, target))
            self.assertNotIn("io_uring", target)  # what it is told passes no filter

    def test_a_folder_that_is_reached_by_a_link_is_the_folder(self):
        (self.room / "alias").symlink_to("root")
        server = self.start(folder=self.room / "alias")
        self.assertEqual(server.good("read_file", filePath="in/file")["content"], "inside\n")
        tree = server.call("get_file_tree", dirPath=".")["content"][0]["text"]
        self.assertTrue(tree.startswith(f"{self.root}/\n"), tree)

    def test_a_folder_that_is_replaced_is_not_followed(self):
        server = self.start("-w")
        self.root.rename(self.room / "old")
        self.root.mkdir()
        (self.root / "in").symlink_to(self.outside)
        before = picture(self.outside)
        for result in (server.call("read_file", filePath="in/secret"),
                       server.call("list_files", dirPath="in"),
                       server.call("write_file", filePath="in/new", content="x")):
            self.assertNotIn(SECRET, json.dumps(result))
        self.assertEqual(picture(self.outside), before)


class OtherSessions(Scene):
    def test_their_record_is_out_of_reach_wherever_ours_is_kept(self):
        theirs = self.state / "gatehouse/audit.jsonl"
        self.start("--write").end()
        before = theirs.read_bytes()
        server = self.start("--write", "--state-dir", self.outside / "own", folder=self.room)
        for call in (("write_file", {"filePath": "state/gatehouse/audit.jsonl", "content": ""}),
                     ("append_file", {"filePath": "state/gatehouse/audit.jsonl", "content": "x"}),
                     ("delete", {"path": "state/gatehouse"}),
                     ("delete", {"path": "state"}),
                     ("read_file", {"filePath": "state/gatehouse/audit.jsonl"})):
            server.bad(call[0], **call[1])
        self.assertEqual(server.good("list_files", dirPath="state")["entries"],
                         [{"path": "state/.local", "type": "directory"}])
        server.end()
        self.assertEqual(theirs.read_bytes(), before)


if __name__ == "__main__":
    mcp_client.main()
