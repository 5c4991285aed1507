/* SPDX-License-Identifier: Apache-2.0 */
#include "base/schema/schema.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/hex.h"
#include "base/schema/compile_internal.h"

enum {
    WORD_BYTES = 56,   /* of a name inside an error */
    TOKEN_BYTES = 128, /* the same with its escapes */
    /* What an arena adds to a block at most: header and rounding. */
    ARENA_OVERHEAD_BYTES = 64,
};

static const uint32_t no_note = UINT32_MAX;

/* One token of a JSON pointer, with its slash. */
static void print_token(struct str name, struct schema_text *text)
{
    schema_text_add(text, STR("/"));
    for (size_t i = 0, end; i < name.len && text->len < WORD_BYTES; i = end) {
        for (end = i; end < name.len && name.ptr[end] != '~' && name.ptr[end] != '/';)
            end++;
        schema_text_add_printable(text, str_slice(name, i, end - i), WORD_BYTES);
        if (end < name.len)
            schema_text_add(text, name.ptr[end++] == '~' ? STR("~0") : STR("~1"));
    }
}

/* JSON pointer to `target`, found by walking down to it: only errors need it. */
static void print_pointer(const struct schema_compiler *c, const struct json_value *target,
                          struct schema_text *text)
{
    static const struct str more = STR_LITERAL("/...");
    const struct json_value *at = c->document;

    while (at != target) {
        const struct json_value *inner = NULL;
        struct str name = STR_EMPTY;
        char room[TOKEN_BYTES];
        struct schema_text token;
        char index[24];
        size_t count = 0;

        json_each_item (item, at) {
            if (target < json_next(item)) {
                snprintf(index, sizeof(index), "%zu", count);
                name = str_from(index);
                inner = item;
                break;
            }
            count++;
        }
        json_each_member (key, at) {
            if (target < json_next(key + 1)) {
                name = json_str(key);
                /* The place of a word is where its value is. */
                inner = target == key ? target : key + 1;
                break;
            }
        }
        assert(inner != NULL);
        schema_text_init(&token, room, sizeof(room));
        print_token(name, &token);
        if (token.len + more.len >= text->size - text->len) {
            schema_text_add(text, more);
            return;
        }
        schema_text_add(text, (struct str){token.bytes, token.len});
        at = inner;
    }
}

int schema_refuse(const struct schema_compiler *c, const struct json_value *at, const char *why)
{
    char pointer[ERR_FIELD_BYTES];
    char word[WORD_BYTES + 16];
    struct schema_text text;

    if (c->err == NULL)
        return ERR_SCHEMA_UNSUPPORTED;
    schema_text_init(&text, pointer, sizeof(pointer));
    print_pointer(c, at, &text);
    schema_text_init(&text, word, sizeof(word));
    if (at->type == JSON_STRING)
        schema_text_add_quoted(&text, json_str(at), WORD_BYTES);
    else
        schema_text_add(&text, STR("this schema"));
    return err_set_field(c->err, ERR_SCHEMA_UNSUPPORTED, pointer, "%s %s", word, why);
}

void *schema_allocate(struct schema_compiler *c, size_t count, size_t size, int *out_error)
{
    void *block = arena_alloc_array(c->arena, count, size);

    if (block == NULL) {
        /* The arena does not tell which it was; check its limit. */
        size_t wanted;
        bool is_over = !checked_mul(count, size, &wanted) ||
                       !checked_add(wanted, ARENA_OVERHEAD_BYTES, &wanted) ||
                       wanted > c->arena->max - c->arena->held;

        *out_error = err_set(c->err, is_over ? ERR_TOO_LARGE : ERR_NO_MEMORY,
                             "the schema exceeds its memory limit");
        return NULL;
    }
    memset(block, 0, count * size);
    return block;
}

