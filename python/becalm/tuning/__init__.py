"""The phases of a search for settings: pilot runs, search, confirmation. Pure."""
