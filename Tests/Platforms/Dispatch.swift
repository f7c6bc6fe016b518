// The part of Dispatch that Sluice uses, for a type check with a target for which the toolchain has no Dispatch.

public final class DispatchQueue: Sendable {
    public init(label: String) {}
    public func async(execute work: @escaping @Sendable () -> Void) {}
    public func asyncAfter(deadline: DispatchTime, execute work: @escaping @Sendable () -> Void) {}
}

public enum DispatchTimeInterval: Sendable {
    case nanoseconds(Int)
}

public struct DispatchTime: Sendable {
    public static func now() -> DispatchTime { DispatchTime() }
    public static func + (time: DispatchTime, interval: DispatchTimeInterval) -> DispatchTime { time }
}

public protocol DispatchSourceRead: AnyObject {
    func setEventHandler(handler: (@Sendable () -> Void)?)
    func resume()
}

public final class DispatchSource: DispatchSourceRead {
    private init() {}
    public func setEventHandler(handler: (@Sendable () -> Void)?) {}
    public func resume() {}
    public static func makeReadSource(fileDescriptor: Int32, queue: DispatchQueue?) -> any DispatchSourceRead {
        DispatchSource()
    }
}
