import Sluice
import SluiceTesting
import Testing

/// The writer's fast paths, compared with JSON that is written scalar by scalar.
@Suite struct JSONWriterTests {
    private func written(limit: Int = .max, _ body: (inout JSONWriter) -> Void) -> String? {
        var writer = JSONWriter(capacity: 8, limit: limit)
        body(&writer)
        return writer.isOverfull ? nil : String(decoding: writer.bytes, as: UTF8.self)
    }

    private func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += #"\""#
            case "\\": result += #"\\"#
            case "\u{8}": result += #"\b"#
            case "\t": result += #"\t"#
            case "\n": result += #"\n"#
            case "\u{C}": result += #"\f"#
            case "\r": result += #"\r"#
            case "\0"..<" ":
                let digits = String(scalar.value, radix: 16)
                result += #"\u"# + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// The writer checks up to sixteen bytes in one step. It has to find each byte in each place, with any neighbors.
    @Test(
        "each escaped character and its neighbors are right in each place of a string",
        arguments: [1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33])
    func escapesAreRightInEachPlace(length: Int) {
        let bytes = Array(0..<UInt8(0x24)) + Array(0x5A..<0x5F) + [0x7F]
        var wrong: [String] = []
        for neighbour in ["a", "\u{7F}", "\u{80}", " ", "!", "#", "[", "]"] as [Unicode.Scalar] {
            for place in 0..<length {
                for byte in bytes {
                    var scalars = [Unicode.Scalar](repeating: neighbour, count: length)
                    scalars[place] = Unicode.Scalar(byte)
                    var text = String()
                    text.unicodeScalars.append(contentsOf: scalars)
                    if written({ $0.string(text) }) != quoted(text) { wrong.append(text) }
                }
            }
        }
        #expect(wrong == [])
    }

