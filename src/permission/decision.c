/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/decision.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "permission/scope.h"

enum { SHOWN_BYTES = 120 };

static const char *const disclosure_names[] = {
    [DECISION_DISCLOSES_ALL] = "all",
    [DECISION_DISCLOSES_TO_USER] = "user",
    [DECISION_DISCLOSES_NOTHING] = "nothing",
};

const char *decision_disclosure_name(enum decision_disclosure disclosure)
{
    return disclosure_names[disclosure];
}

bool decision_disclosure_from(struct str name, enum decision_disclosure *out_disclosure)
{
    size_t index = str_index(name, disclosure_names, array_size(disclosure_names));

    if (index != SIZE_MAX)
        *out_disclosure = (enum decision_disclosure)index;
    return index != SIZE_MAX;
}

struct deciding {
    const struct decision_terms *terms;
    const struct decision_subject *subject;
    struct arena *arena;
    struct permission_decision *decisions; /* one for each resource */
};

static bool is_asked_about(const struct deciding *deciding, size_t index)
{
    return deciding->decisions[index].verdict == PERMISSION_ASK;
}

/* ---- refusing ---- */

/* Whether the mode of its group alone would have allowed it. */
static bool is_kept_as_sensitive(const struct deciding *deciding,
                                 const struct permission_resource *resource)
{
    const struct permission_modes modes =
        permission_modes(keeper_permission(deciding->terms->keeper));

    return modes.of[CATALOG_FILESYSTEM_READ] == PERMISSION_ALLOW &&
           permission_reads_sensitive(resource->operation, resource->given, resource->resolved);
}

static bool is_kept_as_autorun(const struct deciding *deciding,
                               const struct permission_resource *resource)
{
    const struct permission_modes modes =
        permission_modes(keeper_permission(deciding->terms->keeper));

    return modes.of[resource->group] == PERMISSION_ALLOW && !modes.allows_autorun &&
           permission_changes_autorun(resource->operation, resource->given, resource->resolved);
}

static int say_unanswered(const struct deciding *deciding, struct err *err)
{
    int64_t seconds = deciding->terms->unanswered_ms / 1000;
    bool is_minutes = seconds >= 60;
    long long count = is_minutes ? seconds / 60 : seconds;

    return err_set(
        err, ERR_DENIED_BY_POLICY,
        "nobody answered the question within %lld %s%s, so it was not allowed; try again "
        "when the user is there",
        count, is_minutes ? "minute" : "second", count == 1 ? "" : "s");
}

static int say_unnamed(const struct deciding *deciding, const struct permission_resource *resource,
                       struct err *err)
{
    struct str name = str_slice(resource->given, 0, SHOWN_BYTES);

    if (str_eq(name, STR(PERMISSION_LOCAL_BROWSER)))
        return err_set(err, ERR_ASK_UNAVAILABLE,
                       "the user's own browser needs the user's permission, but there is nobody to "
                       "ask: %s; or the user runs: gatehouse rules add allow browser host:%.*s",
                       deciding->terms->how_to_ask, STR_ARG(name));
    return err_set(err, ERR_ASK_UNAVAILABLE,
                   "%.*s is this machine or on a private network, which needs the user's "
                   "permission: gatehouse rules add allow browser host:%.*s",
                   STR_ARG(name), STR_ARG(name));
}

static int say_refusal(const struct deciding *deciding, size_t index, enum permission_source source,
                       struct err *err)
{
    const struct permission_resource *resource = &deciding->subject->resources[index];
    const char *group = catalog_group_name(resource->group);
    struct str name = str_slice(resource->given, 0, SHOWN_BYTES);

