#!/usr/bin/env python3
"""Screen, mouse and keyboard by the desktop portal: a real bus and PipeWire, and a portal that only notes."""
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

import mcp_client
import session_bus
from mcp_client import PATIENCE, session_members
from screen_scene import OPEN, OnDisplay, is_confined_worker, pixels_of

NEEDED = ("dbus-daemon", "pipewire")
MISSING = [name for name in NEEDED if shutil.which(name) is None]
LEFT, RIGHT = "320x240+0+0@1:ff8000", "400x300+320+50@2:0000ff"
ORANGE, BLUE, WHITE = (255, 128, 0), (0, 0, 255), (255, 255, 255)
GREEN = (0, 255, 0)


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class OnPortal(OnDisplay):
    def setUp(self):
        super().setUp()
        self.runtime = self.room / "runtime"
        self.runtime.mkdir(mode=0o700)
        self.environment = {"XDG_RUNTIME_DIR": str(self.runtime), "HOME": str(self.runtime), "PATH": "/usr/bin:/bin",
                            "LANG": "C.UTF-8"}
        bus = self.launch(*session_bus.command(self.runtime))
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip()
        self.start_pipewire()
        self.portal = None

    def start_pipewire(self):
        self.pipewire = self.launch("pipewire", stdout=subprocess.DEVNULL)
        self.wait_for((self.runtime / "pipewire-0").exists)

    def launch(self, *words, **settings):
        child = subprocess.Popen([str(word) for word in words], env=self.environment, text=True,
                                 **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                                    "stderr": subprocess.DEVNULL, **settings})
        self.children.append(child)
        if child.stdout:
            self.addCleanup(child.stdout.close)
        return child

    def start_portal(self, manner="good", form="BGRx", monitors=(LEFT,)):
        self.end_portal()
        self.notes = self.room / f"notes-{len(self.children)}"
        with open(self.notes, "wb") as out:
            self.portal = self.launch(mcp_client.WITHOUT_SYSCALL.parent / "fake_portal", manner,
                                      self.runtime / "pipewire-0", form, *monitors, stdin=subprocess.PIPE, stdout=out)
        self.addCleanup(self.portal.stdin.close)
        self.wait_for_note("ready")

    def end_portal(self):
        if self.portal:
            self.portal.kill()
            self.portal.wait()

    def noted(self):
        return self.notes.read_text().splitlines()

    def wait_for_note(self, words, count=1):
        self.wait_for(lambda: self.noted().count(words) >= count or self.portal.poll() is not None)
        self.assertGreaterEqual(self.noted().count(words), count, f"the portal never noted {words}")

    def tell(self, command, words):
        self.portal.stdin.write(command + "\n")
        self.portal.stdin.flush()
        self.wait_for_note(words)

    def serve(self, *flags, **settings):
        return self.begin(*(flags or OPEN), env={
            "DBUS_SESSION_BUS_ADDRESS": self.environment["DBUS_SESSION_BUS_ADDRESS"]}, **settings)

    def input_of(self, *kinds):
        return [line for line in self.noted() if line.split(" ")[0] in kinds]


