/* SPDX-License-Identifier: Apache-2.0 */
/* What the service says of itself: health, metrics, what it isolates by. */
#ifndef PROGRAMS_SANDBOXD_ABOUT_H
#define PROGRAMS_SANDBOXD_ABOUT_H

#include "programs/sandboxd/call.h"

void about_health(const struct api_call *call);
void about_metrics(const struct api_call *call);
void about_capabilities(const struct api_call *call);

#endif
