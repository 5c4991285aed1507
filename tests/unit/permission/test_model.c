/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the engine with a model that compares strings rule by rule. The model gets every name in
 * normal form, the engine in any spelling.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "draw.h"
#include "glob_reference.h"
#include "permission/permission.h"

enum {
    WORLDS = 6000,
    CALLS = 12, /* in each world */
    MOST_RULES = 12,
    MOST_SESSION_RULES = 6,
    MOST_RESOURCES = 3,
    TEXT_BYTES = 256,
    NOW_MS = 1000,

};

/* ---- The model ---- */

struct model_rule {
    int group;
    bool is_deny;
    int kind;
    char pattern[TEXT_BYTES];
    char cwd[TEXT_BYTES];
    int64_t expires_ms;
};

struct model_resource {
    int group;
    bool is_malformed;
    char given[TEXT_BYTES];
    char resolved[TEXT_BYTES];
    char cwd[TEXT_BYTES];
};

struct model {
    int modes[5];
    struct model_rule rules[MOST_RULES];
    size_t rule_count;
    struct model_resource session[MOST_SESSION_RULES];
    size_t session_count;
};

static const char protected_dir[] = "/a/s";

static bool begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool is_below(const char *path, const char *dir)
{
    char with_slash[TEXT_BYTES + 1];

    if (strcmp(dir, "/") == 0 || strcmp(path, dir) == 0)
        return true;
    snprintf(with_slash, sizeof(with_slash), "%s/", dir);
    return begins(path, with_slash);
}

static bool is_compound(const char *command)
{
    return strpbrk(command, "|;&`<>\n") != NULL || strstr(command, "$(") != NULL;
}

/* What bash may evaluate, of the commands below. */
static bool is_evaluated(const char *command)
{
    return strstr(command, "$[") != NULL ||
           (begins(command, "printf ") && strpbrk(command, "[*?{$") != NULL);
}

/* One blank between words and behind them, none before; loosely without quotes and parentheses. */
static void squeeze(const char *from, bool is_loose, char *to)
{
    size_t len = 0;

    for (; *from != '\0'; from++) {
        bool is_blank = *from == ' ' || (is_loose && (*from == '(' || *from == ')'));

        if (is_loose && strchr("'\"\\", *from) != NULL)
            continue;
        if (!is_blank)
            to[len++] = *from;
        else if (len > 0 && to[len - 1] != ' ')
            to[len++] = ' ';
    }
    if (len > 0 && to[len - 1] != ' ')
        to[len++] = ' ';
    to[len] = '\0';
}

/* The first word of a squeezed text, which goes on behind it. */
static const char *take_word(const char *text, char *word)
{
    size_t len = strcspn(text, " ");

    snprintf(word, TEXT_BYTES, "%.*s", (int)len, text);
    return text + len + (text[len] == ' ');
}

static bool is_one_of(const char *word, const char *list)
{
    char wanted[TEXT_BYTES + 2];

    snprintf(wanted, sizeof(wanted), " %s ", word);
    return strstr(list, wanted) != NULL;
}

/* A program is named by its path, written in any way, or by its name alone. */
static bool begins_with_program(const char *text, const char *wanted)
{
    char word[TEXT_BYTES], spelled[3 * TEXT_BYTES];
    const char *behind = take_word(text, word);
    char *twice;

    if (begins(text, wanted))
        return true;
    if (strchr(word, '/') == NULL)
        return false;
    snprintf(spelled, sizeof(spelled), "%s %s", strrchr(word, '/') + 1, behind);
    if (begins(spelled, wanted))
        return true;
    while ((twice = strstr(word, "//")) != NULL)
        memmove(twice, twice + 1, strlen(twice));
    snprintf(spelled, sizeof(spelled), "%s %s", word, behind);
    return begins(spelled, wanted);
}

