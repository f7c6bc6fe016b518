internal import Sluice

/// The format of a dead letter: `{"reason":…,"at":…,"refusals":…,"event":{…}}`. A number of zero refusals is left out.
///
/// It has no checksum, so that you can edit the files. A line that can't be read is skipped.
struct DeadLetterLine {
    var event: EventLine
    var reason: String
    var date: Timestamp
    var refusalsInARow: Int

    private static let eventKey = Array(#","event":"#.utf8)
    private static let criticalKey = Array(#","priority":"critical""#.utf8)
    private static let propertiesKey = Array(#","properties":"#.utf8)

    init(_ letter: DeadLetter) {
        event = letter.line
        reason = String(letter.reason.prefix(1_024))
        date = letter.date
        refusalsInARow = letter.refusalsInARow
    }

    func letter(_ id: DeadLetter.ID) -> DeadLetter {
        DeadLetter(id: id, line: event, reason: reason, date: date, refusalsInARow: refusalsInARow)
    }

    /// - Throws: the error of the encryption.
    func encoded(_ encryption: LineEncryption?) throws(SluiceError) -> [UInt8] {
        let bytes = try encryption?.encrypted(event.bytes) ?? event.bytes
        var writer = JSONWriter(capacity: bytes.count + 128)
        writer.raw(#"{"reason":"#)
        writer.string(reason)
        writer.raw(#","at":"#)
        writer.integer(date.milliseconds)
        if refusalsInARow > 0 {
            writer.raw(#","refusals":"#)
            writer.integer(refusalsInARow)
        }
        writer.raw(DeadLetterLine.eventKey)
        writer.raw(bytes)
        writer.raw("}\n")
        return writer.bytes
    }

    /// Reads a line without its newline. Returns nil if it is damaged or can't be decrypted.
    init?(_ line: ArraySlice<UInt8>, _ encryption: LineEncryption?) {
        // A quote within the reason is escaped, so the first key is the right one.
        guard let key = line.firstIndex(of: DeadLetterLine.eventKey), line.last == UInt8(ascii: "}"),
            !line.contains(where: { $0 < 0x20 })
        else { return nil }
        do {
            guard case .object(let header) = try JSONReader.value(of: line[..<key] + [UInt8(ascii: "}")]),
                case .string(let reason) = header["reason"], case .int(let date) = header["at"]
            else { return nil }
            let stored = line[(key + DeadLetterLine.eventKey.count)...].dropLast()
            guard LineFormat.canStore(stored) else { return nil }
            let bytes = try LineEncryption.event(in: stored, encryption)
            event = EventLine(bytes: bytes, priority: DeadLetterLine.priority(of: bytes))
            self.reason = reason
            self.date = Timestamp(milliseconds: date)
            if case .int(let count) = header["refusals"] { refusalsInARow = Int(count) } else { refusalsInARow = 0 }
        } catch {
            return nil
        }
    }

    /// The canonical line has the priority before the properties.
    private static func priority(of event: ArraySlice<UInt8>) -> Event.Priority {
        guard let key = event.firstIndex(of: criticalKey) else { return .normal }
        return event[..<key].firstIndex(of: propertiesKey) == nil ? .critical : .normal
    }

    /// Reads the lines of a file, and where they are, including their newlines. A torn line at the end is ignored.
    ///
    /// - Returns: the lines, and the number of complete lines that could not be read.
    static func lines(
        in bytes: [UInt8], _ encryption: LineEncryption?
    ) -> (lines: [(range: Range<Int>, line: DeadLetterLine)], damaged: Int) {
        var lines: [(range: Range<Int>, line: DeadLetterLine)] = []
        var damaged = 0
        var start = 0
        while let length = LineFormat.newlineIndex(in: bytes[start...]) {
            let end = start + length + 1
            if let line = DeadLetterLine(bytes[start..<end - 1], encryption) {
                lines.append((start..<end, line))
            } else {
                damaged += 1
            }
            start = end
        }
        return (lines, damaged)
    }
}

extension ArraySlice<UInt8> {
    fileprivate func firstIndex(of pattern: [UInt8]) -> Int? {
        guard let first = pattern.first else { return nil }
        var start = startIndex
        while let index = self[start...].firstIndex(of: first) {
            if self[index...].starts(with: pattern) { return index }
            start = index + 1
        }
        return nil
    }
}
