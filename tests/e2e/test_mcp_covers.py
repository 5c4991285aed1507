#!/usr/bin/env python3
"""Commands cannot see hidden or denied files, whatever other calls do at the same time or did before."""
import os
import shutil
import time

import mcp_client
from mcp_client import PATIENCE
from shell_scene import Commands

SECRET = "needle of somebody else"


class Covers(Commands):
    def begin(self, *flags, **settings):
        """What rules deny here would be covered by its name alone otherwise."""
        return super().begin("--sensitive", "allow", *flags, **settings)

    def plant(self, *names):
        for name in names:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(SECRET)

    def meanwhile(self, server, script, action):
        """What a job in the folder x says that goes on when the action was taken."""
        waiting = f"until [ -e {self.root}/go ]; do sleep 0.02; done; "
        job = server.good("shell_start", command=waiting + script, cwd="x")["jobId"]
        action()
        (self.root / "go").touch()
        said = self.rest(server, job)
        (self.root / "go").unlink()
        return said

    @staticmethod
    def rest(server, job):
        """What it says up to its end."""
        said, state = "", "running"
        while state == "running":
            answer = server.good("shell_output", jobId=job, waitMs=1000)
            said, state = said + answer["output"], answer["state"]
        return said

    def await_file(self, name):
        deadline = time.monotonic() + PATIENCE
        while not (self.root / name).exists():
            self.assertLess(time.monotonic(), deadline, f"{name} does not come")
            time.sleep(0.02)

    def after_moving_x(self, server, folder, script):
        """What it says of the folder that it was moved to."""
        (self.root / "x").mkdir()
        said = self.meanwhile(server, f"cd -P ..; {script}", lambda: server.good(
            "move", sourcePath="x", destinationPath=f"{folder}/x"))
        (self.root / folder / "x").rmdir()
        return said

    def test_a_command_that_is_moved_meets_the_same_covers(self):
        self.plant("deep/er/a.key", "deep/er/b.pem", "deep/er/locked", "one/a.key")
        self.deny([self.root / "deep/er/a.key", self.root / "one/a.key", "glob:**/*.pem"],
                  [self.root / "deep/er/locked"])
        server = self.begin("--write")
        said = self.after_moving_x(server, "deep/er", "cat a.key b.pem; echo new > locked; pwd -P")
        self.assertNotIn(SECRET, said)
        self.assertIn("deep/er", said)
        self.assertEqual((self.root / "deep/er/locked").read_text(), SECRET)
        self.assertNotIn(SECRET, self.after_moving_x(server, "one", "cat a.key"))

    def test_so_it_does_where_one_place_lies_in_another(self):
        self.plant("sub/d/a.key")
        self.deny([self.root / "sub/d/a.key"])
        server = self.begin("--write", "--shell-writable", self.root / "sub")
        self.assertNotIn(SECRET, self.after_moving_x(server, "sub/d", "cat a.key"))
        self.assertNotIn(SECRET, str(self.run_command(server, "cat sub/d/a.key")))

    def test_nothing_that_holds_the_way_can_be_renamed(self):
        self.plant("deep/er/a.key")
        self.deny([self.root / "deep/er/a.key"])
        server = self.begin("--write")
        for name in ("deep", "deep/er", "deep/er/a.key"):
            self.assertNotEqual(self.answer(server, f"mv {name} other")["exitCode"], 0, name)
        self.assertEqual(self.answer(server, "echo new > deep/er/new; mv deep/er/new new")["exitCode"], 0)

    def test_a_command_sees_no_more_of_the_state_than_what_it_works_in(self):
        """What is deleted is renamed into the state, and a command in it goes along."""
        state = self.root / "home/state"
        state.parent.mkdir()
        state.mkdir(mode=0o700)
        server = self.begin("--write", "--state-dir", state)
        (self.root / "x" / "y").mkdir(parents=True)
        script = "cd y; for i in 1 2 3 4 5 6; do cd -P ..; ls -a; cat audit.jsonl; done"
        said = self.meanwhile(server, script, lambda: server.good("delete", path="x"))
        self.assertIn("y", said.split())
        self.assertNotIn("audit.jsonl", said.split())
        self.assertNotIn("temp", said.split())
        self.assertNotIn("timestamp", said)
        server.good("undo_changes")
        self.assertTrue((self.root / "x" / "y").is_dir())

    def test_a_second_name_that_is_older_than_the_rule_bares_nothing(self):
        """A command gives a file that nobody denies yet another name, and waits for what is written there."""
        (self.root / "deep").mkdir()
        for rule, name in ((self.root / ".env", ".env"), ("glob:**/*.env", "deep/b.env"),
                           (f"dir:{self.root}/kept", "kept/in/it")):
            with self.subTest(rule=rule):
                self.deny()
                server = self.begin("--write")
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                self.assertEqual(self.answer(server, f"touch {name}; ln {name} lock; ln lock deep/lock")["exitCode"], 0)
                (self.root / name).write_text(SECRET)
                self.assertIn(SECRET, self.answer(server, "cat lock")["stdout"])
                self.deny([rule])
                for session in (server, self.begin("--write"), self.begin()):
                    said = str(self.run_command(session, "cat lock deep/lock; mv lock bare; cat bare; cp deep/lock x; "
                                                         "ln lock y; cat x y; echo over"))
                    self.assertNotIn(SECRET, said)
                    self.assertIn("over", said)
                    self.assertIn("hard links", session.bad("read_file", filePath="lock"))
                self.assertEqual((self.root / name).read_text(), SECRET)
                for other in ("lock", "deep/lock", "x", "y"):
                    (self.root / other).unlink(missing_ok=True)

    def test_nor_does_it_let_anything_be_changed(self):
        self.plant("hooks/run", "locked")
        server = self.begin("--write")
        self.assertEqual(self.answer(server, "ln hooks/run a; ln locked b")["exitCode"], 0)
        self.deny([], [f"dir:{self.root}/hooks", self.root / "locked"])
        self.answer(server, "echo new > a; echo new >> b; chmod 777 a; rm -f a; mv b c")
        self.assertEqual((self.root / "hooks/run").read_text(), SECRET)
        self.assertEqual((self.root / "locked").read_text(), SECRET)
        self.assertEqual(self.answer(server, "cat a b")["stdout"], SECRET * 2)

    def test_where_second_names_cannot_be_looked_for_no_command_starts(self):
        if os.geteuid() == 0:
            self.skipTest("root can look everywhere")
        self.plant(".env")
        server = self.begin("--write")
        self.answer(server, "mkdir shut; ln .env shut/lock; chmod 0 shut")
        self.deny([self.root / ".env"])
        said = str(self.run_command(server, "chmod 700 shut; cat shut/lock"))
        (self.root / "shut").chmod(0o755)
        self.assertNotIn(SECRET, said)
        self.assertIn("hard links", said)

    def test_a_second_name_that_is_too_deep_to_be_denied_keeps_commands_from_starting(self):
        self.plant(".env")
        server = self.begin("--write")
        deeper = f"for i in $(seq 20); do mkdir -p {'d' * 250} && cd {'d' * 250} || exit 9; done; "
        self.assertEqual(self.answer(server, f"{deeper} ln {self.root}/.env lock")["exitCode"], 0)
        self.assertIn(SECRET, self.answer(server, f"{deeper} cat lock")["stdout"])
        self.deny([self.root / ".env"])
        said = str(self.run_command(server, f"{deeper} cat lock"))
        shutil.rmtree(self.root / ("d" * 250))
        self.assertNotIn(SECRET, said)
        self.assertIn("remove the other names", said)

    def test_a_file_that_is_denied_by_all_its_names_stays_so(self):
        self.plant("a.key")
        (self.root / "kept").mkdir()
        os.link(self.root / "a.key", self.root / "kept/b.key")
        self.deny(["glob:*.key", f"dir:{self.root}/kept"])
        self.assertEqual(self.answer(self.begin("--write"), "cat a.key kept/b.key; echo on")["stdout"], "on\n")

    def test_what_the_command_line_denies_no_command_sees(self):
        """--deny holds in the folder that is served: for its tools, and for commands."""
        for name in ("a.pem", "sub/b.pem", "top/kept", "sub/top/kept", "x/one", "x/two"):
            self.plant(name)
        server = self.begin("--write", "--deny", "*.pem", "--deny", "/top,x/{one,three}")
        server.bad("read_file", filePath="sub/b.pem")
        said = self.answer(server, "cat a.pem sub/b.pem top/kept x/one; mv sub moved; cat moved/b.pem; "
                                   "cp x/one y; echo; cat sub/top/kept x/two moved/top/kept")
        self.assertEqual(said["stdout"].count(SECRET), 2, said)
        self.answer(server, "echo new > later.pem")
        self.assertEqual(self.answer(server, "cat later.pem; echo on")["stdout"], "on\n")

    def test_a_folder_of_another_group_bares_nothing_when_it_is_closed(self):
        """Rights over it end with its group, which the box does not know."""
        if os.geteuid() != 0:
            self.skipTest("only root can give a folder to another group")
        for rule in ("glob:*.key", "lit/a.key", "dir:lit"):
            self.plant("lit/a.key")
            os.chown(self.root / "lit", 0, 65533)
            self.deny([rule if rule.startswith("glob:") else
                       f"dir:{self.root}/lit" if rule.startswith("dir:") else self.root / rule])
            server = self.begin("--write")
            for mode in ("0", "444", "311"):
                with self.subTest(rule=rule, mode=mode):
                    self.answer(server, f"chmod {mode} lit")
                    said = str(self.run_command(server, "cat lit/a.key; chmod 700 lit; cat lit/a.key"))
                    self.assertNotIn(SECRET, said)
                    (self.root / "lit").chmod(0o755)

    def test_a_folder_of_another_group_that_is_closed_still_may_not_be_changed(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give a folder to another group")
        self.plant("lit/locked")
        os.chown(self.root / "lit", 0, 65533)
        self.deny([], [self.root / "lit/locked"])
        server = self.begin("--write")
        self.answer(server, "chmod 0 lit")
        self.answer(server, "chmod 700 lit; echo new > lit/locked")
        (self.root / "lit").chmod(0o755)
        self.assertEqual((self.root / "lit/locked").read_text(), SECRET)

    def test_links_that_lead_nowhere_keep_no_command_from_starting(self):
        self.deny(["glob:*.key", self.root / "certs/named"], [self.root / "certs/fixed"])
        server = self.begin("--write")
        (self.root / "certs").mkdir()
        (self.room / "closed").mkdir(mode=0)
        self.addCleanup((self.room / "closed").chmod, 0o700)  # else nobody could remove it
        targets = (self.room / "closed/x", "/proc/1/cwd", "/proc/1/root/x", "x" * 300, "a.key", "missing/x")
        for target in targets:
            for name in ("a.key", "certs/b.key", "certs/named", "certs/fixed"):
                (self.root / name).unlink(missing_ok=True)
                (self.root / name).symlink_to(target)
            (self.root / "certs/plain").write_text("seen")
            self.assertEqual(self.answer(server, "cat certs/plain")["stdout"], "seen", target)

    def test_a_closed_folder_is_the_one_that_a_rule_leads_to(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give a folder to another group")
        self.plant("lit/a.key", "sub/other")
        (self.root / "sub/e.key").symlink_to(self.root / "lit/a.key")
        os.chown(self.root / "lit", 0, 65533)
        self.deny([self.root / "sub/e.key"])
        server = self.begin("--write")
        self.answer(server, "chmod 0 lit")
        said = str(self.run_command(server, "chmod 700 lit; cat lit/a.key"))
        self.assertNotIn(SECRET, said)
        self.assertIn("lit: its owner cannot open it; run chmod u+rwx on it", said)
        (self.root / "lit").chmod(0o755)

    def test_nobody_gets_behind_the_cover_of_a_closed_folder(self):
        """One command closes the folder while another starts, and then moves it in there."""
        self.plant("lit/sub/a.key")
        self.deny(["glob:*.key"])
        server = self.begin("--write")
        (self.root / "x").mkdir()
        wait = f"until [ -e {self.root}/{{}} ]; do sleep 0.02; done; "
        server.good("shell_start", command="chmod 0 lit; : > closed; " + wait.format("go")
                    + "chmod 700 lit; mv x lit/sub/x; : > moved")
        self.await_file("closed")
        job = server.call("shell_start", command=wait.format("moved") + "cd -P ..; cat a.key", cwd="x")
        (self.root / "go").touch()
        self.assertEqual(job.get("isError", False), os.geteuid() != 0)
        self.await_file("moved")
        if not job.get("isError"):
            self.assertNotIn(SECRET, self.rest(server, job["structuredContent"]["jobId"]))

    def test_a_place_in_a_place_cannot_be_renamed(self):
        (self.root / "b/c").mkdir(parents=True)
        server = self.begin("--write", "--shell-writable", self.root / "b/c")
        self.assertNotEqual(self.answer(server, "mv b b2")["exitCode"], 0)
        self.assertEqual(self.answer(server, "echo on > b/c/f; cat b/c/f")["stdout"], "on\n")

    def test_a_rule_by_a_link_of_the_users_holds_wherever_a_command_works(self):
        alias = self.room / "alias"
        alias.symlink_to(self.root)
        self.plant("fixed/in/f", "closed/f")
        self.deny([f"dir:{alias}/closed"], [f"dir:{alias}/fixed"])
        server = self.begin("--write")
        for cwd, name in ((".", "fixed/in/f"), ("fixed", "in/f"), ("fixed/in", "f")):
            self.assertNotEqual(self.answer(server, f"echo new > {name}", cwd=cwd)["exitCode"], 0, cwd)
        self.assertNotIn(SECRET, str(self.run_command(server, "cat closed/f")))
        self.deny([], [f"dir:{alias}"])
        server = self.begin("--write")
        self.assertNotEqual(self.answer(server, "echo new > made")["exitCode"], 0)

    def test_a_rule_by_a_link_binds_what_it_leads_to(self):
        alias = self.room / "alias"
        alias.symlink_to(self.root)
        self.plant("d/f", "a.pem", "deep/a.pem", "deep/b.key", "fixed/f", "odd [x]/a.pem")
        (self.room / "odd").symlink_to(self.root / "odd [x]")
        self.deny([f"dir:{alias}/d", f"glob:{alias}/**/*.pem", f"{alias}/deep/b.key",
                   f"glob:{self.room}/odd/*.pem"], [f"dir:{alias}/fixed"])
        server = self.begin("--write")
        for name in ("d/f", "a.pem", "deep/a.pem", "deep/b.key", "odd [x]/a.pem"):
            server.bad("read_file", filePath=name)
            self.assertNotIn(SECRET, str(self.run_command(server, f"cat '{name}'")), name)
        server.bad("write_file", filePath="fixed/f", content="new")
        self.assertNotEqual(self.answer(server, "echo new > fixed/f")["exitCode"], 0)
        self.assertEqual(server.good("search_files", dirPath=".", query="needle")["matches"][0]["path"],
                         "fixed/f")

    def test_a_rule_binds_where_its_links_lead_by_now(self):
        self.plant("one/a.pem", "two/a.pem", "three/f")
        (self.root / "link").symlink_to("one")
        self.deny([f"glob:{self.root}/link/*.pem", f"dir:{self.root}/later"])
        server = self.begin("--write")
        self.assertTrue(server.call("read_file", filePath="one/a.pem").get("isError"))
        self.assertIn(SECRET, str(self.run_command(server, "cat two/a.pem three/f")))
        (self.root / "link").unlink()
        (self.root / "link").symlink_to("two")
        (self.root / "later").symlink_to("three")
        said = str(self.run_command(server, "cat two/a.pem three/f"))
        self.assertNotIn(SECRET, said)
        for name in ("two/a.pem", "three/f", "later/f", "link/a.pem"):
            server.bad("read_file", filePath=name)

    def test_file_tools_follow_the_links_of_rules_without_a_command(self):
        self.plant("three/f", "other/f")
        self.deny([f"dir:{self.root}/later"])
        server = self.start("--write")
        server.good("read_file", filePath="three/f")
        (self.root / "later").symlink_to("three")
        deadline = time.monotonic() + PATIENCE
        while not server.call("read_file", filePath="three/f").get("isError"):
            self.assertLess(time.monotonic(), deadline, "the rule does not bind where it leads")
            time.sleep(0.02)
        server.good("read_file", filePath="other/f")

    def test_a_link_that_leads_to_everything_takes_nothing_away(self):
        self.plant("f")
        self.deny([f"dir:{self.root}/later", f"dir:{self.root}/system"])
        server = self.begin("--write")
        self.answer(server, f"ln -s . later; ln -s /usr system; ln -s {self.root} here")
        self.assertEqual(self.answer(server, "cat f")["stdout"], SECRET)
        server.good("read_file", filePath="f")

    def test_a_place_behind_a_link_that_commands_could_make_is_refused(self):
        (self.room / "victim").mkdir()
        (self.root / "cache").symlink_to(self.room / "victim")
        server = self.start("--write", "--permission-shell", "allow",
                            "--shell-writable", self.root / "cache", opens=False, reads=False)
        self.assertEqual(server.wait(), 1)
        self.assertIn("leads through a link in a folder that commands may change", server.words())


if __name__ == "__main__":
    mcp_client.main()
