#!/usr/bin/env python3
"""OAuth of gatehouse serve, byte for byte: what it offers, the way to a token, and what others try.

Arguments: gatehouse, and what unittest takes. tests/page has the same with a browser and a client
that others wrote.
"""
import base64
import hashlib
import json
import os
import select
import sqlite3
import subprocess
import sys
import unittest
import urllib.parse

sys.dont_write_bytecode = True  # not into the sources
import test_server
from server_scene import OURS, PATIENCE, Agent, Stream, clean_environment
from test_hostfs import hosts_of
from test_server import GATEHOUSE, RESULT

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
BACK = "https://app.example/back"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"


def challenge_of(verifier):
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


class Scene(test_server.Scene):
    def setUp(self):
        super().setUp()
        self.server = self.serve()
        self.browser = self.server.log_in()
        self.resource = self.server.url + "/mcp"

    def register(self, *redirects, **more):
        """An app that registered."""
        status, headers, client = self.server.ask("POST", "/oauth/register", {
            "client_name": "An app", "redirect_uris": redirects or (BACK,),
            "token_endpoint_auth_method": "none"} | more, {"Content-Type": "application/json"})
        self.assertEqual(status, 201, client)
        self.assertEqual(headers["Cache-Control"], "no-store")
        return client

    def request(self, client, **more):
        """What an app sends a browser with; None leaves something out."""
        fields = {"response_type": "code", "client_id": client["client_id"], "redirect_uri": BACK, "state": "a b&c",
                  "code_challenge": challenge_of(VERIFIER), "code_challenge_method": "S256",
                  "resource": self.resource, "scope": "read write"} | more
        return urllib.parse.urlencode({name: value for name, value in fields.items() if value is not None})

    def asked(self, query):
        return self.server.ask("GET", "/api/consent?" + query, None, self.browser)[2]

    def decide(self, query, groups=("read",), allow=True, headers=None):
        return self.server.ask("POST", "/api/consent", {"query": query, "groups": groups, "allow": allow},
                               self.browser | OURS if headers is None else headers)

    def allow(self, client, groups=("read",), **more):
        """The parameters with which the browser returns."""
        status, _, answer = self.decide(self.request(client, **more), groups)
        self.assertEqual(status, 200, answer)
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer["redirect"]).query, strict_parsing=True))

    def token(self, **fields):
        status, headers, answer = self.server.ask(
            "POST", "/oauth/token",
            urllib.parse.urlencode({name: value for name, value in fields.items() if value is not None}), FORM)
        if status == 200:
            self.assertEqual(headers["Cache-Control"], "no-store")
        return status, answer

    def exchange(self, client, code, **more):
        return self.token(**{"grant_type": "authorization_code", "client_id": client["client_id"], "code": code,
                             "redirect_uri": BACK, "code_verifier": VERIFIER, "resource": self.resource} | more)

    def refresh(self, client, refresh_token, **more):
        return self.token(**{"grant_type": "refresh_token", "client_id": client["client_id"],
                             "refresh_token": refresh_token, "resource": self.resource} | more)

    def tokens(self, groups=("read",), client=None):
        """A client, and tokens for it."""
        client = client or self.register()
        status, answer = self.exchange(client, self.allow(client, groups)["code"])
        self.assertEqual(status, 200, answer)
        return client, answer

    def status_of(self, token):
        return Agent(self.server, token, is_open=False).post("ping", {})[0]

    def consents(self):
        return self.server.ask("GET", "/api/consents", None, self.browser)[2]["consents"]

    def assert_error(self, answer, status, error):
        self.assertEqual((answer[0], answer[-1].get("error")), (status, error), answer)

    def change_store(self, statement):
        database = sqlite3.connect(self.state / "server/server.db", timeout=PATIENCE)
        with database:
            database.execute("PRAGMA foreign_keys=ON")
            database.execute(statement)
        database.close()

    def recorded(self):
        result = subprocess.run([GATEHOUSE, "audit", "--server", "--json", "--limit", "0", "--state-dir",
                                 self.state, "--operation", "consent"], env=clean_environment(),
                                capture_output=True, text=True, timeout=PATIENCE, check=True)
        return [json.loads(line) for line in result.stdout.splitlines()]


