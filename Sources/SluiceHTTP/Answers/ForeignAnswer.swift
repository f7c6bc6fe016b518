import Sluice

extension HTTPAnswer {
    /// For a 2xx that the backend itself cannot have written: a captive portal, a proxy, a page at a wrong URL.
    static func foreign(_ backend: StaticString) -> Verdict {
        .hold("the answer is none of \(backend)'s; check the URL, and what stands between")
    }
}
