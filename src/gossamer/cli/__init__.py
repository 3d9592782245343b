"""The commands: arguments in, exit codes out."""
