package import SluiceEvents

/// A state as bytes: `{"item":{…},"version":1,"checksum":"…"}`. The checksum finds damage that leaves a valid value.
package enum PersistedRecord<Value: PersistedValue> {
    /// Returns nil for damaged bytes.
    ///
    /// - Throws: ``SluiceError/Code/otherVersion`` if `Value` can't be made from this version.
    package static func value(
        of bytes: [UInt8], _ item: String, in place: Persistence.Place
    ) throws(SluiceError) -> Value? {
        guard let (object, version) = parsed(bytes, item) else { return nil }
        if version == Value.version { return Value(object) }
        guard let upgraded = Value.upgrade(object, from: version) else {
            throw SluiceError(
                .otherVersion,
                "\(place.name(item)) has version \(version), and this program knows version \(Value.version): run the "
                    + "program that wrote it, or remove the state")
        }
        return Value(upgraded)
    }

    package static func bytes(of value: Value, _ item: String) -> [UInt8] {
        let object = value.object
        var writer = JSONWriter(marksDates: true)
        // Member by member: in a list of properties, the object would be one level deeper, and be cut.
        writer.object { record in
            record.object(item, object)
            record["version"] = PropertyValue.int(Value.version)
            record["checksum"] = checksum(of: object, Value.version)
        }
        return writer.bytes
    }

    private static func parsed(_ bytes: [UInt8], _ item: String) -> (object: Properties, version: Int)? {
        // As in an event's line: the object can have as many levels as the properties of an event.
        let record = attempt(try JSONReader.fields(of: bytes), or: [:])
        guard case .object(let object) = record[item] else { return nil }
        var version: Int?
        if case .int(let number)? = record["version"] { version = Int(clamping: number) }
        guard record["checksum"] == .string(checksum(of: object, version)) else { return nil }
        // Files without a version are older than versions.
        return (object, version ?? 1)
    }

    /// FNV-1a with 64 bits, in hexadecimal. It detects accidents, not forgeries.
    private static func checksum(of object: Properties, _ version: Int?) -> String {
        var writer = JSONWriter(marksDates: true)
        writer.object(object)
        if let version { writer.value(.int(version)) }
        return String(FNV1a(writer.bytes).value, radix: 16)
    }
}
