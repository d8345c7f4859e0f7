"""Tables -> result.json and what people read; computes no statistics."""
