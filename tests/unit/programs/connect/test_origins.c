/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>

#include "draw.h"
#include "programs/connect/origins.h"

static struct origins origins;

static bool allows(const char *pattern, const char *origin)
{
    struct err err = ERR_INIT;

    origins_init(&origins);
    if (origins_add_pattern(&origins, str_from(pattern), &err) < 0)
        fail_msg("%s: %s", pattern, err.message);
    return origins_allow(&origins, str_from(origin));
}

static void pages_of_the_server_are_allowed_and_no_others(void **state)
{
    struct httpurl url;

    (void)state;
    origins_init(&origins);
    assert_false(origins_allow(&origins, STR("http://localhost:5678")));
    assert_int_equal(httpurl_parse(STR("http://localhost:5678/n8n/"), &url, NULL), 0);
    assert_int_equal(origins_add_server(&origins, &url, NULL), 0);
    assert_true(origins_allow(&origins, STR("http://localhost:5678")));
    assert_true(origins_allow_server(&origins, &url));
    assert_false(origins_allow(&origins, STR("https://localhost:5678")));
    assert_false(origins_allow(&origins, STR("http://localhost:5679")));
    assert_false(origins_allow(&origins, STR("http://localhost")));
    assert_false(origins_allow(&origins, STR("http://127.0.0.1:5678")));
    assert_false(origins_allow(&origins, STR("http://localhost.evil.example:5678")));
}

static void patterns_fit_as_they_are_read(void **state)
{
    (void)state;
    assert_true(allows("https://n8n.example", "https://n8n.example"));
    assert_true(allows(" https://N8N.example:443/ ", "https://n8n.example"));
    assert_false(allows("https://n8n.example", "https://n8n.example:8443"));
    assert_true(allows("https://*.n8n.example", "https://a.n8n.example"));
    assert_false(allows("https://*.n8n.example", "https://a.b.n8n.example"));
    assert_false(allows("https://*.n8n.example", "https://n8n.example"));
    assert_false(allows("https://*.n8n.example", "http://a.n8n.example"));
    assert_false(allows("https://*.n8n.example", "https://a.n8n.example.evil.test"));
    assert_true(allows("https://n8n-*.our.example", "https://n8n-7.our.example"));
    assert_false(allows("https://n8n-*.our.example", "https://n8n-7.evil.our.example"));
    assert_true(allows("http://localhost:*", "http://localhost:5678"));
    assert_true(allows("http://localhost:*", "http://localhost"));
    assert_false(allows("http://localhost:*", "http://localhost.evil.test:5678"));
    assert_true(allows("http://10.0.0.1:*", "http://10.0.0.1:5678"));
    assert_false(allows("http://10.0.0.1:*", "http://10.0.0.123"));
    assert_false(allows("http://10.0.0.1:*", "http://10.0.0.123:5678"));
    assert_false(allows("http://10.0.0.1:5678", "http://10.0.0.1:56789"));
    assert_false(allows("http://10.0.0.1:5678", "http://10.0.0.1"));
    assert_true(allows("http://*.localhost:5678", "http://a.localhost:5678"));
    assert_true(allows("http://[::1]:5678", "http://[::1]:5678"));
    assert_true(allows("http://n8n-*.localhost", "http://n8n-7.localhost"));
}

static void patterns_that_take_in_strangers_are_refused(void **state)
{
    static const char *const rows[] = {
        "",
        "*",
        "null",
        "n8n.example",
        "https://",
        "https://*",
        "*://n8n.example",
        "http*://n8n.example",
        "https://*.com",
        "https://**.com",
        "https://n8n.*",
        "https://n8n.c*",
        "https://*.*",
        "https://n8n-*.com",
        "https://*n8n.com",
        "https://n*n.com:*",
        "https://a.n8n-*.com",
        "https://*.com.",
        "https://n8n-*",
        "http://localhos*",
        "http://*localhost",
        "https://a.*.com",
        "https://n8n.example:44*",
        "https://n8n.example:**",
        "https://n8n.example/path",
        "https://n8n.example/*",
        "https://n8n.example//",
        "https://user@n8n.example",
        "https://n8n.example?x",
        "https://n8n.example#x",
        "https://n8n .example",
        "https://[::*]:80",
        "https://m\xc3\xbcnster.example",
        "https://10.0.0.*",
        "ftp://n8n.example",
        "https://n8n.example,https://other.example",
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        struct err err = ERR_INIT;

        origins_init(&origins);
        if (origins_add_pattern(&origins, str_from(rows[i]), &err) != ERR_INVALID_OPTION)
            fail_msg("taken: %s", rows[i]);
        assert_int_equal(origins.count, 0);
        assert_true(err.message[0] != '\0');
    }
}

