/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision alone: every mode with every rule and every answer, the text of a question, what an
 * answer applies to, and how much a client may see.
 */
#include "test.h"

#include <stdio.h>

#include "permission/decision.h"

enum {
    ARENA_BYTES = 64 << 10,
    MOST_RESOURCES = 4,
    ALL_CHOICES = (1U << CHOICES) - 1,
    WIDER = 1U << CHOICE_ALLOW_FOLDER | 1U << CHOICE_ALLOW_MATCHING | 1U << CHOICE_ALWAYS_MATCHING,
    FOLDER = 1U << CHOICE_ALLOW_FOLDER,
};

#define HOW_TO_ASK "start it with a terminal"

struct scene {
    struct keeper *keeper;
    struct arena arena;
    struct decision_terms terms;
    struct permission_resource resources[MOST_RESOURCES];
    struct decision_subject subject;
    struct decision decision;
    struct err err;
    /* What was told to the record. */
    size_t refusals;
    const char *refused_source;
    const char *refused_rule;
    int refused_code;
    struct str refused_name;
    /* What the describer was told, and says. */
    size_t described;
    enum decision_disclosure disclosure;
    int description_error;
};

static void note_refusal(void *data, const struct permission_resource *resource, const char *source,
                         const char *rule, int code)
{
    struct scene *scene = data;

    scene->refusals++;
    scene->refused_source = source;
    scene->refused_rule = rule;
    scene->refused_code = code;
    scene->refused_name = resource->given;
}

static int describe(void *data, struct arena *arena, enum decision_disclosure disclosure,
                    const struct cancel *cancel, struct question *question, struct err *err)
{
    struct scene *scene = data;

    (void)arena;
    (void)cancel;
    scene->described++;
    scene->disclosure = disclosure;
    if (scene->description_error < 0)
        return err_set(err, scene->description_error, "it is not there");
    question->action = STR("Does it");
    return 0;
}

static void scene_begin(struct scene *scene, enum permission_mode mode)
{
    struct keeper_config config = {.may_save = false};

    *scene = (struct scene){.arena = ARENA_INIT(ARENA_BYTES)};
    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        config.modes.of[i] = mode;
    assert_int_equal(keeper_new(&config, &scene->keeper, NULL, NULL), 0);
    scene->terms = (struct decision_terms){.keeper = scene->keeper,
                                           .choices = ALL_CHOICES,
                                           .answered = ALL_CHOICES,
                                           .how_to_ask = HOW_TO_ASK};
    scene->subject = (struct decision_subject){.tool = &catalog_tools[0],
                                               .resources = scene->resources,
                                               .describe = describe,
                                               .refused = note_refusal,
                                               .data = scene};
    scene->err = (struct err)ERR_INIT;
}

static void scene_end(struct scene *scene)
{
    keeper_free(scene->keeper);
    arena_done(&scene->arena);
}

static void set_mode(struct scene *scene, enum catalog_group group, enum permission_mode mode)
{
    struct permission_modes modes = permission_modes(keeper_permission(scene->keeper));

    modes.of[group] = mode;
    permission_set_modes(keeper_permission(scene->keeper), &modes);
}

static struct permission_resource *add(struct scene *scene, enum catalog_group group,
                                       const char *name)
{
    struct permission_resource *resource = &scene->resources[scene->subject.count++];

    *resource = (struct permission_resource){
        .group = group, .given = str_from(name), .resolved = STR_EMPTY, .cwd = STR_EMPTY};
    if (group == CATALOG_SHELL)
        resource->cwd = STR("/work");
    return resource;
}

static void set_rule(struct scene *scene, enum catalog_group group, const char *name,
                     enum rule_effect effect)
{
    const struct rule rule = {
        .group = group, .effect = effect, .kind = RULE_EXACT, .pattern = str_from(name)};

    assert_int_equal(keeper_set_rules(scene->keeper, &rule, 1, NULL), 0);
}

static int decide(struct scene *scene)
{
    scene->err = (struct err)ERR_INIT;
    scene->refusals = scene->described = 0;
    scene->refused_source = NULL;
    return decision_make(&scene->terms, &scene->subject, &scene->arena, NULL, &scene->decision,
                         &scene->err);
}

