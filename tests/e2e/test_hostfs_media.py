#!/usr/bin/env python3
"""Images and documents of host.fs: each operation, and what must be refused in bounded time and memory.

Arguments: gatehouse, and what unittest takes: the classes Images, Documents and Absent, or Damaged, which takes a minute.
"""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import unittest
import zlib

sys.dont_write_bytecode = True  # not into the sources
import test_hostfs
from media_scene import noise, pdf, png
from test_hostfs import GATEHOUSE, Scene

FORMATS = ["jpeg", "png", "webp", "avif", "gif"]
MARKS = {"jpeg": (0, b"\xff\xd8\xff"), "png": (0, b"\x89PNG"), "webp": (8, b"WEBP"), "avif": (4, b"ftypavif"), "gif": (0, b"GIF8")}


class Media(Scene):
    def clients(self, *arguments):
        server, first, second = super().clients(*(arguments or ("--fs", self.root)))
        self.block = server.ask("GET", "/.well-known/openwop")[2]["fs"]
        return server, first, second

    def needs(self, kind):
        if not self.block[kind]["supported"]:
            print(f"skipped: {kind} does not work on this machine")
            self.skipTest(f"{kind} does not work on this machine")


def descendants(pid):
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [found for child in children for found in (child, *descendants(child))]


class Watch:
    """The most memory of the processes of gatehouse-media below a process, and their limits while they work."""

    def __init__(self, pid):
        self.pid, self.peak, self.limits, self.over = pid, 0, set(), threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def look(self, pid):
        place = pathlib.Path("/proc") / pid
        if not (place / "cmdline").read_bytes().startswith(b"gatehouse-media\0"):
            return
        memory = re.search(r"VmHWM:\s+(\d+)", (place / "status").read_text())
        limit = re.search(r"Max address space\s+(\d+)", (place / "limits").read_text())
        self.peak = max(self.peak, int(memory[1]) if memory else 0)
        self.limits |= {int(limit[1])} if limit else set()  # none before it confines itself

    def run(self):
        while not self.over.wait(0.01):
            for pid in descendants(self.pid):
                try:
                    self.look(pid)
                except (FileNotFoundError, ProcessLookupError):
                    pass

    def close(self):
        self.over.set()
        self.thread.join()


