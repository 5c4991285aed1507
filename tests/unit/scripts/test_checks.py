#!/usr/bin/env python3
"""Shows for every check of `make lint` that it lets a good tree pass and catches each violation.

Each case builds a small tree in a temporary directory and runs the real check on it. A case whose
tool is not installed is skipped; the last line counts.
"""
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / "scripts"
LICENCE = "/* SPDX-License-Identifier: Apache-2.0 */\n"
COMPILER = os.environ.get("CC", "cc")


def needs(*tools):
    missing = [tool for tool in tools if shutil.which(tool) is None]
    return unittest.skipIf(missing, f"not installed: {' '.join(missing)}")


def header(guard, body=""):
    return f"{LICENCE}#ifndef {guard}\n#define {guard}\n{body}\n#endif\n"


class Case(unittest.TestCase):
    """A tree of its own for every test, and what to ask of a check."""

    check = ""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="gatehouse-checks-")
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name).resolve()

    def write(self, name, content=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        return path

    def git(self):
        subprocess.run(["git", "init", "--quiet", self.root], check=True)

    def run_check(self, *arguments):
        # The settings of a repository around this one must not reach the tree.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        return subprocess.run(
            [SCRIPTS / f"check-{self.check}", *arguments, self.root], text=True, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )

    def passes(self):
        done = self.run_check()
        self.assertEqual(done.returncode, 0, done.stdout)

    def complains(self, *fragments):
        done = self.run_check()
        self.assertNotEqual(done.returncode, 0, "the check saw nothing")
        for fragment in fragments:
            self.assertIn(fragment, done.stdout)


class Layers(Case):
    check = "layers"

    def setUp(self):
        super().setUp()
        self.write("src/base/err.h", header("BASE_ERR_H", "#include <stddef.h>"))
        self.write("src/base/err.c", f'{LICENCE}#include "base/err.h"\n\n#include <string.h>\n')
        self.write("src/loop/loop.h", header("LOOP_LOOP_H", '#include "base/err.h"'))
        self.write("src/loop/loop.c", f'{LICENCE}#include "loop/loop.h"\n\n#include <uv.h>\n')
        self.write("src/programs/gatehouse/main.c", f'{LICENCE}#include <stdio.h>\n\n#include "loop/loop.h"\n')

    def include(self, path, line):
        text = (self.root / path).read_text() if (self.root / path).exists() else LICENCE
        self.write(path, text + line + "\n")

    def test_a_good_tree_passes(self):
        self.passes()

    def test_an_arrow_up(self):
        self.include("src/base/err.c", '#include "loop/loop.h"')
        self.complains('src/base/err.c:5: "loop/loop.h": base may include itself and nothing')

    def test_an_arrow_between_programs(self):
        self.include("src/programs/gatehouse/main.c", '#include "programs/connect/dispatch.h"')
        self.complains("src/programs/gatehouse/main.c:5:")

    def test_a_detour_through_dots(self):
        self.include("src/base/err.c", '# include "base/../loop/loop.h"')
        self.complains("src/base/err.c:5:")

    def test_a_project_header_in_angle_brackets(self):
        self.include("src/base/err.c", "#include <loop/loop.h>")
        self.complains("src/base/err.c:5:")

    def test_an_include_through_a_macro(self):
        self.include("src/base/err.c", "#include HIDDEN_HEADER")
        self.complains("src/base/err.c:5:")

    def test_a_name_of_two_structs(self):
        self.write("src/base/err.h", header("BASE_ERR_H", "struct call {\n    int code;\n};"))
        self.write("src/loop/loop.h", header("LOOP_LOOP_H", "struct call;\nstruct call {\n    int id;\n};"))
        self.complains("src/loop/loop.h:5: struct call is also the name of something in src/base/err.h")

    def test_a_library_in_the_wrong_layer(self):
        self.include("src/base/err.c", "#include <uv.h>")
        self.complains("src/base/err.c:5: <uv.h>: only loop, net")

    def test_an_unknown_library(self):
        self.include("src/base/err.c", "#include <jansson.h>")
        self.complains("src/base/err.c:5: <jansson.h>")

    def test_an_unknown_folder(self):
        self.include("src/helpers/misc.c", '#include "base/err.h"')
        self.complains("src/helpers/misc.c:1:")

    def test_a_file_in_no_layer(self):
        self.write("src/stray.c", LICENCE)
        self.complains("src/stray.c:1:")

    def test_the_own_header_comes_first(self):
        self.write("src/base/err.c", f'{LICENCE}#include <string.h>\n#include "base/err.h"\n')
        self.complains("src/base/err.c:1: its own header")

    def test_without_an_own_header_one_of_the_layer_comes_first(self):
        self.include("src/base/other.c", "#include <string.h>")
        self.complains("src/base/other.c:1:")

    def test_a_guard_with_another_name(self):
        self.write("src/base/err.h", header("ERR_H"))
        self.complains("src/base/err.h:1: the include guard BASE_ERR_H")

    def test_code_behind_the_guard(self):
        self.include("src/base/err.h", "int stray;")
        self.complains("src/base/err.h:1:")

    def test_a_missing_licence(self):
        self.write("tests/unit/base/test_err.c", "#include <stddef.h>\n")
        self.complains("tests/unit/base/test_err.c:1:")

    def test_installed_headers_need_no_more_than_base(self):
        self.write("include/gatehouse/gatehouse.h",
                   header("GATEHOUSE_GATEHOUSE_H", '#include "loop/loop.h"'))
        self.complains("include/gatehouse/gatehouse.h:4:")


