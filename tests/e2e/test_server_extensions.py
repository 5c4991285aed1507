#!/usr/bin/env python3
"""What gatehouse serve and gatehouse connect say to each other beyond the gateway protocol.

    test_server_extensions.py GATEHOUSE
"""
import json
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # not into the sources
from server_scene import N8N, OURS, PATIENCE, SEED, Agent, Stream, clean_environment
from test_server import GATEHOUSE, Scene, wait_until
from watched_terminal import WatchedTerminal

EXTENSIONS = {"gatehouse": 1}
HAS_BOXES = subprocess.run([GATEHOUSE, "sandbox", "check"], capture_output=True,
                           check=False).returncode == 0


class Extensions(Scene):
    def settle(self, **rules):
        """Rules that the user has stored."""
        settings = self.home / ".n8n-gateway"
        settings.mkdir(mode=0o700)
        (settings / "settings.json").write_text(json.dumps({"resourcePermissions": rules}))
        (settings / "settings.json").chmod(0o600)

    def ready(self, *arguments):
        self.server = self.serve()
        self.daemon = self.connect(self.server, *arguments)
        self.agent = self.agent(self.server, self.add_agent())
        wait_until(self.agent.tools, "the daemon's tools")
        self.browser = {**self.server.log_in(), **OURS}

    def query(self, query, status=200, **arguments):
        answer = self.server.ask("POST", "/api/query", {"query": query, "arguments": arguments},
                                 self.browser)
        self.assertEqual(answer[0], status, answer[2])
        return answer[2]


class Negotiation(Extensions):
    def init(self, server, token, **more):
        machine_body = {"rootPath": "/", "tools": [], **more}
        return server.ask("POST", "/rest/instance-ai/gateway/init", machine_body,
                          {"X-Gateway-Key": token})[2]["data"]

    def test_the_server_answers_only_those_who_announce_them(self):
        server = self.serve()
        answer = self.init(server, server.token, extensions=EXTENSIONS)
        self.assertEqual(answer["extensions"], EXTENSIONS)
        for other in ({}, {"extensions": {"gatehouse": 2}}, {"extensions": {"other": 1}}):
            self.assertNotIn("extensions", self.init(server, answer["sessionKey"], **other))

    def test_a_machine_that_comes_back_tells_its_questions_again(self):
        server = self.serve()
        browser = {**server.log_in(), **OURS}
        headers = {"X-Gateway-Key": self.init(server, server.token, extensions=EXTENSIONS)["sessionKey"]}
        first = Stream(server, N8N + "events", headers)
        event = {"type": "question", "questionId": "1", "toolGroup": "g", "resource": "r",
                 "description": "d", "options": ["allowOnce"]}
        self.assertEqual(server.ask("POST", N8N + "extension", {"events": [event]}, headers)[0], 200)

        def questions():
            return server.ask("GET", "/api/state", None, browser)[2]["questions"]
        self.assertEqual(len(questions()), 1)
        first.close()
        self.addCleanup(Stream(server, N8N + "events", headers).close)
        self.assertEqual(questions(), [])  # it may have been killed, and is another one now

    def test_a_machine_without_them_gets_no_queries(self):
        server = self.serve()
        machine = self.machine(server, server.token)
        status, _, answer = server.ask("POST", "/api/query", {"query": "session"},
                                       {**server.log_in(), **OURS})
        self.assertEqual(status, 501, answer)
        self.assertIn("another program", answer["message"])
        self.assertEqual(machine.post("extension", {"events": []})[0], 400)


