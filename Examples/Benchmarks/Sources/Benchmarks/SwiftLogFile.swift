import Foundation
import Logging
import Sluice

/// swift-log, with the event's properties as metadata, and a handler that writes each line to a file.
struct SwiftLogFile: Candidate {
    let rows = [
        Row(
            name: "swift-log", description: "swift-log 1.16.2, a write(2) for each line",
            label: "swift-log, a line in a file")
    ]
    let workload: Workload

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        let handler = FileLogHandler(file: try LineFile(folder + "/events.log"))
        var logger = Logger(label: "benchmark") { _ in handler }
        for constant in workload.constants { logger[metadataKey: constant.name] = .string(constant.value.text) }
        let time = CPUTime()
        for index in 0..<events {
            logger.info("\(Sample.event)", metadata: Sample(index).metadata)
        }
        let cost = time.nanoseconds(for: events)
        try Failure.unless(Files.lineCount(under: folder), is: events, "lines")
        return [cost]
    }
}

/// As simple as a handler can be: `time level message key=value key=value …`, unsorted, nothing escaped.
private struct FileLogHandler: LogHandler {
    let file: LineFile
    var logLevel = Logger.Level.info
    var metadataProvider: Logger.MetadataProvider?
    var metadata: Logger.Metadata = [:] {
        // Values that are the same in every event become text once.
        didSet { constants = text(metadata) }
    }
    private var constants = ""

    init(file: LineFile) { self.file = file }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = "\(Date().timeIntervalSince1970) \(event.level) \(event.message)"
        line += constants
        if let metadata = event.metadata { line += text(metadata) }
        line += "\n"
        line.withUTF8 { file.append(UnsafeRawBufferPointer($0)) }
    }

    private func text(_ metadata: Logger.Metadata) -> String {
        var text = ""
        for (key, value) in metadata {
            text += " \(key)=\(value)"
        }
        return text
    }
}

extension Sample {
    fileprivate var metadata: Logger.Metadata {
        [
            "product": .string(product), "currency": .string(currency), "category": .string(category),
            "coupon": .string(coupon), "referrer": .string(referrer), "quantity": .stringConvertible(quantity),
            "stock": .stringConvertible(stock), "position": .stringConvertible(position),
            "amount": .stringConvertible(amount), "discount": .stringConvertible(discount),
            "is_gift": .stringConvertible(isGift), "is_returning": .stringConvertible(isReturning),
        ]
    }
}

extension PropertyValue {
    fileprivate var text: String {
        switch self {
        case .string(let string): string
        case .int(let int): "\(int)"
        case .double(let double): "\(double)"
        case .bool(let bool): "\(bool)"
        case .date, .array, .object, .null: "\(self)"
        }
    }
}
