import Sluice
import SluiceFilters
import TestSupport
import Testing

/// Expects that a pattern turns a text into another one, or leaves it unchanged if `redacted` is nil.
func expectRedaction(
    _ pattern: Redaction.Pattern, _ text: String, _ redacted: String?, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let event = try #require(Redaction(patterns: [pattern]).processed("Event", ["text": .string(text)]))
    #expect(event.properties == ["text": .string(redacted ?? text)], sourceLocation: sourceLocation)
}