class Credentials(Scene):
    BODY = {"name": "mail", "type": "smtp", "data": {"password": "pass-word"}, "projectId": "p"}

    def test_a_machine_stores_one_and_the_user_removes_it(self):
        for prefix in (N8N, SEED):
            with self.subTest(prefix=prefix):
                server = self.serve()
                browser = {**server.log_in(), **OURS}
                link = server.ask("POST", N8N + "create-link", {}, browser)[2]["data"]
                machine = self.machine(server, link["token"])
                machine.prefix = prefix
                status, _, answer = machine.post("credentials", self.BODY)
                self.assertEqual(status, 200, answer)
                answer = answer["data"] if prefix == N8N else answer
                stored, = server.ask("GET", "/api/credentials", None, browser)[2]["credentials"]
                self.assertEqual(stored.pop("id"), answer["credentialId"])
                self.assertGreater(stored.pop("createdAt"), 0)
                self.assertEqual(stored, {"name": "mail", "type": "smtp"})  # no data
                large = self.BODY | {"data": {"x": "y" * (64 << 10)}}
                self.assertEqual(machine.post("credentials", large)[0], 413)
                where = "/api/credentials/" + answer["credentialId"]
                self.assertEqual(server.ask("DELETE", where, None, browser)[0], 200)
                wait_until(lambda: not server.ask("GET", "/api/credentials", None,
                                                  browser)[2]["credentials"], "its end")
                machine.stream.close()
                server.end()

    def test_the_static_key_cannot(self):
        key = "a-static-key-of-a-server"
        server = self.serve(N8N_INSTANCE_AI_GATEWAY_API_KEY=key)
        headers = {"X-Gateway-Key": key}
        server.ask("POST", N8N + "init", {"rootPath": "/", "tools": []}, headers)
        self.assertEqual(server.ask("POST", N8N + "credentials", self.BODY, headers)[0], 403)


