#!/usr/bin/env python3
"""Runs the front door as a person would. Arguments: gatehouse, without_syscall, the man page."""
import json
import os
import pathlib
import pty
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.dont_write_bytecode = True  # not into the sources
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from patience import PATIENCE

GATEHOUSE, WITHOUT_SYSCALL, MAN_PAGE = (pathlib.Path(path) for path in sys.argv[1:4])
COLOUR = "\033["


def run(*arguments, before=(), **settings):
    environment = {"PATH": "/usr/bin:/bin", **settings.pop("env", {})}
    return subprocess.run(
        [*before, GATEHOUSE, *arguments], env=environment, stdin=subprocess.DEVNULL,
        stdout=settings.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, text=True,
        timeout=PATIENCE, **settings,
    )


def findings(**settings):
    result = run("doctor", "--json", **settings)
    assert result.returncode == 0, result.stderr
    return {finding["id"]: finding for finding in json.loads(result.stdout)["findings"]}


def run_on_terminal(*arguments, env=None):
    """The output of a run whose standard output is a terminal."""
    keeper, terminal = pty.openpty()
    process = subprocess.Popen(
        [GATEHOUSE, *arguments], stdin=subprocess.DEVNULL, stdout=terminal,
        stderr=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin", "TERM": "xterm", **(env or {})},
    )
    os.close(terminal)
    output = b""
    while True:
        try:
            piece = os.read(keeper, 4096)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        output += piece
    os.close(keeper)
    process.wait(timeout=PATIENCE)
    return output.decode()


def read_until(keeper, pattern):
    """What a program prints on its terminal; with no pattern, all of it."""
    said = ""
    while pattern is None or re.search(pattern, said) is None:
        try:
            piece = os.read(keeper, 4096)
        except OSError:  # the other side is closed
            break
        said += piece.decode()
    return said


class Doctor(unittest.TestCase):
    def test_every_finding_has_a_known_status_and_says_what_a_lack_means(self):
        for finding in findings().values():
            self.assertIn(finding["status"], ("ok", "limited", "missing"))
            self.assertTrue(finding["detail"] and finding["purpose"])
            self.assertEqual("lack" in finding, finding["status"] != "ok")

    def test_words_and_json_agree(self):
        words = run("doctor").stdout
        told = findings()
        for status in ("ok", "limited", "missing"):
            in_words = len(re.findall(rf"^  {status} ", words, re.MULTILINE))
            in_json = sum(finding["status"] == status for finding in told.values())
            self.assertEqual(in_words, in_json, status)

    def test_words_are_wrapped(self):
        lines = run("doctor", env={"WAYLAND_DISPLAY": "no such display, " * 20}).stdout.splitlines()
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertTrue(any(line.startswith(28 * " ") for line in lines))

    def test_a_denied_system_call_is_found_missing(self):
        for call, finding in (
            ("openat2", "openat2"),
            ("landlock_create_ruleset", "landlock"),
            ("seccomp", "seccomp"),
            ("pidfd_open", "pidfd"),
            ("clone", "user_namespaces"),
        ):
            # LeakSanitizer stops the world with a clone of its own.
            told = findings(before=(WITHOUT_SYSCALL, call), env={"ASAN_OPTIONS": "detect_leaks=0"})
            self.assertEqual(told[finding]["status"], "missing", call)
            self.assertEqual(told[finding]["detail"], "Function not implemented", call)

    def test_a_browser_is_found_in_path(self):
        with tempfile.TemporaryDirectory() as folder:
            browser = pathlib.Path(folder, "chromium")
            browser.write_text("#!/bin/sh\n")
            browser.chmod(0o755)
            found = findings(env={"PATH": folder})["browser"]
            self.assertEqual((found["status"], found["detail"]), ("ok", str(browser)))
            browser.chmod(0o644)
            self.assertEqual(findings(env={"PATH": f":{folder}:"})["browser"]["status"], "missing")

    def test_a_display_that_nobody_serves_is_limited(self):
        for name, value in (("DISPLAY", ":9917"), ("WAYLAND_DISPLAY", "/nonexistent/socket")):
            self.assertEqual(findings(env={name: value})["display"]["status"], "limited")
        self.assertEqual(findings()["display"]["status"], "missing")

    def test_hostile_environment_stays_valid_json(self):
        told = findings(env={"DISPLAY": ':"\\\n\x01' + "x" * 5000})
        self.assertEqual(told["display"]["status"], "limited")
        told = findings(env={"WAYLAND_DISPLAY": os.fsdecode(b"\xff\xfe")})
        self.assertEqual(told["display"]["status"], "limited")

    def test_control_groups_are_found_where_sandboxes_use_them(self):
        said = run("sandbox", "run", "-v", "-m", "1GiB", "--pids", "64", "true").stderr
        if "namespaces:" not in said:
            self.skipTest(said.strip())
        used = [f"{limit}: limited for all processes together" in said for limit in ("memory", "processes")]
        self.assertEqual(findings()["cgroups"]["status"],
                         "ok" if all(used) else "limited" if any(used) else "missing", said)

    def test_an_ordinary_user_can_ask_too(self):
        if os.geteuid() != 0:
            self.assertEqual(findings()["user"]["status"], "ok")
            return
        self.assertEqual(findings()["user"]["status"], "limited")
        # The build may lie where an ordinary user cannot reach it.
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            copy = pathlib.Path(folder, "gatehouse")
            copy.write_bytes(GATEHOUSE.read_bytes())
            copy.chmod(0o755)
            result = subprocess.run(
                ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy, "doctor",
                 "--json"], stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE,
            )
        told = {finding["id"]: finding for finding in json.loads(result.stdout)["findings"]}
        self.assertEqual(told["user"]["status"], "ok")

    def test_colours_only_on_a_terminal_that_wants_them(self):
        self.assertNotIn(COLOUR, run("doctor").stdout)
        self.assertIn(COLOUR, run_on_terminal("doctor"))
        self.assertNotIn(COLOUR, run_on_terminal("doctor", env={"NO_COLOR": "1"}))
        self.assertNotIn(COLOUR, run_on_terminal("doctor", env={"TERM": "dumb"}))
        self.assertNotIn(COLOUR, run_on_terminal("doctor", "--json"))


