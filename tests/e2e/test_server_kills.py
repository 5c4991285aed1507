#!/usr/bin/env python3
"""gatehouse serve is killed at random moments while machines pair and agents call, again and again.

    test_server_kills.py GATEHOUSE [unittest's]

After each kill the state is intact: a machine that was let in comes back with its key, without pairing; a
token that was used is never accepted again; a call gets one answer, its own; an answer is taken once.
KILL_ROUNDS (10) and KILL_SEED change it.
"""
import http.client
import json
import os
import pathlib
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import own_network
from server_scene import MODERN, N8N, OURS, PATIENCE, Server, Stream
import server_state

GATEHOUSE = str(pathlib.Path(sys.argv[1]).resolve())
ROUNDS = int(os.environ.get("KILL_ROUNDS", "10"))
SEED = int(os.environ.get("KILL_SEED", "0")) or random.randrange(1 << 30)
CALLERS = range(2, 5)  # users whose agents call their machines
PAIRERS = range(5, 8)  # users whose machines pair
BROKEN = (OSError, http.client.HTTPException)  # what a client sees of a kill
INIT = json.loads(server_state.INIT)


class Machine(threading.Thread):
    """Answers calls, each of them twice."""

    def __init__(self, test, server, user):
        super().__init__()
        self.test, self.server = test, server
        self.headers = {"X-Gateway-Key": f"sess_{user:032}"}
        self.stream = Stream(server, N8N + "events", self.headers)
        test.expect(self.stream.answer.status == 200, "a machine is not let in with its key")
        self.start()

    def run(self):
        while (event := self.stream.next()) is not None:
            number = event["payload"]["toolCall"]["arguments"]["filePath"]
            body = {"result": {"content": [{"type": "text", "text": number}]}}
            try:
                path = N8N + "response/" + event["payload"]["requestId"]
                first = self.server.ask("POST", path, body, self.headers)[0]
                second = self.server.ask("POST", path, body, self.headers)[0]
            except BROKEN:
                continue
            self.test.expect(first in (200, 404), f"an answer is refused: {first}")
            self.test.expect(second == 404, f"an answer is taken twice: {second}")


class Caller(threading.Thread):
    """Calls with a number each time, and wants it back."""

    def __init__(self, test, server, user):
        super().__init__()
        self.test, self.server = test, server
        self.headers = {"Authorization": f"Bearer agent_{user:032}", "Content-Type": "application/json",
                        "Accept": "application/json, text/event-stream",
                        "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
                        "Mcp-Name": "read_file"}
        self.start()

    def run(self):
        while True:
            number = str(self.test.next_number())
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "read_file", "arguments": {"filePath": number}, "_meta": MODERN}}
            try:
                status, _, answer = self.server.ask("POST", "/mcp", message, self.headers)
            except BROKEN:
                return
            self.test.expect(status == 200, f"a call is refused: {status} {answer}")
            result = answer.get("result", {})
            if not result.get("isError"):
                self.test.expect(result["content"][0]["text"] == number, "a call has another's answer")
                self.test.answered += 1


class Pairer(threading.Thread):
    """Pairs again and again. What it was told must hold after the kill."""

    def __init__(self, test, server, user):
        super().__init__()
        self.test, self.server, self.user = test, server, user
        self.browser = {"Cookie": server_state.cookie(user, server.port), **OURS}
        self.start()

    def init(self, key):
        return self.server.ask("POST", N8N + "init", INIT, {"X-Gateway-Key": key})

    def run(self):
        try:
            while True:
                status, _, link = self.server.ask("POST", N8N + "create-link", {}, self.browser)
                self.test.expect(status == 200, f"no link: {status} {link}")
                token = link["data"]["token"]
                self.test.used[token] = True
                # From here on nobody knows which machine is the one, until there is an answer.
                self.test.keys.pop(self.user, None)
                status, _, answer = self.init(token)
                if status == 429:  # the pairers' second tries look like guesses
                    del self.test.used[token]
                    return
                self.test.expect(status == 200, f"a token is refused: {status} {answer}")
                self.test.keys[self.user] = answer["data"]["sessionKey"]
                self.test.paired += 1
                self.test.expect(self.init(token)[0] in (403, 429), "a token is accepted twice")
        except BROKEN:
            return


class Kills(unittest.TestCase):
    def setUp(self):
        room = tempfile.TemporaryDirectory()
        self.addCleanup(room.cleanup)
        self.state = pathlib.Path(room.name) / "state"
        self.lock = threading.Lock()
        self.number = self.answered = self.paired = 0
        self.problems = []
        self.keys = {}  # of machines that were told that they are connected
        self.used = {}  # tokens

    def next_number(self):
        with self.lock:
            self.number += 1
            return self.number

    def expect(self, is_so, problem):
        if not is_so:
            self.problems.append(problem)

    def check_after(self, server, choice):
        """What the last server said holds with this one."""
        for user, key in self.keys.items():
            status = server.ask("POST", N8N + "init", INIT, {"X-Gateway-Key": key})[0]
            self.assertEqual(status, 200, f"the machine of user {user} must pair again")
        for token in choice.sample(sorted(self.used), min(8, len(self.used))):
            status = server.ask("POST", N8N + "init", INIT, {"X-Gateway-Key": token})[0]
            self.assertEqual(status, 403, "a used token is accepted after a restart")

    def check_database(self):
        with sqlite3.connect(self.state / "server/server.db") as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        database.close()

    def test_kills_lose_nothing(self):
        choice = random.Random(SEED)
        server_state.prepare(GATEHOUSE, self.state, CALLERS, CALLERS, PAIRERS)
        for round_number in range(ROUNDS):
            with self.subTest(round=round_number, seed=SEED):
                server = Server(GATEHOUSE, self.state)
                self.addCleanup(server.close)
                self.check_after(server, choice)
                threads = [Machine(self, server, user) for user in CALLERS]
                threads += [Caller(self, server, user) for user in CALLERS]
                threads += [Pairer(self, server, user) for user in PAIRERS]
                time.sleep(choice.uniform(0.02, 0.3))
                if round_number == 0:  # on a slow machine nothing might have come to pass in any round
                    end = time.monotonic() + PATIENCE
                    while not (self.answered and self.paired) and time.monotonic() < end:
                        time.sleep(0.02)
                self.assertEqual(server.end(signal.SIGKILL), -signal.SIGKILL)
                for thread in threads:
                    thread.join()
                    if isinstance(thread, Machine):
                        thread.stream.close()
                self.check_database()
                self.assertEqual(self.problems, [])
        print(f"{ROUNDS} kills, {self.answered} calls answered, {self.paired} machines paired, seed {SEED}")
        self.assertGreater(self.answered, 0)
        self.assertGreater(self.paired, 0)


if __name__ == "__main__":
    own_network.enter()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
