/* SPDX-License-Identifier: Apache-2.0 */
/* What another process has used so far, and where it runs. */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include <sched.h>
#include <sys/types.h>

/* User and system time of all its threads; below 0 if there is no such process. */
double process_cpu_ns(pid_t pid);
/* What it holds in memory, shared pages in proportion; below 0 where that may not be seen. */
double process_pss_kb(pid_t pid);
/* All its threads, and those that they start. */
void process_run_on(pid_t pid, const cpu_set_t *cores);
/* It and all that come from it, as far as there is room; returns how many. */
size_t process_family(pid_t pid, pid_t *out_pids, size_t max);

#endif
