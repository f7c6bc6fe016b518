"""Runs the SDKs of vendors beside this package, against a server on loopback that records their requests."""
