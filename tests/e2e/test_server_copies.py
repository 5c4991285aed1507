#!/usr/bin/env python3
"""The copies of `gatehouse workspace` on the page of gatehouse serve: for whom, what it shows, and
that nothing is applied but what was shown.

Arguments: gatehouse, and what unittest takes.
"""
import json
import os
import pathlib
import select
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # not into the sources
from server_scene import OURS, PATIENCE, Server, clean_environment
from test_accounts import Scene
from test_server import GATEHOUSE, wait_until

ODD = b"new\nline\x1b[31m\xff<b>.txt"


class Copies(Scene):
    def setUp(self):
        super().setUp()
        self.copy = self.room / "state-workspaces" / "fix"

    def workspace(self, *words):
        result = subprocess.run([GATEHOUSE, "workspace", words[0], "--state-dir", self.state, *words[1:]],
                                env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True,
                                text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def open_page(self, *more):
        """With a copy that is called fix."""
        self.workspace("new", "--name", "fix", self.folder)
        self.server = self.serve("--copies", *more)
        self.owner = self.server.log_in()

    def get(self, path=""):
        return self.server.ask("GET", "/api/copies" + path, None, self.owner)[2]

    def post(self, path, body=None):
        status, _, answer = self.server.ask("POST", "/api/copies" + path, body or {}, self.owner | OURS)
        return status, answer

    def changes(self):
        """Those of fix by their names, once nothing changes any more."""
        wait_until(lambda: not any("being changed" in change.get("refused", "")
                                   for change in self.get("/fix")["changes"]), "settled")
        return {change["path"]: change for change in self.get("/fix")["changes"]}

    def test_what_was_changed_is_shown_and_applied_and_taken_back(self):
        (self.folder / "gone.txt").write_text("gone\n")
        self.open_page()
        self.assertTrue(self.server.ask("GET", "/api/state", None, self.owner)[2]["hasCopies"])
        listed, = self.get()["copies"]
        self.assertEqual((listed["name"], listed["original"]), ("fix", str(self.folder)))
        self.assertEqual(self.get("/fix")["changes"], [])
        (self.copy / "a.txt").write_text("hello you\n")
        (self.copy / "run.sh").write_text("#!/bin/sh\n")
        (self.copy / "run.sh").chmod(0o755)
        (self.copy / "gone.txt").unlink()
        changes = self.changes()
        self.assertIn("-hello\n+hello you\n", changes["a.txt"]["diff"])
        self.assertTrue(changes["run.sh"]["becomesExecutable"])
        self.assertFalse(self.get("/fix")["canUndo"])
        status, answer = self.post("/fix/apply", {"changes": [changes["a.txt"]["id"], changes["gone.txt"]["id"]]})
        self.assertEqual((status, answer), (200, {"left": [], "leftCount": 0, "done": 2}))
        self.assertEqual((self.folder / "a.txt").read_text(), "hello you\n")
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.txt"])
        after = self.get("/fix")
        self.assertTrue(after["canUndo"])
        self.assertEqual([change["path"] for change in after["changes"]], ["run.sh"])
        self.assertEqual(self.post("/fix/undo"), (200, {"left": [], "leftCount": 0, "done": 2}))
        self.assertEqual((self.folder / "a.txt").read_text(), "hello\n")
        self.assertEqual((self.folder / "gone.txt").read_text(), "gone\n")
        self.assertEqual(self.post("/fix/undo")[0], 404)
        log = (self.state / "audit.jsonl").read_text()
        self.assertIn("the project of a workspace, by the page", log)
        self.assertIn('"relativePath":"a.txt"', log)

    def test_nothing_is_applied_but_what_was_shown(self):
        self.open_page()
        (self.copy / "a.txt").write_text("good\n")
        (self.copy / "b.txt").write_text("also\n")
        changes = self.changes()
        chosen = {"changes": [changes["a.txt"]["id"], changes["b.txt"]["id"]]}
        (self.copy / "a.txt").write_text("evil\n")
        status, answer = self.post("/fix/apply", chosen)
        self.assertEqual((status, answer["error"]), (503, "busy"))
        self.assertIn("look at the changes again", answer["message"])
        self.assertEqual(os.listdir(self.folder), ["a.txt"])
        self.assertEqual((self.folder / "a.txt").read_text(), "hello\n")
        # What the user changes meanwhile counts as well, and is shown as a conflict then.
        chosen = {"changes": [self.changes()["a.txt"]["id"]]}
        (self.folder / "a.txt").write_text("mine\n")
        self.assertEqual(self.post("/fix/apply", chosen)[0], 503)
        change = self.changes()["a.txt"]
        self.assertEqual(change["conflict"], "your file has changed since the copy")
        self.assertEqual(self.post("/fix/apply", {"changes": [change["id"]]})[1]["done"], 1)
        self.assertEqual((self.folder / "a.txt").read_text(), "evil\n")
        self.assertEqual(self.post("/fix/undo")[1]["done"], 1)
        self.assertEqual((self.folder / "a.txt").read_text(), "mine\n")

    def test_hostile_names_and_contents(self):
        self.open_page()
        with open(os.path.join(os.fsencode(self.copy), ODD), "wb") as file:
            file.write(b"\x1b]0;title\x07 <script>alert(1)</script> \xff\n")
        os.symlink("/etc/passwd", self.copy / "link")
        os.mkfifo(self.copy / "fifo")
        (self.copy / ".env").write_text("KEY=secret-of-mine\n")
        (self.copy / "binary").write_bytes(b"\0\1\2")
        for number in range(3):
            (self.copy / f"long{number}").write_text("x" * 79 + "\n" + "line\n" * 400000)
        shown = self.get("/fix")
        self.assertNotIn("secret-of-mine", json.dumps(shown))
        changes = self.changes()
        self.assertLess(sum(len(change.get("diff", "")) for change in changes.values()), 5 << 20)
        self.assertEqual([changes[f"long{number}"].get("unshown", "")[:22] for number in range(3)],
                         ["", "there is too much to s", "there is too much to s"])
        for name in ("link", "fifo"):
            self.assertNotIn("id", changes[name])
            self.assertIn("refused", changes[name])
        odd, = [change for name, change in changes.items() if name.startswith("new\n")]
        self.assertEqual(self.post("/fix/apply", {"changes": [odd["id"]]})[1]["done"], 1)
        self.assertIn(ODD, os.listdir(os.fsencode(self.folder)))

    def test_more_changes_than_the_page_shows(self):
        self.open_page()
        for number in range(1100):
            (self.copy / f"{number}").touch()
        self.changes()
        shown = self.get("/fix")
        self.assertEqual((shown["count"], len(shown["changes"])), (1100, 1000))
        ids = [change["id"] for change in shown["changes"]]
        self.assertEqual(self.post("/fix/apply", {"changes": [*ids, "0" * 32]})[0], 413)
        self.assertEqual(self.post("/fix/apply", {"changes": ids})[1]["done"], 1000)
        self.assertEqual(len(os.listdir(self.folder)), 1001)

    def test_what_makes_no_sense_is_refused(self):
        self.open_page()
        for name, status in (("none", 404), ("..", 400), ("%2e%2e", 400), ("a/b", 404), ("x" * 65, 404),
                             ("-x", 404), ("", 404)):
            with self.subTest(name=name):
                self.assertEqual(self.server.ask("GET", f"/api/copies/{name}", None, self.owner)[0], status)
        self.assertEqual(self.post("/fix")[0], 404)
        self.assertEqual(self.post("/fix/remove")[0], 404)
        self.assertEqual(self.server.ask("GET", "/api/copies/fix/undo", None, self.owner)[0], 404)
        for body in ({}, {"changes": []}, {"changes": "x"}, {"changes": ["../a.txt"]}, {"changes": [7]},
                     {"changes": ["A" * 32]}, []):
            with self.subTest(body=body):
                self.assertEqual(self.server.ask("POST", "/api/copies/fix/apply", body, self.owner | OURS)[0], 400)
        # The cookie alone: another site's form has that, too.
        status, _, answer = self.server.ask("POST", "/api/copies/fix/undo", {}, self.owner)
        self.assertEqual((status, answer["error"]), (403, "origin_denied"))
        self.assertEqual(self.server.ask("GET", "/api/copies")[0], 401)

    def test_other_accounts_see_nothing(self):
        self.add("anna")
        self.workspace("new", "--name", "fix", self.folder)
        self.server = self.serve("--copies")
        anna = self.server.cookie("anna", "correct horse battery")
        self.assertFalse(self.server.ask("GET", "/api/state", None, anna)[2]["hasCopies"])
        for method, path in (("GET", ""), ("GET", "/fix"), ("POST", "/fix/apply"), ("POST", "/fix/undo")):
            with self.subTest(path=path):
                self.assertEqual(self.server.ask(method, "/api/copies" + path, "{}" if method == "POST" else None,
                                                 anna | OURS)[0], 404)
        self.assertEqual(self.server.end(), 0)
        self.assertEqual([record[1:] for record in self.recorded() if record[0] == "request"],
                         [("denied", "anna", "/api/copies" + path) for path in ("", "/fix", "/fix/apply", "/fix/undo")])

    def test_only_a_server_of_one_user_has_them(self):
        server = self.serve()
        owner = server.log_in()
        self.assertFalse(server.ask("GET", "/api/state", None, owner)[2]["hasCopies"])
        self.assertEqual(server.ask("GET", "/api/copies", None, owner)[0], 404)
        server.end()
        for words in (("--listen", "0.0.0.0:0", "--behind-proxy", "--public-url", "https://gate.example"),
                      ("--listen", "127.0.0.1:0", "--public-url", "https://gate.example"),
                      ("--listen", "127.0.0.1:0", "--trusted-proxy", "127.0.0.1")):
            with self.subTest(words=words):
                result = subprocess.run([GATEHOUSE, "serve", "--state-dir", self.state, "--copies", *words],
                                        env=clean_environment(), capture_output=True, text=True, timeout=PATIENCE)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn("only its own user", result.stderr)

    def up(self, **environment):
        """The server of `gatehouse up`, and whether its page has copies."""
        state = self.room / f"up{len(environment)}"
        server = Server.__new__(Server)
        server.process = subprocess.Popen(
            [GATEHOUSE, "up", self.folder, "--listen", "127.0.0.1:0", "--state-dir", state], text=True,
            env=clean_environment(HOME=str(self.home), **environment), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE)
        self.addCleanup(server.close)
        server.words = ""
        for line in server.process.stdout:
            server.words += line
            if line.startswith("Agents use"):
                break
        server.port = int(server.found(r"(?<=127\.0\.0\.1:)\d+"))
        shows = server.ask("GET", "/api/state", None, server.log_in())[2]["hasCopies"]
        self.assertEqual(server.end(), 0)
        return shows

    def test_gatehouse_up_has_them_unless_it_is_for_others(self):
        self.assertTrue(self.up())
        self.assertFalse(self.up(GATEHOUSE_TRUSTED_PROXY="127.0.0.1"))

    def test_what_starts_the_program_is_killed(self):
        self.open_page()
        children = pathlib.Path(f"/proc/{self.server.process.pid}/task/{self.server.process.pid}/children")
        child, = children.read_text().split()
        process = os.pidfd_open(int(child))
        self.addCleanup(os.close, process)
        os.kill(int(child), 9)
        self.assertTrue(select.select([process], [], [], PATIENCE)[0])
        for _ in range(2):
            status, _, answer = self.server.ask("GET", "/api/copies", None, self.owner)
            self.assertEqual(status, 501)
            self.assertIn("restart the server", answer["message"])
        self.assertEqual(self.server.ask("GET", "/api/state", None, self.owner)[0], 200)
        self.assertEqual(self.server.end(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
