"""A display with programs on it, and a server that offers it, for the tests of the screen."""
import base64
import struct
import time
import zlib

from consent_scene import Consent
from mcp_client import PATIENCE, session_members

OPEN = ("--permission-computer", "allow")


def pixels_of(png):
    """The lines of an RGB image, whose filters are None or Sub, as Gatehouse writes it."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, data, width = 8, b"", 0
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert (depth, colour) == (8, 2)
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    raw, lines, stride = zlib.decompress(data), [], width * 3
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        assert kind in (0, 1)
        for i in range(3, stride if kind else 0):
            line[i] = (line[i] + line[i - 3]) & 255
        lines.append([tuple(line[i:i + 3]) for i in range(0, stride, 3)])
    return lines


def is_confined_worker(pid):
    """Whether this process of a server holds the display."""
    try:
        with open(f"/proc/{pid}/status") as status:
            lines = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    except OSError:  # it has ended
        return False
    return lines["Name"].startswith("gatehouse-scree") and lines["Seccomp"] == "2"


class OnDisplay(Consent):
    def setUp(self):
        super().setUp()
        self.children = []
        self.addCleanup(self.end_children)

    def end_children(self):
        for child in reversed(self.children):
            child.kill()
            child.wait()

    def wait_for(self, found):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            result = found()
            if result:
                return result
            time.sleep(0.02)
        self.fail(f"never: {found}")

    def end(self, server):
        self.assertEqual(server.end(), 0)
        self.wait_for(lambda: not session_members(server.pid))

    def ok(self, server, tool, **arguments):
        result = server.call(tool, **arguments)
        self.assertEqual(result, {"content": [{"type": "text", "text": "ok"}]})

    def shoot(self, server, tool="screen_screenshot", **arguments):
        """The picture, and what is said about it."""
        [image, words] = server.call(tool, **arguments)["content"]
        return base64.b64decode(image["data"]), image["mimeType"], words["text"]
