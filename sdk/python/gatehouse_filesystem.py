# SPDX-License-Identifier: Apache-2.0
"""The host's side of `gatehouse authority`: starts it, sends requests, answers its questions.

The frames are those of docs/authority-protocol.md. All calls wait for their result, and any thread may make them.
Dictionaries have the members of the protocol in snake_case; records of the audit log stay as they are.
"""
import datetime
import functools
import itertools
import json
import os
import queue
import re
import shutil
import struct
import subprocess
import sys
import threading
import traceback
from typing import Any, BinaryIO, Callable, Dict, List, NamedTuple, Optional, Sequence, Union

Name = Union[str, bytes]  # names that are not UTF-8 are bytes, both ways
Json = Dict[str, Any]
Answer = Optional[Json]

READY, REQUEST, RESULT, ERROR, CANCEL, QUESTION, ANSWER, EVENT, CHANGE = range(9)
HEAD = struct.Struct("<IIBI")  # length of what follows, number, type, length of the JSON
COUNTED_BYTES = HEAD.size - 4  # of the head, in that length
MAX_JSON_BYTES = 1 << 20  # of a request
MAX_JSON_DEPTH = 16
MAX_NUMBER = 0xFFFFFFFF
MAX_REASON_CHARACTERS = 1000  # of a decision; the authority shows less
END_SECONDS = 15  # for a process that does not end although its input has
FORMATS = {".tar.gz": "tar.gz", ".tgz": "tar.gz", ".tar.xz": "tar.xz", ".tar.zst": "tar.zst", ".zip": "zip"}
VERDICTS = ("abstain", "allow", "deny", "ask-user", "fail")
SUBJECT_IDS = {"agent-run": "conversation_id", "extension": "extension_id", "automation": "task_id"}

# What callers may say about an operation besides names.
TRANSFER = ("replace", "parents")
OPTIONS = {
    "read": ("offset", "max_bytes"),
    "write": ("create", "parents", "mode", "artifact"),
    "append": ("parents",),
    "list": ("recursive", "stat", "max_entries", "max_depth"),
    "mkdir": ("parents", "may_exist"),
    "move": TRANSFER, "copy": TRANSFER, "copyIn": TRANSFER, "moveIn": TRANSFER,
    "remove": ("recursive", "may_miss"),
    "extractArchive": ("max_entries", "max_total_bytes", "max_entry_bytes"),
}


class FileSystemAuthorityError(Exception):
    """Why something was refused (category "policy") or failed ("operational")."""

    def __init__(self, code: str, category: str, operation: str, message: str) -> None:
        super().__init__(message)
        self.code, self.category, self.operation, self.message = code, category, operation, message


def _refused(code: str, operation: str, message: str) -> FileSystemAuthorityError:
    return FileSystemAuthorityError(code, "policy", operation, message)


class Hook(NamedTuple):
    """Sees every operation that the policy has allowed. The id is unique, and in the audit log.

    `before` may return a decision; None means no objection. `after` gets `outcome` and `error` besides.
    """
    id: str
    before: Optional[Callable[[Json], Answer]] = None
    after: Optional[Callable[[Json], None]] = None


