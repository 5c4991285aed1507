/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this build has a sanitizer whose runtime needs more than the product: ASan looks for
 * leaks from a tracer thread, TSan starts a thread before main(). Only in such builds, the
 * confinement allows for that. Internal to this layer.
 */
#ifndef ISOLATE_SANITIZED_H
#define ISOLATE_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define ISOLATE_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ISOLATE_HAS_ASAN 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define ISOLATE_HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ISOLATE_HAS_TSAN 1
#endif
#endif

#if defined(ISOLATE_HAS_ASAN) || defined(ISOLATE_HAS_TSAN)
enum { ISOLATE_IS_SANITIZED = 1 };
#else
enum { ISOLATE_IS_SANITIZED = 0 };
#endif

#if defined(ISOLATE_HAS_TSAN)
enum { ISOLATE_THREADS_BEFORE_MAIN = 2 };
#else
enum { ISOLATE_THREADS_BEFORE_MAIN = 1 };
#endif

#endif
