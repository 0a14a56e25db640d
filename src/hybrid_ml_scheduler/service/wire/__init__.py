"""The types of every message over HTTP and WebSocket; the dashboard's types are generated from them."""
