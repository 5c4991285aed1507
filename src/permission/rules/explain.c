/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/permission_internal.h"

#include "base/hostrange.h"
#include "base/printable.h"

/* The text so far; after an error nothing more is written. */
struct account {
    struct buf *out;
    int step;
    int result;
};

static void say(struct account *account, const char *text)
{
    if (account->result == 0)
        account->result = buf_append_str(account->out, str_from(text));
}

/* In quotes, escaped. */
static void quote(struct account *account, struct str text)
{
    say(account, "\"");
    if (account->result == 0)
        account->result = printable_append(account->out, text, PRINTABLE_QUOTED);
    say(account, "\"");
}

static void begin_step(struct account *account, const char *what)
{
    if (account->result == 0)
        account->result = buf_printf(account->out, "%d. %s: ", ++account->step, what);
}

static void say_rule(struct account *account, const struct rule *rule)
{
    if (rule->kind != RULE_EXACT)
        say(account, rule_marker(rule->kind).ptr);
    quote(account, rule->pattern);
    if (rule->cwd.len > 0) {
        say(account, " in ");
        quote(account, rule->cwd);
    }
    if (rule->note.len > 0) {
        say(account, " (");
        quote(account, rule->note);
        say(account, ")");
    }
}

static void say_until(struct account *account, const struct rule *rule, const char *before)
{
    char when[CLOCK_ISO_BYTES];

    clock_format_iso(rule->expires_ms, when);
    say(account, before);
    say(account, when);
}

/* No rule applies; mentions one that did until it expired. */
static void say_none(struct account *account, const struct rule *expired)
{
    say(account, "none matches");
    if (expired != NULL) {
        say(account, "; ");
        say_rule(account, expired);
        say_until(account, expired, " matched until ");
    }
    say(account, "\n");
}

static void say_holds(struct account *account, const struct rule *rule, const char *for_what)
{
    say_rule(account, rule);
    say(account, " matches");
    say(account, for_what);
    if (rule->expires_ms != 0)
        say_until(account, rule, ", until ");
    say(account, "\n");
}

static void say_subject(struct account *account, const struct permission_resource *resource)
{
    say(account, catalog_group_name(resource->group));
    say(account, " ");
    quote(account, resource->given);
    if (resource->resolved.len > 0 && !str_eq(resource->given, resource->resolved)) {
        say(account,
            resource->group == CATALOG_SHELL ? ", which rules see as " : ", which leads to ");
        quote(account, resource->resolved);
    }
    if (resource->cwd.len > 0) {
        say(account, " in ");
        quote(account, resource->cwd);
    }
    say(account, "\n");
}

/* True if this decides. */
static bool say_denial(struct account *account, const struct permission_moment *moment,
                       const struct permission_subject *subject)
{
    struct permission_finding denial = permission_denial(moment, subject, moment->wall_ms);

    begin_step(account, "deny rules");
    if (denial.rule == NULL) {
        say_none(account, permission_denial(moment, subject, INT64_MIN).rule);
        return false;
    }
    say_holds(account, denial.rule,
              denial.rule->group != subject->group ? " for reading, which changing requires"
              : !denial.is_for_given               ? ""
              : subject->group == CATALOG_SHELL    ? " the command as it was given"
                                                   : " the name as it was given");
    return true;
}

static bool say_allowance(struct account *account, const struct permission_moment *moment,
                          const struct permission_subject *subject)
{
    const struct rule *allowance = permission_allowance(moment, subject, moment->wall_ms);
    struct permission_subject as_given = *subject;

    begin_step(account, "allow rules");
    if (allowance != NULL) {
        say_holds(account, allowance, "");
        return true;
    }
    as_given.resolved = subject->given;
    allowance = permission_allowance(moment, &as_given, moment->wall_ms);
    if (allowance != NULL)
        say_holds(account, allowance, " the name as it was given, but not where it leads");
    else
        say_none(account, permission_allowance(moment, subject, INT64_MIN));
    return false;
}

/* True if this decides. */
static bool say_mode(struct account *account, const struct permission_moment *moment,
                     const struct permission_subject *subject)
{
    enum permission_mode mode = permission_mode_of(moment, subject);
    const struct rule *allowance =
        mode == PERMISSION_DENY ? permission_allowance(moment, subject, moment->wall_ms) : NULL;

    begin_step(account, "mode of the group");
    say(account, permission_mode_name(mode));
    if (mode != moment->modes.of[subject->group])
        say(account,
            permission_reads_sensitive(subject->operation, subject->given, subject->resolved)
                ? ", since such a file usually holds secrets (--sensitive)"
            : mode == PERMISSION_ASK
                ? ", since other programs run such a file by themselves (--autorun)"
                : ", since reading is denied");
    if (allowance != NULL) {
        say(account, "; in mode ask ");
        say_rule(account, allowance);
        say(account, " would allow it");
    }
    say(account, "\n");
    return mode != PERMISSION_ASK;
}

