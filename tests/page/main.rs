//! The page of the admin endpoint in a real Chromium, with the whole host behind it.
//!
//! `cargo xtask test --all` runs these tests: `scale` measures, so it runs alone, after all others. They leave screenshots of each
//! view in the directory that they print.
//!
//! | module | what it shows |
//! |---|---|
//! | `actions` | replay, drop and reload, as the user sees them |
//! | `browser` | Chromium, driven by chromedriver |
//! | `foreign` | a page of another origin reads and changes nothing; text of others is never HTML |
//! | `keys` | the page without a mouse |
//! | `looks` | dark and light, wide and narrow: screenshots, contrast, overflow |
//! | `scale` | a thousand plugins and a hundred thousand objects |
//! | `stage` | the host, its API server and its plugins |
//! | `stream` | the stream of the page ends and comes back |
//! | `views` | each view shows what the host reports, and follows it |
//! | `webdriver` | the protocol of chromedriver |
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test ends by panicking")]

mod actions;
mod browser;
mod foreign;
mod keys;
mod looks;
mod scale;
mod stage;
mod stream;
mod views;
mod webdriver;
