#!/usr/bin/env python3
"""gatehouse sandbox create, exec, cp, ls, logs, stats, rm and image, as a person types them.

    test_sandboxctl.py GATEHOUSE
"""
import contextlib
import errno
import fcntl
import http.client
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest
import uuid

sys.dont_write_bytecode = True  # not into the sources
from mcp_workspace_scene import Fake
from sandboxd_scene import PATIENCE, Scene, clean_environment, wait_until

MOMENT = 0.05


def any_process(mark):
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (entry / "cmdline").read_bytes():
                return True
    return False


class Terminal:
    """A command on a pseudo terminal of its own."""

    def __init__(self, words, environment, rows=30, columns=100):
        self.shown = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execve(words[0], [str(word) for word in words], environment)

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            piece = os.read(self.fd, 1 << 16)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            piece = b""
        self.shown += piece
        return bool(piece)

    def see(self, text):
        deadline = time.monotonic() + PATIENCE
        while text.encode() not in self.shown:
            assert time.monotonic() < deadline, (text, self.shown)
            self.read(MOMENT)

    def type(self, text):
        os.write(self.fd, text.encode())

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def modes(self):
        return termios.tcgetattr(self.fd)[3]

    def end(self):
        """Its exit status, after all it showed."""
        deadline = time.monotonic() + PATIENCE
        while self.read(PATIENCE):
            assert time.monotonic() < deadline, self.shown
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def close(self):
        if self.pid > 0:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


