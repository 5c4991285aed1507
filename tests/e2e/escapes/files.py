"""Escapes through files: reading what is hidden, and writing what is not granted."""
import contextlib
import ctypes
import fcntl
import mmap
import os
import pathlib
import shutil
import socket
import stat
import struct

from way import AT_FDCWD, attempt, call, got, mounts_seen, place, refused, secrets, show, tried, works, write

FS_IOC_GETFLAGS, FS_IOC_SETFLAGS = 0x80086601, 0x40086602
AT_EMPTY_PATH, AT_SYMLINK_FOLLOW, RENAME_EXCHANGE = 0x1000, 0x400, 2
# What a box may write to: its own memory, and the place that it was given.
OWN_MOUNTS = ("/tmp", "/var/tmp", "/dev", "/run", "/sys")


@attempt(control="anybody")
def keys_in_the_home():
    """Credentials of the user are there under their names."""
    for path in secrets():
        show(path)
        show(f"/proc/self/root{path}")
        show(f"/proc/1/root{path}")


@attempt(control="anybody")
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


@attempt(control="anybody")
def keys_by_links_made_before():
    """Links to what is hidden were in the writable place before anybody looked."""
    for name in sorted(os.listdir(f"{place['root']}/before")):
        show(f"{place['root']}/before/{name}")
        show(os.readlink(f"{place['root']}/before/{name}"))


@attempt(control="anybody")
def keys_through_processes():
    """Every process has a root and a directory that it works in, and they may be elsewhere."""
    for number in os.listdir("/proc"):
        for link in ("root", "cwd", "task/%s/root" % number, "cwd/../../../../../../../.."):
            for path in secrets():
                show(f"/proc/{number}/{link}{path}")


@attempt(control="anybody")
def keys_through_descriptors_of_others():
    """What other processes have open is opened again."""
    own = {str(os.getpid()), "self", "thread-self"}
    everybody = set(os.listdir("/proc")) - own if not place["is_control"] else set()
    for number in everybody | {str(place["victim"])}:
        for fd in tried(os.listdir, f"/proc/{number}/fd") or ():
            show(f"/proc/{number}/fd/{fd}")
            for path in secrets():
                show(f"/proc/{number}/fd/{fd}{path}")


@attempt(control="anybody")
def keys_through_other_mounts():
    """A file system that is mounted twice shows the same files at the other place."""
    for point, _ in mounts_seen():
        for path in secrets():
            parts = path.split("/")
            for start in range(1, len(parts)):
                show(f"{point}/{'/'.join(parts[start:])}")


@attempt(control="root")
def keys_of_the_system():
    """With root's number, files of the system that are root's are open without a capability."""
    for path in ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/ssh/ssh_host_rsa_key",
                 "/etc/ssh/ssh_host_ed25519_key", "/etc/ssl/private"):
        content = tried(os.listdir, path) if os.path.isdir(path) else tried(pathlib.Path(path).read_bytes)
        if content:
            got(path)


@attempt(control="anybody")
def keys_of_the_session():
    """The kernel lists the keys of the user's session, and keeps them for all its processes."""
    show("/proc/keys")
    show("/proc/self/root/proc/keys")
    number = call("request_key", b"user", place["key"].encode(), 0, 0)
    room = ctypes.create_string_buffer(100)
    if number > 0 and call("keyctl", 11, number, ctypes.addressof(room), 100) > 0:
        got(room.value)


@attempt(control="anybody")
def keys_by_a_program_from_memory():
    """A program that is no file has no path that a rule could be about."""
    fd = os.memfd_create("program", 0)
    os.write(fd, b"#!/bin/sh\ncat " + " ".join(secrets()).encode() + b" 2>/dev/null\n")
    if os.fork() == 0:
        os.execve(f"/proc/self/fd/{fd}", ["program"], {"PATH": "/usr/bin:/bin"})
    os.wait()


@attempt(control="anybody")
def secrets_in_the_environment():
    """Variables of whoever started it, in its own environment and in those of others."""
    got(dict(os.environ))
    for number in ("self",) if place["is_control"] else os.listdir("/proc"):
        show(f"/proc/{number}/environ")


@attempt(control="anybody")
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


