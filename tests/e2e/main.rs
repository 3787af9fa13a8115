//! The whole host in one process, with real components and real HTTP: one test binary, many modules.
//!
//! | module | what it shows |
//! |---|---|
//! | `recordings` | what a real API server sent reaches a component, whatever it contains |
//! | `tidy` | the rules of ARCHITECTURE.md and CONVENTIONS.md that a compiler cannot check |

mod player;
mod recordings;
mod tidy;
