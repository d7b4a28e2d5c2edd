"""The file that a recorder writes: docs/recording-format.md."""
