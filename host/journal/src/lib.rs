//! damper-journal
