import SluiceFilters
import TestSupport
import Testing

/// The presets of `Limits`: events that pass, are cut, dropped or set aside.
@Suite struct PresetTests {
    private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    @Test("App Center's limits cut names and values, and keep the first 20 properties")
    func appCenterCutsNamesAndValues() throws {
        let limits = Limits(.appCenter)
        var properties = Properties((0..<21).map { ("p\($0)", .int($0)) })
        properties["p0"] = .string(Self.text(126))
        let event = try #require(limits.processed(Self.text(257), properties))
        #expect(event.name.count == 256)
        #expect(event.properties.count == 20 && event.properties["p20"] == nil)
        #expect(event.properties["p0"] == .string(Self.text(125)))
        #expect(Set(event.reportedSanitizations) == [.truncatedName, .droppedProperty, .truncatedString])
        let named = try #require(limits.processed("Event", [Self.text(126): 1]))
        #expect(named.properties == [Self.text(125): 1])
        let fine = try #require(limits.processed(Self.text(256), [Self.text(125): .string(Self.text(125))]))
        #expect(fine.reportedSanitizations.isEmpty)
    }

    @Test("events with new names are dropped after 200 names, and known names still pass")
    func appCenterDropsFurtherNames() async throws {
        let test = try TestPipeline { Limits(.appCenter) }
        for round in 1...2 {
            for number in 0...200 { test.pipeline.track("Event \(number)", ["round": .int(round)]) }
        }
        #expect(test.pipeline.ledger.dropped == [.tooManyEventNames: 2])
        #expect(await test.events().count == 400)
    }

