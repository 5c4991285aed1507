/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/gitwire.h"

/* ---- status ---- */

struct summary {
    struct str branch;
    struct str upstream;
    int64_t ahead;
    int64_t behind;
    bool is_detached;
    bool is_published; /* the upstream exists */
};

static struct str status_name(char letter)
{
    switch (letter) {
    case 'M':
    case 'T': /* a file became a link, or so */
        return STR("Modified");
    case 'A':
        return STR("Added");
    case 'D':
        return STR("Deleted");
    case 'R':
        return STR("Renamed");
    case 'C':
        return STR("Copied");
    case 'U':
        return STR("Updated but unmerged");
    case '?':
        return STR("Untracked");
    default:
        return STR("Unmodified");
    }
}

static void write_file(struct json_writer *json, struct str name, struct str old_name,
                       const char letters[2])
{
    json_begin_object(json);
    json_put_str_lossy(json, STR("name"), name);
    json_put_str_lossy(json, STR("extra"), old_name);
    json_put_str(json, STR("staging"), status_name(letters[0]));
    json_put_str(json, STR("worktree"), status_name(letters[1]));
    json_end_object(json);
}

/* Leaves the path, which may have spaces itself. */
static bool skip_words(struct str *line, size_t count)
{
    struct str word;

    for (size_t i = 0; i < count; i++)
        if (!str_cut(line, ' ', &word))
            return false;
    return line->len > 0;
}

/*
 * "1 XY …": the words before the path are 8, those of a rename 9, and its old name is the next
 * entry; those of a conflict are 10.
 */
static bool read_file(struct json_writer *json, struct str entry, struct str *rest)
{
    const char kind = entry.ptr[0];
    const size_t words = kind == '1' ? 8 : kind == '2' ? 9 : 10;
    struct str old_name = STR_EMPTY;
    char letters[2];

    if (entry.len < 4 || (kind != '1' && kind != '2' && kind != 'u'))
        return false;
    letters[0] = kind == 'u' ? 'U' : entry.ptr[2];
    letters[1] = kind == 'u' ? 'U' : entry.ptr[3];
    if (!skip_words(&entry, words) ||
        (kind == '2' && (!str_cut(rest, '\0', &old_name) || rest->ptr == NULL)))
        return false;
    write_file(json, entry, old_name, letters);
    return true;
}

static void read_header(struct str entry, struct summary *out_summary)
{
    struct str key;
    struct str word;

    (void)str_cut(&entry, ' ', &key);
    if (!str_cut(&entry, ' ', &key) || entry.ptr == NULL)
        return;
    if (str_eq(key, STR("branch.head"))) {
        out_summary->is_detached = str_eq(entry, STR("(detached)"));
        out_summary->branch = out_summary->is_detached ? STR("HEAD") : entry;
    } else if (str_eq(key, STR("branch.upstream"))) {
        out_summary->upstream = entry;
    } else if (str_eq(key, STR("branch.ab")) && str_cut(&entry, ' ', &word)) {
        /* "+1 -2" */
        out_summary->is_published =
            str_to_int64(str_slice(word, 1, word.len), &out_summary->ahead) &&
            str_to_int64(str_slice(entry, 1, entry.len), &out_summary->behind);
    }
}

void gitwire_status(struct json_writer *json, struct str output)
{
    struct summary summary = {.branch = STR_EMPTY};
    struct str entry;

    json_begin_object(json);
    json_key(json, STR("fileStatus"));
    json_begin_array(json);
    while (str_cut(&output, '\0', &entry) && entry.len > 0 && output.ptr != NULL) {
        if (entry.ptr[0] == '#')
            read_header(entry, &summary);
        else if (str_starts_with(entry, STR("? ")))
            write_file(json, str_slice(entry, 2, entry.len), STR_EMPTY, "??");
        else if (!read_file(json, entry, &output))
            break;
    }
    json_end_array(json);
    json_put_str_lossy(json, STR("currentBranch"), summary.branch);
    json_put_bool(json, STR("detached"), summary.is_detached);
    json_put_str_lossy(json, STR("upstream"), summary.upstream);
    json_put_bool(json, STR("branchPublished"), summary.is_published);
    json_put_int(json, STR("ahead"), summary.ahead);
    json_put_int(json, STR("behind"), summary.behind);
    json_end_object(json);
}

/* ---- lists ---- */

void gitwire_branches(struct json_writer *json, struct str output)
{
    struct str current = STR_EMPTY;
    struct str line;

    json_begin_object(json);
    json_key(json, STR("branches"));
    json_begin_array(json);
    while (str_cut(&output, '\n', &line) && line.len > 1) {
        struct str name = str_slice(line, 1, line.len);

        json_write_str_lossy(json, name);
        if (line.ptr[0] == '*')
            current = name;
    }
    json_end_array(json);
    json_put_str_lossy(json, STR("current"), current);
    json_end_object(json);
}

