#!/usr/bin/env python3
"""Every option of gatehouse connect and its variable, tested by its effect.

Arguments: see daemon_scene.
"""
import contextlib
import http.client
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import time
import typing
import unittest

sys.dont_write_bytecode = True  # not into the sources
import daemon_scene
from daemon_scene import MOMENT, REQUIRED, AtTerminal, Scene, has_boxes
from free_port import free_port, is_free
from patience import PATIENCE

WRITES = ("--permission-filesystem-write", "allow")
SHELL = ("--permission-shell", "allow")
OTHER_PAGE = "https://other.example"
NEEDS_BOXES = "cannot sandbox commands on this machine"


class Row(typing.NamedTuple):
    """What look() sees without the option is `usual`, and with it, or its variable, `changed`."""

    option: str
    variable: str | None
    value: str | None
    look: str
    usual: object
    changed: object


# {place} is a folder of the test's, {port} one that is free.
ROWS = (
    Row("--filesystem-dir", "N8N_GATEWAY_FILESYSTEM_DIR", "{place}/there", "folder", "root",
        "there"),
    Row("--dir", None, "{place}/there", "folder", "root", "there"),
    Row("--ro", None, "{place}/there", "folders", {"root": "read"}, {"root": "read", "there": "read"}),
    Row("--rw", None, "{place}/there", "folders", {"root": "read"}, {"root": "read", "there": "write"}),
    Row("--deny", "GATEHOUSE_DENY", "**/x,a.*", "names", ["a.txt"], []),
    Row("--allow", "GATEHOUSE_ALLOW", "src/**", "names", ["a.txt"], []),
    Row("--hard-links", "GATEHOUSE_HARD_LINKS", "allow", "read_second_name", False, True),
    Row("--max-file-size", "GATEHOUSE_MAX_FILE_SIZE", "1KiB", "can_write_2_kib", True, False),
    Row("--max-lines", "GATEHOUSE_MAX_LINES", "1", "lines", "one\ntwo", "one"),
    Row("--state-dir", "GATEHOUSE_STATE_DIR", "{place}/there", "has_record_there", False, True),
    Row("--settings-dir", "GATEHOUSE_SETTINGS_DIR", "{place}/there", "has_settings_there", False,
        True),
    Row("--log-level", "N8N_GATEWAY_LOG_LEVEL", "silent", "tells", True, False),
    Row("--keep-session", "GATEHOUSE_KEEP_SESSION", None, "keeps_session", False, True),
    Row("--no-log-file", "GATEHOUSE_LOG_FILE", None, "has_log_file", True, False),
    Row("--ca-file", "GATEHOUSE_CA_FILE", "{place}/server.pem", "trusts", False, True),
    Row("--port", "N8N_GATEWAY_PORT", "{port}", "is_port_free", True, False),
    Row("--allowed-origins", None, OTHER_PAGE, "other_page", 403, 200),
    Row("--filesystem-write-access", "N8N_GATEWAY_FILESYSTEM_WRITE_ACCESS", None, "write",
        "absent", "asked"),
    Row("--permission-filesystem-read", "N8N_GATEWAY_PERMISSION_FILESYSTEM_READ", "ask", "read",
        "done", "asked"),
    Row("--permission-filesystem-write", "N8N_GATEWAY_PERMISSION_FILESYSTEM_WRITE", "allow",
        "write", "absent", "done"),
    Row("--permission-shell", "N8N_GATEWAY_PERMISSION_SHELL", "allow", "command", "absent", "done"),
    Row("--sensitive", "GATEHOUSE_SENSITIVE", "allow", "read_secret", "asked", "done"),
    Row("--autorun", "GATEHOUSE_AUTORUN", "allow", "write_hook", "asked", "done"),
    Row("--permission-computer", "N8N_GATEWAY_PERMISSION_COMPUTER", "ask", "wants_computer",
        False, True),
    Row("--permission-browser", "N8N_GATEWAY_PERMISSION_BROWSER", "deny", "wants_browser",
        True, False),
    Row("--permission-confirmation", "N8N_GATEWAY_PERMISSION_CONFIRMATION", "instance", "asker",
        "terminal", "instance"),
    Row("--auto-confirm", "N8N_GATEWAY_AUTO_CONFIRM", None, "connects_unasked", False, True),
    Row("--non-interactive", "N8N_GATEWAY_NON_INTERACTIVE", None, "connects_unasked", False, True),
    Row("--shell-network", "N8N_GATEWAY_SHELL_NETWORK", "allow", "sees_network", False, True),
    Row("--shell-domain", "GATEHOUSE_SHELL_DOMAIN", "host.example", "proxy", "none", "http://127.0.0.1:7653"),
    Row("--shell-writable", "N8N_GATEWAY_SHELL_WRITABLE", "{place}/there", "can_change_there",
        False, True),
    Row("--shell-readable", "GATEHOUSE_SHELL_READABLE", "{place}/there", "can_read_there",
        False, True),
    Row("--shell-env", "GATEHOUSE_SHELL_ENV", "OF_MINE=a,b", "variable", "none", "a,b"),
    Row("--dangerously-disable-shell-sandbox", "N8N_GATEWAY_DANGEROUSLY_DISABLE_SHELL_SANDBOX",
        None, "can_change_there", False, True),
    Row("--computer-shell-timeout", "N8N_GATEWAY_COMPUTER_SHELL_TIMEOUT", "100", "is_patient", True,
        False),
)
# What needs root to be seen, in test_daemon_port.py; or our server, in test_server_extensions.py; or counted calls, in
# test_audit_sync.py.
ELSEWHERE = {"--audit-sync": "GATEHOUSE_AUDIT_SYNC",
             "--no-notifications": "GATEHOUSE_NOTIFICATIONS",
             "--no-browser-headless": "GATEHOUSE_BROWSER_HEADLESS",
             "--allow-remote-always": "GATEHOUSE_ALLOW_REMOTE_ALWAYS"}
