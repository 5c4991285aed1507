#!/usr/bin/env python3
"""Workspaces: the same suite on every provider, their ends, and services that behave badly.

    test_mcp_workspace.py GATEHOUSE
"""
import base64
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse
import uuid

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from sandboxd_scene import KEY, PATIENCE, Service, Unavailable
from mcp_workspace_scene import Fake, WorkspaceScene, main, wait_until

TOOLS = ["read_file", "list_files", "stat", "grep", "write_file", "edit_file", "delete_file", "copy_file",
         "move_file", "mkdir", "execute_command", "get_process_output", "kill_process"]


class Suite:
    """What must hold for every provider; `open` starts a client."""

    tells_streams_apart = True

    def test_the_tools_of_a_workspace_and_no_others(self):
        names = [tool["name"] for tool in self.client.request("tools/list")["tools"]]
        self.assertEqual(names, TOOLS)
        with self.assertRaises(mcp_client.Refused):
            self.client.request("resources/list")
        with self.assertRaisesRegex(mcp_client.Refused, 'unknown tool "shell_execute"; the tools are .*, execute_command, get_process_output, kill_process'):
            self.client.call("shell_execute", command="ls")

    def test_files(self):
        good, bad = self.client.good, self.client.bad
        text = "first\nsecond \N{SNOWMAN}\nthird\n"
        self.assertEqual(good("write_file", path="a/b c.txt", content=text)["bytes"], len(text.encode()))
        self.assertEqual(good("read_file", path="a/b c.txt"),
                         {"path": "a/b c.txt", "content": text, "totalLines": 3})
        self.assertEqual(good("read_file", path="a/b c.txt", startLine=2, maxLines=1),
                         {"path": "a/b c.txt", "content": "second \N{SNOWMAN}\n", "totalLines": 3,
                          "nextStartLine": 3, "truncated": True})
        about = good("stat", path="a/b c.txt")
        self.assertEqual((about["type"], about["size"]), ("file", len(text.encode())))
        self.assertEqual(good("stat", path="a")["type"], "directory")
        listed = good("list_files", path="a")["entries"]
        self.assertEqual([(entry["name"], entry["type"]) for entry in listed], [("b c.txt", "file")])
        good("mkdir", path="x/y/z")
        good("mkdir", path="x/y/z")
        good("copy_file", source="a/b c.txt", destination="x/y/copy.txt")
        self.assertEqual(good("read_file", path="x/y/copy.txt")["content"], text)
        good("move_file", source="x/y/copy.txt", destination="moved.txt")
        self.assertIn("moved.txt", [entry["name"] for entry in good("list_files", recursive=True)["entries"]])
        bad("read_file", path="x/y/copy.txt")
        good("copy_file", source="a", destination="a2", recursive=True)
        self.assertEqual(good("read_file", path="a2/b c.txt")["content"], text)
        good("delete_file", path="a2", recursive=True)
        bad("stat", path="a2")
        bad("delete_file", path="a2")
        good("delete_file", path="a2", force=True)

    def test_what_exists_is_replaced_only_if_told_so(self):
        good, bad = self.client.good, self.client.bad
        good("write_file", path="one", content="1")
        good("write_file", path="two", content="2")
        bad("write_file", path="one", content="x", overwrite=False)
        bad("copy_file", source="one", destination="two")
        bad("move_file", source="one", destination="two")
        self.assertEqual(good("read_file", path="two")["content"], "2")
        good("move_file", source="one", destination="two", overwrite=True)
        self.assertEqual(good("read_file", path="two")["content"], "1")

    def test_edits(self):
        good, bad = self.client.good, self.client.bad
        good("write_file", path="code.c", content="int a;\nint b;\nint a;\n")
        self.assertEqual(good("edit_file", path="code.c", oldString="int b", newString="long b")
                         ["replacements"], 1)
        self.assertIn("2 times", bad("edit_file", path="code.c", oldString="int a", newString="x"))
        self.assertIn("not in the file", bad("edit_file", path="code.c", oldString="int c", newString="x"))
        self.assertEqual(good("edit_file", path="code.c", oldString="int a", newString="char a",
                              replaceAll=True)["replacements"], 2)
        self.assertEqual(good("read_file", path="code.c")["content"], "char a;\nlong b;\nchar a;\n")

    def test_searches(self):
        good, bad = self.client.good, self.client.bad
        good("write_file", path="s/one.txt", content="alpha\nBeta\n")
        good("write_file", path="s/two.md", content="a 'quoted' beta\n")
        found = good("grep", pattern="[Bb]eta$", path="s")["matches"]
        self.assertEqual(sorted((match["path"], match["line"], match["text"]) for match in found),
                         [("s/one.txt", 2, "Beta"), ("s/two.md", 1, "a 'quoted' beta")])
        self.assertEqual(len(good("grep", pattern="BETA", ignoreCase=True, include="*.md")["matches"]), 1)
        self.assertEqual(good("grep", pattern="a 'quoted'")["matches"][0]["path"], "s/two.md")
        self.assertEqual(good("grep", pattern="nothing")["matches"], [])
        self.assertIn("truncated", good("grep", pattern="a", maxMatches=1))
        bad("grep", pattern="a(")
        bad("grep", pattern="a", path="nowhere")

    def test_commands(self):
        good = self.client.good
        good("write_file", path="dir/f", content="in the file\n")
        done = good("execute_command", command="cat f; echo oops >&2; exit 3", cwd="dir")
        self.assertEqual(done["exitCode"], 3)
        self.assertIn("in the file\n", done["stdout"])
        self.assertIn("oops", done["stderr"] if self.tells_streams_apart else done["stdout"])
        self.assertNotIn("timedOut", done)
        self.assertEqual(good("execute_command", command="cat")["exitCode"], 0)  # its input is empty
        long = good("execute_command", command="seq 1 200000")["stdout"]
        self.assertTrue(long.startswith("1\n2\n"))
        self.assertTrue(long.rstrip().endswith("200000"))
        self.assertLess(len(long), 300000)
        self.assertIn("left out]", long)

    def test_a_command_is_killed_at_its_timeout(self):
        done = self.client.good("execute_command", command="echo before; sleep 1000", timeout=500)
        self.assertTrue(done["timedOut"])
        self.assertIsNone(done["exitCode"])

    def test_a_command_is_killed_when_its_call_is_cancelled(self):
        client = self.client
        message = client.call_message("execute_command",
                                      {"command": "flock lock sh -c 'touch begun; sleep 1000; touch late'"})
        client.send(message)
        self.wait_for_file("begun")
        client.notify("notifications/cancelled", {"requestId": message["id"]})
        wait_until(lambda: client.good("execute_command", command="flock -n lock true")["exitCode"] == 0,
                   "the command is killed, with its children")

    def start(self, command, **more):
        """The id of a command in the background."""
        started = self.client.good("execute_command", command=command, background=True, **more)
        self.assertEqual((started["stdout"], started["stderr"], started["exitCode"]), ("", "", None))
        return started["processId"]

    def output(self, process, **more):
        return self.client.good("get_process_output", processId=process, **more)

    def is_locked(self):
        return self.client.good("execute_command", command="flock -n lock true")["exitCode"] != 0

    def test_a_command_goes_on_in_the_background(self):
        process = self.start("cd dir && echo ready && flock ../lock sh -c 'touch ../begun; sleep 1000'; echo late")
        self.assertEqual(self.output(process, waitMs=300000)["exitCode"], 0)  # there is no such folder
        self.client.good("mkdir", path="dir")
        process = self.start("echo ready && flock ../lock sh -c 'touch ../begun; sleep 1000'", cwd="dir")
        said = self.output(process, waitFor="ready", waitMs=300000)
        self.assertEqual((said["processId"], said["state"], said["exitCode"]), (process, "running", None))
        self.assertIn("ready\n", said["stdout"])
        self.wait_for_file("begun")
        self.assertTrue(self.is_locked())
        ended = self.client.good("kill_process", processId=process)
        self.assertEqual((ended["state"], ended["exitCode"], ended["killed"]), ("ended", None, True))
        wait_until(lambda: not self.is_locked(), "it is killed, with its children")
        for again in (self.output(process), self.client.good("kill_process", processId=process)):
            self.assertEqual((again["state"], again["killed"]), ("ended", True))

    def test_the_end_of_a_background_command(self):
        process = self.start("cat; echo first; echo second; echo oops >&2; exit 3")
        said = self.output(process, waitMs=300000)
        self.assertEqual((said["state"], said["exitCode"]), ("ended", 3))
        self.assertNotIn("killed", said)
        self.assertIn("first\nsecond\n", said["stdout"])
        self.assertIn("oops", said["stderr"] if self.tells_streams_apart else said["stdout"])
        self.assertEqual(self.output(process, tail=1)["stdout"].strip(), "second")
        timed = self.output(self.start("sleep 1000", timeout=300), waitMs=300000)
        self.assertEqual((timed["state"], timed["exitCode"], timed["timedOut"]), ("ended", None, True))

    def test_a_text_is_waited_for_that_nobody_has_seen(self):
        process = self.start("printf 'one\\nrea'; until [ -e go ]; do sleep 0.05; done; printf 'dy\\none\\n'; sleep 1000")
        self.assertIn("one\nrea", self.output(process, waitFor="rea", waitMs=300000)["stdout"])
        self.assertNotIn("dy", self.output(process, waitFor="one", waitMs=1)["stdout"])
        self.client.good("write_file", path="go", content="")
        self.assertIn("ready", self.output(process, waitFor="ready", waitMs=300000)["stdout"])
        process = self.start("echo two; until [ -e gone ]; do sleep 0.05; done; echo two; sleep 1000")
        self.output(process, waitFor="two", waitMs=300000)
        self.client.good("write_file", path="gone", content="")
        self.assertEqual(self.output(process, waitFor="two", waitMs=300000)["stdout"].count("two"), 2)

    def test_long_output_of_the_background_has_a_gap(self):
        long = self.output(self.start("seq 1 200000"), waitMs=300000)["stdout"]
        self.assertTrue(long.startswith("1\n2\n"))
        self.assertTrue(long.rstrip().endswith("200000"))
        self.assertLess(len(long), 300000)
        self.assertIn("left out]", long)

    def test_a_wait_can_be_cancelled(self):
        process = self.start("sleep 1000")
        message = self.client.call_message("get_process_output", {"processId": process, "waitMs": 300000})
        self.client.send(message)
        self.client.notify("notifications/cancelled", {"requestId": message["id"]})
        self.assertEqual(self.output(process)["state"], "running")
        self.assertEqual(self.client.end(), 0)

    def test_so_many_run_in_the_background(self):
        self.assertIn("there is no process 'p1'", self.client.bad("get_process_output", processId="p1"))
        over = self.start("true")
        self.output(over, waitMs=300000)
        processes = [self.start("sleep 1000") for _ in range(8)]
        self.assertIn("kill_process", self.client.bad("execute_command", command="true", background=True))
        words = self.client.bad("kill_process", processId="p999")
        for process in (over, *processes):
            self.assertRegex(words, rf"\b{process}\b")
        self.client.good("kill_process", processId=processes[3])
        for _ in range(8):
            self.output(self.start("true"), waitMs=300000)
        # The oldest that is over is forgotten first, and none that runs.
        self.client.bad("get_process_output", processId=over)
        self.assertEqual(self.output(processes[0])["state"], "running")

    def wait_for_file(self, name):
        wait_until(lambda: any(entry["name"] == name for entry in self.client.good("list_files")["entries"]),
                   f"{name} is there")

    def test_several_calls_at_once(self):
        results = self.client.call_all([("write_file", {"path": f"many/{i}", "content": str(i)})
                                        for i in range(40)])
        self.assertFalse([result for result in results if result.get("isError")])
        self.assertEqual(len(self.client.good("list_files", path="many")["entries"]), 40)

    def test_a_large_file(self):
        text = "0123456789abcde\n" * (12 << 16)  # 12 MiB
        self.client.good("write_file", path="large", content=text)
        self.assertEqual(self.client.good("stat", path="large")["size"], len(text))
        names = [entry["name"] for entry in self.client.good("list_files")["entries"]]
        self.assertEqual(names, ["large"])
        self.assertEqual(self.client.good("read_file", path="large", startLine=700000, maxLines=1)["content"],
                         "0123456789abcde\n")

    def test_first_files_are_there_before_the_first_call(self):
        large = "0123456789abcde\n" * (9 << 16)  # 9 MiB: more than one request takes
        folder = self.folder(**{"catalog.txt": large, "src/a.txt": "a", "empty": "", ".env": "KEY=1"})
        (folder / "run.sh").write_text("#!/bin/sh\necho runs\n")
        (folder / "run.sh").chmod(0o755)
        (folder / "link").symlink_to(self.room)
        client = self.open("--workspace-files", "first")
        self.assertEqual(client.good("execute_command", command="./run.sh; wc -c < catalog.txt; cat src/a.txt")
                         ["stdout"].split(), ["runs", str(len(large)), "a"])
        names = [entry["name"] for entry in client.good("list_files", recursive=True)["entries"]]
        self.assertEqual(names, ["catalog.txt", "empty", "run.sh", "src", "src/a.txt"])

    def test_nothing_leads_out(self):
        secret = self.room / "secret.txt"
        secret.write_text("of the machine")
        self.client.bad("read_file", path=str(secret))
        self.client.bad("read_file", path="../../../../../.." + str(secret))
        self.assertNotIn("of the machine",
                         self.client.good("execute_command", command=f"cat {secret}")["stdout"])

    def test_two_conversations_never_share(self):
        other = self.open()
        self.client.good("write_file", path="mine", content="1")
        other.good("write_file", path="its", content="2")
        self.client.bad("read_file", path="its")
        other.bad("read_file", path="mine")

    def test_it_is_ended_with_its_client(self):
        self.client.good("write_file", path="a", content="1")
        self.assertEqual(len(self.sandboxes()), 1)
        self.assertEqual(self.client.end(), 0)
        self.assertEqual(self.sandboxes(), [])

    def test_it_is_ended_when_its_client_is_killed(self):
        self.client.good("write_file", path="a", content="1")
        self.client.process.kill()
        self.client.process.wait(PATIENCE)
        wait_until(lambda: self.sandboxes() == [], "the workspace is ended")

    def test_a_workspace_that_is_gone_is_said_and_replaced(self):
        self.client.good("write_file", path="a", content="1")
        self.delete(self.sandboxes()[0])
        self.assertIn("the workspace is gone", self.client.bad("read_file", path="a"))
        self.assertNotIn("the workspace is gone", self.client.bad("read_file", path="a"))
        self.assertEqual(len(self.sandboxes()), 1)