class Cancellation:
    """Given to operations, ends them when another thread calls cancel()."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: Dict[int, Callable[[], None]] = {}
        self.is_cancelled = False

    def cancel(self) -> None:
        with self._lock:
            self.is_cancelled = True
            callbacks, self._callbacks = self._callbacks, {}
        for callback in callbacks.values():
            callback()

    def _add(self, key: int, callback: Callable[[], None]) -> None:
        with self._lock:
            self._callbacks[key] = callback
            is_late = self.is_cancelled
        if is_late:
            self.cancel()

    def _remove(self, key: int) -> None:
        with self._lock:
            self._callbacks.pop(key, None)


class _Pending:
    """A request without a result, and the thread that waits for one."""

    def __init__(self, operation: str, accept: Optional[Callable[[Json], None]], discard: Optional[Callable[[Json], None]]) -> None:
        self.operation, self.accept, self.discard = operation, accept, discard
        self.done = threading.Event()
        self.json: Json = {}
        self.content = b""
        self.error: Optional[FileSystemAuthorityError] = None
        self.is_sent = self.is_abandoned = False


def _spawn(work: Callable[..., None], *words: Any) -> None:
    """A daemon, because a callback that never returns must not keep the host from ending."""
    threading.Thread(target=work, args=words, name="gatehouse", daemon=True).start()


def _camel(members: Json) -> Json:
    return {re.sub("_(.)", lambda match: match[1].upper(), key): value for key, value in members.items()}


@functools.lru_cache(maxsize=1000)
def _snake_key(key: str) -> str:
    return re.sub("[A-Z]", lambda match: "_" + match[0].lower(), key)


def _parse(text: bytes) -> Any:
    """With members in snake_case, and names in hex as bytes."""
    return _snake(json.loads(text))


def _snake(value: Any) -> Any:
    if isinstance(value, list):
        return [_snake(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, member in value.items():
        if key in ("nameHex", "relativePathHex", "destinationPathHex"):
            key, member = key[:-len("Hex")], bytes.fromhex(member)
        found[_snake_key(key)] = member if key == "labels" else _snake(member)  # labels are the host's own
    return found


def _is_within(value: Any, depth: int) -> bool:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return not members or (depth > 0 and all(_is_within(member, depth - 1) for member in members))


def _named(member: str, name: Name, operation: str) -> Json:
    if isinstance(name, (bytes, bytearray)):
        return {member + "Hex": name.hex()}
    if not isinstance(name, str):
        raise _refused("invalid_argument", operation, f"{member} must be a string or bytes")
    return {member: name}


def _subject(subject: Json) -> Json:
    kind = subject.get("type")
    found = {"type": kind, "id": subject.get(SUBJECT_IDS.get(kind, "id"), subject.get("id"))}
    return {**found, "runId": subject["run_id"]} if "run_id" in subject else found


def _decision(said: Any, who: str, is_nothing_fine: bool) -> Json:
    """In a form that cannot break the protocol. Nothing but a clear answer allows."""
    if said is None and is_nothing_fine:
        return {"type": "abstain"}
    if not isinstance(said, dict) or said.get("type") not in VERDICTS:
        return {"type": "fail", "reason": f"{who} returned no decision"}
    answer = {"type": said["type"]}
    for key in ("reason", "prompt"):
        if said.get(key) is not None:
            answer[key] = str(said[key])[:MAX_REASON_CHARACTERS].encode(errors="replace").decode()
    return {**answer, "default": "allow"} if said.get("default") == "allow" else answer


class Authority:
    """One `gatehouse authority`, and the host's hold on it. Authority.start() makes one; `with` closes it."""

    @classmethod
    def start(cls, directories: Sequence[Union[str, os.PathLike]] = (), *, state_dir: Union[str, os.PathLike, None] = None,
              command: str = "gatehouse", memory: bool = False, policy: Any = None, hooks: Sequence[Hook] = (),
              ask: Optional[Callable[[Json, str], bool]] = None, on_event: Optional[Callable[[Json], None]] = None,
              log: Optional[Callable[[str], None]] = None) -> "Authority":
        """Grants reach these directories only. `policy` is a function of the context, or has a method decide()."""
        ids = [hook.id for hook in hooks]
        if len(set(ids)) < len(ids):
            raise _refused("invalid_argument", "configure", "every hook needs an id of its own")
        authority = cls()
        authority._policy = getattr(policy, "decide", policy)
        authority._hooks, authority._ask, authority._on_event = {hook.id: hook for hook in hooks}, ask, on_event
        authority._log = log or (lambda text: print(f"gatehouse: {text}", file=sys.stderr))
        words = [command, "authority", *(["--state-dir", os.path.abspath(state_dir)] if state_dir else []),
                 *(["--memory"] if memory else []), *map(os.path.abspath, directories)]
        try:
            authority._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            advice = "install Gatehouse, or pass `command` with the path of the program"
            # The system says "Permission denied" if there is just a directory in the PATH that it may not search.
            code = "io" if os.path.exists(shutil.which(command) or command) else "not_found"
            raise FileSystemAuthorityError(code, "operational", "start",
                                           f"cannot start '{command}' ({error.strerror}): {advice}") from error
        for work in (authority._read, authority._tell):
            _spawn(work)
        try:
            authority._wait(authority._ready)
            authority._request("configure", {"policy": policy is not None, "ask": ask is not None,
                                             "events": on_event is not None, "hooks": ids})
        except BaseException:
            authority.close()
            raise
        return authority

    def __init__(self) -> None:
        self._process: subprocess.Popen
        self._answering = threading.local()
        self._lock = threading.Lock()  # guards the requests and watches, and what ends them
        self._writing = threading.Lock()  # one frame after the other
        self._closing = threading.Lock()
        self._ready = _Pending("start", None, None)
        self._pending: Dict[int, _Pending] = {0: self._ready}
        self._watches: Dict[int, Any] = {}  # their scopes and callbacks
        self._numbers = itertools.count(1)
        self._end: Optional[FileSystemAuthorityError] = None
        self._told: "queue.SimpleQueue[Any]" = queue.SimpleQueue()  # in the order in which it happened
        self._max_content_bytes, self._is_memory = 0, False

    def __enter__(self) -> "Authority":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def request_root(self, *, subject: Json, root: Json, access: Sequence[str], reason: str, source: str = "manifest",
                     expires_at: Union[str, datetime.datetime, None] = None, interactive: bool = False,
                     policy: Optional[Json] = None, cancellation: Optional[Cancellation] = None) -> "ScopedFileSystem":
        """`root` has kind, id, path and perhaps display_name and labels; `policy` has the limits of the grant."""
        if isinstance(expires_at, datetime.datetime):
            expires_at = expires_at.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        members = {"root": _camel({**root, "path": os.path.abspath(root["path"])}), "access": list(access), "reason": reason,
                   "source": source, "expiresAt": expires_at, "interactive": interactive or None,
                   "policy": policy and _camel(policy)}
        return self._open("requestRoot", members, subject, root, cancellation)

    def create_temp_workspace(self, *, subject: Json, reason: str,
                              cancellation: Optional[Cancellation] = None) -> "ScopedFileSystem":
        """A private directory that is removed with its scope."""
        return self._open("createTemp", {"reason": reason}, subject, {"kind": "temp", "id": "temp"}, cancellation)

    def _open(self, operation: str, members: Json, subject: Json, root: Json,
              cancellation: Optional[Cancellation]) -> "ScopedFileSystem":
        answer, _ = self._request(operation, {"subject": _subject(subject), **members}, cancellation=cancellation,
                                  discard=lambda late: self._request("release", {"scope": late["scope"]}))
        return ScopedFileSystem(self, answer, dict(subject), dict(root))

    def grants(self) -> List[Json]:
        """Those that are valid now."""
        return self._request("grants")[0]["grants"]

    def revoke(self, grant_id: int) -> bool:
        """Ends a grant, and what runs with it. False if there is none."""
        return self._request("revoke", {"grant": grant_id})[0]["revoked"]

    def sandbox_arguments(self, grants: Optional[Sequence[Json]] = None) -> List[str]:
        """Arguments of `gatehouse sandbox run` that show a command no more than the grants do."""
        places: Dict[str, str] = {}
        if self._is_memory:
            raise _refused("unsupported", "grants", "an authority in memory has no directories for commands")
        for grant in self.grants() if grants is None else grants:
            access, kind = set(grant["access"]), grant["kind"]
            if kind in ("temp", "secret") or not access >= {"read", "list"}:
                continue
            if "," in grant["path"]:
                raise _refused("invalid_path", "grants", f"a sandbox cannot get '{grant['path']}', which has a comma")
            if kind != "artifact" and access >= {"write", "delete"}:
                places[grant["path"]] = "--rw"
            else:
                places.setdefault(grant["path"], "--ro")
        return [word for place, option in places.items() for word in (option, place)]

    def close(self) -> None:
        """Ends the process and waits for that. Whatever is pending fails."""
        self._finish("cancelled", "the authority was closed")
        with self._closing:
            # A thread may hang in the middle of a frame.
            if self._writing.acquire(timeout=END_SECONDS):
                try:
                    self._process.stdin.close()
                except OSError:
                    pass  # it has ended, and did not read everything
                finally:
                    self._writing.release()
            else:
                self._process.kill()
            try:
                self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    # ---- requests ----

    def _request(self, operation: str, members: Optional[Json] = None, content: bytes = b"", *,
                 cancellation: Optional[Cancellation] = None, accept: Optional[Callable[[Json], None]] = None,
                 discard: Optional[Callable[[Json], None]] = None) -> Any:
        """The JSON and the content of the result. `accept` gets the JSON before any later frame is looked at."""
        try:
            known = {key: value for key, value in (members or {}).items() if value is not None}
            answers = getattr(self._answering, "number", None)
            if answers is not None:  # what is asked to answer a question comes first
                known["answers"] = answers
            text = json.dumps({"op": operation, **known}, ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:  # also half of a character
            raise _refused("invalid_argument", operation, f"cannot be sent: {error}") from error
        # A frame that breaks a rule of the protocol would end the process, for everybody.
        if not _is_within(known, MAX_JSON_DEPTH):
            raise _refused("invalid_argument", operation, "the arguments are nested too deeply")
        if len(text) > MAX_JSON_BYTES:
            raise _refused("too_large", operation, "the arguments take more than 1 MiB")
        if len(content) > self._max_content_bytes:
            raise _refused("too_large", operation, f"the content takes more than {self._max_content_bytes} bytes")
        pending = _Pending(operation, accept, discard)
        with self._lock:
            self._check_open(operation)
            number = next(number for number in (one % MAX_NUMBER + 1 for one in self._numbers) if number not in self._pending)
            self._pending[number] = pending
        if cancellation is None:
            self._send(REQUEST, number, text, content)
            return self._wait(pending)
        cancellation._add(id(pending), lambda: self._abandon(number, pending))
        try:
            if not pending.done.is_set():
                self._send(REQUEST, number, text, content)
                with self._lock:
                    pending.is_sent = True
                    is_late = pending.is_abandoned  # when there was nothing to cancel yet
                if is_late:
                    self._send(CANCEL, number, b"{}")
            elif pending.is_abandoned:
                with self._lock:
                    self._pending.pop(number, None)
            return self._wait(pending)
        finally:
            cancellation._remove(id(pending))

    def _abandon(self, number: int, pending: _Pending) -> None:
        """The number of what was sent stays taken until its result is there."""
        with self._lock:
            if pending.done.is_set():
                return
            pending.is_abandoned = True
            pending.error = FileSystemAuthorityError("cancelled", "operational", pending.operation, "the operation was cancelled")
            pending.done.set()
        if pending.is_sent:
            _spawn(self._send, CANCEL, number, b"{}")

    @staticmethod
    def _wait(pending: _Pending) -> Any:
        pending.done.wait()
        if pending.error is not None:
            raise pending.error
        return pending.json, pending.content

    def _check_open(self, operation: str) -> None:
        if self._end is not None:
            raise FileSystemAuthorityError(self._end.code, "operational", operation, self._end.message)

    def _send(self, kind: int, number: int, text: bytes, content: bytes = b"") -> None:
        with self._writing:
            try:
                self._process.stdin.write(HEAD.pack(COUNTED_BYTES + len(text) + len(content), number, kind, len(text)) + text)
                self._process.stdin.write(content)
                self._process.stdin.flush()
            except (OSError, ValueError):
                pass  # its end, which the reading thread notices, or ours

    # ---- frames from the authority ----

    def _read(self) -> None:
        stream: BinaryIO = self._process.stdout
        try:
            while len(head := stream.read(HEAD.size)) == HEAD.size:
                length, number, kind, json_length = HEAD.unpack(head)
                text = stream.read(json_length)
                content = stream.read(length - COUNTED_BYTES - json_length)
                self._take(number, kind, text, content)
        except Exception as error:
            self._process.kill()
            self._finish("connection_lost", f"the authority sent a frame that makes no sense: {error}")
        status = self._process.wait()
        self._finish("connection_lost", f"the authority ended with status {status}; what it said is on standard error")
        stream.close()
        self._told.put(None)

    def _take(self, number: int, kind: int, text: bytes, content: bytes) -> None:
        if self._end is not None:
            return
        if kind == READY:
            about = _parse(text)
            self._max_content_bytes, self._is_memory = about["max_content_bytes"], about.get("memory", False)
            self._settle(0, about, b"", None)
        elif kind == RESULT:
            self._settle(number, _parse(text), content, None)
        elif kind == ERROR:
            about = json.loads(text)
            self._settle(number, {}, b"", FileSystemAuthorityError(
                about["code"], about["category"], about.get("operation", ""), about["message"]))
        elif kind == QUESTION:
            about = _parse(text)
            if about["kind"] == "after":
                ending = {"outcome": about["outcome"], "error": about.get("error")}
                self._told.put((self._hooks[about["hook"]].after, {**about["context"], **ending}))
            else:
                _spawn(self._answer, number, about)  # the authority limits how many it asks at once
        elif kind == EVENT:
            self._told.put((self._on_event, json.loads(text)))
        elif kind == CHANGE:
            self._note_change(number, _parse(text))

    def _note_change(self, number: int, change: Json) -> None:
        with self._lock:
            if change.get("ended"):
                self._end_watches(change.get("code"), lambda one, _: one == number)
            elif number in self._watches:
                self._told.put((self._watches[number][1], change))

    def _end_watches(self, code: Optional[str], is_meant: Callable[[int, int], bool]) -> None:
        for number, (scope, callback) in list(self._watches.items()):
            if is_meant(number, scope):
                del self._watches[number]
                self._told.put((callback, {"change": "ended", "code": code}))

    def _settle(self, number: int, answer: Json, content: bytes, error: Optional[FileSystemAuthorityError]) -> None:
        with self._lock:
            pending = self._pending.pop(number, None)
            is_late = pending is None or pending.done.is_set()
            if not is_late:
                if error is None and pending.accept:
                    pending.accept(answer)
                pending.json, pending.content, pending.error = answer, content, error
                pending.done.set()
        if is_late and pending and error is None and pending.discard:
            _spawn(self._guarded, pending.discard, answer)

    def _guarded(self, callback: Callable[..., None], *words: Any) -> None:
        """Calls code whose failure must not become ours."""
        try:
            callback(*words)
        except Exception:
            if self._end is None:
                self._log(traceback.format_exc())

    def _tell(self) -> None:
        while (told := self._told.get()) is not None:
            callback, about = told
            if callback:
                self._guarded(callback, about)

    def _answer(self, number: int, about: Json) -> None:
        kind, context, hook = about["kind"], about["context"], about.get("hook")
        self._answering.number = number  # of this thread, which answers nothing else
        try:
            if kind == "ask":
                answer = {"allow": self._ask(context, about["prompt"]) is True}
            elif kind == "policy":
                answer = _decision(self._policy(context), "the policy", False)
            else:
                before = self._hooks[hook].before
                answer = _decision(before(context) if before else None, f"the hook {hook}", True)
        except Exception as error:
            self._log(traceback.format_exc())
            answer = {"allow": False} if kind == "ask" else _decision({"type": "fail", "reason": error}, "", False)
        if self._end is None:
            self._send(ANSWER, number, json.dumps(answer).encode())

    def _finish(self, code: str, message: str) -> None:
        with self._lock:
            if self._end is not None:
                return
            self._end = FileSystemAuthorityError(code, "operational", "", message)
            for pending in self._pending.values():
                if not pending.done.is_set():
                    pending.error = FileSystemAuthorityError(code, "operational", pending.operation, message)
                    pending.done.set()
            self._pending.clear()
            self._end_watches(code, lambda *_: True)


class Watch:
    """Changes of a directory, as they happen. `with` closes it."""

    def __init__(self, authority: Authority, number: int) -> None:
        self._authority, self._number = authority, number

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        with self._authority._lock:
            is_open = self._authority._watches.pop(self._number, None) is not None
        if is_open:
            try:
                self._authority._request("unwatch", {"watch": self._number})
            except FileSystemAuthorityError:
                pass  # it has ended by itself


class ScopedFileSystem:
    """One root, for one subject, as long as its grant lasts. `with` gives the grant back.

    Every operation takes cancellation=, and the options that docs/authority-protocol.md names, in snake_case.
    """

    def __init__(self, authority: Authority, opened: Json, subject: Json, root: Json) -> None:
        self._authority, self._scope, self._is_closed = authority, opened["scope"], False
        self.grant_id: int = opened["grant"]
        self.subject, self.root = subject, root

    def __enter__(self) -> "ScopedFileSystem":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _call(self, operation: str, names: Dict[str, Name], options: Json, content: bytes = b"", *,
              more: Optional[Json] = None, **how: Any) -> Any:
        cancellation = options.pop("cancellation", None)
        unknown = options.keys() - set(OPTIONS.get(operation, ()))
        if unknown:
            raise TypeError(f"{operation} has no option {', '.join(sorted(unknown))}")
        if self._is_closed:
            raise _refused("grant_revoked", operation, "this scope was closed")
        members = {"scope": self._scope, **_camel(options), **(more or {})}
        for member, name in names.items():
            members.update(_named(member, name, operation))
        return self._authority._request(operation, members, content, cancellation=cancellation, **how)

    def read_bytes(self, name: Name, **options: Any) -> bytes:
        return self._call("read", {"name": name}, options, more={"as": "bytes"})[1]

    def read_text(self, name: Name, **options: Any) -> str:
        return self._call("read", {"name": name}, options, more={"as": "text"})[1].decode()

    def read_json(self, name: Name, **options: Any) -> Any:
        try:
            return json.loads(self.read_text(name, **options))
        except ValueError as error:
            raise _refused("invalid_json", "read", f"not valid JSON: {error}") from error

    def write_bytes(self, name: Name, content: bytes, **options: Any) -> None:
        self._call("write", {"name": name}, options, content, more={"as": "bytes"})

    def write_text(self, name: Name, text: str, **options: Any) -> None:
        self._call("write", {"name": name}, options, _encoded(text, "write"), more={"as": "text"})

    def write_json(self, name: Name, value: Any, *, indent: Union[int, str, None] = 2, **options: Any) -> None:
        self.write_text(name, json.dumps(value, indent=indent, ensure_ascii=False) + "\n", **options)

    def append(self, name: Name, content: Union[bytes, str], **options: Any) -> None:
        self._call("append", {"name": name}, options, _encoded(content, "append") if isinstance(content, str) else content)

    def list(self, name: Name = "", **options: Any) -> List[Json]:
        return self._call("list", {"name": name}, options)[0]["entries"]

    def stat(self, name: Name, **options: Any) -> Json:
        return self._call("stat", {"name": name}, options)[0]

    def exists(self, name: Name, **options: Any) -> bool:
        return self._call("exists", {"name": name}, options)[0]["exists"]

    def mkdir(self, name: Name, **options: Any) -> None:
        self._call("mkdir", {"name": name}, options)

    def move(self, from_name: Name, to: Name, **options: Any) -> None:
        self._call("move", {"from": from_name, "to": to}, options)

    def copy(self, from_name: Name, to: Name, **options: Any) -> None:
        self._call("copy", {"from": from_name, "to": to}, options)

    def copy_in(self, to: Name, source: "ScopedFileSystem", from_name: Name, **options: Any) -> None:
        self._transfer("copyIn", to, source, from_name, options)

    def move_in(self, to: Name, source: "ScopedFileSystem", from_name: Name, **options: Any) -> None:
        self._transfer("moveIn", to, source, from_name, options)

    def _transfer(self, operation: str, to: Name, source: "ScopedFileSystem", from_name: Name, options: Json) -> None:
        if not isinstance(source, ScopedFileSystem) or source._authority is not self._authority:
            raise _refused("invalid_argument", operation, "the source must be a scope of the same authority")
        self._call(operation, {"from": from_name, "to": to}, options, more={"source": source._scope})

    def remove(self, name: Name, **options: Any) -> None:
        self._call("remove", {"name": name}, options)

    def extract_archive(self, archive: Name, destination: Name, **options: Any) -> Json:
        return self._call("extractArchive", {"archive": archive, "destination": destination}, options)[0]

    def create_archive(self, source: Name, archive: Name, *, format: Optional[str] = None, **options: Any) -> Json:
        """Without a format, the ending of the name decides."""
        name = os.fsdecode(archive)
        found = format or next((kind for ending, kind in FORMATS.items() if name.endswith(ending)), None)
        if found is None:
            raise _refused("invalid_argument", "createArchive", f"give a format, or a name with {', '.join(FORMATS)}")
        return self._call("createArchive", {"source": source, "archive": archive}, options, more={"format": found})[0]

    def create_temp_workspace(self, reason: str = "temporary files", **options: Any) -> "ScopedFileSystem":
        """For the same subject."""
        if self._is_closed:
            raise _refused("grant_revoked", "createTemp", "this scope was closed")
        return self._authority.create_temp_workspace(subject=self.subject, reason=reason, **options)

    def watch(self, name: Name, callback: Callable[[Json], None], **options: Any) -> Watch:
        """`callback` gets {"change": "created" | "changed" | "removed" | "rescan" | "ended", "name": …}, in a thread."""
        # At once, because the first change may be in the next frame.
        watches = self._authority._watches
        answer, _ = self._call("watch", {"name": name}, options,
                               accept=lambda about: watches.update({about["watch"]: (self._scope, callback)}),
                               discard=lambda late: self._authority._request("unwatch", {"watch": late["watch"]}))
        return Watch(self._authority, answer["watch"])

    def close(self) -> None:
        """Gives the grant back. What runs goes on."""
        is_closed, self._is_closed = self._is_closed, True
        if is_closed:
            return
        with self._authority._lock:
            self._authority._end_watches("cancelled", lambda _, scope: scope == self._scope)
        try:
            self._authority._request("release", {"scope": self._scope})
        except FileSystemAuthorityError as error:
            if error.category != "operational":  # a process that has ended holds no grant
                raise


def _encoded(text: str, operation: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise _refused("invalid_utf8", operation, "the text has half of a character") from error
