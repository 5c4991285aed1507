#!/usr/bin/env python3
"""`gatehouse mcp` with hostile or vanishing clients; signals and kill -9."""
import fcntl
import json
import os
import random
import select
import signal
import sys
import termios
import time

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from mcp_client import PATIENCE, Refused, Scene, is_sanitized, outlives

MB = 1 << 10  # of the kilobytes that /proc counts in
FLOOD_SECONDS = 1  # that it must not have read for


def memory_limit(kilobytes):
    """ASan keeps what was freed for a while and has a shadow of everything."""
    return kilobytes * 8 + 1024 * MB if is_sanitized() else kilobytes


class Messages(Scene):
    def setUp(self):
        super().setUp()
        (self.root / "a.txt").write_text("still here\n")
        self.server = self.start()

    def assert_alive(self):
        self.assertEqual(self.server.good("read_file", filePath="a.txt")["content"],
                         "still here\n")

    def test_what_is_no_json_rpc_gets_a_clear_error_and_nothing_else_happens(self):
        for line, code in (
            (b"hello", -32700), (b"{", -32700), (b'{"jsonrpc":"2.0","id":1,', -32700),
            (b"\xff\xfe\xfd", -32700), (b'"text"', -32600), (b"17", -32600), (b"null", -32600),
            (b"[" * 100000, -32700), (b'{"a":' * 100000, -32700),
            (b"\0" * 1000, -32700), (b"{}", -32600), (b"[]", -32600),
        ):
            self.server.send_bytes(line + b"\n")
            error = self.server.stray()
            self.assertTrue(error["message"], line[:40])
            self.assertEqual(error["code"], code, line[:40])
        for line in (b'{"jsonrpc":"1.0","id":77,"method":"ping"}', b'{"id":77,"method":"ping"}',
                     b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":77,"method":"ping"}',
                     b'{"jsonrpc":"2.0","id":77,"method":5}',
                     b'{"jsonrpc":"2.0","id":77,"method":"ping","params":[1]}',
                     b'{"jsonrpc":"2.0","id":77,"method":"no/such"}',
                     b'{"jsonrpc":"2.0","id":77,"method":"tools/call"}',
                     b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":5}}',
                     b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"read_file",'
                     b'"arguments":"x"}}'):
            self.server.send_bytes(line + b"\n")
            answer = self.server.wait_until(
                lambda: self.server.answers.pop("77", None)
                or (self.server.strays and self.server.strays.pop(0)))
            self.assertIn("error", answer, line)
            self.assertIn(answer["error"]["code"], (-32600, -32601, -32602, -32700), line)
        self.assert_alive()

    def test_empty_lines_and_line_ends_of_others_are_no_trouble(self):
        self.server.send_bytes(b"\n\r\n  \n" + json.dumps(self.server.message("ping", number=8))
                               .encode() + b"\r\n")
        self.assertEqual(self.server.result(8), {})

    def test_answers_and_notifications_nobody_asked_for_are_ignored(self):
        self.server.send({"jsonrpc": "2.0", "id": 5, "result": {}},
                         {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}},
                         {"jsonrpc": "2.0", "method": "notifications/cancelled",
                          "params": {"requestId": 12345}},
                         {"jsonrpc": "2.0", "method": "notifications/nothing"})
        self.assert_alive()

    def test_ids_come_back_as_they_were(self):
        for number in (0, -1, 2**53, 2**63 - 1, "", "x" * 200, 'ä"\\\n', 1.5):
            self.server.send(self.server.message("ping", number=number))
            answer = self.server.wait_until(
                lambda n=number: self.server.answers.pop(json.dumps(n), None)
                or (self.server.strays and self.server.strays.pop(0)))
            if "error" not in answer:
                self.assertEqual(answer["id"], number)

    def test_huge_ids_are_refused_or_answered_within_bounds(self):
        for text in ("1" * 400, "1" * 5_000_000, f'"{"x" * 5_000_000}"', "1e400", "[1]", "{}",
                     "true"):
            self.server.send_bytes(b'{"jsonrpc":"2.0","id":' + text.encode()
                                   + b',"method":"ping"}\n')
            self.assertTrue(self.server.stray()["message"])
        self.assert_alive()
        self.assertLess(self.server.peak_kb(), memory_limit(96 * MB))

    def test_an_id_that_is_in_use_is_refused(self):
        message = self.server.call_message("search_files", {"name": "*"})
        self.server.send(*[message] * 50)
        self.assert_alive()

    def test_batches_belong_to_one_revision(self):
        batch = [self.server.message("ping") for _ in range(3)]
        self.server.send(batch)
        self.assertEqual(self.server.stray()["code"], -32600)
        other = self.start(opens=False)
        other.open("2025-03-26")
        batch = [other.message("ping") for _ in range(3)] + [
            other.call_message("read_file", {"filePath": "a.txt"}), "nonsense"]
        other.send(batch)
        for message in batch[:4]:
            other.result(message["id"])
        self.assertEqual(other.stray()["code"], -32600)
        other.send([])
        self.assertEqual(other.stray()["code"], -32600)
        other.send([other.message("ping")] * 5000)
        self.assertEqual(other.stray()["code"], -32600)

    def test_a_line_of_100_mb_is_refused_in_bounded_memory(self):
        piece = b"x" * (1 << 20)
        self.server.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"')
        for _ in range(100):
            self.server.send_bytes(piece)
        self.server.send_bytes(b'"}\n')
        self.assertIn("bytes", self.server.answer(1)["error"]["message"])
        self.assert_alive()
        self.assertLess(self.server.peak_kb(), memory_limit(64 * MB))

    def test_a_request_that_cannot_be_read_is_answered_under_its_id(self):
        long = "x" * (17 << 20)
        for line in (
            '{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"a":"\\u80"}}',
            '{"method":"tools/call","params":{"a":"\\u80"},"jsonrpc":"2.0","id":77}',
            '{"method":"x","params":' + '{"a":' * 70 + "1" + "}" * 70 + ',"jsonrpc":"2.0","id":77}',
            '{"jsonrpc":"2.0","id":77,"method":"x","params":{"a":"' + long + '"}}',
            # The order that the SDK for TypeScript has.
            '{"method":"x","params":{"a":"' + long + '"},"jsonrpc":"2.0","id":77}',
        ):
            self.server.send_bytes(line.encode() + b"\n")
            self.assertIn(self.server.answer(77)["error"]["code"], (-32600, -32700), line[:80])
        for line in ('{"jsonrpc":"2.0","method":"x","params":{"id":1,"a":"\\u80"}}',
                     '{"method":"x","params":{"id":1,"a":"' + long + '"},"jsonrpc":"2.0"}'):
            self.server.send_bytes(line.encode() + b"\n")
            self.assertTrue(self.server.stray()["message"], line[:80])
        self.assert_alive()

    def test_many_calls_at_once_are_all_answered(self):
        results = self.server.call_all([("read_file", {"filePath": "a.txt"})] * 1000)
        self.assertEqual(len(results), 1000)
        for result in results:
            self.assertEqual(result["structuredContent"]["content"], "still here\n")
        self.assertLess(self.server.peak_kb(), memory_limit(64 * MB))

    def test_more_calls_than_are_kept_are_answered_or_refused(self):
        messages = [self.server.call_message("get_file_tree", {"dirPath": "."})
                    for _ in range(5000)]
        self.server.send(*messages)
        for message in messages:
            self.assertTrue(set(self.server.answer(message["id"])) & {"result", "error"})
        self.assert_alive()
        self.assertLess(self.server.peak_kb(), memory_limit(96 * MB))

    def test_subscriptions_have_a_ceiling(self):
        for number in range(1500):
            (self.root / f"f{number}").touch()
        messages = [self.server.message("resources/subscribe",
                                        {"uri": (self.root / f"f{number}").as_uri()})
                    for number in range(1500)]
        self.server.send(*messages)
        answers = [self.server.answer(message["id"]) for message in messages]
        self.assertGreater(sum("error" in answer for answer in answers), 400)
        self.assertGreater(sum("result" in answer for answer in answers), 100)
        self.assert_alive()