    switch (source) {
    case PERMISSION_BY_PROTECTION:
        return err_set(err, ERR_DENIED_BY_POLICY, "'%.*s' is protected: no tool can access it",
                       STR_ARG(name));
    case PERMISSION_BY_DENY_RULE:
        return err_set(err, ERR_DENIED_BY_POLICY, "'%.*s' is denied by a rule of the user",
                       STR_ARG(name));
    case PERMISSION_BY_USER:
        return err_set(err, ERR_DENIED_BY_POLICY,
                       "the user denied '%.*s'; ask them what to do instead", STR_ARG(name));
    case PERMISSION_BY_NOBODY:
        if (deciding->terms->unanswered_ms > 0)
            return say_unanswered(deciding, err);
        if (is_kept_as_sensitive(deciding, resource))
            return err_set(err, ERR_ASK_UNAVAILABLE,
                           "'%.*s' usually holds secrets, so reading it needs the user's "
                           "permission, but there is nobody to ask: %s; or the user can start the "
                           "server with --sensitive allow",
                           STR_ARG(name), deciding->terms->how_to_ask);
        if (is_kept_as_autorun(deciding, resource))
            return err_set(err, ERR_ASK_UNAVAILABLE,
                           "other programs run '%.*s' by themselves, so changing it needs the "
                           "user's permission (or --autorun allow), but there is nobody to ask: %s",
                           STR_ARG(name), deciding->terms->how_to_ask);
        if (resource->needs_name)
            return say_unnamed(deciding, resource, err);
        return err_set(err, ERR_ASK_UNAVAILABLE,
                       "this needs the user's permission (%s), but there is nobody to ask: %s",
                       group, deciding->terms->how_to_ask);
    case PERMISSION_BY_FORM:
        return err_set(err, ERR_DENIED_BY_POLICY, "'%.*s' has a form that no rule can match",
                       STR_ARG(name));
    case PERMISSION_BY_ALLOW_RULE:
    case PERMISSION_BY_SESSION_RULE:
    case PERMISSION_BY_MODE:
        break;
    }
    if (is_kept_as_sensitive(deciding, resource))
        return err_set(err, ERR_DENIED_BY_POLICY,
                       "'%.*s' usually holds secrets, and reading such files is denied "
                       "(--sensitive)",
                       STR_ARG(name));
    return err_set(err, ERR_DENIED_BY_POLICY, "%s is denied", group);
}

static int refuse(const struct deciding *deciding, size_t index, enum permission_source source,
                  struct err *err)
{
    int code = say_refusal(deciding, index, source, err);
    const char *rule = source == PERMISSION_BY_DENY_RULE ? deciding->decisions[index].rule : NULL;

    deciding->subject->refused(deciding->subject->data, &deciding->subject->resources[index],
                               permission_source_name(source), rule, code);
    return code;
}

/* ---- asking ---- */

/* What the wider choices would cover. */
struct scopes {
    bool has_folder;
    bool has_matching;
    struct rule folder;
    struct rule matching;
};

/* The same for the question and for its answer: both see the same resources. */
static void find_scopes(const struct deciding *deciding, struct scopes *out_scopes)
{
    const struct decision_subject *subject = deciding->subject;
    struct permission_resource *asked =
        arena_alloc_array(deciding->arena, subject->count, sizeof(*asked));
    size_t count = 0;

    *out_scopes = (struct scopes){.has_folder = false};
    if (asked == NULL)
        return;
    for (size_t i = 0; i < subject->count; i++)
        if (is_asked_about(deciding, i))
            asked[count++] = subject->resources[i];
    out_scopes->has_folder = scope_folder(deciding->arena, asked, count, &out_scopes->folder);
    out_scopes->has_matching = scope_matching(deciding->arena, asked, count, &out_scopes->matching);
}

/* Text typed into a command differs each time, so a lasting answer makes no sense. */
static unsigned choices_of(const struct deciding *deciding, const struct scopes *scopes,
                           unsigned choices)
{
    for (size_t i = 0; i < deciding->subject->count; i++)
        if (deciding->subject->resources[i].is_typed)
            return choices & (1U << CHOICE_DENY_ONCE | 1U << CHOICE_ALLOW_ONCE);
    if (!scopes->has_folder)
        choices &= ~(1U << CHOICE_ALLOW_FOLDER);
    if (!scopes->has_matching)
        choices &= ~(1U << CHOICE_ALLOW_MATCHING);
    /* For good only where a person would write that rule, too. */
    if (!scopes->has_matching || scopes->matching.kind != RULE_PREFIX)
        choices &= ~(1U << CHOICE_ALWAYS_MATCHING);
    return choices;
}

/*
 * Covers exactly what is asked about: another target is another question, and so is another change
 * to undo.
 */
static uint64_t mark_of(const struct deciding *deciding)
{
    struct hash_key key = *hash_process_key();

    key.high ^= deciding->subject->mark;
    for (size_t i = 0; i < deciding->subject->count; i++) {
        const struct permission_resource *resource = &deciding->subject->resources[i];

        if (!is_asked_about(deciding, i))
            continue;
        key.low = hash_str(&key, permission_resource_name(resource));
        key.low = hash_str(&key, resource->cwd);
        key.high += (uint64_t)resource->group + 1 + ((uint64_t)resource->operation << 8);
    }
    return key.low;
}

/* Two names of one file are one resource. */
static bool is_shown(const struct question *question, const struct question_resource *resource)
{
    for (size_t i = 0; i < question->resource_count; i++)
        if (question->resources[i].group == resource->group &&
            question->resources[i].operation == resource->operation &&
            str_eq(question->resources[i].shown, resource->shown))
            return true;
    return false;
}

/*
 * A command is shown with its working directory. Always a copy: the question outlives the call that
 * owns the names.
 */
