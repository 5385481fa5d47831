"""Models read from files: `model_file` recognizes a format and reads it, without the library."""
