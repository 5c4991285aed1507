#!/usr/bin/env python3
"""gatehouse serve: the gateway's endpoints, logins, agents, and what survives a restart.

Arguments: gatehouse, and what unittest takes.
"""
import json
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
from free_port import free_port
from server_scene import (Agent, Machine, N8N, OURS, PATIENCE, SEED, Server, Stream,
                          clean_environment)

GATEHOUSE = str(pathlib.Path(sys.argv[1]).resolve())
RESULT = {"content": [{"type": "text", "text": "hi"}]}


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not in time: {what}")
        time.sleep(0.02)


class Scene(unittest.TestCase):
    def setUp(self):
        room = tempfile.TemporaryDirectory()
        self.addCleanup(room.cleanup)
        self.room = pathlib.Path(room.name)
        self.state = self.room / "state"
        self.home = self.room / "home"
        self.folder = self.room / "folder"
        self.home.mkdir()
        self.folder.mkdir()
        (self.folder / "a.txt").write_text("hello\n")

    def serve(self, *arguments, port=None, **environment):
        """On a port that is still free when it comes back."""
        server = Server(GATEHOUSE, self.state, port or free_port(), arguments, **environment)
        self.addCleanup(server.close)
        return server

    def serve_with_log(self, *arguments):
        """The server, and a function that returns what it has logged: a dictionary for each line."""
        path = self.room / "log"
        with path.open("wb") as log:
            server = self.serve("--log-format", "json", *arguments, log=log)
        return server, lambda: [json.loads(line) for line in path.read_text("ascii").splitlines(True)
                                if line.endswith("\n")]

    def connect(self, server, *arguments, token=None, **environment):
        """The real daemon."""
        process = subprocess.Popen(
            [GATEHOUSE, "connect", server.url, token or server.token, self.folder, "--port", "0",
             "--auto-confirm", "--non-interactive", "--state-dir", self.room / "daemon",
             *arguments],
            env=clean_environment(HOME=str(self.home), **environment), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def end():
            if process.poll() is None:
                process.kill()
            process.wait()

        self.addCleanup(end)
        return process

    def add_agent(self, name="ci", *arguments):
        words = self.manage("add", name, *arguments).stdout
        return re.fullmatch(r"Authorization: Bearer (gha_\w{32})\n", words)[1]

    def manage(self, *arguments, status=0):
        result = subprocess.run([GATEHOUSE, "agent", "--state-dir", self.state, *arguments],
                                env=clean_environment(), capture_output=True, text=True,
                                timeout=PATIENCE)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def agent(self, server, key, **more):
        return Agent(server, key, **more)

    def machine(self, server, *arguments, **more):
        machine = Machine(server, *arguments, **more)
        self.assertEqual(machine.status, 200, machine.reply)
        self.addCleanup(machine.listen().close)
        return machine


class Wire(Scene):
    """Bytes and errors, as n8n's daemon expects them."""

    def test_link_status_and_disconnect_of_a_user(self):
        server = self.serve()
        user = server.log_in()
        status, headers, link = server.ask("POST", N8N + "create-link", None, user | OURS)
        self.assertEqual((status, list(link)), (200, ["data"]))
        self.assertEqual(list(link["data"]), ["token", "command", "expiresAt", "ttlSeconds"])
        self.assertEqual(link["data"]["token"], server.token)
        self.assertEqual(link["data"]["command"], f"gatehouse connect {server.url} {server.token}")
        self.assertIn(link["data"]["ttlSeconds"], range(1, 301))
        self.assertEqual(headers["Cache-Control"], "no-store")
        nobody = {"connected": False, "connectedAt": None, "directory": None,
                  "hostIdentifier": None, "toolCategories": [], "filesystemEnabled": True}
        self.assertEqual(server.ask("GET", N8N + "status", None, user)[2], {"data": nobody})
        self.assertEqual(server.ask("GET", SEED + "status", None, user)[2], nobody)
        machine = self.machine(server, server.token)
        body = server.ask("GET", N8N + "status", None, user)[2]["data"]
        self.assertEqual((body["connected"], body["directory"], body["hostIdentifier"]),
                         (True, "/home/user", "user@host"))
        answer = server.ask("POST", N8N + "disconnect-session", None, user | OURS)
        self.assertEqual(answer[2], {"data": {"ok": True}})
        self.assertEqual(machine.stream.next(), {"type": "gateway-disconnect"})
        self.assertIsNone(machine.stream.next())
        self.assertEqual(server.ask("GET", N8N + "status", None, user)[2], {"data": nobody})

    def test_a_machine_from_init_to_disconnect(self):
        server = self.serve()
        machine = self.machine(server, server.token)
        self.assertRegex(machine.key, r"^sess_\w{32}$")
        self.assertEqual(list(machine.reply["data"]), ["ok", "sessionKey"])
        headers = machine.stream.answer.headers
        self.assertEqual(headers["Content-Type"], "text/event-stream; charset=UTF-8")
        self.assertEqual(headers["Cache-Control"], "no-cache, no-transform")
        self.assertEqual(headers["X-Accel-Buffering"], "no")
        agent = self.agent(server, self.add_agent())
        stream = agent.begin("echo", {"a": "\n\ndata: x"})
        self.addCleanup(stream.close)
        event = machine.stream.next()
        self.assertRegex(event["payload"]["requestId"], r"^gw_\w{21}$")
        self.assertEqual(event, {"type": "filesystem-request", "payload": {
            "requestId": event["payload"]["requestId"],
            "toolCall": {"name": "echo", "arguments": {"a": "\n\ndata: x"}}}})
        self.assertEqual(machine.respond(event, result=RESULT)[::2], (200, {"data": {"ok": True}}))
        self.assertEqual(machine.respond(event, result=RESULT)[::2], (404, {
            "code": 404, "message": "Gateway request not found or already resolved"}))
        self.assertEqual(machine.post("disconnect", {})[::2], (200, {"data": {"ok": True}}))
        self.assertIsNone(machine.stream.next())
        self.assertEqual(machine.post("disconnect", {})[0], 403)

    def test_refusals(self):
        server = self.serve()
        machine = self.machine(server, server.token)
        for path, body, key, status, message in (
                ("init", {"rootPath": "/", "tools": []}, "", 403, "Missing API key"),
                ("init", {"rootPath": "/", "tools": []}, "gw_x", 403, "Invalid API key"),
                ("init", {"rootPath": "/", "tools": []}, server.token, 403, "Invalid API key"),
                ("init", {}, "", 400, "tools or tree is required"),
                ("init", "{", "", 400, None),
                ("init", "", "", 400, None),
                ("response/gw_1", {}, "", 400, None),
                ("response/gw_1", {"error": "x"}, "", 403, "Missing API key"),
                ("response/gw_1", {"error": "x"}, machine.key, 404, None),
                ("credentials", {}, machine.key, 400, None),
                ("credentials", {"name": "n", "type": "t", "data": {}}, "gw_x", 403, None),
                ("extension", {"events": []}, machine.key, 400, None),
                ("disconnect", {}, "x" * 257, 403, "Missing API key"),
                ("nothing", {}, machine.key, 404, "Not found"),
        ):
            with self.subTest(path=path, body=body, key=key):
                got, _, answer = machine.post(path, body, key)
                self.assertEqual((got, answer["code"]), (status, status), answer)
                if message:
                    self.assertEqual(answer["message"], message)
        self.assertEqual(server.ask("GET", N8N + "events")[0], 403)
        self.assertEqual(server.ask("GET", N8N + "events?apiKey=" + machine.key)[0], 403)
        self.assertEqual(server.ask("POST", "/rest/instance-ai/filesystem/toggle")[0], 404)

    def test_what_the_server_itself_refuses_looks_the_same(self):
        server = self.serve()
        foreign = {"Origin": "https://evil.example"}
        for path in (N8N + "init", SEED + "init", "/instance-ai/filesystem/toggle"):
            status, headers, answer = server.ask("POST", path, {}, foreign)
            self.assertEqual((status, answer["code"], list(answer)), (403, 403, ["code", "message"]), path)
            self.assertTrue(headers["Content-Type"].startswith("application/json"))
        answer = server.ask("GET", "/api/state", None, foreign)[2]
        self.assertEqual((list(answer), answer["error"]), (["error", "message"], "origin_denied"))
        answer = server.ask("POST", "/mcp", {}, foreign)[2]
        self.assertEqual((answer["jsonrpc"], answer["error"]["data"]["name"]), ("2.0", "origin_denied"))
        # A body that breaks off, or is not what its head says.
        machine = self.machine(server, server.token)
        status, _, answer = server.ask("POST", N8N + "response/gw_1", "zz\r\n",
                                       {"X-Gateway-Key": machine.key, "Transfer-Encoding": "chunked"})
        self.assertEqual((status, answer["code"]), (400, 400))
        status, _, answer = server.ask("GET", "/nowhere")
        self.assertEqual((status, list(answer["error"])), (404, ["name", "message"]))

    def test_sixteen_megabytes_and_not_more(self):
        server = self.serve()
        machine = self.machine(server, server.token)
        agent = self.agent(server, self.add_agent())
        self.addCleanup(agent.begin("echo", {}).close)
        event = machine.stream.next()
        big = "x" * (16 << 20)
        status, _, answer = machine.respond(event, result={"content": [{"type": "text", "text": big}]})
        self.assertEqual((status, answer["code"]), (413, 413))
        self.assertEqual(machine.respond(event, error=big[:-100])[0], 200)
        # Without a key, not even the body is read.
        self.assertEqual(machine.post("init", {"rootPath": big[:1 << 20]}, "gw_no")[0], 403)

    def test_the_older_dialect_with_a_tree(self):
        server = self.serve()
        early = Stream(server, SEED + "events?apiKey=" + server.token, {})
        self.addCleanup(early.close)
        tree = [{"path": "src", "type": "directory"},
                {"path": "src/a.c", "type": "file", "sizeBytes": 3}]
        status, _, reply = server.ask("POST", SEED + "init",
                                      {"rootPath": "/r", "tree": tree, "treeText": ""},
                                      {"X-Gateway-Key": server.token})
        self.assertEqual((status, reply["ok"]), (200, True))
        agent = self.agent(server, self.add_agent())
        self.assertEqual(agent.tools(), ["read_file", "list_files", "get_file_tree", "search_files"])
        listed = agent.call("list_files", {"dirPath": "src"})["result"]
        self.assertEqual(listed["structuredContent"], {"entries": tree[1:]})
        stream = agent.begin("read_file", {"filePath": "src/a.c", "maxLines": 5})
        self.addCleanup(stream.close)
        event = early.next()
        self.assertEqual(event["payload"]["operation"], "read-file")
        self.assertEqual(event["payload"]["args"], {"filePath": "src/a.c", "maxLines": 5})
        status, _, answer = server.ask("POST", SEED + "response/" + event["payload"]["requestId"],
                                       {"data": {"path": "src/a.c", "content": "int"}},
                                       {"X-Gateway-Key": reply["sessionKey"]})
        self.assertEqual((status, answer), (200, {"ok": True}))

    def test_the_static_key(self):
        server = self.serve(N8N_INSTANCE_AI_GATEWAY_API_KEY="a-static-key-of-some-length")
        machine = Machine.__new__(Machine)
        machine.server, machine.prefix, machine.key = server, N8N, "a-static-key-of-some-length"
        status, _, reply = machine.post("init", {"rootPath": "/", "tools": []})
        self.assertEqual((status, reply), (200, {"data": {"ok": True}}))
        self.addCleanup(machine.listen().close)
        self.assertEqual(machine.stream.answer.status, 200)
        self.assertEqual(machine.post("disconnect", {})[0], 200)


class Pages(Scene):
    """What a browser may do, and pages of others may not."""

    def test_a_login_link_works_once(self):
        server = self.serve()
        link = "/login?token=" + server.found(r"login_\w+")
        self.assertEqual(server.ask("HEAD", link)[0], 200)
        self.assertEqual(server.ask("GET", "/login?token=login_x")[0], 403)
        status, headers, _ = server.ask("GET", link)
        self.assertEqual((status, headers["Location"]), (303, "/"))
        self.assertRegex(headers["Set-Cookie"], r"^gatehouse_session_\d+=\w+; Path=/; Max-Age=\d+; "
                                                r"HttpOnly; SameSite=Strict$")
        status, headers, _ = server.ask("GET", link)
        self.assertEqual((status, headers["Set-Cookie"]), (403, None))

    def test_changes_need_our_own_page(self):
        server = self.serve()
        user = server.log_in()
        for headers, status in (
                ({}, 401), (user, 403), (OURS, 401), (user | OURS, 200),
                (user | OURS | {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}, 200),
                (user | OURS | {"Origin": "https://evil.example"}, 403),
                (user | OURS | {"Origin": "null"}, 403),
                (user | OURS | {"Sec-Fetch-Site": "cross-site"}, 403),
                (user | OURS | {"Sec-Fetch-Site": "same-site"}, 403),
                (user | OURS | {"Host": f"evil.example:{server.port}"}, 403),
                ({"Cookie": "gatehouse_session=x"} | OURS, 401)):
            with self.subTest(headers=headers):
                self.assertEqual(server.ask("POST", N8N + "create-link", None, headers)[0], status)
        # A page of others does not get as far as the keys of agents and machines either.
        for path in ("/mcp", N8N + "init"):
            self.assertEqual(server.ask("POST", path, "{}", {"Origin": "https://evil.example"})[0],
                             403)

    def test_logins_survive_a_restart_and_end_with_logout(self):
        server = self.serve()
        user = server.log_in()
        self.assertEqual(server.end(signal.SIGKILL), -signal.SIGKILL)
        server = self.serve()
        self.assertEqual(server.ask("GET", N8N + "status", None, user)[0], 200)
        self.assertEqual(server.ask("POST", "/logout", None, user)[0], 403)
        self.assertEqual(server.ask("POST", "/logout", None, user | OURS)[0], 200)
        wait_until(lambda: server.ask("GET", N8N + "status", None, user)[0] == 401, "logout")

    def test_files_can_be_switched_off(self):
        server = self.serve()
        user = server.log_in()
        self.machine(server, server.token, ("read_file", "echo"))
        agent = self.agent(server, self.add_agent())
        answer = server.ask("POST", "/instance-ai/filesystem/toggle", None, user | OURS)
        self.assertEqual(answer[2], {"filesystemEnabled": False})
        wait_until(lambda: agent.tools() == ["echo"], "no file tools")
        self.assertFalse(server.ask("GET", SEED + "status", None, user)[2]["filesystemEnabled"])
        self.assertEqual(server.end(), 0)
        server = self.serve()
        self.assertFalse(server.ask("GET", SEED + "status", None, user)[2]["filesystemEnabled"])
        server.ask("POST", "/instance-ai/filesystem/toggle", None, user | OURS)
        self.assertTrue(server.ask("GET", SEED + "status", None, user)[2]["filesystemEnabled"])

    def test_a_foreign_host_name_is_refused_with_what_to_do(self):
        server = self.serve()
        for path in "/", "/api/state", "/mcp", N8N + "status":
            status, _, answer = server.ask("GET", path, None, {"Host": "gate.example"})
            self.assertEqual(status, 403, path)
            self.assertIn("start it with --public-url", json.dumps(answer), path)

    def test_health(self):
        server = self.serve()
        self.assertEqual(server.ask("GET", "/healthz")[::2], (200, b"ok\n"))
        self.assertEqual(server.ask("GET", "/readyz")[::2], (200, b"ok\n"))
        self.assertEqual(server.ask("GET", "/")[0], 200)
        self.assertEqual(server.ask("GET", "/etc/passwd")[0], 404)


class Agents(Scene):
    """MCP with a key."""

    def test_keys(self):
        server = self.serve()
        self.assertEqual(server.ask("POST", "/mcp", "{}")[0], 401)
        self.assertEqual(server.ask("POST", "/mcp", "{}", {"Authorization": "Bearer x"})[0], 401)
        key = self.add_agent("ci", "--tools", "read,other")
        self.manage("add", "ci", status=1)
        self.manage("add", "a b", status=2)
        self.manage("add", "b", "--tools", "everything", status=2)
        self.assertEqual(json.loads(self.manage("list", "--json").stdout)[0]["tools"],
                         ["read", "other"])
        self.assertEqual(self.manage("list").stdout, "ci\tread,other\n")
        self.machine(server, server.token, ("read_file", "write_file", "shell_execute", "echo"))
        agent = self.agent(server, key)
        self.assertEqual(agent.tools(), ["read_file", "echo"])
        self.assertIn("error", agent.call("write_file", {}))
        self.manage("remove", "ci")
        self.manage("remove", "ci", status=1)
        status, _, refusal = agent.post("tools/list", {})
        self.assertEqual(status, 401)
        self.assertIn("unknown token, or one that was revoked: your user can", refusal["error"])

    def test_nothing_secret_is_stored(self):
        server = self.serve()
        server.log_in()
        key = self.add_agent()
        machine = self.machine(server, server.token)
        server.end()
        stored = b"".join(path.read_bytes() for path in (self.state / "server").iterdir())
        for secret in (key, machine.key, server.token, server.found(r"login_\w+")):
            self.assertNotIn(secret.encode(), stored)
        for path in (self.state, self.state / "server", *(self.state / "server").iterdir()):
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)

    def test_tools_come_and_go_with_the_machine(self):
        server = self.serve()
        agent = self.agent(server, self.add_agent())
        self.assertTrue(agent.hello["result"]["capabilities"]["tools"]["listChanged"])
        self.assertEqual(agent.tools(), [])
        notices = Stream(server, "/mcp", agent.headers)
        self.addCleanup(notices.close)
        machine = self.machine(server, server.token)
        changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        self.assertEqual(notices.next(), changed)
        self.assertEqual(agent.tools(), ["echo"])
        pending = agent.begin("echo", {})
        self.addCleanup(pending.close)
        machine.stream.next()
        machine.post("disconnect", {})
        self.assertEqual(notices.next(), changed)
        self.assertEqual(agent.tools(), [])

    def test_a_missing_tool_says_why(self):
        server = self.serve()
        agents = [self.agent(server, self.add_agent()), self.agent(server, self.add_agent("reader", "--tools", "read"))]

        def refusal(agent, tool):
            return agent.call(tool, {})["error"]["message"]

        # Not the options of a program that serves a folder itself: this one has none of them.
        self.assertEqual(refusal(agents[0], "read_file"), "read_file is not offered: no machine is connected; "
                         "your user can connect one: Gatehouse's page shows how")
        machine = self.machine(server, server.token, ("read_file", "write_file"))
        for agent, tool in ((agents[0], "shell_execute"), (agents[1], "write_file")):
            self.assertRegex(refusal(agent, tool), f"^{tool} is not offered: the user's machine does not allow it, or "
                             "the key of this agent is not for it; your user can start 'gatehouse connect' with")
        self.assertEqual(refusal(agents[0], "readFile"), 'unknown tool "readFile"; the tools are read_file, write_file')
        machine.post("disconnect", {})
        self.assertIn("no machine is connected", refusal(agents[0], "read_file"))

    def test_another_machine_takes_over(self):
        server = self.serve()
        user = server.log_in()
        first = self.machine(server, server.token)
        link = server.ask("POST", N8N + "create-link", None, user | OURS)[2]["data"]
        second = self.machine(server, link["token"], ("other",))
        self.assertEqual(first.stream.next(), {"type": "gateway-disconnect"})
        self.assertEqual(first.post("init", {"rootPath": "/", "tools": []})[0], 403)
        self.assertEqual(self.agent(server, self.add_agent()).tools(), ["other"])
        self.assertEqual(second.post("disconnect", {})[0], 200)

    def test_calls_time_out(self):
        server = self.serve("--timeout", "300ms")
        machine = self.machine(server, server.token)
        answer = self.agent(server, self.add_agent()).call("echo", {})
        self.assertTrue(answer["result"]["isError"])
        self.assertIn("did not answer", answer["result"]["content"][0]["text"])
        self.assertEqual(machine.respond(machine.stream.next(), result=RESULT)[0], 404)

    def test_calls_at_once(self):
        server = self.serve()
        machine = self.machine(server, server.token)
        agents = [self.agent(server, self.add_agent(f"a{i}")) for i in range(8)]
        answers = []

        def call(agent, number):
            answers.append((number, agent.call("echo", {"n": number})))

        threads = [threading.Thread(target=call, args=(agent, i)) for i, agent in enumerate(agents)]
        for thread in threads:
            thread.start()
        events = [machine.stream.next() for _ in threads]
        for event in reversed(events):
            machine.respond(event, result={"content": [], "structuredContent":
                                           event["payload"]["toolCall"]["arguments"]})
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual({number: answer["result"]["structuredContent"]["n"]
                          for number, answer in answers}, {i: i for i in range(8)})