int schema_want(struct schema_compiler *c, const struct json_value *location,
                const struct json_value *blamed, const struct schema **out_schema)
{
    uint32_t *number = &c->numbers[location - c->document];
    struct schema *schema;
    int r = 0;

    if (*number != 0) {
        *out_schema = c->notes[*number - 1].schema;
        return 0;
    }
    if (location->type != JSON_OBJECT && location->type != JSON_BOOL)
        return schema_refuse(c, blamed, "must be a schema: an object or a boolean");
    schema = schema_allocate(c, 1, sizeof(*schema), &r);
    if (schema == NULL)
        return r;
    schema->types = SCHEMA_ANY_TYPE;
    schema->number = (uint32_t)c->note_count;
    c->notes[c->note_count++] = (struct schema_note){.location = location, .schema = schema};
    *number = (uint32_t)c->note_count;
    *out_schema = schema;
    return 0;
}

static int spend(struct schema_compiler *c, size_t steps)
{
    if (steps > c->steps_left)
        return err_set(c->err, ERR_TOO_LARGE, "the schema has too many references to follow");
    c->steps_left -= steps;
    return 0;
}

/* In place: the result is never longer. False if a percent sign has no two digits. */
static bool decode_percent(char *bytes, size_t *len)
{
    struct str rest = {bytes, *len};
    size_t kept = 0;

    while (rest.len > 0) {
        int byte = hex_take_percent(&rest);

        if (byte < 0)
            return false;
        bytes[kept++] = (char)byte;
    }
    *len = kept;
    return true;
}

/* ~0 and ~1 in place. */
static bool decode_token(char *bytes, size_t *len)
{
    size_t kept = 0;

    for (size_t i = 0; i < *len; i++) {
        if (bytes[i] != '~') {
            bytes[kept++] = bytes[i];
            continue;
        }
        i++;
        if (i == *len || (bytes[i] != '0' && bytes[i] != '1'))
            return false;
        bytes[kept++] = bytes[i] == '0' ? '~' : '/';
    }
    *len = kept;
    return true;
}

static const struct json_value *get_item(const struct json_value *array, struct str token)
{
    int64_t index;

    if (token.len == 0 || token.ptr[0] == '-' || (token.ptr[0] == '0' && token.len > 1) ||
        !str_to_int64(token, &index))
        return NULL;
    json_each_item (item, array) {
        if (index == 0)
            return item;
        index--;
    }
    return NULL;
}

/* The schema at the location of "#" and the pointer after it. */
static int follow_pointer(struct schema_compiler *c, struct schema *schema,
                          const struct json_value *key, char *pointer, size_t len)
{
    const struct json_value *at = c->document;
    char *end;
    int r;

    if (!decode_percent(pointer, &len))
        return schema_refuse(c, key, "has a percent sign without two hexadecimal digits");
    if (len > 0 && pointer[0] != '/')
        return schema_refuse(c, key, "to an anchor is not supported");
    for (end = pointer + len; pointer < end;) {
        char *token = pointer + 1;
        char *token_end = memchr(token, '/', (size_t)(end - token));
        size_t token_len;

        if (token_end == NULL)
            token_end = end;
        token_len = (size_t)(token_end - token);
        pointer = token_end;
        if (!decode_token(token, &token_len))
            return schema_refuse(c, key, "has a ~ that is neither ~0 nor ~1");
        r = spend(c, 1 + (at->type >= JSON_ARRAY ? at->size : 0) + token_len / 64);
        if (r < 0)
            return r;
        at = at->type == JSON_ARRAY ? get_item(at, (struct str){token, token_len})
                                    : json_get(at, (struct str){token, token_len});
        if (at == NULL)
            return schema_refuse(c, key, "does not exist");
        /* Behind an $id of its own, references would start from another place. */
        r = spend(c, at->type == JSON_OBJECT ? at->size : 0);
        if (r < 0)
            return r;
        if (json_get_str(at, STR("$id"), &(struct str){NULL, 0}))
            return schema_refuse(c, key, "past an inner $id is not supported");
    }
    return schema_want(c, at, key, &schema->ref);
}

static int compile_ref(struct schema_compiler *c, struct schema *schema,
                       const struct json_value *key)
{
    struct str text;
    char *pointer;
    int r = 0;

    if (key[1].type != JSON_STRING)
        return schema_refuse(c, key, "must be a string");
    text = json_str(key + 1);
    if (text.len == 0 || text.ptr[0] != '#')
        return schema_refuse(c, key, "to another document is not supported");
    pointer = schema_allocate(c, text.len, 1, &r);
    if (pointer == NULL)
        return r;
    memcpy(pointer, text.ptr + 1, text.len - 1);
    return follow_pointer(c, schema, key, pointer, text.len - 1);
}

