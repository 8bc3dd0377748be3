"""Components, hooks, wiring and programs."""
