#!/usr/bin/env python3
"""Several writers of the same files, and writers that are killed: what was acknowledged stays.

WRITER_SECONDS (2) and KILL_ROUNDS (12) change the length.
"""
import contextlib
import fcntl
import os
import random
import re
import signal
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from mcp_client import PATIENCE, Scene, Server

F_OFD_SETLK = 37
SECONDS = float(os.environ.get("WRITER_SECONDS", "2"))
KILLS = int(os.environ.get("KILL_ROUNDS", "12"))


class Writers(Scene):
    def start_other(self, *flags):
        """A server with a state directory of its own: the two share nothing but the folder."""
        state = self.room / f"state{len(self.servers)}"
        state.mkdir()
        # The files that they share grow for as long as the test runs.
        server = Server("--write", "--max-file-size", "8MiB", *flags, self.root, state=state)
        self.servers.append(server)
        server.open()
        return server

    def run_all(self, jobs):
        """Runs each in a thread until the time is up, and raises what one of them raised."""
        errors = []
        end = time.monotonic() + SECONDS

        def run(job):
            try:
                count = 0
                while time.monotonic() < end:
                    job(count)
                    count += 1
            except BaseException as error:  # whatever it was, the test has failed
                errors.append(error)

        threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def test_two_servers_edit_one_file(self):
        path = self.root / "shared.txt"
        path.write_text("one:\ntwo:\n")
        servers = {"one": self.start_other(), "two": self.start_other()}
        done = {"one": [], "two": []}

        def editor(name):
            def edit(count):
                result = servers[name].call("edit_file", filePath="shared.txt",
                                            oldString=f"{name}:", newString=f"{name}:{count},")
                if not result.get("isError"):
                    done[name].append(count)
            # It grows at the front, so that oldString is always there.
            return edit

        self.run_all([editor("one"), editor("two")])
        text = path.read_text()
        for name, counts in done.items():
            line = re.search(f"^{name}:(.*)$", text, re.M).group(1)
            self.assertEqual([int(count) for count in line.split(",") if count], counts[::-1])
            self.assertGreater(len(counts), 10)

    def test_an_editor_and_a_formatter_save_meanwhile(self):
        """An editor and a formatter own a line each and replace the file, while two servers edit
        two others: no server may write over a save that it has not read."""
        path = self.root / "shared.txt"
        path.write_text("saved 0\nformatted 0\none:\ntwo:\n")
        servers = {"one": self.start_other(), "two": self.start_other()}
        lock = threading.Lock()  # between those outside; the servers know nothing of it
        saves, lost = {"saved": 0, "formatted": 0}, []
        done, appended = {"one": [], "two": []}, []

        def editor(name, first=0):
            def edit(count):
                result = servers[name].call("edit_file", filePath="shared.txt",
                                            oldString=f"{name}:",
                                            newString=f"{name}:{first + count},")
                if not result.get("isError"):
                    done[name].append(first + count)
            return edit

        def append(count):
            servers["two"].good("append_file", filePath="shared.txt", content=f"+{count}\n")
            appended.append(count)

        def expect(word, text):
            number = int(re.search(rf"^{word} (\d+)$", text, re.M).group(1))
            if number != saves[word]:
                lost.append((word, saves[word], number))
            return number

        def save(_):
            """As an editor does: a new file, renamed over the old one, unless that has changed."""
            with lock:
                for _ in range(50):
                    before = path.stat()
                    text = path.read_text()
                    fresh = self.root / "shared.txt~"
                    number = expect("saved", text)
                    fresh.write_text(text.replace(f"saved {number}", f"saved {number + 1}", 1))
                    after = path.stat()
                    if (before.st_ino, before.st_mtime_ns, before.st_size) != \
                            (after.st_ino, after.st_mtime_ns, after.st_size):
                        continue
                    os.rename(fresh, path)
                    saves["saved"] = number + 1
                    break
            time.sleep(random.random() / 200)

        def format_all(_):
            """A program that looks at nothing: it reads the file and renames its own over it."""
            with lock:
                number = expect("formatted", path.read_text())
                subprocess.run(["sed", "-i", f"s/^formatted {number}$/formatted {number + 1}/",
                                path], check=True)
                saves["formatted"] = number + 1
            time.sleep(random.random() / 200)

        self.run_all([editor("one"), editor("two"), save, format_all])
        text = path.read_text()
        self.assertEqual(lost, [])
        for word, number in saves.items():
            self.assertIn(f"{word} {number}\n", text)
            self.assertGreater(number, 5)
        for name, counts in done.items():
            self.assertGreater(len(counts), 10, name)
        print(f"{saves['saved']} saves, {saves['formatted']} runs of the formatter, "
              f"{len(done['one'])} and {len(done['two'])} edits")
        self.run_all([append, editor("one", 1000000)])
        text = path.read_text()
        self.assertEqual([int(line[1:]) for line in text.splitlines() if line.startswith("+")],
                         appended)

    def test_killed_while_it_edits_several_files_it_has_edited_all_or_none(self):
        names = ["a.txt", "b.txt", "sub/c.txt"]
        (self.root / "sub").mkdir()
        for name in names:
            (self.root / name).write_text("round 0\n" + "x" * 5000)
        halves = 0
        for _ in range(KILLS):
            server = self.start("--write")
            number = int(re.match(r"round (\d+)", (self.root / names[0]).read_text()).group(1))

            def edit_for_ever(server=server, number=number):
                for count in range(number, number + 1000000):
                    edits = [{"filePath": name, "oldString": f"round {count}\n",
                              "newString": f"round {count + 1}\n"} for name in names]
                    server.good("edit_files", edits=edits)

            thread = threading.Thread(target=lambda: self.swallow(edit_for_ever))
            thread.start()
            time.sleep(0.005 + random.random() / 30)
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
            thread.join()
            texts = {(self.root / name).read_text() for name in names}
            halves += len(texts) > 1
            self.start("--write").end()
            texts = {(self.root / name).read_text() for name in names}
            self.assertEqual(len(texts), 1, [text[:20] for text in texts])
            self.assertEqual([path.name for path in self.root.rglob(".gatehouse-*")], [])
        print(f"{halves} of {KILLS} kills came in the middle")

    def test_a_full_state_directory_stops_no_reading(self):
        state = self.room / "small"
        state.mkdir(mode=0o700)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "none", state],
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", state])
        (self.root / "a.txt").write_text("hello")
        with contextlib.suppress(OSError), open(state / "filler", "wb", buffering=0) as filler:
            while filler.write(bytes(4096)):
                pass
        server = self.start("--state-dir", state)
        self.assertEqual(server.good("read_file", filePath="a.txt")["content"], "hello")
        self.assertEqual(server.end(), 0)
        self.assertIn("the state directory is full", server.words())
        server = self.start("--write", "--state-dir", state, opens=False)
        self.assertNotEqual(server.wait(), 0)
        self.assertIn("no space left on the device", server.words())

    def doctor(self, *flags):
        told = subprocess.run([mcp_client.GATEHOUSE, "doctor", "--clean", self.root, *flags],
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.state)},
                              capture_output=True, text=True, check=True, timeout=PATIENCE)
        return told.stdout

    def test_doctor_removes_what_killed_sessions_left(self):
        left = ".gatehouse-" + "a" * 24
        (self.root / "sub" / (".gatehouse-" + "b" * 24) / "deep").mkdir(parents=True)
        for place in (self.root, self.root / "sub"):
            (place / left).write_text("half")
        spared = {".gatehouse-notes": "the user's own", "file": "x"}
        for name, text in spared.items():
            (self.root / name).write_text(text)
        (self.root / "link").symlink_to(self.outside)
        (self.outside / left).write_text("not in the folder")
        # A session that lives: what it holds stays.
        held = self.root / (".gatehouse-" + "c" * 24)
        with open(held, "w") as file:
            fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET,
                                                       0x6761746568000000, 1, 0))
            self.assertEqual(self.doctor(), "removed 3 leftovers\n")
            self.assertEqual({path.name for path in self.root.rglob("*")},
                             {*spared, "link", "sub", held.name})
        self.assertEqual(self.doctor(), "removed 1 leftover\n")
        self.assertTrue((self.outside / left).exists())

    def test_doctor_gives_a_session_time_to_finish_its_file(self):
        """What is written at once and renamed holds no lock."""
        new = self.root / (".gatehouse-" + "d" * 24)
        new.write_text("half")
        finishes = threading.Timer(0.5, lambda: new.rename(self.root / "whole"))
        finishes.start()
        self.addCleanup(finishes.cancel)
        self.assertEqual(self.doctor(), "removed 0 leftovers\n")
        self.assertEqual((self.root / "whole").read_text(), "half")

    def test_a_session_with_another_state_directory_undoes_what_was_killed(self):
        """A journal is found by every session of the user, wherever its own state is."""
        names = ["a.txt", "b.txt"]
        for name in names:
            (self.root / name).write_text("old")
        other = self.room / "other"
        for _ in range(KILLS):
            server = self.start("--write", "--state-dir", other)
            edits = [{"filePath": name, "oldString": "", "newString": "x"} for name in names]
            for edit in edits:
                edit["oldString"] = (self.root / "a.txt").read_text()
            server.send(server.call_message("edit_files", {"edits": edits}))
            time.sleep(random.random() / 1000)
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
            self.start("--write").end()
            self.assertEqual(len({(self.root / name).read_text() for name in names}), 1)
            self.assertEqual([path.name for path in self.root.rglob(".gatehouse-*")], [])
            for name in names:
                (self.root / name).write_text("old")

    @staticmethod
    def swallow(work):
        try:
            work()
        except (AssertionError, OSError, ValueError):
            pass


if __name__ == "__main__":
    mcp_client.main()
