/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/seccomp.h"

#include <assert.h>
#include <errno.h>
#include <linux/audit.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/threads.h"

enum {
    ARGUMENTS = 6,
    LONGEST_JUMP = UINT8_MAX, /* of a comparison; further takes a jump of its own */
    MAX_RANGES = 2 * SECCOMP_MAX_RULES + 1,
    MAX_ANSWERS = 8, /* that are remembered */
};

/*
 * The numbers from `start` to the next range's have the same result: these rules, then `otherwise`.
 */
struct range {
    uint32_t start;
    size_t first_rule; /* in the sorted order */
    size_t rule_count; /* 0: otherwise, at once */
};

struct compiler {
    const struct seccomp_policy *policy;
    const struct seccomp_rule *sorted[SECCOMP_MAX_RULES];
    struct range ranges[MAX_RANGES];
    size_t range_count;
    struct {
        uint32_t value;
        size_t place;
    } answers[MAX_ANSWERS];
    size_t answer_count;
    struct sock_filter backward[SECCOMP_MAX_STEPS];
    size_t length;
    bool is_full;
};

/* By number; rules of one call keep their order. */
static int compare_rules(const void *a_pointer, const void *b_pointer)
{
    const struct seccomp_rule *a = *(const struct seccomp_rule *const *)a_pointer;
    const struct seccomp_rule *b = *(const struct seccomp_rule *const *)b_pointer;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bool is_any_bit(const struct seccomp_test *test)
{
    return test->value == SECCOMP_ANY_BIT && test->mask > 0 && test->mask <= UINT32_MAX;
}

static bool is_sound(const struct seccomp_rule *rule)
{
    if (rule->first > rule->last || rule->last >= SECCOMP_NUMBERS_END)
        return false;
    if (rule->test_count > SECCOMP_MAX_TESTS || (rule->test_count > 0 && rule->first != rule->last))
        return false;
    for (size_t i = 0; i < rule->test_count; i++) {
        const struct seccomp_test *test = &rule->tests[i];

        if (test->argument >= ARGUMENTS || ((test->value & ~test->mask) != 0 && !is_any_bit(test)))
            return false;
    }
    return true;
}

/* Rules of one call, all but the last with tests; any other overlap is a mistake. */
static bool may_follow(const struct seccomp_rule *before, const struct seccomp_rule *rule)
{
    return before->last < rule->first || (before->test_count > 0 && rule->first == rule->last);
}

static bool is_same_fate(const struct compiler *c, const struct range *range, size_t rule_count,
                         uint32_t answer)
{
    if (range->rule_count == 0 || rule_count == 0)
        return range->rule_count == rule_count;
    return c->sorted[range->first_rule]->test_count == 0 &&
           c->sorted[range->first_rule]->answer == answer;
}

static void add_range(struct compiler *c, uint32_t start, size_t first_rule, size_t rule_count)
{
    bool is_plain = rule_count == 0 || c->sorted[first_rule]->test_count == 0;
    uint32_t answer = rule_count > 0 ? c->sorted[first_rule]->answer : 0;

    if (c->range_count > 0 && is_plain &&
        is_same_fate(c, &c->ranges[c->range_count - 1], rule_count, answer))
        return;
    assert(c->range_count < MAX_RANGES);
    c->ranges[c->range_count++] = (struct range){start, first_rule, rule_count};
}

/* Divides all numbers into ranges. */
static int cut_ranges(struct compiler *c, struct err *err)
{
    const struct seccomp_policy *policy = c->policy;
    uint32_t next = 0;

    if (policy->rule_count > SECCOMP_MAX_RULES)
        return err_set(err, ERR_TOO_LARGE, "invalid seccomp filter: %zu rules", policy->rule_count);
    for (size_t i = 0; i < policy->rule_count; i++)
        c->sorted[i] = &policy->rules[i];
    qsort(c->sorted, policy->rule_count, sizeof(c->sorted[0]), compare_rules);

    for (size_t i = 0, end; i < policy->rule_count; i = end) {
        const struct seccomp_rule *rule = c->sorted[i];

        for (end = i; end < policy->rule_count && c->sorted[end]->first == rule->first; end++)
            if (!is_sound(c->sorted[end]) ||
                (end > 0 && !may_follow(c->sorted[end - 1], c->sorted[end])))
                return err_set(err, ERR_INVALID_ARGUMENT, "invalid seccomp rule for system call %u",
                               rule->first);
        if (rule->first > next)
            add_range(c, next, 0, 0);
        add_range(c, rule->first, i, end - i);
        next = c->sorted[end - 1]->last + 1;
    }
    add_range(c, next, 0, 0);
    return 0;
}

/*
 * Programs are written from end to beginning, because jumps only lead forward: the target of a step
 * has its place already. Places are counted from the end, the last step is 1.
 */
static size_t put(struct compiler *c, struct sock_filter step)
{
    if (c->length == SECCOMP_MAX_STEPS)
        c->is_full = true;
    else
        c->backward[c->length++] = step;
    return c->length;
}

/* How many steps the next one would jump over to get there. */
static size_t distance(const struct compiler *c, size_t place)
{
    return c->length - place;
}

/* The same answer is written once, and again if the last one gets out of reach. */
static size_t answer(struct compiler *c, uint32_t value)
{
    size_t i = 0;

    while (i < c->answer_count && c->answers[i].value != value)
        i++;
    if (i < c->answer_count && distance(c, c->answers[i].place) < LONGEST_JUMP / 2)
        return c->answers[i].place;
    if (i == c->answer_count && c->answer_count < MAX_ANSWERS)
        c->answer_count++;
    else if (i == MAX_ANSWERS)
        i--;
    c->answers[i].value = value;
    c->answers[i].place = put(c, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value));
    return c->answers[i].place;
}

