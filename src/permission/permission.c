/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/permission.h"

#include <pthread.h>
#include <stdlib.h>

#include "authority/names/autorun.h"
#include "authority/names/sensitive.h"
#include "base/map.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "permission/permission_internal.h"

/* A permission for the session, identified by a digest of fixed size. */
struct session_rule {
    struct session_rule *next;
    unsigned char digest[SHA256_BYTES];
};

struct permission {
    const struct clock *clock;
    size_t protected_count;
    char *protected_dirs[PERMISSION_MAX_PROTECTED_DIRS]; /* in form, with the slash in front */
    struct str protected_names[PERMISSION_MAX_PROTECTED_DIRS]; /* the same without that */

    /* Workers decide while the loop changes these. Held for a few steps, never while rules are
     * looked up. */
    pthread_mutex_t lock;
    struct permission_modes modes;
    struct rulebook *book;
    struct map session; /* struct session_rule by its digest */
    struct session_rule *session_rules;
    struct rulebook *scopes[PERMISSION_OPERATIONS]; /* for the session; NULL: none */
    size_t scope_count;
};

/* ---- Life ---- */

static int copy_protected(struct permission *permission, const char *const *dirs, struct err *err)
{
    for (; dirs != NULL && *dirs != NULL; dirs++) {
        __attribute__((uninitialized)) struct path_name room;
        struct str below;

        if (permission->protected_count == PERMISSION_MAX_PROTECTED_DIRS)
            return err_set(err, ERR_TOO_LARGE, "more than %d protected directories",
                           PERMISSION_MAX_PROTECTED_DIRS);
        if (!form_path(str_from(*dirs), false, &room, &below))
            return err_set_field(err, ERR_INVALID_ARGUMENT, *dirs,
                                 "a protected directory must be an absolute path without \"..\"");
        if (asprintf(&permission->protected_dirs[permission->protected_count], "/%.*s",
                     STR_ARG(below)) < 0) {
            permission->protected_dirs[permission->protected_count] = NULL;
            return err_set_plain(err, ERR_NO_MEMORY);
        }
        permission->protected_names[permission->protected_count] =
            (struct str){permission->protected_dirs[permission->protected_count] + 1, below.len};
        permission->protected_count++;
    }
    return 0;
}

static void forget_session(struct permission *permission)
{
    struct session_rule *next;

    map_done(&permission->session);
    for (struct session_rule *rule = permission->session_rules; rule != NULL; rule = next) {
        next = rule->next;
        free(rule);
    }
    permission->session_rules = NULL;
    for (size_t i = 0; i < PERMISSION_OPERATIONS; i++) {
        rulebook_unref(permission->scopes[i]);
        permission->scopes[i] = NULL;
    }
    permission->scope_count = 0;
}

int permission_new(const struct permission_config *config, struct permission **out_permission,
                   struct err *err)
{
    struct permission *permission = calloc(1, sizeof(*permission));
    int r;

    if (permission == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    permission->clock = config->clock != NULL ? config->clock : &clock_system;
    permission->modes = config->modes;
    permission->session = (struct map)MAP_INIT(PERMISSION_SESSION_MAX_RULES);
    pthread_mutex_init(&permission->lock, NULL);
    r = copy_protected(permission, config->protected_dirs, err);
    if (r < 0) {
        permission_free(permission);
        return r;
    }
    *out_permission = permission;
    return 0;
}

void permission_free(struct permission *permission)
{
    if (permission == NULL)
        return;
    forget_session(permission);
    rulebook_unref(permission->book);
    for (size_t i = 0; i < permission->protected_count; i++)
        free(permission->protected_dirs[i]);
    pthread_mutex_destroy(&permission->lock);
    free(permission);
}

void permission_set_book(struct permission *permission, struct rulebook *book)
{
    struct rulebook *old;

    if (book != NULL)
        rulebook_ref(book);
    pthread_mutex_lock(&permission->lock);
    old = permission->book;
    permission->book = book;
    pthread_mutex_unlock(&permission->lock);
    rulebook_unref(old);
}

struct rulebook *permission_book(struct permission *permission)
{
    struct rulebook *book;

