// Stands between a process and its C library, and makes file operations fail, or the wall clock jump, when told to.
//
//     LD_PRELOAD=shim.so FAULTS_CONTROL=FILE FAULTS_ROOT=DIRECTORY program
//
// FILE is `struct control`, mapped by this process and by whoever tells it what to do. Only operations on files below
// DIRECTORY are counted and can fail.

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// In the place of an errno: half of a write, and the end of the process; or an operation that lasts as long as this is set.
enum { TEAR = -1, HANG = -2 };

struct control {
    _Atomic int64_t operations;   // so far
    _Atomic int64_t first;        // the number of the first operation that fails; 0 for none
    _Atomic int64_t last;         // and of the last
    _Atomic int64_t error;        // the errno that they fail with
    _Atomic int64_t probability;  // of each operation to go wrong, in thousandths, beside the above
    _Atomic int64_t random;       // the state from which that is drawn
    _Atomic int64_t wall_offset;  // seconds by which the wall clock stands wrong
    _Atomic int64_t injected;     // how many faults there were
    _Atomic int64_t delay;        // microseconds that a synchronization takes
    _Atomic int64_t age;          // the longest that a written byte was not synchronized, in microseconds; only with a delay
};

static struct control none;
static struct control *control = &none;
static const char *root;
static _Atomic char is_ours[65536];  // by descriptor

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
// Each is looked up once: dlsym takes locks.
#define CALL(name, ...) \
    ({ static __typeof__(&name) real; if (!real) real = REAL(name); real(__VA_ARGS__); })

__attribute__((constructor)) static void start(void) {
    root = getenv("FAULTS_ROOT");
    const char *path = getenv("FAULTS_CONTROL");
    if (!path) return;
    int file = CALL(open, path, O_RDWR | O_CLOEXEC);
    if (file < 0) abort();
    void *mapped = mmap(0, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) abort();
    control = mapped;
    CALL(close, file);
}

static int is_watched(const char *path) { return root && strncmp(path, root, strlen(root)) == 0; }
static int is_watched_file(int file) { return file >= 0 && file < (int)sizeof is_ours && is_ours[file]; }

static int64_t draw(void) {
    int64_t old = control->random, new;
    do new = (int64_t)((uint64_t)old * 6364136223846793005u + 1442695040888963407u);
    while (!atomic_compare_exchange_weak(&control->random, &old, new));
    return (int64_t)((uint64_t)new >> 33);
}

// Counts an operation. Returns the errno that it is to fail with, 0 for none.
static int fault(int may_be_interrupted) {
    int64_t number = atomic_fetch_add(&control->operations, 1) + 1;
    int64_t first = control->first;
    if (first && number >= first && number <= control->last) {
        atomic_fetch_add(&control->injected, 1);
        if (control->error == HANG) {
            while (control->first && control->error == HANG) usleep(1000);
            return 0;
        }
        return (int)control->error;
    }
    if (control->probability && draw() % 1000 < control->probability) {
        static const int errors[] = {ENOSPC, EIO, EACCES, EROFS, EDQUOT};
        atomic_fetch_add(&control->injected, 1);
        if (may_be_interrupted && draw() % 2) return EINTR;
        return errors[draw() % 5];
    }
    return 0;
}

// When the oldest byte of a file was written that is not synchronized, by inode.
static _Atomic int64_t unsafe_since[65536];

