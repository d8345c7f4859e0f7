"""The model of result.json, part by part."""
