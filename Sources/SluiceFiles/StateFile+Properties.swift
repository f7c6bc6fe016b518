package import Sluice

extension StateFile {
    /// The object that was written last; nil if there is no such file.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/malformedLine`` if the file holds something else.
    package func readObject() throws(SluiceError) -> Properties? {
        guard let bytes = try read() else { return nil }
        guard case .object(let object) = try JSONReader.value(of: bytes) else {
            throw SluiceError(.malformedLine, "\(path) holds no object of JSON: remove it, or restore it from a backup")
        }
        return object
    }

    /// Replaces the contents by an object as JSON.
    package func write(_ object: Properties) throws(SluiceError) {
        var writer = JSONWriter()
        writer.object(object)
        try write(writer.bytes)
    }

    /// Reads the object; one that is damaged is kept aside, under the same name with `.corrupt` at its end.
    ///
    /// - Returns: nil if there is none.
    /// - Throws: the reason why there is none any more; and what goes wrong with the file.
    package func readObjectOrKeepAside() throws(SluiceError) -> Properties? {
        try readOrKeepAside { $0 }
    }

    /// The same, of an object that has to mean something.
    ///
    /// - Parameter decode: nil if it does not; it is damaged then.
    package func readOrKeepAside<Value>(_ decode: (Properties) -> Value?) throws(SluiceError) -> Value? {
        do throws(SluiceError) {
            guard let object = try readObject() else { return nil }
            guard let value = decode(object) else {
                throw SluiceError(.malformedLine, "\(path) lacks what it should hold, or holds it in other types")
            }
            return value
        } catch {
            if error.code == .malformedLine, let bytes = try read() {
                try StateFile(path: "\(path).corrupt").write(bytes)
            }
            throw error
        }
    }
}
