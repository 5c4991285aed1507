/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as settings.json: what is parsed and written parses to the same, and from then on is
 * written as the same bytes; a rule that is added and revoked leaves nothing behind; each rule is
 * found by its id.
 */
#include <assert.h>
#include <stdint.h>

#include "permission/rules/expiry.h"
#include "permission/settings/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUT_BYTES = 64 << 20, CHECKED_RULES = 8 };

static void check_same(const struct settings *a, const struct settings *b)
{
    assert(memcmp(a->modes.of, b->modes.of, sizeof(a->modes.of)) == 0);
    assert(a->modes.sensitive == b->modes.sensitive);
    assert(a->modes.allows_autorun == b->modes.allows_autorun);
    assert(memcmp(a->has_mode, b->has_mode, sizeof(a->has_mode)) == 0);
    assert(a->write_access == b->write_access);
    assert(str_eq(a->filesystem_dir, b->filesystem_dir) && str_eq(a->log_level, b->log_level));
    assert(a->warning_count == b->warning_count && a->rule_count == b->rule_count);
    assert(json_eq(a->document, b->document));
    for (size_t i = 0; i < a->rule_count; i++) {
        char ids[2][SETTINGS_ID_BYTES];

        assert(settings_rule_id(&a->rules[i], ids[0]) == 0);
        assert(settings_rule_id(&b->rules[i], ids[1]) == 0);
        assert(memcmp(ids[0], ids[1], sizeof(ids[0])) == 0);
    }
}

static void check_found(const struct settings *settings)
{
    for (size_t i = 0; i < settings->rule_count && i < CHECKED_RULES; i++) {
        char id[SETTINGS_ID_BYTES];
        size_t index = SIZE_MAX;
        int r = settings_rule_id(&settings->rules[i], id);

        assert(r == 0);
        r = settings_find(settings, str_from(id), &index, NULL);
        assert(r == 0 && str_eq(settings->rules[index].pattern, settings->rules[i].pattern));
    }
}

/* One that the document does not have, or else it is as good a change as any. */
static void check_change(struct arena *arena, struct settings *settings)
{
    const struct rule rule = {.group = CATALOG_SHELL,
                              .effect = RULE_DENY,
                              .kind = RULE_PREFIX,
                              .pattern = STR("fuzzed words"),
                              .cwd = STR("/here"),
                              .expires_ms = 1796083200000,
                              .note = STR("note")};
    cleanup_buf struct buf out = BUF_INIT(OUT_BYTES);
    struct settings with;
    size_t before = settings->rule_count;
    int r = settings_add(arena, settings, &rule, NULL);

    if (r < 0) {
        assert(r == ERR_ALREADY_EXISTS || r == ERR_TOO_LARGE);
        return;
    }
    r = settings_write(settings, &out);
    assert(r == 0);
    if (out.len <= SETTINGS_MAX_BYTES) {
        r = settings_parse(arena, buf_view(&out), &with, NULL);
        assert(r == 0 && with.rule_count == before + 1);
    }
    r = settings_revoke(arena, settings, before, NULL);
    assert(r == 0 && settings->rule_count == before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_arena struct arena arena = ARENA_INIT(4 * (size_t)SETTINGS_ARENA_BYTES);
    cleanup_buf struct buf first = BUF_INIT(OUT_BYTES);
    cleanup_buf struct buf second = BUF_INIT(OUT_BYTES);
    struct str text = {(const char *)data, size};
    struct settings settings;
    struct settings again;
    int64_t ms;
    int r;

    if (expiry_read_time(text, &ms))
        assert(ms > 0);
    if (settings_parse(&arena, text, &settings, NULL) < 0)
        return 0;
    check_found(&settings);
    r = settings_write(&settings, &first);
    assert(r == 0);
    /* Indented it may be larger than a file can be. */
    if (first.len > SETTINGS_MAX_BYTES)
        return 0;
    r = settings_parse(&arena, buf_view(&first), &again, NULL);
    assert(r == 0);
    check_same(&settings, &again);
    check_change(&arena, &again);
    r = settings_write(&again, &second);
    assert(r == 0 && str_eq(buf_view(&first), buf_view(&second)));
    return 0;
}
