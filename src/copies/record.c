/* SPDX-License-Identifier: Apache-2.0 */
#include "copies/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"

#define FIRST_LINE "gatehouse-workspace 1"
#define BASE_LINE  "base\n"

enum { FIRST_ROOM = 256 };

void copies_record_done(struct copies_record *record)
{
    arena_regrow_free(&record->arena, record->entries);
    arena_done(&record->arena);
    *record = (struct copies_record)COPIES_RECORD_INIT;
}

/* ---- prints ---- */

struct copies_print copies_print_of(const struct authority_stat *about)
{
    return (struct copies_print){.is_there = true,
                                 .size = about->size,
                                 .changed_ns = about->changed_ns,
                                 .inode = about->inode};
}

bool copies_is_same(const struct copies_print *a, const struct copies_print *b)
{
    if (!a->is_there || !b->is_there)
        return a->is_there == b->is_there;
    return a->size == b->size && a->changed_ns == b->changed_ns && a->inode == b->inode;
}

/* ---- entries ---- */

int copies_record_add(struct copies_record *record, const struct copies_entry *entry)
{
    if (record->count == COPIES_MAX_ENTRIES)
        return ERR_TOO_LARGE;
    if (record->count == record->room) {
        size_t room = record->room > 0 ? 2 * record->room : FIRST_ROOM;
        struct copies_entry *grown =
            arena_regrow(&record->arena, record->entries, room * sizeof(*grown));

        if (grown == NULL)
            return record->arena.error;
        record->entries = grown;
        record->room = room;
    }
    record->entries[record->count] = *entry;
    if (!arena_copy_str(&record->arena, entry->name, &record->entries[record->count].name))
        return record->arena.error;
    record->count++;
    return 0;
}

static int compare_entries(const void *a, const void *b)
{
    return str_compare(((const struct copies_entry *)a)->name,
                       ((const struct copies_entry *)b)->name);
}

void copies_record_sort(struct copies_record *record)
{
    if (record->count > 1)
        qsort(record->entries, record->count, sizeof(*record->entries), compare_entries);
}

struct copies_entry *copies_record_find(const struct copies_record *record, struct str name)
{
    const struct copies_entry key = {.name = name};

    return record->count > 0 ? bsearch(&key, record->entries, record->count,
                                       sizeof(*record->entries), compare_entries)
                             : NULL;
}

int copies_record_leave_out(struct copies_record *record, struct str name)
{
    record->left_out_count++;
    if (record->left_out_shown == COPIES_MAX_LEFT_OUT)
        return 0;
    if (record->left_out == NULL)
        record->left_out =
            arena_alloc_array(&record->arena, COPIES_MAX_LEFT_OUT, sizeof(*record->left_out));
    if (record->left_out == NULL ||
        !arena_copy_str(&record->arena, name, &record->left_out[record->left_out_shown]))
        return record->arena.error;
    record->left_out_shown++;
    return 0;
}

/* ---- names and numbers ---- */

static bool is_plain(unsigned char c)
{
    return c > ' ' && c < 0x7f && c != '%';
}

int copies_put_name(struct buf *out, struct str name)
{
    int r = 0;

    for (size_t i = 0; i < name.len && r == 0; i++) {
        unsigned char c = (unsigned char)name.ptr[i];

        r = is_plain(c) ? buf_append_char(out, (char)c) : buf_printf(out, "%%%02x", c);
    }
    return r;
}

int copies_take_name(struct arena *arena, struct str encoded, struct str *out_name)
{
    char *name = arena_alloc(arena, encoded.len + 1);
    size_t len = 0;

    if (name == NULL)
        return arena->error;
    while (encoded.len > 0) {
        bool is_escape = encoded.ptr[0] == '%';
        int byte = hex_take_percent(&encoded);

        if (byte <= 0 || (!is_escape && !is_plain((unsigned char)byte)))
            return ERR_STATE_INVALID;
        name[len++] = (char)byte;
    }
    if (len == 0)
        return ERR_STATE_INVALID;
    name[len] = '\0';
    *out_name = (struct str){name, len};
    return 0;
}

