#!/usr/bin/env python3
"""The sandbox service against what is in its sandboxes and in front of its port: escapes, races with its
work on files, neighbours, malformed requests, and kills of each of its processes.

    test_sandboxd_hostile.py GATEHOUSE WITHOUT_SYSCALL [--as-user]

SANDBOXD_KILL_ROUNDS (2) is how often each kind of process is killed.
"""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import threading
import uuid

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from sandboxd_scene import KEY, PATIENCE, Scene, wait_until

MARK = "needle-of-somebody-else"
ESCAPES = pathlib.Path(__file__).resolve().parent / "escapes"
NEEDED = [ESCAPES / name for name in ("attempts.py", "files.py", "kernel.py", "processes.py", "reach.py", "way.py")]
IS_ROOT = os.geteuid() == 0
ROUNDS = int(os.environ.get("SANDBOXD_KILL_ROUNDS", "2"))


def has_range():
    """Whether this user has ids of its own for sandboxes, as e2e_sandboxd_hostile_with_range gives them."""
    name = pwd.getpwuid(os.geteuid()).pw_name
    if not os.path.exists("/etc/subuid"):
        return False
    with open("/etc/subuid") as ranges:
        mine = [line.split(":") for line in ranges if line.split(":")[0] in (name, str(os.geteuid()))]
    return any(int(count) >= 65535 for _, _, count in mine) and shutil.which("newuidmap") is not None


class Hostile(Scene):
    def setUp(self):
        super().setUp()
        Scene.gatehouse = mcp_client.GATEHOUSE
        self.room.chmod(0o755)

    def serve(self, *arguments, **more):
        return super().serve(*(() if IS_ROOT or has_range() else ("--allow-weaker",)), *arguments, **more)


