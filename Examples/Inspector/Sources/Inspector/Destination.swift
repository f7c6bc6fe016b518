import ArgumentParser
import SluiceHTTP

/// A backend to which events are replayed.
struct Destination: Sendable {
    let url: String
    let format: HTTPFormat
    /// The format's name without keys.
    let formatName: String
    let headers: [String: String]

    /// The texts that ``init(url:format:headers:)`` understands.
    static let formats = [
        "ndjson", "json", "vector", "fluentbit", "clickhouse:TABLE", "elasticsearch:INDEX", "otlp:SERVICE",
        "loki:APP", "kafka:TOPIC", "segment:KEY", "rudderstack:KEY", "posthog:KEY", "mixpanel:TOKEN",
        "amplitude:KEY", "sensors",
    ]

    /// - Throws: A `ValidationError` if the URL, the format or a header is invalid.
    init(url: String, format: String, headers: [String]) throws {
        let parts = format.split(separator: ":", maxSplits: 1).map(String.init)
        let argument = parts.count == 2 ? parts[1] : nil
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
        case ("segment", let key?): self.format = .segment(writeKey: key)
        case ("rudderstack", let key?): self.format = .rudderStack(writeKey: key)
        case ("posthog", let key?): self.format = .postHog(apiKey: key)
        case ("mixpanel", let token?): self.format = .mixpanel(token: token)
        case ("amplitude", let key?): self.format = .amplitude(apiKey: key)
        default:
            throw ValidationError("unknown format: use one of \(Destination.formats.joined(separator: ", "))")
        }
        var fields: [String: String] = [:]
        for header in headers {
            let parts = header.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { throw ValidationError("a header must look like \"Name: value\"") }
            fields[String(parts[0])] = String(parts[1].drop { $0 == " " })
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
