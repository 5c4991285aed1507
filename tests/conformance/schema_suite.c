/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the JSON Schema test suite through base/schema; argv[1] is its directory for draft 7. Every
 * schema that compiles must give the expected results; every schema that is refused must be refused
 * for a keyword that is left out on purpose, so that losing a supported keyword fails. Exits with
 * 77 if the suite is not installed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/schema/schema.h"

enum {
    EXIT_SKIPPED = 77,
    /* Fewer than this were not run for lack of words, but because something is wrong. */
    FEWEST_CHECKED = 225,
    LARGEST_FILE_BYTES = 16 << 20,
    ARENA_BYTES = 64 << 20,
};

/* docs/internals/schema.md says why. */
static struct {
    struct str word;
    unsigned count;
} left_out[] = {
    {STR_LITERAL("$id"), 0},  /* inside a schema */
    {STR_LITERAL("$ref"), 0}, /* to another document, or to a name */
    {STR_LITERAL("additionalItems"), 0},
    {STR_LITERAL("contains"), 0},
    {STR_LITERAL("dependencies"), 0},
    {STR_LITERAL("else"), 0},
    {STR_LITERAL("exclusiveMaximum"), 0},
    {STR_LITERAL("exclusiveMinimum"), 0},
    {STR_LITERAL("if"), 0},
    {STR_LITERAL("items"), 0},    /* as an array */
    {STR_LITERAL("maxItems"), 0}, /* these four with a decimal */
    {STR_LITERAL("maxLength"), 0},
    {STR_LITERAL("minItems"), 0},
    {STR_LITERAL("minLength"), 0},
    {STR_LITERAL("maxProperties"), 0},
    {STR_LITERAL("minProperties"), 0},
    {STR_LITERAL("multipleOf"), 0},
    {STR_LITERAL("pattern"), 0},
    {STR_LITERAL("patternProperties"), 0},
    {STR_LITERAL("propertyNames"), 0},
    {STR_LITERAL("then"), 0},
    {STR_LITERAL("uniqueItems"), 0},
    /* Words that the suite made up, as targets of references. */
    {STR_LITERAL("percent%field"), 0},
    {STR_LITERAL("slash/field"), 0},
    {STR_LITERAL("tilda~field"), 0},
};

static unsigned checked_count;
static unsigned left_out_count;
static unsigned failure_count;

static void complain(const char *file, struct str schema, struct str test, const char *what)
{
    printf("%s: %.*s: %.*s: %s\n", file, STR_ARG(schema), STR_ARG(test), what);
    failure_count++;
}

static int read_file(int dir_fd, const char *name, struct buf *text)
{
    cleanup_fd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -1;
    while (true) {
        ssize_t got;

        if (buf_reserve(text, 4096) < 0)
            return -1;
        got = read(fd, text->data + text->len, 4096);
        if (got <= 0)
            return (int)got;
        text->len += (size_t)got;
    }
}

/* Words that are supported in one use and left out in another. */
static bool has_two_uses(struct str word)
{
    return str_eq(word, STR("items")) || str_eq(word, STR("$ref")) || str_eq(word, STR("$id")) ||
           str_eq(word, STR("maxItems")) || str_eq(word, STR("minItems")) ||
           str_ends_with(word, STR("Length"));
}

/* Is the other one here? */
static bool has_left_out_use(const struct json_value *schema, struct str word)
{
    const struct json_value *end = json_next(schema);

    for (const struct json_value *at = schema + 1; at + 1 < end; at++) {
        if (at->type != JSON_STRING || !str_eq(json_str(at), word))
            continue;
        if (str_eq(word, STR("items")) && at[1].type == JSON_ARRAY)
            return true;
        if (at[1].type == JSON_NUMBER)
            return true;
        if (str_eq(word, STR("$ref")) && at[1].type == JSON_STRING &&
            !str_eq(json_str(&at[1]), STR("#")) && !str_starts_with(json_str(&at[1]), STR("#/")))
            return true;
        if (str_eq(word, STR("$id")) && json_get(schema, word) != &at[1])
            return true;
    }
    return false;
}

