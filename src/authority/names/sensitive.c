/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/names/sensitive.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "authority/names/path.h"
#include "base/cleanup.h"

/* man/gatehouse-mcp.1 lists all of these. */

/* Files, with as much of their path as needed. */
static const struct str names[] = {
    STR_LITERAL(".env"),
    STR_LITERAL(".envrc"),
    STR_LITERAL(".npmrc"),
    STR_LITERAL(".yarnrc.yml"),
    STR_LITERAL(".pypirc"),
    STR_LITERAL(".netrc"),
    STR_LITERAL("_netrc"),
    STR_LITERAL(".git-credentials"),
    STR_LITERAL(".htpasswd"),
    STR_LITERAL(".pgpass"),
    STR_LITERAL(".my.cnf"),
    STR_LITERAL(".vault-token"),
    STR_LITERAL(".terraformrc"),
    STR_LITERAL(".s3cfg"),
    STR_LITERAL(".boto"),
    STR_LITERAL(".dockercfg"),
    STR_LITERAL("kubeconfig"),
    STR_LITERAL("id_rsa"),
    STR_LITERAL("id_dsa"),
    STR_LITERAL("id_ecdsa"),
    STR_LITERAL("id_ecdsa_sk"),
    STR_LITERAL("id_ed25519"),
    STR_LITERAL("id_ed25519_sk"),
    STR_LITERAL(".docker/config.json"),
    STR_LITERAL(".cargo/credentials"),
    STR_LITERAL(".cargo/credentials.toml"),
    STR_LITERAL(".gem/credentials"),
    STR_LITERAL(".m2/settings.xml"),
};

static const struct str endings[] = {
    STR_LITERAL(".pem"), STR_LITERAL(".key"),        STR_LITERAL(".p12"), STR_LITERAL(".pfx"),
    STR_LITERAL(".jks"), STR_LITERAL(".keystore"),   STR_LITERAL(".ppk"), STR_LITERAL(".kdbx"),
    STR_LITERAL(".env"), STR_LITERAL(".kubeconfig"),
};

static const struct str beginnings[] = {STR_LITERAL(".env.")};

/* Everything in directories of these names. */
static const struct str folders[] = {
    STR_LITERAL(".ssh"),
    STR_LITERAL(".gnupg"),
    STR_LITERAL(".aws"),
    STR_LITERAL(".azure"),
    STR_LITERAL(".oci"),
    STR_LITERAL(".kube"),
    STR_LITERAL(".config/gcloud"),
    STR_LITERAL(".config/gh"),
    STR_LITERAL(".password-store"),
    STR_LITERAL(".local/share/keyrings"),
};

/* Of those that begin with ".env.": for everybody to read. */
static const struct str examples[] = {
    STR_LITERAL(".env.example"), STR_LITERAL(".env.sample"),   STR_LITERAL(".env.template"),
    STR_LITERAL(".env.dist"),    STR_LITERAL(".env.defaults"),
};

/* Letters of either case have the same bit; what is no letter may share one. */
static uint64_t bit_of(char character)
{
    return (uint64_t)1 << (((unsigned char)character | 0x20) & 63);
}

/* For most, the first characters tell: strncasecmp() is asked of every file of a search. */
static bool is_same(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || bit_of(a.ptr[0]) == bit_of(b.ptr[0])) &&
           strncasecmp(a.ptr, b.ptr, a.len) == 0;
}

static bool has_end(struct str text, struct str end)
{
    return text.len >= end.len && is_same(str_slice(text, text.len - end.len, end.len), end);
}

static struct str last_of(struct str path)
{
    const char *slash = path.len > 0 ? memrchr(path.ptr, '/', path.len) : NULL;

    return slash == NULL ? path : str_slice(path, (size_t)(slash - path.ptr) + 1, path.len);
}

/*
 * What a list has at both ends of the last components of its names. Every call asks for its names,
 * and searches ask for every file: most differ there. Zeros until it is made; whoever makes it
 * makes the same.
 */
struct marks {
    _Atomic uint64_t first;
    _Atomic uint64_t last;
};

