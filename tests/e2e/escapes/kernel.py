"""Escapes through the kernel: mounts, namespaces, privileges, and calls with past vulnerabilities."""
import contextlib
import fcntl
import os
import pathlib
import pty
import signal
import stat
import subprocess

from way import attempt, call, got, mounts_seen, place, refused, tried, works, write

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000


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


@attempt
def mounts_by_remounting():
    """Each that is there is made writable, taken off, or put somewhere else."""
    for point, _ in mounts_seen():
        name = point.encode()
        refused("mount", b"none", name, 0, 32 | 4096, 0)  # MS_REMOUNT | MS_BIND
        refused("mount", name, place["root"].encode(), 0, 4096, 0)
        refused("mount", name, place["root"].encode(), 0, 8192, 0)  # MS_MOVE
        refused("umount2", name, 2)
        refused("open_tree", -100, name, 1)
        refused("fspick", -100, name, 0)
        refused("mount_setattr", -100, name, 0, 0, 0)


@attempt
def namespaces_of_its_own():
    """In a user namespace of its own a process has all capabilities, and could mount."""
    refused("unshare", CLONE_NEWUSER)
    refused("unshare", CLONE_NEWNS)
    refused("unshare", CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID)
    refused("clone3", 0, 0)
    refused("clone", CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)


@attempt(control="anybody")
def a_namespace_by_a_program():
    """As people do it: unshare and its like are programs too."""
    for words in (["unshare", "-Ur", "true"], ["unshare", "-Urmpf", "--mount-proc", "true"]):
        with contextlib.suppress(OSError):
            if subprocess.run(words, stderr=subprocess.DEVNULL).returncode == 0:
                got(" ".join(words))


@attempt
def namespaces_of_others():
    """The host's namespaces are entered."""
    for number in ("1", "self"):
        for name in ("mnt", "user", "pid", "net"):
            with contextlib.suppress(OSError):
                fd = os.open(f"/proc/{number}/ns/{name}", os.O_RDONLY)
                refused("setns", fd, 0)


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
                 "/proc/kpageflags", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/pagetypeinfo",
                 "/proc/timer_list"):
        with contextlib.suppress(OSError):
            if os.path.isdir(path) or pathlib.Path(path).open("rb").read(1):
                got(path)


@attempt
def groups_of_control():
    """The groups that hold the limits: left, changed, or used to start a program outside."""
    folders = {point for point, _ in mounts_seen() if "cgroup" in point} | {"/sys/fs/cgroup"}
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, path = line.split(":", 2)
        folders |= {f"/sys/fs/cgroup/{kinds}{path}", f"/sys/fs/cgroup{path}"}
    for folder in folders:
        for name in ("cgroup.procs", "tasks", "release_agent", "notify_on_release", "memory.max",
                     "memory.limit_in_bytes", "pids.max", "cgroup.kill", "cgroup.subtree_control"):
            works(f"{folder}/{name}", os.open, f"{folder}/{name}", os.O_WRONLY)
    works("another namespace", os.readlink, "/proc/1/ns/cgroup")


@attempt
def files_of_the_kernel():
    """All of /proc/sys and what else the kernel takes orders by."""
    for top in ("/proc/sys", "/sys"):
        for folder, _, names in os.walk(top):
            for name in names:
                works(f"{folder}/{name}", os.open, f"{folder}/{name}",
                      os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    for name in ("/proc/self/oom_score_adj", "/proc/self/setgroups", "/proc/self/gid_map",
                 "/proc/self/projid_map", "/proc/mtrr", "/proc/scsi/scsi", "/proc/bus/pci/00/00.0",
                 "/proc/acpi/wakeup", "/proc/timer_list"):
        works(name, os.open, name, os.O_WRONLY)


@attempt
def devices():
    """Disks and memory as devices, found or made."""
    for path in ("/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/kvm", "/dev/fuse",
                 "/dev/net/tun", "/dev/loop-control", "/dev/userfaultfd",
                 "/dev/port", "/dev/uinput", "/dev/snapshot", "/dev/mapper/control", "/dev/vsock"):
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
def programs_with_privileges():
    """Programs that make whoever starts them somebody else, and know how to ask for more."""
    for folder in ("/usr/bin", "/usr/sbin", "/bin", "/usr/lib/openssh"):
        for name in tried(os.listdir, folder) or ():
            path = f"{folder}/{name}"
            about = tried(os.stat, path)
            if about and about.st_mode & stat.S_ISUID and not os.statvfs(path).f_flag & os.ST_NOSUID:
                got(path)
    for words in (["su", "-s", "/bin/sh", "-c", "id -u", "daemon"], ["sudo", "-n", "id", "-u"],
                  ["setpriv", "--reuid=1", "id", "-u"], ["ping", "-c1", "-W1", "127.0.0.1"],
                  ["mount", "-t", "tmpfs", "none", "/tmp"], ["chroot", "/", "true"]):
        with contextlib.suppress(OSError):
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True)
            if done.returncode == 0 and words[0] != "ping":
                got(" ".join(words))


@attempt(control="root")
def dark_corners_of_the_kernel():
    """Calls that kernels were broken by, and those that rule the machine."""
    for name in ("bpf", "io_uring_setup", "userfaultfd", "perf_event_open", "add_key", "keyctl",
                 "request_key", "open_by_handle_at", "kexec_load", "init_module", "reboot",
                 "swapon", "swapoff", "acct", "syslog", "kexec_file_load", "finit_module",
                 "delete_module", "quotactl", "fanotify_init", "move_pages", "process_vm_readv",
                 "process_vm_writev", "pidfd_getfd", "kcmp", "settimeofday", "clock_settime"):
        if not place["is_control"] or name not in ("acct", "kexec_load", "reboot", "swapoff"):
            refused(name, 0, 0, 0, 0, 0)


@attempt
def names_of_the_host():
    """Its name and its domain, and the clock."""
    refused("sethostname", b"broken", 6)
    refused("setdomainname", b"broken", 6)
    refused("settimeofday", 0, 0)
    works("adjusted", pathlib.Path("/proc/sys/kernel/hostname").write_text, "broken")


@attempt(control="anybody")
def memory_shared_by_number():
    """Memory, queues and semaphores of System V have a number in place of a path."""
    number = call("shmget", place["shared"], 0, 0)
    if number >= 0:
        got(f"shared memory {number}")


@attempt
def typing_for_the_user():
    """Keys are pushed into the terminal that it was started from."""
    for path in ("/dev/tty", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/console"):
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
            fcntl.ioctl(fd, 0x5412, b"x")
            got(f"typed into {path}")


@attempt
def orders_to_a_terminal():
    """On a terminal of its own: typing, pasting, and taking what the console shows."""
    _, terminal = pty.openpty()
    for name, order in (("TIOCSTI", 0x5412), ("TIOCLINUX", 0x541C), ("TIOCCONS", 0x541D)):
        works(name, fcntl.ioctl, terminal, order, b"x\0\0\0\0\0\0\0")


@attempt(control="anybody")
def a_terminal_by_its_path():
    """Somebody's terminal is a file: the test sees what comes there."""
    for prefix in ("", "/proc/self/root", "/proc/1/root"):
        write(prefix + place["terminal"], os.O_WRONLY | os.O_NOCTTY)
