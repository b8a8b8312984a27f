//! damper-call
