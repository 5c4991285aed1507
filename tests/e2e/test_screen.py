#!/usr/bin/env python3
"""Screen, mouse and keyboard on a real X server: what clients on it really get."""
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest

import mcp_client
from mcp_client import PATIENCE, session_members
from real_devices import RealDevices
from screen_scene import OPEN, OnDisplay, is_confined_worker, pixels_of

NEEDED = ("Xvfb", "xev", "xterm", "setxkbmap", "xdpyinfo", "xmodmap", "xsetroot", "xrandr")
MISSING = [name for name in NEEDED if shutil.which(name) is None]
WIDTH, HEIGHT = 1280, 800
CLOSING_WINDOW = pathlib.Path(__file__).with_name("closing_window.py")


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class OnScreen(OnDisplay):
    options = ()  # of the X server

    def setUp(self):
        super().setUp()
        self.display = None
        self.start_display()

    def start_display(self):
        end, other = os.pipe()
        words = ["Xvfb", *([self.display] if self.display else []), "-displayfd", str(other), "-screen", "0",
                 f"{WIDTH}x{HEIGHT}x24", "-nolisten", "tcp", "-noreset", *self.options]
        self.server = subprocess.Popen(words, pass_fds=[other], stderr=subprocess.DEVNULL)
        self.children.append(self.server)
        os.close(other)
        with open(end) as told:
            number = told.readline().strip()
        self.assertTrue(number, "Xvfb did not start")
        self.display = f":{number}"

    def environment(self):
        # A killed Chromium leaves something in the temporary directory.
        return {"DISPLAY": self.display, "PATH": "/usr/bin:/bin", "HOME": str(self.outside), "LANG": "C.UTF-8",
                "TMPDIR": str(self.outside)}

    def run_x(self, *words, **settings):
        return subprocess.run(words, env=self.environment(), check=True, capture_output=True, timeout=PATIENCE,
                              **settings).stdout

    def show(self, *words, **settings):
        child = subprocess.Popen(words, env=self.environment(), stderr=subprocess.DEVNULL, **settings)
        self.children.append(child)
        return child

    def log_events(self, place="600x600+0+0"):
        """A window, by default in the left upper part of the screen, and what it is told."""
        path = self.room / "events"
        with open(path, "wb") as out:
            self.show("stdbuf", "-oL", "xev", "-geometry", place, stdout=out)
        self.wait_for(lambda: b"Event Tester" in self.run_x("xwininfo", "-root", "-tree"))
        self.wait_for(lambda: "Expose" in path.read_text())
        return path

    def events(self, path, kind):
        return [block for block in path.read_text().split("\n\n") if block.startswith(kind)]

    def serve(self, *flags, **settings):
        return self.begin(*(flags or OPEN), env={"DISPLAY": self.display}, **settings)


