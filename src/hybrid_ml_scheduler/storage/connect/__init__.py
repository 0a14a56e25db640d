"""Addresses, connections, tables, migrations and who owns the store."""