class Front(Hostile):
    def send(self, service, request):
        with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    def test_what_is_no_request_is_refused_in_the_form_of_the_api(self):
        service = self.serve()
        host = f"Host: 127.0.0.1:{service.port}\r\nX-Api-Key: {KEY}\r\n".encode()
        post = b"POST /sandboxes HTTP/1.1\r\n" + host
        too_much = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
        for status, request in (
                (400, b"NONSENSE\r\n\r\n"), (400, b"GET /sandboxes HTTP/1.1\r\n\r\n"),
                (505, b"GET /sandboxes HTTP/3.0\r\n" + host + b"\r\n"),
                (431, b"GET /sandboxes HTTP/1.1\r\n" + host + b"X: " + b"y" * 40000 + b"\r\n\r\n"),
                (431, b"GET /sandboxes HTTP/1.1\r\n" + host + b"X: y\r\n" * 200 + b"\r\n"),
                (400, b"GET /%2e%2e/%2fx HTTP/1.1\r\n" + host + b"\r\n"),
                (400, post + b"Content-Length: x\r\n\r\n"),
                (400, post + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
                (400, post + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
                (400, post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
                (400, post + b"Transfer-Encoding: gzip\r\n\r\n"),
                (413, post + b"Transfer-Encoding: chunked\r\n\r\n" + too_much * 300 + b"0\r\n\r\n"),
                (413, post + b"Content-Length: 99999999999\r\n\r\n")):
            with self.subTest(request=request[:60]):
                got, body = self.send(service, request)
                answer = json.loads(body)
                self.assertEqual((got, set(answer), answer["code"]), (status, {"error", "code"}, status))
        self.assertEqual(service.ask("GET", "/sandboxes")[2], [])

    def test_no_endpoint_serves_what_is_anothers(self):
        """Every endpoint with the sandbox, execution, image and key of another tenant: 404, nothing changes."""
        service = self.serve()
        keys = [service.ask("POST", "/admin/tenants", {"name": name})[2]["key"] for name in "ab"]
        mine, other = (key["api_key"] for key in keys)
        box = service.create(key=mine)
        service.ask("PUT", f"/sandboxes/{box}/files", b"secret", key=mine, path="/home/user/s")
        run = service.events(box, "sleep 1000 & echo x", key=mine)[0]["exec_id"]
        image = service.ask("POST", "/sandboxes", {"dockerfile_steps": ["ENV A=b"]}, key=mine)[2]["image_id"]
        before = service.ask("GET", "/sandboxes", key=mine)[2]
        top, files, path = f"/sandboxes/{box}", f"/sandboxes/{box}/files", {"path": "/home/user/s"}
        both = {"src": "/home/user/s", "dest": "/home/user/t", "overwrite": True, "recursive": True}
        for method, where, body, query in (
                ("GET", top, None, {}), ("DELETE", top, None, {}),
                ("POST", top + "/executions", {"command": "true"}, {}),
                ("POST", top + "/executions", {"command": "true", "exec_id": run}, {}),
                ("POST", top + "/exec", {"command": "true"}, {}),
                ("GET", f"{top}/executions/{run}", None, {}), ("DELETE", f"{top}/executions/{run}", None, {}),
                ("PUT", files, b"x", {**path, "overwrite": "true"}), ("POST", files, b"x", path),
                ("GET", files, None, {"path": "/"}), ("DELETE", files, None, {**path, "force": "true"}),
                ("GET", files + "/content", None, path), ("POST", files + "/copy", both, {}),
                ("POST", files + "/move", both, {}), ("POST", top + "/mkdir", None, {"path": "/tmp/d"}),
                ("GET", top + "/stat", None, path),
                ("GET", f"/images/{image}", None, {}), ("DELETE", f"/images/{image}", None, {})):
            for key, status in ((other, 404), ("sbk_" + "x" * 32, 401), ("", 401)):
                with self.subTest(method=method, where=where, key=key[:6]):
                    got, _, answer = service.ask(method, where, body, key=key, **query)
                    self.assertEqual((got, answer["code"]), (status, status))
        self.assertEqual(service.ask("POST", "/sandboxes", {"id": box}, key=other)[0], 409)
        self.assertEqual(service.ask("POST", "/sandboxes", {"image_id": image}, key=other)[0], 400)
        for method, where in (("GET", "/admin/tenants"), ("POST", "/admin/tenants"),
                              ("GET", f"/admin/tenants/{keys[0]['tenant_id']}"),
                              ("DELETE", f"/admin/tenants/{keys[0]['tenant_id']}"),
                              ("GET", f"/admin/tenants/{keys[0]['tenant_id']}/keys"),
                              ("POST", f"/admin/tenants/{keys[0]['tenant_id']}/keys"),
                              ("DELETE", f"/admin/tenants/{keys[0]['tenant_id']}/keys/{keys[0]['id']}")):
            for key in (mine, other):
                with self.subTest(method=method, where=where):
                    self.assertEqual(service.ask(method, where, key=key)[0], 403)
        self.assertEqual(service.ask("GET", "/sandboxes", key=other)[2], [])
        self.assertEqual(service.ask("GET", "/images", key=other)[2], [])
        after = service.ask("GET", "/sandboxes", key=mine)[2]
        self.assertEqual([record["id"] for record in after], [record["id"] for record in before])
        self.assertEqual(service.ask("GET", files + "/content", key=mine, **path)[2], b"secret")
        self.assertEqual(service.output(box, "ls /home/user; ls /tmp", key=mine), "s\n")

    def test_what_is_weaker_is_said_everywhere(self):
        service = self.serve()
        told = service.ask("GET", "/capabilities")[2]
        record = service.ask("POST", "/sandboxes")[2]
        self.assertEqual(record.get("degraded", False), told["degraded"])
        self.assertEqual(told["degraded"], told["user_ids"] == "single" or not told["landlock"])
        self.assertEqual(told["user_ids"], "range" if IS_ROOT else "shared" if has_range() else "single")
        self.assertEqual("the same user ids" in told["weaker"], told["user_ids"] == "shared")
        self.assertEqual(bool(told["degraded"]), bool(told["weaker"]) and told["degraded"])
        # One core, or a lower priority that nobody inside can undo.
        nice = int(service.output(record["id"], "nice"))
        self.assertEqual(nice > 0, not told["cpu_limited"] or os.getpriority(os.PRIO_PROCESS, 0) > 0)
        self.assertEqual("lower priority" in told["weaker"], not told["cpu_limited"])
        if not told["cpu_limited"]:
            self.assertEqual(nice, min(19, os.getpriority(os.PRIO_PROCESS, 0) + 5))


class Limits(Hostile):
    MULTIPLY = "i=1; while [ $i -le 300 ]; do sleep 100 & i=$((i + 1)); echo $i; done"
    NEEDS = "python3 -c 'x = b\"a\" * (%d << 20); print(len(x) >> 20)' || true"

    def run_one(self, command, *options):
        done = subprocess.run([mcp_client.GATEHOUSE, "sandbox", "run", *options, "--", "sh", "-c", command],
                              capture_output=True, text=True, cwd=self.room, timeout=PATIENCE)
        return done.stdout

    def test_sandboxes_of_the_service_and_of_run_have_the_same_limits(self):
        service = self.serve()
        sandbox = service.create()
        limits = service.ask("GET", f"/sandboxes/{sandbox}/stats")[2]
        self.assertEqual((limits["memory_limit_bytes"], limits["processes_limit"], limits["cpu_limit_percent"]),
                         (512 << 20, 256, 100))
        told = service.ask("GET", "/capabilities")[2]
        # Some of the 256 are our own: its first process, and what watches a command.
        for most in (service.output(sandbox, self.MULTIPLY), self.run_one(self.MULTIPLY)):
            self.assertIn(int(most.split()[-1]), range(248, 257))
        if not mcp_client.is_sanitized() or told["cgroups"]:
            self.assertEqual(service.output(service.create(), self.NEEDS % 300), "300\n")
            self.assertEqual(service.output(service.create(), self.NEEDS % 600), "")
        if not mcp_client.is_sanitized():
            self.assertEqual(self.run_one(self.NEEDS % 300), "300\n")
            self.assertEqual(self.run_one(self.NEEDS % 600), "")
        # Where no cgroup holds them, they are the same to the last bit.
        if not told["cgroups"]:
            show = "grep -E '^Max (data|processes)' /proc/self/limits; nice"
            self.assertEqual(service.output(service.create(), show), self.run_one(show))
        says = subprocess.run([mcp_client.GATEHOUSE, "sandbox", "run", "--help"], capture_output=True, text=True,
                              check=True).stdout
        self.assertRegex(says, r"(?s)--memory.*512MiB.*--cpus.*default: 1\).*--pids.*256")


class Inside(Hostile):
    """The attempts of `gatehouse sandbox run` that fit a sandbox of the service."""

    ATTEMPTS = (
        "mounts", "mounts_by_remounting", "namespaces_of_its_own", "a_namespace_by_a_program",
        "namespaces_of_others", "kernel_settings", "devices", "programs_with_privileges",
        "dark_corners_of_the_kernel", "names_of_the_host", "memory_shared_by_number", "typing_for_the_user",
        "orders_to_a_terminal", "a_process_of_the_host", "signals_by_other_calls", "limits_of_others",
        "what_others_are", "a_filter_passed_by_tracing", "calls_of_another_machine", "calls_by_other_numbers",
        "the_network", "a_datagram", "names_asked_for", "ways_to_other_machines", "the_network_rebuilt",
        "an_abstract_socket", "a_socket_in_tmp", "sockets_of_services", "odd_sockets",
    )
    WITHOUT_A_RANGE = ("privileges",)  # with one, its root needs a few: the bounding set has them
    WITH_A_RANGE = ("the_first_process", "what_the_first_process_has_open", "groups_of_control")

    def listen(self, family, address):
        server = socket.socket(family)
        self.addCleanup(server.close)
        server.bind(address)
        server.listen()
        return server

    def place(self):
        token = f"gatehouse-test-{self.room.name}"
        self.victim = subprocess.Popen(["sleep", "1000"], env={"VICTIM": MARK})
        self.addCleanup(self.victim.wait)
        self.addCleanup(self.victim.kill)
        tcp = self.listen(socket.AF_INET, ("127.0.0.1", 0))
        abstract = self.listen(socket.AF_UNIX, f"\0{token}")
        other = self.listen(socket.AF_UNIX, str(self.room / "S"))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.udp.close)
        self.udp.bind(("127.0.0.1", 0))
        self.udp.setblocking(False)
        return json.dumps({
            "root": "/home/user", "home": "/home/user", "outside": str(self.room), "secrets": [], "pipes": None,
            "victim": self.victim.pid, "port": tcp.getsockname()[1], "udp": self.udp.getsockname()[1],
            "abstract": abstract.getsockname()[1:].decode(), "key": token, "socket": other.getsockname(),
            "terminal": "/dev/pts/0", "token": token, "shared": 0x6a7e0000 + os.getpid() % 0xffff,
            "is_control": False})

    def test_nothing_gets_out(self):
        service = self.serve()
        has_range = service.ask("GET", "/capabilities")[2]["user_ids"] != "single"
        box = service.create({"resource_limits": {"pids_max": 128}})
        for path in NEEDED:
            service.ask("PUT", f"/sandboxes/{box}/files", path.read_bytes(), path=f"/home/user/e/{path.name}")
        place = self.place()
        for name in self.ATTEMPTS + (self.WITH_A_RANGE if has_range else self.WITHOUT_A_RANGE) + ("forks_without_end",):
            with self.subTest(attempt=name):
                events = service.events(box, 'exec python3 /home/user/e/attempts.py "$NAME" "$PLACE"',
                                        env={"NAME": name, "PLACE": place})
                said = "".join(event.get("data", "") for event in events)
                self.assertIn("tried", said)
                self.assertNotIn("GOT:", said)
                self.assertNotIn(MARK, said)
        self.assertIsNone(self.victim.poll())
        with self.assertRaises(BlockingIOError):
            self.udp.recv(10)
        self.assertEqual(service.ask("DELETE", f"/sandboxes/{box}")[0], 204)

    def test_whatever_is_killed_inside_the_service_and_the_neighbour_live(self):
        service = self.serve()
        box, neighbour = service.create(), service.create()
        service.events(neighbour, "sleep 1000 >/dev/null 2>&1 & until grep -qsx sleep /proc/[0-9]*/comm; do :; done; "
                                  "echo kept > kept")
        for command in ("kill -9 -1", "kill -9 1; kill -15 1; kill -11 1; kill -STOP 1", "kill -9 $PPID",
                        "kill -STOP $PPID", "for p in $(seq 2 400); do kill -9 $p 2>/dev/null; done"):
            with self.subTest(command=command):
                with concurrent.futures.ThreadPoolExecutor(1) as pool:
                    done = pool.submit(service.ask, "POST", f"/sandboxes/{box}/executions",
                                       {"command": command + "; true", "timeout_ms": 5000})
                    self.assertIn(done.result(PATIENCE)[0], (200, 409))
                status, _, text = service.ask("POST", f"/sandboxes/{box}/executions", {"command": "echo on"})
                if status == 409:  # its first process died; that is said once
                    status, _, text = service.ask("POST", f"/sandboxes/{box}/executions", {"command": "echo on"})
                self.assertIn(b'"data":"on\\n"', text)
        self.assertEqual(service.output(neighbour, "cat kept; grep -lsx sleep /proc/[0-9]*/comm | wc -l"), "kept\n1\n")

    def test_neighbours_meet_nowhere(self):
        service = self.serve()
        one, two = service.create(), service.create()
        service.events(one, f"echo {MARK} > /tmp/f; echo {MARK} > /dev/shm/f; echo {MARK} > /var/tmp/f; "
                            f"chmod -R a+rwX /tmp /home/user 2>/dev/null; export W={MARK}; sleep 1000 & true")
        listener = "import socket,time; s=socket.socket(socket.AF_UNIX); s.bind('\\0gatehouse-neighbour'); s.listen(); " \
                   "t=socket.socket(); t.bind(('127.0.0.1',4999)); t.listen(); open('/tmp/up','w').close(); time.sleep(1000)"
        service.events(one, f"python3 -c \"{listener}\" >/dev/null 2>&1 & while [ ! -e /tmp/up ]; do sleep 0.01; done")
        probe = "import socket\nfor f,a in ((socket.AF_UNIX,'\\0gatehouse-neighbour'),(socket.AF_INET,('127.0.0.1',4999))):\n" \
                " s=socket.socket(f)\n print(s.connect_ex(a))"
        service.ask("PUT", f"/sandboxes/{two}/files", probe.encode(), path="/tmp/probe.py")
        self.assertNotIn("0", service.output(two, "python3 /tmp/probe.py").split())
        self.assertEqual(service.output(one, "python3 -c \"$(cat)\" < /dev/null; true"), "")
        said = service.output(two, "cat /tmp/f /dev/shm/f /var/tmp/f 2>/dev/null; cat /proc/[0-9]*/environ "
                                   "/proc/[0-9]*/" "root/tmp/f 2>/dev/null; ls /home; true")
        self.assertNotIn(MARK, said)

    def test_tricks_with_the_overlay(self):
        """Marks of the overlay set by the user, whiteouts, opaque folders, links: only its own view changes."""
        service = self.serve()
        record = service.ask("POST", "/sandboxes", {"dockerfile_steps": ["RUN mkdir /d; echo low > /d/f; chmod 777 /d"]})[2]
        box, image = record["id"], record["image_id"]
        service.events(box, "cd /d; rm f; mkdir g; for n in opaque redirect metacopy origin impure whiteout; do "
                            "for p in user trusted; do python3 -c \"import os\ntry: os.setxattr('/d','$p.overlay.$n',b'/../../../../etc')\n"
                            "except OSError: pass\"; done; done; mknod c c 0 0; ln -s /../../../../etc/shadow l; true")
        self.assertNotIn("root:", service.output(box, "cat /d/l /d/shadow 2>/dev/null; true"))
        other = service.ask("POST", "/sandboxes", {"image_id": image})[2]["id"]
        self.assertEqual(service.output(other, "cat /d/f; ls /d"), "low\nf\n")
        self.assertEqual(service.output(other, "touch /usr/x /etc/x 2>/dev/null || echo refused"), "refused\n")


class Races(Hostile):
    def test_files_that_change_under_the_api_lead_nowhere(self):
        """Links, folders and FIFOs take each other's place while the API works on them."""
        service = self.serve()
        box = service.create()
        outside = self.room / "outside"
        outside.mkdir()
        (outside / "f").write_text(MARK)
        (outside / "f").chmod(0o666)
        outside.chmod(0o777)
        before = {path.name: path.stat() for path in outside.iterdir()}
        swap = """import os, random, signal
signal.alarm(3000)
targets = [TARGET, '/proc/1/root' + TARGET, '/proc/self/root' + TARGET, '../' * 30 + TARGET, '/', '/proc/1/cwd', '/etc']
os.makedirs('/tmp/w', exist_ok=True)
os.chdir('/tmp/w')
open('ready', 'w').close()
while True:
    for name in ('a', 'b'):
        for make in (lambda p: os.symlink(random.choice(targets), p), lambda p: os.mkdir(p), lambda p: os.mkfifo(p),
                     lambda p: open(p, 'w').close()):
            try:
                make('new')
                try: os.rename('new', name)
                except OSError: os.rename(name, 'old%d' % random.randrange(9)); os.rename('new', name)
            except OSError:
                for p in ('new',):
                    try: os.unlink(p)
                    except OSError:
                        try: os.rmdir(p)
                        except OSError: pass
""".replace("TARGET", repr(str(outside)))
        service.ask("PUT", f"/sandboxes/{box}/files", swap.encode(), path="/tmp/swap.py")
        service.events(box, "python3 /tmp/swap.py >/dev/null 2>&1 & while [ ! -e /tmp/w/ready ]; do sleep 0.01; done")
        files, top = f"/sandboxes/{box}/files", f"/sandboxes/{box}"
        calls = [("GET", files + "/content", None, {"path": "/tmp/w/a/f"}), ("GET", files + "/content", None, {"path": "/tmp/w/a"}),
                 ("PUT", files, b"x", {"path": "/tmp/w/a/f", "overwrite": "true"}), ("POST", files, b"x", {"path": "/tmp/w/a/f"}),
                 ("GET", files, None, {"path": "/tmp/w/a", "recursive": "false"}), ("GET", top + "/stat", None, {"path": "/tmp/w/a/f"}),
                 ("POST", top + "/mkdir", None, {"path": "/tmp/w/a/x/y", "recursive": "true"}),
                 ("DELETE", files, None, {"path": "/tmp/w/a", "recursive": "true", "force": "true"}),
                 ("POST", files + "/copy", {"src": "/tmp/w/a", "dest": "/tmp/w/b/c", "recursive": True, "overwrite": True}, {}),
                 ("POST", files + "/move", {"src": "/tmp/w/a", "dest": "/tmp/w/b/m", "overwrite": True}, {})]
        statuses = set()
        for _ in range(12):
            for method, where, body, query in calls:
                status, _, answer = service.ask(method, where, body, **query)
                statuses.add(status)
                self.assertLess(status, 500, (method, where, answer))
                self.assertNotIn(MARK, repr(answer))
                self.assertNotIn(str(outside / "f"), repr(answer))
        self.assertIn(404, statuses)
        self.assertEqual((outside / "f").read_text(), MARK)
        self.assertEqual(sorted(path.name for path in outside.iterdir()), sorted(before))
        self.assertEqual(service.output(box, "echo fine"), "fine\n")


class Remains(Hostile):
    """Nothing is left of a process that was killed, whichever it is."""

    def setUp(self):
        super().setUp()
        self.earlier = self.cgroups()

    def state(self):
        return self.room / "state/sandboxes/files"

    def keeper_of(self, service):
        def is_keeper(pid):
            with contextlib.suppress(OSError):  # others come and go
                return (pathlib.Path(f"/proc/{pid}/stat").read_text().split()[3] == str(service.process.pid)
                        and pathlib.Path(f"/proc/{pid}/comm").read_text() == "gatehouse-init\n")
            return False

        keeper, = filter(is_keeper, self.family(service.process.pid))
        return keeper

    def family(self, pid):
        found = []
        with contextlib.suppress(OSError):
            for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                found += [int(child), *self.family(int(child))]
        return found

    def is_alive(self, pid):
        try:
            return "\nState:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return False

    def cgroups(self):
        done = subprocess.run(["find", "/sys/fs/cgroup", "-maxdepth", "7", "-name", "gatehouse-box.*"],
                              capture_output=True, text=True)
        return set(done.stdout.split())

    def cgroups_of(self, keeper):
        """An earlier keeper of another may have had the same number."""
        return [path for path in self.cgroups() - self.earlier if f"/gatehouse-box.{keeper}." in path]

    def mounts(self):
        return [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if str(self.room) in line]

    def loops(self):
        found = []
        for path in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
            with contextlib.suppress(OSError):
                if str(self.room) in path.read_text():
                    found.append(path)
        return found

    def check_nothing_else(self, service, processes, keeper):
        """But for what the present service has."""
        wait_until(lambda: not any(self.is_alive(pid) for pid in processes), "the end of its processes")
        self.assertEqual(self.mounts(), [])
        # Who starts a sandbox removes cgroups that are left.
        probe = service.create()
        self.assertEqual(service.ask("DELETE", f"/sandboxes/{probe}")[0], 204)
        wait_until(lambda: not self.cgroups_of(keeper), "the removal of cgroups")
        kept = {record["id"] for record in service.ask("GET", "/sandboxes")[2]}
        wait_until(lambda: {path.name for path in (self.state() / "rooms").iterdir()} == kept, "the removal of directories")
        wait_until(lambda: not list((self.state() / "trash").iterdir()), "the emptying of the trash")
        layers = {path.name for path in (self.state() / "layers").iterdir()}
        self.assertLessEqual(layers, {image["id"] for image in service.ask("GET", "/images")[2]})

    def kill_service(self, service, keeper):
        service.end(signal.SIGKILL)

    def kill_keeper(self, service, keeper):
        os.kill(keeper, signal.SIGKILL)
        self.assertNotEqual(service.process.wait(PATIENCE), 0)

    def kill_both(self, service, keeper):
        os.kill(keeper, signal.SIGKILL)
        service.end(signal.SIGKILL)

    def kill_first(self, service, keeper):
        first = self.family(keeper)
        os.kill(first[0], signal.SIGKILL)
        wait_until(lambda: not self.is_alive(first[0]), "its end")
        service.end(signal.SIGKILL)

    def test_kills_leave_nothing(self):
        disk = ("--disk-size", "32MiB") if IS_ROOT and self.has_disks() else ()
        service = self.serve(*disk)
        for round_number in range(ROUNDS):
            for kill in (self.kill_service, self.kill_keeper, self.kill_both, self.kill_first):
                with self.subTest(round=round_number, kill=kill.__name__):
                    keeper = self.keeper_of(service)
                    kept, gone = service.create(), service.create()
                    service.ask("PUT", f"/sandboxes/{kept}/files", b"kept", path="/home/user/kept")
                    service.events(kept, "setsid sleep 1000 >/dev/null 2>&1 & true")
                    timed = service.events(kept, "setsid sleep 1000 & sleep 1000", timeout_ms=50)
                    self.assertTrue(timed[-1]["timed_out"])
                    self.assertEqual(service.ask("DELETE", f"/sandboxes/{gone}")[0], 204)
                    build = threading.Thread(target=self.build, args=(service,))
                    build.start()
                    wait_until(lambda: self.is_building(keeper), "a build under way")
                    processes = [keeper, *self.family(keeper)]
                    kill(service, keeper)
                    build.join(PATIENCE)
                    service.close()
                    service = self.serve(*disk)
                    self.check_nothing_else(service, processes, keeper)
                    status, headers, _ = service.ask("POST", f"/sandboxes/{kept}/executions", {"command": "true"})
                    self.assertEqual((status, headers["X-Sandbox-Restarted"]), (409, "1"))
                    self.assertEqual(service.output(kept, "cat kept"), "kept\n")
                    self.assertEqual(service.ask("DELETE", f"/sandboxes/{kept}")[0], 204)
        service.end()
        wait_until(lambda: not self.loops(), "the end of loop devices")

    def has_disks(self):
        probe = self.serve()
        has = probe.ask("GET", "/capabilities")[2]["disk_images"]
        probe.end()
        return has

    def build(self, service):
        with contextlib.suppress(OSError, AssertionError):
            service.ask("POST", "/sandboxes", {"dockerfile_steps": [f"RUN echo {uuid.uuid4()} > /x; exec sleep 1234.5"]})

    def is_building(self, keeper):
        for pid in self.family(keeper):
            with contextlib.suppress(OSError):
                if b"1234.5" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                    return True
        return False

    def test_disk_space_is_limited_and_kept(self):
        if not IS_ROOT or not self.has_disks():
            self.skipTest("no loop devices here")
        service = self.serve("--disk-size", "32MiB")
        self.assertEqual(service.ask("GET", "/capabilities")[2]["disk_limit_bytes"], 32 << 20)
        box = service.create()
        said = service.output(box, "head -c 100000000 /dev/zero > big 2>/dev/null || echo full; stat -c %s big; rm big; echo x > small")
        full, size = said.split()
        self.assertEqual(full, "full")
        self.assertLess(int(size), 32 << 20)
        self.assertEqual(service.ask("PUT", f"/sandboxes/{box}/files", b"x" * (9 << 20), path="/tmp/1")[0], 200)
        statuses = [service.ask("PUT", f"/sandboxes/{box}/files", b"x" * (9 << 20), path=f"/tmp/{i}")[0] for i in (2, 3, 4)]
        self.assertIn(507, statuses)
        service.end()
        service = self.serve()  # the limit belongs to the sandbox
        service.ask("POST", f"/sandboxes/{box}/executions", {"command": "true"})
        self.assertEqual(service.output(box, "cat small; head -c 100000000 /dev/zero 2>/dev/null > big || echo full"), "x\nfull\n")
        self.assertEqual(service.ask("DELETE", f"/sandboxes/{box}")[0], 204)
        service.end()
        wait_until(lambda: not self.loops(), "the end of loop devices")

    def test_files_in_memory_are_limited_and_go_with_their_sandbox(self):
        service = self.serve()
        kept = service.create()
        service.output(kept, "echo x > small")
        service.end()
        service = self.serve("--disk-in-memory", "--disk-size", "32MiB")
        has = service.ask("GET", "/capabilities")[2]
        self.assertEqual((has["files_in_memory"], has["disk_limit_bytes"]), (True, 32 << 20))
        service.ask("POST", f"/sandboxes/{kept}/executions", {"command": "true"})
        self.assertEqual(service.output(kept, "cat small"), "x\n")  # it had its files on the disk
        box = service.create()
        self.assertEqual(service.output(box, "head -c 100000000 /dev/zero > big 2>/dev/null || echo full"), "full\n")
        self.assertEqual(service.output(box, "rm big; echo y > small; cat small"), "y\n")
        self.assertFalse((self.state() / "rooms" / box).exists())
        lost = service.create()
        service.output(lost, "sleep 2345.6 >/dev/null 2>&1 &")
        wait_until(lambda: self.first_of(service, b"2345.6"), "the command")
        os.kill(self.first_of(service, b"2345.6"), signal.SIGKILL)
        wait_until(lambda: service.ask("GET", f"/sandboxes/{lost}")[0] == 404, "the end of what was lost")
        self.assertEqual(service.output(box, "cat small"), "y\n")
        service.end()
        service = self.serve("--disk-in-memory")
        wait_until(lambda: service.ask("GET", f"/sandboxes/{box}")[0] == 404, "the end of what was in memory")
        self.assertEqual(service.ask("GET", f"/sandboxes/{kept}")[0], 200)

    def first_of(self, service, word):
        """The first process of the sandbox in which a command with this word runs, if it does."""
        keeper = self.keeper_of(service)
        for first in pathlib.Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split():
            for pid in self.family(int(first)):
                with contextlib.suppress(OSError):
                    if word in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                        return int(first)
        return None


if __name__ == "__main__":
    mcp_client.main(needed=NEEDED)
