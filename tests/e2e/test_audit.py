#!/usr/bin/env python3
"""`gatehouse audit` as a person or a script uses it, and what a record can do to a terminal."""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from command_scene import CommandScene
from mcp_client import PATIENCE

HEAD = ["TIME", "CLIENT", "FOLDER", "TOOL", "WHAT", "OUTCOME"]
STEPS_HEAD = ["TIME", "TOOL", "OPERATION", "OUTCOME", "DECISION", "BY", "NAME"]


def record(number, outcome="success", operation="write", name="notes/a.md", **more):
    """A record in the form in which the audit writes it."""
    hour, rest = divmod(number, 3600)
    fields = {
        "timestamp": f"2026-03-01T{12 + hour:02}:{rest // 60:02}:{rest % 60:02}.123Z",
        "requestId": str(number),
        "subject": {"type": "agent-run", "id": "talk-1", "runId": "run-1"},
        "root": {"kind": "workspace", "id": "folder"},
        **{key: more.pop(key) for key in ("tool", "decision", "callId", "client") if key in more},
        "operation": operation, "relativePath": name,
        **{key: more.pop(key) for key in list(more) if key.endswith("Path")},
        "outcome": outcome, **more,
    }
    if name is None:
        del fields["relativePath"]
    return {key: value for key, value in fields.items() if value is not None}


def as_line(fields):
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False) + "\n"


class Audit(CommandScene):
    COMMAND = ("audit",)

    def setUp(self):
        super().setUp()
        self.place = self.state / "gatehouse"

    def environment(self, env=None):
        return super().environment({"TZ": "UTC", **(env or {})})

    def put(self, *records, name="audit.jsonl", text=None):
        self.place.mkdir(mode=0o700, exist_ok=True)
        path = self.place / name
        with open(path, "ab") as file:
            file.write((text if text is not None else "".join(map(as_line, records))).encode())
        path.chmod(0o600)

    def shown(self, *words, **settings):
        """The lines of the table of steps, words apart; nothing may have been said."""
        code, out, said = self.run_it("--verbose", *words, **settings)
        self.assertEqual((code, said), (0, ""))
        return [line.split() for line in out.splitlines()]

    def names(self, *words, **settings):
        return [row[7] for row in self.shown(*words, **settings)]

    def objects(self, *words, **settings):
        code, out, said = self.run_it("--json", *words, **settings)
        self.assertEqual((code, said), (0, ""))
        return [json.loads(line) for line in out.splitlines()]

    def on_terminal(self, *words, columns=80, env=None):
        keeper, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = self.open(*words, stdout=terminal, env={"TERM": "xterm", **(env or {})})
        os.close(terminal)
        shown = b""
        with contextlib.suppress(OSError):  # the other side is closed
            while piece := os.read(keeper, 4096):
                shown += piece
        os.close(keeper)
        process.communicate(timeout=PATIENCE)
        return shown.decode().replace("\r\n", "\n")


