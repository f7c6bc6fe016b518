/// The names of one scope, each once.
struct Names {
    private var taken: Set<String>

    init(taken: Set<String> = []) { self.taken = taken }

    /// Returns the name, with a number if it is taken already.
    mutating func unique(_ name: String) -> String {
        var result = name
        var number = 2
        while !taken.insert(result).inserted {
            result = "\(name)\(number)"
            number += 1
        }
        return result
    }
}

extension String {
    /// `video_clicked` becomes `VideoClicked`. A name that Swift or Sluice uses gets the suffix.
    func typeName(reserving suffix: String) -> String {
        var name = words.isEmpty ? suffix : words.map(\.capitalized).joined()
        if name.first?.isNumber == true { return "_\(name)" }
        // Also `Property`, which becomes `PropertyValue`.
        while reservedTypeNames.contains(name) { name += suffix }
        return name
    }

    /// `user_id` becomes `userID`, and `SKU` becomes `sku`. Not escaped.
    var memberName: String {
        guard let first = words.first else { return "value" }
        let name = first.beginningLowercased + words.dropFirst().map(\.capitalized).joined()
        if name.first?.isNumber == true { return "_\(name)" }
        return reservedMemberNames.contains(name) ? name + "Value" : name
    }

    /// The name as source code.
    var escaped: String { keywords.contains(self) ? "`\(self)`" : self }

    /// A literal of Swift.
    var literal: String {
        var result = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            // Control characters, and some that are invisible or change the direction of the line.
            case "\0"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}", "\u{200E}", "\u{200F}",
                "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\u{FEFF}":
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// The singular of an English plural, for the type of an array's elements.
    var singular: String {
        if hasSuffix("ies"), count > 4 { return dropLast(3) + "y" }
        if hasSuffix("s"), !hasSuffix("ss"), count > 3 { return String(dropLast()) }
        return self + "_element"
    }

    /// The parts between characters that no name can have.
    private var words: [Substring] {
        split {
            !($0.isLetter || $0.isNumber && $0.isASCII) || !$0.unicodeScalars.allSatisfy(\.properties.isXIDContinue)
        }
    }
}

extension Substring {
    /// The word in the middle of a name.
    fileprivate var capitalized: String {
        ["id", "url"].contains(self) ? uppercased() : prefix(1).uppercased() + dropFirst()
    }

    /// The word at the beginning of a name: `URLPath` becomes `urlPath`.
    fileprivate var beginningLowercased: String {
        let capitals = prefix { $0.isUppercase }
        if capitals.count <= 1 || capitals.endIndex == endIndex {
            return capitals.lowercased() + self[capitals.endIndex...]
        }
        // The last capital begins the next word, unless a digit follows.
        let isWord = self[capitals.endIndex].isLowercase
        let end = isWord ? index(before: capitals.endIndex) : capitals.endIndex
        return self[..<end].lowercased() + self[end...]
    }
}

/// The types that generated code uses, and the ones that a host probably uses beside it.
private let reservedTypeNames: Set<String> = [
    "Any", "AnyObject", "Array", "Bool", "Character", "Codable", "Data", "Date", "Decodable", "Dictionary",
    "Double", "Encodable", "Equatable", "Error", "Event", "EventID", "EventTracking", "EventValues", "Float",
    "Hashable", "Identifiable", "Int", "Int64", "Never", "Optional", "Pipeline", "Processor", "Properties",
    "Property", "PropertyArray", "PropertyConvertible", "PropertyValue", "Protocol", "Result", "Self", "Sendable",
    "Sequence", "Set", "SluiceError", "Store", "String", "Swift", "Task", "Timestamp", "TrackedEvent",
    "TrackingPlan", "Transport", "Type", "TypedEvent", "UUID", "URL", "Void",
]

/// Names that can't be escaped, and cases that an optional has too.
private let reservedMemberNames: Set<String> = [
    "self", "Self", "init", "Type", "none", "some", "allCases", "rawValue", "_",
]

private let keywords: Set<String> = [
    "actor", "any", "as", "associatedtype", "async", "await", "borrowing", "break", "case", "catch", "class",
    "consuming", "continue", "default", "defer", "deinit", "do", "each", "else", "enum", "extension", "fallthrough",
    "false", "fileprivate", "final", "for", "func", "guard", "if", "import", "in", "indirect", "infix", "inout",
    "internal", "is", "isolated", "lazy", "let", "macro", "mutating", "nil", "nonisolated", "open", "operator",
    "override", "package", "postfix", "precedencegroup", "prefix", "private", "protocol", "public", "repeat",
    "required", "rethrows", "return", "sending", "static", "struct", "subscript", "super", "switch", "throw", "throws",
    "true", "try", "typealias", "unowned", "var", "weak", "where", "while",
]
