/* SPDX-License-Identifier: Apache-2.0 */
#include "console/prompt.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

enum {
    SUMMARY_COLUMNS = 60 /* of a name in it */,
    TOOL_COLUMNS = 40,
    OPERATIONS_BYTES = 512,
    LABEL_BYTES = 240,
    LABEL_MARGIN = 5 /* "> 1 " */
};

static const char *const past_words[CHOICES] = {
    [CHOICE_DENY_ONCE] = "Denied once",
    [CHOICE_ALLOW_ONCE] = "Allowed once",
    [CHOICE_ALLOW_SESSION] = "Allowed for this session",
    [CHOICE_ALLOW_FOLDER] = "Allowed in its folder for this session",
    [CHOICE_ALLOW_MATCHING] = "Allowed with others like it for this session",
    [CHOICE_ALWAYS_ALLOW] = "Always allowed",
    [CHOICE_ALWAYS_MATCHING] = "Always allowed with others like it",
    [CHOICE_ALWAYS_DENY] = "Always denied",
};

static size_t count_names(const struct question *question)
{
    size_t count = 0;

    for (size_t i = 0; i < question->resource_count; i++)
        count += question_first_of(question, i) == i;
    return count;
}

/* What the choices for exactly this are about. */
static const char *this_one(const struct question *question)
{
    if (question->group == CATALOG_SHELL)
        return "this command";
    if (question->group != CATALOG_FILESYSTEM_READ && question->group != CATALOG_FILESYSTEM_WRITE)
        return "this";
    if (count_names(question) != 1)
        return "all of these";
    if (question->is_folder)
        return "this folder";
    for (size_t i = 0; i < question->resource_count; i++)
        switch (question->resources[i].operation) {
        case PERMISSION_LISTS:
        case PERMISSION_LISTS_BELOW:
        case PERMISSION_READS_BELOW:
        case PERMISSION_READS_SECRETS:
        case PERMISSION_CREATES_BELOW:
        case PERMISSION_CHANGES_BELOW:
            return "this folder";
        case PERMISSION_USES:
        case PERMISSION_LOOKS_UP:
        case PERMISSION_READS:
        case PERMISSION_CREATES:
        case PERMISSION_CHANGES:
        case PERMISSION_MOVES:
        case PERMISSION_DELETES:
        case PERMISSION_OPERATIONS:
            break;
        }
    return "this file";
}

/* What a saved denial is about: of a folder, all that is in it. */
static const char *denied_one(const struct question *question)
{
    const char *these = this_one(question);
    bool is_folder = strcmp(these, "this folder") == 0;
    bool is_for_reading = false;

    for (size_t i = 0; i < question->resource_count; i++)
        is_for_reading |= question->resources[i].group == CATALOG_FILESYSTEM_READ;
    if (is_for_reading)
        return is_folder ? "everything in this folder" : these;
    if (question->group != CATALOG_FILESYSTEM_WRITE)
        return these;
    return is_folder                         ? "changes in this folder"
           : strcmp(these, "this file") == 0 ? "changes of this file"
                                             : "changes of all of these";
}

/* The folder or the pattern that a choice covers; empty for the others. */
static struct str scope_of(const struct question *question, enum permission_choice choice)
{
    if (choice == CHOICE_ALLOW_FOLDER)
        return question->folder;
    if (choice == CHOICE_ALLOW_MATCHING || choice == CHOICE_ALWAYS_MATCHING)
        return question->pattern;
    return STR_EMPTY;
}

/* Each says what it covers. A saved rule for a command names no folder, unlike what is shown. */
static void write_label(const struct question *question, enum permission_choice choice,
                        char out_label[LABEL_BYTES])
{
    cleanup_buf struct buf scope = BUF_INIT(LABEL_BYTES);
    const char *these = this_one(question);
    const char *anywhere = question->group == CATALOG_SHELL ? ", in any folder" : "";
    const char *starting = question->group == CATALOG_SHELL ? "commands starting with " : "";
    const char *name = "";

    if (page_name(&scope, scope_of(question, choice), LABEL_BYTES, false) < 0 ||
        buf_terminate(&scope, &name) < 0)
        name = "";
    switch (choice) {
    case CHOICE_DENY_ONCE:
        snprintf(out_label, LABEL_BYTES, "Deny once");
        break;
    case CHOICE_ALLOW_ONCE:
        snprintf(out_label, LABEL_BYTES, "Allow once");
        break;
    case CHOICE_ALLOW_SESSION:
        snprintf(out_label, LABEL_BYTES, "Allow %s for this session", these);
        break;
    case CHOICE_ALLOW_FOLDER:
        snprintf(out_label, LABEL_BYTES, "Allow everything in %s for this session", name);
        break;
    case CHOICE_ALLOW_MATCHING:
        snprintf(out_label, LABEL_BYTES, "Allow %s%s for this session", starting, name);
        break;
    case CHOICE_ALWAYS_ALLOW:
        snprintf(out_label, LABEL_BYTES, "Always allow %s%s", these, anywhere);
        break;
    case CHOICE_ALWAYS_MATCHING:
        snprintf(out_label, LABEL_BYTES, "Always allow %s%s%s", starting, name, anywhere);
        break;
    case CHOICE_ALWAYS_DENY:
        snprintf(out_label, LABEL_BYTES, "Always deny %s%s", denied_one(question), anywhere);
        break;
    case CHOICES:
        break;
    }
}

