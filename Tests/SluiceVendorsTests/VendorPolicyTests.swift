import Sluice
import SluiceHTTP
import SluiceVendors
import Testing

@Suite("The vendors' delivery policies")
struct VendorPolicyTests {
    @Test("they have the values of the vendors' SDKs")
    func valuesAreThoseOfVendors() {
        let sensors = DeliveryPolicy.sensors
        #expect((sensors.flushCount, sensors.batch.events) == (100, 50))
        #expect((sensors.flushInterval, sensors.maximumBatchesInFlight) == (.seconds(15), 1))
        let appCenter = DeliveryPolicy.appCenter
        #expect((appCenter.flushCount, appCenter.batch.events, appCenter.maximumBatchesInFlight) == (50, 50, 3))
        #expect((appCenter.flushInterval, appCenter.criticalInterval) == (.seconds(6), .seconds(3)))
    }
}
