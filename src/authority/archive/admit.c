/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/archive/internal.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/utf8.h"

/* An entry of the table, whose key is the name in one case and normal form. */
struct known_name {
    struct str spelled;
    bool is_directory;
    bool has_entry; /* of its own; else it is only the directory of something */
};

struct archive_limits archive_limits_from(const struct authority_archive_options *options)
{
    static const struct authority_archive_options none;
    const struct authority_archive_options *o = options != NULL ? options : &none;

#define OR_DEFAULT(value, standard) ((value) != 0 ? (value) : (standard))
    return (struct archive_limits){
        .archive_bytes = OR_DEFAULT(o->max_archive_bytes, AUTHORITY_ARCHIVE_BYTES),
        .entries = OR_DEFAULT(o->max_entries, AUTHORITY_ARCHIVE_ENTRIES),
        .total_bytes = OR_DEFAULT(o->max_total_bytes, AUTHORITY_ARCHIVE_TOTAL_BYTES),
        .entry_bytes = OR_DEFAULT(o->max_entry_bytes, AUTHORITY_ARCHIVE_ENTRY_BYTES),
        .ratio = OR_DEFAULT(o->max_ratio, (unsigned)AUTHORITY_ARCHIVE_RATIO),
        .depth = OR_DEFAULT(o->max_depth, (unsigned)AUTHORITY_ARCHIVE_DEPTH),
    };
#undef OR_DEFAULT
}

int archive_refuse(struct err *err, int code, struct str name, const char *text)
{
    struct str cut = utf8_cut(name, ERR_FIELD_BYTES - 1);
    char field[ERR_FIELD_BYTES] = "";

    /* A name that is no text is no field either. */
    if (utf8_is_valid(cut) && !str_has_nul(cut))
        memcpy(field, cut.ptr, cut.len);
    return err_set_field(err, code, field, "%s", text);
}

int archive_gate_init(struct archive_gate *gate, const struct archive_rules *rules,
                      uint64_t archive_size, struct err *err)
{
    const struct archive_limits *limits = &rules->limits;

    *gate = (struct archive_gate){
        .rules = rules,
        .archive_size = archive_size,
        .names = ARENA_INIT(ARCHIVE_NAMES_BYTES),
        .table = MAP_INIT(limits->entries < SIZE_MAX ? (size_t)limits->entries : SIZE_MAX),
        .last_parent = STR_EMPTY,
    };
    if (archive_size > limits->archive_bytes)
        return err_set(err, ERR_ARCHIVE_BYTES, "the archive itself is too large");
    return 0;
}

void archive_gate_done(struct archive_gate *gate)
{
    map_done(&gate->table);
    arena_done(&gate->names);
}

/* ---- Bytes ---- */

