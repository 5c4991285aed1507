/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"
#include "interpret.h"

#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "isolate/seccomp.h"
#include "isolate/syscalls.h"

enum { OWN_PID = 4711 };

/* ---- Two readings of one filter: what the rules say, and what the program does ---- */

static bool is_true(const struct seccomp_test *test, const struct seccomp_data *call)
{
    uint64_t bits = call->args[test->argument] & test->mask;

    return test->value == SECCOMP_ANY_BIT && test->mask <= UINT32_MAX ? bits != 0
                                                                      : bits == test->value;
}

static bool does_hold(const struct seccomp_rule *rule, const struct seccomp_data *call)
{
    if ((uint32_t)call->nr < rule->first || (uint32_t)call->nr > rule->last)
        return false;
    for (size_t i = 0; i < rule->test_count; i++)
        if (!is_true(&rule->tests[i], call))
            return false;
    return true;
}

static uint32_t read_rules(const struct seccomp_policy *policy, const struct seccomp_data *call)
{
    if (call->arch != audit_names[policy->machine])
        return SECCOMP_RET_KILL_PROCESS;
    for (size_t i = 0; i < policy->rule_count; i++)
        if (does_hold(&policy->rules[i], call))
            return policy->rules[i].answer;
    if (policy->otherwise == SECCOMP_RET_ALLOW && (uint32_t)call->nr >= SECCOMP_NUMBERS_END)
        return SECCOMP_RET_ERRNO | ENOSYS;
    return policy->otherwise;
}

static void compare(const struct seccomp_policy *policy, const struct seccomp_program *program,
                    const struct seccomp_data *call)
{
    uint32_t said = read_rules(policy, call);
    uint32_t done = run_program(program, call);

    if (said != done)
        fail_msg("call %u of %x with %llx: %x is meant, %x is answered", (unsigned)call->nr,
                 call->arch, (unsigned long long)call->args[0], said, done);
}

/* Every number, with every argument one of these at a time, and all of them. */
static void compare_all(const struct seccomp_policy *policy, const uint64_t *values, size_t count)
{
    static const uint32_t far[] = {0x3fffffff, 0x40000000, 0x40000000 + 59,
                                   0x7fffffff, 0x80000000, UINT32_MAX};
    static struct seccomp_program program;

    assert_int_equal(seccomp_compile(policy, &program, NULL), 0);
    for (uint32_t i = 0; i < 1024 + array_size(far); i++) {
        struct seccomp_data call = {.nr = (int)(i < 1024 ? i : far[i - 1024])};

        for (size_t machine = 0; machine < array_size(audit_names); machine++) {
            call.arch = audit_names[machine];
            compare(policy, &program, &call);
        }
        call.arch = audit_names[policy->machine];
        for (size_t v = 0; v < count; v++) {
            for (size_t argument = 0; argument < array_size(call.args); argument++) {
                memset(call.args, 0, sizeof(call.args));
                call.args[argument] = values[v];
                compare(policy, &program, &call);
            }
            for (size_t argument = 0; argument < array_size(call.args); argument++)
                call.args[argument] = values[v];
            compare(policy, &program, &call);
        }
    }
}

static void the_program_does_what_the_rules_say(void **state)
{
    static const uint64_t values[] = {
        0, 1, 2, OWN_PID, FICLONE, FIONBIO, FIONREAD, TIOCSTI, TCGETS, TIOCGWINSZ, UINT64_MAX,
        TCSETS, TCSETSF, TCFLSH, TIOCGPGRP, TIOCSPGRP, TIOCSCTTY,
        /* as a thread, a process, a shared memory and a namespace are made */
        0x3d0f00, 0x1200011, 0x4111, 0x3d0f00 | CLONE_NEWUSER,
        /* the same with something in the upper half */
        UINT64_C(0x100000000) | TCGETS, UINT64_C(0x100000000), UINT64_C(0xffffffff) << 32, 15, 16,
        3, 4, 38, 39, 22, 0x53564d41};
    static struct syscalls_list list;

    (void)state;
    for (int machine = SECCOMP_ON_X86_64; machine <= SECCOMP_ON_ARM64; machine++) {
        for (unsigned needs = 0; needs < 16; needs++) {
            struct seccomp_policy policy = {.machine = (enum seccomp_machine)machine,
                                            .otherwise = SECCOMP_RET_ERRNO | EPERM};

            syscalls_list(policy.machine,
                          &(struct syscalls_needs){.pid = OWN_PID,
                                                   .changes_files = (needs & 1) != 0,
                                                   .passes_messages = (needs & 2) != 0,
                                                   .answers_connections = (needs & 4) != 0,
                                                   .has_connections = (needs & 8) != 0},
                          &list);
            policy.rules = list.rules;
            policy.rule_count = list.count;
            compare_all(&policy, values, array_size(values));
        }
    }
}