class Swept:
    """Services outlive the process that made a sandbox: none is left if it is killed."""

    def test_what_a_killed_host_left_is_ended_by_the_next_start(self):
        self.client.good("write_file", path="a", content="1")
        [left] = self.sandboxes()
        alive = self.open()
        alive.good("write_file", path="b", content="2")
        self.kill_host(self.client)
        self.client.bad("read_file", path="a")
        self.assertIn(left, self.sandboxes())
        self.open().good("list_files")
        wait_until(lambda: left not in self.sandboxes(), "the left workspace is ended")
        self.assertEqual(alive.good("read_file", path="b")["content"], "2")


class Shared(WorkspaceScene):
    """One service for all tests of a class."""

    chosen_key = KEY

    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        try:
            cls.service = Service(cls.gatehouse, cls.place / "state", key=cls.chosen_key)
        except Unavailable as missing:
            raise unittest.SkipTest(f"this machine cannot isolate sandboxes: {missing}") from None
        cls.addClassCleanup(cls.service.close)
        if cls.chosen_key is None:
            cls.service.key = json.loads((cls.place / "state/sandboxes/service.json").read_text())["key"]

    def setUp(self):
        super().setUp()
        self.state = self.place / "state"
        self.client = self.open()


class Isolated(Suite, Swept, Shared):
    chosen_key = None

    def open(self, *flags):
        return self.mcp("isolated", *flags)

    def sandboxes(self):
        return [record["id"] for record in self.service.ask("GET", "/sandboxes")[2]]

    def delete(self, sandbox):
        self.assertEqual(self.service.ask("DELETE", f"/sandboxes/{sandbox}")[0], 204)

    def test_output_is_exact(self):
        self.assertEqual(self.client.good("execute_command", command="printf hi")["stdout"], "hi")

    def test_a_sandbox_of_the_user_can_be_the_workspace(self):
        sandbox = self.service.create()
        client = self.mcp(f"isolated:{sandbox}")
        client.good("write_file", path="kept", content="1")
        self.assertEqual(client.end(), 0)
        self.assertEqual(self.service.output(sandbox, "cat kept"), "1\n")
        self.delete(sandbox)

    def test_background_commands_in_a_sandbox_of_the_user_end_with_the_client(self):
        sandbox = self.service.create()
        client = self.mcp(f"isolated:{sandbox}")
        client.good("execute_command", command="flock lock sh -c 'echo begun; sleep 1000'", background=True)
        client.good("get_process_output", processId="p1", waitFor="begun", waitMs=300000)
        self.assertEqual(client.end(), 0)
        wait_until(lambda: self.service.events(sandbox, "flock -n lock true")[-1]["exit_code"] == 0, "it is killed")
        self.delete(sandbox)

    def test_a_set_up_makes_an_image_once(self):
        first = self.mcp("isolated", "--workspace-setup", "RUN echo made > /etc/mark\nENV MARK=yes")
        self.assertEqual(first.good("read_file", path="/etc/mark")["content"], "made\n")
        self.assertEqual(first.good("execute_command", command="echo $MARK")["stdout"], "yes\n")
        built = self.service.ask("GET", "/images")[2]
        second = self.mcp("isolated", "--workspace-setup", "RUN echo made > /etc/mark\nENV MARK=yes")
        self.assertEqual(second.good("read_file", path="/etc/mark")["content"], "made\n")
        self.assertEqual(len(self.service.ask("GET", "/images")[2]), len(built))
        self.folder(**{"src/small": "small\n", "large": "x" * 20000})
        both = self.mcp("isolated", "--workspace-files", "first", "--workspace-setup", "RUN cp /home/user/src/small /etc/mark")
        self.assertEqual(both.good("execute_command", command="cat /etc/mark; echo more >> src/small; touch src/new; wc -c < large")
                         ["stdout"], "small\n20000\n")
        wrong = self.mcp("isolated", "--workspace-setup", "RUN exit 7")
        self.assertIn("RUN exit 7", wrong.bad("list_files"))