/* Once more with an answer to the question that the last decision made. */
static int answer(struct scene *scene, enum permission_choice choice)
{
    scene->terms.has_answer = true;
    scene->terms.answer = choice;
    scene->terms.mark = scene->decision.mark;
    return decide(scene);
}

/* A call that comes later: nothing of the answer before is with it. */
static int decide_later(struct scene *scene)
{
    scene->terms.has_answer = false;
    return decide(scene);
}

/* ---- the table ---- */

enum rule_there { NO_RULE, ALLOW_RULE, DENY_RULE, RULES_THERE };
enum answered { NO_ANSWER = CHOICES, ANSWERS };
enum offered { OFFERS_ALL, OFFERS_ONCE, OFFERS };

static const unsigned offers[OFFERS] = {
    [OFFERS_ALL] = ALL_CHOICES,
    [OFFERS_ONCE] = 1U << CHOICE_DENY_ONCE | 1U << CHOICE_ALLOW_ONCE,
};

struct row {
    enum permission_mode mode;
    enum rule_there rule;
    int answer;
    bool can_ask;
    bool has_mark; /* of the question that is asked now */
    enum offered offered;
    bool is_typed;
};

/* What is to come of it, said once more, in the order of permission.h and decision.h. */
struct outcome {
    bool passes;
    bool asks;
    const char *source; /* of passing or of refusing */
    int code;
    const char *later; /* the same call afterwards: "ask", or what it passes or is refused by */
};

static bool may_choose(const struct row *row)
{
    bool is_once = row->answer == CHOICE_DENY_ONCE || row->answer == CHOICE_ALLOW_ONCE;

    return is_once || (row->offered == OFFERS_ALL && !row->is_typed);
}

static struct outcome refused_by(const char *source, const char *later)
{
    return (struct outcome){.source = source,
                            .code = strcmp(source, "nobody") == 0 ? ERR_ASK_UNAVAILABLE
                                                                  : ERR_DENIED_BY_POLICY,
                            .later = later};
}

static struct outcome passes_by(const char *source, const char *later)
{
    return (struct outcome){.passes = true, .source = source, .later = later};
}

static struct outcome outcome_of_answer(const struct row *row)
{
    if (!may_choose(row))
        return refused_by("user", "ask");
    switch ((enum permission_choice)row->answer) {
    case CHOICE_ALLOW_ONCE:
        return passes_by("user", "ask");
    case CHOICE_ALLOW_SESSION:
        return passes_by("user", "session-rule");
    case CHOICE_ALWAYS_ALLOW:
        return passes_by("user", "allow-rule");
    case CHOICE_ALWAYS_DENY:
        return refused_by("user", "deny-rule");
    case CHOICE_ALLOW_FOLDER:
    case CHOICE_ALLOW_MATCHING:
    case CHOICE_ALWAYS_MATCHING: /* "make" alone has nothing wider */
    case CHOICE_DENY_ONCE:
    case CHOICES:
        break;
    }
    return refused_by("user", "ask");
}

static struct outcome outcome_of(const struct row *row)
{
    if (row->rule == DENY_RULE)
        return refused_by("deny-rule", "deny-rule");
    if (row->mode == PERMISSION_DENY)
        return refused_by("mode", "mode");
    if (row->mode == PERMISSION_ALLOW)
        return passes_by("mode", "mode");
    if (row->rule == ALLOW_RULE && !row->is_typed)
        return passes_by("allow-rule", "allow-rule");
    if (row->answer != NO_ANSWER && row->has_mark)
        return outcome_of_answer(row);
    if (!row->can_ask)
        return refused_by("nobody", "ask");
    return (struct outcome){.asks = true, .later = "ask"};
}

static const char *source_of(const struct scene *scene, int result)
{
    if (result < 0)
        return scene->refused_source;
    return scene->decision.asks ? "ask" : permission_source_name(scene->decision.source);
}

