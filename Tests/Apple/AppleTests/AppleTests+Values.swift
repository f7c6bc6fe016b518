import AdSupport
import AppTrackingTransparency
import CoreTelephony
import Foundation
import Network
import Security
import Sluice
import SluiceAdvertising
import SluiceIdentity
import SluiceLifecycle
import SluiceMemory
import SluicePassiveLaunch
import SluiceTesting
import TestSupport
import Testing
import UIKit

@testable import SluiceAutoProperties

/// The values that the frameworks of Apple give to plugins.
extension AppleTests {
    @Test("the network's type is that of the path")
    func networkTypeIsThatOfPath() throws {
        let types: [(NWInterface.InterfaceType, String?)] = [
            (.wifi, "wifi"), (.cellular, "cellular"), (.wiredEthernet, "ethernet"), (.other, nil),
        ]
        for (type, name) in types {
            NWPathMonitor.change(to: NWPath(status: .satisfied, type: type))
            #expect(SystemReader.current.networkType() == name)
        }
        NWPathMonitor.change(to: NWPath(status: .unsatisfied, type: .wifi))
        #expect(SystemReader.current.networkType() == nil)
    }

    @Test("maker and locale come from the frameworks")
    func manufacturerAndLocaleComeFromFrameworks() {
        let properties = SystemReader.current.platform
        #expect(properties["$manufacturer"] == "Apple")
        #expect(properties["$locale"] == .string(Locale.current.identifier))
    }

    @Test(
        "the carrier is the one of the data service, and a placeholder of the system is ignored",
        arguments: [
            (["1": ("A1", "232")], nil, "A1"), (["1": ("A1", "232"), "2": ("Drei", "232")], "2", "Drei"),
            (["2": ("Drei", "232"), "1": ("A1", "232")], "3", "A1"), (["1": ("--", "65535")], "1", nil),
            (["1": ("--", nil)], nil, nil), (["1": ("A1", "65535")], nil, nil), (["1": (" ", "232")], nil, nil),
            (["1": (nil, nil)], nil, nil), ([:], "1", nil), (nil, nil, nil),
        ] as [([String: (String?, String?)]?, String?, String?)])
    func carrierIsThatOfDataService(providers: [String: (String?, String?)]?, dataService: String?, name: String?)
        throws
    {
        CTTelephonyNetworkInfo.providers = providers?.mapValues { CTCarrier(name: $0, mobileCountryCode: $1) }
        CTTelephonyNetworkInfo.dataService = dataService
        defer { CTTelephonyNetworkInfo.providers = nil }
        let auto = AutoProperties()
        func carrier() -> PropertyValue? {
            var event = Event(id: EventID(high: 0, low: 0), name: "E", time: Timestamp(milliseconds: 0))
            #expect(auto.process(&event) == .keep)
            return event.properties["$carrier"]
        }
        #expect(carrier() == name.map { .string($0) })
        auto.register(["$carrier": "the host's"])
        #expect(carrier() == "the host's")
    }

    // MARK: Identity

    @Test("the anonymous id is the advertising id if tracking is authorized, otherwise the vendor's, otherwise a UUID")
    func anonymousIDSourcesInOrder() {
        let advertising = UUID()
        let vendor = UUID()
        func id() -> String? { Identity(persistedIn: .memory, anonymousIDFrom: [.advertising, .vendor]).anonymousID }
        ASIdentifierManager.identifier = advertising
        UIDevice.current.identifierForVendor = vendor
        for status in [ATTrackingManager.AuthorizationStatus.notDetermined, .restricted, .denied] {
            ATTrackingManager.trackingAuthorizationStatus = status
            #expect(id() == vendor.uuidString)
        }
        ATTrackingManager.trackingAuthorizationStatus = .authorized
        #expect(id() == advertising.uuidString)
        ASIdentifierManager.identifier = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        #expect(id() == vendor.uuidString)
        UIDevice.current.identifierForVendor = nil
        #expect(id()?.count == 36)
        ATTrackingManager.trackingAuthorizationStatus = .notDetermined
    }
}
