#!/usr/bin/env python3
"""Ways out of a sandbox. It comes in by standard input and runs inside one, as an attacker would:

    gatehouse sandbox run ... -- python3 - NAME '{"root": ..., "home": ...}' <attempts.py

A way out is a function with @attempt. It tries, and tells what it got: whatever it reads it shows
with got(), and what must not have happened outside is for the test to look at (test_sandbox.py).
What should be refused outright is written `refused(call, ...)`, which tells when it was not.
"""
import contextlib
import ctypes
import errno
import fcntl
import json
import os
import pathlib
import platform
import signal
import socket
import stat
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
attempts = {}
place = {}  # what the test says: paths, ports and process numbers

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
CALLS = {  # x86-64, arm64
    "bpf": (321, 280), "io_uring_setup": (425, 425), "userfaultfd": (323, 282),
    "perf_event_open": (298, 241), "add_key": (248, 217), "keyctl": (250, 219),
    "request_key": (249, 218), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "setns": (308, 268), "unshare": (272, 97), "clone": (56, 220),
    "clone3": (435, 435), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "mount_setattr": (442, 442), "open_by_handle_at": (304, 265), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "pidfd_getfd": (438, 438), "kcmp": (312, 272),
    "kexec_load": (246, 104), "init_module": (175, 105), "reboot": (169, 142),
    "swapon": (167, 224), "acct": (163, 89), "syslog": (103, 116), "getpid": (39, 172),
}


def attempt(function):
    attempts[function.__name__] = function
    return function


def got(what):
    print("GOT:", what, flush=True)


def call(name, *arguments, flag=0):
    number = CALLS[name][platform.machine() == "aarch64"] | flag
    words = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments]
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(number), *words)


def refused(name, *arguments, flag=0, answers=(errno.EPERM, errno.ENOSYS)):
    result = call(name, *arguments, flag=flag)
    if result >= 0 or ctypes.get_errno() not in answers:
        got(f"{name} answered {result}, {errno.errorcode.get(ctypes.get_errno())}")


def show(path):
    with contextlib.suppress(OSError):
        got(pathlib.Path(path).read_bytes()[:200])


def write(path, flags=os.O_WRONLY | os.O_TRUNC):
    with contextlib.suppress(OSError):
        fd = os.open(path, flags | os.O_NONBLOCK | os.O_CREAT, 0o666)
        with contextlib.suppress(OSError):
            os.write(fd, b"broken")
        os.close(fd)


@attempt
def keys_in_the_home():
    """Credentials of the user are there under their names."""
    for name in place["secrets"]:
        show(f"{place['home']}/{name}")
        show(f"/proc/self/root{place['home']}/{name}")
        show(f"/proc/1/root{place['home']}/{name}")


@attempt
def keys_through_links():
    """A link or a second name inside the writable place leads to what is hidden."""
    for number, name in enumerate(place["secrets"]):
        target = f"{place['home']}/{name}"
        with contextlib.suppress(OSError):
            os.symlink(target, f"{place['root']}/s{number}")
            show(f"{place['root']}/s{number}")
        with contextlib.suppress(OSError):
            os.link(target, f"{place['root']}/h{number}")
            show(f"{place['root']}/h{number}")


@attempt
def keys_from_beneath_their_cover():
    """The cover is taken off, or its folder moved from under it."""
    for name in place["secrets"]:
        covered = f"{place['home']}/{name}".rsplit("/", 1)[0].encode()
        refused("umount2", covered, 2)
        with contextlib.suppress(OSError):
            os.rename(covered, f"{place['root']}/moved")
        with contextlib.suppress(OSError):
            os.rmdir(covered)
        show(f"{place['home']}/{name}")
        show(f"{place['root']}/moved/{name.rsplit('/', 1)[-1]}")


@attempt
def secrets_in_the_environment():
    """Variables of whoever started it, in its own environment and in those of others."""
    got(dict(os.environ))
    for number in os.listdir("/proc"):
        show(f"/proc/{number}/environ")