static void check(const struct row *row, bool is_right, const char *what)
{
    if (!is_right)
        fail_msg("mode %s, rule %d, answer %d, can ask %d, mark %d, offered %d, typed %d: %s",
                 permission_mode_name(row->mode), row->rule, row->answer, row->can_ask,
                 row->has_mark, row->offered, row->is_typed, what);
}

static void prepare(struct scene *scene, const struct row *row)
{
    scene_begin(scene, row->mode);
    add(scene, CATALOG_SHELL, "make")->is_typed = row->is_typed;
    if (row->rule != NO_RULE)
        set_rule(scene, CATALOG_SHELL, "make", row->rule == DENY_RULE ? RULE_DENY : RULE_ALLOW);
    scene->terms.can_ask = true;
    scene->terms.choices = scene->terms.answered = offers[row->offered];
    (void)decide(scene); /* for the mark of its question, if it makes one */
    scene->terms.can_ask = row->can_ask;
    scene->terms.has_answer = row->answer != NO_ANSWER;
    scene->terms.answer =
        row->answer != NO_ANSWER ? (enum permission_choice)row->answer : CHOICE_ALWAYS_ALLOW;
    scene->terms.mark = scene->decision.mark + !row->has_mark;
}

static void check_row(const struct row *row)
{
    const struct outcome outcome = outcome_of(row);
    bool is_refused = !outcome.passes && !outcome.asks;
    struct scene scene;
    const char *source;
    int r;

    prepare(&scene, row);
    r = decide(&scene);
    check(row, r == outcome.code, "another result");
    check(row, scene.decision.asks == outcome.asks, "asks or not");
    check(row, scene.described == outcome.asks, "described though nobody is asked, or not");
    check(row, scene.refusals == is_refused, "a refusal is recorded once, and nothing else is");
    check(row, !is_refused || scene.refused_code == outcome.code, "another code is recorded");
    check(row,
          !is_refused || (scene.refused_rule != NULL) == (strcmp(outcome.source, "deny-rule") == 0),
          "the record names the rule that decided, and no other");
    check(row, is_refused == (scene.err.message[0] != '\0'), "words for a refusal");
    source = source_of(&scene, r);
    check(row, outcome.asks || strcmp(source, outcome.source) == 0, "by something else");
    /* There is no file, so that what is for good holds for the session, and that is told. */
    check(row,
          (scene.decision.unkept.code != 0) ==
              (outcome.source != NULL && strcmp(outcome.source, "user") == 0 && may_choose(row) &&
               (row->answer == CHOICE_ALWAYS_ALLOW || row->answer == CHOICE_ALWAYS_DENY)),
          "what could not be kept");
    scene.terms.can_ask = true;
    check(row, strcmp(source_of(&scene, decide_later(&scene)), outcome.later) == 0,
          "what holds afterwards");
    scene_end(&scene);
}

static void every_mode_with_every_rule_and_answer(void **state)
{
    size_t count = 0;

    (void)state;
    for (int mode = PERMISSION_DENY; mode <= PERMISSION_ALLOW; mode++)
        for (int rule = 0; rule < RULES_THERE; rule++)
            for (int given = 0; given < ANSWERS; given++)
                for (unsigned bits = 0; bits < 16; bits++, count++)
                    check_row(&(struct row){.mode = (enum permission_mode)mode,
                                            .rule = (enum rule_there)rule,
                                            .answer = given,
                                            .can_ask = (bits & 1) != 0,
                                            .has_mark = (bits & 2) != 0,
                                            .offered = (enum offered)(bits >> 2 & 1),
                                            .is_typed = (bits & 8) != 0});
    assert_int_equal(count, 3 * 3 * ANSWERS * 16);
}

