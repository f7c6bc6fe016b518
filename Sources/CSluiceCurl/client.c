#if !defined(__APPLE__)

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "exit_gate.h"
#include "transfer.h"

typedef struct {
    long local_port;
    int socket;
} used_connection;

// More than libcurl keeps.
#define USED_CONNECTIONS 16

struct sluice_curl_client {
    pthread_mutex_t mutex;
    curl_multi *multi;

    // Of the client's thread: the connections of the last transfers, as a ring.
    used_connection used[USED_CONNECTIONS];
    unsigned used_count;

    // Under the mutex. Only the client's thread takes transfers out.
    sluice_transfer *transfers;
    uint64_t last_number;
    bool is_running;
    bool is_released;
};

static void remove_and_free(sluice_curl_client *client, sluice_transfer *transfer) {
    if (transfer->is_added) sluice_curl.multi_remove_handle(client->multi, transfer->easy);
    sluice_transfer_free(transfer);
}

static void unlink_transfer(sluice_curl_client *client, sluice_transfer *transfer) {
    pthread_mutex_lock(&client->mutex);
    sluice_transfer **link = &client->transfers;
    while (*link != NULL && *link != transfer) link = &(*link)->next;
    if (*link != NULL) *link = transfer->next;
    pthread_mutex_unlock(&client->mutex);
}

/// Ends the cancelled transfers, or all transfers.
static bool end_cancelled(sluice_curl_client *client, bool all, sluice_curl_outcome outcome, const char *reason) {
    sluice_transfer *ended = NULL;
    pthread_mutex_lock(&client->mutex);
    bool is_released = client->is_released;
    for (sluice_transfer **link = &client->transfers; *link != NULL;) {
        sluice_transfer *transfer = *link;
        if (all || is_released || transfer->is_cancelled) {
            *link = transfer->next;
            transfer->next = ended;
            ended = transfer;
        } else {
            link = &transfer->next;
        }
    }
    pthread_mutex_unlock(&client->mutex);
    while (ended != NULL) {
        sluice_transfer *transfer = ended;
        ended = transfer->next;
        // Complete it first: removing it from libcurl may have to wait for a name server.
        sluice_transfer_abandon(transfer, outcome, reason);
        remove_and_free(client, transfer);
    }
    return is_released;
}

static void note_connection(sluice_curl_client *client, curl_easy *easy) {
    used_connection *used = &client->used[client->used_count % USED_CONNECTIONS];
    bool is_kept = sluice_curl.easy_getinfo(easy, CURL_INFO_ACTIVE_SOCKET, &used->socket) == CURL_OK &&
                   sluice_curl.easy_getinfo(easy, CURL_INFO_LOCAL_PORT, &used->local_port) == CURL_OK &&
                   used->socket >= 0;
    if (is_kept) client->used_count += 1;
}

/// False if bytes are waiting, which no request has asked for. libcurl 7.88 would read them as the next response.
static bool is_clean(const sluice_curl_client *client, long local_port) {
    for (unsigned age = 1; age <= USED_CONNECTIONS && age <= client->used_count; age += 1) {
        const used_connection *used = &client->used[(client->used_count - age) % USED_CONNECTIONS];
        if (used->local_port != local_port) continue;
        struct pollfd entry = {.fd = used->socket, .events = POLLIN};
        return poll(&entry, 1, 0) == 0;
    }
    return false;
}

/// Called before a request is sent, and after its connection was chosen.
static int check_connection(void *context, char *address, char *local_address, int port, int local_port) {
    (void)address, (void)local_address, (void)port;
    sluice_transfer *transfer = context;
    long connects = 0;
    sluice_curl.easy_getinfo(transfer->easy, CURL_INFO_NUM_CONNECTS, &connects);
    transfer->connection_is_unclean = connects == 0 && !is_clean(transfer->client, local_port);
    return transfer->connection_is_unclean ? CURL_PREREQUEST_ABORT : CURL_PREREQUEST_OK;
}

/// Sends the request over a new connection. Its first one was closed before anything was sent.
static bool send_again(sluice_curl_client *client, sluice_transfer *transfer) {
    sluice_curl.multi_remove_handle(client->multi, transfer->easy);
    transfer->connection_is_unclean = false;
    return sluice_curl.easy_setopt(transfer->easy, CURL_FRESH_CONNECT, 1L) == CURL_OK &&
           sluice_curl.multi_add_handle(client->multi, transfer->easy) == CURL_OK;
}

/// A transfer that was started but not yet added to libcurl.
static sluice_transfer *next_started(sluice_curl_client *client) {
    pthread_mutex_lock(&client->mutex);
    sluice_transfer *transfer = client->transfers;
    while (transfer != NULL && transfer->is_added) transfer = transfer->next;
    if (transfer != NULL) transfer->is_added = true;
    pthread_mutex_unlock(&client->mutex);
    return transfer;
}

