#!/usr/bin/env python3
"""The user's own browser, which a test plays with a real Chromium: listed, used, and left as it was."""
import http.client
import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request

import mcp_client
from consent_scene import ASKING
from mcp_client import PATIENCE
from test_browser import CHROMIUM, InBrowser, Listening, OPEN, PAGES, SITE, ref_of


def socket_script(url):
    """For a page: opens a WebSocket."""
    return f"""new Promise((tell) => {{
        const socket = new WebSocket("{url}");
        socket.onopen = () => tell("open");
        socket.onerror = () => tell("refused");
    }})"""


class Stranger:
    """Another program of the user on this machine, which is no browser. It notes what is asked of it."""

    def __init__(self):
        self.asked = []
        asked = self.asked

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.requestline)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Own:
    """A browser that its user started with the switch for debugging."""

    def __init__(self, settings, profile="chromium", *pages):
        self.profile = settings / profile
        self.profile.mkdir(parents=True, exist_ok=True)
        self.file = self.profile / "DevToolsActivePort"
        self.file.unlink(missing_ok=True)
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # it refuses to start as root
        temporary = settings / "tmp"  # a killed Chromium leaves something there
        temporary.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-first-run", "--disable-gpu", "--remote-debugging-port=0", *sandbox,
             f"--user-data-dir={self.profile}", *(pages or ["about:blank"])],
            env={"PATH": "/usr/bin:/bin", "HOME": str(settings / "home"), "TMPDIR": str(temporary)},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + PATIENCE
        while not self.file.exists() or len(self.file.read_text().splitlines()) < 2:
            assert self.process.poll() is None and time.monotonic() < end, "Chromium did not start"
            time.sleep(0.02)
        self.port = int(self.file.read_text().splitlines()[0])

    def ask(self, path, method="GET"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/{path}", method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read()

    def tabs(self, what="url"):
        return sorted(tab[what] for tab in json.loads(self.ask("list")) if tab["type"] == "page")

    def open(self, url):
        self.ask(f"new?{url}", "PUT")

    def close(self, title):
        self.ask("close/" + next(tab["id"] for tab in json.loads(self.ask("list")) if tab["title"] == title))

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


class InOwn(InBrowser):
    def setUp(self):
        super().setUp()
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="gatehouse-home-"))
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)

    def own(self, *pages, profile="chromium"):
        own = Own(self.home, profile, *pages)
        self.addCleanup(own.end)
        return own

    def serve(self, *flags, is_named=True, capabilities=ASKING):
        if is_named:
            self.allow("local-browser")
        return self.begin(*(flags or OPEN), capabilities=capabilities, env={"XDG_CONFIG_HOME": str(self.home)})

    def local(self, server, **more):
        return self.ok(server, "browser_connect", mode="local", **more)


