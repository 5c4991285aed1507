#!/usr/bin/env python3
"""The SDKs with the real `gatehouse authority`: what each operation does, what is refused, who decides, what ends.

The scripts of sdk/ are for JavaScript, each a topic; the cases here are for Python.

Arguments: gatehouse, and what unittest takes.
"""
import contextlib
import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
HERE = pathlib.Path(__file__).resolve().parent
SDK = HERE.parent.parent / "sdk"
sys.path[:0] = [str(HERE.parent / "support"), str(SDK / "python")]
from gatehouse_filesystem import Authority, Cancellation, FileSystemAuthorityError, Hook
from patience import PATIENCE, in_memory

GATEHOUSE = str(pathlib.Path(sys.argv[1]).resolve())
NODE = shutil.which("node")
TOPICS = ("operations", "boundary", "policy", "hooks", "grants", "extension", "hostile", "temp", "archive", "watch", "cancel", "load",
          "process", "audit")
ALL = ["read", "write", "delete", "list", "move", "archive", "watch", "metadata"]
HOST = {"type": "core", "id": "host"}


def environment(home):
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1",
            **{key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")}}


def processes_with(word):
    """Those that have it in their command line."""
    found = []
    for place in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(word).encode() in place.read_bytes() and int(place.parent.name) != os.getpid():
                found.append(int(place.parent.name))
    return found


def until(is_so, what):
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.01)


class Room(unittest.TestCase):
    def setUp(self):
        room = tempfile.TemporaryDirectory(dir=in_memory())
        self.addCleanup(room.cleanup)
        self.room = pathlib.Path(os.path.realpath(room.name))
        self.addCleanup(self.expect_no_process)

    def expect_no_process(self):
        until(lambda: not processes_with(self.room), "the end of all processes")


@unittest.skipUnless(NODE, "there is no node here")
class JavaScript(Room):
    def play(self, topic):
        command = [NODE, HERE / "sdk" / f"{topic}.mjs", GATEHOUSE, self.room, str(PATIENCE)]
        result = subprocess.run(command, env=environment(self.room), stdin=subprocess.DEVNULL, capture_output=True,
                                text=True, timeout=2 * PATIENCE)
        said = f"{result.stdout}{result.stderr}"
        self.assertEqual(result.returncode, 0, said)
        self.assertTrue(result.stdout.endswith("ok\n"), said)
        self.assertNotIn("ERROR: ", result.stderr)  # a sanitizer's

    def test_the_types_name_what_there_is(self):
        """Every method of the classes is in index.d.ts, and none besides."""
        script = ("import * as all from '%s'; const named = (one) => Object.getOwnPropertyNames(one.prototype);"
                  "console.log(JSON.stringify([Object.keys(all), named(all.Authority), named(all.ScopedFileSystem)]))")
        result = subprocess.run([NODE, "--input-type=module", "-e", script % (SDK / "javascript/index.js")],
                                capture_output=True, text=True, check=True, timeout=PATIENCE)
        types = (SDK / "javascript/index.d.ts").read_text()
        exported, *methods = json.loads(result.stdout)
        for name in {*exported, *methods[0], *methods[1]} - {"constructor"}:
            self.assertRegex(types, rf"\b{name}\b")
        self.assertEqual(sorted(exported), ["Authority", "FileSystemAuthorityError", "ScopedFileSystem", "createExtensionContext"])


for one in TOPICS:
    setattr(JavaScript, f"test_{one}", lambda self, topic=one: self.play(topic))


