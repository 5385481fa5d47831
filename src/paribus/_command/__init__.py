"""The command line: `entry` reads arguments and reports failures; each command has a file."""
