//! damper-tools