class Queries(Extensions):
    def test_the_session(self):
        self.ready("--permission-filesystem-write", "ask")
        session = self.query("session")
        self.assertEqual(session["folder"], str(self.folder))
        self.assertEqual(session["modes"]["filesystemWrite"], "ask")
        self.assertEqual(session["modes"]["shell"], "deny")
        self.assertEqual(session["asks"], "instance")
        self.assertFalse(session["allowRemoteAlways"])

    def test_the_session_with_several_folders(self):
        second = self.home / "second"
        second.mkdir()
        (second / "two.txt").write_text("2")
        self.ready("--ro", second)
        session = self.query("session")
        self.assertEqual(session["folder"], str(self.folder))
        self.assertEqual(session["otherFolders"], [{"path": str(second), "access": "read"}])
        self.assertEqual(self.agent.call("read_file", {"filePath": f"{second}/two.txt"})["result"]
                         ["structuredContent"]["content"], "2")
        self.agent.call("read_file", {"filePath": "a.txt"})
        self.assertEqual([(call["what"], call.get("folder")) for call in self.query("audit")["calls"]],
                         [("a.txt", None), ("two.txt", str(second))])

    def test_only_the_page_may_ask(self):
        self.ready()
        for headers, status in (({}, 401), ({"Cookie": self.browser["Cookie"]}, 403),
                                (self.agent.headers, 401), (self.agent.headers | OURS, 401)):
            answer = self.server.ask("POST", "/api/query", {"query": "session"}, headers)
            self.assertEqual(answer[0], status, answer)
        for body in ({}, {"query": 1}, {"query": "session", "arguments": []}):
            self.assertEqual(self.server.ask("POST", "/api/query", body, self.browser)[0], 400)
        self.assertIn("cannot be asked", self.query("secrets", status=500)["message"])

    def test_calls_are_found_in_the_audit_log(self):
        self.ready()
        for number in range(3):
            self.agent.call("read_file", {"filePath": "a.txt", "startLine": number})
        self.agent.call("read_file", {"filePath": "missing"})
        self.agent.call("list_files", {"dirPath": "."})
        found = self.query("audit")
        self.assertFalse(found["more"])
        self.assertEqual([call["tool"] for call in found["calls"]],
                         ["list_files"] + 4 * ["read_file"])
        self.assertEqual(found["calls"][1]["what"], "missing")
        self.assertEqual(found["calls"][1]["outcome"], "failed")
        self.assertEqual(found["calls"][2]["decision"], "mode")
        self.assertEqual(len(self.query("audit", text="A.TXT")["calls"]), 3)
        self.assertEqual(self.query("audit", text="nothing like it")["calls"], [])
        self.assertEqual(len(self.query("audit", tool="list_files")["calls"]), 1)
        page = self.query("audit", limit=2, **{"from": 1})
        self.assertEqual([call["what"] for call in page["calls"]], ["missing", "a.txt"])
        self.assertTrue(page["more"])
        self.assertEqual(self.query("audit", until=1)["calls"], [])

    def test_the_audit_log_has_the_name_of_the_agents_key(self):
        self.ready()
        names = ["ci", "n8n.example@x", "long" * 16]
        for name in names:
            agent = self.agent if name == "ci" else Agent(self.server, self.add_agent(name))
            agent.call("read_file", {"filePath": "a.txt"})
        # Neither what the client calls itself nor what it writes beside the arguments changes that.
        self.agent.post("tools/call", {"name": "read_file", "arguments": {"filePath": "a.txt"}, "agent": "other",
                                       "_meta": {"agent": "other"}})
        expected = [f"{name}@127.0.0.1" for name in ("ci", "long" * 8 + "...", "n8n.example_x", "ci")]
        self.assertEqual([call["client"] for call in self.query("audit")["calls"]], expected)
        shown = subprocess.run([GATEHOUSE, "audit", "--state-dir", self.room / "daemon"], env=clean_environment(),
                               capture_output=True, text=True, timeout=PATIENCE)
        for client in expected:
            self.assertIn(client, shown.stdout, shown.stderr)

    def test_calls_of_the_page_have_the_servers_host(self):
        self.ready()
        self.assertEqual(self.server.ask("POST", "/api/call", {"name": "read_file", "arguments": {"filePath": "a.txt"}},
                                         self.browser)[0], 200)
        self.assertEqual([call["client"] for call in self.query("audit")["calls"]], ["127.0.0.1"])

    def test_calls_in_other_folders_are_not_shown(self):
        self.ready()
        self.agent.call("read_file", {"filePath": "a.txt"})
        log = self.room / "daemon" / "audit.jsonl.reads"
        wait_until(lambda: '"call"' in log.read_text(), "the record")
        with log.open("a") as file:
            file.write(log.read_text().replace(str(self.folder), "/elsewhere"))
        self.assertEqual(len(self.query("audit")["calls"]), 1)

    def test_allow_rules_can_be_revoked_and_deny_rules_not(self):
        self.settle(filesystemWrite={"allow": ["/x/allowed"], "deny": ["/x/denied"]})
        self.ready()
        answer = self.query("rules")
        self.assertFalse(answer["mayRevokeDeny"])
        rules = {rule["effect"]: rule for rule in answer["rules"]}
        self.assertEqual(rules["allow"]["match"], "/x/allowed")
        refusal = self.query("rules", status=500, revoke=rules["deny"]["id"])
        self.assertIn("--allow-remote-always", refusal["message"])
        left = self.query("rules", revoke=rules["allow"]["id"])["rules"]
        self.assertEqual([rule["effect"] for rule in left], ["deny"])
        self.assertIn("/x/denied", (self.home / ".n8n-gateway/settings.json").read_text())
        self.assertIn("no rule", self.query("rules", status=500, revoke="0123456789")["message"])

    def test_deny_rules_go_if_the_user_allowed_that_at_the_start(self):
        self.settle(filesystemWrite={"allow": [], "deny": ["/x/denied"]})
        self.ready("--allow-remote-always")
        rule, = self.query("rules")["rules"]
        self.assertEqual(self.query("rules", revoke=rule["id"])["rules"], [])

    @unittest.skipUnless(HAS_BOXES, "cannot sandbox commands on this machine")
    def test_background_commands_are_listed_and_stopped(self):
        self.ready("--permission-shell", "allow")
        self.assertEqual(self.query("jobs")["jobs"], [])
        job = self.agent.call("shell_start", {"command": "echo hello; sleep 1000"})
        job = job["result"]["structuredContent"]["jobId"]
        wait_until(lambda: self.query("jobs")["jobs"][0]["outputBytes"], "its output")
        listed, = self.query("jobs")["jobs"]
        self.assertEqual((listed["jobId"], listed["state"]), (job, "running"))
        self.assertEqual(self.query("jobs", stop=job)["jobs"][0]["jobId"], job)
        wait_until(lambda: self.query("jobs")["jobs"][0]["state"] == "ended", "its end")
        self.assertEqual(self.query("jobs")["jobs"][0]["signal"], "TERM")
        # What it printed is still the agent's.
        output = self.agent.call("shell_output", {"jobId": job})
        self.assertEqual(output["result"]["structuredContent"]["output"], "hello\n")
        self.assertIn("no such job", self.query("jobs", status=500, stop="job9")["message"])
        stops = self.query("audit", tool="shell_stop")["calls"]
        self.assertEqual(stops[-1]["decision"], "user")

    @unittest.skipUnless(HAS_BOXES, "cannot sandbox commands on this machine")
    def test_the_page_sees_what_commands_print(self):
        self.ready("--permission-shell", "allow")
        page = Stream(self.server, "/api/events", self.browser)
        self.addCleanup(page.close)
        self.query("jobs")  # somebody looks
        job = self.agent.call("shell_start", {"command": "echo one; read line; echo two"})
        job = job["result"]["structuredContent"]["jobId"]

        def output():
            event = page.next()
            while "jobId" not in event:
                event = page.next()
            return event

        first = output()
        self.assertEqual(first, {"jobId": job, "from": 0, "data": "one\n", "state": "running"})
        self.assertEqual(self.query("jobs", output=job), first)
        self.agent.call("shell_input", {"jobId": job, "text": "go\n"})
        text, last = "", output()
        while last["state"] == "running":
            text, last = text + last["data"], output()
        self.assertEqual(text + last["data"], "two\n")
        self.assertEqual(self.query("jobs", output=job, **{"from": 4})["data"], "two\n")
        # The agent reads all of it, whoever looked on.
        output = self.agent.call("shell_output", {"jobId": job})["result"]["structuredContent"]
        self.assertEqual(output["output"], "one\ntwo\n")
        self.assertIn("no such job", self.query("jobs", status=500, output="job9")["message"])

    def test_the_page_learns_what_decided_a_call(self):
        self.ready()
        self.agent.call("read_file", {"filePath": "a.txt"})

        def calls():
            return self.server.ask("GET", "/api/state", None, self.browser)[2]["calls"]

        wait_until(lambda: "decision" in calls()[-1], "the machine's own news")
        self.assertEqual((calls()[-1]["decision"], calls()[-1]["rule"]), ("mode", "filesystemRead: allow"))

    def test_the_page_learns_which_rule_refused_a_call(self):
        settings = self.home / ".n8n-gateway"
        settings.mkdir(mode=0o700)
        (settings / "settings.json").write_text(json.dumps(
            {"resourcePermissions": {"shell": {"deny": ["ls"]}}}))
        (settings / "settings.json").chmod(0o600)
        self.ready("--permission-shell", "allow")
        self.assertTrue(self.agent.call("shell_execute", {"command": "ls"})["result"]["isError"])

        def last():
            return self.server.ask("GET", "/api/state", None, self.browser)[2]["calls"][-1]

        wait_until(lambda: "decision" in last(), "the machine's own news")
        self.assertEqual((last()["decision"], last()["rule"]), ("deny-rule", "ls"))

    def test_without_commands_there_are_no_jobs(self):
        self.ready()
        self.assertEqual(self.query("jobs"), {"jobs": []})