class OwnService(WorkspaceScene):
    """Services that end, and are started."""

    def test_the_service_is_restarted(self):
        """Its files stay, and the next call works; commands of then are gone."""
        service = self.serve(key=None)
        client = self.mcp("isolated")
        client.good("write_file", path="a", content="1")
        service.end()
        self.serve(key=None)
        self.assertEqual(client.good("read_file", path="a")["content"], "1")

    def test_a_command_of_a_killed_service_is_an_error(self):
        service = self.serve(key=None)
        client = self.mcp("isolated")
        message = client.call_message("execute_command", {"command": "touch begun; sleep 1000"})
        client.send(message)
        wait_until(lambda: client.good("list_files")["entries"], "the command runs")
        service.end(signal.SIGKILL)
        self.assertTrue(client.result(message["id"])["isError"])

    def test_it_is_started_and_found_again(self):
        client = self.mcp("isolated")
        result = client.call("write_file", path="a", content="1")
        if result.get("isError") and "cannot start a sandbox service" in result["content"][0]["text"]:
            self.skipTest(result["content"][0]["text"])
        found = json.loads((self.room / "state/sandboxes/service.json").read_text())
        self.end_service(signal.SIGKILL)
        # An ephemeral sandbox outlives its service; another service is started for it.
        client.call("stat", path="a")
        self.assertEqual(client.good("execute_command", command="echo again")["stdout"], "again\n")
        self.assertNotEqual(json.loads((self.room / "state/sandboxes/service.json").read_text())["url"],
                            found["url"])
        self.assertEqual(client.end(), 0)
        self.end_service(signal.SIGTERM)

    def end_service(self, signum):
        wait_until(self.service_process, "there is a service")
        process = os.pidfd_open(self.service_process())
        self.addCleanup(os.close, process)
        signal.pidfd_send_signal(process, signum)
        self.assertTrue(select.select([process], [], [], PATIENCE)[0], "the service does not end")

    def service_process(self):
        mark = str(self.room / "state").encode()
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                above = pathlib.Path(f"/proc/{parent}/cmdline").read_bytes()
            except OSError:
                continue
            if words[0].endswith(b"gatehouse-sandboxd") and mark in words and b"gatehouse-sandboxd" not in above:
                return int(entry.name)
        return None


