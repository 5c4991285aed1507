#!/usr/bin/env python3
"""Every tool of `gatehouse mcp`: the shape of its result, and what it did to the disk."""
import base64
import io
import json
import os
import random
import string
import sys
import tarfile
import zipfile

sys.dont_write_bytecode = True  # not into the sources
import mcp_client
from mcp_client import Scene, picture
from media_scene import noise, pdf

PNG = b"\x89PNG\r\n\x1a\n" + bytes(24)
PDF = b"%PDF-1.4\n\xff\xfe\n"


def zstandard(content):
    """A frame of one block that is stored as it is: Python packs everything else."""
    assert len(content) < 128 << 10
    return b"\x28\xb5\x2f\xfd\x00\x58" + (len(content) << 3 | 1).to_bytes(3, "little") + content


class Tools(Scene):
    def setUp(self):
        super().setUp()
        self.server = self.start("--write")

    def put(self, name, content=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def twice(self, tool, /, **arguments):
        """The structure of a result that also travels as text."""
        result = self.server.call(tool, **arguments)
        self.assertFalse(result.get("isError"), result)
        self.assertEqual([block["type"] for block in result["content"]], ["text"])
        self.assertTrue(result["content"][0]["text"])
        return result["structuredContent"]

    def text(self, tool, /, **arguments):
        (block,) = self.server.call(tool, **arguments)["content"]
        return block["text"]


class Texts(Tools):
    """What a model reads: no escapes, and what the structure says besides in one last line."""

    def setUp(self):
        super().setUp()
        self.put("src/a.c", 'int main(void)\n{\n\treturn puts("x");\n}\n')
        self.put("b.txt", "1\n2\n3\n")

    def check(self):
        self.assertEqual(self.text("read_file", filePath="src/a.c"),
                         'int main(void)\n{\n\treturn puts("x");\n}\n')
        self.assertEqual(self.text("read_file", filePath="b.txt", maxLines=2),
                         "1\n2\n[truncated, totalLines 4, nextStartLine 3]")
        self.assertEqual(self.text("read_files", filePaths=["b.txt", "c"]),
                         "==> b.txt <==\n1\n2\n3\n==> c <==\n"
                         "[error c: not found; use list_files to see what exists]")
        self.assertEqual(self.text("search_files", query="x"), 'src/a.c\n3:\treturn puts("x");\n')
        self.assertEqual(self.text("search_files", query="nowhere"), "[no matches]")
        self.assertEqual(self.text("list_files", dirPath="."), "src/\nb.txt\t6\n")
        self.assertEqual(self.text("edit_file", filePath="b.txt", oldString="2", newString='"2"'),
                         '--- a/b.txt\n+++ b/b.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+"2"\n 3\n')
        self.assertEqual(self.text("read_file", filePath="../b"),
                         "../b is outside the root; paths are relative to the root")
        self.assertEqual(self.text("write_file", filePath="d", content=""), '{"path":"d"}')

    def test_texts_beside_the_structure(self):
        self.check()

    def test_texts_alone(self):
        self.server = self.start("--write", "--results", "text")
        for tool in self.server.request("tools/list")["tools"]:
            self.assertNotIn("outputSchema", tool)
        self.check()
        self.put("dot.png", b"\x89PNG\r\n\x1a\n" + bytes(24))
        for tool, arguments in (("read_file", {"filePath": "b.txt"}), ("list_files", {"dirPath": "."}),
                                ("stat_file", {"path": "b.txt"}), ("read_file", {"filePath": "dot.png"})):
            self.assertNotIn("structuredContent", self.server.call(tool, **arguments), tool)


class Reading(Tools):
    def test_read_file(self):
        for content, lines in (("one\ntwo\n", 3), ("", 1), ("a\n", 2), ("a\r\nb", 2),
                               ("\ufeffbom\n", 2), ("no end", 1)):
            self.put("a.txt", content)
            self.assertEqual(self.twice("read_file", filePath="a.txt"),
                             {"path": "a.txt", "content": content, "truncated": False,
                              "totalLines": lines})
        self.put("a.txt", "1\n2\n3\n4\n")
        told = self.twice("read_file", filePath="a.txt", startLine=-7, maxLines=2)
        self.assertEqual(told, {"path": "a.txt", "content": "1\n2", "truncated": True,
                                "totalLines": 5, "nextStartLine": 3})
        told = self.twice("read_file", filePath="./a.txt", startLine=4)
        self.assertEqual((told["path"], told["content"], told["truncated"]),
                         ("./a.txt", "4\n", False))

    def test_half_a_character_is_replaced(self):
        """Clients pass on what models write, who cut texts anywhere."""
        message = self.server.call_message("write_file", {"filePath": "a.txt", "content": "HERE"})
        text = json.dumps(message).replace("HERE", "x\\ud83d y\\ude00")
        self.server.send_bytes(text.encode() + b"\n")
        self.assertNotIn("isError", self.server.result(message["id"]))
        self.assertEqual((self.root / "a.txt").read_text(), "x\ufffd y\ufffd")

    def test_read_file_of_pictures_and_documents(self):
        self.put("i.png", PNG)
        path = self.put("d.pdf", PDF)
        blocks = self.server.call("read_file", filePath="i.png")["content"]
        self.assertEqual((blocks[0]["type"], blocks[0]["mimeType"]), ("image", "image/png"))
        block = self.server.call("read_file", filePath="d.pdf")["content"][0]
        self.assertEqual((block["type"], block["resource"]["uri"], block["resource"]["mimeType"]),
                         ("resource", path.as_uri(), "application/pdf"))

    def test_read_file_refuses_what_is_no_text(self):
        self.put("nul", b"a\0b")
        for name in ("nul", "missing"):
            self.assertIn(name, self.server.bad("read_file", filePath=name))
        self.server.bad("read_file", filePath=".")

    def test_read_file_converts_other_encodings(self):
        for encoding, name in (("latin-1", "iso-8859-1"), ("cp1252", "windows-1252"), ("utf-16", "utf-16le"),
                               ("utf-16-le", "utf-16le"), ("utf-16-be", "utf-16be")):
            text = "grün „so“\n" if encoding != "latin-1" else "grün\n"
            self.put("file", text.encode(encoding))
            result = self.server.good("read_file", filePath="file")
            self.assertEqual((result["content"], result["encoding"]), (text, name))
        # A long one is not taken for binary because of where its beginning ends.
        for mark in (b"", b"\xff\xfe"):
            self.put("file", mark + ("grün\n" * 2000).encode("utf-16-le"))
            self.assertIs(self.server.good("stat_file", filePath="file")["isBinary"], False)
            result = self.server.good("read_file", filePath="file", startLine=2000, maxLines=1)
            self.assertEqual((result["content"], result["encoding"]), ("grün", "utf-16le"))

    def test_read_files_reads_what_it_can(self):
        self.put("a", "one\ntwo\n")
        self.put("b", b"\0\1")
        files = self.server.good("read_files", filePaths=["a", "missing", "b"], maxLines=1)["files"]
        self.assertEqual((files[0]["content"], files[0]["nextStartLine"]), ("one", 2))
        self.assertIn("not found", files[1]["error"])
        self.assertIn("binary", files[2]["error"])
        files = self.server.good("read_files", filePaths=["../outside", "a", "~/b", "a"])["files"]
        self.assertEqual([file["path"] for file in files], ["../outside", "a", "~/b", "a"])
        self.assertEqual([file.get("content") for file in files], [None, "one\ntwo\n", None, "one\ntwo\n"])
        self.assertIn("outside the root", files[0]["error"])
        self.assertIn("~ is not expanded", files[2]["error"])
        self.assertIn("outside the root", self.server.bad("read_files", filePaths=["../outside", "~/b"]))
        self.server.bad("read_files", filePaths=[])

    def test_list_allowed_directories(self):
        self.assertEqual(self.server.good("list_allowed_directories"),
                         {"directories": [{"path": str(self.root), "access": "write"}]})

    def test_list_files(self):
        for name in ("z.txt", "a.txt", ".env", ".gitignore", ".hidden", "B/x", "node_modules/y"):
            self.put(name, name)
        (self.root / "link").symlink_to("a.txt")
        entries = self.twice("list_files", dirPath=".")["entries"]
        names = [entry["path"] for entry in entries]
        self.assertEqual(names[-5:], [".env", ".gitignore", ".hidden", "a.txt", "z.txt"])
        self.assertIn({"path": "B", "type": "directory"}, entries)
        self.assertIn({"path": "a.txt", "type": "file", "sizeBytes": 5}, entries)
        self.assertNotIn("link", names)
        listed = self.server.good("list_files", dirPath="B")
        self.assertEqual(listed["entries"], [{"path": "B/x", "type": "file", "sizeBytes": 3}])
        self.assertIn("missing: not found", self.server.bad("list_files", dirPath="missing"))
        self.assertEqual(len(self.server.good("list_files", dirPath=".", maxResults=2)["entries"]), 2)

    def test_list_files_shows_200_unless_told_otherwise(self):
        for number in range(250):
            self.put(f"many/f{number:03}")
        told = self.server.good("list_files", dirPath="many")
        self.assertEqual((len(told["entries"]), told["truncated"]), (200, True))
        self.assertEqual(told["entries"][-1]["path"], "many/f199")
        told = self.server.good("list_files", dirPath="many", maxResults=1000)
        self.assertEqual((len(told["entries"]), told.get("truncated", False)), (250, False))

    def test_get_file_tree(self):
        for name in ("b.txt", "a/deep/er/x", "a/y", "node_modules/m", ".git/config"):
            self.put(name)
        def tree(**arguments):
            result = self.server.call("get_file_tree", **arguments)
            self.assertNotIn("structuredContent", result)
            return result["content"][0]["text"].split("\n")
        self.assertEqual(tree(dirPath="."),
                         [f"{self.root}/", "  a/", "    deep/ (not opened: maxDepth)", "    y",
                          "  node_modules/ (not opened: excluded)", "  b.txt"])
        self.assertEqual(tree(dirPath="a", maxDepth=1),
                         [f"{self.root}/a/", "  deep/ (not opened: maxDepth)", "  y"])
        self.assertIn("        x", tree(dirPath=".", maxDepth=9))
        self.assertEqual(tree(dirPath="node_modules")[1:], ["  m"])

    def test_search_files(self):
        for name in ("a.ts", "src/b.ts", "src/C.TS", "src/x.js", "node_modules/n.ts"):
            self.put(name)
        self.assertEqual(self.twice("search_files", name="*.ts"),
                         {"name": "*.ts", "matches": [{"path": "src/b.ts"}, {"path": "a.ts"}],
                          "truncated": False, "totalMatches": 2,
                          "skipped": {"excluded": 1,
                                      "hint": "To search an excluded directory (node_modules "
                                              "and the like), name it as dirPath."}})
        found = self.twice("search_files", filePattern="src/*.ts", ignoreCase=True)
        self.assertEqual(found["totalMatches"], 2)
        found = self.twice("search_files", name="*.*", dirPath="src", maxResults=1)
        self.assertEqual((len(found["matches"]), found["truncated"], found["totalMatches"]),
                         (1, True, 3))

    def test_search_files_in_their_contents(self):
        self.put("src/a.c", "int main(void)\n{\n}\n")
        self.put("b.txt", "a main thing\n")
        self.assertEqual(self.twice("search_files", query="main", contextLines=1),
                         {"query": "main",
                          "matches": [{"path": "src/a.c", "lineNumber": 1,
                                       "line": "int main(void)", "after": ["{"]},
                                      {"path": "b.txt", "lineNumber": 1, "line": "a main thing"}],
                          "truncated": False, "totalMatches": 2})
        found = self.twice("search_files", pattern=r"^\w+ main\(", filePattern="*.c")
        self.assertEqual([match["path"] for match in found["matches"]], ["src/a.c"])

    def test_search_files_reads_other_encodings(self):
        text = "Erste\nschöne Größe\nvon früher\n"
        encodings = ("utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be")
        for encoding in encodings:
            self.put(encoding, text.encode(encoding))
        self.put("marked", b"\xfe\xff" + text.encode("utf-16-be"))
        self.put("binary", b"\0\1 Gr\xf6\xdfe")
        for arguments in ({"query": "Größe"}, {"query": "GRÖSSE".replace("SS", "ß"), "ignoreCase": True},
                          {"pattern": "^sch.ne Gr..e$"}, {"query": "sch", "contextLines": 1}):
            found = self.server.good("search_files", **arguments)
            self.assertEqual({match["path"]: match["line"] for match in found["matches"]},
                             dict.fromkeys((*encodings, "marked"), "schöne Größe"), arguments)
            self.assertEqual({match["lineNumber"] for match in found["matches"]}, {2})
            self.assertEqual(found["skipped"], {"binary": 1})
        self.assertEqual({tuple(match["after"]) for match in found["matches"]}, {("von früher",)})

    def test_search_files_reads_files_of_any_size(self):
        line = b"nothing to see in this line of the log\n"
        count = (3 << 20) // len(line)
        self.put("big.log", line * count + b"the needle\n" + line)
        found = self.server.good("search_files", query="needle", contextLines=1)
        self.assertEqual(found["matches"],
                         [{"path": "big.log", "lineNumber": count + 1, "line": "the needle",
                           "before": [line.decode()[:-1]], "after": [line.decode()[:-1]]}])
        self.assertEqual(self.server.good("search_files", query="log\"")["totalMatches"], 0)
        found = self.server.good("search_files", pattern="need..$", dirPath="big.log")
        self.assertEqual(found["matches"][0]["lineNumber"], count + 1)

    def test_search_files_shows_the_match_of_a_long_line(self):
        self.put("long.json", "x" * 200_000 + "needle" + "y" * 100_000 + "\nshort needle\n")
        for arguments in ({"query": "needle"}, {"pattern": "n[e]+dle"}):
            first, second = self.server.good("search_files", **arguments)["matches"]
            self.assertRegex(first["line"], "^…x+needley+…$")
            self.assertEqual((first["lineNumber"], len(first["line"])), (1, 202))
            self.assertEqual((second["lineNumber"], second["line"]), (2, "short needle"))

    def test_search_files_tells_what_it_left_out(self):
        for name in ("a.txt", "out/b.txt", "c.log", "d.log", "dist/e.txt", ".git/f", ".env"):
            self.put(name, "needle\n")
        self.put("g.bin", b"\0needle")
        self.put(".gitignore", "*.log\nout/\n")
        found = self.server.good("search_files", query="needle")
        self.assertEqual([match["path"] for match in found["matches"]], ["a.txt"])
        skipped = found["skipped"]
        for word in ("includeIgnored", "dirPath", "sensitive", "excluded"):
            self.assertIn(word, skipped["hint"])
        del skipped["hint"]
        self.assertEqual(skipped, {"binary": 1, "sensitive": 1, "ignored": 3, "excluded": 1})
        # Only what would have been found otherwise.
        skipped = self.server.good("search_files", query="needle", name="*.log")["skipped"]
        self.assertEqual((skipped["ignored"], skipped.get("sensitive")), (3, None))
        found = self.server.good("search_files", query="needle", includeIgnored=True)
        self.assertEqual(found["totalMatches"], 4)
        self.assertNotIn("includeIgnored", found["skipped"]["hint"])
        found = self.server.good("search_files", query="needle", dirPath="dist")
        self.assertEqual((found["totalMatches"], found.get("skipped")), (1, None))

    def test_stat_file(self):
        self.put("a.txt", "12345").chmod(0o640)
        told = self.twice("stat_file", path="a.txt")
        self.assertRegex(told.pop("modifiedAt"), r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d")
        self.assertEqual(told, {"path": "a.txt", "type": "file", "sizeBytes": 5, "mode": "0640",
                                "isBinary": False})
        self.assertEqual(self.twice("stat_file", path=".")["type"], "directory")
        self.server.bad("stat_file", path="missing")


class Writing(Tools):
    def test_write_file(self):
        self.assertEqual(self.twice("write_file", filePath="new/a.txt", content="ä\r\n"),
                         {"path": "new/a.txt"})
        self.assertEqual((self.root / "new/a.txt").read_bytes(), "ä\r\n".encode())
        path = self.put("mode", "old")
        path.chmod(0o754)
        self.twice("write_file", filePath="mode", content="new")
        self.assertEqual((path.read_text(), path.stat().st_mode & 0o777), ("new", 0o754))

    def test_append_file(self):
        for _ in range(2):
            self.assertEqual(self.twice("append_file", filePath="log", content="x\n"),
                             {"path": "log"})
        self.assertEqual((self.root / "log").read_text(), "x\nx\n")

    def test_edit_file(self):
        path = self.put("a.txt", "one $1 one\r\nend\r\n")
        self.assertIn("2 matches: line 1; add context or set replaceAll",
                      self.server.bad("edit_file", filePath="a.txt", oldString="one", newString="$&"))
        told = self.twice("edit_file", filePath="a.txt", oldString="one $1", newString="$& $1")
        self.assertEqual((told["path"], told["replacements"]), ("a.txt", 1))
        self.assertIn("+$& $1 one", told["diff"])
        self.assertEqual(path.read_bytes(), b"$& $1 one\r\nend\r\n")
        self.server.bad("edit_file", filePath="a.txt", oldString="nothing", newString="x")
        told = self.twice("edit_file", filePath="a.txt", oldString="end", newString="fin",
                          dryRun=True)
        self.assertIn("+fin", told["diff"])
        self.assertEqual(path.read_bytes(), b"$& $1 one\r\nend\r\n")

    def test_edit_files(self):
        self.put("a", "one")
        self.put("b", "two")
        before = picture(self.root)
        edits = [{"filePath": "a", "oldString": "one", "newString": "1"},
                 {"filePath": "a", "oldString": "1", "newString": "uno"},
                 {"filePath": "b", "oldString": "two", "newString": "due"}]
        told = self.twice("edit_files", edits=edits, dryRun=True)
        self.assertTrue(told["dryRun"] and "+uno" in told["diff"] and "+due" in told["diff"])
        bad = [*edits, {"filePath": "b", "oldString": "never", "newString": ""}]
        self.assertIn("3", self.server.bad("edit_files", edits=bad))
        self.assertEqual(picture(self.root), before)
        self.assertEqual(self.twice("edit_files", edits=edits),
                         {"files": [{"path": "a", "edits": 2, "replacements": 2},
                                    {"path": "b", "edits": 1, "replacements": 1}],
                          "dryRun": False, "diff": told["diff"]})
        self.assertEqual(((self.root / "a").read_text(), (self.root / "b").read_text()),
                         ("uno", "due"))

    def test_edits_keep_the_encoding(self):
        text = "eins\r\nschöne Größe\r\n"
        for encoding, name, mark in (("latin-1", "iso-8859-1", b""), ("utf-16-le", "utf-16le", b"\xff\xfe"),
                                     ("utf-16-be", "utf-16be", b"\xfe\xff"),
                                     ("utf-16-le", "utf-16le", b""), ("utf-16-be", "utf-16be", b"")):
            path = self.put("a.txt", mark + text.encode(encoding))
            told = self.twice("edit_file", filePath="a.txt", oldString="eins\nschöne",
                              newString="zwei\nhübsche", dryRun=True)
            self.assertEqual(path.read_bytes(), mark + text.encode(encoding))
            told = self.twice("edit_file", filePath="a.txt", oldString="eins\nschöne",
                              newString="zwei\nhübsche")
            self.assertEqual(told["encoding"], name)
            self.assertIn("-schöne Größe\r\n+zwei\r\n+hübsche Größe\r\n", told["diff"])
            self.assertEqual(path.read_bytes(),
                             mark + "zwei\r\nhübsche Größe\r\n".encode(encoding))
            told = self.twice("append_file", filePath="a.txt", content="drei")
            # ASCII is the same in Latin-1.
            self.assertEqual(told.get("encoding"), None if encoding == "latin-1" else name)
            told = self.twice("append_file", filePath="a.txt", content=" für dich")
            self.assertEqual(told, {"path": "a.txt", "encoding": name})
            self.assertEqual(path.read_bytes(),
                             mark + "zwei\r\nhübsche Größe\r\ndrei für dich".encode(encoding))
            self.server.good("undo_changes", count=3)
            self.assertEqual(path.read_bytes(), mark + text.encode(encoding))
        self.put("b.txt", "„Grüße“ an alle\n".encode("cp1252"))
        self.put("c.txt", "plain\n")
        told = self.twice("edit_files", edits=[
            {"filePath": "b.txt", "oldString": "“", "newString": "“ für 5 €"},
            {"filePath": "c.txt", "oldString": "plain", "newString": "schön"}])
        self.assertEqual([file.get("encoding") for file in told["files"]], ["windows-1252", None])
        self.assertEqual((self.root / "b.txt").read_text("cp1252"), "„Grüße“ für 5 € an alle\n")
        self.assertEqual((self.root / "c.txt").read_text("utf-8"), "schön\n")

    def test_a_character_that_the_encoding_lacks_changes_nothing(self):
        self.put("a.txt", "schön\n".encode("latin-1"))
        self.put("b.txt", "plain\n")
        before = picture(self.root)
        edits = [{"filePath": "b.txt", "oldString": "plain", "newString": "中"},
                 {"filePath": "a.txt", "oldString": "schön", "newString": "5 €"}]
        for tool, arguments in (("edit_file", edits[1]), ("edit_file", {**edits[1], "dryRun": True}),
                                ("edit_files", {"edits": edits}),
                                ("append_file", {"filePath": "a.txt", "content": "5 €"})):
            self.assertIn("a.txt: the file is iso-8859-1, which lacks the character '€' (U+20AC); "
                          "nothing was changed", self.server.bad(tool, **arguments))
            self.assertEqual(picture(self.root), before)
        # What is written whole is UTF-8, whatever was there.
        self.assertEqual(self.twice("write_file", filePath="a.txt", content="5 €"), {"path": "a.txt"})
        self.assertEqual((self.root / "a.txt").read_text("utf-8"), "5 €")

    def test_create_directory(self):
        for _ in range(2):
            self.assertEqual(self.twice("create_directory", dirPath="p/q/r"), {"path": "p/q/r"})
        self.assertTrue((self.root / "p/q/r").is_dir())

    def test_copy_file_and_move(self):
        self.put("a", "content")
        self.put("there", "old")
        ends = {"sourcePath": "a", "destinationPath": "new/b"}
        self.assertEqual(self.twice("copy_file", **ends), ends)
        self.assertEqual((self.root / "new/b").read_text(), (self.root / "a").read_text())
        ends = {"sourcePath": "new", "destinationPath": "moved/new"}
        self.assertEqual(self.twice("move", **ends), ends)
        self.assertEqual((self.root / "moved/new/b").read_text(), "content")
        self.assertFalse((self.root / "new").exists())
        self.twice("move", sourcePath="a", destinationPath="there")
        self.assertEqual((self.root / "there").read_text(), "content")
        self.server.bad("copy_file", sourcePath="moved", destinationPath="x")

    def test_delete(self):
        self.put("d/e/f", "x")
        self.assertEqual(self.server.good("delete", path="d")["path"], "d")
        self.assertFalse((self.root / "d").exists())
        self.put("stays")
        for name in (".", "", "./", "stays/..", str(self.root), "/"):
            self.server.bad("delete", path=name)
        self.assertEqual(set(picture(self.root)), {"stays"})

    def test_extract_archive(self):
        with zipfile.ZipFile(self.root / "z.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("in/f.txt", "abc")
        names = ["z.zip"]
        for packing in ("", "gz", "bz2", "xz"):
            names.append(f"t.tar.{packing}")
            with tarfile.open(self.root / names[-1], f"w:{packing}") as archive:
                info = tarfile.TarInfo("in/f.txt")
                info.size = 3
                archive.addfile(info, io.BytesIO(b"abc"))
        names.append("t.tar.zst")
        self.put(names[-1], zstandard((self.root / "t.tar.").read_bytes()))
        for name in names:
            told = self.twice("extract_archive", archivePath=name, destinationPath=f"{name}.d")
            self.assertEqual(told, {"destinationPath": f"{name}.d", "files": 1, "directories": 1,
                                    "bytes": 3})
            self.assertEqual((self.root / f"{name}.d/in/f.txt").read_bytes(), b"abc")
            self.server.bad("extract_archive", archivePath=name, destinationPath=f"{name}.d")

    def test_encrypted_archives_are_refused(self):
        with zipfile.ZipFile(self.root / "z.zip", "w") as archive:
            archive.writestr("f.txt", b"0123456789ab" + b"secret")
        plain = (self.root / "z.zip").read_bytes()
        central = plain.index(b"PK\1\2")
        # The mark of encryption, in one of its two places or in both, and the method of AES.
        for local, listed in ((True, True), (True, False), (False, True)):
            for method in (0, 99):
                marked = bytearray(plain)
                for at, is_marked in ((0, local), (central + 2, listed)):
                    if is_marked:
                        marked[at + 6] |= 1
                        marked[at + 8] = method
                self.put("z.zip", bytes(marked))
                self.server.bad("extract_archive", archivePath="z.zip", destinationPath="out")
                self.assertEqual(set(picture(self.root)), {"z.zip"})
        self.assertEqual(self.server.good("list_files", dirPath=".")["entries"][0]["path"], "z.zip")

    def test_archives_that_lead_outside_leave_nothing(self):
        for name, kind in (("../evil", tarfile.REGTYPE), ("/evil", tarfile.REGTYPE),
                           ("link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE),
                           ("pipe", tarfile.FIFOTYPE)):
            with tarfile.open(self.root / "bad.tar", "w") as archive:
                info = tarfile.TarInfo(name)
                info.type, info.linkname = kind, "../outside"
                archive.addfile(info)
            self.server.bad("extract_archive", archivePath="bad.tar", destinationPath="out")
            self.assertEqual(set(picture(self.root)), {"bad.tar"})
        self.assertEqual(picture(self.outside), {})

    def test_undo_changes_brings_the_first_tree_back(self):
        self.put("a", "first")
        self.put("d/e", "first")
        before = picture(self.root)
        for tool, arguments in (
            ("write_file", {"filePath": "a", "content": "2"}),
            ("append_file", {"filePath": "a", "content": "3"}),
            ("edit_file", {"filePath": "a", "oldString": "2", "newString": "x"}),
            ("write_file", {"filePath": "n/m", "content": "2"}),
            ("copy_file", {"sourcePath": "a", "destinationPath": "d/e"}),
            ("move", {"sourcePath": "d", "destinationPath": "n/d"}),
            ("create_directory", {"dirPath": "p/q"}),
            ("delete", {"path": "n"}),
        ):
            self.server.good(tool, **arguments)
        told = self.twice("undo_changes")
        self.assertEqual((told["undone"][0]["tool"], told["remaining"]), ("delete", 7))
        told = self.twice("undo_changes", all=True)
        self.assertEqual({change["outcome"] for change in told["undone"]}, {"restored"})
        self.assertEqual(picture(self.root), before)

    def test_undo_leaves_alone_what_somebody_else_changed(self):
        path = self.put("a", "first")
        self.server.good("write_file", filePath="a", content="second")
        path.write_text("somebody else's")
        told = self.twice("undo_changes")
        self.assertEqual(told["undone"][0]["outcome"], "skipped")
        self.assertTrue(told["undone"][0]["reason"])
        self.assertEqual(path.read_text(), "somebody else's")

    def test_a_full_round_of_writes_at_once(self):
        """Many at a time, in the same directory and on the same file: each is whole."""
        texts = [str(number) * 5000 for number in range(50)]
        self.server.call_all(
            [("write_file", {"filePath": f"f{n}", "content": text}) for n, text in enumerate(texts)]
            + [("write_file", {"filePath": "same", "content": text}) for text in texts]
            + [("append_file", {"filePath": "log", "content": f"{n}\n"}) for n in range(50)])
        for number, text in enumerate(texts):
            self.assertEqual((self.root / f"f{number}").read_text(), text)
        self.assertIn((self.root / "same").read_text(), texts)
        self.assertEqual(sorted((self.root / "log").read_text().split(), key=int),
                         [str(number) for number in range(50)])


class Arguments(Tools):
    def test_what_does_not_fit_names_the_field(self):
        for tool, arguments, field in (
            ("read_file", {}, "filePath"),
            ("read_file", {"filePath": 3}, "filePath"),
            ("read_file", {"filePath": "a", "maxLines": "many"}, "maxLines"),
            ("list_files", {"dirPath": ".", "type": "links"}, "type"),
            ("edit_files", {"edits": []}, "edits"),
            ("edit_files", {"edits": [{"filePath": "a", "oldString": "b"}]}, "newString"),
            ("search_files", {}, "name"),
        ):
            self.assertIn(field, self.server.bad(tool, **arguments))

    def test_unknown_arguments_are_refused(self):
        self.put("a", "x")
        self.assertIn("colour: unknown", self.server.bad("read_file", filePath="a", colour="red"))
        self.assertIn("did you mean startLine?", self.server.bad("read_file", filePath="a", strtLine=1))
        self.assertEqual(self.server.good("read_file", filePath="a", _colour="red")["content"], "x")

    def test_numbers_beyond_all_bounds_are_no_trouble(self):
        self.put("a", "1\n2\n")
        for number in (10**400, -10**400, 2**63, -2**63, 1e300, 0):
            self.server.call("read_file", filePath="a", startLine=number)
            self.server.call("read_file", filePath="a", maxLines=number)
            self.server.call("list_files", dirPath=".", maxResults=number)
            self.server.call("get_file_tree", dirPath=".", maxDepth=number)
            self.server.call("search_files", name="*", maxResults=number)
            self.server.call("undo_changes", count=number)
        self.assertEqual(self.server.good("read_file", filePath="a")["content"], "1\n2\n")

    def test_names_that_are_no_utf8_are_seen_and_harm_nothing(self):
        if os.path.supports_unicode_filenames:
            self.skipTest("names are Unicode here")
        (self.root / os.fsdecode(b"\xff\xfe.txt")).write_text("x")
        self.put("good.txt", "x")
        for result in (self.server.call("list_files", dirPath="."),
                       self.server.call("get_file_tree", dirPath="."),
                       self.server.call("search_files", name="*.txt"),
                       self.server.request("resources/list")):
            self.assertIn("good.txt", json.dumps(result))


class Large(Tools):
    """Images and documents over the limit, which another process makes smaller."""

    def read(self, name, **arguments):
        result = self.server.call("read_file", filePath=name, **arguments)
        words = json.dumps(result)
        if result.get("isError") and "not installed" in words:
            print("skipped: libvips or libqpdf is not installed")
            self.skipTest("not installed")
        self.assertFalse(result.get("isError"), words[:1000])
        return result

    def test_an_image_is_scaled_down(self):
        content = noise(800, 600)
        self.assertGreater(len(content), 512 << 10)
        self.put("a.png", content)
        result = self.read("a.png")
        image, words = result["content"]
        self.assertEqual((image["type"], image["mimeType"]), ("image", "image/jpeg"))
        smaller = base64.b64decode(image["data"])
        self.assertTrue(smaller.startswith(b"\xff\xd8\xff"))
        self.assertLessEqual(len(smaller), 512 << 10)
        about = result["structuredContent"]
        self.assertEqual(json.loads(words["text"]), about)
        self.assertEqual((about["sizeBytes"], about["totalBytes"]), (len(smaller), len(content)))
        self.assertIn("800 x 600", about["note"])

    def test_a_document_comes_in_pages(self):
        letters = string.ascii_letters + string.digits
        self.put("a.pdf", pdf(*("".join(random.Random(i).choices(letters, k=40000)) for i in range(30))))
        page, seen, calls = 1, 0, 0
        while page:
            result = self.read("a.pdf", startPage=page)
            about = result["structuredContent"]
            resource = result["content"][0]["resource"]
            self.assertEqual(resource["mimeType"], "application/pdf")
            part = base64.b64decode(resource["blob"])
            self.assertTrue(part.startswith(b"%PDF-") and len(part) <= 512 << 10)
            self.assertEqual((about["startPage"], about["totalPages"]), (page, 30))
            seen += about["endPage"] - about["startPage"] + 1
            page, calls = about.get("nextStartPage"), calls + 1
        self.assertEqual(seen, 30)
        self.assertGreater(calls, 1)
        result = self.server.call("read_file", filePath="a.pdf", startPage=31)
        self.assertIn("the document has 30 pages", result["content"][0]["text"])

    def test_what_cannot_be_made_smaller_is_refused(self):
        self.put("a.png", PNG + bytes(1 << 20))
        self.put("a.pdf", PDF + bytes(1 << 20))
        for name in ("a.png", "a.pdf"):
            result = self.server.call("read_file", filePath=name)
            self.assertTrue(result["isError"])
            self.assertIn("the limit is 524288 bytes", result["content"][0]["text"])
        self.put("b.txt", "text")
        self.assertEqual(self.text("read_file", filePath="b.txt"), "text")


if __name__ == "__main__":
    mcp_client.main()
