import Foundation
import PackagePlugin

/// Generates a Swift file for each tracking plan of a target: each file whose name ends in `plan.json`.
@main
struct PlanPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
        guard let target = target as? any SourceModuleTarget else { return [] }
        let plans = target.sourceFiles(withSuffix: "plan.json").map(\.url)
        if plans.isEmpty {
            Diagnostics.warning("the target \(target.name) uses SluicePlanPlugin, and has no file *.plan.json")
            return []
        }
        let modules = target.dependencies.flatMap { dependency in
            switch dependency {
            case .target(let target): [target.name]
            case .product(let product): product.targets.map(\.name)
            @unknown default: [String]()
            }
        }
        // A feature module depends on SluiceEvents only. Each other library exports the core, which exports SluiceEvents.
        let preferred = ["SluiceEvents", "Sluice", "SluicePlan"].first { modules.contains($0) }
        guard let module = preferred ?? modules.first(where: { $0.hasPrefix("Sluice") }) else {
            throw PlanPluginError(
                description: "the target \(target.name) has a tracking plan, and depends on no library of Sluice")
        }
        let outputs = plans.map { outputName(of: $0, in: target.directoryURL) }
        try requireUnique(outputs, of: plans)
        let embedding = modules.contains("SluicePlan")
        let generator = try context.tool(named: "PlanGenerator").url
        return zip(plans, outputs).map { plan, name in
            let output = context.pluginWorkDirectoryURL.appending(path: name)
            return .buildCommand(
                displayName: "Generating the events of \(plan.lastPathComponent)", executable: generator,
                // The embedded plan needs the module SluicePlan.
                arguments: [plan.path(percentEncoded: false), output.path(percentEncoded: false)]
                    + (embedding ? ["SluicePlan", "--embed"] : [module]),
                inputFiles: [plan], outputFiles: [output])
        }
    }

    /// The name of the generated file: `a/shop.plan.json` results in `a+shop-plan+Generated.swift`. It contains the folders,
    /// because the compiler refuses two files with the same name in a target, and the outputs of all plans are in one folder.
    private func outputName(of plan: URL, in directory: URL) -> String {
        // Without the slashes at the root and at the end of a folder.
        let path = plan.deletingPathExtension().pathComponents.filter { $0 != "/" }
        let root = directory.pathComponents.filter { $0 != "/" }
        let names = path.starts(with: root) ? path.dropFirst(root.count) : path.suffix(1)
        return names.joined(separator: "+").replacingOccurrences(of: ".", with: "-") + "+Generated.swift"
    }

    /// Reports all plans that share an output. One of them would overwrite the types of the other.
    private func requireUnique(_ outputs: [String], of plans: [URL]) throws {
        var owners: [String: URL] = [:]
        var isUnique = true
        for (plan, output) in zip(plans, outputs) {
            // Names that differ only in case are one file on most Macs.
            guard let other = owners.updateValue(plan, forKey: output.lowercased()) else { continue }
            let path = plan.path(percentEncoded: false)
            Diagnostics.error(
                "\(path) and \(other.path(percentEncoded: false)) both result in \(output): rename one of them",
                file: path, line: 1)
            isUnique = false
        }
        if !isUnique {
            throw PlanPluginError(
                description: "two tracking plans result in the same generated file: rename one of them")
        }
    }
}

struct PlanPluginError: Error, CustomStringConvertible {
    let description: String
}