@needs(COMPILER.split()[0], "nm")
class FileCalls(Case):
    check = "file-calls"

    def setUp(self):
        super().setUp()
        (self.root / "build").mkdir()
        self.commands = []
        self.compile("src/base/plain.c", "int plain(void);\nint plain(void) { return 1; }\n")

    def compile(self, name, text, *options):
        self.write(name, text)
        output = name.replace("/", "_") + ".o"
        command = [*COMPILER.split(), *options, "-o", output, "-c", f"../{name}"]
        subprocess.run(command, cwd=self.root / "build", check=True)
        self.commands.append({
            "directory": str(self.root / "build"), "command": " ".join(command),
            "file": f"../{name}", "output": output,
        })
        self.write("build/compile_commands.json", json.dumps(self.commands))

    def opens(self, name, *options):
        self.compile(name, "#include <fcntl.h>\nint f(const char *p, int o);\n"
                           "int f(const char *p, int o) { return open(p, o); }\n", *options)

    def launches(self, name):
        self.compile(name, "#include <unistd.h>\nint f(char **v);\n"
                           "int f(char **v) { return execv(v[0], v); }\n")

    def test_a_good_tree_passes(self):
        self.opens("src/authority/file.c")
        self.launches("src/isolate/launch.c")
        self.passes()

    def test_an_open_elsewhere(self):
        self.opens("src/tools/read.c")
        self.complains("src/tools/read.c:1: calls open,")

    def test_fortified_and_64_bit_spellings(self):
        self.opens("src/tools/read.c", "-O2", "-D_FORTIFY_SOURCE=2", "-D_FILE_OFFSET_BITS=64")
        self.complains("src/tools/read.c:1: calls open,")

    def test_a_raw_system_call(self):
        self.compile("src/net/raw.c", "#include <unistd.h>\nlong f(void);\n"
                                      "long f(void) { return syscall(1); }\n")
        self.complains("src/net/raw.c:1: calls syscall,")

    def test_libuv_and_spawning(self):
        self.compile("src/net/uv.c", "int uv_fs_unlink(void);\nint posix_spawnp(void);\n"
                     "int f(void);\nint f(void) { return uv_fs_unlink() + posix_spawnp(); }\n",
                     "-fno-builtin")
        self.complains("calls uv_fs_unlink,", "calls posix_spawnp,")

    def test_only_isolate_launches(self):
        self.launches("src/authority/launch.c")
        self.complains("src/authority/launch.c:1: calls execv,")

    def test_the_allow_list_lets_pass(self):
        self.launches("src/programs/gatehouse/main.c")
        self.write("scripts/file-calls.allow", "src/programs/gatehouse/main.c: execv  # becomes the program\n")
        self.passes()

    def test_an_entry_that_nobody_needs(self):
        self.write("scripts/file-calls.allow", "\nsrc/base/plain.c: open  # once it did\n")
        self.complains("scripts/file-calls.allow:2: src/base/plain.c does not call open")

    def test_an_entry_without_a_reason(self):
        self.launches("src/programs/gatehouse/main.c")
        self.write("scripts/file-calls.allow", "src/programs/gatehouse/main.c: execv\n")
        self.complains("scripts/file-calls.allow:1:")

    def test_a_source_that_is_not_built(self):
        self.write("src/base/left_out.c", "")
        self.complains("src/base/left_out.c:1: is part of no target")

    def test_a_missing_object(self):
        (self.root / "build/src_base_plain.c.o").unlink()
        self.complains("src_base_plain.c.o")