static const char *group_words(enum catalog_group group)
{
    switch (group) {
    case CATALOG_FILESYSTEM_READ:
        return "Read files";
    case CATALOG_FILESYSTEM_WRITE:
        return "Change files";
    case CATALOG_SHELL:
        return "Run a command";
    case CATALOG_COMPUTER:
        return "See and control the screen";
    case CATALOG_BROWSER:
        return "Use the browser";
    }
    return "Unknown action";
}

const char *prompt_past(enum permission_choice choice)
{
    assert(choice < CHOICES);
    return past_words[choice];
}

void prompt_init(struct prompt *prompt, const struct question *question,
                 const struct stage_look *look)
{
    *prompt = (struct prompt){.question = question, .look = *look};
    for (int i = 0; i < CHOICES; i++)
        if ((question->choices & 1U << i) != 0)
            prompt->offered[prompt->offered_count++] = (enum permission_choice)i;
    assert(prompt->offered_count > 0 && prompt->offered[0] == CHOICE_DENY_ONCE);
}

void prompt_done(struct prompt *prompt)
{
    if (prompt->has_body)
        page_done(&prompt->body);
    prompt->has_body = false;
}

/* ---- what is asked for ---- */

static void write_title(struct console_page *page, const struct question *question)
{
    cleanup_buf struct buf tool = BUF_INIT(1024);
    const char *name = "";
    enum page_style style = question->deletes ? PAGE_WARNING : PAGE_BOLD;

    if (page_name(&tool, question->tool, TOOL_COLUMNS, page->is_utf8) == 0 &&
        buf_terminate(&tool, &name) < 0)
        name = "";
    if (question->deletes)
        page_say(page, style, "DELETE -- %s, tool %s", group_words(question->group), name);
    else
        page_say(page, style, "%s, tool %s", group_words(question->group), name);
}

static void write_resources(struct console_page *page, const struct question *question)
{
    enum page_style style = question->deletes ? PAGE_WARNING : PAGE_PLAIN;
    size_t count = count_names(question);

    if (count == 1)
        page_say(page, PAGE_FAINT, "%s", question->group == CATALOG_SHELL ? "Command:" : "On:");
    else if (count > 1)
        page_say(page, PAGE_FAINT, "On all %zu of these:", count);
    for (size_t i = 0; i < question->resource_count; i++) {
        const struct question_resource *resource = &question->resources[i];
        cleanup_buf struct buf operations = BUF_INIT(OPERATIONS_BYTES);

        if (question_first_of(question, i) != i)
            continue;
        if (question_add_operations(question, i, &operations) == 0 && operations.len > 0)
            page_say(page, PAGE_FAINT, "(%.*s)", STR_ARG(buf_view(&operations)));
        else if (resource->group != question->group)
            page_say(page, PAGE_FAINT, "(%s)", group_words(resource->group));
        /* The end of a command may be what matters, so it is shown, however long. */
        page_quote(page, style, resource->shown,
                   resource->group == CATALOG_SHELL ? PAGE_LINE : PAGE_NAME);
    }
}

/* A label has one row: what does not fit there stands here, whole. */
static void write_scopes(struct console_page *page, const struct question *question)
{
    static const struct {
        enum permission_choice choice;
        const char *words;
    } rows[] = {
        {CHOICE_ALLOW_FOLDER, "The folder that can be allowed:"},
        {CHOICE_ALLOW_MATCHING, "The pattern that can be allowed:"},
    };

    for (size_t i = 0; i < array_size(rows); i++) {
        char label[LABEL_BYTES];

        if ((question->choices & 1U << rows[i].choice) == 0)
            continue;
        write_label(question, rows[i].choice, label);
        if (strlen(label) + LABEL_MARGIN <= page->columns && strlen(label) + 1 < LABEL_BYTES)
            continue;
        page_say(page, PAGE_FAINT, "%s", rows[i].words);
        page_quote(page, PAGE_PLAIN, scope_of(question, rows[i].choice), PAGE_LINE);
    }
}

