#!/usr/bin/env python3
"""Systems that the operator imports into the sandbox service, and the names for FROM.

    test_sandboxd_import.py GATEHOUSE WITHOUT_SYSCALL [--as-user]
"""
import concurrent.futures
import glob
import gzip
import hashlib
import http.client
import io
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from sandboxd_scene import PATIENCE, Scene, clean_environment, wait_until

IS_ROOT = os.geteuid() == 0
PROGRAMS = ("sh", "cat", "id", "ls", "mkdir", "sleep")


def entry(name, kind=tarfile.REGTYPE, mode=0o644, **more):
    info = tarfile.TarInfo(name)
    info.type, info.mode = kind, mode
    for field, value in more.items():
        setattr(info, field, value)
    return info


class Archive:
    """A tar of a small system: some programs of this machine with their libraries, and a mark."""

    def __init__(self, mark="imported", packing="w", **how):
        self.bytes = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.bytes, mode=packing, **how)
        self.names = set()
        for program in PROGRAMS:
            self.add_program(program)
        self.put("etc/mark", f"{mark}\n".encode())

    def put(self, name, content=b"", mode=0o644, **more):
        info = entry(name, mode=mode, size=len(content), **more)
        self.tar.addfile(info, io.BytesIO(content))

    def add_program(self, program):
        path = shutil.which(program)
        self.put(f"bin/{program}", pathlib.Path(path).read_bytes(), 0o755)
        for library in re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", path], capture_output=True, text=True,
                                                                 check=True).stdout):
            if library not in self.names:
                self.names.add(library)
                self.put(library[1:], pathlib.Path(library).read_bytes(), 0o755)

    def done(self):
        self.tar.close()
        return self.bytes.getvalue()


class Import(Scene):
    def setUp(self):
        super().setUp()
        Scene.gatehouse = mcp_client.GATEHOUSE
        self.room.chmod(0o755)

    def serve(self, *arguments, **more):
        return super().serve(*(() if IS_ROOT else ("--allow-weaker",)), *arguments, **more)

    def files(self):
        return self.room / "state/sandboxes/files"

    def rooms(self, pattern):
        """Files of rooms. Others remove them meanwhile, which glob.glob() does not mind."""
        return glob.glob(str(self.files() / "rooms" / pattern))

    def bring(self, service, content):
        """A sandbox with the archive in it; what a request for the import says of that."""
        box = service.create()
        for start in range(0, len(content), 8 << 20):
            status = service.ask("POST", f"/sandboxes/{box}/files", content[start:start + (8 << 20)],
                                 path="/home/user/a.tar")[0]
            self.assertEqual(status, 200)
        return {"sandbox": box, "path": "/home/user/a.tar", "sha256": hashlib.sha256(content).hexdigest()}

    def ask_for(self, service, name, source, key=None):
        status, _, text = service.ask("POST", "/admin/images", {"name": name, **source}, key=key)
        if status != 200:
            return status, text
        return status, [json.loads(line) for line in text.splitlines()]

    def imported(self, service, name, content):
        source = self.bring(service, content)
        status, events = self.ask_for(service, name, source)
        self.assertEqual(status, 200, events)
        self.assertEqual(events[-1]["type"], "image", events)
        self.assertEqual(service.ask("DELETE", f"/sandboxes/{source['sandbox']}")[0], 204)
        return events[-1]["image_id"]

    def refused(self, service, content):
        status, events = self.ask_for(service, "refused", self.bring(service, content))
        self.assertEqual((status, events[-1]["type"]), (200, "error"), events)
        return "".join(event.get("data", "") for event in events)

    def build(self, service, steps, key=None):
        """The lines of a build."""
        status, _, text = service.ask("POST", "/images", {"dockerfile_steps": steps}, key=key)
        self.assertEqual(status, 200, text)
        return [json.loads(line) for line in text.splitlines()]

    def tenant(self, service):
        status, _, made = service.ask("POST", "/admin/tenants", {"create_key": True})
        self.assertEqual(status, 201)
        return made["key"]["api_key"]


