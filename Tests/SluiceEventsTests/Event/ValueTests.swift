import Foundation
import SluiceTesting
import Testing

@testable import SluiceEvents

@Suite("Reading, hashing, coding and printing values")
struct ValueTests {
    static let moment = Timestamp(milliseconds: 1_800_000_000_123)
    static let everything: Properties = [
        "s": "x", "i": -1, "d": 1.5, "b": true, "n": nil, "t": .date(moment), "a": [1, "x", [2]],
        "o": ["k": ["l": 0.5]],
    ]

    @Test("an accessor returns the value of its case, and nil for all others")
    func accessorsReturnTheirCase() {
        let values = ValueTests.everything
        #expect(values.map(\.value.string) == ["x", nil, nil, nil, nil, nil, nil, nil])
        #expect(values.map(\.value.int) == [nil, -1, nil, nil, nil, nil, nil, nil])
        #expect(values.map(\.value.double) == [nil, -1, 1.5, nil, nil, nil, nil, nil])
        #expect(values.map(\.value.bool) == [nil, nil, nil, true, nil, nil, nil, nil])
        #expect(values.map(\.value.date) == [nil, nil, nil, nil, nil, ValueTests.moment, nil, nil])
        #expect(values.map { $0.value.array?.count } == [nil, nil, nil, nil, nil, nil, 3, nil])
        #expect(values.map { $0.value.object?.count } == [nil, nil, nil, nil, nil, nil, nil, 1])
        #expect(values["o"]?.object?["k"]?.object?["l"]?.double == 0.5)
    }

    @Test("equal values have equal hashes, whatever the order of their properties", arguments: 0..<50)
    func equalValuesHashEqually(seed: Int) {
        var random = RandomEvents(seed: UInt64(seed))
        let event = random.next()
        var generator = SeededRandom(seed: UInt64(seed))
        let shuffled = Properties(event.properties.shuffled(using: &generator))
        #expect(shuffled == event.properties && shuffled.hashValue == event.properties.hashValue)
        #expect(event.properties.shared().hashValue == event.properties.hashValue)
        #expect(Set([PropertyValue.object(shuffled), .object(event.properties)]).count == 1)
        var copy = event
        copy.properties = shuffled
        #expect(Set([event, copy]).count == 1)
        copy.properties.append(Property("more", 1))
        #expect(Set([event, copy]).count == 2)
    }

    @Test("events whose ids have other bytes are different")
    func eventsCompareBytesOfIDs() {
        for id in [\Event.distinctID, \.anonymousID, \.loginID] as [WritableKeyPath<Event, String?>] {
            var event = Event(name: "Event")
            let events = [nil, "\u{212B}", "\u{C5}"].map { text in
                event[keyPath: id] = text
                return event
            }
            #expect(Set(events).count == 3)
        }
    }

    @Test("different values rarely have equal hashes")
    func differentValuesHashDifferently() {
        let values: [Properties] = [
            [:], ["a": 1], ["a": 2], ["b": 1], ["a": 1, "b": 2], ["a": 2, "b": 1], ["a": [1]], ["a": ["a": 1]],
            ["a": "1"],
        ]
        #expect(Set(values.map(\.hashValue)).count == values.count)
    }

    // MARK: Codable

