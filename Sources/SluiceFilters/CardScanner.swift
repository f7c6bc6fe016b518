/// Finds the numbers of payment cards (ISO/IEC 7812).
///
/// A card number is a sequence of digit groups. It has an issuer's prefix, a length that this issuer uses, and a valid
/// check digit.
enum CardScanner {
    static func search(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Range<Int>? {
        var position = start
        while position < text.count {
            guard text[position].isDigit else {
                position += 1
                continue
            }
            if !isFraction(text, position), let end = cardEnd(text, from: position) { return position..<end }
            // Continue with the next group, because a card number can follow another number, such as an amount.
            while position < text.count, text[position].isDigit { position += 1 }
        }
        return nil
    }

    /// Whether the digits follow a decimal point. Fractions can look like many cards.
    private static func isFraction(_ text: UnsafeBufferPointer<UInt8>, _ position: Int) -> Bool {
        position >= 2 && text[position - 1] == UInt8(ascii: ".") && text[position - 2].isDigit
    }

    /// The end of the longest card number that begins here and ends with a group of digits.
    private static func cardEnd(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        var digits: [UInt8] = []
        var groups: [Int] = []
        // Marks also occur in amounts, addresses and versions, as blanks do in tables. So these count only between the groups of
        // a printed card, and one mark only if it doesn't go on.
        var marks: [Unicode.Scalar] = []
        var areGroupsTold = false
        var result: Int?
        var position = start
        while position < text.count {
            let first = position
            while position < text.count, text[position].isDigit, digits.count <= 19 {
                digits.append(text[position] - UInt8(ascii: "0"))
                position += 1
            }
            guard position > first, digits.count <= 19 else { break }
            groups.append(position - first)
            let separator = separator(text, at: position)
            let isWhole = marks.isEmpty || marks.count == groups.count - 1 && separator.mark != marks.last
            if isWhole, !areGroupsTold || isPrinted(groups), isCard(digits) { result = position }
            if separator.length == 0 { break }
            position += separator.length
            if let mark = separator.mark { marks.append(mark) }
            areGroupsTold = areGroupsTold || !separator.isPlain
        }
        return result
    }

    /// The character at an offset, if it can stand between digits that belong together: any but letters, digits and blanks, and
    /// the marks between the items of a list.
    private static func mark(_ text: UnsafeBufferPointer<UInt8>, at position: Int) -> Unicode.Scalar? {
        let mark = String(decoding: text[position...].prefix(4), as: UTF8.self).unicodeScalars.first
        guard let mark, !mark.isBlank, !mark.properties.isAlphabetic, mark.properties.numericType == nil else {
            return nil
        }
        return ",;|\u{3001}\u{60C}\u{61B}".unicodeScalars.contains(mark) ? nil : mark
    }

    /// The separator of two groups of digits, with a length of 0 if the digits end there: up to two blanks, or a mark that can
    /// have a blank on each side. A space and a hyphen are plain.
    private static func separator(
        _ text: UnsafeBufferPointer<UInt8>, at position: Int
    ) -> (length: Int, isPlain: Bool, mark: Unicode.Scalar?) {
        var length = text.blankLength(at: position)
        let mark = mark(text, at: position + length)
        length += mark.map(UTF8.width) ?? 0
        length += text.blankLength(at: position + length)
        guard position + length < text.count, text[position + length].isDigit else { return (0, true, nil) }
        let isPlain = length == 1 && (mark == nil || mark == "-")
        return (length, isPlain, isPlain ? nil : mark)
    }

    /// Whether the groups are as printed on cards: groups of four and a rest, or groups of four, six and a rest.
    private static func isPrinted(_ groups: [Int]) -> Bool {
        guard let last = groups.last, groups.count >= 3 else { return false }
        return groups.dropLast().allSatisfy { $0 == 4 } && last <= 4
            || groups.count == 3 && groups[0] == 4 && groups[1] == 6 && (4...5).contains(last)
    }

    private static func isCard(_ digits: [UInt8]) -> Bool {
        guard (13...19).contains(digits.count) else { return false }
        let prefix = digits[..<4].reduce(0) { $0 * 10 + Int($1) }
        return issuers.contains { lengths, prefixes in
            lengths.contains(digits.count) && prefixes.contains { $0.contains(prefix) }
        } && hasRightCheckDigit(digits)
    }

    /// Luhn's algorithm. From the right, every second digit is doubled, and the digits of the results are added.
    private static func hasRightCheckDigit(_ digits: [UInt8]) -> Bool {
        let weighted = digits.reversed().enumerated().lazy.map { $0 % 2 == 0 ? Int($1) : Int($1) * 2 }
        return weighted.reduce(0) { $0 + ($1 > 9 ? $1 - 9 : $1) } % 10 == 0
    }

    /// The lengths of an issuer's numbers, and the ranges of their first four digits.
    private static let issuers: [(lengths: [Int], prefixes: [ClosedRange<Int>])] = [
        ([13, 16, 19], [4_000...4_999]),  // Visa
        ([16], [5_100...5_599, 2_221...2_720]),  // Mastercard
        ([15], [3_400...3_499, 3_700...3_799]),  // American Express
        ([14, 16], [3_000...3_059, 3_600...3_699, 3_800...3_999]),  // Diners Club
        // JCB; Discover, UnionPay and Maestro; UnionPay; Mir
        ([16, 17, 18, 19], [3_528...3_589, 6_000...6_999, 8_100...8_171, 2_200...2_204]),
        ([13, 14, 15, 16, 17, 18, 19], [5_000...5_099, 5_600...5_899]),  // Maestro
    ]
}