class Permission(Shared):
    """The same way as every other tool: modes, questions, the audit log."""

    chosen_key = None

    def open(self):
        return None  # each test has its own options

    def test_modes_decide_which_tools_there_are(self):
        client = self.mcp("isolated", "--permission-shell", "deny", "--permission-filesystem-write", "deny")
        names = [tool["name"] for tool in client.request("tools/list")["tools"]]
        self.assertEqual(names, ["read_file", "list_files", "stat", "grep"])

    def test_a_question_shows_what_would_be_done(self):
        client = self.mcp("isolated", "--permission-shell", "ask", opens=False)
        client.open(capabilities={"elicitation": {}})
        message = client.call_message("execute_command", {"command": "echo asked"})
        client.send(message)
        question = client.wait_until(lambda: client.notes and client.notes.popleft())
        self.assertIn("Runs a command in the workspace", question["params"]["message"])
        self.assertIn("workspace:isolated echo asked", question["params"]["message"])
        client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
        self.assertTrue(client.result(message["id"])["isError"])
        message = client.call_message("execute_command", {"command": "echo on", "background": True})
        client.send(message)
        question = client.wait_until(lambda: client.notes and client.notes.popleft())
        self.assertIn("Runs a command in the workspace, which goes on in the background", question["params"]["message"])
        client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"decision": "Allow once"}}})
        process = client.result(message["id"])["structuredContent"]["processId"]
        # To read it and to end it needs no other answer.
        self.assertEqual(client.good("get_process_output", processId=process, waitMs=300000)["exitCode"], 0)
        client.good("kill_process", processId=process)

    def test_the_audit_log_has_intent_and_outcome(self):
        client = self.mcp("isolated")
        client.good("write_file", path="a", content="1")
        client.bad("read_file", path="missing")
        client.good("execute_command", command="true # with a note")
        client.good("execute_command", command="echo KEY=0123456789abcdef", background=True)
        client.good("get_process_output", processId="p1")
        client.good("kill_process", processId="p1")
        self.assertEqual(client.end(), 0)
        records = [json.loads(line) for line in (self.state / "audit.jsonl").read_text().splitlines()]
        seen = [(record.get("tool"), record.get("result")) for record in records if record.get("tool")]
        text = json.dumps(records)
        self.assertIn("Runs a command in the workspace: true # with a note", text)
        self.assertIn("Runs a command in the workspace, which goes on in the background: echo KEY=", text)
        self.assertIn("Reads the output of process p1 in the workspace", text)
        self.assertIn("Kills process p1 in the workspace", text)
        self.assertIn("Writes 1 bytes to a in the workspace", text)
        self.assertIn("Reads missing in the workspace", text)
        self.assertGreaterEqual(len(seen), 6)

    def test_rules_of_this_machine_do_not_count(self):
        """`echo` on this machine is always allowed; in a workspace it is not."""
        settings = self.room / "settings"
        env = {"GATEHOUSE_SETTINGS_DIR": str(settings)}
        rules = subprocess.run(
            [self.gatehouse, "rules", "add", "allow", "shell", "prefix:echo"], capture_output=True, text=True,
            env={**os.environ, **env, "HOME": str(self.room), "GATEHOUSE_STATE_DIR": str(self.state)},
            check=False)
        self.assertEqual(rules.returncode, 0, rules.stderr)
        client = self.mcp("isolated", "--permission-shell", "ask", env=env)
        self.assertIn("nobody to ask", client.bad("execute_command", command="echo no"))


class Refusals(WorkspaceScene):
    """What does not start, and says why."""

    def test_what_is_missing_is_named(self):
        self.assertIn("N8N_SANDBOX_SERVICE_URL", self.refused("n8n-sandbox"))
        self.assertIn("N8N_SANDBOX_SERVICE_API_KEY",
                      self.refused("n8n-sandbox", env={"N8N_SANDBOX_SERVICE_URL": "http://127.0.0.1:1"}))
        self.assertIn("DAYTONA_API_URL", self.refused("daytona"))
        self.assertIn("DAYTONA_API_KEY", self.refused("daytona", env={"DAYTONA_API_URL": "http://127.0.0.1:1"}))

    def test_what_is_wrong_is_named(self):
        self.assertIn("must be isolated, n8n-sandbox or daytona, not", self.refused("docker"))
        self.assertIn("for development", self.refused("local", env={"NODE_ENV": "production"}))
        self.assertIn("omit DIR", self.refused("isolated", "."))
        self.assertIn("omit --http", self.refused("isolated", "--http", "127.0.0.1:0"))
        self.assertIn("omit --rw", self.refused("isolated", "--rw", "."))
        self.assertIn("missing", self.refused("isolated", "--workspace-files", "missing"))
        self.folder(**{str(i): "" for i in range(2001)})
        self.assertIn("at most 2000 files", self.refused("isolated", "--workspace-files", "first"))
        secret = {"N8N_SANDBOX_SERVICE_URL": "http://sandbox.example", "N8N_SANDBOX_SERVICE_API_KEY": KEY}
        self.assertIn("unprotected", self.refused("n8n-sandbox", env=secret))
        self.assertIn("N8N_INSTANCE_AI_SANDBOX_TIMEOUT",
                      self.refused("isolated", env={"N8N_INSTANCE_AI_SANDBOX_TIMEOUT": "soon"}))
        self.assertIn("N8N_INSTANCE_AI_SANDBOX_ENABLED",
                      self.refused("isolated", env={"N8N_INSTANCE_AI_SANDBOX_ENABLED": "maybe"}))


