"""A loopback of its own, for tests that make very many connections or need a fixed port."""
import os
import shutil
import subprocess
import sys

INSIDE = "GATEHOUSE_TEST_OWN_NETWORK"


def words():
    """Words before a command that give it a loopback of its own; none where that is not allowed."""
    unshare = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    up = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    if shutil.which("ip") and subprocess.run([*unshare, *up, "true"], capture_output=True).returncode == 0:
        return [*unshare, *up]
    return []


def enter():
    """Starts this program again in a network of its own, so that others do not find its closed connections."""
    before = [] if INSIDE in os.environ else words()
    if before:
        os.environ[INSIDE] = "1"
        os.execvp(before[0], [*before, sys.executable, *sys.argv])