def is_running(call):
    return "outcome" not in call


@unittest.skipUnless(HAS_BOXES, "cannot sandbox commands on this machine")
class Cancelling(Extensions):
    """A command that nobody waits for is killed: its record is written when it has ended."""

    def begin(self, command, **meta):
        self.ready("--permission-shell", "allow")
        params = {"name": "shell_execute", "arguments": {"command": command, "timeout": 600000}}
        message = self.agent.message("tools/call", params | ({"_meta": meta} if meta else {}))
        stream = Stream(self.server, "/mcp", self.agent.headers, json.dumps(message))
        self.addCleanup(stream.close)
        wait_until(lambda: any(map(is_running, self.calls())), "the call")
        return message["id"], stream

    def calls(self):
        return self.server.ask("GET", "/api/state", None, self.browser)[2]["calls"]

    def assert_killed(self):
        wait_until(lambda: self.query("audit", tool="shell_execute")["calls"], "its end")
        record, = self.query("audit", tool="shell_execute")["calls"]
        self.assertEqual((record["outcome"], record["error"]), ("failed", "cancelled"))

    def test_the_client_cancels(self):
        number, _ = self.begin("sleep 1000")
        self.server.ask("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/cancelled",
                                         "params": {"requestId": number}}, self.agent.headers)
        self.assert_killed()
        self.assertEqual(self.calls()[-1]["error"], "cancelled")

    def test_the_user_stops_it_on_the_page(self):
        _, stream = self.begin("sleep 1000")
        number = self.calls()[-1]["id"]
        self.assertEqual(self.server.ask("POST", "/api/stop/" + number, {}, self.browser)[0], 200)
        answer = stream.next()
        self.assertIn("the user stopped this call", answer["result"]["content"][0]["text"])
        self.assert_killed()
        for gone in (number, "999", "x"):
            self.assertEqual(self.server.ask("POST", "/api/stop/" + gone, {}, self.browser)[0], 404)

    def test_progress_reaches_the_client_and_the_page(self):
        number, stream = self.begin("until [ -e stop ]; do echo line; sleep 0.3; done", progressToken="p")
        page = Stream(self.server, "/api/events", self.browser)
        self.addCleanup(page.close)
        told = stream.next()
        while told.get("method") != "notifications/progress":
            told = stream.next()
        self.assertEqual(told["params"]["progressToken"], "p")
        self.assertIn("line", told["params"]["message"])
        event = page.next()
        while "progress" not in event:
            event = page.next()
        self.assertIn("line", event["progress"])
        (self.folder / "stop").touch()
        while "result" not in told:
            told = stream.next()
        self.assertEqual(told["id"], number)


