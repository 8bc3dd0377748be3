"""Pure mathematics, free of the framework."""