class Way(Scene):
    def test_a_client_finds_its_way(self):
        status, headers, _ = self.server.ask("POST", "/mcp", {}, {"Content-Type": "application/json"})
        self.assertEqual(status, 401)
        self.assertEqual(headers["WWW-Authenticate"], "Bearer resource_metadata="
                         f'"{self.server.url}/.well-known/oauth-protected-resource/mcp"')
        for path in ("", "/mcp"):
            resource = self.server.ask("GET", "/.well-known/oauth-protected-resource" + path)[2]
            self.assertEqual(resource["resource"], self.resource)
            self.assertEqual(resource["authorization_servers"], [self.server.url])
            self.assertEqual(resource["bearer_methods_supported"], ["header"])
        server = self.server.ask("GET", "/.well-known/oauth-authorization-server")[2]
        self.assertEqual(server["issuer"], self.server.url)
        self.assertEqual(server["code_challenge_methods_supported"], ["S256"])
        self.assertEqual(server["token_endpoint_auth_methods_supported"], ["none"])
        self.assertTrue(server["authorization_response_iss_parameter_supported"])
        for name in ("authorization", "token", "registration", "revocation"):
            self.assertTrue(server[name + "_endpoint"].startswith(self.server.url + "/oauth/"))
        # A client that calls this computer by another name sees everything under that name.
        other = {"Host": f"localhost:{self.server.port}"}
        found = self.server.ask("GET", "/.well-known/oauth-protected-resource", None, other)[2]
        self.assertEqual(found["resource"], f"http://localhost:{self.server.port}/mcp")
        self.assertEqual(self.server.ask("GET", "/.well-known/oauth-protected-resource", None,
                                         {"Host": "evil.example"})[0], 403)

    def test_the_public_name_counts_behind_a_proxy(self):
        self.server.end()
        server = self.serve("--public-url", "https://gate.example")
        found = server.ask("GET", "/.well-known/oauth-authorization-server", None, {"Host": "gate.example"})[2]
        self.assertEqual(found["issuer"], "https://gate.example")
        self.assertEqual(found["token_endpoint"], "https://gate.example/oauth/token")

    def test_a_code_becomes_tokens_that_open_what_the_user_allowed(self):
        machine = self.machine(self.server, self.server.token, tools=("read_file", "write_file", "echo"))
        client = self.register()
        self.assertEqual(client["token_endpoint_auth_method"], "none")
        self.assertNotIn("client_secret", client)
        query = self.request(client)
        self.assertEqual(self.asked(query), {"name": "An app", "host": "app.example", "isLocal": False,
                                             "groups": ["read", "write"]})
        back = self.allow(client, ["read"])
        self.assertEqual((back["state"], back["iss"]), ("a b&c", self.server.url))
        self.assertEqual(self.consents(), [])
        status, tokens = self.exchange(client, back["code"])
        self.assertEqual(status, 200)
        self.assertEqual((tokens["token_type"], tokens["scope"]), ("Bearer", "read"))
        self.assertLessEqual(tokens["expires_in"], 3600)
        agent = Agent(self.server, tokens["access_token"])
        self.assertEqual(agent.tools(), ["read_file"])
        call = agent.begin("read_file", {})
        event = machine.stream.next()
        machine.respond(event, result=RESULT)
        self.assertEqual(call.next()["result"]["content"], RESULT["content"])
        call.close()
        [consent] = self.consents()
        self.assertEqual((consent["name"], consent["host"], consent["groups"]), ("An app", "app.example", ["read"]))
        # The store has digests only, and nothing of it goes into a log of requests.
        state = b"".join(path.read_bytes() for path in (self.state / "server").iterdir() if path.is_file())
        for secret in (back["code"], tokens["access_token"], tokens["refresh_token"]):
            self.assertNotIn(secret.encode(), state)
        self.assertEqual([record["outcome"] for record in self.recorded()], ["success"])

    def test_a_token_opens_files_of_host_fs_as_a_key_does(self):
        (self.state.parent / "files").mkdir()
        (self.state.parent / "files/a.txt").write_text("hello")
        self.server.end()
        self.server = self.serve("--fs", self.state.parent / "files")
        self.browser, self.resource = self.server.log_in(), self.server.url + "/mcp"

        def ask(operation, token, **words):
            return self.server.ask("POST", "/v1/host/sample/fs/" + operation, words, {"Authorization": f"Bearer {token}"})

        client, tokens = self.tokens(("read",))
        self.assertEqual(ask("read", tokens["access_token"], path="a.txt")[2]["bytes"], "aGVsbG8=")
        status, _, answer = ask("write", tokens["access_token"], path="a.txt", bytes="")
        self.assertEqual((status, answer["error"]), (403, "fs_permission_denied"))
        self.assertEqual(ask("read", tokens["refresh_token"], path="a.txt")[0], 401)
        self.server.ask("POST", "/oauth/revoke", urllib.parse.urlencode(
            {"client_id": client["client_id"], "token": tokens["access_token"]}), FORM)
        self.assertEqual(ask("read", tokens["access_token"], path="a.txt")[0], 401)
        hosts = [os.pidfd_open(pid) for pid in hosts_of(self.server.process.pid)]
        self.server.end()
        for host in hosts:  # they still write when it is gone
            select.select([host], [], [], PATIENCE)
            os.close(host)

    def test_a_token_counts_in_its_header_only(self):
        _, tokens = self.tokens()
        message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        for path in ("/mcp?access_token=" + tokens["access_token"], "/mcp?token=" + tokens["access_token"]):
            self.assertEqual(self.server.ask("POST", path, message, headers)[0], 401)
        self.assertEqual(self.server.ask("GET", "/api/state", None,
                                         {"Authorization": "Bearer " + tokens["access_token"]})[0], 401)

    def test_static_keys_work_as_before(self):
        self.assertNotEqual(self.status_of(self.add_agent()), 401)
        self.assertEqual(self.status_of("gha_" + "x" * 32), 401)

    def test_tokens_survive_a_restart(self):
        client, tokens = self.tokens()
        self.server.end()
        self.server = self.serve(port=self.server.port)
        self.assertNotEqual(self.status_of(tokens["access_token"]), 401)
        self.assertEqual(self.refresh(client, tokens["refresh_token"])[0], 200)

    def test_the_user_denies(self):
        query = self.request(self.register())
        status, _, answer = self.decide(query, allow=False)
        self.assertEqual(status, 200)
        back = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer["redirect"]).query))
        self.assertEqual(back, {"error": "access_denied", "state": "a b&c", "iss": self.server.url})
        self.assertEqual(self.consents(), [])