class Daemon(Scene):
    """With gatehouse connect."""

    def ready(self, *arguments):
        server = self.serve()
        daemon = self.connect(server, *arguments)
        agent = self.agent(server, self.add_agent(), capabilities={"elicitation": {"form": {}}})
        wait_until(agent.tools, "the daemon's tools")
        return server, daemon, agent

    def test_a_call_from_the_agent_to_the_folder(self):
        server, daemon, agent = self.ready()
        answer = agent.call("read_file", {"filePath": "a.txt"})
        self.assertEqual(answer["result"]["structuredContent"]["content"], "hello\n")
        self.assertEqual(agent.modern("read_file", {"filePath": "a.txt"})["result"]["resultType"],
                         "complete")
        self.assertTrue(agent.call("read_file", {"filePath": "../x"})["result"]["isError"])
        daemon.send_signal(signal.SIGINT)
        self.assertEqual(daemon.wait(PATIENCE), 0)
        wait_until(lambda: not agent.tools(), "no tools without the daemon")

    def test_a_killed_server_is_found_again_without_pairing(self):
        server, _, agent = self.ready()
        token = server.token
        self.assertEqual(server.end(signal.SIGKILL), -signal.SIGKILL)
        server = self.serve(port=server.port)
        self.assertIsNone(server.token)  # its machine is known
        agent = self.agent(server, self.add_agent("again"))
        answer = agent.call("read_file", {"filePath": "a.txt"})  # waits for the stream
        self.assertEqual(answer["result"]["structuredContent"]["content"], "hello\n")
        self.assertEqual(Machine(server, token).status, 403)

    def test_questions_reach_the_agents_user(self):
        server, _, agent = self.ready("--permission-filesystem-write", "ask")
        stream = agent.begin("write_file", {"filePath": "b.txt", "content": "x",
                                            "_confirmation": "allowOnce"})
        self.addCleanup(stream.close)
        question = stream.next()
        while question is not None and question.get("method") != "elicitation/create":
            question = stream.next()
        schema = question["params"]["requestedSchema"]["properties"]["decision"]
        self.assertEqual(schema["enum"], ["Deny once", "Allow once", "Allow for this session"])
        lines = question["params"]["message"].splitlines()
        self.assertRegex(lines[0], "^filesystemWrite: Creates b.txt ")
        self.assertIn("| +x", lines)
        self.assertEqual(lines[-1], f"- {self.folder}/b.txt")
        self.assertFalse((self.folder / "b.txt").exists())
        reply = {"jsonrpc": "2.0", "id": question["id"],
                 "result": {"action": "accept", "content": {"decision": "Allow once"}}}
        self.assertEqual(server.ask("POST", "/mcp", reply, agent.headers)[0], 202)
        self.assertNotIn("isError", stream.next()["result"])
        self.assertEqual((self.folder / "b.txt").read_text(), "x")

    def test_questions_of_a_modern_call(self):
        _, _, agent = self.ready("--permission-filesystem-write", "ask")
        write = ("write_file", {"filePath": "c.txt", "content": "x"})
        for decision, is_done in (("Deny once", False), ("Always allow", False),
                                  ("Allow once", True)):
            first = agent.modern(*write)["result"]
            self.assertEqual(first["resultType"], "input_required")
            key, = first["inputRequests"]
            answer = agent.modern(*write, requestState=first["requestState"], inputResponses={
                key: {"action": "accept", "content": {"decision": decision}}})
            self.assertEqual("isError" not in answer["result"], is_done, answer)
            self.assertEqual((self.folder / "c.txt").exists(), is_done)
        # The same answer does not count for another call.
        again = agent.modern(*write, requestState=first["requestState"], inputResponses={
            key: {"action": "accept", "content": {"decision": "Allow once"}}})
        self.assertIn("error", again)

    def test_a_client_that_cannot_ask_gets_a_clear_error(self):
        server, _, _ = self.ready("--permission-filesystem-write", "ask")
        agent = self.agent(server, self.add_agent("mute"))
        answer = agent.call("write_file", {"filePath": "d.txt", "content": "x"})
        self.assertTrue(answer["result"]["isError"])
        self.assertIn("nobody can be asked: this client cannot", answer["result"]["content"][0]["text"])
        self.assertFalse((self.folder / "d.txt").exists())


