"""Answers of services that are not ours, from recorded/, and a server that gives them."""
import json
import pathlib
import re

from mcp_workspace_scene import Fake

FOLDER = pathlib.Path(__file__).resolve().parent / "recorded"
ODD = (1, 7, 512)  # sizes of pieces


def load(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def shapes(recording):
    """The bodies that have a type of the provider's own: (type, object)."""
    for answer in recording["answers"]:
        for part in answer.get("parts", []):
            if "shape" in part:
                yield part["shape"], json.loads(part["text"])
        if "shape" in answer:
            body = answer["body"]
            for one in body if isinstance(body, list) else [body]:
                yield answer["shape"], one


class Replay(Fake):
    """Answers in the order of the recording, for each request; the last one again and again."""

    def __init__(self, recording):
        self.recording = recording
        self.given = {}
        super().__init__(self.answer)

    def answer(self, request):
        found, names = [], {}
        for index, answer in enumerate(self.recording["answers"]):
            pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(answer["path"]))
            match = re.fullmatch(pattern, request.route)
            if match and answer["method"] == request.command:
                found.append(index)
                names.update(match.groupdict())
        if not found:
            raise AssertionError(f"not recorded: {request.command} {request.route}")
        key = tuple(found)
        turn = self.given.get(key, 0)
        self.given[key] = turn + 1
        self.names = {"url": self.url, "id": self.recording.get("sandbox", ""), **self.sent(request), **names}
        self.give(request, self.recording["answers"][found[min(turn, len(found) - 1)]])

    @staticmethod
    def sent(request):
        """Ids that the client has chosen."""
        try:
            body = json.loads(request.body)
        except ValueError:
            return {}
        return {key: body[key] for key in ("id", "exec_id") if isinstance(body.get(key), str)}

    def fill(self, text):
        for name, value in self.names.items():
            text = text.replace("{%s}" % name, value)
        return text.encode()

    def give(self, request, answer):
        head = [f"HTTP/1.1 {answer['status']} "]
        fields = {**self.recording["headers"], **answer.get("headers", {})}
        body = self.body_of(answer)
        if body is None:
            fields.pop("content-type")
            if answer["status"] != 204:
                fields["content-length"] = "0"
        else:
            fields["transfer-encoding"] = "chunked"
        head += [f"{name}: {value}" for name, value in fields.items()]
        request.wfile.write(self.fill("\r\n".join(head) + "\r\n\r\n"))
        if body is not None:
            self.send_chunks(request, body)

    def body_of(self, answer):
        if "lines" in answer:
            return b"".join(self.fill(json.dumps(line, ensure_ascii=False)) + b"\n" for line in answer["lines"])
        if "parts" in answer:
            return b"".join(f"--3f7c1e\r\n{part['head']}\r\n\r\n{part['text']}\r\n".encode()
                            for part in answer["parts"]) + b"--3f7c1e--\r\n"
        if "text" in answer:
            return answer["text"].encode()
        return self.fill(json.dumps(answer["body"], ensure_ascii=False, indent=1)) if "body" in answer else None

    @staticmethod
    def send_chunks(request, body):
        """In pieces that end where nothing else does, also within a character."""
        at, turn = 0, 0
        while at < len(body):
            piece = body[at:at + ODD[turn % len(ODD)]]
            request.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            request.wfile.flush()
            at, turn = at + len(piece), turn + 1
        request.wfile.write(b"0\r\n\r\n")


def compare(recording, types):
    """What differs from the types of a client: {type: {name: (is_optional, kind)}}; every recorded field must be of the
    kind that the type says, and every field of the type be there."""
    wrong = []
    kinds = {"string": str, "number": (int, float), "boolean": bool}
    for shape, body in shapes(recording):
        for name, (is_optional, kind) in types[shape].items():
            if name not in body:
                if not is_optional:
                    wrong.append(f"{shape} needs {name}")
            elif kind in kinds and not isinstance(body[name], kinds[kind]) and not (is_optional and body[name] is None):
                wrong.append(f"{shape}.{name} is no {kind}")
    return wrong


def fields_of(text, name):
    """The fields of an interface in TypeScript's declarations."""
    body = re.search(r"interface %s \{(.*?)\n\}" % name, text, re.S).group(1)
    found = re.findall(r"^    '?(\w+)'?(\??): ([^;]+);", body, re.M)
    return {field: (mark == "?", kind) for field, mark, kind in found}
