/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/environment.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/redact.h"
#include "base/str.h"

enum { SHORTEST_SECRET = 4, SHORTEST_VALUE = 8 };

/*
 * A '*' at the end matches any rest. Only variables with names, paths and numbers as values: what
 * holds options for a program (CFLAGS, MAVEN_OPTS and kin) may hold a password among them.
 */
static const char *const kept[] = {
    /* Who and where. */
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PATH",
    /* How to speak and to look. */
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "TERMINFO",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "CLICOLOR",
    "FORCE_COLOR",
    "LS_COLORS",
    "EDITOR",
    "VISUAL",
    "PAGER",
    /* How to build. */
    "CC",
    "CXX",
    "CPP",
    "LD",
    "AR",
    "PKG_CONFIG_PATH",
    "CMAKE_BUILD_PARALLEL_LEVEL",
    "CMAKE_BUILD_TYPE",
    "CMAKE_GENERATOR",
    "CMAKE_PREFIX_PATH",
    "CI",
    "NODE_ENV",
    "NVM_DIR",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "JAVA_HOME",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "GEM_HOME",
    "GEM_PATH",
    "SOURCE_DATE_EPOCH",
    "DEBIAN_FRONTEND",
    /* How to get out, where that is allowed. */
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
};

static const char default_path[] =
    "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

static struct str name_of(const char *variable)
{
    return (struct str){variable, (size_t)(strchrnul(variable, '=') - variable)};
}

static bool is_listed(struct str name)
{
    for (size_t i = 0; i < array_size(kept); i++) {
        struct str row;
        bool goes_on;

        /* Most rows begin with another letter. */
        if (name.len == 0 || name.ptr[0] != kept[i][0])
            continue;
        row = str_from(kept[i]);
        goes_on = row.ptr[row.len - 1] == '*';
        row.len -= goes_on ? 1 : 0;
        if (goes_on ? str_starts_with(name, row) : str_eq(name, row))
            return true;
    }
    return false;
}

bool environment_is_secret(const char *variable)
{
    struct str name = name_of(variable);

    if (redact_names_secret(name))
        return true;
    /* Of an address of a proxy, the user and the password. */
    return (str_ends_with(name, STR("_proxy")) || str_ends_with(name, STR("_PROXY"))) &&
           strpbrk(variable + name.len, "@?") != NULL;
}

bool environment_is_kept(const char *variable)
{
    struct str name = name_of(variable);

    return variable[name.len] == '=' && is_listed(name) && !environment_is_secret(variable);
}

/*
 * PATH without relative directories, where a program could pass for one of the system. NULL: no
 * memory.
 */
static const char *absolute_path(struct arena *arena, const char *variable)
{
    const size_t beginning = strlen("PATH=");
    struct str rest = str_from(variable + beginning);
    char *path = arena_copy(arena, str_from(variable));
    size_t len = beginning;
    struct str dir;

    if (path == NULL)
        return NULL;
    while (str_cut(&rest, ':', &dir)) {
        if (!str_starts_with(dir, STR("/")))
            continue;
        if (len > beginning)
            path[len++] = ':';
        memcpy(path + len, dir.ptr, dir.len);
        len += dir.len;
    }
    path[len] = '\0';
    return len > beginning ? path : default_path;
}

struct list {
    const char **items;
    size_t count;
};

static int put(struct list *list, const char *variable, struct err *err)
{
    struct str name = name_of(variable);
    size_t at = 0;

    while (at < list->count && !str_eq(name_of(list->items[at]), name))
        at++;
    if (at == ENVIRONMENT_MAX)
        return err_set(err, ERR_TOO_LARGE, "more than %d environment variables for a command",
                       ENVIRONMENT_MAX);
    list->items[at] = variable;
    if (at == list->count)
        list->count++;
    return 0;
}

static const char *find(char *const *from, const char *name)
{
    for (; *from != NULL; from++)
        if (str_eq(name_of(*from), str_from(name)))
            return *from;
    return NULL;
}

static bool is_usable(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!is_letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return name.len > 0;
}

int environment_check(const char *option, const char *const *given, char *const *from,
                      struct err *err)
{
    for (; given != NULL && *given != NULL; given++) {
        struct str name = name_of(*given);

        /* What is no name may be part of a value. */
        if (!is_usable(name))
            return err_set(err, ERR_INVALID_OPTION,
                           "%s: write a variable as NAME or NAME=VALUE, with a name of letters, "
                           "digits and underscores that begins with no digit",
                           option);
        if ((*given)[name.len] != '=' && find(from, *given) == NULL)
            return err_set(err, ERR_INVALID_OPTION,
                           "%s: the variable %.60s is not set here: set it, or write "
                           "%.60s=VALUE",
                           option, *given, *given);
    }
    return 0;
}

