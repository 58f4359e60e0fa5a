//! `trilith view [FILE]…`: look at files in the browser.

use clap::Args;

/// Look at files in the browser: tree, images, tables, plots
///
/// Serves on localhost only, at a URL that contains a secret. It only reads. Press Ctrl-C to end it.
#[derive(Debug, Args)]
pub(crate) struct View {
    /// Files, folders, patterns and URLs; one may have a #/path to begin with. Default: the current folder
    #[arg(value_name = "FILE[#/path]")]
    files: Vec<String>,
    /// In folders, also hidden files and folders
    #[arg(long)]
    hidden: bool,
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
    pub fn run(&self, _: &crate::options::Options) -> trilith::Result<crate::Outcome> {
        Err(trilith::Error::unsupported("this build has no viewer").hint("build it with the feature view"))
    }
}

#[cfg(feature = "view")]
mod serving {
use std::net::{Ipv4Addr, TcpListener};

use serde_json::json;
use trilith::file::{Found, Gather};
use trilith::{Error, Result, bytes};
use trilith_view::requests::Session;

use super::View;
use crate::Outcome;
use crate::item_arg::Item;
use crate::options::Options;
use crate::serve::{self, Site};

impl View {
    /// Serves until it is interrupted.
    pub(crate) fn run(&self, options: &Options) -> Result<Outcome> {
        let session = session(options)?;
        let begin = self.gather(&session, options)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port))
            .map_err(|error| Error::io(format!("listening at port {} of this machine", self.port), error))?;
        let port = listener.local_addr().map_err(|error| Error::io("asking for the port", error))?.port();
        let count = session.len();
        let site = Site::new(session, serve::secret()?, port).embedded(self.embed);
        let address = format!("{}{begin}", site.address());
        options.print(|| json!({"address": address, "port": port, "files": count}), |out| out.line(&address))?;
        if !options.json && !options.quiet && !self.embed {
            crate::output::note("Ctrl-C ends the server");
        }
        if !self.no_browser && open::that_detached(&address).is_err() {
            options.warn("cannot start a browser: open the URL in one");
        }
        serve::run(listener, site)?;
        Ok(Outcome::Yes)
    }

    /// Adds the files to the session, and returns the part of the URL with the first item.
    fn gather(&self, session: &Session, options: &Options) -> Result<String> {
        let here = [".".to_owned()];
        let mut begin = String::new();
        let gather = Gather::new().hidden(self.hidden).remote(options.remote()?);
        for given in if self.files.is_empty() { &here[..] } else { &self.files } {
            let item = if bytes::path_of(given).exists() { Item { file: given.clone(), path: None } } else { Item::parse(given) };
            let first = session.len();
            for Found { name, problem, .. } in gather.clone().named(&item.file) {
                match problem {
                    Some(problem) => return Err(problem),
                    None => session.add(&bytes::shown_name(&name), &name),
                };
            }
            if let (Some(path), true) = (&item.path, begin.is_empty()) {
                begin = format!("#file={first}&path={}", bytes::percent_encode(path));
            }
        }
        match session.is_empty() {
            true => Err(Error::invalid_input("there is no file to show").hint("give files or folders that hold some")),
            false => Ok(begin),
        }
    }
}

/// Returns a session that opens the files with these options.
fn session(options: &Options) -> Result<Session> {
    // Each request has a separate budget, because a session may last all day.
    let limits = options.limits_of_each()?;
    let mut remote = options.remote()?;
    remote.watch = None;
    let mut opening = options.opening()?.limits(limits.clone()).remote(remote);
    if let Some(layout) = &options.under {
        opening = opening.layout(options.read_layout(layout, &limits)?);
    }
    Ok(Session::new(move |place| opening.open(bytes::path_of(place))))
}
}
