#!/usr/bin/env python3
"""`gatehouse search` as a person or a script uses it, and what it may not reach."""
import contextlib
import json
import os
import pathlib
import pty
import resource
import select
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from command_scene import CommandScene
from mcp_client import PATIENCE

SECRET = "needle of somebody else"
NAME, NUMBER, MATCH, PLAIN = "\033[35m", "\033[32m", "\033[1;31m", "\033[0m"


class Search(CommandScene):
    COMMAND = ("search",)

    def plant(self, name, text="needle\n"):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    def objects(self, *words, status=0, **settings):
        """What it says as JSON: the matches and the summary."""
        code, out, said = self.run_it("--json", *words, **settings)
        self.assertEqual(code, status, said)
        lines = [json.loads(line) for line in out.splitlines()]
        return lines[:-1], lines[-1]["summary"]

    def paths(self, *words, **settings):
        return [match["path"] for match in self.objects(*words, **settings)[0]]

    def on_terminal(self, *words, env=None, **settings):
        """What a terminal gets as standard output; standard error; exit status."""
        keeper, terminal = pty.openpty()
        process = self.open(*words, stdout=terminal, env={"TERM": "xterm", **(env or {})},
                            **settings)
        os.close(terminal)
        shown = b""
        with contextlib.suppress(OSError):  # the other side is closed
            while piece := os.read(keeper, 4096):
                shown += piece
        os.close(keeper)
        said = process.communicate(timeout=PATIENCE)[1]
        return shown.decode().replace("\r\n", "\n"), said.decode(), process.returncode


class ForPrograms(Search):
    def test_an_object_a_match_and_a_summary(self):
        self.plant("b.txt", "one\ntwo needle\nthree\nneedle four\n")
        self.plant("a/c.txt", "needle")
        matches, summary = self.objects("needle")
        self.assertEqual(matches, [
            {"path": "a/c.txt", "lineNumber": 1, "line": "needle"},
            {"path": "b.txt", "lineNumber": 2, "line": "two needle"},
            {"path": "b.txt", "lineNumber": 4, "line": "needle four"},
        ])
        self.assertEqual(summary, {"totalMatches": 3, "truncated": False, "files": 2, "binary": 0,
                                   "tooLarge": 0, "ignored": 0, "hidden": 0, "missed": 0})

    def test_lines_around_a_match(self):
        self.plant("a", "1\n2\nneedle\n4\n5\n")
        (match,), _ = self.objects("-C", "1", "needle")
        self.assertEqual((match["before"], match["after"]), (["2"], ["4"]))
        (match,), _ = self.objects("-C1", "^1$")
        self.assertEqual((match.get("before"), match["after"]), (None, ["2"]))

    def test_names_lead_there_from_where_the_user_is(self):
        self.plant("in/a")
        for directory, wanted in (("in", "in/a"), ("in/", "in/a"), (".", "in/a"), ("./in", "./in/a"),
                                  (self.root, f"{self.root}/in/a"), ("in/..", "in/../in/a")):
            self.assertEqual(self.paths("needle", directory), [wanted])
            self.assertEqual(self.paths("--files", "a", directory), [wanted])

    def test_the_first_in_order_are_shown_and_all_are_counted(self):
        for number in range(50):
            self.plant(f"f{number:02}", "needle\n" * 10)
        matches, summary = self.objects("-m", "15", "needle")
        self.assertEqual([match["path"] for match in matches], ["f00"] * 10 + ["f01"] * 5)
        self.assertEqual((summary["totalMatches"], summary["truncated"]), (500, True))
        self.assertEqual(self.objects("-c", "needle"), ([], {**summary, "truncated": False}))

    def test_what_is_no_text_or_no_utf8(self):
        self.plant("binary", b"needle\0\n")
        self.plant("bytes", b"\x01\xff needle \xfe\n")
        os.link(self.root / "bytes", os.fsencode(self.root) + b"/n\xff")
        matches, summary = self.objects("needle")
        self.assertEqual({match["path"] for match in matches}, {"bytes", "n\ufffd"})
        self.assertEqual(matches[0]["line"], "\x01\ufffd needle \ufffd")
        self.assertEqual(summary["binary"], 1)

    def test_json_or_not_can_be_said(self):
        self.plant("a")
        self.assertEqual(self.run_it("needle")[1], "a:needle\n")
        self.assertEqual(self.run_it("--color", "always", "needle")[1],
                         f"{NAME}a{PLAIN}\n{NUMBER}1{PLAIN}:{MATCH}needle{PLAIN}\n")
        shown, _, _ = self.on_terminal("--json", "needle")
        self.assertEqual(json.loads(shown.splitlines()[0])["line"], "needle")


