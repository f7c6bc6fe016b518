#if !defined(__APPLE__)

#define _GNU_SOURCE  // secure_getenv

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "CSluiceCurl.h"
#include "curl_library.h"

struct sluice_curl_connection {
    curl_multi *multi;
    // Never reset: curl_easy_reset doesn't say whether it had enough memory, and libcurl 7.88 then writes beyond its buffers.
    curl_easy *easy;
    /// Of the last request. The handle refers to them.
    curl_list *headers;
    const sluice_curl_request *request;
    sluice_curl_result result;
    /// The socket of the kept connection, or -1.
    int socket;
    uint64_t last_number;
    /// The highest number of a cancelled request.
    _Atomic(uint64_t) cancelled;
};

/// A TLS library's write to a closed connection raises SIGPIPE, which would end the process.
static sigset_t block_pipe_signal(void) {
    sigset_t pipe_signal, previous;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &previous);
    return previous;
}

static void unblock_pipe_signal(const sigset_t *previous) {
    if (sigismember(previous, SIGPIPE)) return;
    sigset_t pipe_signal;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigtimedwait(&pipe_signal, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, previous, NULL);
}

/// Any count other than the one offered makes libcurl end the transfer with an error.
static size_t receive(sluice_curl_connection *connection, bool is_head, const char *bytes, size_t count) {
    const sluice_curl_request *request = connection->request;
    if (request == NULL) return 0;
    int64_t sent = 0;
    sluice_curl.easy_getinfo(connection->easy, CURL_INFO_SIZE_UPLOAD, &sent);
    connection->result.is_confirmed = (uint64_t)sent >= request->body_count;
    if (!connection->result.is_confirmed) connection->result.is_early = true;
    return request->receive(request->context, is_head, bytes, count) ? count : 0;
}

static size_t receive_head(const char *bytes, size_t size, size_t count, void *context) {
    return receive(context, true, bytes, size * count);
}

static size_t receive_body(const char *bytes, size_t size, size_t count, void *context) {
    return receive(context, false, bytes, size * count);
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

/// Sets the options that are the same for all requests.
static bool set_constant_options(sluice_curl_connection *connection) {
    curl_easy *easy = connection->easy;
    // An older or smaller libcurl may lack these options, which are not required. The first one ends a transfer without
    // waiting for a name server.
    sluice_curl.easy_setopt(easy, CURL_QUICK_EXIT, 1L);
    sluice_curl.easy_setopt(easy, CURL_HTTP09_ALLOWED, 0L);
    // A body above 64 KiB is sent in parts of this size: larger parts than libcurl's default need fewer calls.
    sluice_curl.easy_setopt(easy, CURL_UPLOAD_BUFFER_SIZE, 256L * 1024);
    sluice_curl.easy_setopt(easy, CURL_SUPPRESS_CONNECT_HEADERS, 1L);
    // These fail if libcurl was built without TLS. It then refuses https as an unsupported protocol.
    sluice_curl.easy_setopt(easy, CURL_SSL_VERIFY_PEER, 1L);
    sluice_curl.easy_setopt(easy, CURL_SSL_VERIFY_HOST, 2L);
    // libcurl leaves this variable to programs, and users expect it to work.
    const char *file = secure_getenv("SSL_CERT_FILE");
    return sluice_curl.easy_setopt(easy, CURL_NO_SIGNAL, 1L) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_FOLLOW_LOCATION, 0L) == CURL_OK &&
           // The option with a string exists since 7.85, which deprecates the one with a number.
           (sluice_curl.easy_setopt(easy, CURL_PROTOCOLS_STR, "http,https") == CURL_OK ||
            sluice_curl.easy_setopt(easy, CURL_PROTOCOLS, CURL_PROTOCOL_HTTP_AND_HTTPS) == CURL_OK) &&
           (file == NULL || *file == 0 || sluice_curl.easy_setopt(easy, CURL_CA_INFO, file) == CURL_OK) &&
           // A connection has one request at a time, for which HTTP/2 has no use. It would let a server send frames
           // without an end that no callback sees.
           sluice_curl.easy_setopt(easy, CURL_HTTP_VERSION, CURL_HTTP_VERSION_1_1) == CURL_OK &&
           // The body's chunks arrive as they are, so that their extensions and trailers can be limited.
           sluice_curl.easy_setopt(easy, CURL_HTTP_TRANSFER_DECODING, 0L) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_OPEN_SOCKET_FUNCTION, open_socket) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_HEADER_FUNCTION, receive_head) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_HEADER_DATA, connection) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_WRITE_FUNCTION, receive_body) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_WRITE_DATA, connection) == CURL_OK &&
           // The connection of the last request is the only one whose waiting bytes are looked for.
           sluice_curl.multi_setopt(connection->multi, CURL_MULTI_MAX_CONNECTS, 1L) == CURL_OK;
}

