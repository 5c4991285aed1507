#!/usr/bin/env python3
"""The sandbox service: its API with right and wrong requests, its tenants, its crashes.

    test_sandboxd.py GATEHOUSE
"""
import concurrent.futures
import hashlib
import http.client
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import unittest
import uuid

sys.dont_write_bytecode = True  # not into the sources
from sandboxd_scene import KEY, PATIENCE, Scene, clean_environment, wait_until

MISSING = str(uuid.uuid4())


def named(folder, name):
    """The files of this name below; unlike a glob, it goes on where the service removes a folder meanwhile."""
    return [parent for parent, folders, files in os.walk(folder) if name in folders + files]


class Requests(Scene):
    """Every field wrong, huge or missing: the right status, and nothing was made."""

    def check(self, service, wrong):
        before = service.ask("GET", "/sandboxes")[2]
        for status, method, path, body, *more in wrong:
            query = more[0] if more else {}
            shown = body if len(repr(body)) < 200 else repr(body)[:200]
            with self.subTest(method=method, path=path, body=shown, query=query):
                got, headers, answer = service.ask(method, path, body, **query)
                self.assertEqual(got, status, answer)
                self.assertEqual(answer["code"], status)
                self.assertIsInstance(answer["error"], str)
                self.assertNotIn(str(self.room), answer["error"])
        self.assertEqual([record["id"] for record in service.ask("GET", "/sandboxes")[2]],
                         [record["id"] for record in before])

    def test_wrong_requests_to_create(self):
        service = self.serve()
        create = ("POST", "/sandboxes")
        self.check(service, [
            (400, *create, "{"), (400, *create, "[]"), (400, *create, "null"), (400, *create, '"x"'),
            (400, *create, {"id": 7}), (400, *create, {"id": ""}), (400, *create, {"id": "x"}),
            (400, *create, {"id": MISSING.upper()}), (400, *create, {"id": MISSING + "0"}),
            (400, *create, {"id": "../../../../../../../../../../../etc"}),
            (400, *create, {"ephemeral": "yes"}), (400, *create, {"ephemeral": 1}),
            (413, *create, {"padding": "x" * 1100}), (413, *create, {"padding": "x" * (2 << 20)}),
            (400, *create, {"resource_limits": 1}), (400, *create, {"resource_limits": {"memory_mb": -1}}),
            (400, *create, {"resource_limits": {"memory_mb": 1}}),
            (400, *create, {"resource_limits": {"memory_mb": 1 << 40}}),
            (400, *create, {"resource_limits": {"cpu_percent": "x"}}),
            (400, *create, {"resource_limits": {"pids_max": -4}}),
            (400, *create, {"network_policy": []}),
            (400, *create, {"network_policy": {"allowed_ips": ["127.0.0.1"]}}),
            (400, *create, {"network_policy": {"denied_ips": "x"}}),
            (400, *create, {"image_id": "x"}), (400, *create, {"image_id": 1}),
            (400, *create, {"dockerfile_steps": "RUN true"}), (400, *create, {"dockerfile_steps": [1]}),
            (400, *create, {"dockerfile_steps": ["TRUE x"]}), (400, *create, {"dockerfile_steps": ["RUN"]}),
            (400, *create, {"dockerfile_steps": ["RUN true", "FROM x"]}),
            (400, *create, {"dockerfile_steps": ["RUN true"] * 128}),
            (400, *create, {"dockerfile_steps": ["WORKDIR here"]}),
            (400, "POST", "/images", "{"), (400, "POST", "/images", ""), (400, "POST", "/images", {}),
            (400, "POST", "/images", {"dockerfile_steps": []}), (400, "POST", "/images", {"dockerfile_steps": "x"}),
            (400, "POST", "/images", {"dockerfile_steps": ["TRUE x"]}),
            (400, "POST", "/images", {"dockerfile_steps": ["RUN true"], "context": 7}),
            (400, "POST", "/images", {"dockerfile_steps": ["RUN true"], "context": "0" * 64}),
            (413, "POST", "/images", {"padding": "x" * (2 << 20)}),
            (400, *create, {"dockerfile_steps": ["RUN " + "x" * 70000]}),
            (404, "GET", "/sandboxes/" + MISSING, None), (404, "DELETE", "/sandboxes/" + MISSING, None),
            (404, "GET", "/sandboxes/x", None),
            (405, "PUT", "/sandboxes", None), (405, "PATCH", "/sandboxes/" + MISSING, None),
            (404, "GET", "/nothing", None), (404, "GET", "/sandboxes/x/y/z", None),
            (404, "GET", "/images/x", None), (404, "DELETE", "/images/x", None),
        ])

    def test_wrong_commands(self):
        service = self.serve()
        box = service.create()
        run = ("POST", f"/sandboxes/{box}/executions")
        self.check(service, [
            (400, *run, None), (400, *run, "{"), (400, *run, {}), (400, *run, {"command": ""}),
            (400, *run, {"command": "  "}), (400, *run, {"command": 1}), (400, *run, {"command": "a\0b"}),
            (400, *run, {"command": "true", "env": []}), (400, *run, {"command": "true", "env": {"A": 1}}),
            (400, *run, {"command": "true", "env": {"": "x"}}),
            (400, *run, {"command": "true", "env": {"A=B": "x"}}),
            (400, *run, {"command": "true", "env": {"A": "\0"}}),
            (400, *run, {"command": "true", "env": {str(i): "" for i in range(2000)}}),
            (400, *run, {"command": "true", "workdir": 1}), (400, *run, {"command": "true", "workdir": "x"}),
            (400, *run, {"command": "true", "workdir": "/" + "x" * 5000}),
            (400, *run, {"command": "true", "timeout_ms": -1}),
            (400, *run, {"command": "true", "timeout_ms": "1"}),
            (400, *run, {"command": "true", "timeout_ms": 1 << 40}),
            (400, *run, {"command": "true", "exec_id": "x"}), (400, *run, {"command": "true", "exec_id": ""}),
            (400, *run, {"command": "true", "exec_id": MISSING.upper()}),
            (413, *run, {"command": "x" * (1 << 20)}),
            (404, "POST", f"/sandboxes/{MISSING}/executions", {"command": "true"}),
            (404, "POST", f"/sandboxes/{MISSING}/exec", {"command": "true"}),
            (400, "POST", f"/sandboxes/{box}/exec", {"command": ""}),
            (404, "GET", f"{run[1]}/{MISSING}", None), (404, "GET", f"{run[1]}/x", None),
            (400, "GET", f"{run[1]}/{MISSING}", None, {"after": "x"}),
            (400, "GET", f"{run[1]}/{MISSING}", None, {"after": "-1"}),
            (400, "GET", f"{run[1]}/{MISSING}", None, {"follow": "yes"}),
            (405, "PUT", f"{run[1]}/{MISSING}", None),
        ])
        self.assertEqual(service.ask("DELETE", f"{run[1]}/{MISSING}")[0], 204)

    def test_wrong_file_requests(self):
        service = self.serve()
        box = service.create()
        files, top = f"/sandboxes/{box}/files", f"/sandboxes/{box}"
        paths = [None, "", "relative", "/" + "x" * 5000, "/a\0b"]
        table = [(method, path) for method, path in (
            ("PUT", files), ("POST", files), ("DELETE", files), ("GET", files + "/content"),
            ("POST", top + "/mkdir"), ("GET", top + "/stat"))]
        wrong = [(400, method, path, None, {} if name is None else {"path": name})
                 for method, path in table for name in paths]
        wrong += [(400, "GET", files, None, {"path": name}) for name in paths[1:]]
        wrong += [(404, method, path.replace(box, MISSING), None, {"path": "/x"}) for method, path in table]
        for name in ("overwrite",):
            wrong.append((400, "PUT", files, b"x", {"path": "/tmp/x", name: "1"}))
        wrong += [
            (400, "DELETE", files, None, {"path": "/tmp/x", "recursive": "yes"}),
            (400, "DELETE", files, None, {"path": "/tmp/x", "force": ""}),
            (400, "GET", files, None, {"path": "/tmp", "recursive": "TRUE"}),
            (400, "GET", files, None, {"path": "/tmp", "extension": "x" * 300}),
            (400, "POST", top + "/mkdir", None, {"path": "/tmp/y", "recursive": "2"}),
            (413, "PUT", files, b"x" * ((10 << 20) + 1), {"path": "/tmp/x"}),
            (404, "GET", files, None, {"path": "/none"}), (404, "GET", top + "/stat", None, {"path": "/none"}),
            (404, "GET", files + "/content", None, {"path": "/none"}),
            (400, "GET", files + "/content", None, {"path": "/tmp"}),
            (400, "GET", files, None, {"path": "/etc/passwd"}),
        ]
        for verb in ("copy", "move"):
            path = f"{files}/{verb}"
            wrong += [(400, "POST", path, body) for body in (
                None, "{", [], {}, {"src": "/a"}, {"dest": "/a"}, {"src": "a", "dest": "/b"},
                {"src": "/a", "dest": "b"}, {"src": 1, "dest": "/b"}, {"src": "/a", "dest": "/b\0"},
                {"src": "/a", "dest": "/b", "overwrite": "x"})]
            wrong.append((404, "POST", path, {"src": "/none", "dest": "/tmp/b"}))
            wrong.append((404, "POST", path.replace(box, MISSING), {"src": "/none", "dest": "/tmp/b"}))
        wrong.append((400, "POST", files + "/copy", {"src": "/a", "dest": "/b", "recursive": 1}))
        self.check(service, wrong)
        self.assertEqual(service.output(box, "ls -A /tmp"), "")

    def test_wrong_keys_and_tenants(self):
        service = self.serve()
        for path in ("/sandboxes", "/sandboxes/x", "/images", "/capabilities", "/admin/tenants", "/nothing"):
            for key in ("", "wrong", "sbk_" + "x" * 32):
                with self.subTest(path=path, key=key):
                    self.assertEqual(service.ask("GET", path, key=key)[0], 401)
        for path in ("/healthz", "/metrics"):
            self.assertEqual(service.ask("GET", path, key="")[0], 200)
        tenants = ("POST", "/admin/tenants")
        self.check(service, [
            (400, *tenants, "{"), (400, *tenants, []), (400, *tenants, {"name": 1}),
            (400, *tenants, {"name": "x" * 200}), (400, *tenants, {"external_ref": []}),
            (400, *tenants, {"max_sandboxes": -1}), (400, *tenants, {"max_sandboxes": "1"}),
            (400, *tenants, {"max_sandboxes": 1 << 40}), (400, *tenants, {"create_key": 1}),
            (413, *tenants, {"name": "x" * 20000}),
            (404, "GET", "/admin/tenants/x", None), (404, "DELETE", f"/admin/tenants/{MISSING}", None),
            (404, "POST", f"/admin/tenants/{MISSING}/keys", None),
            (404, "GET", f"/admin/tenants/{MISSING}/keys", None),
            (404, "DELETE", f"/admin/tenants/{MISSING}/keys/x", None),
        ])
        self.assertEqual(service.ask("GET", "/admin/tenants")[2], [])
        status, _, answer = service.ask("GET", "/sandboxes", headers={"Host": "evil.example"})
        self.assertEqual((status, answer["code"]), (403, 403))


