#!/usr/bin/env python3
"""The messages of gatehouse connect when it cannot connect, and about servers that come and go: what
is wrong, and what to do about it.

Arguments: see daemon_scene.
"""
import contextlib
import re
import socket
import sys
import threading
import time

sys.dont_write_bytecode = True  # not into the sources
import daemon_scene
from daemon_scene import MOMENT, Scene
from free_port import free_port
from patience import PATIENCE

KEY = "key-of-both-sides"
HTML = b"<html>Welcome</html>"
ALERT = b"\x15\x03\x01\x00\x02\x02\x46"  # what TLS says to who does not speak it


class Always:
    """Something at a port that gives everybody the same answer, and hangs up."""

    def __init__(self, answer):
        self.answer = answer
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                with client, contextlib.suppress(OSError):
                    self.read(client)
                    client.sendall(self.answer)

    @staticmethod
    def read(client):
        """A whole request, or the system would take the answer back with the connection."""
        got = b""
        while b"\r\n\r\n" not in got:
            got += client.recv(1 << 16)
        head, _, body = got.partition(b"\r\n\r\n")
        sizes = [line.split(b":")[1] for line in head.lower().split(b"\r\n")
                 if line.startswith(b"content-length:")]
        missing = int(sizes[0]) - len(body) if sizes else 0
        while missing > 0:
            missing -= len(client.recv(1 << 16))


def http(status, body=b""):
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


class Advice(Scene):
    def always(self, answer):
        always = Always(answer)
        self.addCleanup(always.listener.close)
        return always

    def fail(self, url, before=(), **variables):
        status, told = self.daemon(*before, "--auto-confirm", url, "gw_x", self.root, **variables).wait()
        self.assertEqual(status, 1, told)
        return told.splitlines()[-1]

    def test_what_answers_decides_what_helps(self):
        for answer, words in (
                (http(404), "give only https://host"),
                (http(404, HTML), "give only https://host"),
                (http(405), "give only https://host"),
                (http(200, HTML), "give only https://host"),
                (http(429), "try again later"),
                (http(500), "try again later"),
                (http(503, b'{"message":"starting"}'), "503: starting: it may be starting"),
                (http(302).replace(b"\r\n", b"\r\nLocation: https://n8n.example/\r\n", 1),
                 "use the redirect's target"),
                (b"", "try https:// in the URL"),
                (ALERT, "try https:// in the URL"),
                (b"SSH-2.0-x\r\n", "try https:// in the URL")):
            with self.subTest(answer):
                self.assertIn(words, self.fail(f"http://127.0.0.1:{self.always(answer).port}"))

    def test_what_others_can_read_is_warned_of(self):
        proxy = self.always(http(404))  # so that no name has to be known
        for url, warned in (("http://n8n.example", True), (f"http://127.0.0.1:{proxy.port}", False)):
            _, told = self.daemon("--auto-confirm", url, "gw_x", self.root,
                                  http_proxy=f"http://127.0.0.1:{proxy.port}",
                                  no_proxy="127.0.0.1").wait()
            self.assertEqual("the connection is not encrypted" in told, warned, told)

    def test_places_that_cannot_be_used_are_told_with_their_option(self):
        blocked = self.place / "file"
        blocked.touch()
        for flag in ("--settings-dir", "--state-dir"):
            told = self.fail("http://127.0.0.1:1", before=(flag, blocked / "x"))
            self.assertIn(f"use {flag} to choose another", told)
            self.assertIn(str(blocked), told)

    def test_who_cannot_be_reached_is_named_with_the_port(self):
        port = free_port()
        told = self.fail(f"http://127.0.0.1:{port}")
        self.assertIn(f"127.0.0.1:{port}: no response from this address", told)
        self.assertIn("that the server is running", told)

    def test_a_proxy_is_named_without_its_password(self):
        port = free_port()
        for url in ("http://n8n.example", "https://n8n.example"):
            told = self.fail(url, http_proxy=f"http://user:hush@127.0.0.1:{port}",
                             https_proxy=f"http://user:hush@127.0.0.1:{port}")
            self.assertIn(f"the proxy 127.0.0.1:{port} cannot be reached", told)
            self.assertIn("no_proxy", told)
            self.assertNotIn("hush", told)