class Pipes(Scene):
    def setUp(self):
        super().setUp()
        (self.root / "a.txt").write_text("x" * 400_000 + "\n")
        (self.root / "worst").write_bytes(b"\1" * 500_000)  # each byte is escaped as six

    def test_input_that_ends_in_the_middle_of_a_message(self):
        server = self.start()
        messages = [server.call_message("read_file", {"filePath": "a.txt"}) for _ in range(20)]
        server.send(*messages)
        server.send_bytes(b'{"jsonrpc":"2.0","id":999,"method":"tools/ca')
        server.process.stdin.close()
        for message in messages:
            self.assertIn("structuredContent", server.result(message["id"]))
        self.assertEqual(server.wait(), 0)

    def test_a_last_line_without_an_end_is_still_a_message(self):
        server = self.start()
        server.send_bytes(json.dumps(server.message("ping", number=4)).encode())
        server.process.stdin.close()
        self.assertEqual(server.result(4), {})
        self.assertEqual(server.wait(), 0)

    def test_output_that_is_closed_ends_it(self):
        for calls in (1, 200):
            server = self.start(reads=False)
            server.process.stdout.close()
            server.is_modern = True
            try:
                server.send(*[server.call_message("read_file", {"filePath": "a.txt"})] * calls)
            except BrokenPipeError:
                pass  # it was faster
            self.assertEqual(server.wait(), 0)
            self.assertEqual(outlives(server.pid), [])

    def flood(self, server, line):
        """Sends without reading, until it is not taken any more for a while."""
        descriptor = server.process.stdin.fileno()
        fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_NONBLOCK)
        deadline, number, rest, sent = time.monotonic() + PATIENCE, 1, b"", 0
        while time.monotonic() < deadline:
            if not rest:
                rest = b"".join(line(number + n) for n in range(500))
                number += 500
            if not select.select([], [descriptor], [], FLOOD_SECONDS)[1]:
                return sent
            wrote = os.write(descriptor, rest)
            rest, sent = rest[wrote:], sent + wrote
        self.fail("it takes and takes")

    def test_a_client_that_never_reads_is_not_read_from_either(self):
        for name, params in (
            ("tools/call", {"name": "read_file", "arguments": {"filePath": "a.txt"}}),
            ("tools/call", {"name": "read_file", "arguments": {"filePath": "worst"}}),
            ("resources/read", {"uri": (self.root / "worst").as_uri()}),
            ("tools/list", {}),
        ):
            server = self.start(reads=False)
            server.is_modern = True
            self.flood(server, lambda number, name=name, params=params: json.dumps(
                server.message(name, params, number=number)).encode() + b"\n")
            self.assertLess(server.peak_kb(), memory_limit(160 * MB), (name, params))
            # Nor does it hang on to what cannot be delivered.
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)

    def unread(self, server):
        return int.from_bytes(fcntl.ioctl(server.process.stdout, termios.FIONREAD, bytes(4)),
                              sys.byteorder)

    def test_a_slow_reader_gets_everything(self):
        server = self.start(reads=False)
        server.is_modern = True
        messages = [server.call_message("read_file", {"filePath": "worst"}) for _ in range(12)]
        server.send(*messages)
        while self.unread(server) < 32 << 10:  # it fills the pipe, and has to stop by itself
            select.select([server.process.stdout], [], [], PATIENCE)
        wanted = {message["id"] for message in messages}
        while wanted:
            answer = json.loads(server.process.stdout.readline())
            self.assertEqual(len(answer["result"]["structuredContent"]["content"]), 500_000)
            wanted.remove(answer["id"])
        self.assertLess(server.peak_kb(), memory_limit(160 * MB))


