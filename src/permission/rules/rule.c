/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/rules/rule.h"

#include "authority/names/glob.h"
#include "base/utf8.h"
#include "permission/rules/form.h"

enum { GLOB_ARENA_BYTES = 4 << 20 };

struct kind_row {
    struct str marker;
    unsigned groups; /* bits 1 << enum catalog_group that may have it */
};

enum {
    FILES = 1 << CATALOG_FILESYSTEM_READ | 1 << CATALOG_FILESYSTEM_WRITE,
    SHELL = 1 << CATALOG_SHELL,
    BROWSER = 1 << CATALOG_BROWSER,
    ANY_GROUP = FILES | SHELL | BROWSER | 1 << CATALOG_COMPUTER,
};

static const struct kind_row kinds[] = {
    [RULE_EXACT] = {STR_LITERAL("exact:"), ANY_GROUP},
    [RULE_DIR] = {STR_LITERAL("dir:"), FILES},
    [RULE_GLOB] = {STR_LITERAL("glob:"), FILES},
    [RULE_PREFIX] = {STR_LITERAL("prefix:"), SHELL},
    [RULE_HOST] = {STR_LITERAL("host:"), BROWSER},
};

static unsigned bit_of(enum catalog_group group)
{
    return 1U << group;
}

struct str rule_marker(enum rule_kind kind)
{
    return kinds[kind].marker;
}

const char *rule_effect_name(enum rule_effect effect)
{
    return effect == RULE_ALLOW ? "allow" : "deny";
}

static int refuse(struct err *err, const char *problem)
{
    return err_set(err, ERR_INVALID_ARGUMENT, "%s", problem);
}

/* ---- Patterns, by kind ---- */

static int normalise_path(struct arena *arena, struct str given, struct str *out_path,
                          struct err *err)
{
    struct path_name room;
    struct str below;
    char *copy;

    if (given.len == 0 || given.ptr[0] != '/')
        return refuse(err, "a path in a rule must be absolute: begin it with \"/\"");
    if (!form_path(given, false, &room, &below))
        return refuse(err,
                      "a path in a rule must not contain \"..\" or be longer than a path can be");
    /* The form has lost the slash in front, which is there if nothing was changed. */
    if (below.len + 1 == given.len) {
        *out_path = given;
        return 0;
    }
    copy = arena_alloc(arena, below.len + 1);
    if (copy == NULL)
        return err_set_plain(err, arena->error);
    copy[0] = '/';
    memcpy(copy + 1, below.ptr, below.len);
    *out_path = (struct str){copy, below.len + 1};
    return 0;
}

static int check_glob(struct str pattern, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(GLOB_ARENA_BYTES);
    const struct glob *glob;

    /* Anything else would be relative to "/", which nobody means. */
    if (memchr(pattern.ptr, '/', pattern.len) != NULL && pattern.ptr[0] != '/' &&
        !str_starts_with(pattern, STR("**/")))
        return refuse(err, "a glob with a slash must begin with \"/\" or \"**/\"; one without "
                           "matches in every directory");
    return glob_compile(&arena, pattern, &glob, err);
}

/* Whether plain and loose parsing give the same words. */
static bool is_plain_prefix(struct str given)
{
    struct form_words words;
    struct str word;

    form_words_init(&words, given, true);
    return form_is_plain_command(given) && memchr(given.ptr, '(', given.len) == NULL &&
           memchr(given.ptr, ')', given.len) == NULL && form_words_next(&words, &word) &&
           word.len > 0;
}

/* The words with one space between them. */
static int normalise_prefix(struct arena *arena, struct str given, struct str *out_words,
                            struct err *err)
{
    struct form_words words;
    struct str word;
    size_t len = 0;
    char *copy;

