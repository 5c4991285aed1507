/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/x11keys.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xcb/xtest.h>
#include <xkbcommon/xkbcommon.h>

#include "base/cleanup.h"
#include "screen/keys.h"
#include "screen/pause.h"

enum {
    MAX_BORROWED = 64,
    BORROWED_MS = 30, /* for clients to notice the new keys */
    /* Clients must have looked at everything before a key gets another symbol. */
    REUSE_MS = 300,
    STROKES_AT_ONCE = 256,
    GROUP_MASK = 0x6000, /* of a state: the layout that is chosen */
};

struct x11keys {
    xcb_connection_t *connection;
    xcb_window_t root;
    struct screen_held *held;
    /* The server's table, read again before each call: the user may change the layout. */
    xcb_get_keyboard_mapping_reply_t *map;
    unsigned first; /* key code */
    unsigned count;
    unsigned width; /* symbols of a key */
    uint8_t borrowed[MAX_BORROWED];
    /* Plain and with Shift; the second is 0 if it is like the first. */
    uint32_t borrowed_symbols[MAX_BORROWED][2];
    int borrowed_count;
    bool has_caps_lock; /* on */
    bool has_other_layout;
};

/* A key, and whether Shift must be down. */
struct stroke {
    uint8_t code;
    bool has_shift;
};

static int lost(struct err *err)
{
    return err_set(err, ERR_CONNECTION_LOST, "the X server has closed the connection");
}

static int settle(struct x11keys *keys, struct err *err)
{
    free(xcb_get_input_focus_reply(keys->connection, xcb_get_input_focus(keys->connection), NULL));
    return xcb_connection_has_error(keys->connection) != 0 ? lost(err) : 0;
}

/* ---- the table ---- */

static uint32_t symbol_at(const struct x11keys *keys, unsigned code, unsigned level)
{
    const xcb_keysym_t *symbols = xcb_get_keyboard_mapping_keysyms(keys->map);

    return level < keys->width ? symbols[(code - keys->first) * keys->width + level] : 0;
}

/* A key that got another symbol meanwhile, as by a new layout, is not ours any more. */
static void forget_changed(struct x11keys *keys)
{
    int kept = 0;

    for (int i = 0; i < keys->borrowed_count; i++) {
        const uint32_t *symbols = keys->borrowed_symbols[i];
        uint8_t code = keys->borrowed[i];

        if (symbol_at(keys, code, 0) != symbols[0] ||
            (symbols[1] != 0 && symbol_at(keys, code, 1) != symbols[1])) {
            keys->held->borrowed[code] = false;
            continue;
        }
        keys->borrowed[kept] = code;
        memmove(keys->borrowed_symbols[kept++], symbols, sizeof(keys->borrowed_symbols[0]));
    }
    keys->borrowed_count = kept;
}

static int read_map(struct x11keys *keys, struct err *err)
{
    cleanup_free xcb_query_pointer_reply_t *state = xcb_query_pointer_reply(
        keys->connection, xcb_query_pointer(keys->connection, keys->root), NULL);

    free(keys->map);
    keys->map = xcb_get_keyboard_mapping_reply(
        keys->connection,
        xcb_get_keyboard_mapping(keys->connection, (uint8_t)keys->first, (uint8_t)keys->count),
        NULL);
    if (keys->map == NULL || state == NULL)
        return lost(err);
    keys->width = keys->map->keysyms_per_keycode;
    keys->has_caps_lock = (state->mask & XCB_MOD_MASK_LOCK) != 0;
    keys->has_other_layout = (state->mask & GROUP_MASK) != 0;
    forget_changed(keys);
    return 0;
}

static bool is_unused(const struct x11keys *keys, unsigned code)
{
    for (unsigned level = 0; level < keys->width; level++)
        if (symbol_at(keys, code, level) != 0)
            return false;
    return true;
}

static bool is_letter(uint32_t symbol)
{
    return xkb_keysym_to_lower(symbol) != xkb_keysym_to_upper(symbol);
}

static bool find_borrowed(const struct x11keys *keys, uint32_t symbol, struct stroke *out_stroke)
{
    for (int i = 0; i < keys->borrowed_count; i++)
        for (int level = 0; level < 2; level++)
            if (keys->borrowed_symbols[i][level] == symbol) {
                *out_stroke = (struct stroke){.code = keys->borrowed[i], .has_shift = level == 1};
                return true;
            }
    return false;
}

/*
 * Keys of the first layout, plain or with Shift. A key with one letter only stands for both its
 * forms. With another layout chosen, characters come from borrowed keys, which are alike in all.
 */
