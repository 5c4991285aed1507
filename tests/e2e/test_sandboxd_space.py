#!/usr/bin/env python3
"""Sandboxes do not fill the disk of the service, which is a small one here.

    test_sandboxd_space.py GATEHOUSE

It mounts file systems, as root, in a mount namespace of its own.
"""
import contextlib
import http.client
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import unittest

sys.dont_write_bytecode = True  # not into the sources
from sandboxd_scene import Scene, wait_until

MB = 1 << 20
SIZE, FLOOR = 120 * MB, 80 * MB
# Slowly enough for a machine that looks late.
FILL = "while head -c 500000 /dev/zero >> filling; do sleep 0.02; done"


class Space(Scene):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can mount")

    def mount(self, *words):
        disk = self.room / "state"
        disk.mkdir(mode=0o700)
        done = subprocess.run(["mount", *words, disk], capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest(f"cannot mount: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=True)
        disk.chmod(0o700)

    def mount_disk(self):
        image = self.room / "image"
        with open(image, "wb") as file:
            file.truncate(SIZE)
        if not shutil.which("mke2fs"):
            self.skipTest("no mke2fs here")
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-m", "0", "-N", "2000", image], stderr=subprocess.DEVNULL, check=True)
        self.mount("-o", "loop", image)

    def free(self):
        about = os.statvfs(self.room / "state")
        return about.f_bavail * about.f_frsize

    def metric(self, service, name):
        return int(re.search(rf"(?m)^{name} (\d+)$", service.ask("GET", "/metrics")[2].decode())[1])

    def begin(self, service, sandbox, command):
        """Runs it until it ends, or its sandbox or the service does."""
        def follow():
            with contextlib.suppress(OSError, http.client.HTTPException):
                service.events(sandbox, command)

        threading.Thread(target=follow, daemon=True).start()

    def wait_for_ends(self, service, count):
        wait_until(lambda: self.metric(service, "gatehouse_ended_for_space_total") == count, f"{count} ends")

    def check_refusals(self, service, sandbox):
        """Nothing new, no file; what is there can be read and removed."""
        files = f"/sandboxes/{sandbox}/files"
        for method, path, body, query in (
                ("POST", "/sandboxes", None, {}),
                ("POST", "/sandboxes", {"dockerfile_steps": ["RUN true"]}, {}),
                ("PUT", files, b"x", {"path": "/home/user/x"}), ("POST", files, b"x", {"path": "/home/user/x"}),
                ("POST", f"/sandboxes/{sandbox}/mkdir", None, {"path": "/home/user/d"}),
                ("POST", files + "/copy", {"src": "/home/user/a", "dest": "/home/user/b"}, {})):
            status, _, answer = service.ask(method, path, body, **query)
            self.assertEqual((status, answer["code"]), (507, 507), (method, path, answer))
        self.assertEqual(service.ask("GET", files + "/content", path="/home/user/a")[2], b"kept")
        self.assertEqual(service.output(sandbox, "cat a"), "kept\n")

    def test_a_sandbox_that_fills_the_disk_is_ended_and_others_are_not(self):
        self.mount_disk()
        service = self.serve("--keep-free", str(FLOOR))
        self.assertEqual(service.ask("GET", "/capabilities")[2]["keep_free_bytes"], FLOOR)
        other, greedy = service.create(), service.create()
        self.assertEqual(service.ask("PUT", f"/sandboxes/{other}/files", b"kept", path="/home/user/a")[0], 200)
        self.begin(service, other, "sleep 1000")
        self.begin(service, greedy, FILL)
        self.wait_for_ends(service, 1)
        self.assertIn(self.free(), range(FLOOR // 2, FLOOR))
        self.assertEqual(self.metric(service, "gatehouse_disk_keep_free_bytes"), FLOOR)
        self.check_refusals(service, other)
        self.assertEqual(service.output(other, "pgrep -c sleep"), "1\n")
        # Its files are there, and its next use is told what happened; if it goes on, so do we.
        status, headers, _ = service.ask("POST", f"/sandboxes/{greedy}/executions", {"command": "true"})
        self.assertEqual((status, headers["X-Sandbox-Restarted"]), (409, "1"))
        self.begin(service, greedy, FILL)
        self.wait_for_ends(service, 2)
        self.assertGreater(self.free(), FLOOR // 2)
        self.assertEqual(service.ask("DELETE", f"/sandboxes/{greedy}")[0], 204)
        wait_until(lambda: self.free() > FLOOR, "space")
        service.create()
        service.end()
        said = service.process.stderr.read()
        self.assertRegex(said, f"(?m)a sandbox was ended.*{greedy}.*the disk is nearly full")
        self.assertEqual(said.count("no sandboxes: the disk is nearly full"), 1)

    def test_a_build_that_fills_the_disk_fails(self):
        self.mount_disk()
        service = self.serve("--keep-free", str(FLOOR))
        status, _, answer = service.ask("POST", "/sandboxes", {"dockerfile_steps": [f"RUN cd /; {FILL}"]})
        self.assertGreaterEqual(status, 400)
        self.assertIn("the disk is nearly full", answer["error"])
        wait_until(lambda: self.free() > FLOOR, "space")
        service.create()

    def test_many_small_files_do_not_fill_it_either(self):
        self.mount_disk()
        service = self.serve("--keep-free", "1MB")
        sandbox = service.create()
        self.begin(service, sandbox, "i=0; while : > $i; do i=$((i + 1)); done; sleep 1000")
        self.wait_for_ends(service, 1)
        self.assertEqual(service.ask("POST", "/sandboxes")[0], 507)

    def test_what_nobody_sees_writing_is_ended_with_all_others(self):
        # The kernel does not say who writes to memory.
        self.mount("-t", "tmpfs", "-o", f"size={SIZE}", "none")
        service = self.serve("--keep-free", str(FLOOR))
        quiet = service.create()
        self.begin(service, quiet, "sleep 1000")
        self.begin(service, service.create(), FILL)
        self.wait_for_ends(service, 2)
        self.assertLess(self.free(), FLOOR // 2)
        self.assertGreater(self.free(), 0)

    def test_no_call_takes_space_before_anybody_looks(self):
        service = self.serve()
        script = ("fallocate -l 1000000 a 2>/dev/null || echo refused; : > b;"
                  "fallocate -n -l 1000000 b 2>/dev/null || echo refused;"
                  "python3 -c 'import os; f = open(\"c\", \"wb\"); os.posix_fallocate(f.fileno(), 0, 100000)';"
                  "stat -c %s a b c; stat -c %b a b; fallocate -p -l 4096 c && echo given back")
        self.assertEqual(service.output(service.create(), script),
                         "refused\nrefused\n0\n0\n100000\n0\n0\ngiven back\n")

    def test_the_operator_decides(self):
        self.mount("-t", "tmpfs", "-o", "size=64m", "none")
        usual = self.serve()
        self.assertIn(usual.ask("GET", "/capabilities")[2]["keep_free_bytes"], range(3 * MB, 4 * MB))
        usual.end()
        service = self.serve("--keep-free", "0")
        self.assertEqual(service.ask("GET", "/capabilities")[2]["keep_free_bytes"], 0)
        self.assertEqual(service.output(service.create(), "head -c 100000000 /dev/zero > all 2>&1 || echo full; rm all"), "full\n")
        service.end()
        service = self.serve("--keep-free", "1GB")
        self.assertEqual(service.ask("POST", "/sandboxes")[0], 507)


if __name__ == "__main__":
    # The mounts go with this program, however it ends.
    if os.geteuid() == 0 and "GATEHOUSE_TEST_MOUNTS" not in os.environ:
        os.environ["GATEHOUSE_TEST_MOUNTS"] = "private"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    Scene.gatehouse = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
