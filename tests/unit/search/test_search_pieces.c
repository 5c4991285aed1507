/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are searched in pieces: the result does not depend on where a piece ends. It is
 * compared with a plain search of the whole content.
 */
#include "hunt.h"

#include "base/encoding.h"

enum {
    PIECE = SEEKER_BUFFER_BYTES,
    MAX_LINES = 1 << 20,
    CONTEXT_MAX = 3,
    AROUND = 1500, /* a border, bytes that are close to it */
    BEHIND = 300,  /* of which so many are behind */
};

/* ---- the same, read plainly ---- */

static size_t split(struct str content, struct str *out_lines)
{
    size_t count = 0;
    struct str line;

    while (content.len > 0) {
        str_cut(&content, '\n', &line);
        if (line.len > 0 && line.ptr[line.len - 1] == '\r')
            line.len--;
        assert_true(count < MAX_LINES);
        out_lines[count++] = line;
    }
    return count;
}

static void expect(struct buf *expected, const char *name, struct str content, unsigned context)
{
    cleanup_free struct str *lines = calloc(MAX_LINES, sizeof(*lines));
    size_t count;

    assert_non_null(lines);
    count = split(content, lines);
    for (size_t i = 0; i < count; i++) {
        const char *at = memmem(lines[i].ptr, lines[i].len, "needle", 6);
        size_t start = at != NULL ? (size_t)(at - lines[i].ptr) : 0;

        for (size_t j = i < context ? 0 : i - context; at != NULL && j < i; j++)
            assert_int_equal(buf_printf(expected, "%s-%zu: %.*s\n", name, j + 1, STR_ARG(lines[j])),
                             0);
        if (at != NULL)
            assert_int_equal(buf_printf(expected, "%s:%zu[%zu-%zu]: %.*s\n", name, i + 1, start,
                                        start + 6, STR_ARG(lines[i])),
                             0);
        for (size_t j = i + 1; at != NULL && j < count && j <= i + context; j++)
            assert_int_equal(buf_printf(expected, "%s-%zu: %.*s\n", name, j + 1, STR_ARG(lines[j])),
                             0);
    }
}

/* ---- texts ---- */

static uint64_t seed;

static unsigned draw(unsigned below)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(seed >> 33) % below;
}

static void append_line(struct buf *text, bool is_match, bool has_return)
{
    for (unsigned i = draw(4) == 0 ? 0 : draw(30); i > 0; i--)
        assert_int_equal(buf_append_char(text, (char)('a' + draw(4))), 0);
    if (is_match)
        assert_int_equal(buf_append_str(text, STR("needle")), 0);
    assert_int_equal(buf_append_str(text, has_return ? STR("\r\n") : STR("\n")), 0);
}

/* Short lines; close to where a piece ends, more before than behind, every third of them matches.
 */
static void make_text(struct buf *text, size_t len, size_t shift, bool has_return)
{
    buf_clear(text);
    for (size_t i = 0; i < shift; i++)
        assert_int_equal(buf_append_char(text, 'x'), 0);
    assert_int_equal(buf_append_char(text, '\n'), 0);
    while (text->len < len) {
        size_t before = PIECE - (text->len + PIECE - BEHIND) % PIECE;
        bool is_close = before < AROUND || text->len < BEHIND;

        append_line(text, draw(is_close ? 3 : 2000) == 0, has_return);
    }
}

static void assert_plainly_found(struct hunt *hunt, struct buf *expected)
{
    assert_ok(hunt->world, hunt_run(hunt));
    assert_false(hunt->result.is_truncated);
    hunt_expect_bytes(hunt, buf_view(expected), __FILE__, __LINE__);
}

/* ---- where pieces end ---- */

static void matches_around_every_border_are_shown_whole(void **state)
{
    enum { FILES = 24 };
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};
    cleanup_buf struct buf text = BUF_INIT(WORLD_BUF_BYTES);

    hunt_init(&hunt, world, "needle");
    for (unsigned context = 0; context <= CONTEXT_MAX; context++) {
        cleanup_buf struct buf expected = BUF_INIT(WORLD_BUF_BYTES);

        seed = 1;
        for (unsigned i = 0; i < FILES; i++) {
            char name[32];

            make_text(&text, 2 * PIECE + PIECE / 2, i, i % 4 == 3);
            snprintf(name, sizeof(name), "%02u", i);
            if (context == 0)
                plant_bytes(world, WORLD_ROOT, name, buf_view(&text));
            expect(&expected, name, buf_view(&text), context);
        }
        hunt.request.context_lines = context;
        hunt.request.threads = 1 + context % 2;
        assert_plainly_found(&hunt, &expected);
        assert_true(hunt.result.total > 10 * FILES);
    }
}