class Choosing(Search):
    def test_regex_literal_and_case(self):
        self.plant("a", "a.c\nabc\nABC\n")
        lines = lambda *words: [match["lineNumber"] for match in self.objects(*words)[0]]
        self.assertEqual(lines("a.c"), [1, 2])
        self.assertEqual(lines("-F", "a.c"), [1])
        self.assertEqual(lines("-i", "^abc$"), [2, 3])
        self.assertEqual(lines("--", "a.c"), [1, 2])

    def test_globs_any_of_which_must_match(self):
        for name in ("a.c", "b.h", "src/c.c", "src/deep/d.c", "e.txt"):
            self.plant(name)
        self.assertEqual(set(self.paths("-g", "*.c", "-g", "*.h", "needle")),
                         {"a.c", "b.h", "src/c.c", "src/deep/d.c"})
        self.assertEqual(self.paths("-g", "src/*.c", "needle"), ["src/c.c"])
        self.assertEqual(self.paths("-g", "src/**,e.*", "-g", "*.txt", "needle"),
                         ["src/deep/d.c", "src/c.c", "e.txt"])
        self.assertEqual(self.paths("-i", "-g", "A.C", "needle", status=1), [])
        self.assertEqual(set(self.paths("-g", "!*.c", "needle")), {"b.h", "e.txt"})

    def test_files_by_their_names(self):
        for name in ("Main.c", "src/main.c", "src/main.h"):
            self.plant(name)
        self.assertEqual(self.paths("--files", "*.c"), ["src/main.c", "Main.c"])
        self.assertEqual(self.paths("--files", "-i", "main.*", "-g", "*.c"), ["src/main.c", "Main.c"])
        self.assertEqual(self.paths("--files", "src/*.h"), ["src/main.h"])
        self.assertEqual(self.paths("--files", "src", status=1), [])
        self.assertEqual(self.objects("--files", "-c", "*.[ch]")[1]["totalMatches"], 3)

    def test_clutter_and_what_is_ignored(self):
        for name in ("a", ".b", "node_modules/c", "out/d"):
            self.plant(name)
        self.plant(".gitignore", "out/\n")
        self.assertEqual(self.paths("needle"), ["a"])
        self.assertEqual(set(self.paths("--no-ignore", "needle")), {"a", "out/d"})
        self.assertEqual(set(self.paths("--hidden", "needle")), {"a", ".b", "node_modules/c"})

    def test_what_is_left_out_is_counted_and_told_if_nothing_is_found(self):
        for name in ("a.log", "b/c", ".hidden", "node_modules/d", ".git/e"):
            self.plant(name)
        self.plant("binary", b"needle\0\n")
        self.plant(".gitignore", "*.log\nb\n")
        matches, summary = self.objects("needle", status=1)
        self.assertEqual(matches, [])
        self.assertEqual({key: summary[key] for key in ("binary", "ignored", "hidden")},
                         {"binary": 1, "ignored": 2, "hidden": 2})
        code, out, said = self.run_it("--no-json", "needle")
        self.assertEqual((code, out), (1, ""))
        self.assertEqual(said, "")
        # A person is told.
        _, said, code = self.on_terminal("needle")
        self.assertEqual((code, said), (1, "not searched: 2 ignored (use --no-ignore), 2 hidden, or of downloads "
                                           "and build output (use --hidden), 1 binary\n"))
        code, out, said = self.run_it("--no-json", "--no-ignore", "needle")
        self.assertEqual((code, said), (0, ""))
        _, said, code = self.on_terminal("-g*.c", "needle")
        self.assertEqual((code, said), (1, "not searched: 1 ignored (use --no-ignore), 1 hidden, or of "
                                           "downloads and build output (use --hidden)\n"))

    def test_other_encodings_are_read(self):
        for encoding in ("utf-8", "latin-1", "cp1252", "utf-16"):
            self.plant(encoding, "eins\nein schöner Tag\n".encode(encoding))
        for pattern in ("schön", "sch.n", "SCHÖN"):
            matches, _ = self.objects("-i", pattern)
            self.assertEqual({match["path"]: match["line"] for match in matches},
                             dict.fromkeys(("utf-8", "latin-1", "cp1252", "utf-16"),
                                           "ein schöner Tag"))

    def test_larger_files_are_passed_over(self):
        self.plant("small")
        self.plant("large", "needle\n" * 1000)
        self.assertEqual(self.paths("--max-file-size", "1KB", "needle"), ["small"])

    def test_a_line_that_is_too_long_is_told(self):
        self.plant("a")
        self.plant("long", "x\n" + "needle " * (3 << 20))
        code, out, said = self.run_it("needle$")
        self.assertEqual(code, 2)
        self.assertIn("too long", said)
        self.assertEqual(out.splitlines()[0], "a:needle")
        # Plain text is found in any line.
        matches, summary = self.objects("needle")
        self.assertEqual([(match["path"], match["lineNumber"]) for match in matches],
                         [("a", 1), ("long", 2)])
        self.assertEqual((len(matches[1]["line"]), summary["tooLarge"]), (201, 0))

    def test_a_tree_that_is_too_deep_is_told(self):
        self.plant("a")
        self.plant("d/" * 130 + "b")
        for words in (["--files", "[ab]"], ["needle"]):
            code, out, said = self.run_it(*words)
            self.assertEqual(code, 2)
            self.assertEqual(said.count("\n"), 1)
            self.assertIn("1 could not be searched", said)
            self.assertIn("folders too deep", said)
            self.assertEqual(out.splitlines()[0].split(":")[0], "a")

    def test_any_number_of_threads_finds_the_same(self):
        for number in range(100):
            self.plant(f"d{number % 7}/f{number}")
        found = self.paths("needle")
        self.assertEqual(len(found), 100)
        for threads in (1, 2, 8):
            self.assertEqual(self.paths("--threads", threads, "needle"), found)


