#!/usr/bin/env python3
"""`gatehouse rules` as a person or a script uses it, and what it may not reach."""
import concurrent.futures
import contextlib
import datetime
import json
import os
import pathlib
import pty
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from command_scene import CommandScene
from mcp_client import PATIENCE

BROKEN = '{"resourcePermissions": {"shell": {"deny": ["rm -rf /"]}'
ID = re.compile(r"[0-9a-f]{10}")


class Rules(CommandScene):
    COMMAND = ("rules",)

    def setUp(self):
        super().setUp()
        self.home = self.room / "home"
        self.home.mkdir()
        self.settings = self.home / ".n8n-gateway"
        self.file = self.settings / "settings.json"

    def plant(self, document, mode=0o600):
        self.settings.mkdir(mode=0o700, exist_ok=True)
        self.file.write_text(document if isinstance(document, str) else json.dumps(document))
        self.file.chmod(mode)

    def do(self, *words, said="", **settings):
        """What it prints when all is well."""
        code, out, words_said = self.run_it(*words, **settings)
        self.assertEqual((code, words_said), (0, said))
        return out

    def fails(self, *words, status=1, **settings):
        """What it says when it fails."""
        code, out, said = self.run_it(*words, **settings)
        self.assertEqual((code, out), (status, ""), said)
        return said

    def add(self, *words, **settings):
        """The id of the new rule."""
        return ID.search(self.do("add", *words, **settings))[0]

    def rules(self, *words):
        return [json.loads(line) for line in self.do("list", "--json", *words).splitlines()]

    def matches(self, *words):
        return [rule["match"] for rule in self.rules(*words)]

    def document(self):
        return json.loads(self.file.read_text())


class Listing(Rules):
    def test_without_settings_there_are_no_rules_and_none_are_made(self):
        self.assertEqual(self.do("list"), "There are no rules. Add one with 'gatehouse rules add'.\n")
        self.assertEqual(self.do("list", "--json"), "")
        self.assertFalse(self.settings.exists())

    def test_a_table(self):
        self.plant({
            "resourcePermissions": {"shell": {"allow": ["git status"], "deny": []}},
            "rules": [
                {"group": "filesystemRead", "effect": "deny", "match": "dir:/srv/me/.ssh",
                 "note": "keys"},
                {"group": "shell", "effect": "allow", "match": "prefix:make", "cwd": "/src",
                 "expires": "2001-02-03T04:05:06Z"},
            ]})
        lines = [re.sub(r"\d\d years", "## years", ID.sub("#" * 10, line)) for line in self.do("list").splitlines()]
        self.assertEqual(lines, [
            "ID          GROUP           EFFECT  MATCH             CWD   EXPIRES               NOTE",
            "##########  shell           allow   git status        -     -                     -",
            "##########  filesystemRead  deny    dir:/srv/me/.ssh  -     -                     keys",
            "##########  shell           allow   prefix:make       /src  expired ## years ago  -",
        ])
        lines = self.do("list", "--group", "filesystemRead").splitlines()
        self.assertEqual(lines[0], "ID          GROUP           EFFECT  MATCH             NOTE")
        self.assertEqual(len(lines), 2)
        self.assertEqual(self.do("list", "-g", "browser"),
                         "There are no rules for browser. Add one with 'gatehouse rules add'.\n")

    def test_json(self):
        self.plant({"rules": [{"group": "shell", "effect": "deny", "match": "x", "cwd": "/src",
                               "expires": "2001-02-03", "note": "n"}]})
        (rule,) = self.rules()
        self.assertRegex(rule.pop("id"), "^[0-9a-f]{64}$")
        self.assertEqual(rule, {"group": "shell", "effect": "deny", "match": "x", "cwd": "/src",
                                "expires": "2001-02-03T00:00:00.000Z", "expired": True, "note": "n"})

    def test_nothing_in_a_rule_steers_the_terminal(self):
        self.plant({"rules": [{"group": "shell", "effect": "deny", "match": "x\x1b[2J\u202e",
                               "note": "one\ntwo\x07"}], "\x1b[31m": 1})
        _, out, said = self.run_it("list")
        self.assertNotRegex(out + said, "[\x07\x1b\u202e]")
        self.assertIn(r"x\x1b[2J\u{202e}", out)
        self.assertEqual(len(out.splitlines()), 2)
        self.assertEqual(len(said.splitlines()), 1)

    def test_colours_on_a_terminal_only(self):
        self.plant({"resourcePermissions": {"shell": {"allow": ["a"], "deny": ["b"]}}})
        for env, has_colour in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            keeper, terminal = pty.openpty()
            process = self.open("list", stdout=terminal, env={"TERM": "xterm", **env})
            os.close(terminal)
            shown = b""
            with contextlib.suppress(OSError):  # the other side is closed
                while piece := os.read(keeper, 4096):
                    shown += piece
            os.close(keeper)
            self.assertEqual(process.wait(PATIENCE), 0)
            self.assertEqual(b"\x1b[32mallow\x1b[0m" in shown, has_colour)
            self.assertEqual(b"\x1b" in shown, has_colour)


