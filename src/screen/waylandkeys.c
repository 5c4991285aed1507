/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/waylandkeys.h"

#include <assert.h>
#include <errno.h>
#include <linux/input-event-codes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xkbcommon/xkbcommon.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "screen/keys.h"
#include "screen/pause.h"
#include "screen/waylandprotocol.h"

enum {
    TABLE_BYTES = 32 << 10,
    XKB_V1 = 1,    /* the format of the table */
    XKB_SHIFT = 8, /* from codes of the kernel to those of the table */
    SYMBOL_BYTES = 64,
    /* A client that is slower than we are must not lose its connection for it. */
    STROKES_AT_ONCE = 32,
    BETWEEN_MS = 1,
};

/* Modifiers as bits: every table has these eight in this order. */
enum {
    MOD_SHIFT = 1 << 0,
    MOD_CONTROL = 1 << 2,
    MOD_ALT = 1 << 3,
    MOD_SUPER = 1 << 6,
    MOD_ALTGR = 1 << 7
};

static const struct {
    uint8_t code;
    uint8_t modifiers; /* while it is down */
    uint32_t plain;
    uint32_t shifted; /* 0: it has one meaning */
} usual[] = {
    {KEY_ESC, 0, XKB_KEY_Escape, 0},
    {KEY_1, 0, '1', '!'},
    {KEY_2, 0, '2', '@'},
    {KEY_3, 0, '3', '#'},
    {KEY_4, 0, '4', '$'},
    {KEY_5, 0, '5', '%'},
    {KEY_6, 0, '6', '^'},
    {KEY_7, 0, '7', '&'},
    {KEY_8, 0, '8', '*'},
    {KEY_9, 0, '9', '('},
    {KEY_0, 0, '0', ')'},
    {KEY_MINUS, 0, '-', '_'},
    {KEY_EQUAL, 0, '=', '+'},
    {KEY_BACKSPACE, 0, XKB_KEY_BackSpace, 0},
    {KEY_TAB, 0, XKB_KEY_Tab, 0},
    {KEY_Q, 0, 'q', 'Q'},
    {KEY_W, 0, 'w', 'W'},
    {KEY_E, 0, 'e', 'E'},
    {KEY_R, 0, 'r', 'R'},
    {KEY_T, 0, 't', 'T'},
    {KEY_Y, 0, 'y', 'Y'},
    {KEY_U, 0, 'u', 'U'},
    {KEY_I, 0, 'i', 'I'},
    {KEY_O, 0, 'o', 'O'},
    {KEY_P, 0, 'p', 'P'},
    {KEY_LEFTBRACE, 0, '[', '{'},
    {KEY_RIGHTBRACE, 0, ']', '}'},
    {KEY_ENTER, 0, XKB_KEY_Return, 0},
    {KEY_LEFTCTRL, MOD_CONTROL, XKB_KEY_Control_L, 0},
    {KEY_A, 0, 'a', 'A'},
    {KEY_S, 0, 's', 'S'},
    {KEY_D, 0, 'd', 'D'},
    {KEY_F, 0, 'f', 'F'},
    {KEY_G, 0, 'g', 'G'},
    {KEY_H, 0, 'h', 'H'},
    {KEY_J, 0, 'j', 'J'},
    {KEY_K, 0, 'k', 'K'},
    {KEY_L, 0, 'l', 'L'},
    {KEY_SEMICOLON, 0, ';', ':'},
    {KEY_APOSTROPHE, 0, '\'', '"'},
    {KEY_GRAVE, 0, '`', '~'},
    {KEY_LEFTSHIFT, MOD_SHIFT, XKB_KEY_Shift_L, 0},
    {KEY_BACKSLASH, 0, '\\', '|'},
    {KEY_Z, 0, 'z', 'Z'},
    {KEY_X, 0, 'x', 'X'},
    {KEY_C, 0, 'c', 'C'},
    {KEY_V, 0, 'v', 'V'},
    {KEY_B, 0, 'b', 'B'},
    {KEY_N, 0, 'n', 'N'},
    {KEY_M, 0, 'm', 'M'},
    {KEY_COMMA, 0, ',', '<'},
    {KEY_DOT, 0, '.', '>'},
    {KEY_SLASH, 0, '/', '?'},
    {KEY_RIGHTSHIFT, MOD_SHIFT, XKB_KEY_Shift_R, 0},
    {KEY_KPASTERISK, 0, XKB_KEY_KP_Multiply, 0},
    {KEY_LEFTALT, MOD_ALT, XKB_KEY_Alt_L, 0},
    {KEY_SPACE, 0, ' ', 0},
    {KEY_CAPSLOCK, 0, XKB_KEY_Caps_Lock, 0},
    {KEY_F1, 0, XKB_KEY_F1, 0},
    {KEY_F2, 0, XKB_KEY_F2, 0},
    {KEY_F3, 0, XKB_KEY_F3, 0},
    {KEY_F4, 0, XKB_KEY_F4, 0},
    {KEY_F5, 0, XKB_KEY_F5, 0},
    {KEY_F6, 0, XKB_KEY_F6, 0},
    {KEY_F7, 0, XKB_KEY_F7, 0},
    {KEY_F8, 0, XKB_KEY_F8, 0},
    {KEY_F9, 0, XKB_KEY_F9, 0},
    {KEY_F10, 0, XKB_KEY_F10, 0},
    {KEY_NUMLOCK, 0, XKB_KEY_Num_Lock, 0},
    {KEY_KP7, 0, XKB_KEY_KP_7, 0},
    {KEY_KP8, 0, XKB_KEY_KP_8, 0},
    {KEY_KP9, 0, XKB_KEY_KP_9, 0},
    {KEY_KPMINUS, 0, XKB_KEY_KP_Subtract, 0},
    {KEY_KP4, 0, XKB_KEY_KP_4, 0},
    {KEY_KP5, 0, XKB_KEY_KP_5, 0},
    {KEY_KP6, 0, XKB_KEY_KP_6, 0},
    {KEY_KPPLUS, 0, XKB_KEY_KP_Add, 0},
    {KEY_KP1, 0, XKB_KEY_KP_1, 0},
    {KEY_KP2, 0, XKB_KEY_KP_2, 0},
    {KEY_KP3, 0, XKB_KEY_KP_3, 0},
    {KEY_KP0, 0, XKB_KEY_KP_0, 0},
    {KEY_KPDOT, 0, XKB_KEY_KP_Decimal, 0},
    {KEY_F11, 0, XKB_KEY_F11, 0},
    {KEY_F12, 0, XKB_KEY_F12, 0},
    {KEY_KPENTER, 0, XKB_KEY_KP_Enter, 0},
    {KEY_RIGHTCTRL, MOD_CONTROL, XKB_KEY_Control_R, 0},
    {KEY_KPSLASH, 0, XKB_KEY_KP_Divide, 0},
    {KEY_SYSRQ, 0, XKB_KEY_Print, 0},
    {KEY_RIGHTALT, MOD_ALT, XKB_KEY_Alt_R, 0},
    {KEY_HOME, 0, XKB_KEY_Home, 0},
    {KEY_UP, 0, XKB_KEY_Up, 0},
    {KEY_PAGEUP, 0, XKB_KEY_Page_Up, 0},
    {KEY_LEFT, 0, XKB_KEY_Left, 0},
    {KEY_RIGHT, 0, XKB_KEY_Right, 0},
    {KEY_END, 0, XKB_KEY_End, 0},
    {KEY_DOWN, 0, XKB_KEY_Down, 0},
    {KEY_PAGEDOWN, 0, XKB_KEY_Page_Down, 0},
    {KEY_INSERT, 0, XKB_KEY_Insert, 0},
    {KEY_DELETE, 0, XKB_KEY_Delete, 0},
    {KEY_MUTE, 0, XKB_KEY_XF86AudioMute, 0},
    {KEY_VOLUMEDOWN, 0, XKB_KEY_XF86AudioLowerVolume, 0},
    {KEY_VOLUMEUP, 0, XKB_KEY_XF86AudioRaiseVolume, 0},
    {KEY_LEFTMETA, MOD_SUPER, XKB_KEY_Super_L, 0},
    {KEY_COMPOSE, 0, XKB_KEY_Menu, 0},
};