static void write_body(struct console_page *page, const struct question *question)
{
    write_title(page, question);
    if (question->asker.len > 0) {
        page_say(page, PAGE_FAINT, "Asked by:");
        page_quote(page, PAGE_PLAIN, question->asker, PAGE_LINE);
    }
    if (question->client.len > 0) {
        page_say(page, PAGE_FAINT, "For the client:");
        page_quote(page, PAGE_PLAIN, question->client, PAGE_NAME);
    }
    if (question->action.len > 0)
        page_quote(page, question->deletes ? PAGE_WARNING : PAGE_PLAIN, question->action,
                   PAGE_LINE);
    write_resources(page, question);
    if (question->detail.len > 0) {
        page_say(page, PAGE_FAINT, "%s",
                 question->is_diff                  ? "Change:"
                 : question->group == CATALOG_SHELL ? "As written:"
                                                    : "Arguments:");
        page_quote(page, PAGE_PLAIN, question->detail, question->is_diff ? PAGE_DIFF : PAGE_LINES);
    }
    write_scopes(page, question);
}

/* Built once for a width: it may be long, and keys only scroll it. */
static const struct console_page *body_for(struct prompt *prompt, size_t columns)
{
    struct console_page page;

    page_init(&page, columns, prompt->look.is_utf8);
    if (prompt->has_body && page.columns == prompt->body.columns)
        return &prompt->body;
    prompt_done(prompt);
    write_body(&page, prompt->question);
    prompt->body = page;
    prompt->has_body = true;
    return &prompt->body;
}

/* ---- on a screen, and in lines ---- */

/* A sheet's data besides the prompt. */
struct layout {
    struct sheet sheet;
    const char *labels[CHOICES];
    char rooms[CHOICES][LABEL_BYTES];
    char title[64];
    char keys[96];
};

static void lay_out(struct prompt *prompt, size_t columns, size_t more, struct layout *out)
{
    *out = (struct layout){.sheet = {.title = out->title,
                                     .body = body_for(prompt, columns),
                                     .labels = out->labels,
                                     .label_count = prompt->offered_count,
                                     .chosen = prompt->chosen,
                                     .keys = out->keys}};
    for (size_t i = 0; i < prompt->offered_count; i++) {
        write_label(prompt->question, prompt->offered[i], out->rooms[i]);
        out->labels[i] = out->rooms[i];
    }
    if (more > 0)
        (void)snprintf(out->title, sizeof(out->title), "Gatehouse asks (%zu more)", more);
    else
        (void)snprintf(out->title, sizeof(out->title), "Gatehouse asks");
    if (prompt->is_too_early)
        (void)snprintf(out->keys, sizeof(out->keys), "%s",
                       prompt->look.is_plain
                           ? "You can allow it after you have seen its end (m: more):"
                           : "You can allow it after you have seen its end (space: more, G: end)");
    else if (prompt->look.is_plain)
        (void)snprintf(
            out->keys, sizeof(out->keys),
            "Answer 1-%zu and Enter (Enter alone: 1, deny once):", prompt->offered_count);
    else
        (void)snprintf(out->keys, sizeof(out->keys),
                       "Up/Down or 1-%zu: choose, Enter: answer, Esc: deny", prompt->offered_count);
}

/* Without memory for all of it, the user might allow something that was not shown. */
static bool is_unshowable(const struct prompt *prompt)
{
    return prompt->body.error != 0;
}

void prompt_draw(struct prompt *prompt, const struct stage_size *size, size_t more, struct buf *out)
{
    struct layout layout;

    lay_out(prompt, size->columns, more, &layout);
    if (!is_unshowable(prompt)) {
        sheet_show(&layout.sheet, &prompt->look, size, &prompt->place, out);
        return;
    }
    prompt->place.step = 0;
    (void)buf_append_str(out, prompt->look.is_plain
                                  ? STR("\n== Gatehouse asks ==\nToo large to show: Enter denies ")
                                  : STR("Too large to show: Esc denies"));
}

/* ---- what is answered ---- */

