#!/usr/bin/env python3
"""gatehouse connect with the real n8n, whose agent uses a folder and follows a scripted model.

    test_n8n.py GATEHOUSE CACHE [TEST...]

CACHE is a folder of the build directory, where the packages of package-lock.json are installed
once. Ends with one line, N passed, N failed, and leaves only that folder behind.
"""
import base64
import contextlib
import http.client
import json
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
import everything_ends
import n8n_packages
from real_n8n import PATIENCE, Conversation, N8n
from scripted_model import Model

GATEHOUSE, CACHE = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
WHOLE_SECONDS = 1200  # the run, without installing
STATIC_KEY = "a-key-that-both-sides-know"
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=")
JOINED = " connected folder="
CATEGORIES = ["filesystem", "shell", "screenshot", "mouse-keyboard", "browser"]
PLACE = None
MODEL = None
SERVER = None


def setUpModule():
    global MODEL, SERVER
    MODEL = Model()
    unittest.addModuleCleanup(MODEL.close)
    SERVER = N8n(n8n_packages.node(CACHE), n8n_packages.program(CACHE), PLACE / "n8n", MODEL.url)
    unittest.addModuleCleanup(SERVER.kill)
    SERVER.start_first()
    SERVER.set_up_owner()


class Daemon:
    """gatehouse connect, and what it says."""

    def __init__(self, home, arguments, variables):
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "N8N_GATEWAY_PORT": "0",
                       **variables}
        self.process = subprocess.Popen(
            [GATEHOUSE, "connect", *map(str, arguments)], env=environment, cwd=home,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.lines = queue.Queue()
        self.told = []
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stderr:
            self.lines.put(line.decode(errors="replace"))
        self.lines.put(None)

    def until(self, text):
        """The first line with this text in it, of those that nobody looked at."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                line = self.lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                raise AssertionError(f"no {text!r} in {''.join(self.told)!r}")
            self.told.append(line)
            if text in line:
                return line

    def bring_token(self):
        """As n8n's page does it, from the user's browser: the status and the answer."""
        line = next((line for line in self.told if " port=" in line), None) or self.until(" port=")
        port = int(re.search(r" port=(\d+)", line)[1])
        body = json.dumps({"url": SERVER.url, "token": SERVER.token()})
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("POST", "/connect", body, {"Origin": SERVER.url})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def is_running(self):
        return self.process.poll() is None

    def end(self, signum=signal.SIGINT):
        self.process.send_signal(signum)
        return self.process.wait(PATIENCE)

    def close(self):
        if self.is_running():
            self.process.kill()
        self.process.wait()
        self.thread.join()
        self.process.stderr.close()


def untrusted(result):
    """The tool's own words in what n8n tells its model, with a fence around them."""
    (block,) = json.loads(result)
    first, *inside, last = block["text"].split("\n")
    if not first.startswith("<untrusted_data ") or last != "</untrusted_data>":
        raise AssertionError(f"not as n8n tells it: {result}")
    return "\n".join(inside)


class Scene(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="scene-", dir=PLACE))
        self.root = self.place / "root"
        self.home = self.place / "home"
        self.root.mkdir()
        self.home.mkdir()
        (self.root / "a.txt").write_text("one\ntwo\n")
        (self.root / "sub").mkdir()
        (self.root / "sub" / "b.txt").write_text("a needle\n")
        self.addCleanup(SERVER.until_connected, False)

    def daemon(self, *arguments, **variables):
        daemon = Daemon(self.home, arguments, variables)
        self.addCleanup(daemon.close)
        return daemon

    def connect(self, *flags):
        """A daemon that is connected by a pairing token, and says goodbye at the end."""
        daemon = self.daemon("--auto-confirm", *flags, SERVER.url, SERVER.token(), self.root)
        self.addCleanup(lambda: daemon.is_running() and daemon.end())
        daemon.until(JOINED)
        SERVER.until_connected(True)
        return daemon

    def begin(self, *calls):
        """The agent is told to make these calls: a conversation, and the script that it follows."""
        script = MODEL.script(*calls)
        talk = Conversation(SERVER, f"Please do {script.word}.")
        self.addCleanup(talk.close)
        return talk, script

    def result(self, name, **arguments):
        """What the agent was told about a call that nobody is asked about."""
        talk, script = self.begin((name, arguments))
        talk.finish()
        self.assertEqual(len(script.results), 1, script.offered)
        return script.results[0]

    def good(self, name, **arguments):
        return json.loads(untrusted(self.result(name, **arguments)))


