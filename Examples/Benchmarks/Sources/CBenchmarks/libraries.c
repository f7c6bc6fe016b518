#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "CBenchmarks.h"

// libcurl and zlib are loaded at run time, so that the build doesn't need their headers.

#ifdef __APPLE__
#define CURL_LIBRARY "libcurl.4.dylib"
#define ZLIB_LIBRARY "libz.1.dylib"
#else
#define CURL_LIBRARY "libcurl.so.4"
#define ZLIB_LIBRARY "libz.so.1"
#endif

#define CURL_URL 10002
#define CURL_POST 47
#define CURL_POST_FIELDS 10015
#define CURL_POST_FIELD_SIZE 30120
#define CURL_HTTP_HEADER 10023
#define CURL_NO_SIGNAL 99
#define CURL_UPLOAD_BUFFER_SIZE 280
#define CURL_RESPONSE_CODE (0x200000 + 2)

struct benchmarks_curl {
    void *easy;
    void *headers;
    int (*setopt)(void *easy, int option, ...);
    int (*getinfo)(void *easy, int info, ...);
    int (*perform)(void *easy);
    void (*cleanup)(void *easy);
    void (*free_headers)(void *headers);
};

benchmarks_curl *benchmarks_curl_create(const char *url, const char *encoding) {
    void *library = dlopen(CURL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return NULL;
    void *(*create)(void) = (void *(*)(void))dlsym(library, "curl_easy_init");
    void *(*append)(void *, const char *) = (void *(*)(void *, const char *))dlsym(library, "curl_slist_append");
    benchmarks_curl *client = calloc(1, sizeof *client);
    client->setopt = (int (*)(void *, int, ...))dlsym(library, "curl_easy_setopt");
    client->getinfo = (int (*)(void *, int, ...))dlsym(library, "curl_easy_getinfo");
    client->perform = (int (*)(void *))dlsym(library, "curl_easy_perform");
    client->cleanup = (void (*)(void *))dlsym(library, "curl_easy_cleanup");
    client->free_headers = (void (*)(void *))dlsym(library, "curl_slist_free_all");
    client->easy = create();
    client->headers = append(NULL, "Content-Type: application/x-ndjson");
    // Without it, libcurl asks before it sends a large body.
    client->headers = append(client->headers, "Expect:");
    if (encoding != NULL) client->headers = append(client->headers, encoding);
    client->setopt(client->easy, CURL_URL, url);
    client->setopt(client->easy, CURL_POST, 1L);
    client->setopt(client->easy, CURL_HTTP_HEADER, client->headers);
    client->setopt(client->easy, CURL_NO_SIGNAL, 1L);
    // As HTTPTransport does.
    client->setopt(client->easy, CURL_UPLOAD_BUFFER_SIZE, 256L * 1024);
    return client;
}

long benchmarks_curl_post(benchmarks_curl *client, const void *body, size_t count) {
    client->setopt(client->easy, CURL_POST_FIELD_SIZE, (long long)count);
    client->setopt(client->easy, CURL_POST_FIELDS, body);
    long status = -1;
    if (client->perform(client->easy) != 0) return -1;
    client->getinfo(client->easy, CURL_RESPONSE_CODE, &status);
    return status;
}

void benchmarks_curl_free(benchmarks_curl *client) {
    client->cleanup(client->easy);
    client->free_headers(client->headers);
    free(client);
}

long benchmarks_deflate(const void *bytes, size_t count, void *output, size_t capacity) {
    static int (*compress)(void *, unsigned long *, const void *, unsigned long, int);
    if (compress == NULL) {
        void *library = dlopen(ZLIB_LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) return -1;
        compress = (int (*)(void *, unsigned long *, const void *, unsigned long, int))dlsym(library, "compress2");
    }
    unsigned long size = capacity;
    return compress(output, &size, bytes, count, 1) == 0 ? (long)size : -1;
}
