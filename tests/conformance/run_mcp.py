#!/usr/bin/env python3
"""Runs the conformance suites of MCP's authors against a server.

    run_mcp.py CACHE SERVER [ARGUMENT...]

CACHE is a folder of the build directory, where the packages of mcp/package-lock.json are installed
once; if they are not available, this is skipped with the reason. SERVER has the suites' fixtures,
needs no key, prints its address as its first line and exits with 0 on SIGTERM. It is started for
each suite.

Each scenario is a test, counted like the cases of a cmocka program. It passes if at least one of its
checks succeeded and none failed. A warning is a failure too, because it stands for what a server
SHOULD do, and so is a scenario that checked nothing. mcp/expected-RUN.txt lists the expected
failures with reasons: they count as skipped while they fail, and as failures when they do not.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.sax.saxutils

sys.dont_write_bytecode = True  # not into the sources
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import listening_server
import npm_packages

# name, package, its arguments
RUNS = [
    ("active", "conformance-0.1", []),
    ("2025-11-25", "conformance-0.2", ["--requirements", "2025-11-25"]),
    ("2026-07-28", "conformance-0.2", ["--requirements", "2026-07-28"]),
]
SUITE_SECONDS = 300
# Added by the suite to every scenario: that nothing malformed was seen, even if nothing was seen.
ADDED_CHECK = "wire-schema-valid"
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


def read_expected(path):
    """{scenario: {check or None: reason}}"""
    expected = {}
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, _, reason = line.partition(" ")
        scenario, _, check = name.partition(":")
        if not reason.strip():
            raise SystemExit(f"{path.name}: {name} has no reason")
        checks = expected.setdefault(scenario, {})
        if (check or None) in checks or None in checks or (checks and not check):
            raise SystemExit(f"{path.name}: {name} is excused twice")
        checks[check or None] = reason.strip()
    return expected


def tell(check):
    return f"{check['id']}: {check['status']}: {check.get('errorMessage') or 'no message'}"


def judge(checks, excused):
    """What became of one scenario, and why. Its checks are None if it did not come to an end."""
    if checks is None:
        return FAILED, "the suite has no result of it"
    bad = [check for check in checks if check["status"] not in ("SUCCESS", "INFO", "SKIPPED")]
    good = [check for check in checks
            if check["status"] == "SUCCESS" and check["id"] != ADDED_CHECK]
    if None in excused:
        if not bad and good:
            return FAILED, f"it passes, and was expected not to: {excused[None]}"
        return SKIPPED, excused[None]
    unexpected = [check for check in bad if check["id"] not in excused]
    stale = excused.keys() - {check["id"] for check in bad}
    if unexpected or stale:
        return FAILED, "\n".join([tell(check) for check in unexpected] + [
            f"{check}: does not fail, and was expected to: {excused[check]}"
            for check in sorted(stale)])
    if not good:
        return FAILED, "nothing was checked"
    if excused:
        return SKIPPED, "; ".join(f"{check}: {reason}" for check, reason in excused.items())
    return PASSED, ""


def read_results(output, folder):
    """{scenario: its checks}, in the order in which they ran."""
    announced = re.search(r"^Running .* \((\d+) scenarios\) against ", output, re.MULTILINE)
    names = re.findall(r"^=== Running scenario: (\S+) ===$", output, re.MULTILINE)
    if not names or announced is None or len(names) != int(announced[1]):
        raise AssertionError(f"the suite did not come to its end:\n{output[-4000:]}")
    results = {}
    for name in names:
        # server-NAME-TIME
        found = [path for path in folder.glob(f"server-{name}-*/checks.json")
                 if re.fullmatch(rf"server-{re.escape(name)}-\d{{4}}-[\dTZ-]+", path.parent.name)]
        results[name] = json.loads(found[0].read_text()) if len(found) == 1 else None
    return results


def run_suite(node, package, arguments, address):
    program = node.parents[1] / package / "dist/index.js"
    with tempfile.TemporaryDirectory(prefix="mcp-conformance-") as folder:
        # How it exits says less than its results.
        output = subprocess.run(
            [node, program, "server", "--url", address, "--output-dir", folder, *arguments],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=SUITE_SECONDS).stdout
        return read_results(output, pathlib.Path(folder))


def run(cache, command, name, package, arguments):
    """[(scenario, what became of it, why)]"""
    expected = read_expected(HERE / "mcp" / f"expected-{name}.txt")
    server = listening_server.ListeningServer(command)
    try:
        results = run_suite(cache / "node_modules/.bin/node", package, arguments, server.address())
        outcomes = [(scenario, *judge(checks, expected.get(scenario, {})))
                    for scenario, checks in results.items()]
        outcomes += [(scenario, FAILED, "it is in the list of expected failures, and did not run")
                     for scenario in expected.keys() - results.keys()]
        is_well = server.is_running() and server.end() == 0
        outcomes.append(("the server ends well", PASSED if is_well else FAILED, server.words()))
    except (AssertionError, OSError, ValueError, subprocess.TimeoutExpired) as error:
        outcomes = [("the suite runs", FAILED, f"{error}\n{server.words()}")]
    finally:
        server.discard()
    return outcomes


def write_report(outcomes):
    """As a cmocka program writes it where scripts/run-tests asks for it."""
    path = os.environ.get("CMOCKA_XML_FILE")
    if path is None:
        return
    lines = []
    for name, state, why in outcomes:
        inside = {PASSED: "", SKIPPED: "<skipped/>",
                  FAILED: f"<failure>{xml.sax.saxutils.escape(printable(why))}</failure>"}[state]
        lines.append(f"<testcase name={xml.sax.saxutils.quoteattr(name)}>{inside}</testcase>")
    text = "<testsuites><testsuite>" + "".join(lines) + "</testsuite></testsuites>\n"
    group = os.environ.get("GATEHOUSE_TEST_NAME", "conformance_mcp")
    pathlib.Path(path.replace("%g", group)).write_text(text)


def printable(text):
    """XML cannot hold all that a server may answer."""
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    cache, command = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    npm_packages.install(HERE / "mcp", cache)
    outcomes = [(f"{name}: {scenario}", state, why) for name, package, arguments in RUNS
                for scenario, state, why in run(cache, command, name, package, arguments)]
    for name, state, why in outcomes:
        if state == SKIPPED:
            print(f"skipped: {name}: {printable(why)}")
        elif state == FAILED:
            print(f"failed: {name}\n{printable(why)}")
    counts = {state: sum(each == state for _, each, _ in outcomes)
              for state in (PASSED, FAILED, SKIPPED)}
    print(", ".join(f"{count} {state}" for state, count in counts.items()))
    write_report(outcomes)
    return 1 if counts[FAILED] or not counts[PASSED] else 0


if __name__ == "__main__":
    sys.exit(main())
