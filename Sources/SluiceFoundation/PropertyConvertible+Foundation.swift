public import Sluice

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Date: PropertyConvertible {
    /// A date, rounded to the millisecond.
    public var propertyValue: PropertyValue { .date(Timestamp(self)) }
}

extension URL: PropertyConvertible {
    /// The whole URL as a string, including a password in it.
    public var propertyValue: PropertyValue { .string(absoluteString) }
}

extension UUID: PropertyConvertible {
    /// The id as a string in upper case.
    public var propertyValue: PropertyValue { .string(uuidString) }
}

extension Data: PropertyConvertible {
    /// The bytes as Base64, as JSONEncoder writes them.
    public var propertyValue: PropertyValue { .string(base64EncodedString()) }
}

extension Decimal: PropertyConvertible {
    /// The nearest double, so 12.50 becomes 12.5. Digits beyond the sixteenth are lost. A NaN becomes null.
    public var propertyValue: PropertyValue { .double(Double(description) ?? .nan) }
}

extension PropertyConvertible where Self == PropertyValue {
    /// A date in a literal with variables, rounded to the millisecond.
    @_disfavoredOverload
    public static func date(_ date: Date) -> PropertyValue { PropertyValue.date(Timestamp(date)) }
}