@attempt
def files_outside():
    """Files that are not granted are written, by every way that leads to them."""
    outside = place["outside"]
    for path in (outside, f"/proc/self/root{outside}", f"/proc/1/root{outside}",
                 f"{place['root']}/../{outside.split('/', 2)[-1]}"):
        write(f"{path}/file")
        write(f"{path}/new")
        with contextlib.suppress(OSError):
            os.unlink(f"{path}/file")
        with contextlib.suppress(OSError):
            os.chmod(f"{path}/file", 0o777)
    with contextlib.suppress(OSError):
        os.link(f"{outside}/file", f"{place['root']}/link")
        write(f"{place['root']}/link")
    with contextlib.suppress(OSError):
        os.symlink(f"{outside}/file", f"{place['root']}/sym")
        write(f"{place['root']}/sym")
    with contextlib.suppress(OSError):
        os.rename(f"{place['root']}", f"{outside}/root")


@attempt
def a_pipe_of_somebody_else():
    """A FIFO is no file for a read-only mount: whoever reads from it would hear us."""
    write(f"{place['pipes']}/fifo", os.O_WRONLY)


@attempt
def standard_input_reopened():
    """A file that we were handed for reading is opened again for writing."""
    write("/proc/self/fd/0")
    write("/dev/stdin")


@attempt
def inherited_descriptors():
    """Something that was left open leads out."""
    for number in range(3, 256):
        with contextlib.suppress(OSError):
            got(f"descriptor {number}: {os.readlink(f'/proc/self/fd/{number}')}"
                if os.fstat(number) and number < 100 and not is_ours(number) else "")
        with contextlib.suppress(OSError):
            fd = os.open("file", os.O_RDONLY, dir_fd=number)
            got(os.read(fd, 100))


def is_ours(number):
    """Python's own: the directory that it lists."""
    return os.readlink(f"/proc/self/fd/{number}").startswith("/proc/")


@attempt
def mounts():
    """The read-only system is made writable."""
    refused("mount", b"none", b"/", 0, 32, 0)
    refused("mount", b"tmpfs", b"/usr", b"tmpfs", 0, 0)
    refused("open_tree", -100, b"/", 1)
    refused("move_mount", -1, b"", -1, b"", 4)
    refused("fsopen", b"tmpfs", 0)
    refused("mount_setattr", -100, b"/", 0, 0, 0)
    refused("pivot_root", b"/", b"/tmp")
    refused("chroot", b"/tmp")
    write("/usr/broken")
    write("/etc/broken")


@attempt
def namespaces_of_its_own():
    """In a user namespace of its own a process has all capabilities, and could mount."""
    refused("unshare", CLONE_NEWUSER)
    refused("unshare", CLONE_NEWNS)
    refused("unshare", CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID)
    refused("clone3", 0, 0)
    refused("clone", CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)


@attempt
def namespaces_of_others():
    """The host's namespaces are entered."""
    for number in ("1", "self"):
        for name in ("mnt", "user", "pid", "net"):
            with contextlib.suppress(OSError):
                fd = os.open(f"/proc/{number}/ns/{name}", os.O_RDONLY)
                refused("setns", fd, 0)


@attempt
def calls_by_other_numbers():
    """The same calls by the numbers of x32, which a filter may forget."""
    if platform.machine() == "x86_64":
        for name in ("mount", "unshare", "bpf", "getpid"):
            refused(name, 0, 0, 0, 0, 0, flag=0x40000000, answers=(errno.ENOSYS,))


@attempt
def a_process_of_the_host():
    """Somebody's process is signalled."""
    for number in (place["victim"], -place["victim"]):
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)


@attempt
def the_first_process():
    """The sandbox's own first process is a copy of its starter: its memory is looked into."""
    refused("process_vm_readv", 1, 0, 0, 0, 0, 0)
    refused("ptrace", 16, 1, 0, 0)
    refused("pidfd_getfd", 0, 0, 0)
    refused("kcmp", 1, os.getpid(), 0, 0, 0)
    for name in ("mem", "environ", "maps", "fd/0", "root/etc/hostname", "cwd/file"):
        show(f"/proc/1/{name}")
    with contextlib.suppress(OSError):
        os.kill(1, signal.SIGKILL)


