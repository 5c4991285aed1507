/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/signature.h"

#include "base/base64.h"
#include "base/secret.h"
#include "base/sha256.h"

enum { TEXT_BYTES = 64, MOST_DIGITS = 12 };

/* A number has one form only, and no colon, so that the signed text has one meaning only. */
static bool read_expires(struct str text, int64_t *out_s)
{
    if (text.len == 0 || text.len > MOST_DIGITS || (text.ptr[0] == '0' && text.len > 1))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return str_to_int64(text, out_s);
}

static int write_expected(const struct signature *signature, struct str key, struct buf *out)
{
    unsigned char digest[SHA256_BYTES];
    struct hmac mac;
    int r = buf_append_str(out, STR("v1_"));

    hmac_init(&mac, key);
    hmac_add(&mac, STR("v1:files:"));
    hmac_add(&mac, signature->method);
    hmac_add(&mac, STR(":"));
    hmac_add(&mac, signature->path);
    hmac_add(&mac, STR(":"));
    hmac_add(&mac, signature->expires);
    hmac_end(&mac, digest);
    return r < 0 ? r : base64_append_url(out, (struct str){(const char *)digest, sizeof(digest)});
}

bool signature_is_valid(const struct signature *signature, struct str key, int64_t now_s)
{
    cleanup_buf struct buf expected = BUF_INIT(TEXT_BYTES);
    int64_t until_s;

    return key.len > 0 && signature->path.len > 0 && read_expires(signature->expires, &until_s) &&
           write_expected(signature, key, &expected) == 0 && signature->text.len == expected.len &&
           secret_bytes_eq(signature->text.ptr, expected.data, expected.len) &&
           (until_s == 0 || now_s < until_s);
}
