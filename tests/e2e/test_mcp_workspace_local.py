#!/usr/bin/env python3
"""The provider local, in builds that have it: the suite of all providers, and what is different here.

    test_mcp_workspace_local.py GATEHOUSE
"""
import os
import shutil
import signal
import sys

sys.dont_write_bytecode = True  # not into the sources
from mcp_workspace_scene import WorkspaceScene, main, wait_until
from test_mcp_workspace import Suite

ALLOWED = ("--permission-filesystem-write", "allow", "--permission-shell", "allow")


class Local(Suite, WorkspaceScene):
    def setUp(self):
        super().setUp()
        self.client = self.open()

    def open(self, *flags):
        return self.mcp("local", *ALLOWED, *flags)

    def sandboxes(self):
        folder = self.room / "workspace-builders"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    def delete(self, sandbox):
        shutil.rmtree(self.room / "workspace-builders" / sandbox)

    def test_it_is_ended_with_its_client(self):
        """Its commands are; the folder stays, for whoever wants to see what was done."""
        self.client.good("write_file", path="a", content="1")
        self.assertEqual(self.client.end(), 0)
        [sandbox] = self.sandboxes()
        self.assertEqual((self.room / "workspace-builders" / sandbox / "a").read_text(), "1")

    def test_it_is_ended_when_its_client_is_killed(self):
        self.check_killed(lambda: self.client.process.kill())

    def test_it_is_ended_when_its_host_is_killed(self):
        self.check_killed(lambda: os.kill(self.host_of(self.client), signal.SIGKILL))

    def test_background_commands_end_when_its_host_is_killed(self):
        self.check_killed(lambda: os.kill(self.host_of(self.client), signal.SIGKILL), background=True)

    def test_background_commands_end_with_its_client(self):
        self.check_killed(self.client.end, background=True)

    def check_killed(self, kill, **more):
        self.client.send(self.client.call_message(
            "execute_command", {"command": "flock lock sh -c 'touch begun; sleep 1000'", **more}))
        self.wait_for_file("begun")
        lock = self.room / "workspace-builders" / self.sandboxes()[0] / "lock"
        kill()
        wait_until(lambda: os.system(f"flock -n {lock} true") == 0, "the command is killed")

    def test_permission_is_that_of_this_machine(self):
        client = self.mcp("local")
        names = [tool["name"] for tool in client.request("tools/list")["tools"]]
        self.assertEqual(names, ["read_file", "list_files", "stat", "grep"])

    def test_it_is_not_called_apart(self):
        words = self.mcp("local", opens=False).open()["instructions"]
        self.assertIn("a folder on the user's machine", words)
        self.assertNotIn("apart", words)

    def test_links_lead_nowhere_else(self):
        secret = self.room / "secret.txt"
        secret.write_text("of the machine")
        self.client.good("execute_command", command=f"ln -s {secret} link; ln -s {self.room} folder")
        self.client.bad("read_file", path="link")
        self.client.bad("read_file", path="folder/secret.txt")
        self.client.bad("write_file", path="folder/new", content="x")
        self.assertFalse((self.room / "new").exists())
        self.client.bad("execute_command", command="true", cwd="folder")
        self.client.bad("execute_command", command="true", cwd="/etc")

    def test_a_folder_with_its_home(self):
        done = self.client.good("execute_command", command="pwd; echo $HOME")
        here = str((self.room / "workspace-builders").resolve() / self.sandboxes()[0])
        self.assertEqual(done["stdout"], f"{here}\n{here}\n")
        self.client.good("write_file", path=f"{here}/abs", content="1")
        self.assertEqual(self.client.good("read_file", path="abs")["content"], "1")

    def test_it_is_refused_in_production(self):
        self.assertIn("NODE_ENV is production", self.refused("local", env={"NODE_ENV": "production"}))

    def test_it_has_no_images(self):
        self.assertIn("local has no images", self.refused("local", "--workspace-setup", "RUN true"))


if __name__ == "__main__":
    main()
