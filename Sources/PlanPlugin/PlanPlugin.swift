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
        let embedding = modules.contains("SluicePlan")
        let generator = try context.tool(named: "PlanGenerator").url
        return plans.map { plan in
            let name = plan.deletingPathExtension().lastPathComponent.replacingOccurrences(of: ".", with: "-")
            let output = context.pluginWorkDirectoryURL.appending(path: "\(name)+Generated.swift")
            return .buildCommand(
                displayName: "Generating the events of \(plan.lastPathComponent)", executable: generator,
                // The embedded plan needs the module SluicePlan.
                arguments: [plan.path(percentEncoded: false), output.path(percentEncoded: false)]
                    + (embedding ? ["SluicePlan", "--embed"] : [module]),
                inputFiles: [plan], outputFiles: [output])
        }
    }
}

struct PlanPluginError: Error, CustomStringConvertible {
    let description: String
}
