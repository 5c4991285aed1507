#!/usr/bin/env python3
"""`gatehouse sandbox run` as a person or a script uses it."""
import contextlib
import fcntl
import os
import pathlib
import pty
import pwd
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import termios

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from mcp_client import PATIENCE, is_sanitized
from sandbox_scene import MARK, Sandbox


class Use(Sandbox):
    def test_the_exit_status_is_passed_on(self):
        self.assertEqual(self.run_it("--", "true")[0], 0)
        self.assertEqual(self.run_it("--", "sh", "-c", "exit 42")[0], 42)
        self.assertEqual(self.run_it("--", "sh", "-c", "kill -TERM $$")[0], 128 + signal.SIGTERM)
        self.assertEqual(self.run_it("--", "sh", "-c", "kill -KILL $$")[0], 128 + signal.SIGKILL)
        self.assertEqual(self.run_it("--", "no-such-command")[0], 127)
        hint = "For shell syntax use: gatehouse sandbox run -- sh -c '...'\n"
        for words, is_for_shell in ((["ls -la | head -2"], True), (["no-such-command", "a b"], False)):
            code, _, said = self.run_it(*words)
            self.assertEqual((code, said.endswith(hint)), (127, is_for_shell), said)
        self.assertEqual(self.run_it("--", "/etc/passwd")[0], 126)

    def test_options_end_at_the_command(self):
        self.assertEqual(self.run_it("echo", "-n", "--rw", "/nowhere", "--", "-t")[:2],
                         (0, "--rw /nowhere -- -t"))
        self.assertEqual(self.run_it("-t", "5m", "sh", "-c", "exit 7")[0], 7)

    def test_our_own_failures_are_125(self):
        for words in (["--rw", "/nowhere", "--", "true"], ["--rw", "/proc", "--", "true"],
                      ["--cpus", "many", "--", "true"], ["--nonsense"], []):
            code, out, said = self.run_it(*words)
            self.assertEqual((code, out), (125, ""), words)
            self.assertTrue(said.startswith("gatehouse"), said)

    def test_what_cannot_be_a_place_is_named_with_its_option(self):
        for option in ("--rw", "--ro"):
            self.assertEqual(self.run_it(option, "/nowhere", "--", "true")[2],
                             f"gatehouse sandbox: {option}: /nowhere: No such file or directory\n")
        code, _, said = self.run_it("--", "true", before=[
            "sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "sh"])
        self.assertEqual((code, said), (125, "gatehouse sandbox: the current directory no longer exists\n"))

    def test_a_time_out_is_124_and_kills_everything(self):
        out = b""
        for limit in ("300ms", "3s", "30s"):  # the longer ones for a machine that has not come to it
            if not out:
                process = self.open("-t", limit, "--", "sh", "-c", "echo partial; setsid sleep 1000 & sleep 1000")
                out, said = process.communicate(timeout=PATIENCE)  # to the end of the pipe that both hold
                self.assertEqual(process.returncode, 124)
        self.assertEqual(out, b"partial\n")
        self.assertEqual(said, b"gatehouse sandbox: timed out, and everything in it was "
                               b"killed (--timeout)\n")

    def test_a_kill_is_said_and_another_end_is_not(self):
        self.assertEqual(self.run_it("--", "sh", "-c", "kill -KILL $$")[2],
                         "gatehouse sandbox: the command was killed\n")
        for end in ("exit 0", "exit 124", "exit 137", "kill -TERM $$"):
            self.assertEqual(self.run_it("-m", "100MB", "--", "sh", "-c", end)[2], "", end)

    def test_streams_are_passed_through(self):
        process = self.open("--", "sh", "-c", "cat; echo err >&2", stdin=subprocess.PIPE)
        out, said = process.communicate(b"in\0\xff", timeout=PATIENCE)
        self.assertEqual((out, said), (b"in\0\xff", b"err\n"))
        with open(self.root / "out", "wb") as file:
            self.run_it("--", "echo", "into a file", stdout=file)
        self.assertEqual((self.root / "out").read_text(), "into a file\n")
        self.assertEqual(self.run_it("--", "echo", "", "a b")[1], " a b\n")

    def test_a_file_as_output_takes_output_only(self):
        """It cannot be read, shortened, or be given another mode, by whatever name it has inside."""
        script = """
import os, sys
def tried(action, *words):
    try: return action(*words)
    except OSError: return None
for fd in (1, 2):
    for name in (f"/proc/self/fd/{fd}", f"/dev/fd/{fd}", "/dev/stdout"):
        again = tried(os.open, name, os.O_RDWR | os.O_NONBLOCK)
        if again is not None and (got := tried(os.read, again, 100)): print("read", got)
        tried(os.truncate, name, 0); tried(os.chmod, name, 0o777)
    for again in (fd,):
        tried(os.ftruncate, again, 0); tried(os.fchmod, again, 0o777); tried(os.lseek, again, 0, 0)
        tried(os.pread, again, 10, 0); tried(os.utime, again, (1, 1))
        tried(os.setxattr, again, "user.broken", b"1")
print("out", flush=True); print("err", file=sys.stderr, flush=True); print("end", flush=True)
"""
        for mode in ("ab", "r+b"):
            path = self.outside / "log"
            path.write_text("before\n")
            path.chmod(0o640)
            with open(path, mode) as file:
                file.seek(0, 2)
                code, _, _ = self.run_it("--ro", self.outside, "--", "python3", "-c", script, stdout=file,
                                         stderr=file)
            self.assertEqual((code, path.read_text()), (0, "before\nout\nerr\nend\n"))
            self.assertEqual(path.stat().st_mode & 0o7777, 0o640)
            self.assertGreater(path.stat().st_mtime, 1)
            self.assertNotIn("user.broken", os.listxattr(path))

    def test_output_into_files_is_whole(self):
        with open(self.root / "out", "wb") as out, open(self.root / "err", "wb") as err:
            code, _, _ = self.run_it("--", "sh", "-c", "head -c 30000000 /dev/zero; head -c 3000000 "
                                     "/dev/zero >&2; (sleep 1000; echo late) & exit 7", stdout=out, stderr=err)
        self.assertEqual(code, 7)
        self.assertEqual(((self.root / "out").stat().st_size, (self.root / "err").stat().st_size),
                         (30000000, 3000000))
        with open("/dev/full", "wb") as full:
            self.assertNotEqual(self.run_it("--", "sh", "-c", "echo x || exit 9", stdout=full)[0], 0)

    def test_a_file_as_input_is_only_read(self):
        path = self.outside / "input"
        path.write_text("onetwo")
        path.chmod(0o640)
        with open(path, "r+b") as file:
            code, out, said = self.run_it("--", "python3", "-c", "import os\n"
                                          "print(os.read(0, 9))\n"
                                          "for f in (os.ftruncate, os.fchmod):\n"
                                          "    try: f(0, 0o777)\n"
                                          "    except OSError: print('held')", stdin=file)
        self.assertEqual((code, out), (0, "b'onetwo'\nheld\nheld\n"), said)
        self.assertEqual((path.read_text(), path.stat().st_mode & 0o7777), ("onetwo", 0o640))

    def test_a_folder_as_stream_is_refused(self):
        fd = os.open(self.outside, os.O_RDONLY)
        code, _, said = self.run_it("--", "ls", "/dev/stdin/", stdin=fd)
        os.close(fd)
        self.assertEqual(code, 125, said)

    def test_a_thread_locks_like_its_process(self):
        """And cannot put a file under the number that it only reads, while its lock is decided."""
        if is_sanitized():
            self.skipTest("sanitized sandboxes ask about no locks")
        script = """
import fcntl, os, sys, threading, time
kept, own = os.open(sys.argv[1], os.O_RDONLY), os.open("own", os.O_RDWR | os.O_CREAT)
end = time.monotonic() + 1
fine = refused = 0
def swap():
    while time.monotonic() < end:
        os.dup2(kept, 99)
        os.dup2(own, 99)
def lock():
    global fine, refused
    while time.monotonic() < end:
        try:
            fcntl.flock(99, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fine += 1
        except OSError:
            refused += 1
os.dup2(own, 99)
threads = [threading.Thread(target=work) for work in (swap, lock)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(fine > 0, refused > 0, flush=True)
sys.stdin.read()
"""
        path = self.outside / "kept"
        path.write_text("x")
        process = self.open("--rw", self.root, "--ro", self.outside, "--", "python3", "-c", script, path,
                            stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"True True\n")
        with open(path, "rb") as outside, open(self.root / "own", "rb") as own:
            fcntl.flock(outside, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody has it
            with self.assertRaises(BlockingIOError):
                fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        process.communicate(timeout=PATIENCE)

    def test_places(self):
        (self.root / "file").write_text("here\n")
        (self.outside / "file").write_text("there\n")
        self.assertEqual(self.run_it("--", "cat", "file")[:2], (0, "here\n"))
        self.assertNotEqual(self.run_it("--", "touch", "new")[0], 0)
        self.assertEqual(self.run_it("--rw", ".", "--", "touch", "new")[0], 0)
        self.assertTrue((self.root / "new").exists())
        self.assertEqual((self.root / "new").stat().st_uid, os.geteuid())
        # A folder in /tmp is not there unless it is named.
        self.assertNotEqual(self.run_it("--", "cat", self.outside / "file")[0], 0)
        self.assertEqual(self.run_it("--ro", self.outside, "--", "cat", self.outside / "file")[1],
                         "there\n")
        code, _, _ = self.run_it("--ro", self.outside, "--", "touch", self.outside / "new")
        self.assertNotEqual(code, 0)
        self.assertEqual(self.run_it("--rw", self.outside, "--hide", self.outside / "file", "--",
                                     "cat", self.outside / "file")[:2], (0, ""))
        (self.room / "link").symlink_to(self.outside)
        self.assertEqual(self.run_it("--rw", self.room / "link", "--", "touch",
                                     self.outside / "by-link")[0], 0)

    def test_the_home_is_empty_but_for_a_list(self):
        """What nobody has thought of is not seen either."""
        unusual = (".config/unusual/token", ".unusual", "notes/passwords.txt", ".cargo/config.toml",
                   ".cargo/credentials.toml", ".npm/_logs/log", ".m2/settings.xml", "bin/tool")
        shown = (".cargo/bin/tool", ".rustup/toolchain", ".local/bin/tool", "go/pkg/mod", ".nvm/node")
        for name in unusual + shown:
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(MARK)
        code, out, said = self.run_it("--", "sh", "-c", 'cd && pwd && find . -type f')
        self.assertEqual(code, 0, said)
        self.assertEqual(sorted(out.split()), sorted([str(self.home), *(f"./{name}" for name in shown)]), said)
        code, _, _ = self.run_it("--", "touch", self.home / ".cargo/bin/new")
        self.assertNotEqual(code, 0)
        # Nor can a real home be written to: this one lies in the private /tmp.
        home = pwd.getpwuid(os.geteuid()).pw_dir
        if os.path.isdir(home) and not home.startswith("/tmp"):
            code, out, _ = self.run_it("--", "sh", "-c", "cd && touch new", env={"HOME": home})
            self.assertNotEqual(code, 0)
        # What is named is seen, and what is granted is granted as a whole.
        self.assertEqual(self.run_it("--ro", self.home / ".unusual", "--", "cat",
                                     self.home / ".unusual")[1], MARK)
        self.assertEqual(self.run_it("--rw", self.home, "--", "touch",
                                     self.home / ".cargo/bin/new")[0], 0)
        self.assertTrue((self.home / ".cargo/bin/new").exists())

    def test_working_in_the_home_does_not_show_it(self):
        (self.home / ".unusual").write_text(MARK)
        (self.home / "project").mkdir()
        (self.home / "project/file").write_text("here")
        for folder in (self.home, self.home.parent):
            code, out, said = self.run_it("--", "sh", "-c", f"pwd; cat {self.home}/.unusual", before=[
                "sh", "-c", f'cd {folder} && exec "$@"', "sh"])
            self.assertNotEqual(code, 0)
            self.assertEqual(out, f"{folder}\n", said)
        code, out, said = self.run_it("--", "sh", "-c", f"cat file; ls {self.home}", before=[
            "sh", "-c", f'cd {self.home}/project && exec "$@"', "sh"])
        self.assertEqual((code, out), (0, "hereproject\n"), said)

    def test_a_home_that_is_a_link(self):
        (self.home / ".local/bin").mkdir(parents=True)
        (self.home / ".local/bin/tool").write_text("tool")
        (self.room / "link").symlink_to(self.home)
        code, out, said = self.run_it("--", "sh", "-c", "cat ~/.local/bin/tool; ls -A ~",
                                      env={"HOME": str(self.room / "link")})
        self.assertEqual((code, out), (0, "tool.local\n"), said)

    def test_who_commits_is_known_and_no_more_of_the_settings_of_git(self):
        settings = (f"[http]\n\textraHeader = {MARK}\n[user]\n name = A \n\tEmail = \"a@b.c\"\n"
                    f"\tsigningKey = {MARK}\n[user \"x\"]\n\tname = {MARK}\n"
                    f"[credential]\n\temail = {MARK}\n")
        (self.home / ".gitconfig").write_text(settings)
        code, out, said = self.run_it("--", "cat", self.home / ".gitconfig")
        self.assertEqual((code, out), (0, '[user]\n\tname = "A"\n\temail = "a@b.c"\n'), said)
        # A home that is shown has its own, which stays as it is.
        code, out, said = self.run_it("--rw", self.home, "--", "cat", self.home / ".gitconfig")
        self.assertEqual((code, out), (0, settings), said)
        (self.home / ".gitconfig").unlink()
        (self.home / ".config/git").mkdir(parents=True)
        (self.home / ".config/git/config").write_text("[user]\nname = \"a\\\"b\"\nemail=x@y")
        code, out, said = self.run_it("--rw", self.home, "--", "ls", "-A", self.home)
        # Gatehouse's own places are made before the command could make them; they are covered.
        self.assertEqual((code, out), (0, ".config\n.local\n.n8n-gateway\n"), said)
        code, out, said = self.run_it("--", "sh", "-c", "cat ~/.gitconfig; ls -A ~")
        self.assertEqual((code, out), (0, '[user]\n\temail = "x@y"\n.gitconfig\n'), said)

    def test_the_system_is_seen_by_a_list(self):
        code, out, said = self.run_it("--", "sh", "-c", "ls -A /; ls -A /etc /var /var/lib /home; true")
        self.assertEqual(code, 0, said)
        names = set(out.split())
        self.assertTrue({"usr", "bin", "passwd", "nsswitch.conf", "hosts"} <= names, names)
        for name in ("boot", "mnt", "media", "srv", "shadow", "sudoers", "machine-id", "ssh", "fstab",
                     "letsencrypt", "rancher", "cloud", "backups", "log", "environment", "cron.d"):
            self.assertNotIn(name, names)
        _, out, _ = self.run_it("--ro", "/etc/fstab", "--", "ls", "/etc/fstab")
        self.assertEqual(bool(out), os.path.exists("/etc/fstab"))

    def test_mounts_of_the_host_are_not_named(self):
        _, out, _ = self.run_it("--", "cat", "/proc/self/mountinfo", "/proc/mounts", "/etc/mtab")
        outside = {line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()}
        own = ("/", "/dev", "/dev/pts", "/proc", "/tmp", "/var/tmp", "/usr", "/opt")
        for line in out.splitlines():
            point = line.split()[4 if line[0].isdigit() else 1]
            self.assertTrue(point in own or point not in outside, line)

    def test_tools_work(self):
        """As far as they are installed."""
        (self.root / "one.c").write_text("#include <stdio.h>\nint main(void) { puts(\"built\"); }\n")
        (self.root / "Makefile").write_text("all: ; @cc -o one one.c && ./one\n")
        (self.root / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.10)\n"
                                                  "project(one C)\nadd_executable(two one.c)\n")
        for tool, script, wanted in (
                ("cc", "make", "built"),
                ("cmake", "cmake -B out . >/dev/null && cmake --build out >/dev/null && out/two", "built"),
                ("python3", "python3 -c 'import ssl, getpass; print(getpass.getuser(), \"built\")'", "built"),
                ("node", "node -p '\"bu\" + \"ilt\"'", "built"),
                ("perl", "perl -MPOSIX -e 'print getpwuid(0), \"built\"'", "built"),
                ("java", "java -version 2>&1 && echo built", "built"),
                ("openssl", "openssl version && openssl rand -hex 4 && echo built", "built"),
                ("curl", "curl --version && echo built", "built"),
                ("git", "git init -q x && git -C x status && echo built", "built"),
                ("bash", "bash -lc 'echo built'", "built")):
            if subprocess.run(["sh", "-c", f"command -v {tool}"], capture_output=True).returncode == 0:
                code, out, said = self.run_it("--rw", ".", "--", "sh", "-c", script)
                self.assertEqual(code, 0, (tool, out, said))
                self.assertIn(wanted, out, tool)

    def test_secrets_can_be_shown_only_by_name(self):
        (self.home / ".ssh").mkdir()
        (self.home / ".ssh/config").write_text(MARK)
        self.assertNotIn(MARK, self.run_it("--rw", self.home, "--", "cat",
                                           self.home / ".ssh/config")[1])
        self.assertIn(MARK, self.run_it("--ro", self.home / ".ssh", "--", "cat",
                                        self.home / ".ssh/config")[1])

    def test_what_is_hidden_cannot_be_carried_away(self):
        """By one command, to be found by the next."""
        (self.home / ".config/gh").mkdir(parents=True)
        (self.home / ".config/gh/hosts.yml").write_text(MARK)
        (self.home / ".config/other").write_text("other")
        for name in (".config", ".config/gh"):
            code, _, _ = self.run_it("--rw", self.home, "--", "mv", self.home / name,
                                     self.home / "away")
            self.assertNotEqual(code, 0)
        self.assertEqual(self.run_it("--rw", self.home, "--", "cat", self.home / ".config/other")[1],
                         "other")
        self.assertEqual(self.run_it("--rw", self.home, "--", "touch",
                                     self.home / ".config/new")[0], 0)
        self.assertTrue((self.home / ".config/new").exists())

    def test_a_hidden_file_is_hidden_by_all_its_names(self):
        """A command makes it and gives it another name before there is anything in it."""
        (self.home / "work").mkdir()
        script = f"cd {self.home} && touch .netrc && ln .netrc work/lock && ln .netrc lock"
        self.assertEqual(self.run_it("--rw", self.home, "--", "sh", "-c", script)[0], 0)
        (self.home / ".netrc").write_text(MARK)
        for flags in (("--rw", self.home), ("--ro", self.home), ("--hide", self.home / ".netrc", "--rw", self.home / "work")):
            code, out, said = self.run_it(*flags, "--", "sh", "-c", f"cd {self.home}; cat work/lock lock .netrc; true")
            self.assertEqual(code, 0, said)
            self.assertNotIn(MARK, out, flags)

    def test_a_link_cannot_hide_the_system_from_the_next(self):
        link = self.home / ".aws"
        for target in ("/usr", "/usr/bin", "/etc", "/proc", "/tmp", "/", self.home, self.home.parent):
            self.assertEqual(self.run_it("--rw", self.home, "--", "ln", "-sfn", target, link)[0], 0)
            code, out, said = self.run_it("--rw", self.home, "--", "sh", "-c",
                                          f"cat /etc/passwd; ls /proc/self; touch /tmp/x && ls -d {link}")
            self.assertEqual(code, 0, (target, said))
            self.assertIn("root:", out)
            link.unlink()

    def test_sockets_of_the_host_answer_only_where_the_command_may_write(self):
        path = self.root / "s"
        script = f"import socket; socket.socket(socket.AF_UNIX).connect('{path}'); print('answered')"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            self.assertNotIn("answered", self.run_it("--", "python3", "-c", script)[1])
            self.assertNotIn("answered", self.run_it("--net", "host", "--", "python3", "-c", script)[1])
            self.assertIn("answered", self.run_it("--rw", self.root, "--", "python3", "-c", script)[1])

    def test_a_place_inside_something_hidden(self):
        inside = self.home / ".var/app/editor"
        inside.mkdir(parents=True)
        (self.home / ".var/app/browser").write_text(MARK)
        code, out, said = self.run_it("--rw", inside, "--", "sh", "-c",
                                      f"touch {inside}/new; ls {self.home}/.var/app")
        self.assertEqual((code, out), (0, "editor\n"), said)
        self.assertTrue((inside / "new").exists())

    def test_variables(self):
        env = {"LANG": "C.UTF-8", "API_TOKEN": "t", "MINE": "m", "SSH_AUTH_SOCK": "/x",
               "MAVEN_OPTS": "-Dtoken=t", "CMAKE_UNUSUAL": "t"}
        _, out, _ = self.run_it("--", "env", env=env)
        self.assertIn("LANG=C.UTF-8\n", out)
        self.assertIn("TMPDIR=/tmp\n", out)
        self.assertNotRegex(out, "API_TOKEN|MINE|SSH_AUTH_SOCK|MAVEN_OPTS|UNUSUAL")
        _, out, _ = self.run_it("-e", "MINE", "-e", "SET=1", "--", "env", env=env)
        self.assertRegex(out, "(?m)^MINE=m$")
        self.assertRegex(out, "(?m)^SET=1$")

    def test_network(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            connect = ["python3", "-c", "import socket, sys\n"
                       f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}))"]
            self.assertNotEqual(self.run_it("--", *connect)[0], 0)
            self.assertEqual(self.run_it("--net", "host", "--", *connect)[0], 0)
        # Its own loopback works.
        code, _, said = self.run_it("--", "python3", "-c", "import socket\n"
                                    "s = socket.create_server(('127.0.0.1', 0))\n"
                                    "socket.create_connection(s.getsockname())")
        self.assertEqual(code, 0, said)

    def test_limits_are_held_or_said_not_to_be(self):
        hog = "x = b'a' * 400_000_000"
        code, _, said = self.run_it("-v", "-m", "100MB", "--", "python3", "-c", hog)
        self.assertEqual("memory: limited" in said, code != 0, said)
        self.assertTrue(code != 0 or is_sanitized(), said)
        # Of its own process or of one that it waits for.
        for command in (["python3", "-c", hog], ["sh", "-c", f'python3 -c "{hog}"; exit 3']):
            code, _, said = self.run_it("-v", "-m", "100MB", "--", *command)
            self.assertEqual("killed because memory ran out (--memory)" in said,
                             "memory: limited for all" in said, said)
        code, _, said = self.run_it("-v", "--pids", "5", "--", "python3", "-c",
                                    "import os, signal\n"
                                    "for i in range(20):\n"
                                    "    if os.fork() == 0: signal.pause()")
        self.assertEqual("processes: limited" in said, code != 0, said)
        # And without being asked.
        before = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        most = 256 if before == resource.RLIM_INFINITY else min(256, before)
        _, out, said = self.run_it("--", "python3", "-c",
                                   "import resource; print(resource.getrlimit(resource.RLIMIT_NPROC))")
        self.assertEqual(out, f"({most}, {most})\n", said)
        _, out, _ = self.run_it("--tmp-size", "1MiB", "--", "sh", "-c",
                                "head -c 3000000 /dev/zero > /tmp/x || echo full")
        self.assertEqual(out, "full\n")

    def test_a_command_has_limits_that_nobody_asked_for(self):
        limits = "import resource as r; print(r.getrlimit(r.RLIMIT_DATA)[0], r.getrlimit(r.RLIMIT_NPROC)[0])"
        outside = subprocess.run(["python3", "-c", limits], capture_output=True, text=True, check=True).stdout
        whole_machine = pathlib.Path("/proc/sys/kernel/pid_max")
        before = whole_machine.read_text()
        _, _, said = self.run_it("-v", "--", "true")
        has_groups = "memory: limited for all" in said
        self.assertEqual("memory: limited by default" in said, not is_sanitized() and not has_groups, said)
        release = tuple(int(part) for part in os.uname().release.split(".")[:2])
        if os.geteuid() != 0 or (release >= (6, 14) and os.access(whole_machine, os.W_OK)):
            self.assertRegex(said, "processes: limited (by default|for all processes together)")
        self.assertEqual(whole_machine.read_text(), before)
        if not is_sanitized():
            _, _, said = self.run_it("--", "python3", "-c", "import resource\n"
                                     "bytearray(resource.getrlimit(resource.RLIMIT_DATA)[0] + 1)")
            self.assertIn("MemoryError", said)
            # What was used up is told, and what failed with less is not.
            hint = "gatehouse sandbox: a process may have run out of memory; each has 512 MiB unless you use --memory"
            for megabytes, is_told in ((450, True), (1, False)):
                _, _, said = self.run_it("--", "python3", "-c", f"x = b'a' * ({megabytes} << 20); exit(3)")
                self.assertEqual(hint in said, is_told, said)
        if os.geteuid() == 0:
            # Where the kernel counts root's processes by nothing else, a cgroup does.
            _, _, said = self.run_it("-v", "--", "true", before=["setarch", "--uname-2.6"])
            self.assertIn("processes: limited for all processes together (cgroup)", said)
        # 0 is no limit.
        _, out, said = self.run_it("-v", "-m", "0", "--pids", "0", "--cpus", "0", "--", "python3", "-c", limits)
        self.assertEqual((out, "limited" in said), (outside, False), said)
        for wrong in (["-m", "1000"], ["--pids", "1"]):
            self.assertEqual(self.run_it(*wrong, "--", "true")[0], 125, wrong)

    def test_a_command_that_runs_on_has_these_limits_for_all_its_processes(self):
        if "memory: limited for all" not in self.run_it("-v", "--", "true")[2]:
            self.skipTest("no cgroups")
        release = tuple(int(part) for part in os.uname().release.split(".")[:2])
        if os.geteuid() == 0 and release < (6, 14):
            self.skipTest("root's commands start in a cgroup, which they cannot see")
        # Some were started before, by a process that has ended, and some are started meanwhile.
        code, out, said = self.run_it("-t", "60s", "--", "python3", "-c", """if True:
            import glob, os, pathlib, time
            # A hierarchy for each limit, or one of version 2.
            groups = 3 if ":memory:" in pathlib.Path("/proc/self/cgroup").read_text() else 1
            def start(count):
                for i in range(count):
                    if os.fork() == 0:
                        time.sleep(1000)
            if os.fork() == 0:
                start(5)
                os._exit(0)
            os.wait()
            start(5)
            def is_in(path):
                try:
                    return pathlib.Path(path).read_text().count("gatehouse-box.") == groups
                except OSError:
                    return True
            while not is_in("/proc/self/cgroup"):
                start(1)
                time.sleep(0.01)
            while not all(is_in(path) for path in glob.glob("/proc/[0-9]*/cgroup")):
                time.sleep(0.01)
            print("all")""")
        self.assertEqual((code, out), (0, "all\n"), said)
        # No process has too much, but all together.
        code, _, said = self.run_it("-t", "60s", "--", "python3", "-c", """if True:
            import os, pathlib, time
            while "gatehouse-box." not in pathlib.Path("/proc/self/cgroup").read_text():
                time.sleep(0.01)
            for i in range(2):
                if os.fork() == 0:
                    held = b"a" * (300 << 20)
                    time.sleep(1000)
            exit(os.wait()[1] and 3)""")
        self.assertEqual(code, 3, said)
        self.assertIn("killed because memory ran out (--memory)", said)

    def test_other_programs_go_first_unless_cores_are_asked_for(self):
        now = os.getpriority(os.PRIO_PROCESS, 0)
        undo = ("import os; print(os.getpriority(os.PRIO_PROCESS, 0))\n"
                "try: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) - 1)\n"
                "except OSError: print('refused')")
        _, out, said = self.run_it("-v", "--", "python3", "-c", undo)
        self.assertEqual(out, f"{min(now + 5, 19)}\nrefused\n", said)
        self.assertRegex(said, "cores: (not limited, but with a lower priority|limited for all processes together)")
        for cores in ("0", "1"):
            _, out, said = self.run_it("--cpus", cores, "--", "python3", "-c", undo)
            self.assertEqual(out, f"{now}\nrefused\n", said)

    def test_a_crash_starts_no_handler_of_the_host(self):
        """One byte is the limit with which the kernel runs none; nobody inside can lower it."""
        if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
            self.skipTest("the limit is none already, and cannot be raised")
        code, out, said = self.run_it("--", "sh", "-c", "ulimit -c 0; ulimit -Hc 0; exec python3 -c '\n"
                                      "import os, resource as r\n"
                                      "r.setrlimit(r.RLIMIT_CORE, (0, 0))\n"
                                      "try: r.prlimit(os.getpid(), r.RLIMIT_CORE, (0, 0))\n"
                                      "except PermissionError: print(r.getrlimit(r.RLIMIT_CORE), flush=True)\n"
                                      "os.abort()'")
        self.assertEqual((code, out), (128 + signal.SIGABRT, "(1, 1)\n"), said)

    def test_signals_are_passed_on(self):
        process = self.open("--", "sh", "-c",
                            "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.01; done")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (3, b"caught\n"))

    def test_it_goes_with_whoever_started_it(self):
        process = self.open("--", "sh", "-c", "setsid sleep 1000 & echo ready; sleep 1000")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.kill()
        self.assertEqual(process.stdout.read(), b"")  # when the last of them is gone

    def test_without_landlock_it_is_refused_unless_asked_for(self):
        before = [mcp_client.WITHOUT_SYSCALL, "landlock_create_ruleset"]
        code, _, said = self.run_it("--", "true", before=before)
        self.assertEqual(code, 125)
        self.assertIn("Landlock", said)
        self.assertEqual(self.run_it("--allow-weaker", "--", "true", before=before)[0], 0)
        code, _, said = self.run_it("-v", "--allow-weaker", "--", "true", before=before)
        self.assertIn("Landlock: MISSING", said)

    def test_a_missing_layer_is_named(self):
        for name, word in (("mount_setattr", "cannot create the sandbox: "), ("mount", "private /tmp"),
                           ("setns", "entering the network namespace")):
            code, _, said = self.run_it("--", "true",
                                        before=[mcp_client.WITHOUT_SYSCALL, name])
            self.assertEqual(code, 125)
            self.assertIn(word, said)