class ForPeople(Audit):
    def test_what_an_agent_did(self):
        server = self.start("--write")
        server.good("write_file", filePath="new.txt", content="x")
        server.good("read_file", filePath="new.txt")
        server.bad("read_file", filePath="../outside/x")
        server.end()
        rows = [row[2:] for row in self.shown()]
        operations = [(row[1], row[2], row[5]) for row in rows]
        self.assertIn(("write", "success", "new.txt"), operations)
        self.assertIn(("read", "success", "new.txt"), operations)
        self.assertEqual([(row[0], row[2]) for row in operations].count(("write", "new.txt")), 1)
        self.assertTrue(any(row[2] == "denied" for row in rows), rows)
        self.assertFalse(any("interrupted" in row for row in rows), rows)

    def test_a_row_says_who_what_and_why(self):
        self.put(record(1, "denied", "read", "vault/key", tool="file_read",
                        error="denied_by_policy", category="policy", policySource="deny-rule",
                        policyRule="glob:/srv/**/k\033y"),
                 record(2, operation="move", name="a", destinationPath="b c", tool="file_move",
                        decision="user", policySource="default"),
                 record(3, operation="execute", name="make all", destinationPath="src", tool="shell",
                        decision="allow-rule"))
        out = self.run_it("-v")[1].splitlines()
        self.assertEqual(out[0].split(), [
            "2026-03-01", "12:00:01", "file_read", "read", "denied", "-", "deny-rule", "vault/key",
            "(rule:", "glob:/srv/**/k\\x1by)", "(denied_by_policy)"])
        self.assertTrue(out[1].endswith("a -> b c"), out[1])
        self.assertEqual(out[1].split()[2:7], ["file_move", "move", "success", "user", "default"])
        self.assertTrue(out[2].endswith("make all  in src"), out[2])

    def test_a_refusal_names_its_rule_only_here(self):
        (self.root / "vault").mkdir()
        for name in ("vault/key", "a.pem"):
            (self.root / name).write_text("secret")
        settings = self.state / ".n8n-gateway/settings.json"
        settings.parent.mkdir(mode=0o700)
        settings.touch(mode=0o600)
        settings.write_text(json.dumps({"resourcePermissions": {"filesystemRead": {
            "allow": [], "deny": ["glob:**/va?lt/k*"]}}}))
        server = self.start("--deny", "*.p[e]m")
        told = [server.bad("read_file", filePath=name) for name in ("vault/key", "a.pem")]
        server.end()
        self.assertFalse(any(text in repr(told) for text in ("va?lt", "p[e]m")), told)
        found = [(record["relativePath"], record["policySource"], record["policyRule"])
                 for record in self.objects("--outcome", "denied") if "policyRule" in record]
        self.assertEqual(found, [("vault/key", "deny-rule", "glob:**/va?lt/k*"), ("a.pem", "grant", "*.p[e]m")])
        shown = self.run_it("--verbose", "--outcome", "denied")[1]
        self.assertIn("(rule: *.p[e]m)", shown)

    def test_what_is_done_for_itself_is_left_out(self):
        core = {"subject": {"type": "core", "id": "settings"}}
        self.put(record(1, operation="request-root", name=None),
                 record(2, operation="read", name="settings.json", **core),
                 record(3, "intent", name="settings.json", **core),
                 record(4, requestId="3", name="settings.json", **core),
                 record(5, operation="read", name="a"),
                 record(6, operation="read", name="b", tool="read_file", **core),
                 record(7, "failed", operation="read", name="c", **core),
                 record(8, operation="read", name="d", dropped=3, **core),
                 record(9, "denied", operation="request-root", name=None))
        for words in ((), ("-n", "5"), ("-n", "0")):
            self.assertEqual(self.names(*words), ["a", "c", "d", "."], words)
        for words in (("--all",), ("-a", "-n", "0")):
            self.assertEqual(self.names(*words), [".", "settings.json", "settings.json",
                                                  "a", "b", "c", "d", "."], words)
        self.assertEqual(len(self.objects()), 9)
        self.assertEqual(len(self.names("--subject", "settings")), 5)
        self.assertEqual(len(self.names("--operation", "request-root")), 2)

    def test_of_a_long_command_the_end_is_shown(self):
        self.put(record(1, operation="execute", name="echo hi", relativePathEnd="; rm x",
                        relativePathBytes=9000, destinationPath="src", truncated=True),
                 record(2, operation="execute", name="echo hi", relativePathEndHex="3b1b5b32",
                        relativePathBytes=9000, destinationPath="src", truncated=True))
        out = self.run_it()[1].splitlines()
        self.assertIn("echo hi…; rm x  in src", out[0])
        self.assertNotIn("\x1b", out[1])

    def test_times_are_the_users(self):
        self.put(record(1))
        row, = self.shown(env={"TZ": "UTC-5"})
        self.assertEqual(row[:2], ["2026-03-01", "17:00:01"])

    def test_intent_and_outcome_are_one_row(self):
        self.put(record(1, "intent"), record(1), record(2, "intent"),
                 record(2, "failed", error="no_space", category="operational"),
                 record(3, "intent", name="lost"), record(4, "intent", "execute", "sleep 1"))
        # Another process with the same ids, and an outcome that is not its own.
        self.put(record(3, name="other"), record(4, "denied", "execute", "rm -r /"))
        for words in ((), ("--limit", "0")):
            rows = sorted((row[3], row[4], row[7]) for row in self.shown(*words))
            self.assertEqual(rows, [
                ("execute", "denied", "rm"), ("execute", "interrupted", "sleep"),
                ("write", "failed", "notes/a.md"), ("write", "interrupted", "lost"),
                ("write", "success", "notes/a.md"), ("write", "success", "other")])
            self.assertEqual(sorted(self.names("--outcome", "interrupted", *words)),
                             ["lost", "sleep"])
        self.assertEqual([found["requestId"] for found in self.objects("--outcome", "interrupted")],
                         ["3", "4"])

    def test_an_outcome_may_come_much_later_and_in_the_other_ring(self):
        self.put(record(1, "intent", "execute", "build"), name="audit.jsonl.reads")
        self.put(*(record(number, name=f"n{number}") for number in range(2, 700)),
                 record(1, operation="execute", name="build",
                        timestamp="2026-03-01T13:00:00.000Z"))
        for words in (("-n", "2000"), ("-n", "0")):
            rows = self.shown("--operation", "execute", *words)
            self.assertEqual([row[4] for row in rows], ["success"])

    def test_a_long_name_that_failed_is_one_row(self):
        name = "d/" * 200 + "x"
        self.put(record(1, "intent", name=name),
                 record(1, "failed", name=name[:256], error="no_space", category="operational",
                        relativePathBytes=len(name), truncated=True))
        row, = self.shown()
        self.assertEqual(row[4], "failed")
        self.assertTrue(row[7].endswith("…"))

    def test_what_was_counted_and_what_is_missing_is_told(self):
        self.put(record(1, "denied", "read", None, error="denied_by_policy", category="policy",
                        more=57), record(2, dropped=3))
        first, second = self.run_it()[1].splitlines()
        self.assertIn("57 more", first)
        self.assertIn("3 entries before this are missing", second)

    def test_hooks_of_a_host_are_named(self):
        self.put(record(1, wrapperIds=["guard", "se\x1bcond"]), record(2, wrapperIds=[]), record(3, wrapperIds="guard"),
                 record(4, "denied", wrapperIds=["guard"], error="denied_by_policy", category="policy"))
        first, second, third, fourth = self.run_it("--verbose")[1].splitlines()
        self.assertTrue(first.endswith("notes/a.md  (hooks: guard, se\\x1bcond)"), first)
        self.assertTrue(second.endswith("notes/a.md") and third.endswith("notes/a.md"), second + third)
        self.assertTrue(fourth.endswith("notes/a.md  (hooks: guard)  (denied_by_policy)"), fourth)

    def test_a_terminal_gets_a_head_and_colours(self):
        self.put(record(1), record(2, "denied", error="denied_by_policy", category="policy"))
        self.assertEqual(self.on_terminal("-v", env={"NO_COLOR": "1"}).split()[:7], STEPS_HEAD)
        self.put(record(3, tool="browser_create_credential", operation="archive-extract", policySource="user-approval"))
        for columns in (80, 109, 110, 200):  # names are shown whole
            head, *rows = self.on_terminal("-v", columns=columns, env={"NO_COLOR": "1"}).splitlines()
            self.assertLessEqual(len(head), columns)
            self.assertEqual(len(rows), 3)
            for row in rows if columns < 110 else rows[:2]:
                self.assertEqual(row.find("notes/a.md"), head.find("NAME"), row)
        shown = self.on_terminal()
        self.assertEqual(shown.splitlines()[0].replace("\033[1m", "").replace("\033[0m", "").split(),
                         HEAD)
        self.assertIn("\033[1;31mdenied", shown)
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\033", self.on_terminal(env=env))
        self.assertNotIn("\033", self.run_it()[1])
        self.assertIn("\033[1;31mdenied", self.run_it("--color", "always")[1])

    def test_nothing_steers_the_terminal(self):
        evil = "\033]0;x\007\u202egnp.exe\t\r\n"
        self.put(record(1, name=None, relativePathHex=evil.encode().hex()),
                 record(2, name="caf\u00e9\u202e", tool="t\u001b[2J", decision="d\u009b", policySource="\u2066",
                        error="e\u0007", category="policy"),
                 record(3, name=None, relativePathHex="ff00", destinationPath="\u200f\u061c"))
        shown = self.run_it()[1]
        self.assertEqual(shown.count("\n"), 3)
        for char in "\033\007\u202e\t\r\u009b\u2066\u200f\u061c\0":
            self.assertNotIn(char, shown)
        self.assertIn("caf\u00e9", shown)
        self.assertIn("\\xff", shown)

    def test_nor_does_json(self):
        wanted = record(1, name="caf\u00e9 \u202e\u009b\u2066 \U000e0001\x7f", reason="\t\033")
        self.put(wanted)
        shown = self.on_terminal("--json")
        self.assertRegex(shown, "^[ -~\u00e9]*\n$")
        self.assertEqual(json.loads(shown), wanted)
        self.assertEqual(self.objects(), [wanted])


