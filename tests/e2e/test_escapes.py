#!/usr/bin/env python3
"""Every escape attempt of escapes/, inside and outside of `gatehouse sandbox run`."""
import contextlib
import ctypes
import importlib.util
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from mcp_client import PATIENCE
from sandbox_scene import MARK, Sandbox

SECRETS = (
    ".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".bash_history",
    ".mozilla/firefox/one/logins.json", ".config/google-chrome/Default/Cookies",
    ".local/share/keyrings/login.keyring", ".password-store/site.gpg", ".kube/config",
    ".config/gatehouse/settings.json", ".local/state/gatehouse/audit.jsonl", ".n8n-gateway/settings.json",
)
ATTEMPTS = pathlib.Path(__file__).resolve().parent / "escapes" / "attempts.py"
FLAGS = {
    "an_abstract_socket": ("--net", "host"),
    "forks_without_end": ("-v", "--pids", "64"),
    "memory_without_end": ("-v", "-m", "100MB"),
    "the_private_tmp_is_filled": ("--tmp-size", "1MiB"),
}
HELD = {"forks_without_end": "processes: limited", "memory_without_end": "memory: limited"}
# They may read much that is nobody's secret: what counts is what is somebody else's.
READERS = ("secrets_in_the_environment", "the_first_process")
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock")
FAR_KEY, SESSION, NEW_SESSION = 0x6a7e0000, -3, 1
KEY_CALLS = {"x86_64": (248, 250), "aarch64": (217, 219)}


def add_key(name):
    """Into a session of this process and its children; false where there are no keys."""
    libc = ctypes.CDLL(None)
    add, keyctl = KEY_CALLS[os.uname().machine]
    return (libc.syscall(keyctl, NEW_SESSION, b"gatehouse-test", 0, 0, 0) > 0 and
            libc.syscall(add, b"user", name.encode(), MARK.encode(), len(MARK), SESSION) > 0)


