#if !defined(__APPLE__)

#define _GNU_SOURCE  // secure_getenv

#include "transfer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

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

/// Any count other than the one offered makes libcurl end the transfer with CURL_WRITE_ERROR.
static size_t refuse(sluice_transfer *transfer, const char *reason) {
    transfer->refusal = reason;
    return 0;
}

static const char *const memory_is_short = "out of memory";

static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/// `HTTP/1.1 200 …` or `HTTP/2 200`. libcurl reads other lines that begin with HTTP/ as a 200, and events would be lost.
///
/// Returns the status, or 0.
static int status_of_line(const char *bytes, size_t count) {
    if (count < 6 || memcmp(bytes, "HTTP/", 5) != 0 || !is_digit(bytes[5])) return 0;
    size_t space = count > 7 && bytes[6] == '.' && is_digit(bytes[7]) ? 8 : 6;
    if (count <= space + 4 || bytes[space] != ' ' || is_digit(bytes[space + 4])) return 0;
    int status = 0;
    for (size_t index = space + 1; index < space + 4; index += 1) {
        if (!is_digit(bytes[index])) return 0;
        status = status * 10 + bytes[index] - '0';
    }
    return status;
}

static bool announces_chunks(const char *line, size_t count) {
    static const char name[] = "transfer-encoding:", coding[] = "chunked";
    size_t start = sizeof name - 1, length = sizeof coding - 1;
    if (count < start || strncasecmp(line, name, start) != 0) return false;
    for (; start + length <= count; start += 1) {
        if (strncasecmp(line + start, coding, length) == 0) return true;
    }
    return false;
}

/// Whether a `Content-Length` is anything other than a number, or the same number several times. libcurl may then read until
/// the connection is closed, and a truncated body would look complete.
static bool has_invalid_length(const char *line, size_t count) {
    static const char name[] = "content-length:", greatest[] = "9223372036854775807";
    size_t most = sizeof greatest - 1, index = sizeof name - 1, first = 0, first_digits = 0;
    if (count < index || strncasecmp(line, name, index) != 0) return false;
    while (true) {
        while (index < count && (line[index] == ' ' || line[index] == '\t')) index += 1;
        size_t start = index;
        while (index < count && is_digit(line[index])) index += 1;
        size_t digits = index - start;
        if (digits < 1 || digits > most || (digits == most && memcmp(line + start, greatest, most) > 0)) return true;
        if (first_digits == 0) {
            first = start;
            first_digits = digits;
        }
        if (digits != first_digits || memcmp(line + start, line + first, digits) != 0) return true;
        while (index < count && (line[index] == ' ' || line[index] == '\t')) index += 1;
        if (index == count || line[index] != ',') break;
        index += 1;
    }
    while (index < count && (line[index] == '\r' || line[index] == '\n')) index += 1;
    return index < count;
}

/// The connection is kept only after a 2xx that followed the whole request. Bytes that arrive later could otherwise be
/// taken for the response to the next request.
static void forbid_reuse(sluice_transfer *transfer, bool forbids) {
    sluice_curl.easy_setopt(transfer->easy, CURL_FORBID_REUSE, (long)forbids);
}

static size_t receive_head(const char *bytes, size_t size, size_t count, void *context) {
    sluice_transfer *transfer = context;
    count *= size;
    transfer->offset_at_response = transfer->request_offset;
    if (count > SLUICE_CURL_HEAD_LIMIT - transfer->head_total) {
        return refuse(transfer, "the response's head is too long");
    }
    transfer->head_total += count;
    int status = status_of_line(bytes, count);
    // Trailers arrive here too. They are not used.
    if (transfer->head_is_complete && status == 0) return count;
    if (transfer->head_is_complete) {
        transfer->head.count = 0;
        transfer->head_is_complete = false;
        transfer->is_chunked = false;
    }
    if (transfer->head.count == 0) {
        if (status == 0) return refuse(transfer, "the response has no status line");
        forbid_reuse(transfer, status < 200 || status > 299 || transfer->request_offset < transfer->request_count);
    }
    if (!append(&transfer->head, bytes, count)) return refuse(transfer, memory_is_short);
    if (announces_chunks(bytes, count)) transfer->is_chunked = true;
    if (has_invalid_length(bytes, count)) return refuse(transfer, "the response's Content-Length is invalid");
    bool is_empty_line = (count == 1 && bytes[0] == '\n') || (count == 2 && bytes[0] == '\r' && bytes[1] == '\n');
    if (is_empty_line) transfer->head_is_complete = true;
    return count;
}

