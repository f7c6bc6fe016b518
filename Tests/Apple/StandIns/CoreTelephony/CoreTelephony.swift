public import Foundation

open class CTTelephonyNetworkInfo: NSObject {
    /// A test sets these: the services of the device by their identifiers, and which of them carries data.
    nonisolated(unsafe) public static var providers: [String: CTCarrier]?
    nonisolated(unsafe) public static var dataService: String?

    public var dataServiceIdentifier: String? { CTTelephonyNetworkInfo.dataService }

    @available(*, deprecated, message: "since iOS 16, without replacement")
    public var serviceSubscriberCellularProviders: [String: CTCarrier]? { CTTelephonyNetworkInfo.providers }
}

open class CTCarrier: NSObject {
    private let name: String?
    private let code: String?

    public init(name: String?, mobileCountryCode: String?) {
        self.name = name
        code = mobileCountryCode
    }

    @available(*, deprecated, message: "since iOS 16, without replacement; returns -- since 16.4")
    public var carrierName: String? { name }

    @available(*, deprecated, message: "since iOS 16, without replacement; returns 65535 since 16.4")
    public var mobileCountryCode: String? { code }
}
