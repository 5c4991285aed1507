"""Whatever happens to a test program, what it started ends with it."""
import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import tempfile
import time

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
STOPS = (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
MOMENT = 0.05


class Stopped(KeyboardInterrupt):
    """By a signal or because its time is over; unittest goes on after any other exception."""


def stop(number, _):
    words = "its time is over" if number == signal.SIGALRM else signal.Signals(number).name
    raise Stopped(words)


def children():
    """Who has lost his parent is ours as well. None of them can be mistaken for another, since a
    number is not given away before we have waited for it."""
    listed = pathlib.Path("/proc/self/task").glob("*/children")
    return [int(child) for path in listed for child in path.read_text().split()]


def reap():
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass


def left_running(seconds):
    """Command lines of what does not end by itself in that time."""
    deadline = time.monotonic() + seconds
    while True:
        reap()
        left = children()
        if not left or time.monotonic() > deadline:
            return [pathlib.Path(f"/proc/{child}/cmdline").read_text().replace("\0", " ")
                    for child in left]
        time.sleep(MOMENT)


def kill_children():
    while left := children():
        for child in left:
            os.kill(child, signal.SIGKILL)
        time.sleep(MOMENT)
        reap()


@contextlib.contextmanager
def in_a_place(name):
    """A folder that is gone at the end, like every process. signal.alarm() bounds the time."""
    if ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    place = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix=name)))
    try:
        for number in STOPS:
            signal.signal(number, stop)
        yield place
    finally:
        signal.alarm(0)
        for number in (*STOPS, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        kill_children()
        shutil.rmtree(place)
