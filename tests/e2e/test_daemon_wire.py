#!/usr/bin/env python3
"""Everything that a server can send to gatehouse connect: every tool, in both dialects, many messages,
and invalid ones.

Arguments: see daemon_scene.
"""
import gzip
import http.server
import json
import os
import sys
import tarfile
import threading
import unittest

sys.dont_write_bytecode = True  # not into the sources
import daemon_scene
from daemon_scene import AtTerminal, Scene, has_boxes, is_sanitized

WRITES = ("--permission-filesystem-write", "allow")
DIFF = ("--- a/w\n+++ b/w\n@@ -1 +1 @@\n-{}\n\\ No newline at end of file\n"
        "+{}\n\\ No newline at end of file\n")
FILE = {"path": "a.txt", "content": "one\ntwo\n", "truncated": False, "totalLines": 3}
MIB = 1 << 20


class Tools(Scene):
    """Each tool once: what it answers, in both its forms, and what it did."""

    def setUp(self):
        super().setUp()
        self.called = set()

    def both(self, server, tool, /, **arguments):
        result = self.call(server, tool, **arguments)
        self.assertNotIn("isError", result, result)
        self.assertEqual([block["type"] for block in result["content"]], ["text"])
        self.assertEqual(json.loads(result["content"][0]["text"]), result["structuredContent"])
        self.called.add(tool)
        return result["structuredContent"]

    def look(self, server):
        self.assertEqual(self.both(server, "read_file", filePath="a.txt"), FILE)
        result = self.call(server, "list_files", dirPath=".")
        self.assertEqual(json.loads(result["content"][0]["text"]),
                         [{"path": "a.txt", "type": "file", "sizeBytes": 8}])
        self.assertEqual(result["structuredContent"]["entries"],
                         [{"path": "a.txt", "type": "file", "sizeBytes": 8}])
        result = self.call(server, "get_file_tree", dirPath=".")
        self.assertEqual(result, {"content": [{"type": "text", "text": f"{self.root}/\n  a.txt"}]})
        self.assertEqual(self.both(server, "search_files", name="*.txt"),
                         {"name": "*.txt", "matches": [{"path": "a.txt"}], "truncated": False,
                          "totalMatches": 1})
        self.assertEqual(self.both(server, "search_files", name="*.txt", query="two")["matches"],
                         [{"path": "a.txt", "lineNumber": 2, "line": "two"}])
        self.assertEqual(self.both(server, "stat_file", path="a.txt")["sizeBytes"], 8)
        self.assertEqual(self.both(server, "list_allowed_directories")["directories"][0]["path"],
                         str(self.root))
        self.assertEqual(self.both(server, "read_files", filePaths=["a.txt"])["files"][0]["path"], "a.txt")
        self.called |= {"list_files", "get_file_tree"}

    def change(self, server):
        with tarfile.open(self.root / "t.tar", "w") as archive:
            archive.add(self.root / "a.txt", arcname="f")
        for tool, arguments, answer in (
            ("write_file", {"filePath": "w", "content": "1"}, {"path": "w"}),
            ("append_file", {"filePath": "w", "content": "2"}, {"path": "w"}),
            ("edit_file", {"filePath": "w", "oldString": "12", "newString": "3"},
             {"path": "w", "replacements": 1, "diff": DIFF.format("12", "3")}),
            ("edit_files", {"edits": [{"filePath": "w", "oldString": "3", "newString": "4"}]},
             {"files": [{"path": "w", "edits": 1, "replacements": 1}], "dryRun": False,
              "diff": DIFF.format("3", "4")}),
            ("create_directory", {"dirPath": "d"}, {"path": "d"}),
            ("copy_file", {"sourcePath": "w", "destinationPath": "d/c"},
             {"sourcePath": "w", "destinationPath": "d/c"}),
            ("move", {"sourcePath": "d", "destinationPath": "e"},
             {"sourcePath": "d", "destinationPath": "e"}),
            ("extract_archive", {"archivePath": "t.tar", "destinationPath": "x"},
             {"destinationPath": "x", "files": 1, "directories": 0, "bytes": 8}),
        ):
            self.assertEqual(self.both(server, tool, **arguments), answer)
        self.assertEqual((self.root / "e/c").read_text(), "4")
        self.assertEqual((self.root / "x/f").read_text(), "one\ntwo\n")
        self.assertEqual(self.both(server, "delete", path="e")["path"], "e")
        self.assertFalse((self.root / "e").exists())
        told = self.both(server, "undo_changes")
        self.assertEqual(told["undone"][0]["tool"], "delete")
        self.assertEqual((self.root / "e/c").read_text(), "4")

    def run_commands(self, server):
        self.assertEqual(self.both(server, "shell_execute", command="cat a.txt; echo e >&2"),
                         {"stdout": "one\ntwo\n", "stderr": "e\n", "exitCode": 0})
        job = self.both(server, "shell_start", command="read line; echo got $line")["jobId"]
        self.assertEqual(self.both(server, "shell_list")["jobs"][0]["jobId"], job)
        self.both(server, "shell_input", jobId=job, text="it\n")
        output, cursor = "", 0
        while "got it" not in output:
            more = self.both(server, "shell_output", jobId=job, cursor=cursor, waitMs=1000)
            output, cursor = output + more["output"], more["cursor"]
        self.both(server, "shell_stop", jobId=job)

    def test_every_tool_that_is_offered(self):
        flags = (*WRITES, *(("--permission-shell", "allow") if has_boxes() else ()))
        server, daemon = self.connect(*flags)
        self.look(server)
        self.change(server)
        if has_boxes():
            self.run_commands(server)
        # Those of the browser have tests of their own, with pages and downloads.
        offered = {tool for tool in self.tools(server)
                   if not tool.startswith("browser_") and tool != "save_download"}
        self.assertEqual(self.called, offered)
        self.assertEqual(daemon.end()[0], 0)

    def test_a_tool_that_fails_says_so(self):
        server, _ = self.connect(*WRITES)
        for tool, arguments, words in (
            ("read_file", {"filePath": "missing"}, "not found"),
            ("edit_file", {"filePath": "a.txt", "oldString": "x", "newString": ""}, "not found"),
            ("read_file", {"filePath": 3}, "filePath"),
            ("copy_file", {"sourcePath": "a.txt"}, "destinationPath"),
        ):
            result = self.call(server, tool, **arguments)
            self.assertTrue(result["isError"])
            self.assertIn(words, json.loads(result["content"][0]["text"])["error"])
            self.assertEqual(result["structuredContent"], json.loads(result["content"][0]["text"]))

    def test_a_missing_name_brings_the_nearest_where_listing_needs_no_question(self):
        (self.root / "source").mkdir()
        server, daemon = self.connect()
        told = self.call(server, "list_files", dirPath="sorce")["structuredContent"]["error"]
        self.assertIn("sorce: not found; did you mean source?", told)
        told = self.call(server, "list_files", dirPath="source/a/b")["structuredContent"]["error"]
        self.assertIn("the nearest that exists is source", told)
        self.assertEqual(daemon.end()[0], 0)
        # Whoever was asked about one name has not agreed to others.
        server, _ = self.connect("--permission-filesystem-read", "ask")
        self.question(server, "list_files", dirPath="sorce")
        told = self.call(server, "list_files", dirPath="sorce", _confirmation="allowOnce")
        self.assertTrue(told["isError"])
        self.assertNotIn("source", told["content"][0]["text"])

    def test_the_older_dialect(self):
        server = self.serve("--dialect", "seed")
        daemon = self.daemon("--auto-confirm", *WRITES, self.url(server), server.token, self.root)
        server.until(streams=1)
        ask = lambda name, **arguments: json.loads(server.ask(name, **arguments)["text"])
        self.assertEqual(ask("read-file", filePath="a.txt"), {"data": FILE})
        self.assertEqual(ask("read-file", filePath="a.txt", startLine=2, maxLines=1)["data"]["content"],
                         "two")
        self.assertEqual(ask("search-files", query="TWO", ignoreCase=True),
                         {"data": {"query": "TWO", "truncated": False, "totalMatches": 1,
                                   "matches": [{"path": "a.txt", "lineNumber": 2, "line": "two"}]}})
        missing = ask("read-file", filePath="missing")
        self.assertEqual(list(missing), ["error"])
        self.assertNotIn("{", missing["error"])  # words, and not an object as text
        self.assertEqual(list(ask("read-file")), ["error"])
        self.assertEqual(list(ask("no-such-operation")), ["error"])
        self.assertEqual(daemon.end()[0], 0)