@attempt(control="anybody")
def a_second_name():
    """A file outside gets a name inside, by every call that makes one."""
    source, root = f"{place['outside']}/file", place["root"]
    fd = os.open(source, os.O_PATH)
    call("linkat", fd, b"", AT_FDCWD, f"{root}/one".encode(), AT_EMPTY_PATH)
    call("linkat", AT_FDCWD, f"/proc/self/fd/{fd}".encode(), AT_FDCWD, f"{root}/two".encode(),
         AT_SYMLINK_FOLLOW)
    call("linkat", AT_FDCWD, source.encode(), AT_FDCWD, f"{root}/three".encode(), 0)
    for name in ("one", "two", "three"):
        if os.path.exists(f"{root}/{name}"):
            write(f"{root}/{name}")


@attempt(control="anybody")
def an_exchange():
    """A file outside and one inside change their places."""
    for name in ("file", "."):
        pathlib.Path(f"{place['root']}/mine").write_text("broken")
        call("renameat2", AT_FDCWD, f"{place['root']}/mine".encode(), AT_FDCWD,
             f"{place['outside']}/{name}".encode(), RENAME_EXCHANGE)


@attempt(control="anybody")
def a_descriptor_opened_again():
    """What was opened for reading, or for its path only, is opened for writing through /proc."""
    for flags in (os.O_PATH, os.O_RDONLY):
        fd = os.open(f"{place['outside']}/file", flags)
        write(f"/proc/self/fd/{fd}")
        write(f"/proc/thread-self/fd/{fd}")
        write(f"/dev/fd/{fd}")
    fd = os.open(place["outside"], os.O_PATH)
    write(f"/proc/self/fd/{fd}/new")


@attempt(control="anybody")
def modes_and_attributes():
    """Of a file that is only read, what is no content is changed: by name and by descriptor."""
    name = f"{place['outside']}/file"
    own = os.open(name, os.O_RDONLY)
    for target in (name, own, 0, "/proc/self/fd/0", "/dev/stdin"):
        tried(os.chmod, target, 0o777)
        works("times", os.utime, target)
        works("attributes", os.setxattr, target, "user.broken", b"1")
        works("owner", os.chown, target, os.getuid(), os.getgid())
    for fd in (0, own):
        flags = bytearray(8)
        if tried(fcntl.ioctl, fd, FS_IOC_GETFLAGS, flags) is not None:
            works("flags", fcntl.ioctl, fd, FS_IOC_SETFLAGS, flags)
        works("length", os.ftruncate, fd, 0)


@attempt(control="root")
def modes_of_devices():
    """With root's number /dev/null is a file of ours, and everybody's. Set to what they are."""
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        if about := tried(os.stat, f"/dev/{name}"):
            works(name, os.chmod, f"/dev/{name}", stat.S_IMODE(about.st_mode))
            works(name, os.utime, f"/dev/{name}", ns=(about.st_atime_ns, about.st_mtime_ns))


@attempt(control="anybody")
def new_things_outside():
    """Sockets, FIFOs, folders and links are made in a place that is only read."""
    outside = place["outside"]
    tried(os.mkfifo, f"{outside}/fifo")
    tried(os.mkdir, f"{outside}/folder")
    tried(os.symlink, "file", f"{outside}/sym")
    tried(os.mknod, f"{outside}/node", stat.S_IFREG | 0o600)
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{outside}/socket")
    with contextlib.suppress(OSError):
        os.close(os.open(outside, os.O_TMPFILE | os.O_RDWR))
        got("a file without a name")


@attempt
def files_of_the_system():
    """The system's own folders are written to."""
    name = f"gatehouse-test-{os.getpid()}"
    for folder in ("", "/usr", "/usr/bin", "/usr/local/bin", "/etc", "/etc/cron.d", "/home", "/root",
                   "/var", "/var/lib", "/var/spool/cron", "/var/log", "/opt", "/boot", "/lib", "/srv",
                   "/mnt", "/media", "/proc/self/root", "/proc/1/root/etc"):
        with contextlib.suppress(OSError):
            os.close(os.open(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY, 0o600))
            got(f"{folder}/{name}")


@attempt(control="anybody")
def folders_of_everybody():
    """The host's /tmp and shared memory, where other programs meet: the test looks there."""
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock"):
        write(f"{folder}/{place['token']}")