    pthread_mutex_lock(&permission->lock);
    book = permission->book == NULL ? NULL : rulebook_ref(permission->book);
    pthread_mutex_unlock(&permission->lock);
    return book;
}

void permission_set_modes(struct permission *permission, const struct permission_modes *modes)
{
    pthread_mutex_lock(&permission->lock);
    permission->modes = *modes;
    pthread_mutex_unlock(&permission->lock);
}

struct permission_modes permission_modes(struct permission *permission)
{
    struct permission_modes modes;

    pthread_mutex_lock(&permission->lock);
    modes = permission->modes;
    pthread_mutex_unlock(&permission->lock);
    return modes;
}

void permission_begin(struct permission *permission, struct permission_moment *out_moment)
{
    out_moment->permission = permission;
    out_moment->wall_ms = clock_wall_ms(permission->clock);
    pthread_mutex_lock(&permission->lock);
    out_moment->book = permission->book == NULL ? NULL : rulebook_ref(permission->book);
    out_moment->modes = permission->modes;
    pthread_mutex_unlock(&permission->lock);
}

void permission_end(struct permission_moment *moment)
{
    rulebook_unref(moment->book);
}

/* ---- Resources ---- */

/* Normalises a given name with ".." or an unusual spelling, with a leading slash. */
static bool form_given(struct permission_subject *subject)
{
    __attribute__((uninitialized)) struct path_name name;
    struct str below;

    if (!form_path(subject->given, true, &name, &below))
        return false;
    if (below.ptr == name.text) {
        subject->room[0] = '/';
        memcpy(subject->room + 1, below.ptr, below.len);
        subject->given = (struct str){subject->room, below.len + 1};
    }
    return true;
}

static bool is_path(struct str path)
{
    __attribute__((uninitialized)) struct path_name room;
    struct str below;

    return form_path(path, false, &room, &below);
}

static bool is_host(struct str text)
{
    struct form_host host;

    return str_eq(text, STR("*")) || form_host(text, &host);
}

bool permission_subject(const struct permission_resource *resource,
                        struct permission_subject *out_subject)
{
    out_subject->group = resource->group;
    out_subject->given = resource->given;
    out_subject->resolved = resource->resolved.len > 0 ? resource->resolved : resource->given;
    out_subject->cwd = resource->cwd;
    out_subject->operation = resource->operation;
    out_subject->is_typed = resource->is_typed;
    switch (resource->group) {
    case CATALOG_FILESYSTEM_READ:
    case CATALOG_FILESYSTEM_WRITE:
        return form_given(out_subject) && (str_eq(out_subject->resolved, out_subject->given) ||
                                           is_path(out_subject->resolved));
    case CATALOG_SHELL:
        return resource->given.len > 0 && !str_has_nul(resource->given) &&
               !str_has_nul(resource->resolved) &&
               (resource->cwd.len == 0 || is_path(resource->cwd));
    case CATALOG_BROWSER:
        return is_host(out_subject->given) && is_host(out_subject->resolved);
    case CATALOG_COMPUTER:
        return form_screen(resource->given);
    }
    return false;
}

static bool is_file(const struct permission_subject *subject)
{
    return subject->group == CATALOG_FILESYSTEM_READ || subject->group == CATALOG_FILESYSTEM_WRITE;
}

static bool has_two_names(const struct permission_subject *subject)
{
    return !str_eq(subject->given, subject->resolved);
}

/* ---- Steps ---- */

/* An absolute path, in any form that leads nowhere else. */
struct formed {
    bool is_path;
    struct str below; /* "/" */
    struct path_name room;
};

static void form(struct str path, struct formed *out_formed)
{
    out_formed->is_path = form_path(path, false, &out_formed->room, &out_formed->below);
}

/* By whole components. Most directories are too long, which is seen at once. */
static bool is_within(const struct formed *path, struct str dir)
{
    return path->is_path && path->below.len >= dir.len && path_is_within(path->below, dir);
}

/* Apart, so that other decisions do not pay for its stack. */
__attribute__((noinline)) static const char *find_protection(
    const struct permission *permission, const struct permission_subject *subject)
{
    __attribute__((uninitialized)) struct formed first;
    __attribute__((uninitialized)) struct formed second;

    /* Once for all directories: that is the greater part of the work. */
    if (is_file(subject)) {
        first.is_path = true; /* permission_subject() has formed it */
        first.below = str_slice(subject->given, 1, subject->given.len);
    } else {
        form(subject->cwd, &first);
    }
    second.is_path = false;
    if (is_file(subject) && !str_eq(subject->given, subject->resolved))
        form(subject->resolved, &second);
    for (size_t i = 0; i < permission->protected_count; i++) {
        struct str dir = permission->protected_names[i];

        if (is_within(&first, dir) || is_within(&second, dir))
            return permission->protected_dirs[i];
    }
    return NULL;
}

const char *permission_protection(const struct permission_moment *moment,
                                  const struct permission_subject *subject)
{
    if (moment->permission->protected_count == 0 ||
        (!is_file(subject) && subject->group != CATALOG_SHELL))
        return NULL;
    return find_protection(moment->permission, subject);
}

static struct permission_finding find_denial(const struct permission_moment *moment,
                                             const struct permission_subject *subject,
                                             enum catalog_group group, int64_t wall_ms)
{
    struct permission_finding finding = {
        rulebook_find(moment->book, RULE_DENY, group, subject->resolved, subject->cwd, wall_ms),
        false};

