#!/usr/bin/env python3
"""Screen, mouse and keyboard on sway without a screen: what clients on it really get."""
import os
import re
import shutil
import signal
import subprocess
import unittest

import mcp_client
from mcp_client import session_members
from screen_scene import OPEN, OnDisplay, is_confined_worker, pixels_of

NEEDED = ("sway", "swaymsg", "wev", "foot")
MISSING = [name for name in NEEDED if shutil.which(name) is None]
WIDTH, HEIGHT = 1280, 800
# sway does not run as root.
AS_USER = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
CONFIG = """
output HEADLESS-1 resolution {width}x{height} position 0 0
output * bg #ff8000 solid_color
default_border none
focus_follows_mouse no
xwayland disable
for_window [app_id="small"] floating enable, resize set 300 200, move absolute position 0 0
"""


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class OnSway(OnDisplay):
    outputs = 1

    def setUp(self):
        super().setUp()
        self.room.chmod(0o755)
        self.runtime = self.room / "runtime"
        self.runtime.mkdir(mode=0o700)
        self.config = self.runtime / "config"
        self.config.write_text(CONFIG.format(width=WIDTH, height=HEIGHT))
        if AS_USER:
            shutil.chown(self.runtime, "nobody")
            self.config.chmod(0o644)
        self.start_sway()

    def start_sway(self):
        environment = {"XDG_RUNTIME_DIR": str(self.runtime), "HOME": str(self.runtime), "PATH": "/usr/bin:/bin",
                       "WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman",
                       "WLR_HEADLESS_OUTPUTS": str(self.outputs), "LANG": "C.UTF-8"}
        self.sway = subprocess.Popen([*AS_USER, "sway", "-c", self.config], env=environment,
                                     stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.children.append(self.sway)
        # The socket of its control comes last.
        [control] = self.wait_for(lambda: list(self.runtime.glob("sway-ipc.*.sock")))
        [self.socket] = [path for path in self.runtime.glob("wayland-*") if path.suffix != ".lock"]
        self.environment = {**environment, "SWAYSOCK": str(control), "WAYLAND_DISPLAY": str(self.socket)}

    def order(self, *words):
        done = subprocess.run([*AS_USER, "swaymsg", *words], env=self.environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return done.stdout

    def show(self, *words, **settings):
        child = subprocess.Popen([*AS_USER, *words], env=self.environment, stderr=subprocess.DEVNULL, **settings)
        self.children.append(child)
        return child

    def serve(self, *flags, **settings):
        return self.begin(*(flags or OPEN), env={"WAYLAND_DISPLAY": str(self.socket)}, **settings)

    def log_events(self, server):
        """A window that covers the output, and what it is told."""
        path = self.room / "events"
        with open(path, "ab") as out:
            self.show("stdbuf", "-oL", "wev", stdout=out)
        self.wait_until_heard(server, path)
        return path

    def wait_until_heard(self, server, path):
        """A client must have taken the new devices."""
        def is_heard():
            self.ok(server, "mouse_move", x=1, y=1)
            self.ok(server, "mouse_move", x=2, y=2)
            text = path.read_text()
            return "wl_pointer] motion" in text and "wl_keyboard] enter" in text
        self.wait_for(is_heard)

    def found(self, path, pattern):
        return re.findall(pattern, path.read_text())


class Seeing(OnSway):
    def test_a_picture_shows_the_screen(self):
        server = self.serve()
        self.wait_for(lambda: pixels_of(self.shoot(server, format="png", maxSide=64)[0])[0][0] == (255, 128, 0))
        lines = pixels_of(self.shoot(server, format="png", maxSide=320)[0])
        self.assertEqual((len(lines[0]), len(lines)), (320, 200))
        # sway draws the pointer into the picture here, in any case.
        self.assertGreater(sum(line.count((255, 128, 0)) for line in lines), 0.99 * 320 * 200)
        self.assertIn("1024 x 640 pixels", self.shoot(server)[2])
        lines = pixels_of(self.shoot(server, "screen_screenshot_region", x=1000, y=600, width=100, height=100,
                                     format="png")[0])
        self.assertEqual((len(lines[0]), len(lines)), (30, 50))
        info = server.good("screen_info")
        self.assertEqual(info["backend"], "wayland")
        [monitor] = info["monitors"]
        self.assertEqual((monitor["name"], monitor["width"], monitor["height"], monitor["scale"]),
                         ("HEADLESS-1", WIDTH, HEIGHT, 1))
        self.assertNotIn("pointer", info)
        self.ok(server, "mouse_move", x=10, y=20, screenWidth=WIDTH, screenHeight=HEIGHT)
        self.assertEqual(server.good("screen_info")["pointer"], {"x": 10, "y": 20})
        self.end(server)

    def test_a_compositor_that_goes_away_may_come_back(self):
        server = self.serve()
        self.shoot(server)
        self.sway.kill()
        self.sway.wait()
        for path in self.runtime.glob("*.sock"):
            path.unlink()
        self.assertRegex(server.bad("screen_screenshot"), "Wayland")
        self.start_sway()
        self.wait_for(lambda: not server.call("screen_screenshot").get("isError"))

    def test_without_a_compositor_there_are_no_such_tools_and_a_reason(self):
        server = self.begin(*OPEN, env={"WAYLAND_DISPLAY": str(self.room / "none")})
        names = [tool["name"] for tool in server.request("tools/list")["tools"]]
        self.assertNotIn("screen_screenshot", names)
        self.assertIn("there is no Wayland compositor", server.words())
        self.assertIn("DISPLAY is not set", server.words())


class Acting(OnSway):
    def test_mouse_and_keys_are_received(self):
        server = self.serve()
        path = self.log_events(server)
        [window] = server.good("window_list")["windows"]
        self.assertTrue(window["active"])
        self.shoot(server, maxSide=WIDTH // 2)
        self.ok(server, "mouse_click", x=100, y=50, button="right")
        self.wait_for(lambda: "state: 0 (released)" in path.read_text())
        self.assertEqual(self.found(path, r"button: (\d+).*state: (\d)"), [("273", "1"), ("273", "0")])
        self.assertIn(("200", "100"), [(x, y) for x, y in self.found(path, r"x, y: (\d+)\.\d+, (\d+)\.")])
        for direction in ("up", "down", "left", "right"):
            self.ok(server, "mouse_scroll", x=100, y=50, direction=direction, amount=2)
        self.wait_for(lambda: len(self.found(path, r"\] axis: ")) == 8)
        self.assertEqual(self.found(path, r"\] axis: .*axis: (\d).*value: (-?\d+)"),
                         [("0", "-15")] * 2 + [("0", "15")] * 2 + [("1", "-15")] * 2 + [("1", "15")] * 2)
        self.ok(server, "keyboard_shortcut", keys=["ctrl", "shift", "t"])
        self.ok(server, "keyboard_key_tap", key="f5")
        self.wait_for(lambda: len(self.found(path, r"key: \d+; state: 0")) == 4)
        self.assertEqual(self.found(path, r"key: (\d+); state: 1"), ["37", "50", "28", "71"])
        self.assertIn("00000005", path.read_text())  # Control and Shift together
        self.assertTrue(server.bad("mouse_click", x=-5, y=1))
        self.assertTrue(server.bad("mouse_click", x=WIDTH, y=1))
        self.assertEqual(len(self.found(path, r"\] button: ")), 2)

    def test_a_drag_has_a_way(self):
        server = self.serve()
        path = self.log_events(server)
        self.ok(server, "mouse_drag", fromX=10, fromY=20, toX=210, toY=120)
        self.wait_for(lambda: "state: 0 (released)" in path.read_text())
        moves = self.found(path, r"motion: .*x, y: (\d+)\.\d+, (\d+)\.")
        self.assertGreater(len(moves), 8)
        self.assertEqual(moves[-1], ("210", "120"))

    def test_text_comes_out_as_it_was_given(self):
        plain = "Az!?@ \"q\" {}~^|\\ 'x' <>&"
        # More characters than there are spare keys.
        text = "é€ñß Ж漢字 😀 " + "".join(chr(0x3B1 + i) for i in range(17)) + "абвгдежзийклмн"
        got = self.runtime / "typed"
        got.touch()
        ready = self.runtime / "ready"
        if AS_USER:
            shutil.chown(got, "nobody")
        server = self.serve()
        self.show("foot", "--config=/dev/null", "sh", "-c", f"stty -ixon; touch {ready}; cat > {got}")
        self.wait_for(ready.exists)
        self.wait_for(lambda: [window["active"] for window in server.good("window_list")["windows"]] == [True])
        given = f"{plain}\n{text}\n{plain}{text}\n"
        self.ok(server, "keyboard_type", text=given)
        self.wait_for(lambda: got.read_text().count("\n") == 3)
        self.assertEqual(got.read_text(), given)
        self.assertIn("control character", server.bad("keyboard_type", text="a\u0007"))

    def test_what_is_held_is_released_when_the_server_or_the_worker_is_killed(self):
        server = self.serve()
        path = self.log_events(server)
        self.ok(server, "mouse_button", x=50, y=50, state="down")
        server.send(server.call_message("keyboard_hold", {"keys": ["shift", "a"], "durationMs": 1000}))
        self.wait_for(lambda: len(self.found(path, r"key: \d+; state: 1")) == 2)
        server.process.kill()
        server.wait()
        self.wait_for(lambda: not session_members(server.pid))
        self.wait_for(lambda: len(self.found(path, r"key: \d+; state: 0")) >= 2)
        self.wait_for(lambda: len(self.found(path, r"state: 0 \(released\)")) >= 3)
        path.write_text("")
        second = self.serve()
        self.wait_until_heard(second, path)
        self.ok(second, "mouse_button", x=60, y=60, state="down")
        [worker] = [pid for pid in session_members(second.pid) if is_confined_worker(pid)]
        os.kill(worker, signal.SIGKILL)
        second.call("screen_info")  # another takes its place
        # The seat had no other pointer: with the device, clients lose what was pressed on it.
        self.wait_for(lambda: re.search(r"button: \d+.*state: 1[^\0]*(pointer\] leave|button: \d+.*state: 0)",
                                        path.read_text()))

    def hold_key(self, server, path, ms):
        """Returns the call when the window was told."""
        message = server.call_message("keyboard_hold", {"keys": ["a"], "durationMs": ms})
        server.send(message)
        self.wait_for(lambda: self.found(path, r"key: \d+; state: 1"))
        return message

    def test_a_window_that_closes_in_the_middle_of_a_call(self):
        server = self.serve()
        path = self.log_events(server)
        message = self.hold_key(server, path, 500)
        self.children[-1].kill()
        self.wait_for(lambda: not server.good("window_list")["windows"])
        self.assertEqual(server.result(message["id"])["content"][0]["text"], "ok")
        self.ok(server, "mouse_drag", fromX=10, fromY=20, toX=210, toY=120)
        self.ok(server, "keyboard_type", text="é漢")
        # The next one finds nothing pressed.
        path.write_text("")
        self.log_events(server)
        self.ok(server, "keyboard_key_tap", key="b")
        self.wait_for(lambda: self.found(path, r"key: \d+; state: 0"))
        self.assertEqual(self.found(path, r"key: (\d+); state: 1"), ["56"])

    def test_a_compositor_that_is_killed_in_the_middle_of_a_call(self):
        server = self.serve()
        path = self.log_events(server)
        message = self.hold_key(server, path, 10000)
        self.sway.kill()
        self.sway.wait()
        result = server.result(message["id"])
        self.assertTrue(result["isError"])
        self.assertIn("Wayland", result["content"][0]["text"])
        for control in self.runtime.glob("*.sock"):
            control.unlink()
        self.start_sway()
        self.wait_for(lambda: not server.call("mouse_move", x=1, y=1).get("isError"))


class WithTwoOutputs(OnSway):
    outputs = 2

    def setUp(self):
        super().setUp()
        # The left one is turned, the right one has a scale; between them is no gap.
        self.order("output", "HEADLESS-1", "transform", "90")
        self.order("output", "HEADLESS-2", "resolution", "1600x1200", "scale", "2", "position", "800", "100")

    def test_places_and_pictures_of_each(self):
        server = self.serve()
        left, right = server.good("screen_info")["monitors"]
        self.assertEqual((left["width"], left["height"], left["scale"]), (HEIGHT, WIDTH, 1))
        self.assertEqual((right["x"], right["y"], right["width"], right["height"], right["scale"]),
                         (800, 100, 800, 600, 2))
        self.order("output", "HEADLESS-2", "bg", "#0000ff", "solid_color")
        self.wait_for(lambda: pixels_of(self.shoot(server, monitor=2, format="png", maxSide=64)[0])[0][0]
                      == (0, 0, 255))
        self.assertIn("1600 x 1200 pixels", self.shoot(server, monitor=2, maxSide=8192)[2])
        self.ok(server, "mouse_move", x=100, y=200)
        self.assertEqual(server.good("screen_info")["pointer"], {"x": 850, "y": 200})
        # A window on the turned one: its upper left corner is what a person sees there.
        self.order("focus", "output", "HEADLESS-1")
        self.show("foot", "--config=/dev/null", "--app-id=small", "-o", "colors.background=00ff00", "-o", "pad=0x0",
                  "sleep", "600")

        def is_seen():
            self.shoot(server, monitor=1, maxSide=8192)
            lines = pixels_of(self.shoot(server, "screen_screenshot_region", x=280, y=180, width=40, height=40,
                                         format="png")[0])
            return [line[at] == (0, 255, 0) for line, at in ((lines[10], 10), (lines[10], 30), (lines[30], 10))] == \
                [True, False, False]

        self.wait_for(is_seen)
        # Across both, before any picture was taken: one pixel for each place.
        other = self.serve()
        lines = pixels_of(self.shoot(other, "screen_screenshot_region", x=700, y=300, width=200, height=10,
                                     format="png")[0])
        self.assertEqual((len(lines[0]), len(lines)), (200, 10))
        self.assertEqual((lines[5][0], lines[5][199]), ((255, 128, 0), (0, 0, 255)))

    def test_outputs_that_change_in_between(self):
        server = self.serve()
        self.shoot(server, monitor=2)
        self.order("output", "HEADLESS-2", "resolution", "640x480", "scale", "1")
        self.order("create_output")

        def sizes():
            return [(monitor["name"], monitor["width"], monitor["height"])
                    for monitor in server.good("screen_info")["monitors"]]

        self.wait_for(lambda: len(sizes()) == 3)
        self.assertIn(("HEADLESS-2", 640, 480), sizes())
        self.assertIn("640 x 480 pixels", self.shoot(server, monitor=2)[2])
        self.assertIn("no monitor 4", server.bad("screen_screenshot", monitor=4))


if __name__ == "__main__":
    mcp_client.main()
