//! `trilith layout resolve FILE.dud`: the byte offset of each item.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use trilith::bytes::SourceRef;
use trilith::dudley::Signature;
use trilith::layout::{LONG_LIST, Byteorder, Dialect, Entry, Evaluation, Fault, Layout, Options as Evaluate, ParamRequest, Supply};
use trilith::{Error, Limits, Result};

use super::{Input, failed, list};
use crate::Outcome;
use crate::options::Options;
use crate::output::{Out, Table};

/// Show the byte offset of every item of a layout
///
/// The stored parameters come from --params, in the order in which they occur, or from a --data file.
#[derive(Debug, Args)]
pub(super) struct Resolve {
    #[command(flatten)]
    input: Input,
    /// Read parameters (and the byte order, if the layout does not give it) from this file
    #[arg(long, value_name = "FILE", conflicts_with = "params")]
    data: Option<String>,
    /// The values of the stored parameters, those of struct instances included
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', allow_hyphen_values = true)]
    params: Option<Vec<i64>>,
    /// The byte order if the layout does not give it, as --byteorder
    #[arg(long, value_name = "ORDER")]
    order: Option<Order>,
    /// Compute byte offsets as in a native `.bd` file
    #[arg(long)]
    native: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Order {
    Little,
    Big,
}

/// A stream that parameters are read from.
struct Stream {
    source: SourceRef,
    /// Byte offset of address 0 in the file
    base: u64,
}

impl Resolve {
    /// Prints the items.
    pub(super) fn run(&self, options: &Options) -> Result<Outcome> {
        let Some((layout, warnings)) = self.input.load(options)? else { return Ok(Outcome::No) };
        let mut how = Evaluate::default();
        (how.native, how.limits) = (self.native, options.limits()?);
        // A native file has its own parameters.
        let own = self.params.is_none() && self.data.is_none() && self.input.is_native(options)?;
        let stream = match self.data.as_ref().or(Some(&self.input.file).filter(|_| own)) {
            Some(data) => match stream(options, data, &layout, &mut how) {
                Ok(stream) => Some(stream),
                Err(error) => return failed(error, options),
            },
            None => None,
        };
        // The signature of a native file overrides the caller.
        how.order = how.order.or(self.order.map(|order| match order {
            Order::Little => Byteorder::Little,
            Order::Big => Byteorder::Big,
        }))
        .or(options.order());
        let evaluated = match (&self.params, stream) {
            (Some(values), _) => layout.evaluate_with(&how, values),
            (None, Some(stream)) => layout.evaluate(&how, |request| stream.read(request)),
            (None, None) => layout.evaluate(&how, nothing),
        };
        let report = evaluated.and_then(|found| entries(&found, &how.limits).map(|entries| (entries, found)));
        match report {
            Ok((entries, found)) => {
                let document = || {
                    json!({
                        "dialect": layout.dialect().name(),
                        "items": entries.iter().map(item).collect::<Vec<Value>>(),
                        "total": found.total(),
                        "next": found.next(),
                        "warnings": list(&warnings),
                    })
                };
                options.print(document, |out| {
                    self.input.warn(options, layout.text(), &warnings);
                    table(&entries, &found, out)
                })?;
                Ok(Outcome::Yes)
            }
            Err(Fault::Text(fault)) => {
                self.input.fail(options, layout.text(), &[*fault])?;
                Ok(Outcome::No)
            }
            Err(Fault::Other(error)) => Err(error),
        }
    }
}

/// Opens the file; its signature has the byte order, if it is native.
fn stream(options: &Options, path: &str, layout: &Layout, how: &mut Evaluate) -> Result<Stream> {
    let source = options.open(path)?;
    how.order = Signature::read(&*source)?.map(|signature| signature.order);
    how.native |= how.order.is_some();
    let base = if how.native && layout.dialect() == Dialect::D2026 { 16 } else { 0 };
    Ok(Stream { source, base })
}

impl Stream {
    fn read(&self, request: &ParamRequest) -> Result<Supply> {
        let have = self.source.len().saturating_sub(self.base);
        let size = request.datatype.size();
        let Some(address) = request.address.filter(|address| address.checked_add(size).is_some_and(|end| end <= have)) else {
            return Ok(Supply::Short(have));
        };
        let mut bytes = [0u8; 8];
        self.source.read_at(self.base + address, &mut bytes[..size as usize])?;
        Ok(Supply::Bytes(bytes))
    }
}

/// Answers without `--params` and `--data`: only lengths of compressed arrays may stay unknown.
fn nothing(request: &ParamRequest) -> Result<Supply> {
    if request.is_length {
        return Ok(Supply::Unknown);
    }
    Err(Error::invalid_input("the layout has stored parameters, and their values were not given")
        .hint("give --params 4,3,2 or --data FILE"))
}

fn entries(found: &Evaluation<'_>, limits: &Limits) -> std::result::Result<Vec<Entry>, Fault> {
    let mut entries = Vec::new();
    for entry in found.condensed(LONG_LIST) {
        if entries.len() as u64 >= limits.items {
            return Err(
                Limits::exceeded("items", limits.items, format_args!("the layout has over {} items", limits.items)).into()
            );
        }
        entries.push(entry?);
    }
    Ok(entries)
}

fn item(entry: &Entry) -> Value {
    let mut item = json!({
        "path": entry.path,
        "kind": entry.kind.name(),
        "address": entry.address,
        "datatype": entry.datatype,
        "shape": entry.shape,
        "nbytes": entry.nbytes,
    });
    if let (Value::Object(fields), true) = (&mut item, entry.kind == trilith::layout::EntryKind::Param) {
        fields.insert("value".into(), json!(entry.value));
    }
    if let (Value::Object(fields), Some(stride)) = (&mut item, entry.stride) {
        fields.insert("stride".into(), json!(stride));
    }
    item
}

fn table(entries: &[Entry], found: &Evaluation<'_>, out: &mut Out) -> Result<()> {
    let number = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
    let mut table = Table::new(&[">address", ">bytes", "datatype", "shape", "path"]);
    for entry in entries {
        let shape: Vec<String> = entry.shape.iter().map(u64::to_string).collect();
        let value = entry.value.map_or(String::new(), |value| format!(" = {value}"));
        let every = entry.stride.map_or(String::new(), |stride| format!(", every {stride} bytes"));
        table.row(vec![
            number(entry.address),
            number(entry.nbytes),
            entry.datatype.clone(),
            format!("[{}]", shape.join(",")),
            format!("{}{value}{every}", entry.path),
        ]);
    }
    table.print(out)?;
    out.line(&format!("total {}, next {}", number(found.total()), number(found.next())))
}