    if (finding.rule == NULL && has_two_names(subject)) {
        finding.rule =
            rulebook_find(moment->book, RULE_DENY, group, subject->given, subject->cwd, wall_ms);
        finding.is_for_given = finding.rule != NULL;
    }
    return finding;
}

struct permission_finding permission_denial(const struct permission_moment *moment,
                                            const struct permission_subject *subject,
                                            int64_t wall_ms)
{
    struct permission_finding finding = {NULL, false};

    if (moment->book == NULL || !rulebook_has_denials(moment->book, subject->group))
        return finding;
    finding = find_denial(moment, subject, subject->group, wall_ms);
    if (finding.rule == NULL && subject->group == CATALOG_FILESYSTEM_WRITE)
        finding = find_denial(moment, subject, CATALOG_FILESYSTEM_READ, wall_ms);
    return finding;
}

bool permission_reads_sensitive(enum permission_operation operation, struct str given,
                                struct str resolved)
{
    if (operation == PERMISSION_READS_SECRETS)
        return true;
    return (operation == PERMISSION_READS || operation == PERMISSION_READS_BELOW) &&
           (sensitive_is_path(given) || (!str_eq(given, resolved) && sensitive_is_path(resolved)));
}

bool permission_changes_autorun(enum permission_operation operation, struct str given,
                                struct str resolved)
{
    return (operation == PERMISSION_CREATES || operation == PERMISSION_CREATES_BELOW ||
            operation == PERMISSION_CHANGES || operation == PERMISSION_CHANGES_BELOW) &&
           (autorun_is_path(given) || (!str_eq(given, resolved) && autorun_is_path(resolved)));
}

/* Who allowed a folder, or all of them, has not thought of it. */
static bool is_special(const struct permission_subject *subject,
                       enum permission_operation operation)
{
    return permission_reads_sensitive(operation, subject->given, subject->resolved) ||
           permission_changes_autorun(operation, subject->given, subject->resolved);
}

enum permission_mode permission_mode_of(const struct permission_moment *moment,
                                        const struct permission_subject *subject)
{
    enum permission_mode mode = moment->modes.of[subject->group];

    if (subject->group == CATALOG_FILESYSTEM_WRITE &&
        moment->modes.of[CATALOG_FILESYSTEM_READ] == PERMISSION_DENY)
        return PERMISSION_DENY;
    if (mode == PERMISSION_ALLOW && !moment->modes.allows_autorun &&
        permission_changes_autorun(subject->operation, subject->given, subject->resolved))
        return PERMISSION_ASK;
    return moment->modes.sensitive < mode &&
                   permission_reads_sensitive(subject->operation, subject->given, subject->resolved)
               ? moment->modes.sensitive
               : mode;
}

const struct rule *permission_allowance(const struct permission_moment *moment,
                                        const struct permission_subject *subject, int64_t wall_ms)
{
    /* Allowing the command did not show what is typed: a pager runs programs by a key. */
    if (moment->book == NULL || subject->is_typed)
        return NULL;
    return rulebook_find(moment->book, RULE_ALLOW, subject->group, subject->resolved, subject->cwd,
                         wall_ms);
}

/* ---- The session ---- */

static void add_part(struct sha256 *hash, struct str part)
{
    uint64_t len = part.len;

    sha256_add(hash, (struct str){(const char *)&len, sizeof(len)});
    sha256_add(hash, part);
}

static void digest_of(const struct permission_subject *subject, enum permission_operation operation,
                      unsigned char out_digest[SHA256_BYTES])
{
    unsigned char group = (unsigned char)subject->group;
    unsigned char what = (unsigned char)operation;
    struct str resource = subject->resolved;
    struct str cwd = STR_EMPTY;
    __attribute__((uninitialized)) struct path_name room;
    struct form_host host;
    struct sha256 hash;

    if (is_file(subject)) {
        form_path(resource, false, &room, &resource);
    } else if (subject->group == CATALOG_SHELL) {
        if (!form_path(subject->cwd, false, &room, &cwd))
            group = (unsigned char)~group; /* no directory is not "/" */
    } else if (subject->group == CATALOG_BROWSER && form_host(resource, &host)) {
        resource = (struct str){host.text, host.len};
    }
    sha256_init(&hash);
    sha256_add(&hash, (struct str){(const char *)&group, 1});
    sha256_add(&hash, (struct str){(const char *)&what, 1});
    add_part(&hash, resource);
    add_part(&hash, cwd);
    sha256_end(&hash, out_digest);
}

static struct str digest_view(const unsigned char *digest)
{
    return (struct str){(const char *)digest, SHA256_BYTES};
}

static bool is_in_session(struct permission *permission, const struct permission_subject *subject,
                          enum permission_operation operation)
{
    unsigned char digest[SHA256_BYTES];
    bool is_there;

