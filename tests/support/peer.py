#!/usr/bin/env python3
"""Servers in a network that with_network has made: see there. On the ports of TCP below each connection gets
the address that it came to, then what it sends, then "end"; on port 53 of UDP what was sent comes back, and of
TCP is a name server that knows one address for all names. Port 8443 of TCP never ends a connection.

    peer.py FIFO: writes its process, waits for the interface, and writes again when it serves."""
import os
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time

TCP_PORTS = (80, 443, 8080)
ENDLESS_PORT = 8443
NAMES_PORT = 53
ADDRESSES = ("203.0.113.7/24", "203.0.113.8/24", "2001:db8::7/64")


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(self.request.getsockname()[0].encode() + b"\n")
        while piece := self.request.recv(1 << 16):
            self.request.sendall(piece)
        self.request.sendall(b"end\n")


class Endless(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"endless\n")
        threading.Event().wait()


class Names(socketserver.StreamRequestHandler):
    def handle(self):
        while head := self.rfile.read(2):
            query = self.rfile.read(struct.unpack("!H", head)[0])
            question = query[12:query.index(b"\0", 12) + 5]
            is_v4 = question[-4:-2] == b"\0\1"
            answer = b"\xc0\x0c\0\1\0\1" + struct.pack("!IH", 60, 4) + socket.inet_aton("203.0.113.7") if is_v4 else b""
            text = query[:2] + struct.pack("!HHHHH", 0x8180, 1, int(is_v4), 0, 0) + question + answer
            self.wfile.write(struct.pack("!H", len(text)) + text)


class Server(socketserver.ThreadingTCPServer):
    address_family = socket.AF_INET6
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request, client_address):
        pass  # a client that leaves


def answer_datagrams():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as served:
        served.bind(("0.0.0.0", NAMES_PORT))
        while True:
            piece, whence = served.recvfrom(1 << 16)
            served.sendto(piece, whence)


def main():
    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    with open(sys.argv[1], "w", encoding="ascii") as told:
        print(os.getpid(), file=told, flush=True)
    while "inside0" not in (name for _, name in socket.if_nameindex()):
        time.sleep(0.01)
    ip("link", "set", "lo", "up")
    for address in ADDRESSES:
        ip("address", "add", address, "dev", "inside0", *(["nodad"] if ":" in address else []))
    ip("link", "set", "inside0", "up")
    threading.Thread(target=answer_datagrams, daemon=True).start()
    servers = [Server(("::", port), Echo) for port in TCP_PORTS] + [Server(("::", NAMES_PORT), Names), Server(("::", ENDLESS_PORT), Endless)]
    for server in servers[1:]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    with open(sys.argv[1], "w", encoding="ascii") as told:
        print("ready", file=told, flush=True)
    servers[0].serve_forever()


if __name__ == "__main__":
    main()