@attempt
def mounts_that_can_be_written():
    """All that is mounted is read-only, but for the box's own and the place that was given."""
    for point, options in mounts_seen():
        if "rw" in options and point != place["root"] and not any(
                point == own or point.startswith(own + "/") for own in OWN_MOUNTS):
            got(f"{point} is writable")
        if "nosuid" not in options:
            got(f"{point} bears set-user-ID programs")


@attempt(control="anybody")
def a_program_for_others():
    """A set-id program in the writable place, if only an empty one that somebody fills later."""
    for number, change in enumerate((
            lambda path: os.chmod(path, 0o4755),
            lambda path: os.chmod(path, 0o2755),
            lambda path: os.fchmod(os.open(path, os.O_RDONLY), 0o2755),
            lambda path: os.fchmod(os.open(path, os.O_RDONLY), 0o4755),
            lambda path: call("fchmodat", AT_FDCWD, path.encode(), 0o4755),
            lambda path: call("fchmodat2", AT_FDCWD, path.encode(), 0o6755, 0))):
        path = f"{place['root']}/program{number}"
        shutil.copy("/bin/true", path)
        tried(change, path)
    # Made with the bit, and filled without a write.
    for number, fill in enumerate((
            lambda fd: os.write(fd, b"#!"),
            lambda fd: (os.ftruncate(fd, 4096), mmap.mmap(fd, 4096).write(b"#!")),
            lambda fd: (os.posix_fallocate(fd, 0, 4096), mmap.mmap(fd, 4096).write(b"#!")),
            lambda fd: os.copy_file_range(os.open("/bin/true", os.O_RDONLY), fd, 4096))):
        for mode in (0o4755, 0o2755):
            fd = tried(os.open, f"{place['root']}/made{number}-{mode}", os.O_CREAT | os.O_RDWR, mode)
            if fd is not None:
                tried(fill, fd)
    # Made without opening it, by every call.
    tried(os.mknod, f"{place['root']}/node", stat.S_IFREG | 0o6755)
    how = struct.pack("QQQ", os.O_CREAT | os.O_RDWR, 0o6755, 0)
    call("openat2", AT_FDCWD, f"{place['root']}/how".encode(), how, len(how))
    fd = tried(os.open, place["root"], os.O_TMPFILE | os.O_RDWR, 0o6755)
    if fd is not None:
        call("linkat", AT_FDCWD, f"/proc/self/fd/{fd}".encode(), AT_FDCWD,
             f"{place['root']}/nameless".encode(), AT_SYMLINK_FOLLOW)


@attempt(control="root")
def a_program_with_capabilities():
    """File capabilities would be there when the box is gone."""
    path = f"{place['root']}/able"
    shutil.copy("/bin/true", path)
    works("capabilities", os.setxattr, path, "security.capability",
          struct.pack("<5I", 0x02000001, 1 << 21, 0, 0, 0))
    works("trusted", os.setxattr, path, "trusted.broken", b"1")


@attempt
def a_handle():
    """A file by its number on the disk needs no path."""
    room = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    call("name_to_handle_at", AT_FDCWD, f"{place['outside']}/file".encode(), ctypes.addressof(room),
         ctypes.addressof(mount), 0)
    for path in ("/", place["root"], place["outside"]):
        fd = os.open(path, os.O_RDONLY)
        refused("open_by_handle_at", fd, ctypes.addressof(room), os.O_RDWR)


@attempt
def the_private_tmp_is_filled():
    """What a command puts into memory has one ceiling, at all its places together."""
    total = 0
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/sys", "/dev"):
        with contextlib.suppress(OSError), open(f"{folder}/full", "wb", buffering=0) as file:
            for _ in range(64):
                total += file.write(bytes(65536))
    if total > 2 << 20:
        got(f"{total} bytes")


@attempt(control="anybody")
def a_pipe_of_somebody_else():
    """A FIFO is no file for a read-only mount: whoever reads from it would hear us."""
    write(f"{place['pipes']}/fifo", os.O_WRONLY)


@attempt(control="anybody")
def standard_input_reopened():
    """A file that we were handed for reading is opened again for writing."""
    write("/proc/self/fd/0")
    write("/dev/stdin")


@attempt(control="anybody")
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