static bool find_key(const struct x11keys *keys, uint32_t symbol, struct stroke *out_stroke)
{
    if (find_borrowed(keys, symbol, out_stroke))
        return true;
    if (keys->has_other_layout && xkb_keysym_to_utf32(symbol) > ' ')
        return false;
    for (unsigned level = 0; level < 2; level++)
        for (unsigned code = keys->first; code < keys->first + keys->count; code++) {
            uint32_t found = symbol_at(keys, code, level);

            if (level == 1 && found == 0 && is_letter(symbol_at(keys, code, 0)))
                found = xkb_keysym_to_upper(symbol_at(keys, code, 0));
            if (found != symbol)
                continue;
            *out_stroke = (struct stroke){
                .code = (uint8_t)code,
                .has_shift = (level == 1) != (keys->has_caps_lock && is_letter(symbol)),
            };
            return true;
        }
    return false;
}

/* ---- borrowed keys ---- */

static void map_key(struct x11keys *keys, uint8_t code, uint32_t plain, uint32_t shifted)
{
    const xcb_keysym_t symbols[] = {plain, shifted != 0 ? shifted : plain};

    keys->held->borrowed[code] = plain != 0;
    xcb_change_keyboard_mapping(keys->connection, 1, code, array_size(symbols), symbols);
}

void x11keys_restore(struct x11keys *keys)
{
    if (keys->borrowed_count == 0 || read_map(keys, NULL) < 0)
        return;
    for (int i = 0; i < keys->borrowed_count; i++)
        map_key(keys, keys->borrowed[i], 0, 0);
    (void)settle(keys, NULL);
    keys->borrowed_count = 0;
}

/*
 * Gives a borrowed key a second symbol, with Shift. What Caps Lock would make of two that do not
 * belong together, programs do not agree on.
 */
static int share(struct x11keys *keys, uint32_t symbol)
{
    for (int i = 0; i < keys->borrowed_count && !keys->has_caps_lock; i++) {
        uint32_t *symbols = keys->borrowed_symbols[i];

        if (symbols[1] != 0)
            continue;
        symbols[1] = symbol;
        map_key(keys, keys->borrowed[i], symbols[0], symbol);
        return 0;
    }
    return ERR_NOT_FOUND;
}

/* ERR_NOT_FOUND: every unused key is borrowed. */
static int borrow(struct x11keys *keys, uint32_t symbol)
{
    for (unsigned code = keys->first + keys->count - 1; code >= keys->first; code--) {
        bool is_taken = false;

        for (int i = 0; i < keys->borrowed_count; i++)
            is_taken = is_taken || keys->borrowed[i] == code;
        if (is_taken || !is_unused(keys, code))
            continue;
        if (keys->borrowed_count == MAX_BORROWED)
            break;
        keys->borrowed[keys->borrowed_count] = (uint8_t)code;
        keys->borrowed_symbols[keys->borrowed_count][0] = symbol;
        keys->borrowed_symbols[keys->borrowed_count++][1] = 0;
        map_key(keys, (uint8_t)code, symbol, 0);
        return 0;
    }
    return share(keys, symbol);
}

/*
 * Borrows keys for what is missing from the start of the text on, as far as there are keys.
 * *out_len: so much of the text can be typed now.
 */
static int borrow_for(struct x11keys *keys, struct str text, size_t *out_len, struct err *err)
{
    struct str rest = text;
    bool has_new = false;
    int r = 0;

    while (rest.len > 0) {
        struct str next = rest;
        uint32_t symbol = keys_next(&next);
        struct stroke stroke;

        if (!find_key(keys, symbol, &stroke)) {
            if (borrow(keys, symbol) < 0)
                break;
            has_new = true;
        }
        rest = next;
    }
    *out_len = text.len - rest.len;
    if (has_new) {
        r = settle(keys, err);
        if (r == 0)
            r = screen_pause(BORROWED_MS, err);
    }
    return r;
}

/* ---- pressing ---- */

static void fake(struct x11keys *keys, uint8_t code, bool is_down)
{
    keys->held->keys[code] = is_down;
    xcb_test_fake_input(keys->connection, is_down ? XCB_KEY_PRESS : XCB_KEY_RELEASE, code,
                        XCB_CURRENT_TIME, keys->root, 0, 0, 0);
}

static void strike(struct x11keys *keys, struct stroke stroke, uint8_t shift)
{
    if (stroke.has_shift)
        fake(keys, shift, true);
    fake(keys, stroke.code, true);
    fake(keys, stroke.code, false);
    if (stroke.has_shift)
        fake(keys, shift, false);
}

