/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/scope.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "permission/rules/form.h"

enum { ENDING_MAX_BYTES = 12, WORD_MAX_BYTES = 40 };

/* ---- files ---- */

static bool is_file(const struct permission_resource *resource)
{
    return resource->group == CATALOG_FILESYSTEM_READ ||
           resource->group == CATALOG_FILESYSTEM_WRITE;
}

/* The directory that the operation is about, or in which the file lies. */
static struct str directory_of(const struct permission_resource *resource)
{
    struct str path = permission_resource_name(resource);
    const char *slash;

    switch (resource->operation) {
    case PERMISSION_LISTS:
    case PERMISSION_LISTS_BELOW:
    case PERMISSION_READS_BELOW:
    case PERMISSION_READS_SECRETS:
    case PERMISSION_CHANGES_BELOW:
        return path;
    case PERMISSION_USES:
    case PERMISSION_LOOKS_UP:
    case PERMISSION_READS:
    case PERMISSION_CREATES:
    case PERMISSION_CREATES_BELOW:
    case PERMISSION_CHANGES:
    case PERMISSION_MOVES:
    case PERMISSION_DELETES:
    case PERMISSION_OPERATIONS:
        break;
    }
    slash = memrchr(path.ptr, '/', path.len);
    return slash != NULL ? str_slice(path, 0, (size_t)(slash - path.ptr)) : STR_EMPTY;
}

/* By whole components; "" is "/". */
static struct str common_directory(struct str a, struct str b)
{
    size_t len = 0;
    size_t at = 0;

    while (at < a.len && at < b.len && a.ptr[at] == b.ptr[at]) {
        at++;
        if ((at == a.len || a.ptr[at] == '/') && (at == b.len || b.ptr[at] == '/'))
            len = at;
    }
    return str_slice(a, 0, len);
}

static bool is_covered(const struct permission_resource *resource)
{
    return is_file(resource) && resource->operation != PERMISSION_MOVES &&
           resource->operation != PERMISSION_DELETES &&
           !permission_reads_sensitive(resource->operation, resource->given, resource->resolved) &&
           !permission_changes_autorun(resource->operation, resource->given, resource->resolved);
}

/* What is only looked up says nothing about where: it may be the folder of the session itself. */
static bool find_folder(const struct permission_resource *resources, size_t count,
                        struct str *out_folder)
{
    struct str folder = STR_EMPTY;
    bool has_one = false;

    for (size_t i = 0; i < count; i++) {
        if (!is_covered(&resources[i]))
            return false;
        if (resources[i].operation == PERMISSION_LOOKS_UP)
            continue;
        folder = has_one ? common_directory(folder, directory_of(&resources[i]))
                         : directory_of(&resources[i]);
        has_one = true;
    }
    if (folder.len < 2 || folder.len > SCOPE_MAX_BYTES || !utf8_is_valid(folder))
        return false;
    *out_folder = folder;
    return true;
}

static bool make_rule(struct arena *arena, const struct permission_resource *first,
                      enum rule_kind kind, struct str pattern, struct rule *out_rule)
{
    struct rule rule = {.group = first->group, .effect = RULE_ALLOW, .kind = kind};

    if (pattern.len > SCOPE_MAX_BYTES || !arena_copy_str(arena, pattern, &rule.pattern) ||
        rule_check(&rule, NULL) < 0)
        return false;
    *out_rule = rule;
    return true;
}

bool scope_folder(struct arena *arena, const struct permission_resource *resources, size_t count,
                  struct rule *out_rule)
{
    struct str folder;

    return find_folder(resources, count, &folder) &&
           make_rule(arena, &resources[0], RULE_DIR, folder, out_rule);
}

/* ".c" of "/src/a.c"; empty for ".env", "a." and what is no plain ending. */
static struct str ending_of(struct str path)
{
    const char *dot = memrchr(path.ptr, '.', path.len);
    struct str ending;

    if (dot == NULL || dot == path.ptr || dot[-1] == '/')
        return STR_EMPTY;
    ending = str_slice(path, (size_t)(dot - path.ptr), path.len);
    if (ending.len < 2 || ending.len > ENDING_MAX_BYTES)
        return STR_EMPTY;
    for (size_t i = 1; i < ending.len; i++)
        if (!((ending.ptr[i] >= 'a' && ending.ptr[i] <= 'z') ||
              (ending.ptr[i] >= 'A' && ending.ptr[i] <= 'Z') ||
              (ending.ptr[i] >= '0' && ending.ptr[i] <= '9')))
            return STR_EMPTY;
    return ending;
}