static int show_resource(const struct deciding *deciding, size_t index, struct str *out_shown)
{
    const struct permission_resource *resource = &deciding->subject->resources[index];
    struct str name = permission_resource_name(resource);
    struct str between = resource->cwd.len > 0 ? STR(": ") : STR_EMPTY;
    size_t len = resource->cwd.len + between.len + name.len;
    char *text = arena_alloc(deciding->arena, len);

    if (text == NULL)
        return deciding->arena->error;
    if (resource->cwd.len > 0) {
        memcpy(text, resource->cwd.ptr, resource->cwd.len);
        memcpy(text + resource->cwd.len, between.ptr, between.len);
    }
    memcpy(text + resource->cwd.len + between.len, name.ptr, name.len);
    *out_shown = (struct str){text, len};
    return 0;
}

/* A question is sent before anything is allowed: it must not be a way to read. */
static enum decision_disclosure how_much_to_tell(const struct deciding *deciding)
{
    const struct decision_subject *subject = deciding->subject;

    for (size_t i = 0; i < subject->count; i++) {
        struct permission_resource resource = subject->resources[i];
        struct permission_decision decision;

        if (resource.group == CATALOG_SHELL && resource.cwd.len > 0)
            resource =
                (struct permission_resource){.given = resource.cwd, .resolved = resource.cwd};
        else if (resource.group != CATALOG_FILESYSTEM_READ &&
                 resource.group != CATALOG_FILESYSTEM_WRITE)
            continue;
        resource.group = CATALOG_FILESYSTEM_READ;
        resource.operation = PERMISSION_READS;
        permission_decide(keeper_permission(deciding->terms->keeper), &resource, &decision);
        if (decision.verdict != PERMISSION_ALLOW)
            return deciding->terms->is_by_client ? DECISION_DISCLOSES_NOTHING
                                                 : DECISION_DISCLOSES_TO_USER;
    }
    return DECISION_DISCLOSES_ALL;
}

static int make_question(const struct deciding *deciding, enum decision_disclosure disclosure,
                         const struct cancel *cancel, struct question *out_question,
                         struct err *err)
{
    const struct decision_subject *subject = deciding->subject;
    struct question_resource *shown =
        arena_alloc_array(deciding->arena, subject->count, sizeof(*shown));

    struct scopes scopes;

    if (shown == NULL)
        return err_set_plain(err, deciding->arena->error);
    find_scopes(deciding, &scopes);
    *out_question = (struct question){
        .tool = subject->tool->name,
        .resources = shown,
        .choices = choices_of(deciding, &scopes, deciding->terms->choices),
        .folder = scopes.folder.pattern,
        .pattern = scopes.matching.pattern,
        .mark = subject->mark,
    };
    for (size_t i = 0; i < subject->count; i++) {
        struct question_resource *resource = &shown[out_question->resource_count];
        int r;

        if (!is_asked_about(deciding, i))
            continue;
        resource->group = subject->resources[i].group;
        resource->operation = subject->resources[i].operation;
        r = show_resource(deciding, i, &resource->shown);
        if (r < 0)
            return err_set_plain(err, r);
        if (is_shown(out_question, resource))
            continue;
        out_question->resource_count++;
        if (resource->group > out_question->group)
            out_question->group = resource->group;
    }
    return subject->describe != NULL ? subject->describe(subject->data, deciding->arena, disclosure,
                                                         cancel, out_question, err)
                                     : 0;
}

/* ---- the answer ---- */

/* Saves rules for all resources that were asked about, together. */
static void keep_rules(const struct deciding *deciding, enum rule_effect effect, struct err *unkept)
{
    const struct decision_subject *subject = deciding->subject;
    struct permission_resource *asked =
        arena_alloc_array(deciding->arena, subject->count, sizeof(*asked));
    size_t count = 0;

    if (asked == NULL) {
        err_set_plain(unkept, deciding->arena->error);
        return;
    }
    for (size_t i = 0; i < subject->count; i++)
        if (is_asked_about(deciding, i))
            asked[count++] = subject->resources[i];
    (void)keeper_save(deciding->terms->keeper, asked, count, effect, unkept);
}

/* Over the limit it counts for this once. */
static void allow_for_session(const struct deciding *deciding)
{
    for (size_t i = 0; i < deciding->subject->count; i++)
        if (is_asked_about(deciding, i))
            (void)permission_allow_for_session(keeper_permission(deciding->terms->keeper),
                                               &deciding->subject->resources[i]);
}

static void allow_scope(const struct deciding *deciding, const struct rule *scope)
{
    for (size_t i = 0; i < deciding->subject->count; i++) {
        const struct permission_resource *resource = &deciding->subject->resources[i];
        struct rule rule = *scope;

        if (!is_asked_about(deciding, i))
            continue;
        rule.group = resource->group;
        rule.cwd = resource->cwd; /* of a command: in this directory and below */
        (void)permission_allow_scope(keeper_permission(deciding->terms->keeper),
                                     resource->operation, &rule);
    }
}

