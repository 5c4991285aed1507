#!/usr/bin/env python3
"""`gatehouse up` for several folders at once, in a network of its own, since the usual port is a fixed one.

Arguments: gatehouse.
"""
import http.cookiejar
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.dont_write_bytecode = True  # not into the sources
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import own_network
from patience import PATIENCE

GATEHOUSE = pathlib.Path(sys.argv[1]).resolve()
USUAL = "http://127.0.0.1:7654"


class Up:
    """A running one, up to its last line of the start."""

    def __init__(self, test, *words, waits=True):
        self.test = test
        self.process = subprocess.Popen(
            [GATEHOUSE, "up", *words], env=test.environment, cwd=test.room, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        test.addCleanup(self.end)
        self.said = ""
        if waits:
            self.wait()

    def wait(self):
        for line in self.process.stdout:
            self.said += line
            if line.startswith("Agents use"):
                break
        found = re.search(r"running at (\S+) for (.*)\n", self.said)
        self.test.assertIsNotNone(found, self.said)
        self.page, self.folder = found.groups()

    def end(self, signum=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(signum)
        self.said += self.process.stdout.read() if not self.process.stdout.closed else ""
        self.process.stdout.close()
        return self.process.wait(PATIENCE)


@unittest.skipUnless(own_network.INSIDE in os.environ, "a network of its own is not allowed here")
class SeveralFolders(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.room = pathlib.Path(place.name).resolve()
        for name in ("home", "run", "alpha", "beta"):
            (self.room / name).mkdir(mode=0o700)
        self.state = self.room / "home/.local/state/gatehouse"
        kept = {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")}
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.room / "home"),
                            "XDG_RUNTIME_DIR": str(self.room / "run"), **kept}
        # Like a browser, it has one jar for all ports.
        self.browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def run_it(self, *words):
        return subprocess.run([GATEHOUSE, *words], env=self.environment, cwd=self.room, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)

    def wait_for_daemons(self, *folders):
        deadline = time.monotonic() + PATIENCE
        while True:
            told = [json.loads(line) for line in self.run_it("status", "--json").stdout.splitlines()]
            if {one["dir"] for one in told if one["connected"]} == {str(self.room / folder) for folder in folders}:
                return
            self.assertLess(time.monotonic(), deadline, told)

    def log_in(self, up):
        self.browser.open(re.search(r"http://\S+/login\S+", up.said)[0], timeout=PATIENCE).close()

    def ask(self, up, path):
        with self.browser.open(up.page + path, timeout=PATIENCE) as answer:
            return json.load(answer)

    def test_a_second_folder_gets_an_address_keys_and_logins_of_its_own(self):
        first, second = Up(self, "alpha"), Up(self, "beta")
        self.assertEqual((first.page, first.folder), (USUAL, str(self.room / "alpha")))
        self.assertNotEqual(second.page, USUAL)
        self.assertEqual(second.folder, str(self.room / "beta"))
        self.wait_for_daemons("alpha", "beta")
        self.log_in(first)
        self.log_in(second)
        for up in (first, second):
            self.assertTrue(self.ask(up, "/api/state")["status"]["connected"])
        # What each says about keys is true.
        state, = re.findall(r'gatehouse agent --state-dir "(.*)" add NAME', second.said)
        self.assertEqual(self.run_it("agent", "--state-dir", state, "add", "helper").returncode, 0)
        self.assertIn("helper", self.run_it("agent", "--state-dir", state, "list").stdout)
        self.assertNotIn("helper", self.run_it("agent", "list").stdout)
        self.assertEqual((first.end(), second.end()), (0, 0))

    def test_folders_that_start_at_once_get_an_address_each(self):
        names = [f"folder-{number}" for number in range(4)]
        for name in names:
            (self.room / name).mkdir()
        ups = [Up(self, name, waits=False) for name in names]
        for up in ups:
            up.wait()
        self.assertEqual(len({up.page for up in ups}), len(ups))
        self.assertIn(USUAL, [up.page for up in ups])
        self.wait_for_daemons(*names)
        self.assertEqual([up.end() for up in ups], [0] * len(ups))

    def test_copies_and_the_audit_log_are_the_users_own(self):
        Up(self, "alpha")
        second = Up(self, "beta")
        self.wait_for_daemons("alpha", "beta")
        (self.room / "beta/file").write_text("text")
        made = self.run_it("workspace", "new", "--name", "tried", "beta")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.log_in(second)
        self.assertEqual([copy["name"] for copy in self.ask(second, "/api/copies")["copies"]], ["tried"])
        self.assertEqual([path.name for path in (self.state / second_state(second)).iterdir()], ["server"])

    def test_a_folder_keeps_what_it_got(self):
        first, second = Up(self, "alpha"), Up(self, "beta")
        page = second.page
        self.log_in(second)
        self.assertEqual((first.end(), second.end()), (0, 0))
        again = Up(self, "alpha/../beta/")
        self.assertEqual((again.page, again.folder), (page, str(self.room / "beta")))
        self.ask(again, "/api/state")
        self.assertEqual(Up(self, "alpha").page, USUAL)

    def test_the_same_folder_is_not_served_twice(self):
        for folder in ("alpha", "beta"):
            up = Up(self, folder)
            self.wait_for_daemons(*["alpha", "beta"][:1 if folder == "alpha" else 2])
            result = self.run_it("up", f"home/../{folder}")
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn(f"already running at {up.page}, for '{up.folder}'", result.stderr)
            self.assertIn("gatehouse status", result.stderr)
            # Which names the command for a link to just that page.
            about, = (each for each in self.run_it("status").stdout.split("\n\n") if up.page in each)
            words = shlex.split(re.search("For another browser: gatehouse (.*)", about)[1])
            self.assertTrue(self.run_it(*words).stdout.startswith(f"{up.page}/login?token="), words)

    def test_one_serves_several_folders_each_with_its_mode(self):
        for name in ("beta", "gamma"):
            (self.room / name).mkdir(exist_ok=True)
            (self.room / name / "two").write_text("2")
        up = Up(self, "alpha", "--ro", "beta", "--rw", self.room / "gamma")
        self.assertEqual(up.folder, str(self.room / "alpha"))
        self.assertIn(f"for {self.room}/alpha\n  and {self.room}/gamma\n  and beta (read only)\n", up.said)
        self.wait_for_daemons("alpha")
        self.assertIn(f"Folder: {self.room}/alpha\n  and {self.room}/gamma\n  and {self.room}/beta (read only)\n",
                      self.run_it("status").stdout)
        # One line: its server is no server beside it.
        self.assertEqual([one["path"] for one in json.loads(self.run_it("status", "--json").stdout)["otherFolders"]],
                         [f"{self.room}/gamma", f"{self.room}/beta"])
        self.log_in(up)
        self.assertEqual(self.ask(up, "/api/state")["status"]["directory"], str(self.room / "alpha"))
        self.assertEqual(self.call(up, "read_file", filePath=f"{self.room}/beta/two")["content"], "2")
        self.assertIn("may only be read", json.dumps(self.call(
            up, "write_file", filePath=f"{self.room}/beta/two", content="x")))
        self.assertIn("outside", json.dumps(self.call(up, "read_file", filePath=f"{self.room}/home/x")))
        self.assertEqual((self.room / "beta/two").read_text(), "2")
        self.assertEqual(up.end(), 0)

    def call(self, up, tool, **arguments):
        """What a tool answers that the page calls."""
        request = urllib.request.Request(
            up.page + "/api/call", json.dumps({"name": tool, "arguments": arguments}).encode(),
            {"Content-Type": "application/json", "X-Gatehouse-Request": "1", "Origin": up.page})
        with self.browser.open(request, timeout=PATIENCE) as answer:
            return json.load(answer).get("structuredContent")

    def offered(self, *flags, **variables):
        """Which groups of tools agents get: changing files, commands, the browser; and whether a file can be changed
        without a question."""
        self.environment.update(variables)
        up = Up(self, "alpha", *flags)
        for name in variables:
            del self.environment[name]
        self.wait_for_daemons("alpha")
        self.log_in(up)
        groups = {one["name"]: one for one in self.ask(up, "/api/state")["status"]["toolCategories"]}
        offered = [name for name, is_on in (("write", groups["filesystem"].get("writeAccess")),
                                            ("shell", groups["shell"]["enabled"]),
                                            ("browser", groups["browser"]["enabled"])) if is_on]
        if "write" in offered and variables.get("GATEHOUSE_PERMISSION_FILESYSTEM_WRITE") == "allow":
            self.assertEqual(self.call(up, "write_file", filePath="new", content="x"), {"path": "new"})
        self.assertEqual(up.end(), 0)
        return " ".join(offered)

    def test_what_agents_may_do_is_what_the_user_chose(self):
        settings = self.room / "home/.n8n-gateway/settings.json"
        self.assertEqual(self.offered(), "write shell browser")
        self.assertEqual(json.loads(settings.read_text())["permissions"]["shell"], "deny")  # of other servers
        self.assertEqual(self.offered(), "write shell browser")
        self.assertEqual(self.offered("--read-only"), "browser")
        self.assertEqual(self.offered("--permission-shell", "deny", "--permission-browser", "deny"), "write")
        self.assertEqual(self.offered("--permission-filesystem-write", "deny"), "shell browser")
        self.assertEqual(self.offered(GATEHOUSE_PERMISSION_SHELL="deny", GATEHOUSE_PERMISSION_FILESYSTEM_WRITE="allow"),
                         "write browser")
        self.assertEqual((self.room / "alpha/new").read_text(), "x")
        settings.write_text(json.dumps({"permissions": {"shell": "allow", "filesystemWrite": "deny", "browser": "deny"}}))
        self.assertEqual(self.offered(), "shell")
        self.assertEqual(self.offered("--read-only"), "")
        self.assertEqual(self.offered("--permission-filesystem-write", "ask"), "write shell")
        result = self.run_it("up", "alpha", "--read-only", "--permission-shell", "ask")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("--permission-shell has no effect with --read-only", result.stderr)

    def test_other_folders_that_cannot_be_served_are_refused_before_anything_starts(self):
        for flags, words in ((("--ro", "missing"), "cannot use the folder"), (("--rw", "nothing/"), "cannot use"),
                             (("--read-only", "--rw", "beta"), "--rw has no effect with --read-only"),
                             (("--read-only", "--shell-domain", "a.test"), "--shell-domain has no effect with --read-only"),
                             (("--shell-domain", "http://a.test"), "only its host is needed"),
                             (("--read-only", "--shell-env", "A=1"), "--shell-env has no effect with --read-only"),
                             (("--shell-env", "MISSING"), "--shell-env: the variable MISSING is not set here"),
                             (["--ro=beta"] * 32, "at most 32 folders")):
            result = self.run_it("up", "alpha", *flags)
            self.assertEqual((result.returncode, result.stdout), (1, ""), flags)
            self.assertIn(words, result.stderr)

    def test_what_is_hidden_is_hidden_from_the_page_and_from_agents(self):
        for name in ("a.txt", "src/main.c", "src/a.key", ".env.production"):
            (self.room / "alpha" / name).parent.mkdir(exist_ok=True)
            (self.room / "alpha" / name).write_text("needle")
            (self.room / "beta" / pathlib.Path(name).name).write_text("needle")
        up = Up(self, "alpha", "--ro", "beta", "--deny", "**/.env.production,*.{key,pem}",
                "--deny", f"{self.room}/beta/main.c", "--permission-shell", "allow")
        self.assertIn("\nHidden files: **/.env.production, *.{key,pem}, " + f"{self.room}/beta/main.c\n", up.said)
        self.wait_for_daemons("alpha")
        self.assertIn("\nHidden files: **/.env.production, *.{key,pem}, ", self.run_it("status").stdout)
        self.log_in(up)
        for name in ("src/a.key", ".env.production", f"{self.room}/beta/a.key", f"{self.room}/beta/main.c"):
            self.assertIn("is denied by --deny", json.dumps(self.call(up, "read_file", filePath=name)))
        names = [one["path"] for one in self.call(up, "list_files", dirPath=".")["entries"]]
        self.assertEqual(sorted(names), ["a.txt", "src"])
        found = self.call(up, "search_files", dirPath=".", query="needle")["matches"]
        self.assertEqual(sorted(one["path"] for one in found), ["a.txt", "src/main.c"])
        if has_boxes():
            told = self.call(up, "shell_execute", command="cat a.txt .env.production src/*.key ../beta/main.c; true")
            self.assertEqual(told["stdout"], "needle", told)
        self.assertEqual(up.end(), 0)

    def test_a_whole_path_in_the_folder_is_hidden_in_it(self):
        (self.room / "link").symlink_to("alpha")
        (self.room / "alpha/key").write_text("needle")
        up = Up(self, "link", "--ro", "beta", "--deny", f"{self.room}/alpha/key")
        self.wait_for_daemons("alpha")
        self.log_in(up)
        self.assertIn("is denied by --deny", json.dumps(self.call(up, "read_file", filePath="key")))

    def test_with_a_list_of_all_that_is_there_are_no_commands(self):
        (self.room / "alpha/src").mkdir()
        for name in ("a.txt", "src/main.c"):
            (self.room / "alpha" / name).write_text("text")
        (self.room / "home/.n8n-gateway").mkdir(mode=0o700)
        (self.room / "home/.n8n-gateway/settings.json").write_text('{"permissions": {"shell": "allow"}}')
        for flags, variables in ((("--allow", "src/**"), {}), ((), {"GATEHOUSE_ALLOW": "src/**"})):
            self.environment.update(variables)
            up = Up(self, "alpha", *flags)
            self.assertIn("\nNo commands, and no files but: src/**\n", up.said)
            self.wait_for_daemons("alpha")
            self.log_in(up)
            self.assertEqual(self.call(up, "read_file", filePath="src/main.c")["content"], "text")
            self.assertIn("is not allowed by --allow", json.dumps(self.call(up, "read_file", filePath="a.txt")))
            groups = {one["name"]: one["enabled"] for one in self.ask(up, "/api/state")["status"]["toolCategories"]}
            self.assertFalse(groups["shell"])
            self.assertEqual(up.end(), 0)

    def test_globs_that_are_none_are_refused_before_anything_starts(self):
        (self.room / "link").symlink_to("alpha")
        result = self.run_it("up", "link", "--deny", f"{self.room}/link/secrets")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn(f"the folder is '{self.room}/alpha', by its real path", result.stderr)
        for flags, words in ((("--deny", "a["), "--deny: glob"), (("--allow", "~/x"), "--allow '~/x'"),
                             (("--deny", f"{self.room}/beta/x"), "--deny '"),
                             (("--allow", "src/**", "--permission-shell", "ask"), "--allow does not apply to commands")):
            result = self.run_it("up", "alpha", *flags)
            self.assertEqual((result.returncode, result.stdout), (1, ""), flags)
            self.assertIn(words, result.stderr)

    def test_its_daemon_reads_files_of_several_names_where_that_was_asked(self):
        (self.room / "alpha/one").write_text("1")
        (self.room / "alpha/two").hardlink_to(self.room / "alpha/one")
        for flags, content in (((), None), (("--hard-links", "allow"), "1")):
            up = Up(self, "alpha", *flags)
            self.wait_for_daemons("alpha")
            self.log_in(up)
            answer = self.call(up, "read_file", filePath="two")
            self.assertEqual(answer.get("content") if isinstance(answer, dict) else None, content)
            self.assertEqual(up.end(), 0)

    def test_its_daemon_gets_the_variables_of_commands(self):
        self.environment["OF_MINE"] = "value"
        up = Up(self, "alpha", "--shell-env", "OF_MINE", "--shell-env", "FLAGS=a,b")
        self.wait_for_daemons("alpha")
        children = pathlib.Path(f"/proc/{up.process.pid}/task/{up.process.pid}/children").read_text().split()
        words = b"\0".join(pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children)
        self.assertIn(b"\0--shell-env\0OF_MINE\0--shell-env\0FLAGS=a,b\0", words)

    def test_what_its_daemon_refuses_ends_it(self):
        (self.room / "alpha/inner").mkdir()
        (self.room / "home/.n8n-gateway").mkdir(mode=0o700)
        for folder, words in (("alpha/inner", "contains the other"), ("home/.n8n-gateway", ".n8n-gateway")):
            result = self.run_it("up", "alpha", "--ro", folder)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(words, result.stdout + result.stderr)

    def test_down_ends_one_and_returns_when_its_address_is_free(self):
        for _ in range(3):
            up = Up(self, "alpha")
            self.assertEqual(up.page, USUAL)
            self.wait_for_daemons("alpha")
            self.assertEqual(self.run_it("down").stdout, f"Stopped 'gatehouse up' for {up.folder} ({USUAL})\n")
            self.assertEqual(up.end(), 0)
            self.assertTrue(up.said.endswith("\nGatehouse was stopped.\n"), up.said)
        up = Up(self, "alpha")
        self.assertEqual(up.end(signal.SIGINT), 0)
        self.assertNotIn("stopped", up.said)

    def test_down_needs_to_know_which_one(self):
        ups = [Up(self, "alpha"), Up(self, "beta")]
        self.wait_for_daemons("alpha", "beta")
        result = self.run_it("down")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("2 of them are running", result.stderr)
        self.assertIn(ups[1].page, self.run_it("down", "alpha/../beta").stdout)
        self.assertEqual(ups[1].process.wait(PATIENCE), 0)
        ups[1] = Up(self, "beta")
        self.wait_for_daemons("alpha", "beta")
        self.assertEqual(self.run_it("down", "--all").stdout.count("Stopped"), 2)
        self.assertEqual([up.process.wait(PATIENCE) for up in ups], [0, 0])
        self.assertEqual(self.run_it("down", "--all").returncode, 1)

    def test_an_address_that_others_have_is_left_to_them(self):
        with socket.create_server(("127.0.0.1", 7654)):
            up = Up(self, "alpha")
            self.assertNotEqual(up.page, USUAL)
            self.assertEqual(up.end(), 0)
            port = int(up.page.rsplit(":", 1)[1])
            with socket.create_server(("127.0.0.1", port)):
                self.assertNotIn(Up(self, "alpha").page, (USUAL, up.page))
            # One that the user names is not exchanged for another.
            self.assertIn("choose another port", self.run_it("up", "--port", "7654", "beta").stderr)


def has_boxes():
    return subprocess.run([GATEHOUSE, "sandbox", "check"], capture_output=True, check=False).returncode == 0


def second_state(up):
    return pathlib.Path(re.search(r'--state-dir "(.*)"', up.said)[1]).name


if __name__ == "__main__":
    own_network.enter()
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
