#!/usr/bin/env python3
"""What scripts/run-tests counts and tells."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # not into the sources
BUILD = pathlib.Path(sys.argv[1])
SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts/run-tests"


def load():
    loader = importlib.machinery.SourceFileLoader("run_tests", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    loader.exec_module(module)
    return module


class Counting(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="gatehouse-run-tests-")
        self.addCleanup(directory.cleanup)
        self.reports = pathlib.Path(directory.name)

    def count(self, **test):
        log = self.reports / "log.json"
        log.write_text(json.dumps({"name": "gatehouse / e2e", "result": "OK", **test}) + "\n")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            line = load().count_run(log, "build", self.reports).line()
        return line, said.getvalue()

    def test_a_test_without_a_report_is_one(self):
        self.assertEqual(self.count(), ("1 passed, 0 failed", ""))
        self.assertEqual(self.count(result="FAIL")[0], "0 passed, 1 failed")
        self.assertEqual(self.count(result="SKIP", stdout="no npm\n"),
                         ("0 passed, 0 failed, 1 skipped", "skipped build: e2e: no npm\n"))

    def test_what_it_skips_inside_is_counted_and_told(self):
        line, said = self.count(stdout="skipped: a: no root\nmore\nskipped: b: no disk\n")
        self.assertEqual(line, "1 passed, 0 failed, 2 skipped")
        self.assertEqual(said, "skipped build: e2e: a: no root\nskipped build: e2e: b: no disk\n")

    def test_cases_of_a_report_are_counted_with_their_reasons(self):
        (self.reports / "e2e.xml").write_text(
            "<testsuites><testsuite><testcase name='a'/><testcase name='b'><skipped/></testcase>"
            "<testcase name='c'><failure>why</failure></testcase></testsuite></testsuites>")
        line, said = self.count(result="FAIL", stdout="skipped: no root\n")
        self.assertEqual(line, "1 passed, 1 failed, 1 skipped")
        self.assertIn("skipped build: e2e: b: no root\n", said)
        self.assertIn("FAILED  build: e2e: c\nwhy\n", said)


class Choice(unittest.TestCase):
    """Whatever meson knows runs by default or in `make test-heavy`, by the suites of each test."""

    @staticmethod
    def chosen(runs, mode):
        tests = json.loads((BUILD / "meson-info/intro-tests.json").read_text())
        names = []
        for kind, _, _, wanted, left_out, _ in runs:
            for test in tests if kind == mode else []:
                suites = {suite.split(":")[-1] for suite in test["suite"]}
                if suites.isdisjoint(left_out) and (not wanted or suites & set(wanted)):
                    names.append(test["name"])
        return names

    def test_every_test_runs_with_gcc_once(self):
        module = load()
        everything = [(*run[:3], [], [], []) for run in module.RUNS]
        self.assertCountEqual(
            self.chosen(module.RUNS, "release") + self.chosen(module.HEAVY_RUNS, "release"),
            self.chosen(everything, "release"))

    def test_sanitizers_see_all_but_further_runs_of_a_program(self):
        module = load()
        first_runs = [(*run[:3], [], ["ordinary-user", "without-openat2"], []) for run in module.RUNS]
        self.assertCountEqual(
            self.chosen(module.RUNS, "asan") + self.chosen(module.HEAVY_RUNS, "asan"),
            self.chosen(first_runs, "asan"))

    def test_the_heavy_part_is_not_empty_and_not_all(self):
        module = load()
        for mode in "release", "asan":
            heavy = len(self.chosen(module.HEAVY_RUNS, mode))
            self.assertGreater(heavy, 5)
            self.assertLess(heavy, len(self.chosen(module.RUNS, mode)))


class Building(unittest.TestCase):
    def run_all(self, broken):
        """What run_all() does, in order, if these builds fail."""
        module = load()
        done = []

        def build_all(mode, build, target):
            done.append(f"build {build}")
            return "why" if build in broken else None

        def run(build, arguments):
            done.append(f"test {build} {' '.join(arguments)}".strip())
            tally = module.Tally()
            tally.passed = 2
            return tally

        module.build_all, module.run = build_all, run
        runs = [("a", "one", "all", ["x"], ["y"], ["z"]), ("b", "two", "all", [], [], [])]
        try:
            return done, module.run_all(runs).line()
        except SystemExit as end:
            return done, str(end)

    def test_each_build_is_tested_after_it_is_built(self):
        done, line = self.run_all([])
        self.assertEqual(line, "4 passed, 0 failed")
        self.assertCountEqual(done, ["build one", "build two", "test one --suite=x --no-suite=y z", "test two"])
        self.assertLess(done.index("build two"), done.index("test two"))

    def test_a_build_that_fails_ends_it(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(self.run_all(["one"]), (["build one"], "run-tests: cannot build one"))
        self.assertEqual(said.getvalue(), "why\n")


class Progress(unittest.TestCase):
    def test_steps_are_told_and_the_output_is_kept(self):
        module = load()
        module.PROGRESS_SECONDS = 0
        said = io.StringIO()
        command = [sys.executable, "-c", "print('[1/3] one'); print('noise'); print(' 2/3 two ok')"]
        with contextlib.redirect_stdout(said):
            status, output = module.run_with_progress(command, "build: building")
        self.assertEqual(status, 0)
        self.assertEqual(output, "[1/3] one\nnoise\n 2/3 two ok\n")
        self.assertEqual(said.getvalue(), "build: building: 1 of 3\nbuild: building: 2 of 3\n")

    def test_a_failed_command_tells_its_status(self):
        status, output = load().run_with_progress([sys.executable, "-c", "exit(3)"], "x")
        self.assertEqual((status, output), (3, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