/* Something could be hidden after a long beginning: nobody may allow what was not shown. */
static bool is_too_early(const struct prompt *prompt, enum permission_choice choice)
{
    return permission_choice_allows(choice) && !prompt->place.has_shown_end;
}

static enum prompt_result answer(struct prompt *prompt, enum permission_choice *out_choice)
{
    enum permission_choice choice = prompt->offered[prompt->chosen];

    if (prompt->place.step == 0) /* in a window that shows nothing, nothing is answered */
        return PROMPT_NOTHING;
    if (is_too_early(prompt, choice)) {
        prompt->is_too_early = true;
        return PROMPT_REDRAW;
    }
    *out_choice = choice;
    return PROMPT_ANSWERED;
}

static enum prompt_result choose(struct prompt *prompt, size_t index)
{
    if (index >= prompt->offered_count || index == prompt->chosen)
        return PROMPT_NOTHING;
    prompt->chosen = index;
    return PROMPT_REDRAW;
}

static enum prompt_result turn_page(struct prompt *prompt, bool is_forward)
{
    return sheet_turn(&prompt->place, is_forward) ? PROMPT_REDRAW : PROMPT_NOTHING;
}

static enum prompt_result take_text(struct prompt *prompt, char c)
{
    switch (c) {
    case 'j':
        return choose(prompt, prompt->chosen + 1);
    case 'k':
        return prompt->chosen > 0 ? choose(prompt, prompt->chosen - 1) : PROMPT_NOTHING;
    case ' ':
        return turn_page(prompt, true);
    case 'b':
        return turn_page(prompt, false);
    case 'G':
        return sheet_turn_to_end(&prompt->place) ? PROMPT_REDRAW : PROMPT_NOTHING;
    default:
        /* A number only chooses: it takes two keys to allow anything. */
        return c >= '1' && c <= '9' ? choose(prompt, (size_t)(c - '1')) : PROMPT_NOTHING;
    }
}

enum prompt_result prompt_key(struct prompt *prompt, const struct key *key,
                              enum permission_choice *out_choice)
{
    prompt->is_too_early = false;
    switch (key->code) {
    case KEY_ESCAPE:
    case KEY_INTERRUPT:
        *out_choice = CHOICE_DENY_ONCE;
        return PROMPT_ANSWERED;
    case KEY_ENTER:
        return answer(prompt, out_choice);
    case KEY_UP:
        return take_text(prompt, 'k');
    case KEY_DOWN:
        return take_text(prompt, 'j');
    case KEY_PAGE_DOWN:
        return turn_page(prompt, true);
    case KEY_PAGE_UP:
        return turn_page(prompt, false);
    case KEY_TEXT:
        return take_text(prompt, key->text[0]);
    case KEY_NONE:
    case KEY_ERASE:
    case KEY_ERASE_ALL:
    case KEY_LEFT:
    case KEY_RIGHT:
        break;
    }
    return PROMPT_NOTHING;
}

enum prompt_result prompt_line(struct prompt *prompt, struct str line, struct buf *out,
                               enum permission_choice *out_choice)
{
    struct layout layout;
    int64_t number;

    line = str_trim(line);
    if (line.len == 0 || is_unshowable(prompt)) {
        *out_choice = CHOICE_DENY_ONCE;
        return PROMPT_ANSWERED;
    }
    prompt->is_too_early = false;
    if (str_to_int64(line, &number) && number >= 1 && (uint64_t)number <= prompt->offered_count) {
        *out_choice = prompt->offered[number - 1];
        prompt->is_too_early = is_too_early(prompt, *out_choice);
        if (!prompt->is_too_early)
            return PROMPT_ANSWERED;
    }
    lay_out(prompt, prompt->body.columns, 0, &layout);
    if (str_eq_c(line, "m"))
        sheet_print_more(&layout.sheet, &prompt->look, &prompt->place, out);
    else
        sheet_print_choices(&layout.sheet, out);
    return PROMPT_REDRAW;
}

void prompt_summary(const struct question *question, const struct stage_look *look,
                    const char *what_happened, struct buf *out)
{
    (void)buf_printf(out, "%s: ", what_happened);
    (void)page_name(out, question->tool, TOOL_COLUMNS, look->is_utf8);
    if (question->resource_count == 0)
        return;
    (void)buf_append_str(out, STR(" on "));
    (void)page_name(out, question->resources[0].shown, SUMMARY_COLUMNS, look->is_utf8);
    if (count_names(question) > 1)
        (void)buf_printf(out, " and %zu more", count_names(question) - 1);
}
