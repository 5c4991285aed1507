/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches a tree, the argument, for test_search.py. Standard input has lines, each followed by as
 * many bytes as its last number says:
 *
 *     IS-REGEX IGNORES-CASE THREADS CONTEXT-LINES MAX-RESULTS PATTERN-BYTES
 *
 * Each is answered by a line for every match, {"path":…,"line":…,"around":…}, and one for
 * all of them, {"total":…,"isTruncated":…,"binary":…,"missed":…} or {"error":…}.
 */
#include <stdio.h>

#include "base/jsonwrite.h"
#include "search/search.h"

enum { INPUT_MAX_BYTES = 64 << 20, OUTPUT_MAX_BYTES = 64 << 20 };

enum { IS_REGEX, IGNORES_CASE, THREADS, CONTEXT_LINES, MAX_RESULTS, PATTERN_BYTES, FIELDS };

static void write_number(struct json_writer *writer, struct str key, uint64_t number)
{
    json_key(writer, key);
    json_write_int(writer, (int64_t)number);
}

static int write_line(struct json_writer *writer, struct buf *out)
{
    int r = json_writer_finish(writer);

    return r < 0 ? r : buf_append_char(out, '\n');
}

static int write_match(struct buf *out, struct str path, const struct search_match *match)
{
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_key(&writer, STR("path"));
    json_write_str(&writer, path);
    write_number(&writer, STR("line"), match->line_number);
    write_number(&writer, STR("around"), match->before_count + match->after_count);
    json_end_object(&writer);
    return write_line(&writer, out);
}

static int write_result(struct buf *out, const struct search_result *result, int code)
{
    struct json_writer writer;

    for (size_t i = 0; code == 0 && i < result->file_count; i++) {
        const struct search_file *file = result->files[i];

        for (size_t j = 0; j < file->match_count; j++) {
            int r = write_match(out, file->name, &file->matches[j]);

            if (r < 0)
                return r;
        }
    }
    json_writer_init(&writer, out);
    json_begin_object(&writer);
    if (code < 0) {
        json_key(&writer, STR("error"));
        json_write_str(&writer, str_from(err_name(code)));
    } else {
        write_number(&writer, STR("total"), result->total);
        json_key(&writer, STR("isTruncated"));
        json_write_bool(&writer, result->is_truncated);
        write_number(&writer, STR("binary"), result->binary);
        write_number(&writer, STR("missed"), result->missed_count + result->too_large);
    }
    json_end_object(&writer);
    return write_line(&writer, out);
}

static bool read_fields(struct str line, size_t out_fields[FIELDS])
{
    for (size_t i = 0; i < FIELDS; i++) {
        struct str part;
        int64_t number;

        if (!str_cut(&line, ' ', &part) || !str_to_int64(part, &number))
            return false;
        out_fields[i] = (size_t)number;
    }
    return true;
}

static int answer(struct authority_scope *scope, struct str *input, struct buf *out)
{
    cleanup_search_result struct search_result result = {.total = 0};
    cleanup_pattern struct pattern *pattern = NULL;
    struct search_request request = {.max_results = 1};
    size_t fields[FIELDS];
    struct pattern_options options;
    struct str line;
    int r;

    str_cut(input, '\n', &line);
    if (!read_fields(line, fields) || fields[PATTERN_BYTES] > input->len)
        return ERR_INVALID_ARGUMENT;
    options = (struct pattern_options){.is_regex = fields[IS_REGEX] != 0,
                                       .ignores_case = fields[IGNORES_CASE] != 0};
    r = pattern_compile(str_slice(*input, 0, fields[PATTERN_BYTES]), &options, &pattern, NULL);
    *input = str_slice(*input, fields[PATTERN_BYTES], input->len);
    if (r == 0) {
        request.pattern = pattern;
        request.threads = (unsigned)fields[THREADS];
        request.context_lines = (unsigned)fields[CONTEXT_LINES];
        request.max_results = fields[MAX_RESULTS];
        r = search_run(scope, &request, &result, NULL);
    }
    return write_result(out, &result, r);
}

static int open_tree(const char *path, struct authority **out_authority,
                     struct authority_scope **out_scope, struct err *err)
{
    const struct authority_config config = {.backend = AUTHORITY_LINUX};
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "test"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "tree", .path = path},
        .access = AUTHORITY_READ | AUTHORITY_LIST,
        .reason = "a test",
        .source = AUTHORITY_FROM_CORE,
    };
    int r = authority_new(&config, out_authority, err);

    return r < 0 ? r : authority_request_root(*out_authority, &request, out_scope, err);
}

static int read_all(struct buf *input)
{
    size_t got;

    do {
        int r = buf_reserve(input, 65536);

        if (r < 0)
            return r;
        got = fread(input->data + input->len, 1, 65536, stdin);
        input->len += got;
    } while (got > 0);
    return 0;
}

int main(int argc, char **argv)
{
    cleanup_buf struct buf input = BUF_INIT(INPUT_MAX_BYTES);
    cleanup_buf struct buf out = BUF_INIT(OUTPUT_MAX_BYTES);
    struct authority *authority = NULL;
    struct authority_scope *scope = NULL;
    struct err err = ERR_INIT;
    struct str rest;
    int r;

    if (argc != 2)
        return 2;
    r = open_tree(argv[1], &authority, &scope, &err);
    if (r == 0)
        r = read_all(&input);
    rest = buf_view(&input);
    while (r == 0 && rest.len > 0)
        r = answer(scope, &rest, &out);
    if (r < 0)
        fprintf(stderr, "search_answers: %s %s\n", err_name(r), err.message);
    else
        fwrite(out.data, 1, out.len, stdout);
    authority_scope_free(scope);
    authority_free(authority);
    return r == 0 ? 0 : 1;
}
