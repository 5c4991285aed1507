/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of the question before a session and of its editor. */
#include "console/confirm_internal.h"

#include <stdio.h>

#include "base/utf8.h"

enum { DIR_COLUMNS = 60, NARROW_COLUMNS = 60 };

static const char *const group_labels[PERMISSION_GROUPS] = {
    [CATALOG_FILESYSTEM_READ] = "Read files",
    [CATALOG_FILESYSTEM_WRITE] = "Change files",
    [CATALOG_SHELL] = "Run commands",
    [CATALOG_COMPUTER] = "Screen, mouse, keyboard",
    [CATALOG_BROWSER] = "Browser",
};

static const char *const mode_labels[] = {
    [PERMISSION_DENY] = "Deny",
    [PERMISSION_ASK] = "Ask",
    [PERMISSION_ALLOW] = "Allow",
};

static const char *const answer_labels[ANSWERS] = {
    [ANSWER_YES] = "Yes, connect",
    [ANSWER_EDIT] = "Edit permissions or folder",
    [ANSWER_NO] = "No",
};

enum permission_mode confirm_mode_of(const struct confirm *confirm, size_t group)
{
    bool is_off = group == CATALOG_FILESYSTEM_WRITE &&
                  (!confirm->has_write_access ||
                   confirm->modes.of[CATALOG_FILESYSTEM_READ] == PERMISSION_DENY);

    return is_off ? PERMISSION_DENY : confirm->modes.of[group];
}

static const char *mode_words(const struct confirm *confirm, size_t group)
{
    if (group == CATALOG_FILESYSTEM_WRITE) {
        if (confirm->modes.of[CATALOG_FILESYSTEM_READ] == PERMISSION_DENY)
            return "Deny (reading is denied)";
        if (!confirm->has_write_access)
            return "Deny (write access off)";
    }
    return mode_labels[confirm->modes.of[group]];
}

static bool changes(const struct confirm *confirm)
{
    return confirm_mode_of(confirm, CATALOG_FILESYSTEM_WRITE) != PERMISSION_DENY;
}

static void write_commands(const struct confirm *confirm, struct console_page *page)
{
    /* By what holds now: the editor changes both. */
    bool changes_files = changes(confirm);

    if (confirm->shell_is_open) {
        page_say(page, PAGE_WARNING,
                 "Commands run without a sandbox: they can do everything you can.");
        return;
    }
    if (confirm->hosts.len > 0 && !confirm->shell_has_network) {
        page_say(page, PAGE_WARNING, "Commands reach these hosts on the web:");
        page_quote(page, PAGE_PLAIN, buf_view(&confirm->hosts), PAGE_NAME);
    } else {
        page_say(page, confirm->shell_has_network ? PAGE_WARNING : PAGE_PLAIN,
                 "Commands have %s network.", confirm->shell_has_network ? "the" : "no");
    }
    if (confirm_mode_of(confirm, CATALOG_FILESYSTEM_READ) == PERMISSION_DENY)
        page_say(page, PAGE_WARNING, "Commands can still read the files of the folder.");
    page_say(page, PAGE_PLAIN, "For commands, rules with patterns apply only to files that exist.");
    if (!changes_files && confirm->writable_count == 0)
        page_say(page, PAGE_PLAIN, "Commands cannot change files.");
    else
        page_say(page, PAGE_WARNING, "Commands can change files in:");
    if (changes_files && !confirm->only_reads_dir)
        page_quote(page, PAGE_PLAIN, buf_view(&confirm->dir), PAGE_NAME);
    for (size_t i = 0; changes_files && i < confirm->other_count; i++)
        if (confirm->writes_other[i])
            page_quote(page, PAGE_PLAIN, buf_view(&confirm->others[i]), PAGE_NAME);
    for (size_t i = 0; i < confirm->writable_count; i++)
        page_quote(page, PAGE_PLAIN, buf_view(&confirm->writable[i]), PAGE_NAME);
}

/* Where nothing is changed at all, they are all alike. */
static void write_others(const struct confirm *confirm, struct console_page *page, bool is_plain)
{
    bool is_first = true;

    for (size_t i = 0; i < confirm->other_count; i++) {
        if ((confirm->writes_other[i] || !changes(confirm)) != is_plain)
            continue;
        if (is_first)
            page_say(page, PAGE_FAINT, is_plain ? "Also:" : "Also, only to be read:");
        is_first = false;
        page_quote(page, PAGE_BOLD, buf_view(&confirm->others[i]), PAGE_NAME);
    }
}

static void write_globs(struct console_page *page, const char *title, const struct buf *globs)
{
    if (globs->len == 0)
        return;
    page_say(page, PAGE_FAINT, "%s", title);
    page_quote(page, PAGE_BOLD, buf_view(globs), PAGE_LINE);
}

