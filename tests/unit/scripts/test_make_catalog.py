#!/usr/bin/env python3
"""Shows that scripts/make-catalog refuses each kind of bad file by name, and what it writes."""
import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
MAKE = ROOT / "scripts/make-catalog"
COMPILER = os.environ.get("CC", "cc")

READ = {
    "name": "read_note",
    "title": "Read a note",
    "group": "filesystemRead",
    "provider": "files",
    "order": 1,
    "description": ["Reads a note.", "Notes are short."],
    "annotations": {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True,
                    "openWorldHint": False, "category": "filesystem"},
    "inputSchema": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Which one."},
            "dirPath": {"type": "string", "description": "Where."},
            "parts": {
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "description": "Which parts.",
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "description": "Its name."}},
                    "required": ["name"],
                },
            },
        },
        "required": ["path"],
    },
    "outputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
    "resources": [{"argument": "path", "access": "reads"},
                  {"argument": "parts[].name", "access": "reads"},
                  {"argument": "dirPath", "access": "lists", "fallback": ""}],
}
WRITE = {
    "name": "drop_note",
    "title": "Drop a note",
    "group": "filesystemWrite",
    "provider": "files",
    "order": 1,
    "description": "Drops a note.",
    "annotations": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False,
                    "openWorldHint": False, "category": "filesystem"},
    "inputSchema": {"type": "object", "properties": {}},
    "resources": [],
}


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="gatehouse-catalog-")
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name).resolve()
        self.folder = self.root / "catalog"
        self.folder.mkdir()
        self.tool = copy.deepcopy(READ)

    def write(self, tool, name=None):
        path = self.folder / f"{name or tool['name']}.json"
        path.write_text(tool if isinstance(tool, str) else json.dumps(tool))

    def make(self, *options):
        return subprocess.run([MAKE, *options, self.folder], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)

    def makes(self):
        """The table in C, the header, the page and the listings in C."""
        paths = [self.root / name for name in ("t.c", "toolids.h", "tools.md", "l.c")]
        done = self.make("--c", paths[0], "--header", paths[1], "--page", paths[2], "--listings", paths[3])
        self.assertEqual(done.returncode, 0, done.stdout)
        return [path.read_text() for path in paths]

    def refuses(self, complaint, name="read_note"):
        out = self.root / "out.c"
        done = self.make("--c", out)
        self.assertEqual(done.returncode, 1, "it was accepted")
        self.assertIn(f"{self.folder / name}.json", done.stdout)
        self.assertIn(complaint, done.stdout)
        self.assertEqual(done.stdout.count("\n"), 1, done.stdout)
        self.assertFalse(out.exists(), "something was written all the same")

    def refuses_tool(self, complaint):
        self.write(self.tool, "read_note")
        self.refuses(complaint)


class Files(Case):
    def test_an_empty_folder(self):
        done = self.make("--c", self.root / "out.c")
        self.assertEqual(done.returncode, 1)
        self.assertIn("contains no tool", done.stdout)

    def test_what_is_no_json_is_refused_with_its_line(self):
        self.write('{\n"name": oops}', "read_note")
        self.refuses("read_note.json:2:")

    def test_what_is_no_utf8(self):
        (self.folder / "read_note.json").write_bytes(b'{"name": "\xff"}')
        self.refuses("not UTF-8")

    def test_a_key_twice(self):
        self.write('{"name": "a", "name": "b"}', "read_note")
        self.refuses("name is there twice")

    def test_a_number_that_is_none(self):
        self.write('{"order": NaN}', "read_note")
        self.refuses("NaN is not JSON")

    def test_a_file_that_is_no_object(self):
        self.write("[]", "read_note")
        self.refuses("must be an object")

    def test_a_name_that_is_not_the_files(self):
        self.write(self.tool, "other")
        self.refuses("must be the file's, other", "other")

    def test_names_that_are_too_much_alike(self):
        self.write(self.tool)
        self.tool |= {"name": "readnote", "order": 2}
        self.write(self.tool)
        self.refuses("too similar", "readnote")

    def test_names_of_other_servers(self):
        self.tool["knownAs"] = ["cat", "show_note"]
        self.write(self.tool)
        source, _, _, _ = self.makes()
        self.assertIn('    STR_LITERAL("cat"),\n    STR_LITERAL("show_note"),\n', source)
        for wrong in (["Cat"], [1], "cat", ["readnote"]):
            self.tool["knownAs"] = wrong
            self.refuses_tool("knownAs: ")
        self.tool["knownAs"] = ["other_note"]
        self.write(self.tool)
        self.write(self.tool | {"name": "other", "order": 2, "knownAs": ["othernote"]})
        self.refuses("too similar")

    def test_two_tools_in_one_place(self):
        self.write(self.tool)
        self.tool["name"] = "write_note"
        self.write(self.tool)
        self.refuses("1 is read_note's place in filesystemRead", "write_note")


