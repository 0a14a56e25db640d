"""HTTP and WebSocket: routes, wire types, limits; no rule of the domain."""
