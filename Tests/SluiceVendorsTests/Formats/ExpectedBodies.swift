import HTTPTestSupport
import Sluice

/// The bodies for `Batch.allKinds()`, written by hand from the backends' documentation.
enum ExpectedBodies {
    static let ids = (1...3).map { "019b7705-8c00-7000-8000-0000ffff000\($0)" }

    static let properties = #"""
        {"s":"a\n\"\\\u0001é","int":-5,"double":2.5,"true":true,"none":null,\#
        "at":"2025-12-31T00:00:00.000Z","list":[1,["x",null],{"k":2.0}],\#
        "object":{"inner":{"deep":"y"}},"time":"own","event.id":"own"}
        """#

    /// The canonical lines, with plain dates.
    static let lines = [
        #"""
        {"id":"\#(ids[0])","event":"Kauf \"é😀\"","time":1767225600123,"priority":"critical",\#
        "distinct_id":"u/1","anonymous_id":"a1","login_id":"u/1","properties":\#(properties)}
        """#,
        #"{"id":"\#(ids[1])","event":"Bare","time":1767225600000,"properties":{}}"#,
        #"""
        {"id":"\#(ids[2])","event":"Seen","time":1767225601000,"distinct_id":"a2","anonymous_id":"a2",\#
        "properties":{"n":1}}
        """#,
    ]

    /// The lines with a quoted time.
    static let clickHouse = zip(lines, [1_767_225_600_123, 1_767_225_600_000, 1_767_225_601_000]).map { line, time in
        line.replacing(#""time":\#(time)"#, with: #""time":"\#(time)""#) + "\n"
    }.joined()

    static let array = "[" + lines.joined(separator: ",") + "]"
    static let newlines = lines.map { $0 + "\n" }.joined()

    static let elasticsearch = zip(ids, zip(lines, ["00.123", "00.000", "01.000"])).map { id, document in
        #"""
        {"create":{"_id":"\#(id)"}}
        {"@timestamp":"2026-01-01T00:00:\#(document.1)Z",\#(document.0.dropFirst())

        """#
    }.joined()

    private static let version = LibraryVersion.current

    private static func context(_ device: String?) -> String {
        #"""
        {"library":{"name":"Sluice","version":"\#(version)"},\#
        \#(device.map { #""device":{"id":"\#($0)"},"# } ?? "")"instanceId":"\#(FormatSample.instance)"}
        """#
    }

    static let segment = #"""
        {"batch":[{"type":"track","messageId":"\#(ids[0])","anonymousId":"a1","userId":"u/1",\#
        "event":"Kauf \"é😀\"","properties":\#(properties),"context":\#(context("a1")),\#
        "timestamp":"2026-01-01T00:00:00.123Z"},\#
        {"type":"track","messageId":"\#(ids[1])","anonymousId":"\#(ids[1])","event":"Bare","properties":{},\#
        "context":\#(context(nil)),"timestamp":"2026-01-01T00:00:00.000Z"},\#
        {"type":"track","messageId":"\#(ids[2])","anonymousId":"a2","event":"Seen","properties":{"n":1},\#
        "context":\#(context("a2")),"timestamp":"2026-01-01T00:00:01.000Z"}],\#
        "sentAt":"2026-01-01T00:01:00.000Z"}
        """#

    private static func personal(_ isIdentified: Bool, _ device: String?) -> String {
        #"""
        "$is_identified":\#(isIdentified),"$process_person_profile":\#(isIdentified),\#
        "$lib":"Sluice","$lib_version":"\#(version)",\#
        \#(device.map { #""$device_id":"\#($0)","# } ?? "")"$geoip_disable":true,"$is_server":true
        """#
    }

    static let postHogBatch = #"""
        {"api_key":"s3cr3t-key","historical_migration":false,"sent_at":"2026-01-01T00:01:00.000Z","batch":[\#
        {"event":"Kauf \"é😀\"","distinct_id":"u/1","uuid":"\#(ids[0])","properties":\#
        \#(properties.dropLast()),\#(personal(true, "a1"))},"timestamp":"2026-01-01T00:00:00.123Z"},\#
        {"event":"Bare","distinct_id":"\#(ids[1])","uuid":"\#(ids[1])","properties":\#
        {\#(personal(false, nil))},"timestamp":"2026-01-01T00:00:00.000Z"},\#
        {"event":"Seen","distinct_id":"a2","uuid":"\#(ids[2])","properties":\#
        {"n":1,\#(personal(false, "a2"))},"timestamp":"2026-01-01T00:00:01.000Z"}]}
        """#

    private static func root(_ event: String, _ index: Int, _ person: String, _ time: String, isPerson: Bool) -> String
    {
        #"""
        "event":"\#(event)","uuid":"\#(ids[index])","distinct_id":"\#(person)","timestamp":"2026-01-01T00:00:\#(time)Z",\#
        "options":{"process_person_profile":\#(isPerson)}
        """#
    }

    static let postHog = #"""
        {"created_at":"2026-01-01T00:01:00.000Z","batch":[\#
        {\#(root(#"Kauf \"é😀\""#, 0, "u/1", "00.123", isPerson: true)),"properties":\#
        \#(properties.dropLast()),"$is_identified":true,"$device_id":"a1","$geoip_disable":true,"$is_server":true}},\#
        {\#(root("Bare", 1, ids[1], "00.000", isPerson: false)),"properties":\#
        {"$is_identified":false,"$geoip_disable":true,"$is_server":true}},\#
        {\#(root("Seen", 2, "a2", "01.000", isPerson: false)),"properties":\#
        {"n":1,"$is_identified":false,"$device_id":"a2","$geoip_disable":true,"$is_server":true}}]}
        """#

    static let otlp = #"""
        {"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}},\#
        {"key":"telemetry.sdk.name","value":{"stringValue":"Sluice"}},\#
        {"key":"telemetry.sdk.language","value":{"stringValue":"swift"}},\#
        {"key":"telemetry.sdk.version","value":{"stringValue":"\#(version)"}}]},\#
        "scopeLogs":[{"scope":{"name":"Sluice","version":"\#(version)"},"logRecords":[\#
        {"timeUnixNano":"1767225600123000000","observedTimeUnixNano":"1767225600123000000",\#
        "severityNumber":9,"eventName":"Kauf \"é😀\"","body":{"stringValue":"Kauf \"é😀\""},"attributes":[\#
        {"key":"event.id","value":{"stringValue":"\#(ids[0])"}},\#
        {"key":"distinct_id","value":{"stringValue":"u/1"}},\#
        {"key":"anonymous_id","value":{"stringValue":"a1"}},{"key":"login_id","value":{"stringValue":"u/1"}},\#
        {"key":"s","value":{"stringValue":"a\n\"\\\u0001é"}},{"key":"int","value":{"intValue":"-5"}},\#
        {"key":"double","value":{"doubleValue":2.5}},{"key":"true","value":{"boolValue":true}},\#
        {"key":"none","value":{}},{"key":"at","value":{"stringValue":"2025-12-31T00:00:00.000Z"}},\#
        {"key":"list","value":{"arrayValue":{"values":[{"intValue":"1"},\#
        {"arrayValue":{"values":[{"stringValue":"x"},{}]}},\#
        {"kvlistValue":{"values":[{"key":"k","value":{"doubleValue":2.0}}]}}]}}},\#
        {"key":"object","value":{"kvlistValue":{"values":[{"key":"inner","value":{"kvlistValue":{"values":[\#
        {"key":"deep","value":{"stringValue":"y"}}]}}}]}}},\#
        {"key":"time","value":{"stringValue":"own"}},\#
        {"key":"properties.event.id","value":{"stringValue":"own"}}]},\#
        {"timeUnixNano":"1767225600000000000","observedTimeUnixNano":"1767225600000000000",\#
        "severityNumber":9,"eventName":"Bare","body":{"stringValue":"Bare"},"attributes":[\#
        {"key":"event.id","value":{"stringValue":"\#(ids[1])"}}]},\#
        {"timeUnixNano":"1767225601000000000","observedTimeUnixNano":"1767225601000000000",\#
        "severityNumber":9,"eventName":"Seen","body":{"stringValue":"Seen"},"attributes":[\#
        {"key":"event.id","value":{"stringValue":"\#(ids[2])"}},\#
        {"key":"distinct_id","value":{"stringValue":"a2"}},{"key":"anonymous_id","value":{"stringValue":"a2"}},\#
        {"key":"n","value":{"intValue":"1"}}]}]}]}]}
        """#

    static let kafka = #"""
        {"records":[{"key":"u/1","value":\#(lines[0])},{"value":\#(lines[1])},\#
        {"key":"a2","value":\#(lines[2])}]}
        """#

    static let kafkaV3 = #"""
        {"key":{"type":"STRING","data":"u/1"},"value":{"type":"JSON","data":\#(lines[0])},\#
        "headers":[{"name":"event_id","value":"MDE5Yjc3MDUtOGMwMC03MDAwLTgwMDAtMDAwMGZmZmYwMDAx"}]}
        {"value":{"type":"JSON","data":\#(lines[1])},\#
        "headers":[{"name":"event_id","value":"MDE5Yjc3MDUtOGMwMC03MDAwLTgwMDAtMDAwMGZmZmYwMDAy"}]}
        {"key":{"type":"STRING","data":"a2"},"value":{"type":"JSON","data":\#(lines[2])},\#
        "headers":[{"name":"event_id","value":"MDE5Yjc3MDUtOGMwMC03MDAwLTgwMDAtMDAwMGZmZmYwMDAz"}]}

        """#

    static let mixpanel = #"""
        [{"event":"Kauf \"é😀\"","properties":{"time":1767225600123,"distinct_id":"u/1",\#
        "$insert_id":"\#(ids[0])","$device_id":"a1","$user_id":"u/1","ip":0,\#
        \#(properties.dropFirst().replacing(#","time":"#, with: #","properties.time":"#))},\#
        {"event":"Bare","properties":{"time":1767225600000,"distinct_id":"","$insert_id":"\#(ids[1])","ip":0}},\#
        {"event":"Seen","properties":{"time":1767225601000,"distinct_id":"$device:a2","$insert_id":"\#(ids[2])",\#
        "$device_id":"a2","ip":0,"n":1}}]
        """#

    static let amplitude = #"""
        {"api_key":"s3cr3t-key","options":{"min_id_length":1},"client_upload_time":"2026-01-01T00:01:00.000Z","events":[\#
        {"event_type":"Kauf \"é😀\"","user_id":"u/1","device_id":"a1","time":1767225600123,\#
        "insert_id":"\#(ids[0])","library":"Sluice/\#(version)","event_properties":\#(properties)},\#
        {"event_type":"Bare","device_id":"\#(ids[1])","time":1767225600000,"insert_id":"\#(ids[1])",\#
        "library":"Sluice/\#(version)","event_properties":{}},\#
        {"event_type":"Seen","device_id":"a2","time":1767225601000,"insert_id":"\#(ids[2])",\#
        "library":"Sluice/\#(version)","event_properties":{"n":1}}]}
        """#

    static let datadog = #"""
        [{"ddsource":"sluice","service":"shop","ddtags":"env:prod","timestamp":1767225600123,\#
        "message":"Kauf \"é😀\"","event_id":"\#(ids[0])","distinct_id":"u/1","anonymous_id":"a1",\#
        "login_id":"u/1","properties":\#(properties)},\#
        {"ddsource":"sluice","service":"shop","ddtags":"env:prod","timestamp":1767225600000,\#
        "message":"Bare","event_id":"\#(ids[1])","properties":{}},\#
        {"ddsource":"sluice","service":"shop","ddtags":"env:prod","timestamp":1767225601000,\#
        "message":"Seen","event_id":"\#(ids[2])","distinct_id":"a2","anonymous_id":"a2","properties":{"n":1}}]
        """#

    static let loki = #"""
        {"streams":[{"stream":{"app":"shop","env":"prod"},"values":[\#
        ["1767225600123000000",\#(quoted(lines[0])),{"event_id":"\#(ids[0])"}],\#
        ["1767225600000000000",\#(quoted(lines[1])),{"event_id":"\#(ids[1])"}],\#
        ["1767225601000000000",\#(quoted(lines[2])),{"event_id":"\#(ids[2])"}]]}]}
        """#

    private static let lib = #"{"$lib":"Sluice","$lib_version":"\#(version)","$lib_method":"code"}"#

    /// Sensors' `data_list`, unpacked.
    static let sensors = #"""
        [{"type":"track","event":"Kauf \"é😀\"","time":1767225600123,"distinct_id":"u/1","anonymous_id":"a1",\#
        "login_id":"u/1","lib":\#(lib),"_track_id":2147418113,\#
        "_flush_time":1767225660000,"properties":\#
        \#(properties.replacing("2025-12-31T00:00:00.000Z", with: "2025-12-31 00:00:00.000"))},\#
        {"type":"track","event":"Bare","time":1767225600000,"distinct_id":"\#(ids[1])",\#
        "lib":\#(lib),"_track_id":2147418114,"_flush_time":1767225660000,\#
        "properties":{}},\#
        {"type":"track","event":"Seen","time":1767225601000,"distinct_id":"a2","anonymous_id":"a2",\#
        "lib":\#(lib),"_track_id":2147418115,"_flush_time":1767225660000,\#
        "properties":{"n":1}}]
        """#

    static func quoted(_ line: String) -> String {
        "\"" + line.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