/* The word that was refused stands in quotes at the start of the message. */
static bool count_left_out(const struct json_value *schema, const char *message)
{
    struct str rest = str_from(message);
    struct str word;

    str_cut(&rest, '"', &word);
    if (!str_cut(&rest, '"', &word))
        return false;
    for (size_t i = 0; i < array_size(left_out); i++) {
        if (!str_eq(left_out[i].word, word))
            continue;
        if (has_two_uses(word) && !has_left_out_use(schema, word))
            return false;
        left_out[i].count++;
        return true;
    }
    return false;
}

static void run_tests(const char *file, struct str name, const struct schema *schema,
                      const struct json_value *tests)
{
    json_each_item (test, tests) {
        const struct json_value *data = json_get(test, STR("data"));
        struct str description = STR("?");
        struct err err = ERR_INIT;
        bool is_valid;
        int r;

        json_get_str(test, STR("description"), &description);
        if (data == NULL || !json_get_bool(test, STR("valid"), &is_valid)) {
            complain(file, name, description, "not a test");
            continue;
        }
        r = schema_check(schema, data, &err);
        checked_count++;
        if (r != (is_valid ? 0 : ERR_SCHEMA_MISMATCH))
            complain(file, name, description, r == 0 ? "accepted" : err.message);
    }
}

static void run_file(int dir_fd, const char *file)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_buf struct buf text = BUF_INIT(LARGEST_FILE_BYTES);
    const struct json_value *groups;
    struct err err = ERR_INIT;

    if (read_file(dir_fd, file, &text) < 0 ||
        json_parse(&arena, buf_view(&text), JSON_LIMITS_DEFAULT, &groups, &err) < 0) {
        complain(file, STR("?"), STR("?"), err.code != 0 ? err.message : "cannot be read");
        return;
    }
    json_each_item (group, groups) {
        const struct json_value *document = json_get(group, STR("schema"));
        const struct json_value *tests = json_get(group, STR("tests"));
        const struct schema *schema;
        struct str name = STR("?");

        json_get_str(group, STR("description"), &name);
        if (document == NULL || tests == NULL) {
            complain(file, name, STR("?"), "not a group of tests");
            continue;
        }
        if (schema_compile(&arena, document, &schema, &err) == 0) {
            run_tests(file, name, schema, tests);
        } else {
            left_out_count++;
            if (err.code != ERR_SCHEMA_UNSUPPORTED || !count_left_out(document, err.message))
                complain(file, name, STR("schema"), err.message);
        }
    }
}

static int run_directory(const char *path)
{
    static const char *const optional_files[] = {
        "optional/bignum.json",
        "optional/zeroTerminatedFloats.json",
    };
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (count < 0 || fd < 0)
        return -1;
    for (int i = 0; i < count; i++) {
        if (str_ends_with(str_from(entries[i]->d_name), STR(".json")))
            run_file(fd, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    /* What the suite calls optional is promised here: exact numbers, 1.0 an integer. */
    for (size_t i = 0; i < array_size(optional_files); i++)
        if (faccessat(fd, optional_files[i], R_OK, 0) == 0)
            run_file(fd, optional_files[i]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    if (access(argv[1], R_OK) < 0 || run_directory(argv[1]) < 0) {
        printf("no JSON Schema test suite in %s (package json-schema-test-suite)\n", argv[1]);
        return EXIT_SKIPPED;
    }
    printf("%u checked, %u schemas left out\n", checked_count, left_out_count);
    for (size_t i = 0; i < array_size(left_out); i++)
        if (left_out[i].count > 0)
            printf("  %3u %.*s\n", left_out[i].count, STR_ARG(left_out[i].word));
    if (checked_count < FEWEST_CHECKED) {
        printf("at least %d were expected\n", FEWEST_CHECKED);
        return 1;
    }
    return failure_count > 0 ? 1 : 0;
}
