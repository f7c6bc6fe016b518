#if canImport(CoreTelephony) && !os(macOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
    import CoreTelephony
    import Sluice

    extension SystemReader {
        /// The company whose network carries the data. Since iOS 16.4, the system returns `--` and the country code
        /// 65535 to all apps. These values are ignored.
        static var carrier: String? {
            let telephony: any CarrierSource = Telephony()
            return telephony.carrier
        }
    }

    // Called through a protocol, because the whole API is deprecated.
    private protocol CarrierSource {
        var carrier: String? { get }
    }

    private struct Telephony: CarrierSource {
        @available(*, deprecated, message: "without replacement")
        var carrier: String? {
            let information = CTTelephonyNetworkInfo()
            guard let providers = information.serviceSubscriberCellularProviders else { return nil }
            let services = providers.keys.sorted()
            let service =
                information.dataServiceIdentifier.flatMap { services.contains($0) ? $0 : nil } ?? services.first
            guard let provider = service.flatMap({ providers[$0] }), provider.mobileCountryCode != "65535" else {
                return nil
            }
            return provider.carrierName.flatMap { trimmed($0) }.flatMap { $0 == "--" ? nil : $0 }
        }
    }
#endif
