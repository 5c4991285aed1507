#!/usr/bin/env python3
"""Timeouts of gatehouse connect, in real time: one of the heavy tests.

tests/unit/programs/connect and tests/unit/gateway test the same with a fake clock.

Arguments: see daemon_scene.
"""
import contextlib
import json
import os
import pathlib
import signal
import sys
import time

sys.dont_write_bytecode = True  # not into the sources
import daemon_scene
from daemon_scene import AtTerminal, Scene
from patience import PATIENCE


class Patience(Scene):
    def test_a_stream_that_has_gone_silent_is_opened_again(self):
        server = self.serve("--ping", 0)
        daemon = self.daemon("--auto-confirm", self.url(server), server.token, self.root)
        server.until(streams=1)
        since = time.monotonic()
        daemon.until("retrying")
        self.assertGreater(time.monotonic() - since, 40)
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")

    def test_a_server_that_stands_still_is_come_back_to(self):
        server, daemon = self.connect()
        server.process.send_signal(signal.SIGSTOP)
        self.addCleanup(server.process.send_signal, signal.SIGCONT)
        daemon.until("retrying")
        server.process.send_signal(signal.SIGCONT)
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")

    def go_on(self, process):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGCONT)

    def test_a_toolhost_that_stands_still_is_replaced(self):
        server, daemon = self.connect()
        (toolhost,) = daemon.children()
        process = os.pidfd_open(toolhost)
        self.addCleanup(os.close, process)
        self.addCleanup(self.go_on, process)
        self.stop(toolhost)
        called = server.call("read_file", filePath="a.txt")
        result = json.loads(server.until(answer=called)["text"])["result"]
        self.assertTrue(result["isError"])
        deadline = time.monotonic() + PATIENCE
        while toolhost in daemon.children() or not daemon.children():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(daemon_scene.MOMENT)
        self.good(server, "read_file", filePath="a.txt")

    def test_a_launcher_that_stands_still_is_replaced(self):
        server, daemon = self.connect("--permission-shell", "allow")
        self.good(server, "shell_execute", command="true")
        (launcher,) = [child for part in daemon.children() for child in daemon.children(part)
                       if b"toolhost" not in pathlib.Path(f"/proc/{part}/cmdline").read_bytes()]
        self.stop(launcher)
        called = server.call("shell_execute", command="true")
        self.assertIn("does not respond", server.until(answer=called)["text"])
        self.good(server, "shell_execute", command="true")
        self.assertEqual(daemon.end()[0], 0)


class Questions(AtTerminal):
    def test_a_question_that_nobody_answers_leaves_the_terminal(self):
        server, _ = self.connect("--permission-filesystem-write", "ask", TERM="dumb")
        called = server.call("delete", path="a.txt")
        self.see("a.txt")
        self.assertIn("did not answer in time", server.until(answer=called)["text"])
        self.assertTrue((self.root / "a.txt").exists())
        os.write(self.master, b"2\n")  # meant for the question that stood there
        self.good(server, "read_file", filePath="a.txt")
        self.assertTrue((self.root / "a.txt").exists())


if __name__ == "__main__":
    daemon_scene.main()
