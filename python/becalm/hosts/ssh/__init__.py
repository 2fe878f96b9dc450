"""Another machine through OpenSSH."""
