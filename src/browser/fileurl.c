/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/fileurl.h"

#include <string.h>

#include "authority/names/fileuri.h"
#include "authority/names/path.h"

#define SCHEME "file:"

/* Query and fragment are the page's. */
static size_t end_of_path(struct str url)
{
    size_t i = 0;

    while (i < url.len && url.ptr[i] != '?' && url.ptr[i] != '#')
        i++;
    return i;
}

/* An absolute one has no host but this machine. */
static bool take_path(struct str rest, struct str *out_path)
{
    const struct str here = STR("localhost");

    *out_path = rest;
    if (!str_starts_with(rest, STR("//")))
        return true;
    rest = str_slice(rest, 2, rest.len);
    if (str_eq_nocase(str_slice(rest, 0, here.len), here))
        rest = str_slice(rest, here.len, rest.len);
    *out_path = rest;
    return str_starts_with(rest, STR("/"));
}

int fileurl_path(struct str url, char out_path[PATH_MAX], struct err *err)
{
    __attribute__((uninitialized)) char decoded[PATH_MAX];
    struct path_name name = {.len = 0};
    struct str path;
    size_t slash;
    size_t len;
    int r;

    url.len = end_of_path(url);
    if (!take_path(str_slice(url, strlen(SCHEME), url.len), &path))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "url",
                             "url: write file:///absolute/path, or file:relative/path for a file "
                             "in the first folder");
    r = fileuri_decode(path, decoded, &len);
    slash = r == 0 && decoded[0] == '/';
    if (r == 0)
        r = path_normalise((struct str){decoded, len}, slash != 0 ? "/" : NULL, false, &name);
    if (r == 0 && name.len + slash >= PATH_MAX)
        r = ERR_INVALID_PATH;
    if (r < 0)
        return err_set_field(err, r, "url", "url: not the path of a file");
    out_path[0] = '/';
    memcpy(out_path + slash, name.text, name.len + 1);
    return 0;
}

int fileurl_append(struct buf *out, struct str base_dir, struct str path, struct str url)
{
    bool is_absolute = str_starts_with(path, STR("/"));
    struct str root = is_absolute ? path : base_dir;
    struct str name = is_absolute ? STR_EMPTY : path;
    int r = fileuri_append(out, root, name);

    return r == 0 ? buf_append_str(out, str_slice(url, end_of_path(url), url.len)) : r;
}