static void a_choice_that_was_not_offered_is_a_no(void **state)
{
    (void)state;
    for (int choice = 0; choice < CHOICES; choice++) {
        struct scene scene;

        scene_begin(&scene, PERMISSION_ASK);
        add(&scene, CATALOG_FILESYSTEM_WRITE, "/r/a");
        scene.terms.can_ask = true;
        scene.terms.choices = scene.terms.answered = ALL_CHOICES & ~(1U << choice);
        assert_int_equal(decide(&scene), 0);
        assert_int_equal(scene.decision.question.choices,
                         scene.terms.choices & ~(unsigned)(WIDER & ~FOLDER));
        assert_int_equal(answer(&scene, (enum permission_choice)choice), ERR_DENIED_BY_POLICY);
        assert_string_equal(scene.refused_source, "user");
        /* And it has no effect either. */
        assert_int_equal(scene.decision.unkept.code, 0);
        assert_string_equal(source_of(&scene, decide_later(&scene)), "ask");
        scene_end(&scene);
    }
}

/* Decides later about another file or command, which the last answer was not given for. */
static const char *source_of_other(struct scene *scene, const struct permission_resource *other)
{
    scene->subject.count = 1;
    scene->resources[0] = *other;
    return source_of(scene, decide_later(scene));
}

static struct permission_resource file(enum permission_operation operation, const char *name)
{
    return (struct permission_resource){.group = permission_operation_group(operation),
                                        .given = str_from(name),
                                        .resolved = STR_EMPTY,
                                        .cwd = STR_EMPTY,
                                        .operation = operation};
}

static void a_folder_is_allowed_for_what_was_shown(void **state)
{
    static const struct {
        enum permission_operation operation;
        const char *name;
        const char *source;
    } rows[] = {
        {PERMISSION_READS, "/r/src/a.c", "session-rule"},
        {PERMISSION_READS, "/r/src/deep/b", "session-rule"},
        {PERMISSION_LOOKS_UP, "/r/src/b", "session-rule"},
        {PERMISSION_READS, "/r/srcs/a.c", "ask"},
        {PERMISSION_READS, "/r/a.c", "ask"},
        {PERMISSION_CHANGES, "/r/src/a.c", "ask"},
        {PERMISSION_READS_BELOW, "/r/src", "ask"},
        {PERMISSION_READS, "/r/src/.env", "ask"},
        {PERMISSION_READS, "/r/src/denied", "deny-rule"},
    };
    struct permission_modes modes;
    struct scene scene;

    (void)state;
    scene_begin(&scene, PERMISSION_ASK);
    modes = permission_modes(keeper_permission(scene.keeper));
    modes.sensitive = PERMISSION_ASK;
    permission_set_modes(keeper_permission(scene.keeper), &modes);
    set_rule(&scene, CATALOG_FILESYSTEM_READ, "/r/src/denied", RULE_DENY);
    scene.terms.can_ask = true;
    scene.subject.count = 1;
    scene.resources[0] = file(PERMISSION_READS, "/r/src/a.c");
    assert_int_equal(decide(&scene), 0);
    assert_str(scene.decision.question.folder, "/r/src");
    assert_str(scene.decision.question.pattern, "/r/src/**/*.c");
    assert_int_equal(answer(&scene, CHOICE_ALLOW_FOLDER), 0);
    for (size_t i = 0; i < array_size(rows); i++) {
        const struct permission_resource other = file(rows[i].operation, rows[i].name);

        assert_string_equal(source_of_other(&scene, &other), rows[i].source);
    }
    permission_end_session(keeper_permission(scene.keeper));
    assert_string_equal(
        source_of_other(&scene, &(struct permission_resource){.group = CATALOG_FILESYSTEM_READ,
                                                              .given = STR_LITERAL("/r/src/a.c"),
                                                              .resolved = STR_EMPTY,
                                                              .cwd = STR_EMPTY,
                                                              .operation = PERMISSION_READS}),
        "ask");
    scene_end(&scene);
}

static void files_of_one_kind_are_allowed(void **state)
{
    struct permission_resource other;
    struct scene scene;

    (void)state;
    scene_begin(&scene, PERMISSION_ASK);
    scene.terms.can_ask = true;
    scene.subject.count = 1;
    scene.resources[0] = file(PERMISSION_CHANGES, "/r/src/a.c");
    assert_int_equal(decide(&scene), 0);
    assert_int_equal(answer(&scene, CHOICE_ALLOW_MATCHING), 0);
    other = file(PERMISSION_CHANGES, "/r/src/deep/b.c");
    assert_string_equal(source_of_other(&scene, &other), "session-rule");
    other = file(PERMISSION_CHANGES, "/r/src/b.h");
    assert_string_equal(source_of_other(&scene, &other), "ask");
    other = file(PERMISSION_DELETES, "/r/src/a.c");
    assert_string_equal(source_of_other(&scene, &other), "ask");
    scene_end(&scene);
}

