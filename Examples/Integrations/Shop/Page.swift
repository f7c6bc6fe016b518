import Foundation
import Hummingbird

struct Product {
    let sku: String
    let name: String
    let price: Double

    static let all = [
        Product(sku: "tea-1", name: "Green tea", price: 6.5),
        Product(sku: "tea-2", name: "Earl Grey", price: 5.9),
        Product(sku: "pot-1", name: "Iron teapot", price: 48),
    ]
}

/// The only page of the shop.
struct Page: ResponseGenerator {
    let user: String?
    var message = ""

    func response(from request: Request, context: some RequestContext) throws -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
    }

    private var html: String {
        let products = Product.all.map { product in
            """
            <li>\(product.name), \(String(format: "%.2f", product.price)) €
            <form method="post" action="/buy/\(product.sku)"><button>Buy</button></form></li>
            """
        }
        let greeting =
            user.map { "<p>Hello, \(Page.escaped($0)).</p>" } ?? """
                <form method="post" action="/login"><label>Your name <input name="name" required></label>
                <button>Log in</button></form>
                """
        return """
            <!doctype html><html lang="en"><meta charset="utf-8"><title>Tea shop</title>
            <style>body{font:1.1rem/1.6 system-ui;max-width:32rem;margin:2rem auto;color-scheme:light dark}
            li form{display:inline}</style>
            <h1>Tea shop</h1>\(greeting)<p role="status">\(Page.escaped(message))</p>
            <ul>\(products.joined(separator: "\n"))</ul></html>
            """
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { html, character in
            switch character {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            case "\"": html += "&quot;"
            default: html.append(character)
            }
        }
    }
}