@needs(COMPILER.split()[0], "readelf")
class Needed(Case):
    check = "needed"
    source = ("#include <stdio.h>\nint main(int c, char **v) { char b[64];\n"
              "snprintf(b, sizeof(b), \"%s\", v[c - 1]); printf(\"%s %d\\n\", b, c); return 0; }\n")
    flags = ["-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-fstack-protector-strong", "-fPIE"]
    links = ["-pie", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack", "-Wl,--as-needed"]

    def setUp(self):
        super().setUp()
        self.loads("libc.so.6")
        (self.root / "build/bin").mkdir(parents=True)
        self.write("main.c", self.source)

    def loads(self, *libraries):
        self.write("bin/programs.json",
                   json.dumps([{"program": "gatehouse", "loads": libraries}, {"command": "status"}]))

    def link(self, *more, flags=None, links=None):
        subprocess.run(
            [*COMPILER.split(), *(flags or self.flags), "main.c", "-o", "build/bin/gatehouse",
             *(links or self.links), *more], cwd=self.root, check=True, stderr=subprocess.DEVNULL,
        )

    def test_a_good_program_passes(self):
        self.link()
        self.passes()

    def test_a_library_too_many(self):
        self.link("-Wl,--no-as-needed", "-lm")
        self.complains("build/bin/gatehouse: links libm.so.6 libc.so.6")

    def test_one_of_several_versions(self):
        self.loads("libc.so.5|libc.so.6")
        self.link()
        self.passes()
        self.loads("libc.so.6", "libm.so.5|libm.so.6")
        self.complains("build/bin/gatehouse: links libc.so.6; ")
        self.loads("libc.so.6|libm.so.6")
        self.link("-Wl,--no-as-needed", "-lm")
        self.complains("build/bin/gatehouse: links libm.so.6 libc.so.6")

    def test_the_loader_is_there_in_any_case(self):
        (loader,) = re.findall(r"program interpreter: (.*)\]", subprocess.run(
            ["readelf", "-lW", os.path.realpath(sys.executable)], capture_output=True, text=True,
            check=True).stdout)
        self.link("-Wl,--no-as-needed", loader)
        needed = subprocess.run(["readelf", "-dW", self.root / "build/bin/gatehouse"],
                                capture_output=True, text=True, check=True).stdout
        self.assertIn(f"[{os.path.basename(loader)}]", needed)
        self.passes()

    def test_a_program_that_is_not_listed(self):
        self.link()
        shutil.copy(self.root / "build/bin/gatehouse", self.root / "build/bin/gatehouse-extra")
        self.complains("build/bin/gatehouse-extra: is not in bin/programs.json")

    def test_an_entry_without_a_program(self):
        self.complains("there is no build/bin/gatehouse")

    def test_not_position_independent(self):
        self.link(flags=[*self.flags[:-1], "-fno-pie"], links=["-no-pie", *self.links[1:]])
        self.complains("is not position independent")

    def test_late_binding(self):
        self.link("-Wl,-z,lazy")
        self.complains("binds symbols late")

    def test_no_relro(self):
        self.link("-Wl,-z,norelro")
        self.complains("has no RELRO")

    def test_an_executable_stack(self):
        self.link("-Wl,-z,execstack")
        self.complains("has an executable stack")

    def test_a_search_path(self):
        self.link("-Wl,-rpath,/opt/lib")
        self.complains("has a search path")

    def test_no_stack_protector(self):
        self.link(flags=[*self.flags, "-fno-stack-protector"])
        self.complains("without the stack protector")

    def test_no_fortify(self):
        self.link(flags=[*self.flags, "-U_FORTIFY_SOURCE"])
        self.complains("without _FORTIFY_SOURCE")

    def test_no_fortify_beside_what_came_without(self):
        self.write("main.c", self.source + "void llhttp__debug(void) { fprintf(stderr, \"%d\", 1); }\n")
        self.link(flags=[*self.flags, "-U_FORTIFY_SOURCE"])
        self.complains("without _FORTIFY_SOURCE: it calls printf")

    def test_static_means_static(self):
        self.loads("static")
        self.link()
        self.complains("is not static")


class Programs(Case):
    check = "programs"
    rows = [
        {"program": "gatehouse", "folder": "gatehouse", "summary": "a door", "man": "gatehouse.1",
         "links": ["cli"], "loads": ["static"]},
        {"command": "look", "program": "gatehouse-look", "folder": "look", "summary": "look at it",
         "man": "gatehouse-look.1", "links": ["cli"], "loads": ["libc.so.6"]},
        {"command": "wait", "summary": "wait for it"},
    ]

    def setUp(self):
        super().setUp()
        self.table(self.rows)
        self.front(["look", "wait"], ["look", "wait"])
        self.write("man/gatehouse-look.1", ".Nd look at it\n")
        self.write("ARCHITECTURE.md", "| `gatehouse` | `look`, `wait` |\n| `gatehouse-look` | b |\n")

    def front(self, synopsis, items):
        lines = [".Nd a door", ".Sh SYNOPSIS", *(f".Cm {word}" for word in synopsis),
                 ".Sh DESCRIPTION", *(f".It Cm {word}" for word in items)]
        self.write("man/gatehouse.1", "\n".join(lines) + "\n")

    def table(self, rows):
        self.write("bin/programs.json", json.dumps(rows))

    def test_pages_that_agree_pass(self):
        self.passes()

    def test_another_summary(self):
        self.write("man/gatehouse-look.1", ".Nd stare at it\n")
        self.complains("man/gatehouse-look.1: its .Nd is not")

    def test_a_page_that_is_missing(self):
        (self.root / "man/gatehouse-look.1").unlink()
        self.complains("man/gatehouse-look.1: its .Nd is not")

    def test_a_program_that_the_map_has_not(self):
        self.write("ARCHITECTURE.md", "| `gatehouse` | `look`, `wait` |\n")
        self.complains("ARCHITECTURE.md: its table of programs has no gatehouse-look")

    def test_a_command_that_the_first_page_does_not_describe(self):
        self.front(["look", "wait"], ["look"])
        self.complains("man/gatehouse.1: does not describe the command wait")

    def test_a_command_that_the_synopsis_has_not(self):
        self.front(["look"], ["look", "wait"])
        self.complains("man/gatehouse.1: its SYNOPSIS has no command wait")

    def test_a_command_that_the_map_has_not(self):
        self.write("ARCHITECTURE.md", "| `gatehouse` | `look` |\n| `gatehouse-look` | b |\n")
        self.complains("ARCHITECTURE.md: its row of gatehouse has no command wait")

    def test_a_row_that_lacks_something_or_has_too_much(self):
        self.table([*self.rows, {"program": "gatehouse-x", "summary": "x"}])
        self.complains("a program needs folder, links, loads, man")
        self.table([*self.rows, {"command": "x", "summary": "x", "sumary": "y"}])
        self.complains("x: expected a name")


class Invariants(Case):
    check = "invariants"
    page = ("# Invariants\n\n**JSON-1.** Duplicate keys are refused.\n"
            "- `tests/unit/base/test_json.c:duplicates`\n- `tests/e2e/door.sh`\n")

    def setUp(self):
        super().setUp()
        self.write("docs/security-invariants.md", self.page)
        self.write("tests/meson.build", "base_tests = ['json']\ntest('door', files('e2e/door.sh'))\n")
        self.write("tests/e2e/door.sh", "#!/bin/sh\n")
        self.c_test("TEST_MAIN(cmocka_unit_test_setup(duplicates, setup))")

    def c_test(self, registration):
        self.write("tests/unit/base/test_json.c",
                   f"static void duplicates(void **state)\n{{\n}}\n{registration}\n")

    def test_a_good_page_passes(self):
        self.passes()

    def test_a_macro_may_stand_between(self):
        self.c_test("#define case(name) \\\n    cmocka_unit_test_setup(name, reset)\n"
                    "TEST_MAIN(case(duplicates))")
        self.passes()

    def test_a_missing_file(self):
        (self.root / "tests/unit/base/test_json.c").unlink()
        self.complains("docs/security-invariants.md:4: there is no tests/unit/base/test_json.c")

    def test_a_missing_function(self):
        self.write("tests/unit/base/test_json.c", "TEST_MAIN(cmocka_unit_test(duplicates))\n")
        self.complains("has no test duplicates")

    def test_a_function_that_is_not_registered(self):
        self.c_test("/* cmocka_unit_test(duplicates) */")
        self.complains("does not hand duplicates to cmocka")

    def test_a_file_that_is_not_registered(self):
        self.write("tests/meson.build", "# 'json' and 'e2e/door.sh' once\n")
        self.complains("names tests/unit/base/test_json.c", "names tests/e2e/door.sh")

    def test_a_c_file_without_a_function(self):
        self.write("docs/security-invariants.md",
                   "**JSON-1.** Words.\n- `tests/unit/base/test_json.c`\n")
        self.complains("name the test function too")

    def test_the_same_id_twice(self):
        self.write("docs/security-invariants.md", self.page + self.page)
        self.complains("JSON-1 is at line 3 already")

    def test_an_invariant_without_a_test(self):
        self.write("docs/security-invariants.md", self.page + "\n**JSON-2.** Held by hope.\n")
        self.complains("JSON-2 names no test")

    def test_an_invariant_without_a_sentence(self):
        self.write("docs/security-invariants.md", self.page + "\n**JSON-2.**\n- `x`\n")
        self.complains("docs/security-invariants.md:7:")


@needs("git", "clang-format")
class Format(Case):
    check = "format"

    def setUp(self):
        super().setUp()
        self.git()
        self.write(".clang-format", "BasedOnStyle: LLVM\n")
        self.write("src/a.c", "int a(void) { return 1; }\n")

    def test_a_formatted_file_passes(self):
        self.passes()

    def test_an_unformatted_file_is_named_and_repaired(self):
        path = self.write("src/b.c", "int  b( void ) {return 1;}\n")
        self.complains("src/b.c:1:")
        self.assertEqual(path.read_text(), "int  b( void ) {return 1;}\n")
        subprocess.run([SCRIPTS / "format", self.root], check=True)
        self.assertEqual(path.read_text(), "int b(void) { return 1; }\n")
        self.passes()

    def test_outside_a_repository_it_fails(self):
        shutil.rmtree(self.root / ".git")
        self.complains("not a git repository")


class Compiled(Case):
    """For the analysers: one source with its entry in the compile database of build-asan."""

    def compile(self, text, name="src/a.c"):
        self.write(name, text)
        self.write("build-asan/compile_commands.json", json.dumps([{
            "directory": str(self.root / "build-asan"),
            "command": f"clang -std=gnu17 -o a.o -c ../{name}", "file": f"../{name}",
            "output": "a.o",
        }]))


@needs("clang", "clang-tidy")
class Tidy(Compiled):
    check = "tidy"
    good = "int a(const int *p);\nint a(const int *p) { return *p; }\n"
    bad = "int a(void);\nint a(void) {\n    int *p = 0;\n    return *p;\n}\n"

    def setUp(self):
        super().setUp()
        self.write(".clang-tidy", (SCRIPTS.parent / ".clang-tidy").read_bytes())

    def test_a_good_file_passes_and_is_remembered(self):
        self.compile(self.good)
        self.passes()
        self.assertEqual(len(list((self.root / "build-asan/tidy").iterdir())), 1)
        self.passes()

    def test_a_null_dereference(self):
        self.compile(self.bad)
        self.complains("src/a.c:4:", "clang-analyzer-core.NullDereference")

    def test_a_changed_file_is_read_again(self):
        self.compile(self.good)
        self.passes()
        self.compile(self.bad)
        self.complains("src/a.c:4:")

    def test_a_suppression_that_goes_is_noticed(self):
        same = "int a(int n);\nint a(int n) {{\n{}    return n == n;\n}}\n"
        self.compile(same.format("    /* NOLINTNEXTLINE(misc-redundant-expression): a test */\n"))
        self.passes()
        self.compile(same.format(""))
        self.complains("misc-redundant-expression")


@needs("cppcheck")
class Cppcheck(Compiled):
    check = "cppcheck"

    def test_a_good_file_passes(self):
        self.compile("int a(int i);\nint a(int i) { return i; }\n")
        self.passes()

    def test_an_index_out_of_bounds(self):
        self.compile("int a(void);\nint a(void) {\n    int v[2] = {1, 2};\n    return v[2];\n}\n")
        self.complains("src/a.c:4:", "arrayIndexOutOfBounds")

    def test_a_suppression_is_heard(self):
        self.compile("int a(void);\nint a(void) {\n    int v[2] = {1, 2};\n"
                     "    /* cppcheck-suppress arrayIndexOutOfBounds */\n    return v[2];\n}\n")
        self.passes()


@needs("git", "shellcheck")
class Shell(Case):
    check = "shell"

    def setUp(self):
        super().setUp()
        self.git()
        self.write("scripts/good", "#!/bin/sh\necho \"$1\"\n")

    def test_good_scripts_pass(self):
        self.passes()

    def test_scripts_are_known_by_their_first_line(self):
        self.write("tools/unnamed", "#!/usr/bin/env bash\nrm $1\n")
        self.complains("tools/unnamed:2:", "SC2086")


@needs("git")
class Python(Case):
    check = "python"

    def setUp(self):
        super().setUp()
        self.git()
        self.write("scripts/good", "#!/usr/bin/env python3\nimport json\nprint(json)\n")

    def test_good_scripts_pass(self):
        self.passes()

    def test_a_syntax_error(self):
        self.write("scripts/bad", "#!/usr/bin/env python3\n\nif True print()\n")
        self.complains("scripts/bad:3:")

    def test_a_warning(self):
        self.write("bad.py", "print('\\d')\n")
        self.complains("bad.py:1:")

    def test_a_foreign_package(self):
        self.write("bad.py", "from yaml import load\n")
        self.complains("bad.py:1: imports yaml")

    def test_modules_of_ours_are_found_beside_and_in_the_support_of_the_tests(self):
        self.write("tests/support/shared.py", "")
        self.write("tests/e2e/beside.py", "")
        self.write("tests/e2e/good.py", "import beside\nimport shared\nprint(beside, shared)\n")
        self.passes()
        self.write("tests/unit/bad.py", "import beside\nprint(beside)\n")
        self.complains("tests/unit/bad.py:1: imports beside")

    def test_what_nobody_uses(self):
        self.write("bad.py", "import json\nfrom os import path as place\nprint(json)\n")
        self.complains("bad.py:2: path is imported and not used")


@needs("mandoc")
class Man(Case):
    check = "man"
    page = ".Dd January 1, 2026\n.Dt GATEHOUSE 1\n.Os\n.Sh NAME\n.Nm gatehouse\n.Nd a door\n"

    def test_no_page_passes(self):
        self.passes()

    def test_a_good_page_passes(self):
        self.write("man/gatehouse.1", self.page)
        self.passes()

    def test_a_bad_page(self):
        self.write("man/gatehouse.1", self.page + ".Sh DESCRIPTION\n.Bogus\n.Fl\n.Xy z\n")
        self.complains("man/gatehouse.1:8:")


@needs("git")
class Text(Case):
    check = "text"

    def setUp(self):
        super().setUp()
        self.git()
        self.write("Makefile", "all:\n\ttrue\n")
        self.write("page.md", "See https://example.org/work/ and /home/user/project.\n")
        self.write("picture", b"\0\r\n \n")
        self.write("tests/fuzz/corpus/json/odd", b"{ } \r\n")
        self.write("build/log", "ignored \n")
        self.write(".gitignore", "/build/\n")

    def test_a_good_tree_passes(self):
        self.passes()

    def test_blanks_at_the_end_of_a_line(self):
        self.write("page.md", "one\ntwo \n")
        self.complains("page.md:2: has blanks")

    def test_no_newline_at_the_end(self):
        self.write("page.md", "one\ntwo")
        self.complains("page.md:2: does not end with a newline")

    def test_an_empty_line_at_the_end(self):
        self.write("page.md", "one\n\n")
        self.complains("page.md:2: ends with an empty line")

    def test_carriage_returns(self):
        self.write("page.md", "one\r\ntwo\r\n")
        self.complains("page.md:1: ends in CR LF")

    def test_tabs_in_c(self):
        self.write("a.c", "int a;\n\tint b;\n")
        self.complains("a.c:2: has a tab")

    def test_places_of_one_machine(self):
        # Put together here, so that this file does not name them itself.
        for place in ("/wo" + "rk/main", "/ho" + "me/jane/x", "/tmp/ba" + "sh_jobs"):
            self.write("page.md", f"cd {place}\n")
            self.complains("page.md:1: names a place on one machine")

    def test_lock_files_with_addresses(self):
        self.write("tests/npm/package-lock.json", '{\n"resolved": "https://example.org"}\n')
        self.complains("package-lock.json:2: has a download address")


class Fuzz(Case):
    check = "fuzz"

    def setUp(self):
        super().setUp()
        self.write("src/base/json.h", "/* json_decode() is\n * not here: note_parse() */\n"
                                      "int json_parse(int arena);\n")
        self.write("tests/fuzz/fuzz_json.c", "int f(void) { return json_parse(1); }\n")
        self.write("tests/fuzz/meson.build", "fuzz_targets = {\n  'json': [base],\n}\n")
        self.write("tests/fuzz/corpus/json/empty", "{}")

    def test_a_good_tree_passes(self):
        self.passes()

    def test_a_parser_without_a_target(self):
        self.write("src/net/sse.h", "\nint sse_feed(int reader);\n")
        self.complains("src/net/sse.h:2: no tests/fuzz/fuzz_*.c calls sse_feed")

    def test_a_target_without_seeds(self):
        (self.root / "tests/fuzz/corpus/json/empty").unlink()
        self.complains("tests/fuzz/corpus/json holds no seed")

    def test_a_target_that_is_not_built(self):
        self.write("tests/fuzz/meson.build", "fuzz_targets = {}\n")
        self.complains("does not name 'json'")

    def test_a_corpus_without_a_target(self):
        self.write("tests/fuzz/corpus/old/seed", "x")
        self.complains("there is no tests/fuzz/fuzz_old.c")


@needs("git")
class Docs(Case):
    check = "docs"

    def setUp(self):
        super().setUp()
        self.git()
        self.write("src/base/err.h")
        self.write("src/base/err_internal.h")
        self.write("src/loop/internal.h")
        self.write("docs/internals/base.md", "# Base: the `floor`\n\n`base/err.h` has errors.\n")
        self.write("docs/decisions/libuv.md", "# libuv\n\nSee [base](../internals/base.md).\n")
        self.write("meson.build", "uv = dependency('libuv')\n")
        self.write("README.md", "[b](docs/internals/base.md#base-the-floor) `[x](y)` "
                                "[w](https://example.org)\n```\n[x](y)\n```\n")

    def test_a_good_tree_passes(self):
        self.passes()

    def test_a_module_without_a_page(self):
        self.write("src/base/buf.h")
        self.complains("src/base/buf.h:1: no page of docs/internals names base/buf")

    def test_a_module_in_a_folder_of_its_layer_without_a_page(self):
        self.write("src/net/http/url.h")
        self.complains("src/net/http/url.h:1: no page of docs/internals names net/http/url")

    def test_a_page_that_names_a_module_that_is_gone(self):
        self.write("docs/internals/base.md", "# Base\n\n`base/err` and `base/gone.h`\n")
        self.complains("docs/internals/base.md:3: base/gone.h does not exist")

    def test_a_page_that_names_a_file_that_is_gone(self):
        self.write("tests/unit/test_err.c")
        self.write("docs/internals/tests.md", "`tests/unit/test_err.c`, `tests/unit/test_NAME.c`\n"
                                              "`tests/unit/test_gone.c`\n")
        self.complains("docs/internals/tests.md:2: tests/unit/test_gone.c does not exist")

    def test_a_dependency_without_a_decision(self):
        self.write("src/meson.build", "\npcre = dependency('libpcre2-8', version: '>=10')\n")
        self.complains("src/meson.build:2: no page of docs/decisions names libpcre2-8")

    def test_a_link_that_leads_nowhere(self):
        self.write("README.md", "one\n[gone](docs/gone.md)\n")
        self.complains("README.md:2: docs/gone.md leads nowhere")

    def test_a_fragment_that_leads_nowhere(self):
        self.write("README.md", "[gone](docs/internals/base.md#ceiling)\n")
        self.complains("README.md:1: docs/internals/base.md has no heading #ceiling")


class Catalog(Case):
    """What a file of the catalogue must be: test_make_catalog.py."""

    check = "catalog"

    def setUp(self):
        super().setUp()
        shutil.copytree(SCRIPTS.parent / "catalog", self.root / "catalog")
        (self.root / "docs").mkdir()
        self.make_page()

    def make_page(self):
        subprocess.run([SCRIPTS / "make-catalog", "--page", self.root / "docs/tools.md",
                        self.root / "catalog"], check=True)
        subprocess.run([SCRIPTS / "make-catalog", "--table", "workspace", "--page",
                        self.root / "docs/workspace-tools.md", self.root / "catalog/workspace"],
                       check=True)

    def test_a_fresh_page_passes(self):
        self.passes()

    def test_a_page_that_is_behind(self):
        path = self.root / "catalog/move.json"
        path.write_text(path.read_text().replace('"Move or rename"', '"Move it"'))
        self.complains("docs/tools.md:", "is behind the catalogue")
        self.make_page()
        self.passes()

    def test_the_page_of_workspaces_is_behind(self):
        path = self.root / "catalog/workspace/mkdir.json"
        path.write_text(path.read_text().replace('"Create a folder of the workspace"', '"Make it"'))
        self.complains("docs/workspace-tools.md:", "is behind the catalogue")
        self.make_page()
        self.passes()

    def test_no_page(self):
        (self.root / "docs/tools.md").unlink()
        self.complains("docs/tools.md:1: is behind the catalogue")

    def test_a_bad_file(self):
        self.write("catalog/move.json", "{}")
        self.complains("catalog/move.json: the file: lacks name")


class Lint(Case):
    """The driver, in a tree that has only checks of its own."""

    def setUp(self):
        super().setUp()
        shutil.copytree(SCRIPTS, self.root / "scripts", ignore=lambda _, names: [
            name for name in names if name != "lint"])
        self.script("check-good", "echo quiet")
        self.script("check-bad", "echo loud; exit 1")

    def script(self, name, body):
        self.write(f"scripts/{name}", f"#!/bin/sh\n{body}\n").chmod(stat.S_IRWXU)

    def lint(self, *names):
        return subprocess.run([self.root / "scripts/lint", *names], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_only_failures_speak(self):
        done = self.lint("good", "bad")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"good +ok +\d+\.\d s\n")
        self.assertRegex(done.stdout, r"bad +FAILED +\d+\.\d s\nloud\n")
        self.assertNotIn("quiet", done.stdout)
        self.assertTrue(done.stdout.endswith("lint: 1 passed, 1 failed\n"), done.stdout)

    def test_a_check_runs_alone(self):
        done = self.lint("good")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.endswith("lint: 1 passed, 0 failed\n"), done.stdout)

    def test_an_unknown_name(self):
        done = self.lint("nonsense")
        self.assertEqual(done.returncode, 1)
        self.assertIn("unknown check nonsense; there are:", done.stdout)

    def test_a_failed_build_fails_what_needs_it(self):
        self.script("setup-build", "echo no compiler; exit 1")
        self.script("check-needed", "exit 0")
        done = self.lint("needed")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not run: build-gcc failed", done.stdout)
        self.assertTrue(done.stdout.endswith("lint: 0 passed, 2 failed\n"), done.stdout)


class Complete(unittest.TestCase):
    def test_every_check_has_its_cases_here(self):
        tested = {case.check for case in Case.__subclasses__() + Compiled.__subclasses__()}
        for path in SCRIPTS.glob("check-*"):
            self.assertIn(path.name.removeprefix("check-"), tested)


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=0)
    result = program.result
    skipped = len(result.skipped)
    failed = len(result.failures) + len(result.errors)
    for case, reason in result.skipped:
        print(f"skipped: {case.id()}: {reason}")
    print(f"{result.testsRun - skipped - failed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or result.testsRun == skipped else 0)
