//! damper-profile