    @Test("App Center's limit of a text is 125 UTF-16 code units, and no character is cut apart")
    func appCenterCutsBetweenCharacters() throws {
        // A family of four is 11 units.
        let family = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}\u{200D}\u{1F466}"
        for (text, count) in [("\u{1F600}", 62), (family, 11)] {
            let long = String(repeating: text, count: 200)
            let event = try #require(Limits(.appCenter).processed("Event", ["a": .string(long)]))
            #expect(event.properties == ["a": .string(String(repeating: text, count: count))])
        }
        let endless = PropertyValue.string("\u{1F468}" + String(repeating: "\u{200D}\u{1F469}", count: 200))
        let cut = try #require(Limits(.appCenter).processed("Event", ["a": endless])?.properties["a"]?.string)
        #expect(cut.utf16.count <= 125 && cut.unicodeScalars.last == "\u{1F469}")
        let name = String(repeating: "\u{1F600}", count: 200)
        let named = try #require(Limits(.appCenter).processed("Event", [name: 1]))
        #expect(named.properties.map(\.name.utf16.count) == [124])
    }

    @Test("names that begin with a dollar don't count among App Center's 200, and always pass")
    func appCenterDoesNotCountPluginNames() async throws {
        let test = try TestPipeline { Limits(.appCenter) }
        for number in 0..<300 { test.pipeline.track("$Plugin \(number)") }
        for number in 0..<200 { test.pipeline.track("Event \(number)") }
        for name in ["$AppEnd", "$SessionEnd", "$AppViewScreen"] { test.pipeline.track(name) }
        test.pipeline.track("Event 200")
        #expect(test.pipeline.ledger.dropped == [.tooManyEventNames: 1])
        #expect(await test.events().count == 503)
    }

    @Test("App Center leaves out properties without a name and values that aren't scalars, before it counts to 20")
    func appCenterLeavesOutNestedValues() throws {
        let limits = Limits(.appCenter)
        var properties: Properties = ["": 1, "object": ["a": 1], "list": ["a", "b"], "$set": ["plan": "pro"]]
        for number in 0..<19 { properties["p\(number)"] = .int(number) }
        let event = try #require(limits.processed("Event", properties))
        #expect(event.properties.map(\.name) == ["$set"] + (0..<19).map { "p\($0)" })
        #expect(event.reportedSanitizations.allSatisfy { $0 == .droppedProperty })
        #expect(try #require(limits.processed("Event", ["": 1])).properties.isEmpty)
        #expect(try #require(limits.processed("Event", ["a": .null, "b": true])).properties.count == 2)
    }

    @Test("with a persistence, the 200 names are those of the installation")
    func namesAreCountedAcrossLaunches() async throws {
        let directory = TemporaryDirectory()
        func launch(_ numbers: Range<Int>) async throws -> Ledger {
            let limits = Limits(.appCenter, persistedIn: .file(directory.path))
            let test = try TestPipeline { limits }
            for number in numbers { test.pipeline.track("Event \(number)") }
            await limits.finish()
            _ = await test.events()
            return test.pipeline.ledger
        }
        #expect(try await launch(0..<150).dropped.isEmpty)
        #expect(try await launch(100..<210).dropped == [.tooManyEventNames: 10])
        #expect(try await launch(0..<202).dropped == [.tooManyEventNames: 2])
        #expect(!directory.names.contains("event-names.json.corrupt"))
    }

    // `SensorsNameTests` has all names of the vendor, in every place.
    @Test(
        "Sensors' event names have up to 100 letters, digits, underscores and dollars, and don't begin with a digit",
        arguments: [
            ("Purchase_2", nil), ("$AppStart", nil), ("$event", nil), ("", .invalidName), ("2nd", .invalidName),
            ("a-b", .invalidName), ("Event", .reservedName), ("user_tag_x", .reservedName), (text(100), nil),
            (text(101), .eventNameTooLong),
        ] as [(String, DropReason?)])
    func sensorsLimitsEventNames(name: String, reason: DropReason?) {
        var event = Event.named(name)
        #expect(Limits(.sensors).process(&event) == reason.map { .drop($0) } ?? .keep)
    }

    @Test(
        "Sensors' properties with invalid or reserved names are left out and counted",
        arguments: [
            ("fine", true), ("$os", true), ("not fine", false), ("Time", false), ("USER_GROUP_a", false),
            ("$original_id", true), ("$time_correction", true), (text(100), true), (text(101), false),
        ])
    func sensorsLeavesOutInvalidNames(name: String, stays: Bool) throws {
        let event = try #require(Limits(.sensors).processed("Seen", [name: 1, "other": 2]))
        #expect(event.properties == (stays ? [name: 1, "other": 2] : ["other": 2]))
        #expect(event.reportedSanitizations == (stays ? [] : [.droppedProperty]))
    }

    @Test("a host can reserve names and prefixes without a rule for characters")
    func hostReservesNamesAndPrefixes() async throws {
        var rules = Limits()
        rules.reservedNames = ["Secret", "tmp_*"]
        let test = try TestPipeline { Limits(rules) }
        test.pipeline.track("Event", ["SECRET": 1, "Tmp_x": 2, "tmp": 3, "with space": 4])
        test.pipeline.track("Secret")
        #expect(test.pipeline.ledger.dropped == [.reservedName: 1])
        #expect(test.pipeline.ledger.sanitized == [.droppedProperty: 1])
        let events = await test.events()
        #expect(events.map(\.name) == ["Event"])
        #expect(events[0].properties == ["tmp": 3, "with space": 4])
    }

    @Test("a change of a profile loses its forbidden members only, in App Center's limits too")
    func appCenterKeepsChanges() throws {
        let limits = Limits(.appCenter)
        let long = String(repeating: "x", count: 130)
        let changes: Properties = [
            "plan": "pro", "nested": ["a": 1], "tags": ["a"], "mixed": [1], "": 1, long: .string(long),
        ]
        let event = try #require(limits.processed("$ProfileSet", ["$set": .object(changes)]))
        let cut = String(long.prefix(125))
        #expect(event.properties == ["$set": ["plan": "pro", "tags": ["a"], cut: .string(cut)]])
        #expect(Set(event.reportedSanitizations) == [.droppedProperty, .cutPropertyName, .truncatedString])
        let unset = try #require(limits.processed("$ProfileUnset", ["$unset": ["plan", .string(long), ""]]))
        #expect(unset.properties == ["$unset": ["plan", .string(cut)]])
    }

    @Test(
        "the name that a backend sees is checked: a member's own in the event of its verb, otherwise one with a prefix",
        arguments: [
            ("$ProfileSet", "$set", 100), ("$SignUp", "$set", 100), ("$ProfileSetOnce", "$set_once", 100),
            ("$ProfileIncrement", "$increment", 100), ("$ProfileAppend", "$append", 100), ("$ItemSet", "$item", 100),
            ("E", "$set", 96), ("E", "$append", 93), ("$ItemSet", "$set", 96), ("$AppStart", "$increment", 90),
            ("E", "$identities", 100), ("$ItemSet", "$identities", 100), ("E", "$groups", 93), ("E", "$own", 96),
        ])
    func writtenNameIsChecked(event: String, object: String, longest: Int) throws {
        for (name, isOwn) in [("id", true), (Self.text(longest), false), (Self.text(longest + 1), nil)] {
            let members: Properties = [name: "1", "good": "2"]
            let stays = isOwn.map { longest < 100 || !$0 } ?? false
            let found = try #require(Limits(.sensors).processed(event, [object: .object(members)])).properties
            #expect(found == [object: stays ? .object(members) : ["good": "2"]], "\(name)")
        }
    }

    @Test(
        "names in a list and in a text are checked in the event of their verb only",
        arguments: [
            ("$ProfileUnset", "$unset", ["id", "plan"], ["plan"]), ("E", "$unset", ["id", "plan"], ["id", "plan"]),
            ("$ItemDelete", "$item_type", "my type", nil), ("E", "$item_type", "my type", "my type"),
            ("$BindID", "$id_kind", "2nd", nil), ("$ItemSet", "$id_kind", "2nd", "2nd"),
        ] as [(String, String, PropertyValue, PropertyValue?)])
    func namesOfVerbsAreChecked(event: String, name: String, value: PropertyValue, expected: PropertyValue?) {
        #expect(Limits(.sensors).processed(event, [name: value])?.properties == expected.map { [name: $0] })
    }

    @Test(
        "a forbidden type of groups is left out, whatever the rule, because every later event has it",
        arguments: [.cut, .dropProperty, .dropEvent, .setAside] as [Limits.Rule], ["$groups", "$identities"])
    func forbiddenTypeIsLeftOut(rule: Limits.Rule, object: String) throws {
        var rules = Limits(propertyName: rule == .cut ? .cut(to: 20) : .setAside(over: 20))
        rules.names = rule
        rules.reservedNames = ["id", "groups_id"]
        let kinds: Properties = ["my-co": "a", "company": "b", "id": "c", Self.text(21): "d", "list": [["a": 1]]]
        rules.nesting = rule
        let event = try #require(Limits(rules).processed("Event", [object: .object(kinds), "n": 1]))
        #expect(event.properties == [object: ["company": "b"], "n": 1])
        #expect(Set(event.reportedSanitizations) == [.droppedProperty])
    }

    @Test(
        "Sensors takes scalars, dates and lists of strings",
        arguments: [
            ("text", true), (1, true), (1.5, true), (true, true), (nil, true), (["a", "b"], true), ([], true),
            (["a", 1], false), ([["a"]], false), (["a": 1], false), ([["a": 1]], false),
        ] as [(PropertyValue, Bool)])
    func sensorsLimitsValueTypes(value: PropertyValue, stays: Bool) throws {
        let properties: Properties = ["p": value, "d": .date(Timestamp(milliseconds: 0))]
        let event = try #require(Limits(.sensors).processed("Seen", properties))
        #expect(event.properties["p"] == (stays ? .some(value) : .none))
        #expect(event.properties["d"] == .date(Timestamp(milliseconds: 0)))
    }

    @Test("Sensors' strings are cut to 8,191 characters, in lists too")
    func sensorsCutsStrings() throws {
        let long = PropertyValue.string(Self.text(8_192))
        let event = try #require(Limits(.sensors).processed("Seen", ["s": long, "l": ["a", long]]))
        let cut = PropertyValue.string(Self.text(8_191))
        #expect(event.properties == ["s": cut, "l": ["a", cut]])
        #expect(event.reportedSanitizations == [.truncatedString])
    }

    @Test(
        "an event that is set aside reaches the host unchanged, and is counted by its reason",
        arguments: [
            ("2nd", [:], .invalidName), ("Long name", [:], .invalidName), ("Longname", [:], .eventNameTooLong),
            ("E", ["a b": 1], .invalidName), ("E", ["id": 1], .reservedName), ("E", ["o": ["a": 1]], .nestedValue),
            ("E", ["$o": ["a": ["b": 1]]], .nestedValue), ("E", ["$o": [["a": 1]]], .nestedValue),
            ("E", ["longname": 1], .propertyNameTooLong), ("E", ["s": "longtext"], .stringTooLong),
            ("E", ["a": 1, "b": 2, "c": 3], .tooManyProperties),
        ] as [(String, Properties, DropReason)])
    func setAsideEventReachesHost(name: String, properties: Properties, reason: DropReason) async throws {
        var rules = Limits.sensors
        rules.eventName = .setAside(over: 4)
        rules.propertyName = .setAside(over: 4)
        rules.string = .setAside(over: 4)
        rules.properties = .setAside(over: 2)
        rules.names = .setAside
        rules.nesting = .setAside
        let aside = Locked<[(Event, DropReason)]>([])
        let test = try TestPipeline {
            Limits(rules) { event, reason in aside.withLock { $0.append((event, reason)) } }
        }
        test.pipeline.track(name, properties)
        test.pipeline.track("Fine", ["a": 1])
        let found = aside.withLock { $0 }
        #expect(found.map(\.0.name) == [name] && found.map(\.0.properties) == [properties])
        #expect(found.map(\.1) == [reason])
        #expect(test.pipeline.ledger.dropped == [reason: 1])
        #expect(try await test.event().name == "Fine")
    }

    @Test("an event that is set aside for its properties has its whole name")
    func setAsideEventKeepsName() {
        let names = Locked<[String]>([])
        let limits = Limits(Limits(eventName: .cut(to: 4), properties: .setAside(over: 0))) { event, _ in
            names.withLock { $0.append(event.name) }
        }
        #expect(limits.processed("Longname", ["a": 1]) == nil && names.withLock(\.self) == ["Longname"])
    }

    @Test("custom rules start from nothing or from a preset")
    func customRulesStartFromPreset() throws {
        let properties = ["any name": ["deep": [1, ["x": 2]]]] + Properties((0..<1_000).map { ("\($0)", .int($0)) })
        #expect(try #require(Limits(Limits()).processed("Any name", properties)).properties == properties)
        var rules = Limits.appCenter
        rules.properties = nil
        let many = Properties((0..<30).map { ("p\($0)", .int($0)) })
        #expect(try #require(Limits(rules).processed("Event", many)).properties.count == 30)
    }
}
