#!/usr/bin/env python3
"""The sandbox service with Mastra's provider of Daytona sandboxes, unmodified.

    test_sandboxd_mastra.py GATEHOUSE PACKAGES

PACKAGES is a directory for the provider and what it needs, about 250 MB, which are installed once.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # not into the sources
from sandboxd_scene import KEY, PATIENCE, Scene, clean_environment
import npm_packages

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = pathlib.Path(sys.argv[2]).resolve()


class Mastra(Scene):
    def test_a_workspace(self):
        service = self.serve()
        (self.room / "node_modules").symlink_to(PACKAGES / "node_modules")
        (self.room / "contexts").mkdir()
        shutil.copy(HERE / "mastra_client/drive.mjs", self.room)
        result = subprocess.run(
            [PACKAGES / npm_packages.NODE, self.room / "drive.mjs", service.url, KEY, self.room / "contexts"],
            env=clean_environment(HOME=str(self.room)), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("every call did what it should", result.stdout)


if __name__ == "__main__":
    Scene.gatehouse = pathlib.Path(sys.argv[1]).resolve()
    npm_packages.install(HERE / "mastra_client", PACKAGES)
    os.environ.pop("NODE_OPTIONS", None)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
