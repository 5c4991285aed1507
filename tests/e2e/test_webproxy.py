#!/usr/bin/env python3
"""Commands that reach listed hosts by gatehouse-webproxy: that they do, and that they reach nothing else.
support/with_network runs this in a network of its own, where peer.py serves at 203.0.113.7 and .8.

    test_webproxy.py GATEHOUSE WITHOUT_SYSCALL [--as-user]
"""
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from mcp_client import PATIENCE
from shell_scene import Commands, alive

HERE, PEER, OTHER = "203.0.113.1", "203.0.113.7", "203.0.113.8"
PORT = 7653
MOST_LINKS = 64  # WEBPROXY_BOX_LINKS
NAMES = f"{PEER} good.test\n{OTHER} other.test\n127.0.0.1 loop.test\n10.1.2.3 private.test\n{HERE} own.test\n"

# Sends each argument to the proxy, and prints what comes back in one line.
ASK = r"""
import socket, sys
for head in sys.argv[1:]:
    with socket.create_connection(("127.0.0.1", 7653), timeout=300) as proxy:
        proxy.sendall(head.encode().decode("unicode_escape").encode("latin-1"))
        proxy.shutdown(socket.SHUT_WR)
        text = b""
        while piece := proxy.recv(1 << 16):
            text += piece
    print(text.decode("latin-1").replace("\r\n", "|").replace("\n", "|"))
"""

# What a command can try besides: one line for each, with an error's name or what it got.
TRICKS = r"""
import socket, sys
def attempt(what, work):
    try:
        print(what, work())
    except OSError as error:
        print(what, type(error).__name__)
for host, port in ((sys.argv[1], 443), (sys.argv[2], 443), (sys.argv[3], int(sys.argv[4])), ("127.0.0.1", int(sys.argv[4]))):
    attempt(f"{host}:{port}", lambda: socket.create_connection((host, port), timeout=10).recv(100))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
    attempt("datagram", lambda: datagrams.sendto(b"x", (sys.argv[1], 53)))
"""


def tunnel(host, port=443, more="hello"):
    return rf"CONNECT {host}:{port} HTTP/1.1\r\n\r\n{more}"


def can_reach(host):
    try:
        with socket.create_connection((host, 443), timeout=5) as connection:
            return host.encode() in connection.recv(100)
    except OSError:
        return False


def knows_names():
    try:
        return socket.gethostbyname("good.test") == PEER
    except OSError:
        return False