class AsRipgrep(Search):
    """The everyday options print the same as ripgrep's. Lines are sorted: it has another order of files."""
    CALLS = (
        "foo", "-n foo", "-l foo", "-c foo", "-w foo", "-v foo", "-o foo", "-on foo", "-i foo", "-A1 foo", "-nB1 foo",
        "-nC1 foo a.c", "foo a.c", "-v foo a.c", "-e one -e three", "-x foo", "-t py foo", "-g !*.py foo", "-q foo",
        "-q nope", "foo a.c sub", "-H foo a.c", "-I foo", "-S foo a.c", "-S Foo a.c", "-F . a.c", "foo nothere a.c",
        "-vn . a.c", "-o ^f o.txt", "-ow a o.txt", "-o \\ba o.txt", "-Fo é o.txt", "-e a,b o.txt", "-uu foo",
        "-u foo", "-c foo a.c", "-nA1 -B2 foo", "-lv foo", "--no-heading -n foo", "-N foo", "-oi foo", "foo ./sub",
        "-nC1 foo a.c sub/b.py", "-s foo", "--fixed-strings . a.c", "-v -x foo a.c", "(", "nope sub", "-cv foo",
    )

    def test_it_prints_the_same(self):
        ripgrep = shutil.which("rg")
        if ripgrep is None:
            self.skipTest("ripgrep is not installed")
        self.plant("a.c", "one\nfoo bar foo\nthree\nFoo\nfoobar\n\nlast foo\n")
        self.plant("sub/b.py", "foo\n1\n2\n3\nfoo\n")
        self.plant("o.txt", "ff fa\nxxaab aa a\né é aé\na,b\n")
        self.plant(".hidden/h", "foo\n")
        self.plant("ignored/i", "foo\n")
        self.plant(".ignore", "ignored\n")
        for call in self.CALLS:
            words = call.split(" ")
            code, out, said = self.run_it(*words)
            theirs = subprocess.run([ripgrep, "--no-config", *words], cwd=self.root, stdin=subprocess.DEVNULL,
                                    capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((code, sorted(out.splitlines())),
                             (theirs.returncode, sorted(theirs.stdout.splitlines())), (call, said))

    def test_options_that_say_the_same_differently(self):
        self.plant("a", "needle needles\nx\n")
        for words in (["-o", "-w", "needle"], ["--only-matching", "--word-regexp", "needle"]):
            self.assertEqual(self.run_it(*words)[1], "a:needle\n")
        self.assertEqual(self.run_it("-o", "x*")[1], "a:x\n")  # nothing is not shown
        self.assertEqual(self.run_it("--heading", "-n", "needle")[1], "a\n1:needle needles\n")

    def test_files_are_searched_whatever_hides_them(self):
        self.plant(".b")
        self.plant(".gitignore", "c\n")
        self.plant("c")
        self.plant("d/e")
        self.assertEqual(self.run_it("needle", ".b", "c", "d")[1], ".b:needle\nc:needle\nd/e:needle\n")
        self.assertEqual(self.run_it("needle", self.root / "c")[1], "needle\n")
        (self.root / "link").symlink_to("c")
        self.assertEqual(self.run_it("needle", "link")[0], 2)

    def test_many_files_of_a_few_folders(self):
        for number in range(100):
            self.plant(f"f{number:02}")
        names = [f"f{number:02}" for number in range(100)]
        self.assertEqual(self.run_it("-l", "needle", *names)[1].split(), names)
        for number in range(70):
            self.plant(f"d{number}/f")
        self.assertIn("folders", self.run_it("needle", *(f"d{number}" for number in range(70)))[2])


class ForPeople(Search):
    def test_headings_numbers_and_the_match_in_colour(self):
        self.plant("a.txt", "one\nbefore needle after\n")
        self.plant("b.txt", "needle")
        shown, said, code = self.on_terminal("needle")
        self.assertEqual(shown, f"{NAME}a.txt{PLAIN}\n{NUMBER}2{PLAIN}:before {MATCH}needle{PLAIN} after\n"
                                f"\n{NAME}b.txt{PLAIN}\n{NUMBER}1{PLAIN}:{MATCH}needle{PLAIN}\n")
        self.assertEqual((said, code), ("", 0))

    def test_colours_only_where_they_are_wanted(self):
        self.plant("a")
        for words, env in (([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"}), (["--color", "never"], {})):
            self.assertEqual(self.on_terminal(*words, "needle", env=env)[0], "a\n1:needle\n")
        self.assertIn(MATCH, self.on_terminal("needle", env={"NO_COLOR": ""})[0])
        self.assertIn(MATCH, self.on_terminal("--color", "always", "needle", env={"NO_COLOR": "1"})[0])

    def test_lines_around_matches_are_shown_once(self):
        self.plant("a", "1\nneedle\n3\nneedle\nneedle\n6\n7\n8\n9\n10\nneedle\n12\n")
        shown = self.on_terminal("--color", "never", "-C", "2", "needle")[0]
        self.assertEqual(shown, "a\n1-1\n2:needle\n3-3\n4:needle\n5:needle\n6-6\n7-7\n--\n"
                                "9-9\n10-10\n11:needle\n12-12\n")

    def test_names_alone_and_numbers_alone(self):
        self.plant("a", "needle\nneedle\n")
        self.plant("b")
        self.assertEqual(self.on_terminal("--color=never", "--files", "?")[0], "a\nb\n")
        self.assertEqual(self.on_terminal("--color=never", "-c", "needle")[0], "a:2\nb:1\n")
        self.assertEqual(self.on_terminal("--color=never", "-l", "needle")[0], "a\nb\n")
        self.assertEqual(self.on_terminal("-c", "nothing")[::2], ("", 1))
        self.assertEqual(self.on_terminal("-c", "--files", "?")[0], "2\n")

    def test_what_is_not_shown_is_told(self):
        self.plant("a", "needle\n" * 30)
        shown, said, code = self.on_terminal("-m", "10", "needle")
        self.assertEqual(shown.count("\n"), 11)
        self.assertEqual(said, "showing 10 of 30 matching lines; use --max-results to show more\n")
        self.assertEqual(code, 0)
        self.plant("b")
        said = self.on_terminal("-m", "1", "--files", "*")[1]
        self.assertEqual(said, "showing 1 of 2 files; use --max-results to show more\n")

    def test_what_a_file_holds_cannot_steer_the_terminal(self):
        evil = b"\x1b]0;owned\x07 \x1b[2J \x9b31m \r \xc2\x9b \xe2\x80\xae needle\tend \x7f"
        self.plant("a", evil)
        shown = self.on_terminal("--color", "never", "needle")[0]
        # The byte that is no UTF-8 is replaced by the search itself.
        self.assertEqual(shown, "a\n1:\\x1b]0;owned\\x07 \\x1b[2J \ufffd31m \\r \\u{9b} "
                                "\\u{202e} needle\tend \\x7f\n")
        shown = self.on_terminal("needle", "-C1")[0]
        for part in shown.split("\033")[1:]:
            self.assertRegex(part, r"^\[(35|32|1;31|0)m")

    def test_names_cannot_steer_the_terminal(self):
        for name in (b"\x1b[31mred", b"two\nlines", b"back\rwards", b"no\xffutf8", b"\xe2\x80\xaertl"):
            with open(os.fsencode(self.root) + b"/" + name, "wb") as file:
                file.write(b"needle\n")
        for words in (["needle"], ["--files", "*"]):
            shown = self.on_terminal("--color", "never", *words)[0]
            for wanted in ("\\x1b[31mred\n", "two\\nlines\n", "back\\rwards\n",
                           "no\\xffutf8\n", "\\u{202e}rtl\n"):
                self.assertIn(wanted, shown)
            self.assertNotIn("\033", shown)
            self.assertEqual(shown.count("\n"), 5 if words[0] == "--files" else 14)

    def test_names_in_complaints_cannot_either(self):
        evil = "\033[31m\nx"
        (self.root / evil).write_text("a" * 4000 + "\n")
        for words in (["x", evil + "/missing"], [r"(a|aa)+$(?<=b)", "."]):
            code, _, said = self.run_it(*words)
            self.assertEqual(code, 2)
            self.assertIn("\\x1b[31m\\nx", said)
            self.assertNotIn("\033", said)
            self.assertEqual(said.count("\n"), 1)

    def long_search(self):
        """One that takes many seconds: one file under many names."""
        self.plant("f", "a line of text\n" * (1 << 18))
        for number in range(20000):
            os.link(self.root / "f", self.root / f"f{number}")

    def test_progress_is_told_and_erased_and_an_interrupt_is_quiet(self):
        self.long_search()
        keeper, terminal = pty.openpty()
        process = self.open("--threads", "1", "no such line", stderr=terminal, env={"TERM": "xterm"})
        os.close(terminal)
        told = b""
        while b"files searched" not in told:
            self.assertTrue(select.select([keeper], [], [], PATIENCE)[0], "nothing came")
            told += os.read(keeper, 4096)
        self.assertRegex(told, rb"^\r\x1b\[K\d+ files searched")
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):
            while piece := os.read(keeper, 4096):
                told += piece
        os.close(keeper)
        self.assertEqual(process.wait(timeout=PATIENCE), 130)
        self.assertTrue(told.endswith(b"\r\x1b[K"), told)
        self.assertEqual(process.stdout.read(), b"")
        last = self.records()[-1]
        self.assertEqual((last["operation"], last["outcome"]), ("search", "failed"))

    def test_no_progress_where_there_is_no_terminal(self):
        self.long_search()
        process = self.open("--threads", "1", "no such line", env={"TERM": "xterm"})
        # It works until it has been at it for longer than progress waits.
        deadline = time.monotonic() + PATIENCE
        while self.cpu_seconds(process) < 0.8 and time.monotonic() < deadline:
            select.select([process.stderr], [], [], 0.05)
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out, said), (143, b"", b""))

    @staticmethod
    def cpu_seconds(process):
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Ends(Search):
    def test_exit_statuses_are_greps(self):
        self.plant("a")
        for words, status in ((["needle"], 0), (["nothing"], 1), (["("], 2), (["needle", "missing"], 2),
                              (["needle", "a"], 0), (["nothing", "a"], 1), ([], 2),
                              (["needle", "a", "missing"], 2), (["-q", "needle"], 0), (["-q", "nothing"], 1),
                              (["-t", "klingon", "x"], 2), (["-e", "x", "--files"], 2), (["--nonsense", "x"], 2),
                              (["needle", "--deny", "~/x"], 2), (["--files", "{a"], 2),
                              (["-m", "0", "x"], 2), (["needle", "--state-dir", "a"], 2)):
            code, _, said = self.run_it(*words)
            self.assertEqual(code, status, (words, said))
            self.assertEqual(said == "", status < 2, (words, said))

    def test_a_program_that_cannot_be_started_is_an_error(self):
        alone = self.room / "alone"
        alone.mkdir()
        (alone / "gatehouse").write_bytes(mcp_client.GATEHOUSE.read_bytes())
        (alone / "gatehouse").chmod(0o755)
        # Beside it, so that no other that may be installed is looked for.
        (alone / "gatehouse-search").touch(0o644)
        result = subprocess.run([alone / "gatehouse", "search", "x"], env=self.environment(),
                                capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, 2)
        self.assertIn("cannot start gatehouse-search", result.stderr)

    def test_a_reader_that_goes_away_ends_it_quietly(self):
        self.plant("a", ("needle " * 20 + "\n") * 10000)
        process = self.open("--json", "-m", "10000", "needle")
        self.assertEqual(process.stdout.read(1), b"{")
        process.stdout.close()
        self.assertEqual(process.wait(timeout=PATIENCE), 0)
        self.assertEqual(process.stderr.read(), b"")

    def test_an_interrupt_ends_it_also_where_nobody_reads(self):
        self.plant("a", ("needle " * 20 + "\n") * 10000)
        process = self.open("--json", "-m", "10000", "needle")
        self.assertEqual(process.stdout.read(1), b"{")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=PATIENCE), 130)
        self.assertEqual(process.stderr.read(), b"")

    def test_output_that_cannot_be_written_is_an_error(self):
        self.plant("a")
        with open("/dev/full", "wb") as full:
            for words in (["needle"], ["--no-json", "needle"]):
                code, _, said = self.run_it(*words, stdout=full)
                self.assertEqual(code, 2)
                self.assertIn("No space left", said)

    def test_it_tells_about_itself(self):
        program = mcp_client.GATEHOUSE.parent / "gatehouse-search"
        for flag, wanted in (("--help", "--max-results"), ("--version", "gatehouse-search ")):
            result = subprocess.run([program, flag], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(result.returncode, 0)
            self.assertIn(wanted, result.stdout)

    def test_what_was_done_is_in_the_record(self):
        self.plant("a")
        self.objects("needle")
        last = self.records()[-1]
        self.assertEqual((last["operation"], last["outcome"], last["subject"]["id"]),
                         ("search", "success", "search"))
        self.run_it("needle", "missing")
        last = self.records()[-1]
        self.assertEqual((last["operation"], last["outcome"]), ("request-root", "failed"))


    def test_a_record_that_cannot_be_opened_is_an_error(self):
        self.plant("a")
        self.objects("needle")
        # Nobody writes to a record with two names.
        os.link(self.state / "gatehouse/audit.jsonl.reads", self.outside / "other")
        code, out, said = self.run_it("needle")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("use --state-dir to choose another", said)

    def test_a_record_that_cannot_be_written_is_told(self):
        self.plant("a")
        self.objects("needle")
        length = (self.state / "gatehouse/audit.jsonl.reads").stat().st_size
        # No file grows beyond this; to be told so is better than a signal.
        code, out, said = self.run_it(
            "needle", restore_signals=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (length, length)))
        self.assertEqual((code, out != ""), (0, True))
        self.assertEqual(
            said, "gatehouse search: cannot write the audit log, so this search is not in it\n")