/* Behind what may stand before a program: NULL when this word is the program. */
static const char *behind_preamble(const char *text, bool *has_runner, bool *has_option,
                                   unsigned *operands)
{
    char word[TEXT_BYTES];
    const char *behind = take_word(text, word);
    const char *name = strrchr(word, '/') != NULL ? strrchr(word, '/') + 1 : word;
    bool is_value = *has_option;

    *has_option = false;
    if (word[0] == '\0')
        return NULL;
    if (is_one_of(word, " if then ! { "))
        return behind;
    if (strchr(word, '=') != NULL || word[0] == '>')
        return behind;
    if (is_one_of(name, " sudo env timeout sh ")) {
        *has_runner = true;
        *operands = strcmp(name, "timeout") == 0;
        return behind;
    }
    if (*has_runner && word[0] == '-') {
        *has_option = strcmp(word, "-c") != 0;
        return behind;
    }
    if (is_value)
        return behind;
    if (*operands > 0) {
        --*operands;
        return behind;
    }
    return NULL;
}

/* One part of a command line: wherever in it a program may be named. */
static bool part_begins(const char *part, const char *wanted)
{
    bool has_runner = false, has_option = false;
    unsigned operands = 0;
    const char *find = strstr(part, " -exec ");

    if (find != NULL && part_begins(find + strlen(" -exec "), wanted))
        return true;
    while (part != NULL) {
        if (begins_with_program(part, wanted))
            return true;
        part = behind_preamble(part, &has_runner, &has_option, &operands);
    }
    return false;
}

/* Redirections become blanks, or go with their target; or stay, as words that begin with ">". */
static void redirect(const char *from, char how, char *to)
{
    for (; *from != '\0'; from++) {
        if (from[0] == '2' && from[1] == '>' && how != 'b')
            continue;
        if (*from != '<' && *from != '>') {
            *to++ = *from;
            continue;
        }
        *to++ = ' ';
        if (how == 'b')
            continue;
        while (from[1] == ' ')
            from++;
        if (how == 's')
            *to++ = '>';
        else
            while (from[1] != '\0' && from[1] != ' ')
                from++;
    }
    *to = '\0';
}

/* The parts of a command line, each of which may begin with the words. */
static bool has_part_that_begins(const char *command, const char *words)
{
    static const char ways[] = {'b', 'd', 's'};
    char part[TEXT_BYTES], plain[TEXT_BYTES + 2], wanted[TEXT_BYTES + 2],
        redirected[2 * TEXT_BYTES];
    size_t len = 0;

    squeeze(words, true, wanted);
    for (const char *at = command;; at++) {
        if (at[0] == '\\' && at[1] == '\n') { /* one line */
            at++;
            continue;
        }
        if (*at != '\0' && strchr("|;&`()\n", *at) == NULL) {
            part[len++] = *at;
            continue;
        }
        part[len] = '\0';
        len = 0;
        for (size_t i = 0; i < sizeof(ways); i++) {
            redirect(part, ways[i], redirected);
            squeeze(redirected, true, plain);
            if (part_begins(plain, wanted))
                return true;
        }
        if (*at == '\0')
            return false;
    }
}

static bool command_holds(const struct model_rule *rule, const char *command, const char *cwd)
{
    char plain[TEXT_BYTES + 2], wanted[TEXT_BYTES + 2];

    if (rule->cwd[0] != '\0' && (cwd[0] == '\0' ? !rule->is_deny : !is_below(cwd, rule->cwd)))
        return false;
    if (rule->kind == RULE_EXACT) {
        if (strcmp(command, rule->pattern) == 0)
            return true;
        if (!rule->is_deny || is_compound(command) || is_compound(rule->pattern))
            return false;
        squeeze(command, true, plain);
        squeeze(rule->pattern, true, wanted);
        return strcmp(plain, wanted) == 0;
    }
    if (rule->is_deny)
        return has_part_that_begins(command, rule->pattern);
    squeeze(command, false, plain);
    squeeze(rule->pattern, false, wanted);
    return !is_compound(command) && !is_evaluated(command) && begins(plain, wanted);
}

