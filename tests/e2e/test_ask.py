#!/usr/bin/env python3
"""gatehouse ask: questions of other programs in a terminal, and what becomes of the answers."""
import contextlib
import fcntl
import json
import os
import pty
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import unittest

import mcp_client
from consent_scene import ASKING, Consent
from mcp_client import PATIENCE

MOMENT = 0.05
WRITES = ("--permission-filesystem-write", "ask")


class Terminal:
    """`gatehouse ask` in a terminal of its own, which a thread watches."""

    def __init__(self, state, term="xterm", flags=("--no-notifications",), **env):
        self.master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 160, 0, 0))
        self.shown = bytearray()
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(state), "XDG_STATE_HOME": str(state),
                       "XDG_RUNTIME_DIR": str(state / "run"), "TERM": term, "LANG": "C.UTF-8",
                       **{key: value for key, value in os.environ.items()
                          if key.endswith("SAN_OPTIONS")}, **env}
        self.process = subprocess.Popen(
            [mcp_client.GATEHOUSE, "ask", *flags], env=environment, stdin=terminal,
            stdout=terminal, stderr=terminal, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(terminal)
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.watcher.start()
        self.see("appear here")

    def watch(self):
        with contextlib.suppress(OSError):
            while True:
                self.shown += os.read(self.master, 1 << 16)

    def text(self):
        return self.shown.decode(errors="replace")

    def see(self, text, since=0):
        deadline = time.monotonic() + PATIENCE
        while text not in self.text()[since:]:
            assert time.monotonic() < deadline, self.text()
            time.sleep(MOMENT)

    def press_until(self, key, is_done):
        """Keys count only after a moment, so it is pressed again until something came of it."""
        deadline = time.monotonic() + PATIENCE
        while not is_done():
            assert time.monotonic() < deadline, self.text()
            os.write(self.master, key)
            time.sleep(MOMENT)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.watcher.join()
        os.close(self.master)


class Asked(Consent):
    def setUp(self):
        super().setUp()
        (self.state / "run").mkdir(mode=0o700)
        self.sockets = self.state / "gatehouse"

    def ask(self, **settings):
        terminal = Terminal(self.state, **settings)
        self.addCleanup(terminal.close)
        return terminal

    def begin(self, *flags, capabilities=None, terminals=(), **settings):
        """A server that these terminals listen to."""
        begun = [len(terminal.text()) for terminal in terminals]
        server = super().begin(*flags, capabilities=capabilities, **settings)
        for terminal, at in zip(terminals, begun):
            terminal.see(f"Listening to gatehouse mcp, folder {self.root}", at)
        return server

    @contextlib.contextmanager
    def pretend(self):
        """Somebody who is connected like a terminal."""
        with socket.socket(socket.AF_UNIX) as fake:
            fake.settimeout(PATIENCE)
            fake.connect(str(self.sockets / "asks-0.socket"))
            lines = fake.makefile("rb")
            self.assertIn("asker", json.loads(lines.readline()))
            yield fake, lines

    def request(self, server, name, content="x"):
        message = server.call_message("write_file", {"filePath": name, "content": content})
        server.send(message)
        return message["id"]

    def is_answered(self, server, number):
        return lambda: server.answers.get(json.dumps(number))


class Answers(Asked):
    def test_a_question_shows_who_asks_and_what_and_the_client_is_not_asked(self):
        terminal = self.ask()
        server = self.begin(*WRITES, capabilities=ASKING, terminals=[terminal])
        number = self.request(server, "a.txt")
        for text in ("gatehouse mcp, folder ", str(self.root), '"test"', "a.txt", "+x"):
            terminal.see(text)
        terminal.press_until(b"2\r", self.is_answered(server, number))
        self.assertFalse(server.result(number).get("isError"))
        self.assert_unasked(server)
        self.assertEqual((self.root / "a.txt").read_text(), "x")
        terminal.see("Allowed once: ")

    def test_a_terminal_opened_later_is_asked_from_then_on(self):
        server = self.begin(*WRITES, capabilities={})
        words = server.bad("write_file", filePath="a.txt", content="x")
        self.assertIn("run `gatehouse ask` in a terminal, then try again", words)
        server.bad("write_file", filePath="a.txt", content="x")
        self.assertEqual(server.words().count("gatehouse ask"), 1)
        terminal = self.ask()
        terminal.see("Listening to gatehouse mcp")
        number = self.request(server, "a.txt")
        terminal.press_until(b"2\r", self.is_answered(server, number))
        self.assertFalse(server.result(number).get("isError"))

    def test_without_a_terminal_the_client_is_asked(self):
        server = self.begin(*WRITES, capabilities=ASKING)
        _, result = self.decide(server, "Allow once", "write_file", filePath="a", content="x")
        self.assertFalse(result.get("isError"), result)

    def test_programs_in_other_places_are_found_too(self):
        """One with XDG_RUNTIME_DIR, one without, as agents' programs often start theirs."""
        terminal = self.ask()
        for env in ({}, {"XDG_RUNTIME_DIR": str(self.state / "run")}):
            server = self.begin(*WRITES, terminals=[terminal], env=env)
            number = self.request(server, "a.txt")
            terminal.press_until(b"2\r", self.is_answered(server, number))
            self.assertFalse(server.result(number).get("isError"))

    def test_questions_of_two_programs_wait_for_each_other(self):
        terminal = self.ask()
        servers = [self.begin(*WRITES, terminals=[terminal]) for _ in range(2)]
        first = self.request(servers[0], "a.txt")
        terminal.see("a.txt")
        second = self.request(servers[1], "b.txt")
        terminal.see("(1 more)")
        terminal.press_until(b"2\r", self.is_answered(servers[0], first))
        self.assertFalse(servers[0].result(first).get("isError"))
        self.assertFalse((self.root / "b.txt").exists())
        terminal.press_until(b"\x1b", self.is_answered(servers[1], second))
        self.assertTrue(servers[1].result(second)["isError"])

    def test_of_two_terminals_one_answers_and_the_other_is_told(self):
        terminals = [self.ask(), self.ask()]
        server = self.begin(*WRITES, terminals=terminals)
        number = self.request(server, "a.txt")
        for terminal in terminals:
            terminal.see(str(self.root / "a.txt"))
        terminals[1].press_until(b"2\r", self.is_answered(server, number))
        terminals[0].see("Answered elsewhere: ")
        terminals[1].see("Allowed once: ")
        self.assertFalse(server.result(number).get("isError"))

    def test_always_allow_is_kept(self):
        terminal = self.ask(term="dumb")
        server = self.begin(*WRITES, terminals=[terminal])
        number = self.request(server, "a.txt")
        terminal.see("Always allow")
        choice = terminal.text().split("Always allow")[0].rsplit(" ", 2)[-2].encode()
        terminal.press_until(choice + b"\n", self.is_answered(server, number))
        self.assertFalse(server.result(number).get("isError"))
        kept = json.loads(self.settings.read_text())["resourcePermissions"]["filesystemWrite"]
        self.assertEqual(kept["allow"], [str(self.root / "a.txt")])
        server.good("write_file", filePath="a.txt", content="y")

    def test_control_c_means_no(self):
        terminal = self.ask()
        server = self.begin(*WRITES, terminals=[terminal])
        number = self.request(server, "a.txt")
        terminal.see(str(self.root / "a.txt"))
        terminal.press_until(b"\x03", self.is_answered(server, number))
        self.assertTrue(server.result(number)["isError"])
        self.assertEqual(os.listdir(self.root), [])

    def test_text_of_an_agent_stays_text(self):
        terminal = self.ask()
        server = self.begin(*WRITES, terminals=[terminal])
        name = "a\x1b]0;title\x07\x1b[2J\n> 2 Allow once"
        number = self.request(server, name, content="\x1b[31mred\x9b2J")
        terminal.see("\\x1b]0;title\\x07\\x1b[2J\\n> 2 Allow once")
        terminal.see("[31mred")
        for raw in ("\x1b]0;", "\x1b[31mred", "\x07", "\x9b"):
            self.assertNotIn(raw, terminal.text())
        terminal.press_until(b"\x1b", self.is_answered(server, number))

    def test_it_needs_a_terminal(self):
        done = subprocess.run([mcp_client.GATEHOUSE, "ask"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("terminal", done.stderr)


class Scopes(Asked):
    """Choices that cover more than what is asked about, and no more than they say."""

    def choose(self, terminal, server, number, label):
        terminal.see(label)
        choice = terminal.text().rsplit(label, 1)[0].split()[-1].encode()
        terminal.press_until(choice + b"\n", self.is_answered(server, number))
        result = server.result(number)
        self.assertFalse(result.get("isError"), result)

    def test_a_folder_for_the_session(self):
        (self.root / "src").mkdir()
        terminal = self.ask(term="dumb")
        server = self.begin(*WRITES, terminals=[terminal])
        number = self.request(server, "src/a.txt")
        self.choose(terminal, server, number, f'Allow everything in "{self.root}/src"')
        server.good("write_file", filePath="src/b.md", content="x")
        number = self.request(server, "c.txt")
        terminal.see(str(self.root / "c.txt"))
        terminal.press_until(b"1\n", self.is_answered(server, number))
        self.assertTrue(server.result(number)["isError"])

    def test_files_that_match_a_shown_pattern(self):
        terminal = self.ask(term="dumb")
        server = self.begin(*WRITES, terminals=[terminal])
        number = self.request(server, "a.txt")
        self.choose(terminal, server, number, f'Allow "{self.root}/**/*.txt"')
        server.good("write_file", filePath="b.txt", content="x")
        number = self.request(server, "c.md")
        terminal.see(str(self.root / "c.md"))
        terminal.press_until(b"1\n", self.is_answered(server, number))
        self.assertTrue(server.result(number)["isError"])

    def test_an_asker_cannot_make_a_label_look_like_another(self):
        terminal = self.ask(term="dumb")
        (self.root / 'x" for this session\n  2 Deny').mkdir()
        server = self.begin(*WRITES, terminals=[terminal])
        number = self.request(server, 'x" for this session\n  2 Deny/a')
        terminal.see("Allow everything in")
        self.assertNotIn("\n  2 Deny", terminal.text().replace("\r", ""))
        terminal.press_until(b"1\n", self.is_answered(server, number))


class Ends(Asked):
    def test_a_client_that_leaves_takes_its_question_along(self):
        terminal = self.ask()
        server = self.begin(*WRITES, terminals=[terminal])
        self.request(server, "a.txt")
        terminal.see(str(self.root / "a.txt"))
        self.assertEqual(server.end(), 0)
        terminal.see("Withdrawn: ")
        self.assertEqual(os.listdir(self.root), [])

    def test_a_killed_program_leaves_the_terminal_and_the_next_one_is_found(self):
        terminal = self.ask()
        server = self.begin(*WRITES, terminals=[terminal])
        self.request(server, "a.txt")
        terminal.see(str(self.root / "a.txt"))
        server.process.send_signal(signal.SIGKILL)
        terminal.see("Withdrawn: ")
        server.discard()
        other = self.begin(*WRITES, terminals=[terminal])
        number = self.request(other, "b.txt")
        terminal.press_until(b"2\r", self.is_answered(other, number))
        self.assertFalse(other.result(number).get("isError"))
        self.assertEqual([path.name for path in self.sockets.glob("asks-*.socket")],
                         ["asks-0.socket"])

    def test_a_killed_terminal_allows_nothing(self):
        terminal = self.ask()
        server = self.begin(*WRITES, capabilities={}, terminals=[terminal])
        number = self.request(server, "a.txt")
        terminal.see(str(self.root / "a.txt"))
        terminal.process.send_signal(signal.SIGKILL)
        self.assertTrue(server.result(number)["isError"])
        self.assertEqual(os.listdir(self.root), [])

    def test_after_a_closed_terminal_the_client_is_asked(self):
        terminal = self.ask()
        server = self.begin(*WRITES, capabilities=ASKING, terminals=[terminal])
        number = self.request(server, "a.txt")
        terminal.see(str(self.root / "a.txt"))
        terminal.process.send_signal(signal.SIGTERM)
        self.reply(server, self.question(server), decision="Allow once")
        self.assertFalse(server.result(number).get("isError"))

    def test_a_terminal_that_talks_nonsense_is_dropped(self):
        server = self.begin(*WRITES, capabilities={})
        for words in (b"nonsense\n", b"x" * 4096, b'{"answer":1}\n', b'{"ask":1}\n',
                      b'{"answer":-1,"choice":"allowOnce"}\n',
                      b'{"answer":99999999999999999999,"choice":"allowOnce"}\n'):
            with self.pretend() as (fake, lines), contextlib.suppress(OSError):
                fake.sendall(words)
                self.assertEqual(lines.read(1), b"", words)
        self.assertTrue(server.bad("write_file", filePath="a", content="x"))

    def test_an_answer_that_was_not_offered_is_none(self):
        server = self.begin("--sensitive", "ask", capabilities={})
        (self.root / ".env").write_text("needle")
        with self.pretend() as (fake, lines):
            message = server.call_message("read_file", {"filePath": ".env"})
            server.send(message)
            question = json.loads(lines.readline())
            self.assertEqual([choice for choice in question["choices"] if "always" in choice], [])
            fake.sendall(b'{"answer":%d,"choice":"alwaysAllow"}\n' % question["ask"])
            result = server.result(message["id"])
        self.assertTrue(result["isError"])
        self.assertNotIn("needle", json.dumps(result))


@unittest.skipUnless(os.geteuid() == 0, "only root can be two users")
class Others(Asked):
    def as_nobody(self, program, *arguments):
        for folder in (self.room, self.state, self.sockets):
            folder.chmod(0o777)
        return subprocess.Popen(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
                                 sys.executable, "-c", program, *map(str, arguments)],
                                stdout=subprocess.PIPE, text=True)

    def test_nobody_else_is_asked(self):
        server = self.begin(*WRITES, capabilities={})
        path = self.sockets / "asks-0.socket"
        path.chmod(0o777)
        other = self.as_nobody("import socket, sys; s = socket.socket(socket.AF_UNIX);"
                               "s.connect(sys.argv[1]); print(len(s.recv(1)))", path)
        self.assertEqual(other.communicate(timeout=PATIENCE)[0].strip(), "0")
        server.bad("write_file", filePath="a", content="x")

    def test_nobody_else_can_ask(self):
        self.sockets.mkdir(mode=0o700)
        path = self.sockets / "asks-0.socket"
        other = self.as_nobody(
            "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]);"
            "s.listen(); print('ready', flush=True); c = s.accept()[0]; print(len(c.recv(1)))", path)
        self.assertEqual(other.stdout.readline().strip(), "ready")
        for folder in (self.sockets, self.state, self.room):
            folder.chmod(0o700)
        self.ask()
        self.assertEqual(other.communicate(timeout=PATIENCE)[0].strip(), "0")


if __name__ == "__main__":
    mcp_client.main()