static void pages_are_taken_by_the_letter(void **state)
{
    static const char *const rows[] = {
        "",
        "null",
        "https://n8n.example/",
        "https://n8n.example:443",
        "https://N8N.example",
        "HTTPS://n8n.example",
        "https://n8n.example https://n8n.example",
        "https://user@n8n.example",
        "https://n8n.example?",
        "https://n8n.example.",
        "https://*.example",
        " https://n8n.example",
    };

    (void)state;
    assert_true(allows("https://n8n.example", "https://n8n.example"));
    for (size_t i = 0; i < array_size(rows); i++)
        if (origins_allow(&origins, str_from(rows[i])))
            fail_msg("allowed: %s", rows[i]);
}

static void there_is_a_ceiling(void **state)
{
    char text[64];

    (void)state;
    origins_init(&origins);
    for (int i = 0; i < ORIGINS_MAX; i++) {
        snprintf(text, sizeof(text), "https://host-%d.example", i);
        assert_int_equal(origins_add_pattern(&origins, str_from(text), NULL), 0);
    }
    assert_int_equal(origins_add_pattern(&origins, STR("https://a.example"), NULL), ERR_TOO_LARGE);
    assert_true(origins_allow(&origins, STR("https://host-63.example")));
    assert_false(origins_allow(&origins, STR("https://a.example")));
}

/* What a pattern means, said once more: a star is any number of characters other than dots. */
static bool means(const char *pattern, const char *host)
{
    if (*pattern == '\0')
        return *host == '\0';
    if (*pattern == '*')
        return means(pattern + 1, host) ||
               (*host != '\0' && *host != '.' && means(pattern, host + 1));
    return *pattern == *host && means(pattern + 1, host + 1);
}

static void drawn_patterns_fit_what_they_mean(void **state)
{
    static const char *const pieces[] = {"*", "a", "b", "-", ".", "ab", "b.a"};
    static const char *const letters[] = {"a", "b", "-", ".", "ab", "b.a"};
    size_t taken = 0;
    size_t fitted = 0;

    (void)state;
    draw_seed = 7655;
    for (int i = 0; i < 200000; i++) {
        char host_pattern[64];
        char host[64];
        char pattern[128];
        char origin[128];

        host_pattern[draw_text(host_pattern, 6, pieces, array_size(pieces)).len] = '\0';
        host[draw_text(host, 6, letters, array_size(letters)).len] = '\0';
        snprintf(pattern, sizeof(pattern), "https://%s.example.org", host_pattern);
        snprintf(origin, sizeof(origin), "https://%s.example.org", host);
        origins_init(&origins);
        if (origins_add_pattern(&origins, str_from(pattern), NULL) < 0)
            continue;
        taken++;
        if (origins_allow(&origins, str_from(origin))) {
            fitted++;
            if (!means(host_pattern, host))
                fail_msg("%s allows %s", pattern, origin);
        } else {
            struct httpurl url;

            if (means(host_pattern, host) && httpurl_parse(str_from(origin), &url, NULL) == 0)
                fail_msg("%s does not allow %s", pattern, origin);
        }
    }
    assert_true(taken > 10000);
    assert_true(fitted > 1000);
}

TEST_MAIN(cmocka_unit_test(pages_of_the_server_are_allowed_and_no_others),
          cmocka_unit_test(patterns_fit_as_they_are_read),
          cmocka_unit_test(patterns_that_take_in_strangers_are_refused),
          cmocka_unit_test(pages_are_taken_by_the_letter), cmocka_unit_test(there_is_a_ceiling),
          cmocka_unit_test(drawn_patterns_fit_what_they_mean))
