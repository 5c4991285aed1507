#!/usr/bin/env python3
"""The users of gatehouse serve: passwords, sessions, proxies, TLS, what one user sees of another
(nothing), and the record of all that.

Arguments: gatehouse, and what unittest takes.
"""
import json
import os
import pathlib
import pty
import shutil
import socket
import sqlite3
import ssl
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
import test_server
from server_scene import N8N, OURS, PATIENCE, SEED, Agent, Stream, clean_environment
from test_server import GATEHOUSE, RESULT, wait_until
import certificates

PASSWORD = "correct horse battery"
DAY_MS = 24 * 60 * 60 * 1000


class Scene(test_server.Scene):
    def user(self, *arguments, given=None, status=0):
        result = subprocess.run([GATEHOUSE, "user", "--state-dir", self.state, *arguments],
                                env=clean_environment(), input=given, capture_output=True, text=True,
                                timeout=PATIENCE)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout if status == 0 else result.stderr

    def on_terminal(self, *arguments):
        keeper, terminal = pty.openpty()
        result = subprocess.run([GATEHOUSE, arguments[0], "--state-dir", self.state, *arguments[1:]],
                                env=clean_environment(TERM="dumb"), stdout=terminal, stderr=terminal, timeout=PATIENCE)
        os.close(terminal)
        self.assertEqual(result.returncode, 0)
        shown = os.read(keeper, 1 << 16).decode().replace("\r\n", "\n")
        os.close(keeper)
        return shown

    def add(self, *names):
        for name in names:
            self.assertEqual(self.user("add", name, given=PASSWORD + "\n"), f"Added {name}.\n")

    def guess(self, server, name, address=lambda number: ""):
        """The answers to wrong passwords until one is refused for their number."""
        answers = []
        while len(answers) < 200 and (not answers or answers[-1][0] == 401):
            number = len(answers)
            answers.append(server.sign_in(name(number), "wrong password", **{"X-Forwarded-For": address(number)}))
        self.assertEqual(answers[-1][0], 429)
        return answers

    def audit(self, *arguments):
        """The server's records, oldest first."""
        result = subprocess.run([GATEHOUSE, "audit", "--server", "--json", "--limit", "0", "--state-dir",
                                 self.state, *arguments], env=clean_environment(), capture_output=True,
                                text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def recorded(self, *arguments):
        """(operation, outcome, whose, what) of each record."""
        return [(record["operation"], record["outcome"], record["subject"]["id"],
                 record.get("relativePath")) for record in self.audit(*arguments)]

    def change_store(self, statement):
        database = sqlite3.connect(self.state / "server/server.db", timeout=PATIENCE)
        with database:
            database.execute(statement)
        database.close()

    def last_use(self):
        database = sqlite3.connect(self.state / "server/server.db", timeout=PATIENCE)
        found = database.execute("SELECT max(used_ms) FROM logins").fetchone()[0]
        database.close()
        return found

    def pair(self, server, user):
        token = server.ask("POST", N8N + "create-link", None, user | OURS)[2]["data"]["token"]
        return self.machine(server, token)


class Passwords(Scene):
    def test_a_password_opens_the_page(self):
        self.add("anna")
        server = self.serve()
        self.assertNotIn("login_", server.words)
        self.assertIn(f"Sign in at {server.url}\n", server.words)
        self.assertEqual(server.ask("GET", "/api/sign-in")[2], {"passwords": True})
        status, headers, answer = server.sign_in("anna", PASSWORD)
        self.assertEqual((status, answer), (200, {"ok": True}))
        self.assertRegex(headers["Set-Cookie"], r"^gatehouse_session_\d+=\w+; Path=/; Max-Age=\d+; "
                                                r"HttpOnly; SameSite=Strict$")
        user = {"Cookie": headers["Set-Cookie"].split(";")[0]}
        self.assertEqual(server.ask("GET", "/api/state", None, user)[2]["user"],
                         {"name": "anna", "signsOut": True})

    def test_what_is_wrong_is_not_told(self):
        self.add("anna")
        self.user("add", "bob", "--no-password")
        server = self.serve()
        wrong = {"error": "unauthorized", "message": "Wrong name or password."}
        for name, password in (("anna", "wrong password"), ("nobody", PASSWORD), ("bob", PASSWORD),
                               ("owner", PASSWORD), ("anna", PASSWORD + " "), ("Anna", PASSWORD)):
            with self.subTest(name=name):
                status, headers, answer = server.sign_in(name, password)
                self.assertEqual((status, answer, headers["Set-Cookie"]), (401, wrong, None))

    def test_a_name_that_nobody_has_costs_the_same(self):
        self.add("anna")
        server = self.serve()

        def ticks():
            fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])

        def cost(name):
            before = ticks()
            self.assertEqual(server.sign_in(name, "wrong password")[0], 401)
            return ticks() - before

        known = min(cost("anna") for _ in range(4))
        unknown = min(cost(f"nobody{number}") for number in range(4))
        # In ticks of 10 ms; a lookup alone takes none.
        self.assertGreater(known, 0)
        self.assertGreaterEqual(unknown * 2, known)

    def test_forms_of_other_sites_sign_nobody_in(self):
        self.add("anna")
        server = self.serve()
        body = {"name": "anna", "password": PASSWORD}
        for headers in ({}, OURS | {"Sec-Fetch-Site": "cross-site"}, OURS | {"Origin": "https://evil.example"},
                        OURS | {"Host": "evil.example"}):
            with self.subTest(headers=headers):
                self.assertEqual(server.ask("POST", "/login", body, headers)[0], 403)

    def test_requests_that_make_no_sense(self):
        self.add("anna")
        server = self.serve()
        for body, status in (("{", 400), ("[]", 400), ({}, 400), ({"name": "anna"}, 400),
                             ({"name": 1, "password": PASSWORD}, 400), ({"name": "", "password": PASSWORD}, 400),
                             ({"name": "a\r\nSet-Cookie: x", "password": PASSWORD}, 400),
                             ({"name": "a" * 65, "password": PASSWORD}, 400),
                             ({"name": "anna", "password": ""}, 400),
                             ({"name": "anna", "password": "x" * 257}, 400),
                             ({"name": "anna", "password": "x" * 5000}, 413)):
            with self.subTest(body=str(body)[:40]):
                self.assertEqual(server.ask("POST", "/login", body, OURS)[0], status)

    def test_guessing_is_slowed_down(self):
        self.add("anna", "bob")
        server = self.serve()
        answers = self.guess(server, lambda number: "anna")
        # A slow machine gets some more: one a minute.
        self.assertGreaterEqual(len(answers), 11)
        self.assertIn(int(answers[-1][1]["Retry-After"]), range(1, 61))
        self.assertEqual(answers[-1][2]["error"], "rate_limited")
        self.assertRegex(answers[-1][2]["message"], r"^Too many attempts. Try again in \d+ seconds.$")
        # Not even the right one now; another user is not affected, and neither is a link.
        self.assertEqual(server.sign_in("anna", PASSWORD)[0], 429)
        self.assertEqual(server.sign_in("bob", PASSWORD)[0], 200)
        link = self.user("login-link", "anna").strip()
        self.assertEqual(server.ask("GET", link.removeprefix(server.url))[0], 303)
        # The same for a name that nobody has; attempts are not stored, so the address starts afresh.
        server.end()
        server = self.serve()
        self.assertGreaterEqual(len(self.guess(server, lambda number: "nobody")), 11)

    def test_right_passwords_are_no_attempts(self):
        self.add("anna")
        server = self.serve()
        for _ in range(12):
            server.cookie("anna", PASSWORD)

    def test_the_server_works_while_it_hashes(self):
        self.add("anna")
        server = self.serve()
        answers = 0
        for _ in range(5):  # again if this program had no turn meanwhile
            if answers > 2:
                break
            threads = [threading.Thread(target=server.sign_in, args=("anna", PASSWORD)) for _ in range(8)]
            for thread in threads:
                thread.start()
            answers = 0
            while any(thread.is_alive() for thread in threads):
                self.assertEqual(server.ask("GET", "/healthz")[0], 200)
                answers += 1
        self.assertGreater(answers, 2)  # else the loop waited for all of them

    def test_a_new_password_ends_sessions(self):
        self.add("anna")
        server = self.serve()
        user = server.cookie("anna", PASSWORD)
        self.assertIn("ended all sessions", self.user("passwd", "anna", given="another long one\n"))
        self.assertEqual(server.ask("GET", "/api/state", None, user)[0], 401)
        self.assertEqual(server.sign_in("anna", PASSWORD)[0], 401)
        self.assertEqual(server.sign_in("anna", "another long one")[0], 200)

    def renew(self, server, user, current, new, **more):
        return server.ask("POST", "/api/password", {"current": current, "new": new}, OURS | user | more)

    def test_users_give_themselves_another_password(self):
        self.add("anna", "bob")
        server = self.serve()
        here, there = (server.cookie("anna", PASSWORD) for _ in range(2))
        other = server.cookie("bob", PASSWORD)
        self.assertTrue(server.ask("GET", "/api/sessions", None, here)[2]["hasPassword"])
        status, _, answer = self.renew(server, here, "a wrong one", "another long one")
        self.assertEqual((status, answer["message"]), (403, "That is not your current password."))
        self.assertEqual(self.renew(server, here, PASSWORD, "short")[0], 400)
        self.assertEqual(self.renew(server, here, PASSWORD, "x" * 257)[0], 400)
        self.assertEqual(self.renew(server, {}, PASSWORD, "another long one")[0], 401)
        for headers in (OURS | {"Origin": "https://evil.example"}, OURS | {"Sec-Fetch-Site": "cross-site"}, {}):
            self.assertEqual(server.ask("POST", "/api/password", {"current": PASSWORD, "new": "another long one"}, here | headers)[0], 403, headers)
        for body in ({}, {"current": PASSWORD}, {"current": 1, "new": "another long one"}, []):
            self.assertEqual(server.ask("POST", "/api/password", body, OURS | here)[0], 400, body)
        self.assertEqual(server.ask("GET", "/api/state", None, there)[0], 200)
        self.assertEqual(self.renew(server, here, PASSWORD, "another long one")[2], {"ok": True})
        self.assertEqual(server.ask("GET", "/api/state", None, here)[0], 200)
        self.assertEqual(server.ask("GET", "/api/state", None, there)[0], 401)
        self.assertEqual(server.ask("GET", "/api/state", None, other)[0], 200)
        self.assertEqual(server.sign_in("anna", PASSWORD)[0], 401)
        self.assertEqual(server.sign_in("anna", "another long one")[0], 200)
        server.end()
        shown = subprocess.run([GATEHOUSE, "audit", "--server", "--state-dir", self.state], env=clean_environment(),
                               capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
        self.assertEqual(len([line for line in shown.splitlines() if "passwd" in line and "anna" in line]), 2, shown)

    def test_nobody_guesses_the_password_at_an_open_page(self):
        self.add("anna")
        server = self.serve()
        user = server.cookie("anna", PASSWORD)
        answers = []
        while len(answers) < 200 and (not answers or answers[-1] == 403):
            answers.append(self.renew(server, user, "a wrong one", "another long one")[0])
        self.assertEqual(answers[-1], 429)
        self.assertGreaterEqual(len(answers), 11)
        self.assertEqual(self.renew(server, user, PASSWORD, "another long one")[0], 429)

    def test_who_has_no_password_is_told_who_gives_one(self):
        server = self.serve()
        self.user("add", "anna", "--no-password")
        link = self.user("login-link", "anna").strip()
        headers = server.ask("GET", link.removeprefix(server.url))[1]
        user = {"Cookie": headers["Set-Cookie"].split(";")[0]}
        self.assertFalse(server.ask("GET", "/api/sessions", None, user)[2]["hasPassword"])
        status, _, answer = self.renew(server, user, "anything", "another long one")
        self.assertEqual(status, 400)
        self.assertIn("gatehouse user passwd", answer["message"])


class Command(Scene):
    """gatehouse user"""

    def test_users_come_and_go(self):
        self.add("anna")
        self.user("add", "bob", "--no-password")
        self.assertEqual(self.user("list"), "owner\tno password\nanna\tpassword\nbob\tno password\n")
        listed = json.loads(self.user("list", "--json"))
        self.assertEqual([(user["name"], user["hasPassword"]) for user in listed],
                         [("owner", False), ("anna", True), ("bob", False)])
        self.assertRegex(self.on_terminal("user", "list"),
                         r"^USER +SIGNS IN WITH +CREATED\nowner +no password +-\n"
                         r"anna +password +\d{4}-\d\d-\d\d \d\d:\d\d\nbob ")
        self.assertIn("already", self.user("add", "anna", given=PASSWORD, status=1))
        self.assertEqual(self.user("remove", "bob"), "Removed bob.\n")
        self.assertIn("no user", self.user("remove", "bob", status=1))
        self.assertIn("cannot be removed", self.user("remove", "owner", status=2))
        self.assertIn("visible ASCII", self.user("add", "a b", given=PASSWORD, status=2))
        # Before anybody has typed a password.
        self.assertIn("visible ASCII", self.user("add", "a b", given="", status=2))
        self.assertIn("already", self.user("add", "owner", given="", status=1))
        self.assertIn("no user called", self.user("passwd", "nobody", given="", status=1))
        self.assertEqual([record[:1] + record[2:] for record in self.recorded()],
                         [("account", "anna", "add"), ("account", "bob", "add"),
                          ("account", "bob", "remove")])

    def test_bad_passwords_are_refused(self):
        for given, words in (("", "empty"), ("\n", "empty"), ("short\n", "at least 8"),
                             ("x" * 257 + "\n", "at most 256")):
            with self.subTest(given=given[:10]):
                self.assertIn(words, self.user("add", "anna", given=given, status=1))
        self.assertEqual(self.user("list"), "owner\tno password\n")

    def type_password(self, *lines):
        """At a terminal. Returns the exit status and what the terminal showed."""
        process, fd = pty.fork()
        if process == 0:
            os.execvpe(GATEHOUSE, [GATEHOUSE, "user", "--state-dir", str(self.state), "add", "anna"],
                       clean_environment())
        shown = b""
        for prompt, line in zip((b"New password: ", b"Again: "), lines):
            while prompt not in shown:
                shown += os.read(fd, 1000)
            os.write(fd, line.encode() + b"\n")
        try:
            while piece := os.read(fd, 1000):
                shown += piece
        except OSError:
            pass  # its end
        os.close(fd)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), shown.decode()

    def test_a_typed_password_is_not_shown(self):
        status, shown = self.type_password(PASSWORD, "something else")
        self.assertEqual(status, 1, shown)
        self.assertIn("differ", shown)
        status, shown = self.type_password(PASSWORD, PASSWORD)
        self.assertEqual(status, 0, shown)
        self.assertNotIn(PASSWORD, shown)
        self.assertEqual(self.serve().sign_in("anna", PASSWORD)[0], 200)

    def test_a_login_link_without_a_restart(self):
        self.assertIn("no server has used", self.user("login-link", status=1))
        server = self.serve()
        first = self.user("login-link").strip()
        self.assertTrue(first.startswith(server.url + "/login?token=login_"), first)
        user = server.log_in(first.split("=")[1])
        self.assertEqual(server.ask("GET", "/api/state", None, user)[2]["user"]["name"], "owner")
        self.assertEqual(server.ask("GET", first.removeprefix(server.url))[0], 403)
        self.assertIn("no user", self.user("login-link", "nobody", status=1))
        # In the end it is over.
        late = self.user("login-link").strip().split("=")[1]
        self.change_store("UPDATE links SET expires_ms=1")
        self.assertEqual(server.ask("GET", "/login?token=" + late)[0], 403)

    def test_no_secret_is_stored(self):
        self.add("anna")
        server = self.serve()
        link = self.user("login-link", "anna").strip().split("=")[1]
        cookie = server.cookie("anna", PASSWORD)["Cookie"].split("=")[1]
        server.end()
        stored = b"".join(path.read_bytes() for path in (self.state / "server").iterdir())
        for secret in (PASSWORD, link, cookie):
            self.assertNotIn(secret.encode(), stored)
        self.assertIn(b"$argon2id$", stored)


    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_the_state_of_a_service_is_for_the_user_of_the_service(self):
        self.add("anna")
        os.chown(self.state, 65534, 65534)
        self.assertEqual(self.user("list", status=1), "gatehouse user: the state directory belongs to another user (uid 65534), "
                         f"who has to run this: {self.state}; use --state-dir to choose another\n")


