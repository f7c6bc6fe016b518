import Foundation
import Sluice

/// A recorder as many hosts write it: a `Codable` event, `JSONEncoder`, and a `FileHandle` opened once.
struct JSONEncoderFile: Candidate {
    let rows = [
        Row(
            name: "json-encoder", description: "JSONEncoder, FileHandle.write for each event",
            label: "JSONEncoder and FileHandle")
    ]
    let workload: Workload

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        let path = folder + "/events.jsonl"
        guard FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path)
        else { throw Failure("\(path) can't be created") }
        let anonymousID = UUID().uuidString
        let constants = workload.constants.map { Constant(name: $0.name, value: $0.value) }
        let encoder = JSONEncoder()
        let time = CPUTime()
        for index in 0..<events {
            let record = Record(
                id: UUID(), event: Sample.event, time: Date().timeIntervalSince1970, distinct_id: anonymousID,
                anonymous_id: anonymousID, properties: Record.Properties(sample: Sample(index), constants: constants))
            var line = try encoder.encode(record)
            line.append(UInt8(ascii: "\n"))
            try file.write(contentsOf: line)
        }
        let cost = time.nanoseconds(for: events)
        try file.close()
        try Failure.unless(Files.lineCount(under: folder), is: events, "lines")
        return [cost]
    }
}

/// The same keys and values as in Sluice's line.
private struct Record: Encodable {
    let id: UUID
    let event: String
    let time: Double
    let distinct_id: String
    let anonymous_id: String
    let properties: Properties

    struct Properties: Encodable {
        let sample: Sample
        let constants: [Constant]

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Name.self)
            try container.encode(sample.product, forKey: "product")
            try container.encode(sample.currency, forKey: "currency")
            try container.encode(sample.category, forKey: "category")
            try container.encode(sample.coupon, forKey: "coupon")
            try container.encode(sample.referrer, forKey: "referrer")
            try container.encode(sample.quantity, forKey: "quantity")
            try container.encode(sample.stock, forKey: "stock")
            try container.encode(sample.position, forKey: "position")
            try container.encode(sample.amount, forKey: "amount")
            try container.encode(sample.discount, forKey: "discount")
            try container.encode(sample.isGift, forKey: "is_gift")
            try container.encode(sample.isReturning, forKey: "is_returning")
            for constant in constants { try container.encode(constant, forKey: Name(stringLiteral: constant.name)) }
        }
    }
}

private struct Constant: Encodable {
    let name: String
    let value: PropertyValue

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch value {
        case .string(let string): try container.encode(string)
        case .int(let int): try container.encode(int)
        case .double(let double): try container.encode(double)
        case .bool(let bool): try container.encode(bool)
        case .date, .array, .object, .null: throw Failure("\(name) has a value that this can't encode")
        }
    }
}

private struct Name: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringLiteral value: String) { stringValue = value }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
