"""Shared by the tests of whole programs: folders for a test, and an MCP client that checks every message.

A test program's arguments: gatehouse, without_syscall, and `--as-user` to run all of it as an
ordinary user, who may not have access to the build directory.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import patience
from patience import PATIENCE, in_memory

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
READING = {"get_file_tree", "list_allowed_directories", "list_files", "read_file", "read_files",
           "search_files", "stat_file"}
WRITING = {
    "write_file", "append_file", "edit_file", "edit_files", "create_directory", "copy_file", "move",
    "delete", "extract_archive", "undo_changes",
}

GATEHOUSE = WITHOUT_SYSCALL = None  # set by main()


def is_sanitized():
    return b"__asan_init" in (GATEHOUSE.parent / "gatehouse-mcp").read_bytes()


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.error = error


class Server:
    """`gatehouse mcp`, started over pipes, with a thread that reads every answer."""

    def __init__(self, *flags, state, cwd=None, before=(), env=None, pass_fds=(), reads=True):
        environment = {
            "PATH": "/usr/bin:/bin", "HOME": str(state), "XDG_STATE_HOME": str(state),
            **{key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")},
            **(env or {}),
        }
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [*before, GATEHOUSE, "mcp", *map(str, flags)], env=environment, cwd=cwd,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, pass_fds=pass_fds,
            start_new_session=True,
        )
        self.pid = self.process.pid
        self.is_modern = False
        self.last_id = 0
        self.answers = {}
        self.notes = collections.deque()
        self.strays = []  # answers without an id
        self.is_over = False
        self.news = threading.Condition()
        self.reader = threading.Thread(target=self.read_all, daemon=True)
        if reads:
            self.reader.start()

    # ---- the wire

    def read_all(self):
        for line in self.process.stdout:
            message = json.loads(line)  # all that comes out is JSON, one message a line
            with self.news:
                if "method" in message:
                    self.notes.append(message)
                elif message.get("id") is None:
                    self.strays.append(message)
                else:
                    self.answers[json.dumps(message["id"])] = message
                self.news.notify_all()
        with self.news:
            self.is_over = True
            self.news.notify_all()

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, *messages):
        self.send_bytes(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def wait_until(self, found, patience=PATIENCE):
        """The first thing that `found` returns and that is something."""
        deadline = time.monotonic() + patience
        with self.news:
            while True:
                result = found()
                if result:
                    return result
                left = deadline - time.monotonic()
                if left <= 0 or self.is_over:
                    raise AssertionError("nothing came" + (": it ended" if self.is_over else ""))
                self.news.wait(left)

    def message(self, method, params=None, meta=None, number=None):
        """A request of this client's era."""
        if number is None:
            self.last_id += 1
            number = self.last_id
        params = dict(params or {})
        meta = {**(MODERN if self.is_modern else {}), **(meta or {})}
        if meta:
            params["_meta"] = meta
        return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

    def answer(self, number):
        return self.wait_until(lambda: self.answers.pop(json.dumps(number), None))

    def result(self, number):
        answer = self.answer(number)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def request(self, method, params=None, meta=None):
        message = self.message(method, params, meta)
        self.send(message)
        return self.result(message["id"])

    def stray(self):
        return self.wait_until(lambda: self.strays and self.strays.pop(0))["error"]

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    # ---- MCP

    def open(self, version="2025-11-25", capabilities=None):
        result = self.request("initialize", {
            "protocolVersion": version, "capabilities": capabilities or {},
            "clientInfo": {"name": "test", "version": "1"},
        })
        self.notify("notifications/initialized")
        return result

    def call_message(self, tool, arguments, meta=None):
        return self.message("tools/call", {"name": tool, "arguments": arguments}, meta)

    def call(self, tool, /, meta=None, **arguments):
        return self.request("tools/call", {"name": tool, "arguments": arguments}, meta)

    def call_all(self, calls):
        """The results of (tool, arguments) that are all under way at once."""
        messages = [self.call_message(tool, arguments) for tool, arguments in calls]
        self.send(*messages)
        return [self.result(message["id"]) for message in messages]

    def good(self, tool, /, **arguments):
        """The structured result of a call that must succeed."""
        result = self.call(tool, **arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    def bad(self, tool, /, **arguments):
        """The words of a call that must be refused by its tool."""
        result = self.call(tool, **arguments)
        assert result.get("isError"), result
        assert "structuredContent" not in result, result
        return result["content"][0]["text"]

    # ---- the process

    def status(self, field):
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == field:
                return value.strip()
        raise KeyError(field)

    def peak_kb(self):
        return int(self.status("VmHWM").split()[0])

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def words(self):
        """What it said on standard error."""
        self.said.seek(0)
        return self.said.read().decode()

    def end(self):
        """Closes its input, and returns with what it exited."""
        if not self.process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        return self.wait()

    def wait(self):
        code = self.process.wait(PATIENCE)
        if self.reader.is_alive():
            self.reader.join(PATIENCE)
        return code

    def discard(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()
        if self.reader.is_alive():
            self.reader.join(PATIENCE)


def session_members(session):
    """Processes that live in the session which a server was started in."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def outlives(session):
    """Processes of an ended session, after those that end with it had time for that."""
    until = time.monotonic() + PATIENCE
    while (found := session_members(session)) and time.monotonic() < until:
        time.sleep(0.001)
    return found


def picture(folder):
    """All that is below a folder: type, mode, and content or target."""
    seen = {}
    for place, directories, files in os.walk(folder):
        for name in directories + files:
            path = pathlib.Path(place, name)
            about = path.lstat()
            content = None
            if path.is_symlink():
                content = os.readlink(path)
            elif path.is_file():
                content = path.read_bytes()
            seen[str(path.relative_to(folder))] = (about.st_mode, content)
    return seen


class Scene(unittest.TestCase):
    """A room with a root, a twin of its name, an outside and a state directory.

    Every server that a test starts and does not discard must end well and leave no litter.
    """

    def setUp(self):
        room = tempfile.mkdtemp(prefix="mcp-", dir=in_memory())
        self.room = pathlib.Path(os.path.realpath(room))
        self.addCleanup(shutil.rmtree, self.room, ignore_errors=True)
        self.root, self.outside = self.room / "root", self.room / "outside"
        self.twin, self.state = self.room / "root-evil", self.room / "state"
        for folder in (self.root, self.outside, self.twin, self.state):
            folder.mkdir()
        self.servers = []

    def tearDown(self):
        for server in self.servers:
            is_open = server.process.poll() is None
            code = server.end() if is_open else server.wait()
            words = server.words()
            server.discard()
            server.said.close()
            if is_open:
                self.assertEqual(code, 0, words)
                self.assertEqual(outlives(server.pid), [])
                self.assertNotIn("ERROR: ", words)  # a sanitizer's
        if self.servers:
            self.assert_no_litter()

    def start(self, *flags, folder=None, reads=True, opens=True, **settings):
        server = Server(*flags, folder or self.root, state=self.state, reads=reads, **settings)
        self.servers.append(server)
        if opens and reads:
            server.open()
        return server

    def assert_no_litter(self):
        """Nothing of ours is left in the root, and of the state only the record."""
        for name in picture(self.root):
            self.assertNotIn(".gatehouse-", name)
        if (self.state / "gatehouse" / "temp").exists():  # else another one was used, and noted there
            left = {str(path.relative_to(self.state)) for path in self.state.rglob("*")}
            self.assertLessEqual({"gatehouse", "gatehouse/temp"}, left)
            for name in left - {"gatehouse", "gatehouse/browser", "gatehouse/temp", ".n8n-gateway", ".local",
                                ".local/state", ".local/state/gatehouse"}:
                self.assertTrue(name.startswith(("gatehouse/audit.jsonl", "gatehouse/elsewhere-",
                                                 "gatehouse/asks-", "gatehouse/noticeboard", "gatehouse/browser/named-",
                                                 "gatehouse/portal.token", "run",
                                                 ".n8n-gateway/settings.",
                                                 ".n8n-gateway/commands-with-network.lock")),
                                name)

    def records(self):
        """What the audit has written down."""
        texts = [(self.state / "gatehouse" / name).read_text()
                 for name in ("audit.jsonl", "audit.jsonl.reads")]
        records = [json.loads(line) for text in texts for line in text.splitlines()]
        return sorted(records, key=lambda record: record["timestamp"])


def with_a_home(room):
    """The words before a command that sees nobody with a home and a shell; none if root may not mount. systemd's
    library says that the name `nobody` is locked, so there is another one."""
    nobody = pwd.getpwnam("nobody")
    (room / "passwd").write_text(f"somebody:x:{nobody.pw_uid}:{nobody.pw_gid}::{room}/tmp:/bin/sh\n"
                                 + pathlib.Path("/etc/passwd").read_text())
    words = ["unshare", "--mount", "sh", "-euc", 'mount --bind "$0" /etc/passwd; exec "$@"', str(room / "passwd")]
    return words if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode == 0 else []


def run_as_user(program, gatehouse, *words, beside=(), needed=(), can_log_in=False):
    """The same program as nobody, from a copy that nobody can reach: with these words, the programs `beside` it, and
    the files that it needs. `can_log_in`: nobody has a home and a shell meanwhile, where root may mount."""
    room = pathlib.Path(tempfile.mkdtemp(prefix="mcp-user-"))
    become = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    try:
        room.chmod(0o755)
        (room / "tmp").mkdir(mode=0o700)
        shutil.chown(room / "tmp", "nobody")
        sources = [pathlib.Path(patience.__file__), *program.parent.glob("*.py")]
        programs = [path for path in gatehouse.parent.glob("gatehouse-*") if path.is_file()]
        if can_log_in:
            become = [*with_a_home(room), *become]
        for path in [*sources, gatehouse, *programs, *beside]:
            shutil.copy(path, room)
            (room / path.name).chmod(0o755)
        for path in needed:
            folder = room / path.parent.name
            folder.mkdir(exist_ok=True)
            shutil.copy(path, folder)
        for python in (sys.executable, "/usr/bin/python3"):
            if subprocess.run([*become, python, "-c", ""], stderr=subprocess.DEVNULL).returncode == 0:
                break
        environment = {**os.environ, "TMPDIR": str(room / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            [*become, python, room / program.name, room / "gatehouse", *words],
            env=environment, cwd=room,
        ).returncode
    finally:
        shutil.rmtree(room)


def main(needed=(), beside=()):
    """`needed` are files in a folder beside the program; `beside` are names of programs that the
    build makes beside without_syscall."""
    global GATEHOUSE, WITHOUT_SYSCALL
    parser = argparse.ArgumentParser()
    parser.add_argument("gatehouse", type=pathlib.Path)
    parser.add_argument("without_syscall", type=pathlib.Path)
    parser.add_argument("--as-user", action="store_true")
    given, rest = parser.parse_known_args()
    if given.as_user and os.geteuid() == 0:
        program = pathlib.Path(sys.argv[0]).resolve()
        sys.exit(run_as_user(program, given.gatehouse, given.without_syscall.name, *rest, needed=needed, beside=[
            given.without_syscall, *(given.without_syscall.parent / name for name in beside)]))
    GATEHOUSE, WITHOUT_SYSCALL = given.gatehouse.resolve(), given.without_syscall.resolve()
    program = unittest.main(module="__main__", argv=[sys.argv[0], *rest], verbosity=1, exit=False)
    for case, reason in program.result.skipped:
        print(f"skipped: {case.id()}: {reason}")
    sys.exit(0 if program.result.wasSuccessful() else 1)
