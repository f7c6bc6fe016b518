import Sluice

/// Who the user is, at one moment.
struct UserIDs: Sendable, Equatable {
    var anonymousID: String
    var loginID: String?

    var distinctID: String { loginID ?? anonymousID }

    /// What backends take; with at most four bytes each it also stays below what an event's id may have.
    static let maximumLength = 255

    static func validate(_ id: String, _ what: String) throws(SluiceError) {
        guard !id.isEmpty else {
            throw SluiceError(.invalidArgument, "an empty \(what): pass one, or log out instead")
        }
        // Bytes first: counting the characters of 100 MB would take a while.
        guard id.utf8.count <= 4 * maximumLength, id.unicodeScalars.count <= maximumLength else {
            throw SluiceError(
                .invalidArgument, "a \(what) of more than \(maximumLength) characters: shorten it, or pass its hash")
        }
    }
}
