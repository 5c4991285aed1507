/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine offers, found by trying rather than by version numbers.
 * A probe changes nothing and touches only fixed paths of the kernel and what
 * the user's own environment names. How it is told is doctor.h.
 */
#ifndef PROGRAMS_GATEHOUSE_PROBE_H
#define PROGRAMS_GATEHOUSE_PROBE_H

#include <stddef.h>

enum probe_status {
    PROBE_OK,
    PROBE_LIMITED, /* there, but not in full */
    PROBE_MISSING,
};

enum { PROBE_DETAIL_BYTES = 200 };

struct probe_finding {
    enum probe_status status;
    char detail[PROBE_DETAIL_BYTES];
};

struct probe {
    const char *id;      /* for programs */
    const char *title;   /* for people */
    const char *purpose; /* what it is good for */
    const char *lack;    /* what it means when it is limited or missing */
    void (*run)(struct probe_finding *out_finding);
};

extern const struct probe probes[];
extern const size_t probe_count;

/* "ok", "limited", "missing" */
const char *probe_status_name(enum probe_status status);

#endif
