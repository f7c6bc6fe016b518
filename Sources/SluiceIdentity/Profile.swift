public import Sluice

extension Identity {
    /// What is known about the user, rather than what the user does: verbs that track events about it.
    public var profile: Profile { Profile(identity: self) }

    /// What is known about the things that users deal with, such as products.
    public var items: Items { Items(identity: self) }
}

/// Verbs about the user of an ``Identity``. Each tracks one event, which a backend applies to what it knows of the
/// user; nothing is kept here.
///
/// What is said of the user stands in an object of its own, so that it does not mix with the properties that plugins
/// add to every event.
public struct Profile: Sendable {
    let identity: Identity

    /// Sets properties of the user: `$ProfileSet`, with `$set`.
    public func set(_ properties: Properties) {
        identity.track("$ProfileSet", ["$set": .object(properties)])
    }

    /// Sets those which the user does not have yet: `$ProfileSetOnce`, with `$set_once`.
    public func setOnce(_ properties: Properties) {
        identity.track("$ProfileSetOnce", ["$set_once": .object(properties)])
    }

    /// Adds to numbers of the user: `$ProfileIncrement`, with `$increment`.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if one of the amounts is no number; nothing is tracked then.
    public func increment(_ amounts: Properties) throws(SluiceError) {
        for amount in amounts {
            switch amount.value {
            case .int, .double: continue
            default:
                throw SluiceError(.invalidArgument, "an increment of \"\(amount.name)\" that is no number: pass one")
            }
        }
        identity.track("$ProfileIncrement", ["$increment": .object(amounts)])
    }

    /// Appends to lists of the user: `$ProfileAppend`, with `$append`. A single value is a list of one.
    public func append(_ values: Properties) {
        let lists = values.map { property -> (String, PropertyValue) in
            if case .array = property.value { return (property.name, property.value) }
            return (property.name, [property.value])
        }
        identity.track("$ProfileAppend", ["$append": .object(Properties(lists))])
    }

    /// Removes properties of the user: `$ProfileUnset`, with `$unset`.
    public func unset(_ names: String...) {
        identity.track("$ProfileUnset", ["$unset": .array(PropertyArray(names.map { .string($0) }))])
    }

    /// Removes all that is known about the user: `$ProfileDelete`.
    public func delete() {
        identity.track("$ProfileDelete", [:])
    }
}

/// Verbs about things. Each tracks one event, with `$item_type` and `$item_id`; nothing is kept here.
public struct Items: Sendable {
    let identity: Identity

    /// Sets properties of a thing: `$ItemSet`, with `$item`.
    ///
    /// - Parameters:
    ///   - type: what it is, such as `book`; 1 to 255 characters, as is the id.
    ///   - id: its own among those of the type.
    ///   - properties: what is to be known about it.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if the type or the id is empty or too long.
    public func set(_ type: String, _ id: String, _ properties: Properties) throws(SluiceError) {
        var event = try Items.key(type, id)
        event["$item"] = .object(properties)
        identity.track("$ItemSet", event)
    }

    /// Removes a thing: `$ItemDelete`.
    ///
    /// - Throws: as ``set(_:_:_:)``.
    public func delete(_ type: String, _ id: String) throws(SluiceError) {
        identity.track("$ItemDelete", try Items.key(type, id))
    }

    private static func key(_ type: String, _ id: String) throws(SluiceError) -> Properties {
        try UserIDs.validate(type, "type of item")
        try UserIDs.validate(id, "item id")
        return ["$item_type": .string(type), "$item_id": .string(id)]
    }
}
