"""The n8n of package-lock.json, with a Node.js of its own, installed once."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import npm_packages

INSTALL_SECONDS = 1800  # two thousand packages
BUILD_SECONDS = 900
# As npm calls them.
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}


def node_package():
    machine = os.uname().machine
    return pathlib.Path("node_modules") / f"node-linux-{MACHINES.get(machine, machine)}"


def node(cache):
    return cache / node_package() / "bin/node"


def program(cache):
    return cache / "node_modules/n8n/bin/n8n"


def build_database(cache):
    """n8n's database is in C++, and its packages bring it for other servers to offer built."""
    package = cache / node_package()
    environment = {**os.environ, "PATH": f"{package / 'bin'}:{os.environ['PATH']}",
                   "npm_config_build_from_source": "true", "npm_config_nodedir": str(package),
                   "JOBS": "max"}
    try:
        result = subprocess.run(
            ["npm", "rebuild", "sqlite3", "--foreground-scripts"], cwd=cache, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        npm_packages.skip(f"n8n's database was not built in {BUILD_SECONDS} s")
    if result.returncode != 0:
        npm_packages.skip(f"n8n's database could not be built: {result.stdout.strip()[-2000:]}")


def install(cache):
    """Of all the scripts that come along only the one is run that has to be."""
    npm_packages.install(HERE, cache, node=node_package() / "bin/node", seconds=INSTALL_SECONDS,
                         arguments=["--ignore-scripts"], finish=build_database)
