public import Sluice

extension DropReason {
    /// The user has refused: `Consent`.
    public static let consentDenied = DropReason(rawValue: "consentDenied")
    /// The user has not answered yet: `Consent`.
    public static let consentPending = DropReason(rawValue: "consentPending")
    /// The host has disabled collection: `CollectionSettings`.
    public static let collectionDisabled = DropReason(rawValue: "collectionDisabled")
    /// Its name, its user or another key had more events than `RateLimit` allows.
    public static let rateLimited = DropReason(rawValue: "rateLimited")
    /// An equal event was tracked shortly before: `Deduplication`.
    public static let duplicate = DropReason(rawValue: "duplicate")
    /// It is not in the sample: `Sampling`.
    public static let sampledOut = DropReason(rawValue: "sampledOut")
    /// It has more properties than `Limits` allow.
    public static let tooManyProperties = DropReason(rawValue: "tooManyProperties")
    /// Its name is longer than `Limits` allow.
    public static let eventNameTooLong = DropReason(rawValue: "eventNameTooLong")
    /// The name of a property is longer than `Limits` allow.
    public static let propertyNameTooLong = DropReason(rawValue: "propertyNameTooLong")
    /// A string in a property is longer than `Limits` allow.
    public static let stringTooLong = DropReason(rawValue: "stringTooLong")
    /// Its name is new, and there are more distinct names than `Limits` allow.
    public static let tooManyEventNames = DropReason(rawValue: "tooManyEventNames")
    /// Its name or the name of a property has characters that `Limits` forbid.
    public static let invalidName = DropReason(rawValue: "invalidName")
    /// A property has a name that the backend reserves: `Limits`.
    public static let reservedName = DropReason(rawValue: "reservedName")
    /// A property is an object, or a list of anything but strings: `Limits`.
    public static let nestedValue = DropReason(rawValue: "nestedValue")
}
