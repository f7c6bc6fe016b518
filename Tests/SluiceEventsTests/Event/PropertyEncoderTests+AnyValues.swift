import Foundation
import Testing

@testable import SluiceEvents

extension PropertyEncoderTests {
    @Test("the numbers, strings and nulls of JSONSerialization keep their types, also in NSArray and NSDictionary")
    func objectsOfFoundationAreConverted() throws {
        let json = Data(#"{"t":true,"one":1,"half":0.5,"n":null,"a":[true]}"#.utf8)
        let object = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        #expect(try Properties(converting: object).description == #"{"a":[true],"half":0.5,"n":null,"one":1,"t":true}"#)
        let numbers: [(NSNumber, String)] = [
            (NSNumber(value: true), "true"), (NSNumber(value: false), "false"), (NSNumber(value: 1), "1"),
            (NSNumber(value: 0), "0"), (NSNumber(value: Int8(1)), "1"), (NSNumber(value: UInt8(1)), "1"),
            (NSNumber(value: Int64.min), "-9223372036854775808"),
            (NSNumber(value: UInt64.max), "1.8446744073709552e+19"),
            (NSNumber(value: Float(0.1)), "0.1"), (NSNumber(value: 0.1), "0.1"), (NSNumber(value: 1e300), "1e+300"),
            (NSNumber(value: Double.nan), "null"), (NSDecimalNumber(string: "12.50"), "12.5"),
        ]
        for (number, text) in numbers {
            #expect(try Properties(converting: ["v": number]).description == #"{"v":\#(text)}"#)
            let nested = NSDictionary(dictionary: ["a": NSArray(array: [number, NSNull(), NSString("x")])])
            #expect(
                try Properties(converting: ["v": nested]).description == #"{"v":{"a":[\#(text),null,"x"]}}"#)
        }
        let error = #expect(throws: SluiceError.self) { try Properties(converting: ["a": [NSObject()]]) }
        #expect(error?.message.hasSuffix(".a[0] can't be encoded: NSObject isn't PropertyConvertible") == true)
    }

    @Test("a dictionary of any values names the value that is none")
    func anyValuesAreConverted() throws {
        let fine: [String: Any] = ["b": [1, "x", Int?.none as Any] as [Any], "a": ["k": 1.5] as [String: Any]]
        #expect(try Properties(converting: fine).description == #"{"a":{"k":1.5},"b":[1,"x",null]}"#)
        let wrong: [String: Any] = ["b": [1, Refusal()] as [Any]]
        let error = #expect(throws: SluiceError.self) { try Properties(converting: wrong) }
        #expect(error?.message.hasSuffix(".b[1] can't be encoded: Refusal isn't PropertyConvertible") == true)
    }

    @Test("a dictionary of any values in 1,000 levels is cut, and counted")
    func deepAnyValuesAreCut() throws {
        var deep: [String: Any] = [:]
        for _ in 0..<1_000 { deep = ["d": deep] }
        #expect(try Properties(converting: deep).bounds.sanitizations == .truncatedDepth)
    }
}
