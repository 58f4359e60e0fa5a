//! Pictures in a terminal: by the graphics that it speaks, else out of characters.

use std::fmt::Write as _;
use std::io::IsTerminal;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::ValueEnum;
use trilith::Result;
use trilith_view::ColorImage;

use crate::{output, style};

/// The output of a picture on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Graphics {
    /// The protocol that the terminal supports; characters if the output is not a terminal.
    Auto,
    /// The graphics of kitty, Ghostty and others.
    Kitty,
    /// The graphics of iTerm2 and others.
    Iterm,
    /// Sixel.
    Sixel,
    /// Half blocks in colours.
    Blocks,
    /// Characters without colours.
    Text,
}

/// Default number of columns.
const DEFAULT_COLUMNS: usize = 80;
/// Pixels across if a terminal draws pixels.
const DEFAULT_WIDTH_PX: usize = 800;
/// Base64 in one piece of a message to kitty.
const BUFFER_SIZE: usize = 4096;
/// Characters from dark to light.
const ASCII_RAMP: [char; 10] = [' ', '.', ':', '-', '=', '+', '*', '#', '%', '@'];

/// Characters in a line.
pub(crate) fn columns_or_default() -> usize {
    output::terminal_columns().map_or(DEFAULT_COLUMNS, |columns| columns.max(20))
}

impl Graphics {
    /// Returns the choice for `auto` here and now.
    pub(crate) fn resolve_auto(self) -> Self {
        if self != Self::Auto {
            return self;
        }
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        if !std::io::stdout().is_terminal() {
            // Colours may be requested, and are text.
            return if style::out_is_colored() { Self::Blocks } else { Self::Text };
        }
        detect(&variable).unwrap_or_else(|| if style::out_is_colored() { Self::Blocks } else { Self::Text })
    }

    /// Returns the default width of a picture in pixels. A character counts as one pixel.
    pub(crate) fn width_in_pixels(self) -> usize {
        match self {
            Self::Kitty | Self::Iterm | Self::Sixel => DEFAULT_WIDTH_PX,
            _ => columns_or_default(),
        }
    }

    /// The picture as it is printed.
    pub(crate) fn encode(self, picture: &ColorImage) -> Result<String> {
        match self {
            Self::Kitty => Ok(encode_kitty_image(&picture.to_png()?)),
            Self::Iterm => Ok(encode_iterm_image(&picture.to_png()?)),
            Self::Sixel => Ok(crate::sixel::encode_sixel(picture)),
            Self::Blocks => Ok(draw_half_blocks(picture)),
            Self::Auto | Self::Text => Ok(draw_shades(picture)),
        }
    }
}

/// The graphics of a terminal, by the variables that terminals set.
fn detect(variable: &dyn Fn(&str) -> Option<String>) -> Option<Graphics> {
    let (term, program) = (variable("TERM").unwrap_or_default(), variable("TERM_PROGRAM").unwrap_or_default());
    // Programs between us and the terminal do not pass pictures on.
    if variable("TMUX").is_some() || variable("STY").is_some() {
        return None;
    }
    if variable("KITTY_WINDOW_ID").is_some() || term.contains("kitty") || term.contains("ghostty") || program == "ghostty" {
        return Some(Graphics::Kitty);
    }
    if ["iTerm.app", "WezTerm", "mintty"].contains(&program.as_str()) || variable("LC_TERMINAL").as_deref() == Some("iTerm2") {
        return Some(Graphics::Iterm);
    }
    let speaks_sixel = ["foot", "mlterm", "yaft", "contour"].iter().any(|name| term.starts_with(name)) || term.contains("sixel");
    speaks_sixel.then_some(Graphics::Sixel)
}

/// A PNG for kitty: base64 in pieces.
fn encode_kitty_image(png: &[u8]) -> String {
    let text = STANDARD.encode(png);
    let pieces: Vec<&str> = text.as_bytes().chunks(BUFFER_SIZE).filter_map(|piece| std::str::from_utf8(piece).ok()).collect();
    let mut out = String::with_capacity(text.len() + pieces.len() * 16);
    for (at, piece) in pieces.iter().enumerate() {
        let lead = if at == 0 { "a=T,f=100," } else { "" };
        let more = u8::from(at + 1 < pieces.len());
        let _ = write!(out, "\x1b_G{lead}m={more};{piece}\x1b\\");
    }
    out.push('\n');
    out
}

