//! The ready-made plugins beside each other in one host: under faults, and with hostile objects.

mod cluster;
mod faults;
mod fixture;
mod history;
mod hostile;
mod judge;
mod script;
mod stage;
