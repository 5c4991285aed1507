/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to the tools for web pages: browsertools.c is the provider, reach.c says which hosts a
 * call reaches and whether it may, pagefiles.c reads the files of file: pages, describe.c puts
 * calls into words, credentials.c has the secrets.
 */
#ifndef BROWSER_BROWSERTOOLS_INTERNAL_H
#define BROWSER_BROWSERTOOLS_INTERNAL_H

#include "base/list.h"
#include "base/schema/schema.h"
#include "browser/browsertools.h"
#include "browser/redacted.h"
#include "browser/secrets.h"
#include "permission/rules/form.h"
#include "protocol/toolids.h"

enum {
    BROWSER_MESSAGE_BYTES = 64 << 20,
    BROWSER_RESULT_BYTES = 256 << 20,
    BROWSER_HOST_BYTES = FORM_HOST_MAX_BYTES + 3,
    BROWSER_FIRST_TOOL = TOOL_BROWSER_CONNECT,
    BROWSER_TOOLS = TOOL_BROWSER_CREATE_CREDENTIAL - TOOL_BROWSER_CONNECT + 1,
};

#define BROWSER_LOCAL "local" /* the mode */

/* What browser_connect does unless the agent says otherwise; empty: as its description says. */
struct browser_default {
    struct str browser;
    struct str mode;
    struct str profile;
};

struct browser_tools {
    struct browser_tools_config config;
    struct browser_default defaults;
    struct arena arena;
    const struct schema *schemas[BROWSER_TOOLS];
    struct browser_secrets *secrets;
    struct browser_redacted *redacted; /* NULL: no secret can be captured */
    struct list posts;                 /* calls that wait for the server */
    struct list opening;               /* calls that run and open a file */
    uint64_t last_number;              /* of the call that began last, in the audit log */
    /* What pages of files are made of: */
    struct executor *files; /* NULL: there are no files */
    const char *first_dir;  /* where relative addresses begin */
    bool is_without_files;  /* by now */
    struct list wanted_files;
    size_t page_files;
    size_t page_files_at_work;
    struct loop_task next_page_file;
};

struct browser_call {
    struct browser_tools *tools;
    const struct catalog_tool *tool;
    const struct json_value *arguments;
    uint64_t number;
    char page[BROWSER_PAGE_ID_BYTES];   /* or empty */
    char page_host[BROWSER_HOST_BYTES]; /* where it is; empty: nowhere */
    char to_host[BROWSER_HOST_BYTES];   /* where the call leads; empty: nowhere */
    char *to_file;                      /* that the call opens, absolute; or NULL */
    char *to_url;                       /* the same as an address */
    struct list opening;                /* while it runs, if it opens a file */
    bool is_anywhere;                   /* it can reach any host */
    bool is_users_page;                 /* a tab of the user, in his own browser */
    bool is_local;                      /* it connects to the user's own browser */
    struct provider_events events;
    struct authority_note intent;
    uint64_t id;
    struct list post; /* in the list of the tools, while the server is asked */
    void *credential; /* then: its handle */
};

/* Records the outcome, hands the result on and frees the call. */
void browser_call_end(struct browser_call *call, int error, struct buf *result);

/* ---- reach.c ---- */

/* Where the page of a call is by now; empty: nowhere. */
void browser_call_host_now(const struct browser_call *call, char out_host[BROWSER_HOST_BYTES]);
/* Finds the page and the hosts that the arguments are about. */
int browser_call_aim(struct browser_call *call, struct err *err);
int browser_call_subject(void *data, const void *session, struct arena *arena,
                         const struct cancel *cancel, struct provider_subject *out_subject,
                         struct err *err);
/* The user has chosen his own browser, not one that is started. */
bool browser_is_local_default(const struct browser_tools *tools);
/* What no part of the browser may reach, as rules of its resolver. */
int browser_tools_write_own(const struct browser_tools_config *config, struct buf *out);
/* Whether a page may go to a host by itself. */
bool browser_tools_may_go(void *data, struct str host, uint16_t port, bool is_agreed,
                          bool *out_is_named);

/* ---- pagefiles.c ---- */

bool browser_tools_have_files(const struct browser_tools *tools);
/* The browser stopped at a request for a file, and gets an answer. */
void browser_tools_want_file(void *data, const struct browser_client_want *want, struct str url);
void browser_tools_next_file(void *data);

/* ---- describe.c ---- */

int browser_call_preview(void *data, struct arena *arena, enum decision_disclosure disclosure,
                         const struct cancel *cancel, struct question *question, struct err *err);
int browser_call_note(const struct browser_call *call, const char *decision,
                      struct authority_note *note);
void browser_call_refused(void *data, const void *session,
                          const struct permission_resource *resource, const char *source,
                          const char *rule, int code);

/* ---- credentials.c ---- */

/* The secret stays here: the result only names it. */
int browser_call_keep_secret(struct browser_call *call, struct str secret, struct buf *out);
/* The same for a key that a result has hidden. */
int browser_call_keep_redacted(struct browser_call *call, struct buf *out);
/* Creates the credential; browser_call_end() follows unless it fails. */
int browser_call_post(struct browser_call *call, struct err *err);
void browser_tools_drop_posts(struct browser_tools *tools);

#endif
