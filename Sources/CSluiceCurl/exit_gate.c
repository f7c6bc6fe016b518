#if !defined(__APPLE__)

#include "exit_gate.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
static pid_t process;

static void close_gate(void) {
    // A forked child has no such threads, but may have inherited their lock.
    if (getpid() != process) return;
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    // Threads leave within milliseconds. Don't wait for one that waits for a name server.
    deadline.tv_sec += 1;
    pthread_rwlock_timedwrlock(&gate, &deadline);
    // The gate stays closed.
}

void sluice_exit_gate_install(void) {
    process = getpid();
    atexit(close_gate);
}

void sluice_exit_gate_enter(void) { pthread_rwlock_rdlock(&gate); }

bool sluice_exit_gate_try(void) { return pthread_rwlock_tryrdlock(&gate) == 0; }

void sluice_exit_gate_leave(void) { pthread_rwlock_unlock(&gate); }

#endif
