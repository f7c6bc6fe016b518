/// This package's name and version, for `$lib` and `$lib_version`.
package enum LibraryVersion {
    package static let name = "Sluice"
    package static let current = "0.2.0"
}
