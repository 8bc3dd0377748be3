"""The distributed topology: Launchpad nodes around a Reverb replay."""
