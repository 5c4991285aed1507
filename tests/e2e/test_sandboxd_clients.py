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
import certificates
import npm_packages
import recorded_answers

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = pathlib.Path(sys.argv[2]).resolve()

OVER_HTTPS = """
const [version, baseUrl, apiKey] = process.argv.slice(2);
const { SandboxClient } = require(version);

(async () => {
  const client = new SandboxClient({ baseUrl, apiKey });
  const { id } = await client.createSandbox();
  const { stdout } = await client.exec(id, { command: 'echo hello' });
  await client.deleteSandbox(id);
  process.stdout.write(stdout);
})();
"""


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


    def drive_https(self, version, *trusted):
        """What Node.js says, and the service: a client by TLS."""
        certificates.make(self.room)
        service = self.serve("--tls-cert", self.room / "cert.pem", "--tls-key", self.room / "key.pem")
        (self.room / "node_modules").symlink_to(PACKAGES / "node_modules")
        (self.room / "https.cjs").write_text(OVER_HTTPS)
        return subprocess.run(
            [PACKAGES / npm_packages.NODE, self.room / "https.cjs", version, service.url, KEY],
            env=clean_environment(**dict(trusted)), capture_output=True, text=True, timeout=PATIENCE)

    def test_both_over_https(self):
        for version in ("sandbox-client-0.0", "sandbox-client-0.1"):
            with self.subTest(version):
                self.setUp()
                result = self.drive_https(version, ("NODE_EXTRA_CA_CERTS", str(self.room / "cert.pem")))
                self.assertEqual((result.returncode, result.stdout), (0, "hello\n"), result.stderr)

    def test_a_certificate_that_is_not_trusted(self):
        result = self.drive_https("sandbox-client-0.1")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("self-signed certificate", result.stderr)


if __name__ == "__main__":
    Scene.gatehouse = pathlib.Path(sys.argv[1]).resolve()
    npm_packages.install(HERE / "sandbox_clients", PACKAGES)
    os.environ.pop("NODE_OPTIONS", None)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
