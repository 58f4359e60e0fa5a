//! The server of `trilith view` under connections of other programs on the machine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where something is not as expected")]
#![allow(clippy::disallowed_methods, reason = "a test lays out files of its own")]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout};
use std::time::{Duration, Instant};

/// A viewer of one file, which is ended with this value.
struct Viewer {
    child: Child,
    port: u16,
    secret: String,
    _folder: tempfile::TempDir,
    _stdout: BufReader<ChildStdout>,
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Viewer {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x.asdf"), "#ASDF 1.0.0\n%YAML 1.1\n--- {a: 1}\n...\n").unwrap();
        let mut command = common::trilith();
        command.current_dir(folder.path()).args(["view", "--no-browser", "--quiet", "x.asdf"]);
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut address = String::new();
        stdout.read_line(&mut address).unwrap();
        let rest = address.trim().strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("{address:?}"));
        let (port, secret) = rest.split_once('/').unwrap();
        let (port, secret) = (port.parse().unwrap(), secret.trim_end_matches('/').to_owned());
        Self { child, port, secret, _folder: folder, _stdout: stdout }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Asks for the list of files, and returns the status.
    fn ask(&self, stream: &mut TcpStream, secret: &str) -> std::io::Result<u16> {
        let port = self.port;
        write!(stream, "GET /{secret}/api/files HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")?;
        let mut reader = BufReader::new(stream);
        let (mut line, mut status, mut length) = (String::new(), 0, 0);
        while reader.read_line(&mut line)? > 0 {
            let text = line.trim().to_ascii_lowercase();
            if let Some(rest) = text.strip_prefix("http/1.1 ") {
                status = rest.split(' ').next().unwrap().parse().unwrap();
            }
            if let Some(rest) = text.strip_prefix("content-length:") {
                length = rest.trim().parse().unwrap();
            }
            line.clear();
            if text.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        match status {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            status => Ok(status),
        }
    }
}

#[test]
fn idle_and_slow_connections_never_block_user() {
    let viewer = Viewer::start();
    let mut kept = viewer.connect();
    assert_eq!(viewer.ask(&mut kept, &viewer.secret).unwrap(), 200);
    // Far more than may be open at once: silent ones, some that begin a request and never end it, and some with a wrong secret.
    let mut others = Vec::new();
    for n in 0..400 {
        let mut other = viewer.connect();
        match n % 3 {
            0 => {}
            1 => other.write_all(b"GET / HTTP/1.1\r\nHost: 127").unwrap(),
            _ => drop(viewer.ask(&mut other, "guessed")),
        }
        others.push(other);
    }
    let begun = Instant::now();
    for _ in 0..3 {
        assert_eq!(viewer.ask(&mut viewer.connect(), &viewer.secret).unwrap(), 200);
    }
    assert_eq!(viewer.ask(&mut kept, &viewer.secret).unwrap(), 200, "a connection of the user stays");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    // Connections beyond the limit were closed.
    let is_closed = |other: &mut TcpStream| {
        other.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let mut byte = [0];
        match other.read(&mut byte) {
            Ok(count) => count == 0,
            Err(error) => !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut),
        }
    };
    let closed = others.iter_mut().map(is_closed).filter(|closed| *closed).count();
    assert!(closed >= 400 - 64, "{closed}");
}

#[test]
fn authenticated_connections_outlast_unauthenticated() {
    let viewer = Viewer::start();
    let mut kept: Vec<TcpStream> = (0..40).map(|_| viewer.connect()).collect();
    for stream in &mut kept {
        assert_eq!(viewer.ask(stream, &viewer.secret).unwrap(), 200);
    }
    let _others: Vec<TcpStream> = (0..100).map(|_| viewer.connect()).collect();
    assert_eq!(viewer.ask(&mut viewer.connect(), &viewer.secret).unwrap(), 200);
    for stream in &mut kept {
        assert_eq!(viewer.ask(stream, &viewer.secret).unwrap(), 200);
    }
}
