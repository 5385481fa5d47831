"""Pictures of results. Drawing reads a result and nothing else; computing never imports this room."""
