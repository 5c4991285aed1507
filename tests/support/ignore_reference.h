/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defines what a file of ignore rules means, written for readability: line by line from the last,
 * each compared byte by byte with recursion, in exponential time. It shares nothing with
 * src/authority/names/ignore*.c except the named classes, which test_ignore.py compares with git.
 */
#ifndef TESTS_SUPPORT_IGNORE_REFERENCE_H
#define TESTS_SUPPORT_IGNORE_REFERENCE_H

#include <ctype.h>

#include "authority/names/ignore.h"

struct ignore_reference {
    const char *start; /* of the rule's text */
    const char *end;
    const char *name_end;
    bool has_slash; /* then it is compared with the whole name */
};

/* 1 or 0, or -1 for an unknown class. Names in the tests are ASCII where it matters. */
static inline int ignore_reference_named(struct str name, unsigned char c)
{
    static const struct {
        const char *name;
        int (*has)(int c);
    } classes[] = {
        {"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank},   {"cntrl", iscntrl},
        {"digit", isdigit}, {"graph", isgraph}, {"lower", islower},   {"print", isprint},
        {"punct", ispunct}, {"upper", isupper}, {"xdigit", isxdigit},
    };

    if (str_eq_c(name, "space"))
        return c == ' ' || c == '\t' || c == '\n' || c == '\r';
    for (size_t i = 0; i < array_size(classes); i++)
        if (str_eq_c(name, classes[i].name))
            return c < 128 && classes[i].has(c) != 0;
    return -1;
}

struct ignore_reference_class {
    const char *p;
    const char *end;
    unsigned char c;
    int before; /* possible start of a range */
    bool has;
};

/* At "[:". False if there is no such class. */
static inline bool ignore_reference_bracket(struct ignore_reference_class *class)
{
    const char *close = class->p + 2;
    int found;

    while (close < class->end && *close != ']')
        close++;
    if (close == class->end)
        return false;
    if (close == class->p + 2 || close[-1] != ':') {
        class->has = class->has || class->c == '[';
        class->before = '[';
        class->p++;
        return true;
    }
    found = ignore_reference_named((struct str){class->p + 2, (size_t)(close - class->p) - 3},
                                   class->c);
    class->has = class->has || found > 0;
    class->before = -1;
    class->p = close + 1;
    return found >= 0;
}

static inline bool ignore_reference_member(struct ignore_reference_class *class)
{
    bool is_last = class->p + 1 == class->end;
    int from = -1;

    if (*class->p == '-' && class->before >= 0 && !is_last && class->p[1] != ']') {
        from = class->before;
        class->p++;
    } else if (*class->p == '[' && !is_last && class->p[1] == ':') {
        return ignore_reference_bracket(class);
    }
    if (*class->p == '\\')
        class->p++;
    if (class->p == class->end)
        return false;
    class->before = from < 0 ? (unsigned char)*class->p : -1;
    from = from < 0 ? class->before : from;
    class->has = class->has || (class->c >= from && class->c <= (unsigned char)*class->p);
    class->p++;
    return true;
}

/* Returns the end of the class at `p`, and whether it has the byte; NULL if malformed. */
static inline const char *ignore_reference_class(const char *p, const char *end, char byte,
                                                 bool *out_has)
{
    bool is_not = p + 1 < end && (p[1] == '!' || p[1] == '^');
    const char *first = p + (is_not ? 2 : 1);
    struct ignore_reference_class class = {first, end, (unsigned char)byte, -1, false};

    while (class.p < end && (class.p == first || *class.p != ']'))
        if (!ignore_reference_member(&class))
            return NULL;
    *out_has = class.has != is_not && byte != '/';
    return class.p < end ? class.p + 1 : NULL;
}

static inline bool ignore_reference_rest(const struct ignore_reference *rule, const char *p,
                                         const char *t);

/* Tries each length in turn. */
static inline bool ignore_reference_stars(const struct ignore_reference *rule, const char *p,
                                          const char *t)
{
    const char *behind = p;
    bool is_whole, is_deep;

    while (behind < rule->end && *behind == '*')
        behind++;
    is_whole = (p == rule->start || p[-1] == '/') &&
               (behind == rule->end || *behind == '/' ||
                (*behind == '\\' && behind + 1 < rule->end && behind[1] == '/'));
    is_deep = rule->has_slash && behind - p > 1 && is_whole;
    if (is_deep && behind < rule->end && *behind == '/' &&
        ignore_reference_rest(rule, behind + 1, t))
        return true;
    for (;; t++) {
        if (ignore_reference_rest(rule, behind, t))
            return true;
        if (t == rule->name_end || (*t == '/' && !is_deep))
            return false;
    }
}

static inline bool ignore_reference_rest(const struct ignore_reference *rule, const char *p,
                                         const char *t)
{
    if (p == rule->end)
        return t == rule->name_end;
    if (*p == '*')
        return ignore_reference_stars(rule, p, t);
    if (t == rule->name_end)
        return false;
    if (*p == '?')
        return *t != '/' && ignore_reference_rest(rule, p + 1, t + 1);
    if (*p == '[') {
        bool has;
        const char *behind = ignore_reference_class(p, rule->end, *t, &has);

        return behind != NULL && has && ignore_reference_rest(rule, behind, t + 1);
    }
    if (*p == '\\' && ++p == rule->end)
        return false;
    return *p == *t && ignore_reference_rest(rule, p + 1, t + 1);
}

/* Without what is ignored at its end. */
static inline struct str ignore_reference_trim(struct str line)
{
    size_t len = 0;
    struct str rest = line;

    if (line.len > 0 && line.ptr[line.len - 1] == '\r')
        rest.len--;
    str_cut(&rest, '\0', &line);
    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] == ' ')
            continue;
        if (line.ptr[i] == '\\' && i + 1 < line.len)
            i++;
        len = i + 1;
    }
    return str_slice(line, 0, len);
}

