/* SPDX-License-Identifier: Apache-2.0 */
/* The words that filters of the audit log accept are those in its records. */
#include "test.h"

#include "cli/audit.h"
#include "gatehouse/authority.h"
#include "permission/permission.h"

static bool is_choice(size_t option, const char *word)
{
    for (const char *const *choice = audit_options[option].choices; *choice != NULL; choice++)
        if (strcmp(*choice, word) == 0)
            return true;
    return false;
}

static size_t count_choices(size_t option)
{
    size_t count = 0;

    while (audit_options[option].choices[count] != NULL)
        count++;
    return count;
}

static void every_operation_can_be_looked_for(void **state)
{
    (void)state;
    for (enum authority_operation operation = 0; operation < AUTHORITY_OPERATIONS; operation++)
        assert_true(is_choice(AUDIT_OPTION_OPERATION, authority_operation_name(operation)));
    assert_int_equal(count_choices(AUDIT_OPTION_OPERATION), AUTHORITY_OPERATIONS);
}

static void every_decision_can_be_looked_for(void **state)
{
    (void)state;
    for (enum permission_source source = 0; source <= PERMISSION_BY_FORM; source++)
        assert_true(is_choice(AUDIT_OPTION_DECISION, permission_source_name(source)));
    /* And what the authority says of its own. */
    assert_true(is_choice(AUDIT_OPTION_DECISION, "grant"));
    assert_true(is_choice(AUDIT_OPTION_DECISION, "default"));
    assert_int_equal(count_choices(AUDIT_OPTION_DECISION), PERMISSION_BY_FORM + 3);
}

TEST_MAIN(cmocka_unit_test(every_operation_can_be_looked_for),
          cmocka_unit_test(every_decision_can_be_looked_for))
