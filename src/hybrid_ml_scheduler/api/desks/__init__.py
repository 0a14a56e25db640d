"""Where the arena and the store meet: each desk answers one kind of question for the routes."""