def call(number, call_id, outcome="success", name="a", **more):
    """The end of a call, after its steps."""
    return record(number, outcome, "call", name, callId=call_id,
                  root={"kind": "workspace", "id": "folder", "displayName": "/home/alice/ws"},
                  **{"tool": "write_file", "client": "editor", **more})


def step(number, call_id, outcome="success", operation="write", name="a", **more):
    return record(number, outcome, operation, name, callId=call_id, **{"tool": "write_file", **more})


class Calls(Audit):
    """Without --verbose, a call is one line, whatever it consists of."""

    def rows(self, *words, **settings):
        code, out, said = self.run_it(*words, **settings)
        self.assertEqual((code, said), (0, ""))
        return [re.split("  +", line) for line in out.splitlines()]

    def everyway(self):
        """The same rows are expected of the newest few and of all."""
        for words in ((), ("--limit", "0")):
            yield words

    def test_what_a_real_client_did(self):
        server = self.start("--write", "--deny", "vault")
        server.good("write_file", filePath="new.txt", content="x")
        server.good("edit_file", filePath="new.txt", oldString="x", newString="y")
        server.bad("read_file", filePath="../outside/x")
        server.bad("read_file", filePath="gone")
        server.bad("read_file")
        server.good("move", sourcePath="new.txt", destinationPath="sub/moved.txt")
        server.good("undo_changes")
        server.end()
        for words in self.everyway():
            rows = self.rows(*words)
            self.assertEqual([(row[3], row[4]) for row in rows], [
                ("write_file", "new.txt"), ("edit_file", "new.txt"), ("read_file", "../outside/x"),
                ("read_file", "gone"), ("read_file", "-"), ("move", "new.txt -> sub/moved.txt"),
                ("undo_changes", "-")])
            self.assertEqual([row[5].split(":")[0] for row in rows],
                             ["success", "success", "denied", "failed", "failed", "success", "success"])
            self.assertEqual({(row[1], row[2]) for row in rows}, {("test", str(self.root))})
        self.assertIn("gone: not found", self.rows()[3][5])

    def test_the_json_names_folder_client_and_call(self):
        server = self.start("--write")
        server.good("write_file", filePath="new.txt", content="x")
        server.end()
        found = self.objects("--tool", "write_file")
        self.assertEqual({record["root"]["displayName"] for record in found}, {str(self.root)})
        self.assertEqual({record["callId"] for record in found}, {"1"})
        self.assertEqual([record["client"] for record in found if record["operation"] == "call"],
                         ["test"])
        self.assertGreater(len(found), 2)

    def test_steps_are_shown_if_asked_for(self):
        self.put(step(1, "7", "intent"), step(1, "7"), step(2, "7", operation="metadata"), call(3, "7"))
        for words in self.everyway():
            self.assertEqual([row[4:] for row in self.rows(*words)], [["a", "success"]])
            for steps in (("-v",), ("--all",)):
                self.assertEqual([row[3] for row in self.shown(*steps, *words)],
                                 ["write", "metadata", "call"])
        self.assertEqual(len(self.shown("--operation", "write")), 1)

    def test_a_step_of_a_call_without_an_end_is_shown(self):
        # Killed in between, or pushed out of the log: a change is never left out.
        self.put(step(1, "7", "intent"), step(1, "7"), step(2, "8", "intent", name="b"),
                 step(3, "9", "failed", "metadata", name="c", error="not_found"),
                 step(4, "10", "denied", "read", name="d", error="denied_by_policy"),
                 step(5, "11", name="e", subject={"type": "agent-run", "id": "talk-2", "runId": "run-2"}),
                 call(6, "11", name="f"))
        for words in self.everyway():
            self.assertEqual(sorted((row[4], row[5].split(":")[0]) for row in self.rows(*words)), [
                ("a", "success"), ("b", "interrupted"), ("d", "denied"), ("e", "success"),
                ("f", "success")])

    def test_a_looked_for_file_is_no_failed_call(self):
        self.put(step(1, "7", "failed", "metadata", error="not_found"), step(2, "7"), call(3, "7"))
        self.assertEqual(self.rows("--outcome", "failed"), [])

    def test_our_own_files_are_left_out(self):
        undo = {"subject": {"type": "core", "id": "undo"}}
        self.put(step(1, "7", "intent"), step(2, "7", "intent", "copy-in", "2", **undo),
                 step(2, "7", "success", "copy-in", "2", **undo), step(1, "7"), call(3, "7"))
        for words in self.everyway():
            self.assertEqual([row[4] for row in self.rows(*words)], ["a"])

    def test_who_decided_is_told(self):
        self.put(call(1, "1", decision="user"),
                 call(2, "2", "denied", error="denied_by_policy", policySource="deny-rule", reason="no"),
                 call(3, "3", decision="mode"))
        self.assertEqual([row[5] for row in self.rows()],
                         ["success (user)", "denied (deny-rule): no", "success"])

    def test_lines_fit_the_terminal(self):
        evil = "\033[2J\u202e"
        self.put(call(1, "1", name="long/" * 50, client="c" * 60),
                 call(2, "2", "denied", name=None, relativePathHex=(evil * 60).encode().hex(),
                      error="denied_by_policy", policySource="user", reason="because " * 60))
        for columns, head in ((48, [word for word in HEAD if word not in ("CLIENT", "FOLDER")]),
                              (60, [word for word in HEAD if word != "FOLDER"]), (69, None), (70, HEAD)):
            lines = self.on_terminal(columns=columns, env={"NO_COLOR": "1"}).splitlines()
            self.assertLessEqual(max(map(len, lines)), columns)
            if head:
                self.assertEqual(lines[0].split(), head)
        for columns in (80, 100, 109, 110, 120, 200):
            lines = self.on_terminal(columns=columns, env={"NO_COLOR": "1"}).splitlines()
            self.assertEqual(len(lines), 3)
            self.assertLessEqual(max(map(len, lines)), columns)
            self.assertEqual(lines[0].split(), HEAD)
            self.assertIn(" ws ", lines[1])
            self.assertNotIn("\033", "".join(lines))
        self.assertIn("denied (user): because", lines[2])
        self.assertGreater(len(self.run_it()[1].splitlines()[1]), 500)  # a pipe gets all

    def test_a_call_is_followed_to_its_end(self):
        self.put(call(1, "1"))
        process = self.open("--follow")
        Following.lines(self, process, 1)
        self.put(step(2, "2", "intent"), step(2, "2"))
        self.put(step(3, "3", operation="read", name="other"))
        self.put(call(4, "2", name="done"))
        self.assertIn("done", Following.lines(self, process, 1)[0])


