/// What this package calls itself in `$lib` and `$lib_version`. The version is written down here and nowhere else.
package enum LibraryVersion {
    package static let name = "Sluice"
    package static let current = "0.1.0"
}
