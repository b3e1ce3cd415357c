"""Single parts measured by themselves: `python -m benchmarks.micro.<name>`."""
