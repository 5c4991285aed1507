#!/usr/bin/env python3
"""Web pages in a real Chromium, over MCP: what agents see and do, and where they cannot go."""
import base64
import contextlib
import hashlib
import http.client
import http.server
import importlib.util
import ipaddress
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.request

import mcp_client
from consent_scene import ASKING, Consent
from mcp_client import PATIENCE, session_members

HERE = pathlib.Path(__file__).resolve().parent
# The site is beside us, or with its pages in a copy for an ordinary user.
SITE = next(path for path in (HERE.parent / "browser" / "site_server.py", HERE / "browser" / "site_server.py") if path.exists())
PAGES = next(path for path in (SITE.parent / "site", HERE / "site") if path.exists())
CHROMIUM = "/usr/lib/chromium/chromium"
OPEN = ("--permission-browser", "allow")
ROUNDS = int(os.environ.get("GATEHOUSE_BROWSER_ROUNDS", 3))


def lacks():
    """Why there can be no browser here; or None."""
    if not os.path.exists(CHROMIUM):
        return "chromium is not installed"
    if subprocess.run(["unshare", "--user", "true"], capture_output=True, check=False).returncode != 0:
        return "this user cannot create user namespaces"
    return None


def load_site(**wishes):
    """A module of that name is already there."""
    spec = importlib.util.spec_from_file_location("browser_site", SITE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.HERE = PAGES
    return module.Site(**wishes)


class OtherName:
    """A site of this machine by a name that does not tell so; `name` is None if this machine has none."""

    def __init__(self):
        names = (socket.gethostname(), socket.getfqdn(), "ip6-localhost")
        self.name, address = next(((name, found) for name in names if (found := loopback_of(name))), (None, None))
        if self.name is None:
            return

        class Secret(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                if key := self.headers.get("Sec-WebSocket-Key"):
                    accepted = hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()
                    self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                     b"Sec-WebSocket-Accept: " + base64.b64encode(accepted) + b"\r\n\r\n\x81\x06Inside")
                    return
                self.send_response(200)
                types = {"/file": "application/zip", "/picture": "image/svg+xml"}
                self.send_header("Content-Type", types.get(self.path, "text/html"))
                self.send_header("Access-Control-Allow-Origin", "*")
                self.end_headers()
                with contextlib.suppress(OSError):  # a browser that does not want it any more
                    self.wfile.write(b"<svg xmlns='http://www.w3.org/2000/svg'/>" if self.path == "/picture"
                                     else b"<title>Inside</title>known here only")

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in address else socket.AF_INET

        self.server = Server((address, 0), Secret)
        self.url = f"http://{self.name}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever).start()

    def end(self):
        if self.name is not None:
            self.server.shutdown()
            self.server.server_close()


def loopback_of(name):
    """Where the name leads if that is this machine, and only there; or None."""
    try:
        found = {ipaddress.ip_address(entry[4][0]) for entry in socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM)}
    except OSError:
        return None
    looks_so = name.endswith((".localdomain", ".local", ".internal", ".lan", ".home.arpa")) or "." not in name and name == "localhost"
    return str(found.pop()) if len(found) == 1 and all(one.is_loopback for one in found) and not looks_so else None


def ref_of(snapshot, words):
    """The ref in the line that contains these words."""
    for line in snapshot.splitlines():
        found = re.search(r"\[ref=(\w+)\]", line)
        if words in line and found:
            return {"ref": found.group(1)}
    raise AssertionError(f"no {words!r} in:\n{snapshot}")


@unittest.skipIf(lacks(), lacks())
class InBrowser(Consent):
    def setUp(self):
        super().setUp()
        self.site = load_site()
        self.addCleanup(self.site.__exit__)
        self.here, self.other = self.site.addresses["http"], self.site.addresses["other"]
        self.allow("127.0.0.1")

    def allow(self, host):
        self.settings.parent.mkdir(mode=0o700, exist_ok=True)
        subprocess.run([mcp_client.GATEHOUSE, "rules", "add", "allow", "browser", f"host:{host}", "--settings-dir",
                        self.settings.parent], check=True, capture_output=True,
                       env={"HOME": str(self.state), "XDG_STATE_HOME": str(self.state), "PATH": "/usr/bin:/bin"})

    def serve(self, *flags, connects=True, can_ask=False):
        server = self.begin(*(flags or OPEN), capabilities=ASKING if can_ask else {})
        if connects:
            self.ok(server, "browser_connect")
        return server

    def ok(self, server, tool, **arguments):
        result = server.call(tool, **arguments)
        self.assertFalse(result.get("isError"), result)
        return result.get("structuredContent", result)

    def fails(self, server, tool, **arguments):
        result = server.call(tool, **arguments)
        self.assertTrue(result.get("isError"), result)
        return json.dumps(result)

    def go(self, server, path, **arguments):
        return self.ok(server, "browser_navigate", url=path if "://" in path else f"{self.here}/{path}", **arguments)

    def text(self, server, expression):
        return self.ok(server, "browser_evaluate", script=expression)["result"]

    def browsers(self, server):
        """Processes of the browser; those of other tests are in other sessions."""
        found = []
        for pid in os.listdir("/proc"):
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0].startswith(b"/usr/lib/chromium/") and any(str(self.state).encode() in word for word in words):
                found.append(int(pid))
        return found

    def is_outside_of_boxes(self, pid):
        """It has one number; in a box it has another one, too."""
        return re.search(r"^NSpid:((?:\s+\d+)+)$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1].split()[1:] == []

    def words_of(self, pid):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()

    def profiles(self):
        return [path.name for path in self.state.glob("*/browser/*")]

    def wait_for(self, found):
        end = time.monotonic() + PATIENCE
        while not found():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)