static bool host_holds(const struct model_rule *rule, const char *host)
{
    size_t behind_star = strlen(rule->pattern) - 1;

    if (rule->kind == RULE_EXACT || rule->pattern[0] != '*')
        return strcmp(host, rule->pattern) == 0;
    if (strcmp(host, "*") == 0)
        return false;
    return strlen(host) > behind_star &&
           strcmp(host + strlen(host) - behind_star, rule->pattern + 1) == 0;
}

static bool rule_holds(const struct model_rule *rule, const char *name, const char *cwd)
{
    if (rule->expires_ms != 0 && rule->expires_ms <= NOW_MS)
        return false;
    switch (rule->group) {
    case CATALOG_SHELL:
        return command_holds(rule, name, cwd);
    case CATALOG_BROWSER:
        return host_holds(rule, name);
    case CATALOG_COMPUTER:
        return strcmp(name, rule->pattern) == 0 || strcmp(rule->pattern, "*") == 0;
    default:
        break;
    }
    if (rule->kind == RULE_GLOB)
        return glob_reference_matches(str_from(rule->pattern), str_from(name + 1));
    if (rule->kind == RULE_EXACT && !rule->is_deny)
        return strcmp(name, rule->pattern) == 0;
    return is_below(name, rule->pattern);
}

static int model_decide(const struct model *model, const struct model_resource *resource,
                        int *out_source)
{
    bool is_write = resource->group == CATALOG_FILESYSTEM_WRITE;
    bool is_file = is_write || resource->group == CATALOG_FILESYSTEM_READ;
    int mode = model->modes[resource->group];

    if (is_write && model->modes[CATALOG_FILESYSTEM_READ] == PERMISSION_DENY)
        mode = PERMISSION_DENY;
    *out_source = PERMISSION_BY_FORM;
    if (resource->is_malformed)
        return PERMISSION_DENY;
    *out_source = PERMISSION_BY_PROTECTION;
    if (is_file ? is_below(resource->given, protected_dir) ||
                      is_below(resource->resolved, protected_dir)
                : resource->group == CATALOG_SHELL && is_below(resource->cwd, protected_dir))
        return PERMISSION_DENY;
    *out_source = PERMISSION_BY_DENY_RULE;
    for (size_t i = 0; i < model->rule_count; i++) {
        const struct model_rule *rule = &model->rules[i];

        if (rule->is_deny &&
            (rule->group == resource->group ||
             (is_write && rule->group == CATALOG_FILESYSTEM_READ)) &&
            (rule_holds(rule, resource->given, resource->cwd) ||
             rule_holds(rule, resource->resolved, resource->cwd)))
            return PERMISSION_DENY;
    }
    *out_source = PERMISSION_BY_MODE;
    if (mode != PERMISSION_ASK)
        return mode;
    *out_source = PERMISSION_BY_ALLOW_RULE;
    for (size_t i = 0; i < model->rule_count; i++)
        if (!model->rules[i].is_deny && model->rules[i].group == resource->group &&
            rule_holds(&model->rules[i], resource->resolved, resource->cwd))
            return PERMISSION_ALLOW;
    *out_source = PERMISSION_BY_SESSION_RULE;
    for (size_t i = 0; i < model->session_count; i++)
        if (model->session[i].group == resource->group &&
            strcmp(model->session[i].resolved, resource->resolved) == 0 &&
            strcmp(model->session[i].cwd, resource->cwd) == 0)
            return PERMISSION_ALLOW;
    *out_source = PERMISSION_BY_MODE;
    return PERMISSION_ASK;
}

/* ---- Drawing ---- */

#define draw_one(list) ((list)[draw(array_size(list))])

