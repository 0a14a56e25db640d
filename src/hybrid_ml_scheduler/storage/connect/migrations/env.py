"""Alembic's entry: migrate over the connection that `storage.schema` hands in, inside its transaction."""

from __future__ import annotations

from alembic import context

from hybrid_ml_scheduler.storage.connect.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