static void write_offer(const struct confirm *confirm, struct console_page *page)
{
    page_say(page, PAGE_FAINT, "Server:");
    page_quote(page, PAGE_BOLD, buf_view(&confirm->url), PAGE_LINE);
    if (confirm->is_exposed)
        page_say(page, PAGE_WARNING,
                 "Not encrypted: others on the network can read and change everything.");
    page_say(page, PAGE_FAINT,
             changes(confirm) && confirm->only_reads_dir ? "Folder, only to be read:" : "Folder:");
    page_quote(page, PAGE_BOLD, buf_view(&confirm->dir), PAGE_NAME);
    write_others(confirm, page, true);
    write_others(confirm, page, false);
    write_globs(page, "Files that it does not see:", &confirm->denied);
    write_globs(page, "The only files that it sees:", &confirm->allowed);
    page_say(page, PAGE_FAINT, "It may:");
    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        page_say(page, confirm_mode_of(confirm, i) == PERMISSION_ALLOW ? PAGE_BOLD : PAGE_PLAIN,
                 "  %-24s%s", group_labels[i], mode_words(confirm, i));
    if (confirm_mode_of(confirm, CATALOG_SHELL) != PERMISSION_DENY)
        write_commands(confirm, page);
}

static void write_problem(const struct confirm *confirm, struct console_page *page)
{
    if (confirm->problem.code != 0)
        page_quote(page, PAGE_WARNING, str_from(confirm->problem.message), PAGE_LINE);
}

static void write_editor(const struct confirm *confirm, struct console_page *page)
{
    page_say(page, PAGE_PLAIN, "For this session only; nothing is saved.");
    if (confirm->look.is_plain)
        page_say(page, PAGE_PLAIN, "\"2 ask\" sets row 2, \"dir NAME\" sets the folder.");
    write_problem(confirm, page);
}

static void write_typing(const struct confirm *confirm, struct console_page *page)
{
    page_say(page, PAGE_PLAIN, "Folder for this session:");
    page_quote(page, PAGE_BOLD, buf_view(&confirm->typed), PAGE_LINE);
    write_problem(confirm, page);
}

static void lay_out_rows(const struct confirm *confirm, size_t columns, struct confirm_layout *out)
{
    cleanup_buf struct buf dir = BUF_INIT(CONFIRM_LABEL_BYTES);
    struct str shown;

    for (size_t i = 0; i < PERMISSION_GROUPS; i++) {
        if (columns < NARROW_COLUMNS) /* what is cut off at the edge is not the mode */
            (void)snprintf(out->texts[i], CONFIRM_LABEL_BYTES, "%-6s%s",
                           mode_labels[confirm_mode_of(confirm, i)], group_labels[i]);
        else
            (void)snprintf(out->texts[i], CONFIRM_LABEL_BYTES, "%-24s%s", group_labels[i],
                           mode_words(confirm, i));
    }
    (void)page_name(&dir, buf_view(&confirm->dir), DIR_COLUMNS, confirm->look.is_utf8);
    shown = utf8_cut(buf_view(&dir), CONFIRM_LABEL_BYTES - 32);
    (void)snprintf(out->texts[ROW_DIR], CONFIRM_LABEL_BYTES, "Folder %.*s", STR_ARG(shown));
    (void)snprintf(out->texts[ROW_DONE], CONFIRM_LABEL_BYTES, "Done");
    for (size_t i = 0; i < ROWS; i++)
        out->labels[i] = out->texts[i];
}

void confirm_lay_out(const struct confirm *confirm, size_t columns, struct confirm_layout *out)
{
    bool is_plain = confirm->look.is_plain;

    page_init(&out->body, columns, confirm->look.is_utf8);
    out->sheet =
        (struct sheet){.body = &out->body, .labels = out->labels, .chosen = confirm->chosen};
    switch (confirm->state) {
    case CONFIRM_WAITING:
    case CONFIRM_ASKING:
    case CONFIRM_OVER:
        out->sheet.title = "Connect to this server?";
        out->sheet.labels = answer_labels;
        out->sheet.label_count = ANSWERS;
        out->sheet.keys = is_plain ? "Answer 1-3 and Enter (Enter alone: 3, no):"
                                   : "Up/Down or 1-3: choose, Enter: answer, Esc: no";
        write_offer(confirm, &out->body);
        break;
    case CONFIRM_EDITING:
        out->sheet.title = "Permissions and folder";
        out->sheet.label_count = ROWS;
        out->sheet.keys = is_plain ? "Change a row, or \"done\":"
                                   : "Up/Down: choose, Left/Right or Enter: change, Esc: done";
        lay_out_rows(confirm, columns, out);
        write_editor(confirm, &out->body);
        break;
    case CONFIRM_TYPING:
        out->sheet.title = "Folder";
        out->sheet.keys = "Enter: accept, Esc: keep the old folder";
        write_typing(confirm, &out->body);
        break;
    }
}
