"""Words and arithmetic: no I/O, no threads, no clock but `clock`."""
