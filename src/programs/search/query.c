/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/search/query.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/search.h"
#include "search/pattern.h"

enum { TYPE_GLOBS = 8, NAMES_BYTES = 512 };

/* The types that people use most, as ripgrep has them. */
static const struct {
    const char *name;
    const char *globs[TYPE_GLOBS];
} types[] = {
    {"c", {"*.c", "*.h", "*.H", "*.cats"}},
    {"cmake", {"*.cmake", "CMakeLists.txt"}},
    {"cpp", {"*.C", "*.H", "*.cc", "*.cpp", "*.cxx", "*.h*", "*.inl"}},
    {"cs", {"*.cs"}},
    {"css", {"*.css", "*.scss"}},
    {"csv", {"*.csv"}},
    {"docker", {"*Dockerfile*"}},
    {"go", {"*.go"}},
    {"h", {"*.h", "*.hh", "*.hpp"}},
    {"html", {"*.html", "*.htm", "*.ejs"}},
    {"java", {"*.java", "*.jsp", "*.jspx", "*.properties"}},
    {"js", {"*.js", "*.jsx", "*.mjs", "*.cjs", "*.vue"}},
    {"json", {"*.json", "composer.lock"}},
    {"kotlin", {"*.kt", "*.kts"}},
    {"log", {"*.log"}},
    {"lua", {"*.lua"}},
    {"make", {"[Mm]akefile*", "[Gg][Nn][Uu]makefile*", "*.mk", "*.mak"}},
    {"markdown", {"*.md", "*.markdown", "*.mkd", "*.mdown", "*.mdx"}},
    {"md", {"*.md", "*.markdown", "*.mkd", "*.mdown", "*.mdx"}},
    {"meson", {"meson.build", "meson_options.txt"}},
    {"perl", {"*.pl", "*.pm", "*.perl", "*.t"}},
    {"php", {"*.php", "*.php3", "*.php4", "*.php5", "*.phtml"}},
    {"py", {"*.py", "*.pyi"}},
    {"ruby", {"*.rb", "*.gemspec", "Gemfile", "Rakefile", "config.ru"}},
    {"rust", {"*.rs"}},
    {"sh", {"*.sh", "*.bash", "*.zsh", "*.ksh", ".bashrc", ".zshrc"}},
    {"sql", {"*.sql", "*.psql"}},
    {"swift", {"*.swift"}},
    {"toml", {"*.toml", "Cargo.lock"}},
    {"ts", {"*.ts", "*.tsx", "*.mts", "*.cts"}},
    {"txt", {"*.txt"}},
    {"xml", {"*.xml", "*.xsd", "*.xsl", "*.svg"}},
    {"yaml", {"*.yaml", "*.yml"}},
};

/* ---- the pattern ---- */

/* Literal text within a regular expression. */
static int add_escaped(struct buf *out, struct str text)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < text.len; i++) {
        char c = text.ptr[i];

        if (c > 0 && c < 0x7F && strchr("\\^$.[]|()?*+{}#-", c) != NULL)
            r = buf_append_char(out, '\\');
        if (r == 0)
            r = buf_append_char(out, c);
    }
    return r;
}

/* One that matches where any of them does. */
static int join(const struct option_values *values, struct option_list patterns, struct buf *out)
{
    bool is_literal = options_is_on(values, SEARCH_OPTION_LITERAL);
    int r = 0;

    for (size_t i = 0; r == 0 && i < patterns.count; i++) {
        struct str text = str_from(patterns.items[i]);

        r = buf_append_str(out, i > 0 ? STR("|(?:") : STR("(?:"));
        if (r == 0)
            r = is_literal ? add_escaped(out, text) : buf_append_str(out, text);
        if (r == 0)
            r = buf_append_char(out, ')');
    }
    return r;
}

static int make_regex(struct arena *arena, const struct option_values *values,
                      struct option_list patterns, struct str *out_regex, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(PATTERN_MAX_BYTES);
    const char *before = "(?:";
    const char *after = ")";
    int r;

    if (options_is_on(values, SEARCH_OPTION_LINE)) {
        before = "^(?:";
        after = ")$";
    } else if (options_is_on(values, SEARCH_OPTION_WORD)) {
        before = "(?<!\\w)(?:";
        after = ")(?!\\w)";
    }
    /* A line in which it is nowhere. */
    r = buf_printf(&text, "%s%s", options_is_on(values, SEARCH_OPTION_INVERT) ? "^(?!.*" : "",
                   before);
    if (r == 0)
        r = join(values, patterns, &text);
    if (r == 0)
        r = buf_printf(&text, "%s%s", after,
                       options_is_on(values, SEARCH_OPTION_INVERT) ? ").*$" : "");
    if (r < 0)
        return err_set(err, r, "the pattern is too long");
    return arena_copy_str(arena, buf_view(&text), out_regex) ? 0 : err_set_plain(err, arena->error);
}

static bool has_capital(struct option_list patterns)
{
    for (size_t i = 0; i < patterns.count; i++)
        for (const char *at = patterns.items[i]; *at != '\0'; at++)
            if (*at >= 'A' && *at <= 'Z' && (at == patterns.items[i] || at[-1] != '\\'))
                return true;
    return false;
}