static const char *const paths[] = {
    "/",    "/a",     "/a/b",  "/a/b/c",  "/a/bc",     "/b",        "/b/a.c", "/a/b/x.c",
    "/a/s", "/a/s/t", "/a/st", "/a/.env", "/a/b/.env", "/c/.env/k", "/a/*",   "/a/b/c/d.tar.gz",
};
static const char *const globs[] = {
    "**/.env",  ".env", "*.c", "/a/*.c", "/a/**/c", "/a/*",  "**/b/*.c", "/{a,b}/*.c",
    "*.tar.gz", "/a/b", "**",  "?",      "/*/b",    "**/*c", "b*",
};
static const char *const commands[] = {
    "git",
    "git status",
    "git status -s",
    "git  status",
    "git statusx",
    "git 'status'",
    "git status;ls",
    "ls; git status",
    "ls && git status",
    "git status | ls",
    "ls `git status`",
    "ls $(git status)",
    "git > status",
    "make",
    "make; git",
    "gi\\t status",
    "prefix:git",
    "git status\nls",
    "'git' \"status\"",
    "(git status)",
    "sudo git status",
    "/usr/bin/sudo -u make git",
    "X=1 git status",
    "PATH='a' Y=2 git",
    "if git status",
    "! git",
    "{ git status",
    "ls; then make",
    "> x git status",
    "2>x git",
    "git >x status",
    "git 2>x status -s",
    "/bin//git status",
    "./git",
    "timeout 5 git status",
    "timeout git make",
    "env -u make git status",
    "sh -c 'git status'",
    "sh -c make git",
    "echo sudo git",
    "find . -exec git status",
    "git \\\n status",
    "gi\\\nt",
    "git $[1]",
    "printf x",
    "printf -v a[0] x",
};
static const char *const prefixes[] = {"git",       "git status", "git status -s", "ls",
                                       "make",      "'git'",      "sudo",          "/bin/git",
                                       "timeout 5", "X=1",        "git x status",  "printf"};
static const char *const hosts[] = {
    "a.de", "b.a.de", "c.b.a.de", "xa.de", "de", "127.0.0.1", "[::1]", "*", "a.de.org",
};
static const char *const host_patterns[] = {"a.de", "*.a.de",    "*.b.a.de", "*.de",
                                            "*",    "127.0.0.1", "[::1]"};
static const char *const cwds[] = {"/a", "/a/b", "/b", "/"};
static const char *const malformed_paths[] = {"", "a", "a/b"};
static const char *const screens[] = {"*", "screenshot", "mouse-keyboard"};
static const char *const malformed_hosts[] = {"", "a..de", "a.de/", "http://a.de", "a b"};

static void copy_to(char *to, const char *from)
{
    snprintf(to, TEXT_BYTES, "%s", from);
}

static void draw_rule(struct model_rule *rule)
{
    rule->group = (int)draw(5);
    rule->is_deny = draw(2) == 0;
    rule->kind = RULE_EXACT;
    rule->cwd[0] = '\0';
    rule->expires_ms = draw(4) != 0 ? 0 : draw(2) == 0 ? NOW_MS : NOW_MS + 1;
    switch (rule->group) {
    case CATALOG_SHELL:
        rule->kind = draw(2) == 0 ? RULE_EXACT : RULE_PREFIX;
        copy_to(rule->pattern, rule->kind == RULE_EXACT ? draw_one(commands) : draw_one(prefixes));
        if (draw(3) == 0)
            copy_to(rule->cwd, draw_one(cwds));
        break;
    case CATALOG_BROWSER:
        rule->kind = draw(2) == 0 ? RULE_EXACT : RULE_HOST;
        copy_to(rule->pattern,
                rule->kind == RULE_EXACT ? draw_one(hosts) : draw_one(host_patterns));
        break;
    case CATALOG_COMPUTER:
        copy_to(rule->pattern, draw_one(screens));
        break;
    default:
        rule->kind = (int)draw(3);
        copy_to(rule->pattern, rule->kind == RULE_GLOB ? draw_one(globs) : draw_one(paths));
        break;
    }
}

