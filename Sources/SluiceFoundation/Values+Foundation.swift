public import Sluice

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Timestamp {
    /// Creates a timestamp from a `Date`, rounded to the nearest millisecond.
    ///
    /// A date that doesn't fit into 64 bits of milliseconds, or that isn't a number, is outside of
    /// ``Sluice/Timestamp/writable``. As a property's value it becomes null and counts as a sanitization.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
        self.init(milliseconds: Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : .min))
    }
}

extension Date {
    /// Creates a date from a timestamp.
    public init(_ timestamp: Timestamp) {
        self.init(timeIntervalSince1970: Double(timestamp.milliseconds) / 1_000)
    }
}

extension PropertyValue {
    /// Returns a date property, rounded to the millisecond.
    ///
    /// ```swift
    /// pipeline.track("Signup", ["since": .date(Date())])
    /// ```
    public static func date(_ date: Date) -> PropertyValue { .date(Timestamp(date)) }

    /// Creates a date property, rounded to the millisecond.
    public init(_ date: Date) { self = .date(Timestamp(date)) }
}

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
