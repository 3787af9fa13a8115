//! What a command prints, as on a screen.

use super::svg::Svg;

const LINE: u32 = 22;
const MARGIN: u32 = 24;

/// Draws the command and its output.
pub(super) fn draw(command: &str, output: &[String]) -> String {
    let lines = u32::try_from(output.len()).unwrap_or(u32::MAX / LINE);
    let height = 2 * MARGIN + (lines + 2) * LINE;
    let mut picture = Svg::new(720, height, "The output of the demo");
    picture.rect("screen", (1, 1), (718, height - 2));
    picture.text("mono", (MARGIN, MARGIN + 14), &format!("$ {command}"));
    let mut y = MARGIN + 14 + LINE;
    for line in output {
        y += LINE;
        let class = if line.starts_with("---") { "mono story" } else { "mono" };
        picture.text(class, (MARGIN, y), line);
    }
    picture.finish()
}