const char *const *environment_join(struct arena *arena, const char *const *first,
                                    const char *const *then)
{
    const char *const *lists[] = {first, then};
    const char **joined;
    size_t count = 0;

    for (size_t i = 0; i < array_size(lists); i++)
        for (size_t k = 0; lists[i] != NULL && lists[i][k] != NULL; k++)
            count++;
    joined = arena_alloc_array(arena, count + 1, sizeof(*joined));
    if (joined == NULL)
        return NULL;
    count = 0;
    for (size_t i = 0; i < array_size(lists); i++)
        for (size_t k = 0; lists[i] != NULL && lists[i][k] != NULL; k++)
            joined[count++] = lists[i][k];
    joined[count] = NULL;
    return joined;
}

/* Without white space behind it, which shells leave out. */
static struct str value_of(const char *given, char *const *from)
{
    const char *variable = strchr(given, '=') != NULL ? given : find(from, given);
    struct str value = variable != NULL ? str_from(strchr(variable, '=') + 1) : STR_EMPTY;

    while (value.len > 0 && strchr(" \t\r\n", value.ptr[value.len - 1]) != NULL)
        value.len--;
    return value;
}

struct hidden {
    struct str value;
    size_t next; /* where it is in the text; SIZE_MAX: nowhere */
};

static size_t find_from(struct str text, size_t at, struct str value)
{
    size_t found = str_find(str_slice(text, at, text.len), value);

    return found == SIZE_MAX ? SIZE_MAX : at + found;
}

/* The next one; of several at one place, the longest. NULL: there is none. */
static const struct hidden *next_hidden(struct hidden *all, size_t count, struct str text,
                                        size_t at)
{
    const struct hidden *best = NULL;

    for (size_t i = 0; i < count; i++) {
        if (all[i].next < at)
            all[i].next = find_from(text, at, all[i].value);
        if (all[i].next != SIZE_MAX &&
            (best == NULL || all[i].next < best->next ||
             (all[i].next == best->next && all[i].value.len > best->value.len)))
            best = &all[i];
    }
    return best;
}

int environment_hide(const char *const *given, char *const *from, struct str text, struct buf *out)
{
    struct hidden all[ENVIRONMENT_MAX];
    const struct hidden *found;
    size_t count = 0;
    size_t at = 0;
    int r = 0;

    for (; given != NULL && *given != NULL && count < ENVIRONMENT_MAX; given++) {
        struct str value = value_of(*given, from);

        if (value.len >= (redact_names_secret(name_of(*given)) ? SHORTEST_SECRET : SHORTEST_VALUE))
            all[count++] = (struct hidden){value, find_from(text, 0, value)};
    }
    while (r == 0 && (found = next_hidden(all, count, text, at)) != NULL) {
        r = buf_append_str(out, str_slice(text, at, found->next - at));
        if (r == 0)
            r = buf_append_str(out, STR(REDACT_MARK));
        at = found->next + found->value.len;
    }
    return r == 0 ? buf_append_str(out, str_slice(text, at, text.len)) : r;
}

int environment_clean(struct arena *arena, char *const *from, const char *const *more,
                      const char *const **out_env, struct err *err)
{
    struct list list = {.items = arena_alloc_array(arena, ENVIRONMENT_MAX + 1, sizeof(char *))};
    int r;

    if (list.items == NULL)
        return err_set_plain(err, arena->error);
    r = put(&list, default_path, err);
    for (size_t i = 0; from[i] != NULL && r == 0; i++) {
        const char *variable = from[i];

        if (!environment_is_kept(variable))
            continue;
        if (str_eq(name_of(variable), STR("PATH")))
            variable = absolute_path(arena, variable);
        r = variable == NULL ? err_set_plain(err, arena->error) : put(&list, variable, err);
    }
    if (r == 0)
        r = put(&list, "TMPDIR=/tmp", err);
    for (; more != NULL && *more != NULL && r == 0; more++) {
        const char *variable = strchr(*more, '=') != NULL ? *more : find(from, *more);

        if (variable == *more && **more == '=')
            r = err_set(err, ERR_INVALID_ARGUMENT, "write a variable as NAME or NAME=value");
        else if (variable != NULL)
            r = put(&list, variable, err);
    }
    if (r < 0)
        return r;
    list.items[list.count] = NULL;
    *out_env = list.items;
    return 0;
}
