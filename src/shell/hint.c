/* SPDX-License-Identifier: Apache-2.0 */
#include "shell/hint.h"

#include <limits.h>
#include <string.h>

#include "authority/names/sensitive.h"
#include "base/cleanup.h"
#include "base/utf8.h"

enum { END_BYTES = 8 << 10 }; /* a reason stands near the end */

/* What C libraries, package managers and languages print if there is no network. */
static const char *const network_words[] = {
    "Temporary failure in name resolution",
    "Temporary failure resolving",
    "Name or service not known",
    "No address associated with hostname",
    "Could not resolve",
    "could not resolve",
    "unable to resolve host",
    "failed to lookup address",
    "dial tcp: lookup",
    "UnknownHostException",
    "Network is unreachable",
    "network is unreachable",
    "EAI_AGAIN",
    "ENOTFOUND",
    "ENETUNREACH",
};

/* What programs print of a proxy that refuses, and of names, which do not resolve beside it. */
static const char *const proxy_words[] = {
    "Host not allowed by Gatehouse",
    "tunnel failed, response 403",
    "Tunnel connection failed: 403",
    "from proxy after CONNECT",
    "Temporary failure in name resolution",
    "Could not resolve host",
    "EAI_AGAIN",
    "ENOTFOUND",
};

static const char *const missing_words[] = {
    "No such file or directory",
    "no such file or directory",
    "ENOENT",
};

/* sudo, su, apt and others that want to be root. */
static const char *const root_words[] = {
    "effective uid is not 0", "no new privileges",
    "must be setuid root",    "are you root?",
    "unless you are root",    "This command has to be run with superuser privileges",
};

static const char *const read_only_words[] = {
    "Read-only file system",
    "read-only file system",
    "EROFS",
};

static bool has_any(struct str text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_find(text, str_from(words[i])) != SIZE_MAX)
            return true;
    return false;
}

/* Programs put names between blanks, quotes, brackets and colons. */
static bool is_around_names(char c)
{
    return strchr(" \t'\"`()[]<>:;,=", c) != NULL;
}

/* Takes the next word that may be a name off the line. */
static bool next_name(struct str *line, struct str *out_name)
{
    size_t begin = 0;
    size_t end;

    while (begin < line->len && is_around_names(line->ptr[begin]))
        begin++;
    end = begin;
    while (end < line->len && !is_around_names(line->ptr[end]))
        end++;
    *out_name = str_slice(*line, begin, end - begin);
    *line = str_slice(*line, end, line->len);
    return out_name->len > 0;
}

/* The first absolute path in the line that the sandbox hides. */
static bool find_hidden(const struct shell_sandbox *sandbox, struct str line,
                        char out_path[PATH_MAX])
{
    struct str name;

    while (next_name(&line, &name)) {
        if (name.ptr[0] != '/' || name.len >= PATH_MAX)
            continue;
        memcpy(out_path, name.ptr, name.len);
        out_path[name.len] = '\0';
        if (sandbox->is_hidden(sandbox->data, out_path))
            return true;
    }
    return false;
}

static int hint_at_secrets(struct str printed, struct buf *out)
{
    struct str line;
    struct str name;

    while (str_cut(&printed, '\n', &line))
        while (next_name(&line, &name))
            if (sensitive_is_path(name))
                return buf_printf(
                    out,
                    "Commands see files such as %.*s empty, because they usually hold "
                    "secrets. The user can show them to commands with --sensitive "
                    "allow.",
                    STR_ARG(utf8_cut(name, NAME_MAX)));
    return 0;
}

static bool is_temporary(const char *path)
{
    return str_starts_with(str_from(path), STR("/tmp/")) ||
           str_starts_with(str_from(path), STR("/var/tmp/")) ||
           str_starts_with(str_from(path), STR("/dev/shm/"));
}

static int hint_at_hidden(const struct shell_sandbox *sandbox, struct str printed, struct buf *out)
{
    struct str line;

    while (str_cut(&printed, '\n', &line)) {
        char path[PATH_MAX];

        if (has_any(line, missing_words, array_size(missing_words)) &&
            find_hidden(sandbox, line, path))
            return buf_printf(out,
                              "Commands cannot see %s: %s. The user can show them a folder "
                              "with --shell-readable DIR.",
                              path,
                              is_temporary(path) ? "each has an empty /tmp of its own"
                                                 : "it is outside the folders they were given");
    }
    return 0;
}

