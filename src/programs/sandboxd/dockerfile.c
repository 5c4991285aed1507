/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/dockerfile.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "programs/sandboxd/preset.h"

enum {
    ARENA_BYTES = 8 << 20,
    MAX_DEPTH = 4,
    MAX_NAME_BYTES = 256,
};

/* What the base has, see isolate/room. */
#define BASE_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define BASE_HOME "/home/user"

struct variable {
    struct variable *next;
    struct str name;
    struct str value;
};

struct reader {
    struct str rest;
    unsigned line;       /* of the next one */
    unsigned first_line; /* of the present instruction */
    struct buf logical;  /* the present instruction, continued lines joined */
    struct arena arena;
    struct variable *variables; /* the newest first */
    struct str workdir;
    struct json_writer json;
    size_t steps;
    bool has_from;
    struct err *err;
};

static int refuse(const struct reader *reader, const char *what)
{
    return err_set(reader->err, ERR_INVALID_ARGUMENT, "Dockerfile, line %u: %s", reader->first_line,
                   what);
}

/* ---- lines ---- */

/* The next line without its end; false after the last. */
static bool next_physical(struct reader *reader, struct str *out_line)
{
    if (!str_cut(&reader->rest, '\n', out_line))
        return false;
    reader->line++;
    if (str_ends_with(*out_line, STR("\r")))
        out_line->len--;
    return true;
}

