/// Writes one value into its node. The containers of a value are views of the same node.
struct PropertyEncoder: Encoder, SingleValueEncodingContainer {
    /// The state of one encoding, shared by all its encoders.
    final class Run {
        let type: String
        /// The nested calls of `encode(to:)`. Each takes stack.
        var calls = 0
        /// All values so far. A graph whose objects refer to each other has as many paths as 2 to the power of its depth.
        var values = 0
        /// The first error. The value goes on with its other members.
        var failure: SluiceError?

        init(type: String) { self.type = type }
    }

    /// A value that is being written.
    final class Node {
        var content = Content.nothing
        /// The nested containers of an object.
        var nested: [String: Node] = [:]

        var isFailed: Bool { if case .failed = content { true } else { false } }

        var value: PropertyValue {
            switch content {
            case .nothing: .object([:])
            case .failed: .null
            case .value(let value): value
            case .object(let pairs):
                .object(Properties(pairs.lazy.filter { !$0.node.isFailed }.map { ($0.name, $0.node.value) }))
            case .array(let nodes): .array(PropertyArray(nodes.map(\.value)))
            }
        }
    }

    enum Content {
        case nothing
        /// An error came before anything was written.
        case failed
        case value(PropertyValue)
        case object([(name: String, node: Node)])
        case array([Node])
    }

    private static let maximumCalls = 128
    private static let maximumValues = 100_000

    let run: Run
    let node: Node
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init<Value>(of value: Value) {
        self.init(run: Run(type: "\(Value.self)"), codingPath: [])
    }

    private init(run: Run, codingPath: [any CodingKey], node: Node = Node()) {
        self.run = run
        self.node = node
        self.codingPath = codingPath
    }

    func error(_ problem: String, cause: (any Error)? = nil) -> SluiceError {
        let path = codingPath.map { ($0 as? Position).map { "[\($0.index)]" } ?? ".\($0.stringValue)" }.joined()
        return SluiceError(.unencodable, "\(run.type)\(path) can't be encoded: \(problem)", cause: cause)
    }

    // MARK: Values

    func write<Value: Encodable>(_ value: Value) throws(SluiceError) {
        if let value = value as? any PropertyConvertible { return set(.value(value.propertyValue)) }
        guard run.calls < PropertyEncoder.maximumCalls else {
            throw error("\(Value.self) is nested in more than \(PropertyEncoder.maximumCalls) values")
        }
        if PropertyEncoder.hasOddForm(Value.self) {
            throw error("add the product SluiceFoundation, which has the form of \(Value.self)")
        }
        if value is any BinaryInteger {
            throw error("\(Value.self) is wider than the 64 bits of receivers: convert it to a string or a double")
        }
        run.calls += 1
        defer { run.calls -= 1 }
        do {
            if let dictionary = value as? any StringKeyed {
                try dictionary.encodeSorted(to: self)
            } else {
                try value.encode(to: self)
            }
        } catch let error as SluiceError where error.code == .unencodable {
            throw error
        } catch {
            // The text of the error can contain values of the event.
            throw self.error("\(Value.self) threw an error of type \(type(of: error))", cause: error)
        }
    }

    /// Whether a type is one of Foundation's whose own form no receiver expects, such as a date as the seconds since 2001.
    static func hasOddForm(_ type: Any.Type) -> Bool {
        ["Data", "Date", "Decimal", "URL"].contains("\(type)") && String(reflecting: type).hasPrefix("Foundation")
    }

    /// Converts a value of a dictionary without static types.
    func convert(_ value: Any) throws(SluiceError) {
        if let value = value as? any PropertyConvertible { return set(.value(value.propertyValue)) }
        if let dictionary = value as? [String: Any] {
            set(.object([]))
            for (name, value) in dictionary.sorted(by: { $0.key < $1.key }) where hasRoom {
                try add(PropertyName(name))?.convert(value)
            }
        } else if let array = value as? [Any] {
            set(.array([]))
            for (index, value) in array.enumerated() where hasRoom { try add(Position(index))?.convert(value) }
        } else if let value = PropertyValue(objectOfFoundation: value) {
            set(.value(value))
        } else {
            let type = Swift.type(of: value)
            let hint = PropertyEncoder.hasOddForm(type) ? ": add the product SluiceFoundation, which has its form" : ""
            throw error("\(type) isn't PropertyConvertible\(hint)")
        }
    }

    /// Whether values of this node are within ``PropertyValue/maximumDepth``. An empty container below it becomes null.
    private var hasRoom: Bool { codingPath.count < PropertyValue.maximumDepth }

    func set(_ content: Content) {
        switch (node.content, content) {
        case (.nothing, _), (.failed, _): node.content = content
        case (.object, .object), (.array, .array): break
        default: fail(error("its encode(to:) asks for containers of two kinds, or writes two single values"))
        }
    }

    private func fail(_ error: SluiceError) { run.failure = run.failure ?? error }

    /// Encodes a value, or notes the error, after which other values can be encoded.
    func encodeOrFail(_ body: () throws(SluiceError) -> Void) {
        do {
            try body()
        } catch {
            fail(error)
            if case .nothing = node.content { node.content = .failed }
        }
    }

    // MARK: Children