class Fields(Case):
    def test_each_field_is_needed(self):
        for field in set(READ) - {"outputSchema"}:
            with self.subTest(field):
                self.tool = copy.deepcopy(READ)
                del self.tool[field]
                self.refuses_tool(f"lacks {field}")

    def test_an_unknown_field(self):
        self.tool["summary"] = "short"
        self.refuses_tool("summary is not a known field")

    def test_names_that_other_programs_would_not_take(self):
        for name in ("Read", "1read", "read-note", "", "read note", "ré", 5, "count", "a\n"):
            with self.subTest(name):
                self.tool["name"] = name
                self.refuses_tool("name: ")

    def test_an_unknown_group(self):
        self.tool["group"] = "files"
        self.refuses_tool("group: must be one of filesystemRead, ")

    def test_an_order_that_is_no_whole_number(self):
        for order in (1.5, "1", True, None):
            with self.subTest(order):
                self.tool["order"] = order
                self.refuses_tool("order: must be a whole number")

    def test_descriptions_without_words(self):
        for text in ("", [], ["good", ""], 5, "two\nlines", " blank", "bell\a"):
            with self.subTest(text):
                self.tool["description"] = text
                self.refuses_tool("description: ")

    def test_a_missing_hint(self):
        del self.tool["annotations"]["openWorldHint"]
        self.refuses_tool("annotations: lacks openWorldHint")

    def test_a_hint_that_is_no_boolean(self):
        self.tool["annotations"]["openWorldHint"] = 0
        self.refuses_tool("openWorldHint: must be a boolean")

    def test_an_unknown_hint(self):
        self.tool["annotations"]["readonlyHint"] = True
        self.refuses_tool("readonlyHint is not a known field")

    def test_a_category_of_another_group(self):
        self.tool["annotations"]["category"] = "shell"
        self.refuses_tool("category: must be one of filesystem")

    def test_a_reading_tool_that_destroys(self):
        self.tool["annotations"]["destructiveHint"] = True
        self.refuses_tool("what only reads destroys nothing")

    def test_hints_that_contradict_the_group(self):
        self.tool["annotations"]["readOnlyHint"] = False
        self.refuses_tool("does not go with filesystemRead")