static void commands_that_start_alike_are_allowed(void **state)
{
    static const struct {
        const char *command;
        const char *cwd;
        const char *session;
        const char *always;
    } rows[] = {
        {"npm test --watch", "/work", "session-rule", "allow-rule"},
        {"npm test",
         "/work"
         "/sub",
         "session-rule", "allow-rule"},
        {"npm test", "/else", "ask", "allow-rule"},
        {"npm tests", "/work", "ask", "ask"},
        {"npm install", "/work", "ask", "ask"},
        {"npm test; rm x", "/work", "ask", "ask"},
        {"npm test > x", "/work", "ask", "ask"},
        {"npm test $(rm x)", "/work", "ask", "ask"},
    };

    (void)state;
    for (int is_always = 0; is_always < 2; is_always++) {
        struct scene scene;

        scene_begin(&scene, PERMISSION_ASK);
        scene.terms.can_ask = true;
        add(&scene, CATALOG_SHELL, "npm test");
        assert_int_equal(decide(&scene), 0);
        assert_str(scene.decision.question.pattern, "npm test");
        assert_int_equal(answer(&scene, is_always ? CHOICE_ALWAYS_MATCHING : CHOICE_ALLOW_MATCHING),
                         0);
        for (size_t i = 0; i < array_size(rows); i++) {
            const struct permission_resource other = {.group = CATALOG_SHELL,
                                                      .given = str_from(rows[i].command),
                                                      .resolved = STR_EMPTY,
                                                      .cwd = str_from(rows[i].cwd)};

            assert_string_equal(source_of_other(&scene, &other),
                                is_always ? rows[i].always : rows[i].session);
        }
        scene_end(&scene);
    }
}

static void nothing_is_decided_where_nothing_is_touched(void **state)
{
    struct scene scene;

    (void)state;
    scene_begin(&scene, PERMISSION_ASK);
    assert_int_equal(decide(&scene), 0);
    assert_false(scene.decision.asks);
    assert_int_equal(scene.decision.source, PERMISSION_BY_MODE);
    assert_int_equal(scene.refusals, 0);
    scene_end(&scene);
}

static void the_deciding_rule_is_told(void **state)
{
    struct scene scene;

    (void)state;
    scene_begin(&scene, PERMISSION_ALLOW);
    add(&scene, CATALOG_SHELL, "make");
    assert_int_equal(decide(&scene), 0);
    assert_string_equal(scene.decision.rule, "shell: allow");
    set_rule(&scene, CATALOG_SHELL, "make", RULE_DENY);
    assert_int_equal(decide(&scene), ERR_DENIED_BY_POLICY);
    assert_non_null(strstr(scene.decision.rule, "make"));
    set_mode(&scene, CATALOG_SHELL, PERMISSION_DENY);
    assert_int_equal(keeper_set_rules(scene.keeper, NULL, 0, NULL), 0);
    assert_int_equal(decide(&scene), ERR_DENIED_BY_POLICY);
    assert_string_equal(scene.decision.rule, "shell: deny");
    set_mode(&scene, CATALOG_SHELL, PERMISSION_ASK);
    scene.terms.can_ask = true;
    assert_int_equal(decide(&scene), 0);
    assert_string_equal(scene.decision.rule, "");
    assert_int_equal(answer(&scene, CHOICE_ALLOW_ONCE), 0);
    assert_string_equal(scene.decision.rule, "allowOnce");
    set_rule(&scene, CATALOG_SHELL, "make", RULE_ALLOW);
    assert_int_equal(decide(&scene), 0);
    assert_int_equal(scene.decision.source, PERMISSION_BY_ALLOW_RULE);
    assert_non_null(strstr(scene.decision.rule, "make"));
    scene_end(&scene);
}

