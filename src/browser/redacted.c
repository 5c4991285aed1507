/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/redacted.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/redactkeys.h"
#include "base/secret.h"

enum { HOST_BYTES = 260, MARK_BYTES = 64 };

struct hidden {
    char host[HOST_BYTES];
    char mark[MARK_BYTES];
    struct secret_text key; /* as it stands in the text */
    size_t number;
};

struct browser_redacted {
    struct hidden *items[BROWSER_REDACTED_MAX]; /* by number, the oldest give way; or NULL */
    size_t count;
};

int browser_redacted_new(struct browser_redacted **out_redacted)
{
    *out_redacted = calloc(1, sizeof(**out_redacted));
    return *out_redacted != NULL ? 0 : ERR_NO_MEMORY;
}

static void forget(struct hidden **hidden)
{
    if (*hidden == NULL)
        return;
    secret_text_done(&(*hidden)->key);
    free(*hidden);
    *hidden = NULL;
}

void browser_redacted_clear(struct browser_redacted *redacted)
{
    for (size_t i = 0; i < BROWSER_REDACTED_MAX; i++)
        forget(&redacted->items[i]);
}

void browser_redacted_free(struct browser_redacted *redacted)
{
    if (redacted == NULL)
        return;
    browser_redacted_clear(redacted);
    free(redacted);
}

/* ---- hiding ---- */

struct writing {
    struct browser_redacted *redacted;
    struct str host;
};

/* Lines of a private key end with escapes, of any depth; nothing else in a key needs one. */
static void unescape(char *text, size_t *len)
{
    size_t to = 0;

    for (size_t i = 0; i < *len; i++) {
        if (text[i] != '\\') {
            text[to++] = text[i];
            continue;
        }
        while (i < *len && text[i] == '\\')
            i++;
        if (i < *len)
            text[to++] = (char)(text[i] == 'n' ? '\n' : text[i] == 'r' ? '\r' : text[i]);
    }
    secret_wipe(text + to, *len - to);
    *len = to;
}

/* NULL if it cannot be kept. */
static struct hidden *keep(const struct writing *writing, const char *kind, struct str key,
                           size_t number)
{
    struct hidden *hidden = writing->host.len < HOST_BYTES ? calloc(1, sizeof(*hidden)) : NULL;

    if (hidden == NULL)
        return NULL;
    hidden->key = (struct secret_text)SECRET_TEXT_INIT;
    if (secret_text_set(&hidden->key, key) < 0) {
        forget(&hidden);
        return NULL;
    }
    unescape(hidden->key.bytes, &hidden->key.len);
    snprintf(hidden->host, sizeof(hidden->host), "%.*s", STR_ARG(writing->host));
    snprintf(hidden->mark, sizeof(hidden->mark), "[REDACTED:%s:%zu]", kind, number);
    hidden->number = number;
    return hidden;
}

static size_t number_of(void *data, const char *kind, struct str key)
{
    const struct writing *writing = data;
    struct browser_redacted *redacted = writing->redacted;
    size_t number = redacted->count + 1;
    struct hidden **place = &redacted->items[number % BROWSER_REDACTED_MAX];
    struct hidden *fresh = keep(writing, kind, key, number);

    /* What cannot be kept is hidden all the same. */
    if (fresh != NULL) {
        for (size_t i = 0; i < BROWSER_REDACTED_MAX; i++) {
            const struct hidden *hidden = redacted->items[i];

            /* Revealed to nobody: only compared. */
            if (hidden == NULL || !str_eq_c(writing->host, hidden->host) ||
                !str_eq(secret_text_reveal(&hidden->key), secret_text_reveal(&fresh->key)))
                continue;
            forget(&fresh);
            return hidden->number;
        }
        forget(place);
        *place = fresh;
    }
    redacted->count = number;
    return number;
}

int browser_redacted_write(struct browser_redacted *redacted, struct str host, struct str text,
                           struct buf *out)
{
    struct writing writing = {.redacted = redacted, .host = host};

    return redact_keys_numbered(text, number_of, &writing, out);
}

/* ---- finding ---- */

int browser_redacted_find(const struct browser_redacted *redacted, struct str host, struct str mark,
                          struct str *out_key, struct err *err)
{
    for (size_t i = 0; i < BROWSER_REDACTED_MAX; i++) {
        const struct hidden *hidden = redacted->items[i];

        if (hidden == NULL || !str_eq_c(mark, hidden->mark))
            continue;
        if (host.len == 0 || !str_eq_c(host, hidden->host))
            return err_set(err, ERR_DENIED_BY_POLICY,
                           "Secret capturing failed: the key is of a page of another site; name "
                           "one of its pages with pageId");
        /* Revealed for the credential that is made of it, and nobody else. */
        *out_key = secret_text_reveal(&hidden->key);
        return 0;
    }
    return err_set(err, ERR_NOT_FOUND,
                   "Secret capturing failed: no result has hidden a key of this name, or it is "
                   "not kept any more");
}
