extension Properties {
    /// Creates a list of the known properties. Nil leaves a property out.
    package init(known properties: KeyValuePairs<String, (any PropertyConvertible)?>) {
        self.init(properties.compactMap { name, value in value.map { (name, $0.propertyValue) } })
    }
}
