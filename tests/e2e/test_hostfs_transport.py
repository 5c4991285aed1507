#!/usr/bin/env python3
"""transport of host.fs against real servers, against hostile ones, and that it reaches no other.

Arguments: gatehouse, and what unittest takes: the classes Real, Refused and Hostile, or Endless, which takes a minute.
With --as-user behind gatehouse as an ordinary user.
"""
import contextlib
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True  # not into the sources
from mcp_client import run_as_user
from server_scene import PATIENCE
from test_hostfs import GATEHOUSE, Scene, hosts_of
from test_hostfs_media import descendants
from transport_scene import PLACES, BreakingSsh, HostileFtp, Listener, Sshd, Vsftpd, find_sshd

PASSWORD = "a-password-nobody-else-sees"


class Transport(Scene):
    def setUp(self):
        super().setUp()
        self.remote = self.room / "remote"
        self.remote.mkdir(mode=0o755)
        (self.remote / "far.txt").write_text("from far\n")
        self.credentials = {}
        self.known = []
        self.hosts = []

    def begin(self, server):
        self.addCleanup(server.close)
        return server

    def allow(self, scheme, port, name, user="anonymous", tenant=None, host="127.0.0.1", **secret):
        url = f"{scheme}://{host}:{port}"
        self.hosts += ["--fs-transport-host", url] if url not in self.hosts else []
        self.credentials[name] = {"url": url, "user": user} | secret | ({"tenant": tenant} if tenant else {})
        return url

    def transports(self, *more):
        """The server with all that is allowed so far, and a client of each major."""
        (self.room / "credentials.json").write_text(json.dumps(self.credentials))
        (self.room / "credentials.json").chmod(0o600)
        (self.room / "known_hosts").write_text("".join(line + "\n" for line in self.known))
        self.log = (self.room / "log").open("w")
        self.addCleanup(self.log.close)
        server = self.serve("--fs", self.root, *self.hosts, "--fs-transport-credentials", self.room / "credentials.json",
                            "--fs-transport-known-hosts", self.room / "known_hosts", *more, log=self.log)
        key = self.key()
        self.block = server.ask("GET", "/.well-known/openwop")[2]["fs"]
        return server, self.client(server, key), self.client(server, key, 2)

    def with_sshd(self, *schemes):
        command, why = find_sshd("ssh" in schemes)
        if command is None:
            print("skipped:", why)
            self.skipTest(why)
        sshd = self.begin(Sshd(command, self.room, PATIENCE))
        self.known.append(f"[127.0.0.1]:{sshd.port} {sshd.host_key}")
        for scheme in schemes:
            self.allow(scheme, sshd.port, scheme, sshd.user, privateKey=sshd.private_key)
        return sshd

    def with_vsftpd(self):
        if shutil.which("vsftpd", path=PLACES) is None:
            print("skipped: there is no vsftpd")
            self.skipTest("there is no vsftpd")
        vsftpd = self.begin(Vsftpd(self.room, self.remote, PATIENCE))
        self.allow("ftp", vsftpd.port, "ftp", password=PASSWORD)
        return vsftpd

    def no_secrets(self, *bodies):
        """Neither in answers, nor in the log, nor in the audit log."""
        self.log.flush()
        texts = [json.dumps(bodies), (self.room / "log").read_text()]
        texts += [path.read_text(errors="replace") for path in self.state.rglob("*.jsonl")]
        for text in texts:
            for secret in (PASSWORD, "PRIVATE KEY", *(line for line in self.credentials.get("sftp", {}).get(
                    "privateKey", "").splitlines() if len(line) > 40)):
                self.assertNotIn(secret, text)