class Ends(Scene):
    def test_refresh_tokens_rotate_and_a_second_use_ends_all(self):
        client, first = self.tokens()
        status, second = self.refresh(client, first["refresh_token"])
        self.assertEqual(status, 200)
        self.assertNotEqual(second["refresh_token"], first["refresh_token"])
        self.assertNotEqual(self.status_of(second["access_token"]), 401)
        self.assert_error(self.refresh(client, first["refresh_token"]), 400, "invalid_grant")
        for tokens in (first, second):
            self.assertEqual(self.status_of(tokens["access_token"]), 401)
        self.assert_error(self.refresh(client, second["refresh_token"]), 400, "invalid_grant")
        self.assertEqual(self.consents(), [])
        self.assertIn("used twice", json.dumps(self.recorded()[-1]))

    def test_a_revoked_consent_ends_requests_and_streams_at_once(self):
        _, tokens = self.tokens()
        agent = Agent(self.server, tokens["access_token"])
        stream = Stream(self.server, "/mcp", agent.headers | {"Accept": "text/event-stream"})
        self.addCleanup(stream.close)
        self.assertEqual(stream.answer.status, 200)
        [consent] = self.consents()
        path = "/api/consents/" + consent["id"]
        self.assertEqual(self.server.ask("DELETE", path, None, self.browser)[0], 403)
        self.assertEqual(self.server.ask("DELETE", "/api/consents/999", None, self.browser | OURS)[0], 404)
        self.assertEqual(self.server.ask("DELETE", path, None, self.browser | OURS)[0], 200)
        self.assertEqual(self.status_of(tokens["access_token"]), 401)
        self.assertIsNone(stream.next())
        self.assertEqual(self.server.ask("DELETE", path, None, self.browser | OURS)[0], 404)

    def test_a_client_revokes_its_token(self):
        for kind in ("access_token", "refresh_token"):
            client, tokens = self.tokens()
            other = self.register()

            def revoke(by, token):
                return self.server.ask("POST", "/oauth/revoke", urllib.parse.urlencode(
                    {"token": token, "client_id": by["client_id"]}), FORM)[0]

            self.assertEqual(revoke(client, "unknown"), 200)
            self.assertEqual(revoke(other, tokens[kind]), 200)  # says nothing, does nothing
            self.assertNotEqual(self.status_of(tokens["access_token"]), 401)
            self.assertEqual(revoke(client, tokens[kind]), 200)
            self.assertEqual(self.status_of(tokens["access_token"]), 401)
            self.assert_error(self.refresh(client, tokens["refresh_token"]), 400, "invalid_grant")

    def test_tokens_expire(self):
        client, tokens = self.tokens()
        self.change_store("UPDATE oauth_tokens SET expires_ms=1 WHERE kind=1")
        self.assertEqual(self.status_of(tokens["access_token"]), 401)
        status, tokens = self.refresh(client, tokens["refresh_token"])
        self.assertEqual(status, 200)
        self.change_store("UPDATE oauth_tokens SET expires_ms=1 WHERE kind=2")
        self.assert_error(self.refresh(client, tokens["refresh_token"]), 400, "invalid_grant")
        self.assertNotEqual(self.status_of(tokens["access_token"]), 401)  # it came late, and was not stolen
        self.change_store("UPDATE oauth_grants SET created_ms=1")
        self.assertEqual(self.status_of(tokens["access_token"]), 401)
        self.assertEqual(self.consents(), [])

    def test_a_removed_user_takes_tokens_along(self):
        subprocess.run([GATEHOUSE, "user", "--state-dir", self.state, "add", "anna"], input="correct horse battery\n",
                       text=True, env=clean_environment(), check=True, capture_output=True, timeout=PATIENCE)
        owner, self.browser = self.browser, self.server.cookie("anna", "correct horse battery")
        _, tokens = self.tokens()
        [consent] = self.consents()
        anna, self.browser = self.browser, owner
        self.assertEqual(self.consents(), [])  # of the owner
        self.assertEqual(self.server.ask("DELETE", "/api/consents/" + consent["id"], None, owner | OURS)[0], 404)
        self.assertNotEqual(self.status_of(tokens["access_token"]), 401)
        self.browser = anna
        subprocess.run([GATEHOUSE, "user", "--state-dir", self.state, "remove", "anna"], env=clean_environment(),
                       check=True, capture_output=True, timeout=PATIENCE)
        self.assertEqual(self.status_of(tokens["access_token"]), 401)