class Choosing(Audit):
    def fill(self):
        self.put(
            record(60, tool="file_read", decision="mode", operation="read", name="src/a.c"),
            record(120, tool="file_write", decision="user", name="./src//b.c"),
            record(180, "denied", tool="file_write", name="srcs", policySource="deny-rule",
                   error="denied_by_policy", category="policy"),
            record(240, operation="move", name="x", destinationPath="src/c.c"),
            record(300, operation="delete", name=None, relativePathHex="7372632f640a",
                   subject={"type": "core", "id": "cli"}),
            record(360, operation="request-root", name=None))

    def ids(self, *words, **settings):
        return [int(found["requestId"]) // 60 for found in self.objects(*words, **settings)]

    def test_filters_are_combined(self):
        self.fill()
        for words, ids in (
                ((), [1, 2, 3, 4, 5, 6]), (("-n", "2"), [5, 6]), (("--limit", "0"), [1, 2, 3, 4, 5, 6]),
                (("--tool", "file_write"), [2, 3]), (("--tool", "file"), []),
                (("--decision", "user"), [2]), (("--decision", "deny-rule"), [3]),
                (("--outcome", "denied"), [3]), (("--operation", "move"), [4]),
                (("--subject", "cli"), [5]), (("--session", "run-1"), [1, 2, 3, 4, 6]),
                (("--path", "src"), [1, 2, 4, 5]), (("--path", "/src/"), [1, 2, 4, 5]),
                (("--path", "/home/alice/ws/src/"), [1, 2, 4, 5]), (("--path", "/src/ws"), []),
                (("--path", "/home/alice/ws/src/b.c"), [2]), (("--path", "/"), [1, 2, 3, 4, 5]),
                (("--path", "src/b.c"), [2]), (("--path", "src/d\n"), [5]), (("--path", "sr"), []),
                (("--since", "2026-03-01T12:03:00.123Z"), [3, 4, 5, 6]),
                (("--until", "2026-03-01T12:03:00.123Z"), [1, 2]),
                (("--since", "2026-03-01 12:02", "--until", "2026-03-01T13:04+01:00"), [2, 3]),
                (("--since", "2026-03-02"), []), (("--until", "2026-03-01"), []),
                (("--tool", "file_write", "--outcome", "success", "--path", "src"), [2])):
            self.assertEqual(self.ids(*words), ids, words)
            self.assertEqual(self.ids("-n", "0", *words) if "-n" not in words else ids, ids, words)

    def test_nothing_that_matches_is_said_on_a_terminal(self):
        self.fill()
        keeper, terminal = pty.openpty()
        self.addCleanup(os.close, keeper)
        for words, expected in ((("--tool", "file"), b"no entry of the audit log matches"),
                                (("--tool", "file", "-n", "0"), b"no entry of the audit log matches"),
                                (("--tool", "file_read"), b"")):
            said = self.open(*words, stdout=terminal).communicate(timeout=PATIENCE)[1]
            self.assertIn(expected, said)
            self.assertEqual(bool(said), bool(expected), words)
        os.close(terminal)

    def test_a_log_without_calls_has_no_head_and_says_so(self):
        self.put(record(1, subject={"type": "core", "id": "x"}))
        keeper, terminal = pty.openpty()
        self.addCleanup(os.close, keeper)
        said = self.open(stdout=terminal).communicate(timeout=PATIENCE)[1]
        os.write(terminal, b"end")
        self.assertEqual(os.read(keeper, 4096), b"end")
        self.assertIn(b"no agent has called a tool yet", said)
        os.close(terminal)

    def test_times_near_now(self):
        moment = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - 3600))
        self.put(record(1), record(2, timestamp=moment))
        for words in (("--since", "2h"), ("--since", "1d"), ("--since", "90m"), ("--since", "1w")):
            self.assertEqual(len(self.objects(*words)), 1, words)
        self.assertEqual(len(self.objects("--since", "30min")), 0)
        self.assertEqual(len(self.objects("--until", "30m")), 2)
        self.assertEqual(len(self.objects("--until", "yesterday")), 1)

    def test_what_is_asked_wrongly(self):
        for words, what in ((("--since", "soon"), "not a time"), (("--since", "2026-02-31"), "not a time"),
                            (("--outcome", "maybe"), "--outcome"), (("--limit", "-1"), "--limit"),
                            (("--follow", "--until", "today"), "--until"),
                            (("--follow", "--outcome", "interrupted"), "interrupted"),
                            (("--decision", "nonsense"), "deny-rule"),
                            (("--operation", "bogus"), "archive-extract"),
                            (("--since", "1h", "--until", "2h"), "--since is not before"),
                            (("extra",), "extra")):
            self.put(record(1))
            code, out, said = self.run_it(*words)
            self.assertEqual((code, out), (2, ""), words)
            self.assertIn(what, said)

    def test_an_outcome_behind_the_end_is_no_interruption(self):
        self.put(record(60, "intent"), record(180, requestId="60"), record(240, "intent", name="lost"))
        self.assertEqual(self.shown("--until", "2026-03-01T12:02"), [])
        self.assertEqual([row[4] for row in self.shown("--until", "2026-03-01T13:00")],
                         ["success", "interrupted"])


