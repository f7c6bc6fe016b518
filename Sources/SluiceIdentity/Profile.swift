public import Sluice

extension Identity {
    /// Verbs that track events about the user's profile.
    public var profile: Profile { Profile(identity: self) }

    /// Tracks `$ItemSet`: properties of a thing that users deal with, such as a product, as `$item`.
    ///
    /// - Parameters:
    ///   - type: The type of item, such as `book`; 1 to 255 characters, like the id.
    ///   - id: The item's id, unique among the items of its type.
    ///   - properties: The item's properties.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if the type or the id is blank, too long or contains NUL.
    public func setItem(_ type: String, _ id: String, _ properties: PropertyLiteral) throws(SluiceError) {
        var event = try Properties(item: type, id)
        event["$item"] = .object(properties.properties)
        track("$ItemSet", event)
    }

    /// Tracks `$ItemDelete`: the item no longer exists.
    ///
    /// - Parameters:
    ///   - type: The type of item.
    ///   - id: The item's id, unique among the items of its type.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if the type or the id is blank, too long or contains NUL.
    public func deleteItem(_ type: String, _ id: String) throws(SluiceError) {
        track("$ItemDelete", try Properties(item: type, id))
    }
}

extension Properties {
    fileprivate init(item type: String, _ id: String) throws(SluiceError) {
        try UserIDs.validate(name: type, "type of item")
        // A thing may be called `0` or `none`: its id joins no persons.
        try UserIDs.validate(name: id, "item id")
        self = ["$item_type": .string(type), "$item_id": .string(id)]
    }
}

/// Verbs about the user of an ``Identity``. Each tracks one event, which a backend applies to the user's profile.
///
/// ```swift
/// let identity = Identity(persistedIn: .file(stateDirectory))
/// let profile = identity.profile
/// profile.set(["plan": "pro", "language": "de"])
/// try profile.increment(["logins": 1])
/// ```
///
/// The profile's properties are in an object of their own. They don't mix with the properties that plugins add to every
/// event. The profile itself is not kept on the device.
public struct Profile: Sendable {
    let identity: Identity

    /// Sets properties of the user: `$ProfileSet`, with `$set`.
    ///
    /// - Parameter properties: The properties to set.
    public func set(_ properties: PropertyLiteral) {
        identity.track("$ProfileSet", ["$set": .object(properties.properties)])
    }

    /// Sets the properties that the user doesn't have yet: `$ProfileSetOnce`, with `$set_once`.
    ///
    /// ```swift
    /// profile.setOnce(["first_product": "A-7"])
    /// ```
    ///
    /// - Parameter properties: The properties to set.
    public func setOnce(_ properties: PropertyLiteral) {
        identity.track("$ProfileSetOnce", ["$set_once": .object(properties.properties)])
    }

    /// Adds to numbers of the user: `$ProfileIncrement`, with `$increment`.
    ///
    /// ```swift
    /// try profile.increment(["orders": 1, "spent": 12.5])
    /// ```
    ///
    /// - Parameter amounts: The numbers to add.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if one of the amounts is not a number; nothing is tracked
    ///   then.
    public func increment(_ amounts: PropertyLiteral) throws(SluiceError) {
        let amounts = amounts.properties
        for amount in amounts {
            try SluiceError.require(
                amount.value.double != nil, "the increment of \"\(amount.name)\" is not a number: pass one")
        }
        identity.track("$ProfileIncrement", ["$increment": .object(amounts)])
    }

    /// Appends to lists of the user: `$ProfileAppend`, with `$append`.
    ///
    /// ```swift
    /// profile.append(["interests": "shoes", "sizes": [42, 43]])
    /// ```
    ///
    /// - Parameter values: The values to append. A single value is a list of one.
    public func append(_ values: PropertyLiteral) {
        let lists = values.properties.map { ($0.name, PropertyValue.array($0.value.array ?? [$0.value])) }
        identity.track("$ProfileAppend", ["$append": .object(Properties(lists))])
    }

    /// Removes properties of the user: `$ProfileUnset`, with `$unset`.
    ///
    /// ```swift
    /// profile.unset("plan", "language")
    /// ```
    ///
    /// - Parameter names: The names of the properties.
    public func unset(_ names: String...) { unset(names) }

    /// Removes properties of the user whose names you have in an array: `$ProfileUnset`, with `$unset`.
    ///
    /// ```swift
    /// let names = ["plan", "language"]
    /// profile.unset(names)
    /// ```
    ///
    /// - Parameter names: The names of the properties.
    public func unset(_ names: [String]) {
        identity.track("$ProfileUnset", ["$unset": .array(PropertyArray(names.map { .string($0) }))])
    }

    /// Removes the whole profile: `$ProfileDelete`.
    public func delete() {
        identity.track("$ProfileDelete")
    }
}
