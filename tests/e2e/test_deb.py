#!/usr/bin/env python3
"""The Debian package that scripts/make-deb packs of what is built: its files and what it says of itself, and that
its programs run from where it was unpacked.

Arguments: the build directory.
"""
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # not into the sources
from mcp_client import PATIENCE

BUILD = pathlib.Path(sys.argv[1]).resolve()
SOURCES = pathlib.Path(__file__).resolve().parents[2]
EPOCH = 2_000_000_000  # later than the files, whose times dpkg-deb only makes earlier


def run(*words, **settings):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=PATIENCE, **settings).stdout


def needed(program):
    """The shared libraries that it loads, without the loader."""
    found = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", program))
    return [name for name in found if not name.startswith("ld-")]


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for tool in ("dpkg-deb", "dpkg-shlibdeps"):
            if shutil.which(tool) is None:
                raise unittest.SkipTest(f"there is no {tool}")
        directory = tempfile.TemporaryDirectory(prefix="gatehouse-deb-")
        cls.addClassCleanup(directory.cleanup)
        cls.room = pathlib.Path(directory.name).resolve()
        cls.said, cls.file = cls.pack("first")
        cls.tree = cls.room / "tree"
        cls.control = cls.room / "control"
        run("dpkg-deb", "--extract", cls.file, cls.tree)
        run("dpkg-deb", "--control", cls.file, cls.control)
        cls.options = {option["name"]: option["value"]
                       for option in json.loads(run("meson", "introspect", BUILD, "--buildoptions"))}

    @classmethod
    def pack(cls, name, umask=0o022):
        place = cls.room / name
        place.mkdir()
        said = run(SOURCES / "scripts/make-deb", BUILD, place, umask=umask,
                   env={**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH), "TMPDIR": str(place)})
        file, = place.iterdir()
        return said, file

    def field(self, name):
        return run("dpkg-deb", "--field", self.file, name).strip()

    def files(self):
        return {str(path.relative_to(self.tree)) for path in self.tree.rglob("*") if not path.is_dir()}

    def programs(self):
        return [self.tree / "usr/bin/gatehouse", *(self.tree / "usr/libexec/gatehouse").iterdir()]

    def test_it_says_how_to_install_it(self):
        self.assertIn(f"  sudo apt install {self.file}\n", self.said)

    def test_the_same_files_make_the_same_bytes(self):
        self.assertEqual(self.pack("second", umask=0o077)[1].read_bytes(), self.file.read_bytes())
        for program in self.programs(): # its ID would be another one where the sources have another path
            self.assertNotIn("Build ID", run("readelf", "-n", program), program)

    def test_it_is_named_and_described(self):
        version, = re.findall(r"^  version: '(.*)',$", (SOURCES / "meson.build").read_text(), re.MULTILINE)
        arch = {62: "amd64", 183: "arm64"}.get(int.from_bytes(self.programs()[0].read_bytes()[18:20], "little"))
        self.assertEqual(self.file.name, f"gatehouse_{version}_{arch}.deb")
        self.assertEqual([self.field(name) for name in ("Package", "Version", "Architecture")],
                         ["gatehouse", version, arch])
        size = sum(path.stat().st_size for path in self.tree.rglob("*") if path.is_file()) / 1024
        self.assertAlmostEqual(int(self.field("Installed-Size")), size, delta=len(list(self.tree.rglob("*"))))

    def test_it_contains_what_make_install_installs_where_debian_looks_for_it(self):
        multiarch = run("dpkg-architecture", "-q", "DEB_HOST_MULTIARCH").strip()
        libdir = self.options["libdir"]
        expected = set()
        for place in json.loads(run("meson", "introspect", BUILD, "--installed")).values():
            place = os.path.relpath(place, self.options["prefix"])
            if place.startswith(f"{libdir}/") and place.endswith((".a", ".pc")):
                place = f"lib/{multiarch}/{os.path.relpath(place, libdir)}"
            expected.add("usr/" + place.replace("zsh/site-functions", "zsh/vendor-completions"))
        documents = {f"usr/share/doc/gatehouse/{name}" for name in ("changelog.gz", "copyright")}
        self.assertEqual(self.files(), expected | documents)
        self.assertLessEqual({"usr/bin/gatehouse", "usr/libexec/gatehouse/gatehouse-mcp",
                              "usr/lib/systemd/system/gatehouse-server.service",
                              "usr/lib/systemd/user/gatehouse.service", "usr/lib/sysusers.d/gatehouse.conf",
                              "usr/share/bash-completion/completions/gatehouse",
                              "usr/share/zsh/vendor-completions/_gatehouse",
                              "usr/share/fish/vendor_completions.d/gatehouse.fish",
                              f"usr/lib/{multiarch}/pkgconfig/gatehouse-authority.pc",
                              "usr/share/man/man1/gatehouse.1.gz"}, self.files())

    def test_all_is_owned_by_root_with_plain_modes_and_the_time_of_the_commit(self):
        listed = run("dpkg-deb", "--contents", self.file, env={**os.environ, "TZ": "UTC"}).splitlines()
        self.assertEqual({line.split()[1] for line in listed}, {"root/root"})
        self.assertEqual({tuple(line.split()[3:5]) for line in listed}, {("2033-05-18", "03:33")})
        programs = set(self.programs())
        for path in self.tree.rglob("*"):
            mode = 0o755 if path.is_dir() or path in programs else 0o644
            self.assertEqual(stat.S_IMODE(path.lstat().st_mode), mode, path)
            self.assertEqual(path.stat().st_mtime, EPOCH, path)

    def test_the_sums_are_right(self):
        run("md5sum", "--check", "--strict", self.control / "md5sums", cwd=self.tree)
        self.assertEqual(len((self.control / "md5sums").read_text().splitlines()), len(self.files()))

    def test_every_library_is_of_a_package_that_it_depends_on(self):
        depends = {re.split("[ (]", entry)[0] for entry in self.field("Depends").split(", ")}
        libraries = {library for program in self.programs() for library in needed(program)}
        self.assertIn("libuv.so.1", libraries)
        found = dict(re.findall(r"^\s*(\S+) .*=> (\S+)$", run("/sbin/ldconfig", "-p"), re.MULTILINE)[::-1])
        wanted = set()
        for library in libraries:
            owner = {name for path in (found[library], os.path.realpath(found[library])) for name in re.findall(
                r"^([^:\s]+)[:\S]*: ", subprocess.run(["dpkg", "-S", path], capture_output=True, text=True,
                                                      timeout=PATIENCE).stdout, re.MULTILINE)}
            self.assertEqual(len(owner), 1, library)
            wanted |= owner
        self.assertEqual(depends, wanted)

    def test_nothing_is_started_or_configured(self):
        self.assertEqual({path.name for path in self.control.iterdir()}, {"control", "md5sums", "prerm"})
        self.assertEqual([file for file in self.files() if not file.startswith("usr/")], [])

    def test_services_end_only_when_it_is_removed(self):
        tools = self.room / "tools"
        tools.mkdir()
        (tools / "systemctl").write_text('#!/bin/sh\necho "$@"\nexit 1\n')
        (tools / "systemctl").chmod(0o755)
        environment = {"PATH": str(tools)}
        self.assertEqual(run(self.control / "prerm", "upgrade", "9", env=environment), "")
        self.assertEqual(run(self.control / "prerm", "remove", env=environment),
                         "--quiet disable --now gatehouse-server.service gatehouse-sandboxd.service\n")
        (tools / "systemctl").unlink()
        self.assertEqual(run(self.control / "prerm", "remove", env=environment), "")

    def test_no_file_names_another_prefix(self):
        for file in self.files():
            content = (self.tree / file).read_bytes()
            for folder in (SOURCES / "src", BUILD):
                self.assertFalse(f"{folder}/".encode() in content, f"{file} names {folder}")
            for place in (b"bin/gatehouse", b"libexec/gatehouse"):
                for prefix in re.findall(rb"(/[\w/.-]*)/" + place, content):
                    self.assertEqual(prefix, b"/usr", file)
        for file in ("lib/systemd/system/gatehouse-server.service", "lib/systemd/system/gatehouse-sandboxd.service",
                     "lib/systemd/user/gatehouse.service"):
            self.assertIn("\nExecStart=/usr/bin/gatehouse ", (self.tree / "usr" / file).read_text())

    def test_the_library_is_found(self):
        config, = self.tree.glob("usr/lib/*/pkgconfig")
        environment = {**os.environ, "PKG_CONFIG_PATH": str(config), "PKG_CONFIG_SYSROOT_DIR": str(self.tree)}
        flags = run("pkg-config", "--cflags", "--libs", "gatehouse-authority", env=environment).split()
        run("gcc", SOURCES / "examples/keep_notes.c", *flags, "-o", self.room / "keep_notes")

    def test_its_programs_run_where_it_is_unpacked(self):
        gatehouse = self.tree / "usr/bin/gatehouse"
        folder = self.room / "folder"
        folder.mkdir()
        (folder / "notes.txt").write_text("milk\n")
        environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
        self.assertEqual(run(gatehouse, "--version", env=environment), f"gatehouse {self.field('Version')}\n")
        self.assertIn("milk", run(gatehouse, "search", "milk", folder, env=environment))
        call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}
        answer = run(gatehouse, "mcp", folder, env=environment, input=json.dumps(call) + "\n")
        self.assertIn("serverInfo", json.loads(answer.splitlines()[0])["result"])
        # This one starts another one itself.
        if subprocess.run([gatehouse, "sandbox", "check"], capture_output=True, timeout=PATIENCE).returncode == 0:
            run(gatehouse, "sandbox", "run", "--domain", "a.test", "true", env=environment, cwd=folder)
        # Those that the others start are beside them; each says who it is, but for the one that is a sandbox's first.
        for program in (self.tree / "usr/libexec/gatehouse").iterdir():
            if program.name != "gatehouse-init":
                self.assertIn(self.field("Version"), run(program, "--version", env=environment), program.name)


if __name__ == "__main__":
    del sys.argv[1:]
    program = unittest.main(exit=False)
    for case, reason in program.result.skipped:
        print(f"skipped: {case}: {reason}")
    sys.exit(not program.result.wasSuccessful())
