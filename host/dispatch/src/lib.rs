//! damper-dispatch
