// Loads libcurl in a static program, and prints the result.

#include <stdio.h>

#include "CSluiceCurl.h"

#ifdef WITH_CURL
// Stands for a libcurl that is linked into the program. Only the first function is called.
#define FUNCTION(name) \
    int curl_##name(void) { return 0; }
FUNCTION(global_init)
FUNCTION(easy_init)
FUNCTION(easy_cleanup)
FUNCTION(easy_setopt)
FUNCTION(easy_getinfo)
FUNCTION(easy_strerror)
FUNCTION(multi_init)
FUNCTION(multi_cleanup)
FUNCTION(multi_setopt)
FUNCTION(multi_add_handle)
FUNCTION(multi_remove_handle)
FUNCTION(multi_perform)
FUNCTION(multi_poll)
FUNCTION(multi_wakeup)
FUNCTION(multi_info_read)
FUNCTION(slist_append)
FUNCTION(slist_free_all)
#endif

static void occupy(void) {}

int main(void) {
    switch (sluice_curl_load(occupy)) {
    case SLUICE_CURL_AVAILABLE: puts("available"); break;
    case SLUICE_CURL_UNLINKED: puts("unlinked"); break;
    default: puts("another result"); break;
    }
    return 0;
}
