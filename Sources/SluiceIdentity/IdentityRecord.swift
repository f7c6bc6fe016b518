import Sluice

/// The ids as one place keeps them.
struct IdentityRecord: PersistedValue {
    var ids: UserIDs
    /// The places that keep the device's part are not written yet.
    var isPending = false
    /// A hash of the id of the device that wrote it, if the place is bound to a device.
    private var device: String?

    /// Makes the record for a place. While the device's id is unknown, the record counts as one of another device.
    init(_ ids: UserIDs, in place: Persistence.Place, isPending: Bool = false) {
        self.ids = place.keepsDevicePart ? ids.devicePart : ids
        self.isPending = isPending
        device = place.device.map { String(FNV1a($0.utf8).value, radix: 16) }
    }

    init?(_ object: Properties) {
        guard let ids = UserIDs(object) else { return nil }
        self.ids = ids
        isPending = object["is_pending"] == true
        device = object["device"]?.string
    }

    var object: Properties {
        ids.object + Properties(known: ["is_pending": isPending ? true : nil, "device": device])
    }

    /// Whether this device wrote it, if the place is bound to a device.
    func isOwn(in place: Persistence.Place) -> Bool {
        guard place.isBound else { return true }
        return device != nil && device == place.device.map { String(FNV1a($0.utf8).value, radix: 16) }
    }
}