class Adding(Rules):
    def test_what_is_plain_goes_where_the_original_daemon_looks(self):
        self.add("allow", "filesystemRead", "exact:/srv/*/me")
        self.add("deny", "browser", "Example.COM")
        self.assertEqual(self.document(), {
            "permissions": {"filesystemRead": "allow", "filesystemWrite": "ask", "shell": "deny",
                            "computer": "deny", "browser": "ask"},
            "filesystemDir": "",
            "resourcePermissions": {"filesystemRead": {"allow": ["/srv/*/me"], "deny": []},
                                    "browser": {"allow": [], "deny": ["example.com"]}}})

    def test_patterns_and_conditions_stand_apart(self):
        self.add("deny", "filesystemWrite", "glob:**/.env")
        self.add("deny", "shell", "prefix:git push", "--cwd", "/src", "--note", "ask me",
                 "--expires", "2999-12-01")
        self.assertEqual(self.document()["rules"], [
            {"group": "filesystemWrite", "effect": "deny", "match": "glob:**/.env"},
            {"group": "shell", "effect": "deny", "match": "prefix:git push", "cwd": "/src",
             "expires": "2999-12-01T00:00:00.000Z", "note": "ask me"},
        ])

    def test_the_same_twice_is_once(self):
        first = self.add("deny", "shell", "exact:rm")
        self.assertEqual(self.do("add", "deny", "shell", "exact:rm"),
                         f"There already: {first}: deny shell rm\n")
        self.assertEqual(self.matches(), ["rm"])

    def test_it_tells_what_the_rule_touches(self):
        (self.root / "in").mkdir()
        for name in (".env", "in/.env", "in/a.txt"):
            (self.root / name).write_text("x")
        total = sum(len(files) for _, _, files in os.walk(self.root))
        self.assertTrue(self.do("add", "deny", "read", "glob:**/.env").endswith(
            f": deny filesystemRead glob:**/.env\nIt touches 2 of {total} files in {self.root}.\n"))
        self.assertIn(f"touches 1 of 2 files in {self.root}/in.\n",
                      self.do("add", "deny", "write", "glob:*.txt", "--count-in", self.root / "in"))
        # There is nothing to count of what was there already, nor for commands.
        self.assertNotIn("touches", self.do("add", "deny", "read", "glob:**/.env"))
        self.assertNotIn("touches", self.do("add", "deny", "shell", "prefix:rm"))
        self.assertIn("only to paths", self.fails("add", "deny", "shell", "prefix:ls", "--count-in", "."))
        self.assertIn("cannot count the files", self.fails("add", "deny", "read", "glob:x", "--count-in", "nowhere"))
        self.assertEqual(len(self.matches()), 3)

    def test_it_tells_of_recent_calls(self):
        def call(days, tool, name, **more):
            when = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=days)
            return {"timestamp": when.strftime("%Y-%m-%dT%H:%M:%S.000Z"), "requestId": "1",
                    "subject": {"type": "agent-run", "id": "a"}, "tool": tool, "operation": "call",
                    "root": {"kind": "workspace", "id": "folder", "displayName": "/src"},
                    "relativePath": name, "outcome": "success", **more}

        (self.state / "gatehouse").mkdir(mode=0o700)
        log = self.state / "gatehouse/audit.jsonl.reads"
        log.touch(mode=0o600)
        log.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in (
            call(90, "read_file", ".env"), call(4, "read_file", ".env"), call(3, "write_file", "./in/.env"),
            call(2, "shell_execute", "sudo git push -f"), call(1, "read_file", "a.txt"),
            call(0, "read_file", ".env", operation="read"), call(0, "unheard_of", ".env"))))
        for words, touched in ((("deny", "read", "glob:**/.env"), 2), (("deny", "write", "glob:**/.env"), 1),
                               (("allow", "read", "glob:**/.env"), 1), (("deny", "read", "dir:/src"), 3),
                               (("deny", "shell", "prefix:git push"), 1), (("deny", "shell", "prefix:npm"), 0),
                               (("deny", "shell", "prefix:git", "--cwd", "/src"), 1),
                               (("deny", "shell", "prefix:git", "--cwd", "/elsewhere"), 0)):
            self.assertIn(f"It touches {touched} of 5 recent calls in the audit log.\n",
                          self.do("add", *words), words)

    def test_a_large_folder_is_not_counted_to_the_end(self):
        (self.root / "many").mkdir()
        for number in range(10001):
            os.mknod(self.root / "many" / f"{number}.txt")
        self.assertRegex(self.do("add", "deny", "read", "glob:*.txt", "--count-in", "many"),
                         r"touches more than \d+ of more than \d+ files in .*/many\.")

    def test_a_relative_path_is_from_here(self):
        out = self.do("add", "deny", "filesystemRead", "exact:a//b/")
        self.assertIn(f"deny filesystemRead {self.root}/a/b\n", out)
        self.add("deny", "filesystemRead", "dir:./c")
        self.add("deny", "shell", "exact:ls", "--cwd", ".")
        self.assertEqual(self.matches("-g", "filesystemRead"),
                         [f"{self.root}/a/b", f"dir:{self.root}/c"])
        self.assertEqual(self.rules("-g", "shell")[0]["cwd"], str(self.root))
        self.assertIn("only the shell expands '~'", self.fails("add", "deny", "filesystemRead", "~/x"))
        self.assertIn('".."', self.fails("add", "deny", "filesystemRead", "exact:../x"))

    def test_commands_are_called_as_rules_see_them(self):
        self.add("deny", "shell", "exact:sudo -u me /usr/bin/apt install x")
        self.add("deny", "shell", "prefix:nice -n 10 make")
        self.add("deny", "shell", "exact:ls | wc")
        self.assertEqual(self.matches(), ["apt install x", "ls | wc", "prefix:make"])

    def test_expiry(self):
        before = datetime.datetime.now(datetime.timezone.utc)
        self.add("deny", "shell", "exact:x", "--expires", "2h")
        expires = datetime.datetime.fromisoformat(self.rules()[0]["expires"].replace("Z", "+00:00"))
        self.assertLess(abs(expires - before - datetime.timedelta(hours=2)),
                        datetime.timedelta(minutes=10))
        self.assertIn("in the past",
                      self.fails("add", "deny", "shell", "exact:x", "--expires", "2001-01-01"))
        for when in ("soon", "2", "2x", "2026-13-01", "2026-12-01T18:00"):
            self.assertIn("--expires must be", self.fails("add", "deny", "shell", "exact:x", "--expires", when))

    def test_what_could_not_hold_is_refused(self):
        for words, reason in (
                (("shell", "glob:x"), "glob: does not apply to the group shell"),
                (("browser", "https://example.com/"), "a host"),
                (("computer", "x"), "mouse-keyboard"),
                (("filesystemRead", "glob:src/x"), "must begin with"),
                (("filesystemRead", "/x", "--cwd", "/y"), "only rules for commands"),
                (("shell", "exact:x", "--note", "n" * 2000), "note"),
                (("shell", "exact:"), "is empty")):
            self.assertIn(reason, self.fails("add", "deny", *words))
        self.assertFalse(self.file.exists() and self.rules())

    def test_what_hardly_means_what_was_typed_is_refused_with_what_does(self):
        for words, advice in (
                (("deny", "read", "**/.env"), "did you mean 'glob:**/.env'?"),
                (("deny", "read", "/srv/secret?"), "did you mean 'glob:/srv/secret?'?"),
                (("allow", "write", "notes.txt"), "did you mean 'glob:**/notes.txt'"),
                (("deny", "write", "/srv/data/"), "did you mean 'dir:/srv/data/'"),
                (("deny", "shell", "rm -rf"), "did you mean 'prefix:rm -rf'?"),
                (("allow", "shell", "npm run *"), "did you mean 'prefix:npm run'?")):
            self.assertIn(advice, self.fails("add", *words))
        self.assertFalse(self.file.exists() and self.rules())

    def test_short_names(self):
        first = self.add("deny", "read", "glob:**/.env")
        self.add("deny", "write", "/srv/x")
        self.add("deny", "screen", "*")
        self.assertEqual(sorted(rule["group"] for rule in self.rules()),
                         ["computer", "filesystemRead", "filesystemWrite"])
        self.assertEqual(self.matches("-g", "write"), ["/srv/x"])
        self.do("rm", first)
        self.assertEqual(self.matches("-g", "read"), [])

    def test_a_group_that_is_off_is_told_of(self):
        self.do("add", "allow", "shell", "ls", said="gatehouse rules: the mode of shell is deny, so "
                "for now this allows nothing: see 'permissions' in the settings\n")

    def test_asked_wrongly(self):
        for words in ((), ("add",), ("add", "perhaps", "shell", "x"), ("add", "deny", "shells", "x"),
                      ("list", "--group", "x"), ("list", "--nothing"), ("revoke",), ("forget", "x")):
            self.assertNotEqual(self.fails(*words, status=2), "")