static void add_started(sluice_curl_client *client) {
    for (sluice_transfer *transfer = next_started(client); transfer != NULL; transfer = next_started(client)) {
        // A name server may be asked over sockets that libcurl doesn't open itself.
        sluice_curl.occupy_standard_descriptors();
        // libcurl lacks these options before 7.80. Those versions close a connection with bytes waiting by themselves.
        sluice_curl.easy_setopt(transfer->easy, CURL_PREREQUEST_FUNCTION, check_connection);
        sluice_curl.easy_setopt(transfer->easy, CURL_PREREQUEST_DATA, transfer);
        if (sluice_curl.multi_add_handle(client->multi, transfer->easy) == CURL_OK) continue;
        unlink_transfer(client, transfer);
        sluice_transfer_abandon(transfer, SLUICE_CURL_FAILED, "libcurl refused the transfer");
        sluice_transfer_free(transfer);
    }
}

static void finish_done(sluice_curl_client *client) {
    int remaining;
    for (;;) {
        curl_message *message = sluice_curl.multi_info_read(client->multi, &remaining);
        if (message == NULL) return;
        if (message->what != CURL_MESSAGE_DONE) continue;
        // The message belongs to libcurl and is freed with the transfer.
        int code = message->data.code;
        sluice_transfer *transfer = NULL;
        sluice_curl.easy_getinfo(message->easy, CURL_INFO_PRIVATE, &transfer);
        if (transfer->connection_is_unclean && send_again(client, transfer)) continue;
        note_connection(client, transfer->easy);
        unlink_transfer(client, transfer);
        sluice_transfer_complete(transfer, code);
        remove_and_free(client, transfer);
    }
}

static void free_client(sluice_curl_client *client) {
    sluice_curl.multi_cleanup(client->multi);
    pthread_mutex_destroy(&client->mutex);
    free(client);
}

static void *run(void *context) {
    sluice_curl_client *client = context;
    sluice_exit_gate_enter();
    while (!end_cancelled(client, false, SLUICE_CURL_CANCELLED, "cancelled")) {
        add_started(client);
        int running;
        bool is_well = sluice_curl.multi_perform(client->multi, &running) == CURL_OK;
        finish_done(client);
        sluice_exit_gate_leave();
        // libcurl returns earlier for its own timeouts.
        if (is_well) is_well = sluice_curl.multi_poll(client->multi, NULL, 0, 60000, NULL) == CURL_OK;
        sluice_exit_gate_enter();
        if (!is_well) {
            end_cancelled(client, true, SLUICE_CURL_FAILED, "libcurl cannot go on");
            poll(NULL, 0, 50);
        }
    }
    free_client(client);
    sluice_exit_gate_leave();
    return NULL;
}

/// Under the mutex.
static bool run_if_needed(sluice_curl_client *client) {
    if (client->is_running) return true;
    // A new thread inherits the mask: it must not handle the process's signals or a SIGPIPE of a TLS library's write.
    sigset_t all, previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    pthread_t thread;
    client->is_running = pthread_create(&thread, NULL, run, client) == 0;
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    if (client->is_running) pthread_detach(thread);
    return client->is_running;
}

sluice_curl_client *sluice_curl_client_create(void) {
    if (!sluice_curl.is_loaded) return NULL;
    sluice_curl_client *client = calloc(1, sizeof *client);
    if (client == NULL) return NULL;
    client->multi = sluice_curl.multi_init();
    // Without memory or descriptors for its wake-ups, libcurl would notice a new transfer up to a minute late.
    bool is_well = client->multi != NULL && sluice_curl.multi_wakeup(client->multi) == CURL_OK;
    if (!is_well || pthread_mutex_init(&client->mutex, NULL) != 0) {
        if (client->multi != NULL) sluice_curl.multi_cleanup(client->multi);
        free(client);
        return NULL;
    }
    // A route has at most three requests in flight: there is no use for more connections.
    sluice_curl.multi_setopt(client->multi, CURL_MULTI_MAX_CONNECTS, 4L);
    return client;
}

void sluice_curl_client_release(sluice_curl_client *client) {
    pthread_mutex_lock(&client->mutex);
    client->is_released = true;
    bool is_running = client->is_running;
    // Under the mutex. Otherwise the thread could free the client while it is being woken.
    if (is_running) sluice_curl.multi_wakeup(client->multi);
    pthread_mutex_unlock(&client->mutex);
    if (!is_running) free_client(client);
}

uint64_t sluice_curl_start(
    sluice_curl_client *client, const sluice_curl_request *request, sluice_curl_completion completion, void *context) {
    sluice_transfer *transfer = sluice_transfer_create(request, completion, context);
    if (transfer == NULL) return 0;
    pthread_mutex_lock(&client->mutex);
    uint64_t number = 0;
    if (!client->is_released && run_if_needed(client)) {
        number = ++client->last_number;
        transfer->number = number;
        transfer->client = client;
        transfer->next = client->transfers;
        client->transfers = transfer;
        sluice_curl.multi_wakeup(client->multi);
    }
    pthread_mutex_unlock(&client->mutex);
    if (number == 0) sluice_transfer_free(transfer);
    return number;
}

void sluice_curl_cancel(sluice_curl_client *client, uint64_t number) {
    pthread_mutex_lock(&client->mutex);
    for (sluice_transfer *transfer = client->transfers; transfer != NULL; transfer = transfer->next) {
        if (transfer->number != number) continue;
        transfer->is_cancelled = true;
        sluice_curl.multi_wakeup(client->multi);
        break;
    }
    pthread_mutex_unlock(&client->mutex);
}

#endif
