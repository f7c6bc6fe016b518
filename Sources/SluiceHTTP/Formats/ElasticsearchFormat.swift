import Sluice

/// `_bulk` of Elasticsearch and OpenSearch, with a result for each event.
struct ElasticsearchFormat: WireFormat {
    let index: String

    /// The results fit into the 64 KiB that are read of a response, unless many events are refused.
    var maximumBatchSize: BatchSize { BatchSize(events: 500, bytes: 10_000_000) }
    var maximumBodyBytes: Int { 90_000_000 }
    var acceptsGzip: Bool { true }

    func validate() throws(SluiceError) {
        try ArgumentCheck.text("index", index)
        guard let name = nameWithoutDates, Self.accepts(name) else {
            throw ArgumentCheck.invalid(
                "index", "isn't a name that Elasticsearch accepts: use small letters, digits and -")
        }
    }

    private static func accepts(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 255 && name.lowercased() == name && name != "." && name != ".."
            && !"-_+".utf8.contains(name.utf8.first ?? 0)
            && !name.utf8.contains { #"\/*?"<>| ,#:"#.utf8.contains($0) }
    }

    /// The name with `0` for each date of its date math, such as `events-0` for `<events-{now/d{yyyy.MM}}>`. Nil if a brace
    /// has no counterpart, or a date has a character that no index has.
    private var nameWithoutDates: String? {
        guard index.hasPrefix("<") else { return index }
        guard index.hasSuffix(">") else { return nil }
        var (name, depth) = ("", 0)
        for character in index.dropFirst().dropLast() {
            switch character {
            case "{": depth += 1
            case "}":
                depth -= 1
                if depth == 0 { name += "0" }
            case _ where depth == 0: name.append(character)
            // A date can have `/`, `|` and `:`, as in {now/d{yyyy.MM.dd|+12:00}}.
            case "\\", "*", "?", "\"", "<", ">", " ", ",", "#": return nil
            default: break
            }
            guard (0...2).contains(depth) else { return nil }
        }
        return depth == 0 ? name : nil
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        // Also for a URL of `/_bulk`, which names no index.
        request.appendPath(index, "_bulk", replacing: ["_bulk"])
        request.appendQuery("filter_path", "errors,items.*.status,items.*.error.type,items.*.error.reason")
        try request.setJSON(for: batch, as: "application/x-ndjson") { json in
            for line in batch.events {
                let id = try line.canonicalID().description
                let time = try line.time().description
                json.object { $0.object("create") { $0["_id"] = id } }
                json.raw("\n")
                json.object {
                    $0["@timestamp"] = time
                    $0.members(of: line.json)
                }
                json.raw("\n")
            }
        }
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        guard response.status == 200 else {
            return .all((200...299).contains(response.status) ? .retry(after: nil) : response.verdict)
        }
        // Smaller parts have shorter results. Events that are stored already are then duplicates.
        if !response.isComplete, batch.events.count > 1 { return .all(.tooLarge(reason: "the results are too long")) }
        guard let items = response.jsonObject?["items"]?.array, items.count == batch.events.count else {
            return .all(.retry(after: nil))
        }
        return .results(
            items.map { item in
                let result = item.object?["create"]?.object
                guard let status = result?["status"]?.asInt else { return .retry(after: response.retryAfter) }
                if status == 409 { return .duplicate }
                let error = result?["error"]?.object
                let words = [error?["type"]?.string, error?["reason"]?.string].compactMap(\.self)
                return Verdict(status: status, of: "Elasticsearch", retryAfter: response.retryAfter)
                    .saying(words.isEmpty ? nil : words.joined(separator: ": "), status)
            })
    }
}
