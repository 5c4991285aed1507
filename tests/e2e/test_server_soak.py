#!/usr/bin/env python3
"""gatehouse serve under load for a while: very many machines and agents, some of which stop reading or lose
their streams, real daemons beside them, and kills of the server and of daemons at random moments.

    test_server_soak.py GATEHOUSE GATEWAY_LOAD [unittest's]

Nothing is lost: all machines come back without pairing, no answer is accepted twice, no call is sent twice,
and in the end every call succeeds. Memory stays flat while the server lives. SERVER_SOAK_SECONDS (30),
SERVER_SOAK_MACHINES (300), SERVER_SOAK_DAEMONS (2) and SERVER_SOAK_SEED change it.
"""
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import own_network
from server_scene import N8N, OURS, PATIENCE, Server, clean_environment
import server_state

GATEHOUSE, LOAD = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
SECONDS = float(os.environ.get("SERVER_SOAK_SECONDS", "30"))
MACHINES = int(os.environ.get("SERVER_SOAK_MACHINES", "300"))
DAEMONS = int(os.environ.get("SERVER_SOAK_DAEMONS", "2"))
SEED = int(os.environ.get("SERVER_SOAK_SEED", "0")) or random.randrange(1 << 30)
CALLED = 40  # machines of the crowd that are called; and all real ones
CALLS_PER_SECOND = 500 if SECONDS >= 60 else 100
# The server is killed in the first half; then it has this time before its memory is measured, and again in
# the end.
KILLS_PART, SETTLED_PART = 0.5, 0.7
GROWTH_BYTES = 1 << 20
CALL_TIMEOUT = "10s"  # of calls whose machine lost its stream
# The page shows the last calls of each user, so memory grows until there were so many.
SHOWN_CALLS, ALL_SHOWN_CALLS, CALL_BYTES, AGENT_BYTES = 10000, 100000, 400, 16 << 10


class Soak(unittest.TestCase):
    def setUp(self):
        room = tempfile.TemporaryDirectory()
        self.addCleanup(room.cleanup)
        self.room = pathlib.Path(room.name)
        self.choice = random.Random(SEED)
        self.real = range(MACHINES + 1, MACHINES + 1 + DAEMONS)
        self.daemons = {}
        self.addCleanup(self.end_daemons)
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def serve(self, port=0):
        server = Server(GATEHOUSE, self.room / "state", port, ("--timeout", CALL_TIMEOUT))
        self.addCleanup(server.close)
        return server

    def start_daemon(self, user, words):
        """A real one, whose session outlives it."""
        home = self.room / f"home{user}"
        file = home / "files/src/programs/server/front.c"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("    return is_open ? 0 : err_set(err, ERR_IO, 'no');\n" * 80)
        self.daemons[user] = subprocess.Popen(
            [GATEHOUSE, "connect", *words, "--filesystem-dir", home / "files", "--port", "0",
             "--keep-session", "--auto-confirm", "--non-interactive",
             "--permission-filesystem-read", "allow", "--state-dir", home / "state"],
            env=clean_environment(HOME=str(home), XDG_RUNTIME_DIR=str(home)),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def pair_daemons(self, server):
        for user in self.real:
            status, _, reply = server.ask("POST", N8N + "create-link", {},
                                          {"Cookie": server_state.cookie(user, server.port), **OURS})
            self.assertEqual(status, 200, reply)
            self.start_daemon(user, [server.url, reply["data"]["token"]])

    def wait_for_daemons(self, server):
        deadline = time.monotonic() + PATIENCE
        for user in self.real:
            while not server.ask("GET", N8N + "status", headers={
                    "Cookie": server_state.cookie(user, server.port)})[2]["data"]["connected"]:
                self.assertLess(time.monotonic(), deadline, "a real daemon does not come")
                time.sleep(0.05)

    def end_daemons(self):
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()

    def kill_something(self, server):
        """The server, or a real daemon, which starts again and resumes its session."""
        if not self.daemons or self.choice.random() < 0.5:
            server.end(signal.SIGKILL)
            return self.serve(server.port)
        user = self.choice.choice(sorted(self.daemons))
        self.daemons[user].kill()
        self.daemons[user].wait()
        self.start_daemon(user, [server.url])
        return server

    def heap(self, server):
        text = server.ask("GET", "/metrics")[2].decode()
        return float(next(line for line in text.splitlines()
                          if line.startswith("gatehouse_heap_bytes ")).split()[1])

    def allowed_growth(self, before):
        growth = GROWTH_BYTES + 0.1 * before
        shown = CALLS_PER_SECOND * SECONDS * (SETTLED_PART - KILLS_PART)
        if shown < min(SHOWN_CALLS * len(self.agents), ALL_SHOWN_CALLS):
            growth += CALL_BYTES * CALLS_PER_SECOND * SECONDS * (1 - SETTLED_PART)
            growth += AGENT_BYTES * len(self.agents)
        return growth

    def test_load_and_kills_lose_nothing(self):
        self.agents = [*range(1, CALLED + 1), *self.real]
        server_state.prepare(GATEHOUSE, self.room / "state", range(1, MACHINES + 1), self.agents,
                             self.real)
        server = self.serve()
        self.pair_daemons(server)
        self.wait_for_daemons(server)
        load = subprocess.Popen(
            [LOAD, *map(str, (server.port, SECONDS, MACHINES, CALLED, DAEMONS, CALLS_PER_SECOND, SEED))],
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(load.wait)
        self.addCleanup(load.kill)
        lines = []
        self.assertEqual(load.stdout.readline(), "connected\n")
        reader = threading.Thread(target=lambda: lines.extend(load.stdout))
        reader.start()

        start = time.monotonic()
        kills = 0
        while time.monotonic() - start < SECONDS * KILLS_PART:
            time.sleep(min(self.choice.uniform(1, 3) * max(1, SECONDS / 200), SECONDS * KILLS_PART))
            server = self.kill_something(server)
            kills += 1
        if self.daemons:  # the last one is of the server
            server.end(signal.SIGKILL)
            server = self.serve(server.port)
            kills += 1
        time.sleep(max(0, start + SECONDS * SETTLED_PART - time.monotonic()))
        before = self.heap(server)
        time.sleep(max(0, start + SECONDS - time.monotonic()))
        after = self.heap(server)
        reader.join()
        self.assertEqual(load.wait(), 0, "".join(lines))
        self.wait_for_daemons(server)
        print(f"{SECONDS:g} s, {MACHINES} machines, {DAEMONS} real daemons, {kills} kills, seed {SEED}: "
              f"heap {before / 1e6:.2f} MB, later {after / 1e6:.2f} MB; {''.join(lines)}")
        self.assertLess(after - before, self.allowed_growth(before), "the server's memory grows")
        self.assertIsNone(server.process.poll())


if __name__ == "__main__":
    own_network.enter()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