/* Keys that a US keyboard lacks and that programs know as keys for writing, or not at all. */
static const uint8_t spare[] = {
    KEY_RO,       KEY_KATAKANA,  KEY_HIRAGANA, KEY_HENKAN, KEY_KATAKANAHIRAGANA,
    KEY_MUHENKAN, KEY_102ND,     KEY_HANGEUL,  KEY_HANJA,  KEY_YEN,
    KEY_KPCOMMA,  KEY_KPJPCOMMA, KEY_KPEQUAL,  KEY_F13,    KEY_F14,
    KEY_F15,      KEY_F16,       KEY_F17,      KEY_F18,    KEY_F19,
    KEY_F20,      KEY_F21,       KEY_F22,      KEY_F23,    KEY_F24,
};

struct waylandkeys {
    struct waylandclient *client;
    struct wl_proxy *keyboard;
    struct screen_held *held;
    int table_fd; /* the compositor reads it when it is told to */
    char *table;  /* the same, here */
    uint32_t symbols[array_size(spare)];
    size_t spare_count; /* how many have a symbol */
    uint32_t modifiers; /* that are down */
};

struct stroke {
    uint8_t code;
    uint8_t modifiers; /* that it stands for */
    bool has_shift;    /* it needs one */
};

/* ---- the table ---- */

