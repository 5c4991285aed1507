#!/usr/bin/env python3
"""No process of a command survives its end, a timeout, a cancel, or kill -9 of whoever started it.

SURVIVOR_ROUNDS (5) is how often each is tried; SURVIVOR_SEED (1) determines the moments.
"""
import contextlib
import os
import pathlib
import random
import select
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from mcp_client import PATIENCE
from sandbox_scene import Sandbox

ROUNDS = int(os.environ.get("SURVIVOR_ROUNDS", "5"))
SEED = int(os.environ.get("SURVIVOR_SEED", "1"))
LONGEST_S = 0.03  # about three times what a start takes
LIMITS = ("-m", "1GB")  # so that there are control groups too, where they may be made
# Children in sessions of their own, one of them deaf, one stopped, one that has closed all it had.
# Each sleeps for a time that is nobody else's, and is known by that.
FAMILY = ("setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep {0}; done' & "
          "setsid sh -c 'kill -STOP $$; sleep {0}' & "
          "setsid sh -c 'exec sleep {0}' <&- >&- 2>&- & echo ready; ")


class Survivors(Sandbox):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.token = str(10**9 + random.SystemRandom().randrange(10**9))  # seconds
        (self.root / "file").write_text("kept")
        (self.home / ".netrc").write_text("kept")
        self.starters = set()
        self.earlier = self.all_groups()
        self.before = self.traces()

    def script(self, end):
        return FAMILY.format(self.token) + end.format(self.token)

    # ---- what could stay

    def processes(self):
        found = []
        for number in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if self.token.encode() in pathlib.Path("/proc", number, "cmdline").read_bytes():
                    found.append(int(number))
        return set(found) - {os.getpid(), os.getppid()}

    def groups(self):
        """Of our own starters: others may be at work on this machine, and may have had their numbers before."""
        return [str(path) for path in self.all_groups() - self.earlier if int(path.name.split(".")[1]) in self.starters]

    def all_groups(self):
        return {path for top in self.group_folders() for path in top.glob("gatehouse-box.*")}

    @staticmethod
    def group_folders():
        """Where leaves are made: at our own group and beside it, in every hierarchy."""
        folders = set()
        for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            for kind in (kinds, *kinds.split(","), "unified", ""):
                folder = pathlib.Path("/sys/fs/cgroup", kind.removeprefix("name="), path.lstrip("/"))
                folders |= {folder, folder.parent}
        folders |= {folder / "gatehouse-commands" for folder in folders}
        return [folder for folder in folders if folder.is_dir()]

    def traces(self):
        """Files of the user, mounts, and what the state directory holds."""
        mounts = [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
                  if self.room.name in line]
        return mcp_client.picture(self.room), mounts

    def assert_nothing_stayed(self):
        deadline = time.monotonic() + PATIENCE
        while (left := self.processes()) and time.monotonic() < deadline:
            for number in left:  # they end when the kernel has come to them, but not by themselves
                with contextlib.suppress(ProcessLookupError):
                    fd = os.pidfd_open(number)
                    select.select([fd], [], [], max(0, deadline - time.monotonic()))
                    os.close(fd)
        self.assertEqual(left, set())
        self.assertEqual(self.traces(), self.before)

    def tearDown(self):
        """What killed starters left of groups is swept by the next."""
        deadline = time.monotonic() + PATIENCE
        is_swept = False
        while not is_swept and time.monotonic() < deadline:  # once they have been waited for
            self.assertEqual(self.run_it(*LIMITS, "--", "true")[0], 0)
            is_swept = not self.groups()
        self.assertEqual(self.groups(), [])
        super().tearDown()

    # ---- rounds

    def begin(self, *flags, end="sleep {0}"):
        process = self.open(*LIMITS, "--rw", self.root, *flags, "--", "sh", "-c", self.script(end))
        self.starters.add(process.pid)
        return process

    def launch(self, *more, end="sleep {0}", says=None):
        program = mcp_client.WITHOUT_SYSCALL.parent / "launch_commands"
        process = subprocess.Popen([program, self.root, self.script(end), *map(str, more)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=says,
                                   cwd=self.root)
        self.addCleanup(self.discard, process)
        return process

    def launcher_of(self, process):
        """Its first child, that has no other program."""
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        self.assertEqual(len(children), 1)
        self.starters.add(int(children[0]))
        return int(children[0])

    def some_time(self):
        select.select([], [], [], self.random.uniform(0, LONGEST_S))

    def close(self, process):
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()
        process.wait(PATIENCE)

    def test_the_net_catches_something(self):
        """A process with the token in its words is seen, and so is a file."""
        with subprocess.Popen(["sh", "-c", f"echo ready; read line; : {self.token}"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            self.assertEqual(self.processes(), {process.pid})
        (self.root / "new").write_text("")
        self.assertNotEqual(self.traces(), self.before)

    def test_an_end_with_children(self):
        for _ in range(ROUNDS):
            process = self.begin(end="exit 3")
            process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 3)
            self.assert_nothing_stayed()

    def test_a_time_out(self):
        for _ in range(ROUNDS):
            process = self.begin("-t", f"{self.random.randint(1, 40)}ms")
            process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 124)
            self.assert_nothing_stayed()

    def test_a_signal(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            for _ in range(ROUNDS // 2 + 1):
                process = self.begin()
                self.assertEqual(process.stdout.readline(), b"ready\n")
                process.send_signal(number)
                process.communicate(timeout=PATIENCE)
                self.assertEqual(process.returncode, 128 + number)
                self.assert_nothing_stayed()

    def test_the_caller_killed_at_any_moment(self):
        started = 0
        for _ in range(ROUNDS):
            process = self.begin()
            self.some_time()
            process.kill()
            started += process.stdout.read() != b""  # to its end: nobody holds it any more
            self.close(process)
            self.assert_nothing_stayed()
        print(f"killed: {started} of {ROUNDS} after the command had begun", flush=True)

    def test_a_client_that_closes(self):
        for _ in range(ROUNDS):
            process = self.launch()
            if self.random.random() < 0.5:
                process.stdout.readline()
            self.launcher_of_or_none(process)
            self.close(process)
            self.assert_nothing_stayed()

    def launcher_of_or_none(self, process):
        """In its first moments there is none yet."""
        with contextlib.suppress(AssertionError, OSError):
            return self.launcher_of(process)

    def test_a_launcher_with_time_outs(self):
        process = self.launch(1)
        for _ in range(ROUNDS):
            self.assertEqual(process.stdout.readline(), b"started\n")
        self.launcher_of(process)
        self.close(process)
        self.assert_nothing_stayed()

    def test_a_client_killed_at_any_moment(self):
        for _ in range(ROUNDS):
            process = self.launch()
            self.some_time()
            self.launcher_of_or_none(process)
            process.kill()
            self.close(process)
            self.assert_nothing_stayed()

    def test_a_launcher_killed_at_any_moment(self):
        for _ in range(ROUNDS):
            process = self.launch(self.random.randint(1, 20), says=subprocess.DEVNULL)
            self.assertEqual(process.stdout.readline(), b"started\n")
            launcher = self.launcher_of(process)
            self.some_time()
            os.kill(launcher, signal.SIGKILL)
            process.wait(PATIENCE)
            self.close(process)
            self.assert_nothing_stayed()


if __name__ == "__main__":
    mcp_client.main(beside=["launch_commands"])
