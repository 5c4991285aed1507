/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The endpoints of the Daytona API: the control plane below /api, and the toolbox of a sandbox
 * below /toolbox/{id}.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_ROUTES_H
#define PROGRAMS_SANDBOXD_DAYTONA_ROUTES_H

#include "programs/sandboxd/endpoint.h"

extern const struct endpoint_table daytona_endpoints;

#endif
