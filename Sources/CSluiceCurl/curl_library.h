#ifndef SLUICE_CURL_LIBRARY_H
#define SLUICE_CURL_LIBRARY_H

#if !defined(__APPLE__)

#include <stdbool.h>

// Declared here, so that builds don't need libcurl's headers. The ABI has kept these names, numbers and layouts since
// 7.1, and new options get new numbers.

typedef struct curl_easy curl_easy;
typedef struct curl_multi curl_multi;
typedef struct curl_list curl_list;

typedef struct {
    int what;
    curl_easy *easy;
    union {
        void *pointer;
        int code;
    } data;
} curl_message;

/// The beginning of `curl_sockaddr`.
typedef struct {
    int family;
    int type;
    int protocol;
} curl_address;

#define CURL_MESSAGE_DONE 1
#define CURL_GLOBAL_DEFAULT 3

#define CURL_OK 0
#define CURL_UNSUPPORTED_PROTOCOL 1
#define CURL_OUT_OF_MEMORY 27

#define CURL_OPTION_LONG(number) (number)
#define CURL_OPTION_POINTER(number) (10000 + (number))
#define CURL_OPTION_FUNCTION(number) (20000 + (number))
#define CURL_OPTION_OFFSET(number) (30000 + (number))

#define CURL_WRITE_DATA CURL_OPTION_POINTER(1)
#define CURL_URL CURL_OPTION_POINTER(2)
#define CURL_WRITE_FUNCTION CURL_OPTION_FUNCTION(11)
#define CURL_POST_FIELDS CURL_OPTION_POINTER(15)
#define CURL_HTTP_HEADER CURL_OPTION_POINTER(23)
#define CURL_HEADER_DATA CURL_OPTION_POINTER(29)
#define CURL_CUSTOM_REQUEST CURL_OPTION_POINTER(36)
#define CURL_NO_BODY CURL_OPTION_LONG(44)
#define CURL_POST CURL_OPTION_LONG(47)
#define CURL_FOLLOW_LOCATION CURL_OPTION_LONG(52)
#define CURL_SSL_VERIFY_PEER CURL_OPTION_LONG(64)
#define CURL_CA_INFO CURL_OPTION_POINTER(65)
#define CURL_HEADER_FUNCTION CURL_OPTION_FUNCTION(79)
#define CURL_HTTP_GET CURL_OPTION_LONG(80)
#define CURL_SSL_VERIFY_HOST CURL_OPTION_LONG(81)
#define CURL_HTTP_VERSION CURL_OPTION_LONG(84)
#define CURL_NO_SIGNAL CURL_OPTION_LONG(99)
#define CURL_POST_FIELD_SIZE_LARGE CURL_OPTION_OFFSET(120)
#define CURL_TIMEOUT_MS CURL_OPTION_LONG(155)
#define CURL_CONNECT_TIMEOUT_MS CURL_OPTION_LONG(156)
#define CURL_HTTP_TRANSFER_DECODING CURL_OPTION_LONG(157)
#define CURL_OPEN_SOCKET_FUNCTION CURL_OPTION_FUNCTION(163)
#define CURL_PROTOCOLS CURL_OPTION_LONG(181)
#define CURL_SUPPRESS_CONNECT_HEADERS CURL_OPTION_LONG(265)
#define CURL_UPLOAD_BUFFER_SIZE CURL_OPTION_LONG(280)
#define CURL_HTTP09_ALLOWED CURL_OPTION_LONG(285)
#define CURL_PROTOCOLS_STR CURL_OPTION_POINTER(318)
#define CURL_QUICK_EXIT CURL_OPTION_LONG(322)

#define CURL_PROTOCOL_HTTP_AND_HTTPS 3L
#define CURL_HTTP_VERSION_1_1 2L

#define CURL_INFO_SIZE_UPLOAD (0x600000 + 7)
#define CURL_INFO_REQUEST_SIZE (0x200000 + 12)
#define CURL_INFO_ACTIVE_SOCKET (0x500000 + 44)

#define CURL_MULTI_MAX_CONNECTS 6

typedef struct {
    bool is_loaded;
    void (*occupy_standard_descriptors)(void);
    int (*global_init)(long flags);
    curl_easy *(*easy_init)(void);
    void (*easy_cleanup)(curl_easy *easy);
    int (*easy_setopt)(curl_easy *easy, int option, ...);
    int (*easy_getinfo)(curl_easy *easy, int info, ...);
    const char *(*easy_strerror)(int code);
    curl_multi *(*multi_init)(void);
    int (*multi_cleanup)(curl_multi *multi);
    int (*multi_setopt)(curl_multi *multi, int option, ...);
    int (*multi_add_handle)(curl_multi *multi, curl_easy *easy);
    int (*multi_remove_handle)(curl_multi *multi, curl_easy *easy);
    int (*multi_perform)(curl_multi *multi, int *running);
    int (*multi_poll)(curl_multi *multi, void *extra, unsigned extra_count, int milliseconds, int *ready);
    int (*multi_wakeup)(curl_multi *multi);
    curl_message *(*multi_info_read)(curl_multi *multi, int *remaining);
    curl_list *(*slist_append)(curl_list *list, const char *text);
    void (*slist_free_all)(curl_list *list);
} curl_library;

/// Set by `sluice_curl_load`, constant afterwards.
extern curl_library sluice_curl;

// The exit gate keeps threads out of libcurl while the process exits: its TLS library frees memory that they would still
// use.

/// Call it once, after libcurl was initialized: exit handlers run in reverse order.
void sluice_exit_gate_install(void);

/// Never returns once the process exits.
void sluice_exit_gate_enter(void);
/// Like `sluice_exit_gate_enter`, or returns false once the process exits.
bool sluice_exit_gate_try(void);
void sluice_exit_gate_leave(void);

#endif
#endif
