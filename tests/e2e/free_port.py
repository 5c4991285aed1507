"""A port for a server that somebody else starts, or that is to come back, or is not there at all."""
import contextlib
import random
import socket


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return True
    return False


def free_port():
    """Below those that the system hands out to everybody who lets it choose."""
    while not is_free(port := random.randrange(20000, 32000)):
        pass
    return port