class Systems(Import):
    def test_a_sandbox_of_an_imported_system(self):
        service = self.serve()
        archive = Archive()
        archive.tar.addfile(entry("./", tarfile.DIRTYPE, 0o700))
        archive.put("./dev/sda", b"no device")
        archive.put("usr/local/bin/hello", b"#!/bin/sh\necho hello\n", 0o4755)
        archive.tar.addfile(entry("usr/local/bin/linked", tarfile.SYMTYPE, linkname="/usr/local/bin/hello"))
        archive.tar.addfile(entry("usr/local/bin/same", tarfile.LNKTYPE, linkname="usr/local/bin/hello"))
        archive.tar.addfile(entry("dev/device", tarfile.CHRTYPE, devmajor=1, devminor=3))
        image = self.imported(service, "small:1", archive.done())
        listed = service.ask("GET", "/images")[2]
        self.assertEqual([(one["id"], one["names"]) for one in listed], [(image, ["small:1"])])
        box = service.create({"image_id": image})
        self.assertEqual(service.output(box, "cat /etc/mark; linked; same; id -u; pwd"),
                         "imported\nhello\nhello\n1000\n/home/user\n")
        # All of it is the archive's, but for what every sandbox has.
        self.assertEqual(service.output(box, "ls /bin; ls /etc; ls /usr/share /dev/sda /dev/device 2>/dev/null").split(),
                         [*sorted(PROGRAMS), "group", "mark", "passwd", "resolv.conf"])
        self.assertNotIn("rws", service.output(box, "ls -l /usr/local/bin"))
        self.assertEqual(service.output(box, "echo x > /tmp/x; echo y > y; mkdir /workspace/z; cat /tmp/x y"), "x\ny\n")
        self.assertEqual(service.ask("GET", f"/sandboxes/{box}/files/content", path="/etc/mark")[2], b"imported\n")

    def test_packed_archives(self):
        service = self.serve()
        for packing, how in (("gz", {"compresslevel": 1}), ("xz", {"preset": 0})):
            image = self.imported(service, packing, Archive(packing, f"w:{packing}", **how).done())
            self.assertEqual(service.output(service.create({"image_id": image}), "cat /etc/mark"), f"{packing}\n")

    def test_builds_and_creates_on_a_name(self):
        service = self.serve()
        key = self.tenant(service)
        image = self.imported(service, "ours/base:*", Archive().done())
        steps = ["FROM ours/base:9 AS x", "RUN echo built > /built; mkdir -p /usr/made", "ENV A=b", "WORKDIR /place"]
        for who in (None, key):
            events = self.build(service, steps, who)
            self.assertEqual(events[-1]["type"], "image", events)
            self.assertFalse([event for event in events if event["type"] == "stderr"])
            status, _, made = service.ask("POST", "/sandboxes", {"dockerfile_steps": steps}, key=who)
            self.assertEqual((status, made["image_id"]), (201, events[-1]["image_id"]))
            self.assertNotIn("warning", made)
            self.assertEqual(service.output(made["id"], "cat /etc/mark; ls /usr/made; echo $A; pwd; cat /built", key=who),
                             "imported\nb\n/place\nbuilt\n")
            self.assertEqual(service.ask("GET", f"/images/{made['image_id']}", key=who)[2]["base"], image)
        status, _, made = service.ask("POST", "/api/snapshots", {"name": "mine", "imageName": "ours/base:7"}, key=key)
        self.assertEqual(status, 200, made)
        status, _, made = service.ask("POST", "/api/sandbox", {"snapshot": "mine"}, key=key)
        self.assertEqual(status, 200, made)
        self.assertEqual(service.output(made["id"], "cat /etc/mark", key=key), "imported\n")
        # Other names stand for this machine's system, and the build says so.
        events = self.build(service, ["FROM ours/bass:9", "RUN test ! -e /etc/mark"], key)
        self.assertIn("the base is the system of this machine", events[1]["data"])
        self.assertEqual(events[-1]["type"], "image")
        self.assertEqual(service.ask("GET", f"/images/{events[-1]['image_id']}", key=key)[2]["base"], "host")
        # An image that the operator has named is what its FROM means, whatever is below it.
        events = self.build(service, ["FROM nothing:1", "ENV A=b"])
        self.assertEqual(service.ask("PUT", "/admin/names", {"name": "meant", "image_id": events[-1]["image_id"]})[0], 204)
        self.assertNotIn("warning", service.ask("POST", "/sandboxes", {"dockerfile_steps": ["FROM meant"]}, key=key)[2])
        self.assertEqual(service.ask("DELETE", f"/images/{image}")[0], 409)  # others are built on it

    def test_the_table_of_names(self):
        service = self.serve()
        key = self.tenant(service)
        first = self.imported(service, "a*", Archive("first").done())
        second = self.imported(service, "abc*", Archive("second").done())
        self.assertNotEqual(first, second)

        def mark(name, who=None):
            made = service.ask("POST", "/sandboxes", {"dockerfile_steps": [f"FROM {name}"]}, key=who)[2]
            return service.output(made["id"], "cat /etc/mark 2>/dev/null || echo host", key=who).strip()

        self.assertEqual([mark(name) for name in ("a", "abc", "abcd", "b", "builde")],
                         ["first", "second", "second", "host", "host"])
        self.assertEqual(service.ask("PUT", "/admin/names", {"name": "abc", "image_id": first})[0], 204)
        self.assertEqual([mark("abc"), mark("abcd"), mark("abc", key)], ["first", "second", "first"])
        built = self.build(service, ["RUN echo third > /etc/mark"])[-1]["image_id"]
        self.assertEqual(service.ask("PUT", "/admin/names", {"name": "abc", "image_id": built})[0], 204)
        self.assertEqual(mark("abc"), "third")
        self.assertEqual(service.ask("DELETE", "/admin/names", name="abc")[0], 204)
        self.assertEqual(mark("abc"), "second")
        service.end()
        service = self.serve()
        self.assertEqual([mark(name) for name in ("a", "abc")], ["first", "second"])
        listed = {image["id"]: image["names"] for image in service.ask("GET", "/images")[2]}
        self.assertEqual((listed[first], listed[second], listed[built]), (["a*"], ["abc*"], []))
        bases = {image["id"]: image["base"] for image in service.ask("GET", "/images")[2]}
        self.assertEqual((bases[first], bases[built]), (first, "host"))

    def test_removing(self):
        service = self.serve()
        content = Archive().done()
        image = self.imported(service, "one", content)
        self.assertEqual(self.imported(service, "two", content), image)  # the same again is the same
        self.assertEqual(service.ask("GET", f"/images/{image}")[2]["names"], ["one", "two"])
        box = service.create({"image_id": image})
        self.assertEqual(service.ask("DELETE", f"/images/{image}")[0], 409)
        service.ask("DELETE", f"/sandboxes/{box}")
        self.assertEqual(service.ask("DELETE", f"/images/{image}")[0], 204)
        self.assertEqual(service.ask("GET", "/images")[2], [])
        self.assertEqual(service.ask("DELETE", "/admin/names", name="one")[0], 404)
        wait_until(lambda: not list((self.files() / "layers").iterdir()), "the end of its files")


