// For strcasestr.
#define _GNU_SOURCE

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "CBenchmarks.h"

// The process is forked without exec, so it uses system calls and these arrays only.

#define CONNECTIONS 16
#define HEADER 16384

typedef struct {
    int socket;
    /// Bytes of the body that are still to come.
    size_t body;
    size_t used;
    char header[HEADER];
} connection;

static connection connections[CONNECTIONS];
static char buffer[1 << 20];

static const char response[] = "HTTP/1.1 204 No Content\r\n\r\n";

/// Consumes received bytes, and answers each complete request. False if they aren't HTTP with a Content-Length.
static bool consume(connection *from, const char *bytes, size_t count) {
    while (count > 0) {
        if (from->body == 0) {
            if (from->used == HEADER - 1) return false;
            from->header[from->used++] = *bytes++;
            count -= 1;
            if (from->used < 4 || memcmp(from->header + from->used - 4, "\r\n\r\n", 4) != 0) continue;
            from->header[from->used] = 0;
            from->used = 0;
            const char *length = strcasestr(from->header, "\r\nContent-Length:");
            if (length == NULL) return false;
            from->body = strtoul(length + 17, NULL, 10);
        } else {
            size_t part = count < from->body ? count : from->body;
            from->body -= part;
            bytes += part;
            count -= part;
        }
        if (from->body > 0) continue;
        if (write(from->socket, response, sizeof response - 1) < 0) return false;
    }
    return true;
}

static void add_connection(int socket) {
    int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    for (int index = 0; index < CONNECTIONS; index++) {
        if (connections[index].socket >= 0) continue;
        connections[index].socket = socket;
        connections[index].body = 0;
        connections[index].used = 0;
        return;
    }
    close(socket);
}

static void serve(int listener, int parent) {
    for (int index = 0; index < CONNECTIONS; index++) connections[index].socket = -1;
    for (;;) {
        struct pollfd entries[CONNECTIONS + 2];
        for (int index = 0; index < CONNECTIONS; index++) {
            entries[index] = (struct pollfd){.fd = connections[index].socket, .events = POLLIN};
        }
        entries[CONNECTIONS] = (struct pollfd){.fd = listener, .events = POLLIN};
        entries[CONNECTIONS + 1] = (struct pollfd){.fd = parent, .events = POLLIN};
        if (poll(entries, CONNECTIONS + 2, -1) < 0) continue;
        if (entries[CONNECTIONS + 1].revents) return;
        if (entries[CONNECTIONS].revents) add_connection(accept(listener, NULL, NULL));
        for (int index = 0; index < CONNECTIONS; index++) {
            connection *from = &connections[index];
            if (!entries[index].revents || from->socket < 0) continue;
            ssize_t count = read(from->socket, buffer, sizeof buffer);
            if (count > 0 && consume(from, buffer, (size_t)count)) continue;
            close(from->socket);
            from->socket = -1;
        }
    }
}

int benchmarks_start_sink(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int ends[2];
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || pipe(ends) < 0) return -1;
    if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, CONNECTIONS) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) < 0) {
        return -1;
    }
    pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        // The end of the parent closes the other end of the pipe.
        close(ends[1]);
        serve(listener, ends[0]);
        _exit(0);
    }
    close(ends[0]);
    close(listener);
    return ntohs(address.sin_port);
}
