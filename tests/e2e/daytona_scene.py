"""A sandbox service for tests of its Daytona API, and a WebSocket for them."""
import base64
import http.client
import os
import socket
import struct

from sandboxd_scene import PATIENCE, Scene


class WebSocket:
    """A client that can also send what no client should."""

    def __init__(self, port, path, key, tls=None, **headers):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="127.0.0.1")
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {key}",
                 "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                 "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode(),
                 *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
        self.socket.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = http.client.parse_headers(self.file)

    def send(self, payload, opcode=2, masked=True, final=True, length=None):
        length = len(payload) if length is None else length
        head = bytes([(0x80 if final else 0) | opcode])
        mask = 0x80 if masked else 0
        head += (bytes([mask | length]) if length < 126 else bytes([mask | 126]) + struct.pack(">H", length)
                 if length < 1 << 16 else bytes([mask | 127]) + struct.pack(">Q", length))
        self.socket.sendall(head + (b"\0\0\0\0" if masked else b"") + payload)

    def receive(self):
        """Opcode and payload; (None, b"") at the end."""
        head = self.file.read(2)
        if len(head) < 2:
            return None, b""
        length = head[1] & 0x7f
        if length == 126:
            length, = struct.unpack(">H", self.file.read(2))
        elif length == 127:
            length, = struct.unpack(">Q", self.file.read(8))
        return head[0] & 0x0f, self.file.read(length)

    def until_close(self):
        """All content, and the close code."""
        content = bytearray()
        while True:
            opcode, payload = self.receive()
            if opcode == 8:
                return bytes(content), struct.unpack(">H", payload[:2])[0] if payload else None
            if opcode is None:
                return bytes(content), None
            content += payload

    def close(self):
        self.file.close()
        self.socket.close()


class DaytonaScene(Scene):
    """A service with two tenants."""

    def setUp(self):
        super().setUp()
        self.service = self.serve()
        self.keys = [self.new_tenant(name) for name in ("one", "another")]

    def new_tenant(self, name, **more):
        _, _, answer = self.service.ask("POST", "/admin/tenants", {"name": name, "create_key": True, **more})
        return answer["key"]["api_key"]

    def ask(self, method, path, /, body=None, tenant=0, headers=None, **query):
        return self.service.ask(method, path, body, key="", headers={
            "Authorization": "Bearer " + self.keys[tenant], "Content-Type": "application/json",
            **(headers or {})}, **query)

    def create(self, tenant=0, **fields):
        status, _, record = self.ask("POST", "/api/sandbox", fields, tenant)
        self.assertEqual((status, record["state"]), (200, "started"))
        return record["id"]

    def refused(self, status, answer, words=None):
        self.assertEqual(answer[0], status, answer[2])
        self.assertEqual(answer[2]["statusCode"], status)
        self.assertTrue(answer[2]["message"] and answer[2]["error"] and answer[2]["timestamp"])
        self.assertNotIn(str(self.room), answer[2]["message"])
        if words:
            self.assertRegex(answer[2]["message"], words)

    def execute(self, sandbox, command, **more):
        status, _, answer = self.ask("POST", f"/toolbox/{sandbox}/process/execute", {"command": command, **more})
        self.assertEqual(status, 200, answer)
        return answer["result"]

    def session(self, sandbox, command, **more):
        """Runs it in a session of its own; the path of the command."""
        name = "session-" + os.urandom(4).hex()
        path = f"/toolbox/{sandbox}/process/session"
        self.assertEqual(self.ask("POST", path, {"sessionId": name})[0], 201)
        status, _, answer = self.ask("POST", f"{path}/{name}/exec", {"command": command, "runAsync": True, **more})
        self.assertEqual(status, 202)
        return f"{path}/{name}/command/{answer['cmdId']}"
