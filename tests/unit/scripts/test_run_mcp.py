#!/usr/bin/env python3
"""What tests/conformance/run_mcp.py makes of a suite's results, with a suite that says what the test
wants to hear."""
import hashlib
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True  # not into the sources
CONFORMANCE = pathlib.Path(__file__).resolve().parents[2] / "conformance"
SCRIPT = CONFORMANCE / "run_mcp.py"

# Plays the suite: node PROGRAM server --url ADDRESS --output-dir FOLDER ...
SUITE = f"""#!{sys.executable}
import json, os, pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--output-dir") + 1])
results = json.loads(os.environ["SUITE_RESULTS"])
print(f"Running active suite ({{os.environ.get('SUITE_ANNOUNCES', len(results))}} scenarios) against it")
for name, checks in results.items():
    print(f"\\n=== Running scenario: {{name}} ===")
    if checks is not None:
        place = folder / f"server-{{name}}-2026-11-15T15-01-18-123Z"
        place.mkdir()
        (place / "checks.json").write_text(json.dumps(checks))
"""

SERVER = f"""#!{sys.executable}
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT))
print("http://127.0.0.1:1/mcp", flush=True)
signal.pause()
"""


def load():
    spec = importlib.util.spec_from_file_location("run_mcp", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(status, name="a"):
    return {"id": name, "status": status, "errorMessage": "because" if status != "SUCCESS" else None}


GOOD = [check("SUCCESS")]


class Judging(unittest.TestCase):
    def judge(self, checks, **excused):
        excused = {None if name == "everything" else name: why for name, why in excused.items()}
        return load().judge(checks, excused)

    def test_a_scenario_passes_if_something_succeeded_and_nothing_failed(self):
        self.assertEqual(self.judge(GOOD), ("passed", ""))
        self.assertEqual(self.judge(GOOD + [check("INFO"), check("SKIPPED")])[0], "passed")

    def test_failures_and_warnings_fail(self):
        for status in ("FAILURE", "WARNING", "SOMETHING_NEW"):
            state, why = self.judge([check("SUCCESS"), check(status, "b")])
            self.assertEqual(state, "failed")
            self.assertEqual(why, f"b: {status}: because")

    def test_a_scenario_without_a_check_of_its_own_fails(self):
        for checks in ([], [check("INFO")], [check("SUCCESS", "wire-schema-valid")]):
            self.assertEqual(self.judge(checks), ("failed", "nothing was checked"))

    def test_a_scenario_that_did_not_end_fails_even_if_it_may_fail(self):
        self.assertEqual(self.judge(None)[0], "failed")
        self.assertEqual(self.judge(None, everything="why")[0], "failed")

    def test_what_may_fail_counts_as_skipped_while_it_does(self):
        self.assertEqual(self.judge([check("FAILURE")], everything="why"), ("skipped", "why"))
        self.assertEqual(self.judge([], everything="why"), ("skipped", "why"))
        self.assertEqual(self.judge(GOOD, everything="why")[0], "failed")

    def test_one_check_may_fail_and_the_others_not(self):
        checks = [check("SUCCESS"), check("WARNING", "b")]
        self.assertEqual(self.judge(checks, b="why"), ("skipped", "b: why"))
        self.assertEqual(self.judge(checks + [check("FAILURE", "c")], b="why")[0], "failed")
        self.assertEqual(self.judge(GOOD, b="why")[0], "failed")


class Expecting(unittest.TestCase):
    def read(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(text)
            file.flush()
            return load().read_expected(pathlib.Path(file.name))

    def test_a_line_is_a_scenario_or_a_check_of_it_and_the_reason(self):
        self.assertEqual(self.read("# a word\n\none  it is so\ntwo:a so\ntwo:b too\n"),
                         {"one": {None: "it is so"}, "two": {"a": "so", "b": "too"}})

    def test_no_excuse_without_a_reason_nor_twice(self):
        for text in ("one\n", "one \n", "one a\none b\n", "one a\none:x b\n", "one:x a\none b\n",
                     "one:x a\none:x b\n"):
            with self.assertRaises(SystemExit):
                self.read(text)

    def test_the_files_that_are_there_can_be_read(self):
        runs = {name for name, _, _ in load().RUNS}
        files = {path.name for path in (CONFORMANCE / "mcp").glob("expected-*")}
        self.assertEqual(files, {f"expected-{name}.txt" for name in runs})
        for name in files:
            load().read_expected(CONFORMANCE / "mcp" / name)


class Running(unittest.TestCase):
    """The whole program. Of the three runs, the first two expect no failure."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="gatehouse-run-mcp-")
        self.addCleanup(directory.cleanup)
        self.place = pathlib.Path(directory.name)
        (self.place / "cache/node_modules/.bin").mkdir(parents=True)
        lock = (CONFORMANCE / "mcp/package-lock.json").read_bytes()
        (self.place / "cache/installed").write_text(hashlib.sha256(lock).hexdigest())
        self.program("cache/node_modules/.bin/node", SUITE)
        self.server = self.program("server", SERVER.replace("EXIT", "0"))

    def program(self, name, text):
        path = self.place / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run_it(self, results, **environment):
        report = self.place / "conformance_mcp.xml"
        report.unlink(missing_ok=True)
        done = subprocess.run(
            [SCRIPT, self.place / "cache", self.server], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "SUITE_RESULTS": results, **environment,
                 "CMOCKA_XML_FILE": str(self.place / "%g.xml")})
        cases = {}
        for case in xml.parse(report).getroot().iter("testcase"):
            cases[case.get("name")] = case[0].tag if len(case) else "passed"
        return done.returncode, cases, done.stdout

    def excused(self):
        expected = load().read_expected(CONFORMANCE / "mcp/expected-2026-07-28.txt")
        return "".join(f', "{name}": [{{"id": "x", "status": "FAILURE"}}]' for name in expected)

    def test_each_scenario_is_a_case(self):
        code, cases, said = self.run_it('{"one": [{"id": "a", "status": "SUCCESS"}], "two": []}')
        self.assertEqual(code, 1)
        self.assertEqual(cases["active: one"], "passed")
        self.assertEqual(cases["active: two"], "failure")
        self.assertEqual(cases["active: the server ends well"], "passed")
        self.assertEqual(cases["2025-11-25: one"], "passed")
        # It excuses what did not run.
        self.assertEqual(cases["2026-07-28: tasks-lifecycle"], "failure")
        self.assertIn("failed: active: two\nnothing was checked\n", said)

    def test_what_is_excused_is_skipped_with_its_reason(self):
        results = '{"one": [{"id": "a", "status": "SUCCESS"}]' + self.excused() + "}"
        code, cases, said = self.run_it(results)
        self.assertEqual(code, 1)  # the other runs excuse nothing
        self.assertEqual(cases["active: tasks-lifecycle"], "failure")
        self.assertEqual(cases["2026-07-28: tasks-lifecycle"], "skipped")
        self.assertIn("skipped: 2026-07-28: tasks-lifecycle: tasks are", said)
        self.assertEqual({state for name, state in cases.items() if name.startswith("2026")},
                         {"passed", "skipped"})

    def test_a_suite_that_stops_early_fails(self):
        results = '{"one": [{"id": "a", "status": "SUCCESS"}]}'
        for announced in ("2", "none"):
            _, cases, _ = self.run_it(results, SUITE_ANNOUNCES=announced)
            self.assertEqual(cases["active: the suite runs"], "failure")
        _, cases, _ = self.run_it('{"one": null, "two": [{"id": "a", "status": "SUCCESS"}]}')
        self.assertEqual(cases["active: one"], "failure")

    def test_a_server_that_ends_badly_or_never_starts_fails(self):
        results = '{"one": [{"id": "a", "status": "SUCCESS"}]}'
        self.server = self.program("server", SERVER.replace("EXIT", "7"))
        _, cases, _ = self.run_it(results)
        self.assertEqual(cases["active: one"], "passed")
        self.assertEqual(cases["active: the server ends well"], "failure")
        self.server = "/bin/false"
        _, cases, _ = self.run_it(results)
        self.assertEqual(set(cases.values()), {"failure"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
