/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/answer.h"

void answer_json_with(struct exchange *exchange, int status, struct http_field more,
                      struct str body)
{
    const struct http_field fields[] = {
        {STR("Cache-Control"), STR("no-store")},
        {STR("X-Content-Type-Options"), STR("nosniff")},
        more,
    };

    exchange_answer(exchange, &(struct http_answer){.status = status,
                                                    .type = STR("application/json"),
                                                    .fields = fields,
                                                    .field_count = more.name.len > 0 ? 3 : 2,
                                                    .parts = &body,
                                                    .part_count = 1});
}

void answer_json(struct exchange *exchange, int status, struct str body)
{
    answer_json_with(exchange, status, (struct http_field){STR_EMPTY, STR_EMPTY}, body);
}
