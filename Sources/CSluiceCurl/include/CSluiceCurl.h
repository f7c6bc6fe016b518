#ifndef CSLUICECURL_H
#define CSLUICECURL_H

#if !defined(__APPLE__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether the system has a libcurl that is new enough.
typedef enum {
    SLUICE_CURL_AVAILABLE,
    SLUICE_CURL_MISSING,
    /// The program is linked statically, without libcurl, and can't load a library.
    SLUICE_CURL_UNLINKED,
    SLUICE_CURL_TOO_OLD,
    SLUICE_CURL_UNUSABLE,
} sluice_curl_availability;

/// Loads libcurl, once per process. After a failure, a later call tries again. Can be called from any thread.
///
/// `occupy` opens the standard descriptors that the host has closed. It is called before descriptors are opened, on any
/// thread. Pass the same function each time.
sluice_curl_availability sluice_curl_load(void (*occupy)(void));

/// The system's text for the failure of `sluice_curl_load` in this thread; null if there is none, or if it was read before.
const char *sluice_curl_load_error(void);

typedef struct {
    const char *method;
    const char *url;
    /// Lines `Name: value`, or `Name;` for an empty value, each with a newline.
    const char *headers;
    const void *body;
    size_t body_count;
    long connect_milliseconds;
    long total_milliseconds;
    /// Takes a line of the response's head or of its trailer, or bytes of its body with the chunks as they are. False ends the
    /// request.
    bool (*receive)(void *context, bool is_head, const void *bytes, size_t count);
    void *context;
} sluice_curl_request;

typedef struct {
    /// Why there is no complete response, in a few static words that contain nothing of the request; null if there is one, or
    /// if the request was cancelled.
    const char *failure;
    bool is_cancelled;
    /// The whole request was sent before the last bytes of the response arrived. Otherwise the response doesn't confirm it.
    bool is_confirmed;
    /// A part of the response arrived before the whole request was sent.
    bool is_early;
} sluice_curl_result;

/// A connection to a server, for one request at a time. The thread that sends a request waits for its response.
typedef struct sluice_curl_connection sluice_curl_connection;

/// Returns NULL if there is not enough memory or libcurl is not loaded.
sluice_curl_connection *sluice_curl_create(void);

/// Closes the connection. Must not be called while it is in use.
void sluice_curl_free(sluice_curl_connection *connection);

/// Whether the connection of the last request is still established and has no bytes waiting.
bool sluice_curl_is_kept(const sluice_curl_connection *connection);

/// Returns the number of the next request, for `sluice_curl_cancel`.
uint64_t sluice_curl_begin(sluice_curl_connection *connection);

/// Sends the request that has begun, and blocks until its response is complete. After a failure or a cancellation, free the
/// connection.
sluice_curl_result sluice_curl_send(sluice_curl_connection *connection, const sluice_curl_request *request);

/// Ends a request soon, or when it is sent. Does nothing if it has already ended. Can be called from any thread.
void sluice_curl_cancel(sluice_curl_connection *connection, uint64_t number);

#endif

#endif
