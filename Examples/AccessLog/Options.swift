import Foundation
import SluiceHTTP

/// The options on the command line.
struct Options {
    static let usage = """
        usage: AccessLog [FILE|-] [--store DIR] [--to URL|stdout] [--format FORMAT] [--deadline SECONDS]

        --store DIR         keep events on disk instead of in memory
        --to URL|stdout     where to deliver them (stdout)
        --format FORMAT     ndjson (the default); gzip, which is compressed ndjson; json, an array; clickhouse:TABLE;
                            clickhouse18:TABLE for servers older than 22.2; influx1:DATABASE; kinesis:STREAM,
                            firehose:STREAM, and s3 for the URL of a bucket, with the keys and the region of the
                            environment variables of AWS
        --deadline SECONDS  how long to keep trying at the end (30)
        """

    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    private(set) var file = "-"
    private(set) var store: String?
    /// Nil for standard output.
    private(set) var url: String?
    private(set) var format: HTTPFormat = .ndjson
    private(set) var deadline = 30

    init(_ arguments: ArraySlice<String>) throws {
        var arguments = arguments
        while let argument = arguments.popFirst() {
            guard argument.hasPrefix("--") else {
                file = argument
                continue
            }
            guard let value = arguments.popFirst() else { throw Mistake(description: "\(argument) needs a value") }
            switch argument {
            case "--store": store = value
            case "--to": url = value == "stdout" ? nil : value
            case "--format": format = try Options.format(value)
            case "--deadline":
                guard let seconds = Int(value) else {
                    throw Mistake(description: "\(value) is not a number of seconds")
                }
                deadline = seconds
            default: throw Mistake(description: "unknown option \(argument)")
            }
        }
    }

    private static func format(_ text: String) throws -> HTTPFormat {
        let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
        let environment = ProcessInfo.processInfo.environment
        switch (parts.first, parts.count) {
        case ("ndjson", 1): return .ndjson
        case ("gzip", 1): return .vector
        case ("json", 1): return .jsonArray
        case ("clickhouse", 2): return .clickHouse(table: parts[1])
        case ("clickhouse18", 2): return .clickHouseLegacy(table: parts[1])
        case ("influx1", 2): return .influxDBV1(database: parts[1])
        case ("s3", 1):
            return .objects(
                region: environment["AWS_REGION"] ?? "us-east-1", accessKey: environment["AWS_ACCESS_KEY_ID"],
                secretKey: environment["AWS_SECRET_ACCESS_KEY"])
        case ("kinesis", 2), ("firehose", 2):
            let make = parts[0] == "kinesis" ? HTTPFormat.kinesis : HTTPFormat.firehose
            return make(
                parts[1], environment["AWS_REGION"] ?? "us-east-1", environment["AWS_ACCESS_KEY_ID"],
                environment["AWS_SECRET_ACCESS_KEY"])
        default: throw Mistake(description: "unknown format \(text)")
        }
    }
}
