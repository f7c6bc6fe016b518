import Sluice

/// The user's ids at one moment.
struct UserIDs: Sendable, Equatable {
    /// The event of a first login, until a pipeline has stored it.
    struct SignUp: Sendable, Equatable {
        static let eventName = "$SignUp"

        let id: EventID
        let time: Timestamp
        let loginID: String
        let previousID: String
        let properties: Properties
        /// A route has stored the event, and another one lacks the user's consent.
        var isStored = false

        func event(with extras: Properties) -> Event {
            var properties: Properties = ["$original_id": .string(previousID)]
            if !self.properties.isEmpty { properties["$set"] = .object(self.properties) }
            properties.addDefaults(extras)
            return Event(
                id: id, name: SignUp.eventName, time: time, anonymousID: previousID, loginID: loginID,
                properties: properties)
        }
    }

    var anonymousID: String {
        didSet { if !anonymousID.hasBytes(of: oldValue) { hasSignedUp = false } }
    }
    var loginID: String?
    /// Further ids of the user, by the names of their kinds.
    var boundIDs: Properties = [:] {
        didSet { updateExtras() }
    }
    /// The ids of the groups that the user belongs to, by their types.
    var groups: Properties = [:] {
        didSet { updateExtras() }
    }
    /// The properties that every event gets besides the three ids. They are built when they change, not for each event.
    private(set) var extras: Properties = [:]
    /// Whether a user has logged in under this anonymous id.
    var hasSignedUp = false
    var signUp: SignUp?

    init(anonymousID: String, loginID: String? = nil) {
        self.anonymousID = anonymousID
        self.loginID = loginID
    }

    /// The sign-up that no route has stored.
    var pendingSignUp: SignUp? { signUp.flatMap { $0.isStored ? nil : $0 } }

    var distinctID: String { loginID ?? anonymousID }

    /// Adds the ids to an event without ids of its own.
    // Mutating, because a method that only reads would be called on a copy of an optional's value.
    mutating func identify(_ event: inout Event) {
        event.checkedAnonymousID = anonymousID
        event.checkedLoginID = loginID
        if !extras.isEmpty { event.properties.addDefaults(extras) }
    }

    private mutating func updateExtras() {
        extras = [:]
        if !boundIDs.isEmpty { extras["$identities"] = .object(boundIDs) }
        if !groups.isEmpty { extras["$groups"] = .object(groups) }
    }

    /// The change by a login.
    enum Login {
        case nothing
        /// The first user under the anonymous id.
        case first(SignUp)
        /// A user under an anonymous id under which one has logged in before.
        case later(anonymousID: String)
    }

    /// Changes the user. If the login is the first one, `event` is the id and time of its `$SignUp`.
    mutating func logIn(_ loginID: String, _ properties: Properties, event: (id: EventID, time: Timestamp)) -> Login {
        guard !loginID.hasBytes(of: self.loginID) else { return .nothing }
        if self.loginID != nil { logOut() }
        self.loginID = loginID
        if hasSignedUp { return .later(anonymousID: anonymousID) }
        hasSignedUp = true
        guard !anonymousID.hasBytes(of: loginID) else { return .nothing }
        let first = SignUp(
            id: event.id, time: event.time, loginID: loginID, previousID: anonymousID, properties: properties)
        signUp = first
        return .first(first)
    }

    /// Also removes bound ids and groups, because the next user must not inherit them.
    mutating func logOut() {
        loginID = nil
        boundIDs = [:]
        groups = [:]
        if signUp?.isStored == true { signUp = nil }
    }
}