class Tenants(Scene):
    def tenant(self, service, **fields):
        status, _, made = service.ask("POST", "/admin/tenants", fields)
        self.assertEqual(status, 201, made)
        return made["tenant"], made["key"]

    def test_a_tenant_sees_only_its_own(self):
        service = self.serve()
        one, key_one = self.tenant(service, name="one", external_ref="ref", max_sandboxes=2)
        two, key_two = self.tenant(service, name="two")
        self.assertRegex(key_one["api_key"], r"^sbk_\w{32}$")
        self.assertTrue(key_one["api_key"].startswith(key_one["prefix"]))
        a, b = key_one["api_key"], key_two["api_key"]
        box = service.create(key=a)
        service.ask("PUT", f"/sandboxes/{box}/files", b"secret", key=a, path="/home/user/s")
        events = service.events(box, "sleep 100 & echo x", key=a)
        for method, path, body, query in (
                ("GET", f"/sandboxes/{box}", None, {}), ("DELETE", f"/sandboxes/{box}", None, {}),
                ("POST", f"/sandboxes/{box}/executions", {"command": "true"}, {}),
                ("GET", f"/sandboxes/{box}/executions/{events[0]['exec_id']}", None, {}),
                ("DELETE", f"/sandboxes/{box}/executions/{events[0]['exec_id']}", None, {}),
                ("POST", f"/sandboxes/{box}/exec", {"command": "true"}, {}),
                ("GET", f"/sandboxes/{box}/files", None, {"path": "/"}),
                ("PUT", f"/sandboxes/{box}/files", b"x", {"path": "/tmp/x"}),
                ("GET", f"/sandboxes/{box}/files/content", None, {"path": "/home/user/s"}),
                ("GET", f"/sandboxes/{box}/stat", None, {"path": "/home/user/s"})):
            for key in (b, KEY):
                with self.subTest(method=method, path=path, key=key[:4]):
                    self.assertEqual(service.ask(method, path, body, key=key, **query)[0], 404)
        self.assertEqual(service.ask("POST", "/sandboxes", {"id": box}, key=b)[0], 409)
        self.assertEqual(service.ask("POST", "/sandboxes", {"id": box}, key=a)[0], 200)
        self.assertEqual(service.ask("GET", "/sandboxes", key=b)[2], [])
        for method, path in (("GET", "/admin/tenants"), ("POST", "/admin/tenants"),
                             ("DELETE", f"/admin/tenants/{one['id']}"),
                             ("POST", f"/admin/tenants/{two['id']}/keys")):
            self.assertEqual(service.ask(method, path, key=a)[0], 403)
        second = service.create(key=a)
        self.assertEqual(service.ask("POST", "/sandboxes", key=a)[0], 403)  # two are enough
        self.assertEqual([record["id"] for record in service.ask("GET", "/sandboxes", key=a)[2]],
                         [second, box])
        self.assertEqual(service.ask("DELETE", f"/admin/tenants/{one['id']}")[0], 409)
        for name in (box, second):
            self.assertEqual(service.ask("DELETE", f"/sandboxes/{name}", key=a)[0], 204)
        self.assertEqual(service.ask("DELETE", f"/admin/tenants/{one['id']}")[0], 204)
        self.assertEqual(service.ask("GET", "/sandboxes", key=a)[0], 401)
        self.assertEqual(service.ask("GET", f"/admin/tenants/{two['id']}")[2]["name"], "two")

    def test_keys_come_and_go(self):
        service = self.serve()
        tenant, first = self.tenant(service)
        keys = f"/admin/tenants/{tenant['id']}/keys"
        status, _, second = service.ask("POST", keys)
        self.assertEqual(status, 201)
        listed = service.ask("GET", keys)[2]
        self.assertEqual({key["id"] for key in listed}, {first["id"], second["id"]})
        self.assertNotIn("api_key", json.dumps(listed))
        self.assertEqual(service.ask("DELETE", f"{keys}/{first['id']}")[0], 204)
        self.assertEqual(service.ask("DELETE", f"{keys}/{first['id']}")[0], 404)
        self.assertEqual(service.ask("GET", "/sandboxes", key=first["api_key"])[0], 401)
        self.assertEqual(service.ask("GET", "/sandboxes", key=second["api_key"])[0], 200)
        _, _, keyless = service.ask("POST", "/admin/tenants", {"create_key": False})
        self.assertNotIn("key", keyless)
        text = (self.room / "state/sandboxes/sandboxes.db").read_bytes()
        wal = self.room / "state/sandboxes/sandboxes.db-wal"
        self.assertNotIn(second["api_key"].encode(), text + (wal.read_bytes() if wal.exists() else b""))