    /// Encodes a value as a child. Below the maximum depth, nothing is encoded.
    func encode(_ value: some Encodable, at key: any CodingKey) throws(SluiceError) {
        if codingPath.count > PropertyValue.maximumDepth {
            throw error("nested in more than \(PropertyValue.maximumDepth) levels")
        }
        guard hasRoom else { return }
        run.values += 1
        guard run.values <= PropertyEncoder.maximumValues else {
            throw error("it has more than \(PropertyEncoder.maximumValues) values, or contains itself")
        }
        guard let child = add(key) else { return }
        child.encodeOrFail { () throws(SluiceError) in try child.write(value) }
    }

    /// Returns an encoder for a child of this object or array.
    func add(_ key: any CodingKey) -> PropertyEncoder? {
        let child = PropertyEncoder(run: run, codingPath: codingPath + [key])
        switch node.content {
        case .object(var pairs):
            node.content = .nothing  // So that the list isn't copied.
            pairs.append((key.stringValue, child.node))
            node.content = .object(pairs)
        case .array(var nodes):
            node.content = .nothing
            nodes.append(child.node)
            node.content = .array(nodes)
        case .nothing, .failed, .value:
            return nil
        }
        return child
    }

    /// Returns an encoder for a nested container: the same one for the same key of an object.
    func nested(_ key: any CodingKey) -> PropertyEncoder {
        guard codingPath.count <= PropertyValue.maximumDepth else {
            fail(error("nested in more than \(PropertyValue.maximumDepth) levels"))
            return PropertyEncoder(run: run, codingPath: codingPath)
        }
        if case .object = node.content, let known = node.nested[key.stringValue] {
            return PropertyEncoder(run: run, codingPath: codingPath + [key], node: known)
        }
        guard let child = add(key) else { return PropertyEncoder(run: run, codingPath: codingPath) }
        node.nested[key.stringValue] = child.node
        return child
    }

    // MARK: Containers

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        set(.object([]))
        return KeyedEncodingContainer(Keyed<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        set(.array([]))
        return Unkeyed(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() { set(.value(.null)) }
    func encode(_ value: some Encodable) throws { try write(value) }
    // The defaults of these two throw an error without the path.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    func encode(_ value: Int128) throws { try write(value) }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    func encode(_ value: UInt128) throws { try write(value) }

    private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let encoder: PropertyEncoder
        var codingPath: [any CodingKey] { encoder.codingPath }

        func encodeNil(forKey key: Key) throws { try encode(PropertyValue.null, forKey: key) }
        func encode(_ value: some Encodable, forKey key: Key) throws { try encoder.encode(value, at: key) }
        // The defaults of these two throw an error without the key.
        @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
        func encode(_ value: Int128, forKey key: Key) throws { try encoder.encode(value, at: key) }
        @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
        func encode(_ value: UInt128, forKey key: Key) throws { try encoder.encode(value, at: key) }
        func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type, forKey key: Key
        ) -> KeyedEncodingContainer<NestedKey> { encoder.nested(key).container(keyedBy: type) }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            encoder.nested(key).unkeyedContainer()
        }
        func superEncoder() -> any Encoder { encoder.nested(PropertyName("super")) }
        func superEncoder(forKey key: Key) -> any Encoder { encoder.nested(key) }
    }

    private struct Unkeyed: UnkeyedEncodingContainer {
        let encoder: PropertyEncoder
        var codingPath: [any CodingKey] { encoder.codingPath }

        var count: Int {
            if case .array(let nodes) = encoder.node.content { nodes.count } else { 0 }
        }
        private var next: Position { Position(count) }

        func encodeNil() throws { try encode(PropertyValue.null) }
        func encode(_ value: some Encodable) throws { try encoder.encode(value, at: next) }
        @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
        func encode(_ value: Int128) throws { try encoder.encode(value, at: next) }
        @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
        func encode(_ value: UInt128) throws { try encoder.encode(value, at: next) }
        func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type
        ) -> KeyedEncodingContainer<NestedKey> { encoder.nested(next).container(keyedBy: type) }
        func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.nested(next).unkeyedContainer() }
        func superEncoder() -> any Encoder { encoder.nested(next) }
    }

    /// The index of an element in an array.
    private struct Position: CodingKey {
        let index: Int
        var stringValue: String { "\(index)" }
        var intValue: Int? { index }

        init(_ index: Int) { self.index = index }
        init?(stringValue: String) { nil }
        init?(intValue: Int) { self.init(intValue) }
    }
}

extension PropertyValue {
    /// The value of an `NSNull`, an `NSString` or an `NSNumber`, which JSONSerialization returns. Only a host with Foundation
    /// can have one, so its class is found by its name, and its value by Swift's bridging.
    fileprivate init?(objectOfFoundation object: Any) {
        let name = "\(type(of: object))"
        if name == "NSNull" {
            self = .null
        } else if name == "__NSCFBoolean", let bool = object as? Bool {
            self = .bool(bool)
        } else if let string = object as? String {
            self = .string(string)
        } else if object is Double || object is Float || object is UInt64 {
            // The digits tell 1 from 1.0, and are the shortest ones of a Float.
            let digits = "\(object)"
            self = Int64(digits).map { .int($0) } ?? .double(Double(digits) ?? .nan)
        } else {
            return nil
        }
    }
}

/// A dictionary, which would encode its values in an order that differs from process to process.
protocol StringKeyed {
    func encodeSorted(to encoder: PropertyEncoder) throws
}

extension Dictionary: StringKeyed where Key == String, Value: Encodable {
    func encodeSorted(to encoder: PropertyEncoder) throws {
        var container = encoder.container(keyedBy: PropertyName.self)
        for (name, value) in sorted(by: { $0.key < $1.key }) { try container.encode(value, forKey: PropertyName(name)) }
    }
}
