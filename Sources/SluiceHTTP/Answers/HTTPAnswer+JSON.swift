public import Sluice

extension HTTPAnswer {
    /// The body as JSON; nil if it is not whole, or no JSON.
    public var json: PropertyValue? {
        guard isWhole else { return nil }
        do {
            return try JSONReader.value(of: body)
        } catch {
            return nil
        }
    }

    /// The body as a JSON object; nil if it is anything else.
    public var jsonObject: Properties? { json?.asObject }
}

extension PropertyValue {
    var asObject: Properties? {
        guard case .object(let object) = self else { return nil }
        return object
    }

    var asArray: PropertyArray? {
        guard case .array(let array) = self else { return nil }
        return array
    }

    /// An integer, or a string of one, as protocols write it that do not trust JSON's numbers.
    var asInt: Int? {
        switch self {
        case .int(let int): Int(exactly: int)
        case .string(let string): Int(string)
        default: nil
        }
    }

    var isText: Bool {
        if case .string = self { true } else { false }
    }
}