class Escapes(Sandbox):
    """What an attempt shows, and what became of the world outside, are its signs. Inside there are
    none; outside, where that does no harm, there are some."""

    def setUp(self):
        super().setUp()
        (self.root / "before").mkdir()
        for number, name in enumerate(SECRETS):
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(MARK)
            (self.root / "before" / str(number)).symlink_to(path)
        (self.home / ".gnupg").mkdir()
        (self.outside / "file").write_text(MARK)
        (self.outside / "input").write_text("read me")
        (self.room / "elsewhere").mkdir()
        self.token = f"gatehouse-test-{self.room.name}"
        self.pipes = self.fifo = None
        self.tcp = self.listen(socket.AF_INET, ("127.0.0.1", 0))
        self.abstract = self.listen(socket.AF_UNIX, f"\0{self.token}")
        self.agent = self.listen(socket.AF_UNIX, str(self.home / ".gnupg/S.agent"))
        self.service = self.listen(socket.AF_UNIX, str(self.room / "elsewhere/S"))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.udp.close)
        self.udp.bind(("127.0.0.1", 0))
        self.keeper, terminal = pty.openpty()
        self.addCleanup(os.close, self.keeper)
        self.addCleanup(os.close, terminal)
        self.terminal = os.ttyname(terminal)
        with open(self.home / SECRETS[0], "rb") as secret:
            self.victim = subprocess.Popen(["sleep", "1000"], stdin=secret, env={"VICTIM": MARK})
        self.addCleanup(self.discard, self.victim)
        self.share_memory()

    def share_memory(self):
        """By a number that boxes would have to guess, and are told."""
        libc = ctypes.CDLL(None)
        self.shared = FAR_KEY + os.getpid() % 0xffff
        number = libc.shmget(self.shared, 4096, 0o1600)
        self.assertGreaterEqual(number, 0)
        self.addCleanup(libc.shmctl, number, 0, None)

    def make_fifo(self):
        """Not in /tmp: below what a command may write, Landlock holds no FIFO."""
        try:
            self.pipes = tempfile.mkdtemp(prefix="gatehouse-test-", dir="/run/lock")
        except OSError as error:
            self.skipTest(f"no folder for a FIFO: {error}")
        self.addCleanup(shutil.rmtree, self.pipes)
        os.mkfifo(f"{self.pipes}/fifo")
        self.fifo = os.open(f"{self.pipes}/fifo", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, self.fifo)
        return "--ro", self.pipes

    def listen(self, family, address):
        server = socket.socket(family)
        self.addCleanup(server.close)
        server.bind(address)
        server.listen()
        return server

    def place(self, is_control):
        return json.dumps({
            "root": str(self.root), "home": str(self.home), "outside": str(self.outside),
            "secrets": SECRETS, "pipes": self.pipes, "victim": self.victim.pid,
            "port": self.tcp.getsockname()[1], "udp": self.udp.getsockname()[1],
            "abstract": self.abstract.getsockname()[1:].decode(), "key": self.token,
            "socket": self.service.getsockname(), "terminal": self.terminal, "token": self.token,
            "shared": self.shared, "is_control": is_control,
        })

    def survivors(self):
        """Processes that have the room in their words."""
        found = []
        for number in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                words = pathlib.Path("/proc", number, "cmdline").read_bytes()
                if str(self.root).encode() in words and b"attempts.py" in words:
                    found.append(int(number))
        return found

    def wait_for_the_first(self):
        """The first process of a box tells the end of the others before its own."""
        for number in self.survivors():
            with contextlib.suppress(ProcessLookupError):
                fd = os.pidfd_open(number)
                select.select([fd], [], [], PATIENCE)
                os.close(fd)

    def world(self):
        """What nobody in a box may change."""
        return (mcp_client.picture(self.outside), os.stat("/dev/null").st_mode,
                os.getpriority(os.PRIO_PROCESS, self.victim.pid) if self.victim.poll() is None else "")

    def programs_for_others(self):
        return [path.name for path in self.root.glob("*")
                if path.is_file() and path.stat().st_mode & 0o6000]

    def signs(self, name, out, before):
        lines = [line for line in re.findall("(?m)^GOT:.+|.*" + MARK, out) if line.strip() != "GOT:"]
        if name in READERS:
            lines = [line for line in lines if MARK in line]
        if name == "keys_of_the_session":
            lines = [line for line in lines if MARK in line or self.token in line]
        if self.world() != before:
            lines.append("the world has changed")
        if self.victim.poll() is not None:
            lines.append("somebody was killed")
        heard = [self.tcp, self.abstract, self.agent, self.service, self.udp, self.keeper]
        if select.select(heard, [], [], 0)[0]:
            lines.append("somebody was reached")
        if self.fifo is not None and os.read(self.fifo, 10):
            lines.append("somebody read from us")
        lines += [f"{path} was left" for folder in SHARED_FOLDERS
                  if os.path.lexists(path := f"{folder}/{self.token}")]
        lines += [f"process {number} stayed" for number in self.survivors()]
        lines += [f"{path} is a program for others" for path in self.programs_for_others()]
        return lines

    def attempt(self, name, control):
        flags = FLAGS.get(name, ())
        if name == "a_pipe_of_somebody_else":
            flags = self.make_fifo()
        if name == "keys_of_the_session" and not add_key(self.token):
            self.skipTest("the kernel keeps no keys here")
        words = ["python3", str(ATTEMPTS), name]
        env = {"AWS_SECRET_ACCESS_KEY": MARK, "SSH_AUTH_SOCK": MARK}
        before = self.world()
        with open(self.outside / "input", "rb") as source, open(self.outside / "file", "rb") as left:
            code, out, said = self.run_it(
                "--rw", self.root, "--ro", self.outside, "--ro", self.home, "--ro", ATTEMPTS.parent,
                *flags, "--", *words, self.place(False), stdin=source, pass_fds=(left.fileno(),),
                env=env)
            self.wait_for_the_first()
            self.assertIn("tried", out, said)
            self.assertEqual(code, 0, said)
            signs = self.signs(name, out, before)
            if signs and HELD.get(name, "") not in said:
                self.skipTest(f"there is no limit here: {said}")
            self.assertEqual(signs, [])
            if control == "anybody" or (control == "root" and os.geteuid() == 0):
                self.try_outside(name, [*words, self.place(True)], source, left, env, before)

    def try_outside(self, name, words, source, left, env, before):
        """The same where nothing holds: an attempt that shows nothing there cannot fail."""
        source.seek(0)
        with tempfile.TemporaryFile() as shown:
            subprocess.run(words, stdin=source, pass_fds=(left.fileno(),), stdout=shown,
                           stderr=subprocess.DEVNULL, env=self.environment(env), timeout=PATIENCE)
            shown.seek(0)
            signs = self.signs(name, shown.read().decode(errors="replace"), before)
        for number in self.survivors():
            os.kill(number, signal.SIGKILL)
        for folder in SHARED_FOLDERS:
            with contextlib.suppress(OSError):
                os.unlink(f"{folder}/{self.token}")
        self.assertNotEqual(signs, [], "outside of a box it shows nothing either")


def add_attempts():
    spec = importlib.util.spec_from_file_location("attempts", ATTEMPTS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, function in module.attempts.items():
        def test(self, name=name, control=function.control):
            self.attempt(name, control)

        test.__doc__ = function.__doc__
        setattr(Escapes, f"test_{name}", test)


if __name__ == "__main__":
    add_attempts()
    mcp_client.main(ATTEMPTS.parent.glob("*.py"))
