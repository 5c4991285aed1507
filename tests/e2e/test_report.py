#!/usr/bin/env python3
"""`gatehouse report`: what an agent did, as a page that a colleague may see."""
import base64
import fcntl
import hashlib
import html.parser
import json
import os
import pty
import re
import struct
import sys
import termios

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from command_scene import CommandScene
from mcp_client import PATIENCE

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>"
ALLOWED = ("--write", "--permission-filesystem-write", "allow", "--permission-shell", "allow")


class Page(html.parser.HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.attributes = [], [], []
        self.feed(text)
        self.text = "".join(self.texts)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attributes]

    def handle_data(self, data):
        self.texts.append(data)


class Report(CommandScene):
    COMMAND = ("report",)

    def environment(self, env=None):
        return super().environment({"TZ": "UTC", **(env or {})})

    def page(self, *words):
        code, out, said = self.run_it(*words, "-o", "-")
        self.assertEqual((code, said), (0, ""))
        return out

    def put(self, *records):
        place = self.state / "gatehouse"
        place.mkdir(mode=0o700, exist_ok=True)
        path = place / "audit.jsonl"
        with open(path, "a") as file:
            for record in records:
                file.write(json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n")
        path.chmod(0o600)

    @staticmethod
    def call(number, tool="read_file", name="a", outcome="success", session="talk-1", **more):
        return {
            "timestamp": f"2026-03-01T12:{number // 60 % 60:02}:{number % 60:02}.000Z", "requestId": str(number),
            "subject": {"type": "agent-run", "id": session, "runId": session},
            "root": {"kind": "workspace", "id": "folder", "displayName": "/home/alice/shop"},
            "tool": tool, "callId": str(number), "client": "robot", "operation": "call",
            "relativePath": name, "outcome": outcome, **more,
        }

    def test_everything_an_agent_did_is_there(self):
        (self.root / "a.txt").write_text("one\ntwo\nthree\n")
        server = self.start(*ALLOWED)
        server.good("read_file", filePath="a.txt")
        server.good("write_file", filePath="a.txt", content="one\n2\nthree\n")
        server.good("edit_file", filePath="a.txt", oldString="2", newString="zwei")
        server.good("write_file", filePath="new/b.txt", content="fresh\n")
        server.good("append_file", filePath="a.txt", content="appended\n")
        server.good("move", sourcePath="new/b.txt", destinationPath="c.txt")
        server.good("shell_execute", command="echo printed; echo to-stderr >&2")
        self.assertTrue(server.call("shell_execute", command="echo before; exit 3")["isError"])
        server.bad("read_file", filePath="../outside")
        server.end()
        page = Page(self.page())
        for line in ("-two", "+2", "-2", "+zwei", "+fresh", "+appended", "new/b.txt → c.txt", "printed", "to-stderr",
                     "before", "exit code 3", "../outside"):
            self.assertIn(line, page.text)
        self.assertEqual(page.tags.count("ins"), 4)
        self.assertEqual(page.tags.count("del"), 2)
        self.assertNotIn(str(self.root), page.text)  # only its name

    def test_a_session_with_questions_says_what_was_answered(self):
        server = self.start("--write", "--permission-shell", "ask", opens=False)
        server.open(capabilities={})
        server.bad("shell_execute", command="true")  # nobody can be asked
        server.end()
        self.put(self.call(100, "write_file", decision="user", session="asked", details={"ms": 5, "answer": "allowOnce"}),
                 self.call(101, "write_file", outcome="denied", policySource="user", reason="no", session="asked",
                           details={"ms": 5, "answer": "denyOnce"}))
        self.assertIn("refusal", Page(self.page()).text)
        page = Page(self.page("asked")).text
        self.assertIn("asked: allowed once", page)
        self.assertIn("asked: denied", page)

    def test_secrets_stay_here(self):
        server = self.start(*ALLOWED, "--sensitive", "allow")
        server.good("write_file", filePath="config.py", content='password = "hunter2hunter2"\n')
        server.good("write_file", filePath=".env", content="PLAIN=only-in-env\n")
        server.good("edit_file", filePath=".env", oldString="only", newString="still-only")
        server.good("shell_execute", command="echo token=abcdefghijklmnop1234; echo AUTH=Bearer abcdefghijklmnop5678")
        server.end()
        page = self.page()
        for secret in ("hunter2", "only-in-env", "abcdefghijklmnop1234", "abcdefghijklmnop5678"):
            self.assertNotIn(secret, page)
            self.assertNotIn(secret, json.dumps([record.get("details") for record in self.records()]))
        self.assertIn("[redacted]", page)
        self.assertIn(".env", page)

    def test_what_is_secret_by_where_the_folder_lies_stays_here_too(self):
        folder = self.root / ".config/gh"
        folder.mkdir(parents=True)
        server = self.start(*ALLOWED, "--sensitive", "allow", folder=folder)
        server.good("write_file", filePath="hosts.yml", content="only-in-gh\n")
        server.end()
        self.assertIn("hosts.yml", json.dumps(self.records()))
        self.assertNotIn("only-in-gh", json.dumps(self.records()))

    def test_hostile_text_stays_text(self):
        server = self.start(*ALLOWED, opens=False)
        server.open()
        name = "<img src=x onerror=alert(2)>.txt"
        server.good("write_file", filePath=name, content=HOSTILE + "\n\u202egnp.exe\n")
        server.good("shell_execute", command=f"echo '{HOSTILE}'; printf '\\033[31mred'")
        server.end()
        self.put(self.call(1, tool=HOSTILE, name=HOSTILE, outcome="failed", reason=HOSTILE, client=HOSTILE,
                           session="evil", details={"ms": 1, "answer": HOSTILE, "diff": "+++ b/" + HOSTILE + "\n+" + HOSTILE,
                                                    "output": HOSTILE}))
        for words in ((), ("evil",)):
            page = Page(self.page(*words))
            self.assertFalse({"script", "img", "iframe", "object", "link"} & set(page.tags))
            self.assertFalse([name for name in page.attributes if name.startswith("on")])
            self.assertIn(HOSTILE, page.text)
            self.assertNotIn("\u202e", page.text)
            self.assertNotIn("\x1b", page.text)

    def test_the_policy_allows_its_own_style_and_nothing_else(self):
        self.put(self.call(1))
        page = self.page("talk-1")
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
        style = re.search(r"<style>(.*)</style>", page, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        self.assertEqual(policy, f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
        self.assertNotRegex(page, r"https?://")

    def test_a_file_is_never_overwritten(self):
        self.put(self.call(1))
        code, out, _ = self.run_it("-o", "page.html")
        self.assertEqual((code, out), (0, "Report written to page.html\n"))
        path = self.root / "page.html"
        before = path.read_bytes()
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        code, _, said = self.run_it("-o", "page.html")
        self.assertEqual(code, 1)
        self.assertIn("exists: name another file", said)
        self.assertEqual(path.read_bytes(), before)
        code, out, _ = self.run_it()
        self.assertEqual(code, 0)
        self.assertTrue((self.root / re.fullmatch(r"Report written to (gatehouse-report-[-0-9]+\.html)\n", out)[1]).exists())

    def test_the_last_session_is_the_default_and_all_are_listed(self):
        self.put(self.call(1, session="older"), self.call(2, session="newer"), self.call(3, session="newer"))
        _, out, _ = self.run_it("--list")
        rows = [line.split() for line in out.splitlines()]
        self.assertEqual([(row[2], row[3]) for row in rows[1:]], [("2", "newer"), ("1", "older")])
        self.assertIn("session newer", Page(self.page()).text)
        self.assertIn("session older", Page(self.page("older")).text)

    def test_a_list_fits_a_terminal_and_an_empty_one_says_how_to_go_on(self):
        self.put()
        self.assertIn("'gatehouse up'", self.on_terminal("--list"))
        self.put(self.call(1, session="a-session-with-a-name"))
        head, row = self.on_terminal("--list").splitlines()
        self.assertEqual(head.split(), ["STARTED", "CALLS", "SESSION", "CLIENT", "FOLDER"])
        self.assertIn("  a-session-with-a-name  ", row)
        self.assertLessEqual(len(row), 60)

    def on_terminal(self, *words):
        keeper, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        self.assertEqual(self.open(*words, stdout=terminal, stderr=terminal).wait(PATIENCE), 0)
        os.close(terminal)
        shown = os.read(keeper, 1 << 16).decode()
        os.close(keeper)
        return shown

    def test_what_is_missing_is_said_and_leaves_no_file(self):
        self.assertIn("no agent has used Gatehouse yet", self.run_it()[2])
        self.put(self.call(1))
        before = mcp_client.picture(self.root)
        code, _, said = self.run_it("nobody")
        self.assertEqual(code, 1)
        self.assertIn("--list shows the sessions", said)
        self.assertEqual(mcp_client.picture(self.root), before)
        self.assertEqual(self.run_it("--list", "talk-1")[0], 2)
        self.assertIn("cannot write", self.run_it("-o", "missing/page.html")[2])

    def test_what_was_interrupted_is_said(self):
        intent = {**self.call(2, "write_file", "half.txt", "intent"), "operation": "write"}
        self.put(self.call(1), intent)
        page = Page(self.page()).text
        self.assertIn("Not finished", page)
        self.assertIn("half.txt", page)

    def test_long_output_and_changes_are_cut(self):
        server = self.start(*ALLOWED)
        server.good("shell_execute", command="echo begins; head -c 300000 /dev/zero | tr '\\0' '\\1'")
        server.good("shell_execute", command="head -c 300000 /dev/zero | tr '\\0' x")
        server.good("write_file", filePath="long.txt", content="first\n" + "\x01\x7f\n" * 20000)
        server.end()
        details = [record["details"] for record in self.records() if record["operation"] == "call"]
        self.assertEqual(len(details), 3)
        for each in details:
            self.assertLess(len(json.dumps(each, ensure_ascii=False)), 12 << 10)
        self.assertTrue(details[0]["output"].startswith("begins\n"))
        self.assertEqual([each.get("cut", False) for each in details[:2]], [True, True])
        self.assertIn("+first", details[2]["diff"])
        page = Page(self.page()).text
        self.assertEqual(page.count("The rest was not recorded."), 3)

    def test_lines_that_look_like_the_head_of_a_diff_are_lines(self):
        diff = ("--- a/real\n+++ b/real\n@@ -1,3 +1,3 @@\n one\n--- a/two\n+++ b/other\n three\n"
                "@@ -9,0 +10 @@\n+++ b/last\n@@ -1,-9223372036854775808 +x @@\n")
        self.put(self.call(1, "write_file", "real", details={"ms": 1, "diff": diff}))
        page = self.page()
        for line in ("<b>+++ b/real</b>", "<del>--- a/two</del>", "<ins>+++ b/other</ins>", "<ins>+++ b/last</ins>"):
            self.assertIn(line, page)
        self.assertEqual(re.findall(r"\+(\d+) .(\d+)", Page(page).text), [("2", "1")])

    def test_a_huge_session_stays_bounded(self):
        details = {"ms": 1, "diff": "+++ b/x\n" + "+<<<<<<<<\n" * 900}
        self.put(*(self.call(number, "write_file", f"dir/{number}", details=details) for number in range(700)),
                 *(self.call(number) for number in range(700, 6000)))
        page = self.page()
        self.assertLess(len(page), 24 << 20)
        self.assertRegex(page, r"\d+ more calls are not shown")
        self.assertIn("<b>6000</b>calls", page)
        self.assertTrue(page.endswith("</html>\n"))


if __name__ == "__main__":
    mcp_client.main()
