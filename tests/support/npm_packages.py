"""npm packages that a test needs, pinned by a package-lock.json and installed once."""
import fcntl
import hashlib
import shutil
import subprocess
import sys

SKIPPED = 77  # as meson counts it
INSTALL_SECONDS = 600
NODE = "node_modules/.bin/node"


def skip(reason):
    print(reason)
    sys.exit(SKIPPED)


def install_once(folder, cache, node, seconds, arguments, finish):
    wanted = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    stamp = cache / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    npm = shutil.which("npm")
    if npm is None:
        skip("npm is not installed, so there are no packages to test with")
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(folder / name, cache)
    try:
        # Not `npm ci`: it wants the optional parts for every other platform in the lock file too.
        result = subprocess.run(
            [npm, "install", "--no-save", "--no-audit", "--no-fund", "--silent",
             "--fetch-retries=1", *arguments], cwd=cache, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        skip(f"npm did not get the packages in {seconds} s")
    if result.returncode != 0 or not (cache / node).exists():
        skip(f"npm could not get the packages: {result.stdout.strip()[-300:]}")
    if finish is not None:
        finish(cache)
    stamp.write_text(wanted)


def install(folder, cache, node=NODE, seconds=INSTALL_SECONDS, arguments=(), finish=None):
    """What the lock file in `folder` names, into `cache`, which tests that run at once may share.

    `node` is the runtime among them, `finish` is called with `cache` when they are there.
    Ends the program as skipped, with the reason, if npm or the packages are not available.
    """
    cache.parent.mkdir(parents=True, exist_ok=True)
    with open(cache.with_name(cache.name + ".lock"), "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        install_once(folder, cache, node, seconds, arguments, finish)
