/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/names/fileuri.h"

#include <stdbool.h>
#include <string.h>

#include "authority/names/path.h"
#include "base/hex.h"

static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '-' || c == '.' || c == '_' || c == '~';
}

int fileuri_append_encoded(struct buf *out, struct str text)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t before = out->len;
    int r = 0;

    for (size_t i = 0; i < text.len && r == 0; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        const char escape[3] = {'%', hex[c >> 4], hex[c & 15]};

        r = is_plain(c) ? buf_append_char(out, (char)c) : buf_append(out, escape, sizeof(escape));
    }
    if (r < 0)
        out->len = before;
    return r;
}

int fileuri_append(struct buf *out, struct str root_path, struct str name)
{
    size_t before = out->len;
    int r = buf_append_str(out, STR("file://"));

    if (r == 0)
        r = fileuri_append_encoded(out, root_path);
    if (r == 0 && name.len > 0 && !str_ends_with(root_path, STR("/")))
        r = buf_append_char(out, '/');
    if (r == 0)
        r = fileuri_append_encoded(out, name);
    if (r < 0)
        out->len = before;
    return r;
}

int fileuri_decode(struct str text, char out_text[PATH_MAX], size_t *out_len)
{
    size_t len = 0;

    while (text.len > 0) {
        int byte = hex_take_percent(&text);

        if (byte < 0)
            return ERR_INVALID_ARGUMENT;
        if (byte == '\0' || len + 1 >= PATH_MAX)
            return ERR_INVALID_PATH;
        out_text[len++] = (char)byte;
    }
    out_text[len] = '\0';
    *out_len = len;
    return 0;
}

/* The path of a URI on this machine. */
static bool take_path(struct str uri, struct str *out_path)
{
    const struct str scheme = STR("file://");
    const struct str here = STR("localhost");
    struct str path;

    if (uri.len < scheme.len || !str_eq_nocase(str_slice(uri, 0, scheme.len), scheme))
        return false;
    path = str_slice(uri, scheme.len, uri.len);
    if (str_eq_nocase(str_slice(path, 0, here.len), here))
        path = str_slice(path, here.len, path.len);
    if (path.len == 0 || path.ptr[0] != '/' || memchr(path.ptr, '?', path.len) != NULL ||
        memchr(path.ptr, '#', path.len) != NULL)
        return false;
    *out_path = path;
    return true;
}

int fileuri_name(struct str uri, struct str root_path, char out_name[PATH_MAX], size_t *out_len,
                 struct err *err)
{
    __attribute__((uninitialized)) struct path_name name;
    __attribute__((uninitialized)) char text[PATH_MAX];
    __attribute__((uninitialized)) char root[PATH_MAX];
    struct str path;
    size_t len;
    int r;

    if (!take_path(uri, &path))
        return err_set(err, ERR_INVALID_ARGUMENT, "not a file:// URI inside the folder");
    r = fileuri_decode(path, text, &len);
    if (r < 0)
        return err_set(err, r, "not a valid file:// URI");
    if (root_path.len >= sizeof(root))
        return err_set_plain(err, ERR_INVALID_PATH);
    memcpy(root, root_path.ptr, root_path.len);
    root[root_path.len] = '\0';
    r = path_normalise((struct str){text, len}, root, false, &name);
    if (r < 0)
        return err_set_plain(err, r);
    memcpy(out_name, name.text, name.len + 1);
    *out_len = name.len;
    return 0;
}
