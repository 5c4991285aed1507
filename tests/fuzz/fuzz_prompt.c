/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question with any text in any window, and any keys: the output stays in its rows and contains
 * no control sequences of the text, and the keys choose only what is offered.
 *
 * Input: rows, columns, choices and a few switches, then the text; its second half also serves as
 * keys.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "../support/screen.h"
#include "console/prompt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw(struct prompt *prompt, const struct stage_size *size)
{
    static struct screen screen;
    cleanup_buf struct buf out = BUF_INIT(STAGE_FRAME_MAX);

    prompt_draw(prompt, size, 1, &out);
    screen_init(&screen, size->rows, size->columns);
    screen.is_other = true;
    screen.wraps = false;
    for (size_t i = 0; i < out.len; i++)
        screen_take(&screen, out.data[i]);
    assert(screen.foreign == 0 && screen.scrolls == 0 && screen.lost == 0);
    if (size->rows >= SHEET_MIN_ROWS && size->columns >= PAGE_MIN_COLUMNS)
        assert(screen_find(&screen, "> ") >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct keys keys = {0};
    struct prompt prompt;
    struct question_resource resource;
    struct question question;
    struct stage_look look;
    struct stage_size window;
    struct str text;

    if (size < 4 || size > 4096)
        return 0;
    window = (struct stage_size){1 + data[0] % SCREEN_ROWS, 1 + data[1] % SCREEN_COLUMNS};
    text = (struct str){(const char *)data + 4, size - 4};
    resource =
        (struct question_resource){(enum catalog_group)(data[3] % 5), text,
                                   (enum permission_operation)(data[3] % PERMISSION_OPERATIONS)};
    question = (struct question){
        .tool = text,
        .group = (enum catalog_group)(data[3] / 8 % 5),
        .resources = &resource,
        .resource_count = 1,
        .action = text,
        .detail = text,
        .is_diff = (data[3] & 1) != 0,
        .deletes = (data[3] & 2) != 0,
        .choices = 1U | (data[2] & ((1U << CHOICES) - 1)),
    };
    look = (struct stage_look){.has_colour = (data[3] & 4) != 0, .is_utf8 = (data[2] & 64) != 0};
    prompt_init(&prompt, &question, &look);
    draw(&prompt, &window);
    for (size_t i = text.len / 2; i < text.len; i++) {
        struct key key = keys_take(&keys, text.ptr[i]);
        enum permission_choice choice = CHOICES;

        switch (key.code == KEY_NONE ? PROMPT_NOTHING : prompt_key(&prompt, &key, &choice)) {
        case PROMPT_NOTHING:
            break;
        case PROMPT_REDRAW:
            draw(&prompt, &window);
            break;
        case PROMPT_ANSWERED:
            assert(choice < CHOICES && (question.choices & 1U << choice) != 0);
            break;
        }
    }
    prompt_done(&prompt);
    return 0;
}
