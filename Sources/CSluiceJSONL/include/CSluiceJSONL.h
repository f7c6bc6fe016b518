#ifndef CSLUICEJSONL_H
#define CSLUICEJSONL_H

#include <stddef.h>
#include <stdint.h>

/// CRC-32C (Castagnoli, reflected, as in iSCSI and ext4) of a run of bytes; 0 for none.
/// Uses the processor's instruction for it where there is one.
uint32_t sluice_crc32c(const void *bytes, size_t count);

/// The same without the instruction for products of polynomials, which some processors don't have.
uint32_t sluice_crc32c_in_one_part(const void *bytes, size_t count);

/// The same by table, on every processor.
uint32_t sluice_crc32c_by_table(const void *bytes, size_t count);

#endif
