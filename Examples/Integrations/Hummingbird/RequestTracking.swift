public import Hummingbird
public import Sluice
import SluiceIdentity

/// The user of a request.
public struct RequestUser: Sendable, Hashable {
    /// The id by which you know the user; nil before the login.
    public var loginID: String?
    /// The id of the user before the login, for example from a cookie.
    public var anonymousID: String?

    /// Creates a user. Every parameter sets the property of the same name.
    public init(loginID: String? = nil, anonymousID: String? = nil) {
        self.loginID = loginID
        self.anonymousID = anonymousID
    }
}

/// Tracks each request, and gives all events of a request its user.
///
/// List `UserScope()` in the pipeline, and add the middleware below the one that recognizes your users:
///
/// ```swift
/// let pipeline = try Pipeline {
///     UserScope()
///     JSONLStore(at: directory)
///     HTTPTransport(to: collector)
/// }
/// router.add(middleware: SessionAuthenticator())
/// router.add(middleware: RequestTracking(by: pipeline) { _, context in RequestUser(loginID: context.identity?.id) })
/// ```
///
/// The event is called `Request`. Its properties are `method`, `route`, `status` and `duration_ms`. The route is the
/// pattern, such as `/orders/{id}`, because a path can contain personal data. A request without a route doesn't have this
/// property.
///
/// Events that your handlers track get the same user and route, in all tasks of the request. The body of a response that
/// is written by a closure is an exception: it is written after the middlewares have returned.
public struct RequestTracking<Context: RequestContext>: RouterMiddleware {
    private let tracker: any EventTracking
    private let user: @Sendable (Request, Context) -> RequestUser?

    /// Creates a middleware.
    ///
    /// - Parameters:
    ///   - tracker: The pipeline.
    ///   - user: Returns the user of a request; nil for an unknown one. An invalid id is left out.
    public init(
        by tracker: any EventTracking, user: @escaping @Sendable (Request, Context) -> RequestUser? = { _, _ in nil }
    ) {
        self.tracker = tracker
        self.user = user
    }

    /// Handles the request in the scope of its user, and tracks it.
    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let user = user(request, context)
        var scope: Properties = [:]
        if let route = context.endpointPath { scope["route"] = .string(route) }
        return try await UserScope.with(
            loginID: user?.loginID, anonymousID: user?.anonymousID, properties: .init(scope)
        ) {
            let start = ContinuousClock.now
            do {
                let response = try await next(request, context)
                track(request, response.status, since: start)
                return response
            } catch {
                track(request, (error as? any HTTPResponseError)?.status ?? .internalServerError, since: start)
                throw error
            }
        }
    }

    private func track(_ request: Request, _ status: HTTPResponse.Status, since start: ContinuousClock.Instant) {
        let duration = (ContinuousClock.now - start) / .milliseconds(1)
        tracker.track(
            "Request", ["method": request.method.rawValue, "status": status.code, "duration_ms": duration])
    }
}