class Files(Audit):
    def test_records_as_they_are(self):
        lines = [as_line(record(1, "intent")), as_line(record(1)), as_line(record(2, laterVersion=[1]))]
        self.put(text="".join(lines))
        self.assertEqual(self.run_it("--json")[1], "".join(lines))
        self.assertEqual(self.run_it("--json", "--limit", "0")[1], "".join(lines))

    def test_rotated_files_of_both_rings_by_time(self):
        for number in range(1, 41):
            ring = "audit.jsonl" + (".reads" if number % 3 == 0 else "")
            age = (40 - number) // 10
            self.put(record(number), name=ring + (f".{age}" if age else ""))
        self.assertEqual([int(found["requestId"]) for found in self.objects()], list(range(1, 41)))
        self.assertEqual([int(found["requestId"]) for found in self.objects("-n", "5")],
                         list(range(36, 41)))

    def test_torn_lines_are_passed_over_and_told_of(self):
        self.put(record(1), text=None)
        self.put(text='{"timestamp":"2026-03-01T12:00:0\nhello\n' + as_line(record(2)) + '{"time')
        code, out, said = self.run_it()
        self.assertEqual((code, out.count("\n")), (0, 2))
        self.assertIn("3 lines of the audit log could not be read", said)

    def test_where_nothing_is(self):
        code, out, said = self.run_it()
        self.assertEqual((code, out, said), (0, "", "gatehouse audit: the audit log is empty: no agent has used Gatehouse yet; "
                                                    "'gatehouse up' lets one in\n"))
        self.assertFalse(self.place.exists())
        self.place.mkdir(mode=0o700)
        self.assertEqual(self.run_it(), (0, "", ""))

    def test_another_state_directory(self):
        self.put(record(1))
        elsewhere = self.room / "elsewhere"
        self.place.rename(elsewhere)
        self.assertEqual(len(self.objects("--state-dir", elsewhere)), 1)
        self.assertEqual(len(self.objects(env={"GATEHOUSE_STATE_DIR": str(elsewhere)})), 1)
        self.assertEqual(len(self.objects("--state-dir", "../elsewhere")), 1)

    def test_links_are_not_followed(self):
        self.put(record(1))
        (self.outside / "secret").write_text(as_line(record(2)))
        (self.place / "audit.jsonl.1").symlink_to(self.outside / "secret")
        code, out, said = self.run_it("--json")
        self.assertEqual([json.loads(line)["requestId"] for line in out.splitlines()], ["1"])
        self.assertIn("1 line of the audit log could not", said)

    def test_a_directory_that_is_open_to_others_is_refused(self):
        if os.geteuid() == 0:
            self.skipTest("root reads anybody's")
        self.put(record(1))
        self.place.chmod(0o755)
        code, out, said = self.run_it()
        self.assertEqual((code, out), (1, ""))
        self.assertIn("0700", said)

    def test_nothing_is_changed(self):
        self.put(record(1))
        before = mcp_client.picture(self.state)
        self.run_it()
        self.assertEqual(mcp_client.picture(self.state), before)

    def test_a_full_disk_is_told_of(self):
        self.put(record(1))
        with open("/dev/full", "wb") as full:
            code, _, said = self.run_it(stdout=full)
        self.assertEqual(code, 1)
        self.assertIn("cannot write", said)


