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
#include <wmmintrin.h>

#define CRC __attribute__((target("sse4.2")))
#define CRC_AND_PRODUCT __attribute__((target("sse4.2,pclmul")))

// Both read a variable which the run-time library has filled in before main.
static int has_crc(void) { return __builtin_cpu_supports("sse4.2"); }
static int has_product(void) { return __builtin_cpu_supports("pclmul"); }

CRC static inline uint32_t add_word(uint32_t crc, uint64_t word) { return (uint32_t)_mm_crc32_u64(crc, word); }
CRC static inline uint32_t add_byte(uint32_t crc, uint8_t byte) { return _mm_crc32_u8(crc, byte); }

CRC_AND_PRODUCT static inline uint64_t product(uint32_t a, uint32_t b) {
    __m128i result = _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)a), _mm_cvtsi32_si128((int)b), 0);
    return (uint64_t)_mm_cvtsi128_si64(result);
}

#elif defined(__aarch64__)

#include <arm_neon.h>

#if defined(__APPLE__)
#include <stdatomic.h>
#include <sys/sysctl.h>
#else
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#ifndef HWCAP_PMULL
#define HWCAP_PMULL (1 << 4)
#endif
#endif

#define CRC __attribute__((target("crc")))
#define CRC_AND_PRODUCT __attribute__((target("crc,aes")))

#if defined(__APPLE__)
static int has_crc(void) {
#if defined(__ARM_FEATURE_CRC32)
    return 1;  // Every Mac.
#else
    // The A8 and the A9 don't have it, and some of their devices run iOS 16 or tvOS 16.
    static atomic_int cached = -1;
    int value = atomic_load_explicit(&cached, memory_order_relaxed);
    if (value < 0) {
        size_t size = sizeof value;
        if (sysctlbyname("hw.optional.armv8_crc32", &value, &size, NULL, 0) != 0) value = 0;
        atomic_store_explicit(&cached, value, memory_order_relaxed);
    }
    return value;
#endif
}
// Every 64-bit processor of Apple has it.
static int has_product(void) { return 1; }
#else
static int has_crc(void) { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
static int has_product(void) { return (getauxval(AT_HWCAP) & HWCAP_PMULL) != 0; }
#endif

CRC static inline uint32_t add_word(uint32_t crc, uint64_t word) { return __builtin_arm_crc32cd(crc, word); }
CRC static inline uint32_t add_byte(uint32_t crc, uint8_t byte) { return __builtin_arm_crc32cb(crc, byte); }

CRC_AND_PRODUCT static inline uint64_t product(uint32_t a, uint32_t b) {
    return (uint64_t)vmull_p64((poly64_t)a, (poly64_t)b);
}

#endif

#if defined(CRC)

static inline uint64_t word_at(const uint8_t *bytes) {
    uint64_t word;
    __builtin_memcpy(&word, bytes, 8);
    return word;
}

// The instruction takes three cycles, but a processor can begin one in each cycle. So three blocks of this size are
// summed together.
#define BLOCK 128
// x^(8n - 33) modulo the polynomial. add_word(0, product(sum, this)) is the sum after n more bytes of zeros. It multiplies
// by x^33: by x^32 in the instruction, and by x because the product of two reflected values is shifted by a bit.
#define AFTER_BLOCK 0x0D3B6092u
#define AFTER_TWO_BLOCKS 0xB9E02B86u

CRC_AND_PRODUCT static uint32_t add_three_blocks(uint32_t first, const uint8_t *bytes) {
    uint32_t second = 0, third = 0;
    for (const uint8_t *end = bytes + BLOCK; bytes < end; bytes += 8) {
        first = add_word(first, word_at(bytes));
        second = add_word(second, word_at(bytes + BLOCK));
        third = add_word(third, word_at(bytes + 2 * BLOCK));
    }
    return add_word(0, product(first, AFTER_TWO_BLOCKS) ^ product(second, AFTER_BLOCK)) ^ third;
}

CRC static uint32_t by_instruction(const uint8_t *next, size_t count, int uses_product) {
    uint32_t crc = ~0u;
    if (uses_product) {
        for (; count >= 3 * BLOCK; count -= 3 * BLOCK, next += 3 * BLOCK) crc = add_three_blocks(crc, next);
    }
    for (; count >= 8; count -= 8, next += 8) crc = add_word(crc, word_at(next));
    for (; count > 0; count--) crc = add_byte(crc, *next++);
    return ~crc;
}

uint32_t sluice_crc32c(const void *bytes, size_t count) {
    if (!has_crc()) return sluice_crc32c_by_table(bytes, count);
    return by_instruction(bytes, count, count >= 3 * BLOCK && has_product());
}

uint32_t sluice_crc32c_in_one_part(const void *bytes, size_t count) {
    return has_crc() ? by_instruction(bytes, count, 0) : sluice_crc32c_by_table(bytes, count);
}

#else

uint32_t sluice_crc32c(const void *bytes, size_t count) { return sluice_crc32c_by_table(bytes, count); }
uint32_t sluice_crc32c_in_one_part(const void *bytes, size_t count) { return sluice_crc32c_by_table(bytes, count); }

#endif
