#!/usr/bin/env python3
"""gatehouse connect when something around it breaks: servers, networks, certificates, disks, and its
own processes.

Faults that are noticed by a timeout are in tests/unit/programs/connect/test_hostlink.c and
tests/unit/gateway/test_client.c, which have a fake clock.

Arguments: see daemon_scene.
"""
import contextlib
import datetime
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
import daemon_scene
from daemon_scene import MOMENT, AtTerminal, Scene, has_boxes
from free_port import free_port
from patience import PATIENCE

WRITES = ("--permission-filesystem-write", "allow")
KEY = "key-of-both-sides"
LARGE = 400 << 10  # below what a file may have


class Cable:
    """Between the daemon and a server: it can be slow, held, and put into another server."""

    def __init__(self, port):
        self.target = port
        self.is_slow = False
        self.flows = threading.Event()
        self.flows.set()
        self.is_over = False
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.threads = []
        self.start(self.accept)

    def start(self, run, *arguments):
        thread = threading.Thread(target=run, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near = self.listener.accept()[0]
                try:
                    far = socket.create_connection(("127.0.0.1", self.target))
                except OSError:
                    near.close()
                    continue
                self.sockets += [near, far]
                self.start(self.carry, near, far, False)
                self.start(self.carry, far, near, True)

    def carry(self, source, sink, may_be_slow):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self.flows.wait()
                pieces = [data[i:i + 1] for i in range(len(data))] \
                    if may_be_slow and self.is_slow else [data]
                for piece in pieces:
                    sink.sendall(piece)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.flows.set()
        for end in self.sockets:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        for end in self.sockets:
            end.close()


class Faults(Scene):
    def plug(self, server):
        cable = Cable(server.port)
        self.addCleanup(cable.close)
        return cable

    def connect_by_cable(self, *flags):
        server = self.serve("--static-key", KEY)
        cable = self.plug(server)
        daemon = self.daemon("--auto-confirm", *flags, "--dir", self.root,
                             f"http://127.0.0.1:{cable.port}", N8N_INSTANCE_AI_GATEWAY_API_KEY=KEY)
        server.until(streams=1)
        return server, cable, daemon

    def read_until_good(self, server):
        deadline = time.monotonic() + PATIENCE
        while (result := self.call(server, "read_file", filePath="a.txt")).get("isError"):
            self.assertLess(time.monotonic(), deadline, result)
            time.sleep(MOMENT)

    def wait_gone(self, *pids):
        """They are nobody's children that we could wait for."""
        deadline = time.monotonic() + PATIENCE
        while any(is_alive(pid) for pid in pids):
            self.assertLess(time.monotonic(), deadline, "something survives")
            time.sleep(MOMENT)

    def wait_swept(self):
        """Only the journal of the session that runs is left."""
        deadline = time.monotonic() + PATIENCE
        while len(list(self.record.parent.glob("journal-*"))) > 1:
            self.assertLess(time.monotonic(), deadline, "a journal is not swept")
            time.sleep(MOMENT)


def is_alive(pid):
    """A process is dead when all its threads are: another one may still write to a file, and hold its locks."""
    for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            if ") Z " not in stat.read_text(errors="replace"):
                return True
        except (FileNotFoundError, ProcessLookupError):
            pass
    return False


class Servers(Faults):
    def test_one_that_is_killed_in_the_middle_of_calls(self):
        server, cable, daemon = self.connect_by_cable(*WRITES)
        for number in range(40):
            server.do("call", name="write_file",
                      arguments={"filePath": f"f{number % 4}", "content": str(number % 10) * LARGE})
        server.until_has("answer")
        server.process.kill()
        daemon.until("retrying")
        other = self.serve("--static-key", KEY)
        cable.target = other.port
        other.until(streams=1)
        self.good(other, "read_file", filePath="a.txt")
        self.assertEqual(daemon.end()[0], 0)
        for path in self.root.glob("f*"):
            text = path.read_text()
            self.assertEqual(text, text[:1] * LARGE, path)
        self.assertLessEqual({path.name for path in self.root.iterdir()},
                             {"a.txt", "f0", "f1", "f2", "f3"})

    def test_one_that_another_stands_in_for_is_brought_no_token_of_long_ago(self):
        server = self.serve()
        cable = self.plug(server)
        url = f"http://127.0.0.1:{cable.port}"
        daemon = self.daemon("--auto-confirm", "--keep-session", url, server.token, self.root)
        server.until(streams=1)
        self.assertEqual(daemon.end(signal.SIGTERM)[0], 0)
        # It is not needed: the session goes on.
        daemon = self.daemon("--auto-confirm", "--keep-session", url, "gw_other", self.root)
        daemon.until("connected")
        other = self.serve("--token", "gw_other")
        cable.target = other.port
        server.process.kill()
        daemon.until("a new pairing token is needed")
        self.assertFalse(other.state()["connected"])

    def test_one_that_says_nothing_any_more_does_not_hold_up_the_end(self):
        server, cable, daemon = self.connect_by_cable()
        self.good(server, "read_file", filePath="a.txt")
        cable.flows.clear()
        self.assertEqual(daemon.end()[0], 0)

    def test_one_that_goes_on_where_it_stopped(self):
        server, cable, _ = self.connect_by_cable()
        cable.flows.clear()
        called = server.call("read_file", filePath="a.txt")
        cable.flows.set()
        self.assertIn("one", server.until(answer=called)["text"])

    def test_one_that_sends_byte_by_byte(self):
        server = self.serve()
        cable = self.plug(server)
        cable.is_slow = True
        daemon = self.daemon("--auto-confirm", f"http://127.0.0.1:{cable.port}", server.token,
                             self.root)
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")
        self.assertEqual(daemon.end()[0], 0)

    def test_one_that_never_ends_its_headers_does_not_hold_up_the_end(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        daemon = self.daemon("--auto-confirm", f"http://127.0.0.1:{listener.getsockname()[1]}",
                             "gw_x", self.root)
        connection = listener.accept()[0]
        self.addCleanup(connection.close)
        self.assertTrue(connection.recv(1))
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Header: ")
        self.assertEqual(daemon.end()[0], 0)

    def test_answers_that_a_server_stumbles_over_are_brought_again(self):
        server, _, _ = self.connect_by_cable()
        server.do("fail", endpoint="response", status=503, count=1)
        self.assertIn("one", server.ask("read_file", filePath="a.txt")["text"])
        self.assertEqual(server.state()["hits"]["response"], 2)

    def test_a_host_that_nobody_knows(self):
        daemon = self.daemon("--auto-confirm", "http://no-such-host.invalid", "gw_x", self.root)
        status, told = daemon.wait()
        self.assertEqual(status, 1, told)
        self.assertRegex(told, "no-such-host.invalid: .*: check the URL")

    def test_a_port_where_nobody_listens(self):
        status, told = self.daemon("--auto-confirm", f"http://127.0.0.1:{free_port()}", "gw_x", self.root).wait()
        self.assertEqual(status, 1, told)
        self.assertIn("that the server is running", told)


class Certificates(Faults):
    def setUp(self):
        super().setUp()
        self.trusted = self.place / "trusted"
        self.trusted.mkdir()
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-keyout", "ca.key", "-out", "trusted/ca.pem", "-subj", "/CN=test")
        self.openssl("rehash", "trusted")
        (self.place / "issued").write_text("")
        (self.place / "ca.conf").write_text(
            "[ca]\ndefault_ca = ours\n[ours]\ndatabase = issued\nnew_certs_dir = .\n"
            "rand_serial = yes\nunique_subject = no\ndefault_md = sha256\npolicy = names\n"
            "[names]\ncommonName = supplied\n")

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.place, check=True, capture_output=True)

    def serve_with(self, alternative, days):
        """A certificate that is good from a week ago until in so many days, which may be over."""
        now = datetime.datetime.now(datetime.timezone.utc)
        start, end = ((now + datetime.timedelta(days=count)).strftime("%Y%m%d%H%M%SZ")
                      for count in (-7, days))
        (self.place / "ext").write_text(f"subjectAltName={alternative}\n")
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-keyout", "key", "-out", "csr", "-subj", "/CN=server")
        # `openssl x509` takes no days before today, and dates only in newer releases.
        self.openssl("ca", "-batch", "-notext", "-config", "ca.conf", "-cert", "trusted/ca.pem",
                     "-keyfile", "ca.key", "-in", "csr", "-extfile", "ext", "-startdate", start,
                     "-enddate", end, "-out", "pem")
        return self.serve("--tls", self.place / "pem", self.place / "key")

    def begin(self, server, trusted):
        return self.daemon("--auto-confirm", f"https://127.0.0.1:{server.port}", server.token,
                           self.root, SSL_CERT_DIR=str(trusted))

    def test_a_good_one_is_taken(self):
        server = self.serve_with("IP:127.0.0.1", 2)
        self.begin(server, self.trusted)
        server.until(streams=1)
        self.good(server, "read_file", filePath="a.txt")

    def test_others_are_refused_with_the_reason_and_see_no_token(self):
        (self.place / "nobody").mkdir()
        for alternative, days, trusted, words in (
            ("IP:127.0.0.1", 2, self.place / "nobody", "--ca-file"),
            ("DNS:elsewhere.test", 2, self.trusted, "host name in the certificate"),
            ("IP:127.0.0.1", -1, self.trusted, "this machine's clock"),
        ):
            with self.subTest(words):
                server = self.serve_with(alternative, days)
                status, told = self.begin(server, trusted).wait()
                self.assertEqual(status, 1, told)
                self.assertIn(words, told)
                self.assertEqual(server.state()["hits"]["init"], 0)


def can_mount():
    done = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"],
                          capture_output=True, check=False)
    return done.returncode == 0