static void words_say_what_can_be_done(void **state)
{
    struct scene scene;

    (void)state;
    scene_begin(&scene, PERMISSION_ASK);
    add(&scene, CATALOG_SHELL, "make");
    assert_int_equal(decide(&scene), ERR_ASK_UNAVAILABLE);
    assert_non_null(strstr(scene.err.message, HOW_TO_ASK));
    assert_non_null(strstr(scene.err.message, "shell"));
    scene.terms.can_ask = true;
    assert_int_equal(decide(&scene), 0);
    assert_int_equal(answer(&scene, CHOICE_DENY_ONCE), ERR_DENIED_BY_POLICY);
    assert_non_null(strstr(scene.err.message, "make"));
    scene.terms.unanswered_ms = 300000;
    assert_int_equal(answer(&scene, CHOICE_DENY_ONCE), ERR_DENIED_BY_POLICY);
    assert_null(strstr(scene.err.message, "the user denied"));
    assert_non_null(strstr(scene.err.message, "nobody answered the question within 5 minutes,"));
    assert_string_equal(scene.refused_source, "nobody");
    assert_string_equal(scene.decision.rule, "");
    scene_end(&scene);
}

/* ---- what an answer is given to ---- */

/* A command, an allowed file beside it and what else the call goes by. */
static uint64_t mark_with(const char *command, const char *cwd, const char *allowed, uint64_t mark)
{
    struct scene scene;
    uint64_t result;

    scene_begin(&scene, PERMISSION_ASK);
    set_mode(&scene, CATALOG_FILESYSTEM_READ, PERMISSION_ALLOW);
    add(&scene, CATALOG_FILESYSTEM_READ, allowed);
    add(&scene, CATALOG_SHELL, command)->cwd = str_from(cwd);
    scene.subject.mark = mark;
    scene.terms.can_ask = true;
    assert_int_equal(decide(&scene), 0);
    assert_true(scene.decision.asks);
    result = scene.decision.mark;
    scene_end(&scene);
    return result;
}

static void a_mark_is_of_what_is_asked_about_and_of_nothing_else(void **state)
{
    const uint64_t mark = mark_with("make", "/work", "/r/a", 7);

    (void)state;
    assert_true(mark == mark_with("make", "/work", "/r/a", 7));
    assert_true(mark == mark_with("make", "/work", "/r/other", 7));
    assert_true(mark != mark_with("make install", "/work", "/r/a", 7));
    assert_true(mark != mark_with("make", "/elsewhere", "/r/a", 7));
    assert_true(mark != mark_with("make", "", "/r/a", 7));
    assert_true(mark != mark_with("make", "/work", "/r/a", 8));
    /* Nor does what stands at the end of one stand at the beginning of the next. */
    assert_true(mark_with("a", "/b", "/r/a", 0) != mark_with("a/b", "", "/r/a", 0));
}

static void a_mark_knows_the_groups(void **state)
{
    struct scene scene;
    uint64_t read;

    (void)state;
    scene_begin(&scene, PERMISSION_ASK);
    scene.terms.can_ask = true;
    add(&scene, CATALOG_FILESYSTEM_READ, "/r/a");
    add(&scene, CATALOG_FILESYSTEM_READ, "/r/b");
    assert_int_equal(decide(&scene), 0);
    read = scene.decision.mark;
    scene.resources[0].group = CATALOG_FILESYSTEM_WRITE;
    assert_int_equal(decide(&scene), 0);
    assert_true(read != scene.decision.mark);
    scene_end(&scene);
}

/* The effect: who allowed it here has not allowed it there. */
static void an_answer_counts_in_the_directory_it_was_given_for(void **state)
{
    struct scene scene;

    (void)state;
    scene_begin(&scene, PERMISSION_ASK);
    add(&scene, CATALOG_SHELL, "rm -r build");
    scene.terms.can_ask = true;
    assert_int_equal(decide(&scene), 0);
    scene.resources[0].cwd = STR("/home/bob");
    assert_int_equal(answer(&scene, CHOICE_ALLOW_ONCE), 0);
    assert_true(scene.decision.asks);
    scene.terms.can_ask = false;
    assert_int_equal(decide(&scene), ERR_ASK_UNAVAILABLE);
    scene.resources[0].cwd = STR("/work");
    assert_int_equal(decide(&scene), 0);
    assert_false(scene.decision.asks);
    scene_end(&scene);
}

