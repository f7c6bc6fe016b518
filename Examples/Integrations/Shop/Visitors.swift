import Foundation
import Hummingbird
import SluiceHummingbird

/// The context of a request, with its user.
struct ShopContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    var user = RequestUser()

    var requestDecoder: URLEncodedFormDecoder { URLEncodedFormDecoder() }

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
    }
}

/// Recognizes users by their cookies. A real shop would check a session instead: anybody can write a name into a cookie.
struct Visitors: RouterMiddleware {
    func handle(
        _ request: Request, context: ShopContext, next: (Request, ShopContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        let known = request.cookies["visitor"]?.value
        let visitor = known ?? UUID().uuidString.lowercased()
        context.user = RequestUser(
            loginID: request.cookies["user"]?.value.removingPercentEncoding, anonymousID: visitor)
        var response = try await next(request, context)
        if known == nil {
            response.setCookie(
                Cookie(name: "visitor", value: visitor, maxAge: 31_536_000, path: "/", sameSite: .lax))
        }
        return response
    }
}