class Local(InOwn):
    def test_tabs_are_used_and_left(self):
        forms, frames = f"{self.here}/forms.html", f"{self.here}/frames.html"
        own = self.own(forms)
        own.open(frames)
        self.wait_for(lambda: own.tabs("title") == ["Forms", "Frames"])
        server = self.serve()
        connected = self.local(server)
        self.assertEqual((connected["mode"], connected["headless"]), ("local", False))
        pages = {page["url"]: page for page in connected["pages"]}
        self.assertEqual(set(pages), {"about:blank", forms, frames})
        self.assertTrue(pages["about:blank"]["active"])
        self.assertNotIn("isUsers", pages["about:blank"])
        self.assertTrue(pages[forms]["isUsers"])
        self.assertEqual(pages[forms]["title"], "Forms")

        # In a tab of its own.
        went = self.go(server, "forms.html")
        self.assertEqual((went["title"], went["status"]), ("Forms", 200))
        self.ok(server, "browser_type", element=ref_of(went["snapshot"], '"Full name"'), text="Ann")
        self.assertEqual(self.text(server, "document.getElementById('name').value"), "Ann")

        # In a tab of the user, when the call names it; frames that were there before are seen.
        users = pages[forms]["id"]
        seen = self.ok(server, "browser_snapshot", pageId=users)["snapshot"]
        self.ok(server, "browser_type", pageId=users, element=ref_of(seen, '"Full name"'), text="Bob")
        self.assertEqual(self.ok(server, "browser_evaluate", pageId=users, script="document.getElementById('name').value")["result"],
                         "Bob")
        self.assertEqual(self.text(server, "document.getElementById('name').value"), "Ann")
        self.assertEqual(self.ok(server, "browser_wait", pageId=users, loadState="load")["waited"], True)
        self.assertIn("Inner button", self.ok(server, "browser_snapshot", pageId=pages[frames]["id"])["snapshot"])

        # The user's tabs are never closed, one that was opened is.
        self.assertIn("user's", self.fails(server, "browser_tab_close", pageId=users))
        opened = self.ok(server, "browser_tab_open", url=f"{self.here}/tables.html")["pageId"]
        self.ok(server, "browser_tab_close", pageId=opened)
        self.assertEqual(own.tabs(), [forms, forms, frames])
        self.ok(server, "browser_disconnect")
        self.assertEqual(own.tabs(), [forms, forms, frames])
        self.assertIn("Not connected", self.fails(server, "browser_snapshot"))
        self.local(server)
        self.assertEqual(server.end(), 0)
        self.assertIsNone(own.process.poll())
        self.assertEqual(own.tabs(), ["about:blank", forms, forms, frames])

    def test_tabs_of_the_user_come_and_go(self):
        own = self.own()
        server = self.serve()
        self.local(server)
        mine = self.ok(server, "browser_tab_list")["pages"]
        self.assertEqual([page["url"] for page in mine], ["about:blank"])  # the user's empty one is no page of the web
        own.open(f"{self.here}/forms.html")  # it is not held back by us

        def users():
            return [page["title"] for page in self.ok(server, "browser_tab_list")["pages"] if page.get("isUsers")]
        self.wait_for(lambda: users() == ["Forms"])
        own.close("Forms")
        self.wait_for(lambda: users() == [])

    def test_pages_go_only_where_they_may(self):
        own = self.own(f"{self.here}/forms.html")
        self.wait_for(lambda: own.tabs("title") == ["Forms"])  # before, it has no host
        with Stranger() as stranger:
            server = self.serve(capabilities={})
            pages = self.local(server)["pages"]
            users = next(page["id"] for page in pages if page.get("isUsers"))
            away = f"http://localhost:{stranger.port}/"
            self.assertIn("needs the user", self.fails(server, "browser_navigate", url=away))
            for page in (users, next(page["id"] for page in pages if not page.get("isUsers"))):
                self.ok(server, "browser_navigate", pageId=page, url=f"{self.here}/tables.html")
                self.ok(server, "browser_evaluate", pageId=page, script=f"fetch('{away}fetched').catch(() => 0)")
                # A popup does not begin before its requests are intercepted.
                self.ok(server, "browser_evaluate", pageId=page, script=f"(window.open('{away}opened'), 1)")
                self.ok(server, "browser_evaluate", pageId=page, script=f"(window.open('{away}alone', '', 'noopener'), 1)")
                self.ok(server, "browser_evaluate", pageId=page, script=f"(location.href = '{away}gone', 1)")
                self.ok(server, "browser_wait", pageId=page, loadState="load")
            opened = lambda: [page["url"] for page in self.ok(server, "browser_tab_list")["pages"] if "isUsers" not in page]
            self.wait_for(lambda: opened().count(f"{away}opened") == 2 and opened().count(f"{away}alone") == 2)
            self.assertEqual(stranger.asked, [])
            (self.root / "index.html").write_text("a page")
            self.assertIn("the user's own", self.fails(server, "browser_navigate", pageId=page, url="file:index.html"))
        self.assertIn("Gatehouse itself", self.fails(server, "browser_navigate", url="http://127.0.0.1:7655/health"))
        self.assertIsNone(own.process.poll())

    def test_no_port_of_gatehouse_answers_a_socket_of_a_page(self):
        """Nothing stops it on its way, as in a browser that was started: who gets the request refuses it."""
        self.own()
        self.allow("local-browser")
        server = Listening(self.root, self.state, XDG_CONFIG_HOME=str(self.home))
        self.addCleanup(server.discard)
        self.local(server)
        self.go(server, "index.html")
        for host in ("127.0.0.1", "localhost"):
            self.assertEqual(self.text(server, socket_script(f"ws://{host}:{server.port}/mcp")), "refused")
        # What the page's browser would send, and even with a key that it cannot know.
        upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
                   "Sec-WebSocket-Version": "13", "Authorization": "Bearer a-key-for-this-test"}
        for origin in (self.here, "null", "https://evil.example"):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
            connection.request("GET", "/mcp", headers={**upgrade, "Origin": origin})
            self.assertEqual(connection.getresponse().status, 403, origin)
            connection.close()
        server.end()

    def test_a_tab_of_the_user_is_not_touched_without_permission_for_its_host(self):
        denied = f"{self.here.replace('127.0.0.1', 'localhost')}/forms.html"
        self.own(denied)
        server = self.serve(capabilities={})
        users = next(page["id"] for page in self.local(server)["pages"] if page.get("isUsers"))
        for tool, arguments in (("browser_snapshot", {}), ("browser_navigate", {"url": f"{self.here}/forms.html"}),
                                ("browser_resize", {"width": 400, "height": 300, "userAgent": "another"})):
            self.assertIn("needs the user", self.fails(server, tool, pageId=users, **arguments), tool)

    def test_a_lost_browser_is_told_once_and_found_again(self):
        own = self.own()
        server = self.serve()
        self.local(server)
        own.end()
        self.wait_for(lambda: "has ended" in json.dumps(server.call("browser_snapshot")))
        self.assertIn("Not connected", self.fails(server, "browser_snapshot"))
        self.assertIn("#remote-debugging", self.fails(server, "browser_connect", mode="local"))  # its file is stale
        again = self.own()
        self.assertEqual(self.local(server)["mode"], "local")
        self.go(server, "forms.html")
        server.discard()
        server.said.close()
        self.servers.remove(server)
        self.assertIn(f"{self.here}/forms.html", again.tabs())

    def test_which_browser_it_is(self):
        own = self.own(f"{self.here}/forms.html", profile="BraveSoftware/Brave-Browser")
        server = self.serve()
        self.assertIn("#remote-debugging", self.fails(server, "browser_connect", mode="local", browser="chrome"))
        self.assertEqual(len(self.local(server, browser="brave")["pages"]), 2)
        self.assertIsNone(own.process.poll())


