import SluiceIdentity
import SluiceTesting
import TestSupport
import Testing

@Suite("A placeholder is no id, wherever an id can be set")
struct MissingIDTests {
    private static let placeholders = [
        "", "-", " \t", "\u{200B}", "null", "undefined", "NaN", "[object Object]", "0",
        "00000000-0000-0000-0000-000000000000", "None", "N/A", "-1", "<nil>", "anonymous", "[email]", "\u{3164}",
        "\u{201C}null\u{201D}", "object: null", " -1", "%{user_id}",
    ]

    /// Blank, with a NUL, or too long. A character can have several bytes.
    private static let invalid = [
        " ", "\t\n", "\u{A0}\u{2003}", "\u{200B}\u{FEFF}", "\u{1}", "\u{0}", "a\u{0}", "\u{0}b",
        String(repeating: "x", count: 256), String(repeating: "😀", count: 256),
        String(repeating: "x", count: 1_000_000), String(repeating: "e\u{301}", count: 128),
    ]

    @Test(
        "each verb of an identity refuses it, like any invalid id, and nothing changes",
        arguments: placeholders + invalid)
    func verbsRefuse(id: String) async throws {
        // The next source is asked.
        let sources = [AnonymousIDSource { id }, AnonymousIDSource { "good" }]
        let identity = Identity(persistedIn: .memory, anonymousIDFrom: sources)
        #expect(identity.anonymousID == "good")
        let test = try TestPipeline { identity }
        var verbs: [() throws -> Void] = [
            { try identity.login(id) }, { try identity.setAnonymousID(id) }, { try identity.alias(id) },
            { try identity.bind("email", to: id) }, { try identity.join(group: id, ofType: "company") },
        ]
        // A name of a kind or of a thing can be a placeholder.
        if id.isBlank || Self.invalid.contains(id) {
            verbs += [
                { try identity.bind(id, to: "a") }, { try identity.join(group: "a", ofType: id) },
                { try identity.setItem(id, "a", [:]) }, { try identity.deleteItem(id, "a") },
                { try identity.setItem("book", id, ["title": "x"]) }, { try identity.deleteItem("book", id) },
            ]
        }
        for verb in verbs {
            let error = #expect(throws: SluiceError.self) { try verb() }
            #expect(error?.code == .invalidArgument)
        }
        #expect(identity.distinctID == "good" && identity.boundIDs.isEmpty && identity.groups.isEmpty)
        #expect(await test.events().isEmpty)
    }

    @Test(
        "the name of a kind of ids, of groups or of items, and the id of an item, isn't an id of a person",
        arguments: ["email", "id", "none", "0", "null", "-1"])
    func namesAreAllowed(name: String) async throws {
        let identity = Identity(persistedIn: .memory)
        let test = try TestPipeline { identity }
        try identity.bind(name, to: "a")
        try identity.join(group: "b", ofType: name)
        try identity.setItem(name, "c", [:])
        try identity.setItem("book", name, [:])
        try identity.deleteItem("book", name)
        #expect(identity.boundIDs == [name: "a"] && identity.groups == [name: "b"])
        let items = await test.events().compactMap { $0.properties["$item_id"]?.string }
        #expect(items == ["c", name, name])
    }

    @Test("a scope, a configured event, a transform and a plugin's event are counted", arguments: placeholders)
    func eventsAreCounted(id: String) async throws {
        let test = try TestPipeline {
            UserScope()
            Transform { if $0.name == "Transformed" { $0.loginID = id } }
            Inserter { $0.anonymousID = "0" }
        }
        UserScope.with(distinctID: id) { _ = test.pipeline.track("Scope") }
        test.pipeline.track("Configured") { ($0.distinctID, $0.anonymousID, $0.loginID) = (id, id, id) }
        test.pipeline.track("Replaced") {
            $0 = Event(id: $0.id, name: $0.name, time: $0.time, distinctID: id, loginID: "b")
        }
        test.pipeline.track("Transformed")
        await test.pipeline.flush()
        #expect(test.pipeline.ledger.sanitized == [.droppedID: 8])
        let events = await test.events()
        let names = ["Scope", "Configured", "Replaced", "Transformed"]
        #expect(events.map(\.name) == names.flatMap { ["Inserted", $0] })
        #expect(events.allSatisfy { $0.distinctID == nil && $0.anonymousID == nil })
        #expect(events.filter { $0.name != "Inserted" }.map(\.loginID) == [nil, nil, "b", nil])
    }

    @Test(
        "an event that loses its own id is no one's: neither a scope nor an identity gives its ids to it, or to events of it",
        arguments: placeholders + invalid)
    func refusedIDIsNoOnes(id: String) async throws {
        let test = try TestPipeline {
            UserScope()
            Inserter({ _ in }, { $0.loginID = "undefined" })
            try Identity.loggedIn("customer-42")
        }
        let changes: [(inout Event) -> Void] = [
            { $0.loginID = id }, { $0.distinctID = id }, { $0.anonymousID = id },
            { $0 = Event(id: $0.id, name: $0.name, time: $0.time, loginID: id) },
        ]
        for change in changes {
            test.pipeline.track("Event", configure: change)
            UserScope.with(loginID: "alice", properties: ["route": "/x"]) {
                _ = test.pipeline.track("In scope", configure: change)
            }
        }
        test.pipeline.track("Other id") { ($0.loginID, $0.anonymousID) = (id, "a") }
        let events = await test.events()
        let (others, none) = (events.suffix(3), events.dropLast(3))
        #expect(none.count == 24)
        #expect(none.allSatisfy { $0.distinctID == nil && $0.loginID == nil && $0.anonymousID == nil })
        #expect(none.allSatisfy { $0.properties["route"] == ($0.name == "In scope" ? "/x" : nil) })
        #expect(others.map(\.anonymousID) == ["a", "a", "a"] && others.allSatisfy { $0.loginID == nil })
        #expect(test.pipeline.ledger.sanitized == [.droppedID: 18])
    }

