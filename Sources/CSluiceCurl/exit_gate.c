#if !defined(__APPLE__)

#include "exit_gate.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
static pid_t process;

static void close_gate(void) {
    // The child of a fork has none of the threads, but perhaps their lock.
    if (getpid() != process) return;
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    // Threads leave within milliseconds; one that waits for a name server is not waited for.
    deadline.tv_sec += 1;
    pthread_rwlock_timedwrlock(&gate, &deadline);
    // And it stays closed.
}

void sluice_exit_gate_install(void) {
    process = getpid();
    atexit(close_gate);
}

void sluice_exit_gate_enter(void) { pthread_rwlock_rdlock(&gate); }

void sluice_exit_gate_leave(void) { pthread_rwlock_unlock(&gate); }

#endif
