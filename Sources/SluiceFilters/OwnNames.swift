import Sluice

/// The properties of `Identity` and `Revenue` that hold ids and names. They are properties of an event itself, and mean
/// nothing within an object.
///
/// An id that is shortened, or replaced by a mark that others get too, is the id of other people. So filters keep it,
/// or replace it by another one that is as distinct.
enum OwnNames {
    /// Ids of people and groups: a text, or an object of them by their kinds, which is in every event.
    static let people: NameSet = ["$alias", "$original_id", "$id_value", "$group_key", "$identities", "$groups"]

    /// Ids of things, and the kinds of ids.
    static let things: NameSet = [
        "$item_id", "$product_id", "order_id", "$item_type", "$group_type", "$id_kind",
    ]

    /// Objects whose members have values of one type, which the change of a profile needs.
    static let typed: NameSet = ["$increment", "$append"]

    /// The properties whose contents are names for a backend, by the event that has them: the members of an object, the
    /// elements of a list, or a text. In other events, wire formats write the members of an object under its own name,
    /// such as `set_plan`.
    static let names: [String: NameSet] = [
        "$SignUp": ["$set"], "$ProfileSet": ["$set"], "$ProfileSetOnce": ["$set_once"],
        "$ProfileIncrement": ["$increment"],
        "$ProfileAppend": ["$append"], "$ProfileUnset": ["$unset"], "$ItemSet": ["$item", "$item_type"],
        "$ItemDelete": ["$item_type"], "$BindID": ["$id_kind"], "$UnbindID": ["$id_kind"],
    ]

    static func isID(_ name: String) -> Bool { people.contains(name) || things.contains(name) }
}