static inline enum ignore_decision ignore_reference_line(struct str line, struct str name,
                                                         bool is_dir)
{
    bool is_negated, is_dir_only;
    struct ignore_reference rule;

    if (str_starts_with(line, STR("#")))
        return IGNORE_NONE;
    line = ignore_reference_trim(line);
    is_negated = str_starts_with(line, STR("!"));
    if (is_negated)
        line = str_slice(line, 1, line.len);
    is_dir_only = str_ends_with(line, STR("/"));
    if (is_dir_only)
        line.len--;
    if (line.len == 0 || (is_dir_only && !is_dir))
        return IGNORE_NONE;
    rule.has_slash = str_find(line, STR("/")) != SIZE_MAX;
    if (line.ptr[0] == '/')
        line = str_slice(line, 1, line.len);
    while (!rule.has_slash && str_find(name, STR("/")) != SIZE_MAX)
        name = str_slice(name, str_find(name, STR("/")) + 1, name.len);
    rule.start = line.ptr;
    rule.end = line.ptr + line.len;
    rule.name_end = name.ptr + name.len;
    if (!ignore_reference_rest(&rule, rule.start, name.ptr))
        return IGNORE_NONE;
    return is_negated ? IGNORE_INCLUDED : IGNORE_IGNORED;
}

/* What one file says about a name relative to its directory. */
static inline enum ignore_decision ignore_reference_decide(struct str content, struct str name,
                                                           bool is_dir)
{
    enum ignore_decision decision = IGNORE_NONE;
    struct str line;

    if (str_starts_with(content, STR("\xef\xbb\xbf")))
        content = str_slice(content, 3, content.len);
    while (str_cut(&content, '\n', &line)) {
        enum ignore_decision said = ignore_reference_line(line, name, is_dir);

        if (said != IGNORE_NONE)
            decision = said;
    }
    return decision;
}

#endif
