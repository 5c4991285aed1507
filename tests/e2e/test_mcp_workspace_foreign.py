#!/usr/bin/env python3
"""The whole suite of workspaces with answers that look like those of other services: a proxy in front of our own service
gives each of them the fields, headers and pieces of recorded/*.json.

    test_mcp_workspace_foreign.py GATEHOUSE
"""
import datetime
import http.client
import json
import sys

sys.dont_write_bytecode = True  # not into the sources
from sandboxd_scene import KEY
from mcp_workspace_scene import Fake, main
from recorded_answers import Replay, load, shapes
from test_mcp_workspace import Isolated, Shared, Suite


class Dress(Fake):
    """Passes requests on, and answers with other clothes on."""

    def __init__(self, recording, service, change):
        self.recording, self.service, self.change = recording, service, change
        self.extras = {}
        for shape, body in shapes(recording):
            self.extras.setdefault(shape, {}).update(body)
        super().__init__(self.pass_on)

    def pass_on(self, request):
        headers = {name: value for name, value in request.headers.items() if name.lower() not in ("host", "connection")}
        upstream = http.client.HTTPConnection(self.service.url.removeprefix("http://"))
        try:
            upstream.request(request.command, request.path, request.body, headers)
            answer = upstream.getresponse()
            kind = answer.headers.get("Content-Type", "")
            self.begin(request, answer)
            if answer.status == 204:
                return
            if "ndjson" in kind:
                while line := answer.readline():
                    self.chunk(request, self.dressed(line) + b"\n")
                request.wfile.write(b"0\r\n\r\n")
            else:
                body = answer.read()
                Replay.send_chunks(request, self.dressed(body) if "json" in kind else body)
        finally:
            upstream.close()

    def begin(self, request, answer):
        fields = {name: value for name, value in self.recording["headers"].items() if name != "content-type"}
        for name, value in answer.headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                fields[name.lower()] = value
        if answer.status != 204:
            fields["transfer-encoding"] = "chunked"
        head = [f"HTTP/1.1 {answer.status} ", *(f"{name}: {value}" for name, value in fields.items())]
        request.wfile.write(("\r\n".join(head) + "\r\n\r\n").encode())

    @staticmethod
    def chunk(request, data):
        request.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        request.wfile.flush()

    def dressed(self, text):
        """Other fields besides, the other way round, and our address in the place of the service's."""
        value = json.loads(text.replace(self.service.url.encode(), self.url.encode()))
        if isinstance(value, list):
            value = [self.dress(one) for one in value]
        else:
            value = self.dress(value)
        return json.dumps(value, ensure_ascii=False).encode()

    def dress(self, value):
        if not isinstance(value, dict):
            return value
        value = {**value, "x-unknown": {"deep": [None, 1.5, "\u0000"]}, "missing": None}
        for body in self.extras.values():
            if self.is_of(value, body):
                value = {**{key: None for key in body}, **value}
        return dict(reversed(self.change(value).items()))

    @staticmethod
    def is_of(value, body):
        """Whether it is of this type, as far as its names tell."""
        return len(set(value) & set(body)) >= 3


def as_n8n(value):
    for key in ("mod_time", "modified_at", "created_at"):
        if isinstance(value.get(key), str):
            value[key] = elsewhere(value[key])
    return value


def as_daytona(value):
    if "modTime" in value:
        moment = datetime.datetime.fromisoformat(value["modTime"].replace("Z", "+00:00"))
        value["modifiedAt"] = elsewhere(value["modTime"])
        value["modTime"] = moment.strftime("%Y-%m-%d %H:%M:%S.123456789 +0000 UTC")
    return value


def as_old_daytona(value):
    if isinstance(value.get("stdout"), str) and "exitCode" in value:
        value["output"] = "\x01\x01\x01" + value.pop("stdout") + "\x02\x02\x02" + value.pop("stderr")
    return value


def elsewhere(text):
    """The same moment, as a service in another place writes it."""
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(zone).isoformat()


class Foreign(Suite, Shared):
    def setUp(self):
        self.front = Dress(load(self.recording), self.service, type(self).change)
        self.addCleanup(self.front.close)  # after its clients
        super().setUp()

    sandboxes = Isolated.sandboxes
    delete = Isolated.delete


class N8nSandbox(Foreign):
    recording, change = "n8n-sandbox", as_n8n

    def open(self, *flags):
        return self.mcp("n8n-sandbox", *flags,
                        env={"N8N_SANDBOX_SERVICE_URL": self.front.url, "N8N_SANDBOX_SERVICE_API_KEY": KEY})


class Daytona(Foreign):
    recording, change = "daytona", as_daytona

    def open(self, *flags):
        return self.mcp("daytona", *flags, env={"DAYTONA_API_URL": self.front.url + "/api", "DAYTONA_API_KEY": KEY})


class OldDaytona(Daytona):
    change = as_old_daytona


del Foreign, Suite, Shared, Isolated  # they are no tests of their own


if __name__ == "__main__":
    main()
