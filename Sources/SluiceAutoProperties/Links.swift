public import Sluice

/// Tracks the links and the push messages that open your app, and adds their campaign to later events.
///
/// ```swift
/// let links = Links(persistedIn: .file(stateDirectory))
/// let pipeline = try Pipeline {
///     links
///     JSONLStore(at: queueDirectory)
///     HTTPTransport(to: collector)
/// }
/// links.opened("https://shop.example/sale?utm_source=newsletter&utm_campaign=spring")
/// links.pushOpened("spring", source: "news", url: "shop://sale")
/// ```
///
/// | event | properties |
/// |---|---|
/// | `$DeepLinkOpened` | `$url`, `$referrer`, the campaign, and your own |
/// | `$PushOpened` | the same, with the campaign from your arguments |
///
/// The campaign is in `$utm_source`, `$utm_medium`, `$utm_campaign`, `$utm_term` and `$utm_content`, and in the click
/// ids of advertising networks: `$gclid`, `$gbraid`, `$wbraid`, `$dclid`, `$fbclid`, `$msclkid`, `$ttclid`, `$twclid`
/// and `$li_fat_id`. Each is the decoded parameter of that name in the URL's query.
///
/// The event of the opening and all later events get two campaigns: the first one in `$first_utm_source` and so on, and
/// the last one in `$latest_utm_source` and so on, with `$first_referrer` and `$latest_referrer`. An opening without a
/// campaign changes neither. The last campaign is replaced as a whole. Both are on disk before the event is tracked. If
/// they can't be written, a diagnostic reports it, and they are used until the process ends.
///
/// ## Secrets
///
/// `$url` and `$referrer` never contain a user or a password. A parameter whose name contains one of ``secretNames``
/// gets the value `[redacted]`, in the path, the query and the fragment: `reset_password_token`, `accessToken`, `TOKEN[]`.
/// The case of letters and separators don't count. A word of up to four letters counts only as a word of its own, or beside
/// a few words such as `user` and `code`: `key` is in `sort_key` and `authkey`, but not in `keyword`. A value that has a
/// user or a secret parameter in it is replaced as a whole. In the plain text of a value, words that are secret in links
/// only, such as `code` and `state`, don't count before a colon. A campaign parameter with a secret in its value is a
/// campaign with the value `[redacted]`. Pass other words to the initializer if your links have others. A secret that is
/// a part of the path, as in a login link, is not recognized. Remove it from the string that you pass, or list
/// `Redaction` with the keys `$url` and `$referrer` below this processor.
///
/// ## Limits
///
/// At most 8,192 bytes of a URL and 1,024 bytes of a campaign value are used. Longer ones are truncated, and counted as
/// ``Sluice/Sanitization/truncatedString``. If a campaign parameter is given twice, the first one that isn't empty
/// counts. Bytes that are not UTF-8 become U+FFFD, and an incomplete escape stays as it is. Each of these events, and
/// each event of a campaign with a secret, is counted as ``Sluice/Sanitization/repairedLink``.
///
/// You can call all methods from any thread. They affect events that are tracked later.
public final class Links: Processor {
    /// Returns true: an event passes at most one.
    public static var isUnique: Bool { true }

    /// The words in the names of parameters that usually carry a secret: the default keys of `Redaction`, and words that
    /// are secret in a link.
    public static let secretNames = SecretNames.words.union(linkNames)
    /// The words that are secret in a link, and usual in plain text.
    private static let linkNames: Set<String> = [
        "assertion", "code", "email", "key", "magic", "nonce", "oobcode", "pass", "phone", "samlart", "samlresponse",
        "sas", "sessid", "session", "sid", "sig", "state", "ticket",
    ]

    /// The connection to the pipeline.
    public let context = PluginContext()
    private let secretNames: Set<String>
    private let secrets: SecretNames
    private let colonSecrets: SecretNames
    private let kept: PersistedState<Campaigns>

    /// Creates the processor.
    ///
    /// ```swift
    /// let links = Links(persistedIn: .file(stateDirectory), redacting: Links.secretNames.union(["invitation"]))
    /// ```
    ///
    /// - Parameters:
    ///   - persistence: Where the first and the last campaign are kept.
    ///   - secretNames: Words in the names of parameters whose values are replaced in URLs.
    public init(persistedIn persistence: Persistence = .memory, redacting secretNames: Set<String> = Links.secretNames)
    {
        self.secretNames = secretNames
        secrets = SecretNames(secretNames)
        colonSecrets = SecretNames(secretNames.subtracting(Links.linkNames))
        kept = PersistedState(
            "links", in: persistence, initial: Campaigns(), ifDamaged: .unknown, report: context.report)
    }

    // MARK: Verbs

    /// Call this when a link has opened your app: in `onOpenURL`, or in the methods of your delegate for URLs and user
    /// activities. Tracks `$DeepLinkOpened`.
    ///
    /// ```swift
    /// links.opened(url.absoluteString, referrer: referrer?.absoluteString, ["screen": "Sale"])
    /// ```
    ///
    /// - Parameters:
    ///   - url: The link. Any text is accepted.
    ///   - referrer: The URL or the id of the app or page that had the link.
    ///   - properties: The event's own properties, which take precedence.
    public func opened(_ url: String, referrer: String? = nil, _ properties: PropertyLiteral = [:]) {
        open("$DeepLinkOpened", url, referrer, nil, properties.properties)
    }

