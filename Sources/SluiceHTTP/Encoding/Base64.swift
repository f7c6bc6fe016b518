internal import Sluice

extension [UInt8] {
    var base64: [UInt8] { Base64.encode(self) }
}

extension String {
    var base64: String { String(decoding: Base64.encode(Array(utf8)), as: UTF8.self) }
}
