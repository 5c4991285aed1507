"""The other end of gatehouse-toolhost's socket, for tests. See docs/internals/program-toolhost.md."""
import collections
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import patience
from patience import PATIENCE

TOOLHOST, HUNG_FUSE = (pathlib.Path(path).resolve() for path in sys.argv[1:3])

PREPARE, RUN, DROP, CANCEL, PREVIEW, RULES = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06
READY, PREPARED, RESULT, ERROR, PROGRESS, LOST = 0x11, 0x12, 0x13, 0x14, 0x15, 0x16
PREVIEWED, CHANGE = 0x17, 0x18

Frame = collections.namedtuple("Frame", "call type body")


class Closed(Exception):
    pass


def header(call, kind, length):
    return struct.pack("<IIB", length + 5, call, kind)


class Front:
    """One toolhost, and the other end of its socket."""

    def __init__(self, root, state, *options, pass_fds=(), has_media=False):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.media = None
        if has_media:
            media, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            options = ("--media-fd", str(media.fileno()), *options)
            pass_fds = (*pass_fds, media.fileno())
            self.media = subprocess.Popen(
                ["sh", "-c", f'exec "$0" --job serve 3<&{ours.fileno()}', TOOLHOST.with_name("gatehouse-media")],
                pass_fds=(ours.fileno(),), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            ours.close()
        self.socket.settimeout(PATIENCE)
        self.bytes = b""
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [TOOLHOST, "--fd", str(theirs.fileno()), "--state-dir", state, *options, root],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors,
            pass_fds=(theirs.fileno(), *pass_fds), env={"PATH": "/usr/bin:/bin"},
        )
        theirs.close()
        if has_media:
            media.close()
        self.calls = 0

    def errors_so_far(self):
        return os.pread(self.errors.fileno(), 1 << 20, 0).decode()

    def send(self, call, kind, body=b""):
        self.socket.sendall(header(call, kind, len(body)) + body)

    def receive(self):
        while True:
            if len(self.bytes) >= 9:
                length, call, kind = struct.unpack_from("<IIB", self.bytes)
                if len(self.bytes) >= length + 4:
                    body = self.bytes[9:length + 4]
                    self.bytes = self.bytes[length + 4:]
                    # What changed is text, for the audit log.
                    value = body.decode() if kind == CHANGE else json.loads(body) if body else None
                    return Frame(call, kind, value)
            try:
                piece = self.socket.recv(1 << 16)
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise Closed
            self.bytes += piece

    def ready(self):
        frame = self.receive()
        assert (frame.call, frame.type) == (0, READY), frame
        return frame.body

    def prepare(self, tool, arguments=None, timeout_ms=PATIENCE * 1000, **more):
        """Sends PREPARE; returns the number of the call."""
        self.calls += 1
        body = {"tool": tool, "arguments": arguments or {}, "timeoutMs": timeout_ms, **more}
        self.send(self.calls, PREPARE, json.dumps(body).encode())
        return self.calls

    def prepared(self, *arguments, **more):
        """The call, and the resources that it would touch."""
        call, body = self.prepared_body(*arguments, **more)
        return call, body["resources"]

    def prepared_body(self, *arguments, **more):
        call = self.prepare(*arguments, **more)
        frame = self.receive()
        assert (frame.call, frame.type) == (call, PREPARED), frame
        return call, frame.body

    def preview(self, call, disclosure="all"):
        self.send(call, PREVIEW, json.dumps({"disclosure": disclosure}).encode())
        frame = self.receive()
        assert frame.call == call, frame
        return frame

    def deny(self, *rules):
        """These rules and no others, as pairs of a group and a pattern."""
        body = {"deny": [{"group": group, "match": match} for group, match in rules]}
        self.send(0, RULES, json.dumps(body).encode())

    def run(self, *arguments, **more):
        """Both phases: the result, or the error."""
        call, _ = self.prepared(*arguments, **more)
        self.send(call, RUN)
        return self.last_of(call)

    def last_of(self, *calls):
        """The next last answer, which is to one of these."""
        while True:
            frame = self.receive()
            assert frame.call in calls, frame
            if frame.type not in (PROGRESS, CHANGE):
                return frame

    def refusal(self, *arguments, **more):
        call = self.prepare(*arguments, **more)
        frame = self.receive()
        assert (frame.call, frame.type) == (call, ERROR), frame
        return frame.body

    def close(self):
        """Closes the socket and waits for the process; its exit status."""
        self.socket.close()
        return self.process.wait(PATIENCE)

    def told(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")


def text_of(frame):
    assert frame.type == RESULT, frame
    return frame.body["structuredContent"]


class Scene(unittest.TestCase):
    options = ("--write",)

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="gatehouse-toolhost-"))
        self.addCleanup(shutil.rmtree, self.place)  # the last one, behind unmounting
        self.root = self.place / "root"
        self.state = self.place / "state"
        self.root.mkdir()
        self.fronts = []
        (self.root / "notes.txt").write_text("one\ntwo\n")
        (self.root / "sub").mkdir()

    def tearDown(self):
        for front in self.fronts:
            front.socket.close()
            if front.process.poll() is None:
                front.process.kill()
            front.process.wait(PATIENCE)
            if front.media is not None:
                front.media.wait(PATIENCE)
            told = front.told()
            front.errors.close()
            self.assertNotIn("Sanitizer", told, told)
            self.assertNotIn("runtime error", told, told)
            self.assertNotIn("Assertion", told, told)

    def start(self, *options, root=None, **more):
        front = Front(root or self.root, self.state, *(options or self.options), **more)
        self.fronts.append(front)
        return front

    def started(self, *options, **more):
        front = self.start(*options, **more)
        front.ready()
        return front

    def names(self):
        return sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*"))

    def assert_refused_for_good(self, front, message):
        """The last frame is an error of the connection, and the process fails."""
        with self.assertRaises(Closed):
            while True:
                frame = front.receive()
        self.assertEqual((frame.call, frame.type), (0, ERROR), frame)
        self.assertRegex(frame.body["message"], message)
        self.assertEqual(front.process.wait(PATIENCE), 1)


def run_as_ordinary_user(script, as_ordinary_user):
    """All of it again, from copies where that user can reach them."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for module in (__file__, patience.__file__, pathlib.Path(__file__).with_name("media_scene.py"),
                       TOOLHOST.with_name("gatehouse-media")):
            shutil.copy(module, folder)
        copies = [shutil.copy(program, folder) for program in (TOOLHOST, HUNG_FUSE)]
        return subprocess.run([as_ordinary_user, script, *copies],
                              env={**os.environ, "PYTHONPATH": folder}).returncode


def main(script):
    if len(sys.argv) > 3:
        sys.exit(run_as_ordinary_user(script, sys.argv[3]))
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    for case, reason in result.skipped:
        print(f"skipped: {case.id()}: {reason}")
    sys.exit(0 if result.wasSuccessful() else 1)
