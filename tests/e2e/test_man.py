#!/usr/bin/env python3
"""The manual pages: every example runs, and every option and its variable is in them.

Arguments: the gatehouse program.
"""
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
from free_port import free_port
from mcp_client import PATIENCE

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
MAN = pathlib.Path(__file__).resolve().parents[2] / "man"
PAGES = sorted(MAN.glob("*.[1-9]"))

# Beginnings of examples that cannot run here, and why.
CANNOT_RUN = {
    "gatehouse ask": "waits in a terminal for questions; test_ask.py asks them",
    "gatehouse connect ": "needs an n8n server; test_daemon.py and `make test-n8n` have one",
}
# Examples that may end with another status than 0.
STATUSES = {"grep -c": (0, 1)}  # 1: nothing was counted

# Other spellings of options; help lists the first.
ALIASES = {"--session", "--dir", "--fixed-strings"}

MAKEFILE = "test:\n\t@echo tested\n"


def section(page, title):
    """The lines of one section of a page."""
    text = page.read_text()
    found = re.search(rf"^\.Sh {title}\n(.*?)(?=^\.Sh |\Z)", text, re.M | re.S)
    return found.group(1).splitlines() if found else []


def as_typed(line):
    """What a reader sees of a line of roff."""
    return line.replace("\\e", "\\").replace("\\&", "").replace("\\(aq", "'").replace("\\(dq", '"')


def examples():
    for page in PAGES:
        for line in section(page, "EXAMPLES"):
            if line.startswith(".Dl "):
                yield page, as_typed(line[len(".Dl "):])


class Examples(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="gatehouse-man-")
        self.addCleanup(directory.cleanup)
        self.home = pathlib.Path(directory.name).resolve()
        self.project = self.home / "project"
        (self.project / "src").mkdir(parents=True)
        (self.home / "documents").mkdir()
        (self.project / "src/a.c").write_text("x = malloc(1);\n/* TODO */\n/* FIXME */\n")
        (self.project / "Makefile").write_text(MAKEFILE)
        (self.project / "picture.svg").write_text("<svg/>\n")
        (self.home / ".agents-key").write_text("gh_" + "k" * 40)
        self.environment = {
            "HOME": str(self.home), "TERM": "xterm", "LANG": "C.UTF-8",
            "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
        }

    def gatehouse(self, *words):
        return subprocess.run([PROGRAM, *words], env=self.environment, cwd=self.project,
                              capture_output=True, text=True, timeout=PATIENCE)

    def run_on_terminal(self, command):
        """Runs a line as if it was typed; a shell is told to exit. Returns its status and output."""
        keeper, terminal = pty.openpty()
        process = subprocess.Popen(["bash", "-c", command], stdin=terminal, stdout=terminal,
                                   stderr=terminal, env=self.environment, cwd=self.project,
                                   start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(terminal)
        shown, deadline, is_ended = b"", time.monotonic() + PATIENCE, False
        try:
            while time.monotonic() < deadline:
                if not select.select([keeper], [], [], 1)[0]:
                    continue
                try:
                    piece = os.read(keeper, 65536)
                except OSError:  # the other side is closed
                    piece = b""
                if not piece:
                    is_ended = True
                    break
                if b"[y/N] " in piece:
                    os.write(keeper, b"y\n")
                shown += piece
                if b"/mcp\r\n" in shown and b"Bearer" in shown:  # a server: it has said where it is
                    os.killpg(process.pid, signal.SIGTERM)
                if re.search(rb"[$#] (\x1b\S*)?$", shown):  # a prompt
                    os.write(keeper, b"exit\n")
            self.assertTrue(is_ended, f"{command}: did not end; it said {shown}")
            return process.wait(PATIENCE), shown.decode(errors="replace")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            os.close(keeper)

    def prepare(self, command):
        """What the example needs; the reason if it cannot run on this machine."""
        for program in ("jq",):
            if f"{program} " in command and shutil.which(program) is None:
                return f"there is no {program}"
        if " sandbox run" in command and self.gatehouse("sandbox", "check").returncode != 0:
            return "no sandboxes here"
        if " revoke" in command:
            self.gatehouse("rules", "add", "allow", "shell", "prefix:ls", "--expires", "1s")
        if " audit" in command:
            (self.home / ".local/state/gatehouse").mkdir(parents=True, mode=0o700)
        if " report" in command:
            log = self.home / ".local/state/gatehouse/audit.jsonl"
            log.parent.mkdir(parents=True, mode=0o700)
            log.write_text('{"timestamp":"2026-03-01T12:00:00.000Z","requestId":"1",'
                           '"subject":{"type":"agent-run","id":"talk-1"},"root":{"kind":"workspace","id":"folder"},'
                           '"tool":"read_file","callId":"1","operation":"call","outcome":"success"}\n')
            log.chmod(0o600)
        return None

    def test_every_example_runs(self):
        count = 0
        for page, command in examples():
            count += 1
            if any(command.startswith(start) for start in CANNOT_RUN):
                continue
            with self.subTest(page=page.name, command=command):
                lack = self.prepare(command)
                if lack is not None:
                    self.skipTest(lack)
                port = free_port()  # the documented one may be in use
                status, shown = self.run_on_terminal(command.replace(":7650", f":{port}"))
                expected = next((codes for part, codes in STATUSES.items() if part in command), (0,))
                if " --http " in command:
                    self.assertIn(f"http://127.0.0.1:{port}/mcp", shown)
                    expected = (0, 128 + signal.SIGTERM, -signal.SIGTERM)
                self.assertIn(status, expected, shown)
                shutil.rmtree(self.home / ".local", ignore_errors=True)
        self.assertGreater(count, 10)

    def test_the_list_of_those_that_cannot_run_is_not_stale(self):
        for start in CANNOT_RUN:
            self.assertTrue(any(command.startswith(start) for _, command in examples()), start)

    def test_an_example_is_shown_as_it_is_typed(self):
        for page, command in examples():
            line = next(line for line in section(page, "EXAMPLES")
                        if line.startswith(".Dl ") and as_typed(line[4:]) == command)
            # mdoc puts a word like "." to the one before it, unless \& precedes it.
            self.assertNotRegex(line + " ", r" [.,:;)\]?!] ", page.name)
            if shutil.which("mandoc"):
                shown = subprocess.run(["mandoc", "-Tascii", "-Owidth=200", page], text=True,
                                       capture_output=True, check=True).stdout
                shown = re.sub(r".\x08", "", shown)
                self.assertIn(command, shown, page.name)


def words_of_help(*command):
    """The options that --help lists: ({"-w", "--write"}, …), and the commands."""
    text = subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True,
                          check=True, timeout=PATIENCE).stdout
    options, commands, is_commands = set(), [], False
    for line in text.splitlines():
        if not line.startswith(" "):
            is_commands = line.startswith("Commands")
        elif is_commands and (found := re.match(r"  ([a-z]\S*)", line)):
            commands.append(found.group(1))
        elif found := re.match(r"  (?:(-\w), |    )--(\[no-\])?([a-z0-9-]+)", line):
            letter, has_no, name = found.groups()
            options.add(((letter,) if letter else ()) + ((f"--no-{name}",) if has_no else ()) +
                        (f"--{name}",))
    return options, commands