class Faults(WorkspaceScene):
    """A service of n8n's API that behaves badly."""

    def open(self, behave, **env):
        self.fake = Fake(behave)
        self.addCleanup(self.fake.close)
        return self.mcp("n8n-sandbox", env={"N8N_SANDBOX_SERVICE_URL": self.fake.url,
                                            "N8N_SANDBOX_SERVICE_API_KEY": KEY, **env})

    @staticmethod
    def basics(request):
        """Creating, looking and deleting."""
        if request.command == "POST" and request.route == "/sandboxes":
            return 201, {"id": json.loads(request.body)["id"], "status": "running"}
        if request.command == "DELETE":
            return 204,
        if request.command == "GET" and request.route.count("/") == 2:
            return 200, {"id": request.route.split("/")[2], "status": "running"}
        return None

    def test_nobody_listens(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            client = self.mcp("n8n-sandbox", env={
                "N8N_SANDBOX_SERVICE_URL": f"http://127.0.0.1:{taken.getsockname()[1]}",
                "N8N_SANDBOX_SERVICE_API_KEY": KEY})
            self.assertIn("n8n-sandbox: 127.0.0.1", client.bad("list_files"))

    def test_the_key_is_wrong(self):
        client = self.open(lambda request: (401, {"error": "a valid X-Api-Key is required", "code": 401}))
        self.assertEqual(client.bad("list_files"), "n8n-sandbox: the service does not accept the key")

    def test_a_custom_header(self):
        client = self.open(lambda request: self.basics(request) or (200, []),
                           N8N_SANDBOX_SERVICE_API_KEY="", GATEHOUSE_SANDBOX_AUTH_HEADER="X-Team: blue key")
        client.good("list_files")
        self.assertEqual(self.fake.asked[0][3]["X-Team"], "blue key")

    def test_busy_for_a_while(self):
        answers = iter([429, 503, 503])

        def behave(request):
            status = next(answers, None)
            return (status, {"error": "later", "code": status}) if status else \
                self.basics(request) or (200, [])

        self.assertEqual(self.open(behave).good("list_files")["entries"], [])

    def test_busy_for_ever(self):
        client = self.open(lambda request: self.basics(request) or (503, {"error": "no capacity", "code": 503}))
        self.assertEqual(client.bad("list_files"), "n8n-sandbox: no capacity")

    def test_502_is_not_repeated(self):
        client = self.open(lambda request: self.basics(request) or (502, {"error": "broken", "code": 502}))
        self.assertEqual(client.bad("list_files"), "n8n-sandbox: broken")
        self.assertEqual(len([asked for asked in self.fake.asked if "/files" in asked[1]]), 1)

    def test_a_restarted_sandbox_is_asked_again(self):
        seen = []

        def behave(request):
            if "/files" in request.route and not seen:
                seen.append(request.route)
                return 409, {"error": "restarted", "code": 409}, 1
            return self.basics(request) or (200, [])

        client = self.open(lambda request: self.restarted(request, behave(request)))
        client.good("list_files")

    @staticmethod
    def restarted(request, said):
        if len(said) < 3:
            return said
        request.say(*said[:2], X_Sandbox_Restarted="1")
        return None

    def test_answers_that_make_no_sense(self):
        bodies = [b"", b"not json", b"[1,2]", b'{"entries":[]}', b'[{"name":1}]', b'{"id":"../../etc"}',
                  b'[{"name":"a","size":1,"type":"file"', b"\xff\xfe"]
        current = [None]

        def behave(request):
            return self.basics(request) or (200, current[0])

        client = self.open(behave)
        for body in bodies:
            with self.subTest(body=body):
                current[0] = body
                self.assertIn("makes no sense", client.bad("list_files"))
                self.assertIn("makes no sense", client.bad("stat", path="a"))

    def test_a_created_sandbox_that_makes_no_sense(self):
        for body in (b"", b"{}", b'{"id":"../admin"}', b'{"id":7}'):
            with self.subTest(body=body):
                client = self.open(lambda request, body=body: (201, body))
                self.assertIn("makes no sense", client.bad("list_files"))

    def test_half_an_answer(self):
        def behave(request):
            if "/files" not in request.route:
                return self.basics(request)
            request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n[")
            request.cut()
            return None

        self.assertIn("n8n-sandbox: ", self.open(behave).bad("list_files"))

    def test_a_command_goes_on_after_its_answer_was_cut(self):
        def behave(request):
            if request.command == "POST" and request.route.endswith("/executions"):
                self.number = json.loads(request.body)["exec_id"]
                request.begin_lines()
                request.line(seq=0, type="started", exec_id=self.number)
                request.line(seq=1, type="stdout", data="first ")
                request.cut()
                return None
            if request.command == "GET" and "/executions/" in request.route:
                self.assertTrue(request.route.endswith(self.number))
                self.assertEqual(request.query, {"after": "1", "follow": "true"})
                request.begin_lines()
                request.line(seq=1, type="stdout", data="first ")  # once more
                request.line(seq=2, type="stdout", data="second")
                request.line(seq=3, type="exit", exit_code=0, success=True, timed_out=False, killed=False)
                request.end_lines()
                return None
            return self.basics(request)

        client = self.open(behave)
        done = client.good("execute_command", command="whatever")
        self.assertEqual((done["stdout"], done["exitCode"]), ("first second", 0))
        client.good("execute_command", command="whatever", background=True)
        done = client.good("get_process_output", processId="p1", waitMs=300000)
        self.assertEqual((done["stdout"], done["exitCode"]), ("first second", 0))

    def test_a_command_whose_answer_is_always_cut(self):
        def behave(request):
            if "/executions" in request.route and request.command != "DELETE":
                request.begin_lines()
                request.line(seq=0, type="started", exec_id="x")
                request.cut()
                return None
            return self.basics(request)

        client = self.open(behave)
        self.assertIn("n8n-sandbox: ", client.bad("execute_command", command="whatever"))
        process = client.good("execute_command", command="whatever", background=True)["processId"]
        lost = client.good("get_process_output", processId=process, waitMs=300000)
        self.assertEqual((lost["state"], lost["exitCode"]), ("ended", None))
        self.assertIn("n8n-sandbox: ", lost["error"])
        # Nobody could end them any more.
        self.assertEqual(client.end(), 0)
        self.assertEqual(len([path for path in self.deleted() if "/executions/" in path]), 2)

    def test_a_background_command_that_cannot_start(self):
        def behave(request):
            if request.route.endswith("/executions"):
                request.begin_lines()
                request.line(seq=0, type="error", error="workdir does not exist")
                request.end_lines()
                return None
            return self.basics(request)

        client = self.open(behave)
        self.assertEqual(client.bad("execute_command", command="x", background=True), "workdir does not exist")
        self.assertIn("and no other", client.bad("kill_process", processId="p1"))

    def test_a_background_command_whose_start_is_cancelled(self):
        held, arrived = threading.Event(), threading.Event()

        def behave(request):
            if request.route.endswith("/executions"):
                arrived.set()
                held.wait()
                return None
            return self.basics(request)

        self.addCleanup(held.set)
        client = self.open(behave)
        message = client.call_message("execute_command", {"command": "x", "background": True})
        client.send(message)
        arrived.wait()
        client.notify("notifications/cancelled", {"requestId": message["id"]})
        wait_until(lambda: any("/executions/" in path for path in self.deleted()), "the service is told to kill it")
        self.assertIn("and no other", client.bad("kill_process", processId="p1"))

    def test_a_background_command_that_the_service_does_not_kill(self):
        held = threading.Event()

        def behave(request):
            if request.command == "POST" and request.route.endswith("/executions"):
                request.begin_lines()
                request.line(seq=0, type="started", exec_id="x")
                held.wait()
                return None
            return self.basics(request)

        self.addCleanup(held.set)
        client = self.open(behave)
        client.good("execute_command", command="x", background=True)
        said = client.good("kill_process", processId="p1")
        self.assertEqual((said["state"], said["killed"]), ("ended", True))

    def test_events_that_make_no_sense(self):
        for line in (b"{\n", b"[]\n", b'{"type":7}\n', b'{"type":"exit","exit_code":"x"}\n'):
            with self.subTest(line=line):
                client = self.open(lambda request, line=line: self.basics(request) or (200, line))
                self.assertIn("makes no sense", client.bad("execute_command", command="whatever"))

    def test_an_answer_that_does_not_end_after_its_command(self):
        ended = threading.Event()

        def behave(request):
            if request.route.endswith("/executions"):
                request.begin_lines()
                request.line(seq=0, type="exit", exit_code=4, success=False, timed_out=False, killed=False)
                ended.wait()
                return None
            return self.basics(request)

        self.addCleanup(ended.set)
        self.assertEqual(self.open(behave).good("execute_command", command="x")["exitCode"], 4)

    def test_the_first_generation(self):
        """No executions: /exec, whose events have no numbers."""
        def behave(request):
            if request.route.endswith("/exec"):
                request.begin_lines()
                request.line(type="stdout", data=json.loads(request.body)["command"])
                request.line(type="exit", exit_code=0, success=True)
                request.end_lines()
                return None
            if request.route == "/sandboxes" and request.command == "POST":
                return 201, {"id": str(uuid.uuid4()), "provider": "n8n-sandbox", "image_id": "img-1"}
            return self.basics(request) or (404, {"error": "no such route", "code": 404})

        client = self.open(behave)
        self.assertEqual(client.good("execute_command", command="old")["stdout"], "old")
        client.good("execute_command", command="behind", background=True)
        self.assertEqual(client.good("get_process_output", processId="p1", waitMs=300000)["stdout"], "behind")

    def test_a_slow_service_is_given_up_when_the_call_is_cancelled(self):
        held = threading.Event()
        arrived = threading.Event()

        def behave(request):
            if "/files" in request.route:
                arrived.set()
                held.wait()
            return self.basics(request) or (200, [])

        self.addCleanup(held.set)
        client = self.open(behave)
        message = client.call_message("list_files", {})
        client.send(message)
        arrived.wait()
        client.notify("notifications/cancelled", {"requestId": message["id"]})
        self.assertEqual(client.end(), 0)  # nothing hangs
        self.assertIn("DELETE", [asked[0] for asked in self.fake.asked])

    def test_an_image_is_made_once_and_then_named(self):
        """The first workspace sends the steps, later ones the image's id; one that is gone is made again."""
        images = ["img-1", "img-2"]

        def behave(request):
            if request.route == "/sandboxes" and request.command == "POST":
                body = json.loads(request.body)
                if body.get("image_id") == "img-1" and gone:
                    return 400, {"error": "no such image", "code": 400}
                image = body.get("image_id") or images.pop(0)
                return 201, {"id": body["id"], "image_id": image}
            if request.route.count("/") == 2 and request.command == "GET":
                return 404, {"error": "gone", "code": 404}
            return self.basics(request) or (404, {"error": "gone", "code": 404})

        gone = []
        client = self.open(behave, GATEHOUSE_WORKSPACE_SETUP="RUN one\nRUN two")
        for _ in range(2):
            self.assertIn("the workspace is gone", client.bad("list_files"))
        gone.append(True)
        self.assertIn("the workspace is gone", client.bad("list_files"))
        created = [json.loads(asked[2]) for asked in self.fake.asked if asked[:2] == ("POST", "/sandboxes")]
        steps = ["RUN one", "RUN two"]
        self.assertEqual([(body.get("dockerfile_steps"), body.get("image_id")) for body in created],
                         [(steps, None), (None, "img-1"), (None, "img-1"), (steps, None)])

    def test_small_first_files_are_part_of_the_image(self):
        """Before the set-up, which may use them; large ones and odd names are written afterwards."""
        large = "x" * 20000
        folder = self.folder(**{"package.json": "{}", "src/a b.txt": "a", "it's": "odd", "large": large})
        (folder / "src/a b.txt").chmod(0o755)
        images = []

        def behave(request):
            if request.route == "/sandboxes" and request.command == "POST":
                body = json.loads(request.body)
                return 201, {"id": body["id"], **({"image_id": images[-1]} if images else {})}
            return self.basics(request) or (200, [])

        client = self.open(behave, GATEHOUSE_WORKSPACE_FILES="first", GATEHOUSE_WORKSPACE_SETUP="FROM node:22\nRUN npm ci")
        self.assertIn("has built no image", client.bad("list_files"))
        images.append("img-1")
        client.good("list_files")
        steps = json.loads([asked[2] for asked in self.fake.asked if asked[:2] == ("POST", "/sandboxes")][-1])["dockerfile_steps"]
        self.assertEqual((steps[0], steps[-1], len(steps)), ("FROM node:22", "RUN npm ci", 3))
        self.assertIn(base64.b64encode(b"{}").decode(), steps[1])
        written = [urllib.parse.parse_qs(asked[1].partition("?")[2])["path"][0] for asked in self.fake.asked if asked[0] == "PUT"]
        self.assertEqual(written, ["/home/user/it's", "/home/user/large"])
        # What the step says, done here.
        home = self.room / "home"
        home.mkdir()
        subprocess.run(["sh", "-c", steps[1].removeprefix("RUN ").replace("/home/user", str(home))], check=True, timeout=PATIENCE)
        self.assertEqual({str(path.relative_to(home)): path.read_text() for path in home.rglob("*") if path.is_file()},
                         {"package.json": "{}", "src/a b.txt": "a"})
        self.assertTrue(os.access(home / "src/a b.txt", os.X_OK) and not os.access(home / "package.json", os.X_OK))

    def test_first_files_with_secrets_stay_out_by_all_their_names(self):
        folder = self.folder(**{".env": "KEY=1", ".ssh/id_ed25519": "KEY", "a": "1"})
        client = self.open(lambda request: self.basics(request) or (200, []), GATEHOUSE_WORKSPACE_FILES="first")
        client.good("list_files")
        self.assertEqual([asked[2] for asked in self.fake.asked if asked[0] == "PUT"], [b"1"])
        self.assertIn("may hold secrets", client.words())
        os.link(folder / ".env", folder / "harmless")
        self.assertIn("--workspace-files: 'first'", self.refused("isolated", "--workspace-files", "first"))
        client = self.again(GATEHOUSE_WORKSPACE_FILES="first", GATEHOUSE_SENSITIVE="allow")
        client.good("list_files")
        self.assertIn(b"KEY=1", [asked[2] for asked in self.fake.asked if asked[0] == "PUT"])

    def test_first_files_that_are_secrets_by_where_the_folder_lies_stay_out_too(self):
        self.folder(**{".config/gh/hosts.yml": "TOKEN", ".config/a": "1"})
        client = self.open(lambda request: self.basics(request) or (200, []), GATEHOUSE_WORKSPACE_FILES="first/.config")
        client.good("list_files")
        self.assertEqual([asked[2] for asked in self.fake.asked if asked[0] == "PUT"], [b"1"])
        self.assertIn("may hold secrets", client.words())

    def test_first_files_that_cannot_be_written_are_said_and_tried_again(self):
        self.folder(**{"a": "1", "b": "2"})
        fails = [True]

        def behave(request):
            if request.command == "PUT":
                return (500, {"error": "no room", "code": 500}) if fails and "b" in request.query["path"] else (200,)
            return self.basics(request) or (200, [])

        client = self.open(behave, GATEHOUSE_WORKSPACE_FILES="first")
        self.assertIn("the first files cannot be written: n8n-sandbox: no room", client.bad("list_files"))
        fails.clear()
        client.good("list_files")
        client.good("list_files")
        written = [asked[1].partition("path=/home/user/")[2][0] for asked in self.fake.asked if asked[0] == "PUT"]
        self.assertEqual(written, ["a", "b", "b"])
        self.assertEqual([asked[:2] for asked in self.fake.asked].count(("POST", "/sandboxes")), 1)

    def test_a_killed_host_is_started_again(self):
        self.folder(**{"a": "1"})
        client = self.open(lambda request: self.basics(request) or (200, []), GATEHOUSE_WORKSPACE_FILES="first")
        for _ in range(2):
            client.good("list_files")
            host = self.host_of(client)
            os.kill(host, signal.SIGKILL)
            # What was lost is told once.
            words = [client.bad("list_files")]
            wait_until(lambda: "ended" not in (words.append(self.said(client)) or words[-1]), "another one works")
            self.assertEqual(len([each for each in words if "gone with its files" in each]), 1, words)
        written = [asked for asked in self.fake.asked if asked[0] == "PUT"]
        self.assertEqual(len(written), 3)  # each workspace has the first files
        self.assertEqual(client.end(), 0)
        self.assertEqual(len({asked[1] for asked in self.fake.asked if asked[0] == "DELETE"}), 3)

    def test_what_starts_hosts_may_die_itself(self):
        client = self.open(lambda request: self.basics(request) or (200, []))
        guard, starter = self.starters_of(client)
        os.kill(starter, signal.SIGKILL)
        os.kill(self.host_of(client), signal.SIGKILL)
        wait_until(lambda: "ended" not in self.said(client), "another one works")
        again = self.starters_of(client)
        self.assertEqual(again[0], guard)
        self.assertNotEqual(again[1], starter)
        for pid in (guard, self.host_of(client)):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: "ended" not in self.said(client), "it does without the other")
        last = os.pidfd_open(again[1])
        self.addCleanup(os.close, last)
        client.process.kill()
        client.process.wait(PATIENCE)
        self.assertTrue(select.select([last], [], [], PATIENCE)[0], "what starts hosts is left")
        wait_until(self.deleted, "nothing is left")

    def said(self, client):
        return json.dumps(client.call("list_files"))

    def left(self):
        """The files that say which workspaces exist."""
        folder = self.state / "workspaces"
        return sorted(folder.iterdir()) if folder.exists() else []

    def deleted(self):
        return [asked[1] for asked in self.fake.asked if asked[0] == "DELETE"]

    def kill_while_creating(self):
        """The target of a sandbox that is being created when its host is killed."""
        held = threading.Event()
        arrived = threading.Event()

        def behave(request):
            if request.command == "POST" and not arrived.is_set():
                self.created = json.loads(request.body)["id"]
                arrived.set()
                held.wait()
            return self.basics(request) or (200, [])

        self.addCleanup(held.set)
        client = self.open(behave)
        client.send(client.call_message("list_files", {}))
        arrived.wait()
        self.kill_host(client)
        client.wait_until(lambda: client.answers)
        return f"/sandboxes/{self.created}"

    def again(self, **env):
        return self.mcp("n8n-sandbox", env={"N8N_SANDBOX_SERVICE_URL": self.fake.url,
                                            "N8N_SANDBOX_SERVICE_API_KEY": KEY, **env})

    def test_one_that_is_being_created_is_ended_by_the_next_start(self):
        target = self.kill_while_creating()
        [file] = self.left()
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.assertNotIn(KEY, file.read_text())
        self.again()
        wait_until(lambda: target in self.deleted() and self.left() == [], "it is ended, and forgotten")

    def test_a_service_that_does_not_end_it_is_asked_by_the_next_start(self):
        target = self.kill_while_creating()
        basics, refuses = self.fake.behave, [True]

        def behave(request):
            if request.command == "DELETE" and refuses:
                return 500, {"error": "broken", "code": 500}
            return basics(request)

        self.fake.behave = behave
        first = self.again()
        wait_until(lambda: target in self.deleted(), "it is asked")
        self.assertEqual(first.end(), 0)
        self.assertEqual(len(self.left()), 1)
        refuses.clear()
        self.again()
        wait_until(lambda: self.left() == [], "it is ended")

    def test_what_another_service_has_is_left_to_who_asks_that(self):
        self.kill_while_creating()
        other = Fake(lambda request: self.basics(request) or (200, []))
        self.addCleanup(other.close)
        client = self.again(N8N_SANDBOX_SERVICE_URL=other.url)
        client.good("list_files")
        self.assertEqual(client.end(), 0)
        self.assertEqual(len(self.left()), 1)
        self.assertEqual([asked[0] for asked in other.asked].count("DELETE"), 1)  # its own

    def test_lines_that_make_no_sense_are_asked_nowhere(self):
        folder = self.state / "workspaces"
        client = self.open(lambda request: self.basics(request) or (200, []))
        client.end()
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "left-1").write_text(f"n8n-sandbox {self.fake.url}\n+../admin/tenants/1\n+good\n+torn")
        (folder / "left-2").write_text("")
        os.symlink(self.room / "elsewhere", folder / "left-3")
        self.again().good("list_files")
        wait_until(lambda: "/sandboxes/good" in self.deleted(), "the good one is ended")
        self.assertEqual([path for path in self.deleted() if "admin" in path or "torn" in path], [])

    def test_nothing_is_noted_after_a_good_end(self):
        client = self.open(lambda request: self.basics(request) or (200, []))
        client.good("list_files")
        self.assertEqual(len(self.left()), 1)
        self.assertEqual(client.end(), 0)
        self.assertEqual(self.left(), [])

    def test_what_cannot_be_noted_is_not_created(self):
        client = self.open(lambda request: self.basics(request) or (200, []))
        (self.state / "workspaces").rmdir()
        (self.state / "workspaces").write_text("a file")
        client.bad("list_files")
        self.assertEqual([asked for asked in self.fake.asked if asked[0] == "POST"], [])


