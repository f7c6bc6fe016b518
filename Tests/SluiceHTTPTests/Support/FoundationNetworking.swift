import Testing

extension Trait where Self == ConditionTrait {
    /// Skips a test that URLSession of swift-corelibs-foundation fails. `Tests/Apple` compiles the client for Apple's systems
    /// against it.
    static func failsOnFoundationNetworking(_ reason: Comment) -> ConditionTrait {
        #if canImport(Darwin) && os(Linux)
            .disabled(reason)
        #else
            .enabled(if: true)
        #endif
    }
}