class Commands(Scene):
    """Each test has a service of its own, unless it starts without one: then its first command starts one."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.end_it)

    def process(self):
        with contextlib.suppress(FileNotFoundError):
            for entry in pathlib.Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    words = (entry / "cmdline").read_bytes()
                    if b"gatehouse-sandboxd" in words and bytes(self.room) in words:
                        return int(entry.name)
        return None

    def end_it(self):
        pid = self.process()
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda: self.process() is None, "the end of the service")

    def environment(self, **more):
        return clean_environment(GATEHOUSE_STATE_DIR=str(self.room / "state"), TERM="xterm", **more)

    def run_it(self, *words, given=None, **environment):
        return subprocess.run([self.gatehouse, "sandbox", *words], capture_output=True, timeout=PATIENCE,
                              input=given, env=self.environment(**environment), cwd=self.room)

    def said(self, *words, given=None):
        result = self.run_it(*words, given=given)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def terminal(self, *words, **size):
        terminal = Terminal([self.gatehouse, "sandbox", *words], self.environment(), **size)
        self.addCleanup(terminal.close)
        return terminal

    def create(self):
        self.serve(key=None)
        return self.said("create").decode().strip()


class Terminals(Commands):
    def test_a_shell_with_keys_sizes_and_its_status(self):
        box = self.create()
        shell = self.terminal("exec", "-it", box, "sh", rows=31, columns=101)
        shell.see("$ ")
        shell.type("stty size; tty; echo $TERM\n")
        shell.see("31 101\r\n/dev/pts/")
        shell.see("xterm-256color\r\n")
        self.assertFalse(shell.modes() & termios.ICANON, "keys do not go through")
        shell.resize(41, 91)
        shell.type("while [ \"$(stty size)\" != '41 91' ]; do sleep 0.05; done; echo re''sized\n")
        shell.see("resized")
        # Said by the command itself: before it has the terminal, the shell would get the key.
        shell.type("sh -c \"echo be''gun; exec sleep 1000\"\n")
        shell.see("begun")
        shell.type("\x03")
        shell.type("echo status $?\n")
        shell.see("status 130")
        shell.type("exit 7\n")
        self.assertEqual(shell.end(), 7)
        self.assertTrue(shell.modes() & termios.ICANON, "the terminal is not as it was")

    def test_at_a_terminal_no_option_is_needed(self):
        box = self.create()
        shell = self.terminal("exec", box[:8], "sh", "-c", "test -t 0 && test -t 1 && read x && echo got $x")
        wait_until(lambda: not shell.modes() & termios.ICANON, "raw keys")
        shell.type("this\n")
        shell.see("got this")
        self.assertEqual(shell.end(), 0)

    def test_the_end_of_the_terminal_ends_the_command(self):
        box = self.create()
        mark = f"{40000 + os.getpid() % 9999}.83"
        shell = self.terminal("exec", box, "sh", "-c", f"echo ready; sleep {mark}")
        shell.see("ready")
        wait_until(lambda: any_process(f"sleep\0{mark}"), "its start")
        os.kill(shell.pid, signal.SIGTERM)
        self.assertEqual(shell.end(), 128 + signal.SIGTERM)
        self.assertTrue(shell.modes() & termios.ICANON, "the terminal is not as it was")
        wait_until(lambda: not any_process(f"sleep\0{mark}"), "the end of the command")

    def test_lists_have_heads_for_people_only(self):
        box = self.create()
        listed = self.terminal("ls")
        self.assertEqual(listed.end(), 0)
        self.assertIn(b"SANDBOX", listed.shown)
        self.assertIn(box.encode(), listed.shown)
        self.assertNotIn(b"SANDBOX", self.said("ls"))


class Streams(Commands):
    def test_input_and_output_are_bytes(self):
        box = self.create()
        given = bytes(range(256)) * 20000
        self.assertEqual(self.said("exec", "-i", box, "cat", given=given), given)
        self.assertEqual(self.said("exec", "-i", box, "head", "-c", "3", given=given), given[:3])
        self.assertEqual(self.said("exec", "-i", box, "wc", "-c", given=b"").strip(), b"0")
        # Without -i nothing is read, so that loops over lines work.
        self.assertEqual(self.said("exec", box, "wc", "-c", given=given).strip(), b"0")

    def test_statuses(self):
        box = self.create()
        for words, status in (((box, "sh", "-c", "exit 7"), 7), ((box, "sh", "-c", "kill -9 $$"), 137),
                              (("--timeout", "200ms", box, "sleep", "60"), 124), ((box, "no-such-program"), 127),
                              (("-w", "/none", box, "true"), 125), (("-e", "A", box, "true"), 2),
                              (("../x", "true"), 2), (("0000", "true"), 125), (("-d", "-i", box, "true"), 2)):
            with self.subTest(words=words):
                self.assertEqual(self.run_it("exec", *words).returncode, status)
        result = self.run_it("exec", "-e", "A=x, y", "-w", "/tmp", box, "sh", "-c",
                             "printf '%s' \"$A it's $PWD\"; echo bad >&2; exit 3")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (3, b"x, y it's /tmp", b"bad\n"))

    def test_a_command_that_took_too_long_is_said_to_have(self):
        result = self.run_it("exec", "--timeout", "100ms", self.create(), "sleep", "60")
        self.assertEqual((result.returncode, result.stderr),
                         (124, b"gatehouse sandbox: timed out, and the command was killed (--timeout)\n"))

    def test_a_wrong_name_removes_nothing(self):
        box = self.create()
        self.assertIn(b"'none' is no id", self.run_it("rm", box, "none").stderr)
        self.assertEqual(self.run_it("rm", box, "ffff").returncode, 125)
        self.assertEqual([one["id"] for one in json.loads(self.said("ls", "--json"))], [box])
        self.said("rm", box)

    def test_of_a_command_that_runs_alone_only_its_id_is_shown(self):
        name, box = (f"0000000{i}-0000-4000-8000-000000000000" for i in range(2))
        lines = ({"seq": 0, "type": "started", "exec_id": name}, {"seq": 1, "type": "stdout", "data": "b25lCg=="})
        text = "".join(json.dumps(line) + "\n" for line in lines).encode()  # all that was quick
        service = Fake(lambda request: (200, text) if request.command == "POST" else (200, [{"id": box}]))
        self.addCleanup(service.close)
        result = self.run_it("exec", "-d", "--url", service.url, box, "echo", "one", GATEHOUSE_SANDBOX_KEY="key")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, f"{name}\n".encode(), b""))

    def test_logs_of_commands_that_run_alone(self):
        box = self.create()
        one = self.said("exec", "-d", box, "sh", "-c", "echo one; echo two >&2").decode().strip()
        wait_until(lambda: self.run_it("logs", box, one).stdout == b"one\n", "its output")
        result = self.run_it("logs", "-f", box)
        self.assertEqual((result.stdout, result.stderr), (b"one\n", b"two\n"))
        self.said("exec", "-d", box, "sh", "-c", "until [ -e /tmp/go ]; do sleep 0.05; done; echo later")
        follower = subprocess.Popen([self.gatehouse, "sandbox", "logs", "-f", box], stdout=subprocess.PIPE,
                                    env=self.environment())
        self.addCleanup(follower.stdout.close)
        self.said("exec", box, "touch", "/tmp/go")
        shown = follower.communicate(timeout=PATIENCE)[0].decode()
        self.assertEqual(follower.returncode, 0)
        self.assertRegex(shown, r"(?s)^==> sh -c 'echo one.*' <==\none\n.*==> sh -c 'until.*' <==\nlater\n")
        self.assertEqual(self.run_it("logs", box, "ffff").returncode, 125)

    def test_limits_of_a_new_one(self):
        box = self.said("create", "-m", "200MiB", "--cpus", "0.5", "--pids", "40").decode().strip()
        usage = json.loads(self.said("stats", "--json", box))
        self.assertEqual((usage["memory_limit_bytes"], usage["cpu_limit_percent"], usage["processes_limit"]),
                         (200 << 20, 50, 40))
        self.assertRegex(self.said("stats", box).decode(), r" / 200 MiB .* / 40\n$")
        multiply = "i=1; while [ $i -le 60 ]; do sleep 100 & i=$((i + 1)); echo $i; done"
        self.assertIn(int(self.run_it("exec", box, "sh", "-c", multiply).stdout.split()[-1]), range(30, 41))
        # What is not given has the default.
        usage = json.loads(self.said("stats", "--json", self.said("create", "--pids", "30").decode().strip()))
        self.assertEqual((usage["memory_limit_bytes"], usage["cpu_limit_percent"], usage["processes_limit"]),
                         (512 << 20, 100, 30))

    def test_the_id_of_a_new_one(self):
        wanted = str(uuid.uuid4())
        for _ in range(2):
            self.assertEqual(self.said("create", "--id", wanted).decode(), wanted + "\n")
        self.assertEqual(len(json.loads(self.said("ls", "--json"))), 1)

    def test_addresses_of_a_new_one(self):
        made = self.run_it("create", "--allow-ip", "203.0.113.0/24,198.51.100.7", "--deny-ip", "203.0.113.9")
        if b"cannot limit" in made.stderr:
            self.skipTest(made.stderr.decode())
        self.assertEqual(made.returncode, 0, made.stderr)
        policy = json.loads(self.said("ls", "--json"))[0]["network_policy"]
        self.assertEqual(sorted(policy["allowed_ips"]), ["198.51.100.7/32", "203.0.113.0/24"])
        self.assertEqual(policy["denied_ips"], ["203.0.113.9/32"])

    def test_hosts_of_a_new_one(self):
        self.said("create", "--domain", "Example.com,*.example.org", "--domain", "example.com:8443")
        policy = json.loads(self.said("ls", "--json"))[0]["network_policy"]
        self.assertEqual(policy["allowed_domains"], ["example.com", "*.example.org", "example.com:8443"])

    def test_wrong_options_of_a_new_one(self):
        for words, said in ((["--memory", "1MB"], "--memory"), (["--cpus", "0"], "--cpus"), (["--cpus", "many"], "--cpus"),
                            (["--pids", "1"], "--pids"), (["--deny-ip", "203.0.113.9"], "--allow-ip"),
                            (["--allow-ip", "127.0.0.1"], "cannot be allowed"), (["--allow-ip", "nowhere"], "203.0.113.7"),
                            (["--domain", "https://example.com/x"], "*.example.com"), (["--id", "MINE"], "UUID")):
            with self.subTest(words=words):
                result = self.run_it("create", *words)
                self.assertNotEqual(result.returncode, 0)
                self.assertEqual(result.stdout, b"")
                self.assertIn(said, result.stderr.decode())
        self.assertEqual(json.loads(self.said("ls", "--json")), [])

    def test_stats(self):
        box = self.create()
        usage = json.loads(self.said("stats", "--json", box))
        self.assertEqual((usage["id"], usage["status"], usage["processes_limit"]), (box, "running", 256))
        self.assertEqual([row["id"] for row in json.loads(self.said("stats", "--json"))], [box])
        self.assertRegex(self.said("stats").decode(), rf"^{box}  running .* / 512 MiB .* / 256\n$")
        boxes = {box, *(self.said("create").decode().strip() for _ in range(2))}
        self.assertEqual({line.split()[0] for line in self.said("stats").decode().splitlines()}, boxes)

    def test_inspect(self):
        box = self.said("create", "-m", "200MiB", "--cpus", "1.5", "--pids", "40", "--domain", "example.com,*.example.org",
                        "--ephemeral").decode().strip()
        self.assertEqual(self.run_it("exec", box, "sh", "-c", "exit 3").returncode, 3)
        self.said("exec", "-d", box, "sleep", "100")
        told = json.loads(self.said("inspect", "--json", box[:12]))
        self.assertEqual((told["id"], told["status"], told["ephemeral"]), (box, "running", True))
        self.assertEqual(told["network_policy"]["allowed_domains"], ["example.com", "*.example.org"])
        self.assertEqual((told["usage"]["memory_limit_bytes"], told["usage"]["processes_limit"]), (200 << 20, 40))
        self.assertEqual([(run["status"], run.get("exit_code")) for run in told["executions"]],
                         [("ended", 3), ("running", None)])
        shown = self.said("inspect", box).decode()
        for line in (rf"Sandbox:   {box}", "Status:    running", "Image:     the service's own system",
                     r"Created:   \d{4}-\d\d-\d\d \d\d:\d\d \(.*\)", "When idle: it is deleted",
                     r"Reaches:   example\.com, \*\.example\.org", r"Memory:    \d+\.\d of 200 MiB",
                     r"CPU:       .* s used; at most 1\.50 cores", r"Processes: \d+ of 40",
                     r"  [0-9a-f]{8}  exit 3    .* sh -c 'exit 3'", "  [0-9a-f]{8}  running   .* sleep 100"):
            self.assertRegex(shown, rf"(?m)^{line}$")
        self.assertEqual(self.run_it("inspect", "ffff").returncode, 125)

    def test_inspect_of_a_plain_one_with_an_image(self):
        image = self.said("image", "build", "RUN true").decode().strip()
        box = self.said("create", "--image", image).decode().strip()
        shown = self.said("inspect", box).decode()
        self.assertRegex(shown, rf"(?m)^Image:     {image}$")
        self.assertRegex(shown, "(?m)^Reaches:   nothing but itself$")
        self.assertRegex(shown, "(?m)^When idle: it is stopped$")
        self.assertRegex(shown, "(?m)^Commands:  none are kept$")
        self.said("image", "name", "mine", image)
        self.assertRegex(self.said("inspect", box).decode(), "(?m)^Image:     mine$")

    def test_lists_fit_a_terminal(self):
        box = self.create()
        self.assertRegex(self.said("ls").decode(), rf"^{box}  running   \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n$")
        for command, columns, row in (("ls", 100, rf"{box}  running  \d{{4}}-\d\d-\d\d \d\d:\d\d"),
                                      ("ls", 60, rf"{box}  running  \d\d-\d\d \d\d:\d\d"),
                                      ("stats", 80, rf"{box}  running  .* / 256"),
                                      ("stats", 60, rf"{box[:15]}[-0-9a-f]*…  running  .* / 256")):
            terminal = self.terminal(command, columns=columns)
            while terminal.read(PATIENCE):
                pass
            head, *rows = re.sub(r"\x1b\[\d*m", "", terminal.shown.decode()).splitlines()
            self.assertRegex(head, "^SANDBOX +STATUS ")
            self.assertRegex("\n".join(rows), f"^{row}$")
            self.assertLessEqual(max(map(len, (head, *rows))), columns)
        self.said("rm", box)
        terminal = self.terminal("ls")
        terminal.see("'gatehouse sandbox create' makes one")

    def test_lists_warn_of_another_base(self):
        words = "no image has the name node:22: the base is the system of this machine"
        build = self.run_it("image", "build", "FROM node:22")
        self.assertIn(f"warning: {words}\n", build.stderr.decode())
        self.said("create", "--image", build.stdout.decode().strip())
        for command in (("ls",), ("image", "ls")):
            terminal = self.terminal(*command)
            self.assertEqual(terminal.end(), 0)
            self.assertRegex(terminal.shown.decode(), rf"WARNING(?s:.*){words}\r\n")
            self.assertEqual([record["warning"] for record in json.loads(self.said(*command, "--json"))], [words])
            self.assertNotIn(words, self.said(*command).decode())


class Copies(Commands):
    def tree(self):
        folder = self.room / "tree"
        (folder / "a b" / "deep").mkdir(parents=True)
        (folder / "a b" / "deep" / "ä+%&?.txt").write_text("text\n")
        (folder / "run.sh").write_text("#!/bin/sh\necho it runs\n")
        (folder / "run.sh").chmod(0o755)
        (folder / "empty").mkdir()
        (folder / "none.txt").write_bytes(b"")
        (folder / "large").write_bytes(os.urandom(17 << 20))
        return folder

    def compare(self, one, other):
        def listed(folder):
            return sorted((str(path.relative_to(folder)), path.is_dir(), path.stat().st_mode & 0o100,
                           b"" if path.is_dir() else path.read_bytes()) for path in folder.rglob("*"))
        self.assertEqual([row[:3] for row in listed(one)], [row[:3] for row in listed(other)])
        self.assertTrue(listed(one) == listed(other), "contents differ")

    def test_there_and_back(self):
        box = self.create()
        folder = self.tree()
        self.said("cp", "tree", f"{box}:/home/user/work")
        self.assertEqual(self.said("exec", box, "./work/run.sh"), b"it runs\n")
        self.said("cp", f"{box[:8]}:work", "back")
        self.compare(folder, self.room / "back")
        self.said("cp", f"{box}:work", "back")  # an existing folder gets it inside
        self.compare(folder, self.room / "back/work")
        self.said("cp", str(folder / "run.sh"), f"{box}:")  # the home directory
        self.said("cp", f"{box}:run.sh", "alone.sh")
        self.assertEqual((self.room / "alone.sh").read_bytes(), (folder / "run.sh").read_bytes())
        self.said("cp", "tree", f"{box}:work")
        self.assertEqual(self.said("exec", box, "ls", "work/tree"), self.said("exec", box, "ls", "work/tree"))

    def test_links_lead_nowhere(self):
        box = self.create()
        (self.room / "secret").write_text("secret")
        (self.room / "out").mkdir()
        (self.room / "out" / "kept").write_text("kept")
        (self.room / "in").mkdir()
        (self.room / "in" / "link").symlink_to(self.room / "secret")
        result = self.run_it("cp", "in", f"{box}:/home/user/in")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"left out", result.stderr)
        self.assertEqual(self.said("exec", box, "ls", "in"), b"")
        # What a sandbox calls its files stays in the folder, and links of the host are not followed.
        self.said("exec", box, "sh", "-c", "mkdir t; echo x > t/plain; ln -s /nowhere t/dangling; ln -s / t/up")
        (self.room / "t").mkdir()
        (self.room / "t" / "t").mkdir()
        (self.room / "t" / "t" / "plain").symlink_to(self.room / "out" / "kept")
        result = self.run_it("cp", f"{box}:t", "t")
        self.assertEqual((self.room / "out" / "kept").read_text(), "kept")
        self.assertNotEqual(result.returncode, 0)
        self.assertNotEqual(self.run_it("cp", f"{box}:t/none", "x").returncode, 0)
        self.assertEqual(self.run_it("cp", "a", "b").returncode, 2)


class Alone(Commands):
    """Without a service: the first command starts one, which ends when nobody needs it."""

    def first(self):
        result = self.run_it("create")
        if b"cannot start a sandbox service" in result.stderr and b"unconfined" not in result.stderr:
            self.skipTest(f"this machine cannot isolate sandboxes: {result.stderr}")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode().strip()

    def test_the_first_command_starts_a_service(self):
        box = self.first()
        pid = self.process()
        self.assertEqual(self.said("exec", box, "echo", "hello"), b"hello\n")
        self.assertEqual(self.process(), pid)
        # It outlives the session that started it, and a killed one is replaced.
        self.assertEqual(os.getsid(pid), pid)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: self.process() is None, "its end")
        result = self.run_it("exec", box, "echo", "again")
        self.assertEqual((result.returncode, result.stdout), (0, b"again\n"))
        self.assertIn(b"was restarted", result.stderr)
        self.said("rm", box)

    def test_what_fails_after_its_start_says_why(self):
        self.first()
        for words in (("cp", "nothing", "0" * 8 + "-0000-4000-8000-" + "0" * 12 + ":x"), ("image", "import", "x", "nothing")):
            self.end_it()
            result = self.run_it(*words)
            self.assertEqual(result.returncode, 125)
            self.assertIn(b"cannot read 'nothing'", result.stderr)

    def test_two_at_once_start_one(self):
        self.first()
        self.end_it()
        processes = [subprocess.Popen([self.gatehouse, "sandbox", "ls"], env=self.environment(),
                                      stdout=subprocess.PIPE) for _ in range(4)]
        for process in processes:
            self.assertEqual(len(process.communicate(timeout=PATIENCE)[0].splitlines()), 1)
            self.assertEqual(process.returncode, 0)

    def test_it_exits_when_nobody_needs_it(self):
        said = ""
        for idle in ("300ms", "3s", "30s"):  # the longer ones if it has ended before it was asked, on a slow machine
            if said:
                break
            service = self.serve("--exit-idle", idle, "--idle-stop", idle, key=None)
            with contextlib.suppress(OSError, AssertionError, http.client.HTTPException):
                service.key = json.loads((self.room / "state/sandboxes/service.json").read_text())["key"]
                box = service.create()
                said = service.output(box, "sleep 1; echo kept > file; echo done")
            self.assertEqual(service.process.wait(PATIENCE), 0)
        self.assertEqual(said, "done\n")
        again = self.serve("--exit-idle", "1h", key=None)
        result = self.run_it("exec", box, "cat", "file")
        # It was stopped in order, so nothing was lost.
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"kept\n", b""))
        again.close()

    def test_who_only_looks_does_not_keep_it(self):
        service = self.serve("--exit-idle", "500ms")
        end = time.monotonic() + PATIENCE
        with contextlib.suppress(OSError, http.client.HTTPException):
            while time.monotonic() < end:
                self.assertIn(service.ask("GET", "/healthz")[0], (200, 503))
                self.assertIn(service.ask("GET", "/metrics")[0], (200, 503))
        self.assertEqual(service.process.wait(PATIENCE), 0)

    def test_why_not(self):
        (self.room / "state").write_text("no directory")
        result = self.run_it("create")
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"cannot start a sandbox service", result.stderr)


if __name__ == "__main__":
    Scene.gatehouse = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