class Pairing(Scene):
    def test_a_token_pairs_once_and_the_page_shows_what_is_connected(self):
        self.assertEqual(SERVER.status()["directory"], None)
        token = SERVER.token()
        daemon = self.daemon("--auto-confirm", SERVER.url, token, self.root)
        daemon.until(JOINED)
        status = SERVER.status()
        self.assertTrue(status["connected"], status)
        self.assertEqual(status["directory"], str(self.root))
        self.assertIn("@", status["hostIdentifier"])
        self.assertEqual([each["name"] for each in status["toolCategories"]], CATEGORIES)
        self.assertEqual(status["toolCategories"][0],
                         {"name": "filesystem", "enabled": True, "writeAccess": False})
        self.assertFalse(any(each["enabled"] for each in status["toolCategories"][1:]), status)
        again = self.daemon("--auto-confirm", SERVER.url, token, self.root)
        again.until("new pairing token is needed")
        self.assertNotEqual(again.process.wait(PATIENCE), 0)
        self.assertTrue(daemon.is_running())
        self.assertEqual(daemon.end(), 0)
        SERVER.until_connected(False)

    def test_the_page_brings_a_token_to_a_daemon_that_waits(self):
        daemon = self.daemon("--auto-confirm", "--dir", self.root, SERVER.url)
        self.assertEqual(daemon.bring_token(),
                         (200, {"status": "connected", "dir": str(self.root)}))
        self.assertTrue(SERVER.status()["connected"])
        self.good("read_file", filePath="a.txt")
        self.assertEqual(daemon.end(), 0)

    def test_what_may_be_done_is_shown_by_category(self):
        self.connect("--permission-filesystem-write", "ask", "--permission-shell", "ask")
        categories = {each["name"]: each for each in SERVER.status()["toolCategories"]}
        self.assertTrue(categories["filesystem"]["writeAccess"])
        self.assertEqual(categories["shell"]["enabled"], has_boxes())

    def test_two_daemons_of_one_user_do_each_other_no_harm(self):
        """n8n asks both, takes the first answer and refuses the second."""
        daemons = [self.connect(), self.connect()]
        for _ in range(3):
            self.assertEqual(self.good("read_file", filePath="a.txt")["content"], "one\ntwo\n")
        self.assertTrue(all(daemon.is_running() for daemon in daemons))
        # It ends both sessions when one of them leaves.
        self.assertEqual(daemons[0].end(), 0)
        daemons[1].until("ended the session")
        self.assertTrue(daemons[1].is_running())


class Reading(Scene):
    def test_the_agent_reads_a_file(self):
        self.connect()
        self.assertEqual(self.good("read_file", filePath="a.txt"),
                         {"path": "a.txt", "content": "one\ntwo\n", "truncated": False,
                          "totalLines": 3})

    def test_the_agent_hears_why_it_may_not(self):
        self.connect()
        self.assertIn("outside", self.good("read_file", filePath="../home/x")["error"])

    def test_the_agent_looks_around(self):
        self.connect()
        listed = self.good("list_files", dirPath=".")["entries"]
        self.assertEqual({entry["path"] for entry in listed}, {"a.txt", "sub"})
        talk, script = self.begin(("get_file_tree", {"dirPath": "."}),
                                  ("read_file", {"filePath": "sub/b.txt"}))
        talk.finish()
        tree, content = map(untrusted, script.results)
        self.assertEqual(tree.splitlines()[0], f"{self.root}/")
        self.assertIn("b.txt", tree)
        self.assertEqual(json.loads(content)["content"], "a needle\n")

    def test_the_agent_sees_a_picture(self):
        (self.root / "dot.png").write_bytes(PICTURE)
        self.connect()
        result = self.result("read_file", filePath="dot.png")
        self.assertIn(base64.b64encode(PICTURE).decode(), result)

    def test_the_agent_searches(self):
        self.connect()
        found = self.good("search_files", query="needle")
        self.assertEqual(found["matches"],
                         [{"path": "sub/b.txt", "lineNumber": 1, "line": "a needle"}])

    def test_nothing_is_written_where_nobody_allowed_it(self):
        self.connect()
        talk, script = self.begin(("write_file", {"filePath": "new.txt", "content": "x"}))
        talk.finish()
        self.assertEqual(script.loaded, ["write_file"])
        self.assertNotIn("write_file", script.offered)
        self.assertFalse((self.root / "new.txt").exists())


