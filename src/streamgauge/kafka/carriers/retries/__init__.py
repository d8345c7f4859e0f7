"""A reader whose messages come again from retry topics when they fail, on offsets that are committed as usual."""