static bool find_usual(uint32_t symbol, struct stroke *out_stroke)
{
    for (size_t i = 0; i < array_size(usual); i++)
        if (usual[i].plain == symbol || (usual[i].shifted != 0 && usual[i].shifted == symbol)) {
            *out_stroke = (struct stroke){.code = usual[i].code,
                                          .modifiers = usual[i].modifiers,
                                          .has_shift = usual[i].plain != symbol};
            return true;
        }
    return false;
}

static bool find_key(const struct waylandkeys *keys, uint32_t symbol, struct stroke *out_stroke)
{
    if (find_usual(symbol, out_stroke))
        return true;
    for (size_t i = 0; i < keys->spare_count; i++)
        if (keys->symbols[i] == symbol) {
            *out_stroke = (struct stroke){.code = spare[i]};
            return true;
        }
    return false;
}

static int write_key(struct buf *out, uint8_t code, uint32_t plain, uint32_t shifted)
{
    char first[SYMBOL_BYTES];
    char second[SYMBOL_BYTES];

    (void)xkb_keysym_get_name(plain, first, sizeof(first));
    if (shifted == 0)
        return buf_printf(out, "key <K%u> {[%s]};\n", code, first);
    (void)xkb_keysym_get_name(shifted, second, sizeof(second));
    return buf_printf(out, "key <K%u> {[%s, %s]};\n", code, first, second);
}

static int write_symbols(const struct waylandkeys *keys, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < array_size(usual) && r == 0; i++)
        r = write_key(out, usual[i].code, usual[i].plain, usual[i].shifted);
    for (size_t i = 0; i < keys->spare_count && r == 0; i++)
        r = write_key(out, spare[i], keys->symbols[i], 0);
    return r;
}

static int write_codes(struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < array_size(usual) && r == 0; i++)
        r = buf_printf(out, "<K%u> = %u;\n", usual[i].code, usual[i].code + XKB_SHIFT);
    for (size_t i = 0; i < array_size(spare) && r == 0; i++)
        r = buf_printf(out, "<K%u> = %u;\n", spare[i], spare[i] + XKB_SHIFT);
    return r;
}

static int write_table(const struct waylandkeys *keys, struct buf *out)
{
    int r = buf_append_str(out, STR("xkb_keymap {\nxkb_keycodes \"k\" {\n"
                                    "minimum = 8;\nmaximum = 255;\n"));

    if (r == 0)
        r = write_codes(out);
    if (r == 0)
        r = buf_append_str(out, STR("};\nxkb_types \"t\" {include \"complete\"};\n"
                                    "xkb_compatibility \"c\" {include \"complete\"};\n"
                                    "xkb_symbols \"s\" {\n"));
    if (r == 0)
        r = write_symbols(keys, out);
    if (r == 0)
        r = buf_printf(out,
                       "modifier_map Shift {<K%d>, <K%d>};\nmodifier_map Lock {<K%d>};\n"
                       "modifier_map Control {<K%d>, <K%d>};\nmodifier_map Mod1 {<K%d>, <K%d>};\n"
                       "modifier_map Mod2 {<K%d>};\nmodifier_map Mod4 {<K%d>};\n};\n};\n",
                       KEY_LEFTSHIFT, KEY_RIGHTSHIFT, KEY_CAPSLOCK, KEY_LEFTCTRL, KEY_RIGHTCTRL,
                       KEY_LEFTALT, KEY_RIGHTALT, KEY_NUMLOCK, KEY_LEFTMETA);
    return r;
}

