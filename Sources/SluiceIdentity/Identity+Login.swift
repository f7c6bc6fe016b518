public import Sluice

extension Identity {
    /// Sets the user's id for later events. A login with the current id changes nothing. Another id replaces it, and
    /// removes the bound ids and groups of the former user.
    ///
    /// ```swift
    /// let identity = Identity(persistedIn: .file(stateDirectory))
    /// try identity.login("customer-42", ["plan": "pro"])
    /// ```
    ///
    /// | login | tracks |
    /// |---|---|
    /// | the first one under an anonymous id | `$SignUp`, with the properties as `$set`: see ``Identity`` for the times at which it is repeated |
    /// | a later one, after a logout or in place of another user | `$SignUp` with `$switches_user`, and the properties as `$set` |
    /// | one of the current user, with properties | `$ProfileSet` |
    ///
    /// - Parameters:
    ///   - id: 1 to 255 characters, counted as Unicode scalars.
    ///   - properties: The properties of the person. A backend adds them to the person's profile. Super properties
    ///     don't become part of the profile.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for an id that is too long, contains NUL or stands for a
    ///   missing one, and an error of the place where the identity is kept; the identity is then as it was.
    public func login(_ id: String, _ properties: PropertyLiteral = [:]) throws(SluiceError) {
        let properties = properties.properties
        try UserIDs.validate(id, "login id")
        // Until they are tracked, they are stored in a deeper nesting, and must be read back unchanged.
        try SluiceError.require(
            properties.nesting <= 24, "the properties of a login are nested in more than 24 levels")
        let now = context.time.wallTime()
        var login = UserIDs.Login.nothing
        try change { login = $0.logIn(id, properties, event: (context.newEventID(at: now), now)) }
        if case .first(let signUp) = login { return signUps.track(signUp) }
        signUps.track()
        let traits: Properties = properties.isEmpty ? [:] : ["$set": .object(properties)]
        if case .later(let anonymousID) = login {
            // One event, as at the first login: the vendors' SDKs send one record for each.
            track("$SignUp", ["$original_id": .string(anonymousID), "$switches_user": true] + traits)
        } else if !traits.isEmpty {
            track("$ProfileSet", traits)
        }
    }

    /// Forgets the login id, the bound ids and the groups; the anonymous id stays.
    ///
    /// - Throws: An error of the place where the identity is kept; the identity is then as it was.
    public func logout() throws(SluiceError) {
        try change { $0.logOut() }
    }

    /// Tracks `$Alias`, for a user who is also known by another id. The identity doesn't change.
    ///
    /// - Parameter id: 1 to 255 characters.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for an id that is too long, contains NUL or stands for a
    ///   missing one.
    public func alias(_ id: String) throws(SluiceError) {
        try UserIDs.validate(id, "alias")
        track("$Alias", ["$alias": .string(id)])
    }

    /// Adds a further id of the user to every event, in the object `$identities`, and tracks `$BindID`. Another id of
    /// the same kind replaces it.
    ///
    /// ```swift
    /// try identity.bind("crm_id", to: "7781")
    /// ```
    ///
    /// - Parameters:
    ///   - kind: The kind of id, such as `crm_id`; 1 to 255 characters, like the id. At most 32 at a time.
    ///   - id: A value that doesn't change. Pass a hash rather than a telephone number.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if one of them is blank, too long or contains NUL, if the id
    ///   stands for a missing one, or for a 33rd kind, and an error of the place where the identity is kept; the identity is
    ///   then as it was.
    public func bind(_ kind: String, to id: String) throws(SluiceError) {
        try UserIDs.validate(name: kind, "kind of id")
        try UserIDs.validate(id, "bound id")
        let hasChanged = try change { (ids) throws(SluiceError) in
            ids.boundIDs[kind] = .string(id)
            try UserIDs.validate(ids.boundIDs.count, "bound ids")
        }
        if hasChanged { track("$BindID", ["$id_kind": .string(kind), "$id_value": .string(id)]) }
    }

    /// Removes a bound id, and tracks `$UnbindID`. Does nothing if no id of that kind is bound.
    ///
    /// - Parameter kind: The kind of id.
    /// - Throws: An error of the place where the identity is kept; the identity is then as it was.
    public func unbind(_ kind: String) throws(SluiceError) {
        var old: PropertyValue?
        try change { ids in
            old = ids.boundIDs[kind]
            ids.boundIDs[kind] = nil
        }
        if let old { track("$UnbindID", ["$id_kind": .string(kind), "$id_value": old]) }
    }

    /// Adds the user to a group, such as a company: every event gets it in the object `$groups`. Another group of the
    /// same type replaces it.
    ///
    /// ```swift
    /// try identity.join(group: "acme", ofType: "company", ["seats": 12])
    /// ```
    ///
    /// - Parameters:
    ///   - id: The group's id, such as `acme`; 1 to 255 characters, like the type.
    ///   - type: The type of group, such as `company`. At most 32 at a time.
    ///   - properties: Properties of the group itself. If there are any, or the group is another one than before, this
    ///     tracks `$GroupIdentify`.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if one of them is blank, too long or contains NUL, if the id
    ///   stands for a missing one, or for a 33rd type, and an error of the place where the identity is kept; the identity is
    ///   then as it was.
    public func join(
        group id: String, ofType type: String, _ properties: PropertyLiteral = [:]
    ) throws(SluiceError) {
        let properties = properties.properties
        try UserIDs.validate(name: type, "type of group")
        try UserIDs.validate(id, "group id")
        let hasChanged = try change { (ids) throws(SluiceError) in
            ids.groups[type] = .string(id)
            try UserIDs.validate(ids.groups.count, "groups")
        }
        guard hasChanged || !properties.isEmpty else { return }
        var event: Properties = ["$group_type": .string(type), "$group_key": .string(id)]
        if !properties.isEmpty { event["$group_set"] = .object(properties) }
        track("$GroupIdentify", event)
    }

    /// Removes the user from a group. Does nothing if the user is in no group of that type.
    ///
    /// - Parameter type: The type of group.
    /// - Throws: An error of the place where the identity is kept; the identity is then as it was.
    public func leave(_ type: String) throws(SluiceError) {
        try change { $0.groups[type] = nil }
    }
}
