import Sluice

extension HTTPRequest {
    /// Signs the request for AWS, by Signature Version 4. Call this last, because it signs the body.
    ///
    /// ```swift
    /// let transport = HTTPTransport(
    ///     to: "https://kinesis.eu-central-1.amazonaws.com", format: .kinesis(stream: "events", region: "eu-central-1"),
    ///     configuration: .init(sign: { request in
    ///         request.signForAWS(
    ///             accessKey: token(), secretKey: secret, sessionToken: token(), region: "eu-central-1", service: "kinesis")
    ///     }))
    /// ```
    ///
    /// It sets the headers `X-Amz-Date`, `X-Amz-Security-Token` and `Authorization`. The time is ``sendTime``. Signed are the
    /// host, the content type and all headers that begin with `X-Amz-`. For `s3`, it also sets `X-Amz-Content-SHA256`.
    ///
    /// With a key, token or region that can't be one, such as a blank one, the request isn't sent: the route pauses, and a
    /// `.paused` diagnostic names the argument.
    ///
    /// - Parameters:
    ///   - accessKey: The id of the access key.
    ///   - secretKey: The secret access key.
    ///   - sessionToken: The token of temporary credentials. Nil or empty without one.
    ///   - region: The region, such as `us-east-1`.
    ///   - service: The name of the service in a signature, such as `kinesis`, `firehose` or `s3`.
    public mutating func signForAWS(
        accessKey: String, secretKey: String, sessionToken: String? = nil, region: String, service: String
    ) {
        // An environment variable that isn't set is often read as an empty text.
        let sessionToken = sessionToken.flatMap { $0.isEmpty ? nil : $0 }
        signatureError = SluiceError.of(
            try ArgumentCheck.aws(region: region, accessKey, secretKey, sessionToken: sessionToken))
        let time = String(sendTime.description.prefix(19).filter { $0 != "-" && $0 != ":" }) + "Z"
        setHeader("X-Amz-Date", time)
        if let sessionToken { setHeader("X-Amz-Security-Token", sessionToken) }
        let digest = sha256(body).hexadecimal
        if service == "s3" { setHeader("X-Amz-Content-SHA256", digest) }
        let target = awsTarget(of: service)
        var signed = [("host", target.host)]
        signed += headers.map { ($0.name.lowercased(), $0.value) }.filter {
            $0.0 == "content-type" || $0.0.hasPrefix("x-amz-")
        }
        signed.sort { $0.0 < $1.0 }
        let names = signed.map(\.0).joined(separator: ";")
        let lines = [method, target.path, target.query] + signed.map { "\($0):\($1)" } + ["", names]
        let request = (lines + [digest]).joined(separator: "\n")
        let scope = "\(time.prefix(8))/\(region)/\(service)/aws4_request"
        let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(sha256(Array(request.utf8)).hexadecimal)"
        let key = scope.split(separator: "/").reduce(Array("AWS4\(secretKey)".utf8)) {
            hmacSHA256(Array($1.utf8), key: $0)
        }
        let signature = hmacSHA256(Array(text.utf8), key: key).hexadecimal
        setHeader(
            "Authorization",
            "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope), SignedHeaders=\(names), Signature=\(signature)")
    }

    /// The header `Host`, and the path and the query in the form that is signed.
    private func awsTarget(of service: String) -> (host: String, path: String, query: String) {
        let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let segments = parts[0].split(separator: "/", omittingEmptySubsequences: false).dropFirst(2)
        // Encoded once more, as all services but S3 expect it.
        let path = segments.dropFirst().map { "/" + (service == "s3" ? String($0) : String($0).percentEncoded) }
            .joined()
        let pairs = (parts.count > 1 ? parts[1] : "").split(separator: "&").map {
            $0.utf8.contains(UInt8(ascii: "=")) ? String($0) : $0 + "="
        }
        return (HTTPURL.hosts(in: url).last ?? "", path.isEmpty ? "/" : path, pairs.sorted().joined(separator: "&"))
    }
}