class Schemas(Case):
    def setUp(self):
        super().setUp()
        self.input = self.tool["inputSchema"]
        self.properties = self.input["properties"]

    def test_the_words_are_those_of_the_c_code(self):
        source = (ROOT / "src/base/schema/words.c").read_text()
        _, _, table = source.partition("words[] = {")
        known = {*re.findall(r'\{STR_LITERAL\("([^"]+)"\)', table), "$ref"}
        listed = re.search(r'SCHEMA_WORDS = set\(\s*"""(.*?)"""', MAKE.read_text(), re.DOTALL)
        self.assertEqual(set(listed[1].split()), known)

    def test_a_schema_that_is_no_object(self):
        self.input["type"] = "array"
        self.refuses_tool('inputSchema: must have the type "object"')

    def test_an_unknown_word_anywhere(self):
        for place in (self.input, self.properties["path"], self.properties["parts"]["items"],
                      self.tool["outputSchema"]):
            place["pattern"] = "x"
            self.refuses_tool("base/schema does not know pattern")
            del place["pattern"]

    def test_an_unknown_type(self):
        self.properties["path"]["type"] = "text"
        self.refuses_tool("inputSchema.path.type: must be one of")

    def test_words_with_a_value_that_makes_no_sense(self):
        for word, value in (("enum", []), ("enum", "a"), ("minLength", -1), ("maxItems", "3"),
                            ("items", True), ("required", "path"), ("properties", []),
                            ("anyOf", {}), ("definitions", []), ("type", [])):
            with self.subTest(word=word, value=value):
                self.properties["path"] = {"type": "string", "description": "Which.", word: value}
                self.refuses_tool(f"inputSchema.path.{word}: must be ")

    def test_an_argument_without_type_or_description(self):
        for word in ("type", "description"):
            with self.subTest(word):
                inner = copy.deepcopy(READ["inputSchema"]["properties"])
                del inner["parts"]["items"]["properties"]["name"][word]
                self.input["properties"] = inner
                self.refuses_tool(f"inputSchema.parts.items.name: lacks a {word}")

    def test_a_required_argument_that_is_none(self):
        self.input["required"] = ["paht"]
        self.refuses_tool("inputSchema.required: there is no property paht")

    def test_a_form_that_requires_what_is_none(self):
        self.input["anyOf"] = [{"required": ["path"]}, {"required": ["pattern"]}]
        self.refuses_tool("inputSchema.anyOf[1].required: there is no property pattern")

    def test_an_empty_list_of_forms(self):
        self.input["anyOf"] = []
        self.refuses_tool("inputSchema.anyOf: must be a list of at least one")

    def test_a_schema_that_refuses_unknown_arguments(self):
        self.input["additionalProperties"] = False
        self.refuses_tool("refuses unknown arguments")

    def test_an_alias_of_nothing(self):
        self.tool["aliases"] = {"colour": ["color"]}
        self.refuses_tool("aliases.colour: is no argument")

    def test_an_alias_of_two_arguments(self):
        for aliases in ({"path": ["dir_path"]}, {"path": ["x", "X"]}, {"path": ["x"], "dirPath": ["-x"]}):
            self.tool["aliases"] = aliases
            self.refuses_tool("is taken")

    def test_an_alias_inside_a_list(self):
        self.tool["aliases"] = {"parts[].name": ["title"]}
        self.write(self.tool)
        source, _, page, _ = self.makes()
        self.assertIn('STR_LITERAL("title")', source)
        self.assertIn("`title` for `parts[].name`", page)
        self.tool["aliases"] = {"parts[].path": ["title"]}
        self.refuses_tool("is no argument")

    def test_an_alias_that_is_a_list_or_a_boolean(self):
        self.tool["aliases"] = {"path": [{"name": "both", "item": 0}], "dirPath": [{"name": "both", "item": 1}]}
        self.write(self.tool)
        source, _, page, _ = self.makes()
        self.assertIn('.folded = STR_LITERAL("both"), .item = 1}', source)
        self.assertIn("`both[0]` for `path`", page)
        self.tool["aliases"]["dirPath"][0]["item"] = 0
        self.refuses_tool("is taken")
        for other in ({"name": "a"}, {"name": "a", "item": True}, {"name": "a", "values": {"true": "x"}}):
            self.tool["aliases"] = {"path": [other]}
            self.refuses_tool("must")

    def test_what_is_assumed_for_a_required_text(self):
        self.tool["assumed"] = {"path": "."}
        self.write(self.tool)
        source, _, page, _ = self.makes()
        self.assertIn('.assumed = STR_LITERAL(\n            ".")', source)
        self.assertIn("`.` for `path`", page)
        for assumed in ({"colour": "."}, {"dirPath": "."}, {"path": 1}):
            self.tool["assumed"] = assumed
            self.refuses_tool("assumed.")

    def test_an_ignored_argument_has_no_name_of_another(self):
        self.tool["ignored"] = ["slowly", "parts[].kind"]
        self.write(self.tool)
        source, _, page, _ = self.makes()
        self.assertEqual(source.count(".is_ignored = true"), 2)
        self.assertIn("Accepted and ignored: `slowly`, `parts[].kind`.", page)
        self.tool["aliases"] = {"path": ["file"]}
        for name in ("path", "FILE", "nothing[].x", "parts[].name"):
            self.tool["ignored"] = [name]
            self.refuses_tool(f"ignored: {name} is")

    def test_an_unlisted_argument_that_is_required_or_missing(self):
        self.tool["unlisted"] = ["path"]
        self.refuses_tool("path is required")
        self.tool["unlisted"] = ["colour"]
        self.refuses_tool("colour is no argument")


