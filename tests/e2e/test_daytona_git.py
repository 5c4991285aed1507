#!/usr/bin/env python3
"""Repositories in sandboxes, by requests to the Daytona API: every endpoint, typed errors, and what attackers send.

    test_daytona_git.py GATEHOUSE
"""
import pathlib
import sys
import unittest
import urllib.parse

sys.dont_write_bytecode = True  # not into the sources
from sandboxd_scene import Scene
from daytona_scene import DaytonaScene

# A repository behind a password, as a plain web server has it, and redirects to another port where the same server
# writes down who came with a password.
SERVER = r"""
import base64, http.server, sys, threading

class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        wanted = "Basic " + base64.b64encode(b"me:it's $HOME secret").decode()
        if "Authorization" in self.headers:
            print(self.server.server_port, file=seen, flush=True)
        if self.path.startswith("/closed/"):
            self.send_error(403)
        elif self.path.startswith("/away/"):
            self.redirect()
        elif self.headers.get("Authorization") != wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.end_headers()
        elif self.path.startswith("/later/"):
            self.redirect()
        else:
            super().do_GET()

    def redirect(self):
        self.send_response(302)
        self.send_header("Location", "http://127.0.0.1:8001" + self.path[self.path.index("/", 1):])
        self.end_headers()

    def log_message(self, *arguments):
        pass

seen = open("seen", "a")
server, other = [http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler) for port in (8000, 8001)]
threading.Thread(target=other.serve_forever, daemon=True).start()
print("ready", flush=True)
server.serve_forever()
"""