class DaytonaAnswers(WorkspaceScene):
    """Answers as Daytona gives them, and some that make no sense."""

    def open(self, behave):
        self.fake = Fake(behave)
        self.addCleanup(self.fake.close)
        return self.mcp("daytona", env={"DAYTONA_API_URL": self.fake.url + "/api", "DAYTONA_API_KEY": "dtn_key"})

    def record(self, **more):
        return {"id": "0b1e-sandbox", "state": "started", "toolboxProxyUrl": self.fake.url + "/toolbox", **more}

    def asked(self, method, path):
        return [json.loads(body or b"null") for command, target, body, _ in self.fake.asked
                if (command, target) == (method, path)]

    def test_an_image_that_is_no_snapshot_is_built(self):
        states = iter(["pending_build", "creating", "started"])

        def behave(request):
            if (request.command, request.route) == ("POST", "/api/sandbox"):
                if "snapshot" in json.loads(request.body):
                    return 400, {"statusCode": 400, "message": "Snapshot not found", "error": "Bad Request"}
                return 200, self.record(state=next(states))
            if (request.command, request.route) == ("GET", "/api/sandbox/0b1e-sandbox"):
                return 200, self.record(state=next(states))
            return 200, [{"name": "a", "isDir": False, "size": 3, "modTime": "2026-11-17T08:00:00Z"}]

        client = self.open(behave)
        self.assertEqual(client.good("list_files")["entries"], [{"name": "a", "type": "file", "size": 3}])
        first, second = self.asked("POST", "/api/sandbox")
        self.assertEqual(first["snapshot"], "daytonaio/sandbox:0.5.0")
        self.assertEqual(second["buildInfo"], {"dockerfileContent": "FROM daytonaio/sandbox:0.5.0\n"})
        self.assertEqual(second["autoDeleteInterval"], 0)
        self.assertEqual({headers["Authorization"] for *_, headers in self.fake.asked}, {"Bearer dtn_key"})
        self.assertEqual(client.end(), 0)
        self.assertEqual(self.fake.asked[-1][:2], ("DELETE", "/api/sandbox/0b1e-sandbox"))

    def test_a_sandbox_that_cannot_start_is_deleted(self):
        client = self.open(lambda request: (200, self.record(state="build_failed", errorReason="no such image")))
        self.assertEqual(client.bad("list_files"), "daytona: the sandbox cannot start: no such image")
        self.assertEqual(client.end(), 0)
        self.assertIn(("DELETE", "/api/sandbox/0b1e-sandbox"), [asked[:2] for asked in self.fake.asked])

    def test_the_key_goes_to_no_unprotected_toolbox(self):
        client = self.open(lambda request: (200, self.record(toolboxProxyUrl="http://elsewhere.example/toolbox")))
        self.assertIn("unprotected", client.bad("list_files"))

    def test_answers_that_make_no_sense(self):
        for body in (b"", b"{}", b"[]", b'{"id":"../x","state":"started"}', b'{"id":"a","state":7}',
                     b'{"id":"a","state":"started"}', b'{"id":"a","state":"started","toolboxProxyUrl":"ftp://x"}'):
            with self.subTest(body=body):
                client = self.open(lambda request, body=body: (200, body))
                self.assertIn("makes no sense", client.bad("list_files"))

    def test_files_and_commands_that_make_no_sense(self):
        bodies = [b"", b"--b", b"--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nhalf", b"{}", b"[7]"]
        current = [None]

        def behave(request):
            return (200, self.record()) if request.route.startswith("/api/") else (200, current[0])

        client = self.open(behave)
        for body in bodies:
            with self.subTest(body=body):
                current[0] = body
                for tool, arguments in (("read_file", {"path": "a"}), ("stat", {"path": "a"}),
                                        ("list_files", {}), ("execute_command", {"command": "x"})):
                    self.assertIn("makes no sense", client.bad(tool, **arguments))

    def test_errors_have_the_words_of_daytona(self):
        def behave(request):
            if request.route.startswith("/api/"):
                return 200, self.record()
            return 500, {"statusCode": 500, "message": "the runner is gone", "error": "Internal Server Error"}

        self.assertEqual(self.open(behave).bad("stat", path="a"), "daytona: the runner is gone")


class N8nSandbox(Suite, Swept, Shared):
    """Our own service, by the API that n8n's has."""

    def open(self, *flags):
        return self.mcp("n8n-sandbox", *flags, env={"N8N_SANDBOX_SERVICE_URL": self.service.url,
                                            "N8N_SANDBOX_SERVICE_API_KEY": KEY})

    sandboxes = Isolated.sandboxes
    delete = Isolated.delete


class Daytona(Suite, Swept, Shared):
    """Our own service, by the API that Daytona has."""

    def setUp(self):
        if self.service.ask("GET", "/api/sandbox", headers={"Authorization": f"Bearer {KEY}"})[0] == 404:
            self.skipTest("this service has no Daytona API")
        super().setUp()

    def open(self, *flags):
        return self.mcp("daytona", *flags,
                        env={"DAYTONA_API_URL": self.service.url + "/api", "DAYTONA_API_KEY": KEY})

    sandboxes = Isolated.sandboxes
    delete = Isolated.delete


if __name__ == "__main__":
    main()