def packed(files, how=lambda content: content):
    """A tar of these files; of a layer, maybe compressed."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files:
            tar.addfile(entry(name, size=len(content)), io.BytesIO(content))
    return how(out.getvalue())


def layers():
    """The system, with a file that a second layer changes, and others that it removes."""
    low = Archive("low")
    for name in ("stays", "goes", "gone/a", "gone/b/c", "opaque/old", "opaque/more/old"):
        low.put(f"data/{name}", b"low")
    high = [("data/.wh.goes", b""), ("data/.wh.gone", b""), ("data/opaque/.wh..wh..opq", b""), ("data/opaque/new", b"high"),
            ("etc/mark", b"high\n")]
    return low.done(), packed(high)


def docker_archive(*contents, more=()):
    files = [(f"{number}/layer.tar", content) for number, content in enumerate(contents)]
    about = {"Config": "x.json", "RepoTags": ["a:1", "b:2"], "Layers": [name for name, _ in files]}
    return packed([*files, ("x.json", b"{}"), ("manifest.json", json.dumps([about, *more], indent=1).encode())])


def oci_archive(*contents):
    blobs = {}

    def blob(content, kind):
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}

    manifest = {"schemaVersion": 2, "config": blob(b"{}", "config"),
                "layers": [blob(gzip.compress(content, 1), "layer") for content in contents]}
    index = {"schemaVersion": 2, "manifests": [blob(json.dumps(manifest).encode(), "manifest")]}
    return packed([("oci-layout", b"{}"), ("index.json", json.dumps(index).encode()), *blobs.items()])


class Layers(Import):
    def test_images_of_layers(self):
        service = self.serve()
        for name, content in (("docker", docker_archive(*layers())), ("oci", oci_archive(*layers()))):
            box = service.create({"image_id": self.imported(service, name, content)})
            self.assertEqual(service.output(box, "cat /etc/mark; cd /data; ls -a; ls -a opaque").split(),
                             ["high", ".", "..", "opaque", "stays", ".", "..", "new"])
            self.assertNotIn("manifest.json", service.output(box, "ls -a /"))

    def test_wrong_layers(self):
        service = self.serve()
        low, high = layers()
        several = {"Config": "y.json", "RepoTags": None, "Layers": ["0/layer.tar"]}
        missing = packed([("manifest.json", json.dumps([{"Layers": ["none.tar"]}]).encode())])
        outside = packed([("manifest.json", json.dumps([{"Layers": ["../../../etc/passwd"]}]).encode())])
        for words, content in (("not exactly one image", docker_archive(low, more=[several])),
                               ("not exactly one image", packed([("manifest.json", b"[]"), ("index.json", b"{}")])),
                               ("not exactly one image", packed([("index.json", b"{")])),
                               ("no layer none.tar", missing), ("a strange name", outside),
                               ("no tar of a system", docker_archive(low, b"no layer")),
                               ("no /bin/sh", docker_archive(high))):
            self.assertIn(words, self.refused(service, content))
        # What a layer removes is removed where it is unpacked, and nowhere else.
        for entries in ([("data/.wh...", b""), (".wh..", b""), (".wh.", b""), (".wh.bin/sh", b"")],
                        [("a/../../.wh.etc", b"")]):
            events = self.ask_for(service, "hostile", self.bring(service, docker_archive(low, packed(entries))))[1]
            self.assertIn(events[-1]["type"], ("error", "image"))
        self.assertTrue(pathlib.Path("/etc/passwd").exists())
        self.assertEqual(service.output(service.create(), "echo works"), "works\n")


class Wrong(Import):
    def test_wrong_requests(self):
        service = self.serve()
        key = self.tenant(service)
        source = self.bring(service, Archive().done())
        theirs = service.create(key=key)
        good = {"name": "x", **source}
        for status, change in ((400, {"name": ""}), (400, {"name": 1}), (400, {"name": "a b"}), (400, {"name": "a*b"}),
                               (400, {"name": "x" * 129}), (400, {"name": "builder"}), (400, {"name": "\u00e4"}),
                               (400, {"sha256": "0" * 63}), (400, {"sha256": "A" * 64}), (400, {"sha256": None}),
                               (400, {"path": "a.tar"}), (400, {"path": ""}), (400, {"path": "/a\0b"}),
                               (400, {"path": "/" + "x" * 5000}), (404, {"path": "/nothing"}),
                               (400, {"sandbox": 7}), (404, {"sandbox": "x"}), (404, {"sandbox": theirs}),
                               (400, {"path": "/home"})):
            self.assertEqual(service.ask("POST", "/admin/images", {**good, **change})[0], status, change)
        for wrong in ("", "{", "[]"):
            self.assertEqual(service.ask("POST", "/admin/images", wrong)[0], 400)
        self.assertEqual(service.ask("POST", "/admin/images", {"padding": "x" * (64 << 10)})[0], 413)
        events = self.ask_for(service, "x", {**source, "sha256": "0" * 64})[1]
        self.assertEqual(events[-1]["type"], "error")
        self.assertIn("does not have this SHA-256", "".join(event.get("data", "") for event in events))
        for wrong in ({}, {"name": "x"}, {"name": "x", "image_id": "0" * 64}, {"name": "x", "image_id": 1}):
            self.assertEqual(service.ask("PUT", "/admin/names", wrong)[0], 400)
        self.assertEqual(service.ask("DELETE", "/admin/names")[0], 400)
        self.assertEqual(service.ask("GET", "/images")[2], [])

    def test_other_tenants(self):
        service = self.serve()
        key = self.tenant(service)
        source = self.bring(service, Archive().done())
        self.assertEqual(self.ask_for(service, "x", source, key)[0], 403)
        image = self.ask_for(service, "x", source)[1][-1]["image_id"]
        for method, path, body in (("PUT", "/admin/names", {"name": "y", "image_id": image}),
                                   ("DELETE", "/admin/names?name=x", None)):
            self.assertEqual(service.ask(method, path, body, key=key)[0], 403)
            self.assertEqual(service.ask(method, path, body, key="wrong")[0], 401)
        for method in ("GET", "DELETE"):
            self.assertEqual(service.ask(method, f"/images/{image}", key=key)[0], 404)
        self.assertEqual(service.ask("POST", "/sandboxes", {"image_id": image}, key=key)[0], 400)
        self.assertEqual(service.ask("GET", "/images", key=key)[2], [])

    def test_hostile_archives(self):
        service = self.serve()
        outside = self.room / "outside"
        outside.mkdir(mode=0o777)
        outside.chmod(0o777)

        def made(*infos):
            archive = Archive()
            for info in infos:
                archive.tar.addfile(info, io.BytesIO(b"x" * info.size))
            return archive.done()

        # What leads out is left out by tar, or leads nowhere in the room in which it is unpacked.
        for content in (made(entry("../../../../../../escape", size=1), entry("/escape", size=1),
                             entry("way", tarfile.SYMTYPE, linkname=str(outside)), entry("way/escape", size=1),
                             entry("up", tarfile.SYMTYPE, linkname="../../../../.."), entry("up/escape", size=1)),
                        made(entry("way", tarfile.LNKTYPE, linkname="/etc/shadow")),
                        made(entry("home", tarfile.SYMTYPE, linkname=str(outside)),
                             entry("etc/passwd", tarfile.SYMTYPE, linkname="/etc/passwd"),
                             entry("proc", tarfile.SYMTYPE, linkname="/"), entry("tmp", tarfile.SYMTYPE, linkname="/"))):
            events = self.ask_for(service, "hostile", self.bring(service, content))[1]
            self.assertIn(events[-1]["type"], ("error", "image"))
            if events[-1]["type"] == "image":
                box = service.create({"image_id": events[-1]["image_id"]})
                self.assertEqual(service.output(box, "cat /etc/mark; cat /etc/shadow way 2>/dev/null"), "imported\n")
        self.assertEqual(list(outside.iterdir()), [])
        self.assertFalse(pathlib.Path("/escape").exists())
        found = [folder for folder, folders, files in os.walk(self.room) if "escape" in folders + files]
        self.assertFalse([folder for folder in found if "/trash" not in folder and "/layers" not in folder])
        # A mark of the overlay is a device, too.
        cut = gzip.compress(Archive().done()[:1 << 16], 1)
        for content in (made(entry("device", tarfile.CHRTYPE, devmajor=0, devminor=0)),
                        made(entry("device", tarfile.BLKTYPE, devmajor=8, devminor=0)),
                        b"no archive" * 1000, cut[:len(cut) // 2]):
            self.assertIn("no tar of a system", self.refused(service, content))
        self.assertIn("there is no /bin/sh", self.refused(service, packed([("notes", b"x")])))
        wait_until(lambda: not self.rooms("build-*"), "the end of what was refused")
        self.assertFalse([image for image in service.ask("GET", "/images")[2] if "refused" in image["names"]])

    def test_a_disk_that_is_full(self):
        # A limit on the size of files stands for that: what tar writes does not fit.
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (12 << 20, limits[1]))
        try:
            service = self.serve()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        archive = Archive(packing="w:gz", compresslevel=1)
        archive.put("large", bytes(13 << 20))
        self.assertIn("no tar of a system", self.refused(service, archive.done()))
        wait_until(lambda: not self.rooms("build-*"), "the end of what was unpacked")
        self.assertEqual((service.ask("GET", "/images")[2], list((self.files() / "layers").iterdir())), ([], []))
        self.imported(service, "smaller", Archive().done())


class Kills(Import):
    def test_nothing_half_imported_is_left_after_a_kill(self):
        service = self.serve()
        kept = self.imported(service, "kept", Archive("kept").done())
        archive = Archive("half")
        for number in range(1000):
            archive.put(f"many/{number}", b"x")
        source = self.bring(service, archive.done())
        for _ in range(2):
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                failed = pool.submit(self.ask_for, service, "half", source)
                wait_until(lambda: failed.done() or self.rooms("build-*/*/.gatehouse-system/many"),
                           "the archive being unpacked")
                service.end(signal.SIGKILL)
                failed.exception(PATIENCE)
            service = self.serve()
            wait_until(lambda: not self.rooms("build-*"), "the end of the half image")
            listed = {image["id"]: image["names"] for image in service.ask("GET", "/images")[2]}
            layers = {path.name for path in (self.files() / "layers").iterdir()}
            self.assertEqual(listed.pop(kept), ["kept"])
            self.assertEqual(layers, {kept, *listed})  # whole, if it was that quick
            self.assertIn(list(listed.values()), ([], [["half"]]))
        box = service.create({"dockerfile_steps": ["FROM kept"]})
        self.assertEqual(service.output(box, "cat /etc/mark"), "kept\n")
        self.assertEqual(service.ask("DELETE", f"/sandboxes/{source['sandbox']}")[0], 204)
        self.imported(service, "half", archive.done())
        self.assertEqual(service.output(service.create({"dockerfile_steps": ["FROM half"]}), "cat /etc/mark"), "half\n")

    def test_a_client_that_leaves(self):
        service = self.serve()
        source = self.bring(service, Archive().done())
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        connection.request("POST", "/admin/images", json.dumps({"name": "left", **source}), {"X-Api-Key": service.key})
        connection.sock.close()
        connection.close()
        wait_until(lambda: [image["names"] for image in service.ask("GET", "/images")[2]] == [["left"]], "the image")


class CommandLine(Import):
    def run_it(self, *words):
        return subprocess.run([mcp_client.GATEHOUSE, "sandbox", *words], capture_output=True, timeout=PATIENCE,
                              text=True, env=clean_environment(GATEHOUSE_STATE_DIR=str(self.room / "state")))

    def said(self, *words):
        result = self.run_it(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_images_from_a_terminal(self):
        self.serve(key=None)
        archive = Archive()
        archive.put("large", os.urandom(9 << 20))  # comes in several pieces
        path = self.room / "system.tar"
        path.write_bytes(archive.done())
        image = self.said("image", "import", "sys:1", str(path)).strip()
        self.assertRegex(image, "^[0-9a-f]{64}$")
        self.said("image", "name", "sys:*", "sys:1")
        listed = self.said("image", "ls").split()
        self.assertEqual((listed[:2], sorted(listed[3:])), ([image, "unused"], ["sys:*", "sys:1"]))
        self.assertEqual(self.said("ls"), "")  # where the archive was is gone
        box = self.said("create", "--image", "sys:1").strip()
        self.assertEqual(self.said("exec", box, "cat", "/etc/mark"), "imported\n")
        self.said("image", "rm", "sys:*")
        result = self.run_it("image", "rm", "sys:1")
        self.assertEqual(result.returncode, 125)
        self.assertIn("in use", result.stderr)
        self.said("rm", box)
        self.said("image", "rm", "sys:1")
        self.assertEqual(self.said("image", "ls"), "")
        result = self.run_it("create", "--image", "sys:1")
        self.assertEqual(result.returncode, 125)
        self.assertIn("no image has the name 'sys:1'", result.stderr)
        path.write_bytes(b"no archive")
        result = self.run_it("image", "import", "sys:1", str(path))
        self.assertEqual(result.returncode, 125)
        self.assertIn("no tar of a system", result.stderr)
        self.assertEqual(self.run_it("image", "import", "sys:1", str(self.room)).returncode, 2)
        self.assertEqual(self.run_it("image", "import", "sys:1", str(self.room / "none")).returncode, 125)
        self.assertEqual(self.said("ls"), "")


if __name__ == "__main__":
    mcp_client.main()
