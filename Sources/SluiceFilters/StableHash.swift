import Sluice

/// A hash that is the same in every process, on every platform and in every version.
///
/// It is FNV-1a with 64 bits, followed by the finalizer of SplitMix64, because the high bits of FNV alone are far from
/// uniform for short inputs.
struct StableHash {
    private var state = FNV1a()

    mutating func add(_ string: String) { state.add(string.utf8) }

    /// Adds the bytes of a word in big-endian order.
    mutating func add(_ word: UInt64) {
        withUnsafeBytes(of: word.bigEndian) { state.add($0) }
    }

    var value: UInt64 {
        var mixed = state.value
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// From 0 up to, but not including, 1.
    var fraction: Double {
        Double(value >> 11) / Double(1 << 53 as UInt64)
    }
}
