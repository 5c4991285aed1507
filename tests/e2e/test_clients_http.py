#!/usr/bin/env python3
"""Drives a server over HTTP with clients that others wrote: see client_scripts.py.

    test_clients_http.py CACHE SERVER [ARGUMENT...]

CACHE is as in test_clients.py. SERVER offers the file tools for {folder}, writing included, keeps its
state below {state}, requires the key in its environment, and prints its address as its first line.
{folder} and {state} are replaced in each argument. It is started for each test.
"""
import json
import os
import secrets
import sys
import urllib.error
import urllib.request

sys.dont_write_bytecode = True  # not into the sources
import client_scripts  # first: it knows where the others are
import listening_server
from mcp_client import MODERN, READING, WRITING

COMMAND = [os.path.abspath(sys.argv[2]), *sys.argv[3:]]  # each server is started elsewhere


class ClientsOverHttp(client_scripts.EveryClient):
    tools = READING | WRITING

    def setUp(self):
        super().setUp()
        self.key = secrets.token_urlsafe(32)
        values = {"{folder}": self.folder, "{state}": self.room / "state"}
        command = COMMAND
        for name, value in values.items():
            command = [word.replace(name, str(value)) for word in command]
        self.listener = listening_server.ListeningServer(
            command, {**self.environment, "GATEHOUSE_HTTP_KEY": self.key}, self.room)
        self.addCleanup(self.listener.discard)
        self.server = self.listener.address()
        self.environment["GATEHOUSE_KEY"] = self.key
        self.inspected = (self.server, "--transport", "http", "--header",
                          f"Authorization: Bearer {self.key}")

    def tearDown(self):
        self.assertTrue(self.listener.is_running(), self.listener.words())
        self.assertEqual(self.listener.end(), 0, self.listener.words())

    def status_of(self, method, headers):
        """What a write is answered with, with these headers beside the usual ones."""
        params = {"name": "write_file", "arguments": {"filePath": "new.txt", "content": "new"},
                  "_meta": MODERN}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        request = urllib.request.Request(
            self.server, json.dumps(body).encode() if method == "POST" else None, {
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": MODERN["io.modelcontextprotocol/protocolVersion"],
                "Mcp-Method": "tools/call", "Mcp-Name": "write_file", **headers,
            }, method=method)
        try:
            with urllib.request.urlopen(request, timeout=client_scripts.PATIENCE) as answer:
                return answer.status, answer.headers
        except urllib.error.HTTPError as answer:
            with answer:
                return answer.code, answer.headers

    def test_nothing_is_done_without_the_key(self):
        wrong = ({}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {self.key}x"},
                 {"Authorization": f"Bearer {self.key[:-1]}"}, {"Authorization": self.key},
                 {"Authorization": f"Basic {self.key}"})
        for headers in wrong:
            for method in ("POST", "GET", "DELETE"):
                status, told = self.status_of(method, headers)
                self.assertEqual(status, 401, (method, headers))
                self.assertTrue(told.get("WWW-Authenticate", "").startswith("Bearer"))
        self.assertFalse((self.folder / "new.txt").exists())
        status, _ = self.status_of("POST", {"Authorization": f"Bearer {self.key}"})
        self.assertEqual(status, 200)
        self.assertEqual((self.folder / "new.txt").read_text(), "new")

    def test_nothing_is_done_for_a_page_of_another_origin(self):
        for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            status, _ = self.status_of("POST", {"Authorization": f"Bearer {self.key}", **headers})
            self.assertEqual(status, 403, headers)
        self.assertFalse((self.folder / "new.txt").exists())


if __name__ == "__main__":
    if not COMMAND:
        sys.exit(__doc__)
    client_scripts.main(sys.argv[1])
