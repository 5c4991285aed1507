/* SPDX-License-Identifier: Apache-2.0 */
/* What OAuth sends as text. */
#include "programs/server/oauthwire.h"

#include "base/err.h"
#include "test.h"

static void forms_are_decoded(void **state)
{
    static const struct str names[] = {STR_LITERAL("a"), STR_LITERAL("b c"), STR_LITERAL("none"),
                                       STR_LITERAL("empty"), STR_LITERAL("bare")};
    cleanup_arena struct arena arena = ARENA_INIT(4096);
    struct str values[5];

    (void)state;
    assert_int_equal(oauthwire_read_form(&arena, STR("a=1%2b+2%3D&&other=%41&b+c=x&empty=&bare"),
                                         names, 5, values),
                     0);
    assert_true(str_eq(values[0], STR("1+ 2=")));
    assert_true(str_eq(values[1], STR("x")));
    assert_null(values[2].ptr);
    assert_non_null(values[3].ptr);
    assert_int_equal(values[3].len, 0);
    assert_non_null(values[4].ptr);
    assert_int_equal(oauthwire_read_form(&arena, STR_EMPTY, names, 5, values), 0);
    assert_null(values[0].ptr);
}

static void ambiguous_forms_are_refused(void **state)
{
    static const struct str names[] = {STR_LITERAL("a")};
    static const char *const texts[] = {"a=1&a=1", "a=1&%61=2", "a=%0", "a=%zz",
                                        "a=%",     "a=%00",     "%0=1"};
    cleanup_arena struct arena arena = ARENA_INIT(4096);
    struct str values[1];

    (void)state;
    for (size_t i = 0; i < array_size(texts); i++)
        assert_int_equal(oauthwire_read_form(&arena, str_from(texts[i]), names, 1, values),
                         ERR_INVALID_REQUEST);
    /* What nobody asks for may come twice. */
    assert_int_equal(oauthwire_read_form(&arena, STR("b=1&b=2&a=3"), names, 1, values), 0);
    assert_true(str_eq(values[0], STR("3")));
}

static void values_are_encoded(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(256);

    (void)state;
    assert_int_equal(oauthwire_append(&out, STR("state"), STR("a b&c=\xc3\xa4#~")), 0);
    assert_true(str_eq(buf_view(&out), STR("&state=a%20b%26c%3D%C3%A4%23~")));
}

static void only_safe_redirects_are_read(void **state)
{
    static const char *const good[] = {
        "https://app.example/back",       "https://app.example",
        "https://app.example:8443/b?x=1", "http://127.0.0.1/cb",
        "http://127.0.0.1:49152/cb",      "http://[::1]:8080/",
        "http://localhost:3000/oauth/cb", "https://[2001:db8::1]/x",
    };
    static const char *const bad[] = {
        "",
        "https://",
        "https:///x",
        "http://app.example/back",
        "http://127.0.0.2/",
        "http://127.0.0.1.evil.example/",
        "http://localhost.evil.example/",
        "http://LOCALHOST/",
        "http://localhost@evil.example/",
        "https://user@app.example/",
        "https://app.example/#x",
        "https://app.example\\@evil.example/",
        "https://app.example/ x",
        "https://app.example/\tx",
        "https://app.example/\nx",
        "https://app.example/\x7f",
        "https://app.example/\xc3\xa4",
        "https://app.example:0/",
        "https://app.example:65536/",
        "https://app.example:/",
        "https://app.example:8a/",
        "https://%61pp.example/",
        "https://[::1",
        "https://[]/",
        "HTTPS://app.example/",
        "javascript:alert(1)",
        "javascript://127.0.0.1/%0aalert(1)",
        "data:text/html,x",
        "cursor://app/back",
        "//app.example/",
        "/back",
    };
    struct oauthwire_redirect redirect;

    (void)state;
    for (size_t i = 0; i < array_size(good); i++)
        if (!oauthwire_read_redirect(str_from(good[i]), &redirect))
            fail_msg("'%s' is refused", good[i]);
    for (size_t i = 0; i < array_size(bad); i++)
        if (oauthwire_read_redirect(str_from(bad[i]), &redirect))
            fail_msg("'%s' is accepted", bad[i]);
    assert_true(oauthwire_read_redirect(STR("http://[::1]:8080/a?b"), &redirect));
    assert_true(redirect.is_loopback);
    assert_true(str_eq(redirect.host, STR("[::1]")));
    assert_true(str_eq(redirect.rest, STR("/a?b")));
}

static void redirects_match_exactly_but_for_the_port_on_loopback(void **state)
{
    static const struct {
        const char *registered;
        const char *given;
        bool is_same;
    } rows[] = {
        {"https://app.example/back", "https://app.example/back", true},
        {"https://app.example/back", "https://app.example/back/", false},
        {"https://app.example/back", "https://app.example/back?x=1", false},
        {"https://app.example/back", "https://app.example:8443/back", false},
        {"https://app.example/back", "https://app.example/BACK", false},
        {"https://app.example/back", "https://app.example/a/../back", false},
        {"http://127.0.0.1/cb", "http://127.0.0.1:51234/cb", true},
        {"http://127.0.0.1:1/cb", "http://127.0.0.1:51234/cb", true},
        {"http://127.0.0.1/cb", "http://127.0.0.1:51234/other", false},
        {"http://127.0.0.1/cb", "http://localhost:51234/cb", false},
        {"http://localhost:8080/cb", "http://localhost/cb", true},
        {"https://localhost/cb", "https://localhost:1/cb", false},
        {"http://localhost/cb", "https://localhost/cb", false},
        {"javascript:1", "javascript:1", false},
    };

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++)
        if (oauthwire_is_same_redirect(str_from(rows[i].registered), str_from(rows[i].given)) !=
            rows[i].is_same)
            fail_msg("'%s' and '%s'", rows[i].registered, rows[i].given);
}

static void a_proof_fits_its_challenge_only(void **state)
{
    /* RFC 7636, appendix B */
    const struct str verifier = STR("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    const struct str challenge = STR("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");

    (void)state;
    assert_true(oauthwire_verify(challenge, verifier));
    assert_false(oauthwire_verify(challenge, challenge));
    assert_false(oauthwire_verify(challenge, STR("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXj")));
    assert_false(oauthwire_verify(challenge, STR("short")));
    assert_false(oauthwire_verify(challenge, STR_EMPTY));
    assert_false(oauthwire_verify(STR_EMPTY, STR_EMPTY));
    assert_true(oauthwire_is_challenge(challenge));
    assert_false(oauthwire_is_challenge(STR("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM")));
    assert_false(oauthwire_is_challenge(STR("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM=")));
}

TEST_MAIN(cmocka_unit_test(forms_are_decoded), cmocka_unit_test(ambiguous_forms_are_refused),
          cmocka_unit_test(values_are_encoded), cmocka_unit_test(only_safe_redirects_are_read),
          cmocka_unit_test(redirects_match_exactly_but_for_the_port_on_loopback),
          cmocka_unit_test(a_proof_fits_its_challenge_only))
