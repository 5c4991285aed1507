/* SPDX-License-Identifier: Apache-2.0 */
/* What the Daytona API keeps of a sandbox, and when an idle one goes. */
#include "programs/sandboxd/details.h"

#include <stdio.h>

#include "test.h"

enum { MINUTE_MS = 60 * 1000 };

static void a_document_comes_back(void **state)
{
    cleanup_buf struct buf document = BUF_INIT(DETAILS_MAX_DOCUMENT_BYTES);
    cleanup_details struct details *details = details_new();
    cleanup_details struct details *again = NULL;

    (void)state;
    snprintf(details->name, sizeof(details->name), "a \"name\"");
    details->auto_stop_minutes = 3;
    details->auto_delete_minutes = 0;
    details->is_public = true;
    memset(details->signing_salt, 'a', sizeof(details->signing_salt) - 1);
    details->auto_archive_minutes = 8;
    details->is_archived = true;
    assert_int_equal(details_write(details, &document), 0);
    again = details_read(buf_view(&document));
    assert_non_null(again);
    assert_string_equal(again->name, "a \"name\"");
    assert_string_equal(again->labels, "{}");
    assert_int_equal(again->auto_stop_minutes, 3);
    assert_int_equal(again->auto_delete_minutes, 0);
    assert_true(again->is_public);
    assert_int_equal(again->auto_archive_minutes, 8);
    assert_true(again->is_archived);
    assert_string_equal(again->signing_salt, details->signing_salt);
    assert_null(details_read(STR("{}")));
    assert_null(details_read(STR("no JSON")));
}

static void a_running_one_is_stopped_when_it_is_idle(void **state)
{
    cleanup_details struct details *details = details_new();

    (void)state;
    details->auto_stop_minutes = 5;
    assert_int_equal(details_idle(details, false, 5 * MINUTE_MS - 1, 0), DETAILS_KEEP);
    assert_int_equal(details_idle(details, false, 5 * MINUTE_MS, 0), DETAILS_STOP);
    details->auto_stop_minutes = 0;
    assert_int_equal(details_idle(details, false, INT64_MAX, 0), DETAILS_KEEP);
}

static void a_stopped_one_is_deleted_in_time(void **state)
{
    cleanup_details struct details *details = details_new();

    (void)state;
    assert_int_equal(details_idle(details, true, INT64_MAX, INT64_MAX), DETAILS_KEEP);
    details->auto_delete_minutes = 2;
    assert_int_equal(details_idle(details, true, INT64_MAX, 2 * MINUTE_MS - 1), DETAILS_KEEP);
    assert_int_equal(details_idle(details, true, 0, 2 * MINUTE_MS), DETAILS_DELETE);
    details->auto_delete_minutes = 0;
    assert_int_equal(details_idle(details, true, 0, 0), DETAILS_DELETE);
    assert_int_equal(details_idle(details, false, 0, 0), DETAILS_KEEP);
    assert_int_equal(details_idle(details, false, INT64_MAX, 0), DETAILS_DELETE);
}

static void a_document_of_an_older_version_is_read(void **state)
{
    cleanup_details struct details *details = details_read(
        STR("{\"name\":\"a\",\"snapshot\":\"\",\"labels\":{},\"env\":{},\"auto_stop\":3,"
            "\"auto_delete\":-1,\"updated_s\":0,\"public\":false}"));

    (void)state;
    assert_non_null(details);
    assert_int_equal(details->auto_archive_minutes, DETAILS_AUTO_ARCHIVE_MINUTES);
    assert_false(details->is_archived);
}

static void a_stopped_one_is_archived_in_time_or_by_request(void **state)
{
    cleanup_details struct details *details = details_new();

    (void)state;
    details->auto_archive_minutes = 2;
    assert_false(details_is_archived(details, 2 * MINUTE_MS - 1));
    assert_true(details_is_archived(details, 2 * MINUTE_MS));
    details->auto_archive_minutes = 0;
    assert_false(details_is_archived(details, 2 * MINUTE_MS));
    details->is_archived = true;
    assert_true(details_is_archived(details, 0));
    details_start(details);
    assert_false(details_is_archived(details, 0));
}

TEST_MAIN(cmocka_unit_test(a_document_comes_back),
          cmocka_unit_test(a_running_one_is_stopped_when_it_is_idle),
          cmocka_unit_test(a_stopped_one_is_deleted_in_time),
          cmocka_unit_test(a_document_of_an_older_version_is_read),
          cmocka_unit_test(a_stopped_one_is_archived_in_time_or_by_request))
