"""Starts a server for a test; its first line of output is its address."""
import queue
import subprocess
import tempfile
import threading

from patience import PATIENCE


class ListeningServer:
    def __init__(self, command, env=None, cwd=None):
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [str(word) for word in command], env=env, cwd=cwd, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=self.said)
        self.lines = queue.Queue()
        threading.Thread(target=self.read_all, daemon=True).start()

    def read_all(self):
        """All of it: a server that is not read from would stop."""
        with self.process.stdout as output:
            for line in output:
                self.lines.put(line.decode(errors="replace").strip())
        self.lines.put("")

    def address(self):
        """Waits for it; nothing else may stand on that line."""
        try:
            line = self.lines.get(timeout=PATIENCE)
        except queue.Empty:
            line = ""
        if not line.startswith(("http://", "https://")):
            raise AssertionError(f"the server told no address but '{line}'\n{self.words()}")
        return line

    def words(self):
        """What it said on standard error."""
        self.said.seek(0)
        return self.said.read().decode(errors="replace")

    def is_running(self):
        return self.process.poll() is None

    def end(self):
        """Asks it to end, and returns with what it exited."""
        if self.is_running():
            self.process.terminate()
        return self.process.wait(PATIENCE)

    def discard(self):
        if self.is_running():
            self.process.kill()
            self.process.wait()
        self.said.close()