class Program(Scene):
    def test_it_ends_well(self):
        server = self.serve()
        machine = self.machine(server, server.token)
        agent = self.agent(server, self.add_agent())
        pending = agent.begin("echo", {})
        self.addCleanup(pending.close)
        machine.stream.next()
        self.assertEqual(server.end(), 0)
        self.assertIsNone(machine.stream.next())  # no gateway-disconnect: it comes back
        server = self.serve(port=server.port)
        self.assertEqual(machine.post("init", {"rootPath": "/", "tools": []})[0], 200)

    def test_options(self):
        everybody = ("--listen", "0.0.0.0:0")
        for arguments, words in ((everybody, "unencrypted; use --tls-cert"),
                                 ((*everybody, "--behind-proxy"), "with --public-url"),
                                 (("--tls-cert", "x"), "need each other"),
                                 (("--tls-cert", "/nowhere", "--tls-key", "/nowhere"),
                                  "--tls-cert: cannot read '/nowhere'"),
                                 (("--trusted-proxy", "proxy.example"), "is not an address"),
                                 (("--trusted-header", "X-User"), "needs --trusted-proxy"),
                                 (("--trusted-header", "X User", "--trusted-proxy", "::1"),
                                  "name of a header"),
                                 (("--create-users",), "needs --trusted-header"),
                                 (("--listen", "x"), "--listen needs"),
                                 (("--public-url", "gate.example"), "--public-url begins"),
                                 (("--public-url", "https://a/b"), "--public-url is")):
            result = subprocess.run(
                [GATEHOUSE, "serve", "--state-dir", self.state, "--listen", "127.0.0.1:0",
                 *arguments], env=clean_environment(), capture_output=True, text=True,
                timeout=PATIENCE)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(words, result.stderr)

    def test_two_servers_do_not_share_a_state(self):
        self.serve()
        result = subprocess.run([GATEHOUSE, "serve", "--state-dir", self.state, "--listen",
                                 "127.0.0.1:0"], env=clean_environment(), capture_output=True,
                                text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, 1)
        self.assertIn("another server uses", result.stderr)

    def test_behind_a_proxy(self):
        server = self.serve("--public-url", "https://gate.example/")
        self.assertIn("gatehouse connect https://gate.example gw_", server.words)
        self.assertEqual(server.ask("GET", "/healthz", None, {"Host": "gate.example"})[0], 200)
        self.assertEqual(server.ask("GET", "/healthz", None, {"Host": "evil.example"})[0], 403)
        _, headers, _ = server.ask("GET", "/login?token=" + server.found(r"login_\w+"))
        self.assertTrue(headers["Set-Cookie"].endswith("; Secure"))

    def test_a_store_of_a_newer_version_is_left_alone(self):
        self.serve().end()
        database = sqlite3.connect(self.state / "server/server.db")
        database.execute("PRAGMA user_version=99")
        database.close()
        result = subprocess.run([GATEHOUSE, "serve", "--state-dir", self.state, "--listen",
                                 "127.0.0.1:0"], env=clean_environment(), capture_output=True,
                                text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, 1)
        self.assertIn("newer version", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
