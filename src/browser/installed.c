/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/installed.h"

#include "base/cleanup.h"
#include "isolate/helper.h"

static const struct {
    const char *name;
    const char *path;
} browsers[] = {
    {"chromium", "/usr/lib/chromium/chromium"},
    {"chromium", "/usr/lib/chromium-browser/chromium-browser"},
    {"chromium", "/usr/lib64/chromium/chromium"},
    {"chrome", "/opt/google/chrome/chrome"},
    {"brave", "/opt/brave.com/brave/brave"},
    {"edge", "/opt/microsoft/msedge/msedge"},
};

const char *browser_installed(struct str name)
{
    for (size_t i = 0; i < array_size(browsers); i++)
        if ((name.len == 0 || str_eq_c(name, browsers[i].name)) &&
            helper_is_installed(browsers[i].path))
            return browsers[i].path;
    return NULL;
}