/* Contents that end close to a piece's end, with and without a newline there. */
static void files_may_end_where_a_piece_does(void **state)
{
    enum { LENGTHS = 9, ENDS = 2 };
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};
    cleanup_buf struct buf text = BUF_INIT(WORLD_BUF_BYTES);

    hunt_init(&hunt, world, "needle");
    for (unsigned context = 0; context <= CONTEXT_MAX; context++) {
        cleanup_buf struct buf expected = BUF_INIT(WORLD_BUF_BYTES);

        seed = 2;
        for (unsigned i = 0; i < 2 * LENGTHS * ENDS; i++) {
            size_t len =
                (size_t)PIECE * (1 + i / (LENGTHS * ENDS)) - LENGTHS / 2 + i / ENDS % LENGTHS;
            char name[32];

            make_text(&text, len, 0, false);
            text.len = len;
            memcpy(text.data + len - 8, "\nneedle\n", 8);
            if (i % ENDS == 1)
                memcpy(text.data + len - 7, "aneedle", 7);
            snprintf(name, sizeof(name), "%02u", i);
            if (context == 0)
                plant_bytes(world, WORLD_ROOT, name, buf_view(&text));
            expect(&expected, name, buf_view(&text), context);
        }
        hunt.request.context_lines = context;
        assert_plainly_found(&hunt, &expected);
    }
}

static void context_ends_with_the_file_and_may_overlap(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    plant(world, WORLD_ROOT, "a", "needle 1\n2\nneedle 3\n4\n\n\n7\nneedle 8");
    plant(world, WORLD_ROOT, "b", "\n");
    plant(world, WORLD_ROOT, "c", "\r\nneedle 2\r\n\r\n");
    plant(world, WORLD_ROOT, "d", "");
    hunt_init(&hunt, world, "needle");
    hunt.request.context_lines = 2;
    assert_found(&hunt, "a:1[0-6]: needle 1\na-2: 2\na-3: needle 3\n"
                        "a-1: needle 1\na-2: 2\na:3[0-6]: needle 3\na-4: 4\na-5: \n"
                        "a-6: \na-7: 7\na:8[0-6]: needle 8\n"
                        "c-1: \nc:2[0-6]: needle 2\nc-3: \n");
    assert_int_equal(hunt.result.searched, 4);
    hunt.request.context_lines = SEARCH_MAX_CONTEXT;
    assert_ok(world, hunt_run(&hunt));
    assert_int_equal(hunt.result.files[0]->matches[1].before_count, 2);
    assert_int_equal(hunt.result.files[0]->matches[1].after_count, 5);
}

/* Empty lines match, and there is none behind the last newline. */
static void empty_lines_are_lines(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};
    cleanup_buf struct buf text = BUF_INIT(WORLD_BUF_BYTES);

    plant(world, WORLD_ROOT, "a", "\n\nx\n\n");
    plant(world, WORLD_ROOT, "b", "x");
    plant(world, WORLD_ROOT, "c", "");
    while (text.len < 3 * (size_t)PIECE)
        assert_int_equal(buf_append_char(&text, '\n'), 0);
    plant_bytes(world, WORLD_ROOT, "d", buf_view(&text));
    hunt_init(&hunt, world, "^$");
    hunt.request.max_results = 4;
    assert_found(&hunt, "a:1[0-0]: \na:2[0-0]: \na:4[0-0]: \nd:1[0-0]: \n");
    assert_int_equal(hunt.result.total, 3 + 3 * PIECE);
}

/* What is only counted is counted over all pieces too. */
static void what_is_not_kept_is_counted_to_the_end(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};
    cleanup_buf struct buf text = BUF_INIT(WORLD_BUF_BYTES);
    uint64_t lines = 0;

    for (; text.len < 4 * (size_t)PIECE; lines++)
        assert_int_equal(buf_printf(&text, "needle %ju\n", (uintmax_t)lines), 0);
    plant(world, WORLD_ROOT, "a", "needle");
    plant_bytes(world, WORLD_ROOT, "b", buf_view(&text));
    hunt_init(&hunt, world, "needle");
    for (unsigned context = 0; context <= CONTEXT_MAX; context++) {
        hunt.request.context_lines = context;
        for (size_t most = 1; most < 4; most++) {
            hunt.request.max_results = most;
            assert_ok(world, hunt_run(&hunt));
            assert_int_equal(hunt.result.total, lines + 1);
            assert_int_equal(hunt.result.kept, most);
        }
    }
}

