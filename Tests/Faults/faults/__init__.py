"""What `Tests/Faults/run` is made of."""
