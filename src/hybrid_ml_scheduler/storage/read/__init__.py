"""Questions to the store: history, ledger, statistics, replay and export."""