class Revoking(Rules):
    def setUp(self):
        super().setUp()
        self.plant({"mine": 1, "resourcePermissions": {
            "shell": {"allow": ["ls", "cafe"], "deny": ["rm"], "more": []},
            "filesystemRead": {"deny": ["/x"]}, "filesystemWrite": {"deny": ["/x"]}}})
        self.known = "gatehouse rules: mine: unknown field, kept but ignored\n" \
            "gatehouse rules: resourcePermissions.shell.more: unknown field, kept but ignored\n"

    def do(self, *words, said=None, **settings):
        return super().do(*words, said=self.known if said is None else said, **settings)

    def test_by_id_by_its_beginning_and_by_match(self):
        ids = {rule["match"]: rule["id"] for rule in self.rules("-g", "shell")}
        self.assertEqual(self.do("revoke", ids["ls"]), f"Revoked {ids['ls'][:10]}: allow shell ls\n")
        self.do("revoke", ids["rm"][:4])
        self.do("revoke", "cafe")
        self.assertEqual(self.matches(), ["/x", "/x"])
        self.assertEqual(self.document(), {"mine": 1, "resourcePermissions": {
            "shell": {"allow": [], "deny": [], "more": []},
            "filesystemRead": {"deny": ["/x"]}, "filesystemWrite": {"deny": ["/x"]}}})

    def test_what_could_be_several_is_refused(self):
        said = self.fails("revoke", "/x")
        for rule in self.rules():
            self.assertEqual(rule["id"][:10] in said, rule["match"] == "/x")
        self.do("revoke", "/x", "--group", "filesystemWrite")
        self.assertEqual([rule["group"] for rule in self.rules() if rule["match"] == "/x"],
                         ["filesystemRead"])

    def test_what_is_not_there(self):
        before = self.file.read_bytes()
        first = self.rules("-g", "shell")[0]["id"]
        for words in (("0000000000",), ("nothing",), ("ls", "-g", "browser"),
                      (first, "-g", "browser"), (first[:3],), ("",)):
            self.assertIn("see 'gatehouse rules list'", self.fails("revoke", *words))
        self.assertEqual(self.file.read_bytes(), before)

    def test_an_id_means_the_same_rule_after_others_have_come_and_gone(self):
        wanted = self.rules("-g", "shell")[1]
        self.do("add", "deny", "shell", "exact:new")
        self.do("revoke", "ls")
        self.assertIn(f"shell {wanted['match']}\n", self.do("revoke", wanted["id"][:10]))

    def test_a_match_that_is_the_id_of_another_is_refused(self):
        other = self.rules("-g", "filesystemRead")[0]["id"]
        self.do("add", "deny", "shell", f"exact:{other[:6]}")
        self.assertIn("the id of another", self.fails("revoke", other[:6]))
        self.do("revoke", other[:7])
        self.do("revoke", other[:6])


