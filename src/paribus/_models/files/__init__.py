"""Models read from files: `model_file` recognizes the format and reads it, without the library that wrote it."""
