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
        var isFound = false
        do throws(SluiceError) {
            try afterID().readMembers(before: "properties") { name, value throws(SluiceError) in
                guard value.first == UInt8(ascii: "\""), EventLine.userIDs.contains(where: name.isEqual) else {
                    return true
                }
                let text = value.dropFirst().dropLast()
                isFound =
                    text.contains(UInt8(ascii: "\\"))
                    ? try JSONReader.value(of: value).string?.utf8.elementsEqual(user.utf8) ?? false
                    : text.elementsEqual(user.utf8)
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
        try afterID().member(name, before: "properties")
    }

    /// The line from the comma after the id on.
    private func afterID() throws(SluiceError) -> ArraySlice<UInt8> {
        guard id != nil else { throw EventLine.malformed("no id") }
        return bytes.dropFirst(EventLine.idPrefix.count + EventID.textLength + 1)
    }
}

extension ArraySlice<UInt8> {
    /// The JSON of a member of this object, which has no spaces. The rest of it isn't checked.
    ///
    /// - Parameters:
    ///   - name: the member's name.
    ///   - end: the member at which the search ends.
    /// - Returns: Nil if there is no such member.
    /// - Throws: ``SluiceError/Code/malformedLine`` if this isn't the beginning of an object.
    package func member(_ name: StaticString, before end: StaticString = "") throws(SluiceError) -> ArraySlice<UInt8>? {
        var found: ArraySlice?
        try readMembers(before: end) { key, value throws(SluiceError) in
            if key.isEqual(to: name) { found = value }
            return found == nil
        }
        return found
    }

    /// Reads the members of this object up to the one with the name `end`, while `body` returns true.
    fileprivate func readMembers(
        before end: StaticString, _ body: (_ name: ArraySlice, _ value: ArraySlice) throws(SluiceError) -> Bool
    ) throws(SluiceError) {
        var position = startIndex
        repeat {
            position += 1  // The opening brace, or a comma.
            let key = try value(at: &position).dropFirst().dropLast()
            guard position < endIndex, self[position] == UInt8(ascii: ":") else {
                throw EventLine.malformed("no value")
            }
            if key.isEqual(to: end) { return }
            position += 1
            guard try body(key, value(at: &position)) else { return }
        } while position < endIndex && self[position] == UInt8(ascii: ",")
    }

    /// The value at `position`, which moves behind it. A later version may write arrays and objects where this one
    /// writes none.
    private func value(at position: inout Int) throws(SluiceError) -> ArraySlice<UInt8> {
        let start = position
        var depth = 0
        repeat {
            guard position < endIndex else { throw EventLine.malformed("the end comes too early") }
            switch self[position] {
            case UInt8(ascii: "\""): skipString(at: &position)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"): position += 1
            default: skipWord(at: &position)
            }
        } while depth > 0
        guard depth == 0, position <= endIndex else { throw EventLine.malformed("the end comes too early") }
        return self[start..<position]
    }

    private func skipString(at position: inout Int) {
        position += 1
        while position < endIndex, self[position] != UInt8(ascii: "\"") {
            position += self[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        position += 1
    }

    /// Skips a number, `true`, `false` or `null`.
    private func skipWord(at position: inout Int) {
        while position < endIndex, ![UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]")].contains(self[position]) {
            position += 1
        }
    }

    fileprivate func isEqual(to text: StaticString) -> Bool { text.withUTF8Buffer { elementsEqual($0) } }
}