class Seeing(OnPortal):
    def test_a_picture_shows_the_monitor_and_nobody_is_asked_before(self):
        self.start_portal()
        server = self.serve()
        self.assertEqual(self.noted(), ["ready"])
        lines = pixels_of(self.shoot(server, format="png")[0])
        self.assertEqual((len(lines[0]), len(lines)), (320, 240))
        self.assertEqual((lines[0][0], lines[119][159], lines[120][160], lines[239][319]),
                         (WHITE, WHITE, ORANGE, ORANGE))
        info = server.good("screen_info")
        self.assertEqual(info["backend"], "portal")
        [monitor] = info["monitors"]
        self.assertEqual((monitor["x"], monitor["width"], monitor["height"], monitor["scale"]), (0, 320, 240, 1))
        self.tell("colour 00ff00", "painted")
        self.wait_for(lambda: pixels_of(self.shoot(server, format="png")[0])[239][319] == GREEN)
        self.assertIn("does not tell", server.bad("window_list"))
        self.end(server)
        self.wait_for_note("Close session")
        self.assertEqual(self.noted().count("Start"), 1)

    def test_two_monitors_one_with_a_scale(self):
        self.start_portal(form="RGBx", monitors=(RIGHT, LEFT))
        server = self.serve()
        lines = pixels_of(self.shoot(server, monitor=2, format="png", maxSide=8192)[0])
        self.assertEqual((len(lines[0]), len(lines)), (400, 300))
        self.assertEqual((lines[149][199], lines[150][200]), (WHITE, BLUE))
        left, right = server.good("screen_info")["monitors"]
        self.assertEqual((left["x"], left["y"], left["width"], left["height"], left["scale"]), (0, 0, 320, 240, 1))
        self.assertEqual((right["x"], right["y"], right["width"], right["height"], right["scale"]),
                         (320, 50, 200, 150, 2))
        self.ok(server, "mouse_move", x=200, y=150)
        self.assertEqual(self.input_of("move"), ["move 0 100 75"])
        # Across both, one pixel for each place.
        other = self.serve()
        lines = pixels_of(self.shoot(other, "screen_screenshot_region", x=300, y=180, width=100, height=10,
                                     format="png")[0])
        self.assertEqual((len(lines[0]), len(lines)), (100, 10))
        self.assertEqual((lines[5][0], lines[5][99]), (ORANGE, BLUE))

    def test_a_portal_that_does_not_tell_places(self):
        self.start_portal("no-places", monitors=(LEFT, RIGHT))
        server = self.serve()
        left, right = server.good("screen_info")["monitors"]
        self.assertEqual([(one["x"], one["width"], one["height"]) for one in (left, right)],
                         [(0, 320, 240), (320, 400, 300)])


class Acting(OnPortal):
    def test_mouse_and_keys_are_received(self):
        self.start_portal()
        server = self.serve()
        self.shoot(server, maxSide=160)
        self.ok(server, "mouse_click", x=100, y=50, button="right")
        self.assertEqual(self.input_of("move", "button"), ["move 0 200 100", "button 273 1", "button 273 0"])
        for direction in ("up", "down", "left", "right"):
            self.ok(server, "mouse_scroll", x=100, y=50, direction=direction, amount=2)
        self.assertEqual(self.input_of("wheel"), ["wheel 0 -1"] * 2 + ["wheel 0 1"] * 2 + ["wheel 1 -1"] * 2
                         + ["wheel 1 1"] * 2)
        self.ok(server, "keyboard_shortcut", keys=["ctrl", "t"])
        self.assertEqual(self.input_of("key"), ["key 65507 1", "key 116 1", "key 116 0", "key 65507 0"])
        self.ok(server, "keyboard_type", text="aé漢\n")
        self.assertEqual(self.input_of("key")[4::2],
                         ["key 97 1", "key 233 1", f"key {0x1000000 + ord('漢')} 1", "key 65293 1"])
        self.ok(server, "mouse_drag", fromX=10, fromY=20, toX=150, toY=100)
        self.assertEqual(self.noted()[-1], "button 272 0")
        before = len(self.noted())
        self.assertTrue(server.bad("mouse_click", x=-5, y=1))
        self.assertTrue(server.bad("mouse_click", x=640, y=1))
        self.assertTrue(server.bad("keyboard_type", text="a\u0007"))
        self.assertEqual(len(self.noted()), before)

    def test_without_the_keyboard_there_is_still_the_mouse(self):
        self.start_portal("no-keyboard")
        server = self.serve()
        self.ok(server, "mouse_move", x=1, y=2)
        self.assertIn("without the keyboard", server.bad("keyboard_type", text="a"))

    def test_what_is_held_is_released_when_the_server_ends_or_the_worker_is_killed(self):
        self.start_portal()
        server = self.serve()
        self.ok(server, "mouse_button", x=50, y=50, state="down")
        server.send(server.call_message("keyboard_hold", {"keys": ["shift", "a"], "durationMs": 1000}))
        self.wait_for_note("key 97 1")
        server.process.kill()
        server.wait()
        self.wait_for(lambda: not session_members(server.pid))
        self.wait_for(lambda: self.noted()[-1] == "Close session")
        self.assertIn("key 97 0", self.noted())
        self.assertIn("key 65505 0", self.noted())
        self.assertIn("button 272 0", self.noted())
        second = self.serve()
        self.ok(second, "mouse_button", x=60, y=60, state="down")
        [worker] = [pid for pid in session_members(second.pid) if is_confined_worker(pid)]
        os.kill(worker, signal.SIGKILL)
        # The desktop ends the session of a connection that is lost. Another asks again.
        self.shoot(second)
        self.wait_for_note("Start again", count=2)

    def test_the_process_with_the_session_can_do_nothing_else(self):
        self.start_portal()
        server = self.serve()
        self.shoot(server)
        [worker] = [pid for pid in session_members(server.pid) if is_confined_worker(pid)]
        tasks = list(pathlib.Path(f"/proc/{worker}/task").iterdir())
        self.assertGreater(len(tasks), 1)  # PipeWire's
        for task in tasks:
            status = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
            self.assertEqual((status["Seccomp"], status["NoNewPrivs"]), ("2", "1"), task)


