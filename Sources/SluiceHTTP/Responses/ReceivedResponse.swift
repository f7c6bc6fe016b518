#if !canImport(Darwin)
    import Sluice

    /// The part of a response that has arrived. It also checks responses that libcurl accepts.
    struct ReceivedResponse {
        /// The most bytes of all heads, interim ones included. With more, the request fails.
        static let headLimit = 65_536
        /// The most bytes around the chunks of a body: their sizes, their extensions, and the trailers. With more, the request
        /// fails.
        static let framingLimit = 65_536

        /// The status of the last head, or 0.
        private(set) var status = 0
        /// The header fields of the last head.
        private(set) var headers: [(name: String, value: String)] = []
        private(set) var body: [UInt8] = []
        private(set) var isHeadComplete = false
        /// Whether the body is longer than the limit.
        private(set) var isCut = false
        /// Whether there are bytes after the last chunk.
        private(set) var hasExcess = false
        /// Why the request must end.
        private(set) var refusal: String?

        private var headTotal = 0
        private var chunks: ChunkedBody?
        private var framing = 0

        /// Takes a line of the head or a trailer.
        ///
        /// - Returns: Whether the request goes on.
        mutating func takeHead(_ line: UnsafeRawBufferPointer) -> Bool {
            headTotal += line.count
            guard headTotal <= Self.headLimit else { return refuse("the response's head is too long") }
            if status == 0 || isHeadComplete {
                guard let next = Self.status(of: line) else {
                    // Trailers arrive here too. They are not used.
                    return isHeadComplete ? true : refuse("the response has no status line")
                }
                (status, headers, isHeadComplete, chunks) = (next, [], false, nil)
                return true
            }
            guard line.elementsEqual("\n".utf8) || line.elementsEqual("\r\n".utf8) else {
                if let header = HTTPResponse.header(in: line) { headers.append(header) }
                return true
            }
            isHeadComplete = takeFraming()
            return isHeadComplete
        }

        /// Reads where the body ends (RFC 9112, 6). libcurl may read until the connection is closed for a `Content-Length` that is no
        /// number, and takes the last one of several: a truncated body would look complete. The same number may be repeated.
        private mutating func takeFraming() -> Bool {
            var length: Int64?
            for (name, value) in headers {
                let isLength = name.isSameHeaderName(as: "content-length")
                guard isLength || name.isSameHeaderName(as: "transfer-encoding") else { continue }
                for part in value.split(separator: ",", omittingEmptySubsequences: false) {
                    let word = part.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
                    if !isLength {
                        if word.isSameHeaderName(as: "chunked") { chunks = ChunkedBody() }
                    } else if word.isDigits, let number = Int64(word), number == length ?? number {
                        length = number
                    } else {
                        return refuse("the response's Content-Length is invalid")
                    }
                }
            }
            return true
        }

        /// Takes bytes of the body.
        ///
        /// - Returns: Whether the request goes on.
        mutating func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
            guard var chunks else { return keep(bytes) }
            defer { self.chunks = chunks }
            var rest = bytes[...]
            while let first = rest.first {
                switch chunks.state {
                case .complete:
                    hasExcess = true
                    return true
                case .data(let count):
                    let data = rest.prefix(Int(min(count, UInt64(rest.count))))
                    guard keep(UnsafeRawBufferPointer(rebasing: data)) else { return false }
                    chunks.takeData(data.count)
                    rest.removeFirst(data.count)
                case .size, .sizeExtension, .dataEnd, .trailer:
                    framing += 1
                    guard framing <= Self.framingLimit else {
                        return refuse("the response's chunk extensions or trailers are too long")
                    }
                    chunks.takeFraming(first)
                    rest.removeFirst()
                }
            }
            return true
        }

        private mutating func keep(_ bytes: UnsafeRawBufferPointer) -> Bool {
            let room = HTTPResponse.bodyLimit - body.count
            body.append(contentsOf: bytes.prefix(room))
            isCut = bytes.count > room
            return !isCut
        }

        private mutating func refuse(_ reason: String) -> Bool {
            refusal = reason
            return false
        }
    }

    extension ReceivedResponse {
        /// The status of a line `HTTP/1.1 200 …` or `HTTP/2 200`. libcurl takes other lines that begin with HTTP/ for a 200,
        /// and events would be lost.
        private static func status(of line: UnsafeRawBufferPointer) -> Int? {
            guard line.starts(with: "HTTP/".utf8), line.count > 10, line[5].isDigit else { return nil }
            let space = line[6] == UInt8(ascii: ".") && line[7].isDigit ? 8 : 6
            guard line.count > space + 4, line[space] == UInt8(ascii: " "), !line[space + 4].isDigit else { return nil }
            let digits = line[(space + 1)..<(space + 4)]
            guard digits.allSatisfy(\.isDigit) else { return nil }
            return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }
    }

    /// Finds the body in chunked bytes (RFC 9112, 7.1). libcurl parses the same bytes and ends the request if they are invalid,
    /// but it puts no limit on extensions and trailers.
    struct ChunkedBody {
        enum State {
            /// In the digits of a size.
            case size
            /// After the digits of a size, up to the end of the line.
            case sizeExtension
            /// The bytes of data that follow.
            case data(UInt64)
            /// In the end of the line after the data.
            case dataEnd
            /// In a line of the trailer.
            case trailer(isEmpty: Bool)
            case complete
        }

        private(set) var state = State.size
        private var size: UInt64 = 0

        /// Takes bytes of data, at most as many as follow.
        mutating func takeData(_ count: Int) {
            size -= UInt64(count)
            state = size == 0 ? .dataEnd : .data(size)
        }

        /// Takes a byte that isn't data.
        mutating func takeFraming(_ byte: UInt8) {
            let endsLine = byte == UInt8(ascii: "\n")
            if case .size = state {
                if let digit = hexadecimalDigit(byte) {
                    // libcurl refuses a size that doesn't fit.
                    size = size << 4 | UInt64(digit)
                    return
                }
                state = .sizeExtension
            }
            switch state {
            case .sizeExtension where endsLine: state = size > 0 ? .data(size) : .trailer(isEmpty: true)
            case .dataEnd where endsLine: state = .size
            case .trailer(let isEmpty) where endsLine: state = isEmpty ? .complete : .trailer(isEmpty: true)
            case .trailer where byte != UInt8(ascii: "\r"): state = .trailer(isEmpty: false)
            case .size, .sizeExtension, .data, .dataEnd, .trailer, .complete: break
            }
        }
    }
#endif
