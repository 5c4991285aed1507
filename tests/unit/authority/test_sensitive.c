/* SPDX-License-Identifier: Apache-2.0 */
/* Which names stand for files with passwords, tokens or private keys. */
#include "test.h"

#include <limits.h>

#include "authority/names/sensitive.h"

static void expect_all(const char *const *paths, size_t count, bool is_sensitive)
{
    for (size_t i = 0; i < count; i++)
        if (sensitive_is_path(str_from(paths[i])) != is_sensitive)
            fail_msg("%s is%s sensitive", paths[i], is_sensitive ? " not" : "");
}

static void keys_tokens_and_passwords_are_sensitive(void **state)
{
    static const char *const paths[] = {
        ".env",
        "a/b/.env",
        "/srv/app/.env",
        ".env.local",
        ".ENV",
        "sub/.env.production.local",
        "prod.env",
        ".envrc",
        ".npmrc",
        "x/.netrc",
        "_netrc",
        ".pypirc",
        "server.pem",
        "tls/server.KEY",
        "a.p12",
        "a.pfx",
        "vault.kdbx",
        "id_rsa",
        "keys/id_ed25519",
        ".ssh/anything",
        "/srv/.ssh/config",
        ".aws/credentials",
        "home/.aws/sso/cache/x.json",
        ".kube/config",
        "kubeconfig",
        "dev.kubeconfig",
        ".docker/config.json",
        ".config/gcloud/credentials.db",
        ".password-store/mail.gpg",
        ".cargo/credentials.toml",
        ".git-credentials",
        ".pgpass",
        ".gnupg/private-keys-v1.d/1.key",
    };

    (void)state;
    expect_all(paths, array_size(paths), true);
}

static void other_names_are_not(void **state)
{
    static const char *const paths[] = {
        "",
        ".",
        "/",
        "env",
        "environment.ts",
        ".env.example",
        "a/.env.sample",
        ".env.template",
        ".env.dist",
        "main.c",
        "keys.ts",
        "monkey",
        "key",
        ".key/readme",
        "pem",
        "src/.environment",
        "id_rsa.pub",
        ".ssh/id_rsa.pub",
        ".ssh/known_hosts",
        "aws/credentials",
        "xaws/credentials",
        "docker/config.json",
        "config.json",
        "credentials.toml",
        "my.aws",
        ".awsome/x",
        "npmrc",
        ".npmrc/x",
    };

    (void)state;
    expect_all(paths, array_size(paths), false);
}

static void a_folder_above_the_root_tells_too(void **state)
{
    cleanup_free char *longest = calloc(1, PATH_MAX);

    (void)state;
    assert_non_null(longest);
    memset(longest, 'x', PATH_MAX - 1);
    assert_true(sensitive_is_below(STR("/srv/home/.config"), STR("gh/hosts.yml")));
    assert_true(sensitive_is_below(STR("/srv/home/.aws/sso"), STR("x")));
    assert_true(sensitive_is_below(STR("/srv"), STR("a/.env")));
    assert_false(sensitive_is_below(STR("/srv/home/.config"), STR("other/hosts.yml")));
    assert_false(sensitive_is_below(STR("/"), STR("a")));
    assert_true(sensitive_is_below(STR("/srv"), str_from(longest)));
}

static void folders_make_secrets_of_what_is_in_them(void **state)
{
    static const char *const yes[] = {
        ".aws",    "a/.SSH",     ".aws/sso",       "/srv/.aws/sso/cache",
        ".docker", "in/.config", ".config/gh/sub", ".local/share"};
    static const char *const no[] = {"",     "/",        "src",        ".git",
                                     "aws",  "my.aws",   ".config/x",  "share",
                                     ".env", "x.docker", ".config/ghx"};

    (void)state;
    for (size_t i = 0; i < array_size(yes); i++)
        if (!sensitive_is_folder(str_from(yes[i])))
            fail_msg("%s makes no secrets", yes[i]);
    for (size_t i = 0; i < array_size(no); i++)
        if (sensitive_is_folder(str_from(no[i])))
            fail_msg("%s makes secrets", no[i]);
}

TEST_MAIN(cmocka_unit_test(keys_tokens_and_passwords_are_sensitive),
          cmocka_unit_test(other_names_are_not),
          cmocka_unit_test(a_folder_above_the_root_tells_too),
          cmocka_unit_test(folders_make_secrets_of_what_is_in_them))
