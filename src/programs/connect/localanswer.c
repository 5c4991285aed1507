/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/localanswer.h"

#include "base/jsonwrite.h"
#include "base/plain.h"

void localanswer_body(const struct localanswer *to, int status, struct str body)
{
    exchange_answer(to->exchange,
                    &(struct http_answer){.status = status,
                                          .type = STR("application/json; charset=utf-8"),
                                          .fields = to->fields,
                                          .field_count = to->field_count,
                                          .parts = &body,
                                          .part_count = 1,
                                          .is_last = to->is_last});
}

void localanswer_words(const struct localanswer *to, int status, const char *key, struct str words)
{
    cleanup_buf struct buf line = BUF_INIT(LOCALANSWER_WORDS_BYTES);
    cleanup_buf struct buf body = BUF_INIT(LOCALANSWER_WORDS_BYTES * 6);
    struct json_writer writer;

    (void)plain_line(words, LOCALANSWER_WORDS_BYTES, &line); /* what did not fit is left out */
    json_writer_init(&writer, &body);
    json_begin_object(&writer);
    json_put_str_lossy(&writer, str_from(key), buf_view(&line));
    json_end_object(&writer);
    if (json_writer_finish(&writer) < 0)
        exchange_answer_error(to->exchange, ERR_NO_MEMORY);
    else
        localanswer_body(to, status, buf_view(&body));
}

void localanswer_report(const struct localanswer *to, const struct report *report,
                        int (*write)(const struct report *report, struct buf *out))
{
    cleanup_buf struct buf body = BUF_INIT(REPORT_WHOLE_BYTES);
    int r = write(report, &body);

    if (r < 0)
        localanswer_words(to, 500, "error", str_from(err_text(r)));
    else
        localanswer_body(to, 200, buf_view(&body));
}
