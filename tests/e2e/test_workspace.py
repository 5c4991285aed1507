#!/usr/bin/env python3
"""`gatehouse workspace`: an agent works on a copy, and what the user chooses comes back."""
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from mcp_client import PATIENCE
from workspace_scene import WorkspaceScene, content


class Copying(WorkspaceScene):
    def test_a_copy_is_like_the_project(self):
        self.write("a.txt")
        self.write("src/run.sh", "#!/bin/sh\n").chmod(0o755)
        (self.project / "empty").mkdir()
        os.symlink("a.txt", self.project / "link")
        os.symlink("/etc/passwd", self.project / "out")
        os.utime(self.project / "a.txt", ns=(1, 1234567890123456789))
        copy = self.new()
        self.assertEqual(content(copy), content(self.project))
        self.assertEqual((copy / "a.txt").stat().st_mtime_ns, 1234567890123456789)
        self.assertEqual(copy.name, "shop")
        self.assertEqual(self.new().name, "shop-2")
        self.assertEqual(self.new("--name", "other").name, "other")
        listed = json.loads(self.does("ls", "--json"))
        self.assertEqual([item["name"] for item in listed], ["other", "shop", "shop-2"])
        self.assertEqual({item["original"] for item in listed}, {str(self.project)})
        self.assertIn(str(self.project), self.does("ls"))
        self.assertEqual(self.does("path", "shop").strip(), str(copy))
        self.assertEqual(self.does("diff", "shop"), "")

    def test_what_holds_secrets_stays_out_by_all_its_names(self):
        self.write(".env", "KEY=1\n")
        os.link(self.project / ".env", self.project / "settings.txt")
        self.write("certs/server.key", "private\n")
        os.symlink(".env", self.project / "alias")
        self.write("a.txt")
        code, out, said = self.run_it("new", self.project)
        self.assertEqual(code, 0)
        copy = self.copies / out.strip()
        self.assertEqual(set(content(copy)), {b"a.txt", b"alias", b"certs"})
        self.assertIn("left out 3 files", said)
        self.assertIn("settings.txt", said)
        self.assertEqual(content(self.new("--with-sensitive")), content(self.project))

    def test_what_holds_secrets_by_where_the_project_lies_stays_out_too(self):
        project = self.root / ".config"
        (project / "gh").mkdir(parents=True)
        (project / "gh/hosts.yml").write_text("token\n")
        os.link(project / "gh/hosts.yml", project / "alias")
        (project / "a.txt").write_text("a\n")
        for flags, there in (((), {b"a.txt", b"gh"}), (("--with-sensitive",), {b"a.txt", b"alias", b"gh", b"gh/hosts.yml"})):
            name = self.run_it("new", *flags, project)[1].strip()
            self.assertEqual(set(content(self.copies / name)), there)
        (self.copies / name / "gh/hosts.yml").write_text("of the agent\n")
        self.assertIn("gh/hosts.yml", self.does("diff", name))
        self.assertNotIn("of the agent", self.does("diff", name))

    def test_history_is_copied_unless_it_is_not_wanted(self):
        self.write("a.txt")
        self.write(".git/HEAD", "ref: refs/heads/main\n")
        self.write("lib/.git/HEAD", "ref: x\n")
        self.assertEqual(content(self.new()), content(self.project))
        self.assertEqual(set(content(self.new("--without-git"))), {b"a.txt", b"lib"})

    def git(self, folder, *words):
        """What Git says in a folder, whatever this machine's settings are."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.root), "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", folder, *words], env=environment,
            capture_output=True, text=True, timeout=PATIENCE, check=True).stdout

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_git_does_not_take_what_was_left_out_for_deleted(self):
        for folder, secret in ((self.project, "settings/.env"), (self.project / "lib", "server.key")):
            folder.mkdir(exist_ok=True)
            self.git(folder, "init", "-q")
            self.write("a.txt", at=folder)
            self.write(secret, "KEY=1\n", at=folder)
            self.git(folder, "add", "a.txt", secret)
            self.git(folder, "commit", "-qm", "first")
        # Whoever can write a hook or a setting may not have it run here.
        hook = self.write(".git/hooks/post-index-change", f"#!/bin/sh\ntouch {self.root}/ran\n")
        hook.chmod(0o755)
        self.git(self.project, "config", "core.fsmonitor", str(hook))
        code, out, said = self.run_it("new", self.project)
        copy = self.copies / out.strip()
        self.assertEqual((code, (self.root / "ran").exists()), (0, False), said)
        self.assertNotIn("deleted", said)
        self.git(copy, "config", "--unset", "core.fsmonitor")
        for folder, secret in ((copy, "settings/.env"), (copy / "lib", "server.key")):
            self.assertFalse((folder / secret).exists())
            self.write("a.txt", "changed\n", at=folder)
            self.assertEqual(self.git(folder, "status", "--porcelain", "-uno"), " M a.txt\n")
            self.git(folder, "commit", "-qam", "second")
            self.assertEqual(self.git(folder, "ls-files", secret), secret + "\n")
            self.assertEqual(self.git(folder, "show", "--format=", "--name-only"), "a.txt\n")
            self.git(folder, "fsck")
        # The project's own index is as before, and a file that is deleted there shows as deleted.
        (self.project / "settings/.env").unlink()
        self.write(".env")
        self.assertEqual(self.git(self.new(), "status", "--porcelain", "-uno"), " D settings/.env\n")

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_an_index_of_another_form_is_left_and_said(self):
        self.project.mkdir(exist_ok=True)
        self.git(self.project, "init", "-q")
        self.write(".env")
        self.git(self.project, "add", ".env")
        self.git(self.project, "update-index", "--split-index")
        code, out, said = self.run_it("new", self.project)
        self.assertEqual(code, 0, said)
        self.assertIn(".git/index", said)
        self.assertIn("as deleted", said)
        self.assertEqual((self.copies / out.strip() / ".git/index").read_bytes(),
                         (self.project / ".git/index").read_bytes())

    def test_a_hostile_project_harms_nobody(self):
        self.write("a.txt")
        os.mkfifo(self.project / "fifo")
        odd = os.fsencode(self.project) + b"/new\nline\x1b[31m\xff"
        with open(odd, "wb") as file:
            file.write(b"odd\n")
        with open(self.project / "huge", "wb") as file:
            file.truncate(1 << 40)
        shut = self.project / "shut"
        shut.mkdir()
        self.write("shut/in")
        shut.chmod(0o500)
        self.addCleanup(shut.chmod, 0o700)
        deep = self.project
        for _ in range(60):
            deep = deep / "d"
        deep.mkdir(parents=True)
        code, out, said = self.run_it("new", self.project)
        self.assertEqual(code, 0, said)
        copy = self.copies / out.strip()
        self.addCleanup(lambda: (copy / "shut").exists() and (copy / "shut").chmod(0o700))
        self.assertIn("fifo", said)
        self.assertNotIn("\x1b", said)
        self.assertFalse((copy / "fifo").exists())
        self.assertEqual((copy / "huge").stat().st_size, 1 << 40)
        self.assertLess((copy / "huge").stat().st_blocks, 1 << 10)
        self.assertTrue(os.path.exists(os.fsencode(copy) + b"/new\nline\x1b[31m\xff"))
        with open(os.fsencode(copy) + b"/new\nline\x1b[31m\xff", "ab") as file:
            file.write(b"\x1b]0;title\x07\n")
        shown = self.does("diff", "--stat", "shop")
        self.assertNotIn("\x1b", shown)
        self.does("apply", "--yes", "shop")
        with open(odd, "rb") as file:
            self.assertIn(b"title", file.read())

    def test_files_that_change_meanwhile_are_a_conflict_later(self):
        for i in range(40):
            self.write(f"f{i}", "x" * 100000)
        writer = subprocess.Popen(
            ["/bin/sh", "-c", "while :; do for f in f*; do echo more >> $f; done; done"], cwd=self.project)
        try:
            copy = self.new()
        finally:
            writer.kill()
            writer.wait()
        self.assertEqual(len(content(copy)), 40)
        self.write("f0", "of the agent", at=copy)
        self.write("f0", "of the user")
        self.assertIn("conflict", self.does("diff", "shop", "f0"))

    def test_the_name_is_made_of_the_folder(self):
        for folder, name in (("Läufe & co", "L-ufe-co"), ("a--b", "a--b"), (".x_1", "x_1"), ("日本", "workspace")):
            project = self.root / folder
            self.write("f", at=project)
            self.assertEqual(self.does("new", project).strip(), name)

    def test_what_cannot_be_a_project_is_refused(self):
        self.assertIn("contains the copies", self.refuses("new", self.state))
        self.assertIn("cannot use", self.refuses("new", self.root / "missing"))
        for name in ("a/b", "-x"):
            self.assertIn("--name needs a letter or digit, and", self.refuses("new", f"--name={name}", self.project, status=2))
        self.new("--name", "one")
        self.assertIn("already", self.refuses("new", "--name", "one", self.project))
        for words in (("diff", "../x"), ("rm", "two"), ("path", "two"), ("apply", "two")):
            self.assertIn("no workspace", self.refuses(*words))
        self.assertIn("not a name", self.refuses("sh", "../x", status=125))
        self.assertIn("no workspace", self.refuses("sh", "two", status=125))


class Changing(WorkspaceScene):
    def setUp(self):
        super().setUp()
        for name in ("kept", "edited", "removed", "dir/a", "dir/b", "run.sh"):
            self.write(name, f"{name}\n")
        self.before = content(self.project)
        self.copy = self.new()

    def work(self):
        """What an agent might do."""
        self.write("edited", "edited\nby an agent\n", at=self.copy)
        self.write("new/deep/file", "new\n", at=self.copy)
        (self.copy / "removed").unlink()
        shutil.rmtree(self.copy / "dir")
        (self.copy / "run.sh").chmod(0o755)
        (self.copy / "empty").mkdir()

    def test_a_new_program_is_told(self):
        self.write("new.sh", "#!/bin/sh\n", at=self.copy)
        (self.copy / "new.sh").chmod(0o755)
        self.assertTrue(self.does("diff", "shop").startswith("# new.sh: can be executed now\n--- /dev/null\n+++ b/new.sh\n"))

    def test_changes_are_shown_applied_and_taken_back(self):
        self.work()
        shown = self.does("diff", "shop")
        self.assertIn("+by an agent\n", shown)
        self.assertIn("--- a/removed\n+++ /dev/null\n@@ -1 +0,0 @@\n-removed\n", shown)
        self.assertIn("--- /dev/null\n+++ b/new/deep/file\n", shown)
        self.assertIn("# run.sh: can be executed now\n", shown)
        changes = {item["path"]: item for item in json.loads(self.does("diff", "--json", "shop"))["changes"]}
        self.assertEqual({name: item["change"] for name, item in changes.items()}, {
            "edited": "modified", "new/deep/file": "added", "removed": "deleted", "dir": "deleted",
            "dir/a": "deleted", "dir/b": "deleted", "run.sh": "mode", "empty": "added"})
        self.assertEqual(changes["edited"]["linesAdded"], 1)
        self.assertIn("# edited: modified, +1 -0\n", self.does("diff", "--stat", "shop"))
        self.assertEqual(content(self.project), self.before)

        self.assertIn("applied 8 changes", self.does("apply", "--yes", "shop"))
        self.assertEqual(content(self.project), content(self.copy))
        self.assertEqual(self.does("diff", "shop"), "")
        self.assertIn("nothing to apply", self.does("apply", "--yes", "shop"))

        self.assertIn("took 8 changes back", self.does("undo", "shop"))
        self.assertEqual(content(self.project), self.before)
        self.assertEqual(len(json.loads(self.does("diff", "--json", "shop"))["changes"]), 8)
        self.assertNotIn("conflict", self.does("diff", "shop"))
        self.assertIn("could be taken back", self.refuses("undo", "shop"))
        self.assertIn("applied 8", self.does("apply", "--yes", "shop"))
        self.assertEqual(content(self.project), content(self.copy))

    def test_the_diff_is_one_for_patch(self):
        self.work()
        diff = subprocess.run(["patch", "-p1", "-s"], input=self.does("diff", "shop", "edited", "new").encode(),
                              cwd=self.project, capture_output=True, timeout=PATIENCE)
        self.assertEqual(diff.returncode, 0, diff.stdout)
        self.assertEqual((self.project / "edited").read_text(), "edited\nby an agent\n")
        self.assertEqual((self.project / "new/deep/file").read_text(), "new\n")

    def test_only_what_is_named_is_applied(self):
        self.work()
        self.does("apply", "--yes", "shop", "edited", "./dir/")
        self.assertEqual((self.project / "edited").read_text(), "edited\nby an agent\n")
        self.assertFalse((self.project / "dir").exists())
        self.assertTrue((self.project / "removed").exists())
        self.assertFalse((self.project / "new").exists())
        self.assertIn("not in the workspace", self.refuses("apply", "--yes", "shop", "edite"))
        self.assertIn("paths begin in its folder", self.refuses("diff", "shop", self.project / "edited"))
        self.does("undo", "shop")
        self.assertEqual(content(self.project), self.before)

    def test_what_the_user_changed_is_not_overwritten(self):
        self.work()
        self.write("edited", "by the user\n")
        self.write("removed", "by the user\n")
        self.write("new/deep/file", "by the user\n")
        (self.project / "run.sh").unlink()
        said = self.refuses("apply", "--yes", "shop")
        self.assertIn("edited: your file has changed since the copy", said)
        self.assertIn("--overwrite", said)
        for name in ("edited", "removed", "new/deep/file"):
            self.assertEqual((self.project / name).read_text(), "by the user\n")
        self.assertFalse((self.project / "run.sh").exists())
        self.assertFalse((self.project / "dir").exists())  # the rest was applied
        self.does("apply", "--yes", "--overwrite", "shop", "edited", "removed")
        self.assertEqual((self.project / "edited").read_text(), "edited\nby an agent\n")
        self.assertFalse((self.project / "removed").exists())
        self.does("undo", "shop")
        self.assertEqual((self.project / "edited").read_text(), "by the user\n")
        self.assertEqual((self.project / "removed").read_text(), "by the user\n")

    def test_undo_spares_what_was_changed_since(self):
        self.work()
        self.does("apply", "--yes", "shop")
        self.write("edited", "later\n")
        self.write("removed", "later\n")
        self.write("new/deep/other", "later\n")
        said = self.refuses("undo", "shop")
        self.assertIn("edited: it has changed since", said)
        self.assertEqual((self.project / "edited").read_text(), "later\n")
        self.assertEqual((self.project / "removed").read_text(), "later\n")
        self.assertFalse((self.project / "new/deep/file").exists())
        self.assertTrue((self.project / "new/deep/other").exists())
        self.assertTrue((self.project / "dir/a").exists())

    def test_hooks_and_links_and_secrets_do_not_come_back(self):
        self.write(".env", "KEY=mine\n")
        (self.copy / ".git/hooks").mkdir(parents=True)
        self.write(".git/hooks/pre-commit", "#!/bin/sh\nevil\n", at=self.copy)
        self.write("lib/.git/config", "evil\n", at=self.copy)
        os.symlink("/etc/shadow", self.copy / "link")
        os.mkfifo(self.copy / "fifo")
        self.write(".env", "KEY=theirs\n", at=self.copy)
        self.write("id_rsa", "theirs\n", at=self.copy)
        shown = self.does("diff", "shop")
        self.assertNotIn("evil", shown)
        self.assertNotIn("KEY", shown)
        self.assertNotIn("theirs", shown)
        self.refuses("apply", "--yes", "shop")
        self.assertFalse((self.project / ".git").exists())
        self.assertFalse((self.project / "lib/.git").exists())
        self.assertFalse(os.path.lexists(self.project / "link"))
        self.assertFalse((self.project / "fifo").exists())
        self.assertEqual((self.project / ".env").read_text(), "KEY=mine\n")

    def test_a_link_of_the_user_is_not_gone_through(self):
        outside = self.root / "outside"
        outside.mkdir()
        self.write("dir/a", "changed\n", at=self.copy)
        self.write("dir/c", "added\n", at=self.copy)
        shutil.rmtree(self.project / "dir")
        os.symlink(outside, self.project / "dir")
        said = self.refuses("apply", "--yes", "--overwrite", "shop")
        self.assertIn("link in its place", said)
        self.assertEqual(list(outside.iterdir()), [])

    def test_large_and_binary_files_come_back_too(self):
        (self.copy / "large").write_bytes(b"\0binary" * (3 << 20))
        (self.copy / "edited").write_bytes(b"\0" * (17 << 20))
        self.assertIn("too large to be shown", self.does("diff", "shop"))
        self.does("apply", "--yes", "shop")
        self.assertEqual(content(self.project), content(self.copy))
        self.does("undo", "shop")
        self.assertEqual(content(self.project), self.before)

    def test_a_full_disk_ends_it_and_undo_takes_it_back(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to mount a small disk")
        small = self.root / "small"
        small.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", small], check=False)
        if mounted.returncode != 0:
            self.skipTest("cannot mount here")
        self.addCleanup(subprocess.run, ["umount", "-l", small], check=False)
        self.write("a", "a\n", at=small)
        self.project = small
        copy = self.new("--name", "small")
        before = content(small)
        self.write("a", "changed\n", at=copy)
        self.write("b", "b" * (600 << 10), at=copy)
        self.assertIn("no space left", self.refuses("apply", "--yes", "small"))
        self.assertEqual({name for name in content(small)}, {b"a"})
        self.does("undo", "small")
        self.assertEqual(content(small), before)

    def test_rm_wants_to_know_about_changes(self):
        self.work()
        self.assertIn("8 changes", self.refuses("rm", "shop"))
        self.assertTrue(self.copy.exists())
        self.does("apply", "--yes", "shop")
        self.does("rm", "shop")
        self.assertEqual(list(self.copies.iterdir()), [])
        self.assertEqual(list(self.records.iterdir()), [])
        self.project.rename(self.root / "moved")
        self.project = self.root / "moved"
        copy = self.new("--name", "again")
        self.write("x", at=copy)
        self.assertIn("no workspace 'none'", self.refuses("rm", "--force", "again", "none"))
        self.assertTrue((copy / "x").exists())
        self.does("rm", "--force", "again")
        self.assertEqual(list(self.copies.iterdir()), [])

    def test_rm_keeps_what_it_cannot_compare(self):
        self.work()
        self.project.rename(self.root / "moved")
        self.assertIn("--force", self.refuses("rm", "shop"))
        for words in (["diff", "shop"], ["apply", "--yes", "shop"], ["undo", "shop"]):
            said = self.refuses(*words)
            for wanted in (f"no longer at {self.project}", "move it back", "workspace sh", "rm --force shop"):
                self.assertIn(wanted, said)
        self.assertTrue((self.copy / "new/deep/file").exists())
        self.does("rm", "--force", "shop")
        self.assertEqual(list(self.copies.iterdir()), [])

    def test_files_are_copied_in_and_out(self):
        other = self.root / "other"
        self.write("note", "note\n", at=other)
        self.write("tree/in", "in\n", at=other)
        self.does("cp", other / "note", "shop:")
        self.does("cp", other / "note", "shop:docs/renamed")
        self.does("cp", other / "tree", "shop:tree")
        self.assertEqual((self.copy / "note").read_text(), "note\n")
        self.assertEqual((self.copy / "docs/renamed").read_text(), "note\n")
        self.assertEqual((self.copy / "tree/in").read_text(), "in\n")
        self.does("cp", "shop:edited", other / "out")
        self.does("cp", "shop:dir", other)
        self.assertEqual((other / "out").read_text(), "edited\n")
        self.assertEqual((other / "dir/a").read_text(), "dir/a\n")
        self.assertIn("exists", self.refuses("cp", "shop:dir", other))
        os.symlink("/etc/passwd", self.copy / "evil")
        self.refuses("cp", "shop:evil", other / "evil")
        self.refuses("cp", "shop:../shop/edited/../../../x", other / "evil")
        self.assertFalse(os.path.lexists(other / "evil"))
        self.refuses("cp", "a", "b", status=2)


class Using(WorkspaceScene):
    def setUp(self):
        super().setUp()
        self.write("a.txt", "one\n")
        self.write(".env", "KEY=1\n")
        self.copy = self.new()

    def test_an_agent_gets_the_copy_and_not_the_project(self):
        server = subprocess.Popen(
            [mcp_client.GATEHOUSE, "workspace", "mcp", "shop"], env=self.environment(), cwd=self.root,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(self.discard, server)

        def call(number, tool, **arguments):
            request = {"jsonrpc": "2.0", "id": number, "method": "tools/call",
                       "params": {"name": tool, "arguments": arguments, "_meta": mcp_client.MODERN}}
            server.stdin.write(json.dumps(request).encode() + b"\n")
            server.stdin.flush()
            return json.loads(server.stdout.readline())["result"]

        wrote = call(1, "write_file", filePath="a.txt", content="of the agent\n")
        self.assertFalse(wrote.get("isError", False), wrote)
        self.assertTrue(call(2, "read_file", filePath=str(self.project / "a.txt"))["isError"])
        self.assertTrue(call(3, "read_file", filePath=".env")["isError"])
        self.assertEqual((self.copy / "a.txt").read_text(), "of the agent\n")
        self.assertEqual((self.project / "a.txt").read_text(), "one\n")

    def test_folders_that_an_agent_has_locked_are_removed(self):
        for name, mode in (("shut", 0), ("kept", 0o500)):
            self.write(f"{name}/a.txt", at=self.copy)
            (self.copy / name).chmod(mode)
        self.does("rm", "--force", "shop")
        self.assertFalse(self.copy.exists())

    def test_a_client_learns_about_the_copy_and_forgets_it(self):
        settings = self.home / ".cursor/mcp.json"
        self.refuses("mcp", "shop", "--install", "cursor")
        self.refuses("mcp", "none", "--install", "cursor", "--yes")
        self.assertIn("those of 'gatehouse mcp' stand after --",
                      self.refuses("mcp", "shop", "--permission-shell", "allow", "--install", "cursor", "--yes", status=2))
        self.assertFalse(settings.exists())
        self.does("mcp", "shop", "--install", "cursor", "--yes", "--", "--permission-shell", "allow")
        entry = json.loads(settings.read_text())["mcpServers"]["gatehouse-copy-shop"]
        self.assertEqual(entry["command"], os.path.realpath(mcp_client.GATEHOUSE))
        self.assertEqual(entry["args"], ["mcp", "--write", "--permission-shell", "allow", str(self.copy)])
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}
        result = subprocess.run([entry["command"], *entry["args"]], env=self.environment(), text=True,
                                input=json.dumps(hello) + "\n", capture_output=True, timeout=PATIENCE)
        self.assertIn("serverInfo", result.stdout, result.stderr)
        self.assertIn("gatehouse-copy-shop", self.does("mcp", "shop", "--print-config", "cursor"))
        self.does("mcp", "shop", "--install", "gemini", "--yes")
        self.does("mcp", "shop", "--install", "gemini", "--yes", "--name", "mine")
        self.does("mcp", "shop", "--uninstall", "gemini", "--yes")
        said = self.does("rm", "--force", "shop")
        left = re.findall(r"'gatehouse workspace (mcp shop --uninstall [^']*)'", said)
        self.assertEqual(left, ["mcp shop --uninstall cursor --name gatehouse-copy-shop",
                                "mcp shop --uninstall gemini --name mine"])
        for words in left:
            self.does(*words.split(), "--yes")
        self.assertEqual(json.loads(settings.read_text()), {"mcpServers": {}})
        self.assertEqual(list(self.records.iterdir()), [])
        self.new("--name", "shop")
        self.assertNotIn("uninstall", self.does("rm", "shop"))

    def test_a_command_changes_the_copy_and_nothing_else(self):
        code, out, said = self.run_it(
            "sh", "shop", "sh", "-c", f"echo two >> a.txt; cat {self.project}/.env; echo x > {self.project}/x; exit 7")
        if code == 125:
            self.skipTest("no sandbox here: " + said)
        self.assertEqual(code, 7, out + said)
        self.assertNotIn("KEY", out)
        self.assertEqual((self.copy / "a.txt").read_text(), "one\ntwo\n")
        self.assertFalse((self.project / "x").exists())

    def on_terminal(self, *words, answer=b""):
        """Exit status and what a terminal shows; the answer is typed at the question."""
        keeper, terminal = pty.openpty()
        self.addCleanup(os.close, keeper)
        process = self.open(*words, stdin=terminal, stdout=terminal, stderr=terminal, env={"TERM": "xterm"})
        os.close(terminal)
        shown = b""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if not select.select([keeper], [], [], PATIENCE)[0]:
                break
            try:
                piece = os.read(keeper, 65536)
            except OSError:
                break
            shown += piece
            if answer and b"[y/N]" in shown:
                os.write(keeper, answer)
                answer = b""
        return process.wait(PATIENCE), shown.decode(errors="replace")

    def test_on_a_terminal_it_asks(self):
        self.write("a.txt", "one\n\x1b[2Jtwo\n", at=self.copy)
        code, shown = self.on_terminal("apply", "shop", answer=b"n\n")
        self.assertEqual(code, 1)
        self.assertIn("nothing was applied", shown)
        self.assertIn(f"Apply 1 change to {self.project}?", shown)
        self.assertNotIn("\x1b[2J", shown)
        self.assertIn("\x1b[32m+", shown)
        self.assertEqual((self.project / "a.txt").read_text(), "one\n")
        code, shown = self.on_terminal("apply", "shop", answer=b"y\n")
        self.assertEqual(code, 0, shown)
        self.assertEqual((self.project / "a.txt").read_text(), "one\n\x1b[2Jtwo\n")
        self.write("a.txt", "three\n", at=self.copy)
        self.assertIn("use --yes", self.refuses("apply", "shop"))

    def test_on_a_terminal_it_says_how_to_go_on(self):
        self.assertRegex(self.on_terminal("ls")[1], r"^\x1b\[1mWORKSPACE +CREATED +PROJECT\x1b\[0m\r\nshop +\d{4}-\d\d-\d\d \d\d:\d\d  /")
        said = self.on_terminal("new", "--name", "second", self.project)[1]
        self.assertIn("    gatehouse workspace mcp second --install CLIENT\r\n    gatehouse workspace diff second\r\n", said)
        self.does("rm", "shop", "second")
        self.assertIn("'gatehouse workspace new' makes one", self.on_terminal("ls")[1])

    def test_a_terminal_shows_how_far_it_is(self):
        for i in range(3000):
            self.write(f"d{i % 20}/{i}")
        shown = ""
        for turn in range(1, 5):  # on a fast machine it is over before there is anything to say
            code, shown = self.on_terminal("new", self.project)
            self.assertEqual(code, 0, shown)
            if "copying: " in shown:
                self.assertRegex(shown, rf"copying: \d+ of {3000 * turn + 1} files")
                return
            for i in range(3000):
                self.write(f"d{i % 20}/{i}-{turn}")
        print("skipped: copying was too fast to be seen")


if __name__ == "__main__":
    mcp_client.main()