class Real(Transport):
    def check_files(self, client, second, base, ref):
        status, body = client("transport", op="get", url=f"{base}/far.txt", path="in/near.txt", credentialRef=ref)
        self.assertEqual((status, body), (200, {"path": "in/near.txt", "sizeBytes": 9}))
        self.assertEqual((self.root / "in/near.txt").read_text(), "from far\n")
        content = os.urandom(300000)
        (self.root / "large").write_bytes(content)
        status, body = second("transport", op="put", url=f"{base}/put%20here", path="large", credentialRef=ref)
        self.assertEqual((status, body), (200, {"path": "large", "sizeBytes": 300000}))
        self.assertEqual((self.remote / "put here").read_bytes(), content)
        status, body = client("transport", op="list", url=f"{base}/", credentialRef=ref)
        self.assertEqual((status, sorted(entry["name"] for entry in body["entries"]), body["truncated"]),
                         (200, ["far.txt", "put here"], False), body)
        status, error = client("transport", op="get", url=f"{base}/none", path="near", credentialRef=ref)
        self.assertEqual((status, error["error"]), (404, "file_not_found"))
        for path, name in (("../x", "path_outside_sandbox"), ("/etc/x", "path_outside_sandbox")):
            for op in ("get", "put"):
                self.assertEqual(client("transport", op=op, url=f"{base}/far.txt", path=path, credentialRef=ref)[1]["error"], name)
        self.assertFalse((self.root / "near").exists())
        self.no_secrets(body, error)

    def test_sftp(self):
        sshd = self.with_sshd("sftp")
        server, client, second = self.transports()
        self.assertEqual(self.block["transport"], {"ftp": False, "sftp": True, "ssh": False})
        self.check_files(client, second, f"sftp://127.0.0.1:{sshd.port}{self.remote}", "sftp")
        status, body = client("transport", op="list", url=f"sftp://127.0.0.1:{sshd.port}{self.remote}", credentialRef="sftp")
        self.assertIn({"name": "far.txt", "type": "file", "sizeBytes": 9}, body["entries"])
        # What was done is in the audit log, with the server's name.
        found = [line for path in self.state.rglob("*.jsonl") for line in path.read_text().splitlines()
                 if f"transport put sftp://127.0.0.1:{sshd.port}" in line]
        self.assertTrue(found)

    def test_commands(self):
        sshd = self.with_sshd("ssh")
        url = f"ssh://127.0.0.1:{sshd.port}"
        _, client, second = self.transports()
        self.assertEqual(self.block["transport"], {"ftp": False, "sftp": False, "ssh": True})
        self.assertEqual(client("transport", op="exec", url=url, command="echo out; echo err >&2; exit 7", credentialRef="ssh"),
                         (200, {"exitCode": 7, "stdout": "out\n", "stderr": "err\n"}))
        # Much on both at once.
        status, body = second("transport", op="exec", url=url, credentialRef="ssh",
                              command="head -c 900000 /dev/zero | tr '\\0' x >&2; head -c 900000 /dev/zero | tr '\\0' y")
        self.assertEqual((status, len(body["stdout"]), len(body["stderr"])), (200, 900000, 900000))
        # Without an end, and with a server that dies meanwhile.
        status, body = client("transport", op="exec", url=url, command="yes", credentialRef="ssh")
        self.assertEqual((status, body["error"]), (413, "file_too_large"))
        status, body = client("transport", op="exec", url=url, command="kill -9 $PPID; sleep 30", credentialRef="ssh")
        self.assertEqual((status, body["error"]), (502, "transport_failed"), body)
        # The same server and key, for another protocol that is not allowed.
        self.assertEqual(client("transport", op="get", url=f"sftp://127.0.0.1:{sshd.port}/etc/passwd", path="x",
                                credentialRef="ssh")[1]["error"], "host_capability_missing")
        self.no_secrets(body)

    def test_nothing_is_left_when_the_process_that_keeps_the_time_is_killed(self):
        sshd = self.with_sshd("ssh")
        server, client, _ = self.transports()
        # Until the connection ends.
        asked = {"op": "exec", "url": f"ssh://127.0.0.1:{sshd.port}", "credentialRef": "ssh",
                 "command": f"touch {self.remote}/begun; while kill -0 $PPID; do sleep 0.1; done"}
        answers = []
        thread = threading.Thread(target=lambda: answers.append(client("transport", **asked)))
        thread.start()
        end = time.monotonic() + PATIENCE
        while not (self.remote / "begun").exists():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        found = []
        for pid in map(int, descendants(server.process.pid)):
            with contextlib.suppress(OSError):  # it has ended
                if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"gatehouse-transfer\0"):
                    found.append(pid)
        self.assertEqual(len(found), 1)
        worker = os.pidfd_open(found[0])
        self.addCleanup(os.close, worker)
        os.kill(int(pathlib.Path(f"/proc/{found[0]}/stat").read_text().rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
        ended = select.select([worker], [], [], PATIENCE)[0]
        if not ended:
            signal.pidfd_send_signal(worker, signal.SIGKILL)
        thread.join()
        self.assertTrue(ended)
        self.assertGreaterEqual(answers[0][0], 400, answers)
        # The process with the files can start no other such one: the server starts both anew.
        asked["command"] = "echo back"
        while (answer := client("transport", **asked))[0] == 503:
            self.assertLess(time.monotonic(), end)
        self.assertEqual(answer, (200, {"exitCode": 0, "stdout": "back\n", "stderr": ""}))
        server.hosts += [os.pidfd_open(pid) for pid in hosts_of(server.process.pid)]

    def test_ftp(self):
        vsftpd = self.with_vsftpd()
        _, client, second = self.transports()
        self.assertEqual(self.block["transport"], {"ftp": True, "sftp": False, "ssh": False})
        self.check_files(client, second, f"ftp://127.0.0.1:{vsftpd.port}", "ftp")

    def test_host_keys(self):
        sshd = self.with_sshd("sftp")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.room / "other"], check=True)
        other = " ".join((self.room / "other.pub").read_text().split()[:2])
        _, client, second = self.transports()
        asked = {"op": "get", "url": f"sftp://127.0.0.1:{sshd.port}{self.remote}/far.txt", "path": "x", "credentialRef": "sftp"}
        for known in (f"[127.0.0.1]:{sshd.port} {other}\n", f"[127.0.0.2]:{sshd.port} {sshd.host_key}\n", "", "nonsense\n"):
            (self.room / "known_hosts").write_text(known)
            status, body = client("transport", **asked)
            self.assertEqual((status, body["error"], body["details"]["reason"]), (502, "transport_failed", "host_key"), known)
            self.assertEqual(second("transport", **asked)[1]["error"], "transport_failed")
            self.assertFalse((self.root / "x").exists())
        # A name that only its digest tells.
        (self.room / "known_hosts").write_text(f"[127.0.0.1]:{sshd.port} {sshd.host_key}\n")
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", self.room / "known_hosts"], check=True, capture_output=True)
        self.assertEqual(client("transport", **asked)[0], 200)

    def test_a_connection_that_breaks_during_the_login_is_no_refused_login(self):
        sshd = self.with_sshd("sftp")
        breaking = self.begin(BreakingSsh(sshd))
        for port, kind in ((breaking.port, "lost"), (sshd.port, "refused")):
            self.known.append(f"[127.0.0.1]:{port} {sshd.host_key}")
            self.allow("sftp", port, f"{kind}-password", sshd.user, password=PASSWORD)
        self.allow("sftp", breaking.port, "lost-key", sshd.user, privateKey=sshd.private_key)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.room / "stranger"], check=True)
        self.allow("sftp", sshd.port, "refused-key", sshd.user, privateKey=(self.room / "stranger").read_text())
        _, client, _ = self.transports()
        for name in ("lost-key", "lost-password", "refused-key", "refused-password"):
            with self.subTest(name):
                url = f"{self.credentials[name]['url']}{self.remote}/far.txt"
                status, body = client("transport", op="get", url=url, path="x", credentialRef=name)
                reason = "connection_lost" if name.startswith("lost") else "login_refused"
                self.assertEqual((status, body["error"], body["details"]["reason"]), (502, "transport_failed", reason), body)

    def test_limits_of_size(self):
        sshd = self.with_sshd("sftp")
        _, client, _ = self.transports("--fs-max-file-size", "64KiB")
        (self.remote / "large").write_bytes(bytes((64 << 10) + 1))
        (self.remote / "fits").write_bytes(bytes(64 << 10))
        base = f"sftp://127.0.0.1:{sshd.port}{self.remote}"
        status, body = client("transport", op="get", url=f"{base}/large", path="x", credentialRef="sftp")
        self.assertEqual((status, body["error"]), (413, "file_too_large"))
        self.assertFalse((self.root / "x").exists())
        self.assertEqual(client("transport", op="get", url=f"{base}/fits", path="x", credentialRef="sftp")[0], 200)

    def test_credentials_are_of_one_server_and_one_tenant(self):
        vsftpd = self.with_vsftpd()
        other = self.begin(HostileFtp(None))
        self.allow("ftp", other.port, "other", password="x")
        self.allow("ftp", vsftpd.port, "annas", tenant="anna", password="x")
        self.command("user", "--state-dir", self.state, "add", "anna", "--no-password")
        (self.room / "anna").mkdir()
        server, client, second = self.transports("--fs-tenant", f"anna={self.room}/anna")
        anna = self.client(server, self.key("k", "--user", "anna"))
        asked = {"op": "get", "url": f"ftp://127.0.0.1:{vsftpd.port}/far.txt", "path": "x"}
        self.assertEqual(anna("transport", credentialRef="annas", **asked)[0], 200)
        self.assertEqual((self.room / "anna/x").read_text(), "from far\n")
        self.assertEqual(anna("transport", credentialRef="ftp", **asked)[1]["error"], "fs_permission_denied")
        for url, ref in ((f"ftp://127.0.0.1:{other.port}", "ftp"), (f"ftp://127.0.0.1:{vsftpd.port}", "other"),
                         (f"ftp://127.0.0.1:{vsftpd.port}", "annas"), (f"ftp://127.0.0.1:{vsftpd.port}", "none")):
            status, body = client("transport", op="list", url=url, credentialRef=ref)
            self.assertEqual((status, body["error"]), (403, "fs_permission_denied"), (url, ref))
        self.assertEqual(second("transport", op="list", url=url, credentialRef="none")[1]["error"], "forbidden")
        self.assertEqual(other.logins, [])
        # Nor is a file taken that others can read.
        (self.room / "credentials.json").chmod(0o640)
        self.assertEqual(client("transport", op="list", url=f"ftp://127.0.0.1:{vsftpd.port}", credentialRef="ftp")[0], 500)


