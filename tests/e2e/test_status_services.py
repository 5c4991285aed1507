#!/usr/bin/env python3
"""`gatehouse status` with `gatehouse serve` and with a sandbox service, and with other things in their place.

    test_status_services.py GATEHOUSE
"""
import contextlib
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # not into the sources
import server_scene
from sandboxd_scene import PATIENCE, Scene, clean_environment, wait_until


class Status(Scene):
    def setUp(self):
        super().setUp()
        self.state = self.room / "state"
        for name in ("home", "run"):
            (self.room / name).mkdir(mode=0o700)

    def run_it(self, *words, **variables):
        environment = {"HOME": str(self.room / "home"), "XDG_RUNTIME_DIR": str(self.room / "run"),
                       "GATEHOUSE_STATE_DIR": str(self.state)} | variables
        environment = {name: value for name, value in environment.items() if value is not None}
        kept = {name: value for name, value in clean_environment().items() if not name.startswith("XDG_")}
        return subprocess.run([self.gatehouse, *words], env=kept | environment, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=PATIENCE)

    def told(self, *words, **variables):
        result = self.run_it("status", *words, **variables)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def objects(self):
        return [json.loads(line) for line in self.told("--json").splitlines()]

    def assert_nothing_runs(self):
        result = self.run_it("status")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("is running: start", result.stderr)

    def server(self, **more):
        server = server_scene.Server(self.gatehouse, more.pop("state", self.state), **more)
        self.addCleanup(server.close)
        return server

    def stop(self, process):
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: ") T " in pathlib.Path(f"/proc/{process.pid}/stat").read_text(), "its stop")
        self.addCleanup(process.send_signal, signal.SIGCONT)


