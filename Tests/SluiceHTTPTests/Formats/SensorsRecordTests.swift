import Sluice
import SluiceFilters
import SluiceIdentity
import SluiceMemory
import SluiceTesting
import Testing

@testable import SluiceHTTP

/// The records for the verbs of `Identity`, with the limits of Sensors Analytics.
@Suite("Records of Sensors Analytics", .timeLimit(.minutes(10)))
struct SensorsRecordTests {
    /// The records of a pipeline's events, without the keys that are equal in all.
    private func records(_ use: (Identity, Pipeline) throws -> Void) async throws -> [String] {
        let identity = Identity(persistedIn: .memory)
        try identity.setAnonymousID("a-1")
        let transport = ScriptedTransport()
        let pipeline = try Pipeline {
            identity
            Limits(.sensors)
            MemoryStore()
            transport
        }
        try use(identity, pipeline)
        await pipeline.flush()
        return try transport.accepted().map { event in
            let batch = try Batch(id: 1, events: [EventLine(event)])
            var writer = batch.makeWriter()
            SensorsFormat.write(event, Timestamp(milliseconds: 0), to: &writer)
            var record = try #require(try JSONReader.value(of: writer.bytes).asObject)
            #expect(record["lib"]?.asObject?["$lib"] == "Sluice")
            for name in ["time", "anonymous_id", "login_id", "lib", "_track_id", "_flush_time"] { record[name] = nil }
            var text = batch.makeWriter()
            text.object(record)
            return String(decoding: text.bytes, as: UTF8.self)
        }
    }

    @Test("a first login is a sign-up with the previous id")
    func firstLoginIsSignUp() async throws {
        let records = try await records { identity, _ in try identity.login("u-1", ["plan": "free"]) }
        #expect(
            records == [
                #"{"type":"track_signup","event":"$SignUp","original_id":"a-1","distinct_id":"u-1","properties":{"plan":"free"}}"#
            ])
    }

    @Test("each profile verb has its type and properties")
    func profileVerbsHaveTypes() async throws {
        let records = try await records { identity, _ in
            identity.profile.set(["name": "Ada", "age": 36])
            identity.profile.setOnce(["first": "web"])
            try identity.profile.increment(["visits": 1, "spent": 2.5])
            identity.profile.append(["tags": "new"])
            identity.profile.unset("name", "age")
            identity.profile.delete()
        }
        #expect(
            records == [
                #"{"type":"profile_set","distinct_id":"a-1","properties":{"name":"Ada","age":36}}"#,
                #"{"type":"profile_set_once","distinct_id":"a-1","properties":{"first":"web"}}"#,
                #"{"type":"profile_increment","distinct_id":"a-1","properties":{"visits":1,"spent":2.5}}"#,
                #"{"type":"profile_append","distinct_id":"a-1","properties":{"tags":["new"]}}"#,
                #"{"type":"profile_unset","distinct_id":"a-1","properties":{"name":true,"age":true}}"#,
                #"{"type":"profile_delete","distinct_id":"a-1","properties":{}}"#,
            ])
    }

    @Test("each item verb has its type and the item's key")
    func itemVerbsHaveTypes() async throws {
        let records = try await records { identity, _ in
            try identity.setItem("book", "b-7", ["price": 9.5])
            try identity.deleteItem("book", "b-7")
        }
        #expect(
            records == [
                #"{"type":"item_set","item_type":"book","item_id":"b-7","distinct_id":"a-1","properties":{"price":9.5}}"#,
                #"{"type":"item_delete","item_type":"book","item_id":"b-7","distinct_id":"a-1","properties":{}}"#,
            ])
    }

    @Test("bound ids are sent beside the properties")
    func boundIDsAreIdentities() async throws {
        let records = try await records { identity, pipeline in
            try identity.bind("mobile", "+49")
            pipeline.track("Seen", ["n": 1])
        }
        #expect(
            records.last
                == #"{"type":"track","event":"Seen","distinct_id":"a-1","identities":{"mobile":"+49"},"properties":{"n":1}}"#
        )
    }

    @Test(
        "an event with a verb's name but without its properties remains a track",
        arguments: ["$SignUp", "$ProfileSet", "$ProfileUnset", "$ItemSet", "$ItemDelete"])
    func similarEventsStayTracks(name: String) async throws {
        let records = try await records { _, pipeline in pipeline.track(name, ["$item_id": 1]) }
        #expect(records == [#"{"type":"track","event":"\#(name)","distinct_id":"a-1","properties":{"$item_id":1}}"#])
    }
}
