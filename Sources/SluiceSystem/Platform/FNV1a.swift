/// The hash FNV-1a with 64 bits. It is the same in every process and on every machine, and detects accidents, not forgeries.
package struct FNV1a: Sendable {
    /// The hash of the added bytes and words.
    package private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Creates the hash of no bytes.
    package init() {}

    /// Creates the hash of bytes.
    package init(_ bytes: some Sequence<UInt8>) {
        add(bytes)
    }

    /// Adds a byte, or a word as a whole.
    package mutating func add(_ word: UInt64) {
        value = (value ^ word) &* 0x100_0000_01B3
    }

    /// Adds bytes.
    package mutating func add(_ bytes: some Sequence<UInt8>) {
        // In memory, because unoptimized code is slow with the elements of a generic sequence.
        let isDone: Void? = bytes.withContiguousStorageIfAvailable { bytes in
            for index in 0..<bytes.count { add(UInt64(bytes[index])) }
        }
        if isDone == nil { add(Array(bytes)) }
    }
}

extension UInt64 {
    /// The finalizer of SplitMix64. Each bit depends on all bits.
    package var mixed: UInt64 {
        let half = (self ^ self >> 30) &* 0xBF58_476D_1CE4_E5B9
        let whole = (half ^ half >> 27) &* 0x94D0_49BB_1331_11EB
        return whole ^ whole >> 31
    }
}
