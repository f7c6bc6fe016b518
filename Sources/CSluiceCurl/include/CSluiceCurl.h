#ifndef CSLUICECURL_H
#define CSLUICECURL_H

#if !defined(__APPLE__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Bytes of an answer's body that are kept; a transfer ends when there are more.
#define SLUICE_CURL_BODY_LIMIT 65536

/// Bytes of an answer's head; a transfer with more of them has failed.
#define SLUICE_CURL_HEAD_LIMIT 65536

/// Whether the system's libcurl is there and new enough.
typedef enum {
    SLUICE_CURL_AVAILABLE,
    SLUICE_CURL_MISSING,
    SLUICE_CURL_TOO_OLD,
    SLUICE_CURL_UNUSABLE,
} sluice_curl_availability;

/// Loads libcurl, once for the process; later calls return the same. Safe from any thread.
sluice_curl_availability sluice_curl_load(void);

/// All of it is copied before `sluice_curl_start` returns.
typedef struct {
    const char *method;
    const char *url;
    /// Lines `Name: value`, or `Name;` for an empty value, each of them ended by a newline.
    const char *headers;
    const uint8_t *body;
    size_t body_count;
    long connect_milliseconds;
    long total_milliseconds;
} sluice_curl_request;

typedef enum {
    /// The whole answer is there.
    SLUICE_CURL_COMPLETE,
    /// Its body was longer than the limit; the rest of it was not read.
    SLUICE_CURL_CUT_SHORT,
    /// The transfer failed.
    SLUICE_CURL_FAILED,
    /// It was cancelled, or its client was released.
    SLUICE_CURL_CANCELLED,
} sluice_curl_outcome;

/// All of it is gone when the completion returns, `reason` excepted.
typedef struct {
    sluice_curl_outcome outcome;
    /// In a few words that never hold anything of the request; static.
    const char *reason;
    /// The status of the final answer's head, 0 as long as that is not complete.
    long status;
    /// The lines of the final answer's head, the status line first.
    const uint8_t *head;
    size_t head_count;
    const uint8_t *body;
    size_t body_count;
} sluice_curl_answer;

/// Called once for each transfer that was started, on the client's own thread.
typedef void (*sluice_curl_completion)(void *context, const sluice_curl_answer *answer);

/// One thread with its connections, begun with the first transfer. Safe from any thread.
typedef struct sluice_curl_client sluice_curl_client;

/// NULL if memory is short or libcurl is not loaded.
sluice_curl_client *sluice_curl_client_create(void);

/// Cancels what is under way and frees the client, soon; it does not wait for that.
void sluice_curl_client_release(sluice_curl_client *client);

/// Begins a transfer.
///
/// Returns its number for `sluice_curl_cancel`, or 0 if it could not be begun; the completion is not called then.
uint64_t sluice_curl_start(
    sluice_curl_client *client, const sluice_curl_request *request, sluice_curl_completion completion, void *context);

/// Ends a transfer soon. One that has ended already is left alone.
void sluice_curl_cancel(sluice_curl_client *client, uint64_t number);

#endif

#endif
