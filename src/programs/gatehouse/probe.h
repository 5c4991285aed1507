/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine supports, found by trying and not by version numbers. A probe changes nothing
 * and touches only fixed paths of the kernel and what the user's environment names; for the
 * display it starts the program of ours that would hold it. doctor.h prints
 * the results.
 */
#ifndef PROGRAMS_GATEHOUSE_PROBE_H
#define PROGRAMS_GATEHOUSE_PROBE_H

#include <stddef.h>

enum probe_status {
    PROBE_OK,
    PROBE_LIMITED, /* partly available */
    PROBE_MISSING,
};

enum { PROBE_DETAIL_BYTES = 800 };

struct probe_finding {
    enum probe_status status;
    char detail[PROBE_DETAIL_BYTES];
};

struct probe {
    const char *id;      /* for programs */
    const char *title;   /* for people */
    const char *purpose; /* what it is good for */
    const char *lack;    /* the consequence if it is limited or missing */
    void (*run)(struct probe_finding *out_finding);
};

extern const struct probe probes[];
extern const size_t probe_count;

/* "ok", "limited", "missing" */
const char *probe_status_name(enum probe_status status);

#endif