/* ---- encodings ---- */

/* Lines with characters of one, two and three bytes in UTF-8, and needles with one of them. */
static void make_umlauts(struct buf *text, size_t lines, bool is_latin)
{
    static const struct str latin[] = {STR_LITERAL("\xC3\xA4"), STR_LITERAL("\xC3\xBF")};
    static const struct str more[] = {STR_LITERAL("\xE2\x82\xAC"), STR_LITERAL("\xC5\x93")};

    buf_clear(text);
    while (lines-- > 0) {
        for (unsigned i = draw(20); i > 0; i--)
            assert_int_equal(buf_printf(text, "%c%c", 'a' + (int)draw(4), 'e' + (int)draw(4)), 0);
        assert_int_equal(buf_append_str(text, is_latin ? latin[draw(2)] : more[draw(2)]), 0);
        assert_int_equal(buf_append_str(text, STR("more text of it")), 0);
        if (draw(50) == 0)
            assert_int_equal(buf_append_str(text, STR(" n\xC3\xA4"
                                                      "dle")),
                             0);
        assert_int_equal(buf_append_str(text, draw(9) == 0 ? STR("\r\n") : STR("\n")), 0);
    }
}

static void expect_umlauts(struct world *world, const char *regex, unsigned context)
{
    static const enum encoding encodings[] = {ENCODING_UTF_8, ENCODING_UTF_16LE, ENCODING_UTF_16BE,
                                              ENCODING_WINDOWS_1252, ENCODING_LATIN_1};
    cleanup_hunt struct hunt hunt = {.world = world};
    struct search_file **files;

    hunt_init(&hunt, world, regex);
    hunt.request.context_lines = context;
    assert_ok(world, hunt_run(&hunt));
    assert_int_equal(hunt.result.binary, 0);
    assert_int_equal(hunt.result.file_count, array_size(encodings));
    files = hunt.result.files;
    for (size_t i = 1; i < array_size(encodings); i++) {
        assert_int_equal(files[i]->match_count, files[0]->match_count);
        for (size_t k = 0; k < files[0]->match_count; k++) {
            const struct search_match *match = &files[i]->matches[k];
            const struct search_match *wanted = &files[0]->matches[k];

            assert_int_equal(match->line_number, wanted->line_number);
            if (encodings[i] == ENCODING_LATIN_1)
                continue; /* another text */
            assert_true(str_eq(match->text, wanted->text));
            assert_int_equal(match->match_start, wanted->match_start);
            assert_int_equal(match->before_count, wanted->before_count);
            for (size_t n = 0; n < wanted->before_count; n++)
                assert_true(str_eq(match->before[n], wanted->before[n]));
        }
    }
    assert_true(hunt.result.total > 100 * array_size(encodings));
}

static void text_in_other_encodings_is_found_as_in_utf_8(void **state)
{
    enum { LINES = 20000 };
    static const struct {
        const char *name;
        enum encoding encoding;
    } rows[] = {{"0", ENCODING_UTF_8},
                {"1", ENCODING_UTF_16LE},
                {"2", ENCODING_UTF_16BE},
                {"3", ENCODING_WINDOWS_1252},
                {"4", ENCODING_LATIN_1}};
    struct world *world = *state;
    cleanup_buf struct buf text = BUF_INIT(WORLD_BUF_BYTES);
    cleanup_buf struct buf bytes = BUF_INIT(WORLD_BUF_BYTES);
    uint32_t missing;

    for (size_t i = 0; i < array_size(rows); i++) {
        seed = 3;
        make_umlauts(&text, LINES, rows[i].encoding == ENCODING_LATIN_1);
        buf_clear(&bytes);
        assert_int_equal(encoding_encode(rows[i].encoding, buf_view(&text), &bytes, &missing), 0);
        plant_bytes(world, WORLD_ROOT, rows[i].name, buf_view(&bytes));
    }
    expect_umlauts(world,
                   "n\xC3\xA4"
                   "dle",
                   0);
    expect_umlauts(world,
                   "n\xC3\xA4"
                   "dle",
                   2);
    expect_umlauts(world, " n.dle", 1);
    expect_umlauts(world, "dle", 1); /* ASCII: the encoding matters only for what is shown */
    expect_umlauts(world,
                   "(?i)N\xC3\x84"
                   "DLE.?$",
                   0);
}