class Ends(Scene):
    def test_signals_end_it_well(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            server = self.start("-w")
            server.good("write_file", filePath="a", content="1")
            server.process.send_signal(number)
            self.assertEqual(server.wait(), 0, number)
            self.assertEqual(outlives(server.pid), [])
            self.assert_no_litter()

    def test_signals_in_the_middle_of_writes_leave_whole_files(self):
        texts = {str(n): str(n) * 300_000 for n in range(10)}
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.start("-w")
            server.send(*[server.call_message("write_file", {"filePath": f"f{n}", "content": text})
                          for n, text in texts.items() for _ in range(3)])
            server.process.send_signal(number)
            self.assertEqual(server.wait(), 0)
            self.assert_no_litter()
            for n, text in texts.items():
                path = self.root / f"f{n}"
                if path.exists():
                    self.assertEqual(path.read_text(), text)

    def test_after_kill_9_the_next_start_sweeps(self):
        chance = random.Random(9)
        old, new = "old " * 60_000, "new " * 60_000
        litter = 0
        for _ in range(12):
            for number in range(6):
                (self.root / f"f{number}").write_text(old)
            server = self.start("-w")
            calls = [("write_file", {"filePath": f"f{n}", "content": new}) for n in range(6)]
            calls += [("edit_file", {"filePath": f"f{n}", "oldString": "new", "newString": "new",
                                     "replaceAll": True})
                      for n in range(6)]
            calls += [("copy_file", {"sourcePath": "f0", "destinationPath": f"d/c{n}"})
                      for n in range(6)]
            server.send(*[server.call_message(*call) for call in calls])
            done = chance.randrange(1, len(calls) - 4)
            server.wait_until(lambda: len(server.answers) >= done)
            server.process.kill()
            server.wait()
            server.discard()
            litter += any(".gatehouse-" in name for name in mcp_client.picture(self.root))
            litter += (self.state / "gatehouse/temp").exists() and bool(
                os.listdir(self.state / "gatehouse/temp"))
            after = self.start("-w")
            after.good("list_files", dirPath=".")
            self.assertEqual(after.end(), 0)
            self.assert_no_litter()
            for number in range(6):
                self.assertIn((self.root / f"f{number}").read_text(), (old, new))
            for path in (self.root / "d").glob("*") if (self.root / "d").exists() else ():
                self.assertIn(path.read_text(), (old, new))
        self.assertGreater(litter, 0, "no round was killed in the middle of anything")

    def test_much_that_was_left_goes_while_the_next_one_serves(self):
        temp = self.state / "gatehouse/temp"
        many = self.root / "many"
        many.mkdir()
        for number in range(3000):
            (many / str(number)).touch()
        server = self.start("-w")
        server.good("delete", path="many")  # is kept for undoing it
        # The second is killed while it removes, and what it has not removed is the third's.
        for _ in range(2):
            server.process.kill()
            server.wait()
            server.discard()
            self.assertTrue(os.listdir(temp))
            server = self.start()
            server.good("list_files", dirPath=".")
        deadline = time.monotonic() + PATIENCE
        while len(os.listdir(temp)) > 1 or len(list(temp.parent.glob("journal-*"))) > 1:
            server.good("list_files", dirPath=".")
            self.assertLess(time.monotonic(), deadline)
        self.assertEqual(server.end(), 0)
        self.assert_no_litter()

    def test_one_that_lives_is_not_swept_by_another(self):
        (self.root / "a").write_text("first")
        server = self.start("-w")
        server.good("write_file", filePath="a", content="second")
        self.assertEqual(self.start("-w").end(), 0)
        self.assertEqual(server.good("undo_changes")["undone"][0]["outcome"], "restored")
        self.assertEqual((self.root / "a").read_text(), "first")

    def test_standard_descriptors_that_are_closed_are_no_trouble(self):
        """What is opened next would get their numbers, and answers would go into the record."""
        for closed in (0, 1, 2):
            server = mcp_client.Server(
                self.root, state=self.state,
                before=("/bin/sh", "-c", f'exec "$0" "$@" {closed}>&-'), reads=False)
            self.servers.append(server)
            server.is_modern = True
            try:
                server.send(server.message("tools/list"))
            except BrokenPipeError:
                pass
            self.assertEqual(server.end(), 0)
            for record in self.records():
                self.assertIn("operation", record)

    def test_refusals_are_errors_of_their_own(self):
        with self.assertRaises(Refused):
            self.start().request("resources/read", {"uri": "file:///etc/passwd"})


if __name__ == "__main__":
    mcp_client.main()
