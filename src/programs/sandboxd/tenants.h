/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoints below /admin: tenants and their keys. Only the administrator's key gets here. */
#ifndef PROGRAMS_SANDBOXD_TENANTS_H
#define PROGRAMS_SANDBOXD_TENANTS_H

#include "programs/sandboxd/call.h"

enum { TENANTS_MAX_BODY_BYTES = 16 << 10 };

void tenants_create(const struct api_call *call);
void tenants_list(const struct api_call *call);
void tenants_get(const struct api_call *call);
void tenants_remove(const struct api_call *call);
void tenants_create_key(const struct api_call *call);
void tenants_list_keys(const struct api_call *call);
void tenants_remove_key(const struct api_call *call);

#endif
