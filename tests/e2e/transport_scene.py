"""Servers of files on loopback, for tests: Debian's sshd and vsftpd with settings of their own, and hostile ones."""
import os
import pathlib
import pwd
import select
import shutil
import socket
import struct
import subprocess
import threading
import time

from free_port import free_port

PLACES = os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin"


def wait_for(process, port, patience):
    end = time.monotonic() + patience
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=patience).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.02)
    raise AssertionError(f"nothing listens, exit status {process.poll()}")


def find_sshd(with_commands=True):
    """The command that runs sshd, or the reason why there is none."""
    me = pwd.getpwuid(os.geteuid())
    sshd = shutil.which("sshd", path=PLACES)
    if sshd is None or shutil.which("ssh-keygen") is None:
        return None, "there is no sshd"
    if me.pw_passwd.startswith(("*", "!")) or (with_commands and me.pw_shell.endswith(("/false", "/nologin"))):
        return None, "nobody can log in as this user"
    if os.geteuid() != 0 or pathlib.Path("/run/sshd").is_dir():
        return [sshd], None
    # As root it wants an empty directory there, which the service makes; here only sshd sees it.
    own = ["unshare", "--mount", "sh", "-euc", 'mount -t tmpfs none /run; mkdir -m 755 /run/sshd; exec "$@"', "sh"]
    if subprocess.run([*own, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        return None, "sshd as root needs /run/sshd, which its package makes"
    return [*own, sshd], None


class Sshd:
    """Lets the user of the test in, by the key `user` in the room."""

    def __init__(self, command, room, patience, more=""):
        for name in ("host", "user"):
            if not (room / name).exists():
                subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", room / name], check=True)
        self.port = free_port()
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self.private_key = (room / "user").read_text()
        self.host_key = " ".join((room / "host.pub").read_text().split()[:2])
        (room / "sshd_config").write_text(
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {room}/host\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {room}/user.pub\nStrictModes no\nPasswordAuthentication no\n"
            f"PermitRootLogin prohibit-password\nSubsystem sftp internal-sftp\n{more}")
        self.process = subprocess.Popen([*command, "-D", "-f", room / "sshd_config"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.process, self.port, patience)

    def close(self):
        self.process.terminate()
        self.process.wait()


class Vsftpd:
    """Serves a directory to the user anonymous."""

    def __init__(self, room, files, patience):
        self.port = free_port()
        (room / "vsftpd.conf").write_text(
            f"listen=YES\nlisten_port={self.port}\nlisten_address=127.0.0.1\nrun_as_launching_user=YES\nbackground=NO\n"
            f"anonymous_enable=YES\nanon_root={files}\nwrite_enable=YES\nanon_upload_enable=YES\n"
            "anon_other_write_enable=YES\nanon_world_readable_only=NO\nanon_umask=077\nseccomp_sandbox=NO\n"
            f"allow_writeable_chroot=YES\nxferlog_enable=NO\nsecure_chroot_dir={room}\none_process_model=YES\n"
            "connect_from_port_20=NO\n")
        self.process = subprocess.Popen([shutil.which("vsftpd", path=PLACES), room / "vsftpd.conf"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.process, self.port, patience)

    def close(self):
        self.process.terminate()
        self.process.wait()


class Listener:
    """Answers each connection with `talk`, in a thread; counts them."""

    def __init__(self, talk=None, address="127.0.0.1", port=0):
        self.talk, self.count = talk, 0
        self.socket = socket.socket()
        self.socket.bind((address, port))
        self.socket.listen()
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.count += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            try:
                if self.talk:
                    self.talk(connection)
            except OSError:
                pass  # the other side has seen enough

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class HostileFtp(Listener):
    """Enough of FTP to come to the data. `passive` is what PASV says; `send(connection)` sends them."""

    def __init__(self, send, passive=None, extended=True):
        self.send, self.passive, self.extended, self.logins = send, passive, extended, []
        super().__init__(self.converse)

    def converse(self, connection):
        wanted = threading.Event()
        data = Listener(self.send and (lambda connection: wanted.wait() and self.send(connection)))
        answers = {"USER": "331 more", "PWD": '257 "/"', "TYPE": "200 yes", "SIZE": "500 no", "CWD": "250 yes",
                   "PASS": "230 in", "RETR": "150 here", "NLST": "150 here", "QUIT": "221 bye",
                   "EPSV": f"229 here (|||{data.port}|)" if self.extended else "500 no",
                   "PASV": f"227 here ({self.passive})"}
        connection.sendall(b"220 hello\r\n")
        for line in connection.makefile():
            word = line.split()[0].upper()
            self.logins += [line] if word in ("USER", "PASS") else []
            connection.sendall((answers.get(word, "500 no") + "\r\n").encode())
            if word in ("RETR", "NLST"):
                wanted.set()
            if word == "QUIT":
                break
        data.close()


class BreakingSsh(Listener):
    """Passes on what a client and an sshd say, and resets the connection instead of passing on the login."""

    SERVICE_REQUEST_BYTES = 100  # at most; the login follows it
    NEW_KEYS = bytes((0, 0, 0, 12, 10, 21))
    NEW_KEYS_BYTES = 16

    def __init__(self, sshd):
        self.sshd = sshd
        super().__init__(self.converse)

    def converse(self, connection):
        said = b""
        with socket.create_connection(("127.0.0.1", self.sshd.port)) as server:
            while True:
                for ready in select.select([connection, server], [], [])[0]:
                    piece = ready.recv(1 << 16)
                    if not piece:
                        return
                    said += piece if ready is connection else b""
                    begin = said.find(self.NEW_KEYS)
                    if 0 <= begin < len(said) - self.NEW_KEYS_BYTES - self.SERVICE_REQUEST_BYTES:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        return
                    (server if ready is connection else connection).sendall(piece)