    @Test("events come back from Foundation's JSON, with the keys of their lines")
    func eventsComeBack() throws {
        let event = Event(
            id: EventID(high: 1, low: 2), name: "E", time: ValueTests.moment, priority: .critical, distinctID: "d",
            anonymousID: "a", loginID: "l", properties: ValueTests.everything)
        let json = try JSONEncoder().encode(event)
        #expect(try JSONDecoder().decode(Event.self, from: json) == event)
        let object = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        #expect(
            object.keys.sorted() == [
                "anonymous_id", "distinct_id", "event", "id", "login_id", "priority", "properties", "time",
            ])
        // The line has the same keys.
        #expect(try JSONDecoder().decode(Event.self, from: Data(EventLine(event).bytes)) == event)
        let plain = Event(id: EventID(high: 1, low: 2), name: "E", time: ValueTests.moment)
        #expect(try JSONDecoder().decode(Event.self, from: JSONEncoder().encode(plain)) == plain)
    }

    @Test(
        "a wrong document is an error",
        arguments: [
            "{}", "[]", #"{"id":"x","event":"E","time":0}"#,
            #"{"id":"01a2007f-e003-76db-bccb-b2a529cd75a3","event":"E","time":0,"priority":"urgent"}"#,
            #"{"id":"01a2007f-e003-76db-bccb-b2a529cd75a3","event":"E","time":0,"properties":[]}"#,
            #"{"id":"01a2007f-e003-76db-bccb-b2a529cd75a3","event":"E","time":"0"}"#,
        ])
    func wrongDocumentIsError(json: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Event.self, from: Data(json.utf8)) }
    }

    @Test("a decoded list is sorted by name, and sanitized")
    func decodedListIsSorted() throws {
        let long = String(repeating: "x", count: PropertyValue.maximumStringBytes + 1)
        let json = #"{"b":1,"a":"\#(long)","c":{"d":[null,false]}}"#
        let properties = try JSONDecoder().decode(Properties.self, from: Data(json.utf8))
        #expect(properties.map(\.name) == ["a", "b", "c"])
        #expect(properties["a"]?.string?.utf8.count == PropertyValue.maximumStringBytes)
        #expect(properties.bounds.sanitizations == .truncatedString)
        #expect(properties["c"] == ["d": [nil, false]])
    }

    @Test("a document that is nested too deeply is an error")
    func deepDocumentIsError() {
        let json = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(PropertyValue.self, from: Data(json.utf8)) }
    }

    @Test("single values come back", arguments: ["x", -1, 1.5, true, .null, .date(moment), [], [:]] as [PropertyValue])
    func singleValuesComeBack(value: PropertyValue) throws {
        let json = try JSONEncoder().encode(["v": value])
        #expect(try JSONDecoder().decode([String: PropertyValue].self, from: json) == ["v": value])
    }

    // MARK: For people

    @Test("descriptions are JSON with plain dates")
    func descriptionsAreJSON() throws {
        let properties = ValueTests.everything
        let json =
            #"{"s":"x","i":-1,"d":1.5,"b":true,"n":null,"t":"2027-01-15T08:00:00.123Z","a":[1,"x",[2]],"o":{"k":{"l":0.5}}}"#
        #expect("\(properties)" == json && "\(properties.shared())" == json)
        #expect("\(PropertyValue.object(properties))" == json)
        #expect("\(PropertyValue.date(ValueTests.moment))" == #""2027-01-15T08:00:00.123Z""#)
        #expect("\([1, nil] as PropertyArray)" == "[1,null]")
        let event = Event(
            id: EventID(high: 0, low: 1), name: "E", time: Timestamp(milliseconds: 5), loginID: "l",
            properties: ["a": 1])
        #expect(
            "\(event)"
                == #"{"id":"00000000-0000-0000-0000-000000000001","event":"E","time":5,"login_id":"l","properties":{"a":1}}"#
        )
        #expect(try JSONDecoder().decode(Event.self, from: Data(event.description.utf8)) == event)
    }

    // MARK: Changing lists

    @Test("merged lists have the values of the second one, in the order of the first one")
    func mergingReplaces() {
        let left: Properties = ["a": 1, "b": 2]
        let right: Properties = ["c": 3, "a": 4]
        #expect((left + right).description == #"{"a":4,"b":2,"c":3}"#)
        #expect((left.shared() + right.shared()).description == #"{"a":4,"b":2,"c":3}"#)
        var sum = left
        sum.merge(right)
        #expect(sum == left + right && left == ["a": 1, "b": 2])
        sum.append(Property("b", "x"))
        sum.append(Property("d", nil))
        #expect(sum.description == #"{"a":4,"b":"x","c":3,"d":null}"#)
    }

    @Test("merging keeps the sanitizations of both lists")
    func mergingKeepsSanitizations() {
        let sum = Properties(["a": .double(.nan)]) + Properties(["b": .date(Timestamp(milliseconds: .min))])
        #expect(sum.bounds.sanitizations == [.nonFiniteNumber, .unwritableDate])
    }

    @Test("a name given twice has the later value, and is counted")
    func nameTwiceIsCounted() {
        let one = 1
        for properties in [
            ["a": 0, "b": 2, "a": 1], Properties(["a": 0, "b": 2, "a": one]),
            Properties([Property("a", 0), Property("b", 2), Property("a", one)]),
        ] as [Properties] {
            #expect(properties.description == #"{"a":1,"b":2}"#)
            #expect(properties.bounds.sanitizations == .droppedProperty)
        }
        var properties: Properties = ["a": 1]
        properties["a"] = one
        #expect((properties + properties).bounds.sanitizations == [])
    }

    @Test("the pairs of a literal have the layout that is used to read them")
    func pairsHaveKnownLayout() {
        typealias Pair = (String, any PropertyConvertible)
        #expect(MemoryLayout<Pair>.stride == MemoryLayout<PropertyLiteral.Element>.stride)
        #expect(MemoryLayout<Pair>.alignment == MemoryLayout<PropertyLiteral.Element>.alignment)
        #expect(MemoryLayout<Pair>.offset(of: \.0) == MemoryLayout<PropertyLiteral.Element>.offset(of: \.name))
        #expect(MemoryLayout<Pair>.offset(of: \.1) == MemoryLayout<PropertyLiteral.Element>.offset(of: \.value))
    }

    @Test("dictionaries are sorted by name")
    func dictionariesAreSorted() {
        let mixed: [String: any PropertyConvertible] = ["c": 1, "a": "2", "b": true]
        #expect(Properties(converting: mixed).description == #"{"a":"2","b":true,"c":1}"#)
    }
}