class Images(Media):
    def test_every_format_is_written_and_read(self):
        _, client, _ = self.clients()
        self.needs("image")
        (self.root / "in.png").write_bytes(png(64, 48))
        self.assertEqual(self.block["image"]["formats"], [name for name in FORMATS if name in self.block["image"]["formats"]])
        for name in self.block["image"]["formats"]:
            status, made = client("image", op="formatConvert", path="in.png", to=f"made/{name}", format=name)
            self.assertEqual((status, made.get("width"), made.get("height"), made.get("format")), (200, 64, 48, name), made)
            content = (self.root / "made" / name).read_bytes()
            at, mark = MARKS[name]
            self.assertTrue(content[at:].startswith(mark), content[:16])
            self.assertEqual(made["sizeBytes"], len(content))
            status, made = client("image", op="resize", path=f"made/{name}", to=f"small-{name}", width=16)
            self.assertEqual((status, made.get("width"), made.get("height"), made.get("format")), (200, 16, 12, name), made)

    def test_resize_and_crop(self):
        _, client, second = self.clients()
        self.needs("image")
        (self.root / "in.png").write_bytes(png(64, 48))
        for words, size in (({"height": 24}, (32, 24)), ({"width": 32, "height": 32}, (32, 24)),
                            ({"width": 30, "height": 30, "fit": "cover"}, (30, 30)),
                            ({"width": 10, "height": 40, "fit": "fill"}, (10, 40)), ({"width": 128}, (128, 96))):
            status, made = client("image", op="resize", path="in.png", to="out.jpg", **words)
            self.assertEqual((status, made.get("width"), made.get("height"), made.get("format")), (200, *size, "jpeg"), made)
        status, made = second("image", op="crop", path="in.png", to="part.png", x=60, y=40, width=4, height=8)
        self.assertEqual((status, made.get("width"), made.get("height")), (200, 4, 8), made)

    def test_what_is_refused(self):
        _, client, second = self.clients()
        self.needs("image")
        (self.root / "in.png").write_bytes(png(64, 48))
        (self.root / "half.png").write_bytes(png(64, 48)[:-40])
        (self.root / "mark.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><image href='/etc/passwd'/></svg>")
        (self.root / "code.png").write_text("push graphic-context\nimage over 0,0 0,0 '/etc/passwd'\n")
        resize = {"op": "resize", "path": "in.png", "to": "out.png", "width": 8}
        for words, error in (({"path": "a.txt"}, "media_refused"), ({"path": "mark.svg"}, "media_refused"),
                             ({"path": "code.png"}, "media_refused"), ({"path": "half.png"}, "media_refused"),
                             ({"path": "none.png"}, "file_not_found"), ({"path": "../outside.txt"}, "path_outside_sandbox"),
                             ({"to": "../out.png"}, "path_outside_sandbox"), ({"to": "/etc/out.png"}, "path_outside_sandbox"),
                             ({"width": 0}, "validation_error"), ({"width": -1}, "validation_error"), ({"width": 16385}, "validation_error"),
                             ({"width": "8"}, "validation_error"), ({"fit": "cover"}, "validation_error"), ({"fit": 1}, "validation_error"),
                             ({"format": "bmp"}, "validation_error"), ({"quality": 101}, "validation_error"), ({"op": "blur"}, "validation_error"),
                             ({"op": "crop"}, "validation_error"), ({"op": "crop", "x": 60, "height": 1}, "validation_error"),
                             ({"op": "formatConvert", "to": "out"}, "validation_error"),
                             ({"width": 16384}, "media_refused")):
            status, body = client("image", **resize | words)
            self.assertEqual(body.get("error"), error, (words, body))
            self.assertNotIn(str(self.room), json.dumps(body))
        self.assertEqual(client("image", **resize | {"path": "a.txt"})[1]["details"], {"service": "fs", "reason": "media_format"})
        self.assertEqual(second("image", **resize | {"path": "a.txt"})[0], 422)
        self.assertFalse((self.root / "out.png").exists())
        reader = self.client(_, self.key("reader", "--tools", "read"))
        self.assertEqual(reader("image", **resize)[1]["error"], "fs_permission_denied")

    def test_bombs_end_in_bounded_time_and_memory(self):
        server, client, _ = self.clients()
        self.needs("image")
        watch = Watch(server.process.pid)
        self.addCleanup(watch.close)
        (self.root / "flat.png").write_bytes(png(8, 8, size=(20000, 20000)))
        status, body = client("image", op="resize", path="flat.png", to="out.png", width=8)
        self.assertEqual((status, body.get("error"), body["details"]["reason"]), (422, "media_refused", "media_limit"), body)
        # Within the limit of pixels, but no memory holds it as a palette.
        (self.root / "wide.png").write_bytes(png(10000, 9999, bytes(30000)))
        status, body = client("image", op="formatConvert", path="wide.png", to="out.gif")
        self.assertIn(status, (200, 422), body)
        # A picture whose head promises more than there is.
        (self.root / "liar.png").write_bytes(png(8, 8, size=(9000, 9000)))
        self.assertEqual(client("image", op="resize", path="liar.png", to="out.png", width=8)[0], 422)
        self.assertEqual(client("read", path="a.txt")[0], 200)
        watch.close()
        self.assertGreater(watch.peak, 0, "none was seen at work")
        self.assertLess(watch.peak, 1 << 20, "kilobytes")
        self.assertEqual(watch.limits, {1 << 30})

    def test_no_more_than_the_size_limit_is_written(self):
        _, client, _ = self.clients("--fs", self.root, "--fs-max-file-size", "2KiB")
        self.needs("image")
        (self.root / "in.png").write_bytes(png(64, 48))
        status, body = client("image", op="resize", path="in.png", to="out.png", width=2000, quality=100, format="jpeg")
        self.assertEqual((status, body.get("error")), (413, "file_too_large"), body)
        self.assertFalse((self.root / "out.png").exists())

    def test_files_in_memory(self):
        _, client, _ = self.clients("--fs-memory")
        self.needs("image")
        client("write", path="in.png", bytes=test_hostfs.encode(png(64, 48)))
        self.assertEqual(client("image", op="resize", path="in.png", to="d/out.webp", width=8)[0], 200)
        self.assertEqual(client("read", path="d/out.webp")[1]["contentType"], "image/webp")


