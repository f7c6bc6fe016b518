public import Sluice

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Timestamp {
    /// The moment of a `Date`, rounded to the nearest millisecond.
    ///
    /// A date that 64 bits of milliseconds cannot hold, or that is not a number, becomes a timestamp outside of
    /// ``Sluice/Timestamp/writable``: as a property's value it is then null, and counted as a sanitization.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
        self.init(milliseconds: Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : .min))
    }
}

extension Date {
    /// The moment of a timestamp.
    public init(_ timestamp: Timestamp) {
        self.init(timeIntervalSince1970: Double(timestamp.milliseconds) / 1_000)
    }
}

extension PropertyValue {
    /// A moment, kept to the millisecond.
    public static func date(_ date: Date) -> PropertyValue { .date(Timestamp(date)) }

    /// A moment, kept to the millisecond.
    public init(_ date: Date) { self = .date(Timestamp(date)) }
}