class FullDisk(AtTerminal):
    # The settings lie on a file system that has no room left.
    script = ('mount -t tmpfs -o size=64k none "$HOME" && mkdir -m 700 "$HOME/.n8n-gateway" &&'
              ' echo "{}" >"$HOME/.n8n-gateway/settings.json" && touch "$HOME/.n8n-gateway/settings.json.lock" &&'
              ' { cat /dev/zero >"$HOME/filler" 2>/dev/null; exec "$@"; }')
    before = ("unshare", "-rm", "sh", "-c", script, "sh")

    @unittest.skipUnless(can_mount(), "nothing can be mounted here")
    def test_a_rule_that_cannot_be_kept_holds_for_the_session_and_that_is_said(self):
        server, daemon = self.connect("--permission-filesystem-write", "ask", "--state-dir",
                                      self.place / "state", TERM="dumb")
        called = server.call("write_file", filePath="a.txt", content="x")
        self.assertNotIn("isError", self.answer(server, b"6\n", called))
        daemon.until("applies to this session only")
        self.good(server, "write_file", filePath="a.txt", content="y")
        kept = pathlib.Path(f"/proc/{daemon.process.pid}/root{self.settings}").parent
        self.assertEqual((kept / "settings.json").read_text(), "{}\n")
        self.assertEqual(sorted(os.listdir(kept)), ["settings.json", "settings.json.lock"])


