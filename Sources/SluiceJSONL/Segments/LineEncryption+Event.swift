internal import Sluice

extension LineEncryption {
    /// Returns the event of a line. A plain line is the event.
    ///
    /// - Throws: an error if the line is encrypted and can't be decrypted.
    static func event(in line: ArraySlice<UInt8>, _ encryption: LineEncryption?) throws -> ArraySlice<UInt8> {
        // Its braces were checked with its checksum, and it ends before a newline.
        guard isSealed(line) else { return line }
        let event = try decrypted(line, encryption)
        guard LineFormat.canStore(event) else {
            throw SluiceError(.malformedLine, "the decrypted bytes are not an event: the key is a different one")
        }
        return event
    }
}
