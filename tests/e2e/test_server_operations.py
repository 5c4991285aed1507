#!/usr/bin/env python3
"""What people who run gatehouse serve need: metrics, options from a file, backups, an orderly end, a unit.

Arguments: gatehouse, the unit of the server, and what unittest takes.
"""
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # not into the sources
from server_scene import Agent, Machine, PATIENCE, clean_environment

UNIT = pathlib.Path(sys.argv.pop(2)).resolve()
import test_server
from test_server import GATEHOUSE, RESULT, wait_until

TOKEN = "metrics-0123456789abcdef"


class Metrics(test_server.Scene):
    def metrics(self, server, **headers):
        status, answered, text = server.ask("GET", "/metrics", headers=headers)
        self.assertEqual(status, 200, text)
        self.assertTrue(answered["Content-Type"].startswith("text/plain; version=0.0.4"))
        text = text.decode()
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+=\"[^\"]+\"\})? [-+0-9.e]+)$")
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    def test_calls_streams_logins_and_refusals_are_counted(self):
        server = self.serve()
        before = self.metrics(server)
        self.assertEqual(before["gatehouse_machines"], "0")
        machine = Machine(server, server.token)
        stream = machine.listen()
        self.addCleanup(stream.close)
        agent = Agent(server, self.add_agent())
        for body in ({"result": RESULT}, {"error": "no"}):
            call = agent.begin("echo", {})
            machine.respond(stream.next(), **body)
            call.next()
            call.close()
        server.log_in()
        server.ask("GET", "/login?token=wrong")
        server.ask("POST", "/mcp", {}, {"Authorization": "Bearer gha_wrong", "Content-Type": "application/json"})
        after = self.metrics(server)
        self.assertEqual(after['gatehouse_calls_total{outcome="ok"}'], "1")
        self.assertEqual(after['gatehouse_calls_total{outcome="error"}'], "1")
        self.assertEqual(after["gatehouse_call_seconds_count"], "2")
        self.assertEqual(after['gatehouse_call_seconds_bucket{le="+Inf"}'], "2")
        self.assertEqual(after["gatehouse_machines_connected"], "1")
        self.assertEqual(after["gatehouse_streams"], "1")
        self.assertEqual(after["gatehouse_calls_waiting"], "0")
        self.assertEqual(after['gatehouse_logins_total{outcome="ok"}'], "1")
        self.assertEqual(after['gatehouse_logins_total{outcome="refused"}'], "1")
        self.assertEqual(after['gatehouse_http_requests_total{status="401"}'], "1")
        self.assertGreater(float(after["gatehouse_peak_resident_bytes"]), 1000)
        self.assertGreaterEqual(float(after["gatehouse_heap_bytes"]), 0)  # 0 with ASan's malloc
        self.assertGreaterEqual(float(after["process_cpu_seconds_total"]), 0)

    def test_they_are_for_this_machine_only(self):
        server = self.serve()
        self.metrics(server)
        for headers in ({"X-Forwarded-For": "192.0.2.1"}, {"Forwarded": "for=192.0.2.1"},
                        {"Via": "1.1 proxy"}):
            self.assertEqual(server.ask("GET", "/metrics", headers=headers)[0], 401, headers)
        server.end()
        # Behind a proxy, which may say nothing about itself.
        server = self.serve("--public-url", "https://gate.example")
        self.assertEqual(server.ask("GET", "/metrics")[0], 401)

    def test_a_token_opens_them_to_others(self):
        server = self.serve("--public-url", "https://gate.example", GATEHOUSE_METRICS_TOKEN=TOKEN)
        self.assertEqual(server.ask("GET", "/metrics")[0], 401)
        for wrong in (TOKEN[:-1], TOKEN + "x", ""):
            self.assertEqual(
                server.ask("GET", "/metrics", headers={"Authorization": f"Bearer {wrong}"})[0], 401)
        self.metrics(server, Authorization=f"Bearer {TOKEN}", Host="gate.example")

    def test_a_short_token_is_refused(self):
        result = subprocess.run([GATEHOUSE, "serve", "--state-dir", self.state, "--listen", "127.0.0.1:0"],
                                env=clean_environment(GATEHOUSE_METRICS_TOKEN="short"),
                                capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, 2)
        self.assertIn("GATEHOUSE_METRICS_TOKEN needs 16 to 256 characters", result.stderr)


