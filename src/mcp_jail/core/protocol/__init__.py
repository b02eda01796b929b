"""MCP as it is on the wire: bytes to messages and back, and what a message means in each era."""
