#if !defined(__APPLE__)

#include "chunks.h"

#include <stdbool.h>

static int hexadecimal_digit(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

void sluice_chunks_take(sluice_chunks *chunks, char byte) {
    bool ends_line = byte == '\n';
    switch (chunks->state) {
    case SLUICE_CHUNK_SIZE:
        if (hexadecimal_digit(byte) >= 0) {
            // libcurl refuses a size that doesn't fit.
            chunks->size = chunks->size << 4 | (uint64_t)hexadecimal_digit(byte);
            return;
        }
        chunks->state = SLUICE_CHUNK_EXTENSION;
        // Falls through: a line can end without an extension.
    case SLUICE_CHUNK_EXTENSION:
        if (ends_line) chunks->state = chunks->size > 0 ? SLUICE_CHUNK_DATA : SLUICE_CHUNK_TRAILER;
        return;
    case SLUICE_CHUNK_DATA_END:
        if (ends_line) chunks->state = SLUICE_CHUNK_SIZE;
        return;
    case SLUICE_CHUNK_TRAILER:
        if (ends_line) chunks->state = SLUICE_CHUNK_COMPLETE;
        else if (byte != '\r') chunks->state = SLUICE_CHUNK_TRAILER_LINE;
        return;
    case SLUICE_CHUNK_TRAILER_LINE:
        if (ends_line) chunks->state = SLUICE_CHUNK_TRAILER;
        return;
    case SLUICE_CHUNK_DATA:
    case SLUICE_CHUNK_COMPLETE:
        return;
    }
}

#endif