/* A number of decimal digits up to the next space. */
static bool take_number(struct str *rest, uint64_t *out_number)
{
    struct str digits;
    uint64_t number = 0;

    if (rest->ptr == NULL)
        return false;
    (void)str_cut(rest, ' ', &digits);
    if (digits.len == 0)
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        unsigned digit = (unsigned)((unsigned char)digits.ptr[i]) - '0';

        if (digit > 9 || __builtin_mul_overflow(number, 10U, &number) ||
            __builtin_add_overflow(number, digit, &number))
            return false;
    }
    *out_number = number;
    return true;
}

/* ---- writing ---- */

static char letter_of(enum authority_type type)
{
    switch (type) {
    case AUTHORITY_FILE:
        return 'f';
    case AUTHORITY_DIRECTORY:
        return 'd';
    case AUTHORITY_SYMLINK:
        return 'l';
    case AUTHORITY_OTHER:
        break;
    }
    return 'o';
}

static int put_print(struct buf *out, const struct copies_print *print)
{
    return buf_printf(out, " %d %" PRIu64 " %" PRIu64 " %" PRIu64, print->is_there, print->size,
                      print->changed_ns, print->inode);
}

static int put_entry(struct buf *out, const struct copies_entry *entry)
{
    int r = buf_append_char(out, letter_of(entry->type));

    if (r == 0)
        r = put_print(out, &entry->original);
    if (r == 0)
        r = put_print(out, &entry->copy);
    if (r == 0)
        r = buf_append_char(out, ' ');
    if (r == 0)
        r = copies_put_name(out, entry->name);
    return r == 0 ? buf_append_char(out, '\n') : r;
}

static int put_named_line(struct buf *out, const char *word, struct str name)
{
    int r = buf_printf(out, "%s ", word);

    if (r == 0)
        r = copies_put_name(out, name);
    return r == 0 ? buf_append_char(out, '\n') : r;
}

int copies_record_write(const struct copies_record *record, struct buf *out)
{
    int r = buf_printf(out, FIRST_LINE "\ncreated %" PRId64 "\ngit %d\nsensitive %d\n",
                       record->created_ms, record->has_git, record->has_sensitive);

    if (r == 0)
        r = put_named_line(out, "original", record->original);
    if (r == 0)
        r = buf_printf(out, "left-out %" PRIu64 "\n", record->left_out_count);
    for (size_t i = 0; i < record->left_out_shown && r == 0; i++)
        r = put_named_line(out, "-", record->left_out[i]);
    if (r == 0 && record->has_base)
        return buf_printf(out, BASE_LINE);
    for (size_t i = 0; i < record->count && r == 0; i++)
        r = put_entry(out, &record->entries[i]);
    return r == 0 ? buf_printf(out, "end %zu\n", record->count) : r;
}

/* ---- parsing ---- */

/* The value of a line that begins with this word. */
static bool take_line(struct str *rest, const char *word, struct str *out_value)
{
    struct str line;
    struct str first;

    if (rest->ptr == NULL)
        return false;
    (void)str_cut(rest, '\n', &line);
    if (!str_cut(&line, ' ', &first) || !str_eq_c(first, word) || line.ptr == NULL)
        return false;
    *out_value = line;
    return true;
}

static bool take_count(struct str *rest, const char *word, uint64_t most, uint64_t *out_count)
{
    struct str value;

    return take_line(rest, word, &value) && take_number(&value, out_count) && value.ptr == NULL &&
           *out_count <= most;
}