static int make_pattern(struct arena *arena, const struct option_values *values,
                        struct option_list patterns, struct search_query *query, struct err *err)
{
    int r = 0;

    if (options_is_on(values, SEARCH_OPTION_ONLY_MATCHING))
        r = make_regex(arena, values, patterns, &query->regex, err);
    if (r < 0)
        return r;
    query->ignores_case =
        options_is_on(values, SEARCH_OPTION_IGNORE_CASE) ||
        (options_is_on(values, SEARCH_OPTION_SMART_CASE) && !has_capital(patterns));
    if (options_is_on(values, SEARCH_OPTION_CASE_SENSITIVE))
        query->ignores_case = false;
    /* One as it was given can be found faster. */
    if (options_is_on(values, SEARCH_OPTION_FILES) ||
        (patterns.count == 1 && !options_is_on(values, SEARCH_OPTION_LINE) &&
         !options_is_on(values, SEARCH_OPTION_WORD) &&
         !options_is_on(values, SEARCH_OPTION_INVERT))) {
        query->pattern = str_from(patterns.items[0]);
        query->is_regex = !options_is_on(values, SEARCH_OPTION_LITERAL);
        return 0;
    }
    query->is_regex = true;
    return make_regex(arena, values, patterns, &query->pattern, err);
}

/* ---- globs ---- */

static int refuse_type(const char *name, struct err *err)
{
    char names[NAMES_BYTES] = "";
    size_t len = 0;

    for (size_t i = 0; i < array_size(types) && len < sizeof(names); i++)
        len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i > 0 ? ", " : "",
                                types[i].name);
    return err_set(err, ERR_INVALID_OPTION, "--type: '%s' is not one of %s", name, names);
}

static int find_types(struct arena *arena, struct option_list names, struct option_list *out_globs,
                      struct err *err)
{
    const char **globs = arena_alloc_array(arena, names.count * TYPE_GLOBS + 1, sizeof(*globs));
    size_t count = 0;

    if (globs == NULL)
        return err_set_plain(err, arena->error);
    for (size_t i = 0; i < names.count; i++) {
        size_t type = 0;

        while (type < array_size(types) && strcmp(types[type].name, names.items[i]) != 0)
            type++;
        if (type == array_size(types))
            return refuse_type(names.items[i], err);
        for (size_t k = 0; k < TYPE_GLOBS && types[type].globs[k] != NULL; k++)
            globs[count++] = types[type].globs[k];
    }
    globs[count] = NULL;
    *out_globs = (struct option_list){globs, count};
    return 0;
}

/* Those with ! are denied like those of --deny. */
static int sort_globs(struct arena *arena, const struct option_values *values,
                      struct search_query *query, struct err *err)
{
    struct option_list given = options_list(values, SEARCH_OPTION_GLOB);
    struct option_list denied = options_list(values, SEARCH_OPTION_DENY);
    const char **wanted = arena_alloc_array(arena, given.count + 1, sizeof(*wanted));
    const char **unwanted =
        arena_alloc_array(arena, given.count + denied.count + 1, sizeof(*unwanted));
    size_t wanted_count = 0;
    size_t unwanted_count = 0;

    if (wanted == NULL || unwanted == NULL)
        return err_set_plain(err, arena->error);
    for (size_t i = 0; i < given.count; i++)
        if (given.items[i][0] == '!' && given.items[i][1] != '\0')
            unwanted[unwanted_count++] = given.items[i] + 1;
        else
            wanted[wanted_count++] = given.items[i];
    for (size_t i = 0; i < denied.count; i++)
        unwanted[unwanted_count++] = denied.items[i];
    wanted[wanted_count] = unwanted[unwanted_count] = NULL;
    query->globs = (struct option_list){wanted, wanted_count};
    query->denied = unwanted;
    return 0;
}

int query_make(struct arena *arena, const struct option_values *values,
               struct search_query *out_query, struct err *err)
{
    struct option_list patterns = options_list(values, SEARCH_OPTION_REGEXP);
    struct search_query query = {.is_regex = false};
    size_t first = patterns.count > 0 ? 0 : 1;
    int r;

    if (patterns.count == 0 && values->argument_count == 0)
        return err_set(err, ERR_INVALID_OPTION,
                       "missing argument PATTERN; see 'gatehouse search --help'");
    if (patterns.count > 0 && options_is_on(values, SEARCH_OPTION_FILES))
        return err_set(err, ERR_INVALID_OPTION, "--files takes a glob as its argument, not -e");
    if (patterns.count == 0)
        patterns = (struct option_list){values->arguments, 1};
    query.paths = (struct option_list){values->arguments + first, values->argument_count - first};
    r = make_pattern(arena, values, patterns, &query, err);
    if (r == 0)
        r = find_types(arena, options_list(values, SEARCH_OPTION_TYPE), &query.types, err);
    if (r == 0)
        r = sort_globs(arena, values, &query, err);
    if (r == 0)
        *out_query = query;
    return r;
}
