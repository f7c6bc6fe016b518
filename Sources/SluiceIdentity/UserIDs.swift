import Sluice

/// Who the user is, at one moment.
struct UserIDs: Sendable, Equatable {
    /// A first login of which no event has been tracked yet.
    struct SignUp: Sendable, Equatable {
        var loginID: String
        var previousID: String
        var properties: Properties
    }

    var anonymousID: String {
        didSet { if anonymousID != oldValue { hasSignedUp = false } }
    }
    var loginID: String?
    /// Further ids of the user, by the names of their kinds.
    var boundIDs: Properties = [:]
    /// The ids of the groups that the user belongs to, by their types.
    var groups: Properties = [:]
    /// Whether somebody has logged in under this anonymous id.
    var hasSignedUp = false
    var owedSignUp: SignUp?

    init(anonymousID: String, loginID: String? = nil) {
        self.anonymousID = anonymousID
        self.loginID = loginID
    }

    var distinctID: String { loginID ?? anonymousID }

    /// What every event gets beside the three ids.
    var extras: Properties {
        var extras: Properties = [:]
        if !boundIDs.isEmpty { extras["$identities"] = .object(boundIDs) }
        if !groups.isEmpty { extras["$groups"] = .object(groups) }
        return extras
    }

    mutating func logIn(_ id: String, _ properties: Properties) {
        guard loginID != id else { return }
        if loginID != nil { logOut() }
        loginID = id
        guard !hasSignedUp else { return }
        hasSignedUp = true
        if anonymousID != id {
            owedSignUp = SignUp(loginID: id, previousID: anonymousID, properties: properties)
        }
    }

    /// What belongs to the user goes too: the next one must not inherit it.
    mutating func logOut() {
        loginID = nil
        boundIDs = [:]
        groups = [:]
    }
}

extension UserIDs {
    /// What backends take; with at most four bytes each it also stays below what an event's id may have.
    static let maximumLength = 255
    /// Each of them travels with every event.
    static let maximumExtras = 32

    static func validate(_ id: String, _ what: String) throws(SluiceError) {
        guard id.fits else {
            throw SluiceError(
                .invalidArgument, "a \(what) of more than \(maximumLength) characters: shorten it, or pass its hash")
        }
        guard !id.isBlank else {
            throw SluiceError(.invalidArgument, "an empty or blank \(what): pass one, or log out instead")
        }
        guard !id.utf8.contains(0) else {
            throw SluiceError(
                .invalidArgument, "a \(what) with a NUL in it, which many backends refuse: pass it without")
        }
    }

    static func validate(_ count: Int, _ what: String) throws(SluiceError) {
        guard count <= maximumExtras else {
            throw SluiceError(.invalidArgument, "more than \(maximumExtras) \(what) at a time: remove one first")
        }
    }

    /// Whether what a source of ids came up with is one; zeros mean that the system gives none.
    static func isID(_ id: String) -> Bool {
        id.fits && !id.isBlank && !id.utf8.contains(0)
            && !id.utf8.allSatisfy { $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: "-") }
    }
}

extension String {
    fileprivate var fits: Bool {
        // Bytes first: counting the characters of 100 MB would take a while.
        utf8.count <= 4 * UserIDs.maximumLength && unicodeScalars.count <= UserIDs.maximumLength
    }

    /// Whether nothing of it can be seen: white space, and characters of control and format.
    fileprivate var isBlank: Bool {
        unicodeScalars.allSatisfy { scalar in
            let properties = scalar.properties
            return properties.isWhitespace || properties.generalCategory == .control
                || properties.generalCategory == .format
        }
    }
}
