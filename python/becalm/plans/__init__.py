"""What to run next, as pure functions of what has been measured and a random generator."""