/* The first bytes beyond ASCII come late, or beside UTF-8. */
static void an_encoding_may_show_late_or_only_in_places(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};
    cleanup_buf struct buf text = BUF_INIT(WORLD_BUF_BYTES);
    size_t lines = 0;

    for (; text.len < 2 * (size_t)PIECE; lines++)
        assert_int_equal(buf_append_str(&text, STR("plain\n")), 0);
    assert_int_equal(buf_append_str(&text, STR("n\xE4"
                                               "dle")),
                     0);
    plant_bytes(world, WORLD_ROOT, "late", buf_view(&text));
    plant(world, WORLD_ROOT, "mixed",
          "n\xC3\xA4"
          "dle\nn\xE4"
          "dle too\n");
    hunt_init(&hunt, world,
              "n\xC3\xA4"
              "dle");
    assert_ok(world, hunt_run(&hunt));
    assert_int_equal(hunt.result.total, 3);
    assert_int_equal(hunt.result.files[0]->matches[0].line_number, lines + 1);
    assert_str(hunt.result.files[1]->matches[1].text, "n\xC3\xA4"
                                                      "dle too");
}

static void an_encoding_may_show_where_a_piece_ends(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};
    cleanup_buf struct buf text = BUF_INIT(WORLD_BUF_BYTES);

    while (text.len < PIECE - 3)
        assert_int_equal(buf_append_char(&text, 'x'), 0);
    assert_int_equal(buf_append_str(&text, STR("\n\xE4\nmore\n")), 0);
    plant_bytes(world, WORLD_ROOT, "a", buf_view(&text));
    hunt_init(&hunt, world, "\xC3\xA4");
    assert_found(&hunt, "a:2[0-2]: \xC3\xA4\n");
}

static void binary_files_in_utf_16_stay_binary(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    plant_bytes(world, WORLD_ROOT, "a", STR("\xFF\xFEn\0e\0e\0d\0l\0e\0\0\0x\0"));
    plant_bytes(world, WORLD_ROOT, "b", STR("\xFF\xFE\0\0n\0\0\0")); /* UTF-32 */
    plant_bytes(world, WORLD_ROOT, "c", STR("\xFF\xFEn\0e\0e\0d\0l\0e\0"));
    hunt_init(&hunt, world, "needle");
    assert_found(&hunt, "c:1[0-6]: needle\n");
    assert_int_equal(hunt.result.binary, 2);
}

/* ---- long lines ---- */

static void append_long(struct buf *text, size_t len)
{
    assert_int_equal(buf_reserve(text, len), 0);
    memset(text->data + text->len, 'x', len);
    text->len += len;
}

static void lines_may_be_longer_than_a_piece(void **state)
{
    static const size_t lengths[] = {PIECE - 7, PIECE - 6, PIECE, 3 * PIECE, (4 << 20) + 1};
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};

    for (size_t i = 0; i < array_size(lengths); i++) {
        cleanup_buf struct buf text = BUF_INIT(WORLD_BUF_BYTES);
        char name[] = {(char)('a' + i), '\0'};

        assert_int_equal(buf_append_str(&text, STR("one\n")), 0);
        append_long(&text, lengths[i]);
        assert_int_equal(buf_append_str(&text, STR("needle\nthree\nneedle four")), 0);
        plant_bytes(world, WORLD_ROOT, name, buf_view(&text));
    }
    hunt_init(&hunt, world, "needle");
    hunt.request.threads = 1;
    for (unsigned context = 0; context <= CONTEXT_MAX; context++) {
        hunt.request.context_lines = context;
        assert_ok(world, hunt_run(&hunt));
        assert_int_equal(hunt.result.total, 2 * array_size(lengths));
        assert_int_equal(hunt.result.missed_count + hunt.result.too_large, 0);
        for (size_t i = 0; i < array_size(lengths); i++) {
            const struct search_match *matches = hunt.result.files[i]->matches;

            assert_int_equal(matches[0].line_number, 2);
            assert_int_equal(matches[0].match_end - matches[0].match_start, 6);
            assert_memory_equal(matches[0].text.ptr + matches[0].match_start, "needle", 6);
            assert_int_equal(matches[0].before_count, context > 0);
            assert_int_equal(matches[0].after_count, context < 2 ? context : 2);
            assert_int_equal(matches[1].line_number, 4);
            assert_str(matches[1].text, "needle four");
            assert_int_equal(matches[1].before_count, context);
        }
    }
}

