/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads in parts: limits, abandoned ones, and the list at the end. */
#include "programs/sandboxd/daytona/parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "test.h"

#define cleanup_parts cleanup_with(parts_done)
#define OWNER         "owner"
#define NAME          STR("0123")

static struct parts_upload *begin(struct parts *parts, const char *owner, int64_t now_ms)
{
    struct parts_upload *upload = NULL;

    assert_int_equal(parts_begin(parts, owner, NAME, now_ms, &upload), 0);
    return upload;
}

static void only_owner_name_and_id_find_an_upload(void **state)
{
    cleanup_parts struct parts parts;
    struct parts_upload *upload;

    (void)state;
    parts_init(&parts);
    upload = begin(&parts, OWNER, 0);
    assert_ptr_equal(parts_find(&parts, OWNER, NAME, str_from(upload->id)), upload);
    assert_null(parts_find(&parts, "another", NAME, str_from(upload->id)));
    assert_null(parts_find(&parts, OWNER, STR("4567"), str_from(upload->id)));
    assert_null(parts_find(&parts, OWNER, NAME, STR_EMPTY));
}

static void what_nobody_adds_to_goes(void **state)
{
    cleanup_parts struct parts parts;
    struct parts_upload *used;
    char tag[PARTS_ID_BYTES];

    (void)state;
    parts_init(&parts);
    used = begin(&parts, OWNER, 0);
    begin(&parts, OWNER, 0);
    assert_int_equal(parts_put(&parts, used, 1, STR("abc"), PARTS_IDLE_MS - 1, tag), 0);
    parts_expire(&parts, PARTS_IDLE_MS);
    assert_ptr_equal(parts.uploads.next, &used->node);
    assert_ptr_equal(used->node.next, &parts.uploads);
    assert_int_equal(parts.bytes, 3);
    parts_expire(&parts, 2 * PARTS_IDLE_MS);
    assert_true(list_is_empty(&parts.uploads));
    assert_int_equal(parts.bytes, 0);
    /* A new one makes room for itself that way, too. */
    for (int i = 0; i < 2 * PARTS_MOST_OF_OWNER; i++)
        begin(&parts, OWNER, (int64_t)i * PARTS_IDLE_MS);
}

static void limits_hold_for_an_upload_an_owner_and_all(void **state)
{
    enum { LARGE_BYTES = 15 << 20 };
    cleanup_parts struct parts parts;
    char *bytes = calloc(1, LARGE_BYTES);
    const struct str large = {bytes, LARGE_BYTES};
    struct parts_upload *upload;
    char tag[PARTS_ID_BYTES];
    char owner[16];
    int kept = 0;

    (void)state;
    assert_non_null(bytes);
    parts_init(&parts);
    upload = begin(&parts, OWNER, 0);
    assert_int_equal(parts_put(&parts, upload, 0, large, 0, tag), ERR_INVALID_ARGUMENT);
    assert_int_equal(parts_put(&parts, upload, PARTS_MOST + 1, large, 0, tag),
                     ERR_INVALID_ARGUMENT);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(parts_put(&parts, upload, i, large, 0, tag), 0);
    assert_int_equal(parts_put(&parts, upload, 4, large, 0, tag), ERR_TOO_LARGE);
    assert_int_equal(parts_put(&parts, upload, 3, large, 0, tag), 0); /* instead of itself */
    assert_int_equal(parts_put(&parts, begin(&parts, OWNER, 0), 1, large, 0, tag), ERR_BUSY);
    for (int i = 0; i < 12; i++) {
        snprintf(owner, sizeof(owner), "owner-%d", i);
        kept += parts_put(&parts, begin(&parts, owner, 0), 1, large, 0, tag) == 0;
    }
    assert_int_equal(kept, (PARTS_ALL_BYTES - 3 * LARGE_BYTES) / LARGE_BYTES);
    free(bytes);
}