class Resources(Case):
    def refuses_resource(self, complaint, **resource):
        self.tool["resources"] = [resource]
        self.refuses_tool(f"resources[0]: {complaint}")

    def test_an_argument_that_is_none(self):
        self.refuses_resource("filePath is not an argument", argument="filePath", access="reads")
        self.refuses_resource("parts[].path is no", argument="parts[].path", access="reads")

    def test_an_argument_that_is_no_string(self):
        self.refuses_resource("parts is not a string", argument="parts", access="reads")

    def test_a_list_that_is_none(self):
        self.refuses_resource("path is not a list", argument="path[]", access="reads")

    def test_an_unknown_access(self):
        self.refuses_resource("must be one of reads, writes", argument="path", access="opens")

    def test_a_reading_tool_that_writes(self):
        self.refuses_resource("a tool that only reads", argument="path", access="writes")

    def test_a_fallback_that_is_never_used(self):
        self.refuses_resource("path is required", argument="path", access="reads", fallback="")

    def test_an_unknown_field(self):
        self.refuses_resource("acces is not a known field", argument="path", access="reads", acces="x")

    def test_a_command_is_run_by_the_shell_alone(self):
        self.refuses_resource("a tool that only reads", argument="path", access="executes")
        self.tool["annotations"]["readOnlyHint"] = False
        self.tool["group"] = "filesystemWrite"
        self.refuses_resource("commands are run by tools", argument="path", access="executes")

    def make_shell(self):
        self.tool["annotations"].update(readOnlyHint=False, category="shell")
        self.tool["group"] = "shell"

    def test_the_shell_touches_no_files_by_itself(self):
        self.make_shell()
        self.refuses_resource("commands are run by tools", argument="path", access="writes")

    def test_a_directory_is_a_commands(self):
        self.refuses_resource("only what is executed", argument="path", access="reads",
                              directory="dirPath")
        self.make_shell()
        self.refuses_resource("elsewhere is not an argument", argument="path", access="executes",
                              directory="elsewhere")
        self.tool["resources"] = [{"argument": "path", "access": "executes",
                                   "directory": "dirPath"}]
        self.write(self.tool)
        source, _, page, _ = self.makes()
        self.assertRegex(source, r"\.access = CATALOG_EXECUTES,\s+\.directory = STR_LITERAL")
        self.assertIn("executes `path` in `dirPath`", page)

    def test_an_argument_twice(self):
        self.tool["resources"] = [{"argument": "path", "access": "reads"}] * 2
        self.refuses_tool("resources[1]: path is listed twice")