class Sessions(Scene):
    def test_a_user_sees_and_ends_sessions(self):
        self.add("anna", "bob")
        server = self.serve()
        first = server.cookie("anna", PASSWORD)
        status, headers, _ = server.sign_in("anna", PASSWORD, **{"User-Agent": "Mozilla <b>Firefox</b>"})
        second = {"Cookie": headers["Set-Cookie"].split(";")[0]}
        other = server.cookie("bob", PASSWORD)
        listed = server.ask("GET", "/api/sessions", None, first)[2]["sessions"]
        self.assertEqual(sorted((session["browser"], session["address"], session["isThis"])
                                for session in listed),
                         [("", "127.0.0.1", True), ("Mozilla <b>Firefox</b>", "127.0.0.1", False)])
        victim = next(session["id"] for session in listed if not session["isThis"])
        path = "/api/sessions/" + victim
        self.assertEqual(server.ask("DELETE", path, None, first)[0], 403)  # not by our page
        self.assertEqual(server.ask("DELETE", path, None, other | OURS)[0], 404)  # not bob's
        self.assertEqual(server.ask("GET", "/api/sessions", None, second)[0], 200)
        stream = Stream(server, "/api/events", second)
        self.addCleanup(stream.close)
        self.assertEqual(server.ask("DELETE", path, None, first | OURS)[0], 200)
        self.assertEqual(server.ask("GET", "/api/sessions", None, second)[0], 401)
        self.assertIsNone(stream.next())
        self.assertEqual(server.ask("DELETE", path, None, first | OURS)[0], 404)
        for wrong in ("x", "0", "-1", "99999999999999999999"):
            self.assertEqual(server.ask("DELETE", "/api/sessions/" + wrong, None, first | OURS)[0], 404)

    def test_a_session_ends_by_itself(self):
        self.add("anna")
        server = self.serve()
        for column, days in (("used_ms", 7), ("created_ms", 30)):
            with self.subTest(column=column):
                user = server.cookie("anna", PASSWORD)
                stream = Stream(server, "/api/events", user)
                self.addCleanup(stream.close)
                self.change_store(f"UPDATE logins SET {column}={column}-{days * DAY_MS - 60000}")
                self.assertEqual(server.ask("GET", "/api/state", None, user)[0], 200)
                # The server writes the last use down a little later.
                wait_until(lambda: self.last_use() > (time.time() - 3600) * 1000, "the last use")
                self.change_store(f"UPDATE logins SET used_ms=used_ms-{days * DAY_MS}" if days == 7 else
                                  f"UPDATE logins SET created_ms=created_ms-{days * DAY_MS}")
                self.assertEqual(server.ask("GET", "/api/state", None, user)[0], 401)
                self.assertIsNone(stream.next())

    def test_signing_in_again_ends_the_session_before(self):
        self.add("anna", "bob")
        server = self.serve()
        old = server.cookie("anna", PASSWORD)
        self.assertEqual(server.sign_in("bob", PASSWORD, **old)[0], 200)
        wait_until(lambda: server.ask("GET", "/api/state", None, old)[0] == 401, "the end of the old one")

    def test_an_old_cookie_is_worth_nothing_after_signing_out(self):
        self.add("anna")
        server = self.serve()
        user = server.cookie("anna", PASSWORD)
        server.ask("POST", "/logout", None, user | OURS)
        wait_until(lambda: server.ask("GET", "/api/state", None, user)[0] == 401, "signing out")


