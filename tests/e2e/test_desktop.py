#!/usr/bin/env python3
"""gatehouse ask with a real desktop: dunst shows the question, and its buttons answer.

The desktop is an X server without a screen, a message bus and dunst, all of the test. dunst has a menu of the
buttons, for which it starts a program; that is a script of the test, which chooses what the test wants.
"""
import os
import shutil
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
import session_bus
import test_ask
from mcp_client import PATIENCE

NEEDED = ("Xvfb", "dbus-daemon", "dbus-send", "dunst", "notify-send")
MISSING = [name for name in NEEDED if shutil.which(name) is None]
# Longer than the time in which a click on "Allow once" does not count.
GUARD_SECONDS = 1.5


@unittest.skipIf(MISSING, f"not installed: {' '.join(MISSING)}")
class Desktop(test_ask.Asked):
    def setUp(self):
        super().setUp()
        self.place = self.room / "desktop"
        self.place.mkdir()
        self.wanted, self.seen = self.place / "wanted", self.place / "seen"
        self.script("choose", f'grep -F -- "$(cat {self.wanted})" | head -n 1')
        self.script("see", f'printf "%s\\n" "$2: $3" >>{self.seen}')
        (self.place / "dunstrc").write_text(
            f"[global]\ndmenu = {self.place}/choose\nalways_run_script = true\n"
            f"[seen]\nsummary = *\nscript = {self.place}/see\n")
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.place), "LANG": "C.UTF-8",
                            "XDG_RUNTIME_DIR": str(self.state / "run")}
        self.environment["DISPLAY"] = ":" + self.launch("Xvfb", "-displayfd", "1", "-nolisten", "tcp")
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = self.launch(*session_bus.command(self.place))
        self.launch("dunst", "-conf", self.place / "dunstrc", reads=False)
        self.until(lambda: self.tell("org.freedesktop.Notifications.GetServerInformation"), "dunst does not answer")

    def script(self, name, words):
        (self.place / name).write_text(f"#!/bin/sh\n{words}\n")
        (self.place / name).chmod(0o755)

    def launch(self, *words, reads=True):
        """Its first line."""
        process = subprocess.Popen([str(word) for word in words], env=self.environment, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        return process.stdout.readline().strip() if reads else ""

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        process.stdout.close()

    def until(self, is_so, otherwise):
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            self.assertLess(time.monotonic(), deadline, otherwise)
            time.sleep(test_ask.MOMENT)

    def tell(self, method):
        return subprocess.run(
            ["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.Notifications",
             "/org/freedesktop/Notifications", method], env=self.environment, capture_output=True,
            timeout=PATIENCE).returncode == 0

    def shown(self):
        return self.seen.read_text() if self.seen.exists() else ""

    def question(self):
        """A question about a file that usually holds secrets, shown by the desktop."""
        (self.root / ".env").write_text("PASSWORD=x\n")
        terminal = test_ask.Terminal(self.state, flags=(), **{
            key: self.environment[key] for key in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS")})
        self.addCleanup(terminal.close)
        server = self.begin(terminals=[terminal])
        message = server.call_message("read_file", {"filePath": ".env"})
        server.send(message)
        self.until(lambda: ".env" in self.shown(), "the desktop shows nothing")
        self.assertIn("Gatehouse", self.shown())
        return server, message["id"]

    def click(self, button):
        self.wanted.write_text(button)
        time.sleep(GUARD_SECONDS)
        self.assertTrue(self.tell("org.dunstproject.cmd0.ContextMenuCall"))

    def test_its_button_allows(self):
        server, number = self.question()
        self.click("Allow once")
        self.assertIn("PASSWORD=x", server.result(number)["content"][0]["text"])

    def test_its_button_denies(self):
        server, number = self.question()
        self.click("Deny")
        result = server.result(number)
        self.assertTrue(result["isError"])
        self.assertNotIn("PASSWORD", result["content"][0]["text"])
        self.assertIn("denied", result["content"][0]["text"])


if __name__ == "__main__":
    mcp_client.main()
