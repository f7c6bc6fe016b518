extension EventLine {
    /// The event's name, read without the rest of the line. Nil if the bytes aren't a canonical line.
    public var name: String? { text("event") }
    /// The event's distinct id, read without the rest of the line. Nil without such an id.
    public var distinctID: String? { text("distinct_id") }
    /// The event's anonymous id, read without the rest of the line. Nil without such an id.
    public var anonymousID: String? { text("anonymous_id") }
    /// The event's login id, read without the rest of the line. Nil without such an id.
    public var loginID: String? { text("login_id") }

    /// The event's time, read without the rest of the line.
    package func time() throws(SluiceError) -> Timestamp {
        guard case .int(let milliseconds)? = try field("time") else { throw EventLine.malformed("no time") }
        return Timestamp(milliseconds: milliseconds)
    }

    /// Whether the event is about a user: one of its three user ids is this one, byte for byte. Ids in properties don't
    /// count.
    ///
    /// ```swift
    /// let report = await pipeline.erase { $0.belongs(to: "42") }
    /// ```
    ///
    /// - Parameter user: The distinct id, the anonymous id or the login id of a user.
    /// - Returns: Whether the event has this id. False if the bytes aren't a canonical line.
    public func belongs(to user: String) -> Bool {
        let id = user.utf8
        var isFound = false
        do throws(SluiceError) {
            try bytes.readMembers(behind: idEnd(), before: "properties") { name, value throws(SluiceError) in
                guard value.first == UInt8(ascii: "\""), EventLine.userIDs.contains(where: name.isEqual) else {
                    return true
                }
                let text = value.dropFirst().dropLast()
                isFound =
                    text.contains(UInt8(ascii: "\\"))
                    ? try JSONReader.value(of: value).string?.utf8.elementsEqual(id) ?? false : text.elementsEqual(id)
                return !isFound
            }
            return isFound
        } catch {
            return false
        }
    }

    private static let userIDs: [StaticString] = ["distinct_id", "anonymous_id", "login_id"]

    private func text(_ name: StaticString) -> String? {
        attempt(try field(name)?.string, or: nil)
    }

    /// Reads one of the fields between the id and the properties, such as `event` or `distinct_id`, and nothing else of the
    /// line.
    ///
    /// - Returns: The field's value; nil if the line doesn't have the field.
    /// - Throws: ``SluiceError/Code/malformedLine`` if the line doesn't begin as a canonical line does. The rest of the line
    ///   isn't checked.
    package func field(_ name: StaticString) throws(SluiceError) -> PropertyValue? {
        guard let text = try fieldText(name) else { return nil }
        return try JSONReader.value(of: text)
    }

    /// The JSON of one of these fields, a part of ``bytes``.
    package func fieldText(_ name: StaticString) throws(SluiceError) -> ArraySlice<UInt8>? {
        try bytes.member(name, behind: idEnd(), before: "properties")
    }

    /// The number of bytes up to the end of the id. Its digits aren't checked.
    private func idEnd() throws(SluiceError) -> Int {
        let end = EventLine.idPrefix.utf8CodeUnitCount + EventID.textLength
        let isCanonical = bytes.withUnsafeBufferPointer { bytes in
            bytes.count > end && bytes[end] == UInt8(ascii: "\"") && EventLine.idPrefix.withUTF8Buffer(bytes.starts)
        }
        guard isCanonical else { throw EventLine.malformed("no id") }
        return end + 1
    }
}

extension ArraySlice<UInt8> {
    /// The JSON of a member of this object, which has no spaces. The rest of it isn't checked.
    ///
    /// - Parameters:
    ///   - name: the member's name.
    ///   - start: the number of bytes before the comma at which the search begins.
    ///   - end: the member at which the search ends.
    /// - Returns: Nil if there is no such member.
    /// - Throws: ``SluiceError/Code/malformedLine`` if this isn't the beginning of an object.
    package func member(
        _ name: StaticString, behind start: Int = 0, before end: StaticString = ""
    ) throws(SluiceError) -> ArraySlice<UInt8>? {
        var found: Range<Int>?
        try readMembers(behind: start, before: end) { key, value throws(SluiceError) in
            if key.isEqual(to: name) { found = value.startIndex..<value.endIndex }
            return found == nil
        }
        return found.map { self[startIndex + $0.lowerBound..<startIndex + $0.upperBound] }
    }

    /// Reads the members of this object up to the one with the name `end`, while `body` returns true.
    fileprivate func readMembers(
        behind start: Int, before end: StaticString,
        _ body: (_ name: MemberReader.Text, _ value: MemberReader.Text) throws(SluiceError) -> Bool
    ) throws(SluiceError) {
        try withUnsafeBufferPointer { (bytes) throws(SluiceError) in
            var reader = MemberReader(bytes: bytes, position: start)
            try reader.read(before: end, body)
        }
    }
}

/// Reads the members of an object that has no spaces.
private struct MemberReader {
    typealias Text = Slice<UnsafeBufferPointer<UInt8>>

    // A pointer, because the retains of slices took a third of the time. Each access is below the end.
    let bytes: UnsafeBufferPointer<UInt8>
    var position: Int

    mutating func read(
        before end: StaticString, _ body: (_ name: Text, _ value: Text) throws(SluiceError) -> Bool
    ) throws(SluiceError) {
        repeat {
            position += 1  // The opening brace, or a comma.
            let key = try value().dropFirst().dropLast()
            guard isAt(":") else { throw EventLine.malformed("no value") }
            if key.isEqual(to: end) { return }
            position += 1
            guard try body(key, value()) else { return }
        } while isAt(",")
    }

    private func isAt(_ character: Unicode.Scalar) -> Bool {
        position < bytes.count && bytes[position] == UInt8(ascii: character)
    }

    /// Moves behind a value. A later version may write arrays and objects where this one writes none.
    private mutating func value() throws(SluiceError) -> Text {
        let start = position
        var depth = 0
        repeat {
            guard position < bytes.count else { throw EventLine.malformed("the end comes too early") }
            switch bytes[position] {
            case UInt8(ascii: "\""): skipString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"): position += 1
            default: skipWord()
            }
        } while depth > 0
        guard depth == 0, position <= bytes.count else { throw EventLine.malformed("the end comes too early") }
        return bytes[start..<position]
    }

    private mutating func skipString() {
        position += 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        position += 1
    }

    /// Skips a number, `true`, `false` or `null`.
    private mutating func skipWord() {
        while position < bytes.count, !isAt(","), !isAt("}"), !isAt("]") { position += 1 }
    }
}

extension MemberReader.Text {
    fileprivate func isEqual(to text: StaticString) -> Bool {
        text.withUTF8Buffer { count == $0.count && elementsEqual($0) }
    }
}