static uint64_t know(_Atomic uint64_t *bits, const struct str *list, size_t count, bool of_first)
{
    uint64_t known = atomic_load_explicit(bits, memory_order_relaxed);

    if (known != 0)
        return known;
    for (size_t i = 0; i < count; i++)
        known |= bit_of(of_first ? last_of(list[i]).ptr[0] : list[i].ptr[list[i].len - 1]);
    atomic_store_explicit(bits, known, memory_order_relaxed);
    return known;
}

static bool may_end_as(struct str text, const struct str *list, size_t count, struct marks *marks)
{
    return text.len > 0 &&
           (know(&marks->last, list, count, false) & bit_of(text.ptr[text.len - 1])) != 0;
}

static bool may_begin_as(struct str last, const struct str *list, size_t count, struct marks *marks)
{
    return last.len > 0 && (know(&marks->first, list, count, true) & bit_of(last.ptr[0])) != 0;
}

static bool has_ending(struct str text, struct str ending)
{
    return text.len > ending.len && has_end(text, ending);
}

/* Whether the path is `name`, or ends with it after a slash. */
static bool ends_with_name(struct str path, struct str name)
{
    return has_end(path, name) &&
           (path.len == name.len || path.ptr[path.len - name.len - 1] == '/');
}

/* `last`: the path's last component. */
static bool is_one_of(struct str path, struct str last, const struct str *list, size_t count,
                      struct marks *marks)
{
    if (!may_end_as(path, list, count, marks) || !may_begin_as(last, list, count, marks))
        return false;
    for (size_t i = 0; i < count; i++)
        if (ends_with_name(path, list[i]))
            return true;
    return false;
}

static bool is_sensitive_name(struct str path)
{
    static struct marks of_endings;
    static struct marks of_examples;
    static struct marks of_names;
    struct str last = last_of(path);

    if (may_end_as(last, endings, array_size(endings), &of_endings))
        for (size_t i = 0; i < array_size(endings); i++)
            if (has_ending(last, endings[i]))
                return true;
    for (size_t i = 0; i < array_size(beginnings); i++)
        if (last.len > beginnings[i].len &&
            is_same(str_slice(last, 0, beginnings[i].len), beginnings[i]))
            return !is_one_of(last, last, examples, array_size(examples), &of_examples);
    return is_one_of(path, last, names, array_size(names), &of_names);
}

/* Every one of `folders` begins with a dot. */
static bool has_hidden_folder(struct str path)
{
    return path.len > 0 && (path.ptr[0] == '.' || memmem(path.ptr, path.len, "/.", 2) != NULL);
}

static bool is_in_sensitive_folder(struct str path)
{
    static struct marks of_folders;
    struct str folder = path;

    if (!has_hidden_folder(path) || has_ending(path, STR(".pub")) ||
        is_same(last_of(path), STR("known_hosts")))
        return false;
    for (;;) {
        const char *slash = folder.len > 0 ? memrchr(folder.ptr, '/', folder.len) : NULL;

        if (slash == NULL)
            return false;
        folder.len = (size_t)(slash - folder.ptr);
        if (is_one_of(folder, last_of(folder), folders, array_size(folders), &of_folders))
            return true;
    }
}

bool sensitive_is_path(struct str path)
{
    return is_sensitive_name(path) || is_in_sensitive_folder(path);
}

bool sensitive_is_below(struct str root, struct str name)
{
    __attribute__((uninitialized)) struct path_name path;

    return path_join(root, name, &path) < 0 || sensitive_is_path(path_view(&path));
}

/* Whether the path ends with the folders above one of the list, or with some of them. */
static bool is_above(struct str path, const struct str *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0; at < list[i].len; at++)
            if (list[i].ptr[at] == '/' && ends_with_name(path, str_slice(list[i], 0, at)))
                return true;
    return false;
}

static bool is_folder(struct str folder)
{
    for (size_t i = 0; i < array_size(folders); i++)
        if (ends_with_name(folder, folders[i]))
            return true;
    return false;
}

bool sensitive_is_folder(struct str path)
{
    for (struct str above = path; above.len > 0;) {
        const char *slash = memrchr(above.ptr, '/', above.len);

        if (is_folder(above))
            return true;
        above.len = slash != NULL ? (size_t)(slash - above.ptr) : 0;
    }
    return is_above(path, names, array_size(names)) || is_above(path, folders, array_size(folders));
}
