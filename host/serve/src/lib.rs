//! damper-serve