class Hostile(Scene):
    def test_a_code_works_once_and_its_second_use_ends_all(self):
        client = self.register()
        code = self.allow(client)["code"]
        _, tokens = self.exchange(client, code)
        self.assertNotEqual(self.status_of(tokens["access_token"]), 401)
        self.assert_error(self.exchange(client, code), 400, "invalid_grant")
        self.assertEqual(self.status_of(tokens["access_token"]), 401)
        self.assert_error(self.refresh(client, tokens["refresh_token"]), 400, "invalid_grant")

    def test_a_code_needs_its_proof_its_address_and_its_client(self):
        client, other = self.register(BACK, BACK + "2"), self.register()
        for wrong in ({"code_verifier": "x" * 43}, {"code_verifier": challenge_of(VERIFIER)},
                      {"redirect_uri": BACK + "2"}, {"client_id": other["client_id"]}):
            with self.subTest(wrong=wrong):
                code = self.allow(client)["code"]
                self.assert_error(self.exchange(client, code, **wrong), 400, "invalid_grant")
                # It may be stolen, so it is worth nothing from now on.
                self.assert_error(self.exchange(client, code), 400, "invalid_grant")
        for missing in ("code_verifier", "redirect_uri"):
            answer = self.exchange(client, self.allow(client)["code"], **{missing: None})
            self.assert_error(answer, 400, "invalid_request")
        self.assert_error(self.exchange(client, None), 400, "invalid_request")
        code = self.allow(client)["code"]
        self.assert_error(self.exchange(client, code, client_id="app_unknown"), 401, "invalid_client")
        self.assert_error(self.exchange(client, code, client_id=None), 401, "invalid_client")
        self.assert_error(self.exchange(client, code, grant_type="password"), 400, "unsupported_grant_type")
        self.assert_error(self.exchange(client, code, resource="https://other.example/mcp"), 400, "invalid_target")
        self.assertEqual(self.exchange(client, code)[0], 200)

    def test_a_code_expires(self):
        client = self.register()
        code = self.allow(client)["code"]
        self.change_store("UPDATE oauth_tokens SET expires_ms=1")
        self.assert_error(self.exchange(client, code), 400, "invalid_grant")

    def test_a_refresh_token_is_its_clients_and_gives_no_more(self):
        client, tokens = self.tokens()
        self.assert_error(self.refresh(client, tokens["refresh_token"], scope="read shell"), 400, "invalid_scope")
        self.assert_error(self.refresh(client, tokens["access_token"]), 400, "invalid_grant")
        self.assert_error(self.refresh(self.register(), tokens["refresh_token"]), 400, "invalid_grant")
        self.assertEqual(self.status_of(tokens["access_token"]), 401)  # it was stolen

    def test_what_the_page_asks_is_checked_and_nobody_is_sent_anywhere(self):
        client = self.register(BACK, "http://127.0.0.1/cb")
        for wrong, error, returns in (
                ({"client_id": "app_unknown"}, "invalid_client", False),
                ({"client_id": None}, "invalid_client", False),
                ({"redirect_uri": "https://evil.example/back"}, "invalid_redirect_uri", False),
                ({"redirect_uri": BACK + "/../evil"}, "invalid_redirect_uri", False),
                ({"redirect_uri": "http://localhost:1/cb"}, "invalid_redirect_uri", False),
                ({"redirect_uri": "javascript:alert(1)"}, "invalid_redirect_uri", False),
                ({"redirect_uri": None}, "invalid_redirect_uri", False),
                ({"response_type": "token"}, "unsupported_response_type", True),
                ({"code_challenge": None}, "invalid_request", True),
                ({"code_challenge_method": "plain"}, "invalid_request", True),
                ({"code_challenge_method": None}, "invalid_request", True),
                ({"resource": "https://other.example/mcp"}, "invalid_target", True),
                ({"resource": self.server.url}, "invalid_target", True),
                ({"scope": "root"}, "invalid_scope", True)):
            with self.subTest(wrong=wrong):
                query = self.request(client, **wrong)
                asked = self.asked(query)
                self.assertEqual(asked["error"], error)
                self.assertEqual("redirect" in asked, returns)
                if returns:
                    self.assertTrue(asked["redirect"].startswith(BACK + "?error=" + error))
                self.assert_error(self.decide(query), 400, error)
                status, headers, _ = self.server.ask("GET", "/oauth/authorize?" + query)
                self.assertEqual((status, headers["Location"]), (200, None))
        self.assertIn("error", self.asked(self.request(client) + "&state=2"))
        asked = self.asked(self.request(client, redirect_uri="http://127.0.0.1:49999/cb", resource=None, scope=None))
        self.assertEqual((asked["host"], asked["isLocal"], len(asked["groups"])), ("127.0.0.1", True, 6))

    def test_only_its_user_decides_on_our_own_page(self):
        query = self.request(self.register())
        self.assertEqual(self.server.ask("GET", "/api/consent?" + query)[0], 401)
        self.assertEqual(self.decide(query, headers=OURS)[0], 401)
        self.assertEqual(self.decide(query, headers=self.browser)[0], 403)
        for more in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
                     {"Sec-Fetch-Site": "same-site"}):
            self.assertEqual(self.decide(query, headers=self.browser | OURS | more)[0], 403)
        for groups in ((), ("shell",), ("read", "shell"), ("root",), (1,), None, "read"):
            self.assert_error(self.decide(query, groups), 400, "invalid_scope")
        _, headers, _ = self.server.ask("GET", "/oauth/authorize?" + query)
        self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])
        self.assertEqual(headers["Referrer-Policy"], "no-referrer")
        # Whoever opened the window is cut off from it; who typed the address needs that not.
        for site, policy in (({}, "same-origin"), ({"Sec-Fetch-Site": "cross-site"}, "same-origin"),
                             ({"Sec-Fetch-Site": "same-site"}, "same-origin"), ({"Sec-Fetch-Site": "none"}, None)):
            _, headers, _ = self.server.ask("GET", "/oauth/authorize?" + query, None, site)
            self.assertEqual(headers["Cross-Origin-Opener-Policy"], policy)

    def test_registrations_are_checked(self):
        def register(body):
            return self.server.ask("POST", "/oauth/register", body, {"Content-Type": "application/json"})

        for redirects in ([], None, "x", [1], ["http://app.example/"], ["https://a.example/#x"], ["javascript:1"],
                          ["https://user@a.example/"], ["https://a.example/" + "x" * 600],
                          ["https://a.example/"] * 9):
            self.assert_error(register({"redirect_uris": redirects}), 400, "invalid_redirect_uri")
        self.assert_error(register({"redirect_uris": [BACK], "grant_types": ["client_credentials"]}), 400,
                          "invalid_client_metadata")
        self.assert_error(register("[]"), 400, "invalid_client_metadata")
        self.assert_error(register("{"), 400, "invalid_client_metadata")
        self.assertEqual(register({"redirect_uris": [BACK], "client_name": "x" * 40000})[0], 413)
        evil = "<img src=x onerror=alert(1)>\u202e\n\x1b[31m" + "y" * 300
        client = self.register(client_name=evil)
        self.assertNotIn("\u202e", client["client_name"])
        self.assertNotIn("\n", client["client_name"])
        self.assertLess(len(client["client_name"]), 104)
        # As the page itself is called in questions.
        self.assertEqual(self.register(client_name=" This page ")["client_name"], "An app without a name")

    def test_a_flood_of_registrations_is_stopped(self):
        body = json.dumps({"redirect_uris": [BACK]})
        statuses = [self.server.ask("POST", "/oauth/register", body, {})[0] for _ in range(30)]
        self.assertEqual(sorted(set(statuses)), [201, 429])
        self.assertLessEqual(statuses.count(201), 21)

    def test_a_client_that_refreshes_all_the_time_is_stopped(self):
        client, tokens = self.tokens()
        statuses = []
        while len(statuses) < 40 and (not statuses or statuses[-1] == 200):
            status, answer = self.refresh(client, tokens["refresh_token"])
            statuses.append(status)
            tokens = answer if status == 200 else tokens
        self.assertEqual(statuses[-1], 429)
        self.assertNotEqual(self.status_of(tokens["access_token"]), 401)

    def test_guessing_is_stopped(self):
        client = self.register()
        statuses = set()
        while 429 not in statuses and len(statuses) < 3:
            statuses.add(self.exchange(client, "gac_guess")[0])
        self.assertEqual(statuses, {400, 429})

    def test_forms_are_read_strictly(self):
        client = self.register()
        code = self.allow(client)["code"]
        body = urllib.parse.urlencode({"grant_type": "authorization_code", "client_id": client["client_id"],
                                       "code": code, "redirect_uri": BACK, "code_verifier": VERIFIER})
        for text, headers in ((body, {}), (body, {"Content-Type": "application/json"}), (body + "&code=x", FORM),
                              (body + "&client_id=%zz", FORM), (body + "&client_id=%00", FORM)):
            answer = self.server.ask("POST", "/oauth/token", text, headers)
            self.assert_error(answer, 400, "invalid_request")
        self.assertEqual(self.server.ask("POST", "/oauth/token", body, FORM | {"Origin": "https://evil.example"})[0], 403)
        self.assertEqual(self.server.ask("GET", "/oauth/token?" + body)[0], 405)
        self.assertEqual(self.server.ask("POST", "/oauth/token", body, FORM)[0], 200)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
