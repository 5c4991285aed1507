/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/daytonascript.h"

#include "base/cleanup.h"

/* Exit status of our scripts. */
enum { EXIT_MISSING = 64, EXIT_EXISTS, EXIT_DIRECTORY };

enum { MARK_BYTES = 3 };

static int quote(struct buf *out, struct str word)
{
    int r = buf_append_char(out, '\'');

    for (size_t i = 0; i < word.len && r == 0; i++)
        r = word.ptr[i] == '\'' ? buf_append_str(out, STR("'\\''"))
                                : buf_append_char(out, word.ptr[i]);
    return r == 0 ? buf_append_char(out, '\'') : r;
}

/* A script with its words: `name=WORD` in the pattern's order. */
static int set_words(struct buf *out, const char *name, struct str word)
{
    int r = buf_printf(out, "%s=", name);

    if (r == 0)
        r = quote(out, word);
    return r == 0 ? buf_append_char(out, '\n') : r;
}

/* A relative name that begins with a dash is no option. */
static int set_path(struct buf *out, const char *name, struct str path)
{
    cleanup_buf struct buf full = BUF_INIT(WORKSPACE_PATH_BYTES + 8);
    int r = path.len > 0 && path.ptr[0] == '/' ? 0 : buf_append_str(&full, STR("./"));

    if (r == 0)
        r = buf_append_str(&full, path);
    return r == 0 ? set_words(out, name, buf_view(&full)) : r;
}

static int write_transfer(const struct workspace_request *asked, struct buf *out)
{
    bool is_copy = asked->action == WORKSPACE_COPY;
    int r = set_path(out, "from", asked->path);

    if (r == 0)
        r = set_path(out, "to", asked->target);
    if (r == 0)
        r = buf_printf(out, "[ -e \"$from\" ] || [ -L \"$from\" ] || exit %d\n", EXIT_MISSING);
    if (r == 0 && !asked->replaces)
        r = buf_printf(out, "[ ! -e \"$to\" ] && [ ! -L \"$to\" ] || exit %d\n", EXIT_EXISTS);
    if (r == 0 && is_copy && !asked->is_recursive)
        r = buf_printf(out, "[ ! -d \"$from\" ] || exit %d\n", EXIT_DIRECTORY);
    if (r == 0)
        r = buf_printf(out,
                       "mkdir -p -- \"$(dirname -- \"$to\")\" && exec %s -T -- \"$from\" \"$to\"\n",
                       is_copy ? "cp -a" : "mv -f");
    return r;
}

/* NUL between fields and records: "TYPE SIZE TIME NAME". */
static int write_find(const struct workspace_request *asked, struct buf *out)
{
    int r = set_path(out, "from", asked->path.len > 0 ? asked->path : STR("."));

    if (r == 0)
        r = buf_printf(out, "[ -d \"$from\" ] || exit %d\n", EXIT_MISSING);
    return r == 0 ? buf_append_str(out, STR("exec find \"$from\" -mindepth 1 -printf "
                                            "'%y %s %T@ %P\\n'\n"))
                  : r;
}

static int write_command(const struct workspace_request *asked, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < asked->env_count && r == 0; i++) {
        r = buf_printf(out, "export %.*s=", STR_ARG(asked->env[i].name));
        if (r == 0)
            r = quote(out, asked->env[i].value);
        if (r == 0)
            r = buf_append_char(out, '\n');
    }
    if (r == 0 && asked->path.len > 0) {
        r = set_path(out, "to", asked->path);
        if (r == 0)
            r = buf_append_str(out, STR("cd -- \"$to\" || exit 126\nunset to\n"));
    }
    return r == 0 ? buf_append_str(out, asked->command) : r;
}

int daytona_script(const struct workspace_request *asked, struct buf *out)
{
    if (asked->action == WORKSPACE_EXECUTE)
        return write_command(asked, out);
    return asked->action == WORKSPACE_LIST ? write_find(asked, out) : write_transfer(asked, out);
}

/* ---- what it wrote ---- */

static bool starts_with_mark(struct str text)
{
    return str_starts_with(text, STR("\001\001\001")) || str_starts_with(text, STR("\002\002\002"));
}

int daytona_script_split(struct arena *arena, struct str *output, struct str *errors)
{
    struct str rest = *output;
    char *texts[2];
    size_t lengths[2] = {0, 0};
    size_t stream = 0;

    if (!starts_with_mark(rest))
        return 0;
    for (size_t i = 0; i < array_size(texts); i++) {
        texts[i] = arena_alloc(arena, rest.len);
        if (texts[i] == NULL)
            return arena->error;
    }
    for (size_t i = 0; i < rest.len;) {
        if (starts_with_mark(str_slice(rest, i, rest.len))) {
            stream = rest.ptr[i] == 1 ? 0 : 1;
            i += MARK_BYTES;
        } else {
            texts[stream][lengths[stream]++] = rest.ptr[i++];
        }
    }
    *output = (struct str){texts[0], lengths[0]};
    *errors = (struct str){texts[1], lengths[1]};
    return 0;
}

/* "f 12 1700000000.5 a/b" */
static bool read_found(struct str line, struct workspace_entry *out_entry)
{
    struct str type;
    struct str size;
    struct str time;
    struct str seconds;
    int64_t number;
    int64_t s = 0;

    if (!str_cut(&line, ' ', &type) || !str_cut(&line, ' ', &size) || !str_cut(&line, ' ', &time) ||
        !str_to_int64(size, &number) || line.len == 0)
        return false;
    (void)str_cut(&time, '.', &seconds);
    (void)str_to_int64(seconds, &s);
    *out_entry = (struct workspace_entry){.name = line,
                                          .is_directory = str_eq(type, STR("d")),
                                          .size = (uint64_t)number,
                                          .modified_ms = s * 1000};
    return true;
}

int daytona_script_tree(struct str text, struct arena *arena, struct workspace_answer *answer,
                        struct err *err)
{
    struct workspace_entry *entries;
    size_t lines = 0;
    size_t count = 0;
    struct str line;

    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    if (lines > WORKSPACE_MAX_ENTRIES)
        return err_set(err, ERR_TOO_LARGE, "the folder has more than %d entries",
                       WORKSPACE_MAX_ENTRIES);
    entries = arena_alloc_array(arena, lines + 1, sizeof(*entries));
    if (entries == NULL)
        return err_set_plain(err, arena->error);
    while (str_cut(&text, '\n', &line))
        count += read_found(line, &entries[count]);
    answer->entries = entries;
    answer->count = count;
    return 0;
}

int daytona_script_status(const struct workspace_request *asked, int64_t code, struct str errors,
                          struct err *err)
{
    struct str first = STR_EMPTY;

    (void)str_cut(&errors, '\n', &first);
    switch (code) {
    case 0:
        return 0;
    case EXIT_MISSING:
        return err_set(err, ERR_NOT_FOUND, "daytona: %.*s: no such file or directory",
                       STR_ARG(asked->path));
    case EXIT_EXISTS:
        return err_set(err, ERR_ALREADY_EXISTS, "daytona: %.*s exists already",
                       STR_ARG(asked->target));
    case EXIT_DIRECTORY:
        return err_set(err, ERR_INVALID_ARGUMENT, "daytona: this is a folder: set recursive");
    default:
        return err_set(err, ERR_TOOL_FAILED, "daytona: %.*s", STR_ARG(first));
    }
}
