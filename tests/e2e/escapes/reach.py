"""Escapes through connections: to servers on this machine and elsewhere."""
import contextlib
import os
import pathlib
import socket
import struct

from way import attempt, got, place


@attempt(control="anybody")
def the_network():
    """Somebody who listens on this machine is reached."""
    for family, address in ((socket.AF_INET, ("127.0.0.1", place["port"])),
                            (socket.AF_UNIX, place["abstract"])):
        with contextlib.suppress(OSError), socket.socket(family) as connection:
            connection.settimeout(5)
            connection.connect(address)
            got(f"connected to {address!r}")


@attempt(control="anybody")
def a_datagram():
    """Nobody answers, but somebody may hear: the test listens."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"heard", ("127.0.0.1", place["udp"]))


@attempt
def names_asked_for():
    """A name that is looked up tells whoever is asked what it wants to."""
    for address in ("127.0.0.53", "8.8.8.8", "1.1.1.1", "169.254.169.254"):
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"\0\1\1\0\0\1\0\0\0\0\0\0\7example\3com\0\0\1\0\1", (address, 53))
            if not address.startswith("127."):
                got(f"a question left for {address}")


@attempt
def ways_to_other_machines():
    """Interfaces and routes other than its own."""
    for name in [line.split(":")[0].strip() for line in
                 pathlib.Path("/proc/net/dev").read_text().splitlines()[2:]]:
        if name != "lo" and not name.startswith(("tunl", "gre", "sit", "ip6", "erspan", "ip_vti")):
            got(name)
    if len(pathlib.Path("/proc/net/route").read_text().splitlines()) > 1:
        got("a route")


@attempt
def the_network_rebuilt():
    """An interface is taken down by a message to the kernel, which answers with an error number."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.settimeout(5)
        for kind in (16, 20, 24):  # RTM_NEWLINK, RTM_NEWADDR, RTM_NEWROUTE
            body = struct.pack("=BxHiII", 0, 0, 1, 0, 1) + bytes(16)
            kernel.send(struct.pack("=IHHII", 16 + len(body), kind, 5, 1, 0) + body)
            answer = kernel.recv(4096)
            if struct.unpack_from("=i", answer, 16)[0] == 0:
                got(f"message {kind} was obeyed")


@attempt(control="anybody")
def an_abstract_socket():
    """With the host's network, its abstract sockets have no file that could be hidden."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.connect(place["abstract"])
        got("connected")


@attempt(control="anybody")
def a_hidden_socket():
    """An agent that signs for the user listens in a hidden folder."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"{place['home']}/.gnupg/S.agent")
        got("connected")


@attempt(control="anybody")
def a_socket_in_tmp():
    """Somebody listens in a folder of the host's /tmp that was not granted."""
    for prefix in ("", "/proc/self/root", "/proc/1/root"):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.connect(prefix + place["socket"])
            got("connected")


@attempt
def sockets_of_services():
    """Who does as root what he is asked, and who shows windows."""
    names = ["/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock",
             "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/systemd/notify",
             "/run/podman/podman.sock", "/tmp/.X11-unix/X0", "\0/tmp/.X11-unix/X0",
             f"/run/user/{os.getuid()}/bus", f"/run/user/{os.getuid()}/gnupg/S.gpg-agent"]
    listed = pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]
    names += [words[7].replace("@", "\0", 1) for line in listed if len(words := line.split()) > 7]
    for name in names:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, kind) as connection:
                connection.settimeout(5)
                connection.connect(name)
                got(f"connected to {name!r}")


@attempt
def odd_sockets():
    """Families of sockets with much code behind them, and ways past the network."""
    for family in (socket.AF_VSOCK, socket.AF_PACKET, socket.AF_ALG, 31, 17, 44):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_RAW):
            got(f"family {family}")
    for family in range(2, 46):
        if family not in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
                with contextlib.suppress(OSError), socket.socket(family, kind):
                    got(f"family {family}")
    for protocol in range(1, 23):
        with contextlib.suppress(OSError):
            socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol).close()
            got(f"netlink {protocol}")
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_RAW, 1):
        got("raw")