/// Keeps bytes of the body. False if that ends the transfer.
static bool keep(sluice_transfer *transfer, const char *bytes, size_t count) {
    size_t room = SLUICE_CURL_BODY_LIMIT - transfer->body.count;
    if (!append(&transfer->body, bytes, count < room ? count : room)) return refuse(transfer, memory_is_short);
    transfer->body_is_full = count > room;
    return transfer->body_is_full ? refuse(transfer, "the response's body is too long") : true;
}

/// Keeps the data of chunks. False if that ends the transfer.
static bool keep_chunks(sluice_transfer *transfer, const char *bytes, size_t count) {
    sluice_chunks *chunks = &transfer->chunks;
    while (count > 0) {
        size_t taken = 1;
        if (chunks->state == SLUICE_CHUNK_COMPLETE) {
            forbid_reuse(transfer, true);
            return true;
        }
        if (chunks->state == SLUICE_CHUNK_DATA) {
            taken = chunks->size < count ? chunks->size : count;
            if (!keep(transfer, bytes, taken)) return false;
            chunks->size -= taken;
            if (chunks->size == 0) chunks->state = SLUICE_CHUNK_DATA_END;
        } else {
            transfer->framing += 1;
            if (transfer->framing > SLUICE_CURL_FRAMING_LIMIT) {
                return refuse(transfer, "the response's chunk extensions or trailers are too long");
            }
            sluice_chunks_take(chunks, *bytes);
        }
        bytes += taken;
        count -= taken;
    }
    return true;
}

static size_t receive_body(const char *bytes, size_t size, size_t count, void *context) {
    sluice_transfer *transfer = context;
    count *= size;
    transfer->offset_at_response = transfer->request_offset;
    bool goes_on = transfer->is_chunked ? keep_chunks(transfer, bytes, count) : keep(transfer, bytes, count);
    return goes_on ? count : 0;
}

static size_t send_body(char *to, size_t size, size_t count, void *context) {
    sluice_transfer *transfer = context;
    if (transfer->is_completed) return CURL_READ_ABORT;
    size_t rest = transfer->request_count - transfer->request_offset;
    count = size * count < rest ? size * count : rest;
    if (count > 0) transfer->read_body(transfer->context, transfer->request_offset, to, count);
    transfer->request_offset += count;
    return count;
}

/// libcurl sends the body again if a kept connection turns out to be closed.
static int seek_body(void *context, int64_t offset, int origin) {
    sluice_transfer *transfer = context;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > transfer->request_count) return CURL_SEEK_FAIL;
    transfer->request_offset = (size_t)offset;
    return CURL_SEEK_OK;
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
    return sluice_curl.easy_setopt(easy, CURL_POST, 1L) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_POST_FIELD_SIZE_LARGE, (int64_t)request->body_count) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_READ_FUNCTION, send_body) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_READ_DATA, transfer) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_SEEK_FUNCTION, seek_body) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_SEEK_DATA, transfer) == CURL_OK &&
           (strcmp(request->method, "POST") == 0 ||
            sluice_curl.easy_setopt(easy, CURL_CUSTOM_REQUEST, request->method) == CURL_OK);
}

