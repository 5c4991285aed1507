"""gatehouse connect and its servers, for the tests of the daemon.

Their arguments: gatehouse, fake_gateway, and, to run all of it as an ordinary user instead,
as_ordinary_user.
"""
import contextlib
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from gateway_scene import Server
import patience
from patience import PATIENCE, in_memory
from watched_terminal import MOMENT, WatchedTerminal

GATEHOUSE, SERVER = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
REQUIRED = "GATEWAY_CONFIRMATION_REQUIRED::"


class Daemon:
    """The program, and what it says on standard error."""

    def __init__(self, arguments, environment, terminal=None, all_there=False, before=()):
        streams = terminal if terminal is not None else subprocess.DEVNULL
        self.process = subprocess.Popen(
            [*before, GATEHOUSE, "connect", *map(str, arguments)], env=environment, stdin=streams,
            stdout=streams, stderr=streams if all_there else subprocess.PIPE,
            start_new_session=terminal is not None)
        self.lines = queue.Queue()
        self.told = []
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stderr or ():
            self.lines.put(line.decode(errors="replace"))
        self.lines.put(None)

    def until(self, text):
        """The first line with this text in it, of those that nobody looked at."""
        while True:
            line = self.lines.get(timeout=PATIENCE)
            if line is None:
                raise AssertionError(f"it has ended, saying {''.join(self.told)}")
            self.told.append(line)
            if text in line:
                return line

    def end(self, signum=signal.SIGINT):
        self.process.send_signal(signum)
        return self.wait()

    def wait(self):
        """The exit status, and all that it has said."""
        status = self.process.wait(PATIENCE)
        self.thread.join()
        while not self.lines.empty():
            self.told.append(self.lines.get() or "")
        return status, "".join(self.told)

    def children(self, pid=None):
        pid = pid or self.process.pid
        return [int(child) for child in
                pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.thread.join()
        if self.process.stderr is not None:
            self.process.stderr.close()


class Scene(unittest.TestCase):
    terminal = None
    all_there = False  # standard error is on the terminal, too
    before = ()  # a command that starts the daemon

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="gatehouse-daemon-", dir=in_memory()))
        self.addCleanup(self.clear)
        self.root = self.place / "root"
        self.root.mkdir()
        (self.root / "a.txt").write_text("one\ntwo\n")
        self.home = self.place / "home"
        self.home.mkdir()
        self.settings = self.home / ".n8n-gateway" / "settings.json"
        self.record = self.home / ".local/state/gatehouse/audit.jsonl"

    def clear(self):
        """A toolhost goes a moment after its daemon, and takes away what it has in there."""
        deadline = time.monotonic() + PATIENCE
        while self.place.exists():
            shutil.rmtree(self.place, ignore_errors=time.monotonic() < deadline)

    def stop(self, pid):
        """It stands still when this returns."""
        os.kill(pid, signal.SIGSTOP)
        deadline = time.monotonic() + PATIENCE
        while ") T " not in pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace"):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(MOMENT)

    def write_settings(self, **fields):
        self.settings.parent.mkdir(mode=0o700, exist_ok=True)
        self.settings.touch(mode=0o600)
        self.settings.write_text(json.dumps(fields))

    def serve(self, *arguments):
        server = Server(SERVER, *arguments)
        self.addCleanup(server.close)
        return server

    def daemon(self, *arguments, **variables):
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "N8N_GATEWAY_PORT": "0",
                       **variables}
        daemon = Daemon(arguments, environment, self.terminal, self.all_there, self.before)
        self.addCleanup(daemon.close)
        return daemon

    def gatehouse(self, *words):
        """What another command of ours says, of the same user."""
        return subprocess.run([GATEHOUSE, *map(str, words)], check=True, capture_output=True,
                              text=True, timeout=PATIENCE,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.home)}).stdout

    def url(self, server):
        return f"http://127.0.0.1:{server.port}"

    def connect(self, *flags, **variables):
        """A server, and a daemon that is connected to it unasked."""
        server = self.serve()
        daemon = self.daemon("--auto-confirm", *flags, self.url(server), server.token, self.root,
                             **variables)
        server.until(streams=1)
        return server, daemon

    def call(self, server, tool, /, **arguments):
        """The whole CallToolResult."""
        return json.loads(server.ask(tool, **arguments)["text"])["result"]

    def good(self, server, tool, /, **arguments):
        result = self.call(server, tool, **arguments)
        self.assertNotIn("isError", result, result)
        return result["structuredContent"]

    def error(self, server, tool, /, **arguments):
        result = self.call(server, tool, **arguments)
        self.assertTrue(result.get("isError"), result)
        return json.loads(result["content"][0]["text"])["error"]

    def question(self, server, tool, /, **arguments):
        text = self.error(server, tool, **arguments)
        self.assertTrue(text.startswith(REQUIRED), text)
        return json.loads(text.removeprefix(REQUIRED))

    def offers_browser(self, server, daemon):
        """Where none is installed, the log says that it was wanted."""
        return "browser_click" in self.tools(server) or "browser tools are not available" in daemon.told

    def tools(self, server):
        return {tool["name"] for tool in server.state()["init"]["tools"]}

    def record_text(self, place=None):
        """All of it: reads that were gathered as well."""
        return "".join(path.read_text(errors="replace")
                       for path in (place or self.record.parent).glob("audit.jsonl*"))

    def calls(self, server, *calls):
        """Several at once; the lines of their answers, in the order in which they came."""
        for tool, arguments in calls:
            server.do("call", name=tool, arguments=arguments)
        called, answered = [], []
        while len(called) < len(calls) or len(answered) < len(calls):
            line = server.next()
            if "called" in line:
                called.append(line["called"])
            elif "answer" in line:
                answered.append(line)
        self.assertEqual(sorted(called), sorted(line["answer"] for line in answered))
        return [{"call": called.index(line["answer"]), **line} for line in answered]

    def records(self):
        return [json.loads(line) for line in self.record.read_text().splitlines()]