class Terminal(Sandbox):
    """On a terminal it has one of its own, and the keys go there."""

    def start(self, *words, size=(33, 101)):
        keeper, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.addCleanup(os.close, keeper)
        process = self.open(*words, stdin=terminal, stdout=terminal, stderr=terminal,
                            env={"TERM": "xterm"}, start_new_session=True,
                            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(terminal)
        self.seen = b""
        return process, keeper

    def wait_for(self, keeper, text):
        while text not in self.seen:
            ready, _, _ = select.select([keeper], [], [], PATIENCE)
            self.assertTrue(ready, self.seen)
            self.seen += os.read(keeper, 4096)

    def rest(self, process, keeper):
        with contextlib.suppress(OSError):  # the other side is closed
            while piece := os.read(keeper, 4096):
                self.seen += piece
        process.wait(PATIENCE)
        return self.seen.decode()

    def test_it_is_a_terminal_of_the_same_size(self):
        process, keeper = self.start("--", "sh", "-c", "tty; stty size; test -t 0 && echo yes")
        said = self.rest(process, keeper)
        self.assertIn("/dev/pts/0", said)
        self.assertIn("33 101", said)
        self.assertIn("yes", said)

    def test_keys_and_interrupts_reach_the_command(self):
        process, keeper = self.start("--", "sh", "-c",
                                     "trap 'echo stopped; exit 5' INT; echo ready; read line;"
                                     "echo \"got $line\"; while :; do sleep 0.01; done")
        self.wait_for(keeper, b"ready")
        os.write(keeper, b"hello\r")
        self.wait_for(keeper, b"got hello")
        os.write(keeper, b"\x03")
        self.assertIn("stopped", self.rest(process, keeper))
        self.assertEqual(process.returncode, 5)

    def test_a_new_size_is_passed_on(self):
        process, keeper = self.start("--", "sh", "-c", "trap 'stty size; exit' WINCH; echo ready;"
                                     "while :; do sleep 0.01; done")
        self.wait_for(keeper, b"ready")
        fcntl.ioctl(keeper, termios.TIOCSWINSZ, struct.pack("HHHH", 11, 22, 0, 0))
        self.assertIn("11 22", self.rest(process, keeper))

    def test_the_terminal_is_as_before_afterwards(self):
        keeper, terminal = pty.openpty()
        self.addCleanup(os.close, keeper)
        self.addCleanup(os.close, terminal)
        before = termios.tcgetattr(terminal)
        process = self.open("--", "true", stdin=terminal, start_new_session=True,
                            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(termios.tcgetattr(terminal), before)


if __name__ == "__main__":
    mcp_client.main()
