/// Finds e-mail addresses: a local part, an at sign, and a host name with a dot.
enum EmailScanner {
    static func search(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Range<Int>? {
        // Never searches before the last at sign, so each byte is examined a fixed number of times.
        var floor = start
        for position in text.indices.dropFirst(start) where text[position] == UInt8(ascii: "@") {
            var local = position
            while local > floor, isLocal(text[local - 1]) { local -= 1 }
            while local < position, text[local] == UInt8(ascii: ".") { local += 1 }
            if local < position, let end = hostEnd(text, from: position + 1) { return local..<end }
            floor = position + 1
        }
        return nil
    }

    /// Fewer characters than the standard allows, because `=`, `/` and `&` occur before addresses more often than in
    /// them.
    private static func isLocal(_ byte: UInt8) -> Bool {
        byte.isDigit || byte.isLetter || byte.isBeyondASCII || "._+-%'".utf8.contains(byte)
    }

    /// Where the host name ends: behind its last label that can be a top-level domain, if that is not its first label.
    private static func hostEnd(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        var result: Int?
        var labels = 0
        var position = start
        while true {
            let label = position
            while position < text.count, isLabel(text[position]) { position += 1 }
            guard position > label else { return result }
            labels += 1
            if labels > 1, isTopLevel(text[label..<position]) { result = position }
            guard position < text.count, text[position] == UInt8(ascii: ".") else { return result }
            position += 1
        }
    }

    private static func isLabel(_ byte: UInt8) -> Bool {
        byte.isDigit || byte.isLetter || byte.isBeyondASCII || byte == UInt8(ascii: "-")
    }

    private static func isTopLevel(_ label: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        label.count >= 2 && (label.allSatisfy { $0.isLetter || $0.isBeyondASCII } || label.starts(with: "xn--".utf8))
    }
}
