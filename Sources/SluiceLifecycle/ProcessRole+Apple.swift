#if canImport(UIKit) && !os(watchOS) && !os(tvOS)
    import Foundation
    import Sluice
    import UIKit

    #if canImport(Darwin)
        // `mach_task_self_` is a variable in C, which is never changed.
        @preconcurrency import Darwin
    #endif

    /// The role that the system has given to the process.
    ///
    /// While an app with scenes is launching, its `applicationState` is always `.background`. The role tells a launch by
    /// the user from one by the system. The SDKs of Datadog and Embrace decide by it too. On tvOS and watchOS, a process may
    /// not ask for it.
    enum ProcessRole {
        static var launch: Signal.Launch {
            let role = current
            // The system sets this variable for a process that it prewarms.
            if role == TASK_DARWINBG_APPLICATION || ProcessInfo.processInfo.environment["ActivePrewarm"] == "1" {
                return .prewarmed
            }
            // A simulator has other roles.
            return role == TASK_NONUI_APPLICATION ? .passive : .foreground
        }

        /// Nil if the system doesn't tell.
        private static var current: task_role_t? {
            var policy = task_category_policy_data_t()
            var count = mach_msg_type_number_t(
                MemoryLayout<task_category_policy_data_t>.size / MemoryLayout<integer_t>.size)
            var isDefault: boolean_t = 0
            let result = withUnsafeMutablePointer(to: &policy) { policy in
                policy.withMemoryRebound(to: integer_t.self, capacity: Int(count)) { words in
                    task_policy_get(
                        mach_task_self_, task_policy_flavor_t(TASK_CATEGORY_POLICY), words, &count, &isDefault)
                }
            }
            return result == KERN_SUCCESS ? policy.role : nil
        }
    }
#endif