    if (!is_plain_prefix(given))
        return refuse(err, "prefix: takes plain words, without | ; & < > ( ) ` ${ or line breaks: "
                           "a rule matches a command with these only as a whole");
    if (form_evaluates(given))
        return refuse(
            err,
            "prefix: takes no $[, and after a builtin such as printf, test or read no [ * ? { or "
            "$: bash may evaluate these, so a rule matches a command with them only as a whole");
    copy = arena_alloc(arena, given.len + 1);
    if (copy == NULL)
        return err_set_plain(err, arena->error);
    form_words_init(&words, given, false);
    while (form_words_next(&words, &word)) {
        if (len > 0)
            copy[len++] = ' ';
        memcpy(copy + len, word.ptr, word.len);
        len += word.len;
    }
    *out_words = (struct str){copy, len};
    return 0;
}

static int refuse_host(struct err *err)
{
    return refuse(err, "not a host: write a name like example.com (other scripts as xn--...) or an "
                       "IP address, without scheme and path");
}

/* One colon, or text after the brackets; IPv6 addresses have more colons. */
static bool has_port(struct str given)
{
    size_t colon = str_find(given, STR(":"));

    if (given.ptr[0] == '[')
        return given.ptr[given.len - 1] != ']';
    return colon != SIZE_MAX && memchr(given.ptr + colon + 1, ':', given.len - colon - 1) == NULL;
}

static int normalise_host(struct arena *arena, enum rule_kind kind, struct str given,
                          struct str *out_host, struct err *err)
{
    bool is_wild = kind == RULE_HOST && str_starts_with(given, STR("*."));
    struct form_host host;
    char *copy;

    /* Exactly "*" is a page without a host; as a pattern it is every host. */
    if (str_eq(given, STR("*"))) {
        *out_host = given;
        return 0;
    }
    if (has_port(given))
        return refuse(err, "a host in a rule must not have a port: the rule applies to all ports");
    if (!is_wild && given.ptr[0] == '*')
        return refuse(err, "\"*\" in a host must be the first label: host:*.example.com");
    if (!form_host(is_wild ? str_slice(given, 2, given.len) : given, &host))
        return refuse_host(err);
    if (!is_wild)
        return arena_copy_str(arena, (struct str){host.text, host.len}, out_host)
                   ? 0
                   : err_set_plain(err, arena->error);
    if (host.is_address)
        return refuse(err, "an IP address has no names below it: write it without \"*.\"");
    copy = arena_alloc(arena, host.len + 2);
    if (copy == NULL)
        return err_set_plain(err, arena->error);
    copy[0] = '*';
    copy[1] = '.';
    memcpy(copy + 2, host.text, host.len);
    *out_host = (struct str){copy, host.len + 2};
    return 0;
}

static int normalise_exact(struct arena *arena, enum catalog_group group, struct str given,
                           struct str *out_pattern, struct err *err)
{
    switch (group) {
    case CATALOG_FILESYSTEM_READ:
    case CATALOG_FILESYSTEM_WRITE:
        return normalise_path(arena, given, out_pattern, err);
    case CATALOG_BROWSER:
        return normalise_host(arena, RULE_EXACT, given, out_pattern, err);
    case CATALOG_COMPUTER:
        if (!form_screen(given))
            return refuse(err, "the resources of the screen are \"screenshot\", "
                               "\"mouse-keyboard\" and \"*\", which is both");
        break;
    case CATALOG_SHELL:
        break;
    }
    *out_pattern = given;
    return 0;
}

static int refuse_kind(enum catalog_group group, enum rule_kind kind, struct err *err)
{
    char known[64] = "";
    size_t len = 0;

    for (size_t i = 0; i < array_size(kinds); i++)
        if (kinds[i].groups & bit_of(group))
            len += (size_t)snprintf(known + len, sizeof(known) - len, " %s", kinds[i].marker.ptr);
    return err_set(err, ERR_INVALID_ARGUMENT, "%s does not apply to the group %s, which has%s",
                   kinds[kind].marker.ptr, catalog_group_name(group), known);
}

static int normalise_pattern(struct arena *arena, enum catalog_group group, enum rule_kind kind,
                             struct str given, struct str *out_pattern, struct err *err)
{
    int r;