class Sandboxes(Scene):
    def test_one_of_many_creates_with_one_id_makes_it(self):
        service = self.serve()
        for _ in range(5):
            name = str(uuid.uuid4())
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(lambda _: service.ask("POST", "/sandboxes", {"id": name}), range(8)))
            self.assertEqual(sorted(answer[0] for answer in answers), [200] * 7 + [201])

    def test_no_room_for_more(self):
        service = self.serve("--max-sandboxes", "1")
        box = service.create()
        status, _, answer = service.ask("POST", "/sandboxes")
        self.assertEqual((status, answer["code"]), (503, 503))
        self.assertEqual(service.ask("DELETE", f"/sandboxes/{box}")[0], 204)
        service.create()

    def test_idle_sandboxes_stop_and_wake(self):
        service = self.serve("--idle-stop", "300ms")
        box, busy = service.create(), service.create()
        passing = service.create({"ephemeral": True})
        service.ask("PUT", f"/sandboxes/{box}/files", b"kept", path="/home/user/kept")
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request("POST", f"/sandboxes/{busy}/executions",
                           json.dumps({"command": "until [ -e /tmp/go ]; do sleep 0.05; done; echo done"}),
                           {"X-Api-Key": KEY})
        answer = connection.getresponse()

        def status(name):
            code, _, record = service.ask("GET", f"/sandboxes/{name}")
            return record["status"] if code == 200 else code

        wait_until(lambda: status(box) == "stopped", "the stop of an idle sandbox")
        wait_until(lambda: status(passing) == 404, "the end of an ephemeral one")
        self.assertEqual(status(busy), "running")  # a command is activity
        self.assertEqual(service.ask("GET", f"/sandboxes/{box}/files/content", path="/home/user/kept")[2],
                         b"kept")
        self.assertEqual(service.output(box, "cat kept"), "kept\n")
        service.events(busy, "touch /tmp/go")
        self.assertIn(b"done", answer.read())

    def test_idle_sandboxes_are_deleted(self):
        service = self.serve("--idle-stop", "300ms", "--idle-delete", "600ms")
        box = service.create()
        wait_until(lambda: service.ask("GET", f"/sandboxes/{box}")[0] == 404, "the deletion of an idle sandbox")

    def test_a_restart_keeps_files_and_tells_once(self):
        for signum in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(signal=signum):
                service = self.serve()
                box, gone = service.create(), service.create()
                service.ask("PUT", f"/sandboxes/{box}/files", b"kept", path="/home/user/kept")
                mark = f"{60000 + os.getpid() % 9999}.{signum:d}1"
                service.events(box, f"sleep {mark} >/dev/null 2>&1 &")
                self.assertEqual(service.ask("DELETE", f"/sandboxes/{gone}")[0], 204)
                service.end(signum)
                wait_until(lambda: not any_process(mark), "the end of its processes")
                service = self.serve()
                self.assertEqual(service.ask("GET", f"/sandboxes/{gone}")[0], 404)
                self.assertEqual(service.ask("GET", f"/sandboxes/{box}")[2]["status"], "running")
                status, headers, answer = service.ask("POST", f"/sandboxes/{box}/executions",
                                                      {"command": "true"})
                self.assertEqual((status, headers["X-Sandbox-Restarted"]), (409, "1"), answer)
                self.assertEqual(service.output(box, "cat kept"), "kept\n")
                self.assertEqual(service.ask("DELETE", f"/sandboxes/{box}")[0], 204)
                service.end()

    def test_the_end_of_a_sandbox_waits_for_no_disk(self):
        """But that of a step, whose files become a layer, does: a layer is there after a power cut."""
        service = self.serve()
        options = "awk '$2 == \"/\" { print $4 }' /proc/mounts"
        box = service.create()
        self.assertIn("volatile", service.output(box, options))
        service.end()
        service = self.serve()  # the kernel refuses what was so before, unless it is told otherwise
        service.ask("POST", f"/sandboxes/{box}/executions", {"command": "true"})
        self.assertIn("volatile", service.output(box, options))
        built = service.create({"dockerfile_steps": [f"RUN {options} > /options"]})
        self.assertNotIn("volatile", service.output(built, "cat /options"))

    def test_it_ends_while_work_is_under_way(self):
        service = self.serve()
        box = service.create()
        mark = f"{20000 + os.getpid() % 9999}.80"
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            build = pool.submit(service.ask, "POST", "/sandboxes", {"dockerfile_steps": [f"RUN sleep {mark}1"]})
            reader = pool.submit(service.events, box, f"sleep {mark}2")
            wait_until(lambda: any_process(f"sleep\0{mark}1") and any_process(f"sleep\0{mark}2"), "their start")
            self.assertEqual(service.end(), 0)
            self.assertEqual(reader.result(PATIENCE)[-1]["type"], "error")
            self.assertIsNotNone(build.exception(PATIENCE) or build.result())
        wait_until(lambda: not any_process(mark), "the end of its processes")

    def test_the_administrators_key_is_made_once(self):
        service = self.serve(key=None)
        made = service.process.stdout.readline().split()[-1]
        self.assertRegex(made, r"^sba_\w{32}$")
        self.assertEqual(service.ask("GET", "/sandboxes", key=made)[0], 200)
        kept = self.room / "state/sandboxes/service.json"
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        self.assertEqual(json.loads(kept.read_text()), {"url": service.url, "pid": service.process.pid, "key": made})
        self.assertEqual(service.end(), 0)
        service = self.serve(key=None)
        self.assertEqual(service.ask("GET", "/sandboxes", key=made)[0], 200)
        service.end()
        self.assertEqual(service.process.stdout.read(), "")


