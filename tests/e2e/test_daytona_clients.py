#!/usr/bin/env python3
"""The sandbox service with Daytona's own clients, unmodified, in three versions.

    test_daytona_clients.py GATEHOUSE PACKAGES [VERSION]

PACKAGES is a directory for the clients, which are installed once. VERSION is 0_218_0, 0_205_1 or 0_143_0; without
it all three are tested.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # not into the sources
from sandboxd_scene import PATIENCE, Scene, clean_environment
import npm_packages
import recorded_answers

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = pathlib.Path(sys.argv[2]).resolve()


class Client(Scene):
    def drive(self, version):
        service = self.serve()
        keys = [service.ask("POST", "/admin/tenants", {"name": name, "create_key": True})[2]["key"]["api_key"]
                for name in ("one", "another")]
        (self.room / "node_modules").symlink_to(PACKAGES / "node_modules")
        self.run_script("drive.mjs", version, service.url, *keys)
        self.run_script("tokens.mjs", version, service.url, keys[0], LAMBDA_TASK_ROOT="x")

    def run_script(self, name, *arguments, **environment):
        shutil.copy(HERE / "daytona_clients" / name, self.room)
        result = subprocess.run(
            [PACKAGES / npm_packages.NODE, self.room / name, *arguments],
            env=clean_environment(HOME=str(self.room), **environment), cwd=self.room, capture_output=True, text=True,
            timeout=PATIENCE)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("every call did what it should", result.stdout)


class Versions(Client):
    def test_0_218_0(self):
        self.compare_recorded()
        self.drive("daytona-0.218")

    def test_0_205_1(self):
        self.drive("daytona-0.205")

    def test_0_143_0(self):
        self.drive("daytona-0.143")

    def compare_recorded(self):
        """Our recorded answers have its types."""
        models = PACKAGES / "node_modules/daytona-0.218/node_modules/@daytona"
        types = {name: recorded_answers.fields_of((models / package / "src/models" / file).read_text(), name)
                 for name, package, file in (
                     ("Sandbox", "api-client", "sandbox.d.ts"), ("FileInfo", "toolbox-api-client", "file-info.d.ts"),
                     ("ErrorResponse", "toolbox-api-client", "error-response.d.ts"),
                     ("SessionExecuteResponse", "toolbox-api-client", "session-execute-response.d.ts"),
                     ("Command", "toolbox-api-client", "command.d.ts"),
                     ("SessionCommandLogsResponse", "toolbox-api-client", "session-command-logs-response.d.ts"))}
        self.assertGreater(len(types["Sandbox"]), 20)
        self.assertEqual(recorded_answers.compare(recorded_answers.load("daytona"), types), [])


if __name__ == "__main__":
    Scene.gatehouse = pathlib.Path(sys.argv[1]).resolve()
    npm_packages.install(HERE / "daytona_clients", PACKAGES)
    os.environ.pop("NODE_OPTIONS", None)
    unittest.main(argv=sys.argv[:1] + [f"Versions.test_{version}" for version in sys.argv[3:]])