static void draw_resource(struct model_resource *resource)
{
    *resource = (struct model_resource){.group = (int)draw(5), .is_malformed = draw(30) == 0};
    switch (resource->group) {
    case CATALOG_SHELL:
        copy_to(resource->given, resource->is_malformed ? "" : draw_one(commands));
        copy_to(resource->cwd, draw(6) == 0 ? "" : draw_one(cwds));
        break;
    case CATALOG_BROWSER:
        copy_to(resource->given,
                resource->is_malformed ? draw_one(malformed_hosts) : draw_one(hosts));
        break;
    case CATALOG_COMPUTER:
        copy_to(resource->given, resource->is_malformed ? "screen" : draw_one(screens));
        break;
    default:
        copy_to(resource->given,
                resource->is_malformed ? draw_one(malformed_paths) : draw_one(paths));
        break;
    }
    copy_to(resource->resolved, resource->given);
    /* What rules know a command as. */
    if (resource->group == CATALOG_SHELL && !resource->is_malformed && draw(2) == 0)
        copy_to(resource->resolved, draw_one(commands));
    if (resource->group <= CATALOG_FILESYSTEM_WRITE && draw(2) == 0)
        copy_to(resource->resolved, draw_one(paths));
}

/* Another way to write the same path. */
static size_t spell_path(const char *path, bool may_go_back, char *to)
{
    size_t len = 0;

    for (const char *at = path; *at != '\0'; at++) {
        to[len++] = *at;
        if (*at != '/' || draw(4) != 0)
            continue;
        switch (draw(may_go_back ? 3 : 2)) {
        case 0:
            to[len++] = '/';
            break;
        case 1:
            memcpy(to + len, "./", 2);
            len += 2;
            break;
        default:
            memcpy(to + len, "zz/../", 6);
            len += 6;
            break;
        }
    }
    if (len > 1 && to[0] == '/' && draw(5) == 0)
        to[len++] = '/';
    return len;
}

static size_t spell_host(const char *host, char *to)
{
    size_t len = 0;
    bool is_name = host[0] >= 'a' && host[0] <= 'z';

    for (; *host != '\0'; host++)
        to[len++] =
            *host >= 'a' && *host <= 'z' && draw(4) == 0 ? (char)(*host - 'a' + 'A') : *host;
    if (is_name && draw(5) == 0)
        to[len++] = '.';
    if (is_name && draw(5) == 0) {
        memcpy(to + len, ":443", 4);
        len += 4;
    }
    return len;
}

struct spelling {
    char given[8 * TEXT_BYTES];
    char resolved[8 * TEXT_BYTES];
};

static struct permission_resource spell(const struct model_resource *resource,
                                        struct spelling *spelling)
{
    struct permission_resource spelled = {.group = (enum catalog_group)resource->group,
                                          .given = str_from(resource->given),
                                          .cwd = str_from(resource->cwd)};

    if (resource->is_malformed)
        return spelled;
    if (resource->group == CATALOG_SHELL) {
        spelled.resolved = str_from(resource->resolved);
    } else if (resource->group == CATALOG_BROWSER) {
        spelled.given = (struct str){spelling->given, spell_host(resource->given, spelling->given)};
    } else if (resource->group <= CATALOG_FILESYSTEM_WRITE) {
        bool has_resolved = strcmp(resource->given, resource->resolved) != 0 || draw(2) == 0;

        spelled.given = (struct str){spelling->given,
                                     spell_path(resource->given, has_resolved, spelling->given)};
        if (has_resolved)
            spelled.resolved = (struct str){
                spelling->resolved, spell_path(resource->resolved, false, spelling->resolved)};
    }
    return spelled;
}

/* ---- Holding one against the other ---- */

static struct permission *build(struct model *model)
{
    static const char *const protected_dirs[] = {protected_dir, NULL};
    static struct clock clock_of_test;
    struct permission_config config = {.protected_dirs = protected_dirs, .clock = &clock_of_test};
    cleanup_rulebook struct rulebook *book = NULL;
    struct rule rules[MOST_RULES];
    struct permission *permission = NULL;

