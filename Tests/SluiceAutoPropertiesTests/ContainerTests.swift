import TestSupport
import Testing

@testable import SluiceAutoProperties

@Suite("AutoProperties: the container")
struct ContainerTests {
    private static let id = String(repeating: "0123456789abcdef", count: 4)

    private func properties(_ files: [String: String], environment: [String: String] = [:]) throws -> Properties {
        let system = SystemReader(contents: { files[$0].map { Array($0.utf8) } }, environment: { environment[$0] })
        return try #require(AutoProperties(including: ["$cgroup"], system: system).processed()).properties
    }

    @Test(
        "the control group gives the runtime and the id",
        arguments: [
            ("0::/system.slice/docker-\(id).scope\n", "docker", id),
            ("12:memory:/docker/\(id)\n1:name=systemd:/docker/\(id)\n0::/docker/\(id)\n", "docker", id),
            ("0::/kubepods.slice/pod1.slice/cri-containerd-\(id).scope\n", "containerd", id),
            ("0::/kubepods/besteffort/pod1/crio-\(id)\n", "cri-o", id),
            ("0::/machine.slice/libpod-\(id).scope/container\n", "podman", id),
            ("0::/lxc/web\n", "lxc", nil),
            ("0::/system.slice/shop.service\n", nil, nil),
            ("0::/\n", nil, nil),
            ("nonsense\n::\n", nil, nil),
            ("", nil, nil),
        ] as [(String, String?, String?)])
    func controlGroupNamesContainer(text: String, runtime: String?, id: String?) throws {
        let properties = try properties(["/proc/self/cgroup": text])
        #expect(properties["$container_runtime"] == runtime.map { .string($0) })
        #expect(properties["$container_id"] == id.map { .string($0) })
    }

    @Test(
        "the most specific control group is used",
        arguments: [
            ("0::/system.slice/shop.service\n", "/system.slice/shop.service"),
            ("4:memory:/jobs/7\n1:name=systemd:/\n0::/\n", "/jobs/7"), ("4:cpu,memory:/jobs:7\n", "/jobs:7"),
            ("1:name=systemd:/user.slice\n", "/user.slice"), ("2:cpu:/x\n0::/\n", nil),
        ] as [(String, String?)])
    func mostSpecificGroupIsUsed(text: String, group: String?) throws {
        #expect(try properties(["/proc/self/cgroup": text])["$cgroup"] == group.map { .string($0) })
    }

    @Test(
        "the runtime is found by its other traces",
        arguments: [
            (["/run/systemd/container": "systemd-nspawn\n", "/.dockerenv": ""], [:], "systemd-nspawn"),
            (["/.dockerenv": ""], ["container": "oci"], "oci"),
            (["/proc/1/environ": "PATH=/bin\0container=lxc\0HOME=/\0", "/.dockerenv": ""], [:], "lxc"),
            (["/proc/1/environ": "containers=x\0container=\0", "/.dockerenv": ""], [:], "docker"),
            (["/.dockerenv": ""], [:], "docker"),
            (["/run/.containerenv": ""], [:], "podman"),
            ([:], [:], nil),
        ] as [([String: String], [String: String], String?)])
    func runtimeIsFoundByOtherTraces(files: [String: String], environment: [String: String], runtime: String?) throws {
        #expect(try properties(files, environment: environment)["$container_runtime"] == runtime.map { .string($0) })
    }

    @Test("if the control group is hidden, the id is that of the mounted host name's file")
    func hiddenControlGroupUsesMountedHostName() throws {
        let mounts = """
            1 0 0:21 / /proc rw - proc proc rw
            2 1 254:1 /var/lib/docker/containers/\(String(repeating: "f", count: 63))/x /etc/hosts rw - ext4 /dev/vda rw
            3 1 254:1 /var/lib/docker/containers/\(ContainerTests.id)/hostname /etc/hostname rw - ext4 /dev/vda rw
            """
        let files = ["/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": mounts, "/.dockerenv": ""]
        #expect(try properties(files)["$container_id"] == .string(ContainerTests.id))
        // The sandbox that Kubernetes puts around several containers is not a container.
        let sandbox = mounts.replacing("docker/containers", with: "containerd/sandboxes")
        #expect(try properties(["/proc/self/mountinfo": sandbox])["$container_id"] == nil)
    }

    @Test("Kubernetes is recognized")
    func kubernetesIsRecognized() throws {
        #expect(
            try properties([:], environment: ["KUBERNETES_SERVICE_HOST": "10.0.0.1"])["$orchestrator"] == "kubernetes")
        #expect(try properties([:])["$orchestrator"] == nil)
    }

    @Test(
        "the lowest limit of a group and the groups above it counts",
        arguments: [
            (["memory.max": "536870912\n", "cpu.max": "150000 100000\n"], 536_870_912, 1.5),
            (["memory.max": "max\n", "cpu.max": "max 100000\n"], nil, nil),
            (
                [
                    "a/b/memory.max": "max\n", "a/memory.max": "1000\n", "a/b/cpu.max": "200000 100000\n",
                    "a/cpu.max": "50000 100000\n",
                ], 1_000, 0.5
            ),
            (
                [
                    "memory/jobs/memory.limit_in_bytes": "2000\n", "cpu/cpu.cfs_quota_us": "25000\n",
                    "memory/memory.limit_in_bytes": "9223372036854771712\n", "cpu/cpu.cfs_period_us": "100000\n",
                ], 2_000, 0.25
            ),
            (["cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"], nil, nil),
            (["cpu/cpu.cfs_quota_us": "5\n", "cpu.max": "5 0\n"], nil, nil),
            (["memory.max": "many\n", "cpu.max": "\n"], nil, nil),
        ] as [([String: String], PropertyValue?, PropertyValue?)])
    func lowestLimitOfGroupsCounts(files: [String: String], memory: PropertyValue?, processors: PropertyValue?) throws {
        var files = Dictionary(uniqueKeysWithValues: files.map { ("/sys/fs/cgroup/" + $0.key, $0.value) })
        files["/proc/self/cgroup"] = "4:memory:/jobs\n3:cpu,cpuacct:/\n0::/a/b\n"
        let properties = try properties(files)
        #expect(properties["$memory_limit"] == memory)
        #expect(properties["$cpu_limit"] == processors)
    }
}
