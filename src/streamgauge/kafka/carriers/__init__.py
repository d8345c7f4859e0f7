"""What delivers messages again that fail: markers, retry topics and share groups, each with its reader."""