    digest_of(subject, operation, digest);
    pthread_mutex_lock(&permission->lock);
    is_there = map_get(&permission->session, digest_view(digest)) != NULL;
    pthread_mutex_unlock(&permission->lock);
    return is_there;
}

static bool is_in_scope(struct permission *permission, const struct permission_subject *subject,
                        enum permission_operation operation)
{
    struct rulebook *book;
    bool is_there;

    pthread_mutex_lock(&permission->lock);
    book = permission->scopes[operation];
    if (book != NULL)
        rulebook_ref(book);
    pthread_mutex_unlock(&permission->lock);
    if (book == NULL)
        return false;
    is_there = rulebook_find(book, RULE_ALLOW, subject->group, subject->resolved, subject->cwd,
                             INT64_MIN) != NULL;
    rulebook_unref(book);
    return is_there;
}

static bool is_allowed_in_session(struct permission *permission,
                                  const struct permission_subject *subject,
                                  enum permission_operation operation)
{
    return is_in_session(permission, subject, operation) ||
           (!is_special(subject, operation) &&
            (is_in_scope(permission, subject, operation) ||
             /* Who allowed changes in a folder allowed them to all that is in it. */
             (operation == PERMISSION_CHANGES_BELOW &&
              is_in_scope(permission, subject, PERMISSION_CHANGES))));
}

bool permission_in_session(const struct permission_moment *moment,
                           const struct permission_subject *subject)
{
    struct permission *permission = moment->permission;

    if (subject->is_typed || permission_session_count(permission) == 0)
        return false;
    return is_allowed_in_session(permission, subject, subject->operation) ||
           (subject->operation == PERMISSION_LOOKS_UP &&
            is_allowed_in_session(permission, subject, PERMISSION_READS));
}

/* The rules of the book and this one; the lock is held. */
static int add_scope(struct permission *permission, enum permission_operation operation,
                     const struct rule *rule)
{
    struct rule rules[PERMISSION_SESSION_MAX_SCOPES];
    const struct rulebook *old = permission->scopes[operation];
    size_t count = old != NULL ? rulebook_count(old) : 0;
    struct rulebook *book;
    int r;

    if (permission->scope_count == PERMISSION_SESSION_MAX_SCOPES)
        return ERR_BUSY;
    for (size_t i = 0; i < count; i++)
        rules[i] = *rulebook_at(old, i);
    rules[count] = *rule;
    r = rulebook_new(rules, count + 1, &book, NULL);
    if (r < 0)
        return r;
    rulebook_unref(permission->scopes[operation]);
    permission->scopes[operation] = book;
    permission->scope_count++;
    return 0;
}

int permission_allow_scope(struct permission *permission, enum permission_operation operation,
                           const struct rule *rule)
{
    int r;

    pthread_mutex_lock(&permission->lock);
    r = add_scope(permission, operation, rule);
    pthread_mutex_unlock(&permission->lock);
    return r;
}

int permission_allow_for_session(struct permission *permission,
                                 const struct permission_resource *resource)
{
    __attribute__((uninitialized)) struct permission_subject subject;
    struct session_rule *rule;
    int r;

    if (!permission_subject(resource, &subject) || subject.is_typed)
        return ERR_INVALID_ARGUMENT;
    rule = malloc(sizeof(*rule));
    if (rule == NULL)
        return ERR_NO_MEMORY;
    digest_of(&subject, subject.operation, rule->digest);
    pthread_mutex_lock(&permission->lock);
    r = map_add(&permission->session, digest_view(rule->digest), rule);
    if (r == 0) {
        rule->next = permission->session_rules;
        permission->session_rules = rule;
    }
    pthread_mutex_unlock(&permission->lock);
    if (r < 0)
        free(rule);
    if (r == ERR_ALREADY_EXISTS)
        return 0;
    return r == ERR_TOO_LARGE ? ERR_BUSY : r;
}

size_t permission_session_count(struct permission *permission)
{
    size_t count;

    pthread_mutex_lock(&permission->lock);
    count = permission->session.count + permission->scope_count;
    pthread_mutex_unlock(&permission->lock);
    return count;
}

void permission_end_session(struct permission *permission)
{
    pthread_mutex_lock(&permission->lock);
    forget_session(permission);
    pthread_mutex_unlock(&permission->lock);
}

/* ---- The decision ---- */

const char *permission_source_name(enum permission_source source)
{
    switch (source) {
    case PERMISSION_BY_PROTECTION:
        return "protected";
    case PERMISSION_BY_DENY_RULE:
        return "deny-rule";
    case PERMISSION_BY_ALLOW_RULE:
        return "allow-rule";
    case PERMISSION_BY_SESSION_RULE:
        return "session-rule";
    case PERMISSION_BY_MODE:
        return "mode";
    case PERMISSION_BY_USER:
        return "user";
    case PERMISSION_BY_NOBODY:
        return "nobody";
    case PERMISSION_BY_FORM:
        return "malformed";
    }
    return "";
}

static void set_text(struct str marker, struct str text, char out_text[PERMISSION_RULE_BYTES])
{
    size_t room = PERMISSION_RULE_BYTES - 1 - marker.len;

    /* Valid text is cut between characters, other bytes anywhere. */
    text = utf8_is_valid(text) ? utf8_cut(text, room) : str_slice(text, 0, room);
    memcpy(out_text, marker.ptr, marker.len);
    memcpy(out_text + marker.len, text.ptr, text.len);
    out_text[marker.len + text.len] = '\0';
}

void permission_write_rule(const struct rule *rule, char out_text[PERMISSION_RULE_BYTES])
{
    out_text[0] = '\0';
    if (rule != NULL)
        set_text(rule->kind == RULE_EXACT ? STR_EMPTY : rule_marker(rule->kind), rule->pattern,
                 out_text);
}

static void decide_by(struct permission_decision *decision, enum permission_mode verdict,
                      enum permission_source source, const struct rule *rule)
{
    decision->verdict = verdict;
    decision->source = source;
    permission_write_rule(rule, decision->rule);
}

static void judge(const struct permission_moment *moment,
                  const struct permission_resource *resource,
                  struct permission_decision *out_decision)
{
    __attribute__((uninitialized)) struct permission_subject subject;
    struct permission_finding denial;
    const struct rule *allowance;
    enum permission_mode mode;
    const char *dir;

