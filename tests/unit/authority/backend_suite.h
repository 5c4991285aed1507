/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of authority/backend.h as tests, written against the table only. A program for one
 * backend provides a fixture, which changes the disk from outside and reports how it looks from
 * there, and lists the tests.
 *
 * Where the contract leaves the error code open, the tests check the effect and accept any sensible
 * code.
 */
#ifndef TESTS_UNIT_AUTHORITY_BACKEND_SUITE_H
#define TESTS_UNIT_AUTHORITY_BACKEND_SUITE_H

#include "test.h"

#include "authority/backend.h"
#include "base/buf.h"
#include "base/err.h"

enum suite_tree {
    SUITE_ROOT,    /* suite.root */
    SUITE_OTHER,   /* suite.other */
    SUITE_OUTSIDE, /* "../outside" from either of them; no root that is open */
    SUITE_TREES
};

enum { SUITE_MAX_CONTENT = 1 << 20, SUITE_BUDGET = 100000 };

struct suite {
    const struct suite_fixture *fixture;
    struct backend *backend;
    const struct backend_ops *ops;
    struct backend_root *root;
    struct backend_root *other;
    void *own; /* the fixture's */
};

/* What the outside does and sees. These assert that they succeed. */
struct suite_fixture {
    void (*begin)(struct suite *suite); /* sets backend, root and other */
    void (*end)(struct suite *suite);   /* closes them; asserts that nothing was left open */

    /* `content` is a file's bytes or a link's target; AUTHORITY_OTHER is a FIFO. */
    void (*plant)(struct suite *suite, enum suite_tree tree, const char *name,
                  enum authority_type type, struct str content);
    void (*plant_hardlink)(struct suite *suite, enum suite_tree from_tree, const char *existing,
                           enum suite_tree tree, const char *name);
    void (*take)(struct suite *suite, enum suite_tree tree, const char *name); /* not recursive */
    void (*set_mode)(struct suite *suite, enum suite_tree tree, const char *name, unsigned mode);
    /*
     * False if there is nothing. Links are not followed; the size of a directory
     * is the number of its entries, hidden ones included. `content` may be NULL.
     */
    bool (*look)(struct suite *suite, enum suite_tree tree, const char *name,
                 struct authority_stat *out_stat, struct buf *content);

    /* No file, or all of them together, may grow beyond this from now on. */
    void (*limit_space)(struct suite *suite, uint64_t bytes);
    int no_space_error;

    bool enforces_modes; /* permission bits stop this process */
    /* An open descriptor, and the host's path; NULL where there is no such thing. */
    int (*open_fd)(struct suite *suite, enum suite_tree tree, const char *name);
    const char *(*path)(struct suite *suite, enum suite_tree tree);
    bool has_watch;
};

/* For a cmocka setup function of the program, and the teardown for all. */
int suite_setup(void **state, const struct suite_fixture *fixture);
int suite_teardown(void **state);

/* ---- helpers of the tests ---- */

extern const struct backend_lookup suite_strict;    /* no links of either kind */
extern const struct backend_lookup suite_following; /* links inside the root */

void suite_plant(struct suite *suite, const char *name, const char *content);
void suite_plant_dir(struct suite *suite, const char *name);
void suite_plant_link(struct suite *suite, const char *name, const char *target);

/* Through the table: stage, write, publish. */
int suite_write(struct suite *suite, const struct backend_lookup *lookup, const char *name,
                const char *content);
/* What the handle reads, in small pieces; closes it. */
void suite_assert_handle(struct suite *suite, struct backend_file *file, const char *content);
/* Through the table: opens and reads. */
int suite_open(struct suite *suite, const struct backend_lookup *lookup, const char *name,
               struct backend_file **out_file);
void suite_assert_reads(struct suite *suite, const struct backend_lookup *lookup, const char *name,
                        const char *content);

/* From outside. */
void suite_assert_content(struct suite *suite, enum suite_tree tree, const char *name,
                          const char *content);
void suite_assert_missing(struct suite *suite, enum suite_tree tree, const char *name);
void suite_assert_type(struct suite *suite, enum suite_tree tree, const char *name,
                       enum authority_type type);
uint64_t suite_count(struct suite *suite, enum suite_tree tree, const char *name);
unsigned suite_mode(struct suite *suite, enum suite_tree tree, const char *name);

/* One of two codes. */
void suite_assert_refused(int result, int code, int or_code);

/* ---- the tests ---- */