static uint64_t multiply_or_all(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t add_or_all(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static int check_ratio(const struct archive_gate *gate, uint64_t unpacked, struct err *err)
{
    if (unpacked > ARCHIVE_RATIO_FLOOR_BYTES &&
        unpacked > multiply_or_all(gate->archive_size, gate->rules->limits.ratio))
        return err_set_plain(err, ERR_ARCHIVE_RATIO);
    return 0;
}

int archive_gate_decoded(const struct archive_gate *gate, uint64_t decoded, struct err *err)
{
    const struct archive_limits *limits = &gate->rules->limits;
    uint64_t overhead = multiply_or_all(limits->entries, ARCHIVE_OVERHEAD_BYTES);

    /* Headers alone can be a bomb as well. */
    if (decoded > add_or_all(limits->total_bytes, overhead))
        return err_set_plain(err, ERR_ARCHIVE_BYTES);
    return check_ratio(gate, decoded, err);
}

static int check_bytes(const struct archive_gate *gate, uint64_t entry, uint64_t total,
                       struct err *err)
{
    const struct archive_limits *limits = &gate->rules->limits;
    struct str name = {gate->name, gate->name_len};

    if (entry > limits->entry_bytes)
        return archive_refuse(err, ERR_ARCHIVE_BYTES, name, "a file in the archive is too large");
    if (total > limits->total_bytes)
        return archive_refuse(err, ERR_ARCHIVE_BYTES, name, "the archive has too much content");
    return 0;
}

int archive_gate_bytes(struct archive_gate *gate, uint64_t count, struct err *err)
{
    uint64_t received = add_or_all(gate->received, count);
    uint64_t total = add_or_all(gate->result.bytes, count);
    int r = check_bytes(gate, received, total, err);

    if (r < 0)
        return r;
    if (received > gate->declared)
        return archive_refuse(err, ERR_ARCHIVE_FORMAT, (struct str){gate->name, gate->name_len},
                              "an entry is larger than it declares");
    gate->received = received;
    gate->result.bytes = total;
    return check_ratio(gate, total, err);
}

int archive_gate_entry_end(struct archive_gate *gate, struct err *err)
{
    if (gate->received != gate->declared)
        return archive_refuse(err, ERR_ARCHIVE_FORMAT, (struct str){gate->name, gate->name_len},
                              "an entry is smaller than it declares");
    return 0;
}

/* ---- Names ---- */

/* Writes gate->name: components joined by single slashes, without "." */
static int bring_into_form(struct archive_gate *gate, struct str raw, struct err *err)
{
    struct str rest = raw, part;
    unsigned depth = 0;
    size_t len = 0;

    if (raw.len == 0)
        return err_set(err, ERR_ARCHIVE_ENTRY_PATH, "an entry has no name");
    if (raw.ptr[0] == '/')
        return archive_refuse(err, ERR_ARCHIVE_ENTRY_PATH, raw, "an entry has an absolute path");
    if (raw.len >= sizeof(gate->name))
        return archive_refuse(err, ERR_ARCHIVE_ENTRY_PATH, raw, "an entry's name is too long");
    /* Which other names it equals can be said of text alone. */
    if (!utf8_is_valid(raw) || str_has_nul(raw))
        return archive_refuse(err, ERR_ARCHIVE_ENTRY_PATH, raw, "an entry's name is not UTF-8");
    while (str_cut(&rest, '/', &part)) {
        if (part.len == 0 || str_eq(part, STR(".")))
            continue;
        if (str_eq(part, STR("..")))
            return archive_refuse(err, ERR_ARCHIVE_ENTRY_PATH, raw,
                                  "an entry's path contains \"..\"");
        if (part.len > NAME_MAX)
            return archive_refuse(err, ERR_ARCHIVE_ENTRY_PATH, raw,
                                  "a part of an entry's name is too long");
        if (++depth > gate->rules->limits.depth)
            return archive_refuse(err, ERR_ARCHIVE_DEPTH, raw, err_text(ERR_ARCHIVE_DEPTH));
        if (len > 0)
            gate->name[len++] = '/';
        memcpy(gate->name + len, part.ptr, part.len);
        len += part.len;
    }
    gate->name[len] = '\0';
    gate->name_len = len;
    return 0;
}

static bool is_ascii(struct str text)
{
    unsigned char all = 0;

    for (size_t i = 0; i < text.len; i++)
        all |= (unsigned char)text.ptr[i];
    return all < 0x80;
}

static int map_text(const utf8proc_uint8_t *text, size_t len, utf8proc_option_t options,
                    utf8proc_uint8_t **out_text, size_t *out_len)
{
    utf8proc_ssize_t r = utf8proc_map(text, (utf8proc_ssize_t)len, out_text, options);

    if (r < 0)
        return r == UTF8PROC_ERROR_NOMEM ? ERR_NO_MEMORY : ERR_ARCHIVE_ENTRY_PATH;
    *out_len = (size_t)r;
    return 0;
}

bool archive_is_same_text(struct str a, struct str b)
{
    cleanup_free utf8proc_uint8_t *text_a = NULL;
    cleanup_free utf8proc_uint8_t *text_b = NULL;
    utf8proc_option_t form = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    size_t len_a, len_b;

    if (str_eq(a, b))
        return true;
    if (map_text((const utf8proc_uint8_t *)a.ptr, a.len, form, &text_a, &len_a) < 0 ||
        map_text((const utf8proc_uint8_t *)b.ptr, b.len, form, &text_b, &len_b) < 0)
        return false;
    return len_a == len_b && memcmp(text_a, text_b, len_a) == 0;
}

/*
 * The key of a name, in new memory: one normal form and one case, so that names that must not
 * coexist have the same key. Slashes stay where they are, so that a prefix of the name up to a
 * slash folds to the same prefix of the key.
 */
static int fold(struct str name, char **out_key, size_t *out_len)
{
    cleanup_free utf8proc_uint8_t *apart = NULL;
    cleanup_free utf8proc_uint8_t *folded = NULL;
    size_t apart_len, folded_len;
    int r;

    if (is_ascii(name)) {
        char *key = malloc(name.len + 1);

        if (key == NULL)
            return ERR_NO_MEMORY;
        for (size_t i = 0; i < name.len; i++) {
            char c = name.ptr[i];

            key[i] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
        }
        *out_key = key;
        *out_len = name.len;
        return 0;
    }
    /* Taken apart first: folding looks at single characters, composed ones would differ. */
    r = map_text((const utf8proc_uint8_t *)name.ptr, name.len, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
                 &apart, &apart_len);
    if (r == 0)
        r = map_text(apart, apart_len, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD,
                     &folded, &folded_len);
    if (r < 0)
        return r;
    *out_key = (char *)steal_ptr(&folded);
    *out_len = folded_len;
    return 0;
}

static int remember(struct archive_gate *gate, struct str name, struct str key, bool is_directory,
                    bool has_entry, struct err *err)
{
    struct known_name *known = arena_new(&gate->names, struct known_name);
    char *spelled = arena_copy(&gate->names, name);
    const char *stored = spelled;
    int r;

    if (!str_eq(name, key))
        stored = arena_copy(&gate->names, key);
    if (known == NULL || spelled == NULL || stored == NULL)
        return archive_refuse(err, ERR_ARCHIVE_ENTRIES, name,
                              "the names in the archive need too much memory");
    *known = (struct known_name){{spelled, name.len}, is_directory, has_entry};
    r = map_add(&gate->table, (struct str){stored, key.len}, known);
    if (r == ERR_TOO_LARGE)
        r = ERR_ARCHIVE_ENTRIES;
    if (r < 0)
        return archive_refuse(err, r, name, err_text(r));
    if (is_directory)
        gate->result.directories++;
    else
        gate->result.files++;
    if (is_directory && gate->make_directory != NULL) {
        r = gate->make_directory(gate->context, (struct str){spelled, name.len});
        if (r < 0)
            return archive_refuse(err, r, name, err_text(r));
    }
    return 0;
}

/* The entry under this key must be the same directory, in the same spelling. */
static int check_directory(const struct known_name *known, struct str name, struct err *err)
{
    if (!known->is_directory)
        return archive_refuse(err, ERR_ARCHIVE_ENTRY_PATH, name,
                              "the archive uses a file as a directory");
    if (!str_eq(known->spelled, name))
        return archive_refuse(err, ERR_ARCHIVE_ENTRY_PATH, name,
                              "the archive has two paths that differ only in case or Unicode form");
    return 0;
}

/* Enters every directory above the name, from the top. */
static int enter_parents(struct archive_gate *gate, struct str name, struct str key,
                         struct err *err)
{
    const char *slash = memrchr(name.ptr, '/', name.len);
    size_t key_at = 0;
    struct str parent;

    if (slash == NULL)
        return 0;
    /* Most entries lie beside the one before. */
    parent = (struct str){name.ptr, (size_t)(slash - name.ptr)};
    if (str_eq(parent, gate->last_parent))
        return 0;
    for (size_t at = 0; at <= parent.len; at++) {
        struct str directory = {name.ptr, at};
        const struct known_name *known;
        struct str folded;
        int r;

        if (name.ptr[at] != '/')
            continue;
        while (key_at < key.len && key.ptr[key_at] != '/')
            key_at++;
        folded = (struct str){key.ptr, key_at++};
        known = map_get(&gate->table, folded);
        r = known != NULL ? check_directory(known, directory, err)
                          : remember(gate, directory, folded, true, false, err);
        if (r < 0)
            return r;
        if (at == parent.len) {
            known = map_get(&gate->table, folded);
            gate->last_parent = known->spelled;
        }
    }
    return 0;
}

static int enter_name(struct archive_gate *gate, bool is_directory, struct err *err)
{
    struct str name = {gate->name, gate->name_len};
    cleanup_free char *key_text = NULL;
    struct known_name *known;
    struct str key;
    int r;

    r = fold(name, &key_text, &key.len);
    if (r < 0)
        return archive_refuse(err, r, name, err_text(r));
    key.ptr = key_text;
    r = enter_parents(gate, name, key, err);
    if (r < 0)
        return r;
    known = map_get(&gate->table, key);
    if (known == NULL)
        return remember(gate, name, key, is_directory, true, err);
    if (known->has_entry)
        return archive_refuse(
            err, ERR_ARCHIVE_ENTRY_PATH, name,
            str_eq(known->spelled, name)
                ? "the archive has a path twice"
                : "the archive has two paths that differ only in case or Unicode form");
    if (!is_directory)
        return archive_refuse(err, ERR_ARCHIVE_ENTRY_PATH, name,
                              "the archive uses a file as a directory");
    /* A directory that its content has come before. */
    known->has_entry = true;
    return check_directory(known, name, err);
}

int archive_gate_entry(struct archive_gate *gate, struct str raw_name, bool is_directory,
                       unsigned mode, uint64_t size, struct archive_item *out_item, struct err *err)
{
    const struct archive_rules *rules = gate->rules;
    struct str name;
    int r;

    if (++gate->headers > rules->limits.entries)
        return archive_refuse(err, ERR_ARCHIVE_ENTRIES, raw_name, err_text(ERR_ARCHIVE_ENTRIES));
    r = bring_into_form(gate, raw_name, err);
    if (r < 0)
        return r;
    name = (struct str){gate->name, gate->name_len};
    gate->declared = size;
    gate->received = 0;
    r = check_bytes(gate, size, add_or_all(gate->result.bytes, size), err);
    if (r < 0)
        return r;
    if (is_directory && size > 0)
        return archive_refuse(err, ERR_ARCHIVE_FORMAT, name, "a directory entry has content");
    if (name.len == 0 && !is_directory)
        return archive_refuse(err, ERR_ARCHIVE_ENTRY_PATH, raw_name, "a file has no name");
    if (name.len > 0) {
        if (rules->admits != NULL && !rules->admits(rules->context, name, is_directory))
            return archive_refuse(err, ERR_DENIED_BY_POLICY, name,
                                  "the archive contains a denied path");
        r = enter_name(gate, is_directory, err);
        if (r < 0)
            return r;
    }
    *out_item = (struct archive_item){
        .name = name,
        .is_directory = is_directory,
        .mode = is_directory || (mode & 0111) ? 0755 : 0644,
        .size = size,
    };
    return 0;
}
