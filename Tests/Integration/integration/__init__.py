"""Real backends from Debian's packages, and Sluice delivering to them."""