class Asking(OnPortal):
    def test_the_user_is_asked_once(self):
        self.start_portal()
        first = self.serve()
        self.shoot(first)
        self.end(first)
        token = self.state / "gatehouse" / "portal.token"
        self.assertEqual((token.read_text(), token.stat().st_mode & 0o777), ("token-1", 0o600))
        self.assertIn("SelectDevices types=3 persist=2 cursor=0 token=", self.noted())
        self.assertIn("SelectSources types=1 persist=0 cursor=2 token=", self.noted())
        second = self.serve()
        self.shoot(second)
        self.assertIn("SelectDevices types=3 persist=2 cursor=0 token=token-1", self.noted())
        self.assertEqual(token.read_text(), "token-2")
        token.write_text("not a\ntoken")
        third = self.serve()
        self.shoot(third)
        self.assertEqual(self.noted().count("Start"), 2)

    def test_a_session_that_the_desktop_ends_is_told_once_and_asked_for_again(self):
        self.start_portal()
        server = self.serve()
        self.shoot(server)
        self.tell("close", "closed")
        self.wait_for(lambda: "ended the sharing" in str(server.call("screen_screenshot")))
        self.shoot(server)
        self.assertEqual(self.noted().count("CreateSession"), 2)

    def test_while_the_desktop_asks_no_agent_has_input(self):
        self.start_portal("asks-later")
        other = self.serve()
        self.ok(other, "mouse_move", x=1, y=1)
        server = self.serve()
        message = server.call_message("screen_screenshot", {})
        server.send(message)
        self.wait_for_note("Start again")
        held = other.call_message("mouse_move", {"x": 2, "y": 2})
        other.send(held)
        self.assertIn("A question to the user is open", str(other.call("screen_screenshot")))
        self.assertNotIn("move 0 2 2", self.noted())
        self.tell("answer", "answered")
        self.assertEqual(server.result(message["id"])["content"][0]["type"], "image")
        other.result(held["id"])
        self.assertIn("move 0 2 2", self.noted())

    def test_stop_ends_a_question_and_nobody_is_asked_again(self):
        self.start_portal("forged")
        server = self.serve()
        message = server.call_message("screen_screenshot", {})
        server.send(message)
        self.wait_for_note("Start")
        self.assertIn("Stopped", self.run_program("stop"))
        self.assertIn("the user has stopped", str(server.result(message["id"])))
        self.wait_for(lambda: self.noted()[-2:] == ["Close request", "Close session"])
        self.assertIn("the user has stopped", server.bad("screen_screenshot"))
        self.assertEqual(self.noted().count("CreateSession"), 1)

    def test_the_doctor_says_what_is_used_and_asks_nobody(self):
        self.start_portal()
        self.assertRegex(self.run_program("doctor"), r"WAYLAND_DISPLAY is not set[^;]*;\s+the\s+desktop\s+portal\s+is\s+used")
        self.assertEqual(self.noted(), ["ready"])
        # X11 alone shows everything, and asks nobody.
        self.assertRegex(self.run_program("doctor", DISPLAY=":99"), r"there\s+is\s+an\s+X\s+server\s+without\s+Wayland")

    def run_program(self, *words, **variables):
        done = subprocess.run([mcp_client.GATEHOUSE, *words], capture_output=True, text=True, timeout=PATIENCE, env={
            "HOME": str(self.state), "XDG_STATE_HOME": str(self.state), "PATH": "/usr/bin:/bin",
            "DBUS_SESSION_BUS_ADDRESS": self.environment["DBUS_SESSION_BUS_ADDRESS"], **variables})
        return done.stdout

    def test_a_refusal_is_told(self):
        self.start_portal("refuses")
        server = self.serve()
        self.assertIn("refused", server.bad("screen_screenshot"))
        self.assertIn("refused", server.bad("mouse_click", x=1, y=1))
        self.wait_for(lambda: self.noted().count("Close session") == 2)

    def test_nobody_else_answers_for_the_portal(self):
        self.start_portal("forged")
        server = self.serve()
        message = server.call_message("screen_screenshot", {})
        server.send(message)
        self.wait_for_note("Start")
        self.tell("answer", "answered")
        self.assertEqual(server.result(message["id"])["content"][0]["type"], "image")