/* The compositor has read the table when this returns: its memory may change again. */
static int send_table(struct waylandkeys *keys, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TABLE_BYTES);
    union wl_argument args[3];
    int r = write_table(keys, &text);

    assert(keys->table != NULL); /* made first of all */
    if (r == 0)
        r = buf_append_char(&text, '\0');
    if (r < 0)
        return err_set_plain(err, r);
    memcpy(keys->table, text.data, text.len);
    args[0].u = XKB_V1;
    args[1].h = keys->table_fd;
    args[2].u = (uint32_t)text.len;
    waylandclient_send(keys->client, keys->keyboard, KEYBOARD_KEYMAP, args);
    return waylandclient_settle(keys->client, err);
}

/* ---- pressing ---- */

static void set_modifiers(struct waylandkeys *keys, uint32_t modifiers)
{
    union wl_argument args[4] = {{.u = modifiers}, {.u = 0}, {.u = 0}, {.u = 0}};

    if (modifiers == keys->modifiers)
        return;
    keys->modifiers = modifiers;
    waylandclient_send(keys->client, keys->keyboard, KEYBOARD_MODIFIERS, args);
}

static void press_key(struct waylandkeys *keys, uint8_t code, uint8_t modifiers, bool is_down)
{
    union wl_argument args[3] = {
        {.u = (uint32_t)clock_monotonic_ms(&clock_system)}, {.u = code}, {.u = is_down}};

    keys->held->keys[code] = is_down;
    waylandclient_send(keys->client, keys->keyboard, KEYBOARD_KEY, args);
    if (modifiers != 0)
        set_modifiers(keys, is_down ? keys->modifiers | modifiers
                                    : keys->modifiers & ~(uint32_t)modifiers);
}

static void strike(struct waylandkeys *keys, struct stroke stroke)
{
    if (stroke.has_shift)
        press_key(keys, KEY_LEFTSHIFT, MOD_SHIFT, true);
    press_key(keys, stroke.code, stroke.modifiers, true);
    press_key(keys, stroke.code, stroke.modifiers, false);
    if (stroke.has_shift)
        press_key(keys, KEY_LEFTSHIFT, MOD_SHIFT, false);
}

/* ---- text ---- */

/*
 * Gives spare keys to what is missing from the start of the text on, as far as there are some.
 * *out_len: so much of the text can be typed now.
 */
static bool fill_spare(struct waylandkeys *keys, struct str text, size_t *out_len)
{
    struct str rest = text;
    size_t before = keys->spare_count;

    while (rest.len > 0) {
        struct str next = rest;
        uint32_t symbol = keys_next(&next);
        struct stroke stroke;

        if (!find_key(keys, symbol, &stroke)) {
            if (keys->spare_count == array_size(spare))
                break;
            keys->symbols[keys->spare_count++] = symbol;
        }
        rest = next;
    }
    *out_len = text.len - rest.len;
    return keys->spare_count > before;
}

static int type_part(struct waylandkeys *keys, struct str text, struct err *err)
{
    struct stroke stroke;
    int r = 0;

    for (int i = 1; text.len > 0 && r == 0; i++) {
        if (find_key(keys, keys_next(&text), &stroke))
            strike(keys, stroke);
        if (i % STROKES_AT_ONCE != 0)
            continue;
        r = waylandclient_settle(keys->client, err);
        if (r == 0)
            r = screen_pause(BETWEEN_MS, err);
    }
    return r == 0 ? waylandclient_settle(keys->client, err) : r;
}