/* Whoever holds on to much does not keep others out. */
static void the_owner_that_has_most_loses_its_oldest(void **state)
{
    enum { LARGE_BYTES = 16 << 20, LATER_MS = PARTS_SAFE_MS + 10 };
    cleanup_parts struct parts parts;
    char *bytes = calloc(1, LARGE_BYTES);
    const struct str large = {bytes, LARGE_BYTES};
    struct parts_upload *newcomer;
    struct parts_upload *first;
    char tag[PARTS_ID_BYTES];
    char id[PARTS_ID_BYTES];

    (void)state;
    assert_non_null(bytes);
    parts_init(&parts);
    first = begin(&parts, "a", 0);
    assert_int_equal(parts_put(&parts, first, 1, large, 0, tag), 0);
    snprintf(id, sizeof(id), "%s", first->id);
    for (int i = 0; i < 7; i++)
        assert_int_equal(parts_put(&parts,
                                   begin(&parts,
                                         i < 2   ? "a"
                                         : i < 5 ? "b"
                                                 : "c",
                                         i),
                                   1, large, i, tag),
                         0);
    assert_int_equal(parts.bytes, PARTS_ALL_BYTES);
    newcomer = begin(&parts, "d", LATER_MS);
    assert_int_equal(parts_put(&parts, newcomer, 1, large, PARTS_SAFE_MS - 1, tag), ERR_BUSY);
    assert_int_equal(parts_put(&parts, newcomer, 1, large, LATER_MS, tag), 0);
    assert_null(parts_find(&parts, "a", NAME, str_from(id)));
    assert_int_equal(parts_put(&parts, newcomer, 2, large, LATER_MS, tag), 0); /* of b's */
    /* Now all have the same. */
    assert_int_equal(parts_put(&parts, newcomer, 3, large, LATER_MS, tag), ERR_BUSY);
    assert_int_equal(parts.bytes, PARTS_ALL_BYTES);
    free(bytes);
}

static int read_list(const struct parts_upload *upload, const char *format, const char *tag,
                     size_t *out_count)
{
    struct str pieces[PARTS_MOST];
    char xml[1024];

    snprintf(xml, sizeof(xml), "<CompleteMultipartUpload>%s</CompleteMultipartUpload>", format);
    for (char *at = strchr(xml, '@'); at != NULL; at = strchr(at, '@')) {
        memmove(at + strlen(tag), at + 1, strlen(at));
        memcpy(at, tag, strlen(tag));
    }
    return parts_read_list(upload, str_from(xml), pieces, out_count);
}

static void a_list_names_what_is_there_in_order(void **state)
{
    static const char *const wrong[] = {
        "",
        "<Part></Part>",
        "<Part><PartNumber>1</PartNumber></Part>",
        "<Part><ETag>@</ETag></Part>",
        "<Part><PartNumber>2</PartNumber><ETag>@</ETag></Part>",
        "<Part><PartNumber>1</PartNumber><ETag>x@</ETag></Part>",
        "<Part><PartNumber>1</PartNumber><ETag>@</ETag></Part><Part>",
        "<!-- --><Part><PartNumber>1</PartNumber><ETag>@</ETag></Part>",
    };
    cleanup_parts struct parts parts;
    struct parts_upload *upload;
    char tag[PARTS_ID_BYTES];
    size_t count = 0;

    (void)state;
    parts_init(&parts);
    upload = begin(&parts, OWNER, 0);
    assert_int_equal(parts_put(&parts, upload, 1, STR("abc"), 0, tag), 0);
    assert_int_equal(parts_put(&parts, upload, 3, STR("abc"), 0, tag), 0);
    for (size_t i = 0; i < array_size(wrong); i++)
        assert_int_equal(read_list(upload, wrong[i], tag, &count), ERR_INVALID_ARGUMENT);
    assert_int_equal(read_list(upload,
                               "<Part><PartNumber>3</PartNumber><ETag>@</ETag></Part>"
                               "<Part><PartNumber>1</PartNumber><ETag>@</ETag></Part>",
                               tag, &count),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(count, 0);
    assert_int_equal(read_list(upload,
                               "<Part> <PartNumber>1</PartNumber><ETag>\"@\"</ETag></Part>\n"
                               "<Part><ETag>&quot;@&quot;</ETag><PartNumber>3</PartNumber></Part>",
                               tag, &count),
                     0);
    assert_int_equal(count, 2);
}

TEST_MAIN(cmocka_unit_test(only_owner_name_and_id_find_an_upload),
          cmocka_unit_test(what_nobody_adds_to_goes),
          cmocka_unit_test(limits_hold_for_an_upload_an_owner_and_all),
          cmocka_unit_test(the_owner_that_has_most_loses_its_oldest),
          cmocka_unit_test(a_list_names_what_is_there_in_order))