    /// Call this when the user has opened a push message. Tracks `$PushOpened`.
    ///
    /// ```swift
    /// links.pushOpened("spring", source: "news", ["has_image": true])
    /// ```
    ///
    /// - Parameters:
    ///   - campaign: The name of the campaign, `$utm_campaign`; nil or blank for the one in the URL.
    ///   - source: The source, `$utm_source`; nil or blank for the one in the URL. If there is another campaign
    ///     parameter, `push` is the default.
    ///   - url: The link that the message opens. Don't call `opened` for it as well.
    ///   - properties: The event's own properties, which take precedence.
    public func pushOpened(
        _ campaign: String? = nil, source: String? = nil, url: String? = nil, _ properties: PropertyLiteral = [:]
    ) {
        let given = ["utm_campaign": campaign ?? "", "utm_source": source ?? ""].filter { !$0.value.isBlank }
        open("$PushOpened", url, nil, given, properties.properties)
    }

    /// The campaign of the first opening, such as `$first_utm_source`, and of the last one, such as
    /// `$latest_utm_source`.
    ///
    /// ```swift
    /// if links.campaigns["$first_utm_source"] == "newsletter" { print("a reader of the newsletter") }
    /// ```
    public var campaigns: Properties { kept.read(\.properties) }

    /// Forgets the first and the last campaign, for example at a logout. The next opening with a campaign is the first.
    ///
    /// ```swift
    /// links.reset()
    /// links.opened("https://shop.example/?utm_source=newsletter")    // the first campaign is the last one too
    /// ```
    public func reset() { kept.saveOrReport { $0.reset() } }

    private func open(
        _ name: String, _ url: String?, _ referrer: String?, _ push: [String: String]?, _ properties: Properties
    ) {
        let address = url.map { LinkAddress($0, secrets: secrets, colonSecrets: colonSecrets) }
        let origin = referrer.map { LinkAddress($0, secrets: secrets, colonSecrets: colonSecrets) }
        var isTruncated = address?.isTruncated == true || origin?.isTruncated == true
        var found = address?.campaign ?? [:]
        // The message's own name and source take precedence over the link's.
        for (name, text) in push ?? [:] {
            found[name] = text.truncated(toBytes: LinkAddress.maximumValueBytes)
            isTruncated = isTruncated || text.utf8.count > LinkAddress.maximumValueBytes
        }
        // A message without a campaign doesn't replace the last one.
        if push != nil, !found.isEmpty { found.merge(["utm_source": "push", "utm_medium": "push"]) { own, _ in own } }
        let campaign = Properties(found.sorted { $0.key < $1.key }.map { ("$\($0.key)", .string($0.value)) })
        let touch = campaign + Properties(known: ["$referrer": origin?.text])
        if !campaign.isEmpty { kept.saveOrReport { $0.add(touch) } }
        var all = properties
        all.addDefaults(touch + Properties(known: ["$url": address?.text]))
        context.track(name, all) { event in
            if isTruncated { event.report(.truncatedString) }
            if address?.isRepaired == true { event.report(.repairedLink) }
        }
    }

    // MARK: Processor

    /// Reads the campaigns of earlier launches.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if a secret name is blank, has a blank or an invisible character at
    ///   its beginning or end, and an error of the place where the campaigns are kept.
    public func prepare() throws {
        try SluiceError.require(names: secretNames, of: "redacting")
        try kept.load()
    }

    /// Adds the first and the last campaign to the event.
    public func process(_ event: inout Event) -> Disposition {
        let properties = kept.read(\.properties)
        if !properties.isEmpty { event.properties.addDefaults(properties) }
        return .keep
    }

    /// Returns when the campaigns are stored.
    public func finish() async { await kept.finish() }
}

extension Sanitization {
    /// A link of `Links` had a campaign parameter twice, or one that was not valid or had a secret in its value.
    public static let repairedLink = Sanitization(rawValue: "repairedLink")
}

/// The campaigns that ``Links`` adds to events.
private struct Campaigns: PersistedValue {
    /// Nil before the first opening. Empty if it is unknown, after damage.
    private var first: Properties?
    private var last: Properties?
    /// The stored campaigns, if they are still unread, must not come back.
    private var isReset = false
    /// The properties for later events, which are built when a campaign changes and not for each event.
    private(set) var properties: Properties = [:]

    /// An installation that may have had a first campaign.
    static let unknown = Campaigns(["first": [:]]) ?? Campaigns()

    init() {}

    init?(_ object: Properties) {
        (first, last) = (object["first"]?.object, object["last"]?.object)
        guard (object["first"] == nil) == (first == nil), (object["last"] == nil) == (last == nil) else { return nil }
        updateProperties()
    }

    var object: Properties { Properties(known: ["first": first, "last": last]) }

    mutating func add(_ campaign: Properties) {
        first = first ?? campaign
        last = campaign
        updateProperties()
    }

    mutating func reset() {
        self = Campaigns()
        isReset = true
    }

    mutating func merge(stored: Campaigns) {
        guard !isReset else { return }
        first = stored.first ?? first
        last = last ?? stored.last
        updateProperties()
    }

    private mutating func updateProperties() {
        func named(_ prefix: String, _ campaign: Properties?) -> [(String, PropertyValue)] {
            (campaign ?? [:]).map { ("$\(prefix)_\($0.name.dropFirst())", $0.value) }
        }
        properties = Properties(named("first", first) + named("latest", last)).shared()
    }
}
