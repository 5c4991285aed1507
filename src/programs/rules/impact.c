/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/rules/impact.h"

#include <limits.h>
#include <string.h>

#include "base/arena.h"
#include "permission/rules/rulebook.h"
#include "programs/rules/subject.h"
#include "session/state.h"

enum { COMMAND_MAX_BYTES = 1 << 20 };

struct counting {
    const struct rulebook *book;
    const struct rule *rule;
    const struct clock *clock;
    int64_t wall_ms;
    int64_t deadline_ms;
    size_t seen; /* folders, too */
    struct impact_count count;
    char path[PATH_MAX]; /* of the folder; the names in it are put behind */
    size_t path_len;
};

static int begin(struct counting *counting, const struct rule *rule, const struct clock *clock,
                 struct rulebook **out_book, struct err *err)
{
    int r = rulebook_new(rule, 1, out_book, err);

    *counting = (struct counting){.book = *out_book,
                                  .rule = rule,
                                  .clock = clock,
                                  .wall_ms = clock_wall_ms(clock),
                                  .deadline_ms = clock_monotonic_ms(clock) + IMPACT_MS};
    return r;
}

/* Whether the next one may be looked at. */
static bool may_go_on(struct counting *counting)
{
    counting->count.is_partial = counting->seen == IMPACT_MAX ||
                                 (counting->seen > 0 && counting->seen % IMPACT_STRIDE == 0 &&
                                  clock_monotonic_ms(counting->clock) >= counting->deadline_ms);
    counting->seen++;
    return !counting->count.is_partial;
}

/* A deny rule for reading is one for writing, too. */
static bool touches(const struct counting *counting, enum catalog_group group, struct str resource,
                    struct str cwd)
{
    const struct rule *rule = counting->rule;

    if (rule->effect == RULE_DENY && subject_is_file(group))
        return rulebook_denies_path(counting->book, group, resource, counting->wall_ms);
    return rulebook_find(counting->book, rule->effect, group, resource, cwd, counting->wall_ms) !=
           NULL;
}

/* Puts a name behind the folder's path; one that is too long is nobody's. */
static bool join(struct counting *counting, struct str name, struct str *out_path)
{
    size_t len = counting->path_len;

    if (name.len > 0 && name.ptr[0] == '/') {
        *out_path = name;
        return true;
    }
    while (str_starts_with(name, STR("./")))
        name = str_slice(name, 2, name.len);
    if (name.len > 0 && !str_eq(name, STR("."))) {
        if (len + 1 + name.len >= sizeof(counting->path))
            return false;
        if (len == 0 || counting->path[len - 1] != '/')
            counting->path[len++] = '/';
        memcpy(counting->path + len, name.ptr, name.len);
        len += name.len;
    }
    *out_path = (struct str){counting->path, len};
    return true;
}

/* ---- calls ---- */

static bool touches_name(struct counting *counting, enum catalog_group group, struct str name)
{
    struct arena arena = ARENA_INIT(COMMAND_MAX_BYTES);
    struct str resource = name;
    bool does = subject_is_file(group)   ? join(counting, name, &resource)
                : group == CATALOG_SHELL ? subject_command(&arena, name, &resource, NULL) == 0
                                         : true;

    does = does &&
           touches(counting, group, resource, (struct str){counting->path, counting->path_len});
    arena_done(&arena);
    return does;
}

static int visit_call(void *data, const struct json_value *record)
{
    struct counting *counting = data;
    const struct json_value *root = json_get(record, STR("root"));
    enum catalog_group group = CATALOG_FILESYSTEM_READ;
    bool is_known;
    struct str text;

    if (!may_go_on(counting))
        return ERR_TIMED_OUT;
    counting->count.looked_at++;
    is_known = json_get_str(record, STR("tool"), &text) && catalog_group_of(text, &group);
    if (!is_known || root == NULL || !json_get_str(root, STR("displayName"), &text) ||
        text.len >= sizeof(counting->path))
        return 0;
    memcpy(counting->path, text.ptr, text.len);
    counting->path_len = text.len;
    if (!json_get_str(record, STR("relativePath"), &text))
        text = STR_EMPTY;
    if (touches_name(counting, group, text) ||
        (json_get_str(record, STR("destinationPath"), &text) &&
         touches_name(counting, group, text)))
        counting->count.touched++;
    return 0;
}

int impact_count_calls(const struct rule *rule, int audit_dir_fd, const struct clock *clock,
                       struct impact_count *out_count, struct err *err)
{
    const struct audit_config config = {.dir_fd = audit_dir_fd, .name = SESSION_AUDIT_NAME};
    struct audit_query query = {.operation = STR("call"), .newest_first = true};
    cleanup_rulebook struct rulebook *book = NULL;
    struct counting counting;
    int r = begin(&counting, rule, clock, &book, err);

    query.since_ms = counting.wall_ms - INT64_C(86400000) * IMPACT_DAYS;
    if (r == 0)
        r = audit_query(&config, &query, visit_call, &counting, NULL, err);
    if (r < 0 && !counting.count.is_partial)
        return r;
    *out_count = counting.count;
    return 0;
}

/* ---- files ---- */

static int visit_file(void *data, const struct authority_entry *entry)
{
    struct counting *counting = data;
    struct str path;

    if (!may_go_on(counting))
        return ERR_TIMED_OUT;
    if (entry->type == AUTHORITY_DIRECTORY)
        return 0;
    counting->count.looked_at++;
    if (join(counting, entry->name, &path) &&
        touches(counting, counting->rule->group, path, STR_EMPTY))
        counting->count.touched++;
    return 0;
}

int impact_count_files(const struct rule *rule, struct authority_scope *folder, const char *path,
                       const struct clock *clock, struct impact_count *out_count, struct err *err)
{
    cleanup_rulebook struct rulebook *book = NULL;
    struct counting counting;
    int r = begin(&counting, rule, clock, &book, err);

    counting.path_len = strlen(path);
    if (counting.path_len >= sizeof(counting.path))
        return err_set_plain(err, ERR_INVALID_PATH);
    memcpy(counting.path, path, counting.path_len);
    if (r == 0)
        r = authority_walk(folder, STR_EMPTY, NULL, visit_file, &counting, err);
    if (r < 0 && !counting.count.is_partial)
        return r;
    *out_count = counting.count;
    return 0;
}
