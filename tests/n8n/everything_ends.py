"""Makes sure that everything a test program started ends with it."""
import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import tempfile
import time

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
MOMENT = 0.05


class Stopped(KeyboardInterrupt):
    """By a signal or because its time is over; unittest goes on after any other exception."""


def stop(number, _):
    ignore_stops()  # one is enough, and what follows is short
    words = "its time is over" if number == signal.SIGALRM else signal.Signals(number).name
    raise Stopped(words)


def ignore_stops():
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)


def children():
    """Who has lost his parent is ours as well. None of them can be mistaken for another, since a
    number is not given away before we have waited for it."""
    found = []
    for path in pathlib.Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that has ended leaves its children to others
            found.extend(map(int, path.read_text().split()))
    return found


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
    place = None
    try:
        for number in STOPS:
            signal.signal(number, stop)
        place = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix=name)))
        yield place
    finally:
        ignore_stops()
        signal.alarm(0)
        kill_children()
        if place is not None:
            shutil.rmtree(place)