class Questions(WatchedTerminal, Extensions):
    """The daemon has a terminal, and asks there and on the page at once."""

    def begin(self, *arguments):
        self.server = self.serve()
        self.browser = {**self.server.log_in(), **OURS}
        process = subprocess.Popen(
            [GATEHOUSE, "connect", self.server.url, self.server.token, self.folder, "--port", "0",
             "--auto-confirm", "--state-dir", self.room / "daemon", "--no-notifications",
             "--permission-filesystem-write", "ask", *arguments],
            env=clean_environment(HOME=str(self.home), TERM="dumb"), stdin=self.terminal,
            stdout=self.terminal, stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.agent = self.agent(self.server, self.add_agent())
        wait_until(self.agent.tools, "the daemon's tools")
        return process

    def ask(self, name):
        stream = self.agent.begin("write_file", {"filePath": name, "content": "x"})
        self.addCleanup(stream.close)
        self.see(name)
        return stream, self.question(name)

    def questions(self):
        return self.server.ask("GET", "/api/state", None, self.browser)[2]["questions"]

    def question(self, name):
        def named():
            return [question for question in self.questions() if name in question["resource"]]
        wait_until(named, "the question on the page")
        return named()[0]

    def answer(self, question, answer):
        return self.server.ask("POST", "/api/questions/" + question["id"], {"answer": answer},
                               self.browser)[0]

    def test_the_page_answers_and_the_terminal_is_told(self):
        self.begin()
        stream, question = self.ask("b.txt")
        self.assertEqual(question["options"], ["denyOnce", "allowOnce", "allowForSession"])
        self.assertIn("b.txt", question["description"])
        self.assertEqual(question["agent"], "ci")
        self.see("ci@127.0.0.1")
        self.assertEqual(self.answer(question, "alwaysAllow"), 400)
        self.assertEqual(self.answer(question, "allowOnce"), 200)
        self.assertNotIn("isError", stream.next()["result"])
        self.assertEqual((self.folder / "b.txt").read_text(), "x")
        self.see("Answered elsewhere")
        self.assertEqual(self.answer(question, "allowOnce"), 404)
        self.assertEqual(self.query("audit", tool="write_file")["calls"][0]["decision"], "user")

    def test_the_terminal_answers_and_the_page_is_told(self):
        self.begin()
        page = Stream(self.server, "/api/events", self.browser)
        self.addCleanup(page.close)
        stream, question = self.ask("c.txt")
        self.press_until(b"\n", lambda: not self.questions())  # denied once, the default
        self.assertTrue(stream.next()["result"]["isError"])
        event = page.next()
        while "by" not in event:
            event = page.next()
        self.assertEqual((event["id"], event["by"]), (question["id"], "the machine"))
        self.assertEqual(self.answer(question, "allowOnce"), 404)
        self.assertFalse((self.folder / "c.txt").exists())

    def test_a_question_goes_with_its_call_and_with_the_machine(self):
        process = self.begin()
        stream, _ = self.ask("d.txt")
        stream.close()  # the agent gave up
        wait_until(lambda: not self.questions(), "no question")
        self.ask("e.txt")
        process.kill()
        self.server.ask("POST", "/rest/instance-ai/gateway/disconnect-session", {}, self.browser)
        self.assertEqual(self.questions(), [])

    def test_a_server_that_was_restarted_is_told_again(self):
        self.begin()
        self.ask("f.txt")
        self.server.end(signal.SIGKILL)
        self.server = self.serve(port=self.server.port)
        self.browser = {**self.server.log_in(), **OURS}
        self.question("f.txt")

    def test_always_where_the_user_allowed_that_at_the_start(self):
        self.begin("--allow-remote-always")
        stream, question = self.ask("g.txt")
        self.assertIn("alwaysAllow", question["options"])
        self.assertEqual(self.answer(question, "alwaysAllow"), 200)
        self.assertNotIn("isError", stream.next()["result"])
        self.assertIn("g.txt", self.query("rules")["rules"][0]["match"])

    def test_what_may_not_be_read_is_not_shown_to_the_server(self):
        (self.folder / "secret.txt").write_text("the old words")
        self.begin("--permission-filesystem-read", "ask")
        self.agent.begin("edit_file", {"filePath": "secret.txt", "oldString": "old", "newString": "new"})
        question = self.question("secret.txt")
        self.see("the old words")
        self.assertNotIn("words", json.dumps(question))
        self.assertIn("shown on the machine only", question["description"])


class RemoteAlways(Extensions):
    def test_a_daemon_without_a_terminal_offers_always_too(self):
        self.ready("--permission-filesystem-write", "ask", "--allow-remote-always")
        page = Stream(self.server, "/api/events", self.browser)
        self.addCleanup(page.close)
        stream = self.agent.begin("write_file", {"filePath": "b.txt", "content": "x"})
        self.addCleanup(stream.close)
        question = page.next()
        while "options" not in question:
            question = page.next()
        self.assertIn("alwaysAllow", question["options"])
        self.server.ask("POST", "/api/questions/" + question["id"], {"answer": "alwaysAllow"},
                        self.browser)
        self.assertNotIn("isError", stream.next()["result"])
        self.assertEqual(len(self.query("rules")["rules"]), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
