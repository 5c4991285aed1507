#!/usr/bin/env python3
"""Calls as agents write them get the answers they need: tests/data/agent-calls.jsonl, whose fields
tests/data/README.md explains."""
import json
import pathlib
import shutil

import mcp_client
from mcp_client import Refused, Scene, picture

DATA = pathlib.Path(__file__).resolve().parent.parent / "data/agent-calls.jsonl"
LEAST = 300  # so that a file that was cut does not pass


def plant(root, files):
    for name, content in files.items():
        path = root / name
        if content is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode())


def contents(root):
    return {name: content.decode() for name, (_, content) in picture(root).items()
            if content is not None}


class AgentCalls(Scene):
    def reset(self, tree, changes):
        for path in self.root.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        gone = {name for name, content in changes.items() if content is None}
        plant(self.root, {name: content for name, content in tree.items() if name not in gone})
        plant(self.root, {name: content for name, content in changes.items() if content is not None})

    def answer(self, server, case):
        """The text, the structured result, and whether it is an error."""
        arguments = json.loads(json.dumps(case["arguments"]).replace("{ROOT}", str(self.root)))
        try:
            result = server.call(case["tool"], **arguments)
        except Refused as refused:
            return str(refused), None, True
        return (result["content"][0].get("text", ""), result.get("structuredContent"),
                result.get("isError", False))

    def check(self, server, case):
        before = contents(self.root)
        text, structured, is_error = self.answer(server, case)
        self.assertEqual(is_error, "error" in case, text)
        for words in [*case.get("error", []), *case.get("text", [])]:
            self.assertIn(words.replace("{ROOT}", str(self.root)), text)
        for words in case.get("lacks", []):
            self.assertNotIn(words, text)
        for key, value in case.get("is", {}).items():
            self.assertEqual(structured.get(key), value, text)
        for key, words in case.get("has", {}).items():
            self.assertIn(words, structured.get(key, ""))
        if "paths" in case:
            found = structured.get("entries", structured.get("matches"))
            self.assertEqual([entry["path"] for entry in found], case["paths"])
        wanted = dict(before)
        for name, content in case.get("after", {}).items():
            wanted[name] = content
        self.assertEqual(contents(self.root),
                         {name: content for name, content in wanted.items() if content is not None})

    def test_each_call_gets_its_answer(self):
        lines = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
        tree, cases = lines[0]["tree"], lines[1:]
        self.assertGreaterEqual(len(cases), LEAST)
        self.assertEqual(len({case["id"] for case in cases}), len(cases), "an id stands there twice")
        server = self.start("--write")
        is_fresh = False
        for case in cases:
            if not is_fresh or "files" in case:
                self.reset(tree, case.get("files", {}))
            with self.subTest(case["id"]):
                self.check(server, case)
            is_fresh = case["tool"] not in mcp_client.WRITING and "files" not in case


if __name__ == "__main__":
    mcp_client.main()