static bool has_glob(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (memchr("*?[]{}\\!,", text.ptr[i], sizeof("*?[]{}\\!,") - 1) != NULL)
            return true;
    return false;
}

static bool match_files(struct arena *arena, const struct permission_resource *resources,
                        size_t count, struct rule *out_rule)
{
    char pattern[SCOPE_MAX_BYTES + ENDING_MAX_BYTES + 8];
    struct str ending = STR_EMPTY;
    struct str folder;
    int len;

    if (!find_folder(resources, count, &folder) || has_glob(folder))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct str path = permission_resource_name(&resources[i]);

        if (resources[i].operation == PERMISSION_LOOKS_UP)
            continue;
        /* Of a directory it would mean something else. */
        if (resources[i].operation != PERMISSION_READS &&
            resources[i].operation != PERMISSION_CREATES &&
            resources[i].operation != PERMISSION_CHANGES)
            return false;
        if (ending.len == 0)
            ending = ending_of(path);
        if (ending.len == 0 || !str_eq(ending, ending_of(path)))
            return false;
    }
    len = snprintf(pattern, sizeof(pattern), "%.*s/**/*%.*s", STR_ARG(folder), STR_ARG(ending));
    return make_rule(arena, &resources[0], RULE_GLOB, (struct str){pattern, (size_t)len}, out_rule);
}

/* ---- commands ---- */

/*
 * Programs that run, change or send what their other words say: the first words of such a command
 * tell too little.
 */
static const char *const open_programs[] = {
    "ash",     "awk",    "bash",   "builtin",  "busybox", "chmod", "chown",  "command", "cp",
    "csh",     "curl",   "dash",   "dd",       "doas",    "env",   "eval",   "exec",    "find",
    "fish",    "gawk",   "ionice", "kill",     "ksh",     "ln",    "lua",    "mawk",    "mv",
    "nice",    "node",   "nohup",  "parallel", "perl",    "php",   "pkill",  "python",  "python2",
    "python3", "rm",     "rsync",  "ruby",     "scp",     "sed",   "setsid", "sh",      "source",
    "ssh",     "stdbuf", "su",     "sudo",     "tclsh",   "tee",   "time",   "timeout", "unshare",
    "watch",   "wget",   "xargs",  "zsh",
};

static bool is_word(struct str word, bool is_program)
{
    if (word.len == 0 || word.len > WORD_MAX_BYTES)
        return false;
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (is_program && c >= 'A' && c <= 'Z');

        if (!is_letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-' || c == '_' ||
                                       (is_program ? c == '.' || c == '+' : c == ':'))))
            return false;
    }
    return true;
}

/* "npm test", "npm run build"; `npm run` alone would be every script. */
static size_t start_of(struct str command)
{
    struct form_words words;
    struct str word;
    size_t end;

    form_words_init(&words, command, false);
    if (!form_words_next(&words, &word) || !is_word(word, true) ||
        str_index(word, open_programs, array_size(open_programs)) != SIZE_MAX ||
        !form_words_next(&words, &word) || !is_word(word, false))
        return 0;
    end = (size_t)(word.ptr + word.len - command.ptr);
    if (!str_eq_c(word, "run") && !str_eq_c(word, "exec") && !str_eq_c(word, "x"))
        return end;
    if (!form_words_next(&words, &word) || !is_word(word, false))
        return 0;
    return (size_t)(word.ptr + word.len - command.ptr);
}

static bool match_commands(struct arena *arena, const struct permission_resource *resource,
                           struct rule *out_rule)
{
    struct str command = permission_resource_name(resource);
    size_t end;

    if (resource->is_typed || !form_is_plain_command(command) || form_evaluates(command))
        return false;
    end = start_of(command);
    return end > 0 && make_rule(arena, resource, RULE_PREFIX, str_slice(command, 0, end), out_rule);
}

bool scope_matching(struct arena *arena, const struct permission_resource *resources, size_t count,
                    struct rule *out_rule)
{
    if (count == 1 && resources[0].group == CATALOG_SHELL)
        return match_commands(arena, &resources[0], out_rule);
    return count > 0 && match_files(arena, resources, count, out_rule);
}