# Of the original daemon: test_the_original_command_lines_work().
ORIGINAL = {"--url", "--api-key", "--no-browser", "--browser-default"}
AT_TERMINAL = ("asker",)
IN_BOXES = ("command", "sees_network", "proxy", "variable", "can_change_there", "can_read_there",
            "is_patient")


def neutral(variable):
    """Every variable of the original daemon has a name of ours."""
    return variable and variable.replace("N8N_GATEWAY_", "GATEHOUSE_")


def devices(text):
    return sorted(line.partition(":")[0].strip() for line in text.splitlines()[2:])


class Looks(Scene):
    """Each starts a daemon with what it is given, and returns what can be seen of it."""

    def setUp(self):
        super().setUp()
        self.there = self.place / "there"
        self.port = free_port()
        self.started = []

    def daemon(self, *arguments, **variables):
        self.started.append(super().daemon(*arguments, **variables))
        return self.started[-1]

    def afresh(self):
        """Nothing is left of the start before, whose toolhost goes a moment after it."""
        deadline = time.monotonic() + PATIENCE
        for daemon in self.started:
            daemon.close()
        for place in (self.home, self.there):
            while place.exists():
                shutil.rmtree(place, ignore_errors=time.monotonic() < deadline)
            place.mkdir(mode=0o700)
        self.settings = self.home / ".n8n-gateway" / "settings.json"

    def start(self, *flags, **variables):
        server = self.serve()
        daemon = self.daemon("--auto-confirm", *flags, self.url(server), server.token, self.root,
                             **variables)
        self.assertTrue(self.has_come(server, daemon), daemon.told)
        return server, daemon

    def said(self, *flags, signum=signal.SIGINT, **variables):
        _, daemon = self.start(*flags, **variables)
        status, told = daemon.end(signum)
        self.assertEqual(status, 0, told)
        return told

    def outcome(self, flags, variables, tool, **arguments):
        server, _ = self.start(*flags, **variables)
        if tool not in self.tools(server):
            return "absent"
        result = self.call(server, tool, **arguments)
        text = result["content"][0]["text"]
        return ("asked" if REQUIRED in text else text) if "isError" in result else "done"

    def run_command(self, command, *flags, **variables):
        server, _ = self.start(*SHELL, *flags, **variables)
        return self.call(server, "shell_execute", command=command)["structuredContent"]

    def has_come(self, server, daemon):
        """Whether it connects, or else has ended."""
        deadline = time.monotonic() + PATIENCE
        while server.state()["streams"] == 0:
            if daemon.process.poll() is not None:
                return False
            self.assertLess(time.monotonic(), deadline)
            time.sleep(MOMENT)
        return True

    def folder(self, *flags, **variables):
        server = self.serve()
        self.write_settings(filesystemDir=str(self.root))
        daemon = self.daemon("--auto-confirm", *flags, self.url(server), server.token, **variables)
        self.assertTrue(self.has_come(server, daemon), daemon.told)
        return pathlib.Path(server.state()["init"]["rootPath"]).name

    def folders(self, *flags, **variables):
        server, _ = self.start(*flags, **variables)
        return {pathlib.Path(one["path"]).name: one["access"]
                for one in self.good(server, "list_allowed_directories")["directories"]}

    def names(self, *flags, **variables):
        server, _ = self.start(*flags, **variables)
        return [one["path"] for one in self.good(server, "list_files", dirPath=".")["entries"]]

    def can_write_2_kib(self, *flags, **variables):
        return self.outcome((*WRITES, *flags), variables, "write_file", filePath="b",
                            content="x" * 2048) == "done"

    def lines(self, *flags, **variables):
        server, _ = self.start(*flags, **variables)
        return self.good(server, "read_file", filePath="a.txt", maxLines=2)["content"]

    def has_record_there(self, *flags, **variables):
        self.said(*flags, **variables)
        return any(self.there.glob("audit.jsonl*"))

    def has_settings_there(self, *flags, **variables):
        self.said(*flags, **variables)
        return (self.there / "settings.json").exists()

    def tells(self, *flags, **variables):
        return self.said(*flags, **variables) != ""

    def keeps_session(self, *flags, **variables):
        self.said(*flags, signum=signal.SIGTERM, **variables)
        return any(name.suffix != ".lock" for name in self.record.parent.glob("session-*"))

    def has_log_file(self, *flags, **variables):
        self.said("--port", self.port, *flags, **variables)
        return (self.record.parent / f"daemon-{self.port}.log").exists()

    def trusts(self, *flags, **variables):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-keyout", "server.key", "-out",
                        "server.pem", "-subj", "/CN=server", "-addext",
                        "subjectAltName=IP:127.0.0.1"],
                       cwd=self.place, check=True, capture_output=True)
        server = self.serve("--tls", self.place / "server.pem", self.place / "server.key")
        return self.has_come(server, self.daemon(
            "--auto-confirm", *flags, f"https://127.0.0.1:{server.port}", server.token, self.root,
            **variables))

    def is_port_free(self, *flags, **variables):
        _, daemon = self.start(*flags, **variables)
        try:
            return is_free(self.port)
        finally:
            daemon.end()

    def other_page(self, *flags, **variables):
        _, daemon = self.start(*flags, **variables)
        port = int(re.search(r"\bport=(\d+)", daemon.until("local port"))[1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", "/health", headers={"Origin": OTHER_PAGE})
            return connection.getresponse().status

    def write(self, *flags, **variables):
        return self.outcome(flags, variables, "write_file", filePath="b", content="x")

    def read(self, *flags, **variables):
        return self.outcome(flags, variables, "read_file", filePath="a.txt")

    def read_second_name(self, *flags, **variables):
        (self.place / "second").unlink(missing_ok=True)
        (self.place / "second").hardlink_to(self.root / "a.txt")
        try:
            return self.outcome(flags, variables, "read_file", filePath="a.txt") == "done"
        finally:
            (self.place / "second").unlink()

    def read_secret(self, *flags, **variables):
        (self.root / ".env").write_text("KEY=x")
        return self.outcome(flags, variables, "read_file", filePath=".env")

    def write_hook(self, *flags, **variables):
        flags = ("--permission-filesystem-write", "allow", *flags)
        return self.outcome(flags, variables, "write_file", filePath=".git/hooks/x", content="x")

    def command(self, *flags, **variables):
        return self.outcome(flags, variables, "shell_execute", command="true")

    def wants_computer(self, *flags, **variables):
        return "screen, mouse and keyboard are not available" in self.said(*flags, **variables)

    def wants_browser(self, *flags, **variables):
        return self.offers_browser(*self.start(*flags, **variables))

    def connects_unasked(self, *flags, **variables):
        server = self.serve()
        return self.has_come(server, self.daemon(*flags, self.url(server), server.token, self.root,
                                                 **variables))

    def sees_network(self, *flags, **variables):
        look = ("cat", "/proc/net/dev")
        seen = self.run_command(" ".join(look), *flags, **variables)["stdout"]
        ours = subprocess.run(look, capture_output=True, check=True, text=True).stdout
        return devices(seen) == devices(ours)

    def proxy(self, *flags, **variables):
        return self.run_command("echo ${https_proxy-none}", *flags, **variables)["stdout"].strip()

    def variable(self, *flags, **variables):
        return self.run_command("echo ${OF_MINE-none}", *flags, **variables)["stdout"].strip()

    def can_change_there(self, *flags, **variables):
        self.run_command(f"echo x > {self.there}/f", *flags, **variables)
        return (self.there / "f").exists()

    def can_read_there(self, *flags, **variables):
        (self.there / "read").write_text("needle")
        return "needle" in self.run_command(f"cat {self.there}/read", *flags, **variables)["stdout"]

    def is_patient(self, *flags, **variables):
        return not self.run_command("sleep 5", *flags, **variables).get("timedOut", False)


class Checks(Looks):
    def check(self, row):
        names = {"place": self.place, "port": self.port}
        words = [row.option] if row.value is None else [row.option, row.value.format(**names)]
        value = "no" if row.option.startswith("--no-") else "yes"
        look = getattr(self, row.look)
        self.afresh()
        self.assertEqual(look(), row.usual)
        self.afresh()
        self.assertEqual(look(*words), row.changed)
        for variable in {row.variable, neutral(row.variable)} - {None}:
            self.afresh()
            self.assertEqual(look(**{variable: words[1] if row.value else value}), row.changed)


class Options(Checks):
    def test_each_is_here_and_nothing_else(self):
        page = " ".join(self.gatehouse("connect", "--help").split())
        named = set(re.findall(r"--(?:\[no-\])?[a-z][a-z-]*", page)) - {"--help", "--version"}
        rows = {row.option for row in ROWS} | set(ELSEWHERE) | ORIGINAL
        self.assertEqual({name.replace("[no-]", "no-") for name in named}, rows)
        self.assertEqual(set(re.findall(r"env: ([A-Z0-9_]+)", page)),
                         {neutral(row.variable) for row in ROWS if row.variable} | set(ELSEWHERE.values())
                         | {"GATEHOUSE_BROWSER_DEFAULT"})


    def test_the_original_command_lines_work(self):
        """Whatever `npx @n8n/computer-use --help` of 0.19.0 names is taken."""
        server = self.serve()
        daemon = self.daemon(
            "--url", self.url(server), "--api-key", server.token, "-d", self.root, "--log-level", "info",
            "--allowed-origins", "https://*.app.n8n.cloud", "--non-interactive", "--auto-confirm",
            "--permission-filesystem-read", "allow", "--permission-filesystem-write", "ask", "--permission-shell",
            "deny", "--permission-computer", "deny", "--permission-browser", "ask", "--permission-confirmation",
            "instance", "--no-browser", "--browser-default", "chrome")
        self.assertTrue(self.has_come(server, daemon), daemon.told)
        said = daemon.end()[1]
        self.assertFalse(self.offers_browser(server, daemon))
        self.assertNotIn(server.token, said)


class OptionsAtTerminal(AtTerminal, Checks):
    def asker(self, *flags, **variables):
        server, daemon = self.start("--permission-filesystem-read", "ask", *flags, TERM="dumb",
                                    **variables)
        del self.shown[:]
        called = server.call("read_file", filePath="a.txt")
        deadline = time.monotonic() + PATIENCE
        while b"read_file" not in self.shown:
            self.assertLess(time.monotonic(), deadline, bytes(self.shown))
            with contextlib.suppress(queue.Empty):
                line = server.lines.get(timeout=MOMENT)
                if line.get("answer") == called:
                    self.assertIn(REQUIRED, line["text"])
                    self.assertEqual(daemon.end()[0], 0)
                    return "instance"
        self.assertEqual(daemon.end()[0], 0)
        return "terminal"


def add_tests():
    for row in ROWS:
        def test(self, row=row):
            self.check(row)

        if row.look in IN_BOXES:
            test = unittest.skipUnless(has_boxes(), NEEDS_BOXES)(test)
        setattr(OptionsAtTerminal if row.look in AT_TERMINAL else Options,
                "test_" + row.option.strip("-").replace("-", "_"), test)


add_tests()

if __name__ == "__main__":
    daemon_scene.main()
