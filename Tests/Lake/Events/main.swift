// Writes a lake of events with everything that readers guess wrong. `Tests/Lake/run` starts it.
//
//     LakeEvents FOLDER COUNT [FILE_EVENTS]    compressed files of at most FILE_EVENTS events, 500 by default

import Sluice
import SluiceFiles

/// Numbers that are the same in each run.
struct Sequence {
    var state: UInt64 = 7

    mutating func below(_ limit: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(limit))
    }
}

/// Times far away, for readers that fit all times of a column into nanoseconds or seconds.
let farTimes: [Int64] = [-62_135_596_800_000, -1, 0, 4_102_444_800_000, 253_402_300_799_999]
let start: Int64 = 1_790_812_800_000  // 2026-10-01

struct Sample {
    var random = Sequence()
    let count: Int

    /// An event of a shop. `number` is its place.
    mutating func event(_ number: Int) -> Event {
        let user = random.below(900)
        let name = ["AppStarted", "ProductViewed", "ProductViewed", "AddedToCart", "Purchase"][random.below(5)]
        // Four weeks, and some of the first 30,000 events are far away. A large lake has no small files for these.
        var time = start + Int64(number) * 28 * 86_400_000 / Int64(count) + Int64(random.below(60_000))
        if number % 997 == 996, number < 30_000 { time = farTimes[number / 997 % farTimes.count] }
        var event = Event(
            id: EventID(high: UInt64(bitPattern: time) << 16 | 0x7000, low: 1 << 63 | UInt64(number)), name: name,
            time: Timestamp(milliseconds: time), priority: name == "Purchase" ? .critical : .normal,
            properties: properties(number, name))
        // Ids of digits, with zeros in front.
        event.distinctID = user % 3 == 0 ? "00\(user)" : "user-\(user)"
        if user % 2 == 0 { event.loginID = "\(user)@shop.example" }
        event.anonymousID = "a\(user)"
        return event
    }

    private mutating func properties(_ number: Int, _ name: String) -> Properties {
        var properties: Properties = ["number": .int(number)]
        // Whole numbers in the first files, and fractions later.
        let cents = 100 * (1 + random.below(200)) + (number > count / 2 ? 99 : 0)
        if name == "Purchase" {
            properties["amount"] = cents % 100 == 0 ? .int(cents / 100) : .double(Double(cents) / 100)
            // Beyond 2^53, where floating-point numbers have only even ones.
            properties["order"] = .int(9_007_199_254_740_993 + 2 * number)
        }
        properties["$app_version"] = .string("1.\(random.below(3))")
        // Two names that differ in case, with different types.
        properties["Screen"] = .string(["Home", "Sale"][random.below(2)])
        properties["screen"] = .int(random.below(10))
        // A name with dots beside an object whose path reads the same.
        properties["device.name"] = .int(random.below(5))
        properties["device"] = .object(["name": .string("phone \(random.below(4))"), "memory": .int(random.below(9))])
        switch random.below(3) {
        case 0: properties["coupon"] = .null
        case 1: properties["coupon"] = .string(["SAVE10", "ünï \"2\" \\ \n 🎁"][random.below(2)])
        default: break
        }
        properties["options"] = random.below(2) == 0 ? .object([:]) : .array([])
        properties["at"] = .date(Timestamp(milliseconds: start + Int64(random.below(60)) * 86_400_000))
        // A text that looks like a date, and one that looks like a number.
        properties["zip"] = .string(["01234", "2026-02-30", "1e5"][random.below(3)])
        properties["new"] = .bool(random.below(2) == 0)
        // A name that first appears late.
        if number > count - count / 10 { properties["late"] = .int(number % 7) }
        return properties
    }
}

guard CommandLine.arguments.count >= 3, let count = Int(CommandLine.arguments[2]) else {
    throw SluiceError(.invalidArgument, "LakeEvents FOLDER COUNT [FILE_EVENTS]")
}
let perFile = CommandLine.arguments.dropFirst(3).first.flatMap { Int($0) } ?? 500
let transport = FileTransport(at: CommandLine.arguments[1])
try transport.open()
var sample = Sample(count: count)
var number = 0
while number < count {
    var events: [EventLine] = []
    while number < count, events.count < perFile {
        events.append(try EventLine(sample.event(number)))
        number += 1
    }
    let verdicts = try await transport.send(Batch(id: 1, events: events))
    guard verdicts == .all(.accepted) else { throw SluiceError(.inputOutput, "\(verdicts)") }
}
