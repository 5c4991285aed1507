/* SPDX-License-Identifier: Apache-2.0 */
#include "shell/hint.h"

#include <limits.h>
#include <string.h>

#include "base/cleanup.h"

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

static const char *const missing_words[] = {
    "No such file or directory",
    "no such file or directory",
    "ENOENT",
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

/* The first absolute path in the line that the sandbox hides. */
static bool find_hidden(const struct shell_sandbox *sandbox, struct str line,
                        char out_path[PATH_MAX])
{
    for (size_t i = 0; i < line.len; i++) {
        size_t end = i;

        if (line.ptr[i] != '/' || (i > 0 && !is_around_names(line.ptr[i - 1])))
            continue;
        while (end < line.len && !is_around_names(line.ptr[end]))
            end++;
        if (end - i >= PATH_MAX)
            return false;
        memcpy(out_path, line.ptr + i, end - i);
        out_path[end - i] = '\0';
        if (sandbox->is_hidden(sandbox->data, out_path))
            return true;
        i = end;
    }
    return false;
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
                              is_temporary(path)
                                  ? "each has an empty /tmp of its own"
                                  : "it lies outside of the folders they were given");
    }
    return 0;
}

int hint_find(const struct shell_sandbox *sandbox, struct str printed, struct buf *out)
{
    if (sandbox->is_hidden == NULL)
        return 0;
    if (printed.len > END_BYTES)
        printed = str_slice(printed, printed.len - END_BYTES, printed.len);
    if (!sandbox->has_network && has_any(printed, network_words, array_size(network_words)))
        return buf_append_str(out, STR("Commands have no network in this sandbox. The user can "
                                       "allow it with --shell-network allow."));
    return hint_at_hidden(sandbox, printed, out);
}