class Listening:
    """The program behind --http, for a client of one call after the other."""

    def __init__(self, root, state, **more):
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(state), "XDG_STATE_HOME": str(state), "GATEHOUSE_HTTP_KEY": "a-key-for-this-test", **more,
                       **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}}
        self.process = subprocess.Popen([mcp_client.GATEHOUSE, "mcp", "--http", "127.0.0.1:0", *OPEN, root], env=environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
        self.pid = self.process.pid
        self.port = int(re.search(r":(\d+)/mcp", self.process.stdout.readline().decode())[1])

    def call(self, tool, **arguments):
        here = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": tool, "arguments": arguments, "_meta": mcp_client.MODERN}}
        here.request("POST", "/mcp", json.dumps(body), {
            "Authorization": "Bearer a-key-for-this-test", "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call", "Mcp-Name": tool})
        text = here.getresponse().read().decode()
        here.close()
        return json.loads(text)["result"]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def discard(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Pages(InBrowser):
    def test_a_page_is_read_and_used(self):
        server = self.serve(connects=False)
        self.assertIn("Not connected to a browser", self.fails(server, "browser_snapshot"))
        connected = self.ok(server, "browser_connect")
        self.assertRegex(connected["browser"], "Chrome/")
        self.assertEqual([page["url"] for page in connected["pages"]], ["about:blank"])
        went = self.go(server, "forms.html")
        self.assertEqual((went["title"], went["status"]), ("Forms", 200))
        field = ref_of(went["snapshot"], '"Full name"')
        typed = self.ok(server, "browser_type", element=field, text="Zoë !@ 日本", clear=True)
        self.assertTrue(typed["typed"])
        self.assertEqual(self.text(server, "document.getElementById('name').value"), "Zoë !@ 日本")
        self.ok(server, "browser_type", element=field, text="pasted", clear=True, mode="paste")
        self.assertEqual(self.text(server, "document.getElementById('name').value"), "pasted")
        self.ok(server, "browser_press", keys="Control+a")
        self.ok(server, "browser_press", keys="Delete")
        self.assertEqual(self.text(server, "document.getElementById('name').value"), "")
        seen = self.ok(server, "browser_snapshot", find="Full name")["snapshot"]
        self.assertIn(field["ref"], seen)  # the same as before
        self.assertNotIn("Fruits", seen)
        filled = self.ok(server, "browser_fill_form", fields=[
            {"element": field, "value": "Ann"}, {"element": ref_of(went["snapshot"], '"Amount"'), "value": "5"}])
        self.assertEqual(filled["filled"], 2)
        self.assertEqual(self.text(server, "document.getElementById('name').value"), "Ann")
        picture = server.call("browser_screenshot")["content"][0]
        self.assertEqual(picture["mimeType"], "image/png")
        self.assertTrue(base64.b64decode(picture["data"]).startswith(b"\x89PNG"))
        pdf = self.ok(server, "browser_pdf")
        self.assertTrue(base64.b64decode(pdf["pdf"]).startswith(b"%PDF"))
        self.assertGreaterEqual(pdf["pages"], 1)
        self.ok(server, "browser_storage", kind="local", action="set", data={"a": "b"})
        self.assertEqual(self.ok(server, "browser_storage", kind="local", action="get")["data"], {"a": "b"})
        self.ok(server, "browser_cookies", action="set", cookies=[{"name": "c", "value": "d"}])
        self.assertEqual([cookie["value"] for cookie in self.ok(server, "browser_cookies", action="get")["cookies"]], ["d"])
        self.ok(server, "browser_cookies", action="clear")
        self.assertEqual(self.ok(server, "browser_cookies", action="get")["cookies"], [])
        self.assertIn("# Forms", self.ok(server, "browser_content")["content"])
        x, y = self.text(server, "(() => { scrollTo(0, 0); const box = document.getElementById('name').getBoundingClientRect(); "
                                 "document.activeElement.blur(); return [box.x + 5, box.y + 5]; })()")
        self.assertTrue(self.ok(server, "browser_mouse_click_xy", x=x, y=y)["clicked"])
        self.assertEqual(self.text(server, "document.activeElement.id"), "name")
        self.assertEqual(self.go(server, "status/404")["status"], 404)
        self.assertIn("Stale element ref", self.fails(server, "browser_click", element=field))
        self.assertEqual(self.ok(server, "browser_back")["title"], "Forms")
        self.assertEqual(self.ok(server, "browser_forward")["title"], "Status 404")
        self.assertEqual(self.ok(server, "browser_reload")["title"], "Status 404")
        requests = self.ok(server, "browser_network", filter="*status*")["requests"]
        self.assertEqual({request["status"] for request in requests}, {404})
        self.assertEqual(self.ok(server, "browser_resize", width=400, height=700)["width"], 400)
        self.assertEqual(self.text(server, "innerWidth"), 400)

    def test_what_a_call_lacks_is_named_and_harms_nothing(self):
        server = self.serve(connects=False)
        self.assertIn("browser must be one of", self.fails(server, "browser_connect", browser="firefox"))
        missing = next((name for name, path in (("chrome", "/opt/google/chrome/chrome"), ("brave", "/opt/brave.com/brave/brave"))
                        if not os.path.exists(path)), None)
        if missing is not None:
            self.assertIn("Leave browser out", self.fails(server, "browser_connect", browser=missing))
        self.ok(server, "browser_connect")
        self.go(server, "forms.html")
        name = {"selector": "#name"}
        for tool, arguments, words in (
                ("browser_click", {"element": "e999"}, "Unknown element ref"),
                ("browser_click", {"element": "no such button"}, "no element matches"),
                ("browser_click", {"element": 12}, "element must be an object"),
                ("browser_click", {"element": {"ref": 12}}, "element.ref must be a string"),
                ("browser_click", {"element": {"ref": "#name"}}, "'#name' is no ref"),
                ("browser_click", {"element": {"ref": "[ref=f1]"}}, "is no ref"),
                ("browser_click", {"element": {"ref": "f1"}}, "is no ref"),
                ("browser_click", {"element": {"ref": "e999"}}, "Unknown element ref"),
                ("browser_tab_focus", {}, "pageId is required"),
                ("browser_type", {"element": name}, "text is required"),
                ("browser_cookies", {"action": "set"}, "cookies is required"),
                ("browser_storage", {"kind": "local", "action": "set"}, "data is required"),
                ("browser_scroll", {"mode": "element"}, "element is required"),
                ("browser_scroll", {"mode": "direction"}, "direction is required"),
                ("browser_navigate", {"url": "example.com"}, "https://example.com"),
                ("browser_navigate", {"url": "localhost:3000/a"}, "http://"),
                ("browser_mouse_click_xy", {"x": 5000, "y": 5}, "outside of the viewport, which has 1280 x"),
                ("browser_mouse_click_xy", {"x": 5, "y": -1}, "outside of the viewport"),
                ("browser_evaluate", {"script": "window"}, "Return the properties"),
                ("browser_wait", {}, "nothing to wait for"),
                ("browser_wait", {"predicate": "gone.away", "timeoutMs": 50}, "throws ReferenceError: gone is not defined"),
                ("browser_wait", {"url": "elsewhere", "timeoutMs": 50}, "* in it is anything")):
            self.assertIn(words, self.fails(server, tool, **arguments), (tool, arguments))
        self.assertEqual(self.text(server, "document.title"), "Forms")
        # As in other tools, the ref may stand beside words about the element.
        field = ref_of(self.ok(server, "browser_snapshot", find="Full name")["snapshot"], '"Full name"')
        self.assertEqual(self.ok(server, "browser_click", element="Full name", **field)["ref"], field["ref"])
        self.assertGreaterEqual(self.ok(server, "browser_wait", timeoutMs=120)["elapsedMs"], 120)

    def test_nothing_is_said_in_words(self):
        server = self.serve()
        self.go(server, "forms.html")
        self.assertIn("matches find", self.ok(server, "browser_snapshot", find="zzz")["note"])
        self.assertNotIn("note", self.ok(server, "browser_snapshot", find="Full name"))
        self.ok(server, "browser_snapshot")
        self.assertIn("Nothing has changed", self.ok(server, "browser_snapshot", changes=True)["note"])
        self.text(server, "document.querySelector('h1').textContent = 'New'")
        changed = self.ok(server, "browser_snapshot", changes=True)
        self.assertNotIn("note", changed)
        self.assertIn("New", changed["snapshot"])
        self.go(server, "frames.html", waitUntil="load")
        self.assertNotIn("note", self.ok(server, "browser_snapshot", find="Inner button"))
        self.assertIn("matches find", self.ok(server, "browser_snapshot", find="zzz")["note"])

    def test_what_a_script_returns_is_its_value_or_named(self):
        server = self.serve()
        self.go(server, "forms.html")
        for script in ("document.body", "Promise.resolve(document.body)", "document.querySelectorAll('*')",
                       "[...document.querySelectorAll('input')]", "await 1; document.body"):
            self.assertIn("A node has no JSON value", self.ok(server, "browser_evaluate", script=script)["note"], script)
        self.assertIn("map", self.ok(server, "browser_evaluate", script="new Map([[1, 2]])")["note"])
        for script, value in (("({})", {}), ("[{}]", [{}]), ("[]", []), ("({a: {}})", {"a": {}}), ("null", None)):
            self.assertEqual(self.ok(server, "browser_evaluate", script=script), {"result": value})
        for script, value in (("() => document.title + location.hash", self.ok(server, "browser_evaluate", script="document.title")["result"]),
                              ("async () => [1, await 2]", [1, 2]), ("function () { return 3 };", None), ("const f = () => 4; f", 4),
                              ("() => { const x = await1; }", None), ("await 5; () => 6", 6)):
            if value is not None:
                self.assertEqual(self.ok(server, "browser_evaluate", script=script), {"result": value}, script)
        self.assertIn("await1 is not defined", self.fails(server, "browser_evaluate", script="() => { const x = await1; }"))
        self.ok(server, "browser_wait", predicate="() => document.title.length > 0", timeoutMs=2000)
        self.assertIn("Timed out", self.fails(server, "browser_wait", predicate="() => false", timeoutMs=300))
        # As in the console, also once more.
        for number in (1, 2):
            self.assertEqual(self.text(server, f"const one = await Promise.resolve({number}); one + 1"), number + 1)
        self.assertEqual(self.text(server, "const one = 5; one"), 5)
        self.assertEqual(self.text(server, "await 1; Promise.resolve({a: [1]})"), {"a": [1]})
        self.assertIn("oops", self.fails(server, "browser_evaluate", script="await Promise.reject(new Error('oops'))"))
        self.assertIn("oops", self.fails(server, "browser_evaluate", script="await 1; Promise.reject(new Error('oops'))"))
        # What has run is not run again.
        self.assertIn("await is only", self.fails(server, "browser_evaluate", script="window.ran = (window.ran ?? 0) + 1; eval('await 1')"))
        self.assertEqual(self.text(server, "ran"), 1)

    def test_what_waiting_does_not_help_is_said_soon(self):
        server = self.serve()
        self.go(server, "forms.html")
        for tool, arguments, words in (("browser_click", {"element": {"selector": "input"}}, "matches"),
                                       ("browser_type", {"element": {"selector": "h1"}, "text": "x"}, "not a field"),
                                       ("browser_click", {"element": {"selector": "e999"}}, "Unknown element ref")):
            start = time.monotonic()
            self.assertIn(words, self.fails(server, tool, timeoutMs=20000, **arguments))
            self.assertLess(time.monotonic() - start, 10)
        ref = ref_of(self.ok(server, "browser_snapshot", find="Full name")["snapshot"], '"Full name"')["ref"]
        for selector in (ref, f"[ref={ref}]"):
            self.assertEqual(self.ok(server, "browser_click", element={"selector": selector})["ref"], ref)
        # What gets clear in time is waited for.
        self.text(server, "document.body.innerHTML = '<button>a</button><button>b</button>';"
                          "setTimeout(() => document.querySelector('button').remove(), 300); 1")
        self.ok(server, "browser_click", element={"selector": "button"})
        seen = self.go(server, "frames.html", waitUntil="load") and self.ok(server, "browser_snapshot")["snapshot"]
        for line in [line for line in seen.splitlines() if "Inner button" in line]:
            self.ok(server, "browser_click", element={"selector": ref_of(line, "Inner button")["ref"]})
        self.assertEqual(self.ok(server, "browser_snapshot")["snapshot"].count('button "Clicked"'), 2)

    def test_typing_sets_what_the_field_takes_or_says_why_not(self):
        server = self.serve()
        self.go(server, "forms.html")

        def value(name):
            return self.text(server, f"document.querySelector('[name={name}]').value")

        for name, text in (("birthday", "2026-01-02"), ("alarm", "07:30"), ("colour", "#00ff00"), ("volume", "9")):
            self.ok(server, "browser_type", element={"selector": f"[name={name}]"}, text=text)
            self.assertEqual(value(name), text)
        self.assertIn("YYYY-MM-DD", self.fails(server, "browser_type", element={"selector": "[name=birthday]"}, text="2.1.2026"))
        self.assertEqual(value("birthday"), "2026-01-02")
        amount = {"selector": "[name=amount]"}
        self.assertIn("takes a number", self.fails(server, "browser_type", element=amount, text="three"))
        self.assertIn("takes a number", self.fails(server, "browser_fill_form", fields=[{"element": amount, "value": "three"}]))
        self.ok(server, "browser_type", element=amount, text="7", clear=True)
        self.assertEqual(value("amount"), "7")
        self.assertIn("takes no text", self.fails(server, "browser_type", element={"selector": "[name=terms]"}, text="true"))

    def test_keys_have_the_names_that_others_give_them(self):
        server = self.serve()
        self.go(server, "forms.html")
        self.text(server, "window.seen = []; addEventListener('keydown', (event) => { seen.push(event.key); event.preventDefault(); }); 1")
        for keys in ("Page_Down", "PgUp", "KP_Enter", "Return", "Ctrl + A", "super+k", "Control_L", "Control+Plus", "spacebar"):
            self.ok(server, "browser_press", keys=keys)
        self.assertEqual(self.text(server, "seen"), ["PageDown", "PageUp", "Enter", "Enter", "Control", "A", "Meta", "k",
                                                     "Control", "Control", "+", " "])
        for keys in ("Ctrl-A", "Hyper+a", "nokey"):
            self.assertIn("Control+Shift+a", self.fails(server, "browser_press", keys=keys))
        for keys in ("Ctrl+", ""):
            self.assertIn("End keys with one to press", self.fails(server, "browser_press", keys=keys))

    def test_a_click_that_leads_away_says_where(self):
        server = self.serve()
        self.go(server, "forms.html")
        self.assertNotIn("url", self.ok(server, "browser_click", element={"selector": "#name"}))
        self.text(server, "document.body.innerHTML = '<a href=\"/status/404\">Go</a>'; 1")
        went = self.ok(server, "browser_click", element={"selector": "text=Go"})
        self.assertEqual((went["url"], went["title"], went["status"]), (f"{self.here}/status/404", "Status 404", 404))

    def test_dialogs_never_block(self):
        server = self.serve()
        seen = self.go(server, "dialogs.html")["snapshot"]
        clicked = self.ok(server, "browser_click", element=ref_of(seen, '"Alert"'))
        self.assertEqual(clicked["modalStates"][0]["message"], "Hello")
        self.assertIn("A dialog is open", self.fails(server, "browser_snapshot"))
        self.assertEqual(self.ok(server, "browser_dialog", action="accept")["dialogType"], "alert")
        self.ok(server, "browser_click", element=ref_of(seen, '"Prompt"'))
        self.ok(server, "browser_dialog", action="accept", text="Bob")
        self.assertEqual(self.text(server, "document.getElementById('out').textContent"), "Bob")
        self.ok(server, "browser_click", element=ref_of(seen, '"Confirm"'))
        self.ok(server, "browser_dialog", action="dismiss")
        self.assertEqual(self.text(server, "document.getElementById('out').textContent"), "false")
        # One that a script opens, while another call waits.
        waiting = server.call_message("browser_evaluate", {"script": "prompt('Name?')"})
        server.send(waiting)
        self.assertIn("modalStates", server.result(waiting["id"])["structuredContent"])
        self.ok(server, "browser_dialog", action="dismiss")
        self.ok(server, "browser_click", element=ref_of(seen, '"Alert later"'))
        self.assertEqual(self.ok(server, "browser_dialog", action="accept")["dialogType"], "alert")

    def test_frames_popups_and_dragging(self):
        self.allow("localhost")
        server = self.serve()
        self.go(server, "frames.html", waitUntil="load")
        seen = self.ok(server, "browser_snapshot")["snapshot"]
        buttons = [line for line in seen.splitlines() if "Inner button" in line]
        self.assertEqual(len(buttons), 3, seen)
        self.assertIn("Deep button", seen)
        # However the ref is written.
        for line, form in zip(buttons, ({"element": {"ref": "[ref={}]"}}, {"element": {"selector": "[ref={}]"}}, {"element": "{}"})):
            ref = ref_of(line, "Inner button")["ref"]
            self.ok(server, "browser_click", **json.loads(json.dumps(form).replace("{}", ref)))
        seen = self.ok(server, "browser_snapshot")["snapshot"]
        self.assertEqual(seen.count('button "Clicked"'), 3, seen)
        self.ok(server, "browser_click", element=ref_of(seen, "Deep button"))

        seen = self.go(server, "drag.html")["snapshot"]
        self.ok(server, "browser_drag", **{"from": {"selector": "#item"}, "to": {"selector": "#zone"}})
        self.assertEqual(self.text(server, "log.textContent"), "dropped hello")
        self.ok(server, "browser_drag", **{"from": {"selector": "#handle"}, "to": {"selector": "#place"}})
        self.assertEqual(self.text(server, "log.textContent"), "placed after several moves")

        seen = self.go(server, "popups.html")["snapshot"]
        opened = self.ok(server, "browser_click", element=ref_of(seen, '"New tab"'))["newTabs"]
        self.assertEqual([page["url"] for page in opened], [f"{self.here}/inner.html"])
        self.ok(server, "browser_wait", pageId=opened[0]["id"], text="Inside")
        self.ok(server, "browser_tab_focus", pageId=opened[0]["id"])
        pages = self.ok(server, "browser_tab_list")["pages"]
        self.assertEqual([(page["active"], page["url"]) for page in pages],
                         [(False, f"{self.here}/popups.html"), (True, f"{self.here}/inner.html")])
        self.assertTrue(self.ok(server, "browser_tab_close", pageId=opened[0]["id"])["closed"])
        other = self.ok(server, "browser_tab_open", url=f"{self.here}/rows/20")
        self.assertEqual(other["title"], "20 rows")

    def test_closed_shadow_roots_are_seen_and_used(self):
        server = self.serve()
        self.go(server, "shadow.html")
        text = self.ok(server, "browser_snapshot")["snapshot"]
        for line in ('button "ClosedShadow"', '- paragraph: "In a widget"', 'button "Deep inside"'):
            self.assertIn(line, text)
        self.assertNotIn("Unslotted", text)
        self.ok(server, "browser_click", element=ref_of(text, 'button "Deep inside"'))
        self.assertEqual(self.text(server, "document.title"), "deep was clicked")
        self.ok(server, "browser_click", element={"selector": "text=ClosedShadow"})
        # What has come since is seen as well.
        self.ok(server, "browser_evaluate", script="""(() => {
            const host = document.createElement("div");
            host.attachShadow({ mode: "closed" }).innerHTML = "<button>Came late</button>";
            document.body.append(host);
        })()""")
        self.assertIn('button "Came late"', self.ok(server, "browser_snapshot", changes=True)["snapshot"])

    def test_actions_wait_for_what_they_cause(self):
        server = self.serve()
        seen = self.go(server, "moving.html")["snapshot"]
        for name in ("Slides", "Far below", "In a scroller", "Half covered"):
            self.ok(server, "browser_click", element=ref_of(seen, f'"{name}"'))
        self.assertEqual(self.text(server, "document.getElementById('log').textContent"),
                         "nothing|Slides|Far below|In a scroller|Half covered")
        self.assertIn("covered", self.fails(server, "browser_click", element=ref_of(seen, '"Covered"'), timeoutMs=300))
        self.text(server, "setTimeout(() => { document.getElementById('soon').disabled = false }, 200)")
        self.ok(server, "browser_click", element={"selector": "#soon"})
        self.text(server, "document.title = 'no'; fetch('/slow/100').then(() => { document.title = 'fetched' }); 1")
        self.ok(server, "browser_wait", predicate="document.title == 'fetched'")
        self.assertIn("Timed out", self.fails(server, "browser_wait", url="*nowhere*", timeoutMs=50))
        self.ok(server, "browser_evaluate", script="console.warn('careful', {a: 1}); setTimeout(() => { throw new Error('oops') }, 0); 1")
        self.wait_for(lambda: "oops" in json.dumps(self.ok(server, "browser_console", level="error")))
        self.assertIn("careful", json.dumps(self.ok(server, "browser_console", level="warn")))
        self.assertIn("nope is not defined", self.fails(server, "browser_evaluate", script="nope"))
        # A link: the call ends when the next page is there.
        self.text(server, "document.body.innerHTML = '<a href=\"/slow/300\">Go</a>'; 1")
        self.ok(server, "browser_click", element={"selector": "text=Go"})
        self.assertEqual(self.text(server, "document.title"), "Slow")
        # Only a script that may do something counts as done by the user.
        self.assertFalse(self.text(server, "navigator.userActivation.isActive"))
        self.assertTrue(self.text(server, "(() => navigator.userActivation.isActive)()"))


class Several(InBrowser):
    def test_agents_do_not_meet(self):
        one, other = self.serve(), self.serve()
        for server in (one, other):
            self.go(server, "index.html", snapshot="none")
        self.ok(one, "browser_cookies", action="set", cookies=[{"name": "c", "value": "d"}])
        self.ok(one, "browser_storage", kind="local", action="set", data={"a": "b"})
        self.assertEqual(self.ok(other, "browser_cookies", action="get")["cookies"], [])
        self.assertEqual(self.ok(other, "browser_storage", kind="local", action="get")["data"], {})
        self.ok(one, "browser_tab_open")
        self.assertEqual(len(self.ok(other, "browser_tab_list")["pages"]), 1)
        self.ok(one, "browser_disconnect")
        self.assertEqual(self.text(other, "document.title"), "Test pages")

    def test_no_call_waits_for_another_page(self):
        server = self.serve()
        first = self.ok(server, "browser_tab_list")["pages"][0]["id"]
        slow = server.call_message("browser_navigate", {"url": f"{self.here}/slow/0?until=told", "pageId": first})
        server.send(slow)
        second = self.ok(server, "browser_tab_open", url=f"{self.here}/dialogs.html")
        self.ok(server, "browser_click", element=ref_of(second["snapshot"], '"Alert"'))  # stands still
        third = self.ok(server, "browser_tab_open", url=f"{self.here}/forms.html")["pageId"]
        self.assertIn("Full name", self.ok(server, "browser_snapshot", pageId=third)["snapshot"])
        self.assertEqual(self.ok(server, "browser_evaluate", pageId=third, script="1 + 1")["result"], 2)
        self.assertNotIn(json.dumps(slow["id"]), server.answers)
        urllib.request.urlopen(f"{self.here}/release/told").close()
        self.assertEqual(server.result(slow["id"])["structuredContent"]["title"], "Slow")


class Secrets(InBrowser):
    def test_keys_are_hidden_wherever_they_stand(self):
        server = self.serve()
        key = "gh" + "p_" + "aB3" * 12
        self.go(server, "index.html")
        self.text(server, f"document.body.innerHTML = '<main><h1>Keys</h1><p>It is {key} &quot;</p></main>'; console.log('a', '{key}');"
                          f"fetch('/api/{key}?k={key}').then(a => a.text()).then(text => {{ document.title = 'done' }}); 1")
        self.ok(server, "browser_wait", predicate="document.title == 'done'")
        hidden = "[REDACTED:github-token:1]"
        seen = {
            "snapshot": self.ok(server, "browser_snapshot")["snapshot"],
            "content": self.ok(server, "browser_content")["content"],
            "evaluate": self.text(server, "document.body.textContent"),
            "console": json.dumps(self.ok(server, "browser_console")),
            "network": json.dumps(self.ok(server, "browser_network", bodies=True, filter="*api*")),
            "error": self.fails(server, "browser_evaluate", script=f"throw new Error('{key}')"),
            "picture": json.dumps(server.call("browser_screenshot")["content"][1:]),
        }
        for where, text in seen.items():
            self.assertNotIn(key, text, where)
            if where != "picture":
                self.assertIn(hidden, text, where)
        self.assertEqual(seen["network"].count(hidden), 3)  # twice in the address, once in what came back


class Borders(InBrowser):
    def test_an_unknown_certificate_is_refused(self):
        site = load_site(with_https=True)
        self.addCleanup(site.__exit__)
        server = self.serve()
        words = self.fails(server, "browser_navigate", url=f"{site.addresses['https']}/forms.html")
        self.assertIn("net::ERR_CERT_AUTHORITY_INVALID", words)
        self.assertIn("https://127.0.0.1", words)
        self.assertEqual(self.go(server, "forms.html")["title"], "Forms")

    def test_pages_go_only_where_they_may(self):
        server = self.serve()
        self.assertIn("outside the root", self.fails(server, "browser_navigate", url="file:///etc/passwd"))
        for address in ("chrome://settings", "view-source:http://example.com"):
            self.assertIn("only http, https and file", self.fails(server, "browser_navigate", url=address))
        for address in ("http://10.1.2.3/", "http://192.168.0.1/", "http://[::1]/", "http://0x7f000001.1/", "http://x.local/"):
            self.assertTrue(self.fails(server, "browser_navigate", url=address), address)
        self.assertIn("Gatehouse itself", self.fails(server, "browser_navigate", url="http://127.0.0.1:7655/"))
        self.assertIn("private network", self.fails(server, "browser_navigate", url=f"{self.other}/forms.html"))
        # A redirect, a link, a form, a popup and a frame do not lead there either.
        self.assertIn("localhost", self.fails(server, "browser_navigate",
                                              url=f"{self.here}/redirect/302?to={self.other}/forms.html"))
        self.go(server, "index.html")
        blocked = self.text(server, f"document.body.innerHTML = '<a href=\"{self.other}/forms.html\">Away</a>'; 1")
        blocked = self.ok(server, "browser_click", element={"selector": "text=Away"})["blocked"]
        self.assertEqual(blocked["host"], "localhost")
        seen = self.go(server, "popups.html")["snapshot"]
        for name in ("Redirected popup", "Open other site"):
            opened, = self.ok(server, "browser_click", element=ref_of(seen, f'"{name}"'))["newTabs"]
            self.assertEqual(opened["blocked"]["url"], f"{self.other}/inner.html")
            self.assertEqual(opened["blocked"]["host"], "localhost")
        for page in self.ok(server, "browser_tab_list")["pages"][1:]:
            self.assertNotIn("Inside", json.dumps(server.call("browser_snapshot", pageId=page["id"])))
        self.go(server, "frames.html", waitUntil="load")
        self.assertEqual(self.ok(server, "browser_snapshot")["snapshot"].count("Inner button"), 2)
        self.assertEqual(self.text(server, f"fetch('{self.other}/api/x', {{mode: 'no-cors'}}).then(() => 'got', () => 'refused')"),
                         "refused")

    def test_gatehouse_itself_is_never_reached(self):
        """Over HTTP it has a port, on a host that a rule allows."""
        server = Listening(self.root, self.state)
        self.addCleanup(server.discard)
        self.ok(server, "browser_connect")
        for host in ("127.0.0.1", "localhost", "[::1]"):
            self.assertTrue(self.fails(server, "browser_navigate", url=f"http://{host}:{server.port}/"), host)
        self.assertIn("Gatehouse itself", self.fails(server, "browser_navigate", url=f"http://127.0.0.1:{server.port}/mcp"))
        self.go(server, "index.html")
        own = f"http://127.0.0.1:{server.port}/mcp"
        self.assertTrue(self.fails(server, "browser_navigate", url=f"{self.here}/redirect/302?to={own}"))
        self.go(server, "index.html")
        asked = f"fetch('{own}', {{mode: 'no-cors'}}).then(() => 'got', () => 'refused')"
        self.assertEqual(self.text(server, asked), "refused")
        # The browser itself knows it, for what nobody intercepts.
        main = [words for words in map(self.words_of, self.browsers(server)) if b"--type=" not in words]
        self.assertIn(f"--host-resolver-rules=MAP *:7655 ~NOTFOUND,MAP *:{server.port} ~NOTFOUND".encode(), main[0].split(b"\0"))
        server.end()

    def test_the_user_is_asked_for_each_host(self):
        self.settings.unlink()
        server = self.serve("--permission-browser", "ask", can_ask=True)
        question, result = self.decide(server, "Deny once", "browser_navigate", url=f"{self.here}/forms.html")
        self.assertIn("Opens a page on 127.0.0.1", question["message"])
        self.assertTrue(result["isError"])
        _, result = self.decide(server, "Allow for this session", "browser_navigate", url=f"{self.here}/forms.html")
        self.assertEqual(result["structuredContent"]["title"], "Forms")
        self.ok(server, "browser_snapshot")  # not asked again
        self.assertIn("localhost", self.fails(server, "browser_navigate",
                                              url=f"{self.here}/redirect/302?to={self.other}/forms.html"))

    def test_a_private_host_is_asked_about_although_browsing_is_allowed(self):
        """An agent looks at the server that it runs itself, as most do."""
        self.settings.unlink()
        for rule, mode in ((None, "allow"), ("*", "ask")):
            if rule is not None:
                self.allow(rule)
            server = self.serve("--permission-browser", mode, can_ask=True)
            question, result = self.decide(server, "Deny once", "browser_navigate", url=f"{self.here}/forms.html")
            self.assertIn("Opens a page on 127.0.0.1", question["message"])
            self.assertTrue(result["isError"])
            _, result = self.decide(server, "Allow for this session", "browser_navigate", url=f"{self.here}/forms.html")
            self.assertEqual(result["structuredContent"]["title"], "Forms")
            self.ok(server, "browser_snapshot")  # not asked again
            question, _ = self.decide(server, "Deny once", "browser_navigate", url=f"{self.other}/forms.html")
            self.assertIn("localhost", question["message"])
            self.assertIn("localhost", self.fails(server, "browser_navigate",
                                                  url=f"{self.here}/redirect/302?to={self.other}/forms.html"))
            server.end()
        # Where nobody can be asked, the answer says what the user can do.
        server = self.serve("--permission-browser", "allow")
        self.assertIn("gatehouse rules add allow browser host:127.0.0.1",
                      self.fails(server, "browser_navigate", url=f"{self.here}/forms.html"))

    def test_a_rule_for_all_hosts_opens_no_private_network(self):
        self.settings.unlink()
        self.allow("*")
        server = self.serve("--permission-browser", "ask")
        for address in (self.here, self.other, "http://10.1.2.3", "http://[::1]"):
            self.assertIn("private network", self.fails(server, "browser_navigate", url=f"{address}/forms.html"))
        self.allow("127.0.0.1")
        server = self.serve()
        self.go(server, "forms.html")
        self.assertIn("private network", self.fails(server, "browser_navigate", url=f"{self.other}/forms.html"))
        self.assertIn("localhost", self.fails(server, "browser_navigate",
                                              url=f"{self.here}/redirect/302?to={self.other}/forms.html"))
        self.go(server, "forms.html")
        asked = f"fetch('{self.other}/api/x', {{mode: 'no-cors'}}).then(() => 'got', () => 'refused')"
        self.assertEqual(self.text(server, asked), "refused")
        # Nor from a frame that Chromium would give a process of its own.
        in_frame = f"""new Promise(done => {{
            addEventListener('message', event => done(event.data));
            const frame = document.createElement('iframe');
            frame.sandbox = 'allow-scripts';
            frame.srcdoc = `<script>{asked}.then(text => parent.postMessage(text, '*'))</script>`;
            document.body.append(frame);
        }})"""
        for _ in range(ROUNDS):
            self.assertEqual(self.text(server, in_frame), "refused")

    def open_another(self, server):
        """A page in place of the only one."""
        page, = self.ok(server, "browser_tab_list")["pages"]
        self.ok(server, "browser_tab_close", pageId=page["id"])
        self.ok(server, "browser_tab_open", url=f"{self.here}/forms.html")

    def test_a_name_that_leads_to_this_machine_needs_a_rule_of_its_own(self):
        inside = OtherName()
        self.addCleanup(inside.end)
        if inside.name is None:
            self.skipTest("this machine has no other name that leads to it")
        server = self.serve()
        self.go(server, "forms.html")
        for tool, arguments in (("browser_navigate", {"url": inside.url}), ("browser_snapshot", {}),
                                ("browser_evaluate", {"script": "document.title"}),
                                ("browser_navigate", {"url": f"{self.here}/forms.html"})):
            answer = self.fails(server, tool, **arguments)
            self.assertIn(f"gatehouse rules add allow browser host:{inside.name}", answer)
            self.assertNotIn("known here only", answer)
            self.assertNotIn("Inside", answer)
            self.assertNotIn("Inside", json.dumps(self.ok(server, "browser_tab_list")))
        self.open_another(server)
        # By itself, too.
        self.assertIn("private network", self.fails(server, "browser_evaluate",
                                                    script=f"location = '{inside.url}'; new Promise(() => {{}})"))
        self.open_another(server)
        self.fails(server, "browser_navigate", url=f"{inside.url}/file")
        self.assertNotIn("completed", [item["state"] for item in self.ok(server, "browser_downloads", waitMs=2000)["downloads"]])
        # Nor what a page without an address loads, which Chromium itself lets do so.
        loads = f"fetch('{inside.url}/file').then(answer => answer.text())"
        shows = f"""new Promise(done => {{
            const picture = new Image();
            picture.onload = picture.onerror = done;
            picture.src = '{inside.url}/picture';
        }}).then(() => 'Inside')"""
        opens = f"""new Promise(done => {{
            addEventListener('message', event => done(event.data));
            open('about:blank').eval("{loads}.then(text => opener.postMessage(text, '*'))");
        }})"""
        hears = f"""new Promise(done => {{
            new WebSocket('{inside.url.replace("http:", "ws:")}').onmessage = event => done(event.data);
        }})"""
        hears_in_frame = f"""new Promise(done => {{
            addEventListener('message', event => done(event.data));
            const frame = document.createElement('iframe');
            frame.sandbox = 'allow-scripts';
            frame.srcdoc = `<script>{hears}.then(text => parent.postMessage(text, '*'))</script>`;
            document.body.append(frame);
        }})"""
        rule, socket_words = f"gatehouse rules add allow browser host:{inside.name}", "opened a WebSocket"
        for script, words in ((loads, rule), (shows, rule), (opens, rule), (hears, socket_words), (hears_in_frame, socket_words)):
            page = self.ok(server, "browser_tab_open")["pageId"]
            answer = self.fails(server, "browser_evaluate", script=script)
            self.assertIn(words, answer)
            self.assertNotIn("nside", answer.replace(inside.name, ""))
            self.ok(server, "browser_tab_close", pageId=page)
        # A window of a page that is inside may do what that page may.
        self.ok(server, "browser_tab_open", url=f"{self.here}/forms.html")
        self.assertEqual(self.text(server, hears), "Inside")
        self.assertIn("Inside", self.text(server, f"window.opened = open('about:blank'); opened.eval({json.dumps(loads)})"))
        page = self.ok(server, "browser_tab_list")["pages"][-1]["id"]
        self.assertEqual(self.ok(server, "browser_evaluate", script="location.href", pageId=page)["result"], "about:blank")
        self.allow(inside.name)
        server = self.serve()
        self.assertEqual(self.go(server, inside.url)["title"], "Inside")

    def test_the_browser_to_start_is_an_option(self):
        server = self.serve(*OPEN, "--browser-default", "local", connects=False)
        self.assertIn("cannot be reached", self.fails(server, "browser_connect"))
        self.assertEqual(self.browsers(server), [])
        self.assertEqual(self.ok(server, "browser_connect", mode="ephemeral")["mode"], "ephemeral")
        server = self.serve(*OPEN, "--browser-default", "netscape", connects=False)
        self.assertIn("netscape", self.fails(server, "browser_connect"))
        server = self.serve(*OPEN, "--browser-default", "netscape, persistent", connects=False)
        self.assertIn("netscape", self.fails(server, "browser_connect"))
        self.assertEqual(self.ok(server, "browser_connect", browser="chromium")["mode"], "persistent")

    def test_a_profile_is_an_option(self):
        for wish, arguments in (("persistent:mine", {}), ("chromium,persistent:mine", {"mode": "ephemeral"}),
                                ("chromium", {"mode": "persistent", "profile": "mine"})):
            server = self.serve(*OPEN, "--browser-default", wish, connects=False)
            mode = self.ok(server, "browser_connect", **arguments)["mode"]
            self.go(server, "index.html")
            cookies = [cookie["name"] for cookie in self.ok(server, "browser_cookies", action="get")["cookies"]]
            if wish == "persistent:mine":
                self.ok(server, "browser_cookies", action="set", cookies=[{"name": "kept", "value": "yes", "expires": time.time() + 100000}])
            self.assertEqual((mode, cookies), {"persistent:mine": ("persistent", []), "chromium": ("persistent", ["kept"])}.get(wish, ("ephemeral", [])))
            self.ok(server, "browser_disconnect")

    def test_nothing_is_offered_unless_the_user_opened_it(self):
        server = self.serve("--permission-filesystem-read", "allow", connects=False)
        names = [tool["name"] for tool in server.request("tools/list")["tools"]]
        self.assertFalse([name for name in names if name.startswith("browser_")])

    def test_the_parts_of_the_browser_are_confined(self):
        server = self.serve()
        self.go(server, "forms.html")
        found = self.browsers(server)
        self.assertTrue(found)
        for pid in found:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            self.assertRegex(status, r"NoNewPrivs:\s+1")
            self.assertRegex(status, r"Seccomp:\s+2")
            self.assertNotIn(b"--no-sandbox", pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
            self.assertNotEqual(os.readlink(f"/proc/{pid}/ns/user"), os.readlink("/proc/self/ns/user"))
            self.assertFalse(os.path.exists(f"/proc/{pid}/root{self.root}"))
        renderers = [pid for pid in found if b"--type=renderer" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
        spaces = {os.readlink(f"/proc/{pid}/ns/user") for pid in found}
        self.assertTrue(renderers)
        self.assertGreater(len(spaces), 1)  # Chromium's own sandbox is inside ours


class Ends(InBrowser):
    def test_nothing_is_left(self):
        server = self.serve()
        self.assertTrue(self.browsers(server))
        self.ok(server, "browser_disconnect")
        self.assertEqual(self.browsers(server), [])
        self.assertEqual(self.profiles(), [])
        self.ok(server, "browser_connect")
        server.end()
        self.assertEqual(server.wait(), 0)
        self.assertEqual(self.browsers(server), [])
        self.assertEqual(self.profiles(), [])

    def test_a_killed_server_takes_its_browser_along(self):
        server = self.serve()
        self.assertTrue(self.browsers(server))
        os.kill(server.pid, signal.SIGKILL)
        self.wait_for(lambda: not self.browsers(server))
        self.wait_for(lambda: not self.profiles())
        self.servers.remove(server)  # it leaves its journal
        server.discard()

    def companions(self, server):
        """Both halves of gatehouse-browser."""
        return sorted(pid for pid in session_members(server.pid)
                      if b"gatehouse-browser" in self.words_of(pid) and self.is_outside_of_boxes(pid))

    def kill_companions(self, server):
        for pid in self.companions(server):
            os.kill(pid, signal.SIGKILL)
        self.wait_for(lambda: not self.browsers(server) and not self.companions(server))

    def test_a_killed_companion_is_told_once_and_started_again(self):
        server = self.serve()
        self.go(server, "forms.html")
        self.kill_companions(server)
        self.assertIn("browser was lost", self.fails(server, "browser_snapshot"))
        self.assertIn("Not connected", self.fails(server, "browser_snapshot"))
        self.ok(server, "browser_connect")
        self.assertEqual(self.go(server, "forms.html")["title"], "Forms")
        # Whoever calls browser_connect first needs no word.
        self.kill_companions(server)
        self.ok(server, "browser_connect")
        self.assertEqual(self.go(server, "forms.html")["title"], "Forms")
        self.assertEqual(len(self.companions(server)), 2)
        self.ok(server, "browser_disconnect")
        server.end()
        self.assertEqual(self.browsers(server), [])

    def test_what_starts_the_companion_is_replaced_too(self):
        server = self.serve(connects=False)

        def starters():
            """Copies of the server that copies have made."""
            copies = [pid for pid in session_members(server.pid)
                      if pathlib.Path(f"/proc/{pid}/comm").read_text() == "gatehouse-mcp\n" and pid != server.pid]
            return [pid for pid in copies
                    if int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) in copies]
        self.wait_for(starters)
        self.assertEqual(self.companions(server), [])
        for pid in starters():
            os.kill(pid, signal.SIGKILL)
        self.ok(server, "browser_connect")
        self.assertEqual(self.go(server, "forms.html")["title"], "Forms")

    def test_a_killed_companion_leaves_no_process_and_its_profile_is_swept(self):
        server = self.serve()
        self.assertTrue(self.profiles())
        self.kill_companions(server)
        server.discard()
        self.serve()
        self.assertEqual(len(self.profiles()), 1)

    def test_nothing_outlives_half_of_the_companion(self):
        """Either half takes the other along."""
        for which in (0, 1):
            server = self.serve()
            halves = self.companions(server)
            self.assertEqual(len(halves), 2)
            os.kill(halves[which], signal.SIGKILL)
            self.wait_for(lambda: not self.browsers(server))
            self.wait_for(lambda: not set(halves) & set(session_members(server.pid)))
            self.assertIn("browser was lost", self.fails(server, "browser_snapshot"))
            self.ok(server, "browser_connect")
            server.end()
        self.serve()
        self.assertEqual(len(self.profiles()), 1)

    def test_rounds_leave_nothing(self):
        server = self.serve(connects=False)
        self.ok(server, "browser_connect")
        self.ok(server, "browser_disconnect")

        def held():
            """Processes, and the descriptors of each as far as this user may see them."""
            return {pid: len(os.listdir(f"/proc/{pid}/fd")) if os.access(f"/proc/{pid}/fd", os.R_OK) else None
                    for pid in session_members(server.pid)}
        before = held()
        for _ in range(ROUNDS):
            self.ok(server, "browser_connect")
            self.go(server, "forms.html", snapshot="none")
            self.ok(server, "browser_disconnect")
            self.assertEqual(self.browsers(server), [])
            self.assertEqual(self.profiles(), [])
        self.assertEqual(held(), before)

    def test_a_browser_that_dies_is_told_once_and_started_again(self):
        server = self.serve()
        self.go(server, "forms.html")
        main = [pid for pid in self.browsers(server)
                if b"--type=" not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
        for pid in main:
            os.kill(pid, signal.SIGKILL)
        self.wait_for(lambda: not self.browsers(server))
        self.assertIn("has ended", self.fails(server, "browser_snapshot"))
        self.ok(server, "browser_connect")
        self.assertEqual(self.go(server, "forms.html")["title"], "Forms")
        renderer = [pid for pid in self.browsers(server)
                    if b"--type=renderer" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
        for pid in renderer:
            os.kill(pid, signal.SIGKILL)
        self.assertIn("crashed", self.fails(server, "browser_evaluate", script="new Promise(() => {})"))
        self.assertEqual(self.go(server, "forms.html")["title"], "Forms")

    def test_a_named_profile_keeps_cookies_and_has_one_owner(self):
        server = self.serve(connects=False)
        self.ok(server, "browser_connect", mode="persistent", profile="work")
        self.go(server, "index.html")
        self.ok(server, "browser_cookies", action="set",
                cookies=[{"name": "kept", "value": "yes", "expires": time.time() + 100000}])
        second = self.serve(connects=False)
        self.assertIn("in use", self.fails(second, "browser_connect", mode="persistent", profile="work"))
        self.assertIn("letters", self.fails(second, "browser_connect", mode="persistent", profile="../x"))
        self.ok(server, "browser_disconnect")
        self.ok(second, "browser_connect", mode="persistent", profile="work")
        self.go(second, "index.html")
        self.assertEqual([cookie["name"] for cookie in self.ok(second, "browser_cookies", action="get")["cookies"]], ["kept"])


class Devices(InBrowser):
    def test_a_page_sees_another_device(self):
        server = self.serve()
        self.ok(server, "browser_resize", width=400, height=800, deviceScaleFactor=2, mobile=True, userAgent="Pocket/1.0",
                colorScheme="dark")
        self.go(server, "forms.html")
        self.assertEqual(self.text(server, "[screen.width, devicePixelRatio, navigator.userAgent, navigator.maxTouchPoints > 0,"
                                           "matchMedia('(prefers-color-scheme: dark)').matches]"),
                         [400, 2, "Pocket/1.0", True, True])


def no_display():
    return None if shutil.which("Xvfb") and shutil.which("xauth") else "xvfb or xauth is not installed"


class OnDisplay(InBrowser):
    """A display that only knows who has its cookie."""

    def setUp(self):
        super().setUp()
        self.cookies = self.room / "cookies"
        self.add_cookie("0")  # without one, the display lets everybody in
        reading, writing = os.pipe()
        self.server_process = subprocess.Popen(["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x900x24", "-nolisten", "tcp",
                                                "-auth", self.cookies], pass_fds=[writing], stderr=subprocess.DEVNULL)
        os.close(writing)
        self.addCleanup(self.end_display)
        with os.fdopen(reading) as told:
            self.number = told.readline().strip()
        self.add_cookie(self.number)

    def add_cookie(self, number):
        subprocess.run(["xauth", "-q", "-f", self.cookies, "add", f":{number}", ".", "0123456789abcdef" * 2], check=True,
                       capture_output=True)

    def end_display(self):
        self.server_process.kill()
        self.server_process.wait()

    def display(self):
        return {"DISPLAY": f":{self.number}", "XAUTHORITY": str(self.cookies)}


@unittest.skipIf(no_display(), no_display())
class Windows(OnDisplay):
    def test_windows_are_opened_if_wanted_and_possible(self):
        server = self.begin(*OPEN, "--no-browser-headless", env=self.display())
        self.assertFalse(self.ok(server, "browser_connect")["headless"])
        went = self.go(server, "forms.html")
        self.assertEqual(went["title"], "Forms")
        self.assertNotIn("Headless", self.text(server, "navigator.userAgent"))
        self.ok(server, "browser_type", element=ref_of(went["snapshot"], '"Full name"'), text="Zoë", clear=True)
        self.assertTrue(self.ok(server, "browser_screenshot", asDownload=True)["bytes"])
        for pid in self.browsers(server):
            self.assertNotIn(b"--no-sandbox", self.words_of(pid))
            self.assertFalse(os.path.exists(f"/proc/{pid}/root{self.root}"))

    def test_there_are_none_by_default_or_without_a_display(self):
        server = self.begin(*OPEN, env=self.display())
        self.assertTrue(self.ok(server, "browser_connect")["headless"])
        server = self.begin(*OPEN, "--no-browser-headless", env={"DISPLAY": ":65000"})
        self.assertTrue(self.ok(server, "browser_connect")["headless"])


class PageFiles(InBrowser):
    """Pages that are files of the folder."""

    PAGE = """<!DOCTYPE html><title>Draft</title><link rel=stylesheet href=look/style.css><script src=plain.js></script>
<script type=module src=module.mjs></script><p id=text>Größe<img id=picture src="my%20picture.svg"><iframe src=part.html></iframe>
<a href=two.html?x#y>Two</a> <a href="{outside}">Out</a> <a href=/etc/hostname>System</a> <a href=more>Folder</a>"""

    def setUp(self):
        super().setUp()
        (self.root / "site" / "look").mkdir(parents=True)
        (self.root / "site" / "more").mkdir()
        self.write("index.html", self.PAGE.format(outside=f"file://{self.outside}/secret.html"))
        self.write("two.html", "<title>Second</title><p>second page")
        self.write("part.html", "<p>a part")
        self.write("look/style.css", "p { color: rgb(1, 2, 3) }")
        self.write("plain.js", "window.plain = 'ran'")
        self.write("module.mjs", "import {word} from './other.mjs'; window.module = word")
        self.write("other.mjs", "export const word = 'imported'")
        self.write("my picture.svg", "<svg xmlns='http://www.w3.org/2000/svg' width='7' height='7'/>")
        self.write("data.json", '{"a": 1}')
        (self.outside / "secret.html").write_text("<title>Secret</title>outside")
        (self.outside / "outside.js").write_text("window.stolen = 'outside'")

    def write(self, name, text):
        (self.root / "site" / name).write_text(text)

    def url(self, name="index.html"):
        return f"file://{self.root}/site/{name}"

    def serve_pages(self, *flags, **more):
        self.allow("*")  # scripts on a page without a host reach all hosts
        return self.serve(*OPEN, *flags, **more)

    def test_a_page_of_the_folder_is_shown_with_all_that_it_loads(self):
        server = self.serve_pages()
        for address in (self.url(), "file:site/index.html", f"file:{self.root}/site/x/../index.html#there"):
            told = self.go_to(server, address)
            self.assertEqual(told["title"], "Draft")
            self.assertEqual(told["url"].split("#")[0], self.url())
            self.assertIn("Größe", told["snapshot"])
            self.assertIn("a part", told["snapshot"])
        self.ok(server, "browser_wait", predicate="window.module && document.getElementById('picture').complete")
        self.assertEqual(self.text(server, "[plain, module, getComputedStyle(text).color, picture.naturalWidth].join()"),
                         "ran,imported,rgb(1, 2, 3),7")
        self.ok(server, "browser_click", element={"selector": "text=Two"})
        self.assertEqual(self.text(server, "document.title + location.search + location.hash"), "Second?x#y")
        self.assertEqual(self.ok(server, "browser_back")["title"], "Draft")
        self.write("index.html", "<title>Changed</title>")
        self.assertEqual(self.ok(server, "browser_reload")["title"], "Changed")
        opened = self.ok(server, "browser_tab_open", url="file:site/two.html")
        self.assertIn("second page", opened["snapshot"])
        self.assertEqual({record["relativePath"] for record in self.records("load_page_file") if record["operation"] == "read"},
                         {f"site/{name}" for name in ("index.html", "two.html", "part.html", "look/style.css", "plain.js", "module.mjs",
                                                      "other.mjs", "my picture.svg")})

    def load(self, tag, address):
        """A script that tells whether the page gets it."""
        return f"""new Promise(end => {{
            const element = document.createElement('{tag}');
            element.rel = 'stylesheet';
            element.onload = () => end('load');
            element.onerror = () => end('error');
            element['{tag}' === 'link' ? 'href' : 'src'] = '{address}';
            document.head.append(element);
        }})"""

    def records(self, tool):
        """Of the audit log, once it has them."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = [json.loads(line) for name in ("audit.jsonl", "audit.jsonl.reads")
                     for path in self.state.rglob(name) for line in path.read_text().splitlines()]
            if any(record.get("tool") == "browser_tab_open" and record["operation"] == "call" for record in found):
                return [record for record in found if record.get("tool") == tool]
            time.sleep(0.05)
        raise AssertionError("no records")

    def go_to(self, server, url):
        return self.ok(server, "browser_navigate", url=url, snapshot="non-interactive")

    def test_only_what_the_agent_may_read_is_shown(self):
        (self.root / "site" / "link.html").symlink_to(self.outside / "secret.html")
        (self.root / "site" / "away").symlink_to(self.outside)
        self.write("key.pem", "private")
        self.write("denied.html", "<title>Denied</title>")
        os.truncate(self.root / "site" / "data.json", 9 << 20)
        server = self.serve_pages("--deny", "**/denied.*")
        for name, words in (("link.html", "symbolic link"), ("away/secret.html", "symbolic link"), ("denied.html", "den"),
                            ("none.html", "no such|not found|does not exist"), ("more", "directory"), ("data.json", "too large"),
                            ("key.pem", "permission|ask"), ("../../outside/secret.html", "outside"), ("%00", "path")):
            self.assertRegex(self.fails(server, "browser_navigate", url=self.url(name)), words)
        for address in (f"file://{self.outside}/secret.html", "file:///etc/hostname", "file:///proc/self/environ", "file:///",
                        "file://localhost/etc/hostname", "file:../outside/secret.html", "file://elsewhere/x", "chrome://version"):
            self.fails(server, "browser_navigate", url=address)
        self.assertIn("file:///etc", self.fails(server, "browser_navigate", url="/etc/hostname"))
        self.assertNotIn("Secret", json.dumps(self.ok(server, "browser_tab_list")))

    def test_a_page_leads_only_to_what_may_be_read(self):
        server = self.serve_pages()
        self.go_to(server, self.url())
        for words in ("Out", "System", "Folder"):
            told = self.ok(server, "browser_click", element={"selector": f"text={words}"})
            self.assertTrue(told["blocked"]["url"].startswith("file:///"), told)
            self.assertTrue(told["blocked"]["error"], told)
            self.go_to(server, self.url())
        # Scripts read no files, as in any browser, and load nothing from outside.
        self.assertEqual(self.text(server, "fetch('data.json').then(() => 'read', () => 'refused')"), "refused")
        self.assertEqual(self.text(server, "new Promise(end => { const x = new XMLHttpRequest(); x.onload = () => end('read');"
                                           "x.onerror = () => end('refused'); x.open('GET', 'data.json'); x.send() })"), "refused")
        for path, expected in ((f"{self.outside}/outside.js", "error"), (f"{self.root}/site/plain.js", "load"), ("/etc/hostname", "error")):
            self.assertEqual(self.text(server, self.load("script", f"file://{path}")), expected)
        self.assertEqual(self.text(server, "String(window.stolen)"), "undefined")
        self.assertEqual(self.text(server, "import('./data.json', {with: {type: 'json'}}).then(() => 'read', () => 'refused')"), "refused")
        self.assertEqual(self.text(server, "String(document.querySelector('iframe').contentDocument)"), "null")
        for name, tag in (("data.json", "script"), ("two.html", "script"), ("plain.js", "link"), ("data.json", "link")):
            self.assertEqual(self.text(server, self.load(tag, name)), "error")
        # Pages of the web do not even get there.
        self.go(server, "forms.html")
        where = self.text(server, "location.href")
        self.assertEqual(self.text(server, self.load("script", self.url("plain.js"))), "error")
        self.assertEqual(self.text(server, self.load("img", self.url("my%20picture.svg"))), "error")
        self.assertEqual(self.text(server, f"String(window.open('{self.url()}'))"), "null")
        self.text(server, f"(location.href = '{self.url()}', 1)")
        self.text(server, f"(document.body.innerHTML = '<a id=a href=\\'{self.url()}\\'>There</a><iframe src=\\'{self.url()}\\'></iframe>', 1)")
        self.ok(server, "browser_click", element={"selector": "#a"})
        told = self.ok(server, "browser_snapshot")
        self.assertEqual(told["url"], where)
        self.assertNotIn("Größe", told["snapshot"])
        self.assertEqual(len(self.ok(server, "browser_tab_list")["pages"]), 1)

    def test_reading_needs_permission_and_is_asked_about_once(self):
        server = self.serve_pages("--permission-filesystem-read", "ask", can_ask=True)
        question, result = self.decide(server, "Deny once", "browser_navigate", url=self.url())
        self.assertIn("site/index.html", question["message"])
        self.assertTrue(result["isError"])
        _, result = self.decide(server, "Allow once", "browser_navigate", url=self.url())
        self.assertFalse(result.get("isError"), result)
        self.assertEqual(result["structuredContent"]["title"], "Draft")
        self.assertEqual(self.text(server, "String(window.plain)"), "undefined")
        self.assertTrue(self.ok(server, "browser_click", element={"selector": "text=Two"})["blocked"]["error"])

    def test_what_usually_holds_secrets_is_asked_about(self):
        self.write("key.pem", "private")
        server = self.serve_pages(can_ask=True)
        question, result = self.decide(server, "Deny once", "browser_navigate", url=self.url("key.pem"))
        self.assertIn("key.pem", question["message"])
        self.assertTrue(result["isError"])

    def test_without_permission_to_read_there_are_none(self):
        server = self.serve_pages("--permission-filesystem-read", "deny")
        self.assertIn("filesystemRead is denied", self.fails(server, "browser_navigate", url=self.url()))


class Files(InBrowser):
    """What goes to pages and comes from them."""

    def setUp(self):
        super().setUp()
        (self.root / "notes.txt").write_text("my notes\n")
        (self.root / "more").mkdir()
        (self.root / "more" / "list.txt").write_text("a list\n")
        (self.outside / "secret.txt").write_text("secret\n")

    def staged(self, kind):
        """Files in the staging directory."""
        return sorted(path for place in self.state.rglob(kind) for path in place.rglob("*") if path.is_file())

    def received(self, server):
        return json.loads(self.text(server, "document.getElementById('received').textContent"))["files"]

    def test_files_of_the_folder_are_uploaded(self):
        server = self.serve()
        page = self.go(server, "upload.html")["snapshot"]
        told = self.ok(server, "browser_upload", element=ref_of(page, '"One file"'), files=["notes.txt"])
        self.assertTrue(told["uploaded"])
        self.assertEqual(told["files"], ["notes.txt"])
        many = [str(self.root / "notes.txt"), "more/list.txt"]
        self.ok(server, "browser_upload", element=ref_of(page, '"Many files"'), files=many)
        self.assertIn("one file", self.fails(server, "browser_upload", element=ref_of(page, '"One file"'), files=many))
        self.ok(server, "browser_click", element={"selector": "role=button[name='Send']"})
        self.assertEqual([(part["name"], part["file"], part["text"].strip()) for part in self.received(server)],
                         [("one", "notes.txt", "my notes"), ("many", "notes.txt", "my notes"), ("many", "list.txt", "a list"),
                          ("hidden", "", "")])

    def test_a_file_chooser_is_answered(self):
        server = self.serve()
        self.go(server, "upload.html")
        self.assertIn("no file chooser", self.fails(server, "browser_upload", files=["notes.txt"]))
        clicked = self.ok(server, "browser_click", element={"selector": "text=Open chooser"})
        self.assertEqual([(state["type"], state["clearedBy"]) for state in clicked["modalStates"]],
                         [("filechooser", "browser_upload")])
        self.assertIn("one file", self.fails(server, "browser_upload", files=["notes.txt", "more/list.txt"]))
        self.ok(server, "browser_upload", files=["more/list.txt"])
        self.assertEqual(self.text(server, "chosen.textContent"), "list.txt")
        self.assertIn("no file chooser", self.fails(server, "browser_upload", files=["notes.txt"]))

    def test_nothing_else_can_be_uploaded(self):
        (self.root / "link.txt").symlink_to(self.outside / "secret.txt")
        (self.root / "key.pem").write_text("private\n")
        server = self.serve(*OPEN, "--deny", "more/**", can_ask=True)
        page = self.go(server, "upload.html")["snapshot"]
        field = ref_of(page, '"One file"')
        for name in (str(self.outside / "secret.txt"), "../outside/secret.txt", "link.txt", "/etc/hostname", "more/list.txt",
                     "missing.txt", "more", "", "."):
            self.fails(server, "browser_upload", element=field, files=["notes.txt", name])
        self.assertEqual(self.text(server, "document.querySelector('input').files.length"), 0)
        # What usually holds secrets is asked about, whatever is allowed.
        question, _ = self.decide(server, "Deny once", "browser_upload", element=field, files=["key.pem"])
        self.assertIn("key.pem", question["message"])
        self.assertEqual(self.text(server, "document.querySelector('input').files.length"), 0)
        with self.assertRaisesRegex(mcp_client.Refused, "unknown tool"):
            server.call("stage_upload", files=["notes.txt"], number=1)

    def test_reading_and_the_page_both_need_permission(self):
        server = self.serve(*OPEN, "--permission-filesystem-read", "ask", can_ask=True)
        page = self.go(server, "upload.html")["snapshot"]
        field = ref_of(page, '"One file"')
        question, result = self.decide(server, "Deny once", "browser_upload", element=field, files=["notes.txt"])
        self.assertIn("Uploads files on 127.0.0.1", question["message"])
        self.assertIn("notes.txt", question["message"])
        self.assertTrue(result["isError"])
        self.assertEqual(self.staged("uploads"), [])
        _, result = self.decide(server, "Allow once", "browser_upload", element=field, files=["notes.txt"])
        self.assertFalse(result.get("isError"), result)
        self.assertEqual([path.read_text() for path in self.staged("uploads")], ["my notes\n"])

    def test_downloads_are_listed_and_saved(self):
        server = self.serve(*OPEN, "--permission-filesystem-write", "allow")
        self.go(server, "downloads.html")
        clicked = self.ok(server, "browser_click", element={"selector": "text=Report"})
        self.assertEqual([item["fileName"] for item in clicked.get("downloads", [])] or ["report.txt"], ["report.txt"])
        self.ok(server, "browser_click", element={"selector": "text=Escaping name"})
        self.ok(server, "browser_click", element={"selector": "text=Made here"})
        self.ok(server, "browser_click", element={"selector": "text=Large"})

        def all_done():
            found = self.ok(server, "browser_downloads", waitMs=20000)["downloads"]
            return found if len(found) == 4 and all(item["state"] == "completed" for item in found) else None
        self.wait_for(all_done)
        found = {item["fileName"].rpartition("/")[2].rpartition("_")[2]: item for item in all_done()}
        self.assertLessEqual({"report.txt", "made.txt", "large.bin"}, set(found))
        self.assertEqual(picture_names(self.root), {"more", "more/list.txt", "notes.txt"})  # nothing by itself
        self.ok(server, "save_download", downloadId=found["report.txt"]["id"], path="in/report.txt")
        self.ok(server, "save_download", downloadId=found["made.txt"]["id"], path=str(self.root / "made.txt"))
        self.ok(server, "save_download", downloadId=found["large.bin"]["id"], path="large.bin")
        self.assertEqual((self.root / "in" / "report.txt").read_text(), "downloaded\n")
        self.assertEqual((self.root / "made.txt").read_text(), "made here\n")
        self.assertEqual((self.root / "large.bin").stat().st_size, 11 * 200000)
        self.ok(server, "undo_changes")
        self.assertFalse((self.root / "large.bin").exists())
        for name, path in ((found["report.txt"]["id"], "../outside/x"), ("../uploads", "x"), ("no-such", "x"),
                           (found["report.txt"]["id"], "more"), (found["report.txt"]["id"], str(self.outside / "x"))):
            self.fails(server, "save_download", downloadId=name, path=path)
        self.assertEqual(picture_names(self.outside), {"secret.txt"})
        self.ok(server, "browser_disconnect")
        self.ok(server, "save_download", downloadId=found["report.txt"]["id"], path="later.txt")

    def test_links_in_the_staging_directory_lead_nowhere(self):
        """As if somebody had taken over the browser, which may write there."""
        server = self.serve(*OPEN, "--permission-filesystem-write", "allow")
        place = next(path for path in self.state.rglob("downloads") if path.is_dir())
        (place / "link").symlink_to(self.outside / "secret.txt")
        os.link(self.outside / "secret.txt", place / "hard")
        os.mkfifo(place / "pipe")
        (place / "folder").mkdir()
        for name in ("link", "hard", "pipe", "folder"):
            self.fails(server, "save_download", downloadId=name, path="x")
        self.assertFalse((self.root / "x").exists())

    def test_pictures_and_paper_become_downloads(self):
        server = self.serve(*OPEN, "--permission-filesystem-write", "allow")
        self.go(server, "forms.html")
        shot = self.ok(server, "browser_screenshot", asDownload=True)
        paper = self.ok(server, "browser_pdf", asDownload=True)
        self.assertNotIn("pdf", paper)
        self.ok(server, "save_download", downloadId=shot["downloadId"], path="shot.png")
        self.ok(server, "save_download", downloadId=paper["downloadId"], path="page.pdf")
        self.assertTrue((self.root / "shot.png").read_bytes().startswith(b"\x89PNG"))
        self.assertTrue((self.root / "page.pdf").read_bytes().startswith(b"%PDF"))
        self.assertEqual([item["state"] for item in self.ok(server, "browser_downloads")["downloads"]], ["completed"] * 2)

    def test_the_browser_sees_of_the_files_only_its_own(self):
        server = self.serve()
        page = self.go(server, "upload.html")["snapshot"]
        self.ok(server, "browser_upload", element=ref_of(page, '"One file"'), files=["notes.txt"])
        copy, = self.staged("uploads")
        for pid in self.browsers(server):
            if b"--type=" in self.words_of(pid):
                continue
            inside = pathlib.Path(f"/proc/{pid}/root")
            self.assertEqual((inside / str(copy)[1:]).read_text(), "my notes\n")
            self.assertFalse((inside / str(self.root)[1:]).exists())
            with self.assertRaises(OSError):
                (inside / str(copy)[1:]).write_text("changed")

    def test_private_hosts_give_no_downloads(self):
        server = self.serve()
        self.go(server, "downloads.html")
        self.text(server, f"made.href = '{self.other}/download/private.txt', made.click()")
        states = lambda: [item["state"] for item in self.ok(server, "browser_downloads", waitMs=2000)["downloads"]]
        time_ = time.monotonic() + 2
        while time.monotonic() < time_ and not states():
            pass
        self.assertNotIn("completed", states())


def picture_names(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


if __name__ == "__main__":
    mcp_client.main(needed=[SITE, *PAGES.iterdir()])
