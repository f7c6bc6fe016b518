import Sluice
import SluiceTesting

/// Events of every shape that can be stored, often with values at the ends of a range.
struct RandomEvents {
    private var random: SeededRandom
    private let hasByteOrderMarks: Bool

    init(seed: UInt64, hasByteOrderMarks: Bool = true) {
        random = SeededRandom(seed: seed)
        self.hasByteOrderMarks = hasByteOrderMarks
    }

    mutating func next() -> Event {
        Event(
            id: EventID(high: random.next(), low: random.next()),
            name: text() + "n",
            time: date(),
            priority: Bool.random(using: &random) ? .critical : .normal,
            distinctID: optionalText(),
            anonymousID: optionalText(),
            loginID: optionalText(),
            properties: properties(depth: Int.random(in: 1...6, using: &random)))
    }

    /// A value with exactly `depth` levels of containers around a scalar.
    mutating func nested(depth: Int) -> PropertyValue {
        var value = scalar()
        for _ in 0..<depth {
            if Bool.random(using: &random) {
                value = .array([scalar(), value])
            } else {
                value = .object(Properties([(text(), scalar()), ("deeper", value)]))
            }
        }
        return value
    }

    mutating func index(below count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    mutating func byte() -> UInt8 { UInt8.random(in: 0...255, using: &random) }

    private mutating func properties(depth: Int) -> Properties {
        let count = Int.random(in: 0...5, using: &random)
        return Properties((0..<count).map { _ in (text(), value(depth: depth - 1)) })
    }

    private mutating func value(depth: Int) -> PropertyValue {
        guard depth > 0 else { return scalar() }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return .array(PropertyArray((0..<index(below: 4)).map { _ in value(depth: depth - 1) }))
        case 1: return .object(properties(depth: depth))
        default: return scalar()
        }
    }

    private mutating func scalar() -> PropertyValue {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: .string(text())
        case 1: .int(int())
        case 2: .double(double())
        case 3: .bool(Bool.random(using: &random))
        case 4: .date(date())
        default: .null
        }
    }

    private mutating func int() -> Int64 {
        let ends: [Int64] = [.min, .min + 1, -1, 0, 1, 1 << 53, 1 << 53 + 1, .max - 1, .max]
        return pick(ends) ?? Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random)
    }

    private mutating func double() -> Double {
        let ends: [Double] = [
            0, -0.0, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .leastNormalMagnitude, .greatestFiniteMagnitude,
            -.greatestFiniteMagnitude, .ulpOfOne, .pi, 0.1, 1e21, 1e22, 1e-7, 123_456_789.0, 9_007_199_254_740_993.0,
        ]
        if let end = pick(ends) { return end }
        let any = Double(bitPattern: random.next())
        return any.isFinite ? any : 1
    }

    private mutating func date() -> Timestamp {
        let range = Timestamp.writable.lowerBound.milliseconds...Timestamp.writable.upperBound.milliseconds
        let ends = [range.lowerBound, range.lowerBound + 1, -1, 0, 1, range.upperBound - 1, range.upperBound]
        return Timestamp(milliseconds: pick(ends) ?? Int64.random(in: range, using: &random))
    }

    private mutating func optionalText() -> String? { Bool.random(using: &random) ? text() : nil }

    private mutating func text() -> String {
        let texts = [
            "", "\0", "\n", "\r\n", "\"", "\\", "\\n", "\u{2028}", "/", "\u{7F}", "2026-11-21T05:55:16.123Z",
            "id", "event", "time", "properties", "$os", #"\u005a"#,
        ]
        if let text = pick(texts) { return text }
        var result = hasByteOrderMarks && index(below: 20) == 0 ? "\u{FEFF}" : ""
        for _ in 0..<index(below: 12) { result.unicodeScalars.append(scalarOfText()) }
        return result
    }

    private mutating func scalarOfText() -> Unicode.Scalar {
        let ranges: [ClosedRange<UInt32>] = [
            0x00...0x1F, 0x20...0x7F, 0x80...0x7FF, 0x300...0x36F, 0x800...0xD7FF, 0xE000...0xFFFF, 0x10000...0x10FFFF,
        ]
        let range = ranges[index(below: ranges.count)]
        let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)) ?? "?"
        return scalar == "\u{FEFF}" && !hasByteOrderMarks ? "?" : scalar
    }

    /// One of `values` in a quarter of all cases.
    private mutating func pick<Value>(_ values: [Value]) -> Value? {
        index(below: 4) == 0 ? values[index(below: values.count)] : nil
    }
}
