/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/rand.h"
#include "base/sha256.h"

struct parts_part {
    size_t len;
    char tag[PARTS_ID_BYTES];
    char bytes[];
};

void parts_init(struct parts *parts)
{
    *parts = (struct parts){.bytes = 0};
    list_init(&parts->uploads);
}

void parts_done(struct parts *parts)
{
    while (!list_is_empty(&parts->uploads))
        parts_drop(parts, list_entry(parts->uploads.next, struct parts_upload, node));
}

/* ---- uploads ---- */

static size_t count_bytes_of(const struct parts *parts, const char *owner, size_t *out_uploads)
{
    size_t bytes = 0;

    *out_uploads = 0;
    list_each (node, &parts->uploads) {
        const struct parts_upload *upload = list_entry(node, struct parts_upload, node);

        if (strcmp(upload->owner, owner) != 0)
            continue;
        bytes += upload->bytes;
        ++*out_uploads;
    }
    return bytes;
}

int parts_begin(struct parts *parts, const char *owner, struct str name, int64_t now_ms,
                struct parts_upload **out_upload)
{
    unsigned char id[(PARTS_ID_BYTES - 1) / 2];
    struct parts_upload *upload;
    size_t uploads;

    parts_expire(parts, now_ms);
    (void)count_bytes_of(parts, owner, &uploads);
    if (uploads >= PARTS_MOST_OF_OWNER)
        return ERR_BUSY;
    upload = calloc(1, sizeof(*upload));
    if (upload == NULL)
        return ERR_NO_MEMORY;
    snprintf(upload->owner, sizeof(upload->owner), "%s", owner);
    snprintf(upload->name, sizeof(upload->name), "%.*s", STR_ARG(name));
    rand_bytes(id, sizeof(id));
    hex_text(upload->id, id, sizeof(id));
    upload->began_ms = upload->touched_ms = now_ms;
    list_append(&parts->uploads, &upload->node);
    *out_upload = upload;
    return 0;
}

struct parts_upload *parts_find(const struct parts *parts, const char *owner, struct str name,
                                struct str id)
{
    list_each (node, &parts->uploads) {
        struct parts_upload *upload = list_entry(node, struct parts_upload, node);

        if (str_eq_c(id, upload->id) && str_eq_c(name, upload->name) &&
            strcmp(upload->owner, owner) == 0)
            return upload;
    }
    return NULL;
}

static void drop_part(struct parts *parts, struct parts_upload *upload, size_t at)
{
    if (upload->parts[at] == NULL)
        return;
    upload->bytes -= upload->parts[at]->len;
    parts->bytes -= upload->parts[at]->len;
    free(upload->parts[at]);
    upload->parts[at] = NULL;
}

void parts_drop(struct parts *parts, struct parts_upload *upload)
{
    for (size_t i = 0; i < PARTS_MOST; i++)
        drop_part(parts, upload, i);
    list_remove(&upload->node);
    free(upload);
}

void parts_expire(struct parts *parts, int64_t now_ms)
{
    list_each_safe (node, &parts->uploads) {
        struct parts_upload *upload = list_entry(node, struct parts_upload, node);

        if (now_ms - upload->touched_ms >= PARTS_IDLE_MS)
            parts_drop(parts, upload);
    }
}

/* ---- parts ---- */

/* Of the owner that has most, the oldest one of those that are no longer safe; NULL if that has no
 * more than `bytes`. */
static struct parts_upload *find_victim(const struct parts *parts, size_t bytes, int64_t now_ms)
{
    struct parts_upload *victim = NULL;
    size_t uploads;

    list_each (node, &parts->uploads) {
        struct parts_upload *upload = list_entry(node, struct parts_upload, node);
        const size_t has = upload->bytes > 0 && now_ms - upload->began_ms >= PARTS_SAFE_MS
                               ? count_bytes_of(parts, upload->owner, &uploads)
                               : 0;

        if (has > bytes) {
            bytes = has;
            victim = upload;
        }
    }
    return victim;
}

static int make_room(struct parts *parts, const struct parts_upload *upload, size_t old_bytes,
                     size_t len, int64_t now_ms)
{
    size_t uploads;
    const size_t wanted = count_bytes_of(parts, upload->owner, &uploads) - old_bytes + len;

    if (upload->bytes - old_bytes + len > PARTS_MAX_BYTES)
        return ERR_TOO_LARGE;
    if (wanted > PARTS_OWNER_BYTES)
        return ERR_BUSY;
    while (parts->bytes - old_bytes + len > PARTS_ALL_BYTES) {
        struct parts_upload *victim = find_victim(parts, wanted, now_ms);

        if (victim == NULL)
            return ERR_BUSY;
        parts_drop(parts, victim);
    }
    return 0;
}

