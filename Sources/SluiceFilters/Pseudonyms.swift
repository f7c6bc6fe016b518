public import Sluice

/// Replaces user ids, and properties that you choose, with pseudonyms before events are stored. Without the key, a pseudonym
/// doesn't reveal the user.
///
/// ```swift
/// let pipeline = try Pipeline {
///     Identity(persistedIn: .file(stateDirectory))
///     Pseudonyms(key: key, properties: ["email"])
///     …
/// }
/// ```
///
/// A pseudonym is the HMAC-SHA-256 of a value, as 64 hexadecimal digits (RFC 2104). It is the same on every device and
/// server that has the key, so receivers can still count users and join their events. The stage replaces the distinct
/// id, the anonymous id, the login id, the ids of people and groups in `$original_id`, `$alias`, `$id_value`,
/// `$group_key`, `$identities` and `$groups`, which `Identity` adds, and the properties that you name. Your properties
/// are replaced at every depth of objects and arrays. The stage hashes the UTF-8 of strings, and the JSON of other
/// values. A null stays. An id that stands for a missing one, such as `undefined` or `0`, stays too: its hash would be
/// the valid id of all who lack one.
///
/// List it below `Identity` and all stages that read ids, such as `Sampling`. Stages below it see pseudonyms only. Ids that are
/// added below it stay as they are.
///
/// Keep the key apart from the events: with the key, a list of ids can be hashed and compared. The users of an app can read a
/// key that it contains. If you change the key, all users look like new ones.
///
/// To find a person's events, hash the id:
///
/// ```swift
/// let pseudonym = Pseudonyms(key: key).pseudonym(of: "42")
/// let report = await pipeline.erase { $0.belongs(to: pseudonym) }
/// ```
///
/// ## Count users without recognizing them
/// With ``Rotation/daily``, a user has a new pseudonym each day in UTC, by the time of the event. The number of distinct
/// pseudonyms of a day is the number of users on that day, and a pseudonym never occurs on two days. The salt of a day is
/// derived from the key. So with the key, the days can still be connected. To rule that out, use a random key that you don't
/// store. Then each process has another key, and counts its users on its own:
///
/// ```swift
/// let key = (0..<32).map { _ in UInt8.random(in: 0...255) }
/// let visitors = Pseudonyms(key: key, rotation: .daily)
/// ```
public struct Pseudonyms: Processor {
    /// How long a pseudonym is the same.
    public struct Rotation: Sendable, Hashable {
        fileprivate let isDaily: Bool

        /// As long as the key.
        public static let never = Rotation(isDaily: false)
        /// For a day in UTC.
        public static let daily = Rotation(isDaily: true)
    }

    private let key: [UInt8]
    private let names: Set<String>
    private let rotation: Rotation
    private static let shortestKey = 16

    /// Creates a stage.
    ///
    /// - Parameters:
    ///   - key: The secret: at least 16 random bytes, better 32.
    ///   - properties: The names of the properties to replace, besides those of `Identity`. Two names are equal if their characters are.
    ///   - rotation: How long a pseudonym is the same. As long as the key by default.
    public init(key: [UInt8], properties: [String] = [], rotation: Rotation = .never) {
        self.key = key
        names = Set(properties)
        self.rotation = rotation
    }

    /// Checks the key and the names.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if the key has fewer than 16 bytes, or if a name is blank,
    ///   or has a blank at an end or an invisible character.
    public func prepare() throws {
        try SluiceError.require(
            key.count >= Pseudonyms.shortestKey,
            "a key of \(key.count) bytes can be guessed: use at least 16 random bytes, better 32")
        try SluiceError.require(names: names, of: "properties")
    }

    /// Replaces the ids and the properties of the event.
    public func process(_ event: inout Event) -> Disposition {
        let salt = salt(at: event.time)
        let (distinctID, anonymousID, loginID) = (event.distinctID, event.anonymousID, event.loginID)
        // The distinct id is usually one of the others.
        let anonymous = anonymousID.map { hash($0, salt) }
        let login = loginID.flatMap { $0.hasBytes(of: anonymousID) ? anonymous : hash($0, salt) }
        event.distinctID = distinctID.flatMap { id in
            if id.hasBytes(of: loginID) { return login }
            return id.hasBytes(of: anonymousID) ? anonymous : hash(id, salt)
        }
        (event.anonymousID, event.loginID) = (anonymous, login)
        if let properties = event.properties.replacing({ replaced(topLevel: $0, salt) }) {
            event.properties = properties
        }
        return .keep
    }

    /// Returns the pseudonym of an id or of another text.
    ///
    /// ```swift
    /// let pseudonym = Pseudonyms(key: key).pseudonym(of: "42")
    /// ```
    ///
    /// - Parameters:
    ///   - value: The text, whose UTF-8 is hashed.
    ///   - time: The time of the event, for ``Rotation/daily``. Now by default.
    /// - Returns: 64 hexadecimal digits.
    public func pseudonym(of value: String, at time: Timestamp = .now) -> String { hash(value, salt(at: time)) }

    /// The key for events of this time.
    private func salt(at time: Timestamp) -> [UInt8] {
        guard rotation.isDaily else { return key }
        let milliseconds = time.milliseconds
        let day = milliseconds / 86_400_000 - (milliseconds % 86_400_000 < 0 ? 1 : 0)
        return hmacSHA256(Array("day \(day)".utf8), key: key)
    }

    private func hash(_ value: String, _ salt: [UInt8]) -> String {
        hmacSHA256(Array(value.utf8), key: salt).hexadecimal
    }

    private func replaced(topLevel property: Property, _ salt: [UInt8]) -> Property? {
        guard OwnNames.people.contains(property.name) else { return replaced(property, salt) }
        return hashed(property.value, salt, isID: true).map { Property(property.name, $0) }
    }

    private func replaced(_ property: Property, _ salt: [UInt8]) -> Property? {
        let isChosen = names.contains(property.name)
        let value = isChosen ? hashed(property.value, salt) : replaced(property.value, salt)
        return value.map { Property(property.name, $0) }
    }

    // The depth of a value bounds the recursion.
    private func replaced(_ value: PropertyValue, _ salt: [UInt8]) -> PropertyValue? {
        value.replacingContents({ replaced($0, salt) }, { replaced($0, salt) })
    }

    private func hashed(_ value: PropertyValue, _ salt: [UInt8], isID: Bool = false) -> PropertyValue? {
        switch value {
        case .null: return nil
        case .array,
            .object where isID:
            return value.replacingContents({ hashed($0, salt, isID: isID) }) { id in
                hashed(id.value, salt, isID: isID).map { Property(id.name, $0) }
            }
        case .string, .int, .double, .bool, .date, .object:
            let text = value.string ?? value.description
            return isID && PlaceholderID.matches(text) ? nil : .string(hash(text, salt))
        }
    }
}