@attempt
def the_network():
    """Somebody who listens on this machine is reached."""
    for family, address in ((socket.AF_INET, ("127.0.0.1", place["port"])),
                            (socket.AF_UNIX, place["abstract"])):
        with contextlib.suppress(OSError), socket.socket(family) as connection:
            connection.settimeout(5)
            connection.connect(address)
            got(f"connected to {address!r}")


@attempt
def an_abstract_socket():
    """With the host's network, its abstract sockets have no file that could be hidden."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.connect(place["abstract"])
        got("connected")


@attempt
def a_hidden_socket():
    """An agent that signs for the user listens in a hidden folder."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"{place['home']}/.gnupg/S.agent")
        got("connected")


@attempt
def odd_sockets():
    """Families of sockets with much code behind them, and ways past the network."""
    for family in (socket.AF_VSOCK, socket.AF_PACKET, socket.AF_ALG, 31, 17, 44):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_RAW):
            got(f"family {family}")
    with contextlib.suppress(OSError), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9):
        got("audit")
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_RAW, 1):
        got("raw")


@attempt
def typing_for_the_user():
    """Keys are pushed into the terminal that it was started from."""
    for path in ("/dev/tty", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/console"):
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
            fcntl.ioctl(fd, 0x5412, b"x")
            got(f"typed into {path}")


@attempt
def kernel_settings():
    """With root's number, some files of /proc need no capability."""
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname",
                 "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger", "/proc/self/uid_map",
                 "/sys/fs/cgroup/cgroup.procs", "/sys/kernel/uevent_helper"):
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_WRONLY)
            got(f"{path} can be written")
            os.close(fd)
    for path in ("/proc/kcore", "/proc/kmsg", "/sys/kernel/debug", "/etc/shadow",
                 "/proc/kpageflags"):
        with contextlib.suppress(OSError):
            if os.path.isdir(path) or pathlib.Path(path).open("rb").read(1):
                got(path)


@attempt
def devices():
    """Disks and memory as devices, found or made."""
    for path in ("/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/kvm", "/dev/fuse",
                 "/dev/net/tun", "/dev/loop-control"):
        if os.path.exists(path):
            got(path)
    for folder in (place["root"], "/tmp", "/dev", "/dev/shm"):
        with contextlib.suppress(OSError):
            os.mknod(f"{folder}/disk", stat.S_IFBLK | 0o600, os.makedev(254, 0))
            os.open(f"{folder}/disk", os.O_RDONLY)
            got("a disk")


@attempt
def privileges():
    """A program with the set-user-ID bit, and the calls that give others."""
    with contextlib.suppress(OSError):
        os.setuid(0 if os.getuid() else 1)
        got("another user")
    with contextlib.suppress(OSError):
        os.setgroups([0, 1])
        got("other groups")
    status = pathlib.Path("/proc/self/status").read_text()
    for line in status.splitlines():
        name, _, value = line.partition(":\t")
        if name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") and int(value, 16):
            got(line)
        if (name, value) in (("NoNewPrivs", "0"), ("Seccomp", "0")):
            got(line)


@attempt
def dark_corners_of_the_kernel():
    """Calls that kernels were broken by, and those that rule the machine."""
    for name in ("bpf", "io_uring_setup", "userfaultfd", "perf_event_open", "add_key", "keyctl",
                 "request_key", "open_by_handle_at", "kexec_load", "init_module", "reboot",
                 "swapon", "acct", "syslog"):
        refused(name, 0, 0, 0, 0, 0)


@attempt
def staying_behind():
    """A process that leaves its session and ignores signals goes on when the command has ended."""
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            signal.pause()


def main():
    place.update(json.loads(sys.argv[2]))
    if isinstance(place.get("abstract"), str):
        place["abstract"] = "\0" + place["abstract"]
    attempts[sys.argv[1]]()
    print("tried", flush=True)


if __name__ == "__main__":
    main()