/* That place, or a jump to it, within reach even if `more` steps are inserted. */
static size_t within_reach(struct compiler *c, size_t place, size_t more)
{
    if (distance(c, place) + more <= LONGEST_JUMP)
        return place;
    return put(c, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)distance(c, place)));
}

static size_t compare(struct compiler *c, uint16_t how, uint32_t value, size_t yes, size_t no)
{
    yes = within_reach(c, yes, 1);
    no = within_reach(c, no, 0);
    return put(c,
               (struct sock_filter)BPF_JUMP(BPF_JMP | how | BPF_K, value, (uint8_t)distance(c, yes),
                                            (uint8_t)distance(c, no)));
}

static size_t load(struct compiler *c, size_t offset)
{
    return put(c, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

/* Both machines are little-endian: the low half of an argument comes first. */
static size_t test_half(struct compiler *c, const struct seccomp_test *test, unsigned half,
                        size_t yes, size_t no)
{
    uint32_t mask = (uint32_t)(test->mask >> (32 * half));
    uint32_t value = (uint32_t)(test->value >> (32 * half));

    if (mask == 0)
        return yes;
    /* One step instead of two, also where a single bit must be set. */
    if (is_any_bit(test) || (value == mask && (mask & (mask - 1)) == 0)) {
        compare(c, BPF_JSET, mask, yes, no);
    } else {
        compare(c, BPF_JEQ, value, yes, no);
        if (mask != UINT32_MAX)
            put(c, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    }
    return load(c, offsetof(struct seccomp_data, args) + test->argument * sizeof(uint64_t) +
                       half * sizeof(uint32_t));
}

static size_t decide_rule(struct compiler *c, const struct seccomp_rule *rule, size_t no)
{
    size_t yes = answer(c, rule->answer);

    for (size_t i = rule->test_count; i > 0; i--) {
        yes = test_half(c, &rule->tests[i - 1], 1, yes, no);
        yes = test_half(c, &rule->tests[i - 1], 0, yes, no);
    }
    return yes;
}

/* The steps that decide a call of this range; returns their start. */
static size_t decide_range(struct compiler *c, const struct range *range)
{
    size_t place = answer(c, c->policy->otherwise);

    for (size_t i = range->rule_count; i > 0; i--)
        place = decide_rule(c, c->sorted[range->first_rule + i - 1], place);
    return place;
}

/* For the ranges from `first` up to `end`. Recursion depth is the logarithm of our own rules. */
static size_t decide_ranges(struct compiler *c, size_t first, size_t end)
{
    size_t middle = first + (end - first) / 2;
    size_t yes;
    size_t no;

    if (end - first == 1)
        return decide_range(c, &c->ranges[first]);
    yes = decide_ranges(c, middle, end);
    no = decide_ranges(c, first, middle);
    return compare(c, BPF_JGE, c->ranges[middle].start, yes, no);
}

static uint32_t audit_name(enum seccomp_machine machine)
{
    switch (machine) {
    case SECCOMP_ON_X86_64:
        return AUDIT_ARCH_X86_64;
    case SECCOMP_ON_ARM64:
        return AUDIT_ARCH_AARCH64;
    }
    return 0;
}

int seccomp_compile(const struct seccomp_policy *policy, struct seccomp_program *out_program,
                    struct err *err)
{
    cleanup_free struct compiler *c = malloc(sizeof(*c));
    size_t start;
    int r;

    if (c == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    c->policy = policy;
    c->range_count = c->answer_count = c->length = 0;
    c->is_full = false;
    r = cut_ranges(c, err);
    if (r < 0)
        return r;

    /* Backward too: the architecture, then the number, then what that leads to. */
    start = decide_ranges(c, 0, c->range_count);
    if (start != c->length)
        put(c, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)distance(c, start)));
    /* A filter that allows what it does not name would allow everything by x32 numbers. */
    if (policy->otherwise == SECCOMP_RET_ALLOW) {
        start = c->length;
        compare(c, BPF_JGE, SECCOMP_NUMBERS_END, answer(c, SECCOMP_RET_ERRNO | ENOSYS), start);
    }
    start = load(c, offsetof(struct seccomp_data, nr));
    compare(c, BPF_JEQ, audit_name(policy->machine), start, answer(c, SECCOMP_RET_KILL_PROCESS));
    load(c, offsetof(struct seccomp_data, arch));
    if (c->is_full)
        return err_set(err, ERR_TOO_LARGE, "the seccomp filter has more than %d steps",
                       SECCOMP_MAX_STEPS);
    out_program->length = c->length;
    for (size_t i = 0; i < c->length; i++)
        out_program->steps[i] = c->backward[c->length - 1 - i];
    return 0;
}

void seccomp_replace_answer(struct seccomp_program *program, uint32_t answer, uint32_t other)
{
    for (size_t i = 0; i < program->length; i++)
        if (program->steps[i].code == (BPF_RET | BPF_K) && program->steps[i].k == answer)
            program->steps[i].k = other;
}

/* SAFETY: no C library wraps it; the arguments are those of seccomp(2). */
static int set_filter(const struct seccomp_program *program, unsigned flags)
{
    /* The kernel's struct sock_fprog, with the const that is meant. */
    const struct {
        unsigned short length;
        const struct sock_filter *steps;
    } filter = {(unsigned short)program->length, program->steps};

    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
}

int seccomp_install_listener(const struct seccomp_program *program)
{
    if (threads_check_alone(NULL) < 0) {
        errno = EINVAL;
        return -1;
    }
    return set_filter(program, SECCOMP_FILTER_FLAG_NEW_LISTENER);
}

int seccomp_install(const struct seccomp_program *program, struct err *err)
{
    int r = threads_check_alone(err);

    if (r < 0)
        return r;
    if (set_filter(program, 0) == 0)
        return 0;
    r = errno;
    return err_set(err, r == ENOSYS || r == EINVAL ? ERR_UNSUPPORTED : err_from_errno(r),
                   "cannot install the seccomp filter: %s", err_errno_text(r));
}
