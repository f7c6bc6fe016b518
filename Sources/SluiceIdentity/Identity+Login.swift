public import Sluice

extension Identity {
    /// Names the user from now on. The same id again changes nothing; another one replaces it, and what was bound or
    /// joined for the former user is forgotten.
    ///
    /// The first login under an anonymous id tracks `$SignUp`, with that id as `$original_id`, by which a backend can
    /// join what was done before and after. It is owed until a pipeline has stored it: if the process ends here, or a
    /// filter drops it, for want of consent for example, it is tracked again when the app becomes active or enters the
    /// background, at the next `login`, or by the next launch. Of several that are owed, only the last one is.
    ///
    /// - Parameters:
    ///   - id: 1 to 255 characters, counted as Unicode scalars.
    ///   - properties: those of the `$SignUp`.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for an id that is blank, too long or has a NUL in it, and an error of the
    ///   file; the identity is then as it was.
    public func login(_ id: String, _ properties: Properties = [:]) throws(SluiceError) {
        try UserIDs.validate(id, "login id")
        // What is kept of it until it is tracked is nested deeper, and must be read back as it was.
        guard properties.nesting <= 24 else {
            throw SluiceError(.invalidArgument, "the properties of a login are nested in more than 24 levels")
        }
        try change { $0.logIn(id, properties) }
        trackOwedSignUp()
    }

    /// Forgets the login id, the bound ids and the groups; the anonymous id stays.
    ///
    /// - Throws: an error of the file; the identity is then as it was.
    public func logout() throws(SluiceError) {
        try change { $0.logOut() }
    }

    /// Says that the user is also known by another id: tracks `$Alias`, with it as `$alias`. Nothing here changes.
    ///
    /// - Parameter id: 1 to 255 characters.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for an id that is blank, too long or has a NUL in it.
    public func alias(_ id: String) throws(SluiceError) {
        try UserIDs.validate(id, "alias")
        track("$Alias", ["$alias": .string(id)])
    }

    /// Adds a further id of the user to every event, in the object `$identities`, and tracks `$BindID`. Another id of
    /// the same kind replaces it.
    ///
    /// - Parameters:
    ///   - kind: what the id is, such as `crm_id`; 1 to 255 characters, as is the id. At most 32 at a time.
    ///   - id: a value that does not change; a hash rather than a telephone number.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if one of them is blank, too long or has a NUL in it, or for a 33rd, and an
    ///   error of the file; the identity is then as it was.
    public func bind(_ kind: String, _ id: String) throws(SluiceError) {
        try UserIDs.validate(kind, "kind of id")
        try UserIDs.validate(id, "id to bind")
        let isNew = try change { (ids) throws(SluiceError) in
            ids.boundIDs[kind] = .string(id)
            try UserIDs.validate(ids.boundIDs.count, "bound ids")
        }
        if isNew { track("$BindID", ["$id_kind": .string(kind), "$id_value": .string(id)]) }
    }

    /// Removes a bound id, and tracks `$UnbindID`. Without effect if none of that kind is bound.
    ///
    /// - Throws: an error of the file; the identity is then as it was.
    public func unbind(_ kind: String) throws(SluiceError) {
        var old: PropertyValue?
        try change { ids in
            old = ids.boundIDs[kind]
            ids.boundIDs[kind] = nil
        }
        if let old { track("$UnbindID", ["$id_kind": .string(kind), "$id_value": old]) }
    }

    /// Says that the user acts for a group, such as a company: every event gets it in the object `$groups`. Another group of the same type
    /// replaces it.
    ///
    /// - Parameters:
    ///   - type: what the group is, such as `company`; 1 to 255 characters, as is the id. At most 32 at a time.
    ///   - id: the group's own.
    ///   - properties: what is to be known about the group; if there are any, or the group is another than before, this
    ///     tracks `$GroupIdentify`.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if one of them is blank, too long or has a NUL in it, or for a 33rd, and an
    ///   error of the file; the identity is then as it was.
    public func join(_ type: String, _ id: String, _ properties: Properties = [:]) throws(SluiceError) {
        try UserIDs.validate(type, "type of group")
        try UserIDs.validate(id, "group id")
        let isNew = try change { (ids) throws(SluiceError) in
            ids.groups[type] = .string(id)
            try UserIDs.validate(ids.groups.count, "groups")
        }
        guard isNew || !properties.isEmpty else { return }
        var event: Properties = ["$group_type": .string(type), "$group_key": .string(id)]
        if !properties.isEmpty { event["$group_set"] = .object(properties) }
        track("$GroupIdentify", event)
    }

    /// Says that the user acts for that group no more. Without effect if there is none of that type.
    ///
    /// - Throws: an error of the file; the identity is then as it was.
    public func leave(_ type: String) throws(SluiceError) {
        try change { $0.groups[type] = nil }
    }
}
