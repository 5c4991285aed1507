/* SPDX-License-Identifier: Apache-2.0 */
/* Of a small file undo keeps only what differs; the rest comes from the file itself. */
#include "changebench.h"

#include "files/undo/internal.h"

/* Beginnings and ends that overlap, and none. */
static void any_content_comes_back_from_any_other(void **state)
{
    static const char *const contents[] = {
        "",
        "a",
        "aa",
        "aaa",
        "aba",
        "abba",
        "aaaa",
        "abaaba",
        "beginning",
        "begin end",
        "beginning end",
        "beginning of the end",
        "end",
        "the end",
        "beginning, middle and end",
        "begin\xc3\xbcn and end",
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < array_size(contents); i++)
        for (size_t k = 0; k < array_size(contents); k++) {
            plant(bench, "f", contents[i]);
            call_write(bench, "f", contents[k]);
            /* And another on top, which goes first. */
            call_write(bench, "f", "beginnend");
            undo_all(bench);
            assert_file(bench, "f", contents[i]);
        }
}

/* What would have to be read again is not small: nothing is left to the file. */
static void small_content_comes_back_from_large(void **state)
{
    static char large[UNDO_HELD_FILE_BYTES + 2];
    struct bench *bench = *state;

    memset(large, 'x', sizeof(large) - 1);
    plant(bench, "f", "xxx");
    call_write(bench, "f", large);
    assert_file(bench, "f", large);
    assert_str(outcome_of(undo_all(bench), 0), "restored");
    assert_file(bench, "f", "xxx");
}

/* Somebody who changes the file just before we do the one thing or the other. */
struct meddler {
    struct bench *bench;
    enum authority_operation before;
    bool is_awake;
};

static const char theirs[] = "beginning, theirs, and end";

static void meddle(void *data, const struct authority_context *context,
                   struct authority_decision *decision)
{
    struct meddler *meddler = data;

    (void)decision; /* no opinion */
    if (!meddler->is_awake || context->operation != meddler->before)
        return;
    meddler->is_awake = false;
    plant(meddler->bench, "f", theirs);
}

static void meddle_before(struct bench *bench, enum authority_operation operation, const char *ours)
{
    struct meddler meddler = {.bench = bench, .before = operation};
    const struct authority_hook hook = {.id = "meddler", .before = meddle, .data = &meddler};

    plant(bench, "f", "beginning and end");
    call_write(bench, "f", ours);
    assert_int_equal(authority_add_hook(bench->authority, &hook), 0);
    meddler.is_awake = true;
    assert_contains(outcome_of(bench_call(bench, "undo_changes", "{}"), 0),
                    "somebody else has changed it just now");
    assert_false(meddler.is_awake);
    assert_file(bench, "f", theirs);
    assert_str(outcome_of(undo_all(bench), 0), "somebody else has changed it since");
    assert_file(bench, "f", theirs);
}

static void a_file_that_changes_before_it_is_read_is_not_written_to(void **state)
{
    meddle_before(*state, AUTHORITY_OP_READ, "beginning, ours, and end");
}

static void a_file_that_changes_before_it_is_written_stays(void **state)
{
    meddle_before(*state, AUTHORITY_OP_WRITE, "beginning, ours, and end");
}

static void a_file_of_which_all_is_kept_stays_when_it_changes_before_it_is_written(void **state)
{
    meddle_before(*state, AUTHORITY_OP_WRITE, "other");
}

TEST_MAIN(CHANGE_TEST(any_content_comes_back_from_any_other),
          CHANGE_TEST(small_content_comes_back_from_large),
          CHANGE_TEST(a_file_that_changes_before_it_is_read_is_not_written_to),
          CHANGE_TEST(a_file_that_changes_before_it_is_written_stays),
          CHANGE_TEST(a_file_of_which_all_is_kept_stays_when_it_changes_before_it_is_written))
