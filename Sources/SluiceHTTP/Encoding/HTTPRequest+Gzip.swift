import Sluice
import SluiceGzip

extension HTTPRequest {
    /// The size up to which bodies aren't compressed, because compression saves next to nothing.
    static let gzipThreshold = 255

    /// Compresses the body if that makes it smaller, unless it already has an encoding.
    mutating func gzip(by deflater: Deflater) {
        guard isCompressible, body.count > HTTPRequest.gzipThreshold, header("Content-Encoding") == nil,
            let file = Gzip.file(of: body, by: deflater), file.count < body.count
        else { return }
        body = file
        setHeader("Content-Encoding", "gzip")
    }
}
