"""Checkers of wire formats, written from the documents of the backends."""
