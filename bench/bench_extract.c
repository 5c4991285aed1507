/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks an archive through the authority and prints how many milliseconds that
 * took, all checks, one sync and the publication included:
 *
 *     bench_extract ROOT ARCHIVE DESTINATION       both relative to ROOT
 */
#include <stdio.h>
#include <time.h>

#include "gatehouse/authority.h"

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    const struct authority_config config = {.backend = AUTHORITY_LINUX};
    struct authority_request request = {
        .subject = {AUTHORITY_CORE, "bench", NULL},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "bench"},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "measure",
        .source = AUTHORITY_FROM_CORE,
    };
    struct authority_archive_result result;
    struct authority_scope *scope;
    struct authority *authority;
    struct err err = ERR_INIT;
    double start;

    if (argc != 4)
        return 2;
    request.root.path = argv[1];
    start = now_ms();
    if (authority_new(&config, &authority, &err) < 0 ||
        authority_request_root(authority, &request, &scope, &err) < 0 ||
        authority_extract_archive(scope, str_from(argv[2]), str_from(argv[3]), NULL, &result,
                                  &err) < 0) {
        fprintf(stderr, "bench_extract: %s\n", err.message);
        return 1;
    }
    printf("%.1f\n", now_ms() - start);
    authority_free(authority);
    return 0;
}
