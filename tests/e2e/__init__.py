"""The dashboard in a real browser, beside a real service."""