class Asked(Scene):
    """The user is asked on n8n's page."""

    def connect(self, *flags):
        return super().connect("--permission-filesystem-write", "ask", *flags)

    def decide(self, call, decision):
        """The result of a call about which the user is asked and says this."""
        talk, script = self.begin(call)
        question = talk.question()
        talk.decide(question, decision)
        talk.finish()
        self.assertEqual(len(script.results), 1, script.offered)
        return question, script.results[0]


class Writing(Asked):
    write = ("write_file", {"filePath": "new.txt", "content": "made\n"})

    def test_no_leaves_the_disk_as_it_was(self):
        self.connect()
        _, result = self.decide(self.write, "denyOnce")
        self.assertFalse((self.root / "new.txt").exists())
        self.assertIn("the user denied", json.loads(untrusted(result))["error"])

    def test_yes_counts_once(self):
        self.connect()
        self.decide(self.write, "allowOnce")
        self.assertEqual((self.root / "new.txt").read_text(), "made\n")
        (self.root / "new.txt").unlink()
        self.decide(self.write, "denyOnce")  # it asks again
        self.assertFalse((self.root / "new.txt").exists())

    def test_yes_for_the_session_is_for_that_file(self):
        self.connect()
        self.decide(self.write, "allowForSession")
        self.assertEqual((self.root / "new.txt").read_text(), "made\n")
        self.good("write_file", filePath="new.txt", content="changed\n")  # unasked
        self.assertEqual((self.root / "new.txt").read_text(), "changed\n")
        self.decide(("write_file", {"filePath": "other.txt", "content": "x"}), "denyOnce")
        self.assertFalse((self.root / "other.txt").exists())

    def test_the_user_sees_what_it_is_about(self):
        self.connect()
        question, _ = self.decide(self.write, "denyOnce")
        self.assertIn("+made", question["message"])
        shown = question["resourceDecision"]
        self.assertEqual((shown["toolGroup"], shown["resource"]),
                         ("filesystemWrite", str(self.root / "new.txt")))
        self.assertEqual(shown["options"], ["denyOnce", "allowOnce", "allowForSession"])

    def test_the_model_cannot_say_yes_itself(self):
        self.connect()
        name, arguments = self.write
        waiting, _ = self.begin(self.write)
        question = waiting.question()
        # The same call is asked about, so the word would fit a question.
        self.decide((name, {**arguments, "_confirmation": "allowOnce"}), "denyOnce")
        self.assertFalse((self.root / "new.txt").exists())
        waiting.decide(question, "denyOnce")
        waiting.finish()
        self.assertFalse((self.root / "new.txt").exists())

    def test_one_question_is_enough_for_both_ends_of_a_move(self):
        self.connect()
        _, result = self.decide(("move", {"sourcePath": "a.txt", "destinationPath": "sub/c.txt"}),
                                "allowOnce")
        self.assertEqual((self.root / "sub/c.txt").read_text(), "one\ntwo\n", result)
        self.assertFalse((self.root / "a.txt").exists())