class Seen(Faults):
    def test_no_key_stands_in_what_the_daemon_was_started_with(self):
        server, _, daemon = self.connect_by_cable()
        other, second = self.connect(N8N_INSTANCE_AI_GATEWAY_API_KEY=KEY)  # a token goes before it
        for process, secret in ((daemon, KEY), (second, other.token), (second, KEY)):
            place = pathlib.Path(f"/proc/{process.process.pid}")
            self.assertIn("--auto-confirm", (place / "cmdline").read_text())
            self.assertNotIn(secret, (place / "cmdline").read_text())
            with contextlib.suppress(PermissionError):  # it does not let itself be looked at
                self.assertNotIn(secret, (place / "environ").read_text())
        self.good(server, "read_file", filePath="a.txt")


class Killed(Faults):
    """kill -9 for each process in turn."""

    def test_the_toolhost_while_it_changes_files(self):
        server, daemon = self.connect(*WRITES)
        for number in range(3):
            (toolhost,) = daemon.children()
            for call in range(12):
                server.do("call", name="write_file",
                          arguments={"filePath": f"f{call}", "content": str(call) * LARGE})
            server.until_has("answer")
            os.kill(toolhost, signal.SIGKILL)
            daemon.until("another toolhost")
            for _ in range(11):
                server.until_has("answer")
            self.read_until_good(server)
        self.assertEqual(daemon.end()[0], 0)
        for path in self.root.glob("f*"):
            number = path.name[1:]
            self.assertEqual(path.read_text(), number * LARGE, path)
        self.assertLessEqual({path.name for path in self.root.iterdir()},
                             {"a.txt", *(f"f{number}" for number in range(12))})

    def test_what_a_dead_toolhost_did_is_not_said_to_be_done(self):
        server, daemon = self.connect(*WRITES)
        (toolhost,) = daemon.children()
        self.stop(toolhost)
        called = server.call("write_file", filePath="b.txt", content="x")
        os.kill(toolhost, signal.SIGKILL)
        self.assertIn("isError", server.until(answer=called)["text"])
        self.assertEqual(daemon.end()[0], 0)
        told = [json.loads(line) for line in self.gatehouse("audit", "--json").splitlines()]
        self.assertEqual([record for record in told if record.get("relativePath") == "b.txt"
                          and record["outcome"] == "success"], [])

    def test_the_daemon_while_it_changes_files(self):
        server, daemon = self.connect(*WRITES)
        (toolhost,) = daemon.children()
        for call in range(12):
            server.do("call", name="write_file",
                      arguments={"filePath": f"f{call}", "content": str(call) * LARGE})
        server.until_has("answer")
        daemon.process.kill()
        daemon.process.wait()  # until then its journal has an owner
        self.wait_gone(toolhost)
        # The next one sweeps, and all is whole. It sweeps beside its work, and not to the end of it.
        server, daemon = self.connect(*WRITES)
        self.good(server, "read_file", filePath="a.txt")
        self.wait_swept()
        self.assertEqual(daemon.end()[0], 0)
        for path in self.root.glob("f*"):
            self.assertEqual(path.read_text(), path.name[1:] * LARGE, path)
        self.assertLessEqual({path.name for path in self.root.iterdir()},
                             {"a.txt", *(f"f{number}" for number in range(12))})
        self.assertEqual(list(self.record.parent.glob("journal-*")), [])