    @Test(
        "one that an earlier version has stored isn't used, and is reported once",
        arguments: placeholders + [String(repeating: "x", count: 256), "a\0b"])
    func storedPlaceholdersAreReplaced(id: String) throws {
        for (anonymousID, loginID, bound, group) in [
            (id, id, "b-1", "g-1"), (id, "customer-42", id, "g-1"), ("a-1", id, "b-1", id),
            ("a-1", "customer-42", id, "g-1"), ("a-1", "customer-42", "b-1", id), ("a-1", id, "b-1", "g-1"),
        ] {
            let directory = TemporaryDirectory()
            let object: Properties = [
                "anonymous_id": .string(anonymousID), "login_id": .string(loginID),
                "bound_ids": ["crm_id": .string(bound), "email": "b-2"],
                "groups": ["team": "g-2", "company": .string(group)],
            ]
            let ids = "\(object)"
            let checksum = String(FNV1a(ids.utf8).value, radix: 16)
            try directory.write(
                Array(#"{"identity":\#(ids),"checksum":"\#(checksum)"}"#.utf8), to: "identity.json")
            var found: [String?] = []
            for launch in 1...2 {
                let identity = Identity(persistedIn: .file(directory.path))
                let test = try TestPipeline { identity }
                #expect(test.diagnostics.count == (launch == 1 ? 1 : 0))
                #expect(identity.loginID == (loginID == id ? nil : loginID))
                // Without the user, the bound ids and groups are no one's.
                var (boundIDs, groups) = (identity.boundIDs, identity.groups)
                if loginID != id {
                    #expect(boundIDs == (bound == id ? ["email": "b-2"] : ["crm_id": "b-1", "email": "b-2"]))
                    #expect(groups == (group == id ? ["team": "g-2"] : ["team": "g-2", "company": "g-1"]))
                    (boundIDs, groups) = ([:], [:])
                }
                #expect(boundIDs.isEmpty && groups.isEmpty)
                found.append(identity.anonymousID)
            }
            #expect(found[0] == found[1] && (found[0] == "a-1") == (anonymousID == "a-1") && found[0] != id)
        }
    }

    /// Ids that look the same and have other bytes.
    private static let spellings = [
        ("caf\u{E9}", "cafe\u{301}"), ("cafe\u{301}", "caf\u{E9}"), ("\u{212B}", "\u{C5}"), ("A\u{30A}", "\u{C5}"),
        ("\u{1E9B}\u{323}", "\u{17F}\u{323}\u{307}"), ("\u{AC00}", "\u{1100}\u{1161}"),
        ("q\u{323}\u{307}", "q\u{307}\u{323}"), ("\u{2126}", "\u{3A9}"), ("x\u{340}", "x\u{300}"),
        ("\u{F900}", "\u{8C48}"), ("\u{958}", "\u{915}\u{93C}"), ("u1-\u{F1}", "u1-n\u{303}"), ("\u{1F71}", "\u{3AC}"),
    ]

    @Test(
        "ids are compared by their bytes: another spelling of an id is another id, also on disk", arguments: spellings)
    func idsAreBytes(first: String, second: String) async throws {
        #expect(first == second && !first.utf8.elementsEqual(second.utf8))
        func has(_ id: String?, _ bytes: String) -> Bool { id.map { $0.utf8.elementsEqual(bytes.utf8) } ?? false }
        let directory = TemporaryDirectory()
        let identity = Identity(persistedIn: .file(directory.path))
        let test = try TestPipeline { identity }
        try identity.login(first)
        try identity.bind("crm_id", to: first)
        try identity.bind("crm_id", to: second)
        try identity.login(second)
        #expect(has(identity.loginID, second) && identity.boundIDs.isEmpty)
        try identity.join(group: first, ofType: "company")
        try identity.join(group: second, ofType: "company")
        try identity.setAnonymousID(first)
        try identity.setAnonymousID(second)
        test.pipeline.track("Event")
        let events = await test.events()
        #expect(
            events.map(\.name) == [
                "$SignUp", "$BindID", "$BindID", "$SignUp", "$GroupIdentify", "$GroupIdentify", "Event",
            ])
        #expect(events[3].properties["$switches_user"] == true)
        #expect(has(events.last?.distinctID, second) && has(events.last?.anonymousID, second))
        let next = Identity(persistedIn: .file(directory.path))
        #expect(has(next.loginID, second) && has(next.anonymousID, second))
        #expect(has(next.groups["company"]?.string, second))
    }
}