    if (!(kinds[kind].groups & bit_of(group)))
        return refuse_kind(group, kind, err);
    if (given.len == 0)
        return refuse(err, "the pattern of a rule is empty");
    if (given.len > RULE_PATTERN_MAX_BYTES)
        return refuse(err, "the pattern of a rule is longer than 4096 bytes");
    if (str_has_nul(given))
        return refuse(err, "the pattern of a rule contains a NUL byte");
    switch (kind) {
    case RULE_EXACT:
        return normalise_exact(arena, group, given, out_pattern, err);
    case RULE_DIR:
        return normalise_path(arena, given, out_pattern, err);
    case RULE_GLOB:
        r = check_glob(given, err);
        if (r == 0)
            *out_pattern = given;
        return r;
    case RULE_PREFIX:
        return normalise_prefix(arena, given, out_pattern, err);
    case RULE_HOST:
        return normalise_host(arena, RULE_HOST, given, out_pattern, err);
    }
    return ERR_INTERNAL;
}

_Static_assert(RULE_PATTERN_MAX_BYTES == 4096, "the message says this number");

/* ---- Text ---- */

/* The kind whose marker the text begins with, in any case; false if there is none. */
static bool find_marker(struct str text, enum rule_kind *out_kind)
{
    for (size_t i = 0; i < array_size(kinds); i++) {
        if (str_eq_nocase(str_slice(text, 0, kinds[i].marker.len), kinds[i].marker)) {
            *out_kind = (enum rule_kind)i;
            return true;
        }
    }
    return false;
}

int rule_parse(struct arena *arena, enum catalog_group group, struct str text,
               struct rule *out_rule, struct err *err)
{
    struct rule rule = {.group = group, .pattern = text};
    struct str marker;
    int r;

    if (!utf8_is_valid(text))
        return refuse(err, "a rule must be UTF-8 text");
    if (find_marker(text, &rule.kind)) {
        marker = kinds[rule.kind].marker;
        /* As the literal that it would be, it could only surprise. */
        if (!str_starts_with(text, marker))
            return err_set(err, ERR_INVALID_ARGUMENT,
                           "write %s in lower case; for the literal text put exact: before it",
                           marker.ptr);
        rule.pattern = str_slice(text, marker.len, text.len);
    }
    r = normalise_pattern(arena, group, rule.kind, rule.pattern, &rule.pattern, err);
    if (r < 0)
        return r;
    *out_rule = rule;
    return 0;
}

int rule_normalise(struct arena *arena, const struct rule *rule, struct rule *out_rule,
                   struct err *err)
{
    struct rule normal = *rule;
    int r;

    if (rule->cwd.len > 0) {
        if (rule->group != CATALOG_SHELL)
            return refuse(err, "only rules for commands can have a working directory");
        r = normalise_path(arena, rule->cwd, &normal.cwd, err);
        if (r < 0)
            return r;
    }
    if (rule->note.len > RULE_NOTE_MAX_BYTES)
        return refuse(err, "the note of a rule is longer than 1024 bytes");
    r = normalise_pattern(arena, rule->group, rule->kind, rule->pattern, &normal.pattern, err);
    if (r < 0)
        return r;
    *out_rule = normal;
    return 0;
}

_Static_assert(RULE_NOTE_MAX_BYTES == 1024, "the message says this number");

static bool is_text(const struct rule *rule)
{
    return utf8_is_valid(rule->pattern) && utf8_is_valid(rule->cwd) && utf8_is_valid(rule->note);
}

int rule_check(const struct rule *rule, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(GLOB_ARENA_BYTES);
    struct rule normal;

    if (!is_text(rule))
        return err_set(err, ERR_INVALID_UTF8,
                       "the name is not UTF-8, which the settings cannot store: allow it for the "
                       "session, or always allow its directory");
    return rule_normalise(&arena, rule, &normal, err);
}

int rule_format(const struct rule *rule, struct buf *out)
{
    enum rule_kind taken_for;
    size_t before = out->len;
    int r = 0;

    if (!is_text(rule))
        return ERR_INVALID_UTF8;
    if (rule->kind != RULE_EXACT || find_marker(rule->pattern, &taken_for))
        r = buf_append_str(out, kinds[rule->kind].marker);
    if (r == 0)
        r = buf_append_str(out, rule->pattern);
    if (r < 0)
        out->len = before;
    return r;
}
