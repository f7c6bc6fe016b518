#if !defined(__APPLE__)

#include "curl_library.h"
#include "exit_gate.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "CSluiceCurl.h"

curl_library sluice_curl;

static bool find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    // ISO C has no cast between data and function pointers; POSIX guarantees the same representation.
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static sluice_curl_availability load(void (*occupy)(void)) {
    occupy();
    sluice_curl.occupy_standard_descriptors = occupy;
    // Never closed: libcurl's own threads and exit handlers may outlive every client.
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return SLUICE_CURL_MISSING;
    bool found = find(library, "curl_global_init", &sluice_curl.global_init) &&
                 find(library, "curl_easy_init", &sluice_curl.easy_init) &&
                 find(library, "curl_easy_cleanup", &sluice_curl.easy_cleanup) &&
                 find(library, "curl_easy_setopt", &sluice_curl.easy_setopt) &&
                 find(library, "curl_easy_getinfo", &sluice_curl.easy_getinfo) &&
                 find(library, "curl_easy_strerror", &sluice_curl.easy_strerror) &&
                 find(library, "curl_multi_init", &sluice_curl.multi_init) &&
                 find(library, "curl_multi_cleanup", &sluice_curl.multi_cleanup) &&
                 find(library, "curl_multi_setopt", &sluice_curl.multi_setopt) &&
                 find(library, "curl_multi_add_handle", &sluice_curl.multi_add_handle) &&
                 find(library, "curl_multi_remove_handle", &sluice_curl.multi_remove_handle) &&
                 find(library, "curl_multi_perform", &sluice_curl.multi_perform) &&
                 find(library, "curl_multi_poll", &sluice_curl.multi_poll) &&
                 find(library, "curl_multi_wakeup", &sluice_curl.multi_wakeup) &&
                 find(library, "curl_multi_info_read", &sluice_curl.multi_info_read) &&
                 find(library, "curl_slist_append", &sluice_curl.slist_append) &&
                 find(library, "curl_slist_free_all", &sluice_curl.slist_free_all);
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
