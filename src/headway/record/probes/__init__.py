"""How a machine and the processes on it are read; every probe gives the same Reading."""
