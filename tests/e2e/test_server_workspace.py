#!/usr/bin/env python3
"""gatehouse serve --workspace: agents that have a workspace for each conversation, instead of a machine.

    test_server_workspace.py GATEHOUSE
"""
import base64
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

sys.dont_write_bytecode = True  # not into the sources
from mcp_workspace_scene import Fake, below, wait_until
from sandboxd_scene import Scene, Service, Unavailable
from server_scene import Agent, OURS, PATIENCE, Server, Stream, clean_environment

TOOLS = ["read_file", "list_files", "stat", "grep", "write_file", "edit_file", "delete_file", "copy_file",
         "move_file", "mkdir", "execute_command", "get_process_output", "kill_process"]
NAME = "gatehouse/conversation"


class WorkspaceScene(Scene):
    """A server that offers workspaces, and the service that has them."""

    @classmethod
    def setUpClass(cls):
        """One service for all tests of a class."""
        place = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp"))
        cls.addClassCleanup(shutil.rmtree, place, ignore_errors=True)
        try:
            cls.service = Service(cls.gatehouse, place / "state", key=None)
        except Unavailable as missing:
            raise unittest.SkipTest(f"this machine cannot isolate sandboxes: {missing}") from None
        cls.addClassCleanup(cls.service.close)
        cls.place = place / "state/sandboxes"
        cls.service.key = json.loads((cls.place / "service.json").read_text())["key"]

    def setUp(self):
        super().setUp()
        self.state = self.room / "state"
        self.state.mkdir(mode=0o700)
        (self.state / "sandboxes").symlink_to(self.place)

    def gateway(self, *arguments, workspace="isolated", **environment):
        chosen = ("--workspace", workspace) if workspace else ()
        with (self.room / "log").open("ab") as log:
            server = Server(self.gatehouse, self.state, 0, (*chosen, *arguments), log=log, **environment)
        self.addCleanup(self.end, server)
        return server

    def end(self, server):
        if server.process.poll() is None:
            self.assertEqual(server.end(), 0)
        server.close()
        self.assertNotIn("ERROR: ", (self.room / "log").read_text())  # a sanitizer's

    def refused(self, *arguments, status=2, **environment):
        """What a server says that does not start."""
        done = subprocess.run([self.gatehouse, "serve", "--listen", "127.0.0.1:0", "--state-dir", self.state,
                               *arguments], env=clean_environment(**environment), capture_output=True,
                              text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, status, done)
        return done.stderr

    def manage(self, *arguments, status=0):
        done = subprocess.run([self.gatehouse, "agent", "--state-dir", self.state, *arguments],
                              env=clean_environment(), capture_output=True, text=True, timeout=PATIENCE,
                              check=False)
        self.assertEqual(done.returncode, status, done)
        return done

    def key(self, *arguments, name="ci", workspace="isolated"):
        words = self.manage("add", name, "--workspace", workspace, *arguments).stdout
        return re.fullmatch(r"Authorization: Bearer (gha_\w{32})\n", words)[1]

    def sandboxes(self):
        return [record["id"] for record in self.service.ask("GET", "/sandboxes")[2]]

    def good(self, agent, tool, **arguments):
        result = agent.call(tool, arguments)["result"]
        self.assertFalse(result.get("isError"), result)
        return result["structuredContent"]

    def bad(self, agent, tool, **arguments):
        result = agent.call(tool, arguments)["result"]
        self.assertTrue(result.get("isError"), result)
        return result["content"][0]["text"]

    def modern(self, agent, tool, name=None, more=None, **arguments):
        """The result of a call of the newer era, which has no session."""
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
                **({NAME: name} if name is not None else {})}
        return agent.modern(tool, arguments, _meta=meta, **(more or {}))["result"]

    def hosts_of(self, pid):
        """Its processes that hold workspaces."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text()
                if "(gatehouse-works)" in fields and int(fields.rpartition(")")[2].split()[1]) == pid:
                    found.append(int(entry.name))
        return found

    def host_below(self, pid, killed):
        """The only one that its copies have started, after these were killed: they may need a moment to die."""
        found = []

        def look():
            found[:] = [host for host, name in below(pid) if name == "gatehouse-works"]
            return len(found) == 1 and found[0] not in killed

        wait_until(look, "there is one other companion")
        return found[0]

    def is_gone(self, pid):
        try:
            return (pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]) == "Z"
        except OSError:
            return True


class Conversations(WorkspaceScene):
    def test_two_sessions_never_share(self):
        server = self.gateway()
        key, other_key = self.key(), self.key(name="other")
        one, two, three = (Agent(server, each) for each in (key, key, other_key))
        self.assertEqual(one.tools(), TOOLS)
        self.assertEqual(self.sandboxes(), [])  # none before it is needed
        for number, agent in enumerate((one, two, three)):
            self.good(agent, "write_file", path="mine", content=f"{number}")
            self.good(agent, "write_file", path=f"only-{number}", content="x")
        for number, agent in enumerate((one, two, three)):
            self.assertEqual(self.good(agent, "read_file", path="mine")["content"], f"{number}")
            names = [entry["name"] for entry in self.good(agent, "list_files")["entries"]]
            self.assertEqual(names, ["mine", f"only-{number}"])
        self.assertEqual(len(self.sandboxes()), 3)
        self.assertEqual(self.good(one, "execute_command", command="cat mine; exit 3")["exitCode"], 3)
        # A session that ends takes its workspace with it, and no other.
        server.ask("DELETE", "/mcp", None, one.headers)
        wait_until(lambda: len(self.sandboxes()) == 2, "the first workspace ends")
        self.assertEqual(self.good(two, "read_file", path="mine")["content"], "1")

    def test_processes_are_those_of_their_conversation(self):
        server = self.gateway()
        key = self.key()
        one, two = Agent(server, key), Agent(server, key)
        process = self.good(one, "execute_command", command="echo here; sleep 1000", background=True)["processId"]
        self.assertIn("here\n", self.good(one, "get_process_output", processId=process, waitFor="here")["stdout"])
        for tool in ("get_process_output", "kill_process"):
            self.assertIn("there is no process", self.bad(two, tool, processId=process))
        self.assertEqual(self.good(one, "get_process_output", processId=process)["state"], "running")
        server.ask("DELETE", "/mcp", None, one.headers)
        wait_until(lambda: len(self.sandboxes()) == 0, "the workspace ends, although it works")

    def test_names_of_clients_without_a_session(self):
        server = self.gateway()
        key = self.key()
        agent = Agent(server, key, is_open=False)
        other = Agent(server, self.key(name="other"), is_open=False)
        refusal = self.modern(agent, "list_files")
        self.assertTrue(refusal["isError"])
        self.assertIn(NAME, refusal["content"][0]["text"])
        self.assertTrue(self.modern(agent, "list_files", name="x" * 257)["isError"])
        self.modern(agent, "write_file", name="a", path="f", content="of a")
        for who, name in ((agent, "b"), (other, "a")):
            self.assertTrue(self.modern(who, "read_file", name=name, path="f")["isError"])
        again = self.modern(Agent(server, key, is_open=False), "read_file", name="a", path="f")
        self.assertEqual(again["structuredContent"]["content"], "of a")
        # The text of a name is never a session's.
        session = Agent(server, key)
        self.good(session, "write_file", path="g", content="of the session")
        stolen = self.modern(agent, "read_file", name=session.headers["Mcp-Session-Id"], path="g")
        self.assertTrue(stolen["isError"])

    def test_it_ends_when_it_is_not_used(self):
        server = self.gateway("--workspace-idle", "1s")
        agent = Agent(server, self.key())
        self.good(agent, "write_file", path="f", content="1")
        wait_until(lambda: not self.sandboxes(), "the workspace ends")
        self.assertEqual(self.good(agent, "list_files")["entries"], [])  # the next has its own

    def test_a_background_command_is_use(self):
        server = self.gateway("--workspace-idle", "1s")
        agent = Agent(server, self.key())
        begun = time.monotonic()
        self.good(agent, "execute_command", command="sleep 5", background=True)
        wait_until(lambda: not self.sandboxes(), "the workspace ends")
        self.assertGreaterEqual(time.monotonic() - begun, 5)

    def test_it_ends_with_its_key(self):
        server = self.gateway()
        agent = Agent(server, self.key(), is_open=False)
        self.modern(agent, "write_file", name="a", path="f", content="1")
        self.manage("remove", "ci")
        wait_until(lambda: not self.sandboxes(), "the workspace ends")
        self.assertEqual(agent.post("tools/list", {})[0], 401)

    def test_a_cancelled_command_ends(self):
        server = self.gateway()
        agent = Agent(server, self.key())
        stream = agent.begin("execute_command", {"command": "touch begun; sleep 1000"})
        self.addCleanup(stream.close)
        number = agent.number
        wait_until(lambda: self.good(agent, "list_files")["entries"], "the command runs")
        server.ask("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/cancelled",
                                    "params": {"requestId": number}}, agent.headers)
        wait_until(lambda: self.good(agent, "execute_command", command="pgrep -x sleep | wc -l")
                   ["stdout"].strip() == "0", "the command is killed")


class Limits(WorkspaceScene):
    MOST = 32

    def test_a_workspace_counts_until_it_is_gone(self):
        may_end = threading.Event()
        self.addCleanup(may_end.set)

        def behave(request):
            if request.command == "POST" and request.route == "/sandboxes":
                return 201, {"id": json.loads(request.body)["id"], "status": "running"}
            if request.command == "DELETE":
                may_end.wait(PATIENCE)
                return 204,
            return 200, []

        fake = Fake(behave)
        self.addCleanup(fake.close)
        server = self.gateway(workspace="n8n-sandbox", N8N_SANDBOX_SERVICE_URL=fake.url, N8N_SANDBOX_SERVICE_API_KEY="key")
        key = self.key(workspace="n8n-sandbox")
        agents = [Agent(server, key) for _ in range(self.MOST + 1)]
        for agent in agents[1:]:
            self.good(agent, "list_files")
        for agent in agents[1:]:
            server.ask("DELETE", "/mcp", None, agent.headers)
        self.assertIn(f"{self.MOST} workspaces", self.bad(agents[0], "list_files"))
        may_end.set()
        wait_until(lambda: not agents[0].call("list_files", {})["result"].get("isError"), "there is room")


class Ends(WorkspaceScene):
    def begin(self):
        server = self.gateway()
        hosts = self.hosts_of(server.process.pid)
        self.assertEqual(len(hosts), 1)
        agent = Agent(server, self.key())
        self.good(agent, "write_file", path="f", content="1")
        self.good(Agent(server, self.key(name="other")), "mkdir", path="d")
        self.assertEqual(len(self.sandboxes()), 2)
        return server, hosts[0], agent

    def test_a_stop_leaves_nothing(self):
        server, host, agent = self.begin()
        stream = agent.begin("execute_command", {"command": "touch begun; sleep 1000"})
        self.addCleanup(stream.close)
        wait_until(lambda: len(self.good(agent, "list_files")["entries"]) == 2, "the command runs")
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.end(), 0)  # the second signal waits for no call
        wait_until(lambda: self.is_gone(host), "the companion, whose socket is closed before, ends")
        self.assertEqual(self.sandboxes(), [])

    def test_a_kill_leaves_nothing(self):
        server, host, _ = self.begin()
        server.end(signal.SIGKILL)
        wait_until(lambda: self.is_gone(host), "the companion ends")
        self.assertEqual(self.sandboxes(), [])

    def works(self, agent):
        result = agent.call("list_files", {})["result"]
        if result.get("isError"):
            self.assertIn("has ended", result["content"][0]["text"])
            return None
        return result["structuredContent"]

    def test_a_companion_that_dies_takes_its_workspaces_off_the_page(self):
        server, host, _ = self.begin()
        browser = server.log_in()
        shown = lambda: server.ask("GET", "/api/state", None, browser)[2]["workspaces"]
        self.assertEqual(len(shown()), 2)
        os.kill(host, signal.SIGKILL)
        wait_until(lambda: shown() == [], "the page lists none")
        another = Agent(server, self.key(name="another"))
        wait_until(lambda: self.works(another), "another one works")
        wait_until(lambda: len(self.sandboxes()) == 1, "the dead ones' workspaces end")

    def test_a_companion_that_dies_is_started_again(self):
        server, host, agent = self.begin()
        killed = []
        for _ in range(2):
            stream = agent.begin("execute_command", {"command": "touch begun; sleep 1000"})
            self.addCleanup(stream.close)
            wait_until(lambda: self.good(agent, "list_files")["entries"], "the command runs")
            os.kill(host, signal.SIGKILL)
            self.assertIn("has ended", str(stream.next()))
            killed.append(host)
            # Its files are gone, and it hears of that.
            self.assertIn("gone with its files", self.bad(agent, "list_files"))
            wait_until(lambda: self.works(agent), "another one works")
            self.assertEqual(self.good(agent, "list_files")["entries"], [])
            self.assertEqual(self.good(Agent(server, self.key(name=f"new{host}")), "list_files")["entries"], [])
            host = self.host_below(server.process.pid, killed)
        wait_until(lambda: len(self.sandboxes()) == 2, "the dead ones' workspaces end")
        self.assertEqual(server.end(), 0)
        wait_until(lambda: self.is_gone(host), "the companion ends")
        self.assertEqual(self.sandboxes(), [])

    def test_a_workspace_begins_with_files_and_a_set_up(self):
        first = self.room / "first"
        (first / "src").mkdir(parents=True)
        (first / "src/small").write_text("small\n")
        (first / "large").write_text("x" * 20000)
        (first / ".env").write_text("SECRET=1\n")
        server = self.gateway("--workspace-files", first, "--workspace-setup",
                              "RUN cp /home/user/src/small /etc/mark\nENV MARK=yes")
        self.assertIn("stay out", (self.room / "log").read_text())
        look = "cat /etc/mark; echo $MARK; wc -c < large; ls -A; echo more > src/small"
        agents = [Agent(server, self.key(name=name)) for name in ("one", "two")]
        for agent in agents:
            self.assertEqual(self.good(agent, "execute_command", command=look)["stdout"],
                             "small\nyes\n20000\nlarge\nsrc\n")
        # The reading is on the record, and a companion that was started again knows them, too.
        self.assertIn('"id":"workspace-files"', (self.state / "audit.jsonl").read_text())
        os.kill(self.hosts_of(server.process.pid)[0], signal.SIGKILL)
        wait_until(lambda: self.works(agents[0]), "another one works")
        self.assertEqual(self.good(agents[0], "execute_command", command=look)["stdout"],
                         "small\nyes\n20000\nlarge\nsrc\n")

    def test_what_starts_companions_may_die_itself(self):
        server, host, agent = self.begin()
        starters = []

        def look():
            starters[:] = [pid for pid, name in below(server.process.pid) if name == "gatehouse-serve"]
            return len(starters) == 2

        wait_until(look, "there is what starts companions")
        starter = starters[1]
        for pid in (starter, host):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: self.works(agent), "another one works")

    def test_a_kill_after_a_new_start_leaves_nothing(self):
        server, host, agent = self.begin()
        os.kill(host, signal.SIGKILL)
        wait_until(lambda: self.works(agent), "another one works")
        host = self.host_below(server.process.pid, [host])
        server.end(signal.SIGKILL)
        wait_until(lambda: self.is_gone(host), "the companion ends")
        self.assertEqual(self.sandboxes(), [])


class Providers(WorkspaceScene):
    def test_a_wrong_configuration_is_named(self):
        self.assertIn("DAYTONA_API_URL", self.refused("--workspace", "daytona"))
        self.assertIn("N8N_SANDBOX_SERVICE_URL", self.refused("--workspace", "isolated,n8n-sandbox"))
        self.assertIn("cloud", self.refused("--workspace", "cloud"))
        self.assertIn("--workspace-files: '/nowhere'", self.refused("--workspace", "isolated", "--workspace-files",
                                                                    "/nowhere", status=1))
        for option in ("setup", "files"):
            self.assertIn(f"--workspace-{option} is for --workspace", self.refused(f"--workspace-{option}", "x"))
        self.assertIn("cloud", self.refused(N8N_INSTANCE_AI_SANDBOX_ENABLED="true",
                                            N8N_INSTANCE_AI_SANDBOX_PROVIDER="cloud"))

    def test_isolated_is_the_default(self):
        server = self.gateway(workspace=None, N8N_INSTANCE_AI_SANDBOX_ENABLED="true")
        self.good(Agent(server, self.key()), "write_file", path="f", content="1")
        self.assertEqual(len(self.sandboxes()), 1)

    def test_a_key_of_another_provider_gets_none(self):
        server = self.gateway()
        words = self.bad(Agent(server, self.key(workspace="daytona")), "list_files")
        self.assertIn("--workspace daytona", words)
        self.assertEqual(self.sandboxes(), [])

    def test_several_providers(self):
        server = self.gateway(workspace="isolated,daytona", DAYTONA_API_URL="http://127.0.0.1:1/api",
                              DAYTONA_API_KEY="no-key-at-all")
        self.assertEqual(len(self.hosts_of(server.process.pid)), 2)
        self.good(Agent(server, self.key()), "mkdir", path="d")
        self.assertIn("daytona", self.bad(Agent(server, self.key(name="other", workspace="daytona")),
                                          "mkdir", path="d"))

    def test_without_the_option_there_are_none(self):
        server = self.gateway(workspace=None)
        self.assertEqual(self.hosts_of(server.process.pid), [])
        self.assertIn("does not offer", self.bad(Agent(server, self.key()), "list_files"))


class Permission(WorkspaceScene):
    def test_groups_of_a_key(self):
        server = self.gateway()
        self.assertEqual(Agent(server, self.key("--tools", "read")).tools(),
                         ["read_file", "list_files", "stat", "grep"])
        self.assertEqual(Agent(server, self.key("--tools", "shell", name="other")).tools(),
                         ["execute_command", "get_process_output", "kill_process"])
        self.assertIn("only read, write and shell",
                      self.manage("add", "x", "--workspace", "isolated", "--tools", "browser", status=2).stderr)
        self.assertIn("--ask", self.manage("add", "x", "--ask", "shell", status=2).stderr)
        self.manage("add", "x", "--workspace", "local", status=2)
        listed = {agent["name"]: agent for agent in json.loads(self.manage("list", "--json").stdout)}
        self.assertEqual((listed["ci"]["workspace"], listed["ci"]["tools"]), ("isolated", ["read"]))

    def test_a_question_to_the_client(self):
        server = self.gateway()
        agent = Agent(server, self.key("--ask", "shell"), is_open=False)
        self.modern(agent, "write_file", name="a", path="f", content="1")  # not asked about

        def run(decision, command):
            asked = self.modern(agent, "execute_command", name="a", command=command)
            self.assertEqual(asked["resultType"], "input_required")
            form = asked["inputRequests"]["permission"]["params"]
            self.assertIn(command, form["message"])
            answer = {"permission": {"action": "accept", "content": {"decision": decision}}}
            return self.modern(agent, "execute_command", name="a", command=command,
                               more={"requestState": asked["requestState"], "inputResponses": answer})

        self.assertTrue(run("Deny once", "echo one")["isError"])
        self.assertEqual(run("Allow once", "echo two")["structuredContent"]["stdout"], "two\n")
        self.assertEqual(run("Allow for this session", "echo two")["structuredContent"]["stdout"], "two\n")
        again = self.modern(agent, "execute_command", name="a", command="echo two")
        self.assertEqual(again["structuredContent"]["stdout"], "two\n")
        # It was for that conversation.
        other = self.modern(agent, "execute_command", name="b", command="echo two")
        self.assertEqual(other["resultType"], "input_required")

    def test_a_question_on_the_page(self):
        server = self.gateway()
        agent = Agent(server, self.key("--ask", "write"))
        self.assertIn("nobody can be asked", self.bad(agent, "write_file", path="f", content="1"))
        browser = server.log_in()
        events = Stream(server, "/api/events", browser)
        self.addCleanup(events.close)
        call = agent.begin("write_file", {"path": "f", "content": "of the agent"})
        self.addCleanup(call.close)
        while "options" not in (question := events.next()):
            pass
        self.assertIn("of the agent", question["description"])
        self.assertIn("/workspace:isolated/home/user/f", question["resource"])
        self.assertEqual(server.ask("POST", f"/api/questions/{question['id']}", {"answer": "allowOnce"},
                                    browser | OURS)[0], 200)
        self.assertFalse(call.next()["result"].get("isError"))
        self.assertEqual(self.good(agent, "read_file", path="f")["content"], "of the agent")

    def test_it_reaches_no_files_of_the_server(self):
        folder = self.room / "files"
        folder.mkdir()
        (folder / "a.txt").write_text("of the server")
        server = self.gateway("--fs", str(folder))
        key = self.key()
        plain = re.search(r"gha_\w+", self.manage("add", "plain").stdout)[0]
        for who, is_let_in in ((plain, True), (key, False)):
            status, _, answer = server.ask("POST", "/v1/host/sample/fs/read", {"path": "a.txt"},
                                           {"Authorization": f"Bearer {who}", "Content-Type": "application/json"})
            self.assertEqual((status == 200, "bytes" in answer), (is_let_in, is_let_in), answer)
        self.assertNotIn("of the server", self.bad(Agent(server, key), "read_file", path=str(folder / "a.txt")))

    def test_the_record(self):
        server = self.gateway()
        agent = Agent(server, self.key("--ask", "write"))
        self.good(agent, "execute_command", command="echo noted")
        self.bad(agent, "write_file", path="f", content="1")
        self.assertEqual(server.end(), 0)
        lines = [json.loads(line) for name in ("audit.jsonl", "audit.jsonl.reads")
                 for line in (self.state / "server" / name).read_text().splitlines()]
        about = [line for line in lines if line.get("tool") == "execute_command"]
        self.assertEqual({line["outcome"] for line in about}, {"intent", "success"}, about)
        self.assertTrue(any("echo noted" in line["relativePath"] for line in about), about)


class Page(WorkspaceScene):
    def test_a_key_the_list_and_its_end(self):
        server = self.gateway()
        browser = server.log_in() | OURS
        state = server.ask("GET", "/api/state", None, browser)[2]
        self.assertEqual((state["providers"], state["workspaces"]), (["isolated"], []))
        for wrong in ({"workspace": "daytona"}, {"asks": ["shell"]}, {"workspace": "isolated", "groups": ["screen"]},
                      {"workspace": "isolated", "groups": ["read"], "asks": ["shell"]}):
            self.assertEqual(server.ask("POST", "/api/agents", {"name": "x", **wrong}, browser)[0], 400, wrong)
        made = server.ask("POST", "/api/agents", {"name": "page", "workspace": "isolated"}, browser)[2]
        agent = Agent(server, made["key"])
        self.good(agent, "write_file", path="f", content="1")
        (shown,) = server.ask("GET", "/api/state", None, browser)[2]["workspaces"]
        self.assertEqual((shown["provider"], shown["agent"]), ("isolated", "page"))
        (listed,) = server.ask("GET", "/api/agents", None, browser)[2]["agents"]
        self.assertEqual((listed["workspace"], listed["groups"]), ("isolated", ["read", "write", "shell"]))
        self.assertEqual(server.ask("DELETE", f"/api/workspaces/{shown['id']}", None, server_of(browser))[0], 403)
        self.assertEqual(server.ask("DELETE", f"/api/workspaces/{shown['id']}", None, browser)[0], 200)
        self.assertEqual(server.ask("DELETE", f"/api/workspaces/{shown['id']}", None, browser)[0], 404)
        self.assertEqual(server.ask("GET", "/api/state", None, browser)[2]["workspaces"], [])
        wait_until(lambda: not self.sandboxes(), "the workspace ends")


class Apps(WorkspaceScene):
    """Apps that come by OAuth: their user chooses where they work."""
    back, verifier = "https://app.example/back", "v" * 43

    def decide(self, server, browser, **chosen):
        """What the server answers to the user's click."""
        app = server.ask("POST", "/oauth/register", {"client_name": "An app", "redirect_uris": [self.back]},
                         {"Content-Type": "application/json"})[2]
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        query = urllib.parse.urlencode({
            "response_type": "code", "client_id": app["client_id"], "redirect_uri": self.back,
            "code_challenge": challenge, "code_challenge_method": "S256"})
        status, _, answer = server.ask("POST", "/api/consent",
                                       {"query": query, "groups": ["read", "write"], "allow": True, **chosen}, browser)
        return app, status, answer

    def token(self, server, browser, **chosen):
        app, status, answer = self.decide(server, browser, **chosen)
        self.assertEqual(status, 200, answer)
        back = urllib.parse.parse_qs(urllib.parse.urlsplit(answer["redirect"]).query)
        status, _, tokens = server.ask("POST", "/oauth/token", urllib.parse.urlencode(
            {"grant_type": "authorization_code", "client_id": app["client_id"], "code": back["code"][0],
             "redirect_uri": self.back, "code_verifier": self.verifier}),
            {"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(status, 200, tokens)
        return tokens["access_token"]

    def test_an_app_gets_a_workspace_of_its_own(self):
        folder = self.room / "files"
        folder.mkdir()
        server = self.gateway("--fs", str(folder))
        browser = server.log_in() | OURS
        one, two = (Agent(server, self.token(server, browser, workspace="isolated")) for _ in range(2))
        self.assertEqual(one.tools(), [tool for tool in TOOLS if tool not in ("execute_command", "get_process_output", "kill_process")])
        self.good(one, "write_file", path="f", content="of one")
        self.assertIn("f", self.bad(two, "read_file", path="f"))
        self.assertEqual(self.good(one, "read_file", path="f")["content"], "of one")
        self.assertEqual({(app["workspace"], *app["groups"]) for app in
                          server.ask("GET", "/api/consents", None, browser)[2]["consents"]},
                         {("isolated", "read", "write")})
        # Nothing of the machine, nor of the server.
        self.assertNotEqual(server.ask("POST", "/v1/host/sample/fs/list", {"path": "."},
                                       {"Authorization": one.headers["Authorization"]})[0], 200)
        shown = server.ask("GET", "/api/state", None, browser)[2]["workspaces"]
        self.assertEqual({each["agent"] for each in shown}, {"An app (app.example)"})
        # A revoked consent ends it.
        for app in server.ask("GET", "/api/consents", None, browser)[2]["consents"]:
            self.assertEqual(server.ask("DELETE", f"/api/consents/{app['id']}", None, browser)[0], 200)
        wait_until(lambda: not self.sandboxes(), "the workspaces end")

    def test_what_is_chosen_is_checked(self):
        server = self.gateway()
        browser = server.log_in() | OURS
        for wrong in ({"workspace": "daytona"}, {"workspace": "isolated\0"}, {"workspace": "x" * 99}, {"workspace": 1},
                      {"workspace": None}, {"workspace": "isolated", "groups": ["read", "screen"]},
                      {"workspace": "isolated", "groups": []}, {"asks": ["write"]}, {"workspace": "isolated", "asks": "write"},
                      {"workspace": "isolated", "asks": ["shell"]}, {"workspace": "isolated", "asks": ["fly"]}):
            self.assertEqual(self.decide(server, browser, **wrong)[1], 400, wrong)
        self.assertEqual(server.ask("GET", "/api/consents", None, browser)[2]["consents"], [])
        self.assertEqual(Agent(server, self.token(server, browser, workspace="")).tools(), [])  # the machine is away

    def test_an_app_asks_first(self):
        server = self.gateway()
        browser = server.log_in() | OURS
        agent = Agent(server, self.token(server, browser, workspace="isolated", asks=["write"]))
        self.good(agent, "list_files")
        self.assertIn("nobody can be asked", self.bad(agent, "write_file", path="f", content="1"))
        (app,) = server.ask("GET", "/api/consents", None, browser)[2]["consents"]
        self.assertEqual(app["asks"], ["write"])

    def test_without_workspaces_none_can_be_chosen(self):
        server = self.gateway(workspace=None)
        self.assertEqual(self.decide(server, server.log_in() | OURS, workspace="isolated")[1], 400)


def server_of(headers):
    """Without the header that only our own page sends."""
    return {name: text for name, text in headers.items() if name not in OURS}


if __name__ == "__main__":
    WorkspaceScene.gatehouse = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
