extension EventLine {
    /// Reads one of the fields that come before the properties, such as `event` or `distinct_id`, and nothing else of the
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
        guard id != nil else { throw EventLine.malformed("no id") }
        var position = bytes.startIndex
        repeat {
            position += 1  // The opening brace, or a comma.
            let key = try scalar(at: &position).dropFirst().dropLast()
            guard position < bytes.endIndex, bytes[position] == UInt8(ascii: ":") else {
                throw EventLine.malformed("no value")
            }
            if key.isEqual(to: "properties") { return nil }
            position += 1
            let value = try scalar(at: &position)
            if key.isEqual(to: name) { return value }
        } while position < bytes.endIndex && bytes[position] == UInt8(ascii: ",")
        return nil
    }

    /// The string or the number at `position`, which moves behind it.
    private func scalar(at position: inout Int) throws(SluiceError) -> ArraySlice<UInt8> {
        let start = position
        guard start < bytes.endIndex else { throw EventLine.malformed("the end comes too early") }
        if bytes[start] == UInt8(ascii: "\"") {
            position += 1
            while position < bytes.endIndex, bytes[position] != UInt8(ascii: "\"") {
                position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
            }
            position += 1
        } else {
            while position < bytes.endIndex, ![UInt8(ascii: ","), UInt8(ascii: "}")].contains(bytes[position]) {
                position += 1
            }
        }
        guard position <= bytes.endIndex else { throw EventLine.malformed("the end comes too early") }
        return bytes[start..<position]
    }
}

extension ArraySlice<UInt8> {
    fileprivate func isEqual(to text: StaticString) -> Bool { text.withUTF8Buffer { elementsEqual($0) } }
}
