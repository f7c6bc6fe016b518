/// Finds phone numbers in the forms that people write. Dates, addresses and versions don't have these forms.
enum PhoneScanner {
    /// Consecutive digits, and the separator before them.
    private struct Group {
        var separator: Separator
        /// Whether a blank beyond ASCII is part of the separator, as between thousands.
        var isTypographic: Bool
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
            // Continue with the next group, because a phone number can follow another number, such as a count of items.
            position = max(position + 1, groups.first?.range.upperBound ?? 0)
        }
        return nil
    }

    private static func isStart(_ text: UnsafeBufferPointer<UInt8>, _ position: Int) -> Bool {
        let byte = text[position]
        guard byte.isDigit || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "(") else { return false }
        guard position > 0 else { return true }
        // A phone number doesn't begin in the middle of an id, a date, an address or a longer number. Scripts without blanks
        // between words, bullets and quotation marks stand directly before one.
        let blank = text.typographicBlankLength(before: position)
        // Groups of thousands follow each other in this way.
        if blank > 0 { return !byte.isDigit || position == blank || !text[position - blank - 1].isDigit }
        let before = text[position - 1]
        switch before {
        case UInt8(ascii: "+"), UInt8(ascii: "("), UInt8(ascii: "_"): return false
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "/"):
            return position == 1 || !text[position - 2].isDigit
        default: return !before.isDigit && !before.isLetter
        }
    }

    /// The groups of digits, at most as many as the longest phone number can have.
    private static func groups(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> [Group] {
        var groups: [Group] = []
        let plus = text[start...].starts(with: "(+".utf8) ? start + 1 : start
        var position = text[plus] == UInt8(ascii: "+") ? plus + 1 : start
        var separator = Separator.none
        var isTypographic = false
        while position < text.count, groups.count < 10 {
            let first = position
            while position < text.count, text[position].isDigit, position - first <= 15 { position += 1 }
            if position > first {
                groups.append(Group(separator: separator, isTypographic: isTypographic, range: first..<position))
            } else if !groups.isEmpty || text[position] != UInt8(ascii: "(") {
                break
            }
            separator = .none
            isTypographic = false
            // Up to two, as in ") " or " (", and a second blank after a parenthesis.
            var room = 2
            while room > 0 {
                let blank = text.blankLength(at: position)
                guard position < text.count, let next = blank > 0 ? .space : self.separator(text[position])
                else { break }
                if next == .parenthesis, separator != .parenthesis { room += 1 }
                separator = separator == .none || next == .parenthesis ? next : separator
                isTypographic = isTypographic || blank > 1
                position += max(1, blank)
                room -= 1
            }
            if separator == .none { break }
        }
        return groups
    }

    private static func separator(_ byte: UInt8) -> Separator? {
        switch byte {
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
        if text[start..<first.range.lowerBound].contains(UInt8(ascii: "+")) {
            return digit == UInt8(ascii: "0") || isAmount(groups) ? nil : longest(groups, digits: 7...15)
        }
        if digit != UInt8(ascii: "0") { return northAmericanEnd(of: groups, text) }
        guard groups.count > 1, first.count > 1 else { return nil }
        if text[first.range.lowerBound + 1] == UInt8(ascii: "0") {
            let country = first.range.lowerBound + 2
            guard first.count > 2, text[country] != UInt8(ascii: "0") else { return nil }
            return longest(groups, digits: 9...17)
        }
        return nationalEnd(of: groups) ?? dottedEnd(of: groups)
    }

    /// Whether the groups are an amount, such as `+1 234 567` or `+12 345.67`, with the blanks that typesetting
    /// programs put between thousands. Ten digits and more are likelier to be a phone number.
    private static func isAmount(_ groups: [Group]) -> Bool {
        guard let first = groups.first, first.count <= 3 else { return false }
        let thousands = groups.dropFirst().prefix { $0.isTypographic && $0.separator == .space }
        guard !thousands.isEmpty, thousands.allSatisfy({ $0.count == 3 }) else { return false }
        if thousands.endIndex < groups.endIndex {
            let next = groups[thousands.endIndex]
            if next.separator == .dot, next.count <= 2 { return true }
        }
        return (7...9).contains(first.count + thousands.count * 3)
    }

    /// `(555) 123-4567`, `1-555-123-4567`, and the same with dots or spaces.
    private static func northAmericanEnd(of groups: [Group], _ text: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let first = groups.first?.range else { return nil }
        let isLong = first.count == 1 && text[first.lowerBound] == UInt8(ascii: "1")
        let counts = isLong ? [1, 3, 3, 4] : [3, 3, 4]
        guard groups.count >= counts.count, zip(groups, counts).allSatisfy({ $0.count == $1 }) else { return nil }
        let end = counts.count
        if groups[1..<end].contains(where: { $0.separator == .slash }) { return nil }
        // A fourth group that is attached to the third one makes it something different.
        if groups.count > end, groups[end].separator != .space { return nil }
        return groups[end - 1].range.upperBound
    }

    /// `030 1234567`, `0171/1234567`, `(020) 7946 0958`, `03-1234-5678` or `01 23 45 67 89`, but not a date.
    private static func nationalEnd(of groups: [Group]) -> Int? {
        let end = groups.indices.dropFirst().first { index in
            switch groups[index].separator {
            case .space, .hyphen: false
            case .slash, .parenthesis: index > 1
            case .dot, .none: true
            }
        }
        let groups = groups[..<(end ?? groups.endIndex)]
        let isInPairs = groups.count >= 5 && groups.prefix(5).allSatisfy { $0.count == 2 }
        if isInPairs { return groups[4].range.upperBound }
        // A date begins with two groups of two.
        guard groups.count > 1, 2...5 ~= groups[0].count, max(groups[0].count, groups[1].count) > 2 else { return nil }
        return longest(Array(groups), digits: 9...12)
    }

    /// `01.23.45.67.89` or `0171.123.4567`, but not a decimal fraction, a date or a padded network address.
    private static func dottedEnd(of groups: [Group]) -> Int? {
        let dotted = groups.dropFirst().prefix { $0.separator == .dot }
        guard let first = groups.first, let last = dotted.last, dotted.count >= 2 else { return nil }
        let isInPairs = dotted.count == 4 && first.count == 2 && dotted.allSatisfy { $0.count == 2 }
        let isInLongGroups =
            (3...5).contains(first.count) && dotted.allSatisfy { $0.count >= 3 } && last.count >= 4
            && (9...12).contains(dotted.reduce(first.count) { $0 + $1.count })
        return isInPairs || isInLongGroups ? last.range.upperBound : nil
    }

    /// The end of the longest sequence of groups that has this many digits.
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