/* A generator that gives every run the same numbers. */
static uint32_t next_number(uint32_t *seed)
{
    *seed = *seed * UINT32_C(1664525) + UINT32_C(1013904223);
    return *seed >> 8;
}

/* A value in one half or both, or bits: one, several of them together, or any of them. */
static struct seccomp_test make_test(uint32_t *seed)
{
    struct seccomp_test test = {.argument = next_number(seed) % 6,
                                .mask = next_number(seed) % 2 == 0 ? UINT64_MAX : 0xffffffff,
                                .value = next_number(seed) % 3};
    uint32_t kind = next_number(seed) % 4;

    if (kind < 2) {
        test.mask = test.value = UINT64_C(1) << (32 * kind + next_number(seed) % 2);
    } else if (kind == 2) {
        test.mask = 1 + next_number(seed) % 3;
        test.value = next_number(seed) % 2 == 0 ? SECCOMP_ANY_BIT : test.mask;
    }
    return test;
}

static size_t make_rules(uint32_t *seed, struct seccomp_rule *out_rules, size_t max)
{
    size_t count = 0;

    for (uint32_t number = next_number(seed) % 3; number < 1100 && count + 3 < max;) {
        struct seccomp_rule rule = {.first = number, .last = number};
        uint32_t alternatives = next_number(seed) % 3;

        for (uint32_t i = 0; i < alternatives; i++) {
            rule.answer = SECCOMP_RET_ERRNO | (1 + next_number(seed) % 3);
            rule.test_count = 1 + next_number(seed) % SECCOMP_MAX_TESTS;
            for (size_t t = 0; t < rule.test_count; t++) {
                rule.tests[t] = make_test(seed);
            }
            out_rules[count++] = rule;
        }
        if (alternatives == 0 || next_number(seed) % 2 == 0) {
            rule.test_count = 0;
            rule.answer = next_number(seed) % 4 == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW;
            if (alternatives == 0)
                rule.last += next_number(seed) % 3;
            out_rules[count++] = rule;
        }
        number = rule.last + 1 + next_number(seed) % 4;
    }
    return count;
}

static void filters_of_any_shape_are_compiled_right(void **state)
{
    static const uint64_t values[] = {0, 1, 2, 3, UINT64_C(0x100000001), UINT64_C(2) << 32};
    static struct seccomp_rule rules[SECCOMP_MAX_RULES];
    uint32_t seed = 1;

    (void)state;
    compare_all(&(struct seccomp_policy){.otherwise = SECCOMP_RET_ALLOW}, values, 1);
    for (int round = 0; round < 60; round++) {
        struct seccomp_policy policy = {.machine = SECCOMP_ON_ARM64,
                                        .rules = rules,
                                        .otherwise = round % 2 == 0 ? SECCOMP_RET_ERRNO | EPERM
                                                                    : SECCOMP_RET_ALLOW};
        size_t max = 4 + next_number(&seed) % 120;

        policy.rule_count = make_rules(&seed, rules, max);
        compare_all(&policy, values, array_size(values));
    }
}

/* As the first part grows step by step, jumps over it come to the edge of their reach and past it.
 */
static void jumps_of_any_length_lead_right(void **state)
{
    static const uint64_t values[] = {0, 1};
    static struct seccomp_rule rules[SECCOMP_MAX_RULES];
    struct seccomp_policy policy = {.rules = rules, .otherwise = SECCOMP_RET_ERRNO | EPERM};

    (void)state;
    for (size_t longer = 0; longer < 3; longer++) {
        for (size_t count = 2; count <= 180; count++) {
            for (size_t i = 0; i < count; i++)
                rules[i] = (struct seccomp_rule){
                    .first = (uint32_t)(3 * i),
                    .last = (uint32_t)(3 * i),
                    .answer = SECCOMP_RET_ERRNO | (uint32_t)(i % 12),
                    .test_count = i % 4 < longer ? 1 : 0,
                    .tests = {{.argument = 0, .mask = UINT64_MAX, .value = 1}},
                };
            policy.rule_count = count;
            compare_all(&policy, values, array_size(values));
        }
    }
}

static void the_order_of_the_rules_makes_no_difference(void **state)
{
    static struct seccomp_program forward;
    static struct seccomp_program backward;
    static struct syscalls_list list;
    static struct seccomp_rule turned[SECCOMP_MAX_RULES];
    struct seccomp_policy policy = {.machine = SECCOMP_ON_X86_64, .rules = turned};

    (void)state;
    syscalls_list(SECCOMP_ON_X86_64, &(struct syscalls_needs){.pid = 1}, &list);
    /* Without rules for one call, whose order counts. */
    for (size_t i = 0; i < list.count; i++)
        if (list.rules[i].test_count == 0)
            turned[policy.rule_count++] = list.rules[i];
    assert_int_equal(seccomp_compile(&policy, &forward, NULL), 0);
    for (size_t i = 0; i < policy.rule_count / 2; i++) {
        struct seccomp_rule rule = turned[i];

        turned[i] = turned[policy.rule_count - 1 - i];
        turned[policy.rule_count - 1 - i] = rule;
    }
    assert_int_equal(seccomp_compile(&policy, &backward, NULL), 0);
    assert_int_equal(forward.length, backward.length);
    assert_memory_equal(forward.steps, backward.steps, forward.length * sizeof(forward.steps[0]));
}

