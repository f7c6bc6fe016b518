#ifndef SLUICE_CURL_TRANSFER_H
#define SLUICE_CURL_TRANSFER_H

#if !defined(__APPLE__)

#include "CSluiceCurl.h"
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

    curl_easy *easy;
    curl_list *headers;
    uint8_t *request_body;
    sluice_curl_completion completion;
    void *context;

    growing_bytes head;
    growing_bytes body;
    bool head_is_complete;
    bool head_is_too_long;
    bool head_is_malformed;
    bool body_is_full;
    bool memory_is_short;
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
