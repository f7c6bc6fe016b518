public import Sluice

extension HTTPResponse {
    /// The body as JSON, or nil if it is incomplete or not JSON. Members that are null are left out, because servers write
    /// them for values that they don't have.
    ///
    /// ```swift
    /// struct StatusFormat: WireFormat {
    ///     func encode(_ batch: Batch, into request: inout HTTPRequest) throws {}
    ///
    ///     func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
    ///         guard (200...299).contains(response.status) else { return .all(response.verdict) }
    ///         return .all(response.jsonObject?["status"] == "ok" ? .accepted : .retry())
    ///     }
    /// }
    /// ```
    public var json: PropertyValue? {
        guard isComplete else { return nil }
        return attempt(try JSONReader.value(of: body).withoutNulls, or: nil)
    }

    /// The body as a JSON object, or nil if it is anything else.
    public var jsonObject: Properties? { json?.object }

    /// The concatenated JSON objects of a streamed body, up to the first bytes that aren't an object.
    var jsonObjects: [Properties] {
        var (result, rest) = ([Properties](), body[...])
        while true {
            let object = rest.prefix(JSONReader.offset(of: [], in: rest))
            guard let next = HTTPResponse(status: 200, body: Array(object)).jsonObject else { return result }
            result.append(next)
            rest = rest[object.endIndex...]
        }
    }
}

extension PropertyValue {
    /// The value without members that are null, at any depth. Elements of lists stay, because their positions count.
    fileprivate var withoutNulls: PropertyValue {
        switch self {
        case .object(let object):
            .object(Properties(object.lazy.filter { $0.value != .null }.map { ($0.name, $0.value.withoutNulls) }))
        case .array(let array): .array(PropertyArray(array.lazy.map(\.withoutNulls)))
        default: self
        }
    }

    /// An integer, or a string that contains one. Some protocols write integers as strings, because JSON's numbers can
    /// lose digits.
    package var asInt: Int? { int ?? string.flatMap { Int($0) } }
}
