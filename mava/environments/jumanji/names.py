"""The environments of ``jumanji`` that have several agents, by name. Imports nothing of it."""

NAMES = ("Cleaner-v0", "Connector-v3", "LevelBasedForaging-v0", "RobotWarehouse-v0")
