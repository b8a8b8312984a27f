//! damper-kit
