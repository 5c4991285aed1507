/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "permission/modes.h"

static void the_recommended_template_reads_and_asks(void **state)
{
    const enum permission_mode *of = permission_modes_recommended.of;

    (void)state;
    assert_int_equal(of[CATALOG_FILESYSTEM_READ], PERMISSION_ALLOW);
    assert_int_equal(of[CATALOG_FILESYSTEM_WRITE], PERMISSION_ASK);
    assert_int_equal(of[CATALOG_SHELL], PERMISSION_DENY);
    assert_int_equal(of[CATALOG_COMPUTER], PERMISSION_DENY);
    assert_int_equal(of[CATALOG_BROWSER], PERMISSION_ASK);
}

static void names_go_both_ways_and_nothing_else_is_one(void **state)
{
    static const struct str wrong[] = {STR_LITERAL(""), STR_LITERAL("Allow"), STR_LITERAL("allow "),
                                       STR_LITERAL("allow\0"), STR_LITERAL("yes")};
    enum permission_mode mode;

    (void)state;
    for (int i = PERMISSION_DENY; i <= PERMISSION_ALLOW; i++) {
        assert_true(
            permission_mode_from(str_from(permission_mode_name((enum permission_mode)i)), &mode));
        assert_int_equal(mode, i);
    }
    assert_string_equal(permission_mode_name(PERMISSION_ASK), "ask");
    for (size_t i = 0; i < array_size(wrong); i++)
        assert_false(permission_mode_from(wrong[i], &mode));
}

static void what_cannot_be_read_cannot_be_changed(void **state)
{
    struct permission_modes modes = {.of = {PERMISSION_DENY, PERMISSION_ALLOW, PERMISSION_ASK}};

    (void)state;
    assert_int_equal(permission_modes_constrain(&modes, NULL), 0);
    assert_int_equal(modes.of[CATALOG_FILESYSTEM_WRITE], PERMISSION_DENY);
    assert_int_equal(modes.of[CATALOG_SHELL], PERMISSION_ASK);
}

static void all_denied_is_refused_with_what_to_do(void **state)
{
    struct permission_modes modes = {.of = {PERMISSION_DENY}};
    struct err err = ERR_INIT;

    (void)state;
    /* Only writing is left, and goes with reading. */
    modes.of[CATALOG_FILESYSTEM_WRITE] = PERMISSION_ALLOW;
    assert_int_equal(permission_modes_constrain(&modes, &err), ERR_INVALID_OPTION);
    assert_non_null(strstr(err.message, "--permission-filesystem-read ask"));
    modes.of[CATALOG_BROWSER] = PERMISSION_ALLOW;
    assert_int_equal(permission_modes_constrain(&modes, &err), 0);
    modes.of[CATALOG_BROWSER] = PERMISSION_DENY;
    modes.of[CATALOG_SHELL] = PERMISSION_ASK;
    assert_int_equal(permission_modes_constrain(&modes, &err), 0);
}

static void the_cap_leaves_nothing_unasked(void **state)
{
    struct permission_modes modes = permission_modes_recommended;

    (void)state;
    permission_modes_cap_ask(&modes);
    assert_int_equal(modes.of[CATALOG_FILESYSTEM_READ], PERMISSION_ASK);
    assert_int_equal(modes.of[CATALOG_FILESYSTEM_WRITE], PERMISSION_ASK);
    assert_int_equal(modes.of[CATALOG_SHELL], PERMISSION_DENY);
}

/* ---- Write access ---- */

enum { NONE = PERMISSION_ALLOW + 1, MODES };

/* What is written in the specification, as rows: the first that fits decides. */
struct row {
    int flag_mode, env_mode; /* MODES: any */
    int short_form;          /* flag, env or settings key; 2: any */
    int settings_mode;
    bool is_opted_in;
    int mode;
};