class Refused(Transport):
    def test_nothing_is_promised_without_a_server(self):
        server, client, second = self.clients()
        self.assertEqual(server.ask("GET", "/.well-known/openwop")[2]["fs"]["transport"], {"ftp": False, "sftp": False, "ssh": False})
        self.assertNotIn("transport", json.dumps(server.ask("GET", "/v1/openapi.json")[2]["paths"]))
        asked = {"op": "list", "url": "ftp://127.0.0.1/", "credentialRef": "x"}
        self.assertEqual(client("transport", **asked)[1]["error"], "host_capability_missing")
        self.assertEqual(second("transport", **asked)[1]["error"], "capability_not_provided")

    def test_every_other_host_is_refused(self):
        trap = self.begin(Listener())
        allowed = self.begin(HostileFtp(None))
        self.allow("ftp", allowed.port, "ftp", password=PASSWORD)
        # A name that leads to this machine is not an address of it.
        self.hosts += ["--fs-transport-host", f"ftp://localhost:{trap.port}"]
        self.credentials["local"] = {"url": f"ftp://localhost:{trap.port}", "user": "x", "password": "x"}
        server, client, second = self.transports()
        if not self.block["transport"]["ftp"]:
            print("skipped: there is no libcurl")
            self.skipTest("there is no libcurl")
        self.assertIn("/v1/host/sample/fs/transport", server.ask("GET", "/v1/openapi.json")[2]["paths"])
        port, refused, invalid = trap.port, "transport_refused", "validation_error"
        for host, error in ((f"127.0.0.1:{port}", refused), (f"127.0.0.2:{allowed.port}", refused), (f"localhost:{allowed.port}", refused),
                            (f"localhost:{port}", refused), (f"LOCALHOST:{port}", refused), ("files.example", refused),
                            (f"[::1]:{allowed.port}", refused), (f"[::ffff:127.0.0.1]:{allowed.port}", invalid),
                            (f"[::ffff:7f00:1]:{allowed.port}", invalid), (f"[0:0:0:0:0:0:0:1]:{allowed.port}", invalid),
                            (f"2130706433:{allowed.port}", invalid), (f"0x7f000001:{allowed.port}", invalid), (f"127.1:{allowed.port}", invalid),
                            (f"0177.0.0.1:{allowed.port}", invalid), (f"127.0.0.1.:{allowed.port}", invalid), (f"127.0.0.1:{allowed.port}0", invalid),
                            (f"127.0.0.1:0{allowed.port}", invalid), (f"127.0.0.1:+{allowed.port}", invalid), ("127.0.0.1:0", invalid),
                            ("127.0.0.1:", invalid), (f"127.0.0.1:{allowed.port}@127.0.0.1:{port}", invalid),
                            (f"user:{PASSWORD}@127.0.0.1:{allowed.port}", invalid), (f"127.0.0.1:{allowed.port}#@127.0.0.1", invalid),
                            (f"127.0.0.1%00:{allowed.port}", invalid), (f"127.0.0.1\\@x:{allowed.port}", invalid), ("", invalid),
                            (f"１２７.0.0.1:{allowed.port}", invalid), ("a..b", invalid), ("-a.example", invalid), ("x" * 300, invalid)):
            ref = "local" if "local" in host.lower() else "ftp"
            status, body = client("transport", op="list", url=f"ftp://{host}/", credentialRef=ref)
            self.assertEqual((status, body.get("error")), (403 if error == refused else 400, error), (host, body))
            self.no_secrets(body)
        self.assertEqual(second("transport", op="list", url=f"ftp://127.0.0.1:{port}/", credentialRef="ftp"),
                         (403, {"error": "transport_refused", "message": "the operator of this host does not allow this server",
                                "details": {"service": "fs", "reason": "server_denied"}}))
        for url in ("http://127.0.0.1/", "file:///etc/passwd", "FTP://127.0.0.1/", "ftps://127.0.0.1/", "ftp:/127.0.0.1/", "ftp//", "",
                    f"ftp://127.0.0.1:{allowed.port}/a%0d%0aDELE%20b", f"ftp://127.0.0.1:{allowed.port}/a%00b", f"ftp://127.0.0.1:{allowed.port}/a?b",
                    f"ftp://127.0.0.1:{allowed.port}/a%2", 1, None):
            self.assertEqual(client("transport", op="list", url=url, credentialRef="ftp")[1]["error"], "validation_error", url)
        for words in ({"op": "exec", "command": "x"}, {"op": "mirror"}, {"credentialRef": "../x"}, {"credentialRef": 1}, {"op": "get"},
                      {"op": "get", "path": "x"}):
            asked = {"op": "list", "url": f"ftp://127.0.0.1:{allowed.port}/", "credentialRef": "ftp"} | words
            self.assertEqual(client("transport", **asked)[1]["error"], "validation_error", words)
        reader = self.client(server, self.key("reader", "--tools", "read"))
        self.assertEqual(reader("transport", op="list", url=f"ftp://127.0.0.1:{allowed.port}/", credentialRef="ftp")[1]["error"],
                         "fs_permission_denied")
        self.assertEqual((trap.count, allowed.count), (0, 0))
        # Refusals are in the audit log.
        found = [line for path in self.state.rglob("*.jsonl") for line in path.read_text().splitlines()
                 if f"transport list ftp://127.0.0.1:{port}" in line and "server_denied" in line]
        self.assertTrue(found)

    def test_files_of_the_operator_are_out_of_reach(self):
        """Also if they are in a directory that is offered, and if the operator named a link."""
        self.allow("ftp", 21, "ftp", tenant="anna", password=PASSWORD)
        (self.room / "known_hosts").symlink_to(self.room / "root-twin/hosts")
        self.root = self.room
        _, client, _ = self.transports()
        self.assertEqual(client("read", path="root/a.txt")[0], 200)
        for path in ("credentials.json", "root-twin/hosts", "known_hosts"):
            for operation, words in (("read", {}), ("write", {"bytes": ""}), ("archive", {"op": "create", "to": "x.zip"})):
                status, body = client(operation, path=path, **words)
                self.assertGreaterEqual(status, 400, (operation, path, body))
        for path in ("credentials.json", "root-twin/hosts", "root-twin"):
            self.assertGreaterEqual(client("delete", path=path)[0], 400, path)
        self.assertEqual(json.loads((self.room / "credentials.json").read_text()), self.credentials)

    def test_options(self):
        for url in ("files.example", "http://files.example", "sftp://files.example/in", "sftp://a@b", "sftp://2130706433"):
            result = subprocess.run([GATEHOUSE, "serve", "--listen", "127.0.0.1:0", "--state-dir", self.state, "--fs", self.root,
                                     "--fs-transport-host", url],
                                    capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
            self.assertEqual(result.returncode, 2, (url, result.stderr))
            self.assertIn("--fs-transport-host", result.stderr)


class Meeting(Transport):
    def get(self, talker, scheme="ftp", **secret):
        """What a get from this server brings; the file is not touched by one that fails."""
        self.allow(scheme, talker.port, "it", **(secret or {"password": PASSWORD}))
        _, client, _ = self.transports()
        if not self.block["transport"][scheme]:
            print(f"skipped: {scheme} does not work on this machine")
            self.skipTest(f"{scheme} does not work on this machine")
        (self.root / "kept").write_text("kept\n")
        begin = time.monotonic()
        status, body = client("transport", op="get", url=f"{scheme}://127.0.0.1:{talker.port}/x", path="kept", credentialRef="it")
        self.assertLess(time.monotonic() - begin, PATIENCE)
        if status != 200:
            self.assertEqual((self.root / "kept").read_text(), "kept\n")
            self.assertEqual(sorted(os.listdir(self.root)), ["a.txt", "kept", "sub"])
        self.no_secrets(body)
        return status, body

    def check_banner(self, listener):
        self.known.append(f"[127.0.0.1]:{listener.port} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43)
        status, body = self.get(listener, "sftp")
        self.assertIn(status, (502, 504), body)
        self.assertIn(body["error"], ("transport_failed", "timed_out"))


class Hostile(Meeting):
    def test_a_server_that_ends_within_a_file(self):
        def send(connection):
            connection.sendall(b"x" * 5000)
            ftp.stop.shutdown(socket.SHUT_RDWR)

        ftp = self.begin(HostileFtp(send))
        converse = ftp.converse

        def talk(connection):
            ftp.stop = connection
            converse(connection)
        ftp.talk = talk
        status, body = self.get(ftp)
        self.assertEqual((status, body["error"]), (502, "transport_failed"), body)

    def test_a_server_without_an_end(self):
        def send(connection):
            while True:
                connection.sendall(bytes(1 << 16))

        status, body = self.get(self.begin(HostileFtp(send)))
        self.assertEqual((status, body["error"]), (413, "file_too_large"), body)

    def test_data_elsewhere(self):
        """A server that names another address or a port of the system for data: nobody goes there."""
        trap = self.begin(Listener(lambda connection: connection.sendall(b"trapped"), "127.0.0.2"))
        where = f"127,0,0,2,{trap.port >> 8},{trap.port & 255}"
        status, body = self.get(self.begin(HostileFtp(None, where, extended=False)))
        self.assertEqual((status, body["error"]), (502, "transport_failed"), body)
        self.assertEqual(trap.count, 0)

    def test_a_port_of_the_system(self):
        status, body = self.get(self.begin(HostileFtp(None, "127,0,0,1,0,22", extended=False)))
        self.assertEqual((status, body["error"]), (502, "transport_failed"), body)

    def test_banners_without_an_end(self):
        def talk(connection):
            while True:
                connection.sendall(b"220-" + b"x" * (1 << 16))

        status, body = self.get(self.begin(Listener(talk)))
        self.assertIn(status, (502, 504), body)
        self.assertIn(body["error"], ("transport_failed", "timed_out"))

    def test_a_long_ssh_banner(self):
        def talk(connection):
            for _ in range(64):
                connection.sendall(b"x" * (1 << 16))

        self.check_banner(self.begin(Listener(talk)))


class Endless(Meeting):
    """Takes as long as a transfer may."""

    def test_ssh_banners_without_an_end(self):
        def talk(connection):
            while True:
                connection.sendall(b"x" * (1 << 16))

        self.check_banner(self.begin(Listener(talk)))


if __name__ == "__main__":
    del sys.argv[1]
    if sys.argv[1:2] == ["--as-user"]:
        del sys.argv[1]
        if os.geteuid() == 0:
            sys.exit(run_as_user(pathlib.Path(__file__).resolve(), pathlib.Path(GATEHOUSE), *sys.argv[1:], can_log_in=True))
    unittest.main()
