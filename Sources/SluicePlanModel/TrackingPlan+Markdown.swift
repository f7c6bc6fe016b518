extension TrackingPlan {
    /// The plan as a page of Markdown: each event with its owner and its properties, and a list of all personal data.
    ///
    /// ```swift
    /// print(plan.markdown)
    /// ```
    ///
    /// The same plan always results in the same page. Events are in the order of the file.
    public var markdown: String {
        var lines = [
            "# \(name.markdown)", "", "Version \(version), \(events.count) event\(events.count == 1 ? "" : "s").", "",
        ]
        for event in events { lines += event.markdown }
        lines += ["## Personal data", ""]
        let personal = events.flatMap(\.personalRows)
        if personal.isEmpty {
            lines.append("The plan marks no property as personal.")
        } else {
            lines += ["| event | property | owner | treatment | description |", "|---|---|---|---|---|"] + personal
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension EventPlan {
    fileprivate var markdown: [String] {
        var lines = ["## \(name.markdown)", "", description.markdown, ""]
        let facts = [owner.map { "Owner: \($0.markdown)." }, since.map { "Since version \($0)." }].compactMap(\.self)
        if !facts.isEmpty { lines += [facts.joined(separator: " "), ""] }
        var rows: [String] = []
        rule.forEachProperty { path, property in
            let required = property.isRequired ? "yes" : ""
            let since = property.rule.since.map { "since \($0)" }
            let personal = property.rule.personal.map { "personal: \($0.rawValue)" }
            let notes = [property.rule.limitText, personal, since].compactMap(\.self).joined(separator: ", ")
            let cells = [path, property.rule.typeText, required, notes, property.rule.description ?? ""]
            rows.append("| \(cells.map(\.markdown).joined(separator: " | ")) |")
        }
        if rows.isEmpty { return lines }
        return lines + ["| property | type | required | rules | description |", "|---|---|---|---|---|"] + rows + [""]
    }

    fileprivate var personalRows: [String] {
        var rows: [String] = []
        rule.forEachProperty { path, property in
            for (path, rule) in property.rule.levels(at: path) {
                guard let personal = rule.personal else { continue }
                let description = rule.description ?? property.rule.description ?? ""
                let cells = [name, path, owner ?? "", personal.rawValue, description]
                rows.append("| \(cells.map(\.markdown).joined(separator: " | ")) |")
            }
        }
        return rows
    }
}

extension ValueRule {
    /// Calls `body` for each property, with the properties of its objects below it.
    fileprivate func forEachProperty(below path: String = "", _ body: (String, PropertyRule) -> Void) {
        for property in properties {
            let place = path + property.name
            body(place, property)
            for (path, rule) in property.rule.levels(at: place) { rule.forEachProperty(below: path + ".", body) }
        }
    }

    /// The rule itself, and for an array the rules of its elements, with their paths.
    fileprivate func levels(at path: String) -> [(path: String, rule: ValueRule)] {
        [(path: path, rule: self)] + (items?.levels(at: path + "[]") ?? [])
    }

    fileprivate var typeText: String {
        switch kind {
        case .choice: choices.text
        case .array: "array of \(items?.typeText ?? "")"
        default: kind.rawValue
        }
    }

    /// The limits in words, such as `at most 40 characters`; nil without limits.
    package var limitText: String? {
        var parts: [String] = []
        let (least, most) = (limits.length.lowerBound, limits.length.upperBound)
        if least > 0 { parts.append("at least \(count(least))") }
        if most < .max { parts.append("at most \(count(most))") }
        if limits.minimum.isFinite { parts.append("at least \(limits.minimum.text)") }
        if limits.maximum.isFinite { parts.append("at most \(limits.maximum.text)") }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// A number of characters or elements in words.
    func count(_ count: Int) -> String {
        "\(count) \(kind == .array ? "element" : "character")\(count == 1 ? "" : "s")"
    }
}

extension String {
    /// The text on one line. Characters that have a meaning in Markdown, a table or HTML are escaped.
    fileprivate var markdown: String {
        var result = ""
        for character in self {
            switch character {
            case "\n", "\r", "\r\n": result += " "
            case "|", "<", ">", "`", "*", "_", "[", "]", "\\": result += "\\\(character)"
            default: result.append(character)
            }
        }
        return result
    }
}
