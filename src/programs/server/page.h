/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the web page, generated from web/ by scripts/make-page. */
#ifndef PROGRAMS_SERVER_PAGE_H
#define PROGRAMS_SERVER_PAGE_H

#include "net/http/assets.h"

extern const struct asset page_assets[];
extern const size_t page_asset_count;
extern const char page_policy[]; /* its Content-Security-Policy */

#endif
