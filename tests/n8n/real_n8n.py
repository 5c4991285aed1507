"""Runs the real n8n for a test, and uses its agent as a user of its page would."""
import contextlib
import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import threading
import time
import urllib.parse

PATIENCE = 180  # for anything; n8n's first start makes its database
MOMENT = 0.1
ATTEMPTS = 3  # to get a port before somebody else has it
OWNER = {"email": "alice@example.com", "firstName": "Alice", "lastName": "Example",
         "password": "Only-for-tests-1"}

# Nothing leaves the machine, and nothing is there that the agent does not need.
QUIET = {
    "N8N_DIAGNOSTICS_ENABLED": "false",
    "N8N_VERSION_NOTIFICATIONS_ENABLED": "false",
    "N8N_VERSION_NOTIFICATIONS_WHATS_NEW_ENABLED": "false",
    "N8N_DYNAMIC_BANNERS_ENABLED": "false",
    "N8N_TEMPLATES_ENABLED": "false",
    "N8N_PERSONALIZATION_ENABLED": "false",
    "N8N_COMMUNITY_PACKAGES_ENABLED": "false",
    "N8N_LICENSE_AUTO_RENEW_ENABLED": "false",
    "N8N_SECURE_COOKIE": "false",
    "N8N_DISABLED_MODULES": "mcp-registry,insights",
    "EXTERNAL_FRONTEND_HOOKS_URLS": "",
    # What has no switch goes to a proxy that is not there. In capitals it would be the model's.
    "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9",
    "no_proxy": "127.0.0.1,localhost", "NODE_USE_ENV_PROXY": "1",
}


class Failed(AssertionError):
    """n8n did not do what somebody at its page would get."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class N8n:
    """One user's n8n. What it has stored stays when it is started again; its sessions do not."""

    def __init__(self, node, program, place, model_url):
        self.command = [node, program, "start"]
        self.place = place
        self.model_url = model_url
        self.process = None
        self.cookie = None
        self.port = free_port()
        self.log = place / "n8n.log"
        for name in ("home", "temp"):
            (place / name).mkdir(parents=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def environment(self, more):
        home = str(self.place / "home")
        return {
            "PATH": f"{os.path.dirname(self.command[0])}:/usr/bin:/bin", "HOME": home,
            "N8N_USER_FOLDER": home, "TMPDIR": str(self.place / "temp"),
            "N8N_LISTEN_ADDRESS": "127.0.0.1", "N8N_PORT": str(self.port),
            "N8N_RUNNERS_BROKER_PORT": str(free_port()),
            "N8N_INSTANCE_AI_MODEL": "custom/scripted",
            "N8N_INSTANCE_AI_MODEL_URL": self.model_url,
            "N8N_INSTANCE_AI_MODEL_API_KEY": "none", **QUIET, **more,
        }

    def start_first(self):
        for _ in range(ATTEMPTS - 1):
            with contextlib.suppress(Failed):
                return self.start()
            self.kill()
            self.port = free_port()
        return self.start()

    def start(self, **more):
        """At the address where it was."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command, cwd=self.place, env=self.environment(more), stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + PATIENCE
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"n8n did not come up:\n{self.last_words()}")
            time.sleep(MOMENT)

    def is_ready(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.request("GET", "/healthz/readiness")[0] == 200
        return False

    def kill(self):
        """At once, with all that it has started."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None

    def last_words(self):
        return self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def request(self, method, path, body=None):
        """The status and the text of the answer."""
        headers = {"Cookie": self.cookie} if self.cookie else {}
        text = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            text = json.dumps(body)
        with contextlib.closing(self.connection()) as connection:
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            for name, value in answer.getheaders():
                if name.lower() == "set-cookie" and value.startswith("n8n-auth="):
                    self.cookie = value.split(";")[0]
            return answer.status, answer.read().decode()

    def ask(self, method, path, body=None):
        """What the answer has for a page, which is there only if all went well."""
        status, text = self.request(method, f"/rest/{path}", body)
        if status != 200:
            raise Failed(f"{method} {path}: {status} {text[:2000]}")
        return json.loads(text)["data"]

    def set_up_owner(self):
        self.ask("POST", "owner/setup", OWNER)

    def log_in(self):
        self.ask("POST", "login", {"emailOrLdapLoginId": OWNER["email"],
                                   "password": OWNER["password"]})

    def gateway(self, method, what):
        return self.ask(method, f"instance-ai/gateway/{what}")

    def token(self):
        return self.gateway("POST", "create-link")["token"]

    def status(self):
        return self.gateway("GET", "status")

    def until_connected(self, wanted):
        deadline = time.monotonic() + PATIENCE
        while self.status()["connected"] != wanted:
            if time.monotonic() > deadline:
                raise Failed(f"after {PATIENCE} s: {self.status()}")
            time.sleep(MOMENT)


class Conversation:
    """A message to the agent, and what it does then, event by event."""

    def __init__(self, n8n, message):
        self.n8n = n8n
        project = n8n.ask("GET", "projects/personal")["id"]
        made = n8n.ask("POST", "instance-ai/threads",
                       {"projectId": project, "source": "canvas_action_button"})
        self.thread_id = made["thread"]["id"]
        self.events = queue.Queue()
        self.connection = n8n.connection()
        self.connection.connect()
        self.socket = self.connection.sock  # which a connection hands over to its answer
        path = f"/rest/instance-ai/events/{urllib.parse.quote(self.thread_id)}"
        self.connection.request("GET", path, headers={"Cookie": n8n.cookie,
                                                      "Accept": "text/event-stream"})
        self.stream = self.connection.getresponse()
        if self.stream.status != 200:
            raise Failed(f"no events: {self.stream.status}")
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        n8n.ask("POST", f"instance-ai/chat/{self.thread_id}", {"message": message})

    def read(self):
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            for line in self.stream:
                name, _, data = line.decode().strip().partition(":")
                if name == "data":
                    with contextlib.suppress(json.JSONDecodeError):
                        self.events.put(json.loads(data))
        self.events.put(None)

    def until(self, *kinds):
        """The first event of these kinds; those before it were looked at."""
        seen = []
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                event = self.events.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                event = None
            if event is None:
                raise Failed(f"no {kinds} after {seen[-20:]}")
            seen.append(event)
            if event.get("type") in kinds:
                return event

    def question(self):
        """What the user is asked, instead of the end."""
        event = self.until("confirmation-request", "run-finish")
        if event["type"] != "confirmation-request":
            raise Failed(f"nothing was asked: {event}")
        return event["payload"]

    def decide(self, question, decision):
        self.n8n.ask("POST", f"instance-ai/confirm/{question['requestId']}",
                     {"kind": "resourceDecision", "resourceDecision": decision})

    def finish(self):
        """The end, with nothing asked."""
        while True:
            event = self.until("confirmation-request", "run-finish")
            if event["type"] == "confirmation-request":
                raise Failed(f"it was asked: {event['payload']}")
            status = event["payload"].get("status")
            if status != "suspended":
                if status != "completed":
                    raise Failed(f"the run ended otherwise: {event}")
                return

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.reader.join()
        self.stream.close()
        self.connection.close()
