#!/usr/bin/env python3
"""A second front end: drives gatehouse-toolhost over its socket, as docs/internals/program-toolhost.md says.

Arguments: gatehouse-toolhost, hung_fuse, and, to run all of it as an ordinary user instead,
as_ordinary_user.
"""
import array
import collections
import contextlib
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import time

import toolhost_front
from media_scene import noise
from toolhost_front import (
    CANCEL, CHANGE, DROP, ERROR, HUNG_FUSE, LOST, PREPARE, PREPARED, PREVIEW, PREVIEWED, PROGRESS,
    PATIENCE, RESULT, RULES, RUN, TOOLHOST, Closed, Frame, Scene, header, text_of,
)


class Media(Scene):
    def test_an_image_over_the_limit_is_scaled_down(self):
        (self.root / "a.png").write_bytes(noise(800, 600))
        front = self.started(has_media=True)
        result = front.run("read_file", {"filePath": "a.png"}).body
        if "not installed" in json.dumps(result):
            print("skipped: libvips is not installed")
            self.skipTest("not installed")
        self.assertEqual(result["content"][0]["mimeType"], "image/jpeg")

    def test_without_a_socket_for_it_one_is_refused(self):
        (self.root / "a.png").write_bytes(noise(800, 600))
        self.assertIn("the limit is", str(self.started().run("read_file", {"filePath": "a.png"}).body))


