extension Duration {
    /// Milliseconds with three decimals, rounded to the nearest; a negative duration is 0.
    package var inMilliseconds: Double {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        let microseconds = (attoseconds + 500_000_000_000) / 1_000_000_000_000
        // As two doubles, because no integer could overflow then; 285 years are exact to the microsecond.
        return (Double(seconds) * 1_000_000 + Double(microseconds)) / 1_000
    }
}
