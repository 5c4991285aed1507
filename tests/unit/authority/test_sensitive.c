/* SPDX-License-Identifier: Apache-2.0 */
/* Which names stand for files with passwords, tokens or private keys. */
#include "test.h"

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

TEST_MAIN(cmocka_unit_test(keys_tokens_and_passwords_are_sensitive),
          cmocka_unit_test(other_names_are_not))