static int compile_schema(struct schema_compiler *c, const struct schema_note *note)
{
    const struct json_value *location = note->location;
    const struct json_value *ref = json_get(location, STR("$ref"));

    if (location->type == JSON_BOOL) {
        note->schema->types = location->integer != 0 ? SCHEMA_ANY_TYPE : 0;
        return 0;
    }
    /* Draft 7: siblings of $ref do not count. */
    if (ref != NULL)
        return compile_ref(c, note->schema, ref - 1);
    json_each_member (key, location) {
        const struct schema_word *word = schema_find_word(json_str(key));
        int r;

        if (word == NULL && str_starts_with(json_str(key), STR("x-")))
            continue;
        if (word == NULL)
            return schema_refuse(c, key, "is not supported in a schema");
        r = word->compile(c, note->schema, key, word->argument);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The schemas applied to the same value as this one, one after the other; then NULL. */
static const struct schema *edge(const struct schema *schema, size_t index)
{
    if (schema->ref != NULL)
        return index == 0 ? schema->ref : NULL;
    for (size_t form = 0; schema->forms != NULL && form < SCHEMA_FORMS; form++) {
        const struct schema_list *list = &schema->forms[form];

        if (index < list->count)
            return list->schemas[index];
        index -= list->count;
    }
    return NULL;
}

/*
 * A schema that refers to itself without descending into a member or an item would be applied
 * forever. Depth first, without recursion.
 */
static int refuse_loops(struct schema_compiler *c, uint32_t start)
{
    uint32_t at = start;

    c->notes[at].came_from = no_note;
    c->notes[at].state = SCHEMA_NOTE_OPEN;
    while (at != no_note) {
        struct schema_note *note = &c->notes[at];
        const struct schema *next = edge(note->schema, note->next_edge++);
        struct schema_note *next_note;

        if (next == NULL) {
            /* Its target is done, so a chain of references ends one step further. */
            if (note->schema->ref != NULL)
                note->schema->ref = schema_target(note->schema->ref);
            note->state = SCHEMA_NOTE_DONE;
            at = note->came_from;
            continue;
        }
        next_note = &c->notes[next->number];
        if (next_note->state == SCHEMA_NOTE_OPEN)
            return schema_refuse(c, next_note->location, "refers to itself in an endless loop");
        if (next_note->state == SCHEMA_NOTE_NEW) {
            next_note->state = SCHEMA_NOTE_OPEN;
            next_note->came_from = at;
            at = next->number;
        }
    }
    return 0;
}

int schema_compile(struct arena *arena, const struct json_value *document,
                   const struct schema **out_schema, struct err *err)
{
    size_t span = json_span(document);
    cleanup_free struct schema_note *notes = NULL;
    cleanup_free uint32_t *numbers = NULL;
    struct schema_compiler c = {
        .arena = arena,
        .document = document,
        .steps_left = SCHEMA_MAX_COMPILE_STEPS,
        .err = err,
    };
    const struct schema *root;
    int r;

    if (document->type != JSON_OBJECT && document->type != JSON_BOOL)
        return err_set(err, ERR_SCHEMA_UNSUPPORTED, "a schema must be an object or a boolean");
    if (span > SCHEMA_MAX_VALUES)
        return err_set(err, ERR_TOO_LARGE, "the schema has %zu values, but the limit is %d", span,
                       SCHEMA_MAX_VALUES);
    notes = calloc(span, sizeof(*notes));
    numbers = calloc(span, sizeof(*numbers));
    if (notes == NULL || numbers == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    c.notes = notes;
    c.numbers = numbers;
    r = schema_want(&c, document, document, &root);
    while (r == 0 && c.compiled_count < c.note_count)
        r = compile_schema(&c, &c.notes[c.compiled_count++]);
    for (uint32_t i = 0; r == 0 && i < c.note_count; i++)
        if (c.notes[i].state == SCHEMA_NOTE_NEW)
            r = refuse_loops(&c, i);
    if (r < 0)
        return r;
    *out_schema = root;
    return 0;
}
