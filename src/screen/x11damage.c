/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/x11damage.h"

#include <stdint.h>
#include <stdlib.h>
#include <xcb/damage.h>

#include "base/cleanup.h"

struct x11damage {
    xcb_connection_t *connection;
    xcb_window_t root;
    uint8_t event;           /* its type */
    xcb_damage_damage_t all; /* of the whole screen, while it is watched */
    bool is_watched;
    bool has_changed;
    uint32_t since; /* the request that forgot what was drawn before it */
};

void x11damage_take(struct x11damage *damage, const xcb_generic_event_t *event)
{
    if (damage == NULL || (event->response_type & 0x7F) != damage->event)
        return;
    /* An older one is about what we have seen. */
    if ((int32_t)(event->full_sequence - damage->since) >= 0)
        damage->has_changed = true;
}

bool x11damage_has_changed(struct x11damage *damage)
{
    if (damage->is_watched && !damage->has_changed)
        return false;
    if (!damage->is_watched) {
        damage->all = xcb_generate_id(damage->connection);
        xcb_damage_create(damage->connection, damage->all, damage->root,
                          XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY);
        damage->is_watched = true;
    }
    damage->since =
        xcb_damage_subtract(damage->connection, damage->all, XCB_NONE, XCB_NONE).sequence;
    damage->has_changed = false;
    return true;
}

void x11damage_rest(struct x11damage *damage)
{
    if (damage == NULL || !damage->is_watched)
        return;
    xcb_damage_destroy(damage->connection, damage->all);
    xcb_flush(damage->connection);
    damage->is_watched = false;
}

struct x11damage *x11damage_new(xcb_connection_t *connection, xcb_window_t root)
{
    const xcb_query_extension_reply_t *extension =
        xcb_get_extension_data(connection, &xcb_damage_id);
    cleanup_free xcb_damage_query_version_reply_t *version = NULL;
    struct x11damage *damage;

    if (extension == NULL || extension->present == 0)
        return NULL;
    version = xcb_damage_query_version_reply(connection, xcb_damage_query_version(connection, 1, 1),
                                             NULL);
    damage = version != NULL ? calloc(1, sizeof(*damage)) : NULL;
    if (damage == NULL)
        return NULL;
    damage->connection = connection;
    damage->root = root;
    damage->event = extension->first_event + XCB_DAMAGE_NOTIFY;
    return damage;
}

void x11damage_free(struct x11damage *damage)
{
    free(damage);
}
