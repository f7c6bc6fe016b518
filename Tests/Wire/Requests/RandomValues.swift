import Sluice
import SluiceTesting

/// Random names, ids and properties: many usual ones, and every kind of unusual one.
struct RandomValues {
    private var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    mutating func int(in range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    private mutating func element<Element>(_ elements: [Element]) -> Element {
        elements[int(in: 0...(elements.count - 1))]
    }

    // MARK: Names and ids

    mutating func name() -> String {
        int(in: 0...9) == 0 ? short(unusualString()) : element(["Purchase", "Search", "page_view", "Song Played"])
    }

    /// The names of verbs, for events of a host that tracks them without the properties of the verb.
    mutating func verbName() -> String {
        element([
            "$SignUp", "$Alias", "$GroupIdentify", "$ProfileSet", "$ProfileSetOnce", "$ProfileIncrement",
            "$ProfileAppend", "$ProfileUnset", "$ItemSet", "$AppViewScreen", "$AppStart", "$AppEnd", "$AppInstall",
            "$AppUpdate", "$SessionStart", "$SessionEnd", "$BindID", "$Revenue",
        ])
    }

    /// A valid id: no text for a missing one, at most 255 characters, without NUL.
    mutating func id() -> String {
        guard int(in: 0...4) == 0 else { return "u-\(int(in: 1...300))" }
        let text = String(String.UnicodeScalarView(unusualString().unicodeScalars.prefix(200).filter { $0 != "\0" }))
        return "u " + text
    }

    mutating func groupType() -> String {
        int(in: 0...9) == 0 ? "type " + id() : element(["company", "team", "project"])
    }

    mutating func propertyName() -> String {
        guard int(in: 0...4) == 0 else {
            return element(["title", "sku", "price", "count", "plan", "is_new", "born", "tags", "nested"])
        }
        guard int(in: 0...2) == 0 else { return element(RandomValues.reservedNames) }
        return short(unusualString())
    }

    /// Names with a meaning in one of the formats.
    private static let reservedNames = [
        "time", "distinct_id", "anonymous_id", "login_id", "event.id", "event_id", "id", "event", "$insert_id",
        "$device_id", "$user_id", "token", "$token", "$set", "type", "userId", "properties", "@timestamp",
        "properties.time", "properties.event.id", "a.b", "alias", "$process_person_profile", "$cookieless_mode",
        "$session_id", "$window_id", "$product_tour_id", "$event_duration", "event_duration", "$duration",
        "$utc_offset",
        "order_id", "revenue", "version", "$amount", "floatValue", "value", "part", "Data",
    ]

    /// Not empty, and so short that it isn't truncated.
    private func short(_ text: String) -> String {
        text.isEmpty ? "empty" : String(String.UnicodeScalarView(text.unicodeScalars.prefix(200)))
    }

    // MARK: Properties

    /// With a depth of 3, a few are nested as deeply as a property can be.
    mutating func properties(depth: Int = 3) -> Properties {
        var pairs = (0..<int(in: 0...6)).map { _ in (propertyName(), value(depth: depth)) }
        // A server can name the groups of an event itself.
        if int(in: 0...19) == 0 { pairs.append(("$groups", .object([groupType(): .string(id())]))) }
        // With fixed types, for tables with a column for each.
        if int(in: 0...2) == 0 { pairs.append(("c_string", .string(string()))) }
        if int(in: 0...2) == 0 { pairs.append(("c_int", .int(wholeNumber()))) }
        if int(in: 0...2) == 0 { pairs.append(("c_double", .double(number()))) }
        if int(in: 0...2) == 0 { pairs.append(("c_bool", .bool(int(in: 0...1) == 0))) }
        if int(in: 0...2) == 0 { pairs.append(("c_date", .date(date()))) }
        return Properties(pairs)
    }

    mutating func revenue() -> Revenue {
        Revenue(
            Double(int(in: -100_000...100_000)) / 100, currency: element([nil, "EUR"]),
            productID: element([nil, "A-7", id()]),
            quantity: int(in: 0...3), .init(properties()))
    }

    mutating func amounts() -> Properties {
        Properties(
            (0...int(in: 0...2)).map { _ in
                (propertyName(), int(in: 0...1) == 0 ? .int(Int64(int(in: -9...9))) : .double(number()))
            })
    }

    /// Some of the properties that `AutoProperties` adds.
    mutating func automaticProperties() -> Properties {
        var result = properties()
        let all: Properties = [
            "$app_name": "Shop", "$app_version": "2.4.1", "$app_build": "1312", "$app_id": "example.shop",
            "$os_name": "Debian", "$os_version": "12", "$os": "Linux", "$manufacturer": "Acme",
            "$model": "M1", "$locale": "de_AT", "$timezone": "Europe/Vienna",
            "$utc_offset": 60, "$screen_width": 1_920, "$screen_height": 1_080, "$network_type": "wifi", "$wifi": true,
            "$carrier": "A1", "$country": "AT", "$lib": "Sluice", "$lib_version": "1.0.0", "$process_id": 4_711,
            "$session_id": "019b7705-8c00-7abc-8000-0000ffff0001", "$previous_version": "2.3",
            "$resume_from_background": true, "$event_duration": .double(Double(int(in: 0...9_999_999)) / 1_000),
            "$host_name": "shop-1", "$architecture": "arm64",
        ]
        result.addDefaults(all)
        return result
    }

    mutating func value(depth: Int) -> PropertyValue {
        switch int(in: 0...19) {
        case 0..<6: .string(string())
        case 6..<9: .int(wholeNumber())
        case 9..<11: .double(number())
        case 11..<12: .double(element([.nan, .infinity, -.infinity]))
        case 12..<14: .bool(int(in: 0...1) == 0)
        case 14..<16: .date(date())
        case 16: .null
        case 17 where depth > 0: .array(PropertyArray((0..<int(in: 0...4)).map { _ in value(depth: depth - 1) }))
        case 18 where depth > 0:
            .object(Properties((0..<int(in: 0...4)).map { _ in (propertyName(), value(depth: depth - 1)) }))
        case 19 where depth == 3 && int(in: 0...49) == 0: nested(levels: int(in: 30...34))
        default: .array(["x", "y"])
        }
    }

    private mutating func nested(levels: Int) -> PropertyValue {
        var value: PropertyValue = "bottom"
        for _ in 0..<levels { value = int(in: 0...1) == 0 ? .array([value]) : .object(["in": value]) }
        return value
    }

    // MARK: Scalars

    private mutating func string() -> String {
        int(in: 0...2) == 0 ? unusualString() : element(["blue", "Tying Shoes", "A-7", "de_AT", "10", "true", "null"])
    }

    private mutating func unusualString() -> String {
        if int(in: 0...199) == 0 { return longString() }
        if int(in: 0...2) == 0 {
            return String(String.UnicodeScalarView((0..<int(in: 1...20)).map { _ in scalar() }))
        }
        return element(RandomValues.unusualStrings)
    }

    /// Around the longest string that is kept.
    private mutating func longString() -> String {
        String(repeating: element(["x", "é", "\u{2028}", "\"", "😀"]), count: element([9_000, 16_384, 65_535, 65_537]))
    }

    private mutating func scalar() -> Unicode.Scalar {
        let bounds: [ClosedRange<Int>] = [
            0...0x1F, 0x20...0x7F, 0x80...0xFF, 0x2000...0x206F, 0xD7F0...0xD7FF, 0xE000...0xE00F, 0xFFF0...0xFFFF,
            0x1_F300...0x1_F6FF, 0x10_FFF0...0x10_FFFF, 0x590...0x6FF,
        ]
        return Unicode.Scalar(UInt32(int(in: element(bounds)))) ?? "?"
    }

    private static let unusualStrings = [
        "", " ", "\0", "a\0b", "\u{D7FF}\u{E000}", "\u{FFFD}\u{FFFE}\u{FFFF}", "\u{10FFFF}", "\u{202E}אבג مرحبا",
        "\u{2028}\u{2029}", "\u{FEFF}x", "\"\\/\u{8}\u{C}\n\r\t", "</script><!--", "👩‍👩‍👧‍👦", "e\u{301}", "\u{E9}", "\r\n",
        "\u{7F}\u{80}\u{9F}", "\\u005a", "2026-01-01T00:00:00.000Z", "2026-01-01", "Z", "{}", "[]", "%00%0A&=+",
        "`'\"$(x)", "{\"a\":1}\n{\"b\":2}", "NaN", "-0", "1e999",
    ]

    private mutating func wholeNumber() -> Int64 {
        int(in: 0...1) == 0
            ? Int64(int(in: -1_000...1_000))
            : element([0, .max, .min, 1 << 53, 1 << 53 + 1, -(1 << 53) - 1, 1 << 31, 4_294_967_296])
    }

    private mutating func number() -> Double {
        switch int(in: 0...3) {
        case 0: return element([0, -0.0, 0.1, 2, -2.5, 1e21, 1e-7, 1e300, .leastNonzeroMagnitude, .pi])
        case 1: return .greatestFiniteMagnitude
        case 2: return Double(int(in: -100_000...100_000)) / 100
        default:
            let double = Double(bitPattern: random.next())
            return double.isFinite ? double : 1.5
        }
    }

    private mutating func date() -> Timestamp {
        int(in: 0...4) == 0
            ? element([
                Timestamp(milliseconds: 0), Timestamp(milliseconds: -1), Timestamp.writable.upperBound,
                Timestamp(milliseconds: -62_135_596_800_000), Timestamp(milliseconds: 951_782_399_999),
            ])
            : Timestamp(milliseconds: Int64(int(in: 0...4_102_444_800_000)))
    }

    /// Usually now. Sometimes any time from 1971 to 2099.
    mutating func eventTime(near now: Timestamp) -> Timestamp {
        int(in: 0...4) == 0 ? Timestamp(milliseconds: Int64(int(in: 31_536_000_000...4_102_444_799_999))) : now
    }
}
