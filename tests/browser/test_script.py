#!/usr/bin/env python3
"""Runs the script that the browser tools inject in a real Chromium: see script.mjs.

    test_script.py CACHE [--seed N] [--rounds N] [CASE...]

CACHE is a folder of the build directory with the packages of tests/page/package-lock.json. Skipped with the
reason where there is no Chromium, or npm has no packages.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # not into the sources
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE))
import npm_packages
from patience import PATIENCE, in_memory
from site_server import Site


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cache", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("cases", nargs="*")
    given = parser.parse_args()
    browser = shutil.which("chromium")
    if browser is None:
        npm_packages.skip("chromium is not installed")
    cache = given.cache.resolve()
    npm_packages.install(HERE.parent / "page", cache)
    room = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="script-", dir=in_memory())))
    try:
        (room / "node_modules").symlink_to(cache / "node_modules")
        for path in HERE.glob("*.mjs"):
            shutil.copy(path, room)
        root = HERE.parent.parent
        script = room / "script.js"
        with open(script, "wb") as out:
            subprocess.run([root / "scripts/make-script", root / "src/browser/page"], stdout=out, check=True)
        (room / "home").mkdir()
        environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(room / "home"), "LANG": "C.UTF-8"}
        with Site(with_https=True) as site:
            words = [cache / npm_packages.NODE, room / "script.mjs", script, browser, json.dumps(site.addresses), PATIENCE * 1000,
                     given.seed, given.rounds, *given.cases]
            return subprocess.run([str(word) for word in words], env=environment, timeout=10 * PATIENCE).returncode
    finally:
        shutil.rmtree(room, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
