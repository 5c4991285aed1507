"""Escapes through processes: other users' processes, and ones that outlive the sandbox."""
import contextlib
import ctypes
import errno
import mmap
import os
import platform
import resource
import signal

from way import attempt, call, got, libc, place, refused, show, tried, works

PTRACE_TRACEME, PTRACE_GETREGS, PTRACE_SETREGS, PTRACE_SYSCALL = 0, 12, 13, 24
RAX, RDX, RSI, RDI, ORIG_RAX, REGISTERS = 10, 12, 13, 14, 15, 27


@attempt(control="anybody")
def a_process_of_the_host():
    """Somebody's process is signalled."""
    for number in (place["victim"], -place["victim"]):
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)


@attempt(control="anybody")
def signals_by_other_calls():
    """The same by the calls that kill() is not."""
    victim = place["victim"]
    call("tgkill", victim, victim, signal.SIGKILL)
    call("tkill", victim, signal.SIGKILL)
    with contextlib.suppress(OSError):
        signal.pidfd_send_signal(os.pidfd_open(victim), signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.killpg(victim, signal.SIGKILL)


@attempt
def signals_for_all():
    """Everybody whom the user may signal at all."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        tried(os.kill, -1, number)


@attempt
def every_number():
    """Whoever has a number that is a guess."""
    for number in range(1, 70000):
        if number != os.getpid():
            tried(os.kill, number, signal.SIGKILL)


@attempt(control="anybody")
def limits_of_others():
    """What a process may use is set by whoever has its user's number; so is its priority."""
    victim = place["victim"]
    works("limit", resource.prlimit, victim, resource.RLIMIT_CORE, (0, 0))
    works("priority", os.setpriority, os.PRIO_PROCESS, victim, 19)
    works("processors", os.sched_setaffinity, victim, {0})
    if call("ioprio_set", 1, victim, 3 << 13) == 0:
        got("disk")


@attempt
def limits_of_all():
    """The user's priority, which has no process in its name: the test looks at the victim's."""
    tried(os.setpriority, os.PRIO_USER, os.getuid(), 19)
    call("ioprio_set", 3, os.getuid(), 3 << 13)


@attempt(control="anybody")
def what_others_are():
    """Words, variables and maps of processes of the host."""
    for name in ("cmdline", "environ", "maps", "status"):
        show(f"/proc/{place['victim']}/{name}")


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
def what_the_first_process_has_open():
    """Its descriptors and its program: that file is the one that starts all boxes."""
    for fd in range(64):
        works(f"descriptor {fd}", os.readlink, f"/proc/1/fd/{fd}")
        works(f"descriptor {fd}", os.open, f"/proc/1/fd/{fd}", os.O_RDWR)
    for name in ("/proc/1/exe", "/proc/1/mem", "/proc/1/cwd/.", "/proc/1/root/."):
        works(name, os.open, name, os.O_RDONLY)
    works("its files", os.listdir, "/proc/1/map_files")
    works("its program", os.open, "/proc/1/exe", os.O_WRONLY)


@attempt
def signals_for_the_first_process():
    """It holds all others, and stays whatever they send."""
    fd = os.pidfd_open(1)
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV):
        tried(os.kill, 1, number)
        tried(signal.pidfd_send_signal, fd, number)
        call("tgkill", 1, 1, number)
    refused("process_vm_writev", 1, 0, 0, 0, 0, 0)
    refused("pidfd_getfd", fd, 0, 0)
    for request in (16, 0x4206):  # PTRACE_ATTACH, PTRACE_SEIZE
        refused("ptrace", request, 1, 0, 0)


@attempt(control="anybody")
def a_filter_passed_by_tracing():
    """A traced child asks for something harmless, and its tracer changes the question."""
    if platform.machine() != "x86_64":
        return got("not tried on this machine") if place["is_control"] else None
    child = os.fork()
    if child == 0:
        libc.ptrace(PTRACE_TRACEME, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        call("getpid")
        os._exit(0)
    registers = (ctypes.c_ulong * REGISTERS)()
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    os.waitpid(child, 0)
    is_changed = False
    while True:
        libc.ptrace(PTRACE_SYSCALL, child, None, None)
        if not os.WIFSTOPPED(os.waitpid(child, 0)[1]):
            break
        libc.ptrace(PTRACE_GETREGS, child, None, ctypes.addressof(registers))
        if registers[ORIG_RAX] == 39 and not is_changed:  # keyctl: which is the user's key ring
            registers[ORIG_RAX], registers[RDI], registers[RSI], registers[RDX] = 250, 0, 2**64 - 4, 1
            libc.ptrace(PTRACE_SETREGS, child, None, ctypes.addressof(registers))
            is_changed = True
        elif registers[ORIG_RAX] == 250 and registers[RAX] < 1 << 62:
            got(f"keyctl answered {registers[RAX]}")


@attempt
def calls_of_another_machine():
    """The numbers of 32 bits, by the gate for old programs."""
    if platform.machine() != "x86_64":
        return
    child = os.fork()
    if child == 0:
        room = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        room.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov $20, %eax; int $0x80; ret
        address = ctypes.addressof(ctypes.c_char.from_buffer(room))
        os._exit(0 if ctypes.CFUNCTYPE(ctypes.c_int)(address)() > 0 else 1)
    if os.waitpid(child, 0)[1] == 0:
        got("a call by another gate")


@attempt
def calls_by_other_numbers():
    """The same calls by the numbers of x32, which a filter may forget."""
    if platform.machine() == "x86_64":
        for name in ("mount", "unshare", "bpf", "getpid"):
            refused(name, 0, 0, 0, 0, 0, flag=0x40000000, answers=(errno.ENOSYS,))


@attempt(control="anybody")
def staying_behind():
    """A process that leaves its session and ignores signals goes on when the command has ended."""
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            signal.pause()


@attempt(control="anybody")
def a_daemon():
    """It forks twice, leaves every group, closes all it has, and minds no signal."""
    if os.fork() == 0:
        os.setsid()
        libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        libc.prctl(1, 0, 0, 0, 0)   # PR_SET_PDEATHSIG
        for _ in range(3):
            if os.fork() == 0:
                os.setpgid(0, 0)
                for number in range(1, 32):
                    with contextlib.suppress(OSError):
                        signal.signal(number, signal.SIG_IGN)
                os.closerange(0, 100)
                signal.pause()
                os._exit(0)
        os._exit(0)
    os.wait()


@attempt(control="anybody")
def those_who_stand_still():
    """Who is stopped does not see that it is to end; nor does a tracer's child."""
    for _ in range(3):
        child = os.fork()
        if child == 0:
            os.setsid()
            os.kill(os.getpid(), signal.SIGSTOP)
            signal.pause()
        os.waitpid(child, os.WUNTRACED)


@attempt
def forks_without_end():
    """With a ceiling of 64 processes; 400 are too many."""
    children = []
    with contextlib.suppress(OSError):
        for _ in range(400):
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    if len(children) == 400:
        got("400 processes")


@attempt
def memory_without_end():
    """With a ceiling of 100 MB."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(MemoryError):
            room = bytearray(b"a" * 400_000_000)
            os._exit(0 if room else 1)
        os._exit(1)
    if os.waitpid(child, 0)[1] == 0:
        got("400 MB")