class Explaining(Rules):
    def test_the_rule_that_decides(self):
        self.plant({"permissions": {"shell": "ask"},
                    "resourcePermissions": {"shell": {"allow": ["git status"]}},
                    "rules": [{"group": "filesystemRead", "effect": "deny", "match": "dir:/srv/me"}]})
        out = self.do("explain", "filesystemRead", "/srv/me/x")
        self.assertIn('dir:"/srv/me" matches', out)
        self.assertTrue(out.endswith("So: deny (deny-rule)\n"), out)
        self.assertIn("So: allow (mode)\n", self.do("explain", "filesystemRead", "/srv/you"))
        self.assertIn("So: deny (deny-rule)\n",
                      self.do("explain", "filesystemRead", "/a", "--resolved", "/srv/me/x"))
        self.assertIn("So: allow (allow-rule)\n", self.do("explain", "shell", "sudo git  status"))
        self.assertIn("So: ask (mode)\n", self.do("explain", "shell", "git push", "--cwd", "."))

    def test_a_wrapper_can_be_denied(self):
        self.plant({"permissions": {"shell": "allow"}})
        self.add("deny", "shell", "prefix:sudo")
        out = self.do("explain", "shell", "sudo -n ls")
        self.assertIn('shell "sudo -n ls", which rules see as "ls"\n', out)
        self.assertIn('prefix:"sudo" matches the command as it was given\n', out)
        self.assertTrue(out.endswith("So: deny (deny-rule)\n"), out)
        self.assertIn("So: allow (mode)\n", self.do("explain", "shell", "ls"))

    def test_write_access_is_an_opt_in(self):
        self.plant({"permissions": {"filesystemWrite": "allow"}})
        self.assertIn("So: deny (mode)\n", self.do("explain", "filesystemWrite", "/x"))
        self.plant({"permissions": {"filesystemWrite": "allow"}, "filesystemWriteAccess": True})
        self.assertIn("So: allow (mode)\n", self.do("explain", "filesystemWrite", "/x"))

    def test_the_session_in_use(self):
        self.plant({"resourcePermissions": {"shell": {"allow": ["git status"]}}})
        out = self.do("explain", "shell", "git status")
        self.assertIn('mode of the group: deny; in mode ask "git status" would allow it\n', out)
        self.assertTrue(out.endswith("So: deny (mode)\n"), out)
        self.assertNotIn("would allow", self.do("explain", "shell", "git push"))
        for mode, end in (("ask", "allow (allow-rule)"), ("allow", "allow (mode)"),
                          ("deny", "deny (mode)")):
            self.assertIn(f"So: {end}\n",
                          self.do("explain", "shell", "git status", "--permission-shell", mode))
        for group, option in (("filesystemRead", "filesystem-read"), ("computer", "computer"),
                              ("filesystemWrite", "filesystem-write"), ("browser", "browser")):
            for mode in ("deny", "ask", "allow"):
                out = self.do("explain", group, {"computer": "*", "browser": "a.org"}.get(group, "/x"),
                              f"--permission-{option}", mode)
                self.assertIn(f"So: {mode} (mode)\n", out)
        self.assertIn("So: deny (mode)\n", self.do(
            "explain", "filesystemWrite", "/x", "--permission-filesystem-write", "allow",
            "--permission-filesystem-read", "deny"))
        self.fails("explain", "shell", "ls", "--permission-shell", "maybe", status=2)

    def test_our_own_directories_are_nobodys(self):
        self.plant({})
        self.assertIn("So: deny (protected)\n", self.do("explain", "filesystemRead", self.file))
        self.assertIn("So: deny (protected)\n",
                      self.do("explain", "filesystemRead", self.state / "gatehouse/audit.jsonl"))

    def test_without_settings_by_the_template(self):
        self.assertIn("So: deny (mode)\n", self.do("explain", "shell", "ls"))
        self.assertFalse(self.settings.exists())

    def test_a_name_that_is_not_usable(self):
        self.assertIn('without links it is "/b"', self.do("explain", "filesystemRead", "/a/../b"))
        self.assertIn('the host is "a.org"', self.do("explain", "browser", "https://a.org/x"))

    def test_options_that_do_not_fit(self):
        self.assertIn("--cwd applies only to", self.fails("explain", "browser", "x.org", "--cwd", "/"))
        self.assertIn("--resolved applies only to", self.fails("explain", "shell", "ls", "--resolved", "/"))