class Seeing(OnScreen):
    def test_a_picture_shows_the_screen(self):
        self.run_x("xsetroot", "-solid", "#ff8000")
        server = self.serve()
        image, kind, words = self.shoot(server, format="png")
        self.assertEqual(kind, "image/png")
        lines = pixels_of(image)
        self.assertEqual((len(lines[0]), len(lines)), (1024, 640))
        self.assertEqual({pixel for line in lines for pixel in line}, {(255, 128, 0)})
        self.assertIn("Image s1, 1024 x 640 pixels", words)
        image, kind, _ = self.shoot(server)
        self.assertEqual((kind, image[:3]), ("image/jpeg", b"\xff\xd8\xff"))
        image, kind, _ = self.shoot(server, format="webp", maxSide=64)
        self.assertEqual((kind, image[:4]), ("image/webp", b"RIFF"))
        self.assertEqual(len(pixels_of(self.shoot(server, format="png", maxSide=8192)[0])), HEIGHT)

    def test_a_region_is_of_the_last_picture(self):
        self.run_x("xsetroot", "-solid", "#000000")
        self.show("xterm", "-geometry", "20x5+0+0", "-bg", "#00ff00", "-b", "0", "-e", "sleep", "600")
        server = self.serve()
        # Until it is drawn: its corner is green.
        self.wait_for(lambda: (0, 255, 0) in pixels_of(self.shoot(server, format="png", maxSide=WIDTH)[0])[4])
        self.shoot(server, maxSide=WIDTH // 2)
        lines = pixels_of(self.shoot(server, "screen_screenshot_region", x=WIDTH // 4, y=0, width=100, height=50,
                                     format="png")[0])
        self.assertEqual((len(lines[0]), len(lines)), (200, 100))
        self.assertEqual({pixel for line in lines for pixel in line}, {(0, 0, 0)})
        self.assertIn("outside of image s", server.bad("mouse_move", x=300, y=50))  # beside the region
        for wrong in ({"x": 5000, "y": 0, "width": 5, "height": 5}, {"x": 0, "y": 0, "width": 0, "height": 0}):
            self.assertIn("region is empty", server.bad("screen_screenshot_region", **wrong))

    def test_what_there_is(self):
        self.log_events()
        server = self.serve()
        info = server.good("screen_info")
        self.assertEqual(info["backend"], "x11")
        [monitor] = info["monitors"]
        self.assertEqual((monitor["width"], monitor["height"], monitor["primary"]), (WIDTH, HEIGHT, True))
        [window] = server.good("window_list")["windows"]
        self.assertEqual((window["title"], window["width"]), ("Event Tester", 600))

    def test_without_a_display_there_are_no_such_tools_and_a_reason(self):
        server = self.begin(*OPEN, env={"DISPLAY": ":987654"})
        names = [tool["name"] for tool in server.request("tools/list")["tools"]]
        self.assertIn("read_file", names)
        self.assertNotIn("screen_screenshot", names)
        with self.assertRaisesRegex(mcp_client.Refused, "no screen can be used; .* 'gatehouse doctor'"):
            server.call("screen_screenshot")
        self.assertIn("screen, mouse and keyboard are disabled", server.words())
        self.assertIn("there is no X server", server.words())

    def test_the_doctor_says_which_display_is_used_and_why(self):
        def look(**more):
            told = subprocess.run([mcp_client.GATEHOUSE, "doctor", "--json"], check=True, capture_output=True,
                                  timeout=PATIENCE, env={"PATH": "/usr/bin:/bin", **more})
            [found] = [found for found in json.loads(told.stdout)["findings"] if found["id"] == "display"]
            return found["status"], found["detail"]

        self.assertEqual(look(DISPLAY=self.display),
                         ("ok", "Wayland cannot be used (WAYLAND_DISPLAY is not set); the desktop portal cannot be used "
                                "(there is an X server without Wayland); X11 is used"))
        status, detail = look(WAYLAND_DISPLAY=str(self.room / "none"))
        self.assertEqual(status, "limited")
        self.assertIn("there is no Wayland compositor", detail)
        self.assertIn("there is no session bus", detail)
        self.assertIn("X11 cannot be used (DISPLAY is not set)", detail)

    def test_a_display_that_goes_away_may_come_back(self):
        server = self.serve()
        self.shoot(server)
        self.server.kill()
        self.server.wait()
        self.assertRegex(server.bad("screen_screenshot"), "X server")
        self.assertRegex(server.bad("mouse_click", x=1, y=1), "X server")
        self.start_display()
        self.wait_for(lambda: not server.call("screen_screenshot").get("isError"))


class Waiting(OnScreen):
    def test_waiting_ends_when_the_screen_changes_or_rests(self):
        server = self.serve()
        self.assertTrue(server.good("screen_wait", until="still", stillMs=100)["still"])
        self.assertTrue(server.good("screen_wait", timeoutMs=300)["still"])
        self.assertFalse(server.good("screen_wait", until="change", timeoutMs=200)["changed"])
        message = server.call_message("screen_wait", {"until": "change", "timeoutMs": 30000})
        server.send(message)
        server.good("screen_info")  # others are not kept waiting
        # Again and again: its first look may come later than the first change.
        over = threading.Event()
        painter = threading.Thread(target=self.keep_painting, args=(over,))
        painter.start()
        try:
            self.assertTrue(server.result(message["id"])["structuredContent"]["changed"])
        finally:
            over.set()
            painter.join()

    def keep_painting(self, over):
        for colour in itertools.cycle(("#123456", "#654321")):
            if over.is_set():
                return
            self.run_x("xsetroot", "-solid", colour)

    def test_only_the_region_counts(self):
        self.run_x("xsetroot", "-solid", "#000000")
        server = self.serve()
        self.shoot(server, maxSide=WIDTH)
        message = server.call_message("screen_wait", {"until": "change", "timeoutMs": 1000, "x": 700, "y": 100,
                                                      "width": 100, "height": 100})
        server.send(message)
        self.show("python3", CLOSING_WINDOW, "always")  # beside it
        self.assertFalse(server.result(message["id"])["structuredContent"]["changed"])
        message = server.call_message("screen_wait", {"until": "change", "timeoutMs": 30000, "x": 500, "y": 500,
                                                      "width": 200, "height": 200})
        server.send(message)
        self.assertTrue(server.result(message["id"])["structuredContent"]["changed"])


class WaitingWithoutDamage(Waiting):
    """The server does not say what is drawn: pictures are compared."""
    options = ("-extension", "DAMAGE")

    def setUp(self):
        super().setUp()
        self.assertNotIn(b"DAMAGE", self.run_x("xdpyinfo", "-queryExtensions"))


class Acting(OnScreen):
    def test_clicks_land_where_the_picture_shows_it(self):
        path = self.log_events()
        server = self.serve()
        self.ok(server, "mouse_click", x=100, y=50)
        self.shoot(server, maxSide=WIDTH // 2)
        self.ok(server, "mouse_click", x=100, y=50, button="right")
        self.ok(server, "mouse_double_click", x=100, y=50, screenWidth=WIDTH * 2, screenHeight=HEIGHT * 2)
        presses = self.wait_for(lambda: len(self.events(path, "ButtonPress")) == 4 and self.events(path, "ButtonPress"))
        found = [(re.search(r"root:\((\d+),(\d+)\)", press).groups(), re.search(r"button (\d)", press)[1])
                 for press in presses]
        self.assertEqual(found, [(("100", "50"), "1"), (("200", "100"), "3"), (("50", "25"), "1"),
                                 (("50", "25"), "1")])
        for wrong in ({"x": -5, "y": 99999}, {"x": WIDTH, "y": 1}, {"x": 1, "y": 1, "image": "s9"},
                      {"x": 1, "y": 1, "image": "9"}):
            self.assertTrue(server.bad("mouse_click", **wrong))
        self.assertEqual(len(self.events(path, "ButtonPress")), 4)

    def test_other_tools_arguments_are_understood(self):
        path = self.log_events()
        server = self.serve()
        self.ok(server, "mouse_click", coordinate=[100, 50], clickCount=3)
        self.wait_for(lambda: len(self.events(path, "ButtonPress")) == 3)
        for press in self.events(path, "ButtonPress"):
            self.assertIn("root:(100,50)", press)

    def test_the_wheel_turns_in_the_named_direction(self):
        path = self.log_events()
        server = self.serve()
        for direction in ("up", "down", "left", "right"):
            self.ok(server, "mouse_scroll", x=10, y=10, direction=direction, amount=2)
        self.wait_for(lambda: len(self.events(path, "ButtonPress")) == 8)
        self.assertEqual([re.search(r"button (\d)", press)[1] for press in self.events(path, "ButtonPress")],
                         ["4", "4", "5", "5", "6", "6", "7", "7"])

    def test_a_drag_has_a_way(self):
        path = self.log_events()
        server = self.serve()
        self.ok(server, "mouse_drag", fromX=10, fromY=20, toX=210, toY=120)
        self.wait_for(lambda: self.events(path, "ButtonRelease"))
        moves = [re.search(r"root:\((\d+),(\d+)\)", move).groups() for move in self.events(path, "MotionNotify")]
        self.assertGreater(len(moves), 8)
        self.assertEqual(moves[-1], ("210", "120"))

    def test_a_shortcut_holds_its_keys(self):
        path = self.log_events()
        server = self.serve()
        self.ok(server, "mouse_move", x=50, y=50)
        self.ok(server, "keyboard_shortcut", keys=["Ctrl", "shift", "t"])
        self.ok(server, "keyboard_key_tap", key="f5")
        self.wait_for(lambda: "F5" in path.read_text())
        pressed = [(re.search(r"state (0x\w+)", event)[1], re.search(r"keysym 0x\w+, (\w+)", event)[1])
                   for event in self.events(path, "KeyPress")]
        self.assertEqual(pressed, [("0x0", "Control_L"), ("0x4", "Shift_L"), ("0x5", "T"), ("0x0", "F5")])
        self.assertIn("no key \"nokey\"", server.bad("keyboard_shortcut", keys=["ctrl", "nokey"]))
        self.assertIn("no key \"ctrl+\"", server.bad("keyboard_key_tap", key="ctrl+"))
        self.assertEqual(len(self.events(path, "KeyPress")), 4)
        # In one word, as other tools take them.
        self.ok(server, "keyboard_key_tap", key="ctrl + Page_Down")
        self.ok(server, "keyboard_shortcut", keys=["shift+F6"])
        self.wait_for(lambda: "F6" in path.read_text())
        self.assertEqual([re.search(r"keysym 0x\w+, (\w+)", event)[1] for event in self.events(path, "KeyPress")][4:],
                         ["Control_L", "Next", "Shift_L", "F6"])

    def test_text_comes_out_as_it_was_given_in_every_layout(self):
        text = "Az!?@ é€ñß Ж漢字 😀 \"q\" {}~^\n"
        got, ready = self.room / "typed", self.room / "ready"
        self.show("xterm", "-u8", "-geometry", "60x10+0+0", "-e", "sh", "-c",
                  f"stty -ixon; : > {got}; touch {ready}; cat > {got}")
        self.wait_for(ready.exists)
        server = self.serve()
        self.ok(server, "mouse_click", x=100, y=60)
        # One right after the other: the new layout takes the keys away that were borrowed for the last text.
        for count, layout in enumerate(("us", "de", "fr", "us"), 1):
            with self.subTest(layout):
                self.run_x("setxkbmap", layout)
                self.ok(server, "keyboard_type", text=text)
                self.wait_for(lambda: got.read_text().count("\n") == count)
                self.assertEqual(got.read_text(), text * count)
        self.end(server)

    def test_a_borrowed_key_that_gets_another_symbol_is_left_alone(self):
        def key_of(symbol):
            found = re.search(rf"keycode +(\d+) = {symbol}\b", self.run_x("xmodmap", "-pke").decode())
            return found and found[1]

        self.log_events()
        server = self.serve()
        key = self.wait_for(lambda: self.ok(server, "keyboard_type", text="漢字") or key_of("U6F22"))
        self.run_x("xmodmap", "-e", f"keycode {key} = F35")
        self.wait_for(lambda: key_of("U5B57") is None)  # the other one was given back
        self.assertEqual(key_of("F35"), key)
        self.ok(server, "keyboard_type", text="漢")
        self.assertEqual(key_of("F35"), key)

    @unittest.skipUnless(shutil.which("chromium"), "chromium is not installed")
    def test_text_comes_out_in_a_browser(self):
        text = "Az!?@ é€ñß Ж漢字 😀 {}~^"
        page = self.room / "page.html"
        page.write_text("<meta charset=utf-8><title>empty</title><style>textarea{position:fixed;inset:0}</style>"
                        "<textarea oninput='document.title=value' onclick='document.title=`clicked`'></textarea>")
        self.show("chromium", *(["--no-sandbox"] if os.geteuid() == 0 else []), "--no-first-run", "--disable-gpu",
                  "--password-store=basic", f"--user-data-dir={self.room / 'profile'}", "--window-position=0,0",
                  f"--window-size={WIDTH},{HEIGHT}", f"--app=file://{page}", stdout=subprocess.DEVNULL,
                  start_new_session=True)
        server = self.serve()
        titles = lambda: [window["title"] for window in server.good("window_list")["windows"]]

        def is_clicked():
            self.ok(server, "mouse_click", x=300, y=300)
            return "clicked" in titles()

        for layout in ("us", "de", "fr"):
            with self.subTest(layout):
                self.run_x("setxkbmap", layout)
                self.wait_for(is_clicked)
                self.ok(server, "keyboard_shortcut", keys=["ctrl", "a"])
                self.ok(server, "keyboard_type", text=text)
                self.wait_for(lambda: len(max(titles(), key=len)) >= len(text))
                self.assertIn(text, titles())

    def test_what_is_held_is_released_when_the_server_is_killed(self):
        path = self.log_events()
        server = self.serve()
        self.ok(server, "mouse_button", x=50, y=50, state="down")
        began = time.monotonic()
        server.send(server.call_message("keyboard_hold", {"keys": ["shift", "a"], "durationMs": 10000}))
        self.wait_for(lambda: len(self.events(path, "KeyPress")) >= 2)
        server.process.kill()
        server.wait()
        self.wait_for(lambda: not session_members(server.pid))
        self.assertLess(time.monotonic() - began, 10)  # it does not go on until its end
        self.wait_for(lambda: len(self.events(path, "KeyRelease")) >= 2)
        self.assertEqual(len(self.events(path, "ButtonRelease")), 1)
        self.serve()  # sweeps what the other left

    def test_two_monitors_with_the_primary_elsewhere(self):
        self.run_x("xrandr", "--setmonitor", "left", "640/169x800/211+0+0", "screen")
        self.run_x("xrandr", "--setmonitor", "*right", "640/169x800/211+640+0", "none")
        self.show("xterm", "-geometry", "200x80+640+0", "-bg", "#0000ff", "-b", "0", "-e", "sleep", "600")
        path = self.log_events()
        server = self.serve()
        info = server.good("screen_info")
        self.assertEqual([(monitor["x"], monitor["primary"]) for monitor in info["monitors"]],
                         [(0, False), (640, True)])
        self.wait_for(lambda: (0, 0, 255) in pixels_of(self.shoot(server, format="png", maxSide=8192)[0])[5])
        self.ok(server, "mouse_move", x=10, y=20)
        self.assertEqual(server.good("screen_info")["pointer"], {"x": 650, "y": 20})
        self.shoot(server, monitor=1)
        self.ok(server, "mouse_click", x=10, y=20)
        [press] = self.wait_for(lambda: self.events(path, "ButtonPress"))
        self.assertIn("root:(10,20)", press)
        self.assertIn("no monitor 3", server.bad("screen_screenshot", monitor=3))


class Disturbed(OnScreen):
    INPUTS = ("mouse_move", "mouse_click", "mouse_double_click", "mouse_drag", "mouse_scroll", "mouse_button",
              "keyboard_type", "keyboard_key_tap", "keyboard_shortcut", "keyboard_hold")
    SOUND = {"x": 10, "y": 10, "fromX": 10, "fromY": 10, "toX": 20, "toY": 20, "direction": "up", "amount": 1,
             "state": "down", "text": "a", "key": "a", "keys": ["a"], "durationMs": 1, "width": 5, "height": 5}
    # No JSON has a NaN: this is how one would be sent.
    WRONG = (None, True, "NaN", "", {}, [], [1], 1.5, -1, -2147483649, 2147483648, 10**15, 10**30, 1e300)

    def is_refused(self, server, tool, arguments):
        try:
            return server.call(tool, **arguments).get("isError", False)
        except mcp_client.Refused:
            return True

    def test_no_wrong_argument_moves_or_presses_anything(self):
        path = self.log_events()
        server = self.serve()
        self.ok(server, "mouse_move", x=300, y=300)
        self.wait_for(lambda: self.events(path, "MotionNotify") or self.events(path, "EnterNotify"))
        before = [len(self.events(path, kind)) for kind in ("Motion", "Button", "Key")]
        tools = {tool["name"]: tool["inputSchema"] for tool in server.request("tools/list")["tools"]}
        count = 0
        for tool in self.INPUTS:
            schema = tools[tool]
            sound = {name: self.SOUND[name] for name in schema["required"]}
            for name in sound:
                rest = {key: value for key, value in sound.items() if key != name}
                self.assertEqual(server.bad(tool, **rest), f"{name} is required")
            for name in schema["properties"]:
                for value in self.WRONG:
                    is_left_out = value in (None, "") and name not in sound
                    if is_left_out or name == "text" and isinstance(value, str):
                        continue
                    self.assertTrue(self.is_refused(server, tool, {**sound, name: value}), (tool, name, value))
                    count += 1
            self.assertTrue(self.is_refused(server, tool, {**sound, "other": 1}), tool)
        self.assertGreater(count, 500)
        self.assertIn("control character", server.bad("keyboard_type", text="a\u0000"))
        server.good("screen_info")
        self.assertEqual([len(self.events(path, kind)) for kind in ("Motion", "Button", "Key")], before)

    def test_looking_with_wrong_arguments_is_an_error(self):
        server = self.serve()
        for tool, wrong in (("screen_screenshot", {"maxSide": -1}), ("screen_screenshot", {"maxSide": 10**9}),
                            ("screen_screenshot", {"monitor": -1}), ("screen_screenshot", {"monitor": 99}),
                            ("screen_screenshot", {"format": "bmp"}), ("screen_screenshot", {"cursor": 1}),
                            ("screen_wait", {"until": "never"}), ("screen_wait", {"timeoutMs": -1}),
                            ("screen_wait", {"timeoutMs": 10**9}), ("screen_wait", {"stillMs": -5})):
            self.assertTrue(self.is_refused(server, tool, wrong), (tool, wrong))

    def test_a_worker_that_is_killed_at_work_is_told_and_the_next_one_works(self):
        path = self.log_events()
        server = self.serve()
        self.ok(server, "mouse_move", x=50, y=50)
        message = server.call_message("keyboard_hold", {"keys": ["a"], "durationMs": 10000})
        server.send(message)
        self.wait_for(lambda: self.events(path, "KeyPress"))
        [worker] = [pid for pid in session_members(server.pid) if is_confined_worker(pid)]
        os.kill(worker, signal.SIGKILL)
        self.assertIn("has ended", server.result(message["id"])["content"][0]["text"])
        self.ok(server, "mouse_click", x=50, y=50)
        self.wait_for(lambda: self.events(path, "KeyRelease"))

    def test_a_worker_that_hangs_does_not_outlive_its_session(self):
        server = self.serve()
        self.shoot(server)
        [worker] = [pid for pid in session_members(server.pid) if is_confined_worker(pid)]
        os.kill(worker, signal.SIGSTOP)
        self.end(server)

    def open_window(self):
        """One that closes at the first key or button."""
        window = self.show("python3", CLOSING_WINDOW, stdout=subprocess.PIPE, text=True)
        self.addCleanup(window.stdout.close)
        self.assertEqual(window.stdout.readline(), "open\n")
        return window

    def test_a_window_that_closes_in_the_middle_of_a_call(self):
        below = self.log_events()
        server = self.serve()
        devices = RealDevices(self.display)
        self.addCleanup(devices.close)
        self.ok(server, "mouse_move", x=50, y=50)
        for tool, arguments in (("keyboard_hold", {"keys": ["shift", "a"], "durationMs": 300}),
                                ("keyboard_type", {"text": "é漢 Az" * 500}),
                                ("mouse_drag", {"fromX": 50, "fromY": 50, "toX": 500, "toY": 500}),
                                ("mouse_double_click", {"x": 50, "y": 50}),
                                ("mouse_scroll", {"x": 50, "y": 50, "direction": "down", "amount": 50})):
            with self.subTest(tool):
                window = self.open_window()
                self.ok(server, tool, **arguments)
                self.assertEqual(window.stdout.readline(), "closed\n")
                self.assertEqual(devices.pressed(), (0, 0))
        # The one below got what came after it.
        self.ok(server, "mouse_click", x=50, y=50, button="right")
        self.wait_for(lambda: "button 3" in below.read_text())
        self.assertNotIn("has ended", server.words())

    def test_windows_that_open_and_close_while_they_are_looked_at(self):
        server = self.serve()
        self.show("python3", CLOSING_WINDOW, "always")
        self.wait_for(lambda: server.good("window_list")["windows"])
        for _ in range(50):
            for window in server.good("window_list")["windows"]:
                self.assertEqual(window["width"], 600)
            self.shoot(server, "screen_screenshot_region", x=0, y=0, width=300, height=300)
            self.ok(server, "mouse_click", x=100, y=100)

    def test_a_server_that_is_killed_in_the_middle_of_a_call(self):
        path = self.log_events()
        server = self.serve()
        self.ok(server, "mouse_move", x=50, y=50)
        message = server.call_message("keyboard_hold", {"keys": ["a"], "durationMs": 10000})
        server.send(message)
        self.wait_for(lambda: self.events(path, "KeyPress"))
        self.server.kill()
        self.server.wait()
        result = server.result(message["id"])
        self.assertIn("the X server has closed the connection", result["content"][0]["text"])
        self.assertTrue(result["isError"])
        self.start_display()
        self.wait_for(lambda: not server.call("mouse_click", x=50, y=50).get("isError"))

    def test_a_grab_of_another_client_delays_and_breaks_nothing(self):
        path = self.log_events()
        server = self.serve()
        devices = RealDevices(self.display)
        self.addCleanup(devices.close)
        devices.grab_input()
        self.ok(server, "mouse_click", x=50, y=50)
        self.ok(server, "keyboard_type", text="a")
        devices.release()
        self.assertNotIn("ButtonPress", path.read_text())  # the other one got it
        devices.grab_server()
        message = server.call_message("mouse_click", {"x": 50, "y": 50})
        server.send(message)
        devices.release()
        self.assertEqual(server.result(message["id"])["content"][0]["text"], "ok")
        self.wait_for(lambda: self.events(path, "ButtonRelease"))


def xorg_config(folder):
    """Two monitors without a screen, by the driver that only pretends."""
    path = folder / "xorg.conf"
    path.write_text("""
Section "ServerFlags"
  Option "AutoAddDevices" "false"
  Option "DontVTSwitch" "true"
EndSection
Section "Device"
  Identifier "device"
  Driver "dummy"
  VideoRam 65536
EndSection
Section "Monitor"
  Identifier "monitor"
  HorizSync 5.0-1000.0
  VertRefresh 5.0-200.0
EndSection
Section "Screen"
  Identifier "screen"
  Device "device"
  Monitor "monitor"
  DefaultDepth 24
  SubSection "Display"
    Depth 24
    Virtual 2560 1600
    Modes "1280x800" "800x600"
  EndSubSection
EndSection
""")
    return path


@unittest.skipIf(shutil.which("Xorg") is None, "Xorg is not installed")
class OnXorg(OnScreen):
    def start_display(self):
        end, other = os.pipe()
        log = self.room / "xorg.log"
        self.server = subprocess.Popen(
            ["Xorg", "-displayfd", str(other), "-config", xorg_config(self.room), "-logfile", log, "-noreset",
             "-nolisten", "tcp", "-novtswitch", "-sharevts", "-keeptty"],
            pass_fds=[other], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=self.room)
        self.children.append(self.server)
        os.close(other)
        with open(end) as told:
            number = told.readline().strip()
        if not number:
            reasons = [line for line in log.read_text().splitlines() if "(EE)" in line] if log.exists() else []
            self.skipTest(f"Xorg does not start here: {reasons[-1:] or 'no log'}")
        self.display = f":{number}"

    def test_the_primary_monitor_elsewhere_and_everything_drawn_twice_as_large(self):
        self.run_x("xrandr", "--newmode", "wide", *"83.50 1280 1352 1480 1680 800 803 809 831".split())
        self.run_x("xrandr", "--addmode", "DUMMY1", "wide")
        self.run_x("xrandr", "--output", "DUMMY0", "--mode", "800x600", "--pos", "0x200",
                   "--output", "DUMMY1", "--mode", "wide", "--pos", "800x0", "--primary")
        self.run_x("xrdb", "-nocpp", "-merge", "-", input=b"Xft.dpi: 192\n")
        self.run_x("xsetroot", "-solid", "#102030")
        path = self.log_events("600x600+900+50")
        server = self.serve()
        left, right = server.good("screen_info")["monitors"]
        self.assertEqual((left["x"], left["y"], left["width"], left["primary"], left["scale"]), (0, 200, 800, False, 2))
        self.assertEqual((right["x"], right["y"], right["width"], right["primary"]), (800, 0, 1280, True))
        self.assertIn("1024 x 640 pixels", self.shoot(server)[2])
        self.ok(server, "mouse_click", x=160, y=80)  # (200, 100) of the right one
        [press] = self.wait_for(lambda: self.events(path, "ButtonPress"))
        self.assertIn("root:(1000,100)", press)
        self.assertIn("800 x 600 pixels", self.shoot(server, monitor=1)[2])
        self.ok(server, "mouse_move", x=0, y=599)
        self.assertEqual(server.good("screen_info")["pointer"], {"x": 0, "y": 799})
        self.assertIn("outside", server.bad("mouse_move", x=0, y=600))
        # Above the left one is nothing.
        other = self.serve()
        self.assertIn("no monitor is there", other.bad("mouse_click", x=5, y=5))

    def test_a_screen_that_gets_another_size(self):
        server = self.serve()
        self.assertIn("1024 x 640", self.shoot(server)[2])
        self.run_x("xrandr", "--output", "DUMMY0", "--mode", "800x600", "--fb", "800x600")
        self.assertIn("take another screenshot", server.bad("mouse_click", x=1020, y=630))
        self.assertIn("800 x 600", self.shoot(server)[2])
        self.ok(server, "mouse_click", x=790, y=590)
        message = server.call_message("screen_wait", {"until": "change", "timeoutMs": 30000})
        server.send(message)
        sizes = itertools.cycle(("1280x800", "800x600"))

        def has_come():  # it may not have begun to look when the first size changes
            size = next(sizes)
            self.run_x("xrandr", "--output", "DUMMY0", "--mode", size, "--fb", size)
            return json.dumps(message["id"]) in server.answers

        self.wait_for(has_come)
        self.assertTrue(server.result(message["id"])["structuredContent"]["changed"])


class Stopping(OnScreen):
    ESCAPE = 9

    def run_stop(self):
        done = subprocess.run([mcp_client.GATEHOUSE, "stop"], capture_output=True, text=True, timeout=PATIENCE,
                              env={"HOME": str(self.state), "XDG_STATE_HOME": str(self.state), "PATH": "/usr/bin:/bin"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def devices(self):
        devices = RealDevices(self.display)
        self.addCleanup(devices.close)
        return devices

    def is_stopped(self, server):
        return "the user has stopped mouse and keyboard" in \
            server.call("mouse_move", x=300, y=300)["content"][0]["text"]

    def test_stop_ends_input_in_all_sessions(self):
        path = self.log_events()
        self.assertIn("No agent uses", self.run_stop())
        servers = [self.serve(), self.serve()]
        self.ok(servers[1], "mouse_button", x=50, y=50, state="down")
        held = servers[0].call_message("keyboard_hold", {"keys": ["shift", "a"], "durationMs": 10000})
        servers[0].send(held)
        self.wait_for(lambda: len(self.events(path, "KeyPress")) >= 2)
        self.assertIn("Stopped", self.run_stop())
        self.wait_for(lambda: len(self.events(path, "KeyRelease")) >= 2 and self.events(path, "ButtonRelease"))
        self.assertIn("the user has stopped", servers[0].result(held["id"])["content"][0]["text"])
        for server in servers:
            self.assertTrue(self.is_stopped(server))
            self.assertIn("the user has stopped", server.bad("keyboard_type", text="x"))
            self.shoot(server)
        self.assertIn("No agent uses", self.run_stop())
        # Not even if the process that knew it is replaced.
        for pid in session_members(servers[0].pid):
            if is_confined_worker(pid):
                os.kill(pid, signal.SIGKILL)
        servers[0].call("screen_info")
        self.assertTrue(self.is_stopped(servers[0]))
        self.ok(self.serve(), "mouse_move", x=60, y=60)

    def test_escape_three_times_stops_the_agent(self):
        server = self.serve()
        devices = self.devices()
        for _ in range(4):  # the agent's own do not count
            self.ok(server, "keyboard_key_tap", key="escape")
        self.ok(server, "mouse_move", x=300, y=300)
        devices.tap(self.ESCAPE)
        devices.tap(self.ESCAPE)
        devices.tap(38)  # another key
        devices.tap(self.ESCAPE)
        server.good("screen_info")
        self.ok(server, "mouse_move", x=300, y=300)

        def is_stopped_by_three():  # again if it took longer than they may take
            for _ in range(3):
                devices.tap(self.ESCAPE)
            return self.is_stopped(server)

        self.wait_for(is_stopped_by_three)
        self.shoot(server)

    def test_the_pointer_in_a_corner_stops_what_is_going_on(self):
        path = self.log_events()
        server = self.serve()
        devices = self.devices()
        self.ok(server, "mouse_move", x=WIDTH - 1, y=0)  # the agent's own way there does not count
        self.assertTrue(server.good("screen_wait", until="still", stillMs=1500)["still"])
        self.ok(server, "mouse_move", x=50, y=50)
        held = server.call_message("keyboard_hold", {"keys": ["a"], "durationMs": 10000})
        server.send(held)
        self.wait_for(lambda: self.events(path, "KeyPress"))
        devices.move(0, 0)
        self.assertIn("the user has stopped", server.result(held["id"])["content"][0]["text"])
        self.wait_for(lambda: self.events(path, "KeyRelease"))


class Allowing(OnScreen):
    def test_seeing_is_not_acting(self):
        path = self.log_events()
        server = self.serve("--permission-computer", "ask")
        params, result = self.decide(server, "Allow for this session", "screen_screenshot")
        self.assertIn("Takes a picture of the screen", params["message"])
        self.assertFalse(result.get("isError"))
        self.shoot(server)  # not asked again
        params, result = self.decide(server, "Deny once", "keyboard_type", text="rm -rf ~")
        self.assertIn("Types 8 characters", params["message"])
        self.assertIn("rm -rf ~", params["message"])
        self.assertTrue(result["isError"])
        self.assertNotIn("KeyPress", path.read_text())

    def test_nothing_is_offered_unless_the_user_opened_it(self):
        server = self.serve("--permission-filesystem-read", "allow")
        names = [tool["name"] for tool in server.request("tools/list")["tools"]]
        self.assertNotIn("screen_screenshot", names)
        self.assertNotIn("mouse_click", names)

    def test_rules_name_one_of_both(self):
        self.write_settings(permissions={}, rules=[])
        subprocess.run([mcp_client.GATEHOUSE, "rules", "add", "deny", "screen", "mouse-keyboard", "--settings-dir",
                        self.settings.parent], check=True, capture_output=True,
                       env={"HOME": str(self.state), "XDG_STATE_HOME": str(self.state), "PATH": "/usr/bin:/bin"})
        server = self.serve("--permission-computer", "ask")
        self.assertTrue(server.bad("mouse_click", x=1, y=1))
        for looks in ("screen_screenshot", "screen_info", "window_list"):
            _, result = self.decide(server, "Allow once", looks)
            self.assertFalse(result.get("isError"))

    def test_no_agent_answers_a_question(self):
        path = self.log_events()
        server = self.serve(*OPEN, "--permission-filesystem-write", "ask")
        self.ok(server, "mouse_move", x=50, y=50)
        write = server.call_message("write_file", {"filePath": "a", "content": "x"})
        server.send(write)
        question = self.question(server)
        typing = server.call_message("keyboard_type", {"text": "y"})
        server.send(typing)
        self.assertIn("A question to the user is open", self.shoot(server)[2])
        self.assertNotIn("KeyPress", path.read_text())
        self.reply(server, question, decision="Deny once")
        self.assertTrue(server.result(write["id"])["isError"])
        self.assertEqual(server.result(typing["id"])["content"][0]["text"], "ok")
        self.wait_for(lambda: "KeyPress" in path.read_text())
        self.assertNotIn("question", self.shoot(server)[2])

    def test_no_agent_answers_a_question_of_another_session(self):
        path = self.log_events()
        asking = self.begin("--permission-filesystem-write", "ask")
        server = self.serve()
        self.ok(server, "mouse_move", x=50, y=50)
        write = asking.call_message("write_file", {"filePath": "a", "content": "x"})
        asking.send(write)
        question = self.question(asking)
        typing = server.call_message("keyboard_type", {"text": "y"})
        server.send(typing)
        self.assertIn("A question to the user is open", self.shoot(server)[2])
        self.assertNotIn("KeyPress", path.read_text())
        self.reply(asking, question, decision="Deny once")
        self.assertTrue(asking.result(write["id"])["isError"])
        self.assertEqual(server.result(typing["id"])["content"][0]["text"], "ok")
        # Nor does one that died with it hold anything up.
        asking.send(asking.call_message("write_file", {"filePath": "a", "content": "x"}))
        self.question(asking)
        self.assertIn("question", self.shoot(server)[2])
        asking.process.kill()
        asking.wait()
        self.wait_for(lambda: "question" not in self.shoot(server)[2])
        self.begin("--permission-filesystem-write", "ask")  # sweeps what the other left

    def test_the_record_says_what_was_done_without_secrets(self):
        self.log_events()
        server = self.serve()
        self.ok(server, "mouse_click", x=10, y=20)
        self.ok(server, "keyboard_type", text="password=hunter2secret")
        server.call("screen_screenshot")
        self.end(server)
        text = str(self.records())
        self.assertIn("Clicks with the left button at (10, 20)", text)
        self.assertIn("Types 22 characters: password=", text)
        self.assertNotIn("hunter2secret", text)
        self.assertIn("Takes a picture of the screen", text)

    def test_the_process_with_the_display_can_do_nothing_else(self):
        server = self.serve()
        self.shoot(server)
        [confined] = [pid for pid in session_members(server.pid) if is_confined_worker(pid)]
        self.assertIn("NoNewPrivs:\t1\n", pathlib.Path(f"/proc/{confined}/status").read_text())
        os.kill(confined, signal.SIGKILL)  # another takes its place
        server.call("screen_info")
        self.wait_for(lambda: session_members(server.pid))


if __name__ == "__main__":
    mcp_client.main()
