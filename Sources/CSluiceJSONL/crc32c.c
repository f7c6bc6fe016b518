#include "CSluiceJSONL.h"

#define POLYNOMIAL 0x82F63B78u

// One step of a bit, eight steps, and the table of all bytes: computed by the compiler, so that no start-up code and
// no first-use race is needed.
#define BIT(c) (((c) >> 1) ^ (((c) & 1) ? POLYNOMIAL : 0))
#define BYTE(n) BIT(BIT(BIT(BIT(BIT(BIT(BIT(BIT((uint32_t)(n)))))))))
#define ROW4(n) BYTE(n), BYTE((n) + 1), BYTE((n) + 2), BYTE((n) + 3)
#define ROW16(n) ROW4(n), ROW4((n) + 4), ROW4((n) + 8), ROW4((n) + 12)
#define ROW64(n) ROW16(n), ROW16((n) + 16), ROW16((n) + 32), ROW16((n) + 48)

static const uint32_t table[256] = {ROW64(0), ROW64(64), ROW64(128), ROW64(192)};

uint32_t sluice_crc32c_by_table(const void *bytes, size_t count) {
    const uint8_t *next = bytes;
    uint32_t crc = ~0u;
    for (; count > 0; count--) crc = (crc >> 8) ^ table[(crc ^ *next++) & 0xFF];
    return ~crc;
}

#if defined(__x86_64__)

#include <nmmintrin.h>

static int has_instruction(void) {
    // Reads a variable which the run-time library has filled in before main.
    return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(const uint8_t *next, size_t count) {
    uint64_t crc = 0xFFFFFFFFu;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t word;
        __builtin_memcpy(&word, next, 8);
        crc = _mm_crc32_u64(crc, word);
    }
    for (; count > 0; count--) crc = _mm_crc32_u8((uint32_t)crc, *next++);
    return ~(uint32_t)crc;
}

#elif defined(__aarch64__)

#if !defined(__APPLE__)
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#endif

static int has_instruction(void) {
#if defined(__APPLE__)
    return 1;  // Every 64-bit processor that Apple has shipped has it, but the first, the A7, which runs no iOS 16.
#else
    return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#endif
}

__attribute__((target("crc"))) static uint32_t by_instruction(const uint8_t *next, size_t count) {
    uint32_t crc = ~0u;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t word;
        __builtin_memcpy(&word, next, 8);
        crc = __builtin_arm_crc32cd(crc, word);
    }
    for (; count > 0; count--) crc = __builtin_arm_crc32cb(crc, *next++);
    return ~crc;
}

#else

static int has_instruction(void) { return 0; }
static uint32_t by_instruction(const uint8_t *next, size_t count) { return sluice_crc32c_by_table(next, count); }

#endif

uint32_t sluice_crc32c(const void *bytes, size_t count) {
    return has_instruction() ? by_instruction(bytes, count) : sluice_crc32c_by_table(bytes, count);
}
