import SluiceEvents

/// Proves that the properties of an event conform, as in nearly every event. This is faster than finding the differences,
/// because it copies no rule and no value.
///
/// Anything that needs a closer look isn't proved: arrays and objects, lengths that depend on the characters, and choices that
/// aren't ASCII.
struct QuickCheck: Sendable {
    /// The limits of a property. A value of another type is outside of these limits.
    private struct Rule {
        let kind: ValueRule.Kind
        let isRequired: Bool
        /// A string with this many bytes surely has the right length: a character has up to four bytes.
        var leastBytes = 1
        var mostBytes = 0
        var leastInteger: Int64 = 1
        var mostInteger: Int64 = 0
        var leastNumber = 1.0
        var mostNumber = 0.0
        /// The places of its values in ``QuickCheck/choices``.
        var choices = 0..<0
    }

    private let names: [String]
    private let rules: [Rule]
    /// The choices of all properties whose choices are ASCII only. Two equal strings with the same number of bytes have the
    /// same bytes if one of them is ASCII.
    private let choices: [String]
    private let required: Int

    init(_ properties: [PropertyRule]) {
        var choices: [String] = []
        rules = properties.map { property in
            let limits = property.rule.limits
            var rule = Rule(kind: limits.kind, isRequired: property.isRequired)
            if limits.kind == .string, limits.length.lowerBound < Int.max / 8 {
                let lower = limits.length.lowerBound
                (rule.leastBytes, rule.mostBytes) = (lower > 1 ? 4 * lower - 3 : lower, limits.length.upperBound)
            }
            if limits.kind == .integer || limits.kind == .number {
                rule.leastInteger = Int64(exactly: limits.minimum.rounded(.up)) ?? .min
                rule.mostInteger = Int64(exactly: limits.maximum.rounded(.down)) ?? .max
            }
            if limits.kind == .number { (rule.leastNumber, rule.mostNumber) = (limits.minimum, limits.maximum) }
            let strings = property.rule.choices.compactMap(\.string)
            if strings.allSatisfy({ $0.utf8.allSatisfy { $0 < 0x80 } }) {
                rule.choices = choices.count..<choices.count + strings.count
                choices += strings
            }
            return rule
        }
        names = properties.map(\.name)
        required = properties.count { $0.isRequired }
        self.choices = choices
    }

    func proves(_ values: Properties) -> Bool {
        values.withPairs { pairs in
            names.withUnsafeBufferPointer { names in rules.withUnsafeBufferPointer { proves(pairs, names, $0) } }
        } ?? false
    }

    @inline(__always)
    private func proves(
        _ pairs: UnsafeBufferPointer<(String, PropertyValue)>, _ names: UnsafeBufferPointer<String>,
        _ rules: UnsafeBufferPointer<Rule>
    ) -> Bool {
        var missing = required
        // Generated events have the order of the plan, so the next rule is usually the right one.
        var next = 0
        for index in 0..<pairs.count {
            if next == names.count || names[next] != pairs[index].0 {
                guard let place = names.firstIndex(of: pairs[index].0) else {
                    if pairs[index].0.utf8.first == UInt8(ascii: "$") { continue }
                    return false
                }
                next = place
            }
            let isWithin: Bool
            // This is part of the loop, because a function would get a copy of the value.
            switch pairs[index].1 {
            case .string(let text):
                let bytes = text.utf8.count
                isWithin = bytes >= rules[next].leastBytes && bytes <= rules[next].mostBytes
            case .int(let int): isWithin = int >= rules[next].leastInteger && int <= rules[next].mostInteger
            case .double(let double): isWithin = double >= rules[next].leastNumber && double <= rules[next].mostNumber
            case .bool: isWithin = rules[next].kind == .boolean
            case .date: isWithin = rules[next].kind == .date
            case .array, .object, .null: return false
            }
            guard isWithin || isChoice(pairs[index].1, rules[next].choices) else { return false }
            if rules[next].isRequired { missing -= 1 }
            next += 1
        }
        return missing == 0
    }

    @inline(never)
    private func isChoice(_ value: PropertyValue, _ places: Range<Int>) -> Bool {
        guard case .string(let text) = value else { return false }
        return choices.withUnsafeBufferPointer { choices in
            let bytes = text.utf8.count
            for index in places where choices[index].utf8.count == bytes && choices[index] == text { return true }
            return false
        }
    }
}
