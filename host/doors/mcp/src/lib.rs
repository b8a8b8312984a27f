//! damper-door-mcp