class Documents(Media):
    def text(self, client, path, **words):
        status, body = client("pdf", op="extractText", path=path, **words)
        self.assertEqual(status, 200, body)
        return body["text"]

    def test_text_split_and_merge(self):
        _, client, second = self.clients()
        self.needs("pdf")
        (self.root / "in.pdf").write_bytes(pdf("Alpha one", "Beta two", "Gamma three"))
        self.assertIn("Alpha one", self.text(client, "in.pdf"))
        self.assertIn("Gamma three", self.text(second, "in.pdf"))
        self.assertNotIn("Alpha", self.text(client, "in.pdf", pages="2-3"))
        self.assertIn("Beta", self.text(client, "in.pdf", pages="2"))
        self.assertEqual(client("pdf", op="split", path="in.pdf", to="out/p.pdf"),
                         (200, {"paths": ["out/p-1.pdf", "out/p-2.pdf", "out/p-3.pdf"]}))
        self.assertEqual(self.text(client, "out/p-2.pdf").strip(), "Beta two")
        self.assertEqual(client("pdf", op="split", path="in.pdf", to="q", pages=["2-", "1"]),
                         (200, {"paths": ["q-1.pdf", "q-2.pdf"]}))
        self.assertEqual(re.findall(r"\w+ \w+", self.text(client, "q-1.pdf")), ["Beta two", "Gamma three"])
        self.assertEqual(client("pdf", op="merge", paths=["out/p-3.pdf", "q-2.pdf", "in.pdf"], to="all.pdf"),
                         (200, {"paths": ["all.pdf"]}))
        self.assertEqual(re.findall(r"\w+ \w+", self.text(client, "all.pdf")),
                         ["Gamma three", "Alpha one", "Alpha one", "Beta two", "Gamma three"])

    def test_what_is_refused(self):
        server, client, _ = self.clients()
        self.needs("pdf")
        (self.root / "in.pdf").write_bytes(pdf("Alpha one"))
        (self.root / "bad.pdf").write_bytes(b"%PDF-1.4\n" + bytes(100))
        split = {"op": "split", "path": "in.pdf", "to": "out.pdf"}
        for words, error in ((split | {"path": "a.txt"}, "media_refused"), (split | {"path": "bad.pdf"}, "media_refused"),
                             (split | {"pages": "2"}, "validation_error"), (split | {"pages": "0"}, "validation_error"),
                             (split | {"pages": "3-2"}, "validation_error"), (split | {"pages": "1-9"}, "validation_error"),
                             (split | {"pages": "x"}, "validation_error"), (split | {"pages": 1}, "validation_error"),
                             (split | {"to": "../out.pdf"}, "path_outside_sandbox"),
                             (split | {"path": "/etc/passwd"}, "path_outside_sandbox"),
                             ({"op": "split", "path": "in.pdf"}, "validation_error"),
                             ({"op": "merge", "paths": [], "to": "x.pdf"}, "validation_error"),
                             ({"op": "merge", "paths": ["in.pdf", 1], "to": "x.pdf"}, "validation_error"),
                             ({"op": "merge", "paths": ["in.pdf"] * 65, "to": "x.pdf"}, "validation_error"),
                             ({"op": "merge", "paths": ["in.pdf", "../outside.txt"], "to": "x.pdf"}, "path_outside_sandbox"),
                             ({"op": "extractText", "path": "bad.pdf"}, "media_refused"),
                             ({"op": "extractText", "path": "a.txt"}, "media_refused"),
                             ({"op": "extractText", "path": "none.pdf"}, "file_not_found"),
                             ({"op": "print", "path": "in.pdf"}, "validation_error")):
            status, body = client("pdf", **words)
            self.assertEqual(body.get("error"), error, (words, body))
            self.assertNotIn(str(self.room), json.dumps(body))
        reader = self.client(server, self.key("reader", "--tools", "read"))
        self.assertIn("Alpha", self.text(reader, "in.pdf"))
        self.assertEqual(reader("pdf", **split)[1]["error"], "fs_permission_denied")

    def test_bombs_end_in_bounded_time_and_memory(self):
        _, client, _ = self.clients()
        self.needs("pdf")
        # A stream that unpacks to far more than it is, and one that refers to itself.
        inner = zlib.compress(zlib.compress(bytes(1 << 26), 1), 1)
        body = pdf("Alpha one").replace(b"<</Length", b"<</Filter[/FlateDecode/FlateDecode]/Length", 1)
        start = body.index(b"stream\n") + len(b"stream\n")
        (self.root / "deep.pdf").write_bytes(body[:start] + inner + body[body.index(b"\nendstream"):])
        (self.root / "loop.pdf").write_bytes(pdf("Alpha one").replace(b"/Kids[4 0 R]", b"/Kids[2 0 R]"))
        (self.root / "count.pdf").write_bytes(pdf("Alpha one").replace(b"/Count 1", b"/Count 999999999"))
        for name in ("deep.pdf", "loop.pdf", "count.pdf"):
            for words in ({"op": "extractText"}, {"op": "split", "to": "out.pdf"}):
                status, body = client("pdf", path=name, **words)
                self.assertIn(status, (200, 422), (name, words, body))
        self.assertEqual(client("read", path="a.txt")[0], 200)