static bool set_method(curl_easy *easy, const sluice_curl_request *request) {
    const char *method = request->method;
    bool has_body = request->body_count > 0;
    if (sluice_curl.easy_setopt(easy, CURL_CUSTOM_REQUEST, NULL) != CURL_OK) return false;
    bool is_head = strcmp(method, "HEAD") == 0;
    if (!has_body && (is_head || strcmp(method, "GET") == 0)) {
        // Before a HEAD too, because an older libcurl would send the former body with it.
        return sluice_curl.easy_setopt(easy, CURL_HTTP_GET, 1L) == CURL_OK &&
               (!is_head || sluice_curl.easy_setopt(easy, CURL_NO_BODY, 1L) == CURL_OK);
    }
    return sluice_curl.easy_setopt(easy, CURL_POST, 1L) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_POST_FIELD_SIZE_LARGE, (int64_t)request->body_count) == CURL_OK &&
           // Without a text, libcurl would read the standard input.
           sluice_curl.easy_setopt(easy, CURL_POST_FIELDS, has_body ? (const char *)request->body : "") == CURL_OK &&
           (strcmp(method, "POST") == 0 || sluice_curl.easy_setopt(easy, CURL_CUSTOM_REQUEST, method) == CURL_OK);
}

static bool add_header(curl_list **headers, const char *line) {
    curl_list *longer = sluice_curl.slist_append(*headers, line);
    if (longer != NULL) *headers = longer;
    return longer != NULL;
}

static bool set_headers(sluice_curl_connection *connection, const char *lines) {
    char *copy = strdup(lines);
    if (copy == NULL) return false;
    curl_list *headers = NULL;
    // Otherwise libcurl would wait a second for a 100 before each larger body.
    bool is_added = add_header(&headers, "Expect:");
    char *line = copy;
    for (char *end = strchr(line, '\n'); end != NULL && is_added; end = strchr(line, '\n')) {
        *end = 0;
        is_added = add_header(&headers, line);
        line = end + 1;
    }
    free(copy);
    is_added = is_added && sluice_curl.easy_setopt(connection->easy, CURL_HTTP_HEADER, headers) == CURL_OK;
    // After the handle refers to the others.
    sluice_curl.slist_free_all(is_added ? connection->headers : headers);
    if (is_added) connection->headers = headers;
    return is_added;
}

static bool set_options(sluice_curl_connection *connection, const sluice_curl_request *request) {
    curl_easy *easy = connection->easy;
    return sluice_curl.easy_setopt(easy, CURL_URL, request->url) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_CONNECT_TIMEOUT_MS, request->connect_milliseconds) == CURL_OK &&
           sluice_curl.easy_setopt(easy, CURL_TIMEOUT_MS, request->total_milliseconds) == CURL_OK &&
           set_headers(connection, request->headers) && set_method(easy, request);
}

/// libcurl's text for these codes would be misleading.
static const char *failure_of(const sluice_curl_connection *connection, int code) {
    if (code == CURL_OK) return NULL;
    if (code == CURL_OUT_OF_MEMORY) return "a line of the response's head is too long, or the system is out of memory";
    long request_size = 0;
    sluice_curl.easy_getinfo(connection->easy, CURL_INFO_REQUEST_SIZE, &request_size);
    if (code == CURL_UNSUPPORTED_PROTOCOL && request_size > 0) return "the response isn't HTTP";
    return sluice_curl.easy_strerror(code);
}