static int take_left_out(struct str *rest, struct copies_record *record)
{
    uint64_t count = record->left_out_count;

    record->left_out_count = 0;
    while (rest->ptr != NULL && rest->len > 0 && rest->ptr[0] == '-') {
        struct str value;
        struct str name;
        int r;

        if (!take_line(rest, "-", &value))
            return ERR_STATE_INVALID;
        r = copies_take_name(&record->arena, value, &name);
        if (r == 0)
            r = copies_record_leave_out(record, name);
        if (r < 0)
            return r;
    }
    if (record->left_out_count > count)
        return ERR_STATE_INVALID;
    record->left_out_count = count;
    return 0;
}

static int parse_head(struct str *rest, struct copies_record *record)
{
    struct str line;
    struct str value;
    uint64_t created;
    uint64_t has_git;
    uint64_t has_sensitive;
    int r;

    (void)str_cut(rest, '\n', &line);
    if (!str_eq_c(line, FIRST_LINE) || !take_count(rest, "created", INT64_MAX, &created) ||
        !take_count(rest, "git", 1, &has_git) ||
        !take_count(rest, "sensitive", 1, &has_sensitive) || !take_line(rest, "original", &value))
        return ERR_STATE_INVALID;
    r = copies_take_name(&record->arena, value, &record->original);
    if (r < 0)
        return r;
    if (record->original.ptr[0] != '/' ||
        !take_count(rest, "left-out", COPIES_MAX_ENTRIES, &record->left_out_count))
        return ERR_STATE_INVALID;
    record->created_ms = (int64_t)created;
    record->has_git = has_git == 1;
    record->has_sensitive = has_sensitive == 1;
    return take_left_out(rest, record);
}

static bool take_print(struct str *line, struct copies_print *out_print)
{
    uint64_t is_there;

    if (!take_number(line, &is_there) || is_there > 1 || !take_number(line, &out_print->size) ||
        !take_number(line, &out_print->changed_ns) || !take_number(line, &out_print->inode))
        return false;
    out_print->is_there = is_there == 1;
    return true;
}

static bool take_type(struct str *line, enum authority_type *out_type)
{
    struct str letter;

    if (!str_cut(line, ' ', &letter) || letter.len != 1)
        return false;
    for (enum authority_type type = AUTHORITY_FILE; type <= AUTHORITY_OTHER; type++)
        if (letter.ptr[0] == letter_of(type)) {
            *out_type = type;
            return true;
        }
    return false;
}

static int parse_entry(struct str line, struct copies_record *record)
{
    struct copies_entry entry;
    int r;

    if (!take_type(&line, &entry.type) || !take_print(&line, &entry.original) ||
        !take_print(&line, &entry.copy) || line.ptr == NULL)
        return ERR_STATE_INVALID;
    r = copies_take_name(&record->arena, line, &entry.name);
    if (r < 0)
        return r;
    /* Whoever looks for a name relies on their order. */
    if (record->count > 0 && str_compare(record->entries[record->count - 1].name, entry.name) >= 0)
        return ERR_STATE_INVALID;
    return copies_record_add(record, &entry);
}

int copies_record_parse_head(struct str text, struct copies_record *out_record)
{
    int r = parse_head(&text, out_record);

    if (r < 0)
        copies_record_done(out_record);
    return r;
}

int copies_record_parse(struct str text, struct copies_record *out_record)
{
    uint64_t count = 0;
    int r = parse_head(&text, out_record);

    if (r == 0 && str_eq_c(text, BASE_LINE)) {
        out_record->has_base = true;
        return 0;
    }
    while (r == 0 && text.ptr != NULL && text.len > 0 && text.ptr[0] != 'e') {
        struct str line;

        (void)str_cut(&text, '\n', &line);
        r = parse_entry(line, out_record);
    }
    /* The last line says that it is whole. */
    if (r == 0 && (!take_count(&text, "end", COPIES_MAX_ENTRIES, &count) ||
                   count != out_record->count || text.ptr == NULL || text.len > 0))
        r = ERR_STATE_INVALID;
    if (r < 0)
        copies_record_done(out_record);
    return r;
}