class Calls(unittest.TestCase):
    def test_up_refuses_a_folder_that_is_not_there_before_it_starts(self):
        for folder in ("/nowhere", __file__):
            result = run("up", folder)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(f"cannot use the folder '{folder}'", result.stderr)
            self.assertEqual(result.stdout, "")

    def test_up_says_how_to_go_on_where_its_port_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken, tempfile.TemporaryDirectory() as room:
            port = str(taken.getsockname()[1])
            for words in ("--listen", f"127.0.0.1:{port}"), ("--port", port):
                result = run("up", *words, "--state-dir", f"{room}/state", room)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(f"127.0.0.1:{port}", result.stderr)
                self.assertIn("choose another port", result.stderr)

    def test_a_state_directory_that_cannot_be_used_is_named_once_with_a_way_out(self):
        with tempfile.TemporaryDirectory() as room:
            for words in ("up", "--listen", "127.0.0.1:0"), ("mcp",):
                result = run(*words, "--state-dir", "/proc/none", room)
                self.assertNotEqual(result.returncode, 0)
                self.assertEqual(result.stderr.count("/proc/none"), 1, result.stderr)
                self.assertIn("use --state-dir to choose another", result.stderr)

    def test_status_sees_up_and_says_how_to_stop_it(self):
        with tempfile.TemporaryDirectory() as room:
            environment = {"PATH": "/usr/bin:/bin", "HOME": room, "XDG_RUNTIME_DIR": room}
            process = subprocess.Popen([GATEHOUSE, "up", "--listen", "127.0.0.1:0", room], env=environment, text=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            with process, process.stdout:
                page = re.search(r"running at (\S+) for", process.stdout.readline())[1]
                deadline = time.monotonic() + PATIENCE
                told = {}
                while not told.get("connected"):
                    self.assertLess(time.monotonic(), deadline)
                    result = run("status", "--json", env=environment)
                    told = json.loads(result.stdout) if result.returncode == 0 else {}
                self.assertEqual((told["server"], told["dir"], told["command"]), (page, room, "up"))
                self.assertIn("'gatehouse down'", run("status", env=environment).stdout)
                stopped = run("down", env=environment)
                self.assertEqual((stopped.returncode, stopped.stderr), (0, ""))
                self.assertEqual(stopped.stdout, f"Stopped 'gatehouse up' for {room} ({page})\n")
                process.stdout.read()
            self.assertEqual(process.returncode, 0)
            self.assertEqual(run("status", env=environment).returncode, 1)
        self.assertEqual(run("up", "--port", "7777", "--listen", "127.0.0.1:7777", "/").returncode, 1)

    def test_ctrl_c_ends_up_without_a_complaint(self):
        with tempfile.TemporaryDirectory() as room:
            pid, keeper = pty.fork()
            if pid == 0:
                os.execve(GATEHOUSE, ["gatehouse", "up", "--listen", "127.0.0.1:0", "--state-dir", f"{room}/state", room],
                          {"PATH": "/usr/bin:/bin", "HOME": room})
            said = read_until(keeper, r"http://\S+/login\S+\r\n")
            page = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            link = re.search(r"(http://[^/\s]+)/login\S+", said)
            page.open(link[0], timeout=PATIENCE)
            deadline = time.monotonic() + PATIENCE
            while not json.load(page.open(link[1] + "/api/state", timeout=PATIENCE))["status"]["connected"]:
                self.assertLess(time.monotonic(), deadline)
            os.write(keeper, b"\x03")
            said += read_until(keeper, None)
            os.close(keeper)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertIn("Ctrl-C stops it.", said)
        self.assertTrue(said.endswith("^C\r\n"), said)

    def test_up_ends_at_any_moment_after_its_address(self):
        """Also while the daemon is between its creation and its execution."""
        for delay in range(16):
            with self.subTest(delay=delay), tempfile.TemporaryDirectory() as room:
                process = subprocess.Popen(
                    [GATEHOUSE, "up", "--listen", "127.0.0.1:0", "--state-dir", f"{room}/state", room],
                    env={"PATH": "/usr/bin:/bin", "HOME": room}, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                with process.stdout:
                    self.assertTrue(any("running at" in line for line in process.stdout))
                    time.sleep(delay * 0.0002)
                    process.terminate()
                    process.stdout.read()
                self.assertEqual(process.wait(PATIENCE), 0)

    def test_without_a_command_it_says_what_there_is_and_fails(self):
        result = run()
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, "")
        self.assertIn("doctor", result.stderr)

    def test_help_and_version_succeed_anywhere(self):
        self.assertRegex(run("--version").stdout, r"^gatehouse \d+\.\d+\.\d+\n$")
        for arguments in (["--help"], ["-h"], ["doctor", "--help"], ["completions", "-h"]):
            result = run(*arguments)
            self.assertEqual(result.returncode, 0, arguments)
            self.assertIn("Usage:", result.stdout)
        self.assertIn("--json", run("doctor", "--help").stdout)

    def test_the_first_command_to_try_comes_first(self):
        self.assertRegex(run("help").stdout, r"\nCommands:\n  up ")

    def test_help_and_version_are_words_too(self):
        for words, same in ((("help",), ("--help",)), (("help", "mcp"), ("mcp", "--help")),
                            (("help", "sandbox", "run"), ("sandbox", "run", "--help")),
                            (("help", "help"), ("help", "--help")), (("rules", "help"), ("rules", "--help")),
                            (("version",), ("--version",)), (("-V",), ("--version",))):
            asked, usual = run(*words), run(*same)
            self.assertEqual((asked.returncode, asked.stdout, asked.stderr), (0, usual.stdout, ""), words)
        wrong = run("help", "stauts")
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn("stauts: unknown command; did you mean status?", wrong.stderr)
        self.assertIn(" connect [OPTIONS] URL [TOKEN] [DIR]", run("connect", "--help").stdout)

    def test_mistakes_say_what_to_do(self):
        result = run("docter")
        self.assertEqual(result.returncode, 2)
        self.assertIn("doctor", result.stderr)
        result = run("doctor", "--jsn")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--json", result.stderr)
        for words, page in ((("--nonsense",), ""), (("nonsense",), ""), (("connect", "--prot"), " connect"),
                            (("connect",), " connect"), (("mcp", "--nonsense"), " mcp"),
                            (("rules", "nonsense"), " rules"), (("audit", "x"), " audit"),
                            (("search", "--nonsense"), " search"), (("sandbox", "rm"), " sandbox rm"),
                            (("sandbox", "rm", "--nonsense"), " sandbox rm"), (("rules", "add"), " rules add"),
                            (("status", "--port", "x"), " status")):
            said = run(*words).stderr
            self.assertTrue(said.startswith(f"gatehouse{page}: "), said)
            self.assertIn(f"See 'gatehouse{page} --help'.", said)
        self.assertEqual(run("rules", "add").stderr.splitlines()[0], "gatehouse rules add: missing argument EFFECT")
        for shell in ("", "tcsh"):
            self.assertEqual(run("completions", *([shell] if shell else [])).returncode, 2)

    def test_a_start_passes_every_word_on(self):
        """Plain starts of mcp take a shorter way through the front door than others."""
        with tempfile.TemporaryDirectory() as directory:
            front_door = pathlib.Path(directory, "gatehouse")
            shutil.copy(GATEHOUSE, front_door)
            program = pathlib.Path(directory, "gatehouse-mcp")
            program.write_text('#!/bin/sh\nprintf "%s." "$PLACE" "$@"\n')
            program.chmod(0o755)
            for words in ([], ["/tmp"], ["--write", "a b", "\u00e4"], ["-w", "/tmp"],
                          ["--ro", "/tmp", "--deny=x y"], ["--log-level", "error", "--", "-d"]):
                result = subprocess.run(
                    [front_door, "mcp", *words], env={"PLACE": "here"}, capture_output=True,
                    text=True, timeout=PATIENCE,
                )
                self.assertEqual((result.stdout, result.returncode),
                                 ("".join(word + "." for word in ("here", *words)), 0), words)
            for words in (["--help"], ["--write", "-h"], ["/tmp", "--help"]):
                result = run("mcp", *words)
                self.assertIn("Usage: gatehouse mcp", result.stdout)

    def test_programs_are_found_under_any_prefix(self):
        with tempfile.TemporaryDirectory() as prefix:
            front_door = pathlib.Path(prefix, "bin/gatehouse")
            programs = pathlib.Path(prefix, "libexec/gatehouse")
            front_door.parent.mkdir()
            programs.mkdir(parents=True)
            shutil.copy(GATEHOUSE, front_door)
            for name in ("gatehouse-mcp", "gatehouse-search"):
                (programs / name).write_text('#!/bin/sh\necho "$(basename "$0") $*"\n')
                (programs / name).chmod(0o755)
            for words in (["mcp", "--write", "/tmp"], ["mcp", "-w", "/tmp"], ["search", "x"]):
                result = subprocess.run([front_door, *words], capture_output=True, text=True, timeout=PATIENCE)
                self.assertEqual(result.stdout, f"gatehouse-{' '.join(words)}\n", result.stderr)

    def test_a_program_that_is_not_there_is_named(self):
        with tempfile.TemporaryDirectory() as directory:
            front_door = pathlib.Path(directory, "bin/gatehouse")
            front_door.parent.mkdir()
            shutil.copy(GATEHOUSE, front_door)
            for words in (["mcp", "--write", "/tmp"], ["mcp", "-w", "/tmp"], ["search", "x"]):
                result = subprocess.run(
                    [front_door, *words], env={}, stdin=subprocess.DEVNULL, capture_output=True,
                    text=True, timeout=PATIENCE,
                )
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(f"cannot start gatehouse-{words[0]}", result.stderr)

    def test_no_name_in_a_complaint_controls_the_terminal(self):
        evil = "x\033[31m\u202ey\ufe0f"
        with tempfile.TemporaryDirectory() as room:
            file = pathlib.Path(room) / evil
            file.write_text("")
            for words in ([evil], ["--" + evil], ["sandbox", evil], ["mcp", "--" + evil],
                          ["mcp", str(file)], ["mcp", str(file) + "-missing"],
                          ["mcp", "--state-dir", str(file), room],
                          ["connect", "--" + evil], ["connect", "--dir", str(file), "https://a.test"],
                          ["sandbox", "run", "--ro", str(file) + "-missing", "--", "true"],
                          ["sandbox", "run", "--rw", str(file) + "/x", "--", "true"],
                          ["sandbox", "run", "--", str(file)],
                          ["sandbox", "run", "--" + evil, "--", "true"]):
                result = run(*words, env={"HOME": room})
                self.assertNotEqual(result.returncode, 0, words)
                for raw in ("\033", "\u202e", "\ufe0f"):
                    self.assertNotIn(raw, result.stdout + result.stderr, words)

    def test_output_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            result = run("doctor", stdout=full)
        self.assertEqual(result.returncode, 1)
        self.assertIn("No space left", result.stderr)

    def test_completions_are_scripts_that_name_every_command(self):
        for shell in ("bash", "zsh", "fish"):
            result = run("completions", shell)
            self.assertEqual(result.returncode, 0)
            for word in ("doctor", "completions", "search", "max-results", "json", "version", "sandbox",
                         "check", "tmp-size"):
                self.assertIn(word, result.stdout)

    def test_names_for_completions_are_those_that_there_are(self):
        with tempfile.TemporaryDirectory() as room:
            room = pathlib.Path(room).resolve()
            for state in (None, room / "given"):
                home = room / ("own" if state is None else "other")
                home.mkdir()
                env = {"HOME": str(home), **({"GATEHOUSE_STATE_DIR": str(state)} if state else {})}
                names = lambda kind: [line.split()[0] for line in run("completions", "--names", kind, env=env).stdout.splitlines()]
                # Asking makes no state and starts no service.
                for kind in ("workspaces", "agents", "users", "sandboxes", "images"):
                    self.assertEqual(names(kind), [], kind)
                self.assertEqual(list(home.iterdir()) + list(room.glob("given*")), [])
                project = home / "shop"
                project.mkdir()
                for words in (["workspace", "new", str(project)], ["agent", "add", "claude"],
                              ["user", "add", "--no-password", "anna"]):
                    result = run(*words, env=env)
                    self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(names("workspaces"), ["shop"])
                self.assertEqual(names("agents"), ["claude"])
                self.assertEqual(sorted(names("users")), ["anna", "owner"])

    def test_lists_and_removals_have_two_names(self):
        with tempfile.TemporaryDirectory() as room:
            project = pathlib.Path(room) / "shop"
            project.mkdir()
            self.assertEqual(run("workspace", "new", str(project), env={"HOME": room}).returncode, 0)
            self.assertEqual(run("agent", "add", "claude", env={"HOME": room}).returncode, 0)
            for words in (["workspace", "list"], ["workspace", "remove", "shop"], ["agent", "ls"], ["agent", "rm", "claude"],
                          ["user", "ls"], ["rules", "ls"]):
                result = run(*words, env={"HOME": room})
                self.assertEqual(result.returncode, 0, result.stderr)
            for words, title in ((["user", "rm"], "user remove"), (["sandbox", "remove"], "sandbox rm"),
                                 (["sandbox", "image", "remove"], "sandbox image rm"), (["rules", "remove"], "rules rm")):
                self.assertIn(f"See 'gatehouse {title} --help'", run(*words, env={"HOME": room}).stderr)
        self.assertIn("\n  ls (list)  ", run("workspace", "--help").stdout)
        self.assertIn("\n  remove (rm)  ", run("agent", "--help").stdout)

    def test_the_man_page_names_every_option_and_command_of_the_help(self):
        page = MAN_PAGE.read_text()
        for arguments in (["--help"], ["doctor", "--help"], ["completions", "--help"]):
            for option in re.findall(r"--([a-z][a-z-]+)", run(*arguments).stdout):
                self.assertIn(f"Fl Fl {option}", page)
        for command in ("mcp", "serve", "search", "rules", "audit", "sandbox run", "sandbox check", "status", "doctor", "completions",
                        "help", "version"):
            self.assertIn(f"Cm {command}", page)

    def test_so_do_the_pages_of_commands(self):
        for name, words in (("search", ["search"]), ("serve", ["serve"]), ("audit", ["audit"]),
                            ("sandbox", ["sandbox", "run"])):
            page = MAN_PAGE.with_name(f"gatehouse-{name}.1").read_text()
            for option in re.findall(r"--([a-z][a-z-]+)", run(*words, "--help").stdout):
                self.assertIn(f"Fl Fl {option}", page)

    def test_programs_that_pages_speak_of_are_there(self):
        for path in MAN_PAGE.parent.glob("*.1"):
            for name in re.findall(r"^\.Nm (\S+)\nis the program", path.read_text(), re.MULTILINE):
                self.assertTrue(GATEHOUSE.with_name(name).exists(), (path.name, name))

    def test_and_that_of_rules_with_its_commands(self):
        page = MAN_PAGE.with_name("gatehouse-rules.1").read_text()
        for command in ("list", "add", "revoke", "explain"):
            result = run("rules", command, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn(f"Usage: gatehouse rules {command} ", result.stdout)
            for option in re.findall(r"--([a-z][a-z-]+)", result.stdout):
                self.assertIn(f"Fl Fl {option}", page)

    def test_a_command_that_has_commands_lists_them_where_errors_go(self):
        result = run("rules")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, r"(?m)^  explain +show")

    def test_a_command_may_have_commands(self):
        result = run("sandbox")
        self.assertEqual(result.returncode, 2)
        self.assertIn("check", result.stderr)
        self.assertIn("--pids", run("sandbox", "run", "--help").stdout)
        self.assertEqual(run("sandbox", "run", "--nonsense").returncode, 125)
        self.assertEqual(run("sandbox", "--version").stdout, run("--version").stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
