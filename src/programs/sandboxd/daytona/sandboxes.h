/* SPDX-License-Identifier: Apache-2.0 */
/* The control plane of the Daytona API: sandboxes, their states, labels and intervals. */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_SANDBOXES_H
#define PROGRAMS_SANDBOXD_DAYTONA_SANDBOXES_H

#include "programs/sandboxd/call.h"
#include "programs/sandboxd/service.h"

enum {
    DAYTONA_MAX_BODY_BYTES = 1 << 20,
    DAYTONA_URL_BYTES = 512,
    DAYTONA_MB_PER_GB = 1024,
};

/* The sandbox of the request's first id, which may be a name; NULL after a 404. */
struct sandbox *daytona_find(const struct api_call *call);

struct details;

/* Its details, to be changed, which one of the other API gets now; NULL after an answer. */
struct details *daytona_change_details(const struct api_call *call, struct sandbox *sandbox);

/* "http://HOST:PORT", as the client of the request sees this service. */
void daytona_base_url(const struct service *service, const struct http_request *request,
                      char out_url[DAYTONA_URL_BYTES]);

/* Whom the API calls an organization: the tenant, or the administrator. */
struct str daytona_organization(const char *owner);

/* ---- a sandbox as the API shows it ---- */

const char *daytona_state_name(const struct sandbox *sandbox);
/* `url` is that of daytona_base_url(). */
void daytona_write_sandbox(struct json_writer *json, const struct sandbox *sandbox,
                           const char *url);
void daytona_answer_sandbox(struct exchange *exchange, const struct sandbox *sandbox);
/* One that is not there: what is known of it, with another state, and the reason or NULL. */
void daytona_answer_unbuilt(struct exchange *exchange, const struct sandbox *sandbox,
                            const char *state, const char *reason);
/* {"url"} with this path of the service. */
void daytona_answer_url(const struct api_call *call, const char *path);

/* ---- endpoints ---- */

void daytona_create(const struct api_call *call);
void daytona_get(const struct api_call *call);
void daytona_list(const struct api_call *call);
void daytona_list_pages(const struct api_call *call);
void daytona_remove(const struct api_call *call);
void daytona_start(const struct api_call *call);
void daytona_stop(const struct api_call *call);
void daytona_set_labels(const struct api_call *call);
void daytona_set_auto_stop(const struct api_call *call);
void daytona_set_auto_delete(const struct api_call *call);
void daytona_set_auto_archive(const struct api_call *call);
void daytona_archive(const struct api_call *call);
void daytona_note_activity(const struct api_call *call);
void daytona_get_toolbox_url(const struct api_call *call);

#endif
