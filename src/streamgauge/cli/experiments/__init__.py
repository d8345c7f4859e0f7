"""Commands of many runs: experiments and sweeps."""
