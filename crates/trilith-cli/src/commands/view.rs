//! `trilith view [FILE]…`: look at files in the browser.

use clap::Args;
use trilith_view::ImageOrigin;

/// Look at files in the browser: tree, images, tables, plots
///
/// Serves on localhost only, at a URL that contains a secret. It only reads. Press Ctrl-C to end it.
#[derive(Debug, Args)]
pub(crate) struct View {
    /// Files, folders, patterns and URLs; one may have a #/path to begin with. Default: the current folder
    #[arg(value_name = "FILE[#/path]")]
    files: Vec<String>,
    /// Include hidden files and folders
    #[arg(long)]
    hidden: bool,
    /// Place of the first row of images: auto (the bottom for FITS images and arrays with sky coordinates, else the top), upper,
    /// lower
    #[arg(long, value_name = "ORIGIN", default_value = "auto", hide_default_value = true)]
    origin: ImageOrigin,
    /// Only print the URL
    #[arg(long)]
    no_browser: bool,
    /// Let a page that has the URL show the viewer in a frame, and end when standard input ends: for a notebook
    #[arg(long, requires = "no_browser")]
    embed: bool,
    /// Serve at this port (default: a free one)
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
}

#[cfg(not(feature = "view"))]
impl View {
    /// Says that there is no viewer.
    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn run(&self, _: &crate::session::Session<'_>) -> trilith::Result<crate::outcome::Outcome> {
        Err(trilith::Error::unsupported("this build has no viewer").hint("build it with the feature view"))
    }
}

#[cfg(feature = "view")]
mod serving {
use std::net::{Ipv4Addr, TcpListener};

use serde_json::json;
use trilith::file::{FoundFile, FileFinder};
use trilith::{Error, Result, bytes};
use trilith_view::ImageOrigin;
use trilith_view::requests::ViewerSession;

use super::View;
use crate::outcome::Outcome;
use crate::item_arg::ItemArg;
use crate::session::Session;
use crate::serve::{self, ServedSite};

impl View {
    /// Serves until it is interrupted.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let viewer = create_viewer(session)?;
        let begin = self.add_files(&viewer, session)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port))
            .map_err(|error| Error::io(format!("listening at port {} of this machine", self.port), error))?;
        let port = listener.local_addr().map_err(|error| Error::io("asking for the port", error))?.port();
        let count = viewer.len();
        let site = ServedSite::new(viewer, serve::generate_secret()?, port).with_embedding(self.embed);
        let address = format!("{}{begin}", site.page_address());
        session.print_json_or_text(|| json!({"address": address, "port": port, "files": count}), |out| out.write_line(&address))?;
        if !session.args.json && !session.args.quiet && !self.embed {
            crate::output::eprint_line("Ctrl-C ends the server");
        }
        if !self.no_browser && open::that_detached(&address).is_err() {
            session.warn("cannot start a browser: open the URL in one");
        }
        serve::run(listener, site)?;
        Ok(Outcome::Success)
    }

    /// Adds the files to the viewer, and returns the part of the URL with the first item.
    fn add_files(&self, viewer: &ViewerSession, session: &Session<'_>) -> Result<String> {
        let here = [".".to_owned()];
        let mut begin = String::new();
        let gather = FileFinder::new().include_hidden(self.hidden).remote(session.remote_options()?);
        for given in if self.files.is_empty() { &here[..] } else { &self.files } {
            let item = if bytes::path_of(given).exists() { ItemArg { file: given.clone(), path: None } } else { ItemArg::parse(given) };
            let first = viewer.len();
            for FoundFile { name, problem, .. } in gather.clone().find(&item.file) {
                match problem {
                    Some(problem) => return Err(problem),
                    // A page could only show that it is not there.
                    None if !bytes::is_url(&name) && name != "-" => drop(session.open_options()?.source(bytes::path_of(&name))?),
                    None => {}
                }
                viewer.add(&bytes::display_name(&name), &name);
            }
            if let (Some(path), true) = (&item.path, begin.is_empty()) {
                begin = format!("#file={first}&path={}", bytes::percent_encode(path));
            }
        }
        match viewer.is_empty() {
            true => Err(Error::invalid_input("there is no file to show").hint("give files or folders that hold some")),
            false => Ok(self.add_origin(begin)),
        }
    }
}

impl View {
    /// Returns the part of the URL with the first item, and with the origin of images if one is chosen.
    fn add_origin(&self, begin: String) -> String {
        let origin = match self.origin {
            ImageOrigin::Auto => return begin,
            ImageOrigin::Upper => "origin=upper",
            ImageOrigin::Lower => "origin=lower",
        };
        if begin.is_empty() { format!("#{origin}") } else { format!("{begin}&{origin}") }
    }
}

/// Returns a session that opens the files with these options.
fn create_viewer(session: &Session<'_>) -> Result<ViewerSession> {
    // Each request has a separate budget, because a session may last all day.
    let limits = session.args.parse_limits()?;
    let mut remote = session.remote_options()?;
    remote.watch = None;
    let mut opening = session.open_options()?.limits(limits.clone()).remote(remote);
    if let Some(layout) = &session.args.under {
        opening = opening.layout(session.read_layout(layout)?);
    }
    Ok(ViewerSession::new(move |place| opening.open(bytes::path_of(place))))
}
}