/* 1 with an instruction in `logical`, 0 at the end. Comments and empty lines may be inside it. */
static int next_logical(struct reader *reader)
{
    struct str line;

    buf_clear(&reader->logical);
    reader->first_line = 0;
    while (next_physical(reader, &line)) {
        struct str trimmed = str_trim(line);
        bool is_continued = str_ends_with(trimmed, STR("\\"));
        int r;

        if (trimmed.len == 0 || trimmed.ptr[0] == '#')
            continue;
        if (reader->first_line == 0)
            reader->first_line = reader->line;
        if (is_continued)
            line = str_slice(line, 0, (size_t)(trimmed.ptr + trimmed.len - line.ptr) - 1);
        r = buf_append_str(&reader->logical, line);
        if (r < 0)
            return r == ERR_TOO_LARGE ? refuse(reader, "the instruction is too long") : r;
        if (!is_continued)
            return 1;
    }
    return reader->first_line > 0 ? 1 : 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* ---- variables ---- */

static struct str value_of(const struct reader *reader, struct str name)
{
    for (const struct variable *each = reader->variables; each != NULL; each = each->next)
        if (str_eq(each->name, name))
            return each->value;
    return STR_EMPTY;
}

static int set_variable(struct reader *reader, struct str name, struct str value)
{
    struct variable *variable = arena_new(&reader->arena, struct variable);

    if (variable == NULL || !arena_copy_str(&reader->arena, name, &variable->name) ||
        !arena_copy_str(&reader->arena, value, &variable->value))
        return ERR_NO_MEMORY;
    variable->next = reader->variables;
    reader->variables = variable;
    return 0;
}

/* "${NAME:-word}" after its name: what it stands for. */
static int choose_value(const struct reader *reader, struct str name, struct str choice,
                        struct str *out_value)
{
    struct str value = value_of(reader, name);
    struct str word = str_slice(choice, 2, choice.len);

    if (choice.len == 0)
        *out_value = value;
    else if (str_starts_with(choice, STR(":-")))
        *out_value = value.len > 0 ? value : word;
    else if (str_starts_with(choice, STR(":+")))
        *out_value = value.len > 0 ? word : STR_EMPTY;
    else
        return refuse(reader, "a variable is $NAME, ${NAME}, ${NAME:-word} or ${NAME:+word}");
    return 0;
}

/* *rest begins behind a dollar sign. */
static int expand(const struct reader *reader, struct str *rest, struct buf *out)
{
    const bool has_brace = rest->len > 0 && rest->ptr[0] == '{';
    struct str inner;
    struct str value = STR_EMPTY;
    size_t len = 0;
    int r;

    if (has_brace) {
        *rest = str_slice(*rest, 1, rest->len);
        while (len < rest->len && rest->ptr[len] != '}')
            len++;
        if (len == rest->len)
            return refuse(reader, "a variable has no closing brace");
        inner = str_slice(*rest, 0, len);
        *rest = str_slice(*rest, len + 1, rest->len);
        len = 0;
        while (len < inner.len && is_name_char(inner.ptr[len]))
            len++;
    } else {
        while (len < rest->len && is_name_char(rest->ptr[len]))
            len++;
        inner = str_slice(*rest, 0, len);
        *rest = str_slice(*rest, len, rest->len);
    }
    if (len == 0)
        return has_brace ? refuse(reader, "a variable has no name") : buf_append_char(out, '$');
    r = choose_value(reader, str_slice(inner, 0, len), str_slice(inner, len, inner.len), &value);
    return r < 0 ? r : buf_append_str(out, value);
}

/* ---- words ---- */

/* Inside double quotes, and outside, a backslash quotes only some characters. */
static bool is_quoted_by_backslash(char c, char quote)
{
    return quote == '\0' || c == '"' || c == '$' || c == '\\';
}

/* Adds what follows to `out`, without quotes, up to the end or to a space that ends a word. */
static int unquote(const struct reader *reader, struct str *rest, bool is_one_word, struct buf *out)
{
    char quote = '\0';
    int r = 0;

    while (rest->len > 0 && r == 0) {
        const char c = rest->ptr[0];

        if (quote == '\0' && is_one_word && is_space(c))
            break;
        *rest = str_slice(*rest, 1, rest->len);
        if (quote == '\0' && (c == '"' || c == '\''))
            quote = c;
        else if (c == quote)
            quote = '\0';
        else if (c == '\\' && quote != '\'' && rest->len > 0 &&
                 is_quoted_by_backslash(rest->ptr[0], quote)) {
            r = buf_append_char(out, rest->ptr[0]);
            *rest = str_slice(*rest, 1, rest->len);
        } else if (c == '$' && quote != '\'')
            r = expand(reader, rest, out);
        else
            r = buf_append_char(out, c);
    }
    if (r == ERR_TOO_LARGE)
        return refuse(reader, "the instruction is too long");
    return r == 0 && quote != '\0' ? refuse(reader, "a quote is not closed") : r;
}

static struct str skip_spaces(struct str text)
{
    size_t at = 0;

    while (at < text.len && is_space(text.ptr[at]))
        at++;
    return str_slice(text, at, text.len);
}

/* The first word as it stands. */
static struct str cut_raw(struct str *rest)
{
    struct str word;
    size_t len = 0;

    *rest = skip_spaces(*rest);
    while (len < rest->len && !is_space(rest->ptr[len]))
        len++;
    word = str_slice(*rest, 0, len);
    *rest = skip_spaces(str_slice(*rest, len, rest->len));
    return word;
}

/* A JSON list of texts, as in RUN ["a", "b"]; or NULL: then it is something else. */
static const struct json_value *read_list(struct reader *reader, struct str rest)
{
    const struct json_limits limits = {DOCKERFILE_MAX_STEP_BYTES, MAX_DEPTH};
    const struct json_value *list;

    if (rest.len == 0 || rest.ptr[0] != '[' ||
        json_parse(&reader->arena, rest, limits, &list, NULL) < 0 || list->type != JSON_ARRAY ||
        list->size == 0)
        return NULL;
    json_each_item (item, list)
        if (item->type != JSON_STRING || str_has_nul(json_str(item)))
            return NULL;
    return list;
}

/* "<<EOF" and "3<<-EOF" begin a here-document; "<<<word" does not. */
static bool has_here_document(struct str rest)
{
    while (rest.len > 0) {
        struct str word = cut_raw(&rest);
        size_t at = 0;

        while (at < word.len && word.ptr[at] >= '0' && word.ptr[at] <= '9')
            at++;
        word = str_slice(word, at, word.len);
        if (str_starts_with(word, STR("<<")) && word.len > 2 && word.ptr[2] != '<')
            return true;
    }
    return false;
}

/* ---- instructions ---- */

static int add_step(struct reader *reader, struct str step)
{
    if (++reader->steps > DOCKERFILE_MAX_STEPS)
        return refuse(reader, "there are more than 127 steps");
    json_write_str(&reader->json, step);
    return 0;
}

static int add_words(struct reader *reader, struct buf *step, int r)
{
    if (r == ERR_TOO_LARGE)
        return refuse(reader, "the instruction is too long");
    return r < 0 ? r : add_step(reader, buf_view(step));
}

/* The base of the preset has a PATH of its own. */
static int take_preset(struct reader *reader)
{
    const struct str prefix = STR("ENV PATH=");
    int r = 0;

    for (size_t i = 0; i < PRESET_BUILDER_STEPS && r == 0; i++)
        if (str_starts_with(preset_builder[i], prefix))
            r = set_variable(reader, STR("PATH"),
                             str_slice(preset_builder[i], prefix.len, preset_builder[i].len));
    return r;
}

static int read_from(struct reader *reader, struct str rest)
{
    cleanup_buf struct buf name = BUF_INIT(DOCKERFILE_MAX_STEP_BYTES);
    struct str word;
    int r = buf_append_str(&name, STR("FROM "));

    if (reader->has_from)
        return refuse(reader, "there may be only one FROM");
    reader->has_from = true;
    while (str_starts_with(rest, STR("--")))
        (void)cut_raw(&rest);
    if (r == 0)
        r = unquote(reader, &rest, true, &name);
    if (r < 0)
        return r;
    word = cut_raw(&rest);
    if (word.len > 0 &&
        (!str_eq_nocase(word, STR("AS")) || cut_raw(&rest).len == 0 || rest.len > 0))
        return refuse(reader, "FROM needs the name of an image");
    word = str_slice(buf_view(&name), strlen("FROM "), name.len);
    if (word.len == 0 || str_trim(word).len != word.len)
        return refuse(reader, "FROM needs the name of an image");
    if (str_eq(word, STR("builder")))
        r = take_preset(reader);
    return add_words(reader, &name, r);
}

/* For the shell: a word in single quotes. */
static int append_quoted(struct buf *out, struct str word)
{
    int r = buf_append_char(out, '\'');

    for (size_t i = 0; i < word.len && r == 0; i++)
        r = word.ptr[i] == '\'' ? buf_append_str(out, STR("'\\''"))
                                : buf_append_char(out, word.ptr[i]);
    return r < 0 ? r : buf_append_char(out, '\'');
}

static int read_run(struct reader *reader, struct str rest)
{
    cleanup_buf struct buf step = BUF_INIT(DOCKERFILE_MAX_STEP_BYTES);
    const struct json_value *list = read_list(reader, rest);
    int r = buf_append_str(&step, STR("RUN"));

    if (str_starts_with(rest, STR("--")))
        return refuse(reader, "options of RUN are not supported");
    if (list == NULL && has_here_document(rest))
        return refuse(reader, "here-documents are not supported");
    if (list != NULL)
        json_each_item (item, list) {
            if (r == 0)
                r = buf_append_char(&step, ' ');
            if (r == 0)
                r = append_quoted(&step, json_str(item));
        }
    if (list == NULL && r == 0)
        r = buf_append_char(&step, ' ');
    if (list == NULL && r == 0)
        r = buf_append_str(&step, rest);
    return add_words(reader, &step, r);
}

static int add_copy_word(struct reader *reader, struct str word, struct buf *step)
{
    int r;

    if (word.len == 0 || word.ptr[0] == '-')
        return refuse(reader, "COPY needs names, and options of it are not supported");
    for (size_t i = 0; i < word.len; i++)
        if (is_space(word.ptr[i]) || word.ptr[i] == '\n' || word.ptr[i] == '\r')
            return refuse(reader, "COPY takes no names with spaces");
    r = buf_append_char(step, ' ');
    return r < 0 ? r : buf_append_str(step, word);
}

static int read_copy(struct reader *reader, struct str rest)
{
    cleanup_buf struct buf step = BUF_INIT(DOCKERFILE_MAX_STEP_BYTES);
    const struct json_value *list = read_list(reader, rest);
    size_t count = 0;
    int r = buf_append_str(&step, STR("COPY"));

    if (list == NULL && has_here_document(rest))
        return refuse(reader, "here-documents are not supported");
    if (list != NULL)
        json_each_item (item, list) {
            count++;
            if (r == 0)
                r = add_copy_word(reader, json_str(item), &step);
        }
    while (list == NULL && rest.len > 0 && r == 0) {
        cleanup_buf struct buf word = BUF_INIT(DOCKERFILE_MAX_STEP_BYTES);

        count++;
        r = unquote(reader, &rest, true, &word);
        if (r == 0)
            r = add_copy_word(reader, buf_view(&word), &step);
        rest = skip_spaces(rest);
    }
    if (r == 0 && count < 2)
        return refuse(reader, "COPY needs names and a target");
    return add_words(reader, &step, r);
}

static int add_variable(struct reader *reader, struct str name, struct str value)
{
    cleanup_buf struct buf step = BUF_INIT(DOCKERFILE_MAX_STEP_BYTES);
    int r = 0;

    if (name.len == 0 || name.len > MAX_NAME_BYTES || (name.ptr[0] >= '0' && name.ptr[0] <= '9'))
        return refuse(reader, "ENV needs a name and a value");
    for (size_t i = 0; i < name.len; i++)
        if (!is_name_char(name.ptr[i]))
            return refuse(reader, "the name of a variable has letters, digits and _");
    /* The quotes keep spaces at its ends, and quotes of its own. */
    r = buf_printf(&step, "ENV %.*s=\"%.*s\"", STR_ARG(name), STR_ARG(value));
    if (r == 0)
        r = set_variable(reader, name, value);
    return add_words(reader, &step, r);
}

/* "ENV NAME any words" */
static int read_old_env(struct reader *reader, struct str name, struct str rest)
{
    cleanup_buf struct buf value = BUF_INIT(DOCKERFILE_MAX_STEP_BYTES);
    int r = rest.len == 0 ? refuse(reader, "ENV needs a name and a value")
                          : unquote(reader, &rest, false, &value);

    return r < 0 ? r : add_variable(reader, name, buf_view(&value));
}

/* All values of one ENV see the variables as they were before it. */
static int read_env(struct reader *reader, struct str rest)
{
    struct variable *const before = reader->variables;
    struct variable *added = NULL;
    struct variable **end = &added; /* where those from before go */
    struct str peek = rest;
    struct str first = cut_raw(&peek);
    int r = 0;

    if (str_find(first, STR("=")) == SIZE_MAX)
        return read_old_env(reader, first, peek);
    while (rest.len > 0 && r == 0) {
        cleanup_buf struct buf word = BUF_INIT(DOCKERFILE_MAX_STEP_BYTES);
        struct str value;
        struct str name = STR_EMPTY;

        r = unquote(reader, &rest, true, &word);
        rest = skip_spaces(rest);
        value = buf_view(&word);
        if (r == 0 && str_find(value, STR("=")) == SIZE_MAX)
            r = refuse(reader, "ENV needs a name and a value");
        (void)str_cut(&value, '=', &name);
        if (r == 0)
            r = add_variable(reader, name, value);
        if (r < 0)
            break;
        if (added == NULL)
            end = &reader->variables->next;
        reader->variables->next = added;
        added = reader->variables;
        reader->variables = before;
    }
    *end = before;
    reader->variables = added;
    return r;
}

static int read_workdir(struct reader *reader, struct str rest)
{
    cleanup_buf struct buf path = BUF_INIT(DOCKERFILE_MAX_STEP_BYTES);
    cleanup_buf struct buf step = BUF_INIT(DOCKERFILE_MAX_STEP_BYTES);
    int r = unquote(reader, &rest, false, &path);
    struct str view = buf_view(&path);
    const bool is_absolute = view.len > 0 && view.ptr[0] == '/';

    if (r < 0)
        return r;
    if (view.len == 0)
        return refuse(reader, "WORKDIR needs a path");
    r = buf_append_str(&step, STR("WORKDIR "));
    if (r == 0 && !is_absolute)
        r = buf_append_str(&step, reader->workdir);
    if (r == 0 && !is_absolute && !str_ends_with(reader->workdir, STR("/")))
        r = buf_append_char(&step, '/');
    if (r == 0)
        r = buf_append_str(&step, view);
    if (r == 0 &&
        !arena_copy_str(&reader->arena, str_slice(buf_view(&step), strlen("WORKDIR "), step.len),
                        &reader->workdir))
        r = ERR_NO_MEMORY;
    return add_words(reader, &step, r);
}

/* What only a container has: accepted, without a step. */
static int read_nothing(struct reader *reader, struct str rest)
{
    (void)reader;
    (void)rest;
    return 0;
}

static int read_instruction(struct reader *reader)
{
    static const struct {
        struct str word;
        int (*read)(struct reader *reader, struct str rest);
    } instructions[] = {
        {STR_LITERAL("FROM"), read_from},          {STR_LITERAL("RUN"), read_run},
        {STR_LITERAL("COPY"), read_copy},          {STR_LITERAL("ENV"), read_env},
        {STR_LITERAL("WORKDIR"), read_workdir},    {STR_LITERAL("USER"), read_nothing},
        {STR_LITERAL("ENTRYPOINT"), read_nothing}, {STR_LITERAL("CMD"), read_nothing},
    };
    struct str rest = str_trim(buf_view(&reader->logical));
    struct str word = cut_raw(&rest);

    for (size_t i = 0; i < array_size(instructions); i++) {
        if (!str_eq_nocase(word, instructions[i].word))
            continue;
        if (rest.len == 0)
            return refuse(reader, "something must follow the word");
        if (i > 0 && !reader->has_from)
            return refuse(reader, "a Dockerfile begins with FROM");
        return instructions[i].read(reader, rest);
    }
    return refuse(reader, "only FROM, RUN, COPY, ENV, WORKDIR, USER, ENTRYPOINT and CMD are "
                          "supported");
}

static int read_all(struct reader *reader)
{
    int r = set_variable(reader, STR("PATH"), STR(BASE_PATH));
    int more = 1;

    if (r == 0)
        r = set_variable(reader, STR("HOME"), STR(BASE_HOME));
    while (r == 0 && (more = next_logical(reader)) > 0)
        r = read_instruction(reader);
    if (r == 0)
        r = more;
    reader->first_line = reader->line;
    return r == 0 && !reader->has_from ? refuse(reader, "a Dockerfile begins with FROM") : r;
}

int dockerfile_read(struct str text, struct buf *out_steps, struct err *err)
{
    struct reader reader = {.rest = text,
                            .first_line = 1,
                            .logical = BUF_INIT(DOCKERFILE_MAX_STEP_BYTES),
                            .arena = ARENA_INIT(ARENA_BYTES),
                            .workdir = STR("/"),
                            .err = err};
    int r;

    if (text.len > DOCKERFILE_MAX_BYTES)
        return err_set(err, ERR_INVALID_ARGUMENT, "the Dockerfile is too large");
    if (str_has_nul(text))
        return err_set(err, ERR_INVALID_ARGUMENT, "the Dockerfile is no text");
    json_writer_init(&reader.json, out_steps);
    json_begin_array(&reader.json);
    r = read_all(&reader);
    json_end_array(&reader.json);
    if (r == 0) {
        r = json_writer_finish(&reader.json);
        if (r < 0)
            err_set(err, r, "cannot read the Dockerfile: %s", err_text(r));
    } else {
        (void)json_writer_finish(&reader.json);
        if (err != NULL && err->code == 0)
            err_set_plain(err, r);
    }
    buf_done(&reader.logical);
    arena_done(&reader.arena);
    return r;
}