class Git(DaytonaScene):
    def setUp(self):
        super().setUp()
        self.box = self.create()

    def git(self, verb, body=None, method="POST", tenant=0, **query):
        path = f"/toolbox/{self.box}/git/{verb}" + ("?" + urllib.parse.urlencode(query) if query else "")
        return self.ask(method, path, body, tenant)

    def done(self, verb, **body):
        status, _, answer = self.git(verb, body)
        self.assertIn(status, (200, 201), answer)
        return answer

    def get(self, verb, **query):
        status, _, answer = self.git(verb, method="GET", **query)
        self.assertEqual(status, 200, answer)
        return answer

    def failed(self, status, code, answer, words=None):
        self.refused(status, answer, words)
        self.assertEqual(answer[2]["source"], "DAYTONA_DAEMON")
        if code:
            self.assertEqual(answer[2]["code"], code)

    def write(self, path, text):
        self.execute(self.box, f"printf %s '{text}' > '{path}'")

    def commit(self, path, message, **more):
        return self.done("commit", path=path, message=message, author="An Author", email="a@example.org",
                         **more)["hash"]

    def begin(self):
        """A repository `origin.git`, and `a` with one commit of it."""
        self.done("init", path="origin.git", bare=True, initial_branch="main")
        self.done("init", path="a", initial_branch="main")
        self.done("remotes", path="a", name="origin", url="/home/user/origin.git")
        self.write("a/one", "1")
        self.done("add", path="a", files=["."])
        first = self.commit("a", "the first\n\nand more")
        self.done("push", path="a", set_upstream=True)
        return first

    def test_a_repository_from_its_beginning(self):
        first = self.begin()
        self.assertEqual(self.get("status", path="a"), {
            "fileStatus": [], "currentBranch": "main", "detached": False, "upstream": "origin/main",
            "branchPublished": True, "ahead": 0, "behind": 0})
        self.execute(self.box, "cd a && echo x > 'new \"file' && mkdir d && echo y > d/below && echo 2 >> one &&"
                               " printf '1\\n2\\n3\\n4\\n5\\n' > moves")
        self.done("add", path="a", files=["new \"file", "moves"])
        files = {each.pop("name"): each for each in self.get("status", path="/home/user/a")["fileStatus"]}
        self.assertEqual(files, {
            "new \"file": {"extra": "", "staging": "Added", "worktree": "Unmodified"},
            "moves": {"extra": "", "staging": "Added", "worktree": "Unmodified"},
            "one": {"extra": "", "staging": "Unmodified", "worktree": "Modified"},
            "d/below": {"extra": "", "staging": "Untracked", "worktree": "Untracked"}})
        second = self.commit("a", "-the second")
        self.execute(self.box, "cd a && git mv moves moved && git rm -q 'new \"file'")
        files = {each.pop("name"): each for each in self.get("status", path="a")["fileStatus"]}
        self.assertEqual(files["moved"], {"extra": "moves", "staging": "Renamed", "worktree": "Unmodified"})
        self.assertEqual(files["new \"file"]["staging"], "Deleted")
        self.assertEqual(self.get("status", path="a")["ahead"], 1)
        history = self.get("history", path="a")
        self.assertEqual([(each["hash"], each["message"]) for each in history],
                         [(second, "-the second\n"), (first, "the first\n\nand more\n")])
        self.assertEqual((history[0]["author"], history[0]["email"]), ("An Author", "a@example.org"))
        self.assertRegex(history[0]["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$")
        self.done("reset", path="a", mode="hard")
        self.write("a/one", "changed")
        self.done("restore", path="a", files=["one"])
        self.done("reset", path="a", target=first, files=["one"])
        self.assertEqual({each["name"]: each["staging"] for each in self.get("status", path="a")["fileStatus"]},
                         {"d/below": "Untracked"})
        self.failed(400, None, self.git("reset", {"path": "a", "mode": "soft", "files": ["one"]}))
        self.failed(400, None, self.git("commit", {"path": "a", "message": "x", "author": "x", "email": "x"}),
                    "nothing added")
        self.assertRegex(self.commit("a", "empty", allow_empty=True), "^[0-9a-f]{40}$")

    def test_branches(self):
        first = self.begin()
        self.done("branches", path="a", name="topic/one")
        self.assertEqual(self.get("branches", path="a"), {"branches": ["main", "topic/one"], "current": "main"})
        self.failed(409, "GIT_BRANCH_EXISTS", self.git("branches", {"path": "a", "name": "topic/one"}))
        self.done("checkout", path="a", branch="topic/one")
        self.assertEqual(self.get("branches", path="a")["current"], "topic/one")
        self.assertEqual(self.get("status", path="a")["branchPublished"], False)
        self.failed(404, "GIT_BRANCH_NOT_FOUND", self.git("checkout", {"path": "a", "branch": "nowhere"}))
        self.failed(404, "GIT_BRANCH_NOT_FOUND", self.git("branches", {"path": "a", "name": "nowhere"}, "DELETE"))
        self.write("a/one", "dirty")
        self.done("add", path="a", files=["one"])
        self.commit("a", "changed here")
        self.write("a/one", "dirtier")
        self.failed(409, "GIT_DIRTY_WORKTREE", self.git("checkout", {"path": "a", "branch": "main"}))
        self.done("reset", path="a", mode="hard")
        self.done("checkout", path="a", branch=first)
        status = self.get("status", path="a")
        self.assertEqual((status["currentBranch"], status["detached"]), ("HEAD", True))
        self.assertEqual(self.get("branches", path="a")["current"], "")
        self.assertEqual(self.git("branches", {"path": "a", "name": "topic/one"}, "DELETE")[0], 204)
        self.assertEqual(self.get("branches", path="a")["branches"], ["main"])

    def test_remotes(self):
        first = self.begin()
        self.done("clone", url="/home/user/origin.git", path="b")
        self.done("clone", url="/home/user/origin.git", path="c", branch="main", commit_id=first, depth=1)
        self.assertTrue(self.get("status", path="c")["detached"])
        self.failed(409, None, self.git("clone", {"url": "/home/user/origin.git", "path": "b"}), "not an empty")
        self.failed(404, "GIT_REPO_NOT_FOUND", self.git("clone", {"url": "/nowhere", "path": "d"}))
        self.failed(404, "GIT_BRANCH_NOT_FOUND",
                    self.git("clone", {"url": "/home/user/origin.git", "path": "d", "branch": "nowhere"}))
        self.failed(502, "GIT_TRANSPORT_FAILED", self.git("clone", {"url": "http://127.0.0.1:1/x", "path": "d"}))
        self.write("b/one", "of b")
        self.done("add", path="b", files=["one"])
        self.commit("b", "by b")
        self.done("push", path="b", branch="main", remote="origin")
        self.write("a/one", "of a")
        self.done("add", path="a", files=["one"])
        self.commit("a", "by a")
        self.failed(409, "GIT_PUSH_REJECTED", self.git("push", {"path": "a"}))
        self.done("config/user", name="A", email="a@example.org")
        self.failed(409, "GIT_MERGE_CONFLICT", self.git("pull", {"path": "a"}))
        self.assertEqual(self.get("status", path="a")["fileStatus"],
                         [{"name": "one", "extra": "", "staging": "Updated but unmerged",
                           "worktree": "Updated but unmerged"}])
        self.done("reset", path="a", mode="hard", target="origin/main")
        self.done("pull", path="a", branch="main")
        self.execute(self.box, "printf '#!/bin/sh\\nexit 1\\n' > origin.git/hooks/pre-receive;"
                               " chmod +x origin.git/hooks/pre-receive")
        self.commit("a", "more", allow_empty=True)
        self.failed(422, "GIT_REMOTE_REJECTED", self.git("push", {"path": "a"}))
        self.failed(404, "GIT_REPO_NOT_FOUND", self.git("push", {"path": "a", "remote": "nobody"}))
        self.failed(409, None, self.git("remotes", {"path": "a", "name": "origin", "url": "/x"}))
        self.done("remotes", path="a", name="origin", url="/home/user/b", overwrite=True, fetch=True)
        self.done("remotes", path="a", name="second", url="/x y", overwrite=True)
        self.assertEqual(self.get("remotes", path="a"), {"remotes": [
            {"name": "origin", "url": "/home/user/b"}, {"name": "second", "url": "/x y"}]})

    def test_configuration(self):
        self.done("init", path="a")
        self.assertEqual(self.get("config", key="user.name"), {"value": None})
        self.done("config", key="user.name", value="-x\ny")
        self.assertEqual(self.get("config", key="user.name", scope="global"), {"value": "-x\ny"})
        self.assertEqual(self.get("config", key="user.name", scope="local", path="a"), {"value": None})
        self.done("config/user", name="N", email="e", scope="local", path="a")
        self.assertEqual(self.get("config", key="user.email", scope="local", path="a"), {"value": "e"})
        self.failed(400, None, self.git("config", {"key": "a.b", "value": "c", "scope": "worktree"}), "scope")
        self.failed(400, None, self.git("config", {"key": "a.b", "value": "c", "scope": "local"}), "path")
        self.failed(400, None, self.git("config", method="GET", key="--list"), "dash")

    def serve_repository(self):
        self.begin()
        self.execute(self.box, "cd origin.git && git update-server-info")
        self.session(self.box, f"cat > server.py <<'END'\n{SERVER}\nEND\npython3 server.py > ready")
        while not self.execute(self.box, "cat ready 2>/dev/null; true"):
            pass

    def test_credentials(self):
        self.serve_repository()
        url = "http://127.0.0.1:8000/origin.git"
        secret = "it's $HOME secret"
        self.failed(401, "GIT_AUTH_FAILED", self.git("clone", {"url": url, "path": "b"}))
        self.failed(401, "GIT_AUTH_FAILED", self.git("clone", {
            "url": url, "path": "b", "username": "me", "password": "wrong"}))
        self.failed(401, "GIT_AUTH_FAILED", self.git("clone", {"url": "http://127.0.0.1:8000/closed/x", "path": "b"}))
        self.done("clone", url=url, path="b", username="me", password=secret)
        self.done("pull", path="b", username="me", password=secret)
        self.failed(401, "GIT_AUTH_FAILED", self.git("pull", {"path": "b"}))
        self.assertEqual(self.execute(self.box, "grep -rls secret ~/b ~/.git* || true"), "")  # nothing is kept
        self.done("credentials", username="me", password=secret, host="127.0.0.1:8000", protocol="http")
        self.done("pull", path="b")
        self.failed(400, None, self.git("credentials", {"username": "a\nhost=b", "password": "x"}))
        self.failed(400, None, self.git("credentials", {"username": "a", "password": "x" * 40000}), "too long")

    def test_credentials_are_for_the_host_of_the_url(self):
        self.serve_repository()
        base = "http://127.0.0.1:8000"
        me = {"username": "me", "password": "it's $HOME secret"}

        def who_saw():
            return set(self.execute(self.box, "cat seen; : > seen").split())

        for way in ("away", "later"):
            self.failed(401, "GIT_AUTH_FAILED", self.git("clone", {"url": f"{base}/{way}/origin.git", "path": "b", **me}))
            self.assertNotIn("8001", who_saw(), way)
        # A user in the URL, and capital letters, are of the same host.
        self.done("clone", url="http://me@127.0.0.1:8000/origin.git", path="b", **me)
        self.done("clone", url="http://LOCALHOST:8000/origin.git", path="c", **me)
        self.assertEqual(who_saw(), {"8000"})
        for more in ({}, {"remote": "origin"}, {"branch": "main"}, {"remote": f"{base}/origin.git", "branch": "main"}):
            self.done("pull", path="b", **me, **more)
            self.assertEqual(who_saw(), {"8000"}, more)
        # What is pushed to has an address of its own. There is nothing to push, which this server could not take.
        self.execute(self.box, "cd b && git config remote.origin.pushurl http://127.0.0.1:8001/origin.git")
        self.done("push", path="b", **me)
        self.assertEqual(who_saw(), {"8001"})
        self.done("push", path="b", remote=f"{base}/origin.git", **me)
        self.assertEqual(who_saw(), {"8000"})
        self.execute(self.box, f"cd b && git config remote.origin.pushurl {base}/away/origin.git &&"
                               f" git config remote.origin.url {base}/away/origin.git")
        self.failed(401, "GIT_AUTH_FAILED", self.git("push", {"path": "b", **me}))
        self.failed(401, "GIT_AUTH_FAILED", self.git("pull", {"path": "b", **me}))
        self.failed(404, "GIT_REPO_NOT_FOUND", self.git("push", {"path": "b", "remote": "nobody", **me}))
        # A submodule is somebody else's, too.
        self.execute(self.box, "cd c && git -c protocol.file.allow=always submodule add -q /home/user/origin.git sub &&"
                               " git config submodule.recurse true && cd sub &&"
                               " git remote set-url origin http://127.0.0.1:8001/origin.git")
        self.git("pull", {"path": "c", **me})
        self.assertNotIn("8001", who_saw())

    def test_words_are_not_options_or_shell(self):
        self.begin()
        for verb, body in [
                ("clone", {"url": "--upload-pack=touch owned", "path": "b"}),
                ("clone", {"url": "/home/user/origin.git", "path": "b", "branch": "-u touch owned"}),
                ("clone", {"url": "/home/user/origin.git", "path": "b", "commit_id": "--help"}),
                ("checkout", {"path": "a", "branch": "-f"}), ("checkout", {"path": "a", "branch": ""}),
                ("branches", {"path": "a", "name": "-D"}), ("branches", {"path": "a", "name": "a b"}),
                ("push", {"path": "a", "remote": "--exec=touch owned"}), ("push", {"path": "a", "branch": "--all"}),
                ("push", {"path": "a", "branch": "+main"}), ("push", {"path": "a", "branch": ":main"}),
                ("pull", {"path": "a", "remote": "--upload-pack=touch owned"}), ("pull", {"path": "a", "branch": "-x"}),
                ("remotes", {"path": "a", "name": "--mirror", "url": "x"}), ("remotes", {"path": "a", "name": "x", "url": "-x"}),
                ("reset", {"path": "a", "target": "--hard"}), ("reset", {"path": "a", "mode": "x"}),
                ("restore", {"path": "a", "files": ["one"], "source": "--help"}), ("restore", {"path": "a", "files": []}),
                ("init", {"path": "x", "initial_branch": "--template=/tmp"}), ("init", {"path": ""}),
                ("add", {"path": "a", "files": "one"}), ("add", {"path": "a", "files": [""]}),
                ("add", {"path": "a", "files": ["a\0b"]}), ("add", {"path": "a\0b", "files": ["."]}),
                ("add", {"path": "a", "files": ["x"] * 20000}), ("add", {"path": "a", "files": [1]}),
                ("commit", {"path": "a", "message": "x", "author": "x"}), ("commit", {"path": "a", "message": ["x"]}),
                ("clone", {"url": 5, "path": "b"}), ("clone", {"url": "/x", "path": "b", "depth": -1}),
                ("clone", {"path": "b"}), ("config", {"key": "--unset", "value": "x"})]:
            with self.subTest(verb=verb, body=str(body)[:80]):
                self.failed(400, None, self.git(verb, body))
        self.failed(404, None, self.git("status", method="GET", path="origin"))
        self.failed(404, None, self.git("add", {"path": "a", "files": ["*"]}))  # no pattern
        self.execute(self.box, "cd a && touch -- '--force' ':(top)x' '$(touch owned)'")
        self.done("add", path="a", files=["--force", ":(top)x", "$(touch owned)"])
        self.commit("a", "$(touch owned); `touch owned`")
        # Transports that run what the URL says are git's to refuse.
        self.assertGreaterEqual(self.git("clone", {"url": "ext::touch owned", "path": "b"})[0], 400)
        self.assertEqual(self.execute(self.box, "ls; find . -name owned"), "a\norigin.git\n")

    def test_others_and_missing_things(self):
        self.refused(404, self.git("status", method="GET", tenant=1, path="a"))
        self.refused(404, self.git("clone", {"url": "/x", "path": "a"}, tenant=1))
        self.failed(404, None, self.git("status", method="GET", path="/usr"), "not a git repository")
        self.failed(404, "FILE_NOT_FOUND", self.git("status", method="GET", path="nowhere"))
        self.refused(400, self.git("status", method="GET"))
        self.refused(404, self.git("nothing", method="GET"))
        bare = self.create(env={"PATH": "/nowhere"})
        self.failed(400, None, self.ask("GET", f"/toolbox/{bare}/git/status", path="a"), "has no git")
        self.ask("POST", f"/api/sandbox/{self.box}/stop")
        self.refused(409, self.git("status", method="GET", path="a"))


if __name__ == "__main__":
    Scene.gatehouse = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