/* For a pattern that must be told from the line as a whole. */
static void a_line_that_is_too_long_costs_its_file(void **state)
{
    struct world *world = *state;
    cleanup_hunt struct hunt hunt = {.world = world};
    cleanup_buf struct buf text = BUF_INIT(WORLD_BUF_BYTES);

    assert_int_equal(buf_append_str(&text, STR("needle\n")), 0);
    append_long(&text, SEEKER_MAX_BUFFER_BYTES + 1);
    assert_int_equal(buf_append_str(&text, STR("\nneedle\n")), 0);
    plant_bytes(world, WORLD_ROOT, "long", buf_view(&text));
    plant(world, WORLD_ROOT, "small", "needle");
    hunt_init(&hunt, world, "needle$");
    for (unsigned context = 0; context <= CONTEXT_MAX; context++) {
        hunt.request.context_lines = context;
        assert_found(&hunt, "small:1[0-6]: needle\n");
        assert_int_equal(hunt.result.total, 1);
        assert_int_equal(hunt.result.too_large, 1);
    }
}

static void to_utf_16(struct buf *text)
{
    struct buf encoded = BUF_INIT(text->max * 2);
    uint32_t missing;

    assert_int_equal(encoding_encode(ENCODING_UTF_16BE, buf_view(text), &encoded, &missing), 0);
    buf_done(text);
    *text = encoded;
}

/* Matches lie at every distance from the border of two parts, and the line counts once. */
static void a_line_of_any_length_is_searched_for_plain_text(void **state)
{
    enum { ROOM = SEEKER_MAX_BUFFER_BYTES };
    static const size_t places[] = {0,        ROOM - 1200, ROOM - 807, ROOM - 800,   ROOM - 7,
                                    ROOM - 3, ROOM,        ROOM + 1,   ROOM + 20000, 2 * ROOM + 1};
    struct world *world = *state;

    for (size_t i = 0; i < array_size(places); i++) {
        cleanup_hunt struct hunt hunt = {.world = world};
        cleanup_buf struct buf text = BUF_INIT((size_t)4 * ROOM);
        const struct search_match *matches;

        hunt_init(&hunt, world, "needle");
        hunt.request.threads = 1;
        hunt.request.context_lines = i % 2;
        assert_int_equal(buf_append_str(&text, STR("needle\n")), 0);
        append_long(&text, 2 * (size_t)ROOM + 100000);
        memcpy(text.data + 7 + places[i], "needle", 6);
        memcpy(text.data + text.len - 500, "needle", 6);
        assert_int_equal(buf_append_str(&text, STR("\nneedle three\n")), 0);
        if (i == 3)
            to_utf_16(&text);
        plant_bytes(world, WORLD_ROOT, "long", buf_view(&text));
        assert_ok(world, hunt_run(&hunt));
        assert_int_equal(hunt.result.too_large, 0);
        assert_int_equal(hunt.result.total, 3);
        matches = hunt.result.files[0]->matches;
        assert_int_equal(matches[1].line_number, 2);
        assert_memory_equal(matches[1].text.ptr + matches[1].match_start, "needle", 6);
        assert_int_equal(str_starts_with(matches[1].text, STR("\xE2\x80\xA6")), places[i] > 0);
        assert_true(str_ends_with(matches[1].text, STR("\xE2\x80\xA6")));
        assert_int_equal(matches[2].line_number, 3);
        assert_str(matches[2].text, "needle three");
        assert_ok(world, authority_remove(world->scope, STR("long"), NULL, &world->err));
    }
}

TEST_MAIN(EVERYWHERE(matches_around_every_border_are_shown_whole),
          IN_MEMORY(files_may_end_where_a_piece_does),
          EVERYWHERE(context_ends_with_the_file_and_may_overlap), IN_MEMORY(empty_lines_are_lines),
          IN_MEMORY(what_is_not_kept_is_counted_to_the_end),
          EVERYWHERE(text_in_other_encodings_is_found_as_in_utf_8),
          IN_MEMORY(an_encoding_may_show_late_or_only_in_places),
          IN_MEMORY(an_encoding_may_show_where_a_piece_ends),
          IN_MEMORY(binary_files_in_utf_16_stay_binary),
          EVERYWHERE(lines_may_be_longer_than_a_piece),
          EVERYWHERE(a_line_that_is_too_long_costs_its_file),
          IN_MEMORY(a_line_of_any_length_is_searched_for_plain_text))