static int type_part(struct x11keys *keys, struct str text, struct err *err)
{
    struct stroke shift = {0};
    struct stroke stroke;
    int r = 0;

    (void)find_key(keys, XKB_KEY_Shift_L, &shift);
    for (int i = 1; text.len > 0 && r == 0; i++) {
        if (find_key(keys, keys_next(&text), &stroke))
            strike(keys, stroke, shift.code);
        if (i % STROKES_AT_ONCE != 0)
            continue;
        r = settle(keys, err);
        if (r == 0)
            r = screen_pause(0, err); /* the user may want it to stop */
    }
    return r == 0 ? settle(keys, err) : r;
}

int x11keys_type(struct x11keys *keys, struct str text, struct err *err)
{
    int r = keys_check_text(text, err);

    if (r == 0)
        r = read_map(keys, err);
    while (r == 0 && text.len > 0) {
        size_t len = 0;

        r = borrow_for(keys, text, &len, err);
        if (r == 0 && len == 0 && keys->borrowed_count == 0)
            return err_set(err, ERR_UNSUPPORTED,
                           "the keyboard layout lacks a character and has no unused key for it");
        if (r == 0)
            r = type_part(keys, str_slice(text, 0, len), err);
        text = str_slice(text, len, text.len);
        if (r == 0 && text.len > 0) {
            r = screen_pause(REUSE_MS, err);
            x11keys_restore(keys);
            if (r == 0)
                r = read_map(keys, err);
        }
    }
    return r;
}

static int find_all(struct x11keys *keys, const uint32_t *symbols, int count,
                    struct stroke out_strokes[SCREEN_MAX_KEYS], struct err *err)
{
    bool has_borrowed = false;
    int r = read_map(keys, err);

    for (int i = 0; i < count && r == 0; i++) {
        if (find_key(keys, symbols[i], &out_strokes[i]))
            continue;
        has_borrowed = true;
        if (borrow(keys, symbols[i]) < 0 || !find_key(keys, symbols[i], &out_strokes[i]))
            r = err_set(err, ERR_UNSUPPORTED,
                        "the keyboard layout lacks the key and has no unused one for it");
    }
    if (r == 0 && has_borrowed) {
        r = settle(keys, err);
        if (r == 0)
            r = screen_pause(BORROWED_MS, err);
    }
    return r;
}

int x11keys_press(struct x11keys *keys, const uint32_t *symbols, int count, unsigned hold_ms,
                  struct err *err)
{
    struct stroke strokes[SCREEN_MAX_KEYS];
    struct stroke shift = {0};
    int settled;
    int r = find_all(keys, symbols, count, strokes, err);

    if (r < 0)
        return r;
    (void)find_key(keys, XKB_KEY_Shift_L, &shift);
    for (int i = 0; i < count; i++) {
        /* A shortcut names its Shift; a single character, like "?", implies it. */
        if (strokes[i].has_shift && count == 1)
            fake(keys, shift.code, true);
        fake(keys, strokes[i].code, true);
    }
    r = settle(keys, err);
    if (r == 0 && hold_ms > 0)
        r = screen_pause(hold_ms, err);
    for (int i = count - 1; i >= 0; i--) {
        fake(keys, strokes[i].code, false);
        if (strokes[i].has_shift && count == 1)
            fake(keys, shift.code, false);
    }
    settled = settle(keys, r == 0 ? err : NULL);
    return r < 0 ? r : settled;
}

void x11keys_release_all(struct x11keys *keys)
{
    x11keys_restore(keys);
    for (unsigned code = keys->first; code < keys->first + keys->count; code++)
        if (keys->held->borrowed[code]) /* by a process before this one */
            map_key(keys, (uint8_t)code, 0, 0);
    for (unsigned code = 0; code < array_size(keys->held->keys); code++)
        if (keys->held->keys[code])
            fake(keys, (uint8_t)code, false);
}

/* ---- making ---- */

int x11keys_new(xcb_connection_t *connection, xcb_window_t root, struct screen_held *held,
                struct x11keys **out_keys, struct err *err)
{
    const xcb_setup_t *setup = xcb_get_setup(connection);
    struct x11keys *keys = calloc(1, sizeof(*keys));

    if (keys == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    keys->connection = connection;
    keys->root = root;
    keys->held = held;
    keys->first = setup->min_keycode;
    keys->count = (unsigned)setup->max_keycode - setup->min_keycode + 1;
    *out_keys = keys;
    return 0;
}

void x11keys_free(struct x11keys *keys)
{
    free(keys->map);
    free(keys);
}
