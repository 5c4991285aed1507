#!/usr/bin/env python3
"""Our clients of n8n's sandbox service and of Daytona, with answers in the shapes that those have: recorded/*.json.

    test_mcp_workspace_recorded.py GATEHOUSE
"""
import json
import sys

sys.dont_write_bytecode = True  # not into the sources
from sandboxd_scene import KEY
from mcp_workspace_scene import WorkspaceScene, main
from recorded_answers import Replay, load

ENTRIES = [{"name": "src", "type": "directory"}, {"name": "größe.txt", "type": "file", "size": 12}]
ABOUT = {"path": "a.txt", "type": "file", "size": 12, "modifiedAt": "2026-11-17T08:00:00.500Z"}


class Recorded(WorkspaceScene):
    def replay(self, name):
        self.service = Replay(load(name))
        self.addCleanup(self.service.close)

    def asked(self, method):
        return [path for command, path, _, _ in self.service.asked if command == method]

    def assert_entries(self, client):
        self.assertEqual(sorted(client.good("list_files")["entries"], key=lambda entry: entry["type"]), ENTRIES)

    def assert_plain(self):
        """Nothing is asked for that would have to be unpacked, and connections are kept."""
        for *_, headers in self.service.asked:
            self.assertNotIn("gzip", headers.get("Accept-Encoding", ""))


class N8nSandbox(Recorded):
    def test_every_answer_is_understood(self):
        self.replay("n8n-sandbox")
        client = self.mcp("n8n-sandbox", env={"N8N_SANDBOX_SERVICE_URL": self.service.url, "N8N_SANDBOX_SERVICE_API_KEY": KEY})
        self.assert_entries(client)  # after a 503, and a restart that only the answer tells
        self.assertEqual(client.good("stat", path="a.txt"), ABOUT)
        self.assertEqual(client.good("read_file", path="a.txt")["content"], "one\ntwo\n")
        client.good("write_file", path="a.txt", content="new\n")
        client.good("mkdir", path="d")
        client.good("move_file", source="a.txt", destination="b.txt")
        self.assertEqual(client.bad("copy_file", source="a.txt", destination="b.txt"), "n8n-sandbox: destination exists")
        self.assertEqual(client.bad("delete_file", path="b.txt"), "n8n-sandbox: file not found")
        done = client.good("execute_command", command="x")
        self.assertEqual((done["stdout"], done["stderr"], done["exitCode"]), ("größe\n", "careful\n", 3))
        self.assertEqual(client.bad("execute_command", command="x"), "workdir does not exist")
        client.good("execute_command", command="x", background=True)
        said = client.good("get_process_output", processId="p1", waitMs=300000)
        self.assertEqual((said["state"], said["error"]), ("ended", "workdir does not exist"))
        self.assertEqual(client.end(), 0)
        self.assertIn(2, [path.count("/") for path in self.asked("DELETE")])  # the sandbox itself
        self.assert_plain()


class Daytona(Recorded):
    def test_every_answer_is_understood(self):
        self.replay("daytona")
        client = self.mcp("daytona", env={"DAYTONA_API_URL": self.service.url + "/api", "DAYTONA_API_KEY": "dtn_key"})
        self.assert_entries(client)  # once it has started
        self.assertEqual(client.good("stat", path="a.txt"), ABOUT)
        self.assertEqual(client.good("read_file", path="a.txt")["content"], "one\ntwo\n")
        for name in ("b.txt", "c.txt"):
            self.assertEqual(client.bad("read_file", path=name), f"daytona: file not found: {name}")
        client.good("write_file", path="a.txt", content="new\n", overwrite=True)
        client.good("mkdir", path="d")
        self.assertEqual(client.bad("delete_file", path="b.txt"), "daytona: permission denied")
        done = client.good("execute_command", command="x")
        self.assertEqual((done["stdout"], done["stderr"], done["exitCode"]), ("größe\n", "careful\n", 3))
        done = client.good("execute_command", command="x")  # both streams in one text
        self.assertEqual((done["stdout"], done["stderr"], done["exitCode"]), ("größe\nmore\n", "careful\n", 0))
        client.good("execute_command", command="x", background=True)
        said = client.good("get_process_output", processId="p1")
        self.assertEqual((said["state"], said["stdout"], said["stderr"]), ("running", "größe\n", "careful\n"))
        said = client.good("get_process_output", processId="p1", waitMs=300000)  # both streams in one text
        self.assertEqual((said["stdout"], said["stderr"], said["exitCode"]), ("größe\nmore\n", "careful\n", 3))
        client.good("move_file", source="a.txt", destination="b.txt")
        self.assertEqual(client.end(), 0)
        self.assertIn(f"/api/sandbox/{self.service.recording['sandbox']}", self.asked("DELETE"))
        created = json.loads(self.service.asked[0][2])
        self.assertEqual(created["autoDeleteInterval"], 0)
        self.assert_plain()


if __name__ == "__main__":
    main()
