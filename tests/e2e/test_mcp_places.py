#!/usr/bin/env python3
"""No session can reach the settings and state of any Gatehouse program."""
import json
import os
import stat
import subprocess

import mcp_client
from mcp_client import PATIENCE
from shell_scene import Commands

SECRET = "needle of somebody else"
SETTINGS = ".n8n-gateway"
STATE = ".local/state/gatehouse"


class Places(Commands):
    """The folder is the home; settings and state of the session are elsewhere."""

    def setUp(self):
        super().setUp()
        self.own = self.room / "own"
        self.own.mkdir(mode=0o700)
        self.flags = ("--settings-dir", self.own / "settings", "--state-dir", self.own / "state")
        (self.own / "settings").mkdir(mode=0o700)
        self.env = {"HOME": str(self.root), "XDG_STATE_HOME": str(self.room / "xdg")}

    def assert_no_litter(self):
        pass  # the state is elsewhere

    def plant(self):
        for folder, name in ((SETTINGS, "settings.json"), (STATE, "audit.jsonl")):
            (self.root / folder).mkdir(mode=0o700, parents=True)
            (self.root / folder / name).write_text(SECRET)

    def assert_private_and_empty(self, folder):
        self.assertEqual(stat.S_IMODE((self.root / folder).stat().st_mode), 0o700)
        self.assertEqual(os.listdir(self.root / folder), [])

    def assert_planted(self):
        for folder, name in ((SETTINGS, "settings.json"), (STATE, "audit.jsonl")):
            self.assertEqual((self.root / folder / name).read_text(), SECRET)

    def test_file_tools_reach_no_default_place(self):
        self.plant()
        server = self.start("--write", *self.flags, env=self.env)
        for name in (f"{SETTINGS}/settings.json", f"{STATE}/audit.jsonl"):
            server.bad("read_file", filePath=name)
            server.bad("write_file", filePath=name, content="{}")
            server.bad("delete", path=name)
        for folder in (SETTINGS, STATE, ".local"):
            server.bad("move", sourcePath=folder, destinationPath="elsewhere")
            server.bad("delete", path=folder)
        self.assertNotIn(SETTINGS, json.dumps(server.good("list_files", dirPath=".")))
        self.assertNotIn(SECRET, json.dumps(server.good("search_files", dirPath=".", query="needle")))
        self.assert_planted()

    def test_file_tools_make_no_default_place(self):
        server = self.start("--write", *self.flags, env=self.env)
        for folder in (SETTINGS, STATE):
            server.bad("create_directory", dirPath=folder)
            server.bad("write_file", filePath=f"{folder}/settings.json", content="{}")
            self.assert_private_and_empty(folder)

    def test_commands_reach_no_default_place(self):
        self.plant()
        server = self.begin("--write", *self.flags, env=self.env)
        said = self.answer(server, f"cat {SETTINGS}/* {STATE}/*; echo '{{}}' > {SETTINGS}/settings.json; "
                                   f"mv {SETTINGS} a; mv .local b; rm -rf {SETTINGS} {STATE}; echo end")
        self.assertIn("end", said["stdout"])
        self.assertNotIn(SECRET, said["stdout"])
        self.assert_planted()

    def test_commands_make_no_default_place(self):
        server = self.begin("--write", *self.flags, env=self.env)
        self.answer(server, f"mkdir -p -m 755 {SETTINGS} {STATE}; echo '{{}}' > {SETTINGS}/settings.json; "
                            f"echo x > {STATE}/x; rmdir {SETTINGS} && mkdir {SETTINGS}; "
                            "mv .local gone && mkdir -p .local/state; chmod 755 "
                            f"{SETTINGS} {STATE}")
        for folder in (SETTINGS, STATE):
            self.assert_private_and_empty(folder)

    def test_what_the_environment_names_for_others_is_out_of_reach(self):
        for name in ("xdg/gatehouse", "runtime/gatehouse", "settings", "state"):
            (self.root / name).mkdir(mode=0o700, parents=True)
            (self.root / name / "file").write_text(SECRET)
        server = self.begin("--write", *self.flags, env={
            **self.env, "XDG_STATE_HOME": str(self.root / "xdg"),
            "XDG_RUNTIME_DIR": str(self.root / "runtime"),
            "GATEHOUSE_SETTINGS_DIR": str(self.root / "settings"),
            "GATEHOUSE_STATE_DIR": str(self.root / "state")})
        for name in ("xdg/gatehouse", "runtime/gatehouse", "settings", "state"):
            server.bad("read_file", filePath=f"{name}/file")
        said = self.answer(server, "cat */gatehouse/file settings/file state/file; echo end")
        self.assertIn("end", said["stdout"])
        self.assertNotIn(SECRET, said["stdout"])

    def test_no_place_of_ours_is_writable_for_commands(self):
        self.plant()
        for folder in (f"{SETTINGS}/below", f"{STATE}/below"):
            (self.root / folder).mkdir(exist_ok=True)
            server = self.start("--permission-shell", "allow", *self.flags, "--shell-writable",
                                self.root / folder, folder=self.outside, env=self.env, opens=False)
            self.assertNotEqual(server.wait(), 0)
            self.assertIn("belongs to Gatehouse", server.words())

    def sandbox(self, *words):
        return subprocess.run([mcp_client.GATEHOUSE, "sandbox", "run", *map(str, words)],
                              cwd=self.root, env={"PATH": "/usr/bin:/bin", **self.env},
                              capture_output=True, text=True, timeout=PATIENCE, check=False)

    def test_a_sandbox_of_a_person_hides_them_too(self):
        script = (f"cat {SETTINGS}/* {STATE}/*; mkdir -p {SETTINGS} {STATE}; "
                  f"echo x > {SETTINGS}/x; echo x > {STATE}/x; echo end")
        done = self.sandbox("--rw", ".", "--", "sh", "-c", script)
        if "namespaces" in done.stderr:
            self.skipTest(done.stderr)
        self.assertIn("end", done.stdout)
        for folder in (SETTINGS, STATE):
            self.assert_private_and_empty(folder)
            (self.root / folder).rmdir()
        (self.root / ".local/state").rmdir()
        (self.root / ".local").rmdir()
        self.plant()
        done = self.sandbox("--rw", ".", "--", "sh", "-c", script)
        self.assertNotIn(SECRET, done.stdout)
        self.assert_planted()


if __name__ == "__main__":
    mcp_client.main()
