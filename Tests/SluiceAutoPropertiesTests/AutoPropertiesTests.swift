import Foundation
import TestSupport
import Testing

@testable import SluiceAutoProperties

@Suite("AutoProperties: values from the system")
struct AutoPropertiesTests {
    /// A system that consists of these files.
    private func system(
        _ files: [String: String], links: [String: String] = [:], environment: [String: String] = [:],
        directories: [String: [String]] = [:]
    ) -> SystemReader {
        SystemReader(
            contents: { files[$0].map { Array($0.utf8) } }, link: { links[$0] }, names: { directories[$0] ?? [] },
            environment: { environment[$0] })
    }

    private func properties(_ system: SystemReader) throws -> Properties {
        try #require(AutoProperties(including: AutoProperties.optionalNames, system: system).processed()).properties
    }

    @Test("an unknown system adds only the process, the runtime and the library")
    func nothingIsInvented() throws {
        let properties = try properties(SystemReader(processID: 7))
        let names = Set(properties.map(\.name))
        #expect(names == ["$process_id", "$runtime", "$runtime_version", "$lib", "$lib_version"])
        #expect(properties["$lib"] == "Sluice" && properties["$lib_version"] == .string(LibraryVersion.current))
    }

    @Test("the app's name and version are the host's, otherwise the name is the program's")
    func hostNamesApp() throws {
        let system = SystemReader(program: "/usr/bin/shopd")
        #expect(try properties(system)["$app_name"] == "shopd")
        #expect(try properties(system)["$app_version"] == nil)
        #expect(try properties(system)["$app_build"] == nil && properties(system)["$app_id"] == nil)
        let auto = AutoProperties(appName: "Shop", appVersion: "2.4.1", appBuild: "1312", system: system)
        let own = try #require(auto.processed()).properties
        #expect(own["$app_build"] == "1312")
        #expect(own["$app_name"] == "Shop")
        #expect(own["$app_version"] == "2.4.1")
        #expect(own["$process_name"] == "shopd")
    }

    @Test("a blank name is unknown, a wrong one an error", arguments: ["", " ", "\n", "\u{A0}", "\u{3164}"])
    func blankArgumentsAreUnknown(text: String) throws {
        let system = SystemReader(program: "/usr/bin/shopd")
        let auto = AutoProperties(appName: text, appVersion: text, appBuild: text, system: system)
        let own = try #require(auto.processed()).properties
        #expect(own["$app_name"] == "shopd" && own["$app_version"] == nil && own["$app_build"] == nil)
        for flawed in ["2.4.1\(text)\n", "\r\n\(text)beta", "1\t.0", "1.0\u{A0}", "9\u{0}", "Shop\u{2028}X"] {
            for auto in [AutoProperties(appName: flawed), AutoProperties(appVersion: flawed), .init(appBuild: flawed)] {
                #expect(throws: SluiceError.self) { try auto.prepare() }
            }
        }
    }

    @Test(
        "the program is the file that runs, whatever its link is called",
        arguments: [
            ("/opt/shop/shopd", "-sh", "shopd"), ("/opt/shop/shopd (deleted)", "x", "shopd"), (nil, "./shopd", "shopd"),
            (nil, "shopd", "shopd"), (nil, "", nil), (nil, "/", nil),
        ] as [(String?, String, String?)])
    func programIsRunningFile(link: String?, argument: String, name: String?) throws {
        let system = SystemReader(link: { $0 == "/proc/self/exe" ? link : nil }, program: argument)
        #expect(try properties(system)["$process_name"] == name.map { .string($0) })
    }

    @Test(
        "the properties of the kernel and the host are set, except empty ones",
        arguments: [
            (("Linux", "6.1.0", "aarch64", "web-3"), ["Linux", "6.1.0", "aarch64", "web-3"]),
            (("", " ", "", ""), [nil, nil, nil, nil]),
        ] as [((String, String, String, String), [PropertyValue?])])
    func kernelAndHostAreSet(values: (String, String, String, String), expected: [PropertyValue?]) throws {
        let kernel = SystemReader.Kernel(name: values.0, release: values.1, machine: values.2, hostName: values.3)
        let properties = try properties(SystemReader(kernel: kernel, processorCount: 8))
        #expect(["$os", "$kernel_version", "$architecture", "$host_name"].map { properties[$0] } == expected)
        #expect(properties["$cpu_count"] == 8)
    }

