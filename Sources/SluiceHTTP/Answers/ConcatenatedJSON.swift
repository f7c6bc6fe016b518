import Sluice

/// JSON objects one behind the other, with or without space between them, as streams of results have them.
enum ConcatenatedJSON {
    /// Those objects that are whole, up to the first bytes that are none.
    static func objects(in bytes: [UInt8]) -> [Properties] {
        var result: [Properties] = []
        var start = 0
        while start < bytes.count {
            guard bytes[start] > 0x20 else {
                start += 1
                continue
            }
            guard let end = end(ofObjectAt: start, in: bytes) else { break }
            let answer = HTTPAnswer(status: 200, body: Array(bytes[start..<end]))
            guard let object = answer.jsonObject else { break }
            result.append(object)
            start = end
        }
        return result
    }

    /// Counts braces outside of strings; whether what they enclose is JSON is for the reader to say.
    private static func end(ofObjectAt start: Int, in bytes: [UInt8]) -> Int? {
        var depth = 0
        var isInString = false
        var isEscaped = false
        for index in start..<bytes.count {
            switch bytes[index] {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isInString: isEscaped = true
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "{") where !isInString: depth += 1
            case UInt8(ascii: "}") where !isInString:
                depth -= 1
                if depth <= 0 { return index + 1 }
            default: break
            }
        }
        return nil
    }
}