static void wrong_rules_are_refused(void **state)
{
    static const struct seccomp_rule wrong[][2] = {
        {{.first = 5, .last = 4}, {.first = 9, .last = 9}},
        {{.first = 1, .last = 5}, {.first = 5, .last = 6}},
        {{.first = 1, .last = 1}, {.first = 1, .last = 1}},
        {{.first = 1, .last = SECCOMP_NUMBERS_END}, {.first = 0, .last = 0}},
        {{.first = 1, .last = 2, .test_count = 1}, {.first = 9, .last = 9}},
        {{.first = 1, .last = 1, .test_count = 3}, {.first = 9, .last = 9}},
        {{.first = 1, .last = 1, .test_count = 1, .tests = {{.argument = 6}}},
         {.first = 9, .last = 9}},
        {{.first = 1, .last = 1, .test_count = 1, .tests = {{.mask = 1, .value = 2}}},
         {.first = 9, .last = 9}},
        {{.first = 1, .last = 1, .test_count = 1, .tests = {{.value = SECCOMP_ANY_BIT}}},
         {.first = 9, .last = 9}},
        {{.first = 1,
          .last = 1,
          .test_count = 1,
          .tests = {{.mask = UINT64_C(1) << 32, .value = SECCOMP_ANY_BIT}}},
         {.first = 9, .last = 9}},
        {{.first = 1, .last = 1, .test_count = 1}, {.first = 1, .last = 2}},
    };
    static struct seccomp_program program;
    static struct seccomp_rule many[SECCOMP_MAX_RULES + 1];
    struct seccomp_policy policy = {.rule_count = 2};

    (void)state;
    for (size_t i = 0; i < array_size(wrong); i++) {
        policy.rules = wrong[i];
        assert_int_equal(seccomp_compile(&policy, &program, NULL), ERR_INVALID_ARGUMENT);
    }
    for (size_t i = 0; i < array_size(many); i++)
        many[i] = (struct seccomp_rule){
            .first = (uint32_t)i,
            .last = (uint32_t)i,
            .test_count = 2,
            .tests = {{0, UINT64_MAX, i}, {1, UINT64_MAX, i}},
        };
    policy.rules = many;
    policy.rule_count = array_size(many);
    assert_int_equal(seccomp_compile(&policy, &program, NULL), ERR_TOO_LARGE);
    policy.rule_count--; /* as many as there may be, of too many steps */
    assert_int_equal(seccomp_compile(&policy, &program, NULL), ERR_TOO_LARGE);
}

/* ---- Around a process ---- */

static void *install_beside_another(void *data)
{
    struct seccomp_program *program = data;
    struct err err = ERR_INIT;

    expect(seccomp_install(program, &err) == ERR_INTERNAL);
    expect(strstr(err.message, "thread") != NULL);
    expect(syscall(SYS_kill, getpid(), 0) == 0);
    return NULL;
}

static void install_with_threads(void *data)
{
    struct seccomp_program program;

    (void)data;
    expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    expect(syscalls_compile(SECCOMP_ON_THIS, &(struct syscalls_needs){.pid = getpid()}, &program,
                            NULL) == 0);
    expect(in_thread(install_beside_another, &program));
}

static void a_process_with_threads_is_refused(void **state)
{
    (void)state;
    in_child(install_with_threads, NULL);
}

static void install_without(void *data)
{
    struct seccomp_program program;

    (void)data;
    expect(syscalls_compile(SECCOMP_ON_THIS, &(struct syscalls_needs){.pid = getpid()}, &program,
                            NULL) == 0);
    take_call_away(SYS_seccomp, ENOSYS);
    expect(seccomp_install(&program, NULL) == ERR_UNSUPPORTED);
}

static void without_seccomp_it_is_unsupported(void **state)
{
    (void)state;
    in_child(install_without, NULL);
}

TEST_MAIN(cmocka_unit_test(the_program_does_what_the_rules_say),
          cmocka_unit_test(filters_of_any_shape_are_compiled_right),
          cmocka_unit_test(jumps_of_any_length_lead_right),
          cmocka_unit_test(the_order_of_the_rules_makes_no_difference),
          cmocka_unit_test(wrong_rules_are_refused),
          cmocka_unit_test(a_process_with_threads_is_refused),
          cmocka_unit_test(without_seccomp_it_is_unsupported))
