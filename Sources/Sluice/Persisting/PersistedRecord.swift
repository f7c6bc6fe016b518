/// A state as bytes: `{"item":{…},"checksum":"…"}`. The checksum finds damage that leaves a valid value.
struct PersistedRecord<Value: PersistedValue> {
    var value: Value
    /// The places that keep the device's part are not written yet.
    var isPending = false
    /// A hash of the id of the device that wrote it, if the place is bound to a device.
    private var device: String?

    init(value: Value, isPending: Bool) {
        self.value = value
        self.isPending = isPending
    }

    /// Returns nil for damaged bytes.
    init?(_ bytes: [UInt8], _ item: String) {
        do throws(SluiceError) {
            guard case .object(let record) = try JSONReader.value(of: bytes), case .object(let object) = record[item],
                record["checksum"] == .string(Self.checksum(of: object)), let value = Value(object)
            else { return nil }
            self.value = value
            isPending = object["is_pending"] == true
            if case .string(let device) = object["device"] { self.device = device }
        } catch {
            return nil
        }
    }

    func bytes(_ item: String) -> [UInt8] {
        var object = value.object
        if isPending { object["is_pending"] = true }
        object["device"] = device.map { .string($0) }
        var writer = JSONWriter()
        writer.object([item: .object(object), "checksum": .string(Self.checksum(of: object))])
        return writer.bytes
    }

    /// Notes the device. Without its id, the record counts as one of another device.
    mutating func bind(to id: String?) { device = id.map { Self.hash($0.utf8) } }

    /// Whether the device with this id wrote it.
    func isOwn(_ id: String?) -> Bool { id != nil && device == id.map { Self.hash($0.utf8) } }

    private static func checksum(of object: Properties) -> String {
        var writer = JSONWriter()
        writer.object(object)
        return hash(writer.bytes)
    }

    private static func hash(_ bytes: some Sequence<UInt8>) -> String {
        String(FNV1a(bytes).value, radix: 16)
    }
}