class Damaged(Media):
    """What worked once, with a few bytes changed: the process of a request may end as it likes, ours go on."""
    ROUNDS = 25

    def setUp(self):
        super().setUp()
        self.server, self.ask, _ = self.clients()
        self.chance = random.Random(30)

    def damage(self, content):
        """A few bytes, also where lengths are, a part twice, or the end missing."""
        content = bytearray(content)
        for _ in range(self.chance.choice((1, 1, 2, 8, 64))):
            content[self.chance.randrange(len(content))] = self.chance.choice((0, 1, 127, 128, 255, self.chance.randrange(256)))
        start, length = self.chance.randrange(len(content)), self.chance.randrange(200)
        way = self.chance.randrange(4)
        if way == 0:
            del content[start:]
        elif way == 1:
            content[start:start] = content[start:start + length]
        elif way == 2:
            del content[start:start + length]
        return bytes(content)

    def check(self, operation, **words):
        status, body = self.ask(operation, **words)
        self.assertIn((status, body.get("error")), ((200, None), (422, "media_refused"), (400, "validation_error")), (words, body))

    def test_images(self):
        self.needs("image")
        (self.root / "in.png").write_bytes(noise(48, 32))
        for form in self.block["image"]["formats"]:
            self.assertEqual(self.ask("image", op="formatConvert", path="in.png", to=f"good.{form}", format=form)[0], 200)
            good = (self.root / f"good.{form}").read_bytes()
            for i in range(self.ROUNDS):
                (self.root / f"bad.{form}").write_bytes(self.damage(good))
                self.check("image", op="resize", path=f"bad.{form}", to="out.png", width=8 + i)

    def test_documents(self):
        self.needs("pdf")
        good = pdf("Alpha one", "Beta two", "Gamma three")
        for _ in range(self.ROUNDS):
            (self.root / "bad.pdf").write_bytes(self.damage(good))
            self.check("pdf", op="extractText", path="bad.pdf")
            self.check("pdf", op="split", path="bad.pdf", to="out/p.pdf")
            self.check("pdf", op="merge", paths=["bad.pdf", "bad.pdf"], to="all.pdf")

    def tearDown(self):
        self.assertEqual(self.ask("read", path="a.txt")[0], 200)
        self.assertEqual([pid for pid in descendants(self.server.process.pid)
                          if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"gatehouse-media\0")], [])


class Absent(Media):
    def test_without_the_program_nothing_is_promised(self):
        """The programs beside each other, but gatehouse-media: the rest works."""
        place = self.room / "bin"
        place.mkdir()
        for program in pathlib.Path(GATEHOUSE).parent.glob("gatehouse*"):
            if program.name not in ("gatehouse-media",) and program.is_file():
                os.link(program, place / program.name) if os.stat(program).st_dev == os.stat(place).st_dev else \
                    subprocess.run(["cp", program, place / program.name], check=True)
        test_hostfs.GATEHOUSE, kept = str(place / "gatehouse"), test_hostfs.GATEHOUSE
        self.addCleanup(setattr, test_hostfs, "GATEHOUSE", kept)
        _, client, second = self.clients()
        self.assertEqual((self.block["image"], self.block["pdf"]), ({"supported": False}, {"supported": False}))
        self.assertEqual(client("image", op="resize", path="a.txt", to="b", width=1)[1]["error"], "host_capability_missing")
        self.assertEqual(second("pdf", op="extractText", path="a.txt")[1]["error"], "capability_not_provided")
        self.assertEqual(client("read", path="a.txt")[0], 200)


if __name__ == "__main__":
    del sys.argv[1]
    unittest.main()
