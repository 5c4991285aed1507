#!/usr/bin/env python3
"""`gatehouse authority` as its host meets it, frame by frame: the order of requests, questions, ends, and frames
that break the rules. What the operations do is in test_sdk.py.

Arguments: gatehouse, and what unittest takes.
"""
import json
import os
import pathlib
import select
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # not into the sources
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from patience import PATIENCE, in_memory

GATEHOUSE = str(pathlib.Path(sys.argv[1]).resolve())
READY, REQUEST, RESULT, ERROR, CANCEL, QUESTION, ANSWER, EVENT, CHANGE = range(9)
ALL = ["read", "write", "delete", "list", "move", "archive", "watch", "metadata"]


class Host:
    """One process of the authority, with a directory for roots."""

    def __init__(self, *options, **settings):
        self.folder = tempfile.TemporaryDirectory(dir=in_memory())
        self.base = pathlib.Path(self.folder.name)
        self.root, self.state = self.base / "root", self.base / "state"
        self.root.mkdir()
        self.last = 0
        self.kept = []
        self.start(*options, **settings)

    def start(self, *options, configure=None, in_files=True):
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.base)}
        self.process = subprocess.Popen(
            [GATEHOUSE, "authority", "--state-dir", self.state, *options, *([self.root] if in_files else [])],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.ready = self.receive()
        if configure is not None:
            assert self.ask("configure", **configure)[1] == RESULT

    def end(self):
        """The exit status, and what it complained about."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        words = self.process.stderr.read().decode()
        status = self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()
        return status, words

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.process.kill()
            self.end()
        self.folder.cleanup()

    def send_bytes(self, data):
        while data:
            data = data[self.process.stdin.write(data):]

    def send(self, number, type_, message, content=b""):
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        body = struct.pack("<I", len(text)) + text + content
        self.send_bytes(struct.pack("<IIB", len(body) + 5, number, type_) + body)

    def read(self, size):
        """So many bytes, or fewer at the end."""
        data = bytearray()
        while len(data) < size:
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                raise TimeoutError
            piece = self.process.stdout.read(size - len(data))
            if not piece:
                break
            data += piece
        return bytes(data)

    def receive(self):
        """(number, type, JSON, content), or None at the end."""
        head = self.read(9)
        if len(head) < 9:
            return None
        length, number, type_ = struct.unpack("<IIB", head)
        body = self.read(length - 5)
        size = struct.unpack("<I", body[:4])[0]
        return number, type_, json.loads(body[4:4 + size]), body[4 + size:]

    def request(self, op, content=b"", **members):
        self.last += 1
        self.send(self.last, REQUEST, {"op": op} | members, content)
        return self.last

    def until(self, wanted):
        """The first frame for which this is true; the others are kept."""
        for frame in self.kept:
            if wanted(frame):
                self.kept.remove(frame)
                return frame
        while True:
            frame = self.receive()
            if frame is None or wanted(frame):
                return frame
            self.kept.append(frame)

    def result(self, number):
        return self.until(lambda frame: frame[0] == number and frame[1] in (RESULT, ERROR))

    def question(self, kind):
        return self.until(lambda frame: frame[1] == QUESTION and frame[2]["kind"] == kind)

    def ask(self, op, content=b"", **members):
        return self.result(self.request(op, content, **members))

    def begin_grant(self, **more):
        return self.request("requestRoot", **({
            "subject": {"type": "core", "id": "test"}, "root": {"kind": "workspace", "id": "w", "path": str(self.root)},
            "access": ALL, "reason": "a test", "source": "conversation"} | more))

    def grant(self, **more):
        return self.result(self.begin_grant(**more))[2]["scope"]


class Order(unittest.TestCase):
    def test_configure_comes_first_and_once(self):
        with Host() as host:
            self.assertEqual((host.ready[1], host.ready[2]["memory"]), (READY, False))
            self.assertEqual(host.ask("grants")[2]["code"], "invalid_argument")
            self.assertEqual(host.ask("configure")[1:3], (RESULT, {}))
            self.assertEqual(host.ask("configure")[2]["code"], "invalid_argument")
            self.assertEqual(host.ask("grants")[2], {"grants": []})
            self.assertEqual(host.end(), (0, ""))

    def test_configure_checks_hooks(self):
        for hooks in ("a", [1], [""], ["a", "a"], ["x" * 65], [str(i) for i in range(17)], ["a\0b"]):
            with Host() as host:
                self.assertEqual(host.ask("configure", hooks=hooks)[1], ERROR, hooks)

    def test_a_request_that_makes_no_sense_is_refused_alone(self):
        with Host(configure={}) as host:
            scope = host.grant()
            for members in ({"op": "nothing", "scope": scope}, {"op": "read"}, {"op": "read", "scope": 99, "name": "a"},
                            {"op": "read", "scope": -1, "name": "a"}, {"op": "read", "scope": scope},
                            {"op": "read", "scope": scope, "name": 1}, {"op": "read", "scope": scope, "nameHex": "f"},
                            {"op": "read", "scope": scope, "nameHex": "zz"},
                            {"op": "read", "scope": scope, "name": "a", "as": "poem"},
                            {"op": "read", "scope": scope, "name": "a", "offset": 1.5},
                            {"op": "write", "scope": scope, "name": "a", "mode": 0o4755},
                            {"op": "copyIn", "scope": scope, "source": 77, "from": "a", "to": "b"},
                            {"op": "unwatch", "watch": 5}):
                host.last += 1
                host.send(host.last, REQUEST, members)
                self.assertEqual(host.result(host.last)[1], ERROR, members)
            self.assertEqual(host.ask("list", scope=scope)[2], {"entries": []})

    def test_a_grant_needs_all_of_its_parts(self):
        whole = {"kind": "workspace", "id": "w", "path": "/"}
        with Host(configure={}) as host:
            for more in ({"subject": None}, {"subject": {"type": "user", "id": "u"}}, {"subject": {"type": "core"}},
                         {"root": whole | {"kind": "cellar"}}, {"root": whole | {"path": "relative"}},
                         {"root": whole | {"path": "/etc\0x"}}, {"access": []}, {"access": ["fly"]}, {"access": "read"},
                         {"reason": ""}, {"source": "hearsay"}, {"expiresAt": "tomorrow"},
                         {"policy": {"symlinks": "maybe"}}, {"policy": {"deniedGlobs": ["[z"]}},
                         {"policy": {"maxFileBytes": -1}}, {"policy": []}):
                self.assertEqual(host.result(host.begin_grant(**more))[1], ERROR, more)
            self.assertEqual(host.ask("grants")[2], {"grants": []})


class Place(unittest.TestCase):
    def test_roots_lie_in_the_directories_given(self):
        with Host(configure={}) as host:
            (host.base / "root-twin").mkdir()
            (host.root / "link").symlink_to(host.base)
            (host.root / "sub").mkdir()
            for path in ("/etc", "/", host.base, host.base / "root-twin", f"{host.root}/../root-twin", f"{host.root}/sub/../../state"):
                answer = host.result(host.begin_grant(root={"kind": "workspace", "id": "w", "path": str(path)}))
                self.assertEqual(answer[2].get("code"), "path_outside_root", path)
            host.grant(root={"kind": "workspace", "id": "w", "path": f"{host.root}/sub"})
            host.end()
            refused = [json.loads(line) for line in (host.state / "audit.jsonl").read_text().splitlines()]
            self.assertEqual(len([one for one in refused if one["outcome"] == "denied"]), 6)

    def test_gatehouses_own_places_are_never_granted(self):
        with Host() as host:
            host.end()
            host.start(str(host.base), configure={})
            for source in ("core", "user-approval"):
                answer = host.result(host.begin_grant(
                    source=source, root={"kind": "workspace", "id": "w", "path": str(host.state)}))
                self.assertEqual(answer[1], ERROR, source)
            scope = host.grant(root={"kind": "workspace", "id": "w", "path": str(host.base)})
            self.assertEqual(host.ask("read", scope=scope, name="state/audit.jsonl")[1], ERROR)

    def test_files_in_memory(self):
        with Host("--memory", in_files=False, configure={}) as host:
            self.assertTrue(host.ready[2]["memory"])
            scope = host.grant(root={"kind": "workspace", "id": "w", "path": "/anything"})
            host.ask("write", b"kept", scope=scope, name="a/b", parents=True)
            self.assertEqual(host.ask("read", scope=scope, name="a/b")[3], b"kept")
            self.assertEqual(list(host.root.iterdir()), [])


class Questions(unittest.TestCase):
    def test_who_is_asked_does_not_keep_others_waiting(self):
        with Host(configure={"policy": True}) as host:
            first = host.begin_grant()
            question = host.question("policy")
            self.assertEqual(host.ask("grants")[2], {"grants": []})
            host.send(question[0], ANSWER, {"type": "allow"})
            scope = host.result(first)[2]["scope"]
            # More than run at once, all of which wait.
            reads = [host.request("exists", scope=scope, name=str(i)) for i in range(50)]
            asked = [host.question("policy") for _ in reads]
            self.assertEqual(host.ask("revoke", grant=999)[2], {"revoked": False})
            for frame in asked:
                host.send(frame[0], ANSWER, {"type": "abstain"})
            for number in reads:
                self.assertEqual(host.result(number)[2], {"exists": False})

    def test_no_subject_keeps_another_waiting(self):
        greedy, modest = ({"type": "extension", "id": name} for name in ("greedy", "modest"))
        with Host(configure={"policy": True}) as host:
            scopes = []
            for subject in (greedy, modest):
                number = host.begin_grant(subject=subject)
                host.send(host.question("policy")[0], ANSWER, {"type": "allow"})
                scopes.append(host.result(number)[2])
            reads = [host.request("exists", scope=scopes[0]["scope"], name=str(i)) for i in range(4100)]
            self.assertEqual(host.result(reads[-1])[2]["code"], "busy")
            # 16 of them are asked about, and the other subject goes on.
            asked = [host.question("policy") for _ in range(16)]
            number = host.request("exists", scope=scopes[1]["scope"], name="a")
            question = host.question("policy")
            self.assertEqual(question[2]["context"]["subject"], modest)
            host.send(question[0], ANSWER, {"type": "allow"})
            self.assertEqual(host.result(number)[2], {"exists": False})
            # And it is let go, although a full queue waits.
            self.assertEqual(host.ask("revoke", grant=scopes[0]["grant"])[2], {"revoked": True})
            self.assertEqual([grant["grant"] for grant in host.ask("grants")[2]["grants"]], [scopes[1]["grant"]])
            release = host.request("release", scope=scopes[0]["scope"])
            for number in reads[:4000]:
                host.send(number, CANCEL, {})
            self.assertEqual(host.result(release)[1], RESULT)
            self.assertEqual(host.ask("exists", scope=scopes[0]["scope"], name="a")[2]["code"], "not_found")
            self.assertEqual(len(asked), 16)

    def test_large_requests_that_wait_are_few(self):
        with Host(configure={"policy": True}) as host:
            number = host.begin_grant(subject={"type": "extension", "id": "e"})
            host.send(host.question("policy")[0], ANSWER, {"type": "allow"})
            scope = host.result(number)[2]["scope"]
            last = [host.request("exists", scope=scope, name="a", more=[0] * 330000) for _ in range(40)][-1]
            self.assertEqual(host.result(last)[2]["code"], "busy")
            status = pathlib.Path(f"/proc/{host.process.pid}/status").read_text()
            resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
            if not os.environ.get("ASAN_OPTIONS") and not os.environ.get("TSAN_OPTIONS"):  # which need far more
                self.assertLess(resident, 400 << 10)
            host.process.kill()

    def test_a_policy_sees_the_name_that_is_used(self):
        with Host(configure={"policy": True}) as host:
            for policy, name, wanted in (({"symlinks": "reject"}, "./a//b/../c/", "a/c"), ({}, "./a//b/./c", "a/b/c"),
                                         ({"symlinks": "reject"}, f"{host.root}/./x", "x")):
                number = host.begin_grant(policy=policy)
                host.send(host.question("policy")[0], ANSWER, {"type": "allow"})
                number = host.request("exists", scope=host.result(number)[2]["scope"], name=name)
                question = host.question("policy")
                self.assertEqual(question[2]["context"]["relativePath"], wanted)
                host.send(question[0], ANSWER, {"type": "deny"})
                host.result(number)

    def test_no_answer_allows_nothing(self):
        with Host(configure={"policy": True}) as host:
            for answer in ({}, [], 1, {"type": "yes"}, {"type": 1}, {"allow": "true"}, {"type": "fail", "reason": "no idea"}):
                number = host.begin_grant()
                host.send(host.question("policy")[0], ANSWER, answer)
                self.assertEqual(host.result(number)[2].get("code"), "denied_by_policy", answer)

    def test_answers_to_nothing_are_ignored(self):
        with Host(configure={"policy": True}) as host:
            host.send(77, ANSWER, {"type": "allow"})
            number = host.begin_grant()
            question = host.question("policy")
            host.send(question[0], ANSWER, {"type": "deny", "reason": "first"})
            host.send(question[0], ANSWER, {"type": "allow"})
            self.assertIn("first", host.result(number)[2]["message"])

    def test_the_user_is_asked_only_where_somebody_looks(self):
        with Host(configure={"policy": True, "ask": True}) as host:
            for interactive, default, user, wanted in ((True, None, True, RESULT), (True, "allow", False, ERROR),
                                                       (False, None, None, ERROR), (False, "allow", None, RESULT)):
                number = host.begin_grant(interactive=interactive)
                host.send(host.question("policy")[0], ANSWER,
                          {"type": "ask-user", "prompt": "May it?"} | ({"default": default} if default else {}))
                if user is not None:
                    question = host.question("ask")
                    self.assertEqual(question[2]["prompt"], "May it?")
                    host.send(question[0], ANSWER, {"allow": user})
                answer = host.result(number)
                self.assertEqual(answer[1], wanted, (interactive, default, user))
                if not interactive and wanted == ERROR:
                    self.assertEqual(answer[2]["code"], "ask_unavailable")

    def test_a_cancelled_request_ends_while_its_question_waits(self):
        with Host(configure={"policy": True}) as host:
            number = host.begin_grant()
            host.question("policy")
            host.send(number, CANCEL, {})
            self.assertEqual(host.result(number)[2]["code"], "cancelled")
            self.assertEqual(host.ask("grants")[2], {"grants": []})


class Ends(unittest.TestCase):
    def test_the_end_of_the_input_ends_what_waits(self):
        with Host(configure={"policy": True}) as host:
            number = host.begin_grant()
            host.question("policy")
            host.process.stdin.close()
            self.assertEqual(host.result(number)[2]["code"], "cancelled")
            self.assertEqual(host.end()[0], 0)

    def test_temporary_workspaces_go_with_their_host(self):
        with Host(configure={}) as host:
            subject = {"type": "extension", "id": "e"}
            scope = host.ask("createTemp", subject=subject, reason="render")[2]["scope"]
            host.ask("write", b"x", scope=scope, name="deep/file", parents=True)
            self.assertEqual(len(list((host.state / "temp").iterdir())), 1)
            host.end()
            self.assertEqual(list((host.state / "temp").iterdir()), [])
            # After a kill, the next start removes them.
            host.start(configure={})
            host.ask("createTemp", subject=subject, reason="render")
            host.process.kill()
            host.end()
            host.start(configure={})
            host.end()
            self.assertEqual(list((host.state / "temp").iterdir()), [])

    def test_nothing_is_torn_when_it_is_killed(self):
        old, new = b"old" * 100000, b"new" * 100000
        with Host(configure={}) as host:
            (host.root / "a").write_bytes(old)
            for _ in range(10):
                scope = host.grant()
                for _ in range(20):
                    host.request("write", new, scope=scope, name="a")
                    host.request("write", old, scope=scope, name="a")
                host.process.kill()
                host.end()
                self.assertIn((host.root / "a").read_bytes(), (old, new))
                host.kept.clear()
                host.start(configure={})
            host.end()
            self.assertEqual([path.name for path in host.root.iterdir()], ["a"])

    def test_frames_that_break_the_rules_end_it(self):
        for data in (b"\0\0\0\0\0\0\0\0\0", b"\xff" * 64, struct.pack("<IIB", 9, 1, 99) + b"\0\0\0\0",
                     struct.pack("<IIB", 9, 1, RESULT) + b"\0\0\0\0", struct.pack("<IIB", 9, 1, REQUEST) + b"\xff\0\0\0",
                     struct.pack("<IIB", 9, 1, REQUEST) + b"\0\0\0\0", struct.pack("<IIB", 11, 1, REQUEST) + b"\2\0\0\0{]",
                     struct.pack("<IIB", 11, 1, REQUEST) + b"\2\0\0\0{}", struct.pack("<IIB", 11, 1, ANSWER) + b"\2\0\0\0{]"):
            with Host(configure={}) as host:
                host.send_bytes(data)
                self.assertIsNone(host.receive(), data)
                status, words = host.end()
                self.assertEqual(status, 1, data)
                self.assertIn("protocol error from the host", words)

    def test_too_much_is_refused(self):
        with Host(configure={}) as host:
            scope = host.grant()
            content = b"x" * (64 << 20)
            self.assertEqual(host.ask("write", content, scope=scope, name="large")[1], RESULT)
            self.assertEqual(host.ask("read", scope=scope, name="large")[3], content)
            with open(host.root / "large", "ab") as large:
                large.write(b"x")
            self.assertEqual(host.ask("read", scope=scope, name="large")[2]["code"], "too_large")
            # One byte at a time is no trouble.
            host.last += 1
            text = json.dumps({"op": "grants"}).encode()
            for byte in struct.pack("<IIBI", len(text) + 9, host.last, REQUEST, len(text)) + text:
                host.send_bytes(bytes([byte]))
            self.assertEqual(host.result(host.last)[1], RESULT)
            host.send_bytes(struct.pack("<IIB", (66 << 20), 1, REQUEST))
            self.assertIsNone(host.receive())

    def test_scopes_and_watches_have_a_limit_and_are_freed(self):
        with Host(configure={}) as host:
            scopes = [host.grant() for _ in range(1024)]
            self.assertEqual(host.result(host.begin_grant())[2]["code"], "busy")
            watch = host.ask("watch", scope=scopes[0])[2]["watch"]
            for scope in scopes[:-1]:
                self.assertEqual(host.ask("release", scope=scope)[1], RESULT)
            self.assertEqual(host.ask("release", scope=scopes[0])[1], RESULT)
            self.assertEqual(host.ask("unwatch", watch=watch)[1], ERROR)
            self.assertEqual(host.ask("exists", scope=scopes[0], name="a")[2]["code"], "not_found")
            self.assertEqual(len(host.ask("grants")[2]["grants"]), 1)

    def test_no_change_comes_before_the_number_of_its_watch(self):
        with Host(configure={}) as host:
            scope = host.grant()
            for i in range(100):
                number = host.request("watch", scope=scope)
                host.request("write", b"x", scope=scope, name=f"a{i}")
                watch = host.result(number)[2]["watch"]
                self.assertEqual([frame for frame in host.kept if frame[1] == CHANGE and frame[0] == watch], [])
                host.ask("unwatch", watch=watch)
                host.kept.clear()

    def test_busy_directories_keep_no_request_waiting(self):
        with Host(configure={}) as host:
            scopes = [host.grant() for _ in range(2)]
            watches = {host.ask("watch", scope=scopes[0])[2]["watch"] for _ in range(300)}
            for i in range(500):
                (host.root / f"a{i}").write_text("x")
            # Its answer comes before most of the changes.
            number = host.request("exists", scope=scopes[1], name="a1")
            self.assertEqual(host.result(number)[2], {"exists": True})
            self.assertLess(len(host.kept), 300 * 500 / 2)
            # All of them are told in the end.
            told = {frame[0] for frame in host.kept if frame[1] == CHANGE and frame[2].get("name") == "a499"}
            while told != watches:
                frame = host.receive()
                told |= {frame[0]} if frame[1] == CHANGE and frame[2].get("name") in ("a499", None) else set()

    def test_a_watch_ends_with_its_grant(self):
        with Host(configure={}) as host:
            answer = host.result(host.begin_grant())[2]
            watch = host.ask("watch", scope=answer["scope"])[2]["watch"]
            (host.root / "b").write_text("1")
            change = host.until(lambda frame: frame[1] == CHANGE)
            self.assertEqual((change[0], change[2]["name"]), (watch, "b"))
            self.assertEqual(host.ask("revoke", grant=answer["grant"])[2], {"revoked": True})
            (host.root / "c").write_text("1")
            end = host.until(lambda frame: frame[1] == CHANGE and frame[2].get("ended"))
            self.assertEqual(end[2]["code"], "grant_revoked")
            self.assertEqual(host.ask("list", scope=answer["scope"])[2]["code"], "grant_revoked")


class Walls(unittest.TestCase):
    def test_it_is_confined_before_its_first_frame(self):
        with Host(configure={}) as host:
            status = pathlib.Path(f"/proc/{host.process.pid}/status").read_text()
            self.assertRegex(status, r"Seccomp:\s+2")
            self.assertRegex(status, r"NoNewPrivs:\s+1")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
