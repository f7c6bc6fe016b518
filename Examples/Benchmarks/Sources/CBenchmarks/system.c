#ifdef __linux__
#define _GNU_SOURCE
#include <features.h>
#include <sys/prctl.h>
#endif

#include <sys/resource.h>

#include "CBenchmarks.h"

static double milliseconds(struct timeval time) { return time.tv_sec * 1e3 + time.tv_usec / 1e3; }

double benchmarks_children_milliseconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
}

#ifdef __GLIBC__

#include <malloc.h>

// These replace the C library's functions in the whole process. A counter of the thread costs about a nanosecond.

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static _Thread_local long allocations __attribute__((tls_model("initial-exec")));

void *malloc(size_t size) {
    allocations += 1;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations += 1;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    allocations += 1;
    return __libc_realloc(old, size);
}

long benchmarks_allocations(void) { return allocations; }
void benchmarks_trim_heap(void) { malloc_trim(0); }

#else

long benchmarks_allocations(void) { return -1; }
void benchmarks_trim_heap(void) {}

#endif

void benchmarks_allow_tracing(void) {
#ifdef PR_SET_PTRACER
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
}