class Options(test_server.Scene):
    def config(self, text):
        file = self.room / "server.conf"
        file.write_text(text)
        return file

    def test_a_file_has_them_too(self):
        file = self.config('# how others reach it\npublic-url = "https://gate.example"\n\n'
                           "  log-level=silent\r\n")
        server = self.serve("--config", file)
        self.assertIn("https://gate.example", server.words)

    def test_environment_and_flags_are_stronger(self):
        file = self.config("public-url = https://file.example\n")
        server = self.serve(GATEHOUSE_CONFIG=str(file))
        self.assertIn("https://file.example", server.words)
        server.end()
        server = self.serve("--config", file, GATEHOUSE_PUBLIC_URL="https://environment.example")
        self.assertIn("https://environment.example", server.words)
        server.end()
        server = self.serve("--config", file, "--public-url", "https://flag.example")
        self.assertIn("https://flag.example", server.words)

    def test_the_log_can_be_json(self):
        server, logged = self.serve_with_log("--log-level", "info")
        server.ask("GET", "/login?token=gw_abcdefgh12345678")
        server.ask("GET", "/nowhere/%22%C3%BC?key=x")
        server.end()
        lines = logged()
        for line in lines:
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertIn(line["level"], ("info", "warn", "error"))
        requests = [line for line in lines if line["message"] == "request"]
        self.assertEqual([(line["method"], line["path"], line["status"]) for line in requests],
                         [("GET", "/login", 403), ("GET", "/nowhere/%22%C3%BC", 404)])
        self.assertEqual([line["signal"] for line in lines if line["message"] == "stopping"], ["Terminated"])

    def test_mistakes_are_named(self):
        for text, words in (("lisen = x\n", "line 1: there is no option 'lisen'"),
                            ("\nlisten\n", "line 2: expected name = value"),
                            ("config = /x\n", "line 1: there is no option 'config'"),
                            ("help = yes\n", "line 1: there is no option 'help'"),
                            ("timeout = soon\n", "timeout")):
            file = self.config(text)
            result = subprocess.run([GATEHOUSE, "serve", "--config", file, "--state-dir", self.state],
                                    env=clean_environment(), capture_output=True, text=True,
                                    timeout=PATIENCE)
            self.assertEqual(result.returncode, 2, text)
            self.assertIn(f"{file}: ", result.stderr)
            self.assertIn(words, result.stderr)

    def test_a_file_that_is_not_there_is_an_error(self):
        for path in (self.room / "none", self.room):
            result = subprocess.run([GATEHOUSE, "serve", "--config", path], env=clean_environment(),
                                    capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(result.returncode, 2)
            self.assertIn(str(path), result.stderr)


class Backups(test_server.Scene):
    def backup(self, file, status=0):
        result = subprocess.run([GATEHOUSE, "backup", "--state-dir", self.state, file],
                                env=clean_environment(), capture_output=True, text=True,
                                timeout=PATIENCE)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stderr

    def test_a_copy_of_a_running_server_is_its_state(self):
        server = self.serve()
        machine = Machine(server, server.token)
        key = self.add_agent()
        browser = server.log_in()
        copy = self.room / "copy.db"
        self.backup(copy)
        self.assertEqual(stat.S_IMODE(copy.stat().st_mode), 0o600)
        self.assertEqual([path.name for path in self.room.glob("copy.db*")], ["copy.db"])
        # After the copy: neither is in it.
        later = self.add_agent("later")
        server.end()

        for name in ("server.db", "server.db-wal", "server.db-shm"):
            (self.state / "server" / name).unlink(missing_ok=True)
        shutil.copy(copy, self.state / "server/server.db")
        server = self.serve()
        machine.server = server
        stream = machine.listen()
        self.addCleanup(stream.close)
        agent = Agent(server, key)
        self.assertEqual(agent.tools(), ["echo"])
        self.assertEqual(server.ask("GET", "/rest/instance-ai/gateway/status", headers=browser)[0], 200)
        self.assertEqual(server.ask("POST", "/mcp", {}, {"Authorization": f"Bearer {later}"})[0], 401)

    def test_nothing_is_replaced(self):
        self.serve().end()
        copy = self.room / "copy.db"
        copy.write_text("precious")
        self.assertIn("exists already", self.backup(copy, 1))
        self.assertEqual(copy.read_text(), "precious")

    def test_a_folder_that_is_not_there_is_named(self):
        self.serve().end()
        self.assertEqual(self.backup(self.room / "none/copy.db", 1),
                         f"gatehouse backup: cannot use '{self.room}/none': No such file or directory\n")

    def test_without_a_state_there_is_nothing_to_copy(self):
        self.assertIn("there is no server's state", self.backup(self.room / "copy.db", 1))
        self.assertFalse((self.room / "copy.db").exists())
        self.assertFalse(self.state.exists())


class End(test_server.Scene):
    def test_a_call_ends_before_the_server(self):
        server = self.serve()
        machine = Machine(server, server.token)
        stream = machine.listen()
        self.addCleanup(stream.close)
        agent = Agent(server, self.add_agent())
        call = agent.begin("echo", {})
        event = stream.next()
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: server.ask("GET", "/readyz")[0] == 503, "the server stops")
        self.assertEqual(agent.post("ping", {})[0], 503)
        self.assertEqual(machine.respond(event, result=RESULT)[0], 200)
        self.assertEqual(call.next()["result"]["content"], RESULT["content"])
        self.assertIsNone(stream.next())  # it ends without gateway-disconnect
        self.assertEqual(server.process.wait(PATIENCE), 0)

    def test_a_second_signal_does_not_wait(self):
        server = self.serve()
        machine = Machine(server, server.token)
        stream = machine.listen()
        self.addCleanup(stream.close)
        call = Agent(server, self.add_agent()).begin("echo", {})
        self.addCleanup(call.close)
        stream.next()
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: server.ask("GET", "/readyz")[0] == 503, "the server stops")
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(9), 0)  # less than calls have


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
class Unit(test_server.Scene):
    def setUp(self):
        super().setUp()
        # Where this build is: systemd wants the program to be there.
        self.unit = self.room / "gatehouse-server.service"
        self.unit.write_text(re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={GATEHOUSE}", UNIT.read_text()))

    def analyze(self, *arguments):
        return subprocess.run(["systemd-analyze", *arguments, self.unit], capture_output=True, text=True,
                              env=clean_environment(SYSTEMD_LOG_LEVEL="warning"), timeout=PATIENCE)

    def test_systemd_understands_it(self):
        result = self.analyze("verify", "--man=no")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)

    def test_systemd_finds_it_hardened(self):
        result = self.analyze("security", "--offline=yes", "--threshold=25")
        self.assertEqual(result.returncode, 0, result.stdout[-2000:] + result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
