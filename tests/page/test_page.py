#!/usr/bin/env python3
"""Uses the server's page in a real Chromium, with a real daemon behind it: see page.mjs.

    test_page.py GATEHOUSE CACHE PICTURES [--details] [CASE...]

CACHE is a folder of the build directory, where the packages of package-lock.json are installed once.
PICTURES gets a screenshot of each page. In a network of its own, because a page looks for a daemon
on one fixed port. Skipped with the reason where there is no Chromium, or npm has no packages.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # not into the sources
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import npm_packages
import own_network
from patience import PATIENCE, in_memory


def main():
    gatehouse, cache, pictures = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    browser = shutil.which("chromium")
    if browser is None:
        npm_packages.skip("chromium is not installed")
    npm_packages.install(HERE, cache)
    pictures.mkdir(parents=True, exist_ok=True)
    room = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="page-", dir=in_memory())))
    try:
        (room / "node_modules").symlink_to(cache / "node_modules")
        for name in ("page.mjs", "details.mjs"):
            shutil.copy(HERE / name, room)
        environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(room / "home"),
                       "XDG_STATE_HOME": str(room / "state"), "LANG": "C.UTF-8",
                       "TMPDIR": str(room / "tmp")}  # a killed Chromium leaves something there
        (room / "home").mkdir()
        (room / "tmp").mkdir()
        words = [cache / "node_modules/.bin/node", room / "page.mjs", gatehouse, browser, pictures, room,
                 str(PATIENCE * 1000), *sys.argv[4:]]
        return subprocess.run([*own_network.words(), *map(str, words)], env=environment, timeout=10 * PATIENCE).returncode
    finally:
        shutil.rmtree(room, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