static const struct row table[] = {
    /* flag mode        env mode         short settings mode */
    /* Nobody wanted it: a mode in the settings is not enough. */
    {NONE, NONE, 0, MODES, false, PERMISSION_DENY},
    /* The short forms: as the settings say, or ask. */
    {NONE, NONE, 1, NONE, true, PERMISSION_ASK},
    {NONE, NONE, 1, PERMISSION_DENY, true, PERMISSION_DENY},
    {NONE, NONE, 1, PERMISSION_ASK, true, PERMISSION_ASK},
    {NONE, NONE, 1, PERMISSION_ALLOW, true, PERMISSION_ALLOW},
    /* A deny that is written out wins over them; without them nobody opted in. */
    {PERMISSION_DENY, MODES, 1, MODES, true, PERMISSION_DENY},
    {PERMISSION_DENY, MODES, 0, MODES, false, PERMISSION_DENY},
    {NONE, PERMISSION_DENY, 1, MODES, true, PERMISSION_DENY},
    {NONE, PERMISSION_DENY, 0, MODES, false, PERMISSION_DENY},
    /* A mode that is named for this session opts in. */
    {PERMISSION_ASK, MODES, 2, MODES, true, PERMISSION_ASK},
    {PERMISSION_ALLOW, MODES, 2, MODES, true, PERMISSION_ALLOW},
    {NONE, PERMISSION_ASK, 2, MODES, true, PERMISSION_ASK},
    {NONE, PERMISSION_ALLOW, 2, MODES, true, PERMISSION_ALLOW},
};

static bool fits(int wanted, int given)
{
    return wanted == MODES || wanted == given;
}

static const struct row *row_of(int flag_mode, int env_mode, int short_form, int settings_mode)
{
    for (size_t i = 0; i < array_size(table); i++) {
        const struct row *row = &table[i];

        if (fits(row->flag_mode, flag_mode) && fits(row->env_mode, env_mode) &&
            (row->short_form == 2 || row->short_form == short_form) &&
            fits(row->settings_mode, settings_mode))
            return row;
    }
    fail_msg("no row");
    return NULL;
}

static void check_sources(int flag_mode, int env_mode, int settings_mode, int bits)
{
    struct permission_write_sources sources = {
        .flag = bits & 1,
        .env = bits & 2,
        .settings = bits & 4,
        .has_flag_mode = flag_mode != NONE,
        .has_env_mode = env_mode != NONE,
        .has_settings_mode = settings_mode != NONE,
        .flag_mode = (enum permission_mode)(flag_mode % NONE),
        .env_mode = (enum permission_mode)(env_mode % NONE),
        .settings_mode = (enum permission_mode)(settings_mode % NONE),
    };
    const struct row *row = row_of(flag_mode, env_mode, bits != 0, settings_mode);
    struct permission_write write = permission_write_access(&sources);

    if (write.is_opted_in != row->is_opted_in || (int)write.mode != row->mode)
        fail_msg("flag %d, env %d, settings %d, short forms %d: %d %d", flag_mode, env_mode,
                 settings_mode, bits, write.is_opted_in, write.mode);
}

static void write_access_is_an_opt_in(void **state)
{
    (void)state;
    for (int flag_mode = 0; flag_mode <= NONE; flag_mode++)
        for (int env_mode = 0; env_mode <= NONE; env_mode++)
            for (int settings_mode = 0; settings_mode <= NONE; settings_mode++)
                for (int bits = 0; bits < 8; bits++)
                    check_sources(flag_mode, env_mode, settings_mode, bits);
}

TEST_MAIN(cmocka_unit_test(the_recommended_template_reads_and_asks),
          cmocka_unit_test(names_go_both_ways_and_nothing_else_is_one),
          cmocka_unit_test(what_cannot_be_read_cannot_be_changed),
          cmocka_unit_test(all_denied_is_refused_with_what_to_do),
          cmocka_unit_test(the_cap_leaves_nothing_unasked),
          cmocka_unit_test(write_access_is_an_opt_in))
