"""A modelled broker: what it does with each message is known, so that what is measured can be compared with it."""