static int64_t microseconds(void) {
    struct timespec now;
    CALL(clock_gettime, CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static _Atomic int64_t *slot(int file) {
    struct stat status;
    return CALL(fstat, file, &status) == 0 ? &unsafe_since[status.st_ino % 65536] : 0;
}

static void wrote(int file) {
    int64_t never = 0;
    _Atomic int64_t *since = control->delay ? slot(file) : 0;
    if (since) atomic_compare_exchange_strong(since, &never, microseconds());
}

// Takes the time of a slow drive. What is written meanwhile is not synchronized.
static void be_slow(int file) {
    if (!control->delay) return;
    _Atomic int64_t *entry = slot(file);
    int64_t since = entry ? atomic_exchange(entry, 0) : 0;
    usleep((useconds_t)control->delay);
    int64_t age = since ? microseconds() - since : 0;
    int64_t old = control->age;
    while (age > old && !atomic_compare_exchange_weak(&control->age, &old, age));
}

#define FAIL(watched, may_be_interrupted)                     \
    if (watched) {                                            \
        int error = fault(may_be_interrupted);                \
        if (error == TEAR) kill(getpid(), SIGKILL);           \
        if (error) { errno = error; return -1; }              \
    }

static int note(int file, int watched) {
    if (file >= 0 && file < (int)sizeof is_ours) is_ours[file] = (char)watched;
    return file;
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    int watched = is_watched(path);
    FAIL(watched, 1)
    return note(CALL(open, path, flags, mode), watched);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int close(int file) {
    note(file, 0);
    return CALL(close, file);
}

// Behind the end if the offset is negative.
static ssize_t put(int file, const void *bytes, size_t count, off_t offset) {
    return offset < 0 ? CALL(write, file, bytes, count) : CALL(pwrite, file, bytes, count, offset);
}

static ssize_t write_or_fail(int file, const void *bytes, size_t count, off_t offset) {
    if (is_watched_file(file)) {
        int error = fault(1);
        if (error == TEAR) {
            put(file, bytes, count / 2, offset);
            kill(getpid(), SIGKILL);
        }
        if (error) { errno = error; return -1; }
        // A short write is no error; what took half may take the rest, or fail then.
        if (control->probability && count > 1 && draw() % 1000 < control->probability * 4) {
            atomic_fetch_add(&control->injected, 1);
            count = 1 + (size_t)draw() % (count - 1);
        }
        wrote(file);
    }
    return put(file, bytes, count, offset);
}

ssize_t write(int file, const void *bytes, size_t count) { return write_or_fail(file, bytes, count, -1); }

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    return write_or_fail(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) __attribute__((alias("pwrite")));

ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
    FAIL(is_watched_file(file), 1)
    return CALL(pread, file, bytes, count, offset);
}

ssize_t pread64(int file, void *bytes, size_t count, off_t offset) __attribute__((alias("pread")));

ssize_t read(int file, void *bytes, size_t count) {
    FAIL(is_watched_file(file), 1)
    return CALL(read, file, bytes, count);
}

int fdatasync(int file) {
    FAIL(is_watched_file(file), 1)
    if (is_watched_file(file)) be_slow(file);
    return CALL(fdatasync, file);
}

int fsync(int file) {
    FAIL(is_watched_file(file), 1)
    if (is_watched_file(file)) be_slow(file);
    return CALL(fsync, file);
}

int ftruncate(int file, off_t size) {
    FAIL(is_watched_file(file), 1)
    return CALL(ftruncate, file, size);
}

int flock(int file, int operation) {
    FAIL(is_watched_file(file), 1)
    return CALL(flock, file, operation);
}

int fstat(int file, struct stat *status) {
    FAIL(is_watched_file(file), 0)
    return CALL(fstat, file, status);
}

int lstat(const char *path, struct stat *status) {
    FAIL(is_watched(path), 0)
    return CALL(lstat, path, status);
}

int unlink(const char *path) {
    FAIL(is_watched(path), 0)
    struct stat status;
    if (control->delay && is_watched(path) && CALL(lstat, path, &status) == 0) unsafe_since[status.st_ino % 65536] = 0;
    return CALL(unlink, path);
}

int rmdir(const char *path) {
    FAIL(is_watched(path), 0)
    return CALL(rmdir, path);
}

int mkdir(const char *path, mode_t mode) {
    FAIL(is_watched(path), 0)
    return CALL(mkdir, path, mode);
}

int rename(const char *old, const char *new) {
    FAIL(is_watched(old), 0)
    return CALL(rename, old, new);
}

struct dirent *readdir(DIR *directory) {
    if (is_watched_file(dirfd(directory))) {
        int error = fault(0);
        if (error == TEAR) kill(getpid(), SIGKILL);
        if (error) { errno = error; return 0; }
    }
    return CALL(readdir, directory);
}

// The wall clock only: a monotonic clock that jumps would be another fault, and one that no system has.

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = CALL(clock_gettime, clock, time);
    int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    if (result == 0 && is_wall) time->tv_sec += control->wall_offset;
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    int result = CALL(gettimeofday, time, zone);
    if (result == 0) time->tv_sec += control->wall_offset;
    return result;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
