import Sluice

/// The version of the app and its build, as far as they are known.
struct AppVersion: Sendable, Equatable {
    /// A longer text isn't a version. The limit keeps the file of facts small.
    static let maximumBytes = 255

    /// Such as "2.4.1".
    var number: String?
    /// Such as "1312".
    var build: String?

    /// Blank texts are unknown.
    init(number: String? = nil, build: String? = nil) {
        func known(_ text: String?) -> String? { text?.isBlank == false ? text : nil }
        self.number = known(number)
        self.build = known(build)
    }

    var isKnown: Bool { number != nil || build != nil }

    /// Whether the number or the build differs. An unknown one never differs, and a lower one does.
    func differs(from other: AppVersion) -> Bool {
        func differ(_ one: String?, _ two: String?) -> Bool { one != nil && two != nil && one != two }
        return differ(number, other.number) || differ(build, other.build)
    }

    /// Adopts the number and the build of `newer`, as far as they are known.
    mutating func update(to newer: AppVersion) {
        number = newer.number ?? number
        build = newer.build ?? build
    }

    /// Properties with these names.
    func properties(_ numberName: String, _ buildName: String) -> Properties {
        Properties(known: [numberName: number, buildName: build])
    }
}

/// An `$AppInstall` or `$AppUpdate`, which is on disk before it is tracked.
///
/// If the process ends after the event was tracked and before it is removed from disk, it stays there. The next launch
/// then tracks it with the same id, and receivers can drop the second one. So it is neither lost nor counted twice.
struct VersionEvent: Sendable, Equatable {
    var id: EventID
    var time: Timestamp
    var isUpdate: Bool
    var properties: Properties

    var name: String { isUpdate ? "$AppUpdate" : "$AppInstall" }

    var object: Properties {
        properties + ["id": .string(id.description), "time": .date(time), "is_update": .bool(isUpdate)]
    }
}

extension VersionEvent {
    init?(_ object: Properties) {
        guard let id = object["id"]?.string.flatMap({ EventID($0) }), let time = object["time"]?.date,
            let isUpdate = object["is_update"]?.bool
        else { return nil }
        var properties = object
        properties.removeAll { ["id", "time", "is_update"].contains($0.name) }
        self.init(id: id, time: time, isUpdate: isUpdate, properties: properties)
    }
}