def processes(mark):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def any_process(mark):
    return bool(processes(mark))


class Executions(Scene):
    def test_output_that_nobody_reads_is_trimmed(self):
        service = self.serve()
        box = service.create()
        name = str(uuid.uuid4())
        service.events(box, "mkfifo /tmp/go")
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        connection.request("POST", f"/sandboxes/{box}/executions", json.dumps(
            {"command": "read x < /tmp/go; head -c 40000000 /dev/zero | tr '\\0' x; touch /tmp/end",
             "exec_id": name}), {"X-Api-Key": KEY})
        connection.getresponse()
        connection.close()  # it runs on without its reader
        service.events(box, "echo > /tmp/go")
        again = f"/sandboxes/{box}/executions/{name}"
        self.assertEqual(service.output(box, "while [ ! -e /tmp/end ]; do sleep 0.01; done; echo over"),
                         "over\n")
        self.assertEqual(service.ask("GET", again, after="0")[0], 410)
        self.assertEqual(service.ask("POST", f"/sandboxes/{box}/executions",
                                     {"command": "true", "exec_id": name})[0], 410)

    def test_a_reader_gets_all_however_slow(self):
        service = self.serve()
        box = service.create()
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request("POST", f"/sandboxes/{box}/executions", json.dumps(
            {"command": "head -c 60000000 /dev/zero | tr '\\0' x; echo; echo ü"}), {"X-Api-Key": KEY})
        answer = connection.getresponse()
        total, last = 0, ""
        for line in answer:
            event = json.loads(line)
            if event["type"] == "stdout":
                total += len(event["data"])
                last = event["data"][-2:]
        self.assertEqual((total, last), (60000000 + 1 + 2, "ü\n"))

    def test_the_first_generation_ends_with_its_connection(self):
        service = self.serve()
        box = service.create()
        status, _, text = service.ask("POST", f"/sandboxes/{box}/exec", {"command": "echo hi; exit 2"})
        self.assertEqual(status, 200)
        events = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([event["type"] for event in events], ["stdout", "exit"])
        self.assertNotIn("seq", events[0])
        self.assertEqual(events[1]["exit_code"], 2)
        mark = f"{50000 + os.getpid() % 9999}.77"
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        connection.request("POST", f"/sandboxes/{box}/exec", json.dumps({"command": f"sleep {mark}"}),
                           {"X-Api-Key": KEY})
        wait_until(lambda: any_process(mark), "its start")
        connection.close()
        wait_until(lambda: not any_process(mark), "its end")

    def test_nothing_survives_a_timeout(self):
        service = self.serve()
        box = service.create()
        mark = f"{40000 + os.getpid() % 9999}.78"
        events = []
        for timeout_ms in (400, 4000, 40000):  # the longer ones for a machine that has not come to it
            if not any(event["type"] == "stdout" for event in events):
                events = service.events(box, f"setsid sleep {mark} & setsid setsid sleep {mark} & echo on; wait; "
                                             "sleep 1000", timeout_ms=timeout_ms)
                self.assertTrue(events[-1]["timed_out"])
        self.assertIn({"seq": 1, "type": "stdout", "data": "on\n"}, events)
        wait_until(lambda: not any_process(mark), "the end of its descendants")

    def test_background_children_live_on(self):
        service = self.serve()
        box = service.create()
        events = service.events(box, "sleep 0.6 && echo alive > /tmp/alive & echo started")
        self.assertEqual(events[-1]["exit_code"], 0)
        service.ask("DELETE", f"/sandboxes/{box}/executions/{events[0]['exec_id']}")
        self.assertEqual(service.output(box, "while [ ! -s /tmp/alive ]; do sleep 0.01; done; cat /tmp/alive"),
                         "alive\n")

    def test_deleting_ends_a_running_command_and_its_readers(self):
        service = self.serve()
        box = service.create()

        def deleted(what):
            """Deletes it while a command of the sandbox runs; the path of that command."""
            name = str(uuid.uuid4())
            path = f"/sandboxes/{box}/executions/{name}"

            def has_begun():
                status, _, text = service.ask("GET", path, follow="false")
                return status == 200 and b"on" in text

            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                reader = pool.submit(service.events, box, "echo on; sleep 1000", exec_id=name)
                wait_until(has_begun, "its output")
                self.assertEqual(service.ask("DELETE", what or path)[0], 204)
                self.assertEqual(reader.result(PATIENCE)[-1]["type"], "error")
            return path

        self.assertEqual(service.ask("GET", deleted(None))[0], 404)
        deleted(f"/sandboxes/{box}")


