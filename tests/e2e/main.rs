//! The whole host in one process, with real components and real HTTP: one test binary, many modules.
//!
//! | module | what it shows |
//! |---|---|
//! | `isolation` | bad plugins touch neither a good one nor the informers, and their failures are shown |
//! | `recordings` | what a real API server sent reaches a component, whatever it contains |
//! | `reload` | a changed component takes over under load; a bad one never does |
//! | `tidy` | the rules of ARCHITECTURE.md and CONVENTIONS.md that a compiler cannot check |

mod configmaps;
mod echo;
mod isolation;
mod player;
mod recordings;
mod reload;
mod tidy;