class Start(Scene):
    def test_the_first_frame_says_what_there_is(self):
        ready = self.start().ready()
        self.assertEqual(ready["wire"], 3)
        self.assertRegex(ready["version"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(ready["root"], str(self.root.resolve()))
        self.assertLessEqual({"read_file", "write_file", "undo_changes"}, set(ready["tools"]))
        self.assertEqual({wall["name"] for wall in ready["walls"]},
                         {"descriptors", "privileges", "memory", "core", "files", "calls"})
        for wall in ready["walls"]:
            self.assertTrue(wall["detail"])
            if wall["name"] != "files":  # an old kernel has no Landlock
                self.assertTrue(wall["stands"], wall)
        self.assertGreater(ready["maxRequestBytes"], 512 << 10)

    def test_tools_that_change_something_are_not_there_unless_asked_for(self):
        front = self.start("--log-level", "warn")
        self.assertNotIn("write_file", front.ready()["tools"])
        error = front.refusal("write_file", {"filePath": "a", "content": ""})
        self.assertEqual(error["error"], "not_found")
        self.assertFalse((self.root / "a").exists())

    def test_it_says_what_is_wrong_with_its_command_line(self):
        with open("/dev/null", "rb") as file:  # a descriptor, but no socket
            for arguments, words in (
                (["--state-dir", self.state], "DIR"),
                ([self.root], "--state-dir"),
                (["--state-dir", self.state, "--fd", "2", self.root], "--fd"),
                (["--state-dir", self.state, "--fd", "99", self.root], "descriptor 99"),
                (["--state-dir", self.state, "--fd", str(file.fileno()), self.root], "no local"),
                (["--nothing", self.root], "--nothing"),
            ):
                result = subprocess.run([TOOLHOST, *arguments], pass_fds=[file.fileno()],
                                        stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
                self.assertEqual(result.returncode, 2, arguments)
                self.assertIn(words, result.stderr)
        self.assertFalse(self.state.exists())

    def test_a_folder_that_is_not_there_is_refused_in_words(self):
        front = self.start(root=self.place / "missing")
        with self.assertRaises(Closed):
            front.receive()
        self.assertEqual(front.process.wait(PATIENCE), 1)
        self.assertIn("missing", front.told())

    def test_no_record_is_written_here(self):
        front = self.started()
        text_of(front.run("write_file", {"filePath": "a", "content": "x"}))
        self.assertEqual(front.close(), 0)
        self.assertEqual(list(self.state.rglob("audit*")), [])


class Confinement(Scene):
    def test_it_has_given_up_what_it_does_not_need(self):
        front = self.started()
        status = pathlib.Path(f"/proc/{front.process.pid}/status").read_text()
        self.assertRegex(status, r"(?m)^Seccomp:\t2$")
        self.assertRegex(status, r"(?m)^NoNewPrivs:\t1$")

    def test_only_descriptors_that_it_needs_are_open(self):
        if os.geteuid() != 0:
            self.skipTest("only root may look at the descriptors of a process that is shut")
        kept, given = os.pipe()
        front = self.started(pass_fds=(kept, given), has_media=True)
        names = {}
        for path in pathlib.Path(f"/proc/{front.process.pid}/fd").iterdir():
            names[int(path.name)] = os.readlink(path)
        passed = os.readlink(f"/proc/self/fd/{given}")
        os.close(kept)
        os.close(given)
        self.assertNotIn(passed, names.values())
        self.assertEqual((names[0], names[1]), ("/dev/null", "/dev/null"))
        sockets = [name for name in names.values() if name.startswith("socket:")]
        self.assertEqual((len(sockets), len(set(sockets))), (3, 2),
                         "one socket, twice, and one to gatehouse-media")
        allowed = re.compile(r"/dev/null$|socket:|pipe:|anon_inode:\[(eventpoll|eventfd|timerfd)\]|"
                             rf"{re.escape(str(self.place))}/(root|state)(/|$)")
        for number, name in names.items():
            if number != 2:
                self.assertRegex(name, allowed)

    def test_descriptors_that_come_unasked_are_closed(self):
        front = self.started()
        call = header(1, PREPARE, 0)
        pipes = [os.pipe() for _ in range(20)]
        body = json.dumps({"tool": "read_file", "arguments": {"filePath": "notes.txt"},
                           "timeoutMs": PATIENCE * 1000}).encode()
        for reader, writer in pipes:
            front.calls += 1
            call = header(front.calls, PREPARE, len(body)) + body
            front.socket.sendmsg([call], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                           array.array("i", [writer]))])
            self.assertEqual(front.receive().type, PREPARED)
            # Nobody else holds the writing end: the reader sees the end at once.
            os.close(writer)
            os.set_blocking(reader, False)
            self.assertEqual(os.read(reader, 1), b"")
            os.close(reader)

    def test_signals_of_a_terminal_are_the_fronts_to_answer(self):
        front = self.started()
        front.process.send_signal(signal.SIGINT)
        front.process.send_signal(signal.SIGHUP)
        self.assertEqual(text_of(front.run("read_file", {"filePath": "notes.txt"}))["content"],
                         "one\ntwo\n")
        front.process.send_signal(signal.SIGTERM)
        self.assertEqual(front.process.wait(PATIENCE), 0)


class Calls(Scene):
    def test_a_call_is_prepared_and_run(self):
        front = self.started()
        call, resources = front.prepared("read_file", {"filePath": "./notes.txt"})
        self.assertEqual(resources, [{"access": "reads", "given": "./notes.txt",
                                      "resolved": "notes.txt"}])
        front.send(call, RUN)
        frame = front.last_of(call)
        self.assertEqual(text_of(frame)["content"], "one\ntwo\n")
        # Whole, as a client gets it.
        self.assertEqual(json.loads(frame.body["content"][0]["text"]),
                         frame.body["structuredContent"])
        self.assertEqual(front.close(), 0)

    def test_resources_are_told_by_where_they_are(self):
        (self.root / "link").symlink_to("sub")
        front = self.started()
        _, resources = front.prepared("write_file", {"filePath": "link/new/a", "content": ""})
        self.assertEqual([(r["access"], r["resolved"]) for r in resources],
                         [("writes", "sub/new/a")])
        _, resources = front.prepared("move", {"sourcePath": "notes.txt",
                                               "destinationPath": "link/b"})
        self.assertEqual({r["resolved"] for r in resources}, {"notes.txt", "sub/b"})
        _, resources = front.prepared("list_files", {"dirPath": "."})
        self.assertEqual([(r["access"], r["resolved"]) for r in resources], [("lists", "")])
        self.assertEqual(self.names(), ["link", "notes.txt", "sub"])

    def test_files_of_other_folders_are_told_and_changed_by_whole_paths(self):
        readable, writable = self.place / "readable", self.place / "writable"
        for folder in (readable, writable):
            folder.mkdir()
            (folder / "two").write_text("2")
        front = self.start("--rw", writable, "--ro", readable)
        ready = front.ready()
        self.assertEqual(ready["root"], str(self.root))
        self.assertIn("write_file", ready["tools"])
        for folder in (readable, writable):
            _, resources = front.prepared("read_file", {"filePath": f"{folder}/two"})
            self.assertEqual([(r["access"], r["resolved"]) for r in resources], [("reads", f"{folder}/two")])
            self.assertEqual(text_of(front.run("read_file", {"filePath": f"{folder}/two"}))["content"], "2")
        text_of(front.run("write_file", {"filePath": f"{writable}/new", "content": "x"}))
        self.assertEqual((writable / "new").read_text(), "x")
        for name in ("here", f"{readable}/two"):
            error = front.refusal("write_file", {"filePath": name, "content": "x"})
            self.assertEqual(error["error"], "access_missing")
        self.assertEqual((readable / "two").read_text(), "2")

    def test_what_has_to_be_allowed_is_told_by_whole_paths(self):
        (self.root / "link").symlink_to("notes.txt")
        front = self.started()
        _, body = front.prepared_body("read_file", {"filePath": "link"})
        self.assertEqual(body["consent"], [{
            "group": "filesystemRead", "given": f"{self.root}/link",
            "resolved": f"{self.root}/notes.txt", "operation": "reads"}])
        self.assertFalse(body["deletes"])
        _, body = front.prepared_body("delete", {"path": "notes.txt"})
        self.assertEqual([(c["group"], c["operation"]) for c in body["consent"]],
                         [("filesystemRead", "looksUp"), ("filesystemWrite", "deletes")])
        self.assertTrue(body["deletes"])

    def test_another_change_to_undo_has_another_mark(self):
        front = self.started()
        marks = []
        for name in ("a", "b"):
            text_of(front.run("write_file", {"filePath": name, "content": name}))
            marks += [front.prepared_body("undo_changes", {})[1]["mark"] for _ in range(2)]
        self.assertEqual((marks[0], marks[2]), (marks[1], marks[3]))
        self.assertNotEqual(marks[0], marks[2])

    def test_a_preview_tells_what_would_be_done_and_does_nothing(self):
        front = self.started()
        call, _ = front.prepared("edit_file", {"filePath": "notes.txt", "oldString": "two",
                                               "newString": "three"})
        for disclosure, is_diff in (("all", True), ("user", True), ("nothing", False)):
            frame = front.preview(call, disclosure)
            self.assertEqual((frame.type, frame.body["isDiff"]), (PREVIEWED, is_diff), frame)
            self.assertIn("three", frame.body["detail"])
            # What it stands beside is content, and is told to whom it may be.
            self.assertEqual("one" in frame.body["detail"], is_diff)
        self.assertEqual((self.root / "notes.txt").read_text(), "one\ntwo\n")
        front.send(call, RUN)
        text_of(front.last_of(call))
        self.assertEqual((self.root / "notes.txt").read_text(), "one\nthree\n")

    def test_a_call_that_would_fail_ends_with_its_preview(self):
        front = self.started()
        call, _ = front.prepared("edit_file", {"filePath": "notes.txt", "oldString": "none",
                                               "newString": "x"})
        self.assertEqual(front.preview(call).type, ERROR)

    def test_a_preview_of_nothing_is_no_request(self):
        for body in (b'{"disclosure":"everything"}', b"{}"):
            front = self.started()
            call, _ = front.prepared("read_file", {"filePath": "notes.txt"})
            front.send(call, PREVIEW, body)
            self.assert_refused_for_good(front, "may be shown")

    def test_rules_of_the_front_hide_names(self):
        (self.root / "sub" / ".secret").write_text("two = secret\n")
        front = self.started()

        def found():
            result = text_of(front.run("search_files", {"query": "two"}))
            return {match["path"] for match in result["matches"]}

        self.assertEqual(found(), {"notes.txt", "sub/.secret"})
        front.deny(("filesystemRead", "glob:**/.secret"))
        self.assertEqual(found(), {"notes.txt"})
        front.deny(("filesystemRead", f"dir:{self.root}/sub"), ("filesystemWrite", "glob:*.txt"))
        self.assertEqual(found(), {"notes.txt"})
        self.assertEqual(front.refusal("write_file", {"filePath": "notes.txt", "content": ""})
                         ["category"], "policy")
        self.assertEqual((self.root / "notes.txt").read_text(), "one\ntwo\n")
        front.deny()
        self.assertEqual(found(), {"notes.txt", "sub/.secret"})

    def test_rules_that_cannot_be_read_end_it(self):
        for body, message in (
            (b"{}", "list of deny rules is missing"),
            (b'{"deny":[{"group":"shell","match":"ls"}]}', "a file rule"),
            (b'{"deny":[{"group":"filesystemRead","match":"dir:sub"}]}', "absolute"),
            (b'{"deny":[{"group":"filesystemRead","match":"dir:/x","expiresMs":"1"}]}', "number"),
        ):
            with self.subTest(body):
                front = self.started()
                front.send(0, RULES, body)
                self.assert_refused_for_good(front, message)

    def test_what_the_front_keeps_is_out_of_reach(self):
        for option in ("--settings-dir", "--record-dir"):
            with self.subTest(option):
                kept = self.root / option.strip("-")
                kept.mkdir()
                (kept / "settings.json").write_text("two")
                front = self.start("--write", option, str(kept))
                front.ready()
                name = f"{kept.name}/settings.json"
                self.assertEqual(front.refusal("read_file", {"filePath": name})["category"],
                                 "policy")
                self.assertEqual(
                    [match["path"] for match in text_of(
                        front.run("search_files", {"query": "two"}))["matches"]], ["notes.txt"])
                shutil.rmtree(kept)

    def test_preparing_changes_nothing_and_neither_does_dropping(self):
        front = self.started()
        call, _ = front.prepared("write_file", {"filePath": "a", "content": "x"})
        front.send(call, DROP)
        front.send(call, RUN)  # crosses with nothing: it is gone
        text_of(front.run("stat_file", {"path": "notes.txt"}))
        self.assertEqual(self.names(), ["notes.txt", "sub"])

    def test_a_link_that_comes_between_the_phases_is_refused(self):
        outside = self.place / "outside"
        outside.mkdir()
        (outside / "secret").write_text("secret")
        (self.root / "sub" / "a").write_text("mine")
        front = self.started()
        read, _ = front.prepared("read_file", {"filePath": "sub/a"})
        write, _ = front.prepared("write_file", {"filePath": "sub/secret", "content": "gone"})
        inner, _ = front.prepared("read_file", {"filePath": "notes.txt"})
        (self.root / "sub" / "a").unlink()
        (self.root / "sub").rmdir()
        (self.root / "sub").symlink_to(outside)
        (outside / "a").write_text("theirs")
        (self.root / "notes.txt").rename(self.root / "real.txt")
        (self.root / "notes.txt").symlink_to("real.txt")  # stays in the root, and was not asked for
        for call in (read, write, inner):
            front.send(call, RUN)
            frame = front.last_of(call)
            self.assertTrue(frame.body.get("isError"), frame)
            self.assertIn("link", frame.body["content"][0]["text"])
            self.assertNotIn("theirs", str(frame.body))
        self.assertEqual((outside / "secret").read_text(), "secret")

    def test_names_that_are_refused_are_refused_when_preparing(self):
        (self.root / ".env").write_text("KEY=1")
        (self.root / "out").symlink_to("/etc")
        (self.root / "innocent").symlink_to(".env")
        front = self.started("--write", "--deny", "**/.env")
        for tool, arguments, names in (
            ("read_file", {"filePath": ".env"}, ["denied_by_policy"]),
            ("read_file", {"filePath": "sub/../.env"}, ["denied_by_policy"]),
            ("read_file", {"filePath": "innocent"}, ["denied_by_policy"]),
            ("write_file", {"filePath": "sub/.env", "content": ""}, ["denied_by_policy"]),
            ("read_file", {"filePath": "../root/notes.txt"}, ["path_outside_root"]),
            ("read_file", {"filePath": "/etc/passwd"}, ["path_outside_root", "invalid_path"]),
            ("read_file", {"filePath": "out/passwd"}, ["path_outside_root", "symlink_rejected"]),
        ):
            error = front.refusal(tool, arguments)
            self.assertIn(error["error"], names, arguments)
            self.assertEqual(error["category"], "policy")
            self.assertTrue(error["message"] and error["field"], error)
            self.assertNotIn("hasBegun", error)
        self.assertNotIn(".env", str(text_of(front.run("list_files", {"dirPath": "."}))))

    def test_arguments_and_tools_are_checked_when_preparing(self):
        front = self.started()
        self.assertEqual(front.refusal("read_file", {"filePath": 3})["error"], "schema_mismatch")
        self.assertEqual(front.refusal("read_file", {})["error"], "schema_mismatch")
        self.assertEqual(front.refusal("shell_execute", {"command": "id"})["error"], "not_found")
        self.assertEqual(front.refusal("no\0tool", {})["error"], "not_found")
        # And goes on.
        text_of(front.run("read_file", {"filePath": "notes.txt"}))

    def test_a_tool_that_fails_is_a_result(self):
        front = self.started()
        frame = front.run("read_file", {"filePath": "nothing"})
        self.assertEqual(frame.type, RESULT)
        self.assertTrue(frame.body["isError"])

    def test_changes_are_made_and_undone(self):
        front = self.started()
        text_of(front.run("write_file", {"filePath": "notes.txt", "content": "new\n"}))
        self.assertEqual((self.root / "notes.txt").read_text(), "new\n")
        text_of(front.run("undo_changes", {}))
        self.assertEqual((self.root / "notes.txt").read_text(), "one\ntwo\n")

    def test_a_cancelled_call_has_one_answer(self):
        front = self.started()
        call, _ = front.prepared("write_file", {"filePath": "a", "content": "x"})
        front.send(call, CANCEL)
        frame = front.receive()
        self.assertEqual((frame.call, frame.type, frame.body["error"]), (call, ERROR, "cancelled"))
        front.send(call, CANCEL)  # not known any more
        front.send(call, RUN)
        # While it is prepared or run, either may come first; never both, and never neither.
        for _ in range(50):
            call = front.prepare("stat_file", {"path": "notes.txt"})
            front.send(call, CANCEL)
            frame = front.receive()
            self.assertEqual(frame.call, call)
            if frame.type == PREPARED:
                self.assertEqual(front.receive()[:2], (call, ERROR))
            else:
                self.assertEqual(frame.body["error"], "cancelled")
        for _ in range(50):
            call, _ = front.prepared("stat_file", {"path": "notes.txt"})
            front.send(call, RUN)
            front.send(call, CANCEL)
            frame = front.last_of(call)
            if frame.type == ERROR:
                self.assertEqual(frame.body["error"], "cancelled")
        text_of(front.run("stat_file", {"path": "notes.txt"}))
        self.assertFalse((self.root / "a").exists())

    def test_a_call_that_nobody_decides_on_ends_by_itself(self):
        front = self.started()
        call, _ = front.prepared("write_file", {"filePath": "a", "content": "x"}, keepMs=50)
        frame = front.receive()
        self.assertEqual((frame.call, frame.type, frame.body["error"]), (call, ERROR, "timed_out"))
        front.send(call, RUN)  # crossed with the answer
        front.send(call, DROP)
        text_of(front.run("read_file", {"filePath": "notes.txt"}))
        self.assertFalse((self.root / "a").exists())

    def test_a_number_is_free_again_when_its_call_has_ended(self):
        front = self.started()
        for _ in range(3):
            front.calls = 6
            text_of(front.run("read_file", {"filePath": "notes.txt"}))

    def test_five_hundred_calls_at_once(self):
        front = self.started()
        for number in range(500):
            if number % 2:
                front.prepare("read_file", {"filePath": "notes.txt"})
            else:
                front.prepare("write_file", {"filePath": f"new/{number}", "content": str(number)})
        waiting = set(range(1, 501))
        ended = set()
        while waiting or len(ended) < 500:
            frame = front.receive()
            if frame.type == PREPARED:
                waiting.remove(frame.call)
                front.send(frame.call, RUN)
            elif frame.type not in (PROGRESS, CHANGE):
                self.assertEqual(frame.type, RESULT, frame)
                self.assertNotIn("isError", frame.body)
                self.assertNotIn(frame.call, ended)
                ended.add(frame.call)
        self.assertEqual(len(list((self.root / "new").iterdir())), 250)
        self.assertEqual((self.root / "new" / "42").read_text(), "42")

    def test_more_calls_than_there_may_be_are_refused_one_by_one(self):
        front = self.started()
        answers = collections.Counter()
        for _ in range(1100):
            front.prepare("stat_file", {"path": "notes.txt"})
        for _ in range(1100):
            frame = front.receive()
            answers[frame.type if frame.type == PREPARED else frame.body["error"]] += 1
        self.assertEqual(answers, {PREPARED: 1024, "busy": 76})
        front.send(1, DROP)
        text_of(front.run("stat_file", {"path": "notes.txt"}))

    def test_requests_that_hold_too_much_memory_together_are_refused(self):
        front = self.started()
        content = "x" * (8 << 20)
        answers = collections.Counter()
        for _ in range(40):
            front.prepare("write_file", {"filePath": "big", "content": content})
            frame = front.receive()
            answers[frame.type if frame.type == PREPARED else frame.body["error"]] += 1
        self.assertGreater(answers[PREPARED], 4)
        self.assertGreater(answers["busy"], 4)
        for call in range(1, 41):
            front.send(call, DROP)
        text_of(front.run("write_file", {"filePath": "small", "content": "x"}))

    def test_a_front_that_does_not_read_is_waited_for(self):
        line = "x" * 1000 + "\n"
        (self.root / "wide").write_text(line * 400)
        front = self.started()
        calls = []
        for _ in range(200):
            call, _ = front.prepared("read_file", {"filePath": "wide", "maxLines": 500})
            calls.append(call)
        # In one piece: a front that sends much must read meanwhile.
        front.socket.sendall(b"".join(header(call, RUN, 0) for call in calls))
        # 200 results are some 160 MB; what stands in between must not hold them all.
        status = pathlib.Path(f"/proc/{front.process.pid}/status")
        text_of(front.last_of(*calls))
        peak = int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1])
        for _ in calls[1:]:
            text_of(front.last_of(*calls))
        if b"__sanitizer_" not in TOOLHOST.read_bytes():
            self.assertLess(peak, 64 << 10)

    def test_long_work_tells_how_far_it_is(self):
        with open(self.root / "long", "w") as file:
            file.write("line\n" * 10000)
            file.truncate(3 << 30)  # takes a while to read, and no room
        front = self.started()
        call, _ = front.prepared("read_file", {"filePath": "long", "startLine": 10 ** 6})
        front.send(call, RUN)
        frame = front.receive()
        done = 0
        while frame.type == PROGRESS:
            self.assertGreater(frame.body["done"], done)
            done = frame.body["done"]
            self.assertEqual(frame.body["total"], 3 << 30)
            self.assertTrue(frame.body["what"])
            frame = front.receive()
        self.assertEqual(frame.type, RESULT)
        self.assertGreater(done, 0)

    def test_long_work_is_cancelled_and_over_in_time(self):
        with open(self.root / "long", "w") as file:
            file.write("line\n" * 10000)
            file.truncate(1 << 40)
        front = self.started()
        call, _ = front.prepared("read_file", {"filePath": "long", "startLine": 10 ** 6})
        front.send(call, RUN)
        self.assertEqual(front.receive().type, PROGRESS)
        front.send(call, CANCEL)
        error = front.last_of(call).body
        self.assertEqual((error["error"], error["hasBegun"]), ("cancelled", True))
        run_until_over(front, "read_file", {"filePath": "long", "startLine": 10 ** 6})
        text_of(front.run("read_file", {"filePath": "notes.txt"}))
        self.assertEqual(front.close(), 0)


