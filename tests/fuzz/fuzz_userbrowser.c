/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a browser's DevToolsActivePort: what is accepted is a port and a path that can stand
 * in a request.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "isolate/userbrowser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct userbrowser browser;

    if (!userbrowser_parse((struct str){(const char *)data, size}, &browser))
        return 0;
    assert(browser.port > 0 && strlen(browser.path) < USERBROWSER_PATH_BYTES);
    assert(strncmp(browser.path, "/devtools/browser/", strlen("/devtools/browser/")) == 0);
    assert(strpbrk(browser.path, " \t\r\n?#%.\\") == NULL);
    return 0;
}
