#!/usr/bin/env python3
"""Web pages through gatehouse connect: files by way of the toolhost, and credentials for the server.

Arguments: see daemon_scene.
"""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
import daemon_scene
from daemon_scene import Scene
from patience import PATIENCE

HERE = pathlib.Path(__file__).resolve().parent
CHROMIUM = "/usr/lib/chromium/chromium"


def lacks():
    """Why there can be no browser here; or None."""
    if not os.path.exists(CHROMIUM):
        return "chromium is not installed"
    if subprocess.run(["unshare", "--user", "true"], capture_output=True, check=False).returncode != 0:
        return "this user cannot create user namespaces"
    return None


def load_site():
    spec = importlib.util.spec_from_file_location("browser_site", HERE.parent / "browser" / "site_server.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Site()


@unittest.skipIf(lacks(), lacks())
class InBrowser(Scene):
    def setUp(self):
        super().setUp()
        self.site = load_site()
        self.addCleanup(self.site.__exit__)
        self.write_settings(resourcePermissions={"browser": {"allow": ["127.0.0.1", "credentials"], "deny": []}})

    def begin(self, *flags):
        server, daemon = self.connect("--permission-browser", "allow", *flags)
        self.good(server, "browser_connect")
        return server, daemon

    def go(self, server, path):
        return self.good(server, "browser_navigate", url=f"{self.site.addresses['http']}/{path}")

    def text(self, server, script):
        return self.good(server, "browser_evaluate", script=script)["result"]

    def test_files_go_through_the_toolhost(self):
        (self.root / "notes.txt").write_text("my notes\n")
        server, daemon = self.begin("--permission-filesystem-write", "allow")
        self.assertLessEqual({"browser_upload", "browser_downloads", "save_download"}, self.tools(server))
        self.assertNotIn("stage_upload", self.tools(server))
        self.go(server, "upload.html")
        field = {"selector": "input[name=one]"}
        self.good(server, "browser_upload", element=field, files=["notes.txt"])
        self.assertEqual(self.text(server, "document.querySelector('input').files[0].text()"), "my notes\n")
        for name in ("/etc/hostname", "../home/x", "missing.txt"):
            self.error(server, "browser_upload", element=field, files=[name])
        self.error(server, "stage_upload", files=["notes.txt"], number=1)
        shot = self.good(server, "browser_screenshot", asDownload=True)
        self.good(server, "save_download", downloadId=shot["downloadId"], path="pictures/shot.png")
        self.assertTrue((self.root / "pictures" / "shot.png").read_bytes().startswith(b"\x89PNG"))
        self.assertIn("stage_upload", self.record_text())
        # The toolhost is replaced when it dies; files go on through the next one. Its own children look like it.
        toolhost, = [pid for pid in daemon.children() if self.words(pid).startswith(b"gatehouse-toolhost")]
        os.kill(toolhost, 9)
        self.until(lambda: "isError" not in self.call(server, "browser_upload", element=field, files=["a.txt"]))
        self.assertEqual(self.text(server, "document.querySelector('input').files[0].name"), "a.txt")

    def test_pages_of_files_go_through_the_toolhost(self):
        (self.root / "site").mkdir()
        (self.root / "site" / "index.html").write_text("<title>Draft</title><script src=word.js></script><p>hello")
        (self.root / "site" / "word.js").write_text("document.title = 'Scripted'")
        server, daemon = self.begin()
        self.assertNotIn("load_page_file", self.tools(server))
        told = self.good(server, "browser_navigate", url="file:site/index.html")
        self.assertEqual((told["title"], told["url"]), ("Scripted", f"file://{self.root}/site/index.html"))
        for address in ("file:///etc/hostname", "file:site/none.html", "file:../home/x"):
            self.error(server, "browser_navigate", url=address)
        self.error(server, "load_page_file", path="site/index.html")
        toolhost, = [pid for pid in daemon.children() if self.words(pid).startswith(b"gatehouse-toolhost")]
        os.kill(toolhost, 9)
        self.until(lambda: "isError" not in self.call(server, "browser_navigate", url="file:site/index.html"))
        self.assertEqual(self.good(server, "browser_reload")["title"], "Scripted")

    def test_the_users_own_browser_by_default(self):
        """There is none that lets itself be controlled; nothing is started instead."""
        server, _ = self.connect("--permission-browser", "allow", "--browser-default", "local")
        self.assertIn("cannot be reached", json.dumps(self.error(server, "browser_connect")))
        self.assertEqual([pid for pid in self.pids() if self.words(pid).startswith(CHROMIUM.encode())], [])
        self.assertEqual(self.good(server, "browser_connect", mode="ephemeral")["mode"], "ephemeral")

    def pids(self):
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and str(self.home).encode() in self.words(name)]

    def words(self, pid):
        try:
            return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return b""

    def until(self, holds):
        deadline = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def test_a_killed_companion_is_told_once_and_started_again(self):
        server, daemon = self.begin()
        for _ in range(2):
            companion, = [pid for pid in daemon.children() if self.words(pid).startswith(b"gatehouse-browser")]
            os.kill(companion, 9)
            self.until(lambda: "browser was lost" in json.dumps(self.call(server, "browser_snapshot")))
            self.assertIn("Not connected", self.error(server, "browser_snapshot"))
            self.good(server, "browser_connect")
            self.assertEqual(self.go(server, "forms.html")["title"], "Forms")
            self.assertNotIn(companion, daemon.children())

    def test_nothing_is_left(self):
        server, daemon = self.begin()
        self.go(server, "upload.html")
        self.good(server, "browser_upload", element={"selector": "input[name=one]"}, files=["a.txt"])
        self.assertTrue(list(self.home.rglob("uploads/*/0/a.txt")))
        self.assertEqual(daemon.end()[0], 0)
        self.assertEqual(list(self.home.rglob("uploads")), [])

    def test_secrets_go_to_the_server_alone(self):
        server, _ = self.begin()
        self.go(server, "forms.html")
        value = "a-secret-of-this-test"
        self.text(server, "document.body.insertAdjacentHTML('afterbegin', '<input type=password id=s><p id=e></p>'),"
                          "document.getElementById('s').value = ['a', 'secret', 'of', 'this', 'test'].join('-'), 0")
        failed = self.error(server, "browser_create_credential", credentialsKey="k", type="httpHeaderAuth", name="mine")
        self.assertIn("No captured fields found", failed)
        self.assertIn("Secret capturing failed",
                      self.error(server, "browser_capture_secret", credentialsKey="k", field="f", element={"selector": "#e"}))
        kept = self.call(server, "browser_capture_secret", credentialsKey="k", field="apiKey", element={"selector": "#s"})
        self.assertEqual(kept["structuredContent"], {"ok": True, "fieldsCaptured": ["apiKey"]})
        self.assertIn("was not found", self.error(server, "browser_create_credential", credentialsKey="k", type="t", name="n",
                                                  resolveData={"value": "other"}))
        server.do("call", name="browser_create_credential",
                  arguments={"credentialsKey": "k", "type": "httpHeaderAuth", "name": "mine", "data": {"name": "X-Key"},
                             "resolveData": {"value": "apiKey"}, "projectId": "p"})
        posted = json.loads(server.until(answer="credentials")["text"])
        self.assertEqual(posted, {"name": "mine", "type": "httpHeaderAuth", "data": {"name": "X-Key", "value": value},
                                  "projectId": "p"})
        answer = json.loads(server.until_has("answer")["text"])["result"]
        self.assertEqual(answer["structuredContent"], {"ok": True, "credentialId": "cred-1"})
        self.assertNotIn(value, json.dumps([kept, answer]))
        self.assertNotIn(value, self.record_text())
        # They are forgotten.
        self.assertIn("No captured fields found",
                      self.error(server, "browser_create_credential", credentialsKey="k", type="t", name="n"))

    def test_a_key_that_a_result_hides_can_be_captured(self):
        server, _ = self.begin()
        self.go(server, "forms.html")
        key = "ghp_" + "a1" * 18
        self.text(server, "document.body.insertAdjacentHTML('afterbegin', '<p>Yours: ' + ['ghp', 'a1'.repeat(18)].join('_') + '</p>'), 0")
        seen = json.dumps(self.good(server, "browser_snapshot"))
        self.assertNotIn(key, seen)
        mark, = set(re.findall(r"\[REDACTED:github-token:\d+\]", seen))
        kept = self.good(server, "browser_capture_secret", credentialsKey="k", field="token", element={"redactedKey": mark})
        self.assertEqual(kept, {"ok": True, "fieldsCaptured": ["token"]})
        self.assertIn("no result has hidden", self.error(server, "browser_capture_secret", credentialsKey="k", field="f",
                                                         element={"redactedKey": "[REDACTED:github-token:99]"}))
        server.do("call", name="browser_create_credential", arguments={"credentialsKey": "k", "type": "t", "name": "n"})
        self.assertEqual(json.loads(server.until(answer="credentials")["text"])["data"], {"token": key})
        self.assertNotIn(key, self.record_text())

    def test_a_refusal_of_the_server_is_told(self):
        server, _ = self.begin()
        self.go(server, "forms.html")
        self.good(server, "browser_capture_secret", credentialsKey="k", field="f", element={"selector": "h1"})
        server.do("fail", endpoint="credentials", status=403, count=1, body='{"code":403,"message":"no such project"}')
        self.assertIn("no such project", self.error(server, "browser_create_credential", credentialsKey="k", type="t", name="n"))
        # Nothing was lost: the next try succeeds.
        server.do("call", name="browser_create_credential", arguments={"credentialsKey": "k", "type": "t", "name": "n"})
        self.assertEqual(json.loads(server.until(answer="credentials")["text"])["data"], {"f": "Forms"})


if __name__ == "__main__":
    daemon_scene.main()
