/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects, and what each may have under way. */
#include "programs/authority/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REQUESTS = 10000 };

/* Of all requests together. */
static const size_t max_bytes = (size_t)1 << 30;

/* Of the host itself, which would only harm itself, and of those that it serves. */
static const struct party_limits limits_of_host = {.running = MAX_RUNNING,
                                                   .taken = 128,
                                                   .waiting = MAX_REQUESTS,
                                                   .bytes = (size_t)512 << 20,
                                                   .scopes = MAX_SCOPES,
                                                   .watches = MAX_WATCHES};
static const struct party_limits limits_of_others = {.running = MAX_RUNNING / 2,
                                                     .taken = 16,
                                                     .waiting = 4000,
                                                     .bytes = (size_t)128 << 20,
                                                     .scopes = 256,
                                                     .watches = 128};

const struct party_limits *party_limits(const struct party *party)
{
    return party->is_host ? &limits_of_host : &limits_of_others;
}

static struct party *make_party(struct authority_service *service, const char *key, bool is_host)
{
    struct party *party = calloc(1, sizeof(*party));

    if (party == NULL)
        return NULL;
    party->key = strdup(key);
    if (party->key == NULL) {
        free(party);
        return NULL;
    }
    party->is_host = is_host;
    list_init(&party->waiting);
    list_append(&service->parties, &party->node);
    return party;
}

struct party *parties_take(struct authority_service *service,
                           const struct authority_subject *subject)
{
    const char *type = authority_subject_type_name(subject->type);
    size_t len = strlen(type) + 1 + strlen(subject->id) + 1;
    struct party *found = NULL;
    char *key = malloc(len);

    if (key == NULL)
        return NULL;
    snprintf(key, len, "%s:%s", type, subject->id);
    list_each (node, &service->parties) {
        struct party *party = list_entry(node, struct party, node);

        if (strcmp(party->key, key) == 0)
            found = party;
    }
    if (found == NULL)
        found = make_party(service, key, subject->type == AUTHORITY_CORE);
    free(key);
    if (found != NULL)
        found->refs++;
    return found;
}

void parties_drop(struct party *party)
{
    if (party == NULL || --party->refs > 0)
        return;
    list_remove(&party->node);
    free(party->key);
    free(party);
}

int parties_queue(struct served_request *request)
{
    struct authority_service *service = request->service;
    struct party *party = request->party;
    const struct party_limits *limits = party_limits(party);

    /* A release makes room, and its first half is done. */
    if (!str_eq(request->op, STR("release")) &&
        (party->waiting_count >= limits->waiting || party->bytes + request->bytes > limits->bytes ||
         service->bytes + request->bytes > max_bytes))
        return ERR_BUSY;
    list_append(&service->requests, &request->node);
    party->bytes += request->bytes;
    service->bytes += request->bytes;
    if (request->is_helping) {
        list_append(&service->helping, &request->turn);
        service->helping_count++;
    } else {
        list_append(&party->waiting, &request->turn);
        party->waiting_count++;
    }
    return 0;
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned ready(const struct party *party)
{
    const struct party_limits *limits = party_limits(party);

    if (party->running_count >= limits->running || party->taken_count >= limits->taken)
        return 0;
    return smaller(party->waiting_count, smaller(limits->running - party->running_count,
                                                 limits->taken - party->taken_count));
}

unsigned parties_ready(const struct authority_service *service)
{
    unsigned count = 0;

    list_each (node, &service->parties)
        count += ready(list_entry(node, struct party, node));
    if (service->taken_count + count > MAX_TAKEN)
        count = service->taken_count < MAX_TAKEN ? MAX_TAKEN - service->taken_count : 0;
    count += service->helping_count;
    return service->running_count < MAX_RUNNING
               ? smaller(count, MAX_RUNNING - service->running_count)
               : 0;
}

static struct served_request *begin(struct authority_service *service, struct list *turn)
{
    struct served_request *request = list_entry(turn, struct served_request, turn);

    list_remove(&request->turn);
    service->running_count++;
    request->party->running_count++;
    if (request->is_helping) {
        service->helping_count--;
        return request;
    }
    request->party->waiting_count--;
    request->party->taken_count++;
    service->taken_count++;
    return request;
}

struct served_request *parties_begin_next(struct authority_service *service)
{
    if (service->running_count >= MAX_RUNNING)
        return NULL;
    if (!list_is_empty(&service->helping))
        return begin(service, service->helping.next);
    if (service->taken_count >= MAX_TAKEN)
        return NULL;
    list_each (node, &service->parties) {
        struct party *party = list_entry(node, struct party, node);

        if (ready(party) == 0)
            continue;
        list_remove(&party->node);
        list_append(&service->parties, &party->node);
        return begin(service, party->waiting.next);
    }
    return NULL;
}

void parties_end(struct served_request *request)
{
    struct authority_service *service = request->service;
    struct party *party = request->party;

    list_remove(&request->node);
    service->running_count--;
    party->running_count--;
    if (!request->is_helping) {
        service->taken_count--;
        party->taken_count--;
    }
    party->bytes -= request->bytes;
    service->bytes -= request->bytes;
    parties_drop(party);
    request->party = NULL;
}
