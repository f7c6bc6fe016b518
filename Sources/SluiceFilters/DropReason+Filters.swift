public import Sluice

extension DropReason {
    /// The user has refused to be counted: `Consent`.
    public static let consentDenied = DropReason(rawValue: "consentDenied")
    /// The user has not been asked yet: `Consent`.
    public static let consentPending = DropReason(rawValue: "consentPending")
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
}
