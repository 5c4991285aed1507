#!/usr/bin/env python3
"""Commands through `gatehouse mcp`: results, what they see, questions, and what they leave behind."""
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import time
import unittest

import mcp_client
from mcp_client import PATIENCE, Refused
from shell_scene import Commands

ASKING = {"elicitation": {"form": {}}}
SHELL = {"shell_execute", "shell_start", "shell_output", "shell_input", "shell_stop", "shell_list"}


def children(pid):
    return [int(child) for child in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Results(Commands):
    def test_what_a_command_answers(self):
        server = self.begin()
        self.assertEqual(self.answer(server, "echo out; echo err >&2"),
                         {"stdout": "out\n", "stderr": "err\n", "exitCode": 0})
        failed = self.run_command(server, "exit 3")
        self.assertTrue(failed["isError"])
        self.assertEqual(failed["structuredContent"]["exitCode"], 3)
        killed = self.run_command(server, "kill -9 $$")
        self.assertTrue(killed["isError"])
        self.assertIsNone(killed["structuredContent"]["exitCode"])
        self.assertEqual(self.answer(server, "cat; printf '\\377x'")["stdout"], "\ufffdx")
        self.assertEqual(self.answer(server, "pwd", cwd=".")["stdout"], f"{self.root}\n")

    def test_a_failure_is_recorded_as_one_however_much_it_printed(self):
        server = self.begin()
        for count in (1, 60000):
            self.assertTrue(self.run_command(server, f"seq {count}; exit 3")["isError"])
            self.assertFalse(self.run_command(server, f"seq {count}").get("isError"))
        server.end()
        calls = [record for record in self.records() if record["operation"] == "call"]
        self.assertEqual([record["reason"] for record in calls if record["outcome"] == "failed"],
                         ["exit code 3"] * 2)
        self.assertEqual(len(calls), 4)

    def test_a_time_out_keeps_what_there_was_and_kills_all_of_it(self):
        server = self.begin("--computer-shell-timeout", "500ms")
        inner = f"sh -c 'sleep 1000; : {self.mark}'"
        script = f"echo before; setsid {inner} & ({inner} &); wait; sleep 1000"
        answer = self.answer(server, script)
        for longer_ms in (5000, 50000):  # for a machine that has not come to it
            if not answer["stdout"]:
                answer = self.answer(server, script, timeout=longer_ms)
        self.assertEqual((answer["stdout"], answer["exitCode"], answer["timedOut"]),
                         ("before\n", None, True))
        self.wait_gone()

    def test_a_flood_is_cut_in_its_middle(self):
        server = self.begin()
        stdout = self.answer(server, "echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last")["stdout"]
        self.assertLess(len(stdout), 1 << 20)
        self.assertTrue(stdout.startswith("first\n"))
        self.assertTrue(stdout.endswith("last\n"))
        self.assertIn("omitted", stdout)

    def test_cancelling_kills(self):
        server = self.begin()
        message = server.call_message("shell_execute", {"command": f"sleep 1000; : {self.mark}"})
        server.send(message)
        self.wait_alive()
        server.notify("notifications/cancelled", {"requestId": message["id"]})
        self.wait_gone()
        self.assertEqual(self.answer(server, "echo on")["stdout"], "on\n")

    def test_nothing_survives_the_program(self):
        for end in (lambda server: server.end(), lambda server: server.process.terminate(),
                    lambda server: server.process.kill()):
            server = self.begin()
            server.good("shell_start", command=f"setsid --wait sh -c 'sleep 1000; : {self.mark}'")
            self.wait_alive()
            end(server)
            server.wait()
            self.wait_gone()
            server.discard()
            server.said.close()
            self.servers.remove(server)

    def test_when_nothing_starts_commands_any_more_it_says_what_to_do(self):
        server = self.begin()
        (guard,) = (child for child in children(server.pid) if children(child))  # not what starts gatehouse-media
        (launcher,) = children(guard)
        fd = os.pidfd_open(launcher)
        self.addCleanup(os.close, fd)
        os.kill(guard, signal.SIGKILL)
        self.assertTrue(select.select([fd], [], [], PATIENCE)[0])
        for _ in range(2):
            self.assertIn("restart gatehouse", self.answer(server, "true")["error"])
        server.end()
        self.assertEqual(server.words().count("restart gatehouse mcp"), 1, server.words())

    def test_a_job_goes_on_between_calls(self):
        server = self.begin()
        job = server.good("shell_start", command="read line; echo got $line; sleep 1000")["jobId"]
        server.good("shell_input", jobId=job, text="this\n")
        output = ""
        cursor = 0
        deadline = time.monotonic() + PATIENCE
        while "got this" not in output:
            self.assertLess(time.monotonic(), deadline)
            more = server.good("shell_output", jobId=job, cursor=cursor, waitMs=1000)
            output += more["output"]
            cursor = more["cursor"]
        self.assertEqual([entry["jobId"] for entry in server.good("shell_list")["jobs"]], [job])
        server.good("shell_stop", jobId=job)

    def test_the_record_tells_of_commands_before_and_after(self):
        server = self.begin()
        self.answer(server, "echo hi")
        server.end()
        [intent, outcome] = self.executed()
        self.assertEqual((intent["outcome"], outcome["outcome"]), ("intent", "success"))
        self.assertEqual((intent["tool"], intent["decision"]), ("shell_execute", "mode"))
        self.assertIn("echo hi", json.dumps(intent))


class Walls(Commands):
    def test_the_folder_is_writable_only_with_write_access(self):
        server = self.begin()
        self.assertNotEqual(self.answer(server, "touch x")["exitCode"], 0)
        writing = self.begin("--write")
        self.assertEqual(self.answer(writing, "touch x")["exitCode"], 0)
        self.assertNotEqual(self.answer(writing, f"touch {self.outside}/x")["exitCode"], 0)
        opened = self.begin("--shell-writable", self.outside)
        self.assertEqual(self.answer(opened, f"touch {self.outside}/x")["exitCode"], 0)
        self.assertEqual((os.listdir(self.root), os.listdir(self.outside)), (["x"], ["x"]))

    def test_a_failure_says_what_the_sandbox_lacks_and_how_to_get_it(self):
        (self.outside / "notes").write_text("hello")
        command = f"cat {self.outside}/notes"
        failed = self.answer(self.begin(), command)
        self.assertNotEqual(failed["exitCode"], 0)
        self.assertIn(f"cannot see {self.outside}/notes", failed["hint"])
        self.assertIn("--shell-readable", failed["hint"])
        shown = self.begin("--shell-readable", self.outside)
        self.assertEqual(self.answer(shown, command)["stdout"], "hello")
        self.assertNotIn("hint", self.answer(shown, f"cat {self.outside}/nope"), "it is really missing")
        changed = self.answer(shown, f"echo x > {self.outside}/notes")
        self.assertNotEqual(changed["exitCode"], 0)
        self.assertEqual((self.outside / "notes").read_text(), "hello")

    def test_a_lookup_without_network_fails_at_once_and_says_why(self):
        server = self.begin()
        started = time.monotonic()
        answer = self.answer(server, "python3 -c 'import socket; socket.getaddrinfo(\"example.com\", 80)'")
        self.assertLess(time.monotonic() - started, 20)
        self.assertIn("--shell-network allow", answer["hint"])
        job = server.good("shell_start", command="getent hosts example.com || echo EAI_AGAIN; exit 1")["jobId"]
        ended = {}
        while ended.get("state") != "ended":
            ended = server.good("shell_output", jobId=job, cursor=0, waitMs=10000)
        self.assertIn("--shell-network allow", ended["hint"])

    def test_files_that_usually_hold_secrets_are_empty_unless_allowed(self):
        (self.root / "app").mkdir()
        for name in (".env", "app/server.key", "app/.env.example", "app/plain"):
            (self.root / name).write_text("needle")
        command = "cat .env app/server.key"
        hidden = self.begin("--write")
        self.assertEqual(self.answer(hidden, command)["stdout"], "")
        self.assertEqual(self.answer(hidden, "cat app/.env.example app/plain")["stdout"], "needleneedle")
        self.assertIn("--sensitive allow", self.answer(hidden, "echo no key in .env >&2; false")["hint"])
        self.assertIn("such as .env empty", self.answer(hidden, "wc -c < .env")["hint"])
        self.assertNotIn("hint", self.answer(hidden, "cat app/plain"))
        # One that a command could reach through another name, or that appears later.
        (self.root / "plain").hardlink_to(self.root / ".env")
        (self.root / "late.pem").write_text("needle")
        self.assertNotIn("needle", self.answer(hidden, "cat plain late.pem")["stdout"])
        self.assertNotEqual(self.answer(hidden, "mv .env moved")["exitCode"], 0)
        # The folder itself may lie in one that is passed over.
        inside = self.root / "a" / ".git" / "b" / "c"
        inside.mkdir(parents=True)
        (inside / ".env").write_text("needle")
        self.assertEqual(self.answer(self.begin("--write", folder=inside.parent), "cat c/.env")["stdout"], "")
        shown = self.begin("--sensitive", "allow")
        answer = self.answer(shown, command)
        self.assertEqual(answer["stdout"], "needleneedle")
        self.assertNotIn("hint", answer)

    def test_what_other_programs_run_by_themselves_is_read_only_unless_allowed(self):
        (self.root / "in").mkdir()
        for place in (self.root, self.root / "in"):
            subprocess.run(["git", "-c", "init.templateDir=", "-c", "init.defaultBranch=main", "init", "-q", place], check=True)
        (self.root / ".git" / "modules" / "x").mkdir(parents=True)
        (self.root / ".git" / "modules" / "x" / "config").write_text("[core]\n")
        (self.root / ".vscode").mkdir()
        (self.root / ".vscode" / "tasks.json").write_text("{}")
        server = self.begin("--write")
        for command in ("echo x > .git/hooks/pre-commit", "echo x >> .git/config", "git config core.fsmonitor ./x",
                        "echo x > in/.git/hooks/pre-commit", "echo x > .git/modules/x/config", "mv .git moved", "mv in moved",
                        "rm -r .git/hooks && mkdir .git/hooks && echo x > .git/hooks/pre-commit",
                        "echo x > .vscode/tasks.json", "mv .vscode moved"):
            self.assertNotEqual(self.answer(server, command)["exitCode"], 0, command)
        self.assertIn("--autorun", self.answer(server, "git config a.b c")["hint"])
        self.assertEqual([*self.root.glob("**/pre-commit")], [])
        self.assertNotIn("fsmonitor", (self.root / ".git" / "config").read_text())
        git = "git -c user.name=a -c user.email=a@b"
        for command in (f"echo 1 > a && git add a && {git} commit -qm a && git log --oneline", "git checkout -q -b other && git gc -q",
                        f"echo 2 > a && {git} commit -qam b && {git} stash list && git switch -q main"):
            answer = self.answer(server, command)
            self.assertEqual(answer["exitCode"], 0, answer)
        # Git would take its settings from there.
        self.assertEqual(self.answer(server, "echo ../x > .git/commondir; echo ../x > .git/modules/x/commondir; cat .git/commondir")["stdout"],
                         "../x\n")
        self.assertEqual([*self.root.glob("**/commondir")], [])
        (self.root / ".git" / "commondir").write_text(".")
        self.assertNotEqual(self.answer(server, "echo ../x > .git/commondir")["exitCode"], 0)
        self.assertEqual((self.root / ".git" / "commondir").read_text(), ".")
        allowed = self.begin("--write", "--autorun", "allow")
        self.assertEqual(self.answer(allowed, "git config a.b c && echo x > .git/hooks/pre-commit")["exitCode"], 0)

    def test_secrets_settings_and_state_are_not_there(self):
        home = self.room / "home"
        (home / ".ssh").mkdir(parents=True, mode=0o700)
        (home / ".ssh" / "id").write_text("secret-key")
        server = self.begin(env={"API_TOKEN": "secret-token", "HOME": str(home)})
        self.assertIn("permissions", (home / ".n8n-gateway" / "settings.json").read_text())
        for command in (f"cat {home}/.ssh/id", f"cat {home}/.n8n-gateway/settings.json",
                        f"cat {self.state}/gatehouse/audit.jsonl", "env",
                        "cat /proc/*/environ", f"cat /proc/*/root{home}/.ssh/id"):
            answer = self.answer(server, command)
            for secret in ("secret-key", "secret-token", "permissions", "timestamp"):
                self.assertNotIn(secret, answer["stdout"], command)

    def test_a_variable_that_the_user_names_reaches_commands_and_nothing_that_is_written_down(self):
        server = self.begin("--shell-env", "MY_TOKEN", "--shell-env", "FLAGS=s3cret-a,b=c", "--shell-env", "TZ=CET",
                            env={"MY_TOKEN": "s3cret-b", "OTHER_TOKEN": "s3cret-c", "TZ": "UTC"})
        # The audit log keeps the output, but not these.
        self.assertEqual(self.answer(server, "echo $MY_TOKEN $FLAGS $TZ ${OTHER_TOKEN-none}")["stdout"],
                         "s3cret-b s3cret-a,b=c CET none\n")
        self.assertNotEqual(self.answer(server, "echo kept: $FLAGS >&2; false")["exitCode"], 0)
        self.assertEqual(self.answer(server, "TZ=X env | grep ^TZ=")["stdout"], "TZ=X\n")
        self.answer(server, "true")
        server.end()
        kept = [file.read_bytes() for file in self.state.rglob("audit.jsonl*")]
        self.assertIn(b"echo $MY_TOKEN", b"".join(kept))
        self.assertIn(b"kept: [redacted]", b"".join(kept))
        for text in (server.words().encode(), *kept):
            self.assertNotIn(b"s3cret", text)

    def test_a_variable_that_is_not_there_or_no_variable_is_refused_without_its_value(self):
        for given, words in (("MISSING", "--shell-env: the variable MISSING is not set here"),
                             ("A B=s3cret", "--shell-env: write a variable as NAME or NAME=VALUE"),
                             ("=s3cret", "--shell-env: write a variable")):
            server = self.start("--permission-shell", "allow", "--shell-env", given, opens=False)
            self.assertNotEqual(server.wait(), 0)
            self.assertIn(words, server.words())
            self.assertNotIn("s3cret", server.words())
        server = self.start("--shell-env", "A=1", opens=False)
        self.assertNotEqual(server.wait(), 0)
        self.assertIn("--shell-env has no effect without commands", server.words())

    def test_no_program_is_looked_for_where_a_command_starts(self):
        (self.root / "tool").write_text("#!/bin/sh\necho run\n")
        (self.root / "tool").chmod(0o755)
        server = self.begin(env={"PATH": f".::/usr/bin:{self.root.name}:/bin"})
        self.assertEqual(self.answer(server, "echo $PATH; tool || ./tool")["stdout"], "/usr/bin:/bin\nrun\n")

    def test_the_socket_of_a_daemon_is_not_there(self):
        sockets = self.outside / "gatehouse"
        sockets.mkdir(mode=0o700)
        (sockets / "daemon-7655.socket").touch()
        server = self.begin("--shell-writable", sockets, env={"XDG_RUNTIME_DIR": str(self.outside)})
        self.assertEqual(self.answer(server, f"ls -A {sockets}")["stdout"], "")

    def test_what_a_rule_denies_is_denied_to_commands_too(self):
        (self.root / "keys").write_text("needle")
        (self.root / "fixed").write_text("old")
        self.deny([self.root / "keys"], [self.root / "fixed"])
        server = self.begin("--write")
        self.assertNotIn("needle", self.answer(server, "cat keys")["stdout"])
        self.assertNotEqual(self.answer(server, "echo new > fixed")["exitCode"], 0)
        self.assertEqual((self.root / "fixed").read_text(), "old")

    def test_what_a_rule_denies_outside_the_folder_is_denied_to_commands_too(self):
        (self.outside / "customers").mkdir()
        (self.outside / "customers" / "list").write_text("needle")
        (self.outside / "fixed").mkdir()
        self.deny([f"dir:{self.outside}/customers"], [f"dir:{self.outside}/fixed"])
        server = self.begin("--shell-writable", self.outside)
        self.assertNotIn("needle", self.answer(server, f"cat {self.outside}/customers/list")["stdout"])
        self.assertNotEqual(self.answer(server, f"touch {self.outside}/fixed/new")["exitCode"], 0)
        self.assertNotEqual(self.answer(server, f"mv {self.outside}/customers {self.outside}/x")["exitCode"], 0)
        self.assertEqual(self.answer(server, f"touch {self.outside}/free")["exitCode"], 0)

    def test_what_a_rule_denies_above_a_writable_folder_is_denied_with_it(self):
        (self.outside / "deep").mkdir()
        (self.outside / "deep" / "secret").write_text("needle")
        self.deny([f"dir:{self.outside}"])
        server = self.begin("--shell-writable", self.outside / "deep")
        self.assertNotIn("needle", self.answer(server, f"cat {self.outside}/deep/secret")["stdout"])
        self.assertEqual(self.answer(server, "echo on")["stdout"], "on\n")

    def test_a_rule_that_is_made_later_holds_for_the_next_command(self):
        for name in ("keys", "more", "fixed"):
            (self.root / name).write_text("needle")
        self.deny([self.root / "keys"])
        server = self.begin("--write")
        self.assertEqual(self.answer(server, "cat keys more")["stdout"], "needle")
        self.deny([self.root / "keys", self.root / "more"], [self.root / "fixed"])
        answer = self.answer(server, "cat keys more; echo new > fixed")
        self.assertEqual((answer["stdout"], answer["exitCode"] != 0), ("", True))
        self.assertEqual((self.root / "fixed").read_text(), "needle")
        self.deny([self.root / f"missing-{i}" for i in range(513)])
        self.assertIn("were added since this session began", str(self.run_command(server, "true")))

    def test_what_a_pattern_denies_is_denied_where_it_is_when_a_command_starts(self):
        (self.root / "deep" / "er").mkdir(parents=True)
        for name in (".env", "deep/er/.env", "a.lock", "plain"):
            (self.root / name).write_text("needle")
        (self.root / "keys").mkdir()
        (self.root / "keys" / "x").write_text("needle")
        self.deny(["glob:**/.env", f"glob:{self.root}/k*"], ["glob:*.lock"])
        server = self.begin("--write")
        self.assertNotIn("patterns", server.words())
        self.assertEqual(self.answer(server, "cat .env deep/er/.env keys/x")["stdout"], "")
        self.assertNotEqual(self.answer(server, "echo new > a.lock")["exitCode"], 0)
        self.assertEqual(self.answer(server, "cat plain; echo > plain")["exitCode"], 0)
        (self.root / "new").mkdir()
        (self.root / "new" / ".env").write_text("needle")
        self.assertEqual(self.answer(server, "cat new/.env; mv deep other")["stdout"], "")
        self.assertTrue((self.root / "deep").exists())
        self.deny(["glob:**/.env", "glob:pl*"])
        self.assertEqual(self.answer(server, "cat .env plain")["stdout"], "")

    def test_where_patterns_cannot_be_looked_for_there_are_no_commands(self):
        (self.root / "many").mkdir()
        for i in range(4097):
            os.close(os.open(self.root / "many" / f"{i}.key", os.O_CREAT))
        self.deny(["glob:*.key"])
        server = self.start("--permission-shell", "allow")
        self.assertNotIn("shell_execute", {tool["name"] for tool in server.request("tools/list")["tools"]})
        self.assertIn("cannot apply your deny patterns to commands", server.words())

    def test_no_command_bares_to_the_next_what_is_denied_by_closing_a_folder(self):
        deep = self.root / "deep"
        deep.mkdir()
        (deep / "a.key").write_text("needle")
        for rule in ("glob:*.key", deep / "a.key"):
            self.deny([rule])
            server = self.begin("--write")
            for mode in ("311", "444", "0"):
                with self.subTest(rule=rule, mode=mode):
                    self.answer(server, f"chmod {mode} deep")
                    self.assertNotIn("needle", str(self.run_command(server, "cat deep/a.key")))
                    self.assertNotIn("needle", str(self.run_command(server, "chmod 700 deep; cat deep/a.key")))
                    deep.chmod(0o700)

    def test_no_command_bares_to_the_next_what_is_denied_by_filling_a_folder(self):
        (self.root / "deep").mkdir()
        (self.root / "deep" / "a.key").write_text("needle")
        self.deny(["glob:*.key"])
        server = self.begin("--write")
        self.assertEqual(self.answer(server, "for i in $(seq 5000); do : > $i.key; done")["exitCode"], 0)
        refusal = str(self.run_command(server, "cat deep/a.key"))
        self.assertIn("deny the folders that contain them instead", refusal)
        self.assertNotIn("needle", refusal)

    def test_a_link_in_the_place_of_what_is_denied_hides_no_more_than_that(self):
        self.deny([self.root / "denied", "glob:**/.env"])
        server = self.begin("--write")
        for target in ("/usr", "/etc", "..", "."):
            self.assertEqual(self.answer(server, f"ln -sfn {target} denied; ln -sfn {target} .env")["exitCode"], 0)
            self.assertEqual(self.answer(server, "cat /etc/hostname > found; echo on")["stdout"], "on\n")

    def test_what_may_not_be_changed_and_was_not_there_is_held_from_the_next_command_on(self):
        self.deny([], [self.root / "locked"])
        server = self.begin("--write")
        self.assertEqual(self.answer(server, "echo old > locked")["exitCode"], 0)
        self.assertNotEqual(self.answer(server, "echo new > locked")["exitCode"], 0)
        self.assertEqual((self.root / "locked").read_text(), "old\n")

    def test_hundreds_of_rules_leave_the_commands(self):
        (self.root / "kept").write_text("needle")
        self.deny([self.root / f"missing-{i}" for i in range(600)] + [self.root / "kept"])
        server = self.begin()
        self.assertEqual(self.answer(server, "cat kept; echo on")["stdout"], "on\n")

    def test_more_rules_than_a_box_holds_cost_the_commands_alone(self):
        self.deny([self.root / f"missing-{i}" for i in range(4097)])
        server = self.start("--permission-shell", "allow")
        self.assertNotIn("shell_execute", {tool["name"] for tool in server.request("tools/list")["tools"]})
        self.assertIn("more than 4096 rules deny files", server.words())

    def test_the_network_is_there_only_where_it_was_opened(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            command = f"exec 3<>/dev/tcp/127.0.0.1/{listener.getsockname()[1]}"
            self.assertNotEqual(self.answer(self.begin(), command)["exitCode"], 0)
            answer = self.answer(self.begin("--shell-network", "allow"), f"bash -c '{command}'")
            self.assertEqual(answer["exitCode"], 0, answer)

    def test_a_command_takes_a_part_of_the_user_s_inotify_only(self):
        """All programs of the user share it, and some do not start without."""
        if os.statvfs("/proc/sys").f_flag & os.ST_RDONLY:
            self.skipTest("/proc/sys is read-only, so limits of a user namespace cannot be set")
        limits = [pathlib.Path("/proc/sys/user/max_inotify_" + of) for of in ("instances", "watches")]
        of_user = [pathlib.Path("/proc/sys/fs/inotify/max_user_" + of) for of in ("instances", "watches")]
        most = [int(limit.read_text()) // 4 for limit in of_user]
        server = self.begin()
        said = self.answer(server, f"cat {limits[0]} {limits[1]}; python3 -c '\n"
                           "import ctypes, itertools\n"
                           "start = ctypes.CDLL(None).inotify_init\n"
                           "print(next(n for n in itertools.count() if start() < 0))'")
        *set_there, taken = map(int, said["stdout"].split())
        self.assertEqual(set_there, most)
        self.assertLessEqual(taken, most[0])  # other programs of the user may have some

    @unittest.skipUnless(pathlib.Path("/var/lib/dpkg/lock").exists(), "there is no dpkg")
    def test_a_command_cannot_hold_the_locks_of_dpkg(self):
        """Whoever can read a file can lock it, and those are for root to read."""
        server = self.begin()
        for name in ("lock", "lock-frontend", "triggers/Lock"):
            said = self.answer(server, f"flock -n /var/lib/dpkg/{name} echo held")
            self.assertEqual(said["stdout"], "", name)
        # It can still be asked.
        self.assertIn("/usr/bin/dpkg", self.answer(server, "dpkg -L dpkg")["stdout"])
        self.assertIn("ok installed", self.answer(server, "dpkg -s dpkg")["stdout"])

    def test_a_directory_outside_is_no_place_to_run_in(self):
        server = self.begin()
        (self.root / "link").symlink_to(self.outside)
        for cwd in ("..", str(self.outside), "link", "/"):
            self.assertTrue(self.run_command(server, "pwd", cwd=cwd)["isError"], cwd)


class Asking(Commands):
    def ask(self, server, command, decision):
        params, result = self.decide(server, decision, "shell_execute", command=command)
        return params["message"], result

    def decide(self, server, decision, tool, **arguments):
        """Calls, answers the question, and returns both it and the result."""
        message = server.call_message(tool, arguments)
        server.send(message)

        def found():
            for note in server.notes:
                if note["method"] == "elicitation/create":
                    server.notes.remove(note)
                    return note
            return None
        question = server.wait_until(found)
        server.send({"jsonrpc": "2.0", "id": question["id"],
                     "result": {"action": "accept", "content": {"decision": decision}}})
        return question["params"], server.result(message["id"])

    def begin_asking(self, *flags):
        return self.begin("--permission-shell", "ask", *flags, capabilities=ASKING)

    def test_a_question_shows_where_and_what(self):
        server = self.begin_asking()
        words, result = self.ask(server, "sudo -u nobody /bin/ls  -l", "Deny once")
        self.assertTrue(result["isError"])
        self.assertIn(f"{self.root}: ls -l", words)
        self.assertIn("sudo -u nobody /bin/ls  -l", words)
        server.end()
        self.assertEqual([(record["outcome"], record["policySource"]) for record in self.executed()],
                         [("denied", "user")])

    def test_a_question_shows_what_a_command_can_do(self):
        words, _ = self.ask(self.begin_asking(), "echo one", "Deny once")
        self.assertIn("Runs a command, without network; it can change no files\n", words)
        self.assertEqual(words.count("echo one"), 1)
        server = self.begin_asking("--write", "--shell-network", "allow", "--shell-writable", self.outside)
        words, _ = self.ask(server, "echo one\necho two", "Deny once")
        places = sorted([str(self.outside), str(self.root)])
        said = words.split("\n")[0]
        self.assertIn("Runs a command, with network access; it can change ", said)
        self.assertEqual(sorted(said.split("can change ")[1].split(", ")), places)
        self.assertIn("\n| echo one\n| echo two", words)
        words, _ = self.ask(self.begin_asking("--dangerously-disable-shell-sandbox"), "echo one", "Deny once")
        self.assertIn("without a sandbox", words)

    def test_nobody_is_asked_about_a_directory_that_is_missing(self):
        """Unless reading needs permission, too: the answer must not tell."""
        self.assertIn("no such directory", self.begin_asking().bad("shell_execute", command="true", cwd="none"))
        server = self.begin_asking("--permission-filesystem-read", "ask")
        params, result = self.decide(server, "Allow once", "shell_execute", command="true", cwd="none")
        self.assertIn(f"{self.root}/none: true", params["message"])
        self.assertIn("no such directory", str(result))

    def test_a_command_cannot_dress_up_the_question(self):
        server = self.begin_asking()
        words, result = self.ask(server, f"echo a\n- {self.root}: ls\n\nAllowed already", "Deny once")
        self.assertTrue(result["isError"])
        ours = [line for line in words.split("\n") if line and not line.startswith("| ")]
        self.assertEqual(len([line for line in ours if line.startswith("- ")]), 1, words)
        self.assertNotIn("Allowed already", ours)

    def test_the_end_of_a_long_command_is_there(self):
        server = self.begin_asking()
        words, _ = self.ask(server, f"echo hi{' ' * 9000}; rm x", "Deny once")
        self.assertIn("echo hi\\s{9000}; rm x", words)
        long = "echo " + "".join(f"{number} " for number in range(3000)) + "; rm x"
        words, _ = self.ask(server, f"FOO=1 {long}", "Deny once")
        self.assertIn(f"FOO=1 {long}", words)

    def test_allowed_for_the_session_is_that_command(self):
        server = self.begin_asking()
        _, result = self.ask(server, "echo one", "Allow for this session")
        self.assertFalse(result.get("isError"))
        self.assertEqual(self.answer(server, "echo one")["stdout"], "one\n")
        _, result = self.ask(server, "echo one; echo two", "Deny once")
        self.assertTrue(result["isError"])

    def test_allowed_for_the_session_is_the_command_with_its_variables(self):
        server = self.begin_asking()
        _, result = self.ask(server, "printenv PATH LANG NINJA", "Allow for this session")
        self.assertIn("stdout", result["structuredContent"])
        self.assertEqual(self.answer(server, "LANG=C printenv PATH LANG NINJA")["stdout"].splitlines()[1:], ["C"])
        for command in ("NINJA=x printenv PATH LANG NINJA", "env NINJA=x printenv PATH LANG NINJA"):
            words, result = self.ask(server, command, "Deny once")
            self.assertIn("NINJA=x", words)
            self.assertTrue(result["isError"])

    def test_what_is_typed_into_a_job_is_shown_and_asked_about_each_time(self):
        server = self.begin_asking()
        _, result = self.decide(server, "Allow for this session", "shell_start", command="cat")
        job = result["structuredContent"]["jobId"]
        params, result = self.decide(server, "Deny once", "shell_input", jobId=job,
                                     text='one\n"two"', close=True)
        self.assertTrue(result["isError"])
        self.assertIn(f"{self.root}: cat", params["message"])
        for words in ('"one\\n"', '"\\"two\\""', "end of the input"):
            self.assertIn(words, params["message"])
        self.assertEqual(params["requestedSchema"]["properties"]["decision"]["enum"],
                         ["Deny once", "Allow once"])
        # An answer that was not offered is none.
        _, result = self.decide(server, "Allow for this session", "shell_input", jobId=job, text="two")
        self.assertTrue(result["isError"])
        for text in ("three ", "four "):
            params, result = self.decide(server, "Allow once", "shell_input", jobId=job, text=text)
            self.assertFalse(result.get("isError"), result)
            self.assertIn(f'"{text}"', params["message"])
        self.decide(server, "Allow once", "shell_input", jobId=job, close=True)
        output = server.good("shell_output", jobId=job, cursor=0, waitMs=1000)
        while output["state"] == "running":
            output = server.good("shell_output", jobId=job, cursor=0, waitMs=1000)
        self.assertEqual(output["output"], "three four ")

    def test_a_rule_that_allows_a_command_allows_nothing_that_is_typed_into_it(self):
        self.settings.parent.mkdir(mode=0o700)
        self.settings.write_text(json.dumps({"resourcePermissions": {"shell": {"allow": ["prefix:bash -s"]}}}))
        server = self.begin("--permission-shell", "ask", "--write")
        job = server.good("shell_start", command="bash -s")["jobId"]
        self.assertIn("there is nobody to ask",
                      server.bad("shell_input", jobId=job, text="touch made\n", close=True))
        server.good("shell_stop", jobId=job)
        self.assertEqual(os.listdir(self.root), [])

    def test_rules_decide_without_asking(self):
        self.settings.parent.mkdir(mode=0o700)
        self.settings.write_text(json.dumps({"resourcePermissions": {"shell": {
            "allow": ["prefix:echo"], "deny": ["prefix:rm", "prefix:nice"]}}}))
        server = self.begin_asking()
        self.assertEqual(self.answer(server, "echo by rule")["stdout"], "by rule\n")
        for command in ("rm -rf x", "if true; then rm -rf x; fi", "nice echo x"):
            self.assertIn("denied by a rule", self.answer(server, command)["error"])
        _, result = self.ask(server, "echo $(id)", "Deny once")
        self.assertTrue(result["isError"])

    def test_a_rule_for_a_beginning_allows_nothing_that_the_shell_evaluates(self):
        self.settings.parent.mkdir(mode=0o700)
        self.settings.write_text(json.dumps({"resourcePermissions": {"shell": {
            "allow": ["prefix:ls", "prefix:printf", "prefix:unset", "prefix:let"]}}}))
        server = self.begin("--permission-shell", "ask", "--write")
        self.assertEqual(self.answer(server, "printf '%s' 'by rule'")["stdout"], "by rule")
        self.assertEqual(self.answer(server, "ls")["stdout"], "")
        for command in (r"ls $[$'a[\x24\x28touch made\x29]']", r"printf -v a[\$\(touch\ made\)] x",
                        r"printf -v $'a\x5b\x24\x28touch made\x29\x5d' x",
                        r"unset DIRSTACK{Y..a..2}\$\(touch\ made\){Y..a..2}",
                        r"let a[\$\(touch\ made\)]"):
            answer = self.answer(server, command)
            self.assertEqual(os.listdir(self.root), [], command)
            self.assertIn("there is nobody to ask", answer["error"], command)

    def test_a_program_that_commands_may_change_is_not_the_one_that_a_rule_names(self):
        self.settings.parent.mkdir(mode=0o700)
        self.settings.write_text(json.dumps({"resourcePermissions": {"shell": {"allow": ["prefix:ls"]}}}))
        server = self.begin("--permission-shell", "ask", "--write", "--shell-writable", self.outside,
                            env={"PATH": f"/usr/bin:/bin:{self.root}/bin:{self.outside}"})
        self.assertEqual(self.answer(server, "/bin/ls")["stdout"], "")
        for folder in (self.root / "bin", self.outside):
            folder.mkdir(exist_ok=True)
            (folder / "ls").write_text("#!/bin/sh\ntouch made\n")
            (folder / "ls").chmod(0o755)
            answer = self.answer(server, f"{folder}/ls")
            self.assertFalse((self.root / "made").exists(), folder)
            self.assertIn("there is nobody to ask", answer["error"])

    def test_a_command_that_is_always_allowed_is_so_in_any_folder_and_that_is_said(self):
        (self.root / "sub").mkdir()
        server = self.begin_asking("--allow-remote-always")
        params, result = self.decide(server, "Always allow, in any folder", "shell_execute", command="echo x")
        self.assertFalse(result.get("isError"), result)
        self.assertEqual(params["requestedSchema"]["properties"]["decision"]["enum"][3:],
                         ["Always allow, in any folder", "Always deny, in any folder"])
        self.assertEqual(self.answer(server, "echo x", cwd="sub")["stdout"], "x\n")

    def test_with_nobody_to_ask_nothing_runs(self):
        server = self.begin("--permission-shell", "ask")
        self.assertIn("there is nobody to ask", self.answer(server, "echo x")["error"])


class Offering(Commands):
    def test_commands_that_read_what_tools_may_not_are_warned_of(self):
        said = "commands can still read the files of the folder"
        self.assertIn(said, self.begin("--permission-filesystem-read", "deny").words())
        self.assertNotIn(said, self.begin().words())

    def test_commands_that_do_unasked_what_tools_ask_about_are_warned_of(self):
        said = "commands run without asking"
        for group in ("read", "write"):
            flags = ("--permission-shell", "allow", f"--permission-filesystem-{group}", "ask")
            self.assertIn(said, self.begin(*flags).words())
        self.assertNotIn(said, self.begin("--permission-shell", "allow",
                                          "--permission-filesystem-write", "allow").words())
        self.assertNotIn(said, self.begin("--permission-shell", "ask",
                                          "--permission-filesystem-write", "ask").words())

    def test_tools_exist_only_where_the_user_opened_them(self):
        names = {tool["name"] for tool in self.begin().request("tools/list")["tools"]}
        self.assertLessEqual(SHELL, names)
        server = self.start()
        names = {tool["name"] for tool in server.request("tools/list")["tools"]}
        self.assertFalse(SHELL & names)
        with self.assertRaises(Refused):
            server.call("shell_execute", command="echo x")

    def test_where_no_box_can_be_built_the_reason_is_told_and_the_tools_are_missing(self):
        server = self.start("--permission-shell", "allow", opens=False,
                            before=[mcp_client.WITHOUT_SYSCALL, "mount"])
        server.open()
        names = {tool["name"] for tool in server.request("tools/list")["tools"]}
        self.assertFalse(SHELL & names)
        server.end()
        self.assertIn("commands are disabled", server.words())

    def test_without_boxes_commands_still_end_whole(self):
        server = self.begin("--dangerously-disable-shell-sandbox")
        self.assertEqual(self.answer(server, f"touch {self.outside}/x")["exitCode"], 0)
        inner = f"sh -c 'sleep 1000; : {self.mark}'"
        self.assertTrue(self.answer(server, f"setsid {inner} & ({inner} &); sleep 1000",
                                    timeout=500)["timedOut"])
        self.wait_gone()
        server.end()
        self.assertIn("without a sandbox", server.words())

    def test_a_place_with_files_that_are_started_later_is_warned_of(self):
        warning = f"outside of any sandbox, for example at the next login place={self.state}"
        for flags, is_warned in ((("--shell-writable", self.state), True),
                                 (("--shell-writable", self.outside), False), ((), False)):
            server = self.begin(*flags)
            server.end()
            self.assertEqual(warning in server.words(), is_warned, server.words())

    def test_a_writable_place_that_is_missing_is_named_with_its_option(self):
        server = self.start("--permission-shell", "allow", "--shell-writable", self.room / "none",
                            opens=False)
        self.assertEqual(server.end(), 1)
        self.assertIn(f"--shell-writable: {self.room}/none: No such file", server.words())

    def test_options_that_make_no_sense_are_refused(self):
        for flags in (("--dangerously-disable-shell-sandbox",),
                      ("--permission-shell", "allow", "--dangerously-disable-shell-sandbox",
                       "--shell-network", "none"), ("--shell-network", "allow"), ("--shell-writable", "/tmp"),
                      ("--permission-shell", "allow", "--allow", "src/**"),
                      ("--permission-shell", "allow", "--dangerously-disable-shell-sandbox",
                       "--deny", "**/.env"),
                      ("--permission-shell", "allow", "--shell-writable", "outside"),
                      ("--permission-shell", "allow", "--shell-writable", self.room / "none")):
            server = self.start(*flags, opens=False)
            self.assertNotEqual(server.wait(), 0, flags)
            self.assertTrue(server.words(), flags)


if __name__ == "__main__":
    mcp_client.main()