class Images(Scene):
    steps = ["FROM node:22", "ENV GREETING=hello", "WORKDIR /srv-work/here", "RUN echo $GREETING > made; echo run",
             "RUN cat made | tr a-z A-Z > /srv-work/loud"]

    def test_steps_are_run_once(self):
        service = self.serve()
        status, _, first = service.ask("POST", "/sandboxes", json.dumps({"dockerfile_steps": self.steps}),
                                       headers={"Content-Type": "text/plain"})
        self.assertEqual(status, 201, first)
        self.assertEqual(first["provider"], "isolated")
        self.assertRegex(first["image_id"], r"^[0-9a-f]{64}$")
        self.assertEqual(service.output(first["id"], "pwd; cat made /srv-work/loud; echo $GREETING"),
                         "/srv-work/here\nhello\nHELLO\nhello\n")
        service.events(first["id"], "rm -f made; echo own > /tmp/own")
        second = service.ask("POST", "/sandboxes", {"dockerfile_steps": self.steps})[2]
        third = service.ask("POST", "/sandboxes", {"image_id": first["image_id"]})[2]
        self.assertEqual({second["image_id"], third["image_id"]}, {first["image_id"]})
        for box in (second, third):
            self.assertEqual(service.output(box["id"], "cat /srv-work/here/made; ls /tmp"), "hello\n")
        listed = service.ask("GET", "/images")[2]
        self.assertEqual([(image["id"], image["in_use"]) for image in listed], [(first["image_id"], True)])
        image = f"/images/{first['image_id']}"
        self.assertEqual(service.ask("DELETE", image)[0], 409)
        for box in (first, second, third):
            self.assertEqual(service.ask("DELETE", f"/sandboxes/{box['id']}")[0], 204)
        self.assertEqual(service.ask("GET", image)[0], 200)
        self.assertEqual(service.ask("DELETE", image)[0], 204)
        self.assertEqual(service.ask("GET", image)[0], 404)

    def test_two_that_want_the_same_build_it_once(self):
        service = self.serve()
        steps = ["RUN head -c 16 /dev/urandom | od -An -tx1 > /once; sleep 0.3"]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            made = list(pool.map(lambda _: service.ask("POST", "/sandboxes", {"dockerfile_steps": steps})[2],
                                 range(4)))
        self.assertEqual(len({service.output(record["id"], "cat /once") for record in made}), 1)

    def test_a_failing_step_is_named_with_its_output(self):
        service = self.serve()
        status, _, answer = service.ask("POST", "/sandboxes", {"dockerfile_steps": [
            "RUN true", "RUN echo what went wrong >&2; exit 7"]})
        self.assertEqual(status, 400)
        self.assertIn("step 2 failed with exit code 7", answer["error"])
        self.assertIn("what went wrong", answer["error"])
        self.assertEqual(service.ask("GET", "/sandboxes")[2], [])
        self.assertEqual(service.ask("GET", "/images")[2], [])


    def follow(self, service, steps):
        """The answer to a build, to be read while it goes on."""
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request("POST", "/images", json.dumps({"dockerfile_steps": steps}), {"X-Api-Key": service.key})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        return connection, answer

    def until_output(self, answer, text):
        """Reads events up to this output."""
        seen = ""
        while text not in seen:
            event = json.loads(answer.readline())
            seen += event.get("data", "")

    def go_on(self, mark):
        """Ends the step's `sleep`, on which it waits."""
        wait_until(lambda: processes(f"sleep\0{mark}"), "the step's sleep")
        for process in processes(f"sleep\0{mark}"):
            os.kill(process, signal.SIGKILL)

    def test_a_build_is_followed_while_it_goes_on(self):
        service = self.serve()
        mark = f"{40000 + os.getpid() % 9999}.81"
        steps = ["ENV A=b", f"RUN echo begun; {{ sleep {mark}; }} 2>/dev/null; printf after", "RUN echo more >&2"]
        _, first = self.follow(service, steps)
        self.until_output(first, "begun\n")
        _, second = self.follow(service, steps)
        self.until_output(second, "begun\n")  # what it missed
        self.go_on(mark)
        ends = []
        for answer in (first, second):
            events = [json.loads(line) for line in answer]
            self.assertEqual([event.get("data") for event in events if event["type"] in ("stdout", "stderr")],
                             ["after", "\n", "more\n"])
            self.assertEqual([(event["step"], event["steps"], event["text"], event["cached"])
                              for event in events if event["type"] == "step"], [(3, 3, "RUN echo more >&2", False)])
            self.assertEqual(events[-1]["type"], "image")
            ends.append(events[-1]["image_id"])
        self.assertEqual(len(set(ends)), 1)
        self.assertEqual([record["id"] for record in service.ask("GET", "/images")[2]], ends[:1])
        self.assertEqual(service.ask("GET", "/sandboxes")[2], [])
        events = [json.loads(line) for line in self.follow(service, steps)[1]]
        self.assertEqual([event.get("cached") for event in events], [True, True, True, None])
        self.assertEqual(service.output(service.create({"image_id": ends[0]}), "echo $A"), "b\n")

    def test_a_build_tells_what_its_base_is(self):
        service = self.serve()
        for steps, is_told in ((["FROM node:22", "ENV A=b"], True), (["FROM node:22", "ENV A=b"], True), (["ENV A=b"], False)):
            events = [json.loads(line) for line in self.follow(service, steps)[1]]
            told = [event["data"] for event in events if event["type"] == "stderr"]
            words = "no image has the name node:22: the base is the system of this machine"
            self.assertEqual(told, [f"warning: {words}\n"] * is_told)
            # So do the records: of the image, also after a restart, and of a sandbox.
            service.end()
            service = self.serve()
            image = events[-1]["image_id"]
            sandbox = service.create({"image_id": image})
            for path in (f"/images/{image}", f"/sandboxes/{sandbox}", f"/api/sandbox/{sandbox}"):
                self.assertEqual(service.ask("GET", path)[2].get("warning"), words if is_told else None, path)
            self.assertEqual([one.get("warning") for one in service.ask("GET", "/images")[2] if one["id"] == image],
                             [words if is_told else None])
        name = "é" * 4000
        made = service.ask("POST", "/sandboxes", {"dockerfile_steps": [f"FROM {name} AS x"]})[2]
        self.assertEqual(made["warning"], words.replace("node:22", "é" * 64))

    def test_a_build_goes_on_without_its_client(self):
        service = self.serve()
        mark = f"{40000 + os.getpid() % 9999}.82"
        connection, answer = self.follow(service, [f"RUN echo begun; sleep {mark}; true"])
        self.until_output(answer, "begun\n")
        answer.close()
        connection.close()
        self.go_on(mark)
        wait_until(lambda: service.ask("GET", "/images")[2], "the image")

    def test_a_build_waits_for_a_slow_reader(self):
        service = self.serve()
        mark = f"{40000 + os.getpid() % 9999}.83"
        _, answer = self.follow(service, [f"RUN yes | head -c 20000000; {{ sleep {mark}; }} 2>/dev/null; true"])
        self.assertEqual(json.loads(answer.readline())["type"], "step")
        got = 0
        while got < 20000000:
            got += len(json.loads(answer.readline())["data"])
        self.go_on(mark)
        self.assertEqual(json.loads(answer.readline())["type"], "image")

    def test_a_failing_build_says_so_at_the_end(self):
        service = self.serve()
        events = [json.loads(line) for line in self.follow(service, ["RUN echo it is wrong; exit 4"])[1]]
        self.assertEqual([event["type"] for event in events], ["step", "stdout", "error"])
        self.assertIn("step 1 failed with exit code 4", events[-1]["error"])
        self.assertEqual(service.ask("GET", "/images")[2], [])

    def context(self, service, files, links=(), mode="w", key=None):
        """Uploads an archive; its name."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode=mode) as archive:
            for name, text in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text))
            for name, target in links:
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname = tarfile.SYMTYPE, target
                archive.addfile(entry)
        name = hashlib.sha256(packed.getvalue()).hexdigest()
        status, _, answer = service.ask("PUT", f"/contexts/{name}", packed.getvalue(), key=key)
        self.assertEqual(status, 204, answer)
        return name

    def build(self, service, steps, key=None, **more):
        return service.ask("POST", "/sandboxes", {"dockerfile_steps": steps, **more}, key=key)

    def test_copy_takes_files_of_the_context(self):
        service = self.serve()
        context = self.context(service, {"src/a.txt": b"a", "src/deep/b.txt": b"b", "top": b"top"})
        steps = ["WORKDIR /app", "COPY src lib", "COPY ./top src/a.txt /app/both", "COPY top /named",
                 "RUN cat lib/a.txt lib/deep/b.txt both/top both/a.txt /named > all; ls -A /tmp > left"]
        status, _, made = self.build(service, steps, context=context)
        self.assertEqual(status, 201, made)
        self.assertEqual(service.output(made["id"], "cat all left; stat -c %u:%a lib/a.txt"), "abtopatop0:644\n")
        # The same content again is the same image; another one is not.
        same = self.context(service, {"src/a.txt": b"a", "src/deep/b.txt": b"b", "top": b"top"})
        self.assertEqual(self.build(service, steps, context=same)[2]["image_id"], made["image_id"])
        other = self.context(service, {"src/a.txt": b"A", "src/deep/b.txt": b"b", "top": b"top"})
        self.assertNotEqual(self.build(service, steps, context=other)[2]["image_id"], made["image_id"])

    def test_copy_stays_in_the_context(self):
        service = self.serve()
        _, _, tenant = service.ask("POST", "/admin/tenants", {"name": "a", "create_key": True})
        key = tenant["key"]["api_key"]
        context = self.context(service, {"plain": b"x", "../../escape": b"y"},
                               [("up", "/etc"), ("far", "../../../../etc/passwd")], mode="w:gz")
        for wrong in ("COPY ../x /x", "COPY a/../../x /x", "COPY --chown=1 plain /x", "COPY plain", "COPY"):
            self.assertEqual(self.build(service, [wrong], context=context)[0], 400, wrong)
        for wrong in ("COPY up /x", "COPY far /x", "COPY up/passwd /x", "COPY none /x"):
            status, _, answer = self.build(service, [wrong], context=context)
            self.assertEqual(status, 400, wrong)
            self.assertIn("step 1 failed", answer["error"])
        self.assertEqual(self.build(service, ["COPY plain /x"])[0], 400)  # no context
        for wrong in ("0" * 64, 5, "x"):
            self.assertEqual(self.build(service, ["COPY plain /x"], context=wrong)[0], 400)
        self.assertEqual(self.build(service, ["COPY plain /x"], key=key, context=context)[0], 400)  # another's
        self.assertEqual(service.ask("PUT", "/contexts/" + "0" * 64, b"other bytes")[0], 400)
        self.assertEqual(service.ask("PUT", "/contexts/" + "0" * 64, b"x" * (16 << 20))[0], 413)
        self.assertEqual(service.ask("GET", "/images")[2], [])
        self.assertEqual(service.ask("GET", "/sandboxes")[2], [])
        self.assertFalse(named(self.room, "escape"))

    def test_nothing_half_made_is_left_after_a_kill(self):
        kept = ["RUN echo kept > /kept"]
        steps = [*kept, "RUN echo half > /half; echo begun > /usr/begun; sleep 1000"]
        service = self.serve()
        self.assertEqual(self.build(service, kept)[0], 201)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            failed = pool.submit(self.build, service, steps)
            files = self.room / "state/sandboxes/files"
            wait_until(lambda: named(files / "rooms", "begun"), "the second step")
            service.end(signal.SIGKILL)
            with self.assertRaises(Exception):
                failed.result(PATIENCE)
        again = self.serve()
        wait_until(lambda: not list(files.glob("rooms/build-*")), "the end of the half layer")
        self.assertEqual(len(again.ask("GET", "/images")[2]), 1)
        self.assertEqual(len(list((files / "layers").iterdir())), 1)
        status, _, made = self.build(again, [*kept, "RUN test ! -e /half; test ! -e /usr/begun; cat /kept > /whole"])
        self.assertEqual(status, 201, made)
        self.assertEqual(again.output(made["id"], "cat /whole"), "kept\n")


class CommandLine(Scene):
    """gatehouse sandbox create, exec, ls, rm, image: with the service of the same user."""

    def run_it(self, *words, **environment):
        return subprocess.run([self.gatehouse, "sandbox", *words], capture_output=True, timeout=PATIENCE,
                              env=clean_environment(GATEHOUSE_STATE_DIR=str(self.room / "state"), **environment))

    def said(self, *words):
        result = self.run_it(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def names(self, kind):
        """What a shell offers."""
        return subprocess.run([self.gatehouse, "completions", "--names", kind], capture_output=True, timeout=PATIENCE,
                              env=clean_environment(GATEHOUSE_STATE_DIR=str(self.room / "state"))).stdout.decode().split()

    def test_a_sandbox_from_a_terminal(self):
        result = self.run_it("ls", "--no-start")
        self.assertEqual((result.returncode, self.names("sandboxes")), (125, []))
        self.assertIn(b"no sandbox service of yours is running", result.stderr)
        self.serve(key=None)
        box = self.said("create").strip()
        self.assertEqual(self.names("sandboxes")[0], box)
        self.assertEqual([line.split()[:2] for line in self.said("ls").splitlines()], [[box, "running"]])
        self.assertEqual([record["id"] for record in json.loads(self.said("ls", "--json"))], [box])
        result = self.run_it("exec", "-e", "A=x, y", "-w", "/tmp", box, "sh", "-c",
                             "printf '%s' \"$A it's $PWD\"; echo bad >&2; exit 7")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (7, b"x, y it's /tmp", b"bad\n"))
        self.assertEqual(self.run_it("exec", "--timeout", "200ms", box, "sleep", "60").returncode, 124)
        self.assertEqual(self.run_it("exec", box, "sh", "-c", "kill -9 $$").returncode, 137)
        self.assertEqual(self.run_it("exec", "-w", "/none", box, "true").returncode, 125)
        self.assertEqual(self.run_it("exec", "-e", "A", box, "true").returncode, 2)
        self.assertEqual(self.run_it("exec", "../x", "true").returncode, 2)
        self.said("rm", box)
        self.assertEqual(self.run_it("rm", box).returncode, 125)
        self.assertEqual(self.said("ls"), "")

    def test_a_command_ends_with_its_terminal(self):
        self.serve(key=None)
        box = self.said("create").strip()
        mark = f"{30000 + os.getpid() % 9999}.79"
        process = subprocess.Popen([self.gatehouse, "sandbox", "exec", box, "sleep", mark],
                                   env=clean_environment(GATEHOUSE_STATE_DIR=str(self.room / "state")))
        inside = f"sleep\0{mark}"
        wait_until(lambda: any_process(inside), "its start")
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        wait_until(lambda: not any_process(inside), "its end")

    def test_images_from_a_terminal(self):
        self.serve(key=None)
        image = self.said("image", "build", "RUN echo built > /built", "ENV WORD=hello").strip()
        self.assertEqual(self.said("image", "ls").split()[:2], [image, "unused"])
        box = self.said("create", "--image", image).strip()
        self.assertEqual(self.said("exec", box, "sh", "-c", "cat /built; echo $WORD"), "built\nhello\n")
        result = self.run_it("image", "build", "RUN true", "RUNN x")
        self.assertIn(b"step 2, 'RUNN x': a step is FROM,", result.stderr)
        self.assertNotIn(b"dockerfile_steps", result.stderr)
        result = self.run_it("image", "rm", image)
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"in use", result.stderr)
        self.said("rm", box)
        self.said("image", "rm", image)
        folder = self.room / "project"
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / ("long" * 40)).write_text("long\n")
        (folder / "run.sh").write_text("#!/bin/sh\necho it runs\n")
        (folder / "run.sh").chmod(0o755)
        (folder / "link").symlink_to("/etc/passwd")
        image = self.said("image", "build", "-c", str(folder), "COPY . /project").strip()
        self.assertEqual(self.said("image", "build", "--context", str(folder), "COPY . /project").strip(), image)
        box = self.said("create", "--image", image[:12]).strip()
        self.assertEqual(self.said("exec", box, "sh", "-c", "/project/run.sh; cat /project/sub/*; ls /project"),
                         "it runs\nlong\nrun.sh\nsub\n")
        (folder / "large").write_bytes(b"x" * (16 << 20))
        result = self.run_it("image", "build", "-c", str(folder), "COPY . /project")
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"too large", result.stderr)
        result = self.run_it("image", "build", "RUN echo went wrong; exit 3")
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"went wrong\n", result.stderr)
        self.assertIn(b"step 1 failed with exit code 3", result.stderr)

    def test_a_build_is_shown_while_it_goes_on(self):
        self.serve(key=None)
        mark = f"{40000 + os.getpid() % 9999}.84"
        with subprocess.Popen([self.gatehouse, "sandbox", "image", "build", "ENV A=b", f"RUN echo begun; sleep {mark}; true"],
                              env=clean_environment(GATEHOUSE_STATE_DIR=str(self.room / "state")),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.assertEqual([process.stderr.readline() for _ in range(3)],
                             ["step 1/2: ENV A=b\n", f"step 2/2: RUN echo begun; sleep {mark}; true\n", "begun\n"])
            self.assertIsNone(process.poll())
            wait_until(lambda: processes(f"sleep\0{mark}"), "the step's sleep")
            for pid in processes(f"sleep\0{mark}"):
                os.kill(pid, signal.SIGKILL)
            self.assertRegex(process.stdout.read(), r"^[0-9a-f]{64}\n$")
            self.assertEqual(process.wait(PATIENCE), 0)

    def test_the_kept_key_goes_to_no_other_address(self):
        service = self.serve(key=None)
        result = self.run_it("ls", "--url", service.url)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"GATEHOUSE_SANDBOX_KEY", result.stderr)
        key = json.loads((self.room / "state/sandboxes/service.json").read_text())["key"]
        self.assertEqual(self.run_it("ls", "--url", service.url, GATEHOUSE_SANDBOX_KEY=key).returncode, 0)
        self.assertEqual(self.run_it("ls", "--url", "http://192.0.2.1:1", GATEHOUSE_SANDBOX_KEY=key).returncode, 2)


if __name__ == "__main__":
    Scene.gatehouse = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
