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
        func known(_ text: String?) -> String? { text?.allSatisfy(\.isWhitespace) == false ? text : nil }
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
        var properties: Properties = [:]
        properties[numberName] = number.map { .string($0) }
        properties[buildName] = build.map { .string($0) }
        return properties
    }
}

/// An `$AppInstall` or `$AppUpdate`, which is on disk before it is tracked.
///
/// If the process ends after the event was tracked and before it is removed from disk, it stays there. The next launch
/// then tracks it with the same id, and receivers can drop the second one. So it is neither lost nor counted twice.
struct VersionEvent: Sendable, Equatable {
    var id: EventID
    var time: Timestamp
    /// Nil for an `$AppInstall`.
    var previous: AppVersion?
    var current: AppVersion

    var name: String { previous == nil ? "$AppInstall" : "$AppUpdate" }

    var properties: Properties {
        var properties = current.properties("$app_version", "$app_build")
        if let previous { properties.merge(previous.properties("$previous_version", "$previous_build")) }
        return properties
    }

    var object: Properties {
        properties + ["id": .string(id.description), "time": .date(time), "is_update": .bool(previous != nil)]
    }
}

extension VersionEvent {
    init?(_ object: Properties) {
        guard let id = object["id"]?.string.flatMap({ EventID($0) }), let time = object["time"]?.date,
            let isUpdate = object["is_update"]?.bool
        else { return nil }
        self.id = id
        self.time = time
        current = AppVersion(number: object["$app_version"]?.string, build: object["$app_build"]?.string)
        previous =
            isUpdate
            ? AppVersion(number: object["$previous_version"]?.string, build: object["$previous_build"]?.string) : nil
    }
}