int waylandkeys_type(struct waylandkeys *keys, struct str text, struct err *err)
{
    int r = keys_check_text(text, err);

    while (r == 0 && text.len > 0) {
        size_t len = 0;
        bool is_new = fill_spare(keys, text, &len);

        if (len == 0) { /* all are taken by other characters */
            keys->spare_count = 0;
            is_new = fill_spare(keys, text, &len);
        }
        if (is_new)
            r = send_table(keys, err);
        if (r == 0)
            r = type_part(keys, str_slice(text, 0, len), err);
        text = str_slice(text, len, text.len);
    }
    return r;
}

/* ---- keys ---- */

static int find_all(struct waylandkeys *keys, const uint32_t *symbols, int count,
                    struct stroke out_strokes[SCREEN_MAX_KEYS], struct err *err)
{
    bool is_new = false;

    if (keys->spare_count + (size_t)count > array_size(spare))
        keys->spare_count = 0;
    for (int i = 0; i < count; i++) {
        if (find_key(keys, symbols[i], &out_strokes[i]))
            continue;
        keys->symbols[keys->spare_count++] = symbols[i];
        out_strokes[i] = (struct stroke){.code = spare[keys->spare_count - 1]};
        is_new = true;
    }
    return is_new ? send_table(keys, err) : 0;
}

int waylandkeys_press(struct waylandkeys *keys, const uint32_t *symbols, int count,
                      unsigned hold_ms, struct err *err)
{
    struct stroke strokes[SCREEN_MAX_KEYS];
    int r = find_all(keys, symbols, count, strokes, err);
    int settled;

    if (r < 0)
        return r;
    for (int i = 0; i < count; i++) {
        /* A shortcut names its Shift; a single character, like "?", implies it. */
        if (strokes[i].has_shift && count == 1)
            press_key(keys, KEY_LEFTSHIFT, MOD_SHIFT, true);
        press_key(keys, strokes[i].code, strokes[i].modifiers, true);
    }
    r = waylandclient_settle(keys->client, err);
    if (r == 0 && hold_ms > 0)
        r = screen_pause(hold_ms, err);
    for (int i = count - 1; i >= 0; i--) {
        press_key(keys, strokes[i].code, strokes[i].modifiers, false);
        if (strokes[i].has_shift && count == 1)
            press_key(keys, KEY_LEFTSHIFT, MOD_SHIFT, false);
    }
    settled = waylandclient_settle(keys->client, r == 0 ? err : NULL);
    return r < 0 ? r : settled;
}

void waylandkeys_release_all(struct waylandkeys *keys)
{
    for (unsigned code = 0; code < array_size(keys->held->keys); code++)
        if (keys->held->keys[code])
            press_key(keys, (uint8_t)code, 0, false);
    set_modifiers(keys, 0);
}

/* ---- making ---- */

static int make_table(struct waylandkeys *keys)
{
    keys->table_fd = memfd_create("gatehouse-keys", MFD_CLOEXEC);
    if (keys->table_fd < 0 || ftruncate(keys->table_fd, TABLE_BYTES) < 0)
        return err_from_errno(errno);
    keys->table = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, keys->table_fd, 0);
    if (keys->table != MAP_FAILED)
        return 0;
    keys->table = NULL;
    return ERR_NO_MEMORY;
}

int waylandkeys_new(struct waylandclient *client, struct wl_proxy *keyboard,
                    struct screen_held *held, struct waylandkeys **out_keys, struct err *err)
{
    struct waylandkeys *keys = calloc(1, sizeof(*keys));
    int r;

    if (keys == NULL) {
        waylandclient_forget(client, keyboard);
        return err_set_plain(err, ERR_NO_MEMORY);
    }
    keys->client = client;
    keys->keyboard = keyboard;
    keys->held = held;
    keys->table_fd = -1;
    r = make_table(keys);
    r = r < 0 ? err_set_plain(err, r) : send_table(keys, err);
    if (r < 0) {
        waylandkeys_free(keys);
        return r;
    }
    *out_keys = keys;
    return 0;
}

void waylandkeys_free(struct waylandkeys *keys)
{
    if (keys == NULL)
        return;
    waylandclient_forget(keys->client, keys->keyboard);
    if (keys->table != NULL)
        munmap(keys->table, TABLE_BYTES);
    if (keys->table_fd >= 0)
        close(keys->table_fd);
    free(keys);
}
