//! A small writer of SVG. Colours follow the reader's light or dark setting; fonts come from the reader's system.

use std::fmt::Write as _;

const STYLE: &str = "\
text { font-family: system-ui, -apple-system, 'Segoe UI', sans-serif; font-size: 15px; fill: #1f2328; }
.title { font-size: 18px; font-weight: 600; }
.small { font-size: 13px; fill: #59636e; }
.mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 14px; }
.box { fill: #f6f8fa; stroke: #8c959f; }
.host { fill: #ddf4ff; stroke: #0969da; }
.plugin { fill: #dafbe1; stroke: #1a7f37; }
.screen { fill: #f6f8fa; stroke: #d1d9e0; }
.story { fill: #0969da; }
.arrow { stroke: #59636e; stroke-width: 1.5; fill: none; marker-end: url(#head); }
.head { fill: #59636e; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .small { fill: #9198a1; }
  .box { fill: #151b23; stroke: #656c76; }
  .host { fill: #121d2f; stroke: #4493f8; }
  .plugin { fill: #12261e; stroke: #3fb950; }
  .screen { fill: #0d1117; stroke: #3d444d; }
  .story { fill: #4493f8; }
  .arrow { stroke: #9198a1; }
  .head { fill: #9198a1; }
}
";

/// A picture under construction.
pub(super) struct Svg {
    body: String,
    width: u32,
    height: u32,
    title: &'static str,
}

impl Svg {
    /// An empty picture. `title` is read aloud in place of it.
    pub(super) fn new(width: u32, height: u32, title: &'static str) -> Self {
        Self { body: String::new(), width, height, title }
    }

    /// A box with round corners.
    pub(super) fn rect(&mut self, class: &str, (x, y): (u32, u32), (width, height): (u32, u32)) {
        self.line(&format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>"
        ));
    }

    /// A line of text that begins at a point.
    pub(super) fn text(&mut self, class: &str, (x, y): (u32, u32), text: &str) {
        self.line(&format!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" xml:space=\"preserve\">{}</text>",
            escape(text)
        ));
    }

    /// A line of text around a point.
    pub(super) fn centred(&mut self, class: &str, (x, y): (u32, u32), text: &str) {
        self.line(&format!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text>",
            escape(text)
        ));
    }

    /// An arrow from one point to another.
    pub(super) fn arrow(&mut self, (from_x, from_y): (u32, u32), (to_x, to_y): (u32, u32)) {
        self.line(&format!("<path class=\"arrow\" d=\"M {from_x} {from_y} L {to_x} {to_y}\"/>"));
    }

    /// The whole file.
    pub(super) fn finish(self) -> String {
        let Self { body, width, height, title } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\" aria-label=\"{title}\">\n<!-- Made by `cargo xtask pictures`. -->\n<style>\n{STYLE}</style>\n\
             <defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
             orient=\"auto\"><path class=\"head\" d=\"M 0 0 L 8 4 L 0 8 z\"/></marker></defs>\n{body}</svg>\n"
        )
    }

    fn line(&mut self, line: &str) {
        // Writing to a String cannot fail.
        writeln!(self.body, "{line}").ok();
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