int parts_put(struct parts *parts, struct parts_upload *upload, int64_t number, struct str bytes,
              int64_t now_ms, char out_tag[PARTS_ID_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    struct parts_part *part;
    size_t at;
    int r;

    if (number < 1 || number > PARTS_MOST)
        return ERR_INVALID_ARGUMENT;
    at = (size_t)number - 1;
    upload->touched_ms = now_ms;
    r = make_room(parts, upload, upload->parts[at] != NULL ? upload->parts[at]->len : 0, bytes.len,
                  now_ms);
    if (r < 0)
        return r;
    part = malloc(sizeof(*part) + bytes.len);
    if (part == NULL)
        return ERR_NO_MEMORY;
    part->len = bytes.len;
    memcpy(part->bytes, bytes.ptr, bytes.len);
    sha256_init(&hash);
    sha256_add(&hash, bytes);
    sha256_end(&hash, digest);
    hex_text(part->tag, digest, (PARTS_ID_BYTES - 1) / 2);
    memcpy(out_tag, part->tag, sizeof(part->tag));
    drop_part(parts, upload, at);
    upload->parts[at] = part;
    upload->bytes += part->len;
    parts->bytes += part->len;
    return 0;
}

/* ---- the list ---- */

/* What is between <NAME> and </NAME>, and takes that off the text, with all before it. */
static bool take_element(struct str *text, struct str open, struct str close,
                         struct str *out_inside)
{
    size_t begin = str_find(*text, open);
    struct str rest;
    size_t end;

    if (begin == SIZE_MAX)
        return false;
    rest = str_slice(*text, begin + open.len, text->len);
    end = str_find(rest, close);
    if (end == SIZE_MAX)
        return false;
    *out_inside = str_trim(str_slice(rest, 0, end));
    *text = str_slice(rest, end + close.len, rest.len);
    return true;
}

/* Tags are in quotes, which may be escaped. */
static struct str unquote(struct str tag)
{
    static const struct str quotes[] = {STR_LITERAL("\""), STR_LITERAL("&quot;"),
                                        STR_LITERAL("&#34;")};

    for (size_t i = 0; i < array_size(quotes); i++)
        if (tag.len > 2 * quotes[i].len && str_starts_with(tag, quotes[i]) &&
            str_ends_with(tag, quotes[i]))
            return str_slice(tag, quotes[i].len, tag.len - 2 * quotes[i].len);
    return tag;
}

/* The number of one that is there, with its tag; 0 else. */
static int64_t read_part(const struct parts_upload *upload, struct str inside)
{
    struct str rest = inside;
    struct str number_text;
    struct str tag;
    int64_t number;

    if (!take_element(&rest, STR("<PartNumber>"), STR("</PartNumber>"), &number_text) ||
        !str_to_int64(number_text, &number) || number < 1 || number > PARTS_MOST ||
        upload->parts[number - 1] == NULL)
        return 0;
    rest = inside;
    if (!take_element(&rest, STR("<ETag>"), STR("</ETag>"), &tag) ||
        !str_eq_c(unquote(tag), upload->parts[number - 1]->tag))
        return 0;
    return number;
}

int parts_read_list(const struct parts_upload *upload, struct str xml,
                    struct str out_pieces[PARTS_MOST], size_t *out_count)
{
    struct str inside;
    size_t count = 0;
    int64_t last = 0;

    /* Comments, declarations and the like, which could hide or make elements. */
    if (xml.len > PARTS_MAX_LIST_BYTES || str_find(xml, STR("<!")) != SIZE_MAX ||
        str_find(xml, STR("<CompleteMultipartUpload")) == SIZE_MAX)
        return ERR_INVALID_ARGUMENT;
    while (take_element(&xml, STR("<Part>"), STR("</Part>"), &inside)) {
        int64_t number = read_part(upload, inside);

        if (number <= last)
            return ERR_INVALID_ARGUMENT;
        out_pieces[count++] =
            (struct str){upload->parts[number - 1]->bytes, upload->parts[number - 1]->len};
        last = number;
    }
    if (count == 0 || str_find(xml, STR("<Part>")) != SIZE_MAX)
        return ERR_INVALID_ARGUMENT;
    *out_count = count;
    return 0;
}