/// A PNG for iTerm2.
fn encode_iterm_image(png: &[u8]) -> String {
    format!("\x1b]1337;File=inline=1;size={};preserveAspectRatio=1:{}\x07\n", png.len(), STANDARD.encode(png))
}

/// A row of pixels.
type PixelRow = Vec<[u8; 4]>;

/// Rows of pixels two by two, and a missing last one.
fn pair_rows(picture: &ColorImage) -> Vec<(PixelRow, Option<PixelRow>)> {
    let rgba = picture.rgba();
    let row = |bytes: &[u8]| bytes.as_chunks::<4>().0.to_vec();
    let rows: Vec<_> = rgba.chunks((picture.width() * 4).max(1)).map(row).collect();
    rows.chunks(2).filter_map(|pair| Some((pair.first()?.clone(), pair.get(1).cloned()))).collect()
}

/// Draws two pixels as one character: the upper half in one color, the lower in another.
fn draw_half_blocks(picture: &ColorImage) -> String {
    let mut out = String::new();
    for (upper, lower) in pair_rows(picture) {
        for (x, [r, g, b, _]) in upper.into_iter().enumerate() {
            let _ = write!(out, "\x1b[38;2;{r};{g};{b}m");
            if let Some([r, g, b, _]) = lower.as_ref().and_then(|lower| lower.get(x)) {
                let _ = write!(out, "\x1b[48;2;{r};{g};{b}m");
            }
            out.push('▀');
        }
        out.push_str("\x1b[0m\n");
    }
    out
}

/// Draws two pixels as one character, by their brightness.
fn draw_shades(picture: &ColorImage) -> String {
    let light = |[r, g, b, _]: [u8; 4]| (0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)) / 255.0;
    let mut out = String::new();
    for (upper, lower) in pair_rows(picture) {
        let mut line = String::new();
        for (x, pixel) in upper.into_iter().enumerate() {
            let below = lower.as_ref().and_then(|lower| lower.get(x)).copied().unwrap_or(pixel);
            let mean = (light(pixel) + light(below)) / 2.0;
            let shade = ((mean * ASCII_RAMP.len() as f64) as usize).min(ASCII_RAMP.len() - 1);
            line.push(ASCII_RAMP.get(shade).copied().unwrap_or(' '));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> ColorImage {
        let rgba = [[0, 0, 0, 255], [255, 255, 255, 255], [0, 0, 0, 255], [255, 255, 255, 255], [255, 0, 0, 255], [0; 4]];
        ColorImage::from_rgba(2, 3, rgba.concat()).unwrap()
    }

    #[test]
    fn terminals_are_known_by_what_they_set() {
        let of = |set: &[(&str, &str)]| {
            detect(&|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(of(&[("TERM", "xterm-kitty")]), Some(Graphics::Kitty));
        assert_eq!(of(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")]), Some(Graphics::Iterm));
        assert_eq!(of(&[("TERM", "xterm-kitty"), ("TMUX", "1")]), None);
        assert_eq!(of(&[("TERM", "xterm-256color")]), None);
        assert_eq!(of(&[("TERM", "foot-extra")]), Some(Graphics::Sixel));
    }

    #[test]
    fn pictures_are_what_each_protocol_asks_for() {
        let picture = picture();
        assert_eq!(draw_shades(&picture), " @\n:\n");
        let blocks = Graphics::Blocks.encode(&picture).unwrap();
        assert_eq!(blocks.lines().count(), 2);
        assert!(blocks.starts_with("\x1b[38;2;0;0;0m\x1b[48;2;0;0;0m▀"));
        let kitty = encode_kitty_image(&vec![0; 10_000]);
        assert!(kitty.starts_with("\x1b_Ga=T,f=100,m=1;AAAA") && kitty.ends_with("\x1b\\\n"));
        assert_eq!(kitty.matches("\x1b_G").count(), 4);
        assert_eq!(kitty.matches("m=0;").count(), 1);
        assert!(Graphics::Iterm.encode(&picture).unwrap().starts_with("\x1b]1337;File=inline=1;size="));
        assert!(Graphics::Sixel.encode(&picture).unwrap().starts_with("\x1bP"));
    }
}
