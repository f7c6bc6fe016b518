#ifndef SLUICE_CHUNKS_H
#define SLUICE_CHUNKS_H

#if !defined(__APPLE__)

#include <stdint.h>

typedef enum {
    SLUICE_CHUNK_SIZE,
    SLUICE_CHUNK_EXTENSION,
    SLUICE_CHUNK_DATA,
    SLUICE_CHUNK_DATA_END,
    SLUICE_CHUNK_TRAILER,
    SLUICE_CHUNK_TRAILER_LINE,
    SLUICE_CHUNK_COMPLETE,
} sluice_chunk_state;

/// Finds the body in chunked bytes (RFC 9112, 7.1). libcurl parses the same bytes and ends the transfer if they are
/// invalid, but it puts no limit on extensions and trailers.
typedef struct {
    sluice_chunk_state state;
    /// In `SLUICE_CHUNK_DATA`, the bytes of data that follow.
    uint64_t size;
} sluice_chunks;

/// Takes a byte that isn't data.
void sluice_chunks_take(sluice_chunks *chunks, char byte);

#endif
#endif
