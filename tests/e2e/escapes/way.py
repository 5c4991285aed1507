"""Helpers for escape attempts; attempts.py says how they are run."""
import contextlib
import ctypes
import errno
import os
import pathlib
import platform

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
attempts = {}
place = {}  # what the test says: paths, ports and process numbers

AT_FDCWD = -100
CALLS = {  # x86-64, arm64
    "bpf": (321, 280), "io_uring_setup": (425, 425), "userfaultfd": (323, 282),
    "perf_event_open": (298, 241), "add_key": (248, 217), "keyctl": (250, 219),
    "request_key": (249, 218), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "setns": (308, 268), "unshare": (272, 97), "clone": (56, 220),
    "clone3": (435, 435), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fspick": (433, 433), "mount_setattr": (442, 442), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438), "kcmp": (312, 272),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "syslog": (103, 116),
    "getpid": (39, 172), "quotactl": (179, 60), "fanotify_init": (300, 262),
    "move_pages": (279, 239), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "sethostname": (170, 161), "setdomainname": (171, 162), "tgkill": (234, 131),
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "ioprio_set": (251, 30),
    "fchmodat": (268, 53), "fchmodat2": (452, 452), "renameat2": (316, 276), "linkat": (265, 37),
    "openat2": (437, 437),
    "shmget": (29, 194), "shmat": (30, 196), "msgget": (68, 186), "semget": (64, 190),
}


def attempt(function=None, control=None):
    """`control`: who gets out by it where there is no box, "anybody" or "root"; None: the machine
    would suffer, or it does not work everywhere."""
    def add(function):
        function.control = control
        attempts[function.__name__] = function
        return function
    return add(function) if function else add


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
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if content := file.read(4096):
                got(content)


def tried(function, *arguments, **named):
    """What it returns; or None, and nothing is told."""
    with contextlib.suppress(OSError):
        return function(*arguments, **named)


def works(what, function, *arguments, **named):
    """Something that must be refused, by whatever error."""
    with contextlib.suppress(OSError):
        got(f"{what}: {function(*arguments, **named)}")


def write(path, flags=os.O_WRONLY | os.O_TRUNC):
    with contextlib.suppress(OSError):
        fd = os.open(path, flags | os.O_NONBLOCK | os.O_CREAT, 0o666)
        with contextlib.suppress(OSError):
            os.write(fd, b"broken")
        os.close(fd)


def secrets():
    return [f"{place['home']}/{name}" for name in place["secrets"]]


def mounts_seen():
    """Mount point and options of each."""
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return [(line.split()[4], line.split()[5].split(",")) for line in lines]
