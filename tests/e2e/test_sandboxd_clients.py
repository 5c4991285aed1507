#!/usr/bin/env python3
"""The sandbox service with n8n's own client, unmodified, in two versions.

    test_sandboxd_clients.py GATEHOUSE PACKAGES

PACKAGES is a directory for the clients, which are installed once.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # not into the sources
from sandboxd_scene import KEY, PATIENCE, Scene, clean_environment
import npm_packages
import recorded_answers

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = pathlib.Path(sys.argv[2]).resolve()


class Clients(Scene):
    def drive(self, version):
        service = self.serve()
        (self.room / "node_modules").symlink_to(PACKAGES / "node_modules")
        shutil.copy(HERE / "sandbox_clients/drive.mjs", self.room)
        result = subprocess.run(
            [PACKAGES / npm_packages.NODE, self.room / "drive.mjs", version, service.url, KEY],
            env=clean_environment(), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("every call did what it should", result.stdout)

    def test_client_0_0_4(self):
        self.drive("sandbox-client-0.0")

    def test_client_0_1_1(self):
        self.drive("sandbox-client-0.1")

    def test_recorded_answers_have_its_types(self):
        text = (PACKAGES / "node_modules/sandbox-client-0.1/dist/index.d.ts").read_text()
        types = {name: {re.sub("([A-Z])", r"_\1", field).lower(): about  # as the service writes it
                        for field, about in recorded_answers.fields_of(text, name).items()}
                 for name in ("SandboxRecord", "FileEntry", "FileStat")}
        self.assertEqual(recorded_answers.compare(recorded_answers.load("n8n-sandbox"), types), [])


if __name__ == "__main__":
    Scene.gatehouse = pathlib.Path(sys.argv[1]).resolve()
    npm_packages.install(HERE / "sandbox_clients", PACKAGES)
    os.environ.pop("NODE_OPTIONS", None)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