    if (!permission_subject(resource, &subject)) {
        decide_by(out_decision, PERMISSION_DENY, PERMISSION_BY_FORM, NULL);
        return;
    }
    dir = permission_protection(moment, &subject);
    if (dir != NULL) {
        decide_by(out_decision, PERMISSION_DENY, PERMISSION_BY_PROTECTION, NULL);
        set_text(STR_EMPTY, str_from(dir), out_decision->rule);
        return;
    }
    denial = permission_denial(moment, &subject, moment->wall_ms);
    if (denial.rule != NULL) {
        decide_by(out_decision, PERMISSION_DENY, PERMISSION_BY_DENY_RULE, denial.rule);
        return;
    }
    mode = permission_mode_of(moment, &subject);
    if (mode != PERMISSION_ASK) {
        decide_by(out_decision, mode, PERMISSION_BY_MODE, NULL);
        return;
    }
    allowance = permission_allowance(moment, &subject, moment->wall_ms);
    if (allowance != NULL)
        decide_by(out_decision, PERMISSION_ALLOW, PERMISSION_BY_ALLOW_RULE, allowance);
    else if (permission_in_session(moment, &subject))
        decide_by(out_decision, PERMISSION_ALLOW, PERMISSION_BY_SESSION_RULE, NULL);
    else
        decide_by(out_decision, PERMISSION_ASK, PERMISSION_BY_MODE, NULL);
}

void permission_decide(struct permission *permission, const struct permission_resource *resource,
                       struct permission_decision *out_decision)
{
    struct permission_moment moment;