extension UserIDs {
    /// Returns nil if the object was not made by ``object``, or is incomplete.
    init?(_ object: Properties) {
        guard let anonymousID = object["anonymous_id"]?.string else { return nil }
        self.init(anonymousID: anonymousID, loginID: object["login_id"]?.string)
        boundIDs = object["bound_ids"]?.object ?? [:]
        groups = object["groups"]?.object ?? [:]
        hasSignedUp = object["has_signed_up"] == true
        updateExtras()
        guard let pending = (object["pending_sign_up"] ?? object["stored_sign_up"])?.object else { return }
        guard let id = pending["id"]?.string.flatMap({ EventID($0) }), case .date(let time) = pending["time"],
            let loginID = pending["login_id"]?.string, let previousID = pending["previous_id"]?.string
        else { return nil }
        signUp = SignUp(
            id: id, time: time, loginID: loginID, previousID: previousID,
            properties: pending["properties"]?.object ?? [:], isStored: object["stored_sign_up"] != nil)
    }

    var object: Properties {
        var object: Properties = ["anonymous_id": .string(anonymousID)]
        object["login_id"] = loginID.map { .string($0) }
        if !boundIDs.isEmpty { object["bound_ids"] = .object(boundIDs) }
        if !groups.isEmpty { object["groups"] = .object(groups) }
        if hasSignedUp { object["has_signed_up"] = true }
        if let signUp {
            object[signUp.isStored ? "stored_sign_up" : "pending_sign_up"] = [
                "id": .string(signUp.id.description), "time": .date(signUp.time), "login_id": .string(signUp.loginID),
                "previous_id": .string(signUp.previousID), "properties": .object(signUp.properties),
            ]
        }
        return object
    }

    /// Compares bytes, as receivers do: another spelling of an id must be stored and sent.
    static func == (left: UserIDs, right: UserIDs) -> Bool {
        left.object.description.hasBytes(of: right.object.description)
    }

    /// Removes the ids that no method accepts, which earlier versions stored. Without its login id, the user is logged out.
    ///
    /// - Parameter newID: Returns the anonymous id that replaces such a one.
    mutating func removeInvalid(newID: () -> String) {
        let isInvalid = { (id: String?) in id.map { !UserID.isValid($0) } ?? false }
        if isInvalid(anonymousID) { anonymousID = newID() }
        if isInvalid(loginID) { logOut() }
        if isInvalid(signUp?.loginID) || isInvalid(signUp?.previousID) { signUp = nil }
        boundIDs.removeAll { isInvalid($0.value.string) }
        groups.removeAll { isInvalid($0.value.string) }
    }

    /// The ids with nothing but the part that belongs to the device.
    ///
    /// This part includes whether a user has signed up under the anonymous id. Otherwise a backend would join the next
    /// user after a reinstall with the former one.
    var devicePart: UserIDs {
        var part = UserIDs(anonymousID: anonymousID)
        part.hasSignedUp = hasSignedUp
        return part
    }

    mutating func takeDevicePart(from other: UserIDs) {
        anonymousID = other.anonymousID
        hasSignedUp = other.hasSignedUp
    }
}

extension UserIDs {
    /// Each bound id and group is sent with every event.
    static let maximumExtras = 32

    /// Checks an id of a person or a group.
    static func validate(_ id: String, _ kind: String) throws(SluiceError) {
        try validate(name: id, kind)
        try SluiceError.require(
            !PlaceholderID.matches(id),
            "a \(kind) that stands for a missing one, such as null, undefined or 0: pass one, or log out instead")
    }

    /// Checks the name of a kind of ids, or of a thing.
    static func validate(name: String, _ kind: String) throws(SluiceError) {
        try SluiceError.require(
            UserID.fits(name), "a \(kind) of more than \(UserID.maximumLength) characters: shorten it, or pass its hash"
        )
        try SluiceError.require(!name.isBlank, "an empty or blank \(kind): pass one, or log out instead")
        try SluiceError.require(
            !UserID.hasNUL(name), "a \(kind) that contains NUL, which many backends refuse: remove it")
    }

    static func validate(_ count: Int, _ kind: String) throws(SluiceError) {
        try SluiceError.require(
            count <= maximumExtras, "more than \(maximumExtras) \(kind) at a time: remove one first")
    }
}