    @Test(
        "os-release is parsed in all its spellings",
        arguments: [
            ("NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\n", "Debian GNU/Linux", "12"),
            ("# comment\nNAME=Fedora\nVERSION_ID=41\n", "Fedora", "41"),
            ("NAME='Alpine Linux'\r\nVERSION_ID=3.20.1\r\n", "Alpine Linux", "3.20.1"),
            (#"NAME="A \"quoted\" \$name \\ x""#, #"A "quoted" $name \ x"#, nil),
            ("NAME=\"Arch Linux\"\nBUILD_ID=rolling\n", "Arch Linux", nil),
            ("NAME=\nVERSION_ID=\"\"\n", nil, nil),
            ("NAME=\"unclosed\nNONSENSE\n=\n", "unclosed", nil),
            ("PRETTY_NAME=x", nil, nil),
            ("", nil, nil),
        ] as [(String, String?, String?)])
    func osReleaseIsParsed(text: String, name: String?, version: String?) throws {
        for path in ["/etc/os-release", "/usr/lib/os-release"] {
            let properties = try properties(system([path: text]))
            #expect(properties["$os_name"] == name.map { .string($0) })
            #expect(properties["$os_version"] == version.map { .string($0) })
        }
    }

    @Test(
        "maker and model come from the firmware, except for its placeholders",
        arguments: [
            (
                ["/sys/class/dmi/id/sys_vendor": "LENOVO\n", "/sys/class/dmi/id/product_name": "20XW\n"], "LENOVO",
                "20XW"
            ),
            (["/proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.1\0"], nil, "Raspberry Pi 4 Model B Rev 1.1"),
            (
                [
                    "/sys/class/dmi/id/sys_vendor": "To Be Filled By O.E.M.\n",
                    "/sys/class/dmi/id/product_name": "System Product Name\n",
                ], nil, nil
            ),
            (["/sys/class/dmi/id/sys_vendor": "\n", "/sys/class/dmi/id/product_name": "  "], nil, nil),
        ] as [([String: String], String?, String?)])
    func firmwareNamesDevice(files: [String: String], manufacturer: String?, model: String?) throws {
        let properties = try properties(system(files))
        #expect(properties["$manufacturer"] == manufacturer.map { .string($0) })
        #expect(properties["$model"] == model.map { .string($0) })
    }

    @Test(
        "the memory is in bytes",
        arguments: [
            ("MemTotal:       16384256 kB\nMemFree: 1 kB\n", 16_777_478_144), ("MemTotal: ? kB\n", nil), ("", nil),
            ("MemTotal: 9223372036854775807 kB\n", nil),
        ] as [(String, PropertyValue?)])
    func memoryIsInBytes(text: String, bytes: PropertyValue?) throws {
        #expect(try properties(system(["/proc/meminfo": text]))["$memory_size"] == bytes)
    }

    @Test("the screen is the first that is connected, in its preferred mode")
    func screenIsFirstConnected() throws {
        let files = [
            "/sys/class/drm/card0-DP-1/status": "disconnected\n", "/sys/class/drm/card0-DP-1/modes": "640x480\n",
            "/sys/class/drm/card0-eDP-1/status": "connected\n",
            "/sys/class/drm/card0-eDP-1/modes": "1920x1080\n1280x720\n",
        ]
        let directories = ["/sys/class/drm": ["version", "card0-eDP-1", "card0-DP-1", "card0"]]
        let properties = try properties(system(files, directories: directories))
        #expect(properties["$screen_width"] == 1_920)
        #expect(properties["$screen_height"] == 1_080)
    }

    @Test(
        "the language comes from LC_ALL, LC_MESSAGES or LANG, in this order, and what can't be one is left out",
        arguments: [
            (["LANG": "de_DE.UTF-8"], "de_DE"), (["LANG": "de_DE", "LC_MESSAGES": "fr_FR@euro"], "fr_FR"),
            (["LANG": "de_DE", "LC_ALL": "sr_RS.UTF-8@latin"], "sr_RS"), (["LANG": "de_DE", "LC_ALL": ""], "de_DE"),
            (["LANG": "C.UTF-8"], nil), (["LANG": "POSIX"], nil), (["LANG": "de_DE", "LC_ALL": "C"], nil), ([:], nil),
            (["LANG": "fil_PH"], "fil_PH"), (["LANG": "zh-Hans-CN"], "zh-Hans-CN"), (["LANG": "es_419"], "es_419"),
            (["LANG": "ca_ES_valencia"], "ca_ES_valencia"), (["LANG": "klingon"], nil), (["LANG": "german"], nil),
            (["LANG": "en_"], nil), (["LANG": "_US"], nil), (["LANG": "en US"], nil), (["LANG": "en_U S"], nil),
            (["LANG": "e1_US"], nil), (["LANG": "12_34"], nil), (["LANG": "日本"], nil), (["LANG": "en_ÜS"], nil),
            (["LANG": "en_US/../x"], nil), (["LANG": "en_abcdefghi"], nil), (["LANG": "de_DE", "LC_ALL": "?"], nil),
            (["LANG": ".UTF-8"], nil), (["LANG": "@euro"], nil),
        ] as [([String: String], String?)])
    func languageHasOrderOfVariables(environment: [String: String], locale: String?) throws {
        #expect(try properties(system([:], environment: environment))["$locale"] == locale.map { .string($0) })
    }

    /// `TZ`, the target of `/etc/localtime` or the zone that it is a copy of, the text of `/etc/timezone`, and the name that is in
    /// force.
    static let timeZones: [(variable: String?, link: String?, file: String?, zone: String?)] = [
        ("Asia/Tokyo", "/usr/share/zoneinfo/Europe/Berlin", "Europe/Rome\n", "Asia/Tokyo"),
        (":Asia/Tokyo", nil, nil, "Asia/Tokyo"), ("/usr/share/zoneinfo/Asia/Tokyo", nil, nil, "Asia/Tokyo"),
        ("/etc/mine", "/usr/share/zoneinfo/Europe/Berlin", nil, nil), ("EST5EDT", nil, nil, "EST5EDT"),
        ("", "/usr/share/zoneinfo/Europe/Berlin", nil, "UTC"), (":", nil, nil, "UTC"), ("UTC", nil, nil, "UTC"),
        // The C library runs as UTC, or by a rule that has no name.
        ("Foo/Bar", "/usr/share/zoneinfo/Europe/Berlin", "Europe/Rome\n", nil), (":Foo/Bar", nil, nil, nil),
        ("europe/berlin", nil, nil, nil), ("Europe", nil, nil, nil), ("Europe/Berlin ", nil, nil, nil),
        ("Mars/Base", nil, nil, nil), ("<+0330>-3:30", nil, nil, nil), ("MSK-3", nil, nil, nil),
        ("CET-1CEST,M3.5.0,M10.5.0/3", nil, nil, nil), ("\u{6771}\u{4EAC}", nil, nil, nil), (" ", nil, nil, nil),
        ("/usr/share/zoneinfo/Foo/Bar", nil, nil, nil), ("README", nil, nil, nil),
        (nil, "../usr/share/zoneinfo/Europe/Berlin", "Europe/Rome\n", "Europe/Berlin"),
        (nil, "/usr/share/zoneinfo/America/Argentina/Ushuaia", nil, "America/Argentina/Ushuaia"),
        (nil, "/etc/elsewhere", "Europe/Rome\n", "Europe/Rome"),
        (nil, "copy Europe/Rome", "Europe/Rome\n", "Europe/Rome"),
        (nil, "copy Europe/Rome", "Foo/Bar\n", nil), (nil, "copy Europe/Rome", nil, nil),
        // The two files don't have the same zone.
        (nil, "copy Asia/Tokyo", "Europe/Berlin\n", nil), (nil, "/etc/elsewhere", "EST5EDT\n", nil),
        (nil, "/opt/zoneinfo/Asia/Tokyo", "Asia/Tokyo\n", nil), (nil, "copy Cut/Zone", "Cut/Zone\n", nil),
        ("Cut/Zone", nil, nil, nil), ("Cut/Short", nil, nil, nil), (nil, "/usr/share/zoneinfo/Cut/Line", nil, nil),
        // A path is no name.
        ("Europe/../Asia/Tokyo", nil, nil, nil), ("Europe/./Berlin", nil, nil, nil), ("./Asia/Tokyo", nil, nil, nil),
        (nil, "copy Asia/Tokyo", "Europe/../Asia/Tokyo\n", nil),
        // A link without its target, as in an image without tzdata.
        (nil, "/usr/share/zoneinfo/Foo/Bar", "Europe/Rome\n", nil), (nil, nil, "Europe/Rome\n", nil),
        (nil, nil, nil, nil),
        // Files that aren't zones of their own.
        ("localtime", "/usr/share/zoneinfo/Europe/Berlin", nil, "Europe/Berlin"), ("localtime", nil, nil, nil),
        (":/etc/localtime", "../usr/share/zoneinfo/Europe/Berlin", nil, "Europe/Berlin"),
        ("/etc/localtime", "copy Europe/Rome", "Europe/Rome\n", "Europe/Rome"),
        (":localtime", "copy Europe/Rome", "Europe/Rome\n", nil),
        ("posix/Europe/Berlin", nil, nil, "Europe/Berlin"), (":right/Asia/Tokyo", nil, nil, "Asia/Tokyo"),
        ("/usr/share/zoneinfo/right/Asia/Tokyo", nil, nil, "Asia/Tokyo"),
        (nil, "/usr/share/zoneinfo/posix/Europe/Berlin", nil, "Europe/Berlin"),
        ("Factory", nil, nil, nil), ("posixrules", nil, nil, nil), ("right/Factory", nil, nil, nil),
        (nil, "/usr/share/zoneinfo/Factory", nil, nil), (nil, "copy Factory", "Factory\n", nil),
    ]

    @Test("the time zone is the name that is in force, from TZ or the system's files", arguments: timeZones)
    func timeZoneIsTheOneInForce(row: (variable: String?, link: String?, file: String?, zone: String?)) throws {
        let known = [
            "Asia/Tokyo", "Europe/Berlin", "Europe/Rome", "America/Argentina/Ushuaia", "EST5EDT", "posix/Europe/Berlin",
            "right/Asia/Tokyo", "right/Factory", "Factory", "posixrules",
        ]
        func rules(_ zone: String) -> String { "TZif2\u{0}\(zone)\u{0}\nCET-1CEST\n" }
        let root = "/usr/share/zoneinfo/"
        var files = Dictionary(uniqueKeysWithValues: known.map { (root + $0, rules($0)) })
        for (path, zone) in [("Europe/../", "Asia/Tokyo"), ("Europe/./", "Berlin"), ("./", "Asia/Tokyo")] {
            files[root + path + zone] = rules(zone)
        }
        files[root + "README"] = "The files of this directory\n"
        files["/opt/zoneinfo/Asia/Tokyo"] = rules("Asia/Seoul")
        // In the rules, in the last line, and in front of it.
        for (name, bytes) in [("Zone", 12), ("Short", 3), ("Line", 24)] {
            files[root + "Cut/\(name)"] = String(rules("Cut/\(name)").prefix(bytes))
        }
        files["/etc/mine"] = rules("mine")
        files["/etc/elsewhere"] = rules("Europe/Rome")
        files["/etc/timezone"] = row.file
        var links = [root + "localtime": "/etc/localtime"]
        if let link = row.link {
            let zone =
                link.hasPrefix("copy ")
                ? root + link.dropFirst(5) : link.hasPrefix("..") ? "\(link.dropFirst(2))" : link
            files["/etc/localtime"] = files[zone]
            if !link.hasPrefix("copy ") { links["/etc/localtime"] = link }
        }
        files[root + "localtime"] = files["/etc/localtime"]
        let system = system(
            files, links: links, environment: row.variable.map { ["TZ": $0] } ?? [:])
        #expect(try properties(system)["$timezone"] == row.zone.map { .string($0) })
    }

    @Test("TZDIR is the directory of the zones")
    func timeZoneDirectoryIsRespected() throws {
        let files = ["/zones/Europe/Berlin": "TZif2\u{0}\nCET-1CEST\n"]
        for (zone, name) in [("Europe/Berlin", "Europe/Berlin"), ("Europe/Rome", nil)] as [(String, String?)] {
            let system = system(files, environment: ["TZ": zone, "TZDIR": "/zones"])
            #expect(try properties(system)["$timezone"] == name.map { .string($0) })
        }
    }

    @Test("the UTC offset is that of the event's own time, and is computed once in a quarter of an hour")
    func utcOffsetIsThatOfEventTime() throws {
        let calls = Locked(0)
        let change = Timestamp(milliseconds: 1_774_746_000_000)  // 2026-03-29T01:00Z, summer time in Berlin
        let auto = AutoProperties(
            system: SystemReader(utcOffset: { time in
                calls.withLock { $0 += 1 }
                return time < change ? 60 : 120
            }))
        func offset(_ milliseconds: Int64) -> PropertyValue? {
            var event = Event.named()
            event.time.milliseconds = milliseconds
            _ = auto.process(&event)
            return event.properties["$utc_offset"]
        }
        #expect(offset(change.milliseconds - 1) == 60)
        #expect(offset(change.milliseconds) == 120)
        #expect(offset(change.milliseconds + 899_999) == 120)
        #expect(calls.withLock { $0 } == 2)
        #expect(offset(change.milliseconds - 1) == 60)
        #expect(offset(-1) == 60)
        #expect(offset(.min) == 60)
        #expect(offset(.max) == 120)
    }

    @Test("this machine has the expected properties")
    func machineHasExpectedProperties() async throws {
        let test = try TestPipeline { AutoProperties(including: AutoProperties.optionalNames) }
        test.pipeline.track("Event", ["a": 1])
        let properties = try await test.event().properties
        #expect(properties["a"] == 1)
        for name in ["$os", "$architecture", "$process_name", "$app_name", "$host_name"] {
            let value = try #require(properties[name]?.string, "\(name)")
            #expect(!value.isEmpty && value.lowercased() != "unknown")
        }
        #if os(Linux)
            #expect(properties["$os"] == "Linux")
            #expect(try #require(properties["$memory_size"]?.int) > 0)
        #endif
        for name in ["$process_id", "$cpu_count"] { #expect(try #require(properties[name]?.int) > 0) }
        #expect(abs(try #require(properties["$utc_offset"]?.int)) <= 14 * 60)
    }

    @Test("the name of the host, the control group and the number of the process are added only if you ask for them")
    func optionalPropertiesAreOff() throws {
        let kernel = SystemReader.Kernel(name: "Linux", release: "6.1.0", machine: "aarch64", hostName: "web-3")
        let system = SystemReader(
            contents: { $0 == "/proc/self/cgroup" ? Array("0::/system.slice/shop.service\n".utf8) : nil },
            kernel: kernel,
            processID: 7)
        func names(_ included: Set<String>) throws -> Set<String> {
            let properties = try #require(AutoProperties(including: included, system: system).processed()).properties
            return Set(properties.map(\.name)).intersection(AutoProperties.optionalNames)
        }
        #expect(try names([]) == [])
        #expect(try names(["$cgroup"]) == ["$cgroup"])
        #expect(try names(AutoProperties.optionalNames) == ["$host_name", "$cgroup", "$process_id"])
    }

    @Test("excluded properties are left out: constant ones, the offset, the network and the library")
    func excludedPropertiesAreLeftOut() async throws {
        let system = SystemReader(
            processorCount: 8, utcOffset: { _ in 60 }, platform: ["$model": "Phone"], networkType: { "wifi" })
        let excluded: Set<String> = ["$model", "$cpu_count", "$utc_offset", "$network_type", "$wifi", "$lib"]
        #expect(Set(try properties(system).map(\.name)).isSuperset(of: excluded.subtracting(["$wifi"])))
        let auto = AutoProperties(except: excluded, system: system)
        let test = try TestPipeline { auto }
        test.pipeline.signal(.connectivity(.available))
        auto.register(["$model": "own"])
        test.pipeline.track("Event", ["$lib": "own"])
        let event = try await test.event()
        #expect(Set(event.properties.map(\.name)).intersection(excluded) == ["$model", "$lib"])
        #expect(event.properties["$model"] == "own" && event.properties["$lib"] == "own")
    }

    @Test(
        "a name that no automatic property has, that isn't optional, or is in both lists, is an error of the pipeline",
        arguments: [
            ([], ["$model"]), (["$cgroup"], ["$cgroup"]), ([], ["hostname"]), (["carrier"], []), (["$carrier\n"], []),
            ([" $os"], []), (["$os", "$Model"], []), ([""], []), (["plan"], ["$cgroup"]), (["$caf\u{E9}"], []),
        ] as [(Set<String>, Set<String>)])
    func unfitNamesThrow(excluded: Set<String>, included: Set<String>) {
        let error = #expect(throws: SluiceError.self) {
            try TestPipeline { AutoProperties(except: excluded, including: included) }
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test("every name of the page's table can be left out, and every automatic property is among them")
    func tableHasAllNames() throws {
        let page = try Repository.text("Docs/AutoProperties.md")
        let table = page.components(separatedBy: "## Properties")[1].components(separatedBy: "\n\n")[1]
        let names = Set(table.matches(of: /`(\$[a-z_]+)`/).map { String($0.1) })
        #expect(names.count == 35)
        let test = try TestPipeline { AutoProperties(except: names) }
        #expect(test.diagnostics.isEmpty)
        let all = AutoProperties(including: AutoProperties.optionalNames)
        #expect(Set(try #require(all.processed()).properties.map(\.name)).isSubset(of: names))
        let some = try #require(AutoProperties(except: names).processed()).properties
        #expect(some.isEmpty)
    }
}