    permission_begin(permission, &moment);
    permission_judge(&moment, resource, out_decision);
    permission_end(&moment);
}

bool permission_rests_on_all(const struct permission_moment *moment,
                             const struct permission_resource *resource,
                             const struct permission_decision *decision)
{
    __attribute__((uninitialized)) struct permission_subject subject;
    const struct rule *rule;

    if (decision->verdict != PERMISSION_ALLOW ||
        (decision->source != PERMISSION_BY_MODE && decision->source != PERMISSION_BY_ALLOW_RULE) ||
        !permission_subject(resource, &subject))
        return false;
    rule = permission_allowance(moment, &subject, moment->wall_ms);
    return rule == NULL || str_eq(rule->pattern, STR("*"));
}

/* Apart, so that other decisions do not pay for its stack. */
__attribute__((noinline)) static void ask_without_name(const struct permission_moment *moment,
                                                       const struct permission_resource *resource,
                                                       struct permission_decision *decision)
{
    __attribute__((uninitialized)) struct permission_subject subject;

    if (!permission_rests_on_all(moment, resource, decision))
        return;
    if (permission_subject(resource, &subject) && permission_in_session(moment, &subject))
        decide_by(decision, PERMISSION_ALLOW, PERMISSION_BY_SESSION_RULE, NULL);
    else
        decide_by(decision, PERMISSION_ASK, PERMISSION_BY_MODE, NULL);
}

void permission_judge(const struct permission_moment *moment,
                      const struct permission_resource *resource,
                      struct permission_decision *out_decision)
{
    judge(moment, resource, out_decision);
    if (resource->needs_name)
        ask_without_name(moment, resource, out_decision);
}

enum permission_mode permission_decide_all(struct permission *permission,
                                           const struct permission_resource *resources,
                                           size_t count, struct permission_decision *out_decisions,
                                           size_t *out_index)
{
    enum permission_mode verdict = count == 0 ? PERMISSION_DENY : PERMISSION_ALLOW;
    struct permission_decision decision;
    struct permission_moment moment;
    size_t index = 0;

    permission_begin(permission, &moment);
    for (size_t i = 0; i < count; i++) {
        permission_judge(&moment, &resources[i], &decision);
        if (out_decisions != NULL)
            out_decisions[i] = decision;
        /* In the order of their weight: deny, ask, allow. */
        if (decision.verdict < verdict) {
            verdict = decision.verdict;
            index = i;
        }
    }
    permission_end(&moment);
    if (count > 0 && out_index != NULL)
        *out_index = index;
    return verdict;
}
