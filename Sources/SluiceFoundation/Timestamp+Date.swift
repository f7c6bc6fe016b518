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
