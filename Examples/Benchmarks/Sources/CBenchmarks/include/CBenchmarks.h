#ifndef CBENCHMARKS_H
#define CBENCHMARKS_H

#include <stddef.h>

// Nullability is declared for Swift.
#pragma clang assume_nonnull begin

/// Returns how often the calling thread has called malloc, calloc and realloc; -1 where they aren't counted.
long benchmarks_allocations(void);

/// Returns unused memory to the system, where the C library can do that.
void benchmarks_trim_heap(void);

/// Returns the processor time of ended child processes, in user and in system mode.
double benchmarks_children_milliseconds(void);

/// Lets a later process of this user trace this one.
void benchmarks_allow_tracing(void);

/// Starts a process that accepts every HTTP request on the loopback interface, and ends with this process.
///
/// - Returns: its port, or -1.
int benchmarks_start_sink(void);

typedef struct benchmarks_curl benchmarks_curl;

/// Returns a client of libcurl's easy interface that keeps its connection; NULL if the system has no libcurl.
benchmarks_curl *_Nullable benchmarks_curl_create(const char *url, const char *_Nullable encoding);

/// Posts a body and waits for the response.
///
/// - Returns: the status of the response, or -1.
long benchmarks_curl_post(benchmarks_curl *client, const void *body, size_t count);

void benchmarks_curl_free(benchmarks_curl *client);

/// Compresses with zlib's level 1.
///
/// - Returns: the compressed size, or -1 if there is no zlib or `capacity` is too small.
long benchmarks_deflate(const void *bytes, size_t count, void *output, size_t capacity);

#pragma clang assume_nonnull end
#endif