class Proxy(Commands):
    """By `gatehouse sandbox run`."""

    def setUp(self):
        super().setUp()
        self.place = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(self.place.rmdir)
        self.own = f"{self.mark}.test"  # one more host, by which the proxies of this test are known

    def proxies(self):
        return [pid for pid in alive(self.own)
                if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"gatehouse-webproxy")]

    def sandbox(self, *words, domains=("good.test",), status=0):
        hosts = [word for domain in domains and (*domains, self.own) for word in ("--domain", domain)]
        done = subprocess.run([mcp_client.GATEHOUSE, "sandbox", "run", *hosts, *words], cwd=self.place, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr

    def ask(self, *heads, **more):
        return self.sandbox("python3", "-c", ASK, *heads, **more).splitlines()

    def wait_proxies(self, count):
        deadline = time.monotonic() + PATIENCE
        while len(found := self.proxies()) != count:
            self.assertLess(time.monotonic(), deadline, found)
            time.sleep(0.02)
        return found


@unittest.skipUnless(can_reach(PEER), "no network can be made here")
class Reach(Proxy):
    def test_listed_addresses_are_reached_and_no_others(self):
        got = self.ask(tunnel(PEER), rf"GET http://{PEER}/x?y HTTP/1.1\r\nProxy-Connection: keep-alive\r\nA: b\r\n\r\n",
                       tunnel(OTHER), tunnel(PEER, 22), rf"GET http://{OTHER}/ HTTP/1.0\r\n\r\n", domains=(PEER,))
        self.assertEqual(got[0], f"HTTP/1.1 200 Connection established||::ffff:{PEER}|helloend|")
        self.assertEqual(got[1], f"::ffff:{PEER}|GET /x?y HTTP/1.1|Host: {PEER}|A: b|Connection: close||end|")
        for line in got[2:]:
            self.assertIn("HTTP/1.1 403 Host not allowed by Gatehouse|", line)
        self.assertIn(f"may not reach {OTHER}, port 443. The user can allow", got[2])

    @unittest.skipUnless(knows_names(), "needs root, for names")
    def test_names_are_resolved_outside(self):
        got = self.ask(tunnel("good.test"), tunnel("GOOD.test."), tunnel("other.test"), tunnel("nowhere.test"),
                       tunnel("loop.test"), tunnel("private.test"), tunnel("own.test"), tunnel("localhost"),
                       domains=("good.test", "nowhere.test", "loop.test", "private.test", "own.test", "localhost"))
        for line in got[:2]:
            self.assertEqual(line, f"HTTP/1.1 200 Connection established||::ffff:{PEER}|helloend|")
        self.assertIn("403 Host not allowed", got[2])
        self.assertIn("502 Host not found", got[3])
        for line in got[4:]:
            self.assertIn("403 Private address not allowed", line)
        self.assertIn("|hello", self.ask(tunnel("other.test"), domains=("*.test",))[0])
        self.assertIn("|hello", self.ask(tunnel("other.test", 8080), domains=("*:8080",))[0])

    def test_this_machine_and_private_networks_are_out_of_reach_whatever_is_listed(self):
        with socket.create_server(("0.0.0.0", 0)) as served:
            port = served.getsockname()[1]
            hosts = ["127.0.0.1", "localhost", HERE, "0.0.0.0", "127.1", "2130706433", "0x7f.1", "[::1]",
                     "[::ffff:127.0.0.1]", "10.1.2.3", "192.168.1.1", "169.254.169.254", "[fe80::1]", "[fd00::1]"]
            for line, host in zip(self.ask(*(tunnel(host, port) for host in hosts), domains=(f"*:{port}",)), hosts):
                self.assertRegex(line, r"^HTTP/1\.1 (403 Private address|502 Host not found)", host)
            served.settimeout(0.2)
            with self.assertRaises(TimeoutError):
                served.accept()

    def test_a_command_has_no_other_way_out(self):
        with socket.create_server(("0.0.0.0", 0)) as served:
            got = self.sandbox("python3", "-c", TRICKS, PEER, OTHER, HERE, str(served.getsockname()[1]), domains=(PEER,))
        for line in got.splitlines():
            self.assertRegex(line, r" (OSError|ConnectionRefusedError)$")
        self.assertEqual(len(got.splitlines()), 5)

    def test_connections_are_limited_and_given_back(self):
        work = r"""
import socket
def link():
    proxy = socket.create_connection(("127.0.0.1", 7653), timeout=300)
    proxy.sendall(b"CONNECT %s:443 HTTP/1.1\r\n\r\n")
    return proxy, proxy.recv(100)
for _ in range(2):
    served = 0
    while served < %d:  # those of the round before end at their own pace
        links = [link() for _ in range(%d)]
        served = sum(answer.startswith(b"HTTP/1.1 200 ") for _, answer in links)
        more = link()[1][:12]
        for proxy, _ in links:
            proxy.close()
    print(more)
""" % (PEER, MOST_LINKS, MOST_LINKS)
        if os.geteuid() != 0:
            self.skipTest("as an ordinary user the proxy's threads count with all of nobody's")
        self.assertEqual(self.sandbox("python3", "-c", work, domains=(PEER,)),
                         "b'HTTP/1.1 503'\n" * 2)

    def test_few_descriptors_allow_few_connections(self):
        work = r"""
import collections, socket
links = [socket.create_connection(("127.0.0.1", 7653), timeout=300) for _ in range(50)]
answers = collections.Counter()
for link in links:
    link.sendall(b"CONNECT %s:443 HTTP/1.1\r\n\r\n")
    answers[link.recv(100)[9:12].decode()] += 1
print(sorted(answers.items()))
""" % PEER
        done = subprocess.run(["prlimit", "--nofile=64:64", mcp_client.GATEHOUSE, "sandbox", "run", "--domain", PEER,
                               "python3", "-c", work], cwd=self.place, check=False, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.stdout, "[('200', 16), ('503', 34)]\n", done.stderr)

    def test_a_long_transfer_comes_whole(self):
        work = r"""
import socket, threading
with socket.create_connection(("127.0.0.1", 7653), timeout=300) as proxy:
    proxy.sendall(b"CONNECT %s:443 HTTP/1.1\r\n\r\n")
    data = bytes(range(256)) * 40000
    def send():
        proxy.sendall(data)
        proxy.shutdown(socket.SHUT_WR)
    threading.Thread(target=send).start()
    got = b""
    while piece := proxy.recv(1 << 16):
        got += piece
    print(got[:12], got.endswith(data + b"end\n"))
""" % PEER
        self.assertEqual(self.sandbox("python3", "-c", work, domains=(PEER,)), "b'HTTP/1.1 200' True\n")


class Life(Proxy):
    def test_what_is_no_request_is_refused(self):
        heads = [r"GET / HTTP/1.1\r\n\r\n", r"\x00\x01\r\n\r\n", r"CONNECT good.test HTTP/1.1\r\n\r\n",
                 r"GET ftp://good.test/ HTTP/1.1\r\n\r\n"]
        self.assertEqual([line[:12] for line in self.ask(*heads)],
                         ["HTTP/1.1 400", "HTTP/1.1 400", "HTTP/1.1 400", "HTTP/1.1 501"])
        self.assertEqual(self.ask(r"GET http://good.test/", ""), [""] * 2)

    def test_programs_are_told_of_it_and_the_user_wins(self):
        got = self.sandbox("--env", "https_proxy=mine", "env").splitlines()
        for line in (f"http_proxy=http://127.0.0.1:{PORT}", f"HTTPS_PROXY=http://127.0.0.1:{PORT}", "https_proxy=mine",
                     "no_proxy=localhost,127.0.0.1,::1"):
            self.assertIn(line, got)
        self.assertNotIn(str(PORT), self.sandbox("env", domains=()))

    def test_what_has_no_effect_is_refused(self):
        for words, told in ((("--net", "host", "true"), "--domain has no effect with --net host"),
                            (("--domain", "http://good.test/", "true"), "only its host is needed"),
                            (("--domain", "a b", "true"), "is no host"), (("--domain=--help", "true"), "is no host")):
            self.assertIn(told, self.sandbox(*words, status=125))

    def test_nothing_is_left_of_it(self):
        self.sandbox("true")
        self.wait_proxies(0)
        with subprocess.Popen([mcp_client.GATEHOUSE, "sandbox", "run", "--domain", self.own, "sleep", "1000"],
                              cwd=self.place, stdin=subprocess.DEVNULL) as run:
            self.wait_proxies(1)
            run.send_signal(signal.SIGKILL)
        self.wait_proxies(0)

    def test_sandboxes_do_not_see_it(self):
        self.assertNotIn("webproxy", self.sandbox("sh", "-c", "cat /proc/[0-9]*/cmdline; ls -l /proc/self/fd"))

    def test_two_sandboxes_have_a_proxy_each_at_the_same_port(self):
        done = []
        runs = [threading.Thread(target=lambda: done.append(self.ask(tunnel("other.test")))) for _ in range(4)]
        for run in runs:
            run.start()
        for run in runs:
            run.join()
        self.assertEqual([got[0][:12] for got in done], ["HTTP/1.1 403"] * 4)


class Agents(Proxy):
    """By `gatehouse mcp`."""

    def test_a_proxy_that_hung_up_is_replaced(self):
        place = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, place)
        real = mcp_client.GATEHOUSE.parent
        for name in ("gatehouse", "gatehouse-mcp"):
            shutil.copy(real / name, place)
        self.addCleanup(setattr, mcp_client, "GATEHOUSE", mcp_client.GATEHOUSE)
        mcp_client.GATEHOUSE = place / "gatehouse"
        server = self.begin("--shell-domain", f"good.test,{self.own}")
        self.assertIn("cannot start gatehouse-webproxy", self.answer(server, "echo ran")["error"])
        (place / "gatehouse-webproxy").write_text(f"""#!/bin/sh
if mkdir "{place}/seen" 2>/dev/null; then
    exec 3>&-
    mkdir "{place}/hung-up"
    exec sleep {PATIENCE}
fi
exec "{real}/gatehouse-webproxy" "$@"
""")
        (place / "gatehouse-webproxy").chmod(0o755)
        self.answer(server, "true")  # it may have begun before
        deadline = time.monotonic() + PATIENCE
        while not (place / "hung-up").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        answer = self.answer(server, f"python3 -c '{ASK}' '{tunnel('other.test')}'")
        self.assertIn("403 Host not allowed", answer["stdout"])

    def test_commands_of_an_agent_share_one(self):
        server = self.begin("--shell-domain", f"{PEER},{self.own}")
        for _ in range(3):
            answer = self.answer(server, f"python3 -c '{ASK}' '{tunnel(OTHER)}'")
            self.assertIn("403 Host not allowed by Gatehouse", answer["stdout"])
        (proxy,) = self.wait_proxies(1)
        # One that was killed is replaced for the next command.
        with open(os.pidfd_open(proxy), "rb") as ended:
            os.kill(proxy, signal.SIGKILL)
            select.select([ended], [], [])
        self.assertIn("403", self.answer(server, f"python3 -c '{ASK}' '{tunnel(OTHER)}'")["stdout"])
        self.wait_proxies(1)
        if can_reach(PEER):
            self.assertIn(f"|::ffff:{PEER}|hello", self.answer(server, f"python3 -c '{ASK}' '{tunnel(PEER)}'")["stdout"])
        server.end()
        self.wait_proxies(0)

    @unittest.skipUnless(can_reach(PEER), "no network can be made here")
    def test_connections_end_with_their_sandbox(self):
        work = r"""
import socket
links = []
for _ in range(20):
    links.append(socket.create_connection(("127.0.0.1", 7653), timeout=300))
    links[-1].sendall(b"CONNECT %s:8443 HTTP/1.1\r\n\r\n")
    text = b""
    while not text.endswith(b"endless\n"):
        text += links[-1].recv(100)
print(len(links))
""" % PEER
        server = self.begin("--shell-domain", f"{PEER}:8443,{self.own}")
        self.assertEqual(self.answer(server, f"python3 -c '{work}'")["stdout"], "20\n")
        (proxy,) = self.wait_proxies(1)
        # Although the server never ends them: each has a thread.
        deadline = time.monotonic() + PATIENCE
        while "\nThreads:\t1\n" not in (text := pathlib.Path(f"/proc/{proxy}/status").read_text()):
            self.assertLess(time.monotonic(), deadline, text)
            time.sleep(0.02)

    def test_an_agent_is_told_why(self):
        server = self.begin("--shell-domain", "good.test,other.test")
        answer = self.answer(server, "echo 'curl: (56) CONNECT tunnel failed, response 403' >&2; exit 56")
        self.assertIn("--shell-domain HOST", answer["hint"])

    def test_the_question_says_how_far_a_command_reaches(self):
        server = self.start("--permission-shell", "ask", "--shell-domain", "good.test,other.test", opens=False)
        server.open(capabilities={"elicitation": {"form": {}}})
        server.send(server.call_message("shell_execute", {"command": "true"}))
        asked = server.wait_until(lambda: next((note["params"]["message"] for note in server.notes
                                                if note["method"] == "elicitation/create"), None))
        self.assertIn("with access to good.test, other.test; it can change", asked)

    def test_what_contradicts_itself_is_refused_at_the_start(self):
        for flags, told in ((("--shell-domain", "good.test", "--shell-network", "allow"), "no effect with --shell-network allow"),
                            (("--shell-domain", "http://good.test"), "only its host is needed")):
            (self.state / "own").mkdir(mode=0o700, exist_ok=True)
            done = subprocess.run([mcp_client.GATEHOUSE, "mcp", "--permission-shell", "allow", "--state-dir", self.state / "own", *flags, self.place], check=False,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
                                  env={**os.environ, "HOME": str(self.state)})
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(told, done.stderr)


def with_names():
    """Again, with names that all programs of this machine resolve."""
    hosts = tempfile.NamedTemporaryFile("w", suffix="-hosts", delete=False)
    hosts.write("127.0.0.1 localhost\n::1 localhost\n" + NAMES)
    hosts.close()
    os.chmod(hosts.name, 0o644)
    try:
        return subprocess.run(["unshare", "--mount", "sh", "-euc", 'mount --bind "$0" /etc/hosts; exec "$@"', hosts.name,
                               sys.executable, *sys.argv], env={**os.environ, "WITH_NAMES": "1"}, check=False).returncode
    finally:
        os.unlink(hosts.name)


if __name__ == "__main__":
    if os.geteuid() == 0 and "WITH_NAMES" not in os.environ:
        sys.exit(with_names())
    mcp_client.main()
