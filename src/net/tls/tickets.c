/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ticket lets a client return without the whole handshake, and the server stores only the key.
 * OpenSSL would use one key for the lifetime of the process; whoever got hold of it could then
 * decrypt everything that TLS 1.2 sent since the start. So keys are rotated, and wiped.
 */
#include "net/tls/internal.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/rand.h"

static void make_key(struct tls_ticket_key *key)
{
    char bytes[TICKET_CIPHER_BYTES + TICKET_MAC_BYTES];

    rand_bytes(key->name, sizeof(key->name));
    rand_bytes(bytes, sizeof(bytes));
    secret_set(&key->bytes, (struct str){bytes, sizeof(bytes)});
    secret_wipe(bytes, sizeof(bytes));
}

void tls_tickets_done(struct tls_tickets *tickets)
{
    secret_done(&tickets->current.bytes);
    secret_done(&tickets->previous.bytes);
}

static void replace_if_due(struct tls_tickets *tickets, int64_t now_ms)
{
    int64_t age_ms = now_ms - tickets->current_since_ms;
    bool is_first = tickets->current.bytes.len == 0;

    if (!is_first && age_ms < TLS_TICKET_KEY_MS)
        return;
    secret_done(&tickets->previous.bytes);
    if (!is_first && age_ms < 2 * (int64_t)TLS_TICKET_KEY_MS)
        tickets->previous = tickets->current;
    make_key(&tickets->current);
    tickets->current_since_ms = now_ms;
}

static bool is_named(const struct tls_ticket_key *key, const unsigned char *name)
{
    return key->bytes.len > 0 && memcmp(key->name, name, sizeof(key->name)) == 0;
}

/* OpenSSL must see the key. */
static bool set_key(const struct tls_ticket_key *key, const unsigned char *iv, int is_encrypting,
                    EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac)
{
    char digest[] = "SHA256";
    char mac_key[TICKET_MAC_BYTES];
    const unsigned char *bytes = (const unsigned char *)secret_reveal(&key->bytes).ptr;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, mac_key, sizeof(mac_key)),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    bool is_set;

    memcpy(mac_key, bytes + TICKET_CIPHER_BYTES, sizeof(mac_key));
    is_set = EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, bytes, iv, is_encrypting) == 1 &&
             EVP_MAC_CTX_set_params(mac, params) == 1;
    secret_wipe(mac_key, sizeof(mac_key));
    return is_set;
}

/* Returns 1 for a valid key, 2 for one that should be replaced, 0 for none, -1 for a failure. */
static int ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                      EVP_MAC_CTX *mac, int is_encrypting)
{
    const struct tls_filter *tls = SSL_get_app_data(ssl);
    struct tls_tickets *tickets = &tls->context->tickets;

    replace_if_due(tickets, clock_monotonic_ms(tls->context->clock));
    if (is_encrypting) {
        memcpy(name, tickets->current.name, TICKET_NAME_BYTES);
        rand_bytes(iv, (size_t)EVP_CIPHER_get_iv_length(EVP_aes_256_cbc()));
        return set_key(&tickets->current, iv, 1, cipher, mac) ? 1 : -1;
    }
    if (is_named(&tickets->current, name))
        return set_key(&tickets->current, iv, 0, cipher, mac) ? 1 : -1;
    if (is_named(&tickets->previous, name))
        return set_key(&tickets->previous, iv, 0, cipher, mac) ? 2 : -1;
    return 0;
}

void tls_tickets_use(SSL_CTX *ssl_ctx)
{
    SSL_CTX_set_tlsext_ticket_key_evp_cb(ssl_ctx, ticket_key);
}