class Server(Status):
    def test_a_server_that_runs_is_shown(self):
        self.assert_nothing_runs()
        server = self.server()
        self.assertEqual(self.told(), f"'gatehouse serve' is running at {server.url}.\n"
                                      f"Ctrl-C in its terminal stops it, and so does 'kill {server.process.pid}'.\n")
        self.assertEqual(self.objects(), [{"command": "serve", "url": server.url, "pid": server.process.pid}])
        # With --port only a daemon is wanted.
        self.assertEqual(self.run_it("status", "--port", str(server.port)).returncode, 1)
        self.stop(server.process)
        self.assertIn(f"running at {server.url}.\n", self.told())
        server.process.send_signal(signal.SIGCONT)
        self.assertEqual(server.end(), 0)
        self.assert_nothing_runs()

    def test_the_address_is_that_which_others_use(self):
        self.server(arguments=("--public-url", "https://gate.example"))
        self.assertIn("running at https://gate.example.\n", self.told())

    def test_one_that_was_killed_is_not_shown(self):
        self.server().end(signal.SIGKILL)
        self.assertTrue((self.state / "server/service.json").exists())
        self.assert_nothing_runs()
        again = self.server()
        self.assertIn(again.url, self.told())

    def test_it_is_looked_for_where_its_state_is(self):
        server = self.server(state=self.room / "home/.local/state/gatehouse")
        self.assert_nothing_runs()
        self.assertIn(server.url, self.told(GATEHOUSE_STATE_DIR=None))
        self.assertIn(server.url, self.told("--state-dir", self.room / "home/.local/state/gatehouse"))
        self.assertIn(server.url, self.told(GATEHOUSE_STATE_DIR=None, HOME="/nowhere",
                                            XDG_STATE_HOME=str(self.room / "home/.local/state")))

    def test_a_server_of_others_is_told_after_the_daemons(self):
        self.server()
        up = subprocess.Popen(
            [self.gatehouse, "up", "--state-dir", self.room / "up", "--listen", "127.0.0.1:0", self.room / "home"],
            env=clean_environment(HOME=str(self.room / "home"), XDG_RUNTIME_DIR=str(self.room / "run")),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(up.wait)
        self.addCleanup(up.terminate)
        wait_until(lambda: [one["command"] for one in self.objects()] == ["up", "serve"], "both")
        self.assertRegex(self.told(), r"(?s)^'gatehouse up' is running;.*\n\n'gatehouse serve' is running at")
        # Its own server is part of it, and not told once more.
        found = self.run_it("status", "--json", "--state-dir", self.room / "up").stdout
        self.assertEqual([json.loads(line)["command"] for line in found.splitlines()], ["up"])


class Files(Status):
    """Other things where a service's file would be."""

    def put(self, text, place="server", is_locked=True):
        path = self.state / place / "service.json"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text)
        if is_locked:
            file = path.open()
            self.addCleanup(file.close)
            fcntl.flock(file, fcntl.LOCK_EX)
        return path

    def test_what_is_no_service_is_not_shown(self):
        good = '{"url":"http://127.0.0.1:1"}'
        self.put(good)
        self.assertIn("'gatehouse serve' is running at http://127.0.0.1:1.\nCtrl-C in its terminal stops it.\n", self.told())
        for text in ("", "{", "[]", '{"url":1}', '{"url":"' + "x" * 600 + '"}', '{"url":"' + "x" * 5000 + '"}'):
            self.put(text)
            self.assert_nothing_runs()
        self.put(good, is_locked=False)
        self.assert_nothing_runs()
        path = self.put(good)
        path.rename(self.state / "elsewhere")
        path.symlink_to(self.state / "elsewhere")
        self.assert_nothing_runs()
        path.unlink()
        os.mkfifo(path)
        self.assert_nothing_runs()
        path.unlink()
        path.mkdir()
        self.assert_nothing_runs()

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_what_another_user_has_is_not_shown(self):
        os.chown(self.put('{"url":"http://127.0.0.1:1"}'), 12345, 12345)
        self.assert_nothing_runs()

    def test_what_it_says_is_shown_with_care(self):
        self.put('{"url":"http://\\u001b[2J","pid":-1}')
        self.assertIn("running at http://\\x1b[2J.\nCtrl-C", self.told())
        self.assertEqual(self.objects(), [{"command": "serve", "url": "http://\033[2J", "pid": None}])

    def test_a_number_of_no_process_is_not_told(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        for pid in (ended.pid, 0, 1 << 40):
            self.put(json.dumps({"url": "http://127.0.0.1:1", "pid": pid}))
            self.assertNotIn("kill", self.told())

    def test_an_address_at_which_nobody_answers_is_told(self):
        for url in ("http://127.0.0.1:1", "http://[::1]:1", "http://nowhere.example:80", "https://127.0.0.1:1", "http://",
                    "http://127.0.0.1:0", "http://127.0.0.1:99999", "x"):
            self.put(json.dumps({"url": url, "pid": os.getpid()}), "sandboxes")
            self.assertEqual(self.told(), f"A sandbox service is running at {url}.\n"
                                          "How many sandboxes it has is not known.\n"
                                          f"'kill {os.getpid()}' stops it.\n")

    def test_nothing_is_made(self):
        self.assert_nothing_runs()
        self.assertEqual([path for path in self.room.rglob("*") if path.name not in ("home", "run")], [])


class Sandboxes(Status):
    def test_a_service_is_shown_with_its_sandboxes(self):
        for flags in ((), ("--disk-in-memory",)):
            service = self.serve(*flags)
            self.assertEqual(self.told(), f"A sandbox service is running at {service.url}.\n"
                                          "Sandboxes: 0, of which 0 are running\n"
                                          f"'kill {service.process.pid}' stops it.\n")
            box = service.create()
            service.create()
            self.assertEqual(service.output(box, "echo here"), "here\n")
            self.assertEqual(self.objects(), [{"command": "sandbox serve", "url": service.url, "running": 2, "sandboxes": 2,
                                               "pid": service.process.pid}])
            for one in service.ask("GET", "/sandboxes")[2]:
                service.ask("DELETE", f"/sandboxes/{one['id']}")
            service.close()
            self.assert_nothing_runs()

    def test_one_that_is_stopped_is_shown(self):
        service = self.serve()
        self.stop(service.process)
        self.assertIn(f"running at {service.url}.\nHow many sandboxes it has is not known.\n", self.told())
        self.assertEqual(self.objects(), [{"command": "sandbox serve", "url": service.url, "running": None,
                                           "sandboxes": None, "pid": service.process.pid}])
        service.process.send_signal(signal.SIGCONT)

    def test_both_services_are_told(self):
        service, server = self.serve(), self.server()
        self.assertEqual([one["url"] for one in self.objects()], [server.url, service.url])
        self.assertIn("\n\nA sandbox service is running", self.told())

    def test_one_that_a_command_has_started_is_shown_and_can_be_stopped_as_told(self):
        result = self.run_it("sandbox", "create")
        if "cannot start a sandbox service" in result.stderr and "unconfined" not in result.stderr:
            self.skipTest(f"this machine cannot isolate sandboxes: {result.stderr}")
        self.assertEqual(result.returncode, 0, result.stderr)
        one, = self.objects()
        self.addCleanup(self.kill, one["pid"])
        self.assertEqual((one["command"], one["sandboxes"], one["running"]), ("sandbox serve", 1, 1))
        os.kill(one["pid"], signal.SIGTERM)
        wait_until(lambda: self.run_it("status").returncode == 1, "its end")
        self.assertEqual(self.run_it("sandbox", "ls", "--no-start").returncode, 125)

    def kill(self, pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    Scene.gatehouse = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
