#if !defined(__APPLE__)

#include "curl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>

#include "CSluiceCurl.h"

curl_library sluice_curl;

#define FUNCTIONS(use)                                                                                                  \
    use(global_init) use(easy_init) use(easy_cleanup) use(easy_setopt) use(easy_getinfo) use(easy_strerror)            \
    use(multi_init) use(multi_cleanup) use(multi_setopt) use(multi_add_handle) use(multi_remove_handle)                \
    use(multi_perform) use(multi_poll) use(multi_wakeup) use(multi_info_read) use(slist_append) use(slist_free_all)

// The functions of a libcurl that is linked into a static program; null without it.
#define DECLARE(name) extern void curl_##name(void) __attribute__((weak));
FUNCTIONS(DECLARE)

static bool find(void *library, const char *name, void (*linked)(void), void *function) {
    void *symbol = library == NULL ? (void *)linked : dlsym(library, name);
    // ISO C has no cast between data and function pointers; POSIX guarantees the same representation.
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static sluice_curl_availability load(void (*occupy)(void)) {
    occupy();
    sluice_curl.occupy_standard_descriptors = occupy;
    // A program without a dynamic linker has no base address of it. In any other one, the functions may be those of a host
    // that needs another libcurl than this library.
    bool is_static = getauxval(AT_BASE) == 0;
    void *library = NULL;
    if (!is_static || curl_easy_init == NULL) {
        // Never closed: libcurl's own threads and exit handlers may outlive every client.
        library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) return is_static ? SLUICE_CURL_UNLINKED : SLUICE_CURL_MISSING;
    }
    bool found = true;
#define FIND(name) found = found && find(library, "curl_" #name, curl_##name, &sluice_curl.name);
    FUNCTIONS(FIND)
    if (!found) return SLUICE_CURL_TOO_OLD;
    if (sluice_curl.global_init(CURL_GLOBAL_DEFAULT) != CURL_OK) return SLUICE_CURL_UNUSABLE;
    sluice_exit_gate_install();
    sluice_curl.is_loaded = true;
    return SLUICE_CURL_AVAILABLE;
}

const char *sluice_curl_load_error(void) { return dlerror(); }

sluice_curl_availability sluice_curl_load(void (*occupy)(void)) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static sluice_curl_availability availability = SLUICE_CURL_MISSING;
    pthread_mutex_lock(&mutex);
    // A failure may be a lack of memory or descriptors, and is not final.
    if (availability != SLUICE_CURL_AVAILABLE) availability = load(occupy);
    sluice_curl_availability result = availability;
    pthread_mutex_unlock(&mutex);
    return result;
}

#endif