# Of calls that hang: a later one where the machine was so slow that none hung in time.
DEADLINES_MS = (300, 3000, 30000, 120000)


def run_until_over(front, tool, arguments, has_hung=lambda: True):
    """Runs what does not end before its deadline; again where it had not even begun by then."""
    for timeout_ms in DEADLINES_MS:
        call = front.prepare(tool, arguments, timeout_ms=timeout_ms)
        frame = front.last_of(call)
        if frame.type == PREPARED:
            front.send(call, RUN)
            frame = front.last_of(call)
        assert (frame.type, frame.body["error"]) == (ERROR, "timed_out"), frame
        if frame.body["hasBegun"] and has_hung():
            return
    raise AssertionError("it did not begin")


class BrokenFronts(Scene):
    def test_frames_that_are_none_end_the_connection(self):
        good = json.dumps({"tool": "read_file", "arguments": {"filePath": "notes.txt"},
                           "timeoutMs": 1000}).encode()
        for bytes_, message in (
            (struct.pack("<I", 4) + b"\0" * 5, "no header"),
            (struct.pack("<I", 0) + b"\0" * 5, "no header"),
            (header(1, PREPARE, (1 << 32) - 6), "exceeds the limit"),
            (header(1, PREPARE, 512 << 20), "exceeds the limit"),
            (header(1, 0x7f, 0), "unknown type 0x7f"),
            (header(1, RESULT, 2) + b"{}", "unknown type 0x13"),
            (header(1, RUN, 1) + b"x", "no body"),
            (header(1, PREPARE, 0), "needs a body"),
            (header(0, RUN, 0), "call 0"),
            (header(0, PREPARE, len(good)) + good, "call 0"),
            (header(1, PREPARE, 3) + b"{,}", "line 1"),
            (header(1, PREPARE, 2) + b"{}", "tool"),
            (header(1, PREPARE, 2) + b"[]", "tool"),
            (header(1, PREPARE, len(good)) + good.replace(b"1000", b"-100"), "timeoutMs"),
            (header(1, PREPARE, len(good)) + good.replace(b"notes", b"n\xff\xfees"), "UTF-8"),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "exceeds the limit"),
        ):
            with self.subTest(bytes_[:40]):
                front = self.started()
                front.socket.sendall(bytes_)
                self.assert_refused_for_good(front, message)

    def test_rules_of_the_order_are_kept(self):
        front = self.started()
        call, _ = front.prepared("read_file", {"filePath": "notes.txt"})
        front.calls = 0
        front.prepare("read_file", {"filePath": "notes.txt"})
        self.assert_refused_for_good(front, "already exists")
        body = json.dumps({"tool": "read_file", "arguments": {"filePath": "notes.txt"},
                           "timeoutMs": PATIENCE * 1000}).encode()
        for kind, word in ((RUN, "RUN"), (DROP, "DROP")):
            front = self.started()
            # In one piece, so that it cannot be prepared yet.
            front.socket.sendall(header(1, PREPARE, len(body)) + body + header(1, kind, 0))
            self.assert_refused_for_good(front, word)

    def test_frames_may_come_in_any_pieces(self):
        front = self.started()
        body = json.dumps({"tool": "read_file", "arguments": {"filePath": "notes.txt"},
                           "timeoutMs": PATIENCE * 1000}).encode()
        for byte in header(9, PREPARE, len(body)) + body:
            front.socket.send(bytes([byte]))
        self.assertEqual(front.receive().type, PREPARED)
        another = header(10, PREPARE, len(body)) + body
        front.socket.sendall(header(9, RUN, 0) + another + another[:20])
        self.assertEqual({front.receive()[:2] for _ in range(2)}, {(9, RESULT), (10, PREPARED)})

    def test_half_a_frame_and_the_end(self):
        front = self.started()
        front.socket.sendall(header(1, PREPARE, 1000) + b"{")
        self.assertEqual(front.close(), 0)

    def test_the_front_dies_in_the_middle(self):
        for turn in range(10):
            front = self.started()
            for number in range(64):
                front.prepare("write_file", {"filePath": f"t{number}",
                                             "content": f"{turn}" * (100 << 10)})
            for _ in range(64):
                frame = front.receive()
                self.assertEqual(frame.type, PREPARED)
                front.send(frame.call, RUN)
            for _ in range(turn * 3):
                front.receive()
            front.close()
            self.assertEqual(front.process.returncode, 0)
        self.assert_no_litter()

    def test_one_that_is_killed_while_it_ends_is_gone(self):
        # A sanitizer's search for leaks is at work then: its tracer must not outlive what it traces.
        for moment in range(40):
            front = self.started()
            front.run("read_file", {"filePath": "notes.txt"})
            front.socket.close()
            time.sleep(moment / 2000)
            front.process.kill()
            self.assertIn(front.process.wait(PATIENCE), (0, -signal.SIGKILL))

    def test_a_toolhost_that_is_killed_leaves_old_or_new(self):
        old = "old\n" * 20000
        contents = {old}
        (self.root / "file").write_text(old)
        for turn in range(15):
            front = self.started()
            new = f"{turn:03}\n" * 20000
            contents.add(new)
            calls = [front.prepared("write_file", {"filePath": "file", "content": new})[0]
                     for _ in range(20)]
            for call in calls:
                front.send(call, RUN)
            for _ in range(turn):
                front.receive()
            front.process.kill()
            front.process.wait(PATIENCE)
            self.assertIn((self.root / "file").read_text(), contents)
        self.assertEqual(self.started().close(), 0)  # sweeps
        self.assert_no_litter()

    def assert_no_litter(self):
        strange = [name for name in self.names()
                   if not re.fullmatch(r"notes\.txt|sub|file|t\d+", name)]
        self.assertEqual(strange, [])
        left = [path for path in self.state.rglob("*") if path.is_file()]
        self.assertEqual([path for path in left if path.stat().st_size > 0], [])


