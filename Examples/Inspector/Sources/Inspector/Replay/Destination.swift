import ArgumentParser
import SluiceHTTP
import SluiceVendors

/// A backend to which events are replayed.
struct Destination: Sendable {
    let url: String
    let format: HTTPFormat
    /// The format's name without keys.
    let formatName: String
    let headers: [String: String]

    /// The formats of ``init(url:format:key:headers:)``.
    static let formats = [
        "ndjson", "json", "vector", "fluentbit", "sensors", "clickhouse:TABLE", "elasticsearch:INDEX", "otlp:SERVICE",
        "loki:APP", "kafka:TOPIC",
    ]
    /// The formats that need a key.
    static let formatsWithKey = ["segment", "rudderstack", "posthog", "mixpanel", "amplitude"]

    /// The formats for the help of a command.
    static var formatHelp: String {
        "One of \(formats.joined(separator: ", ")), or with a key: \(formatsWithKey.joined(separator: ", "))."
    }

    /// - Throws: A `ValidationError` if the URL, the format, the key or a header is invalid.
    init(url: String, format: String, key: String? = nil, headers: [String]) throws {
        let parts = format.split(separator: ":", maxSplits: 1).map(String.init)
        let argument = parts.count == 2 ? parts[1] : nil
        if let name = parts.first, Destination.formatsWithKey.contains(name) {
            guard argument == nil else {
                throw ValidationError(
                    "a key as an argument is visible to other users: pass --format \(name), and the key in a file for "
                        + "--key-file or in SLUICE_KEY")
            }
            guard let key, !key.isEmpty else {
                throw ValidationError("\(name) needs a key: pass it in a file for --key-file, or in SLUICE_KEY")
            }
        }
        switch (parts.first, argument) {
        case ("ndjson", nil): self.format = .ndjson
        case ("json", nil): self.format = .jsonArray
        case ("vector", nil): self.format = .vector
        case ("fluentbit", nil): self.format = .fluentBit
        case ("sensors", nil): self.format = .sensors()
        case ("clickhouse", let table?): self.format = .clickHouse(table: table)
        case ("elasticsearch", let index?): self.format = .elasticsearch(index: index)
        case ("otlp", let service?): self.format = .otlp(service: service)
        case ("loki", let app?): self.format = .loki(labels: ["app": app])
        case ("kafka", let topic?): self.format = .kafka(topic: topic)
        case ("segment", nil): self.format = .segment(writeKey: key ?? "")
        case ("rudderstack", nil): self.format = .rudderStack(writeKey: key ?? "")
        case ("posthog", nil): self.format = .postHog(apiKey: key ?? "")
        case ("mixpanel", nil): self.format = .mixpanel(token: key ?? "")
        case ("amplitude", nil): self.format = .amplitude(apiKey: key ?? "")
        default:
            // The argument of a mistyped name can be a key.
            let typed = argument == nil ? format : "\(parts[0]):…"
            throw ValidationError("unknown format \"\(typed)\": \(Destination.formatHelp)")
        }
        var fields: [String: String] = [:]
        for header in headers {
            let parts = header.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { throw ValidationError("a header must look like \"Name: value\"") }
            let name = String(parts[0])
            guard fields[name] == nil else { throw ValidationError("the header \(name) is given twice") }
            fields[name] = String(parts[1].drop { $0 == " " })
        }
        self.url = url
        self.headers = fields
        formatName = parts[0]
        do throws(SluiceError) {
            // Without this, a pipeline would notice it after its store has taken over directories.
            try transport().open()
        } catch {
            guard error.code == .invalidArgument else { throw error }
            throw ValidationError(error.message)
        }
    }

    func transport() -> HTTPTransport {
        HTTPTransport(to: url, format: format, headers: headers)
    }
}
