#ifndef CSLUICECURL_H
#define CSLUICECURL_H

#if !defined(__APPLE__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Bytes of a response's body that are kept. The transfer ends if there are more.
#define SLUICE_CURL_BODY_LIMIT 65536

/// Bytes of a response's head, together with those of interim responses. The transfer fails if there are more.
#define SLUICE_CURL_HEAD_LIMIT 65536

/// Bytes around the chunks of a response's body: their sizes, their extensions, and the trailers. The transfer fails if
/// there are more.
#define SLUICE_CURL_FRAMING_LIMIT 65536

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

/// Copies `count` bytes of a request's body from `offset` on. Called on the client's thread, never after the completion.
typedef void (*sluice_curl_body_reader)(void *context, size_t offset, void *to, size_t count);

/// The texts are copied before `sluice_curl_start` returns.
typedef struct {
    const char *method;
    const char *url;
    /// Lines `Name: value`, or `Name;` for an empty value, each with a newline.
    const char *headers;
    sluice_curl_body_reader read_body;
    size_t body_count;
    long connect_milliseconds;
    long total_milliseconds;
} sluice_curl_request;

typedef enum {
    /// The response is complete.
    SLUICE_CURL_COMPLETE,
    /// The body is longer than the limit. The rest was not read.
    SLUICE_CURL_CUT_SHORT,
    /// The transfer failed.
    SLUICE_CURL_FAILED,
    /// The transfer was cancelled, or its client was released.
    SLUICE_CURL_CANCELLED,
} sluice_curl_outcome;

/// Valid until the completion returns, except for `reason`, which is static.
typedef struct {
    sluice_curl_outcome outcome;
    /// A few words that contain nothing of the request.
    const char *reason;
    /// The status of the final response, or 0 if its head is incomplete.
    long status;
    /// The lines of the final response's head, the status line first.
    const uint8_t *head;
    size_t head_count;
    const uint8_t *body;
    size_t body_count;
} sluice_curl_response;

/// Called once for each started transfer, on the client's thread.
typedef void (*sluice_curl_completion)(void *context, const sluice_curl_response *response);

/// A thread with its connections, started with the first transfer. Can be used from any thread.
typedef struct sluice_curl_client sluice_curl_client;

/// Returns NULL if there is not enough memory or libcurl is not loaded.
sluice_curl_client *sluice_curl_client_create(void);

/// Cancels the transfers and frees the client soon, without waiting for that.
void sluice_curl_client_release(sluice_curl_client *client);

/// Starts a transfer.
///
/// Returns its number for `sluice_curl_cancel`, or 0 if it could not be started; the completion is then not called.
uint64_t sluice_curl_start(
    sluice_curl_client *client, const sluice_curl_request *request, sluice_curl_completion completion, void *context);

/// Ends a transfer soon. Does nothing if it has already ended.
void sluice_curl_cancel(sluice_curl_client *client, uint64_t number);

#endif

#endif