class Output(Case):
    def setUp(self):
        super().setUp()
        self.write(WRITE)
        self.write(self.tool)

    def test_reading_comes_first(self):
        _, header, page, _ = self.makes()
        self.assertRegex(header, r"TOOL_READ_NOTE,\s+TOOL_DROP_NOTE,\s+TOOL_COUNT,")
        self.assertLess(page.index("## read_note"), page.index("## drop_note"))

    def test_the_same_files_give_the_same_output(self):
        self.assertEqual(self.makes(), self.makes())

    def test_the_page_has_the_arguments_of_lists_too(self):
        page = self.makes()[2]
        self.assertIn("| `parts` | array, 1 to 3 items | no | Which parts. |", page)
        self.assertIn("| `parts[].name` | string | yes | Its name. |", page)
        self.assertIn("Reads a note. Notes are short.", page)

    def test_a_page_that_is_behind_is_named_with_its_line(self):
        page = self.root / "tools.md"
        self.assertEqual(self.make("--page", page).returncode, 0)
        self.assertEqual(self.make("--check", page).returncode, 0)
        lines = page.read_text().splitlines()
        page.write_text("\n".join([*lines[:4], "Another line.", *lines[5:]]) + "\n")
        done = self.make("--check", page)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{page}:5: is behind the catalogue", done.stdout)

    @unittest.skipIf(shutil.which(COMPILER) is None, f"not installed: {COMPILER}")
    def test_any_text_comes_through_the_compiler(self):
        text = 'Quotes " and \\ back, ??/ ??= trigraphs, ü 9, 日本 0, %s /* */ '
        text += "long " * 60 + "end"
        self.tool["description"] = text
        self.write(self.tool)
        source, header, _, listings = self.makes()
        self.assertTrue(all(len(line) <= 100 for line in (source + listings).splitlines()))
        (self.root / "protocol").mkdir()
        (self.root / "protocol/toolids.h").write_text(header)
        (self.root / "main.c").write_text(
            '#include <stdio.h>\n#include "protocol/catalog.h"\n#include "protocol/toolids.h"\n'
            "int main(void)\n{\n"
            "    for (size_t i = 0; i < catalog_tool_count; i++)\n"
            "        printf(\"%.*s\\n\", STR_ARG(catalog_listings[i].text));\n"
            "    printf(\"%.*s\\n\", STR_ARG(catalog_listings[TOOL_READ_NOTE].output));\n"
            "    printf(\"%.*s\\n\", STR_ARG(catalog_tools[TOOL_READ_NOTE].input_schema));\n"
            "    printf(\"%s|%zu\\n\", catalog_tools[TOOL_READ_NOTE].resources[2].fallback.ptr,\n"
            "           catalog_tools[TOOL_DROP_NOTE].resource_count);\n    return 0;\n}\n")
        program = self.root / "main"
        subprocess.run([*COMPILER.split(), "-std=gnu17", "-Wall", "-Wextra", "-Werror",
                        f"-I{self.root}", f"-I{ROOT / 'src'}", "-o", program,
                        self.root / "main.c", self.root / "t.c", self.root / "l.c"], check=True)
        lines = subprocess.run([program], capture_output=True, check=True).stdout.decode()
        first, second, output, schema, rest = lines.splitlines()
        wanted = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"]
        self.assertEqual(list(json.loads(first)), wanted)
        self.assertEqual(json.loads(first), {field: self.tool[field] for field in wanted})
        self.assertNotIn("outputSchema", json.loads(second))
        self.assertEqual(json.loads("{" + output.removeprefix(",") + "}"), {"outputSchema": self.tool["outputSchema"]})
        self.assertEqual(json.loads(first.replace(output, "")).keys(), {*wanted} - {"outputSchema"})
        self.assertNotIn("description", schema)
        self.assertEqual(json.loads(schema)["properties"]["parts"]["items"],
                         {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
        self.assertEqual(rest, "|0")

    def test_the_depfile_names_the_folder_and_its_files(self):
        names = [self.root / name for name in ("t.c", "toolids.h", "t.d", "l.c")]
        done = self.make("--c", names[0], "--header", names[1], "--depfile", names[2], "--listings", names[3])
        self.assertEqual(done.returncode, 0, done.stdout)
        outputs, _, inputs = names[2].read_text().partition(":")
        self.assertEqual(outputs.split(), [str(names[0]), str(names[3]), str(names[1])])
        self.assertEqual(inputs.split(), [str(self.folder), str(self.folder / "drop_note.json"),
                                          str(self.folder / "read_note.json")])


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=0)
    result = program.result
    skipped = len(result.skipped)
    failed = len(result.failures) + len(result.errors)
    for case, reason in result.skipped:
        print(f"skipped: {case.id()}: {reason}")
    print(f"{result.testsRun - skipped - failed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or result.testsRun == skipped else 0)
