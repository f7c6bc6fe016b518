import Foundation
import Sluice
import SluiceHTTP

/// The output for a batch, as JSON that needs no escapes: every string of an event is Base64 of its UTF-8.
///
/// `{"format":…,"events":[{…,"sent":true}],"requests":[{"method":…,"url":…,"headers":[[…]],"body":…}]}`
///
/// A value is `{"s":"Base64"}`, `{"i":"decimal"}`, `{"d":"IEEE 754 in hexadecimal"}`, `true`, `{"t":milliseconds}`,
/// `[values]`, `{"o":[["Base64",value]]}` or `null`.
enum SourceRecord {
    static func line(_ format: String, _ events: [StoredEvent], _ attempt: Attempt) -> String {
        let sources = zip(events, attempt.verdicts).map { source($0.event, isSent: $1.isSent) }
        let requests = attempt.requests.map { request in
            let headers = request.headers.map { "[\(encoded($0.name)),\(encoded($0.value))]" }
            return """
                {"method":"\(request.method)","url":\(encoded(request.url)),\
                "headers":[\(headers.joined(separator: ","))],"body":"\(Data(request.body).base64EncodedString())"}
                """
        }
        return """
            {"format":"\(format)","events":[\(sources.joined(separator: ","))],\
            "requests":[\(requests.joined(separator: ","))]}
            """
    }

    private static func source(_ event: Event, isSent: Bool) -> String {
        let ids = [event.distinctID, event.anonymousID, event.loginID].map { $0.map(encoded) ?? "null" }
        return """
            {"id":"\(event.id)","name":\(encoded(event.name)),"time":\(event.time.milliseconds),\
            "critical":\(event.priority == .critical),"ids":[\(ids.joined(separator: ","))],\
            "properties":\(value(.object(event.properties))),"sent":\(isSent)}
            """
    }

    private static func value(_ value: PropertyValue) -> String {
        switch value {
        case .string(let string): #"{"s":\#(encoded(string))}"#
        case .int(let int): #"{"i":"\#(int)"}"#
        case .double(let double): #"{"d":"\#(String(double.bitPattern, radix: 16))"}"#
        case .bool(let bool): "\(bool)"
        case .date(let date): #"{"t":\#(date.milliseconds)}"#
        case .array(let array): "[\(array.map { self.value($0) }.joined(separator: ","))]"
        case .object(let object):
            #"{"o":[\#(object.map { "[\(encoded($0.name)),\(self.value($0.value))]" }.joined(separator: ","))]}"#
        case .null: "null"
        }
    }

    private static func encoded(_ string: String) -> String { "\"" + Data(string.utf8).base64EncodedString() + "\"" }
}

extension Verdict {
    /// False for events that the format can't send.
    var isSent: Bool {
        switch kind {
        case .unsendable, .tooLarge: false
        default: true
        }
    }
}