/// At the gate. Returns the text of a failure, or NULL.
static const char *run(sluice_curl_connection *connection, uint64_t number) {
    // A name server may be asked over sockets that libcurl doesn't open itself.
    sluice_curl.occupy_standard_descriptors();
    while (atomic_load(&connection->cancelled) < number) {
        int running, remaining;
        if (sluice_curl.multi_perform(connection->multi, &running) != CURL_OK) return "libcurl can't go on";
        // It belongs to libcurl and is freed with the transfer.
        const curl_message *message = sluice_curl.multi_info_read(connection->multi, &remaining);
        if (message != NULL && message->what == CURL_MESSAGE_DONE) {
            int code = message->data.code;
            int found = sluice_curl.easy_getinfo(connection->easy, CURL_INFO_ACTIVE_SOCKET, &connection->socket);
            if (found != CURL_OK) connection->socket = -1;
            return failure_of(connection, code);
        }
        sluice_exit_gate_leave();
        // libcurl returns earlier for its own timeouts.
        bool is_well = sluice_curl.multi_poll(connection->multi, NULL, 0, 60000, NULL) == CURL_OK;
        sluice_exit_gate_enter();
        if (!is_well) return "libcurl can't wait";
    }
    connection->result.is_cancelled = true;
    return NULL;
}

sluice_curl_connection *sluice_curl_create(void) {
    if (!sluice_curl.is_loaded) return NULL;
    sluice_curl_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) return NULL;
    connection->socket = -1;
    sluice_exit_gate_enter();
    // The wake-ups take descriptors.
    sluice_curl.occupy_standard_descriptors();
    connection->multi = sluice_curl.multi_init();
    connection->easy = sluice_curl.easy_init();
    // Without memory or descriptors for its wake-ups, libcurl would notice a cancellation up to a minute late.
    bool is_well = connection->multi != NULL && connection->easy != NULL &&
                   sluice_curl.multi_wakeup(connection->multi) == CURL_OK && set_constant_options(connection);
    sluice_exit_gate_leave();
    if (is_well) return connection;
    sluice_curl_free(connection);
    return NULL;
}

void sluice_curl_free(sluice_curl_connection *connection) {
    // It is lost with the process.
    if (!sluice_exit_gate_try()) return;
    sigset_t signals = block_pipe_signal();
    if (connection->easy != NULL) {
        if (connection->multi != NULL) sluice_curl.multi_remove_handle(connection->multi, connection->easy);
        sluice_curl.easy_cleanup(connection->easy);
    }
    if (connection->multi != NULL) sluice_curl.multi_cleanup(connection->multi);
    unblock_pipe_signal(&signals);
    sluice_exit_gate_leave();
    sluice_curl.slist_free_all(connection->headers);
    free(connection);
}

bool sluice_curl_is_kept(const sluice_curl_connection *connection) {
    if (connection->socket < 0) return false;
    // libcurl 7.88 would read waiting bytes as the next response.
    struct pollfd entry = {.fd = connection->socket, .events = POLLIN};
    return poll(&entry, 1, 0) == 0;
}

uint64_t sluice_curl_begin(sluice_curl_connection *connection) { return ++connection->last_number; }

sluice_curl_result sluice_curl_send(sluice_curl_connection *connection, const sluice_curl_request *request) {
    connection->request = request;
    connection->result = (sluice_curl_result){0};
    connection->socket = -1;
    sluice_exit_gate_enter();
    sigset_t signals = block_pipe_signal();
    bool is_started = set_options(connection, request) &&
                      sluice_curl.multi_add_handle(connection->multi, connection->easy) == CURL_OK;
    connection->result.failure =
        is_started ? run(connection, connection->last_number) : "libcurl refused the request";
    // After a cancellation too: the body and the response end with this call.
    sluice_curl.multi_remove_handle(connection->multi, connection->easy);
    unblock_pipe_signal(&signals);
    sluice_exit_gate_leave();
    connection->request = NULL;
    return connection->result;
}

void sluice_curl_cancel(sluice_curl_connection *connection, uint64_t number) {
    uint64_t cancelled = atomic_load(&connection->cancelled);
    while (cancelled < number && !atomic_compare_exchange_weak(&connection->cancelled, &cancelled, number)) {}
    sluice_curl.multi_wakeup(connection->multi);
}

#endif
