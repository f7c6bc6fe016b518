extension Error {
    /// The failure of a call. Nil if it succeeds.
    ///
    /// Use it where the code goes on after a failure.
    @inlinable
    package static func of<Value>(_ call: @autoclosure () throws(Self) -> Value) -> Self? {
        do throws(Self) {
            _ = try call()
            return nil
        } catch {
            return error
        }
    }
}

/// Returns the result of a call, or another value if it fails.
///
/// Use it where all failures mean the same, and say why.
@inlinable
package func attempt<Value>(_ call: @autoclosure () throws -> Value, or value: @autoclosure () -> Value) -> Value {
    do { return try call() } catch { return value() }
}
