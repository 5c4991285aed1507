#!/usr/bin/env python3
"""A second gatehouse connect passes its token to a running one that waits for a token.

Arguments: see daemon_scene.
"""
import json
import re
import signal
import socket
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # not into the sources

import daemon_scene
from daemon_scene import GATEHOUSE, AtTerminal, Scene, has_boxes
from patience import PATIENCE

ASKING = """
import socket, sys
for name in sys.argv[1:]:
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(name)
            print("reached")
        except OSError as error:
            print("kept out", error.strerror)
"""


class Handover(Scene):
    flags = ("--auto-confirm",)

    def first(self, *flags, **variables):
        """A server, a daemon that is connected to it, and the daemon's port."""
        server = self.serve()
        daemon = self.daemon(*self.flags, *flags, self.url(server), server.token, self.root,
                             **variables)
        line = daemon.until("local port")
        server.until(streams=1)
        return server, daemon, int(re.search(r"\bport=(\d+)", line)[1])

    def forgotten(self, *flags, **variables):
        """The same, when the server has forgotten the session."""
        server, daemon, port = self.first(*flags, **variables)
        server.do("forget")
        daemon.until("a new pairing token is needed")
        return server, daemon, port

    def token(self, server):
        server.do("token")
        return server.until_has("token")["token"]

    def start(self, port, server, *flags, token=None, root=None, **variables):
        """Another one, for the same server with a new token."""
        return self.daemon(*self.flags, *flags, "--port", port, self.url(server),
                           token or self.token(server), root or self.root, **variables)

    def start_and_end(self, port, server, *flags, **more):
        """Exit status, standard output and standard error of one that hands its token over."""
        done = subprocess.run(
            [GATEHOUSE, "connect", *self.flags, *flags, "--port", str(port), self.url(server),
             more.get("token") or self.token(server), self.root], check=False, text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.home)})
        return done.returncode, done.stdout, done.stderr

    def socket_of(self, port):
        return self.home / f".local/state/gatehouse/daemon-{port}.socket"

    def send(self, port, request):
        """All that the daemon answers to these bytes."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(str(self.socket_of(port)))
            connection.sendall(request)
            answer = b""
            while piece := connection.recv(4096):
                answer += piece
            return answer

    def post(self, port, body):
        return self.send(port, b"POST /token HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                         + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)


class Forgotten(Handover):
    def test_the_first_goes_on_with_the_new_token(self):
        server, daemon, port = self.forgotten()
        for _ in range(2):
            token = self.token(server)
            status, out, err = self.start_and_end(port, server, token=token)
            self.assertEqual(
                (status, out),
                (0, f"the running gatehouse (pid {daemon.process.pid}) accepted the token and is connected\n"), err)
            self.assertNotIn(token, err)
            server.until(streams=1)
            self.good(server, "read_file", filePath="a.txt")
            server.do("forget")
            daemon.until("a new pairing token is needed")
        status, told = daemon.end()
        self.assertEqual(status, 0, told)
        self.assertNotIn(token, told + self.record_text())

    def test_also_after_the_server_has_ended_the_session(self):
        server, daemon, port = self.first()
        server.do("dismiss")
        daemon.until("ended the session")
        server.until(streams=0)
        self.assertEqual(self.start_and_end(port, server)[0], 0)
        self.good(server, "read_file", filePath="a.txt")

    def test_a_token_that_is_refused_is_said_and_another_one_taken(self):
        server, daemon, port = self.forgotten()
        status, out, err = self.start_and_end(port, server, token="gw_nobody_knows_this")
        self.assertEqual((status, out), (1, ""), err)
        self.assertIn(f"(pid {daemon.process.pid}) accepted the token but did not connect", err)
        self.assertNotIn("gw_nobody_knows_this", err)
        self.assertIsNone(daemon.process.poll())
        self.assertEqual(self.start_and_end(port, server)[0], 0)
        self.good(server, "read_file", filePath="a.txt")

    def test_what_was_allowed_for_the_session_before_is_over(self):
        server, daemon, port = self.first("--permission-filesystem-write", "ask")
        change = {"filePath": "a.txt", "content": "new"}
        self.question(server, "write_file", **change)
        self.good(server, "write_file", **change, _confirmation="allowForSession")
        server.do("forget")
        daemon.until("a new pairing token is needed")
        status, _, err = self.start_and_end(port, server, "--permission-filesystem-write", "ask")
        self.assertEqual(status, 0, err)
        server.until(streams=1)
        self.question(server, "write_file", **change)

    def test_the_session_is_kept_anew(self):
        server, daemon, port = self.forgotten("--keep-session")
        status, _, err = self.start_and_end(port, server, "--keep-session")
        self.assertEqual(status, 0, err)
        self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
        server.until(streams=0)
        self.daemon("--keep-session", "--auto-confirm", "--dir", self.root, self.url(server))
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")

    def test_who_brought_it_may_be_killed(self):
        server, daemon, port = self.forgotten()
        server.do("delay", endpoint="init", ms=500)
        second = self.start(port, server)
        daemon.until("sent a new token")
        second.end(signal.SIGKILL)
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")
        server.do("delay", endpoint="init", ms=0)
        server.do("forget")
        daemon.until("a new pairing token is needed")
        self.assertEqual(self.start_and_end(port, server)[0], 0)

    def test_the_daemon_may_end_meanwhile(self):
        server, daemon, port = self.forgotten()
        server.do("delay", endpoint="init", ms=60000)
        second = self.start(port, server)
        daemon.until("sent a new token")
        daemon.end(signal.SIGKILL)
        status, told = second.wait()
        self.assertEqual(status, 1, told)
        self.assertIn("got the token but did not report the result", told)


class Terminal(AtTerminal, Handover):
    flags = ()

    def test_what_was_agreed_to_is_not_asked_about_again(self):
        server, daemon = self.begin()
        port = int(re.search(r"\bport=(\d+)", daemon.until("local port"))[1])
        self.agree(server)
        server.do("forget")
        daemon.until("a new pairing token is needed")
        self.shown.clear()
        second = self.start(port, server, TERM="dumb")
        self.assertEqual(second.wait()[0], 0)
        self.see(f"(pid {daemon.process.pid}) accepted the token and is connected")
        self.assertNotIn(b"Connect to this server?", self.shown)
        self.good(server, "read_file", filePath="a.txt")


class Elsewhere(Handover):
    """Those that start by themselves, and say why."""

    def starts_by_itself(self, port, server, why, *flags, root=None):
        second = self.start(port, server, *flags, root=root)
        line = second.until("does not accept this token")
        self.assertIn(why, line)
        second.until("folder=")  # it is connected
        return second

    def test_other_terms(self):
        server, daemon, port = self.forgotten()
        other = self.place / "other"
        other.mkdir()
        for flags, root in ((("--permission-shell", "allow"), None),
                            (("--filesystem-write-access",), None),
                            (("--shell-network", "allow"), None), ((), other)):
            with self.subTest(flags=flags, root=root):
                second = self.starts_by_itself(port, server, "its folder, permissions or limits",
                                               *flags, root=root)
                self.assertEqual(second.end()[0], 0)
        self.assertIsNone(daemon.process.poll())

    def test_one_whose_commands_could_have_brought_it(self):
        flags = ("--permission-shell", "allow", "--dangerously-disable-shell-sandbox")
        server, _, port = self.forgotten(*flags)
        self.starts_by_itself(port, server, "its commands run without a sandbox", *flags)

    def test_another_server(self):
        first, _, port = self.forgotten()
        self.starts_by_itself(port, self.serve(), f"it is for another server, {self.url(first)}")

    def test_one_that_is_connected(self):
        server, daemon, port = self.first()
        self.starts_by_itself(port, server, "it is already connected")
        self.assertNotIn("sent a new token", daemon.end()[1])

    def test_one_that_was_never_connected(self):
        server = self.serve()
        daemon = self.daemon(*self.flags, "--dir", self.root, self.url(server))
        port = int(re.search(r"\bport=(\d+)", daemon.until("local port"))[1])
        self.starts_by_itself(port, server, "waits for its server's page")

    def test_none_at_all(self):
        server, daemon, port = self.forgotten()
        self.assertEqual(daemon.end()[0], 0)
        second = self.start(port, server)
        server.until(streams=1)
        self.assertNotIn("does not accept this token", second.end()[1])

    def test_one_that_ends_before_it_has_the_token(self):
        server = self.serve()
        taken = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(taken.close)
        port = taken.getsockname()[1]
        self.socket_of(port).parent.mkdir(mode=0o700, parents=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.socket_of(port)))
            listener.listen()
            listener.settimeout(PATIENCE)
            self.start(port, server)
            peer, _ = listener.accept()
        self.socket_of(port).unlink()
        with peer:
            peer.recv(65536)
            peer.sendall(b'HTTP/1.1 200 OK\r\n\r\n{"status":"wanted"}')
        server.until(streams=1)

    def test_one_that_is_no_daemon_of_ours(self):
        server = self.serve()
        taken = socket.create_server(("127.0.0.1", 0))  # so that those who start leave the name
        self.addCleanup(taken.close)
        port = taken.getsockname()[1]
        name = self.socket_of(port)
        name.parent.mkdir(mode=0o700, parents=True)
        for answer in (b"", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n[", b"\0" * 70000,
                       b"HTTP/1.1 99999999999 x\r\n\r\n{}",
                       b'HTTP/1.1 409 No\r\n\r\n{"error":"\\u001b[2J\\u202e"}'):
            with self.subTest(answer[:40]), socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(name))
                listener.listen()
                listener.settimeout(PATIENCE)
                second = self.start(port, server)
                peer, _ = listener.accept()
                with peer:
                    asked = peer.recv(65536)
                    self.assertNotIn(b"token\":", asked)  # who was only asked is given none
                    peer.sendall(answer)
                    peer.shutdown(socket.SHUT_WR)
                    self.assertNotIn("\x1b", second.until("does not accept this token"))
                server.until(streams=1)
                self.assertEqual(second.end()[0], 0)
                server.until(streams=0)
            name.unlink()


class Hostile(Handover):
    def test_bytes_that_are_no_message_change_nothing(self):
        server, daemon, port = self.forgotten()
        url, terms = self.url(server), "0" * 64
        bodies = [b"", b"{", b"null", b"[]", b"\xff" * 100, b'{"url":1}',
                  json.dumps({"url": url, "terms": terms}).encode(),
                  json.dumps({"url": url, "terms": terms, "token": "gw_1"}).encode(),
                  json.dumps({"url": url, "terms": terms[1:], "token": "gw_1"}).encode(),
                  json.dumps({"url": url, "terms": terms, "token": "a b"}).encode(),
                  json.dumps({"url": url, "terms": terms, "token": "x" * 300}).encode(),
                  json.dumps({"url": url, "terms": terms, "token": ["x"]}).encode(),
                  json.dumps({"url": "file:///etc", "terms": terms, "token": "gw_1"}).encode(),
                  b"x" * 9000]
        for body in bodies:
            with self.subTest(body[:60]):
                self.assertRegex(self.post(port, body), rb"^HTTP/1\.1 4\d\d ")
        for request in (b"\0\n\r\n", b"POST /token HTTP/9.9\r\n\r\n", b"GET /token HTTP/1.1\r\n"
                        b"Host: localhost\r\nConnection: close\r\n\r\n"):
            with self.subTest(request):
                self.assertRegex(self.send(port, request), rb"^HTTP/1\.1 [45]\d\d ")
        with socket.socket(socket.AF_UNIX) as connection:  # half of one
            connection.connect(str(self.socket_of(port)))
            connection.sendall(b"POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100"
                               b"\r\n\r\n{")
        self.assertEqual(self.start_and_end(port, server)[0], 0)
        self.assertEqual(daemon.end()[1].count("sent a new token"), 1)

    def test_pages_bring_none(self):
        server, _, port = self.forgotten()
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as page:
            page.sendall(f"POST /token HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: "
                         f"{self.url(server)}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                         .encode())
            self.assertRegex(page.recv(4096), rb"^HTTP/1\.1 404 ")

    @unittest.skipUnless(has_boxes(), "cannot sandbox commands on this machine")
    def test_commands_do_not_reach_the_socket(self):
        (self.root / "ask.py").write_text(ASKING)
        runtime = self.root / "runtime"
        runtime.mkdir(mode=0o700)
        for place, variables in ((runtime / "gatehouse", {"XDG_RUNTIME_DIR": str(runtime)}),
                                 (self.root / "state/gatehouse",
                                  {"XDG_STATE_HOME": str(self.root / "state")})):
            for network in ("none", "allow"):
                with self.subTest(place=place, network=network):
                    server, daemon, port = self.first(
                        "--permission-shell", "allow", "--shell-network", network,
                        "--filesystem-write-access", "--state-dir", self.place / "elsewhere",
                        "--shell-writable", place, **variables)
                    name = place / f"daemon-{port}.socket"
                    with socket.socket(socket.AF_UNIX) as control:
                        control.connect(str(name))  # from here it is reached
                    told = self.good(server, "shell_execute",
                                     command=f"/usr/bin/python3 ask.py {name}")
                    self.assertIn("kept out", told["stdout"], told)
                    self.assertEqual(daemon.end()[0], 0)


if __name__ == "__main__":
    daemon_scene.main()
