"""What becomes of specifications: translations, their clients and topics, and their YAML."""
