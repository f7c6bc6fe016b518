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