class Python(Room):
    def setUp(self):
        super().setUp()
        self.files = self.room / "files"
        self.workspace = self.files / "workspace"
        self.workspace.mkdir(parents=True)
        self.said = []

    def start(self, **settings):
        settings = {"directories": [self.files], "state_dir": self.room / "state", "command": GATEHOUSE, "log": self.said.append,
                    **settings}
        authority = Authority.start(**settings)
        self.addCleanup(authority.close)
        return authority

    def open(self, authority, root=None, **more):
        return authority.request_root(**{
            "subject": HOST, "access": ALL, "reason": "a test", "source": "core",
            "root": {"kind": "workspace", "id": "project", "path": str(self.workspace), **(root or {})}, **more})

    @contextlib.contextmanager
    def refused(self, code, category="policy"):
        with self.assertRaises(FileSystemAuthorityError) as caught:
            yield caught
        self.assertEqual((caught.exception.code, caught.exception.category), (code, category), str(caught.exception))

    def in_thread(self, act):
        """Runs it; the list gets its result or its error when it is over."""
        outcome = []

        def run():
            try:
                outcome.append(act())
            except Exception as error:
                outcome.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)
        return outcome

    def test_operations(self):
        with self.start() as authority, self.open(authority) as files:
            content = os.urandom(5 << 20)
            files.write_bytes("content", content)
            self.assertEqual(files.read_bytes("content"), content)
            self.assertEqual(files.read_bytes("content", offset=5, max_bytes=7), content[5:12])
            files.write_text("a/text", "Grüße\0\r\n", parents=True, create="new")
            self.assertEqual((self.workspace / "a/text").read_bytes(), "Grüße\0\r\n".encode())
            self.assertEqual(files.read_text("a/text"), "Grüße\0\r\n")
            files.write_json("json", {"ü": [1]})
            self.assertEqual(files.read_json("json"), {"ü": [1]})
            files.append("log", "one ")
            files.append("log", b"two")
            self.assertEqual(files.read_text("log"), "one two")
            about = files.stat("log")
            self.assertEqual((about["type"], about["size"]), ("file", 7))
            self.assertIn("modified_at", about)
            self.assertEqual((files.exists("log"), files.exists("none")), (True, False))
            self.assertEqual(sorted(entry["name"] for entry in files.list()), ["a", "content", "json", "log"])
            self.assertEqual(files.list("a", stat=True)[0]["size"], 10)
            below = [entry["name"] for entry in files.list(recursive=True, max_depth=2) if "/" in entry["name"]]
            self.assertEqual(below, ["a/text"])
            files.mkdir("b/c", parents=True)
            files.mkdir("b", may_exist=True)
            files.copy("log", "b/log")
            files.move("b/log", "b/c/log")
            temp = files.create_temp_workspace()
            temp.copy_in("log", files, "b/c/log")
            files.move_in("back", temp, "log")
            self.assertEqual((files.read_text("back"), temp.exists("log")), ("one two", False))
            temp.close()
            made = files.create_archive("b", "b.tar.gz")
            self.assertEqual(files.extract_archive("b.tar.gz", "again")["files"], made["files"])
            files.remove("b", recursive=True)
            files.remove("b", may_miss=True)
            files.write_text(b"odd\xff", "odd")
            self.assertEqual(files.read_text(b"odd\xff"), "odd")
            self.assertIn(b"odd\xff", [entry["name"] for entry in files.list()])
            self.assertEqual([grant["grant"] for grant in authority.grants()], [files.grant_id])
            self.assertEqual(authority.sandbox_arguments(), ["--rw", str(self.workspace)])

    def test_refusals(self):
        (self.files / "secret").write_text("secret")
        (self.workspace / "link").symlink_to(self.files / "secret")
        os.link(self.files / "secret", self.workspace / "second")
        authority = self.start()
        files = self.open(authority, policy={"denied_globs": ["*.key"], "max_file_bytes": 10})
        for name in ("../secret", str(self.files / "secret"), b"../secret"):
            for act in (files.read_bytes, files.stat, files.list, files.remove, files.exists):
                with self.refused("path_outside_root"):
                    act(name)
        with self.refused("hardlink_rejected"):
            files.read_text("second")
        with self.assertRaises(FileSystemAuthorityError) as caught:
            files.read_text("link")
        self.assertIn(caught.exception.code, ("path_outside_root", "symlink_rejected"))
        with self.refused("denied_by_policy"):
            files.write_text("a.key", "x")
        with self.refused("too_large"):
            files.write_text("a", "x" * 11)
        with self.refused("not_found", "operational") as caught:
            files.read_text("none")
        self.assertEqual(caught.exception.operation, "read")
        with self.refused("invalid_json"):
            files.write_text("a", "{")
            files.read_json("a")
        with self.refused("invalid_argument"):
            files.read_text("half \ud800")
        with self.refused("invalid_utf8"):
            files.write_text("a", "half \ud800")
        with self.refused("invalid_argument"):
            files.create_archive("a", "a.rar")
        with self.refused("invalid_argument"):
            files.copy_in("a", None, "b")
        with self.refused("too_large"):
            files.read_text("x" * (2 << 20))
        with self.refused("too_large"):
            files.write_bytes("a", bytes((64 << 20) + 1))
        with self.assertRaises(TypeError):
            files.read_text("a", scope=1)
        with self.refused("denied_by_policy"):
            self.open(authority, source="manifest")
        with self.refused("grant_expired"):
            self.open(authority, expires_at=datetime.datetime(2001, 1, 1, tzinfo=datetime.timezone.utc)).list()
        with self.refused("access_missing"):
            self.open(authority, access=["read"]).list()
        files.close()
        files.close()
        with self.refused("grant_revoked"):
            files.read_text("a")

    def test_who_decides(self):
        asked, seen, events, order = [], [], [], []

        def decide(context):
            seen.append(context)
            name = context.get("relative_path")
            if name == "throws":
                raise ValueError("the policy is broken")
            return {"denied": {"type": "deny", "reason": "not this"}, "nothing": None, "nonsense": "allow",
                    "ask": {"type": "ask-user", "prompt": "May it?"},
                    "default": {"type": "ask-user", "prompt": "May it?", "default": "allow"}}.get(name, {"type": "allow"})

        def ask(context, prompt):
            asked.append((context["relative_path"], prompt))
            return len(asked) == 1

        def before(context):
            if context["operation"] == "append" and context["reason"] == "a test":
                order.append("one")
                own.append("diary", "x")

        def before_second(context):
            return {"type": "deny", "reason": "by two"} if context.get("relative_path") == "two" else None

        hooks = [Hook("one", before, lambda context: order.append(context["outcome"])), Hook("two", before_second)]
        authority = self.start(policy=decide, ask=ask, hooks=hooks, on_event=events.append)
        own = self.open(authority, reason="of the hook")
        files = self.open(authority, interactive=True, subject={"type": "agent-run", "conversation_id": "talk", "run_id": "r"},
                          root={"display_name": "P", "labels": {"aB": "c"}})
        alone = self.open(authority)
        files.append("a", "x")
        self.assertEqual(own.read_text("diary"), "x")
        context = next(one for one in seen if one["operation"] == "append")
        self.assertEqual((context["subject"], context["root"], context["access"]), (
            {"type": "agent-run", "id": "talk", "run_id": "r"},
            {"kind": "workspace", "id": "project", "display_name": "P", "labels": {"aB": "c"}}, ["write"]))
        for name, words in (("denied", "not this"), ("nothing", ""), ("nonsense", ""), ("throws", "policy is broken"),
                            ("two", "by two")):
            with self.refused("denied_by_policy") as caught:
                files.write_text(name, "x")
            self.assertIn(words, str(caught.exception))
        self.assertTrue(any("policy is broken" in text for text in self.said))
        files.write_text("ask", "x")
        with self.refused("denied_by_policy"):
            files.write_text("ask", "x")
        self.assertEqual(asked, [("ask", "May it?")] * 2)
        with self.refused("ask_unavailable"):
            alone.write_text("ask", "x")
        alone.write_text("default", "x")
        until(lambda: any(one.get("relativePath") == "two" for one in events), "the event")
        appended = next(one for one in events if one.get("relativePath") == "a" and one["operation"] == "append")
        self.assertEqual(appended["wrapperIds"], ["one", "two"])
        until(lambda: order.count("failure") >= 1, "the end")
        self.assertIn("one", order)

    def test_nobody_waits_for_a_policy_that_never_answers(self):
        arrived, never = threading.Event(), threading.Event()

        def decide(context):
            if context.get("relative_path") == "held":
                arrived.set()
                never.wait()
            return {"type": "allow"}

        self.addCleanup(never.set)
        authority = self.start(policy=decide)
        files = self.open(authority)
        cancellation = Cancellation()
        held = [self.in_thread(lambda: files.write_text("held", "x", cancellation=cancellation)),
                self.in_thread(lambda: files.read_text("held")), self.in_thread(lambda: files.read_text("held"))]
        self.assertTrue(arrived.wait(PATIENCE))
        files.write_text("a", "x")
        cancellation.cancel()
        until(lambda: held[0], "the cancelled one")
        self.assertEqual(held[0][0].code, "cancelled")
        with self.refused("cancelled", "operational"):
            files.read_text("a", cancellation=cancellation)
        self.assertEqual(files.read_text("a", cancellation=Cancellation()), "x")
        authority.close()
        until(lambda: held[1] and held[2], "those that were pending")
        self.assertEqual([one[0].code for one in held[1:]], ["cancelled", "cancelled"])
        with self.refused("cancelled", "operational"):
            files.read_text("a")

    def test_grants_end(self):
        authority = self.start()
        files, changes = self.open(authority), []
        files.watch("", changes.append)
        files.write_text("a", "x")
        until(lambda: {"change": "created", "name": "a"} in changes, "the change")
        self.assertTrue(authority.revoke(files.grant_id))
        self.assertFalse(authority.revoke(files.grant_id))
        with self.refused("grant_revoked"):
            files.read_text("a")
        until(lambda: changes[-1] == {"change": "ended", "code": "grant_revoked"}, "the end of the watch")
        soon = self.open(authority, expires_at=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1))

        def has_ended():
            try:
                return not soon.exists("a")
            except FileSystemAuthorityError as error:
                return error.code == "grant_expired"

        until(has_ended, "its end")
        other, later = self.open(authority), []
        with other.watch("", later.append):
            other.write_text("b", "x")
            until(lambda: later, "the change")
        count = len(later)
        other.write_text("c", "x")
        second = []
        other.watch("", second.append)
        other.close()
        until(lambda: second and second[-1] == {"change": "ended", "code": "cancelled"}, "the end of the watch")
        self.assertEqual(len(later), count)
        self.assertEqual(authority.grants(), [])

    def test_many_threads(self):
        authority = self.start(policy=lambda context: {"type": "allow"}, hooks=[Hook("one"), Hook("two")])
        files = self.open(authority)
        wrong = []

        def work(number):
            for step in range(50):
                name, content = f"{number}-{step % 5}", os.urandom(step * 100)
                files.write_bytes(name, content)
                if files.read_bytes(name) != content:
                    wrong.append(name)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(len(files.list()), 100)

    def test_hooks_that_wait_for_each_other(self):
        """Each call of a hook uses the authority, whose hooks use the authority, and so on."""
        def before(context):
            depth = int(context.get("relative_path", "0"))
            if depth > 0:
                files.exists(str(depth - 1))

        authority = self.start(hooks=[Hook("deep", before)])
        files = self.open(authority)
        outcomes = [self.in_thread(lambda: files.exists("20")) for _ in range(5)]
        until(lambda: all(outcomes), "the outcomes")
        self.assertEqual(outcomes, [[False]] * 5)

    def test_the_process(self):
        for command in ("gatehouse-that-is-not-here", str(self.room / "gatehouse")):
            with self.refused("not_found", "operational") as caught:
                self.start(command=command)
            self.assertIn("install Gatehouse", str(caught.exception))
        with self.refused("invalid_argument"):
            self.start(hooks=[Hook("a"), Hook("a")])
        with self.refused("connection_lost", "operational"):
            self.start(command="/bin/true")
        arrived, never = threading.Event(), threading.Event()
        self.addCleanup(never.set)

        def decide(context):
            if context.get("relative_path"):
                arrived.set()
                never.wait()
            return {"type": "allow"}

        authority = self.start(policy=decide)
        files = self.open(authority)
        pending = self.in_thread(lambda: files.read_text("a"))
        self.assertTrue(arrived.wait(PATIENCE))
        os.kill(authority.pid, signal.SIGKILL)
        until(lambda: pending, "the rejection")
        self.assertEqual((pending[0].code, pending[0].category), ("connection_lost", "operational"))
        with self.refused("connection_lost", "operational"):
            files.read_text("a")
        files.close()
        memory = self.start(directories=(), memory=True)
        kept = self.open(memory)
        kept.write_text("a", "x")
        self.assertEqual((kept.read_text("a"), list(self.workspace.iterdir())), ("x", []))

    def test_a_host_that_is_killed_leaves_nothing(self):
        script = ("import sys, time; sys.path.insert(0, sys.argv[1]); from gatehouse_filesystem import Authority\n"
                  "a = Authority.start([sys.argv[3]], state_dir=sys.argv[4], command=sys.argv[2])\n"
                  "t = a.create_temp_workspace(subject={'type': 'core', 'id': 'host'}, reason='a draft')\n"
                  "t.write_text('a', 'x'); print(a.pid, a.grants()[0]['path'], flush=True); time.sleep(3600)")
        process = subprocess.Popen([sys.executable, "-c", script, SDK / "python", GATEHOUSE, self.files, self.room / "state"],
                                   stdout=subprocess.PIPE, text=True, env=environment(self.room))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        pid, place = process.stdout.readline().split()
        self.assertTrue(os.path.exists(place))
        process.kill()
        until(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the authority")
        until(lambda: not os.path.exists(place), "the removal")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
