"""Every sentence that a user reads, in one place."""