def all_options(command):
    options, commands = words_of_help(*command)
    for name in commands:
        options |= all_options((*command, name))
    return options


def variables(command):
    """The variables that --help lists, and those of the commands below."""
    text = subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True,
                          check=True, timeout=PATIENCE).stdout
    found = set(re.findall(r"\benv:\s+([A-Z0-9_]+)", text))
    for name in words_of_help(*command)[1]:
        found |= variables((*command, name))
    return found


def flags_of(lines):
    """The options in lines of mdoc: -x and --long."""
    found = set()
    for line in lines:
        found |= {f"--{name}" for name in re.findall(r"Fl Fl ([a-z0-9-]+[a-z0-9])(?= |$)", line)}
        for letters in re.findall(r"Fl ([A-Za-z]+)(?= |$)", line):
            if letters != "Fl":
                found |= {f"-{letter}" for letter in letters}
    return found


class Options(unittest.TestCase):
    def pages(self):
        for page in PAGES:
            found = re.fullmatch(r"gatehouse-([a-z]+)\.1", page.name)
            if found:
                yield page, all_options((found.group(1),))

    def test_the_page_describes_every_option_and_no_other(self):
        common = {"-h", "--help", "--version"}
        for page, options in self.pages():
            # In one list of the page, with all its spellings.
            items = flags_of(line for line in page.read_text().replace("\\\n", "").splitlines()
                             if line.startswith(".It Fl"))
            known = {word for option in options for word in option}
            self.assertEqual([option for option in options
                              if not set(option) & items and not set(option) & common], [], page.name)
            self.assertEqual(sorted(items - known - common - ALIASES), [], page.name)

    def test_the_page_names_every_variable_of_an_option(self):
        commands = {page: (page.name[len("gatehouse-"):-len(".1")],) for page, _ in self.pages()}
        commands |= {MAN / "gatehouse-sandboxd.8": ("sandbox", "serve"), MAN / "gatehouse.1": ("status",)}
        for page, command in commands.items():
            named = set(re.findall(r"\b[A-Z0-9]+_[A-Z0-9_]+\b", page.read_text()))
            wanted = variables(command)
            if command == ("sandbox",):  # the service has a page of its own, which this one leads to
                wanted -= variables(("sandbox", "serve")) - variables(("sandbox", "create"))
            self.assertEqual(sorted(wanted - named), [], page.name)

    def test_the_synopsis_has_every_option_and_no_other(self):
        for page, options in self.pages():
            synopsis = section(page, "SYNOPSIS")
            shown = flags_of(synopsis)
            known = {word for option in options for word in option}
            self.assertEqual(sorted(shown - known - {"--permission"}), [], page.name)
            if ".Op Ar options" in synopsis and len(shown) < 3:
                continue  # all of them, by one word
            missing = [option for option in options if not shown & set(option) and
                       "--help" not in option and "--version" not in option and
                       not (option[-1].startswith("--permission-") and ".Op Fl Fl permission- Ns" in
                            "\n".join(synopsis))]
            self.assertEqual(missing, [], page.name)


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