class Told(Scene):
    """What the log says of a server that goes and comes."""

    def test_a_server_that_is_not_told_of_the_end(self):
        server, daemon = self.connect()
        server.close()
        status, told = daemon.end()
        self.assertEqual(status, 0, told)
        self.assertIn("could not notify the server", told)
        self.assertNotIn("disconnected", told)

    def test_a_refused_session_is_told_once_and_tries_are_counted(self):
        server, daemon = self.connect()
        server.do("fail", endpoint="events", status=403, count=1)
        server.do("fail", endpoint="init", status=403, count=2)
        server.do("drop")
        daemon.until("tries_not_told=1")
        self.assertEqual("".join(daemon.told).count("has forgotten this session"), 1)

    def test_a_server_that_is_away_is_told_once(self):
        server, daemon = self.connect()
        server.do("fail", endpoint="events", status=503, count=2)
        server.do("drop")
        daemon.until("tries_not_told=1")
        self.assertEqual("".join(daemon.told).count("responded with 503"), 1)

    def test_a_static_key_that_is_refused_later_is_called_so(self):
        server = self.serve("--static-key", KEY)
        daemon = self.daemon("--auto-confirm", "--dir", self.root, self.url(server),
                             N8N_INSTANCE_AI_GATEWAY_API_KEY=KEY)
        server.until(streams=1)
        server.do("fail", endpoint="events", status=403, count=1)
        server.do("fail", endpoint="init", status=403, count=1)
        server.do("drop")
        self.assertIn("rejected this key", daemon.until("the server rejects the key"))
        self.assertNotIn("new pairing token", "".join(daemon.told))

    def test_answers_that_cannot_be_brought_are_counted(self):
        server, daemon = self.connect()
        server.do("fail", endpoint="response", status=404, count=200)
        for _ in range(200):
            server.do("call", name="read_file", arguments={"filePath": "a.txt"})
        told, lines = 0, 0
        while told < 200:
            line = daemon.until("cannot send")
            told += int(re.search(r"count=(\d+)", line)[1]) if "more results" in line else 1
            lines += 1
        self.assertEqual(told, 200)
        self.assertLess(lines, told)

    def test_a_server_that_comes_up_later_is_waited_for_where_nobody_watches(self):
        server = self.serve("--static-key", KEY)
        server.do("fail", endpoint="init", status=503, count=2)
        daemon = self.daemon("--non-interactive", "--dir", self.root, self.url(server),
                             N8N_INSTANCE_AI_GATEWAY_API_KEY=KEY)
        daemon.until("retrying")
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")
        self.assertEqual(daemon.end()[0], 0)
        server.do("fail", endpoint="init", status=503, count=1000)
        waiting = self.daemon("--non-interactive", "--dir", self.root, self.url(server),
                              N8N_INSTANCE_AI_GATEWAY_API_KEY=KEY)
        waiting.until("retrying")
        self.assertEqual(waiting.end()[0], 0)
        server.do("fail", endpoint="init", status=503, count=0)
        # Neither a key that is wrong nor somebody who looks is kept waiting.
        for flag, status, key in (("--non-interactive", 0, "wrong"), ("--auto-confirm", 503, KEY)):
            if status:
                server.do("fail", endpoint="init", status=status, count=1)
            other = self.daemon(flag, "--dir", self.root, self.url(server),
                                N8N_INSTANCE_AI_GATEWAY_API_KEY=key)
            self.assertEqual(other.wait()[0], 1)

    def test_an_end_before_it_was_connected(self):
        server = self.serve()
        server.do("fail", endpoint="init", status=-1, count=1)
        daemon = self.daemon("--auto-confirm", self.url(server), server.token, self.root)
        deadline = time.monotonic() + PATIENCE
        while server.state()["hits"]["init"] == 0:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(MOMENT)
        status, told = daemon.end()
        self.assertEqual(status, 0, told)
        self.assertIn("stopped before it was connected", told)
        self.assertNotIn("disconnected", told)


if __name__ == "__main__":
    daemon_scene.main()
