#if !defined(__APPLE__)

#include "curl_library.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;

// A forked child has none of the threads that hold the lock.
static void reopen_gate(void) { pthread_rwlock_init(&gate, NULL); }

static void close_gate(void) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    // Threads leave within milliseconds. Don't wait for one that waits for a name server.
    deadline.tv_sec += 1;
    pthread_rwlock_timedwrlock(&gate, &deadline);
    // The gate stays closed.
}

void sluice_exit_gate_install(void) {
    pthread_atfork(NULL, NULL, reopen_gate);
    atexit(close_gate);
}

void sluice_exit_gate_enter(void) { pthread_rwlock_rdlock(&gate); }

bool sluice_exit_gate_try(void) { return pthread_rwlock_tryrdlock(&gate) == 0; }

void sluice_exit_gate_leave(void) { pthread_rwlock_unlock(&gate); }

#endif
