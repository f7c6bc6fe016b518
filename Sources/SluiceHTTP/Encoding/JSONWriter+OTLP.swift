import Sluice

extension JSONWriter {
    /// A `KeyValue` of OTLP.
    mutating func otlpPair(_ name: String, _ value: PropertyValue) {
        raw(#"{"key":"#)
        string(name)
        raw(#","value":"#)
        otlpValue(value)
        raw("}")
    }

    /// An `AnyValue`: integers as strings of digits, moments as ISO 8601, and nothing inside for a null.
    private mutating func otlpValue(_ value: PropertyValue) {
        raw("{")
        switch value {
        case .string(let string):
            raw(#""stringValue":"#)
            self.string(string)
        case .int(let int):
            raw(#""intValue":"#)
            string(String(int))
        case .double(let double):
            raw(#""doubleValue":"#)
            number(double)
        case .bool:
            raw(#""boolValue":"#)
            self.value(value)
        case .date(let date):
            raw(#""stringValue":"#)
            isoTime(date)
        case .array(let array):
            raw(#""arrayValue":{"values":["#)
            for (index, element) in array.enumerated() {
                if index > 0 { raw(",") }
                otlpValue(element)
            }
            raw("]}")
        case .object(let object):
            raw(#""kvlistValue":{"values":["#)
            for (index, property) in object.enumerated() {
                if index > 0 { raw(",") }
                otlpPair(property.name, property.value)
            }
            raw("]}")
        case .null: break
        }
        raw("}")
    }
}
