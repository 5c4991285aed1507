/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the path of a request. Ambiguous paths are refused: an encoded slash, backslash or
 * control character, text that would decode again to something else, "." and "..", empty segments.
 */
#ifndef NET_HTTP_PATH_H
#define NET_HTTP_PATH_H

#include "base/buf.h"
#include "base/str.h"

/*
 * `raw` begins with a slash and has no query. *out_path is `raw` itself or text in `space`.
 * ERR_HTTP_PATH if it is refused.
 */
int httppath_decode(struct str raw, struct buf *space, struct str *out_path);

#endif