class Boundary(Search):
    def setUp(self):
        super().setUp()
        self.plant("in/file", "needle inside\n")
        for folder in (self.outside, self.twin):
            (folder / "secret").write_text(SECRET)

    def assert_only_inside(self, *words, wanted=("in/file",), status=0, **settings):
        for flags in ((), ("--no-json",), ("--hidden", "--no-ignore")):
            code, out, said = self.run_it(*flags, "needle", *words, **settings)
            self.assertEqual(code, status, said)
            self.assertNotIn(SECRET, out + said)
        self.assertEqual(self.paths("needle", *words, status=status, **settings), list(wanted))

    def test_links_are_not_followed(self):
        (self.root / "out").symlink_to(self.outside)
        (self.root / "in/secret").symlink_to("../../outside/secret")
        (self.root / "in/up").symlink_to("..")
        (self.root / "twin").symlink_to(self.twin / "secret")
        self.assert_only_inside()
        self.assertEqual(self.paths("--files", "secret", status=1), [])

    def test_pipes_do_not_hang_it(self):
        os.mkfifo(self.root / "in/pipe")
        self.assert_only_inside()

    def test_a_folder_that_is_a_link_is_what_it_leads_to(self):
        (self.room / "alias").symlink_to("root")
        self.assertEqual(self.paths("needle", "../alias"), ["../alias/in/file"])

    def test_denied_names_do_not_exist(self):
        self.plant(".env", SECRET)
        self.plant("keys/a", SECRET)
        self.plant("keys/b/c", SECRET)
        for words, env in ((["--deny", "**/.env", "--deny", "/keys"], {}),
                           (["--deny", ".env,keys/**"], {}),
                           (["--deny", f"{self.root}/.env", "--deny", "keys"], {}),
                           ([], {"GATEHOUSE_DENY": ".env,keys"})):
            self.assert_only_inside(*words, env=env)
            self.assertEqual(self.paths("--files", "*", "--hidden", *words, env=env), ["in/file"])

    def test_the_state_is_out_of_reach_where_it_lies_inside(self):
        state = self.root / "state"
        self.paths("needle", "--state-dir", state)
        (state / "note").write_text(SECRET)
        self.assert_only_inside("--state-dir", state)

    def test_what_cannot_be_read_is_told(self):
        if os.geteuid() == 0:
            self.skipTest("root may read everything")
        self.plant("shut/a", SECRET)
        self.plant("closed", SECRET)
        (self.root / "shut").chmod(0)
        (self.root / "closed").chmod(0)
        self.addCleanup((self.root / "shut").chmod, 0o700)
        self.assert_only_inside(status=2)
        _, out, said = self.run_it("--json", "needle")
        summary = json.loads(out.splitlines()[-1])["summary"]
        self.assertEqual(summary["missed"], 2)
        self.assertEqual(sorted(entry["path"] for entry in summary["firstMissed"]), ["closed", "shut"])
        self.assertEqual({entry["reason"] for entry in summary["firstMissed"]},
                         {"permission denied by the system"})
        self.assertRegex(said, r"^2 could not be read: (closed|shut) \(permission denied by the system\), ")
        code, _, said = self.run_it("needle", "shut")
        self.assertEqual(code, 2)
        self.assertIn("cannot search 'shut'", said)

    def test_without_openat2(self):
        (self.root / "out").symlink_to(self.outside)
        self.assert_only_inside(before=(mcp_client.WITHOUT_SYSCALL, "openat2"))

    def test_without_landlock_it_says_so(self):
        (self.root / "out").symlink_to(self.outside)
        before = (mcp_client.WITHOUT_SYSCALL, "landlock_create_ruleset")
        self.assert_only_inside(before=before)
        self.assertIn("not confined: files: ", self.run_it("needle", before=before)[2])

    def test_the_walls_stand_before_the_pattern_is_looked_at(self):
        code, _, said = self.run_it("(", before=(mcp_client.WITHOUT_SYSCALL, "seccomp"))
        self.assertEqual(code, 2)
        self.assertNotIn("parenthesis", said)
        self.assertIn("parenthesis", self.run_it("(")[2])

    def test_the_walls_while_it_works(self):
        self.plant("in/file", ("needle " * 20 + "\n") * 10000)
        with open(self.outside / "secret", "rb") as secret:
            process = self.open("--json", "-m", "10000", "needle", pass_fds=(secret.fileno(),))
            # Nobody reads on, so it stands still where it is.
            self.assertEqual(process.stdout.read(1), b"{")
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            self.assertIn("NoNewPrivs:\t1", status)
            self.assertIn("Seccomp:\t2", status)
            for line in status.splitlines():
                if line.startswith("CapEff"):
                    # To read what is root's own, and nothing that changes anything.
                    self.assertEqual(int(line.split()[1], 16) & ~0b11111, 0)
            self.assertEqual(mcp_client.session_members(process.pid), [])
            if os.geteuid() == 0:
                for number in os.listdir(f"/proc/{process.pid}/fd"):
                    target = os.readlink(f"/proc/{process.pid}/fd/{number}")
                    self.assertTrue(
                        target.startswith((f"{self.root}", f"{self.state}", "pipe:", "/dev/null"))
                        and not target.startswith(f"{self.twin}"), (number, target))
            else:
                with self.assertRaises(PermissionError):
                    os.listdir(f"/proc/{process.pid}/fd")


if __name__ == "__main__":
    mcp_client.main()