    @Test("random text is written unchanged except for escapes", arguments: UInt64(0)..<5)
    func randomTextIsWrittenUnchangedExceptEscapes(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<200 {
            var text = String()
            for _ in 0..<Int.random(in: 0...40, using: &random) {
                let range: ClosedRange<UInt32> = Bool.random(using: &random) ? 0...0x7F : 0x80...0xD7FF
                let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random))
                text.unicodeScalars.append(scalar ?? "?")
            }
            #expect(written { $0.string(text) } == quoted(text))
            let expected = "{" + quoted(text) + ":1," + quoted(text + "b") + ":" + quoted(text) + "}"
            let properties = Properties([(text, .int(1)), (text + "b", .string(text))])
            #expect(written { $0.object(properties) } == expected)
        }
    }

    @Test("integers of every length are written in their digits")
    func integersOfEveryLengthAreWritten() {
        var integers: [Int64] = [0, .min, .max, -1, 9, 10, -9, -10]
        var power: Int64 = 1
        for _ in 0..<18 {
            power *= 10
            integers += [power - 1, power, power + 1, 1 - power, -power, -power - 1]
        }
        for integer in integers {
            #expect(written { $0.integer(integer) } == String(integer))
            #expect(written { $0.value(.int(integer)) } == String(integer))
        }
        #expect(written { $0.integer(UInt64.max) } == String(UInt64.max))
        #expect(written { $0.integer(UInt8.max) } == "255")
    }

    /// The writer divides eight digits together.
    @Test("four digits are right in each place of an integer", arguments: [1, 10_000, 100_000_000, 1_000_000_000_000])
    func fourDigitsAreRightInEachPlace(factor: Int) {
        var random = SeededRandom(seed: UInt64(factor))
        let wrong = (0..<10_000).filter { digits in
            // The digits below them are zeros, nines, or random.
            let rests = [0, factor - 1, Int.random(in: 0..<factor, using: &random)]
            return rests.map { digits * factor + $0 }.contains { integer in
                written { $0.integer(integer) } != String(integer)
            }
        }
        #expect(wrong.prefix(5) == [])
    }

    /// The standard library's description is the shortest text that reads back as the same double.
    @Test("doubles are written in the fewest digits, including those with few decimals", arguments: UInt64(0)..<8)
    func doublesHaveFewestDigits(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var doubles: [Double] = [0, -0.0, 0.1, -0.1, 100, 1e-4, 1e-5, 99_999_999_999.9999, 1e11, 1e16, 0.1 + 0.2]
        for decimals in 0...6 {
            for digits in 1...17 {
                let whole = Double(Int64.random(in: 0..<Int64(1e18), using: &random) % Int64(pow10(digits)))
                let double = whole / pow10(decimals)
                doubles += [double, -double, double.nextUp, double.nextDown]
            }
        }
        for _ in 0..<2_000 { doubles.append(Double(bitPattern: random.next())) }
        let wrong = doubles.filter { double in
            written { $0.value(.double(double)) } != (double.isFinite ? double.description : "null")
        }
        #expect(wrong.isEmpty, "\(wrong)")
    }

    private func pow10(_ exponent: Int) -> Double { (0..<exponent).reduce(1) { power, _ in power * 10 } }

    @Test("bytes of any collection are copied")
    func bytesOfAnyCollectionAreCopied() {
        #expect(written { $0.raw(Array("[1]".utf8)) } == "[1]")
        #expect(written { $0.raw(repeatElement(UInt8(ascii: "1"), count: 100)) } == String(repeating: "1", count: 100))
        #expect(written { $0.raw([UInt8]()) } == "")
    }

    /// Returns nil if the limit was reached.
    @Test("every write keeps the limit to the byte")
    func everyWriteKeepsLimit() {
        let bodies: [(inout JSONWriter) -> Void] = [
            { $0.string("a plain text") }, { $0.string("with a \n in it") }, { $0.integer(-1_234) },
            { $0.value(.double(0.5)) }, { $0.raw("null") }, { $0.raw(repeatElement(UInt8(ascii: "1"), count: 9)) },
            { $0.date(Timestamp(milliseconds: 0)) }, { $0.value([1, "two", ["three": nil]]) },
        ]
        for body in bodies {
            let whole = written(body)
            let size = whole?.utf8.count ?? 0
            #expect(written(limit: size, body) == whole)
            for limit in -30..<size {
                var writer = JSONWriter(limit: limit)
                body(&writer)
                writer.raw("")
                #expect(writer.isOverfull == true)
                #expect(writer.bytes.count <= max(0, limit))
            }
        }
    }

    @Test("objects and arrays write their own braces and commas")
    func membersAreSeparated() {
        let text = written {
            $0.object {
                $0["event"] = "A \"b\""
                $0["none"] = nil as String?
                $0["n"] = 1
                $0["null"] = PropertyValue.null
                $0.object("empty") { _ in }
                $0.object("own", ["a{": "}"])
                $0.object("inner") { $0["deep"] = true }
                $0.array("list", [1, 2]) { $0.integer($1) }
                $0.array("objects", ["x", "y"]) { json, name in json.object { $0["name"] = name } }
                $0.array("nothing", [] as [Int]) { $0.integer($1) }
                $0.raw("raw", Array("[{}]".utf8))
                $0["last"] = "{"
                $0["after"] = "x"
                $0.members(of: Array(#"{"m":1}"#.utf8))
                $0.members(of: Array("{}".utf8))
            }
        }
        #expect(
            text == #"{"event":"A \"b\"","n":1,"null":null,"empty":{},"own":{"a{":"}"},"inner":{"deep":true},"#
                + #""list":[1,2],"objects":[{"name":"x"},{"name":"y"}],"nothing":[],"raw":[{}],"last":"{","after":"x","#
                + #""m":1}"#)
        #expect(written { $0.object { $0.members(of: Array(#"{"m":1}"#.utf8)) } } == #"{"m":1}"#)
        #expect(written { $0.object { _ in } } == "{}")
    }
}
