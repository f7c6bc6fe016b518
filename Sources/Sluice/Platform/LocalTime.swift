#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Bionic)
    import Bionic
#endif

/// What the machine's time zone says of a moment.
package enum LocalTime {
    /// Minutes east of UTC.
    package static func utcOffset(at time: Timestamp) -> Int? {
        var seconds = time_t(time.milliseconds / 1_000)
        var local = tm()
        guard localtime_r(&seconds, &local) != nil else { return nil }
        return Int(local.tm_gmtoff) / 60
    }
}