class TheFile(Rules):
    def test_it_is_private(self):
        self.add("deny", "shell", "exact:rm")
        self.assertEqual(self.settings.stat().st_mode & 0o777, 0o700)
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)
        self.file.chmod(0o644)
        self.settings.chmod(0o755)
        _, _, said = self.run_it("list")
        self.assertIn("settings.json was accessible to other users (mode 0644) and is now 0600", said)
        self.assertEqual(self.settings.stat().st_mode & 0o777, 0o700)
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)
        self.do("list")

    def test_another_directory(self):
        there = self.room / "there"
        self.add("deny", "shell", "exact:rm", "--settings-dir", there)
        self.assertFalse(self.settings.exists())
        self.assertEqual(self.matches("--settings-dir", "../there"), ["rm"])
        self.assertIn("rm", self.do("list", env={"GATEHOUSE_SETTINGS_DIR": str(there)}))
        self.assertIn("No such file or directory",
                      self.fails("add", "deny", "shell", "exact:x", "--settings-dir", self.room / "a/b"))
        for folder in (self.outside, self.twin):  # somebody's own
            folder.chmod(0o755)
            said = self.fails("add", "deny", "shell", "exact:x", "--settings-dir", folder)
            self.assertIn("is accessible to other users (mode 0755)", said)
            self.assertEqual(folder.stat().st_mode & 0o777, 0o755)

    def test_links_and_pipes_are_refused(self):
        self.plant({})
        (self.settings / "other").write_text("{}")
        self.file.unlink()
        self.file.symlink_to("other")
        for words in (("list",), ("add", "deny", "shell", "exact:x")):
            self.assertIn("is a symbolic link", self.fails(*words))
        self.file.unlink()
        os.mkfifo(self.file)
        self.assertIn("not a regular file", self.fails("list"))

    def test_a_malformed_file_stays_as_it_is_and_says_where(self):
        for document, place in (
                (BROKEN, "JSON, line 1"),
                ({"permissions": {"shell": "maybe"}}, "permissions.shell: "),
                ({"rules": [{"group": "shell", "effect": "deny", "match": "glob:x"}]},
                 "rules[0].match: ")):
            self.plant(document)
            before = self.file.read_bytes()
            for words in (("list",), ("add", "deny", "shell", "exact:x"), ("revoke", "rm"),
                          ("explain", "shell", "x")):
                said = self.fails(*words)
                self.assertIn(f"{self.file} is malformed: {place}", said)
                self.assertIn("mend it", said)
            self.assertEqual(self.file.read_bytes(), before)
            self.assertLessEqual({entry.name for entry in self.settings.iterdir()},
                                 {"settings.json", "settings.json.lock"})

    def test_a_file_that_was_put_aside_is_not_forgotten(self):
        self.plant({"permissions": {"browser": "allow"}})
        aside = self.settings / "settings.json.malformed-20260101T000000Z"
        aside.write_text(BROKEN)
        code, out, said = self.run_it("explain", "browser", "example.com")
        self.assertIn(f"{aside.name} was put aside", said)
        self.assertIn("So: ask (mode)\n", out)
        self.file.unlink()  # as a kill in the middle leaves it
        code, out, said = self.run_it("explain", "filesystemRead", "/x")
        self.assertIn(f"{aside.name} was put aside", said)
        self.assertIn("So: ask (mode)\n", out)
        aside.unlink()
        self.assertIn("So: allow (mode)\n", self.do("explain", "filesystemRead", "/x"))

    def test_many_at_once_lose_nothing(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: self.add("deny", "shell", f"exact:rule {number}"), range(40)))
        self.assertEqual(sorted(self.matches()), sorted(f"rule {number}" for number in range(40)))
        self.assertEqual({entry.name for entry in self.settings.iterdir()},
                         {"settings.json", "settings.json.lock"})

    def test_changes_are_recorded(self):
        self.add("deny", "shell", "exact:rm")
        self.do("revoke", "rm")
        writes = [record for record in self.records()
                  if record["operation"] == "write" and record["outcome"] == "success"]
        self.assertEqual(len(writes), 3)  # made, added, revoked


