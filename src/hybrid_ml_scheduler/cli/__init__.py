"""The command line: `hms`."""
