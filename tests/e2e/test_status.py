#!/usr/bin/env python3
"""`gatehouse status` with a daemon's socket, and with other things in its place.

Arguments: gatehouse, control_daemon.
"""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from patience import PATIENCE

GATEHOUSE, DAEMON = (pathlib.Path(path).resolve() for path in sys.argv[1:3])


def can_mount():
    return subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/run"],
                          capture_output=True, check=False).returncode == 0


class Status(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.runtime = pathlib.Path(place.name)

    def environment(self, **more):
        kept = {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")}
        return {"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(self.runtime), **kept, **more}

    def ask(self, *arguments, **more):
        return subprocess.run(
            [GATEHOUSE, "status", *arguments], env=self.environment(**more), text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)

    @contextlib.contextmanager
    def daemon(self, *arguments, port=7655, name="connect", **more):
        process = subprocess.Popen(
            [name, str(port), *arguments], executable=DAEMON, env=self.environment(**more), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        with process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            yield process
            process.stdin.close()
            self.assertEqual(process.wait(timeout=PATIENCE), 0)

    @contextlib.contextmanager
    def stopped(self, process):
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def impostor(self, answer):
        """Somebody with the socket's name who answers so, once."""
        place = self.runtime / "gatehouse"
        place.mkdir(mode=0o700, exist_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(place / "daemon-7655.socket"))
        listener.listen()

        def serve():
            peer, _ = listener.accept()
            with peer, contextlib.suppress(OSError):
                peer.recv(4096)
                peer.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            thread.join(PATIENCE)
            listener.close()
            (place / "daemon-7655.socket").unlink()

    def test_a_daemon_without_a_connection(self):
        with self.daemon("/srv/work"):
            result = self.ask()
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(
                result.stdout,
                "Not connected; waiting for a page or a token.\nFolder: /srv/work\n")
            self.assertEqual(json.loads(self.ask("--json").stdout), {
                "connected": False, "dir": "/srv/work", "connectedAt": None, "url": None,
                "state": "idle", "server": None, "reason": None, "command": "connect"})

    def test_a_daemon_with_one(self):
        with self.daemon("/srv/work", "https://n8n.example"):
            self.assertRegex(
                self.ask(TZ="CET-1").stdout,
                r"^Connected to https://n8n\.example since 2026-03-01 13:00 \(\d+ \w+ ago\)\.\n"
                r"Folder: /srv/work\n$")
            self.assertEqual(json.loads(self.ask("--json").stdout), {
                "connected": True, "dir": "/srv/work",
                "connectedAt": "2026-03-01T12:00:00.123Z", "url": "https://n8n.example",
                "state": "connected", "server": "https://n8n.example", "reason": None, "command": "connect"})

    def test_a_daemon_that_lost_its_server_says_which_and_why(self):
        for number, state, words in (
                (1, "asking", "Not connected; waiting for your answer in its terminal: {}."),
                (2, "connecting", "Connecting to {}."),
                (4, "reconnecting", "Not connected to {}; reconnecting."),
                (5, "refused", "Not connected to {}, which no longer accepts this session's key."),
                (6, "leaving", "Disconnecting from {}.")):
            with self.subTest(state), self.daemon("/srv/work", "https://n8n.example", str(number),
                                                  "nobody\033 answers"):
                shown = words.format("https://n8n.example")
                self.assertEqual(self.ask().stdout, f"{shown}\nReason: nobody\\x1b answers\n"
                                                    "Folder: /srv/work\n")
                told = json.loads(self.ask("--json").stdout)
                self.assertEqual(
                    (told["connected"], told["url"], told["state"], told["server"], told["reason"]),
                    (False, None, state, "https://n8n.example", "nobody\033 answers"))

    def test_a_daemon_with_other_variables_is_found(self):
        state = self.runtime / "state"
        with self.daemon("/srv/work", XDG_RUNTIME_DIR="", XDG_STATE_HOME=str(state)):
            self.assertTrue((state / "gatehouse/daemon-7655.socket").exists())
            self.assertIn("/srv/work", self.ask(XDG_STATE_HOME=str(state)).stdout)
            self.assertIn("no daemon", self.ask().stderr)

    @unittest.skipUnless(can_mount(), "only root can put a folder in the place of another")
    def test_a_daemon_of_the_login_is_found_without_its_variable(self):
        with self.daemon("/srv/work"):
            result = subprocess.run(
                ["unshare", "--mount", "sh", "-c",
                 'mount -t tmpfs none /run && mkdir -p "/run/user/$(id -u)" && '
                 'mount --bind "$0" "/run/user/$(id -u)" && exec "$1" status',
                 self.runtime, GATEHOUSE],
                env=self.environment(XDG_RUNTIME_DIR="", HOME="/nowhere"), text=True,
                capture_output=True, timeout=PATIENCE)
            self.assertIn("/srv/work", result.stdout, result.stderr)

    def test_daemons_are_told_apart_by_their_port(self):
        with self.daemon("/srv/one"), self.daemon("/srv/two", port=7700):
            self.assertIn("/srv/one", self.ask().stdout)
            self.assertEqual(self.ask().stdout, self.ask("--port", "7655").stdout + "\n" + self.ask("--port", "7700").stdout)
            self.assertEqual([json.loads(line)["dir"] for line in self.ask("--json").stdout.splitlines()],
                             ["/srv/one", "/srv/two"])
            self.assertNotIn("/srv/one", self.ask("--port", "7700").stdout)
            self.assertIn("/srv/two", self.ask("--port", "7700").stdout)
            self.assertIn("/srv/two", self.ask(N8N_GATEWAY_PORT="7700").stdout)
            self.assertIn("/srv/one", self.ask("--port", "7655", N8N_GATEWAY_PORT="7700").stdout)

    def test_the_daemon_of_up_is_found_on_any_port_with_its_page(self):
        with self.daemon("/srv/work", "http://127.0.0.1:7654", port=43210, name="up"):
            self.assertRegex(
                self.ask(TZ="UTC").stdout,
                r"^'gatehouse up' is running; its page is http://127\.0\.0\.1:7654\.\n"
                r"For another browser: gatehouse user login-link\n"
                r"Connected to http://127\.0\.0\.1:7654 since 2026-03-01 12:00 \(\d+ \w+ ago\)\.\n"
                r"Folder: /srv/work\n"
                r"Ctrl-C in its terminal stops it, and so does 'gatehouse down'\.\n$")
            self.assertEqual(json.loads(self.ask("--json").stdout)["command"], "up")
            second = subprocess.run([GATEHOUSE, "up", "--port", "7654", self.runtime], env=self.environment(), text=True,
                                    stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
            self.assertEqual((second.returncode, second.stdout), (1, ""))
            for words in ("already running at http://127.0.0.1:7654, for '/srv/work'", "gatehouse down", "gatehouse status",
                          "leave out --port"):
                self.assertIn(words, second.stderr)

    def stop(self, *words):
        return subprocess.run([GATEHOUSE, "down", *words], env=self.environment(), text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=PATIENCE)

    def test_down_ends_only_daemons_of_up_and_nothing_that_started_them(self):
        other = subprocess.Popen(["up", "43210", "/srv/\033other", "http://127.0.0.1:7654"], executable=DAEMON, text=True,
                                 env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with self.daemon("/srv/work"), other:
            self.assertEqual(other.stdout.readline(), "ready\n")
            result = self.stop("/srv/work")
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn("no 'gatehouse up' of yours serves '/srv/work'", result.stderr)
            result = self.stop()
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(result.stdout, "Stopped 'gatehouse up' for /srv/\\x1bother (http://127.0.0.1:7654)\n")
            self.assertEqual(other.wait(PATIENCE), -signal.SIGTERM)
            result = self.stop("--all")
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn("no 'gatehouse up' of yours is running", result.stderr)
            self.assertIn("/srv/work", self.ask().stdout)
        self.assertIn("either DIR or --all", self.stop("--all", "/srv").stderr)

    def test_names_that_are_no_daemons_are_left_out(self):
        place = self.runtime / "gatehouse"
        place.mkdir(mode=0o700)
        for name in ("daemon-0.socket", "daemon-07655.socket", "daemon-70000.socket", "daemon-1.socket.lock", "daemon-x"):
            (place / name).touch()
        result = self.ask()
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("no daemon of yours is running", result.stderr)
        self.assertIn("gatehouse up", result.stderr)

    def test_no_daemon_is_a_failure_with_words(self):
        for _ in range(2):
            result = self.ask("--port", "7701")
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn("no daemon of yours uses port 7701", result.stderr)
            # Once without the directory, and once with a name that a dead one has left.
            place = self.runtime / "gatehouse"
            place.mkdir(mode=0o700, exist_ok=True)
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as left:
                left.bind(str(place / "daemon-7701.socket"))

    def test_a_killed_daemon_does_not_stand_in_the_way_of_the_next(self):
        process = subprocess.Popen(
            [DAEMON, "7655", "/srv/old"], env=self.environment(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        with process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.kill()
        self.assertIn("no daemon", self.ask().stderr)
        with self.daemon("/srv/new"):
            self.assertIn("/srv/new", self.ask().stdout)

    def test_a_second_daemon_is_told_what_to_do(self):
        with self.daemon("/srv/work"):
            second = subprocess.run(
                [DAEMON, "7655", "/srv/other"], env=self.environment(), text=True,
                stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
            self.assertEqual(second.returncode, 1)
            self.assertIn("is already running", second.stderr)
            self.assertIn("/srv/work", self.ask().stdout)

    def test_daemons_that_do_not_answer_are_told_and_hold_nothing_up(self):
        with self.daemon("/srv/one", port=7701) as one, self.daemon("/srv/two", port=7702), \
                self.daemon("/srv/three", port=7703) as three:
            with self.stopped(one), self.stopped(three):
                begun = time.monotonic()
                text = self.ask()
                told = self.ask("--json")
                only = self.ask("--port", "7703")
                self.assertLess(time.monotonic() - begun, 3 * 2)
            for result in (text, told, only):
                self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(
                text.stdout,
                f"The daemon of port 7701 (process {one.pid}) does not answer: it is busy or stopped.\n\n"
                "Not connected; waiting for a page or a token.\nFolder: /srv/two\n\n"
                f"The daemon of port 7703 (process {three.pid}) does not answer: it is busy or stopped.\n")
            self.assertEqual(only.stdout, text.stdout.splitlines(True)[-1])
            told = [json.loads(line) for line in told.stdout.splitlines()]
            self.assertEqual([one["state"] for one in told], ["silent", "idle", "silent"])
            self.assertEqual(told[0], {
                "connected": False, "dir": None, "connectedAt": None, "url": None, "state": "silent", "server": None,
                "reason": "it is busy or stopped", "command": None, "port": 7701, "pid": one.pid})
            self.assertEqual(self.ask().stdout.count("Folder: "), 3)

    def test_what_a_folder_is_called_does_not_steer_the_terminal(self):
        with self.daemon("/srv/\033[2Jx\u202e", "https://n8n.example\r\n"):
            shown = self.ask().stdout
            self.assertNotIn("\033", shown)
            self.assertNotIn("\u202e", shown)
            self.assertEqual(shown.count("\n"), 2)
            self.assertNotIn("\033", self.ask("--json").stdout)

    def test_other_answers_are_refused(self):
        good = b'{"connected":false,"dir":"/srv"}'
        for answer in (
            b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 500 No\r\n\r\n" + good, good,
            b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n[]",
            b'HTTP/1.1 200 OK\r\n\r\n{"connected":"yes","dir":"/srv"}',
            b'HTTP/1.1 200 OK\r\n\r\n{"connected":true}',
            b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 5000,
            b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (4 << 20) + good,
        ):
            with self.subTest(answer[:60]), self.impostor(answer):
                result = self.ask("--json")
                self.assertEqual((result.returncode, result.stdout), (1, ""))
        with self.impostor(b"HTTP/1.1 200 OK\r\n\r\n" + good):
            self.assertEqual(self.ask().returncode, 0)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_the_socket_of_another_user_is_not_asked(self):
        with self.impostor(b'HTTP/1.1 200 OK\r\n\r\n{"connected":false,"dir":"/srv"}'):
            os.chmod(self.runtime, 0o755)
            os.chmod(self.runtime / "gatehouse", 0o755)
            os.chmod(self.runtime / "gatehouse/daemon-7655.socket", 0o777)
            copy = self.runtime / "copy"
            copy.write_bytes(GATEHOUSE.read_bytes())
            copy.chmod(0o755)
            result = subprocess.run(
                ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy, "status"],
                env=self.environment(), text=True, capture_output=True, timeout=PATIENCE)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn("another user's", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
