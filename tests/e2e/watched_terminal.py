"""A pseudo terminal for tests: reads what is shown, and types keys."""
import contextlib
import fcntl
import os
import pty
import select
import struct
import termios
import threading
import time

from patience import PATIENCE

MOMENT = 0.05


class WatchedTerminal:
    """Before a TestCase: has a terminal, and a thread that takes in what is shown on it."""

    def setUp(self):
        super().setUp()
        self.master, self.terminal = pty.openpty()
        # Large enough for whole questions: what was not seen to its end cannot be allowed.
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        self.addCleanup(os.close, self.terminal)
        self.shown = bytearray()
        self.is_over = threading.Event()
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.watcher.start()
        self.addCleanup(self.leave)

    def watch(self):
        while not self.is_over.is_set():
            if select.select([self.master], [], [], MOMENT)[0]:
                with contextlib.suppress(OSError):
                    self.shown += os.read(self.master, 1 << 16)

    def leave(self):
        self.is_over.set()
        self.watcher.join()
        os.close(self.master)

    def see(self, text):
        deadline = time.monotonic() + PATIENCE
        while text.encode() not in self.shown:
            self.assertLess(time.monotonic(), deadline, bytes(self.shown))
            time.sleep(MOMENT)

    def press_until(self, key, is_done):
        """Keys count only after a moment, so it is pressed again until something came of it."""
        deadline = time.monotonic() + PATIENCE
        while not is_done():
            self.assertLess(time.monotonic(), deadline, bytes(self.shown))
            os.write(self.master, key)
            time.sleep(MOMENT)
