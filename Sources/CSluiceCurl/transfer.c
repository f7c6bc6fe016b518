#if !defined(__APPLE__)

#define _GNU_SOURCE  // secure_getenv

#include "transfer.h"

#include <stdlib.h>
#include <string.h>

/// False if memory is short; the bytes are then as they were.
static bool append(growing_bytes *to, const void *bytes, size_t count) {
    if (count == 0) return true;
    if (count > to->capacity - to->count) {
        size_t capacity = to->capacity < 1024 ? 1024 : to->capacity;
        while (capacity - to->count < count) capacity *= 2;
        uint8_t *grown = realloc(to->bytes, capacity);
        if (grown == NULL) return false;
        to->bytes = grown;
        to->capacity = capacity;
    }
    memcpy(to->bytes + to->count, bytes, count);
    to->count += count;
    return true;
}

// Any count other than the one offered makes libcurl end the transfer with CURL_WRITE_ERROR.
static const size_t refusal = 0;

static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/// `HTTP/1.1 200 …` or `HTTP/2 200`. libcurl reads other lines that begin with HTTP/ as a 200, and events would be lost.
static bool is_status_line(const char *bytes, size_t count) {
    if (count < 6 || memcmp(bytes, "HTTP/", 5) != 0 || !is_digit(bytes[5])) return false;
    size_t status = count > 7 && bytes[6] == '.' && is_digit(bytes[7]) ? 8 : 6;
    return count > status + 4 && bytes[status] == ' ' && is_digit(bytes[status + 1]) && is_digit(bytes[status + 2]) &&
           is_digit(bytes[status + 3]) && !is_digit(bytes[status + 4]);
}

static size_t receive_head(const char *bytes, size_t size, size_t count, void *context) {
    sluice_transfer *transfer = context;
    count *= size;
    // Trailers arrive here too. They are not used.
    bool begins_head = is_status_line(bytes, count);
    if (transfer->head_is_complete && !begins_head) return count;
    if (transfer->head_is_complete) {
        transfer->head.count = 0;
        transfer->head_is_complete = false;
    } else if (transfer->head.count == 0 && !begins_head) {
        transfer->head_is_malformed = true;
        return refusal;
    }
    if (count > SLUICE_CURL_HEAD_LIMIT - transfer->head.count) {
        transfer->head_is_too_long = true;
        return refusal;
    }
    if (!append(&transfer->head, bytes, count)) {
        transfer->memory_is_short = true;
        return refusal;
    }
    bool is_empty_line = (count == 1 && bytes[0] == '\n') || (count == 2 && bytes[0] == '\r' && bytes[1] == '\n');
    if (is_empty_line) transfer->head_is_complete = true;
    return count;
}

static size_t receive_body(const char *bytes, size_t size, size_t count, void *context) {
    sluice_transfer *transfer = context;
    count *= size;
    size_t room = SLUICE_CURL_BODY_LIMIT - transfer->body.count;
    size_t kept = count < room ? count : room;
    if (!append(&transfer->body, bytes, kept)) {
        transfer->memory_is_short = true;
        return refusal;
    }
    if (kept == count) return count;
    transfer->body_is_full = true;
    return refusal;
}

static bool set_method(sluice_transfer *transfer, const sluice_curl_request *request) {
    curl_easy *easy = transfer->easy;
    bool has_body = request->body_count > 0;
    if (strcmp(request->method, "HEAD") == 0 && !has_body) {
        return sluice_curl.easy_setopt(easy, CURL_NO_BODY, 1L) == CURL_OK;
    }
    if (strcmp(request->method, "GET") == 0 && !has_body) {
        return sluice_curl.easy_setopt(easy, CURL_HTTP_GET, 1L) == CURL_OK;
    }
    const void *body = has_body ? (const void *)transfer->request_body : "";
    return sluice_curl.easy_setopt(easy, CURL_POST, 1L) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_POST_FIELD_SIZE_LARGE, (int64_t)request->body_count) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_POST_FIELDS, body) == CURL_OK &&
           (strcmp(request->method, "POST") == 0 ||
            sluice_curl.easy_setopt(easy, CURL_CUSTOM_REQUEST, request->method) == CURL_OK);
}

static bool set_protocols(curl_easy *easy) {
    // The option with a string exists since 7.85, which deprecates the one with a number.
    return sluice_curl.easy_setopt(easy, CURL_PROTOCOLS_STR, "http,https") == CURL_OK ||
           sluice_curl.easy_setopt(easy, CURL_PROTOCOLS, CURL_PROTOCOL_HTTP_AND_HTTPS) == CURL_OK;
}

static bool set_authorities(curl_easy *easy) {
    // libcurl leaves this variable to programs, and users expect it to work.
    const char *file = secure_getenv("SSL_CERT_FILE");
    return file == NULL || *file == 0 || sluice_curl.easy_setopt(easy, CURL_CA_INFO, file) == CURL_OK;
}