@unittest.skipUnless(has_boxes(), "cannot sandbox commands on this machine")
class KilledCommands(Faults):
    def begin(self):
        server, daemon = self.connect(*WRITES, "--permission-shell", "allow")
        os.mkfifo(self.root / "fifo")
        called = server.call("shell_execute", command="exec 3>fifo; setsid sleep 600 & sleep 600")
        fifo = os.open(self.root / "fifo", os.O_RDONLY)
        self.addCleanup(os.close, fifo)
        (launcher,) = daemon.children(self.parts(daemon)[0])
        return server, daemon, called, fifo, launcher

    def parts(self, daemon):
        """The launcher's guard and the toolhost."""
        is_toolhost = {"toolhost" in pathlib.Path(f"/proc/{pid}/cmdline").read_text(errors="replace"):
                       pid for pid in daemon.children()}
        return is_toolhost[False], is_toolhost[True]

    def assert_no_command_is_left(self, fifo):
        self.assertTrue(select.select([fifo], [], [], PATIENCE)[0])
        self.assertEqual(os.read(fifo, 1), b"")

    def test_the_daemon(self):
        _, daemon, _, fifo, launcher = self.begin()
        family = [launcher, *daemon.children(launcher), *daemon.children()]
        daemon.process.kill()
        self.assert_no_command_is_left(fifo)
        self.wait_gone(*family)
        self.assertEqual(sorted(os.listdir(self.root)), ["a.txt", "fifo"])
        server, _ = self.connect()
        self.good(server, "read_file", filePath="a.txt")

    def test_the_launcher(self):
        server, daemon, called, fifo, launcher = self.begin()
        os.kill(launcher, signal.SIGKILL)
        self.assert_no_command_is_left(fifo)
        self.assertIn("isError", server.until(answer=called)["text"])
        self.good(server, "shell_execute", command="true")
        self.assertEqual(daemon.end()[0], 0)

    def test_the_launchers_guard(self):
        server, daemon, called, fifo, _ = self.begin()
        os.kill(self.parts(daemon)[0], signal.SIGKILL)
        self.assert_no_command_is_left(fifo)
        self.assertIn("isError", server.until(answer=called)["text"])
        daemon.until("restart gatehouse connect")
        for _ in range(2):
            self.assertIn("restart gatehouse", self.error(server, "shell_execute", command="true"))
        self.good(server, "read_file", filePath="a.txt")
        status, told = daemon.end()
        self.assertEqual((status, told.count("restart gatehouse connect")), (0, 1), told)

    def test_a_box(self):
        server, daemon, called, fifo, launcher = self.begin()
        (box,) = daemon.children(launcher)
        os.kill(box, signal.SIGKILL)
        self.assert_no_command_is_left(fifo)
        self.assertIn("isError", server.until(answer=called)["text"])
        self.good(server, "shell_execute", command="true")
        self.assertEqual(daemon.end()[0], 0)

    def test_a_toolhost_that_stands_still_holds_up_no_command(self):
        server, daemon = self.connect("--permission-shell", "allow")
        _, toolhost = self.parts(daemon)
        self.stop(toolhost)
        self.addCleanup(os.kill, toolhost, signal.SIGCONT)
        called = server.call("read_file", filePath="a.txt")
        self.good(server, "shell_execute", command="true")
        os.kill(toolhost, signal.SIGCONT)
        self.assertIn("one", server.until(answer=called)["text"])

    def test_a_command_neither_sees_nor_harms_what_runs_it(self):
        server, daemon = self.connect("--permission-shell", "allow", *WRITES)
        run = lambda command: self.call(server, "shell_execute", command=command)
        told = run("cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' ' '")
        told = told["structuredContent"]["stdout"]
        self.assertIn("--auto-confirm", told)  # of what stands before every command
        self.assertNotIn(server.token, told)
        for command in ("kill -9 -1", f"kill -9 {daemon.process.pid}", "kill -STOP 1; kill -9 1",
                        ": >&3", "exec <&- >&- 2>&-; sleep 0", "ulimit -t 1; ulimit -n 1; true"):
            run(command)
        self.good(server, "shell_execute", command="true")
        self.good(server, "read_file", filePath="a.txt")
        self.assertEqual(daemon.end()[0], 0)


if __name__ == "__main__":
    daemon_scene.main()