class Following(Audit):
    def follow(self, *words, **settings):
        process = self.open("--follow", *words, **settings)
        return process

    def lines(self, process, count):
        """So many lines; fails when they do not come."""
        got, rest = [], b""
        deadline = time.monotonic() + PATIENCE
        while len(got) < count:
            self.assertTrue(select.select([process.stdout], [], [], deadline - time.monotonic())[0])
            piece = os.read(process.stdout.fileno(), 65536)
            self.assertNotEqual(piece, b"")
            *whole, rest = (rest + piece).split(b"\n")
            got += whole
        self.assertEqual((len(got), rest), (count, b""))
        return [line.decode() for line in got]

    def numbers(self, process, count):
        return [int(json.loads(line)["requestId"]) for line in self.lines(process, count)]

    def test_what_is_there_and_what_comes(self):
        self.put(record(1), record(2))
        process = self.follow("--json", "-n", "1")
        self.assertEqual(self.numbers(process, 1), [2])
        self.put(record(3), record(4, name="x"))
        self.assertEqual(self.numbers(process, 2), [3, 4])
        self.put(record(5), name="audit.jsonl.reads")
        self.assertEqual(self.numbers(process, 1), [5])
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE), 128 + signal.SIGINT)
        self.assertEqual(process.stderr.read(), b"")

    def test_what_comes_is_shown_without_inotify_too(self):
        self.put(record(1))
        process = self.follow("--json", before=(mcp_client.WITHOUT_SYSCALL, "inotify_init1"))
        self.assertEqual(self.numbers(process, 1), [1])
        self.put(record(2))
        self.assertEqual(self.numbers(process, 1), [2])

    def test_a_change_is_shown_when_it_is_over(self):
        self.put(record(1))
        process = self.follow("-v")
        self.lines(process, 1)
        self.put(record(2, "intent", name="slow"))
        self.put(record(3, operation="read", name="between"))
        self.assertIn("between", self.lines(process, 1)[0])
        self.put(record(2, name="slow"))
        row = self.lines(process, 1)[0].split()
        self.assertEqual((row[4], row[7]), ("success", "slow"))

    def test_filters_hold(self):
        self.put(record(1, tool="a"))
        process = self.follow("--json", "--tool", "b", "--limit", "0")
        self.put(record(2, tool="a"), record(3, tool="b"))
        self.assertEqual(self.numbers(process, 1), [3])

    def test_rotation_and_half_lines(self):
        self.put(record(1))
        process = self.follow("--json")
        self.assertEqual(self.numbers(process, 1), [1])
        line = as_line(record(2))
        self.put(text=line[:40])
        self.put(text=line[40:])
        self.assertEqual(self.numbers(process, 1), [2])
        for number in range(3, 12):
            self.put(record(number))
            for age in range(8, 0, -1):
                older = self.place / (f"audit.jsonl.{age - 1}" if age > 1 else "audit.jsonl")
                if older.exists():
                    older.rename(self.place / f"audit.jsonl.{age}")
        self.put(record(12))
        self.assertEqual(self.numbers(process, 10), list(range(3, 13)))

    def test_with_a_real_session(self):
        self.put(record(1))
        process = self.follow("--json", "--operation", "write", "--tool", "write_file")
        server = self.start("--write")
        server.good("write_file", filePath="new.txt", content="x")
        outcomes = [json.loads(line)["outcome"] for line in self.lines(process, 2)]
        self.assertEqual(outcomes, ["intent", "success"])

    def test_it_ends_with_its_reader(self):
        self.put(record(1))
        process = self.follow("--json")
        self.numbers(process, 1)
        process.stdout.close()
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_it_ends_when_told_also_if_nobody_reads_on(self):
        self.put(record(1))
        process = self.follow("--json")
        self.numbers(process, 1)
        self.put(*(record(number, name="n" * 200) for number in range(2, 1000)))
        size, deadline = 0, time.monotonic() + PATIENCE
        while size <= fcntl.fcntl(process.stdout, fcntl.F_GETPIPE_SZ) - 4096:  # until it is full
            self.assertLess(time.monotonic(), deadline)
            answer = fcntl.ioctl(process.stdout, termios.FIONREAD, b"\0" * 4)
            size = int.from_bytes(answer, sys.byteorder)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE), 128 + signal.SIGTERM)

    def test_it_ends_with_its_terminal(self):
        self.put(record(1))
        keeper, terminal = pty.openpty()
        process = self.open("--follow", stdout=terminal, env={"TERM": "xterm"})
        os.close(terminal)
        self.assertTrue(select.select([keeper], [], [], PATIENCE)[0])
        os.close(keeper)
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_there_must_be_a_record(self):
        code, out, said = self.run_it("--follow")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("state directory", said)


class Confined(Audit):
    def test_it_can_do_nothing_else(self):
        self.put(record(1))
        reader, writer = os.pipe()  # a descriptor that it should not have
        os.set_inheritable(writer, True)
        process = self.open("--follow", pass_fds=(writer,))
        self.assertTrue(select.select([process.stdout], [], [], PATIENCE)[0])
        status = dict(line.split(":\t", 1) for line in
                      pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
                      if ":\t" in line)
        self.assertEqual((status["Seccomp"], status["NoNewPrivs"]), ("2", "1"))
        self.assertEqual(status["Threads"], "1")
        os.close(writer)
        self.assertEqual(os.read(reader, 1), b"")  # nobody else holds it
        os.close(reader)

    def test_without_landlock_it_says_so(self):
        self.put(record(1))
        before = (mcp_client.WITHOUT_SYSCALL, "landlock_create_ruleset")
        code, out, said = self.run_it("--json", before=before)
        self.assertEqual((code, out.count("\n")), (0, 1))
        self.assertIn("not confined: files: ", said)


if __name__ == "__main__":
    mcp_client.main()