def is_so_in_time(question):
    """For what only /proc can tell: asked again and again, no event says when to look."""
    for _ in range(PATIENCE * 50):
        if question():
            return True
        time.sleep(0.02)
    return False


class HungFiles(Scene):
    """On a file system that does not answer."""

    def mount(self, *words):
        folder = self.place / "mount"
        folder.mkdir()
        server = subprocess.Popen([HUNG_FUSE, folder, *words], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)

        def stop():
            server.stdin.close()
            server.wait(PATIENCE)
            server.stdout.close()
            server.stderr.close()

        self.addCleanup(stop)
        self.said = server.stdout
        self.hung = 0
        if server.stdout.readline() != b"mounted\n":
            self.skipTest("no FUSE to be had: " + server.stderr.readline().decode().strip())
        return folder, stop

    def hang_by_now(self):
        while select.select([self.said], [], [], 0)[0] and self.said.readline():
            self.hung += 1
        return self.hung

    def lose(self, front, count):
        """Calls that hang, answered by their deadline; whether it has said that it is lost."""
        is_lost = False
        for timeout_ms in DEADLINES_MS:
            left = count - self.hang_by_now()
            calls = {front.prepare("stat_file", {"path": f"hang{timeout_ms}.{number}"},
                                   timeout_ms=timeout_ms) for number in range(left)}
            while calls:
                frame = front.receive()
                if frame == Frame(0, LOST, None):
                    is_lost = True
                    continue
                calls.remove(frame.call)
                self.assertEqual(frame.type, ERROR)
                self.assertIn(frame.body["error"],
                              ("timed_out", "workers_lost") if is_lost else ("timed_out",))
            if self.hang_by_now() >= count:
                return is_lost
        self.fail(f"{self.hung} hang and not {count}")

    def test_calls_are_answered_by_their_deadline_and_others_go_on(self):
        folder, _ = self.mount()
        for timeout_ms in DEADLINES_MS[1:]:
            front = self.started("--log-level", "error", root=folder)
            hanging = {front.prepare("read_file", {"filePath": f"hang{number}"},
                                     timeout_ms=timeout_ms) for number in range(4)}
            answers = []
            with contextlib.suppress(AssertionError):  # their deadline came before the last of these
                for _ in range(20):
                    result = text_of(front.run("read_file", {"filePath": "fine"}))
                    answers.append(result["content"])
                break
        self.assertEqual(answers, ["fine\n"] * 20)
        for _ in range(4):
            frame = front.receive()
            self.assertIn(frame.call, hanging)
            self.assertEqual(frame.body["error"], "timed_out")
        # One that hangs when it is run may have done something.
        run_until_over(front, "read_file", {"filePath": "stuck"})
        text_of(front.run("read_file", {"filePath": "fine"}))

    def test_after_eight_it_says_that_it_is_lost(self):
        folder, _ = self.mount()
        front = self.started("--log-level", "error", root=folder)
        kept, _ = front.prepared("read_file", {"filePath": "fine"})
        if not self.lose(front, 8):
            self.assertEqual(front.receive(), Frame(0, LOST, None))
        self.assertEqual(front.refusal("read_file", {"filePath": "fine"})["error"],
                         "workers_lost")
        self.assertEqual(front.refusal("read_file", {"filePath": "hang9"})["error"],
                         "workers_lost")
        front.send(kept, RUN)
        self.assertEqual(front.last_of(kept).body["error"], "workers_lost")
        # The next one need not wait for it, and it ends with its socket.
        other = self.started("--log-level", "error", root=folder)
        text_of(other.run("read_file", {"filePath": "fine"}))
        self.assertEqual(front.close(), 1)

    def test_calls_that_wait_behind_hung_ones_are_answered_too(self):
        folder, _ = self.mount()
        front = self.started("--log-level", "error", root=folder)
        calls = {front.prepare("stat_file", {"path": f"hang{number}"}, timeout_ms=500)
                 for number in range(60)}
        while calls:
            frame = front.receive()
            if frame.type == LOST:
                continue
            calls.remove(frame.call)
            self.assertIn(frame.body["error"], ("timed_out", "workers_lost"))

    def test_the_end_waits_for_a_change_that_was_given_up(self):
        folder, _ = self.mount()
        front = self.started("--write", "--log-level", "info", root=folder)
        run_until_over(front, "edit_file", {"filePath": "stuck", "oldString": "a", "newString": "b"},
                       has_hung=lambda: self.hang_by_now() > 0)
        front.socket.shutdown(socket.SHUT_WR)
        self.assertTrue(is_so_in_time(lambda: "waiting for a change" in front.errors_so_far()))
        self.assertIsNone(front.process.poll())
        front.process.send_signal(signal.SIGTERM)
        self.assertEqual(front.process.wait(PATIENCE), -signal.SIGTERM)

    def test_it_is_gone_even_when_the_kernel_keeps_a_thread(self):
        folder, stop = self.mount("stubborn")
        front = self.started("--log-level", "error", root=folder)
        self.lose(front, 1)
        front.socket.shutdown(socket.SHUT_WR)
        # Its first thread is; the other cannot be ended by anybody but the file system.
        stat = pathlib.Path(f"/proc/{front.process.pid}/stat")
        self.assertTrue(is_so_in_time(lambda: stat.read_text().split()[2] == "Z"))
        stop()
        self.assertEqual(front.process.wait(PATIENCE), 1)


if __name__ == "__main__":
    toolhost_front.main(__file__)