static int follow_answer(const struct deciding *deciding, size_t index, struct err *unkept,
                         struct err *err)
{
    struct scopes scopes;

    find_scopes(deciding, &scopes);
    /* It was not offered. */
    if ((choices_of(deciding, &scopes, deciding->terms->answered) &
         1U << deciding->terms->answer) == 0)
        return refuse(deciding, index, PERMISSION_BY_USER, err);
    switch (deciding->terms->answer) {
    case CHOICE_ALLOW_ONCE:
        return 0;
    case CHOICE_ALLOW_SESSION:
        allow_for_session(deciding);
        return 0;
    case CHOICE_ALLOW_FOLDER:
        allow_scope(deciding, &scopes.folder);
        return 0;
    case CHOICE_ALLOW_MATCHING:
        allow_scope(deciding, &scopes.matching);
        return 0;
    case CHOICE_ALWAYS_ALLOW:
        keep_rules(deciding, RULE_ALLOW, unkept);
        return 0;
    case CHOICE_ALWAYS_MATCHING:
        (void)keeper_save_rule(deciding->terms->keeper, &scopes.matching, unkept);
        return 0;
    case CHOICE_ALWAYS_DENY:
        keep_rules(deciding, RULE_DENY, unkept);
        break;
    case CHOICE_DENY_ONCE:
    case CHOICES:
        break;
    }
    return refuse(deciding, index, PERMISSION_BY_USER, err);
}

/* What fits of them, one after the other. At every call, so without snprintf(). */
static void say_all(char out_text[PERMISSION_RULE_BYTES], const char *first, const char *second,
                    const char *third)
{
    const char *const parts[] = {first, second, third};
    size_t len = 0;

    for (size_t i = 0; i < array_size(parts); i++) {
        size_t fitting = strnlen(parts[i], PERMISSION_RULE_BYTES - 1 - len);

        memcpy(out_text + len, parts[i], fitting);
        len += fitting;
    }
    out_text[len] = '\0';
}

/* Of a rule its text; of a mode, which one. */
static void say_rule(const struct deciding *deciding, size_t index, struct decision *decision)
{
    const struct permission_decision *made = &deciding->decisions[index];

    if (made->source == PERMISSION_BY_MODE)
        say_all(decision->rule, catalog_group_name(deciding->subject->resources[index].group), ": ",
                permission_mode_name(made->verdict));
    else
        say_all(decision->rule, made->rule, "", "");
}

static int settle_asking(const struct deciding *deciding, size_t index, const struct cancel *cancel,
                         struct decision *decision, struct err *err)
{
    const struct decision_terms *terms = deciding->terms;
    int r;

    decision->mark = mark_of(deciding);
    if (terms->has_answer && terms->mark == decision->mark) {
        if (terms->unanswered_ms > 0)
            return refuse(deciding, index, PERMISSION_BY_NOBODY, err);
        decision->source = PERMISSION_BY_USER;
        snprintf(decision->rule, sizeof(decision->rule), "%s",
                 permission_choice_name(terms->answer));
        return follow_answer(deciding, index, &decision->unkept, err);
    }
    if (!terms->can_ask)
        return refuse(deciding, index, PERMISSION_BY_NOBODY, err);
    decision->disclosure = how_much_to_tell(deciding);
    r = make_question(deciding, decision->disclosure, cancel, &decision->question, err);
    decision->asks = r == 0;
    return r;
}

int decision_make(const struct decision_terms *terms, const struct decision_subject *subject,
                  struct arena *arena, const struct cancel *cancel, struct decision *out_decision,
                  struct err *err)
{
    struct deciding deciding = {.terms = terms, .subject = subject, .arena = arena};
    size_t index = 0;

    deciding.decisions = arena_alloc_array(arena, subject->count, sizeof(*deciding.decisions));
    if (deciding.decisions == NULL)
        return err_set_plain(err, arena->error);
    *out_decision = (struct decision){.source = PERMISSION_BY_MODE};
    if (subject->count == 0)
        return 0; /* it touches nothing; its group is offered, or it would not be here */
    switch (permission_decide_all(keeper_permission(terms->keeper), subject->resources,
                                  subject->count, deciding.decisions, &index)) {
    case PERMISSION_ALLOW:
        out_decision->source = deciding.decisions[index].source;
        say_rule(&deciding, index, out_decision);
        return 0;
    case PERMISSION_DENY:
        say_rule(&deciding, index, out_decision);
        return refuse(&deciding, index, deciding.decisions[index].source, err);
    case PERMISSION_ASK:
        break;
    }
    return settle_asking(&deciding, index, cancel, out_decision, err);
}