static bool set_options(sluice_transfer *transfer, const sluice_curl_request *request) {
    curl_easy *easy = transfer->easy;
    // An older or smaller libcurl may lack these options, which are not required: HTTP/2, and ending a transfer without
    // waiting for a name server.
    sluice_curl.easy_setopt(easy, CURL_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    sluice_curl.easy_setopt(easy, CURL_QUICK_EXIT, 1L);
    sluice_curl.easy_setopt(easy, CURL_HTTP09_ALLOWED, 0L);
    sluice_curl.easy_setopt(easy, CURL_SUPPRESS_CONNECT_HEADERS, 1L);
    // These fail if libcurl was built without TLS. It then refuses https as an unsupported protocol.
    sluice_curl.easy_setopt(easy, CURL_SSL_VERIFY_PEER, 1L);
    sluice_curl.easy_setopt(easy, CURL_SSL_VERIFY_HOST, 2L);
    return sluice_curl.easy_setopt(easy, CURL_NO_SIGNAL, 1L) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_FOLLOW_LOCATION, 0L) == CURL_OK && set_protocols(easy) &&
           set_authorities(easy) &&
           sluice_curl.easy_setopt(easy, CURL_URL, request->url) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_PRIVATE, transfer) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_CONNECT_TIMEOUT_MS, request->connect_milliseconds) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_TIMEOUT_MS, request->total_milliseconds) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_HEADER_FUNCTION, receive_head) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_HEADER_DATA, transfer) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_WRITE_FUNCTION, receive_body) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_WRITE_DATA, transfer) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_HTTP_HEADER, transfer->headers) == CURL_OK &&
           set_method(transfer, request);
}

static bool add_header(sluice_transfer *transfer, const char *line) {
    curl_list *longer = sluice_curl.slist_append(transfer->headers, line);
    if (longer != NULL) transfer->headers = longer;
    return longer != NULL;
}

static bool add_headers(sluice_transfer *transfer, const char *lines) {
    char *copy = strdup(lines);
    if (copy == NULL) return false;
    bool is_added = true;
    char *line = copy;
    for (char *end = strchr(line, '\n'); end != NULL && is_added; end = strchr(line, '\n')) {
        *end = 0;
        is_added = add_header(transfer, line);
        line = end + 1;
    }
    free(copy);
    return is_added;
}

static bool prepare(sluice_transfer *transfer, const sluice_curl_request *request) {
    transfer->easy = sluice_curl.easy_init();
    if (transfer->easy == NULL) return false;
    if (request->body_count > 0) {
        transfer->request_body = malloc(request->body_count);
        if (transfer->request_body == NULL) return false;
        memcpy(transfer->request_body, request->body, request->body_count);
    }
    // Otherwise libcurl would wait a second for a 100 before each larger body.
    return add_header(transfer, "Expect:") && add_headers(transfer, request->headers) &&
           set_options(transfer, request);
}

sluice_transfer *sluice_transfer_create(
    const sluice_curl_request *request, sluice_curl_completion completion, void *context) {
    sluice_transfer *transfer = calloc(1, sizeof *transfer);
    if (transfer == NULL) return NULL;
    transfer->completion = completion;
    transfer->context = context;
    if (prepare(transfer, request)) return transfer;
    sluice_transfer_free(transfer);
    return NULL;
}

void sluice_transfer_abandon(sluice_transfer *transfer, sluice_curl_outcome outcome, const char *reason) {
    sluice_curl_response response = {.outcome = outcome, .reason = reason};
    if (transfer->head_is_complete) {
        sluice_curl.easy_getinfo(transfer->easy, CURL_INFO_RESPONSE_CODE, &response.status);
        response.head = transfer->head.bytes;
        response.head_count = transfer->head.count;
        response.body = transfer->body.bytes;
        response.body_count = transfer->body.count;
    }
    transfer->completion(transfer->context, &response);
}

void sluice_transfer_complete(sluice_transfer *transfer, int code) {
    sluice_curl_outcome outcome = SLUICE_CURL_FAILED;
    const char *reason = sluice_curl.easy_strerror(code);
    if (code == CURL_OK && transfer->head_is_complete) {
        outcome = SLUICE_CURL_COMPLETE;
    } else if (code == CURL_OK) {
        reason = "the response has no complete head";
    } else if (code == CURL_WRITE_ERROR && transfer->body_is_full) {
        outcome = SLUICE_CURL_CUT_SHORT;
        reason = "the response's body is too long";
    } else if (code == CURL_WRITE_ERROR && transfer->head_is_too_long) {
        reason = "the response's head is too long";
    } else if (code == CURL_WRITE_ERROR && transfer->head_is_malformed) {
        reason = "the response has no status line";
    } else if (code == CURL_WRITE_ERROR && transfer->memory_is_short) {
        reason = "out of memory";
    }
    sluice_transfer_abandon(transfer, outcome, reason);
}

void sluice_transfer_free(sluice_transfer *transfer) {
    if (transfer->easy != NULL) sluice_curl.easy_cleanup(transfer->easy);
    sluice_curl.slist_free_all(transfer->headers);
    free(transfer->request_body);
    free(transfer->head.bytes);
    free(transfer->body.bytes);
    free(transfer);
}

#endif
