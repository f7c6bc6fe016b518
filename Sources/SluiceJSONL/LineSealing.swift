internal import Sluice

/// Encryption at rest: what turns an event's line into bytes that only its key can turn back.
///
/// The store writes the sealed bytes as `{"sealed":"<base64>","crc":"…"}`, so that its files stay JSON Lines. Lines that
/// an earlier life wrote unsealed are still read. A segment of which a line cannot be opened is left alone and reported:
/// with the right key, a later life delivers it.
///
/// Bind nothing to a line's place: the store may hand lines back in another life, but always whole.
public struct LineSealing: Sendable {
    /// Encrypts and authenticates, such as with AES-GCM under a fresh nonce that it puts into the result.
    private let seal: @Sendable (_ line: [UInt8]) throws -> [UInt8]
    private let unseal: @Sendable (_ sealed: [UInt8]) throws -> [UInt8]

    /// - Parameters:
    ///   - seal: called by ``JSONLStore/append(_:)`` on the caller's thread; if it throws, the event is refused.
    ///   - open: gives back what `seal` was given; called by the delivery loop.
    public init(
        seal: @escaping @Sendable (_ line: [UInt8]) throws -> [UInt8],
        open: @escaping @Sendable (_ sealed: [UInt8]) throws -> [UInt8]
    ) {
        self.seal = seal
        unseal = open
    }

    private static let prefix = Array(#"{"sealed":""#.utf8)
    private static let suffix = Array(#""}"#.utf8)

    static func isSealed(_ line: ArraySlice<UInt8>) -> Bool {
        line.starts(with: prefix)
    }

    func sealed(_ line: ArraySlice<UInt8>) throws(SluiceError) -> ArraySlice<UInt8> {
        do {
            return (LineSealing.prefix + Base64.encode(try seal(Array(line))) + LineSealing.suffix)[...]
        } catch {
            throw SluiceError(.inputOutput, "the event could not be sealed: see to the key", cause: error)
        }
    }

    func event(in line: ArraySlice<UInt8>) throws -> ArraySlice<UInt8> {
        let text = line.dropFirst(LineSealing.prefix.count).dropLast(LineSealing.suffix.count)
        guard let sealed = Base64.decode(text) else {
            throw SluiceError(.malformedLine, "a sealed line is not in base64")
        }
        let event = try unseal(sealed)[...]
        guard LineFormat.canStore(event) else {
            throw SluiceError(.malformedLine, "what was opened is no event: the key is another one")
        }
        return event
    }
}

/// The standard alphabet with padding (RFC 4648, 4).
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")
    private static let values: [UInt8?] = {
        var values = [UInt8?](repeating: nil, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            var group: UInt32 = 0
            for offset in 0..<3 { group = group << 8 | (offset < count ? UInt32(bytes[start + offset]) : 0) }
            for offset in 0..<4 {
                text.append(offset <= count ? alphabet[Int(group >> (18 - 6 * UInt32(offset))) & 63] : padding)
            }
        }
        return text
    }

    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        let digits = text.suffix(2).last == padding ? text.dropLast(text.dropLast().last == padding ? 2 : 1) : text
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 4 * 3 + 2)
        var group: UInt32 = 0
        var bits = 0
        for digit in digits {
            guard let value = values[Int(digit)] else { return nil }
            group = group << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
            }
        }
        return bytes
    }
}
