/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "files/missing.h"

static const char code[] = "class App:\n"
                           "    def run(self):\n"
                           "        for i in range(3):\n"
                           "            print(\"run\", i)\n"
                           "\n"
                           "    def stop(self):\n"
                           "        for i in range(3):\n"
                           "            print(\"stop\", i)\n";

static void assert_hint(const char *text, const char *old, const char *hint)
{
    char shown[MISSING_HINT_BYTES];

    missing_explain(str_from(text), str_from(old), shown);
    assert_string_equal(shown, hint);
}

static void what_is_added_by_mistake_is_named(void **state)
{
    (void)state;
    assert_hint(code, "     2\t    def run(self):\n     3\t        for i in range(3):",
                "without the line numbers it would match line 2");
    assert_hint(code, "2:    def run(self):\n", "without the line numbers it would match line 2");
    assert_hint(code, "    3\xE2\x86\x92        for i in range(3):\n",
                "without the line numbers it would match lines 3, 7");
    assert_hint(
        code, "def run(self):\\n        for i in range(3):\\n            print(\\\"run\\\", i)",
        "with line ends, tabs and quotes instead of \\n, \\t and \\\" it would match line 2");
    assert_hint(code, "print(&quot;stop&quot;, i)",
                "with < > \" & instead of &lt; &gt; &quot; &amp; it would match line 8");
    assert_hint(code, "print('stop', i)",
                "with the quotes, dashes and spaces that the file has it would match line 8");
    assert_hint("It\xE2\x80\x99s \xE2\x80\x9Csmart\xE2\x80\x9D \xE2\x80\x94 yes\n",
                "It's \"smart\" - yes",
                "with the quotes, dashes and spaces that the file has it would match line 1");
}

static void the_first_line_that_differs_is_shown(void **state)
{
    (void)state;
    assert_hint(code, "    def stop(self):\n        for i in range(9):\n            print(1)\n",
                "its first line is line 6 of 8, but line 7 is different: for i in range(3):");
    /* Of several places that begin alike, the one that goes on alike. */
    assert_hint(code, "for i in range(3):\nprint(\"stop\", i)\nreturn",
                "its first line is line 7 of 8, but the file ends before its last one");
    assert_hint(code, "print(\"run\", i)\ndef start(self):\n",
                "its first line is line 4 of 8, but line 6 is different: def stop(self):");
    assert_hint(code, "def run(\nself",
                "its first line is only a part of line 2 of 8, which is: def run(self):");
}

static void a_line_like_the_first_one_is_shown(void **state)
{
    (void)state;
    assert_hint(code, "def runs(self):\n",
                "the file has 8 lines; line 2 is similar: def run(self):");
    assert_hint(code, "unlike all of them", "the file has 8 lines; read it first");
    assert_hint("", "x", "the file has 0 lines; read it first");
    assert_hint("x", " \n", "the file has 1 line; read it first");
}

TEST_MAIN(cmocka_unit_test(what_is_added_by_mistake_is_named),
          cmocka_unit_test(the_first_line_that_differs_is_shown),
          cmocka_unit_test(a_line_like_the_first_one_is_shown))
