"""Workers: phases, produce loop, consume loop, sampler, supervision, and the ports they need."""