class Borders(InOwn):
    def test_files_that_lead_elsewhere(self):
        """Only a browser of this user on this machine is spoken to."""
        profile = self.home / "chromium"
        profile.mkdir(parents=True)
        file = profile / "DevToolsActivePort"
        server = self.serve()
        with Stranger() as stranger:
            for text in (f"{stranger.port}", f"{stranger.port}\n/\n", f"{stranger.port}\n/devtools/browser/a b\n",
                         f"127.0.0.1:{stranger.port}\n/devtools/browser/a\n", f"{stranger.port}\n/devtools/browser/a\r\nX: y\n"):
                file.write_text(text)
                self.assertIn("cannot be reached", self.fails(server, "browser_connect", mode="local"))
            self.assertEqual(stranger.asked, [])
            file.unlink()
            elsewhere = self.home / "elsewhere"
            elsewhere.write_text(f"{stranger.port}\n/devtools/browser/a\n")
            file.symlink_to(elsewhere)
            self.assertIn("cannot be reached", self.fails(server, "browser_connect", mode="local"))
            self.assertEqual(stranger.asked, [])
            file.unlink()
            shutil.copy(elsewhere, file)  # a program that is no browser
            self.assertIn("refused", self.fails(server, "browser_connect", mode="local"))
            self.assertEqual(stranger.asked, ["GET /devtools/browser/a HTTP/1.1"])

    def test_the_user_is_asked_and_told(self):
        self.own()
        server = self.serve("--permission-browser", "ask", is_named=False)
        question, result = self.decide(server, "Deny once", "browser_connect", mode="local")
        self.assertIn("your own browser, which is in no sandbox", question["message"])
        self.assertTrue(result["isError"])

    def test_a_mode_that_allows_all_does_not_include_it(self):
        self.own()
        server = self.serve(is_named=False)
        question, result = self.decide(server, "Deny once", "browser_connect", mode="local")
        self.assertIn("your own browser", question["message"])
        self.assertTrue(result["isError"])
        server.end()
        server = self.serve(is_named=False, capabilities={})
        self.assertIn("host:local-browser", self.fails(server, "browser_connect", mode="local"))
        self.assertIn("Not connected", self.fails(server, "browser_snapshot"))


if __name__ == "__main__":
    mcp_client.main(needed=[SITE, *PAGES.iterdir()])
