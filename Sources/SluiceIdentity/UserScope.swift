public import Sluice

/// Adds the user of the current task to its events. Use it on servers, where each request has a user of its own.
///
/// List it in the pipeline, and open a scope around the handling of each request:
///
/// ```swift
/// let pipeline = try Pipeline {
///     UserScope()
///     JSONLStore(at: queueDirectory)
///     HTTPTransport(to: collector)
/// }
///
/// func handle(_ request: Request) async throws -> Response {
///     try await UserScope.with(distinctID: request.userID, properties: ["route": request.route]) {
///         pipeline.track("Order")
///         return try await respond(to: request)
///     }
/// }
/// ```
///
/// The scope is a task-local value. It holds for all code that the closure calls, for `async let` and child tasks, and
/// for tasks that it starts with `Task { … }`. A detached task and a callback of another library have no scope: open
/// one there too.
///
/// An event with ids of its own keeps them, and its own properties take precedence over the scope's. If its own id was refused,
/// such as `null`, it is no one's, and the scope adds its properties only. Without a scope, events pass unchanged. You can list
/// an ``Identity`` below it, for the events outside of all scopes: an event in a scope without a user doesn't get its ids.
/// Building a pipeline with an identity above it throws, because all events would have the identity's ids.
public struct UserScope: Processor {
    private struct Values: Sendable {
        var distinctID: String?
        var loginID: String?
        var anonymousID: String?
        var hasInvalidID = false
        var properties: Properties = [:]
    }

    @TaskLocal private static var current: Values?

    /// Creates the processor.
    public init() {}

    /// Runs `body` for a user.
    ///
    /// A scope inside another one has its own user, or the user of the outer scope if you pass no id. It has the
    /// properties of both scopes; its own take precedence.
    ///
    /// An id that is longer than 255 characters, contains NUL or stands for a missing one is left out, and its events count as
    /// ``Sluice/Sanitization/droppedID``: a request must not fail because of its analytics.
    ///
    /// - Parameters:
    ///   - distinctID: The id of the user. Nil: the login id, or the anonymous id.
    ///   - loginID: The id by which you know the user.
    ///   - anonymousID: The id of the user before the login, for example from a cookie.
    ///   - properties: Properties of all events in the scope.
    ///   - isolation: The actor that `body` runs on: the caller's by default.
    ///   - body: The handling of the request.
    /// - Returns: The result of `body`.
    /// - Throws: Errors thrown by `body`.
    public static func with<Result>(
        distinctID: String? = nil, loginID: String? = nil, anonymousID: String? = nil,
        properties: PropertyLiteral = [:],
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        let values = values(distinctID, loginID, anonymousID, properties.properties)
        return try await $current.withValue(values, operation: body, isolation: isolation)
    }

    /// Runs `body` for a user, in code that isn't asynchronous. See
    /// ``with(distinctID:loginID:anonymousID:properties:isolation:_:)``.
    ///
    /// ```swift
    /// let invoice = UserScope.with(loginID: "customer-42") { pipeline.track("Invoice") }
    /// ```
    ///
    /// - Returns: The result of `body`.
    /// - Throws: Errors thrown by `body`.
    public static func with<Result>(
        distinctID: String? = nil, loginID: String? = nil, anonymousID: String? = nil,
        properties: PropertyLiteral = [:],
        _ body: () throws -> Result
    ) rethrows -> Result {
        try $current.withValue(values(distinctID, loginID, anonymousID, properties.properties), operation: body)
    }

    /// Runs `body` for a user, with properties in a variable.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public static func with<Result>(
        distinctID: String? = nil, loginID: String? = nil, anonymousID: String? = nil, properties: some PropertyList,
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        let values = values(distinctID, loginID, anonymousID, properties.literal.properties)
        return try await $current.withValue(values, operation: body, isolation: isolation)
    }

    /// Runs `body` for a user, with properties in a variable, in code that isn't asynchronous.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public static func with<Result>(
        distinctID: String? = nil, loginID: String? = nil, anonymousID: String? = nil, properties: some PropertyList,
        _ body: () throws -> Result
    ) rethrows -> Result {
        try $current.withValue(
            values(distinctID, loginID, anonymousID, properties.literal.properties), operation: body)
    }

    private static func values(
        _ distinctID: String?, _ loginID: String?, _ anonymousID: String?, _ properties: Properties
    ) -> Values {
        var values = current ?? Values()
        if distinctID ?? loginID ?? anonymousID != nil {
            values.hasInvalidID = false
            func valid(_ id: String?) -> String? {
                guard let id, !UserID.isValid(id) else { return id }
                values.hasInvalidID = true
                return nil
            }
            values.distinctID = valid(distinctID)
            values.loginID = valid(loginID)
            values.anonymousID = valid(anonymousID)
        }
        values.properties.merge(properties)
        return values
    }

    /// Adds the ids and the properties of the current scope.
    public func process(_ event: inout Event) -> Disposition {
        guard let values = UserScope.current else { return .keep }
        if event.needsUser {
            event.checkedLoginID = values.loginID
            event.checkedAnonymousID = values.anonymousID
            event.checkedDistinctID = values.distinctID ?? values.loginID ?? values.anonymousID
            event.isInScope = true
            if values.hasInvalidID { event.report(.droppedID) }
        }
        event.properties.addDefaults(values.properties)
        return .keep
    }
}