class KeyOfTheEnvironment(Scene):
    KEY = "a-static-key-of-some-length"

    def connect_with_key(self, server):
        return server.ask("POST", N8N + "init", {"rootPath": "/", "tools": []}, {"X-Gateway-Key": self.KEY})[0]

    def test_it_belongs_to_the_user_that_is_named(self):
        self.add("anna", "bob")
        server = self.serve("--gateway-key-user", "bob", N8N_INSTANCE_AI_GATEWAY_API_KEY=self.KEY)
        anna, bob = (server.cookie(name, PASSWORD) for name in ("anna", "bob"))
        self.assertEqual(self.connect_with_key(server), 200)
        connected = [server.ask("GET", N8N + "status", None, user)[2]["data"]["connected"] for user in (anna, bob)]
        self.assertEqual(connected, [False, True])
        self.user("remove", "bob")
        wait_until(lambda: self.connect_with_key(server) == 403, "nobody has the key any more")

    def test_what_makes_no_sense_is_refused(self):
        for name, key, words in (("nobody", self.KEY, "no user of that name"), ("owner", "", "is for a key in")):
            result = subprocess.run([GATEHOUSE, "serve", "--listen", "127.0.0.1:0", "--state-dir", self.state],
                                    env=clean_environment(GATEHOUSE_GATEWAY_KEY_USER=name, N8N_INSTANCE_AI_GATEWAY_API_KEY=key),
                                    capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(words, result.stderr)


class TwoUsers(Scene):
    """What one user sees of another: nothing."""

    def setUp(self):
        super().setUp()
        self.add("anna", "bob")
        self.server = self.serve()
        self.anna = self.server.cookie("anna", PASSWORD)
        self.bob = self.server.cookie("bob", PASSWORD)

    def agent_of(self, name, user):
        key = self.server.ask("POST", "/api/agents", {"name": name}, user | OURS)[2]["key"]
        return Agent(self.server, key)

    def test_machines_and_agents(self):
        machine = self.pair(self.server, self.anna)
        mine, theirs = self.agent_of("ci", self.anna), self.agent_of("ci", self.bob)
        self.assertEqual((mine.tools(), theirs.tools()), (["echo"], []))
        self.assertIn("error", theirs.call("echo", {}))
        state = self.server.ask("GET", "/api/state", None, self.bob)[2]
        self.assertEqual((state["status"]["connected"], state["tools"], state["calls"]), (False, [], []))
        self.assertFalse(self.server.ask("GET", N8N + "status", None, self.bob)[2]["data"]["connected"])
        # What bob does to "his" machine does nothing to anna's.
        self.server.ask("POST", N8N + "disconnect-session", None, self.bob | OURS)
        self.assertEqual(mine.tools(), ["echo"])
        agents = self.server.ask("GET", "/api/agents", None, self.anna)[2]["agents"]
        self.assertEqual(len(agents), 1)
        path = "/api/agents/" + agents[0]["id"]
        self.assertEqual(self.server.ask("DELETE", path, None, self.bob | OURS)[0], 404)
        self.assertEqual(self.server.ask("DELETE", path, None, self.anna | OURS)[0], 200)
        self.assertEqual(machine.post("disconnect", {})[0], 200)

    def test_requests_of_another_users_machine(self):
        machine, foreign = self.pair(self.server, self.anna), self.pair(self.server, self.bob)
        call = self.agent_of("ci", self.anna).begin("echo", {})
        self.addCleanup(call.close)
        event = machine.stream.next()
        # Bob's machine knows the id, and still cannot answer.
        self.assertEqual(foreign.respond(event, result=RESULT)[0], 404)
        self.assertEqual(machine.respond(event, result=RESULT)[0], 200)
        self.assertEqual(call.next()["result"]["content"], RESULT["content"])

    def test_questions_and_events(self):
        machine = self.pair(self.server, self.anna)
        pages = [Stream(self.server, "/api/events", user) for user in (self.anna, self.bob)]
        for page in pages:
            self.addCleanup(page.close)
        call = self.agent_of("ci", self.anna).begin("echo", {})
        self.addCleanup(call.close)
        question = {"toolGroup": "shell", "resource": "ls", "description": "run ls",
                    "options": ["denyOnce", "allowOnce"]}
        machine.respond(machine.stream.next(), result={
            "isError": True, "content": [{"type": "text", "text":
                                          "GATEWAY_CONFIRMATION_REQUIRED::" + json.dumps(question)}]})
        while True:
            event = pages[0].next()
            if "resource" in event:
                break
        path = "/api/questions/" + event["id"]
        self.assertEqual(self.server.ask("POST", path, {"answer": "allowOnce"}, self.bob | OURS)[0], 404)
        state = self.server.ask("GET", "/api/state", None, self.bob)[2]
        self.assertEqual((state["questions"], state["calls"]), ([], []))
        self.assertEqual(self.server.ask("POST", path, {"answer": "denyOnce"}, self.anna | OURS)[0], 200)
        pages[1].close()
        heard = []
        while (event := pages[1].next()) is not None:
            heard.append(event)
        self.assertNotIn("ls", json.dumps(heard))

    def test_a_removed_user_is_gone(self):
        machine = self.pair(self.server, self.anna)
        agent = self.agent_of("ci", self.anna)
        unused = self.server.ask("POST", N8N + "create-link", None, self.anna | OURS)[2]["data"]["token"]
        page = Stream(self.server, "/api/events", self.anna)
        call = agent.begin("echo", {})
        for stream in (page, call):
            self.addCleanup(stream.close)
        machine.stream.next()
        self.user("remove", "anna")
        # At once: the session, the keys, and new machines. Soon: what was open.
        self.assertEqual(self.server.ask("GET", "/api/state", None, self.anna)[0], 401)
        self.assertEqual(agent.post("tools/list", {})[0], 401)
        self.assertEqual(self.server.sign_in("anna", PASSWORD)[0], 401)
        self.assertEqual(machine.stream.next(), {"type": "gateway-disconnect"})
        self.assertIsNone(machine.stream.next())
        while page.next() is not None:
            pass
        wait_until(lambda: machine.post("init", {"rootPath": "/", "tools": []})[0] == 403, "the end")
        self.assertEqual(machine.post("init", {"rootPath": "/", "tools": []}, unused)[0], 403)
        # Somebody new of the same name inherits nothing.
        self.add("anna")
        state = self.server.ask("GET", "/api/state", None, self.server.cookie("anna", PASSWORD))[2]
        self.assertEqual((state["status"]["connected"], state["calls"]), (False, []))
        # And after a restart neither.
        self.server.end()
        self.server = self.serve()
        self.assertEqual(self.server.ask("POST", N8N + "init", {"rootPath": "/", "tools": []},
                                         {"X-Gateway-Key": machine.key})[0], 403)

    def test_a_key_of_a_command_is_for_one_user(self):
        self.pair(self.server, self.bob)
        line = self.manage("--user", "bob", "add", "cli").stdout
        self.assertEqual(Agent(self.server, line.split()[-1]).tools(), ["echo"])
        self.assertEqual(self.manage("list").stdout, "")
        terminal, stdout = pty.openpty()
        made = subprocess.run([GATEHOUSE, "agent", "--state-dir", self.state, "--user", "bob", "add", "shown"],
                              env=clean_environment(), stdout=stdout, stderr=subprocess.PIPE, text=True,
                              timeout=PATIENCE)
        self.assertIn("shown only once", made.stderr)
        self.assertIn("'gatehouse status'", made.stderr)
        self.assertRegex(os.read(terminal, 1000).decode(), r"^Authorization: Bearer gha_\w{32}\r\n$")
        os.close(terminal)
        os.close(stdout)
        self.manage("--user", "bob", "remove", "shown")
        self.assertRegex(self.manage("--user", "bob", "list").stdout, "^cli\t[^\t]+\n$")
        self.assertRegex(self.on_terminal("agent", "--user", "bob", "list"),
                         r"^AGENT +TOOLS +CREATED\ncli +read,write\S* +\d{4}-\d\d-\d\d \d\d:\d\d\n$")
        self.assertIn("'gatehouse agent add NAME'", self.on_terminal("agent", "list"))
        self.assertIn("no user", self.manage("--user", "nobody", "list", status=1).stderr)


class Strangers(Scene):
    """Somebody without a key who tries many, and what tools say in the wrong places."""

    def test_tokens_cannot_be_guessed(self):
        server = self.serve()
        machine = self.machine(server, server.token)
        token = server.ask("POST", N8N + "create-link", None, server.log_in() | OURS)[2]["data"]["token"]
        body = {"rootPath": "/", "tools": []}
        key = self.add_agent()

        def guess():
            """Until no try is left; on a slow machine one comes back every 10 seconds."""
            answers = []
            while len(answers) < 500 and (not answers or answers[-1][0] == 403):
                answers.append(machine.post("init", body, f"gw_{len(answers):032}"))
            self.assertEqual(answers[-1][0], 429)
            return answers

        answers = guess()
        self.assertGreater(len(answers), 100)
        self.assertIn(int(answers[-1][1]["Retry-After"]), range(1, 11))
        # By then even the right one is refused, in both dialects, as are other unknown keys.
        for method, path, headers in (("POST", N8N + "init", {"X-Gateway-Key": token}),
                                      ("GET", SEED + "events?apiKey=" + token, {}),
                                      ("POST", "/mcp", {"Authorization": "Bearer gha_x"}),
                                      ("GET", "/login?token=login_x", {})):
            guess()
            self.assertEqual(server.ask(method, path, body if method == "POST" else None, headers)[0], 429,
                             path)
        # A machine that is connected goes on working, and so does an agent.
        self.assertEqual(machine.post("init", body)[0], 200)
        self.assertEqual(Agent(server, key).tools(), [])

    def test_a_token_is_accepted_once(self):
        server = self.serve()
        token = server.token
        statuses = []
        threads = [threading.Thread(target=lambda: statuses.append(server.ask(
            "POST", N8N + "init", {"rootPath": "/", "tools": []}, {"X-Gateway-Key": token})[0]))
            for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(statuses.count(200), 1, statuses)
        self.assertEqual(server.end(), 0)
        server = self.serve()
        self.assertEqual(server.ask("POST", N8N + "init", {"rootPath": "/", "tools": []},
                                    {"X-Gateway-Key": token})[0], 403)

    def test_a_revoked_key_in_use(self):
        server = self.serve()
        machine = self.machine(server, server.token)
        agent = self.agent(server, self.add_agent())
        call = agent.begin("echo", {})
        self.addCleanup(call.close)
        event = machine.stream.next()
        self.manage("remove", "ci")
        self.assertEqual(agent.post("tools/list", {})[0], 401)
        wait_until(lambda: machine.respond(event, result=RESULT)[0] == 404, "the end of the call")

    def test_tool_output_stays_data(self):
        """Neither a header nor an event of its own can be made by what a tool says."""
        server = self.serve()
        user = server.log_in()
        machine = self.machine(server, server.token)
        page = Stream(server, "/api/events", user)
        self.addCleanup(page.close)
        evil = "x\r\nSet-Cookie: a=b\r\n\r\nevent: question\ndata: {\"id\":\"1\",\"evil\":true}\n\n\u2028"
        agent = self.agent(server, self.add_agent())
        call = agent.begin("echo", {"a": evil})
        self.addCleanup(call.close)
        event = machine.stream.next()
        self.assertEqual(event["payload"]["toolCall"]["arguments"], {"a": evil})
        machine.respond(event, result={"content": [{"type": "text", "text": evil}], "isError": True})
        answer = call.next()
        self.assertEqual(answer["result"]["content"][0]["text"], evil)
        self.assertNotIn("Set-Cookie", call.answer.headers)
        # The machine describes itself the same way.
        again = machine.post("init", {"rootPath": evil, "hostIdentifier": evil, "tools": [
            {"name": "echo", "description": evil, "inputSchema": {"type": "object", "properties": {}}}]})
        self.assertEqual(again[0], 200, again[2])
        self.assertEqual(server.ask("GET", N8N + "status", None, user)[2]["data"]["directory"], evil)
        page.close()
        while (event := page.next()) is not None:
            self.assertNotIn("evil", event)  # only inside of strings

    def test_everything_has_a_limit(self):
        server = self.serve()
        user = server.log_in()
        big = "x" * (17 << 20)
        for method, path, body, headers, allowed in (
                ("POST", "/login", big, OURS, (413,)), ("POST", "/logout", big, user | OURS, (413,)),
                ("POST", "/api/agents", big, user | OURS, (413,)),
                ("POST", "/api/agents", {"name": "x" * 65}, user | OURS, (400,)),
                ("GET", "/" + "x" * 70000, None, {}, (414, 431)),
                ("GET", "/healthz", None, {"X-Long": "x" * 70000}, (431,)),
                ("GET", "/healthz", None, {f"X-{number}": "1" for number in range(300)}, (431,)),
                ("GET", "/api/state", None, {"Cookie": "gatehouse_session=" + "x" * 5000}, (401,)),
                ("GET", "/login?token=" + "x" * 5000, None, {}, (403,)),
                ("POST", "/mcp", "{}", {"Authorization": "Bearer " + "x" * 5000}, (401,)),
                ("POST", N8N + "init", "{}", {"X-Gateway-Key": "x" * 5000}, (400, 403))):
            with self.subTest(path=path[:40]):
                try:
                    self.assertIn(server.ask(method, path, body, headers)[0], allowed)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # it did not read all of that
        self.assertEqual(server.ask("GET", "/healthz")[0], 200)


class Proxies(Scene):
    HEADER = ("--trusted-proxy", "127.0.0.1", "--trusted-header", "X-User")

    def test_the_proxy_says_who_it_is(self):
        self.user("add", "anna", "--no-password")
        server = self.serve(*self.HEADER)
        self.assertNotIn("login_", server.words)
        anna = {"X-User": "anna"}
        self.assertEqual(server.ask("GET", "/api/state", None, anna)[2]["user"],
                         {"name": "anna", "signsOut": False})
        self.assertEqual(server.ask("POST", "/api/agents", {"name": "x"}, anna)[0], 403)  # not our page
        self.assertEqual(server.ask("POST", "/api/agents", {"name": "x"}, anna | OURS)[0], 200)
        for headers in ({}, {"X-User": ""}, {"X-User": "nobody"}, {"X-User": "a b"}):
            self.assertEqual(server.ask("GET", "/api/state", None, headers)[0], 401, headers)
        self.assertNotIn("nobody", self.user("list"))
        # Twice is a mistake of the proxy: perhaps one is the client's.
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as plain:
            plain.sendall(f"GET /api/state HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-User: anna\r\n"
                          "X-User: owner\r\nConnection: close\r\n\r\n".encode())
            self.assertIn(b" 401 ", plain.makefile("rb").readline())
        # Its open page ends with the user.
        page = Stream(server, "/api/events", anna)
        self.addCleanup(page.close)
        self.user("remove", "anna")
        self.assertIsNone(page.next())

    def test_a_refusal_names_the_client_and_whom_the_proxy_named(self):
        server = self.serve(*self.HEADER)
        for _ in range(2):  # each on a connection of its own
            server.ask("GET", "/api/state", None, {"X-User": "carl", "X-Forwarded-For": "192.0.2.9"})
        server.ask("POST", "/mcp", "{}", {"Authorization": "Bearer x", "X-Forwarded-For": "192.0.2.10"})
        refused = self.audit("--operation", "request")
        self.assertEqual([(record["client"], record["subject"]["id"]) for record in refused],
                         [("192.0.2.9", "carl")] * 2 + [("192.0.2.10", "server")])

    def test_users_are_created_where_that_is_wanted(self):
        server = self.serve(*self.HEADER, "--create-users")
        for _ in range(2):
            self.assertEqual(server.ask("GET", "/api/state", None, {"X-User": "new@example.org"})[0], 200)
        self.assertEqual(server.ask("GET", "/api/state", None, {"X-User": "no spaces"})[0], 401)
        self.assertEqual(self.user("list"), "owner\tno password\nnew@example.org\tno password\n")
        self.assertIn(("account", "success", "new@example.org", "add"), self.recorded())

    def test_nobody_else_is_believed(self):
        server = self.serve("--trusted-proxy", "192.0.2.7", "--trusted-header", "X-User")
        self.assertEqual(server.ask("GET", "/api/state", None, {"X-User": "owner"})[0], 401)
        # One address cannot try all names either, whatever it says about itself.
        answers = self.guess(server, lambda number: f"name{number}", lambda number: f"192.0.2.{number}")
        self.assertGreaterEqual(len(answers), 21)

    def test_attempts_count_for_the_client_and_not_for_the_proxy(self):
        self.add("anna")
        server = self.serve("--trusted-proxy", "127.0.0.1")
        forged = "198.51.100.1, "  # by the client; the proxy adds what follows
        self.guess(server, lambda number: f"name{number}", lambda number: forged + "192.0.2.1")
        status, headers, _ = server.sign_in("anna", PASSWORD, **{"X-Forwarded-For": "192.0.2.2:1234"})
        self.assertEqual(status, 200)
        user = {"Cookie": headers["Set-Cookie"].split(";")[0]}
        self.assertEqual(server.ask("GET", "/api/sessions", None, user)[2]["sessions"][0]["address"],
                         "192.0.2.2")


class Tls(Scene):
    def certificate(self, name, place=None):
        """A new pair, where the server looks for it. Returns a context that trusts only that."""
        return certificates.make(place or self.room, name)

    def serve_tls(self, *arguments, place=None):
        place = place or self.room
        return self.serve("--tls-cert", place / "cert.pem", "--tls-key", place / "key.pem", *arguments)

    def works(self, server, context):
        try:
            return server.ask("GET", "/healthz", tls=context)[0] == 200
        except ssl.SSLError:
            return False

    def test_a_page_over_https(self):
        self.add("anna")
        context = self.certificate("first")
        server = self.serve_tls()
        self.assertIn(f"running at https://127.0.0.1:{server.port} ", server.words)
        status, headers, _ = server.ask("POST", "/login", {"name": "anna", "password": PASSWORD},
                                        OURS | {"Origin": f"https://127.0.0.1:{server.port}"}, tls=context)
        self.assertEqual(status, 200)
        self.assertTrue(headers["Set-Cookie"].startswith("__Host-gatehouse_session="))
        self.assertTrue(headers["Set-Cookie"].endswith("; Secure"))
        if not shutil.which("curl"):
            return
        curl = subprocess.run(["curl", "-sS", "--cacert", self.room / "cert.pem",
                               f"https://127.0.0.1:{server.port}/healthz"], capture_output=True, text=True)
        self.assertEqual((curl.returncode, curl.stdout), (0, "ok\n"), curl.stderr)

    def test_a_new_certificate_is_used(self):
        first = self.certificate("first")
        server = self.serve_tls()
        self.assertTrue(self.works(server, first))
        second = self.certificate("second")
        wait_until(lambda: self.works(server, second), "the new certificate")
        self.assertFalse(self.works(server, first))

    def test_a_broken_pair_is_logged_and_the_old_one_stays(self):
        good = self.certificate("good")
        cert, key = self.room / "cert.pem", self.room / "key.pem"
        pair = cert.read_bytes(), key.read_bytes()
        other = self.room / "other"
        other.mkdir()
        self.certificate("other", other)
        other_cert = (other / "cert.pem").read_bytes()
        server, logged = self.serve_with_log("--tls-cert", cert, "--tls-key", key)

        def half(text):
            return text[:len(text) // 2]

        for name, broken, words in (
                ("nonsense", (b"nonsense\n", pair[1]), "contains no certificate"),
                ("another's", (other_cert, pair[1]), "the key does not match the certificate"),
                ("half", (half(pair[0]), pair[1]), "a certificate is damaged"),
                ("half a chain", (pair[0] + half(other_cert), pair[1]), "a certificate is damaged"),
                ("half a key", (pair[0], half(pair[1])), "contains no PEM private key"),
                ("no key", (pair[0], None), "cannot read")):
            before = len(logged())
            # In one step each, so that only this state is seen.
            for path, text in zip((cert, key), broken):
                if text is None:
                    path.unlink()
                elif path.read_bytes() != text:
                    (self.room / "next").write_bytes(text)
                    os.replace(self.room / "next", path)
            wait_until(lambda: len(logged()) > before, f"a line about {name}")
            for line in logged()[before:]:
                self.assertEqual((line["level"], line["message"]),
                                 ("warn", "the new certificate is not used, the old one stays"))
            self.assertIn(words, logged()[-1]["error"], name)
            self.assertTrue(self.works(server, good), name)
        self.assertEqual(len([line for line in logged() if "PRIVATE" in str(line)]), 0)
        self.assertTrue(self.works(server, good))
        last = self.certificate("last")
        wait_until(lambda: self.works(server, last), "the next good one")
        self.assertFalse(self.works(server, good))

    def test_links_to_another_directory_are_followed(self):
        """As certbot has it: live/ has links into archive/, which are replaced."""
        archive, live = self.room / "archive", self.room / "live"
        archive.mkdir()
        live.mkdir()
        first = self.certificate("first", archive)
        for name in ("cert.pem", "key.pem"):
            os.replace(archive / name, archive / f"1-{name}")
            (live / name).symlink_to(archive / f"1-{name}")
        server = self.serve_tls(place=live)
        self.assertTrue(self.works(server, first))
        second = self.certificate("second", archive)
        for name in ("cert.pem", "key.pem"):
            os.replace(archive / name, archive / f"2-{name}")
            (live / "next").symlink_to(archive / f"2-{name}")
            os.replace(live / "next", live / name)
        wait_until(lambda: self.works(server, second), "the new certificate")

    def test_for_other_machines(self):
        context = self.certificate("first")
        context.check_hostname = False
        server = self.serve_tls("--listen", "0.0.0.0:0", "--public-url", "https://gate.example")
        self.assertIn("Nobody can sign in yet. Add an account: gatehouse user add NAME", server.words)
        self.assertNotIn("login_", server.words)
        self.assertEqual(server.ask("GET", "/healthz", None, {"Host": "gate.example"}, context)[0], 200)
        for host in ("evil.example", "127.0.0.1:" + str(server.port), "localhost"):
            self.assertEqual(server.ask("GET", "/healthz", None, {"Host": host}, context)[0], 403, host)

    def test_files_that_do_not_fit(self):
        self.certificate("first")
        other = self.room / "other"
        other.mkdir()
        self.certificate("second", other)
        for cert, key, words in ((self.room / "cert.pem", other / "key.pem", "--tls-cert and --tls-key:"),
                                 (self.room / "key.pem", self.room / "key.pem", "--tls-cert and --tls-key:"),
                                 (self.room, self.room / "key.pem", "not a regular file")):
            result = subprocess.run([GATEHOUSE, "serve", "--state-dir", self.state, "--listen", "127.0.0.1:0",
                                     "--tls-cert", cert, "--tls-key", key], env=clean_environment(),
                                    capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(words, result.stderr)


class Record(Scene):
    """gatehouse audit --server"""

    def test_everything_is_recorded(self):
        self.add("anna")
        server = self.serve()
        server.sign_in("anna", "wrong password")
        server.sign_in("nobody", "wrong password")
        user = server.cookie("anna", PASSWORD)
        server.ask("GET", "/api/state?secret=query")
        server.ask("POST", "/api/agents", {"name": "x"}, user)
        self.pair(server, user)
        key = server.ask("POST", "/api/agents", {"name": "ci"}, user | OURS)[2]
        agents = server.ask("GET", "/api/agents", None, user)[2]["agents"]
        server.ask("DELETE", "/api/agents/" + agents[0]["id"], None, user | OURS)
        server.ask("POST", "/logout", None, user | OURS)
        self.user("passwd", "anna", given="another long one\n")
        self.user("remove", "anna")
        records = self.recorded()
        self.assertEqual(records, [
            ("account", "success", "anna", "add"),
            ("sign-in", "denied", "anna", None),
            ("sign-in", "denied", "nobody", None),
            ("sign-in", "success", "anna", None),
            ("request", "denied", "server", "GET /api/state"),
            ("request", "denied", "server", "POST /api/agents"),
            ("pair", "success", "anna", "token"),
            ("pair", "success", "anna", "machine"),
            ("agent-key", "success", "anna", "ci"),
            ("agent-key", "success", "anna", "ci"),
            ("sign-out", "success", "anna", None),
            ("account", "success", "anna", "passwd"),
            ("account", "success", "anna", "remove")])
        text = json.dumps(self.audit())
        for secret in (PASSWORD, "wrong password", "query", key["key"], user["Cookie"].split("=")[1]):
            self.assertNotIn(secret, text)
        denied = self.audit("--operation", "sign-in", "--outcome", "denied")
        self.assertEqual([(record["client"], record["error"], record["policySource"]) for record in denied],
                         [("127.0.0.1", "unauthorized", "password")] * 2)

    def test_people_can_read_it(self):
        self.add("anna")
        server = self.serve()
        server.sign_in("anna", "wrong password")
        result = subprocess.run([GATEHOUSE, "audit", "--server", "--state-dir", self.state],
                                env=clean_environment(), capture_output=True, text=True, timeout=PATIENCE)
        lines = result.stdout.splitlines()
        self.assertRegex(lines[-1], r"127\.0\.0\.1 +anna +sign-in +.*denied \(password\): unauthorized")
        self.add_agent()
        self.manage("remove", "ci")
        for options in ((), ("-v",)):
            result = subprocess.run([GATEHOUSE, "audit", *options, "--server", "--state-dir", self.state],
                                    env=clean_environment(), capture_output=True, text=True, timeout=PATIENCE)
            created, revoked = result.stdout.splitlines()[-2:]
            self.assertRegex(created, r"agent-key +.*ci  \(created\)")
            self.assertRegex(revoked, r"agent-key +.*ci  \(revoked\)")

    def test_a_flood_of_refusals_pushes_nothing_out(self):
        self.add("anna")
        server = self.serve()
        server.cookie("anna", PASSWORD)
        for _ in range(200):
            server.ask("GET", "/api/state")
        server.end()
        changes = (self.state / "server/audit.jsonl").read_text()
        self.assertIn('"sign-in"', changes)
        self.assertLess(changes.count('"operation":"request"'), 40)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