def has_boxes():
    done = subprocess.run([GATEHOUSE, "sandbox", "check"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


class Commands(Asked):
    def setUp(self):
        if not has_boxes():
            self.skipTest("cannot sandbox commands on this machine")
        super().setUp()

    def test_a_command_is_asked_about_and_runs_in_its_box(self):
        (self.home / "own").write_text("not for agents")
        self.connect("--permission-shell", "ask")
        question, result = self.decide(
            ("shell_execute", {"command": f"cat a.txt; cat {self.home}/own; cat /proc/net/route"}),
            "allowOnce")
        self.assertEqual(question["resourceDecision"]["toolGroup"], "shell")
        self.assertIn(str(self.root), question["resourceDecision"]["resource"])
        result = json.loads(untrusted(result))
        # Its folder, not the home beside it, and of the network only the heading.
        first, second, *more = result["stdout"].splitlines()
        self.assertEqual((first, second, len(more)), ("one", "two", 1), result)

    def test_a_command_that_was_refused_does_not_run(self):
        self.connect("--permission-shell", "ask")
        self.decide(("shell_execute", {"command": "touch ran"}), "denyOnce")
        self.assertFalse((self.root / "ran").exists())
        self.decide(("shell_execute", {"command": "touch ran"}), "allowOnce")
        self.assertTrue((self.root / "ran").exists())


class Ends(Scene):
    def test_the_user_disconnects_on_the_page(self):
        daemon = self.connect()
        SERVER.gateway("POST", "disconnect-session")
        daemon.until("ended the session")
        self.assertFalse(SERVER.status()["connected"])
        self.assertTrue(daemon.is_running())
        # The same process is there for the next session.
        self.assertEqual(daemon.bring_token()[0], 200)
        self.good("read_file", filePath="a.txt")
        self.assertEqual(daemon.end(), 0)

    def test_leaving_is_told_to_the_server(self):
        daemon = self.connect()
        self.assertEqual(daemon.end(), 0)
        SERVER.until_connected(False)

    def test_a_session_that_was_kept_goes_on_with_the_next_start(self):
        daemon = self.connect("--keep-session")
        self.assertEqual(daemon.end(signal.SIGTERM), 0)
        daemon = self.daemon("--keep-session", "--dir", self.root, SERVER.url)
        daemon.until(JOINED)
        self.good("read_file", filePath="a.txt")
        self.assertEqual(daemon.end(), 0)

    def test_a_server_that_was_killed_wants_a_new_token(self):
        daemon = self.connect()
        SERVER.kill()
        daemon.until("retrying")
        SERVER.start()
        SERVER.log_in()
        daemon.until("a new pairing token is needed")
        self.assertTrue(daemon.is_running())
        self.assertFalse(SERVER.status()["connected"])
        self.assertEqual(daemon.bring_token()[0], 200)
        self.good("read_file", filePath="a.txt")
        self.assertEqual(daemon.end(), 0)

    def test_a_key_of_both_sides_is_what_n8n_itself_does_not_take(self):
        """It knows the key and looks for a user behind it, who is not there."""
        SERVER.kill()
        self.addCleanup(self.start_without_key)
        SERVER.start(N8N_INSTANCE_AI_GATEWAY_API_KEY=STATIC_KEY)
        SERVER.log_in()
        daemon = self.daemon("--auto-confirm", "--dir", self.root, SERVER.url,
                             N8N_INSTANCE_AI_GATEWAY_API_KEY=STATIC_KEY)
        self.assertNotIn(STATIC_KEY, daemon.until("403: Local gateway is disabled"))
        self.assertEqual(daemon.process.wait(PATIENCE), 1)
        # A token pairs all the same.
        self.connect()

    def start_without_key(self):
        SERVER.kill()
        SERVER.start()
        SERVER.log_in()


class Tally(unittest.TextTestResult):
    """What became of the tests; it is there for a run that was stopped, too."""

    passed = failed = skips = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        Tally.passed += 1

    def addError(self, test, err):
        super().addError(test, err)
        Tally.failed += 1

    def addFailure(self, test, err):
        super().addFailure(test, err)
        Tally.failed += 1

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        Tally.skips += 1

    @classmethod
    def line(cls):
        text = f"{cls.passed} passed, {cls.failed} failed"
        return text + (f", {cls.skips} skipped" if cls.skips else "")


def run():
    n8n_packages.install(CACHE)
    signal.alarm(WHOLE_SECONDS)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False,
                  testRunner=unittest.TextTestRunner(verbosity=2, resultclass=Tally))
    left = everything_ends.left_running(PATIENCE)
    if left:
        Tally.failed += 1
        print("left running:", *left, sep="\n")
    if Tally.failed and SERVER is not None:
        print(f"what n8n said:\n{SERVER.last_words()}")


def main():
    global PLACE
    try:
        with everything_ends.in_a_place("gatehouse-n8n-") as PLACE:
            run()
    except KeyboardInterrupt as stopped:
        Tally.failed += 1
        print(f"stopped: {stopped or 'interrupted'}")
    except SystemExit:  # there is no n8n, and it was said why
        Tally.failed += 1
    print(Tally.line(), flush=True)
    return 1 if Tally.failed or not Tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
