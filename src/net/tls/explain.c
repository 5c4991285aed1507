/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls/internal.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>

enum { HOST_BYTES = 96 };

/* The host that the client wanted to reach. */
static void name_host(const struct tls_filter *tls, char out_host[HOST_BYTES])
{
    X509_VERIFY_PARAM *param = SSL_get0_param(tls->ssl);
    const char *host = X509_VERIFY_PARAM_get0_host(param, 0);
    char *address = host == NULL ? X509_VERIFY_PARAM_get1_ip_asc(param) : NULL;

    if (host == NULL)
        host = address != NULL ? address : "the peer";
    snprintf(out_host, HOST_BYTES, "%s", host);
    OPENSSL_free(address);
}

static int explain_certificate(const struct tls_filter *tls, long result, struct err *err)
{
    const char *detail = X509_verify_cert_error_string(result);
    char host[HOST_BYTES];

    name_host(tls, host);
    switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return err_set(err, ERR_TLS_EXPIRED,
                       "the certificate of %s has expired: renew it there, or correct the clock of "
                       "this machine",
                       host);
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return err_set(err, ERR_TLS_EXPIRED,
                       "the certificate of %s is not valid yet: check the clock of this machine",
                       host);
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return err_set(err, ERR_TLS_WRONG_HOST,
                       "the certificate is not for %s: use a name that it is valid for; otherwise "
                       "somebody may be intercepting the connection",
                       host);
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_UNTRUSTED:
        return err_set(err, ERR_TLS_UNTRUSTED,
                       "the certificate of %s is not signed by a trusted authority (%s): add that "
                       "authority to the trusted ones",
                       host, detail);
    default:
        return err_set(err, ERR_TLS_CERTIFICATE,
                       "the certificate of %s is not acceptable (%s): replace it there", host,
                       detail);
    }
}

/* The alert that the peer sent before it closed. */
static int explain_alert(int alert, struct err *err)
{
    const char *detail = SSL_alert_desc_string_long(alert);

    switch (alert) {
    case SSL3_AD_BAD_CERTIFICATE:
    case SSL3_AD_UNSUPPORTED_CERTIFICATE:
    case SSL3_AD_CERTIFICATE_REVOKED:
    case SSL3_AD_CERTIFICATE_EXPIRED:
    case SSL3_AD_CERTIFICATE_UNKNOWN:
    case TLS1_AD_UNKNOWN_CA:
        return err_set(err, ERR_TLS_HANDSHAKE,
                       "the peer does not accept our certificate (%s): check its dates and names, "
                       "or let the peer trust its authority",
                       detail);
    case TLS1_AD_PROTOCOL_VERSION:
        return err_set(err, ERR_TLS_VERSION,
                       "the peer requires a TLS version other than 1.2 and 1.3: update the peer");
    default:
        return err_set(err, ERR_TLS_HANDSHAKE, "the peer refused the connection (%s)", detail);
    }
}

static int explain_handshake(int reason, const char *detail, struct err *err)
{
    switch (reason) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_UNSUPPORTED_SSL_VERSION:
    case SSL_R_UNKNOWN_PROTOCOL:
        return err_set(err, ERR_TLS_VERSION,
                       "the peer does not support TLS 1.2 or later: update the peer");
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
        return err_set(err, ERR_TLS_HANDSHAKE,
                       "the peer used plain HTTP where TLS is required: use https:// there");
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
        return err_set(err, ERR_TLS_HANDSHAKE, "the peer did not respond with TLS: check the port");
    case SSL_R_NO_SHARED_CIPHER:
        return err_set(err, ERR_TLS_HANDSHAKE, "no common cipher with the peer: update the peer");
    case SSL_R_NO_APPLICATION_PROTOCOL:
        return err_set(err, ERR_TLS_HANDSHAKE, "the peer does not offer HTTP/1.1");
    default:
        return err_set(err, ERR_TLS_HANDSHAKE, "the TLS handshake failed (%s)", detail);
    }
}

int tls_explain(const struct tls_filter *tls, struct err *err)
{
    unsigned long error = ERR_peek_last_error();
    const char *detail = ERR_reason_error_string(error);
    int reason = ERR_GET_REASON(error);
    long verified = SSL_get_verify_result(tls->ssl);

    if (detail == NULL)
        detail = "no reason given";
    if (tls->wire_failure < 0)
        return err_set_plain(err, tls->wire_failure);
    if (reason == ERR_R_MALLOC_FAILURE)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (tls->has_reached_ceiling && tls->state == TLS_HANDSHAKE)
        return err_set(err, ERR_TLS_HANDSHAKE, "the TLS handshake of the peer exceeds %d KB",
                       TLS_MAX_HANDSHAKE_BYTES / 1024);
    if (tls->has_reached_ceiling)
        return err_set(err, ERR_TLS_BROKEN, "the peer keeps the connection busy without data");
    if (tls->state == TLS_HANDSHAKE && !tls->context->is_server && verified != X509_V_OK)
        return explain_certificate(tls, verified, err);
    if (tls->state == TLS_HANDSHAKE && reason > SSL_AD_REASON_OFFSET)
        return explain_alert(reason - SSL_AD_REASON_OFFSET, err);
    if (tls->state == TLS_HANDSHAKE)
        return explain_handshake(reason, detail, err);
    return err_set(err, ERR_TLS_BROKEN, "the TLS connection is corrupt (%s): connect again",
                   detail);
}
