package import SluiceEvents

extension SluiceError {
    /// Refuses an argument that isn't valid.
    ///
    /// - Throws: ``Code/invalidArgument`` with the advice.
    package static func require(_ isValid: Bool, _ advice: @autoclosure () -> String) throws(SluiceError) {
        if !isValid { throw SluiceError(.invalidArgument, advice()) }
    }
}
