import HTTPTestSupport
import Sluice

@testable import SluiceHTTP
@testable import SluiceVendors

/// More of `ExpectedBodies`.
enum FurtherBodies {
    private static let ids = ExpectedBodies.ids
    private static let seconds = ["1767225600.123", "1767225600.0", "1767225601.0"]

    static let splunk = zip(ExpectedBodies.lines, seconds).map { line, time in
        #"{"time":\#(time),"sourcetype":"_json","index":"main","event":\#(line)}"# + "\n"
    }.joined()

    static let kinesis =
        #"{"StreamName":"events","Records":["#
        + zip(ExpectedBodies.lines, ["u/1", ids[1], "a2"])
        .map { #"{"Data":"\#(HTTPEncoding.base64($0.utf8))","PartitionKey":"\#($1)"}"# }
        .joined(separator: ",") + "]}"

    static let firehose =
        #"{"DeliveryStreamName":"events","Records":["#
        + ExpectedBodies.lines.map { #"{"Data":"\#(HTTPEncoding.base64(($0 + "\n").utf8))"}"# }
        .joined(separator: ",") + "]}"

    private static let list = #"[1,[\"x\",null],{\"k\":2.0}]"#
    private static let object = #"{\"inner\":{\"deep\":\"y\"}}"#

    static let influxDB =
        #"Kauf\ "é😀",part=189 id="\#(ids[0])",distinct_id="u/1",anonymous_id="a1",login_id="u/1",priority="critical","#
        + #"s="a\\n\"\\\#u{1}é",int=-5,double=2.5,true=true,at="2025-12-31T00:00:00.000Z",list="\#(list)","#
        + #"object="\#(object)",name.time="own",event.id="own" 1767225600123677569"# + "\n"
        + #"Bare,part=189 id="\#(ids[1])" 1767225600000677570"# + "\n"
        + #"Seen,part=189 id="\#(ids[2])",distinct_id="a2",anonymous_id="a2",n=1 1767225601000677571"# + "\n"

    private static func query(_ index: Int, _ time: String, _ visitor: String, _ rest: String) -> String {
        "\"?idsite=7&rec=1&apiv=1&rand=\(ids[index])&cdt=\(time)&_id=\(visitor)&\(rest)\""
    }

    static let matomo =
        #"{"requests":["#
        + [
            query(
                0, "1767225600", "089c1307b5454527",
                "uid=u%2F1&e_c=app&e_a=Kauf%20%22%C3%A9%F0%9F%98%80%22&dimension1=a%0A%22%5C%01%C3%A9"),
            query(1, "1767225600", "ca161bf65a8b1b7e", "e_c=app&e_a=Bare"),
            query(2, "1767225601", "089c1407b54546da", "e_c=app&e_a=Seen&dimension2=1"),
        ].joined(separator: ",") + #"],"token_auth":"s3cr3t-key"}"#

    /// The request for the first person, with the events of all, as no transport sends it.
    static let googleAnalytics = #"""
        {"client_id":"a1","user_id":"u/1","events":[\#
        {"name":"Kauf__é___9y5b0a","timestamp_micros":1767225600123000,"params":{"event_id":"\#(ids[0])",\#
        "engagement_time_msec":1,"s":"a\n\"\\\u0001é","int":-5,"double":2.5,"true":"true",\#
        "at":"2025-12-31T00:00:00.000Z","time":"own","event_id_2m7t6n":"own"}},\#
        {"name":"Bare","timestamp_micros":1767225600000000,"params":{"event_id":"\#(ids[1])",\#
        "engagement_time_msec":1}},\#
        {"name":"Seen","timestamp_micros":1767225601000000,"params":{"event_id":"\#(ids[2])",\#
        "engagement_time_msec":1,"n":1}}]}
        """#

    private static func signal(_ index: Int, _ hash: String, _ second: String, _ type: String, _ rest: String) -> String
    {
        #"""
        {"appID":"A-1","clientUser":"\#(hash)","receivedAt":"2026-01-01T00:00:\#(second)+0000","type":"\#(type)",\#
        "payload":{"Sluice.eventID":"\#(ids[index])"\#(rest)}}
        """#
    }

    static let telemetryDeck =
        "["
        + [
            signal(
                0, "7d5b24e6418e5aa7f88a536c5e3781354d98d1ac095d33ac692d0fdf8854776c", "00", #"Kauf \"é😀\""#,
                #","s":"a\n\"\\\u0001é","int":-5,"double":2.5,"true":true,"at":"2025-12-31T00:00:00.000Z","#
                    + #""list":"\#(list)","object":"\#(object)","time":"own","event.id":"own""#),
            signal(1, "0e3d04622ba13f3117afe6d34f015892898d97aae8dfc53b6138a04293098678", "00", "Bare", ""),
            signal(2, "9dea4f3a4118a90f1e08dd03e2e299b950f2b70c221ee9bf043243573a9dac82", "01", "Seen", #","n":1"#),
        ].joined(separator: ",") + "]"

    private static func snowplow(_ index: Int, _ time: String, _ ids: String, _ name: String, _ data: String) -> String
    {
        let inner = #"""
            {"schema":"iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0","data":\#
            {"schema":"iglu:com.example/\#(name)/jsonschema/1-0-0","data":\#(data)}}
            """#
        return #"""
            {"e":"ue","eid":"\#(FurtherBodies.ids[index])","aid":"shop","p":"srv","tv":"sluice-\#(LibraryVersion.current)",\#
            "dtm":"\#(time)",\#(ids)"ue_pr":\#(ExpectedBodies.quoted(inner)),"stm":"1767225660000"}
            """#
    }

    static let snowplow =
        #"{"schema":"iglu:com.snowplowanalytics.snowplow/payload_data/jsonschema/1-0-4","data":["#
        + [
            snowplow(0, "1767225600123", #""uid":"u/1","duid":"a1","#, "Kauf______9y5b0a", ExpectedBodies.properties),
            snowplow(1, "1767225600000", "", "Bare", "{}"),
            snowplow(2, "1767225601000", #""duid":"a2","#, "Seen", #"{"n":1}"#),
        ].joined(separator: ",") + "]}"
}
