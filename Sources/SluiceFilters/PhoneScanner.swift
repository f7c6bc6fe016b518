/// Finds phone numbers by the forms in which people write them, which dates, addresses and versions do not have.
enum PhoneScanner {
    /// Digits that stand together, and what stands before them.
    private struct Group {
        var separator: Separator
        var range: Range<Int>
        var count: Int { range.count }
    }

    private enum Separator {
        case none, space, hyphen, dot, slash, parenthesis
    }

    static func search(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Range<Int>? {
        var position = start
        while position < text.count {
            guard isStart(text, position) else {
                position += 1
                continue
            }
            let groups = groups(text, from: position)
            if let end = end(of: groups, text, from: position) { return position..<end }
            // The next group: a number may stand before the phone's, such as a count of items.
            position = max(position + 1, groups.first?.range.upperBound ?? 0)
        }
        return nil
    }

    private static func isStart(_ text: UnsafeBufferPointer<UInt8>, _ position: Int) -> Bool {
        let byte = text[position]
        guard byte.isDigit || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "(") else { return false }
        guard position > 0 else { return true }
        // The middle of an id, a date, an address or a longer number is no beginning.
        let before = text[position - 1]
        if before.isDigit || before.isLetter || before.isBeyondASCII { return false }
        switch before {
        case UInt8(ascii: "+"), UInt8(ascii: "("), UInt8(ascii: "_"): return false
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "/"):
            return position == 1 || !text[position - 2].isDigit
        default: return true
        }
    }

    /// No more groups than the longest phone number can have.
    private static func groups(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> [Group] {
        var groups: [Group] = []
        var position = start
        if text[position] == UInt8(ascii: "+") { position += 1 }
        var separator = Separator.none
        while position < text.count, groups.count < 10 {
            let first = position
            while position < text.count, text[position].isDigit, position - first <= 15 { position += 1 }
            if position > first {
                groups.append(Group(separator: separator, range: first..<position))
            } else if !groups.isEmpty || text[position] != UInt8(ascii: "(") {
                break
            }
            separator = .none
            // Up to two, as in ") " or " (".
            for _ in 0..<2 {
                guard position < text.count, let next = self.separator(text[position]) else { break }
                separator = separator == .none || next == .parenthesis ? next : separator
                position += 1
            }
            if separator == .none { break }
        }
        return groups
    }

    private static func separator(_ byte: UInt8) -> Separator? {
        switch byte {
        case UInt8(ascii: " "): .space
        case UInt8(ascii: "-"): .hyphen
        case UInt8(ascii: "."): .dot
        case UInt8(ascii: "/"): .slash
        case UInt8(ascii: "("), UInt8(ascii: ")"): .parenthesis
        default: nil
        }
    }

    private static func end(of groups: [Group], _ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard let first = groups.first else { return nil }
        let digit = text[first.range.lowerBound]
        if text[start] == UInt8(ascii: "+") {
            return digit == UInt8(ascii: "0") ? nil : longest(groups, digits: 7...15)
        }
        if digit != UInt8(ascii: "0") { return northAmericanEnd(of: groups, text) }
        guard groups.count > 1, first.count > 1 else { return nil }
        if text[first.range.lowerBound + 1] == UInt8(ascii: "0") {
            let country = first.range.lowerBound + 2
            guard first.count > 2, text[country] != UInt8(ascii: "0") else { return nil }
            return longest(groups, digits: 9...17)
        }
        return nationalEnd(of: groups)
    }

    /// `(555) 123-4567`, `1-555-123-4567`, and the same with dots or spaces.
    private static func northAmericanEnd(of groups: [Group], _ text: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let first = groups.first?.range else { return nil }
        let isLong = first.count == 1 && text[first.lowerBound] == UInt8(ascii: "1")
        let counts = isLong ? [1, 3, 3, 4] : [3, 3, 4]
        guard groups.count >= counts.count, zip(groups, counts).allSatisfy({ $0.count == $1 }) else { return nil }
        let end = counts.count
        if groups[1..<end].contains(where: { $0.separator == .slash }) { return nil }
        // A fourth group that hangs together with the third makes it something else.
        if groups.count > end, groups[end].separator != .space { return nil }
        return groups[end - 1].range.upperBound
    }

    /// `030 1234567`, `0171/1234567`, `(020) 7946 0958`, `01 23 45 67 89`; but no date.
    private static func nationalEnd(of groups: [Group]) -> Int? {
        var groups = groups[...]
        if let odd = groups.indices.dropFirst().first(where: { index in
            switch groups[index].separator {
            case .space, .hyphen: false
            case .slash, .parenthesis: index > 1
            case .dot, .none: true
            }
        }) {
            groups = groups[..<odd]
        }
        let isInPairs = groups.count >= 5 && groups.prefix(5).allSatisfy { $0.count == 2 }
        if isInPairs { return groups[4].range.upperBound }
        guard let first = groups.first, (3...5).contains(first.count), groups.count > 1 else { return nil }
        return longest(Array(groups), digits: 9...12)
    }

    /// The end of as many groups as fit.
    private static func longest(_ groups: [Group], digits: ClosedRange<Int>) -> Int? {
        var count = 0
        var result: Int?
        for group in groups {
            count += group.count
            guard count <= digits.upperBound else { break }
            if count >= digits.lowerBound { result = group.range.upperBound }
        }
        return result
    }
}