class AtTerminal(WatchedTerminal, Scene):
    """Somebody is there: the daemon has a pseudo terminal on its standard input and output."""

    def begin(self, *flags):
        server = self.serve()
        daemon = self.daemon(*flags, self.url(server), server.token, self.root, TERM="dumb")
        self.see(str(self.root))
        return server, daemon

    def agree(self, server):
        # Calls without a stream would be lost.
        self.press_until(b"1\n", lambda: server.state()["streams"] > 0)
        self.see("onnect")

    def answer(self, server, key, called):
        """The result of a call that waits for this key."""
        lines = []

        def is_answered():
            with contextlib.suppress(queue.Empty):
                lines.append(server.lines.get_nowait())
            return any(line.get("answer") == called for line in lines)

        self.press_until(key, is_answered)
        (line,) = [line for line in lines if line.get("answer") == called]
        return json.loads(line["text"])["result"]


def is_sanitized():
    return b"__asan_init" in (GATEHOUSE.parent / "gatehouse-daemon").read_bytes()


def has_boxes():
    done = subprocess.run([GATEHOUSE, "sandbox", "check"], capture_output=True, check=False)
    return done.returncode == 0


def run_as_ordinary_user(as_ordinary_user):
    """All of it again, from copies where that user can reach them."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        modules = pathlib.Path(__file__).parent.glob("*.py")
        for module in (patience.__file__, *modules):
            shutil.copy(module, folder)
        for program in (*GATEHOUSE.parent.glob("gatehouse*"), SERVER):
            if program.is_file():
                shutil.copy(program, folder)
        copies = [pathlib.Path(folder) / program.name for program in (GATEHOUSE, SERVER)]
        return subprocess.run([as_ordinary_user, sys.argv[0], *copies], check=False,
                              env={**os.environ, "PYTHONPATH": folder}).returncode


def main():
    if len(sys.argv) > 3:
        sys.exit(run_as_ordinary_user(sys.argv[3]))
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    for case, reason in result.skipped:
        print(f"skipped: {case.id()}: {reason}")
    sys.exit(0 if result.wasSuccessful() else 1)