/// No socket gets the number of a standard descriptor that the host has closed: what the host prints would be sent.
static int open_socket(void *context, int purpose, curl_address *address) {
    (void)context, (void)purpose;
    sluice_curl.occupy_standard_descriptors();
    int descriptor = socket(address->family, address->type | SOCK_CLOEXEC, address->protocol);
    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    // There is no /dev/null, or the host has just closed this standard descriptor.
    int other = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(descriptor);
    return other;
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
    // An older or smaller libcurl may lack these options, which are not required. The first one ends a transfer without
    // waiting for a name server.
    sluice_curl.easy_setopt(easy, CURL_QUICK_EXIT, 1L);
    sluice_curl.easy_setopt(easy, CURL_HTTP09_ALLOWED, 0L);
    sluice_curl.easy_setopt(easy, CURL_SUPPRESS_CONNECT_HEADERS, 1L);
    // These fail if libcurl was built without TLS. It then refuses https as an unsupported protocol.
    sluice_curl.easy_setopt(easy, CURL_SSL_VERIFY_PEER, 1L);
    sluice_curl.easy_setopt(easy, CURL_SSL_VERIFY_HOST, 2L);
    return sluice_curl.easy_setopt(easy, CURL_NO_SIGNAL, 1L) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_FOLLOW_LOCATION, 0L) == CURL_OK && set_protocols(easy) &&
           set_authorities(easy) &&
           // A connection has one request at a time, for which HTTP/2 has no use. It would let a server send frames
           // without an end that no callback sees.
           sluice_curl.easy_setopt(easy, CURL_HTTP_VERSION, CURL_HTTP_VERSION_1_1) == CURL_OK &&
           // The body's chunks arrive as they are, so that their extensions and trailers can be limited.
           sluice_curl.easy_setopt(easy, CURL_HTTP_TRANSFER_DECODING, 0L) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_URL, request->url) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_PRIVATE, transfer) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_OPEN_SOCKET_FUNCTION, open_socket) == CURL_OK &&
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
    // Not an old handle: curl_easy_reset doesn't say whether it had enough memory, and libcurl 7.88 then writes beyond its
    // buffers.
    transfer->easy = sluice_curl.easy_init();
    if (transfer->easy == NULL) return false;
    transfer->read_body = request->read_body;
    transfer->request_count = request->body_count;
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
    transfer->is_completed = true;
    transfer->completion(transfer->context, &response);
}

/// libcurl's text for these codes would be misleading.
static const char *reason_for(sluice_transfer *transfer, int code) {
    if (code == CURL_OUT_OF_MEMORY && !transfer->head_is_complete) {
        return "a line of the response's head is too long, or the system is out of memory";
    }
    long request_size = 0;
    sluice_curl.easy_getinfo(transfer->easy, CURL_INFO_REQUEST_SIZE, &request_size);
    if (code == CURL_UNSUPPORTED_PROTOCOL && request_size > 0) return "the response isn't HTTP";
    return sluice_curl.easy_strerror(code);
}

void sluice_transfer_complete(sluice_transfer *transfer, int code) {
    long status = 0;
    sluice_curl.easy_getinfo(transfer->easy, CURL_INFO_RESPONSE_CODE, &status);
    bool is_full = code == CURL_WRITE_ERROR && transfer->body_is_full;
    if (code == CURL_WRITE_ERROR && !is_full && transfer->refusal != NULL) {
        sluice_transfer_abandon(transfer, SLUICE_CURL_FAILED, transfer->refusal);
    } else if (code != CURL_OK && !is_full) {
        sluice_transfer_abandon(transfer, SLUICE_CURL_FAILED, reason_for(transfer, code));
    } else if (!transfer->head_is_complete) {
        sluice_transfer_abandon(transfer, SLUICE_CURL_FAILED, "the response has no complete head");
    } else if (status < 300 && transfer->offset_at_response < transfer->request_count) {
        sluice_transfer_abandon(
            transfer, SLUICE_CURL_FAILED, "the server responded before it had received the whole request");
    } else {
        sluice_transfer_abandon(transfer, is_full ? SLUICE_CURL_CUT_SHORT : SLUICE_CURL_COMPLETE, transfer->refusal);
    }
}

void sluice_transfer_free(sluice_transfer *transfer) {
    if (transfer->easy != NULL) sluice_curl.easy_cleanup(transfer->easy);
    sluice_curl.slist_free_all(transfer->headers);
    free(transfer->head.bytes);
    free(transfer->body.bytes);
    free(transfer);
}

#endif