    clock_fake_init(&clock_of_test, NOW_MS);
    for (size_t i = 0; i < array_size(model->modes); i++) {
        model->modes[i] = (int)draw(4) == 0 ? (int)draw(3) : PERMISSION_ASK;
        config.modes.of[i] = (enum permission_mode)model->modes[i];
    }
    model->rule_count = draw(MOST_RULES + 1);
    for (size_t i = 0; i < model->rule_count; i++) {
        struct model_rule *rule = &model->rules[i];

        draw_rule(rule);
        rules[i] = (struct rule){.group = (enum catalog_group)rule->group,
                                 .effect = rule->is_deny ? RULE_DENY : RULE_ALLOW,
                                 .kind = (enum rule_kind)rule->kind,
                                 .pattern = str_from(rule->pattern),
                                 .cwd = str_from(rule->cwd),
                                 .expires_ms = rule->expires_ms};
    }
    assert_int_equal(permission_new(&config, &permission, NULL), 0);
    assert_int_equal(rulebook_new(rules, model->rule_count, &book, NULL), 0);
    permission_set_book(permission, book);
    model->session_count = 0;
    for (size_t wanted = draw(MOST_SESSION_RULES + 1); model->session_count < wanted;) {
        struct model_resource *resource = &model->session[model->session_count];
        struct permission_resource spelled;
        struct spelling spelling;

        draw_resource(resource);
        spelled = spell(resource, &spelling);
        if (permission_allow_for_session(permission, &spelled) == 0)
            model->session_count++;
        else
            assert_true(resource->is_malformed);
    }
    return permission;
}

static void tell(const struct model *model, const struct model_resource *resource, int source,
                 const struct permission_decision *decision)
{
    for (size_t i = 0; i < model->rule_count; i++)
        print_message("%s %d kind %d \"%s\" in \"%s\" until %d\n",
                      model->rules[i].is_deny ? "deny" : "allow", model->rules[i].group,
                      model->rules[i].kind, model->rules[i].pattern, model->rules[i].cwd,
                      (int)model->rules[i].expires_ms);
    fail_msg("group %d \"%s\" -> \"%s\" in \"%s\": %s, the model says %s", resource->group,
             resource->given, resource->resolved, resource->cwd,
             permission_source_name(decision->source),
             permission_source_name((enum permission_source)source));
}

static void check_call(struct permission *permission, const struct model *model,
                       size_t seen[static PERMISSION_BY_FORM + 1])
{
    struct model_resource resources[MOST_RESOURCES];
    struct permission_resource spelled[MOST_RESOURCES];
    struct permission_decision decisions[MOST_RESOURCES];
    static struct spelling spellings[MOST_RESOURCES];
    size_t count = 1 + draw(MOST_RESOURCES);
    int gravest = PERMISSION_ALLOW;
    size_t gravest_index = 0;
    size_t index = SIZE_MAX;

    for (size_t i = 0; i < count; i++) {
        draw_resource(&resources[i]);
        spelled[i] = spell(&resources[i], &spellings[i]);
    }
    for (size_t i = 0; i < count; i++) {
        int source;
        int verdict = model_decide(model, &resources[i], &source);

        permission_decide(permission, &spelled[i], &decisions[i]);
        if ((int)decisions[i].verdict != verdict || (int)decisions[i].source != source)
            tell(model, &resources[i], source, &decisions[i]);
        seen[source]++;
        if (verdict < gravest) {
            gravest = verdict;
            gravest_index = i;
        }
    }
    assert_int_equal(permission_decide_all(permission, spelled, count, decisions, &index), gravest);
    assert_int_equal(index, gravest_index);
}

static void the_engine_decides_as_the_model(void **state)
{
    size_t seen[PERMISSION_BY_FORM + 1] = {0};

    (void)state;
    draw_seed = 88172645463325252U;
    for (size_t world = 0; world < WORLDS; world++) {
        struct model model;
        struct permission *permission = build(&model);

        for (size_t call = 0; call < CALLS; call++)
            check_call(permission, &model, seen);
        permission_free(permission);
    }
    /* Every way to decide was met often enough to say something about it. */
    for (int source = 0; source <= PERMISSION_BY_FORM; source++)
        if (source != PERMISSION_BY_USER && source != PERMISSION_BY_NOBODY)
            assert_true(seen[source] > WORLDS / 10);
}

TEST_MAIN(cmocka_unit_test(the_engine_decides_as_the_model))
