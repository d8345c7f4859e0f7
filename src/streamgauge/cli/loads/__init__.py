"""Commands about scenarios and payloads: previews, and specifications of other tools."""
