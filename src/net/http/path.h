/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of a request, decoded once and for all. What two readers could take for two paths is
 * refused: a slash, backslash or control that hides behind a percent sign, text that would decode
 * to something else a second time, "." and "..", empty segments.
 */
#ifndef NET_HTTP_PATH_H
#define NET_HTTP_PATH_H

#include "base/buf.h"
#include "base/str.h"

/*
 * `raw` begins with a slash and has no query. *out_path is `raw` itself or text in `space`.
 * ERR_HTTP_PATH when it is refused.
 */
int httppath_decode(struct str raw, struct buf *space, struct str *out_path);

#endif
