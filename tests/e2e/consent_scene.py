"""A server that asks, and a client that answers, for the tests of consent."""
import json

from mcp_client import Scene

ASKING = {"elicitation": {"form": {}}}
ONCE = ["Deny once", "Allow once", "Allow for this session"]


class Consent(Scene):
    def setUp(self):
        super().setUp()
        self.settings = self.state / ".n8n-gateway" / "settings.json"

    def begin(self, *flags, capabilities=ASKING, **settings):
        server = self.start(*flags, opens=False, **settings)
        server.open(capabilities=capabilities)
        return server

    def write_settings(self, **fields):
        self.settings.parent.mkdir(mode=0o700, exist_ok=True)
        self.settings.write_text(json.dumps(fields))
        self.settings.chmod(0o600)

    def question(self, server):
        def found():
            for note in server.notes:
                if note["method"] == "elicitation/create":
                    server.notes.remove(note)
                    return note
            return None
        return server.wait_until(found)

    def reply(self, server, question, action="accept", **content):
        result = {"action": action, **({"content": content} if content else {})}
        server.send({"jsonrpc": "2.0", "id": question["id"], "result": result})

    def decide(self, server, decision, tool, **arguments):
        """Calls, answers the question, and returns both it and the result."""
        question, result = self.decide_if_asked(server, decision, tool, **arguments)
        self.assertIsNotNone(question, f"{tool} was not asked about: {result}")
        return question, result

    def decide_if_asked(self, server, decision, tool, **arguments):
        """The same where an earlier answer may suffice; then there is no question."""
        message = server.call_message(tool, arguments)
        server.send(message)

        def found():
            for note in server.notes:
                if note["method"] == "elicitation/create":
                    return note
            return server.answers.get(json.dumps(message["id"]))
        came = server.wait_until(found)
        if "method" not in came:
            return None, server.result(message["id"])
        server.notes.remove(came)
        self.reply(server, came, decision=decision)
        return came["params"], server.result(message["id"])

    def assert_unasked(self, server):
        self.assertEqual([note for note in server.notes if note["method"] == "elicitation/create"], [])

    def refusals(self):
        """Of steps; that of the call repeats it."""
        return [record for record in self.records()
                if record["outcome"] == "denied" and record["operation"] != "call"]