/* Why a path is invalid, and which one would be valid. */
static void say_bad_path(struct account *account, struct str path)
{
    __attribute__((uninitialized)) struct path_name room;
    struct str below;

    quote(account, path);
    if (path.len == 0 || path.ptr[0] != '/') {
        say(account, " is not an absolute path\n");
    } else if (!form_path(path, true, &room, &below)) {
        say(account, " leads above /, or is too long\n");
    } else {
        char formed[PATH_MAX + 1] = "/";

        memcpy(formed + 1, below.ptr, below.len);
        say(account, " contains \"..\", which depends on symbolic links; without links it is ");
        quote(account, (struct str){formed, below.len + 1});
        say(account, "\n");
    }
}

/* The host of a URL as browsers show it. */
static struct str host_of_url(struct str url)
{
    size_t scheme = str_find(url, STR("://"));
    struct str host = scheme == SIZE_MAX ? url : str_slice(url, scheme + 3, url.len);
    const char *at;
    size_t len = 0;

    while (len < host.len && strchr("/?#", host.ptr[len]) == NULL)
        len++;
    host.len = len;
    at = host.len == 0 ? NULL : memrchr(host.ptr, '@', host.len);
    return at == NULL ? host : str_slice(host, (size_t)(at + 1 - host.ptr), host.len);
}

static void say_bad_host(struct account *account, struct str given)
{
    struct form_host host;

    quote(account, given);
    if (!form_host(host_of_url(given), &host)) {
        say(account, " is not a host name\n");
        return;
    }
    say(account, " is more than a host; the host is ");
    quote(account, (struct str){host.text, host.len});
    say(account, "\n");
}

static void say_bad_form(struct account *account, const struct permission_resource *resource)
{
    __attribute__((uninitialized)) struct path_name room;
    struct str below;

    say(account, "invalid: ");
    switch (resource->group) {
    case CATALOG_FILESYSTEM_READ:
    case CATALOG_FILESYSTEM_WRITE:
        say_bad_path(account, form_path(permission_resource_name(resource), false, &room, &below)
                                  ? resource->given
                                  : permission_resource_name(resource));
        return;
    case CATALOG_SHELL:
        if (resource->given.len == 0)
            say(account, "the command is empty\n");
        else if (str_has_nul(resource->given) || str_has_nul(resource->resolved))
            say(account, "a command cannot contain a NUL character\n");
        else
            say_bad_path(account, resource->cwd);
        return;
    case CATALOG_BROWSER:
        say_bad_host(account, resource->given);
        return;
    case CATALOG_COMPUTER:
        say(account,
            "the resources are \"screenshot\", \"mouse-keyboard\" and \"*\", which is both\n");
        return;
    }
}

/* The steps of permission_judge(), up to the one that decides. */
static void say_steps(struct account *account, const struct permission_moment *moment,
                      const struct permission_resource *resource)
{
    struct permission_subject subject;
    const char *dir;

    begin_step(account, "form");
    if (!permission_subject(resource, &subject)) {
        say_bad_form(account, resource);
        return;
    }
    say(account, "usable\n");
    begin_step(account, "protected directories");
    dir = permission_protection(moment, &subject);
    if (dir != NULL) {
        say(account, "it is in ");
        quote(account, str_from(dir));
        say(account, ", which no tool may access\n");
        return;
    }
    say(account, "it is in none\n");
    if (say_denial(account, moment, &subject) || say_mode(account, moment, &subject) ||
        say_allowance(account, moment, &subject))
        return;
    begin_step(account, "allowed for this session");
    say(account, permission_in_session(moment, &subject) ? "yes\n" : "no\n");
}

/* True: what would allow it is not enough; see needs_name. */
static bool say_nearness(struct account *account, const struct permission_moment *moment,
                         const struct permission_resource *resource,
                         const struct permission_decision *decision)
{
    bool is_own = str_eq(resource->given, STR(PERMISSION_LOCAL_BROWSER));

    if (resource->group != CATALOG_BROWSER || (!is_own && !hostrange_is_private(resource->given)) ||
        !permission_rests_on_all(moment, resource, decision))
        return false;
    begin_step(account, is_own ? "the user's own browser" : "this machine and private networks");
    say(account, "the mode and rules for \"*\" do not include it; it needs a rule of its own, "
                 "or your answer");
    say(account, is_own ? ", or --browser-default local\n" : "\n");
    return true;
}

int permission_explain(struct permission *permission, const struct permission_resource *resource,
                       struct buf *out)
{
    struct account account = {.out = out};
    struct permission_decision decision;
    struct permission_moment moment;
    size_t before = out->len;
    bool is_near;

    permission_begin(permission, &moment);
    say_subject(&account, resource);
    say_steps(&account, &moment, resource);
    permission_judge(&moment, resource, &decision);
    is_near = say_nearness(&account, &moment, resource, &decision);
    permission_end(&moment);
    if (account.result == 0)
        account.result =
            is_near ? buf_append_str(out, STR("So: ask (no rule of its own)\n"))
                    : buf_printf(out, "So: %s (%s)\n", permission_mode_name(decision.verdict),
                                 permission_source_name(decision.source));
    if (account.result < 0)
        out->len = before;
    return account.result;
}
