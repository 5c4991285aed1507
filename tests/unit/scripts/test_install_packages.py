#!/usr/bin/env python3
"""Shows which packages scripts/install-packages asks for, with an apt and a dpkg that the test wrote.

The last line counts.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

INSTALL = pathlib.Path(__file__).resolve().parents[3] / "scripts/install-packages"

# Each reads its packages from a file beside it; apt-get writes down what it is asked for.
FAKES = {
    "dpkg-query": 'for last; do :; done; grep -qx "$last" "$FAKES/installed" && echo installed',
    "apt-cache": 'for last; do :; done; grep -qx "$last" "$FAKES/known"',
    "apt-get": 'if [ "$1" = update ]; then cp "$FAKES/offered" "$FAKES/known"; else echo "$@" >"$FAKES/asked"; fi',
    "id": 'echo "${FAKE_USER:-0}"',
}


class Packages(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="gatehouse-packages-")
        self.addCleanup(directory.cleanup)
        self.fakes = pathlib.Path(directory.name)
        for name, body in FAKES.items():
            (self.fakes / name).write_text(f"#!/bin/sh\n{body}\n")
            (self.fakes / name).chmod(0o755)

    def run_for(self, group, installed=(), known=(), offered=(), user=0,
                architecture=""):
        for name, packages in (("installed", installed), ("known", known), ("offered", offered)):
            (self.fakes / name).write_text("".join(f"{package}\n" for package in packages))
        (self.fakes / "asked").unlink(missing_ok=True)
        done = subprocess.run(
            [INSTALL, group], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": f"{self.fakes}:/usr/bin:/bin", "FAKES": str(self.fakes),
                 "FAKE_USER": str(user), "GATEHOUSE_LIBRARIES_FOR": architecture})
        asked = self.fakes / "asked"
        return done, asked.read_text().split() if asked.exists() else []

    def test_what_is_missing_is_asked_for_and_told(self):
        done, asked = self.run_for("coverage", offered=["gcovr"])
        self.assertEqual((done.returncode, done.stdout), (0, "Installing: gcovr\n"))
        self.assertEqual(asked[-1], "gcovr")

    def test_nothing_is_said_when_nothing_is_missing(self):
        done, asked = self.run_for("coverage", installed=["gcovr"])
        self.assertEqual((done.returncode, done.stdout, asked), (0, "", []))

    def test_of_two_names_the_one_that_this_release_has_is_asked_for(self):
        for offered, wanted, other in (
            (["libllhttp-dev", "node-llhttp"], "libllhttp-dev", "node-llhttp"),
            (["libllhttp-dev"], "libllhttp-dev", "node-llhttp"),
            (["node-llhttp"], "node-llhttp", "libllhttp-dev"),
            ([], "libllhttp-dev", "node-llhttp"),  # apt says itself what it does not know
        ):
            with self.subTest(offered):
                done, asked = self.run_for("build", offered=offered)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertIn(wanted, asked)
                self.assertNotIn(other, asked)
                self.assertNotIn("|", done.stdout)

    def test_one_of_two_is_enough(self):
        _, asked = self.run_for("build", installed=["libllhttp-dev"], offered=["libllhttp-dev"])
        self.assertIn("meson", asked)
        self.assertNotIn("libllhttp-dev", asked)

    def test_a_clang_that_is_too_old_does_not_count(self):
        _, asked = self.run_for("test", installed=["clang"], offered=["clang", "clang-16"])
        self.assertIn("clang-16", asked)
        _, asked = self.run_for("test", installed=["clang-16"], offered=["clang", "clang-16"])
        self.assertNotIn("clang-16", asked)
        self.assertNotIn("clang", asked)

    def test_libraries_of_another_architecture(self):
        _, asked = self.run_for("portable", architecture="arm64")
        self.assertEqual(asked[-3:], ["libcmocka-dev:arm64", "libjansson-dev:arm64", "python3"])

    def test_who_may_not_install_is_told_what_to_install(self):
        if os.path.exists("/usr/bin/sudo") or os.path.exists("/bin/sudo"):
            self.skipTest("sudo is at hand")
        done, asked = self.run_for("build", known=["node-llhttp"], user=1000)
        self.assertEqual((done.returncode, asked), (1, []))
        self.assertIn(" node-llhttp ", done.stdout)
        self.assertIn("(apt-get install meson ", done.stdout)

    def test_a_group_that_does_not_exist(self):
        done, _ = self.run_for("nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertIn("nonsense", done.stdout)

    def run_without_apt(self, *groups, lacks=()):
        """On a system that has what the build needs, but for `lacks`, and no apt-get."""
        tools = self.fakes / "tools"
        tools.mkdir(exist_ok=True)
        for name in ("sh", "env", "printf", "cat", "dirname"):
            (tools / name).unlink(missing_ok=True)
            (tools / name).symlink_to(shutil.which(name))
        for name in ("gcc", "gzip", "meson", "ninja"):
            (tools / name).write_text("#!/bin/sh\ncat >/dev/null\n")
            (tools / name).chmod(0o755)
        (tools / "pkg-config").write_text(
            '#!/bin/sh\ncase " %s " in *" $2 "*) exit 1 ;; esac\n' % " ".join(lacks))
        (tools / "pkg-config").chmod(0o755)
        for name in lacks:
            (tools / name).unlink(missing_ok=True)
        return subprocess.run([INSTALL, *groups], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={"PATH": str(tools)})

    def test_without_apt_the_build_goes_on_if_all_is_there(self):
        done = self.run_without_apt("build")
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_without_apt_what_is_missing_is_named_as_other_systems_do(self):
        done = self.run_without_apt("build", lacks=["meson", "libuv", "libpcre2-8"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("no apt-get", done.stdout)
        self.assertIn("\n    meson libuv pcre2\n", done.stdout)


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=0)
    result = program.result
    skipped = len(result.skipped)
    failed = len(result.failures) + len(result.errors)
    for case, reason in result.skipped:
        print(f"skipped: {case.id()}: {reason}")
    print(f"{result.testsRun - skipped - failed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or result.testsRun == skipped else 0)
