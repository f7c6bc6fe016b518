import Sluice

/// Reads the container that the process runs in, and the limits of its control group.
extension SystemReader {
    var containerProperties: Properties {
        let groups = ControlGroups(file("/proc/self/cgroup") ?? "")
        return Properties(known: [
            "$container_runtime": containerRuntime(groups),
            "$container_id": containerID(groups),
            "$orchestrator": environment("KUBERNETES_SERVICE_HOST") == nil ? nil : "kubernetes",
            "$cgroup": groups.name,
            "$memory_limit": memoryLimit(groups),
            "$cpu_limit": processorLimit(groups),
        ])
    }

    /// The container's runtime, from systemd's container interface if the runtime sets it, and otherwise from the
    /// traces of each runtime.
    private func containerRuntime(_ groups: ControlGroups) -> String? {
        if let name = line("/run/systemd/container") ?? environment("container").flatMap({ trimmed($0) }) {
            return name
        }
        let prefix = "container="
        let first = file("/proc/1/environ")?.split(separator: "\0").first { $0.hasPrefix(prefix) }
        if let name = first.flatMap({ trimmed($0.dropFirst(prefix.count)) }) { return name }
        if file("/.dockerenv") != nil { return "docker" }
        if file("/run/.containerenv") != nil { return "podman" }
        return groups.runtime
    }

    /// The container's id of 64 hexadecimal digits, from the control group. If the group is hidden, from the path of
    /// the file that the runtime mounts as the host's name.
    private func containerID(_ groups: ControlGroups) -> String? {
        if let id = groups.containerID { return id }
        for mount in file("/proc/self/mountinfo")?.parts(by: "\n") ?? [] {
            // The columns of proc(5): id, parent, device, root, mount point.
            let fields = mount.parts(by: " ")
            guard fields.count > 4, fields[4] == "/etc/hostname" else { continue }
            let parts = fields[3].split(separator: "/")
            for (directory, name) in zip(parts, parts.dropFirst())
            where directory.hasSuffix("containers") && ControlGroups.isContainerID(name) {
                return String(name)
            }
        }
        return nil
    }

    /// The lowest memory limit, in bytes, of the control group and all groups above it.
    private func memoryLimit(_ groups: ControlGroups) -> Int64? {
        let files =
            groups.directories(of: nil).map { "\($0)/memory.max" }
            + groups.directories(of: "memory").map { "\($0)/memory.limit_in_bytes" }
        // "max", or a number close to 2^63 in the older form, means no limit.
        return files.compactMap { line($0).flatMap { Int64($0) } }.filter { $0 < 1 << 60 }.min()
    }

    /// The lowest quota of processors of the control group and all groups above it, as a share of its period.
    private func processorLimit(_ groups: ControlGroups) -> Double? {
        let unified = groups.directories(of: nil).compactMap { line("\($0)/cpu.max")?.split(separator: " ") }
        let older = groups.directories(of: "cpu").map { directory in
            ["quota", "period"].compactMap { line("\(directory)/cpu.cfs_\($0)_us")?[...] }
        }
        // "max", or -1 in the older form, means no limit.
        return (unified + older).compactMap { fields in
            guard fields.count == 2, let quota = Double(fields[0]), let period = Double(fields[1]), quota > 0,
                period > 0
            else { return nil }
            return quota / period
        }.min()
    }
}

/// `/proc/self/cgroup`, by cgroups(7). Its lines are `number:controllers:path`, with empty controllers in the unified
/// form.
struct ControlGroups {
    private var paths: [(controllers: [Substring], path: Substring)] = []

    init(_ text: String) {
        for line in text.parts(by: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            if fields.count == 3 { paths.append((fields[1].split(separator: ","), fields[2])) }
        }
    }

    /// The path of a controller. Nil means the unified form.
    private func path(of controller: String?) -> Substring? {
        paths.first { controllers, _ in controller.map { controllers.contains($0[...]) } ?? controllers.isEmpty }?.path
    }

    /// The longest path. Nil if the process is in the root, or if it can't see the rest.
    var name: String? {
        [nil, "memory", "name=systemd"].lazy.compactMap { path(of: $0) }.first { $0 != "/" }.map(String.init)
    }

    /// The folders of a controller, or of the unified form. The process's own group comes first, then the groups above
    /// it, up to the root, which may be the only one that a container can see.
    func directories(of controller: String?) -> [String] {
        let root = controller.map { "/sys/fs/cgroup/\($0)" } ?? "/sys/fs/cgroup"
        let parts = path(of: controller)?.split(separator: "/") ?? []
        return (0...parts.count).reversed().map { parts.prefix($0).reduce(root) { "\($0)/\($1)" } }
    }

    var containerID: String? {
        // As in docker-ID.scope, cri-containerd-ID.scope, ID.
        paths.lazy.flatMap { $0.path.split(separator: "/").reversed() }
            .flatMap { $0.split { $0 == "-" || $0 == "." || $0 == ":" } }
            .first(where: ControlGroups.isContainerID).map(String.init)
    }

    static func isContainerID(_ text: Substring) -> Bool {
        text.utf8.count == 64 && text.allSatisfy { $0.isHexDigit && !$0.isUppercase }
    }

    private static let runtimes: KeyValuePairs = [
        "cri-containerd": "containerd", "crio-": "cri-o", "libpod": "podman", "docker": "docker", "/lxc": "lxc",
    ]

    var runtime: String? {
        paths.lazy.compactMap { group in Self.runtimes.first { group.path.contains(text: $0.key) }?.value }.first
    }
}