class Alone(Rules):
    def test_the_program_by_itself_tells_about_itself(self):
        program = mcp_client.GATEHOUSE.with_name("gatehouse-rules")
        for words, status, beginning in (
                (["--version"], 0, "gatehouse-rules "),
                (["list", "--version"], 0, "gatehouse-rules "),
                (["--help"], 0, "Usage: gatehouse-rules "),
                (["add", "--help"], 0, "Usage: gatehouse-rules add "),
                ([], 2, "Usage: gatehouse-rules ")):
            done = subprocess.run([program, *words], env={"HOME": str(self.home)}, text=True,
                                  capture_output=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, status)
            self.assertTrue((done.stdout or done.stderr).startswith(beginning), done)
        self.assertEqual(list(self.home.iterdir()), [])


class Boundary(Rules):
    def test_without_openat2(self):
        before = (mcp_client.WITHOUT_SYSCALL, "openat2")
        self.add("deny", "shell", "exact:rm", before=before)
        self.assertIn("rm", self.do("list", before=before))

    def test_without_landlock_it_says_so(self):
        before = (mcp_client.WITHOUT_SYSCALL, "landlock_create_ruleset")
        code, out, said = self.run_it("add", "deny", "shell", "exact:rm", before=before)
        self.assertEqual(code, 0)
        self.assertIn("not confined: files: ", said)

    def test_the_walls_stand_before_the_settings_are_looked_at(self):
        self.plant(BROKEN)
        code, _, said = self.run_it("list", before=(mcp_client.WITHOUT_SYSCALL, "seccomp"))
        self.assertEqual(code, 1)
        self.assertNotIn("malformed", said)
        self.assertIn("malformed", self.fails("list"))

    def test_the_walls_while_it_works(self):
        self.plant({"resourcePermissions": {"shell": {
            "deny": [f"{number} " + "x" * 1000 for number in range(1000)]}}})
        (self.outside / "secret").write_text("secret")
        with open(self.outside / "secret", "rb") as secret:
            process = self.open("list", "--json", pass_fds=(secret.fileno(),))
            # Nobody reads on, so it stands still where it is.
            self.assertEqual(process.stdout.read(1), b"{")
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            self.assertIn("NoNewPrivs:\t1", status)
            self.assertIn("Seccomp:\t2", status)
            if os.geteuid() == 0:
                for number in os.listdir(f"/proc/{process.pid}/fd"):
                    target = os.readlink(f"/proc/{process.pid}/fd/{number}")
                    self.assertTrue(target.startswith((f"{self.settings}", f"{self.state}", "pipe:",
                                                       "/dev/null")), (number, target))

    def test_a_reader_that_goes_away_and_a_full_disk(self):
        self.plant({"resourcePermissions": {"shell": {
            "deny": [f"{number} " + "x" * 1000 for number in range(1000)]}}})
        process = self.open("list")
        process.stdout.close()
        process.stdout = None
        self.assertEqual(process.communicate(timeout=PATIENCE)[1], b"")
        self.assertEqual(process.returncode, 0)
        with open("/dev/full", "w") as full:
            code, _, said = self.run_it("list", stdout=full)
        self.assertEqual((code, said),
                         (1, "gatehouse rules: cannot write: No space left on device\n"))


if __name__ == "__main__":
    mcp_client.main()