void gitwire_history(struct json_writer *json, struct str output)
{
    static const struct str keys[] = {STR_LITERAL("hash"), STR_LITERAL("author"),
                                      STR_LITERAL("email"), STR_LITERAL("timestamp"),
                                      STR_LITERAL("message")};
    struct str values[array_size(keys)];

    json_begin_array(json);
    for (;;) {
        for (size_t i = 0; i < array_size(keys); i++)
            if (!str_cut(&output, '\0', &values[i]))
                values[0] = STR_EMPTY;
        if (values[0].len == 0 || output.ptr == NULL)
            break;
        json_begin_object(json);
        for (size_t i = 0; i < array_size(keys); i++)
            json_put_str_lossy(json, keys[i], values[i]);
        json_end_object(json);
    }
    json_end_array(json);
}

/* "NAME\tURL (fetch)", and the same for pushing. */
void gitwire_remotes(struct json_writer *json, struct str output)
{
    const struct str mark = STR(" (fetch)");
    struct str line;
    struct str name;

    json_begin_object(json);
    json_key(json, STR("remotes"));
    json_begin_array(json);
    while (str_cut(&output, '\n', &line)) {
        size_t end = str_find(line, mark);

        if (end == SIZE_MAX)
            continue;
        line = str_slice(line, 0, end);
        if (!str_cut(&line, '\t', &name) || line.ptr == NULL)
            continue;
        json_begin_object(json);
        json_put_str_lossy(json, STR("name"), name);
        json_put_str_lossy(json, STR("url"), line);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

/* ---- values ---- */

void gitwire_commit(struct json_writer *json, struct str output)
{
    json_begin_object(json);
    json_put_str_lossy(json, STR("hash"), str_trim(output));
    json_end_object(json);
}

void gitwire_config(struct json_writer *json, struct str output)
{
    struct str value;

    json_begin_object(json);
    json_key(json, STR("value"));
    if (output.len > 0 && str_cut(&output, '\0', &value))
        json_write_str_lossy(json, value);
    else
        json_write_null(json);
    json_end_object(json);
}

/* ---- failures ---- */

/* The first row whose words, one or two, were printed. Git speaks English (LC_ALL=C). */
static const struct reason {
    const char *words[2];
    struct gitwire_failure failure;
} reasons[] = {
    {{"Authentication failed", ""}, {401, "GIT_AUTH_FAILED"}},
    {{"could not read Username", ""}, {401, "GIT_AUTH_FAILED"}},
    {{"could not read Password", ""}, {401, "GIT_AUTH_FAILED"}},
    {{"URL returned error: 403", ""}, {401, "GIT_AUTH_FAILED"}},
    {{"Permission denied (", ""}, {401, "GIT_AUTH_FAILED"}},
    {{"a branch named", "already exists"}, {409, "GIT_BRANCH_EXISTS"}},
    {{"[remote rejected]", ""}, {422, "GIT_REMOTE_REJECTED"}},
    {{"[rejected]", ""}, {409, "GIT_PUSH_REJECTED"}},
    {{"CONFLICT (", ""}, {409, "GIT_MERGE_CONFLICT"}},
    {{"unmerged files", ""}, {409, "GIT_MERGE_CONFLICT"}},
    {{"not concluded your merge", ""}, {409, "GIT_MERGE_CONFLICT"}},
    {{"would be overwritten by", ""}, {409, "GIT_DIRTY_WORKTREE"}},
    {{"Remote branch", "not found"}, {404, "GIT_BRANCH_NOT_FOUND"}},
    {{"branch '", "not found"}, {404, "GIT_BRANCH_NOT_FOUND"}},
    {{"find remote ref", ""}, {404, "GIT_BRANCH_NOT_FOUND"}},
    {{"src refspec", "does not match any"}, {404, "GIT_BRANCH_NOT_FOUND"}},
    {{"invalid reference", ""}, {404, "GIT_BRANCH_NOT_FOUND"}},
    {{"does not appear to be a git repository", ""}, {404, "GIT_REPO_NOT_FOUND"}},
    {{"repository '", "does not exist"}, {404, "GIT_REPO_NOT_FOUND"}},
    {{"repository '", "not found"}, {404, "GIT_REPO_NOT_FOUND"}},
    {{"epository not found", ""}, {404, "GIT_REPO_NOT_FOUND"}},
    {{"not a git repository", ""}, {404, NULL}},
    {{"cannot change to", ""}, {404, "FILE_NOT_FOUND"}},
    {{"did not match any file", ""}, {404, "FILE_NOT_FOUND"}},
    {{"No such remote", ""}, {404, NULL}},
    {{"already exists", ""}, {409, NULL}},
    {{"unable to access", ""}, {502, "GIT_TRANSPORT_FAILED"}},
    {{"unable to connect", ""}, {502, "GIT_TRANSPORT_FAILED"}},
    {{"Could not resolve host", ""}, {502, "GIT_TRANSPORT_FAILED"}},
    {{"Could not read from remote repository", ""}, {502, "GIT_TRANSPORT_FAILED"}},
};

static bool is_printed(struct str output, struct str errors, const char *words)
{
    return words[0] == '\0' || str_find(errors, str_from(words)) != SIZE_MAX ||
           str_find(output, str_from(words)) != SIZE_MAX;
}

struct gitwire_failure gitwire_failure(struct str output, struct str errors)
{
    for (size_t i = 0; i < array_size(reasons); i++)
        if (is_printed(output, errors, reasons[i].words[0]) &&
            is_printed(output, errors, reasons[i].words[1]))
            return reasons[i].failure;
    return (struct gitwire_failure){400, NULL};
}
