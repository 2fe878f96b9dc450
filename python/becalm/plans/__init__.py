"""The plans of the next runs, as pure functions of the measurements and a random generator."""