class Misbehaving(OnPortal):
    def test_answers_that_are_not_what_the_interface_says(self):
        for manner in ("wrong-type", "no-session", "foreign-session", "foreign-request", "huge", "bad-size",
                       "no-streams", "silent"):
            with self.subTest(manner):
                self.start_portal(manner)
                server = self.serve()
                self.assertRegex(server.bad("screen_screenshot"),
                                 "not what its interface says|another's|no monitor|does not answer")
                self.assertNotIn("OpenPipeWireRemote", self.noted())
                self.end(server)

    def test_memory_that_shrinks_while_it_is_read_ends_nothing(self):
        self.start_portal("shrinks")
        server = self.serve()
        self.shoot(server)
        [worker] = [pid for pid in session_members(server.pid) if is_confined_worker(pid)]
        for _ in range(40):
            self.shoot(server, format="png")
        self.assertIn(worker, session_members(server.pid))

    def test_monitors_far_apart_are_no_picture(self):
        self.start_portal(monitors=(LEFT, "400x300+1000000+1000000@1:0000ff"))
        server = self.serve()
        self.assertIn("too many for a picture", server.bad("screen_screenshot_region", x=0, y=0, width=1000400,
                                                           height=1000300))
        lines = pixels_of(self.shoot(server, monitor=2, format="png")[0])
        self.assertEqual((len(lines[0]), len(lines)), (400, 300))

    def first_error(self, server):
        """The bus and PipeWire need a moment to tell that somebody was killed; until then there are pictures."""
        result = self.wait_for(lambda: (one := server.call("screen_screenshot")).get("isError") and one)
        return result["content"][0]["text"]

    def test_a_portal_or_pipewire_that_goes_away_may_come_back(self):
        self.start_portal()
        server = self.serve()
        self.shoot(server)
        self.end_portal()
        self.assertRegex(self.first_error(server), "portal|ended")
        self.start_portal()
        self.wait_for(lambda: not server.call("screen_screenshot").get("isError"))
        for process in (self.pipewire, self.portal):
            process.kill()
            process.wait()
        (self.runtime / "pipewire-0").unlink()
        self.assertRegex(self.first_error(server), "portal|ended")
        self.start_pipewire()
        self.start_portal()
        self.wait_for(lambda: not server.call("screen_screenshot").get("isError"))

    def test_without_what_is_needed_there_are_no_such_tools_and_a_reason(self):
        self.start_portal("no-remote")
        server = self.serve()
        names = [tool["name"] for tool in server.request("tools/list")["tools"]]
        self.assertNotIn("screen_screenshot", names)
        self.assertIn("does not offer RemoteDesktop", server.words())
        self.end_portal()
        server = self.serve()
        self.assertIn("no desktop portal", server.words())


if __name__ == "__main__":
    mcp_client.main(beside=("fake_portal",))