/* Begins with a whole character. */
static struct str end_of(struct str printed)
{
    if (printed.len <= END_BYTES)
        return printed;
    printed = str_slice(printed, printed.len - END_BYTES, END_BYTES);
    while (printed.len > 0 && ((unsigned char)printed.ptr[0] & 0xC0) == 0x80)
        printed = str_slice(printed, 1, printed.len);
    return printed;
}

/* git compares what it tracks with what commands see, which may be empty. */
static const char *const git_lists[] = {" status", " diff"};
static const char *const git_takes_all[] = {" add -A", " add --all", " add -u", " add .",
                                            " add *",  " commit -a", " stash"};

static int hint_at_git(struct str command, struct str printed, struct buf *out)
{
    if (str_find(command, STR("git ")) == SIZE_MAX)
        return 0;
    if (has_any(command, git_takes_all, array_size(git_takes_all)))
        return buf_append_str(
            out, STR("Commands see files that usually hold secrets, such as .npmrc or *.pem, "
                     "empty. If git tracks one, its empty version was taken: leave it out with git "
                     "restore --staged FILE, after git reset --soft HEAD~1 if it is committed."));
    return has_any(command, git_lists, array_size(git_lists))
               ? hint_at_secrets(end_of(printed), out)
               : 0;
}

int hint_find_named(const struct shell_sandbox *sandbox, struct str command, struct str printed,
                    struct buf *out)
{
    int r;

    if (sandbox->is_hidden == NULL || !sandbox->hides_sensitive)
        return 0;
    r = hint_at_secrets(command, out);
    return r == 0 && out->len == 0 ? hint_at_git(command, printed, out) : r;
}

/* A mount cannot be renamed or removed, either. */
static const char *const kept_words[] = {"busy", "EBUSY", "Read-only file system", "EROFS"};

static bool is_about_git(struct str printed)
{
    if (!has_any(printed, kept_words, array_size(kept_words)))
        return false;
    return str_find(printed, STR(".git/config")) != SIZE_MAX ||
           str_find(printed, STR(".git/hooks")) != SIZE_MAX;
}

int hint_find(const struct shell_sandbox *sandbox, struct str printed, struct buf *out)
{
    if (sandbox->is_hidden == NULL)
        return 0;
    printed = end_of(printed);
    if (sandbox->has_hosts && has_any(printed, proxy_words, array_size(proxy_words)))
        return buf_append_str(out, STR("Commands reach only the web hosts that the user has named, "
                                       "and only by the proxy of HTTPS_PROXY. The user can add "
                                       "others with --shell-domain HOST."));
    if (!sandbox->has_network && has_any(printed, network_words, array_size(network_words)))
        return buf_append_str(out, STR("Commands have no network in this sandbox. The user can "
                                       "allow hosts on the web with --shell-domain HOST, or all of "
                                       "it with --shell-network allow."));
    if (sandbox->hides_sensitive) {
        int r = hint_at_secrets(printed, out);

        if (r < 0 || out->len > 0)
            return r;
    }
    if (has_any(printed, root_words, array_size(root_words)))
        return buf_append_str(out, STR("Commands cannot become root, not even with sudo. The user "
                                       "can run this command in a terminal."));
    if (sandbox->keeps_autorun && is_about_git(printed))
        return buf_append_str(out, STR("Commands cannot change or remove Git's hooks and settings, "
                                       "which Git runs outside of the sandbox; git -c NAME=VALUE "
                                       "sets one for a command, and the tool delete removes a "
                                       "repository. The user can allow it with --autorun allow."));
    if (has_any(printed, read_only_words, array_size(read_only_words)))
        return buf_append_str(out, STR("Commands can change files in /tmp and in the folders they "
                                       "were given for that, and nowhere else. The user can give "
                                       "them a folder with --shell-writable DIR."));
    return hint_at_hidden(sandbox, printed, out);
}