class Much(Scene):
    def test_five_hundred_calls_at_once(self):
        server, _ = self.connect(*WRITES)
        answers = self.calls(server, *(
            ("read_file", {"filePath": "a.txt"}) if number % 2 else
            ("write_file", {"filePath": f"d/{number}", "content": str(number)})
            for number in range(500)))
        for answer in answers:
            self.assertNotIn("isError", json.loads(answer["text"])["result"], answer)
        self.assertEqual({path.name: path.read_text() for path in (self.root / "d").iterdir()},
                         {str(number): str(number) for number in range(0, 500, 2)})

    def test_more_calls_than_there_is_room_for(self):
        """Whatever is not done is refused, and none is left without an answer."""
        server, _ = self.connect()
        self.calls(server, *[("read_file", {"filePath": "a.txt"})] * 1500)
        self.assertEqual(self.good(server, "read_file", filePath="a.txt"), FILE)

    def test_a_file_of_many_megabytes(self):
        content = ("x" * 1023 + "\n") * (7 << 10)
        server, daemon = self.connect("--max-file-size", "16MiB", "--max-lines", "100000", *WRITES)
        self.good(server, "write_file", filePath="big", content=content)
        self.assertEqual((self.root / "big").read_text(), content)
        answer = server.ask("read_file", filePath="big", maxLines=100000)
        self.assertGreater(answer["bytes"], 2 * len(content))
        (self.root / "bigger").write_text(2 * content)
        answer = server.ask("read_file", filePath="bigger", maxLines=100000)
        self.assertIn("larger than the server accepts", json.loads(answer["text"])["error"])
        self.assertEqual(daemon.end()[0], 0)

    def test_a_file_over_the_limit_is_not_written(self):
        server, _ = self.connect(*WRITES)
        self.assertIn("exceed the limit", self.error(server, "write_file", filePath="a.txt",
                                                   content="x" * (600 << 10)))
        self.assertEqual((self.root / "a.txt").read_text(), "one\ntwo\n")

    def test_ten_thousand_calls_and_no_growth(self):
        self.write_settings(resourcePermissions={"shell": {"allow": ["true"]}})
        server, daemon = self.connect(*WRITES, "--permission-shell", "ask")
        processes = [daemon.process.pid, *daemon.children()]
        mixture = [
            ("read_file", {"filePath": "a.txt"}, 1),
            ("search_files", {"query": "two"}, 1),
            ("append_file", {"filePath": "a.txt", "content": ""}, 1),
            ("read_file", {"filePath": "../a.txt"}, 1),
        ]
        if "shell_execute" in self.tools(server):
            self.good(server, "shell_execute", command="true")
            self.question(server, "shell_execute", command="date")
            mixture += [("shell_execute", {"command": "true"}, 25),
                        ("shell_execute", {"command": "date"}, 5)]

        def run(count):
            for tool, arguments, share in mixture:
                server.do("bench", name=tool, arguments=arguments, n=count // share,
                          concurrency=16)
                self.assertEqual(server.until_has("bench")["bench"]["n"], count // share)

        run(500)  # until everything is there that stays
        before = [usage(pid) for pid in processes]
        run(2500)
        for (memory, files), (was_memory, were_files) in zip(map(usage, processes), before):
            self.assertLessEqual(files, were_files + 2)
            # A sanitizer keeps what was freed for a while.
            self.assertLess(memory, was_memory + (256 * MIB if is_sanitized() else 4 * MIB))


def usage(pid):
    """Its own memory, and how many descriptors it has, if it lets itself be looked at."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        own = [int(line.split()[1]) for line in status if line.startswith("RssAnon:")]
    try:
        files = len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        files = 0
    return own[0] << 10, files


class Garbage(Scene):
    """On the stream, between calls that are answered as if nothing had been."""

    def frame(self, number, **fields):
        payload = {"requestId": number, "toolCall": {"name": "read_file",
                                                     "arguments": {"filePath": "a.txt"}}} | fields
        return json.dumps({"type": "filesystem-request", "payload": payload})

    def assert_ignored(self, server, daemon, *texts):
        responses = server.state()["hits"]["response"]
        for text in texts:
            server.do("raw", text=text)
        self.assertEqual(self.good(server, "read_file", filePath="a.txt"), FILE)
        self.assertEqual(server.state()["hits"]["response"], responses + 1)
        self.assertEqual(daemon.end()[0], 0)

    def test_what_is_no_call_is_ignored(self):
        server, daemon = self.connect()
        call = self.frame("x")
        self.assert_ignored(
            server, daemon, ": a comment\n\n", "\n\n\n", "data\n\n", "data:\n\n", "retry: 0\n\n",
            f"event: ping\ndata: {call}\n\n", "data: {\n\n", "data: nonsense\n\n", "data: []\n\n",
            "data: null\n\n", 'data: {"type":3}\n\n', 'data: {"type":"other","payload":{}}\n\n',
            'data: {"type":"filesystem-request"}\n\n',
            'data: {"type":"filesystem-request","payload":[]}\n\n',
            f"nodata: {call}\n\n", f"data{call}\n\n", "id: 7\nfield\x00: \u2028\n\n",
            f"data: {'[' * 100000}\n\n",
            f'data: {{"type":"filesystem-request","payload":{"[" * 70}{"]" * 70}}}\n\n')

    def test_ids_that_lead_elsewhere_or_nowhere(self):
        server, daemon = self.connect()
        self.assert_ignored(server, daemon, *(
            f"data: {self.frame(number)}\n\n"
            for number in ("", ".", "..", "a b", "a\r\nX: y", "\u00e4", "x" * 129, "x" * 5000000, 7,
                           None, {})))

    def test_an_id_stays_in_its_path(self):
        server, daemon = self.connect()
        for number in ("../init", "x?y#z", "%2e%2e", "a/b/../../disconnect"):
            server.do("raw", text=f"data: {self.frame(number)}\n\n")
            self.assertIn("responded with 40", daemon.until("cannot send"))
        state = server.state()
        self.assertEqual((state["hits"]["init"], state["hits"]["disconnect"]), (1, 0))
        self.assertTrue(state["connected"])

    def test_lines_end_in_every_way_and_data_has_several(self):
        server, daemon = self.connect()
        call = self.frame("x")
        half = call.index(",") + 1
        for text in (f"data: {call}\r\n\r\n", f"data: {call}\r\r", f"data:{call}\n\n",
                     f"event: message\nid: 9\ndata: {call}\n\n",
                     f"data: {call[:half]}\ndata: {call[half:]}\n\n",
                     f": ping\r\ndata: {call[:half]}\r\n: ping\r\ndata:{call[half:]}\r\n\r\n"):
            server.do("raw", text=text)
            daemon.until("done tool=read_file")
            daemon.until("cannot send")  # the server has sent no such call

    def test_a_call_that_makes_no_sense_is_answered(self):
        server, daemon = self.connect()
        for fields in ({"toolCall": None}, {"toolCall": {"name": 3}}, {"toolCall": {}},
                       {"toolCall": {"name": "n" * 1000}},
                       {"toolCall": {"name": "read_file", "arguments": []}}):
            server.do("raw", text=f"data: {self.frame('x', **fields)}\n\n")
            daemon.until("cannot send")

    def test_a_call_in_json_that_is_refused_is_answered_and_logged(self):
        server, daemon = self.connect()
        deep = "[" * 200 + "]" * 200
        whole = self.frame("x").replace('"a.txt"', "HERE")
        for value in ('"\\ud83d"', deep, '1,"filePath":2', "nonsense"):
            server.do("raw", text=f"data: {whole.replace('HERE', value)}\n\n")
            daemon.until("cannot send")  # the server has sent no such call, but it was answered
        # The server knows this one, so it takes the answer.
        called = server.call("read_file", deep=json.loads("[" * 62 + "]" * 62))
        answer = server.until(answer=called)
        self.assertIn("Invalid call: ", json.loads(answer["text"])["error"])
        _, told = daemon.end()
        self.assertIn("the server sent a call that cannot be read", told)

    def test_the_same_id_twice_is_one_call(self):
        server, daemon = self.connect()
        server.do("raw", text=f"data: {self.frame('x')}\n\n" * 100)
        daemon.until("cannot send")
        self.good(server, "list_files", dirPath=".")
        _, told = daemon.end()
        self.assertLess(told.count("done tool=read_file"), 100)

    @unittest.skipUnless(has_boxes(), "cannot sandbox commands on this machine")
    def test_commands_and_the_end_of_the_session_in_one_breath(self):
        (self.root / "d").mkdir()
        # A place that takes a while to find, so that some are not understood yet.
        call = {"name": "shell_execute", "arguments": {"command": "true", "cwd": "d/../" * 600}}
        commands = "".join(f"data: {self.frame(f'x{i}', toolCall=call)}\n\n" for i in range(130))
        for _ in range(8):
            server, daemon = self.connect("--permission-shell", "allow")
            server.do("raw", text=commands + 'data: {"type":"gateway-disconnect"}\n\n')
            daemon.until("ended the session")
            status, told = daemon.end()
            self.assertEqual(status, 0, told)

    def test_an_event_that_never_ends_ends_the_stream_and_not_the_daemon(self):
        server, daemon = self.connect()
        for _ in range(17):
            server.do("raw", text="x" * MIB)
        self.assertIn("too large", daemon.until("retrying"))
        server.until(streams=1)
        self.assertEqual(self.good(server, "read_file", filePath="a.txt"), FILE)


class Answers(Scene):
    """Of servers that are not what they should be."""

    def serve_raw(self, answer):
        """One that answers every request by this, and knows what was asked."""
        class Handler(http.server.BaseHTTPRequestHandler):
            asked = []

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.asked.append(self.path)
                answer(self)

            def do_GET(self):
                self.asked.append(self.path)
                answer(self)

            def log_message(self, *arguments):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}", Handler.asked

    def refused(self, url):
        status, told = self.daemon("--auto-confirm", url, "gw_token", self.root).wait()
        self.assertEqual(status, 1, told)
        self.assertNotIn("gw_token", told)
        return told

    def test_no_redirect_is_followed(self):
        other, asked = self.serve_raw(lambda request: request.send_error(404))

        def lead_elsewhere(request):
            request.send_response(307)
            request.send_header("Location", f"{other}/rest/instance-ai/gateway/init")
            request.end_headers()

        self.assertIn("not followed", self.refused(self.serve_raw(lead_elsewhere)[0]))
        self.assertEqual(asked, [])

    def test_what_is_compressed_is_not_understood(self):
        body = gzip.compress(b'{"data":{"ok":true,"sessionKey":"sess_x"}}')

        def compress(request):
            request.send_response(200)
            request.send_header("Content-Encoding", "gzip")
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            request.wfile.write(body)

        self.refused(self.serve_raw(compress)[0])

    def test_answers_without_sense_or_end(self):
        def say(text):
            return lambda request: request.wfile.write(text)

        def without_end(request):
            try:
                request.wfile.write(b"HTTP/1.1 200 OK\r\n")
                while True:
                    request.wfile.write(b"X-More: and more\r\n" * 1000)
            except OSError:
                pass

        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        long_key = json.dumps({"data": {"ok": True, "sessionKey": "k" * 5000}}).encode()
        for answer in (
            say(b""), say(b"nonsense\r\n\r\n"), say(b"HTTP/1.1 999 X\r\n\r\n"),
            say(head + b"Content-Length: 5\r\n\r\n{}"), say(head + b"Content-Length: 2\r\n\r\n[]"),
            say(head + b"Content-Length: -1\r\n\r\n"),
            say(head + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n{}\n"),
            say(head + b"Content-Length: 99999999999\r\n\r\n" + b"x" * MIB),
            say(head + b"Content-Length: %d\r\n\r\n%s" % (len(long_key), long_key)), without_end,
        ):
            self.refused(self.serve_raw(answer)[0])

    def test_words_of_a_server_cannot_dress_up_the_log(self):
        words = "\x1b[2J\x1b]0;x\x07\nconnected folder=/ \u202e"
        body = json.dumps({"code": 403, "message": words * 100}).encode()

        def refuse(request):
            request.send_response(403)
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            request.wfile.write(body)

        told = self.refused(self.serve_raw(refuse)[0])
        self.assertNotRegex(told, "[\x00-\x09\x0b-\x1f\x7f\u202e]")
        self.assertNotRegex(told, "(?m)^connected")
        self.assertLess(len(told), 2000)


class Asking(AtTerminal):
    def test_thousands_of_questions(self):
        server, daemon = self.connect("--permission-filesystem-write", "ask", TERM="dumb")
        for number in range(1000):
            server.do("call", name="delete", arguments={"path": "a.txt"})
        for _ in range(1000 - 128):
            self.assertIn("too many questions", server.until_has("answer")["text"])
        self.assertEqual(server.state()["pending"], 128)
        self.good(server, "read_file", filePath="a.txt")
        server.do("dismiss")
        daemon.until("ended the session")
        self.assertTrue((self.root / "a.txt").exists())
        self.assertEqual(daemon.end()[0], 0)


class Confirming(Scene):
    def test_no_guess_is_an_answer(self):
        server, _ = self.connect("--permission-filesystem-write", "ask")
        for number, guess in enumerate((
                "allowOnce", "allowForSession", "alwaysAllow", "ALLOWONCE", "", True, None,
                ["allowOnce"], {"decision": "allowOnce"}, "x" * 100000)):
            path = self.root / str(number)
            path.touch()
            self.question(server, "delete", path=path.name, _confirmation=guess)
            # It was asked now: for this name, and for words that were offered.
            self.question(server, "delete", path=f"./{path.name}", _confirmation="allowOnce")
            self.call(server, "delete", path=path.name, _confirmation="alwaysAllow")
            self.assertTrue(path.exists(), guess)


if __name__ == "__main__":
    daemon_scene.main()
