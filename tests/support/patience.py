"""How long tests wait for what must happen, and directories in memory that need no waiting."""
import os

# Seconds. Nobody waits that long where all is well; a disk may stand still for more than a minute,
# and a process that was killed is not gone before its last write is. Each test as a whole has
# longer: see tests/meson.build.
PATIENCE = 300

MEMORY = "/dev/shm"
ENOUGH_BYTES = 512 << 20


def in_memory():
    """A folder for programs with time limits of their own, which a disk that stands still would
    have them reach; None where there is no such folder, as the functions of tempfile take it."""
    if not os.access(MEMORY, os.W_OK):
        return None
    about = os.statvfs(MEMORY)
    has_room = about.f_bavail * about.f_frsize >= ENOUGH_BYTES
    return MEMORY if has_room and not about.f_flag & os.ST_NOEXEC else None
