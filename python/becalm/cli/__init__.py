"""The command line: one file a verb, which parses, calls the API and prints. Heavy imports only inside a command."""