static void consent_for_the_session_ends_with_it(void **state)
{
    struct scene scene;

    (void)state;
    scene_begin(&scene, PERMISSION_ASK);
    add(&scene, CATALOG_SHELL, "make");
    add(&scene, CATALOG_FILESYSTEM_WRITE, "/r/a");
    scene.terms.can_ask = true;
    assert_int_equal(decide(&scene), 0);
    assert_int_equal(answer(&scene, CHOICE_ALLOW_SESSION), 0);
    assert_int_equal(permission_session_count(keeper_permission(scene.keeper)), 2);
    assert_string_equal(source_of(&scene, decide_later(&scene)), "session-rule");
    permission_end_session(keeper_permission(scene.keeper));
    assert_string_equal(source_of(&scene, decide_later(&scene)), "ask");
    scene_end(&scene);
}

/* ---- the question ---- */

static void a_question_names_what_is_undecided_once(void **state)
{
    struct scene scene;
    const struct question *question;

    (void)state;
    scene_begin(&scene, PERMISSION_ASK);
    set_mode(&scene, CATALOG_FILESYSTEM_READ, PERMISSION_ALLOW);
    add(&scene, CATALOG_FILESYSTEM_READ, "/r/allowed");
    add(&scene, CATALOG_FILESYSTEM_WRITE, "/r/link")->resolved = STR("/r/a");
    add(&scene, CATALOG_FILESYSTEM_WRITE, "/r/a");
    add(&scene, CATALOG_SHELL, "make")->resolved = STR("make all");
    scene.terms.can_ask = true;
    scene.subject.mark = 5;
    assert_int_equal(decide(&scene), 0);
    question = &scene.decision.question;
    assert_int_equal(question->resource_count, 2);
    assert_str(question->resources[0].shown, "/r/a");
    assert_int_equal(question->resources[0].group, CATALOG_FILESYSTEM_WRITE);
    assert_str(question->resources[1].shown, "/work: make all");
    assert_int_equal(question->group, CATALOG_SHELL);
    assert_true(str_eq(question->tool, catalog_tools[0].name));
    assert_str(question->action, "Does it");
    assert_int_equal(question->choices, ALL_CHOICES & ~(unsigned)WIDER);
    assert_int_equal(question->mark, 5);
    scene_end(&scene);
}

static void what_cannot_be_described_is_not_asked_about(void **state)
{
    struct scene scene;

    (void)state;
    scene_begin(&scene, PERMISSION_ASK);
    add(&scene, CATALOG_FILESYSTEM_WRITE, "/r/a");
    scene.terms.can_ask = true;
    scene.description_error = ERR_NOT_FOUND;
    assert_int_equal(decide(&scene), ERR_NOT_FOUND);
    assert_false(scene.decision.asks);
    /* It would fail anyway, which is no refusal. */
    assert_int_equal(scene.refusals, 0);
    scene_end(&scene);
}

/* ---- who is told how much ---- */