#define BACKEND_SUITE(X)                                                                           \
    /* backend_suite_read.c */                                                                     \
    X(stat_tells_what_is_there)                                                                    \
    X(stat_shows_a_last_link_itself_when_links_are_rejected)                                       \
    X(the_root_can_be_looked_at_and_read)                                                          \
    X(what_is_missing_is_not_found)                                                                \
    X(a_file_is_no_directory_on_the_way)                                                           \
    X(outputs_stay_untouched_on_failure)                                                           \
    X(a_file_is_read_from_any_offset)                                                              \
    X(an_open_file_stays_as_it_was_when_it_is_replaced)                                            \
    X(an_open_file_stays_readable_when_it_is_removed)                                              \
    X(what_is_no_regular_file_is_refused_without_blocking)                                         \
    X(a_file_with_two_names_is_refused_unless_allowed)                                             \
    X(a_file_over_its_limit_is_refused)                                                            \
    X(names_are_any_bytes)                                                                         \
    X(a_directory_is_read_whole_however_long)                                                      \
    X(names_of_every_length_are_read_whole)                                                        \
    X(entries_can_be_removed_while_they_are_read)                                                  \
    X(entries_can_be_renamed_while_they_are_read)                                                  \
    X(a_directory_handle_opens_directories_directly_below)                                         \
    X(a_directory_handle_never_goes_through_a_link_or_upwards)                                     \
    X(a_directory_handle_opens_files_by_the_lookups_rules)                                         \
    X(a_directory_handle_outlives_its_directory)                                                   \
    X(a_descriptor_of_the_host_is_read_and_left_open)                                              \
    X(a_root_is_a_directory)                                                                       \
    /* backend_suite_write.c */                                                                    \
    X(a_staged_file_is_not_seen_until_it_is_published)                                             \
    X(a_replaced_file_keeps_its_content_until_then)                                                \
    X(a_dropped_stage_leaves_nothing_behind)                                                       \
    X(a_new_file_gets_the_mode_and_a_replaced_one_keeps_its_own)                                   \
    X(a_dressed_file_has_exactly_its_mode)                                                         \
    X(replacing_needs_the_files_own_write_permission)                                              \
    X(create_new_refuses_what_exists_at_either_end)                                                \
    X(replace_old_refuses_what_is_missing)                                                         \
    X(what_is_replaced_is_told_and_what_replaces_it)                                               \
    X(what_does_not_fit_is_not_told_nor_replaced)                                                  \
    X(what_was_told_and_has_changed_since_stays)                                                   \
    X(what_was_told_and_replaced_by_another_stays)                                                 \
    X(a_directory_that_took_the_name_stays)                                                        \
    X(a_link_that_took_the_name_is_not_written_through)                                            \
    X(what_appears_is_asked_about_where_it_is_by_then)                                             \
    X(publishing_into_a_removed_directory_fails)                                                   \
    X(only_regular_files_with_one_name_are_replaced)                                               \
    X(staging_needs_a_parent)                                                                      \
    X(a_copy_is_whole_and_its_own)                                                                 \
    X(a_copy_is_held_to_the_limit)                                                                 \
    X(writing_is_held_to_the_limit)                                                                \
    X(appending_adds_in_place)                                                                     \
    X(appending_creates_only_when_it_may)                                                          \
    X(appending_keeps_to_the_rules)                                                                \
    X(appending_is_held_to_the_limit)                                                              \
    X(an_append_that_does_not_fit_is_taken_back)                                                   \
    X(a_file_that_does_not_fit_leaves_the_old_one)                                                 \
    X(mkdir_makes_one_directory)                                                                   \
    X(readers_never_see_a_torn_file)                                                               \
    X(one_of_many_creators_wins)                                                                   \
    /* backend_suite_move.c */                                                                     \
    X(remove_takes_files_links_and_empty_directories)                                              \
    X(remove_keeps_a_directory_that_is_not_empty)                                                  \
    X(recursive_remove_takes_the_tree_and_nothing_behind_links)                                    \
    X(recursive_remove_keeps_to_its_budget)                                                        \
    X(deep_trees_are_removed)                                                                      \
    X(the_root_is_never_removed)                                                                   \
    X(rename_moves_files_and_directories)                                                          \
    X(rename_moves_between_roots)                                                                  \
    X(rename_replaces_only_when_it_may)                                                            \
    X(rename_replaces_by_the_rules_of_the_system)                                                  \
    X(a_directory_does_not_go_into_itself)                                                         \
    X(rename_moves_a_link_and_not_what_it_points_at)                                               \
    X(rename_leaves_files_with_two_names)                                                          \
    X(rename_leaves_the_roots_where_they_are)                                                      \
    X(a_staged_tree_appears_whole)                                                                 \
    X(a_dropped_tree_leaves_nothing_behind)                                                        \
    X(a_tree_goes_onto_an_empty_directory)                                                         \
    X(a_tree_does_not_go_onto_anything_else)                                                       \
    X(a_tree_is_a_root_of_its_own)                                                                 \
    X(a_tree_keeps_to_the_link_rules)                                                              \
    X(a_tree_has_the_modes_it_was_given)                                                           \
    X(a_directory_in_a_tree_is_shut_when_all_is_in_it)                                             \
    X(a_tree_keeps_the_name_that_it_was_filled_by)                                                 \
    X(a_temporary_directory_works_and_goes)                                                        \
    X(files_in_a_temporary_directory_are_replaced_like_others)                                     \
    /* backend_suite_links.c */                                                                    \
    X(any_link_is_refused_when_links_are_rejected)                                                 \
    X(links_inside_the_root_are_followed_when_allowed)                                             \
    X(links_that_leave_the_root_are_refused)                                                       \
    X(loops_of_links_end)                                                                          \
    X(long_chains_of_links_are_followed_up_to_forty)                                               \
    X(dangling_links_create_nothing)                                                               \
    X(dotdot_is_taken_after_links_and_stays_inside)                                                \
    X(writing_through_a_link_changes_the_file_and_keeps_the_link)                                  \
    X(a_resolved_name_that_is_not_admitted_is_not_used)                                            \
    X(admission_is_asked_for_the_resolved_name)                                                    \
    X(only_a_link_gets_a_second_name)                                                              \
    X(hard_links_to_outside_are_not_touched)                                                       \
    X(a_cancelled_token_stops_every_operation)                                                     \
    X(a_cancelled_stage_is_not_published)                                                          \
    X(watching_reports_what_happens)

#define X(name) void name(void **state);
BACKEND_SUITE(X)
#undef X

#endif
