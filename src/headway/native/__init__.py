"""What lets other packages hold compiled functions: decorators that keep machine code, and machine operations."""
