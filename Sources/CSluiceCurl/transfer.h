#ifndef SLUICE_CURL_TRANSFER_H
#define SLUICE_CURL_TRANSFER_H

#if !defined(__APPLE__)

#include "CSluiceCurl.h"
#include "chunks.h"
#include "curl_library.h"

typedef struct {
    uint8_t *bytes;
    size_t count;
    size_t capacity;
} growing_bytes;

/// A request with its response, as far as it has arrived. The client's thread owns it after the start.
typedef struct sluice_transfer {
    struct sluice_transfer *next;
    uint64_t number;
    bool is_cancelled;
    bool is_added;

    sluice_curl_client *client;
    curl_easy *easy;
    curl_list *headers;
    sluice_curl_completion completion;
    void *context;
    /// The context may be gone.
    bool is_completed;

    sluice_curl_body_reader read_body;
    size_t request_count;
    /// Bytes of the body that libcurl has taken.
    size_t request_offset;
    /// The offset when the last bytes of the response arrived. A response that ends earlier than the request doesn't
    /// confirm the whole body.
    size_t offset_at_response;

    growing_bytes head;
    /// Bytes of all heads, interim ones included.
    size_t head_total;
    growing_bytes body;
    sluice_chunks chunks;
    /// Bytes around the chunks.
    size_t framing;
    bool is_chunked;
    bool head_is_complete;
    bool body_is_full;
    /// Why a callback has ended the transfer, or NULL.
    const char *refusal;
    /// The kept connection has bytes that no request has asked for.
    bool connection_is_unclean;
} sluice_transfer;

/// A transfer that is ready for `multi_add_handle`, or NULL.
sluice_transfer *sluice_transfer_create(
    const sluice_curl_request *request, sluice_curl_completion completion, void *context);

/// Calls the completion with libcurl's result.
void sluice_transfer_complete(sluice_transfer *transfer, int code);

/// Calls the completion with an outcome of our own.
void sluice_transfer_abandon(sluice_transfer *transfer, sluice_curl_outcome outcome, const char *reason);

/// Must not be called while libcurl uses the transfer.
void sluice_transfer_free(sluice_transfer *transfer);

#endif
#endif
