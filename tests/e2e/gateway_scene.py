"""Drives programs that print lines of JSON, among them the tests' gateway."""
import contextlib
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from patience import PATIENCE


class Program:
    """A program that says lines of JSON, and whose every line is looked at in order."""

    def __init__(self, *arguments, **environment):
        clean = {name: value for name, value in os.environ.items()
                 if not name.lower().endswith("_proxy")}
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean | environment)
        self.lines = queue.Queue()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def next(self):
        line = self.lines.get(timeout=PATIENCE)
        if line is None:
            raise AssertionError("it has ended")
        return line

    def until(self, **wanted):
        """The first line that has all of these."""
        while True:
            line = self.next()
            if wanted.items() <= line.items():
                return line

    def until_has(self, key):
        while True:
            line = self.next()
            if key in line:
                return line

    def send(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()


class Server(Program):
    def __init__(self, program, *arguments):
        super().__init__(program, *map(str, arguments))
        hello = self.next()
        self.port, self.token = hello["listening"], hello["token"]

    def do(self, what, **more):
        self.send(json.dumps({"do": what, **more}))

    def state(self):
        self.do("state")
        return self.until_has("state")["state"]

    def call(self, name, /, **arguments):
        self.do("call", name=name, arguments=arguments)
        return self.until_has("called")["called"]

    def ask(self, name, /, **arguments):
        called = self.call(name, **arguments)
        return self.until(answer=called)