static void a_question_is_no_way_to_read(void **state)
{
    static const struct {
        enum catalog_group group;
        enum permission_mode reading;
        bool is_by_client;
        enum rule_there reading_rule;
        enum decision_disclosure disclosure;
    } rows[] = {
        {CATALOG_FILESYSTEM_WRITE, PERMISSION_ALLOW, false, NO_RULE, DECISION_DISCLOSES_ALL},
        {CATALOG_FILESYSTEM_WRITE, PERMISSION_ALLOW, true, NO_RULE, DECISION_DISCLOSES_ALL},
        {CATALOG_FILESYSTEM_WRITE, PERMISSION_ASK, false, NO_RULE, DECISION_DISCLOSES_TO_USER},
        {CATALOG_FILESYSTEM_WRITE, PERMISSION_ASK, true, NO_RULE, DECISION_DISCLOSES_NOTHING},
        {CATALOG_FILESYSTEM_WRITE, PERMISSION_ASK, false, ALLOW_RULE, DECISION_DISCLOSES_ALL},
        {CATALOG_FILESYSTEM_WRITE, PERMISSION_ASK, true, ALLOW_RULE, DECISION_DISCLOSES_ALL},
        {CATALOG_FILESYSTEM_READ, PERMISSION_ASK, true, NO_RULE, DECISION_DISCLOSES_NOTHING},
        {CATALOG_FILESYSTEM_READ, PERMISSION_ASK, false, NO_RULE, DECISION_DISCLOSES_TO_USER},
        /* Whether a command's directory exists. */
        {CATALOG_SHELL, PERMISSION_ALLOW, true, NO_RULE, DECISION_DISCLOSES_ALL},
        {CATALOG_SHELL, PERMISSION_ASK, true, NO_RULE, DECISION_DISCLOSES_NOTHING},
        {CATALOG_SHELL, PERMISSION_DENY, true, NO_RULE, DECISION_DISCLOSES_NOTHING},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        struct scene scene;

        scene_begin(&scene, PERMISSION_ASK);
        set_mode(&scene, CATALOG_FILESYSTEM_READ, rows[i].reading);
        if (rows[i].reading_rule == ALLOW_RULE)
            set_rule(&scene, CATALOG_FILESYSTEM_READ, "/r/a", RULE_ALLOW);
        if (rows[i].group != CATALOG_SHELL) {
            add(&scene, CATALOG_SHELL, "make")->cwd = STR_EMPTY;
            add(&scene, rows[i].group, "/r/a");
        } else {
            add(&scene, CATALOG_SHELL, "make");
        }
        scene.terms.can_ask = true;
        scene.terms.is_by_client = rows[i].is_by_client;
        assert_int_equal(decide(&scene), 0);
        assert_true(scene.decision.asks);
        if (scene.decision.disclosure != rows[i].disclosure ||
            scene.disclosure != rows[i].disclosure)
            fail_msg("row %zu tells %s, and the describer %s", i,
                     decision_disclosure_name(scene.decision.disclosure),
                     decision_disclosure_name(scene.disclosure));
        scene_end(&scene);
    }
}

static void the_names_of_tellings_are_read_as_they_are_written(void **state)
{
    (void)state;
    for (int i = DECISION_DISCLOSES_ALL; i <= DECISION_DISCLOSES_NOTHING; i++) {
        enum decision_disclosure disclosure = DECISION_DISCLOSES_ALL;

        assert_true(decision_disclosure_from(
            str_from(decision_disclosure_name((enum decision_disclosure)i)), &disclosure));
        assert_int_equal(disclosure, i);
    }
    assert_false(decision_disclosure_from(STR("everything"), &(enum decision_disclosure){0}));
    assert_false(decision_disclosure_from(STR(""), &(enum decision_disclosure){0}));
}

TEST_MAIN(cmocka_unit_test(every_mode_with_every_rule_and_answer),
          cmocka_unit_test(a_choice_that_was_not_offered_is_a_no),
          cmocka_unit_test(a_folder_is_allowed_for_what_was_shown),
          cmocka_unit_test(files_of_one_kind_are_allowed),
          cmocka_unit_test(commands_that_start_alike_are_allowed),
          cmocka_unit_test(nothing_is_decided_where_nothing_is_touched),
          cmocka_unit_test(the_deciding_rule_is_told), cmocka_unit_test(words_say_what_can_be_done),
          cmocka_unit_test(a_mark_is_of_what_is_asked_about_and_of_nothing_else),
          cmocka_unit_test(a_mark_knows_the_groups),
          cmocka_unit_test(an_answer_counts_in_the_directory_it_was_given_for),
          cmocka_unit_test(consent_for_the_session_ends_with_it),
          cmocka_unit_test(a_question_names_what_is_undecided_once),
          cmocka_unit_test(what_cannot_be_described_is_not_asked_about),
          cmocka_unit_test(a_question_is_no_way_to_read),
          cmocka_unit_test(the_names_of_tellings_are_read_as_they_are_written))
